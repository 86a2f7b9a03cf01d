/* SPDX-License-Identifier: MIT
 *
 * Parts of messages (message.h). */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void npl_append(char *text, size_t size, const char *separator, const char *format, ...)
{
	va_list args;
	size_t used = strlen(text);
	snprintf(text + used, size - used, "%s", used ? separator : "");
	used += strlen(text + used);
	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}
