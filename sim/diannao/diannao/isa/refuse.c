/* SPDX-License-Identifier: MIT
 *
 * How the check of a program says where it is and what is wrong. */
#include <stdarg.h>
#include <stdio.h>

#include "check.h"

const char *dn_place_text(const struct dn_place *place, char *text, size_t n)
{
	if (place->line)
		snprintf(text, n, "line %d", place->line);
	else
		snprintf(text, n, "instruction %lld", (long long)place->index);
	return text;
}

int dn_refuse(struct dn_checker *checker, const char *format, ...)
{
	char where[40], what[400];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	if (checker->at.line)
		return npl_fail(checker->err, NPL_EINPUT, "%s:%d: %s", checker->source, checker->at.line, what);
	return npl_fail(checker->err, NPL_EINPUT, "%s: %s: %s", checker->source,
			dn_place_text(&checker->at, where, sizeof where), what);
}
