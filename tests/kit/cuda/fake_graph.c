/* SPDX-License-Identifier: MIT
 *
 * The fake driver's graphs (fake.h). A graph is a list of calls: while a stream is captured, each call adds a node with
 * a function and a copy of its arguments, and is done when the graph is launched. */
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"

enum { GRAPH = 0x6ea9, EXECUTABLE = 0x6eae };

struct node {
	struct node *next;
	int (*replay)(void *data);
	void *data;
};

struct graph {
	int magic;
	struct node *first, **last; /* last: where the next node is attached */
	bool spoiled;               /* a call could not be captured */
};

static struct graph *capture; /* the graph that is being captured, or NULL */

bool cu_fake_captures(void)
{
	return capture != NULL;
}

int cu_fake_keep(int (*replay)(void *data), const void *data, size_t bytes)
{
	struct node *node = calloc(1, sizeof *node);
	*node = (struct node){.replay = replay, .data = malloc(bytes)};
	memcpy(node->data, data, bytes);
	*capture->last = node;
	capture->last = &node->next;
	return 0;
}

int cu_fake_spoil(void)
{
	capture->spoiled = true;
	return CAPTURE_UNSUPPORTED;
}

static void free_graph(struct graph *graph)
{
	while (graph->first) {
		struct node *node = graph->first;
		graph->first = node->next;
		free(node->data);
		free(node);
	}
	graph->magic = 0;
	free(graph);
}

CU_RESULT fake_cuStreamBeginCapture_v2(CU_STREAM stream, CU_CAPTURE_MODE mode)
{
	FAKE_CALL(cuStreamBeginCapture);
	if (!cu_fake_stream(stream) || capture || mode != CU_CAPTURE_OF_THREAD)
		return cu_fake_violation(INVALID_VALUE, "a capture within a capture, or of mode %d", mode);
	capture = calloc(1, sizeof *capture);
	*capture = (struct graph){.magic = GRAPH};
	capture->last = &capture->first;
	return 0;
}

CU_RESULT fake_cuStreamEndCapture(CU_STREAM stream, CU_GRAPH *graph)
{
	struct graph *captured = capture;
	const int code = cu_fake_driver_call("cuStreamEndCapture");
	*graph = NULL;
	(void)stream;
	if (!captured)
		return cu_fake_violation(INVALID_VALUE, "the end of a capture that never began");
	capture = NULL;
	if (code || captured->spoiled) {
		free_graph(captured);
		return code ? code : CAPTURE_INVALIDATED;
	}
	cu_fake_live("graphs", 1);
	*graph = captured;
	return 0;
}

CU_RESULT fake_cuGraphDestroy(CU_GRAPH graph)
{
	if (!graph || ((struct graph *)graph)->magic != GRAPH)
		return cu_fake_violation(INVALID_VALUE, "a graph that is none");
	free_graph(graph);
	cu_fake_live("graphs", -1);
	return cu_fake_driver_call("cuGraphDestroy");
}

/* Moves the nodes to the executable graph. The caller destroys the empty graph afterwards. */
CU_RESULT fake_cuGraphInstantiateWithFlags(CU_GRAPH_EXEC *to, CU_GRAPH from, unsigned long long flags)
{
	struct graph *graph = from, *executable;
	FAKE_CALL(cuGraphInstantiate);
	if (!graph || graph->magic != GRAPH || flags)
		return cu_fake_violation(INVALID_VALUE, "a graph that is none");
	executable = calloc(1, sizeof *executable);
	*executable = (struct graph){.magic = EXECUTABLE, .first = graph->first};
	graph->first = NULL;
	cu_fake.graphs++;
	cu_fake_live("executable graphs", 1);
	*to = executable;
	return 0;
}

CU_RESULT fake_cuGraphExecDestroy(CU_GRAPH_EXEC executable)
{
	if (!executable || ((struct graph *)executable)->magic != EXECUTABLE)
		return cu_fake_violation(INVALID_VALUE, "an executable graph that is none");
	free_graph(executable);
	cu_fake_live("executable graphs", -1);
	return cu_fake_driver_call("cuGraphExecDestroy");
}

CU_RESULT fake_cuGraphLaunch(CU_GRAPH_EXEC at, CU_STREAM stream)
{
	const struct graph *executable = at;
	FAKE_CALL(cuGraphLaunch);
	if (!executable || executable->magic != EXECUTABLE || !cu_fake_context() || !cu_fake_stream(stream))
		return cu_fake_violation(INVALID_VALUE, "a launch of no graph");
	cu_fake.replays++;
	for (const struct node *node = executable->first; node; node = node->next) {
		cu_fake_stream(stream); /* does the copies of the node before */
		const int code = node->replay(node->data);
		if (code)
			return code;
	}
	return 0;
}
