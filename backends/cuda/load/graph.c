/* SPDX-License-Identifier: MIT
 *
 * Captures CUDA graphs (graph.h). */
#include "graph.h"

#include <stddef.h>

bool cu_capture_begin(const struct cu_driver *driver, CU_STREAM stream)
{
	return !driver->capture_begin(stream, CU_CAPTURE_OF_THREAD);
}

CU_GRAPH_EXEC cu_capture_end(const struct cu_driver *driver, CU_STREAM stream, bool complete)
{
	CU_GRAPH graph = NULL;
	CU_GRAPH_EXEC executable = NULL;
	const bool captured = !driver->capture_end(stream, &graph) && graph;
	if (captured && complete && driver->graph_instantiate(&executable, graph, 0))
		executable = NULL;
	if (graph)
		driver->graph_destroy(graph);
	return executable;
}

int cu_record(const struct cu_driver *driver, CU_EVENT event, CU_STREAM stream, bool captured, struct npl_err *err)
{
	return captured ? cu_try(driver, err, cuEventRecordWithFlags, event_record_flags,
				 (event, stream, CU_EVENT_IN_GRAPH))
			: cu_try(driver, err, cuEventRecord, event_record, (event, stream));
}
