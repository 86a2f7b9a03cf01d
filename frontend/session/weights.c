/* SPDX-License-Identifier: MIT
 *
 * Canonical forms, so that a device knows only two cases: Conv with constant weights as it is, and every product of
 * rows by a constant matrix as one Gemm with weights (N,K). Weights are brought to the device's number format once per
 * session. */
#include <stdlib.h>
#include <string.h>

#include "frontend/quantise/quantise.h"
#include "model_layer.h"

static const struct npl_value *input_value(const struct npl_graph *graph, const struct npl_node *node, int i)
{
	return i < node->n_in && node->in[i] >= 0 ? &graph->value[node->in[i]] : NULL;
}

/* Says whether the bias adds one number per output channel, as (N) or (1,...,1,N), or is absent. */
static bool bias_fits(const struct npl_value *bias, int64_t channels)
{
	if (!bias)
		return true;
	if (!bias->constant || bias->dtype != NPL_F32 || npl_shape_count(&bias->shape) != channels)
		return false;
	return bias->shape.rank >= 1 && bias->shape.dim[bias->shape.rank - 1] == channels;
}

bool npl_step_canonical(const struct npl_graph *graph, const struct npl_node *node, struct npl_step *step)
{
	const struct npl_value *x = input_value(graph, node, 0), *w = input_value(graph, node, 1),
			       *bias = input_value(graph, node, 2), *y = &graph->value[node->out[0]];
	if (!(npl_op_defs[node->op].flags & NPL_OP_IS_GEMM) || !x || !w || x->constant || !w->constant ||
	    w->dtype != NPL_F32 || x->dtype != NPL_F32)
		return false;
	step->op = node->op;
	step->attrs = node->attrs;
	step->x_shape = x->shape;
	step->y_shape = y->shape;
	if (node->op == NPL_OP_CONV)
		return bias_fits(bias, w->shape.dim[0]);
	const bool gemm = node->op == NPL_OP_GEMM, transposed = gemm && node->attrs.gemm.trans_b;
	if (w->shape.rank != 2 || x->shape.rank < 2 || (gemm && node->attrs.gemm.trans_a))
		return false;
	int64_t k = w->shape.dim[transposed ? 1 : 0], n = w->shape.dim[transposed ? 0 : 1],
		rows = npl_shape_count(&x->shape);
	if (k == 0 || rows % k || !bias_fits(bias, n))
		return false;
	step->op = NPL_OP_GEMM;
	step->attrs = (struct npl_attrs){
		.op = NPL_OP_GEMM, .opset = node->attrs.opset, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	step->x_shape = npl_shape_of(2, rows / k, k);
	step->y_shape = npl_shape_of(2, rows / k, n);
	return true;
}

/* Makes w the weight in float32 as the device wants it: (N,K) times alpha for Gemm and MatMul. w owns its data only if
 * a copy was needed; otherwise it borrows the graph's. */
static int float_weight(const struct npl_node *node, const struct npl_value *value, const float *data,
			struct npl_tensor *w, struct npl_err *err)
{
	bool gemm = node->op == NPL_OP_GEMM, transposed = gemm && node->attrs.gemm.trans_b;
	float alpha = gemm ? node->attrs.gemm.alpha : 1;
	*w = (struct npl_tensor){.name = value->name, .dtype = NPL_F32, .shape = value->shape, .data = (void *)data};
	if (node->op == NPL_OP_CONV || (transposed && alpha == 1))
		return 0;
	int64_t k = value->shape.dim[transposed ? 1 : 0], n = value->shape.dim[transposed ? 0 : 1];
	w->shape = npl_shape_of(2, n, k);
	if (npl_tensor_alloc(w, err))
		return err->code;
	float *out = w->data;
	enum { BLOCK = 32 }; /* both sides of the transposition stay in L1 */
	for (int64_t i0 = 0; i0 < n; i0 += BLOCK)
		for (int64_t j0 = 0; j0 < k; j0 += BLOCK)
			for (int64_t i = i0; i < i0 + BLOCK && i < n; i++)
				for (int64_t j = j0; j < j0 + BLOCK && j < k; j++)
					out[i * k + j] = alpha * (transposed ? data[i * k + j] : data[j * n + i]);
	return 0;
}

static int float_bias(const struct npl_node *node, const struct npl_value *value, const float *data,
		      struct npl_tensor *bias, struct npl_err *err)
{
	float beta = node->op == NPL_OP_GEMM ? node->attrs.gemm.beta : 1;
	*bias = (struct npl_tensor){
		.name = value->name, .dtype = NPL_F32, .shape = npl_shape_of(1, npl_shape_count(&value->shape))};
	if (npl_tensor_alloc(bias, err))
		return err->code;
	for (int64_t i = 0; i < bias->shape.dim[0]; i++)
		((float *)bias->data)[i] = beta * data[i];
	return 0;
}

static int prepare_bias(struct npl_session *s, const struct npl_node *node, struct npl_step *step, struct npl_err *err)
{
	if (node->n_in < 3 || node->in[2] < 0)
		return 0;
	struct npl_value *value = &s->graph->value[node->in[2]];
	struct npl_tensor bias;
	if (npl_model_bias(node, value, step)) {
		step->bias = (struct npl_tensor){.name = value->name,
						 .dtype = NPL_I32,
						 .shape = npl_shape_of(1, npl_shape_count(&value->shape)),
						 .data = (void *)value->model_integers->data};
		return 0;
	}
	const float *data = npl_value_data(s->graph, value, err);
	if (!data || float_bias(node, value, data, &bias, err))
		return err->code;
	if (npl_step_format(s, step) == NPL_FORMAT_F32) {
		step->bias = bias;
		return 0;
	}
	int rc = npl_quantise_bias(&bias, &step->x_quant, &step->weight.quant, &step->bias, &step->clipped, err);
	npl_tensor_free(&bias);
	return rc;
}

/* Quantises the weights to integers, with scales large enough for the float bias after them to fit. */
static int quantise_to_integers(struct npl_session *s, const struct npl_node *node, const struct npl_tensor *w,
				struct npl_step *step, struct npl_err *err)
{
	const int64_t channels = w->shape.dim[0];
	struct npl_value *value = node->n_in < 3 || node->in[2] < 0 ? NULL : &s->graph->value[node->in[2]];
	const bool is_float = value && !npl_model_bias(node, value, step);
	const float *data = is_float ? npl_value_data(s->graph, value, err) : NULL;
	struct npl_tensor bias = {0};
	float *least_scale = calloc((size_t)channels + 1, sizeof *least_scale);
	const bool per_channel = npl_format_per_channel(npl_step_format(s, step));
	if (per_channel)
		step->channel_scale = calloc((size_t)channels + 1, sizeof *step->channel_scale);
	int rc = (step->channel_scale || !per_channel) && least_scale
			 ? 0
			 : npl_fail(err, NPL_ENOMEM, "weights of '%s': out of memory", node->name);
	if (!rc && is_float && (!data || float_bias(node, value, data, &bias, err)))
		rc = err->code;
	for (int64_t c = 0; c < channels && bias.data; c++)
		least_scale[c] = npl_quantise_bias_scale(((const float *)bias.data)[c], &step->x_quant);
	if (!rc)
		rc = npl_quantise_weight(w, npl_step_format(s, step), least_scale, step->channel_scale, &step->weight,
					 err);
	npl_tensor_free(&bias);
	free(least_scale);
	return rc;
}

/* Prepares the step's weights from the graph's floats, in the device's format. */
static int quantise_weight(struct npl_session *s, const struct npl_node *node, struct npl_value *value,
			   struct npl_step *step, struct npl_err *err)
{
	enum npl_format format = npl_step_format(s, step);
	const float *data = npl_value_data(s->graph, value, err);
	struct npl_tensor w;
	if (!data || float_weight(node, value, data, &w, err))
		return err->code;
	if (format == NPL_FORMAT_F32) {
		step->weight = w;
		return 0;
	}
	if (format == NPL_FORMAT_Q16 && s->options.q16_plain) {
		int plain_rc = npl_quantise_weight_plain(&w, &step->weight, &step->clipped, err);
		npl_tensor_free(&w);
		return plain_rc;
	}
	int rc = quantise_to_integers(s, node, &w, step, err);
	npl_tensor_free(&w);
	return rc;
}

int npl_step_weights(struct npl_session *s, const struct npl_node *node, struct npl_step *step, struct npl_err *err)
{
	struct npl_value *value = &s->graph->value[node->in[1]];
	int rc = npl_model_weight(node, value, npl_step_format(s, step)) ? npl_model_take_weight(node, value, step, err)
									 : quantise_weight(s, node, value, step, err);
	return rc ? rc : prepare_bias(s, node, step, err);
}
