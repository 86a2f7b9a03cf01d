/* SPDX-License-Identifier: MIT
 *
 * What drawings share (drawing.h). */
#include "drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/report.h"
#include "reports/format/markup.h"

/* The width of a character is not known before it is drawn: this is an ample mean of the font in use. */
enum { LINE = 16, SQUARE = 9, CHARACTER = 6, LEGEND_CHARACTERS = 40 };

/* Returns where a text has its character number n; bytes 10xxxxxx continue one. */
static const char *character(const char *text, int n)
{
	for (; *text; text++)
		if ((*text & 0xc0) != 0x80 && n-- == 0)
			break;
	return text;
}

static int count_characters(const char *text)
{
	int n = 0;
	while (*character(text, n))
		n++;
	return n;
}

const char *page_short_name(char *buf, size_t n, const char *name, int characters)
{
	const int length = count_characters(name);
	if (length <= characters) {
		snprintf(buf, n, "%s", name);
		return buf;
	}
	const int before = (characters - 1) / 2, after = characters - 1 - before;
	const char *cut = character(name, before);
	snprintf(buf, n, "%.*s\u2026%s", (int)(cut - name), name, character(name, length - after));
	return buf;
}

bool page_is_drawable(double value)
{
	return value == 0 || (fabs(value) >= 1e-100 && fabs(value) <= 1e100);
}

double page_tick(double most)
{
	const double power = pow(10, floor(log10(most / 4)));
	const double steps[] = {5, 2};
	for (int i = 0; i < 2; i++)
		if (steps[i] * power <= most / 4)
			return steps[i] * power;
	return power;
}

const char *page_quantity(double value, const char *unit, char *buf, size_t n)
{
	const bool is_plain = !strcmp(unit, "dB") || !strcmp(unit, "mm2");
	*buf = '\0';
	if (isfinite(value) && is_plain)
		snprintf(buf, n, "%.3g %s", value, unit);
	else if (isfinite(value))
		npl_si_text(value, unit, buf, n);
	return buf;
}

void page_draw_text(FILE *out, double x, double y, const char *anchor, const char *style, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
	fprintf(out, *style ? " class=\"%s\">" : ">", style);
	npl_xml_put(out, text);
	fputs("</text>\n", out);
}

const char *page_mark(int series)
{
	static const char *const shapes[] = {"m-5 0l5-5 5 5-5 5z", "m-4-4h8v8h-8z", "m-5 4l5-9 5 9z", "m-5-4l5 9 5-9z"};
	return shapes[series % 4];
}

static int put_legend(FILE *out, int width, enum page_look look, const char *const *series, int n)
{
	int x = 0, y = 0;
	for (int i = 0; i < n; i++) {
		char name[200];
		page_short_name(name, sizeof name, series[i], LEGEND_CHARACTERS);
		const int wide = SQUARE + 5 + CHARACTER * count_characters(name) + 14;
		if (x + wide > width && x) {
			x = 0;
			y += LINE;
		}
		fprintf(out, "<path class=\"s%d\" d=\"", i);
		if (look == PAGE_MARKS)
			fprintf(out, "M%d %d%s\"/>", x + SQUARE / 2 + 2, y + SQUARE - 1, page_mark(i));
		else
			fprintf(out, "M%d %dh%dv%dh-%dz\"/>", x, y + 3, SQUARE, SQUARE, SQUARE);
		page_draw_text(out, x + SQUARE + 5, y + SQUARE + 3, "start", "", name);
		x += wide;
	}
	return y + LINE + 4;
}

void page_pen_begin(struct page_pen *pen, int width, enum page_look look, const char *const *series, int n)
{
	*pen = (struct page_pen){0};
	pen->out = open_memstream(&pen->text, &pen->bytes);
	if (!pen->out)
		return;
	if (n > 1)
		pen->top = put_legend(pen->out, width, look, series, n);
	fprintf(pen->out, "<g transform=\"translate(0 %d)\">\n", pen->top);
}

void page_pen_end(struct page_pen *pen, struct page_writer *writer, struct page_drawing drawing)
{
	if (pen->out)
		fputs("</g>\n", pen->out);
	if (!pen->out || fclose(pen->out)) {
		writer->failed = true;
	} else {
		drawing.height += pen->top;
		drawing.body = pen->text;
		page_drawing(writer, &drawing);
	}
	free(pen->text);
	*pen = (struct page_pen){0};
}
