/* SPDX-License-Identifier: MIT
 *
 * Promises: every command is in the help of the program, has a help of its own, and stands in docs/commands.md and
 * docs/options.md; the schemas' tests run every command that prints JSON. The commands of `trace` also stand in
 * docs/traces.md. */
#include "tests/kit/cli_run.h"
#include "tests/kit/page.h"

static const char *const commands[] = {
#define CLI_COMMAND(name) #name,
#include "cli/commands.def"
#undef CLI_COMMAND
};

static void read_file(const char *path, char *text, size_t n)
{
	FILE *file = fopen(path, "r");
	cr_assert(file, "%s", path);
	const size_t length = fread(text, 1, n - 1, file);
	cr_assert_lt(length, n - 1, "%s is longer than the test reads", path);
	text[length] = '\0';
	fclose(file);
}

static bool is_on_page(const char *page, const char *command)
{
	char begins[64], further[64];
	snprintf(begins, sizeof begins, "`npulab %s", command);
	snprintf(further, sizeof further, ", `%s`", command);
	return strstr(page, begins) || strstr(page, further);
}

Test(commands, are_in_the_help_and_on_the_page)
{
	static char page[1 << 16], options[1 << 16], schemas[1 << 16];
	read_file("docs/commands.md", page, sizeof page);
	read_file("docs/options.md", options, sizeof options);
	read_file("tests/schemas.py", schemas, sizeof schemas);
	struct cli_result all = cli_run(&(struct cli_run_options){0}, "--help");
	cr_assert_eq(all.status, 0, "%s", all.err);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		struct cli_result r = cli_run(&(struct cli_run_options){0}, commands[i], "--help");
		cr_expect_eq(r.status, 0, "%s: %s", commands[i], r.err);
		cr_expect(strstr(r.out, commands[i]), "%s --help does not name it", commands[i]);
		cr_expect(strstr(all.out, commands[i]), "`npulab --help` does not list %s", commands[i]);
		cr_expect(is_on_page(page, commands[i]), "docs/commands.md has no row of %s", commands[i]);
		char section[80], run[80];
		snprintf(section, sizeof section, "usage: npulab %s", commands[i]);
		cr_expect(strstr(options, section), "docs/options.md has nothing of %s", commands[i]);
		snprintf(run, sizeof run, "\"%s ", commands[i]);
		cr_expect(!cli_says(r.out, "--json FILE") || strstr(schemas, run), "COMMANDS of schemas.py has no %s",
			  commands[i]);
		cli_free(&r);
	}
	cli_free(&all);
}

static void check_trace_command(const char *word, const char *help, const char *pages, const char *traces,
				const char *options, const char *schemas)
{
	char text[80];
	struct cli_result r = cli_run(&(struct cli_run_options){0}, "trace", word, "--help");
	cr_expect_eq(r.status, 0, "trace %s: %s", word, r.err);
	snprintf(text, sizeof text, "usage: npulab trace %s", word);
	cr_expect(strstr(r.out, text), "trace %s --help does not name it", word);
	cr_expect(strstr(options, text), "docs/options.md has nothing of trace %s", word);
	snprintf(text, sizeof text, "\n  trace %s ", word);
	cr_expect(strstr(help, text), "`npulab trace --help` does not list %s", word);
	snprintf(text, sizeof text, "\n| `npulab trace %s ", word);
	cr_expect(strstr(traces, text), "docs/traces.md has no row of trace %s", word);
	const char *row = strstr(pages, "\n| `npulab trace record`"), *found;
	cr_assert(row, "docs/commands.md has no row of trace");
	snprintf(text, sizeof text, strcmp(word, "record") ? ", `%s`" : "`npulab trace %s`", word);
	found = strstr(row, text);
	cr_expect(found && found < strchr(row + 3, '|'), "the row of trace in docs/commands.md lacks %s", word);
	snprintf(text, sizeof text, "\"trace %s ", word);
	cr_expect(!cli_says(r.out, "--json FILE") || strstr(schemas, text), "COMMANDS of schemas.py has no trace %s",
		  word);
	cli_free(&r);
}

Test(commands, those_of_trace_are_in_its_help_and_on_the_pages)
{
	static const char *const words[] = {
#define TRACE_COMMAND(word) #word,
#include "cli/trace_commands.def"
#undef TRACE_COMMAND
	};
	char *commands_page = cli_read("docs/commands.md", NULL), *traces = cli_read("docs/traces.md", NULL),
	     *options = cli_read("docs/options.md", NULL), *schemas = cli_read("tests/schemas.py", NULL);
	struct cli_result help = cli_run(&(struct cli_run_options){0}, "trace", "--help");
	cr_assert_eq(help.status, 0, "%s", help.err);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		check_trace_command(words[i], help.out, commands_page, traces, options, schemas);
	cli_free(&help);
	free(commands_page);
	free(traces);
	free(options);
	free(schemas);
}

/* A list goes to standard output as a table, or as JSON, or as both: the JSON to a file then. */
Test(commands, lists_as_json_in_a_file)
{
	static const char *const lists[][2] = {{"devices", "tpu_v1"}, {"inspect", "digits"}, {"models", NULL}};
	char folder[CLI_PATH], text[1 << 16];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const char *name = lists[i][0], *of = lists[i][1] ? lists[i][1] : "--threads=1";
		struct cli_result file = cli_run(&options, name, of, "--json", "@/list.json");
		struct cli_result shown = cli_run(&options, name, of, "--json", "-"),
				  table = cli_run(&options, name, of);
		cr_assert(!file.status && !shown.status && !table.status, "%s: %s", name, file.err);
		cr_expect_str_eq(file.out, table.out, "%s", name);
		FILE *json = fopen(cli_path(folder, "list.json"), "r");
		cr_assert(json, "%s", name);
		text[fread(text, 1, sizeof text - 1, json)] = '\0';
		fclose(json);
		cr_expect_str_eq(text, shown.out, "%s", name);
		cli_free(&file);
		cli_free(&shown);
		cli_free(&table);
	}
	cli_remove_folder(folder);
}

/* The table of layers in docs/commands.md has the kinds that the refusal of another one lists. */
Test(commands, the_page_has_every_kind_of_layer)
{
	struct cli_result refused = cli_run(&(struct cli_run_options){0}, "layer", "no_such_layer");
	char *list = strstr(refused.err, "is none of "),
	     *section = page_section("docs/commands.md", "## One layer: `npulab layer`");
	int n = 0;
	cr_assert(list, "%s", refused.err);
	for (char *word = strtok(list + strlen("is none of "), ", \n"); word; word = strtok(NULL, ", \n"), n++)
		cr_expect(page_row(section, word), "docs/commands.md has no row of `%s`", word);
	cr_expect_gt(n, 2);
	free(section);
	cli_free(&refused);
}

/* The usage line of `validate`, and its row in docs/commands.md, have the words that its refusal of another one
 * lists. */
Test(commands, the_usage_of_validate_lists_all_machines)
{
	struct cli_result help = cli_run(&(struct cli_run_options){0}, "validate", "--help"),
			  refused = cli_run(&(struct cli_run_options){0}, "validate", "no_such_machine");
	char *list = strstr(refused.err, "one of: ");
	cr_assert(list, "%s", refused.err);
	static char page[1 << 16];
	read_file("docs/commands.md", page, sizeof page);
	char *row = strstr(page, "| `npulab validate ");
	cr_assert(row);
	*strchr(row, '\n') = '\0';
	for (char *word = strtok(list + strlen("one of: "), ", \n"); word; word = strtok(NULL, ", \n")) {
		char marked[80], command[80], listed[80];
		snprintf(marked, sizeof marked, "`%s`", word);
		snprintf(command, sizeof command, "`npulab validate %s`", word);
		cr_expect(strstr(row, marked) || strstr(row, command), "docs/commands.md has no %s: %s", word, row);
		snprintf(listed, sizeof listed, " %s, ", word);
		cr_expect(strstr(help.out, listed), "%s has no %s", help.out, word);
	}
	cli_free(&help);
	cli_free(&refused);
}
