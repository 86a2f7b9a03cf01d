/* SPDX-License-Identifier: MIT
 *
 * Import of the networks that are there: the time from the file to the graph, and the memory that one image through the
 * float reference takes at most, over its weights and live activations, in a process of its own. At most 10 ms (beside
 * the time to touch the weights that are in the file) and 2.5 times. Of networks below 4 MB the program itself is
 * most. */
#include <glob.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "npulab/model.h"
#include "npulab/session.h"

static struct npl_err err;

static void check(int rc, const char *subject)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s: %s\n", subject, err.msg);
	exit(npl_exit_status(err.code));
}

static void import(void *context)
{
	struct npl_graph *graph;
	check(npl_graph_load(context, NULL, &graph, &err), context);
	npl_graph_free(graph);
}

static size_t value_bytes(const struct npl_value *value)
{
	return (size_t)npl_shape_count(&value->shape) * npl_dtype_size(value->dtype);
}

/* Bytes of the constants that are in use, and of those the most that live at once besides. */
static void needed(const struct npl_graph *graph, size_t *weights, size_t *live)
{
	size_t now = 0;
	int *left = calloc((size_t)graph->n_values + 1, sizeof *left);
	if (!left)
		exit(1);
	*weights = *live = 0;
	for (int v = 0; v < graph->n_values; v++) {
		left[v] = graph->value[v].uses;
		*weights += graph->value[v].constant ? value_bytes(&graph->value[v]) : 0;
	}
	for (int i = 0; i < graph->n_inputs; i++)
		now += value_bytes(&graph->value[graph->input[i]]);
	for (int n = 0; n < graph->n_nodes; n++) {
		const struct npl_node *node = &graph->node[n];
		for (int k = 0; k < node->n_out; k++)
			now += value_bytes(&graph->value[node->out[k]]);
		*live = now > *live ? now : *live;
		for (int k = 0; k < node->n_in; k++)
			if (node->in[k] >= 0 && !graph->value[node->in[k]].constant && --left[node->in[k]] == 0)
				now -= value_bytes(&graph->value[node->in[k]]);
	}
	free(left);
}

static size_t peak_bytes(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss * 1024;
}

static void evaluate(const char *path)
{
	struct npl_graph *graph;
	struct npl_samples samples;
	size_t before = peak_bytes(), weights, live;
	int64_t real;
	check(npl_graph_load(path, NULL, &graph, &err), path);
	struct npl_tensor *in = calloc((size_t)graph->n_inputs + 1, sizeof *in);
	struct npl_tensor *out = calloc((size_t)graph->n_outputs + 1, sizeof *out);
	if (!in || !out)
		exit(1);
	needed(graph, &weights, &live);
	check(npl_samples_load(graph, NULL, 0, NULL, 1, &samples, &err), path);
	check(npl_samples_batch(graph, &samples, 0, in, &real, &err), path);
	double start = npl_clock_seconds();
	check(npl_evaluate(graph, in, out, NULL, &err), path);
	double seconds = npl_clock_seconds() - start;
	size_t peak = peak_bytes() - before;
	if ((double)(weights + live) >= 4e6)
		printf("%-52s %9.2f times    %10.1f MB of weights, %.1f MB live, %.2f s\n",
		       "  its memory, one batch evaluated", (double)peak / (double)(weights + live),
		       (double)weights * 1e-6, (double)live * 1e-6, seconds);
	for (int i = 0; i < graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	free(in);
	free(out);
	npl_samples_free(&samples);
	npl_graph_free(graph);
}

/* In a process of its own, whose peak is its alone. */
static void apart(void (*work)(const char *path), const char *path)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		work(path);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

static void bench(const char *path)
{
	const char *name = strrchr(path, '/');
	bench_print(name ? name + 1 : path, 1e9, "imports/s", bench_seconds(import, (void *)path));
	apart(evaluate, path);
}

int main(void)
{
	static const char *const patterns[] = {"../shared/models/light/*.onnx", "models/*.onnx"};
	printf("import, from the file to the graph\n");
	for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
		glob_t found;
		if (glob(patterns[i], 0, NULL, &found)) {
			printf("no files %s\n", patterns[i]);
			continue;
		}
		for (size_t k = 0; k < found.gl_pathc; k++)
			bench(found.gl_pathv[k]);
		globfree(&found);
	}
	return 0;
}
