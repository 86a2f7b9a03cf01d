/* SPDX-License-Identifier: MIT
 *
 * Which layers of a comparison the reports show one by one, and in which order. A choice takes the layers that a
 * pattern matches, sorts them by a figure, and keeps the first `top`. Of several devices, the one with the greatest
 * figure for a layer decides. Totals stay those of the whole network.
 *
 *     struct npl_layer_choice_options options = {.n_match = 1, .match = (const char *[]){"Conv*"}, .top = 10};
 *     struct npl_layer_choice choice;
 *     if (npl_layer_choice_make(&comparison, &options, &choice, &err)) ...
 *     struct npl_report_context context = {.layers = true, .choice = &choice}; // report.h
 *     npl_report_table(stdout, &comparison, &context);
 *     npl_layer_choice_free(&choice);
 */
#ifndef NPULAB_LAYER_CHOICE_H
#define NPULAB_LAYER_CHOICE_H

#include "npulab/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What layers are sorted by, the greatest figure first; the words are those of the list. */
enum npl_layer_sort {
	NPL_SORT_USUAL, /* by time where `top` is set, else in the network's order */
#define NPL_LAYER_SORT(constant, word, help) NPL_SORT_##constant,
#include "layer_sorts.def"
	NPL_LAYER_SORTS
};
/* Reads one of these words. Returns NPL_EUSAGE for any other, with the nearest. */
int npl_layer_sort_parse(const char *word, enum npl_layer_sort *sort, struct npl_err *err);

struct npl_layer_choice_options {
	int n_match; /* 0: every layer */
	/* Each pattern matches the operator ("Conv*") or, between slashes, the name ("/conv1/"; placement.h). */
	const char *const *match;
	enum npl_layer_sort sort;
	int64_t top; /* 0: all */
};

struct npl_layer_choice {
	int n, n_hidden; /* the number of layers that are shown, and of those that are not */
	int *node;       /* n nodes, in the order in which they are shown */
	/* the figure that they are sorted by, as "time"; NULL: they are in the network's order */
	const char *sort_name;
};

/* Checks options before anything runs. Returns NPL_EUSAGE for a bad expression, or a pattern that matches no layer. */
int npl_layer_choice_check(const struct npl_graph *graph, const struct npl_layer_choice_options *options,
			   struct npl_err *err);
/* Chooses the layers. Fails as npl_layer_choice_check does, with NPL_EUSAGE where NPL_SORT_CYCLES meets no device with
 * cycles, and with NPL_ENOMEM. */
int npl_layer_choice_make(const struct npl_comparison *comparison, const struct npl_layer_choice_options *options,
			  struct npl_layer_choice *choice, struct npl_err *err);
void npl_layer_choice_free(struct npl_layer_choice *choice); /* accepts a zeroed one */

#ifdef __cplusplus
}
#endif

#endif
