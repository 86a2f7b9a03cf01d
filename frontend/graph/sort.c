/* SPDX-License-Identifier: MIT
 *
 * Topological order of the nodes (Kahn, "Topological sorting of large networks", CACM 5(11), 1962): of all nodes whose
 * inputs are made, the one that comes first in the file goes next. So a file that is in order keeps its order, and
 * every other file changes as little as possible. */
#include <stdlib.h>

#include "build.h"
#include "core/base/refuse.h"

/* A binary heap of node indices, smallest on top. */
struct heap {
	int *item;
	int n;
};

static void heap_push(struct heap *heap, int item)
{
	int i = heap->n++;
	for (; i > 0 && heap->item[(i - 1) / 2] > item; i = (i - 1) / 2)
		heap->item[i] = heap->item[(i - 1) / 2];
	heap->item[i] = item;
}

static int heap_pop(struct heap *heap)
{
	int top = heap->item[0], last = heap->item[--heap->n], i = 0;
	for (;;) {
		int child = 2 * i + 1;
		if (child >= heap->n)
			break;
		if (child + 1 < heap->n && heap->item[child + 1] < heap->item[child])
			child++;
		if (heap->item[child] >= last)
			break;
		heap->item[i] = heap->item[child];
		i = child;
	}
	heap->item[i] = last;
	return top;
}

/* Returns the node that makes input k of a node, or -1. */
static int maker(const struct graph_builder *b, const struct graph_node *node, int k)
{
	return node->in[k] < 0 ? -1 : b->value[node->in[k]].producer;
}

/* Names a node on a cycle: walks backwards from a node that could not be placed, along other such nodes, until it must
 * be on the cycle. */
static int blame_cycle(struct graph_builder *b, const int *pending)
{
	int index = 0;
	while (!pending[index])
		index++;
	for (int step = 0; step < b->n_nodes; step++) {
		const struct graph_node *node = &b->node[index];
		for (int k = 0; k < node->n_in; k++)
			if (maker(b, node, k) >= 0 && pending[maker(b, node, k)]) {
				index = maker(b, node, k);
				break;
			}
	}
	npl_fail(b->err, NPL_EINPUT, "its output comes back to its own input: the network has a cycle");
	return graph_blame(b, &b->node[index]);
}

/* Puts the nodes into their order. pending[i] is the number of inputs of node i that are not made yet. first[] and
 * reader[] have, for each node, the readers of its outputs. */
static void place(struct graph_builder *b, int *pending, const int *first, const int *reader, struct heap *ready)
{
	int placed = 0;
	for (int i = 0; i < b->n_nodes; i++)
		if (!pending[i])
			heap_push(ready, i);
	while (ready->n) {
		int i = heap_pop(ready);
		b->order[placed++] = i;
		for (int r = first[i]; r < first[i + 1]; r++)
			if (--pending[reader[r]] == 0)
				heap_push(ready, reader[r]);
	}
}

int graph_sort(struct graph_builder *b)
{
	size_t n = (size_t)b->n_nodes, edges = 0;
	for (int i = 0; i < b->n_nodes; i++)
		edges += (size_t)b->node[i].n_in;
	if (edges > GRAPH_MAX_VALUES)
		return npl_fail(b->err, NPL_EINPUT, "the nodes have more than %d inputs together", GRAPH_MAX_VALUES);
	b->order = calloc(n + 1, sizeof *b->order);
	int *pending = calloc(n + 1, sizeof *pending), *first = calloc(n + 2, sizeof *first);
	int *reader = calloc(edges + 1, sizeof *reader);
	struct heap ready = {.item = calloc(n + 1, sizeof *ready.item)};
	int rc = 0;
	if (!b->order || !pending || !first || !reader || !ready.item) {
		rc = npl_no_memory(b->err);
		goto out;
	}
	for (int i = 0; i < b->n_nodes; i++)
		for (int k = 0; k < b->node[i].n_in; k++)
			if (maker(b, &b->node[i], k) >= 0) {
				pending[i]++;
				first[maker(b, &b->node[i], k) + 2]++;
			}
	for (size_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (int i = 0; i < b->n_nodes; i++) /* first[m + 1] walks from the start of m's readers to their end */
		for (int k = 0; k < b->node[i].n_in; k++)
			if (maker(b, &b->node[i], k) >= 0)
				reader[first[maker(b, &b->node[i], k) + 1]++] = i;
	place(b, pending, first, reader, &ready);
	for (size_t i = 0; i < n && !rc; i++)
		if (pending[i])
			rc = blame_cycle(b, pending);
out:
	free(pending);
	free(first);
	free(reader);
	free(ready.item);
	return rc;
}
