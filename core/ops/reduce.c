/* SPDX-License-Identifier: MIT
 *
 * ReduceSum and its kind: all elements along the axes become one. Each is a fold over the elements and a last step:
 *
 *     Sum          sum                    L1          sum of sizes          LogSum     logarithm of the sum
 *     Mean         sum over the number    SumSquare   sum of squares        LogSumExp  logarithm of the sum of e^x
 *     Max, Min     greatest, least        L2          root of that          Prod       product
 *
 * Floats are folded in double and rounded once; integers modulo 2^64, then cut to their width, and what has no exact
 * integer result (Mean, L2, the logarithms) is cut off towards zero. NaN is greatest and least; of bool, from opset 20
 * on, Max is "any" and Min "all". Axes are an attribute, and a constant input from opset 18 on, of ReduceSum from 13
 * on; without any, all are meant unless noop_with_empty_axes says none, where each element is folded alone. */
#include <math.h>

#include "cast.h"
#include "core/base/dtype.h"
#include "elements.h"
#include "ops.h"
#include "reduce.h"

enum fold { SUM, SIZES, SQUARES, PRODUCT, GREATEST, LEAST, EXPONENTIALS };
enum last { NOTHING, DIVIDE, ROOT, LOGARITHM };

static const struct rule {
	enum fold fold;
	enum last last;
} rules[NPL_OPS] = {
	[NPL_OP_REDUCESUM] = {SUM, NOTHING},      [NPL_OP_REDUCEMEAN] = {SUM, DIVIDE},
	[NPL_OP_REDUCEMAX] = {GREATEST, NOTHING}, [NPL_OP_REDUCEMIN] = {LEAST, NOTHING},
	[NPL_OP_REDUCEPROD] = {PRODUCT, NOTHING}, [NPL_OP_REDUCEL1] = {SIZES, NOTHING},
	[NPL_OP_REDUCEL2] = {SQUARES, ROOT},      [NPL_OP_REDUCESUMSQUARE] = {SQUARES, NOTHING},
	[NPL_OP_REDUCELOGSUM] = {SUM, LOGARITHM}, [NPL_OP_REDUCELOGSUMEXP] = {EXPONENTIALS, LOGARITHM},
};

static bool axes_as_input(const struct npl_attrs *attrs)
{
	return !op_before(attrs, attrs->op == NPL_OP_REDUCESUM ? 13 : 18);
}

static bool takes(const struct npl_attrs *attrs, enum npl_dtype dtype)
{
	bool compares = attrs->op == NPL_OP_REDUCEMAX || attrs->op == NPL_OP_REDUCEMIN;
	return op_is_number(dtype) || (dtype == NPL_BOOL && compares && !op_before(attrs, 20));
}

OP_ATTRS(op_reduce_attrs)
{
	if (op_attr_flag(list, "keepdims", true, &out->reduce.keep_dims, err))
		return NPL_EINPUT;
	if (axes_as_input(out))
		return op_attr_flag(list, "noop_with_empty_axes", false, &out->reduce.empty_is_none, err);
	return op_attr_ints(list, "axes", NPL_MAX_RANK, out->reduce.axes, &out->reduce.n_axes, err);
}

unsigned op_reduced(const struct npl_attrs *attrs, int rank)
{
	unsigned dims = 0;
	if (attrs->reduce.n_axes <= 0)
		return attrs->reduce.empty_is_none ? 0 : (1u << rank) - 1;
	for (int i = 0; i < attrs->reduce.n_axes; i++)
		dims |= 1u << attrs->reduce.axes[i];
	return dims;
}

OP_SHAPE(op_reduce_shape)
{
	if (op_inputs(in, n_in, 1, NPL_DTYPES, err))
		return NPL_EINPUT;
	if (!takes(attrs, in[0]->dtype))
		return npl_fail(err, NPL_EINPUT, "the input is %s, expected numbers", npl_dtype_name(in[0]->dtype));
	if (n_in > 1 && in[1] && !axes_as_input(attrs))
		return npl_fail(err, NPL_EINPUT, "axes as an input came with opset %d",
				attrs->op == NPL_OP_REDUCESUM ? 13 : 18);
	if (n_in > 1 && in[1] && op_input_dims(in[1], "axes", attrs->reduce.axes, &attrs->reduce.n_axes, err))
		return NPL_EINPUT;
	const struct npl_shape *x = &in[0]->shape;
	if (op_axes(attrs->reduce.axes, attrs->reduce.n_axes, x->rank, err))
		return NPL_EINPUT;
	unsigned reduced_axes = op_reduced(attrs, x->rank);
	out->dtype = in[0]->dtype;
	out->shape = (struct npl_shape){.rank = 0};
	for (int d = 0; d < x->rank; d++)
		if (!(reduced_axes & 1u << d))
			out->shape.dim[out->shape.rank++] = x->dim[d];
		else if (attrs->reduce.keep_dims)
			out->shape.dim[out->shape.rank++] = 1;
	return op_output_fits(&out->shape, 1, err);
}

/* Returns a walk over the dimensions of x that `axes` names alone, with neighbours merged. */
static struct op_walk walk_of(const struct npl_shape *x, unsigned axes)
{
	struct op_walk walk = {.rank = 1, .dim = {1}};
	int64_t stride[NPL_MAX_RANK];
	int last = 0, previous = -2;
	op_strides(x, stride);
	for (int d = 0; d < x->rank; d++) {
		if (!(axes & 1u << d))
			continue;
		if (previous == d - 1)
			walk.dim[last] *= x->dim[d];
		else
			walk.dim[previous < 0 ? last : ++last] = x->dim[d];
		walk.a[last] = stride[d];
		previous = d;
	}
	walk.rank = last + 1;
	return walk;
}

/* Folds one line of n elements into `sum`; shift is subtracted before e^x. */
#define FOLD(next)                                                                                                     \
	for (int64_t i = 0; i < n; i++) {                                                                              \
		const double v = (double)x[i * step];                                                                  \
		sum = (next);                                                                                          \
	}                                                                                                              \
	return sum
#define DEFINE_REAL(type)                                                                                              \
	static double fold_##type(enum fold fold, double sum, const type *x, int64_t n, int64_t step, double shift)    \
	{                                                                                                              \
		switch (fold) {                                                                                        \
		case SUM:                                                                                              \
			FOLD(sum + v);                                                                                 \
		case SIZES:                                                                                            \
			FOLD(sum + fabs(v));                                                                           \
		case SQUARES:                                                                                          \
			FOLD(sum + v * v);                                                                             \
		case PRODUCT:                                                                                          \
			FOLD(sum *v);                                                                                  \
		case GREATEST:                                                                                         \
			FOLD(v > sum || v != v ? v : sum);                                                             \
		case LEAST:                                                                                            \
			FOLD(v < sum || v != v ? v : sum);                                                             \
		default:                                                                                               \
			FOLD(sum + op_exp(v - shift));                                                                 \
		}                                                                                                      \
	}
#define DEFINE_REAL_OF(dtype, type) DEFINE_REAL(type)
OP_EACH_NUMBER(DEFINE_REAL_OF)

/* Folds exactly: sums modulo 2^64, greatest and least unchanged. */
#define DEFINE_WHOLE(dtype, type)                                                                                      \
	static uint64_t whole_##type(enum fold fold, uint64_t sum, const type *x, int64_t n, int64_t step)             \
	{                                                                                                              \
		for (int64_t i = 0; i < n; i++) {                                                                      \
			type v = x[i * step];                                                                          \
			uint64_t u = (uint64_t)v;                                                                      \
			if (fold == SUM)                                                                               \
				sum += u;                                                                              \
			else if (fold == SIZES)                                                                        \
				sum += v > 0 ? u : 0 - u;                                                              \
			else if (fold == SQUARES)                                                                      \
				sum += u * u;                                                                          \
			else if (fold == PRODUCT)                                                                      \
				sum *= u;                                                                              \
			else if (fold == GREATEST ? v > (type)sum : v < (type)sum)                                     \
				sum = u;                                                                               \
		}                                                                                                      \
		return sum;                                                                                            \
	}
OP_EACH_INTEGER(DEFINE_WHOLE)

static double fold_line(enum fold fold, double sum, const struct npl_tensor *x, int64_t at, int64_t n, int64_t step,
			double shift)
{
#define REAL(dtype, type)                                                                                              \
	case dtype:                                                                                                    \
		return fold_##type(fold, sum, (const type *)x->data + at, n, step, shift);
	switch (x->dtype) {
		OP_EACH_NUMBER(REAL)
	default:
		return sum;
	}
}

static uint64_t whole_line(enum fold fold, uint64_t sum, const struct npl_tensor *x, int64_t at, int64_t n,
			   int64_t step)
{
#define WHOLE(dtype, type)                                                                                             \
	case dtype:                                                                                                    \
		return whole_##type(fold, sum, (const type *)x->data + at, n, step);
	switch (x->dtype) {
		OP_EACH_INTEGER(WHOLE)
		WHOLE(NPL_BOOL, uint8_t)
	default:
		return sum;
	}
}

static double first_of(enum fold fold)
{
	return fold == PRODUCT ? 1 : fold == GREATEST ? -INFINITY : fold == LEAST ? INFINITY : 0;
}

/* Folds the part of x that `inner` walks over from `at` on. */
static double fold_reals(enum fold fold, const struct npl_tensor *x, const struct op_walk *inner, int64_t at,
			 double shift)
{
	int64_t index[NPL_MAX_RANK] = {0}, unused = 0;
	int last = inner->rank - 1;
	double sum = first_of(fold);
	do
		sum = fold_line(fold, sum, x, at, inner->dim[last], inner->a[last], shift);
	while (op_walk_next(inner, 1, index, &at, &unused));
	return sum;
}

static uint64_t fold_wholes(enum fold fold, const struct npl_tensor *x, const struct op_walk *inner, int64_t at,
			    uint64_t first)
{
	int64_t index[NPL_MAX_RANK] = {0}, unused = 0;
	int last = inner->rank - 1;
	do
		first = whole_line(fold, first, x, at, inner->dim[last], inner->a[last]);
	while (op_walk_next(inner, 1, index, &at, &unused));
	return first;
}

static double real_result(struct rule rule, const struct npl_tensor *x, const struct op_walk *inner, int64_t n,
			  int64_t at)
{
	double shift = 0;
	if (rule.fold == EXPONENTIALS) { /* the greatest element is subtracted, so that no e^x is too large */
		shift = n ? fold_reals(GREATEST, x, inner, at, 0) : 0;
		if (isinf(shift))
			return shift;
	}
	double sum = n ? fold_reals(rule.fold, x, inner, at, shift) : first_of(rule.fold);
	switch (rule.last) {
	case DIVIDE:
		return sum / (double)n;
	case ROOT:
		return sqrt(sum);
	case LOGARITHM:
		return shift + op_log(sum);
	default:
		return sum;
	}
}

/* Gives the least and the greatest value of an integer type, as the low bits of 64. */
static void limits(enum npl_dtype dtype, uint64_t *least, uint64_t *greatest)
{
	unsigned bits = 8u * (unsigned)npl_dtype_size(dtype);
	bool is_signed = dtype == NPL_I8 || dtype == NPL_I16 || dtype == NPL_I32 || dtype == NPL_I64;
	uint64_t all_bits = UINT64_MAX >> (64 - bits);
	*greatest = dtype == NPL_BOOL ? 1 : is_signed ? all_bits >> 1 : all_bits;
	*least = is_signed ? ~*greatest : 0;
}

static uint64_t whole_result(struct rule rule, const struct npl_tensor *x, const struct op_walk *inner, int64_t n,
			     int64_t at)
{
	uint64_t least, greatest;
	limits(x->dtype, &least, &greatest);
	uint64_t first = rule.fold == GREATEST ? least : rule.fold == LEAST ? greatest : rule.fold == PRODUCT;
	uint64_t sum = n ? fold_wholes(rule.fold, x, inner, at, first) : first;
	if (rule.last == DIVIDE)
		return !n ? 0 : least ? (uint64_t)((int64_t)sum / n) : sum / (uint64_t)n;
	return sum;
}

OP_RUN(op_reduce_run)
{
	const struct npl_shape *x = &in[0]->shape;
	struct rule rule = rules[attrs->op];
	unsigned reduced_axes = op_reduced(attrs, x->rank);
	struct op_walk outer = walk_of(x, ~reduced_axes), inner = walk_of(x, reduced_axes);
	bool exact = (npl_is_integer(out->dtype) || out->dtype == NPL_BOOL) &&
		     (rule.last == NOTHING || rule.last == DIVIDE);
	int64_t n = 1, count = npl_tensor_count(out), index[NPL_MAX_RANK] = {0}, at = 0, unused = 0;
	for (int d = 0; d < x->rank; d++)
		n *= reduced_axes & 1u << d ? x->dim[d] : 1;
	for (int64_t i = 0; i < count; i++) {
		if (exact)
			op_store_whole(out, i, whole_result(rule, in[0], &inner, n, at));
		else
			op_store_real(out, i, real_result(rule, in[0], &inner, n, at));
		op_walk_next(&outer, 0, index, &at, &unused);
	}
	return 0;
}
