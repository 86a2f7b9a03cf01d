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
static void write_model(const char *folder, int which, float odd)
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
	onnx_put_node(&g, "QLinearMatMul", "product", product[which], "m", NULL);
	onnx_put_node(&g, "DequantizeLinear", "back", "m one z", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "odd.onnx", &g);
}

Test(odd_scales, every_device_gives_what_the_operator_gives)
{
	static const float odd[] = {-0.05f, 0, -0.0f, 1e-40f, 3e38f, INFINITY, NAN};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_how how = {.folder = folder};
	for (int which = 0; which < 3; which++)
		for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
			write_model(folder, which, odd[i]);
			for (int rtl = 0; rtl < 2; rtl++) {
				struct cli_result r = cli_run(&how, "compare", "@/odd.onnx", "--devices",
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
							 cli_text(cli_at(device, "name")), (double)odd[i], which);
				}
				json_decref(root);
				free(text);
				cli_free(&r);
			}
		}
	struct cli_result r = cli_run(&how, "run", "@/odd.onnx", "--device", "tpu_v1", "--log-placement", "--quiet");
	cr_assert(
		cli_says(r.err, "its output scale 'odd' is nan, and the rule on integers takes finite numbers above 0"),
		"%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
