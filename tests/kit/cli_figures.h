/* SPDX-License-Identifier: MIT
 *
 * What tests of the program's figures share: a run whose table and JSON are both looked at, rows of tables, and
 * networks of one product with or without a Relu after it. */
#ifndef NPULAB_TESTS_KIT_CLI_FIGURES_H
#define NPULAB_TESTS_KIT_CLI_FIGURES_H

#include "cli_json.h"
#include "support.h"

/* Runs the program, which prints its table, with the JSON in the folder's r.json. */
static inline json_t *run_both(const char *folder, const char *const *args, struct cli_result *table)
{
	const char *all[CLI_ARGUMENTS] = {0};
	int n = 0;
	for (; args[n]; n++)
		all[n] = args[n];
	all[n++] = "--json";
	all[n] = "@/r.json";
	*table = cli_run_list(&(struct cli_run_options){.folder = folder}, all);
	cr_assert_eq(table->status, 0, "%s %s: %s", args[0], args[1], table->err);
	char *text = cli_read(cli_path(folder, "r.json"), NULL);
	json_t *root = cli_parse_json(text);
	free(text);
	return root;
}

#define RUN_BOTH(folder, table, ...) run_both((folder), (const char *const[]){__VA_ARGS__, NULL}, (table))

/* The first line that begins with a word and a blank, after the line that begins with `after`. */
static inline const char *find_row(const char *text, const char *after, const char *word)
{
	bool passed = !after;
	for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
		size_t length = strlen(word);
		if (passed && !strncmp(line, word, length) && line[length] == ' ')
			return line;
		passed = passed || !strncmp(line, after, strlen(after));
	}
	return NULL;
}

static inline bool line_has(const char *line, const char *label)
{
	const char *at = line ? strstr(line, label) : NULL;
	return at && at < line + strcspn(line, "\n");
}

static inline void put_random(struct onnx_writer *graph, uint64_t *rng, const char *name, int rank, const int64_t *dims)
{
	int64_t n = onnx_count(rank, dims);
	float *data = calloc((size_t)n, sizeof *data);
	cr_assert(data);
	for (int64_t i = 0; i < n; i++)
		data[i] = (float)test_range(rng, -1000, 1000) / 1000;
	onnx_put_floats(graph, name, rank, dims, data);
	free(data);
}

/* x (4,24) -> Gemm -> Relu -> y, or x (2,3,9,9) -> Conv -> Relu -> y; without the Relu y is the product's. */
static inline void write_product(const char *folder, const char *file, bool is_conv, bool relu)
{
	struct onnx_writer g = {0};
	uint64_t rng = 11;
	onnx_put_input(&g, "x", ONNX_FLOAT, is_conv ? 4 : 2, is_conv ? (int64_t[]){2, 3, 9, 9} : (int64_t[]){4, 24});
	put_random(&g, &rng, "w", is_conv ? 4 : 2, is_conv ? (int64_t[]){10, 3, 3, 3} : (int64_t[]){24, 10});
	put_random(&g, &rng, "b", 1, (int64_t[]){10});
	onnx_put_node(&g, is_conv ? "Conv" : "Gemm", "product", "x w b", relu ? "a" : "y", NULL);
	if (relu)
		onnx_put_node(&g, "Relu", "act", "a", "y", NULL);
	onnx_put_output(&g, "y");
	cli_write_model(folder, file, &g);
}

#endif
