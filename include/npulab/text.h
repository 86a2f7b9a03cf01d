/* SPDX-License-Identifier: MIT
 *
 * Small helpers for messages.
 */
#ifndef NPULAB_TEXT_H
#define NPULAB_TEXT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The candidate nearest to word by edit distance (case differences count least; the first of equals wins; one that begins with word, of two
 * letters or more, before all others), for
 * "unknown key 'array.row', did you mean 'array.rows'?". NULL: none is near, that is, within a third of the longer of both words, or a
 * beginning of word. */
const char *npl_nearest(const char *word, const char *const *candidates, int n);

/* "s", or "" of one */
static inline const char *npl_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* "; the nearest is 'array.rows'"; where none is near "; expected a, b or c" of up to eight, of more ""; returns buf. */
const char *npl_nearest_text(const char *word, const char *const *candidates, int n, char *buf, size_t size);
#define NPL_NEAREST(word, candidates, n) npl_nearest_text((word), (candidates), (n), (char[200]){0}, 200)

#ifdef __cplusplus
}
#endif

#endif
