/* SPDX-License-Identifier: MIT
 *
 * What is followed as samples is samples: in random networks of nearly every operator, with inputs of several ranks that hold a batch
 * in dimension 0, another sample in one place changes no value of the others, and samples that change places take theirs with them. Whatever follow.h places is held against the values that
 * the reference kernels make. That it finds those networks that mix nothing is asked of those that are known. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "graph_build.h"
#include "npulab/attributes.h"
#include "npulab/build.h"
#include "npulab/model.h"
#include "npulab/session.h"
#include "support.h"

#define BATCH   3
#define VALUES  40
#define NODES   16
#define SAMPLES 2 /* inputs that hold them */

struct net {
	struct graph_builder b;
	struct npl_graph *graph;
	struct npl_err err;
	uint64_t rng;
	int value[VALUES], n;
};

static int64_t draw(struct net *net, int64_t low, int64_t high)
{
	return test_range(&net->rng, low, high);
}

static const struct npl_shape *shape_of(const struct net *net, int i)
{
	return &net->b.value[net->value[i]].shape;
}

static void open_net(struct net *net, uint64_t seed)
{
	*net = (struct net){.rng = seed, .graph = calloc(1, sizeof *net->graph)};
	net->graph->opset = 17;
	net->graph->name = "net";
	graph_builder_init(&net->b, net->graph, NULL, GRAPH_LIMITS, &net->err);
}

static void add_input(struct net *net, const char *name, struct npl_shape shape)
{
	net->value[net->n++] = graph_append_shaped(&net->b, name, NPL_F32, &shape);
}

static int constant(struct net *net, enum npl_dtype dtype, struct npl_shape shape, const void *data)
{
	struct npl_tensor t = {.dtype = dtype, .shape = shape};
	t.name = graph_free_name(&net->b, "c");
	const size_t bytes = npl_tensor_bytes(&t);
	t.data = npl_arena_alloc(&net->graph->arena, bytes + 8);
	memcpy(t.data, data, bytes);
	return graph_add_constant(&net->b, &t) ? -2 : net->b.n_values - 1;
}

static int floats(struct net *net, struct npl_shape shape)
{
	float data[4096];
	const int64_t n = npl_shape_count(&shape);
	const bool alike = draw(net, 0, 2) == 0; /* every element the same, as a state to begin with has it */
	for (int64_t i = 0; i < n && i < 4096; i++)
		data[i] = alike ? 0.25f : (float)draw(net, -8, 8) / 4;
	return n <= 4096 ? constant(net, NPL_F32, shape, data) : -2;
}

static int integers(struct net *net, int n, const int64_t *data)
{
	return constant(net, NPL_I64, npl_shape_of(1, n), data);
}

/* A node of the operator; refused: nothing happened. */
static bool node(struct net *net, const char *op, struct npl_build_in in, struct npl_attr_list attrs)
{
	static int named;
	char name[32];
	int out[1];
	snprintf(name, sizeof name, "n%d", named++);
	for (int k = 0; k < in.n; k++)
		if (in.value[k] < 0 && in.value[k] != -1)
			return false;
	net->err = (struct npl_err){0};
	char *kept = npl_arena_strdup(&net->graph->arena, name);
	struct npl_attr *copy = npl_arena_array(&net->graph->arena, (size_t)attrs.n + 1, sizeof *copy);
	if (attrs.n)
		memcpy(copy, attrs.attr, (size_t)attrs.n * sizeof *copy);
	for (int i = 0; i < attrs.n; i++)
		if (copy[i].type == NPL_ATTR_INTS) {
			int64_t *ints = npl_arena_array(&net->graph->arena, (size_t)copy[i].n + 1, sizeof *ints);
			memcpy(ints, copy[i].ints, (size_t)copy[i].n * sizeof *ints);
			copy[i].ints = ints;
		}
	const struct npl_attr_list list = {.attr = copy, .n = attrs.n};
	if (graph_append_node(&net->b, kept, op, &list, in.n, in.value, 1, out) ||
	    npl_shape_count(&net->b.value[out[0]].shape) > 4096 || net->n == VALUES)
		return false;
	net->value[net->n++] = out[0];
	return true;
}

/* Of those that pick, normalise and count. */
/* NOLINTNEXTLINE(readability-function-size): one case for each operator */
static void grow_picking(struct net *net, int x, struct npl_shape s, int y, int64_t axis, int64_t other)
{
	static const char *const reduced[] = {"ArgMax", "ArgMin"};
	struct npl_shape like = s;
	const int r = s.rank;
	int64_t list[NPL_MAX_RANK + 1];
	switch (draw(net, 0, 15)) {
	case 0:
		node(net, "CumSum", NPL_IN(x, constant(net, NPL_I64, (struct npl_shape){.rank = 0}, &axis)),
		     NPL_NO_ATTRS);
		return;
	case 1:
		node(net, reduced[draw(net, 0, 1)], NPL_IN(x),
		     NPL_ATTRS(NPL_INT("axis", axis), NPL_INT("keepdims", draw(net, 0, 1))));
		if (net->n < VALUES) /* as floats again */
			node(net, "Cast", NPL_IN(net->value[net->n - 1]), NPL_ATTRS(NPL_INT("to", 1)));
		return;
	case 2:
		node(net, "TopK", NPL_IN(x, integers(net, 1, &(int64_t){1})), NPL_ATTRS(NPL_INT("axis", axis)));
		return;
	case 3: {
		struct npl_shape tail = {.rank = r - (int)axis};
		memcpy(tail.dim, s.dim + axis, (size_t)tail.rank * sizeof *tail.dim);
		node(net, "LayerNormalization", NPL_IN(x, floats(net, draw(net, 0, 3) ? tail : s)),
		     NPL_ATTRS(NPL_INT("axis", axis)));
		return;
	}
	case 4: {
		const struct npl_shape c = npl_shape_of(1, r > 1 ? s.dim[1] : 1);
		node(net, "InstanceNormalization", NPL_IN(x, floats(net, c), floats(net, c)), NPL_NO_ATTRS);
		return;
	}
	case 5: {
		const struct npl_shape c = npl_shape_of(1, r > 1 ? s.dim[1] : 1);
		const int scale = floats(net, c);
		node(net, "BatchNormalization", NPL_IN(x, scale, scale, floats(net, c), scale), NPL_NO_ATTRS);
		return;
	}
	case 6:
		for (int d = 0; d < r; d++)
			list[d] = d == axis ? 1 : s.dim[d];
		list[r] = 0;
		node(net, "Expand", NPL_IN(x, integers(net, r, list)), NPL_NO_ATTRS);
		return;
	case 7:
		for (int d = r; d > 0; d--)
			list[d] = s.dim[d - 1];
		list[0] = 2;
		if (r < NPL_MAX_RANK)
			node(net, "Expand", NPL_IN(x, integers(net, r + 1, list)), NPL_NO_ATTRS);
		return;
	case 8:
		node(net, "Trilu", NPL_IN(x), NPL_NO_ATTRS);
		return;
	case 9:
		node(net, "Unsqueeze", NPL_IN(x, integers(net, 1, &axis)), NPL_NO_ATTRS);
		return;
	case 10:
		like.dim[axis] = 2;
		if (npl_shape_count(&like) <= 512) {
			int64_t index[512];
			const bool alike = draw(net, 0, 1);
			for (int64_t k = 0, n = npl_shape_count(&like); k < n; k++)
				index[k] = alike ? 0 : draw(net, 0, s.dim[axis] - 1);
			node(net, "GatherElements", NPL_IN(x, constant(net, NPL_I64, like, index)),
			     NPL_ATTRS(NPL_INT("axis", axis)));
		}
		return;
	case 11:
		node(net, "Where",
		     NPL_IN(constant(net, NPL_BOOL, npl_shape_of(1, s.dim[r - 1]),
				     (const char[4096]){1, 0, 0, 1, 0, 1}),
			    x, draw(net, 0, 1) ? y : floats(net, npl_shape_of(1, 1))),
		     NPL_NO_ATTRS);
		return;
	case 12: {
		const float zoom[NPL_MAX_RANK] = {
			axis == 0 ? 2 : 1, axis == 1 ? 2 : 1, axis == 2 ? 2 : 1, 1, 1, 1, 1, 1};
		node(net, "Resize", NPL_IN(x, -1, constant(net, NPL_F32, npl_shape_of(1, r), zoom)), NPL_NO_ATTRS);
		return;
	}
	case 13:
		if (r == 3 && axis < 2) {
			int64_t steps[4096];
			const int64_t most = s.dim[axis];
			const bool alike = draw(net, 0, 1);
			for (int64_t k = 0; k < s.dim[1 - axis]; k++)
				steps[k] = alike ? most : draw(net, 1, most);
			node(net, "ReverseSequence", NPL_IN(x, integers(net, (int)s.dim[1 - axis], steps)),
			     NPL_ATTRS(NPL_INT("time_axis", axis), NPL_INT("batch_axis", 1 - axis)));
		}
		return;
	case 14:
		node(net, "Gather", NPL_IN(floats(net, npl_shape_of(2, 9, 2)), x),
		     NPL_ATTRS(NPL_INT("axis", other % 2)));
		return;
	default:
		node(net, "Clip", NPL_IN(x, floats(net, (struct npl_shape){.rank = 0})), NPL_NO_ATTRS);
		return;
	}
}

/* One more operator over the values that there are, its attributes drawn for their shapes. */
/* NOLINTNEXTLINE(readability-function-size): one case for each operator */
static void grow(struct net *net)
{
	static const char *const unary[] = {"Relu", "Sigmoid", "Neg", "HardSwish", "Identity", "Sin"};
	static const char *const binary[] = {"Add", "Mul", "Sub", "Max", "Mean", "PRelu"};
	static const char *const axes[] = {"ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"};
	static const char *const along[] = {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"};
	static const char *const images[] = {"AveragePool", "MaxPool", "LpPool"};
	static const char *const whole[] = {"GlobalAveragePool", "GlobalMaxPool", "LRN"};
	const int i = (int)draw(net, 0, net->n - 1), j = (int)draw(net, 0, net->n - 1);
	const struct npl_shape s = *shape_of(net, i), t = *shape_of(net, j);
	const int x = net->value[i], y = net->value[j], r = s.rank;
	const int64_t axis = r ? draw(net, 0, r - 1) : 0, other = r ? draw(net, 0, r - 1) : 0;
	int64_t perm[NPL_MAX_RANK], list[2 * NPL_MAX_RANK] = {0};
	struct npl_shape like = s;
	if (!r || !npl_shape_count(&s) || !npl_shape_count(&t))
		return;
	if (draw(net, 0, 3) == 0) {
		grow_picking(net, x, s, y, axis, other);
		return;
	}
	switch (draw(net, 0, 27)) {
	case 0:
		node(net, unary[draw(net, 0, 5)], NPL_IN(x), NPL_NO_ATTRS);
		return;
	case 1:
	case 2:
		node(net, binary[draw(net, 0, 5)], NPL_IN(x, y), NPL_NO_ATTRS);
		return;
	case 3:
		if (draw(net, 0, 1))
			like.dim[axis] = 1;
		like.dim[other] = draw(net, 0, 1) ? 1 : like.dim[other];
		node(net, binary[draw(net, 0, 5)], NPL_IN(x, floats(net, like)), NPL_NO_ATTRS);
		return;
	case 4:
	case 5:
		for (int d = 0; d < r; d++)
			perm[d] = d;
		perm[axis] = other;
		perm[other] = axis;
		node(net, "Transpose", NPL_IN(x),
		     NPL_ATTRS({.name = "perm", .type = NPL_ATTR_INTS, .ints = perm, .n = r}));
		return;
	case 6: /* joins two neighbours */
	case 7:
		if (r < 2 || axis == r - 1)
			return;
		for (int d = 0, n = 0; d < r; d++, n++) {
			list[n] = d == axis ? s.dim[d] * s.dim[d + 1] : s.dim[d];
			d += d == axis;
		}
		node(net, "Reshape", NPL_IN(x, integers(net, r - 1, list)), NPL_NO_ATTRS);
		return;
	case 8: { /* parts one in two */
		const int64_t part = draw(net, 2, 4);
		if (r == NPL_MAX_RANK || s.dim[axis] % part)
			return;
		for (int d = 0, n = 0; d < r; d++) {
			list[n++] = d == axis ? part : s.dim[d];
			if (d == axis)
				list[n++] = s.dim[d] / part;
		}
		node(net, "Reshape", NPL_IN(x, integers(net, r + 1, list)), NPL_NO_ATTRS);
		return;
	}
	case 9:
		node(net, axes[draw(net, 0, 3)], NPL_IN(x),
		     NPL_ATTRS(NPL_INTS("axes", axis), NPL_INT("keepdims", draw(net, 0, 1))));
		return;
	case 10:
		node(net, along[draw(net, 0, 3)], NPL_IN(x), NPL_ATTRS(NPL_INT("axis", axis)));
		return;
	case 11:
		if (r == 3 && draw(net, 0, 1))
			node(net, "MatMul", NPL_IN(x, floats(net, npl_shape_of(3, s.dim[0], s.dim[2], 2))),
			     NPL_NO_ATTRS);
		else
			node(net, "MatMul", NPL_IN(x, floats(net, npl_shape_of(2, s.dim[r - 1], draw(net, 1, 4)))),
			     NPL_NO_ATTRS);
		return;
	case 12:
	case 13:
		node(net, "MatMul", NPL_IN(x, y), NPL_NO_ATTRS);
		return;
	case 14:
		node(net, "MatMul",
		     NPL_IN(floats(net, npl_shape_of(2, draw(net, 1, 4), r > 1 ? s.dim[r - 2] : s.dim[0])), x),
		     NPL_NO_ATTRS);
		return;
	case 15:
		if (r == 2)
			node(net, "Gemm",
			     NPL_IN(x, floats(net, npl_shape_of(2, s.dim[1], 3)),
				    floats(net, npl_shape_of(2, draw(net, 0, 1) ? 1 : s.dim[0], 3))),
			     NPL_NO_ATTRS);
		return;
	case 16:
		node(net, "Concat", NPL_IN(x, y), NPL_ATTRS(NPL_INT("axis", axis)));
		return;
	case 17:
		like.dim[axis] = draw(net, 1, 2);
		node(net, "Concat", NPL_IN(x, floats(net, like)), NPL_ATTRS(NPL_INT("axis", axis)));
		return;
	case 18: {
		const int64_t first = draw(net, 0, s.dim[axis] - 1), end = draw(net, first, s.dim[axis]),
			      step = draw(net, 0, 3) ? 1 : -1;
		node(net, "Slice",
		     NPL_IN(x, integers(net, 1, step > 0 ? &first : &end), integers(net, 1, step > 0 ? &end : &first),
			    integers(net, 1, &axis), integers(net, 1, &step)),
		     NPL_NO_ATTRS);
		return;
	}
	case 19:
		list[axis] = draw(net, 0, 1);
		list[r + other] = draw(net, 0, 1);
		node(net, "Pad", NPL_IN(x, integers(net, 2 * r, list)), NPL_NO_ATTRS);
		return;
	case 20: {
		const int64_t rows[] = {draw(net, 0, s.dim[axis] - 1), draw(net, 0, s.dim[axis] - 1)};
		node(net, "Gather", NPL_IN(x, integers(net, 2, rows)), NPL_ATTRS(NPL_INT("axis", axis)));
		return;
	}
	case 21:
		for (int d = 0; d < r; d++)
			list[d] = 1;
		list[axis] = draw(net, 1, 2);
		node(net, "Tile", NPL_IN(x, integers(net, r, list)), NPL_NO_ATTRS);
		return;
	case 22:
		if (r >= 3)
			node(net, images[draw(net, 0, 2)], NPL_IN(x),
			     NPL_ATTRS({.name = "kernel_shape",
					.type = NPL_ATTR_INTS,
					.ints = (const int64_t[]){1, 1, 1, 1},
					.n = r - 2}));
		return;
	case 23:
		if (r >= 3)
			node(net, whole[draw(net, 0, 2)], NPL_IN(x), NPL_NO_ATTRS);
		return;
	case 24:
		if (r == 3)
			node(net, "Conv", NPL_IN(x, floats(net, npl_shape_of(3, 2, s.dim[1], 1))), NPL_NO_ATTRS);
		return;
	case 25:
		node(net, "MeanVarianceNormalization", NPL_IN(x),
		     NPL_ATTRS(NPL_INTS("axes", axis, axis == other ? (axis + 1) % r : other)));
		return;
	case 26:
		if (r == 3)
			node(net, "GRU",
			     NPL_IN(x, floats(net, npl_shape_of(3, 1, 6, s.dim[2])),
				    floats(net, npl_shape_of(3, 1, 6, 2)), -1, -1,
				    draw(net, 0, 1) ? floats(net, npl_shape_of(3, 1, s.dim[1], 2)) : -1),
			     NPL_ATTRS(NPL_INT("hidden_size", 2)));
		return;
	default:
		if (r == 3 && t.rank == 3)
			node(net, "Einsum", NPL_IN(x, y),
			     NPL_ATTRS(NPL_STRING("equation", draw(net, 0, 1) ? "abc,adc->abd" : "abc,dbc->bad")));
		return;
	}
}

/* Every value of a run. */
struct kept {
	const struct net *net;
	struct npl_tensor *value;
};

static int keep(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct kept *kept = context;
	kept->value[v] = *tensor;
	kept->value[v].owned = false;
	if (npl_tensor_alloc(&kept->value[v], err))
		return err->code;
	memcpy(kept->value[v].data, tensor->data, npl_tensor_bytes(tensor));
	return 0;
}

static void run(struct net *net, struct npl_tensor *in, struct npl_tensor *values)
{
	struct npl_tensor *out = calloc((size_t)net->graph->n_outputs + 1, sizeof *out);
	struct kept kept = {net, values};
	const struct npl_value_watcher watcher = {keep, &kept};
	cr_assert_eq(npl_evaluate_watched(net->graph, in, out, NULL, &watcher, &net->err), 0, "%s", net->err.msg);
	for (int i = 0; i < net->graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	free(out);
}

/* Elements that differ between two runs, but for those of sample `changed`. In the second run all samples stood `turned` places on. */
static int64_t differing(const struct follow *f, int v, const struct npl_tensor *a, const struct npl_tensor *b,
			 int changed, int turned)
{
	const int64_t distance = f->distance[v];
	const size_t size = npl_dtype_size(a->dtype);
	int64_t found = 0;
	for (int64_t i = 0, n = npl_tensor_count(a); i < n; i++) {
		const int64_t sample = distance ? i / distance % BATCH : -1;
		const int64_t to = distance ? i + ((sample + turned) % BATCH - sample) * distance : i;
		if (sample < 0 || sample != changed)
			found += memcmp((const char *)a->data + (size_t)i * size,
					(const char *)b->data + (size_t)to * size, size) != 0;
	}
	return found;
}

static void free_values(struct net *net, struct npl_tensor *values)
{
	for (int v = 0; v < net->graph->n_values; v++)
		npl_tensor_free(&values[v]);
	free(values);
}

/* Every sample takes the next one's place. */
static void turn(struct npl_tensor *t)
{
	const size_t bytes = npl_tensor_bytes(t) / BATCH;
	char *data = t->data, last[4096];
	cr_assert_leq(bytes, sizeof last);
	memcpy(last, data + (BATCH - 1) * bytes, bytes);
	memmove(data + bytes, data, (BATCH - 1) * bytes);
	memcpy(data, last, bytes);
}

enum place { KNOWN, MIXED, BEHIND };

/* Follows the node, unless it reads what is mixed already: its distance is -1. */
static enum place place_of(struct follow *f, const struct npl_node *node)
{
	const char *why;
	bool fixed = true, behind = false;
	for (int k = 0; k < node->n_in; k++) {
		fixed = fixed && (node->in[k] < 0 || !f->distance[node->in[k]]);
		behind = behind || (node->in[k] >= 0 && f->distance[node->in[k]] < 0);
	}
	const bool known = !behind && (fixed || follow_node(f, node, &why));
	for (int k = 0; k < node->n_out && !known; k++)
		if (node->out[k] >= 0)
			f->distance[node->out[k]] = -1;
	return known ? KNOWN : behind ? BEHIND : MIXED;
}

static void check_net(struct net *net, uint64_t seed, int *followed, int *mixed)
{
	struct npl_graph *graph = net->graph;
	struct follow f = {.graph = graph, .distance = calloc((size_t)graph->n_values + 1, sizeof *f.distance)};
	struct npl_tensor in[SAMPLES + 1] = {{0}}, *a = calloc((size_t)graph->n_values + 1, sizeof *a),
				       *b = calloc((size_t)graph->n_values + 1, sizeof *b),
				       *c = calloc((size_t)graph->n_values + 1, sizeof *c);
	const int changed = (int)draw(net, 0, BATCH - 1);
	for (int i = 0; i < graph->n_inputs; i++)
		f.distance[graph->input[i]] = npl_shape_count(&graph->value[graph->input[i]].shape) / BATCH;
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_value *value = &graph->value[graph->input[i]];
		in[i] = (struct npl_tensor){.dtype = value->dtype, .shape = value->shape};
		cr_assert_eq(npl_tensor_alloc(&in[i], &net->err), 0);
		for (int64_t k = 0; k < npl_tensor_count(&in[i]); k++)
			((float *)in[i].data)[k] = (float)draw(net, -64, 64) / 16;
	}
	run(net, in, a);
	for (int i = 0; i < graph->n_inputs; i++)
		turn(&in[i]);
	run(net, in, c);
	for (int i = 0; i < graph->n_inputs; i++)
		for (int k = 1; k < BATCH; k++)
			turn(&in[i]); /* once around */
	for (int i = 0; i < graph->n_inputs; i++)
		for (int64_t k = 0, n = npl_tensor_count(&in[i]) / BATCH; k < n; k++)
			((float *)in[i].data)[changed * n + k] += (float)draw(net, 1, 64) / 16;
	run(net, in, b);
	for (int k = 0; k < graph->n_nodes; k++) {
		const int v = graph->node[k].out[0];
		const enum place place = place_of(&f, &graph->node[k]);
		*mixed += place == MIXED;
		if (place != KNOWN)
			continue;
		*followed += 1;
		cr_assert_eq(differing(&f, v, &a[v], &c[v], -1, 1), 0, "seed %llu: places count in '%s' (%s)",
			     (unsigned long long)seed, graph->node[k].name, npl_op_defs[graph->node[k].op].name);
		cr_assert_eq(differing(&f, v, &a[v], &b[v], changed, 0), 0,
			     "seed %llu: sample %d reaches others in '%s' (%s)", (unsigned long long)seed, changed,
			     graph->node[k].name, npl_op_defs[graph->node[k].op].name);
	}
	for (int i = 0; i < graph->n_inputs; i++)
		npl_tensor_free(&in[i]);
	free_values(net, a);
	free_values(net, b);
	free_values(net, c);
	free(f.distance);
}

Test(follow, samples_stay_apart)
{
	int followed = 0, mixed = 0, nets = 0;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct net net;
		open_net(&net, seed * 7919);
		add_input(&net, "x", npl_shape_of(3, BATCH, draw(&net, 1, 4), draw(&net, 1, 4)));
		if (draw(&net, 0, 1))
			add_input(&net, "y",
				  npl_shape_of((int)draw(&net, 1, 3), BATCH, shape_of(&net, 0)->dim[1],
					       draw(&net, 1, 4)));
		const int inputs = net.n;
		for (int k = 0; k < NODES; k++)
			grow(&net);
		bool ready = net.n > inputs;
		for (int i = inputs; i < net.n && ready; i++)
			ready = graph_append_output(&net.b, net.value[i]) == 0;
		net.err = (struct npl_err){0};
		net.b.options.no_fold = true;
		if (ready) {
			cr_assert_eq(graph_close_appended(&net.b), 0, "seed %llu: %s", (unsigned long long)seed,
				     net.err.msg);
			check_net(&net, seed, &followed, &mixed);
			nets++;
		}
		graph_builder_free(&net.b);
		npl_graph_free(net.graph);
	}
	cr_assert(nets > 1900 && followed > 10000 && mixed > 3000, "%d networks, %d values followed, %d mixed", nets,
		  followed, mixed);
}

/* Nets that are known to keep samples apart are cut: all that ship. */
Test(follow, shipped_networks_are_cut)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const char *const *names;
	int n;
	cr_assert_eq(npl_model_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_model_files files;
		const struct npl_load_options options = {.batch = BATCH};
		struct npl_graph *graph;
		cr_assert_eq(npl_model_find(names[i], &arena, &files, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_graph_load(files.path, &options, &graph, &err), 0, "%s", err.msg);
		struct follow_result result = {
			.rows = npl_arena_array(&graph->arena, (size_t)graph->n_outputs + 1, sizeof *result.rows)};
		cr_assert_eq(follow_samples(graph, NULL, &result, &err), 0, "%s", err.msg);
		cr_expect(!result.mixed_by[0], "%s: %s", names[i], result.mixed_by);
		for (int k = 0; k < graph->n_outputs; k++)
			cr_expect(result.rows[k] >= 1, "%s: %lld rows", names[i], (long long)result.rows[k]);
		npl_graph_free(graph);
	}
	npl_arena_free(&arena);
}
