/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's element-wise kernels, run on the processor: what the reference gives, within a few steps of
 * float32 where a function is not exact, with broadcasting, scalars, any alignment, activations in the same pass; and
 * how values of 16 bits are kept. */
#include "tests/kit/cuda/kernel_support.h"
#include "tests/kit/elementwise_support.h"

#define STEPS(n) ((n)*0x1p-24) /* a function that may be n steps of float32 off */

static struct kernel_case unary_case(enum npl_op op, struct npl_attrs *attrs, struct npl_tensor *x,
				     enum npl_dtype stored, uint64_t seed)
{
	return (struct kernel_case){.op = op,
				    .attrs = attrs,
				    .n_in = 1,
				    .n_out = 1,
				    .in = {x},
				    .dtype = stored,
				    .relative = STEPS(8),
				    .absolute = STEPS(2),
				    .seed = seed};
}

/* Special values go first. */
static void put_specials(struct npl_tensor *x)
{
	const float special[] = {0.0f,    -0.0f, INFINITY, -INFINITY, NAN,   1e-40f,
				 -1e-40f, 3e38f, 0.5f,     -2.5f,     88.0f, -88.0f};
	for (size_t i = 0; i < sizeof special / sizeof *special && (int64_t)i < npl_tensor_count(x); i++)
		((float *)x->data)[i] = special[i];
}

static const enum npl_op unary_ops[] = {
	NPL_OP_RELU,   NPL_OP_SIGMOID,     NPL_OP_TANH,      NPL_OP_LEAKYRELU, NPL_OP_ELU,      NPL_OP_SELU,
	NPL_OP_CELU,   NPL_OP_HARDSIGMOID, NPL_OP_HARDSWISH, NPL_OP_SOFTPLUS,  NPL_OP_SOFTSIGN, NPL_OP_THRESHOLDEDRELU,
	NPL_OP_SHRINK, NPL_OP_ERF,         NPL_OP_SQRT,      NPL_OP_EXP,       NPL_OP_LOG,      NPL_OP_RECIPROCAL,
	NPL_OP_SIN,    NPL_OP_COS,         NPL_OP_TAN,       NPL_OP_ASIN,      NPL_OP_ACOS,     NPL_OP_ATAN,
	NPL_OP_SINH,   NPL_OP_COSH,        NPL_OP_ASINH,     NPL_OP_ACOSH,     NPL_OP_ATANH,    NPL_OP_FLOOR,
	NPL_OP_CEIL,   NPL_OP_ROUND,       NPL_OP_ABS,       NPL_OP_NEG,       NPL_OP_SIGN,     NPL_OP_ISNAN,
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

Test(cuda_elementwise, floats_of_16_bits)
{
	static const enum npl_op ops[] = {NPL_OP_RELU, NPL_OP_SIGMOID, NPL_OP_HARDSWISH,
					  NPL_OP_ERF,  NPL_OP_EXP,     NPL_OP_ISNAN};
	struct gpu *gpu = gpu_open();
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		for (uint64_t seed = 1; seed < 4; seed++) {
			check_unary(gpu, ops[i], NPL_F16, 10 * i + seed, 8);
			check_unary(gpu, ops[i], NPL_BF16, 10 * i + seed, 8);
		}
	gpu_close(gpu);
}

Test(cuda_elementwise, integers_of_one_operand)
{
	static const enum npl_dtype types[] = {NPL_I8, NPL_U8, NPL_I32, NPL_I64};
	static const enum npl_op ops[] = {NPL_OP_RELU, NPL_OP_ABS, NPL_OP_NEG, NPL_OP_SIGN};
	struct gpu *gpu = gpu_open();
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
			uint64_t seed = 40 * t + i + 1, state = seed;
			struct npl_attrs attrs = attrs_of(ops[i], 17, NULL, 0);
			struct npl_tensor x = random_values(&state, types[t], npl_shape_of(1, 1000), 1);
			memset(x.data, 0, 16);
			((uint8_t *)x.data)[npl_dtype_size(types[t]) - 1] = 0x80; /* the least number */
			struct kernel_case c = unary_case(ops[i], &attrs, &x, NPL_F32, seed);
			check_kernel(gpu, &c);
			npl_tensor_free(&x);
		}
	uint64_t seed = 99;
	struct npl_attrs attrs = attrs_of(NPL_OP_NOT, 17, NULL, 0);
	struct npl_tensor x = random_values(&seed, NPL_BOOL, npl_shape_of(2, 7, 91), 1);
	struct kernel_case c = unary_case(NPL_OP_NOT, &attrs, &x, NPL_F32, 99);
	check_kernel(gpu, &c);
	npl_tensor_free(&x);
	gpu_close(gpu);
}

/* Limits as attributes, as constants, and as tensors that the network computes; of floats and integers. */
Test(cuda_elementwise, limits_of_clip_equal_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 24; seed++) {
		uint64_t state = seed;
		bool integers = seed % 2, known = seed % 3 != 0;
		enum npl_dtype dtype = integers ? NPL_I32 : NPL_F32;
		struct npl_attrs attrs = attrs_of(NPL_OP_CLIP, 13, NULL, 0);
		struct npl_tensor x = random_values(&state, dtype, npl_shape_of(1, 500), 4),
				  low = random_values(&state, dtype, (struct npl_shape){0}, 1),
				  high = random_values(&state, dtype, (struct npl_shape){0}, 1);
		struct kernel_case c = {.op = NPL_OP_CLIP,
					.attrs = &attrs,
					.n_in = (int)test_range(&state, 1, 3),
					.n_out = 1,
					.in = {&x, seed % 5 ? &low : NULL, &high},
					.dtype = NPL_F32,
					.seed = seed,
					.unknown = !known};
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
		npl_tensor_free(&low);
		npl_tensor_free(&high);
	}
	gpu_close(gpu);
}

static const struct {
	enum npl_op op;
	enum npl_dtype types[5];
	int n;
} binary_ops[] = {
	{NPL_OP_ADD, {NPL_F32, NPL_I32, NPL_U8, NPL_I64}, 4},
	{NPL_OP_SUB, {NPL_F32, NPL_I8}, 2},
	{NPL_OP_MUL, {NPL_F32, NPL_I64}, 2},
	{NPL_OP_DIV, {NPL_F32, NPL_I32, NPL_U16}, 3},
	{NPL_OP_MIN, {NPL_F32, NPL_I16}, 2},
	{NPL_OP_MAX, {NPL_F32, NPL_U32}, 2},
	{NPL_OP_MOD, {NPL_I32, NPL_U8}, 2},
	{NPL_OP_EQUAL, {NPL_F32, NPL_BOOL, NPL_I64}, 3},
	{NPL_OP_LESS, {NPL_F32, NPL_U64}, 2},
	{NPL_OP_LESSOREQUAL, {NPL_F32, NPL_I8}, 2},
	{NPL_OP_GREATER, {NPL_F32, NPL_I32}, 2},
	{NPL_OP_GREATEROREQUAL, {NPL_F32}, 1},
	{NPL_OP_AND, {NPL_BOOL}, 1},
	{NPL_OP_OR, {NPL_BOOL}, 1},
	{NPL_OP_XOR, {NPL_BOOL}, 1},
	{NPL_OP_PRELU, {NPL_F32, NPL_I32}, 2},
	{NPL_OP_POW, {NPL_F32}, 1},
};

/* Operand b broadcasts to a. Except for PRelu, each may also broadcast to the other. */
static void check_binary(struct gpu *gpu, enum npl_op op, enum npl_dtype dtype, enum npl_dtype stored,
			 enum npl_activation fused, uint64_t seed)
{
	uint64_t state = seed;
	struct npl_attrs attrs = attrs_of(op, 17, NULL, 0);
	struct npl_shape shape = random_shape(&state, 0, 5, 9), b_shape = random_operand(&state, &shape),
			 a_shape = shape;
	if (op != NPL_OP_PRELU && test_range(&state, 0, 2) == 0)
		a_shape = random_operand(&state, &shape);
	if (test_range(&state, 0, 3) == 0)
		b_shape = a_shape;
	struct npl_tensor a = random_values(&state, dtype, a_shape, 4), b = random_values(&state, dtype, b_shape, 2);
	if (dtype == NPL_F32 && op == NPL_OP_POW)
		for (int64_t i = 0; i < npl_tensor_count(&a); i++)
			((float *)a.data)[i] = fabsf(((float *)a.data)[i]);
	if (dtype != NPL_F32 && dtype != NPL_BOOL && npl_tensor_count(&b) > 1) /* divisors 0 and, signed, -1 */
		memset(b.data, 0, npl_dtype_size(dtype)),
			memset((char *)b.data + npl_dtype_size(dtype), 0xff, npl_dtype_size(dtype));
	struct kernel_case c = {.op = op,
				.attrs = &attrs,
				.n_in = 2,
				.n_out = 1,
				.in = {&a, &b},
				.dtype = stored,
				.fused = fused,
				.relative = op == NPL_OP_POW ? STEPS(16)
					    : fused          ? STEPS(8)
							     : 0,
				.absolute = fused ? STEPS(4) : 0,
				.seed = seed};
	check_kernel(gpu, &c);
	npl_tensor_free(&a);
	npl_tensor_free(&b);
}

Test(cuda_elementwise, two_operands_of_every_type)
{
	struct gpu *gpu = gpu_open();
	for (size_t i = 0; i < sizeof binary_ops / sizeof *binary_ops; i++)
		for (int t = 0; t < binary_ops[i].n; t++)
			for (uint64_t k = 0; k < 12; k++)
				check_binary(gpu, binary_ops[i].op, binary_ops[i].types[t], NPL_F32, NPL_ACT_NONE,
					     1000 * i + 100 * (uint64_t)t + k + 1);
	gpu_close(gpu);
}

Test(cuda_elementwise, two_operands_of_16_bits_and_with_activations)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t k = 1; k <= 8; k++) {
		check_binary(gpu, NPL_OP_ADD, NPL_F32, NPL_F16, NPL_ACT_NONE, k);
		check_binary(gpu, NPL_OP_MUL, NPL_F32, NPL_BF16, NPL_ACT_NONE, k);
		for (int fused = NPL_ACT_RELU; fused < NPL_ACTIVATIONS; fused++)
			check_binary(gpu, NPL_OP_ADD, NPL_F32, NPL_F32, (enum npl_activation)fused, k);
	}
	gpu_close(gpu);
}

/* Positions of 64 bits, as tensors of 2^31 elements have them, give the same. */
Test(cuda_elementwise, positions_of_64_bits_give_the_same)
{
	struct gpu *gpu = gpu_open();
	cu_kernels_widen(gpu->kernels);
	for (uint64_t k = 1; k <= 12; k++)
		check_binary(gpu, NPL_OP_ADD, NPL_F32, NPL_F32, NPL_ACT_NONE, k);
	check_unary(gpu, NPL_OP_RELU, NPL_F32, 4, 1);
	gpu_close(gpu);
}

Test(cuda_elementwise, operators_before_opset_7_equal_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 8; seed++) {
		uint64_t state = seed;
		struct npl_attr given[] = {ATTR_INT("broadcast", 1), ATTR_INT("axis", 1)};
		struct npl_attrs add = attrs_of(NPL_OP_ADD, 6, given, 2), prelu = attrs_of(NPL_OP_PRELU, 6, NULL, 0);
		struct npl_shape shape = random_shape(&state, 3, 4, 6);
		struct npl_tensor x = random_values(&state, NPL_F32, shape, 1),
				  channel = random_values(&state, NPL_F32, npl_shape_of(1, shape.dim[1]), 1);
		struct kernel_case c = {.op = NPL_OP_ADD,
					.attrs = &add,
					.n_in = 2,
					.n_out = 1,
					.in = {&x, &channel},
					.dtype = NPL_F32,
					.seed = seed};
		check_kernel(gpu, &c);
		c.op = NPL_OP_PRELU;
		c.attrs = &prelu;
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
		npl_tensor_free(&channel);
	}
	gpu_close(gpu);
}

Test(cuda_elementwise, any_number_of_operands)
{
	static const enum npl_op ops[] = {NPL_OP_SUM, NPL_OP_MEAN, NPL_OP_MIN, NPL_OP_MAX};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		enum npl_op op = ops[seed % 4];
		enum npl_dtype dtype = seed % 3 == 0 && op != NPL_OP_MEAN ? NPL_I32 : NPL_F32;
		struct npl_attrs attrs = attrs_of(op, 13, NULL, 0);
		struct npl_shape shape = random_shape(&state, 0, 4, 7);
		struct npl_tensor x[6];
		struct kernel_case c = {.op = op,
					.attrs = &attrs,
					.n_in = (int)test_range(&state, 1, 6),
					.n_out = 1,
					.dtype = NPL_F32,
					.fused = dtype == NPL_F32 && seed % 5 == 0 ? NPL_ACT_RELU : NPL_ACT_NONE,
					.seed = seed};
		for (int k = 0; k < c.n_in; k++) {
			x[k] = random_values(&state, dtype, random_operand(&state, &shape), 1);
			c.in[k] = &x[k];
		}
		check_kernel(gpu, &c);
		for (int k = 0; k < c.n_in; k++)
			npl_tensor_free(&x[k]);
	}
	gpu_close(gpu);
}

Test(cuda_elementwise, where_equals_the_reference)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_I64, NPL_U8, NPL_F16};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		struct npl_attrs attrs = attrs_of(NPL_OP_WHERE, 16, NULL, 0);
		struct npl_shape shape = random_shape(&state, 0, 4, 8);
		enum npl_dtype dtype = types[seed % 4];
		struct npl_tensor condition = random_values(&state, NPL_BOOL, random_operand(&state, &shape), 1),
				  x = random_values(&state, dtype, random_operand(&state, &shape), 1),
				  y = random_values(&state, dtype, shape, 1);
		for (int64_t i = 0; i < npl_tensor_count(&condition); i++) /* any byte but 0 is true */
			((uint8_t *)condition.data)[i] *= (uint8_t)test_range(&state, 1, 255);
		struct kernel_case c = {.op = NPL_OP_WHERE,
					.attrs = &attrs,
					.n_in = 3,
					.n_out = 1,
					.in = {&condition, &x, &y},
					.dtype = NPL_F32,
					.seed = seed};
		check_kernel(gpu, &c);
		npl_tensor_free(&condition);
		npl_tensor_free(&x);
		npl_tensor_free(&y);
	}
	gpu_close(gpu);
}

/* All casts from and to float32 are tried, and a quarter of the others, since each pair of types is a kernel to
 * compile. */
Test(cuda_elementwise, casts_between_types)
{
	struct gpu *gpu = gpu_open();
	for (int from = 0; from < NPL_DTYPES; from++)
		for (int to = 0; to < NPL_DTYPES; to++) {
			if (from != NPL_F32 && to != NPL_F32 && (from + 2 * to) % 4)
				continue;
			uint64_t seed = (uint64_t)(from * NPL_DTYPES + to + 1), state = seed;
			struct npl_attrs attrs = {.op = NPL_OP_CAST, .opset = 13, .cast.to = (enum npl_dtype)to};
			struct npl_tensor x = random_values(&state, (enum npl_dtype)from, npl_shape_of(1, 300), 300);
			bool wide = from == NPL_I64 || from == NPL_U64 || from == NPL_F64 || from == NPL_I32 ||
				    from == NPL_U32;
			if (from == NPL_F32)
				put_specials(&x);
			/* by way of float32 a 16-bit float may be rounded twice */
			struct kernel_case c = unary_case(NPL_OP_CAST, &attrs, &x, NPL_F32, seed);
			c.relative = wide && to == NPL_F16 ? 0x1p-11 : wide && to == NPL_BF16 ? 0x1p-8 : 0;
			c.absolute = wide && to == NPL_F16 ? 0x1p-24 : 0;
			check_kernel(gpu, &c);
			npl_tensor_free(&x);
		}
	gpu_close(gpu);
}

/* Every float16 and bfloat16 widened, and many floats narrowed, as core/base/half.c has them: NaNs stay NaNs,
 * whichever. */
Test(cuda_elementwise, values_as_they_are_stored)
{
	enum { N = 65536 };
	static const enum npl_dtype halves[] = {NPL_F16, NPL_BF16};
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	for (int h = 0; h < 2; h++) {
		uint16_t bits[N], back[N];
		float real[N], expected[N];
		uint64_t seed = 7;
		struct cu_value half = {address_of(bits), halves[h], npl_shape_of(1, N), false},
				narrow = {address_of(back), halves[h], npl_shape_of(1, N), false},
				wide = {address_of(real), NPL_F32, npl_shape_of(1, N), false};
		for (int i = 0; i < N; i++)
			bits[i] = (uint16_t)i;
		npl_half_widen(halves[h], bits, N, expected);
		cr_assert_eq(cu_kernel_cast(gpu->kernels, &half, &wide, NULL, &err), 0, "%s", err.msg);
		for (int i = 0; i < N; i++)
			cr_assert((isnan(real[i]) && isnan(expected[i])) || !memcmp(&real[i], &expected[i], 4), "%04x",
				  i);
		for (int i = 0; i < N; i++) { /* near halves of steps too */
			uint32_t pattern = (uint32_t)(test_rng(&seed) >> 20);
			if (i % 2)
				pattern = (pattern & 0xfffff000) | (i % 4 == 1 ? 0x1000 : 0xfff) * (i % 8 < 4);
			memcpy(&real[i], &pattern, 4);
		}
		npl_half_narrow(halves[h], real, N, bits);
		cr_assert_eq(cu_kernel_cast(gpu->kernels, &wide, &narrow, NULL, &err), 0, "%s", err.msg);
		for (int i = 0; i < N; i++)
			cr_assert(bits[i] == back[i] || isnan(real[i]), "%a: %04x, expected %04x", (double)real[i],
				  back[i], bits[i]);
	}
	gpu_close(gpu);
}
