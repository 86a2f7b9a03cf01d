/* SPDX-License-Identifier: MIT
 *
 * Sums of products that 32 bits do not hold: who counts them, counts the same. */
#include <criterion/criterion.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/onnx_writer.h"

/* The same sums count on every device that computes them, in products as in convolutions: those of the first and the
 * third filter, whose weights have one sign, and not the second's, which cancel. */
Test(wrapped_sums, devices_count_the_same_wrapped_sums)
{
	enum { CHANNELS = 4400, K = 16 * CHANNELS, FILTERS = 3 };
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	static float weights[K * FILTERS];
	const float offset = 100;
	for (int conv = 0; conv < 2; conv++) {
		struct onnx_writer g = {0};
		for (int f = 0; f < FILTERS; f++)
			for (int i = 0; i < K; i++)
				weights[conv ? f * K + i : i * FILTERS + f] = f == 1 && i % 2 ? -1.0f
									      : f == 2        ? -2.0f
											      : 1.0f;
		onnx_put_input(&g, "x", ONNX_FLOAT, conv ? 4 : 2,
			       conv ? (int64_t[]){1, CHANNELS, 4, 4} : (int64_t[]){1, K});
		onnx_put_floats(&g, "offset", 1, (int64_t[]){1}, &offset);
		onnx_put_floats(&g, "w", conv ? 4 : 2,
				conv ? (int64_t[]){FILTERS, CHANNELS, 4, 4} : (int64_t[]){K, FILTERS}, weights);
		onnx_put_node(&g, "Add", "large", "x offset", "a", NULL);
		onnx_put_node(&g, conv ? "Conv" : "MatMul", "long", "a w", "y", NULL);
		onnx_put_output(&g, "y");
		cli_write_model(folder, "long.onnx", &g);
		json_t *root = cli_json(&options, "compare", "@/long.onnx", "--devices", "tpu_v1,reference,cpu",
					"--set", "reference.precision=int8", "--set", "cpu.precision=int8", "--json",
					"-");
		for (size_t d = 0; d < 3; d++) {
			json_t *device = json_array_get(cli_at(root, "devices"), d);
			cr_assert_eq(cli_integer(cli_at(device, "accuracy.overflows")), 2, "%s: %lld",
				     cli_text(cli_at(device, "name")),
				     (long long)cli_integer(cli_at(device, "accuracy.overflows")));
		}
		json_decref(root);
	}
	cli_remove_folder(folder);
}

/* Activations a million times smaller than the bias: at the weights' own scale its integer would not fit 32 bits, so
 * theirs is coarser. */
Test(wrapped_sums, great_biases_fit)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	const float factor = 1e-6f, weights[] = {0.5f, -0.1f, 0.02f, 0.3f, 0.001f, 0.0f}, bias[] = {0.9f, -0.7f, 30};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 2});
	onnx_put_floats(&g, "factor", 1, (int64_t[]){1}, &factor);
	onnx_put_floats(&g, "w", 2, (int64_t[]){2, 3}, weights);
	onnx_put_floats(&g, "b", 1, (int64_t[]){3}, bias);
	onnx_put_node(&g, "Mul", "small", "x factor", "a", NULL);
	onnx_put_node(&g, "Gemm", "biased", "a w b", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "biased.onnx", &g);
	json_t *root = cli_json(&options, "compare", "@/biased.onnx", "--devices", "tpu_v1,reference,diannao", "--set",
				"reference.precision=8x16", "--set", "tpu_v1.precision=8x16", "--json", "-");
	for (size_t d = 0; d < 3; d++) {
		json_t *device = json_array_get(cli_at(root, "devices"), d);
		cr_assert_eq(cli_integer(cli_at(device, "accuracy.overflows")), 0);
		cr_assert_eq(cli_integer(cli_at(device, "accuracy.saturations")), 0);
		cr_assert_gt(cli_number(cli_at(device, "accuracy.sqnr_db")), d < 2 ? 80 : 40);
	}
	json_decref(root);
	cli_remove_folder(folder);
}
