/* SPDX-License-Identifier: MIT
 *
 * Quantised layers on the GPU by the integer rules, with the same bits as core/integer_layer.c; conversion of a
 * product's sums to its result; QuantizeLinear and DequantizeLinear, with inputs of their own or as conversions within
 * a layer group. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/integer.h"
#include "job.h"

static int least_of(enum npl_dtype dtype)
{
	return dtype == NPL_U8 ? 0 : dtype == NPL_I8 ? -128 : -32768;
}

static int most_of(enum npl_dtype dtype)
{
	return dtype == NPL_U8 ? 255 : dtype == NPL_I8 ? 127 : 32767;
}

static bool is_view(const struct npl_layer *layer)
{
	return npl_op_defs[layer->op].flags & NPL_OP_IS_VIEW;
}

bool cu_integer_supports(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (is_view(layer) && layer->activation == NPL_ACT_NONE && !layer->n_further)
		return npl_tensor_quant_equal(layer->in[0], layer->out) ||
		       npl_refuse(reason, reason_bytes, "input and output differ in type, scale or zero point");
	if (layer->n_further)
		return npl_refuse(reason, reason_bytes,
				  "in 8 bits it gives its first result alone, and others are read");
	return npl_integer_layer_ok(layer, reason, reason_bytes);
}

/* Returns the real number that one step of a value stands for before the finish: 2^-12 for the table of Sigmoid or
 * Tanh, else the result's scale. */
static float unit_of(enum npl_activation fused, const struct npl_tensor *out)
{
	return npl_activation_has_table(fused) ? 0x1p-12f : out->quant.scale;
}

static int limited(float q, enum npl_dtype dtype)
{
	const int low = least_of(dtype), high = most_of(dtype);
	return !(q > (float)low) ? low : q >= (float)high ? high : (int)q;
}

struct cu_finish cu_finish_of(enum npl_activation fused, const struct npl_tensor *out, struct cu_macros *macros)
{
	struct cu_finish finish = {.zero = (float)out->quant.zero_point,
				   .low = (float)least_of(out->dtype),
				   .high = (float)most_of(out->dtype),
				   .function_scale = 0x1p-15f / out->quant.scale};
	switch (fused) {
	case NPL_ACT_NONE:
		cu_macro(macros, "FINISH=finish_none");
		return finish;
	case NPL_ACT_RELU:
		cu_macro(macros, "FINISH=finish_relu");
		return finish;
	case NPL_ACT_RELU6:
		cu_macro(macros, "FINISH=finish_relu6");
		finish.relu6 = (float)limited(rintf(6.0f / out->quant.scale) + finish.zero, out->dtype);
		return finish;
	case NPL_ACT_SIGMOID:
	case NPL_ACT_TANH:
		cu_macro(macros, "FINISH=finish_function");
		npl_function_points(fused, finish.point);
		return finish;
	}
	cu_macro(macros, "FINISH=finish_unknown"); /* which no kernel has, so that none is compiled */
	return finish;
}

static int run_pair(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		    const struct cu_value *out)
{
	const struct npl_quant *a = &layer->in[0]->quant, *b = &layer->in[1]->quant;
	const float y = unit_of(layer->activation, layer->out);
	struct cu_macros macros = {""};
	struct cu_axes axes = cu_axes_of(&out->shape);
	struct cu_integer_args args = {.x = in[0].address,
				       .y = in[1].address,
				       .z = out->address,
				       .count = npl_shape_count(&out->shape),
				       .counter = cu_counter_of(job),
				       .x_zero = a->zero_point,
				       .y_zero = b->zero_point,
				       .finish = cu_finish_of(layer->activation, layer->out, &macros)};
	const uint64_t address[] = {args.x, args.y, args.z};
	const size_t element[] = {npl_dtype_size(in[0].dtype), npl_dtype_size(in[1].dtype), npl_dtype_size(out->dtype)};
	cu_axes_broadcast(&axes, 0, &in[0].shape, in[0].channels_last);
	cu_axes_broadcast(&axes, 1, &in[1].shape, in[1].channels_last);
	cu_axes_order(&axes, out->channels_last);
	args.walk = cu_walk_of(&axes);
	args.x_scale = layer->op == NPL_OP_ADD ? a->scale / y : a->scale * b->scale / y;
	args.y_scale = b->scale / y;
	if (layer->op == NPL_OP_MUL)
		cu_macro(&macros, "PRODUCT=1");
	cu_macro(&macros, "X=%s Y=%s Z=%s", cu_type_name(in[0].dtype), cu_type_name(in[1].dtype),
		 cu_type_name(out->dtype));
	cu_macro_wide(job, &macros, args.count);
	bool walks = args.walk.rank > 1 || args.walk.step[0][0] != 1 || args.walk.step[1][0] != 1;
	const size_t widest = element[0] + element[1] + element[2] > 3 ? 2 : 1;
	int pack = walks ? 1 : cu_pack_of(widest, 3, address, element);
	cu_macro(&macros, walks ? "N=%d WALK=1" : "N=%d", pack);
	return cu_launch_each(job, "integer_pair", &macros, &args, args.count / pack + 1);
}

/* Converts x to the result's scale, or clips it, and writes it along the axes (NULL: densely). */
static int convert(const struct cu_job *job, struct cu_integer_args *args, struct cu_macros *macros, enum npl_dtype x,
		   enum npl_dtype z, const struct cu_axes *axes)
{
	const uint64_t address[] = {args->x, args->z};
	const size_t element[] = {npl_dtype_size(x), npl_dtype_size(z)};
	int pack = 1;
	if (axes) {
		args->walk = cu_walk_of(axes);
		cu_macro(macros, "WALK=1");
	} else {
		pack = cu_pack_of(element[0] + element[1] > 2 ? 2 : 1, 2, address, element);
	}
	cu_macro(macros, "X=%s Z=%s N=%d", cu_type_name(x), cu_type_name(z), pack);
	cu_macro_wide(job, macros, args->count);
	return cu_launch_each(job, "integer_convert", macros, args, args->count / pack + 1);
}

static int run_convert(const struct cu_job *job, const struct npl_tensor *x, const struct npl_tensor *z,
		       enum npl_activation function, uint64_t from, uint64_t to, const struct cu_axes *axes)
{
	struct cu_macros macros = {""};
	struct cu_integer_args args = {.x = from,
				       .z = to,
				       .count = npl_shape_count(&x->shape),
				       .counter = cu_counter_of(job),
				       .x_zero = x->quant.zero_point,
				       .x_scale = x->quant.scale / unit_of(function, z),
				       .finish = cu_finish_of(function, z, &macros)};
	return args.count ? convert(job, &args, &macros, x->dtype, z->dtype, axes) : 0;
}

static int run_limits(const struct cu_job *job, int low, int high, uint64_t x, const struct cu_value *z)
{
	struct cu_macros macros = {"CLIP=1"};
	struct cu_integer_args args = {
		.x = x, .z = z->address, .count = npl_shape_count(&z->shape), .low = low, .high = high};
	return convert(job, &args, &macros, z->dtype, z->dtype, NULL);
}

/* Runs Clip between limits in the tensor's integers, and Relu with its zero point as the lower limit. */
static int run_clip(const struct cu_job *job, const struct npl_layer *layer, uint64_t x, const struct cu_value *z)
{
	const struct npl_quant *q = &layer->out->quant;
	const float zero = (float)q->zero_point;
	int low = q->zero_point, high = most_of(layer->out->dtype);
	if (layer->op == NPL_OP_CLIP) {
		low = limited(rintf(layer->attrs->clip.min / q->scale) + zero, layer->out->dtype);
		high = limited(rintf(layer->attrs->clip.max / q->scale) + zero, layer->out->dtype);
	}
	int rc = run_limits(job, low, high, x, z);
	if (!rc && layer->activation == NPL_ACT_RELU)
		rc = run_limits(job, q->zero_point, most_of(layer->out->dtype), z->address, z);
	return rc;
}

static int run_concat(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      const struct cu_value *out)
{
	const int axis = (int)layer->attrs->along.axis;
	const size_t element = npl_dtype_size(out->dtype);
	int64_t index = 0, step[NPL_MAX_RANK];
	int rc = 0;
	cu_steps_of(&out->shape, out->channels_last, step);
	for (int k = 0; k < layer->n_in && !rc; k++) {
		struct cu_axes axes = cu_axes_of(&in[k].shape);
		uint64_t to = out->address + (uint64_t)(index * step[axis]) * element;
		cu_steps_of(&in[k].shape, in[k].channels_last, axes.step[0]);
		memcpy(axes.step[1], step, (size_t)axes.rank * sizeof *step);
		cu_axes_order(&axes, out->channels_last);
		if (npl_tensor_quant_equal(layer->in[k], layer->out))
			rc = cu_copy(job, &axes, element, in[k].address, to);
		else
			rc = run_convert(job, layer->in[k], layer->out, NPL_ACT_NONE, in[k].address, to, &axes);
		index += in[k].shape.dim[axis];
	}
	return rc;
}

int cu_integer_run(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		   struct cu_value *out)
{
	int rc;
	switch (layer->op) {
	case NPL_OP_ADD:
	case NPL_OP_MUL:
		return run_pair(job, layer, in, out);
	case NPL_OP_SIGMOID:
		return run_convert(job, layer->in[0], layer->out, NPL_ACT_SIGMOID, in[0].address, out->address, NULL);
	case NPL_OP_TANH:
		return run_convert(job, layer->in[0], layer->out, NPL_ACT_TANH, in[0].address, out->address, NULL);
	case NPL_OP_CONCAT:
		return run_concat(job, layer, in, out);
	case NPL_OP_RELU:
	case NPL_OP_CLIP:
		return run_clip(job, layer, in[0].address, out);
	case NPL_OP_MAXPOOL:
	case NPL_OP_AVERAGEPOOL:
	case NPL_OP_GLOBALAVERAGEPOOL:
		return cu_run_pool(job, layer, in, out);
	default: /* operators that only move integers */
		rc = cu_run_copy(job, layer, in, out);
		if (!rc && layer->activation == NPL_ACT_RELU)
			rc = run_limits(job, layer->out->quant.zero_point, most_of(out->dtype), out->address, out);
		return rc;
	}
}

float cu_sums_scale(const struct npl_tensor *x, const struct npl_tensor *w, int64_t channel, enum npl_activation fused,
		    const struct npl_tensor *out)
{
	const float scale = w->quant.channel_scale ? w->quant.channel_scale[channel] : w->quant.scale;
	return x->quant.scale * scale / unit_of(fused, out);
}

/* Converts sums whose channels are neighbours in rows of all channels. */
static int run_row_sums(const struct cu_job *job, struct cu_integer_rows_args *args, struct cu_macros *macros,
			enum npl_dtype z)
{
	enum { ROWS = 4 };
	const uint64_t address[] = {args->x, args->bias, args->scale, args->z};
	const size_t elements[] = {sizeof(int32_t), sizeof(int32_t), sizeof(float), npl_dtype_size(z)};
	int pack = cu_pack_of(sizeof(int32_t), 4, address, elements);
	while (args->channels % pack || args->ld % pack)
		pack /= 2;
	args->packs = cu_divisor_of(args->channels / pack);
	args->count = npl_div_up_i64(args->rows, ROWS) * (args->channels / pack);
	cu_macro(macros, "Z=%s N=%d ROWS=%d", cu_type_name(z), pack, ROWS);
	cu_macro_wide(job, macros, args->rows * args->channels);
	return cu_launch_each(job, "integer_sums_channels_last", macros, args, args->count);
}

/* Converts sums whose rows are of one channel or of a part of it: the elements of a pack have one channel. */
static int run_channel_sums(const struct cu_job *job, struct cu_integer_args *args, struct cu_macros *macros,
			    enum npl_dtype z)
{
	const uint64_t address[] = {args->x, args->z};
	const size_t elements[] = {sizeof(int32_t), npl_dtype_size(z)};
	int pack = cu_pack_of(sizeof(int32_t), 2, address, elements);
	while (args->length.by % pack || args->ld % pack || args->inner.by % pack)
		pack /= 2;
	cu_macro(macros, "Z=%s N=%d", cu_type_name(z), pack);
	cu_macro_wide(job, macros, args->count);
	return cu_launch_each(job, "integer_sums", macros, args, args->count / pack);
}

int cu_kernel_sums(struct cu_kernels *kernels, const struct cu_value *x, uint64_t bias, uint64_t scale,
		   int64_t channels, int64_t inner, int64_t length, int64_t ld, enum npl_activation fused,
		   const struct npl_tensor *out, uint64_t y, void *stream, struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	const int64_t count = npl_shape_count(&x->shape);
	const int low = fused == NPL_ACT_RELU ? 0 : INT_MIN;
	struct cu_macros macros = {""};
	struct cu_finish finish = {0};
	if (!count)
		return 0;
	if (!length)
		length = ld = inner > 1 ? inner : channels;
	if (out->dtype == NPL_I32)
		cu_macro(&macros, "RAW=1");
	else
		finish = cu_finish_of(fused, out, &macros);
	if (inner == 1 && length == channels) {
		struct cu_integer_rows_args args = {.x = x->address,
						    .z = y,
						    .scale = scale,
						    .bias = bias,
						    .counter = cu_counter_of(&job),
						    .rows = count / channels,
						    .channels = channels,
						    .ld = ld,
						    .low = low,
						    .finish = finish};
		return run_row_sums(&job, &args, &macros, out->dtype);
	}
	struct cu_integer_args args = {.x = x->address,
				       .z = y,
				       .count = count,
				       .counter = cu_counter_of(&job),
				       .scale = scale,
				       .bias = bias,
				       .inner = cu_divisor_of(inner),
				       .channels = cu_divisor_of(channels),
				       .low = low,
				       .length = cu_divisor_of(length),
				       .ld = ld,
				       .finish = finish};
	return run_channel_sums(&job, &args, &macros, out->dtype);
}

/* Quantises floats x to integers of type q, or dequantises back. */
static int quantise(const struct cu_job *job, struct cu_quantise_args *args, bool dequantises, enum npl_dtype real,
		    enum npl_dtype q, enum npl_dtype scale)
{
	struct cu_macros macros = {""};
	cu_macro(&macros, "%s=%s Q=%s S=%s", dequantises ? "BACK=1 Y" : "X", cu_type_name(real), cu_type_name(q),
		 cu_type_name(scale));
	if (!dequantises)
		cu_macro(&macros, "LEAST=%d MOST=%d", least_of(q), most_of(q));
	cu_macro_wide(job, &macros, args->count);
	return args->count ? cu_launch_each(job, "quantise", &macros, args, args->count) : 0;
}

static bool takes_quantise(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const struct npl_tensor *real = layer->op == NPL_OP_QUANTIZELINEAR ? layer->in[0] : layer->out;
	const struct npl_tensor *integer = layer->op == NPL_OP_QUANTIZELINEAR ? layer->out : layer->in[0];
	if (npl_dtype_size(integer->dtype) == 2)
		return npl_refuse(reason, reason_bytes, "the GPU has no %s that stand for floats",
				  npl_dtype_name(integer->dtype));
	if (layer->n_in > 1 && layer->in[1]->dtype != NPL_F32)
		return npl_refuse(reason, reason_bytes, "the GPU quantises by scales in float32 alone");
	return npl_is_float32_or_half(real->dtype) || real->dtype == NPL_I32 ||
	       npl_refuse(reason, reason_bytes, "the GPU does not quantise %s", npl_dtype_name(real->dtype));
}

static int run_quantise(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
			struct cu_value *out)
{
	const struct npl_shape *x = &in[0].shape;
	const bool dequantises = layer->op == NPL_OP_DEQUANTIZELINEAR;
	const int axis = (int)layer->attrs->quantise.axis;
	const int64_t vectors = npl_shape_count(&in[1].shape);
	struct cu_quantise_args args = {.x = in[0].address,
					.z = out->address,
					.scale = in[1].address,
					.zero = layer->n_in > 2 && layer->in[2] ? in[2].address : 0,
					.count = npl_shape_count(x),
					.inner = cu_divisor_of(npl_shape_count(x)),
					.channels = cu_divisor_of(vectors)};
	if (vectors > 1)
		args.inner = cu_divisor_of(cu_product(x->dim + axis + 1, x->rank - axis - 1));
	return quantise(job, &args, dequantises, dequantises ? out->dtype : in[0].dtype,
			dequantises ? in[0].dtype : out->dtype, in[1].dtype);
}
const struct cu_family cu_quantise_family = {takes_quantise, run_quantise, false};

int cu_run_conversion(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out)
{
	const bool dequantises = layer->op == NPL_OP_DEQUANTIZELINEAR;
	const struct npl_tensor *q = dequantises ? layer->in[0] : layer->out;
	const size_t widths[] = {npl_dtype_size(in->dtype), npl_dtype_size(out->dtype)};
	const uint64_t addresses[] = {in->address, out->address};
	const struct cu_quantise_tensor_args args = {.x = in->address,
						     .z = out->address,
						     .counter = cu_counter_of(job),
						     .fault = cu_fault_of(job),
						     .count = npl_shape_count(&in->shape),
						     .scale = q->quant.scale,
						     .zero = q->quant.zero_point};
	const int pack = cu_pack_of(widths[0] > widths[1] ? widths[0] : widths[1], 2, addresses, widths);
	struct cu_macros macros = {""};
	cu_macro(&macros, "X=%s Z=%s N=%d", cu_type_name(in->dtype), cu_type_name(out->dtype), pack);
	if (dequantises)
		cu_macro(&macros, "BACK=1");
	else
		cu_macro(&macros, "LEAST=%d MOST=%d", least_of(q->dtype), most_of(q->dtype));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "quantise_tensor", &macros, &args, npl_div_up_i64(args.count, pack));
}
