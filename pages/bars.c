/* SPDX-License-Identifier: MIT
 *
 * Charts of rows (bars.h). */
#include "bars.h"

#include <math.h>

#include "kept_rows.h"
#include "reports/format/markup.h"

/* In units of the drawing, of which it is WIDTH wide; it is shown as wide as the page has room. */
enum { WIDTH = 760, NAMES = 190, RIGHT = 90, ROW = 17, BAR = 11, THIN_BAR = 9, AXIS = 26, NAME_CHARACTERS = 28 };

struct scale {
	double least, most;
};

static double bar_of(double value)
{
	return value > 0 && page_is_drawable(value) ? value : 0;
}

/* Writes a figure of a row; row below 0: of the axis. */
static const char *value_text(const struct page_bars *bars, int row, double value, char *buf, size_t n)
{
	const bool is_modelled = row >= 0 && (bars->row_is_modelled ? bars->row_is_modelled[row] : bars->is_modelled);
	const char *mark = is_modelled ? "~" : "";
	char text[40];
	if (!isfinite(value))
		*buf = '\0';
	else if (bars->without_prefix)
		snprintf(buf, n, "%s%.3g %s", mark, value, bars->unit);
	else
		snprintf(buf, n, "%s%s", mark, page_quantity(value, bars->unit, text, sizeof text));
	return buf;
}

/* A mark may be below 0, a bar not. */
static double place_of(const struct page_bars *bars, double value)
{
	return bars->kind == PAGE_BARS_MARKS ? value : bar_of(value);
}

static double sum_of(const struct page_bars *bars, int row)
{
	double sum = 0;
	for (int s = 0; s < bars->n_series; s++)
		sum += bar_of(bars->series[s].value[row]);
	return sum;
}

static void widen(struct scale *scale, double value)
{
	if (page_is_drawable(value)) {
		scale->least = fmin(scale->least, value);
		scale->most = fmax(scale->most, value);
	}
}

/* An axis begins at 0, or where marks are below that. */
static struct scale scale_of(const struct page_bars *bars)
{
	struct scale scale = {0, 0};
	for (int i = 0; i < bars->n_rows; i++) {
		if (bars->kind == PAGE_BARS_STACKED)
			widen(&scale, sum_of(bars, i));
		for (int s = 0; s < bars->n_series; s++) {
			const struct page_series *series = &bars->series[s];
			widen(&scale, place_of(bars, series->value[i]));
			if (series->high)
				widen(&scale, place_of(bars, series->high[i]));
			if (series->low)
				widen(&scale, place_of(bars, series->low[i]));
		}
	}
	return scale;
}

static double x_of(double value, const struct scale *scale)
{
	return NAMES + (value - scale->least) / (scale->most - scale->least) * (WIDTH - NAMES - RIGHT);
}

static int row_height(const struct page_bars *bars)
{
	return bars->kind == PAGE_BARS_GROUPED ? bars->n_series * THIN_BAR + 8 : ROW;
}

static void put_axis(FILE *out, const struct page_bars *bars, const struct scale *scale, int height)
{
	const double tick = page_tick(scale->most - scale->least);
	for (int k = (int)ceil(scale->least / tick); k * tick <= scale->most * 1.0001; k++) {
		char text[60];
		const double x = x_of(k * tick, scale);
		fprintf(out, "<path class=\"grid\" d=\"M%.1f 0V%d\"/>", x, height - AXIS + 4);
		page_draw_text(out, x, height - 8, "middle", "quiet",
			       k != 0 ? value_text(bars, -1, k * tick, text, sizeof text) : "0");
	}
}

/* Returns where a row's part of a series begins. */
static double start_of(const struct page_bars *bars, int series, int row)
{
	double start = 0;
	for (int s = 0; s < series && bars->kind == PAGE_BARS_STACKED; s++)
		start += bar_of(bars->series[s].value[row]);
	return start;
}

static void put_bar(FILE *out, const struct page_bars *bars, int series, int row, const struct scale *scale)
{
	const bool together = bars->kind == PAGE_BARS_GROUPED;
	const double value = bar_of(bars->series[series].value[row]), start = start_of(bars, series, row);
	const double from = x_of(start, scale), until = x_of(start + value, scale);
	const int height = together ? THIN_BAR - 1 : BAR;
	const int y = row * row_height(bars) + (together ? 4 + series * THIN_BAR : (ROW - BAR) / 2);
	if (until - from >= 0.05)
		fprintf(out, "M%.1f %dh%.1fv%dh-%.1fz", from, y, until - from, height, until - from);
}

static void put_mark(FILE *out, const struct page_bars *bars, int series, int row, const struct scale *scale)
{
	const double value = bars->series[series].value[row];
	if (page_is_drawable(value))
		fprintf(out, "M%.1f %.1f%s", x_of(value, scale), row * ROW + ROW / 2.0, page_mark(series));
}

/* Draws one series in all rows as one path: a page has thousands of them. */
static void put_series(FILE *out, const struct page_bars *bars, int series, const struct scale *scale)
{
	fprintf(out, "<path class=\"s%d\" d=\"", series);
	for (int i = 0; i < bars->n_rows; i++)
		(bars->kind == PAGE_BARS_MARKS ? put_mark : put_bar)(out, bars, series, i, scale);
	fputs("\"/>\n", out);
}

static double within(const struct scale *scale, double value)
{
	return fmin(fmax(value, scale->least), scale->most);
}

/* Draws a range as a line with ends; an end that is infinite lies at the edge of the chart. */
static void put_range(FILE *out, const struct page_bars *bars, const struct page_series *s, int row,
		      const struct scale *scale)
{
	const double y = row * row_height(bars) + row_height(bars) / 2.0;
	const double low = x_of(within(scale, place_of(bars, s->low[row])), scale),
		     high = x_of(within(scale, place_of(bars, s->high[row])), scale);
	if (isnan(s->low[row]) || isnan(s->high[row]))
		return;
	fprintf(out, "M%.1f %.1fH%.1f", low, y, high);
	if (isfinite(s->high[row]))
		fputs("m0-4v8", out);
	if (isfinite(s->low[row]))
		fprintf(out, "M%.1f %.1fv8", low, y - 4);
}

static void put_ranges(FILE *out, const struct page_bars *bars, int series, const struct scale *scale)
{
	const struct page_series *s = &bars->series[series];
	if (!s->low || !s->high)
		return;
	fputs("<path class=\"range\" d=\"", out);
	for (int i = 0; i < bars->n_rows; i++)
		put_range(out, bars, s, i, scale);
	fputs("\"/>\n", out);
}

/* Shows what a row has when a pointer rests on it. */
static void put_title(FILE *out, const struct page_bars *bars, int row)
{
	char text[60];
	npl_xml_put(out, bars->row[row]);
	for (int s = 0; s < bars->n_series; s++) {
		const double value = bars->series[s].value[row];
		if (isnan(value) || (bars->kind == PAGE_BARS_STACKED && !(value > 0)))
			continue;
		fputs("\n", out);
		npl_xml_put(out, bars->series[s].name);
		fprintf(out, ": %s", value_text(bars, row, value, text, sizeof text));
	}
}

/* Writes the sum behind stacked parts, and each value behind bars that stand together. */
static void put_values(FILE *out, const struct page_bars *bars, int row, const struct scale *scale)
{
	char text[60];
	const int y = row * row_height(bars);
	const double sum = sum_of(bars, row);
	if (bars->kind == PAGE_BARS_STACKED)
		page_draw_text(out, x_of(sum, scale) + 4, y + ROW - 5, "start", "quiet",
			       value_text(bars, row, sum, text, sizeof text));
	for (int s = 0; s < bars->n_series && bars->kind == PAGE_BARS_GROUPED; s++) {
		const double value = bars->series[s].value[row];
		const double end = bars->series[s].high ? fmax(bar_of(value), bar_of(bars->series[s].high[row]))
							: value;
		if (isfinite(value))
			page_draw_text(out, x_of(bar_of(end), scale) + 4, y + s * THIN_BAR + 11, "start",
				       bars->n_series > 1 ? "small quiet" : "quiet",
				       value_text(bars, row, value, text, sizeof text));
	}
}

static void put_row(FILE *out, const struct page_bars *bars, int row, const struct scale *scale)
{
	char name[200];
	const int height = row_height(bars), y = row * height;
	page_draw_text(out, NAMES - 6, y + height / 2.0 + 4, "end", "",
		       page_short_name(name, sizeof name, bars->row[row], NAME_CHARACTERS));
	put_values(out, bars, row, scale);
	fprintf(out, "<rect class=\"row\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"><title>", y, WIDTH, height);
	put_title(out, bars, row);
	fputs("</title></rect>\n", out);
}

static void put_all(FILE *out, const struct page_bars *bars, const struct scale *scale, int height)
{
	put_axis(out, bars, scale, height);
	for (int s = 0; s < bars->n_series; s++) {
		if (bars->kind == PAGE_BARS_MARKS) /* drawn after its range, so that it stays visible */
			put_ranges(out, bars, s, scale);
		put_series(out, bars, s, scale);
		if (bars->kind != PAGE_BARS_MARKS)
			put_ranges(out, bars, s, scale);
	}
	for (int i = 0; i < bars->n_rows; i++)
		put_row(out, bars, i, scale);
}

static void put_chart(struct page_writer *writer, const struct page_bars *bars)
{
	const struct scale scale = scale_of(bars);
	const int height = bars->n_rows * row_height(bars) + AXIS;
	const char *names[PAGE_COLOURS];
	struct page_pen pen;
	if (!(scale.most > scale.least))
		return;
	for (int s = 0; s < bars->n_series; s++)
		names[s] = bars->series[s].name;
	page_pen_begin(&pen, WIDTH, bars->kind == PAGE_BARS_MARKS ? PAGE_MARKS : PAGE_AREAS, names, bars->n_series);
	if (pen.out)
		put_all(pen.out, bars, &scale, height);
	page_pen_end(&pen, writer,
		     (struct page_drawing){.id = bars->id, .label = bars->label, .width = WIDTH, .height = height});
}

void page_bars_put(struct page_writer *writer, const struct page_bars *bars)
{
	struct page_kept_rows kept;
	if (bars->n_rows <= PAGE_MOST_ROWS) {
		put_chart(writer, bars);
	} else if (page_kept_rows(bars, &kept)) {
		put_chart(writer, &kept.bars);
		page_kept_rows_free(&kept);
	} else {
		writer->failed = true;
	}
}
