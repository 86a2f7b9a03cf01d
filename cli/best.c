/* SPDX-License-Identifier: MIT
 *
 * npulab best: the points of a sweep that are best in one figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"
#include "explore/measure_text.h"
#include "reports/format/table.h"
#include "sweep_results.h"

#define MOST_SHOWN 4 /* further figures that a table shows */

/* A point with its place in the order. */
struct ranked {
	int64_t result;
	double value; /* less is better */
};

struct ranking {
	const struct sweep_results *results;
	const struct cli_measures *measures; /* the first decides, the others are shown */
	struct ranked *ranked;
	int64_t n, shown;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return x->value < y->value ? -1 : x->value > y->value ? 1 : x->result < y->result ? -1 : x->result > y->result;
}

static int rank(struct ranking *ranking, int64_t top, struct npl_err *err)
{
	const struct sweep_results *results = ranking->results;
	const struct sweep_measure *measure = &ranking->measures->measure[0];
	ranking->ranked = calloc((size_t)results->n + 1, sizeof *ranking->ranked);
	if (!ranking->ranked)
		return npl_no_memory(err);
	for (int64_t r = 0; r < results->n; r++) {
		const double value = results->result[r].feasible ? sweep_result_value(measure, &results->result[r])
								 : NAN;
		if (!isnan(value))
			ranking->ranked[ranking->n++] = (struct ranked){r, measure->is_maximised ? -value : value};
	}
	qsort(ranking->ranked, (size_t)ranking->n, sizeof *ranking->ranked, compare_ranked);
	ranking->shown = ranking->n < top ? ranking->n : top;
	return 0;
}

/* Chooses the parameters that get a column: those that differ among the points shown, else all. */
static int choose_keys(const struct ranking *ranking, const char **key, int room)
{
	const struct sweep_results *results = ranking->results;
	int n = 0;
	for (int k = 0; k < results->n_keys && n < room; k++) {
		bool differs = ranking->shown == 1;
		const char *first = NULL;
		for (int64_t i = 0; i < ranking->shown && !differs; i++) {
			const char *value = sweep_result_parameter(&results->result[ranking->ranked[i].result],
								   results->key[k]);
			if (!i)
				first = value;
			differs = !value != !first || (value && strcmp(value, first) != 0);
		}
		if (differs)
			key[n++] = results->key[k];
	}
	return n;
}

static int print_table(const struct ranking *ranking)
{
	const struct cli_measures *measures = ranking->measures;
	const struct sweep_results *results = ranking->results;
	const int shown = measures->n < MOST_SHOWN ? measures->n : MOST_SHOWN;
	const char *key[NPL_TABLE_COLUMNS], *cell[NPL_TABLE_COLUMNS];
	const int n_keys = choose_keys(ranking, key, NPL_TABLE_COLUMNS - 1 - shown);
	struct npl_table table;
	int n = 0;
	printf("%lld of %lld points meet the constraints\n", (long long)ranking->n, (long long)results->n);
	if (!ranking->n)
		return 0;
	cell[n++] = "POINT";
	for (int k = 0; k < n_keys; k++)
		cell[n++] = key[k];
	for (int m = 0; m < shown; m++)
		cell[n++] = measures->measure[m].expression.text;
	npl_table_open(&table, &"rrrrrrrrrrrr"[NPL_TABLE_COLUMNS - n], cell);
	for (int64_t i = 0; i < ranking->shown; i++) {
		const struct sweep_result *result = &results->result[ranking->ranked[i].result];
		char id[24], value[MOST_SHOWN][40];
		snprintf(id, sizeof id, "%lld", (long long)result->id);
		n = 0;
		cell[n++] = id;
		for (int k = 0; k < n_keys; k++)
			cell[n++] = sweep_result_parameter(result, key[k]);
		for (int m = 0; m < shown; m++)
			cell[n++] = sweep_measure_text(&measures->measure[m],
						       sweep_result_value(&measures->measure[m], result), value[m],
						       sizeof value[m]);
		npl_table_row(&table, cell);
	}
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

static int best_main(int argc, char **argv, struct npl_err *err)
{
	const char *path = NULL, *minimise = NULL, *maximise = NULL, *show = NULL;
	struct cli_list constraints = {0};
	int64_t top = 10;
	const struct cli_option options[] = {
		{"minimise", CLI_TEXT, &minimise, 0, 0, "FIGURE", "of which less is better (default: seconds)"},
		{"maximise", CLI_TEXT, &maximise, 0, 0, "FIGURE", "of which more is better"},
		{"show", CLI_TEXT, &show, 0, 0, "A,B,...",
		 "further figures (default: seconds,energy_j,area_mm2,power_w)"},
		CLI_CONSTRAINT_OPTION(&constraints),
		{"top", CLI_INT, &top, 1, INT64_MAX, "N", "how many points (default 10)"},
		{0}};
	struct sweep_results results = {0};
	struct cli_measures measures = {0};
	struct ranking ranking = {.results = &results, .measures = &measures};
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_best, options, argc, argv, &path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!path || (minimise && maximise))
		return npl_fail(err, NPL_EUSAGE, "best: expected results and one figure; usage: npulab best %s",
				cli_best.arguments);
	int rc = cli_results_open(path, &constraints, &results, err);
	if (!rc)
		rc = cli_measures_add(maximise   ? maximise
				      : minimise ? minimise
						 : "seconds",
				      maximise ? CLI_MOST : CLI_LEAST, maximise ? "--maximise" : "--minimise", &results,
				      &measures, err);
	if (!rc && measures.n > 1)
		rc = npl_fail(err, NPL_EUSAGE, "best: expected one figure; npulab pareto takes several");
	if (!rc)
		rc = cli_measures_add(show ? show : "seconds,energy_j,area_mm2,power_w", CLI_AS_BETTER, "--show",
				      &results, &measures, err);
	if (!rc)
		rc = rank(&ranking, top, err);
	if (!rc)
		rc = cli_table_printed(print_table(&ranking), 0, err);
	free(ranking.ranked);
	sweep_results_free(&results);
	return rc;
}

const struct cli_command cli_best = {"best", "RESULTS.sqlite [--constraint EXPRESSION]... [--minimise FIGURE]",
				     "the points of a sweep that are best in one figure", best_main};
