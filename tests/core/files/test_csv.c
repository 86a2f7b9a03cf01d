/* SPDX-License-Identifier: MIT
 *
 * Promises of the reader of comma-separated values: fields come back as they were written, quoted or not, with either
 * line end and with the line they stand on; whatever is not such a file is refused with the file's name and the line;
 * no sequence of bytes makes it fail otherwise. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files/csv.h"
#include "tests/kit/support.h"

static char path[] = "/tmp/npulab-csv-XXXXXX";

static void put_file(const char *text, size_t bytes)
{
	FILE *file = fopen(path, "wb");
	cr_assert(file && fwrite(text, 1, bytes, file) == bytes && !fclose(file));
}

static void make_path(void)
{
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	close(fd);
}

static void remove_path(void)
{
	unlink(path);
}

TestSuite(csv, .init = make_path, .fini = remove_path);

Test(csv, fields_are_read_with_their_quotes)
{
	static const char text[] = "\xef\xbb\xbf# a comment behind a byte order mark, with \"quotes\"\r\n"
				   "name,value,note\n"
				   "a,1,\n"
				   "\n"
				   "# between\n"
				   "\"b, c\",-2.5e3,\"says \"\"no\"\", twice\"\r\n"
				   ",\"3\",\"\"\n"
				   "last,,end";
	static const struct {
		int line;
		const char *field[3];
		double value;
	} expected[] = {{3, {"a", "1", ""}, 1},
			{6, {"b, c", "-2.5e3", "says \"no\", twice"}, -2500},
			{7, {"", "3", ""}, 3},
			{8, {"last", "", "end"}, NAN}};
	struct npl_arena arena = {0};
	struct npl_csv csv;
	struct npl_err err = {0};
	put_file(text, sizeof text - 1);
	cr_assert_eq(npl_csv_load(path, &arena, &csv, &err), 0, "%s", err.msg);
	cr_assert(csv.n_columns == 3 && csv.n_rows == 4, "%d columns, %d rows", csv.n_columns, csv.n_rows);
	cr_assert_eq(npl_csv_column(&csv, "value", &err), 1);
	for (int i = 0; i < 4; i++) {
		double value;
		cr_assert_eq(csv.row[i].line, expected[i].line, "row %d: line %d", i, csv.row[i].line);
		for (int c = 0; c < 3; c++)
			cr_assert_str_eq(csv.row[i].field[c], expected[i].field[c], "row %d, column %d", i, c);
		cr_assert_eq(npl_csv_number(&csv, i, 1, &value, &err), 0, "%s", err.msg);
		cr_assert(isnan(expected[i].value) ? isnan(value) : value == expected[i].value);
	}
	cr_assert_eq(npl_csv_column(&csv, "values", &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, path) && strstr(err.msg, "no column 'values'"), "%s", err.msg);
	npl_arena_free(&arena);
}

Test(csv, malformed_csv_is_refused_by_line)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"# only\n# comments\n", ":3: there is no row of column names"},
		{"a,b\n1\n", ":2: 1 fields, expected 2"},
		{"a,b\n1,2\n\n1,2,3\n", ":4: 3 fields, expected 2"},
		{"a,b,a\n", ":1: two columns are called 'a'"},
		{"a,b\n\"1,2\n", ":2: a quoted field must end on its line"},
		{"a,b\n\"1\"x,2\n", ":2: a quoted field must end on its line"},
		{"a,b\n1,2\"\n", ":2: a quote inside a field"},
		{"a\n1\n\"", ":3: a quoted field must end on its line"},
	};
	struct npl_err err;
	struct npl_csv csv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_arena arena = {0};
		put_file(cases[i].text, strlen(cases[i].text));
		cr_assert_eq(npl_csv_load(path, &arena, &csv, &err), NPL_EINPUT, "%s", cases[i].text);
		cr_assert(strstr(err.msg, path) && strstr(err.msg, cases[i].expected), "'%s', expected '%s'", err.msg,
			  cases[i].expected);
		npl_arena_free(&arena);
	}
	struct npl_arena arena = {0};
	put_file("a,b\n1,\0002\n", 9);
	cr_assert_eq(npl_csv_load(path, &arena, &csv, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "NUL"), "%s", err.msg);
	cr_assert_eq(npl_csv_load("/nowhere/at.all", &arena, &csv, &err), NPL_EINPUT);
	put_file("a\n1e400\n1 \n0x10\nnan\n--1\n", 24);
	cr_assert_eq(npl_csv_load(path, &arena, &csv, &err), 0, "%s", err.msg);
	for (int i = 0; i < csv.n_rows; i++) {
		double value;
		char line[32];
		snprintf(line, sizeof line, ":%d: a must", i + 2);
		cr_assert_eq(npl_csv_number(&csv, i, 0, &value, &err), NPL_EINPUT, "%s", csv.row[i].field[0]);
		cr_assert(strstr(err.msg, line), "%s", err.msg);
	}
	npl_arena_free(&arena);
}

/* Random texts of the characters that matter: read or refused, each row with as many fields as there are columns. */
Test(csv, random_bytes_never_crash_the_reader)
{
	static const char letters[] = "a1,,\"\"\n\r#";
	uint64_t rng = 77;
	int read = 0;
	for (int i = 0; i < 4000; i++) {
		char text[64];
		struct npl_arena arena = {0};
		struct npl_csv csv;
		struct npl_err err = {0};
		size_t n = (size_t)test_range(&rng, 1, 60);
		for (size_t k = 0; k < n; k++)
			text[k] = letters[test_range(&rng, 0, (int64_t)sizeof letters - 2)];
		put_file(text, n);
		int rc = npl_csv_load(path, &arena, &csv, &err);
		cr_assert(rc == 0 || (rc == NPL_EINPUT && strstr(err.msg, path)), "%d: %s", rc, err.msg);
		for (int r = 0; !rc && r < csv.n_rows; r++)
			for (int c = 0; c < csv.n_columns; c++)
				cr_assert_leq(strlen(csv.row[r].field[c]), n);
		read += !rc;
		npl_arena_free(&arena);
	}
	cr_assert(read > 100 && read < 3900, "%d read", read);
}
