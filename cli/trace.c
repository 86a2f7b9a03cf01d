/* SPDX-License-Identifier: MIT
 *
 * npulab trace: records runs, and compares them with those of before (docs/traces.md). */
#include "trace_run.h"

#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "help.h"

static const struct cli_command *const subcommands[] = {
#define TRACE_COMMAND(word) &cli_trace_##word,
#include "trace_commands.def"
#undef TRACE_COMMAND
};
enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

/* The word after "trace " in the name of a command. */
static const char *word_of(const struct cli_command *command)
{
	return command->name + strlen("trace ");
}

static int trace_main(int argc, char **argv, struct npl_err *err)
{
	const char *names[SUBCOMMANDS];
	for (int i = 0; i < SUBCOMMANDS; i++) {
		names[i] = word_of(subcommands[i]);
		if (argc > 1 && !strcmp(argv[1], names[i]))
			return subcommands[i]->run(argc - 1, argv + 1, err);
	}
	char list[200];
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		enum { NAME_COLUMNS = 16 };
		printf("usage: npulab trace %s\n%s\n\n", cli_trace.arguments, cli_trace.summary);
		for (int i = 0; i < SUBCOMMANDS; i++)
			cli_put_help_row(stdout, subcommands[i]->name, NAME_COLUMNS, subcommands[i]->summary);
		printf("\n`npulab trace COMMAND --help` lists the options of each\n");
		return 0;
	}
	const char *nearest = argc > 1 ? npl_nearest(argv[1], names, SUBCOMMANDS) : NULL;
	return npl_fail(err, NPL_EUSAGE, "trace: %s%s%sexpected one of %s%s%s", argc > 1 ? "there is no '" : "",
			argc > 1 ? argv[1] : "", argc > 1 ? "', " : "",
			cli_names_text(names, SUBCOMMANDS, " or ", list, sizeof list),
			nearest ? "; the nearest is " : "", nearest ? nearest : "");
}

/* The words with a bar before each. */
#define TRACE_COMMAND(word) "|" #word
static const char arguments[] =
#include "trace_commands.def"
	" ...";
#undef TRACE_COMMAND

const struct cli_command cli_trace = {"trace", arguments + 1, "records runs, and compares them with those of before",
				      trace_main};
