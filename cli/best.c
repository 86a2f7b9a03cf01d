/* SPDX-License-Identifier: MIT
 *
 * npulab best: the points of a sweep that are best in one figure. */
#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "core/base/refuse.h"
#include "explore/measure_text.h"
#include "explore/shown_keys.h"
#include "reports/format/table.h"
#include "sweep_results.h"

#define MOST_SHOWN 5 /* figures that a table shows, with the one that decides */

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
	int64_t *index; /* of the shown points among the results */
	int64_t feasible;
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
	ranking->index = calloc((size_t)results->n + 1, sizeof *ranking->index);
	if (!ranking->ranked || !ranking->index)
		return npl_no_memory(err);
	for (int64_t r = 0; r < results->n; r++) {
		const double value = results->result[r].feasible ? sweep_result_value(measure, &results->result[r])
								 : NAN;
		ranking->feasible += results->result[r].feasible;
		if (!isnan(value))
			ranking->ranked[ranking->n++] = (struct ranked){r, measure->is_maximised ? -value : value};
	}
	qsort(ranking->ranked, (size_t)ranking->n, sizeof *ranking->ranked, compare_ranked);
	ranking->shown = ranking->n < top ? ranking->n : top;
	for (int64_t i = 0; i < ranking->shown; i++)
		ranking->index[i] = ranking->ranked[i].result;
	return 0;
}

static int print_table(const struct ranking *ranking)
{
	const struct cli_measures *measures = ranking->measures;
	const struct sweep_results *results = ranking->results;
	const int shown = measures->n < MOST_SHOWN ? measures->n : MOST_SHOWN;
	const char *cell[NPL_TABLE_COLUMNS];
	struct sweep_shown_keys keys;
	struct npl_table table;
	int n = 0;
	sweep_choose_keys(results, ranking->index, ranking->shown, NPL_TABLE_COLUMNS - 1 - shown, &keys);
	printf("%lld of %lld points meet the constraints", (long long)ranking->feasible, (long long)results->n);
	if (ranking->n < ranking->feasible)
		printf("; %s is not known of %lld of them", measures->measure[0].expression.text,
		       (long long)(ranking->feasible - ranking->n));
	printf("\n");
	if (!ranking->n)
		return 0;
	cell[n++] = "POINT";
	for (int k = 0; k < keys.n; k++)
		cell[n++] = keys.key[k];
	for (int m = 0; m < shown; m++)
		cell[n++] = measures->measure[m].expression.text;
	npl_table_open(&table, &"rrrrrrrrrrrr"[NPL_TABLE_COLUMNS - n], cell);
	for (int64_t i = 0; i < ranking->shown; i++) {
		const struct sweep_result *result = &results->result[ranking->ranked[i].result];
		char id[24], value[MOST_SHOWN][40];
		snprintf(id, sizeof id, "%lld", (long long)result->id);
		n = 0;
		cell[n++] = id;
		for (int k = 0; k < keys.n; k++)
			cell[n++] = sweep_result_parameter(result, keys.key[k]);
		for (int m = 0; m < shown; m++)
			cell[n++] = sweep_measure_text(&measures->measure[m],
						       sweep_result_value(&measures->measure[m], result), value[m],
						       sizeof value[m]);
		npl_table_row(&table, cell);
	}
	npl_table_print(&table, stdout);
	const int rc = npl_table_close(&table);
	if (shown < measures->n)
		printf("%d figures have no column here: --show names fewer\n", measures->n - shown);
	if (rc || sweep_print_alike(stdout, results, ranking->index, ranking->shown, &keys))
		return NPL_ENOMEM;
	cli_hint_at_models(results);
	return 0;
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
	free(ranking.index);
	sweep_results_free(&results);
	return rc;
}

const struct cli_command cli_best = {"best", "RESULTS.sqlite [--constraint EXPRESSION]... [--minimise FIGURE]",
				     "the points of a sweep that are best in one figure", best_main};
