/* SPDX-License-Identifier: MIT
 *
 * What `make docs-check` promises: a page whose figures, tables and blocks are what their commands print passes;
 * whatever is stale, fails, or is malformed is named with its page and line; `make docs-update` mends what is stale and
 * nothing else. Each on small pages. And the pages' own lists of pages, memories and options are
 * whole, and the version is this one. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "npulab/version.h"
#include "tests/kit/cli_run.h"

enum { OUTPUT = 16384 };

/* Runs the check in the folder; what it prints goes to output. */
static int check(const char *folder, const char *options, char output[OUTPUT])
{
	char line[8 * CLI_PATH], here[CLI_PATH], program[CLI_PATH];
	const char *program_path = getenv("NPULAB_BIN");
	cr_assert(getcwd(here, sizeof here));
	snprintf(program, sizeof program, "%s", program_path && *program_path ? program_path : "build/npulab");
	snprintf(line, sizeof line,
		 "ROOT='%s' /usr/bin/python3 scripts/docs_check.py --program \"$(dirname '%s')\" %s 2>&1", folder,
		 program, options);
	FILE *pipe = popen(line, "r"); /* NOLINT(cert-env33-c) */
	cr_assert(pipe);
	output[fread(output, 1, OUTPUT - 1, pipe)] = '\0';
	int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define LAYER "npulab layer gemm -m 256 -n 256 -k 256 --requantise --devices tpu_v1 --json -"

/* A page with a comment of every kind: a block, figures in text and in tables, files and setups, a command that must
 * fail. */
static const char good[] =
	"# Page\n"
	"<!-- command layer: " LAYER " -->\n"
	"<!-- command sized: npulab layer gemm -m $1 -n 256 -k 256 --requantise --devices tpu_v1 --json - -->\n"
	"\n"
	"It takes 3,174<!-- layer: devices[name=tpu_v1].totals.cycles {:,} --> cycles, or\n"
	"~4.53<!-- layer: sum(devices.0.layers.cycles) / devices.0.clock_hz * 1e6 ~{:.2f} --> us. `<!-- no comment "
	"-->`\n"
	"\n"
	"<!-- column \"cycles\" = sized: devices.0.totals.cycles {} -->\n"
	"| rows | cycles | |\n"
	"|---|---|---|\n"
	"| `256` | 3174 | as 3174<!-- layer: /\"cycles\":(\\d+)/ --> |\n"
	"| 511 | 3684 | |\n"
	"| none | | |\n"
	"\n"
	"<!-- file: two.txt -->\n"
	"```text\none\ntwo\n```\n"
	"<!-- setup: sort -r two.txt > three.txt -->\n"
	"<!-- setup -->\n"
	"```sh\necho three >> three.txt\n```\n"
	"<!-- run: cat three.txt -->\n"
	"```\ntwo\none\nthree\n```\n"
	"<!-- run -->\n"
	"```\n$ npulab devices systolic_16x16 --yaml | grep ^clock_hz\nclock_hz: 700000000  # Hz: clock of the array\n"
	"```\n"
	"<!-- run (exit 2): npulab devices nothing --what 2>&1 -->\n"
	"```\nREFUSAL\n```\n"
	"<!-- run: printf '| a | b |\\n|---|---|\\n| 1 | 2 |\\n' -->\n"
	"| a | b |\n|---|---|\n| 1 | 2 |\n"
	"\n"
	"3174 in 4.53<!-- layer: devices.0.totals.cycles; devices.0.totals.seconds * 1e6 {} in {:.2f} --> us of 16.8 "
	"M<!-- layer: model.macs {:si} -->\n";

/* The page with what this build prints: names of options and comments of machine files are not this test's affair. */
static void write_good(const char *folder)
{
	char output[OUTPUT];
	cli_write_text(folder, "README.md", good);
	cr_assert_eq(check(folder, "--update", output), 0, "%s", output);
}

/* Returns the page with one place changed. */
static void write_changed(const char *folder, const char *page, const char *from, const char *to)
{
	char text[OUTPUT];
	const char *at = strstr(page, from);
	cr_assert(at, "no %s", from);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - page), page, to, at + strlen(from));
	cli_write_text(folder, "README.md", text);
}

Test(docs, what_commands_print_passes)
{
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	write_good(folder);
	char *page = cli_read(cli_path(folder, "README.md"), NULL);
	cr_assert_eq(check(folder, "", output), 0, "%s", output);
	cr_assert(strstr(output, "docs: 1 pages with 4 blocks and 7 figures"), "%s", output);
	cr_assert(strstr(page, "\n```\nnpulab: "), "the refusal is not there: %s", page);
	cr_assert(strstr(page, "3,174<!-- layer"), "%s", page);
	free(page);
	cli_remove_folder(folder);
}

Test(docs, what_is_stale_is_named_and_mended)
{
	static const struct {
		const char *from, *to, *expected;
	} stale[] = {
		{"3,174<", "3,175<",
		 "README.md:5: stands '3,175', the command gives '3,174': npulab layer gemm -m 256"},
		{"~4.53<", "~9.97<", "README.md:6: stands '~9.97', the command gives '~4.53'"},
		{"| 3684 |", "| 3685 |",
		 "README.md:12: stands '3685', the command gives '3684': npulab layer gemm -m 511"},
		{"as 3174<", "as 12<", "README.md:11: stands '12', the command gives '3174'"},
		{"two\none\nthree", "two\nthree", "stands '', the command gives 'one': cat three.txt"},
		{"two\none\nthree", "two\none\nthree\nfour", "stands 'four', the command gives '': cat three.txt"},
		{"--|\n| 1 | 2 |\n\n", "--|\n| 1 | 3 |\n\n",
		 "stands '| 1 | 3 |', the command gives '| 1 | 2 |': printf"},
		{"16.8 M<", "16.9 M<", "stands '16.9 M', the command gives '16.8 M'"},
		{"3174 in 4.53<", "3174 in 4.54<", "stands '3174 in 4.54', the command gives '3174 in 4.53'"},
		{"clock_hz: 7", "clock_hz:  7", "stands 'clock_hz:  7"},
	};
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	write_good(folder);
	char *page = cli_read(cli_path(folder, "README.md"), NULL);
	for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
		write_changed(folder, page, stale[i].from, stale[i].to);
		cr_assert_eq(check(folder, "", output), 1, "%s: %s", stale[i].to, output);
		cr_assert(strstr(output, stale[i].expected), "expected %s in: %s", stale[i].expected, output);
		cr_assert_eq(check(folder, "--update", output), 0, "%s", output);
		char *mended = cli_read(cli_path(folder, "README.md"), NULL);
		cr_assert_str_eq(mended, page);
		free(mended);
	}
	free(page);
	cli_remove_folder(folder);
}

Test(docs, what_fails_or_is_malformed_is_named)
{
	static const struct {
		const char *from, *to, *expected;
	} wrong[] = {
		{"--requantise --devices tpu_v1 --json - -->\n<", "--requantized --devices tpu_v1 --json - -->\n<",
		 "README.md:5: the command ends with 2, expected 0: npulab: layer: unknown option '--requantized'"},
		{"cat three.txt", "cat four.txt", "the command ends with 1, expected 0: cat: four.txt"},
		{"run (exit 2)", "run (exit 3)", "the command ends with 2, expected 3: npulab devices nothing"},
		{"setup: sort", "setup: sorted", "README.md:20: the setup ends with 127"},
		{"totals.cycles {:,}", "totals.bicycles {:,}",
		 "README.md:5: devices[name=tpu_v1].totals.bicycles: there is no 'bicycles'"},
		{"[name=tpu_v1]", "[name=tpu_v9]", "nothing has name=tpu_v9"},
		{"totals.cycles {:,}", "energy.joules {:,}",
		 "README.md:5: devices[name=tpu_v1].energy.joules: there is no 'energy'"},
		{"totals.cycles {:,}", "layers.name {:,}", "does not print"},
		{"layer: devices[name", "lawyer: devices[name",
		 "README.md:5: there is no command 'lawyer' in this page; there are: layer, sized"},
		{"/\"cycles\"", "/\"bicycles\"", "README.md:11: '/\"bicycles\":(\\d+)/' matches nothing"},
		{"cycles; devices", "cycles; devices.0.totals.power_w; devices",
		 "'{} in {:.2f}' has 2 fields for 3 values"},
		{"/ devices.0.clock_hz", "devices.0.clock_hz", "is not expected"},
		{"<!-- run -->", "<!-- ran -->", "'<!-- ran -->' is none of the comments that there are"},
		{" 2>&1 -->", " 2>&1", "this comment does not end"},
		{"```\n$ npulab", "text\n\n```\n$ npulab", "no block follows this comment 'run'"},
		{"\n$ npulab", "\n npulab", "no command: expected 'run: COMMAND'"},
		{"column \"cycles\"", "column \"cycle\"",
		 "README.md:8: the table has no column 'cycle', only: rows, cycles"},
		{"3,174<", "many<", "README.md:5: no figure like '{:,}' stands before"},
		{"# Page", "# Page\n<!-- command spare: true -->", "README.md:2: the command 'spare' is used nowhere"},
		{"# Page", "# Page\n```\ntpu_v1  int8  ~81.0 us\n```",
		 "README.md:2: this block looks like output of npulab"},
		{"# Page", "# Page\n```\nDEVICE     FORMAT   BATCH TIME  SAMPLES/S\n```",
		 "README.md:2: this block looks like"},
		{"# Page", "# Page\n```", "this block"},
	};
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	write_good(folder);
	char *page = cli_read(cli_path(folder, "README.md"), NULL);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		write_changed(folder, page, wrong[i].from, wrong[i].to);
		cr_expect_eq(check(folder, "", output), 1, "%s: %s", wrong[i].to, output);
		cr_expect(strstr(output, wrong[i].expected), "expected %s in: %s", wrong[i].expected, output);
	}
	free(page);
	cli_remove_folder(folder);
}

/* Of a measured device the form counts: how many cells its row has, that it has a note. What stands there stays when
 * the rest is mended. */
Test(docs, measured_rows_are_compared_in_form)
{
	static const char page[] = "<!-- file: out.txt -->\n```\n"
				   "DEVICE  TIME     POWER\n"
				   "cpu     1.25 us      -\n"
				   "tpu_v1  ~9.0 us   ~1 W\n\n"
				   "NOTES\n"
				   "cpu     a loaded computer of another\n"
				   "        make\n"
				   "tpu_v1  cells\n```\n"
				   "<!-- run: cat out.txt -->\n```\n"
				   "DEVICE  TIME     POWER\n"
				   "cpu     7 ms     3.0 W\n"
				   "tpu_v1  ~9.0 us   ~1 W\n\n"
				   "NOTES\n"
				   "cpu     mine\n"
				   "tpu_v1  cells\n```\n";
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	cli_write_text(folder, "README.md", page);
	cr_assert_eq(check(folder, "", output), 0, "%s", output);
	write_changed(folder, page, "~9.0 us   ~1 W\n\nNOTES\ncpu     mine", "~8.0 us   ~1 W\n\nNOTES\ncpu     mine");
	cr_assert_eq(check(folder, "", output), 1);
	cr_assert(strstr(output, "README.md:16: stands 'tpu_v1  ~8.0 us   ~1 W', the command gives 'tpu_v1  ~9.0 us"),
		  "%s", output);
	cr_assert_eq(check(folder, "--update", output), 0, "%s", output);
	char *mended = cli_read(cli_path(folder, "README.md"), NULL);
	cr_assert_str_eq(mended, page);
	free(mended);
	write_changed(folder, page, "7 ms     3.0 W", "7 ms");
	cr_assert_eq(check(folder, "", output), 1, "%s", output);
	write_changed(folder, page, "cpu     mine\n", "");
	cr_assert_eq(check(folder, "", output), 1, "%s", output);
	cli_remove_folder(folder);
}

/* A page is checked or in the list of those that are not, with the reason, and not both. */
Test(docs, no_page_slips_in)
{
	char folder[CLI_PATH], output[OUTPUT];
	cli_folder(folder);
	cr_assert_eq(mkdir(cli_path(folder, "docs"), 0777), 0);
	cli_write_text(folder, "README.md", "<!-- run: echo 1 -->\n```\n1\n```\n");
	cli_write_text(folder, "docs/new.md", "# New\n");
	cr_assert_eq(check(folder, "", output), 1);
	cr_assert(strstr(output, "docs/new.md:1: this page names no command"), "%s", output);
	cli_write_text(folder, "docs/unchecked.txt", "# list\ndocs/new.md  has no figures\n");
	cr_assert_eq(check(folder, "", output), 0, "%s", output);
	cr_assert_eq(check(folder, "docs/new.md", output), 0, "%s", output);
	cr_assert(strstr(output, "docs/new.md is not checked: it has no figures (docs/unchecked.txt)"), "%s", output);
	cli_write_text(folder, "docs/unchecked.txt", "docs/new.md\ndocs/old.md  gone\nREADME.md  not yet\n");
	cr_assert_eq(check(folder, "", output), 1);
	cr_assert(strstr(output, "docs/unchecked.txt:1: expected a page and the reason"), "%s", output);
	cr_assert(strstr(output, "docs/unchecked.txt:2: there is no page 'docs/old.md'"), "%s", output);
	cr_assert(strstr(output, "README.md:1: this page is checked: take it off docs/unchecked.txt"), "%s", output);
	cli_remove_folder(folder);
}

/* Expects the name of each file of the pattern on the page: between these letters, without its folder and ending. */
static void lists_files(const char *path, const char *pattern, const char *ending, const char *before,
			const char *after)
{
	glob_t files;
	char *page = cli_read(path, NULL), name[CLI_PATH];
	cr_assert_eq(glob(pattern, 0, NULL, &files), 0, "%s", pattern);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *file = strrchr(files.gl_pathv[i], '/') + 1;
		snprintf(name, sizeof name, "%s%.*s%s", before, (int)(strlen(file) - strlen(ending)), file, after);
		cr_expect(strstr(page, name), "%s does not have %s", path, name);
	}
	globfree(&files);
	free(page);
}

Test(docs, indexes_list_every_file)
{
	lists_files("docs/README.md", "docs/[a-z]*.md", "", "](", ")");
	lists_files("docs/memory.md", "memories/*.yaml", ".yaml", "`", "`");
	lists_files("models/README.md", "models/*.yaml", ".yaml", "`", "`");
}

/* The tables before the help of every command name no option that no command has. */
Test(docs, options_are_those_of_commands)
{
	char *page = cli_read("docs/options.md", NULL), option[60];
	const char *help = strstr(page, "\nusage: npulab ");
	int n = 0;
	cr_assert(help);
	for (const char *at = strstr(page, "`--"); at && at < help; at = strstr(at + 1, "`--"), n++) {
		snprintf(option, sizeof option, "\n  %.*s ", (int)strcspn(at + 1, " `"), at + 1);
		cr_expect(strstr(help, option), "docs/options.md: no command has%s", option + 2);
	}
	cr_assert_gt(n, 20);
	free(page);
}

/* Finds the words between two texts of the page, apart from "or". Returns how many there are. */
static int words_between(char *page, const char *begin, const char *end, char *words[], int most)
{
	char *from = strstr(page, begin), *state;
	int n = 0;
	cr_assert(from, "README.md does not have '%s'", begin);
	from += strlen(begin);
	char *to = strstr(from, end);
	cr_assert(to);
	*to = '\0';
	for (char *word = strtok_r(from, ", \n", &state); word; word = strtok_r(NULL, ", \n", &state))
		if (strcmp(word, "or")) {
			cr_assert_lt(n, most);
			words[n++] = word;
		}
	return n;
}

/* The standard of ddr3-1600 is DDR3. */
Test(docs, readme_names_the_standards_of_dram)
{
	enum { MOST = 32 };
	char *page = cli_read("README.md", NULL), *named[MOST];
	bool has_file[MOST] = {false};
	const int n = words_between(page, "simulated command by command:", ".", named, MOST);
	glob_t files;
	cr_assert_eq(glob("memories/*.yaml", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *text = cli_read(files.gl_pathv[i], NULL), standard[20] = "";
		const char *name = files.gl_pathv[i] + strlen("memories/");
		for (size_t k = 0; name[k] != '-' && name[k] != '.' && k + 1 < sizeof standard; k++)
			standard[k] = (char)toupper((unsigned char)name[k]);
		int at = 0;
		while (at < n && strcmp(named[at], standard))
			at++;
		if (strstr(text, "\nmodel: dram\n")) {
			cr_expect_lt(at, n, "README.md does not name %s, which %s has", standard, files.gl_pathv[i]);
			if (at < n)
				has_file[at] = true;
		}
		free(text);
	}
	for (int i = 0; i < n; i++)
		cr_expect(has_file[i], "README.md names %s, and no file in memories/ has it", named[i]);
	globfree(&files);
	free(page);
}

/* The version that the Makefile gives the program. */
Test(docs, pages_and_the_header_name_this_version)
{
	static const char *const places[][2] = {{"docs/library.md", "The library has version %s,"},
						{"include/npulab/version.h", "npl_version(void); /* \"%s\" */"},
						{"CHANGES.md", "\n## %s, since "}};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *text = cli_read(places[i][0], NULL), expected[80];
		snprintf(expected, sizeof expected, places[i][1], npl_version());
		cr_expect(strstr(text, expected), "%s does not have '%s'", places[i][0], expected);
		free(text);
	}
}
