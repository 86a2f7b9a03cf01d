/* SPDX-License-Identifier: MIT
 *
 * Parts of every page (html.h). */
#include "html.h"

#include <math.h>
#include <string.h>

#include "reports/format/markup.h"
#include "texts.h"

static void put_file(FILE *out, const char *name)
{
	for (const struct page_embedded *file = page_embedded; file->name; file++)
		if (!strcmp(file->name, name))
			fputs(file->text, out);
}

void page_begin(FILE *out, const char *title)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
	      out);
	npl_xml_put(out, title);
	fputs("</title>\n<style>\n", out);
	put_file(out, "style.css");
	fputs("</style>\n</head>\n<body>\n<main>\n<h1>", out);
	npl_xml_put(out, title);
	fputs("</h1>\n", out);
}

void page_end(FILE *out, const char *made_by)
{
	fputs("</main>\n<footer>", out);
	npl_xml_put(out, made_by);
	fputs("</footer>\n<script>\n", out);
	put_file(out, "script.js");
	fputs("</script>\n</body>\n</html>\n", out);
}

void page_section(FILE *out, const char *id, const char *heading)
{
	fprintf(out, "<section id=\"%s\">\n<h2>", id);
	npl_xml_put(out, heading);
	fputs("</h2>\n", out);
}

void page_section_end(FILE *out)
{
	fputs("</section>\n", out);
}

void page_table_begin(FILE *out, const struct page_table *table)
{
	fprintf(out, "<div class=\"table%s\" tabindex=\"0\" role=\"region\" aria-label=\"",
		table->can_be_searched ? " searched" : "");
	npl_xml_put_attribute(out, table->caption);
	fprintf(out, "\">\n<table%s><caption>", table->can_be_sorted ? " class=\"sorted\"" : "");
	npl_xml_put(out, table->caption);
	fputs("</caption>\n<thead><tr>", out);
}

void page_table_heading(FILE *out, const char *text, bool is_number)
{
	fprintf(out, "<th scope=\"col\"%s>", is_number ? " class=\"n\"" : "");
	npl_xml_put(out, text);
	fputs("</th>", out);
}

void page_table_body(FILE *out)
{
	fputs("</tr></thead>\n<tbody>", out);
}

/* HTML ends a row, and the cells in it, where the next one begins. */
void page_row(FILE *out)
{
	fputs("\n<tr>", out);
}

void page_cell(FILE *out, const char *text)
{
	fputs("<td>", out);
	npl_xml_put(out, text);
}

void page_figure(FILE *out, double value, const char *text)
{
	if (isnan(value))
		fputs("<td class=\"n\">", out);
	else
		fprintf(out, "<td class=\"n\" data-v=\"%.9g\">", value);
	npl_xml_put(out, text);
}

void page_table_end(FILE *out)
{
	fputs("\n</tbody></table>\n</div>\n", out);
}

/* Returns where a text has its character number n; bytes 10xxxxxx continue one. */
static const char *character(const char *text, int n)
{
	for (; *text; text++)
		if ((*text & 0xc0) != 0x80 && n-- == 0)
			break;
	return text;
}

const char *page_short_name(char *buf, size_t n, const char *name, int characters)
{
	int length = 0;
	while (*character(name, length))
		length++;
	if (length <= characters) {
		snprintf(buf, n, "%s", name);
		return buf;
	}
	const int before = (characters - 1) / 2, after = characters - 1 - before;
	const char *cut = character(name, before);
	snprintf(buf, n, "%.*s\u2026%s", (int)(cut - name), name, character(name, length - after));
	return buf;
}
