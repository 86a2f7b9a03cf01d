/* SPDX-License-Identifier: MIT
 *
 * Records calls (eager.h) as a network, to run it again with other inputs.
 *
 *     npl_recording_begin(ctx, "net", &err);
 *     ... npl_eager_input, npl_eager_constant, npl_eager_op, npl_eager_read as ever ...
 *     npl_recording_end(ctx, NPL_ARGS(y), &graph, &err);
 *     npl_graph_run(graph, device, inputs, NULL, outputs, &cost, &err);
 *     npl_graph_free(graph);
 *
 * Calls work as usual while they are recorded, and values can be read. The inputs of the network are the values that
 * npl_eager_input makes during the recording, used or not, in that order; a value that it made before becomes an input
 * at its first use. Every other value from outside becomes a constant: those of npl_eager_constant, and results that
 * were computed before the recording began (a call that uses one waits for it). Constants are copied except those that
 * are borrowed.
 */
#ifndef NPULAB_RECORDING_H
#define NPULAB_RECORDING_H

#include "npulab/eager.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flushes pending calls, then starts recording. name is the graph's, or NULL. Returns NPL_EUSAGE when the context is
 * recording already. */
int npl_recording_begin(struct npl_eager *ctx, const char *name, struct npl_err *err);
/* Ends the recording, also when the call fails. outputs: values computed or used in the recording, each once. The
 * caller owns the graph, which does not need the context. Returns NPL_EUSAGE when nothing is being recorded, or when an
 * output was not part of the recording. */
int npl_recording_end(struct npl_eager *ctx, struct npl_args outputs, struct npl_graph **graph, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
