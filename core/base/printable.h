/* SPDX-License-Identifier: MIT
 *
 * A user's text on a terminal: well-formed UTF-8, without characters that control the terminal, and its width. */
#ifndef NPULAB_CORE_BASE_PRINTABLE_H
#define NPULAB_CORE_BASE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
/* Writes a text as npl_make_printable would make it. NULL: nothing. */
void npl_put_printable(FILE *out, const char *text);
/* Return the columns that a character, or a text, takes on a terminal: 2 for wide characters (Chinese, Japanese,
 * Korean, most emoji), 0 for combining ones, 1 for others. */
int npl_character_width(uint32_t code);
int npl_text_width(const char *text);

#endif
