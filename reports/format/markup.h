/* SPDX-License-Identifier: MIT
 *
 * Texts within the languages of other programs. Texts may come from a model and hold anything: none of them ends its
 * element, begins a tag, mentions a person or becomes a command. Bytes that are no UTF-8, and characters that a
 * terminal or a page would obey, become '?'. */
#ifndef NPULAB_REPORTS_FORMAT_MARKUP_H
#define NPULAB_REPORTS_FORMAT_MARKUP_H

#include <stdio.h>

/* Writes a text of XML 1.0 or HTML. Lines stay lines. */
void npl_xml_put(FILE *out, const char *text);
/* Writes the value of an attribute, within its quotes. A newline is written as `&#10;`: readers take the character
 * itself for a blank there. */
void npl_xml_put_attribute(FILE *out, const char *text);
/* Writes a text within a line or a cell of Markdown. */
void npl_markdown_put(FILE *out, const char *text);
/* Writes a text of LaTeX, in one line. */
void npl_latex_put(FILE *out, const char *text);
/* Writes code within a line or a cell of Markdown: `<code>...</code>`, in which no character is Markdown. */
void npl_markdown_put_code(FILE *out, const char *text);
/* Writes the message of a workflow command of GitHub, and the value of one of its properties. */
void npl_github_put_message(FILE *out, const char *text);
void npl_github_put_property(FILE *out, const char *text);

#endif
