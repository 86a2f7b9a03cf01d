/* SPDX-License-Identifier: MIT
 *
 * Lists and ranges of values (values.h). */
#include "values.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "core/files/words.h"

/* The list in the making. Texts are in the arena. */
struct list {
	struct npl_arena *arena;
	const char **text;
	int64_t n, capacity;
};

struct range {
	double first, last, step;
	bool is_geometric, is_whole;
	const char *unit; /* "" or " MiB" */
};

static int add(struct list *list, const char *text, struct npl_err *err)
{
	if (list->n == SWEEP_MAX_LEVELS)
		return npl_fail(err, NPL_EUSAGE, "more than %d values, expected at most so many", SWEEP_MAX_LEVELS);
	const char **grown = npl_grow(list->text, list->n, &list->capacity, sizeof *grown);
	if (!text || !grown)
		return npl_no_memory(err);
	list->text = grown;
	grown[list->n++] = text;
	return 0;
}

/* Reads a number at the beginning of a text; returns what follows it, or NULL where there is none. */
static const char *take_number(const char *text, double *value, bool *is_whole)
{
	char *end;
	*value = strtod(text, &end);
	if (end == text || !isfinite(*value))
		return NULL;
	/* In "1..8" the first dot belongs to the range. */
	if (end[-1] == '.' && *end == '.')
		end--;
	for (const char *c = text; c < end; c++)
		*is_whole = *is_whole && strchr("+-0123456789", *c);
	*is_whole = *is_whole && fabs(*value) < 0x1p53;
	return end;
}

/* Takes a text apart: "FIRST..LAST", then "+STEP" or "*FACTOR" or nothing, then a unit or nothing. */
static bool take_range(const char *text, struct range *range)
{
	*range = (struct range){.step = 1, .is_whole = true};
	const char *rest = take_number(text, &range->first, &range->is_whole);
	if (!rest || strncmp(rest, "..", 2) != 0)
		return false;
	rest = take_number(rest + 2, &range->last, &range->is_whole);
	if (rest && (*rest == '*' || *rest == '+')) {
		range->is_geometric = *rest == '*';
		rest = take_number(rest + 1, &range->step, &range->is_whole);
	}
	range->unit = rest;
	return rest && !(*rest && strchr("0123456789.+-*/=", *rest)); /* a unit does not begin so */
}

static int check_range(const char *text, const struct range *range, struct npl_err *err)
{
	if (range->last < range->first)
		return npl_fail(err, NPL_EUSAGE, "'%s': a range goes upwards, expected its smaller end first", text);
	if (range->is_geometric && !(range->step > 1 && range->first > 0))
		return npl_fail(err, NPL_EUSAGE, "'%s': expected a first value above 0 and a factor above 1", text);
	if (!range->is_geometric && !(range->step > 0))
		return npl_fail(err, NPL_EUSAGE, "'%s': expected a step above 0", text);
	return 0;
}

/* A last value that rounding moved above the end still belongs to the range. The share is far above that of rounding
 * and far below the distance of two values. */
static double end_of(const struct range *range)
{
	const double distance = range->is_geometric ? range->last * (range->step - 1) : range->step;
	return range->is_whole ? range->last : range->last + fmin(fabs(range->last) * 1e-9, distance * 1e-3);
}

/* Writes a value without the digits that rounding made, such as 0.3 for 0.1 + 2 * 0.1. A double has 15 digits; those of
 * a sum end where those of its largest summand do. */
static void write_value(const struct range *range, double value, char *text, size_t bytes)
{
	const double largest = range->is_geometric ? value : fmax(fabs(range->first), fabs(range->last));
	int digits = 15;
	if (range->is_whole || (rint(value) == value && fabs(value) < 0x1p53))
		digits = 0;
	else
		digits -= (int)floor(log10(largest)) - (int)floor(log10(fabs(value)));
	if (digits > 0)
		snprintf(text, bytes, "%.*g", digits, value);
	else /* a whole number, or what should be 0 */
		snprintf(text, bytes, "%.0f", range->is_whole ? value : rint(value) + 0.0);
}

static int add_range(struct list *list, const struct range *range, struct npl_err *err)
{
	const double end = end_of(range);
	for (int i = 0;; i++) {
		const double value = range->is_geometric ? range->first * pow(range->step, i)
							 : range->first + range->step * i;
		char number[40];
		if (value > end)
			return 0;
		write_value(range, value, number, sizeof number);
		if (add(list, npl_arena_printf(list->arena, "%s%s", number, range->unit), err))
			return err->code;
	}
}

/* Adds one item of the list, without the blanks around it. */
static int add_item(struct list *list, const char *item, size_t length, struct npl_err *err)
{
	while (length && strchr(" \t\r", *item))
		item++, length--;
	while (length && strchr(" \t\r", item[length - 1]))
		length--;
	struct range range;
	char *text = npl_arena_strndup(list->arena, item, length);
	if (!text)
		return npl_no_memory(err);
	if (!length)
		return npl_fail(err, NPL_EUSAGE, "expected values, such as 64,128 or 64..512*2, found an empty one");
	if (!take_range(text, &range)) {
		double ignored;
		bool whole = true;
		const char *rest = take_number(text, &ignored, &whole);
		if (rest && !strncmp(rest, "..", 2))
			return npl_fail(err, NPL_EUSAGE,
					"'%s': expected a range such as 1..16, 100..200+25 or 64..512*2", text);
		return add(list, text, err);
	}
	return check_range(text, &range, err) ? err->code : add_range(list, &range, err);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_distinct(const struct list *list, struct npl_err *err)
{
	const char **sorted = malloc((size_t)list->n * sizeof *sorted);
	int rc = 0;
	if (!sorted)
		return npl_no_memory(err);
	memcpy(sorted, list->text, (size_t)list->n * sizeof *sorted);
	qsort(sorted, (size_t)list->n, sizeof *sorted, compare_texts);
	for (int64_t i = 1; i < list->n && !rc; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			rc = npl_fail(err, NPL_EUSAGE, "the value '%s' stands twice", sorted[i]);
	free(sorted);
	return rc;
}

int sweep_values_read(const char *text, struct npl_arena *arena, struct sweep_values *values, struct npl_err *err)
{
	struct list list = {.arena = arena};
	int rc = 0;
	for (const char *item = text; !rc; item += strcspn(item, ",\n") + 1) {
		const size_t length = strcspn(item, ",\n");
		rc = add_item(&list, item, length, err);
		if (!item[length])
			break;
	}
	if (!rc)
		rc = check_distinct(&list, err);
	values->n = (int)list.n;
	values->text = rc ? NULL : npl_arena_array(arena, (size_t)list.n, sizeof *values->text);
	if (values->text && list.text)
		memcpy(values->text, list.text, (size_t)list.n * sizeof *list.text);
	else if (!rc)
		rc = npl_no_memory(err);
	free(list.text);
	return rc;
}
