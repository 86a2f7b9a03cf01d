/* SPDX-License-Identifier: MIT
 *
 * Chooses the layers that reports show (layer_choice.h). */
#include "npulab/layer_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "frontend/session/layer_pattern.h"

static double idle_of(const struct npl_layer_run *row)
{
	double idle = (double)row->result.cycles;
	for (size_t i = 0; i < row->n_counters; i++)
		if (row->counter_def[i].kind == NPL_COUNTER_WORK)
			idle -= (double)row->result.counter[i];
	return idle;
}

static double bytes_of(const struct npl_layer_run *row)
{
	return (double)(row->result.bytes[NPL_MEM_DRAM] + row->result.bytes[NPL_MEM_HOST] + row->link_bytes);
}

static double energy_of(const struct npl_layer_run *row)
{
	double sum = 0;
	for (int i = 0; i < row->result.n_energy; i++)
		sum += isfinite(row->result.energy[i].joules) ? row->result.energy[i].joules : 0;
	return sum;
}

static const char *const words[NPL_LAYER_SORTS] = {
#define NPL_LAYER_SORT(constant, word, help) [NPL_SORT_##constant] = word,
#include "npulab/layer_sorts.def"
};

/* Returns the figure that the layers are sorted by; 0 for all where they stay in the network's order. */
static double figure_of(const struct npl_layer_run *row, enum npl_layer_sort sort)
{
	switch (sort) {
	case NPL_SORT_USUAL:
	case NPL_SORT_ORDER:
	case NPL_LAYER_SORTS:
		return 0;
	case NPL_SORT_TIME:
		return npl_row_seconds(row);
	case NPL_SORT_CYCLES:
		return (double)row->result.cycles;
	case NPL_SORT_IDLE:
		return idle_of(row);
	case NPL_SORT_MACS:
		return (double)row->result.macs;
	case NPL_SORT_BYTES:
		return bytes_of(row);
	case NPL_SORT_ENERGY:
		return energy_of(row);
	}
	return 0;
}

int npl_layer_sort_parse(const char *word, enum npl_layer_sort *sort, struct npl_err *err)
{
	for (enum npl_layer_sort key = NPL_SORT_ORDER; key < NPL_LAYER_SORTS; key++)
		if (!strcmp(words[key], word)) {
			*sort = key;
			return 0;
		}
	return npl_fail(err, NPL_EUSAGE, "--sort: there is no key '%s'%s", word,
			NPL_NEAREST(word, words + NPL_SORT_ORDER, NPL_LAYER_SORTS - NPL_SORT_ORDER));
}

/* Marks the nodes that the pattern matches. */
static int mark_matches(const struct npl_graph *graph, const char *text, bool *is_chosen, struct npl_err *err)
{
	const size_t length = strlen(text);
	const bool matches_name = length > 1 && *text == '/' && text[length - 1] == '/';
	char *pattern_text = strndup(text + matches_name, length - (matches_name ? 2 : 0));
	struct layer_pattern pattern = {
		.location = "--match", .error_code = NPL_EUSAGE, .text = pattern_text, .matches_name = matches_name};
	int n_matched = 0;
	int rc = pattern_text ? layer_pattern_open(&pattern, err) : npl_no_memory(err);
	for (int i = 0; i < graph->n_nodes && !rc; i++)
		if (layer_pattern_matches(&pattern, &graph->node[i])) {
			is_chosen[i] = true;
			n_matched++;
		}
	if (!rc) {
		layer_pattern_close(&pattern);
		rc = n_matched ? 0 : layer_pattern_no_match(&pattern, graph, err);
	}
	free(pattern_text);
	return rc;
}

/* Sets *is_chosen, which says of each node whether some pattern matches it; without patterns all are chosen. The caller
 * frees it, after a failure too. */
static int choose(const struct npl_graph *graph, const struct npl_layer_choice_options *options, bool **is_chosen,
		  struct npl_err *err)
{
	*is_chosen = calloc((size_t)graph->n_nodes + 1, sizeof **is_chosen);
	if (!*is_chosen)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", graph->n_nodes);
	for (int i = 0; i < graph->n_nodes; i++)
		(*is_chosen)[i] = !options->n_match;
	for (int m = 0; m < options->n_match; m++)
		if (mark_matches(graph, options->match[m], *is_chosen, err))
			return err->code;
	return 0;
}

int npl_layer_choice_check(const struct npl_graph *graph, const struct npl_layer_choice_options *options,
			   struct npl_err *err)
{
	bool *is_chosen = NULL;
	int rc = choose(graph, options, &is_chosen, err);
	free(is_chosen);
	return rc;
}

static bool has_cycles(const struct npl_comparison *c)
{
	for (int d = 0; d < c->n_devices; d++)
		for (int i = 0; i < c->device[d].run.n_layers; i++)
			if (c->device[d].run.layer[i].result.cycles)
				return true;
	return false;
}

/* Returns the greatest figure that any device has for the layer. */
static double greatest(const struct npl_comparison *c, enum npl_layer_sort sort, int i)
{
	double most = 0;
	for (int d = 0; d < c->n_devices; d++)
		most = fmax(most, figure_of(&c->device[d].run.layer[i], sort));
	return most;
}

struct weighed {
	int node;
	double weight;
};

static int heaviest_first(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;
	return x->weight > y->weight ? -1 : x->weight < y->weight ? 1 : x->node - y->node;
}

int npl_layer_choice_make(const struct npl_comparison *c, const struct npl_layer_choice_options *options,
			  struct npl_layer_choice *choice, struct npl_err *err)
{
	const struct npl_graph *graph = c->graph;
	struct weighed *list = calloc((size_t)graph->n_nodes + 1, sizeof *list);
	const enum npl_layer_sort usual = options->top ? NPL_SORT_TIME : NPL_SORT_ORDER;
	const enum npl_layer_sort sort = options->sort == NPL_SORT_USUAL ? usual : options->sort;
	bool *is_chosen = NULL;
	int n = 0;
	*choice = (struct npl_layer_choice){.node = calloc((size_t)graph->n_nodes + 1, sizeof *choice->node)};
	int rc = list && choice->node ? choose(graph, options, &is_chosen, err)
				      : npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", graph->n_nodes);
	for (int i = 0; i < graph->n_nodes && !rc; i++)
		if (is_chosen[i])
			list[n++] = (struct weighed){i, greatest(c, sort, i)};
	if (!rc && n && sort == NPL_SORT_CYCLES && c->n_devices && !has_cycles(c))
		rc = npl_fail(err, NPL_EUSAGE,
			      "--sort cycles: %s has no cycles: name a simulated machine too, or sort by time",
			      c->device[0].instance);
	if (n)
		qsort(list, (size_t)n, sizeof *list, heaviest_first);
	choice->n = options->top && options->top < n ? (int)options->top : n;
	choice->n_hidden = graph->n_nodes - choice->n;
	choice->sort_name = !rc && sort > NPL_SORT_ORDER && sort < NPL_LAYER_SORTS ? words[sort] : NULL;
	for (int i = 0; i < choice->n && !rc; i++)
		choice->node[i] = list[i].node;
	free(list);
	free(is_chosen);
	if (rc)
		npl_layer_choice_free(choice);
	return rc;
}

void npl_layer_choice_free(struct npl_layer_choice *choice)
{
	free(choice->node);
	*choice = (struct npl_layer_choice){0};
}
