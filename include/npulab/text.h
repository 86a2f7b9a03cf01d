/* SPDX-License-Identifier: MIT
 *
 * Small helpers for messages, and for text of users that is shown on a terminal.
 */
#ifndef NPULAB_TEXT_H
#define NPULAB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The candidate nearest to word by edit distance (case differences count least; the first of equals wins; one that
 * begins with word, of two letters or more, before all others), for "unknown key 'array.row', did you mean
 * 'array.rows'?". NULL: none is near, that is, within a third of the longer of both words, or a beginning of word. */
const char *npl_nearest(const char *word, const char *const *candidates, int n);

/* "s", or "" of one */
static inline const char *npl_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* "; the nearest is 'array.rows'"; where none is near "; expected a, b or c" of up to eight, of more ""; returns
 * buf. */
const char *npl_nearest_text(const char *word, const char *const *candidates, int n, char *buf, size_t size);
#define NPL_NEAREST(word, candidates, n) npl_nearest_text((word), (candidates), (n), (char[200]){0}, 200)

/* Bytes of the well-formed UTF-8 sequence that the text begins with, 1 to 4; 0 when it is none or at the end of the
 * text. */
size_t npl_utf8_length(const char *bytes);
/* Its character; 0 where the length is 0. */
uint32_t npl_utf8_code(const char *bytes);
/* A character that neither steers a terminal (C0 and C1 controls, DEL) nor breaks the line (U+2028, U+2029) nor changes
 * how the text around it is shown (direction marks, embeddings, overrides and isolates, byte-order marks, tags). */
bool npl_is_printable(uint32_t code);
/* Puts '?' for each character that is not printable and each byte that is not well-formed UTF-8, in place; returns
 * text. */
char *npl_make_printable(char *text);
/* Columns of a terminal: 2 for wide characters (Chinese, Japanese, Korean, most emoji), 0 for combining ones, 1 for
 * others. */
int npl_character_width(uint32_t code);
int npl_text_width(const char *text);

#ifdef __cplusplus
}
#endif

#endif
