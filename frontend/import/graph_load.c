/* SPDX-License-Identifier: MIT
 *
 * Loads a graph from a file or from memory. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/file.h"
#include "core/files/path.h"
#include "frontend/graph/build.h"
#include "frontend/graph/graph_files.h"
#include "npulab/sha256.h"
#include "onnx_external.h"

#define MAX_FILE_BYTES (((size_t)2 << 30) - 1) /* the most bytes of a protobuf message */

/* Hashes the files as `cat FILES | sha256sum` does. */
static void hash_files(struct npl_graph *graph, const void *data, size_t bytes, const struct onnx_external *external)
{
	struct npl_sha256 state;
	npl_sha256_init(&state);
	npl_sha256_update(&state, data, bytes);
	for (int i = 0; external && i < external->n_files; i++)
		npl_sha256_update(&state, external->file[i].file.data, external->file[i].file.bytes);
	npl_sha256_final(&state, graph->file_sha256);
}

/* Reads the model in one of two ways (graph/batch.c). *has_alternative: the model has a second way. */
static int load_once(bool shapes_assume_batch_1, const char *path, const void *data, size_t bytes,
		     const struct npl_load_options *options, struct graph_limits limits, struct onnx_external *external,
		     bool *has_alternative, struct npl_graph **graph, struct npl_err *err)
{
	struct graph_builder b;
	struct npl_graph *loaded_graph = calloc(1, sizeof *loaded_graph);
	if (!loaded_graph)
		return npl_no_memory(err);
	graph_builder_init(&b, loaded_graph, options, limits, err);
	b.constant_shapes_assume_batch_1 = shapes_assume_batch_1;
	loaded_graph->name = npl_path_stem(&loaded_graph->arena, path);
	loaded_graph->batch = 1;
	int rc = loaded_graph->name ? onnx_read_model(&b, data, bytes, external) : npl_no_memory(b.err);
	if (!rc)
		rc = graph_complete(&b);
	*has_alternative = b.kept_shape;
	graph_builder_free(&b);
	if (!rc)
		*graph = loaded_graph;
	else
		npl_graph_free(loaded_graph);
	return rc;
}

/* Loads a model. external: the other files that may be read, or NULL. */
static int load(const char *path, const void *data, size_t bytes, const struct npl_load_options *options,
		struct graph_limits limits, struct onnx_external *external, struct npl_graph **graph,
		struct npl_err *err)
{
	struct npl_err local = {0};
	bool has_alternative = false;
	*graph = NULL;
	int rc = load_once(false, path, data, bytes, options, limits, external, &has_alternative, graph, &local);
	if (rc == NPL_EINPUT && has_alternative) {
		local = (struct npl_err){0};
		rc = load_once(true, path, data, bytes, options, limits, external, &has_alternative, graph, &local);
	}
	if (!rc)
		return 0;
	npl_prefix(&local, "%s", path);
	if (err)
		*err = local;
	return rc;
}

int npl_graph_load_memory(const char *path, const void *data, size_t bytes, const struct npl_load_options *options,
			  struct graph_limits limits, struct npl_graph **graph, struct npl_err *err)
{
	int rc = load(path, data, bytes, options, limits, NULL, graph, err);
	if (!rc)
		hash_files(*graph, data, bytes, NULL);
	return rc;
}

/* Hands the mappings to the graph, whose constants point into them. */
static int keep_files(struct npl_graph *graph, struct npl_file *model, struct onnx_external *external,
		      struct npl_err *err)
{
	struct npl_graph_files *files = npl_arena_alloc(&graph->arena, sizeof *files);
	if (files)
		files->file = npl_arena_array(&graph->arena, (size_t)external->n_files + 1, sizeof *files->file);
	if (!files || !files->file)
		return npl_no_memory(err);
	graph->files = files;
	files->file[files->n++] = *model;
	*model = (struct npl_file){0};
	for (int i = 0; i < external->n_files; i++) {
		files->file[files->n++] = external->file[i].file;
		external->file[i].file = (struct npl_file){0};
	}
	return 0;
}

int npl_graph_files_unchanged(const struct npl_graph *graph, struct npl_err *err)
{
	for (int i = 0; graph->files && i < graph->files->n; i++)
		if (npl_file_unchanged(&graph->files->file[i], err))
			return err->code;
	return 0;
}

static int load_file(const char *path, const struct npl_load_options *options, bool hashed, struct npl_graph **graph,
		     struct npl_err *err)
{
	struct npl_file file;
	*graph = NULL;
	int rc = npl_file_map(path, MAX_FILE_BYTES, &file, err);
	if (rc)
		return rc;
	struct onnx_external external;
	rc = onnx_external_open(&external, path, err);
	if (!rc)
		rc = load(path, file.data, file.bytes, options, GRAPH_LIMITS, &external, graph, err);
	if (!rc && hashed)
		hash_files(*graph, file.data, file.bytes, &external);
	if (!rc && !(rc = keep_files(*graph, &file, &external, err)))
		rc = npl_graph_files_unchanged(*graph, err);
	if (rc && *graph) {
		npl_graph_free(*graph);
		*graph = NULL;
	}
	npl_file_unmap(&file);
	onnx_external_close(&external);
	return rc;
}

int graph_load_file(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		    struct npl_err *err)
{
	return load_file(path, options, true, graph, err);
}

int graph_load_probe(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		     struct npl_err *err)
{
	return load_file(path, options, false, graph, err);
}
