/* SPDX-License-Identifier: MIT
 *
 * Networks of which a real device in int8 runs some layers in integers and some in float32 (attention). What the
 * program promises: they are one task, values go from one to the other by layers of the device, and so do the
 * network's inputs and outputs, so that all of a run's time is measured and nothing is the modelled host's; every bit
 * and every saturation is the same as when each layer is alone and the session converts between them; a NaN is told. */
#include <stdlib.h>

#include "frontend/quantise/quantise.h"
#include "npulab/layer_group.h"
#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/session_net.h"

TestSuite(mixed_layer_group, .init = cuda_fake_open);

/* Two heads of attention with a residual, of images that a convolution cut into words: values that float and integer
 * layers both read, views between them, outputs that come from either. */
static struct net attention(uint64_t *rng)
{
	struct onnx_writer g = {0}, by_words = {0}, heads = {0}, last = {0}, back = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 6, 6});
	put_weights(&g, rng, "wc", 4, (int64_t[]){8, 3, 2, 2});
	put_weights(&g, rng, "bc", 1, (int64_t[]){8});
	put_weights(&g, rng, "wq", 2, (int64_t[]){8, 8});
	put_weights(&g, rng, "wk", 2, (int64_t[]){8, 8});
	put_weights(&g, rng, "wv", 2, (int64_t[]){8, 8});
	put_weights(&g, rng, "wo", 2, (int64_t[]){8, 5});
	put_weights(&g, rng, "slope", 1, (int64_t[]){8});
	onnx_put_int64s(&g, "words", 3, (int64_t[]){2, 8, 25});
	onnx_put_int64s(&g, "split", 4, (int64_t[]){2, 25, 2, 4});
	onnx_put_int64s(&g, "joined", 3, (int64_t[]){2, 25, 8});
	onnx_put_attr_ints(&by_words, "perm", 3, (int64_t[]){0, 2, 1});
	onnx_put_attr_ints(&heads, "perm", 4, (int64_t[]){0, 2, 1, 3});
	onnx_put_attr_ints(&last, "perm", 4, (int64_t[]){0, 2, 3, 1});
	onnx_put_attr_ints(&back, "perm", 4, (int64_t[]){0, 2, 1, 3});
	onnx_put_node(&g, "Conv", "cut", "x wc bc", "c", NULL);
	onnx_put_node(&g, "Reshape", "lines", "c words", "l", NULL);
	onnx_put_node(&g, "Transpose", "turn", "l", "t", &by_words);
	onnx_put_node(&g, "Elu", "elu", "t", "e", NULL); /* in float32; read by both kinds */
	onnx_put_node(&g, "MatMul", "query", "e wq", "q", NULL);
	onnx_put_node(&g, "MatMul", "key", "e wk", "k", NULL);
	onnx_put_node(&g, "MatMul", "value", "e wv", "v", NULL);
	onnx_put_node(&g, "Reshape", "q4", "q split", "qs", NULL);
	onnx_put_node(&g, "Reshape", "k4", "k split", "ks", NULL);
	onnx_put_node(&g, "Reshape", "v4", "v split", "vs", NULL);
	onnx_put_node(&g, "Transpose", "qt", "qs", "qh", &heads);
	onnx_put_node(&g, "Transpose", "kt", "ks", "kh", &last);
	onnx_put_node(&g, "Transpose", "vt", "vs", "vh", &back);
	onnx_put_node(&g, "MatMul", "scores", "qh kh", "s", NULL);
	onnx_put_node(&g, "Softmax", "softmax", "s", "p", NULL);
	onnx_put_node(&g, "MatMul", "mix", "p vh", "m", NULL);
	onnx_put_node(&g, "Transpose", "mt", "m", "mj", NULL);
	onnx_put_node(&g, "Softsign", "softsign", "e", "z", NULL);
	onnx_put_node(&g, "Mul", "gate", "z e", "r", NULL);
	onnx_put_node(&g, "MatMul", "out", "r wo", "y", NULL);
	onnx_put_output(&g, "p"); /* made in floats, read in integers too */
	onnx_put_output(&g, "s"); /* made in integers, read in floats too */
	onnx_put_output(&g, "mj");
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

static struct outcome run_int8(struct net *net, struct npl_device **device, bool alone, const char *subject)
{
	return run_with(net,
			(struct npl_session_options){.n_devices = 1, .device = device, .plan.layer_by_layer = alone},
			subject);
}

/* Ranges that are too narrow, so that values saturate where they are converted. */
static void narrow(struct net *net)
{
	for (int v = 0; v < net->graph->n_values; v++) {
		net->range[v].low *= 0.75f;
		net->range[v].high *= 0.75f;
	}
}

static void check_same_rows(const struct net *net, const struct outcome *a, const struct outcome *b,
			    const char *subject)
{
	for (int i = 0; i < net->graph->n_nodes; i++) {
		const struct npl_layer_run *row = &a->run.layer[i], *expected = &b->run.layer[i];
		const char *name = net->graph->node[i].name;
		if (expected->role != NPL_VIEW) /* the session converts where it is one, the device does it itself */
			cr_assert_eq(row->role, expected->role, "%s: %s", subject, name);
		cr_assert_str_eq(row->ran_on, expected->ran_on, "%s: %s", subject, name);
		cr_assert_str_eq(row->output_sha256, expected->output_sha256, "%s: %s", subject, name);
	}
	cr_assert_eq(a->run.saturations, b->run.saturations, "%s: %llu saturations, expected %llu", subject,
		     (unsigned long long)a->run.saturations, (unsigned long long)b->run.saturations);
}

static void check_device(const char *name, int n_sets, const char *const *sets)
{
	uint64_t rng = 0x3a110001, saturations = 0;
	for (int round = 0; round < 4; round++) {
		struct net net = attention(&rng);
		if (round % 2)
			narrow(&net);
		struct npl_device *device = open_device_set(name, n_sets, sets);
		struct outcome together = run_int8(&net, &device, false, name),
			       single = run_int8(&net, &device, true, name);
		check_same_outputs(&net, together.out, single.out, name);
		check_same_rows(&net, &together, &single, name);
		cr_assert(!(together.run.host_seconds > 0), "%s: %g s are the host's", name, together.run.host_seconds);
		cr_assert_gt(single.run.host_seconds, 0);
		saturations += round % 2 ? together.run.saturations : 0;
		if (round % 2 == 0)
			cr_assert_lt(error_of(&net, together.out), 0.15, "%s: %g", name, error_of(&net, together.out));
		free_outcome(&net, &together);
		free_outcome(&net, &single);
		npl_device_close(device);
		free_net(&net);
	}
	cr_assert_gt(saturations, 50);
}

Test(mixed_layer_group, mixed_groups_run_right_on_the_cpu)
{
	static const char *const sets[] = {"precision=int8", "threads=2"};
	check_device("cpu", 2, sets);
}

Test(mixed_layer_group, mixed_groups_run_right_on_cuda)
{
	static const char *const sets[] = {"precision=int8"};
	check_device("cuda", 1, sets);
	cuda_fake_check("mixed networks");
}

/* One layer group: the inputs go up and the outputs come down once, as the caller has them. */
Test(mixed_layer_group, nothing_but_inputs_and_outputs_cross_the_link)
{
	uint64_t rng = 0x3a110002, bytes = 0;
	struct net net = attention(&rng);
	struct npl_device *cuda = open_device_set("cuda", 1, (const char *[]){"precision=int8"});
	struct outcome o = run_int8(&net, &cuda, false, "cuda");
	bytes += npl_tensor_bytes(&net.in[0]);
	for (int i = 0; i < net.graph->n_outputs; i++)
		bytes += npl_tensor_bytes(&o.out[i]);
	cr_assert_eq(o.run.link_bytes, bytes, "%llu, expected %llu", (unsigned long long)o.run.link_bytes,
		     (unsigned long long)bytes);
	free_outcome(&net, &o);
	npl_device_close(cuda);
	free_net(&net);
}

static void refuses_a_nan(const char *name, int n_sets, const char *const *sets)
{
	uint64_t rng = 0x3a110003;
	struct net net = attention(&rng);
	struct npl_device *device = open_device_set(name, n_sets, sets);
	struct npl_session *session;
	struct npl_tensor out[MOST] = {{0}};
	struct npl_run run = {0};
	struct npl_err err;
	const struct npl_session_options options = {.n_devices = 1, .device = &device, .ranges = net.range};
	cr_assert_eq(npl_session_open(net.graph, &options, &session, &err), 0, "%s", err.msg);
	((float *)net.in[0].data)[40] = NAN;
	cr_assert_eq(npl_session_run(session, net.in, out, &run, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "holds a NaN"), "%s: %s", name, err.msg);
	((float *)net.in[0].data)[40] = 0;
	cr_assert_eq(npl_session_run(session, net.in, out, &run, &err), 0, "%s", err.msg);
	for (int i = 0; i < net.graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	npl_run_free(&run);
	npl_session_close(session);
	npl_device_close(device);
	free_net(&net);
}

Test(mixed_layer_group, a_nan_is_told)
{
	refuses_a_nan("cpu", 2, (const char *const[]){"precision=int8", "threads=1"});
	refuses_a_nan("cuda", 1, (const char *const[]){"precision=int8"});
}

/* A model's own quantisation: its integers are what they are, and nothing is converted that it does not say. */
Test(mixed_layer_group, a_quantised_model_is_as_it_was)
{
	uint64_t rng = 0x3a110004;
	static const float scale = 0.0079f;
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){3, 8});
	put_weights(&g, &rng, "w", 2, (int64_t[]){8, 8});
	onnx_put_floats(&g, "scale", 0, NULL, &scale);
	onnx_put_node(&g, "QuantizeLinear", "q", "x scale", "xq", NULL);
	onnx_put_node(&g, "DequantizeLinear", "dq", "xq scale", "xr", NULL);
	onnx_put_node(&g, "MatMul", "up", "xr w", "a", NULL);
	onnx_put_node(&g, "Elu", "elu", "a", "e", NULL);
	onnx_put_node(&g, "MatMul", "down", "e w", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	struct npl_device *cpu = open_device_set("cpu", 2, (const char *[]){"precision=int8", "threads=1"});
	struct outcome together = run_int8(&net, &cpu, false, "cpu"), single = run_int8(&net, &cpu, true, "cpu");
	check_same_outputs(&net, together.out, single.out, "cpu");
	check_same_rows(&net, &together, &single, "cpu");
	free_outcome(&net, &together);
	free_outcome(&net, &single);
	npl_device_close(cpu);
	free_net(&net);
}

/* There and back as layers of a layer group, by pieces on two threads: the bytes and the floats of the session's own
 * conversions. */
static void check_conversion(struct npl_device *device, enum npl_dtype dtype, struct npl_shape shape, uint64_t seed)
{
	struct npl_err err;
	uint64_t rng = seed, clipped = 0;
	struct npl_attrs none = {.quantise.axis = 1};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = shape}, expected, restored, q, y;
	const struct npl_quant quant = {.scale = (float)test_range(&rng, 1, 90) / 9000,
					.zero_point = (int32_t)test_range(&rng, 0, 255) - (dtype == NPL_I8 ? 128 : 0)};
	x.data = random_floats(&rng, npl_shape_count(&shape));
	cr_assert_eq(npl_quantise_to(&x, dtype, quant, &expected, &clipped, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_dequantise(&expected, &restored, &err), 0, "%s", err.msg);
	q = (struct npl_tensor){.dtype = dtype, .shape = shape, .quant = quant};
	y = (struct npl_tensor){.dtype = NPL_F32, .shape = shape};
	cr_assert_eq(npl_tensor_alloc(&q, &err) || npl_tensor_alloc(&y, &err), 0, "%s", err.msg);
	const struct npl_layer to = {.name = "to",
				     .op = NPL_OP_QUANTIZELINEAR,
				     .attrs = &none,
				     .n_in = 1,
				     .in = {&x},
				     .out = &q},
			       from = {.name = "from",
				       .op = NPL_OP_DEQUANTIZELINEAR,
				       .attrs = &none,
				       .n_in = 1,
				       .in = {&q},
				       .out = &y},
			       *const layers[] = {&to, &from};
	const struct npl_tensor *const output[] = {&q, &y};
	const struct npl_layer_group group = {.n = 2, .layer = layers, .n_outputs = 2, .output = output};
	struct npl_result results[2] = {{0}};
	struct npl_layer_group_handle *made;
	cr_assert_eq(npl_device_open_layer_group(device, &group, &made, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_device_run_layer_group(made, NULL, results, &err), 0, "%s", err.msg);
	npl_device_close_layer_group(made);
	cr_assert_eq(memcmp(q.data, expected.data, npl_tensor_bytes(&q)), 0, "seed %d", (int)seed);
	cr_assert_eq(memcmp(y.data, restored.data, npl_tensor_bytes(&y)), 0, "seed %d", (int)seed);
	cr_assert_eq(results[0].saturations, clipped);
	cr_assert_eq(results[1].saturations, 0);
	free(x.data);
	npl_tensor_free(&expected);
	npl_tensor_free(&restored);
	npl_tensor_free(&q);
	npl_tensor_free(&y);
}

Test(mixed_layer_group, conversions_equal_those_of_the_session)
{
	static const char *const sets[] = {"precision=int8", "threads=2"};
	struct npl_device *cpu = open_device_set("cpu", 2, sets), *cuda = open_device_set("cuda", 1, sets);
	for (uint64_t seed = 1; seed <= 12; seed++) {
		const enum npl_dtype dtype = seed % 2 ? NPL_U8 : NPL_I8;
		check_conversion(cpu, dtype, npl_shape_of(1, 3), seed);
		check_conversion(cpu, dtype, npl_shape_of(4, 3, 7, 11, 1300), seed);
		check_conversion(cuda, dtype, npl_shape_of(3, 3, 7, 11), seed);
	}
	npl_device_close(cpu);
	npl_device_close(cuda);
}

/* The indices of a pool are integers of the model's own, whoever makes them. */
static void check_indices(const char *name, int n_sets, const char *const *sets)
{
	uint64_t rng = 0x3a110005;
	struct onnx_writer g = {0}, pool = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 6, 6});
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_attr_ints(&pool, "strides", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "Relu", "relu", "x", "r", NULL);
	onnx_put_node(&g, "MaxPool", "pool", "r", "p at", &pool);
	onnx_put_output(&g, "p");
	onnx_put_output(&g, "at");
	struct net net = make_net(&g, &rng);
	struct npl_device *device = open_device_set(name, n_sets, sets);
	struct outcome o = run_int8(&net, &device, false, name);
	cr_assert_str_eq(row_of(&net, &o, "pool")->ran_on, name);
	cr_assert_eq(o.out[1].dtype, net.reference[1].dtype);
	cr_assert_lt(error_of(&net, o.out), 0.05);
	for (int64_t i = 0; i < npl_tensor_count(&o.out[1]); i++) { /* equal values in 8 bits may be at other places: */
		const int64_t at = ((int64_t *)o.out[1].data)[i], plane = i / 9;
		const float most = ((float *)net.reference[0].data)[i], x = ((float *)net.in[0].data)[at];
		cr_assert_eq(at / 36, plane, "%s: index %lld of value %lld", name, (long long)at, (long long)i);
		cr_assert_leq(fabsf((x > 0 ? x : 0) - most), 0.01f, "%s: %g at %lld, expected %g", name, (double)x,
			      (long long)at, (double)most);
	}
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}

Test(mixed_layer_group, second_results_are_made)
{
	check_indices("cpu", 2, (const char *const[]){"precision=int8", "threads=1"});
	check_indices("cuda", 1, (const char *const[]){"precision=int8"});
}

/* A divisor that 8 bits would round to 0 is none: quotients and roots are floats'. */
Test(mixed_layer_group, quotients_are_not_rounded_to_nothing)
{
	static const float small = 0.001f;
	uint64_t rng = 0x3a110006;
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 16});
	onnx_put_floats(&g, "small", 0, NULL, &small);
	onnx_put_node(&g, "Mul", "square", "x x", "a", NULL);
	onnx_put_node(&g, "Add", "above", "a small", "b", NULL);
	onnx_put_node(&g, "Div", "one", "b b", "y", NULL);
	onnx_put_node(&g, "Sqrt", "root", "b", "c", NULL);
	onnx_put_node(&g, "Div", "sign", "x c", "z", NULL);
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "z");
	struct net net = make_net(&g, &rng);
	struct npl_device *cpu = open_device_set("cpu", 2, (const char *[]){"precision=int8", "threads=1"});
	struct outcome o = run_int8(&net, &cpu, false, "cpu");
	for (int n = 0; n < 5; n++)
		if (net.graph->node[n].op == NPL_OP_DIV || net.graph->node[n].op == NPL_OP_SQRT)
			cr_assert(o.run.layer[n].note && strstr(o.run.layer[n].note, "in float32: its results span"));
	free_outcome(&net, &o);
	npl_device_close(cpu);
	free_net(&net);
}
