/* SPDX-License-Identifier: MIT
 *
 * Points below roofs (points.h). */
#include "points.h"

#include <math.h>

#include "npulab/report.h"
#include "reports/format/markup.h"

enum { WIDTH = 760, HEIGHT = 420, LEFT = 70, RIGHT = 20, BOTTOM = 44, TOP = 8 };

struct axis {
	double least, most; /* powers of ten, as exponents */
	double from, until; /* where they are drawn */
};

struct plane {
	struct axis x, y;
};

bool page_point_has_place(const struct page_point *point)
{
	return point->macs_per_byte > 0 && page_is_drawable(point->macs_per_byte) && point->ops_per_second > 0 &&
	       page_is_drawable(point->ops_per_second);
}

static void widen(struct axis *axis, double value)
{
	if (!(value > 0) || !page_is_drawable(value))
		return;
	axis->least = fmin(axis->least, floor(log10(value)));
	axis->most = fmax(axis->most, ceil(log10(value)));
}

static double place(const struct axis *axis, double value)
{
	return axis->from + (log10(value) - axis->least) / (axis->most - axis->least) * (axis->until - axis->from);
}

/* Without points the plane has each roof two decades below its corner and one above. */
static void show_roof(struct plane *plane, const struct page_roof *roof)
{
	const double ridge = roof->peak_ops_per_second / roof->bytes_per_second / 2;
	widen(&plane->x, ridge / 100);
	widen(&plane->x, ridge * 10);
	widen(&plane->y, roof->peak_ops_per_second / 100);
}

/* The plane has all points, and of each roof its corner. False: it has neither. */
static bool plane_of(const struct page_points *points, struct plane *plane)
{
	*plane = (struct plane){{INFINITY, -INFINITY, LEFT, WIDTH - RIGHT},
				{INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP}};
	for (int i = 0; i < points->n_points; i++)
		if (page_point_has_place(&points->point[i])) {
			widen(&plane->x, points->point[i].macs_per_byte);
			widen(&plane->y, points->point[i].ops_per_second);
		}
	const bool has_points = isfinite(plane->x.least);
	for (int i = 0; i < points->n_roofs; i++) {
		if (!has_points)
			show_roof(plane, &points->roof[i]);
		widen(&plane->x, points->roof[i].peak_ops_per_second / points->roof[i].bytes_per_second / 2);
		widen(&plane->y, points->roof[i].peak_ops_per_second);
	}
	plane->x.most += plane->x.most == plane->x.least;
	plane->y.most += plane->y.most == plane->y.least;
	return isfinite(plane->x.least) && isfinite(plane->y.least);
}

static void put_axes(FILE *out, const struct plane *plane)
{
	char text[40];
	for (int e = (int)plane->x.least; e <= (int)plane->x.most; e++) {
		const double x = place(&plane->x, pow(10, e));
		fprintf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", x, TOP, HEIGHT - BOTTOM);
		snprintf(text, sizeof text, "%g", pow(10, e));
		page_draw_text(out, x, HEIGHT - BOTTOM + 15, "middle", "quiet", text);
	}
	for (int e = (int)plane->y.least; e <= (int)plane->y.most; e++) {
		const double y = place(&plane->y, pow(10, e));
		fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
		page_draw_text(out, LEFT - 6, y + 4, "end", "quiet",
			       npl_si_text(pow(10, e), "OP/s", text, sizeof text));
	}
	page_draw_text(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "middle", "quiet",
		       "intensity: multiply-accumulates per byte of the device's memory");
}

/* Writes the number format of a roof above its right end, where it is drawn flat. */
static void put_roof_name(FILE *out, const struct plane *plane, const struct page_roof *roof)
{
	page_draw_text(out, plane->x.until - 2, place(&plane->y, roof->peak_ops_per_second) - 4, "end", "quiet",
		       roof->name);
}

/* A roof rises with the bytes, two operations for each multiply-accumulate, up to its peak. */
static void put_roof(FILE *out, const struct plane *plane, const struct page_roof *roof)
{
	const double peak = roof->peak_ops_per_second, rate = roof->bytes_per_second, ridge = peak / rate / 2;
	if (!(peak > 0) || !page_is_drawable(peak))
		return;
	const double y = place(&plane->y, peak), right = plane->x.until;
	const double left_x = fmax(pow(10, plane->x.least), pow(10, plane->y.least) / (2 * rate));
	fprintf(out, "<path class=\"roof s%d\" d=\"", roof->series);
	if (rate > 0 && page_is_drawable(ridge) && left_x < ridge)
		fprintf(out, "M%.1f %.1fL%.1f %.1fH%.1f\"/>\n", place(&plane->x, left_x),
			place(&plane->y, 2 * rate * left_x), place(&plane->x, ridge), y, right);
	else
		fprintf(out, "M%d %.1fH%.1f\"/>\n", LEFT, y, right);
	put_roof_name(out, plane, roof);
}

static void put_point(FILE *out, const struct plane *plane, const struct page_points *points, int i)
{
	const struct page_point *point = &points->point[i];
	char text[40];
	if (!page_point_has_place(point))
		return;
	fprintf(out, "<path class=\"s%d\" d=\"M%.1f %.1f%s\"><title>", point->series,
		place(&plane->x, point->macs_per_byte), place(&plane->y, point->ops_per_second),
		page_mark(point->series));
	npl_xml_put(out, point->name);
	fputs("\n", out);
	npl_xml_put(out, points->series[point->series]);
	fprintf(out, ": %s%s", points->is_modelled[point->series] ? "~" : "",
		npl_si_text(point->ops_per_second, "OP/s", text, sizeof text));
	fprintf(out, " at %.3g MAC/B</title></path>\n", point->macs_per_byte);
}

void page_points_put(struct page_writer *writer, const struct page_points *points)
{
	struct plane plane;
	struct page_pen pen;
	if (!plane_of(points, &plane))
		return;
	page_pen_begin(&pen, WIDTH, PAGE_MARKS, points->series, points->n_series);
	if (pen.out) {
		put_axes(pen.out, &plane);
		for (int i = 0; i < points->n_roofs; i++)
			put_roof(pen.out, &plane, &points->roof[i]);
		for (int i = 0; i < points->n_points; i++)
			put_point(pen.out, &plane, points, i);
	}
	page_pen_end(&pen, writer,
		     (struct page_drawing){.id = points->id, .label = points->label, .width = WIDTH, .height = HEIGHT});
}
