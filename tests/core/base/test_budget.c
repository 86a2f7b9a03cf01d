/* SPDX-License-Identifier: MIT
 *
 * Promises of the limit on memory: what is too much is refused in one line that names bytes needed and allowed, before
 * it is taken; whoever computes no values still answers; the usual limit is that of the computer, the control groups or
 * the address space; numbers of bytes are read with their units. And of --threads: every command takes it, and no more
 * threads exist than it allows. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "core/base/cgroups.h"
#include "core/files/words.h"
#include "npulab/budget.h"
#include "npulab/device.h"
#include "npulab/tensor.h"
#include "tests/kit/cli_run.h"

Test(budget, bytes_are_read_with_units_of_1000_and_1024)
{
	static const struct {
		const char *word;
		int64_t bytes; /* -1: refused */
	} cases[] = {{"0", 0},
		     {"123", 123},
		     {"5K", 5000},
		     {"5Ki", 5120},
		     {"2M", 2000000},
		     {"2Mi", 2097152},
		     {"8G", 8000000000},
		     {"1Gi", 1 << 30},
		     {"3T", 3000000000000},
		     {"1Ti", INT64_C(1) << 40},
		     {"", -1},
		     {"K", -1},
		     {"1KB", -1},
		     {"1kib", -1},
		     {"1.5G", -1},
		     {"-1", -1},
		     {" 1", -1},
		     {"1 K", -1},
		     {"1Kii", -1},
		     {"9223372036854775807", INT64_MAX},
		     {"9223372036854775808", -1},
		     {"9007199254740992Ki", -1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t bytes = -1;
		const bool is_parsed = npl_parse_bytes(cases[i].word, &bytes);
		cr_assert_eq(is_parsed, cases[i].bytes >= 0, "'%s'", cases[i].word);
		if (is_parsed)
			cr_assert_eq(bytes, cases[i].bytes, "'%s': %" PRId64, cases[i].word, bytes);
	}
}

Test(budget, control_groups_of_both_versions)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	static const char *const folders[] = {"a", "a/b", "a/b/c", "memory", "memory/d", "memory/d/e"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		cr_assert_eq(mkdir(cli_path(folder, folders[i]), 0700), 0);
	cli_write_text(folder, "a/memory.max", "3000000\n");
	cli_write_text(folder, "a/b/memory.max", "max\n");
	cli_write_text(folder, "a/b/c/memory.max", "5000000\n");
	cli_write_text(folder, "memory/d/memory.limit_in_bytes", "7000000\n");
	cli_write_text(folder, "memory/d/e/memory.limit_in_bytes", "9223372036854771712\n");
	cli_write_text(folder, "v2", "0::/a/b/c\n");
	cli_write_text(folder, "v1", "4:cpu,cpuacct:/a\n3:memory:/d/e\n");
	cli_write_text(folder, "moved", "0::/../elsewhere/x\n");
	cr_assert_eq(npl_cgroups_memory(cli_path(folder, "v2"), folder), 3000000);
	cr_assert_eq(npl_cgroups_memory(cli_path(folder, "v1"), folder), 7000000);
	cr_assert_eq(npl_cgroups_memory(cli_path(folder, "moved"), folder), UINT64_MAX);
	cr_assert_eq(npl_cgroups_memory(cli_path(folder, "none"), folder), UINT64_MAX);
	const uint64_t usual = npl_budget_default();
	cr_assert(usual > 0 && usual < (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	cli_remove_folder(folder);
}

Test(budget, tensors_beyond_the_limit_are_refused)
{
	struct npl_err err = {0};
	struct npl_tensor t = {.name = "x", .dtype = NPL_F32, .shape = npl_shape_of(1, 64 << 20)};
	npl_budget_set((uint64_t)128 << 20);
	cr_assert_eq(npl_tensor_alloc(&t, &err), NPL_ENOMEM);
	cr_assert(strstr(err.msg, "x: out of memory: about ") && strstr(err.msg, " 134217728 allowed"), "%s", err.msg);
	t.shape.dim[0] = 1 << 20;
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0, "little is always allowed: %s", err.msg);
	npl_tensor_free(&t);
	npl_budget_set(0);
	cr_assert_gt(npl_budget_limit(), (uint64_t)128 << 20);
}

/* x (1,3) spread over 25 * 2^30 elements by Expand: the file has some hundred bytes. */
static void write_greedy(const char *folder)
{
	struct onnx_writer graph = {0};
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (int64_t[]){1, 1});
	onnx_put_int64s(&graph, "shape", 2, (int64_t[]){25 << 10, 1 << 20});
	onnx_put_node(&graph, "Expand", "spread", "x shape", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "greedy.onnx", &graph);
	struct onnx_writer constant = {0};
	onnx_put_input(&constant, "x", ONNX_FLOAT, 2, (int64_t[]){1, 1});
	onnx_put_int64s(&constant, "shape", 2, (int64_t[]){25 << 10, 1 << 20});
	onnx_put_node(&constant, "ConstantOfShape", "fill", "shape", "c", NULL);
	onnx_put_node(&constant, "ReduceMax", "least", "c", "m", NULL);
	onnx_put_node(&constant, "Add", "add", "x m", "y", NULL);
	onnx_put_output(&constant, "y");
	cli_write_model(folder, "constant.onnx", &constant);
}

Test(budget, a_small_file_that_needs_100_gigabytes)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_greedy(folder);
	const char *const expected = "allowed; a larger --max-memory, a smaller --batch or --timing-only may help";
	const struct cli_refusal cases[] = {
		{5, expected, {"compare", "@/greedy.onnx", "--max-memory", "4G", "--devices", "reference,tpu_v1"}},
		{5, expected, {"compare", "@/greedy.onnx", "--max-memory=4G", "--devices", "null"}},
		{5, expected, {"run", "@/greedy.onnx", "--max-memory", "4Gi", "--device", "cpu"}},
		{5, expected, {"run", "@/greedy.onnx", "--max-memory", "4Gi", "--device", "cpu", "--no-accuracy"}},
		{5, expected, {"run", "@/constant.onnx", "--max-memory", "4Gi", "--device", "reference"}},
		{5,
		 "4000000000 allowed",
		 {"layer", "gemm", "-m", "8192", "-n", "65536", "-k", "65536", "--max-memory", "4G"}},
		{5, "100000000 allowed", {"compare", "alexnet", "--devices", "tpu_v1", "--max-memory", "100M"}},
		{2, "--max-memory must be a whole number of bytes", {"compare", "digits", "--max-memory", "much"}},
		{2, "--max-memory must be a whole number of bytes", {"compare", "digits", "--max-memory", "0"}},
		{2, "got '8GB'; the nearest is '8G'", {"compare", "digits", "--max-memory", "8GB"}},
		{2, "got '99999999T'", {"compare", "digits", "--max-memory", "99999999T"}},
	};
	CLI_CHECK(folder, cases);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "inspect", "@/greedy.onnx");
	cr_assert_eq(r.status, 0, "what computes nothing answers: %s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Layers of which the host does every second one: each of the others is a program of its own, and its engine's memory
 * was kept (6 GB); so were the rows of 200 passes. */
Test(budget, many_programs_do_not_keep_an_engine_each)
{
	static const char *const devices[] = {"tpu_v1", "diannao", "reference"};
	const int n_layers = 2500;
	char folder[CLI_PATH], from[32] = "x", to[32];
	struct onnx_writer graph = {0};
	if (cli_no_limits())
		cr_skip("no limit on the address space");
	cli_folder(folder);
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (int64_t[]){1, 64});
	for (int i = 0; i < n_layers; i++) {
		snprintf(to, sizeof to, "v%d", i);
		onnx_put_node(&graph, i % 2 ? "Relu" : "Neg", to, from, to, NULL);
		memcpy(from, to, sizeof from);
	}
	onnx_put_output(&graph, to);
	cli_write_model(folder, "turns.onnx", &graph);
	const struct cli_run_options options = {.folder = folder, .address_space = (size_t)800 << 20};
	for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
		struct cli_result r = cli_run(&options, "compare", "@/turns.onnx", "--devices", devices[d], "--quiet");
		cr_assert_eq(r.status, 0, "%s: %s", devices[d], r.err);
		cli_free(&r);
	}
	struct cli_result small = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "@/turns.onnx",
					  "--devices", "tpu_v1", "--max-memory", "20M");
	cr_assert_eq(small.status, 5, "%s", small.err);
	cli_free(&small);
	cli_remove_folder(folder);
}

static int count_threads(void)
{
	return cli_count_files("/proc/self/task");
}

/* Three libraries have a team each, of which one works at a time; the thread that asks is in every team. */
Test(budget, no_more_threads_than_allowed)
{
	for (int threads = 1; threads <= 3; threads++) {
		const int before = count_threads();
		struct npl_device *device;
		struct npl_err err = {0};
		if (npl_device_open("cpu", &(struct npl_device_options){.threads = threads}, &device, &err))
			cr_skip("%s", err.msg);
		const int own = count_threads() - before;
		if (threads == 1)
			cr_assert_eq(own, 0, "%d threads beside the one allowed", own);
		cr_assert_leq(own, 3 * (threads - 1));
		npl_device_close(device);
	}
}

Test(budget, every_command_takes_threads)
{
	static const char *const commands[][8] = {
		{"compare", "digits", "--devices", "tpu_v1", "--timing-only", "--threads", "3"},
		{"inspect", "digits", "--threads=1"},
		{"roofline", "--devices=tpu_v1", "--threads=2"},
		{"validate", "diannao", "--threads=1"},
		{"devices", "cpu", "--threads=1"},
		{"dram", "--pattern", "stream_rd", "-n", "100", "--threads=1"},
		{"conformance", "--threads=1", "--help"},
		{"models", "--threads=1"},
		{"asm", "--threads=1", "--help"},
		{"disasm", "--threads=1", "--help"},
		{"exec", "--threads=1", "--help"}};
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){0}, commands[i]);
		cr_assert_eq(r.status, 0, "%s: %d, %s", commands[i][0], r.status, r.err);
		cli_free(&r);
	}
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8",
				      "--devices", "cpu", "--threads", "1");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "1 thread,"), "%s", r.out);
	cli_free(&r);
}
