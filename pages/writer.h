/* SPDX-License-Identifier: MIT
 *
 * What a page consists of, whatever the language it is written in: sections, paragraphs, lists, tables and charts. A
 * format (html.c, markdown.c, latex.c) writes each part. Texts may come from a model and hold anything: the formats
 * escape them.
 *
 *     page_begin(&writer, "lenet5 on tpu_v1");
 *     page_section(&writer, "devices", "Side by side");
 *     page_column(&writer, "device", false);
 *     page_column(&writer, "time", true);
 *     page_table(&writer, &(struct page_table){.caption = "All batches."});
 *     page_row(&writer);
 *     page_cell(&writer, "tpu_v1");
 *     page_figure(&writer, 0.00018, "~180 us");
 *     page_table_end(&writer);
 *     page_section_end(&writer);
 *     page_end(&writer, "npulab 0.1.0");
 */
#ifndef NPULAB_PAGES_WRITER_H
#define NPULAB_PAGES_WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "npulab/error.h"

struct page_writer;

/* A drawing: what stands within the element `svg`. */
struct page_drawing {
	const char *id;    /* a word (page_word); where the page has it already, a number follows it */
	const char *label; /* says what the drawing shows, for those who do not see it */
	int width, height;
	const char *body;
};

struct page_table {
	const char *caption; /* what the table shows, in a sentence */
	/* Rows can be sorted by each column, and chosen by a text: on a page of HTML, where scripts run. */
	bool can_be_sorted, can_be_searched;
	bool is_long;        /* it may have more rows than a sheet of paper */
	const char *data_of; /* the id of the drawing of which it has the figures; NULL: of none */
};

struct page_column {
	char *heading;
	bool is_number;
};

/* How a language writes each part. A cell's value is NAN where it is no number. */
struct page_format {
	void (*begin)(struct page_writer *writer, const char *title);
	void (*end)(struct page_writer *writer, const char *made_by);
	void (*section)(struct page_writer *writer, const char *id, const char *heading);
	void (*section_end)(struct page_writer *writer);
	void (*heading)(struct page_writer *writer, const char *text);
	void (*paragraph)(struct page_writer *writer, const char *text);
	void (*list)(struct page_writer *writer);
	void (*item)(struct page_writer *writer, const char *text);
	void (*remark)(struct page_writer *writer, const char *text);
	void (*list_end)(struct page_writer *writer);
	void (*fold)(struct page_writer *writer, const char *summary);
	void (*fold_end)(struct page_writer *writer);
	void (*table)(struct page_writer *writer, const struct page_table *table);
	void (*row)(struct page_writer *writer);
	void (*cell)(struct page_writer *writer, const char *text, double value);
	void (*row_end)(struct page_writer *writer);
	void (*table_end)(struct page_writer *writer);
	void (*drawing)(struct page_writer *writer, const struct page_drawing *drawing);
	/* Says whether drawings are shown. */
	bool (*shows_drawings)(const struct page_writer *writer);
	void (*data)(struct page_writer *writer, const char *kind, const char *json); /* NULL: the format has none */
};
extern const struct page_format page_html, page_markdown, page_latex;

/* Drawings as files of their own. */
struct page_files {
	int n;
	struct page_file {
		char name[90]; /* "time-tpu_v1.svg" */
		char *text;    /* allocated */
		size_t bytes;
	} * file;
};
void page_files_free(struct page_files *files);

/* Bytes of a word that page_word makes, and of the id of a drawing. */
enum { PAGE_WORD = 72, PAGE_ID = PAGE_WORD + 12 };

struct page_writer {
	FILE *out;
	const struct page_format *format;
	struct page_files *files; /* receives the drawings; NULL: they are not wanted as files */
	const char *folder;       /* how the text names the folder of these files; NULL: it does not show them */
	bool shows_points;        /* the page has points that scripts draw (page_data); set before page_begin */
	/* The rest is the writer's own. */
	struct page_column *column; /* of the table that is being written */
	int n_columns, n_cells;     /* n_cells: of the row that is being written */
	int n_tables;               /* that a format has counted */
	bool row_is_open, table_is_long, has_table_of_drawing, failed;
	char (*drawing_id)[PAGE_ID]; /* those of the drawings so far */
	int n_drawings;
	char *section_id, *section_heading, *inner_heading; /* not written yet: nothing stands below them */
	bool section_is_open;
	struct page_part { /* a part that is written elsewhere than where it will stand; out NULL: there is none */
		FILE *out;
		char *text;
		size_t bytes;
	} contents, body;
	FILE *whole; /* what `out` is when the body has been written */
};
/* Begins a part, and ends one: writes it where it stands, and frees it. */
void page_part_begin(struct page_writer *writer, struct page_part *part);
void page_part_end(struct page_writer *writer, struct page_part *part, FILE *out);

/* Frees what the writer has allocated. Returns 0, or NPL_ENOMEM where something is missing on the page. */
int page_writer_close(struct page_writer *writer, struct npl_err *err);

void page_begin(struct page_writer *writer, const char *title);
/* `made_by`: the program and its version. */
void page_end(struct page_writer *writer, const char *made_by);

/* A section with a heading. `id` is a word. A section in which nothing is shown is left out. */
void page_section(struct page_writer *writer, const char *id, const char *heading);
void page_section_end(struct page_writer *writer);
/* A heading within a section; it is left out where nothing is shown below it. */
void page_heading(struct page_writer *writer, const char *text);
void page_paragraph(struct page_writer *writer, const char *text);
/* A paragraph about drawings: shown where they are. */
void page_paragraph_of_drawings(struct page_writer *writer, const char *text);

/* A list, whose items have remarks below them; an empty remark is not shown. */
void page_list(struct page_writer *writer);
void page_item(struct page_writer *writer, const char *text);
void page_remark(struct page_writer *writer, const char *text);
void page_list_end(struct page_writer *writer);

/* What stands between these is shown when the reader asks for it, where the language can do that. */
void page_fold(struct page_writer *writer, const char *summary);
void page_fold_end(struct page_writer *writer);

/* Adds a column to the table that begins next. */
void page_column(struct page_writer *writer, const char *heading, bool is_number);
void page_table(struct page_writer *writer, const struct page_table *table);
void page_row(struct page_writer *writer);
void page_cell(struct page_writer *writer, const char *text);
/* A figure, by whose value rows are sorted. `text` is what is shown, empty for a value that is NAN. */
void page_figure(struct page_writer *writer, double value, const char *text);
void page_table_end(struct page_writer *writer);

/* A drawing within the page, a file of its own, or both. */
void page_drawing(struct page_writer *writer, const struct page_drawing *drawing);

/* Data for the scripts of the page, JSON of that kind, in a format that has scripts. Call it right behind the
 * drawing that the scripts replace, on a page that shows_points. */
void page_data(struct page_writer *writer, const char *kind, const char *json);

/* Makes the id of a drawing from two texts, in which what is no letter and no digit becomes "_": "time-tpu_v1". A long
 * one is cut, and ends with a number that tells it from others. Returns buf, of which it uses PAGE_WORD bytes at most;
 * n is 20 or more. */
const char *page_word(char *buf, size_t n, const char *first, const char *second);
/* Writes a file that the program carries (texts.h). */
void page_put_embedded(FILE *out, const char *name);

#endif
