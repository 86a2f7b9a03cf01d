/* SPDX-License-Identifier: MIT
 *
 * The golden traces, traces/golden/: what this repository's own networks, layers and programs do on its machines. A
 * change that moves one of them says so in its commit, by `npulab trace bless`. */
#include <glob.h>

#include "npulab/run_trace.h"
#include "tests/kit/shell.h"
#include "validate/diannao_layers.h"
#include "validate/tpu_applications.h"

#define GOLDEN "traces/golden/"

/* Those that a sanitizer's run has time for. */
#define SMALL                                                                                                          \
	GOLDEN "digits.* " GOLDEN "lenet5.* " GOLDEN "two_tiles.* " GOLDEN "classifier.* " GOLDEN "class1.* " GOLDEN   \
	       "pool3.* " GOLDEN "resnet50_fc.*"

Test(golden_traces, what_is_kept_still_happens)
{
	char *out = shell("${NPULAB_BIN:-build/npulab} trace check %s 2>&1", TEST_SANITIZED ? SMALL : GOLDEN "*");
	cr_assert(strstr(out, ": the same, "), "%s", out);
	free(out);
}

/* Says whether a trace's name begins with a word and a dot. */
static bool is_kept(const glob_t *golden, const char *word)
{
	const size_t n = strlen(word), folder = strlen(GOLDEN);
	for (size_t i = 0; i < golden->gl_pathc; i++)
		if (!strncasecmp(golden->gl_pathv[i] + folder, word, n) && golden->gl_pathv[i][folder + n] == '.')
			return true;
	return false;
}

/* Says whether a trace has a machine of this name. */
static bool has_machine(const glob_t *golden, const char *name)
{
	bool found = false;
	for (size_t i = 0; i < golden->gl_pathc && !found; i++) {
		struct npl_trace_header header;
		struct npl_err err;
		cr_assert_eq(npl_trace_header_read(golden->gl_pathv[i], &header, &err), 0, "%s", err.msg);
		for (int m = 0; m < header.n_machines; m++)
			found |= !strcmp(header.machine[m].name, name);
		npl_trace_header_free(&header);
	}
	return found;
}

Test(golden_traces, every_machine_and_published_work_has_one)
{
	glob_t golden, machines;
	cr_assert_eq(glob(GOLDEN "*", 0, NULL, &golden), 0);
	cr_assert_eq(glob("machines/*.yaml", 0, NULL, &machines), 0);
	for (size_t i = 0; i < machines.gl_pathc; i++) {
		const char *file = machines.gl_pathv[i] + strlen("machines/");
		char name[100];
		snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
		cr_expect(has_machine(&golden, name), "no golden trace has the machine %s", name);
	}
	for (int i = 0; i < NPL_TPU_APPLICATIONS; i++)
		cr_expect(is_kept(&golden, npl_tpu_applications[i].model), "%s has no golden trace",
			  npl_tpu_applications[i].name);
	for (int i = 0; i < NPL_DIANNAO_LAYERS; i++) {
		char name[40];
		snprintf(name, sizeof name, "%.*s", (int)strcspn(npl_diannao_layers[i].name, "*"),
			 npl_diannao_layers[i].name);
		cr_expect(is_kept(&golden, name), "%s has no golden trace", name);
	}
	globfree(&machines);
	globfree(&golden);
}

Test(golden_traces, they_stay_small)
{
	glob_t golden;
	long long all = 0;
	cr_assert_eq(glob(GOLDEN "*", 0, NULL, &golden), 0);
	for (size_t i = 0; i < golden.gl_pathc; i++) {
		struct stat status;
		cr_assert_eq(stat(golden.gl_pathv[i], &status), 0);
		cr_expect_lt(status.st_size, 1000000, "%s", golden.gl_pathv[i]);
		all += status.st_size;
	}
	cr_expect_lt(all, 3000000, "the golden traces have %lld bytes", all);
	globfree(&golden);
}
