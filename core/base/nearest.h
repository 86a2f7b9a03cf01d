/* SPDX-License-Identifier: MIT
 *
 * The nearest known word to a misspelt one, for messages. */
#ifndef NPULAB_CORE_BASE_NEAREST_H
#define NPULAB_CORE_BASE_NEAREST_H

#include <stddef.h>

/* Returns the candidate nearest to word by edit distance, for "unknown key 'array.row', did you mean 'array.rows'?".
 * Case differences count least, and the first of equals wins. A candidate that begins with word, of two letters or
 * more, comes before all others. NULL: no candidate is within a third of the longer of both words, or a beginning of
 * word. */
const char *npl_nearest(const char *word, const char *const *candidates, int n);

/* Writes "; the nearest is 'array.rows'", or "" where no candidate is near. Returns buf. */
const char *npl_nearest_only(const char *word, const char *const *candidates, int n, char *buf, size_t size);
/* Writes "; the nearest is 'array.rows'". Where no candidate is near it writes "; expected a, b or c", or "" where
 * there are more than eight candidates. Returns buf. */
const char *npl_nearest_text(const char *word, const char *const *candidates, int n, char *buf, size_t size);
#define NPL_NEAREST(word, candidates, n)      npl_nearest_text((word), (candidates), (n), (char[200]){0}, 200)
#define NPL_NEAREST_ONLY(word, candidates, n) npl_nearest_only((word), (candidates), (n), (char[200]){0}, 200)

#endif
