/* SPDX-License-Identifier: MIT
 *
 * Reasons of refusals, and the failures that many functions have (refuse.h). */
#include "refuse.h"

#include <stdarg.h>
#include <stdio.h>

bool npl_refuse(char *reason, size_t reason_bytes, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(reason, reason_bytes, format, args);
	va_end(args);
	return false;
}

int npl_no_memory(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory");
}

int npl_unsupported(const char *reason, struct npl_err *err)
{
	return npl_fail(err, NPL_EINTERNAL, "it does not take the layer: %s", reason);
}
