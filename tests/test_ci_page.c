/* SPDX-License-Identifier: MIT
 *
 * The examples of docs/ci.md do what the page says: tests/ci_page.py runs the jobs of both services and the hook on a
 * commit in which nothing moved, and on one in which a machine did. */
#include "tests/kit/shell.h"

Test(ci_page, its_jobs_find_what_moved)
{
	char folder[CLI_PATH], program[4096];
	const char *program_path = getenv("NPULAB_BIN");
	cr_assert(realpath(program_path && *program_path ? program_path : "build/npulab", program));
	cr_assert_eq(setenv("NPULAB_BIN", program, 1), 0); /* the script's commands run in other folders */
	cli_folder(folder);
	free(shell("/usr/bin/python3 tests/ci_page.py '%s' 2>&1", folder));
	cli_remove_folder(folder);
}
