/* SPDX-License-Identifier: MIT
 *
 * Whole networks on the cuda device in each precision: the GPU's time of a batch, from the first layer's begin to the
 * last one's end, with the transfers of inputs and outputs, and as this computer feels it; then the convolutions of the
 * network by their shapes. What is drawn decides no time, so int8 takes ranges that nobody calibrated. */
#include <string.h>

#include "bench_cuda.h"
#include "core/base/refuse.h"
#include "core/ops/window.h"
#include "npulab/model.h"
#include "npulab/session.h"

enum { MAX_RUNS = 200, WARM_RUNS = 3 };

struct network {
	const char *name;
	struct npl_graph *graph;
	struct npl_tensor *input, *output;
	struct npl_tensor *first; /* the outputs of the first run, whose layers are launched one by one */
	struct npl_range *range;
	struct npl_samples samples;
};

static void free_outputs(const struct network *n, struct npl_tensor *output)
{
	for (int i = 0; output && i < n->graph->n_outputs; i++)
		npl_tensor_free(&output[i]);
}

static void unload(struct network *n)
{
	if (!n->graph)
		return;
	free_outputs(n, n->output);
	free_outputs(n, n->first);
	for (int i = 0; n->input && i < n->graph->n_inputs; i++)
		npl_tensor_free(&n->input[i]);
	npl_samples_free(&n->samples);
	npl_graph_free(n->graph);
	free(n->input);
	free(n->output);
	free(n->first);
	free(n->range);
	*n = (struct network){0};
}

static int load(const char *name, int64_t batch, struct network *n, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	int64_t real;
	*n = (struct network){.name = name};
	int rc = npl_model_find(name, &arena, &files, err);
	if (!rc)
		rc = npl_graph_load(files.path, &(struct npl_load_options){.batch = batch}, &n->graph, err);
	npl_arena_free(&arena);
	if (rc)
		return rc;
	n->input = calloc((size_t)n->graph->n_inputs + 1, sizeof *n->input);
	n->output = calloc((size_t)n->graph->n_outputs + 1, sizeof *n->output);
	n->first = calloc((size_t)n->graph->n_outputs + 1, sizeof *n->first);
	n->range = calloc((size_t)n->graph->n_values + 1, sizeof *n->range);
	if (!n->input || !n->output || !n->first || !n->range)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %s", name);
	for (int v = 0; v < n->graph->n_values; v++)
		n->range[v] = (struct npl_range){.low = -8, .high = 8};
	rc = npl_samples_load(n->graph, NULL, 0, NULL, 1, &n->samples, err);
	return rc ? rc : npl_samples_batch(n->graph, &n->samples, 0, n->input, &real, err);
}

/* Times of n runs: of the whole, and of each row (row after row, MAX_RUNS of each). */
struct times {
	int n, on_host;
	/* the greatest difference between the outputs of the first and the last run, over the greatest value */
	double apart;
	double device[MAX_RUNS], link[MAX_RUNS], wall[MAX_RUNS], host[MAX_RUNS];
	double *row;
};

static int run_once(struct npl_session *session, struct network *n, struct times *times, bool counts,
		    struct npl_err *err)
{
	struct npl_run run = {0};
	free_outputs(n, n->output);
	if (npl_session_run(session, n->input, n->output, &run, err))
		return err->code;
	times->on_host = 0;
	for (int l = 0; l < run.n_layers; l++) {
		times->on_host += run.layer[l].role == NPL_RAN && npl_row_on_host(&run.layer[l]);
		times->row[(ptrdiff_t)l * MAX_RUNS + times->n] = run.layer[l].role == NPL_RAN &&
										 !npl_row_on_host(&run.layer[l])
									 ? run.layer[l].result.seconds
									 : NAN;
	}
	times->device[times->n] = run.device_seconds;
	times->link[times->n] = run.link_seconds;
	times->host[times->n] = run.host_seconds;
	times->wall[times->n] = run.wall_seconds;
	times->n += counts;
	npl_run_free(&run);
	return 0;
}

/* Keeps the outputs of the first run, and compares the last run's with them. */
static void keep_first(struct network *n)
{
	free_outputs(n, n->first);
	memcpy(n->first, n->output, (size_t)n->graph->n_outputs * sizeof *n->first);
	memset(n->output, 0, (size_t)n->graph->n_outputs * sizeof *n->output);
}

static double apart_of(const struct network *n)
{
	double most = 0, apart = 0;
	for (int i = 0; i < n->graph->n_outputs; i++) {
		const float *first = n->first[i].data, *last = n->output[i].data;
		for (int64_t k = 0, count = npl_tensor_count(&n->output[i]); k < count; k++) {
			const double difference = fabs((double)first[k] - (double)last[k]);
			most = fmax(most, fabs((double)first[k]));
			apart = fmax(apart, isnan(difference) ? INFINITY : difference);
		}
	}
	return most > 0 ? apart / most : apart;
}

static int run_often(struct npl_device *device, struct network *n, const struct bench_options *options,
		     struct times *times, struct npl_err *err)
{
	const struct bench_repeats repeats = bench_repeats(options);
	const struct npl_session_options asked = {.n_devices = 1, .device = &device, .ranges = n->range};
	struct npl_session *session;
	int rc = npl_session_open(n->graph, &asked, &session, err);
	if (rc)
		return rc;
	npl_session_hash(session, false);
	for (int i = 0; i < (options->smallest ? 1 : WARM_RUNS) && !rc; i++)
		if (!(rc = run_once(session, n, times, false, err)) && !i)
			keep_first(n);
	for (double begin = npl_clock_seconds();
	     !rc && times->n < MAX_RUNS && times->n < repeats.most &&
	     (times->n < repeats.least || npl_clock_seconds() - begin < repeats.enough);)
		rc = run_once(session, n, times, true, err);
	times->apart = rc ? NAN : apart_of(n);
	npl_session_close(session);
	return rc;
}

/* Convolutions of the same shapes are one row. */
struct group {
	const struct npl_node *node;
	int n;
	double seconds, macs;
};

static bool same_shapes(const struct npl_graph *g, const struct npl_node *a, const struct npl_node *b)
{
	const struct npl_window *v = &a->attrs.conv.window, *w = &b->attrs.conv.window;
	return npl_shape_equal(&g->value[a->in[0]].shape, &g->value[b->in[0]].shape) &&
	       npl_shape_equal(&g->value[a->in[1]].shape, &g->value[b->in[1]].shape) &&
	       npl_shape_equal(&g->value[a->out[0]].shape, &g->value[b->out[0]].shape) &&
	       a->attrs.conv.groups == b->attrs.conv.groups && v->stride[0] == w->stride[0] &&
	       v->stride[1] == w->stride[1];
}

static void print_group(const char *precision, const struct npl_graph *g, const struct group *group)
{
	const struct npl_shape *x = &g->value[group->node->in[0]].shape, *y = &g->value[group->node->out[0]].shape;
	const struct npl_window *w = &group->node->attrs.conv.window;
	char in[64], out[64];
	printf("| %s | %s | %lld x %lld, stride %lld%s | %s | %d | %.4f | %.1f |\n", precision,
	       npl_shape_text(x, in, sizeof in), (long long)w->kernel[0], (long long)w->kernel[1],
	       (long long)w->stride[0], group->node->attrs.conv.groups > 1 ? ", in groups" : "",
	       npl_shape_text(y, out, sizeof out), group->n, group->seconds * 1e3,
	       2e-12 * group->macs / group->seconds);
}

static void print_convolutions(const char *precision, const struct network *n, struct times *times)
{
	const struct npl_graph *g = n->graph;
	struct group *group = calloc((size_t)g->n_nodes + 1, sizeof *group), all = {0};
	int groups = 0;
	for (int l = 0; group && l < g->n_nodes; l++) {
		const struct npl_node *node = &g->node[l];
		double *row = times->row + (ptrdiff_t)l * MAX_RUNS;
		int at = 0;
		if (node->op != NPL_OP_CONV || isnan(row[0]))
			continue;
		const double seconds = bench_median(row, times->n);
		while (at < groups && !same_shapes(g, group[at].node, node))
			at++;
		groups += at == groups;
		group[at].node = node;
		group[at].n++;
		group[at].seconds += seconds;
		group[at].macs += (double)node->macs;
		all.n++;
		all.seconds += seconds;
		all.macs += (double)node->macs;
	}
	for (int i = 0; i < groups; i++)
		print_group(precision, g, &group[i]);
	if (groups)
		printf("| %s | all | | | %d | %.4f | %.1f |\n", precision, all.n, all.seconds * 1e3,
		       2e-12 * all.macs / all.seconds);
	fflush(stdout);
	free(group);
}

/* Measures one network in one precision and prints its row; `times` gets its convolutions. */
static int bench_network(const char *precision, struct network *n, const struct bench_options *options,
			 struct times *times, struct npl_err *err)
{
	struct npl_device *device;
	if (bench_open(precision, &device, err))
		return err->code;
	times->n = 0;
	int rc = run_often(device, n, options, times, err);
	npl_device_close(device);
	if (rc)
		return rc;
	const double batch = (double)options->batch, compute = bench_median(times->device, times->n),
		     link = bench_median(times->link, times->n), host = bench_median(times->host, times->n),
		     wall = bench_median(times->wall, times->n);
	printf("| %s | %s | %lld | %.4f | %.0f | %.4f | %.0f | %.3f | %.1e | ", n->name, precision,
	       (long long)options->batch, compute * 1e3, batch / compute, link * 1e3, batch / (compute + link),
	       wall * 1e3, times->apart);
	if (host > 0)
		printf("%d layers, ~%.3f ms |\n", times->on_host, host * 1e3);
	else
		printf("%d layers |\n", times->on_host);
	if (!isnan(options->pytorch_ms) && !strcmp(precision, "f16") && !strcmp(n->name, "resnet50"))
		printf("| %s | %s, PyTorch | %lld | %.4f | %.0f | | | | | the device takes %.2f times its time (at "
		       "most 2) |\n",
		       n->name, precision, (long long)options->batch, options->pytorch_ms,
		       batch * 1e3 / options->pytorch_ms, compute * 1e3 / options->pytorch_ms);
	fflush(stdout);
	return 0;
}

/* Measures a network in all precisions, then prints its convolutions. */
static int bench_one(const char *name, const struct bench_options *options)
{
	struct network n;
	struct npl_err err = {0};
	struct times *times = calloc((size_t)options->precisions.n, sizeof *times);
	int failed = 0;
	int rc = times ? load(name, options->batch, &n, &err) : NPL_ENOMEM;
	if (rc) {
		printf("| %s | fails: %s | | | | | | | | |\n", name, times ? err.msg : "out of memory");
		if (times)
			unload(&n);
		free(times);
		return 1;
	}
	for (int i = 0; i < options->precisions.n; i++) {
		times[i].row = calloc((size_t)n.graph->n_nodes + 1, MAX_RUNS * sizeof *times[i].row);
		rc = times[i].row ? bench_network(options->precisions.item[i], &n, options, &times[i], &err)
				  : npl_no_memory(&err);
		if (rc) {
			printf("| %s | %s | fails: %s | | | | | | | |\n", name, options->precisions.item[i], err.msg);
			fflush(stdout);
			times[i].n = 0;
			failed++;
		}
	}
	printf("\nConvolutions of %s, batch %lld:\n\n| precision | input | kernel | output | layers | ms | TOP/s "
	       "|\n|---|---|---|---|---|---|---|\n",
	       name, (long long)options->batch);
	for (int i = 0; i < options->precisions.n; i++) {
		if (times[i].n)
			print_convolutions(options->precisions.item[i], &n, &times[i]);
		free(times[i].row);
	}
	free(times);
	unload(&n);
	return failed;
}

int bench_networks(const struct bench_options *options)
{
	int failed = 0;
	for (int i = 0; i < options->networks.n; i++) {
		printf("\n#### %s\n\n\"GPU\": from the first layer's begin to the last one's end, values on the GPU, "
		       "medians of batches; \"link\": the copies of inputs and outputs, in float32; \"wall\": with "
		       "the work of the processor; \"apart\": the greatest difference of the outputs between a run "
		       "that launches layers one by one and a run of the graph, over the greatest value; \"on the "
		       "host\": layers that the GPU does not run, and what a modelled host would take for them and "
		       "for conversions.\n\n| network | precision | batch | GPU "
		       "ms | images/s | link ms | images/s with it | wall ms | apart | on the host |\n"
		       "|---|---|---|---|---|---|---|---|---|---|\n",
		       options->networks.item[i]);
		failed += bench_one(options->networks.item[i], options);
	}
	return failed;
}
