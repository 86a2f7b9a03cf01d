/* SPDX-License-Identifier: MIT
 *
 * Random layer groups in integers, with their data and, by layer_rule.h, their results. */
#ifndef NPULAB_TESTS_KIT_RANDOM_LAYER_GROUP_H
#define NPULAB_TESTS_KIT_RANDOM_LAYER_GROUP_H

#include "layer_rule.h"
#include "support.h"

#define LAYER_GROUP_MAX 24

struct group {
	struct npl_tensor tensor[8 * LAYER_GROUP_MAX];
	struct npl_attrs attrs[LAYER_GROUP_MAX];
	struct npl_layer layer[LAYER_GROUP_MAX];
	const struct npl_layer *list[LAYER_GROUP_MAX];
	int n_tensors, n_layers;
	int activation[4 * LAYER_GROUP_MAX], n_activations; /* tensors that layers may read */
	float channel_scale[LAYER_GROUP_MAX][512];
	uint64_t rng;
	bool only_8_bits;
	bool any_window; /* poolings dilate, and round their size up */
};

static inline int64_t layer_group_range(struct group *group, int64_t low, int64_t high)
{
	return test_range(&group->rng, low, high);
}

static inline float layer_group_unit(struct group *group)
{
	return (float)(test_rng(&group->rng) >> 40) / 16777216.0f;
}

static inline double layer_group_amplitude(enum npl_dtype dtype)
{
	return dtype == NPL_I16 ? 16000 : 70;
}

/* A tensor of small random values of full range, and a scale near `scale`. */
static inline struct npl_tensor *layer_group_tensor(struct group *group, enum npl_dtype dtype, struct npl_shape shape,
						    float scale)
{
	struct npl_err err = {0};
	struct npl_tensor *t = &group->tensor[group->n_tensors++];
	cr_assert_leq(group->n_tensors, 8 * LAYER_GROUP_MAX);
	*t = (struct npl_tensor){
		.dtype = dtype, .shape = shape, .quant = {.scale = scale * (0.75f + layer_group_unit(group) / 2)}};
	if (dtype == NPL_U8)
		t->quant.zero_point = (int32_t)layer_group_range(group, 0, 255);
	if (dtype == NPL_I8)
		t->quant.zero_point = (int32_t)layer_group_range(group, -128, 127);
	cr_assert_eq(npl_tensor_alloc(t, &err), 0, "%s", err.msg);
	for (size_t i = 0; i < npl_tensor_bytes(t); i++)
		((uint8_t *)t->data)[i] = (uint8_t)(test_rng(&group->rng) >> 33);
	return t;
}

static inline enum npl_dtype layer_group_dtype(struct group *group)
{
	int64_t r = layer_group_range(group, 0, group->only_8_bits ? 4 : 6);
	return r < 3 ? NPL_U8 : r < 5 ? NPL_I8 : NPL_I16;
}

static inline int layer_group_note(struct group *group, const struct npl_tensor *t)
{
	group->activation[group->n_activations++] = (int)(t - group->tensor);
	return (int)(t - group->tensor);
}

static inline struct npl_tensor *layer_group_given(struct group *group, struct npl_shape shape)
{
	struct npl_tensor *t = layer_group_tensor(group, layer_group_dtype(group), shape, 1.0f / 64);
	layer_group_note(group, t);
	return t;
}

static inline void layer_group_start(struct group *group, uint64_t seed)
{
	memset(group, 0, sizeof *group);
	group->rng = seed * 0x9e3779b97f4a7c15ull | 1;
}

static inline struct npl_layer *layer_group_layer(struct group *group, enum npl_op op, const struct npl_tensor *x)
{
	struct npl_layer *l = &group->layer[group->n_layers];
	*l = (struct npl_layer){
		.name = "layer", .op = op, .attrs = &group->attrs[group->n_layers], .n_in = 1, .in = {x}};
	group->attrs[group->n_layers] = (struct npl_attrs){.op = op};
	if (op == NPL_OP_GEMM)
		group->attrs[group->n_layers].gemm = (struct npl_gemm_attrs){.alpha = 1, .beta = 1, .trans_b = true};
	if (npl_op_defs[op].family == NPL_FAMILY_ALONG)
		group->attrs[group->n_layers].along.axis = 1;
	group->list[group->n_layers++] = l;
	return l;
}

/* Computes the layer's result by the rule. */
static inline void layer_group_done(struct group *group, struct npl_layer *l, struct npl_tensor *y)
{
	l->out = y;
	rule_run(l);
	if (y->dtype != NPL_I32)
		layer_group_note(group, y);
}

/* A tensor in the format of another. */
static inline struct npl_tensor *layer_group_like(struct group *group, const struct npl_tensor *x,
						  struct npl_shape shape)
{
	struct npl_tensor *y = layer_group_tensor(group, x->dtype, shape, 1);
	y->quant = x->quant;
	return y;
}

/* Perhaps an activation after the layer. */
static inline void layer_group_fuse(struct group *group, struct npl_layer *l, struct npl_tensor *y)
{
	int64_t r = layer_group_range(group, 0, 9);
	if (r < NPL_ACTIVATIONS)
		l->activation = (enum npl_activation)r;
	if (rule_fused_of(l) == RULE_TABLE)
		y->quant.scale = y->dtype == NPL_I16 ? 1.0f / 32768 : 1.0f / 128;
}

/* Weights, perhaps a bias, and the result of K products. */
static inline struct npl_tensor *layer_group_product(struct group *group, struct npl_layer *l, struct npl_shape w_shape,
						     struct npl_shape y_shape, int64_t k)
{
	const struct npl_tensor *x = l->in[0];
	enum npl_dtype y_dtype = layer_group_range(group, 0, 9) == 0 ? NPL_I32 : layer_group_dtype(group);
	struct npl_tensor *w = layer_group_tensor(group, layer_group_dtype(group), w_shape, 1.0f / 64);
	double sum = layer_group_amplitude(x->dtype) * layer_group_amplitude(w->dtype) * sqrt((double)k);
	l->in[l->n_in++] = w;
	if (layer_group_range(group, 0, 1)) {
		struct npl_tensor *bias = layer_group_tensor(group, NPL_I32, npl_shape_of(1, w_shape.dim[0]), 1);
		for (int64_t i = 0; i < w_shape.dim[0]; i++)
			((int32_t *)bias->data)[i] %= (int32_t)(sum < 1e9 ? sum + 1 : 1e9);
		l->in[l->n_in++] = bias;
	}
	if (layer_group_range(group, 0, 1) && w_shape.dim[0] <= 512) {
		float *scale = group->channel_scale[group->n_layers - 1];
		for (int64_t i = 0; i < w_shape.dim[0]; i++)
			scale[i] = w->quant.scale * (0.5f + layer_group_unit(group));
		w->quant.channel_scale = scale;
	}
	struct npl_tensor *y = layer_group_tensor(
		group, y_dtype, y_shape,
		(float)(x->quant.scale * w->quant.scale * sum / layer_group_amplitude(y_dtype)));
	if (y_dtype == NPL_I32)
		y->quant = (struct npl_quant){0};
	else
		layer_group_fuse(group, l, y);
	return y;
}

/* A window over images of `rank` spatial dimensions. */
static inline void layer_group_window(struct group *group, struct npl_window *w, const struct npl_image *in, int rank,
				      bool pool)
{
	w->rank = rank;
	for (int d = 0; d < 2; d++) {
		w->kernel[d] = layer_group_range(group, 1, in->size[d] < 4 ? in->size[d] : 4);
		w->stride[d] = layer_group_range(group, 1, 3);
		w->dilation[d] = pool && (!group->any_window || in->size[d] < 2) ? 1 : layer_group_range(group, 1, 2);
		w->pad_begin[d] = layer_group_range(group, 0, pool ? w->kernel[d] - 1 : 2);
		w->pad_end[d] = layer_group_range(group, 0, pool ? w->kernel[d] - 1 : 2);
		int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
		if (in->size[d] + w->pad_begin[d] + w->pad_end[d] < extent)
			w->pad_end[d] = extent - in->size[d] - w->pad_begin[d];
	}
	if (rank == 1) {
		w->kernel[0] = w->stride[0] = w->dilation[0] = 1;
		w->pad_begin[0] = w->pad_end[0] = 0;
	}
}

static inline struct npl_shape layer_group_slid(const struct npl_tensor *x, const struct npl_window *w,
						int64_t channels)
{
	struct npl_image in = npl_image_of(&x->shape);
	struct npl_shape y = {.rank = x->shape.rank, .dim = {in.images, channels}};
	for (int d = 0; d < 2; d++)
		y.dim[2 + d] = npl_window_output(w, d, in.size[d]);
	if (y.rank == 3)
		y.dim[2] = y.dim[3];
	return y;
}

static inline void layer_group_conv(struct group *group, const struct npl_tensor *x, int64_t most_filters)
{
	struct npl_layer *l = layer_group_layer(group, NPL_OP_CONV, x);
	struct npl_conv_attrs *a = &group->attrs[group->n_layers - 1].conv;
	struct npl_image in = npl_image_of(&x->shape);
	int64_t channels = in.channels, per_group = layer_group_range(group, 1, 3);
	a->groups = 1;
	for (int64_t g = channels; g > 1 && layer_group_range(group, 0, 3) == 0; g--)
		if (channels % g == 0 && layer_group_range(group, 0, 1)) {
			a->groups = g;
			break;
		}
	layer_group_window(group, &a->window, &in, x->shape.rank - 2, false);
	int64_t filters = a->groups > 1 ? a->groups * per_group : layer_group_range(group, 1, most_filters);
	struct npl_shape w = {.rank = x->shape.rank,
			      .dim = {filters, channels / a->groups, a->window.kernel[0], a->window.kernel[1]}};
	if (w.rank == 3)
		w.dim[2] = w.dim[3];
	int64_t k = w.dim[1] * a->window.kernel[0] * a->window.kernel[1];
	struct npl_shape out = layer_group_slid(x, &a->window, filters);
	struct npl_tensor *y = layer_group_product(group, l, w, out, k);
	l->macs = (uint64_t)(npl_shape_count(&out) * k);
	layer_group_done(group, l, y);
}

static inline void layer_group_gemm(struct group *group, const struct npl_tensor *x, int64_t n)
{
	struct npl_layer *l = layer_group_layer(group, NPL_OP_GEMM, x);
	int64_t rows = x->shape.dim[0], k = x->shape.dim[1];
	struct npl_tensor *y = layer_group_product(group, l, npl_shape_of(2, n, k), npl_shape_of(2, rows, n), k);
	l->macs = (uint64_t)(rows * n * k);
	layer_group_done(group, l, y);
}

static inline void layer_group_pool(struct group *group, const struct npl_tensor *x)
{
	int64_t kind = layer_group_range(group, 0, 2);
	struct npl_layer *l = layer_group_layer(group,
						kind == 0   ? NPL_OP_MAXPOOL
						: kind == 1 ? NPL_OP_AVERAGEPOOL
							    : NPL_OP_GLOBALAVERAGEPOOL,
						x);
	struct npl_window *w = &group->attrs[group->n_layers - 1].pool.window;
	struct npl_image in = npl_image_of(&x->shape);
	layer_group_window(group, w, &in, x->shape.rank - 2, true);
	w->count_include_pad = kind == 1 && layer_group_range(group, 0, 1);
	w->ceil_mode = group->any_window && layer_group_range(group, 0, 2) == 0;
	if (kind == 2)
		*w = (struct npl_window){.rank = x->shape.rank - 2,
					 .kernel = {in.size[0], in.size[1]},
					 .stride = {1, 1},
					 .dilation = {1, 1}};
	for (int d = 0; d < 2; d++) /* every window meets the image */
		while ((npl_window_output(w, d, in.size[d]) - 1) * w->stride[d] - w->pad_begin[d] >= in.size[d])
			w->pad_end[d]--;
	struct npl_tensor *y = layer_group_like(group, x, layer_group_slid(x, w, in.channels));
	if (layer_group_range(group, 0, 3) == 0)
		l->activation = NPL_ACT_RELU;
	layer_group_done(group, l, y);
}

static inline void layer_group_function(struct group *group, const struct npl_tensor *x)
{
	static const enum npl_op ops[] = {NPL_OP_RELU, NPL_OP_CLIP, NPL_OP_SIGMOID, NPL_OP_TANH};
	struct npl_layer *l = layer_group_layer(group, ops[layer_group_range(group, 0, 3)], x);
	struct npl_attrs *a = &group->attrs[group->n_layers - 1];
	struct npl_tensor *y;
	if (l->op == NPL_OP_RELU || l->op == NPL_OP_CLIP) {
		y = layer_group_like(group, x, x->shape);
		const float max = layer_group_range(group, 0, 4) == 0 ? INFINITY : 30 * x->quant.scale;
		if (l->op == NPL_OP_CLIP)
			a->clip = (struct npl_clip_attrs){.known = true, .max = max};
	} else {
		y = layer_group_tensor(group, layer_group_dtype(group), x->shape, 1);
		y->quant.scale = y->dtype == NPL_I16 ? 1.0f / 32768 : 1.0f / 128;
	}
	layer_group_done(group, l, y);
}

/* Another tensor of the shape, a new one when there is none. */
static inline const struct npl_tensor *layer_group_other(struct group *group, const struct npl_tensor *x)
{
	for (int tries = 0; tries < 6; tries++) {
		const struct npl_tensor *t =
			&group->tensor[group->activation[layer_group_range(group, 0, group->n_activations - 1)]];
		if (npl_shape_equal(&t->shape, &x->shape))
			return t;
	}
	return layer_group_given(group, x->shape);
}

static inline void layer_group_binary(struct group *group, const struct npl_tensor *x)
{
	static const enum npl_op ops[] = {NPL_OP_ADD, NPL_OP_MUL, NPL_OP_SUM};
	const struct npl_tensor *other = layer_group_other(group, x);
	struct npl_layer *l = layer_group_layer(group, ops[layer_group_range(group, 0, 2)], x);
	l->in[l->n_in++] = other;
	double scale = l->op == NPL_OP_MUL ? x->quant.scale * layer_group_amplitude(x->dtype) * other->quant.scale *
						     layer_group_amplitude(other->dtype)
					   : x->quant.scale * layer_group_amplitude(x->dtype) +
						     other->quant.scale * layer_group_amplitude(other->dtype);
	enum npl_dtype dtype = layer_group_dtype(group);
	struct npl_tensor *y = layer_group_tensor(group, dtype, x->shape,
						  (float)(scale / layer_group_amplitude(dtype)));
	if (layer_group_range(group, 0, 4) == 0) { /* what sigmoid takes as it is */
		y->dtype = dtype;
		if (dtype == NPL_I16)
			y->quant.scale = 1.0f / 4096;
	}
	layer_group_fuse(group, l, y);
	layer_group_done(group, l, y);
}

static inline void layer_group_concat(struct group *group, const struct npl_tensor *x)
{
	const struct npl_tensor *in[3] = {x};
	int n = 1;
	for (int tries = 0; tries < 8 && n < 3; tries++) {
		const struct npl_tensor *t =
			&group->tensor[group->activation[layer_group_range(group, 0, group->n_activations - 1)]];
		struct npl_shape shape = t->shape;
		shape.dim[1] = x->shape.dim[1];
		if (npl_shape_equal(&shape, &x->shape))
			in[n++] = t;
	}
	struct npl_layer *l = layer_group_layer(group, NPL_OP_CONCAT, x);
	struct npl_shape shape = x->shape;
	for (l->n_in = 1; l->n_in < n; l->n_in++) {
		l->in[l->n_in] = in[l->n_in];
		shape.dim[1] += in[l->n_in]->shape.dim[1];
	}
	struct npl_tensor *y = layer_group_like(group, x, shape);
	if (layer_group_range(group, 0, 3) == 0)
		y->quant.scale *= 1.5f;
	layer_group_done(group, l, y);
}

static inline void layer_group_slice(struct group *group, const struct npl_tensor *x)
{
	struct npl_layer *l = layer_group_layer(group, NPL_OP_SLICE, x);
	struct npl_slice_attrs *s = &group->attrs[group->n_layers - 1].slice;
	struct npl_shape shape = x->shape;
	for (int d = 0; d < shape.rank; d++)
		s->step[d] = 1;
	s->first[1] = layer_group_range(group, 0, shape.dim[1] - 1);
	shape.dim[1] = layer_group_range(group, 1, shape.dim[1] - s->first[1]);
	layer_group_done(group, l, layer_group_like(group, x, shape));
}

static inline void layer_group_flatten(struct group *group, const struct npl_tensor *x)
{
	struct npl_layer *l = layer_group_layer(group, NPL_OP_FLATTEN, x);
	int64_t images = x->shape.dim[0];
	layer_group_done(group, l, layer_group_like(group, x, npl_shape_of(2, images, npl_tensor_count(x) / images)));
}

/* One more layer on a tensor that is there. Windows slide over images alone, Gemms take rows. */
static inline void layer_group_step(struct group *group, int64_t most_filters)
{
	int last = group->n_activations - 1;
	int pick = layer_group_range(group, 0, 2) ? last : (int)layer_group_range(group, 0, last);
	const struct npl_tensor *x = &group->tensor[group->activation[pick]];
	bool image = x->shape.rank >= 3;
	switch (layer_group_range(group, 0, 11)) {
	case 0:
	case 1:
	case 2:
	case 3:
		if (image)
			layer_group_conv(group, x, most_filters);
		else
			layer_group_gemm(group, x, layer_group_range(group, 1, most_filters));
		break;
	case 4:
	case 5:
		if (image)
			layer_group_pool(group, x);
		else
			layer_group_gemm(group, x, layer_group_range(group, 1, most_filters));
		break;
	case 6:
		layer_group_function(group, x);
		break;
	case 7:
	case 8:
		layer_group_binary(group, x);
		break;
	case 9:
		layer_group_concat(group, x);
		break;
	case 10:
		layer_group_slice(group, x);
		break;
	default:
		if (image && npl_tensor_count(x) / x->shape.dim[0] <= 400)
			layer_group_flatten(group, x);
		else
			layer_group_function(group, x);
		break;
	}
}

static inline void layer_group_end(struct group *group)
{
	for (int i = 0; i < group->n_tensors; i++)
		npl_tensor_free(&group->tensor[i]);
}

/* Up to so many layers after one given tensor, or several. */
static inline void layer_group_random(struct group *group, uint64_t seed, int most_layers)
{
	layer_group_start(group, seed);
	int n = (int)layer_group_range(group, 1, most_layers);
	if (layer_group_range(group, 0, 3) == 0)
		layer_group_given(group,
				  npl_shape_of(2, layer_group_range(group, 1, 20), layer_group_range(group, 1, 70)));
	else if (layer_group_range(group, 0, 5) == 0)
		layer_group_given(group,
				  npl_shape_of(3, layer_group_range(group, 1, 3), layer_group_range(group, 1, 20),
					       layer_group_range(group, 1, 12)));
	else
		layer_group_given(group,
				  npl_shape_of(4, layer_group_range(group, 1, layer_group_range(group, 0, 1) ? 3 : 8),
					       layer_group_range(group, 1, 40), layer_group_range(group, 1, 9),
					       layer_group_range(group, 1, 7)));
	while (group->n_layers < n)
		layer_group_step(group, 40);
}

#endif
