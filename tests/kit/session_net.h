/* SPDX-License-Identifier: MIT
 *
 * Small networks for tests of what runs them: written as ONNX, loaded, given random inputs and evaluated in float, so
 * that a run on any devices can be held against the reference.
 */
#ifndef NPULAB_TESTS_KIT_SESSION_NET_H
#define NPULAB_TESTS_KIT_SESSION_NET_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "frontend/graph/build.h"
#include "npulab/session.h"
#include "onnx_writer.h"
#include "support.h"

#define MOST 8 /* devices, outputs */

struct net {
	struct onnx_writer model;
	struct npl_graph *graph;
	struct npl_tensor in[2];
	struct npl_range *range;
	struct npl_tensor reference[MOST];
};

struct outcome {
	struct npl_session *session; /* owns the strings of run */
	struct npl_run run;
	struct npl_tensor out[MOST];
};

static inline float *random_floats(uint64_t *rng, int64_t n)
{
	float *data = calloc((size_t)n + 1, sizeof *data);
	cr_assert(data);
	for (int64_t i = 0; i < n; i++)
		data[i] = (float)test_range(rng, -1000, 1000) / 1000;
	return data;
}

static inline void put_weights(struct onnx_writer *graph, uint64_t *rng, const char *name, int rank,
			       const int64_t *dims)
{
	float *data = random_floats(rng, onnx_count(rank, dims));
	onnx_put_floats(graph, name, rank, dims, data);
	free(data);
}

/* Loads the graph (emptying it), draws its inputs and evaluates the float reference. */
static inline struct net make_net(struct onnx_writer *writer, uint64_t *rng)
{
	struct net net = {.model = onnx_model(writer, 13)};
	struct npl_err err;
	int rc = npl_graph_load_memory("net.onnx", net.model.data, net.model.bytes, NULL, GRAPH_LIMITS, &net.graph,
				       &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	net.range = calloc((size_t)net.graph->n_values, sizeof *net.range);
	for (int v = 0; v < net.graph->n_values; v++)
		net.range[v] = NPL_RANGE_EMPTY;
	for (int i = 0; i < net.graph->n_inputs; i++) {
		const struct npl_value *value = &net.graph->value[net.graph->input[i]];
		net.in[i] = (struct npl_tensor){.dtype = value->dtype, .shape = value->shape};
		net.in[i].data = random_floats(rng, npl_shape_count(&value->shape));
	}
	rc = npl_evaluate(net.graph, net.in, net.reference, net.range, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return net;
}

static inline void free_net(struct net *net)
{
	for (int i = 0; i < net->graph->n_inputs; i++)
		free(net->in[i].data);
	for (int i = 0; i < net->graph->n_outputs; i++)
		npl_tensor_free(&net->reference[i]);
	npl_graph_free(net->graph);
	free(net->range);
	onnx_writer_free(&net->model);
}

static inline struct npl_device *open_device_set(const char *name, int n_sets, const char *const *sets)
{
	struct npl_device *device;
	struct npl_err err;
	struct npl_device_options options = {.set = sets, .n_sets = n_sets};
	cr_assert_eq(npl_device_open(name, &options, &device, &err), 0, "%s", err.msg);
	return device;
}

static inline struct npl_device *open_device(const char *name)
{
	return open_device_set(name, 0, NULL);
}

/* Opens and runs with the options, to which the network's ranges are added. */
static inline struct outcome run_with(struct net *net, struct npl_session_options options, const char *label)
{
	struct outcome o = {0};
	struct npl_err err;
	options.ranges = net->range;
	int rc = npl_session_open(net->graph, &options, &o.session, &err);
	if (!rc)
		rc = npl_session_run(o.session, net->in, o.out, &o.run, &err);
	cr_assert_eq(rc, 0, "%s: %s", label, err.msg);
	return o;
}

static inline struct outcome run_net(struct net *net, struct npl_device *const *device, int n, const int *place,
				     bool timing_only)
{
	return run_with(net,
			(struct npl_session_options){
				.n_devices = n, .device = device, .place = place, .plan.timing_only = timing_only},
			"a run");
}

static inline void free_outcome(struct net *net, struct outcome *o)
{
	for (int i = 0; i < net->graph->n_outputs; i++)
		npl_tensor_free(&o->out[i]);
	npl_run_free(&o->run);
	npl_session_close(o->session);
}

/* The row of the node of this name. */
static inline const struct npl_layer_run *row_of(const struct net *net, const struct outcome *o, const char *name)
{
	for (int i = 0; i < net->graph->n_nodes; i++)
		if (!strcmp(net->graph->node[i].name, name))
			return &o->run.layer[i];
	cr_assert_fail("no layer %s", name);
	return NULL;
}

static inline void check_same_outputs(const struct net *net, const struct npl_tensor *a, const struct npl_tensor *b,
				      const char *label)
{
	for (int i = 0; i < net->graph->n_outputs; i++) {
		cr_assert(a[i].dtype == b[i].dtype && npl_shape_equal(&a[i].shape, &b[i].shape), "%s: output %d", label,
			  i);
		cr_assert_eq(memcmp(a[i].data, b[i].data, npl_tensor_bytes(&a[i])), 0, "%s: output %d differs", label,
			     i);
	}
}

/* Greatest error relative to the greatest reference value, over all float outputs. */
static inline double error_of(const struct net *net, const struct npl_tensor *out)
{
	double worst = 0;
	for (int i = 0; i < net->graph->n_outputs; i++) {
		double maximum = 1e-30, error = 0;
		for (int64_t k = 0; k < npl_tensor_count(&out[i]) && out[i].dtype == NPL_F32; k++) {
			double r = ((float *)net->reference[i].data)[k];
			maximum = fmax(maximum, fabs(r));
			error = fmax(error, fabs(((float *)out[i].data)[k] - r));
		}
		worst = fmax(worst, error / maximum);
	}
	return worst;
}

static inline double joules_of(const struct npl_energy *list, int n, const char *component)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += strcmp(list[i].component, component) ? 0 : list[i].joules;
	return sum;
}

static inline bool near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

/* The totals of a run are the sums of its rows, its time that less what overlaps. */
static inline void check_totals(const struct npl_run *run, const char *label)
{
	struct npl_run sum = {0};
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
#define ADD_COUNT(name) sum.name += row->result.name;
		NPL_RESULT_COUNTS(ADD_COUNT)
#undef ADD_COUNT
		sum.device_seconds += row->result.seconds;
		sum.host_seconds += row->host_seconds;
		sum.link_seconds += row->link_seconds;
		sum.link_bytes += row->link_bytes;
		sum.device_macs += row->device == NPL_ON_HOST ? 0 : row->result.macs;
		for (int level = 0; level < NPL_MEM_LEVELS; level++)
			sum.bytes[level] += row->result.bytes[level];
	}
#define CHECK_COUNT(name) cr_assert_eq(sum.name, run->name, "%s: " #name, label);
	NPL_RESULT_COUNTS(CHECK_COUNT)
#undef CHECK_COUNT
	cr_assert(sum.link_bytes == run->link_bytes && sum.device_macs == run->device_macs, "%s", label);
	cr_assert(!memcmp(sum.bytes, run->bytes, sizeof sum.bytes), "%s", label);
	cr_assert(near(sum.device_seconds, run->device_seconds) && near(sum.host_seconds, run->host_seconds), "%s",
		  label);
	cr_assert(run->overlap_seconds >= 0, "%s", label);
	cr_assert(
		near(run->seconds + run->overlap_seconds, run->device_seconds + run->host_seconds + run->link_seconds),
		"%s", label);
	for (int e = 0; e < run->n_energy; e++) {
		double joules = 0;
		for (int i = 0; i < run->n_layers; i++)
			for (int k = 0; k < run->layer[i].result.n_energy; k++) {
				const struct npl_energy *part = &run->layer[i].result.energy[k];
				if (!strcmp(part->component, run->energy[e].component) &&
				    !strcmp(part->origin, run->energy[e].origin))
					joules += part->joules;
			}
		cr_assert(near(joules, run->energy[e].joules) || (isnan(joules) && isnan(run->energy[e].joules)),
			  "%s: %s", label, run->energy[e].component);
	}
}

/* x (2,3,8,8) -> c1 Conv -> r1 Relu -> n1 LRN -> p1 MaxPool -> f1 Flatten -> fc Gemm -> sm Softmax */
enum { C1, R1, N1, P1, F1, FC, SM, SEQUENCE };

static inline struct net make_layer_group(uint64_t *rng)
{
	struct onnx_writer g = {0}, size = {0}, pool = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 8, 8});
	put_weights(&g, rng, "w1", 4, (int64_t[]){4, 3, 3, 3});
	put_weights(&g, rng, "b1", 1, (int64_t[]){4});
	put_weights(&g, rng, "w2", 2, (int64_t[]){36, 10});
	put_weights(&g, rng, "b2", 1, (int64_t[]){10});
	onnx_put_node(&g, "Conv", "c1", "x w1 b1", "a", NULL);
	onnx_put_node(&g, "Relu", "r1", "a", "b", NULL);
	onnx_put_attr_int(&size, "size", 3);
	onnx_put_node(&g, "LRN", "n1", "b", "c", &size);
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_attr_ints(&pool, "strides", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "MaxPool", "p1", "c", "d", &pool);
	onnx_put_node(&g, "Flatten", "f1", "d", "e", NULL);
	onnx_put_node(&g, "Gemm", "fc", "e w2 b2", "f", NULL);
	onnx_put_node(&g, "Softmax", "sm", "f", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, rng);
	cr_assert_eq(net.graph->n_nodes, SEQUENCE);
	return net;
}

#endif
