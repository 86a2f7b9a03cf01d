/* SPDX-License-Identifier: MIT
 *
 * Worked examples of the documents of instruction sets: their blocks of text, files of bytes, and their command lines
 * as they stand. */
#ifndef NPULAB_TESTS_KIT_CLI_EXAMPLE_H
#define NPULAB_TESTS_KIT_CLI_EXAMPLE_H

#include "cli_run.h"
#include "npulab/graph.h"
#include "npulab/tensor_file.h"

/* The first block of this language under "Worked example", to be freed. */
static inline char *cli_block(const char *path, const char *language)
{
	char fence[16], *document = cli_read(path, NULL);
	snprintf(fence, sizeof fence, "\n```%s\n", language);
	const char *part = strstr(document, "\n## Worked example\n");
	cr_assert(part, "%s has no worked example", path);
	const char *first = strstr(part, fence);
	cr_assert(first, "%s has no block of %s", path, language);
	first += strlen(fence);
	const char *end = strstr(first, "```\n");
	cr_assert(end, "%s: the block of %s does not end", path, language);
	char *text = strndup(first, (size_t)(end - first));
	free(document);
	return text;
}

/* Takes the lines of the text out of a CSV of events, its fifth column: a binary has none. */
static inline void cli_drop_lines(char *events)
{
	char *to = events;
	int commas = 0;
	for (const char *at = events; *at; at++) {
		commas = *at == '\n' ? 0 : commas + (*at == ',');
		if (commas != 4 || *at == ',')
			*to++ = *at;
	}
	*to = '\0';
}

static inline void cli_save_bytes(const char *folder, const char *name, const void *bytes, int64_t n)
{
	struct npl_err err = {0};
	const struct npl_tensor tensor = {.dtype = NPL_U8, .shape = npl_shape_of(1, n), .data = (void *)bytes};
	cr_assert_eq(npl_tensor_save_npy(cli_path(folder, name), &tensor, &err), 0, "%s", err.msg);
}

/* Runs each line as it stands, in the folder; *last is what came of the last one. */
static inline void cli_run_lines(const char *folder, char *lines, struct cli_result *last)
{
	const struct cli_run_options options = {.enter = folder};
	int n = 0;
	for (char *line; (line = strsep(&lines, "\n")) && *line; n++) {
		const char *args[CLI_ARGUMENTS] = {0};
		int count = 0;
		char *word = strsep(&line, " ");
		cr_assert_str_eq(word, "npulab");
		while ((word = strsep(&line, " ")) && count < CLI_ARGUMENTS - 1)
			args[count++] = word;
		if (n)
			cli_free(last);
		*last = cli_run_list(&options, args);
		cr_assert_eq(last->status, 0, "%s: %s", args[0], last->err);
		cr_assert_eq(last->err_bytes, 0, "%s: %s", args[0], last->err);
	}
	cr_assert_eq(n, 2);
}

#endif
