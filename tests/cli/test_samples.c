/* SPDX-License-Identifier: MIT
 *
 * What the program promises about samples: none is lost, few of them are not padded to a shipped model's batch, values
 * outside the calibrated range are counted, labels are classes, and what cannot be is refused before the work. */
#include "npulab/graph.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_json.h"

static const struct cli_run_options plainly = {0};

#define SAMPLES 5
#define PIXELS  64

/* Images of one value, saved as digits.npy expects them. */
static void write_images(const char *folder, const char *name, int n, float value)
{
	float data[SAMPLES * PIXELS];
	char path[CLI_PATH + 32];
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(4, n, 1, 8, 8), .data = data};
	for (int i = 0; i < n * PIXELS; i++)
		data[i] = value;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
}

/* A network whose output is the transposed input: (N,7) becomes (7,N), so batches cannot be put together. */
static void write_transpose(const char *folder)
{
	struct onnx_writer g = {0}, attrs = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 7});
	onnx_put_attr_ints(&attrs, "perm", 2, (int64_t[]){1, 0});
	onnx_put_node(&g, "Transpose", "turn", "x", "t", &attrs);
	onnx_put_node(&g, "Relu", "act", "t", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "turn.onnx", &g);
	float data[SAMPLES * 7] = {0};
	char path[CLI_PATH + 32];
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(2, SAMPLES, 7), .data = data};
	snprintf(path, sizeof path, "%s/five.npy", folder);
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
}

Test(cli_samples, outputs_that_are_no_batch)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_transpose(folder);
	const struct cli_refusal lost[] = {
		{3,
		 "set the batch to 5 (--batch or --dim)",
		 {"run", "@/turn.onnx", "--device", "reference", "--input", "@/five.npy"}},
		{3,
		 "set the batch to 5 (--batch or --dim)",
		 {"compare", "@/turn.onnx", "--devices", "cpu", "--input", "@/five.npy", "--batch", "2"}},
	};
	cli_check_refusals(folder, lost, 2);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "run", "@/turn.onnx", "--device",
				      "reference", "--input", "@/five.npy", "--batch", "5", "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A model that takes a batch of 1 and no other, and whose result has no dimension for more, is not told to take a
 * larger batch. */
Test(cli_samples, a_model_of_one_sample_takes_no_more)
{
	char folder[CLI_PATH], path[CLI_PATH + 32];
	float data[SAMPLES * 2 * 3] = {0};
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(3, SAMPLES, 2, 3), .data = data};
	struct onnx_writer g = {0};
	cli_folder(folder);
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){1, 2, 3});
	onnx_put_int64s(&g, "shape", 1, (int64_t[]){6});
	onnx_put_node(&g, "Reshape", "flat", "x shape", "y", NULL);
	onnx_put_output(&g, "y");
	struct onnx_writer model = onnx_model(&g, 14);
	cli_write(folder, "one.onnx", model.data, model.bytes);
	onnx_writer_free(&model);
	snprintf(path, sizeof path, "%s/x.npy", folder);
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
	const struct cli_refusal lost[] = {
		{3,
		 "the inputs hold 5 samples and the batch is 1: the model takes a batch of 1 alone, and output 'y' "
		 "has no dimension for more; give one sample",
		 {"run", "@/one.onnx", "--device", "reference", "--input", "@/x.npy"}},
	};
	cli_check_refusals(folder, lost, 1);
	cli_remove_folder(folder);
}

/* A sequence that lies along dimension 0, as ONNX's LSTM has it, is not cut into samples, whose states would each begin
 * anew; seen through what keeps that dimension. An LSTM whose dimension 0 is the batch (layout 1) is. */
Test(cli_samples, sequences_are_not_cut)
{
	char folder[CLI_PATH], path[CLI_PATH + 32];
	float data[SAMPLES * 2 * 3] = {0};
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = npl_shape_of(3, SAMPLES, 2, 3), .data = data};
	cli_folder(folder);
	for (int layout = 0; layout < 2; layout++) {
		struct onnx_writer g = {0}, attrs = {0};
		float weights[16 * 7] = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){1, 2, 3});
		onnx_put_floats(&g, "w", 3, (int64_t[]){1, 16, 3}, weights);
		onnx_put_floats(&g, "r", 3, (int64_t[]){1, 16, 4}, weights);
		onnx_put_attr_int(&attrs, "hidden_size", 4);
		onnx_put_attr_int(&attrs, "layout", layout);
		onnx_put_node(&g, "Tanh", "before", "x", "t", NULL);
		onnx_put_node(&g, "LSTM", "steps", "t w r", "y h", &attrs);
		onnx_put_output(&g, "y");
		struct onnx_writer model = onnx_model(&g, 14);
		cli_write(folder, layout ? "batch.onnx" : "time.onnx", model.data, model.bytes);
		onnx_writer_free(&model);
	}
	snprintf(path, sizeof path, "%s/x.npy", folder);
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
	const struct cli_refusal lost[] = {
		{3,
		 "the inputs hold 5 samples and the batch is 1: they can neither be cut into batches nor filled up to "
		 "one, as node 'steps' (LSTM) goes through the samples step by step; set the batch to 5 (--batch or "
		 "--dim) to run them as one",
		 {"run", "@/time.onnx", "--device", "cpu", "--input", "@/x.npy"}},
	};
	cli_check_refusals(folder, lost, 1);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result whole = cli_run(&options, "run", "@/time.onnx", "--device", "cpu", "--input", "@/x.npy",
					  "--batch", "5", "--quiet"),
			  batched = cli_run(&options, "run", "@/batch.onnx", "--device", "cpu", "--input", "@/x.npy",
					    "--quiet");
	cr_assert(whole.status == 0 && batched.status == 0, "%s%s", whole.err, batched.err);
	cli_free(&whole);
	cli_free(&batched);
	cli_remove_folder(folder);
}

/* A batch of 0 has nothing to run. */
Test(cli_samples, an_empty_batch_is_refused)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	cli_folder(folder);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){-1, 4});
	onnx_put_node(&g, "Relu", "act", "x", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "none.onnx", &g);
	const struct cli_refusal cases[] = {
		{2,
		 "the batch, 'N', is given as 0, expected 1 or more",
		 {"run", "@/none.onnx", "--device", "cpu", "--dim", "N=0"}},
		{2, "the batch, 'N', is given as 0", {"compare", "digits", "--devices", "tpu_v1", "--dim", "N=0"}},
		{2,
		 "--device is given twice, as 'cpu' and as 'tpu_v1'",
		 {"run", "digits", "--device", "cpu", "--device", "tpu_v1"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* What is no number has no distance from the reference: neither the network's nor the layer's row calls it exact. */
Test(cli_samples, nan_is_not_exact)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	const struct cli_run_options options = {.folder = folder};
	cli_folder(folder);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 2});
	onnx_put_floats(&g, "w", 2, (int64_t[]){2, 2}, (float[]){1, NAN, 2, 3});
	onnx_put_node(&g, "MatMul", "product", "x w", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "nan.onnx", &g);
	struct cli_result table = cli_run(&options, "run", "@/nan.onnx", "--device", "cpu", "--layers");
	cr_assert(table.status == 0 && !strstr(table.out, "exact"), "%s%s", table.err, table.out);
	cli_free(&table);
	json_t *root = cli_json(&options, "run", "@/nan.onnx", "--device", "cpu", "--layers", "--quiet", "--json", "-");
	json_t *layer = cli_at(root, "devices.0.layers.0");
	cr_assert(json_is_null(cli_at(layer, "sqnr_db")) && json_is_null(cli_at(layer, "max_abs_error")));
	json_decref(root);
	cli_remove_folder(folder);
}

/* digits' batch of 120 suits its own test set; five images of the user's are a batch of five. */
Test(cli_samples, few_samples_are_not_padded)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_images(folder, "five.npy", SAMPLES, 0.5f);
	struct cli_run_options options = {.folder = folder};
	json_t *few = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--input", "@/five.npy", "--json",
			       "-");
	cr_assert_eq(cli_integer(cli_at(few, "model.batch")), SAMPLES);
	cr_assert_eq(cli_integer(cli_at(few, "model.batches")), 1);
	json_decref(few);
	json_t *asked = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--input", "@/five.npy",
				 "--batch", "8", "--json", "-");
	cr_assert_eq(cli_integer(cli_at(asked, "model.batch")), 8, "a batch that is asked for is kept");
	json_decref(asked);
	cli_remove_folder(folder);
}

/* Inputs beyond the calibrated 0 to 1 are clipped on their way to the machine: the column that tells must say so. */
Test(cli_samples, clipped_inputs_are_saturations)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_images(folder, "fits.npy", SAMPLES, 1.0f);
	write_images(folder, "below.npy", SAMPLES, -100.0f);
	struct cli_run_options options = {.folder = folder};
	json_t *fits = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--input", "@/fits.npy", "--json",
				"-");
	json_t *below = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--input", "@/below.npy",
				 "--json", "-");
	json_t *a = json_array_get(cli_at(fits, "devices"), 0), *b = json_array_get(cli_at(below, "devices"), 0);
	long long before = cli_integer(cli_at(a, "accuracy.saturations"));
	long long clipped = cli_integer(cli_at(b, "accuracy.saturations"));
	cr_assert(clipped >= SAMPLES * PIXELS && before < SAMPLES * PIXELS, "%lld and %lld saturations", before,
		  clipped);
	json_decref(fits);
	json_decref(below);
	cli_remove_folder(folder);
}

/* --scale-q6.10 off is 2^-10 for every layer, whatever it takes: what passes 32 is counted. */
Test(cli_samples, q16_with_and_without_scale)
{
	char folder[CLI_PATH];
	size_t i;
	json_t *layer;
	cli_folder(folder);
	write_images(folder, "bright.npy", SAMPLES, 100.0f);
	struct cli_run_options options = {.folder = folder};
	json_t *off = cli_json(&options, "run", "digits", "--device", "diannao", "--input", "@/bright.npy",
			       "--scale-q6.10", "off", "--json", "-");
	json_t *on = cli_json(&options, "compare", "digits", "--devices", "diannao", "--json", "-");
	json_t *none = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--json", "-");
	cr_assert_str_eq(cli_text(cli_at(off, "model.q16_scale")), "none");
	cr_assert_str_eq(cli_text(cli_at(on, "model.q16_scale")), "power of two");
	cr_assert(json_is_null(cli_at(none, "model.q16_scale")), "no device has Q6.10");
	json_array_foreach (cli_at(json_array_get(cli_at(off, "devices"), 0), "layers"), i, layer)
		cr_assert(json_is_null(cli_at(layer, "output.scale")) ||
				  cli_number(cli_at(layer, "output.scale")) == 0x1p-10,
			  "%s", cli_text(cli_at(layer, "name")));
	long long lost = cli_integer(cli_at(json_array_get(cli_at(off, "devices"), 0), "accuracy.saturations"));
	cr_assert(lost >= SAMPLES * PIXELS, "%lld", lost);
	cr_assert_eq(cli_integer(cli_at(json_array_get(cli_at(on, "devices"), 0), "accuracy.saturations")), 0);
	const struct cli_refusal refusal = {
		2, "--scale-q6.10 maybe: expected on or off", {"compare", "digits", "--scale-q6.10", "maybe"}};
	cli_check_refusals(folder, &refusal, 1);
	json_decref(off);
	json_decref(on);
	json_decref(none);
	cli_remove_folder(folder);
}

Test(cli_samples, wrong_labels_are_refused_and_hints_given)
{
	char folder[CLI_PATH], path[CLI_PATH + 32];
	int64_t labels[SAMPLES] = {0, 1, 2, 3, 10};
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_I64, .shape = npl_shape_of(1, SAMPLES), .data = labels};
	cli_folder(folder);
	write_transpose(folder);
	write_images(folder, "five8x8.npy", SAMPLES, 0.5f);
	snprintf(path, sizeof path, "%s/ten.npy", folder);
	cr_assert_eq(npl_tensor_save_npy(path, &t, &err), 0, "%s", err.msg);
	const struct cli_refusal cases[] = {
		{3,
		 "the label of sample 4 is 10, expected a class from 0 to 9",
		 {"compare", "digits", "--devices", "tpu_v1", "--input", "@/five8x8.npy", "--labels", "@/ten.npy"}},
		{3,
		 "is not a list of classes",
		 {"compare", "@/turn.onnx", "--devices", "cpu", "--input", "@/five.npy", "--labels", "@/ten.npy",
		  "--batch", "5"}},
		{2, "write /fc1/", {"run", "digits", "--place", "fc1=diannao,*=reference"}},
		{5, "no/folder/a.json", {"compare", "digits", "--devices", "null", "--json", "@/no/folder/a.json"}},
	};
	cli_check_refusals(folder, cases, sizeof cases / sizeof *cases);
	cli_remove_folder(folder);
}

/* Without values a real device has no time, so the default devices are the simulated ones. */
Test(cli_samples, timing_only_has_devices)
{
	json_t *root = cli_json(&plainly, "compare", "digits", "--timing-only", "--json", "-");
	cr_assert_eq(json_array_size(cli_at(root, "devices")), 2);
	json_decref(root);
	root = cli_json(&plainly, "layer", "gemm", "-m", "4", "-n", "4", "-k", "4", "--timing-only", "--json", "-");
	cr_assert_eq(json_array_size(cli_at(root, "devices")), 2);
	json_decref(root);
}
