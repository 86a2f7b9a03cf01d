/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's kernels that move elements, run on the processor: the bytes that the reference gives, of any
 * type, shape and alignment; an index that is not there is told and nothing outside is read. */
#include "backends/cuda/kernels/kernel_args.h"
#include "tests/kit/cuda/kernel_support.h"
#include "tests/kit/elementwise_support.h"

static const enum npl_dtype types[] = {NPL_F32, NPL_U8, NPL_I64, NPL_F16, NPL_BOOL};

static struct npl_tensor any_tensor(uint64_t *seed, struct npl_shape shape)
{
	return random_values(seed, types[test_range(seed, 0, 4)], shape, 1);
}

static struct npl_tensor list_of(int64_t *values, int64_t n)
{
	return (struct npl_tensor){.dtype = NPL_I64, .shape = npl_shape_of(1, n), .data = values};
}

static void check(struct gpu *gpu, enum npl_op op, struct npl_attrs attrs, struct npl_tensor *const *in, int n_in,
		  int n_out, uint64_t seed)
{
	struct kernel_case c = {
		.op = op, .attrs = &attrs, .n_in = n_in, .n_out = n_out, .dtype = NPL_F32, .seed = seed};
	memcpy(c.in, in, (size_t)n_in * sizeof *in);
	check_kernel(gpu, &c);
}

/* Draws a random order of the dimensions. */
static void shuffle(uint64_t *seed, int64_t *order, int n)
{
	for (int i = 0; i < n; i++)
		order[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int64_t k = test_range(seed, 0, i), swapped = order[i];
		order[i] = order[k];
		order[k] = swapped;
	}
}

Test(cuda_moving, transpose_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		int64_t order[NPL_MAX_RANK];
		struct npl_shape shape = random_shape(&state, 0, 5, 9);
		if (seed % 3 == 0) /* matrices that go by tiles */
			shape = npl_shape_of(3, test_range(&state, 1, 3), test_range(&state, 16, 70),
					     test_range(&state, 16, 70));
		shuffle(&state, order, shape.rank);
		if (seed % 6 == 0)
			order[0] = 0, order[1] = 2, order[2] = 1;
		struct npl_tensor x = any_tensor(&state, shape);
		struct npl_attrs attrs = {.opset = 13, .transpose.rank = shape.rank};
		memcpy(attrs.transpose.perm, order, sizeof order);
		check(gpu, NPL_OP_TRANSPOSE, attrs, (struct npl_tensor *[]){&x}, 1, 1, seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_moving, slice_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 1, 5, 9);
		int64_t starts[5], ends[5], axes[5], steps[5];
		struct npl_tensor x = any_tensor(&state, shape);
		for (int d = 0; d < shape.rank; d++) {
			axes[d] = d;
			starts[d] = test_range(&state, -shape.dim[d], shape.dim[d]);
			ends[d] = test_range(&state, 0, 4) ? test_range(&state, -shape.dim[d], 2 * shape.dim[d])
							   : INT64_MAX;
			steps[d] = test_range(&state, 0, 2)
					   ? 1
					   : test_range(&state, 1, 3) * (test_range(&state, 0, 1) ? 1 : -1);
		}
		struct npl_tensor lists[] = {list_of(starts, shape.rank), list_of(ends, shape.rank),
					     list_of(axes, shape.rank), list_of(steps, shape.rank)};
		check(gpu, NPL_OP_SLICE, (struct npl_attrs){.opset = 13},
		      (struct npl_tensor *[]){&x, &lists[0], &lists[1], &lists[2], &lists[3]}, 5, 1, seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_moving, split_and_concat_equal_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 1, 4, 12);
		int axis = (int)test_range(&state, 0, shape.rank - 1), n = (int)test_range(&state, 1, 5);
		enum npl_dtype dtype = types[seed % 5];
		struct npl_tensor piece[5], *in[5];
		struct npl_attrs join = {.opset = 13, .along.axis = axis}, split = {.opset = 13, .split.axis = axis};
		int64_t sizes[5], sum = 0;
		for (int k = 0; k < n; k++) {
			shape.dim[axis] = sizes[k] = test_range(&state, 0, 6);
			sum += sizes[k];
			piece[k] = random_values(&state, dtype, shape, 1);
			in[k] = &piece[k];
		}
		check(gpu, NPL_OP_CONCAT, join, in, n, 1, seed);
		shape.dim[axis] = sum;
		struct npl_tensor x = random_values(&state, dtype, shape, 1), list = list_of(sizes, n);
		check(gpu, NPL_OP_SPLIT, split, (struct npl_tensor *[]){&x, &list}, 2, n, seed);
		for (int k = 0; k < n; k++)
			npl_tensor_free(&piece[k]);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_moving, expand_and_tile_equal_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 0, 4, 7);
		struct npl_tensor x = any_tensor(&state, random_operand(&state, &shape)),
				  list = list_of(shape.dim, shape.rank);
		int64_t repeats[4];
		check(gpu, NPL_OP_EXPAND, (struct npl_attrs){.opset = 13}, (struct npl_tensor *[]){&x, &list}, 2, 1,
		      seed);
		for (int d = 0; d < x.shape.rank; d++)
			repeats[d] = test_range(&state, 0, 9) ? test_range(&state, 1, 4) : 0;
		list = list_of(repeats, x.shape.rank);
		check(gpu, NPL_OP_TILE, (struct npl_attrs){.opset = 13}, (struct npl_tensor *[]){&x, &list}, 2, 1,
		      seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_moving, blocks_between_depth_and_space)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t state = seed;
		int64_t b = test_range(&state, 1, 3), n = test_range(&state, 1, 2), c = test_range(&state, 1, 4),
			h = test_range(&state, 1, 5), w = test_range(&state, 1, 5);
		struct npl_tensor deep = any_tensor(&state, npl_shape_of(4, n, c * b * b, h, w)),
				  wide = any_tensor(&state, npl_shape_of(4, n, c, h * b, w * b));
		struct npl_attrs attrs = {.opset = 13, .depth_space = {.block = b, .mode = (unsigned)(seed % 2)}};
		check(gpu, NPL_OP_DEPTHTOSPACE, attrs, (struct npl_tensor *[]){&deep}, 1, 1, seed);
		attrs.depth_space.mode = NPL_DCR;
		check(gpu, NPL_OP_SPACETODEPTH, attrs, (struct npl_tensor *[]){&wide}, 1, 1, seed);
		npl_tensor_free(&deep);
		npl_tensor_free(&wide);
	}
	gpu_close(gpu);
}

Test(cuda_moving, a_reshaped_result_has_the_same_elements)
{
	static const enum npl_op ops[] = {NPL_OP_FLATTEN,   NPL_OP_IDENTITY, NPL_OP_DROPOUT,
					  NPL_OP_UNSQUEEZE, NPL_OP_SQUEEZE,  NPL_OP_RESHAPE};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 24; seed++) {
		uint64_t state = seed;
		enum npl_op op = ops[seed % 6];
		struct npl_shape shape = random_shape(&state, 2, 5, 7);
		int64_t axis[] = {0}, flat[] = {-1};
		shape.dim[0] = op == NPL_OP_SQUEEZE ? 1 : shape.dim[0];
		struct npl_tensor x = any_tensor(&state, shape), list = list_of(op == NPL_OP_RESHAPE ? flat : axis, 1);
		bool lists = op == NPL_OP_UNSQUEEZE || op == NPL_OP_SQUEEZE || op == NPL_OP_RESHAPE;
		struct npl_attrs attrs = {.opset = 13};
		if (op == NPL_OP_FLATTEN)
			attrs.along.axis = 1;
		check(gpu, op, attrs, (struct npl_tensor *[]){&x, &list}, lists ? 2 : 1, 1, seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_moving, pad_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		static const enum npl_dtype padded[] = {NPL_F32, NPL_I64, NPL_U8, NPL_F32};
		enum npl_dtype dtype = padded[seed % 4];
		struct npl_shape shape = random_shape(&state, 1, 4, 7);
		int64_t pads[8];
		struct npl_attrs attrs = {.opset = seed % 4 == 3 ? 10 : 13,
					  .pad = {.mode = (int)(seed % 3), .value = 0.25f}};
		for (int d = 0; d < shape.rank; d++) {
			pads[d] = test_range(&state, shape.dim[d] > 3 ? -1 : 0, 4);
			pads[shape.rank + d] = test_range(&state, shape.dim[d] > 3 ? -2 : 0, 3);
		}
		if (attrs.opset < 11) {
			attrs.pad.n = 2 * shape.rank;
			memcpy(attrs.pad.pad_begin, pads, sizeof *pads * (size_t)shape.rank);
			memcpy(attrs.pad.pad_end, pads + shape.rank, sizeof *pads * (size_t)shape.rank);
		} else {
			attrs.pad.value = 0;
		}
		struct npl_tensor x = random_values(&state, dtype, shape, 1), list = list_of(pads, 2 * shape.rank),
				  value = random_values(&state, dtype, npl_shape_of(1, 1), 1);
		check(gpu, NPL_OP_PAD, attrs, (struct npl_tensor *[]){&x, &list, seed % 5 ? &value : NULL},
		      attrs.opset < 11 ? 1 : 3, 1, seed);
		npl_tensor_free(&x);
		npl_tensor_free(&value);
	}
	gpu_close(gpu);
}

/* Indices within -size..size-1. */
static struct npl_tensor random_indices(uint64_t *seed, struct npl_shape shape, int64_t size)
{
	struct npl_tensor t = test_tensor(test_range(seed, 0, 1) ? NPL_I64 : NPL_I32, shape);
	for (int64_t i = 0; i < npl_tensor_count(&t); i++) {
		int64_t index = test_range(seed, -size, size - 1);
		if (t.dtype == NPL_I64)
			((int64_t *)t.data)[i] = index;
		else
			((int32_t *)t.data)[i] = (int32_t)index;
	}
	return t;
}

Test(cuda_moving, gather_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	int fault = 0;
	cu_kernels_fault_at(gpu->kernels, address_of(&fault));
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 1, 4, 9), within = shape;
		int axis = (int)test_range(&state, 0, shape.rank - 1);
		struct npl_tensor x = any_tensor(&state, shape),
				  indices = random_indices(&state, random_shape(&state, 0, 3, 5), shape.dim[axis]);
		check(gpu, NPL_OP_GATHER, (struct npl_attrs){.opset = 13, .gather.axis = axis},
		      (struct npl_tensor *[]){&x, &indices}, 2, 1, seed);
		npl_tensor_free(&indices);
		for (int d = 0; d < shape.rank; d++)
			within.dim[d] = d == axis ? test_range(&state, 1, 12) : test_range(&state, 1, shape.dim[d]);
		indices = random_indices(&state, within, shape.dim[axis]);
		check(gpu, NPL_OP_GATHERELEMENTS, (struct npl_attrs){.opset = 13, .gather.axis = axis},
		      (struct npl_tensor *[]){&x, &indices}, 2, 1, seed);
		npl_tensor_free(&indices);
		npl_tensor_free(&x);
	}
	cr_assert_eq(fault, 0);
	gpu_close(gpu);
}

Test(cuda_moving, gather_by_tuples_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint64_t state = seed;
		int64_t size = test_range(&state, 1, 5);
		struct npl_shape shape = random_shape(&state, 1, 4, 5), tuples = {.rank = 0};
		int batch = (int)test_range(&state, 0, shape.rank - 1),
		    tuple = (int)test_range(&state, 1, shape.rank - batch);
		for (int d = 0; d < batch; d++)
			tuples.dim[tuples.rank++] = shape.dim[d];
		for (int d = batch; d < shape.rank; d++)
			shape.dim[d] = size;
		if (test_range(&state, 0, 1) || !batch)
			tuples.dim[tuples.rank++] = test_range(&state, 1, 4);
		tuples.dim[tuples.rank++] = tuple;
		struct npl_tensor x = any_tensor(&state, shape), indices = random_indices(&state, tuples, size);
		check(gpu, NPL_OP_GATHERND, (struct npl_attrs){.opset = 13, .gather.batch_dims = batch},
		      (struct npl_tensor *[]){&x, &indices}, 2, 1, seed);
		npl_tensor_free(&x);
		npl_tensor_free(&indices);
	}
	gpu_close(gpu);
}

/* Indices of integers and floats, also outside of the depth; values of any type. */
Test(cuda_moving, one_hot_equals_the_reference)
{
	static const enum npl_dtype index_types[] = {NPL_I64, NPL_I32, NPL_F32};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 0, 3, 5);
		int64_t depth = test_range(&state, 1, 6);
		struct npl_tensor indices = test_tensor(index_types[seed % 3], shape),
				  values = any_tensor(&state, npl_shape_of(1, 2)), count = list_of(&depth, 1);
		for (int64_t i = 0; i < npl_tensor_count(&indices); i++) {
			int64_t index = test_range(&state, -depth - 1, depth + 1);
			if (indices.dtype == NPL_F32)
				((float *)indices.data)[i] = i == 3 ? NAN : (float)index + (index < 0 ? -0.5f : 0.5f);
			else if (indices.dtype == NPL_I64)
				((int64_t *)indices.data)[i] = index;
			else
				((int32_t *)indices.data)[i] = (int32_t)index;
		}
		check(gpu, NPL_OP_ONEHOT,
		      (struct npl_attrs){.opset = seed % 4 ? 11 : 9,
					 .one_hot.axis = test_range(&state, -shape.rank - 1, shape.rank)},
		      (struct npl_tensor *[]){&indices, &count, &values}, 3, 1, seed);
		npl_tensor_free(&indices);
		npl_tensor_free(&values);
	}
	gpu_close(gpu);
}

Test(cuda_moving, triangles_equal_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint64_t state = seed;
		int64_t k = seed % 5 ? test_range(&state, -9, 9) : seed % 2 ? INT64_MAX : INT64_MIN;
		struct npl_tensor x = any_tensor(&state, random_shape(&state, 2, 4, 9)), diagonal = list_of(&k, 1);
		check(gpu, NPL_OP_TRILU, (struct npl_attrs){.opset = 14, .trilu.upper = seed % 2},
		      (struct npl_tensor *[]){&x, &diagonal}, seed % 4 ? 2 : 1, 1, seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_moving, reversed_sequences_equal_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 2, 4, 8);
		int64_t time = test_range(&state, 0, 1), lengths[8];
		for (int64_t b = 0; b < shape.dim[1 - time]; b++)
			lengths[b] = test_range(&state, 0, shape.dim[time]);
		struct npl_tensor x = any_tensor(&state, shape), list = list_of(lengths, shape.dim[1 - time]);
		check(gpu, NPL_OP_REVERSESEQUENCE,
		      (struct npl_attrs){.opset = 13, .reverse_sequence = {.time_axis = time, .batch_axis = 1 - time}},
		      (struct npl_tensor *[]){&x, &list}, 2, 1, seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

/* Every type into the other order of elements and back, floats from one type to the other on the way: by tiles where
 * both sides are long, by a walk where one is short. */
Test(cuda_moving, channels_last_and_back)
{
	static const enum npl_dtype pairs[][2] = {{NPL_F32, NPL_F16},   {NPL_F16, NPL_F32}, {NPL_F32, NPL_BF16},
						  {NPL_BF16, NPL_F32},  {NPL_F32, NPL_F32}, {NPL_F16, NPL_F16},
						  {NPL_BOOL, NPL_BOOL}, {NPL_I64, NPL_I64}};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 64; seed++) {
		const enum npl_dtype from = pairs[seed % 8][0], to = pairs[seed % 8][1];
		const bool to_last = seed / 8 % 2;
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 3, 5, 5);
		struct npl_err err = {0};
		if (seed % 3) {
			shape.dim[1] = test_range(&state, 16, 70);
			shape.dim[shape.rank - 1] = test_range(&state, 16, 40);
		}
		const size_t count = (size_t)npl_shape_count(&shape), element = npl_dtype_size(to);
		struct npl_tensor x = random_values(&state, from == NPL_F16 || from == NPL_BF16 ? NPL_F32 : from, shape,
						    3);
		struct device_memory read = to_device(&x, from, seed % 5 == 0),
				     written = device_alloc(count * element, 0),
				     expected = device_alloc(count * element, 0);
		if (from == to)
			memcpy(expected.data, read.data, count * element);
		else if (from == NPL_F32)
			npl_half_narrow(to, x.data, (int64_t)count, expected.data);
		else
			memcpy(expected.data, x.data, count * element);
		if (to_last)
			turn_elements(&shape, element, true, expected.data);
		else
			turn_elements(&shape, npl_dtype_size(from), true, read.data);
		const struct cu_value in = {address_of(read.data), from, shape, !to_last},
				      out = {address_of(written.data), to, shape, to_last};
		cr_assert_eq(cu_kernel_cast(gpu->kernels, &in, &out, NULL, &err), 0, "%s", err.msg);
		cr_assert(!memcmp(written.data, expected.data, count * element), "seed %llu: %s to %s",
			  (unsigned long long)seed, npl_dtype_name(from), npl_dtype_name(to));
		device_free(&read, "a turn");
		device_free(&written, "a turn");
		device_free(&expected, "nobody");
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

/* The word says that it is a length, and the nearest valid lengths, 0 and 3, are taken instead. */
Test(cuda_moving, an_invalid_length_of_a_sequence_is_reported)
{
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	int64_t bad[] = {-1, 4};
	float values[] = {1, 2, 3, 4, 5, 6}, actual[6];
	static const int expected[] = {1, 6, 3, 4, 5, 2};
	struct npl_tensor x = vector(NPL_F32, 6, values), lengths = vector(NPL_I64, 2, bad),
			  out = vector(NPL_F32, 6, NULL);
	x.shape = out.shape = npl_shape_of(2, 3, 2);
	const struct npl_attrs attrs = {.op = NPL_OP_REVERSESEQUENCE, .reverse_sequence = {.batch_axis = 1}};
	const struct npl_layer layer = {
		.op = NPL_OP_REVERSESEQUENCE, .attrs = &attrs, .n_in = 2, .in = {&x, &lengths}, .out = &out};
	const struct cu_value in[] = {{address_of(values), NPL_F32, x.shape, false},
				      {address_of(bad), NPL_I64, lengths.shape, false}};
	struct cu_value to = {address_of(actual), NPL_F32, out.shape, false};
	int fault = 0;
	cu_kernels_fault_at(gpu->kernels, address_of(&fault));
	cr_assert_eq(cu_kernel_run(gpu->kernels, &layer, in, &to, NULL, &err), 0, "%s", err.msg);
	cr_assert_eq(fault, CU_FAULT_LENGTH);
	for (int i = 0; i < 6; i++)
		cr_assert_eq((int)actual[i], expected[i], "%d", i);
	gpu_close(gpu);
}

/* The word is set, what is read lies within the tensor: its ends. */
Test(cuda_moving, an_index_outside_the_tensor_is_reported)
{
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	int64_t bad[] = {1, 3, -4, 0, INT64_MAX, INT64_MIN};
	static const int expected[] = {11, 12, 10, 10, 12, 10};
	float values[] = {10, 11, 12}, actual[6];
	struct npl_tensor x = vector(NPL_F32, 3, values), indices = vector(NPL_I64, 6, bad),
			  out = vector(NPL_F32, 6, NULL);
	const struct npl_attrs attrs = {.op = NPL_OP_GATHER};
	const struct npl_layer layer = {
		.op = NPL_OP_GATHER, .attrs = &attrs, .n_in = 2, .in = {&x, &indices}, .out = &out};
	const struct cu_value in[] = {{address_of(values), NPL_F32, x.shape, false},
				      {address_of(bad), NPL_I64, indices.shape, false}};
	struct cu_value to = {address_of(actual), NPL_F32, out.shape, false};
	int fault = 0;
	cr_assert_eq(cu_kernel_run(gpu->kernels, &layer, in, &to, NULL, &err), 0, "%s", err.msg);
	cu_kernels_fault_at(gpu->kernels, address_of(&fault));
	cr_assert_eq(cu_kernel_run(gpu->kernels, &layer, in, &to, NULL, &err), 0, "%s", err.msg);
	cr_assert_eq(fault, CU_FAULT_INDEX);
	for (int i = 0; i < 6; i++)
		cr_assert_eq((int)actual[i], expected[i], "%d", i);
	gpu_close(gpu);
}

/* Nothing is launched for a result without elements. */
Test(cuda_moving, nothing_is_launched_for_an_empty_result)
{
	struct gpu *gpu = gpu_open();
	uint64_t seed = 1;
	struct npl_tensor none = any_tensor(&seed, npl_shape_of(3, 2, 0, 3)), floats = test_tensor(NPL_F32, none.shape);
	struct npl_tensor *in[] = {&none, &none};
	check(gpu, NPL_OP_TRANSPOSE, (struct npl_attrs){.opset = 13}, in, 1, 1, 1);
	check(gpu, NPL_OP_CONCAT, (struct npl_attrs){.opset = 13, .along.axis = 1}, in, 2, 1, 1);
	in[0] = &floats;
	check(gpu, NPL_OP_RELU, (struct npl_attrs){.opset = 13}, in, 1, 1, 1);
	check(gpu, NPL_OP_SOFTMAX, (struct npl_attrs){.opset = 13, .along.axis = 2}, in, 1, 1, 1);
	cr_assert_eq(cuda_native_counts.launches, 0);
	npl_tensor_free(&none);
	npl_tensor_free(&floats);
	gpu_close(gpu);
}
