/* SPDX-License-Identifier: MIT
 *
 * Which layers of a comparison the reports show one by one, and in which order: those that some pattern matches, sorted
 * by a figure of the first device, the first so many of them. Totals stay those of the whole network.
 *
 *     struct npl_layer_choice_options options = {.n_match = 1, .match = (const char *[]){"Conv*"}, .top = 10};
 *     struct npl_layer_choice choice;
 *     if (npl_layer_choice_make(&comparison, &options, &choice, &err)) ...
 *     npl_report_table(stdout, &comparison, &(struct npl_report_context){.layers = true, .choice = &choice}); // report.h
 *     npl_layer_choice_free(&choice);
 */
#ifndef NPULAB_LAYER_CHOICE_H
#define NPULAB_LAYER_CHOICE_H

#include "npulab/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_layer_choice_options {
	int n_match; /* 0: every layer */
	/* Each pattern is for the operator ("Conv*") or, between slashes, for the name ("/conv1/"; placement.h). */
	const char *const *match;
	/* The greatest first: "time", "cycles", "idle" (cycles in which the machine does not compute), "macs", "bytes"
	 * or "energy". "order": as the network has them. NULL: "time" with top, else "order". */
	const char *sort;
	int64_t top; /* 0: all */
};

struct npl_layer_choice {
	int n, left; /* layers that are shown, and those that are not */
	int *node;   /* n: their nodes, in the order in which they are shown */
};

/* NPL_EUSAGE: a key that is none, a bad expression, a pattern that matches no layer; known before anything runs. */
int npl_layer_choice_check(const struct npl_graph *graph, const struct npl_layer_choice_options *options,
			   struct npl_err *err);
/* Chooses the layers. Fails as npl_layer_choice_check does, and with NPL_ENOMEM. */
int npl_layer_choice_make(const struct npl_comparison *comparison, const struct npl_layer_choice_options *options,
			  struct npl_layer_choice *choice, struct npl_err *err);
void npl_layer_choice_free(struct npl_layer_choice *choice); /* accepts a zeroed one */

#ifdef __cplusplus
}
#endif

#endif
