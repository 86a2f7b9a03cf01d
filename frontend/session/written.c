/* SPDX-License-Identifier: MIT
 *
 * Layers of integers that the model itself has (written.h). */
#include "written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/ops/integer_inputs.h"

static bool is_byte(enum npl_dtype dtype)
{
	return dtype == NPL_U8 || dtype == NPL_I8;
}

struct npl_quant npl_written_quant(const struct npl_session *s, int v)
{
	return s->written[v].scale > 0 ? s->written[v] : (struct npl_quant){.scale = 1};
}

static const struct npl_device_info *info_of(const struct npl_session *s, const struct npl_step *step)
{
	return npl_device_get_info(s->device[step->device]);
}

/* Operators whose results are some of their inputs' elements. Devices that compute in float32 run them as they are. */
static bool picks(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step)
{
	bool op = node->op == NPL_OP_MAXPOOL || node->op == NPL_OP_CONCAT || node->op == NPL_OP_SLICE ||
		  node->op == NPL_OP_TRANSPOSE;
	if (!op || npl_step_format(s, step) == NPL_FORMAT_F32 || node->n_out > 1)
		return false;
	return is_byte(s->graph->value[node->in[0]].dtype);
}

bool npl_written_is(const struct npl_session *s, int i, const struct npl_step *step)
{
	const struct npl_node *node = &s->graph->node[i];
	if (step->device == NPL_ON_HOST || !(info_of(s, step)->capabilities & NPL_TAKES_INT8))
		return false;
	return npl_integer_inputs_of(node->op) || picks(s, node, step);
}

static bool is_scale(float scale)
{
	return isfinite(scale) && scale > 0;
}

/* What planning a product shares. */
struct product {
	struct npl_session *s;
	const struct npl_node *node;
	const struct npl_integer_inputs *at;
	char *why;
	size_t n;
	struct npl_err *err;
};

static struct npl_value *input(const struct product *p, int k)
{
	int v = k >= 0 && k < p->node->n_in ? p->node->in[k] : -1;
	return v < 0 ? NULL : &p->s->graph->value[v];
}

/* The bytes of a constant input; NULL with the reason, or with an error. */
static const void *constant(const struct product *p, int k, const char *what)
{
	struct npl_value *value = input(p, k);
	if (!value->constant) {
		snprintf(p->why, p->n, "its %s is computed, not a constant", what);
		return NULL;
	}
	return npl_value_data(p->s->graph, value, p->err);
}

/* A zero point, the same for all parts; absent: 0. */
static bool read_zero(const struct product *p, int k, const char *what, int32_t *zero)
{
	const struct npl_value *value = input(p, k);
	*zero = 0;
	if (!value)
		return true;
	const void *data = constant(p, k, what);
	int64_t count = npl_shape_count(&value->shape);
	for (int64_t i = 0; data && i < count; i++) {
		int32_t z = value->dtype == NPL_I8 ? ((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
		if (i && z != *zero)
			return npl_refuse(p->why, p->n, "its zero points differ from channel to channel");
		*zero = z;
	}
	return data != NULL;
}

/* One scale, or in *each one per channel of the second operand. What ONNX makes of a scale of 0, below 0 or no finite number is for its own
 * arithmetic, in floats. */
static bool read_scale(const struct product *p, int k, const char *what, float *scale, const float **each)
{
	const struct npl_value *value = input(p, k);
	*scale = 1;
	if (!value)
		return true;
	if (value->dtype != NPL_F32)
		return npl_refuse(p->why, p->n, "a scale is not float32");
	const float *data = constant(p, k, what);
	int64_t count = npl_shape_count(&value->shape);
	if (!data || !count)
		return data && npl_refuse(p->why, p->n, "a scale is empty");
	for (int64_t i = 0; i < count; i++)
		if (!is_scale(data[i]))
			return npl_refuse(p->why, p->n,
					  "its %s '%.60s' is %g, and the rule on integers takes finite numbers above 0",
					  what, value->name, (double)data[i]);
	*scale = data[0];
	if (count > 1 && !each)
		return npl_refuse(p->why, p->n, "its first operand has a scale per row");
	if (count > 1)
		*each = data;
	return true;
}

static bool read_quants(const struct product *p, struct npl_step *step, struct npl_quant *w)
{
	bool scaled = p->at->y_scale >= 0;
	*w = (struct npl_quant){0};
	step->x_quant = step->y_quant = (struct npl_quant){0};
	if (!read_scale(p, p->at->a_scale, "input scale", &step->x_quant.scale, NULL) ||
	    !read_zero(p, p->at->a_zero, "input zero point", &step->x_quant.zero_point) ||
	    !read_scale(p, p->at->b_scale, "weight scale", &w->scale, &w->channel_scale) ||
	    !read_zero(p, p->at->b_zero, "weight zero point", &w->zero_point))
		return false;
	return !scaled || (read_scale(p, p->at->y_scale, "output scale", &step->y_quant.scale, NULL) &&
			   read_zero(p, p->at->y_zero, "output zero point", &step->y_quant.zero_point));
}

/* (K,N) matrices of bytes as (N,K), one below the other. */
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

/* Rows by one constant matrix, or a stack of matrices by as many. */
static bool shape_matmul(const struct product *p, struct npl_step *step)
{
	const struct npl_value *x = input(p, p->at->a), *w = input(p, p->at->b),
			       *y = &p->s->graph->value[p->node->out[0]];
	if (w->shape.rank < 2)
		return npl_refuse(p->why, p->n, "its second operand is a vector");
	int64_t k = w->shape.dim[w->shape.rank - 2], n = w->shape.dim[w->shape.rank - 1],
		matrices = k && n ? npl_shape_count(&w->shape) / (k * n) : 0,
		rows = k ? npl_shape_count(&x->shape) / k : 0;
	bool stacked = x->shape.rank == w->shape.rank;
	for (int d = 0; d < w->shape.rank - 2; d++)
		stacked = stacked && x->shape.dim[d] == w->shape.dim[d];
	if (!rows || !matrices)
		return npl_refuse(p->why, p->n, "an operand is empty");
	if (matrices > 1 && (!stacked || rows % matrices))
		return npl_refuse(p->why, p->n, "its operands broadcast over a stack of matrices");
	if (npl_shape_count(&y->shape) != rows * n)
		return npl_refuse(p->why, p->n, "its first operand broadcasts");
	step->repeat = (int)matrices;
	step->op = NPL_OP_GEMM;
	step->attrs = (struct npl_attrs){.alpha = 1, .beta = 1, .trans_b = true, .opset = p->node->attrs.opset};
	step->x_shape = npl_shape_of(2, rows / matrices, k);
	step->y_shape = npl_shape_of(2, rows / matrices, n);
	step->weight.shape = npl_shape_of(2, n * matrices, k);
	return true;
}

static bool shape_product(const struct product *p, struct npl_step *step)
{
	const struct npl_value *x = input(p, p->at->a), *w = input(p, p->at->b),
			       *y = &p->s->graph->value[p->node->out[0]];
	step->weight = (struct npl_tensor){.name = w->name, .dtype = w->dtype, .shape = w->shape};
	if (p->node->op == NPL_OP_QLINEARMATMUL || p->node->op == NPL_OP_MATMULINTEGER)
		return shape_matmul(p, step);
	step->op = NPL_OP_CONV;
	step->attrs = p->node->attrs;
	step->x_shape = x->shape;
	step->y_shape = y->shape;
	return true;
}

/* The constants, as they are or transposed; without data where only times are asked for. */
static bool set_weights(const struct product *p, struct npl_step *step)
{
	const struct npl_value *w = input(p, p->at->b), *bias = input(p, p->at->bias);
	if (!w->constant)
		return npl_refuse(p->why, p->n, "its second operand is computed, not a constant weight");
	if (bias && !bias->constant)
		return npl_refuse(p->why, p->n, "its bias is computed, not a constant");
	if (bias)
		step->bias = (struct npl_tensor){.name = bias->name, .dtype = bias->dtype, .shape = bias->shape};
	if (p->s->timing_only)
		return true;
	const void *data = constant(p, p->at->b, "second operand");
	if (!data)
		return false;
	if (step->op == NPL_OP_GEMM && transpose(w, data, &step->weight, p->err))
		return false;
	if (step->op == NPL_OP_CONV)
		step->weight.data = (void *)data;
	if (bias)
		step->bias.data = (void *)constant(p, p->at->bias, "bias");
	return !bias || step->bias.data;
}

/* The first product of the step, as the device will see it. */
static bool ask(const struct product *p, const struct npl_step *step)
{
	const struct npl_value *x = input(p, p->at->a), *y = &p->s->graph->value[p->node->out[0]];
	struct npl_tensor in = {.name = x->name, .dtype = x->dtype, .shape = step->x_shape, .quant = step->x_quant},
			  out = {.name = y->name, .dtype = y->dtype, .shape = step->y_shape, .quant = step->y_quant},
			  w = step->weight;
	if (step->repeat > 1)
		w.shape.dim[0] /= step->repeat;
	const struct npl_layer layer = {.name = p->node->name,
					.op = step->op,
					.attrs = &step->attrs,
					.n_in = 3,
					.in = {&in, &w, input(p, p->at->bias) ? &step->bias : NULL},
					.out = &out,
					.macs = p->node->macs};
	return npl_device_supports(p->s->device[step->device], &layer, p->why, p->n);
}

static bool plan_product(const struct product *p, struct npl_step *step)
{
	struct npl_quant w;
	if (input(p, p->at->a)->constant)
		return npl_refuse(p->why, p->n, "its first operand is a constant");
	if (!shape_product(p, step) || !read_quants(p, step, &w) || !set_weights(p, step))
		return false;
	step->weight.quant = w;
	step->canonical = true;
	step->n_in = 3;
	if (!ask(p, step))
		return false;
	int x = p->node->in[p->at->a];
	if (!(p->s->written[x].scale > 0))
		p->s->written[x] = step->x_quant;
	p->s->written[step->out] = step->y_quant;
	return true;
}

static bool plan_pick(struct npl_session *s, const struct npl_node *node, struct npl_step *step, char *why, size_t n)
{
	struct npl_tensor t[NPL_LAYER_INPUTS], out;
	struct npl_layer layer = {
		.name = node->name, .op = node->op, .attrs = &step->attrs, .n_in = step->n_in, .out = &out};
	if (step->n_in > NPL_LAYER_INPUTS)
		return npl_refuse(why, n, "it has too many inputs");
	step->x_quant = step->y_quant = npl_written_quant(s, node->in[0]);
	for (int k = 0; k < step->n_in; k++) {
		const struct npl_value *value = &s->graph->value[node->in[k]];
		t[k] = (struct npl_tensor){
			.name = value->name, .dtype = value->dtype, .shape = value->shape, .quant = step->x_quant};
		layer.in[k] = &t[k];
	}
	out = (struct npl_tensor){
		.dtype = s->graph->value[step->out].dtype, .shape = step->y_shape, .quant = step->y_quant};
	if (!npl_device_supports(s->device[step->device], &layer, why, n))
		return false;
	s->written[step->out] = step->y_quant;
	return true;
}

bool npl_written_plan(struct npl_session *s, int i, struct npl_step *step, char *why, size_t n, struct npl_err *err)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct product p = {s, node, npl_integer_inputs_of(node->op), why, n, err};
	step->written = true;
	if (p.at ? plan_product(&p, step) : plan_pick(s, node, step, why, n))
		return true;
	npl_tensor_free(&step->weight);
	step->weight = step->bias = (struct npl_tensor){0};
	step->written = false;
	step->repeat = 0;
	return false;
}

/* Scale and zero point of a QuantizeLinear or DequantizeLinear, if it has one of each and they are constant. */
static bool node_quant(struct npl_session *s, const struct npl_node *node, struct npl_quant *quant, struct npl_err *err)
{
	char why[200];
	const struct product p = {s, node, NULL, why, sizeof why, err};
	const struct npl_value *scale = input(&p, 1);
	*quant = (struct npl_quant){0};
	return scale->constant && npl_shape_count(&scale->shape) == 1 &&
	       read_scale(&p, 1, "scale", &quant->scale, NULL) && read_zero(&p, 2, "zero point", &quant->zero_point);
}

/* The float and the integer value of a node that may be an alias; false: it is none. */
static bool two_sides(const struct npl_session *s, int i, int *real, int *integer)
{
	const struct npl_node *node = &s->graph->node[i];
	bool back = node->op == NPL_OP_DEQUANTIZELINEAR;
	if (!back && node->op != NPL_OP_QUANTIZELINEAR)
		return false;
	*real = back ? node->out[0] : node->in[0];
	*integer = back ? node->in[0] : node->out[0];
	const struct npl_value *value = s->graph->value;
	return value[*real].dtype == NPL_F32 && is_byte(value[*integer].dtype) && !value[node->in[0]].constant;
}

bool npl_only_renames(const struct npl_graph *graph, const struct npl_node *node)
{
	bool reads_second = node->n_out > 1 && node->out[1] >= 0 && graph->value[node->out[1]].uses > 0;
	return (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW) && !reads_second;
}

int npl_root_of(const struct npl_graph *graph, int v)
{
	for (int i; (i = graph->value[v].producer) >= 0 && npl_only_renames(graph, &graph->node[i]);)
		v = graph->node[i].in[0];
	return v;
}

/* The QuantizeLinear or DequantizeLinear i says what value `real` is as integers. */
static void note_quant(struct npl_session *s, int i, int real, int integer, const struct npl_quant *quant)
{
	const enum npl_dtype dtype = s->graph->value[integer].dtype;
	struct npl_own_quant *own = &s->own[npl_root_of(s->graph, real)];
	s->quantised |= s->graph->node[i].op == NPL_OP_QUANTIZELINEAR;
	if (!(own->quant.scale > 0))
		*own = (struct npl_own_quant){.partner = integer, .dtype = dtype, .quant = *quant};
	else if (s->graph->node[i].op == NPL_OP_QUANTIZELINEAR && own->dtype == dtype &&
		 npl_quant_same(&own->quant, quant))
		s->written[integer] = *quant; /* again the same integers */
}

/* Whether node i makes the integers that stand for its input in other eyes too. */
static bool makes_own(const struct npl_session *s, int i, int real)
{
	const struct npl_node *node = &s->graph->node[i];
	return node->op == NPL_OP_QUANTIZELINEAR && s->own[real].quant.scale > 0 &&
	       (s->own[real].partner == node->out[0] || s->written[node->out[0]].scale > 0);
}

static void find_only(struct npl_session *s)
{
	const struct npl_graph *graph = s->graph;
	for (int v = 0; v < graph->n_values; v++)
		s->own[v].only = s->own[v].quant.scale > 0;
	for (int o = 0; o < graph->n_outputs; o++)
		s->own[npl_root_of(graph, graph->output[o])].only = false;
	for (int i = 0; i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		for (int k = 0; k < node->n_in && !npl_only_renames(graph, node); k++) {
			const int v = node->in[k] < 0 ? -1 : npl_root_of(graph, node->in[k]);
			if (v >= 0 && !(k == 0 && makes_own(s, i, v)))
				s->own[v].only = false;
		}
	}
}

int npl_written_open(struct npl_session *s, const int *place, struct npl_err *err)
{
	for (int i = 0; i < s->graph->n_nodes; i++) {
		int device = place ? place[i] : 0, real, integer;
		struct npl_quant quant;
		struct npl_err failed = {0};
		if (device == NPL_ON_HOST || npl_device_get_info(s->device[device])->format != NPL_FORMAT_INT8 ||
		    !two_sides(s, i, &real, &integer))
			continue;
		bool known = node_quant(s, &s->graph->node[i], &quant, &failed);
		if (failed.code)
			return npl_fail(err, failed.code, "node '%s': %s", s->graph->node[i].name, failed.msg);
		if (known)
			note_quant(s, i, real, integer, &quant);
	}
	find_only(s);
	return 0;
}

/* Whether a QuantizeLinear that makes these integers is an alias, be it the first of its value or another of the same kind. */
static bool is_quantised(struct npl_session *s, const struct npl_own_quant *own, int integer)
{
	if (own->quant.scale > 0 && (own->partner == integer || s->written[integer].scale > 0)) {
		s->written[integer] = own->quant;
		return true;
	}
	s->written[integer].scale = 0;
	return false;
}

bool npl_written_alias(struct npl_session *s, int i)
{
	int real, integer;
	if (!two_sides(s, i, &real, &integer))
		return false;
	struct npl_own_quant *own = &s->own[npl_root_of(s->graph, real)];
	if (s->graph->node[i].op == NPL_OP_QUANTIZELINEAR)
		return is_quantised(s, own, integer);
	if (!(own->quant.scale > 0) || own->partner != integer)
		return false;
	if (!(s->written[integer].scale > 0))
		s->written[integer] = own->quant; /* nobody has said otherwise */
	if (npl_quant_same(&s->written[integer], &own->quant))
		return true;
	own->quant.scale = 0; /* the integers were made to stand for other numbers than they are read as */
	return false;
}

/* Whether each result is one of the input's elements, or zero. */
static bool only_picks(const struct npl_node *node)
{
	return (npl_op_defs[node->op].flags & NPL_OP_KEEPS_RANGE) && node->op != NPL_OP_AVERAGEPOOL &&
	       node->op != NPL_OP_GLOBALAVERAGEPOOL && node->op != NPL_OP_REDUCEMEAN && node->op != NPL_OP_UPSAMPLE;
}

/* Whether value v is what the model's integers stand for, as it is or picked from such. */
static bool is_taken(const struct npl_session *s, int v)
{
	for (;;) {
		v = npl_root_of(s->graph, v);
		const int maker = s->graph->value[v].producer;
		struct npl_own_quant own;
		if (maker < 0)
			return s->graph->value[v].constant && npl_written_constant(&s->graph->value[v], &own);
		const struct npl_node *node = &s->graph->node[maker];
		if (node->op == NPL_OP_DEQUANTIZELINEAR)
			return s->step[maker].role == NPL_VIEW;
		if (!only_picks(node) || s->own[v].quant.scale > 0)
			return false;
		v = node->in[0];
	}
}

/* Whether value v, which the node makes, is to be integers. */
static bool is_given(const struct npl_session *s, const struct npl_node *node, int v)
{
	const struct npl_own_quant *own = &s->own[npl_root_of(s->graph, v)];
	return own->quant.scale > 0 ? own->only : only_picks(node) && is_taken(s, node->in[0]);
}

bool npl_written_in_floats(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			   char *why, size_t n)
{
	const bool product = npl_op_defs[node->op].flags & NPL_OP_IS_GEMM;
	if (!s->quantised || !(info_of(s, step)->capabilities & NPL_ALSO_FLOAT32) ||
	    npl_step_format(s, step) != NPL_FORMAT_INT8 || s->graph->value[step->out].dtype != NPL_F32)
		return false;
	if (!is_given(s, node, step->out))
		return !npl_refuse(why, n, "the model has its result in float32");
	for (int k = 0; k < step->n_in; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &s->graph->value[node->in[k]];
		if (value && !(value->constant && product) && value->dtype == NPL_F32 && !is_taken(s, node->in[k]))
			return !npl_refuse(why, n, "the model has an operand in float32");
		if (value && value->constant && product && k == 1 && !npl_written_weight(node, value, NPL_FORMAT_INT8))
			return !npl_refuse(why, n, "the model has its weights in float32");
	}
	return false;
}

static bool is_transposed(const struct npl_node *node)
{
	return node->op == NPL_OP_CONV || (node->op == NPL_OP_GEMM && node->attrs.trans_b);
}

bool npl_written_constant(const struct npl_value *value, struct npl_own_quant *own)
{
	const struct npl_from_integers *from = value->from_integers;
	if (!from || from->parts != 1 || !is_byte(from->dtype) || !is_scale(from->scale[0]))
		return false;
	*own = (struct npl_own_quant){
		.partner = -1, .dtype = from->dtype, .quant = {.scale = from->scale[0], .zero_point = from->zero[0]}};
	return true;
}

bool npl_written_otherwise(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			   char *why, size_t n)
{
	const enum npl_format format = npl_step_format(s, step);
	struct npl_own_quant own;
	for (int k = 0; k < step->n_in && s->quantised && format == NPL_FORMAT_INT8; k++) {
		const struct npl_value *value = node->in[k] < 0 ? NULL : &s->graph->value[node->in[k]];
		if (!value || !value->constant || !value->from_integers || (step->canonical && k == 2))
			continue; /* a bias is rounded to the scale of the sums, as finely as the rule has it */
		if (step->canonical && k == 1 ? npl_written_weight(node, value, format)
					      : npl_written_constant(value, &own))
			continue;
		snprintf(why, n,
			 value->from_integers->parts > 1
				 ? "the model has a scale or zero point for each part of '%.60s', not as the rule has"
				 : "the model has '%.60s' as integers that are not of the rule's 8 bits and scale",
			 value->name);
		return true;
	}
	return false;
}

bool npl_written_weight(const struct npl_node *node, const struct npl_value *value, enum npl_format format)
{
	const struct npl_from_integers *from = value->from_integers;
	if (!from || format != NPL_FORMAT_INT8 || !is_byte(from->dtype))
		return false;
	for (int64_t i = 0; i < from->parts; i++)
		if (from->zero[i] != from->zero[0] || !is_scale(from->scale[i]))
			return false;
	bool alpha = node->op == NPL_OP_GEMM && (node->attrs.alpha < 1 || node->attrs.alpha > 1);
	return !alpha && from->parts > 0 && (from->parts == 1 || from->axis == (is_transposed(node) ? 0 : 1));
}

int npl_written_take_weight(const struct npl_node *node, const struct npl_value *value, struct npl_step *step,
			    struct npl_err *err)
{
	const struct npl_from_integers *from = value->from_integers;
	step->weight = (struct npl_tensor){.name = value->name, .dtype = from->dtype, .shape = value->shape};
	step->weight.quant.zero_point = from->zero[0];
	if (from->parts == 1)
		step->weight.quant.scale = from->scale[0];
	else
		step->weight.quant.channel_scale = from->scale;
	step->weight.data = (void *)from->data;
	if (is_transposed(node))
		return 0;
	step->weight.data = NULL;
	step->weight.shape = npl_shape_of(2, value->shape.dim[1], value->shape.dim[0]);
	return transpose(value, from->data, &step->weight, err);
}

bool npl_written_bias(const struct npl_node *node, const struct npl_value *value, const struct npl_step *step)
{
	const struct npl_from_integers *from = value->from_integers;
	int64_t count = npl_shape_count(&value->shape);
	if (!from || from->dtype != NPL_I32 || !value->constant || from->zero[0] ||
	    (node->op == NPL_OP_GEMM && (node->attrs.beta < 1 || node->attrs.beta > 1)) ||
	    (from->parts != 1 && from->parts != count))
		return false;
	for (int64_t c = 0; c < count; c++) {
		const struct npl_quant *w = &step->weight.quant;
		const float scale = step->x_quant.scale * (w->channel_scale ? w->channel_scale[c] : w->scale),
			    given = from->scale[from->parts == 1 ? 0 : c];
		/* exporters round the product of the scales in their own way: a few units of its last place */
		if (!(fabsf(scale - given) <= 1e-6f * scale))
			return false;
	}
	return true;
}
