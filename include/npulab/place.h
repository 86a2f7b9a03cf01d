/* SPDX-License-Identifier: MIT
 *
 * Finds a placement: which layer of a network runs on which of several devices or on the modelled host, so that a batch
 * takes the least time, the least energy, or the least product of the two.
 *
 *     struct npl_compare_options options = {.device_names = (const char *[]){"tpu_v1", "diannao"}, .n_devices = 2};
 *     struct npl_placing placing;
 *     if (npl_place(graph, &samples, NULL, &options, NPL_MINIMISE_TIME, 0, &placing, &err)) ...
 *     npl_placing_table(stdout, &placing, "resnet50"); // report.h
 *     npl_placing_free(&placing);
 *
 * The search is on a model of costs (docs/placing.md). Its parts come from the engines: a piece of the network that a
 * device runs in one go is run once, and its cost is kept. The answer and the placements that it is compared with are
 * each run by a session. The best of these runs is the answer, so that it is never worse than one of the others.
 */
#ifndef NPULAB_PLACE_H
#define NPULAB_PLACE_H

#include "npulab/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_PLACE_DEVICES 6 /* the most devices among which a placement is searched */

enum npl_place_objective { NPL_MINIMISE_TIME, NPL_MINIMISE_ENERGY, NPL_MINIMISE_EDP };

/* Where a placement that was run comes from. */
enum npl_place_origin {
	NPL_PLACE_ONE_DEVICE, /* one device has all layers that it takes */
	NPL_PLACE_HOST,       /* the modelled host has all layers */
	NPL_PLACE_GREEDY,     /* each layer in turn goes where it costs the least, given those before it */
	NPL_PLACE_SEARCH      /* the best that the search found */
};

/* A placement that was run. */
struct npl_place_run {
	enum npl_place_origin origin;
	const char *name; /* the device, "host", "greedy" or "search" */
	const int *place; /* per node: the index of its device, or NPL_ON_HOST */
	double seconds;   /* of a batch */
	double joules;    /* of a batch; NAN: not known */
	double objective; /* seconds, joules, or their product */
	double modelled;  /* what the model of costs says of the objective; NAN: it does not have these costs */
};

/* Layers that follow each other on one device or on the host, in the run of the answer. */
struct npl_place_segment {
	int first, last; /* nodes; neither is a view */
	int n_layers;    /* without views */
	int device;      /* the index of the device, or NPL_ON_HOST */
	double seconds;  /* of its layers, with the conversions and transfers that bring their inputs */
	double joules;   /* of the same; NAN: not known */
	uint64_t bytes;  /* that cross links for its layers */
};

struct npl_place_device {
	const char *instance; /* as in npl_device_report */
	const char *rule;     /* how a placement rule names it */
	bool measured;        /* a real device, whose times are measured and vary */
};

struct npl_placing { /* everything lives in the arena */
	const struct npl_graph *graph;
	enum npl_place_objective objective;
	int n_devices;
	struct npl_place_device *device;
	int n_runs; /* each device, the host, greedy, search */
	struct npl_place_run *run;
	int best;          /* the run with the least objective: the answer */
	int best_baseline; /* that of the others than the search */
	int n_segments;    /* of the answer */
	struct npl_place_segment *segment;
	/* No placement has a lower objective by the model of costs. NAN: this network's costs are not all in the
	 * model, and nothing is proven. */
	double bound;
	double gap;       /* how much the answer is above the bound, as a share of it; 0 if not above; NAN: as bound */
	bool complete;    /* the search left out nothing, so that its placement is optimal for the model */
	int64_t n_pieces; /* pieces of the network that were run to know their cost */
	int64_t n_states; /* states that the search kept */
	struct npl_arena arena;
};

/* Searches among the devices of the options. Without real devices nothing has values, as with plan.timing_only.
 * max_states: how many states the search keeps after each layer; 0: the usual number. Returns NPL_EUSAGE for an unknown
 * device, too many devices, or, where energy is minimised, a device whose energy is not known; NPL_EINPUT for a network
 * without layers or one that is too large. calibration as in npl_compare. */
int npl_place(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
	      const struct npl_compare_options *options, enum npl_place_objective objective, int64_t max_states,
	      struct npl_placing *placing, struct npl_err *err);
void npl_placing_free(struct npl_placing *placing);

/* Returns the rules of a placement (placement.h) as the text of a file, which npl_placement_load reads back to the same
 * devices; *text lives in the arena of the placing. run: the index of the run; model: the name in its comments. Returns
 * NPL_EINPUT if a name cannot be written in a rule. */
int npl_place_rules(struct npl_placing *placing, int run, const char *model, const char **text, struct npl_err *err);

/* Reads "time", "energy" or "edp". Returns NPL_EUSAGE for any other word. */
int npl_place_objective_parse(const char *word, enum npl_place_objective *objective, struct npl_err *err);
const char *npl_place_objective_name(enum npl_place_objective objective);

#ifdef __cplusplus
}
#endif

#endif
