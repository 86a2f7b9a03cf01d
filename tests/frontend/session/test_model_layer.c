/* SPDX-License-Identifier: MIT
 *
 * Promises about models that carry integers themselves. A network of QLinearConv, MaxPool, QLinearMatMul, ConvInteger
 * and MatMulInteger gives on every device of 8-bit integers the bits that the operators' own rule gives, and each
 * product runs there. The same network with QuantizeLinear and DequantizeLinear around Conv and MatMul gives the same
 * bits on these devices: the model's scales, zero points, types and integer weights are taken as they are, and nothing
 * is calibrated. */
#include "frontend/quantise/layer_noise.h"
#include "tests/kit/session_net.h"

struct writer {
	struct onnx_writer g;
	uint64_t rng;
	bool qdq;     /* Conv and MatMul between QuantizeLinear and DequantizeLinear; otherwise QLinear operators */
	float scale;  /* of the value made last... */
	int32_t zero; /* ...and its zero point */
	bool is_signed;
};

static void put_tensor(struct writer *w, const char *name, int type, int rank, const int64_t *dims, const void *data,
		       size_t bytes)
{
	struct onnx_writer t = onnx_tensor_of(name, type, rank, dims, data, bytes);
	onnx_put_message(&w->g, 5, &t);
}

/* NAME_s and NAME_z: n values each, scalars where n is 0. */
static void put_quant(struct writer *w, const char *name, int64_t n, const float *scale, bool is_signed,
		      const int32_t *zero)
{
	char text[32];
	int8_t byte[64];
	const int64_t dims[1] = {n};
	int64_t count = n ? n : 1;
	for (int64_t i = 0; i < count; i++)
		byte[i] = (int8_t)zero[i];
	snprintf(text, sizeof text, "%s_s", name);
	put_tensor(w, text, ONNX_FLOAT, n ? 1 : 0, dims, scale, (size_t)count * sizeof *scale);
	snprintf(text, sizeof text, "%s_z", name);
	put_tensor(w, text, is_signed ? ONNX_INT8 : ONNX_UINT8, n ? 1 : 0, dims, byte, (size_t)count);
}

static float random_scale(uint64_t *rng, double low, double high)
{
	return (float)(low + (high - low) * (double)test_range(rng, 0, 100000) / 100000);
}

/* The quantisation of the next value: drawn, with parameters NAME_s and NAME_z. */
static void draw_quant(struct writer *w, const char *name, double low, double high)
{
	w->scale = random_scale(&w->rng, low, high);
	w->is_signed = test_rng(&w->rng) % 2;
	w->zero = (int32_t)(w->is_signed ? test_range(&w->rng, -20, 20) : test_range(&w->rng, 100, 150));
	put_quant(w, name, 0, &w->scale, w->is_signed, &w->zero);
}

/* NODE of the list `in` of names, where NAME stands for the three inputs NAME NAME_s NAME_z. */
static void put(struct writer *w, const char *op, const char *name, const char *in, const char *out,
		struct onnx_writer *attrs)
{
	onnx_put_node(&w->g, op, name, in, out, attrs);
}

static void quantise(struct writer *w, const char *from, const char *to, const char *quant)
{
	char in[64], name[32];
	snprintf(in, sizeof in, "%s %s_s %s_z", from, quant, quant);
	snprintf(name, sizeof name, "q_%s", to);
	put(w, "QuantizeLinear", name, in, to, NULL);
}

static void dequantise(struct writer *w, const char *from, const char *to, const char *quant, int axis)
{
	struct onnx_writer attrs = {0};
	char in[64], name[32];
	snprintf(in, sizeof in, "%s %s_s %s_z", from, quant, quant);
	snprintf(name, sizeof name, "d_%s", to);
	onnx_put_attr_int(&attrs, "axis", axis);
	put(w, "DequantizeLinear", name, in, to, &attrs);
}

/* The weights NAME of these dimensions, with a scale for each index along `axis` or one; the scales go to scale[]. */
static bool put_weight(struct writer *w, const char *name, int rank, const int64_t *dims, int axis, float *scale)
{
	bool per_channel = test_rng(&w->rng) % 2, is_signed = per_channel || test_rng(&w->rng) % 2;
	int64_t count = onnx_count(rank, dims), channels = dims[axis];
	int32_t zero[64] = {0};
	uint8_t *data = calloc((size_t)count, 1);
	cr_assert(data && channels <= 64);
	for (int64_t i = 0; i < count; i++)
		data[i] = (uint8_t)test_rng(&w->rng);
	for (int64_t c = 0; c < channels; c++)
		scale[c] = per_channel || !c ? random_scale(&w->rng, 0.001, 0.004) : scale[0];
	if (!is_signed)
		zero[0] = (int32_t)test_range(&w->rng, 100, 150);
	put_quant(w, name, per_channel ? channels : 0, scale, is_signed, zero);
	put_tensor(w, name, is_signed ? ONNX_INT8 : ONNX_UINT8, rank, dims, data, (size_t)count);
	free(data);
	return per_channel;
}

/* x (integers, quantised as XQ) through a Conv to y, quantised as Y. */
static void put_conv(struct writer *w, const char *name, const char *x, const char *xq, int64_t channels,
		     int64_t filters, const char *y)
{
	struct onnx_writer attrs = {0};
	char text[4][32], in[256], bias[32];
	float x_scale = w->scale, scale[64];
	int32_t value[64], none[64] = {0};
	int64_t groups = test_rng(&w->rng) % 3 ? 1 : 2;
	snprintf(text[0], 32, "%s_w", name);
	snprintf(bias, sizeof bias, "%s_b", name);
	bool per_channel = put_weight(w, text[0], 4, (int64_t[]){filters, channels / groups, 3, 3}, 0, scale);
	bool has_bias = test_rng(&w->rng) % 2;
	for (int64_t m = 0; m < filters; m++) {
		value[m] = (int32_t)test_range(&w->rng, -5000, 5000);
		scale[m] *= x_scale;
	}
	if (has_bias)
		put_tensor(w, bias, ONNX_INT32, 1, (int64_t[]){filters}, value, (size_t)filters * sizeof *value);
	draw_quant(w, y, 0.02, 0.08);
	onnx_put_attr_ints(&attrs, "pads", 4, (int64_t[]){1, 1, 1, 1});
	onnx_put_attr_int(&attrs, "group", groups);
	if (!w->qdq) {
		snprintf(in, sizeof in, "%s %s_s %s_z %s_w %s_w_s %s_w_z %s_s %s_z%s%s", x, xq, xq, name, name, name, y,
			 y, has_bias ? " " : "", has_bias ? bias : "");
		put(w, "QLinearConv", name, in, y, &attrs);
		return;
	}
	snprintf(text[1], 32, "%s_x", name);
	snprintf(text[2], 32, "%s_wd", name);
	snprintf(text[3], 32, "%s_y", name);
	dequantise(w, x, text[1], xq, 1);
	dequantise(w, text[0], text[2], text[0], 0);
	if (has_bias) {
		char dequantised[40];
		const int64_t dims[1] = {filters};
		size_t n = per_channel ? (size_t)filters : 1;
		char parameter[40];
		snprintf(parameter, sizeof parameter, "%s_s", bias);
		put_tensor(w, parameter, ONNX_FLOAT, per_channel, dims, scale, n * sizeof *scale);
		snprintf(parameter, sizeof parameter, "%s_z", bias);
		put_tensor(w, parameter, ONNX_INT32, per_channel, dims, none, n * sizeof *none);
		snprintf(dequantised, sizeof dequantised, "%s_d", bias);
		dequantise(w, bias, dequantised, bias, 0);
		snprintf(in, sizeof in, "%s %s %s", text[1], text[2], dequantised);
	} else {
		snprintf(in, sizeof in, "%s %s", text[1], text[2]);
	}
	put(w, "Conv", name, in, text[3], &attrs);
	quantise(w, text[3], y, y);
}

static void put_pool(struct writer *w, const char *x, const char *xq, const char *y)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_ints(&attrs, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_attr_ints(&attrs, "strides", 2, (int64_t[]){2, 2});
	if (!w->qdq) {
		put(w, "MaxPool", "pool", x, y, &attrs);
		return;
	}
	dequantise(w, x, "pool_x", xq, 1);
	put(w, "MaxPool", "pool", "pool_x", "pool_y", &attrs);
	quantise(w, "pool_y", y, xq);
}

/* The halves of x's channels, changed round. */
static void put_halves(struct writer *w, const char *x, const char *xq, const char *y)
{
	struct onnx_writer split = {0}, join = {0};
	onnx_put_attr_int(&split, "axis", 1);
	onnx_put_attr_int(&join, "axis", 1);
	if (!w->qdq) {
		put(w, "Split", "halves", x, "half1 half2", &split);
		put(w, "Concat", "swap", "half2 half1", y, &join);
		return;
	}
	dequantise(w, x, "halves_x", xq, 1);
	put(w, "Split", "halves", "halves_x", "half1 half2", &split);
	quantise(w, "half1", "q1", xq);
	quantise(w, "half2", "q2", xq);
	dequantise(w, "q1", "d1", xq, 1);
	dequantise(w, "q2", "d2", xq, 1);
	put(w, "Concat", "swap", "d2 d1", "swap_y", &join);
	quantise(w, "swap_y", y, xq);
}

static void put_matmul(struct writer *w, const char *x, const char *xq, int64_t k, int64_t n, const char *y)
{
	char in[128];
	float scale[64];
	put_weight(w, "fc_w", 2, (int64_t[]){k, n}, 1, scale);
	draw_quant(w, y, 0.05, 0.2);
	if (!w->qdq) {
		snprintf(in, sizeof in, "%s %s_s %s_z fc_w fc_w_s fc_w_z %s_s %s_z", x, xq, xq, y, y);
		put(w, "QLinearMatMul", "fc", in, y, NULL);
		return;
	}
	dequantise(w, x, "fc_x", xq, 1);
	dequantise(w, "fc_w", "fc_wd", "fc_w", 1);
	put(w, "MatMul", "fc", "fc_x fc_wd", "fc_y", NULL);
	quantise(w, "fc_y", y, y);
}

/* Two convolutions with pooling and a change of channels between them and a dense layer, on float input; outputs in
 * integers. */
static struct net make_network(uint64_t seed, bool qdq)
{
	struct writer w = {.rng = seed, .qdq = qdq};
	struct onnx_writer axis = {0};
	int64_t channels = 2 * test_range(&w.rng, 1, 4), middle = 2 * test_range(&w.rng, 1, 8),
		size = 2 * test_range(&w.rng, 2, 6);
	onnx_put_input(&w.g, "x", ONNX_FLOAT, 4, (int64_t[]){1 + seed % 2, channels, size, size});
	draw_quant(&w, "xq", 0.008, 0.016);
	quantise(&w, "x", "xq", "xq");
	put_conv(&w, "conv1", "xq", "xq", channels, middle, "y1");
	put_pool(&w, "y1", "y1", "p1");
	put_halves(&w, "p1", "y1", "h1");
	put_conv(&w, "conv2", "h1", "y1", middle, 8, "y2");
	onnx_put_attr_int(&axis, "axis", 1);
	put(&w, "Flatten", "flat", "y2", "f", &axis);
	put_matmul(&w, "f", "y2", 8 * size * size / 4, test_range(&w.rng, 1, 20), "y3");
	onnx_put_output(&w.g, "y3");
	uint64_t inputs = seed + 1000;
	return make_net(&w.g, &inputs);
}

static const struct machine {
	const char *name;
	const char *set, *engine;
} machines[] = {{"tpu_v1", NULL, "fast"},
		{"tpu_v1", NULL, "rtl"},
		{"cpu", NULL, NULL},
		{"cpu", "precision=int8", NULL},
		{"reference", "precision=int8", NULL}};

static struct npl_device *open_machine(const struct machine *m)
{
	struct npl_device *device;
	struct npl_err err;
	struct npl_device_options options = {.set = &m->set, .n_sets = m->set ? 1 : 0, .engine = m->engine};
	cr_assert_eq(npl_device_open(m->name, &options, &device, &err), 0, "%s", err.msg);
	return device;
}

Test(session_model_layer, qlinear_networks_are_exact_everywhere)
{
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct npl_device *device = open_machine(&machines[m]);
		for (uint64_t seed = 1; seed <= 40; seed++) {
			char subject[80];
			struct net net = make_network(seed, false);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			snprintf(subject, sizeof subject, "%s %s, seed %d", machines[m].name,
				 machines[m].set ? machines[m].set : "", (int)seed);
			check_same_outputs(&net, o.out, net.reference, subject);
			for (int i = 0; i < net.graph->n_nodes; i++)
				if (net.graph->node[i].macs ||
				    (npl_device_get_info(device)->format == NPL_FORMAT_INT8 &&
				     net.graph->node[i].op == NPL_OP_SPLIT))
					cr_assert_str_neq(o.run.layer[i].ran_on, "host", "%s: %s: %s", subject,
							  net.graph->node[i].name, o.run.layer[i].note);
			free_outcome(&net, &o);
			free_net(&net);
		}
		npl_device_close(device);
	}
}

/* Conv and MatMul between QuantizeLinear and DequantizeLinear are QLinearConv and QLinearMatMul. */
Test(session_model_layer, networks_of_quantize_and_dequantize_are_taken_as_they_are)
{
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct npl_device *device = open_machine(&machines[m]);
		for (uint64_t seed = 1; seed <= 40 && npl_device_get_info(device)->format == NPL_FORMAT_INT8; seed++) {
			char subject[80];
			struct net net = make_network(seed, true), twin = make_network(seed, false);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			snprintf(subject, sizeof subject, "%s, seed %d", machines[m].name, (int)seed);
			check_same_outputs(&net, o.out, twin.reference, subject);
			for (int i = 0; i < net.graph->n_nodes; i++)
				cr_assert_str_neq(o.run.layer[i].ran_on, "host", "%s: %s: %s", subject,
						  net.graph->node[i].name, o.run.layer[i].note);
			free_outcome(&net, &o);
			free_net(&net);
			free_net(&twin);
		}
		npl_device_close(device);
	}
}

/* In float32 they are what their operators say: within rounding of the integer network. */
Test(session_model_layer, in_float32_they_run_as_written)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct net net = make_network(seed, true), twin = make_network(seed, false);
		int64_t n = npl_tensor_count(&net.reference[0]), far = 0;
		const int8_t *a = net.reference[0].data, *b = twin.reference[0].data;
		for (int64_t i = 0; i < n; i++)
			far += abs((uint8_t)(a[i] - b[i] + 4) - 4) > 4; /* some ties upstream round the other way */
		cr_assert_eq(far, 0, "seed %d: %d of %d differ", (int)seed, (int)far, (int)n);
		free_net(&net);
		free_net(&twin);
	}
}

/* A product whose result the model itself rounds to steps of 1/2: what tpu_v1 gives is that to the bit, so its layer
 * loses nothing, though it is far from the float product. */
Test(session_model_layer, what_the_model_rounds_is_no_loss)
{
	struct writer w = {.rng = 5, .qdq = true};
	struct npl_err err;
	struct npl_layer_noise *noise;
	float scale[4];
	onnx_put_input(&w.g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 8});
	put_quant(&w, "xq", 0, (float[]){1.0f / 64}, true, (int32_t[]){0});
	put_quant(&w, "coarse", 0, (float[]){0.5f}, true, (int32_t[]){3});
	quantise(&w, "x", "xi", "xq");
	dequantise(&w, "xi", "xd", "xq", 1);
	put_weight(&w, "w", 2, (int64_t[]){8, 4}, 1, scale);
	dequantise(&w, "w", "wd", "w", 1);
	put(&w, "MatMul", "fc", "xd wd", "z", NULL);
	quantise(&w, "z", "zi", "coarse");
	dequantise(&w, "zi", "y", "coarse", 1);
	onnx_put_output(&w.g, "y");
	uint64_t inputs = 77;
	struct net net = make_net(&w.g, &inputs);
	struct npl_device *device = open_device("tpu_v1");
	struct npl_tensor out[MOST] = {{0}};
	struct npl_run run;
	cr_assert_eq(npl_layer_noise_open(net.graph, 1 << 20, &noise, &err), 0, "%s", err.msg);
	struct npl_value_observer observer = npl_layer_noise_reference(noise);
	cr_assert_eq(npl_evaluate_observed(net.graph, net.in, out, NULL, &observer, &err), 0, "%s", err.msg);
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	observer = npl_layer_noise_device(noise);
	npl_session_observe(o.session, &observer);
	npl_tensor_free(&out[0]);
	cr_assert_eq(npl_session_run(o.session, net.in, out, &run, &err), 0, "%s", err.msg);
	const int fc = (int)(row_of(&net, &o, "fc") - o.run.layer);
	const struct npl_layer_accuracy accuracy = npl_layer_noise_of(noise, fc);
	cr_assert(accuracy.sqnr_db > 100 && accuracy.max_abs_error < 1e-6, "%g dB", accuracy.sqnr_db);
	cr_assert(o.run.layer[fc].output_quant.scale == 0.5f && o.run.layer[fc].output_quant.zero_point == 3);
	npl_run_free(&run);
	npl_tensor_free(&out[0]);
	npl_layer_noise_close(noise);
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}

/* Runs the graph with each node on the device of its place, beside which the operators' own results stand. */
static void check_placed(struct writer *w, const char *const *devices, const int *place, const char *subject)
{
	uint64_t inputs = 7;
	struct net net = make_net(&w->g, &inputs);
	struct npl_device *device[2] = {open_device_set(devices[0], 1, (const char *[]){"precision=int8"}),
					open_device(devices[1])};
	struct outcome o = run_net(&net, device, 2, place, false);
	check_same_outputs(&net, o.out, net.reference, subject);
	free_outcome(&net, &o);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	free_net(&net);
}

static struct writer rounded_input(void)
{
	struct writer w = {.rng = 5};
	onnx_put_input(&w.g, "x", ONNX_FLOAT, 3, (int64_t[]){2, 4, 6});
	put_quant(&w, "xq", 0, (float[]){1.0f / 64}, true, (int32_t[]){3});
	return w;
}

/* Floats that a device of floats makes and reads, with their integers between two devices: no layer group takes the
 * ones for the others. */
Test(session_model_layer, quantised_on_another_device_than_computed)
{
	static const int place[] = {1, 0, 1, 0, 1};
	static const char *const floats[] = {"cpu", "reference"};
	for (int k = 0; k < 2; k++) {
		struct writer w = rounded_input();
		put(&w, "Relu", "relu", "x", "r", NULL);
		quantise(&w, "r", "q", "xq");
		put(&w, "Transpose", "turn", "q", "t", NULL);
		dequantise(&w, "t", "d", "xq", 1);
		put(&w, "Abs", "abs", "d", "y", NULL);
		onnx_put_output(&w.g, "y");
		check_placed(&w, (const char *[]){"tpu_v1", floats[k]}, place, floats[k]);
	}
}

/* The integers have the shape of the value that is quantised, whatever that is a view of. */
Test(session_model_layer, a_view_is_quantised)
{
	static const int place[] = {0, 0, 0, 0};
	static const char *const integers[] = {"reference", "tpu_v1", "cpu"};
	for (int k = 0; k < 3; k++) {
		struct writer w = rounded_input();
		struct onnx_writer axis = {0};
		onnx_put_int64s(&w.g, "flat", 2, (int64_t[]){2, 24});
		put(&w, "Reshape", "reshape", "x flat", "f", NULL);
		quantise(&w, "f", "q", "xq");
		onnx_put_attr_int(&axis, "axis", 1);
		put(&w, "Split", "split", "q", "a b", &axis);
		put(&w, "Transpose", "turn", "b", "t", NULL);
		onnx_put_output(&w.g, "a");
		onnx_put_output(&w.g, "t");
		check_placed(&w, (const char *[]){integers[k], "host"}, place, integers[k]);
	}
}
