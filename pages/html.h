/* SPDX-License-Identifier: MIT
 *
 * Parts of a page that every page has. Texts may come from a model and hold anything: they are escaped here. */
#ifndef NPULAB_PAGES_HTML_H
#define NPULAB_PAGES_HTML_H

#include <stdbool.h>
#include <stdio.h>

/* Begins a page, with the sheet of styles and the script in it: nothing is fetched when it is opened. */
void page_begin(FILE *out, const char *title);
/* `made_by`: the program and its version. */
void page_end(FILE *out, const char *made_by);

/* A section with a heading, and an entry in the page's list of contents. `id` is a word. */
void page_section(FILE *out, const char *id, const char *heading);
void page_section_end(FILE *out);

/* A table. With `can_be_sorted` its headings are buttons; with `can_be_searched` a field above it chooses rows. */
struct page_table {
	const char *caption; /* what it shows, in a sentence */
	bool can_be_sorted, can_be_searched;
};
void page_table_begin(FILE *out, const struct page_table *table);
void page_table_heading(FILE *out, const char *text, bool is_number);
void page_table_body(FILE *out);
void page_row(FILE *out);
void page_cell(FILE *out, const char *text);
/* A figure, by whose value rows are sorted. `text` is what is shown, empty for a value that is NAN. */
void page_figure(FILE *out, double value, const char *text);
void page_table_end(FILE *out);

/* Cuts a name in its middle, so that names that begin alike stay apart: "layer1…conv2". Returns buf, of n bytes, with
 * at most `characters` of the name. */
const char *page_short_name(char *buf, size_t n, const char *name, int characters);

#endif
