/* SPDX-License-Identifier: MIT
 *
 * Promise: what the threads of the cpu device share out, in slices or as parts of a copy, has the bits of the reference
 * device. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/kit/cpu_devices.h"

TestSuite(cpu_slices, .init = open_devices, .fini = close_devices);

/* A layer that is cut into slices for the threads: the bits of the reference device. */
static void check_sliced(enum npl_op op, struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in)
{
	struct npl_tensor y[3] = {{0}};
	struct npl_err err = {0};
	for (int k = 0; k < 3; k++) {
		cr_assert_eq(npl_op_shape(op, attrs, in, n_in, &y[k], 1, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_tensor_alloc(&y[k], &err), 0);
		struct npl_result result = {0};
		struct npl_layer layer = {.name = "sliced", .op = op, .attrs = attrs, .n_in = n_in, .out = &y[k]};
		for (int i = 0; i < n_in; i++)
			layer.in[i] = in[i];
		cr_assert(cpu_is_sliced(&layer) || cpu_is_copy(&layer), "seed %llu", (unsigned long long)seed);
		int failed = k ? npl_driver_cpu.run(cpu[k], &layer, &result, &err)
			       : npl_driver_reference.run(NULL, &layer, &result, &err);
		cr_assert_eq(failed, 0, "%s", err.msg);
	}
	for (int k = 1; k <= 2; k++)
		cr_assert_arr_eq(y[k].data, y[0].data, npl_tensor_bytes(&y[0]), "seed %llu, %s, %d threads",
				 (unsigned long long)seed, npl_op_defs[op].name, k);
	for (int k = 0; k < 3; k++)
		npl_tensor_free(&y[k]);
}

Test(cpu_slices, slices_equal_the_whole)
{
	static const enum npl_op softmaxes[] = {NPL_OP_SOFTMAX, NPL_OP_LOGSOFTMAX, NPL_OP_HARDMAX};
	for (uint64_t i = 1; i <= 60; i++) {
		start(i);
		struct npl_attrs attrs = {.opset = pick(0, 1) ? 13 : 12, .along.axis = pick(1, 3)};
		struct npl_tensor x = random_tensor(npl_shape_of(4, pick(2, 9), pick(1, 20), pick(1, 30), pick(1, 30)));
		const struct npl_tensor *in[] = {&x};
		check_sliced(softmaxes[i % 3], &attrs, in, 1);
		npl_tensor_free(&x);
	}
	for (uint64_t i = 1; i <= 40; i++) {
		start(i);
		float scale[] = {1, 1, (float)pick(5, 40) / 10, (float)pick(5, 40) / 10};
		struct npl_attrs attrs = {.opset = 13, .resize = {.mode = pick(0, 2), .transform = (int)pick(0, 3)}};
		struct npl_tensor x = random_tensor(npl_shape_of(4, pick(1, 3), pick(2, 12), pick(2, 30), pick(2, 30)));
		struct npl_tensor scales = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4), .data = scale};
		const struct npl_tensor *in[] = {&x, NULL, &scales};
		check_sliced(NPL_OP_RESIZE, &attrs, in, 3);
		npl_tensor_free(&x);
	}
}

Test(cpu_slices, averages_in_slices_equal_the_whole)
{
	for (uint64_t i = 1; i <= 40; i++) {
		start(i);
		struct npl_attrs attrs = {.op = NPL_OP_AVERAGEPOOL,
					  .pool = {.window = {.rank = 2, .count_include_pad = pick(0, 1)}}};
		for (int d = 0; d < 2; d++) {
			attrs.pool.window.kernel[d] = pick(1, 4);
			attrs.pool.window.stride[d] = pick(1, 3);
			attrs.pool.window.dilation[d] = pick(1, 2);
			attrs.pool.window.pad_begin[d] = attrs.pool.window.kernel[d] - 1;
		}
		struct npl_tensor x = random_tensor(
			npl_shape_of(4, pick(1, 3), pick(2, 12), pick(8, 40), pick(8, i % 4 ? 60 : 600)));
		const struct npl_tensor *in[] = {&x};
		check_sliced(NPL_OP_AVERAGEPOOL, &attrs, in, 1);
		npl_tensor_free(&x);
	}
}

Test(cpu_slices, sums_and_normalised_rows_in_slices_equal_the_whole)
{
	static const enum npl_op sums[] = {NPL_OP_REDUCESUM, NPL_OP_REDUCEMEAN, NPL_OP_REDUCEMAX, NPL_OP_REDUCEL2};
	for (uint64_t i = 1; i <= 40; i++) {
		start(i);
		const bool keep = pick(0, 1);
		struct npl_attrs sum = {.op = sums[i % 4],
					.opset = 11,
					.reduce = {.keep_dims = keep, .n_axes = 1, .axes = {pick(2, 3)}}};
		struct npl_attrs norm = {
			.op = NPL_OP_LAYERNORMALIZATION, .opset = 17, .norm = {.axis = pick(2, 3), .epsilon = 1e-5f}};
		struct npl_tensor x = random_tensor(npl_shape_of(4, 1, pick(2, 40), pick(8, 60), pick(8, 60)));
		struct npl_tensor scale = random_tensor(npl_shape_of(1, x.shape.dim[3]));
		const struct npl_tensor *in[] = {&x, &scale, &scale};
		check_sliced(sum.op, &sum, in, 1);
		check_sliced(norm.op, &norm, in, 3);
		norm.op = NPL_OP_RMSNORMALIZATION;
		check_sliced(norm.op, &norm, in, 2);
		struct npl_attrs greatest = {
			.op = NPL_OP_ARGMAX, .opset = 13, .arg = {.keep_dims = keep, .axis = pick(2, 3)}};
		check_sliced(greatest.op, &greatest, in, 1);
		struct npl_attrs instance = {.op = NPL_OP_INSTANCENORMALIZATION, .norm.epsilon = 1e-5f};
		x.shape = i % 2 ? x.shape : npl_shape_of(4, x.shape.dim[1], 1, x.shape.dim[2], x.shape.dim[3]);
		struct npl_tensor each = random_tensor(npl_shape_of(1, x.shape.dim[1]));
		in[1] = in[2] = &each;
		check_sliced(instance.op, &instance, in, 3);
		npl_tensor_free(&each);
		npl_tensor_free(&x);
		npl_tensor_free(&scale);
	}
}

/* A scale for each slice, dimensions that go before the slices, and sums over the slices themselves. */
Test(cpu_slices, results_across_slices_are_not_sliced)
{
	struct npl_tensor x = random_tensor(npl_shape_of(3, 1, 6, 5)), each = random_tensor(npl_shape_of(3, 1, 6, 5)),
			  y = {0};
	struct npl_attrs norm = {.op = NPL_OP_LAYERNORMALIZATION, .opset = 17, .norm.axis = 2};
	struct npl_attrs sum = {.op = NPL_OP_REDUCESUM, .opset = 11, .reduce = {.n_axes = 2, .axes = {0, 2}}};
	struct npl_layer layer = {.name = "n", .op = norm.op, .attrs = &norm, .n_in = 2, .in = {&x, &each}, .out = &y};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_shape(norm.op, &norm, layer.in, 2, &y, 1, &err), 0, "%s", err.msg);
	cr_assert_not(cpu_is_sliced(&layer));
	layer.attrs = &sum;
	layer.op = sum.op;
	layer.n_in = 1;
	for (int keep = 0; keep < 2; keep++) {
		sum.reduce.keep_dims = keep;
		y = (struct npl_tensor){0};
		cr_assert_eq(npl_op_shape(sum.op, &sum, layer.in, 1, &y, 1, &err), 0, "%s", err.msg);
		cr_assert_eq(cpu_is_sliced(&layer), keep);
	}
	sum.reduce.axes[1] = 1;
	y = (struct npl_tensor){0};
	cr_assert_eq(npl_op_shape(sum.op, &sum, layer.in, 1, &y, 1, &err), 0, "%s", err.msg);
	cr_assert_not(cpu_is_sliced(&layer));
	npl_tensor_free(&x);
	npl_tensor_free(&each);
}

Test(cpu_slices, shared_copies_equal_the_whole)
{
	static const int64_t perms[][4] = {{0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 2, 3}, {0, 1, 3, 2}, {2, 3, 0, 1}};
	for (uint64_t i = 1; i <= 40; i++) {
		start(i);
		struct npl_attrs transpose = {.op = NPL_OP_TRANSPOSE, .transpose.rank = 4};
		struct npl_attrs squares = {.op = NPL_OP_SPACETODEPTH, .depth_space.block = 2};
		struct npl_tensor x = random_tensor(
			npl_shape_of(4, pick(1, 3), pick(1, 30), 2 * pick(4, 30), 2 * pick(4, 30)));
		const struct npl_tensor *in[] = {&x};
		memcpy(transpose.transpose.perm, perms[i % 5], sizeof perms[0]);
		check_sliced(NPL_OP_TRANSPOSE, &transpose, in, 1);
		check_sliced(NPL_OP_SPACETODEPTH, &squares, in, 1);
		npl_tensor_free(&x);
	}
}

/* Where a Resize changes the number of images or channels there are no planes to share out. */
Test(cpu_slices, layers_that_cannot_be_sliced_are_not)
{
	float scale[] = {2, 1, 1, 1};
	struct npl_attrs attrs = {.opset = 13, .resize.mode = NPL_RESIZE_LINEAR};
	struct npl_tensor x = random_tensor(npl_shape_of(4, 2, 3, 4, 5)), y = {0};
	struct npl_tensor scales = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4), .data = scale};
	struct npl_layer layer = {
		.name = "r", .op = NPL_OP_RESIZE, .attrs = &attrs, .n_in = 3, .in = {&x, NULL, &scales}, .out = &y};
	struct npl_err err = {0};
	for (int d = 0; d < 4; d++) {
		for (int k = 0; k < 4; k++)
			scale[k] = k == d ? 2 : 1;
		cr_assert_eq(npl_op_shape(NPL_OP_RESIZE, &attrs, layer.in, 3, &y, 1, &err), 0, "%s", err.msg);
		cr_assert_eq(cpu_is_sliced(&layer), d > 1);
	}
	npl_tensor_free(&x);
}
