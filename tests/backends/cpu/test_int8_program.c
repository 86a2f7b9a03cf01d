/* SPDX-License-Identifier: MIT
 *
 * `--set cpu.precision=int8` through the program. What it promises: a layer and a whole network give the results of
 * the simulated TPU v1, bit for bit; so they do when oneDNN's gate is closed, when there is no oneDNN or another
 * library answers to its name, and on one thread; the device says what it used; a wrong precision is refused. */
#include <dlfcn.h>
#include <math.h>

#include "tests/kit/cli_json.h"

static const struct cli_run_options plainly = {0};

/* The hash of output of each device in the result. */
static const char *hash_of(json_t *root, int device)
{
	char path[64];
	snprintf(path, sizeof path, "devices.%d.output_sha256", device);
	const char *hash = json_string_value(cli_at(root, path));
	cr_assert(hash && strlen(hash) == 64);
	return hash;
}

static void check_both(json_t *root)
{
	cr_assert_str_eq(hash_of(root, 0), hash_of(root, 1));
	cr_assert_str_eq(json_string_value(cli_at(root, "devices.1.precision")), "int8");
	cr_assert_str_eq(json_string_value(cli_at(root, "devices.1.kind")), "cpu");
}

#define BOTH "--devices", "tpu_v1,cpu", "--set", "cpu.precision=int8"

Test(cpu_int8_program, layers_equal_the_tpu)
{
	json_t *raw = cli_json(&plainly, "layer", "gemm", "-m", "100", "-n", "130", "-k", "600", BOTH, "--json", "-");
	check_both(raw);
	json_decref(raw);
	json_t *unsigned_x = cli_json(&plainly, "layer", "gemm", "-m", "70", "-n", "65", "-k", "257", "--unsigned",
				      "--requantise", BOTH, "--json", "-");
	check_both(unsigned_x);
	json_decref(unsigned_x);
	json_t *conv = cli_json(&plainly, "layer", "conv", "--input", "2x24x19x23", "--kernel", "3x3", "--filters",
				"40", "--pad", "1", "--stride", "2", "--requantise", BOTH, "--json", "-");
	check_both(conv);
	json_decref(conv);
}

Test(cpu_int8_program, the_digits_equal_the_tpus_layer_by_layer)
{
	json_t *root = cli_json(&plainly, "compare", "digits", BOTH, "--json", "-");
	check_both(root);
	json_t *tpu = cli_at(root, "devices.0.layers"), *cpu = cli_at(root, "devices.1.layers");
	size_t n = json_array_size(tpu), hashes = 0;
	cr_assert_eq(json_array_size(cpu), n);
	for (size_t i = 0; i < n; i++) {
		const char *a = json_string_value(json_object_get(json_array_get(tpu, i), "output_sha256"));
		const char *b = json_string_value(json_object_get(json_array_get(cpu, i), "output_sha256"));
		cr_assert(!a || !b || !strcmp(a, b), "layer %zu", i);
		hashes += a && b;
	}
	cr_assert_geq(hashes, 5); /* the two convolutions before pools are pooled in the pass that makes them */
	json_decref(root);
}

/* A Gemm that is large enough for oneDNN gives the same with it and without it. */
static char *large_gemm_hash(const char *set, char *detail, size_t n)
{
	json_t *root = cli_json(&plainly, "layer", "gemm", "-m", "192", "-n", "192", "-k", "300", "--devices", "cpu",
				"--set", "cpu.precision=int8", "--set", set, "--json", "-");
	char *hash = strdup(hash_of(root, 0));
	cr_assert(hash);
	snprintf(detail, n, "%s", json_string_value(cli_at(root, "devices.0.detail")));
	json_decref(root);
	return hash;
}

/* The path of a library that is not oneDNN: libm's. */
static void another_library(char path[CLI_PATH])
{
	double (*function)(double) = cos;
	void *address;
	Dl_info info;
	memcpy(&address, &function, sizeof address);
	cr_assert(dladdr(address, &info) && info.dli_fname);
	snprintf(path, CLI_PATH, "%s", info.dli_fname);
}

Test(cpu_int8_program, the_same_without_onednn)
{
	char folder[CLI_PATH], link[CLI_PATH + 32], path[CLI_PATH], detail[5][256];
	cli_folder(folder);
	char *with = large_gemm_hash("cpu.threads=2", detail[0], sizeof detail[0]);
	char *one_thread = large_gemm_hash("cpu.threads=1", detail[1], sizeof detail[1]);
	setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
	char *closed = large_gemm_hash("cpu.threads=2", detail[2], sizeof detail[2]);
	unsetenv("DNNL_MAX_CPU_ISA");
	another_library(path);
	snprintf(link, sizeof link, "%s/libdnnl.so.2", folder);
	cr_assert_eq(symlink(path, link), 0);
	setenv("LD_LIBRARY_PATH", folder, 1);
	char *wrong = large_gemm_hash("cpu.threads=2", detail[3], sizeof detail[3]);
	cr_assert_eq(unlink(link), 0);
	cr_assert_eq(symlink("/dev/null", link), 0); /* no library at all */
	char *absent = large_gemm_hash("cpu.threads=2", detail[4], sizeof detail[4]);
	cr_assert_str_eq(with, one_thread);
	cr_assert_str_eq(with, closed);
	cr_assert_str_eq(with, wrong);
	cr_assert_str_eq(with, absent);
	cr_assert(strstr(detail[0], "2 threads") && strstr(detail[1], "1 thread,"), "%s; %s", detail[0], detail[1]);
	for (int i = 2; i < 5; i++)
		cr_assert(strstr(detail[i], "without oneDNN"), "case %d: %s", i, detail[i]);
	free(with);
	free(one_thread);
	free(closed);
	free(wrong);
	free(absent);
	cli_remove_folder(folder);
}

Test(cpu_int8_program, a_wrong_precision_is_refused)
{
	struct cli_result r = cli_run(&plainly, "layer", "gemm", "-m", "8", "-n", "8", "-k", "8", "--devices", "cpu",
				      "--set", "cpu.precision=int4");
	cr_assert_eq(r.status, 2, "%d: %s", r.status, r.err);
	cr_assert(strstr(r.err, "f32 (or float32), int8") && strstr(r.err, "int4"), "%s", r.err);
	cli_free(&r);
}
