/* SPDX-License-Identifier: MIT
 *
 * The points of a database of results in memory, and expressions over their parameters and figures. */
#ifndef NPULAB_EXPLORE_RESULTS_H
#define NPULAB_EXPLORE_RESULTS_H

#include "explore/evaluate/measure.h"
#include "explore/space/space.h"
#include "explore/store/store.h"

#define SWEEP_KEYS (SWEEP_AXES * SWEEP_AXIS_KEYS) /* the most different parameters */

struct sweep_result {
	int64_t id;
	enum sweep_status status;
	bool feasible;
	const char *reason; /* NULL: none */
	int n_parameters;
	const struct sweep_parameter *parameter;
	struct sweep_metrics metrics;
};

struct sweep_results { /* zero-initialise before use; all texts live in the arena */
	struct npl_arena arena;
	int64_t n, capacity;
	struct sweep_result *result;
	/* The keys of all parameters that points have, in the order in which they came. */
	int n_keys;
	const char *key[SWEEP_KEYS];
};

/* Reads all points. */
int sweep_results_read(struct sweep_store *store, struct sweep_results *results, struct npl_err *err);
/* Adds a copy of a point. */
int sweep_results_add(struct sweep_results *results, const struct sweep_result *result, struct npl_err *err);
void sweep_results_free(struct sweep_results *results);

/* Says whether a figure is known of any point that meets the constraints. */
bool sweep_results_have(const struct sweep_results *results, enum sweep_metric metric);
/* Returns the value of a point's parameter; NULL: the point has none of this key. */
const char *sweep_result_parameter(const struct sweep_result *result, const char *key);

/* Parses an expression over the results. A figure alone has the direction in which it is better. Returns NPL_EUSAGE,
 * without a place, for a name that is neither a figure nor a parameter of any point, with the nearest. */
int sweep_measure_parse(const struct sweep_results *results, const char *text, struct npl_arena *arena,
			struct sweep_measure *measure, struct npl_err *err);
double sweep_result_value(const struct sweep_measure *measure, const struct sweep_result *result);

#endif
