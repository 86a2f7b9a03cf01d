/* SPDX-License-Identifier: MIT
 *
 * For tests of pages (tests/pages/): documents that commands save, the pages of them, and their rules.
 *
 *     saved_document(folder, (const char *const[]){"dram", "--pattern", "copy", NULL}, "a.json");
 *     saved_pages(folder, "a.json", NULL);       // page.html, page.md, page.tex, page.csv
 *     saved_pages_checked(folder, "page.html page.md page.tex");
 */
#ifndef NPULAB_TESTS_KIT_SAVED_PAGES_H
#define NPULAB_TESTS_KIT_SAVED_PAGES_H

#include "tests/kit/cli_json.h"
#include "tests/kit/shell.h"

/* Runs a command with --json FILE. */
static inline void saved_document(const char *folder, const char *const *command, const char *file)
{
	const char *args[CLI_ARGUMENTS] = {0};
	int n = 0;
	for (; command[n]; n++)
		args[n] = command[n];
	args[n++] = "--json";
	args[n] = file;
	cli_expect_list(&(struct cli_run_options){.enter = folder}, 0, args);
}

/* Makes page.html, page.md, page.tex and page.csv of one document or of two. */
static inline void saved_pages(const char *folder, const char *first, const char *second)
{
	const char *args[CLI_ARGUMENTS] = {"report",   "--html", "page.html", "--markdown", "page.md", "--latex",
					   "page.tex", "--csv",  "page.csv",  first,        second};
	cli_expect_list(&(struct cli_run_options){.enter = folder}, 0, args);
}

/* Checks files by tests/pages/check_pages.py. */
static inline void saved_pages_checked(const char *folder, const char *files)
{
	char *here = realpath("tests/pages/check_pages.py", NULL);
	cr_assert(here);
	free(shell("cd '%s' && /usr/bin/python3 '%s' %s 2>&1", folder, here, files));
	free(here);
}

/* Expects the figure of a key as the value of a cell in the page of HTML. */
static inline void expect_value_on_page(const char *page, const json_t *value, const char *what)
{
	char text[80];
	if (!json_is_number(value))
		return;
	snprintf(text, sizeof text, " data-v=\"%.12g\">", json_number_value(value));
	cr_expect(strstr(page, text), "%s: %s is not on the page", what, text);
}

/* Makes a document of a comparison one whose first device could not start. */
static inline json_t *saved_without_first_device(json_t *root)
{
	json_t *first = json_array_get(cli_at(root, "devices"), 0), *value;
	const char *key;
	void *next;
	json_object_foreach_safe(first, next, key, value)
	{
		if (strcmp(key, "name") != 0 && strcmp(key, "instance") != 0)
			json_object_set_new(first, key, json_null());
	}
	json_object_set_new(first, "unavailable", json_string("no <driver> here"));
	return root;
}

/* Returns how often a page has a text. */
static inline int count_on_page(const char *page, const char *text)
{
	int n = 0;
	for (const char *at = page; (at = strstr(at, text)); at += strlen(text))
		n++;
	return n;
}

#endif
