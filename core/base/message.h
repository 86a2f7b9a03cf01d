/* SPDX-License-Identifier: MIT
 *
 * Parts of messages. */
#ifndef NPULAB_CORE_BASE_MESSAGE_H
#define NPULAB_CORE_BASE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

/* Returns "" for 1 and "s" for every other number. */
static inline const char *npl_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* Appends to a text in `size` bytes, after the separator unless the text is empty; what does not fit is cut off. */
void npl_append(char *text, size_t size, const char *separator, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
