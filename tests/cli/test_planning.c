/* SPDX-License-Identifier: MIT
 *
 * Promise: how long planning takes depends on how many different things there are to plan, not on how large a result a
 * small model stands for. Each of these took minutes, or would take hours, where windows were gone through one by one;
 * the limit is far above what any of them takes. */
#include "tests/kit/cli_json.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/support.h"

#define SECONDS (TEST_SANITIZED ? 240 : 60)

/* Describes a window operator over an input of four dimensions; with maps 0 it is a pooling. */
struct window_model {
	const char *name, *op;
	int64_t input[4], maps, kernel[2], pads[4], strides[2], dilations[2], groups;
};

static const struct window_model models[] = {
	{"pads", "Conv", {1, 3, 8, 8}, 4, {3, 3}, {30000, 30000, 30000, 30000}, {1, 1}, {1, 1}, 1},
	{"gaps", "Conv", {1, 3, 8, 8}, 4, {3, 3}, {30000, 30000, 30000, 30000}, {1, 1}, {20000, 20000}, 1},
	{"strides", "Conv", {1, 3, 8, 8}, 4, {3, 3}, {30000, 30000, 30000, 30000}, {7, 7}, {1, 1}, 1},
	{"strided-gaps", "Conv", {1, 3, 8, 8}, 4, {3, 3}, {30000, 30000, 30000, 30000}, {3, 3}, {20000, 20000}, 1},
	{"far-taps", "Conv", {1, 3, 64, 64}, 4, {1, 3}, {0, 900000000, 0, 900000000}, {1, 1}, {1, 899999990}, 1},
	{"high", "Conv", {1, 3, 8, 8}, 4, {3, 3}, {30000000, 0, 30000000, 0}, {1, 1}, {1, 1}, 1},
	{"wide", "Conv", {1, 3, 8, 8}, 4, {3, 3}, {0, 30000000, 0, 30000000}, {1, 1}, {1, 1}, 1},
	{"depthwise", "Conv", {1, 64, 8, 8}, 64, {3, 3}, {30000, 30000, 30000, 30000}, {1, 1}, {1, 1}, 64},
	{"many-maps", "Conv", {1, 100, 8, 8}, 100, {3, 3}, {30000, 30000, 30000, 30000}, {1, 1}, {1, 1}, 1},
	{"large-kernel", "Conv", {1, 1, 300, 300}, 1, {300, 300}, {0}, {1, 1}, {1, 1}, 1},
	{"maximum", "MaxPool", {1, 1, 2000, 2000}, 0, {2000, 2000}, {0}, {1, 1}, {1, 1}, 1},
	{"many-maxima", "MaxPool", {1, 16, 30000, 30000}, 0, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1},
	{"average", "AveragePool", {1, 3, 3000, 3000}, 0, {250, 250}, {0}, {1, 1}, {1, 1}, 1},
};

static void write_window(const char *folder, const char *file, const struct window_model *m)
{
	struct onnx_writer graph = {0}, attrs = {0};
	onnx_put_attr_ints(&attrs, "kernel_shape", 2, m->kernel);
	onnx_put_attr_ints(&attrs, "pads", 4, m->pads);
	onnx_put_attr_ints(&attrs, "strides", 2, m->strides);
	if (m->maps) {
		const int64_t shape[] = {m->maps, m->input[1] / m->groups, m->kernel[0], m->kernel[1]};
		float *weights = calloc((size_t)onnx_count(4, shape), sizeof *weights);
		cr_assert(weights);
		weights[0] = 1;
		onnx_put_attr_ints(&attrs, "dilations", 2, m->dilations);
		onnx_put_attr_int(&attrs, "group", m->groups);
		onnx_put_floats(&graph, "w", 4, shape, weights);
		free(weights);
	}
	onnx_put_input(&graph, "x", ONNX_FLOAT, 4, m->input);
	onnx_put_node(&graph, m->op, "window", m->maps ? "x w" : "x", "y", &attrs);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, file, &graph);
}

Test(cli_planning, huge_windows_are_counted_without_a_loop)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder, .seconds = SECONDS};
	for (size_t i = 0; i < sizeof models / sizeof *models; i += TEST_SANITIZED ? 3 : 1) {
		write_window(folder, "net.onnx", &models[i]);
		struct cli_result r = cli_run(&options, "inspect", "@/net.onnx", "--devices",
					      "tpu_v1,diannao,systolic_16x16,reference,cpu", "--quiet");
		cr_expect_eq(r.status, 0, "%s: %d: %s", models[i].name, r.status, r.err);
		cli_free(&r);
		r = cli_run(&options, "compare", "@/net.onnx", "--devices", "diannao", "--timing-only",
			    "--no-accuracy");
		cr_expect(!r.status && cli_says(r.out, "no layer"), "%s: %d: %s%s", models[i].name, r.status, r.err,
			  r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

Test(cli_planning, layers_of_huge_windows_are_planned_in_time)
{
	struct cli_result r = cli_run(&(struct cli_run_options){.seconds = SECONDS}, "layer", "conv", "--input",
				      "1x3x8x8", "--kernel", "3x3", "--filters", "4", "--pad", "30000x30000",
				      "--devices", "diannao", "--timing-only", "--no-accuracy");
	cr_assert_eq(r.status, 0, "%d: %s", r.status, r.err);
	cr_assert(cli_says(r.out, "diannao"), "%s", r.out);
	cli_free(&r);
}

/* Layers that do not follow from each other: all inputs and outputs are live at once, more than a small buffer
 * holds. */
Test(cli_planning, many_layers_are_planned_in_time)
{
	static const char *const machines[] = {"tpu_v1", "systolic_16x16", "diannao"};
	const int n_layers = TEST_TIMES(20000);
	char folder[CLI_PATH], *text = malloc((size_t)n_layers * 40 + 200);
	const struct cli_run_options options = {.folder = folder, .seconds = SECONDS};
	size_t at = (size_t)sprintf(text, "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,"
					  "Num Filter,Strides,\n");
	cli_folder(folder);
	for (int i = 0; i < n_layers; i++)
		at += (size_t)sprintf(text + at, "c%d,8,8,3,3,4,4,1,\n", i);
	cli_write(folder, "many.csv", text, at);
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct cli_result r = cli_run(&options, "inspect", "@/many.csv", "--devices", machines[m]);
		cr_assert_eq(r.status, 0, "%s: %s", machines[m], r.err);
		cr_assert(cli_says(r.out, "runs every layer"), "%s", machines[m]);
		cli_free(&r);
	}
	free(text);
	cli_remove_folder(folder);
}

/* One read_weights brings 65,535 tiles at most: a block of more channels takes several. */
Test(cli_planning, more_tiles_than_one_instruction_loads_are_split)
{
	struct cli_result r = cli_run(&(struct cli_run_options){.seconds = SECONDS}, "layer", "gemm", "-m", "1", "-n",
				      "1", "-k", "2097152", "--devices", "reference,systolic_16x16", "--set",
				      "reference.precision=int8", "--json", "-");
	cr_assert_eq(r.status, 0, "%s", r.err);
	json_t *root = cli_parse_json(r.out);
	cr_assert_str_eq(cli_text(cli_at(root, "devices.0.output_sha256")),
			 cli_text(cli_at(root, "devices.1.output_sha256")));
	cr_assert_eq(cli_integer(cli_at(root, "devices.1.layers.0.counters.tiles")), 2097152 / 16);
	json_decref(root);
	cli_free(&r);
}

/* Planned for every simulated machine, and run on one. */
static void plan_model(const char *folder, const char *file, const char *subject)
{
	const struct cli_run_options options = {.folder = folder, .seconds = SECONDS};
	char path[CLI_PATH];
	snprintf(path, sizeof path, "@/%s", file);
	struct cli_result r = cli_run(&options, "inspect", path, "--devices", "tpu_v1,systolic_16x16,diannao",
				      "--quiet");
	cr_expect_eq(r.status, 0, "%s: %d: %s", subject, r.status, r.err);
	cli_free(&r);
	r = cli_run(&options, "compare", path, "--devices", "tpu_v1", "--quiet");
	cr_expect_eq(r.status, 0, "%s: %d: %s", subject, r.status, r.err);
	cli_free(&r);
}

static void put_slice(struct onnx_writer *graph, const char *from, const char *to, int64_t first, int64_t end)
{
	const int64_t axis = 1;
	char first_name[64], end_name[64], axis_name[64], inputs[256];
	snprintf(first_name, sizeof first_name, "%s_first", to);
	snprintf(end_name, sizeof end_name, "%s_end", to);
	snprintf(axis_name, sizeof axis_name, "%s_axis", to);
	snprintf(inputs, sizeof inputs, "%s %s %s %s", from, first_name, end_name, axis_name);
	onnx_put_int64s(graph, first_name, 1, &first);
	onnx_put_int64s(graph, end_name, 1, &end);
	onnx_put_int64s(graph, axis_name, 1, &axis);
	onnx_put_node(graph, "Slice", to, inputs, to, NULL);
}

static void put_concat(struct onnx_writer *graph, const char *a, const char *b, const char *to)
{
	struct onnx_writer attrs = {0};
	char inputs[80];
	snprintf(inputs, sizeof inputs, "%s %s", a, b);
	onnx_put_attr_int(&attrs, "axis", 1);
	onnx_put_node(graph, "Concat", to, inputs, to, &attrs);
}

/* Each joins one more tensor to all before or, with Relus, to a part of what was made of these. */
static void write_chain(const char *folder, int concats, bool relus)
{
	struct onnx_writer graph = {0};
	const int64_t shape[] = {1, 2};
	char from[32] = "first", to[32], part[32], name[32];
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, shape);
	onnx_put_node(&graph, "Relu", "first", "x", "first", NULL);
	for (int i = 0; i < concats; i++) {
		snprintf(to, sizeof to, "joined%d", i);
		put_concat(&graph, from, "x", to);
		snprintf(from, sizeof from, "%s", to);
		if (!relus)
			continue;
		snprintf(name, sizeof name, "relu%d", i);
		onnx_put_node(&graph, "Relu", name, from, name, NULL);
		snprintf(part, sizeof part, "part%d", i);
		put_slice(&graph, name, part, 1, 3);
		snprintf(from, sizeof from, "%s", part);
	}
	onnx_put_node(&graph, "Relu", "last", from, "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "chain.onnx", &graph);
}

Test(cli_planning, chains_of_concats_are_planned_in_time)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_chain(folder, TEST_TIMES(6000), false);
	plan_model(folder, "chain.onnx", "a growing tensor");
	write_chain(folder, TEST_TIMES(6000), true);
	plan_model(folder, "chain.onnx", "a copy behind each");
	cli_remove_folder(folder);
}

/* All results share one scale, which must not make planning slow. */
Test(cli_planning, many_concats_of_one_tensor_are_planned_in_time)
{
	struct onnx_writer graph = {0};
	const int64_t shape[] = {1, 4};
	char folder[CLI_PATH], name[32];
	cli_folder(folder);
	onnx_put_input(&graph, "a", ONNX_FLOAT, 2, shape);
	onnx_put_input(&graph, "b", ONNX_FLOAT, 2, shape);
	for (int i = 0; i < TEST_TIMES(30000); i++) {
		snprintf(name, sizeof name, "y%d", i);
		put_concat(&graph, "a", "b", name);
		onnx_put_output(&graph, name);
	}
	cli_write_model(folder, "net.onnx", &graph);
	plan_model(folder, "net.onnx", "30,000 Concats");
	cli_remove_folder(folder);
}

#define CHANNELS 3

/* Adds a product of x with weights of its own. */
static void put_product(struct onnx_writer *graph, uint64_t *rng, const char *to)
{
	const int64_t shape[] = {5, CHANNELS};
	char weights[64], inputs[80];
	float w[5 * CHANNELS];
	for (int i = 0; i < 5 * CHANNELS; i++)
		w[i] = (float)test_range(rng, -100, 100) / 100;
	snprintf(weights, sizeof weights, "%s_weights", to);
	snprintf(inputs, sizeof inputs, "x %s", weights);
	onnx_put_floats(graph, weights, 2, shape, w);
	onnx_put_node(graph, "MatMul", to, inputs, to, NULL);
}

/* A tensor of many pieces, joined at either end, of which some are read on the way: as slices, of slices too, and
 * whole. */
Test(cli_planning, concats_of_many_pieces_keep_the_values_that_are_read_on_the_way)
{
	enum { CONCATS = 300, EVERY = 25 };
	uint64_t rng = 0x5eed0f;
	const int64_t in[] = {2, 5};
	struct onnx_writer graph = {0};
	char folder[CLI_PATH], from[32] = "made", to[32], made[32], part[32], end[32] = "made";
	int64_t channels = CHANNELS;
	cli_folder(folder);
	onnx_put_input(&graph, "x", ONNX_FLOAT, 2, in);
	put_product(&graph, &rng, "made");
	for (int i = 0; i < CONCATS; i++) {
		snprintf(made, sizeof made, "made%d", i);
		snprintf(to, sizeof to, "joined%d", i);
		put_product(&graph, &rng, made);
		const bool before = test_range(&rng, 0, 1);
		put_concat(&graph, before ? made : from, before ? from : made, to);
		snprintf(from, sizeof from, "%s", to);
		channels += CHANNELS;
		if (i % EVERY != EVERY - 1)
			continue;
		const int64_t first = test_range(&rng, 1, channels / 2), last = test_range(&rng, first + 2, channels);
		snprintf(part, sizeof part, "part%d", i);
		put_slice(&graph, from, part, first, last);
		snprintf(made, sizeof made, "inner%d", i);
		put_slice(&graph, part, made, 1, last - first);
		snprintf(part, sizeof part, "relu%d", i);
		onnx_put_node(&graph, "Relu", part, made, part, NULL);
		snprintf(to, sizeof to, "end%d", i);
		put_concat(&graph, end, part, to);
		snprintf(end, sizeof end, "%s", to);
	}
	put_concat(&graph, from, end, "all");
	onnx_put_node(&graph, "Relu", "y", "all", "y", NULL);
	onnx_put_output(&graph, "y");
	cli_write_model(folder, "net.onnx", &graph);
	const char *const args[] = {"compare",   "@/net.onnx",
				    "--devices", "reference,tpu_v1,systolic_16x16",
				    "--set",     "reference.precision=int8",
				    "--batch",   "2",
				    "--json",    "-",
				    "--quiet",   NULL};
	json_t *root = cli_run_json(&(struct cli_run_options){.folder = folder}, args);
	for (int d = 1; d < 3; d++)
		cr_expect(json_equal(cli_at(root, "devices.0.output_sha256"),
				     cli_at(root, d == 1 ? "devices.1.output_sha256" : "devices.2.output_sha256")),
			  "device %d", d);
	json_decref(root);
	cli_remove_folder(folder);
}
