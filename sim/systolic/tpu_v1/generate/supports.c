/* SPDX-License-Identifier: MIT
 *
 * Decides which layers the systolic machines can run (generate.h), size aside, and translates operators into the
 * machine's terms. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/int8/int8.h"
#include "core/integer.h"
#include "impl.h"

bool tpu_gen_type(enum npl_dtype dtype, enum tpu_type *type)
{
	switch (dtype) {
	case NPL_I8:
		*type = TPU_I8;
		return true;
	case NPL_U8:
		*type = TPU_U8;
		return true;
	case NPL_I16:
		*type = TPU_I16;
		return true;
	case NPL_I32:
		*type = TPU_I32;
		return true;
	default:
		return false;
	}
}

struct npl_image tpu_gen_image(const struct npl_shape *shape)
{
	struct npl_image image = {1, 1, {1, 1}};
	if (shape->rank == 1)
		image.channels = shape->dim[0];
	if (shape->rank >= 2) {
		image.images = shape->dim[0];
		image.channels = shape->dim[1];
	}
	for (int i = 2; i < shape->rank; i++)
		image.size[i == shape->rank - 1] *= shape->dim[i];
	return image;
}

bool tpu_gen_clip(const struct npl_layer *layer, enum tpu_function *function, float *limit)
{
	const struct npl_clip_attrs *clip = &layer->attrs->clip;
	if (!clip->known || clip->min < 0 || clip->min > 0 || !(clip->max > 0))
		return false;
	*function = isinf(clip->max) ? TPU_RELU : TPU_RELU6;
	*limit = clip->max;
	return true;
}

bool tpu_gen_fused(enum npl_activation activation, enum tpu_function *function)
{
	switch (activation) {
	case NPL_ACT_NONE:
		*function = TPU_IDENTITY;
		return true;
	case NPL_ACT_RELU:
		*function = TPU_RELU;
		return true;
	case NPL_ACT_RELU6:
		*function = TPU_RELU6;
		return true;
	case NPL_ACT_SIGMOID:
		*function = TPU_SIGMOID;
		return true;
	case NPL_ACT_TANH:
		*function = TPU_TANH;
		return true;
	}
	return false;
}

bool tpu_gen_pooling(const struct npl_layer *layer, enum tpu_pooling *pooling)
{
	const struct npl_window *w = &layer->attrs->pool.window;
	bool average = layer->op == NPL_OP_AVERAGEPOOL || layer->op == NPL_OP_GLOBALAVERAGEPOOL;
	*pooling = !average ? TPU_POOL_MAX : w->count_include_pad ? TPU_POOL_AVERAGE_PADDED : TPU_POOL_AVERAGE;
	return average || layer->op == NPL_OP_MAXPOOL;
}

/* Says whether the tensor can be an activation: 8 or 16 bits, with a zero point that its type has. */
static bool is_activation(const struct npl_tensor *t)
{
	const int32_t zero = t->quant.zero_point;
	enum tpu_type type;
	if (!tpu_gen_type(t->dtype, &type) || type == TPU_I32)
		return false;
	return type == TPU_I16 ? zero == 0 : zero >= npl_dtype_min(t->dtype) && zero <= npl_dtype_max(t->dtype);
}

static bool activations(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	for (int i = 0; i < layer->n_in; i++)
		if (!layer->in[i] || !is_activation(layer->in[i]))
			break;
		else if (i == layer->n_in - 1 && is_activation(layer->out))
			return true;
	return npl_refuse(
		reason, reason_bytes,
		"the activation unit takes and gives 8-bit integers with a zero point of their type, or 16-bit ones "
		"with none");
}

static bool size_ok(int64_t size)
{
	return size >= 1 && size <= TPU_GEN_MAX_SIZE;
}

static bool window_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_window *w = npl_op_window(layer->op, layer->attrs);
	int rank = layer->in[0]->shape.rank;
	if ((rank != 3 && rank != 4) || layer->out->shape.rank != rank)
		return npl_refuse(reason, reason_bytes, "a window slides over one dimension or two here");
	struct npl_image in = npl_image_of(&layer->in[0]->shape), out = npl_image_of(&layer->out->shape);
	if (in.images != out.images)
		return npl_refuse(reason, reason_bytes, "input and output differ in their number of images");
	for (int d = 0; d < NPL_SPATIAL; d++) {
		if (!size_ok(w->kernel[d]) || !size_ok(w->stride[d]) || !size_ok(w->dilation[d]) ||
		    !size_ok(in.size[d]) || !size_ok(out.size[d]) || w->pad_begin[d] < 0 ||
		    w->pad_begin[d] > TPU_GEN_MAX_SIZE || w->pad_end[d] < 0)
			return npl_refuse(
				reason, reason_bytes,
				"Conv and pooling take sizes, strides and dilations from 1 to 65535 and pads from 0");
		if (npl_window_output(w, d, in.size[d]) != out.size[d])
			return npl_refuse(reason, reason_bytes,
					  "the window of the Conv or pooling does not give an output of this size");
	}
	return true;
}

static bool shapes_multiply(const struct npl_layer *layer)
{
	const struct npl_shape *x = &layer->in[0]->shape, *w = &layer->in[1]->shape, *y = &layer->out->shape;
	if (layer->op == NPL_OP_GEMM)
		return x->rank == 2 && w->rank == 2 && y->rank == 2 && x->dim[1] == w->dim[1] &&
		       y->dim[0] == x->dim[0] && y->dim[1] == w->dim[0];
	int64_t groups = layer->attrs->conv.groups;
	struct npl_image kernel = npl_image_of(w);
	for (int d = 0; d < NPL_SPATIAL; d++)
		if (kernel.size[d] != layer->attrs->conv.window.kernel[d])
			return false;
	return w->rank == x->rank && groups >= 1 && w->dim[0] % groups == 0 && x->dim[1] == w->dim[1] * groups &&
	       y->dim[1] == w->dim[0];
}

static bool matrix_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL, *y = layer->out;
	if (layer->n_in < 2 || !layer->in[1])
		return npl_refuse(reason, reason_bytes, "the layer has no weights");
	if (!is_activation(layer->in[0]) || !is_activation(layer->in[1]) ||
	    (!is_activation(y) && (y->dtype != NPL_I32 || y->quant.zero_point)))
		return npl_refuse(
			reason, reason_bytes,
			"the array multiplies 8-bit integers, or 16-bit ones, and results have 8, 16 or 32 bits; zero "
			"points lie in their type, 16 bits and 32 have none");
	if (npl_shape_count(&layer->in[1]->shape) <= 0)
		return npl_refuse(reason, reason_bytes, "the layer has no weights");
	if (layer->op == NPL_OP_CONV && !window_ok(layer, reason, reason_bytes))
		return false;
	if (!shapes_multiply(layer))
		return npl_refuse(
			reason, reason_bytes,
			"the array takes Conv of one or two dimensions and Gemm of rank 2 with weights to match");
	if (bias && (bias->dtype != NPL_I32 || npl_tensor_count(bias) != layer->in[1]->shape.dim[0]))
		return npl_refuse(reason, reason_bytes, "the bias is not one 32-bit integer per output channel");
	if (y->dtype == NPL_I32 && layer->activation != NPL_ACT_NONE)
		return npl_refuse(reason, reason_bytes,
				  "the activation unit passes 32-bit results on as they are, without an activation");
	return true;
}

static bool pool_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_window *w = &layer->attrs->pool.window;
	if (!activations(layer, reason, reason_bytes) || !window_ok(layer, reason, reason_bytes))
		return false;
	struct npl_image in = npl_image_of(&layer->in[0]->shape), out = npl_image_of(&layer->out->shape);
	if (in.channels != out.channels || !npl_tensor_quant_equal(layer->in[0], layer->out))
		return npl_refuse(reason, reason_bytes,
				  "pooling keeps the number of channels, and type, scale and zero point");
	if (w->kernel[0] * w->kernel[1] > 65536)
		return npl_refuse(reason, reason_bytes, "the activation unit pools at most 65536 taps");
	for (int d = 0; d < NPL_SPATIAL; d++) {
		int64_t last = (out.size[d] - 1) * w->stride[d] - w->pad_begin[d];
		if (w->dilation[d] != 1)
			return npl_refuse(reason, reason_bytes, "the activation unit pools without dilation");
		if (w->pad_begin[d] >= w->kernel[d] || last >= in.size[d])
			return npl_refuse(reason, reason_bytes, "some pooling window lies outside the image");
		if (w->count_include_pad && last + w->kernel[d] > in.size[d] + w->pad_end[d])
			return npl_refuse(
				reason, reason_bytes,
				"the last pooling window reaches beyond the padding, which is then to be counted in "
				"part; the activation unit divides by the whole window or by what is inside the image");
	}
	return true;
}

static bool same_shape(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	for (int i = 0; i < layer->n_in; i++)
		if (!npl_shape_equal(&layer->in[i]->shape, &layer->out->shape))
			return npl_refuse(reason, reason_bytes,
					  "the activation unit takes operands of one shape, it does not broadcast");
	return true;
}

static bool concat_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_shape *y = &layer->out->shape;
	int64_t channels = 0;
	bool ok = layer->attrs->along.axis == 1 && y->rank >= 2;
	for (int i = 0; i < layer->n_in && ok; i++) {
		const struct npl_shape *x = &layer->in[i]->shape;
		ok = x->rank == y->rank;
		channels += ok ? x->dim[1] : 0;
		for (int d = 0; d < y->rank && ok; d++)
			ok = d == 1 || x->dim[d] == y->dim[d];
	}
	return ok && channels == y->dim[1] ? true
					   : npl_refuse(reason, reason_bytes,
							"the unified buffer joins tensors along their channels alone");
}

static bool slice_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	const struct npl_slice_attrs *s = &layer->attrs->slice;
	bool ok = x->rank >= 2 && x->rank == y->rank && npl_tensor_quant_equal(layer->in[0], layer->out) &&
		  s->step[1] == 1 && s->first[1] >= 0 && s->first[1] + y->dim[1] <= x->dim[1];
	for (int d = 0; d < x->rank && ok; d++)
		ok = d == 1 || x->dim[d] == y->dim[d];
	return ok ? true
		  : npl_refuse(reason, reason_bytes,
			       "the unified buffer takes slices of channels side by side alone, in the same format");
}

static bool view_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	struct npl_image x = tpu_gen_image(&layer->in[0]->shape), y = tpu_gen_image(&layer->out->shape);
	bool same_image = x.channels == y.channels && x.size[0] == y.size[0] && x.size[1] == y.size[1];
	bool flat = y.size[0] * y.size[1] == 1 && y.channels == x.channels * x.size[0] * x.size[1];
	if (!npl_tensor_quant_equal(layer->in[0], layer->out))
		return npl_refuse(reason, reason_bytes, "another shape cannot have another format");
	return x.images == y.images && (same_image || flat)
		       ? true
		       : npl_refuse(reason, reason_bytes,
				    "vectors in the unified buffer can be seen as they are or as one per image");
}

static bool function_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	enum tpu_function function;
	float limit;
	if (!npl_shape_equal(&layer->in[0]->shape, &layer->out->shape))
		return npl_refuse(reason, reason_bytes, "input and output differ in shape");
	if (layer->op == NPL_OP_SIGMOID || layer->op == NPL_OP_TANH)
		return true;
	if (layer->op == NPL_OP_CLIP && !tpu_gen_clip(layer, &function, &limit))
		return npl_refuse(reason, reason_bytes,
				  "the activation unit clips at 0 and at a constant above it alone");
	if (!npl_tensor_quant_equal(layer->in[0], layer->out))
		return npl_refuse(
			reason, reason_bytes,
			"the activation unit does not change scale and zero point here: input and output differ");
	return true;
}

/* Says whether the activation unit can bring numbers of this scale to the output's scale: it takes scales up to 2^96
 * (docs/tpu-isa.md, Rules). True while the scales are not known. */
static bool scale_ok(const struct npl_layer *layer, double scale, char *reason, size_t reason_bytes)
{
	const double ratio = scale / (double)layer->out->quant.scale;
	return !(layer->out->quant.scale > 0) || !(ratio > (double)TPU_MAX_SCALE) ||
	       npl_refuse(reason, reason_bytes,
			  "the scales of its tensors give a ratio of %g, the activation unit takes at most 2^96",
			  ratio);
}

/* Says whether every input can be brought to the output's scale by itself. */
static bool scales_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	for (int i = 0; i < layer->n_in; i++)
		if (layer->in[i] && !scale_ok(layer, (double)layer->in[i]->quant.scale, reason, reason_bytes))
			return false;
	return true;
}

static bool elementwise_ok(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (layer->op == NPL_OP_SUM && layer->n_in > 2)
		return npl_refuse(reason, reason_bytes, "the activation unit adds two tensors, not more");
	if (!same_shape(layer, reason, reason_bytes))
		return false;
	if (layer->op != NPL_OP_MUL)
		return scales_ok(layer, reason, reason_bytes);
	return scale_ok(layer, (double)layer->in[0]->quant.scale * (double)layer->in[1]->quant.scale, reason,
			reason_bytes);
}

/* Returns the layer with its first input alone, as only that one is an activation: the limits of Clip, for example, are
 * not. */
static struct npl_layer with_first_input(const struct npl_layer *layer)
{
	struct npl_layer first = *layer;
	first.n_in = 1;
	return first;
}

static bool by_operator(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	struct npl_layer first = with_first_input(layer);
	switch (layer->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
		return matrix_ok(layer, reason, reason_bytes);
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		return pool_ok(&first, reason, reason_bytes);
	case NPL_OP_RELU:
	case NPL_OP_CLIP:
	case NPL_OP_SIGMOID:
	case NPL_OP_TANH:
		return activations(&first, reason, reason_bytes) && function_ok(&first, reason, reason_bytes);
	case NPL_OP_ADD:
	case NPL_OP_MUL:
	case NPL_OP_SUM:
		return activations(layer, reason, reason_bytes) && elementwise_ok(layer, reason, reason_bytes);
	case NPL_OP_CONCAT:
		return activations(layer, reason, reason_bytes) && concat_ok(layer, reason, reason_bytes) &&
		       scales_ok(layer, reason, reason_bytes);
	case NPL_OP_SLICE:
		return activations(&first, reason, reason_bytes) && slice_ok(&first, reason, reason_bytes);
	case NPL_OP_FLATTEN:
	case NPL_OP_RESHAPE:
	case NPL_OP_UNSQUEEZE:
	case NPL_OP_DROPOUT:
		return activations(&first, reason, reason_bytes) && view_ok(&first, reason, reason_bytes);
	case NPL_OP_MATMUL:
		return npl_refuse(reason, reason_bytes,
				  "the array multiplies by weights from the weight memory, not by another activation");
	default:
		return npl_refuse(reason, reason_bytes, "the machine has no %s", npl_op_defs[layer->op].name);
	}
}

bool tpu_generate_supports(const struct tpu_config *config, const struct npl_layer *layer, char *reason,
			   size_t reason_bytes)
{
	enum tpu_function function;
	(void)config;
	if (reason_bytes)
		reason[0] = '\0';
	if (layer->n_in < 1 || !layer->in[0] || npl_shape_count(&layer->out->shape) <= 0 ||
	    npl_shape_count(&layer->in[0]->shape) <= 0)
		return npl_refuse(reason, reason_bytes, "the layer has no input, or an empty tensor");
	if (!tpu_gen_fused(layer->activation, &function))
		return npl_refuse(reason, reason_bytes, "the activation unit has no %s",
				  npl_activation_name(layer->activation));
	if (npl_activation_has_table(layer->activation) && layer->op != NPL_OP_CONV && layer->op != NPL_OP_GEMM &&
	    layer->op != NPL_OP_ADD && layer->op != NPL_OP_MUL && layer->op != NPL_OP_SUM)
		return npl_refuse(reason, reason_bytes,
				  "Sigmoid and Tanh are fused after Conv, Gemm, Add and Mul alone");
	return by_operator(layer, reason, reason_bytes);
}
