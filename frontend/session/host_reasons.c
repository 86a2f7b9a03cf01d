/* SPDX-License-Identifier: MIT
 *
 * Sums up what the modelled host did (host_reasons.h). */
#include "host_reasons.h"

#include <stdlib.h>
#include <string.h>

static int compare_kinds(const struct npl_host_reason *a, const struct npl_host_reason *b)
{
	return a->op != b->op ? (a->op > b->op) - (a->op < b->op) : strcmp(a->note, b->note);
}

static int by_kind(const void *x, const void *y)
{
	const struct npl_host_reason *a = x, *b = y;
	const int order = compare_kinds(a, b);
	return order ? order : a->first - b->first;
}

static int by_time(const void *x, const void *y)
{
	const struct npl_host_reason *a = x, *b = y;
	const int order = (a->seconds < b->seconds) - (a->seconds > b->seconds);
	return order ? order : a->first - b->first;
}

int npl_host_reasons(const struct npl_graph *graph, const struct npl_run *run, bool by_operator,
		     struct npl_host_reason **list)
{
	struct npl_host_reason *reasons = malloc(((size_t)run->n_layers + 1) * sizeof *reasons);
	int rows = 0, n = 0;
	*list = reasons;
	if (!reasons)
		return NPL_ENOMEM;
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		if (npl_row_on_host(row))
			reasons[rows++] = (struct npl_host_reason){.op = graph->node[row->node].op,
								   .note = by_operator || !row->note ? "" : row->note,
								   .first = i,
								   .layers = 1,
								   .seconds = row->host_seconds};
	}
	if (rows)
		qsort(reasons, (size_t)rows, sizeof *reasons, by_kind);
	for (int i = 0; i < rows; i++) {
		if (!n || compare_kinds(&reasons[n - 1], &reasons[i])) {
			reasons[n++] = reasons[i];
			continue;
		}
		reasons[n - 1].layers++;
		reasons[n - 1].seconds += reasons[i].seconds;
	}
	if (n)
		qsort(reasons, (size_t)n, sizeof *reasons, by_time);
	return n;
}
