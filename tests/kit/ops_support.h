/* SPDX-License-Identifier: MIT
 *
 * What the tests of the operators share: tensors of random values, attributes as a model file gives them, and a run
 * that fills the output with rubbish first and looks at guard bytes around it afterwards.
 */
#ifndef NPULAB_TESTS_KIT_OPS_SUPPORT_H
#define NPULAB_TESTS_KIT_OPS_SUPPORT_H

#include <criterion/criterion.h>
#include <string.h>

#include "npulab/op.h"
#include "support.h"

/* An attribute in a table at file scope. */
#define INIT_INT(name_, value)                                                                                         \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_INT, .i = (value)                                                    \
	}
#define INIT_FLOAT(name_, value)                                                                                       \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_FLOAT, .f = (value)                                                  \
	}
#define INIT_STRING(name_, value)                                                                                      \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_STRING, .s = (value)                                                 \
	}
#define INIT_TENSOR(name_, value)                                                                                      \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_TENSOR, .tensor = (value)                                            \
	}
#define INIT_INTS(name_, ...)                                                                                          \
	{                                                                                                              \
		.name = (name_), .type = NPL_ATTR_INTS, .ints = (const int64_t[]){__VA_ARGS__},                        \
		.n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)                                          \
	}

/* An attribute as a value. */
#define ATTR_INT(name_, value)    ((struct npl_attr)INIT_INT(name_, value))
#define ATTR_FLOAT(name_, value)  ((struct npl_attr)INIT_FLOAT(name_, value))
#define ATTR_STRING(name_, value) ((struct npl_attr)INIT_STRING(name_, value))
#define ATTR_TENSOR(name_, value) ((struct npl_attr)INIT_TENSOR(name_, value))
#define ATTR_INTS(name_, ...)     ((struct npl_attr)INIT_INTS(name_, __VA_ARGS__))

#define GUARD_BYTES 64
#define GUARD       0xa5

static inline struct npl_tensor test_tensor(enum npl_dtype dtype, struct npl_shape shape)
{
	struct npl_tensor tensor = {.dtype = dtype, .shape = shape};
	struct npl_err err = {0};
	cr_assert_eq(npl_tensor_alloc(&tensor, &err), 0, "%s", err.msg);
	return tensor;
}

/* Floats in -1..1 with 20 random bits, so that most sums round; integers over their whole range. */
static inline struct npl_tensor test_random_tensor(uint64_t *seed, enum npl_dtype dtype, struct npl_shape shape)
{
	struct npl_tensor tensor = test_tensor(dtype, shape);
	int64_t count = npl_tensor_count(&tensor);
	for (int64_t i = 0; i < count; i++) {
		uint64_t bits = test_rng(seed) >> 8;
		if (dtype == NPL_F32)
			((float *)tensor.data)[i] = (float)((double)(bits % 2097152) / 1048576.0 - 1.0);
		else if (dtype == NPL_F64)
			((double *)tensor.data)[i] = (double)(bits % 2097152) / 1048576.0 - 1.0;
		else
			memcpy((char *)tensor.data + (size_t)i * npl_dtype_size(dtype), &bits, npl_dtype_size(dtype));
	}
	return tensor;
}

/* Shapes and runs a one-output operator. The output's data is released by test_release. */
static inline struct npl_tensor test_run(enum npl_op op, struct npl_attrs *attrs, const struct npl_tensor *const *in,
					 int n_in)
{
	const struct npl_op_def *def = &npl_op_defs[op];
	struct npl_tensor out = {0};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(op, attrs, in, n_in, &out, 1, &err), 0, "%s: %s", def->name, err.msg);
	size_t bytes = npl_tensor_bytes(&out);
	unsigned char *block = malloc(bytes + 2 * GUARD_BYTES);
	cr_assert(block);
	memset(block, GUARD, bytes + 2 * GUARD_BYTES);
	out.data = block + GUARD_BYTES;
	cr_assert_eq(npl_op_run(op, attrs, in, n_in, &out, 1, &err), 0, "%s: %s", def->name, err.msg);
	for (size_t i = 0; i < GUARD_BYTES; i++)
		cr_assert(block[i] == GUARD && block[GUARD_BYTES + bytes + i] == GUARD, "%s wrote outside its output",
			  def->name);
	return out;
}

static inline void test_release(struct npl_tensor *out)
{
	free((unsigned char *)out->data - GUARD_BYTES);
	out->data = NULL;
}

/* Exactly equal floats; says where they are not. */
static inline void test_equal_floats(const float *actual, const float *expected, int64_t count, const char *label,
				     uint64_t seed)
{
	for (int64_t i = 0; i < count; i++)
		cr_assert(actual[i] == expected[i] || (actual[i] != actual[i] && expected[i] != expected[i]),
			  "%s, seed %llu: element %lld is %.9g, expected %.9g", label, (unsigned long long)seed,
			  (long long)i, (double)actual[i], (double)expected[i]);
}

/* The index of element i of a shape, and back for an operand that broadcasts to it. */
static inline void test_unravel(const struct npl_shape *shape, int64_t i, int64_t index[NPL_MAX_RANK])
{
	for (int d = shape->rank - 1; d >= 0; d--) {
		index[d] = i % shape->dim[d];
		i /= shape->dim[d];
	}
}

static inline int64_t test_ravel(const struct npl_shape *operand, const struct npl_shape *out, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < operand->rank; d++)
		at = at * operand->dim[d] + (operand->dim[d] == 1 ? 0 : index[out->rank - operand->rank + d]);
	return at;
}

#endif
