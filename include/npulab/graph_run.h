/* SPDX-License-Identifier: MIT
 *
 * Runs one batch through a network on one device, in one call; number formats are calibrated on the inputs themselves
 * or on others. To run many batches, open a session (session.h), which quantises the weights once. To compare devices,
 * call npl_compare.
 *
 *     if (npl_graph_run(graph, device, inputs, NULL, outputs, &cost, &err)) ...
 *     if (*cost.on_host) // an operator that the device does not take is no error
 *             fprintf(stderr, "on the host, not on %s: %s\n", npl_device_name(device), cost.on_host);
 */
#ifndef NPULAB_GRAPH_RUN_H
#define NPULAB_GRAPH_RUN_H

#include "npulab/session.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_COST_TEXT 400

/* What one run took, or several together. Figures are modelled or measured, by the kind of the device
 * (npl_device_info.kind). */
struct npl_cost {
	uint64_t cycles;            /* cycles of a simulated machine; 0: the device has no cycles */
	double seconds;             /* the makespan: the time of device, host and link, less what overlaps */
	double joules;              /* NAN: a part of it is not known */
	uint64_t macs, device_macs; /* multiply-accumulates of all layers; of those that the device ran */
	uint64_t saturations;       /* values that did not fit their number format */
	uint64_t link_bytes;
	/* The operators that the device does not take and that the modelled host ran, each with its reason, the longest
	 * first: "Softplus (2 layers: it has no such operator); Erf (1 layer: ...)". Empty: the host ran none. The text
	 * ends with "..." where there are more. */
	char on_host[NPL_COST_TEXT];
};

/* Fills cost from a run of the graph. */
void npl_cost_of(const struct npl_graph *graph, const struct npl_run *run, struct npl_cost *cost);
/* Adds cost to sum; sum->on_host gets the operators that it does not name yet. */
void npl_cost_add(struct npl_cost *sum, const struct npl_cost *cost);

/* Runs one batch. inputs: graph->n_inputs tensors of the inputs' types and shapes, borrowed, with elements aligned for
 * their type. calibration: as many tensors, on which the ranges of a quantised device are found; NULL: the inputs.
 * outputs: graph->n_outputs tensors, which the call makes and the caller frees (npl_tensor_free); zeroed when it fails.
 * cost may be NULL. Everything runs on the device except what it does not take, which the modelled host runs. Returns
 * NPL_EINPUT when an input does not fit. */
int npl_graph_run(struct npl_graph *graph, struct npl_device *device, const struct npl_tensor *inputs,
		  const struct npl_tensor *calibration, struct npl_tensor *outputs, struct npl_cost *cost,
		  struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
