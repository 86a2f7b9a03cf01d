/* SPDX-License-Identifier: MIT
 *
 * Convolutions of integers in groups whose patches are short (kernel.h). */
#include <limits.h>

#include "core/ops/window.h"
#include "job.h"

/* Returns how many filters of a position a thread makes. Of a depthwise convolution it makes 4 if it can load them and
 * their channels in one access, or 16 if many threads remain. */
static int filters_at_a_time(const struct cu_value *x, const struct cu_groups *groups, const struct npl_tensor *out,
			     uint64_t y)
{
	enum { MOST = 16, LEAST = 4, MANY_THREADS = 1 << 17 };
	const int64_t filters = out->shape.dim[1], channels = x->shape.dim[1];
	const uint64_t bytes = x->address | groups->weights | groups->part_bytes | (uint64_t)groups->ld;
	const uint64_t words = groups->bias | groups->scale, element = npl_dtype_size(out->dtype);
	if (groups->groups != filters || groups->groups != channels)
		return 1;
	for (int n = npl_tensor_count(out) >= (int64_t)MANY_THREADS * MOST ? MOST : LEAST; n >= LEAST; n /= 4) {
		const uint64_t pack = (uint64_t)n;
		if (!(filters % n) && !(bytes % pack) && !(words % (4 * pack)) && !(y % (element * pack)))
			return n;
	}
	return 1;
}

static int launch(const struct cu_job *job, const struct cu_value *x, const struct cu_groups *groups,
		  const struct npl_tensor *out, struct cu_macros *macros, struct cu_integer_conv_args *args)
{
	if (!args->count)
		return 0;
	cu_macro(macros, "PARTS=%d Z=%s", groups->parts, cu_type_name(out->dtype));
	cu_macro_wide(job, macros, args->count);
	if (!x->channels_last)
		return cu_launch_each(job, "integer_conv", macros, args, args->count);
	const int pack = filters_at_a_time(x, groups, out, args->z);
	cu_macro(macros, "N=%d", pack);
	args->count /= pack;
	args->packs = cu_divisor_of(out->shape.dim[1] / pack);
	args->step = x->shape.dim[1];
	if (pack > 1) {
		args->flip *= 0x01010101u;
		args->pad = (int)((uint32_t)(uint8_t)args->pad * 0x01010101u);
	}
	return cu_launch_each(job, "integer_conv_channels_last", macros, args, args->count);
}

int cu_kernel_integer_conv(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_groups *groups,
			   enum npl_activation fused, const struct npl_tensor *out, uint64_t y, void *stream,
			   struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const struct npl_image from = npl_image_of(&x->shape), to = npl_image_of(&out->shape);
	const bool raw = out->dtype == NPL_I32;
	struct cu_macros macros = {""};
	struct cu_integer_conv_args args = {.x = x->address,
					    .w = groups->weights,
					    .z = y,
					    .bias = groups->bias,
					    .scale = groups->scale,
					    .counter = cu_counter_of(&job),
					    .count = npl_shape_count(&out->shape),
					    .window = cu_window_of(groups->window, &x->shape, &out->shape),
					    .ld = groups->ld,
					    .part = (long long)groups->part_bytes,
					    .filters = cu_divisor_of(to.channels),
					    .group_filters = cu_divisor_of(to.channels / groups->groups),
					    .plane = from.size[0] * from.size[1] * from.size[2],
					    .channels = (int)(from.channels / groups->groups),
					    .pad = groups->pad,
					    .low = fused == NPL_ACT_RELU ? 0 : INT_MIN,
					    .flip = groups->flip};
	args.image = args.plane * from.channels;
	if (raw)
		cu_macro(&macros, "RAW=1");
	else
		args.finish = cu_finish_of(fused, out, &macros);
	return launch(&job, x, groups, out, &macros, &args);
}
