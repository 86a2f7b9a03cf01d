/* SPDX-License-Identifier: MIT
 *
 * Operators of one, two and more operands, element by element, Where and Cast, on the GPU. */
#include <math.h>
#include <string.h>

#include "job.h"

enum kind {
	FLOATS = 1,
	SIGNEDS = 2,
	UNSIGNEDS = 4,
	BOOLS = 8,
	COMPARES = 16,
	INTEGERS = SIGNEDS | UNSIGNEDS,
	NUMBERS = FLOATS | INTEGERS
};

/* Returns the kind of a type; 0: the kernels take none of its elements. */
static enum kind kind_of(enum npl_dtype dtype)
{
	if (npl_is_float(dtype))
		return npl_is_float32_or_half(dtype) ? FLOATS : 0;
	return !npl_is_integer(dtype) ? BOOLS : npl_is_signed(dtype) ? SIGNEDS : UNSIGNEDS;
}

/* A function in a kernel's source, and the types that it takes. */
struct function {
	const char *name;
	unsigned kinds; /* types; and COMPARES: its results are bool */
};

static const struct function unary[NPL_OPS] = {
	[NPL_OP_RELU] = {"relu", NUMBERS},
	[NPL_OP_SIGMOID] = {"sigmoid", FLOATS},
	[NPL_OP_TANH] = {"hyperbolic_tangent", FLOATS},
	[NPL_OP_CLIP] = {"clip", NUMBERS},
	[NPL_OP_LEAKYRELU] = {"leaky_relu", FLOATS},
	[NPL_OP_ELU] = {"elu", FLOATS},
	[NPL_OP_SELU] = {"selu", FLOATS},
	[NPL_OP_CELU] = {"celu", FLOATS},
	[NPL_OP_HARDSIGMOID] = {"hard_sigmoid", FLOATS},
	[NPL_OP_HARDSWISH] = {"hard_swish", FLOATS},
	[NPL_OP_SOFTPLUS] = {"softplus", FLOATS},
	[NPL_OP_SOFTSIGN] = {"softsign", FLOATS},
	[NPL_OP_THRESHOLDEDRELU] = {"thresholded_relu", FLOATS},
	[NPL_OP_SHRINK] = {"shrink", FLOATS},
	[NPL_OP_ERF] = {"error_function", FLOATS},
	[NPL_OP_SQRT] = {"square_root", FLOATS},
	[NPL_OP_EXP] = {"exponential", FLOATS},
	[NPL_OP_LOG] = {"logarithm", FLOATS},
	[NPL_OP_RECIPROCAL] = {"reciprocal", FLOATS},
	[NPL_OP_SIN] = {"sine", FLOATS},
	[NPL_OP_COS] = {"cosine", FLOATS},
	[NPL_OP_TAN] = {"tangent", FLOATS},
	[NPL_OP_ASIN] = {"arcsine", FLOATS},
	[NPL_OP_ACOS] = {"arccosine", FLOATS},
	[NPL_OP_ATAN] = {"arctangent", FLOATS},
	[NPL_OP_SINH] = {"hyperbolic_sine", FLOATS},
	[NPL_OP_COSH] = {"hyperbolic_cosine", FLOATS},
	[NPL_OP_ASINH] = {"area_sine", FLOATS},
	[NPL_OP_ACOSH] = {"area_cosine", FLOATS},
	[NPL_OP_ATANH] = {"area_tangent", FLOATS},
	[NPL_OP_FLOOR] = {"round_down", FLOATS},
	[NPL_OP_CEIL] = {"round_up", FLOATS},
	[NPL_OP_ROUND] = {"round_even", FLOATS},
	[NPL_OP_ABS] = {"absolute", NUMBERS},
	[NPL_OP_NEG] = {"negated", NUMBERS},
	[NPL_OP_SIGN] = {"sign", NUMBERS},
	[NPL_OP_ISNAN] = {"is_nan", FLOATS},
	[NPL_OP_ISINF] = {"is_infinite", FLOATS},
	[NPL_OP_NOT] = {"inverse", BOOLS},
};

static const struct function binary[NPL_OPS] = {
	[NPL_OP_ADD] = {"add", NUMBERS},
	[NPL_OP_SUM] = {"add", NUMBERS},
	[NPL_OP_MEAN] = {"add", FLOATS},
	[NPL_OP_SUB] = {"subtract", NUMBERS},
	[NPL_OP_MUL] = {"multiply", NUMBERS},
	[NPL_OP_DIV] = {"quotient", NUMBERS},
	[NPL_OP_MIN] = {"least", NUMBERS},
	[NPL_OP_MAX] = {"greatest", NUMBERS},
	[NPL_OP_MOD] = {"remainder", NUMBERS},
	[NPL_OP_BITSHIFT] = {"shift", UNSIGNEDS},
	[NPL_OP_PRELU] = {"rectify", NUMBERS},
	[NPL_OP_POW] = {"power", FLOATS},
	[NPL_OP_EQUAL] = {"equal", NUMBERS | BOOLS | COMPARES},
	[NPL_OP_LESS] = {"less", NUMBERS | COMPARES},
	[NPL_OP_LESSOREQUAL] = {"less_or_equal", NUMBERS | COMPARES},
	[NPL_OP_GREATER] = {"greater", NUMBERS | COMPARES},
	[NPL_OP_GREATEROREQUAL] = {"greater_or_equal", NUMBERS | COMPARES},
	[NPL_OP_AND] = {"both", BOOLS | COMPARES},
	[NPL_OP_OR] = {"either", BOOLS | COMPARES},
	[NPL_OP_XOR] = {"one_of", BOOLS | COMPARES},
};

static bool takes(const struct function *function, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	enum npl_dtype dtype = layer->in[0]->dtype;
	return kind_of(dtype) & function->kinds || npl_refuse(reason, reason_bytes, "the GPU has no %s of %s",
							      npl_op_defs[layer->op].name, npl_dtype_name(dtype));
}

static bool takes_unary(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	return takes(&unary[layer->op], layer, reason, reason_bytes);
}

static bool takes_binary(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	if (layer->op == NPL_OP_POW && layer->in[1]->dtype != layer->in[0]->dtype)
		return npl_refuse(reason, reason_bytes, "the GPU has no Pow of %s to %s",
				  npl_dtype_name(layer->in[0]->dtype), npl_dtype_name(layer->in[1]->dtype));
	if (layer->op == NPL_OP_MOD && !layer->attrs->binary.fmod && kind_of(layer->in[0]->dtype) == FLOATS)
		return npl_refuse(reason, reason_bytes, "Mod of floats has only the sign of the dividend");
	return takes(&binary[layer->op], layer, reason, reason_bytes);
}

static void add_kind(struct cu_macros *macros, enum npl_dtype dtype)
{
	if (kind_of(dtype) == FLOATS)
		cu_macro(macros, "FLOATS=1");
	if (kind_of(dtype) == SIGNEDS)
		cu_macro(macros, "SIGNED=1");
}

static void add_types(struct cu_macros *macros, enum npl_dtype x, const char *result, enum npl_dtype y)
{
	cu_macro(macros, "X=%s", cu_type_name(x));
	cu_macro(macros, "%s=%s", result, cu_type_name(y));
}

/* Returns how many elements a thread takes at a time, and adds the macro N for it. */
static int add_pack(struct cu_macros *macros, const uint64_t address[3], const size_t element[3])
{
	size_t widest = element[0] > element[1] ? element[0] : element[1];
	int pack = cu_pack_of(widest > element[2] ? widest : element[2], 3, address, element);
	cu_macro(macros, "N=%d", pack);
	return pack;
}

static int launch_unary(const struct cu_job *job, const char *source, const char *function, enum npl_activation fused,
			struct cu_unary_args *args, enum npl_dtype x, enum npl_dtype y)
{
	struct cu_macros macros = {""};
	const uint64_t address[] = {args->x, args->y, args->y};
	const size_t element[] = {npl_dtype_size(x), npl_dtype_size(y), npl_dtype_size(y)};
	add_types(&macros, x, "Y", y);
	int pack = add_pack(&macros, address, element);
	cu_macro(&macros, "%s", function);
	add_kind(&macros, x);
	if (fused != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(fused));
	cu_macro_wide(job, &macros, args->count);
	return cu_launch_each(job, source, &macros, args, args->count / pack + 1);
}

static int run_unary(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		     struct cu_value *out)
{
	const struct npl_attrs *p = layer->attrs;
	struct cu_unary_args args = {.x = in[0].address, .y = out->address, .count = npl_shape_count(&out->shape)};
	char function[48] = "FUNCTION=";
	strncat(function, unary[layer->op].name, sizeof function - strlen(function) - 1);
	if (p && npl_op_defs[layer->op].family == NPL_FAMILY_UNARY) {
		args.alpha = layer->op == NPL_OP_ISINF ? (float)p->unary.detect_positive : p->unary.alpha;
		args.beta = layer->op == NPL_OP_ISINF ? (float)p->unary.detect_negative : p->unary.beta;
		args.bias = p->unary.bias;
	}
	if (layer->op == NPL_OP_CLIP && p) {
		args.low = p->clip.min;
		args.high = p->clip.max;
		if (cu_reads(layer, 1))
			args.low_at = in[1].address;
		if (cu_reads(layer, 2))
			args.high_at = in[2].address;
	}
	return launch_unary(job, "unary", function, layer->activation, &args, in[0].dtype, out->dtype);
}
const struct cu_family cu_unary_family = {takes_unary, run_unary, true};

/* Returns the macro with which the kernel `unary` is the activation; NULL: there is none. */
static const char *function_of(enum npl_activation fused)
{
	switch (fused) {
	case NPL_ACT_RELU:
		return "FUNCTION=relu";
	case NPL_ACT_RELU6:
		return "FUNCTION=clip";
	case NPL_ACT_SIGMOID:
		return "FUNCTION=sigmoid";
	case NPL_ACT_TANH:
		return "FUNCTION=hyperbolic_tangent";
	case NPL_ACT_NONE:
		break;
	}
	return NULL;
}

int cu_activate(const struct cu_job *job, enum npl_activation fused, const struct cu_value *y)
{
	const char *function = function_of(fused);
	struct cu_unary_args args = {
		.x = y->address, .y = y->address, .count = npl_shape_count(&y->shape), .low = 0, .high = 6};
	if (!function)
		return npl_fail(job->err, NPL_EINTERNAL, "there is no GPU kernel for the activation %s",
				npl_activation_name(fused));
	return launch_unary(job, "unary", function, NPL_ACT_NONE, &args, y->dtype, y->dtype);
}

static bool takes_cast(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	(void)layer;
	(void)reason;
	(void)reason_bytes;
	return true;
}

static int cast(const struct cu_job *job, const struct cu_value *x, const struct cu_value *y)
{
	struct cu_unary_args args = {.x = x->address, .y = y->address, .count = npl_shape_count(&x->shape)};
	bool from_real = npl_is_float(x->dtype), to_real = npl_is_float(y->dtype);
	const char *conversion = y->dtype == NPL_BOOL ? "TO_BOOL=1" : from_real && !to_real ? "CUT_OFF=1" : "PLAIN=1";
	return launch_unary(job, "cast", conversion, NPL_ACT_NONE, &args, x->dtype, y->dtype);
}

static int run_cast(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		    struct cu_value *out)
{
	(void)layer;
	return cast(job, &in[0], out);
}
const struct cu_family cu_cast_family = {takes_cast, run_cast, false};

int cu_kernel_cast(struct cu_kernels *kernels, const struct cu_value *x, const struct cu_value *y, void *stream,
		   struct npl_err *err)
{
	const struct cu_job job = {kernels, stream, err};
	if (!npl_shape_count(&x->shape))
		return 0;
	return x->channels_last == y->channels_last ? cast(&job, x, y) : cu_turn(&job, x, y);
}

/* Returns the second operand's shape as it broadcasts before opset 7: its dimensions are aligned with the first
 * operand's from an axis on. PRelu's slopes, one per channel, are at dimension 1. */
static struct npl_shape placed_operand(const struct npl_layer *layer, const struct npl_shape *a,
				       const struct npl_shape *b)
{
	const struct npl_attrs *attrs = layer->attrs;
	struct npl_shape placed = {.rank = a->rank};
	int64_t axis = -1;
	if (layer->op == NPL_OP_PRELU)
		axis = attrs && attrs->opset > 0 && attrs->opset < 7 && b->rank == 1 && a->rank >= 2 ? 1 : -1;
	else if (attrs && npl_op_defs[layer->op].family == NPL_FAMILY_BINARY && attrs->binary.legacy_broadcast &&
		 b->rank < a->rank)
		axis = attrs->binary.axis;
	if (axis < 0)
		return *b;
	for (int i = 0; i < a->rank; i++)
		placed.dim[i] = i >= axis && i < axis + b->rank ? b->dim[i - axis] : 1;
	return placed;
}

struct pair {
	struct cu_value x, y, z;
	const struct npl_shape *y_placed;
	struct cu_macros macros; /* FUNCTION and the macros that it needs */
	float factor;
};

static int run_pair(const struct cu_job *job, const struct pair *pair, enum npl_activation fused)
{
	const struct npl_shape *shape = &pair->z.shape;
	struct cu_macros macros = pair->macros;
	struct cu_axes axes = cu_axes_of(shape);
	struct cu_binary_args args = {.x = pair->x.address,
				      .y = pair->y.address,
				      .z = pair->z.address,
				      .count = npl_shape_count(shape),
				      .factor = pair->factor};
	if (pair->y.dtype != pair->x.dtype)
		return npl_fail(job->err, NPL_EINTERNAL, "the operands of a GPU kernel are stored as %s and %s",
				npl_dtype_name(pair->x.dtype), npl_dtype_name(pair->y.dtype));
	cu_axes_broadcast(&axes, 0, &pair->x.shape, pair->x.channels_last);
	cu_axes_broadcast(&axes, 1, pair->y_placed, pair->y.channels_last);
	cu_axes_order(&axes, pair->z.channels_last);
	args.walk = cu_walk_of(&axes);
	add_types(&macros, pair->x.dtype, "Z", pair->z.dtype);
	add_kind(&macros, pair->x.dtype);
	if (fused != NPL_ACT_NONE)
		cu_macro(&macros, "FUSED=%s", cu_fused_name(fused));
	cu_macro_wide(job, &macros, args.count);
	args.x_scalar = !args.walk.step[0][0];
	args.y_scalar = !args.walk.step[1][0];
	if (args.walk.rank > 1 || args.walk.step[0][0] > 1 || args.walk.step[1][0] > 1)
		return cu_launch_each(job, "binary_walk", &macros, &args, args.count);
	const uint64_t address[] = {args.x_scalar ? 0 : args.x, args.y_scalar ? 0 : args.y, args.z};
	const size_t x = npl_dtype_size(pair->x.dtype), element[] = {x, x, npl_dtype_size(pair->z.dtype)};
	int pack = add_pack(&macros, address, element);
	return cu_launch_each(job, "binary", &macros, &args, args.count / pack + 1);
}

static struct cu_macros function_macros(const struct npl_layer *layer)
{
	const struct function *function = &binary[layer->op];
	struct cu_macros macros = {""};
	const char *end = "";
	if (layer->op == NPL_OP_MOD)
		end = layer->attrs->binary.fmod ? "_fmod" : "_mod";
	if (layer->op == NPL_OP_BITSHIFT)
		end = layer->attrs->binary.to_left ? "_left" : "_right";
	cu_macro(&macros, "FUNCTION=%s%s", function->name, end);
	if (function->kinds & COMPARES)
		cu_macro(&macros, "COMPARES=1");
	return macros;
}

static int run_binary(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		      struct cu_value *out)
{
	struct npl_shape placed = placed_operand(layer, &in[0].shape, &in[1].shape);
	const struct pair pair = {in[0], in[1], *out, &placed, function_macros(layer), 1};
	return run_pair(job, &pair, layer->activation);
}
const struct cu_family cu_binary_family = {takes_binary, run_binary, true};

/* Combines the first two inputs, then each further one with the result so far, in the result's memory. Mean divides
 * with the last. */
static int run_variadic(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
			struct cu_value *out)
{
	int rc = 0;
	if (layer->n_in == 1) {
		rc = cu_run_copy(job, layer, in, out);
		return rc || layer->activation == NPL_ACT_NONE ? rc : cu_activate(job, layer->activation, out);
	}
	for (int k = 1; k < layer->n_in && !rc; k++) {
		bool last = k == layer->n_in - 1;
		struct cu_value so_far = *out;
		if (k == 1)
			so_far = in[0];
		struct pair pair = {so_far, in[k], *out, &in[k].shape, function_macros(layer), 1};
		if (last && layer->op == NPL_OP_MEAN) {
			pair.factor = (float)layer->n_in;
			cu_macro(&pair.macros, "FACTOR=1");
		}
		rc = run_pair(job, &pair, last ? layer->activation : NPL_ACT_NONE);
	}
	return rc;
}

const struct cu_family cu_variadic_family = {takes_binary, run_variadic, true};

static bool supports_where(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	(void)layer;
	(void)reason;
	(void)reason_bytes;
	return true;
}

static int run_where(const struct cu_job *job, const struct npl_layer *layer, const struct cu_value *in,
		     struct cu_value *out)
{
	struct cu_macros macros = {""};
	struct cu_axes axes = cu_axes_of(&out->shape);
	struct cu_where_args args = {.condition = in[0].address,
				     .x = in[1].address,
				     .y = in[2].address,
				     .z = out->address,
				     .count = npl_shape_count(&out->shape)};
	(void)layer;
	for (int k = 0; k < 3; k++)
		cu_axes_broadcast(&axes, k, &in[k].shape, in[k].channels_last);
	cu_axes_order(&axes, out->channels_last);
	args.walk = cu_walk_of(&axes);
	cu_macro(&macros, "X=%s", cu_unit_name(npl_dtype_size(out->dtype)));
	cu_macro_wide(job, &macros, args.count);
	return cu_launch_each(job, "where", &macros, &args, args.count);
}
const struct cu_family cu_where_family = {supports_where, run_where, false};
