/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolutions of floats with channels last (kernel.h). */
#include "core/ops/window.h"
#include "job.h"

int cu_kernel_depthwise(struct cu_kernels *kernels, const struct cu_value *x, const struct npl_window *kernel,
			uint64_t weights, uint64_t bias, enum npl_activation fused, const struct cu_value *y,
			void *stream, struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const struct npl_image from = npl_image_of(&x->shape);
	const uint64_t address[] = {x->address, y->address, weights};
	const size_t element[] = {npl_dtype_size(x->dtype), npl_dtype_size(x->dtype), npl_dtype_size(x->dtype)};
	int pack = cu_pack_of(element[0], 3, address, element);
	while (from.channels % pack)
		pack /= 2;
	struct cu_macros macros = {""};
	struct cu_depthwise_args args = {.x = x->address,
					 .w = weights,
					 .bias = bias,
					 .z = y->address,
					 .count = npl_shape_count(&y->shape) / pack,
					 .window = cu_window_of(kernel, &x->shape, &y->shape),
					 .packs = cu_divisor_of(from.channels / pack),
					 .image = npl_shape_count(&x->shape) / from.images / pack};
	cu_macro(&macros, "X=%s N=%d KERNEL_HEIGHT=%d KERNEL_WIDTH=%d KERNEL_DEPTH=%d", cu_type_name(x->dtype), pack,
		 args.window.kernel[0], args.window.kernel[1], args.window.kernel[2]);
	if (fused != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(fused));
	cu_macro_wide(&job, &macros,
		      npl_shape_count(&x->shape) > npl_shape_count(&y->shape) ? npl_shape_count(&x->shape)
									      : npl_shape_count(&y->shape));
	return args.count ? cu_launch_each(&job, "depthwise", &macros, &args, args.count) : 0;
}
