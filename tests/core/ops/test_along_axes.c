/* SPDX-License-Identifier: MIT
 *
 * Promises: the Reduce family, ArgMax and ArgMin, TopK, CumSum and Softmax's kind give what their definitions give, one
 * element at a time, for floats and integers, any axes; integers wrap, empty reductions have their neutral element. */
#include <math.h>

#include "tests/kit/elements_support.h"
#include "tests/kit/ops_support.h"

#define SEED 0x5eed6001u

static const enum npl_dtype numbers[] = {NPL_F32, NPL_F64, NPL_I8,  NPL_U8,  NPL_I16,
					 NPL_U16, NPL_I32, NPL_U32, NPL_I64, NPL_U64};

static struct npl_shape random_shape(uint64_t *seed, int64_t minimum)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, 1, 4)};
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] = test_range(seed, minimum, 5);
	return shape;
}

/* One step of the fold, in the widest arithmetic; integers as bits. */
static void fold(enum npl_op op, bool integer, bool is_signed, double x, uint64_t u, double *sum, uint64_t *whole,
		 int64_t n)
{
	switch (op) {
	case NPL_OP_REDUCEMAX:
		*sum = n ? fmax(*sum, x) : x;
		*whole = !n || (is_signed ? (int64_t)u > (int64_t)*whole : u > *whole) ? u : *whole;
		break;
	case NPL_OP_REDUCEMIN:
		*sum = n ? fmin(*sum, x) : x;
		*whole = !n || (is_signed ? (int64_t)u < (int64_t)*whole : u < *whole) ? u : *whole;
		break;
	case NPL_OP_REDUCEPROD:
		*sum = n ? *sum * x : x;
		*whole = n ? *whole * u : u;
		break;
	case NPL_OP_REDUCEL1:
		*sum += fabs(x);
		*whole += integer && is_signed && (int64_t)u < 0 ? 0 - u : u;
		break;
	case NPL_OP_REDUCEL2:
	case NPL_OP_REDUCESUMSQUARE:
		*sum += x * x;
		*whole += u * u;
		break;
	case NPL_OP_REDUCELOGSUMEXP:
		*sum += exp(x);
		break;
	default:
		*sum += x;
		*whole += u;
		break;
	}
}

static double finished(enum npl_op op, double sum, int64_t n)
{
	switch (op) {
	case NPL_OP_REDUCEMEAN:
		return sum / (double)n;
	case NPL_OP_REDUCEL2:
		return sqrt(sum);
	case NPL_OP_REDUCELOGSUM:
	case NPL_OP_REDUCELOGSUMEXP:
		return log(sum);
	default:
		return sum;
	}
}

static bool is_signed(enum npl_dtype dtype)
{
	return dtype == NPL_I8 || dtype == NPL_I16 || dtype == NPL_I32 || dtype == NPL_I64;
}

/* Does element j of x belong to element i of out, whose reduced dimensions are 1? */
static bool belongs(const struct npl_shape *x, int64_t j, const struct npl_shape *kept, int64_t i)
{
	int64_t place[NPL_MAX_RANK];
	test_unravel(x, j, place);
	return test_ravel(kept, x, place) == i;
}

static void check_reduce(enum npl_op op, const struct npl_tensor *x, const struct npl_shape *kept,
			 const struct npl_tensor *out, int round)
{
	bool integer = x->dtype != NPL_F32 && x->dtype != NPL_F64;
	for (int64_t i = 0; i < npl_tensor_count(out); i++) {
		double sum = 0;
		uint64_t whole = 0;
		int64_t n = 0;
		for (int64_t j = 0; j < npl_tensor_count(x); j++)
			if (belongs(&x->shape, j, kept, i))
				fold(op, integer, is_signed(x->dtype), test_real(x, j), (uint64_t)test_whole(x, j),
				     &sum, &whole, n++);
		if (integer && op == NPL_OP_REDUCEMEAN)
			whole = is_signed(x->dtype) ? (uint64_t)((int64_t)whole / n) : whole / (uint64_t)n;
		size_t bits = 8 * npl_dtype_size(x->dtype);
		double expected = finished(op, sum, n), actual = test_real(out, i);
		if (integer)
			cr_assert_eq(test_bits(out, i), whole & UINT64_MAX >> (64 - bits), "%s of %s, round %d",
				     npl_op_defs[op].name, npl_dtype_name(x->dtype), round);
		else
			cr_assert(fabs(actual - expected) <=
						  (x->dtype == NPL_F32 ? 1e-6 : 1e-13) * (1 + fabs(expected)) ||
					  (isnan(actual) && isnan(expected)),
				  "%s, round %d: %g, expected %g", npl_op_defs[op].name, round, actual, expected);
	}
}

Test(ops_along_axes, reductions_follow_their_definitions)
{
	for (int round = 0; round < 600; round++) {
		uint64_t seed = SEED + (uint64_t)round;
		enum npl_op op = (enum npl_op)(NPL_OP_REDUCESUM + round % 10);
		bool float_only = op == NPL_OP_REDUCEL2 || op == NPL_OP_REDUCELOGSUM || op == NPL_OP_REDUCELOGSUMEXP;
		struct npl_tensor x = test_random_tensor(&seed, numbers[test_rng(&seed) % (float_only ? 2 : 10)],
							 random_shape(&seed, 1));
		struct npl_attrs attrs = {.opset = 11, .reduce.keep_dims = test_rng(&seed) & 1};
		struct npl_shape kept = x.shape, expected = {.rank = 0};
		unsigned gone = (unsigned)test_rng(&seed) & ((1u << x.shape.rank) - 1);
		for (int d = x.shape.rank - 1; d >= 0; d--)
			if (gone & 1u << d)
				attrs.reduce.axes[attrs.reduce.n_axes++] = test_rng(&seed) & 1 ? d : d - x.shape.rank;
		for (int d = 0; d < x.shape.rank; d++) {
			bool stays = gone && !(gone & 1u << d);
			kept.dim[d] = stays ? x.shape.dim[d] : 1;
			if (stays || attrs.reduce.keep_dims)
				expected.dim[expected.rank++] = kept.dim[d];
		}
		struct npl_tensor out = test_run(op, &attrs, (const struct npl_tensor *[]){&x}, 1);
		cr_assert(npl_shape_equal(&out.shape, &expected), "round %d", round);
		check_reduce(op, &x, &kept, &out, round);
		test_release(&out);
		npl_tensor_free(&x);
	}
}

/* Axes as an input, none of them, none meant, and a dimension without elements. */
Test(ops_along_axes, reductions_over_no_axis_or_no_element_are_right)
{
	float values[] = {1, 2, 3, 4};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 2), .data = values};
	struct npl_tensor axes = {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = (int64_t[]){-2}};
	const struct npl_tensor *in[] = {&x, &axes};
	for (int variant = 0; variant < 3; variant++) {
		struct npl_attrs attrs = {.opset = 13, .reduce = {.keep_dims = false, .empty_is_none = variant == 2}};
		axes.shape.dim[0] = variant == 0;
		struct npl_tensor out = test_run(NPL_OP_REDUCESUM, &attrs, in, 2);
		const float expected[3][4] = {{4, 6}, {10}, {1, 2, 3, 4}};
		cr_assert_eq(npl_tensor_count(&out), variant == 0 ? 2 : variant == 1 ? 1 : 4);
		cr_assert_arr_eq(out.data, expected[variant], npl_tensor_bytes(&out));
		test_release(&out);
	}
	const float neutral[] = {0, NAN, -INFINITY, INFINITY, 1, 0, 0, 0, -INFINITY, -INFINITY};
	x.shape = npl_shape_of(2, 2, 0);
	for (int k = 0; k < 10; k++) {
		struct npl_attrs attrs = {.opset = 11, .reduce = {.n_axes = 1, .axes = {1}}};
		struct npl_tensor out = test_run((enum npl_op)(NPL_OP_REDUCESUM + k), &attrs, in, 1);
		cr_assert_eq(npl_tensor_count(&out), 2);
		test_equal_floats(out.data, (float[]){neutral[k], neutral[k]}, 2,
				  npl_op_defs[NPL_OP_REDUCESUM + k].name, 0);
		test_release(&out);
	}
	float large[] = {1000, 1000, NAN, -INFINITY};
	x = (struct npl_tensor){.dtype = NPL_F32, .shape = npl_shape_of(1, 2), .data = large};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor out = test_run(NPL_OP_REDUCELOGSUMEXP, &attrs, in, 1);
	cr_assert_float_eq(*(float *)out.data, 1000 + log(2), 1e-3, "e^1000 is not made");
	test_release(&out);
	x.shape.dim[0] = 4;
	out = test_run(NPL_OP_REDUCEMAX, &attrs, in, 1);
	cr_assert(isnan(*(float *)out.data));
	test_release(&out);
}

Test(ops_along_axes, argmax_argmin_and_topk_follow_the_definition)
{
	for (int round = 0; round < 400; round++) {
		uint64_t seed = SEED + 5000 + (uint64_t)round;
		struct npl_tensor x = test_random_tensor(&seed, numbers[round % 10], random_shape(&seed, 1));
		if (test_rng(&seed) & 1) /* few values: ties */
			for (int64_t i = 0; i < npl_tensor_count(&x) && x.dtype != NPL_F32 && x.dtype != NPL_F64; i++)
				test_set_bits(&x, i, test_bits(&x, i) % 3);
		int axis = (int)test_range(&seed, 0, x.shape.rank - 1);
		int64_t n = x.shape.dim[axis], k = test_range(&seed, 0, n);
		bool least = test_rng(&seed) & 1, last = test_rng(&seed) & 1;
		struct npl_tensor count = {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = &k}, out[2] = {{0}};
		struct npl_attrs topk = {.opset = 13, .topk = {.axis = axis, .largest = !least}},
				 search = {.opset = 13, .arg = {.axis = axis, .select_last = last, .keep_dims = true}};
		const struct npl_tensor *in[] = {&x, &count};
		struct npl_err err = {0};
		struct npl_tensor arg = test_run(least ? NPL_OP_ARGMIN : NPL_OP_ARGMAX, &search, in, 1);
		cr_assert_eq(npl_op_shape(NPL_OP_TOPK, &topk, in, 2, out, 2, &err), 0, "%s", err.msg);
		cr_assert(!npl_tensor_alloc(&out[0], &err) && !npl_tensor_alloc(&out[1], &err));
		cr_assert_eq(npl_op_run(NPL_OP_TOPK, &topk, in, 2, out, 2, &err), 0, "%s", err.msg);
		for (int64_t i = 0; i < npl_tensor_count(&x); i++) {
			int64_t place[NPL_MAX_RANK], rank = 0, ties_before = 0, ties = 0;
			test_unravel(&x.shape, i, place);
			int64_t here = place[axis], other[NPL_MAX_RANK];
			memcpy(other, place, sizeof place);
			for (int64_t j = 0; j < n; j++) {
				other[axis] = j;
				double a = test_real(&x, test_ravel(&x.shape, &x.shape, other)), b = test_real(&x, i);
				uint64_t u = test_bits(&x, test_ravel(&x.shape, &x.shape, other)), v = test_bits(&x, i);
				bool equal = u == v;
				bool ahead = x.dtype == NPL_U64 ? (least ? u < v : u > v)
					     : x.dtype == NPL_I64
						     ? (least ? (int64_t)u < (int64_t)v : (int64_t)u > (int64_t)v)
						     : (least ? a < b : a > b);
				rank += ahead && !equal;
				ties += equal;
				ties_before += equal && j < here;
			}
			other[axis] = rank + ties_before;
			if (other[axis] < k) {
				int64_t to = test_ravel(&out[0].shape, &out[0].shape, other);
				cr_assert_eq(((int64_t *)out[1].data)[to], here, "round %d", round);
				cr_assert_eq(test_bits(&out[0], to), test_bits(&x, i), "round %d", round);
			}
			other[axis] = 0;
			bool best = rank == 0 && (last ? ties_before == ties - 1 : ties_before == 0);
			cr_assert_eq(((int64_t *)arg.data)[test_ravel(&arg.shape, &arg.shape, other)] == here, best,
				     "round %d", round);
		}
		test_release(&arg);
		npl_tensor_free(&out[0]);
		npl_tensor_free(&out[1]);
		npl_tensor_free(&x);
	}
}

Test(ops_along_axes, cumsum_follows_its_definition)
{
	for (int round = 0; round < 200; round++) {
		uint64_t seed = SEED + 9000 + (uint64_t)round;
		struct npl_tensor x = test_random_tensor(&seed, numbers[round % 10], random_shape(&seed, 0));
		int64_t axis = test_range(&seed, 0, x.shape.rank - 1), n_given = round & 1 ? axis : axis - x.shape.rank;
		struct npl_tensor a = {.dtype = NPL_I64, .data = &n_given};
		struct npl_attrs attrs = {.opset = 14,
					  .cumsum = {.exclusive = test_rng(&seed) & 1, .reverse = test_rng(&seed) & 1}};
		struct npl_tensor out = test_run(NPL_OP_CUMSUM, &attrs, (const struct npl_tensor *[]){&x, &a}, 2);
		for (int64_t i = 0; i < npl_tensor_count(&x); i++) {
			int64_t place[NPL_MAX_RANK];
			double sum = 0;
			uint64_t whole = 0;
			test_unravel(&x.shape, i, place);
			int64_t here = place[axis];
			for (int64_t j = 0; j < x.shape.dim[axis]; j++) {
				place[axis] = j;
				int64_t at = test_ravel(&x.shape, &x.shape, place);
				bool counts = j == here              ? !attrs.cumsum.exclusive
					      : attrs.cumsum.reverse ? j > here
								     : j < here;
				sum += counts ? test_real(&x, at) : 0;
				whole += counts ? (uint64_t)test_whole(&x, at) : 0;
			}
			if (x.dtype == NPL_F32 || x.dtype == NPL_F64)
				cr_assert_float_eq(test_real(&out, i), sum, 1e-6);
			else
				cr_assert_eq(test_bits(&out, i),
					     whole & UINT64_MAX >> (64 - 8 * npl_dtype_size(x.dtype)), "round %d",
					     round);
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

/* LogSoftmax is the logarithm of Softmax, Hardmax is 1 where ArgMax says; along an axis and, before opset 13, over the
 * rest. */
Test(ops_along_axes, log_softmax_and_hardmax_follow_softmax)
{
	for (int round = 0; round < 100; round++) {
		uint64_t seed = SEED + 12000 + (uint64_t)round;
		struct npl_tensor x = test_random_tensor(&seed, round & 1 ? NPL_F32 : NPL_F64, random_shape(&seed, 1));
		struct npl_attrs attrs = {.opset = round & 2 ? 13 : 12, .along.axis = x.shape.rank - 1},
				 search = {.opset = attrs.opset, .arg.axis = x.shape.rank - 1};
		const struct npl_tensor *in[] = {&x};
		struct npl_tensor soft = test_run(NPL_OP_SOFTMAX, &attrs, in, 1),
				  logs = test_run(NPL_OP_LOGSOFTMAX, &attrs, in, 1),
				  hard = test_run(NPL_OP_HARDMAX, &attrs, in, 1);
		struct npl_tensor best = test_run(NPL_OP_ARGMAX, &search, in, 1);
		int64_t n = x.shape.dim[x.shape.rank - 1];
		for (int64_t i = 0; i < npl_tensor_count(&x); i++) {
			cr_assert_float_eq(test_real(&logs, i), log(test_real(&soft, i)), round & 1 ? 1e-6 : 1e-14);
			cr_assert_eq(test_real(&hard, i), ((int64_t *)best.data)[i / n] == i % n);
		}
		test_release(&soft);
		test_release(&logs);
		test_release(&hard);
		test_release(&best);
		npl_tensor_free(&x);
	}
}
