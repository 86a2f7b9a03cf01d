/* SPDX-License-Identifier: MIT
 *
 * Reasons of refusals (refuse.h). */
#include "refuse.h"

#include <stdarg.h>
#include <stdio.h>

bool npl_refuse(char *reason, size_t n, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(reason, n, format, args);
	va_end(args);
	return false;
}
