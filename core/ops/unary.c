/* SPDX-License-Identifier: MIT
 *
 * The operators of one operand, element by element. Operators whose formula is arithmetic have loops in the element's
 * own type, because they run on whole feature maps. All others are functions of exact.h, in double and rounded once.
 * NaN stays NaN, except in ThresholdedRelu and Shrink, where it fails the comparison and becomes 0. */
#include <math.h>

#include "elements.h"
#include "exact_many.h"
#include "ops.h"

/* Defines NAME_TYPE: y[i] = an expression in x, and in the attributes p as `type`. */
#define LOOP(name, type, result, expression)                                                                           \
	static void name##_##type(int64_t n, const void *from, void *to, const struct npl_attrs *attrs)                \
	{                                                                                                              \
		const struct {                                                                                         \
			type alpha, beta, bias;                                                                        \
			bool negative, positive;                                                                       \
		} p = {(type)attrs->unary.alpha, (type)attrs->unary.beta, (type)attrs->unary.bias,                     \
		       attrs->unary.detect_negative, attrs->unary.detect_positive};                                    \
		const type *xs = from;                                                                                 \
		result *ys = to;                                                                                       \
		(void)p;                                                                                               \
		for (int64_t i = 0; i < n; i++) {                                                                      \
			const type x = xs[i];                                                                          \
			ys[i] = (result)(expression);                                                                  \
		}                                                                                                      \
	}

#define SIGN(type) (x > 0 ? (type)1 : x < 0 ? (type)-1 : x)

#define FLOATS(dtype, type)                                                                                            \
	static inline type unit_##type(type v)                                                                         \
	{                                                                                                              \
		v = op_choose_##type(v < 0, 0, v);                                                                     \
		return op_choose_##type(v > 1, 1, v);                                                                  \
	}                                                                                                              \
	LOOP(leaky_relu, type, type, op_choose_##type(x < 0, x * p.alpha, x))                                          \
	LOOP(hard_sigmoid, type, type, unit_##type(x *p.alpha + p.beta))                                               \
	LOOP(hard_swish, type, type, x *unit_##type(x / (type)6 + (type)0.5))                                          \
	LOOP(softsign, type, type, x / ((type)1 + (x < 0 ? -x : x)))                                                   \
	LOOP(thresholded_relu, type, type, x > p.alpha ? x : (type)0)                                                  \
	LOOP(shrink, type, type,                                                                                       \
	     op_choose_##type(x < -p.alpha, x + p.bias, op_choose_##type(x > p.alpha, x - p.bias, 0)))                 \
	LOOP(square_root, type, type, sqrt((double)x))                                                                 \
	LOOP(reciprocal, type, type, (type)1 / x)                                                                      \
	LOOP(absolute, type, type, fabs((double)x))                                                                    \
	LOOP(negated, type, type, -x)                                                                                  \
	LOOP(sign, type, type, SIGN(type))                                                                             \
	LOOP(is_nan, type, uint8_t, x != x)                                                                            \
	LOOP(is_inf, type, uint8_t, (p.positive && x == (type)INFINITY) || (p.negative && x == (type)-INFINITY))
/* The least number has no opposite: it wraps to itself. */
#define SIGNEDS(dtype, type)                                                                                           \
	LOOP(absolute, type, type, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)                                              \
	LOOP(negated, type, type, 0 - (uint64_t)x)                                                                     \
	LOOP(sign, type, type, (x > 0) - (x < 0))
#define UNSIGNEDS(dtype, type)                                                                                         \
	LOOP(absolute, type, type, x)                                                                                  \
	LOOP(negated, type, type, 0 - (uint64_t)x)                                                                     \
	LOOP(sign, type, type, x > 0)
OP_EACH_FLOAT(FLOATS)
OP_EACH_SIGNED(SIGNEDS)
OP_EACH_UNSIGNED(UNSIGNEDS)
LOOP(inverse, uint8_t, uint8_t, x == 0)
#define WHOLES(dtype, type) LOOP(bits_inverse, type, type, ~(uint64_t)x)
OP_EACH_INTEGER(WHOLES)

/* Computes x times the normal distribution's integral up to x, by erf or by the approximation with tanh. */
static void gelu(int64_t n, const double *x, double *y, const struct npl_attrs *attrs)
{
	const double half_root = 0.70710678118654752440, root = 0.79788456080286535588; /* 1/sqrt(2), sqrt(2/pi) */
	for (int64_t i = 0; i < n; i++)
		y[i] = attrs->unary.tanh ? root * (x[i] + 0.044715 * x[i] * x[i] * x[i]) : half_root * x[i];
	op_exact_many(attrs->unary.tanh ? OP_MANY_TANH : OP_MANY_ERF, y, y, n);
	for (int64_t i = 0; i < n; i++)
		y[i] = 0.5 * x[i] * (1.0 + y[i]);
}

static void mish(int64_t n, const double *x, double *y, const struct npl_attrs *attrs)
{
	(void)attrs;
	op_exact_many(OP_MANY_SOFTPLUS, x, y, n);
	op_exact_many(OP_MANY_TANH, y, y, n);
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] * y[i];
}

/* Computes Elu over arrays; the functions below are also made of e^x - 1. */
static void elu(int64_t n, const double *x, double *y, const struct npl_attrs *attrs)
{
	const double alpha = (double)attrs->unary.alpha;
	op_exact_many(OP_MANY_EXPM1, x, y, n);
	for (int64_t i = 0; i < n; i++)
		y[i] = op_choose_double(x[i] < 0.0, alpha * y[i], x[i]);
}

static void selu(int64_t n, const double *x, double *y, const struct npl_attrs *attrs)
{
	elu(n, x, y, attrs);
	for (int64_t i = 0; i < n; i++)
		y[i] = (double)attrs->unary.beta * y[i];
}

/* Computes max(0, x) + min(0, alpha (e^(x / alpha) - 1)). */
static void celu(int64_t n, const double *x, double *y, const struct npl_attrs *attrs)
{
	const double alpha = (double)attrs->unary.alpha;
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] / alpha;
	op_exact_many(OP_MANY_EXPM1, y, y, n);
	for (int64_t i = 0; i < n; i++) {
		const double below = alpha * y[i];
		const double sum = op_choose_double(x[i] > 0.0, x[i], 0.0) + op_choose_double(below < 0.0, below, 0.0);
		y[i] = op_choose_double(x[i] != x[i], x[i], sum);
	}
}

#define LEAKY_RELU(dtype, type)       [dtype] = leaky_relu_##type,
#define HARD_SIGMOID(dtype, type)     [dtype] = hard_sigmoid_##type,
#define HARD_SWISH(dtype, type)       [dtype] = hard_swish_##type,
#define SOFTSIGN(dtype, type)         [dtype] = softsign_##type,
#define THRESHOLDED_RELU(dtype, type) [dtype] = thresholded_relu_##type,
#define SHRINK(dtype, type)           [dtype] = shrink_##type,
#define SQUARE_ROOT(dtype, type)      [dtype] = square_root_##type,
#define RECIPROCAL(dtype, type)       [dtype] = reciprocal_##type,
#define ABSOLUTE(dtype, type)         [dtype] = absolute_##type,
#define NEGATED(dtype, type)          [dtype] = negated_##type,
#define SIGNS(dtype, type)            [dtype] = sign_##type,
#define IS_NAN(dtype, type)           [dtype] = is_nan_##type,
#define IS_INF(dtype, type)           [dtype] = is_inf_##type,
#define BITS_INVERSE(dtype, type)     [dtype] = bits_inverse_##type,

/* An operator has loops, a function of doubles, or one over arrays that reads attributes. */
static const struct unary {
	void (*loop[NPL_DTYPES])(int64_t n, const void *from, void *to, const struct npl_attrs *attrs);
	double (*function)(double x);
	enum op_many array_function; /* the same over an array; OP_MANY_NONE: there is none */
	void (*formula)(int64_t n, const double *x, double *y, const struct npl_attrs *attrs);
	bool answers; /* the result is bool */
	struct {
		const char *name;
		float fallback;
	} alpha, beta, bias; /* the attributes that go there */
} unary[NPL_OPS] = {
	[NPL_OP_SIGMOID] = {.function = op_logistic, .array_function = OP_MANY_LOGISTIC},
	[NPL_OP_TANH] = {.function = op_tanh, .array_function = OP_MANY_TANH},
	[NPL_OP_LEAKYRELU] = {.loop = {OP_EACH_FLOAT(LEAKY_RELU)}, .alpha = {"alpha", 0.01f}},
	[NPL_OP_ELU] = {.formula = elu, .alpha = {"alpha", 1.0f}},
	[NPL_OP_SELU] = {.formula = selu,
			 .alpha = {"alpha", 1.67326319217681884765625f},
			 .beta = {"gamma", 1.05070102214813232421875f}},
	[NPL_OP_CELU] = {.formula = celu, .alpha = {"alpha", 1.0f}},
	[NPL_OP_HARDSIGMOID] = {.loop = {OP_EACH_FLOAT(HARD_SIGMOID)},
				.alpha = {"alpha", 0.2f},
				.beta = {"beta", 0.5f}},
	[NPL_OP_HARDSWISH] = {.loop = {OP_EACH_FLOAT(HARD_SWISH)}},
	[NPL_OP_SOFTPLUS] = {.function = op_softplus, .array_function = OP_MANY_SOFTPLUS},
	[NPL_OP_SOFTSIGN] = {.loop = {OP_EACH_FLOAT(SOFTSIGN)}},
	[NPL_OP_THRESHOLDEDRELU] = {.loop = {OP_EACH_FLOAT(THRESHOLDED_RELU)}, .alpha = {"alpha", 1.0f}},
	[NPL_OP_SHRINK] = {.loop = {OP_EACH_FLOAT(SHRINK)}, .alpha = {"lambd", 0.5f}, .bias = {"bias", 0.0f}},
	[NPL_OP_ERF] = {.function = op_erf, .array_function = OP_MANY_ERF},
	[NPL_OP_SQRT] = {.loop = {OP_EACH_FLOAT(SQUARE_ROOT)}},
	[NPL_OP_EXP] = {.function = op_exp, .array_function = OP_MANY_EXP},
	[NPL_OP_LOG] = {.function = op_log, .array_function = OP_MANY_LOG},
	[NPL_OP_RECIPROCAL] = {.loop = {OP_EACH_FLOAT(RECIPROCAL)}},
	[NPL_OP_SIN] = {.function = op_sin},
	[NPL_OP_COS] = {.function = op_cos},
	[NPL_OP_TAN] = {.function = op_tan},
	[NPL_OP_ASIN] = {.function = op_asin},
	[NPL_OP_ACOS] = {.function = op_acos},
	[NPL_OP_ATAN] = {.function = op_atan},
	[NPL_OP_SINH] = {.function = op_sinh},
	[NPL_OP_COSH] = {.function = op_cosh},
	[NPL_OP_ASINH] = {.function = op_asinh},
	[NPL_OP_ACOSH] = {.function = op_acosh},
	[NPL_OP_ATANH] = {.function = op_atanh},
	[NPL_OP_FLOOR] = {.function = floor},
	[NPL_OP_CEIL] = {.function = ceil},
	[NPL_OP_ROUND] = {.function = rint}, /* halves to the even neighbour */
	[NPL_OP_ABS] = {.loop = {OP_EACH_NUMBER(ABSOLUTE)}},
	[NPL_OP_NEG] = {.loop = {OP_EACH_NUMBER(NEGATED)}},
	[NPL_OP_SIGN] = {.loop = {OP_EACH_NUMBER(SIGNS)}},
	[NPL_OP_GELU] = {.formula = gelu},
	[NPL_OP_MISH] = {.formula = mish},
	[NPL_OP_BITWISENOT] = {.loop = {OP_EACH_INTEGER(BITS_INVERSE)}},
	[NPL_OP_ISNAN] = {.loop = {OP_EACH_FLOAT(IS_NAN)}, .answers = true},
	[NPL_OP_ISINF] = {.loop = {OP_EACH_FLOAT(IS_INF)}, .answers = true},
	[NPL_OP_NOT] = {.loop = {[NPL_BOOL] = inverse_uint8_t}, .answers = true},
};

OP_ATTRS(op_unary_attrs)
{
	const struct unary *u = &unary[out->op];
	op_attr_accept(list, "consumed_inputs"); /* a hint for running in place, gone with opset 6 */
	if ((u->alpha.name && op_attr_float(list, u->alpha.name, u->alpha.fallback, &out->unary.alpha, err)) ||
	    (u->beta.name && op_attr_float(list, u->beta.name, u->beta.fallback, &out->unary.beta, err)) ||
	    (u->bias.name && op_attr_float(list, u->bias.name, u->bias.fallback, &out->unary.bias, err)))
		return NPL_EINPUT;
	if (out->op == NPL_OP_CELU && out->unary.alpha == 0.0f)
		return npl_fail(err, NPL_EINPUT, "attribute alpha must not be 0: x is divided by it");
	if (out->op == NPL_OP_GELU) {
		static const char *const approximations[] = {"none", "tanh", NULL};
		unsigned approximation;
		if (op_attr_choice(list, "approximate", approximations, 0, &approximation, err))
			return NPL_EINPUT;
		out->unary.tanh = approximation;
	}
	if (out->op != NPL_OP_ISINF)
		return 0;
	if (op_attr_flag(list, "detect_negative", true, &out->unary.detect_negative, err))
		return NPL_EINPUT;
	return op_attr_flag(list, "detect_positive", true, &out->unary.detect_positive, err);
}

OP_SHAPE(op_unary_shape)
{
	const struct unary *u = &unary[attrs->op];
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	enum npl_dtype dtype = in[0]->dtype;
	if (!u->loop[dtype] && !((u->function || u->formula) && (dtype == NPL_F32 || dtype == NPL_F64)))
		return npl_fail(err, NPL_EINPUT, "input 0 is %s, expected %s", npl_dtype_name(dtype),
				u->loop[NPL_BOOL]                       ? "bool"
				: u->loop[NPL_I32] && !u->loop[NPL_F32] ? "integers"
				: u->loop[NPL_I32]                      ? "numbers"
									: "floats");
	out->dtype = u->answers ? NPL_BOOL : dtype;
	out->shape = in[0]->shape;
	return 0;
}

static void compute(const struct unary *u, int64_t n, const double *x, double *y, const struct npl_attrs *attrs)
{
	if (u->array_function)
		op_exact_many(u->array_function, x, y, n);
	else if (u->formula)
		u->formula(n, x, y, attrs);
	for (int64_t i = 0; i < n && !u->array_function && !u->formula; i++)
		y[i] = u->function(x[i]);
}

/* Computes the operator over an array of floats, in pieces that stay in the first cache. */
static void compute_floats(const struct unary *u, int64_t count, const float *x, float *y,
			   const struct npl_attrs *attrs)
{
	enum { PIECE = 512 };
	double from[PIECE], to[PIECE] = {0};
	for (int64_t i = 0; i < count; i += PIECE) {
		int64_t n = count - i < PIECE ? count - i : PIECE;
		for (int64_t k = 0; k < n; k++)
			from[k] = (double)x[i + k];
		compute(u, n, from, to, attrs);
		for (int64_t k = 0; k < n; k++)
			y[i + k] = (float)to[k];
	}
}

OP_RUN(op_unary_run)
{
	const struct unary *u = &unary[attrs->op];
	int64_t count = npl_tensor_count(out);
	if (u->loop[in[0]->dtype])
		u->loop[in[0]->dtype](count, in[0]->data, out->data, attrs);
	else if (out->dtype == NPL_F32)
		compute_floats(u, count, in[0]->data, out->data, attrs);
	else
		compute(u, count, in[0]->data, out->data, attrs);
	return 0;
}
