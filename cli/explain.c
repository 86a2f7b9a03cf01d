/* SPDX-License-Identifier: MIT
 *
 * npulab explain: why a point of a sweep costs what it costs, and which one change would help most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/files/words.h"
#include "explore/measure_text.h"
#include "explore/neighbours.h"
#include "explore/recorded.h"
#include "explore/sweep.h"
#include "reports/format/table.h"
#include "sweep_results.h"

#define SHOWN_LAYERS 10 /* the longest layers are shown */

/* The point, and all that it takes to run it. */
struct point {
	struct sweep_recorded recorded;
	struct sweep_results results;
	const struct sweep_result *result;
	int level[SWEEP_AXES];
	struct cli_measures measures;
};

static int find_point(struct point *p, int64_t id, struct npl_err *err)
{
	for (int64_t r = 0; r < p->results.n && !p->result; r++)
		if (p->results.result[r].id == id)
			p->result = &p->results.result[r];
	if (!p->result)
		return npl_fail(err, NPL_EUSAGE, "explain: the results have no point %lld", (long long)id);
	return sweep_levels_of(p->recorded.plan, p->result->parameter, p->result->n_parameters, p->level, err);
}

/* Gives a comparison the settings of a point. */
static int take_settings(const struct point *p, struct npl_arena *arena, struct npl_compare_options *options,
			 struct npl_err *err)
{
	const struct sweep_point_settings *settings = p->recorded.settings;
	const struct sweep_machine_settings *of_device = &settings->of_device, *of_host = &settings->of_host;
	const char *machine = sweep_recorded_machine(&p->recorded, settings->device_level);
	const char **set = npl_arena_array(arena, (size_t)of_device->n + (size_t)of_host->n + 1, sizeof *set);
	if (!set)
		return npl_no_memory(err);
	for (int i = 0; i < of_device->n + of_host->n; i++) {
		const bool is_host = i >= of_device->n;
		set[i] = npl_arena_printf(arena, "%s.%s", is_host ? NPL_HOST_NAME : machine,
					  is_host ? of_host->set[i - of_device->n] : of_device->set[i]);
		if (!set[i])
			return npl_no_memory(err);
	}
	options->set = set;
	options->n_sets = of_device->n + of_host->n;
	options->device_names = &settings->device;
	return 0;
}

/* Prints the rows of the longest layers, with what bounds each. */
static int print_layers(const struct npl_comparison *comparison, struct npl_err *err)
{
	const struct npl_layer_choice_options choose = {.sort = NPL_SORT_TIME, .top = SHOWN_LAYERS};
	struct npl_layer_choice choice = {0};
	const struct npl_report_context context = {
		.model_name = comparison->graph->name, .layers = true, .choice = &choice};
	int rc = npl_layer_choice_make(comparison, &choose, &choice, err);
	if (!rc)
		rc = cli_table_printed(npl_report_table(stdout, comparison, &context), 0, err);
	npl_layer_choice_free(&choice);
	return rc;
}

/* Runs the point again as a comparison of its one machine. */
static int explain_layers(struct point *p, struct npl_err *err)
{
	const struct sweep_plan *plan = p->recorded.plan;
	struct npl_arena arena = {0};
	struct npl_network network = {0};
	struct npl_comparison comparison = {0};
	struct npl_compare_options options = {.n_devices = 1,
					      .engine = plan->engine,
					      .host = plan->host,
					      .threads = 1,
					      .once = true,
					      .plan = {.timing_only = !plan->values}};
	struct npl_network_options load = {.n_dims = plan->n_dims,
					   .dims = plan->dim,
					   .n_inputs = plan->inputs.n,
					   .inputs = plan->inputs.text,
					   .labels = plan->labels,
					   .seed = plan->seed,
					   .timing_only = !plan->values};
	const struct sweep_point_settings *settings = p->recorded.settings;
	int rc = sweep_recorded_settings(&p->recorded, p->result, err);
	char *command = rc ? NULL : sweep_recorded_command(&p->recorded);
	if (!rc)
		rc = command ? take_settings(p, &arena, &options, err) : npl_no_memory(err);
	if (!rc) {
		load.batch = *settings->batch ? atoll(settings->batch) : 0;
		rc = npl_network_load(settings->model, &load, &network, err);
	}
	/* A point without values is one batch. */
	if (!rc && !plan->values && network.samples.count > network.graph->batch)
		network.samples.count = network.graph->batch;
	if (!rc)
		rc = npl_compare(network.graph, &network.samples, network.calibrated ? &network.calibration : NULL,
				 &options, &comparison, err);
	cli_waiting_end();
	if (!rc) {
		printf("point %lld: %s\n", (long long)p->result->id, command);
		if (p->result->status != SWEEP_DONE || !p->result->feasible)
			printf("it is not one of the front: %s%s\n",
			       p->result->status == SWEEP_FAILED ? "it failed: " : "it does not meet ",
			       p->result->reason ? p->result->reason : "");
		printf("\n");
		rc = print_layers(&comparison, err);
	}
	npl_comparison_free(&comparison);
	npl_network_free(&network);
	npl_arena_free(&arena);
	free(command);
	return rc;
}

/* A neighbour with what it is ranked by. */
struct ranked {
	const struct sweep_neighbour *neighbour;
	double ratio; /* of the first objective to that of the point, less is better; INFINITY: it is no alternative */
	double value[SWEEP_METRICS];
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return x->ratio < y->ratio ? -1 : x->ratio > y->ratio;
}

/* Finds the figures of a neighbour. */
static struct ranked rank(const struct point *p, const struct sweep_neighbour *neighbour)
{
	struct ranked ranked = {.neighbour = neighbour, .ratio = INFINITY};
	int level[SWEEP_AXES];
	struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
	memcpy(level, p->level, sizeof level);
	level[neighbour->axis] = neighbour->level;
	sweep_space_reduce(&p->recorded.plan->space, level);
	const int n = sweep_parameters_of(p->recorded.plan, level, parameter);
	for (int m = 0; m < p->measures.n; m++) {
		const struct sweep_measure *measure = &p->measures.measure[m];
		const double own = sweep_result_value(measure, p->result);
		ranked.value[m] = sweep_measure_value(measure, parameter, n, &neighbour->outcome.metrics);
		if (!m && neighbour->outcome.feasible && isfinite(ranked.value[m]))
			ranked.ratio = measure->is_maximised ? own / ranked.value[m] : ranked.value[m] / own;
	}
	return ranked;
}

#define SHOWN_MEASURES 4

/* Writes by how much a measure changes. */
static void write_change(double own, double other, char *text, size_t bytes)
{
	if (isnan(own) || isnan(other))
		snprintf(text, bytes, "-");
	else if (own > 0 && other / own < 10)
		snprintf(text, bytes, "%+.1f %%", 100 * (other / own - 1));
	else
		snprintf(text, bytes, "x %.3g", other / own);
}

static void add_change(const struct point *p, const struct ranked *ranked, struct npl_table *table)
{
	const struct sweep_neighbour *neighbour = ranked->neighbour;
	const struct sweep_axis *axis = &p->recorded.plan->space.axis[neighbour->axis];
	const char *from = sweep_axis_value(axis, p->level[neighbour->axis], 0);
	const char *to = sweep_axis_value(axis, neighbour->level, 0);
	char key[200] = "", value[200], change[SHOWN_MEASURES][40], remark[1000] = "";
	const char *cell[NPL_TABLE_COLUMNS] = {key, value};
	int n = 2;
	for (int k = 0; k < axis->n_keys; k++)
		npl_append(key, sizeof key, " = ", "%s", axis->key[k]);
	snprintf(value, sizeof value, "%s to %s", from, to);
	for (int m = 0; m < p->measures.n && m < SHOWN_MEASURES; m++) {
		write_change(sweep_result_value(&p->measures.measure[m], p->result), ranked->value[m], change[m],
			     sizeof change[m]);
		cell[n++] = change[m];
	}
	if (neighbour->outcome.status == SWEEP_FAILED)
		snprintf(remark, sizeof remark, "fails: %s", neighbour->outcome.reason);
	else if (!neighbour->outcome.feasible)
		snprintf(remark, sizeof remark, "not %s", neighbour->outcome.reason);
	cell[n++] = remark;
	npl_table_row(table, cell);
}

/* Says which change makes the first objective better; none may. */
static void print_best_change(const struct point *p, const struct ranked *best)
{
	const struct sweep_measure *measure = &p->measures.measure[0];
	const struct sweep_axis *axis = &p->recorded.plan->space.axis[best->neighbour->axis];
	char text[400], change[40];
	if (best->ratio < 1) {
		write_change(sweep_result_value(measure, p->result), best->value[0], change, sizeof change);
		snprintf(text, sizeof text, "What would help %s most is %s=%s: %s.", measure->expression.text,
			 axis->key[0], sweep_axis_value(axis, best->neighbour->level, 0), change);
	} else
		snprintf(text, sizeof text,
			 "No change to a neighbouring value of the sweep makes %s better. Values beyond the ends of "
			 "the axes were not tried.",
			 measure->expression.text);
	npl_table_text(text, stdout);
}

/* Runs the neighbours, and prints what each would change, the best first. */
static int explain_changes(const struct point *p, struct npl_err *err)
{
	struct sweep_evaluator *evaluator = NULL;
	struct npl_arena arena = {0};
	struct sweep_neighbour *neighbour = npl_arena_array(&arena, SWEEP_MAX_NEIGHBOURS, sizeof *neighbour);
	struct ranked *ranked = npl_arena_array(&arena, SWEEP_MAX_NEIGHBOURS, sizeof *ranked);
	const int shown = p->measures.n < SHOWN_MEASURES ? p->measures.n : SHOWN_MEASURES;
	int rc = neighbour && ranked ? sweep_evaluator_open(p->recorded.plan, &evaluator, err) : npl_no_memory(err);
	const int n = rc ? 0 : sweep_neighbours(p->recorded.plan, evaluator, p->level, neighbour);
	for (int i = 0; i < n; i++)
		ranked[i] = rank(p, &neighbour[i]);
	if (n) {
		const char *heading[NPL_TABLE_COLUMNS] = {"CHANGE OF", "FROM, TO"};
		char layout[] = "llrrrrl";
		struct npl_table table;
		for (int m = 0; m < shown; m++)
			heading[2 + m] = p->measures.measure[m].expression.text;
		heading[2 + shown] = "";
		layout[2 + shown] = 'l';
		layout[3 + shown] = '\0';
		qsort(ranked, (size_t)n, sizeof *ranked, compare_ranked);
		npl_table_open(&table, layout, heading);
		for (int i = 0; i < n; i++)
			add_change(p, &ranked[i], &table);
		printf("\n");
		print_best_change(p, &ranked[0]);
		npl_table_print(&table, stdout);
		rc = cli_table_printed(npl_table_close(&table), 0, err);
	} else if (!rc)
		printf("\nNo parameter was varied, so that there is no change to try.\n");
	sweep_evaluator_close(evaluator);
	npl_arena_free(&arena);
	return rc;
}

/* Takes the measures by which changes are judged: those asked for, else the objectives of the plan, else time. */
static int take_measures(struct point *p, const char *objective, struct npl_err *err)
{
	const struct sweep_formulas *objectives = &p->recorded.plan->objectives;
	int rc = cli_measures_add(objective, CLI_AS_BETTER, "--objective", &p->results, &p->measures, err);
	for (int i = 0; i < objectives->n && !objective && !rc; i++)
		rc = cli_measures_add(objectives->formula[i].expression.text,
				      objectives->formula[i].is_maximised ? CLI_MOST : CLI_LEAST, "the plan",
				      &p->results, &p->measures, err);
	return rc ? rc
		  : cli_measures_add("seconds,energy_j,area_mm2,power_w", CLI_AS_BETTER, "--objective", &p->results,
				     &p->measures, err);
}

static int explain(const char *path, int64_t id, const char *objective, struct npl_err *err)
{
	static const struct cli_list no_constraints;
	struct sweep_store *store = NULL;
	struct point *p = calloc(1, sizeof *p);
	if (!p)
		return npl_no_memory(err);
	int rc = sweep_store_read(path, &store, err);
	if (!rc)
		rc = sweep_recorded_read(store, &p->recorded, err);
	if (!rc)
		rc = cli_results_open(path, &no_constraints, &p->results, err);
	if (!rc)
		rc = find_point(p, id, err);
	if (!rc)
		rc = take_measures(p, objective, err);
	if (!rc)
		rc = explain_layers(p, err);
	if (!rc)
		rc = explain_changes(p, err);
	sweep_store_close(store);
	sweep_results_free(&p->results);
	sweep_recorded_free(&p->recorded);
	free(p);
	return rc;
}

static int explain_main(int argc, char **argv, struct npl_err *err)
{
	const char *word[2] = {NULL, NULL}, *objective = NULL;
	const struct cli_option options[] = {{"objective", CLI_TEXT, &objective, 0, 0, "FIGURE",
					      "by which changes are judged (default: the first of the plan)"},
					     {0}};
	int64_t id;
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_explain, options, argc, argv, word, 2, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (n_words != 2 || !npl_parse_count(word[1], &id))
		return npl_fail(err, NPL_EUSAGE,
				"explain: expected results and the number of a point; usage: npulab explain %s",
				cli_explain.arguments);
	return explain(word[0], id, objective, err);
}

const struct cli_command cli_explain = {"explain", "RESULTS.sqlite POINT",
					"what bounds a point of a sweep, and which change would help", explain_main};
