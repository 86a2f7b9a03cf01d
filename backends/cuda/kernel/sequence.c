/* SPDX-License-Identifier: MIT
 *
 * OneHot, Trilu and ReverseSequence on the GPU. */
#include "job.h"

static bool takes_onehot(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	enum npl_dtype dtype = layer->in[0]->dtype;
	return npl_is_float32_or_half(dtype) || dtype == NPL_I32 || dtype == NPL_I64 ||
	       npl_refuse(reason, reason_bytes, "the GPU has no OneHot of %s", npl_dtype_name(dtype));
}

static int launch(const struct cu_job *job, const char *name, struct cu_macros *macros, struct cu_sequence_args *args,
		  const struct cu_value *out)
{
	args->z = out->address;
	args->count = npl_shape_count(&out->shape);
	cu_macro(macros, "UNIT=%s", cu_unit_name(npl_dtype_size(out->dtype)));
	cu_macro_wide(job, macros, args->count);
	return cu_launch_each(job, name, macros, args, args->count);
}

static int run_onehot(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out)
{
	const struct npl_attrs *attrs = layer->attrs;
	const int axis = (int)attrs->one_hot.axis, n_inner_dims = out->shape.rank - 1 - axis;
	struct cu_macros macros = {""};
	struct cu_sequence_args args = {.x = in[0].address,
					.extra = in[2].address,
					.inner = cu_divisor_of(cu_product(out->shape.dim + axis + 1, n_inner_dims)),
					.middle = cu_divisor_of(attrs->one_hot.depth),
					.wraps = attrs->opset == 0 || attrs->opset >= 11};
	cu_macro(&macros, "X=%s", cu_type_name(in[0].dtype));
	if (npl_is_float32_or_half(in[0].dtype))
		cu_macro(&macros, "FLOATS=1");
	return launch(job, "onehot", &macros, &args, out);
}
const struct cu_family cu_onehot_family = {takes_onehot, run_onehot, false};

static bool supports_all(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	(void)layer;
	(void)reason;
	(void)reason_bytes;
	return true;
}

static int run_triangle(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
			struct cu_value *out)
{
	const struct npl_shape *z = &out->shape;
	struct cu_macros macros = {""};
	struct cu_sequence_args args = {.x = in[0].address,
					.extra = cu_reads(layer, 1) ? in[1].address : 0,
					.inner = cu_divisor_of(z->dim[z->rank - 1]),
					.middle = cu_divisor_of(z->dim[z->rank - 2]),
					.upper = layer->attrs->trilu.upper};
	return launch(job, "triangle", &macros, &args, out);
}
const struct cu_family cu_triangle_family = {supports_all, run_triangle, false};

static int run_reverse(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		       struct cu_value *out)
{
	const struct npl_shape *z = &out->shape;
	struct cu_macros macros = {""};
	struct cu_sequence_args args = {.x = in[0].address,
					.extra = in[1].address,
					.fault = cu_fault_of(job),
					.inner = cu_divisor_of(cu_product(z->dim + 2, z->rank - 2)),
					.middle = cu_divisor_of(z->dim[1]),
					.steps = z->dim[layer->attrs->reverse_sequence.time_axis],
					.batch_first = layer->attrs->reverse_sequence.time_axis == 1};
	return launch(job, "reverse", &macros, &args, out);
}
const struct cu_family cu_reverse_family = {supports_all, run_reverse, false};
