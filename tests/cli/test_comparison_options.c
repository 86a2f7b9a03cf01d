/* SPDX-License-Identifier: MIT
 *
 * Promises: each option that `compare` and `run` share reaches the comparison or the report. One that is read and not
 * passed on would be ignored in silence. Each also stands in the tables with which docs/options.md begins. */
#include "tests/kit/cli_run.h"

#define DIGITS  "compare", "digits", "--devices", "tpu_v1"
#define TIMES   DIGITS, "--timing-only"
#define IMAGES  "--input", "models/digits_test_images.npy"
#define NETWORK "compare", "lenet5", "--devices", "tpu_v1"

/* The option, and a command whose output is another with it. value NULL: it has none. */
static const struct change {
	const char *option, *value, *command[12];
} changes[] = {
	{"input", "models/digits_calibration.npy", {DIGITS}},
	{"labels", "models/digits_test_labels.npy", {DIGITS, IMAGES}},
	{"batch", "7", {TIMES}},
	{"dim", "NONE=3", {TIMES}}, /* is refused: the model has no such dimension */
	{"layers", NULL, {TIMES}},
	{"match", "Conv*", {TIMES, "--layers"}},
	{"sort", "macs", {TIMES, "--layers"}},
	{"top", "2", {TIMES, "--layers"}},
	{"set", "tpu_v1.clock_hz=1GHz", {TIMES}},
	{"host", "cpu_haswell_e5_2699v3", {TIMES}},
	{"calibrate", "percentile=90", {DIGITS}},
	{"scale-q6.10", "off", {"compare", "digits", "--devices", "diannao"}},
	{"timing-only", NULL, {DIGITS}},
	{"no-accuracy", NULL, {DIGITS}},
	{"seed", "7", {NETWORK}},
	{"engine", "none", {TIMES}},    /* is refused: the machine has no such engine */
	{"max-memory", "1M", {DIGITS}}, /* is refused */
	{"json", "-", {TIMES}},
	{"csv", "-", {TIMES}},
	{"html", "-", {TIMES}},
	{"quiet", NULL, {TIMES}},
};
/* Options that change no figure of a machine: how many threads compute, a file beside the report, and the help. */
static const char *const without_change[] = {"threads", "dump-program", "help"};

static const struct change *change_of(const char *option)
{
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
		if (!strcmp(changes[i].option, option))
			return &changes[i];
	return NULL;
}

static struct cli_result run_with(const struct change *change, bool with_option)
{
	char option[40];
	const char *args[20] = {NULL};
	int n = 0;
	snprintf(option, sizeof option, "--%s", change->option);
	for (; change->command[n]; n++)
		args[n] = change->command[n];
	if (with_option) {
		args[n++] = option;
		args[n++] = change->value;
	}
	return cli_run_list(&(struct cli_run_options){0}, args);
}

static bool is_listed(const char *option)
{
	for (size_t i = 0; i < sizeof without_change / sizeof *without_change; i++)
		if (!strcmp(without_change[i], option))
			return true;
	return change_of(option);
}

/* Returns docs/options.md without what follows the tables of options that several commands have. */
static char *overview(void)
{
	char *page = cli_read("docs/options.md", NULL), *end = strstr(page, "\n## Parameters of devices\n");
	cr_assert(end);
	*end = '\0';
	return page;
}

static bool is_in(const char *tables, const char *option)
{
	char code[60];
	const int n = snprintf(code, sizeof code, "`--%s", option);
	const char *at = strstr(tables, code);
	while (at && at[n] != ' ' && at[n] != '`')
		at = strstr(at + 1, code);
	return at;
}

Test(comparison_options, each_is_tried_and_in_the_overview)
{
	char *tables = overview();
	struct cli_result compare = cli_run(&(struct cli_run_options){0}, "compare", "--help"),
			  run = cli_run(&(struct cli_run_options){0}, "run", "--help");
	int n = 0;
	for (const char *at = strstr(compare.out, "\n  --"); at; at = strstr(at + 1, "\n  --")) {
		char line[60];
		snprintf(line, sizeof line, "\n  --%.*s ", (int)strcspn(at + 5, " \n"), at + 5);
		if (!strstr(run.out, line))
			continue;
		line[strlen(line) - 1] = '\0';
		cr_expect(is_listed(line + 5), "the test tries no --%s", line + 5);
		cr_expect(is_in(tables, line + 5) || !strcmp(line + 5, "help"),
			  "the first tables of docs/options.md lack --%s", line + 5);
		n++;
	}
	cr_expect_eq((size_t)n, sizeof changes / sizeof *changes + sizeof without_change / sizeof *without_change);
	cli_free(&compare);
	cli_free(&run);
	free(tables);
}

Test(comparison_options, each_reaches_the_comparison_or_the_report)
{
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		const struct change *change = &changes[i];
		struct cli_result without = run_with(change, false), with = run_with(change, true);
		cr_assert_eq(without.status, 0, "--%s: %s", change->option, without.err);
		cr_expect(with.status ? !strstr(with.err, "unknown option") : strcmp(without.out, with.out),
			  "--%s changes nothing: %s", change->option, with.err);
		cli_free(&without);
		cli_free(&with);
	}
}

/* Without options the output is always the same, or the test above would tell nothing. */
Test(comparison_options, the_same_command_prints_the_same)
{
	struct cli_result once = run_with(&changes[0], false), again = run_with(&changes[0], false);
	cr_expect_str_eq(once.out, again.out);
	cli_free(&once);
	cli_free(&again);
}
