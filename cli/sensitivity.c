/* SPDX-License-Identifier: MIT
 *
 * npulab sensitivity: which parameter of a sweep moves which result. */
#include <math.h>

#include "common.h"
#include "core/base/refuse.h"
#include "explore/measure_text.h"
#include "explore/sensitivity.h"
#include "reports/format/json.h"
#include "reports/format/table.h"
#include "sweep_results.h"

/* The effects on a measure. */
struct effects {
	int n;
	struct sweep_effect effect[SWEEP_KEYS];
};

struct document {
	const struct cli_measures *measures;
	const struct effects *effects; /* one for each measure */
};

static void write_json(FILE *out, const void *data)
{
	const struct document *d = data;
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.sensitivity/1");
	npl_json_build(&json);
	npl_json_open(&json, "results", '[');
	for (int m = 0; m < d->measures->n; m++) {
		npl_json_open(&json, NULL, '{');
		npl_json_string(&json, "expression", d->measures->measure[m].expression.text);
		npl_json_open(&json, "parameters", '[');
		for (int i = 0; i < d->effects[m].n; i++) {
			const struct sweep_effect *effect = &d->effects[m].effect[i];
			npl_json_open(&json, NULL, '{');
			npl_json_string(&json, "key", effect->key);
			npl_json_i64(&json, "values", effect->n_values);
			npl_json_double(&json, "share", effect->share);
			npl_json_double(&json, "least", effect->least);
			npl_json_string(&json, "least_at", effect->least_value);
			npl_json_double(&json, "most", effect->most);
			npl_json_string(&json, "most_at", effect->most_value);
			npl_json_close(&json, '}');
		}
		npl_json_close(&json, ']');
		npl_json_close(&json, '}');
	}
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	putc('\n', out);
}

static int print_table(const struct document *d)
{
	bool is_exact = true;
	int rc = 0;
	for (int m = 0; m < d->measures->n && !rc; m++) {
		const struct sweep_measure *measure = &d->measures->measure[m];
		struct npl_table table;
		npl_table_open(&table, "lrrrrr",
			       (const char *const[]){"PARAMETER", "SHARE", "LEAST AT", "MEAN", "MOST AT", "MEAN"});
		printf("%s%s%s\n", m ? "\n" : "", measure->expression.text,
		       d->effects[m].n ? "" : ": no parameter has several values among the points");
		for (int i = 0; i < d->effects[m].n; i++) {
			const struct sweep_effect *effect = &d->effects[m].effect[i];
			char share[24], least[40], most[40];
			is_exact = is_exact && (effect->is_exact || isnan(effect->share));
			if (isnan(effect->share))
				snprintf(share, sizeof share, "-");
			else
				snprintf(share, sizeof share, "%.1f %%", 100 * effect->share);
			npl_table_row(&table, (const char *const[]){
						      effect->key, share, effect->least_value,
						      sweep_measure_text(measure, effect->least, least, sizeof least),
						      effect->most_value,
						      sweep_measure_text(measure, effect->most, most, sizeof most)});
		}
		if (d->effects[m].n)
			npl_table_print(&table, stdout);
		rc = npl_table_close(&table);
	}
	npl_table_text("SHARE: of the variance of the result that follows from this parameter alone; parameters that "
		       "move together share it. LEAST AT, MOST AT: the values of the parameter for which the mean of "
		       "the result is least and greatest. Results above 0 count by their logarithm, so that their "
		       "means are geometric.",
		       stdout);
	if (!is_exact)
		npl_table_text("The points are no whole grid, so that values meet different others: the shares are "
			       "estimates, and means differ by more than the parameter alone.",
			       stdout);
	return rc;
}

static int sensitivity_main(int argc, char **argv, struct npl_err *err)
{
	const char *path = NULL, *show = "seconds,energy_j,area_mm2,power_w", *json = NULL;
	struct cli_list constraints = {0};
	const struct cli_option options[] = {
		{"show", CLI_TEXT, &show, 0, 0, "A,B,...", "results (default: seconds,energy_j,area_mm2,power_w)"},
		CLI_CONSTRAINT_OPTION(&constraints),
		CLI_JSON_OPTION(&json),
		{0}};
	struct sweep_results results = {0};
	struct cli_measures measures = {0};
	int n_words;
	bool help_printed;
	if (cli_parse(&cli_sensitivity, options, argc, argv, &path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!path)
		return npl_fail(err, NPL_EUSAGE, "sensitivity: which results? usage: npulab sensitivity %s",
				cli_sensitivity.arguments);
	int rc = cli_results_open(path, &constraints, &results, err);
	if (!rc)
		rc = cli_measures_add(show, CLI_AS_BETTER, "--show", &results, &measures, err);
	struct effects *effects = npl_arena_array(&results.arena, SWEEP_METRICS, sizeof *effects);
	if (!rc && !effects)
		rc = npl_no_memory(err);
	for (int m = 0; m < measures.n && !rc; m++) {
		effects[m].n = sweep_effects(&results, &measures.measure[m], effects[m].effect, err);
		rc = effects[m].n < 0 ? effects[m].n : 0;
	}
	const struct document document = {&measures, effects};
	if (!rc)
		rc = cli_write_reports(&(const struct cli_report){json, write_json, &document}, 1, err);
	if (!rc && !cli_is_stdout(json))
		rc = cli_table_printed(print_table(&document), 0, err);
	sweep_results_free(&results);
	return rc;
}

const struct cli_command cli_sensitivity = {"sensitivity", "RESULTS.sqlite [--show A,B,...]",
					    "which parameter of a sweep moves which result", sensitivity_main};
