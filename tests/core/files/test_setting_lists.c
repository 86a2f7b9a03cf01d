/* SPDX-License-Identifier: MIT
 *
 * Promises of lists in settings files: each form of YAML gives the same text, with line breaks between the items and
 * colons within an inner list; tags and lines are kept; what is no list of scalars is refused; and files of machines
 * have no lists. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/files/settings.h"

/* Loads a text with lists or without. */
static int load(const char *text, bool lists, struct npl_arena *arena, struct npl_setting **setting, int *n,
		struct npl_err *err)
{
	char path[40];
	const int fd = memfd_create("settings", 0);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const int rc = lists ? npl_settings_load_lists(path, arena, setting, n, err)
			     : npl_settings_load(path, arena, setting, n, err);
	close(fd);
	return rc;
}

static const struct {
	const char *text, *value;
	int line;
} lists[] = {
	{"a: [1, 2, three]\n", "1\n2\nthree", 1},
	{"b: 1\na:\n  - 1\n  - 2\n", "1\n2", 2},
	{"a:\n- 1\n- 2\nb: 3\n", "1\n2", 1},
	{"a: [one]\n", "one", 1},
	{"a: ['', x]\n", "\nx", 1},
	{"a: ['1, 2', \"3\"]\n", "1, 2\n3", 1},
	{"a: [[64, 4], [128, 8]]\n", "64:4\n128:8", 1},
	{"a: [[64, 4], 7, [128, 8, 9], 5]\n", "64:4\n7\n128:8:9\n5", 1},
	{"a:\n  - - 64\n    - 4\n  - - 128\n    - 8\n", "64:4\n128:8", 1},
	{"b: {c: 1}\n\na: [[1]]\n", "1", 3},
	{"a: 5\n", "5", 1},
};

Test(setting_lists, are_the_text_of_all_items)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		struct npl_arena arena = {0};
		struct npl_setting *setting;
		struct npl_err err = {0};
		int n, found = 0;
		cr_assert_eq(load(lists[i].text, true, &arena, &setting, &n, &err), 0, "%s", err.msg);
		for (int k = 0; k < n; k++) {
			if (strcmp(setting[k].key, "a") != 0)
				continue;
			cr_expect_str_eq(setting[k].value, lists[i].value, "%s", lists[i].text);
			cr_expect_eq(setting[k].line, lists[i].line, "%s: line %d", lists[i].text, setting[k].line);
			found++;
		}
		cr_expect_eq(found, 1, "%s", lists[i].text);
		npl_arena_free(&arena);
	}
}

Test(setting_lists, have_the_source_of_their_tag)
{
	struct npl_arena arena = {0};
	struct npl_setting *setting;
	struct npl_err err = {0};
	int n;
	cr_assert_eq(load("a: !fitted [1, 2]\nb: [3]\nc: !assumed {d: [4]}\n", true, &arena, &setting, &n, &err), 0,
		     "%s", err.msg);
	cr_assert_eq(n, 3);
	cr_assert_eq(setting[0].source, NPL_SOURCE_FITTED);
	cr_assert_eq(setting[1].source, NPL_SOURCE_OWN);
	cr_assert_eq(setting[2].source, NPL_SOURCE_ASSUMED);
	cr_assert_str_eq(setting[2].key, "c.d");
	npl_arena_free(&arena);
}

/* A long list: its text grows with it. */
Test(setting_lists, may_be_long)
{
	static char text[900000], expected[900000];
	char *to = stpcpy(text, "a: [0"), *end = stpcpy(expected, "0");
	for (int i = 1; i < 100000; i++) {
		to += sprintf(to, ",%s%d", i % 1000 ? " " : "\n ", i);
		end += sprintf(end, "\n%d", i);
	}
	strcpy(to, "]\n");
	struct npl_arena arena = {0};
	struct npl_setting *setting;
	struct npl_err err = {0};
	int n;
	cr_assert_eq(load(text, true, &arena, &setting, &n, &err), 0, "%s", err.msg);
	cr_assert(n == 1 && !strcmp(setting[0].value, expected));
	npl_arena_free(&arena);
}

static const struct {
	const char *text, *message;
	bool in_plain; /* refused in files without lists alone */
} refusals[] = {
	{"a: []\n", ":1: an empty list, expected values", false},
	{"b: 1\na: [[]]\n", ":2: an empty list, expected values", false},
	{"a: [[[1]]]\n", ":1: a list within a list within a list", false},
	{"a: [{b: 1}]\n", ":1: a mapping in a list, expected values", false},
	{"a: [1, {b: 1}]\n", ":1: a mapping in a list, expected values", false},
	{"[1, 2]\n", ":1: lists are not used here, expected `key: value`", false},
	{"[a, b]: 1\n", "", false},
	{"? [a]\n: 1\n", "lists are not used here", false},
	{"a: !guess [1]\n", ":1: there is no tag '!guess'", false},
	{"a: [1, 2\n", "", false},
	{"a: &x [1]\nb: *x\n", ":2: aliases (*name) are not used here", false},
	{"a: [1]\na: 2\n", ":2: 'a' is set twice (first in line 1)", false},
	{"a: [\"x\\0y\"]\n", ":1: a NUL character inside a value", false},
	{"b: 1\na: [1, 2]\n", ":2: lists are not used here, expected `key: value`", true},
	{"a:\n  - 1\n", ":2: lists are not used here, expected `key: value`", true},
	{"b: {c: [1]}\n", ":1: lists are not used here, expected `key: value`", true},
};

Test(setting_lists, are_refused_where_they_are_none)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		for (int with_lists = 0; with_lists < 2; with_lists++) {
			struct npl_arena arena = {0};
			struct npl_setting *setting;
			struct npl_err err = {0};
			int n;
			const int rc = load(refusals[i].text, with_lists, &arena, &setting, &n, &err);
			if (with_lists && refusals[i].in_plain)
				cr_expect_eq(rc, 0, "%s: %s", refusals[i].text, err.msg);
			else {
				cr_expect_eq(rc, NPL_EINPUT, "%s: %d", refusals[i].text, rc);
				cr_expect(!strncmp(err.msg, "/proc/self/fd/", 14), "%s", err.msg);
			}
			if (with_lists == !refusals[i].in_plain)
				cr_expect(strstr(err.msg, refusals[i].message), "%s: %s", refusals[i].text, err.msg);
			npl_arena_free(&arena);
		}
}
