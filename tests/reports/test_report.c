/* SPDX-License-Identifier: MIT
 *
 * Reports: figures with three significant digits, tables no wider than 100 columns whatever they hold, CSV and JSON
 * that other programs can read although names in model files may be any bytes, and nothing unknown printed as zero. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/printable.h"
#include "npulab/report.h"
#include "npulab/single_layer.h"
#include "reports/format/json.h"
#include "reports/format/table.h"
#include "reports/format/text_style.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/support.h"

#define SEED 0x5e9047ull

/* Numbers with a unit, and their texts of three digits. */
static const struct {
	double value;
	const char *unit, *text;
} si_texts[] = {
	{0, "s", "0 s"},
	{-0.0, "s", "0 s"},
	{1, "s", "1.00 s"},
	{9.99, "s", "9.99 s"},
	{9.994, "s", "9.99 s"},
	{9.996, "s", "10.0 s"},
	{99.94, "s", "99.9 s"},
	{99.96, "s", "100 s"},
	{999.4, "s", "999 s"},
	{999.5, "s", "1.00 ks"},
	{999.4999, "s", "999 s"},
	{999499, "s", "999 ks"},
	{999500, "s", "1.00 Ms"},
	{0.9995, "s", "1.00 s"},
	{0.99949, "s", "999 ms"},
	{0.001, "s", "1.00 ms"},
	{1.234e-3, "s", "1.23 ms"},
	{43.1e-6, "J", "43.1 uJ"},
	{976e3, "/s", "976 k/s"},
	{0.2974, "/s", "0.297 /s"},
	{1.25e-5, "/s", "1.25e-05 /s"},
	{0.297, "B/s", "297 mB/s"},
	{1.5e-9, "s", "1.50 ns"},
	{2e-12, "J", "2.00 pJ"},
	{5e-13, "J", "0.5 pJ"},
	{1e-15, "J", "0.001 pJ"},
	{92e12, "OP/s", "92.0 TOP/s"},
	{1e18, "s", "1.00 Es"},
	{9.99e20, "s", "999 Es"},
	{1e22, "s", "1e+04 Es"},
	{-1500, "W", "-1.50 kW"},
	{-0.9995, "s", "-1.00 s"},
	{NAN, "s", "-"},
	{INFINITY, "s", "-"},
	{-INFINITY, "s", "-"},
	{40394, "", "40.4 k"},
	{12, "", "12.0"},
	{0, "", "0"},
};

Test(report, numbers_are_written_with_si_prefixes)
{
	char buf[64];
	for (size_t i = 0; i < sizeof si_texts / sizeof *si_texts; i++)
		cr_assert_str_eq(npl_si_text(si_texts[i].value, si_texts[i].unit, buf, sizeof buf), si_texts[i].text,
				 "%g: %s", si_texts[i].value, buf);
	/* any number reads back within half a unit of its third digit */
	static const char prefixes[] = "pnum kMGTPE";
	uint64_t rng = SEED;
	for (int i = 0; i < 100000; i++) {
		double value = pow(10, (double)test_range(&rng, -1150, 2050) / 100) * (test_rng(&rng) >> 63 ? -1 : 1);
		char *end;
		double parsed = strtod(npl_si_text(value, "", buf, sizeof buf), &end);
		const char *prefix = *end ? strchr(prefixes, end[1]) : strchr(prefixes, ' ');
		cr_assert(prefix, "seed %llx: %g is %s", SEED, value, buf);
		parsed *= pow(1000, (double)(prefix - prefixes) - 4);
		cr_assert(fabs(parsed - value) <= 0.00501 * fabs(value), "seed %llx: %g became %s", SEED, value, buf);
	}
}

/* What is counted has no decimals until it has a prefix. */
Test(report, counts_have_no_decimals_before_a_prefix)
{
	static const struct {
		double value;
		const char *unit, *text;
	} cases[] = {{0, "", "0"},
		     {1, "", "1"},
		     {64, "", "64"},
		     {999, "", "999"},
		     {1000, "", "1.00 k"},
		     {1, "MAC", "1 MAC"},
		     {40442, "MAC", "40.4 kMAC"},
		     {2.5, "MAC", "2.50 MAC"}};
	char buf[64];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_str_eq(npl_count_text(cases[i].value, cases[i].unit, buf, sizeof buf), cases[i].text);
	cr_assert(!*npl_plural(1) && *npl_plural(0) && *npl_plural(2));
}

Test(report, only_well_formed_utf8_has_a_length)
{
	static const struct {
		const char *text;
		size_t length;
	} cases[] = {{"", 0},
		     {"a", 1},
		     {"\x7f", 1},
		     {"\xc3\xa9", 2},
		     {"\xe2\x88\x9e", 3},
		     {"\xf0\x9f\x98\x80", 4},
		     {"\xf4\x8f\xbf\xbf", 4},
		     {"\x80", 0},
		     {"\xc0\x80", 0}, /* overlong NUL */
		     {"\xc1\xbf", 0},
		     {"\xe0\x9f\xbf", 0},     /* overlong */
		     {"\xed\xa0\x80", 0},     /* a surrogate */
		     {"\xf0\x8f\xbf\xbf", 0}, /* overlong */
		     {"\xf4\x90\x80\x80", 0}, /* beyond U+10FFFF */
		     {"\xf5\x80\x80\x80", 0},
		     {"\xff", 0},
		     {"\xc3", 0}, /* cut off */
		     {"\xe2\x88", 0},
		     {"\xc3z", 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_eq(npl_utf8_length(cases[i].text), cases[i].length, "case %zu", i);
}

/* What a table prints, to be freed. */
static char *print_table(const char *layout, int rows, const char *const *cells)
{
	struct npl_table table;
	char *out = NULL;
	size_t bytes = 0, columns = strlen(layout);
	FILE *stream = open_memstream(&out, &bytes);
	npl_table_open(&table, layout, cells);
	for (int r = 1; r < rows; r++)
		npl_table_row(&table, cells + (size_t)r * columns);
	npl_table_print(&table, stream);
	npl_table_close(&table);
	fclose(stream);
	return out;
}

/* What steers a terminal, breaks a line or turns the direction of text becomes one '?' each; all else stays. */
Test(report, control_characters_become_question_marks)
{
	static const struct {
		const char *text, *shown;
		int width;
	} cases[] = {
		{"plain ~", "plain ~", 7},
		{"a\n\x1b[1m\x7f", "a??[1m?", 7},
		{"a\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0z", "a???\xc2\xa0z", 6},
		/* NOLINTNEXTLINE(misc-misleading-bidirectional): that is what is tested */
		{"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf",
		 "\xe2\x80\xa7????\xe2\x80\xaf", 6},
		{"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9", "???\xe2\x81\xa5??", 6},
		{"\xef\xbb\xbfx\xf3\xa0\x81\x81", "?x?", 3},
		{"\xff\xc3\xe2\x88", "????", 4},
		{"\xe6\xbc\xa2\xe5\xad\x97", "\xe6\xbc\xa2\xe5\xad\x97", 4},
		{"e\xcc\x81\xf0\x9f\x98\x80", "e\xcc\x81\xf0\x9f\x98\x80", 3},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[64];
		struct npl_err err;
		snprintf(text, sizeof text, "%s", cases[i].text);
		cr_assert_str_eq(npl_make_printable(text), cases[i].shown, "case %zu", i);
		cr_assert_eq(npl_text_width(text), cases[i].width, "case %zu: %d", i, npl_text_width(text));
		npl_fail(&err, NPL_EINPUT, "%s", cases[i].text);
		cr_assert_str_eq(err.msg, cases[i].shown);
	}
	char *text = print_table("lr", 3,
				 (const char *const[]){"NAME", "N", "\xe6\xbc\xa2\xe5\xad\x97", "1", "abc", "22"});
	cr_assert_str_eq(text, "NAME   N\n\xe6\xbc\xa2\xe5\xad\x97   1\nabc   22\n");
	free(text);
}

/* A table for whose rows there was no memory says so when it is closed. */
Test(report, a_table_without_memory_for_a_row_fails)
{
	struct npl_table table;
	const char *const row[] = {"NAME", "N"};
	if (TEST_SANITIZED)
		cr_skip("the sanitizer ends a program that asks for so much memory");
	npl_table_open(&table, "lr", row);
	npl_table_row(&table, row);
	cr_assert_eq(npl_table_close(&table), 0);
	npl_table_open(&table, "lr", row);
	table.capacity = INT64_MIN / 4; /* the next row asks for more bytes than there are addresses */
	npl_table_row(&table, row);
	cr_assert_eq(npl_table_close(&table), NPL_ENOMEM);
}

static json_t *parse(char *text, size_t bytes)
{
	json_error_t error;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	cr_assert(root, "not JSON: %s\n%s", error.text, text);
	return root;
}

/* Any bytes make valid JSON; well-formed text comes back as it was. */
Test(report, any_bytes_make_valid_json)
{
	uint64_t rng = SEED;
	for (int i = 0; i < 20000; i++) {
		char text[64], *out = NULL;
		size_t bytes = 0, length = (size_t)test_range(&rng, 0, 40);
		bool printable = i & 1, well_formed = true;
		for (size_t k = 0; k < length; k++)
			text[k] = (char)(printable ? test_range(&rng, 1, 127) : test_range(&rng, 1, 255));
		text[length] = '\0';
		for (const char *c = text; *c && well_formed; c += npl_utf8_length(c))
			well_formed = npl_utf8_length(c) > 0;
		FILE *stream = open_memstream(&out, &bytes);
		struct npl_json json = {.out = stream};
		npl_json_open(&json, NULL, '{');
		npl_json_string(&json, "key", text);
		npl_json_string(&json, text, "value");
		npl_json_close(&json, '}');
		fclose(stream);
		for (const char *c = out; *c; c += npl_utf8_length(c))
			cr_assert(npl_is_printable(npl_utf8_code(c)), "seed %llx: %s", SEED, out);
		if (strcmp(text, "key")) {
			json_t *root = parse(out, bytes);
			const char *back = json_string_value(json_object_get(root, "key"));
			cr_assert(back && (!well_formed || !strcmp(back, text)), "seed %llx: came back as %s", SEED,
				  back);
			json_decref(root);
		}
		free(out);
	}
}

Test(report, json_values_are_written_as_json)
{
	char *out = NULL;
	size_t bytes = 0;
	FILE *stream = open_memstream(&out, &bytes);
	struct npl_json json = {.out = stream};
	npl_json_open(&json, NULL, '{');
	npl_json_open(&json, "empty", '{');
	npl_json_close(&json, '}');
	npl_json_open(&json, "list", '[');
	npl_json_open(&json, NULL, '{');
	npl_json_close(&json, '}');
	npl_json_string(&json, NULL, "a");
	npl_json_close(&json, ']');
	npl_json_double(&json, "nan", NAN);
	npl_json_double(&json, "inf", -INFINITY);
	npl_json_double(&json, "tenth", 0.1);
	npl_json_double(&json, "large", 1e300);
	npl_json_number(&json, "written", "700000000");
	npl_json_bool(&json, "yes", true);
	npl_json_bool(&json, "no", false);
	npl_json_u64(&json, "u64", UINT64_MAX);
	npl_json_i64(&json, "i64", INT64_MIN);
	npl_json_string(&json, "none", NULL);
	npl_json_text(&json, "blank", "");
	npl_json_close(&json, '}');
	fclose(stream);
	cr_assert_str_eq(out,
			 "{\"empty\":{},\"list\":[{},\"a\"],\"nan\":null,\"inf\":null,\"tenth\":0.1,\"large\":1e+300,"
			 "\"written\":700000000,\"yes\":true,\"no\":false,\"u64\":18446744073709551615,"
			 "\"i64\":-9223372036854775808,\"none\":null,\"blank\":null}");
	free(out);
}

static void check_widths(const char *text, const char *subject)
{
	while (*text) {
		const size_t most = (size_t)npl_text_columns();
		size_t bytes = strcspn(text, "\n"), width = 0;
		for (size_t i = 0; i < bytes; i++) {
			width += ((unsigned char)text[i] & 0xc0) != 0x80;
			cr_assert((unsigned char)text[i] >= 0x20 && text[i] != 0x7f, "%s: a control character",
				  subject);
		}
		cr_assert(width <= most, "%s: %zu columns: %.*s", subject, width, (int)bytes, text);
		text += bytes + (text[bytes] == '\n');
	}
}

Test(report, columns_are_aligned)
{
	char *text = print_table("lr", 3, (const char *const[]){"NAME", "N", "a", "1", "longer", "1000"});
	cr_assert_str_eq(text, "NAME       N\na          1\nlonger  1000\n");
	free(text);
	text = print_table("lr", 2, (const char *const[]){"N\xc3\x9c", "\xe2\x88\x9e", "ab", "22"});
	cr_assert_str_eq(text, "N\xc3\x9c   \xe2\x88\x9e\nab  22\n", "counted in characters");
	free(text);
	text = print_table("lr", 2, (const char *const[]){"A", "B", NULL, NULL});
	cr_assert_str_eq(text, "A  B\n\n", "no blanks at the end of a line");
	free(text);
	/* a name too long for the line is cut in the middle with a mark, the numbers stay whole */
	char name[200];
	memset(name, 'x', 199);
	name[199] = '\0';
	text = print_table("lr", 2, (const char *const[]){"NAME", "N", name, "123456"});
	check_widths(text, "a long name");
	cr_assert(strstr(text, "\nxxx") && strstr(text, "xx\u2026xx") && strstr(text, "x  123456\n"), "%s", text);
	free(text);
	/* a title widens no column, and is cut where the line ends */
	text = print_table("lr", 4, (const char *const[]){"NAME", "N", "a title", "", "b", "1", name, NULL});
	check_widths(text, "a long title");
	cr_assert(strstr(text, "NAME  N\na title\nb     1\nxxx") && strstr(text, "xx\u2026xx"), "%s", text);
	free(text);
	/* the last column goes on in the next lines instead, and loses nothing */
	text = print_table("ll", 2, (const char *const[]){"KEY", "TEXT", "k", name});
	check_widths(text, "a long text");
	size_t letters = 0;
	for (const char *c = text; *c; c++)
		letters += *c == 'x';
	cr_assert_eq(letters, 199, "%s", text);
	free(text);
	/* where names are to be kept whole the text takes what is left, and a line gets longer before a name is cut */
	text = print_table("wwl", 2, (const char *const[]){"NAME", "N", "TEXT", name, "1 a, 2 b", "t t t"});
	cr_assert(strstr(text, "\nxxx") && strstr(text, "x  1 a, 2 b  t t t\n") && !strstr(text, "\u2026"), "%s", text);
	free(text);
	/* nothing a name holds breaks a line or reaches the terminal as a command */
	text = print_table("ll", 2, (const char *const[]){"A", "B", "a\nb\tc\033[31m\x7f", "x\r\n\xc2\x9by\x80\xff"});
	check_widths(text, "control characters");
	cr_assert_str_eq(text, "A            B\na?b?c?[31m?  x???y??\n", "%s", text);
	free(text);
}

/* Random tables, of up to twelve columns with names and numbers of any length: never wider than a line where the
 * numbers leave room. */
Test(report, no_table_is_wider_than_a_line)
{
	uint64_t rng = SEED;
	for (int i = 0; i < 2000; i++) {
		char layout[NPL_TABLE_COLUMNS + 1] = "", cell[5 * NPL_TABLE_COLUMNS][160];
		const char *cells[5 * NPL_TABLE_COLUMNS];
		int columns = (int)test_range(&rng, 1, 7), rows = (int)test_range(&rng, 1, 5);
		for (int c = 0; c < columns; c++)
			layout[c] = c == 0 || test_range(&rng, 0, 1) ? 'l' : 'r';
		for (int k = 0; k < rows * columns; k++) {
			int length = (int)(layout[k % columns] == 'l' ? test_range(&rng, 0, 150)
								      : test_range(&rng, 0, 10));
			for (int n = 0; n < length; n++)
				cell[k][n] = test_range(&rng, 0, 6) ? 'w' : ' ';
			cell[k][length] = '\0';
			cells[k] = cell[k];
		}
		char *text = print_table(layout, rows, cells);
		check_widths(text, layout);
		free(text);
	}
	char *out = NULL, paragraph[1000];
	size_t bytes;
	for (int i = 0; i < 999; i++)
		paragraph[i] = test_range(&rng, 0, 9) ? 'p' : ' ';
	paragraph[999] = '\0';
	FILE *stream = open_memstream(&out, &bytes);
	npl_table_text(paragraph, stream);
	fclose(stream);
	check_widths(out, "a paragraph");
	free(out);
}

/* A processor's description of so many characters: words, as they have. */
static void describe(char *text, int length)
{
	for (int i = 0; i < length; i++)
		text[i] = i % 7 == 6 && i < length - 1 ? ' ' : (char)('A' + i % 26);
	text[length] = '\0';
}

/* Whatever a processor is called: nothing of what is said of it is lost, lines stay within the width, and a text that a
 * test looks for is found wherever the table wraps. */
Test(report, processors_of_any_name)
{
	static const int lengths[] = {8, 40, 90};
	struct npl_layer_spec spec = {.op = NPL_OP_GEMM, .x = npl_shape_of(2, 8, 16), .outputs = 8, .seed = 1};
	spec.attrs = (struct npl_attrs){.opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	struct npl_compare_options options = {.device_names = (const char *[]){"reference", "tpu_v1"}, .n_devices = 2};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		for (int single = 0; single < 2; single++) {
			struct npl_comparison c;
			struct npl_err err = {0};
			char *text = NULL, expected[1200];
			size_t bytes;
			cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), 0, "%s", err.msg);
			struct npl_device_report *report = &c.device[0];
			describe(report->info.detail, lengths[i]);
			snprintf(report->energy.note, sizeof report->energy.note,
				 "no TDP is known of '%s'; --set cpu.tdp_watts=W tells it", report->info.detail);
			snprintf(expected, sizeof expected, "%s; energy absent: %s", report->info.detail,
				 report->energy.note);
			FILE *stream = open_memstream(&text, &bytes);
			npl_report_table(stream, &c,
					 &(struct npl_report_context){
						 .model_name = "layer", .single_layer = single, .layers = true});
			fclose(stream);
			check_widths(text, "a processor's name");
			cr_assert(cli_says(text, expected), "'%s' is not in:\n%s", expected, text);
			cr_assert(!cli_says(text, "another text"), "%s", text);
			free(text);
			npl_comparison_free(&c);
		}
}

/* A model whose node is called anything. */
static void write_named(const char *folder, const char *file, const char *name)
{
	struct onnx_writer graph = {0};
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4});
	onnx_put_node(&graph, "Relu", name, "x", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, file, &graph);
}

/* Names out of model files, through the program: JSON stays JSON, CSV quotes by RFC 4180, tables stay tables. */
Test(report, names_from_model_files)
{
	static const struct {
		const char *name, *json, *csv;
	} cases[] = {
		{"plain", "plain", ",plain,"},
		{"a,b", "a,b", ",\"a,b\","},
		{"say \"hi\"", "say \"hi\"", ",\"say \"\"hi\"\"\","},
		{"two\nlines\r", "two\nlines\r", ",\"two\nlines\r\","},
		{"\033[31mred\x01", "\033[31mred\x01", ",\033[31mred\x01,"},
		{"back\\slash\t", "back\\slash\t", ",back\\slash\t,"},
		{"caf\xc3\xa9 \xe2\x88\x9e", "caf\xc3\xa9 \xe2\x88\x9e", ",caf\xc3\xa9 \xe2\x88\x9e,"},
		{"bad\xff\xc3", "bad\xef\xbf\xbd\xef\xbf\xbd", ",bad\xef\xbf\xbd\xef\xbf\xbd,"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_named(folder, "net.onnx", cases[i].name);
		json_t *root = cli_json(&options, "compare", "@/net.onnx", "--devices", "null,tpu_v1", "--json", "-");
		cr_assert_str_eq(cli_text(cli_at(root, "devices.1.layers.0.name")), cases[i].json);
		json_decref(root);
		root = cli_json(&options, "inspect", "@/net.onnx", "--json", "-");
		cr_assert_str_eq(cli_text(cli_at(root, "layers.0.name")), cases[i].json);
		json_decref(root);
		struct cli_result r = cli_run(&options, "compare", "@/net.onnx", "--devices", "null", "--csv", "-");
		cr_assert(r.status == 0 && strstr(r.out, cases[i].csv), "expected %s in %s", cases[i].csv, r.out);
		cli_free(&r);
		r = cli_run(&options, "compare", "@/net.onnx", "--devices", "null,tpu_v1", "--layers");
		cr_assert_eq(r.status, 0, "%s", r.err);
		check_widths(r.out, "compare --layers");
		cli_free(&r);
		r = cli_run(&options, "inspect", "@/net.onnx");
		cr_assert_eq(r.status, 0, "%s", r.err);
		check_widths(r.out, "inspect");
		cli_free(&r);
		r = cli_run(&options, "run", "@/net.onnx", "--device", "null", "--log-placement", "--quiet");
		cr_assert(r.status == 0 && r.err_bytes > 0, "%s", r.err);
		check_widths(r.err, "--log-placement");
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

/* Sums that wrapped and results that are no finite numbers are told in the notes and marked in the columns, in JSON and
 * CSV. */
Test(report, values_that_went_wrong)
{
	static float ones[4096], weights[4096 * 8];
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	for (int i = 0; i < 4096 * 8; i++)
		weights[i] = ones[i % 4096] = 1;
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){1, 4096});
	onnx_put_floats(&g, "ones", 1, (int64_t[]){4096}, ones);
	onnx_put_floats(&g, "w", 2, (int64_t[]){4096, 8}, weights);
	onnx_put_node(&g, "Abs", "sizes", "x", "a", NULL);
	onnx_put_node(&g, "MatMul", "long", "a w", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "long.onnx", &g);
	for (int wide = 0; wide < 2; wide++) {
		const char *tpu = wide ? "tpu_v1.precision=8x16" : "tpu_v1.precision=int8",
			   *reference = wide ? "reference.precision=8x16" : "reference.precision=int8";
		struct cli_result r = cli_run(&options, "compare", "@/long.onnx", "--devices", "tpu_v1,reference",
					      "--set", tpu, "--set", reference, "--layers", "--json", "@/r.json",
					      "--csv", "@/r.csv");
		cr_assert_eq(r.status, 0, "%s", r.err);
		cr_assert_eq(
			cli_says(r.out,
				 "8 sums of products wrapped around, in 1 layer (long): the value is too great for "
				 "the sum's bits, and the result is wrong; --set tpu_v1.precision=int8 makes"),
			wide, "%s", r.out);
		cr_assert_eq(cli_says(r.out, "dB wrapped"), wide, "%s", r.out);
		char *text = cli_read(cli_path(folder, "r.json"), NULL),
		     *csv = cli_read(cli_path(folder, "r.csv"), NULL);
		json_t *root = cli_parse_json(text);
		for (int d = 0; d < 2; d++) {
			json_t *device = json_array_get(cli_at(root, "devices"), (size_t)d);
			const long long wrapped = cli_integer(cli_at(device, "accuracy.overflows"));
			cr_assert_eq(wrapped, wide ? 8 : 0);
			cr_assert_eq(cli_integer(cli_at(device, "layers.0.overflows")), 0);
			cr_assert_eq(cli_integer(cli_at(device, "layers.1.overflows")), wrapped);
		}
		cr_assert(strstr(csv, ",energy_origin,overflows,sqnr_db,batches,"), "%s", csv);
		json_decref(root);
		free(text);
		free(csv);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

Test(report, results_that_are_not_finite)
{
	struct npl_layer_spec spec = {.op = NPL_OP_GEMM, .x = npl_shape_of(2, 8, 16), .outputs = 8, .seed = 1};
	spec.attrs = (struct npl_attrs){.opset = 13, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	struct npl_compare_options options = {.device_names = (const char *[]){"reference"}, .n_devices = 1};
	for (int in_reference = 0; in_reference < 2; in_reference++) {
		struct npl_comparison c;
		struct npl_err err = {0};
		struct npl_layer_accuracy layer = {.max_abs_error = INFINITY, .sqnr_db = -INFINITY, .not_finite = 3};
		char *text = NULL, *json = NULL, *csv = NULL;
		size_t bytes;
		const struct npl_report_context context = {.model_name = "layer", .layers = true};
		cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), 0, "%s", err.msg);
		struct npl_accuracy *accuracy = &c.device[0].accuracy;
		*accuracy = NPL_ACCURACY_UNKNOWN;
		if (in_reference) {
			accuracy->reference_not_finite = 1;
		} else {
			accuracy->max_abs_error = INFINITY;
			accuracy->sqnr_db = -INFINITY;
			accuracy->not_finite = 3;
			c.device[0].layer_accuracy = &layer;
		}
		FILE *out = open_memstream(&text, &bytes);
		npl_report_table(out, &c, &context);
		fclose(out);
		out = open_memstream(&json, &bytes);
		npl_report_json(out, &c, &context);
		fclose(out);
		out = open_memstream(&csv, &bytes);
		npl_report_csv(out, &c, &context);
		fclose(out);
		c.device[0].layer_accuracy = NULL;
		json_t *root = cli_parse_json(json);
		cr_assert(json_is_null(cli_at(root, "devices.0.accuracy.max_abs_error")));
		cr_assert_eq(cli_integer(cli_at(root, "devices.0.accuracy.not_finite")), in_reference ? 0 : 3);
		cr_assert_eq(cli_integer(cli_at(root, "devices.0.accuracy.reference_not_finite")), in_reference);
		cr_assert_eq(cli_integer(cli_at(root, "devices.0.layers.0.not_finite")), in_reference ? 0 : 3);
		cr_assert_eq(strstr(csv, ",-inf,") != NULL, !in_reference, "%s", csv);
		cr_assert_eq(strstr(text, "-inf dB") != NULL, !in_reference, "%s", text);
		cr_assert(cli_says(text, in_reference ? "1 result is infinite or NaN in float32 already"
						      : "3 results are infinite or NaN where float32 is finite"),
			  "%s", text);
		json_decref(root);
		free(text);
		free(json);
		free(csv);
		npl_comparison_free(&c);
	}
}
