/* SPDX-License-Identifier: MIT
 *
 * What a session promises of masked attention and of what lies around it: a mask's great negative numbers do not decide
 * the scale of what Softmax reads, on any device of integers; and the reference, which has a host with floats, is no
 * worse than the machine. Values that were made in float32 stay so until a product reads them. */
#include "npulab/compare.h"
#include "tests/kit/session_net.h"

#define ROWS   12
#define WIDTH  16
#define DB_OFF 1.5 /* between two devices that round the same values at different places */

static void put_product(struct onnx_writer *g, uint64_t *rng, const char *w, const char *in, const char *out)
{
	put_weights(g, rng, w, 2, (int64_t[]){WIDTH, WIDTH});
	onnx_put_node(g, "MatMul", out, in, out, NULL);
}

/* One causal head: the scores are scaled by a Mul, which integers do, and a constant is added to them. */
static struct net attention(uint64_t seed, float masked)
{
	static const float quarter = 0.25f;
	struct onnx_writer g = {0}, turn = {0}, last = {0};
	uint64_t rng = seed;
	float mask[ROWS * ROWS];
	for (int i = 0; i < ROWS * ROWS; i++)
		mask[i] = i % ROWS > i / ROWS ? masked : (float)test_range(&rng, -100, 100) / 100;
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){1, ROWS, WIDTH});
	onnx_put_floats(&g, "quarter", 0, NULL, &quarter);
	onnx_put_floats(&g, "mask", 3, (int64_t[]){1, ROWS, ROWS}, mask);
	put_product(&g, &rng, "wq", "x wq", "q");
	put_product(&g, &rng, "wk", "x wk", "k");
	put_product(&g, &rng, "wv", "x wv", "v");
	onnx_put_attr_ints(&turn, "perm", 3, (int64_t[]){0, 2, 1});
	onnx_put_node(&g, "Transpose", "t", "k", "t", &turn);
	onnx_put_node(&g, "MatMul", "scores", "q t", "s", NULL);
	onnx_put_node(&g, "Mul", "scaled", "s quarter", "f", NULL);
	onnx_put_node(&g, "Add", "masked", "f mask", "m", NULL);
	onnx_put_attr_int(&last, "axis", -1);
	onnx_put_node(&g, "Softmax", "softmax", "m", "p", &last);
	onnx_put_node(&g, "MatMul", "context", "p v", "y", NULL);
	onnx_put_output(&g, "y");
	return make_net(&g, &rng);
}

static double decibels(struct net *net, const char *name, const char *precision, const char *masked_on)
{
	char set[40];
	snprintf(set, sizeof set, "precision=%s", precision);
	struct npl_device *device = open_device_set(name, 1, (const char *[]){set});
	struct outcome o = run_net(net, &device, 1, NULL, false);
	struct npl_accuracy accuracy;
	npl_accuracy_of(net->reference, o.out, 1, 1, NULL, &accuracy);
	if (masked_on)
		cr_assert_str_eq(row_of(net, &o, "masked")->ran_on, masked_on, "%s", row_of(net, &o, "masked")->note);
	free_outcome(net, &o);
	npl_device_close(device);
	return accuracy.sqnr_db;
}

Test(session_masks, reference_is_no_worse_than_the_machine)
{
	static const float masks[] = {-1e4f, -3.4e38f, -INFINITY};
	for (int m = 0; m < 3; m++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct net net = attention(0x3a5c0000 + seed, masks[m]);
			const double bytes = decibels(&net, "reference", "int8", "host"),
				     machine = decibels(&net, "tpu_v1", "int8", "tpu_v1"),
				     words = decibels(&net, "reference", "8x16", "host"),
				     wide = decibels(&net, "tpu_v1", "8x16", "tpu_v1");
			cr_assert(machine > 25 && bytes > machine - DB_OFF, "mask %g, seed %d: %g dB beside %g",
				  (double)masks[m], (int)seed, bytes, machine);
			cr_assert(wide > 35 && words > wide - DB_OFF, "mask %g, seed %d: %g dB beside %g in 16 bits",
				  (double)masks[m], (int)seed, words, wide);
			cr_assert_gt(decibels(&net, "cpu", "int8", "cpu"), 25);
			free_net(&net);
		}
}

/* What a Softmax does not read, or reads without a mask, has the scale of all that was seen. */
Test(session_masks, a_sum_that_is_an_output_is_no_mask)
{
	for (int shown = 0; shown < 2; shown++) {
		struct onnx_writer g = {0};
		uint64_t rng = 0x3a5c1000;
		float mask[ROWS] = {0};
		mask[0] = shown ? -1e4f : -2;
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, ROWS});
		onnx_put_floats(&g, "mask", 2, (int64_t[]){1, ROWS}, mask);
		onnx_put_node(&g, "Add", "masked", "x mask", "m", NULL);
		onnx_put_node(&g, "Softmax", "softmax", "m", "p", NULL);
		onnx_put_output(&g, "p");
		if (shown)
			onnx_put_output(&g, "m");
		struct net net = make_net(&g, &rng);
		struct npl_device *device = open_device_set("reference", 1, (const char *[]){"precision=int8"});
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		cr_assert_str_eq(row_of(&net, &o, "masked")->ran_on, "reference");
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* A sum and a Transpose after a Softmax are not rounded to 8 bits; the product after them is in integers again. */
Test(session_masks, floats_stay_floats_until_a_product)
{
	static const char *const devices[] = {"reference", "cpu"};
	struct onnx_writer g = {0};
	uint64_t rng = 0x3a5c2000;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){WIDTH, WIDTH});
	put_weights(&g, &rng, "shift", 1, (int64_t[]){WIDTH});
	onnx_put_node(&g, "Softmax", "softmax", "x", "a", NULL);
	onnx_put_node(&g, "Add", "sum", "a shift", "b", NULL);
	onnx_put_node(&g, "Transpose", "turned", "b", "c", NULL);
	put_product(&g, &rng, "w", "c w", "y");
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "c");
	struct net net = make_net(&g, &rng);
	for (int d = 0; d < 2; d++) {
		struct npl_device *device = open_device_set(devices[d], 1, (const char *[]){"precision=int8"});
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		cr_assert_eq(row_of(&net, &o, "sum")->output_dtype, NPL_F32, "%s", devices[d]);
		cr_assert_eq(row_of(&net, &o, "turned")->output_dtype, NPL_F32, "%s", devices[d]);
		cr_assert_eq(row_of(&net, &o, "y")->output_dtype, NPL_U8, "%s", devices[d]);
		free_outcome(&net, &o);
		npl_device_close(device);
	}
	free_net(&net);
}
