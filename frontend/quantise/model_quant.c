/* SPDX-License-Identifier: MIT
 *
 * The pass that finds a model's own quantisation (model_quant.h). */
#include "model_quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "npulab/session.h"

bool npl_is_view(const struct npl_graph *graph, const struct npl_node *node)
{
	bool reads_second = node->n_out > 1 && node->out[1] >= 0 && graph->value[node->out[1]].uses > 0;
	return (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW) && !reads_second;
}

int npl_root_of(const struct npl_graph *graph, int v)
{
	for (int i; (i = graph->value[v].producer) >= 0 && npl_is_view(graph, &graph->node[i]);)
		v = graph->node[i].in[0];
	return v;
}

bool npl_is_scale(float scale)
{
	return isfinite(scale) && scale > 0;
}

struct npl_value *npl_operand(const struct npl_operands *operands, int k)
{
	const struct npl_node *node = operands->node;
	const int v = k >= 0 && k < node->n_in ? node->in[k] : -1;
	return v < 0 ? NULL : &operands->graph->value[v];
}

const void *npl_operand_constant(const struct npl_operands *operands, int k, const char *operand_name)
{
	struct npl_value *value = npl_operand(operands, k);
	if (!value->constant) {
		snprintf(operands->reason, operands->n, "its %s is computed, not a constant", operand_name);
		return NULL;
	}
	return npl_value_data(operands->graph, value, operands->err);
}

bool npl_operand_zero(const struct npl_operands *operands, int k, const char *operand_name, int32_t *zero)
{
	const struct npl_value *value = npl_operand(operands, k);
	*zero = 0;
	if (!value)
		return true;
	const void *data = npl_operand_constant(operands, k, operand_name);
	int64_t count = npl_shape_count(&value->shape);
	for (int64_t i = 0; data && i < count; i++) {
		int32_t z = value->dtype == NPL_I8 ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
		if (i && z != *zero)
			return npl_refuse(operands->reason, operands->n,
					  "its zero points differ from channel to channel");
		*zero = z;
	}
	return data != NULL;
}

/* Refuses scales that are 0, below 0 or not finite: they are left to ONNX's own arithmetic, in floats. */
bool npl_operand_scale(const struct npl_operands *operands, int k, const char *operand_name, float *scale,
		       const float **channel_scales)
{
	const struct npl_value *value = npl_operand(operands, k);
	*scale = 1;
	if (!value)
		return true;
	if (value->dtype != NPL_F32)
		return npl_refuse(operands->reason, operands->n, "a scale is not float32");
	const float *data = npl_operand_constant(operands, k, operand_name);
	int64_t count = npl_shape_count(&value->shape);
	if (!data || !count)
		return data && npl_refuse(operands->reason, operands->n, "a scale is empty");
	for (int64_t i = 0; i < count; i++)
		if (!npl_is_scale(data[i]))
			return npl_refuse(operands->reason, operands->n,
					  "its %s '%.60s' is %g, and the rule on integers takes finite numbers above 0",
					  operand_name, value->name, (double)data[i]);
	*scale = data[0];
	if (count > 1 && !channel_scales)
		return npl_refuse(operands->reason, operands->n, "its first operand has a scale per row");
	if (count > 1)
		*channel_scales = data;
	return true;
}

/* Sets *real to the root of the float value, and *integers to the integer value, of a QuantizeLinear or
 * DequantizeLinear. */
static void two_sides(const struct npl_graph *graph, const struct npl_node *node, int *real, int *integers)
{
	const bool is_dequantise = node->op == NPL_OP_DEQUANTIZELINEAR;
	*real = npl_root_of(graph, is_dequantise ? node->out[0] : node->in[0]);
	*integers = is_dequantise ? node->in[0] : node->out[0];
}

/* Reads scale and zero point of a QuantizeLinear or DequantizeLinear between float32 and 8-bit integers. Returns false
 * for any other node, for a constant input, and if the scale or zero point is computed or not one for all elements. */
static bool read_quant(struct npl_graph *graph, const struct npl_node *node, struct npl_quant *quant,
		       struct npl_err *err)
{
	char reason[200];
	const struct npl_operands operands = {graph, node, reason, sizeof reason, err};
	const bool is_dequantise = node->op == NPL_OP_DEQUANTIZELINEAR;
	if (!is_dequantise && node->op != NPL_OP_QUANTIZELINEAR)
		return false;
	const struct npl_value *in = &graph->value[node->in[0]], *out = &graph->value[node->out[0]];
	return !in->constant && (is_dequantise ? out : in)->dtype == NPL_F32 &&
	       npl_is_byte((is_dequantise ? in : out)->dtype) &&
	       npl_operand_scale(&operands, 1, "scale", &quant->scale, NULL) &&
	       npl_operand_zero(&operands, 2, "zero point", &quant->zero_point);
}

/* Notes what node i says of its float value. The first node that says which integers stand for the value decides. A
 * later QuantizeLinear that says the same makes the same integers. */
static void note_quant(struct npl_model_quants *model, int i, const struct npl_quant *quant)
{
	const struct npl_graph *graph = model->graph;
	int real, integers;
	two_sides(graph, &graph->node[i], &real, &integers);
	const bool quantises = graph->node[i].op == NPL_OP_QUANTIZELINEAR;
	const enum npl_dtype dtype = graph->value[integers].dtype;
	struct npl_model_quant *value_quant = &model->value[real];
	const bool first = value_quant->integers < 0;
	model->quantises |= quantises;
	if (first)
		*value_quant = (struct npl_model_quant){*quant, dtype, integers, true};
	if (first || (quantises && value_quant->dtype == dtype && npl_quant_equal(&value_quant->quant, quant)))
		model->node[i] = quantises ? NPL_QUANTISES : NPL_DEQUANTISES;
}

/* Clears only_integers of the float values that are also read as floats. */
static void find_float_readers(struct npl_model_quants *model)
{
	const struct npl_graph *graph = model->graph;
	for (int o = 0; o < graph->n_outputs; o++)
		model->value[npl_root_of(graph, graph->output[o])].only_integers = false;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		for (int k = 0; k < node->n_in && !npl_is_view(graph, node); k++)
			if (node->in[k] >= 0 && !(k == 0 && model->node[i] == NPL_QUANTISES))
				model->value[npl_root_of(graph, node->in[k])].only_integers = false;
	}
}

/* Notes the constants that the model has as 8-bit integers with one scale and one zero point. */
static void note_constants(struct npl_model_quants *model)
{
	for (int v = 0; v < model->graph->n_values; v++) {
		const struct npl_model_integers *from = model->graph->value[v].model_integers;
		if (from && model->graph->value[v].constant && model->value[v].integers < 0 && from->parts == 1 &&
		    npl_is_byte(from->dtype) && npl_is_scale(from->scale[0]))
			model->value[v] = (struct npl_model_quant){
				{from->scale[0], from->zero[0], NULL}, from->dtype, -1, false};
	}
}

int npl_model_quants_find(struct npl_graph *graph, const int *place, const bool *takes_int8,
			  struct npl_model_quants *model, struct npl_err *err)
{
	*model = (struct npl_model_quants){
		.graph = graph,
		.value = calloc((size_t)graph->n_values + 1, sizeof *model->value),
		.node = calloc((size_t)graph->n_nodes + 1, sizeof *model->node),
	};
	if (!model->value || !model->node)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	for (int v = 0; v < graph->n_values; v++)
		model->value[v].integers = -1;
	for (int i = 0; i < graph->n_nodes; i++) {
		struct npl_quant quant = {0};
		struct npl_err failed = {0};
		const int device = place ? place[i] : 0;
		const bool known = device != NPL_ON_HOST && takes_int8[device] &&
				   read_quant(graph, &graph->node[i], &quant, &failed);
		if (failed.code)
			return npl_fail(err, failed.code, "node '%s': %s", graph->node[i].name, failed.msg);
		if (known)
			note_quant(model, i, &quant);
	}
	find_float_readers(model);
	note_constants(model);
	return 0;
}

void npl_model_quants_free(struct npl_model_quants *model)
{
	free(model->value);
	free(model->node);
}

struct npl_quant npl_model_quant_of(const struct npl_model_quants *model, int v)
{
	return model->value[v].quant.scale > 0 ? model->value[v].quant : (struct npl_quant){.scale = 1};
}

enum npl_quant_node npl_model_quant_resolve(struct npl_model_quants *model, int i)
{
	int real, integers;
	if (!model->node[i])
		return NPL_NO_QUANT_NODE;
	two_sides(model->graph, &model->graph->node[i], &real, &integers);
	struct npl_model_quant *value_quant = &model->value[real], *integer_quant = &model->value[integers];
	if (!(value_quant->quant.scale > 0) ||
	    (integer_quant->quant.scale > 0 && !npl_quant_equal(&integer_quant->quant, &value_quant->quant))) {
		*value_quant = (struct npl_model_quant){.integers = -1};
		return model->node[i] = NPL_NO_QUANT_NODE;
	}
	integer_quant->quant = value_quant->quant;
	return model->node[i];
}

/* Says whether each result is one of the input's elements, or zero. */
static bool only_picks(const struct npl_node *node)
{
	return (npl_op_defs[node->op].flags & NPL_OP_KEEPS_RANGE) && node->op != NPL_OP_AVERAGEPOOL &&
	       node->op != NPL_OP_GLOBALAVERAGEPOOL && node->op != NPL_OP_REDUCEMEAN && node->op != NPL_OP_UPSAMPLE;
}

bool npl_model_quant_is_given(const struct npl_model_quants *model, int v)
{
	const struct npl_graph *graph = model->graph;
	for (;;) {
		v = npl_root_of(graph, v);
		const int producer = graph->value[v].producer;
		if (producer < 0)
			return graph->value[v].constant && model->value[v].quant.scale > 0;
		const struct npl_node *node = &graph->node[producer];
		if (node->op == NPL_OP_DEQUANTIZELINEAR)
			return model->node[producer] == NPL_DEQUANTISES;
		if (!only_picks(node) || model->value[v].integers >= 0)
			return false;
		v = node->in[0];
	}
}

bool npl_model_quant_is_wanted(const struct npl_model_quants *model, const struct npl_node *node, int v)
{
	const struct npl_model_quant *value_quant = &model->value[npl_root_of(model->graph, v)];
	return value_quant->quant.scale > 0 ? value_quant->only_integers
					    : only_picks(node) && npl_model_quant_is_given(model, node->in[0]);
}
