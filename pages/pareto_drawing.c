/* SPDX-License-Identifier: MIT
 *
 * The drawing of a Pareto front (pareto.h). It has a mark for each point of the front. Of the other points it shows
 * where they are: squares of the plane in which there is any, so that a hundred thousand points are as quickly drawn as
 * a thousand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawing.h"
#include "pareto.h"
#include "reports/format/markup.h"

enum { WIDTH = 760, HEIGHT = 420, LEFT = 78, RIGHT = 24, BOTTOM = 44, TOP = 22, SQUARE = 4 };
enum { COLUMNS = WIDTH / SQUARE, ROWS = HEIGHT / SQUARE };

struct axis {
	const char *name, *unit;
	const json_t *values;
	double least, most; /* logarithms, where it is logarithmic */
	bool is_logarithmic;
	double from, until; /* where they are drawn */
};

struct plane {
	struct axis x, y;
	const json_t *root;
	bool *on_front;
	unsigned char square[ROWS][COLUMNS]; /* 1: has a point that breaks a constraint; 2: one that meets them */
};

static double value_at(const struct axis *axis, size_t point)
{
	const json_t *value = json_array_get(axis->values, point);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Fills the ends of an axis. It is logarithmic where the greatest value is more than ten times the least. False: it has
 * no values. */
static bool measure(struct axis *axis)
{
	double least = INFINITY, most = -INFINITY;
	for (size_t i = 0; i < json_array_size(axis->values); i++) {
		const double value = value_at(axis, i);
		if (isnan(value) || !page_is_drawable(value))
			continue;
		least = fmin(least, value);
		most = fmax(most, value);
	}
	axis->is_logarithmic = least > 0 && most > 10 * least;
	axis->least = axis->is_logarithmic ? log10(least) : least;
	axis->most = axis->is_logarithmic ? log10(most) : most;
	const double margin = axis->most > axis->least ? 0.03 * (axis->most - axis->least)
						       : 0.1 * fabs(axis->most) + 1e-12;
	axis->least -= margin;
	axis->most += margin;
	return isfinite(least);
}

/* Returns where a value is drawn; NAN: nowhere. */
static double place(const struct axis *axis, double value)
{
	if (isnan(value) || !page_is_drawable(value) || (axis->is_logarithmic && value <= 0))
		return NAN;
	const double at = axis->is_logarithmic ? log10(value) : value;
	return axis->from + (at - axis->least) / (axis->most - axis->least) * (axis->until - axis->from);
}

/* ---- Axes. */

/* Draws one line of the grid with its figure. */
static void put_tick(FILE *out, const struct axis *axis, bool is_x, double value)
{
	const double at = place(axis, value);
	char text[60];
	page_sweep_quantity(value, axis->unit, text, sizeof text);
	if (is_x) {
		fprintf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", at, TOP, HEIGHT - BOTTOM);
		page_draw_text(out, at, HEIGHT - BOTTOM + 15, "middle", "quiet", text);
	} else {
		fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, at, WIDTH - RIGHT);
		page_draw_text(out, LEFT - 6, at + 4, "end", "quiet", text);
	}
}

/* A logarithmic axis of up to two decades has ticks at 1, 2 and 5 of each. */
static void put_ticks(FILE *out, const struct axis *axis, bool is_x)
{
	if (axis->is_logarithmic) {
		const double decades = axis->most - axis->least;
		for (int e = (int)floor(axis->least); e <= (int)axis->most; e++)
			for (int digit = 1; digit < 10; digit++) {
				const double at = e + log10(digit);
				const bool is_wanted = digit == 1 || (decades < 2.5 && (digit == 2 || digit == 5));
				if (is_wanted && at >= axis->least && at <= axis->most)
					put_tick(out, axis, is_x, digit * pow(10, e));
			}
		return;
	}
	const double step = page_tick(axis->most - axis->least);
	for (double i = ceil(axis->least / step); i * step <= axis->most; i++)
		put_tick(out, axis, is_x, i * step);
}

static void put_axes(FILE *out, const struct plane *plane)
{
	put_ticks(out, &plane->x, true);
	put_ticks(out, &plane->y, false);
	page_draw_text(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "middle", "", plane->x.name);
	page_draw_text(out, 4, 12, "start", "", plane->y.name);
}

/* ---- Points. */

/* Notes in which square each point is that is not on the front. */
static void fill_squares(struct plane *plane)
{
	const json_t *feasible = json_object_get(json_object_get(plane->root, "points"), "feasible");
	for (size_t i = 0; i < json_array_size(feasible); i++) {
		const double x = place(&plane->x, value_at(&plane->x, i)), y = place(&plane->y, value_at(&plane->y, i));
		if (!isfinite(x) || !isfinite(y) || plane->on_front[i])
			continue;
		unsigned char *square = &plane->square[(int)y / SQUARE][(int)x / SQUARE];
		const unsigned char kind = json_is_true(json_array_get(feasible, i)) ? 2 : 1;
		*square = *square > kind ? *square : kind;
	}
}

static void put_squares(FILE *out, const struct plane *plane, unsigned char kind, const char *style)
{
	fprintf(out, "<path class=\"%s\" d=\"", style);
	for (int row = 0; row < ROWS; row++)
		for (int column = 0; column < COLUMNS; column++) {
			const int from = column;
			while (column < COLUMNS && plane->square[row][column] == kind)
				column++;
			if (column > from)
				fprintf(out, "M%d %dh%dv3h-%dz", from * SQUARE, row * SQUARE,
					(column - from) * SQUARE - 1, (column - from) * SQUARE - 1);
		}
	fputs("\"/>\n", out);
}

/* The title of a mark: the point, its objectives and its parameters. */
static void put_title(FILE *out, const struct plane *plane, const json_t *point)
{
	const json_t *parameters = json_object_get(point, "parameters"),
		     *objectives = json_object_get(plane->root, "objectives");
	const char *key;
	json_t *value;
	char text[300];
	fprintf(out, "<title>point %.0f%s", page_number(point, "id"),
		json_is_true(json_object_get(point, "knee")) ? ", the knee" : "");
	for (size_t i = 0; i < json_array_size(objectives); i++) {
		const json_t *one = json_array_get(objectives, i);
		fputs("\n", out);
		npl_xml_put(out, page_text(one, "expression"));
		fputs(": ", out);
		npl_xml_put(out, page_sweep_quantity(
					 json_number_value(json_array_get(json_object_get(point, "objectives"), i)),
					 page_text(one, "unit"), text, sizeof text));
	}
	json_object_foreach ((json_t *)parameters, key, value) {
		fputs("\n", out);
		npl_xml_put(out, key);
		fputs(" = ", out);
		npl_xml_put(out, page_value_text(value, text, sizeof text));
	}
	fputs("</title>", out);
}

/* Draws the front from point to point, as steps with two objectives: what lies beyond a step is not reached. */
static void put_line(FILE *out, const struct plane *plane)
{
	const json_t *front = json_object_get(plane->root, "front");
	const bool is_staircase = json_array_size(json_object_get(plane->root, "objectives")) == 2;
	double before = NAN;
	if (!is_staircase)
		return;
	fputs("<path class=\"roof s1\" d=\"", out);
	for (size_t k = 0; k < json_array_size(front); k++) {
		const int64_t i = page_place_of(plane->root, json_array_get(front, k));
		const double x = i < 0 ? NAN : place(&plane->x, value_at(&plane->x, (size_t)i)),
			     y = i < 0 ? NAN : place(&plane->y, value_at(&plane->y, (size_t)i));
		if (!isfinite(x) || !isfinite(y))
			continue;
		const bool begins = isnan(before) || !page_compete(front, k, k - 1);
		fprintf(out, begins ? "M%.1f %.1f" : "H%.1fV%.1f", x, y);
		before = y;
	}
	fputs("\"/>\n", out);
}

static void put_marks(FILE *out, const struct plane *plane)
{
	const json_t *front = json_object_get(plane->root, "front");
	for (size_t k = 0; k < json_array_size(front); k++) {
		const json_t *point = json_array_get(front, k);
		const int64_t i = page_place_of(plane->root, point);
		const double x = i < 0 ? NAN : place(&plane->x, value_at(&plane->x, (size_t)i)),
			     y = i < 0 ? NAN : place(&plane->y, value_at(&plane->y, (size_t)i));
		if (!isfinite(x) || !isfinite(y))
			continue;
		fprintf(out, "<path class=\"s1\" d=\"M%.1f %.1f%s\">", x, y, page_mark(0));
		put_title(out, plane, point);
		fputs("</path>\n", out);
		if (page_is_knee(front, k)) {
			fprintf(out, "<path class=\"range\" d=\"M%.1f %.1fm-9 0a9 9 0 1 0 18 0a9 9 0 1 0-18 0\"/>", x,
				y);
			page_draw_text(out, x + 12, y - 8, "start", "", "knee");
		}
	}
}

static void put_legend(FILE *out)
{
	fputs("<path class=\"s1\" d=\"M6 8m-5 0l5-5 5 5-5 5z\"/>", out);
	page_draw_text(out, 16, 12, "start", "", "Pareto front");
	fputs("<path class=\"s0\" d=\"M104 4h8v8h-8z\"/>", out);
	page_draw_text(out, 117, 12, "start", "", "points that meet the constraints");
	fputs("<path class=\"s6 pale\" d=\"M304 4h8v8h-8z\"/>", out);
	page_draw_text(out, 317, 12, "start", "", "points that break one");
	fputs("\n", out);
}

static void draw(FILE *out, struct plane *plane)
{
	enum { LEGEND = 20 };
	put_legend(out);
	fprintf(out, "<g transform=\"translate(0 %d)\">\n", LEGEND);
	put_axes(out, plane);
	fill_squares(plane);
	put_squares(out, plane, 1, "s6 pale");
	put_squares(out, plane, 2, "s0");
	put_line(out, plane);
	put_marks(out, plane);
	fputs("</g>\n", out);
}

/* ---- Which figures are drawn. */

static void take_objective(const json_t *objective, struct axis *axis)
{
	axis->name = page_text(objective, "expression");
	axis->unit = page_text(objective, "unit");
	axis->values = json_object_get(objective, "values");
}

/* The first parameter whose values are numbers. */
static void take_parameter(const json_t *parameters, struct axis *axis)
{
	for (size_t i = 0; i < json_array_size(parameters) && !axis->values; i++) {
		const json_t *one = json_array_get(parameters, i), *values = json_object_get(one, "values");
		if (json_is_number(json_array_get(values, 0)))
			*axis = (struct axis){
				.name = page_text(one, "name"), .unit = page_text(one, "unit"), .values = values};
	}
}

static bool choose_axes(const json_t *root, struct plane *plane)
{
	const json_t *objectives = json_object_get(root, "objectives");
	if (json_array_size(objectives) > 1) {
		take_objective(json_array_get(objectives, 0), &plane->x);
		take_objective(json_array_get(objectives, 1), &plane->y);
	} else {
		take_parameter(json_object_get(root, "parameters"), &plane->x);
		take_objective(json_array_get(objectives, 0), &plane->y);
	}
	if (!plane->x.values || !plane->y.values || !measure(&plane->x) || !measure(&plane->y))
		return false;
	plane->x.from = LEFT;
	plane->x.until = WIDTH - RIGHT;
	plane->y.from = HEIGHT - BOTTOM;
	plane->y.until = TOP;
	return true;
}

void page_put_front_drawing(struct page_writer *writer, const json_t *root, const char *suffix)
{
	struct plane *plane = calloc(1, sizeof *plane);
	char id[40], label[400], *text = NULL;
	size_t bytes = 0;
	FILE *out = plane ? open_memstream(&text, &bytes) : NULL;
	writer->failed |= !out;
	if (out && choose_axes(root, plane)) {
		plane->root = root;
		plane->on_front = page_on_front(root);
		writer->failed |= !plane->on_front;
		if (plane->on_front)
			draw(out, plane);
	}
	if (out && fclose(out))
		writer->failed = true;
	else if (bytes) {
		snprintf(id, sizeof id, "front-drawing%s", suffix);
		snprintf(label, sizeof label, "%.150s against %.150s of all points, with the Pareto front",
			 plane->x.name, plane->y.name);
		page_drawing(writer,
			     &(struct page_drawing){
				     .id = id, .label = label, .width = WIDTH, .height = HEIGHT + 20, .body = text});
	}
	if (plane)
		free(plane->on_front);
	free(plane);
	free(text);
}
