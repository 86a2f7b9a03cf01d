/* SPDX-License-Identifier: MIT
 *
 * npulab pivot: a figure of a sweep over two parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/words.h"
#include "explore/measure_text.h"
#include "reports/format/table.h"
#include "sweep_results.h"

#define MAX_ROWS 10000
#define COLUMNS  (NPL_TABLE_COLUMNS - 1)

/* The values of a parameter, in the order in which the points have them. */
struct values {
	int n, capacity;
	const char *text[MAX_ROWS];
};

struct pivot {
	const struct sweep_results *results;
	const char *rows, *columns, *base; /* base: the row to which all are related; NULL: none */
	struct cli_measures measures;
	struct values row, column;
	double *cell;     /* row.n x column.n; NAN: no point is there */
	bool has_several; /* points in one cell */
};

/* Returns the index of a value, which is added if it is new; -1: there is no room for it. */
static int index_of(struct values *values, const char *text)
{
	for (int i = 0; i < values->n; i++)
		if (!strcmp(values->text[i], text))
			return i;
	if (values->n == values->capacity)
		return -1;
	values->text[values->n] = text;
	return values->n++;
}

static int collect_values(struct pivot *p, struct npl_err *err)
{
	for (int64_t r = 0; r < p->results->n; r++) {
		const struct sweep_result *result = &p->results->result[r];
		const char *row = sweep_result_parameter(result, p->rows);
		const char *column = p->columns ? sweep_result_parameter(result, p->columns) : "";
		if (!result->feasible || !row || !column)
			continue;
		if (index_of(&p->row, row) < 0 || index_of(&p->column, column) < 0)
			return npl_fail(
				err, NPL_EUSAGE,
				"pivot: expected at most %d values of %s, and %d of %s: --constraint takes points "
				"out",
				p->row.capacity, p->rows, p->column.capacity, p->columns ? p->columns : "");
	}
	return p->row.n ? 0 : npl_fail(err, NPL_EUSAGE, "pivot: no point meets the constraints");
}

/* Refuses a key that no point has, with the nearest. */
static int check_key(const struct pivot *p, const char *key, struct npl_err *err)
{
	for (int k = 0; key && k < p->results->n_keys; k++)
		if (!strcmp(p->results->key[k], key))
			return 0;
	return key ? npl_fail(err, NPL_EUSAGE, "pivot: no point has the parameter '%s'%s", key,
			      NPL_NEAREST_ONLY(key, p->results->key, p->results->n_keys))
		   : 0;
}

static int compare_numbers(const void *a, const void *b)
{
	double x = 0, y = 0;
	npl_parse_number(*(const char *const *)a, &x);
	npl_parse_number(*(const char *const *)b, &y);
	return x < y ? -1 : x > y;
}

/* Sorts values that are numbers; others stay in the order of the points. */
static void sort_values(struct values *values)
{
	double ignored;
	for (int i = 0; i < values->n; i++)
		if (!npl_parse_number(values->text[i], &ignored))
			return;
	qsort(values->text, (size_t)values->n, sizeof *values->text, compare_numbers);
}

/* Keeps in each cell the best of its points. */
static void fill(struct pivot *p)
{
	const struct sweep_measure *measure = &p->measures.measure[0];
	for (int i = 0; i < p->row.n * p->column.n; i++)
		p->cell[i] = NAN;
	for (int64_t r = 0; r < p->results->n; r++) {
		const struct sweep_result *result = &p->results->result[r];
		const char *row = sweep_result_parameter(result, p->rows);
		const char *column = p->columns ? sweep_result_parameter(result, p->columns) : "";
		const double value = result->feasible ? sweep_result_value(measure, result) : NAN;
		if (!row || !column || isnan(value))
			continue;
		double *cell = &p->cell[index_of(&p->row, row) * p->column.n + index_of(&p->column, column)];
		p->has_several = p->has_several || !isnan(*cell);
		if (isnan(*cell) || (measure->is_maximised ? value > *cell : value < *cell))
			*cell = value;
	}
}

static void write_cell(const struct pivot *p, int row, int column, int base, char *text, size_t bytes)
{
	const struct sweep_measure *measure = &p->measures.measure[0];
	const double value = p->cell[row * p->column.n + column];
	if (base < 0)
		sweep_measure_text(measure, value, text, bytes);
	else {
		const double of_base = p->cell[base * p->column.n + column];
		const double ratio = measure->is_maximised ? value / of_base : of_base / value;
		snprintf(text, bytes, isnan(ratio) ? "-" : "%.2f", ratio);
	}
}

static int print_table(const struct pivot *p, int base)
{
	const char *cell[NPL_TABLE_COLUMNS] = {p->rows};
	char layout[] = "wrrrrrrrrrrr", text[COLUMNS][40], above[400];
	struct npl_table table;
	for (int c = 0; c < p->column.n; c++)
		cell[1 + c] = p->columns ? p->column.text[c] : p->measures.measure[0].expression.text;
	layout[1 + p->column.n] = '\0';
	snprintf(above, sizeof above, "%s%s%s%s", p->measures.measure[0].expression.text,
		 p->columns ? ", columns: " : "", p->columns ? p->columns : "",
		 base < 0 ? "" : ": how many times better than the row that is 1.00");
	npl_table_text(above, stdout);
	npl_table_open(&table, layout, cell);
	for (int r = 0; r < p->row.n; r++) {
		cell[0] = p->row.text[r];
		for (int c = 0; c < p->column.n; c++) {
			write_cell(p, r, c, base, text[c], sizeof text[c]);
			cell[1 + c] = text[c];
		}
		npl_table_row(&table, cell);
	}
	npl_table_print(&table, stdout);
	if (p->has_several)
		npl_table_text("Each cell has the best of its points: other parameters differ from cell to cell.",
			       stdout);
	if (strcmp(p->rows, SWEEP_MODEL) != 0 && (!p->columns || strcmp(p->columns, SWEEP_MODEL) != 0))
		cli_hint_at_models(p->results);
	return npl_table_close(&table);
}

static int make_pivot(struct pivot *p, struct npl_err *err)
{
	int base = -1;
	if (check_key(p, p->rows, err) || check_key(p, p->columns, err) || collect_values(p, err))
		return err->code;
	sort_values(&p->row);
	sort_values(&p->column);
	for (int r = 0; r < p->row.n && p->base; r++)
		if (!strcmp(p->row.text[r], p->base))
			base = r;
	if (p->base && base < 0)
		return npl_fail(err, NPL_EUSAGE, "pivot: --relative-to %s: no point has this value of %s", p->base,
				p->rows);
	p->cell = calloc((size_t)p->row.n * (size_t)p->column.n, sizeof *p->cell);
	if (!p->cell)
		return npl_no_memory(err);
	fill(p);
	return cli_table_printed(print_table(p, base), 0, err);
}

static int pivot_main(int argc, char **argv, struct npl_err *err)
{
	const char *path = NULL, *rows = NULL, *columns = NULL, *base = NULL, *show = "seconds";
	struct cli_list constraints = {0};
	const struct cli_option options[] = {
		{"rows", CLI_TEXT, &rows, 0, 0, "KEY", "the parameter whose values are the rows"},
		{"columns", CLI_TEXT, &columns, 0, 0, "KEY", "the parameter whose values are the columns"},
		{"show", CLI_TEXT, &show, 0, 0, "FIGURE", "the best of the points of each cell (default: seconds)"},
		{"relative-to", CLI_TEXT, &base, 0, 0, "VALUE",
		 "how many times better each row is than that with this value"},
		CLI_CONSTRAINT_OPTION(&constraints),
		{0}};
	struct sweep_results results = {0};
	struct pivot *p;
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_pivot, options, argc, argv, &path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!path || !rows)
		return npl_fail(err, NPL_EUSAGE, "pivot: expected results and --rows; usage: npulab pivot %s",
				cli_pivot.arguments);
	if (!(p = calloc(1, sizeof *p)))
		return npl_no_memory(err);
	*p = (struct pivot){.results = &results, .rows = rows, .columns = columns, .base = base};
	p->row.capacity = MAX_ROWS;
	p->column.capacity = COLUMNS;
	int rc = cli_results_open(path, &constraints, &results, err);
	if (!rc)
		rc = cli_measures_add(show, CLI_AS_BETTER, "--show", &results, &p->measures, err);
	if (!rc && p->measures.n != 1)
		rc = npl_fail(err, NPL_EUSAGE, "pivot: --show %s: expected one figure", show);
	if (!rc)
		rc = make_pivot(p, err);
	free(p->cell);
	free(p);
	sweep_results_free(&results);
	return rc;
}

const struct cli_command cli_pivot = {"pivot", "RESULTS.sqlite --rows KEY [--columns KEY] [--show FIGURE]",
				      "a figure of a sweep over two parameters", pivot_main};
