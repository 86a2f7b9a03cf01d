/* SPDX-License-Identifier: MIT
 *
 * Parts of messages (message.h). */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

void npl_append(char *text, size_t size, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list args;
	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}
