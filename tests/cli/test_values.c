/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of values: a weight that is NaN leaves its layer to the host, a NaN that a machine's integers
 * would have to hold is refused, naming where it is, and makes no figure where floats carry it; and an output's
 * integers can be turned back into numbers by anybody. */
#include "npulab/graph.h"
#include "npulab/sha256.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_figures.h"

static void save_floats(const char *folder, const char *file, int64_t rows, int64_t columns, const float *data)
{
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(2, rows, columns), .data = (void *)data};
	struct npl_err err;
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, file), &t, &err), 0, "%s", err.msg);
}

/* x (N,3) times w (3,2), both given. */
static void write_gemm(const char *folder, const char *file, const float *w)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 3});
	onnx_put_floats(&g, "the_weight", 2, (int64_t[]){3, 2}, w);
	onnx_put_node(&g, "MatMul", "fc", "x the_weight", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, file, &g);
}

/* What write_gemm makes, and a second product of its result. */
static void write_two(const char *folder, const char *file, const float *w)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 3});
	onnx_put_floats(&g, "the_weight", 2, (int64_t[]){3, 2}, w);
	onnx_put_floats(&g, "v", 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4});
	onnx_put_node(&g, "MatMul", "fc", "x the_weight", "a", NULL);
	onnx_put_node(&g, "MatMul", "second", "a v", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, file, &g);
}

/* Both machines leave the layer to their host, one for the reason given, and the others run. */
static void check_left_to_host(const char *folder, const char *model, const char *format, const char *reason)
{
	static const char *const names[] = {"tpu_v1", "diannao"};
	struct cli_result table;
	json_t *root = RUN_BOTH(folder, &table, "compare", model, "--input", "@/good.npy", "--devices",
				"reference,tpu_v1,diannao,cpu");
	for (int d = 0; d < 2; d++) {
		json_t *row = cli_at(cli_device(root, names[d]), "layers.0");
		cr_assert_str_eq(cli_text(cli_at(row, "ran_on")), "host");
		cr_assert(strstr(cli_text(cli_at(row, "note")), "'the_weight' holds"));
		if (!strcmp(format, d ? "Q6.10" : "int8"))
			cr_assert_str_eq(cli_text(cli_at(row, "note")), reason);
	}
	cr_assert(strstr(table.err, "tensor 'the_weight'"), "%s", table.err);
	json_decref(root);
	cli_free(&table);
}

/* Where an output is no number nobody agrees with anybody, not even the reference with itself. */
static void check_no_top1(const char *folder, const char *model, const char *input)
{
	static const char *const names[] = {"reference", "cpu"};
	struct cli_result table;
	json_t *root = RUN_BOTH(folder, &table, "compare", model, "--input", input, "--labels", "@/labels.npy",
				"--devices", "reference,cpu");
	cli_check_result(root);
	cr_assert(json_is_null(cli_at(root, "model.reference_top1_accuracy")));
	for (int d = 0; d < 2; d++) {
		json_t *accuracy = cli_at(cli_device(root, names[d]), "accuracy");
		static const char *const keys[] = {"max_abs_error", "sqnr_db", "top1_agreement", "top1_accuracy"};
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
			cr_assert(json_is_null(cli_at(accuracy, keys[k])), "%s, %s: %s", model, names[d], keys[k]);
		cr_assert(!line_has(find_row(table.out, "DEVICE     MAX ERROR", names[d]), "%"), "%s", table.out);
	}
	json_decref(root);
	cli_free(&table);
}

/* NaN: refused by machines whose integers cannot hold it, naming where it is; a layer with such a weight is the host's;
 * float devices carry it, without figures. */
Test(cli_values, words_that_are_no_numbers_are_refused)
{
	char folder[CLI_PATH];
	int64_t classes[] = {0, 1, 0, 1};
	float w[6] = {1, -0.5f, 0.25f, 1, -1, 0.5f}, x[12] = {1, 2, 3, -1, 0, 1, 0.5f, 0.25f, -2, 3, 1, 0};
	struct npl_tensor labels = {.dtype = NPL_I64, .shape = npl_shape_of(1, 4), .data = classes};
	struct npl_err err;
	cli_folder(folder);
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, "labels.npy"), &labels, &err), 0, "%s", err.msg);
	save_floats(folder, "good.npy", 4, 3, x);
	write_gemm(folder, "good.onnx", w);
	x[4] = NAN;
	save_floats(folder, "nan.npy", 4, 3, x);
	w[3] = NAN;
	write_gemm(folder, "nan.onnx", w);
	write_two(folder, "two.onnx", w);
	w[3] = -INFINITY;
	write_gemm(folder, "inf.onnx", w);
#define WITH(device, model, input)                                                                                     \
	{                                                                                                              \
		"compare", model, "--input", input, "--devices", device                                                \
	}
	const struct cli_refusal cases[] = {
		{3, "good: layer 'fc' on tpu_v1: 'x' holds a NaN, which uint8 cannot hold",
		 WITH("tpu_v1", "@/good.onnx", "@/nan.npy")},
		{3, "good: layer 'fc' on diannao: 'x' holds a NaN, which int16 cannot hold",
		 WITH("diannao", "@/good.onnx", "@/nan.npy")},
		{3, "two: layer 'second' on tpu_v1: 'a' holds a NaN", WITH("tpu_v1", "@/two.onnx", "@/good.npy")},
		{3, "'x' holds a NaN", WITH("reference,tpu_v1", "@/good.onnx", "@/nan.npy")},
		{3,
		 "layer 'fc' on diannao: 'x' holds",
		 {"run", "@/good.onnx", "--place", "*=diannao", "--input", "@/nan.npy"}},
	};
	CLI_CHECK(folder, cases);
	check_left_to_host(folder, "@/nan.onnx", "int8", "its weight 'the_weight' holds a NaN, which int8 cannot hold");
	check_left_to_host(folder, "@/inf.onnx", "Q6.10",
			   "its weight 'the_weight' holds an infinity, which Q6.10 cannot hold");
	check_no_top1(folder, "@/nan.onnx", "@/good.npy");
	check_no_top1(folder, "@/good.onnx", "@/nan.npy");
	/* and with good numbers the figures are there */
	json_t *root = cli_json(&(struct cli_run_options){.folder = folder}, "compare", "@/good.onnx", "--input",
				"@/good.npy", "--labels", "@/labels.npy", "--devices", "reference", "--json", "-");
	cr_assert_eq(cli_number(cli_at(root, "devices.0.accuracy.top1_agreement")), 1);
	cli_number(cli_at(root, "devices.0.accuracy.top1_accuracy"));
	json_decref(root);
	cli_remove_folder(folder);
}

/* y = scale * (q - zero_point) with the JSON's scale and zero point: the integers so found have the JSON's hash. */
static void check_integers(json_t *row, const struct npl_tensor *y, const char *subject)
{
	double scale = cli_number(cli_at(row, "output.scale"));
	long long zero = cli_integer(cli_at(row, "output.zero_point"));
	bool wide = !strcmp(cli_text(cli_at(row, "output.type")), "int16");
	size_t n = (size_t)npl_tensor_count(y);
	uint8_t *bytes = calloc(n, 2);
	char hex[NPL_SHA256_HEX];
	cr_assert(bytes);
	for (size_t i = 0; i < n; i++) {
		double q = (double)((float *)y->data)[i] / scale + (double)zero;
		long long whole = llrint(q);
		cr_assert(fabs(q - (double)whole) < 1e-3, "%s: element %zu stands between two integers", subject, i);
		cr_assert(wide ? whole >= -32768 && whole <= 32767 : whole >= 0 && whole <= 255, "%s: %lld", subject,
			  whole);
		bytes[wide ? 2 * i : i] = (uint8_t)whole;
		if (wide)
			bytes[2 * i + 1] = (uint8_t)((uint64_t)whole >> 8);
	}
	npl_sha256_hex(bytes, wide ? 2 * n : n, hex);
	cr_assert_str_eq(cli_text(cli_at(row, "output_sha256")), hex, "%s: other integers", subject);
	free(bytes);
}

/* Finds the greatest and least of 0 and the floats in a file. */
static void range_of(const char *path, double *low, double *high)
{
	struct npl_tensor t;
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(path, &t, &err), 0, "%s", err.msg);
	*low = *high = 0;
	for (int64_t i = 0; i < npl_tensor_count(&t); i++) {
		*low = fmin(*low, ((float *)t.data)[i]);
		*high = fmax(*high, ((float *)t.data)[i]);
	}
	npl_tensor_free(&t);
}

/* What an output's integers stand for: type, scale and zero point give the floats back and cover the float reference's
 * range, as calibrated on these very inputs. */
Test(cli_values, outputs_tell_their_format)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (int i = 0; i < 4; i++) {
		double low, high;
		char subject[40];
		write_product(folder, "net.onnx", i & 1, i & 2);
		json_t *reference = cli_json(&options, "run", "@/net.onnx", "--device", "reference", "--output",
					     "@/y.npy", "--json", "-");
		range_of(cli_path(folder, "y.npy"), &low, &high);
		cr_assert_str_eq(cli_text(cli_at(reference, "devices.0.layers.0.output.type")), "float32");
		cr_assert(json_is_null(cli_at(reference, "devices.0.layers.0.output.scale")) &&
			  json_is_null(cli_at(reference, "devices.0.layers.0.output.zero_point")));
		json_decref(reference);
		for (int d = 0; d < 2; d++) {
			const char *device = d ? "diannao" : "tpu_v1";
			struct npl_tensor y;
			struct npl_err err;
			snprintf(subject, sizeof subject, "%s, network %d", device, i);
			json_t *root = cli_json(&options, "run", "@/net.onnx", "--device", device, "--output",
						"@/y.npy", "--json", "-");
			json_t *row = cli_at(root, "devices.0.layers.0");
			cr_assert_str_eq(cli_text(cli_at(row, "output.type")), d ? "int16" : "uint8", "%s", subject);
			double scale = cli_number(cli_at(row, "output.scale")),
			       zero = cli_number(cli_at(row, "output.zero_point"));
			if (d == 0) {
				cr_assert(cli_near(255 * scale, high - low, 0.01), "%s: %g for %g", subject,
					  255 * scale, high - low);
				cr_assert(fabs((255 - zero) * scale - high) <= scale &&
						  fabs(zero * scale + low) <= scale,
					  "%s: zero at %g", subject, zero);
			} else {
				/* 2^e / 1024 with the least e that keeps the greatest magnitude below 16 x 2^e */
				double maximum = fmax(high, -low), steps = maximum / scale;
				cr_assert(zero == 0 && log2(scale) == rint(log2(scale)), "%s: scale %g", subject,
					  scale);
				cr_assert(steps < 16384 && steps >= 8192, "%s: %g steps", subject, steps);
			}
			cr_assert_eq(npl_tensor_load(cli_path(folder, "y.npy"), &y, &err), 0, "%s", err.msg);
			check_integers(row, &y, subject);
			npl_tensor_free(&y);
			json_decref(root);
		}
	}
	cli_remove_folder(folder);
}
