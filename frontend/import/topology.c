/* SPDX-License-Identifier: MIT
 *
 * SCALE-Sim topologies: a CSV with a row per layer, of convolutions or of matrix products. The layers do not read each
 * other's results, because the file leaves out pooling and their shapes do not fit. Each becomes a node with an input,
 * an output and seeded weights of its own. Counts are SCALE-Sim's (scalesim/topology_utils.py): the last window of a
 * convolution may reach over the edge, ceil((H - R + S) / S) rows of output, which is padding at the end. */
#include "topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/refuse.h"
#include "core/files/file.h"
#include "core/files/path.h"
#include "frontend/graph/build.h"
#include "npulab/sha256.h"
#include "topology_columns.h"

#define OPSET     13
#define MAX_BYTES ((size_t)16 << 20)

struct topology {
	struct topology_table table;
	struct npl_arena arena; /* arena of the table */
	int64_t batch;          /* dimension 0 of every input */
	struct graph_builder b;
	struct npl_err err;
};

bool topology_is(const char *path)
{
	size_t length = strlen(path);
	return length > 4 && !strcasecmp(path + length - 4, ".csv");
}

static const char *layer_name(struct topology *t, const struct npl_csv_row *row)
{
	struct npl_arena *arena = &t->b.graph->arena;
	size_t length;
	const char *text = topology_field(row, 0, &length);
	return length ? npl_arena_strndup(arena, text, length) : npl_arena_printf(arena, "line_%d", row->line);
}

/* Adds the input, the weights and the node of a layer; its result is an output of the network. Weights follow He et al.
 * (ICCV 2015): deviation sqrt(2 / fan-in), seeded by the layer's number, made when they are first used. */
static int add_layer(struct topology *t, const char *name, const char *op, struct npl_attr_list *attrs,
		     const struct npl_shape *input, const struct npl_shape *weights, int64_t fan_in)
{
	struct graph_builder *b = &t->b;
	struct npl_arena *arena = &b->graph->arena;
	char text[192];
	if (!name)
		return npl_no_memory(b->err);
	struct npl_value w = {.dtype = NPL_F32,
			      .shape = *weights,
			      .constant = true,
			      .is_random = true,
			      .producer = -1,
			      .law = {.deviation = (float)sqrt(2.0 / (double)fan_in),
				      .seed = (uint64_t)b->n_nodes + 1,
				      .seeded = true}};
	const char *in_name = npl_arena_printf(arena, "%s.input", name),
		   *w_name = npl_arena_printf(arena, "%s.weight", name);
	if (!in_name || !w_name)
		return npl_no_memory(b->err);
	if (npl_shape_count(weights) < 0)
		return npl_fail(&t->err, NPL_EINPUT, "weights of shape %s are more than there can be",
				npl_shape_text(weights, text, sizeof text));
	in_name = graph_free_name(b, in_name);
	int x = in_name ? graph_append_shaped(b, in_name, NPL_F32, input) : npl_no_memory(b->err);
	if (x < 0)
		return x;
	w.name = graph_free_name(b, w_name);
	int v = w.name ? graph_add_value(b, &w) : npl_no_memory(b->err), y;
	if (v < 0)
		return v;
	int rc = graph_append_node(b, name, op, attrs, 2, (const int[]){x, v}, 1, &y);
	return rc ? rc : graph_append_output(b, y);
}

/* Returns the rows (or columns) of output; *pad is what the last window needs beyond the input. */
static int64_t windows(int64_t input, int64_t filter, int64_t stride, int64_t *pad)
{
	int64_t n = (input - filter + stride - 1) / stride + 1;
	*pad = (n - 1) * stride + filter - input;
	if (*pad < 0)
		*pad = 0;
	return n;
}

static int add_conv(struct topology *t, const struct npl_csv_row *row)
{
	enum { HEIGHT = 1, WIDTH, FILTER_HEIGHT, FILTER_WIDTH, CHANNELS, FILTERS, STRIDE };
	int64_t field[TOPOLOGY_CONV_COLUMNS];
	struct topology_extras extras;
	for (int i = HEIGHT; i <= STRIDE; i++)
		if (topology_number(&t->table, row, i, TOPOLOGY_MAX_DIMENSION, &field[i]))
			return t->err.code;
	for (int i = 0; i < 2; i++)
		if (field[FILTER_HEIGHT + i] > field[HEIGHT + i])
			return npl_fail(&t->err, NPL_EINPUT,
					"column %d (Filter %s) is %lld, expected at most the input's %lld",
					FILTER_HEIGHT + i + 1, i ? "Width" : "Height",
					(long long)field[FILTER_HEIGHT + i], (long long)field[HEIGHT + i]);
	if (topology_extras(&t->table, row, &extras))
		return t->err.code;
	const char *name = layer_name(t, row);
	const int64_t stride_width = extras.stride_width ? extras.stride_width : field[STRIDE];
	/* A name with "DP" marks a depthwise layer: each channel has filters of its own. */
	int64_t groups = name && strstr(name, "DP") ? field[CHANNELS] : 1, depth = field[CHANNELS] / groups;
	int64_t *list = npl_arena_array(&t->b.graph->arena, 6, sizeof *list);
	struct npl_attr *attr = npl_arena_array(&t->b.graph->arena, 3, sizeof *attr);
	if (!list || !attr)
		return npl_no_memory(t->b.err);
	(void)windows(field[HEIGHT], field[FILTER_HEIGHT], field[STRIDE], &list[2]);
	(void)windows(field[WIDTH], field[FILTER_WIDTH], stride_width, &list[3]);
	list[4] = field[STRIDE];
	list[5] = stride_width;
	attr[0] = (struct npl_attr){.name = "pads", .type = NPL_ATTR_INTS, .ints = list, .n = 4};
	attr[1] = (struct npl_attr){.name = "strides", .type = NPL_ATTR_INTS, .ints = list + 4, .n = 2};
	attr[2] = (struct npl_attr){.name = "group", .type = NPL_ATTR_INT, .i = groups};
	return add_layer(t, name, "Conv", &(struct npl_attr_list){.attr = attr, .n = 3},
			 &npl_shape_of(4, t->batch, field[CHANNELS], field[HEIGHT], field[WIDTH]),
			 &npl_shape_of(4, groups * field[FILTERS], depth, field[FILTER_HEIGHT], field[FILTER_WIDTH]),
			 depth * field[FILTER_HEIGHT] * field[FILTER_WIDTH]);
}

static int add_gemm(struct topology *t, const struct npl_csv_row *row)
{
	enum { M = 1, N, K };
	int64_t field[TOPOLOGY_GEMM_COLUMNS];
	struct topology_extras extras;
	for (int i = M; i <= K; i++)
		if (topology_number(&t->table, row, i, TOPOLOGY_MAX_DIMENSION, &field[i]))
			return t->err.code;
	if (topology_extras(&t->table, row, &extras))
		return t->err.code;
	const char *name = layer_name(t, row);
	int rc = 0;
	for (int64_t h = 0; h < (extras.batch ? extras.batch : 1) && !rc; h++) {
		const char *node_name = extras.batch <= 1 || !name
						? name
						: npl_arena_printf(&t->b.graph->arena, "%s.%lld", name, (long long)h);
		rc = add_layer(t, node_name, "MatMul", &(struct npl_attr_list){0},
			       &npl_shape_of(3, t->batch, field[M], field[K]), &npl_shape_of(2, field[K], field[N]),
			       field[K]);
	}
	return rc;
}

static int add_rows(struct topology *t)
{
	for (int i = 0; i < t->table.csv.n_rows; i++) {
		const struct npl_csv_row *row = &t->table.csv.row[i];
		if (topology_is_blank(row))
			continue;
		int rc = topology_check_length(&t->table, row);
		if (!rc)
			rc = t->table.gemm ? add_gemm(t, row) : add_conv(t, row);
		if (rc)
			return npl_prefix(&t->err, "%s:%d", t->table.csv.path, row->line);
	}
	if (!t->b.n_nodes)
		return npl_fail(&t->err, NPL_EINPUT, "%s: there is no layer in it", t->table.csv.path);
	return 0;
}

static int add_warnings(struct topology *t)
{
	struct npl_graph *graph = t->b.graph;
	const char **warning = npl_arena_array(&graph->arena, 2, sizeof *warning);
	if (!warning)
		return npl_no_memory(t->b.err);
	if (t->table.sparse)
		warning[graph->n_warnings++] =
			"the topology gives sparsity ratios, which are ignored: its layers are dense";
	if (t->table.misnamed[0])
		warning[graph->n_warnings++] = npl_arena_strdup(&graph->arena, t->table.misnamed);
	graph->warning = warning;
	return graph->n_warnings && !warning[graph->n_warnings - 1] ? npl_no_memory(t->b.err) : 0;
}

static int hash_file(struct topology *t, const char *path)
{
	struct npl_file file;
	if (npl_file_map(path, MAX_BYTES, &file, &t->err))
		return t->err.code;
	npl_sha256_hex(file.data, file.bytes, t->b.graph->file_sha256);
	npl_file_unmap(&file);
	return 0;
}

int topology_load(const char *path, const struct npl_load_options *options, struct npl_graph **graph,
		  struct npl_err *err)
{
	struct topology t = {0};
	struct npl_graph *loaded_graph = calloc(1, sizeof *loaded_graph);
	*graph = NULL;
	if (!loaded_graph)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	loaded_graph->opset = OPSET;
	loaded_graph->layer_list = true;
	t.table.err = &t.err;
	graph_builder_init(&t.b, loaded_graph, options, GRAPH_LIMITS, &t.err);
	loaded_graph->batch = 1;
	t.batch = t.b.options.batch > 0 ? t.b.options.batch : t.b.options.usual_batch;
	if (t.batch <= 0)
		t.batch = 1;
	loaded_graph->producer_name = "SCALE-Sim topology";
	loaded_graph->name = npl_path_stem(&loaded_graph->arena, path);
	int rc = 0;
	if (t.b.options.n_dims)
		rc = npl_fail(&t.err, NPL_EUSAGE, "%s: a topology has no open dimension '%s'", path,
			      t.b.options.dims->name);
	if (!rc)
		rc = loaded_graph->name ? npl_csv_load_ragged(path, &t.arena, &t.table.csv, &t.err)
					: npl_no_memory(t.b.err);
	if (!rc)
		rc = hash_file(&t, path);
	if (!rc)
		rc = topology_read_names(&t.table);
	if (!rc)
		rc = add_rows(&t);
	if (!rc)
		rc = graph_close_appended(&t.b);
	if (!rc)
		rc = add_warnings(&t);
	graph_builder_free(&t.b);
	npl_arena_free(&t.arena);
	if (rc) {
		npl_graph_free(loaded_graph);
		return npl_fail_as(err, &t.err);
	}
	*graph = loaded_graph;
	return 0;
}
