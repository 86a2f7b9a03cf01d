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
		"grep -rhoE '\"(NPULAB|OPENBLAS|ONEDNN|DNNL|CUDA|OMP)_[A-Z_]+\"' core backends cli frontend "
		"sim reports validate include | tr -d '\"' | sort -u",
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

Test(environment, data_of_your_own)
{
	char folder[CLI_PATH], command[4 * CLI_PATH];
	cli_folder(folder);
	snprintf(command, sizeof command,
		 "cp -r energies machines memories models published '%s/' && sed 's/^name: .*/name: mine/' "
		 "machines/systolic_16x16.yaml > '%s/machines/mine.yaml'",
		 folder, folder);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
	cr_assert_eq(setenv("NPULAB_DATA", folder, 1), 0);
	struct cli_result r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "digits", "--devices",
				      "mine,tpu_v1", "--timing-only");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "mine"), "%s", r.out);
	cli_free(&r);
	/* A folder without machines is said to be none. */
	snprintf(command, sizeof command, "rm -r '%s/machines'", folder);
	cr_assert_eq(system(command), 0); /* NOLINT(cert-env33-c) */
	r = cli_run(&(struct cli_run_options){.folder = folder}, "compare", "digits", "--devices", "tpu_v1");
	cli_check_refusal(&r, 3, "which has no folder 'machines'", "data without machines");
	cli_free(&r);
	cr_assert_eq(unsetenv("NPULAB_DATA"), 0);
	cli_remove_folder(folder);
}
