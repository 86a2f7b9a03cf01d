/* SPDX-License-Identifier: MIT
 *
 * What a session promises of devices that compute everything in integers: activations, element-wise operators, joins
 * and slices stay on the device, whatever is fused; results of Sigmoid and Tanh have their own scale; joined values
 * share one; constants are brought to the format by their own range; and the result is near the float reference. The
 * device is `reference` with a precision of integers. */
#include "frontend/quantise/quantise.h"
#include "npulab/compare.h"
#include "tests/kit/session_net.h"

static struct npl_device *integers(const char *precision)
{
	char set[40];
	snprintf(set, sizeof set, "precision=%s", precision);
	return open_device_set("reference", 1, (const char *[]){set});
}

static double decibels(const struct net *net, const struct npl_tensor *out)
{
	struct npl_accuracy accuracy;
	npl_accuracy_of(net->reference, out, net->graph->n_outputs,
			net->graph->value[net->graph->output[0]].shape.dim[0], NULL, &accuracy);
	return accuracy.max_abs_error == 0 ? 1000 : accuracy.sqnr_db;
}

/* An LSTM cell: x (4,24), c (4,16) -> h, next. */
static struct net make_cell(uint64_t *rng)
{
	struct onnx_writer g = {0}, axis = {0};
	static const char *const gates[][2] = {{"i", "Sigmoid"}, {"f", "Sigmoid"}, {"g", "Tanh"}, {"o", "Sigmoid"}};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 40});
	onnx_put_input(&g, "c", ONNX_FLOAT, 2, (int64_t[]){4, 16});
	onnx_put_attr_int(&axis, "axis", 1);
	onnx_put_node(&g, "Concat", "join", "x c", "xc", &axis);
	for (int k = 0; k < 4; k++) {
		char name[16], in[32], out[16];
		snprintf(name, sizeof name, "w%s", gates[k][0]);
		put_weights(&g, rng, name, 2, (int64_t[]){56, 16});
		snprintf(in, sizeof in, "xc w%s", gates[k][0]);
		snprintf(out, sizeof out, "z%s", gates[k][0]);
		snprintf(name, sizeof name, "fc_%s", gates[k][0]);
		onnx_put_node(&g, "MatMul", name, in, out, NULL);
		onnx_put_node(&g, gates[k][1], gates[k][0], out, gates[k][0], NULL);
	}
	onnx_put_node(&g, "Mul", "kept", "f c", "fc", NULL);
	onnx_put_node(&g, "Mul", "written", "i g", "ig", NULL);
	onnx_put_node(&g, "Sum", "state", "fc ig", "next", NULL);
	onnx_put_node(&g, "Tanh", "squash", "next", "t", NULL);
	onnx_put_node(&g, "Mul", "out", "o t", "h", NULL);
	onnx_put_output(&g, "h");
	onnx_put_output(&g, "next");
	return make_net(&g, rng);
}

Test(session_integer, the_functions_of_a_cell_run_in_integers)
{
	static const struct {
		const char *precision;
		double least_db;
		float sigmoid, tangent;
		int32_t zero;
	} cases[] = {{"int8", 25, 0x1p-8f, 0x1p-7f, 128}, {"8x16", 38, 0x1p-15f, 0x1p-15f, 0}};
	for (int i = 0; i < 20; i++) {
		uint64_t rng = (uint64_t)i / 2 + 1;
		struct net net = make_cell(&rng);
		struct npl_device *device = integers(cases[i % 2].precision);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		for (int k = 0; k < o.run.n_layers; k++)
			cr_assert_str_eq(o.run.layer[k].ran_on, "reference", "%s: on the %s, as %s",
					 net.graph->node[k].name, o.run.layer[k].ran_on, o.run.layer[k].note);
		cr_assert(row_of(&net, &o, "i")->role == NPL_FUSED && row_of(&net, &o, "g")->role == NPL_FUSED &&
			  row_of(&net, &o, "squash")->role == NPL_RAN);
		cr_assert_eq(row_of(&net, &o, "fc_o")->output_quant.scale, cases[i % 2].sigmoid);
		cr_assert_eq(row_of(&net, &o, "fc_g")->output_quant.scale, cases[i % 2].tangent);
		cr_assert_eq(row_of(&net, &o, "squash")->output_quant.zero_point, cases[i % 2].zero);
		cr_assert_eq(row_of(&net, &o, "state")->output_dtype, i % 2 ? NPL_I16 : NPL_U8);
		cr_assert(decibels(&net, o.out) > cases[i % 2].least_db, "%s, seed %d: %g dB", cases[i % 2].precision,
			  i / 2 + 1, decibels(&net, o.out));
		check_totals(&o.run, cases[i % 2].precision);
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

static void put_pool(struct onnx_writer *g, const char *op, const char *name, const char *in, const char *out)
{
	struct onnx_writer a = {0};
	onnx_put_attr_ints(&a, "kernel_shape", 2, (int64_t[]){3, 3});
	onnx_put_attr_ints(&a, "pads", 4, (int64_t[]){1, 1, 1, 1});
	onnx_put_node(g, op, name, in, out, &a);
}

/* x -> conv a, relu -> (pool p of a; conv b, relu6 by Clip; a itself) joined -> Add a constant far away -> Slice ->
 * y */
static struct net make_branches(uint64_t *rng)
{
	struct onnx_writer g = {0}, axis = {0};
	int64_t channels = 12;
	float far[12], limits[2] = {0, 6};
	for (int c = 0; c < 12; c++)
		far[c] = (float)(c - 4) * 20;
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 6, 6});
	put_weights(&g, rng, "wa", 4, (int64_t[]){4, 3, 1, 1});
	put_weights(&g, rng, "wb", 4, (int64_t[]){4, 4, 1, 1});
	onnx_put_floats(&g, "low", 0, NULL, &limits[0]);
	onnx_put_floats(&g, "high", 0, NULL, &limits[1]);
	onnx_put_floats(&g, "far", 3, (int64_t[]){channels, 1, 1}, far);
	onnx_put_node(&g, "Conv", "conv_a", "x wa", "ra", NULL);
	onnx_put_node(&g, "Relu", "relu_a", "ra", "a", NULL);
	put_pool(&g, "MaxPool", "pool", "a", "p");
	onnx_put_node(&g, "Conv", "conv_b", "a wb", "rb", NULL);
	onnx_put_node(&g, "Clip", "clip_b", "rb low high", "b", NULL);
	onnx_put_attr_int(&axis, "axis", 1);
	onnx_put_node(&g, "Concat", "join", "p b a", "j", &axis);
	onnx_put_node(&g, "Add", "shift", "j far", "s", NULL);
	onnx_put_int64s(&g, "from", 1, (int64_t[]){1});
	onnx_put_int64s(&g, "to", 1, (int64_t[]){11});
	onnx_put_int64s(&g, "along", 1, (int64_t[]){1});
	onnx_put_node(&g, "Slice", "cut", "s from to along", "y", NULL);
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

Test(session_integer, joined_values_share_a_scale)
{
	for (int i = 0; i < 20; i++) {
		uint64_t rng = (uint64_t)i / 2 + 1;
		struct net net = make_branches(&rng);
		struct npl_device *device = integers(i % 2 ? "8x16" : "int8");
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		static const char *const joined[] = {"pool", "conv_b", "join"};
		float scale = row_of(&net, &o, "conv_a")->output_quant.scale;
		for (int k = 0; k < o.run.n_layers; k++)
			cr_assert_str_eq(o.run.layer[k].ran_on, "reference", "%s: %s", net.graph->node[k].name,
					 o.run.layer[k].note);
		for (int k = 0; k < 3; k++)
			cr_assert_eq(row_of(&net, &o, joined[k])->output_quant.scale, scale, "seed %d: %s", i / 2 + 1,
				     joined[k]);
		cr_assert(row_of(&net, &o, "relu_a")->role == NPL_FUSED &&
			  row_of(&net, &o, "clip_b")->role == NPL_FUSED);
		cr_assert_eq(row_of(&net, &o, "cut")->output_quant.scale,
			     row_of(&net, &o, "shift")->output_quant.scale);
		/* the constant has 180 in it: its own range, or nothing would be left of it */
		cr_assert(decibels(&net, o.out) > (i % 2 ? 55 : 38), "seed %d: %g dB", i / 2 + 1,
			  decibels(&net, o.out));
		check_totals(&o.run, "branches");
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* What a device does not fuse runs on its own or on the host; the result is near in any case. Clip(1, 2) has a scale of
 * its own: its results need not lie within its input's range. */
Test(session_integer, activations_that_a_device_does_not_fuse_run_apart)
{
	static const char *const functions[] = {"Sigmoid", "Tanh", "Clip", "Clip"};
	static const char *const names[] = {"reference", "tpu_v1", "diannao", "cpu"};
	for (int i = 0; i < 16; i++) {
		struct onnx_writer g = {0};
		uint64_t rng = (uint64_t)i + 1;
		const char *function = functions[i % 4];
		float limits[2] = {i % 4 == 2 ? 0.0f : 1.0f, i % 4 == 2 ? 6.0f : 2.0f};
		bool clip = i % 4 > 1;
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){5, 24});
		put_weights(&g, &rng, "w", 2, (int64_t[]){24, 10});
		onnx_put_floats(&g, "low", 0, NULL, &limits[0]);
		onnx_put_floats(&g, "high", 0, NULL, &limits[1]);
		onnx_put_node(&g, "MatMul", "fc", "x w", "a", NULL);
		onnx_put_node(&g, function, "f", clip ? "a low high" : "a", "y", NULL);
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		struct npl_device *device = open_device(names[i / 4]);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		bool fuses = i / 4 < 3 ? i % 4 != 3 : i % 4 == 2; /* cpu: Relu6 alone */
		cr_assert_eq(row_of(&net, &o, "f")->role, fuses ? NPL_FUSED : NPL_RAN, "%s on %s", function,
			     names[i / 4]);
		cr_assert(decibels(&net, o.out) > 30, "%s on %s: %g dB", function, names[i / 4], decibels(&net, o.out));
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
	struct net net;
	struct onnx_writer g = {0};
	uint64_t rng = 3;
	float limits[2] = {20, 30}; /* above everything */
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){5, 24});
	onnx_put_floats(&g, "low", 0, NULL, &limits[0]);
	onnx_put_floats(&g, "high", 0, NULL, &limits[1]);
	onnx_put_node(&g, "Clip", "f", "x low high", "y", NULL);
	onnx_put_output(&g, "y");
	net = make_net(&g, &rng);
	struct npl_device *device = integers("int8");
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	cr_assert(error_of(&net, o.out) < 0.003, "%g", error_of(&net, o.out));
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}

/* The network of the next test: a product, three slices of it, and these joined in another order. */
static struct net split_net(const char *results, int axis)
{
	struct onnx_writer g = {0}, a = {0}, b = {0};
	uint64_t rng = 5;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){12, 12});
	put_weights(&g, &rng, "w", 2, (int64_t[]){12, 12});
	onnx_put_node(&g, "MatMul", "fc", "x w", "z", NULL);
	onnx_put_attr_int(&a, "axis", axis);
	onnx_put_node(&g, "Split", "split", "z", "p q r", &a);
	onnx_put_attr_int(&b, "axis", axis);
	onnx_put_node(&g, "Concat", "join", results, "y", &b);
	onnx_put_output(&g, "y");
	return make_net(&g, &rng);
}

/* Split is so many slices of integers: no value changes, nothing goes to the host. A machine without Slice, and one
 * that slices channels alone, leave it to the host, with the reason. */
Test(session_integer, split_is_slices)
{
	static const char *const names[] = {"reference", "reference", "cpu", "tpu_v1", "tpu_v1", "diannao"},
				 *const sets[] = {
					 "precision=int8", "precision=8x16", "precision=int8", NULL, NULL, NULL};
	for (int i = 0; i < 12; i++) {
		int d = i % 6, axis = d == 4 ? 0 : 1;
		struct net net = split_net(i < 6 ? "r p q" : "r p", axis); /* q, which nobody reads, is not made */
		struct npl_device *device = open_device_set(names[d], sets[d] != NULL, &sets[d]);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		const struct npl_layer_run *split = row_of(&net, &o, "split"), *fc = row_of(&net, &o, "fc");
		cr_assert_str_eq(split->ran_on, d > 3 ? "host" : names[d], "%s: %s", names[d],
				 split->note ? split->note : "");
		cr_assert(d <= 3 || (split->note && !strstr(split->note, "result")), "%s: %s", names[d], split->note);
		cr_assert(d > 3 || (split->host_seconds == 0 && split->output_quant.scale == fc->output_quant.scale),
			  "%s", names[d]);
		cr_assert(decibels(&net, o.out) > 35, "%s: %g dB", names[d], decibels(&net, o.out));
		check_totals(&o.run, names[d]);
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* Scales of the format: symmetric 16 bits over the range; weights of 8 bits per channel. */
Test(session_integer, scales_of_8x16_are_symmetric)
{
	uint64_t rng = 11;
	for (int i = 0; i < 200; i++) {
		float low = -(float)test_range(&rng, 0, 5000) / 100, high = (float)test_range(&rng, 0, 5000) / 100;
		struct npl_quant q = npl_quant_of_range(NPL_FORMAT_INT8X16,
							(struct npl_range){.low = low, .high = high});
		double widest = fmax((double)-low, (double)high);
		cr_assert(q.zero_point == 0 && !q.channel_scale);
		cr_assert(widest == 0 ? q.scale == 1 : fabs((double)q.scale * 32767 / widest - 1) < 1e-6, "%g %g: %g",
			  (double)low, (double)high, (double)q.scale);
	}
	cr_assert_eq(npl_format_dtype(NPL_FORMAT_INT8X16), NPL_I16);
	cr_assert_eq(npl_format_weight_dtype(NPL_FORMAT_INT8X16), NPL_I8);
	cr_assert_str_eq(npl_format_name(NPL_FORMAT_INT8X16), "int8x16");
	struct npl_quant none = {.scale = 7};
	cr_assert(!npl_quant_of_function(NPL_FORMAT_INT8, NPL_OP_RELU, &none) &&
		  !npl_quant_of_function(NPL_FORMAT_Q16, NPL_OP_TANH, &none) && none.scale == 7);
}
