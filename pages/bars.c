/* SPDX-License-Identifier: MIT
 *
 * Charts of lying bars (bars.h). */
#include "bars.h"

#include <math.h>

#include "html.h"
#include "npulab/report.h"
#include "reports/format/markup.h"

/* In units of the drawing, of which it is WIDTH wide; it is shown as wide as the page has room. */
enum { WIDTH = 760, NAMES = 190, RIGHT = 90, ROW = 17, BAR = 11, AXIS = 26, NAME_CHARACTERS = 28 };

double page_tick(double most)
{
	const double power = pow(10, floor(log10(most / 4)));
	const double steps[] = {5, 2};
	for (int i = 0; i < 2; i++)
		if (steps[i] * power <= most / 4)
			return steps[i] * power;
	return power;
}

static double above_zero(double value)
{
	return value > 0 && isfinite(value) ? value : 0;
}

static double sum_of(const struct page_bars *bars, int row)
{
	double sum = 0;
	for (int s = 0; s < bars->n_series; s++)
		sum += above_zero(bars->series[s].value[row]);
	return sum;
}

static double greatest_sum(const struct page_bars *bars)
{
	double most = 0;
	for (int i = 0; i < bars->n_rows; i++)
		most = fmax(most, sum_of(bars, i));
	return most;
}

static double x_of(double value, double most)
{
	return NAMES + value / most * (WIDTH - NAMES - RIGHT);
}

static void put_axis(FILE *out, const struct page_bars *bars, double most, int height)
{
	const double tick = page_tick(most);
	for (int i = 0; i * tick <= most * 1.0001; i++) {
		char text[40];
		const double x = x_of(i * tick, most);
		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f 0V%d\"/><text class=\"quiet\" x=\"%.1f\" y=\"%d\" "
			"text-anchor=\"middle\">",
			x, height - AXIS + 4, x, height - 8);
		npl_xml_put(out, i ? npl_si_text(i * tick, bars->unit, text, sizeof text) : "0");
		fputs("</text>\n", out);
	}
}

/* Draws the parts of one series in all rows as one path: a page has thousands of them. */
static void put_series(FILE *out, const struct page_bars *bars, int series, double most)
{
	fprintf(out, "<path class=\"s%d\" d=\"", series);
	for (int i = 0; i < bars->n_rows; i++) {
		double before = 0;
		const double value = above_zero(bars->series[series].value[i]);
		for (int s = 0; s < series; s++)
			before += above_zero(bars->series[s].value[i]);
		const double from = x_of(before, most), until = x_of(before + value, most);
		if (until - from >= 0.05)
			fprintf(out, "M%.1f %dh%.1fv%dh-%.1fz", from, i * ROW + (ROW - BAR) / 2, until - from, BAR,
				until - from);
	}
	fputs("\"/>\n", out);
}

static void put_row(FILE *out, const struct page_bars *bars, int row, double most)
{
	char name[200], text[40];
	const double sum = sum_of(bars, row);
	const int y = row * ROW;
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", NAMES - 6, y + ROW - 5);
	npl_xml_put(out, page_short_name(name, sizeof name, bars->row[row], NAME_CHARACTERS));
	fprintf(out, "</text><text class=\"quiet\" x=\"%.1f\" y=\"%d\">", x_of(sum, most) + 4, y + ROW - 5);
	npl_xml_put(out, npl_si_text(sum, bars->unit, text, sizeof text));
	fprintf(out, "</text><rect class=\"row\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"><title>", y, WIDTH, ROW);
	npl_xml_put(out, bars->row[row]);
	for (int s = 0; s < bars->n_series; s++) {
		const double value = above_zero(bars->series[s].value[row]);
		if (!(value > 0))
			continue;
		fputs("\n", out);
		npl_xml_put(out, bars->series[s].name);
		fprintf(out, ": %s", npl_si_text(value, bars->unit, text, sizeof text));
	}
	fputs("</title></rect>\n", out);
}

static void put_legend(FILE *out, const struct page_bars *bars)
{
	fputs("<ul class=\"legend\">", out);
	for (int s = 0; s < bars->n_series; s++) {
		fprintf(out, "<li class=\"s%d\"><span>", s);
		npl_xml_put(out, bars->series[s].name);
		fputs("</span>", out);
	}
	fputs("</ul>\n", out);
}

void page_bars_put(FILE *out, const struct page_bars *bars)
{
	const double most = greatest_sum(bars);
	const int height = bars->n_rows * ROW + AXIS;
	if (!(most > 0))
		return;
	if (bars->n_series > 1)
		put_legend(out, bars);
	fprintf(out, "<div class=\"chart\" tabindex=\"0\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
		height);
	npl_xml_put_attribute(out, bars->label);
	fputs("\">\n", out);
	put_axis(out, bars, most, height);
	for (int s = 0; s < bars->n_series; s++)
		put_series(out, bars, s, most);
	for (int i = 0; i < bars->n_rows; i++)
		put_row(out, bars, i, most);
	fputs("</svg></div>\n", out);
}
