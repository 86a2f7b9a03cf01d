/* SPDX-License-Identifier: MIT
 *
 * The table of estimated points (estimates.h). */
#include <math.h>
#include <string.h>

#include "estimates.h"
#include "measure_text.h"
#include "shown_keys.h"

#define MOST_ROWS 20

static const char *percent(double share, char *text, size_t bytes)
{
	snprintf(text, bytes, "%.*f %%", share < 0.0995 ? 2 : 0, 100 * share);
	return text;
}

static void add_error(const struct sweep_kriging_error *error, const char *name, struct npl_table *table)
{
	char points[24], median[24], ninth[24], worst[24];
	snprintf(points, sizeof points, "%lld", (long long)error->n);
	npl_table_row(table, (const char *const[]){name, points, percent(error->median, median, sizeof median),
						   percent(error->ninth, ninth, sizeof ninth),
						   percent(error->worst, worst, sizeof worst)});
}

/* Writes how far estimates were from the engine, for each network. */
static int print_errors(FILE *out, const struct sweep_plan *plan, const struct sweep_estimates *estimates)
{
	const struct sweep_axis *models = &plan->space.axis[SWEEP_MODEL_AXIS];
	struct npl_table table;
	npl_table_open(&table, "lrrrr",
		       (const char *const[]){"ERROR OF", "POINTS", "HALF WITHIN", "90 % WITHIN", "WORST"});
	for (int f = 0; f < estimates->n_figures; f++)
		for (int m = 0; m < estimates->n_models; m++) {
			const struct sweep_kriging_error *error = &estimates->error[f * estimates->n_models + m];
			char name[300];
			snprintf(name, sizeof name, "%s%s%s", sweep_metric_info[estimates->figure[f]].name,
				 estimates->n_models > 1 ? " of " : "",
				 estimates->n_models > 1 ? models->value[m] : "");
			if (error->n)
				add_error(error, name, &table);
		}
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

static void add_row(const struct sweep_results *points, const struct sweep_front *front, int64_t k,
		    const struct sweep_shown_keys *columns, struct npl_table *table)
{
	const struct sweep_result *result = &points->result[front->index[k]];
	const char *cell[NPL_TABLE_COLUMNS];
	char value[SWEEP_OBJECTIVES][41];
	int n = 0;
	for (int i = 0; i < columns->n; i++)
		cell[n++] = sweep_result_parameter(result, columns->key[i]);
	for (int i = 0; i < front->n_objectives; i++) {
		*value[i] = '~';
		sweep_measure_text(&front->objective[i], sweep_result_value(&front->objective[i], result), value[i] + 1,
				   sizeof value[i] - 1);
		cell[n++] = value[i];
	}
	npl_table_row(table, cell);
}

static int print_points(FILE *out, const struct sweep_results *points, const struct sweep_front *front)
{
	const int64_t rows = front->n < MOST_ROWS ? front->n : MOST_ROWS;
	const char *heading[NPL_TABLE_COLUMNS];
	char layout[NPL_TABLE_COLUMNS + 1] = "";
	struct sweep_shown_keys columns;
	struct npl_table table;
	int n = 0;
	sweep_choose_keys(points, front->index, front->n, NPL_TABLE_COLUMNS - front->n_objectives, &columns);
	for (int i = 0; i < columns.n; i++)
		heading[n++] = columns.key[i];
	for (int i = 0; i < front->n_objectives; i++)
		heading[n++] = front->objective[i].expression.text;
	memset(layout, 'r', (size_t)n);
	npl_table_open(&table, layout, heading);
	for (int64_t i = 0; i < rows; i++) /* spread evenly along the front */
		add_row(points, front, rows > 1 ? i * (front->n - 1) / (rows - 1) : 0, &columns, &table);
	npl_table_print(&table, out);
	const int rc = npl_table_close(&table);
	if (rows < front->n)
		fprintf(out, "%lld of them are not shown\n", (long long)(front->n - rows));
	return rc ? rc : sweep_print_alike(out, points, front->index, front->n, &columns);
}

int sweep_estimates_table(FILE *out, const struct sweep_to_estimate *wanted, const struct sweep_estimates *estimates,
			  struct npl_err *err)
{
	const struct sweep_front *front = wanted->front;
	struct sweep_front estimated = {.n_objectives = front->n_objectives};
	char above[200];
	memcpy(estimated.objective, front->objective, sizeof estimated.objective);
	if (sweep_front_find(&estimates->points, &estimated, err))
		return err->code;
	snprintf(above, sizeof above,
		 "Of %lld points that did not run, %lld would be on the front by their estimates%s",
		 (long long)estimates->n, (long long)estimated.n, estimated.n ? ":" : "");
	fputc('\n', out);
	npl_table_text(above, out);
	int rc = estimated.n ? print_points(out, &estimates->points, &estimated) : 0;
	if (!rc && estimates->n_figures) {
		npl_table_text("The error is that of each point that ran, estimated from the others. A point is named "
			       "if its estimates may be off by the first of these errors:",
			       out);
		rc = print_errors(out, wanted->plan, estimates);
	}
	sweep_front_free(&estimated);
	return rc;
}
