/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of networks built in C: they are what the same network in a file is, errors stay until the end
 * and name what was wrong, names are kept, and nothing of the caller's is needed but what was borrowed. */
#include <math.h>

#include "frontend/graph/build.h"
#include "tests/kit/api_net.h"
#include "tests/kit/onnx_writer.h"

static struct npl_build *open_build(void)
{
	struct npl_build *b;
	struct npl_err err;
	cr_assert_eq(npl_build_open("net", &b, &err), 0, "%s", err.msg);
	return b;
}

/* Finishing must fail, with this code and this in its sentence. */
static void refused(struct npl_build *b, int output, int code, const char *expected)
{
	struct npl_graph *graph;
	struct npl_err err = {0};
	cr_assert_eq(npl_build_finish(b, NPL_IN(output), &graph, &err), code, "%s: %s", expected, err.msg);
	cr_assert(strstr(err.msg, expected), "expected '%s' in: %s", expected, err.msg);
	cr_assert_null(graph);
}

/* The file and the calls: the same nodes after folding, the same constants, the same bits. */
Test(api_build, same_as_a_file)
{
	uint64_t rng = 11;
	struct npl_tensor w = api_random(&rng, npl_shape_of(4, 4, 3, 3, 3)),
			  x = api_random(&rng, npl_shape_of(4, 2, 3, 9, 9));
	struct npl_tensor four[4];
	const char *const part[] = {"scale", "shift", "mean", "variance"};
	struct onnx_writer file = {0};
	struct npl_build *b = open_build();
	struct npl_graph *read, *built;
	struct npl_err err;
	onnx_put_input(&file, "x", ONNX_FLOAT, 4, x.shape.dim);
	onnx_put_floats(&file, "w", 4, w.shape.dim, w.data);
	int in[5] = {npl_build_op(
		b, "Conv", NPL_IN(npl_build_input(b, "x", NPL_F32, x.shape), npl_build_constant(b, &w, NPL_COPY)),
		NPL_ATTRS(NPL_INTS("strides", 2, 2), NPL_INTS("pads", 1, 0, 2, 1)))};
	for (int i = 0; i < 4; i++) {
		four[i] = api_random(&rng, npl_shape_of(1, 4));
		if (i == 3)
			for (int k = 0; k < 4; k++)
				((float *)four[i].data)[k] += 1.5f;
		onnx_put_floats(&file, part[i], 1, four[i].shape.dim, four[i].data);
		in[i + 1] = npl_build_constant(b, &four[i], NPL_BORROW);
	}
	struct onnx_writer attrs = {0};
	onnx_put_attr_ints(&attrs, "strides", 2, (const int64_t[]){2, 2});
	onnx_put_attr_ints(&attrs, "pads", 4, (const int64_t[]){1, 0, 2, 1});
	onnx_put_node(&file, "Conv", "conv", "x w", "y", &attrs);
	onnx_put_node(&file, "BatchNormalization", "norm", "y scale shift mean variance", "z", NULL);
	onnx_put_output(&file, "z");
	struct onnx_writer model = onnx_model(&file, 17);
	int rc = npl_graph_load_memory("net.onnx", model.data, model.bytes, NULL, GRAPH_LIMITS, &read, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	int z = npl_build_op(b, "BatchNormalization", (struct npl_build_in){in, 5}, NPL_NO_ATTRS);
	cr_assert_eq(npl_build_finish(b, NPL_IN(z), &built, &err), 0, "%s", err.msg);
	npl_tensor_free(&w); /* copied */
	cr_assert_eq(built->n_nodes, 1);
	cr_assert_eq(built->n_nodes, read->n_nodes);
	cr_assert_eq(built->folded_batchnorms, read->folded_batchnorms);
	cr_assert_eq(built->parameters, read->parameters);
	struct npl_tensor a = api_run(read, "tpu_v1", &x, NULL), c = api_run(built, "tpu_v1", &x, NULL);
	cr_assert(api_same(&a, &c));
	for (int i = 0; i < 4; i++)
		npl_tensor_free(&four[i]);
	npl_tensor_free(&a);
	npl_tensor_free(&c);
	npl_tensor_free(&x);
	npl_graph_free(read);
	npl_graph_free(built);
	onnx_writer_free(&model);
}

/* The first error stays, calls after it are given its code, and the end tells it. */
Test(api_build, the_first_error_stays)
{
	const struct {
		const char *expected, *op;
		int n;
		struct npl_attr_list attrs;
	} cases[] = {
		{"'Rellu'", "Rellu", 1, NPL_NO_ATTRS},
		{"expected 2 to 3", "Conv", 1, NPL_NO_ATTRS},
		{"'alpha'", "Relu", 1, NPL_ATTRS(NPL_FLOAT("alpha", 1))},
		{"no name", "Relu", 1, NPL_ATTRS(NPL_INT("", 1))},
		{"list of -1", "Relu", 1, NPL_ATTRS({.name = "a", .type = NPL_ATTR_INTS, .n = -1})},
		{"no tensor", "Relu", 1, NPL_ATTRS(NPL_TENSOR("a", NULL))},
		{"65 attributes", "Relu", 1, {.attr = (struct npl_attr[65]){{0}}, .n = 65}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_build *b = open_build();
		int x = npl_build_input(b, "x", NPL_F32, npl_shape_of(4, 1, 2, 5, 5));
		int y = npl_build_op(b, cases[i].op, (struct npl_build_in){&x, cases[i].n}, cases[i].attrs);
		cr_assert_eq(y, NPL_EINPUT, "%s", cases[i].expected);
		cr_assert_eq(npl_build_op(b, "Add", NPL_IN(x, y), NPL_NO_ATTRS), NPL_EINPUT);
		cr_assert(strstr(npl_build_error(b)->msg, cases[i].expected), "%s", npl_build_error(b)->msg);
		refused(b, x, NPL_EINPUT, cases[i].expected);
	}
}

Test(api_build, wrong_calls_are_refused)
{
	const float data[4] = {0};
	struct npl_build *b = open_build();
	refused(b, npl_build_input(b, "x", NPL_F32, npl_shape_of(2, -1, 3)), NPL_EINPUT, "-1x3");
	b = open_build();
	refused(b, npl_build_input(b, "x", NPL_F32, (struct npl_shape){.rank = -1}), NPL_EINPUT, "rank -1");
	b = open_build();
	npl_build_input(b, "x", NPL_F32, npl_shape_of(1, 3));
	refused(b, npl_build_input(b, "x", NPL_F32, npl_shape_of(1, 3)), NPL_EINPUT, "two tensors are called 'x'");
	b = open_build();
	struct npl_tensor odd = npl_tensor_over(NPL_F32, npl_shape_of(1, 1), (const char *)data + 1);
	refused(b, npl_build_constant(b, &odd, NPL_BORROW), NPL_EINPUT, "aligned");
	b = open_build();
	struct npl_tensor none = npl_tensor_over(NPL_F32, npl_shape_of(1, 4), NULL);
	refused(b, npl_build_constant(b, &none, NPL_COPY), NPL_EINPUT, "no elements");
	b = open_build();
	refused(b, 7, NPL_EINPUT, "7 is not a value");
	b = open_build();
	refused(b, NPL_ABSENT, NPL_EINPUT, "not a value");
	b = open_build();
	int x = npl_build_input(b, "x", NPL_F32, npl_shape_of(1, 3)),
	    y = npl_build_op(b, "Relu", NPL_IN(x), NPL_NO_ATTRS);
	refused(b, npl_build_name(b, y, "x"), NPL_EINPUT, "cannot be called 'x'");
	b = open_build();
	x = npl_build_input(b, "x", NPL_F32, npl_shape_of(1, 3));
	refused(b, npl_build_name(b, x, ""), NPL_EINPUT, "empty name");
	struct npl_graph *graph;
	struct npl_err err;
	b = open_build();
	x = npl_build_input(b, "x", NPL_F32, npl_shape_of(1, 3));
	cr_assert_eq(npl_build_finish(b, NPL_IN(x, x), &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "twice"), "%s", err.msg);
	cr_assert_eq(npl_build_finish(open_build(), NPL_NO_IN, &graph, &err), NPL_EINPUT);
	b = open_build();
	struct npl_shape shape;
	cr_assert_eq(npl_build_shape(b, 0, NULL, &shape, &err), NPL_EINPUT);
	npl_build_close(b);
	npl_build_close(NULL);
}

/* Names reach the reports; what has none gets one of its own. */
Test(api_build, names_reach_the_graph_and_missing_ones_are_made)
{
	struct npl_build *b = open_build();
	struct npl_graph *graph;
	struct npl_err err;
	int x = npl_build_input(b, NULL, NPL_F32, npl_shape_of(2, 2, 6));
	int part[2];
	cr_assert_eq(npl_build_ops(b, "Split", NPL_IN(x), NPL_ATTRS(NPL_INT("axis", 1)), 2, part), 0);
	int y = npl_build_name(b, npl_build_op(b, "Add", NPL_IN(part[0], part[1]), NPL_NO_ATTRS), "sum");
	int z = npl_build_op(b, "Relu", NPL_IN(y), NPL_NO_ATTRS),
	    unread = npl_build_op(b, "Tanh", NPL_IN(y), NPL_NO_ATTRS);
	cr_assert(unread >= 0 && npl_build_name(b, part[1], "right") == part[1]);
	cr_assert_eq(npl_build_finish(b, NPL_IN(z, y), &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(graph->n_nodes, 3, "what nobody reads is left out");
	cr_assert_str_eq(graph->value[graph->input[0]].name, "input_0");
	cr_assert_str_eq(graph->node[1].name, "sum");
	cr_assert_str_eq(graph->value[graph->node[1].out[0]].name, "sum");
	cr_assert_str_eq(graph->value[graph->node[0].out[1]].name, "right");
	cr_assert_str_eq(graph->name, "net");
	cr_assert_eq(graph->opset, NPL_LAST_OPSET);
	npl_graph_free(graph);
}

/* Inputs that do not fit, and calibration on other inputs than those that are run. */
Test(api_build, a_built_graph_runs)
{
	uint64_t rng = 5;
	struct npl_build *b = open_build();
	struct npl_tensor w = api_random(&rng, npl_shape_of(2, 5, 7)), x = api_random(&rng, npl_shape_of(2, 3, 7));
	struct npl_tensor wide = api_random(&rng, npl_shape_of(2, 3, 7)), out = {0}, own, other;
	struct npl_graph *graph;
	struct npl_err err;
	int y = npl_build_op(b, "Gemm",
			     NPL_IN(npl_build_input(b, "x", NPL_F32, x.shape), npl_build_constant(b, &w, NPL_BORROW)),
			     NPL_ATTRS(NPL_INT("transB", 1)));
	cr_assert_eq(npl_build_finish(b, NPL_IN(y), &graph, &err), 0, "%s", err.msg);
	struct npl_device *device = api_device("tpu_v1");
	struct npl_tensor wrong = npl_tensor_over(NPL_F32, npl_shape_of(2, 7, 3), x.data);
	cr_assert_eq(npl_graph_run(graph, device, &wrong, NULL, &out, NULL, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "7x3"), "%s", err.msg);
	cr_assert_null(out.data);
	struct npl_tensor shifted = npl_tensor_over(NPL_F32, x.shape, (char *)x.data + 1);
	cr_assert_eq(npl_graph_run(graph, device, &shifted, NULL, &out, NULL, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "not aligned for float32"), "%s", err.msg);
	for (int i = 0; i < 21; i++)
		((float *)wide.data)[i] *= 40;
	cr_assert_eq(npl_graph_run(graph, device, &x, NULL, &own, NULL, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_graph_run(graph, device, &x, &wide, &other, NULL, &err), 0, "%s", err.msg);
	cr_assert_not(api_same(&own, &other), "coarser steps for a wider range");
	npl_device_close(device);
	npl_graph_free(graph);
	struct npl_tensor *all[] = {&w, &x, &wide, &own, &other};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		npl_tensor_free(all[i]);
}

/* As many results as there can be, each where it belongs, on every device; one more is refused by its number alone. */
Test(api_build, operators_may_have_many_results)
{
	static const char *const devices[] = {"reference", "cpu", "tpu_v1", "diannao"};
	uint64_t rng = 8;
	int part[NPL_MAX_OUTPUTS + 1], turned[NPL_MAX_OUTPUTS];
	struct npl_tensor x = api_random(&rng, npl_shape_of(2, 3, 2 * NPL_MAX_OUTPUTS)), y;
	struct npl_graph *graph;
	struct npl_err err;
	struct npl_build *b = open_build();
	cr_assert_geq(NPL_MAX_OUTPUTS, 64);
	cr_assert_eq(npl_build_ops(b, "Split", NPL_IN(npl_build_input(b, "x", NPL_F32, x.shape)),
				   NPL_ATTRS(NPL_INT("axis", 1)), NPL_MAX_OUTPUTS, part),
		     0);
	for (int k = 0; k < NPL_MAX_OUTPUTS; k++)
		turned[k] = part[NPL_MAX_OUTPUTS - 1 - k];
	int joined = npl_build_op(b, "Concat", (struct npl_build_in){turned, NPL_MAX_OUTPUTS},
				  NPL_ATTRS(NPL_INT("axis", 1)));
	cr_assert_eq(npl_build_finish(b, NPL_IN(joined), &graph, &err), 0, "%s", err.msg);
	for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
		struct npl_device *device = api_device(devices[d]);
		cr_assert_eq(npl_graph_run(graph, device, &x, NULL, &y, NULL, &err), 0, "%s", err.msg);
		/* of 8 bits the step is 2 / 255 at most */
		const double near = !strcmp(devices[d], "tpu_v1") ? 1.0 / 255 + 1e-6 : 0;
		for (int i = 0; i < 3; i++)
			for (int k = 0; k < 2 * NPL_MAX_OUTPUTS; k++) {
				const int from = 2 * (NPL_MAX_OUTPUTS - 1 - k / 2) + k % 2,
					  row = 2 * NPL_MAX_OUTPUTS * i;
				const double is = (double)((const float *)y.data)[row + k],
					     was = (double)((const float *)x.data)[row + from];
				cr_assert(fabs(is - was) <= near, "%s: %g, expected %g", devices[d], is, was);
			}
		npl_tensor_free(&y);
		npl_device_close(device);
	}
	npl_graph_free(graph);
	npl_tensor_free(&x);
	b = open_build();
	int one = npl_build_input(b, "x", NPL_F32, npl_shape_of(2, 3, NPL_MAX_OUTPUTS + 1));
	cr_assert_eq(npl_build_ops(b, "Split", NPL_IN(one), NPL_ATTRS(NPL_INT("axis", 1)), NPL_MAX_OUTPUTS + 1, part),
		     NPL_EINPUT);
	refused(b, one, NPL_EINPUT, "operator 'Split' has 65 outputs, more than 64");
}

/* Attributes that ONNX gives two values, or numbers from 1 on, take no other, and none is given twice. */
Test(api_build, attributes_of_every_type_are_read)
{
	const struct {
		const char *op;
		int inputs;
		struct npl_attr attr[2];
		const char *expected;
	} cases[] = {
		{"Gemm", 2, {NPL_INT("transB", 2)}, "attribute transB is 2, expected 0 or 1"},
		{"Gemm", 2, {NPL_INT("transA", -1)}, "attribute transA is -1, expected 0 or 1"},
		{"Attention", 3, {NPL_INT("is_causal", 2)}, "attribute is_causal is 2, expected 0 or 1"},
		{"RotaryEmbedding", 3, {NPL_INT("interleaved", 2)}, "attribute interleaved is 2, expected 0 or 1"},
		{"LSTM", 3, {NPL_INT("layout", 2)}, "attribute layout is 2, expected 0 or 1"},
		{"LSTM", 3, {NPL_INT("hidden_size", 0)}, "attribute hidden_size is 0, expected at least 1"},
		{"Split", 1, {NPL_INT("num_outputs", 0)}, "attribute num_outputs is 0, expected at least 1"},
		{"Flatten", 1, {NPL_INT("axis", 1), NPL_INT("axis", 1)}, "attribute 'axis' is given twice"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_build *b = open_build();
		struct npl_attr attr[2] = {cases[i].attr[0], cases[i].attr[1]};
		const int x = npl_build_input(b, "x", NPL_F32, npl_shape_of(3, 2, 4, 4));
		const int y = npl_build_op(b, cases[i].op,
					   (struct npl_build_in){.value = (int[]){x, x, x}, .n = cases[i].inputs},
					   (struct npl_attr_list){.attr = attr, .n = attr[1].name ? 2 : 1});
		refused(b, y, NPL_EINPUT, cases[i].expected);
	}
}
