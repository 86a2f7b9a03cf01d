/* SPDX-License-Identifier: MIT
 *
 * Resize and Upsample on the GPU. */
#include "job.h"

static bool takes_resize(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_resize_attrs *r = &layer->attrs->resize;
	if (r->transform == NPL_RESIZE_HALF_PIXEL_SYMMETRIC)
		return npl_refuse(reason, reason_bytes, "the GPU does not resize by half_pixel_symmetric");
	if (r->mode != NPL_RESIZE_NEAREST && r->antialias)
		return npl_refuse(reason, reason_bytes, "the GPU does not resize with antialias");
	return r->mode == NPL_RESIZE_NEAREST || npl_is_float32_or_half(layer->in[0]->dtype) ||
	       npl_refuse(reason, reason_bytes, "the GPU interpolates no %s", npl_dtype_name(layer->in[0]->dtype));
}

static int run_resize(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out)
{
	const struct npl_resize_attrs *r = &layer->attrs->resize;
	struct cu_macros macros = {""};
	struct cu_resize_args args = {.x = in[0].address,
				      .z = out->address,
				      .count = npl_shape_count(&out->shape),
				      .rank = out->shape.rank,
				      .transform = (int)r->transform,
				      .nearest = (int)r->nearest,
				      .exclude_outside = r->exclude_outside,
				      .cubic = (double)r->cubic_a,
				      .outside = r->extrapolation_value};
	int64_t step[NPL_MAX_RANK];
	int order[NPL_MAX_RANK];
	cu_steps_of(&in[0].shape, in[0].channels_last, step);
	cu_order_of(args.rank, out->channels_last, order);
	for (int i = 0; i < args.rank; i++) {
		const int d = order[i];
		bool full_extent = r->transform != NPL_RESIZE_TF_CROP_AND_RESIZE ||
				   (r->from[d] <= 0 && r->from[d] >= 0 && r->to[d] <= 1 && r->to[d] >= 1);
		args.dim[i] = cu_divisor_of(out->shape.dim[d]);
		args.size[i] = in[0].shape.dim[d];
		args.step[i] = step[d];
		args.stays[i] = r->scale[d] <= 1 && r->scale[d] >= 1 && full_extent;
		args.scale[i] = r->scale[d];
		args.length[i] = r->length[d];
		args.from[i] = r->from[d];
		args.to[i] = r->to[d];
	}
	cu_macro(&macros, "X=%s", cu_type_name(out->dtype));
	if (r->mode == NPL_RESIZE_NEAREST)
		cu_macro(&macros, "NEAREST=1");
	else
		cu_macro(&macros, "TAPS=%d", r->mode == NPL_RESIZE_LINEAR ? 2 : 4);
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "resize", &macros, &args, args.count);
}
const struct cu_family cu_resize_family = {takes_resize, run_resize, false};
