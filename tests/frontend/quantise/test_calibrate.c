/* SPDX-License-Identifier: MIT
 *
 * Promises of calibration: minmax is what was seen; a percentile leaves out no more than it says, is nested, and cuts
 * what lies far out; mse gives values about the least squared error that 8 bits can have; formats of 16 bits are left
 * all of it; how the inputs are cut into batches does not matter. */
#include "frontend/quantise/quantise.h"
#include "npulab/calibrate.h"
#include "tests/kit/session_net.h"

#define ELEMENTS 4096

/* A value of one sign, and others of both. */
static struct net make_branches(uint64_t *rng)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, ELEMENTS});
	onnx_put_node(&g, "Relu", "relu", "x", "y", NULL);
	onnx_put_node(&g, "Tanh", "tanh", "x", "z", NULL);
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "z");
	return make_net(&g, rng);
}

/* Bell-shaped, one element in `rare` twenty times as far out. */
static void draw(uint64_t *rng, int rare, float *x)
{
	for (int i = 0; i < ELEMENTS; i++) {
		double sum = 0;
		for (int k = 0; k < 12; k++)
			sum += (double)test_range(rng, -1000, 1000) / 2000;
		x[i] = (float)(rare && i % rare == 0 ? 20 * sum : sum);
	}
}

static struct npl_calibration *calibrate(struct net *net, const char *text, float (*batch)[ELEMENTS], int n)
{
	struct npl_calibration_options how;
	struct npl_calibration *c;
	struct npl_err err;
	cr_assert_eq(npl_calibration_parse(text, &how, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_calibration_open(net->graph, &how, &c, &err), 0, "%s", err.msg);
	for (int pass = 0; pass < npl_calibration_passes(c); pass++)
		for (int b = 0; b < n; b++) {
			struct npl_tensor in = net->in[0], out[MOST] = {{0}};
			in.data = batch[b];
			cr_assert_eq(npl_calibration_batch(c, pass, &in, out, NULL, &err), 0, "%s", err.msg);
			for (int i = 0; i < net->graph->n_outputs; i++)
				npl_tensor_free(&out[i]);
		}
	return c;
}

static double squared_error(const float *x, int n, struct npl_range range)
{
	struct npl_tensor real = {.dtype = NPL_F32, .shape = npl_shape_of(1, n), .data = (void *)x}, q, restored;
	struct npl_err err;
	double sum = 0;
	uint64_t saturations = 0;
	cr_assert_eq(npl_quantise_counting(&real, NPL_FORMAT_INT8, npl_quant_of_range(NPL_FORMAT_INT8, range), &q,
					   &saturations, &err),
		     0);
	cr_assert_eq(npl_dequantise(&q, &restored, &err), 0);
	for (int i = 0; i < n; i++)
		sum += pow((double)((float *)restored.data)[i] - (double)x[i], 2);
	npl_tensor_free(&q);
	npl_tensor_free(&restored);
	return sum;
}

static double outside(const float *x, int n, struct npl_range range)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += x[i] < range.low || x[i] > range.high;
	return (double)count / n;
}

Test(calibrate, percentiles_leave_out_what_they_say_and_no_more)
{
	static float x[2][ELEMENTS];
	uint64_t rng = 5;
	struct net net = make_branches(&rng);
	const int v = net.graph->input[0];
	draw(&rng, 100, x[0]);
	draw(&rng, 100, x[1]);
	static const char *const text[] = {"minmax",     "percentile=100", "percentile=99.9",
					   "percentile", "percentile=99",  "percentile=90"};
	static const double maximum[] = {0, 0, 0.001, 0.0001, 0.01, 0.1};
	struct npl_range last = {.low = -1e9f, .high = 1e9f};
	for (int i = 0; i < 6; i++) {
		struct npl_calibration *c = calibrate(&net, text[i], x, 2);
		const struct npl_range range = npl_calibration_ranges(c, NPL_FORMAT_INT8)[v];
		cr_assert_leq(outside(x[0], 2 * ELEMENTS, range), maximum[i], "%s", text[i]);
		if (i != 3) {
			cr_assert(range.low >= last.low && range.high <= last.high, "%s", text[i]);
			last = range;
		}
		const struct npl_range all = npl_calibration_ranges(c, NPL_FORMAT_Q16)[v];
		cr_assert_eq(outside(x[0], 2 * ELEMENTS, all), 0);
		npl_calibration_close(c);
	}
	cr_assert_gt(outside(x[0], 2 * ELEMENTS, last), 0.05, "a tenth was to be left out");
	cr_assert_lt(last.high, 3, "what lies far out is cut");
	free_net(&net);
}

/* Against trying out ranges one by one, with real rounding and clipping. */
Test(calibrate, least_squares_are_nearly_the_best_there_is)
{
	static float x[2][ELEMENTS];
	uint64_t rng = 6;
	struct net net = make_branches(&rng);
	const int v = net.graph->input[0];
	for (int rare = 0; rare <= 4; rare += 2) {
		draw(&rng, rare, x[0]);
		draw(&rng, rare, x[1]);
		x[0][1] = 9; /* alone beyond the others, on one side */
		struct npl_calibration *mse = calibrate(&net, "mse", x, 2), *all = calibrate(&net, "minmax", x, 2);
		const struct npl_range best = npl_calibration_ranges(mse, NPL_FORMAT_INT8)[v],
				       whole = npl_calibration_ranges(all, NPL_FORMAT_INT8)[v];
		double actual = squared_error(x[0], 2 * ELEMENTS, best), minimum = INFINITY;
		for (int i = 0; i < 24; i++)
			for (int k = 0; k < 24; k++) {
				const struct npl_range tried = {.low = whole.low * (float)(24 - i) / 24,
								.high = whole.high * (float)(24 - k) / 24};
				minimum = fmin(minimum, squared_error(x[0], 2 * ELEMENTS, tried));
			}
		cr_assert_leq(actual, 1.05 * minimum, "one in %d: %g, the best of those tried %g", rare, actual,
			      minimum);
		cr_assert(npl_calibration_ranges(mse, NPL_FORMAT_INT8)[net.graph->output[0]].low >= 0,
			  "behind Relu there is nothing below 0");
		npl_calibration_close(mse);
		npl_calibration_close(all);
	}
	free_net(&net);
}

Test(calibrate, batches_do_not_matter)
{
	static float x[4][ELEMENTS], turned[4][ELEMENTS];
	uint64_t rng = 7;
	struct net net = make_branches(&rng);
	for (int b = 0; b < 4; b++)
		draw(&rng, 300, x[b]);
	for (int b = 0; b < 4; b++)
		for (int i = 0; i < ELEMENTS; i++)
			turned[i % 4][(i / 4) * 4 + b] = x[b][i];
	static const char *const text[] = {"minmax", "percentile=99.5", "mse"};
	for (int i = 0; i < 3; i++) {
		struct npl_calibration *a = calibrate(&net, text[i], x, 4), *b = calibrate(&net, text[i], turned, 4);
		for (int v = 0; v < net.graph->n_values; v++) {
			const struct npl_range *p = &npl_calibration_ranges(a, NPL_FORMAT_INT8)[v],
					       *q = &npl_calibration_ranges(b, NPL_FORMAT_INT8)[v];
			cr_assert(p->low == q->low && p->high == q->high, "%s: value %d", text[i], v);
		}
		npl_calibration_close(a);
		npl_calibration_close(b);
	}
	free_net(&net);
}

Test(calibrate, methods_are_read_by_name)
{
	static const char *const bad[] = {
		"",     "max", "percentile=", "percentile=50", "percentile=101", "percentile=9x", "percentile=nan",
		"mse=3"};
	struct npl_calibration_options how;
	struct npl_err err;
	char text[40];
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert_eq(npl_calibration_parse(bad[i], &how, &err), NPL_EUSAGE, "%s", bad[i]);
	cr_assert_eq(npl_calibration_parse("percentile", &how, &err), 0);
	cr_assert_str_eq(npl_calibration_text(&how, text, sizeof text), "99.99th percentile");
}
