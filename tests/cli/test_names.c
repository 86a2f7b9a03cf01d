/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of names: a machine's name cannot be taken for the host, a placement or a real device, nor for
 * another machine of the same run; an output never replaces what the run reads, nor another output; an option of one
 * operator is not ignored by another; and a word cut short, or a whole number written with an exponent, is
 * understood. */
#include "tests/kit/cli_json.h"

#define LETTERS_32 "abcdefghijklmnopqrstuvwxyz_-+012"
#define MODEL      "digits.onnx"

/* The file of machine i with this `name:`, which is YAML text. */
static void write_machine(const char *folder, size_t i, const char *name)
{
	char file[32], text[200];
	snprintf(file, sizeof file, "m%zu.yaml", i);
	snprintf(text, sizeof text, "name: %s\ndriver: diannao\n", name);
	cli_write_text(folder, file, text);
}

/* Every command that takes a device refuses the machine and names its file. */
Test(cli_names, machine_names_that_mislead)
{
	static const char *const names[] = {
		"host",         "placement",   "cpu",      "reference", "'null'", "cuda", "two words", "' lead'",
		"'a,b'",        "\"a\\nb\"",   "\"\\tb\"", "\"\"",      "''",     "",     "'~'",       LETTERS_32 "3",
		"\"\\e[31mx\"", "\"\\u00e9\"", "a.b",      "a=b",       "a/b",    "'a*'", "'/a/'",     "'\"'",
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		write_machine(folder, i, names[i]);
	cli_write_text(folder, "two words.yaml", "driver: diannao\n"); /* named by its file */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char device[32], expected[48], rule[48];
		snprintf(device, sizeof device, "@/m%zu.yaml", i);
		snprintf(expected, sizeof expected, "/m%zu.yaml:1: the name '", i);
		snprintf(rule, sizeof rule, "*=@/m%zu.yaml", i);
		const struct cli_refusal cases[] = {
			{3, expected, {"devices", device}},
			{3, expected, {"devices", device, "--yaml"}},
			{3, expected, {"compare", "digits", "--devices", device, "--timing-only"}},
			{3, expected, {"run", "digits", "--place", rule}},
			{3, expected, {"layer", "gemm", "-m", "1", "-n", "1", "-k", "1", "--devices", device}},
		};
		if (i % 4 == 0)
			CLI_CHECK(folder, cases);
		else
			cli_check_refusals(folder, cases, 1);
	}
	const struct cli_refusal by_file[] = {
		{3, "two words.yaml: the name 'two words'", {"devices", "@/two words.yaml"}}};
	CLI_CHECK(folder, by_file);
	cli_remove_folder(folder);
}

/* Names that mean nothing else are as good as any, and address the machine's parameters. */
Test(cli_names, machine_names_that_do_not)
{
	static const char *const names[] = {LETTERS_32, "A9", "7", "tpu_v1", "hosts", "systolic", "x-y_z+1"};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char device[32], set[80];
		snprintf(device, sizeof device, "@/m%zu.yaml", i);
		snprintf(set, sizeof set, "%s.nfu.tn=8", names[i]);
		write_machine(folder, i, names[i]);
		json_t *root = cli_json(&(struct cli_run_options){.folder = folder}, "layer", "gemm", "-m", "4", "-n",
					"4", "-k", "4", "--timing-only", "--devices", device, "--set", set, "--json",
					"-");
		json_t *entry = cli_device(root, names[i]);
		cr_assert_eq(cli_integer(json_object_get(cli_at(entry, "settings"), "nfu.tn")), 8, "%s", names[i]);
		cr_assert_str_eq(cli_text(cli_at(entry, "layers.0.ran_on")), names[i]);
		json_decref(root);
	}
	cli_remove_folder(folder);
}

/* Every machine's dump loads back, the real processor's too, as the same machine. */
Test(cli_names, dumps_load_back)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	json_t *known = cli_json(&options, "devices", "--json", "-"), *device;
	size_t i, dumped = 0;
	json_array_foreach (cli_at(known, "devices"), i, device) {
		const char *name = cli_text(cli_at(device, "name"));
		if (json_is_null(cli_at(device, "machine_sha256"))) /* no parameters, or it cannot start here */
			continue;
		struct cli_result dump = cli_run(&options, "devices", name, "--yaml");
		cr_assert_eq(dump.status, 0, "%s: %s", name, dump.err);
		cli_write(folder, "copy.yaml", dump.out, dump.out_bytes);
		struct cli_result again = cli_run(&options, "devices", "@/copy.yaml", "--yaml");
		cr_assert_eq(again.status, 0, "%s: %s", name, again.err);
		cr_assert_str_eq(again.out, dump.out, "%s: a dump of its dump differs", name);
		cli_free(&dump);
		cli_free(&again);
		if (!strcmp(name, "host")) /* which runs no layer of its own */
			continue;
		json_t *root = cli_json(&options, "layer", "gemm", "-m", "2", "-n", "2", "-k", "2", "--devices",
					"@/copy.yaml", "--json", "-");
		cr_assert_str_eq(cli_text(cli_at(root, "devices.0.name")), name);
		cr_assert(json_equal(cli_at(root, "devices.0.machine_sha256"), cli_at(device, "machine_sha256")), "%s",
			  name);
		dumped += !strcmp(name, "cpu") || !strcmp(name, "tpu_v1") || !strcmp(name, "diannao");
		json_decref(root);
	}
	cr_assert_eq(dumped, 3, "cpu, tpu_v1 and diannao have parameters");
	json_decref(known);
	cli_remove_folder(folder);
}

/* A copy of tpu_v1's file, with another name where one is given. */
static void write_tpu(const char *folder, const char *file, const char *name)
{
	struct cli_result dump = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1", "--yaml");
	cr_assert_eq(dump.status, 0, "%s", dump.err);
	const char *tail = strchr(dump.out, '\n');
	char line[80];
	snprintf(line, sizeof line, "name: %s", name);
	cr_assert(tail && !strncmp(dump.out, "name: tpu_v1\n", 13));
	char *text = NULL;
	cr_assert(asprintf(&text, "%s%s", line, tail) > 0);
	cli_write_text(folder, file, text);
	free(text);
	cli_free(&dump);
}

/* Two entries under one name could not be told apart, nor their parameters. */
Test(cli_names, two_devices_of_one_name)
{
	char folder[CLI_PATH], both[CLI_PATH + 80], swapped[CLI_PATH + 80];
	cli_folder(folder);
	write_tpu(folder, "copy.yaml", "tpu_v1");
	snprintf(both, sizeof both, "tpu_v1 and %s/copy.yaml are both called 'tpu_v1'", folder);
	snprintf(swapped, sizeof swapped, "%s/copy.yaml and tpu_v1 are both called 'tpu_v1'", folder);
	const struct cli_refusal cases[] = {
		{2, both, {"compare", "digits", "--devices", "tpu_v1,@/copy.yaml"}},
		{2, swapped, {"compare", "digits", "--devices", "@/copy.yaml,diannao,tpu_v1", "--timing-only"}},
		{2,
		 both,
		 {"layer", "gemm", "-m", "2", "-n", "2", "-k", "2", "--devices", "diannao,tpu_v1,@/copy.yaml"}},
		{2, both, {"run", "digits", "--place", "Conv=tpu_v1,*=@/copy.yaml"}},
		{2, both, {"compare", "digits", "--devices", "tpu_v1,@/copy.yaml", "--set", "tpu_v1.array.rows=8"}},
		{2, "'tpu_v1' is given twice", {"compare", "digits", "--devices", "tpu_v1,tpu_v1"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* The same machine under another name gives the same figures: only what says the name differs. */
Test(cli_names, two_devices_of_two_names)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_tpu(folder, "other.yaml", "other");
	json_t *root = cli_json(&(struct cli_run_options){.folder = folder}, "compare", "digits", "--devices",
				"tpu_v1,@/other.yaml", "--json", "-");
	cr_assert_eq(json_array_size(cli_at(root, "devices")), 2);
	json_t *tpu = cli_device(root, "tpu_v1"), *other = cli_device(root, "other");
	cr_assert(!json_equal(cli_at(tpu, "machine_sha256"), cli_at(other, "machine_sha256")), "the file is another");
	json_t *pair[] = {tpu, other};
	for (int d = 0; d < 2; d++) {
		size_t i;
		json_t *layer;
		json_array_foreach (cli_at(pair[d], "layers"), i, layer) {
			cr_assert_str_eq(cli_text(cli_at(layer, "ran_on")), d ? "other" : "tpu_v1");
			json_object_del(layer, "ran_on");
		}
		cr_assert_str_eq(cli_text(cli_at(pair[d], "links.0.device")), d ? "other" : "tpu_v1");
		json_object_del(cli_at(pair[d], "links.0"), "device");
		json_object_del(pair[d], "name");
		json_object_del(pair[d], "instance");
		json_object_del(pair[d], "machine_sha256");
		json_object_del(cli_at(pair[d], "totals"), "simulation_wall_seconds");
	}
	cr_assert(json_equal(tpu, other), "the same machine gives other figures under another name");
	json_decref(root);
	cli_remove_folder(folder);
}

/* A folder with a model, samples, labels, a machine file, an older report, and links to some of them. */
static void fill_folder(const char *folder)
{
	static const char *const files[][2] = {{"models/digits.onnx", MODEL},
					       {"models/digits_test_images.npy", "in.npy"},
					       {"models/digits_test_labels.npy", "labels.npy"}};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		size_t bytes;
		char *data = cli_read(files[i][0], &bytes);
		cli_write(folder, files[i][1], data, bytes);
		free(data);
	}
	write_tpu(folder, "other.yaml", "other");
	cli_write_text(folder, "old.json", "before");
	cr_assert_eq(mkdir(cli_path(folder, "sub"), 0777), 0);
	cr_assert_eq(symlink(MODEL, cli_path(folder, "link.onnx")), 0);
	cr_assert_eq(symlink("in.npy", cli_path(folder, "link.npy")), 0);
	cr_assert_eq(symlink("../old.json", cli_path(folder, "sub/old.json")), 0);
}

/* The bytes of all files that a run may read, one after the other. */
static char *read_folder(const char *folder, size_t *bytes)
{
	static const char *const files[] = {MODEL, "in.npy", "labels.npy", "other.yaml", "old.json"};
	char *all = NULL;
	FILE *stream = open_memstream(&all, bytes);
	cr_assert(stream);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		size_t n;
		char *data = cli_read(cli_path(folder, files[i]), &n);
		fwrite(data, 1, n, stream);
		free(data);
	}
	cr_assert_eq(fclose(stream), 0);
	return all;
}

#define COMPARE "compare", "@/" MODEL, "--devices", "tpu_v1", "--timing-only"
#define RUN     "run", "@/" MODEL, "--device", "tpu_v1", "--quiet"
#define LAYER   "layer", "gemm", "-m", "2", "-n", "2", "-k", "2", "--devices", "tpu_v1", "--quiet"

/* An output that would replace another output, or what the run reads, under whatever spelling: refused before the
 * work. */
Test(cli_names, outputs_that_would_overwrite)
{
	char folder[CLI_PATH];
	size_t before_bytes, after_bytes;
	cli_folder(folder);
	fill_folder(folder);
	char *before = read_folder(folder, &before_bytes);
	const struct cli_refusal cases[] = {
		{2, "r is named for two outputs", {COMPARE, "--json", "@/r", "--csv", "@/r"}},
		{2, "r is named for two outputs", {COMPARE, "--json", "@/r", "--csv", "@/./r"}},
		{2, "named for two outputs", {COMPARE, "--json", "@/old.json", "--csv", "@/sub/old.json"}},
		{2, "r is named for two outputs", {RUN, "--json", "@/r", "--output", "@/r"}},
		{2, "r is named for two outputs", {RUN, "--output", "@/sub/../r", "--csv", "@/r"}},
		{2, "r is named for two outputs", {LAYER, "--json", "@/r", "--csv", "@/r"}},
		{2, "r is named for two outputs", {LAYER, "--csv", "@/r", "--output", "@/r"}},
		{2, "is read by this run", {COMPARE, "--json", "@/" MODEL}},
		{2, "is read by this run", {COMPARE, "--csv", "@/./" MODEL}},
		{2, "is read by this run", {COMPARE, "--json", "@/link.onnx"}},
		{2, "is read by this run", {RUN, "--output", "@/" MODEL}},
		{2, "is read by this run", {"compare", "@/link.onnx", "--devices", "tpu_v1", "--json", "@/" MODEL}},
		{2, "in.npy is read by this run", {RUN, "--input", "@/in.npy", "--output", "@/in.npy"}},
		{2, "in.npy is read by this run", {RUN, "--input", "image=@/in.npy", "--output", "@/in.npy"}},
		{2, "/link.npy", {RUN, "--input", "@/in.npy", "--output", "@/link.npy"}},
		{2, "/in.npy", {RUN, "--input", "@/link.npy", "--json", "@/in.npy"}},
		{2,
		 "labels.npy is read by this run",
		 {RUN, "--input", "@/in.npy", "--labels", "@/labels.npy", "--output", "@/labels.npy"}},
		{2, "is read by this run", {"run", "@/" MODEL, "--device", "@/other.yaml", "--json", "@/other.yaml"}},
		{2, "is read by this run", {"run", "@/" MODEL, "--place", "*=@/other.yaml", "--csv", "@/other.yaml"}},
		{2,
		 "is read by this run",
		 {"compare", "@/" MODEL, "--devices", "diannao,@/other.yaml", "--json", "@/other.yaml"}},
		{2,
		 "is read by this run",
		 {"layer", "gemm", "-m", "1", "-n", "1", "-k", "1", "--devices", "@/other.yaml", "--json",
		  "@/other.yaml"}},
	};
	CLI_CHECK(folder, cases);
	char *after = read_folder(folder, &after_bytes);
	cr_assert(before_bytes == after_bytes && !memcmp(before, after, before_bytes), "a refused run changed a file");
	free(before);
	free(after);
	cli_remove_folder(folder);
}

/* An output through a symbolic link replaces the file behind it; the link stays a link, and nothing else appears. */
Test(cli_names, an_output_through_a_link_replaces_the_file_behind_it)
{
	static const char *const options[] = {"--json", "--csv", "--output"};
	static const char *const begins[] = {"{\"schema\":", "model,device,", "\x93NUMPY"};
	char folder[CLI_PATH], target[64];
	cli_folder(folder);
	fill_folder(folder);
	int files = cli_count_files(folder);
	for (int i = 0; i < 3; i++) {
		struct stat status;
		size_t bytes;
		cli_write_text(folder, "old.json", "before");
		struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, RUN, options[i],
					      "@/sub/old.json");
		cr_assert_eq(r.status, 0, "%s: %s", options[i], r.err);
		cr_assert_eq(lstat(cli_path(folder, "sub/old.json"), &status), 0);
		cr_assert(S_ISLNK(status.st_mode), "%s: the link is no link any more", options[i]);
		ssize_t n = readlink(cli_path(folder, "sub/old.json"), target, sizeof target);
		cr_assert(n == 11 && !memcmp(target, "../old.json", 11), "%s: the link points elsewhere", options[i]);
		char *text = cli_read(cli_path(folder, "old.json"), &bytes);
		cr_assert(!strncmp(text, begins[i], strlen(begins[i])), "%s: the file behind the link holds %.20s",
			  options[i], text);
		cr_assert_eq(cli_count_files(folder), files, "%s: a file was left behind", options[i]);
		cr_assert_eq(cli_count_files(cli_path(folder, "sub")), 1, "%s: a file was left behind", options[i]);
		free(text);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

#define GEMM "layer", "gemm", "-m", "4", "-n", "4", "-k", "4", "--devices", "tpu_v1"
#define CONV "layer", "conv", "--input", "1x4x8x8", "--kernel", "3", "--filters", "4", "--devices", "tpu_v1"
#define POOL "layer", "pool", "--input", "1x4x8x8", "--kernel", "2", "--devices", "tpu_v1"

/* An option that its operator has no use for would be ignored in silence: a Gemm of 64 filters is somebody's
 * mistake. */
Test(cli_names, options_of_another_operator)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_refusal cases[] = {
		{2, "layer conv takes no -m", {CONV, "-m", "4"}},
		{2, "layer conv takes no -n", {CONV, "-n", "4"}},
		{2, "layer conv takes no -k", {CONV, "-k", "4"}},
		{2, "layer pool takes no -m", {POOL, "-m", "4"}},
		{2, "layer gemm takes no --input", {GEMM, "--input", "1x4x8x8"}},
		{2, "layer gemm takes no --kernel", {GEMM, "--kernel", "3"}},
		{2, "layer gemm takes no --stride", {GEMM, "--stride", "1"}},
		{2, "layer gemm takes no --pad", {GEMM, "--pad", "0"}},
		{2, "layer gemm takes no --dilation", {GEMM, "--dilation", "1"}},
		{2, "layer pool takes no --dilation", {POOL, "--dilation", "2"}},
		{2, "layer gemm takes no --filters", {GEMM, "--filters", "4"}},
		{2, "layer pool takes no --filters", {POOL, "--filters", "4"}},
		{2, "layer gemm takes no --groups", {GEMM, "--groups", "1"}},
		{2, "layer pool takes no --groups", {POOL, "--groups", "2"}},
		{2, "layer gemm takes no --private", {GEMM, "--private"}},
		{2, "layer pool takes no --private", {POOL, "--private"}},
		{2, "layer gemm takes no --type", {GEMM, "--type", "max"}},
		{2, "layer conv takes no --type", {CONV, "--type", "average"}},
		{2, "layer pool takes no --requantise", {POOL, "--requantise"}},
	};
	CLI_CHECK(folder, cases);
	static const char *const fitting[][16] = {
		{GEMM, "--requantise", "--quiet"},
		{CONV, "--groups", "2", "--dilation", "2", "--quiet"},
		{POOL, "--type", "average", "--pad", "1", "--quiet"},
	};
	for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){0}, fitting[i]);
		cr_assert_eq(r.status, 0, "%s: %s", fitting[i][1], r.err);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* A word cut short means what it begins, though another word may be fewer edits away. */
Test(cli_names, a_word_cut_short_means_what_it_begins)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_refusal cases[] = {
		{2, "the nearest is 'tpu_v1'", {"devices", "tpu"}},
		{2, "the nearest is 'tpu_v1'", {"devices", "TPU"}},
		{2, "the nearest is 'tpu_v1'", {"compare", "digits", "--devices", "tpu"}},
		{2, "the nearest is 'diannao'", {"run", "digits", "--device", "dian"}},
		{2, "the nearest is 'cpu'", {"devices", "cpus"}},
		{2, "the nearest is '--devices'", {"compare", "digits", "--dev", "tpu_v1"}},
		{2, "the nearest is '--devices'", {"compare", "digits", "--device", "tpu_v1"}},
		{2, "the nearest is '--timing-only'", {"compare", "digits", "--timing"}},
		{2, "the nearest is 'compare'", {"comp", "digits"}},
		{2, "the nearest is 'host_link.name'", {"compare", "digits", "--set", "tpu_v1.host_link.nam=x"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* `help COMMAND` is `COMMAND --help`; of no command it names the nearest. A one-node model is told of in the singular
 * and counts are whole; a topology is a list of layers. */
Test(cli_names, help_names_the_nearest_command_and_counts_are_whole)
{
	static const char *const commands[] = {"compare", "run", "layer", "inspect", "models", "conformance", "dram"};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct cli_result a = cli_run(&options, "help", commands[i]),
				  b = cli_run(&options, commands[i], "--help");
		cr_assert(!a.status && !b.status && a.out_bytes);
		cr_assert_str_eq(a.out, b.out);
		cli_free(&a);
		cli_free(&b);
	}
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
	onnx_put_floats(&g, "w", 2, (int64_t[]){4, 2}, (float[8]){1});
	onnx_put_node(&g, "MatMul", "fc", "x w", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "one.onnx", &g);
	cli_write_text(folder, "one.csv", "Layer, M, N, K,\nfc, 2, 3, 4,\n");
	struct cli_result r = cli_run(&options, "inspect", "@/one.onnx");
	cr_assert(cli_says(r.out, "one: opset 13, 1 node in the file, 1 layer after folding (0 constants, "), "%s",
		  r.out);
	cr_assert(cli_says(r.out, "8 MAC and 8 parameters for a batch of 1"), "%s", r.out);
	cli_free(&r);
	r = cli_run(&options, "inspect", "@/one.csv");
	cr_assert(cli_says(r.out, "one: a list of 1 layer, 1 layer after folding"), "%s", r.out);
	cli_free(&r);
	const struct cli_refusal cases[] = {
		{2, "there is no command 'comprae'; the nearest is 'compare'", {"help", "comprae"}},
		{2, "there is no command 'nonsense' (`npulab --help` lists them)", {"help", "nonsense"}},
		{2, "there is no command '' (", {""}},
		{2, "help: expected one command", {"help", "run", "compare"}},
		{2, "unknown option '--zebra' (`npulab run", {"run", "--zebra"}},
		{3, "neither a file nor one of the shipped models\n", {"inspect", "zebra"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* A whole number is a whole number however it is written, in a file and on the command line; half of one is not. */
Test(cli_names, whole_numbers_with_exponents)
{
	static const char *const whole[] = {"0.7e9", "7e8", "7E+8", "700000000.0", "7000000000e-1", "700000000"};
	static const char *const not_whole[] = {"0.7", "0.75e1", "7e8x", "1e300", "7e-9", "0x1p3.5", "e8", "nan"};
	char folder[CLI_PATH], text[80];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	json_t *expected = cli_json(&options, "compare", "digits", "--devices", "tpu_v1", "--timing-only", "--json",
				    "-");
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		snprintf(text, sizeof text, "tpu_v1.clock_hz=%s", whole[i]);
		json_t *set = cli_json(&options, "layer", "gemm", "-m", "1", "-n", "1", "-k", "1", "--devices",
				       "tpu_v1", "--timing-only", "--json", "-", "--set", text);
		cr_assert_eq(cli_integer(cli_at(set, "devices.0.settings.clock_hz")), 700000000, "%s", whole[i]);
		cr_assert(json_equal(cli_at(set, "devices.0.machine_sha256"),
				     cli_at(expected, "devices.0.machine_sha256")),
			  "%s: another machine", whole[i]);
		json_decref(set);
		snprintf(text, sizeof text, "driver: systolic\nclock_hz: %s\n", whole[i]);
		cli_write_text(folder, "m.yaml", text);
		struct cli_result r = cli_run(&options, "devices", "@/m.yaml", "--yaml");
		cr_assert_eq(r.status, 0, "%s: %s", whole[i], r.err);
		cr_assert(cli_says(r.out, "clock_hz: 700000000 "), "%s: %s", whole[i], r.out);
		cli_free(&r);
	}
	for (size_t i = 0; i < sizeof not_whole / sizeof *not_whole; i++) {
		char set[80];
		snprintf(set, sizeof set, "tpu_v1.clock_hz=%s", not_whole[i]);
		snprintf(text, sizeof text, "driver: systolic\nclock_hz: %s\n", not_whole[i]);
		cli_write_text(folder, "m.yaml", text);
		const struct cli_refusal cases[] = {
			{2,
			 "clock_hz must be a whole number",
			 {"compare", "digits", "--devices", "tpu_v1", "--set", set}},
			{3, "m.yaml:2: clock_hz must be a whole number", {"devices", "@/m.yaml"}},
		};
		CLI_CHECK(folder, cases);
	}
	json_decref(expected);
	cli_remove_folder(folder);
}

/* A real device is asked like a machine, though it cannot run without values. */
Test(cli_names, inspect_asks_any_device)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "inspect", "digits", "--devices",
				      "reference,tpu_v1");
	cr_assert(!r.status && strstr(r.out, "\nreference runs every layer\n") && strstr(r.out, "\ntpu_v1 runs "),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	json_t *root = cli_json(&(struct cli_run_options){0}, "inspect", "lstm0", "--devices", "reference,tpu_v1",
				"--json", "-");
	json_t *layers = cli_at(root, "layers");
	for (size_t i = 0; i < json_array_size(layers); i++) {
		cr_assert_null(json_object_get(cli_at(json_array_get(layers, i), "on_host"), "reference"));
	}
	cr_assert(json_array_size(layers) > 0);
	json_decref(root);
	r = cli_run(&(struct cli_run_options){0}, "inspect", "digits", "--devices", "cpu");
	cr_assert(r.status == 4 || (!r.status && strstr(r.out, "\ncpu runs every layer\n")), "%s%s", r.out, r.err);
	cli_free(&r);
}

/* With settings, by the machine's own name; what a device of integers leaves to its floats is listed. */
Test(cli_names, inspect_takes_settings)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	cli_write_text(folder, "mine.yaml", "name: mine\ndriver: reference\nprecision: int8\n");
	struct cli_result r = cli_run(&options, "inspect", "digits", "--devices", "@/mine.yaml", "--set",
				      "mine.precision=f32");
	cr_assert(!r.status && strstr(r.out, "\nmine runs every layer\n"), "%s%s", r.out, r.err);
	cli_free(&r);
	r = cli_run(&options, "inspect", "lstm_lm", "--devices", "cpu", "--set", "cpu.precision=int8");
	cr_assert(r.status == 4 || (!r.status && strstr(r.out, "\ncpu runs these in float32:\n") &&
				    cli_says(r.out, "lstm2 LSTM its states are floats")),
		  "%s%s", r.out, r.err);
	cli_free(&r);
	r = cli_run(&options, "inspect", "digits", "--devices", "cpu", "--set", "precision=int8");
	cr_assert(r.status == 2 && strstr(r.err, "expected DEVICE.KEY=VALUE"), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}
