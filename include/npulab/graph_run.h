/* SPDX-License-Identifier: MIT
 *
 * One batch through a network on one device, in one call: number formats are calibrated on the inputs themselves or on
 * others. Who runs many batches opens a session (session.h) and quantises the weights once; who compares devices asks
 * npl_compare.
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

/* What a run took, or several together. Modelled or measured as the device is (npl_device_info.kind). */
struct npl_cost {
	uint64_t cycles;            /* of a simulated machine; 0: it has no cycles */
	double seconds;             /* the makespan: device, host and link, less what of it goes on at once */
	double joules;              /* NAN: a part of it is not known */
	uint64_t macs, device_macs; /* multiply-accumulates; without those that the host did */
	uint64_t saturations;       /* values that did not fit their number format */
	uint64_t link_bytes;
	/* Operators that the device does not take and the modelled host ran, each with its reason, the longest first:
	 * "Softplus (2 layers: it has no such operator); Erf (1 layer: ...)". "": none did. Ends with "..." where there
	 * are more. */
	char on_host[NPL_COST_TEXT];
};

/* Fills cost from a run of the graph. */
void npl_cost_of(const struct npl_graph *graph, const struct npl_run *run, struct npl_cost *cost);
/* Adds to sum; on_host gets what it does not have yet. */
void npl_cost_add(struct npl_cost *sum, const struct npl_cost *cost);

/* inputs: graph->n_inputs tensors of the inputs' types and shapes, borrowed, with elements aligned for their type.
 * calibration: as many to find the ranges of a quantised device on; NULL: the inputs. outputs: graph->n_outputs
 * tensors, which the call makes and the caller frees (npl_tensor_free); zeroed when it fails. cost may be NULL.
 * Everything runs on the device except what it does not take, which is the modelled host's. NPL_EINPUT: an input does
 * not fit. */
int npl_graph_run(struct npl_graph *graph, struct npl_device *device, const struct npl_tensor *inputs,
		  const struct npl_tensor *calibration, struct npl_tensor *outputs, struct npl_cost *cost,
		  struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
