/* SPDX-License-Identifier: MIT
 *
 * Turns layers into nodes and values (impl.h). Concat, Slice, Flatten and other views become values that see other
 * values' stores in another way, without a node. An input of a Concat that must change its number format is scaled by a
 * node of its own. */
#include <string.h>

#include "core/integer.h"
#include "impl.h"

static int refuse(struct tpu_gen *gen, int layer, const char *reason)
{
	const struct npl_layer *l = gen->layer[layer];
	return npl_fail(gen->err, NPL_EDEVICE, "%s (%s): %s", l->name ? l->name : "layer", npl_op_defs[l->op].name,
			reason);
}

/* Gives the value a store of its own. Returns 0 or NPL_ENOMEM. */
static int own_store(struct tpu_gen *gen, int v)
{
	struct tpu_gen_value *value = &gen->value[v];
	value->piece = npl_arena_alloc(&gen->arena, sizeof *value->piece);
	if (!value->piece)
		return npl_fail(gen->err, NPL_ENOMEM, "out of memory for the layers");
	value->n_pieces = 1;
	*value->piece = (struct tpu_gen_piece){.store = gen->n_stores, .channels = value->image.channels};
	gen->store[gen->n_stores++] = (struct tpu_gen_store){
		.type = value->type, .image = value->image, .maker = -1, .first_reader = -1, .allocation = -1};
	return 0;
}

/* Returns the slot of the table that has the tensor, or the free slot for it. The table is never full. */
static int *slot_of(const struct tpu_gen *gen, const struct npl_tensor *tensor)
{
	size_t slot = (size_t)(((uint64_t)(uintptr_t)tensor * 0x9e3779b97f4a7c15u) >> 20) % gen->value_of_slots;
	while (gen->value_of[slot] >= 0 && gen->value[gen->value_of[slot]].tensor != tensor)
		slot = (slot + 1) % gen->value_of_slots;
	return &gen->value_of[slot];
}

static int find_value(const struct tpu_gen *gen, const struct npl_tensor *tensor)
{
	return *slot_of(gen, tensor);
}

static void set_tensor(struct tpu_gen *gen, int v, const struct npl_tensor *tensor)
{
	int *slot = slot_of(gen, tensor);
	gen->value[v].tensor = tensor;
	*slot = v;
}

/* Returns the value of a layer's input, and makes it where there is none; -1: out of memory. */
static int input(struct tpu_gen *gen, int layer, int k)
{
	const struct npl_tensor *tensor = gen->layer[layer]->in[k];
	int v = find_value(gen, tensor);
	if (v < 0) {
		struct npl_image image = tpu_gen_image(&tensor->shape);
		v = tpu_gen_new_value(gen, tensor, &image);
		set_tensor(gen, v, tensor);
		if (own_store(gen, v))
			return -1;
	}
	gen->value[v].read = true;
	return v;
}

/* Returns a new node whose result is a value of that format and image; NULL: out of memory. */
static struct tpu_gen_node *new_node(struct tpu_gen *gen, enum tpu_gen_kind kind, int layer, int in,
				     const struct npl_tensor *format, const struct npl_image *image)
{
	struct tpu_gen_node *node = &gen->node[gen->n_nodes];
	*node = (struct tpu_gen_node){.kind = kind, .layer = layer, .in = {in, -1}, .groups = 1};
	node->out = tpu_gen_new_value(gen, format, image);
	if (own_store(gen, node->out))
		return NULL;
	gen->n_nodes++;
	return node;
}

static bool same_image(const struct npl_image *a, const struct npl_image *b)
{
	return a->images == b->images && a->channels == b->channels && a->size[0] == b->size[0] &&
	       a->size[1] == b->size[1];
}

static bool same_format(const struct tpu_gen_value *a, const struct npl_tensor *b)
{
	enum tpu_type type;
	return tpu_gen_type(b->dtype, &type) && a->type == type && !(a->scale < b->quant.scale) &&
	       !(a->scale > b->quant.scale) && a->zero_point == b->quant.zero_point;
}

/* The table functions take Q4.12. */
static const struct npl_tensor q12 = {.dtype = NPL_I16, .quant = {.scale = 1.0f / 4096}};

/* Returns the format of the layer's result before a fused activation. */
static const struct npl_tensor *format_of(const struct npl_layer *layer)
{
	return npl_activation_has_table(layer->activation) ? &q12 : layer->out;
}

/* Makes the matrix node of a Conv or Gemm. A Gemm of a tensor that is kept as images is a convolution whose kernel has
 * the images' size. */
static int matrix(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	struct npl_image image = tpu_gen_image(&l->out->shape);
	int x = input(gen, layer, 0);
	struct tpu_gen_node *node = x < 0 ? NULL : new_node(gen, TPU_GEN_MATRIX, layer, x, format_of(l), &image);
	if (!node)
		return NPL_ENOMEM;
	*out = node->out;
	if (l->op == NPL_OP_CONV) {
		node->groups = l->attrs->conv.groups;
		node->window = l->attrs->conv.window;
		return gen->value[x].flat ? refuse(gen, layer, "a flattened tensor is not an image") : 0;
	}
	for (int d = 0; d < NPL_SPATIAL; d++) {
		node->window.kernel[d] = gen->value[x].image.size[d];
		node->window.stride[d] = node->window.dilation[d] = 1;
		if (node->window.kernel[d] > TPU_GEN_MAX_SIZE)
			return refuse(gen, layer, "the flattened image is larger than 65535");
	}
	return 0;
}

/* Makes a node of the activation unit for the layer's first input; binary() adds the second one. */
static int unary(struct tpu_gen *gen, int layer, enum tpu_gen_kind kind, struct tpu_gen_node **node)
{
	const struct npl_layer *l = gen->layer[layer];
	int x = input(gen, layer, 0);
	if (x < 0)
		return NPL_ENOMEM;
	struct npl_image image = kind == TPU_GEN_POOL ? tpu_gen_image(&l->out->shape) : gen->value[x].image;
	*node = new_node(gen, kind, layer, x, format_of(l), &image);
	if (!*node)
		return NPL_ENOMEM;
	gen->value[(*node)->out].flat = gen->value[x].flat;
	return kind == TPU_GEN_POOL && gen->value[x].flat ? refuse(gen, layer, "a flattened tensor is not an image")
							  : 0;
}

static int binary(struct tpu_gen *gen, int layer, enum tpu_gen_kind kind, int *out)
{
	struct tpu_gen_node *node;
	int rc = unary(gen, layer, kind, &node);
	if (rc)
		return rc;
	int b = input(gen, layer, 1);
	if (b < 0)
		return NPL_ENOMEM;
	node->in[1] = b;
	*out = node->out;
	return same_image(&gen->value[node->in[0]].image, &gen->value[b].image)
		       ? 0
		       : refuse(gen, layer, "one operand is kept as images, the other flattened");
}

static int scale(struct tpu_gen *gen, int layer, int in, const struct npl_tensor *format, int *out)
{
	struct tpu_gen_node *node = new_node(gen, TPU_GEN_SCALE, layer, in, format, &gen->value[in].image);
	if (!node)
		return NPL_ENOMEM;
	gen->value[node->out].flat = gen->value[in].flat;
	*out = node->out;
	return 0;
}

static int to_q12(struct tpu_gen *gen, int layer, int *in)
{
	return same_format(&gen->value[*in], &q12) ? 0 : scale(gen, layer, *in, &q12, in);
}

static int function(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	int x = input(gen, layer, 0);
	if (x < 0 || ((l->op == NPL_OP_SIGMOID || l->op == NPL_OP_TANH) && to_q12(gen, layer, &x)))
		return NPL_ENOMEM;
	struct tpu_gen_node *node = new_node(gen, TPU_GEN_FUNCTION, layer, x, l->out, &gen->value[x].image);
	if (!node)
		return NPL_ENOMEM;
	gen->value[node->out].flat = gen->value[x].flat;
	*out = node->out;
	node->function = l->op == NPL_OP_SIGMOID ? TPU_SIGMOID : l->op == NPL_OP_TANH ? TPU_TANH : TPU_RELU;
	if (l->op == NPL_OP_CLIP)
		tpu_gen_clip(l, &node->function, &node->limit);
	return 0;
}

static int concat(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	int in[NPL_LAYER_INPUTS] = {0};
	for (int i = 0; i < l->n_in; i++) {
		in[i] = input(gen, layer, i);
		if (in[i] < 0 || (!same_format(&gen->value[in[i]], l->out) && scale(gen, layer, in[i], l->out, &in[i])))
			return NPL_ENOMEM;
		if (gen->value[in[i]].flat)
			return refuse(gen, layer, "a flattened tensor among those to be joined");
	}
	return tpu_gen_view(gen, l->out, in, l->n_in, 0, gen->value[in[0]].image.channels, out);
}

static int slice(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	int x = input(gen, layer, 0);
	if (x < 0)
		return NPL_ENOMEM;
	if (gen->value[x].flat)
		return refuse(gen, layer, "a slice of a flattened tensor");
	return tpu_gen_view(gen, l->out, &x, 1, l->attrs->slice.first[1], l->out->shape.dim[1], out);
}

static int reshape(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	struct npl_image image = tpu_gen_image(&l->out->shape);
	int x = input(gen, layer, 0);
	if (x < 0 || tpu_gen_view(gen, l->out, &x, 1, 0, gen->value[x].image.channels, out))
		return NPL_ENOMEM;
	gen->value[*out].flat = !same_image(&image, &gen->value[x].image);
	return 0;
}

static int expand(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	struct tpu_gen_node *node;
	int rc;
	switch (l->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
		return matrix(gen, layer, out);
	case NPL_OP_ADD:
		return binary(gen, layer, TPU_GEN_ADD, out);
	case NPL_OP_MUL:
		return binary(gen, layer, TPU_GEN_MULTIPLY, out);
	case NPL_OP_SUM:
		if (l->n_in == 2)
			return binary(gen, layer, TPU_GEN_ADD, out);
		rc = unary(gen, layer, TPU_GEN_SCALE, &node);
		break;
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		rc = unary(gen, layer, TPU_GEN_POOL, &node);
		if (!rc) {
			tpu_gen_pooling(l, &node->pooling);
			node->window = l->attrs->pool.window;
		}
		break;
	case NPL_OP_CONCAT:
		return concat(gen, layer, out);
	case NPL_OP_SLICE:
		return slice(gen, layer, out);
	case NPL_OP_FLATTEN:
	case NPL_OP_RESHAPE:
	case NPL_OP_UNSQUEEZE:
	case NPL_OP_DROPOUT:
		return reshape(gen, layer, out);
	default:
		return function(gen, layer, out);
	}
	if (!rc)
		*out = node->out;
	return rc;
}

/* Makes a node for the layer's fused activation. */
static int fused(struct tpu_gen *gen, int layer, int *out)
{
	const struct npl_layer *l = gen->layer[layer];
	enum tpu_function function;
	if (!tpu_gen_fused(l->activation, &function))
		return refuse(gen, layer, "the activation unit does not have its activation");
	if (function == TPU_IDENTITY)
		return 0;
	struct tpu_gen_node *node = new_node(gen, TPU_GEN_FUNCTION, layer, *out, l->out, &gen->value[*out].image);
	if (!node)
		return NPL_ENOMEM;
	node->function = function;
	node->limit = 6;
	gen->value[node->out].flat = gen->value[*out].flat;
	*out = node->out;
	return 0;
}

static int one_layer(struct tpu_gen *gen, int layer)
{
	const struct npl_layer *l = gen->layer[layer];
	char reason[300];
	int out;
	if (!tpu_generate_supports(gen->config, l, reason, sizeof reason))
		return refuse(gen, layer, reason);
	if (find_value(gen, l->out) >= 0)
		return refuse(gen, layer, "its output is another layer's output too, or an input before it is made");
	int rc = expand(gen, layer, &out);
	if (!rc)
		rc = fused(gen, layer, &out);
	if (rc)
		return rc;
	set_tensor(gen, out, l->out);
	gen->value[out].computed = true;
	return 0;
}

static int mark_resident(struct tpu_gen *gen)
{
	for (int i = 0; i < gen->request->n_resident; i++) {
		int v = find_value(gen, gen->request->resident[i]);
		if (v < 0)
			return npl_fail(gen->err, NPL_EINTERNAL, "a tensor is kept that no layer reads");
		if (tpu_gen_resolve(gen, v))
			return NPL_ENOMEM;
		for (int p = 0; p < gen->value[v].n_pieces; p++)
			gen->store[gen->value[v].piece[p].store].resident = true;
	}
	return 0;
}

static int mark_wanted(struct tpu_gen *gen)
{
	const struct npl_layer_group *request = gen->request;
	for (int i = 0; i < request->n_outputs; i++) {
		int v = find_value(gen, request->output[i]);
		if (v < 0)
			return npl_fail(gen->err, NPL_EDEVICE, "a tensor is wanted that no layer makes or reads");
		gen->value[v].is_output = true;
	}
	for (int i = 0; i < gen->n_layers && request->n_outputs == 0; i++) {
		struct tpu_gen_value *value = &gen->value[find_value(gen, gen->layer[i]->out)];
		value->is_output = !value->read;
	}
	for (int v = 0; v < gen->n_values; v++) {
		if (gen->value[v].is_output && tpu_gen_resolve(gen, v))
			return NPL_ENOMEM;
		for (int p = 0; p < gen->value[v].n_pieces && gen->value[v].is_output; p++)
			gen->store[gen->value[v].piece[p].store].is_output = true;
	}
	return 0;
}

/* Resolves the values that nodes read to pieces of stores. */
static int resolve_read(struct tpu_gen *gen)
{
	for (int n = 0; n < gen->n_nodes; n++)
		for (int k = 0; k < 2; k++)
			if (gen->node[n].in[k] >= 0 && tpu_gen_resolve(gen, gen->node[n].in[k]))
				return NPL_ENOMEM;
	return 0;
}

int tpu_gen_nodes(struct tpu_gen *gen)
{
	for (int i = 0; i < gen->n_layers; i++) {
		int rc = one_layer(gen, i);
		if (rc)
			return rc;
	}
	int rc = resolve_read(gen);
	rc = rc ? rc : mark_resident(gen);
	return rc ? rc : mark_wanted(gen);
}
