/* SPDX-License-Identifier: MIT
 *
 * What of a layer the machine sees, or why it cannot run it: the operators of the NFU, 16-bit fixed point with one
 * power of two per tensor, and what its last stage can hold as segments. */
#include <math.h>

#include "core/base/refuse.h"
#include "core/ops/window.h"
#include "core/q16/q16.h"
#include "dn.h"
#include "windows.h"

/* The reciprocal of dn_average has 15 bits for windows up to this size, and their sum fits in 32 bits. */
#define LARGEST_AVERAGE 65536

int64_t dn_taps(const struct dn_work *work)
{
	return work->window.kernel[0] * work->window.kernel[1];
}

int64_t dn_positions(const struct dn_work *work)
{
	return work->out[0] * work->out[1];
}

int64_t dn_in_rows(const struct dn_config *config, const struct dn_work *work)
{
	return (work->ni + config->tn - 1) / config->tn;
}

int64_t dn_out_rows(const struct dn_config *config, const struct dn_work *work)
{
	return (work->no + config->tn - 1) / config->tn;
}

/* scale = 2^*exponent, -149 to 127 in float32. Raw integers (scale 0) are plain Q6.10. */
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

static bool check_tensor(const struct npl_tensor *tensor, const char *what, int *exponent, char *why, size_t n)
{
	if (tensor->dtype != NPL_I16)
		return npl_refuse(why, n, "%s is %s, DianNao computes on 16-bit fixed point", what,
				  npl_dtype_name(tensor->dtype));
	if (npl_tensor_count(tensor) < 0)
		return npl_refuse(why, n, "%s has more than 2^40 elements", what);
	if (!exponent_of(tensor, exponent))
		return npl_refuse(why, n, "the scale of %s must be one power of two without a zero point", what);
	return true;
}

static struct dn_layout layout_of(const struct npl_image *image)
{
	int64_t plane = image->size[0] * image->size[1];
	return (struct dn_layout){.image = image->channels * plane, .map = plane, .y = image->size[1], .x = 1};
}

/* The window and the two images of a convolution or pooling. */
static bool take_images(const struct npl_layer *layer, struct dn_work *work, char *why, size_t n)
{
	const struct npl_shape *x = &layer->in[0]->shape, *y = &layer->out->shape;
	if (x->rank < 3 || x->rank > 4 || y->rank != x->rank)
		return npl_refuse(why, n, "an image must be batch x channels x height x width");
	struct npl_image from = npl_image_of(x), to = npl_image_of(y);
	bool global = layer->op == NPL_OP_GLOBALAVERAGEPOOL;
	work->window = *npl_op_window(layer->op, layer->attrs);
	if (global)
		work->window = (struct npl_window){
			.kernel = {from.size[0], from.size[1]}, .stride = {1, 1}, .dilation = {1, 1}};
	for (int d = 0; d < NPL_SPATIAL; d++) {
		work->in[d] = from.size[d];
		work->out[d] = to.size[d];
		if (work->window.kernel[d] < 1 || work->window.stride[d] < 1 || work->window.dilation[d] < 1 ||
		    to.size[d] != npl_window_output(&work->window, d, from.size[d]))
			return npl_refuse(why, n, "the window does not give an output of %lldx%lld",
					  (long long)to.size[0], (long long)to.size[1]);
	}
	work->images = from.images;
	work->from = layout_of(&from);
	work->to = layout_of(&to);
	work->ni = from.channels;
	work->no = to.channels;
	return to.images == from.images || npl_refuse(why, n, "input and output differ in the number of images");
}

static bool take_conv(const struct npl_layer *layer, struct dn_work *work, char *why, size_t n)
{
	const struct npl_shape *w = &layer->in[1]->shape;
	int64_t groups = layer->attrs->conv.groups < 1 ? 1 : layer->attrs->conv.groups, rows;
	if (!take_images(layer, work, why, n))
		return false;
	work->private_kernels = layer->attrs->conv.private_kernels;
	rows = work->no;
	if (work->private_kernels &&
	    (__builtin_mul_overflow(rows, work->out[0], &rows) || __builtin_mul_overflow(rows, work->out[1], &rows)))
		return npl_refuse(why, n, "private kernels of more than 2^63 outputs");
	if (w->rank != layer->in[0]->shape.rank || work->ni % groups || work->no % groups || w->dim[0] != rows ||
	    w->dim[1] != work->ni / groups || w->dim[w->rank - 1] != work->window.kernel[1] ||
	    (w->rank == 4 && w->dim[2] != work->window.kernel[0]))
		return npl_refuse(why, n, "the weights do not fit %lld input and %lld output maps in %lld groups%s",
				  (long long)work->ni, (long long)work->no, (long long)groups,
				  work->private_kernels ? ", with kernels for each position" : "");
	work->groups = groups;
	work->ni /= groups;
	work->no /= groups;
	return true;
}

static bool take_gemm(const struct npl_layer *layer, struct dn_work *work, char *why, size_t n)
{
	const struct npl_shape *x = &layer->in[0]->shape, *w = &layer->in[1]->shape, *y = &layer->out->shape;
	if (x->rank != 2 || w->rank != 2 || y->rank != 2 || w->dim[1] != x->dim[1] || y->dim[0] != x->dim[0] ||
	    y->dim[1] != w->dim[0])
		return npl_refuse(why, n, "a Gemm must be (rows,K) times (N,K) giving (rows,N)");
	work->images = 1;
	work->ni = x->dim[1];
	work->no = w->dim[0];
	work->in[0] = work->out[0] = 1;
	work->in[1] = work->out[1] = x->dim[0];
	work->from = (struct dn_layout){.map = 1, .x = work->ni};
	work->to = (struct dn_layout){.map = 1, .x = work->no};
	return true;
}

static bool take_values(const struct npl_layer *layer, struct dn_work *work, char *why, size_t n)
{
	int64_t count = npl_shape_count(&layer->in[0]->shape);
	if (count < 0 || count != npl_shape_count(&layer->out->shape))
		return npl_refuse(why, n, "input and output differ in size");
	work->images = 1;
	work->ni = work->no = count;
	work->in[0] = work->in[1] = work->out[0] = work->out[1] = 1;
	work->from = work->to = (struct dn_layout){.map = 1};
	return true;
}

/* Steps times lanes times four bytes stay below 2^63, so that no count overflows. */
static bool check_size(const struct dn_config *config, const struct dn_work *work, char *why, size_t n)
{
	int64_t outputs = work->kind == DN_SUM ? dn_out_rows(config, work) * config->tn : 1;
	const int64_t factor[] = {work->images,
				  work->groups,
				  work->out[0],
				  work->out[1],
				  work->window.kernel[0],
				  work->window.kernel[1],
				  dn_in_rows(config, work) * config->tn,
				  outputs,
				  64};
	int64_t product = 1;
	for (size_t i = 0; i < sizeof factor / sizeof *factor; i++)
		if (factor[i] < 0 || __builtin_mul_overflow(product, factor[i], &product))
			return npl_refuse(why, n, "more than 2^63 steps and lanes");
	return true;
}

/* From the scale of NFU-2's result to that of the output: within +-500, and dn_rescale takes any shift. */
static int shift_of(const struct dn_config *config, enum dn_kind kind, int x, int w, int y)
{
	if (kind != DN_SUM)
		return y - x;
	return y - (x + w + (config->product == NPL_Q16_ROUNDED ? NPL_Q16_FRACTION_BITS : 0));
}

static bool check_sums(const struct npl_layer *layer, struct dn_work *work, int *w, char *why, size_t n)
{
	const struct npl_tensor *bias = layer->n_in > 2 ? layer->in[2] : NULL;
	if (layer->n_in < 2 || !layer->in[1])
		return npl_refuse(why, n, "it has no weights");
	if (!check_tensor(layer->in[1], "the weight", w, why, n))
		return false;
	bool private = layer->op == NPL_OP_CONV &&
		       layer->attrs->conv.private_kernels; /* one bias of a map all the same */
	int64_t outputs = private ? layer->out->shape.dim[1] : layer->in[1]->shape.dim[0];
	if (bias && (bias->dtype != NPL_I32 || npl_shape_count(&bias->shape) != outputs))
		return npl_refuse(why, n, "the bias must be one 32-bit integer per output");
	work->bias = bias != NULL;
	work->raw = layer->out->dtype == NPL_I32;
	if (work->raw && layer->fused != NPL_ACT_NONE)
		return npl_refuse(why, n, "raw sums do not pass the activation");
	return true;
}

/* The bounds of a Clip as integers at a scale of 2^y, where 16 bits are bounds of their own. */
static bool take_clip(double low, double high, int y, struct dn_work *work, char *why, size_t n)
{
	double l = fmax(ldexp(low, -y), INT16_MIN), h = fmin(ldexp(high, -y), INT16_MAX);
	bool whole = l <= h && floor(l) >= l && floor(h) >= h;
	if (!whole || !dn_clip((int32_t)l, (int32_t)h, &work->function))
		return npl_refuse(why, n,
				  "at a scale of 2^%d a bound of %g to %g is none of the limits of NFU-3's segments", y,
				  low, high);
	return true;
}

/* What NFU-3 does, and at which scale: it changes none for functions that are exact at any; sigmoid and tanh are of plain Q6.10.
 * y: log2 of the output's scale. */
static bool take_function(const struct npl_layer *layer, int y, struct dn_work *work, char *why, size_t n)
{
	enum npl_op op = layer->op;
	enum npl_activation fused = layer->fused;
	bool alone = op == NPL_OP_RELU || op == NPL_OP_CLIP || op == NPL_OP_SIGMOID || op == NPL_OP_TANH ||
		     op == NPL_OP_LRN;
	work->activates = alone || fused != NPL_ACT_NONE;
	if (!work->activates)
		return true;
	if (alone && fused != NPL_ACT_NONE)
		return npl_refuse(why, n, "NFU-3 applies one function, not two");
	if (work->kind == DN_AVERAGE && fused > NPL_ACT_RELU)
		return npl_refuse(why, n, "NFU-3 divides here, it does not apply %s too", npl_activation_name(fused));
	if (op == NPL_OP_LRN) { /* whose function is there */
		work->result_shift = y + NPL_Q16_FRACTION_BITS;
		return true;
	}
	if (op == NPL_OP_SIGMOID || op == NPL_OP_TANH || fused == NPL_ACT_SIGMOID || fused == NPL_ACT_TANH) {
		work->function = op == NPL_OP_SIGMOID || fused == NPL_ACT_SIGMOID ? dn_sigmoid : dn_tanh;
		work->result_shift = y + NPL_Q16_FRACTION_BITS;
		return true;
	}
	if (op == NPL_OP_CLIP)
		return layer->attrs->clip.known
			       ? take_clip(layer->attrs->clip.min, layer->attrs->clip.max, y, work, why, n)
			       : npl_refuse(why, n, "the bounds of the Clip are computed, not constant");
	return take_clip(0, fused == NPL_ACT_RELU6 ? 6 : INFINITY, y, work, why, n);
}

bool dn_work_of(const struct dn_config *config, const struct npl_layer *layer, struct dn_work *work, char *why,
		size_t n)
{
	int x, w = 0, y = 0;
	*work = (struct dn_work){.groups = 1};
	work->window = (struct npl_window){.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
	if (layer->n_in < 1 || !layer->in[0])
		return npl_refuse(why, n, "it has no input");
	if (!npl_tensor_count(layer->in[0]) || !npl_tensor_count(layer->out))
		return npl_refuse(why, n, "there is nothing to compute on: a tensor is empty");
	if (!check_tensor(layer->in[0], "the input", &x, why, n))
		return false;
	bool taken = false;
	switch (layer->op) {
	case NPL_OP_CONV:
	case NPL_OP_GEMM:
		work->kind = DN_SUM;
		taken = check_sums(layer, work, &w, why, n) &&
			(layer->op == NPL_OP_CONV ? take_conv : take_gemm)(layer, work, why, n);
		break;
	case NPL_OP_MAXPOOL:
		work->kind = DN_MAX;
		taken = take_images(layer, work, why, n);
		break;
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		work->kind = DN_AVERAGE;
		taken = take_images(layer, work, why, n);
		break;
	case NPL_OP_RELU:
	case NPL_OP_CLIP:
	case NPL_OP_SIGMOID:
	case NPL_OP_TANH:
		work->kind = DN_MAX;
		taken = take_values(layer, work, why, n);
		break;
	case NPL_OP_LRN:
		taken = config->lrn == DN_LRN_MACHINE || npl_refuse(why, n, "the machine's file gives LRN to the host");
		taken = taken && dn_lrn_of(config, layer, x, work, &w, why, n);
		break;
	default:
		return npl_refuse(why, n, "the NFU has no operation for it");
	}
	if (!taken || (!work->raw && !check_tensor(layer->out, "the output", &y, why, n)) ||
	    !check_size(config, work, why, n) || !take_function(layer, y, work, why, n))
		return false;
	if (work->kind == DN_AVERAGE && dn_taps(work) > LARGEST_AVERAGE)
		return npl_refuse(why, n, "an average over more than %d values", LARGEST_AVERAGE);
	const struct dn_axis y_axis = dn_axis_of(work, 0), x_axis = dn_axis_of(work, 1);
	if (work->kind != DN_SUM && !(dn_all_read(&y_axis) && dn_all_read(&x_axis)))
		return npl_refuse(why, n, "a window is all padding: there is nothing to pool");
	if (work->raw && config->sum_bits > 32)
		return npl_refuse(why, n, "raw sums of %lld bits do not fit in 32", (long long)config->sum_bits);
	work->shift = shift_of(config, work->kind, x, w, y - work->result_shift);
	work->result_shift += work->lrn.raised;
	return true;
}
