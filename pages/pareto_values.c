/* SPDX-License-Identifier: MIT
 *
 * Figures and points of a sweep (pareto.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/report.h"
#include "pareto.h"

/* Fails where a list has not n values. */
static int check_list(const struct page_document *document, const json_t *list, const char *name, size_t n,
		      struct npl_err *err)
{
	if (json_array_size(list) == n)
		return 0;
	return npl_fail(err, NPL_EINPUT, "%s: %.100s has %zu values for %zu points", document->path, name,
			json_array_size(list), n);
}

int page_check_points(const struct page_document *document, struct npl_err *err)
{
	static const char *const lists[] = {"objectives", "parameters", "metrics"}, *const points[] = {"status",
												       "feasible",
												       "reason"};
	const json_t *all = json_object_get(document->root, "points");
	const size_t n = json_array_size(json_object_get(all, "id"));
	for (int i = 0; i < 3; i++)
		if (check_list(document, json_object_get(all, points[i]), points[i], n, err))
			return err->code;
	for (int l = 0; l < 3; l++) {
		const json_t *list = json_object_get(document->root, lists[l]);
		for (size_t i = 0; i < json_array_size(list); i++)
			if (check_list(document, json_object_get(json_array_get(list, i), "values"),
				       page_text(json_array_get(list, i), l ? "name" : "expression"), n, err))
				return err->code;
	}
	return 0;
}

const char *page_sweep_quantity(double value, const char *unit, char *buf, size_t n)
{
	*buf = '\0';
	if (!isfinite(value))
		return buf;
	if (!*unit)
		snprintf(buf, n, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%.4g", value);
	else if (!strcmp(unit, "mm2") || !strcmp(unit, "dB"))
		snprintf(buf, n, "%.4g %s", value, unit);
	else
		npl_si_text(value, !strcmp(unit, "1/s") ? "/s" : !strcmp(unit, "bytes") ? "B" : unit, buf, n);
	return buf;
}

int64_t page_place_of(const json_t *root, const json_t *front_point)
{
	const json_t *ids = json_object_get(json_object_get(root, "points"), "id");
	const json_int_t id = json_integer_value(json_object_get(front_point, "id"));
	size_t low = 0, high = json_array_size(ids); /* ids rise */
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (json_integer_value(json_array_get(ids, middle)) < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < json_array_size(ids) && json_integer_value(json_array_get(ids, low)) == id ? (int64_t)low : -1;
}

bool *page_on_front(const json_t *root)
{
	const json_t *front = json_object_get(root, "front");
	const size_t n = json_array_size(json_object_get(json_object_get(root, "points"), "id"));
	bool *on_front = calloc(n + 1, sizeof *on_front);
	for (size_t k = 0; k < json_array_size(front) && on_front; k++) {
		const int64_t place = page_place_of(root, json_array_get(front, k));
		if (place >= 0)
			on_front[place] = true;
	}
	return on_front;
}

bool page_compete(const json_t *front, size_t k, size_t j)
{
	const json_t *a = json_object_get(json_object_get(json_array_get(front, k), "parameters"), "model");
	const json_t *b = json_object_get(json_object_get(json_array_get(front, j), "parameters"), "model");
	return !a || !b || json_equal(a, b);
}

bool page_is_knee(const json_t *front, size_t k)
{
	size_t rivals = 0;
	if (!json_is_true(json_object_get(json_array_get(front, k), "knee")))
		return false;
	for (size_t j = 0; j < json_array_size(front); j++)
		rivals += page_compete(front, k, j);
	return rivals > 2;
}
