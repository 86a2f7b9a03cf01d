/* SPDX-License-Identifier: MIT
 *
 * Convolutions of integers in groups whose patches are short (kernel.h). */
#include <limits.h>

#include "core/ops/window.h"
#include "job.h"

int cu_kernel_integer_conv(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_groups *groups,
			   enum npl_activation fused, const struct npl_tensor *out, uint64_t y, void *stream,
			   struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const struct npl_window window = cu_volume_of(groups->window);
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
	for (int d = 0; d < NPL_VOLUME; d++) {
		args.in[d] = from.size[d];
		args.out[d] = cu_divisor_of(to.size[d]);
		args.kernel[d] = (int)window.kernel[d];
		args.stride[d] = (int)window.stride[d];
		args.dilation[d] = (int)window.dilation[d];
		args.begin[d] = (int)window.pad_begin[d];
	}
	if (raw)
		cu_macro(&macros, "RAW=1");
	else
		args.finish = cu_finish_of(fused, out, &macros);
	cu_macro(&macros, "PARTS=%d Z=%s", groups->parts, cu_type_name(out->dtype));
	cu_macro_wide(&job, &macros, args.count);
	return args.count ? cu_launch_each(&job, "integer_conv", &macros, &args, args.count) : 0;
}
