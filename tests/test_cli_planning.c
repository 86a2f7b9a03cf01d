/* SPDX-License-Identifier: MIT
 *
 * Promise: how long planning takes depends on how many different things there are to plan, not on how large a result a small model
 * stands for. Each of these took minutes, or would take hours, where windows were gone through one by one; the limit is far above what
 * any of them takes. */
#include "cli_run.h"

#define SECONDS (CLI_SANITIZED ? 240 : 60)

/* A window operator over an input of four dimensions; maps 0: pooling. */
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

Test(cli_planning, windows_without_end_are_not_gone_through)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_how how = {.folder = folder, .seconds = SECONDS};
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		write_window(folder, "net.onnx", &models[i]);
		struct cli_result r = cli_run(&how, "inspect", "@/net.onnx", "--devices",
					      "tpu_v1,diannao,systolic_16x16,reference,cpu", "--quiet");
		cr_expect_eq(r.status, 0, "%s: %d: %s", models[i].name, r.status, r.err);
		cli_free(&r);
		r = cli_run(&how, "compare", "@/net.onnx", "--devices", "diannao", "--timing-only", "--no-accuracy");
		cr_expect(!r.status && cli_says(r.out, "no layer"), "%s: %d: %s%s", models[i].name, r.status, r.err,
			  r.out);
		cli_free(&r);
	}
	cli_remove_folder(folder);
}

Test(cli_planning, layers_of_windows_without_end)
{
	struct cli_result r = cli_run(&(struct cli_how){.seconds = SECONDS}, "layer", "conv", "--input", "1x3x8x8",
				      "--kernel", "3x3", "--filters", "4", "--pad", "30000x30000", "--devices",
				      "diannao", "--timing-only", "--no-accuracy");
	cr_assert_eq(r.status, 0, "%d: %s", r.status, r.err);
	cr_assert(cli_says(r.out, "diannao"), "%s", r.out);
	cli_free(&r);
}

/* Layers that do not follow from each other: all inputs and outputs are live at once, more than a small buffer holds. */
Test(cli_planning, many_layers)
{
	static const char *const machines[] = {"tpu_v1", "systolic_16x16", "diannao"};
	const int n_layers = 20000;
	char folder[CLI_PATH], *text = malloc((size_t)n_layers * 40 + 200);
	const struct cli_how how = {.folder = folder, .seconds = SECONDS};
	size_t at = (size_t)sprintf(text, "Layer name,IFMAP Height,IFMAP Width,Filter Height,Filter Width,Channels,"
					  "Num Filter,Strides,\n");
	cli_folder(folder);
	for (int i = 0; i < n_layers; i++)
		at += (size_t)sprintf(text + at, "c%d,8,8,3,3,4,4,1,\n", i);
	cli_write(folder, "many.csv", text, at);
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct cli_result r = cli_run(&how, "inspect", "@/many.csv", "--devices", machines[m]);
		cr_assert_eq(r.status, 0, "%s: %s", machines[m], r.err);
		cr_assert(cli_says(r.out, "runs every layer"), "%s", machines[m]);
		cli_free(&r);
	}
	free(text);
	cli_remove_folder(folder);
}
