/* SPDX-License-Identifier: MIT
 *
 * Replaces Attention in a graph, once its inputs' shapes are known, by two MatMul, a Softmax and the nodes between
 * them, which devices run as those of any other network. Nodes are called NODE/PART. Where several heads of q share one
 * head of k and v, the heads of q become rows of one matrix, so that k and v are not copied. */
#include <math.h>
#include <string.h>

#include "build.h"
#include "core/base/dtype.h"
#include "core/base/half.h"
#include "core/base/refuse.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, INPUTS };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SHOWN, OUTPUTS };

/* Builds the nodes. A value < 0 means that there is none, or that the builder has an error. */
struct composer {
	struct graph_builder *b;
	const char *owner;
	const struct npl_attention_attrs *attrs;
	enum npl_dtype dtype;
	int64_t rows, past, all; /* positions of q, of the past, and of the past and k */
	int64_t size, v_size;    /* elements of a head of q and k, and of v */
	int rc;
};

static const char *named(struct composer *c, const char *part)
{
	const char *name = npl_arena_printf(&c->b->graph->arena, "%s/%s", c->owner, part);
	if (!name)
		c->rc = npl_no_memory(c->b->err);
	return name;
}

/* Adds a node with at most one attribute. Arrays are copied. */
static int add(struct composer *c, const char *part, const char *op, const struct npl_attr *attr, int n_in,
	       const int *in)
{
	struct npl_arena *arena = &c->b->graph->arena;
	struct npl_attr_list list = {0};
	int out = -1;
	const char *name = c->rc ? NULL : named(c, part);
	if (c->rc)
		return -1;
	if (attr) {
		list = (struct npl_attr_list){.attr = npl_arena_array(arena, 1, sizeof *attr), .n = 1};
		int64_t *ints = npl_arena_array(arena, (size_t)attr->n, sizeof *ints);
		if (!list.attr || !ints) {
			c->rc = npl_no_memory(c->b->err);
			return -1;
		}
		if (attr->n)
			memcpy(ints, attr->ints, (size_t)attr->n * sizeof *ints);
		*list.attr = *attr;
		list.attr->ints = ints;
	}
	c->rc = graph_append_node(c->b, name, op, &list, n_in, in, 1, &out);
	return c->rc ? -1 : out;
}

static int constant(struct composer *c, const char *part, struct npl_value value)
{
	const int v = c->rc ? -1 : graph_add_made(c->b, c->owner, part, &value);
	if (!c->rc && v < 0)
		c->rc = v;
	return v;
}

/* Adds a number of the inputs' type. */
static int number(struct composer *c, const char *part, double x)
{
	struct npl_value value = {.dtype = c->dtype, .is_fill = true, .of_import = true};
	const float narrow = (float)x;
	if (c->dtype == NPL_F64)
		memcpy(value.fill, &x, sizeof x);
	else if (c->dtype == NPL_F32)
		memcpy(value.fill, &narrow, sizeof narrow);
	else {
		uint16_t half;
		npl_half_narrow(c->dtype, &narrow, 1, &half);
		memcpy(value.fill, &half, sizeof half);
	}
	return constant(c, part, value);
}

static int binary(struct composer *c, const char *part, const char *op, int a, int b)
{
	return add(c, part, op, NULL, 2, (const int[]){a, b});
}

/* Adds a Reshape. An entry 0 of dim is the dimension of x. */
static int reshape(struct composer *c, const char *part, int x, int n, const int64_t *dim)
{
	int64_t *copy = npl_arena_array(&c->b->graph->arena, (size_t)n, sizeof *copy);
	if (!copy) {
		c->rc = npl_no_memory(c->b->err);
		return -1;
	}
	memcpy(copy, dim, (size_t)n * sizeof *copy);
	const int shape = constant(c, part,
				   (struct npl_value){.dtype = NPL_I64, .shape = npl_shape_of(1, n), .data = copy});
	return add(c, part, "Reshape", NULL, 2, (const int[]){x, shape});
}

static int transpose(struct composer *c, const char *part, int x, const int64_t perm[4])
{
	const struct npl_attr attr = {.name = "perm", .type = NPL_ATTR_INTS, .ints = perm, .n = 4};
	return add(c, part, "Transpose", &attr, 1, &x);
}

/* Brings an input that may be (batch, length, heads * size) into (batch, heads, length, size). */
static int split_heads(struct composer *c, const char *part, int x, int64_t heads)
{
	const struct npl_shape shape = c->b->value[x].shape;
	if (shape.rank == 4)
		return x;
	const int split_dims = reshape(c, part, x, 4, (const int64_t[]){0, 0, heads, shape.dim[2] / heads});
	return transpose(c, part, split_dims, (const int64_t[]){0, 2, 1, 3});
}

static int append_to_past(struct composer *c, const char *part, int past, int x)
{
	const struct npl_attr axis = {.name = "axis", .type = NPL_ATTR_INT, .i = 2};
	return past < 0 ? x : add(c, part, "Concat", &axis, 2, (const int[]){past, x});
}

/* Makes the mask: position i of q sees the positions up to i of k, and the past. */
static int causal_mask(struct composer *c)
{
	const size_t bytes = (size_t)c->rows * (size_t)c->all;
	if (c->rc)
		return -1;
	if (!fold_allowed(c->b, bytes, bytes)) {
		c->rc = npl_fail(c->b->err, NPL_EINPUT, "its causal mask of %lld x %lld elements is too large",
				 (long long)c->rows, (long long)c->all);
		return -1;
	}
	unsigned char *sees = npl_arena_alloc(&c->b->graph->arena, bytes);
	if (!sees) {
		c->rc = npl_no_memory(c->b->err);
		return -1;
	}
	for (int64_t i = 0; i < c->rows; i++)
		for (int64_t j = 0; j < c->all; j++)
			sees[i * c->all + j] = j <= i + c->past;
	return constant(c, "causal",
			(struct npl_value){.dtype = NPL_BOOL, .shape = npl_shape_of(2, c->rows, c->all), .data = sees});
}

/* Sets the scores that the mask of bools leaves out to -infinity. */
static int keep(struct composer *c, const char *part, int sees, int scores, int never)
{
	return add(c, part, "Where", NULL, 3, (const int[]){sees, scores, never});
}

static int soften(struct composer *c, int scores)
{
	const struct npl_attr axis = {.name = "axis", .type = NPL_ATTR_INT, .i = -1};
	const enum npl_dtype type = c->attrs->softmax_type;
	if (type == NPL_DTYPES || type == c->dtype)
		return add(c, "softmax", "Softmax", &axis, 1, &scores);
	if (!npl_is_float(type)) {
		c->rc = npl_fail(c->b->err, NPL_EINPUT, "attribute softmax_precision is %s, expected a float type",
				 npl_dtype_name(type));
		return -1;
	}
	const struct npl_attr to = {.name = "to", .type = NPL_ATTR_INT, .i = npl_element_type_number(type)};
	const struct npl_attr original_type = {
		.name = "to", .type = NPL_ATTR_INT, .i = npl_element_type_number(c->dtype)};
	const int wide = add(c, "widened", "Cast", &to, 1, &scores),
		  soft = add(c, "softmax", "Softmax", &axis, 1, &wide);
	return add(c, "narrowed", "Cast", &original_type, 1, &soft);
}

/* Computes the weights from the products; *shown is the stage that qk_matmul_output_mode names. */
static int weigh(struct composer *c, int scores, int mask, int *shown)
{
	int state[4] = {scores};
	if (c->attrs->softcap > 0) {
		const int cap = number(c, "softcap", (double)c->attrs->softcap),
			  ratio = binary(c, "ratio", "Div", scores, cap);
		scores = binary(c, "capped", "Mul", add(c, "tanh", "Tanh", NULL, 1, &ratio), cap);
	}
	state[1] = scores;
	const bool of_bools = mask >= 0 && c->b->value[mask].dtype == NPL_BOOL;
	const int never = of_bools || c->attrs->causal ? number(c, "never", -INFINITY) : -1;
	if (c->attrs->causal)
		scores = keep(c, "sees", causal_mask(c), scores, never);
	if (of_bools)
		scores = keep(c, "masked", mask, scores, never);
	else if (mask >= 0)
		scores = binary(c, "masked", "Add", scores, mask);
	state[2] = scores;
	state[3] = soften(c, scores);
	*shown = state[c->attrs->score_stage];
	return state[3];
}

/* Lets value `from` take the place of `to`, an output of the node that is replaced. */
static void adopt(struct graph_builder *b, int first_node, int from, int to)
{
	struct npl_value *source = &b->value[from], *result = &b->value[to];
	const char *name = result->name;
	const int uses = result->uses;
	*result = *source;
	result->name = name;
	result->uses = uses;
	for (int i = first_node; i < b->n_nodes; i++) {
		for (int k = 0; k < b->node[i].n_in; k++)
			if (b->node[i].in[k] == from)
				b->node[i].in[k] = to;
		for (int k = 0; k < b->node[i].n_out; k++)
			if (b->node[i].out[k] == from)
				b->node[i].out[k] = to;
	}
	source->producer = -1;
}

/* Copies outputs that are inputs, as the present without a past may be. */
static int adopt_outputs(struct composer *c, const struct graph_node *node, int first_node, int first_value,
			 const int results[OUTPUTS])
{
	static const char *const parts[OUTPUTS] = {"y", "present_key", "present_value", "shown"};
	for (int k = 0; k < node->n_out && !c->rc; k++) {
		int from = results[k];
		if (from < first_value)
			from = add(c, parts[k], "Identity", NULL, 1, &from);
		if (!c->rc)
			adopt(c->b, first_node, from, node->out[k]);
	}
	return c->rc;
}

static void compose(struct composer *c, const struct graph_node *node, int results[OUTPUTS])
{
	int in[INPUTS];
	for (int k = 0; k < INPUTS; k++)
		in[k] = k < node->n_in ? node->in[k] : -1;
	const bool flat = c->b->value[in[Q]].shape.rank == 3;
	const int64_t heads = c->attrs->q_heads, shared = c->attrs->kv_heads, group = heads / shared;
	int q = split_heads(c, "q", in[Q], heads);
	const int k = append_to_past(c, "keys", in[PAST_KEY], split_heads(c, "k", in[K], shared));
	const int v = append_to_past(c, "values", in[PAST_VALUE], split_heads(c, "v", in[V], shared));
	q = binary(c, "scaled", "Mul", q, number(c, "scale", (double)c->attrs->scale));
	if (group > 1)
		q = reshape(c, "groups", q, 4, (const int64_t[]){0, shared, group * c->rows, c->size});
	int scores = binary(c, "scores", "MatMul", q, transpose(c, "turned", k, (const int64_t[]){0, 1, 3, 2}));
	if (group > 1)
		scores = reshape(c, "heads", scores, 4, (const int64_t[]){0, heads, c->rows, c->all});
	int weights = weigh(c, scores, in[MASK], &results[SHOWN]);
	if (group > 1)
		weights = reshape(c, "weights", weights, 4, (const int64_t[]){0, shared, group * c->rows, c->all});
	int y = binary(c, "mix", "MatMul", weights, v);
	if (group > 1)
		y = reshape(c, "apart", y, 4, (const int64_t[]){0, heads, c->rows, c->v_size});
	if (flat)
		y = reshape(c, "y", transpose(c, "together", y, (const int64_t[]){0, 2, 1, 3}), 3,
			    (const int64_t[]){0, 0, heads * c->v_size});
	results[Y] = y;
	results[PRESENT_KEY] = k;
	results[PRESENT_VALUE] = v;
}

int graph_compose_attention(struct graph_builder *b, int index)
{
	const struct graph_node node = b->node[index];
	const struct npl_shape q = b->value[node.in[Q]].shape, k = b->value[node.in[K]].shape,
			       v = b->value[node.in[V]].shape;
	const struct npl_attention_attrs *attrs = &node.attrs.attention;
	struct composer c = {.b = b, .owner = node.name, .attrs = attrs, .dtype = b->value[node.in[Q]].dtype};
	const bool flat = q.rank == 3;
	c.rows = q.dim[flat ? 1 : 2];
	c.size = flat ? q.dim[2] / attrs->q_heads : q.dim[3];
	c.v_size = flat ? v.dim[2] / attrs->kv_heads : v.dim[3];
	c.past = node.n_in > PAST_KEY && node.in[PAST_KEY] >= 0 ? b->value[node.in[PAST_KEY]].shape.dim[2] : 0;
	c.all = c.past + k.dim[flat ? 1 : 2];
	const int first_node = b->n_nodes, first_value = b->n_values, opset = b->opset;
	int source[OUTPUTS];
	b->opset = node.opset;
	compose(&c, &node, source);
	if (!c.rc)
		adopt_outputs(&c, &node, first_node, first_value, source);
	b->opset = opset;
	b->node[index].removed = true;
	return c.rc;
}
