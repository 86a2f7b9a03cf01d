/* SPDX-License-Identifier: MIT
 *
 * Pages in Markdown, as GitHub and GitLab show it. Long tables are folded. A drawing is shown where it is also a file.
 * A character reference is never a delimiter of Markdown, so that names stay text. */
#include <string.h>

#include "reports/format/markup.h"
#include "writer.h"

static void begin(struct page_writer *writer, const char *title)
{
	fputs("# ", writer->out);
	npl_markdown_put(writer->out, title);
	fputs("\n\n", writer->out);
}

static void end(struct page_writer *writer, const char *made_by)
{
	npl_markdown_put(writer->out, made_by);
	fputc('\n', writer->out);
}

static void section(struct page_writer *writer, const char *id, const char *heading)
{
	(void)id;
	fputs("## ", writer->out);
	npl_markdown_put(writer->out, heading);
	fputs("\n\n", writer->out);
}

static void nothing(struct page_writer *writer)
{
	(void)writer;
}

static void heading(struct page_writer *writer, const char *text)
{
	fputs("### ", writer->out);
	npl_markdown_put(writer->out, text);
	fputs("\n\n", writer->out);
}

static void paragraph(struct page_writer *writer, const char *text)
{
	npl_markdown_put(writer->out, text);
	fputs("\n\n", writer->out);
}

static void item(struct page_writer *writer, const char *text)
{
	fputs("* ", writer->out);
	npl_markdown_put(writer->out, text);
	fputc('\n', writer->out);
}

static void remark(struct page_writer *writer, const char *text)
{
	fputs("  * ", writer->out);
	npl_markdown_put(writer->out, text);
	fputc('\n', writer->out);
}

static void end_block(struct page_writer *writer)
{
	fputc('\n', writer->out);
}

static void fold(struct page_writer *writer, const char *summary)
{
	/* An empty line would end the HTML: in Markdown's escapes a text has one line, and mentions nobody. */
	fputs("<details><summary>", writer->out);
	npl_markdown_put(writer->out, summary);
	fputs("</summary>\n\n", writer->out);
}

static void fold_end(struct page_writer *writer)
{
	fputs("</details>\n\n", writer->out);
}

static void table(struct page_writer *writer, const struct page_table *table)
{
	npl_markdown_put(writer->out, table->caption);
	fputs("\n\n|", writer->out);
	for (int i = 0; i < writer->n_columns; i++) {
		fputc(' ', writer->out);
		npl_markdown_put(writer->out, writer->column[i].heading);
		fputs(" |", writer->out);
	}
	fputs("\n|", writer->out);
	for (int i = 0; i < writer->n_columns; i++)
		fputs(writer->column[i].is_number ? "--:|" : "---|", writer->out);
	fputc('\n', writer->out);
}

static void row(struct page_writer *writer)
{
	fputc('|', writer->out);
}

static void cell(struct page_writer *writer, const char *text, double value)
{
	(void)value;
	fputc(' ', writer->out);
	npl_markdown_put(writer->out, text);
	fputs(" |", writer->out);
}

/* Writes a path as the target of a link. Within <> only its own ends and what a browser takes for more than a path have
 * a meaning. */
static void put_path(FILE *out, const char *path)
{
	for (const char *c = path; *c; c++)
		if (strchr("%&#?\\<>\"", *c) || (unsigned char)*c < ' ' || *c == 0x7f)
			fprintf(out, "%%%02X", (unsigned)(unsigned char)*c);
		else
			fputc(*c, out);
}

static void put_drawing(struct page_writer *writer, const struct page_drawing *drawing)
{
	fputs("![", writer->out);
	npl_markdown_put(writer->out, drawing->label);
	fputs("](<", writer->out);
	put_path(writer->out, writer->folder);
	fprintf(writer->out, "/%s.svg>)\n\n", drawing->id);
}

static bool shows_drawings(const struct page_writer *writer)
{
	return writer->folder;
}

const struct page_format page_markdown = {begin, end,       section,   nothing,     heading,        paragraph, nothing,
					  item,  remark,    end_block, fold,        fold_end,       table,     row,
					  cell,  end_block, end_block, put_drawing, shows_drawings, NULL};
