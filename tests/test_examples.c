/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of its examples: they build with the public headers and the library alone, in the tree and
 * against what `make install` puts somewhere else, and all three ways print what `npulab compare` finds for the same
 * network. */
#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"

/* What a program that links npulab as an archive needs with it. */
#define STATIC_LIBRARIES "-l:libyaml.a -l:libmd.a -l:libz.a -l:libzstd.a -lm -ldl"

static const char *const examples[] = {"static_graph", "eager", "recording"};

/* "hash of reference, hash of tpu_v1, cycles" as compare has them, calibrated on the inputs like the examples. */
static void expect_line(const char *folder, char *text, size_t size)
{
	size_t bytes;
	char *model = cli_read("models/digits.onnx", &bytes);
	cli_write(folder, "plain.onnx", model, bytes); /* without digits.yaml, and so without a calibration set */
	free(model);
	json_t *root = cli_json(&(struct cli_run_options){.folder = folder}, "compare", "@/plain.onnx", "--input",
				"models/digits_test_images.npy", "--batch", "360", "--devices", "reference,tpu_v1",
				"--json", "-");
	json_t *reference = cli_device(root, "reference"), *tpu = cli_device(root, "tpu_v1");
	snprintf(text, size, "%s %s %lld", cli_text(cli_at(reference, "output_sha256")),
		 cli_text(cli_at(tpu, "output_sha256")), cli_integer(cli_at(tpu, "totals.cycles")));
	json_decref(root);
}

/* Returns what an example printed, in the same form. */
static void check_output(const char *name, const char *printed, const char *expected)
{
	char devices[2][32], cycles[2][32], joules[2][32], right[2][32], hash[2][80], actual[400];
	int n = sscanf(printed,
		       "%31s %31s cycles %31s mJ %31s %% right %79s %31s %31s cycles %31s mJ %31s %% right %79s",
		       devices[0], cycles[0], joules[0], right[0], hash[0], devices[1], cycles[1], joules[1], right[1],
		       hash[1]);
	cr_assert_eq(n, 10, "%s: %s", name, printed);
	cr_assert_str_eq(devices[0], "reference");
	cr_assert_str_eq(devices[1], "tpu_v1");
	cr_assert_gt(strtod(joules[1], NULL), 0);
	cr_assert_gt(strtod(right[1], NULL), 99);
	snprintf(actual, sizeof actual, "%s %s %s", hash[0], hash[1], cycles[1]);
	cr_assert_str_eq(actual, expected, "%s", name);
}

/* The sample calls in the heads of the public headers and in README are C that compiles, as they stand there. */
Test(examples, samples_in_headers_compile)
{
	cr_assert_eq(system("/usr/bin/python3 tests/samples.py >&2"), 0); /* NOLINT(cert-env33-c) */
}

/* A program's own names never meet the library's: static and shared give the same, each begins with npl_ and stands in
 * a public header. */
Test(examples, library_gives_its_own_names_only)
{
	char build[CLI_PATH];
	build_folder(build);
	char *archive = shell("nm -g --defined-only '%s/libnpulab.a' | awk 'NF == 3 { print $3 }' | sort", build),
	     *shared = shell("nm -D --defined-only '%s/libnpulab.so' | awk 'NF == 3 { print $3 }' | sort", build);
	int names = 0;
	cr_assert_str_eq(shared, archive);
	for (char *name = strtok(shared, "\n"); name; name = strtok(NULL, "\n"), names++) {
		cr_assert(!strncmp(name, "npl_", 4), "%s", name);
		free(shell("grep -qw %s include/npulab/*", name));
	}
	cr_assert_gt(names, 200);
	free(archive);
	free(shared);
}

Test(examples, examples_build_and_run_in_the_tree)
{
	char folder[CLI_PATH], build[CLI_PATH], expected[400];
	cli_folder(folder);
	build_folder(build);
	expect_line(folder, expected, sizeof expected);
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		/* with the static library and the shared one in turn */
		free(shell("gcc -std=c17 -Wall -Wextra -Wpedantic -Wshadow -Werror " SANITIZERS
			   " -Iinclude -o %s/%s examples/%s.c -L%s -Wl,-rpath,%s %s 2>&1",
			   folder, examples[i], examples[i], build, build,
			   i % 2 ? "-lnpulab" : "-l:libnpulab.a " STATIC_LIBRARIES));
		char *printed = shell("NPULAB_DATA=. %s %s/%s 2>&1", cli_runner(), folder, examples[i]);
		check_output(examples[i], printed, expected);
		free(printed);
	}
	cli_remove_folder(folder);
}

/* C++ calls the library by its own headers. */
Test(examples, a_cpp_program_calls_the_library)
{
	char folder[CLI_PATH], build[CLI_PATH];
	if (system("g++ --version > /dev/null 2>&1"))
		cr_skip_test("g++ is not installed");
	cli_folder(folder);
	build_folder(build);
	cli_write_text(folder, "program.cpp",
		       "#include <npulab/eager.h>\n"
		       "#include <npulab/version.h>\n"
		       "#include <cstdio>\n"
		       "int main()\n"
		       "{\n"
		       "	const float data[] = {-1, 2};\n"
		       "	npl_shape shape = {1, {2}};\n"
		       "	npl_tensor x = npl_tensor_over(NPL_F32, shape, data), y;\n"
		       "	npl_eager *ctx;\n"
		       "	npl_eager_value *value = nullptr;\n"
		       "	npl_err err;\n"
		       "	if (npl_eager_open(\"reference\", nullptr, &ctx, &err) ||\n"
		       "	    npl_eager_input(ctx, nullptr, &x, NPL_COPY, &value, &err) ||\n"
		       "	    npl_eager_op(ctx, \"Relu\", {&value, 1}, {nullptr, 0}, &value, &err) ||\n"
		       "	    npl_eager_read(ctx, value, &y, &err))\n"
		       "		return std::puts(err.msg), 1;\n"
		       "	const float *out = static_cast<const float *>(y.data);\n"
		       "	std::printf(\"%s %g %g\", npl_version(), out[0], out[1]);\n"
		       "	npl_tensor_free(&y);\n"
		       "	npl_eager_close(ctx);\n"
		       "}\n");
	free(shell("g++ -std=c++17 -Wall -Wextra -Werror " SANITIZERS
		   " -Iinclude -o %s/program %s/program.cpp %s/libnpulab.a " STATIC_LIBRARIES " "
		   "2>&1",
		   folder, folder, build));
	char *printed = shell("NPULAB_DATA=. %s %s/program 2>&1", cli_runner(), folder);
	cr_assert(strstr(printed, " 0 2"), "%s", printed);
	free(printed);
	cli_remove_folder(folder);
}

/* Installed into a folder of its own, used from another, with nothing of the tree but the examples. */
Test(examples, examples_build_against_an_installation)
{
	char folder[CLI_PATH], build[CLI_PATH], expected[400];
	if (system("pkg-config --version > /dev/null 2>&1") || system("make --version > /dev/null 2>&1"))
		cr_skip_test("pkg-config or make is not installed");
	cli_folder(folder);
	build_folder(build);
	expect_line(folder, expected, sizeof expected);
	char flavour[20];
	build_flavour(flavour, sizeof flavour);
	free(shell("unset MAKEFLAGS MAKELEVEL; make -s BUILD=%s PREFIX=%s/root install-files 2>&1", flavour, folder));
	free(shell("mkdir %s/work && cp examples/*.* examples/Makefile %s/work/", folder, folder));
	free(shell("unset MAKEFLAGS MAKELEVEL; cd %s/work && PKG_CONFIG_PATH=%s/root/lib/pkgconfig make -s "
		   "CFLAGS='-Wall -Wextra -Werror " SANITIZERS "' 2>&1",
		   folder, folder));
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		/* beside the installed program they find its data by themselves */
		char *printed = shell("cp %s/work/%s %s/root/bin/ && cd / && env -u NPULAB_DATA %s %s/root/bin/%s 2>&1",
				      folder, examples[i], folder, cli_runner(), folder, examples[i]);
		check_output(examples[i], printed, expected);
		free(printed);
		free(shell("rm %s/root/bin/%s", folder, examples[i]));
	}
	free(shell("cd / && env -u NPULAB_DATA %s %s/root/bin/npulab compare digits --devices null", cli_runner(),
		   folder));
	free(shell("unset MAKEFLAGS MAKELEVEL; make -s PREFIX=%s/root uninstall 2>&1", folder));
	char *left = shell("find %s/root ! -type d", folder);
	cr_assert_str_empty(left, "uninstalled: %s", left);
	free(left);
	cli_remove_folder(folder);
}
