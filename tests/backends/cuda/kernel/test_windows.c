/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's kernels over windows and channels, run on the processor: pooling in one to three dimensions,
 * LRN, BatchNormalization, what follows a product, and the patches of a convolution, whose product with the weights is
 * the convolution. */
#include "core/ops/window.h"
#include "tests/kit/cuda/kernel_support.h"
#include "tests/kit/elementwise_support.h"

/* A window that fits the input, which it makes. */
static struct npl_window random_window(uint64_t *seed, int rank, struct npl_shape *x)
{
	struct npl_window w = {.rank = rank};
	*x = npl_shape_of(2 + rank, test_range(seed, 1, 3), test_range(seed, 1, 4));
	for (int i = 0; i < rank; i++) {
		int d = npl_window_index(rank, i);
		w.kernel[d] = test_range(seed, 1, 4);
		w.stride[d] = test_range(seed, 1, 3);
		w.dilation[d] = test_range(seed, 1, 2);
		int64_t extent = (w.kernel[d] - 1) * w.dilation[d] + 1;
		w.pad_begin[d] = test_range(seed, 0, extent - 1);
		w.pad_end[d] = test_range(seed, 0, extent - 1);
		x->dim[2 + i] = extent + test_range(seed, 0, 6);
	}
	w.ceil_mode = test_range(seed, 0, 1);
	w.count_include_pad = test_range(seed, 0, 1);
	return w;
}

static void check_pool(struct gpu *gpu, enum npl_op op, enum npl_dtype stored, uint64_t seed)
{
	uint64_t state = seed;
	struct npl_shape shape;
	struct npl_attrs attrs = {.opset = 12, .pool.p = test_range(&state, 1, 4)};
	attrs.pool.window = random_window(&state, (int)test_range(&state, 1, 3), &shape);
	attrs.pool.column_major = test_range(&state, 0, 1);
	if (seed % 3 == 0)
		shape.dim[1] *= 8; /* whole packs of channels */
	if (op != NPL_OP_AVERAGEPOOL)
		attrs.pool.window.count_include_pad = false;
	struct npl_tensor x = random_values(&state, NPL_F32, shape, 1);
	if (op == NPL_OP_MAXPOOL && seed % 4 == 0)
		((float *)x.data)[test_range(&state, 0, npl_tensor_count(&x) - 1)] = NAN;
	struct kernel_case c = {.op = op,
				.attrs = &attrs,
				.n_in = 1,
				.n_out = op == NPL_OP_MAXPOOL && seed % 2 ? 2 : 1,
				.in = {&x},
				.dtype = stored,
				.relative = 16 * 0x1p-24,
				.absolute = 0x1p-20,
				.fused = seed % 5 ? NPL_ACT_NONE : NPL_ACT_RELU,
				.seed = seed};
	check_kernel(gpu, &c);
	npl_tensor_free(&x);
}

Test(cuda_windows, pooling_equals_the_reference)
{
	static const enum npl_op ops[] = {NPL_OP_MAXPOOL,       NPL_OP_AVERAGEPOOL,       NPL_OP_LPPOOL,
					  NPL_OP_GLOBALMAXPOOL, NPL_OP_GLOBALAVERAGEPOOL, NPL_OP_GLOBALLPPOOL};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 90; seed++)
		check_pool(gpu, ops[seed % 6], NPL_F32, seed);
	for (uint64_t seed = 1; seed <= 12; seed++)
		check_pool(gpu, ops[seed % 2], seed % 4 < 2 ? NPL_F16 : NPL_BF16, 2 * seed);
	gpu_close(gpu);
}

Test(cuda_windows, positions_of_64_bits_give_the_same)
{
	struct gpu *gpu = gpu_open();
	cu_kernels_widen(gpu->kernels);
	for (uint64_t seed = 2; seed <= 16; seed += 2)
		check_pool(gpu, NPL_OP_MAXPOOL, NPL_F32, seed);
	gpu_close(gpu);
}

Test(cuda_windows, normalisation_by_channels_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 24; seed++) {
		uint64_t state = seed;
		bool per_element = seed % 6 == 0;
		struct npl_shape shape = random_shape(&state, 1, 5, 7);
		int64_t channels = shape.rank < 2 ? 1 : shape.dim[1];
		for (int d = 2; d < shape.rank && per_element; d++)
			channels *= shape.dim[d];
		struct npl_attrs attrs = {.opset = per_element ? 7 : 13,
					  .norm = {.epsilon = 1e-5f, .per_element = per_element}};
		struct npl_tensor in[5], *at[5];
		for (int k = 0; k < 5; k++) {
			in[k] = random_values(&state, NPL_F32, k ? npl_shape_of(1, channels) : shape, 1);
			at[k] = &in[k];
			for (int64_t i = 0; k == 4 && i < channels; i++)
				((float *)in[k].data)[i] = 0.1f + fabsf(((float *)in[k].data)[i]);
		}
		struct kernel_case c = {.op = NPL_OP_BATCHNORMALIZATION,
					.attrs = &attrs,
					.n_in = 5,
					.n_out = 1,
					.dtype = seed % 3 ? NPL_F32 : NPL_F16,
					.relative = 8 * 0x1p-24,
					.absolute = 8 * 0x1p-24,
					.fused = seed % 4 ? NPL_ACT_NONE : NPL_ACT_RELU6,
					.seed = seed};
		memcpy(c.in, at, sizeof at);
		check_kernel(gpu, &c);
		for (int k = 0; k < 5; k++)
			npl_tensor_free(&in[k]);
	}
	gpu_close(gpu);
}

Test(cuda_windows, response_normalisation_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 16; seed++) {
		uint64_t state = seed;
		struct npl_attrs attrs = {
			.opset = 13,
			.lrn = {.alpha = 0.3f, .beta = 0.75f, .bias = 1.5f, .size = test_range(&state, 1, 9)}};
		struct npl_tensor x = random_values(&state, NPL_F32, random_shape(&state, 2, 4, 9), 3);
		struct kernel_case c = {.op = NPL_OP_LRN,
					.attrs = &attrs,
					.n_in = 1,
					.n_out = 1,
					.in = {&x},
					.dtype = seed % 4 ? NPL_F32 : NPL_BF16,
					.relative = 16 * 0x1p-24,
					.seed = seed};
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

Test(cuda_windows, transposed_convolution_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		int rank = (int)test_range(&state, 1, 3);
		int64_t channels = test_range(&state, 1, 3), filters = test_range(&state, 1, 3);
		struct npl_shape shape;
		struct npl_attrs attrs = {
			.opset = 13,
			.conv = {.groups = test_range(&state, 1, 2), .window = random_window(&state, rank, &shape)}};
		attrs.conv.window.ceil_mode = attrs.conv.window.count_include_pad = false;
		shape.dim[1] = channels * attrs.conv.groups;
		struct npl_shape w_shape = npl_shape_of(2 + rank, shape.dim[1], filters);
		for (int i = 0; i < rank; i++) {
			int d = npl_window_index(rank, i);
			w_shape.dim[2 + i] = attrs.conv.window.kernel[d];
			attrs.conv.output_padding[d] = attrs.conv.window.stride[d] > 1 ? test_range(&state, 0, 1) : 0;
		}
		struct npl_tensor x = random_values(&state, NPL_F32, shape, 1),
				  w = random_values(&state, NPL_F32, w_shape, 1),
				  bias = random_values(&state, NPL_F32, npl_shape_of(1, filters * attrs.conv.groups),
						       1);
		struct kernel_case c = {.op = NPL_OP_CONVTRANSPOSE,
					.attrs = &attrs,
					.n_in = 2 + (int)test_range(&state, 0, 1),
					.n_out = 1,
					.in = {&x, &w, &bias},
					.dtype = seed % 5 ? NPL_F32 : NPL_F16,
					.absolute = 1e-5,
					.fused = seed % 3 ? NPL_ACT_NONE : NPL_ACT_RELU,
					.seed = seed};
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
		npl_tensor_free(&w);
		npl_tensor_free(&bias);
	}
	gpu_close(gpu);
}

/* Bias and activation against their formulas, in place too: channels of several elements and side by side, whole packs
 * of them and not. */
Test(cuda_windows, bias_and_activation_follow_their_formulas)
{
	static const int64_t shapes[][3] = {{2, 5, 7}, {2, 5, 8}, {7, 8, 1}, {9, 6, 1}, {1, 1, 1}, {3, 16, 1}};
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	for (int i = 0; i < 60; i++) {
		const enum npl_activation fused = (enum npl_activation)(i % NPL_ACTIVATIONS);
		const int64_t *size = shapes[i / 5 % 6], channels = size[1], inner = size[2];
		const enum npl_dtype stored = i >= 30 ? NPL_F16 : NPL_F32;
		const bool biased = i % 7 > 0;
		uint64_t seed = (uint64_t)i + 1;
		struct npl_tensor x = random_values(&seed, NPL_F32, npl_shape_of(3, size[0], channels, inner), 4),
				  bias = random_values(&seed, NPL_F32, npl_shape_of(1, channels), 4);
		struct device_memory at_x = to_device(&x, stored, 0), at_bias = to_device(&bias, stored, 0);
		const struct cu_value value = {address_of(at_x.data), stored, x.shape, false},
				      b = {biased ? address_of(at_bias.data) : 0, stored, bias.shape, false};
		cr_assert_eq(cu_kernel_bias(gpu->kernels, &value, &b, channels, inner, fused, &value, NULL, &err), 0,
			     "%s", err.msg);
		const struct npl_tensor seen = {.dtype = stored, .shape = x.shape, .data = at_x.data};
		for (int64_t k = 0; k < npl_tensor_count(&x); k++) {
			const float sum = ((float *)x.data)[k] +
					  (biased ? ((float *)bias.data)[k / inner % channels] : 0);
			const double y = activated(fused, (double)sum), actual = npl_tensor_real(&seen, k);
			cr_assert(fabs(actual - y) <= 4e-7 * fabs(y) + 1e-7 + 1.001 * stored_step(stored, y),
				  "%d, %s of %g: %g", i, npl_activation_name(fused), (double)sum, actual);
		}
		device_free(&at_x, "bias");
		device_free(&at_bias, "bias");
		npl_tensor_free(&x);
		npl_tensor_free(&bias);
	}
	gpu_close(gpu);
}

/* Products of the weights with the patches, piece by piece, are the convolution; what pads the rows is the value asked
 * for. */
Test(cuda_windows, patches_times_weights_are_the_convolution)
{
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		int rank = (int)test_range(&state, 1, 3);
		struct npl_shape shape;
		struct npl_attrs attrs = {
			.opset = 13,
			.conv = {.groups = test_range(&state, 1, 2), .window = random_window(&state, rank, &shape)}};
		attrs.conv.window.ceil_mode = attrs.conv.window.count_include_pad = false;
		int64_t per_group = test_range(&state, 1, 3), channels = test_range(&state, 1, 3), taps = 1;
		shape.dim[1] = channels * attrs.conv.groups;
		struct npl_shape w_shape = npl_shape_of(2 + rank, per_group * attrs.conv.groups, channels);
		for (int i = 0; i < rank; i++)
			taps *= w_shape.dim[2 + i] = attrs.conv.window.kernel[npl_window_index(rank, i)];
		struct npl_tensor x = random_values(&state, NPL_F32, shape, 1),
				  w = random_values(&state, NPL_F32, w_shape, 1);
		struct npl_tensor y = test_run(NPL_OP_CONV, &attrs, (const struct npl_tensor *[]){&x, &w}, 2);
		int64_t used = channels * taps, row = used + test_range(&state, 0, 5), pixels = 1;
		for (int i = 0; i < rank; i++)
			pixels *= y.shape.dim[2 + i];
		const struct cu_value from = {address_of(x.data), NPL_F32, x.shape, false};
		for (int64_t g = 0; g < attrs.conv.groups; g++)
			for (int64_t first = 0; first < pixels * shape.dim[0]; first += 7) {
				int64_t left = pixels * shape.dim[0] - first, rows = left < 7 ? left : 7;
				struct device_memory z = device_alloc((size_t)(rows * row) * 4, 0);
				const struct cu_patches patches = {
					&attrs.conv.window, &y.shape, g, attrs.conv.groups, first, rows, row, 0, 0};
				cr_assert_eq(
					cu_kernel_im2col(gpu->kernels, &from, &patches, address_of(z.data), NULL, &err),
					0, "%s", err.msg);
				for (int64_t r = 0; r < rows; r++)
					for (int64_t m = 0; m < per_group; m++) {
						const float *patch = (const float *)(const void *)z.data + r * row,
							    *weights = (const float *)(const void *)w.data +
								       (g * per_group + m) * used;
						int64_t p = first + r;
						double sum = 0;
						for (int64_t k = 0; k < row; k++)
							sum += (double)patch[k] * (k < used ? (double)weights[k] : 1e9);
						double expected = (double)((float *)y.data)
							[(p / pixels * w_shape.dim[0] + g * per_group + m) * pixels +
							 p % pixels];
						cr_assert(fabs(sum - expected) <= 1e-5, "seed %llu: %g, expected %g",
							  (unsigned long long)seed, sum, expected);
					}
				device_free(&z, "im2col");
			}
		test_release(&y);
		npl_tensor_free(&x);
		npl_tensor_free(&w);
	}
	gpu_close(gpu);
}

/* The byte of a patch that im2col must write: of an image with channels last, at a tap of a channel. */
static uint8_t patch_byte(const struct npl_tensor *x, const struct cu_patches *p, int64_t row, int64_t column)
{
	const struct npl_window *w = p->window;
	const struct npl_image from = npl_image_of(&x->shape), to = npl_image_of(p->out);
	const int64_t pixel = p->first + row, tap = column / from.channels, out_y = pixel / to.size[1] % to.size[0],
		      image = pixel / to.size[1] / to.size[0],
		      at_x = pixel % to.size[1] * w->stride[1] - w->pad_begin[1] + tap % w->kernel[1] * w->dilation[1],
		      at_y = out_y * w->stride[0] - w->pad_begin[0] + tap / w->kernel[1] * w->dilation[0];
	if (tap >= w->kernel[0] * w->kernel[1] || at_x < 0 || at_x >= from.size[1] || at_y < 0 || at_y >= from.size[0])
		return (uint8_t)p->pad_bits;
	const int64_t at = ((image * from.size[0] + at_y) * from.size[1] + at_x) * from.channels;
	return ((uint8_t *)x->data)[at + column % from.channels] ^ (uint8_t)p->flip;
}

/* With channels last, byte by byte: whole packs of channels and not, addresses that allow 16 bytes at a time and not;
 * the last ones with positions of 64 bits. */
Test(cuda_windows, patches_of_channels_last)
{
	static const int64_t channels[] = {1, 3, 4, 8, 12, 16, 20, 32, 48};
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	for (uint64_t seed = 1; seed <= 90; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = {0}, out = npl_shape_of(4, 1, 1, 0, 0);
		if (seed == 81)
			cu_kernels_widen(gpu->kernels);
		struct npl_window window = random_window(&state, 2, &shape);
		shape.dim[1] = channels[seed % 9];
		out.dim[0] = shape.dim[0];
		for (int d = 0; d < 2; d++)
			out.dim[2 + d] = npl_window_output(&window, d, shape.dim[2 + d]);
		struct npl_tensor x = test_random_tensor(&state, NPL_U8, shape);
		struct device_memory from = to_device(&x, NPL_U8, seed % 7 == 1 ? 4 : seed % 7 == 2);
		const int64_t taps = shape.dim[1] * window.kernel[0] * window.kernel[1],
			      row = seed % 5 ? (taps + 15) / 16 * 16 : taps + test_range(&state, 0, 5),
			      all = shape.dim[0] * out.dim[2] * out.dim[3], first = test_range(&state, 0, all - 1),
			      rows = test_range(&state, 1, all - first);
		const struct cu_value value = {address_of(from.data), NPL_U8, x.shape, true};
		const struct cu_patches patches = {.window = &window,
						   .out = &out,
						   .groups = 1,
						   .first = first,
						   .rows = rows,
						   .row_elements = row,
						   .pad_bits = 77,
						   .flip = seed % 2 ? 0x80 : 0};
		struct device_memory z = device_alloc((size_t)(rows * row), seed % 6 == 1 ? 8 : 0);
		cr_assert_eq(cu_kernel_im2col(gpu->kernels, &value, &patches, address_of(z.data), NULL, &err), 0, "%s",
			     err.msg);
		for (int64_t i = 0; i < rows * row; i++)
			cr_assert_eq(z.data[i], patch_byte(&x, &patches, i / row, i % row),
				     "seed %llu: row %lld, column %lld", (unsigned long long)seed, (long long)(i / row),
				     (long long)(i % row));
		device_free(&z, "im2col_channels_last");
		device_free(&from, "im2col_channels_last");
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

/* Positions outside are the zero point in every type of patches. */
Test(cuda_windows, patches_have_the_zero_point_outside)
{
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	uint8_t x[] = {1, 2, 3}, z[3 * 4];
	static const uint8_t expected[] = {77, 1, 2, 77, 1, 2, 3, 77, 2, 3, 77, 77};
	const struct npl_window window = {.rank = 1,
					  .kernel = {1, 3, 1},
					  .stride = {1, 1, 1},
					  .dilation = {1, 1, 1},
					  .pad_begin = {0, 1, 0},
					  .pad_end = {0, 1, 0}};
	const struct npl_shape out = npl_shape_of(3, 1, 1, 3);
	const struct cu_value from = {address_of(x), NPL_U8, npl_shape_of(3, 1, 1, 3), false};
	struct cu_patches patches = {&window, &out, 0, 1, 0, 3, 4, 77, 0};
	cr_assert_eq(cu_kernel_im2col(gpu->kernels, &from, &patches, address_of(z), NULL, &err), 0, "%s", err.msg);
	cr_assert_arr_eq(z, expected, sizeof expected);
	patches.flip = 0x80;
	cr_assert_eq(cu_kernel_im2col(gpu->kernels, &from, &patches, address_of(z), NULL, &err), 0, "%s", err.msg);
	for (size_t i = 0; i < sizeof expected; i++)
		cr_assert_eq(z[i], expected[i] == 77 ? 77 : expected[i] + 128);
	gpu_close(gpu);
}
