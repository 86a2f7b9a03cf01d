/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of bad input: whatever is wrong, the program ends with the exit status of its kind (2 usage, 3
 * input, 4 device, 5 output or memory), one clear line on standard error, nothing on standard output unless it is found
 * after the work that an output cannot be written, and no file that was not there before. */
#include "tests/kit/cli_run.h"

/* Writes a model y = Relu(x) of a shape; `op` may be another operator. */
static void write_one_node(const char *folder, const char *name, const char *op, int rank, const int64_t *dims)
{
	struct onnx_writer graph = {0};
	onnx_put_input(&graph, "x", ONNX_FLOAT, rank, dims);
	onnx_put_node(&graph, op, "node_a", "x", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, name, &graph);
}

/* Fields of type 7 (graph) inside one another: a reader that calls itself for each would run out of stack. */
static void write_nested(const char *folder, const char *name, int levels)
{
	struct onnx_writer inner = {0};
	for (int i = 0; i < levels; i++) {
		struct onnx_writer outer = {0};
		onnx_put_message(&outer, i % 3 == 0 ? 7 : i % 3 == 1 ? 5 : 1, &inner);
		inner = outer;
	}
	cr_assert(inner.bytes > 12000);
	cli_write(folder, name, inner.data, inner.bytes);
	onnx_writer_free(&inner);
}

/* Names and files that are no models: the exit status and what is said. */
static const struct cli_refusal no_models[] = {
	{3, "none.onnx: cannot be opened", {"compare", "@/none.onnx"}},
	{3, "no such model", {"compare", "nonesuch"}},
	{3, "'digits'", {"compare", "digit"}},
	{3, "no such model", {"compare", ""}},
	{3, "the file is empty", {"compare", "@/empty.onnx"}},
	{3, "text.onnx", {"compare", "@/text.onnx"}},
	{3, "text", {"compare", "@/text"}},
	{3, "png.onnx", {"compare", "@/png.onnx"}},
	{3, "only.yaml", {"compare", "@/only.yaml"}},
	{3, "is a directory", {"compare", "@/dir.onnx"}},
	{3, "is a directory", {"compare", "@/"}},
	{3, "is not a regular file", {"compare", "@/fifo.onnx"}},
	{3, "cannot be opened", {"compare", "@/loop.onnx"}},
	{3, "is not a regular file", {"compare", "/dev/null"}},
	{3, "more than the 2147483647 allowed", {"compare", "@/big.onnx"}},
	{3, "nested.onnx", {"compare", "@/nested.onnx"}},
	{3, "node 'node_a'", {"compare", "@/unknown.onnx"}},
	{3, "Relux", {"compare", "@/unknown.onnx"}},
	{3, "opset 13", {"compare", "@/unknown.onnx"}},
	{3, "nearest is Relu", {"compare", "@/unknown.onnx"}},
	{3, "product.onnx", {"compare", "@/product.onnx"}},
	{3, "negative.onnx", {"compare", "@/negative.onnx"}},
	{3, "nine.onnx", {"compare", "@/nine.onnx"}},
	{3, "cycle.onnx", {"compare", "@/cycle.onnx"}},
	{3, "node 'fc'", {"compare", "@/misfit.onnx"}},
	{3, "none.onnx", {"run", "@/none.onnx", "--device", "tpu_v1"}},
	{3, "none.onnx", {"inspect", "@/none.onnx"}},
	{3, "nested.onnx", {"inspect", "@/nested.onnx", "--json", "-"}},
	{3, "unknown.onnx", {"inspect", "@/unknown.onnx"}},
	{3, "product.onnx", {"compare", "@/product.onnx", "--json", "-"}},
	{3, "product.onnx", {"compare", "@/product.onnx", "--json", "@/never.json", "--csv", "@/never.csv"}},
};

Test(cli_bad_input, files_that_are_no_models_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "empty.onnx", "");
	cli_write_text(folder, "text.onnx", "This is a letter, not a network.\nYours\n");
	cli_write_text(folder, "text", "neither is this\n");
	cli_write(folder, "png.onnx", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0", 29);
	cli_write_text(folder, "only.yaml", "model: nothing.onnx\n");
	cr_assert_eq(mkdir(cli_path(folder, "dir.onnx"), 0777), 0);
	cr_assert_eq(mkfifo(cli_path(folder, "fifo.onnx"), 0666), 0);
	cr_assert_eq(symlink("loop.onnx", cli_path(folder, "loop.onnx")), 0);
	cli_write_sparse(folder, "big.onnx", (off_t)2 << 30);
	write_nested(folder, "nested.onnx", 4500);
	write_one_node(folder, "unknown.onnx", "Relux", 2, (int64_t[]){1, 4});
	write_one_node(folder, "product.onnx", "Relu", 4, (int64_t[]){1, 3037000500, 3037000500, 7});
	write_one_node(folder, "negative.onnx", "Relu", 2, (int64_t[]){1, -5});
	write_one_node(folder, "nine.onnx", "Relu", 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1});
	write_one_node(folder, "cycle.onnx", "Relu", 2, (int64_t[]){1, 4});
	struct onnx_writer cycle = {0};
	onnx_put_input(&cycle, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
	onnx_put_node(&cycle, "Add", "first", "x b", "a", NULL);
	onnx_put_node(&cycle, "Relu", "second", "a", "b", NULL);
	onnx_put_output(&cycle, "b");
	cli_write_model(folder, "cycle.onnx", &cycle);
	struct onnx_writer misfit = {0};
	onnx_put_input(&misfit, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
	onnx_put_floats(&misfit, "w", 2, (int64_t[]){5, 2}, (float[10]){0});
	onnx_put_node(&misfit, "MatMul", "fc", "x w", "y", NULL);
	onnx_put_output(&misfit, "y");
	cli_write_model(folder, "misfit.onnx", &misfit);
	CLI_CHECK(folder, no_models);
	cli_remove_folder(folder);
}

/* No beginning of a model file is a model: cut anywhere, it is refused. */
Test(cli_bad_input, a_model_cut_anywhere_is_refused)
{
	char folder[CLI_PATH];
	size_t bytes,
		cuts[] = {1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 31, 64, 100, 127, 128, 255, 256, 1000, 4096, 65535, 65536};
	char *data = cli_read("models/digits.onnx", &bytes);
	cli_folder(folder);
	for (size_t i = 0; i < 70; i++) {
		size_t n = sizeof cuts / sizeof *cuts, cut = i < n    ? cuts[i]
							     : i < 40 ? bytes - (40 - i)
								      : bytes * (i - 39) / 31;
		char subject[100];
		if (cut >= bytes)
			continue;
		snprintf(subject, sizeof subject, "digits.onnx cut to %zu of %zu bytes", cut, bytes);
		cli_write(folder, "cut.onnx", data, cut);
		struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "inspect", "@/cut.onnx");
		cli_check_refusal(&r, 3, "cut.onnx", subject);
		cli_free(&r);
	}
	free(data);
	cli_remove_folder(folder);
}

/* A .npy file of zeros. */
static void write_npy(const char *folder, const char *name, const char *type, const char *shape, size_t bytes)
{
	char header[160];
	int text = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type,
			    shape);
	int padded = (10 + text + 1 + 63) / 64 * 64 - 10;
	size_t all = 10 + (size_t)padded + bytes;
	unsigned char *file = calloc(1, all);
	cr_assert(file);
	memcpy(file, "\x93NUMPY\x01\x00", 8);
	file[8] = (unsigned char)(padded & 255);
	file[9] = (unsigned char)(padded >> 8);
	memset(file + 10, ' ', (size_t)padded);
	memcpy(file + 10, header, (size_t)text);
	file[10 + padded - 1] = '\n';
	cli_write(folder, name, file, all);
	free(file);
}

/* One image of the digits network with a pixel that is no number. */
static void write_nan(const char *folder, const char *name)
{
	size_t bytes;
	float nan = strtof("nan", NULL);
	write_npy(folder, name, "<f4", "1, 1, 8, 8", 64 * 4);
	char *data = cli_read(cli_path(folder, name), &bytes);
	memcpy(data + bytes - 4, &nan, 4);
	cli_write(folder, name, data, bytes);
	free(data);
}

#define INPUT(file)                                                                                                    \
	{                                                                                                              \
		"compare", "digits", "--devices", "tpu_v1", "--input", file                                            \
	}
#define LABELS(file)                                                                                                   \
	{                                                                                                              \
		"compare", "digits", "--devices", "tpu_v1", "--input", "@/good.npy", "--labels", file                  \
	}

/* Inputs and labels that do not fit the network or cannot be read. */
static const struct cli_refusal wrong_samples[] = {
	{3, "shape 4x64 does not fit input", INPUT("@/rank.npy")},
	{3, "shape 4x1x8x7 does not fit input", INPUT("@/shape.npy")},
	{3, "0x1x8x8", INPUT("@/none.npy")},
	{3, "float64", INPUT("@/dtype.npy")},
	{3, "complex.npy", INPUT("@/complex.npy")},
	{3, "short.npy", INPUT("@/short.npy")},
	{3, "product.npy", INPUT("@/product.npy")},
	{3, "holds a NaN, which uint8 cannot hold", INPUT("@/nan.npy")},
	{3, "text.npy", INPUT("@/text.npy")},
	{3, "the file is empty", INPUT("@/empty.npy")},
	{3, "text.pb", INPUT("@/text.pb")},
	{3, "samples.txt", INPUT("@/samples.txt")},
	{3, "is not a regular file", INPUT("@/fifo.npy")},
	{3, "is not a regular file", INPUT("@/zero.npy")},
	{3, "missing.npy: cannot be opened", INPUT("@/missing.npy")},
	{3, "missing.npy: cannot be opened", INPUT("image=@/missing.npy")},
	{3, "the model has no input 'nosuchinput'", INPUT("nosuchinput=@/good.npy")},
	{3,
	 "all given already",
	 {"compare", "digits", "--devices", "tpu_v1", "--input", "@/good.npy", "--input", "@/good.npy"}},
	{3, "expected 4 class numbers", LABELS("@/five.npy")},
	{3, "expected 4 class numbers", LABELS("@/square.npy")},
	{3, "expected 4 class numbers", LABELS("@/floats.npy")},
	{3, "nolabels.npy: cannot be opened", LABELS("@/nolabels.npy")},
	{3, "must end in .npy or .pb", LABELS("@")},
	{3, "shape.npy", {"run", "digits", "--device", "tpu_v1", "--input", "@/shape.npy", "--output", "@/y.npy"}},
	{3, "shape.npy", {"compare", "digits", "--input", "@/shape.npy", "--json", "-"}},
};

Test(cli_bad_input, samples_of_wrong_shape_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_npy(folder, "good.npy", "<f4", "4, 1, 8, 8", 4 * 64 * 4);
	write_npy(folder, "rank.npy", "<f4", "4, 64", 4 * 64 * 4);
	write_npy(folder, "shape.npy", "<f4", "4, 1, 8, 7", 4 * 56 * 4);
	write_npy(folder, "none.npy", "<f4", "0, 1, 8, 8", 0);
	write_npy(folder, "dtype.npy", "<f8", "4, 1, 8, 8", 4 * 64 * 8);
	write_npy(folder, "complex.npy", "<c8", "4, 1, 8, 8", 4 * 64 * 8);
	write_npy(folder, "short.npy", "<f4", "4, 1, 8, 8", 4 * 64 * 4 - 1);
	write_npy(folder, "product.npy", "<f4", "4294967296, 4294967296, 4294967296, 8", 64);
	write_nan(folder, "nan.npy");
	write_npy(folder, "labels.npy", "<i8", "4,", 32);
	write_npy(folder, "five.npy", "<i8", "5,", 40);
	write_npy(folder, "square.npy", "<i8", "2, 2", 32);
	write_npy(folder, "floats.npy", "<f4", "4,", 16);
	cli_write_text(folder, "text.npy", "four samples\n");
	cli_write_text(folder, "empty.npy", "");
	cli_write_text(folder, "text.pb", "four samples\n");
	cli_write_text(folder, "samples.txt", "1 2 3\n");
	cr_assert_eq(mkfifo(cli_path(folder, "fifo.npy"), 0666), 0);
	cr_assert_eq(symlink("/dev/zero", cli_path(folder, "zero.npy")), 0);
	CLI_CHECK(folder, wrong_samples);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "digits", "--devices",
				      "tpu_v1", "--input", "@/good.npy", "--labels", "@/labels.npy", "--quiet");
	cr_assert_eq(r.status, 0, "the samples that fit: %s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Command lines that are refused: the exit status and what is said. */
static const struct cli_refusal wrong_usages[] = {
	{2, "the nearest is 'compare'", {"comprae"}},
	{2, "there is no command ''", {""}},
	{2, "there is no command '--verbos'", {"--verbos"}},
	{2, "which model", {"compare"}},
	{2, "unexpected argument 'more'", {"compare", "digits", "more"}},
	{2, "the nearest is '--devices'", {"compare", "digits", "--device", "cpu"}},
	{2, "unknown option '-x'", {"compare", "digits", "-x"}},
	{2, "unknown option '--json3=-'", {"compare", "digits", "--json3=-"}},
	{2, "--json needs a value", {"compare", "digits", "--json"}},
	{2, "--quiet takes no value", {"compare", "digits", "--quiet=yes"}},
	{2, "an empty name", {"compare", "digits", "--devices", "tpu_v1,,cpu"}},
	{2, "an empty name", {"compare", "digits", "--devices", ""}},
	{2, "'cpu' is given twice", {"compare", "digits", "--devices", "cpu,null,cpu"}},
	{2, "--batch must be a whole number from 1", {"compare", "digits", "--batch", "0"}},
	{2, "--batch must be a whole number", {"compare", "digits", "--batch", "-3"}},
	{2, "--batch must be a whole number", {"compare", "digits", "--batch", "7x"}},
	{2, "--batch must be a whole number", {"compare", "digits", "--batch", " 1"}},
	{2, "got ' 700e6'", {"compare", "digits", "--set", "tpu_v1.clock_hz= 700e6"}},
	{2, "--calibrate percentile= 99: expected", {"compare", "digits", "--calibrate", "percentile= 99"}},
	{2, "--batch must be a whole number", {"compare", "digits", "--batch", "99999999999999999999"}},
	{2, "--threads must be", {"compare", "digits", "--threads", "0"}},
	{2, "--seed must be", {"compare", "digits", "--seed", "-1"}},
	{2, "cannot both have standard output", {"compare", "digits", "--json", "-", "--csv", "-"}},
	{2, "cannot both have standard output", {"devices", "cpu", "--yaml", "--json", "-"}},
	{2, "cannot both have standard output", {"run", "digits", "--device", "null", "--json", "-", "--csv", "-"}},
	{2,
	 "cannot both have standard output",
	 {"layer", "gemm", "-m", "1", "-n", "1", "-k", "1", "--json", "-", "--csv", "-"}},
	{2, "cpu is a real device", {"compare", "digits", "--devices", "tpu_v1,cpu", "--timing-only"}},
	{2, "reference is a real device", {"run", "digits", "--device", "reference", "--timing-only"}},
	{2, "cpu is a real device", {"run", "digits", "--place", "Conv=tpu_v1,*=cpu", "--timing-only"}},
	{2,
	 "cpu is a real device",
	 {"layer", "gemm", "-m", "4", "-n", "4", "-k", "4", "--devices", "cpu", "--timing-only"}},
	{2, "either --device or --place", {"run", "digits"}},
	{2, "either --device or --place", {"run", "digits", "--device", "cpu", "--place", "*=cpu"}},
	{2, "either --device or --place", {"run", "digits", "--place", "*=cpu", "--place-file", "@/no"}},
	{3, "/no", {"run", "digits", "--place-file", "@/no"}},
	{2,
	 "--csv - and --timeline - cannot both",
	 {"run", "digits", "--device", "tpu_v1", "--csv", "-", "--timeline", "-"}},
	{5, "cannot be written", {"run", "digits", "--device", "tpu_v1", "--timeline", "@/no/t.json"}},
	{2, "a model and either", {"run", "--device", "cpu"}},
	{2,
	 "computes no values for --output",
	 {"run", "digits", "--device", "tpu_v1", "--timing-only", "--output", "@/y.npy"}},
	{2, "--yaml needs the name", {"devices", "--yaml"}},
	{2, "--json needs a value: FILE", {"devices", "--json", "--verbose"}},
	{2, "--json needs a value: FILE", {"models", "--json", "--help"}},
	{2, "--set needs the name of a machine", {"devices", "--set", "array.rows=1"}},
	{2, "null has no parameters", {"devices", "null", "--yaml"}},
	{5, "cannot be written", {"devices", "--json", "@/none/devices.json"}},
	{5, "cannot be written", {"models", "--json", "@/none/models.json"}},
	{2, "models: unexpected argument 'digits'; usage: npulab models [--json FILE]\n", {"models", "digits"}},
	{2,
	 "devices: unexpected argument 'cpu'; usage: npulab devices [NAME|FILE] [--yaml] [--set KEY=VALUE] "
	 "[--verbose]\n",
	 {"devices", "cpu", "cpu"}},
	{2,
	 "alone or with K, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (powers of 1024) after it, got '1.5G'\n",
	 {"compare", "digits", "--max-memory", "1.5G"}},
	{2, "got '8GB'; the nearest is '8G'", {"run", "digits", "--device", "cpu", "--max-memory", "8GB"}},
	{2, "got '8kib'; the nearest is '8Ki'", {"inspect", "digits", "--max-memory", "8kib"}},
	{2, "got '8B'; the nearest is '8'", {"validate", "--max-memory", "8B"}},
	{2, "which model?", {"inspect"}},
	{5, "cannot be written", {"inspect", "digits", "--json", "@/none/inspect.json"}},
};

Test(cli_bad_input, wrong_usage_is_refused_with_the_nearest_word)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	CLI_CHECK(folder, wrong_usages);
	cli_remove_folder(folder);
	struct cli_result r = cli_run_list(&(struct cli_run_options){0}, (const char *const[]){NULL});
	cr_assert_eq(r.status, 2, "without a command");
	cr_assert(r.out_bytes == 0 && strstr(r.err, "usage: npulab COMMAND"), "without a command: %s", r.err);
	cli_free(&r);
}

#define LAYER(...)                                                                                                     \
	{                                                                                                              \
		"layer", __VA_ARGS__, "--devices", "tpu_v1"                                                            \
	}

Test(cli_bad_input, impossible_layers_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_refusal cases[] = {
		{2, "which?", {"layer"}},
		{2, "'relu' is none of gemm, conv, pool", {"layer", "relu"}},
		{2, "-m, -n and -k are needed", LAYER("gemm", "-m", "3")},
		{2, "-k must be a whole number", LAYER("gemm", "-m", "3", "-n", "3", "-k", "0")},
		{2, "-m needs a value", {"layer", "gemm", "-m"}},
		{2, "the inputs are 16777216x16777216, expected 1 to",
		 LAYER("gemm", "-m", "16777216", "-n", "1", "-k", "16777216")},
		{2, "16777216", LAYER("gemm", "-m", "16777216", "-n", "16777216", "-k", "1")},
		{2, "--filters is needed", LAYER("conv", "--input", "1x3x8x8", "--kernel", "3")},
		{2, "--kernel HxW is missing", LAYER("conv", "--input", "1x3x8x8", "--filters", "2")},
		{2, "--input NxCxHxW is missing", LAYER("conv", "--kernel", "3", "--filters", "2")},
		{2, "--input expects NxCxHxW", LAYER("conv", "--input", "1x3x8", "--kernel", "3", "--filters", "2")},
		{2, "--input expects NxCxHxW", LAYER("conv", "--input", "1x3x8x8x", "--kernel", "3", "--filters", "2")},
		{2, "--input expects NxCxHxW", LAYER("conv", "--input", "1x3x8x-8", "--kernel", "3", "--filters", "2")},
		{2, "--input expects NxCxHxW",
		 LAYER("conv", "--input", "1x3x8x99999999999999999999", "--kernel", "3", "--filters", "2")},
		{2, "the inputs are 1073741824x1073741824",
		 LAYER("conv", "--input", "1073741824x1073741824x1073741824x8", "--kernel", "3", "--filters", "2")},
		{2, "each from 1 on", LAYER("pool", "--input", "0x3x8x8", "--kernel", "2")},
		{2, "--kernel expects", LAYER("conv", "--input", "1x3x8x8", "--kernel", "3x3x3", "--filters", "2")},
		{2, "does not fit", LAYER("conv", "--input", "1x3x8x8", "--kernel", "9", "--filters", "2")},
		{2, "stride", LAYER("conv", "--input", "1x3x8x8", "--kernel", "3", "--filters", "2", "--stride", "0")},
		{2, "stride", LAYER("pool", "--input", "1x3x8x8", "--kernel", "3", "--stride", "0")},
		{2, "dilation",
		 LAYER("conv", "--input", "1x3x8x8", "--kernel", "3", "--filters", "2", "--dilation", "0")},
		{2, "do not divide into 2 groups",
		 LAYER("conv", "--input", "1x3x8x8", "--kernel", "3", "--filters", "2", "--groups", "2")},
		{2, "more than 1099511627776 elements",
		 LAYER("conv", "--input", "1x3x8x8", "--kernel", "3", "--filters", "2", "--pad", "1000000000")},
		{2, "--type is max or average", LAYER("pool", "--input", "1x3x8x8", "--kernel", "2", "--type", "min")},
		{2, "tpu_v1 computes in int8",
		 LAYER("gemm", "-m", "2", "-n", "2", "-k", "2", "--precision", "float32")},
		{2,
		 "--precision int4: there is no such number format, expected int8, int8x16, Q6.10, float32, tf32, "
		 "float16 or bfloat16",
		 LAYER("gemm", "-m", "2", "-n", "2", "-k", "2", "--precision", "int4")},
		{2, "computes no values for --output",
		 LAYER("gemm", "-m", "2", "-n", "2", "-k", "2", "--timing-only", "--output", "@/y.npy")},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* NAME.yaml beside a model: what is wrong in it is named by line; a file that is not about the model is left alone. */
Test(cli_bad_input, faults_beside_a_model_are_named_by_line)
{
	char folder[CLI_PATH];
	static const char *const names[] = {"key", "labels", "batch", "other", "foreign"};
	cli_folder(folder);
	for (size_t i = 0; i < 5; i++) {
		char file[32];
		snprintf(file, sizeof file, "%s.onnx", names[i]);
		write_one_node(folder, file, "Relu", 2, (int64_t[]){1, 4});
	}
	cli_write_text(folder, "key.yaml", "model: key.onnx\nlabel: x.npy\n");
	cli_write_text(folder, "labels.yaml", "model: labels.onnx\ninput: none.npy\n");
	cli_write_text(folder, "batch.yaml", "model: batch.onnx\nbatch: -1\n");
	cli_write_text(folder, "other.yaml", "model: else.onnx\ninput: none.npy\n");
	cli_write_text(folder, "foreign.yaml", "- some: other\n- programs: [file\n");
	const struct cli_refusal cases[] = {
		{3, "key.yaml:2: there is no parameter 'label'; the nearest is 'labels'", {"compare", "@/key.onnx"}},
		{3, "none.npy: cannot be opened", {"compare", "@/labels.onnx"}},
		{3, "batch.yaml:2: batch must be", {"compare", "@/batch.onnx"}},
	};
	CLI_CHECK(folder, cases);
	for (size_t i = 3; i < 5; i++) {
		char model[32];
		snprintf(model, sizeof model, "@/%s.onnx", names[i]);
		struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", model,
					      "--devices", "null");
		cr_assert_eq(r.status, 0, "%s: %s", names[i], r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Outputs that cannot be written: exit status 5, and neither a new file nor harm to an old one. */
Test(cli_bad_input, a_failed_write_leaves_old_files_alone)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cr_assert_eq(mkdir(cli_path(folder, "dir"), 0777), 0);
#define TPU "compare", "digits", "--devices", "tpu_v1", "--timing-only"
	const struct cli_refusal cases[] = {
		{5, "cannot be written", {TPU, "--json", "@/none/r.json"}},
		{5, "cannot be written", {TPU, "--csv", "@/none/r.csv"}},
		{5, "cannot be written", {TPU, "--json", "-", "--csv", "@/none/r.csv"}},
		{5, "cannot be written", {TPU, "--json", "@/dir"}},
		{2, "--json '' names no file", {TPU, "--json", ""}},
		{2, "--csv '' names no file", {TPU, "--csv="}},
		{2, "--output '' names no file", {"run", "digits", "--device", "tpu_v1", "--output", ""}},
		{5, "it names a folder", {TPU, "--json", "@/new/"}},
		{5, "cannot be written", {"run", "digits", "--device", "tpu_v1", "--output", "@/none/y.npy"}},
		{5,
		 "cannot be written",
		 {"layer", "gemm", "-m", "2", "-n", "2", "-k", "2", "--devices", "tpu_v1", "--output", "@/none/y.npy"}},
	};
	CLI_CHECK(folder, cases);
	/* a disk that fills up in the middle of the file: what was there before stays */
	cli_write_text(folder, "old.json", "before");
	int files = cli_count_files(folder);
	const char *const full[][10] = {{TPU, "--json", "@/old.json"},
					{TPU, "--json", "@/new.json"},
					{TPU, "--csv", "@/new.csv"},
					{"run", "digits", "--device", "tpu_v1", "--output", "@/y.npy", "--quiet"}};
	for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder, .largest_file = 512},
						   full[i]);
		cr_assert_eq(r.status, 5, "%s", r.err);
		cr_assert(strstr(r.err, "cannot be written"), "%s", r.err);
		cr_assert_eq(!r.out_bytes, i == 3, "the table is printed all the same: %s", r.out);
		cr_assert_eq(cli_count_files(folder), files, "a full disk: a partial file is left");
		cli_free(&r);
	}
	char *old = cli_read(cli_path(folder, "old.json"), NULL);
	cr_assert_str_eq(old, "before");
	free(old);
	/* standard output itself */
	const char *const printed[][10] = {{TPU},         {TPU, "--json", "-"},       {TPU, "--csv", "-"},
					   {"devices"},   {"devices", "--json", "-"}, {"devices", "tpu_v1", "--yaml"},
					   {"models"},    {"inspect", "digits"},      {"--help"},
					   {"--version"}, {"compare", "--help"}};
	for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){.stdout_to = "/dev/full"}, printed[i]);
		cli_check_refusal(&r, 5, "standard output could not be written", printed[i][0]);
		cli_free(&r);
	}
	/* nor does a device that is missing, or a check that fails, hide it */
	const char *const worse[][10] = {
		{"compare", "digits", "--devices", "tpu_v1,cuda", "--timing-only", "--json", "-"},
		{"validate", "tpu_v1", "--check", "--set", "tpu_v1.array.rows=128"}};
	for (size_t i = 0; i < 2; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){.stdout_to = "/dev/full"}, worse[i]);
		cr_assert_eq(r.status, 5, "%s: %s", worse[i][0], r.err);
		cr_assert(strstr(r.err, "standard output could not be written"), "%s", r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

Test(cli_bad_input, too_little_memory_ends_with_a_message)
{
	if (cli_no_limits())
		cr_skip("the sanitizer needs all the address space there is, and an emulator ignores its limit");
	struct cli_result r = cli_run(&(struct cli_run_options){.address_space = (size_t)1 << 30}, "layer", "gemm",
				      "-m", "40000", "-k", "40000", "-n", "8", "--devices", "tpu_v1", "--json", "-");
	cli_check_refusal(&r, 5, "out of memory", "1.6 GB of operands in 1 GiB");
	cli_free(&r);
}

/* OpenBLAS asks for a buffer again and again where none can be had: whatever the limit on address space
 * (ulimit -v) or on data (ulimit -d), the processor answers, with its figures or with one line. */
Test(cli_bad_input, address_space_of_the_processor)
{
	static const size_t kilobytes[] = {50000,  70000,  100000, 130000, 200000, 250000,
					   300000, 330000, 400000, 500000, 1000000};
	enum { SIZES = sizeof kilobytes / sizeof *kilobytes };
	int refused[2] = {0}, done[2] = {0};
	if (cli_no_limits())
		cr_skip("the sanitizer needs all the address space there is, and an emulator ignores its limit");
	for (int i = 0; i < 2 * SIZES; i++) {
		const bool data = i >= SIZES;
		const size_t bytes = kilobytes[i % SIZES] * 1024;
		const struct cli_run_options options = {.address_space = data ? 0 : bytes, .data = data ? bytes : 0};
		struct cli_result r = cli_run(&options, "compare", "lenet5", "--devices", "cpu", "--quiet", "--batch",
					      "1");
		cr_assert(r.status == 0 || r.status == 5, "%zu bytes: exit status %d, %s", bytes, r.status, r.err);
		if (r.status)
			cli_check_refusal(&r, 5, "", "the cpu within a limit");
		refused[data] += r.status == 5;
		done[data] += r.status == 0;
		cli_free(&r);
	}
	for (int data = 0; data < 2; data++)
		cr_assert(refused[data] && done[data], "%d refused, %d done", refused[data], done[data]);
}

/* A stack of 96 KB is enough for every device and both engines. */
Test(cli_bad_input, a_stack_of_96_kb_is_enough)
{
	static const char *const commands[][8] = {
		{"compare", "digits", "--devices", "reference,tpu_v1,diannao,cpu", "--quiet"},
		{"compare", "lenet5", "--devices", "tpu_v1,diannao", "--engine", "rtl", "--timing-only"},
		{"compare", "digits", "--devices", "cpu,reference", "--set", "cpu.precision=int8", "--quiet"},
		{"layer", "conv", "--input=1x3x32x32", "--kernel=3", "--filters=8", "--devices=diannao,tpu_v1,cpu"},
		{"run", "digits", "--place", "Conv*=tpu_v1,*=cpu", "--quiet"},
		{"inspect", "digits", "--quiet"},
		{"dram", "--pattern", "stream_rd", "-n", "1000"}};
	if (cli_no_limits())
		cr_skip("the sanitizer and an emulator need more stack");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){.stack = 96 * 1024}, commands[i]);
		cr_assert_eq(r.status, 0, "%s %s: %d, %s", commands[i][0], commands[i][1], r.status, r.err);
		cli_free(&r);
	}
}

/* The data folder named by hand must be one. */
Test(cli_bad_input, a_data_folder_named_by_hand_must_be_one)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	setenv("NPULAB_DATA", folder, 1);
	const struct cli_refusal cases[] = {{3, "has no folder 'models'", {"models"}},
					    {3, "has no folder 'machines'", {"devices"}},
					    {3, "has no folder 'models'", {"compare", "digits"}}};
	CLI_CHECK(folder, cases);
	unsetenv("NPULAB_DATA");
	cli_remove_folder(folder);
}
