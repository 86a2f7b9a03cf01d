/* SPDX-License-Identifier: MIT
 *
 * What schemas/ and docs/json.md promise: every document that the program prints is what its schema says, with no key
 * beside those, and every key of a schema is shown by some document, as a value and, where the schema says so, as null
 * or left out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kit/cli_run.h"

enum { OUTPUT = 16384 };

static int shell(const char *command, char output[OUTPUT])
{
	char line[4 * CLI_PATH];
	snprintf(line, sizeof line, "%s 2>&1", command);
	FILE *pipe = popen(line, "r"); /* NOLINT(cert-env33-c) */
	cr_assert(pipe);
	output[fread(output, 1, OUTPUT - 1, pipe)] = '\0';
	return pclose(pipe);
}

Test(schemas, printed_json_matches_its_schema)
{
	char folder[CLI_PATH], output[OUTPUT], program[4096], command[2 * CLI_PATH];
	const char *program_path = getenv("NPULAB_BIN");
	cr_assert(realpath(program_path && *program_path ? program_path : "build/npulab", program));
	cr_assert_eq(setenv("NPULAB_BIN", program, 1), 0); /* the script changes its folder */
	cli_folder(folder);
	snprintf(command, sizeof command, "/usr/bin/python3 tests/schemas.py '%s'", folder);
	cr_assert_eq(shell(command, output), 0, "%s", output);
	cli_remove_folder(folder);
}

/* The page has a section for each schema, whose tables docs-check makes from it. */
Test(schemas, each_is_in_the_page)
{
	char output[OUTPUT];
	cr_assert_eq(
		shell("for s in schemas/*.json; do n=${s#schemas/}; grep -q \"schema_table.py $n\" docs/json.md || "
		      "echo $n; done",
		      output),
		0);
	cr_assert_str_eq(output, "", "docs/json.md has no table of %s", output);
}
