/* SPDX-License-Identifier: MIT
 *
 * Promises of the cpu in 8 bits about what 8 bits cannot hold: recurrent layers, several results, inputs that are no
 * floats and constants of unknown range run there in float32, as the graph has them, with the reason in their row, and
 * nothing is left to the modelled host. What no conversion comes between is as close to the reference as in float32;
 * products of two computed tensors stay integers. */
#include "tests/kit/session_net.h"

static struct npl_device *cpu_int8(void)
{
	return open_device_set("cpu", 1, (const char *const[]){"precision=int8"});
}

static void check_nothing_on_the_host(const struct net *net, const struct outcome *o)
{
	for (int i = 0; i < net->graph->n_nodes; i++)
		cr_assert(strcmp(o->run.layer[i].ran_on, "host"), "%s: %s", net->graph->node[i].name,
			  o->run.layer[i].note ? o->run.layer[i].note : "");
	check_totals(&o->run, "on the cpu");
}

static void put_recurrent(struct onnx_writer *g, uint64_t *rng, const char *op, const char *name, const char *in,
			  const char *out, int64_t inputs, int64_t hidden)
{
	const int64_t gates = !strcmp(op, "LSTM") ? 4 : !strcmp(op, "GRU") ? 3 : 1;
	struct onnx_writer attrs = {0};
	char w[16], r[16], all[64];
	snprintf(w, sizeof w, "%s_w", name);
	snprintf(r, sizeof r, "%s_r", name);
	snprintf(all, sizeof all, "%s %s %s", in, w, r);
	put_weights(g, rng, w, 3, (int64_t[]){1, gates * hidden, inputs});
	put_weights(g, rng, r, 3, (int64_t[]){1, gates * hidden, hidden});
	onnx_put_attr_int(&attrs, "hidden_size", hidden);
	onnx_put_node(g, op, name, all, out, &attrs);
}

/* x (5,2,8) -> three recurrent layers, of whose results the first and the last are read: no integer comes between. */
Test(session_floats, recurrent_layers_stay_in_floats)
{
	static const char *const ops[] = {"LSTM", "GRU", "RNN"};
	struct npl_device *device = cpu_int8();
	uint64_t rng = 0x5eed0321;
	for (int i = 0; i < 3; i++) {
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){5, 2, 8});
		put_recurrent(&g, &rng, ops[i], "one", "x", "a last", 8, 6);
		onnx_put_node(&g, "Squeeze", "rows", "a axes", "b", NULL);
		onnx_put_int64s(&g, "axes", 1, (int64_t[]){1});
		put_recurrent(&g, &rng, ops[i], "two", "b", "c", 6, 7);
		onnx_put_output(&g, "c");
		onnx_put_output(&g, "last");
		struct net net = make_net(&g, &rng);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		check_nothing_on_the_host(&net, &o);
		cr_assert_lt(error_of(&net, o.out), 1e-5, "%s: no integer comes between", ops[i]);
		cr_assert(strstr(row_of(&net, &o, "one")->note, "in float32: "), "%s", row_of(&net, &o, "one")->note);
		cr_assert_eq(row_of(&net, &o, "one")->output_dtype, NPL_F32);
		cr_assert_eq(o.run.host_seconds, 0, "nothing was converted");
		free_outcome(&net, &o);
		free_net(&net);
	}
	npl_device_close(device);
}

/* x -> Conv + Relu (integers) -> TopK of both results, Sub with a constant, Conv again; beside them ArgMax and Gather
 * of it. */
Test(session_floats, integers_and_floats_follow_each_other)
{
	struct npl_device *device = cpu_int8();
	uint64_t rng = 0x5eed0322;
	for (int round = 0; round < 10; round++) {
		struct onnx_writer g = {0}, axis = {0}, arg = {0}, gather = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 9, 9});
		put_weights(&g, &rng, "w1", 4, (int64_t[]){8, 3, 3, 3});
		put_weights(&g, &rng, "w2", 4, (int64_t[]){5, 8, 1, 1});
		put_weights(&g, &rng, "shift", 1, (int64_t[]){7});
		put_weights(&g, &rng, "names", 1, (int64_t[]){8});
		onnx_put_int64s(&g, "four", 1, (int64_t[]){4});
		onnx_put_node(&g, "Conv", "conv1", "x w1", "a", NULL);
		onnx_put_node(&g, "Relu", "relu", "a", "b", NULL);
		onnx_put_node(&g, "Sub", "shifted", "b shift", "c", NULL);
		onnx_put_node(&g, "Conv", "conv2", "c w2", "d", NULL);
		onnx_put_attr_int(&axis, "axis", 2);
		onnx_put_node(&g, "TopK", "top", "d four", "e places", &axis);
		onnx_put_attr_int(&arg, "axis", 1);
		onnx_put_node(&g, "ArgMax", "best", "b", "f", &arg);
		onnx_put_attr_int(&gather, "axis", 0);
		onnx_put_node(&g, "Gather", "picked", "names f", "h", &gather);
		onnx_put_output(&g, "e");
		onnx_put_output(&g, "places");
		onnx_put_output(&g, "h");
		struct net net = make_net(&g, &rng);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		check_nothing_on_the_host(&net, &o);
		cr_assert_lt(error_of(&net, (struct npl_tensor[]){o.out[0], net.reference[1], net.reference[2]}), 0.05);
		cr_assert_eq(row_of(&net, &o, "conv2")->output_dtype, NPL_U8, "again in integers");
		cr_assert_eq(row_of(&net, &o, "shifted")->output_dtype, NPL_F32);
		cr_assert_null(row_of(&net, &o, "conv2")->note);
		struct outcome repeated = run_net(&net, &device, 1, NULL, false);
		check_same_outputs(&net, o.out, repeated.out, "a second run");
		free_outcome(&net, &repeated);
		free_outcome(&net, &o);
		free_net(&net);
	}
	npl_device_close(device);
}

static void put_scalars(struct onnx_writer *g, const char *scale, float s, const char *zero, uint8_t z)
{
	struct onnx_writer tensor = onnx_tensor_of(zero, ONNX_UINT8, 0, NULL, &z, 1);
	onnx_put_floats(g, scale, 0, NULL, &s);
	onnx_put_message(g, 5, &tensor);
}

/* The model's own QuantizeLinear and DequantizeLinear around layers in float32: the operators' own rule decides every
 * bit. */
Test(session_floats, a_models_own_integers_around_floats)
{
	struct npl_device *device = cpu_int8();
	uint64_t rng = 0x5eed0323;
	for (int round = 0; round < 10; round++) {
		struct onnx_writer g = {0}, pool = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){5, 2, 8});
		put_scalars(&g, "s1", 0.02f, "z1", 128);
		put_scalars(&g, "s2", 0.01f, "z2", 120);
		onnx_put_node(&g, "QuantizeLinear", "q1", "x s1 z1", "a", NULL);
		onnx_put_node(&g, "DequantizeLinear", "d1", "a s1 z1", "b", NULL);
		put_recurrent(&g, &rng, "GRU", "gru", "b", "c", 8, 6);
		onnx_put_node(&g, "QuantizeLinear", "q2", "c s2 z2", "d", NULL);
		onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
		onnx_put_node(&g, "MaxPool", "pool", "d", "e", &pool);
		onnx_put_node(&g, "DequantizeLinear", "d2", "e s2 z2", "y", NULL);
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		check_nothing_on_the_host(&net, &o);
		for (int64_t k = 0; k < npl_tensor_count(&o.out[0]); k++) /* a tie may fall otherwise: one step */
			cr_assert_float_eq(((float *)o.out[0].data)[k], ((float *)net.reference[0].data)[k], 0.0101);
		free_outcome(&net, &o);
		free_net(&net);
	}
	npl_device_close(device);
}

/* Attention: the scores and the context are products of what other layers compute. */
Test(session_floats, products_of_computed_tensors_are_integers)
{
	struct npl_device *device = cpu_int8();
	uint64_t rng = 0x5eed0324;
	struct onnx_writer g = {0}, swap = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){2, 12, 16});
	put_weights(&g, &rng, "wq", 2, (int64_t[]){16, 16});
	put_weights(&g, &rng, "wk", 2, (int64_t[]){16, 16});
	put_weights(&g, &rng, "wv", 2, (int64_t[]){16, 16});
	onnx_put_node(&g, "MatMul", "query", "x wq", "q", NULL);
	onnx_put_node(&g, "MatMul", "key", "x wk", "k", NULL);
	onnx_put_node(&g, "MatMul", "value", "x wv", "v", NULL);
	onnx_put_attr_ints(&swap, "perm", 3, (int64_t[]){0, 2, 1});
	onnx_put_node(&g, "Transpose", "turned", "k", "kt", &swap);
	onnx_put_node(&g, "MatMul", "scores", "q kt", "s", NULL);
	onnx_put_node(&g, "Relu", "positive", "s", "p", NULL);
	onnx_put_node(&g, "MatMul", "context", "p v", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	check_nothing_on_the_host(&net, &o);
	cr_assert_eq(row_of(&net, &o, "scores")->output_dtype, NPL_U8);
	cr_assert_eq(row_of(&net, &o, "context")->output_dtype, NPL_U8);
	cr_assert_eq(row_of(&net, &o, "positive")->role, NPL_FUSED);
	cr_assert_lt(error_of(&net, o.out), 0.03);
	free_outcome(&net, &o);
	free_net(&net);
	npl_device_close(device);
}

/* x -> Relu -> Sqrt of x - 0.5, which no number is for half of them -> Relu: what held a NaN is left to floats, as it
 * is. */
Test(session_floats, nans_that_are_computed)
{
	struct npl_device *device = cpu_int8();
	uint64_t rng = 0x5eed0326;
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){3, 16});
	put_weights(&g, &rng, "b", 1, (int64_t[]){16});
	onnx_put_node(&g, "Add", "shifted", "x b", "s", NULL);
	onnx_put_node(&g, "Sqrt", "root", "s", "r", NULL);
	onnx_put_node(&g, "Add", "twice", "r r", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	int nans = 0, n = (int)npl_tensor_count(&o.out[0]);
	for (int i = 0; i < n; i++)
		nans += isnan(((float *)o.out[0].data)[i]) != 0;
	check_nothing_on_the_host(&net, &o);
	cr_assert(nans > 5 && nans < n - 5, "%d of %d", nans, n);
	cr_assert_str_eq(row_of(&net, &o, "root")->note, "in float32: its result holds a NaN, which int8 cannot hold");
	cr_assert_eq(row_of(&net, &o, "shifted")->output_dtype, NPL_U8);
	free_outcome(&net, &o);
	free_net(&net);
	npl_device_close(device);
}

/* A dynamically quantised product: its zero points are computed; the sums are the reference's to the bit, in either
 * precision. */
Test(session_floats, products_of_integers_with_computed_zero_points)
{
	uint64_t rng = 0x5eed0327;
	for (int round = 0; round < 20; round++) {
		struct npl_device *device = round % 2 ? cpu_int8() : open_device("cpu");
		const int64_t stack = test_range(&rng, 1, 3), m = test_range(&rng, 1, 40), k = test_range(&rng, 1, 60),
			      n = test_range(&rng, 1, 50);
		struct onnx_writer g = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){stack, m, k});
		onnx_put_input(&g, "w", ONNX_FLOAT, 2, (int64_t[]){k, n});
		onnx_put_node(&g, "DynamicQuantizeLinear", "qx", "x", "xq xs xz", NULL);
		onnx_put_node(&g, "DynamicQuantizeLinear", "qw", "w", "wq ws wz", NULL);
		onnx_put_node(&g, "MatMulInteger", "product", "xq wq xz wz", "y", NULL);
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		check_nothing_on_the_host(&net, &o);
		check_same_outputs(&net, o.out, net.reference, "sums");
		free_outcome(&net, &o);
		free_net(&net);
		npl_device_close(device);
	}
}

/* A device that computes in integers alone leaves to the host what it left before. */
Test(session_floats, a_simulated_machine_has_no_floats)
{
	uint64_t rng = 0x5eed0325;
	struct npl_device *device = open_device("tpu_v1");
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){5, 2, 8});
	put_recurrent(&g, &rng, "LSTM", "one", "x", "y", 8, 6);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	cr_assert_str_eq(row_of(&net, &o, "one")->ran_on, "host");
	check_same_outputs(&net, o.out, net.reference, "on the host");
	free_outcome(&net, &o);
	free_net(&net);
	npl_device_close(device);
}

/* x -> float16 -> Conv and Gemm with weights of that type -> float32. Every layer of float16 runs on the device, in 8
 * bits with the reason. */
Test(session_floats, layers_of_16_bit_floats_run_on_the_device)
{
	static const int types[] = {ONNX_FLOAT16, ONNX_BFLOAT16};
	struct npl_device *device[] = {open_device("cpu"), cpu_int8(), open_device("reference")};
	uint64_t rng = 0x5eed0722;
	for (int t = 0; t < 2; t++) {
		struct onnx_writer g = {0};
		static const char *const casts[][2] = {{"x", "h"}, {"w0", "w"}, {"v0", "v"}};
		onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 9, 9});
		put_weights(&g, &rng, "w0", 4, (int64_t[]){8, 3, 3, 3});
		put_weights(&g, &rng, "v0", 2, (int64_t[]){8, 5});
		for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
			struct onnx_writer to = {0};
			onnx_put_attr_int(&to, "to", types[t]);
			onnx_put_node(&g, "Cast", casts[i][1], casts[i][0], casts[i][1], &to);
		}
		struct onnx_writer back = {0};
		onnx_put_attr_int(&back, "to", ONNX_FLOAT);
		onnx_put_node(&g, "Conv", "conv", "h w", "c", NULL);
		onnx_put_node(&g, "Relu", "relu", "c", "r", NULL);
		onnx_put_node(&g, "GlobalAveragePool", "mean", "r", "m", NULL);
		onnx_put_node(&g, "Flatten", "rows", "m", "f", NULL);
		onnx_put_node(&g, "Gemm", "gemm", "f v", "p", NULL);
		onnx_put_node(&g, "Cast", "back", "p", "y", &back);
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		for (int d = 0; d < 3; d++) {
			struct outcome o = run_net(&net, &device[d], 1, NULL, false);
			const char *note = row_of(&net, &o, "conv")->note;
			check_nothing_on_the_host(&net, &o);
			cr_assert_lt(error_of(&net, o.out), t ? 0x1p-6 : 0x1p-9, "device %d", d);
			cr_assert(d != 1 || (strstr(note, "in float32: its input is ") &&
					     strstr(note, ", and only float32 becomes int8")),
				  "%s", note);
			free_outcome(&net, &o);
		}
		free_net(&net);
	}
	for (int d = 0; d < 3; d++)
		npl_device_close(device[d]);
}

/* Lengths and axes as inputs are told from data that no format of integers stands for. */
Test(session_floats, settings_are_no_data)
{
	struct npl_device *device = open_device("tpu_v1");
	struct onnx_writer g = {0};
	uint64_t rng = 0x5eed0723;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 3});
	onnx_put_int64s(&g, "lengths", 4, (int64_t[]){0, 1, 0, 1});
	onnx_put_node(&g, "Pad", "pad", "x lengths", "p", NULL);
	onnx_put_node(&g, "ArgMax", "which", "p", "i", NULL);
	onnx_put_node(&g, "Gather", "gather", "x i", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	static const char *const notes[][2] = {
		{"pad", "its input 'lengths' is a constant of type int64, such as an axis, which no int8 layer takes"},
		{"which", "its result is int64, and only float32 becomes int8"},
		{"gather", "its input 'i' is int64, and only float32 becomes int8"}};
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
		cr_assert_str_eq(row_of(&net, &o, notes[i][0])->note, notes[i][1]);
	free_outcome(&net, &o);
	free_net(&net);
	npl_device_close(device);
}

/* Scales, a normalisation's vectors, ratios and exponents are float32 beside data of 16 bits, as ONNX has them; other
 * floats do not mix. */
Test(session_floats, float32_is_accepted_beside_halves_where_onnx_has_it)
{
	static const float one[] = {1, 1, 1, 1, 1, 1, 1, 1}, none[8] = {0}, scales[] = {1, 1, 2, 2}, ratio = 0.5f,
			   square = 2;
	uint64_t rng = 0x5eed0328;
	for (int type = 0; type < 2; type++) {
		struct npl_device *device = open_device("cpu");
		struct onnx_writer g = {0}, narrow = {0}, wide = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 8, 3, 5});
		onnx_put_floats(&g, "scales", 1, (int64_t[]){4}, scales);
		onnx_put_floats(&g, "one", 1, (int64_t[]){8}, one);
		onnx_put_floats(&g, "none", 1, (int64_t[]){8}, none);
		onnx_put_floats(&g, "ratio", 0, NULL, &ratio);
		onnx_put_floats(&g, "square", 0, NULL, &square);
		onnx_put_attr_int(&narrow, "to", type ? 16 : 10); /* bfloat16, float16 */
		onnx_put_attr_int(&wide, "to", 1);
		onnx_put_node(&g, "Cast", "narrow", "x", "h", &narrow);
		onnx_put_node(&g, "Resize", "resize", "h  scales", "r", NULL);
		onnx_put_node(&g, "BatchNormalization", "norm", "r one none none one", "n", NULL);
		onnx_put_node(&g, "Dropout", "drop", "n ratio", "d", NULL);
		onnx_put_node(&g, "Pow", "pow", "d square", "p", NULL);
		onnx_put_node(&g, "Cast", "wide", "p", "y", &wide);
		onnx_put_output(&g, "y");
		struct net net = make_net(&g, &rng);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		cr_assert_lt(error_of(&net, o.out), 1e-6);
		for (int i = 0; i < 8 * 3 * 5; i++) { /* each element four times, squared */
			const float x = ((float *)net.in[0].data)[i];
			const int at = i / 15 * 60 + i % 15 / 5 * 20 + i % 5 * 2;
			cr_assert_leq(fabsf(((float *)o.out[0].data)[at] - x * x), type ? 0x1p-5f : 0x1p-8f);
		}
		free_outcome(&net, &o);
		free_net(&net);
		npl_device_close(device);
	}
}

Test(session_floats, two_types_of_data_do_not_mix)
{
	uint64_t rng = 0x5eed0329;
	struct onnx_writer g = {0}, narrow = {0};
	struct npl_graph *graph;
	struct npl_err err;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){2, 8});
	put_weights(&g, &rng, "b", 1, (int64_t[]){8});
	onnx_put_attr_int(&narrow, "to", 10);
	onnx_put_node(&g, "Cast", "narrow", "x", "h", &narrow);
	onnx_put_node(&g, "Add", "add", "h b", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 13);
	cr_assert_eq(npl_graph_load_memory("net.onnx", model.data, model.bytes, NULL, GRAPH_LIMITS, &graph, &err),
		     NPL_EINPUT);
	cr_assert(strstr(err.msg, "input 1 is float32, another float16"), "%s", err.msg);
	onnx_writer_free(&model);
}
