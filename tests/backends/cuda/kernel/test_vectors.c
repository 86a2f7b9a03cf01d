/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's kernels along axes, run on the processor with threads that meet at barriers: the ReduceSum
 * family, Softmax, ArgMax, the normalisations and Resize give what the reference gives; sums are in float32, so they
 * are off by as much as their terms are large. */
#include "tests/kit/cuda/kernel_support.h"
#include "tests/kit/elementwise_support.h"

static struct kernel_case case_of(enum npl_op op, struct npl_attrs *attrs, struct npl_tensor *x, uint64_t seed)
{
	return (struct kernel_case){.op = op,
				    .attrs = attrs,
				    .n_in = 1,
				    .n_out = 1,
				    .in = {x},
				    .dtype = NPL_F32,
				    .relative = 32 * 0x1p-24,
				    .seed = seed};
}

/* Shapes whose vectors are long or many now and then. */
static struct npl_shape vector_shape(uint64_t *seed)
{
	switch (test_range(seed, 0, 3)) {
	case 0:
		return npl_shape_of(2, test_range(seed, 1, 3), test_range(seed, 100, 700));
	case 1:
		return npl_shape_of(2, test_range(seed, 100, 300), test_range(seed, 1, 3));
	default:
		return random_shape(seed, 1, 5, 8);
	}
}

static void check_reduce(struct gpu *gpu, enum npl_op op, enum npl_dtype stored, uint64_t seed)
{
	uint64_t state = seed;
	struct npl_attrs attrs = {.opset = 12, .reduce = {.keep_dims = seed % 2, .n_axes = -1}};
	struct npl_tensor x = random_values(&state, NPL_F32, vector_shape(&state), 1);
	double size = 0;
	for (int64_t i = 0; i < npl_tensor_count(&x); i++) {
		float *v = (float *)x.data + i;
		if (op == NPL_OP_REDUCELOGSUM)
			*v = 0.1f + fabsf(*v);
		if (op == NPL_OP_REDUCEPROD)
			*v = 1 + 0.01f * *v;
		size += fabs((double)*v);
	}
	if (seed % 7 == 0 && (op == NPL_OP_REDUCEMAX || op == NPL_OP_REDUCEMIN || op == NPL_OP_REDUCELOGSUMEXP))
		((float *)x.data)[0] = seed % 2 ? NAN : INFINITY;
	if (test_range(&state, 0, 4)) {
		attrs.reduce.n_axes = 0;
		for (int d = 0; d < x.shape.rank; d++)
			if (test_range(&state, 0, 1))
				attrs.reduce.axes[attrs.reduce.n_axes++] = d;
	}
	struct kernel_case c = case_of(op, &attrs, &x, seed);
	c.dtype = stored;
	c.absolute = 1e-7 + size * 0x1p-24;
	c.fused = seed % 6 ? NPL_ACT_NONE : NPL_ACT_RELU;
	check_kernel(gpu, &c);
	npl_tensor_free(&x);
}

Test(cuda_vectors, reductions_equal_the_reference)
{
	static const enum npl_op ops[] = {NPL_OP_REDUCESUM,      NPL_OP_REDUCEMEAN,      NPL_OP_REDUCEMAX,
					  NPL_OP_REDUCEMIN,      NPL_OP_REDUCEPROD,      NPL_OP_REDUCEL1,
					  NPL_OP_REDUCEL2,       NPL_OP_REDUCESUMSQUARE, NPL_OP_REDUCELOGSUM,
					  NPL_OP_REDUCELOGSUMEXP};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 100; seed++)
		check_reduce(gpu, ops[seed % 10], NPL_F32, seed);
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_reduce(gpu, ops[seed % 3], NPL_F16, seed);
	cu_kernels_widen(gpu->kernels);
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_reduce(gpu, NPL_OP_REDUCESUM, NPL_F32, seed);
	gpu_close(gpu);
}

/* Axes as an input; none of them. */
Test(cuda_vectors, reduction_by_axes_that_are_an_input)
{
	struct gpu *gpu = gpu_open();
	uint64_t seed = 5;
	int64_t axes[] = {-1, 0};
	struct npl_tensor x = random_values(&seed, NPL_F32, npl_shape_of(3, 3, 4, 5), 1),
			  list = vector(NPL_I64, 2, axes);
	for (int none = 0; none < 2; none++) {
		struct npl_attrs attrs = {.opset = 13, .reduce = {.keep_dims = true, .empty_is_none = none}};
		struct kernel_case c = case_of(NPL_OP_REDUCESUM, &attrs, &x, 5);
		c.n_in = 2 - none;
		c.in[1] = &list;
		c.absolute = 1e-5;
		check_kernel(gpu, &c);
	}
	npl_tensor_free(&x);
	gpu_close(gpu);
}

Test(cuda_vectors, softmax_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		struct npl_tensor x = random_values(&state, NPL_F32, vector_shape(&state), 10);
		struct npl_attrs attrs = {.opset = seed % 3 ? 13 : 11,
					  .along.axis = test_range(&state, -x.shape.rank, x.shape.rank - 1)};
		if (seed % 5 == 0)
			((float *)x.data)[0] = seed % 2 ? -INFINITY : 1e30f;
		struct kernel_case c = case_of(seed % 2 ? NPL_OP_SOFTMAX : NPL_OP_LOGSOFTMAX, &attrs, &x, seed);
		if (seed % 6 == 0)
			c.op = NPL_OP_HARDMAX;
		for (int64_t i = 0; i < npl_tensor_count(&x) && seed % 12 == 0; i++) /* equals, and some NaN */
			((float *)x.data)[i] = test_range(&state, 0, 9) ? (float)test_range(&state, -2, 2) : NAN;
		c.dtype = seed % 4 ? NPL_F32 : seed % 8 ? NPL_F16 : NPL_BF16;
		c.absolute = seed % 2 ? 1e-7 : 1e-5;
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

/* Equal elements are common among few values, and some are NaN. */
Test(cuda_vectors, argmax_and_argmin_equal_the_reference)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_I8, NPL_I64};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		enum npl_dtype dtype = types[seed % 3];
		struct npl_tensor x = random_values(&state, dtype, vector_shape(&state), 1);
		for (int64_t i = 0; i < npl_tensor_count(&x); i++) {
			int64_t v = test_range(&state, -3, 3);
			if (dtype == NPL_F32)
				((float *)x.data)[i] = v == 3 && seed % 2 ? NAN : (float)v;
			else if (dtype == NPL_I8)
				((int8_t *)x.data)[i] = (int8_t)v;
			else
				((int64_t *)x.data)[i] = v;
		}
		struct npl_attrs attrs = {.opset = 13,
					  .arg = {.axis = test_range(&state, -x.shape.rank, x.shape.rank - 1),
						  .keep_dims = test_range(&state, 0, 1),
						  .select_last = test_range(&state, 0, 1)}};
		struct kernel_case c = case_of(seed % 2 ? NPL_OP_ARGMAX : NPL_OP_ARGMIN, &attrs, &x, seed);
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_vectors, normalisations_equal_the_reference)
{
	static const enum npl_op ops[] = {NPL_OP_LAYERNORMALIZATION, NPL_OP_INSTANCENORMALIZATION,
					  NPL_OP_MEANVARIANCENORMALIZATION, NPL_OP_LPNORMALIZATION};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 80; seed++) {
		uint64_t state = seed;
		enum npl_op op = ops[seed % 4];
		struct npl_shape shape = random_shape(&state, op == NPL_OP_INSTANCENORMALIZATION ? 3 : 1, 4, 12), tail;
		if (op == NPL_OP_LAYERNORMALIZATION && seed % 3 == 0)
			shape = npl_shape_of(2, 4, test_range(&state, 200, 700));
		struct npl_attrs attrs = {.opset = 17,
					  .norm = {.axis = test_range(&state, 0, shape.rank - 1),
						   .epsilon = 1e-3f,
						   .p = test_range(&state, 1, 2)}};
		for (int d = 0; d < shape.rank; d++)
			if (d == 0 || test_range(&state, 0, 1))
				attrs.norm.axes[attrs.norm.n_axes++] = d;
		tail.rank = shape.rank - (int)attrs.norm.axis;
		memcpy(tail.dim, shape.dim + attrs.norm.axis,
		       sizeof shape.dim - (size_t)attrs.norm.axis * sizeof *shape.dim);
		if (op == NPL_OP_INSTANCENORMALIZATION)
			tail = npl_shape_of(1, shape.dim[1]);
		struct npl_tensor x = random_values(&state, NPL_F32, shape, 2),
				  scale = random_values(&state, NPL_F32, tail, 1),
				  bias = random_values(&state, NPL_F32, tail, 1);
		struct kernel_case c = case_of(op, &attrs, &x, seed);
		if (op == NPL_OP_LAYERNORMALIZATION || op == NPL_OP_INSTANCENORMALIZATION) {
			c.n_in = op == NPL_OP_LAYERNORMALIZATION && seed % 5 == 0 ? 2 : 3;
			c.in[1] = &scale;
			c.in[2] = &bias;
			c.n_out = op == NPL_OP_LAYERNORMALIZATION ? (int)test_range(&state, 1, 3) : 1;
		}
		/* constant vectors divide what rounding left by the least deviation */
		if (op == NPL_OP_MEANVARIANCENORMALIZATION)
			for (int64_t i = 0; i < npl_tensor_count(&x) && shape.dim[0] == 1; i++)
				((float *)x.data)[i] = 0;
		c.dtype = seed % 8 < 4 || c.n_out > 1 ? NPL_F32 : NPL_F16;
		c.relative = 64 * 0x1p-24;
		c.absolute = 2e-5;
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
		npl_tensor_free(&scale);
		npl_tensor_free(&bias);
	}
	gpu_close(gpu);
}

/* Every mode, transformation and way of the nearest, by scales and by sizes. */
Test(cuda_vectors, resize_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 150; seed++) {
		uint64_t state = seed;
		const enum npl_resize_mode mode = (unsigned)(seed % 3);
		struct npl_attrs attrs = {.opset = 13};
		attrs.resize = (struct npl_resize_attrs){.mode = mode,
							 .transform = (unsigned)test_range(&state, 0, 5),
							 .nearest = (unsigned)test_range(&state, 0, 3),
							 .cubic_a = -0.75f,
							 .extrapolation_value = 0.5f,
							 .exclude_outside = test_range(&state, 0, 1)};
		struct npl_shape shape = random_shape(&state, 1, 4, 7);
		enum npl_dtype dtype = mode == NPL_RESIZE_NEAREST && seed % 2 ? NPL_U8 : NPL_F32;
		float roi[8], scales[4];
		int64_t sizes[4];
		bool sized = test_range(&state, 0, 1);
		for (int d = 0; d < shape.rank; d++) {
			roi[d] = (float)test_range(&state, -1, 3) / 8;
			roi[shape.rank + d] = (float)test_range(&state, 5, 9) / 8;
			scales[d] = test_range(&state, 0, 2) ? (float)test_range(&state, 2, 12) / 4 : 1;
			if ((float)shape.dim[d] * scales[d] < 1)
				scales[d] = 1;
			sizes[d] = test_range(&state, 0, 2) ? test_range(&state, 1, 12) : shape.dim[d];
		}
		struct npl_tensor x = random_values(&state, dtype, shape, 1), r = vector(NPL_F32, 2 * shape.rank, roi),
				  s = vector(NPL_F32, sized ? 0 : shape.rank, scales),
				  z = vector(NPL_I64, shape.rank, sizes);
		if (attrs.resize.transform == NPL_RESIZE_TF_CROP_AND_RESIZE && !sized)
			s.data = memcpy(scales, (float[]){2, 2, 2, 2}, sizeof scales);
		struct kernel_case c = case_of(NPL_OP_RESIZE, &attrs, &x, seed);
		c.n_in = sized ? 4 : 3;
		c.in[1] = &r;
		c.in[2] = &s;
		c.in[3] = &z;
		c.absolute = 4e-6;
		c.dtype = mode && seed % 4 == 0 ? NPL_F16 : NPL_F32;
		if (c.dtype == NPL_F16) { /* what the shape rule reads stays as it is */
			c.in[1] = NULL;
			attrs.resize.transform %= NPL_RESIZE_TF_CROP_AND_RESIZE;
		}
		if (c.dtype == NPL_F16 && !sized)
			for (int d = 0; d < shape.rank; d++)
				scales[d] = 2;
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}
