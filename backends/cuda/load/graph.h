/* SPDX-License-Identifier: MIT
 *
 * CUDA graphs: calls in a stream that are captured once and launched often, with one call of the processor. Events in
 * them are recorded by every launch (cu_record).
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_GRAPH_H
#define NPULAB_BACKENDS_CUDA_LOAD_GRAPH_H

#include "driver_api.h"

/* Begins to capture what is put into the stream: it is not done. Returns false if the driver cannot. */
bool cu_capture_begin(const struct cu_driver *driver, CU_STREAM stream);

/* Ends the capture. complete: every call succeeded. Returns what graph_launch and graph_exec_destroy take, or NULL if
 * there is no whole graph. */
CU_GRAPH_EXEC cu_capture_end(const struct cu_driver *driver, CU_STREAM stream, bool complete);

/* Records an event in the stream; while it is captured, in every launch of the graph. */
int cu_record(const struct cu_driver *driver, CU_EVENT event, CU_STREAM stream, bool captured, struct npl_err *err);

#endif
