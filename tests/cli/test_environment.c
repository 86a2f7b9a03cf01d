/* SPDX-License-Identifier: MIT
 *
 * docs/environment.md: every variable that the program reads is in its table, and its example works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/cli_run.h"

/* Set for a library while it is loaded, where the user has set nothing. */
static const char *const own[] = {"OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS", "OPENBLAS_THREAD_TIMEOUT"};

Test(environment, every_variable_is_on_the_page)
{
	size_t bytes;
	char *page = cli_read("docs/environment.md", &bytes), name[80], row[100];
	FILE *names = popen(
		"grep -rhoE '\"(NPULAB|OPENBLAS|ONEDNN|DNNL|CUDA|OMP)_[A-Z_]+\"' $(cat scripts/code-folders.txt) "
		"cli include | tr -d '\"' | sort -u",
		"r");
	int n = 0;
	cr_assert(names);
	while (fscanf(names, "%79s", name) == 1) {
		bool set = false;
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			set = set || !strcmp(name, own[i]);
		snprintf(row, sizeof row, "`%s`", name);
		cr_assert(set || strstr(page, row), "%s is read and not on the page", name);
		n += !set;
	}
	cr_assert_eq(pclose(names), 0);
	cr_assert_geq(n, 6, "%d variables", n);
	free(page);
}

/* The folders of data stand in one list, which the page copies. */
Test(environment, data_of_your_own)
{
	char folder[CLI_PATH], command[4 * CLI_PATH], copied[200];
	size_t bytes;
	char *folders = cli_read("scripts/data-folders.txt", &bytes), *page = cli_read("docs/environment.md", &bytes);
	folders[strcspn(folders, "\n")] = '\0';
	snprintf(copied, sizeof copied, "cp -r %s my-data/", folders);
	cr_expect(strstr(page, copied), "the page does not have '%s'", copied);
	cli_folder(folder);
	snprintf(command, sizeof command,
		 "cp -r %s '%s/' && sed 's/^name: .*/name: mine/' machines/systolic_16x16.yaml > "
		 "'%s/machines/mine.yaml'",
		 folders, folder, folder);
	free(folders);
	free(page);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
	cr_assert_eq(setenv("NPULAB_DATA", folder, 1), 0);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "digits", "--devices",
				      "mine,tpu_v1", "--timing-only");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "mine"), "%s", r.out);
	cli_free(&r);
	static const char *const others[][2] = {
		{"validate", "diannao"}, {"energy", "tpu_v1"}, {"energy", "--check"}, {"inspect", "digits"}};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		r = cli_run(&(struct cli_run_options){.folder = folder}, others[i][0], others[i][1]);
		cr_expect_eq(r.status, 0, "%s %s: %s", others[i][0], others[i][1], r.err);
		cli_free(&r);
	}
	/* A folder without machines is said to be none. */
	snprintf(command, sizeof command, "rm -r '%s/machines'", folder);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
	r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "digits", "--devices", "tpu_v1");
	cli_check_refusal(&r, 3, "which has no folder 'machines'", "data without machines");
	cli_free(&r);
	cr_assert_eq(unsetenv("NPULAB_DATA"), 0);
	cli_remove_folder(folder);
}
