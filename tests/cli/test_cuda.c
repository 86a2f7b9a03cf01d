/* SPDX-License-Identifier: MIT
 *
 * The program with a GPU, as far as it can be had without one: the libraries that it finds are the fake ones
 * (tests/kit/cuda/fake.h), by the linker's path or by NPULAB_CUDA_PATH. */
#include <stdlib.h>
#include <string.h>

#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/fake_cuda_path.h"

#ifndef TEST_BENCH_CUDA
#define TEST_BENCH_CUDA "build/bench-cuda"
#endif

static void fake_by(const char *variable)
{
	char *path = realpath(TEST_FAKE_CUDA, NULL);
	cr_assert(path, "no folder " TEST_FAKE_CUDA);
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("NPULAB_CUDA_PATH");
	if (variable)
		setenv(variable, path, 1);
	free(path);
}

/* Returns the report of a comparison of digits on the reference and on cuda, both with a precision. */
static json_t *compare_digits(const char *reference, const char *cuda)
{
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "reference,cuda",
				      "--set", reference, "--set", cuda, "--json", "-");
	json_error_t error;
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *report = json_loads(r.out, 0, &error);
	cr_assert(report, "%s", error.text);
	cli_free(&r);
	return report;
}

static const char *sha_of(const json_t *report, size_t device, size_t layer)
{
	const json_t *d = json_array_get(json_object_get(report, "devices"), device);
	const json_t *l = json_array_get(json_object_get(d, "layers"), layer);
	return json_string_value(json_object_get(l, "output_sha256"));
}

Test(cli_cuda, compares_in_float32)
{
	fake_by("LD_LIBRARY_PATH");
	json_t *report = compare_digits("reference.precision=f32", "cuda.precision=f32");
	const json_t *device = json_array_get(json_object_get(report, "devices"), 1);
	cr_assert_str_eq(json_string_value(json_object_get(device, "name")), "cuda");
	const json_t *totals = json_object_get(device, "totals");
	cr_assert_gt(json_number_value(json_object_get(totals, "host_link_seconds")), 0);
	cr_assert_eq(json_integer_value(json_object_get(json_object_get(totals, "bytes"), "host_link")),
		     360 * (64 + 10) * 4);
	json_decref(report);
}

Test(cli_cuda, gives_the_bits_of_the_reference_in_int8)
{
	fake_by("NPULAB_CUDA_PATH");
	json_t *report = compare_digits("reference.precision=int8", "cuda.precision=int8");
	const json_t *device = json_array_get(json_object_get(report, "devices"), 1);
	const size_t layers = json_array_size(json_object_get(device, "layers"));
	int same = 0;
	for (size_t l = 0; l < layers; l++) {
		const char *a = sha_of(report, 0, l), *b = sha_of(report, 1, l);
		cr_assert((!a && !b) || (a && b && !strcmp(a, b)), "layer %zu: %s and %s", l, a ? a : "none",
			  b ? b : "none");
		same += a != NULL;
	}
	cr_assert_geq(same, 7);
	json_decref(report);
}

Test(cli_cuda, says_what_is_missing)
{
	fake_by(NULL);
	setenv("NPULAB_CUDA_PATH", "/nowhere:/nor/here", 1);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "cuda", "--set",
				      "cuda.device=63");
	cr_assert_neq(r.status, 0);
	cr_assert(strstr(r.err, "cuda: ") && (strstr(r.err, "driver") || strstr(r.err, "GPU")), "%s", r.err);
	cli_free(&r);
	fake_by("LD_LIBRARY_PATH");
	r = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "cuda", "--set", "cuda.device=1");
	cr_assert_neq(r.status, 0);
	cr_assert(strstr(r.err, "there is no GPU 1: the driver counts 1, from 0"), "%s", r.err);
	cli_free(&r);
}

/* The GPU gives the right results in all of ONNX's own cases that it takes. */
Test(cli_cuda, the_gpu_passes_onnx_s_cases_that_it_takes)
{
	static const char *const folders[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
	static const int passed[] = {570, 7, 27, 80};
	fake_by("LD_LIBRARY_PATH");
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		char path[100];
		json_error_t error;
		snprintf(path, sizeof path, "/usr/share/libonnx-testdata/data/%s", folders[i]);
		if (access(path, R_OK))
			cr_skip("no %s", path);
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "conformance", path, "--device", "cuda",
					      "--json", "-");
		cr_assert_eq(r.status, 0, "%s", r.err);
		json_t *report = json_loads(r.out, 0, &error);
		cr_assert(report, "%s", error.text);
		cr_assert_eq(json_integer_value(json_object_get(report, "failed")), 0);
		cr_assert_geq(json_integer_value(json_object_get(report, "passed")), passed[i], "%s", path);
		json_decref(report);
		cli_free(&r);
	}
}

static double rate_of(const char *json)
{
	json_error_t error;
	json_t *report = json_loads(json, 0, &error);
	cr_assert(report, "%s", error.text);
	const json_t *device = json_array_get(json_object_get(report, "devices"), 0);
	double rate = json_number_value(json_object_get(json_object_get(device, "memory"), "bytes_per_second"));
	json_decref(report);
	return rate;
}

Test(cli_cuda, tells_what_it_found)
{
	static const char *const expected[] = {"Fake GPU 0, number 0, at PCI bus 0000:00:00.0", "cuBLASLt 13.0.0",
					       "compiled for sm_90 by NVRTC 13.0", "cuDNN 9.13.0",
					       "no TDP is known of 'Fake GPU 0'"};
	fake_by("LD_LIBRARY_PATH");
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "--verbose", "cuda");
	cr_assert_eq(r.status, 0, "%s", r.err);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		cr_assert(strstr(r.out, expected[i]), "no '%s' in:\n%s", expected[i], r.out);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "roofline", "digits", "--devices", "cuda", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert_float_eq(rate_of(r.out), 40e9, 2e9); /* the fake's copies: 20 GB/s, each byte read and written */
	cli_free(&r);
}

/* The fake libraries have no NVML: without a meter the board is assumed to draw what the user says. */
Test(cli_cuda, assumes_the_power_it_is_told)
{
	fake_by("LD_LIBRARY_PATH");
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8",
				      "--devices", "cuda", "--set", "cuda.tdp_watts=300", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *json = cli_parse_json(r.out);
	cr_assert_str_eq(cli_text(cli_at(json, "devices.0.totals.energy_origin")), "assumed:tdp");
	cr_assert(cli_near(cli_number(cli_at(json, "devices.0.layers.0.energy_j")),
			   300 * cli_number(cli_at(json, "devices.0.layers.0.seconds")), 1e-9));
	json_decref(json);
	cli_free(&r);
	/* of a network over the whole time, what crosses the link included */
	r = cli_run(&(struct cli_run_options){0}, "run", "lenet5", "--device", "cuda", "--set", "cuda.tdp_watts=300",
		    "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json = cli_parse_json(r.out);
	cr_assert_gt(cli_number(cli_at(json, "devices.0.totals.host_link_seconds")), 0);
	cr_assert(cli_near(cli_number(cli_at(json, "devices.0.totals.energy_j")),
			   300 * cli_number(cli_at(json, "devices.0.totals.seconds")), 1e-6));
	json_decref(json);
	cli_free(&r);
}

/* A line of a Markdown table, cut into its cells; returns how many. */
static int cells_of(char *line, char *cell[16])
{
	int n = 0;
	for (char *at = line; (at = strstr(at, "| ")) && n < 16; at++) {
		*at = '\0';
		cell[n++] = at + 2;
	}
	for (int i = 0; i < n; i++)
		for (char *end = cell[i] + strlen(cell[i]); end > cell[i] && strchr(" |", end[-1]);)
			*--end = '\0';
	return n;
}

static struct cli_result run_bench(const char *const *arguments)
{
	fake_by("LD_LIBRARY_PATH");
	setenv("NPULAB_BIN", TEST_BENCH_CUDA, 1);
	struct cli_result r = cli_run_list(&(struct cli_run_options){0}, arguments);
	setenv("NPULAB_BIN", "build/npulab", 1);
	return r;
}

/* On the fake GPU a product takes 3 us and 1 ps for each multiply-accumulate, whoever asks for it: the benchmark's
 * layer and its direct call agree in time and values, and its rates follow. */
Test(cli_cuda, benchmark_of_products_beside_direct_calls)
{
	struct cli_result r = run_bench((const char *const[]){"--smallest", "head", "products", NULL});
	char *cell[16];
	int rows = 0, exact = 0;
	cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
	cr_assert(!strncmp(r.out, "### Fake GPU 0, 20", 18), "%s", r.out);
	cr_assert(strstr(r.out, "| compute capability | 9.0 |") && cli_says(r.out, "cuBLASLt 13.0.0"), "%s", r.out);
	for (char *save = NULL, *line = strtok_r(r.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (cells_of(line, cell) != 12 || !atoi(cell[1]))
			continue;
		const double size = atof(cell[1]), ops = 2e-12 * size * size * size,
			     seconds = 3e-6 + size * size * size * 1e-12;
		const bool product = !strchr(cell[0], ' ');
		cr_assert_float_eq(atof(cell[4]), seconds * 1e3, 1e-5, "%s", cell[4]);
		cr_assert_float_eq(atof(cell[5]) * seconds / ops, 1, 1e-3, "%s", cell[5]);
		cr_assert(product ? !strcmp(cell[2], cell[4]) && !strcmp(cell[6], "1.000") : atof(cell[6]) < 1,
			  "%s, %s: %s of the direct call's rate", cell[0], cell[1], cell[6]);
		cr_assert_float_eq(atof(cell[7]), seconds * 1e3, 1e-5);
		cr_assert_str_eq(cell[9], "-", "there is no NVML here");
		cr_assert_str_eq(cell[10], product ? "0.0e+00" : "-", "the results of the layer and of the call");
		rows++;
		exact += product;
	}
	cr_assert_eq(rows, 12, "5 precisions in 2 sizes, int8 also as a network has it: %d rows", rows);
	cr_assert_eq(exact, 10);
	cli_free(&r);
}

Test(cli_cuda, benchmark_takes_a_smaller_product_where_memory_is_short)
{
	setenv("FAKE_CUDA_MIB", "66", 1); /* two workspaces of 32 MiB and 2 of matrices */
	struct cli_result r = run_bench(
		(const char *const[]){"--smallest", "--precision", "int8", "--size", "512", "products", NULL});
	unsetenv("FAKE_CUDA_MIB");
	cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
	cr_assert(strstr(r.out, "| int8 | 512 | fails | ") && cli_says(r.out, "the GPU's memory is too small for "),
		  "%s", r.out);
	cr_assert(strstr(r.out, "| int8 | 256 | 0.01978 |"), "%s", r.out);
	cli_free(&r);
}

Test(cli_cuda, the_benchmark_of_networks_adds_up)
{
	struct cli_result r = run_bench((const char *const[]){"--smallest", "networks", NULL});
	char *cell[16];
	int networks = 0, shapes = 0, layers = 0, sums = 0;
	cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
	for (char *save = NULL, *line = strtok_r(r.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const int n = cells_of(line, cell);
		if (n == 10 && !strcmp(cell[0], "digits")) {
			const double compute = atof(cell[3]), link = atof(cell[5]);
			cr_assert_str_eq(cell[2], "2");
			cr_assert(compute > 0 && link > 0 && atof(cell[7]) > 0);
			cr_assert_float_eq(atof(cell[4]) / (2e3 / compute), 1, 0.02);
			cr_assert_float_eq(atof(cell[6]) / (2e3 / (compute + link)), 1, 0.02);
			cr_assert_str_eq(cell[8], "0.0e+00", "a graph and single launches differ");
			cr_assert(!strncmp(cell[9], "0 layers", 8), "%s", cell[9]);
			networks++;
		} else if (n == 7 && !strcmp(cell[1], "all")) {
			sums += atoi(cell[4]);
		} else if (n == 7 && strchr(cell[1], 'x')) {
			layers += atoi(cell[4]);
			shapes++;
		}
	}
	cr_assert_eq(networks, 5);
	cr_assert_eq(layers, 5 * 3, "digits has three convolutions");
	cr_assert_eq(sums, layers);
	cr_assert_geq(shapes, 5);
	cli_free(&r);
}

/* All that `make bench-cuda` does except PyTorch, in small. */
Test(cli_cuda, benchmark_as_its_script_runs_it)
{
	fake_by("NPULAB_CUDA_PATH");
	setenv("NPULAB_BIN", "scripts/bench-cuda.sh", 1);
	setenv("BENCH", TEST_BENCH_CUDA, 1);
	setenv("SMALLEST", "1", 1);
	struct cli_result r = cli_run_list(&(struct cli_run_options){0}, (const char *const[]){NULL});
	cr_assert_eq(r.status, 0, "%s%s", r.out, r.err);
	const char *head = strstr(r.out, "### Fake GPU 0, "), *products = strstr(r.out, "\n| int8 | 48 |"),
		   *networks = strstr(r.out, "\n| digits | f32 | 2 |");
	cr_assert(head && products && networks && head < products && products < networks, "%s", r.out);
	cr_assert_null(strstr(r.out, "fail"), "%s", r.out);
	cli_free(&r);
}

Test(cli_cuda, benchmark_says_what_it_does_not_do)
{
	struct cli_result r = run_bench((const char *const[]){"--size", "0", "products", NULL});
	cr_assert_eq(r.status, 2);
	cr_assert(strstr(r.err, "a size is 1 to 65536, got '0'"), "%s", r.err);
	cli_free(&r);
	r = run_bench((const char *const[]){"prodcts", NULL});
	cr_assert_eq(r.status, 2);
	cr_assert(strstr(r.err, "a part is head, products or networks, got 'prodcts'"), "%s", r.err);
	cli_free(&r);
	r = run_bench((const char *const[]){"--smallest", "--network", "nowhere", "--precision", "f9", "networks",
					    "products", NULL});
	cr_assert_eq(r.status, 1, "%s", r.err);
	cr_assert(strstr(r.out, "| nowhere | fails: ") && strstr(r.out, "| f9 | | fails | "), "%s", r.out);
	cli_free(&r);
}

/* The fake libraries find the sources of their kernels above themselves, whichever folder the program runs in. */
Test(cli_cuda, runs_from_any_folder)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	fake_by("NPULAB_CUDA_PATH");
	struct cli_result r = cli_run(&(struct cli_run_options){.enter = folder}, "run", "digits", "--device", "cuda");
	cr_assert(!r.status && strstr(r.out, "\ncuda  "), "%s%s", r.out, r.err);
	cli_free(&r);
}

/* Of a placement on real devices alone every time was measured: nothing is marked as modelled but energy that is
 * assumed. */
Test(cli_cuda, a_measured_placement_is_not_marked)
{
	fake_by("NPULAB_CUDA_PATH");
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "run", "digits", "--place",
				      "Conv*=cuda,*=reference");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(!strchr(r.out, '~') && cli_says(r.out, "measured on this computer") && strstr(r.out, "\nLINK OF") &&
			  strstr(r.out, "\nTIME OF A BATCH"),
		  "%s", r.out);
	cli_free(&r);
	r = cli_run(&(struct cli_run_options){0}, "run", "digits", "--place", "Conv*=tpu_v1,*=reference");
	cr_assert_eq(r.status, 0, "%s", r.err);
	const char *link = strstr(r.out, "\nLINK OF"), *end = link ? strstr(link, "\n\n") : NULL;
	const char *row = strstr(r.out, "\nplacement  mixed ");
	cr_assert(end && row && row[strcspn(row + 1, "~\n") + 1] == '~', "%s", r.out);
	char table[1000];
	snprintf(table, sizeof table, "%.*s", end && link ? (int)(end - link) : 0, link);
	cr_assert(strchr(table, '~') && !strstr(table, " J") && cli_says(r.out, "draws the same idle or busy"), "%s",
		  r.out);
	cli_free(&r);
}

/* A setting that would tell more is named as this machine has it. */
Test(cli_cuda, a_machine_of_a_file_is_told_by_its_name)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "gpu.yaml", "name: gpu16\ndriver: cuda\nprecision: f16\n");
	fake_by("NPULAB_CUDA_PATH");
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "compare", "lenet5", "--devices",
				      cli_path(folder, "gpu.yaml"), "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(cli_says(r.out, "--set gpu16.tdp_watts=W"), "%s", r.out);
	cr_assert_null(strstr(r.out, "cuda.tdp_watts=W"));
	cli_free(&r);
	cli_remove_folder(folder);
}

static json_int_t saturations_of(const struct cli_result *r)
{
	json_error_t error;
	cr_assert_eq(r->status, 0, "%s", r->err);
	json_t *report = json_loads(r->out, 0, &error);
	cr_assert(report, "%s", error.text);
	const json_t *value = cli_at(report, "devices.0.accuracy.saturations");
	cr_assert(json_is_integer(value), "not known: %s", r->out);
	const json_int_t saturations = json_integer_value(value);
	json_decref(report);
	return saturations;
}

/* What saturates on the devices of a placement is known as it is of each. */
Test(cli_cuda, a_placement_counts_what_saturates)
{
	fake_by("NPULAB_CUDA_PATH");
	struct cli_result whole = cli_run(&(struct cli_run_options){0}, "compare", "digits", "--devices", "cuda",
					  "--set", "cuda.precision=int8", "--json", "-"),
			  placed = cli_run(&(struct cli_run_options){0}, "run", "digits", "--place", "*=cuda", "--set",
					   "cuda.precision=int8", "--json", "-"),
			  mixed = cli_run(&(struct cli_run_options){0}, "run", "digits", "--place", "Conv*=cuda,*=cpu",
					  "--set", "cuda.precision=int8", "--set", "cpu.precision=int8", "--json", "-");
	const json_int_t saturations = saturations_of(&whole);
	cr_assert_gt(saturations, 0);
	cr_assert_eq(saturations_of(&placed), saturations);
	cr_assert_gt(saturations_of(&mixed), 0);
	cli_free(&whole);
	cli_free(&placed);
	cli_free(&mixed);
}
