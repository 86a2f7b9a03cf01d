/* SPDX-License-Identifier: MIT
 *
 * Facts of a device (facts.h). */
#include "npulab/facts.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/refuse.h"

int npl_fact(struct npl_facts *facts, struct npl_err *err, const char *key, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n <= 0)
		return 0;
	if (facts->n == NPL_FACTS)
		return npl_fail(err, NPL_EINTERNAL, "more than %d facts of a device", NPL_FACTS);
	struct npl_fact *fact = &facts->fact[facts->n];
	fact->key = npl_arena_strdup(facts->arena, key);
	fact->value = npl_arena_strdup(facts->arena, text);
	if (!fact->key || !fact->value)
		return npl_no_memory(err);
	facts->n++;
	return 0;
}
