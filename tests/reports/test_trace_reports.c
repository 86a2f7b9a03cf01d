/* SPDX-License-Identifier: MIT
 *
 * Verdicts of traces for other programs. What the program promises: names of layers may be any bytes, and still XML is
 * XML, a table of Markdown has its columns, JSON is JSON, and an annotation is one line. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "npulab/run_trace.h"
#include "reports/trace_verdict.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/shell.h"

#define HOSTILE "a|b<script>]]>&\"'\n::error::x\r@all #1 `*_ \x1b[2J\xff </pre></code> %0A"

static struct npl_trace_layer layers[2];
static const char *heads[] = {HOSTILE};
static struct npl_trace_cause causes[] = {{HOSTILE, HOSTILE, -3}};
static struct npl_trace_component components[] = {{HOSTILE, {1, 2}}};
static struct npl_trace_class classes[] = {{HOSTILE, {90, 80}}};

static struct npl_trace_verdict hostile(bool is_beyond)
{
	for (int i = 0; i < 2; i++)
		layers[i] = (struct npl_trace_layer){.name = i ? "conv" : HOSTILE,
						     .ran_on = HOSTILE,
						     .other_ran_on = i ? NULL : HOSTILE,
						     .cycle_class = classes,
						     .n_classes = 1,
						     .in = {true, i},
						     .moved = i ? NPL_TRACE_MOVED_TIMES : NPL_TRACE_MOVED_PROGRAM,
						     .cycles = {100, 90},
						     .seconds = {1, 0.9},
						     .joules = {0, 1},
						     .sqnr_db = {NAN, 41}};
	return (struct npl_trace_verdict){.path = HOSTILE,
					  .wall_seconds = NAN,
					  .diff = {.moved = NPL_TRACE_MOVED_TIMES,
						   .is_beyond = is_beyond,
						   .beyond = is_beyond ? HOSTILE : NULL,
						   .events = 5,
						   .differing = 2,
						   .first = {.is_known = true,
							     .line = {7, 8},
							     .layer = HOSTILE,
							     .text = {HOSTILE, HOSTILE},
							     .what = HOSTILE,
							     .before = {HOSTILE, HOSTILE, HOSTILE}},
						   .head = heads,
						   .n_heads = 1,
						   .layer = layers,
						   .n_layers = 2,
						   .has_times = true,
						   .component = components,
						   .n_components = 1,
						   .cause = causes,
						   .n_causes = 1}};
}

enum { VERDICTS = 4 };

static void make(struct npl_trace_verdict verdict[VERDICTS])
{
	verdict[0] = hostile(true);
	verdict[1] = hostile(false);
	verdict[2] = (struct npl_trace_verdict){.path = "same.trace", .wall_seconds = 1.5, .diff.events = 9};
	verdict[3] = (struct npl_trace_verdict){.path = HOSTILE, .code = NPL_EINPUT, .message = HOSTILE};
}

typedef void put_report(FILE *out, const struct npl_trace_verdict *verdict, int n);

static char *written(put_report *put)
{
	struct npl_trace_verdict verdict[VERDICTS];
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	make(verdict);
	cr_assert(out);
	put(out, verdict, VERDICTS);
	cr_assert(!fclose(out) && strlen(text) == bytes);
	return text;
}

Test(trace_reports, annotations_are_one_line_each)
{
	char *text = written(npl_trace_annotations), *tail = text;
	static const char *const begins[] = {"::error file=", "::notice file=", "::error file="};
	int n = 0;
	for (char *line; (line = strsep(&tail, "\n")) && tail; n++) {
		cr_assert(n < 3 && !strncmp(line, begins[n], strlen(begins[n])), "%s", line);
		cr_assert(!strpbrk(line, "\r\x1b") && strstr(line, "%0A::error::x?@all"), "%s", line);
		const char *end = strstr(line + 2, "::");
		for (const char *at = line + strlen(begins[n]); at < end; at++)
			cr_assert(*at != ':' &&
					  (*at != ',' || !strncmp(at, ",title=", 7) || !strncmp(at, ",line=7,", 8)),
				  "%s", line);
	}
	cr_assert_eq(n, 3);
	free(text);
}

Test(trace_reports, markdown_keeps_its_columns)
{
	char *text = written(npl_trace_markdown), *tail = text;
	cr_assert(strstr(text, " | - -> 41.00 dB |\n"), "%s", text);
	int rows = 0, columns = 0;
	bool in_block = false;
	for (char *line; (line = strsep(&tail, "\n")) && tail;) {
		int bars = 0;
		in_block = (in_block || !strcmp(line, "<pre>")) && strcmp(line, "</pre>") != 0;
		for (const char *at = line; *at; at++)
			bars += *at == '|';
		if (!strncmp(line, "| trace |", 9) || !strncmp(line, "| layer |", 9) || !strncmp(line, "| unit |", 8) ||
		    !strncmp(line, "| component |", 13))
			columns = bars; /* of the table that begins */
		cr_assert(in_block || (bars == columns && *line == '|') || !bars, "%s", line);
		rows += bars && !in_block;
		cr_assert(!strpbrk(line, "\r\x1b") && !strstr(line, "<script"), "%s", line);
		cr_assert(in_block || !strpbrk(line, "@[]"), "%s", line);
	}
	/* Of traces; then of layers, of their cycles, of units and of components, for each that moved. */
	cr_assert_eq(rows, 2 + 3 + 2 * (2 + 2 + 2 + 2 + 2 + 1 + 2 + 1), "%d rows", rows);
	free(text);
}

Test(trace_reports, xml_is_well_formed)
{
	char folder[CLI_PATH], *text = written(npl_trace_junit);
	cli_folder(folder);
	cli_write_text(folder, "j.xml", text);
	free(shell("cd '%s' && /usr/bin/python3 -c '\n"
		   "import xml.etree.ElementTree as tree\n"
		   "suite, = tree.parse(\"j.xml\").getroot()\n"
		   "moved, within, same, broken = suite\n"
		   "assert [len(case) for case in suite] == [1, 1, 0, 1]\n"
		   "assert (moved[0].tag, within[0].tag, broken[0].tag) == (\"failure\", \"system-out\", \"error\")\n"
		   "assert suite.get(\"time\") == \"1.500\" and same.get(\"time\") == \"1.500\"\n"
		   "assert moved.get(\"name\").startswith(\"a|b<script>]]>&\\\"\")\n"
		   "assert \"</pre></code> %%0A\" in broken[0].text\n"
		   "assert \"\\n::error::x?@all\" in moved.get(\"name\")\n"
		   "assert \"\\n::error::x?@all\" in broken[0].get(\"message\")\n"
		   "' 2>&1",
		   folder));
	free(text);
	cli_remove_folder(folder);
}

Test(trace_reports, json_has_every_name)
{
	struct npl_trace_verdict verdict[VERDICTS];
	char *text = NULL;
	size_t bytes;
	json_error_t error;
	FILE *out = open_memstream(&text, &bytes);
	make(verdict);
	npl_trace_json(out, verdict, VERDICTS, &(struct npl_trace_tolerance){.energy = 0.5});
	fclose(out);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	cr_assert(root, "%s: %s", error.text, text);
	cr_expect_eq(json_integer_value(json_object_get(root, "moved")), 1);
	cr_expect_eq(json_integer_value(json_object_get(root, "not_compared")), 1);
	cr_expect_eq(json_array_size(json_object_get(root, "traces")), VERDICTS);
	json_decref(root);
	free(text);
}

/* Tables on a terminal. */
Test(trace_reports, text_controls_no_terminal)
{
	struct npl_trace_verdict verdict = hostile(true);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	cr_assert_eq(npl_report_trace_diff(out, HOSTILE, HOSTILE, &verdict.diff), 0);
	fclose(out);
	cr_expect(!strpbrk(text, "\r\x1b\xff") && !strstr(text, "\n::error"), "%s", text);
	free(text);
}

/* Of lines that are too long those words are shown that differ. */
Test(trace_reports, what_differs_is_seen_in_long_lines)
{
	static const struct {
		const char *line, *other, *shown;
	} cases[] = {{"i a b +1 3 x=1", "i a b +1 3 x=2", "i a b +1 3 x=1"},
		     {"layer fc a=1 b=2 c=3 d=4 e=5 f=6 sum=7", "layer fc a=1 b=2 c=3 d=4 e=5 f=6 sum=8",
		      "layer fc ... sum=7"},
		     {"layer fc a=1 b=2 c=3 d=4 e=5 f=6 sum=7", "layer fc a=1 b=9 c=3 d=4 e=5 f=6 sum=7",
		      "layer fc ... b=2 ..."},
		     {"layer \"a b=1 c\" a=1 b=2 c=3 d=4 sum=7", "layer \"a b=1 c\" a=1 b=2 c=3 d=4",
		      "layer \"a b=1 c\" ... sum=7"},
		     {"layer fc a=1 b=2 c=3 d=4 e=5 f=6 sum=7", NULL, "layer fc a=1 b=2 c=3 d=4 ..."},
		     {"layer a_name_that_takes_more_than_all_of_the_line sum=7",
		      "layer a_name_that_takes_more_than_all_of_the_line sum=8", "layer ..."}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char buf[30];
		cr_expect_str_eq(npl_trace_line_text(buf, sizeof buf, cases[i].line, cases[i].other), cases[i].shown,
				 "%s", buf);
	}
}
