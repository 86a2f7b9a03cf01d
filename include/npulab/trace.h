/* SPDX-License-Identifier: MIT
 *
 * Recording calls (eager.h) as a network, to run it again with other inputs.
 *
 *     npl_trace_begin(ctx, "net", &err);
 *     ... npl_eager_input, npl_eager_constant, npl_eager_op, npl_eager_read as ever ...
 *     npl_trace_end(ctx, NPL_ARGS(y), &graph, &err);
 *     npl_graph_run(graph, device, inputs, NULL, outputs, &cost, &err);
 *     npl_graph_free(graph);
 *
 * Calls go on working while they are recorded, and values can be read. The inputs of the network are what
 * npl_eager_input declares during the recording, used or not, in that order, and, when first used, what it declared
 * before. All else that comes from outside is a constant: npl_eager_constant, and results that were computed before the
 * recording began (using one waits for it). Constants are copied except those that are borrowed.
 */
#ifndef NPULAB_TRACE_H
#define NPULAB_TRACE_H

#include "npulab/eager.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flushes what is pending, then records. name is the graph's, or NULL. NPL_EUSAGE: it records already. */
int npl_trace_begin(struct npl_eager *ctx, const char *name, struct npl_err *err);
/* Ends the recording, also when it fails. outputs: values computed or used in it, each once. The graph is the caller's
 * and needs no context. NPL_EUSAGE: nothing is being recorded, or an output was not part of it. */
int npl_trace_end(struct npl_eager *ctx, struct npl_args outputs, struct npl_graph **graph, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
