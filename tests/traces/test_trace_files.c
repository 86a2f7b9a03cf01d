/* SPDX-License-Identifier: MIT
 *
 * The files that a run reads. What the program promises: the head of a trace has the SHA-256 of each, and a run is
 * compared with one that read the same files, unless the user asks for those of today. */
#include "npulab/sha256.h"
#include "tests/kit/cli_run.h"

/* A file of a run, and two versions of it that both can be read. */
struct file {
	const char *name, *role, *said;
	const char *before, *after;
	const char *args[12]; /* of `trace record` */
};

static void hash(const char *text, size_t bytes, char hex[NPL_SHA256_HEX])
{
	npl_sha256_hex(text, bytes, hex);
}

/* The head of a.trace has the line `file ROLE HASH`. */
static void expect_listed(const char *folder, const char *role, const char *hex)
{
	char line[300];
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *end = strstr(text, "\nevents ");
	cr_assert(end);
	*end = '\0';
	snprintf(line, sizeof line, strchr(role, ' ') ? "\nfile \"%s\" %s\n" : "\nfile %s %s\n", role, hex);
	cr_expect(strstr(text, line), "%s is not in\n%s", line, text);
	free(text);
}

/* Every command that makes the run again refuses it, with the role and both ways out. */
static void expect_refused(const struct cli_run_options *options, const char *said)
{
	struct cli_result check = cli_run(options, "trace", "check", "a.trace"),
			  vcd = cli_run(options, "trace", "export", "a.trace", "--vcd", "a.vcd", "--until", "4");
	const struct cli_result *const results[] = {&check, &vcd};
	for (int i = 0; i < 2; i++) {
		cli_check_refusal(results[i], 3, said, said);
		cr_expect(strstr(results[i]->err, "--current takes the files of today") &&
				  strstr(results[i]->err, "`npulab trace bless`"),
			  "%s", results[i]->err);
	}
	cli_free(&check);
	cli_free(&vcd);
	cr_expect(access(cli_path(options->enter, "a.vcd"), F_OK) != 0);
}

static void expect_kept(const struct cli_run_options *options, const struct file *file)
{
	char hex[NPL_SHA256_HEX];
	const char *args[CLI_ARGUMENTS] = {"trace", "record", "-o", "a.trace", "--quiet"};
	const char *folder = options->enter;
	memcpy(args + 5, file->args, sizeof file->args);
	cli_write_text(folder, file->name, file->before);
	cli_expect_list(options, 0, args);
	hash(file->before, strlen(file->before), hex);
	expect_listed(folder, file->role, hex);
	cli_expect(options, 0, "trace", "check", "a.trace");
	cli_expect(options, 0, "trace", "export", "a.trace", "--vcd", "a.vcd", "--until", "4");
	unlink(cli_path(folder, "a.vcd"));
	cli_write_text(folder, file->name, file->after);
	expect_refused(options, file->said);
	struct cli_result r = cli_run(options, "trace", "check", "a.trace", "--current");
	cr_expect(r.status == 0 && strstr(r.err, file->said), "%s%s", r.out, r.err);
	cli_free(&r);
	r = cli_run(options, "trace", "bless", "a.trace", "--reason", "other comments");
	cr_expect(r.status == 0 && cli_says(r.out, "blessed: other files or parameters"), "%s%s", r.out, r.err);
	cli_free(&r);
	hash(file->after, strlen(file->after), hex);
	expect_listed(folder, file->role, hex);
	cli_expect(options, 0, "trace", "check", "a.trace");
	unlink(cli_path(folder, "a.trace"));
}

#define LAYER   "layer", "gemm", "-m", "4", "-n", "16", "-k", "16", "--device"
#define ANOTHER " is another version than that of the trace (SHA-256 "

Test(trace_files, those_of_machines_are_kept)
{
	static const char program[] = ".machine systolic_16x16\nhalt\n";
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	char *memory = cli_read("memories/ddr3-2133.yaml", NULL), *energies = cli_read("energies/diannao.csv", NULL),
	     other_memory[20000], other_energies[20000];
	cr_assert(strlen(memory) < 19000 && strlen(energies) < 19000);
	snprintf(other_memory, sizeof other_memory, "%s# the same\n", memory);
	snprintf(other_energies, sizeof other_energies, "%s# the same\n", energies);
	const struct file files[] = {
		{"own.yaml",
		 "memory of tpu_v1",
		 "a.trace: the memory of tpu_v1" ANOTHER,
		 memory,
		 other_memory,
		 {LAYER, "tpu_v1", "--set", "tpu_v1.weight_memory.preset=./own.yaml"}},
		{"own.yaml",
		 "memory of diannao@memory.preset=own.yaml",
		 "the memory of diannao@memory.preset=own.yaml" ANOTHER,
		 memory,
		 other_memory,
		 {LAYER, "diannao@memory.preset=own.yaml"}},
		{"own.csv",
		 "table of energies of diannao",
		 "the table of energies of diannao" ANOTHER,
		 energies,
		 other_energies,
		 {LAYER, "diannao", "--set", "diannao.energy.table=own.csv"}},
		{"p.s",
		 "program",
		 "the program of 'p.s'" ANOTHER,
		 program,
		 ".machine systolic_16x16\n# the same\nhalt\n",
		 {"p.s"}},
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		expect_kept(&options, &files[i]);
	/* Of a program and of a placement too. */
	cli_write_text(folder, "p.s", program);
	cli_write_text(folder, "own.yaml", memory);
	cli_record(&options, "p.s", "--set", "systolic_16x16.weight_memory.preset=own.yaml", "-o", "a.trace");
	cli_write_text(folder, "own.yaml", other_memory);
	expect_refused(&options, "the memory of systolic_16x16" ANOTHER);
	cli_record(&options, "digits", "--place", "Conv*=tpu_v1,*=diannao", "--batch", "4", "--timing-only", "--detail",
		   "layers", "--set", "tpu_v1.weight_memory.preset=own.yaml", "-o", "a.trace");
	cli_write_text(folder, "own.yaml", memory);
	expect_refused(&options, "the memory of tpu_v1" ANOTHER);
	free(memory);
	free(energies);
	cli_remove_folder(folder);
}

/* 16x16 floats in another file. */
static void put_external(struct onnx_writer *graph, const char *name, const char *location)
{
	struct onnx_writer tensor = {0}, entry = {0};
	onnx_put_int(&tensor, 1, 16);
	onnx_put_int(&tensor, 1, 16);
	onnx_put_int(&tensor, 2, ONNX_FLOAT);
	onnx_put_string(&tensor, 8, name);
	onnx_put_string(&entry, 1, "location");
	onnx_put_string(&entry, 2, location);
	onnx_put_message(&tensor, 13, &entry);
	onnx_put_int(&tensor, 14, 1);
	onnx_put_message(graph, 5, &tensor);
}

Test(trace_files, external_data_is_kept)
{
	enum { WEIGHTS = 256 };
	char folder[CLI_PATH], hex[NPL_SHA256_HEX];
	float weights[2][WEIGHTS];
	struct onnx_writer graph = {0};
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	for (int i = 0; i < 2 * WEIGHTS; i++)
		weights[i / WEIGHTS][i % WEIGHTS] = (float)(i * 37 % 101 - 50) / 64;
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (const int64_t[]){4, 16});
	put_external(&graph, "a", "a.bin");
	put_external(&graph, "b", "b.bin");
	onnx_put_node(&graph, "MatMul", "first", "x a", "s", NULL);
	onnx_put_node(&graph, "MatMul", "second", "s b", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "net.onnx", &graph);
	cli_write(folder, "a.bin", weights[0], sizeof weights[0]);
	cli_write(folder, "b.bin", weights[1], sizeof weights[1]);
	cli_record(&options, "net.onnx", "--device", "tpu_v1", "-o", "a.trace", "--quiet");
	hash((const char *)weights, sizeof weights, hex);
	expect_listed(folder, "external data", hex);
	cli_expect(&options, 0, "trace", "check", "a.trace");
	weights[1][7] += 0.25F;
	cli_write(folder, "b.bin", weights[1], sizeof weights[1]);
	expect_refused(&options, "a.trace: the external data of 'net.onnx'" ANOTHER);
	cli_expect(&options, 1, "trace", "check", "a.trace", "--current");
	/* A trace that lacks the line, as those of before do. */
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *line = strstr(text, "file \"external data\"");
	cr_assert(line);
	memmove(line, strchr(line, '\n') + 1, strlen(strchr(line, '\n') + 1) + 1);
	cli_write_text(folder, "a.trace", text);
	expect_refused(&options, "a.trace: the external data of 'net.onnx' has no SHA-256 in the trace, and the run");
	free(text);
	cli_remove_folder(folder);
}

/* A line that the run has no file for. */
Test(trace_files, a_file_that_is_not_read_is_named)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.enter = folder};
	cli_record(&options, LAYER, "systolic_16x16", "-o", "a.trace", "--quiet");
	char *text = cli_read(cli_path(folder, "a.trace"), NULL), *rest = strstr(text, "detail ");
	FILE *file = fopen(cli_path(folder, "a.trace"), "w");
	cr_assert(rest && file);
	fprintf(file, "%.*sfile \"memory of x\" 0123456789abcdef\n%s", (int)(rest - text), text, rest);
	cr_assert_eq(fclose(file), 0);
	expect_refused(&options, "the memory of x has a SHA-256 in the trace, and the run does not read it now");
	free(text);
	cli_remove_folder(folder);
}
