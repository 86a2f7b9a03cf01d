/* SPDX-License-Identifier: MIT
 *
 * Helpers for messages, and for a user's text that is shown on a terminal.
 */
#ifndef NPULAB_CORE_BASE_TEXT_H
#define NPULAB_CORE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the candidate nearest to word by edit distance, for "unknown key 'array.row', did you mean 'array.rows'?".
 * Case differences count least, and the first of equals wins. A candidate that begins with word, of two letters or
 * more, comes before all others. NULL: no candidate is within a third of the longer of both words, or a beginning of
 * word. */
const char *npl_nearest(const char *word, const char *const *candidates, int n);

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

/* Writes "; the nearest is 'array.rows'". Where no candidate is near it writes "; expected a, b or c", or "" where
 * there are more than eight candidates. Returns buf. */
const char *npl_nearest_text(const char *word, const char *const *candidates, int n, char *buf, size_t size);
#define NPL_NEAREST(word, candidates, n) npl_nearest_text((word), (candidates), (n), (char[200]){0}, 200)

/* Returns the bytes of the UTF-8 sequence at the beginning of the text, 1 to 4; 0 when it is not well-formed or the
 * text is at its end. */
size_t npl_utf8_length(const char *bytes);
/* Returns the character of that sequence; 0 where its length is 0. */
uint32_t npl_utf8_code(const char *bytes);
/* Says whether a character is printable: it neither controls a terminal (C0 and C1 controls, DEL) nor breaks the line
 * (U+2028, U+2029) nor changes how the text around it is shown (direction marks, embeddings, overrides and isolates,
 * byte-order marks, tags). */
bool npl_is_printable(uint32_t code);
/* Puts '?' for each character that is not printable and each byte that is not well-formed UTF-8, in place; returns
 * text. */
char *npl_make_printable(char *text);
/* Return the columns that a character, or a text, takes on a terminal: 2 for wide characters (Chinese, Japanese,
 * Korean, most emoji), 0 for combining ones, 1 for others. */
int npl_character_width(uint32_t code);
int npl_text_width(const char *text);

#endif
