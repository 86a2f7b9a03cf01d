/* SPDX-License-Identifier: MIT
 *
 * Command-line options by table: parsing, `--help` and the nearest name of an unknown option come from it. An option is
 * `--name VALUE` or `--name=VALUE`, or one letter `-m VALUE`; `--` ends the options. */
#ifndef NPULAB_CLI_OPTIONS_H
#define NPULAB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/error.h"

#define CLI_LIST 32 /* the most values of a repeatable option */

struct cli_list {
	const char *item[CLI_LIST];
	int n;
};

/* CLI_SETTINGS: a list of KEY=VALUE; a key with two different values is refused.
 * CLI_BYTES: a whole number with or without K, M, G, T (thousands) or Ki, Mi, Gi, Ti (of 1024), stored as int64_t.
 * CLI_OUTPUT: the name of a file that the command will write, or "-"; the command may read no such file
 * (npl_file_declare_output). */
enum cli_type { CLI_FLAG, CLI_TEXT, CLI_INT, CLI_LIST_OF_TEXT, CLI_SETTINGS, CLI_OUTPUT, CLI_BYTES };

struct cli_option {       /* a table ends with name NULL */
	const char *name; /* without dashes; one letter means `-m` */
	enum cli_type type;
	void *target;      /* bool, const char *, int64_t, struct cli_list */
	int64_t min, max;  /* CLI_INT */
	const char *value; /* the name of the value in the help */
	const char *help;
};

/* The devices of a command when the user names none. With --timing-only no measured device is among them, because it
 * has no time without values. */
#define CLI_SIMULATED_DEVICES "tpu_v1,diannao"
#define CLI_DEVICES           CLI_SIMULATED_DEVICES ",cpu"

/* These make options that have the same meaning and the same help in several commands. */
#define CLI_DEVICES_OPTION(target, default_list)                                                                       \
	{                                                                                                              \
		"devices", CLI_TEXT, (target), 0, 0, "A,B,...",                                                        \
			"devices, machine files, NAME@KEY=VALUE (default: " default_list ")"                           \
	}
#define CLI_THREADS_OPTION(target)                                                                                     \
	{                                                                                                              \
		"threads", CLI_INT, (target), 1, 1024, "N",                                                            \
			"at most N threads; default: as many as there are processors"                                  \
	}
#define CLI_MEMORY_OPTION(target)                                                                                      \
	{                                                                                                              \
		"max-memory", CLI_BYTES, (target), 1, INT64_MAX, "SIZE",                                               \
			"refuse what takes more: bytes, or with K, M, G, T, Ki, Mi, Gi, Ti (default: 80 % of what "    \
			"can be had)"                                                                                  \
	}
#define CLI_INPUT_OPTION(target)                                                                                       \
	{                                                                                                              \
		"input", CLI_LIST_OF_TEXT, (target), 0, 0, "[NAME=]FILE",                                              \
			"samples (.npy, .pb); else the model's own, else random"                                       \
	}
#define CLI_BATCH_OPTION(target)                                                                                       \
	{                                                                                                              \
		"batch", CLI_INT, (target), 1, 1 << 20, "N",                                                           \
			"samples per batch; default: the model's own, else 1 (docs/batches.md)"                        \
	}
#define CLI_DIM_OPTION(target)                                                                                         \
	{                                                                                                              \
		"dim", CLI_LIST_OF_TEXT, (target), 0, 0, "NAME=N", "a dimension that the model leaves open"            \
	}
#define CLI_SEED_OPTION(target)                                                                                        \
	{                                                                                                              \
		"seed", CLI_INT, (target), 0, INT64_MAX, "N", "of random samples (default 1)"                          \
	}
#define CLI_SET_OPTION(target)                                                                                         \
	{                                                                                                              \
		"set", CLI_SETTINGS, (target), 0, 0, "DEVICE.KEY=VALUE",                                               \
			"a parameter (`npulab devices DEVICE --yaml` lists them)"                                      \
	}
#define CLI_HOST_OPTION(target)                                                                                        \
	{                                                                                                              \
		"host", CLI_TEXT, (target), 0, 0, "FILE|NAME",                                                         \
			"the modelled host (default `npulab devices host --yaml`); --set host.KEY=VALUE"               \
	}
#define CLI_ENGINE_OPTION(target)                                                                                      \
	{                                                                                                              \
		"engine", CLI_TEXT, (target), 0, 0, "fast|rtl",                                                        \
			"of the simulated machines that have both (default fast)"                                      \
	}
#define CLI_NO_ACCURACY_OPTION(target)                                                                                 \
	{                                                                                                              \
		"no-accuracy", CLI_FLAG, (target), 0, 0, NULL, "skip the float reference"                              \
	}
#define CLI_JSON_OPTION(target)                                                                                        \
	{                                                                                                              \
		"json", CLI_OUTPUT, (target), 0, 0, "FILE", "the machine-readable form; - for standard output"         \
	}
#define CLI_CSV_OPTION(target)                                                                                         \
	{                                                                                                              \
		"csv", CLI_OUTPUT, (target), 0, 0, "FILE", "one line per layer and device"                             \
	}
#define CLI_HTML_OPTION(target)                                                                                        \
	{                                                                                                              \
		"html", CLI_OUTPUT, (target), 0, 0, "FILE", "the result as a page for a browser (docs/report.md)"      \
	}
/* also: the rest of the help, such as ", no warnings" in commands that load a model */
#define CLI_QUIET_OPTION(target, also)                                                                                 \
	{                                                                                                              \
		"quiet", CLI_FLAG, (target), 0, 0, NULL, "no table, no progress" also                                  \
	}

/* Adds "KEY=VALUE" to the list. Returns NPL_EUSAGE, with a message that begins with `label`, when the list has the key
 * with another value, or is full. */
int cli_add_setting(struct cli_list *list, const char *label, const char *setting, struct npl_err *err);

struct cli_command {
	const char *name;
	const char *arguments; /* arguments in the usage line: "MODEL --devices A,B,..." */
	const char *summary;   /* lines of its help; the first is also in the list of commands */
	int (*run)(int argc, char **argv, struct npl_err *err); /* argv[0] is the command's name */
};

#define CLI_COMMAND(name) extern const struct cli_command cli_##name;
#include "commands.def"
#undef CLI_COMMAND

/* Calls `given` for each option of argv[1..], which cli_parse_only has accepted; value NULL: a flag. Ends with the
 * first result other than 0. */
int cli_each_option(const struct cli_option *options, int argc, char **argv,
		    int (*given)(void *context, const struct cli_option *option, const char *value,
				 struct npl_err *err),
		    void *context, struct npl_err *err);

/* Does what cli_parse does, but declares no outputs, sets no limits and shows no progress. */
int cli_parse_only(const struct cli_command *command, const struct cli_option *options, int argc, char **argv,
		   const char **words, int max_words, int *n_words, bool *help_printed, struct npl_err *err);
/* Parses argv[1..]; other arguments go into words (at most max_words, else NPL_EUSAGE). With --help prints the
 * command's help and sets *help_printed. */
int cli_parse(const struct cli_command *command, const struct cli_option *options, int argc, char **argv,
	      const char **words, int max_words, int *n_words, bool *help_printed, struct npl_err *err);

#endif
