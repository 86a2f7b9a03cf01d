/* SPDX-License-Identifier: MIT
 *
 * Scales of a model's own integers that are no finite number above 0: every device gives what ONNX's arithmetic in
 * floats gives, and says why it leaves the layer to the host. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/onnx_writer.h"

enum { K = 6, N = 3 };

static void put_constant(struct onnx_writer *g, const char *name, int type, int rank, const void *data, size_t bytes)
{
	struct onnx_writer t = onnx_tensor_of(name, type, rank, (int64_t[]){K, N}, data, bytes);
	onnx_put_message(g, 5, &t);
}

/* QuantizeLinear, QLinearMatMul with this scale for input, weights or result (which), DequantizeLinear. */
static void write_model(const char *folder, int variant, float odd)
{
	static const char *const product[] = {"q odd z w one wz one z", "q one z w odd wz one z",
					      "q one z w one wz odd z"};
	const float one = 0.05f;
	const uint8_t zero = 100, weight_zero = 0;
	int8_t weights[K * N];
	struct onnx_writer g = {0};
	for (int i = 0; i < K * N; i++)
		weights[i] = (int8_t)(i - 9);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, K});
	put_constant(&g, "one", ONNX_FLOAT, 0, &one, sizeof one);
	put_constant(&g, "odd", ONNX_FLOAT, 0, &odd, sizeof odd);
	put_constant(&g, "z", ONNX_UINT8, 0, &zero, 1);
	put_constant(&g, "wz", ONNX_INT8, 0, &weight_zero, 1);
	put_constant(&g, "w", ONNX_INT8, 2, weights, sizeof weights);
	onnx_put_node(&g, "QuantizeLinear", "quantise", "x one z", "q", NULL);
	onnx_put_node(&g, "QLinearMatMul", "product", product[variant], "m", NULL);
	onnx_put_node(&g, "DequantizeLinear", "back", "m one z", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "odd.onnx", &g);
}

Test(odd_scales, every_device_gives_what_the_operator_gives)
{
	static const float odd[] = {-0.05f, 0, -0.0f, 1e-40f, 3e38f, INFINITY, NAN};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (int variant = 0; variant < 3; variant++)
		for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
			write_model(folder, variant, odd[i]);
			for (int rtl = 0; rtl < 2; rtl++) {
				struct cli_result r = cli_run(&options, "compare", "@/odd.onnx", "--devices",
							      "reference,cpu,tpu_v1,diannao", "--engine",
							      rtl ? "rtl" : "fast", "--set", "cpu.precision=int8",
							      "--json", "@/r.json");
				cr_assert_eq(r.status, 0, "%s", r.err);
				char *text = cli_read(cli_path(folder, "r.json"), NULL);
				json_t *root = cli_parse_json(text);
				const char *expected = NULL;
				for (size_t d = 0; d < 4; d++) {
					json_t *device = json_array_get(cli_at(root, "devices"), d);
					const char *made = cli_text(cli_at(device, "output_sha256"));
					expected = expected ? expected : made;
					cr_assert_str_eq(made, expected, "%s with the scale %g (%d)",
							 cli_text(cli_at(device, "name")), (double)odd[i], variant);
				}
				json_decref(root);
				free(text);
				cli_free(&r);
			}
		}
	struct cli_result r = cli_run(&options, "run", "@/odd.onnx", "--device", "tpu_v1", "--log-placement",
				      "--quiet");
	cr_assert(
		cli_says(r.err, "its output scale 'odd' is nan, and the rule on integers takes finite numbers above 0"),
		"%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A bias of 32-bit integers with the scale 0 is 0, also in float32, where the input has no scale to compare that
 * with. */
Test(odd_scales, a_bias_of_the_scale_0_is_0)
{
	static const char *const devices[] = {"reference", "cpu", "tpu_v1"};
	const float none = 0, weights[2 * N] = {0}, zeros[N] = {0};
	const int32_t bias[N] = {5, -5, 0x3f800000};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct onnx_writer g = {0}, b = onnx_tensor_of("b", ONNX_INT32, 1, (int64_t[]){N}, bias, sizeof bias);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 2});
	onnx_put_message(&g, 5, &b);
	onnx_put_floats(&g, "w", 2, (int64_t[]){2, N}, weights);
	put_constant(&g, "none", ONNX_FLOAT, 0, &none, sizeof none);
	onnx_put_node(&g, "DequantizeLinear", "bias", "b none", "c", NULL);
	onnx_put_node(&g, "Gemm", "product", "x w c", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "bias.onnx", &g);
	for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
		struct cli_result r = cli_run(&options, "run", "@/bias.onnx", "--device", devices[d], "--quiet",
					      "--output", "@/y.npy");
		if (r.status == 4) { /* cpu without OpenBLAS */
			cli_free(&r);
			continue;
		}
		cr_assert_eq(r.status, 0, "%s", r.err);
		size_t bytes;
		char *file = cli_read(cli_path(folder, "y.npy"), &bytes);
		cr_assert(bytes > sizeof zeros && !memcmp(file + bytes - sizeof zeros, zeros, sizeof zeros), "%s",
			  devices[d]);
		free(file);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* A limit that is no number is none in ONNX's arithmetic, and no integer stands for it. */
Test(odd_scales, a_clip_without_a_number_for_a_limit)
{
	static const char *const devices[] = {"reference", "cpu", "tpu_v1", "diannao"};
	const float six = 6, none = NAN, step = 0.125f;
	const uint8_t zero = 64;
	char folder[CLI_PATH], *first = NULL;
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, K});
	put_constant(&g, "six", ONNX_FLOAT, 0, &six, sizeof six);
	put_constant(&g, "none", ONNX_FLOAT, 0, &none, sizeof none);
	put_constant(&g, "step", ONNX_FLOAT, 0, &step, sizeof step);
	put_constant(&g, "zero", ONNX_UINT8, 0, &zero, 1);
	onnx_put_node(&g, "QuantizeLinear", "quantise", "x step zero", "q", NULL);
	onnx_put_node(&g, "DequantizeLinear", "numbers", "q step zero", "d", NULL);
	onnx_put_node(&g, "Clip", "clip", "d none six", "c", NULL);
	onnx_put_node(&g, "QuantizeLinear", "again", "c step zero", "r", NULL);
	onnx_put_node(&g, "DequantizeLinear", "back", "r step zero", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "clip.onnx", &g);
	for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
		struct cli_result r = cli_run(&options, "compare", "@/clip.onnx", "--devices", devices[d], "--set",
					      d == 1 ? "cpu.precision=int8" : "host.cores=1", "--json", "-");
		if (r.status == 4) { /* cpu without OpenBLAS */
			cli_free(&r);
			continue;
		}
		cr_assert_eq(r.status, 0, "%s", r.err);
		json_t *root = cli_parse_json(r.out);
		const char *made = cli_text(cli_at(root, "devices.0.output_sha256"));
		first = first ? first : strdup(made);
		cr_assert_str_eq(made, first, "%s", devices[d]);
		json_decref(root);
		cli_free(&r);
	}
	free(first);
	cli_remove_folder(folder);
}
