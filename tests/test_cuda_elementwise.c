/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's element-wise kernels, run on the processor: what the reference gives, within a few steps of float32 where a
 * function is not exact, with broadcasting, scalars, any alignment, activations in the same pass; and how values of 16 bits are
 * kept. */
#include "cuda_kernel_support.h"
#include "elementwise_support.h"

#define STEPS(n) ((n) * 0x1p-24) /* a function that may be n steps of float32 off */

static struct kernel_case unary_case(enum npl_op op, struct npl_attrs *attrs, struct npl_tensor *x, enum npl_dtype stored,
				     uint64_t seed)
{
	return (struct kernel_case){.op = op,
				    .attrs = attrs,
				    .n_in = 1,
				    .n_out = 1,
				    .in = {x},
				    .stored = stored,
				    .relative = STEPS(8),
				    .absolute = STEPS(2),
				    .seed = seed};
}

/* Special values go first. */
static void put_specials(struct npl_tensor *x)
{
	const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, 3e38f, 0.5f, -2.5f, 88.0f, -88.0f};
	for (size_t i = 0; i < sizeof special / sizeof *special && (int64_t)i < npl_tensor_count(x); i++)
		((float *)x->data)[i] = special[i];
}

static const enum npl_op unary_ops[] = {
	NPL_OP_RELU,      NPL_OP_SIGMOID,     NPL_OP_TANH,      NPL_OP_LEAKYRELU, NPL_OP_ELU,      NPL_OP_SELU,
	NPL_OP_CELU,      NPL_OP_HARDSIGMOID, NPL_OP_HARDSWISH, NPL_OP_SOFTPLUS,  NPL_OP_SOFTSIGN, NPL_OP_THRESHOLDEDRELU,
	NPL_OP_SHRINK,    NPL_OP_ERF,         NPL_OP_SQRT,      NPL_OP_EXP,       NPL_OP_LOG,      NPL_OP_RECIPROCAL,
	NPL_OP_SIN,       NPL_OP_COS,         NPL_OP_TAN,       NPL_OP_ASIN,      NPL_OP_ACOS,     NPL_OP_ATAN,
	NPL_OP_SINH,      NPL_OP_COSH,        NPL_OP_ASINH,     NPL_OP_ACOSH,     NPL_OP_ATANH,    NPL_OP_FLOOR,
	NPL_OP_CEIL,      NPL_OP_ROUND,       NPL_OP_ABS,       NPL_OP_NEG,       NPL_OP_SIGN,     NPL_OP_ISNAN,
	NPL_OP_ISINF,
};

static void check_unary(struct gpu *gpu, enum npl_op op, enum npl_dtype stored, uint64_t seed, double scale)
{
	uint64_t state = seed;
	struct npl_attrs attrs = attrs_of(op, 17, NULL, 0);
	struct npl_tensor x = random_values(&state, NPL_F32, npl_shape_of(1, test_range(&state, 1, 3000)), scale);
	put_specials(&x);
	struct kernel_case c = unary_case(op, &attrs, &x, stored, seed);
	check_kernel(gpu, &c);
	npl_tensor_free(&x);
}

Test(cuda_elementwise, every_function_of_one_operand)
{
	struct gpu *gpu = gpu_open();
	for (size_t i = 0; i < sizeof unary_ops / sizeof *unary_ops; i++) {
		check_unary(gpu, unary_ops[i], NPL_F32, 3 * i + 3, 4);
		check_unary(gpu, unary_ops[i], NPL_F32, 3 * i + 6, 0.01);
	}
	gpu_close(gpu);
}
