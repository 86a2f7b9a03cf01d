/* SPDX-License-Identifier: MIT
 *
 * Pages as one file of HTML, with the styles and the scripts in it: nothing is fetched when it is opened. */
#include <math.h>
#include <string.h>

#include "reports/format/markup.h"
#include "writer.h"

static void begin(struct page_writer *writer, const char *title)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
	      writer->out);
	npl_xml_put(writer->out, title);
	fputs("</title>\n<style>\n", writer->out);
	page_put_embedded(writer->out, "style.css");
	if (writer->shows_points)
		page_put_embedded(writer->out, "pareto.css");
	fputs("</style>\n</head>\n<body>\n<main>\n<h1>", writer->out);
	npl_xml_put(writer->out, title);
	fputs("</h1>\n", writer->out);
	page_part_begin(writer, &writer->contents);
	page_part_begin(writer, &writer->body);
	writer->whole = writer->out;
	if (writer->body.out)
		writer->out = writer->body.out;
}

/* The list of contents stands above the sections that it names. */
static void end_body(struct page_writer *writer)
{
	writer->out = writer->whole;
	fputs("<nav aria-label=\"Contents\"><ul>\n", writer->out);
	page_part_end(writer, &writer->contents, writer->out);
	fputs("</ul></nav>\n", writer->out);
	page_part_end(writer, &writer->body, writer->out);
}

/* Scripts follow the data that they show. */
static void put_scripts_of_data(FILE *out)
{
	static const char *const scripts[] = {"pareto.js",         "pareto_tint.js",     "pareto_filters.js",
					      "pareto_scatter.js", "pareto_parallel.js", "pareto_map.js",
					      "pareto_point.js",   "pareto_start.js"};
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		page_put_embedded(out, scripts[i]);
}

/* Chart.js has 200 kB. Only a page with a roofline has it. */
static void end(struct page_writer *writer, const char *made_by)
{
	end_body(writer);
	fputs("</main>\n<footer>", writer->out);
	npl_xml_put(writer->out, made_by);
	fputs("</footer>\n<script>\n", writer->out);
	if (writer->has_table_of_drawing)
		page_put_embedded(writer->out, "chart.min.js");
	page_put_embedded(writer->out, "script.js");
	if (writer->has_table_of_drawing)
		page_put_embedded(writer->out, "roofline.js");
	if (writer->shows_points)
		put_scripts_of_data(writer->out);
	fputs("</script>\n</body>\n</html>\n", writer->out);
}

static void section(struct page_writer *writer, const char *id, const char *heading)
{
	if (writer->contents.out) {
		fprintf(writer->contents.out, "<li><a href=\"#%s\">", id);
		npl_xml_put(writer->contents.out, heading);
		fputs("</a>\n", writer->contents.out);
	}
	fprintf(writer->out, "<section id=\"%s\">\n<h2>", id);
	npl_xml_put(writer->out, heading);
	fputs("</h2>\n", writer->out);
}

static void section_end(struct page_writer *writer)
{
	fputs("</section>\n", writer->out);
}

static void put_element(FILE *out, const char *name, const char *text)
{
	fprintf(out, "<%s>", name);
	npl_xml_put(out, text);
	fprintf(out, "</%s>\n", name);
}

static void heading(struct page_writer *writer, const char *text)
{
	put_element(writer->out, "h3", text);
}

static void paragraph(struct page_writer *writer, const char *text)
{
	put_element(writer->out, "p", text);
}

static void list(struct page_writer *writer)
{
	fputs("<ul>\n", writer->out);
}

/* HTML ends an item where the next one begins; so it does with rows and cells. */
static void item(struct page_writer *writer, const char *text)
{
	fputs("<li>", writer->out);
	put_element(writer->out, "strong", text);
}

static void remark(struct page_writer *writer, const char *text)
{
	fputs("<br>", writer->out);
	npl_xml_put(writer->out, text);
	fputc('\n', writer->out);
}

static void list_end(struct page_writer *writer)
{
	fputs("</ul>\n", writer->out);
}

static void fold(struct page_writer *writer, const char *summary)
{
	fputs("<details><summary>", writer->out);
	npl_xml_put(writer->out, summary);
	fputs("</summary>\n", writer->out);
}

static void fold_end(struct page_writer *writer)
{
	fputs("</details>\n", writer->out);
}

static void table(struct page_writer *writer, const struct page_table *table)
{
	FILE *out = writer->out;
	fprintf(out, "<div class=\"table%s\" tabindex=\"0\" role=\"group\" aria-label=\"",
		table->can_be_searched ? " searched" : "");
	npl_xml_put_attribute(out, table->caption);
	fprintf(out, "\">\n<table%s style=\"--columns: %d\"", table->can_be_sorted ? " class=\"sorted\"" : "",
		writer->n_columns);
	if (table->data_of)
		fprintf(out, " data-of=\"%s\"", table->data_of);
	fputs("><caption><span>", out);
	npl_xml_put(out, table->caption);
	fputs("</span></caption>\n<thead><tr>", out);
	for (int i = 0; i < writer->n_columns; i++) {
		fprintf(out, "<th scope=\"col\"%s>", writer->column[i].is_number ? " class=\"n\"" : "");
		npl_xml_put(out, writer->column[i].heading);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>", out);
}

static void row(struct page_writer *writer)
{
	fputs("\n<tr>", writer->out);
}

static void row_end(struct page_writer *writer)
{
	(void)writer;
}

static bool is_of_numbers(const struct page_writer *writer)
{
	return writer->n_cells < writer->n_columns && writer->column[writer->n_cells].is_number;
}

static void cell(struct page_writer *writer, const char *text, double value)
{
	fputs(is_of_numbers(writer) ? "<td class=\"n\"" : "<td", writer->out);
	if (isfinite(value))
		fprintf(writer->out, " data-v=\"%.12g\"", value);
	fputc('>', writer->out);
	npl_xml_put(writer->out, text);
}

static void table_end(struct page_writer *writer)
{
	fputs("\n</tbody></table>\n</div>\n", writer->out);
}

static void put_drawing(struct page_writer *writer, const struct page_drawing *drawing)
{
	fprintf(writer->out,
		"<div class=\"chart\" id=\"chart-%s\" tabindex=\"0\">"
		"<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
		drawing->id, drawing->width, drawing->height);
	npl_xml_put_attribute(writer->out, drawing->label);
	fprintf(writer->out, "\">\n%s</svg></div>\n", drawing->body);
}

static bool shows_drawings(const struct page_writer *writer)
{
	(void)writer;
	return true;
}

/* Within an element `script` a "<" might begin another element; in JSON it can only stand in a text. */
static void data(struct page_writer *writer, const char *kind, const char *json)
{
	fprintf(writer->out, "<script type=\"application/json\" class=\"data-%s\">", kind);
	for (const char *c = json; *c;) {
		const size_t length = strcspn(c, "<");
		fwrite(c, 1, length, writer->out);
		c += length;
		if (*c) {
			fputs("\\u003c", writer->out);
			c++;
		}
	}
	fputs("</script>\n", writer->out);
}

const struct page_format page_html = {begin, end,     section,   section_end, heading,        paragraph, list,
				      item,  remark,  list_end,  fold,        fold_end,       table,     row,
				      cell,  row_end, table_end, put_drawing, shows_drawings, data};
