/* SPDX-License-Identifier: MIT
 *
 * Networks rewritten for opset 18, 20 and 22 by tests/onnx/upgrade.py are the same networks: the shipped ones, and the
 * light ones of ../shared/models where that is there, node by node, shape by shape; some of them are run, and give the
 * same bits on every device. */
#include "npulab/graph.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/shipped_models.h"

static const int opsets[] = {18, 20, 22};

/* FOLDER/opset.onnx, of this opset. */
static const char *upgraded(const char *folder, const char *model, int opset)
{
	static char path[2 * CLI_PATH];
	char command[4 * CLI_PATH];
	snprintf(path, sizeof path, "%s/opset.onnx", folder);
	snprintf(command, sizeof command, "/usr/bin/python3 tests/onnx/upgrade.py '%s' %d '%s'", model, opset, path);
	cr_assert_eq(system(command), 0, "%s", command); /* NOLINT(cert-env33-c) */
	return path;
}

static void check_values(const struct npl_graph *a, const struct npl_node *x, const struct npl_graph *b,
			 const struct npl_node *y)
{
	cr_assert(x->op == y->op && x->n_in == y->n_in && x->n_out == y->n_out && x->macs == y->macs, "%s", x->name);
	for (int k = 0; k < x->n_in; k++)
		cr_assert(x->in[k] < 0 ? y->in[k] < 0
				       : npl_shape_equal(&a->value[x->in[k]].shape, &b->value[y->in[k]].shape),
			  "%s", x->name);
	for (int k = 0; k < x->n_out; k++)
		cr_assert(npl_shape_equal(&a->value[x->out[k]].shape, &b->value[y->out[k]].shape), "%s", x->name);
}

static void check_network(const char *folder, const char *path)
{
	struct npl_err err;
	struct npl_graph *old, *new;
	cr_assert_eq(npl_graph_load(path, NULL, &old, &err), 0, "%s", err.msg);
	for (size_t i = 0; i < sizeof opsets / sizeof opsets[0]; i++) {
		cr_assert_eq(npl_graph_load(upgraded(folder, path, opsets[i]), NULL, &new, &err), 0, "%s", err.msg);
		cr_assert_eq(new->opset, opsets[i]);
		cr_assert(old->n_nodes == new->n_nodes && old->macs == new->macs && old->parameters == new->parameters,
			  "%s of opset %d", path, opsets[i]);
		for (int n = 0; n < old->n_nodes; n++)
			check_values(old, &old->node[n], new, &new->node[n]);
		npl_graph_free(new);
	}
	npl_graph_free(old);
}

/* The hash of the output of every device, one after the other. */
static void hashes_of(const char *folder, const char *path, char text[1024])
{
	const struct cli_run_options options = {.folder = folder};
	struct cli_result r = cli_run(&options, "compare", path, "--devices", "reference,tpu_v1,diannao", "--json",
				      "@/costs.json");
	cr_assert_eq(r.status, 0, "%s: %s", path, r.err);
	cli_free(&r);
	char *document = cli_read(cli_path(folder, "costs.json"), NULL);
	json_t *root = cli_parse_json(document);
	text[0] = 0;
	for (int i = 0; i < 3; i++) {
		char at[64];
		snprintf(at, sizeof at, "devices.%d.output_sha256", i);
		const char *hash = json_string_value(cli_at(root, at));
		cr_assert(hash && strlen(hash) == 64, "%s", at);
		strcat(text, hash);
	}
	json_decref(root);
	free(document);
}

static void check_networks(const char *prefix, const char *const *name, size_t n)
{
	char folder[CLI_PATH], path[CLI_PATH];
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	cli_folder(folder);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s%s.onnx", prefix, name[i]);
		check_network(folder, path);
	}
	cli_remove_folder(folder);
}

Test(opset_upgrade, the_same_network_in_later_opsets_gives_the_same)
{
	struct npl_arena arena = {0};
	struct npl_err err;
	const char *const *shipped;
	int n;
	cr_assert_eq(npl_model_list(&arena, &shipped, &n, &err), 0, "%s", err.msg);
	check_networks("models/", shipped, (size_t)n);
	npl_arena_free(&arena);
}

Test(opset_upgrade, upgraded_light_networks_are_the_same)
{
	static const char *const light[] = {"bvlc_alexnet", "resnet50", "squeezenet", "vgg19"};
	if (access("../shared/models/light/light_vgg19.onnx", R_OK))
		cr_skip("no ../shared/models/light");
	check_networks("../shared/models/light/light_", light, sizeof light / sizeof light[0]);
}

Test(opset_upgrade, upgraded_models_give_the_same_bits)
{
	static const char *const run[] = {"digits", "lenet5", "lstm_lm", "mlp1"};
	char folder[CLI_PATH], path[CLI_PATH], model[2 * CLI_PATH], old[1024], new[1024];
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	cli_folder(folder);
	for (size_t i = 0; i < (TEST_SANITIZED ? 1 : sizeof run / sizeof run[0]); i++) {
		size_t bytes;
		snprintf(path, sizeof path, "models/%s.onnx", run[i]);
		char *data = cli_read(path, &bytes);
		cli_write(folder, "old.onnx", data, bytes); /* beside no file that says more of it */
		free(data);
		snprintf(model, sizeof model, "%s/old.onnx", folder);
		hashes_of(folder, model, old);
		for (size_t k = 0; k < sizeof opsets / sizeof opsets[0]; k++) {
			hashes_of(folder, upgraded(folder, path, opsets[k]), new);
			cr_expect_str_eq(new, old, "%s of opset %d", path, opsets[k]);
		}
	}
	cli_remove_folder(folder);
}
