/* SPDX-License-Identifier: MIT
 *
 * The plan of a session: for each node, in order, whether its device runs it (with the activation after it in the same
 * pass where it can), whether the node only gives data another shape, or whether the host runs it, and why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/activation.h"
#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "frontend/quantise/quantise.h"
#include "lrn.h"
#include "model_layer.h"
#include "npulab/progress.h"
#include "session_impl.h"
#include "split.h"
#include "stay_float.h"

/* Returns the node that reads value v, if it is the only one and v is no output of the graph; -1 otherwise. */
static int sole_reader(const struct npl_session *s, int v)
{
	return s->graph->value[v].uses == 1 ? s->reader[v] : -1;
}

/* Describes step i as a layer without data, for a device to say whether it takes it. The layer's tensors are in
 * t[NPL_MAX_TENSORS]. */
static void describe_layer(const struct npl_session *s, int i, const struct npl_step *step, struct npl_tensor *t,
			   struct npl_layer *layer)
{
	const struct npl_graph *graph = s->graph;
	const struct npl_node *node = &graph->node[i];
	enum npl_format format = npl_step_format(s, step);
	*layer = (struct npl_layer){.name = node->name,
				    .op = step->op,
				    .attrs = &step->attrs,
				    .activation = step->activation,
				    .n_in = step->n_in,
				    .macs = node->macs};
	memset(t, 0, (size_t)step->n_in * sizeof *t);
	layer->out = &t[NPL_LAYER_INPUTS];
	*layer->out = (struct npl_tensor){
		.dtype = npl_session_dtype(s, format, step->out), .shape = step->y_shape, .quant = step->y_quant};
	layer->n_further = npl_step_further_results(s, i, layer->out);
	for (int k = 0; k < step->n_in; k++) {
		if (node->in[k] < 0)
			continue;
		const struct npl_value *value = &graph->value[node->in[k]];
		t[k] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (format != NPL_FORMAT_F32) {
			t[k].dtype = k == 1 && step->canonical   ? npl_format_weight_dtype(format)
				     : k == 2 && step->canonical ? NPL_I32
								 : npl_session_dtype(s, format, node->in[k]);
			t[k].quant = k == 0 || step->in_integers ? step->x_quant
								 : npl_session_quant(s, format, node->in[k]);
		}
		layer->in[k] = &t[k];
	}
	if (!step->canonical)
		return;
	t[0].shape = step->x_shape;
	if (layer->in[1] && npl_model_weight(node, &graph->value[node->in[1]], format)) {
		t[1].dtype = graph->value[node->in[1]].model_integers->dtype;
		t[1].quant.zero_point = graph->value[node->in[1]].model_integers->zero[0];
	}
	if (step->op == NPL_OP_GEMM) {
		t[1].shape = npl_shape_of(2, step->y_shape.dim[1], step->x_shape.dim[1]);
		if (layer->in[2])
			t[2].shape = npl_shape_of(1, step->y_shape.dim[1]);
	}
}

/* Says whether integers can stand for the step's tensors as calibration saw them: none held a NaN, or the device does
 * not compute in float32 too. If not, `reason` gets the text. */
static bool calibrated_without_nan(const struct npl_session *s, const struct npl_node *node,
				   const struct npl_step *step, char *reason, size_t reason_bytes)
{
	if (!s->range || !(npl_device_get_info(s->device[step->device])->capabilities & NPL_ALSO_FLOAT32))
		return true;
	for (int k = -1; k < step->n_in; k++) {
		int v = k < 0 ? step->out : node->in[k];
		if (v < 0 || !s->range[v].nan)
			continue;
		return npl_refuse(reason, reason_bytes, "its %s holds a NaN, which %s cannot hold",
				  k < 0 ? "result" : "input", npl_format_name(npl_step_format(s, step)));
	}
	return true;
}

/* Says whether integers can stand for all constants of the step: none has a NaN or, as a weight or bias, an infinity.
 * If not, `reason` gets the text, and the layer is computed in float32. */
static bool constants_are_finite(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
				 char *reason, size_t reason_bytes)
{
	for (int k = 0; k < step->n_in; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &s->graph->value[node->in[k]];
		const bool is_weight = k > 0 && step->canonical;
		if (!value || !(value->has_nan || (is_weight && value->has_infinity)))
			continue;
		return npl_refuse(reason, reason_bytes, "its %s '%.100s' holds %s, which %s cannot hold",
				  !is_weight ? "constant"
				  : k == 1   ? "weight"
					     : "bias",
				  value->name, value->has_nan ? "a NaN" : "an infinity",
				  npl_format_name(npl_step_format(s, step)));
	}
	return true;
}

/* Says whether all inputs and results of the step are float32; if not, `reason` gets the text. A device's integers
 * stand for floats, not for the graph's own integers and bools. */
static bool tensors_are_float32(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
				char *reason, size_t reason_bytes)
{
	const char *format = npl_format_name(npl_step_format(s, step));
	for (int k = 0; k < step->n_in; k++) {
		if (node->in[k] < 0)
			continue;
		const struct npl_value *value = &s->graph->value[node->in[k]];
		if (value->dtype == NPL_F32)
			continue;
		if (k && value->constant && !npl_is_half(value->dtype)) /* lengths, axes, picked rows */
			snprintf(reason, reason_bytes,
				 "its input '%.60s' is a constant of type %s, such as an axis, which no %s layer takes",
				 value->name, npl_dtype_name(value->dtype), format);
		else
			snprintf(reason, reason_bytes, "its input%s%.60s%s is %s, and only float32 becomes %s",
				 k ? " '" : "", k ? value->name : "", k ? "'" : "", npl_dtype_name(value->dtype),
				 format);
		return false;
	}
	if (s->graph->value[step->out].dtype == NPL_F32)
		return true;
	return npl_refuse(reason, reason_bytes, "its result is %s, and only float32 becomes %s",
			  npl_dtype_name(s->graph->value[step->out].dtype), format);
}

/* Says whether the node multiplies two computed matrices and the step's device does so in integers. */
static bool is_product(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step)
{
	return node->op == NPL_OP_MATMUL && !s->graph->value[node->in[0]].constant &&
	       !s->graph->value[node->in[1]].constant &&
	       (npl_device_get_info(s->device[step->device])->capabilities & NPL_INT8_MATMUL);
}

static bool limits_are_numbers(const struct npl_node *node, char *reason, size_t reason_bytes)
{
	if (node->op == NPL_OP_CLIP && (isnan(node->attrs.clip.min) || isnan(node->attrs.clip.max)))
		return npl_refuse(reason, reason_bytes, "one of its limits is NaN, which no integer stands for");
	return true;
}

static bool device_takes_step(const struct npl_session *s, int i, struct npl_step *step, char *reason,
			      size_t reason_bytes)
{
	const struct npl_node *node = &s->graph->node[i];
	struct npl_tensor *t = s->scratch;
	struct npl_layer layer;
	enum npl_format format = npl_step_format(s, step);
	if (step->n_in > NPL_LAYER_INPUTS)
		return npl_refuse(reason, reason_bytes, "a device takes at most %d inputs", NPL_LAYER_INPUTS);
	if (format != NPL_FORMAT_F32) {
		if (!constants_are_finite(s, node, step, reason, reason_bytes) ||
		    !calibrated_without_nan(s, node, step, reason, reason_bytes) ||
		    !tensors_are_float32(s, node, step, reason, reason_bytes) ||
		    !limits_are_numbers(node, reason, reason_bytes) ||
		    npl_model_refuses(s, node, step, reason, reason_bytes))
			return false;
		if ((npl_op_defs[node->op].flags & NPL_OP_IS_GEMM) && !step->canonical && !is_product(s, node, step)) {
			const struct npl_value *w = node->in[1] >= 0 ? &s->graph->value[node->in[1]] : NULL;
			return npl_refuse(reason, reason_bytes,
					  w && w->constant
						  ? "it is not rows times a constant matrix with one bias per column"
						  : "its second operand is computed, not a constant weight");
		}
	}
	describe_layer(s, i, step, t, &layer);
	return npl_device_supports(s->device[step->device], &layer, reason, reason_bytes) &&
	       !npl_stays_float(s, node, step, reason, reason_bytes);
}

/* Returns the node that may be done in the same pass as node i: an activation on the same device that alone reads node
 * i's result. -1: there is none. */
static int find_fusable_activation(const struct npl_session *s, int i, const int *place)
{
	const struct npl_graph *graph = s->graph;
	const bool takes_activation = npl_op_defs[graph->node[i].op].flags & NPL_OP_TAKES_ACTIVATION;
	int reader = takes_activation ? sole_reader(s, graph->node[i].out[0]) : -1;
	if (reader < 0 || graph->node[reader].in[0] != graph->node[i].out[0] || (place && place[reader] != place[i]))
		return -1;
	const struct npl_node *next = &graph->node[reader];
	return npl_activation_of(next->op, &next->attrs) == NPL_ACT_NONE ? -1 : reader;
}

/* Tries to do the node and the activation after it in one pass. Says whether the device takes that. */
static bool try_fusing(struct npl_session *s, int i, struct npl_step *step, const int *place)
{
	const struct npl_graph *graph = s->graph;
	char reason[200];
	int reader = find_fusable_activation(s, i, place);
	if (reader < 0 || (!step->canonical && npl_step_format(s, step) == NPL_FORMAT_F32))
		return false;
	struct npl_step fused_step = *step;
	fused_step.activation = npl_activation_of(graph->node[reader].op, &graph->node[reader].attrs);
	fused_step.out = graph->node[reader].out[0];
	s->range_of[fused_step.out] = fused_step.out;
	fused_step.y_quant = npl_session_quant(s, npl_step_format(s, step), fused_step.out);
	if (!device_takes_step(s, i, &fused_step, reason, sizeof reason))
		return false;
	*step = fused_step;
	s->step[reader] = (struct npl_step){.role = NPL_FUSED, .device = step->device, .out = fused_step.out};
	s->step[reader].note = npl_arena_printf(&s->arena, "in the same pass as %s", graph->node[i].name);
	return s->step[reader].note != NULL;
}

/* Returns how many inputs of the node a device of integers sees, without the lists and limits that are in the
 * attributes. */
static int data_inputs(const struct npl_node *node)
{
	const bool known = node->op != NPL_OP_CLIP || node->attrs.clip.known;
	return known && npl_op_defs[node->op].flags & NPL_OP_DATA_IN_FIRST ? 1 : node->n_in;
}

/* Says whether the node's results lie within the range of its input, zero included. */
static bool keeps_range(const struct npl_node *node)
{
	if (node->n_in == 0 || node->in[0] < 0)
		return false;
	if (node->op == NPL_OP_CLIP)
		return node->attrs.clip.known && node->attrs.clip.min <= 0 && node->attrs.clip.max >= 0;
	return npl_op_defs[node->op].flags & NPL_OP_KEEPS_RANGE;
}

/* Returns the device on which the rules place node i; without rules device 0 has all. */
static int device_of(const int *place, int i)
{
	return place ? place[i] : 0;
}

/* Returns the plain step of node i on a device or the host, as it is before the device is asked. in_float32: it runs in
 * float32, whatever the device's format is. */
static struct npl_step plain_step(const struct npl_session *s, int i, int device, bool in_float32)
{
	const struct npl_node *node = &s->graph->node[i];
	struct npl_step step = {.role = NPL_RAN,
				.device = device,
				.in_float32 = in_float32,
				.out = node->out[0],
				.op = node->op,
				.n_in = node->n_in,
				.attrs = node->attrs,
				.y_shape = s->graph->value[node->out[0]].shape};
	if (npl_step_format(s, &step) == NPL_FORMAT_F32)
		return step;
	step.n_in = data_inputs(node);
	if (node->op == NPL_OP_SUM && node->n_in == 2) {
		step.op = NPL_OP_ADD;
		step.attrs = (struct npl_attrs){
			.op = NPL_OP_ADD, .opset = node->attrs.opset < 7 ? 7 : node->attrs.opset, .binary.axis = -1};
	}
	return step;
}

/* Says whether the device of Concat node i takes it with inputs that have the scale of its output. */
static bool takes_concat(const struct npl_session *s, int i, const int *place)
{
	struct npl_step step = plain_step(s, i, device_of(place, i), false);
	struct npl_tensor *t = s->scratch;
	struct npl_layer layer;
	char reason[200];
	enum npl_format format = npl_step_format(s, &step);
	if (format == NPL_FORMAT_F32 || step.n_in > NPL_LAYER_INPUTS || s->graph->value[step.out].dtype != NPL_F32)
		return false;
	step.y_quant = npl_session_quant(s, format, step.out);
	describe_layer(s, i, &step, t, &layer);
	for (int k = 0; k < step.n_in; k++)
		t[k].quant = step.y_quant;
	return npl_device_supports(s->device[step.device], &layer, reason, sizeof reason);
}

/* For every Concat that its device takes, makes the inputs, and the values that they are picked from, share the scale
 * of the output. */
static void join_concats(struct npl_session *s, const int *place)
{
	const struct npl_graph *graph = s->graph;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		if (node->op != NPL_OP_CONCAT || !takes_concat(s, i, place))
			continue;
		for (int k = 0; k < node->n_in; k++) {
			int v = node->in[k], producer = graph->value[v].producer;
			npl_ranges_join(s, node->out[0], v);
			while (producer >= 0 && keeps_range(&graph->node[producer]) &&
			       (!place || place[producer] >= 0)) {
				v = graph->node[producer].in[0];
				int previous = graph->value[v].producer;
				if (previous >= 0 && find_fusable_activation(s, previous, place) == producer)
					break; /* the producer is fused into the pass that computes v */
				npl_ranges_join(s, node->out[0], v);
				producer = previous;
			}
		}
	}
}

/* Plans an operator that only picks from the model's own integers. Returns false, with the reason in `reason`, when the
 * device does not take it. */
static bool plan_pick(const struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes)
{
	struct npl_layer layer;
	if (step->n_in > NPL_LAYER_INPUTS)
		return npl_refuse(reason, reason_bytes, "it has too many inputs");
	step->in_integers = true;
	step->y_quant = step->x_quant;
	describe_layer(s, i, step, s->scratch, &layer);
	return step->in_integers = npl_device_supports(s->device[step->device], &layer, reason, reason_bytes);
}

/* Fills the step of node i for its device. Returns false when the device does not run it so, with the reason in
 * `reason`, or after an error, with its code in err->code. */
static bool plan_on_device(struct npl_session *s, int i, const int *place, char *reason, size_t reason_bytes,
			   struct npl_err *err)
{
	const struct npl_node *node = &s->graph->node[i];
	struct npl_step *step = &s->step[i];
	enum npl_format format = npl_step_format(s, step);
	step->canonical = npl_step_canonical(s->graph, node, step);
	if (format != NPL_FORMAT_F32 && node->n_in && node->in[0] >= 0)
		step->x_quant = npl_session_quant(s, format, node->in[0]);
	step->y_quant = npl_session_quant(s, format, step->out);
	if (npl_split_is(s, i, step) && !npl_model_refuses(s, node, step, reason, reason_bytes))
		return !npl_stays_float(s, node, step, reason, reason_bytes) &&
		       npl_split_plan(s, i, step, reason, reason_bytes, err);
	if (!step->in_float32 && npl_model_product_is(s, i, step))
		return npl_model_product_plan(s, i, step, reason, reason_bytes, err);
	if (npl_model_picks(s, i, step))
		return plan_pick(s, i, step, reason, reason_bytes);
	if (npl_lrn_is_split(s, i, step))
		return npl_lrn_plan(s, i, step, reason, reason_bytes);
	return try_fusing(s, i, step, place) || device_takes_step(s, i, step, reason, reason_bytes);
}

/* Plans node i as the graph has it, on a device that, for the reason `refusal`, does not run it in its own way. Returns
 * false when the device does not take it so either, or after an error, with its code in err->code. */
static bool plan_unchanged(struct npl_session *s, int i, const int *place, const char *refusal, struct npl_err *err)
{
	struct npl_step *step = &s->step[i];
	const struct npl_device_info *info = npl_device_get_info(s->device[step->device]);
	char reason[200];
	if (info->format == NPL_FORMAT_F32 ? !npl_model_product_is(s, i, step)
					   : !(info->capabilities & NPL_ALSO_FLOAT32))
		return false;
	*step = plain_step(s, i, step->device, true);
	s->range_of[step->out] = step->out;
	if (!plan_on_device(s, i, place, reason, sizeof reason, err))
		return false;
	const bool is_integer_device = info->capabilities & NPL_ALSO_FLOAT32;
	step->note = npl_arena_strdup(&s->arena, refusal);
	if (step->note && is_integer_device) {
		step->float32_reason = step->note;
		step->note = npl_arena_printf(&s->arena, "in float32: %s", refusal);
	}
	if (!step->note)
		npl_no_memory(err);
	return step->note != NULL;
}

/* Notes the scales of a node that its device takes in the model's own integers: those of the results and, if it is not
 * known yet, that of the first operand. */
static void note_model_scales(struct npl_session *s, const struct npl_node *node, const struct npl_step *step)
{
	struct npl_model_quant *value = s->model.value;
	if (step->canonical && !(value[node->in[0]].quant.scale > 0))
		value[node->in[0]].quant = step->x_quant;
	for (int k = 0; k < node->n_out; k++)
		if (node->out[k] >= 0)
			value[node->out[k]].quant = step->y_quant;
}

static int plan_node(struct npl_session *s, int i, const int *place, struct npl_err *err)
{
	const struct npl_node *node = &s->graph->node[i];
	struct npl_step *step = &s->step[i];
	if (step->role == NPL_FUSED)
		return 0;
	*step = plain_step(s, i, device_of(place, i), false);
	if (keeps_range(node) && s->model.value[step->out].integers < 0)
		s->range_of[step->out] = s->range_of[node->in[0]];
	if (npl_model_quant_resolve(&s->model, i)) {
		step->role = NPL_VIEW;
		step->note = "the model's own quantisation";
		return 0;
	}
	if (npl_is_view(s->graph, node)) {
		step->role = NPL_VIEW;
		return 0;
	}
	if (step->device == NPL_ON_HOST) {
		step->note = "placed there";
		s->range_of[step->out] = step->out;
		return 0;
	}
	char reason[200] = "";
	struct npl_err failed = {0};
	bool runs = plan_on_device(s, i, place, reason, sizeof reason, &failed) ||
		    (!failed.code && plan_unchanged(s, i, place, reason, &failed));
	if (failed.code)
		return npl_fail(err, failed.code, "node '%s': %s", node->name, failed.msg);
	if (runs && step->in_integers)
		note_model_scales(s, node, step);
	if (runs)
		return step->canonical && !step->in_integers && !s->options.timing_only
			       ? npl_step_weights(s, node, step, err)
			       : 0;
	*step = plain_step(s, i, NPL_ON_HOST, false);
	s->range_of[step->out] = step->out;
	step->note = npl_arena_strdup(&s->arena, *reason ? reason : "the device does not run it");
	return step->note ? 0 : npl_no_memory(err);
}

int npl_plan(struct npl_session *s, const int *place, struct npl_err *err)
{
	int rc = 0;
	join_concats(s, place);
	for (int i = 0; i < s->graph->n_nodes && !rc; i++) {
		npl_progress_step("planning layer", i + 1, s->graph->n_nodes, s->graph->node[i].name);
		rc = plan_node(s, i, place, err);
	}
	return rc;
}
