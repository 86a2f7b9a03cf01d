/* SPDX-License-Identifier: MIT
 *
 * Promises of the papers' networks that ship: their parameters and multiply-accumulates are the published ones; files
 * are small, made by their script to the byte; a machine runs each of them, timing only, with no weight made; values
 * are finite and neither vanish nor grow; `npulab models` tells what the graphs say. (The TPU paper's:
 * test_tpu_applications.c.) */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "npulab/compare.h"
#include "npulab/report.h"
#include "tests/kit/cli_json.h"
#include "tests/kit/shipped_models.h"

/* Multiply-accumulates of attention layers 768 wide, their dense layers four times as wide, for `rows` words that look
 * at `keys` words. */
#define ATTENTION_MACS(rows, keys) (12 * ((rows) * (4 + 8) * 768LL * 768 + 2LL * (rows) * (keys)*768))

static const struct network {
	const char *name;
	/* Trained parameters as the papers' implementations have them (torchvision 0.15's documentation; Hugging Face's
	 * BertModel and GPT2LMHeadModel); for LeNet-5 and the LSTM the sum over their layers. */
	int64_t parameters;
	int64_t unread; /* of them, which no input reads */
	/* Per sample: torchvision's documentation to its digits, which counts a multiply-accumulate as an operation, or
	 * the sum written out. */
	double macs, digit;
	int64_t batch;
	int inputs, outputs;
} networks[] = {
	{"lenet5", 156 + 2416 + 120 * 401 + 84 * 121 + 10 * 85, 0,
	 28 * 28 * 150 + 10 * 10 * 2400 + 400 * 120 + 120 * 84 + 840, 0, 64, 1, 1},
	/* Grouped as in the paper: torchvision's has neither groups nor these widths. Krizhevsky, 2012: 60 million
	 * parameters. */
	{"alexnet", 34944 + 307456 + 885120 + 663936 + 442624 + 4096 * 9217LL + 4096 * 4097LL + 1000 * 4097LL, 0,
	 3025. * 96 * 363 + 729. * 256 * 1200 + 169. * (384 * 2304 + 384 * 1728 + 256 * 1728) +
		 4096. * (9216 + 4096 + 1000),
	 0, 4, 1, 1},
	{"vgg16", 138357544, 0, 15.47e9, 0.01e9, 1, 1, 1},
	{"resnet50", 25557032, 0, 4.089e9, 0.001e9, 1, 1, 1},
	{"mobilenet_v2", 3504872, 0, 0.301e9, 0.001e9, 1, 1, 1},
	{"lstm_lm", 10000 * 512 + 2 * (2048 * 1024 + 4096) + 513 * 10000, 0, 32. * (2 * 2048 * 1024 + 512 * 10000), 0,
	 4, 1, 1},
	/* The model has 512 positions, of which 128 are read. */
	{"bert_base", 109482240, (512 - 128) * 768, ATTENTION_MACS(128, 128) + 768 * 768, 0, 1, 3, 2},
	{"gpt2_small_decode", 124439808, 0, ATTENTION_MACS(1, 129) + 768. * 50257, 0, 1, 26, 25},
};
#define NETWORKS (sizeof networks / sizeof *networks)

static int64_t normalised_channels(const struct npl_graph *graph)
{
	int64_t n = 0;
	for (int i = 0; i < graph->n_nodes; i++)
		if (graph->node[i].op == NPL_OP_BATCHNORMALIZATION)
			n += npl_shape_count(&graph->value[graph->node[i].in[1]].shape);
	return n;
}

/* As exported a normalised channel has a factor, an offset and two statistics that are not trained; folded it has a
 * bias. */
Test(models, published_parameters_and_macs)
{
	for (size_t i = 0; i < NETWORKS; i++) {
		const struct network *net = &networks[i];
		struct npl_arena arena = {0};
		struct npl_model_files files;
		struct npl_graph *exported = shipped_load(net->name, &(struct npl_load_options){.no_fold = true},
							  &files, &arena);
		struct npl_graph *folded = shipped_load(net->name, NULL, &files, &arena);
		int64_t channels = normalised_channels(exported), read = net->parameters - net->unread;
		cr_assert_eq((int64_t)exported->parameters - 2 * channels, read, "%s", net->name);
		cr_assert_eq((int64_t)folded->parameters, read - channels, "%s", net->name);
		cr_assert_eq(normalised_channels(folded), 0, "%s: not all folded", net->name);
		cr_assert_eq(exported->macs, folded->macs);
		cr_assert_leq(fabs((double)folded->macs - net->macs), net->digit / 2, "%s: %llu MACs", net->name,
			      (unsigned long long)folded->macs);
		npl_graph_free(exported);
		npl_graph_free(folded);
		npl_arena_free(&arena);
	}
}

/* Elements that nodes make: of LeNet-5 layer by layer, its Flatten none; in proportion to the batch. */
Test(models, activations_are_the_elements_that_nodes_make)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	for (int64_t batch = 1; batch < 4; batch++) {
		struct npl_graph *graph = shipped_load("lenet5", &(struct npl_load_options){.batch = batch}, &files,
						       &arena);
		int64_t each = 2 * 6 * 28 * 28 + 6 * 14 * 14 + 2 * 16 * 10 * 10 + 16 * 5 * 5 + 2 * 120 + 2 * 84 + 10;
		cr_assert_eq((int64_t)graph->activations, batch * each);
		npl_graph_free(graph);
	}
	npl_arena_free(&arena);
}

/* The table of models/README.md has the activations that `npulab models` shows. */
Test(models, the_readme_s_activations_are_those_shown)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	char *readme = cli_read("models/README.md", NULL);
	for (size_t i = 0; i < NETWORKS; i++) {
		struct npl_graph *graph = shipped_load(networks[i].name, &(struct npl_load_options){.batch = 1}, &files,
						       &arena);
		char begin[64], figure[32], cell[40];
		snprintf(begin, sizeof begin, "\n| `%s` |", networks[i].name);
		const char *at = strstr(readme, begin);
		cr_assert(at, "%s", begin);
		for (int column = 0; column < 6; column++)
			at = strchr(at + 1, '|');
		snprintf(cell, sizeof cell, "| %s |",
			 npl_si_text((double)graph->activations, "", figure, sizeof figure));
		cr_assert(!strncmp(at, cell, strlen(cell)), "%s: expected %s in: %.60s", networks[i].name, cell, at);
		npl_graph_free(graph);
	}
	free(readme);
	npl_arena_free(&arena);
}

Test(models, every_model_runs_without_its_values)
{
	for (size_t i = 0; i < NETWORKS; i++) {
		const struct network *net = &networks[i];
		struct npl_arena arena = {0};
		struct npl_model_files files;
		struct npl_device *device;
		struct npl_session *session;
		struct npl_run run;
		struct npl_err err;
		struct stat status;
		struct npl_graph *graph = shipped_load(net->name, NULL, &files, &arena);
		cr_assert_eq(files.batch, net->batch);
		cr_assert(!stat(files.path, &status) && status.st_size < 200000, "%s is too large", files.path);
		cr_assert_eq(graph->n_inputs, net->inputs);
		cr_assert_eq(graph->n_outputs, net->outputs);
		cr_assert(files.source && files.license && strlen(files.description) < 60);
		cr_assert_eq(npl_device_open("tpu_v1", NULL, &device, &err), 0, "%s", err.msg);
		struct npl_session_options options = {.n_devices = 1, .device = &device, .plan.timing_only = true};
		cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s: %s", net->name, err.msg);
		cr_assert_eq(npl_session_run(session, NULL, NULL, &run, &err), 0, "%s: %s", net->name, err.msg);
		cr_assert_eq(run.macs, graph->macs, "%s", net->name);
		cr_assert(run.seconds > 0 && isfinite(run.seconds));
		cr_assert_lt(graph->arena.bytes, 8 << 20, "%s made its weights", net->name);
		npl_run_free(&run);
		npl_session_close(session);
		npl_device_close(device);
		npl_graph_free(graph);
		npl_arena_free(&arena);
	}
}

/* Root mean square of x, or of its difference from y. */
static double size_of(const float *x, const float *y, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++) {
		double d = (double)x[i] - (y ? (double)y[i] : 0);
		cr_assert(isfinite(x[i]));
		sum += d * d;
	}
	return sqrt(sum / (double)n);
}

/* Two random samples; every value on the way is of a sane size, and what comes out is neither one number all over nor
 * the same for both. With and without folding it is the same to rounding. */
static void check_values(const char *name)
{
	struct npl_tensor y[2] = {{0}};
	for (int fold = 0; fold < 2; fold++) {
		struct npl_arena arena = {0};
		struct npl_model_files files;
		struct npl_graph *graph = shipped_load(name, &(struct npl_load_options){.batch = 2, .no_fold = !fold},
						       &files, &arena);
		struct npl_samples samples;
		struct npl_tensor in;
		struct npl_err err;
		int64_t real;
		struct npl_range *range = calloc((size_t)graph->n_values, sizeof *range);
		for (int v = 0; v < graph->n_values; v++)
			range[v] = NPL_RANGE_EMPTY;
		cr_assert_eq(npl_samples_load(graph, NULL, 0, NULL, 1, &samples, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_samples_batch(graph, &samples, 0, &in, &real, &err), 0);
		cr_assert_eq(npl_evaluate(graph, &in, &y[fold], range, &err), 0, "%s", err.msg);
		for (int i = 0; i < graph->n_nodes; i++) {
			struct npl_range r = range[graph->node[i].out[0]];
			double maximum = fmax(-(double)r.low, (double)r.high);
			cr_assert(maximum > 0.1 && maximum < 50, "%s: values of '%s' reach %g", name,
				  graph->node[i].name, maximum);
		}
		npl_tensor_free(&in);
		npl_samples_free(&samples);
		npl_graph_free(graph);
		npl_arena_free(&arena);
		free(range);
	}
	const int64_t n = npl_tensor_count(&y[1]) / 2;
	const float *exported = y[0].data, *first = y[1].data, *second = first + n;
	double size = size_of(first, NULL, n);
	cr_assert(size > 0.05 && size < 10, "%s: outputs of the size %g", name, size);
	cr_assert_gt(size_of(first, first + n / 2, n / 2), 0.2 * size, "%s: outputs are much the same", name);
	cr_assert_gt(size_of(first, second, n), 0.02 * size, "%s: samples are much the same", name);
	cr_assert_lt(size_of(first, exported, 2 * n), 1e-4 * size, "%s: folding changed it", name);
	npl_tensor_free(&y[0]);
	npl_tensor_free(&y[1]);
}

Test(models, values_are_sane)
{
	check_values("lenet5");
	check_values("mobilenet_v2");
	check_values("lstm_lm");
}

Test(models, the_script_made_them)
{
	const char *names[NETWORKS];
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	for (size_t i = 0; i < NETWORKS; i++)
		names[i] = networks[i].name;
	shipped_check_made("models/make_networks.py", names, NETWORKS);
}

/* Networks whose promises stand in other tests: digits in those of the commands, the TPU paper's applications in
 * tests/validate/test_tpu_applications.c. */
static const char *const tested_elsewhere[] = {"digits", "mlp0", "mlp1", "lstm0", "lstm1", "cnn0", "cnn1"};
#define ELSEWHERE (sizeof tested_elsewhere / sizeof *tested_elsewhere)

/* Returns how many rows of the two tables above name the network. */
static size_t rows_of(const char *name)
{
	size_t n = 0;
	for (size_t k = 0; k < NETWORKS; k++)
		n += !strcmp(name, networks[k].name);
	for (size_t k = 0; k < ELSEWHERE; k++)
		n += !strcmp(name, tested_elsewhere[k]);
	return n;
}

Test(models, every_model_is_listed)
{
	json_t *root = cli_json(&(struct cli_run_options){0}, "models", "--json", "-"), *entry;
	size_t i;
	json_array_foreach (cli_at(root, "models"), i, entry) {
		struct npl_arena arena = {0};
		struct npl_model_files files;
		const char *name = cli_text(cli_at(entry, "name"));
		struct npl_graph *graph = shipped_load(name, &(struct npl_load_options){.batch = 1}, &files, &arena);
		cr_assert_eq((uint64_t)cli_integer(cli_at(entry, "macs_per_sample")), graph->macs, "%s", name);
		cr_assert_eq((uint64_t)cli_integer(cli_at(entry, "parameters")), graph->parameters, "%s", name);
		cr_assert_eq((uint64_t)cli_integer(cli_at(entry, "activations_per_sample")), graph->activations, "%s",
			     name);
		cr_assert_eq(cli_integer(cli_at(entry, "layers")), graph->n_nodes, "%s", name);
		cr_expect_eq(rows_of(name), 1, "models/%s.yaml needs one row in networks[] or tested_elsewhere[]",
			     name);
		npl_graph_free(graph);
		npl_arena_free(&arena);
	}
	cr_assert_eq(i, NETWORKS + ELSEWHERE);
	json_decref(root);
}
