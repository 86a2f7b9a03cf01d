/* SPDX-License-Identifier: MIT
 *
 * Parts of messages. */
#ifndef NPULAB_CORE_BASE_MESSAGE_H
#define NPULAB_CORE_BASE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns "" for 1 and "s" for every other number. */
static inline const char *npl_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* Returns what follows "PREFIX: " in a message, where the first n characters of `prefix` are the prefix; the whole
 * message where it does not begin so. */
static inline const char *npl_without_prefix(const char *msg, const char *prefix, size_t n)
{
	return !strncmp(msg, prefix, n) && !strncmp(msg + n, ": ", 2) ? msg + n + 2 : msg;
}

#endif
