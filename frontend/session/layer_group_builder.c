/* SPDX-License-Identifier: MIT
 *
 * Makes the layers and tensors of a layer group (layer_group_builder.h): its nodes' own layers, those that name data in
 * another shape, and conversions. */
#include <string.h>

#include "frontend/quantise/quantise.h"
#include "layer_group_builder.h"
#include "model_layer.h"
#include "split.h"

int npl_layer_group_no_room(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory for a layer group");
}

/* Returns the tensor of value v in this format and shape, which comes from outside and which node i reads; adds an
 * input to the group if it has none like it. NULL: see err. */
static struct npl_tensor *find_or_add_input(struct npl_layer_group_builder *b, int i, int v, enum npl_format format,
					    const struct npl_shape *shape, struct npl_err *err)
{
	struct npl_session *s = b->s;
	struct npl_value *value = &s->graph->value[v];
	if (value->dtype != NPL_F32)
		format = NPL_FORMAT_F32; /* the value is as the graph has it */
	struct npl_quant quant = s->step[i].in_integers ? s->step[i].x_quant : npl_session_quant(s, format, v);
	for (int p = b->last_port[v] - 1; p >= 0; p = b->port_before[p] - 1)
		if (b->group.in[p].format == format && npl_quant_equal(&b->group.in[p].tensor->quant, &quant) &&
		    npl_shape_equal(&b->group.in[p].tensor->shape, shape))
			return b->group.in[p].tensor;
	struct npl_tensor *tensor = npl_arena_alloc(b->arena, sizeof *tensor);
	if (!tensor) {
		npl_layer_group_no_room(err);
		return NULL;
	}
	*tensor = (struct npl_tensor){
		.name = value->name, .dtype = npl_session_dtype(s, format, v), .shape = *shape, .quant = quant};
	if (format == NPL_FORMAT_F32 && value->constant && !s->options.timing_only) {
		const void *data = npl_value_data(s->graph, value, err);
		if (!data && npl_tensor_count(tensor) > 0)
			return NULL;
		tensor->data = (void *)data;
	}
	b->group.in[b->group.n_in++] = (struct npl_layer_group_port){
		.value = v, .node = i, .tensor = tensor, .format = format};
	b->port_before[b->group.n_in - 1] = b->last_port[v];
	b->last_port[v] = b->group.n_in;
	return tensor;
}

/* Begins the next layer, of node i, which makes value v (-1: a conversion); the caller fills it and counts it. */
static struct npl_layer *add_layer(struct npl_layer_group_builder *b, int i, int v)
{
	struct npl_layer *layer = &b->group.layer[b->group.n];
	b->group.node[b->group.n] = i;
	b->group.value[b->group.n] = v;
	b->group.list[b->group.n] = layer;
	return layer;
}

/* Gives the layer of node i its results: one tensor or, where further results are read, an array of tensors. */
static int add_results(struct npl_layer_group_builder *b, int i, struct npl_step_tensors *t, struct npl_layer *layer,
		       struct npl_err *err)
{
	const struct npl_node *node = &b->s->graph->node[i];
	struct npl_tensor results[NPL_MAX_OUTPUTS], *out = &t->out;
	layer->n_further = npl_step_further_results(b->s, i, results);
	if (layer->n_further) {
		out = npl_arena_array(b->arena, (size_t)npl_layer_outputs(layer), sizeof *out);
		if (!out)
			return npl_layer_group_no_room(err);
		memcpy(out, results, ((size_t)npl_layer_outputs(layer)) * sizeof *out);
		out[0] = t->out;
		layer->out = out;
	}
	b->made[b->s->step[i].out] = &out[0];
	for (int k = 1; k < npl_layer_outputs(layer); k++)
		if (node->out[k] >= 0)
			b->made[node->out[k]] = &out[k];
	return 0;
}

/* Returns tensor `in`, which is value v, in another shape: as the result of a layer of node i that names its data so,
 * or as it is if it has that shape. */
static struct npl_tensor *reshape_as(struct npl_layer_group_builder *b, int i, int v, struct npl_tensor *in,
				     const struct npl_shape *shape)
{
	if (npl_shape_equal(&in->shape, shape))
		return in;
	static const struct npl_attrs attrs = {.op = NPL_OP_RESHAPE};
	struct npl_layer *layer = add_layer(b, i, v);
	struct npl_tensor *result = &b->tensors[b->group.n++].out;
	*result = *in;
	result->shape = *shape;
	*layer = (struct npl_layer){.name = b->s->graph->node[i].name,
				    .op = NPL_OP_RESHAPE,
				    .attrs = &attrs,
				    .n_in = 1,
				    .in = {in},
				    .out = result,
				    .timing_only = b->s->options.timing_only};
	return result;
}

/* Adds a layer, charged to node i, that converts `in`, which is value v, to the other format. Returns its result. */
static struct npl_tensor *convert(struct npl_layer_group_builder *b, int i, int v, struct npl_tensor *in,
				  enum npl_format format)
{
	static const struct npl_attrs attrs = {.op = NPL_OP_QUANTIZELINEAR,
					       .quantise = {.axis = 1, .to = NPL_DTYPES, .precision = NPL_DTYPES}};
	const struct npl_session *s = b->s;
	const bool to_float = format == NPL_FORMAT_F32;
	struct npl_layer *layer = add_layer(b, i, -1);
	struct npl_tensor *result = &b->tensors[b->group.n++].out;
	*result = (struct npl_tensor){.name = in->name,
				      .dtype = npl_session_dtype(s, format, v),
				      .shape = in->shape,
				      .quant = npl_session_quant(s, format, v)};
	*layer = (struct npl_layer){.name = s->graph->node[i].name,
				    .op = to_float ? NPL_OP_DEQUANTIZELINEAR : NPL_OP_QUANTIZELINEAR,
				    .attrs = &attrs,
				    .n_in = 1,
				    .in = {in},
				    .out = result,
				    .timing_only = s->options.timing_only};
	b->converted[npl_root_of(s->graph, v)] = result;
	return result;
}

struct npl_tensor *npl_layer_group_in_format(struct npl_layer_group_builder *b, int i, int v, enum npl_format format)
{
	const bool integers = b->made[v]->quant.scale > 0;
	if (!b->group.converts || b->s->graph->value[v].dtype != NPL_F32 || integers == (format != NPL_FORMAT_F32))
		return b->made[v];
	struct npl_tensor *result = b->converted[npl_root_of(b->s->graph, v)];
	return result ? result : convert(b, i, v, b->made[v], format);
}

/* Returns value v in this format and in the shape that the graph gives it. */
static struct npl_tensor *in_format(struct npl_layer_group_builder *b, int i, int v, enum npl_format format)
{
	return reshape_as(b, i, v, npl_layer_group_in_format(b, i, v, format), &b->s->graph->value[v].shape);
}

/* Says whether node i leaves integers that stand for value v, which is no view, to later nodes. A device that converts
 * within its layer groups leaves only those of the model (layer_group.c). */
static bool leaves_integers(const struct npl_session *s, int i, int v)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	const bool layer = step->role == NPL_RAN && step->device != NPL_ON_HOST &&
			   npl_step_format(s, step) == NPL_FORMAT_INT8 &&
			   (s->model.value[v].integers >= 0 || !npl_layer_group_converts(s, step->device));
	const int n = layer ? npl_layer_group_data_inputs(step) : s->model.node[i] == NPL_QUANTISES;
	for (int k = 0; k < n; k++)
		if (node->in[k] >= 0 && npl_root_of(s->graph, node->in[k]) == v)
			return true;
	return false;
}

static bool has_integers(const struct npl_layer_group_builder *b, int v)
{
	for (int i = 0; i < b->group.first; i++)
		if (leaves_integers(b->s, i, v))
			return true;
	return false;
}

/* Says whether value v comes from a place that has only floats: from outside of the network, or from the host. */
static bool is_float_outside(const struct npl_layer_group_builder *b, int v)
{
	const struct npl_session *s = b->s;
	v = npl_root_of(s->graph, v);
	const int producer = s->graph->value[v].producer;
	if (s->graph->value[v].constant || s->graph->value[v].dtype != NPL_F32 || has_integers(b, v))
		return false;
	return producer < 0 || (s->step[producer].role == NPL_RAN && s->step[producer].device == NPL_ON_HOST);
}

/* Returns the format in which value v is taken from outside for a layer that reads it in `format`. */
static enum npl_format format_outside(const struct npl_layer_group_builder *b, int v, enum npl_format format)
{
	const struct npl_session *s = b->s;
	const int producer = s->graph->value[v].producer;
	if (!b->group.converts || s->graph->value[v].dtype != NPL_F32)
		return format;
	if (format == NPL_FORMAT_F32) /* numbers that the model's integers stand for */
		return producer >= 0 && s->model.node[producer] ? NPL_FORMAT_INT8 : format;
	return is_float_outside(b, v) ? NPL_FORMAT_F32 : format;
}

/* Returns value v, which comes from outside, as node i reads it, converted if need be. NULL: see err. */
static struct npl_tensor *take_input(struct npl_layer_group_builder *b, int i, int v, enum npl_format format,
				     const struct npl_shape *shape, struct npl_err *err)
{
	const enum npl_format source_format = format_outside(b, v, format);
	if (source_format == format)
		return find_or_add_input(b, i, v, format, shape, err);
	struct npl_tensor *result = b->converted[npl_root_of(b->s->graph, v)];
	if (result)
		return reshape_as(b, i, v, result, shape);
	struct npl_tensor *in = find_or_add_input(b, i, v, source_format, shape, err);
	return in ? convert(b, i, v, in, format) : NULL;
}

/* Returns value v as node i reads it, in the node's format, whether the layer group makes v or is given it. NULL: see
 * err. */
static struct npl_tensor *input_as_read(struct npl_layer_group_builder *b, int i, int v, const struct npl_shape *shape,
					struct npl_err *err)
{
	const struct npl_step *step = &b->s->step[i];
	const enum npl_format format = npl_step_format(b->s, step);
	if (b->made[v]) {
		if (step->in_integers) /* a QuantizeLinear layer of the group makes integers without their scale */
			b->made[v]->quant = step->x_quant;
		return reshape_as(b, i, v, npl_layer_group_in_format(b, i, v, format), shape);
	}
	return take_input(b, i, v, format, shape, err);
}

/* Makes node i's result have the shape that the graph gives it, for its readers, if the device has views. */
static void name_result(struct npl_layer_group_builder *b, int i)
{
	int v = b->s->step[i].out;
	if (b->s->step[i].canonical && npl_layer_group_has_views(b->s, b->group.device))
		b->made[v] = reshape_as(b, i, v, b->made[v], &b->s->graph->value[v].shape);
}

int npl_layer_group_add_step(struct npl_layer_group_builder *b, int i, struct npl_err *err)
{
	const struct npl_session *s = b->s;
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	struct npl_tensor *in[NPL_LAYER_INPUTS] = {NULL};
	for (int k = 0; k < npl_layer_group_data_inputs(step); k++) {
		int v = node->in[k];
		if (v >= 0 && !(in[k] = input_as_read(
					b, i, v, step->canonical ? &step->x_shape : &s->graph->value[v].shape, err)))
			return err->code;
	}
	struct npl_layer *layer = add_layer(b, i, step->out);
	struct npl_step_tensors *t = &b->tensors[b->group.n++];
	npl_step_layer(s, i, t, layer);
	for (int k = 0; k < npl_layer_group_data_inputs(step); k++)
		if (in[k])
			layer->in[k] = in[k];
	if (add_results(b, i, t, layer, err))
		return err->code;
	name_result(b, i);
	return 0;
}

int npl_layer_group_add_split(struct npl_layer_group_builder *b, int i, struct npl_err *err)
{
	const struct npl_session *s = b->s;
	const struct npl_node *node = &s->graph->node[i];
	int v = node->in[0];
	const struct npl_tensor *x = input_as_read(b, i, v, &s->graph->value[v].shape, err);
	for (int k = 0; k < node->n_out && x; k++) {
		if (!npl_split_read(s, i, k))
			continue;
		struct npl_layer *layer = add_layer(b, i, node->out[k]);
		struct npl_tensor *out = &b->tensors[b->group.n++].out;
		npl_split_layer(s, i, k, out, layer);
		layer->in[0] = x;
		b->made[node->out[k]] = out;
	}
	return x ? 0 : err->code;
}

/* Adds a QuantizeLinear of the model, whose result is the integers of its input. Returns 0 or err->code. */
static int add_quantised(struct npl_layer_group_builder *b, int i, struct npl_err *err)
{
	const struct npl_node *node = &b->s->graph->node[i];
	const int v = node->in[0];
	if (b->made[v])
		b->made[node->out[0]] = in_format(b, i, v, NPL_FORMAT_INT8);
	else
		b->made[node->out[0]] = take_input(b, i, v, NPL_FORMAT_INT8, &b->s->graph->value[v].shape, err);
	return b->made[node->out[0]] ? 0 : err->code;
}

int npl_layer_group_add_view(struct npl_layer_group_builder *b, int i, struct npl_err *err)
{
	const struct npl_node *node = &b->s->graph->node[i];
	const int v = node->out[0];
	const struct npl_value *out = &b->s->graph->value[v];
	struct npl_tensor *in = b->made[node->in[0]];
	if (b->group.converts && b->s->model.node[i] == NPL_QUANTISES)
		return add_quantised(b, i, err);
	if (!in)
		return 0;
	if (b->s->model.node[i] == NPL_DEQUANTISES &&
	    !(in->quant.scale > 0)) /* a layer in the model's own integers made them */
		in->quant = b->s->model.value[v].quant;
	b->made[v] = reshape_as(b, i, v, in, &out->shape);
	if (b->made[v] != in)
		b->made[v]->name = out->name;
	return 0;
}

int npl_layer_group_data_inputs(const struct npl_step *step)
{
	return step->canonical ? 1 : step->n_in;
}

bool npl_layer_group_has_views(const struct npl_session *s, int device)
{
	return npl_device_get_info(s->device[device])->link.measured;
}

bool npl_layer_group_converts(const struct npl_session *s, int device)
{
	return device != NPL_ON_HOST && npl_device_get_info(s->device[device])->capabilities & NPL_CONVERTS_IN_GROUP &&
	       !s->options.layer_by_layer;
}
