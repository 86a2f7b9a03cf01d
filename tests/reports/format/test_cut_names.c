/* SPDX-License-Identifier: MIT
 *
 * Names of layers that are too long for their column. */
#include "reports/format/cut_names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

static void cut_all(char **text, const char *const *name, int n, int width)
{
	for (int i = 0; i < n; i++)
		text[i] = strdup(name[i]);
	npl_cut_names(text, n, width);
}

static void free_all(char **text, int n)
{
	for (int i = 0; i < n; i++)
		free(text[i]);
}

Test(cut_names, names_are_cut_in_the_middle)
{
	static const char *const names[] = {"short", "encoder.0.attention.query", "encoder.1.attention.query",
					    "encoder.0.attention.key"};
	char *text[4];
	cut_all(text, names, 4, 15);
	cr_assert_str_eq(text[0], "short");
	for (int i = 1; i < 4; i++)
		cr_assert(npl_text_width(text[i]) == 15 && strstr(text[i], "\u2026") && !strncmp(text[i], "enc", 3),
			  "%s", text[i]);
	cr_assert(strcmp(text[1], text[2]) && strcmp(text[1], text[3]) && strcmp(text[2], text[3]), "%s %s %s", text[1],
		  text[2], text[3]);
	free_all(text, 4);
	/* where nothing else tells, the cut is in the middle */
	static const char *const one[] = {"abcdefghijklmnopqrstuvwxyz"};
	cut_all(text, one, 1, 7);
	cr_assert_str_eq(text[0], "abc\u2026xyz");
	free_all(text, 1);
	/* the same name twice is the same text twice; NULL is left alone */
	static const char *const twice[] = {"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"};
	cut_all(text, twice, 2, 7);
	cr_assert_str_eq(text[0], text[1]);
	free_all(text, 2);
	text[0] = NULL;
	npl_cut_names(text, 1, 7);
	cr_assert_null(text[0]);
}

/* Wide characters and several bytes a character: no column more than there are, no half of a character. */
Test(cut_names, characters_stay_whole)
{
	static const char *const names[] = {"\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82",
					    "na\xc3\xafve-na\xc3\xafve-na\xc3\xafve"};
	for (int width = 1; width < 14; width++) {
		char *text[2];
		cut_all(text, names, 2, width);
		for (int i = 0; i < 2; i++) {
			cr_assert(npl_text_width(text[i]) <= width || !strcmp(text[i], names[i]), "%d: %s", width,
				  text[i]);
			for (const char *c = text[i]; *c; c += npl_utf8_length(c))
				cr_assert(npl_utf8_length(c), "%d: %s", width, text[i]);
		}
		free_all(text, 2);
	}
}

/* As networks have them: blocks and layers by number, alike at both ends. */
Test(cut_names, cut_names_stay_different)
{
	enum { BLOCKS = 40, LAYERS = 3 };
	static const char *const layers[LAYERS] = {"expand", "depthwise", "project"};
	char *text[BLOCKS * LAYERS];
	for (int width = 15; width < 30; width++) {
		for (int b = 0; b < BLOCKS; b++)
			for (int l = 0; l < LAYERS; l++)
				cr_assert(asprintf(&text[b * LAYERS + l], "/features/features.%d/%s/convolution/Conv",
						   b, layers[l]) > 0);
		npl_cut_names(text, BLOCKS * LAYERS, width);
		int same = 0;
		for (int i = 0; i < BLOCKS * LAYERS; i++) {
			cr_assert_leq(npl_text_width(text[i]), width);
			for (int j = 0; j < i; j++)
				same += !strcmp(text[i], text[j]);
		}
		cr_assert(width < 26 || same == 0, "%d columns: %d pairs are the same", width, same);
		free_all(text, BLOCKS * LAYERS);
	}
}
