/* SPDX-License-Identifier: MIT
 *
 * --dump-program: what it writes assembles, and runs as the layers did, cycle for cycle and byte for byte. */
#include "npulab/graph.h"
#include "npulab/tensor_file.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"

/* Runs the command that the second line of a program names, with its results in `result`; the JSON of the run. */
static json_t *run_dumped(const char *folder, const char *program, const char *result)
{
	char *text = cli_read(cli_path(folder, program), NULL), *line = strchr(text, '\n') + 1, *tail = line;
	const char *args[CLI_ARGUMENTS] = {0};
	int n = 0;
	*strchr(line, '\n') = '\0';
	cr_assert(!strncmp(line, "# npulab exec ", 14), "%s", line);
	tail = line + strlen("# npulab ");
	for (char *word; (word = strsep(&tail, " ")) && n < CLI_ARGUMENTS - 4;)
		args[n++] = strcmp(word, "RESULT.npy") ? word : result;
	args[n++] = "--quiet";
	args[n++] = "--json";
	args[n++] = "-";
	struct cli_result r = cli_run_list(&(struct cli_run_options){.enter = folder}, args);
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *root = cli_parse_json(r.out);
	cli_free(&r);
	free(text);
	return root;
}

static struct npl_tensor load(const char *folder, const char *name)
{
	struct npl_tensor tensor = {0};
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(cli_path(folder, name), &tensor, &err), 0, "%s", err.msg);
	return tensor;
}

/* Sums of a Gemm in the unified buffer of a machine with 256 lanes: for each 256 columns four planes of bytes, low ones
 * first. */
static int32_t sum_in_buffer(const uint8_t *buffer, int64_t rows, int64_t row, int64_t column)
{
	uint32_t sum = 0;
	for (int64_t plane = 0; plane < 4; plane++)
		sum |= (uint32_t)buffer[((column / 256 * 4 + plane) * rows + row) * 256 + column % 256] << 8 * plane;
	return (int32_t)sum;
}

Test(dump_program, layer_runs_again)
{
	static const char *const devices[] = {"tpu_v1", "diannao"}, *const engines[] = {"fast", "rtl"};
	enum { ROWS = 64, COLUMNS = 512 };
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int d = 0; d < 2; d++)
		for (int e = 0; e < 2; e++) {
			json_t *layer = cli_json(&options, "layer", "gemm", "-m", "64", "-n", "512", "-k", "512",
						 "--devices", devices[d], "--engine", engines[e], "--dump-program",
						 "p.s", "--output", "y.npy", "--quiet", "--json", "-");
			json_t *repeated = run_dumped(folder, "p.s", "result.npy");
			cr_assert_str_eq(cli_text(cli_at(repeated, "engine")), engines[e]);
			cr_assert_eq(cli_integer(cli_at(repeated, "cycles")),
				     cli_integer(cli_at(layer, "devices.0.layers.0.cycles")), "%s, %s", devices[d],
				     engines[e]);
			struct npl_tensor y = load(folder, "y.npy"), result = load(folder, "result.npy");
			if (d) {
				cr_assert_eq(npl_tensor_bytes(&y), npl_tensor_bytes(&result));
				cr_assert(!memcmp(y.data, result.data, npl_tensor_bytes(&y)));
			}
			for (int64_t i = 0; i < ROWS * COLUMNS && !d; i++)
				cr_assert_eq(sum_in_buffer(result.data, ROWS, i / COLUMNS, i % COLUMNS),
					     ((int32_t *)y.data)[i], "element %lld", (long long)i);
			npl_tensor_free(&y);
			npl_tensor_free(&result);
			json_decref(layer);
			json_decref(repeated);
		}
	cli_remove_folder(folder);
}

/* Text and binary of a dumped program are the same program, and the text names the layers. */
Test(dump_program, is_text_for_asm)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	struct cli_result r = cli_run(&options, "run", "digits", "--device", "tpu_v1", "--quiet", "--dump-program",
				      "net.s");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	r = cli_run(&options, "asm", "net.s", "-o", "net.bin", "--machine", "tpu_v1");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	char *text = cli_read(cli_path(folder, "net.s"), NULL);
	cr_assert(strstr(text, "\n# layer conv2 (with pool1)\n") && strstr(text, "\n# layer fc2\n"), "%.2000s", text);
	cr_assert(strstr(text, "\n# input ") && strstr(text, "\n# result "), "%.2000s", text);
	free(text);
	cli_remove_folder(folder);
}

/* A network is as many programs as it takes; together they take the cycles of the network's first batch. */
Test(dump_program, network_runs_again)
{
	static const char *const devices[] = {"tpu_v1", "diannao"};
	static const int programs[] = {1, 7};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int timing = 0; timing < 2; timing++)
		for (int d = 0; d < 2; d++) {
			json_t *root = cli_json(&options, "compare", "digits", "--devices", devices[d], "--no-accuracy",
						"--quiet", "--dump-program", "net.s", "--json", "-",
						timing ? "--timing-only" : NULL);
			json_t *layer;
			long long whole = 0, sum = 0;
			size_t i;
			json_array_foreach (cli_at(root, "devices.0.layers"), i, layer)
				whole += json_is_integer(cli_at(layer, "cycles")) ? cli_integer(cli_at(layer, "cycles"))
										  : 0;
			for (int p = 0; p < programs[d]; p++) {
				char name[32] = "net.s";
				if (p)
					snprintf(name, sizeof name, "net.%d.s", p + 1);
				json_t *repeated = run_dumped(folder, name, "result.npy");
				sum += cli_integer(cli_at(repeated, "cycles"));
				json_decref(repeated);
			}
			cr_assert_eq(whole, 3 * sum, "%s: %lld cycles in three batches, the programs take %lld",
				     devices[d], whole, sum);
			json_decref(root);
		}
	cli_remove_folder(folder);
}

#define GEMM "layer", "gemm", "-m", "4", "-n", "4", "-k", "4"

Test(dump_program, programs_that_cannot_be_dumped_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	static const struct cli_refusal cases[] = {
		{2,
		 "cpu has no instruction set, expected a machine of one of these drivers: systolic, diannao",
		 {GEMM, "--devices", "cpu", "--dump-program", "@/p.s"}},
		{2,
		 "--dump-program: the devices are tpu_v1,diannao,cpu, expected one",
		 {GEMM, "--dump-program", "@/p.s"}},
		{2, "expected a name that ends in .s", {GEMM, "--devices", "tpu_v1", "--dump-program", "@/p.txt"}},
		{2, "expected a name that ends in .s", {GEMM, "--devices", "tpu_v1", "--dump-program", "-"}},
		{2,
		 "run: --dump-program is of one device, expected --device",
		 {"run", "digits", "--place", "*=tpu_v1", "--dump-program", "@/p.s"}},
		{2, "cpu has no instruction set", {"run", "digits", "--device", "cpu", "--dump-program", "@/p.s"}},
		{5, "cannot be written", {GEMM, "--devices", "tpu_v1", "--dump-program", "@/none/p.s"}},
		{2,
		 "more than 1048576 instructions",
		 {"layer", "gemm", "-m", "65536", "-n", "512", "-k", "16", "--devices", "diannao", "--timing-only",
		  "--dump-program", "@/p.s"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Files of the second program and those after it are as safe as the first one's, though nobody knows before the run
 * how many there are. */
Test(dump_program, files_of_all_programs_are_guarded)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	struct npl_tensor images = {.dtype = NPL_F32, .shape = npl_shape_of(4, 120, 1, 8, 8)};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_alloc(&images, &err), 0);
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, "p.2.host.npy"), &images, &err), 0, "%s", err.msg);
	npl_tensor_free(&images);
	static const struct cli_refusal cases[] = {
		{2,
		 "p.2.host.npy is read by this run and would be overwritten",
		 {"compare", "digits", "--devices", "diannao", "--input", "@/p.2.host.npy", "--dump-program", "@/p.s"}},
		{2,
		 "q.2.s is named for two outputs",
		 {"compare", "digits", "--devices", "diannao", "--timing-only", "--dump-program", "@/q.s", "--json",
		  "@/q.2.s"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* The second line is the command as a shell takes it, whatever names and settings hold. */
Test(dump_program, command_is_one_line_for_a_shell)
{
	static const char name[] = "it's\na $(b).s";
	char folder[CLI_PATH], program[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	struct cli_result r = cli_run(&options, GEMM, "--devices", "tpu_v1@unified_buffer.bytes=64 KiB",
				      "--dump-program", name);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	char *text = cli_read(cli_path(folder, name), NULL), *line = strchr(text, '\n') + 1;
	*strchr(line, '\n') = '\0';
	cr_assert(!strncmp(line, "# npulab exec ", 14), "%s", line);
	cr_assert(realpath(getenv("NPULAB_BIN"), program));
	char *command = NULL;
	cr_assert(asprintf(&command, "cd '%s' && %s '%s' %s --quiet >/dev/null 2>&1", folder, cli_runner(), program,
			   line + 9) > 0);
	FILE *script = popen("bash", "w");
	cr_assert(script && fputs(command, script) >= 0);
	cr_assert_eq(pclose(script), 0, "%s", command);
	cr_assert_eq(access(cli_path(folder, "RESULT.npy"), F_OK), 0);
	free(command);
	free(text);
	cli_remove_folder(folder);
}

/* What exec is told of a buffer that a machine has not, or that is too large, or that no program writes. */
Test(dump_program, wrong_buffers_of_exec_are_refused)
{
	static const uint8_t byte[64] = {1};
	char folder[CLI_PATH];
	cli_folder(folder);
	struct npl_err err;
	const struct npl_tensor bytes = {
		.dtype = NPL_U8, .shape = npl_shape_of(1, (int64_t)sizeof byte), .data = (void *)byte};
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, "b.npy"), &bytes, &err), 0, "%s", err.msg);
	cli_write_text(folder, "d.s", "CP END\n");
	cli_write_text(folder, "t.s", "halt\n");
	static const struct cli_refusal cases[] = {
		{2, "diannao has no buffer", {"exec", "@/d.s", "--machine", "diannao", "--buffer", "@/b.npy"}},
		{3,
		 "writes nothing to a buffer for --buffer-output",
		 {"exec", "@/t.s", "--machine", "tpu_v1", "--buffer", "@/b.npy", "--buffer-output", "@/o.npy"}},
		{2,
		 "--timing-only computes no values for --buffer-output",
		 {"exec", "@/t.s", "--machine", "tpu_v1", "--timing-only", "--buffer-output", "@/o.npy"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}
