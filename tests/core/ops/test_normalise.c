/* SPDX-License-Identifier: MIT
 *
 * Promises: the normalisations are their definitions, computed here in long double, in float32 and float64, for any
 * axis; LayerNormalization gives mean and deviation where they are asked for; BatchNormalization has statistics per
 * element where an old model asks for them, and in training those of the batch with the running ones; what does not fit
 * is refused. */
#include "core/base/half.h"
#include "tests/kit/ops_support.h"

#include <math.h>

#define SEED 0x5eed4001u

static double number_at(const struct npl_tensor *t, int64_t i)
{
	return t->dtype == NPL_F64 ? ((double *)t->data)[i] : (double)((float *)t->data)[i];
}

static void check_near(const struct npl_tensor *out, int64_t i, long double expected, const char *subject)
{
	double tolerance = out->dtype == NPL_F64 ? 1e-12 : 2e-6;
	double actual = number_at(out, i);
	cr_assert(fabsl((long double)actual - expected) <= (long double)tolerance * (2 + fabsl(expected)),
		  "%s: element %lld is %.12g, expected %.12Lg", subject, (long long)i, actual, expected);
}

/* Mean and population variance of the elements that `same` puts with element e. */
struct moments {
	long double mean, variance;
};

static struct moments moments_where(const struct npl_tensor *x, int64_t e, const bool axes[NPL_MAX_RANK])
{
	int64_t here[NPL_MAX_RANK], there[NPL_MAX_RANK], n = 0;
	long double sum = 0, squares = 0;
	test_unravel(&x->shape, e, here);
	for (int64_t i = 0; i < npl_tensor_count(x); i++) {
		bool with = true;
		test_unravel(&x->shape, i, there);
		for (int d = 0; d < x->shape.rank; d++)
			with &= axes[d] || here[d] == there[d];
		if (!with)
			continue;
		n++;
		sum += (long double)number_at(x, i);
		squares += (long double)number_at(x, i) * (long double)number_at(x, i);
	}
	struct moments m = {sum / (long double)n, 0};
	m.variance = squares / (long double)n - m.mean * m.mean;
	return m;
}

static struct npl_shape random_shape(uint64_t *seed, int minimum, int limit)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, minimum, limit)};
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] = test_range(seed, 1, 5);
	return shape;
}

/* A shape that broadcasts to the last dimensions, from `axis` on. */
static struct npl_shape parameter_shape(uint64_t *seed, const struct npl_shape *x, int axis)
{
	struct npl_shape shape = {.rank = x->rank - axis};
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] = test_range(seed, 0, 3) ? x->dim[axis + d] : 1;
	return shape;
}

Test(ops_normalise, layer_normalisation_follows_its_definition)
{
	uint64_t seed = SEED;
	for (int i = 0; i < 120; i++) {
		enum npl_dtype dtype = i % 2 ? NPL_F64 : NPL_F32;
		struct npl_tensor x = test_random_tensor(&seed, dtype, random_shape(&seed, 1, 4));
		int axis = (int)test_range(&seed, 0, x.shape.rank - 1);
		bool axes[NPL_MAX_RANK], with_bias = test_range(&seed, 0, 1);
		for (int d = 0; d < NPL_MAX_RANK; d++)
			axes[d] = d >= axis;
		struct npl_tensor scale = test_random_tensor(&seed, dtype, parameter_shape(&seed, &x.shape, axis));
		struct npl_tensor bias = test_random_tensor(&seed, dtype, parameter_shape(&seed, &x.shape, axis));
		const struct npl_tensor *in[] = {&x, &scale, with_bias ? &bias : NULL};
		struct npl_attr attr[] = {ATTR_INT("axis", i % 3 ? axis : axis - x.shape.rank),
					  ATTR_FLOAT("epsilon", 0.01f), ATTR_INT("stash_type", 1)};
		struct npl_attr_list list = {attr, 3};
		struct npl_attrs attrs = {.opset = 17};
		struct npl_err err = {0};
		struct npl_tensor out[3] = {{0}};
		cr_assert_eq(npl_op_attrs(NPL_OP_LAYERNORMALIZATION, &list, &attrs, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_op_shape(NPL_OP_LAYERNORMALIZATION, &attrs, in, 3, out, 3, &err), 0, "%s", err.msg);
		for (int k = 0; k < 3; k++)
			cr_assert_eq(npl_tensor_alloc(&out[k], &err), 0);
		cr_assert_eq(npl_op_run(NPL_OP_LAYERNORMALIZATION, &attrs, in, 3, out, 3, &err), 0);
		struct npl_tensor single = test_run(NPL_OP_LAYERNORMALIZATION, &attrs, in, 3);
		cr_assert_eq(memcmp(single.data, out[0].data, npl_tensor_bytes(&single)), 0);
		cr_assert(out[1].dtype == NPL_F32 && out[2].dtype == NPL_F32);
		for (int64_t e = 0; e < npl_tensor_count(&x); e++) {
			struct moments m = moments_where(&x, e, axes);
			int64_t index[NPL_MAX_RANK];
			test_unravel(&x.shape, e, index);
			long double deviation = sqrtl(m.variance + (long double)0.01f), expected;
			expected = ((long double)number_at(&x, e) - m.mean) / deviation *
				   (long double)number_at(&scale, test_ravel(&scale.shape, &x.shape, index));
			if (with_bias)
				expected += (long double)number_at(&bias, test_ravel(&bias.shape, &x.shape, index));
			check_near(&out[0], e, expected, "LayerNormalization");
			int64_t row = test_ravel(&out[1].shape, &x.shape, index);
			check_near(&out[1], row, m.mean, "Mean");
			check_near(&out[2], row, 1 / deviation, "InvStdDev");
		}
		for (int k = 0; k < 3; k++)
			npl_tensor_free(&out[k]);
		test_release(&single);
		npl_tensor_free(&x);
		npl_tensor_free(&scale);
		npl_tensor_free(&bias);
	}
}

/* Of 16-bit floats the result has their type, mean and deviation are float32 (stash_type 1), not rounded to 16 bits. */
Test(ops_normalise, layer_of_16_bit_floats)
{
	static const enum npl_dtype types[] = {NPL_F16, NPL_BF16};
	uint64_t seed = SEED + 11;
	for (int t = 0; t < 2; t++) {
		const struct npl_shape shape = npl_shape_of(2, 3, 7), row = npl_shape_of(1, 7);
		struct npl_tensor x = test_tensor(types[t], shape), scale = test_tensor(types[t], row);
		struct npl_tensor wide = test_tensor(NPL_F32, shape), factor = test_tensor(NPL_F32, row);
		struct npl_tensor *half[] = {&x, &scale}, *same[] = {&wide, &factor};
		for (int k = 0; k < 2; k++)
			for (int64_t i = 0; i < npl_tensor_count(half[k]); i++) {
				const float value = (float)test_range(&seed, -1000, 1000) / 999;
				uint16_t *bits = (uint16_t *)half[k]->data + i;
				*bits = t ? npl_bf16_of_float(value) : npl_f16_of_double((double)value);
				((float *)same[k]->data)[i] = t ? npl_bf16_to_float(*bits) : npl_f16_to_float(*bits);
			}
		struct npl_attrs attrs = {.opset = 17, .norm = {.axis = -1, .epsilon = 1e-5f}}, again = attrs;
		struct npl_tensor out[3] = {{0}}, expected[3] = {{0}};
		const struct npl_tensor *in[] = {&x, &scale}, *in_wide[] = {&wide, &factor};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_shape(NPL_OP_LAYERNORMALIZATION, &attrs, in, 2, out, 3, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_op_shape(NPL_OP_LAYERNORMALIZATION, &again, in_wide, 2, expected, 3, &err), 0);
		cr_assert(out[0].dtype == types[t] && out[1].dtype == NPL_F32 && out[2].dtype == NPL_F32);
		for (int k = 0; k < 3; k++)
			cr_assert(!npl_tensor_alloc(&out[k], &err) && !npl_tensor_alloc(&expected[k], &err));
		cr_assert_eq(npl_op_run(NPL_OP_LAYERNORMALIZATION, &attrs, in, 2, out, 3, &err), 0);
		cr_assert_eq(npl_op_run(NPL_OP_LAYERNORMALIZATION, &again, in_wide, 2, expected, 3, &err), 0);
		for (int k = 1; k < 3; k++)
			cr_assert_eq(memcmp(out[k].data, expected[k].data, npl_tensor_bytes(&expected[k])), 0,
				     "%s, result %d", npl_dtype_name(types[t]), k);
		for (int64_t i = 0; i < npl_tensor_count(&x); i++) {
			const float y = ((float *)expected[0].data)[i];
			cr_assert_eq(((uint16_t *)out[0].data)[i],
				     t ? npl_bf16_of_float(y) : npl_f16_of_double((double)y));
		}
		for (int k = 0; k < 3; k++) {
			npl_tensor_free(&out[k]);
			npl_tensor_free(&expected[k]);
		}
		for (int k = 0; k < 2; k++) {
			npl_tensor_free(half[k]);
			npl_tensor_free(same[k]);
		}
	}
}

Test(ops_normalise, instance_normalisation_follows_its_definition)
{
	uint64_t seed = SEED + 1;
	const bool axes[NPL_MAX_RANK] = {false, false, true, true, true};
	for (int i = 0; i < 40; i++) {
		enum npl_dtype dtype = i % 2 ? NPL_F64 : NPL_F32;
		struct npl_tensor x = test_random_tensor(&seed, dtype, random_shape(&seed, 3, 5));
		struct npl_shape channels = npl_shape_of(1, x.shape.dim[1]);
		struct npl_tensor scale = test_random_tensor(&seed, dtype, channels);
		struct npl_tensor bias = test_random_tensor(&seed, dtype, channels);
		struct npl_attrs attrs = {.norm.epsilon = 0.02f};
		struct npl_tensor out = test_run(NPL_OP_INSTANCENORMALIZATION, &attrs,
						 (const struct npl_tensor *[]){&x, &scale, &bias}, 3);
		for (int64_t e = 0; e < npl_tensor_count(&x); e++) {
			struct moments m = moments_where(&x, e, axes);
			int64_t index[NPL_MAX_RANK];
			test_unravel(&x.shape, e, index);
			check_near(&out, e,
				   ((long double)number_at(&x, e) - m.mean) / sqrtl(m.variance + (long double)0.02f) *
						   (long double)number_at(&scale, index[1]) +
					   (long double)number_at(&bias, index[1]),
				   "InstanceNormalization");
		}
		test_release(&out);
		npl_tensor_free(&x);
		npl_tensor_free(&scale);
		npl_tensor_free(&bias);
	}
}

Test(ops_normalise, mean_and_variance_are_normalised)
{
	uint64_t seed = SEED + 2;
	for (int i = 0; i < 60; i++) {
		struct npl_shape shape = random_shape(&seed, i % 4 ? 1 : 4, 4);
		int64_t list_of_axes[NPL_MAX_RANK];
		int n = 0;
		bool axes[NPL_MAX_RANK] = {i % 4 == 0, false, i % 4 == 0, i % 4 == 0}; /* by default 0, 2 and 3 */
		for (int d = 0; d < shape.rank; d++) {
			shape.dim[d]++;
			if (i % 4 && (axes[d] = test_range(&seed, 0, 1)))
				list_of_axes[n++] = test_range(&seed, 0, 1) ? d : d - shape.rank;
		}
		if (i % 4 && !n) {
			axes[0] = true;
			list_of_axes[n++] = 0;
		}
		struct npl_tensor x = test_random_tensor(&seed, i % 3 ? NPL_F32 : NPL_F64, shape);
		struct npl_attr attr = {.name = "axes", .type = NPL_ATTR_INTS, .ints = list_of_axes, .n = n};
		struct npl_attr_list list = {&attr, i % 4 ? 1 : 0};
		struct npl_attrs attrs = {.opset = 13};
		cr_assert_eq(npl_op_attrs(NPL_OP_MEANVARIANCENORMALIZATION, &list, &attrs, NULL), 0);
		struct npl_tensor out = test_run(NPL_OP_MEANVARIANCENORMALIZATION, &attrs,
						 (const struct npl_tensor *[]){&x}, 1);
		for (int64_t e = 0; e < npl_tensor_count(&x); e++) {
			struct moments m = moments_where(&x, e, axes);
			check_near(&out, e,
				   ((long double)number_at(&x, e) - m.mean) / (sqrtl(fmaxl(m.variance, 0)) + 1e-9L),
				   "MeanVarianceNormalization");
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

Test(ops_normalise, vectors_are_divided_by_their_norm)
{
	uint64_t seed = SEED + 3;
	for (int i = 0; i < 60; i++) {
		struct npl_tensor x = test_random_tensor(&seed, i % 3 ? NPL_F32 : NPL_F64, random_shape(&seed, 1, 4));
		int64_t axis = test_range(&seed, -x.shape.rank, x.shape.rank - 1), p = 1 + i % 2;
		struct npl_attr attr[] = {ATTR_INT("axis", axis), ATTR_INT("p", p)};
		struct npl_attr_list list = {attr, 2};
		struct npl_attrs attrs = {.opset = 13};
		cr_assert_eq(npl_op_attrs(NPL_OP_LPNORMALIZATION, &list, &attrs, NULL), 0);
		axis += axis < 0 ? x.shape.rank : 0;
		if (i % 5 == 0) /* a vector of zeros */
			memset(x.data, 0, npl_tensor_bytes(&x));
		struct npl_tensor out = test_run(NPL_OP_LPNORMALIZATION, &attrs, (const struct npl_tensor *[]){&x}, 1);
		for (int64_t e = 0; e < npl_tensor_count(&x); e++) {
			int64_t index[NPL_MAX_RANK];
			long double sum = 0;
			test_unravel(&x.shape, e, index);
			for (index[axis] = 0; index[axis] < x.shape.dim[axis]; index[axis]++) {
				double value = number_at(&x, test_ravel(&x.shape, &x.shape, index));
				sum += p == 1 ? (long double)fabs(value) : (long double)value * (long double)value;
			}
			sum = p == 1 ? sum : sqrtl(sum);
			check_near(&out, e, sum > 0 ? (long double)number_at(&x, e) / sum : 0, "LpNormalization");
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

/* BatchNormalization with the parameters of `shape`, per element or per channel, of the batch or given. */
static void check_batch(uint64_t *seed, bool per_element, bool training, struct npl_shape parameters)
{
	struct npl_tensor t[5] = {test_random_tensor(seed, NPL_F32, npl_shape_of(4, 3, 2, 4, 5))}, out[3] = {{0}};
	const struct npl_tensor *in[5] = {&t[0]};
	struct npl_err err = {0};
	for (int k = 1; k < 5; k++) {
		t[k] = test_random_tensor(seed, NPL_F32, parameters);
		in[k] = &t[k];
	}
	for (int64_t c = 0; c < npl_tensor_count(&t[4]); c++)
		((float *)t[4].data)[c] = fabsf(((float *)t[4].data)[c]) + 0.1f;
	struct npl_attr attr[] = {ATTR_FLOAT("epsilon", 0.01f), ATTR_FLOAT("momentum", 0.7f),
				  training ? ATTR_INT("training_mode", 1) : ATTR_INT("spatial", !per_element)};
	struct npl_attr_list list = {attr, 3};
	struct npl_attrs attrs = {.opset = training ? 15 : 7};
	int n_out = training ? 3 : 1;
	cr_assert_eq(npl_op_attrs(NPL_OP_BATCHNORMALIZATION, &list, &attrs, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_op_shape(NPL_OP_BATCHNORMALIZATION, &attrs, in, 5, out, n_out, &err), 0, "%s", err.msg);
	for (int k = 0; k < n_out; k++)
		cr_assert_eq(npl_tensor_alloc(&out[k], &err), 0);
	cr_assert_eq(npl_op_run(NPL_OP_BATCHNORMALIZATION, &attrs, in, 5, out, n_out, &err), 0);
	const bool axes[NPL_MAX_RANK] = {true, false, true, true};
	for (int64_t e = 0; e < npl_tensor_count(&t[0]); e++) {
		int64_t c = per_element ? e % 40 : e / 20 % 2;
		struct moments m = {(long double)number_at(&t[3], c), (long double)number_at(&t[4], c)};
		if (training) {
			struct moments batch = moments_where(&t[0], e, axes);
			check_near(&out[1], c, m.mean * 0.7L + batch.mean * 0.3L, "running mean");
			check_near(&out[2], c, m.variance * 0.7L + batch.variance * 0.3L, "running variance");
			m = batch;
		}
		check_near(&out[0], e,
			   ((long double)number_at(&t[0], e) - m.mean) / sqrtl(m.variance + (long double)0.01f) *
					   (long double)number_at(&t[1], c) +
				   (long double)number_at(&t[2], c),
			   "BatchNormalization");
	}
	for (int k = 0; k < 5; k++)
		npl_tensor_free(&t[k]);
	for (int k = 0; k < n_out; k++)
		npl_tensor_free(&out[k]);
}

Test(ops_normalise, batch_per_element_and_in_training)
{
	uint64_t seed = SEED + 4;
	check_batch(&seed, false, false, npl_shape_of(1, 2));
	check_batch(&seed, true, false, npl_shape_of(3, 2, 4, 5));
	check_batch(&seed, true, false, npl_shape_of(1, 40));
	check_batch(&seed, false, true, npl_shape_of(1, 2));
}

static void expect_refusal(enum npl_op op, struct npl_attr attr, int n_attrs, const struct npl_shape *shapes, int n_in,
			   int n_out, const char *expected)
{
	struct npl_tensor t[8], out[3] = {{0}};
	const struct npl_tensor *in[8];
	struct npl_attr_list list = {&attr, n_attrs};
	struct npl_attrs attrs = {.opset = 15};
	struct npl_err err = {0};
	for (int k = 0; k < n_in; k++) {
		t[k] = (struct npl_tensor){.dtype = NPL_F32, .shape = shapes[k]};
		in[k] = &t[k];
	}
	int rc = npl_op_attrs(op, &list, &attrs, &err);
	rc = rc ? rc : npl_op_shape(op, &attrs, in, n_in, out, n_out, &err);
	cr_assert_eq(rc, NPL_EINPUT, "%s was to say: %s", npl_op_defs[op].name, expected);
	cr_assert(strstr(err.msg, expected), "%s said '%s', not '%s'", npl_op_defs[op].name, err.msg, expected);
}

Test(ops_normalise, wrong_nodes_are_refused)
{
	const struct npl_shape x = npl_shape_of(3, 2, 3, 4), three = npl_shape_of(1, 3), four = npl_shape_of(1, 4);
	const struct npl_attr axis = ATTR_INT("axis", 3), p = ATTR_INT("p", 3), stash = ATTR_INT("stash_type", 16);
	const struct npl_attr twice = ATTR_INTS("axes", 1, -2), train = ATTR_INT("training_mode", 0);
	const struct npl_shape layer[] = {x, four, three}, instance[] = {x, three, four};
	const struct npl_shape batch[] = {x, three, three, three, three};
	expect_refusal(NPL_OP_LAYERNORMALIZATION, axis, 1, layer, 2, 1, "axis must be within -3..2");
	expect_refusal(NPL_OP_LAYERNORMALIZATION, stash, 1, layer, 2, 1, "stash_type=16");
	expect_refusal(NPL_OP_LAYERNORMALIZATION, axis, 0, layer, 3, 1, "the bias 3 does not broadcast");
	expect_refusal(NPL_OP_INSTANCENORMALIZATION, axis, 0, instance, 3, 1, "the bias is 4, expected 3");
	expect_refusal(NPL_OP_MEANVARIANCENORMALIZATION, twice, 1, &x, 1, 1, "named twice");
	expect_refusal(NPL_OP_MEANVARIANCENORMALIZATION, twice, 0, &x, 1, 1, "axis must be within -3..2");
	expect_refusal(NPL_OP_LPNORMALIZATION, p, 1, &x, 1, 1, "p must be 1 or 2");
	expect_refusal(NPL_OP_LPNORMALIZATION, axis, 1, &x, 1, 1, "axis must be within");
	expect_refusal(NPL_OP_BATCHNORMALIZATION, train, 1, batch, 5, 3, "asks for training");
}
