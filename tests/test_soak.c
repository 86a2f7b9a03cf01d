/* SPDX-License-Identifier: MIT
 *
 * Random models and damaged files: tests/soak/ makes them from fixed seeds, computes what is right from the operators'
 * definitions and holds the program against it. Every run draws the same cases, fewer of them under a sanitizer or an
 * emulator; `make soak` draws others. SOAK_COUNT is how many cases there are of each kind. Skipped where numpy or
 * python3-onnx is not there. */
#include "tests/kit/cli_run.h"
#include "tests/kit/fake_cuda_path.h"
#include "tests/kit/shipped_models.h"

static void soak(const char *kind, int seed, int count)
{
	char folder[CLI_PATH], command[3 * CLI_PATH];
	const char *asked = getenv("SOAK_COUNT"), *program = getenv("NPULAB_BIN");
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	if (cli_no_limits())
		count = (count + 7) / 8; /* under a sanitizer or an emulator each run takes several times as long */
	if (asked && *asked)
		count = atoi(asked);
	cli_folder(folder);
	snprintf(
		command, sizeof command,
		"/usr/bin/python3 tests/soak/soak.py %s --seed %d --count %d --npulab '%s' --cuda '%s' --keep '%s' >&2",
		kind, seed, count, program && *program ? program : "build/npulab", TEST_FAKE_CUDA, folder);
	/* What failed stays in its folder, which the text names. */
	cr_assert_eq(system(command), 0, "see above: %s", command); /* NOLINT(cert-env33-c) */
	cli_remove_folder(folder);
}

Test(soak, random_float_models_equal_the_evaluator)
{
	soak("float", 200, 100);
}

Test(soak, samples_stay_apart_at_any_batch)
{
	soak("sample", 1, 80);
}

Test(soak, errors_stay_within_the_format_s_steps)
{
	soak("format", 1, 30);
}

Test(soak, random_integer_models_equal_the_evaluator)
{
	soak("integer", 30, 40);
}

Test(soak, damaged_files_are_refused)
{
	soak("hostile", 1, 60);
}
