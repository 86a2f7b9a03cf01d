/* SPDX-License-Identifier: MIT
 *
 * Finds the command, runs it, and turns its error into one line and an exit status (main.h). */
#include "main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/nearest.h"
#include "help.h"
#include "npulab/cpu_features.h"
#include "npulab/version.h"
#include "options.h"
#include "signals.h"
#include "terminal.h"
#include "waiting.h"

static const struct cli_command *const commands[] = {
#define CLI_COMMAND(name) &cli_##name,
#include "commands.def"
#undef CLI_COMMAND
};
#define COMMANDS ((int)(sizeof commands / sizeof *commands))

static void print_usage(FILE *out)
{
	enum { NAME_COLUMNS = 11 };
	cli_put_help_text(out,
			  "usage: npulab COMMAND [ARGUMENTS]\n"
			  "What would this neural network cost on that machine? Runs it, with real values, on "
			  "cycle-level models of published accelerators and on the real processor, and lays time, "
			  "energy and error side by side.\n",
			  0);
	for (int i = 0; i < COMMANDS; i++)
		cli_put_help_row(out, commands[i]->name, NAME_COLUMNS, commands[i]->summary);
	cli_put_help_text(out,
			  "\nStart with:  npulab compare digits --devices reference," CLI_DEVICES "\n"
			  "`npulab COMMAND --help` tells the options of one; --version the version.",
			  0);
}

static const struct cli_command *find_command(const char *name, struct npl_err *err)
{
	const char *names[COMMANDS];
	for (int i = 0; i < COMMANDS; i++) {
		names[i] = commands[i]->name;
		if (!strcmp(name, names[i]))
			return commands[i];
	}
	npl_fail(err, NPL_EUSAGE, "there is no command '%s'%s (`npulab --help` lists them)", name,
		 NPL_NEAREST(name, names, COMMANDS));
	return NULL;
}

/* Runs `help COMMAND` as COMMAND --help. */
static int help(int argc, char **argv, struct npl_err *err)
{
	static char option[] = "--help";
	if (argc == 1) {
		print_usage(stdout);
		return 0;
	}
	if (argc > 2)
		return npl_fail(err, NPL_EUSAGE, "help: expected one command, not %d", argc - 1);
	const struct cli_command *command = find_command(argv[1], err);
	return command ? command->run(2, (char *[]){argv[1], option, NULL}, err) : err->code;
}

static int run_command(int argc, char **argv, struct npl_err *err)
{
	const struct cli_command *command = find_command(argv[0], err);
	if (!command || npl_cpu_cap_check(err) || cli_terminal_open(err))
		return err->code;
	return command->run(argc, argv, err);
}

int cli_main(int argc, char **argv)
{
	struct npl_err err = {0};
	cli_handle_signals();
	if (argc < 2) {
		print_usage(stderr);
		return npl_exit_status(NPL_EUSAGE);
	}
	int code = 0;
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		print_usage(stdout);
	else if (!strcmp(argv[1], "help"))
		code = help(argc - 1, argv + 1, &err);
	else if (!strcmp(argv[1], "--version") && argc > 2)
		code = npl_fail(&err, NPL_EUSAGE, "--version: '%s' after it, expected nothing", argv[2]);
	else if (!strcmp(argv[1], "--version"))
		printf("npulab %s (%s)\n", npl_version(), npl_commit());
	else
		code = run_command(argc - 1, argv + 1, &err);
	cli_waiting_end();
	if (fflush(stdout) || ferror(stdout)) {
		const struct npl_err work_err = err;
		if (!code)
			code = npl_fail(&err, NPL_EOUTPUT, "standard output could not be written");
		else if (code == NPL_EDEVICE || code == NPL_ECHECK) /* the report was printed nevertheless */
			code = npl_fail(&err, NPL_EOUTPUT, "standard output could not be written; %s", work_err.msg);
	}
	if (code)
		cli_put_error(err.msg);
	return npl_exit_status(code);
}
