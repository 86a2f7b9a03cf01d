/* SPDX-License-Identifier: MIT
 *
 * Messages that are longer than their place: the beginning and the reason at the end stay. What an error says beside
 * its message: the settings at fault, and the reason without a device's name. The exit status of each code is the one
 * that the header and the page say. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/error.h"
#include "tests/kit/page.h"

TestSuite(error);

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

Test(error, a_long_name_in_a_message_leaves_its_beginning_and_the_reason)
{
	struct npl_err err;
	char name[70001];
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	cr_assert_eq(npl_fail(&err, NPL_EINPUT, "model.onnx: node '%s': no weights", name), NPL_EINPUT);
	cr_assert_eq(strlen(err.msg), sizeof err.msg - 1);
	cr_assert(!strncmp(err.msg, "model.onnx: node 'nnn", 21), "%s", err.msg);
	cr_assert(strstr(err.msg, "nn ... nn") && ends_with(err.msg, "nnn': no weights"), "%s", err.msg);
}

Test(error, a_long_path_before_a_message_leaves_its_line)
{
	struct npl_err err;
	char path[601];
	memset(path, 'd', sizeof path);
	path[sizeof path - 1] = '\0';
	npl_fail(&err, NPL_EUSAGE, "clock_hz must be a whole number");
	cr_assert_eq(npl_prefix(&err, "%s/m.yaml:%d", path, 2), NPL_EUSAGE);
	cr_assert(ends_with(err.msg, "d/m.yaml:2: clock_hz must be a whole number"), "%s", err.msg);
	cr_assert_eq(strlen(err.msg), sizeof err.msg - 1);
}

Test(error, a_message_that_fits_is_whole_and_may_hold_the_one_before)
{
	struct npl_err err;
	char longest[sizeof err.msg];
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	npl_fail(&err, NPL_EINPUT, "%s", longest);
	cr_assert_str_eq(err.msg, longest);
	npl_fail(&err, NPL_EINPUT, "short");
	npl_fail(&err, NPL_EDEVICE, "before: %s", err.msg);
	cr_assert_str_eq(err.msg, "before: short");
}

/* The cuts are between characters, at any offset of the sequences. */
Test(error, long_messages_of_wide_characters_stay_well_formed)
{
	for (int shift = 0; shift < 4; shift++) {
		struct npl_err err;
		char name[4 * 300 + 1];
		for (int i = 0; i < 300; i++)
			memcpy(name + 4 * (size_t)i, "\xf0\x9f\x98\x80", 4);
		name[sizeof name - 1] = '\0';
		npl_fail(&err, NPL_EINPUT, "%.*s%s: wrong", shift, "aaaa", name);
		cr_assert_not(strchr(err.msg, '?'), "%s", err.msg);
		cr_assert(ends_with(err.msg, ": wrong"), "%s", err.msg);
	}
}

Test(error, an_error_keeps_its_settings_behind_prefixes)
{
	struct npl_err err, copy;
	cr_assert_eq(npl_fail_settings(&err, "array", "rows columns", "%d rows", 3), NPL_EUSAGE);
	cr_assert_eq(err.code, NPL_EUSAGE);
	cr_assert_str_eq(err.settings, "array.rows array.columns");
	npl_prefix(&err, "m.yaml:%d", 4);
	npl_prefix(&err, "clock_hz/rules.txt:1");
	cr_assert_str_eq(err.msg, "clock_hz/rules.txt:1: m.yaml:4: 3 rows");
	cr_assert_str_eq(err.settings, "array.rows array.columns");
	err.in_file = true;
	cr_assert_eq(npl_fail_as(&copy, &err), NPL_EUSAGE);
	cr_assert(copy.in_file && copy.code == NPL_EUSAGE);
	cr_assert_str_eq(copy.settings, "array.rows array.columns");
	cr_assert_str_eq(copy.msg, err.msg);
	cr_assert_eq(npl_fail_as(NULL, &err), NPL_EUSAGE);
	cr_assert_eq(npl_blame_settings(&err, NULL, "memory.preset"), NPL_EUSAGE);
	cr_assert_str_eq(err.settings, "memory.preset");
	cr_assert_not(err.in_file, "the file was another setting's");
	npl_fail(&copy, NPL_EINPUT, "no setting");
	cr_assert(!*copy.settings && !copy.in_file);
}

Test(error, more_keys_than_there_is_room_for_are_cut)
{
	struct npl_err err;
	char keys[1001];
	for (int i = 0; i < 500; i++)
		memcpy(keys + 2 * (size_t)i, "k ", 3);
	npl_fail_settings(&err, "mapping", keys, "too many");
	cr_assert_eq(strlen(err.settings), sizeof err.settings - 1);
	cr_assert(!strncmp(err.settings, "mapping.k mapping.k ", 20), "%s", err.settings);
}

Test(error, a_reason_is_had_without_the_name_before_it)
{
	struct npl_err err;
	char name[601];
	npl_fail(&err, NPL_EDEVICE, "cuda: no driver");
	cr_assert_str_eq(npl_err_reason(&err), "cuda: no driver", "this is no device's name");
	cr_assert_eq(npl_prefix_name(&err, "cuda"), NPL_EDEVICE);
	cr_assert_str_eq(err.msg, "cuda: cuda: no driver");
	cr_assert_str_eq(npl_err_reason(&err), "cuda: no driver");
	npl_prefix(&err, "rules.txt:1");
	cr_assert_str_eq(npl_err_reason(&err), "rules.txt:1: cuda: cuda: no driver");
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	npl_fail(&err, NPL_EDEVICE, "no driver");
	npl_prefix_name(&err, name);
	cr_assert_str_eq(npl_err_reason(&err), err.msg, "a name that was cut stays");
}

/* Each code's line of error.h ends with "exit STATUS", and docs/commands.md has a row of each status and no other. */
Test(error, the_header_and_the_page_have_the_exit_statuses)
{
	char *header = cli_read("include/npulab/error.h", NULL),
	     *table = page_section("docs/commands.md", "## Exit status");
	int codes = 0, greatest = 0, rows = 0;
	for (const char *line = strstr(header, "\n\tNPL_E"); line; line = strstr(line + 1, "\n\tNPL_E"), codes++) {
		const int code = atoi(strchr(line, '=') + 1),
			  status = atoi(strstr(line, ": exit ") + strlen(": exit "));
		char row[16];
		snprintf(row, sizeof row, "\n| %d |", status);
		cr_expect_eq(npl_exit_status(code), status, "error.h says of the code %d: exit %d", code, status);
		cr_expect(strstr(table, row), "docs/commands.md has no row of the status %d", status);
		greatest = status > greatest ? status : greatest;
	}
	for (const char *row = strstr(table, "\n| "); row; row = strstr(row + 1, "\n| "))
		rows++;
	cr_expect_eq(codes, -NPL_EINTERNAL, "each code but NPL_OK");
	cr_expect_eq(rows, 1 + 1 + greatest, "the heading, 0, and each status");
	free(header);
	free(table);
}
