/* SPDX-License-Identifier: MIT
 *
 * The float oracle: every node through its reference kernel, one after the other. Values are freed after their
 * last use, so that peak memory is weights plus live activations. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/graph/values.h"
#include "npulab/progress.h"
#include "npulab/session.h"

static void widen(struct npl_range *range, const struct npl_tensor *tensor)
{
	if (tensor->dtype != NPL_F32)
		return;
	const float *x = tensor->data;
	int64_t n = npl_tensor_count(tensor);
	float low = range->low, high = range->high;
	bool empty = low > high;
	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(x[i])) {
			range->nan |= isnan(x[i]);
			range->infinite |= isinf(x[i]);
			continue;
		}
		low = empty || x[i] < low ? x[i] : low;
		high = empty || x[i] > high ? x[i] : high;
		empty = false;
	}
	range->low = low;
	range->high = high;
}

/* Notes the least factor by which LRN multiplied x. */
static void watch_factor(struct npl_range *range, const struct npl_tensor *x, const struct npl_tensor *y)
{
	const float *from = x->data, *to = y->data;
	for (int64_t i = 0, n = from && to ? npl_tensor_count(y) : 0; i < n; i++) {
		const float factor = fabsf(to[i] / from[i]);
		if (isnormal(from[i]) && isnormal(to[i]) && (range->least_factor <= 0 || factor < range->least_factor))
			range->least_factor = factor;
	}
}

/* Notes the least of the maxima of the vectors that Softmax reads. */
static void watch_peaks(struct npl_range *range, const struct npl_node *node, const struct npl_tensor *x)
{
	const int axis = node->attrs.along.axis, last = node->attrs.opset < 13 ? x->shape.rank : axis + 1;
	int64_t length = 1, inner = 1;
	for (int d = axis; d < x->shape.rank; d++)
		*(d < last ? &length : &inner) *= x->shape.dim[d];
	const int64_t vectors = length ? npl_tensor_count(x) / length : 0;
	const float *from = x->data;
	for (int64_t v = 0; v < vectors; v++) {
		float maximum = -INFINITY;
		for (int64_t k = 0; k < length; k++)
			maximum = fmaxf(maximum, from[(v / inner * length + k) * inner + v % inner]);
		if (isfinite(maximum) && (!range->read_by_softmax || maximum < range->softmax_least_maximum)) {
			range->softmax_least_maximum = maximum;
			range->read_by_softmax = true;
		}
	}
}

/* Fills in[] with the tensors that a node reads; NULL for an absent input. storage[] holds constants, whose data is
 * made on the way. Returns 0 or err->code. */
/* Fills in[] (node->n_in entries) with the tensors a node reads: live[] for computed values, storage[] (node->n_in
 * entries, not owning) for constants, NULL for absent ones. */
static int node_inputs(struct npl_graph *graph, const struct npl_node *node, const struct npl_tensor *live,
		       struct npl_tensor *storage, const struct npl_tensor **in, struct npl_err *err)
{
	for (int i = 0; i < node->n_in; i++) {
		int v = node->in[i];
		in[i] = NULL;
		if (v < 0)
			continue;
		struct npl_value *value = &graph->value[v];
		if (!value->constant) {
			in[i] = &live[v];
			continue;
		}
		const void *data = npl_value_data(graph, value, err);
		if (!data)
			return err->code;
		storage[i] = (struct npl_tensor){
			.name = value->name, .dtype = value->dtype, .shape = value->shape, .data = (void *)data};
		in[i] = &storage[i];
	}
	return 0;
}

int npl_check_inputs(const struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_err *err)
{
	char actual[128], expected[128];
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_value *value = &graph->value[graph->input[i]];
		if (inputs[i].dtype != value->dtype)
			return npl_fail(err, NPL_EINPUT, "input '%s' is %s, expected %s", value->name,
					npl_dtype_name(inputs[i].dtype), npl_dtype_name(value->dtype));
		if (!npl_shape_equal(&inputs[i].shape, &value->shape))
			return npl_fail(err, NPL_EINPUT, "input '%s' has shape %s, expected %s", value->name,
					npl_shape_text(&inputs[i].shape, actual, sizeof actual),
					npl_shape_text(&value->shape, expected, sizeof expected));
		if (!inputs[i].data)
			return npl_fail(err, NPL_EINPUT, "input '%s' has no data", value->name);
		if ((uintptr_t)inputs[i].data % npl_dtype_size(value->dtype))
			return npl_fail(err, NPL_EINPUT, "input '%s': its elements are not aligned for %s", value->name,
					npl_dtype_name(value->dtype));
	}
	return 0;
}

static int run_node(struct npl_graph *graph, const struct npl_node *node, struct npl_tensor *live, struct npl_err *err)
{
	struct npl_tensor out[NPL_MAX_OUTPUTS] = {{0}};
	struct npl_tensor *storage = calloc((size_t)node->n_in + 1, sizeof *storage);
	const struct npl_tensor **in = calloc((size_t)node->n_in + 1, sizeof *in);
	int rc = storage && in ? node_inputs(graph, node, live, storage, in, err)
			       : npl_fail(err, NPL_ENOMEM, "node '%s': out of memory", node->name);
	for (int i = 0; i < node->n_out && !rc; i++) {
		if (node->out[i] < 0)
			continue;
		const struct npl_value *value = &graph->value[node->out[i]];
		out[i] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		rc = npl_tensor_alloc(&out[i], err);
	}
	if (!rc && npl_op_run(node->op, &node->attrs, in, node->n_in, out, node->n_out, err))
		rc = npl_prefix(err, "node '%s'", node->name);
	for (int i = 0; i < node->n_out; i++)
		if (!rc && node->out[i] >= 0)
			live[node->out[i]] = out[i];
		else
			npl_tensor_free(&out[i]);
	free(storage);
	free(in);
	return rc;
}

/* What the observer of ranges needs: LRN's input beside its result, and the values that a Softmax reads. */
struct range_observer {
	const struct npl_graph *graph;
	struct npl_range *ranges;
	const struct npl_tensor *live_values;
	const struct npl_value_observer *next; /* a further observer; or NULL */
};

static int widen_range(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	const struct range_observer *w = context;
	int producer = w->graph->value[v].producer;
	const struct npl_node *node = producer < 0 ? NULL : &w->graph->node[producer];
	widen(&w->ranges[v], tensor);
	if (node && node->op == NPL_OP_LRN && !w->graph->value[node->in[0]].constant)
		watch_factor(&w->ranges[v], &w->live_values[node->in[0]], tensor);
	if (node && node->op == NPL_OP_SOFTMAX && tensor->dtype == NPL_F32 && !w->graph->value[node->in[0]].constant)
		watch_peaks(&w->ranges[node->in[0]], node, &w->live_values[node->in[0]]);
	return w->next ? w->next->on_value(w->next->context, v, tensor, err) : 0;
}

/* Runs the nodes in order; live[] holds the inputs and gets the results, each freed after its last use. */
static int run_nodes(struct npl_graph *graph, struct npl_tensor *live, const struct npl_value_observer *observer,
		     struct npl_err *err)
{
	int *reads_left = calloc((size_t)graph->n_values + 1, sizeof *reads_left);
	int rc = reads_left ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	for (int v = 0; v < graph->n_values && !rc; v++)
		reads_left[v] = graph->value[v].uses;
	for (int i = 0; i < graph->n_inputs && !rc && observer; i++)
		rc = observer->on_value(observer->context, graph->input[i], &live[graph->input[i]], err);
	for (int i = 0; i < graph->n_nodes && !rc; i++) {
		const struct npl_node *node = &graph->node[i];
		npl_progress_step("layer", i + 1, graph->n_nodes, node->name);
		rc = run_node(graph, node, live, err);
		for (int k = 0; k < node->n_out && !rc && observer; k++)
			if (node->out[k] >= 0)
				rc = observer->on_value(observer->context, node->out[k], &live[node->out[k]], err);
		for (int k = 0; k < node->n_in && !rc; k++)
			if (node->in[k] >= 0 && --reads_left[node->in[k]] == 0)
				npl_tensor_free(&live[node->in[k]]);
		for (int k = 0; k < node->n_out && !rc; k++) /* a result that is not read */
			if (node->out[k] >= 0 && reads_left[node->out[k]] == 0)
				npl_tensor_free(&live[node->out[k]]);
	}
	free(reads_left);
	return rc;
}

/* Moves value v into output, or copies it where it is not owned. */
static int take_output(struct npl_graph *graph, int v, struct npl_tensor *live, struct npl_tensor *output,
		       struct npl_err *err)
{
	struct npl_value *value = &graph->value[v];
	*output = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
	if (live[v].owned) {
		*output = live[v];
		live[v].owned = false;
		return 0;
	}
	const void *data = value->constant ? npl_value_data(graph, value, err) : live[v].data;
	if (!data)
		return value->constant ? err->code
				       : npl_fail(err, NPL_EINTERNAL, "output '%s' was never made", value->name);
	if (npl_tensor_alloc(output, err))
		return err->code;
	memcpy(output->data, data, npl_tensor_bytes(output));
	return 0;
}

static int evaluate(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		    struct npl_tensor *live, const struct npl_value_observer *observer, struct npl_err *err)
{
	if (!live)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	int rc = npl_check_inputs(graph, inputs, err);
	for (int i = 0; i < graph->n_inputs && !rc; i++) {
		live[graph->input[i]] = inputs[i];
		live[graph->input[i]].owned = false;
	}
	if (!rc)
		rc = run_nodes(graph, live, observer, err);
	for (int i = 0; i < graph->n_outputs && !rc; i++)
		rc = take_output(graph, graph->output[i], live, &outputs[i], err);
	for (int v = 0; v < graph->n_values; v++)
		npl_tensor_free(&live[v]);
	free(live);
	return rc;
}

int npl_evaluate_observed(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
			  struct npl_range *ranges, const struct npl_value_observer *observer, struct npl_err *err)
{
	struct npl_tensor *live = calloc((size_t)graph->n_values + 1, sizeof *live);
	struct range_observer watch = {graph, ranges, live, observer};
	const struct npl_value_observer range_widener = {widen_range, &watch};
	return evaluate(graph, inputs, outputs, live, ranges ? &range_widener : observer, err);
}

int npl_evaluate(struct npl_graph *graph, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		 struct npl_range *ranges, struct npl_err *err)
{
	return npl_evaluate_observed(graph, inputs, outputs, ranges, NULL, err);
}
