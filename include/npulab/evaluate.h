/* SPDX-License-Identifier: MIT
 *
 * A network in float32 on the reference kernels: the values against which devices are judged, and the ranges from which
 * scales are calibrated (calibrate.h).
 */
#ifndef NPULAB_EVALUATE_H
#define NPULAB_EVALUATE_H

#include "npulab/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The range of the values that a tensor took. It starts empty: low > high. */
struct npl_range {
	float low, high;
	float least_factor; /* results of LRN: the least |y / x|; 0: none seen */
	/* the smallest of the maxima of the vectors that a Softmax reads; valid with read_by_softmax */
	float softmax_least_maximum;
	bool read_by_softmax; /* a Softmax read the tensor */
	bool nan, infinite;   /* a NaN, or an infinity, was seen */
};
#define NPL_RANGE_EMPTY ((struct npl_range){.low = 1, .high = -1})

/* Runs the whole graph in float32 on the reference kernels. inputs[] has graph->n_inputs tensors of the inputs' dtype
 * and shape; outputs[] gets graph->n_outputs tensors. ranges[graph->n_values], or NULL, is widened by the elements of
 * each value. Returns NPL_EINPUT when an input does not fit. */
int npl_evaluate(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		 struct npl_range *ranges, struct npl_err *err);

/* on_value() is called for every value when it is made. If it does not return 0, the run ends with that code. */
struct npl_value_observer {
	int (*on_value)(void *context, int value, const struct npl_tensor *tensor, struct npl_err *err);
	void *context;
};
/* Runs npl_evaluate; observer sees the inputs and the results of each node. ranges and observer may be NULL. */
int npl_evaluate_observed(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
			  struct npl_range *ranges, const struct npl_value_observer *observer, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
