/* SPDX-License-Identifier: MIT
 *
 * Parses options (options.h). */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/files/file.h"
#include "core/files/words.h"
#include "help.h"
#include "npulab/budget.h"
#include "npulab/thread.h"
#include "waiting.h"

#define CLI_OPTIONS 64 /* more than any command has */

static bool is_letter(const struct cli_option *option)
{
	return option->name[1] == '\0';
}

static void print_help(const struct cli_command *command, const struct cli_option *options)
{
	enum { INDENT = 7, USAGE_COLUMNS = 26 };
	char line[200];
	snprintf(line, sizeof line, "usage: npulab %s%s%s", command->name, *command->arguments ? " " : "",
		 command->arguments);
	cli_put_help_text(stdout, line, INDENT);
	cli_put_help_text(stdout, command->summary, 0);
	printf("\noptions:\n");
	for (const struct cli_option *o = options; o->name; o++) {
		char usage[64];
		snprintf(usage, sizeof usage, "%s%s%s%s", is_letter(o) ? "-" : "--", o->name, o->value ? " " : "",
			 o->value ? o->value : "");
		cli_put_help_row(stdout, usage, USAGE_COLUMNS, o->help);
	}
	cli_put_help_row(stdout, "--help", USAGE_COLUMNS, "this text");
}

static int refuse_unknown(const struct cli_command *command, const struct cli_option *options, const char *arg,
			  struct npl_err *err)
{
	const char *names[CLI_OPTIONS] = {"help"};
	int n = 1;
	for (const struct cli_option *o = options; o->name && n < CLI_OPTIONS; o++)
		if (!is_letter(o))
			names[n++] = o->name;
	const char *nearest = npl_nearest(arg + strspn(arg, "-"), names, n);
	return npl_fail(err, NPL_EUSAGE, "%s: unknown option '%s'%s%s%s (`npulab %s --help` lists them)", command->name,
			arg, nearest ? "; the nearest is '--" : "", nearest ? nearest : "", nearest ? "'" : "",
			command->name);
}

static int add_text(struct cli_list *list, const char *label, const char *text, struct npl_err *err)
{
	if (list->n == CLI_LIST)
		return npl_fail(err, NPL_EUSAGE, "%s is given more than %d times", label, CLI_LIST);
	list->item[list->n++] = text;
	return 0;
}

int cli_add_setting(struct cli_list *list, const char *label, const char *setting, struct npl_err *err)
{
	const size_t key = strcspn(setting, "=");
	for (int i = 0; i < list->n; i++)
		if (!strncmp(list->item[i], setting, key + 1) && strcmp(list->item[i], setting) != 0)
			return npl_fail(err, NPL_EUSAGE, "%s %.*s is given twice, as '%s' and as '%s'", label, (int)key,
					setting, list->item[i] + key + 1, setting + key + 1);
	return add_text(list, label, setting, err);
}

/* Refuses a number of bytes, and names the nearest unit of those that are accepted. */
static int refuse_bytes(const char *label, const char *value, struct npl_err *err)
{
	static const char *const units[] = {"K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"};
	const int digits = (int)strspn(value, "0123456789");
	char unit[8], with[64] = "";
	snprintf(unit, sizeof unit, "%s", value + digits);
	if (*unit && strchr("bB", unit[strlen(unit) - 1])) /* bytes are meant anyway */
		unit[strlen(unit) - 1] = '\0';
	const char *nearest = *unit ? npl_nearest(unit, units, sizeof units / sizeof *units) : "";
	if (digits && value[digits] && nearest && strcmp(nearest, value + digits) != 0)
		snprintf(with, sizeof with, "; the nearest is '%.*s%s'", digits, value, nearest);
	return npl_fail(err, NPL_EUSAGE,
			"%s must be a whole number of bytes from 1 on, alone or with K, M, G, T (powers of 1000) or "
			"Ki, Mi, Gi, Ti (powers of 1024) after it, got '%s'%s",
			label, value, with);
}

static int store_value(const struct cli_option *o, const char *label, const char *value, struct npl_err *err)
{
	int64_t number;
	switch (o->type) {
	case CLI_FLAG:
		*(bool *)o->target = true;
		return 0;
	case CLI_OUTPUT:
		if (!*value)
			return npl_fail(err, NPL_EUSAGE, "%s '' names no file", label);
		*(const char **)o->target = value;
		return 0;
	case CLI_TEXT:
		*(const char **)o->target = value;
		return 0;
	case CLI_LIST_OF_TEXT:
		return add_text(o->target, label, value, err);
	case CLI_SETTINGS:
		return cli_add_setting(o->target, label, value, err);
	case CLI_INT:
		if (!npl_parse_count(value, &number) || number < o->min || number > o->max)
			return npl_fail(err, NPL_EUSAGE, "%s must be a whole number from %lld to %lld, got '%s'", label,
					(long long)o->min, (long long)o->max, value);
		*(int64_t *)o->target = number;
		return 0;
	case CLI_BYTES:
		if (!npl_parse_bytes(value, &number) || number < o->min)
			return refuse_bytes(label, value, err);
		*(int64_t *)o->target = number;
		return 0;
	}
	return npl_fail(err, NPL_EINTERNAL, "%s has no type", label);
}

/* Declares the outputs before the command reads anything: they must be writable, as far as that can be known, and
 * different files. */
static int declare_outputs(const struct cli_option *options, struct npl_err *err)
{
	for (const struct cli_option *o = options; o->name; o++) {
		const char *path = o->type == CLI_OUTPUT ? *(const char **)o->target : NULL;
		if (path && strcmp(path, "-") && npl_file_declare_output(path, err))
			return err->code;
	}
	return 0;
}

static void limit_memory(const struct cli_option *options)
{
	uint64_t bytes = 0;
	for (const struct cli_option *o = options; o->name; o++)
		if (o->type == CLI_BYTES)
			bytes = (uint64_t) * (const int64_t *)o->target;
	npl_budget_set(bytes ? bytes : npl_budget_default());
}

static void limit_threads(const struct cli_option *options)
{
	for (const struct cli_option *o = options; o->name; o++)
		if (!strcmp(o->name, "threads"))
			npl_threads_allow((int)*(const int64_t *)o->target);
}

/* Starts the progress line, unless the user asked for quiet. */
static void start_waiting(const struct cli_option *options)
{
	for (const struct cli_option *o = options; o->name; o++)
		if (!strcmp(o->name, "quiet") && *(const bool *)o->target)
			return;
	cli_waiting_start();
}

/* Returns the option of an argument that begins with a dash; *value is the part after '=', or NULL. */
static const struct cli_option *find(const struct cli_option *options, const char *arg, const char **value)
{
	bool is_long = arg[1] == '-';
	const char *name = arg + (is_long ? 2 : 1), *equals = is_long ? strchr(name, '=') : NULL;
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	*value = equals ? equals + 1 : NULL;
	for (const struct cli_option *o = options; o->name; o++)
		if (is_letter(o) != is_long && strlen(o->name) == length && !strncmp(o->name, name, length))
			return o;
	return NULL;
}

/* Says whether an argument is an option of the command, and so no value of the option before it. */
static bool is_option(const struct cli_option *options, const char *arg)
{
	const char *value;
	return !strncmp(arg, "--", 2) && (!strcmp(arg, "--help") || find(options, arg, &value));
}

int cli_parse_only(const struct cli_command *command, const struct cli_option *options, int argc, char **argv,
		   const char **words, int max_words, int *n_words, bool *help_printed, struct npl_err *err)
{
	const char *earlier_value[CLI_OPTIONS] = {NULL};
	bool only_words = false;
	*n_words = 0;
	*help_printed = false;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value;
		if (!only_words && !strcmp(arg, "--")) {
			only_words = true;
			continue;
		}
		if (only_words || arg[0] != '-' || !arg[1]) {
			if (*n_words == max_words)
				return npl_fail(err, NPL_EUSAGE, "%s: unexpected argument '%s'; usage: npulab %s%s%s",
						command->name, arg, command->name, *command->arguments ? " " : "",
						command->arguments);
			words[(*n_words)++] = arg;
			continue;
		}
		if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
			print_help(command, options);
			*help_printed = true;
			return 0;
		}
		const struct cli_option *o = find(options, arg, &value);
		if (!o)
			return refuse_unknown(command, options, arg, err);
		if (o->type == CLI_FLAG && value)
			return npl_fail(err, NPL_EUSAGE, "%s: --%s takes no value", command->name, o->name);
		if (o->type != CLI_FLAG && !value) {
			if (i + 1 == argc || is_option(options, argv[i + 1]))
				return npl_fail(err, NPL_EUSAGE, "%s: %s needs a value: %s", command->name, arg,
						o->value);
			value = argv[++i];
		}
		char label[64];
		snprintf(label, sizeof label, "%s: %s%s", command->name, is_letter(o) ? "-" : "--", o->name);
		size_t index = (size_t)(o - options);
		bool single_valued = o->type != CLI_FLAG && o->type != CLI_LIST_OF_TEXT && o->type != CLI_SETTINGS &&
				     index < CLI_OPTIONS;
		if (single_valued && earlier_value[index] && strcmp(earlier_value[index], value))
			return npl_fail(err, NPL_EUSAGE, "%s is given twice, as '%s' and as '%s'", label,
					earlier_value[index], value);
		if (single_valued)
			earlier_value[index] = value;
		if (store_value(o, label, value, err))
			return err->code;
	}
	return 0;
}

int cli_each_option(const struct cli_option *options, int argc, char **argv,
		    int (*given)(void *context, const struct cli_option *option, const char *value,
				 struct npl_err *err),
		    void *context, struct npl_err *err)
{
	int rc = 0;
	for (int i = 1; i < argc && strcmp(argv[i], "--") && !rc; i++) {
		const char *value;
		const struct cli_option *option = argv[i][0] == '-' ? find(options, argv[i], &value) : NULL;
		if (!option)
			continue;
		if (option->type != CLI_FLAG && !value)
			value = argv[++i];
		rc = given(context, option, option->type == CLI_FLAG ? NULL : value, err);
	}
	return rc;
}

int cli_parse(const struct cli_command *command, const struct cli_option *options, int argc, char **argv,
	      const char **words, int max_words, int *n_words, bool *help_printed, struct npl_err *err)
{
	if (cli_parse_only(command, options, argc, argv, words, max_words, n_words, help_printed, err) || *help_printed)
		return *help_printed ? 0 : err->code;
	if (declare_outputs(options, err))
		return err->code;
	limit_memory(options);
	limit_threads(options);
	start_waiting(options);
	return 0;
}
