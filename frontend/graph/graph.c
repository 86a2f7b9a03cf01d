/* SPDX-License-Identifier: MIT
 *
 * Functions for every graph, wherever it came from: making the elements of constants that are only described, and
 * freeing the graph. */
#include "npulab/graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph_files.h"
#include "npulab/budget.h"

void npl_graph_free(struct npl_graph *graph)
{
	if (!graph)
		return;
	for (int i = 0; graph->files && i < graph->files->n; i++)
		npl_file_unmap(&graph->files->file[i]);
	npl_arena_free(&graph->arena);
	free(graph);
}

static void make_fill(const struct npl_value *value, char *data, size_t count, size_t size)
{
	static const unsigned char zero[sizeof value->fill];
	if (!count || memcmp(value->fill, zero, size) == 0) /* the arena is zeroed */
		return;
	memcpy(data, value->fill, size);
	for (size_t filled_bytes = size; filled_bytes < count * size;
	     filled_bytes *= 2) /* copies the filled part after itself */
		memcpy(data + filled_bytes, data,
		       filled_bytes < count * size - filled_bytes ? filled_bytes : count * size - filled_bytes);
}

/* Sessions of several threads may share a graph: the first thread that asks makes the data. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static const void *make_data(struct npl_graph *graph, struct npl_value *value, struct npl_err *err)
{
	char text[192];
	if (!value->is_fill && !value->is_random) {
		npl_fail(err, NPL_EINTERNAL, "tensor '%s' has no data", value->name);
		return NULL;
	}
	size_t size = npl_dtype_size(value->dtype), count = (size_t)npl_shape_count(&value->shape);
	if (npl_budget_check(count * size, value->name, err))
		return NULL;
	char *data = value->is_fill ? npl_arena_array(&graph->arena, count, size)
				    : npl_arena_raw(&graph->arena, count * size);
	if (!data) {
		npl_fail(err, NPL_ENOMEM, "tensor '%s': out of memory for %s %s", value->name,
			 npl_dtype_name(value->dtype), npl_shape_text(&value->shape, text, sizeof text));
		return NULL;
	}
	if (value->is_fill)
		make_fill(value, data, count, size);
	else if (value->dtype == NPL_F32)
		npl_random_floats(&value->law, 0, (int64_t)count, (float *)(void *)data);
	else
		npl_random_doubles(&value->law, 0, (int64_t)count, (double *)(void *)data);
	return data;
}

const void *npl_value_data(struct npl_graph *graph, struct npl_value *value, struct npl_err *err)
{
	const void *data = __atomic_load_n(&value->data, __ATOMIC_ACQUIRE);
	if (data)
		return data;
	pthread_mutex_lock(&making);
	data = value->data ? value->data : make_data(graph, value, err);
	__atomic_store_n(&value->data, data, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&making);
	return data;
}
