/* SPDX-License-Identifier: MIT
 *
 * Small helpers for messages.
 */
#ifndef NPULAB_TEXT_H
#define NPULAB_TEXT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The candidate nearest to word by edit distance (case differences count least; the first of equals wins; one that begins with word, of two
 * letters or more, before all others), for
 * "unknown key 'array.row', did you mean 'array.rows'?". NULL only when there are no candidates. */
const char *npl_nearest(const char *word, const char *const *candidates, int n);

#ifdef __cplusplus
}
#endif

#endif
