/* SPDX-License-Identifier: MIT
 *
 * Where each node ran and why, which bytes crossed which link for it and when (`run --log-placement`), and the work of
 * each resource over time, a line each. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cells.h"
#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/format/table.h"

#define LINE    80 /* columns of the chart of time */
#define LABEL   24
#define BAR     (LINE - LABEL - 8) /* without the borders and the share of time that it works */
#define MAX_WHY 400

static bool moves(const struct npl_task *task)
{
	return task->kind == NPL_TASK_TO_DEVICE || task->kind == NPL_TASK_TO_HOST;
}

/* Writes "384 tpu_v1, 768 diannao": bytes of the node's transfers by the device of the link. Returns the number of
 * transfers. */
static int put_moved(const struct npl_run *run, int node, char *text, size_t size)
{
	int transfers = 0;
	*text = '\0';
	for (int r = 0; r < run->n_resources; r++) {
		uint64_t bytes = 0;
		int link_transfers = 0;
		for (int i = 0; i < run->n_tasks; i++)
			if (run->task[i].node == node && run->task[i].resource == r && moves(&run->task[i])) {
				bytes += run->task[i].bytes;
				link_transfers++;
			}
		if (link_transfers)
			npl_append(text, size, ", ", "%" PRIu64 " %s", bytes, run->resource[r].device_name);
		transfers += link_transfers;
	}
	return transfers;
}

/* Says whether the rule ends with "=host". */
static bool is_for_host(const char *rule)
{
	size_t length = strlen(rule);
	return length >= 5 && !strcmp(rule + length - 5, "=host");
}

/* Writes the rule that placed the node, why it is on the host nevertheless, and what it is fused with. */
static void put_reason(const struct npl_layer_run *row, char *text, size_t size)
{
	const char *note = row->note ? row->note : "";
	if (row->role == NPL_VIEW)
		snprintf(text, size, "%s", *note ? note : "another shape of the same data");
	else if (row->role == NPL_FUSED)
		snprintf(text, size, "%s", note);
	else if (npl_row_on_host(row) && row->placed_by && !is_for_host(row->placed_by))
		snprintf(text, size, "%s, but: %s", row->placed_by, note);
	else if (npl_row_on_host(row) && row->placed_by)
		snprintf(text, size, "%s", row->placed_by);
	else
		snprintf(text, size, "%s%s%s", row->placed_by ? row->placed_by : "",
			 row->placed_by && *note ? "; " : "", note);
}

static int put_nodes(FILE *out, const struct npl_comparison *c, const struct npl_device_report *r)
{
	static const char *const header[] = {"#",     "LAYER", "OPERATOR", "DEVICE", "TRANSFERS", "BYTES OF LINK",
					     "START", "END",   "REASON"};
	struct npl_table table;
	npl_table_open(&table, "rwwwrwrrl", header);
	table.keys = 2; /* the number and the name of a layer */
	for (int i = 0; i < r->run.n_layers; i++) {
		const struct npl_layer_run *row = &r->run.layer[i];
		const struct npl_node *node = &c->graph->node[row->node];
		char number[24], transfers[24] = "", moved[200], start[CELL], end[CELL], reason[MAX_WHY];
		int n = put_moved(&r->run, i, moved, sizeof moved);
		snprintf(number, sizeof number, "%d", i);
		if (n)
			snprintf(transfers, sizeof transfers, "%d", n);
		put_reason(row, reason, sizeof reason);
		const char *cells[] = {number,
				       node->name,
				       npl_op_defs[node->op].name,
				       row->role == NPL_VIEW ? "view" : row->ran_on,
				       transfers,
				       moved,
				       npl_si_text(row->start_seconds, "s", start, sizeof start),
				       npl_si_text(row->end_seconds, "s", end, sizeof end),
				       reason};
		npl_table_row(&table, cells);
	}
	npl_table_print(&table, out);
	return npl_table_close(&table);
}

/* Returns how much of the time from..to the resource works. */
static double busy(const struct npl_run *run, int resource, double from, double to)
{
	double sum = 0;
	for (int i = 0; i < run->n_tasks; i++) {
		const struct npl_task *task = &run->task[i];
		if (task->resource == resource && task->end_seconds > from && task->start_seconds < to)
			sum += fmin(to, task->end_seconds) - fmax(from, task->start_seconds);
	}
	return sum / (to - from);
}

/* Prints the chart. "#" stands for busy at least half of a column's time, "-" for busy less, and " " for idle. */
static void put_times(FILE *out, const struct npl_run *run)
{
	double end = 0;
	char text[CELL];
	for (int i = 0; i < run->n_tasks; i++)
		end = fmax(end, run->task[i].end_seconds);
	if (end <= 0)
		return;
	fprintf(out, "\n%-*s 0%*s\n", LABEL - 1, "FIRST BATCH", BAR, npl_si_text(end, "s", text, sizeof text));
	for (int r = 0; r < run->n_resources; r++) {
		const struct npl_resource *resource = &run->resource[r];
		char label[200], bar[BAR + 1];
		snprintf(label, sizeof label, "%s%s", resource->device_name ? "link of " : "",
			 resource->device_name ? resource->device_name : resource->name);
		for (int k = 0; k < BAR; k++) {
			double share = busy(run, r, end * k / BAR, end * (k + 1) / BAR);
			bar[k] = (char)(share >= 0.5 ? '#' : share > 1e-9 ? '-' : ' ');
		}
		bar[BAR] = '\0';
		fprintf(out, "%-*.*s |%s| %3.0f %%\n", LABEL - 2, LABEL - 2, label, bar, 100 * busy(run, r, 0, end));
	}
}

int npl_report_placement(FILE *out, const struct npl_comparison *c)
{
	int rc = put_nodes(out, c, &c->device[0]);
	if (!rc)
		put_times(out, &c->device[0].run);
	return rc;
}
