/* SPDX-License-Identifier: MIT
 *
 * Layers of integers that the model itself has (model_layer.h). */
#include "model_layer.h"

#include <math.h>
#include <stdio.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/ops/integer_inputs.h"

static const struct npl_device_info *info_of(const struct npl_session *s, const struct npl_step *step)
{
	return npl_device_get_info(s->device[step->device]);
}

static bool has_integers(const struct npl_session *s, const struct npl_step *step)
{
	return step->device != NPL_ON_HOST && info_of(s, step)->capabilities & NPL_TAKES_INT8;
}

bool npl_model_product_is(const struct npl_session *s, int i, const struct npl_step *step)
{
	return has_integers(s, step) && npl_integer_inputs_of(s->graph->node[i].op);
}

bool npl_model_picks(const struct npl_session *s, int i, const struct npl_step *step)
{
	const struct npl_node *node = &s->graph->node[i];
	const bool picks = npl_op_defs[node->op].flags & NPL_OP_PICKS;
	return picks && has_integers(s, step) && npl_step_format(s, step) != NPL_FORMAT_F32 && node->n_out <= 1 &&
	       npl_is_byte(s->graph->value[node->in[0]].dtype);
}

/* What all steps of planning a product need. */
struct product {
	struct npl_session *s;
	const struct npl_integer_inputs *integer_inputs;
	struct npl_operands operands;
};

static struct npl_value *input(const struct product *p, int k)
{
	return npl_operand(&p->operands, k);
}

static bool refuse(const struct product *p, const char *reason)
{
	return npl_refuse(p->operands.reason, p->operands.n, "%s", reason);
}

static bool read_quants(const struct product *p, struct npl_step *step, struct npl_quant *w)
{
	const struct npl_operands *operands = &p->operands;
	struct npl_quant *x = &step->x_quant, *y = &step->y_quant;
	*x = *y = *w = (struct npl_quant){0};
	if (!npl_operand_scale(operands, p->integer_inputs->a_scale, "input scale", &x->scale, NULL) ||
	    !npl_operand_zero(operands, p->integer_inputs->a_zero, "input zero point", &x->zero_point) ||
	    !npl_operand_scale(operands, p->integer_inputs->b_scale, "weight scale", &w->scale, &w->channel_scale) ||
	    !npl_operand_zero(operands, p->integer_inputs->b_zero, "weight zero point", &w->zero_point))
		return false;
	return p->integer_inputs->y_scale < 0 ||
	       (npl_operand_scale(operands, p->integer_inputs->y_scale, "output scale", &y->scale, NULL) &&
		npl_operand_zero(operands, p->integer_inputs->y_zero, "output zero point", &y->zero_point));
}

/* Transposes a stack of (K,N) matrices of bytes into w, as (N,K) matrices one below the other. */
static int transpose(const struct npl_value *value, const void *data, struct npl_tensor *w, struct npl_err *err)
{
	const unsigned char *from = data;
	int64_t k = value->shape.dim[value->shape.rank - 2], n = value->shape.dim[value->shape.rank - 1],
		matrices = w->shape.dim[0] / n;
	if (npl_tensor_alloc(w, err))
		return err->code;
	unsigned char *to = w->data;
	for (int64_t m = 0; m < matrices; m++, from += k * n, to += k * n)
		for (int64_t i = 0; i < k; i++)
			for (int64_t j = 0; j < n; j++)
				to[j * k + i] = from[i * n + j];
	return 0;
}

/* Gives the step the shapes of a product of rows by one constant matrix, or of a stack of matrices by as many. Refuses
 * operands that broadcast in another way. */
static bool shape_matmul(const struct product *p, struct npl_step *step)
{
	const struct npl_value *x = input(p, p->integer_inputs->a), *w = input(p, p->integer_inputs->b),
			       *y = &p->s->graph->value[p->operands.node->out[0]];
	if (w->shape.rank < 2)
		return refuse(p, "its second operand is a vector");
	int64_t k = w->shape.dim[w->shape.rank - 2], n = w->shape.dim[w->shape.rank - 1],
		matrices = k && n ? npl_shape_count(&w->shape) / (k * n) : 0,
		rows = k ? npl_shape_count(&x->shape) / k : 0;
	bool stacked = x->shape.rank == w->shape.rank;
	for (int d = 0; d < w->shape.rank - 2; d++)
		stacked = stacked && x->shape.dim[d] == w->shape.dim[d];
	if (!rows || !matrices)
		return refuse(p, "an operand is empty");
	if (matrices > 1 && (!stacked || rows % matrices))
		return refuse(p, "its operands broadcast over a stack of matrices");
	if (npl_shape_count(&y->shape) != rows * n)
		return refuse(p, "its first operand broadcasts");
	step->n_products = (int)matrices;
	step->op = NPL_OP_GEMM;
	step->attrs = (struct npl_attrs){.op = NPL_OP_GEMM,
					 .opset = p->operands.node->attrs.opset,
					 .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	step->x_shape = npl_shape_of(2, rows / matrices, k);
	step->y_shape = npl_shape_of(2, rows / matrices, n);
	step->weight.shape = npl_shape_of(2, n * matrices, k);
	return true;
}

static bool shape_product(const struct product *p, struct npl_step *step)
{
	const struct npl_value *x = input(p, p->integer_inputs->a), *w = input(p, p->integer_inputs->b),
			       *y = &p->s->graph->value[p->operands.node->out[0]];
	step->weight = (struct npl_tensor){.name = w->name, .dtype = w->dtype, .shape = w->shape};
	if (p->operands.node->op == NPL_OP_QLINEARMATMUL || p->operands.node->op == NPL_OP_MATMULINTEGER)
		return shape_matmul(p, step);
	step->op = NPL_OP_CONV;
	step->attrs = p->operands.node->attrs;
	step->x_shape = x->shape;
	step->y_shape = y->shape;
	return true;
}

/* Gives the step its weight and bias, as they are or transposed, without data in timing_only. Refuses computed ones. */
static bool set_weights(const struct product *p, struct npl_step *step)
{
	const struct npl_value *w = input(p, p->integer_inputs->b), *bias = input(p, p->integer_inputs->bias);
	if (!w->constant)
		return refuse(p, "its second operand is computed, not a constant weight");
	if (bias && !bias->constant)
		return refuse(p, "its bias is computed, not a constant");
	if (bias)
		step->bias = (struct npl_tensor){.name = bias->name, .dtype = bias->dtype, .shape = bias->shape};
	if (p->s->options.timing_only)
		return true;
	const void *data = npl_operand_constant(&p->operands, p->integer_inputs->b, "second operand");
	if (!data)
		return false;
	if (step->op == NPL_OP_GEMM && transpose(w, data, &step->weight, p->operands.err))
		return false;
	if (step->op == NPL_OP_CONV)
		step->weight.data = (void *)data;
	if (bias)
		step->bias.data = (void *)npl_operand_constant(&p->operands, p->integer_inputs->bias, "bias");
	return !bias || step->bias.data;
}

/* Asks the device whether it takes the step's first product. */
static bool ask(const struct product *p, const struct npl_step *step)
{
	const struct npl_value *x = input(p, p->integer_inputs->a);
	struct npl_tensor in = {.name = x->name, .dtype = x->dtype, .shape = step->x_shape, .quant = step->x_quant};
	struct npl_tensor w = step->weight;
	struct npl_step_tensors t;
	struct npl_layer layer;
	npl_step_layer(p->s, (int)(p->operands.node - p->s->graph->node), &t, &layer);
	if (step->n_products > 1)
		w.shape.dim[0] /= step->n_products;
	layer.in[0] = &in;
	layer.in[1] = &w;
	return npl_device_supports(p->s->device[step->device], &layer, p->operands.reason, p->operands.n);
}

static bool plan_product(const struct product *p, struct npl_step *step)
{
	struct npl_quant w;
	if (input(p, p->integer_inputs->a)->constant)
		return refuse(p, "its first operand is a constant");
	if (!shape_product(p, step) || !read_quants(p, step, &w) || !set_weights(p, step))
		return false;
	step->weight.quant = w;
	step->canonical = true;
	step->n_in = 3;
	return ask(p, step);
}

bool npl_model_product_plan(struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes,
			    struct npl_err *err)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct product p = {s, npl_integer_inputs_of(node->op), {s->graph, node, reason, reason_bytes, err}};
	step->in_integers = true;
	if (plan_product(&p, step))
		return true;
	npl_tensor_free(&step->weight);
	step->weight = step->bias = (struct npl_tensor){0};
	step->in_integers = false;
	step->n_products = 0;
	return false;
}

/* Says whether the step stays in float32, on a device that also computes in it, because the model has the result, an
 * operand or the weights in float32. The reason goes to `reason`. */
static bool keeps_float(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			char *reason, size_t reason_bytes)
{
	const bool product = npl_op_defs[node->op].flags & NPL_OP_IS_GEMM;
	if (!(info_of(s, step)->capabilities & NPL_ALSO_FLOAT32) || s->graph->value[step->out].dtype != NPL_F32)
		return false;
	if (!npl_model_quant_is_wanted(&s->model, node, step->out))
		return !npl_refuse(reason, reason_bytes, "the model has its result in float32");
	for (int k = 0; k < step->n_in; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &s->graph->value[node->in[k]];
		if (value && !(value->constant && product) && value->dtype == NPL_F32 &&
		    !npl_model_quant_is_given(&s->model, node->in[k]))
			return !npl_refuse(reason, reason_bytes, "the model has an operand in float32");
		if (value && value->constant && product && k == 1 && !npl_model_weight(node, value, NPL_FORMAT_INT8))
			return !npl_refuse(reason, reason_bytes, "the model has its weights in float32");
	}
	return false;
}

bool npl_model_refuses(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
		       char *reason, size_t reason_bytes)
{
	if (!s->model.quantises || npl_step_format(s, step) != NPL_FORMAT_INT8)
		return false;
	if (keeps_float(s, node, step, reason, reason_bytes))
		return true;
	for (int k = 0; k < step->n_in; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &s->graph->value[node->in[k]];
		if (!value || !value->constant || !value->model_integers || (step->canonical && k == 2))
			continue; /* a bias is rounded to the scale of the sums, as finely as the rule has it */
		if (step->canonical && k == 1 ? npl_model_weight(node, value, NPL_FORMAT_INT8)
					      : s->model.value[node->in[k]].quant.scale > 0)
			continue;
		snprintf(reason, reason_bytes,
			 value->model_integers->parts > 1
				 ? "the model has a scale or zero point for each part of '%.60s', not as the rule has"
				 : "the model has '%.60s' as integers that are not of the rule's 8 bits and scale",
			 value->name);
		return true;
	}
	return false;
}

static bool is_transposed(const struct npl_node *node)
{
	return node->op == NPL_OP_CONV || (node->op == NPL_OP_GEMM && node->attrs.gemm.trans_b);
}

bool npl_model_weight(const struct npl_node *node, const struct npl_value *value, enum npl_format format)
{
	const struct npl_model_integers *from = value->model_integers;
	if (!from || format != NPL_FORMAT_INT8 || !npl_is_byte(from->dtype))
		return false;
	for (int64_t i = 0; i < from->parts; i++)
		if (from->zero[i] != from->zero[0] || !npl_is_scale(from->scale[i]))
			return false;
	bool alpha = node->op == NPL_OP_GEMM && (node->attrs.gemm.alpha < 1 || node->attrs.gemm.alpha > 1);
	return !alpha && from->parts > 0 && (from->parts == 1 || from->axis == (is_transposed(node) ? 0 : 1));
}

int npl_model_take_weight(const struct npl_node *node, const struct npl_value *value, struct npl_step *step,
			  struct npl_err *err)
{
	const struct npl_model_integers *from = value->model_integers;
	step->weight = (struct npl_tensor){.name = value->name, .dtype = from->dtype, .shape = value->shape};
	step->weight.quant.zero_point = from->zero[0];
	if (from->parts == 1)
		step->weight.quant.scale = from->scale[0];
	else
		step->weight.quant.channel_scale = from->scale;
	step->weight.data = (void *)from->data;
	if (is_transposed(node))
		return 0;
	step->weight.shape = npl_shape_of(2, value->shape.dim[1], value->shape.dim[0]);
	return transpose(value, from->data, &step->weight, err);
}

bool npl_model_bias(const struct npl_node *node, const struct npl_value *value, const struct npl_step *step)
{
	const struct npl_model_integers *from = value->model_integers;
	int64_t count = npl_shape_count(&value->shape);
	if (!from || from->dtype != NPL_I32 || !value->constant || from->zero[0] ||
	    (node->op == NPL_OP_GEMM && (node->attrs.gemm.beta < 1 || node->attrs.gemm.beta > 1)) ||
	    (from->parts != 1 && from->parts != count))
		return false;
	for (int64_t c = 0; c < count; c++) {
		const struct npl_quant *w = &step->weight.quant;
		const float scale = step->x_quant.scale * (w->channel_scale ? w->channel_scale[c] : w->scale),
			    model_scale = from->scale[from->parts == 1 ? 0 : c];
		/* Exporters round the product of the scales in their own way: it differs by a few units of its last
		 * place. In float32 the inputs have no scale. */
		if (!(scale > 0) || !(fabsf(scale - model_scale) <= 1e-6f * scale))
			return false;
	}
	return true;
}
