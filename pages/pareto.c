/* SPDX-License-Identifier: MIT
 *
 * The page of a sweep (page.h): its Pareto front, all points in charts that a reader can filter (pareto.js), and what
 * was varied. */
#include "pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "page.h"

enum { TEXT = 600 };

/* Writes the texts of a list with commas. */
static const char *join(const json_t *list, const char *key, char buf[TEXT])
{
	*buf = '\0';
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		npl_append(buf, TEXT, ", ", "%s", key ? page_text(one, key) : json_string_value(one));
	}
	return buf;
}

/* ---- The front. */

/* Says which points are knees: one, or one for each network. */
static void put_knees(const json_t *front, char *text, size_t bytes)
{
	char points[TEXT] = "";
	int n = 0;
	for (size_t k = 0; k < json_array_size(front); k++)
		if (page_is_knee(front, k)) {
			npl_append(points, sizeof points, ", ", "%.0f", page_number(json_array_get(front, k), "id"));
			n++;
		}
	if (json_array_size(front) && !page_compete(front, 0, json_array_size(front) - 1))
		npl_append(text, bytes, "",
			   " Points of different networks are no alternatives: each network has a front of its own.");
	if (n)
		npl_append(text, bytes, "", " %s %s: nearest to the best of all of them.",
			   n == 1 ? "Its knee is point" : "Their knees are points", points);
}

static void put_lede(struct page_writer *writer, const json_t *root)
{
	const json_t *counts = json_object_get(root, "counts"), *objectives = json_object_get(root, "objectives"),
		     *front = json_object_get(root, "front");
	char text[2000] = "", wanted[TEXT] = "";
	for (size_t i = 0; i < json_array_size(objectives); i++) {
		const json_t *one = json_array_get(objectives, i);
		npl_append(wanted, sizeof wanted, i + 1 < json_array_size(objectives) ? ", " : " and ", "%s %s",
			   !strcmp(page_text(one, "direction"), "maximise") ? "most" : "least",
			   page_text(one, "expression"));
	}
	npl_append(text, sizeof text, "", "%.0f points, of which %.0f meet the constraints. ",
		   page_number(counts, "points"), page_number(counts, "considered"));
	npl_append(text, sizeof text, "",
		   "Wanted: %s. The Pareto front has the %zu point%s for which none of these can get better unless "
		   "another gets worse.",
		   wanted, json_array_size(front), json_array_size(front) == 1 ? "" : "s");
	put_knees(front, text, sizeof text);
	npl_append(text, sizeof text, "", " Figures of simulated machines come from their models.");
	page_paragraph(writer, text);
}

/* Says whether the points of the front differ in a parameter. */
static bool differs_on_front(const json_t *front, const char *name)
{
	const json_t *first = json_object_get(json_object_get(json_array_get(front, 0), "parameters"), name);
	for (size_t k = 1; k < json_array_size(front); k++) {
		const json_t *value = json_object_get(json_object_get(json_array_get(front, k), "parameters"), name);
		if (!value != !first || (value && !json_equal(value, first)))
			return true;
	}
	return false;
}

/* Says whether a point of the front is the best in an objective. */
static bool is_best(const json_t *root, size_t objective, size_t k)
{
	const json_t *front = json_object_get(root, "front");
	const char *direction = page_text(json_array_get(json_object_get(root, "objectives"), objective), "direction");
	const double sign = !strcmp(direction, "maximise") ? -1 : 1;
	const json_t *own = json_object_get(json_array_get(front, k), "objectives");
	for (size_t j = 0; j < json_array_size(front); j++) {
		const json_t *other = json_object_get(json_array_get(front, j), "objectives");
		if (page_compete(front, k, j) && sign * json_number_value(json_array_get(other, objective)) <
							 sign * json_number_value(json_array_get(own, objective)))
			return false;
	}
	return true;
}

static const char *remark_of(const json_t *root, size_t k, char buf[TEXT])
{
	const json_t *front = json_object_get(root, "front"), *objectives = json_object_get(root, "objectives");
	*buf = '\0';
	if (page_is_knee(front, k))
		npl_append(buf, TEXT, ", ", "knee");
	for (size_t i = 0; i < json_array_size(objectives); i++) {
		const json_t *one = json_array_get(objectives, i);
		if (is_best(root, i, k))
			npl_append(buf, TEXT, ", ", "%s %s",
				   !strcmp(page_text(one, "direction"), "maximise") ? "most" : "least",
				   page_text(one, "expression"));
	}
	return buf;
}

static void put_value(struct page_writer *writer, const json_t *value)
{
	char text[TEXT];
	page_value_text(value, text, sizeof text);
	if (json_is_number(value))
		page_figure(writer, json_number_value(value), text);
	else
		page_cell(writer, text);
}

/* Says which parameters have a column in the table of the front. */
enum { MOST_PARAMETERS = 200 };
static void choose_columns(const json_t *root, bool is_column[MOST_PARAMETERS])
{
	const json_t *front = json_object_get(root, "front"), *parameters = json_object_get(root, "parameters");
	for (size_t i = 0; i < MOST_PARAMETERS; i++)
		is_column[i] = i < json_array_size(parameters) &&
			       differs_on_front(front, page_text(json_array_get(parameters, i), "name"));
}

static void add_front_columns(struct page_writer *writer, const json_t *root, const bool is_column[MOST_PARAMETERS])
{
	const json_t *parameters = json_object_get(root, "parameters"),
		     *objectives = json_object_get(root, "objectives");
	page_column(writer, "point", true);
	for (size_t i = 0; i < MOST_PARAMETERS; i++) {
		const json_t *one = json_array_get(parameters, i);
		const char *unit = page_text(one, "unit");
		char heading[TEXT];
		if (!is_column[i])
			continue;
		snprintf(heading, sizeof heading, "%.300s%s%.60s", page_text(one, "name"), *unit ? ", " : "", unit);
		page_column(writer, heading, json_is_number(json_array_get(json_object_get(one, "values"), 0)));
	}
	for (size_t i = 0; i < json_array_size(objectives); i++)
		page_column(writer, page_text(json_array_get(objectives, i), "expression"), true);
	page_column(writer, "remark", false);
}

static void put_front_row(struct page_writer *writer, const json_t *root, const bool is_column[MOST_PARAMETERS],
			  size_t k)
{
	const json_t *front = json_object_get(root, "front"), *parameters = json_object_get(root, "parameters"),
		     *objectives = json_object_get(root, "objectives"), *point = json_array_get(front, k);
	char text[TEXT];
	page_row(writer);
	put_value(writer, json_object_get(point, "id"));
	for (size_t i = 0; i < MOST_PARAMETERS; i++) {
		const char *name = page_text(json_array_get(parameters, i), "name");
		if (is_column[i])
			put_value(writer, json_object_get(json_object_get(point, "parameters"), name));
	}
	for (size_t i = 0; i < json_array_size(objectives); i++) {
		const double value = json_number_value(json_array_get(json_object_get(point, "objectives"), i));
		page_figure(writer, value,
			    page_sweep_quantity(value, page_text(json_array_get(objectives, i), "unit"), text,
						sizeof text));
	}
	page_cell(writer, remark_of(root, k, text));
}

static size_t rows_of_front(const json_t *root)
{
	const size_t n = json_array_size(json_object_get(root, "front"));
	return n < PAGE_FRONT_ROWS ? n : PAGE_FRONT_ROWS;
}

/* Returns the point of the front in a row: rows lie evenly along a front that is longer. */
static size_t point_of_row(const json_t *root, size_t row)
{
	const size_t n = json_array_size(json_object_get(root, "front")), rows = rows_of_front(root);
	return rows == n ? row : row * (n - 1) / (rows - 1);
}

/* Names the parameters that the points of the front have alike. */
static void put_alike(struct page_writer *writer, const json_t *root, const bool is_column[MOST_PARAMETERS])
{
	const json_t *parameters = json_object_get(root, "parameters"), *front = json_object_get(root, "front"),
		     *of_first = json_object_get(json_array_get(front, 0), "parameters");
	char text[2000] = "", value[TEXT];
	for (size_t i = 0; i < json_array_size(parameters) && i < MOST_PARAMETERS; i++) {
		const char *name = page_text(json_array_get(parameters, i), "name");
		const json_t *own = json_object_get(of_first, name);
		if (!is_column[i] && own)
			npl_append(text, sizeof text, ", ", "%s = %s", name, page_value_text(own, value, sizeof value));
	}
	if (!*text)
		return;
	char line[sizeof text + 40];
	snprintf(line, sizeof line, "%s: %s.", json_array_size(front) > 1 ? "All of these have" : "It has", text);
	page_paragraph(writer, line);
}

static void put_front_table(struct page_writer *writer, const json_t *root)
{
	const size_t n = json_array_size(json_object_get(root, "front")), rows = rows_of_front(root);
	char caption[200] = "The points of the Pareto front.";
	bool is_column[MOST_PARAMETERS];
	if (!n)
		return;
	if (rows < n)
		snprintf(caption, sizeof caption, "%zu of the %zu points of the Pareto front, evenly along it.", rows,
			 n);
	choose_columns(root, is_column);
	add_front_columns(writer, root, is_column);
	page_table(writer,
		   &(struct page_table){
			   .caption = caption, .can_be_sorted = n > 1, .can_be_searched = n > 20, .is_long = n > 30});
	for (size_t row = 0; row < rows; row++)
		put_front_row(writer, root, is_column, point_of_row(root, row));
	page_table_end(writer);
	put_alike(writer, root, is_column);
}

static void put_commands(struct page_writer *writer, const json_t *root)
{
	const json_t *front = json_object_get(root, "front");
	const size_t rows = rows_of_front(root);
	if (!rows || !*page_text(json_array_get(front, 0), "command"))
		return;
	page_fold(writer, "Commands that run the points of the front again");
	page_column(writer, "point", true);
	page_column(writer, "command", false);
	page_table(writer, &(struct page_table){.caption = "Each prints a table; --json FILE keeps all figures.",
						.is_long = rows > 30});
	for (size_t row = 0; row < rows; row++) {
		const json_t *point = json_array_get(front, point_of_row(root, row));
		page_row(writer);
		put_value(writer, json_object_get(point, "id"));
		page_cell(writer, page_text(point, "command"));
	}
	page_table_end(writer);
	page_fold_end(writer);
}

/* ---- What was varied, and what came of it. */

/* Writes the values of a parameter, each once, in the order in which points have them; "first ... last, 17 values" for
 * many. Returns false where memory is short. */
static bool values_text(const json_t *values, char buf[TEXT])
{
	enum { SHOWN = 12 };
	json_t *seen = json_object();
	char last[200] = "", list[TEXT] = "", first[200] = "";
	double least = INFINITY, most = -INFINITY;
	bool is_of_numbers = true, ok = seen;
	for (size_t i = 0; i < json_array_size(values) && ok; i++) {
		const json_t *value = json_array_get(values, i);
		char text[200];
		if (json_is_null(value) || json_object_get(seen, page_value_text(value, text, sizeof text)))
			continue;
		ok = !json_object_set_new(seen, text, json_true());
		is_of_numbers &= json_is_number(value);
		least = fmin(least, json_number_value(value));
		most = fmax(most, json_number_value(value));
		if (json_object_size(seen) == 1)
			snprintf(first, sizeof first, "%s", text);
		if (json_object_size(seen) <= SHOWN)
			npl_append(list, sizeof list, ", ", "%s", text);
		snprintf(last, sizeof last, "%s", text);
	}
	const size_t n = json_object_size(seen);
	json_decref(seen);
	if (n <= SHOWN)
		snprintf(buf, TEXT, "%s", list);
	else if (is_of_numbers)
		snprintf(buf, TEXT, "%.10g to %.10g, %zu values", least, most, n);
	else
		snprintf(buf, TEXT, "%.150s ... %.150s, %zu values", first, last, n);
	return ok;
}

/* Returns the expression of a derived parameter; "": it is none. */
static const char *expression_of(const json_t *root, const char *key)
{
	const json_t *derived = json_object_get(json_object_get(root, "sweep"), "derived");
	for (size_t i = 0; i < json_array_size(derived); i++)
		if (!strcmp(page_text(json_array_get(derived, i), "key"), key))
			return page_text(json_array_get(derived, i), "expression");
	return "";
}

static void put_parameters(struct page_writer *writer, const json_t *root)
{
	const json_t *parameters = json_object_get(root, "parameters"),
		     *derived = json_object_get(json_object_get(root, "sweep"), "derived");
	if (!json_array_size(parameters))
		return;
	page_column(writer, "parameter", false);
	page_column(writer, "values", false);
	page_column(writer, "unit", false);
	if (json_array_size(derived))
		page_column(writer, "derived from", false);
	page_table(writer, &(struct page_table){.caption = "The parameters in which points differ."});
	for (size_t i = 0; i < json_array_size(parameters); i++) {
		const json_t *one = json_array_get(parameters, i);
		char text[TEXT];
		page_row(writer);
		page_cell(writer, page_text(one, "name"));
		writer->failed |= !values_text(json_object_get(one, "values"), text);
		page_cell(writer, text);
		page_cell(writer, page_text(one, "unit"));
		if (json_array_size(derived))
			page_cell(writer, expression_of(root, page_text(one, "name")));
	}
	page_table_end(writer);
}

static void put_metrics(struct page_writer *writer, const json_t *root)
{
	const json_t *metrics = json_object_get(root, "metrics");
	page_column(writer, "figure", false);
	page_column(writer, "least", true);
	page_column(writer, "most", true);
	page_column(writer, "better", false);
	page_column(writer, "meaning", false);
	page_table(writer, &(struct page_table){.caption = "The figures, over all points that have them."});
	for (size_t i = 0; i < json_array_size(metrics); i++) {
		const json_t *one = json_array_get(metrics, i), *values = json_object_get(one, "values");
		double least = NAN, most = NAN;
		char text[TEXT];
		for (size_t r = 0; r < json_array_size(values); r++)
			if (json_is_number(json_array_get(values, r))) {
				least = fmin(least, json_number_value(json_array_get(values, r)));
				most = fmax(most, json_number_value(json_array_get(values, r)));
			}
		page_row(writer);
		page_cell(writer, page_text(one, "name"));
		page_figure(writer, least, page_sweep_quantity(least, page_text(one, "unit"), text, sizeof text));
		page_figure(writer, most, page_sweep_quantity(most, page_text(one, "unit"), text, sizeof text));
		page_cell(writer, page_text(one, "better"));
		page_cell(writer, page_text(one, "meaning"));
	}
	page_table_end(writer);
}

/* ---- How it was run. */

static void put_fact(struct page_writer *writer, const char *key, const char *value)
{
	if (!*value)
		return;
	page_row(writer);
	page_cell(writer, key);
	page_cell(writer, value);
}

static void put_count(struct page_writer *writer, const json_t *object, const char *key, const char *name)
{
	char text[40];
	snprintf(text, sizeof text, "%.0f", page_number(object, key));
	page_row(writer);
	page_cell(writer, name);
	page_figure(writer, page_number(object, key), text);
}

static void put_settings_of(struct page_writer *writer, const json_t *sweep)
{
	const json_t *settings = json_object_get(sweep, "settings");
	char text[TEXT] = "";
	for (size_t i = 0; i < json_array_size(settings); i++) {
		const json_t *one = json_array_get(settings, i);
		npl_append(text, sizeof text, ", ", "%s%s%s=%s", page_text(one, "device"),
			   *page_text(one, "device") ? "." : "", page_text(one, "key"), page_text(one, "value"));
	}
	put_fact(writer, "set in all points", text);
}

static void put_sweep(struct page_writer *writer, const json_t *root)
{
	const json_t *sweep = json_object_get(root, "sweep"), *counts = json_object_get(root, "counts");
	char text[TEXT];
	page_column(writer, "sweep", false);
	page_column(writer, "value", true);
	page_table(writer, &(struct page_table){.caption = "What was run."});
	put_fact(writer, "networks", join(json_object_get(sweep, "models"), NULL, text));
	put_fact(writer, "devices", join(json_object_get(sweep, "devices"), "name", text));
	put_fact(writer, "samples per batch", join(json_object_get(sweep, "batches"), NULL, text));
	put_fact(writer, "constraints", join(json_object_get(sweep, "constraints"), NULL, text));
	put_settings_of(writer, sweep);
	put_fact(writer, "method", page_text(sweep, "method"));
	put_count(writer, sweep, "points", "points of the plan");
	put_count(writer, counts, "done", "ran");
	put_count(writer, counts, "feasible", "ran and meet the constraints");
	put_count(writer, counts, "excluded", "excluded by a constraint before they ran");
	put_count(writer, counts, "failed", "could not run");
	put_fact(writer, "npulab of the sweep", page_made_by(sweep, text, sizeof text));
	page_table_end(writer);
}

/* Counts the points of each reason. NULL: memory is short. */
static json_t *count_reasons(const json_t *root)
{
	const json_t *reasons = json_object_get(json_object_get(root, "points"), "reason");
	json_t *counts = json_object();
	bool ok = counts;
	for (size_t i = 0; i < json_array_size(reasons) && ok; i++) {
		const char *reason = json_string_value(json_array_get(reasons, i));
		const json_t *before = reason ? json_object_get(counts, reason) : NULL;
		if (reason)
			ok = !json_object_set_new(counts, reason, json_integer(json_integer_value(before) + 1));
	}
	if (!ok) {
		json_decref(counts);
		return NULL;
	}
	return counts;
}

static void put_reasons(struct page_writer *writer, const json_t *root)
{
	enum { SHOWN = 40 };
	json_t *counts = count_reasons(root), *count;
	const char *reason;
	int shown = 0;
	writer->failed |= !counts;
	if (json_object_size(counts)) {
		page_column(writer, "points", true);
		page_column(writer, "why", false);
		page_table(writer, &(struct page_table){.caption = "Points that did not run, or that break a "
								   "constraint, by the reason.",
							.can_be_sorted = json_object_size(counts) > 1});
		json_object_foreach (counts, reason, count) {
			if (shown++ == SHOWN)
				break;
			page_row(writer);
			put_value(writer, count);
			page_cell(writer, reason);
		}
		page_table_end(writer);
	}
	json_decref(counts);
}

/* ---- The page. */

static int put_document(struct page_writer *writer, const json_t *root, const char *name, int i, struct npl_err *err)
{
	char id[40], heading[PAGE_NAME + 60], suffix[20] = "";
	if (i)
		snprintf(suffix, sizeof suffix, "-%d", i + 1);
	snprintf(id, sizeof id, "front%s", suffix);
	snprintf(heading, sizeof heading, "Pareto front%s%s", *name ? " of " : "", name);
	page_section(writer, id, heading);
	put_lede(writer, root);
	page_put_front_drawing(writer, root, suffix);
	const int rc = page_put_points_data(writer, root, err);
	put_front_table(writer, root);
	put_commands(writer, root);
	page_section_end(writer);
	snprintf(id, sizeof id, "sweep%s", suffix);
	snprintf(heading, sizeof heading, "The sweep%s%s", *name ? " of " : "", name);
	page_section(writer, id, heading);
	put_sweep(writer, root);
	put_parameters(writer, root);
	put_metrics(writer, root);
	put_reasons(writer, root);
	page_section_end(writer);
	return rc;
}

int page_put_pareto(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	const json_t *sweep = json_object_get(document->root, "sweep");
	char title[2 * TEXT + 40], models[TEXT], devices[TEXT];
	for (int i = 0; i < n; i++)
		if (page_check_points(&document[i], err))
			return err->code;
	char(*name)[PAGE_NAME] = page_document_names(document, n);
	if (!name)
		return npl_no_memory(err);
	snprintf(title, sizeof title, "Sweep of %s on %s", join(json_object_get(sweep, "models"), NULL, models),
		 join(json_object_get(sweep, "devices"), "name", devices));
	writer->shows_points = true;
	page_begin_of(writer, title, name, n);
	int rc = 0;
	for (int i = 0; i < n && !rc; i++)
		rc = put_document(writer, document[i].root, n > 1 ? name[i] : "", i, err);
	page_end_of(writer, document, n);
	free(name);
	return rc;
}
