/* SPDX-License-Identifier: MIT
 *
 * Random models and damaged files: tests/soak/ makes them from fixed seeds, computes what is right from the operators'
 * definitions and holds the program against it. Every run draws the same cases, fewer of them under a sanitizer or an
 * emulator; `make soak` draws others. SOAK_COUNT is how many cases there are of each kind. Skipped where numpy or
 * python3-onnx is not there. */
#include "npulab/op.h"
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

/* A kind is a file of tests/soak/. Each has a test here, and a row in CONTRIBUTING.md. */
Test(soak, every_kind_is_run_and_explained)
{
	char *tests = cli_read("tests/test_soak.c", NULL), *page = cli_read("CONTRIBUTING.md", NULL);
	FILE *kinds = popen("basename -s _kind.py -a tests/soak/*_kind.py", "r");
	char kind[40], call[60], row[60];
	int n = 0;
	cr_assert(kinds);
	for (; fscanf(kinds, "%39s", kind) == 1; n++) {
		snprintf(call, sizeof call, "\tsoak(\"%s\", ", kind);
		cr_expect(strstr(tests, call), "no test runs the kind %s", kind);
		snprintf(row, sizeof row, "\n| `%s` | ", kind);
		cr_expect(strstr(page, row), "CONTRIBUTING.md does not explain the kind %s", kind);
	}
	cr_assert_eq(pclose(kinds), 0);
	cr_assert_gt(n, 3);
	free(tests);
	free(page);
}

/* Operators that the random models do not have: ONNX's own cases and those of tests/onnx/ try them, and the values of
 * the random ones are not determined. */
static const char unevaluated[] =
	" AffineGrid Attention BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow CenterCropPad Col2Im Constant "
	"DFT GroupNormalization HammingWindow HannWindow MaxUnpool MelWeightMatrix RMSNormalization RandomNormal "
	"RandomNormalLike RandomUniform RandomUniformLike RotaryEmbedding STFT Scatter Upsample ";

Test(soak, every_other_operator_has_an_evaluator)
{
	char evaluated[8000] = "", word[60];
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	FILE *names = popen("cd tests/soak && /usr/bin/python3 -B -c 'import operators; "
			    "print(\"\", *operators.FUNCTIONS, \"\")'",
			    "r");
	cr_assert(names && fgets(evaluated, sizeof evaluated, names));
	cr_assert_eq(pclose(names), 0);
	for (int i = NPL_OP_NONE + 1; i < NPL_OPS; i++) {
		snprintf(word, sizeof word, " %s ", npl_op_defs[i].name);
		cr_expect(!strstr(evaluated, word) == !!strstr(unevaluated, word),
			  "%s: expected a function in tests/soak/operators/, or a place in the list above",
			  npl_op_defs[i].name);
	}
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
