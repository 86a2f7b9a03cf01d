/* SPDX-License-Identifier: MIT
 *
 * Parts of pages (writer.h): the format writes each, and here is what all formats share. */
#include "writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/refuse.h"
#include "reports/format/markup.h"
#include "texts.h"

void page_begin(struct page_writer *writer, const char *title)
{
	writer->format->begin(writer, title);
}

void page_end(struct page_writer *writer, const char *made_by)
{
	writer->format->end(writer, made_by);
}

/* ---- Sections and headings are written when something is shown below them. */

/* Keeps a text for later; NULL: forgets it. */
static void keep(struct page_writer *writer, char **kept, const char *text)
{
	free(*kept);
	*kept = text ? strdup(text) : NULL;
	writer->failed |= text && !*kept;
}

static void put_headings(struct page_writer *writer)
{
	if (writer->section_heading) {
		writer->format->section(writer, writer->section_id, writer->section_heading);
		writer->section_is_open = true;
	}
	if (writer->inner_heading)
		writer->format->heading(writer, writer->inner_heading);
	keep(writer, &writer->section_heading, NULL);
	keep(writer, &writer->inner_heading, NULL);
}

void page_section(struct page_writer *writer, const char *id, const char *heading)
{
	keep(writer, &writer->section_id, id);
	keep(writer, &writer->section_heading, writer->section_id ? heading : NULL);
}

void page_section_end(struct page_writer *writer)
{
	keep(writer, &writer->section_heading, NULL);
	keep(writer, &writer->inner_heading, NULL);
	if (writer->section_is_open)
		writer->format->section_end(writer);
	writer->section_is_open = false;
}

void page_heading(struct page_writer *writer, const char *text)
{
	keep(writer, &writer->inner_heading, text);
}

void page_paragraph(struct page_writer *writer, const char *text)
{
	put_headings(writer);
	writer->format->paragraph(writer, text);
}

void page_paragraph_of_drawings(struct page_writer *writer, const char *text)
{
	if (writer->format->shows_drawings(writer))
		page_paragraph(writer, text);
}

void page_list(struct page_writer *writer)
{
	put_headings(writer);
	writer->format->list(writer);
}

void page_item(struct page_writer *writer, const char *text)
{
	writer->format->item(writer, text);
}

void page_remark(struct page_writer *writer, const char *text)
{
	if (*text)
		writer->format->remark(writer, text);
}

void page_list_end(struct page_writer *writer)
{
	writer->format->list_end(writer);
}

void page_fold(struct page_writer *writer, const char *summary)
{
	put_headings(writer);
	writer->format->fold(writer, summary);
}

void page_fold_end(struct page_writer *writer)
{
	writer->format->fold_end(writer);
}

/* ---- Tables. */

void page_column(struct page_writer *writer, const char *heading, bool is_number)
{
	struct page_column *grown = realloc(writer->column, ((size_t)writer->n_columns + 1) * sizeof *grown);
	if (grown)
		writer->column = grown;
	if (grown) {
		writer->column[writer->n_columns].heading = strdup(heading);
		writer->column[writer->n_columns].is_number = is_number;
	}
	if (grown && writer->column[writer->n_columns].heading)
		writer->n_columns++;
	else
		writer->failed = true;
}

static void free_columns(struct page_writer *writer)
{
	for (int i = 0; i < writer->n_columns; i++)
		free(writer->column[i].heading);
	free(writer->column);
	writer->column = NULL;
	writer->n_columns = 0;
}

void page_table(struct page_writer *writer, const struct page_table *table)
{
	put_headings(writer);
	writer->has_table_of_drawing |= table->data_of != NULL;
	writer->format->table(writer, table);
}

/* A row has as many cells as the table has columns. */
static void end_row(struct page_writer *writer)
{
	for (; writer->row_is_open && writer->n_cells < writer->n_columns; writer->n_cells++)
		writer->format->cell(writer, "", NAN);
	if (writer->row_is_open)
		writer->format->row_end(writer);
	writer->row_is_open = false;
	writer->n_cells = 0;
}

void page_row(struct page_writer *writer)
{
	end_row(writer);
	writer->format->row(writer);
	writer->row_is_open = true;
}

void page_cell(struct page_writer *writer, const char *text)
{
	writer->format->cell(writer, text, NAN);
	writer->n_cells++;
}

void page_figure(struct page_writer *writer, double value, const char *text)
{
	writer->format->cell(writer, text, value);
	writer->n_cells++;
}

void page_table_end(struct page_writer *writer)
{
	end_row(writer);
	writer->format->table_end(writer);
	free_columns(writer);
}

/* ---- Drawings. */

/* FNV-1a: tells long names apart of which the same characters are left. */
static uint32_t hash_of(const char *first, const char *second)
{
	const char *const texts[] = {first, "-", second};
	uint32_t hash = 2166136261u;
	for (int t = 0; t < 3; t++)
		for (const char *c = texts[t]; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 16777619u;
	return hash;
}

const char *page_word(char *buf, size_t n, const char *first, const char *second)
{
	enum { HASH = 9 };
	const size_t cut = (n < PAGE_WORD ? n : PAGE_WORD) - 1 - HASH;
	size_t length = 0;
	bool is_whole = true;
	const char *const texts[] = {first, second};
	for (int t = 0; t < 2; t++) {
		if (t && *second && length < cut)
			buf[length++] = '-';
		for (const char *c = texts[t]; *c; c++) {
			const bool is_word = isalnum((unsigned char)*c);
			if (!is_word && length && buf[length - 1] == '_')
				continue;
			is_whole = length < cut;
			if (!is_whole)
				break;
			buf[length++] = is_word ? *c : '_';
		}
	}
	while (is_whole && length > 1 && buf[length - 1] == '_')
		length--;
	buf[length] = '\0';
	if (!is_whole)
		snprintf(buf + length, HASH + 1, "_%08" PRIx32, hash_of(first, second));
	return buf;
}

/* A file has its own styles and a white ground: it is shown in papers and on pages of any colour. */
static void put_file(FILE *out, const struct page_drawing *drawing)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"role=\"img\">\n<title>",
		drawing->width, drawing->height, drawing->width, drawing->height);
	npl_xml_put(out, drawing->label);
	fputs("</title>\n<style>\n", out);
	page_put_embedded(out, "drawing.css");
	fprintf(out, "</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n%s</svg>\n", drawing->width,
		drawing->height, drawing->body);
}

static void add_file(struct page_writer *writer, const struct page_drawing *drawing)
{
	struct page_files *files = writer->files;
	struct page_file *grown = realloc(files->file, ((size_t)files->n + 1) * sizeof *grown), file = {{0}, NULL, 0};
	FILE *out = open_memstream(&file.text, &file.bytes);
	if (grown)
		files->file = grown;
	if (out)
		put_file(out, drawing);
	if (!out || fclose(out) || !grown) {
		free(file.text);
		writer->failed = true;
		return;
	}
	snprintf(file.name, sizeof file.name, "%s.svg", drawing->id);
	files->file[files->n++] = file;
}

static bool has_drawing(const struct page_writer *writer, const char *id)
{
	for (int i = 0; i < writer->n_drawings; i++)
		if (!strcasecmp(writer->drawing_id[i], id))
			return true;
	return false;
}

/* Writes the id of the next drawing, unlike all before it also where a folder does not tell capitals from others. */
static void next_id(struct page_writer *writer, const char *word, char id[PAGE_ID])
{
	char(*grown)[PAGE_ID] = realloc(writer->drawing_id, ((size_t)writer->n_drawings + 1) * sizeof *grown);
	if (grown)
		writer->drawing_id = grown;
	writer->failed |= !grown;
	snprintf(id, PAGE_ID, "%.*s", PAGE_WORD - 1, word);
	for (int i = 2; has_drawing(writer, id); i++)
		snprintf(id, PAGE_ID, "%.*s-%d", PAGE_WORD - 1, word, i);
	if (grown)
		memcpy(grown[writer->n_drawings++], id, PAGE_ID);
}

void page_drawing(struct page_writer *writer, const struct page_drawing *drawing)
{
	struct page_drawing own = *drawing;
	char id[PAGE_ID];
	next_id(writer, drawing->id, id);
	own.id = id;
	if (writer->files)
		add_file(writer, &own);
	if (!writer->format->shows_drawings(writer))
		return;
	put_headings(writer);
	writer->format->drawing(writer, &own);
}

void page_data(struct page_writer *writer, const char *kind, const char *json)
{
	if (!writer->format->data)
		return;
	put_headings(writer);
	writer->format->data(writer, kind, json);
}

void page_files_free(struct page_files *files)
{
	for (int i = 0; i < files->n; i++)
		free(files->file[i].text);
	free(files->file);
	*files = (struct page_files){0};
}

void page_part_begin(struct page_writer *writer, struct page_part *part)
{
	*part = (struct page_part){0};
	part->out = open_memstream(&part->text, &part->bytes);
	writer->failed |= !part->out;
}

void page_part_end(struct page_writer *writer, struct page_part *part, FILE *out)
{
	if (part->out && fclose(part->out))
		writer->failed = true;
	else if (part->out)
		fwrite(part->text, 1, part->bytes, out);
	free(part->text);
	*part = (struct page_part){0};
}

int page_writer_close(struct page_writer *writer, struct npl_err *err)
{
	free_columns(writer);
	free(writer->drawing_id);
	free(writer->section_id);
	free(writer->section_heading);
	free(writer->inner_heading);
	return writer->failed ? npl_no_memory(err) : 0;
}

void page_put_embedded(FILE *out, const char *name)
{
	for (const struct page_embedded *file = page_embedded; file->name; file++)
		if (!strcmp(file->name, name))
			fputs(file->text, out);
}
