/* SPDX-License-Identifier: MIT
 *
 * Promises: the operators that are no products or pools give the values of their definitions: element by element with
 * broadcasting, exactly on integers; normalisations and Softmax within a float's rounding of a computation in long
 * double; layout operators move the right elements; exp, log and pow agree with libm to a few units of double. */
#include "tests/kit/ops_support.h"

#include <math.h>

#include "core/ops/exact.h"
#include "core/ops/ops.h"

#define SEED 0x5eed1001u

static void near(float actual, long double expected, const char *subject, int64_t i)
{
	long double off = fabsl((long double)actual - expected);
	cr_assert(off <= 2e-7L * fabsl(expected) + 1e-37L, "%s: element %lld is %.9g, expected %.9Lg", subject,
		  (long long)i, (double)actual, expected);
}

/* A shape that broadcasts to `full`: leading dimensions dropped, some others 1. */
static struct npl_shape part_of(uint64_t *seed, const struct npl_shape *full)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, 0, full->rank)};
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = test_range(seed, 0, 2) ? full->dim[full->rank - shape.rank + i] : 1;
	return shape;
}

static struct npl_shape random_shape(uint64_t *seed, int min_rank, int max_rank)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, min_rank, max_rank)};
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = test_range(seed, 1, 5);
	return shape;
}

static uint64_t bits_at(const struct npl_tensor *t, int64_t i)
{
	uint64_t bits = 0;
	size_t size = npl_dtype_size(t->dtype);
	memcpy(&bits, (const char *)t->data + (size_t)i * size, size);
	return bits;
}

/* x OP y modulo 2^width; for floats the float operation. Add when sum. */
static uint64_t combined(enum npl_dtype dtype, uint64_t x, uint64_t y, bool sum)
{
	if (dtype == NPL_F32 || dtype == NPL_F64) {
		float fx, fy, fr;
		double dx, dy, dr;
		memcpy(&fx, &x, 4);
		memcpy(&fy, &y, 4);
		memcpy(&dx, &x, 8);
		memcpy(&dy, &y, 8);
		fr = sum ? fx + fy : fx * fy;
		dr = sum ? dx + dy : dx * dy;
		uint64_t bits = 0;
		memcpy(&bits, dtype == NPL_F32 ? (void *)&fr : (void *)&dr, npl_dtype_size(dtype));
		return bits;
	}
	uint64_t result = sum ? x + y : x * y;
	size_t size = npl_dtype_size(dtype);
	return size == 8 ? result : result & (((uint64_t)1 << 8 * size) - 1);
}

Test(ops_values, add_mul_and_sum_broadcast)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I8, NPL_U8, NPL_I16, NPL_I32, NPL_I64};
	uint64_t seed = SEED;
	for (int i = 0; i < 700; i++) {
		enum npl_dtype dtype = types[i % 7];
		enum npl_op op = i % 3 == 0 ? NPL_OP_ADD : i % 3 == 1 ? NPL_OP_MUL : NPL_OP_SUM;
		struct npl_shape full = random_shape(&seed, 0, 5), part = part_of(&seed, &full),
				 third = part_of(&seed, &full);
		bool swap = test_range(&seed, 0, 1);
		struct npl_tensor t[3] = {test_random_tensor(&seed, dtype, swap ? part : full),
					  test_random_tensor(&seed, dtype, swap ? full : part),
					  test_random_tensor(&seed, dtype, third)};
		const struct npl_tensor *in[] = {&t[0], &t[1], &t[2]};
		int n_in = op == NPL_OP_SUM ? (int)test_range(&seed, 2, 3) : 2;
		struct npl_attrs attrs = {.opset = 13};
		struct npl_tensor out = test_run(op, &attrs, in, n_in);
		cr_assert(npl_shape_equal(&out.shape, &full) && out.dtype == dtype);
		for (int64_t e = 0; e < npl_tensor_count(&out); e++) {
			int64_t index[NPL_MAX_RANK];
			test_unravel(&full, e, index);
			uint64_t expected = bits_at(&t[0], test_ravel(&t[0].shape, &full, index));
			for (int k = 1; k < n_in; k++)
				expected = combined(dtype, expected,
						    bits_at(&t[k], test_ravel(&t[k].shape, &full, index)),
						    op != NPL_OP_MUL);
			cr_assert_eq(bits_at(&out, e), expected, "%s of %s, case %d, element %lld, seed %u",
				     npl_op_defs[op].name, npl_dtype_name(dtype), i, (long long)e, SEED);
		}
		test_release(&out);
		for (int k = 0; k < 3; k++)
			npl_tensor_free(&t[k]);
	}
}

Test(ops_values, add_before_opset_7_places_b_at_its_axis)
{
	uint64_t seed = SEED + 1;
	for (int64_t axis = -1; axis <= 2; axis++) {
		struct npl_tensor a = test_random_tensor(&seed, NPL_F32, npl_shape_of(4, 2, 3, 3, 3));
		struct npl_tensor b = test_random_tensor(&seed, NPL_F32,
							 axis == 0 ? npl_shape_of(2, 2, 3) : npl_shape_of(2, 3, 3));
		struct npl_attrs attrs = {.opset = 6, .binary = {.legacy_broadcast = true, .axis = axis}};
		struct npl_tensor out = test_run(NPL_OP_ADD, &attrs, (const struct npl_tensor *[]){&a, &b}, 2);
		for (int64_t e = 0; e < 54; e++) {
			int64_t index[NPL_MAX_RANK], from = axis < 0 ? 2 : axis;
			test_unravel(&a.shape, e, index);
			float expected = ((float *)a.data)[e] + ((float *)b.data)[index[from] * 3 + index[from + 1]];
			test_equal_floats((float *)out.data + e, &expected, 1, "legacy Add", SEED + 1);
		}
		test_release(&out);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
	}
}

Test(ops_values, relu_follows_its_definition)
{
	struct npl_tensor x = {
		.dtype = NPL_F32, .shape = npl_shape_of(1, 5), .data = (float[]){-1, 2, -INFINITY, (float)NAN, 0}};
	struct npl_attrs attrs = {.opset = 14};
	const struct npl_tensor *in[] = {&x};
	struct npl_tensor out = test_run(NPL_OP_RELU, &attrs, in, 1);
	test_equal_floats(out.data, (const float[]){0, 2, 0, (float)NAN, 0}, 5, "Relu", 0);
	test_release(&out);
	x = (struct npl_tensor){.dtype = NPL_I8,
				.shape = npl_shape_of(1, 4),
				.data = (int8_t[]){-128, -4, -3, 127},
				.quant = {.scale = 0.5f, .zero_point = -3}};
	out = test_run(NPL_OP_RELU, &attrs, in, 1);
	cr_assert_arr_eq(out.data, ((const int8_t[]){-3, -3, -3, 127}), 4, "the zero point is zero");
	test_release(&out);
}

static void check_softmax(const struct npl_tensor *x, int opset, int64_t axis, bool matrix)
{
	struct npl_attrs attrs = {.opset = opset, .along.axis = axis};
	struct npl_tensor out = test_run(NPL_OP_SOFTMAX, &attrs, (const struct npl_tensor *[]){x}, 1);
	int64_t n = 1, inner = 1;
	for (int d = (int)axis; d < x->shape.rank; d++)
		*(matrix || d == axis ? &n : &inner) *= x->shape.dim[d];
	const float *from = x->data, *actual = out.data;
	for (int64_t e = 0; e < npl_tensor_count(x); e++) {
		int64_t first = e / (n * inner) * n * inner + e % inner;
		long double maximum = -INFINITY, sum = 0, total = 0;
		for (int64_t i = 0; i < n; i++)
			maximum = fmaxl(maximum, (long double)from[first + i * inner]);
		for (int64_t i = 0; i < n; i++) {
			sum += expl((long double)from[first + i * inner] - maximum);
			total += (long double)actual[first + i * inner];
		}
		near(actual[e], expl((long double)from[e] - maximum) / sum, "Softmax", e);
		cr_assert(fabsl(total - 1.0L) < 1e-6L, "a sum of %Lg", total);
	}
	test_release(&out);
}

/* Exponentials of a vector are summed one after the other, however many vectors are taken together; a NaN or two
 * infinities of a vector are NaN in it alone. */
Test(ops_values, softmax_sums_in_order)
{
	uint64_t rng = 0x5eed0741;
	for (int round = 0; round < 300; round++) {
		const int64_t outer = test_range(&rng, 1, 19), n = test_range(&rng, 1, 150),
			      inner = test_range(&rng, 1, 3) > 1 ? 1 : test_range(&rng, 2, 19);
		struct npl_tensor x = test_random_tensor(&rng, round & 1 ? NPL_F32 : NPL_F64,
							 npl_shape_of(3, outer, n, inner));
		struct npl_attrs attrs = {.opset = 13, .along.axis = 1};
		if (round % 3 == 0)
			for (int64_t k = 0; k < 3; k++) {
				const int64_t at = test_range(&rng, 0, npl_tensor_count(&x) - 1);
				const double odd = k == 0 ? (double)NAN : k == 1 ? INFINITY : -INFINITY;
				if (x.dtype == NPL_F32)
					((float *)x.data)[at] = (float)odd;
				else
					((double *)x.data)[at] = odd;
			}
		struct npl_tensor y = test_run(NPL_OP_SOFTMAX, &attrs, (const struct npl_tensor *[]){&x}, 1);
		for (int64_t v = 0; v < outer * inner; v++) {
			const int64_t first = v / inner * n * inner + v % inner;
			double maximum = -INFINITY, sum = 0;
			for (int64_t k = 0; k < n; k++) {
				const double value = npl_tensor_real(&x, first + k * inner);
				maximum = value > maximum || isnan(value) ? value : maximum;
			}
			for (int64_t k = 0; k < n; k++)
				sum += op_exp(npl_tensor_real(&x, first + k * inner) - maximum);
			for (int64_t k = 0; k < n; k++) {
				const double e = op_exp(npl_tensor_real(&x, first + k * inner) - maximum),
					     actual = npl_tensor_real(&y, first + k * inner),
					     expected = x.dtype == NPL_F32 ? (double)(float)((double)(float)e / sum)
									   : e / sum;
				cr_assert(actual == expected || (isnan(actual) && isnan(expected)),
					  "round %d: %a, expected %a", round, actual, expected);
			}
		}
		test_release(&y);
		npl_tensor_free(&x);
	}
}

Test(ops_values, softmax_does_not_overflow)
{
	uint64_t seed = SEED + 2;
	for (int64_t axis = 0; axis < 4; axis++) {
		struct npl_tensor x = test_random_tensor(&seed, NPL_F32, npl_shape_of(4, 2, 3, 4, 5));
		for (int64_t i = 0; i < 120; i++)
			((float *)x.data)[i] *=
				i % 2 ? 20.0f : 3000.0f; /* exp(3000) overflows unless the maximum is taken off */
		check_softmax(&x, 12, axis, true);
		check_softmax(&x, 13, axis, false);
		check_softmax(&x, 0, axis, false);
		npl_tensor_free(&x);
	}
}

Test(ops_values, elementary_functions_are_near_libm)
{
	uint64_t seed = SEED + 3;
	for (int i = 0; i < 200000; i++) {
		double unit = (double)(test_rng(&seed) >> 11) / 9007199254740992.0;
		double x = unit * 1400 - 700, v = exp(unit * 1400 - 700), small = (unit - 0.5) * 1e-3;
		cr_assert(fabs(op_exp(x) - exp(x)) <= 4.5e-16 * exp(x), "exp(%a) = %a", x, op_exp(x));
		cr_assert(fabs(op_exp(small) - exp(small)) <= 2.3e-16 * exp(small), "exp(%a)", small);
		cr_assert(fabs(op_log(v) - log(v)) <= 4.5e-16 * fabs(log(v)), "log(%a) = %a", v, op_log(v));
		cr_assert(fabs(op_log(1 + small) - log(1 + small)) <= 4.5e-16 * fabs(log(1 + small)), "log(1 + %a)",
			  small);
		cr_assert(fabs(op_pow(1 + 100 * unit, 0.75) - pow(1 + 100 * unit, 0.75)) <= 2e-15 * 32, "pow");
	}
	cr_assert(op_exp(INFINITY) == INFINITY && op_exp(-INFINITY) == 0 && isnan(op_exp(NAN)) && op_exp(0) == 1);
	cr_assert(op_exp(1e308) == INFINITY && op_exp(-1e308) == 0 && op_exp(-740) > 0);
	cr_assert(op_log(0) == -INFINITY && isnan(op_log(-1)) && isnan(op_log(NAN)) && op_log(INFINITY) == INFINITY);
	cr_assert(op_log(1) == 0 && fabs(op_log(5e-324) - log(5e-324)) < 1e-12);
	cr_assert(op_pow(0, 0.75) == 0 && op_pow(0, -1) == INFINITY && op_pow(7, 0) == 1 && isnan(op_pow(-1, 0.75)));
}

Test(ops_values, lrn_follows_its_definition)
{
	uint64_t seed = SEED + 4;
	for (int i = 0; i < 60; i++) {
		struct npl_shape shape = npl_shape_of(4, test_range(&seed, 1, 2), test_range(&seed, 1, 9),
						      test_range(&seed, 1, 20), test_range(&seed, 1, 20));
		shape.rank = (int)test_range(&seed, 2, 4);
		struct npl_attrs attrs = {.lrn = {.size = test_range(&seed, 1, 6),
						  .alpha = 0.3f,
						  .beta = i % 2 ? 0.75f : 1.25f,
						  .bias = 2.0f}};
		struct npl_tensor x = test_random_tensor(&seed, NPL_F32, shape);
		struct npl_tensor out = test_run(NPL_OP_LRN, &attrs, (const struct npl_tensor *[]){&x}, 1);
		int64_t plane = 1, channels = shape.dim[1];
		for (int d = 2; d < shape.rank; d++)
			plane *= shape.dim[d];
		const float *from = x.data, *actual = out.data;
		for (int64_t e = 0; e < npl_tensor_count(&x); e++) {
			int64_t c = e / plane % channels, image = e - c * plane;
			long double sum = 0;
			for (int64_t k = c - (attrs.lrn.size - 1) / 2;
			     k < c - (attrs.lrn.size - 1) / 2 + attrs.lrn.size; k++)
				if (k >= 0 && k < channels)
					sum += (long double)from[image + k * plane] *
					       (long double)from[image + k * plane];
			long double base = 2.0L + (long double)0.3f / (long double)attrs.lrn.size * sum;
			near(actual[e], (long double)from[e] / powl(base, (long double)attrs.lrn.beta), "LRN", e);
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

Test(ops_values, batch_normalisation_follows_its_definition)
{
	uint64_t seed = SEED + 5;
	for (int rank = 1; rank <= 5; rank++) {
		struct npl_shape shape = {.rank = rank, .dim = {2, 3, 4, 5, 2}};
		int64_t channels = rank == 1 ? 1 : 3, plane = rank == 1   ? 2
							      : rank < 3  ? 1
							      : rank == 3 ? 4
							      : rank == 4 ? 20
									  : 40;
		struct npl_tensor t[5] = {test_random_tensor(&seed, NPL_F32, shape)};
		for (int k = 1; k < 5; k++)
			t[k] = test_random_tensor(&seed, NPL_F32, npl_shape_of(1, channels));
		for (int64_t c = 0; c < channels; c++)
			((float *)t[4].data)[c] = fabsf(((float *)t[4].data)[c]);
		struct npl_attrs attrs = {.norm.epsilon = 1e-3f};
		struct npl_tensor out = test_run(NPL_OP_BATCHNORMALIZATION, &attrs,
						 (const struct npl_tensor *[]){&t[0], &t[1], &t[2], &t[3], &t[4]}, 5);
		for (int64_t e = 0; e < npl_tensor_count(&out); e++) {
			int64_t c = rank == 1 ? 0 : e / plane % channels;
			double scale = (double)((float *)t[1].data)[c], bias = (double)((float *)t[2].data)[c];
			double mean = (double)((float *)t[3].data)[c], variance = (double)((float *)t[4].data)[c];
			double expected = ((double)((float *)t[0].data)[e] - mean) / sqrt(variance + (double)1e-3f) *
						  scale +
					  bias;
			cr_assert(fabs((double)((float *)out.data)[e] - expected) <
					  1e-6 * (fabs(expected) + fabs(bias) + 1),
				  "rank %d", rank);
		}
		test_release(&out);
		for (int k = 0; k < 5; k++)
			npl_tensor_free(&t[k]);
	}
}

Test(ops_values, transpose_and_concat_move_elements)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_U8, NPL_I16, NPL_I64, NPL_BOOL};
	uint64_t seed = SEED + 6;
	for (int i = 0; i < 200; i++) {
		struct npl_shape shape = random_shape(&seed, 0, 5);
		struct npl_tensor x = test_random_tensor(&seed, types[i % 5], shape);
		struct npl_attrs attrs = {.transpose.rank = shape.rank};
		for (int d = 0; d < shape.rank; d++) { /* a shuffle, from the inside out */
			int other = (int)test_range(&seed, 0, d);
			attrs.transpose.perm[d] = attrs.transpose.perm[other];
			attrs.transpose.perm[other] = d;
		}
		struct npl_tensor out = test_run(NPL_OP_TRANSPOSE, &attrs, (const struct npl_tensor *[]){&x}, 1);
		for (int64_t e = 0; e < npl_tensor_count(&out); e++) {
			int64_t index[NPL_MAX_RANK], from[NPL_MAX_RANK];
			test_unravel(&out.shape, e, index);
			for (int d = 0; d < shape.rank; d++)
				from[attrs.transpose.perm[d]] = index[d];
			cr_assert_eq(bits_at(&out, e), bits_at(&x, test_ravel(&shape, &shape, from)), "case %d", i);
		}
		test_release(&out);
		if (shape.rank > 0) {
			struct npl_attrs join = {.along.axis = test_range(&seed, 0, shape.rank - 1)};
			struct npl_shape wider = shape;
			wider.dim[join.along.axis] = test_range(&seed, 0, 3);
			struct npl_tensor more = test_random_tensor(&seed, x.dtype, wider);
			out = test_run(NPL_OP_CONCAT, &join, (const struct npl_tensor *[]){&more, &x, &more}, 3);
			for (int64_t e = 0; e < npl_tensor_count(&out); e++) {
				int64_t index[NPL_MAX_RANK], *at = &index[join.along.axis];
				test_unravel(&out.shape, e, index);
				int64_t w = wider.dim[join.along.axis], s = shape.dim[join.along.axis];
				const struct npl_tensor *source = *at >= w && *at < w + s ? &x : &more;
				*at -= *at < w ? 0 : *at < w + s ? w : w + s;
				cr_assert_eq(bits_at(&out, e),
					     bits_at(source, test_ravel(&source->shape, &source->shape, index)),
					     "case %d", i);
			}
			test_release(&out);
			npl_tensor_free(&more);
		}
		npl_tensor_free(&x);
	}
}

Test(ops_values, views_copy_bytes)
{
	uint64_t seed = SEED + 7;
	struct npl_tensor x = test_random_tensor(&seed, NPL_I16, npl_shape_of(3, 2, 3, 4)), out[2];
	struct npl_tensor shape = {.dtype = NPL_I64, .shape = npl_shape_of(1, 2), .data = (int64_t[]){6, 4}};
	struct npl_tensor axes = {.dtype = NPL_I64, .shape = npl_shape_of(1, 1), .data = (int64_t[]){1}};
	const struct npl_tensor *reshape[] = {&x, &shape}, *unsqueeze[] = {&x, &axes};
	static const enum npl_op ops[] = {NPL_OP_RESHAPE, NPL_OP_UNSQUEEZE, NPL_OP_FLATTEN, NPL_OP_DROPOUT};
	for (int i = 0; i < 4; i++) {
		struct npl_attrs attrs = {.opset = 13};
		if (ops[i] == NPL_OP_FLATTEN)
			attrs.along.axis = 1;
		out[0] = test_run(ops[i], &attrs, i == 1 ? unsqueeze : reshape, i < 2 ? 2 : 1);
		cr_assert(out[0].dtype == NPL_I16 && !memcmp(out[0].data, x.data, npl_tensor_bytes(&x)), "%s",
			  npl_op_defs[ops[i]].name);
		test_release(&out[0]);
	}
	for (int opset = 9; opset <= 10; opset++) { /* the mask: the input's type, bool from opset 10 */
		struct npl_attrs attrs = {.opset = opset};
		struct npl_tensor f = test_random_tensor(&seed, NPL_F32, npl_shape_of(1, 7));
		const struct npl_tensor *in[] = {&f};
		memset(out, 0, sizeof out);
		cr_assert_eq(npl_op_shape(NPL_OP_DROPOUT, &attrs, in, 1, out, 2, NULL), 0);
		cr_assert(!npl_tensor_alloc(&out[0], NULL) && !npl_tensor_alloc(&out[1], NULL));
		cr_assert_eq(npl_op_run(NPL_OP_DROPOUT, &attrs, in, 1, out, 2, NULL), 0);
		for (int64_t e = 0; e < 7; e++)
			cr_assert_eq(bits_at(&out[1], e), opset == 9 ? 0x3f800000 : 1);
		cr_assert_eq(memcmp(out[0].data, f.data, 28), 0);
		npl_tensor_free(&out[0]);
		npl_tensor_free(&out[1]);
		npl_tensor_free(&f);
	}
	npl_tensor_free(&x);
}

/* Reads one attribute into a Constant and returns its value. */
static struct npl_tensor constant_from(struct npl_attr attr[1])
{
	struct npl_attr_list list = {attr, 1};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_attrs(NPL_OP_CONSTANT, &list, &attrs, &err), 0, "%s", err.msg);
	return test_run(NPL_OP_CONSTANT, &attrs, NULL, 0);
}

Test(ops_values, constants_are_those_of_their_attributes)
{
	struct npl_tensor value = {
		.dtype = NPL_I32, .shape = npl_shape_of(2, 1, 2), .data = (int32_t[]){7, -8}, .owned = true};
	struct npl_attr tensor = ATTR_TENSOR("value", &value), number = ATTR_INT("value_int", -5);
	struct npl_attr numbers = ATTR_INTS("value_ints", 3, 4, 5), real = ATTR_FLOAT("value_float", 0.5f);
	struct npl_attr reals = {.name = "value_floats", .type = NPL_ATTR_FLOATS, .floats = (float[]){1, 2}, .n = 2};
	struct npl_tensor out = constant_from(&tensor);
	cr_assert(npl_shape_equal(&out.shape, &value.shape) && !memcmp(out.data, value.data, 8) && !out.owned);
	test_release(&out);
	out = constant_from(&number);
	cr_assert(out.dtype == NPL_I64 && out.shape.rank == 0 && *(int64_t *)out.data == -5);
	test_release(&out);
	out = constant_from(&numbers);
	cr_assert(out.dtype == NPL_I64 && out.shape.rank == 1 && out.shape.dim[0] == 3 &&
		  ((int64_t *)out.data)[2] == 5);
	test_release(&out);
	out = constant_from(&real);
	cr_assert(out.dtype == NPL_F32 && out.shape.rank == 0 && *(float *)out.data == 0.5f);
	test_release(&out);
	out = constant_from(&reals);
	cr_assert(out.dtype == NPL_F32 && out.shape.dim[0] == 2 && ((float *)out.data)[1] == 2.0f);
	test_release(&out);
}

Test(ops_values, constant_of_shape_fills_with_its_value)
{
	struct npl_tensor shape = {.dtype = NPL_I64, .shape = npl_shape_of(1, 2), .data = (int64_t[]){3, 5}};
	struct npl_tensor one = {.dtype = NPL_I16, .shape = npl_shape_of(1, 1), .data = (int16_t[]){-300}};
	for (int n_attrs = 0; n_attrs < 2; n_attrs++) {
		struct npl_attr attr = ATTR_TENSOR("value", &one);
		struct npl_attr_list list = {&attr, n_attrs};
		struct npl_attrs attrs = {.opset = 9};
		cr_assert_eq(npl_op_attrs(NPL_OP_CONSTANTOFSHAPE, &list, &attrs, NULL), 0);
		struct npl_tensor out = test_run(NPL_OP_CONSTANTOFSHAPE, &attrs, (const struct npl_tensor *[]){&shape},
						 1);
		cr_assert_eq(out.dtype, n_attrs ? NPL_I16 : NPL_F32);
		for (int64_t e = 0; e < 15; e++)
			cr_assert_eq(bits_at(&out, e), n_attrs ? (uint16_t)-300 : 0);
		test_release(&out);
	}
}
