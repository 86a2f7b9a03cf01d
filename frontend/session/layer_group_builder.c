/* SPDX-License-Identifier: MIT
 *
 * The layers and tensors of a layer group (layer_group_builder.h): its nodes' own, those that name data in another shape, and those that convert. */
#include <string.h>

#include "frontend/quantise/quantise.h"
#include "layer_group_builder.h"
#include "model_layer.h"
#include "split.h"

int npl_layer_group_no_room(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory for a layer group");
}

/* Value v of node i in a form, from outside. */
static struct npl_tensor *given(struct npl_layer_group_builder *d, int i, int v, enum npl_format form,
				const struct npl_shape *shape, struct npl_err *err)
{
	struct npl_session *s = d->s;
	struct npl_value *value = &s->graph->value[v];
	if (value->dtype != NPL_F32)
		form = NPL_FORMAT_F32; /* as the graph has it */
	struct npl_quant quant = s->step[i].in_integers ? s->step[i].x_quant : npl_session_quant(s, form, v);
	for (int p = d->last_port[v] - 1; p >= 0; p = d->port_before[p] - 1)
		if (d->c.in[p].form == form && npl_quant_same(&d->c.in[p].tensor->quant, &quant) &&
		    npl_shape_equal(&d->c.in[p].tensor->shape, shape))
			return d->c.in[p].tensor;
	struct npl_tensor *tensor = npl_arena_alloc(d->arena, sizeof *tensor);
	if (!tensor) {
		npl_layer_group_no_room(err);
		return NULL;
	}
	*tensor = (struct npl_tensor){
		.name = value->name, .dtype = npl_session_dtype(s, form, v), .shape = *shape, .quant = quant};
	if (form == NPL_FORMAT_F32 && value->constant && !s->timing_only) {
		const void *data = npl_value_data(s->graph, value, err);
		if (!data && npl_tensor_count(tensor) > 0)
			return NULL;
		tensor->data = (void *)data;
	}
	d->c.in[d->c.n_in++] = (struct npl_layer_group_port){.value = v, .node = i, .tensor = tensor, .form = form};
	d->port_before[d->c.n_in - 1] = d->last_port[v];
	d->last_port[v] = d->c.n_in;
	return tensor;
}

/* The next layer, of node i; it makes value v. */
static struct npl_layer *add_layer(struct npl_layer_group_builder *d, int i, int v)
{
	struct npl_layer *layer = &d->c.layer[d->c.n];
	d->c.node[d->c.n] = i;
	d->c.value[d->c.n] = v;
	d->c.list[d->c.n] = layer;
	return layer;
}

/* What the layer of node i makes: one tensor or, where others are read too, a row of them. */
static int add_results(struct npl_layer_group_builder *d, int i, struct npl_step_tensors *t, struct npl_layer *layer,
		       struct npl_err *err)
{
	const struct npl_node *node = &d->s->graph->node[i];
	struct npl_tensor several[NPL_MAX_OUTPUTS], *out = &t->out;
	layer->n_more = npl_step_more(d->s, i, several);
	if (layer->n_more) {
		out = npl_arena_array(d->arena, (size_t)layer->n_more + 1, sizeof *out);
		if (!out)
			return npl_layer_group_no_room(err);
		memcpy(out, several, ((size_t)layer->n_more + 1) * sizeof *out);
		out[0] = t->out;
		layer->out = out;
	}
	d->made[d->s->step[i].out] = &out[0];
	for (int k = 1; k <= layer->n_more; k++)
		if (node->out[k] >= 0)
			d->made[node->out[k]] = &out[k];
	return 0;
}

/* Tensor `in`, value v of node i, in another shape: a layer that names its data so, unless it has that shape. */
static struct npl_tensor *named_as(struct npl_layer_group_builder *d, int i, int v, struct npl_tensor *in,
				   const struct npl_shape *shape)
{
	if (npl_shape_equal(&in->shape, shape))
		return in;
	const struct npl_node *node = &d->s->graph->node[i];
	struct npl_layer *layer = add_layer(d, i, v);
	struct npl_tensor *made = &d->tensors[d->c.n++].out;
	*made = *in;
	made->shape = *shape;
	*layer = (struct npl_layer){.name = node->name,
				    .op = NPL_OP_RESHAPE,
				    .attrs = &node->attrs,
				    .n_in = 1,
				    .in = {in},
				    .out = made,
				    .timing_only = d->s->timing_only};
	return made;
}

/* Value v, which is `in`, in the other form, by a layer that node i pays for. */
static struct npl_tensor *convert(struct npl_layer_group_builder *d, int i, int v, struct npl_tensor *in,
				  enum npl_format form)
{
	const struct npl_session *s = d->s;
	const bool back = form == NPL_FORMAT_F32;
	struct npl_layer *layer = add_layer(d, i, -1);
	struct npl_tensor *made = &d->tensors[d->c.n++].out;
	*made = (struct npl_tensor){.name = in->name,
				    .dtype = npl_session_dtype(s, form, v),
				    .shape = in->shape,
				    .quant = npl_session_quant(s, form, v)};
	*layer = (struct npl_layer){.name = s->graph->node[i].name,
				    .op = back ? NPL_OP_DEQUANTIZELINEAR : NPL_OP_QUANTIZELINEAR,
				    .attrs = &s->graph->node[i].attrs,
				    .n_in = 1,
				    .in = {in},
				    .out = made,
				    .timing_only = s->timing_only};
	d->converted[npl_root_of(s->graph, v)] = made;
	return made;
}

struct npl_tensor *npl_layer_group_in_form(struct npl_layer_group_builder *d, int i, int v, enum npl_format form)
{
	const bool integers = d->made[v]->quant.scale > 0;
	if (!d->c.converts || d->s->graph->value[v].dtype != NPL_F32 || integers == (form != NPL_FORMAT_F32))
		return d->made[v];
	struct npl_tensor *made = d->converted[npl_root_of(d->s->graph, v)];
	return made ? made : convert(d, i, v, d->made[v], form);
}

/* The same in the value's shape. */
static struct npl_tensor *in_form(struct npl_layer_group_builder *d, int i, int v, enum npl_format form)
{
	return named_as(d, i, v, npl_layer_group_in_form(d, i, v, form), &d->s->graph->value[v].shape);
}

/* Whether node i leaves integers that stand for value v, which is no view, to those behind it. A device that converts within its layer groups
 * leaves those of the model alone (layer_group.c). */
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

static bool has_integers(const struct npl_layer_group_builder *d, int v)
{
	for (int i = 0; i < d->c.first; i++)
		if (leaves_integers(d->s, i, v))
			return true;
	return false;
}

/* Whether value v comes from where there are floats alone: from outside of the network, or the host. */
static bool comes_as_floats(const struct npl_layer_group_builder *d, int v)
{
	const struct npl_session *s = d->s;
	v = npl_root_of(s->graph, v);
	const int maker = s->graph->value[v].producer;
	if (s->graph->value[v].constant || s->graph->value[v].dtype != NPL_F32 || has_integers(d, v))
		return false;
	return maker < 0 || (s->step[maker].role == NPL_RAN && s->step[maker].device == NPL_ON_HOST);
}

/* The form in which value v, of floats, is taken from outside where a layer reads it in `form`. */
static enum npl_format form_outside(const struct npl_layer_group_builder *d, int v, enum npl_format form)
{
	const struct npl_session *s = d->s;
	const int maker = s->graph->value[v].producer;
	if (!d->c.converts || s->graph->value[v].dtype != NPL_F32)
		return form;
	if (form == NPL_FORMAT_F32) /* numbers that the model's integers stand for */
		return maker >= 0 && s->model.node[maker] ? NPL_FORMAT_INT8 : form;
	return comes_as_floats(d, v) ? NPL_FORMAT_F32 : form;
}

/* Value v, from outside, as node i reads it. */
static struct npl_tensor *as_given(struct npl_layer_group_builder *d, int i, int v, enum npl_format form,
				   const struct npl_shape *shape, struct npl_err *err)
{
	const enum npl_format comes = form_outside(d, v, form);
	if (comes == form)
		return given(d, i, v, form, shape, err);
	struct npl_tensor *made = d->converted[npl_root_of(d->s->graph, v)];
	if (made)
		return named_as(d, i, v, made, shape);
	struct npl_tensor *in = given(d, i, v, comes, shape, err);
	return in ? convert(d, i, v, in, form) : NULL;
}

/* Value v as node i reads it: as the layer group makes it, in the node's form, or given. */
static struct npl_tensor *as_read(struct npl_layer_group_builder *d, int i, int v, const struct npl_shape *shape,
				  struct npl_err *err)
{
	const struct npl_step *step = &d->s->step[i];
	const enum npl_format form = npl_step_format(d->s, step);
	if (d->made[v]) {
		if (step->in_integers) /* a QuantizeLinear among the layer group's layers makes them without their scale */
			d->made[v]->quant = step->x_quant;
		return named_as(d, i, v, npl_layer_group_in_form(d, i, v, form), shape);
	}
	return as_given(d, i, v, form, shape, err);
}

/* Others see the result in the shape that the graph gives it. */
static void name_result(struct npl_layer_group_builder *d, int i)
{
	int v = d->s->step[i].out;
	if (d->s->step[i].canonical && npl_layer_group_renames(d->s, d->c.device))
		d->made[v] = named_as(d, i, v, d->made[v], &d->s->graph->value[v].shape);
}

int npl_layer_group_add_step(struct npl_layer_group_builder *d, int i, struct npl_err *err)
{
	const struct npl_session *s = d->s;
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	struct npl_tensor *in[NPL_LAYER_INPUTS] = {NULL};
	for (int k = 0; k < npl_layer_group_data_inputs(step); k++) {
		int v = node->in[k];
		if (v >= 0 &&
		    !(in[k] = as_read(d, i, v, step->canonical ? &step->x_shape : &s->graph->value[v].shape, err)))
			return err->code;
	}
	struct npl_layer *layer = add_layer(d, i, step->out);
	struct npl_step_tensors *t = &d->tensors[d->c.n++];
	npl_step_layer(s, i, t, layer);
	for (int k = 0; k < npl_layer_group_data_inputs(step); k++)
		if (in[k])
			layer->in[k] = in[k];
	if (add_results(d, i, t, layer, err))
		return err->code;
	name_result(d, i);
	return 0;
}

int npl_layer_group_add_split(struct npl_layer_group_builder *d, int i, struct npl_err *err)
{
	const struct npl_session *s = d->s;
	const struct npl_node *node = &s->graph->node[i];
	int v = node->in[0];
	const struct npl_tensor *x = as_read(d, i, v, &s->graph->value[v].shape, err);
	for (int k = 0; k < node->n_out && x; k++) {
		if (!npl_split_read(s, i, k))
			continue;
		struct npl_layer *layer = add_layer(d, i, node->out[k]);
		struct npl_tensor *out = &d->tensors[d->c.n++].out;
		npl_split_layer(s, i, k, out, layer);
		layer->in[0] = x;
		d->made[node->out[k]] = out;
	}
	return x ? 0 : err->code;
}

/* A QuantizeLinear of the model: from here on there are its integers. */
static int add_quantised(struct npl_layer_group_builder *d, int i, struct npl_err *err)
{
	const struct npl_node *node = &d->s->graph->node[i];
	const int v = node->in[0];
	if (d->made[v])
		d->made[node->out[0]] = in_form(d, i, v, NPL_FORMAT_INT8);
	else
		d->made[node->out[0]] = as_given(d, i, v, NPL_FORMAT_INT8, &d->s->graph->value[v].shape, err);
	return d->made[node->out[0]] ? 0 : err->code;
}

int npl_layer_group_add_view(struct npl_layer_group_builder *d, int i, struct npl_err *err)
{
	const struct npl_node *node = &d->s->graph->node[i];
	const int v = node->out[0];
	const struct npl_value *out = &d->s->graph->value[v];
	struct npl_tensor *in = d->made[node->in[0]];
	if (d->c.converts && d->s->model.node[i] == NPL_QUANTISES)
		return add_quantised(d, i, err);
	if (!in)
		return 0;
	if (d->s->model.node[i] == NPL_DEQUANTISES &&
	    !(in->quant.scale > 0)) /* a layer in the model's own terms made them */
		in->quant = d->s->model.value[v].quant;
	d->made[v] = named_as(d, i, v, in, &out->shape);
	if (d->made[v] != in)
		d->made[v]->name = out->name;
	return 0;
}

int npl_layer_group_data_inputs(const struct npl_step *step)
{
	return step->canonical ? 1 : step->n_in;
}

bool npl_layer_group_renames(const struct npl_session *s, int device)
{
	return npl_device_get_info(s->device[device])->link.measured;
}

bool npl_layer_group_converts(const struct npl_session *s, int device)
{
	return device != NPL_ON_HOST && npl_device_get_info(s->device[device])->capabilities & NPL_CONVERTS_IN_GROUP &&
	       !s->alone;
}
