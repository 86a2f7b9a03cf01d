/* SPDX-License-Identifier: MIT
 *
 * What npulab shows of LRN, of which diannao makes the factor and its host the rest: inspect lists it among what goes
 * to the host, with what does; compare and run say where it ran, that the host has a part, and how long the whole
 * took. */
#include "tests/kit/cli_figures.h"

/* Writes the network x (2,6,5,5) -> Conv c -> LRN n -> y with this alpha. */
static void write_net(const char *folder, float alpha)
{
	uint64_t rng = 3;
	struct onnx_writer g = {0}, attrs = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 6, 5, 5});
	put_random(&g, &rng, "w", 4, (int64_t[]){7, 6, 3, 3});
	onnx_put_node(&g, "Conv", "c", "x w", "a", NULL);
	onnx_put_attr_int(&attrs, "size", 5);
	onnx_put_attr_float(&attrs, "alpha", alpha);
	onnx_put_attr_float(&attrs, "beta", 0.75f);
	onnx_put_attr_float(&attrs, "bias", 0.6f);
	onnx_put_node(&g, "LRN", "n", "a", "y", &attrs);
	onnx_put_output(&g, "y");
	cli_write_model(folder, "lrn.onnx", &g);
}

static json_t *layer_of(json_t *root, int i)
{
	return json_array_get(cli_at(root, "devices.0.layers"), (size_t)i);
}

Test(cli_lrn, inspect_lists_what_the_host_does)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_net(folder, 0.01f);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "inspect", "@/lrn.onnx");
	cr_assert_eq(r.status, 0, "%s", r.err);
	const char *row = find_row(r.out, "diannao runs every layer; of these its host does a part:", "n");
	cr_assert(line_has(row, "LRN") && line_has(row, "squares its input, taken to lie within -1 to 1"), "%s", r.out);
	cli_free(&r);
	json_t *root = cli_json(&options, "inspect", "@/lrn.onnx", "--json", "-");
	cr_assert(strstr(cli_text(cli_at(root, "layers.1.in_part_on_host.diannao")), "squares"));
	cr_assert(!strstr(cli_text(cli_at(root, "layers.1.on_host.tpu_v1")), "squares"));
	json_decref(root);
	write_net(folder, 1e5f);
	root = cli_json(&options, "inspect", "@/lrn.onnx", "--json", "-");
	cr_assert(strstr(cli_text(cli_at(root, "layers.1.on_host.diannao")), "NFU-3's segments miss"));
	json_decref(root);
	cli_remove_folder(folder);
}

Test(cli_lrn, lrn_runs_on_diannao_in_part)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_net(folder, 0.01f);
	struct cli_result table;
	json_t *root = RUN_BOTH(folder, &table, "compare", "@/lrn.onnx", "--devices", "diannao,tpu_v1", "--layers");
	json_t *lrn = layer_of(root, 1);
	cr_assert_str_eq(cli_text(cli_at(lrn, "ran_on")), "diannao");
	/* The network's MACs are the same on every device; what the machine multiplies for it is its own affair. */
	cr_assert_eq(cli_integer(cli_at(lrn, "macs")), 0);
	cr_assert_eq(cli_integer(cli_at(lrn, "counters.useful_macs")), 2 * 9 * (7 * 5 - 6));
	cr_assert(cli_integer(cli_at(lrn, "cycles")) > 0 && cli_integer(cli_at(lrn, "transfers")) == 3);
	cr_assert(cli_number(cli_at(root, "devices.0.accuracy.sqnr_db")) > 35);
	cr_assert(line_has(find_row(table.out, "TIME OF A BATCH", "diannao"), "no layer, LRN in part"), "%s",
		  table.out);
	cr_assert(line_has(find_row(table.out, "TIME OF A BATCH", "tpu_v1"), "LRN (1 of 2 layers)"), "%s", table.out);
	cr_assert(line_has(find_row(table.out, "LAYER", "n"), " part host "), "%s", table.out);
	cli_free(&table);
	json_decref(root);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "run", "@/lrn.onnx", "--place", "LRN=diannao", "--log-placement");
	cr_assert_eq(r.status, 0, "%s", r.err);
	cr_assert(line_has(find_row(r.err, "#", "1"), "  n      LRN       diannao"), "%s", r.err);
	cr_assert(strstr(r.err, "LRN=diannao; in part:"), "%s", r.err);
	cli_free(&r);
	cli_remove_folder(folder);
}

/* With lrn=host all of it is the host's, who says why. */
Test(cli_lrn, the_parameter_lrn_leaves_it_all_to_the_host)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	write_net(folder, 0.01f);
	struct cli_result table;
	json_t *root = RUN_BOTH(folder, &table, "compare", "@/lrn.onnx", "--devices", "diannao", "--set",
				"diannao.lrn=host", "--layers");
	json_t *lrn = layer_of(root, 1);
	cr_assert_str_eq(cli_text(cli_at(lrn, "ran_on")), "host");
	cr_assert(strstr(cli_text(cli_at(lrn, "note")), "gives LRN to the host"));
	cr_assert(line_has(find_row(table.out, "TIME OF A BATCH", "diannao"), "LRN (1 of 2 layers)") &&
			  !strstr(table.out, "part"),
		  "%s", table.out);
	cli_free(&table);
	json_decref(root);
	cli_remove_folder(folder);
}
