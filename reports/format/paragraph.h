/* SPDX-License-Identifier: MIT
 *
 * Texts in lines of a limited width, broken at blanks. */
#ifndef NPULAB_REPORTS_FORMAT_PARAGRAPH_H
#define NPULAB_REPORTS_FORMAT_PARAGRAPH_H

#include <stdio.h>

#include "text_style.h"

/* Prints a printable text in lines of at most `width` columns, without a newline at its end. Each line except the first
 * is indented. Words that are wider than a line are broken. */
void npl_put_paragraph(FILE *out, const char *text, int indent, int width);
/* Prints the texts up to NULL, one after the other, as a line; what could control a terminal is replaced. Where a width
 * was set (text_style.h), a line that is longer goes on in the next one, indented by two blanks. */
void npl_put_line(FILE *out, const char *const *text);
/* The same, with one of the texts styled. */
void npl_put_toned_line(FILE *out, const char *const *text, int toned, enum npl_tone tone);

#endif
