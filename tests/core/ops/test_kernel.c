/* SPDX-License-Identifier: MIT
 *
 * Promises: convolution (its kernels shared by all output positions or private), matrix products and pooling agree, bit
 * for bit, with loops written from their definitions (products added in the order of K to what the sum starts from),
 * over random shapes with padding, strides, dilations, groups and broadcasting; SSE2 and AVX2 give the same bits;
 * nothing is written outside the output. */
#include "tests/kit/ops_support.h"

#include <math.h>

#include "core/op_functions.h"
#include "core/ops/ops.h"

#define SEED 0x5eed0001u

/* The window with which output o meets input position i, by its definition; -1 when that is padding. */
static int64_t position(const struct npl_window *w, int d, int64_t o, int64_t tap, int64_t size)
{
	int64_t at = o * w->stride[d] - w->pad_begin[d] + tap * w->dilation[d];
	return at >= 0 && at < size ? at : -1;
}

static struct npl_window random_window(uint64_t *seed, bool two, int64_t largest)
{
	struct npl_window w = {.rank = two ? 2 : 1};
	for (int d = 0; d < NPL_SPATIAL; d++) {
		w.kernel[d] = test_range(seed, 1, largest);
		w.stride[d] = test_range(seed, 1, 3);
		w.dilation[d] = test_range(seed, 1, 3);
		w.pad_begin[d] = test_range(seed, 0, w.kernel[d] - 1);
		w.pad_end[d] = test_range(seed, 0, w.kernel[d] - 1);
	}
	if (!two) {
		w.kernel[0] = w.stride[0] = w.dilation[0] = 1;
		w.pad_begin[0] = w.pad_end[0] = 0;
	}
	return w;
}

/* An image that the window fits. */
static struct npl_shape random_image(uint64_t *seed, const struct npl_window *w, int64_t channels)
{
	int64_t size[NPL_SPATIAL];
	for (int d = 0; d < NPL_SPATIAL; d++) {
		int64_t minimum = npl_window_extent(w, d) - w->pad_begin[d] - w->pad_end[d];
		size[d] = test_range(seed, minimum > 1 ? minimum : 1, minimum + 12 > 13 ? minimum + 12 : 13);
	}
	int64_t images = test_range(seed, 1, 2);
	return w->rank == 2 ? npl_shape_of(4, images, channels, size[0], size[1])
			    : npl_shape_of(3, images, channels, size[1]);
}

static float conv_at(const struct npl_window *w, const struct npl_image *x, const float *input, const float *filter,
		     int64_t channels, float sum, int64_t oy, int64_t ox)
{
	for (int64_t c = 0; c < channels; c++)
		for (int64_t ky = 0; ky < w->kernel[0]; ky++)
			for (int64_t kx = 0; kx < w->kernel[1]; kx++, filter++) {
				int64_t iy = position(w, 0, oy, ky, x->size[0]),
					ix = position(w, 1, ox, kx, x->size[1]);
				if (iy >= 0 && ix >= 0)
					sum += *filter * input[(c * x->size[0] + iy) * x->size[1] + ix];
			}
	return sum;
}

/* private_kernels: the filters of output position (oy,ox) begin at row (oy * width + ox) * all filters of the
 * weights. */
static void check_conv(uint64_t *seed, int64_t groups, int64_t channels, int64_t filters, int64_t largest_kernel,
		       bool private_kernels)
{
	uint64_t start = *seed;
	bool with_bias = test_range(seed, 0, 1);
	struct npl_attrs attrs = {.conv = {.groups = groups,
					   .private_kernels = private_kernels,
					   .window = random_window(seed, test_range(seed, 0, 3), largest_kernel)}};
	struct npl_window *w = &attrs.conv.window;
	struct npl_tensor x = test_random_tensor(seed, NPL_F32, random_image(seed, w, groups * channels));
	struct npl_image size = npl_image_of(&x.shape);
	int64_t rows = groups * filters;
	for (int d = 0; private_kernels && d < NPL_SPATIAL; d++)
		rows *= npl_window_output(w, d, size.size[d]);
	struct npl_shape shape = w->rank == 2 ? npl_shape_of(4, rows, channels, w->kernel[0], w->kernel[1])
					      : npl_shape_of(3, rows, channels, w->kernel[1]);
	struct npl_tensor weight = test_random_tensor(seed, NPL_F32, shape);
	struct npl_tensor bias = test_random_tensor(seed, NPL_F32, npl_shape_of(1, groups * filters));
	const struct npl_tensor *in[] = {&x, &weight, with_bias ? &bias : NULL};
	struct npl_tensor out = test_run(NPL_OP_CONV, &attrs, in, 3);
	struct npl_image xi = npl_image_of(&x.shape), yi = npl_image_of(&out.shape);
	int64_t taps = channels * w->kernel[0] * w->kernel[1], plane = xi.size[0] * xi.size[1];
	const float *actual = out.data;
	cr_assert_eq(npl_op_macs(NPL_OP_CONV, &attrs, in, 3, &out), (uint64_t)(npl_tensor_count(&out) * taps));
	for (int64_t n = 0; n < yi.images; n++)
		for (int64_t m = 0; m < yi.channels; m++)
			for (int64_t oy = 0; oy < yi.size[0]; oy++)
				for (int64_t ox = 0; ox < yi.size[1]; ox++, actual++) {
					const float *group = (const float *)x.data +
							     (n * groups + m / filters) * channels * plane;
					float first = with_bias ? ((const float *)bias.data)[m] : 0.0f;
					int64_t row = private_kernels ? (oy * yi.size[1] + ox) * yi.channels + m : m;
					float expected = conv_at(w, &xi, group, (const float *)weight.data + row * taps,
								 channels, first, oy, ox);
					test_equal_floats(actual, &expected, 1, "Conv", start);
				}
	test_release(&out);
	npl_tensor_free(&x);
	npl_tensor_free(&weight);
	npl_tensor_free(&bias);
}

Test(ops_kernel, conv_equals_its_definition)
{
	uint64_t seed = SEED;
	for (int i = 0; i < 150; i++) /* few filters per group: row by row; more: packed */
		check_conv(&seed, test_range(&seed, 1, 4), test_range(&seed, 1, 5), test_range(&seed, 1, 9), 4, false);
	for (int i = 0; i < 30; i++) /* pointwise */
		check_conv(&seed, 1, test_range(&seed, 1, 300), test_range(&seed, 1, 9), 1, false);
	for (int i = 0; i < 12; i++) /* deeper than one block of K */
		check_conv(&seed, 1, test_range(&seed, 60, 90), test_range(&seed, 4, 6), 3, false);
	for (int i = 0; i < 100; i++)
		check_conv(&seed, test_range(&seed, 1, 4), test_range(&seed, 1, 5), test_range(&seed, 1, 9), 4, true);
}

Test(ops_kernel, sums_do_not_depend_on_vector_width)
{
	uint64_t seed = SEED + 1;
	for (int i = 0; i < 60; i++) {
		int64_t rows = test_range(&seed, 1, 9), cols = test_range(&seed, 1, 300),
			depth = test_range(&seed, 0, 600);
		bool transposed = test_range(&seed, 0, 1);
		struct npl_tensor a = test_random_tensor(&seed, NPL_F32, npl_shape_of(2, rows, depth));
		struct npl_tensor b = test_random_tensor(&seed, NPL_F32, npl_shape_of(2, depth, cols));
		struct npl_tensor y[2];
		struct op_matrix matrix = {b.data, transposed ? depth : cols, transposed};
		for (int baseline = 0; baseline < 2; baseline++) {
			y[baseline] = test_tensor(NPL_F32, npl_shape_of(2, rows, cols));
			struct op_product product = {.rows = rows,
						     .cols = cols,
						     .depth = depth,
						     .a = a.data,
						     .a_stride = depth,
						     .y = y[baseline].data,
						     .y_stride = cols,
						     .baseline = baseline};
			cr_assert_eq(op_product_matrix(&product, &matrix, NULL), 0);
		}
		cr_assert_eq(memcmp(y[0].data, y[1].data, npl_tensor_bytes(&y[0])), 0, "%lldx%lldx%lld, seed %u",
			     (long long)rows, (long long)depth, (long long)cols, SEED + 1);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
		npl_tensor_free(&y[0]);
		npl_tensor_free(&y[1]);
	}
}

static struct npl_shape random_c_shape(uint64_t *seed, int64_t rows, int64_t cols)
{
	switch (test_range(seed, 0, 5)) {
	case 0:
		return (struct npl_shape){.rank = 0};
	case 1:
		return npl_shape_of(1, 1);
	case 2:
		return npl_shape_of(1, cols);
	case 3:
		return npl_shape_of(2, rows, 1);
	case 4:
		return npl_shape_of(2, 1, cols);
	default:
		return npl_shape_of(2, rows, cols);
	}
}

Test(ops_kernel, gemm_equals_its_definition)
{
	uint64_t seed = SEED + 2;
	static const float factors[] = {1.0f, 0.0f, -0.7f, 3.1f};
	for (int i = 0; i < 120; i++) {
		int64_t rows = test_range(&seed, 1, 9), cols = test_range(&seed, 1, 200),
			depth = test_range(&seed, 1, 400);
		struct npl_attrs attrs = {.gemm = {.alpha = factors[test_range(&seed, 0, 3)],
						   .beta = factors[test_range(&seed, 0, 3)],
						   .trans_a = test_range(&seed, 0, 1),
						   .trans_b = test_range(&seed, 0, 1)}};
		bool with_c = test_range(&seed, 0, 3);
		struct npl_tensor a = test_random_tensor(&seed, NPL_F32,
							 attrs.gemm.trans_a ? npl_shape_of(2, depth, rows)
									    : npl_shape_of(2, rows, depth));
		struct npl_tensor b = test_random_tensor(&seed, NPL_F32,
							 attrs.gemm.trans_b ? npl_shape_of(2, cols, depth)
									    : npl_shape_of(2, depth, cols));
		struct npl_tensor c = test_random_tensor(&seed, NPL_F32, random_c_shape(&seed, rows, cols));
		for (int64_t e = 0; e < npl_tensor_count(&c) && attrs.gemm.beta == 0.0f; e++)
			((float *)c.data)[e] = (float)NAN; /* must not be read */
		const struct npl_tensor *in[] = {&a, &b, with_c ? &c : NULL};
		struct npl_tensor out = test_run(NPL_OP_GEMM, &attrs, in, 3);
		const float *pa = a.data, *pb = b.data, *pc = c.data, *actual = out.data;
		for (int64_t e = 0; e < rows * cols; e++) {
			int64_t index[NPL_MAX_RANK] = {e / cols, e % cols};
			float expected = 0.0f;
			for (int64_t k = 0; k < depth; k++)
				expected += pa[attrs.gemm.trans_a ? k * rows + index[0] : index[0] * depth + k] *
					    pb[attrs.gemm.trans_b ? index[1] * depth + k : k * cols + index[1]];
			expected *= attrs.gemm.alpha;
			if (with_c && attrs.gemm.beta != 0.0f)
				expected += attrs.gemm.beta * pc[test_ravel(&c.shape, &out.shape, index)];
			test_equal_floats(actual + e, &expected, 1, "Gemm", SEED + 2);
		}
		cr_assert_eq(npl_op_macs(NPL_OP_GEMM, &attrs, in, 3, &out), (uint64_t)(rows * cols * depth));
		test_release(&out);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
		npl_tensor_free(&c);
	}
}

/* A random shape of rank 1 to 4 for one side of a MatMul; batch dimensions are those of `batch` or 1. */
static struct npl_shape operand(uint64_t *seed, const int64_t batch[2], int64_t rows, int64_t cols, bool left)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, 1, 4)};
	if (shape.rank == 1)
		return npl_shape_of(1, left ? cols : rows);
	for (int i = 0; i < shape.rank - 2; i++)
		shape.dim[i] = test_range(seed, 0, 1) ? batch[i + 4 - shape.rank] : 1;
	shape.dim[shape.rank - 2] = rows;
	shape.dim[shape.rank - 1] = cols;
	return shape;
}

Test(ops_kernel, matmul_equals_its_definition)
{
	uint64_t seed = SEED + 3;
	for (int i = 0; i < 200; i++) {
		int64_t batch[2] = {test_range(&seed, 1, 3), test_range(&seed, 1, 3)};
		int64_t rows = test_range(&seed, 1, 7), cols = test_range(&seed, 1, 20),
			depth = test_range(&seed, 1, 30);
		struct npl_attrs attrs = {.opset = 13};
		struct npl_tensor a = test_random_tensor(&seed, NPL_F32, operand(&seed, batch, rows, depth, true));
		struct npl_tensor b = test_random_tensor(&seed, NPL_F32, operand(&seed, batch, depth, cols, false));
		const struct npl_tensor *in[] = {&a, &b};
		struct npl_tensor out = test_run(NPL_OP_MATMUL, &attrs, in, 2);
		struct npl_shape full_a = a.shape, full_b = b.shape, full = {.rank = 4};
		if (full_a.rank == 1)
			full_a = npl_shape_of(2, 1, depth);
		if (full_b.rank == 1)
			full_b = npl_shape_of(2, depth, 1);
		full.dim[2] = full_a.dim[full_a.rank - 2];
		full.dim[3] = full_b.dim[full_b.rank - 1];
		for (int d = 0; d < 2; d++) {
			int64_t da = d + full_a.rank >= 4 ? full_a.dim[d + full_a.rank - 4] : 1;
			int64_t db = d + full_b.rank >= 4 ? full_b.dim[d + full_b.rank - 4] : 1;
			full.dim[d] = da > db ? da : db;
		}
		int64_t count = npl_shape_count(&full);
		cr_assert_eq(npl_tensor_count(&out), count);
		cr_assert_eq(npl_op_macs(NPL_OP_MATMUL, &attrs, in, 2, &out), (uint64_t)(count * depth));
		for (int64_t e = 0; e < count; e++) {
			int64_t index[NPL_MAX_RANK], at_a[4], at_b[4];
			float expected = 0.0f;
			test_unravel(&full, e, index);
			memcpy(at_a, index, sizeof at_a);
			memcpy(at_b, index, sizeof at_b);
			for (int64_t k = 0; k < depth; k++) {
				at_a[3] = at_b[2] = k;
				expected += ((const float *)a.data)[test_ravel(&full_a, &full, at_a)] *
					    ((const float *)b.data)[test_ravel(&full_b, &full, at_b)];
			}
			test_equal_floats((const float *)out.data + e, &expected, 1, "MatMul", SEED + 3);
		}
		test_release(&out);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
	}
}

/* What one pooling window holds: its largest value and mean, each element looked at by its definition. */
struct pooled {
	double largest, mean;
};

static struct pooled pool_at(const struct npl_window *w, const struct npl_image *x, const double *plane, int64_t oy,
			     int64_t ox)
{
	struct pooled result = {-INFINITY, 0};
	double counted = 0;
	for (int64_t ky = 0; ky < w->kernel[0]; ky++)
		for (int64_t kx = 0; kx < w->kernel[1]; kx++) {
			int64_t iy = position(w, 0, oy, ky, x->size[0]), ix = position(w, 1, ox, kx, x->size[1]);
			bool padded = oy * w->stride[0] + ky * w->dilation[0] <
					      x->size[0] + w->pad_begin[0] + w->pad_end[0] &&
				      ox * w->stride[1] + kx * w->dilation[1] <
					      x->size[1] + w->pad_begin[1] + w->pad_end[1];
			if (iy >= 0 && ix >= 0) {
				double v = plane[iy * x->size[1] + ix];
				result.largest = v > result.largest ? v : result.largest;
				result.mean += v;
			}
			counted += w->count_include_pad ? padded : iy >= 0 && ix >= 0;
		}
	result.mean = counted ? result.mean / counted : 0.0;
	return result;
}

static double element(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_F32:
		return (double)((const float *)t->data)[i];
	case NPL_I8:
		return ((const int8_t *)t->data)[i];
	case NPL_U8:
		return ((const uint8_t *)t->data)[i];
	default:
		return ((const int16_t *)t->data)[i];
	}
}

static double lowest(enum npl_dtype dtype)
{
	return dtype == NPL_F32 ? -(double)INFINITY : dtype == NPL_I8 ? -128.0 : dtype == NPL_U8 ? 0.0 : -32768.0;
}

static void check_pool(uint64_t *seed, enum npl_op op, enum npl_dtype dtype)
{
	uint64_t start = *seed;
	struct npl_attrs attrs = {.pool.window = random_window(seed, test_range(seed, 0, 3), 4)};
	struct npl_window *w = &attrs.pool.window;
	w->ceil_mode = test_range(seed, 0, 1);
	w->count_include_pad = test_range(seed, 0, 1);
	struct npl_tensor x = test_random_tensor(seed, dtype, random_image(seed, w, test_range(seed, 1, 3)));
	struct npl_tensor out = test_run(op, &attrs, (const struct npl_tensor *[]){&x}, 1);
	struct npl_image xi = npl_image_of(&x.shape), yi = npl_image_of(&out.shape);
	int64_t area = xi.size[0] * xi.size[1], i = 0;
	double *plane = calloc((size_t)area, sizeof *plane);
	for (int64_t c = 0; c < xi.images * xi.channels; c++) {
		for (int64_t p = 0; p < area; p++)
			plane[p] = element(&x, c * area + p);
		for (int64_t oy = 0; oy < yi.size[0]; oy++)
			for (int64_t ox = 0; ox < yi.size[1]; ox++, i++) {
				struct pooled pooled = pool_at(w, &xi, plane, oy, ox);
				double expected = op == NPL_OP_MAXPOOL ? fmax(pooled.largest, lowest(dtype))
								       : (double)(float)pooled.mean;
				cr_assert(element(&out, i) == expected,
					  "%s of %s, seed %llu: element %lld is %g, expected %g", npl_op_defs[op].name,
					  npl_dtype_name(dtype), (unsigned long long)start, (long long)i,
					  element(&out, i), expected);
			}
	}
	free(plane);
	test_release(&out);
	npl_tensor_free(&x);
}

Test(ops_kernel, pooling_equals_its_definition)
{
	uint64_t seed = SEED + 4;
	static const enum npl_dtype types[] = {NPL_F32, NPL_I8, NPL_U8, NPL_I16};
	for (int i = 0; i < 400; i++)
		check_pool(&seed, NPL_OP_MAXPOOL, types[i % 4]);
	for (int i = 0; i < 300; i++)
		check_pool(&seed, NPL_OP_AVERAGEPOOL, NPL_F32);
}

Test(ops_kernel, pooling_of_whole_planes_and_nan)
{
	struct npl_tensor x = {.dtype = NPL_F32,
			       .shape = npl_shape_of(3, 1, 2, 4),
			       .data = (float[]){1, 2, 3, 5, -1, (float)NAN, -7, 8}};
	const struct npl_tensor *in[] = {&x};
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor out = test_run(NPL_OP_GLOBALAVERAGEPOOL, &attrs, in, 1);
	test_equal_floats(out.data, (const float[]){2.75f, (float)NAN}, 2, "GlobalAveragePool", 0);
	test_release(&out);
	attrs = (struct npl_attrs){.pool = {.window = {.kernel = {1, 2}, .stride = {1, 1}, .dilation = {1, 1}}}};
	out = test_run(NPL_OP_MAXPOOL, &attrs, in, 1);
	test_equal_floats(out.data, (const float[]){2, 3, 5, (float)NAN, (float)NAN, 8}, 6, "MaxPool", 0);
	test_release(&out);
}

/* The range of outputs that a tap meets, against asking each output. */
Test(ops_kernel, ranges_of_a_tap_equal_asking_each_output)
{
	uint64_t seed = SEED + 5;
	for (int i = 0; i < 3000; i++) {
		struct npl_window w = random_window(&seed, true, 5);
		int64_t input = test_range(&seed, 1, 20), output = npl_window_output(&w, 0, input);
		for (int64_t tap = 0; tap < w.kernel[0] && output > 0; tap++) {
			int64_t first, end;
			npl_window_range(&w, 0, tap, input, output, &first, &end);
			cr_assert(0 <= first && first <= end && end <= output);
			for (int64_t o = 0; o < output; o++)
				cr_assert_eq(position(&w, 0, o, tap, input) >= 0, o >= first && o < end,
					     "seed %u, case %d, output %lld", SEED + 5, i, (long long)o);
		}
	}
}

/* Where nothing is made nothing is counted to: 2^40 rows without elements take no time (a loop over them, hours). */
Test(ops_kernel, nothing_by_a_huge_dimension)
{
	static const enum npl_op ops[] = {NPL_OP_MATMUL, NPL_OP_EXPAND, NPL_OP_TILE,    NPL_OP_INSTANCENORMALIZATION,
					  NPL_OP_RESIZE, NPL_OP_RELU,   NPL_OP_SOFTMAX, NPL_OP_REDUCESUM};
	const int64_t huge = (int64_t)1 << 40, shape[4] = {huge, 1, 0, 1};
	float none[1] = {0}, scale[4] = {1, 1, 1, 1};
	struct npl_tensor empty = {.dtype = NPL_F32, .shape = npl_shape_of(4, huge, 1, 0, 1), .data = none},
			  second[] = {
				  [0] = {.dtype = NPL_F32, .shape = npl_shape_of(4, huge, 1, 1, 0), .data = none},
				  [1] = {.dtype = NPL_I64, .shape = npl_shape_of(1, 4), .data = (void *)shape},
				  [2] = {.dtype = NPL_I64, .shape = npl_shape_of(1, 4), .data = (void *)shape},
				  [3] = {.dtype = NPL_F32, .shape = npl_shape_of(1, 1), .data = scale},
				  [4] = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4), .data = scale},
			  };
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		const struct npl_tensor *in[3] = {&empty, i < 5 ? &second[i] : NULL, i == 3 ? &second[3] : NULL};
		struct npl_tensor out = empty;
		struct npl_err err;
		if (i == 4) {
			in[1] = NULL;
			in[2] = &second[4];
		}
		cr_assert_eq(npl_op_run(ops[i], &(struct npl_attrs){.op = ops[i], .opset = 13}, in,
					i == 3 || i == 4 ? 3
					: i < 5          ? 2
							 : 1,
					&out, 1, &err),
			     0, "%s: %s", npl_op_defs[ops[i]].name, err.msg);
	}
}
