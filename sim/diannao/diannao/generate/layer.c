/* SPDX-License-Identifier: MIT
 *
 * Translates a layer into the machine's terms, or says why the machine cannot run it. The machine has the operators of
 * the NFU, 16-bit fixed point with one power of two per tensor, and what its last stage can hold as segments. */
#include <math.h>

#include "core/activation.h"
#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "core/ops/window.h"
#include "core/q16/q16.h"
#include "layer.h"
#include "windows.h"

/* The reciprocal of dn_average has 15 bits for windows up to this size, and their sum fits in 32 bits. */
#define MAX_AVERAGE 65536

int64_t dn_taps(const struct dn_layer *layer)
{
	return layer->window.kernel[0] * layer->window.kernel[1];
}

int64_t dn_positions(const struct dn_layer *layer)
{
	return layer->out[0] * layer->out[1];
}

int64_t dn_in_rows(const struct dn_config *config, const struct dn_layer *layer)
{
	return npl_div_up_i64(layer->ni, config->tn);
}

int64_t dn_out_rows(const struct dn_config *config, const struct dn_layer *layer)
{
	return npl_div_up_i64(layer->no, config->tn);
}

/* Finds *exponent so that the tensor's scale is 2^*exponent, -149 to 127 in float32; raw integers (scale 0) are plain
 * Q6.10. Returns false for a tensor with another scale or a zero point. */
static bool exponent_of(const struct npl_tensor *tensor, int *exponent)
{
	if (tensor->quant.zero_point || tensor->quant.channel_scale)
		return false;
	*exponent = -NPL_Q16_FRACTION_BITS;
	if (tensor->quant.scale == 0)
		return true;
	bool power_of_two = frexpf(tensor->quant.scale, exponent) == 0.5f;
	--*exponent;
	return power_of_two;
}

static bool check_tensor(const struct npl_tensor *tensor, const char *role, int *exponent, char *reason,
			 size_t reason_bytes)
{
	if (tensor->dtype != NPL_I16)
		return npl_refuse(reason, reason_bytes, "%s is %s, DianNao computes on 16-bit fixed point", role,
				  npl_dtype_name(tensor->dtype));
	if (npl_tensor_count(tensor) < 0)
		return npl_refuse(reason, reason_bytes, "%s has more than 2^40 elements", role);
	if (!exponent_of(tensor, exponent))
		return npl_refuse(reason, reason_bytes, "the scale of %s must be one power of two without a zero point",
				  role);
	return true;
}

static struct dn_layout layout_of(const struct npl_image *image)
{
	int64_t plane = image->size[0] * image->size[1];
	return (struct dn_layout){.image = image->channels * plane, .map = plane, .y = image->size[1], .x = 1};
}

/* Sets the window and the two images of a convolution or pooling. */
static bool take_images(const struct npl_layer *model_layer, struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_shape *x = &model_layer->in[0]->shape, *y = &model_layer->out->shape;
	if (x->rank < 3 || x->rank > 4 || y->rank != x->rank)
		return npl_refuse(reason, reason_bytes, "an image must be batch x channels x height x width");
	struct npl_image from = npl_image_of(x), to = npl_image_of(y);
	bool global = model_layer->op == NPL_OP_GLOBALAVERAGEPOOL;
	layer->window = *npl_op_window(model_layer->op, model_layer->attrs);
	if (global)
		layer->window = (struct npl_window){
			.kernel = {from.size[0], from.size[1]}, .stride = {1, 1}, .dilation = {1, 1}};
	for (int d = 0; d < NPL_SPATIAL; d++) {
		layer->in[d] = from.size[d];
		layer->out[d] = to.size[d];
		if (layer->window.kernel[d] < 1 || layer->window.stride[d] < 1 || layer->window.dilation[d] < 1 ||
		    to.size[d] != npl_window_output(&layer->window, d, from.size[d]))
			return npl_refuse(reason, reason_bytes, "the window does not give an output of %lldx%lld",
					  (long long)to.size[0], (long long)to.size[1]);
	}
	layer->images = from.images;
	layer->input_layout = layout_of(&from);
	layer->output_layout = layout_of(&to);
	layer->ni = from.channels;
	layer->no = to.channels;
	return to.images == from.images ||
	       npl_refuse(reason, reason_bytes, "input and output differ in the number of images");
}

static bool take_conv(const struct npl_layer *model_layer, struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_shape *w = &model_layer->in[1]->shape;
	int64_t groups = model_layer->attrs->conv.groups < 1 ? 1 : model_layer->attrs->conv.groups, rows;
	if (!take_images(model_layer, layer, reason, reason_bytes))
		return false;
	layer->private_kernels = model_layer->attrs->conv.private_kernels;
	rows = layer->no;
	if (layer->private_kernels &&
	    (__builtin_mul_overflow(rows, layer->out[0], &rows) || __builtin_mul_overflow(rows, layer->out[1], &rows)))
		return npl_refuse(reason, reason_bytes, "private kernels of more than 2^63 outputs");
	if (w->rank != model_layer->in[0]->shape.rank || layer->ni % groups || layer->no % groups ||
	    w->dim[0] != rows || w->dim[1] != layer->ni / groups || w->dim[w->rank - 1] != layer->window.kernel[1] ||
	    (w->rank == 4 && w->dim[2] != layer->window.kernel[0]))
		return npl_refuse(reason, reason_bytes,
				  "the weights do not fit %lld input and %lld output maps in %lld groups%s",
				  (long long)layer->ni, (long long)layer->no, (long long)groups,
				  layer->private_kernels ? ", with kernels for each position" : "");
	layer->groups = groups;
	layer->ni /= groups;
	layer->no /= groups;
	return true;
}

static bool take_gemm(const struct npl_layer *model_layer, struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_shape *x = &model_layer->in[0]->shape, *w = &model_layer->in[1]->shape,
			       *y = &model_layer->out->shape;
	if (x->rank != 2 || w->rank != 2 || y->rank != 2 || w->dim[1] != x->dim[1] || y->dim[0] != x->dim[0] ||
	    y->dim[1] != w->dim[0])
		return npl_refuse(reason, reason_bytes, "a Gemm must be (rows,K) times (N,K) giving (rows,N)");
	layer->images = 1;
	layer->ni = x->dim[1];
	layer->no = w->dim[0];
	layer->in[0] = layer->out[0] = 1;
	layer->in[1] = layer->out[1] = x->dim[0];
	layer->input_layout = (struct dn_layout){.map = 1, .x = layer->ni};
	layer->output_layout = (struct dn_layout){.map = 1, .x = layer->no};
	return true;
}

static bool take_values(const struct npl_layer *model_layer, struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	int64_t count = npl_shape_count(&model_layer->in[0]->shape);
	if (count < 0 || count != npl_shape_count(&model_layer->out->shape))
		return npl_refuse(reason, reason_bytes, "input and output differ in size");
	layer->images = 1;
	layer->ni = layer->no = count;
	layer->in[0] = layer->in[1] = layer->out[0] = layer->out[1] = 1;
	layer->input_layout = layer->output_layout = (struct dn_layout){.map = 1};
	return true;
}

/* Says whether steps times lanes times four bytes stay below 2^63, so that no count overflows. */
static bool check_size(const struct dn_config *config, const struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	int64_t outputs = layer->kind == DN_SUM ? dn_out_rows(config, layer) * config->tn : 1;
	const int64_t factor[] = {layer->images,
				  layer->groups,
				  layer->out[0],
				  layer->out[1],
				  layer->window.kernel[0],
				  layer->window.kernel[1],
				  dn_in_rows(config, layer) * config->tn,
				  outputs,
				  64};
	int64_t product = 1;
	for (size_t i = 0; i < sizeof factor / sizeof *factor; i++)
		if (factor[i] < 0 || __builtin_mul_overflow(product, factor[i], &product))
			return npl_refuse(reason, reason_bytes, "more than 2^63 steps and lanes");
	return true;
}

/* Returns the right shift from the scale of NFU-2's result to that of the output. It is within +-500, and dn_rescale
 * takes any shift. */
static int shift_of(const struct dn_config *config, enum dn_kind kind, int x, int w, int y)
{
	if (kind != DN_SUM)
		return y - x;
	return y - (x + w + (config->product == NPL_Q16_ROUNDED ? NPL_Q16_FRACTION_BITS : 0));
}

static bool check_sums(const struct npl_layer *model_layer, struct dn_layer *layer, int *w, char *reason,
		       size_t reason_bytes)
{
	const struct npl_tensor *bias = model_layer->n_in > 2 ? model_layer->in[2] : NULL;
	if (model_layer->n_in < 2 || !model_layer->in[1])
		return npl_refuse(reason, reason_bytes, "it has no weights");
	if (!check_tensor(model_layer->in[1], "the weight", w, reason, reason_bytes))
		return false;
	bool private =
		model_layer->op == NPL_OP_CONV &&
		model_layer->attrs->conv.private_kernels; /* with private kernels a map has one bias all the same */
	int64_t outputs = private ? model_layer->out->shape.dim[1] : model_layer->in[1]->shape.dim[0];
	if (bias && (bias->dtype != NPL_I32 || npl_shape_count(&bias->shape) != outputs))
		return npl_refuse(reason, reason_bytes, "the bias must be one 32-bit integer per output");
	layer->bias = bias != NULL;
	layer->raw = model_layer->out->dtype == NPL_I32;
	if (layer->raw && model_layer->activation != NPL_ACT_NONE)
		return npl_refuse(reason, reason_bytes, "raw sums do not pass the activation");
	return true;
}

/* Turns the bounds of a Clip into integers at a scale of 2^y; the 16-bit range is a bound too. */
static bool take_clip(double low, double high, int y, struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	double l = fmax(ldexp(low, -y), INT16_MIN), h = fmin(ldexp(high, -y), INT16_MAX);
	bool exact = l <= h && floor(l) >= l && floor(h) >= h;
	if (!exact || !dn_clip((int32_t)l, (int32_t)h, &layer->function))
		return npl_refuse(reason, reason_bytes,
				  "at a scale of 2^%d a bound of %g to %g is none of the limits of NFU-3's segments", y,
				  low, high);
	return true;
}

static bool take_activation(enum npl_activation activation, int y, struct dn_layer *layer, char *reason,
			    size_t reason_bytes)
{
	switch (activation) {
	case NPL_ACT_RELU:
		return take_clip(0, INFINITY, y, layer, reason, reason_bytes);
	case NPL_ACT_RELU6:
		return take_clip(0, 6, y, layer, reason, reason_bytes);
	case NPL_ACT_SIGMOID:
	case NPL_ACT_TANH:
		layer->function = activation == NPL_ACT_SIGMOID ? dn_sigmoid : dn_tanh;
		layer->result_shift = y + NPL_Q16_FRACTION_BITS;
		return true;
	case NPL_ACT_NONE:
		break;
	}
	return npl_refuse(reason, reason_bytes, "NFU-3 has no segments of %s", npl_activation_name(activation));
}

/* Sets what NFU-3 does, and at which scale. Functions that are exact at any scale keep the output's scale. Sigmoid and
 * tanh need plain Q6.10. y is the log2 of the output's scale. */
static bool take_function(const struct npl_layer *model_layer, int y, struct dn_layer *layer, char *reason,
			  size_t reason_bytes)
{
	enum npl_op op = model_layer->op;
	enum npl_activation fused = model_layer->activation;
	bool is_function = op == NPL_OP_RELU || op == NPL_OP_CLIP || op == NPL_OP_SIGMOID || op == NPL_OP_TANH ||
			   op == NPL_OP_LRN;
	layer->activates = is_function || fused != NPL_ACT_NONE;
	if (!layer->activates)
		return true;
	if (is_function && fused != NPL_ACT_NONE)
		return npl_refuse(reason, reason_bytes, "NFU-3 applies one function, not two");
	if (layer->kind == DN_AVERAGE && fused > NPL_ACT_RELU)
		return npl_refuse(reason, reason_bytes, "NFU-3 divides here and cannot also apply %s",
				  npl_activation_name(fused));
	if (op == NPL_OP_LRN) { /* the function of LRN's layer is set already */
		layer->result_shift = y + NPL_Q16_FRACTION_BITS;
		return true;
	}
	if (op == NPL_OP_CLIP)
		return model_layer->attrs->clip.known
			       ? take_clip(model_layer->attrs->clip.min, model_layer->attrs->clip.max, y, layer, reason,
					   reason_bytes)
			       : npl_refuse(reason, reason_bytes, "the bounds of the Clip are computed, not constant");
	return take_activation(is_function ? npl_activation_of(op, model_layer->attrs) : fused, y, layer, reason,
			       reason_bytes);
}

bool dn_layer_of(const struct dn_config *config, const struct npl_layer *model_layer, struct dn_layer *layer,
		 char *reason, size_t reason_bytes)
{
	int x, w = 0, y = 0;
	*layer = (struct dn_layer){.groups = 1};
	layer->window = (struct npl_window){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
	if (model_layer->n_in < 1 || !model_layer->in[0])
		return npl_refuse(reason, reason_bytes, "it has no input");
	if (!npl_tensor_count(model_layer->in[0]) || !npl_tensor_count(model_layer->out))
		return npl_refuse(reason, reason_bytes, "there is nothing to compute on: a tensor is empty");
	if (!check_tensor(model_layer->in[0], "the input", &x, reason, reason_bytes))
		return false;
	bool supported = false;
	switch (model_layer->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
		layer->kind = DN_SUM;
		supported = check_sums(model_layer, layer, &w, reason, reason_bytes) &&
			    (model_layer->op == NPL_OP_CONV ? take_conv : take_gemm)(model_layer, layer, reason,
										     reason_bytes);
		break;
	case NPL_OP_MAXPOOL:
		layer->kind = DN_MAX;
		supported = take_images(model_layer, layer, reason, reason_bytes);
		break;
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		layer->kind = DN_AVERAGE;
		supported = take_images(model_layer, layer, reason, reason_bytes);
		break;
	case NPL_OP_RELU:
	case NPL_OP_CLIP:
	case NPL_OP_SIGMOID:
	case NPL_OP_TANH:
		layer->kind = DN_MAX;
		supported = take_values(model_layer, layer, reason, reason_bytes);
		break;
	case NPL_OP_LRN:
		supported = config->lrn == DN_LRN_MACHINE ||
			    npl_refuse(reason, reason_bytes, "the machine's file gives LRN to the host");
		supported = supported && dn_lrn_of(config, model_layer, x, layer, &w, reason, reason_bytes);
		break;
	default:
		return npl_refuse(reason, reason_bytes, "the NFU has no operation for it");
	}
	if (!supported || (!layer->raw && !check_tensor(model_layer->out, "the output", &y, reason, reason_bytes)) ||
	    !check_size(config, layer, reason, reason_bytes) ||
	    !take_function(model_layer, y, layer, reason, reason_bytes))
		return false;
	if (layer->kind == DN_AVERAGE && dn_taps(layer) > MAX_AVERAGE)
		return npl_refuse(reason, reason_bytes, "an average over more than %d values", MAX_AVERAGE);
	const struct dn_axis y_axis = dn_axis_of(layer, 0), x_axis = dn_axis_of(layer, 1);
	if (layer->kind != DN_SUM && !(dn_all_read(&y_axis) && dn_all_read(&x_axis)))
		return npl_refuse(reason, reason_bytes, "a window is all padding: there is nothing to pool");
	if (layer->raw && config->sum_bits > 32)
		return npl_refuse(reason, reason_bytes, "raw sums of %lld bits do not fit in 32",
				  (long long)config->sum_bits);
	layer->shift = shift_of(config, layer->kind, x, w, y - layer->result_shift);
	layer->result_shift += layer->lrn.raised;
	return true;
}
