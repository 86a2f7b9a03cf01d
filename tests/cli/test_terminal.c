/* SPDX-License-Identifier: MIT
 *
 * Promises of the width: on a terminal no line of a report is wider than the terminal, from 80 columns on, and wide
 * terminals are used. Without a terminal the layout is that of 100 columns, whatever the environment says. Colours are
 * there on terminals alone, if they are wanted, and say nothing that is not in words. */
#include "tests/kit/cli_terminal.h"

#include "tests/kit/onnx_writer.h"

/* Runs without names in the environment that decide on the layout. */
static void forget_environment(void)
{
	unsetenv("COLUMNS");
	unsetenv("NPULAB_COLUMNS");
	setenv("NO_COLOR", "1", 1);
	setenv("TERM", "xterm", 1);
}

/* Makes what the commands read: the traces @/a.trace and @/b.trace, and a program. */
static void make_inputs(const char *folder)
{
	const struct cli_run_options options = {.folder = folder};
	cli_record(&options, "digits", "--device", "tpu_v1", "-o", "@/a.trace");
	cli_record(&options, "digits", "--device", "tpu_v1", "--set", "tpu_v1.array.rows=64", "-o", "@/b.trace");
	cli_expect(&options, 0, "run", "digits", "--device", "tpu_v1", "--timing-only", "--dump-program", "@/p.s");
}

#define NETWORK "compare", "mobilenet_v2", "--timing-only", "--layers", "--devices"

/* Reports of every command that prints tables. None measures for longer than a moment. */
static const char *const reports[][16] = {
	{"compare", "digits", "--devices", "null,tpu_v1,diannao", "--layers"},
	{NETWORK, "tpu_v1,systolic_128x128,diannao,gpu_a100"},
	{NETWORK, "tpu_v1", "--top", "3", "--sort", "idle"},
	{"run", "digits", "--place", "Conv=tpu_v1,/fc/=diannao,*=host", "--layers", "--timing-only"},
	{"run", "mobilenet_v2", "--place", "Conv=tpu_v1,*=diannao", "--layers", "--timing-only"},
	{"layer", "gemm", "-m", "64", "-n", "64", "-k", "64", "--devices", "tpu_v1,diannao,gpu_h100", "--layers"},
	{"layer", "conv", "--input", "1x64x28x28", "--kernel", "3x3", "--filters", "64", "--devices",
	 "tpu_v1,reference"},
	{"inspect", "mobilenet_v2", "--devices", "tpu_v1,diannao"},
	{"roofline", "mobilenet_v2", "--devices", "tpu_v1,gpu_a100"},
	{"roofline", "--devices", "tpu_v1,diannao,gpu_a100"},
	{"devices"},
	{"devices", "--verbose"},
	{"devices", "tpu_v1"},
	{"devices", "gpu_a100"},
	{"models"},
	{"validate", "tpu_v1", "--all"},
	{"validate", "diannao", "--all"},
	{"validate", "energy", "--all"},
	{"validate", "hosts", "--all"},
	{"energy"},
	{"energy", "tpu_v1"},
	{"energy", "diannao"},
	{"energy", "int8_multiplier"},
	{"energy", "--sram", "65536", "--width", "64"},
	{"energy", "--check"},
	{"dram", "--list"},
	{"dram", "--pattern", "random_rd", "-n", "1000", "--preset", "hbm2"},
	{"exec", "@/p.s", "--timing-only", "--instructions"},
	{"trace", "show", "@/a.trace"},
	{"trace", "show", "@/a.trace", "--parameters", "--layer", "conv1"},
	{"trace", "export", "@/a.trace", "--list"},
	{"trace", "export", "@/a.trace", "--perfetto", "@/a.json"},
	{"trace", "check", "traces/golden/classifier.diannao.trace"},
	{"trace", "show", "traces/golden/classifier.diannao.trace"},
};

static void check_reports(const char *columns)
{
	const int most = (int)strtol(columns, NULL, 10);
	char folder[CLI_PATH];
	cli_folder(folder);
	make_inputs(folder);
	setenv("NPULAB_COLUMNS", columns, 1);
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		struct cli_result r = cli_run_list(&(struct cli_run_options){.folder = folder}, reports[i]);
		cr_expect_eq(r.status, 0, "%s %s: %s", reports[i][0], reports[i][1], r.err);
		cr_expect_leq(cli_widest_line(r.out), most, "%s %s %s: %d columns\n%s", reports[i][0], reports[i][1],
			      reports[i][1] ? reports[i][2] : "", cli_widest_line(r.out), r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

Test(terminal, reports_fit_80_columns)
{
	forget_environment();
	check_reports("80");
}

Test(terminal, reports_fit_other_widths)
{
	forget_environment();
	check_reports("113");
}

/* Two traces that differ end with status 1, and so does their report. */
Test(terminal, differences_of_traces_fit)
{
	char folder[CLI_PATH];
	forget_environment();
	cli_folder(folder);
	make_inputs(folder);
	const struct cli_terminal terminal = {.columns = 80, .folder = folder};
	struct cli_result r = cli_run_on_terminal(&terminal, "trace", "diff", "@/a.trace", "@/b.trace");
	cr_assert_eq(r.status, 1, "%s", r.err);
	cr_assert(cli_says(r.out, "FIRST DIFFERENCE") && cli_says(r.out, "CYCLES OF LAYERS"), "%s", r.out);
	cr_assert_leq(cli_widest_line(r.out), 80, "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* A column that does not fit stands in a second block, beside the names of the first. */
Test(terminal, a_table_that_does_not_fit_is_divided)
{
	forget_environment();
	const struct cli_terminal terminal = {.columns = 80};
	struct cli_result r = cli_run_on_terminal(&terminal, "devices");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert_eq(cli_count_text(r.out, "\ntpu_v1 "), 2, "%s", r.out);
	cr_assert(strstr(r.out, "\n\nDEVICE ") && strstr(r.out, " DESCRIPTION\n"), "%s", r.out);
	cli_free(&r);
}

#define LAYERS NETWORK, "tpu_v1,diannao"

/* The width is that of the terminal; a narrower one gets 80 columns, a very wide one 200. */
Test(terminal, the_terminals_columns_are_used)
{
	static const struct {
		int columns, least, most; /* least: of the widest line */
	} cases[] = {{40, 70, 80}, {0, 70, 80}, {80, 70, 80}, {120, 101, 120}, {160, 101, 160}, {500, 101, 200}};
	int cut[6];
	forget_environment();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct cli_terminal terminal = {.columns = cases[i].columns};
		struct cli_result r = cli_run_on_terminal(&terminal, LAYERS);
		cr_assert_eq(r.status, 0, "%s", r.err);
		const int widest = cli_widest_line(r.out);
		cr_assert(widest >= cases[i].least && widest <= cases[i].most, "%d columns: %d\n%s", cases[i].columns,
			  widest, r.out);
		cut[i] = cli_count_text(r.out, "\u2026");
		cli_free(&r);
	}
	cr_assert(cut[2] > 20 && cut[4] < cut[2] / 2, "%d names are cut on 80 columns, %d on 160", cut[2], cut[4]);
}

/* COLUMNS overrides the terminal, if it is a number; it says nothing where no terminal is. */
Test(terminal, columns_of_the_environment)
{
	forget_environment();
	const struct cli_terminal terminal = {.columns = 80};
	struct cli_result plain = cli_run(&(struct cli_run_options){0}, LAYERS);
	setenv("COLUMNS", "120", 1);
	struct cli_result wide = cli_run_on_terminal(&terminal, LAYERS);
	struct cli_result piped = cli_run(&(struct cli_run_options){0}, LAYERS);
	setenv("COLUMNS", "many", 1);
	struct cli_result odd = cli_run_on_terminal(&terminal, LAYERS);
	cr_assert_gt(cli_widest_line(wide.out), 100, "%s", wide.out);
	cr_assert_leq(cli_widest_line(odd.out), 80, "%s", odd.out);
	cr_assert_str_eq(plain.out, piped.out);
	cr_assert(cli_widest_line(plain.out) > 80 && cli_widest_line(plain.out) <= 100, "%s", plain.out);
	cli_free(&plain);
	cli_free(&wide);
	cli_free(&piped);
	cli_free(&odd);
}

/* A pipe gets a table whole, however wide it is, so that a row is a line. */
Test(terminal, without_one_no_table_is_divided)
{
	forget_environment();
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert_eq(cli_count_text(r.out, "\nhost_link.clock_hz "), 1, "%s", r.out);
	cr_assert_gt(cli_widest_line(r.out), 100, "%s", r.out);
	cli_free(&r);
}

/* The log of a placement goes to standard error, and is laid out for it. */
Test(terminal, standard_error_has_its_own_width)
{
	forget_environment();
	static const char *const args[] = {"run",           "mobilenet_v2",    "--place", "Conv=tpu_v1,*=diannao",
					   "--timing-only", "--log-placement", NULL};
	struct cli_result r = cli_run_on_terminal_list(&(struct cli_terminal){.columns = 90, .out_is_file = true},
						       args);
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "REASON") && cli_widest_line(r.out) <= 90, "%s", r.out);
	cr_assert_gt(cli_widest_line(r.err), 90, "%s", r.err);
	cli_free(&r);
}

/* Texts of help have at most 80 columns, also in a file and on a wide terminal. */
Test(terminal, help_fits_80_columns)
{
	static const char *const commands[][3] = {
#define CLI_COMMAND(name) {#name, "--help"},
#include "cli/commands.def"
#undef CLI_COMMAND
#define TRACE_COMMAND(word) {"trace", #word, "--help"},
#include "cli/trace_commands.def"
#undef TRACE_COMMAND
		{"--help"},
	};
	forget_environment();
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		const char *const args[] = {commands[i][0], commands[i][1], commands[i][2], NULL};
		struct cli_result r = cli_run_list(&(struct cli_run_options){0}, args);
		struct cli_result wide = cli_run_on_terminal_list(&(struct cli_terminal){.columns = 160}, args);
		cr_expect(r.status == 0 && r.out_bytes > 100, "%s %s", args[0], r.err);
		cr_expect_leq(cli_widest_line(r.out), 80, "%s", r.out);
		cr_expect_str_eq(r.out, wide.out);
		cli_free(&r);
		cli_free(&wide);
	}
}

Test(terminal, a_width_that_is_none_is_refused)
{
	static const char *const bad[] = {"79", "201", "0", "wide", "-100", "100 "};
	forget_environment();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setenv("NPULAB_COLUMNS", bad[i], 1);
		struct cli_result r = cli_run(&(struct cli_run_options){0}, "models");
		cli_check_refusal(&r, 2, "expected a whole number of columns from 80 to 200", bad[i]);
		cli_free(&r);
	}
	setenv("NPULAB_COLUMNS", "", 1);
	cli_expect(&(struct cli_run_options){0}, 0, "inspect", "digits", "--quiet");
}

/* Takes out the escape sequences of colours, in place. */
static char *without_colours(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		if (!strncmp(from, "\033[", 2)) {
			from += strcspn(from, "m");
			from += *from == 'm';
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* Reports with headings and verdicts. */
static const char *const coloured[][8] = {
	{"validate", "diannao"},
	{"compare", "mobilenet_v2", "--timing-only", "--layers", "--devices", "tpu_v1,diannao"},
	{"trace", "check", "traces/golden/classifier.diannao.trace"},
	{"trace", "diff", "@/a.trace", "@/b.trace"},
	{"devices"},
};

/* Widths do not count them: without its colours a report is the one without colours. */
Test(terminal, colours_change_nothing_else)
{
	char folder[CLI_PATH];
	forget_environment();
	cli_folder(folder);
	make_inputs(folder);
	const struct cli_terminal terminal = {.columns = 80, .folder = folder};
	for (size_t i = 0; i < sizeof coloured / sizeof *coloured; i++) {
		setenv("NO_COLOR", "1", 1);
		struct cli_result plain = cli_run_on_terminal_list(&terminal, coloured[i]);
		setenv("NO_COLOR", "", 1);
		struct cli_result r = cli_run_on_terminal_list(&terminal, coloured[i]);
		cr_expect(!strchr(plain.out, '\033'), "%s: NO_COLOR has no effect", coloured[i][0]);
		cr_expect(strstr(r.out, "\033["), "%s %s has no colours: %s", coloured[i][0], coloured[i][1], r.out);
		cr_expect_str_eq(without_colours(r.out), plain.out);
		cli_free(&plain);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

Test(terminal, verdicts_are_green_or_red)
{
	char folder[CLI_PATH];
	forget_environment();
	unsetenv("NO_COLOR");
	cli_folder(folder);
	make_inputs(folder);
	const struct cli_terminal terminal = {.columns = 200, .folder = folder};
	struct cli_result r = cli_run_on_terminal(&terminal, "trace", "diff", "@/a.trace", "@/b.trace");
	cr_assert(strstr(r.out, "\033[1;31mdiffer\033[0m") && strstr(r.out, "\n- \033[1;31m"), "%s", r.out);
	cli_free(&r);
	r = cli_run_on_terminal(&terminal, "trace", "diff", "@/a.trace", "@/a.trace");
	cr_assert(strstr(r.out, "\033[32mthe same\033[0m"), "%s", r.out);
	cli_free(&r);
	r = cli_run_on_terminal(&terminal, "validate", "diannao", "--set", "diannao.clock_hz=490MHz");
	cr_assert(strstr(r.out, "\033[1mCASE ") && strstr(r.out, "\033[32mexact"), "%s", r.out);
	cr_assert(strstr(r.out, "\033[1;31m") && cli_says(r.out, "OUTSIDE"), "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* Nothing is coloured in a pipe or a file, on a terminal that understands no sequences, or where none is known. */
Test(terminal, colours_are_there_on_terminals_alone)
{
	static const char *const terms[] = {"dumb", "", NULL};
	forget_environment();
	unsetenv("NO_COLOR");
	const struct cli_terminal terminal = {.columns = 80};
	for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
		if (terms[i])
			setenv("TERM", terms[i], 1);
		else
			unsetenv("TERM");
		struct cli_result r = cli_run_on_terminal(&terminal, "models");
		cr_expect(r.out_bytes > 100 && !strchr(r.out, '\033'), "TERM=%s: %s", terms[i], r.out);
		cli_free(&r);
	}
	setenv("TERM", "xterm", 1);
	setenv("NPULAB_COLUMNS", "80", 1);
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "models");
	cr_expect(r.out_bytes > 100 && !strchr(r.out, '\033'), "%s", r.out);
	cli_free(&r);
	/* each stream by itself: here standard error is the terminal */
	const struct cli_terminal of_errors = {.columns = 80, .out_is_file = true};
	r = cli_run_on_terminal(&of_errors, "models");
	cr_expect(!strchr(r.err, '\033') && !*r.out, "%s%s", r.err, r.out);
	cli_free(&r);
	r = cli_run_on_terminal(&of_errors, "no-such-command");
	cr_expect(!strncmp(r.out, "\033[1;31mnpulab:\033[0m there is no command", 35), "%s", r.out);
	cli_free(&r);
	r = cli_run_on_terminal(&terminal, "no-such-command");
	cr_expect(!strncmp(r.err, "npulab: there is no command", 27), "%s", r.err);
	cli_free(&r);
}

/* A name out of a model cannot colour anything, or do worse. */
Test(terminal, names_hold_no_sequences)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	forget_environment();
	unsetenv("NO_COLOR");
	cli_folder(folder);
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
	onnx_put_node(&g, "Relu", "\033[31mred\033]0;title\a", "x", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "net.onnx", &g);
	const struct cli_terminal terminal = {.columns = 80, .folder = folder};
	struct cli_result r = cli_run_on_terminal(&terminal, "inspect", "@/net.onnx");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(strstr(r.out, "?[31mred?]0;title?") && !strstr(r.out, "\033[31m"), "%s", r.out);
	cli_free(&r);
	cli_remove_folder(folder);
}
