/* SPDX-License-Identifier: MIT
 *
 * Promises of networks on the cpu device in float32, which go there as layer groups: on random networks of convolutions
 * (1 to 3 dimensions, groups, dilation, every kind of padding), their transposes, poolings, LRN, sums, joins, views and
 * what lies between, every value that is made is the reference's within 2e-4 of the largest, whatever computes
 * convolutions, on 1 and 2 threads; a second run gives the same bits; times are measured for every layer that runs.
 * Also under instruction sets older than the processor's. The declarations of oneDNN's functions are those of its
 * headers, where these are installed. */
#include <math.h>

#include "backends/cpu/layer_group.h"
#include "npulab/build.h"
#include "tests/kit/session_net.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define SAME_VALUE(a, b) _Static_assert((int)(a) == (int)(b), "not as the headers have it")
SAME_VALUE(dnnl_cpu, DNN_CPU);
SAME_VALUE(dnnl_stream_in_order, DNN_IN_ORDER);
SAME_VALUE(dnnl_forward_inference, DNN_INFERENCE);
SAME_VALUE(dnnl_f32, DNN_F32);
SAME_VALUE(dnnl_s32, DNN_S32);
SAME_VALUE(dnnl_s8, DNN_S8);
SAME_VALUE(dnnl_u8, DNN_U8);
SAME_VALUE(dnnl_format_tag_any, DNN_ANY);
SAME_VALUE(dnnl_convolution_direct, DNN_CONV_DIRECT);
SAME_VALUE(dnnl_deconvolution_direct, DNN_DECONV_DIRECT);
SAME_VALUE(dnnl_eltwise_relu, DNN_RELU);
SAME_VALUE(dnnl_eltwise_clip, DNN_CLIP);
SAME_VALUE(dnnl_pooling_max, DNN_POOL_MAX);
SAME_VALUE(dnnl_pooling_avg_include_padding, DNN_POOL_AVERAGE_ALL);
SAME_VALUE(dnnl_pooling_avg_exclude_padding, DNN_POOL_AVERAGE);
SAME_VALUE(dnnl_lrn_across_channels, DNN_LRN_ACROSS);
SAME_VALUE(dnnl_binary_add, DNN_ADD);
SAME_VALUE(dnnl_query_impl_info_str, DNN_QUERY_NAME);
SAME_VALUE(dnnl_query_src_md, DNN_QUERY_X);
SAME_VALUE(dnnl_query_weights_md, DNN_QUERY_W);
SAME_VALUE(dnnl_query_dst_md, DNN_QUERY_Y);
SAME_VALUE(DNNL_ARG_SRC, DNN_ARG_X);
SAME_VALUE(DNNL_ARG_FROM, DNN_ARG_X);
SAME_VALUE(DNNL_ARG_DST, DNN_ARG_Y);
SAME_VALUE(DNNL_ARG_TO, DNN_ARG_Y);
SAME_VALUE(DNNL_ARG_WEIGHTS, DNN_ARG_W);
SAME_VALUE(DNNL_ARG_BIAS, DNN_ARG_BIAS);
SAME_VALUE(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, DNN_ARG_FIRST_ADDEND);
SAME_VALUE(DNNL_MAX_NDIMS, DNN_MAX_RANK);
SAME_VALUE(sizeof(dnnl_exec_arg_t), sizeof(struct dnn_argument));
SAME_VALUE(offsetof(dnnl_exec_arg_t, memory), offsetof(struct dnn_argument, memory));
SAME_VALUE(sizeof(dnnl_alg_kind_t), sizeof(int));
_Static_assert(sizeof(dnnl_memory_desc_t) <= sizeof(struct dnn_md) && _Alignof(dnnl_memory_desc_t) <= 8, "too small");
_Static_assert(sizeof(dnnl_convolution_desc_t) <= sizeof(struct dnn_op_desc) &&
		       sizeof(dnnl_pooling_v2_desc_t) <= sizeof(struct dnn_op_desc) &&
		       sizeof(dnnl_lrn_desc_t) <= sizeof(struct dnn_op_desc),
	       "too small");

#undef DNN_ENGINE
#undef DNN_ENGINE_KIND
#undef DNN_STREAM
#undef DNN_MD
#undef DNN_DIM
#undef DNN_DIMS
#undef DNN_TYPE
#undef DNN_TAG
#undef DNN_MEMORY
#undef DNN_POST_OPS
#undef DNN_CONST_POST_OPS
#undef DNN_ALGORITHM
#undef DNN_ATTR
#undef DNN_CONST_ATTR
#undef DNN_PROP_KIND
#undef DNN_CONV_DESC
#undef DNN_POOL_DESC
#undef DNN_LRN_DESC
#undef DNN_CONST_OP_DESC
#undef DNN_PRIMITIVE_DESC
#undef DNN_CONST_PRIMITIVE_DESC
#undef DNN_PRIMITIVE
#undef DNN_CONST_PRIMITIVE
#undef DNN_QUERY
#undef DNN_ARGUMENT
#define DNN_ENGINE               dnnl_engine_t
#define DNN_ENGINE_KIND          dnnl_engine_kind_t
#define DNN_STREAM               dnnl_stream_t
#define DNN_MD                   dnnl_memory_desc_t
#define DNN_DIM                  dnnl_dim_t
#define DNN_DIMS                 dnnl_dims_t
#define DNN_TYPE                 dnnl_data_type_t
#define DNN_TAG                  dnnl_format_tag_t
#define DNN_MEMORY               dnnl_memory_t
#define DNN_POST_OPS             dnnl_post_ops_t
#define DNN_CONST_POST_OPS       const_dnnl_post_ops_t
#define DNN_ALGORITHM            dnnl_alg_kind_t
#define DNN_ATTR                 dnnl_primitive_attr_t
#define DNN_CONST_ATTR           const_dnnl_primitive_attr_t
#define DNN_PROP_KIND            dnnl_prop_kind_t
#define DNN_CONV_DESC            dnnl_convolution_desc_t
#define DNN_POOL_DESC            dnnl_pooling_v2_desc_t
#define DNN_LRN_DESC             dnnl_lrn_desc_t
#define DNN_CONST_OP_DESC        const_dnnl_op_desc_t
#define DNN_PRIMITIVE_DESC       dnnl_primitive_desc_t
#define DNN_CONST_PRIMITIVE_DESC const_dnnl_primitive_desc_t
#define DNN_PRIMITIVE            dnnl_primitive_t
#define DNN_CONST_PRIMITIVE      const_dnnl_primitive_t
#define DNN_QUERY                dnnl_query_t
#define DNN_ARGUMENT             dnnl_exec_arg_t
#define DNN_FUNCTION(name, arguments)                                                                                  \
	_Static_assert(__builtin_types_compatible_p(__typeof__(dnnl_##name), dnnl_status_t arguments),                 \
		       "dnnl_" #name " is not as the headers have it");
#include "backends/cpu/dnn_functions.def"
#undef DNN_FUNCTION
_Static_assert(__builtin_types_compatible_p(__typeof__(dnnl_memory_desc_get_size), size_t(const DNN_MD *)),
	       "dnnl_memory_desc_get_size is not as the headers have it");
#endif

enum { VALUES = 64 };

/* Builds a network that grows at a random value. */
struct garden {
	struct npl_build *build;
	uint64_t rng;
	int n, value[VALUES];
};

static int64_t pick(struct garden *g, int64_t low, int64_t high)
{
	return test_range(&g->rng, low, high);
}

static int constant(struct garden *g, struct npl_shape shape)
{
	float *data = random_floats(&g->rng, npl_shape_count(&shape));
	struct npl_tensor tensor = npl_tensor_over(NPL_F32, shape, data);
	int value = npl_build_constant(g->build, &tensor, NPL_COPY);
	free(data);
	return value;
}

static struct npl_shape shape_of(const struct garden *g, int value)
{
	struct npl_shape shape;
	struct npl_err err;
	cr_assert_eq(npl_build_shape(g->build, value, NULL, &shape, &err), 0, "%s", err.msg);
	return shape;
}

static void keep(struct garden *g, int value)
{
	cr_assert_geq(value, 0, "%s", npl_build_error(g->build)->msg);
	if (g->n < VALUES)
		g->value[g->n++] = value;
}

/* Draws the pads, strides and dilations of a window over the spatial dimensions of x. */
struct drawn_window {
	int64_t kernel[3], stride[3], dilation[3], pads[6];
	int n;
};

static struct drawn_window draw_window(struct garden *g, const struct npl_shape *x, bool dilated)
{
	struct drawn_window w = {.n = x->rank - 2};
	for (int i = 0; i < w.n; i++) {
		int64_t size = x->dim[2 + i];
		w.kernel[i] = pick(g, 1, size < 4 ? size : 4);
		w.stride[i] = pick(g, 1, 3);
		w.dilation[i] = dilated && (w.kernel[i] - 1) * 2 + 1 <= size ? pick(g, 1, 2) : 1;
		w.pads[i] = pick(g, 0, w.kernel[i] - 1);
		w.pads[w.n + i] = pick(g, 0, w.kernel[i] - 1);
	}
	return w;
}

static int bias_or_none(struct garden *g, int64_t filters)
{
	return pick(g, 0, 1) ? constant(g, npl_shape_of(1, filters)) : NPL_ABSENT;
}

static int grow_conv(struct garden *g, int x, bool transposed)
{
	struct npl_shape shape = shape_of(g, x), weights = shape;
	struct drawn_window w = draw_window(g, &shape, true);
	int64_t channels = shape.dim[1], groups = pick(g, 0, 2) ? 1 : channels;
	int64_t filters = groups * pick(g, 1, groups > 1 ? 2 : 20);
	weights.dim[0] = transposed ? channels : filters;
	weights.dim[1] = (transposed ? filters : channels) / groups;
	for (int i = 0; i < w.n; i++)
		weights.dim[2 + i] = w.kernel[i];
	const int64_t none[6] = {0};
	struct npl_attr attr[] = {
		NPL_INT("group", groups),
		{.name = "strides", .type = NPL_ATTR_INTS, .ints = w.stride, .n = w.n},
		{.name = "dilations", .type = NPL_ATTR_INTS, .ints = w.dilation, .n = w.n},
		{.name = "pads", .type = NPL_ATTR_INTS, .ints = transposed ? none : w.pads, .n = 2 * w.n}};
	const struct npl_attr_list attrs = {.attr = attr, .n = sizeof attr / sizeof *attr};
	return npl_build_op(g->build, transposed ? "ConvTranspose" : "Conv",
			    NPL_IN(x, constant(g, weights), bias_or_none(g, filters)), attrs);
}

static int grow_pool(struct garden *g, int x)
{
	struct npl_shape shape = shape_of(g, x);
	struct drawn_window w = draw_window(g, &shape, false);
	bool average = pick(g, 0, 1);
	return npl_build_op(
		g->build, average ? "AveragePool" : "MaxPool", NPL_IN(x),
		NPL_ATTRS({.name = "kernel_shape", .type = NPL_ATTR_INTS, .ints = w.kernel, .n = w.n},
			  {.name = "strides", .type = NPL_ATTR_INTS, .ints = w.stride, .n = w.n},
			  {.name = "pads", .type = NPL_ATTR_INTS, .ints = w.pads, .n = 2 * w.n},
			  NPL_INT("ceil_mode", pick(g, 0, 1)),
			  NPL_INT(average ? "count_include_pad" : "storage_order", average && pick(g, 0, 1))));
}

/* A value of x's shape (or one that may be joined to it), or x. */
static int partner(const struct garden *g, int x, bool joins)
{
	struct npl_shape shape = shape_of(g, x);
	for (int i = g->n - 1; i >= 0; i--) {
		struct npl_shape other = shape_of(g, g->value[i]);
		if (joins)
			other.dim[1] = shape.dim[1];
		if (g->value[i] != x && npl_shape_equal(&shape, &other))
			return g->value[i];
	}
	return x;
}

/* A residual block's end: a convolution that keeps the shape, added to its own input or to another. */
static int grow_residual(struct garden *g, int x)
{
	struct npl_shape shape = shape_of(g, x), weights = shape;
	weights.dim[0] = weights.dim[1] = shape.dim[1];
	for (int i = 2; i < shape.rank; i++)
		weights.dim[i] = 1;
	int conv = npl_build_op(g->build, "Conv", NPL_IN(x, constant(g, weights), bias_or_none(g, shape.dim[1])),
				NPL_NO_ATTRS);
	int other = partner(g, x, false);
	int sum = pick(g, 0, 1) ? npl_build_op(g->build, "Add", NPL_IN(conv, other), NPL_NO_ATTRS)
				: npl_build_op(g->build, "Add", NPL_IN(other, conv), NPL_NO_ATTRS);
	if (pick(g, 0, 3) == 0)
		keep(g, conv); /* somebody else may read it, too */
	return pick(g, 0, 1) ? npl_build_op(g->build, "Relu", NPL_IN(sum), NPL_NO_ATTRS) : sum;
}

static int grow_view(struct garden *g, int x)
{
	struct npl_shape shape = shape_of(g, x);
	int64_t swapped[NPL_MAX_RANK];
	for (int i = 0; i < shape.rank; i++)
		swapped[i] = shape.dim[i];
	swapped[1] = shape.dim[2];
	swapped[2] = shape.dim[1];
	struct npl_tensor to = npl_tensor_over(NPL_I64, npl_shape_of(1, (int64_t)shape.rank), swapped);
	return npl_build_op(g->build, "Reshape", NPL_IN(x, npl_build_constant(g->build, &to, NPL_COPY)), NPL_NO_ATTRS);
}

static int grow_clip(struct garden *g, int x)
{
	static const float low = 0, high = 6;
	struct npl_tensor least = npl_tensor_over(NPL_F32, (struct npl_shape){0}, &low),
			  most = npl_tensor_over(NPL_F32, (struct npl_shape){0}, &high);
	return npl_build_op(g->build, "Clip",
			    NPL_IN(x, npl_build_constant(g->build, &least, NPL_COPY),
				   npl_build_constant(g->build, &most, NPL_COPY)),
			    NPL_NO_ATTRS);
}

static int grow_one(struct garden *g, int x)
{
	struct npl_shape shape = shape_of(g, x);
	switch (pick(g, 0, 13)) {
	case 0:
	case 1:
	case 2:
		return grow_conv(g, x, false);
	case 3:
		return grow_conv(g, x, true);
	case 4:
	case 5:
		return grow_pool(g, x);
	case 6:
		return grow_residual(g, x);
	case 7:
		return npl_build_op(g->build, "Concat", NPL_IN(x, partner(g, x, true)), NPL_ATTRS(NPL_INT("axis", 1)));
	case 8:
		return npl_build_op(g->build, "Mul", NPL_IN(x, partner(g, x, false)), NPL_NO_ATTRS);
	case 9:
		return shape.rank == 4
			       ? npl_build_op(g->build, "LRN", NPL_IN(x),
					      NPL_ATTRS(NPL_INT("size", pick(g, 1, 5)), NPL_FLOAT("alpha", 0.1f)))
			       : npl_build_op(g->build, "Tanh", NPL_IN(x), NPL_NO_ATTRS);
	case 10:
		return npl_build_op(g->build, pick(g, 0, 1) ? "GlobalAveragePool" : "GlobalMaxPool", NPL_IN(x),
				    NPL_NO_ATTRS);
	case 11:
		return grow_view(g, x);
	case 12:
		return grow_clip(g, x);
	default:
		return npl_build_op(g->build, "Relu", NPL_IN(x), NPL_NO_ATTRS);
	}
}

struct seen {
	const struct npl_graph *graph;
	struct npl_tensor *reference; /* per value */
	uint64_t seed;
	int compared;
};

static int remember(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct seen *seen = context;
	seen->reference[v] = *tensor;
	seen->reference[v].data = NULL;
	cr_assert_eq(npl_tensor_alloc(&seen->reference[v], err), 0);
	memcpy(seen->reference[v].data, tensor->data, npl_tensor_bytes(tensor));
	return 0;
}

static int compare(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct seen *seen = context;
	const float *expected = seen->reference[v].data, *actual = tensor->data;
	int64_t n = npl_tensor_count(tensor);
	float most = 1e-6f;
	(void)err;
	if (tensor->dtype != NPL_F32 || !expected)
		return 0;
	for (int64_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(expected[i]));
	for (int64_t i = 0; i < n; i++)
		cr_assert(fabsf(actual[i] - expected[i]) <= 2e-4f * most,
			  "seed %llu: value '%s' (%s), element %lld of %lld: %g, expected %g",
			  (unsigned long long)seen->seed, seen->graph->value[v].name,
			  seen->graph->value[v].producer < 0
				  ? "input"
				  : npl_op_defs[seen->graph->node[seen->graph->value[v].producer].op].name,
			  (long long)i, (long long)n, (double)actual[i], (double)expected[i]);
	seen->compared++;
	return 0;
}

static struct npl_graph *random_network(uint64_t seed)
{
	struct garden g = {.rng = seed};
	struct npl_err err;
	struct npl_graph *graph;
	cr_assert_eq(npl_build_open("random", &g.build, &err), 0);
	int rank = seed % 4 ? 4 : (int)pick(&g, 3, 5);
	struct npl_shape shape = {.rank = rank, .dim = {pick(&g, 1, 2), pick(&g, 1, 40)}};
	for (int i = 2; i < rank; i++)
		shape.dim[i] = pick(&g, 3, rank == 5 ? 6 : 14);
	keep(&g, npl_build_input(g.build, "x", NPL_F32, shape));
	for (int i = 0, n = (int)pick(&g, 4, 14); i < n; i++) {
		int x = g.value[pick(&g, 0, 2) ? g.n - 1 : (int)pick(&g, 0, g.n - 1)];
		struct npl_shape size = shape_of(&g, x);
		if (npl_shape_count(&size) < 40000)
			keep(&g, grow_one(&g, x));
	}
	int flat = npl_build_op(g.build, "Flatten", NPL_IN(g.value[g.n - 1]), NPL_NO_ATTRS);
	struct npl_shape rows = shape_of(&g, flat);
	int dense = npl_build_op(g.build, "MatMul",
				 NPL_IN(flat, constant(&g, npl_shape_of(2, rows.dim[1], (int64_t)5))), NPL_NO_ATTRS);
	int middle = g.value[g.n / 2];
	int rc = middle == g.value[0] ? npl_build_finish(g.build, NPL_IN(dense), &graph, &err)
				      : npl_build_finish(g.build, NPL_IN(dense, middle), &graph, &err);
	cr_assert_eq(rc, 0, "seed %llu: %s", (unsigned long long)seed, err.msg);
	return graph;
}

static void check_times(const struct npl_graph *graph, const struct npl_run *run, uint64_t seed)
{
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		if (row->role != NPL_RAN)
			continue;
		cr_assert_str_eq(row->ran_on, "cpu", "seed %llu: %s: %s", (unsigned long long)seed, graph->node[i].name,
				 row->note);
		cr_assert(row->result.seconds > 0 && row->result.seconds_origin == NPL_TIME_MEASURED);
	}
}

static void check_network(uint64_t seed, struct npl_device *const *device, int n_devices)
{
	struct npl_graph *graph = random_network(seed);
	struct npl_err err;
	struct seen seen = {.graph = graph, .seed = seed};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = graph->value[graph->input[0]].shape}, out[2] = {{0}},
			  again[2] = {{0}};
	uint64_t rng = seed + 1;
	x.data = random_floats(&rng, npl_tensor_count(&x));
	seen.reference = calloc((size_t)graph->n_values, sizeof *seen.reference);
	const struct npl_value_observer remembers = {remember, &seen}, compares = {compare, &seen};
	cr_assert_eq(npl_evaluate_observed(graph, &x, out, NULL, &remembers, &err), 0, "%s", err.msg);
	for (int d = 0; d < n_devices; d++) {
		struct npl_session *session;
		struct npl_run run;
		int before = seen.compared;
		for (int i = 0; i < graph->n_outputs; i++)
			npl_tensor_free(&out[i]);
		cr_assert_eq(npl_session_open(graph,
					      &(struct npl_session_options){.n_devices = 1, .device = &device[d]},
					      &session, &err),
			     0, "seed %llu: %s", (unsigned long long)seed, err.msg);
		npl_session_observe(session, &compares);
		cr_assert_eq(npl_session_run(session, &x, out, &run, &err), 0, "seed %llu: %s",
			     (unsigned long long)seed, err.msg);
		check_times(graph, &run, seed);
		npl_run_free(&run);
		npl_session_observe(session, NULL);
		cr_assert_eq(npl_session_run(session, &x, again, &run, &err), 0, "%s", err.msg);
		for (int i = 0; i < graph->n_outputs; i++) {
			cr_assert_eq(memcmp(out[i].data, again[i].data, npl_tensor_bytes(&out[i])), 0,
				     "seed %llu: a second run gave other bits", (unsigned long long)seed);
			npl_tensor_free(&again[i]);
		}
		npl_run_free(&run);
		npl_session_close(session);
		cr_assert_gt(seen.compared, before);
	}
	for (int i = 0; i < graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	for (int v = 0; v < graph->n_values; v++)
		npl_tensor_free(&seen.reference[v]);
	free(seen.reference);
	free(x.data);
	npl_graph_free(graph);
}

static void check_networks(uint64_t first, int n, bool blas)
{
	struct npl_device *device[3];
	device[0] = open_device_set("cpu", 1, (const char *[]){"threads=1"});
	device[1] = open_device_set("cpu", 1, (const char *[]){"threads=2"});
	if (blas)
		device[2] = open_device_set("cpu", 1, (const char *[]){"convolution=blas"});
	for (int i = 0; i < n; i++)
		check_network(first + (uint64_t)i, device, blas ? 3 : 2);
	for (int d = 0; d < (blas ? 3 : 2); d++)
		npl_device_close(device[d]);
}

Test(cpu_layer_group, layer_groups_of_random_networks_equal_the_reference)
{
	check_networks(1, 150, true);
}

/* The sequence is over before any other test of this process could have loaded the library: each runs in its own. */
Test(cpu_layer_group, random_networks_with_avx2)
{
	setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
	setenv("OPENBLAS_CORETYPE", "Prescott", 1);
	check_networks(1001, 60, false);
}

Test(cpu_layer_group, random_networks_with_sse41)
{
	setenv("DNNL_MAX_CPU_ISA", "SSE41", 1);
	check_networks(2001, 40, false);
}

/* A sum at the end of a residual block is done in the pass of the convolution before it, where oneDNN computes that. */
Test(cpu_layer_group, residual_blocks_are_one_pass)
{
	struct npl_build *build;
	struct npl_graph *graph;
	struct npl_session *session;
	struct npl_run run;
	struct npl_err err;
	struct npl_device *device = open_device("cpu");
	struct garden g = {.rng = 7};
	if (!strstr(npl_device_get_info(device)->detail, "oneDNN"))
		cr_skip("there is no oneDNN");
	cr_assert_eq(npl_build_open("block", &build, &err), 0);
	g.build = build;
	int x = npl_build_input(build, "x", NPL_F32, npl_shape_of(4, (int64_t)1, (int64_t)16, (int64_t)6, (int64_t)6));
	int conv = npl_build_op(
		build, "Conv",
		NPL_IN(x, constant(&g, npl_shape_of(4, (int64_t)16, (int64_t)16, (int64_t)1, (int64_t)1))),
		NPL_NO_ATTRS);
	int sum = npl_build_op(build, "Add", NPL_IN(conv, x), NPL_NO_ATTRS);
	int y = npl_build_op(build, "Relu", NPL_IN(sum), NPL_NO_ATTRS);
	cr_assert_eq(npl_build_finish(build, NPL_IN(y), &graph, &err), 0, "%s", err.msg);
	struct npl_tensor in = {.dtype = NPL_F32, .shape = graph->value[graph->input[0]].shape}, out = {0};
	in.data = random_floats(&g.rng, npl_tensor_count(&in));
	cr_assert_eq(npl_session_open(graph, &(struct npl_session_options){.n_devices = 1, .device = &device}, &session,
				      &err),
		     0, "%s", err.msg);
	cr_assert_eq(npl_session_run(session, &in, &out, &run, &err), 0, "%s", err.msg);
	cr_assert_eq(run.layer[0].role, NPL_RAN);
	for (int i = 1; i < 3; i++) {
		cr_assert_eq(run.layer[i].role, NPL_FUSED);
		cr_assert(strstr(run.layer[i].note, graph->node[0].name), "%s", run.layer[i].note);
	}
	cr_assert_eq(strlen(run.layer[2].output_sha256), 64);
	npl_run_free(&run);
	npl_session_close(session);
	npl_tensor_free(&out);
	free(in.data);
	npl_graph_free(graph);
	npl_device_close(device);
}
