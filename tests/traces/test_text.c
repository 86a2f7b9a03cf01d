/* SPDX-License-Identifier: MIT
 *
 * Words of the lines of a trace (traces/text.h). What the program promises: any words are read as they were written,
 * and lines that no writer makes are refused or read without harm. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/files/file.h"
#include "tests/kit/support.h"
#include "traces/text.h"

enum { MOST = 24 };

static void draw_word(char word[20], uint64_t *rng)
{
	static const char letters[] = "ab \"\\=x0\x01\x1f\x7f\xc3\xa4,;:";
	const int n = (int)test_range(rng, 0, 18);
	for (int i = 0; i < n; i++)
		word[i] = letters[test_range(rng, 0, sizeof letters - 2)];
	word[n] = '\0';
}

Test(trace_text, words_are_read_as_they_were_written)
{
	static struct trace_line line;
	uint64_t rng = 1;
	for (int round = 0; round < 5000; round++) {
		char written[MOST][20], values[MOST][20], text[4096], *word[MOST], *value[MOST];
		const int n = (int)test_range(&rng, 1, MOST - 1), first_key = (int)test_range(&rng, 1, n);
		const char *problem;
		trace_line_begin(&line, "kind");
		for (int i = 1; i < n; i++) {
			draw_word(written[i], &rng);
			draw_word(values[i], &rng);
			if (i < first_key)
				trace_line_word(&line, written[i]);
			else
				trace_line_key(&line, "key"), trace_line_put_word(&line, values[i]);
		}
		snprintf(text, sizeof text, "%.*s", (int)line.n, line.text);
		cr_assert_eq(trace_split(text, word, value, MOST, &problem), n, "round %d: %s", round, problem);
		for (int i = 1; i < n; i++)
			cr_assert(i < first_key ? !value[i] && !strcmp(word[i], written[i])
						: value[i] && !strcmp(value[i], values[i]) && !strcmp(word[i], "key"),
				  "round %d, word %d", round, i);
	}
}

Test(trace_text, numbers_are_read_as_they_were_written)
{
	static struct trace_line line;
	uint64_t rng = 2;
	for (int round = 0; round < 2000; round++) {
		char text[80];
		const uint64_t number = (uint64_t)test_range(&rng, 0, INT64_MAX - 1) >> test_range(&rng, 0, 62);
		const double real = ldexp((double)test_range(&rng, -1000000, 1000000), (int)test_range(&rng, -80, 80));
		trace_line_begin(&line, "");
		trace_line_put_number(&line, number);
		snprintf(text, sizeof text, "%.*s", (int)line.n, line.text);
		cr_assert_eq(strtoull(text, NULL, 10), number);
		trace_line_begin(&line, "");
		trace_line_put_real(&line, real);
		snprintf(text, sizeof text, "%.*s", (int)line.n, line.text);
		cr_assert_eq(strtod(text, NULL), real);
	}
	trace_line_begin(&line, "");
	trace_line_put_checksum(&line, 0x0123456789abcdefULL);
	trace_line_put_short_checksum(&line, 0x0123456789abcdefULL);
	cr_assert(line.n == 24 && !memcmp(line.text, "0123456789abcdef89abcdef", 24));
}

Test(trace_text, other_lines_are_refused_or_do_no_harm)
{
	static const char *const refused[] = {"a \"b",   "a \"\\n\"", "a \"\\x0\"", "a \"\\x00\"", "a ",
					      "a b=c=d", "a \"b\"c",  "a\\b",       "a b\"c\""};
	uint64_t rng = 3;
	char text[200], *word[MOST], *value[MOST];
	const char *problem;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		snprintf(text, sizeof text, "%s", refused[i]);
		cr_expect(trace_split(text, word, value, MOST, &problem) < 0 && problem, "'%s'", refused[i]);
	}
	for (int round = 0; round < 20000; round++) {
		const int length = (int)test_range(&rng, 0, sizeof text - 1);
		for (int i = 0; i < length; i++)
			text[i] = "ab \"\\=x0"[test_range(&rng, 0, 7)];
		text[length] = '\0';
		const int n = trace_split(text, word, value, MOST, &problem);
		cr_assert(n >= 0 ? n <= MOST : problem != NULL, "round %d", round);
	}
}

/* Lines of any length come back as they were written, compressed or not, across the buffers' ends. */
Test(trace_text, files_keep_their_lines)
{
	static const char *const names[] = {"t.trace", "t.trace.zst"};
	char folder[] = "/tmp/npulab-test-XXXXXX", path[64], *line;
	cr_assert(mkdtemp(folder));
	for (int f = 0; f < 2; f++) {
		struct trace_out *out;
		struct trace_in *in;
		struct npl_err err;
		size_t bytes;
		uint64_t rng = 4;
		snprintf(path, sizeof path, "%s/%s", folder, names[f]);
		cr_assert_eq(trace_out_open(path, &out, &err), 0, "%s", err.msg);
		for (int i = 0; i < 3000; i++) {
			static char text[TRACE_LINE];
			const int n = (int)test_range(&rng, 0, i % 100 ? 90 : TRACE_LINE - 20);
			memset(text, 'a' + i % 26, (size_t)n);
			text[n] = '\n';
			trace_out_put(out, text, (size_t)n + 1);
		}
		cr_assert_eq(trace_out_finish(out, &err), 0, "%s", err.msg);
		trace_out_close(out);
		cr_assert_eq(trace_in_open(path, &in, &err), 0, "%s", err.msg);
		rng = 4;
		for (int i = 0; i < 3000; i++) {
			const size_t n = (size_t)test_range(&rng, 0, i % 100 ? 90 : TRACE_LINE - 20);
			cr_assert_eq(trace_in_line(in, &line, &bytes, &err), 0, "%s", err.msg);
			cr_assert(line && bytes == n && strlen(line) == n && trace_in_number(in) == (uint64_t)i + 1);
			for (size_t k = 0; k < n; k++)
				cr_assert_eq(line[k], 'a' + i % 26);
		}
		cr_assert(!trace_in_line(in, &line, &bytes, &err) && !line);
		trace_in_close(in);
		unlink(path);
	}
	rmdir(folder);
}
