/* SPDX-License-Identifier: MIT
 *
 * The table of a Pareto front (front_report.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "front_report.h"
#include "measure_text.h"
#include "reports/format/table.h"
#include "shown_keys.h"

#define MOST_ROWS    40 /* without being asked for more */
#define MOST_SPECIAL 20 /* and so many that are special: of ties for the best there may be any number */

/* The points of the front that are of one network, which follow each other, and their best value of each objective. */
struct rivals {
	int64_t first, end;
	double best[SWEEP_OBJECTIVES];
};

/* Finds the points of the front that are of one network with point k, and their best value of each objective. */
static void find_rivals(const struct sweep_results *results, const struct sweep_front *front, int64_t k,
			struct rivals *rivals)
{
	const char *model = sweep_result_parameter(&results->result[front->index[k]], SWEEP_MODEL);
	if (k >= rivals->first && k < rivals->end)
		return;
	rivals->first = rivals->end = k;
	for (; rivals->end < front->n; rivals->end++) {
		const struct sweep_result *result = &results->result[front->index[rivals->end]];
		const char *other = sweep_result_parameter(result, SWEEP_MODEL);
		if (model && other && strcmp(model, other) != 0)
			return;
		for (int i = 0; i < front->n_objectives; i++) {
			const struct sweep_measure *m = &front->objective[i];
			const double value = sweep_result_value(m, result), best = rivals->best[i];
			if (rivals->end == k || (m->is_maximised ? value > best : value < best))
				rivals->best[i] = value;
		}
	}
}

/* Says what is special about a point of the front. To be called for the points in their order. */
static void write_remark(const struct sweep_results *results, const struct sweep_front *front, struct rivals *rivals,
			 int64_t k, char *text, size_t bytes)
{
	*text = '\0';
	find_rivals(results, front, k, rivals);
	if (front->is_knee[k])
		npl_append(text, bytes, ", ", "knee");
	for (int i = 0; i < front->n_objectives; i++) {
		const struct sweep_measure *m = &front->objective[i];
		if (sweep_result_value(m, &results->result[front->index[k]]) == rivals->best[i])
			npl_append(text, bytes, ", ", "%s %s", m->is_maximised ? "most" : "least", m->expression.text);
	}
}

static void add_row(const struct sweep_results *results, const struct sweep_front *front,
		    const struct sweep_shown_keys *columns, int64_t k, const char *remark, struct npl_table *table)
{
	const struct sweep_result *result = &results->result[front->index[k]];
	const char *cell[NPL_TABLE_COLUMNS];
	char id[24], value[SWEEP_OBJECTIVES][40];
	int n = 0;
	snprintf(id, sizeof id, "%lld", (long long)result->id);
	cell[n++] = id;
	for (int i = 0; i < columns->n; i++)
		cell[n++] = sweep_result_parameter(result, columns->key[i]);
	for (int i = 0; i < front->n_objectives; i++)
		cell[n++] = sweep_measure_text(&front->objective[i], sweep_result_value(&front->objective[i], result),
					       value[i], sizeof value[i]);
	cell[n++] = remark;
	npl_table_row(table, cell);
}

/* Adds the points of the front. Where there is no room for all, those that are left lie evenly along it, and the knee
 * and the best in an objective stay. Returns how many there are. */
static int64_t add_rows(const struct sweep_results *results, const struct sweep_front *front,
			const struct sweep_shown_keys *columns, bool all, struct npl_table *table)
{
	struct rivals rivals = {0};
	int64_t even = 0, special = 0, rows = 0;
	for (int64_t k = 0; k < front->n; k++) {
		char remark[300];
		const bool is_even = k == even * (front->n - 1) / (MOST_ROWS - 1);
		bool is_shown = all || front->n <= MOST_ROWS || is_even;
		even += is_even;
		write_remark(results, front, &rivals, k, remark, sizeof remark);
		if (!is_shown && *remark && (special < MOST_SPECIAL || front->is_knee[k])) {
			is_shown = true;
			special++;
		}
		if (is_shown)
			add_row(results, front, columns, k, remark, table);
		rows += is_shown;
	}
	return rows;
}

int sweep_front_table(FILE *out, const struct sweep_results *results, const struct sweep_front *front, bool all)
{
	struct sweep_shown_keys columns;
	struct npl_table table;
	const char *heading[NPL_TABLE_COLUMNS];
	char layout[NPL_TABLE_COLUMNS + 1] = "r", above[200];
	int n = 0;
	sweep_choose_keys(results, front->index, front->n, NPL_TABLE_COLUMNS - 2 - front->n_objectives, &columns);
	heading[n++] = "POINT";
	for (int i = 0; i < columns.n; i++, n++) {
		heading[n] = columns.key[i];
		layout[n] = 'r';
	}
	for (int i = 0; i < front->n_objectives; i++, n++) {
		heading[n] = front->objective[i].expression.text;
		layout[n] = 'r';
	}
	layout[n] = 'l';
	heading[n++] = "";
	snprintf(above, sizeof above, "Pareto front: %lld of %lld points that meet the constraints",
		 (long long)front->n, (long long)(front->considered + front->unknown));
	npl_table_text(above, out);
	if (front->unknown) {
		snprintf(above, sizeof above, "%lld are left out, since an objective of theirs is not known",
			 (long long)front->unknown);
		npl_table_text(above, out);
	}
	if (!front->n)
		return 0;
	npl_table_open(&table, layout, heading);
	const int64_t rows = add_rows(results, front, &columns, all, &table);
	npl_table_print(&table, out);
	const int rc = npl_table_close(&table);
	if (rows < front->n)
		fprintf(out, "%lld of the front are not shown (--all)\n", (long long)(front->n - rows));
	return rc ? rc : sweep_print_alike(out, results, front->index, front->n, &columns);
}
