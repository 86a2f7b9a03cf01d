/* SPDX-License-Identifier: MIT
 *
 * Promises of the GPU's kernels on integers, run on the processor: quantised layers bit for bit as npl_run_integer has
 * them, the sums of a product finished by the same rule, QuantizeLinear and its inverse exactly; and what is not taken
 * says why. */
#include "backends/cuda/kernels/kernel_args.h"
#include "core/integer.h"
#include "frontend/quantise/quantise.h"
#include "tests/kit/cuda/kernel_support.h"
#include "tests/kit/elementwise_support.h"

/* A quantised tensor with a scale near `scale` and any zero point that its type may have. */
static struct npl_tensor quantised(uint64_t *seed, enum npl_dtype dtype, struct npl_shape shape, double scale)
{
	struct npl_tensor t = random_values(seed, dtype, shape, 1);
	t.quant.scale = (float)(scale * (0.5 + (double)test_range(seed, 0, 1000) / 1000));
	t.quant.zero_point = dtype == NPL_U8   ? (int32_t)test_range(seed, 0, 255)
			     : dtype == NPL_I8 ? (int32_t)test_range(seed, -128, 127)
					       : 0;
	return t;
}

/* Runs the layer by the rule and by the kernels, and expects the same bytes. With channels_last every tensor that may
 * be in that order is, or draws. */
static void check_in_order(struct gpu *gpu, const struct npl_layer *layer, bool channels_last, uint64_t seed)
{
	const char *name = npl_op_defs[layer->op].name;
	const struct kernel_case order = {.channels_last = channels_last};
	struct npl_tensor expected = *layer->out;
	struct npl_integer_counts counts = {0};
	struct npl_err err = {0};
	struct cu_value in[NPL_LAYER_INPUTS] = {{0}};
	struct device_memory given[NPL_LAYER_INPUTS] = {{0}};
	uint64_t draw = seed;
	char reason[200] = "";
	const size_t skew = seed % 3 == 1, element = npl_dtype_size(expected.dtype);
	struct device_memory memory = device_alloc(npl_tensor_bytes(&expected), skew * element);
	struct cu_value out = {address_of(memory.data), expected.dtype, expected.shape,
			       draws_last(&order, layer, -1, &draw)};
	cr_assert(cu_kernel_supports(layer, CU_INT8, reason, sizeof reason), "%s: %s", name, reason);
	expected.data = NULL;
	cr_assert_eq(npl_tensor_alloc(&expected, &err), 0);
	cr_assert_eq(npl_run_integer(layer, &expected, &counts, &err), 0, "%s", err.msg);
	for (int k = 0; k < layer->n_in; k++) {
		struct npl_tensor copy = *layer->in[k];
		given[k] = to_device(&copy, copy.dtype, seed % 5 == 1);
		in[k] = (struct cu_value){cu_kernel_reads(layer, k) ? address_of(given[k].data) : 0, copy.dtype,
					  copy.shape, draws_last(&order, layer, k, &draw)};
		if (in[k].channels_last)
			turn_elements(&copy.shape, npl_dtype_size(copy.dtype), true, given[k].data);
	}
	uint64_t saturated = 1000; /* it is added to */
	cu_kernels_count_at(gpu->kernels, address_of(&saturated));
	cr_assert_eq(cu_kernel_run(gpu->kernels, layer, in, &out, NULL, &err), 0, "%s: %s", name, err.msg);
	cu_kernels_count_at(gpu->kernels, 0);
	cr_assert_eq(saturated - 1000, counts.saturations, "%s, fused %s, seed %llu: %llu saturations, expected %llu",
		     name, npl_activation_name(layer->activation), (unsigned long long)seed,
		     (unsigned long long)saturated - 1000, (unsigned long long)counts.saturations);
	if (out.channels_last)
		turn_elements(&out.shape, element, false, memory.data);
	for (size_t i = 0; i < npl_tensor_bytes(&expected); i++)
		cr_assert_eq(memory.data[i], ((unsigned char *)expected.data)[i],
			     "%s, fused %s, channels last %d, seed %llu: byte %zu is %d, expected %d", name,
			     npl_activation_name(layer->activation), channels_last, (unsigned long long)seed, i,
			     memory.data[i], ((unsigned char *)expected.data)[i]);
	device_free(&memory, name);
	for (int k = 0; k < layer->n_in; k++)
		device_free(&given[k], name);
	npl_tensor_free(&expected);
}

static void check_integers(struct gpu *gpu, const struct npl_layer *layer, uint64_t seed)
{
	check_in_order(gpu, layer, false, seed);
	check_in_order(gpu, layer, true, seed);
}

static enum npl_dtype byte_type(uint64_t *seed)
{
	return test_range(seed, 0, 1) ? NPL_U8 : NPL_I8;
}

Test(cuda_integers, additions_and_products_follow_the_rule)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 160; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 0, 4, 9),
				 b_shape = test_range(&state, 0, 1) ? shape : random_operand(&state, &shape);
		bool words = seed % 9 == 0;
		struct npl_tensor a = quantised(&state, words ? NPL_I16 : byte_type(&state), shape, 0.05),
				  b = quantised(&state, words ? NPL_I16 : byte_type(&state), b_shape, 0.02),
				  y = quantised(&state, words ? NPL_I16 : byte_type(&state), shape, 0.03);
		const struct npl_layer layer = {
			.op = seed % 2 ? NPL_OP_ADD : NPL_OP_MUL,
			.activation = (enum npl_activation)test_range(&state, 0, NPL_ACTIVATIONS - 1),
			.n_in = 2,
			.in = {&a, &b},
			.out = &y};
		check_integers(gpu, &layer, seed);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
		npl_tensor_free(&y);
	}
	gpu_close(gpu);
}

/* Sigmoid and Tanh are tried on every byte and on many 16-bit words. */
Test(cuda_integers, sigmoid_and_tanh_follow_the_rule)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 24; seed++) {
		uint64_t state = seed;
		bool words = seed % 6 == 0;
		enum npl_dtype dtype = words ? NPL_I16 : byte_type(&state);
		struct npl_tensor x = quantised(&state, dtype, npl_shape_of(1, words ? 5000 : 259),
						words ? 0.001 : 0.05),
				  y = quantised(&state, words ? NPL_I16 : byte_type(&state), x.shape,
						words ? 3e-5 : 1.0 / 200);
		for (int64_t i = 0; i < 259 && !words; i++)
			((uint8_t *)x.data)[i] = (uint8_t)i;
		const struct npl_layer layer = {
			.op = seed % 2 ? NPL_OP_SIGMOID : NPL_OP_TANH, .n_in = 1, .in = {&x}, .out = &y};
		check_integers(gpu, &layer, seed);
		npl_tensor_free(&x);
		npl_tensor_free(&y);
	}
	gpu_close(gpu);
}

/* Inputs of the result's scale are moved, others converted. */
Test(cuda_integers, concat_converts_inputs_of_another_scale)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 1, 4, 7);
		int axis = (int)test_range(&state, 0, shape.rank - 1), n = (int)test_range(&state, 1, 4);
		enum npl_dtype dtype = byte_type(&state);
		struct npl_tensor x[4], y = quantised(&state, dtype, npl_shape_of(1, 1), 0.04);
		struct npl_attrs attrs = {.op = NPL_OP_CONCAT, .along.axis = axis};
		struct npl_layer layer = {.op = NPL_OP_CONCAT, .attrs = &attrs, .n_in = n, .out = &y};
		y.shape = shape;
		y.shape.dim[axis] = 0;
		for (int k = 0; k < n; k++) {
			shape.dim[axis] = test_range(&state, 1, 5);
			y.shape.dim[axis] += shape.dim[axis];
			x[k] = quantised(&state, byte_type(&state), shape, 0.04);
			if (test_range(&state, 0, 1)) {
				x[k].dtype = dtype;
				x[k].quant = y.quant;
			}
			layer.in[k] = &x[k];
		}
		check_integers(gpu, &layer, seed);
		for (int k = 0; k < n; k++)
			npl_tensor_free(&x[k]);
		npl_tensor_free(&y);
	}
	gpu_close(gpu);
}

/* What keeps its input's scale: limits, pools, slices, transposes. */
static void check_same_scale(struct gpu *gpu, enum npl_op op, struct npl_attrs attrs, struct npl_tensor *x, int n_in,
			     struct npl_tensor *const *more, uint64_t seed)
{
	struct npl_tensor y = {0}, lists[4];
	const struct npl_tensor *in[5] = {x};
	struct npl_layer layer = {.op = op, .attrs = &attrs, .n_in = n_in, .in = {x}, .out = &y};
	struct npl_err err = {0};
	/* averages of bytes have no float shape rule: it is asked for floats */
	struct npl_tensor asked = *x;
	asked.dtype = op == NPL_OP_AVERAGEPOOL || op == NPL_OP_GLOBALAVERAGEPOOL ? NPL_F32 : x->dtype;
	asked.data = NULL;
	in[0] = &asked;
	for (int k = 1; k < n_in; k++) {
		lists[k - 1] = *more[k - 1];
		layer.in[k] = in[k] = &lists[k - 1];
	}
	cr_assert_eq(npl_op_shape(op, &attrs, in, n_in, &y, 1, &err), 0, "%s: %s", npl_op_defs[op].name, err.msg);
	y.dtype = x->dtype;
	y.quant = x->quant;
	if (op != NPL_OP_CLIP || !attrs.clip.known)
		layer.activation = seed % 3 ? NPL_ACT_NONE : NPL_ACT_RELU;
	check_integers(gpu, &layer, seed);
}

Test(cuda_integers, layers_that_keep_the_scale)
{
	static const enum npl_op pools[] = {NPL_OP_MAXPOOL, NPL_OP_AVERAGEPOOL, NPL_OP_GLOBALAVERAGEPOOL};
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 120; seed++) {
		uint64_t state = seed;
		enum npl_dtype dtype = seed % 7 == 0 ? NPL_I16 : byte_type(&state);
		struct npl_tensor x = quantised(
			&state, dtype,
			npl_shape_of(4, test_range(&state, 1, 2),
				     seed % 4 ? test_range(&state, 1, 6) : 16 * test_range(&state, 1, 2),
				     test_range(&state, 4, 9), test_range(&state, 4, 9)),
			0.05);
		struct npl_attrs pool = {.opset = 12};
		pool.pool.window = (struct npl_window){.rank = 2,
						       .kernel = {test_range(&state, 1, 3), test_range(&state, 1, 3)}};
		for (int d = 0; d < 2; d++) {
			pool.pool.window.stride[d] = test_range(&state, 1, 3);
			pool.pool.window.dilation[d] = test_range(&state, 1, 2);
			pool.pool.window.pad_begin[d] = test_range(&state, 0, pool.pool.window.kernel[d] - 1);
			pool.pool.window.pad_end[d] = test_range(&state, 0, pool.pool.window.kernel[d] - 1);
		}
		pool.pool.window.count_include_pad = seed % 3 == 1 && seed % 2;
		pool.pool.window.ceil_mode = test_range(&state, 0, 1);
		check_same_scale(gpu, pools[seed % 3], pool, &x, 1, NULL, seed);
		struct npl_attrs clip = {.opset = 9, .clip = {.known = true, .min = -1.5f, .max = 2.5f}},
				 relu = {.opset = 9},
				 turn = {.opset = 13, .transpose = {.rank = 4, .perm = {0, 2, 3, 1}}};
		check_same_scale(gpu, NPL_OP_CLIP, clip, &x, 1, NULL, seed);
		check_same_scale(gpu, NPL_OP_RELU, relu, &x, 1, NULL, seed);
		check_same_scale(gpu, NPL_OP_TRANSPOSE, turn, &x, 1, NULL, seed);
		int64_t starts[] = {1, -1}, ends[] = {4, 0}, axes[] = {2, 3}, steps[] = {1, -1};
		struct npl_tensor lists[] = {vector(NPL_I64, 2, starts), vector(NPL_I64, 2, ends),
					     vector(NPL_I64, 2, axes), vector(NPL_I64, 2, steps)};
		check_same_scale(gpu, NPL_OP_SLICE, (struct npl_attrs){.opset = 13}, &x, 5,
				 (struct npl_tensor *[]){&lists[0], &lists[1], &lists[2], &lists[3]}, seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

/* Averages over more taps than 32 bits of sums are certain to hold. */
Test(cuda_integers, averages_of_large_windows)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 2; seed++) {
		uint64_t state = seed;
		struct npl_tensor x = quantised(&state, NPL_I16, npl_shape_of(4, 1, 4, 257, 256), 0.05);
		for (int64_t i = 0; i < npl_tensor_count(&x) && seed == 2; i++)
			((int16_t *)x.data)[i] = -32768;
		check_same_scale(gpu, NPL_OP_GLOBALAVERAGEPOOL, (struct npl_attrs){.opset = 12}, &x, 1, NULL, 3 * seed);
		npl_tensor_free(&x);
	}
	gpu_close(gpu);
}

/* A Gemm by npl_run_integer, and by its sums in plain loops and the kernel that finishes them: with bias, any
 * activation, sums that wrap, scales per channel, and raw. */
Test(cuda_integers, sums_of_a_product)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		int64_t rows = test_range(&state, 1, 9), depth = test_range(&state, 1, 40),
			columns = test_range(&state, 1, 12);
		struct npl_err err = {0};
		struct npl_integer_counts counts = {0};
		const bool raw = seed % 5 == 0;
		struct npl_tensor x = quantised(&state, byte_type(&state), npl_shape_of(2, rows, depth), 0.05),
				  w = quantised(&state, byte_type(&state), npl_shape_of(2, columns, depth), 0.01),
				  y = quantised(&state, raw ? NPL_I32 : byte_type(&state),
						npl_shape_of(2, rows, columns), 0.2),
				  expected = y, bias = random_values(&state, NPL_I32, npl_shape_of(1, columns), 1),
				  sums = test_tensor(NPL_I32, y.shape), scales = test_tensor(NPL_F32, bias.shape),
				  channel_scale = test_tensor(NPL_F32, bias.shape);
		for (int64_t c = 0; c < columns; c++) {
			((float *)channel_scale.data)[c] = 0.01f * (float)test_range(&state, 1, 9);
			if (seed % 4) /* else any, so that sums wrap */
				((int32_t *)bias.data)[c] %= 3000;
		}
		if (seed % 2)
			w.quant.channel_scale = channel_scale.data;
		const enum npl_activation fused = (enum npl_activation)test_range(
			&state, 0, raw ? NPL_ACT_RELU : NPL_ACTIVATIONS - 1);
		const bool biased = test_range(&state, 0, 3);
		const struct npl_layer layer = {.op = NPL_OP_GEMM,
						.activation = fused,
						.n_in = 3,
						.in = {&x, &w, biased ? &bias : NULL},
						.out = &y};
		for (int64_t i = 0; i < rows * columns; i++) {
			int64_t sum = 0;
			for (int64_t k = 0; k < depth; k++)
				sum += (int64_t)(whole_at(&x, i / columns * depth + k) - x.quant.zero_point) *
				       (int64_t)(whole_at(&w, i % columns * depth + k) - w.quant.zero_point);
			((int32_t *)sums.data)[i] = (int32_t)sum;
		}
		for (int64_t c = 0; c < columns; c++)
			((float *)scales.data)[c] = cu_sums_scale(&x, &w, c, fused, &y);
		expected.data = NULL;
		cr_assert_eq(npl_tensor_alloc(&expected, &err), 0);
		cr_assert_eq(npl_run_integer(&layer, &expected, &counts, &err), 0, "%s", err.msg);
		/* in rows that lie apart */
		const int64_t ld = columns + test_range(&state, 0, 3);
		struct npl_tensor spread = test_tensor(NPL_I32, npl_shape_of(2, rows, ld));
		for (int64_t i = 0; i < rows * columns; i++)
			((int32_t *)spread.data)[i / columns * ld + i % columns] = ((int32_t *)sums.data)[i];
		const struct cu_value from = {address_of(spread.data), NPL_I32, sums.shape, false};
		cr_assert_eq(cu_kernel_sums(gpu->kernels, &from, biased ? address_of(bias.data) : 0,
					    address_of(scales.data), columns, 1, ld > columns ? columns : 0, ld, fused,
					    &y, address_of(y.data), NULL, &err),
			     0, "%s", err.msg);
		cr_assert_arr_eq(y.data, expected.data, npl_tensor_bytes(&expected), "seed %llu",
				 (unsigned long long)seed);
		struct npl_tensor *all[] = {&x, &w, &y, &expected, &bias, &sums, &scales, &channel_scale, &spread};
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			npl_tensor_free(all[i]);
	}
	gpu_close(gpu);
}

/* Sums in rows of one channel, or of a part of it, against the same sums in rows of all channels; the last ones with
 * positions of 64 bits. */
Test(cuda_integers, sums_of_a_channel_are_finished_as_those_of_a_row)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		if (seed == 51)
			cu_kernels_widen(gpu->kernels);
		const int64_t images = test_range(&state, 1, 3), channels = test_range(&state, 1, 9),
			      inner = test_range(&state, 1, 13), ld = inner + test_range(&state, 0, 4),
			      ld_last = channels + test_range(&state, 0, 4), skew = seed % 3 == 1;
		struct npl_err err = {0};
		struct npl_tensor y = quantised(&state, seed % 5 ? byte_type(&state) : NPL_I32,
						npl_shape_of(3, images, channels, inner), 0.2),
				  last = test_tensor(y.dtype, y.shape),
				  sums = random_values(&state, NPL_I32, npl_shape_of(3, images, channels, ld), 1),
				  turned = test_tensor(NPL_I32, npl_shape_of(3, images, inner, ld_last)),
				  bias = random_values(&state, NPL_I32, npl_shape_of(1, channels + 1), 1),
				  scale = random_values(&state, NPL_F32, npl_shape_of(1, channels + 1), 1e-8);
		const enum npl_activation fused = (enum npl_activation)test_range(
			&state, 0, y.dtype == NPL_I32 ? NPL_ACT_RELU : NPL_ACTIVATIONS - 1);
		const uint64_t at_bias = seed % 4 ? address_of((int32_t *)bias.data + skew) : 0,
			       at_scale = address_of((float *)scale.data + skew);
		for (int64_t i = 0; i < images * channels * inner; i++) {
			const int64_t at = i % inner, c = i / inner % channels, image = i / inner / channels;
			((int32_t *)turned.data)[(image * inner + at) * ld_last + c] =
				((int32_t *)sums.data)[(image * channels + c) * ld + at];
		}
		const struct cu_value planes = {address_of(sums.data), NPL_I32, y.shape, false},
				      rows = {address_of(turned.data), NPL_I32, y.shape, false};
		uint64_t saturated[2] = {0};
		cu_kernels_count_at(gpu->kernels, address_of(&saturated[0]));
		cr_assert_eq(cu_kernel_sums(gpu->kernels, &planes, at_bias, at_scale, channels, inner, inner, ld, fused,
					    &y, address_of(y.data), NULL, &err),
			     0, "%s", err.msg);
		cu_kernels_count_at(gpu->kernels, address_of(&saturated[1]));
		cr_assert_eq(cu_kernel_sums(gpu->kernels, &rows, at_bias, at_scale, channels, 1, channels, ld_last,
					    fused, &y, address_of(last.data), NULL, &err),
			     0, "%s", err.msg);
		cu_kernels_count_at(gpu->kernels, 0);
		turn_elements(&y.shape, npl_dtype_size(y.dtype), false, last.data);
		cr_assert_arr_eq(last.data, y.data, npl_tensor_bytes(&y), "seed %llu", (unsigned long long)seed);
		cr_assert_eq(saturated[0], saturated[1], "seed %llu", (unsigned long long)seed);
		struct npl_tensor *all[] = {&y, &last, &sums, &turned, &bias, &scale};
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			npl_tensor_free(all[i]);
	}
	gpu_close(gpu);
}

Test(cuda_integers, quantising_and_back_equals_the_reference)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		struct npl_shape shape = random_shape(&state, 1, 4, 8);
		int axis = (int)test_range(&state, 0, shape.rank - 1);
		bool vectors = test_range(&state, 0, 1), zeros = test_range(&state, 0, 3), sums = seed % 4 == 0;
		struct npl_shape parameters = {.rank = vectors, .dim = {shape.dim[axis]}};
		enum npl_dtype q = zeros ? byte_type(&state) : NPL_U8;
		struct npl_tensor x = random_values(&state, sums ? NPL_I32 : NPL_F32, shape, 3),
				  scale = random_values(&state, NPL_F32, parameters, 1),
				  zero = random_values(&state, q, parameters, 1),
				  restored = random_values(&state, q, shape, 1);
		for (int64_t i = 0; i < npl_tensor_count(&scale); i++)
			((float *)scale.data)[i] = (sums ? 1e7f : 0.01f) * (1.5f + ((float *)scale.data)[i]);
		if (!sums)
			((float *)x.data)[0] = NAN;
		struct npl_attrs attrs = {.opset = 13, .quantise.axis = axis};
		struct kernel_case c = {.op = NPL_OP_QUANTIZELINEAR,
					.attrs = &attrs,
					.n_in = zeros ? 3 : 2,
					.n_out = 1,
					.in = {&x, &scale, &zero},
					.dtype = NPL_F32,
					.seed = seed};
		check_kernel(gpu, &c);
		c.op = NPL_OP_DEQUANTIZELINEAR;
		c.in[0] = &restored;
		check_kernel(gpu, &c);
		npl_tensor_free(&x);
		npl_tensor_free(&scale);
		npl_tensor_free(&zero);
		npl_tensor_free(&restored);
	}
	gpu_close(gpu);
}

/* A layer that brings a whole tensor to integers, or back: as the session's own conversion does, saturations and NaNs
 * told. */
Test(cuda_integers, conversions_equal_those_of_the_session)
{
	struct gpu *gpu = gpu_open();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct npl_err err = {0};
		uint64_t state = seed, clipped = 0, saturated = 0;
		int32_t fault = 0;
		const size_t skew = seed % 3 == 1 ? sizeof(float) : 0;
		struct npl_tensor x = random_values(&state, NPL_F32, random_shape(&state, 0, 3, 20), 3), q, expected,
				  restored;
		struct npl_tensor form = quantised(&state, seed % 5 ? byte_type(&state) : NPL_I16, x.shape, 0.02);
		cr_assert_eq(npl_quantise_to(&x, form.dtype, form.quant, &expected, &clipped, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_dequantise(&expected, &restored, &err), 0, "%s", err.msg);
		q = expected;
		struct device_memory bytes = device_alloc(npl_tensor_bytes(&expected), 0),
				     floats = device_alloc(npl_tensor_bytes(&x), skew);
		const struct cu_value in = {address_of(x.data), NPL_F32, x.shape, false};
		struct cu_value integers = {address_of(bytes.data), expected.dtype, x.shape, false},
				out = {address_of(floats.data), NPL_F32, x.shape, false};
		const struct npl_layer to = {.op = NPL_OP_QUANTIZELINEAR, .n_in = 1, .in = {&x}, .out = &q},
				       from = {.op = NPL_OP_DEQUANTIZELINEAR, .n_in = 1, .in = {&q}, .out = &restored};
		cu_kernels_count_at(gpu->kernels, address_of(&saturated));
		cu_kernels_fault_at(gpu->kernels, address_of(&fault));
		cr_assert_eq(cu_kernel_run(gpu->kernels, &to, &in, &integers, NULL, &err), 0, "%s", err.msg);
		cr_assert_eq(cu_kernel_run(gpu->kernels, &from, &integers, &out, NULL, &err), 0, "%s", err.msg);
		cr_assert_eq(memcmp(bytes.data, expected.data, npl_tensor_bytes(&expected)), 0, "seed %d", (int)seed);
		cr_assert_eq(memcmp(floats.data, restored.data, npl_tensor_bytes(&restored)), 0, "seed %d", (int)seed);
		cr_assert_eq(saturated, clipped, "seed %d", (int)seed);
		cr_assert_eq(fault, 0);
		if (npl_tensor_count(&x)) {
			((float *)x.data)[(int64_t)seed % npl_tensor_count(&x)] = NAN;
			cr_assert_eq(cu_kernel_run(gpu->kernels, &to, &in, &integers, NULL, &err), 0, "%s", err.msg);
			cr_assert_eq(fault, CU_FAULT_NAN);
		}
		cu_kernels_count_at(gpu->kernels, 0);
		cu_kernels_fault_at(gpu->kernels, 0);
		device_free(&bytes, "integers");
		device_free(&floats, "floats");
		npl_tensor_free(&x);
		npl_tensor_free(&form);
		npl_tensor_free(&expected);
		npl_tensor_free(&restored);
	}
	gpu_close(gpu);
}

static void refuses(const struct npl_layer *layer, enum cu_precision precision, const char *expected)
{
	char reason[200] = "";
	cr_assert_not(cu_kernel_supports(layer, precision, reason, sizeof reason), "%s", npl_op_defs[layer->op].name);
	cr_assert(strstr(reason, expected), "%s: '%s', expected '%s'", npl_op_defs[layer->op].name, reason, expected);
}

Test(cuda_integers, says_what_it_does_not_take)
{
	struct npl_tensor real = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4)}, wide = real, byte = real, other,
			  exact = real;
	struct npl_attrs attrs = {0};
	wide.dtype = NPL_F64;
	exact.dtype = NPL_I64;
	byte.dtype = NPL_U8;
	byte.quant = (struct npl_quant){.scale = 0.1f, .zero_point = 3};
	other = byte;
	other.quant.scale = 0.2f;
	struct npl_layer layer = {.attrs = &attrs, .n_in = 1, .in = {&real}, .out = &real};
	layer.op = NPL_OP_LSTM;
	refuses(&layer, CU_F32, "there is no GPU kernel for LSTM");
	layer.op = NPL_OP_CONV;
	refuses(&layer, CU_F32, "there is no GPU kernel for Conv");
	layer.op = NPL_OP_RELU;
	refuses(&layer, CU_INT8, "its input is not a quantised tensor, and the precision is int8");
	layer.in[0] = layer.out = &wide;
	refuses(&layer, CU_F32, "the GPU has no Relu of float64");
	layer.in[0] = layer.out = &exact;
	layer.activation = NPL_ACT_RELU;
	refuses(&layer, CU_F16, "no activation follows integers");
	layer.activation = NPL_ACT_NONE;
	layer.op = NPL_OP_ADD;
	refuses(&layer, CU_F32, "input 1 is missing");
	layer.op = NPL_OP_RELU;
	layer.in[0] = &byte;
	layer.out = &other;
	refuses(&layer, CU_INT8, "input and output differ in type, scale or zero point");
	layer.op = NPL_OP_FLATTEN;
	refuses(&layer, CU_INT8, "input and output differ in type, scale or zero point");
	layer.op = NPL_OP_SOFTMAX;
	refuses(&layer, CU_INT8, "there is no rule for Softmax on integers");
	layer.op = NPL_OP_TANH;
	layer.activation = NPL_ACT_RELU;
	refuses(&layer, CU_INT8, "no activation follows Tanh on integers");
	layer.activation = NPL_ACT_NONE;
	layer.op = NPL_OP_REDUCESUM;
	layer.in[0] = layer.out = &exact;
	refuses(&layer, CU_F32, "the GPU has no ReduceSum of int64");
	layer.op = NPL_OP_BATCHNORMALIZATION;
	layer.n_in = 5;
	for (int k = 0; k < 5; k++)
		layer.in[k] = &real;
	attrs.norm.training = true;
	refuses(&layer, CU_F32, "by the statistics of the batch");
}

/* Float32 is stored as the precision says, everything else as it is. */
Test(cuda_integers, what_tensors_are_stored_as)
{
	for (int p = 0; p < CU_PRECISIONS; p++)
		for (int t = 0; t < NPL_DTYPES; t++) {
			enum npl_dtype expected = t != NPL_F32   ? (enum npl_dtype)t
						  : p == CU_F16  ? NPL_F16
						  : p == CU_BF16 ? NPL_BF16
								 : NPL_F32;
			cr_assert_eq(cu_stored((enum npl_dtype)t, (enum cu_precision)p), expected);
		}
}
