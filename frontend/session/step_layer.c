/* SPDX-License-Identifier: MIT
 *
 * A step of the plan as a layer for its device (session_impl.h). */
#include "frontend/quantise/quantise.h"
#include "session_impl.h"

/* Describes the layer's weight and bias, which is enough in timing_only, where they are not prepared. */
static void describe_weights(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			     struct npl_step_tensors *t, struct npl_layer *layer)
{
	enum npl_format format = npl_step_format(s, step);
	t->weight = (struct npl_tensor){.dtype = npl_format_weight_dtype(format),
					.shape = s->graph->value[node->in[1]].shape,
					.quant = {.scale = 1}};
	t->bias = (struct npl_tensor){.dtype = format == NPL_FORMAT_F32 ? NPL_F32 : NPL_I32, .quant = {.scale = 1}};
	if (step->op == NPL_OP_GEMM)
		t->weight.shape = npl_shape_of(2, step->y_shape.dim[1], step->x_shape.dim[1]);
	t->bias.shape = npl_shape_of(1, step->y_shape.dim[1]);
	layer->in[1] = &t->weight;
	if (node->n_in > 2 && node->in[2] >= 0)
		layer->in[2] = &t->bias;
}

int npl_step_further_results(const struct npl_session *s, int i, struct npl_tensor *out)
{
	const struct npl_node *node = &s->graph->node[i];
	int n = 0;
	for (int k = 1; k < node->n_out; k++) {
		const struct npl_value *value = node->out[k] < 0 ? NULL : &s->graph->value[node->out[k]];
		if (value && value->uses)
			n = k;
		out[k] = value ? (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape}
			       : (struct npl_tensor){0};
	}
	return n;
}

void npl_step_layer(const struct npl_session *s, int i, struct npl_step_tensors *t, struct npl_layer *layer)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	const struct npl_value *value = &s->graph->value[step->out];
	enum npl_format format = npl_step_format(s, step);
	t->out = (struct npl_tensor){.name = value->name,
				     .dtype = npl_session_dtype(s, format, step->out),
				     .shape = step->y_shape,
				     .quant = step->y_quant};
	*layer = (struct npl_layer){.name = node->name,
				    .op = step->op,
				    .attrs = &step->attrs,
				    .activation = step->activation,
				    .n_in = step->n_in,
				    .out = &t->out,
				    .macs = node->macs,
				    .timing_only = s->options.timing_only};
	if (!step->canonical)
		return;
	layer->in[1] = &step->weight;
	layer->in[2] = step->bias.shape.rank ? &step->bias : NULL;
	if (!step->weight.shape.rank)
		describe_weights(s, node, step, t, layer);
}
