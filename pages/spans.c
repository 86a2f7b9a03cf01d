/* SPDX-License-Identifier: MIT
 *
 * Spans on a time axis (spans.h). */
#include "spans.h"

#include <math.h>
#include <string.h>

#include "npulab/report.h"
#include "reports/format/markup.h"

enum { WIDTH = 760, NAMES = 130, RIGHT = 40, ROW = 34, BAR = 22, AXIS = 26, NAME_CHARACTERS = 20, CHARACTER = 6 };

static double x_of(double seconds, double most)
{
	return NAMES + seconds / most * (WIDTH - NAMES - RIGHT);
}

static void put_axis(FILE *out, double most, int height)
{
	const double tick = page_tick(most);
	for (int i = 0; i * tick <= most * 1.0001; i++) {
		char text[40];
		const double x = x_of(i * tick, most);
		fprintf(out, "<path class=\"grid\" d=\"M%.1f 0V%d\"/>", x, height - AXIS + 4);
		page_draw_text(out, x, height - 8, "middle", "quiet",
			       i ? npl_si_text(i * tick, "s", text, sizeof text) : "0");
	}
}

/* A span has its name where there is room for it, and always when a pointer rests on it. */
static void put_span(FILE *out, const struct page_span *span, double most)
{
	char start[40], end[40], length[40];
	const double from = x_of(span->start, most), wide = x_of(span->end, most) - from;
	const int y = span->row * ROW + (ROW - BAR) / 2;
	fprintf(out, "<rect class=\"span s%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><title>",
		span->row % PAGE_COLOURS, from, y, fmax(wide, 0.2), BAR);
	npl_xml_put(out, span->name);
	fprintf(out, "\n%s, from %s to %s</title></rect>\n",
		npl_si_text(span->end - span->start, "s", length, sizeof length),
		npl_si_text(span->start, "s", start, sizeof start), npl_si_text(span->end, "s", end, sizeof end));
	if ((double)strlen(span->name) * CHARACTER + 4 < wide)
		page_draw_text(out, from + wide / 2, y + BAR / 2.0 + 4, "middle", "inside", span->name);
}

void page_spans_put(struct page_writer *writer, const struct page_spans *spans)
{
	double most = 0;
	const int height = spans->n_rows * ROW + AXIS;
	struct page_pen pen;
	for (int i = 0; i < spans->n_spans; i++)
		most = fmax(most, spans->span[i].end);
	if (!(most > 0) || !page_is_drawable(most))
		return;
	page_pen_begin(&pen, WIDTH, PAGE_AREAS, NULL, 0);
	if (pen.out) {
		put_axis(pen.out, most, height);
		for (int i = 0; i < spans->n_rows; i++) {
			char name[200];
			page_draw_text(pen.out, NAMES - 6, i * ROW + ROW / 2.0 + 4, "end", "",
				       page_short_name(name, sizeof name, spans->row[i], NAME_CHARACTERS));
		}
		for (int i = 0; i < spans->n_spans; i++)
			put_span(pen.out, &spans->span[i], most);
	}
	page_pen_end(&pen, writer,
		     (struct page_drawing){.id = spans->id, .label = spans->label, .width = WIDTH, .height = height});
}
