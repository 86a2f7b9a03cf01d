/* SPDX-License-Identifier: MIT
 *
 * What a session promises of Sigmoid, Tanh and Relu6 on diannao: after a convolution or a Gemm they are done in its
 * pass, by themselves as a layer of their own, none goes to the host; their results have a scale of Q6.10 or finer that
 * holds them without saturation; they are as near the float reference as the segments allow; and they take the time of
 * a Relu. */
#include "tests/kit/session_net.h"

/* With the greatest error there may be, over the greatest value of f and of y: of y's sums nothing but rounding, or 128
 * times a part of what the segments put into f. */
static const struct {
	const char *name;
	double most_error;
} ops[] = {{"Relu", 0.004}, {"Clip", 0.004}, {"Sigmoid", 0.02}, {"Tanh", 0.08}};

/* x -> Conv c -> f -> Flatten -> Gemm g -> f -> y, the same f; `alone`: c is also an output, so that f is a layer of
 * its own. */
static struct net make_functions(uint64_t *rng, const char *op, float size, bool alone)
{
	struct onnx_writer g = {0};
	bool clip = !strcmp(op, "Clip");
	float low = 0, high = 6, *w = random_floats(rng, 8 * 16 * 9);
	for (int i = 0; i < 8 * 16 * 9; i++)
		w[i] *= size;
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 16, 6, 6});
	onnx_put_floats(&g, "w", 4, (int64_t[]){8, 16, 3, 3}, w);
	free(w);
	put_weights(&g, rng, "v", 2, (int64_t[]){128, 10});
	onnx_put_floats(&g, "low", 0, NULL, &low);
	onnx_put_floats(&g, "high", 0, NULL, &high);
	onnx_put_node(&g, "Conv", "conv", "x w", "c", NULL);
	onnx_put_node(&g, op, "first", clip ? "c low high" : "c", "f", NULL);
	onnx_put_node(&g, "Flatten", "flat", "f", "l", NULL);
	onnx_put_node(&g, "MatMul", "gemm", "l v", "m", NULL);
	onnx_put_node(&g, op, "second", clip ? "m low high" : "m", "y", NULL);
	onnx_put_output(&g, "f");
	onnx_put_output(&g, "y");
	if (alone)
		onnx_put_output(&g, "c");
	return make_net(&g, rng);
}

static void check_functions(uint64_t seed, int op, float size, bool alone)
{
	uint64_t rng = seed;
	struct net net = make_functions(&rng, ops[op].name, size, alone);
	struct npl_device *device = open_device("diannao");
	struct outcome o = run_net(&net, &device, 1, NULL, false), timed = run_net(&net, &device, 1, NULL, true);
	char subject[100];
	snprintf(subject, sizeof subject, "%s, size %g, %s, seed %d", ops[op].name, (double)size,
		 alone ? "alone" : "fused", (int)seed);
	for (int i = 0; i < o.run.n_layers; i++)
		cr_assert_str_eq(o.run.layer[i].ran_on, "diannao", "%s: %s: %s", subject, net.graph->node[i].name,
				 o.run.layer[i].note);
	cr_assert_eq(row_of(&net, &o, "first")->role, alone ? NPL_RAN : NPL_FUSED, "%s", subject);
	cr_assert_eq(row_of(&net, &o, "second")->role, NPL_FUSED, "%s", subject);
	float scale = row_of(&net, &o, alone ? "first" : "conv")->output_quant.scale;
	if (op >= 2)
		cr_assert(scale <= 0x1p-10f && row_of(&net, &o, "gemm")->output_quant.scale <= 0x1p-10f, "%s", subject);
	cr_assert_eq(o.run.saturations, 0, "%s: %d", subject, (int)o.run.saturations);
	cr_assert_eq(o.run.cycles, timed.run.cycles, "%s", subject);
	cr_assert(error_of(&net, o.out) < ops[op].most_error, "%s: error %g", subject, error_of(&net, o.out));
	check_totals(&o.run, subject);
	free_outcome(&net, &timed);
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}

Test(session_functions, run_on_diannao)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (int op = 0; op < 4; op++)
			for (int single = 0; single < 2; single++) {
				check_functions(seed, op, 0.05f, single);
				check_functions(seed, op, 1, single);
			}
}

/* A Clip by itself has the scale of its input. Where values reach 16, 6 is none of the hard-wired limits. */
Test(session_functions, a_clip_that_is_not_exact_goes_to_the_host)
{
	uint64_t rng = 3;
	struct net net = make_functions(&rng, "Clip", 8, true);
	struct npl_device *device = open_device("diannao");
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	const struct npl_layer_run *first = row_of(&net, &o, "first");
	cr_assert_gt(row_of(&net, &o, "conv")->output_quant.scale, 0x1p-10f);
	cr_assert_str_eq(first->ran_on, "host");
	cr_assert(strstr(first->note, "limits of NFU-3's segments"), "%s", first->note);
	cr_assert_eq(row_of(&net, &o, "second")->role, NPL_FUSED, "its own scale holds 6");
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}
