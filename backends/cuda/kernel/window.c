/* SPDX-License-Identifier: MIT
 *
 * Pooling, ConvTranspose, LRN and BatchNormalization on the GPU. */
#include <string.h>

#include "core/ops/window.h"
#include "job.h"

struct npl_window cu_volume_of(const struct npl_window *window)
{
	struct npl_window volume = *window;
	for (int i = 0; i < NPL_VOLUME; i++) {
		bool has_dim = false;
		for (int k = 0; k < window->rank; k++)
			has_dim |= npl_window_index(window->rank, k) == i;
		if (has_dim)
			continue;
		volume.kernel[i] = volume.stride[i] = volume.dilation[i] = 1;
		volume.pad_begin[i] = volume.pad_end[i] = 0;
	}
	return volume;
}

struct cu_window cu_window_of(const struct npl_window *window, const struct npl_shape *from, const struct npl_shape *to)
{
	const struct npl_window volume = cu_volume_of(window);
	const struct npl_image x = npl_image_of(from), z = npl_image_of(to);
	struct cu_window result;
	for (int d = 0; d < NPL_VOLUME; d++) {
		result.in[d] = x.size[d];
		result.out[d] = cu_divisor_of(z.size[d]);
		result.kernel[d] = (int)volume.kernel[d];
		result.stride[d] = (int)volume.stride[d];
		result.dilation[d] = (int)volume.dilation[d];
		result.begin[d] = (int)volume.pad_begin[d];
	}
	return result;
}

bool cu_kernel_takes_window(const struct npl_window *window, char *reason, size_t reason_bytes)
{
	for (int d = 0; d < NPL_VOLUME; d++) {
		const int64_t numbers[] = {window->kernel[d], window->stride[d], window->dilation[d],
					   window->pad_begin[d], window->pad_end[d]};
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (numbers[i] > INT32_MAX)
				return npl_refuse(reason, reason_bytes, "its window has %lld positions",
						  (long long)numbers[i]);
	}
	return true;
}

#define MAX_AVERAGES 4 /* averages of integers that a thread makes at a time: each takes a division */

static bool is_maximum(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_MAXPOOL || layer->op == NPL_OP_GLOBALMAXPOOL;
}

static bool takes_pool(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (!npl_is_float32_or_half(layer->in[0]->dtype))
		return npl_refuse(reason, reason_bytes, "the GPU has no %s of %s", npl_op_defs[layer->op].name,
				  npl_dtype_name(layer->in[0]->dtype));
	return cu_kernel_takes_window(&layer->attrs->pool.window, reason, reason_bytes);
}

/* Says whether 32 bits hold every sum over a window of integers: elements and zero points have up to 16 bits. */
static bool is_narrow(const struct npl_layer *layer)
{
	enum { MAX_TAPS = 1 << 15 };
	const struct npl_window window = cu_volume_of(&layer->attrs->pool.window);
	int64_t taps = 1;
	for (int d = 0; d < NPL_VOLUME; d++)
		taps *= window.kernel[d] < MAX_TAPS ? window.kernel[d] : MAX_TAPS + 1;
	return is_maximum(layer) || taps <= MAX_TAPS;
}

/* Adds the macros of a pooling; quantised ones follow the integer rule. */
static void pool_macros(const struct npl_layer *layer, bool quantised, bool indices, enum npl_dtype x, enum npl_dtype y,
			struct cu_macros *macros)
{
	static const char *const least[NPL_DTYPES] = {[NPL_I8] = "-128", [NPL_U8] = "0", [NPL_I16] = "-32768"};
	cu_macro(macros, "X=%s", cu_type_name(x));
	cu_macro(macros, "Y=%s", cu_type_name(y));
	if (quantised)
		cu_macro(macros, is_narrow(layer) ? "INTEGER=1 NARROW=1" : "INTEGER=1");
	if (is_maximum(layer))
		cu_macro(macros, "GREATEST=1 LOWEST=%s", quantised ? least[x] : "-INFINITE");
	else if (layer->op == NPL_OP_LPPOOL || layer->op == NPL_OP_GLOBALLPPOOL)
		cu_macro(macros, "POWER=%d", layer->attrs->pool.p > 2 ? 3 : (int)layer->attrs->pool.p);
	else
		cu_macro(macros, "AVERAGE=1");
	if (indices)
		cu_macro(macros, "INDICES=1");
	if (!quantised && layer->activation != NPL_ACT_NONE)
		cu_macro(macros, "FUSED=%s", cu_fused_name(layer->activation));
}

/* Returns how many neighbouring elements a thread takes at once: 16 bytes of them, or one. */
static int side_by_side(const struct cu_value *x, const struct cu_value *y)
{
	const uint64_t address[] = {x->address, y->address};
	const size_t element[] = {npl_dtype_size(x->dtype), npl_dtype_size(y->dtype)};
	return cu_pack_of(element[0] > element[1] ? element[0] : element[1], 2, address, element);
}

int cu_run_pool(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		struct cu_value *out)
{
	const struct npl_window window = cu_volume_of(&layer->attrs->pool.window);
	const struct npl_image x = npl_image_of(&in[0].shape);
	const bool quantised = !npl_is_float32_or_half(in[0].dtype), padded = window.count_include_pad;
	struct cu_macros macros = {""};
	struct cu_pool_args args = {.x = in[0].address,
				    .z = out->address,
				    .count = npl_shape_count(&out->shape),
				    .window = cu_window_of(&layer->attrs->pool.window, &in[0].shape, &out->shape),
				    .counts_padding = padded,
				    .column_major = layer->attrs->pool.column_major,
				    .zero_point = quantised ? layer->in[0]->quant.zero_point : 0,
				    .fused_relu = quantised && layer->activation == NPL_ACT_RELU,
				    .power = (float)layer->attrs->pool.p};
	for (int d = 0; d < NPL_VOLUME; d++)
		args.counted_end[d] = padded ? (int)window.pad_end[d] : 0;
	if (!quantised && !layer->n_further &&
	    (layer->op == NPL_OP_GLOBALAVERAGEPOOL || layer->op == NPL_OP_GLOBALMAXPOOL))
		return cu_run_reduce(job, layer, in, out);
	if (layer->n_further && is_maximum(layer))
		args.indices = out[1].address;
	pool_macros(layer, quantised, args.indices, in[0].dtype, out->dtype, &macros);
	int pack = 1;
	if (in[0].channels_last) {
		pack = side_by_side(&in[0], out);
		if (quantised && !is_maximum(layer) && pack > MAX_AVERAGES)
			pack = MAX_AVERAGES;
		if (x.channels % pack)
			pack = 1;
		args.packs = cu_divisor_of(x.channels / pack);
		cu_macro(&macros, "CHANNELS_LAST=1 N=%d", pack);
	}
	cu_macro_wide(job, &macros,
		      npl_shape_count(&in[0].shape) > args.count ? npl_shape_count(&in[0].shape) : args.count);
	return cu_launch_each(job, "pool", &macros, &args, args.count / pack);
}
const struct cu_family cu_pool_family = {takes_pool, cu_run_pool, true};

static bool takes_convtranspose(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (!npl_is_float32_or_half(layer->in[0]->dtype))
		return npl_refuse(reason, reason_bytes, "the GPU has no ConvTranspose of %s",
				  npl_dtype_name(layer->in[0]->dtype));
	return cu_kernel_takes_window(&layer->attrs->conv.window, reason, reason_bytes);
}

static int run_convtranspose(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
			     struct cu_value *out)
{
	const struct npl_image x = npl_image_of(&in[0].shape), z = npl_image_of(&out->shape);
	const int64_t groups = layer->attrs->conv.groups;
	struct cu_macros macros = {""};
	struct cu_convtranspose_args args = {
		.x = in[0].address,
		.w = in[1].address,
		.bias = layer->n_in > 2 && layer->in[2] ? in[2].address : 0,
		.z = out->address,
		.count = npl_shape_count(&out->shape),
		.window = cu_window_of(&layer->attrs->conv.window, &in[0].shape, &out->shape),
		.channels = x.channels,
		.group_channels = x.channels / groups,
		.filters = cu_divisor_of(z.channels),
		.group_filters = cu_divisor_of(z.channels / groups)};
	cu_macro(&macros, "X=%s Y=%s S=%s", cu_type_name(in[0].dtype), cu_type_name(out->dtype),
		 cu_type_name(in[1].dtype));
	if (layer->activation != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(layer->activation));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "convtranspose", &macros, &args, args.count);
}
const struct cu_family cu_convtranspose_family = {takes_convtranspose, run_convtranspose, true};

/* Splits a tensor's dimensions into channels and the elements within one. */
static void channels_of(const struct cu_value *value, bool per_element, int64_t *channels, int64_t *plane)
{
	const struct npl_shape *x = &value->shape;
	*channels = x->rank < 2 ? 1 : per_element ? cu_product(x->dim + 1, x->rank - 1) : x->dim[1];
	*plane = x->rank < 2                           ? cu_product(x->dim, x->rank)
		 : per_element || value->channels_last ? 1
						       : cu_product(x->dim + 2, x->rank - 2);
}

static bool takes_channels(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (layer->op == NPL_OP_BATCHNORMALIZATION && (layer->attrs->norm.training || layer->n_further))
		return npl_refuse(reason, reason_bytes,
				  "the GPU has no BatchNormalization by the statistics of the batch");
	return npl_is_float32_or_half(layer->in[0]->dtype) || npl_refuse(reason, reason_bytes, "its input is no float");
}

static int run_channels(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
			struct cu_value *out)
{
	int64_t channels, plane;
	struct cu_macros macros = {""};
	channels_of(&in[0], layer->attrs->norm.per_element, &channels, &plane);
	struct cu_channels_args args = {.x = in[0].address,
					.z = out->address,
					.scale = in[1].address,
					.bias = in[2].address,
					.mean = in[3].address,
					.variance = in[4].address,
					.count = npl_shape_count(&out->shape),
					.plane = cu_divisor_of(plane),
					.channels = cu_divisor_of(channels),
					.epsilon = layer->attrs->norm.epsilon};
	cu_macro(&macros, "X=%s Y=%s S=%s", cu_type_name(in[0].dtype), cu_type_name(out->dtype),
		 cu_type_name(in[1].dtype));
	if (layer->activation != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(layer->activation));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "channels", &macros, &args, args.count);
}
const struct cu_family cu_channels_family = {takes_channels, run_channels, true};

static int run_lrn(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out)
{
	const struct npl_lrn_attrs *lrn = &layer->attrs->lrn;
	int64_t channels, plane;
	struct cu_macros macros = {""};
	channels_of(&in[0], false, &channels, &plane);
	struct cu_lrn_args args = {.x = in[0].address,
				   .z = out->address,
				   .count = npl_shape_count(&out->shape),
				   .plane = cu_divisor_of(plane),
				   .channels = cu_divisor_of(channels),
				   .low = (lrn->size - 1) / 2,
				   .high = lrn->size / 2,
				   .weight = (float)((double)lrn->alpha / (double)lrn->size),
				   .bias = lrn->bias,
				   .beta = lrn->beta};
	cu_macro(&macros, "X=%s Y=%s", cu_type_name(in[0].dtype), cu_type_name(out->dtype));
	if (layer->activation != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(layer->activation));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "lrn", &macros, &args, args.count);
}
const struct cu_family cu_lrn_family = {takes_channels, run_lrn, true};

int cu_kernel_bias(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_value *bias, int64_t channels,
		   int64_t inner, enum npl_activation fused, const struct cu_value *y, void *stream,
		   struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	struct cu_macros macros = {""};
	struct cu_bias_args args = {
		.x = x->address, .z = y->address, .bias = bias->address, .count = npl_shape_count(&y->shape)};
	if (!args.count)
		return 0;
	if (!bias->address) { /* no value of the result depends on the channel */
		channels = 1;
		inner = args.count;
	}
	int pack = side_by_side(x, y);
	const bool last = inner == 1 && channels % pack == 0;
	if (!last && inner % pack)
		pack = 1;
	args.inner = cu_divisor_of(last ? 1 : inner / pack);
	args.channels = cu_divisor_of(last ? channels / pack : channels);
	cu_macro(&macros, "X=%s Y=%s S=%s FUSED=%s N=%d", cu_type_name(x->dtype), cu_type_name(y->dtype),
		 bias->address ? cu_type_name(bias->dtype) : "f32", cu_fused_name(fused), pack);
	if (last)
		cu_macro(&macros, "CHANNELS_LAST=1");
	cu_macro_wide(&job, &macros, args.count);
	return cu_launch_each(&job, "bias", &macros, &args, args.count / pack);
}
