/* SPDX-License-Identifier: MIT
 *
 * What the steps of follow_net.h share. */
#include "follow_net.h"

#include <stdio.h>
#include <string.h>

#define ELEMENTS 4096 /* of a value, at most */

int64_t follow_draw(struct net *net, int64_t low, int64_t high)
{
	return test_range(&net->rng, low, high);
}

const struct npl_shape *follow_shape(const struct net *net, int v)
{
	return &net->b.value[v].shape;
}

int follow_constant(struct net *net, enum npl_dtype dtype, struct npl_shape shape, const void *data)
{
	struct npl_tensor t = {.dtype = dtype, .shape = shape};
	t.name = graph_free_name(&net->b, "c");
	const size_t bytes = npl_tensor_bytes(&t);
	t.data = npl_arena_alloc(&net->graph->arena, bytes + 8);
	memcpy(t.data, data, bytes);
	return graph_add_constant(&net->b, &t) ? -2 : net->b.n_values - 1;
}

int follow_floats(struct net *net, struct npl_shape shape)
{
	float data[ELEMENTS] = {0};
	const int64_t n = npl_shape_count(&shape);
	const bool alike = follow_draw(net, 0, 2) == 0; /* as a state to begin with may be */
	for (int64_t i = 0; i < n && i < ELEMENTS; i++)
		data[i] = alike ? 0.25f : (float)follow_draw(net, -8, 8) / 4;
	return n <= ELEMENTS ? follow_constant(net, NPL_F32, shape, data) : -2;
}

int follow_integers(struct net *net, int n, const int64_t *data)
{
	return follow_constant(net, NPL_I64, npl_shape_of(1, n), data);
}

int follow_indices(struct net *net, struct npl_shape shape, int64_t low, int64_t high)
{
	int64_t data[ELEMENTS] = {0};
	const int64_t n = npl_shape_count(&shape);
	const bool alike = follow_draw(net, 0, 1) == 0;
	for (int64_t i = 0; i < n && i < ELEMENTS; i++)
		data[i] = alike ? high : follow_draw(net, low, high);
	return n <= ELEMENTS ? follow_constant(net, NPL_I64, shape, data) : -2;
}

int follow_bytes(struct net *net, enum npl_dtype dtype, struct npl_shape shape)
{
	unsigned char data[ELEMENTS] = {0};
	const int64_t n = npl_shape_count(&shape);
	for (int64_t i = 0; i < n && i < ELEMENTS; i++)
		data[i] = (unsigned char)follow_draw(net, 0, dtype == NPL_BOOL ? 1 : 255);
	return n <= ELEMENTS ? follow_constant(net, dtype, shape, data) : -2;
}

/* Attributes that live as long as the graph. */
static struct npl_attr_list kept_attrs(struct net *net, struct npl_attr_list attrs)
{
	struct npl_attr *copy = npl_arena_array(&net->graph->arena, (size_t)attrs.n + 1, sizeof *copy);
	if (attrs.n)
		memcpy(copy, attrs.attr, (size_t)attrs.n * sizeof *copy);
	for (int i = 0; i < attrs.n; i++)
		if (copy[i].type == NPL_ATTR_INTS) {
			int64_t *ints = npl_arena_array(&net->graph->arena, (size_t)copy[i].n + 1, sizeof *ints);
			memcpy(ints, copy[i].ints, (size_t)copy[i].n * sizeof *ints);
			copy[i].ints = ints;
		}
	return (struct npl_attr_list){.attr = copy, .n = attrs.n};
}

int follow_outputs_of(struct net *net, const char *op, struct npl_build_in in, struct npl_attr_list attrs, int n_out)
{
	char name[32];
	int out = -1;
	snprintf(name, sizeof name, "n%d", net->named++);
	for (int k = 0; k < in.n; k++)
		if (in.value[k] < -1)
			return -2;
	net->err = (struct npl_err){0};
	const struct npl_attr_list kept = kept_attrs(net, attrs);
	if (net->n + n_out > FOLLOW_VALUES || graph_append_node(&net->b, npl_arena_strdup(&net->graph->arena, name), op,
								&kept, in.n, in.value, n_out, &out))
		return -2;
	const struct graph_node *node = &net->b.node[net->b.n_nodes - 1];
	net->value[net->n++] = out;
	for (int k = 1; k < node->n_out && node->out[0] == out; k++)
		net->value[net->n++] = node->out[k];
	return out;
}

int follow_node_of(struct net *net, const char *op, struct npl_build_in in, struct npl_attr_list attrs)
{
	return follow_outputs_of(net, op, in, attrs, 1);
}

int follow_cast(struct net *net, int x, enum npl_dtype dtype)
{
	static const int64_t code[NPL_DTYPES] = {
		[NPL_F32] = 1,  [NPL_U8] = 2,   [NPL_I8] = 3,   [NPL_I32] = 6,  [NPL_I64] = 7,
		[NPL_BOOL] = 9, [NPL_F16] = 10, [NPL_F64] = 11, [NPL_U32] = 12, [NPL_BF16] = 16};
	return follow_node_of(net, "Cast", NPL_IN(x), NPL_ATTRS(NPL_INT("to", code[dtype])));
}

int follow_picks(struct net *net, int x, int64_t maximum)
{
	const float limit[] = {0, (float)maximum};
	const int low = follow_constant(net, NPL_F32, (struct npl_shape){.rank = 0}, &limit[0]),
		  high = follow_constant(net, NPL_F32, (struct npl_shape){.rank = 0}, &limit[1]);
	return follow_cast(net, follow_node_of(net, "Clip", NPL_IN(x, low, high), NPL_NO_ATTRS), NPL_I64);
}

void follow_grow(struct net *net)
{
	struct drawn d = {.x = net->value[follow_draw(net, 0, net->n - 1)]};
	d.y = net->value[follow_draw(net, 0, net->n - 1)];
	d.s = *follow_shape(net, d.x);
	d.t = *follow_shape(net, d.y);
	d.r = d.s.rank;
	const int64_t maximum = npl_shape_count(&d.s) > npl_shape_count(&d.t) ? npl_shape_count(&d.s)
									      : npl_shape_count(&d.t);
	if (!d.r || !npl_shape_count(&d.s) || !npl_shape_count(&d.t) || maximum > ELEMENTS / 8)
		return;
	d.axis = follow_draw(net, 0, d.r - 1);
	d.other = follow_draw(net, 0, d.r - 1);
	if (net->b.value[d.x].dtype != NPL_F32 && follow_draw(net, 0, 2)) { /* most operators want floats */
		d.x = follow_cast(net, d.x, NPL_F32);
		if (d.x < 0)
			return;
	}
	const int step = (int)follow_draw(net, 0, follow_n_moving_steps + follow_n_layer_steps - 1);
	if (step < follow_n_moving_steps)
		follow_moving_steps[step](net, &d);
	else
		follow_layer_steps[step - follow_n_moving_steps](net, &d);
}
