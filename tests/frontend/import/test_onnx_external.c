/* SPDX-License-Identifier: MIT
 *
 * Weights in other files: they give what they would give inside the model, are used where they are, and a file that
 * could not be meant (outside the folder, too short, overlapping) is refused with the tensor's name. */
#include "core/files/file.h"
#include "frontend/graph/graph_files.h"
#include "npulab/session.h"
#include "npulab/sha256.h"
#include "tests/kit/cli_run.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

/* An entry of external_data; value NULL: none. */
static void put_entry(struct onnx_writer *tensor, const char *key, const char *value)
{
	struct onnx_writer entry = {0};
	if (!value)
		return;
	onnx_put_string(&entry, 1, key);
	onnx_put_string(&entry, 2, value);
	onnx_put_message(tensor, 13, &entry);
}

/* 2x3 floats that are elsewhere. */
static struct onnx_writer external_of(const char *name, const char *location, const char *offset, const char *length)
{
	struct onnx_writer t = {0};
	onnx_put_int(&t, 1, 2);
	onnx_put_int(&t, 1, 3);
	onnx_put_int(&t, 2, ONNX_FLOAT);
	onnx_put_string(&t, 8, name);
	put_entry(&t, "location", location);
	put_entry(&t, "offset", offset);
	put_entry(&t, "length", length);
	onnx_put_int(&t, 14, 1);
	return t;
}

static void put_external(struct onnx_writer *g, const char *name, const char *location, const char *offset,
			 const char *length)
{
	struct onnx_writer t = external_of(name, location, offset, length);
	onnx_put_message(g, 5, &t);
}

/* y = x + a + b, all 2x3 */
static void put_sums(struct onnx_writer *g)
{
	onnx_put_input(g, "x", ONNX_FLOAT, 2, DIMS(2, 3));
	onnx_put_node(g, "Add", "first", "x a", "s", NULL);
	onnx_put_node(g, "Add", "second", "s b", "y", NULL);
	onnx_put_output(g, "y");
}

static const float weights[14] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60, 70, 80};

static int load(const char *folder, struct onnx_writer *g, struct npl_graph **graph, struct npl_err *err)
{
	cli_write_model(folder, "net.onnx", g);
	return npl_graph_load(cli_path(folder, "net.onnx"), NULL, graph, err);
}

/* y for x = 0 */
static void evaluate(struct npl_graph *graph, float y[6])
{
	float zero[6] = {0};
	const struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 3), .data = zero};
	struct npl_tensor out = {0};
	struct npl_err err;
	cr_assert_eq(npl_evaluate(graph, &x, &out, NULL, &err), 0, "%s", err.msg);
	memcpy(y, out.data, 6 * sizeof *y);
	npl_tensor_free(&out);
}

Test(onnx_external, external_weights_have_their_values)
{
	/* aligned, not aligned (copied), both from one file, without offset and length, tied, through a link in the
	 * folder */
	static const struct {
		const char *a, *a_offset, *a_length, *b, *b_offset, *b_length;
		bool in_place;
		int files;
	} cases[] = {{"w.bin", "0", "24", "w.bin", "24", "24", true, 1},
		     {"odd.bin", "1", "24", "odd.bin", "25", "24", false, 1},
		     {"a.bin", NULL, NULL, "sub/b.bin", "0", NULL, true, 2},
		     {"w.bin", NULL, "24", "./sub//b.bin", NULL, NULL, true, 2},
		     {"link.bin", NULL, "24", "sub/b.bin", NULL, NULL, true, 2}};
	char folder[CLI_PATH], odd[sizeof weights + 1] = "!";
	cli_folder(folder);
	mkdir(cli_path(folder, "sub"), 0777);
	memcpy(odd + 1, weights, sizeof weights);
	cli_write(folder, "w.bin", weights, sizeof weights);
	cli_write(folder, "odd.bin", odd, sizeof odd);
	cli_write(folder, "a.bin", weights, 24);
	cli_write(folder, "sub/b.bin", weights + 6, 24);
	cr_assert_eq(symlink("sub/../w.bin", cli_path(folder, "link.bin")), 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct onnx_writer g = {0};
		struct npl_graph *graph;
		struct npl_err err;
		float y[6];
		put_external(&g, "a", cases[i].a, cases[i].a_offset, cases[i].a_length);
		put_external(&g, "b", cases[i].b, cases[i].b_offset, cases[i].b_length);
		put_sums(&g);
		cr_assert_eq(load(folder, &g, &graph, &err), 0, "%s", err.msg);
		cr_assert_eq(graph->files->n, 1 + cases[i].files);
		evaluate(graph, y);
		for (int k = 0; k < 6; k++)
			cr_assert_float_eq(y[k], weights[k] + weights[6 + k], 0);
		const char *start = graph->files->file[1].data, *end = start + graph->files->file[1].bytes;
		for (int v = 0; v < graph->n_values; v++)
			if (!strcmp(graph->value[v].name, "a")) {
				const char *at = graph->value[v].data;
				cr_assert_eq(at >= start && at < end, cases[i].in_place, "case %zu", i);
			}
		npl_graph_free(graph);
	}
	cli_remove_folder(folder);
}

/* Tied weights share their bytes. */
Test(onnx_external, tied_weights_share_their_bytes)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	struct npl_graph *graph;
	struct npl_err err;
	float y[6];
	cli_folder(folder);
	cli_write(folder, "w.bin", weights, sizeof weights);
	put_external(&g, "a", "w.bin", "0", "24");
	put_external(&g, "b", "w.bin", "0", "24");
	put_sums(&g);
	cr_assert_eq(load(folder, &g, &graph, &err), 0, "%s", err.msg);
	evaluate(graph, y);
	cr_assert_float_eq(y[5], 12, 0);
	npl_graph_free(graph);
	cli_remove_folder(folder);
}

/* The model's identity is that of all its bytes: those of the file, then of each file that it names, once. */
Test(onnx_external, the_hash_is_that_of_all_files)
{
	char folder[CLI_PATH], expected[NPL_SHA256_HEX], before[NPL_SHA256_HEX];
	struct npl_file file;
	struct npl_graph *graph;
	struct npl_err err;
	cli_folder(folder);
	for (int change = 0; change < 2; change++) {
		struct onnx_writer g = {0};
		struct npl_sha256 state;
		float others[] = {1, 2, 3, 4, 5, change ? 7 : 6};
		cli_write(folder, "w.bin", weights, 48);
		cli_write(folder, "v.bin", others, sizeof others);
		put_external(&g, "a", "w.bin", "24", "24");
		put_external(&g, "b", "v.bin", NULL, NULL);
		put_external(&g, "c", "w.bin", "0", "24");
		put_sums(&g);
		onnx_put_node(&g, "Add", "third", "y c", "z", NULL);
		onnx_put_output(&g, "z");
		cr_assert_eq(load(folder, &g, &graph, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_file_map(cli_path(folder, "net.onnx"), SIZE_MAX, &file, &err), 0);
		npl_sha256_init(&state);
		npl_sha256_update(&state, file.data, file.bytes);
		npl_sha256_update(&state, weights, 48);
		npl_sha256_update(&state, others, sizeof others);
		npl_sha256_final(&state, expected);
		npl_file_unmap(&file);
		cr_assert_str_eq(graph->file_sha256, expected);
		cr_assert(!change || strcmp(expected, before), "other weights, another model");
		memcpy(before, expected, sizeof before);
		npl_graph_free(graph);
	}
	cli_remove_folder(folder);
}

Test(onnx_external, locations_outside_of_the_folder_are_refused)
{
	static const struct {
		const char *location, *offset, *length, *expected;
	} cases[] = {
		{"/etc/passwd", NULL, NULL, "absolute"},
		{"../outside.bin", NULL, NULL, "'..'"},
		{"sub/../../outside.bin", NULL, NULL, "'..'"},
		{"..", NULL, NULL, "'..'"},
		{"", NULL, NULL, "it is empty"},
		{"out.bin", NULL, NULL, "leads out of the folder"},
		{"outdir/outside.bin", NULL, NULL, "leads out of the folder"},
		{"nowhere.bin", NULL, NULL, "cannot be opened"},
		{"sub", NULL, NULL, "is a directory"},
		{"fifo", NULL, NULL, "not a regular file"},
		{"none.bin", NULL, NULL, "the file is empty"},
		{"w.bin", "40", "24", "needs 24 bytes from 40 on of the file 'w.bin', which has 56"},
		{"w.bin", "57", "24", "which has 56"},
		{"w.bin", "0", "20", "needs 24 bytes, its external data has 20"},
		{"w.bin", NULL, NULL, "has 56 from 0 on and no length is given"},
		{"w.bin", "-4", "24", "'-4', expected a number of bytes"},
		{"w.bin", "+4", "24", "expected a number of bytes"},
		{"w.bin", "", "24", "expected a number of bytes"},
		{"w.bin", "4 ", "24", "expected a number of bytes"},
		{"w.bin", "0", "0x18", "expected a number of bytes"},
		{"w.bin", "18446744073709551608", "24", "which has 56"},
		{"w.bin", "99999999999999999999", "24", "expected a number of bytes"},
		{NULL, "0", "24", "does not name"},
	};
	char parent[CLI_PATH], folder[CLI_PATH + 16];
	cli_folder(parent);
	snprintf(folder, sizeof folder, "%s/net", parent);
	mkdir(folder, 0777);
	mkdir(cli_path(folder, "sub"), 0777);
	cli_write(parent, "outside.bin", weights, 24);
	cli_write(folder, "w.bin", weights, sizeof weights);
	cli_write(folder, "none.bin", "", 0);
	cr_assert_eq(mkfifo(cli_path(folder, "fifo"), 0600), 0);
	cr_assert_eq(symlink("../outside.bin", cli_path(folder, "out.bin")), 0);
	cr_assert_eq(symlink("..", cli_path(folder, "outdir")), 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct onnx_writer g = {0};
		struct npl_graph *graph;
		struct npl_err err;
		put_external(&g, "a", cases[i].location, cases[i].offset, cases[i].length);
		cr_assert_eq(load(folder, &g, &graph, &err), NPL_EINPUT, "case %zu", i);
		cr_assert(strstr(err.msg, "net.onnx: tensor 'a'") && strstr(err.msg, cases[i].expected),
			  "expected '%s' in: %s", cases[i].expected, err.msg);
		cr_assert_null(graph);
	}
	cli_remove_folder(parent);
}

/* Ranges that overlap without being the same, entries given twice, and elements given here and there. */
Test(onnx_external, overlapping_and_repeated_entries_are_refused)
{
	char folder[CLI_PATH];
	struct npl_graph *graph;
	struct npl_err err;
	struct onnx_writer g = {0}, t = {0};
	cli_folder(folder);
	cli_write(folder, "w.bin", weights, sizeof weights);
	put_external(&g, "a", "w.bin", "0", "24");
	put_external(&g, "b", "w.bin", "20", "24");
	put_sums(&g);
	cr_assert_eq(load(folder, &g, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "'a' and 'b' overlap in the file 'w.bin'"), "%s", err.msg);
	g = (struct onnx_writer){0};
	onnx_put_int(&t, 1, 6);
	onnx_put_int(&t, 2, ONNX_FLOAT);
	onnx_put_string(&t, 8, "a");
	put_entry(&t, "location", "w.bin");
	put_entry(&t, "location", "v.bin");
	onnx_put_int(&t, 14, 1);
	onnx_put_message(&g, 5, &t);
	cr_assert_eq(load(folder, &g, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "two entries 'location'"), "%s", err.msg);
	g = (struct onnx_writer){0};
	t = onnx_tensor_of("a", ONNX_FLOAT, 1, DIMS(6), weights, 24);
	put_entry(&t, "location", "w.bin");
	onnx_put_int(&t, 14, 1);
	onnx_put_message(&g, 5, &t);
	cr_assert_eq(load(folder, &g, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "given twice, here and externally"), "%s", err.msg);
	cli_remove_folder(folder);
}

/* A model beside which the program runs: its folder is the current one. */
Test(onnx_external, a_model_in_the_current_folder_finds_its_weights)
{
	char folder[CLI_PATH];
	struct onnx_writer g = {0};
	cli_folder(folder);
	cli_write(folder, "w.bin", weights, 48);
	put_external(&g, "a", "w.bin", "0", "24");
	put_external(&g, "b", "w.bin", "24", "24");
	put_sums(&g);
	cli_write_model(folder, "net.onnx", &g);
	const struct cli_run_options options = {.folder = folder, .enter = folder};
	struct cli_result r = cli_run(&options, "run", "net.onnx", "--device", "reference", "--quiet");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

static void import_set(struct onnx_writer *to, int field, const char *domain, int64_t version)
{
	struct onnx_writer set = {0};
	onnx_put_string(&set, 1, domain);
	onnx_put_int(&set, 2, version);
	onnx_put_message(to, field, &set);
}

/* y = F(F(x)) in a model of this IR version, F(v) = v + c with c in another file */
static struct onnx_writer model_with_function(int64_t ir_version, const char *length)
{
	struct onnx_writer model = {0}, g = {0}, f = {0}, attrs = {0};
	struct onnx_writer t = external_of("c", "w.bin", "24", length);
	onnx_put_string(&f, 1, "F");
	onnx_put_words(&f, 4, "v");
	onnx_put_words(&f, 5, "r");
	onnx_put_attr_tensor(&attrs, "value", &t);
	onnx_put_node_as(&f, 7, "", "Constant", "", "made", "", "c", &attrs);
	onnx_put_node_as(&f, 7, "", "Add", "", "sum", "v c", "r", NULL);
	import_set(&f, 9, "", 17);
	onnx_put_string(&f, 10, "local");
	onnx_put_input(&g, "x", ONNX_FLOAT, 2, DIMS(2, 3));
	onnx_put_node_as(&g, 1, "local", "F", "", "first", "x", "t", NULL);
	onnx_put_node_as(&g, 1, "local", "F", "", "second", "t", "y", NULL);
	onnx_put_output(&g, "y");
	onnx_put_int(&model, 1, ir_version);
	import_set(&model, 8, "", 17);
	import_set(&model, 8, "local", 1);
	onnx_put_message(&model, 7, &g);
	onnx_put_message(&model, 25, &f);
	return model;
}

/* The body of a function may have its weights elsewhere too; what version of the file's format the model says changes
 * nothing. */
Test(onnx_external, functions_may_have_external_weights)
{
	static const int64_t versions[] = {8, 9, 10, 11};
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write(folder, "w.bin", weights, sizeof weights);
	for (size_t i = 0; i < 4; i++) {
		struct onnx_writer model = model_with_function(versions[i], "24");
		struct npl_graph *graph;
		struct npl_err err;
		float y[6];
		cli_write(folder, "net.onnx", model.data, model.bytes);
		cr_assert_eq(npl_graph_load(cli_path(folder, "net.onnx"), NULL, &graph, &err), 0, "%s", err.msg);
		cr_assert_eq(graph->ir_version, versions[i]);
		cr_assert_eq(graph->files->n, 2);
		evaluate(graph, y);
		for (int k = 0; k < 6; k++)
			cr_assert_float_eq(y[k], 2 * weights[6 + k], 0);
		npl_graph_free(graph);
		onnx_writer_free(&model);
	}
	struct onnx_writer model = model_with_function(9, "20");
	struct npl_graph *graph;
	struct npl_err err = {0};
	cli_write(folder, "net.onnx", model.data, model.bytes);
	cr_assert_eq(npl_graph_load(cli_path(folder, "net.onnx"), NULL, &graph, &err), NPL_EINPUT);
	cr_assert(strstr(err.msg, "'first'") && strstr(err.msg, "needs 24 bytes"), "%s", err.msg);
	onnx_writer_free(&model);
	cli_remove_folder(folder);
}
