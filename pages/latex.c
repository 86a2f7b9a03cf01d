/* SPDX-License-Identifier: MIT
 *
 * The tables of a page in LaTeX, for papers: a file to \input, whose tables need the package longtable where they are
 * long, and no other. */
#include "reports/format/markup.h"
#include "writer.h"

static void put_line(FILE *out, const char *before, const char *text, const char *behind)
{
	fputs(before, out);
	npl_latex_put(out, text);
	fputs(behind, out);
}

/* A text behind a command that takes an argument in brackets or a star, as the end of a row and \item do. */
static void put_behind_command(FILE *out, const char *before, const char *text, const char *behind)
{
	fputs(before, out);
	put_line(out, *text == '[' || *text == '*' ? "{}" : "", text, behind);
}

static void begin(struct page_writer *writer, const char *title)
{
	put_line(writer->out, "% ", title, "\n% \\usepackage{longtable}\n\n");
}

static void end(struct page_writer *writer, const char *made_by)
{
	put_line(writer->out, "% ", made_by, "\n");
}

static void section(struct page_writer *writer, const char *id, const char *heading)
{
	(void)id;
	put_line(writer->out, "\\subsection*{", heading, "}\n\n");
}

static void heading(struct page_writer *writer, const char *text)
{
	put_line(writer->out, "\\subsubsection*{", text, "}\n\n");
}

static void nothing(struct page_writer *writer)
{
	(void)writer;
}

static void paragraph(struct page_writer *writer, const char *text)
{
	put_line(writer->out, "", text, "\n\n");
}

static void list(struct page_writer *writer)
{
	fputs("\\begin{itemize}\n", writer->out);
}

static void item(struct page_writer *writer, const char *text)
{
	put_behind_command(writer->out, "\\item ", text, "\n");
}

static void remark(struct page_writer *writer, const char *text)
{
	put_line(writer->out, "\n", text, "\n");
}

static void list_end(struct page_writer *writer)
{
	fputs("\\end{itemize}\n\n", writer->out);
}

static void fold(struct page_writer *writer, const char *summary)
{
	heading(writer, summary);
}

/* The number of a table makes its label. */
static void put_caption(struct page_writer *writer, const char *caption, const char *end)
{
	put_line(writer->out, "\\caption{", caption, "}");
	fprintf(writer->out, "\\label{tab:npulab-%d}%s\n", ++writer->n_tables, end);
}

static void put_columns(struct page_writer *writer, const char *environment)
{
	fprintf(writer->out, "\\begin{%s}{", environment);
	for (int i = 0; i < writer->n_columns; i++)
		fputc(writer->column[i].is_number ? 'r' : 'l', writer->out);
	fputs("}\n", writer->out);
}

static void table(struct page_writer *writer, const struct page_table *table)
{
	writer->table_is_long = table->is_long;
	if (table->is_long) {
		put_columns(writer, "longtable");
		put_caption(writer, table->caption, " \\\\");
	} else {
		fputs("\\begin{table}[htbp]\n\\centering\n", writer->out);
		put_caption(writer, table->caption, "");
		put_columns(writer, "tabular");
	}
	fputs("\\hline\n", writer->out);
	for (int i = 0; i < writer->n_columns; i++)
		put_line(writer->out, i ? " & " : "", writer->column[i].heading, "");
	fputs(table->is_long ? " \\\\\n\\hline\n\\endhead\n" : " \\\\\n\\hline\n", writer->out);
}

static void cell(struct page_writer *writer, const char *text, double value)
{
	(void)value;
	if (writer->n_cells)
		put_line(writer->out, " & ", text, "");
	else
		put_behind_command(writer->out, "", text, "");
}

static void row_end(struct page_writer *writer)
{
	fputs(" \\\\\n", writer->out);
}

static void table_end(struct page_writer *writer)
{
	fputs(writer->table_is_long ? "\\hline\n\\end{longtable}\n\n" : "\\hline\n\\end{tabular}\n\\end{table}\n\n",
	      writer->out);
}

static bool shows_no_drawing(const struct page_writer *writer)
{
	(void)writer;
	return false;
}

const struct page_format page_latex = {begin, end,     section,   nothing, heading,          paragraph, list,
				       item,  remark,  list_end,  fold,    nothing,          table,     nothing,
				       cell,  row_end, table_end, NULL,    shows_no_drawing, NULL};
