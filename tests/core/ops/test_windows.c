/* SPDX-License-Identifier: MIT
 *
 * Promises: convolution both ways and all poolings agree with loops written from their definitions, over random windows
 * of one to three dimensions given as a model gives them (strides, dilations, pads, auto_pad, output_padding and
 * output_shape, ceil_mode); the MACs of a transposed convolution are the products that reach its output; what is pooled
 * with indices and unpooled by them stands where it stood; devices that know two dimensions refuse three. */
#include "tests/kit/ops_support.h"

#include <math.h>

#include "core/op_functions.h"
#include "npulab/device.h"

#define SEED 0x5eed3001u
#define MOST 3

/* A window as the model lists it. */
struct nd {
	int rank;
	int64_t kernel[MOST], stride[MOST], dilation[MOST], pads[2 * MOST];
	struct npl_attr attr[10];
	int n;
};

static void put_ints(struct nd *w, const char *name, const int64_t *ints, int64_t n)
{
	w->attr[w->n++] = (struct npl_attr){.name = name, .type = NPL_ATTR_INTS, .ints = ints, .n = n};
}

/* Filled in place, as the attributes point into it. */
static void random_nd(uint64_t *seed, int rank, struct nd *w)
{
	*w = (struct nd){.rank = rank};
	int64_t maximum = rank == 3 ? 3 : 4;
	for (int d = 0; d < rank; d++) {
		w->kernel[d] = test_range(seed, 1, maximum);
		w->stride[d] = test_range(seed, 1, 3);
		w->dilation[d] = test_range(seed, 1, 2);
		w->pads[d] = test_range(seed, 0, w->kernel[d] - 1);
		w->pads[rank + d] = test_range(seed, 0, w->kernel[d] - 1);
	}
	put_ints(w, "kernel_shape", w->kernel, rank);
	put_ints(w, "strides", w->stride, rank);
	put_ints(w, "dilations", w->dilation, rank);
	put_ints(w, "pads", w->pads, 2 * rank);
}

static int64_t extent(const struct nd *w, int d)
{
	return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

/* Images that the window fits. */
static struct npl_shape random_image(uint64_t *seed, const struct nd *w, int64_t channels)
{
	struct npl_shape shape = npl_shape_of(2 + w->rank, test_range(seed, 1, 2), channels);
	for (int d = 0; d < w->rank; d++)
		shape.dim[2 + d] = extent(w, d) + test_range(seed, 0, w->rank == 3 ? 4 : 9);
	return shape;
}

/* The next index of a row-major walk; false after the last. */
static bool next(int64_t *index, const int64_t *size, int rank)
{
	for (int d = rank - 1; d >= 0; d--) {
		if (++index[d] < size[d])
			return true;
		index[d] = 0;
	}
	return false;
}

/* Where a tap reads for an output position: the offset in a channel, or -1 in the padding. */
static int64_t reads(const struct nd *w, const int64_t *size, const int64_t *output, const int64_t *tap)
{
	int64_t at = 0;
	for (int d = 0; d < w->rank; d++) {
		int64_t i = output[d] * w->stride[d] - w->pads[d] + tap[d] * w->dilation[d];
		if (i < 0 || i >= size[d])
			return -1;
		at = at * size[d] + i;
	}
	return at;
}

static int64_t volume(const int64_t *size, int rank)
{
	int64_t count = 1;
	for (int d = 0; d < rank; d++)
		count *= size[d];
	return count;
}

/* Parses the attributes, shapes and runs with guards; outputs[1] too if asked for. */
static void run_nd(enum npl_op op, struct nd *w, struct npl_attrs *attrs, const struct npl_tensor *const *in, int n_in,
		   struct npl_tensor *out, int n_out)
{
	struct npl_attr_list list = {w->attr, w->n};
	struct npl_err err = {0};
	*attrs = (struct npl_attrs){.opset = 13};
	cr_assert_eq(npl_op_attrs(op, &list, attrs, &err), 0, "%s", err.msg);
	for (int i = 0; i < w->n; i++)
		cr_assert(w->attr[i].used, "%s of %s", w->attr[i].name, npl_op_defs[op].name);
	out[0] = test_run(op, attrs, in, n_in);
	if (n_out < 2)
		return;
	struct npl_tensor outputs[2] = {{0}};
	cr_assert_eq(npl_op_shape(op, attrs, in, n_in, outputs, 2, &err), 0, "%s", err.msg);
	cr_assert(!npl_tensor_alloc(&outputs[0], &err) && !npl_tensor_alloc(&outputs[1], &err));
	cr_assert_eq(npl_op_run(op, attrs, in, n_in, outputs, 2, &err), 0, "%s", err.msg);
	cr_assert_eq(memcmp(outputs[0].data, out[0].data, npl_tensor_bytes(&outputs[0])), 0);
	out[1] = outputs[1];
	npl_tensor_free(&outputs[0]);
}

static void check_conv(uint64_t *seed, int rank)
{
	uint64_t start = *seed;
	struct nd w;
	random_nd(seed, rank, &w);
	int64_t groups = test_range(seed, 1, 3), channels = test_range(seed, 1, 3), filters = test_range(seed, 1, 6);
	struct npl_shape kernels = npl_shape_of(2 + rank, groups * filters, channels);
	memcpy(&kernels.dim[2], w.kernel, sizeof w.kernel);
	struct npl_tensor x = test_random_tensor(seed, NPL_F32, random_image(seed, &w, groups * channels));
	struct npl_tensor weight = test_random_tensor(seed, NPL_F32, kernels), out;
	struct npl_tensor bias = test_random_tensor(seed, NPL_F32, npl_shape_of(1, groups * filters));
	w.attr[w.n++] = ATTR_INT("group", groups);
	struct npl_attrs attrs;
	run_nd(NPL_OP_CONV, &w, &attrs, (const struct npl_tensor *[]){&x, &weight, &bias}, 3, &out, 1);
	const int64_t *size = &x.shape.dim[2];
	int64_t index[2 + MOST] = {0}, plane = volume(size, rank), taps = volume(w.kernel, rank);
	const float *actual = out.data;
	do {
		int64_t m = index[1], tap[MOST] = {0};
		const float *filter = (const float *)weight.data + m * channels * taps;
		float expected = ((const float *)bias.data)[m];
		for (int64_t c = 0; c < channels; c++) {
			const float *from = (const float *)x.data +
					    ((index[0] * groups + m / filters) * channels + c) * plane;
			do {
				int64_t at = reads(&w, size, index + 2, tap);
				expected += at < 0 ? *filter * 0.0f : *filter * from[at];
				filter++;
			} while (next(tap, w.kernel, rank));
		}
		test_equal_floats(actual++, &expected, 1, "Conv", start);
	} while (next(index, out.shape.dim, 2 + rank));
	test_release(&out);
	npl_tensor_free(&x);
	npl_tensor_free(&weight);
	npl_tensor_free(&bias);
}

Test(ops_windows, conv_in_three_dimensions)
{
	uint64_t seed = SEED;
	for (int i = 0; i < 150; i++)
		check_conv(&seed, 1 + i % 3);
}

/* Half of what is to be cut off, the smaller half first where `upper`. */
static void cut(struct nd *w, int d, int64_t total, bool upper)
{
	total = total < 0 ? 0 : total;
	w->pads[d] = upper ? total / 2 : total - total / 2;
	w->pads[w->rank + d] = total - w->pads[d];
}

/* Draws how the model says its output size; afterwards w->pads hold the pads and size[] the output that ONNX gives. */
static void draw_output(uint64_t *seed, struct nd *w, const int64_t *in, int64_t *padding, int64_t *asked,
			int64_t *size)
{
	int method = (int)test_range(seed, 0, 5);
	bool upper = method == 1 || method == 4, same = method == 1 || method == 2, shaped = method >= 3 && method < 5;
	if (method == 1 || method == 2 || method == 4)
		w->attr[w->n++] = ATTR_STRING("auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
	for (int d = 0; d < w->rank; d++) {
		padding[d] = test_range(seed, 0, w->stride[d] - 1);
		int64_t all = (in[d] - 1) * w->stride[d] + extent(w, d) + padding[d];
		asked[d] = test_range(seed, all > 5 ? all - 5 : 1, all + 2);
		size[d] = same ? in[d] * w->stride[d] : shaped ? asked[d] : all - w->pads[d] - w->pads[w->rank + d];
		if (same || shaped)
			cut(w, d, all - size[d], upper);
	}
	put_ints(w, "output_padding", padding, w->rank);
	if (shaped)
		put_ints(w, "output_shape", asked, w->rank);
	if (same || shaped) /* pads are not given */
		w->attr[3] = w->attr[--w->n];
}

static void check_transposed(uint64_t *seed, int rank, int64_t limit)
{
	uint64_t start = *seed, macs = 0;
	struct nd w;
	int64_t size[MOST], padding[MOST], asked[MOST];
	random_nd(seed, rank, &w);
	int64_t groups = test_range(seed, 1, 3), channels = test_range(seed, 1, limit),
		filters = test_range(seed, 1, limit);
	struct npl_shape kernels = npl_shape_of(2 + rank, groups * channels, filters);
	memcpy(&kernels.dim[2], w.kernel, sizeof w.kernel);
	struct npl_tensor x = test_random_tensor(seed, NPL_F32, random_image(seed, &w, groups * channels));
	struct npl_tensor weight = test_random_tensor(seed, NPL_F32, kernels), out;
	struct npl_tensor bias = test_random_tensor(seed, NPL_F32, npl_shape_of(1, groups * filters));
	const struct npl_tensor *in[] = {&x, &weight, test_range(seed, 0, 1) ? &bias : NULL};
	const int64_t *from = &x.shape.dim[2];
	draw_output(seed, &w, from, padding, asked, size);
	w.attr[w.n++] = ATTR_INT("group", groups);
	struct npl_attrs attrs;
	run_nd(NPL_OP_CONVTRANSPOSE, &w, &attrs, in, 3, &out, 1);
	for (int d = 0; d < rank; d++)
		cr_assert_eq(out.shape.dim[2 + d], size[d], "seed %llu: dimension %d is %lld, expected %lld",
			     (unsigned long long)start, d, (long long)out.shape.dim[2 + d], (long long)size[d]);
	cr_assert(out.shape.dim[0] == x.shape.dim[0] && out.shape.dim[1] == groups * filters);
	int64_t plane = volume(size, rank), taps = volume(w.kernel, rank), index[2 + MOST] = {0};
	double *sums = calloc((size_t)npl_tensor_count(&out), sizeof *sums);
	const float *value = x.data;
	do { /* each input value goes to all filters by all taps */
		int64_t g = index[1] / channels, tap[MOST] = {0}, t = 0;
		do {
			int64_t at = reads(&w, size, index + 2, tap);
			for (int64_t m = 0; m < filters && at >= 0; m++, macs++)
				sums[(index[0] * groups * filters + g * filters + m) * plane + at] +=
					(double)*value *
					(double)((const float *)weight.data)[(index[1] * filters + m) * taps + t];
			t++;
		} while (next(tap, w.kernel, rank));
		value++;
	} while (next(index, x.shape.dim, 2 + rank));
	for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
		double expected = sums[i] + (in[2] ? (double)((float *)bias.data)[i / plane % (groups * filters)] : 0);
		cr_assert(fabs((double)((float *)out.data)[i] - expected) < 1e-5 * (double)(channels * taps),
			  "seed %llu: element %lld is %g, expected %g", (unsigned long long)start, (long long)i,
			  (double)((float *)out.data)[i], expected);
	}
	cr_assert_eq(npl_op_macs(NPL_OP_CONVTRANSPOSE, &attrs, in, 3, &out), macs);
	free(sums);
	test_release(&out);
	npl_tensor_free(&x);
	npl_tensor_free(&weight);
	npl_tensor_free(&bias);
}

Test(ops_windows, transposed_conv_equals_its_definition)
{
	uint64_t seed = SEED + 1;
	for (int i = 0; i < 300; i++)
		check_transposed(&seed, 1 + i % 3, 4);
	for (int i = 0; i < 6; i++)
		check_transposed(&seed, 1 + i % 3, 40);
}

/* More products than fit beside each other: lines and filters come in several blocks. */
Test(ops_windows, a_large_transposed_convolution_follows_its_definition)
{
	uint64_t seed = SEED + 2;
	struct npl_tensor x = test_random_tensor(&seed, NPL_F32, npl_shape_of(4, 1, 3, 150, 170));
	struct npl_tensor weight = test_random_tensor(&seed, NPL_F32, npl_shape_of(4, 3, 5, 4, 4)), out;
	struct nd w = {.rank = 2, .stride = {2, 2}, .dilation = {1, 1}, .pads = {1, 1, 1, 1}};
	put_ints(&w, "strides", w.stride, 2);
	put_ints(&w, "pads", w.pads, 4);
	struct npl_attrs attrs;
	run_nd(NPL_OP_CONVTRANSPOSE, &w, &attrs, (const struct npl_tensor *[]){&x, &weight}, 2, &out, 1);
	for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
		int64_t ox = i % 340, oy = i / 340 % 300, m = i / 340 / 300;
		double expected = 0;
		for (int64_t c = 0; c < 3; c++)
			for (int64_t ky = (oy + 1) % 2; ky < 4; ky += 2)
				for (int64_t kx = (ox + 1) % 2; kx < 4; kx += 2) {
					int64_t y = (oy + 1 - ky) / 2, z = (ox + 1 - kx) / 2;
					if (oy + 1 >= ky && ox + 1 >= kx && y < 150 && z < 170)
						expected +=
							(double)((float *)x.data)[(c * 150 + y) * 170 + z] *
							(double)((float *)weight.data)[((c * 5 + m) * 4 + ky) * 4 + kx];
				}
		cr_assert(fabs((double)((float *)out.data)[i] - expected) < 1e-5, "element %lld", (long long)i);
	}
	test_release(&out);
	npl_tensor_free(&x);
	npl_tensor_free(&weight);
}

static double number_at(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_F32:
		return (double)((float *)t->data)[i];
	case NPL_F64:
		return ((double *)t->data)[i];
	case NPL_I8:
		return ((int8_t *)t->data)[i];
	case NPL_U8:
		return ((uint8_t *)t->data)[i];
	default:
		return ((int16_t *)t->data)[i];
	}
}

/* What one window holds. */
struct pooled {
	double sum, power, greatest;
	int64_t inside, counted, at; /* counted: padding that the model names too */
};

static struct pooled pool_at(const struct nd *w, const struct npl_tensor *x, int64_t channel, const int64_t *output,
			     double p)
{
	struct pooled r = {.at = -1};
	const int64_t *size = &x->shape.dim[2];
	int64_t tap[MOST] = {0}, plane = volume(size, w->rank);
	do {
		int64_t at = reads(w, size, output, tap);
		bool named = true;
		for (int d = 0; d < w->rank; d++) {
			int64_t i = output[d] * w->stride[d] - w->pads[d] + tap[d] * w->dilation[d];
			named &= i < size[d] + w->pads[w->rank + d];
		}
		r.counted += named;
		if (at < 0)
			continue;
		double value = number_at(x, channel * plane + at);
		if (r.at < 0 || value > r.greatest) {
			r.greatest = value;
			r.at = at;
		}
		r.inside++;
		r.sum += value;
		r.power += pow(fabs(value), p);
	} while (next(tap, w->kernel, w->rank));
	return r;
}

static double lowest(enum npl_dtype dtype)
{
	return dtype == NPL_I8 ? INT8_MIN : dtype == NPL_U8 ? 0 : dtype == NPL_I16 ? INT16_MIN : -INFINITY;
}

/* An offset in a volume, counted with the first dimension fastest. */
static int64_t column_major_index(const int64_t *size, int rank, int64_t at)
{
	int64_t index[MOST] = {0}, to = 0;
	for (int d = rank - 1; d >= 0; d--) {
		index[d] = at % size[d];
		at /= size[d];
	}
	for (int d = rank - 1; d >= 0; d--)
		to = to * size[d] + index[d];
	return to;
}

static void check_pool(uint64_t *seed, enum npl_op op, enum npl_dtype dtype, int rank)
{
	uint64_t start = *seed;
	struct nd w;
	random_nd(seed, rank, &w);
	bool ceil_mode = test_range(seed, 0, 1), flag = test_range(seed, 0, 1), max = op == NPL_OP_MAXPOOL;
	int64_t p = test_range(seed, 1, 4);
	w.attr[w.n++] = ATTR_INT("ceil_mode", ceil_mode);
	w.attr[w.n++] = max                   ? ATTR_INT("storage_order", flag)
			: op == NPL_OP_LPPOOL ? ATTR_INT("p", p)
					      : ATTR_INT("count_include_pad", flag);
	struct npl_tensor x = test_random_tensor(seed, dtype, random_image(seed, &w, test_range(seed, 1, 3))), out[2];
	struct npl_attrs attrs;
	run_nd(op, &w, &attrs, (const struct npl_tensor *[]){&x}, 1, out, max ? 2 : 1);
	const int64_t *size = &x.shape.dim[2];
	for (int d = 0; d < rank; d++) {
		int64_t room = size[d] + w.pads[d] + w.pads[rank + d] - extent(&w, d), s = w.stride[d];
		int64_t n = (room + (ceil_mode ? s - 1 : 0)) / s + 1;
		n -= ceil_mode && (n - 1) * s >= size[d] + w.pads[d];
		cr_assert_eq(out[0].shape.dim[2 + d], n);
	}
	int64_t index[2 + MOST] = {0}, i = 0;
	do {
		int64_t channel = index[0] * x.shape.dim[1] + index[1];
		struct pooled r = pool_at(&w, &x, channel, index + 2, (double)p);
		int64_t divisor = flag ? r.counted : r.inside;
		double actual = number_at(&out[0], i), expected;
		expected = max                   ? (r.at < 0 ? lowest(dtype) : r.greatest)
			   : op == NPL_OP_LPPOOL ? pow(r.power, 1.0 / (double)p)
			   : divisor             ? r.sum / (double)divisor
						 : 0;
		cr_assert(max ? actual == expected : fabs(actual - expected) < 1e-6 * (1 + fabs(expected)),
			  "%s, seed %llu: element %lld is %g, expected %g", npl_op_defs[op].name,
			  (unsigned long long)start, (long long)i, actual, expected);
		if (max) {
			int64_t at = r.at < 0 ? -1
					      : channel * volume(size, rank) +
							(flag ? column_major_index(size, rank, r.at) : r.at);
			cr_assert_eq(((int64_t *)out[1].data)[i], at, "seed %llu: index %lld",
				     (unsigned long long)start, (long long)i);
		}
		i++;
	} while (next(index, out[0].shape.dim, 2 + rank));
	if (max)
		npl_tensor_free(&out[1]);
	test_release(&out[0]);
	npl_tensor_free(&x);
}

Test(ops_windows, pooling_in_three_dimensions)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I8, NPL_U8, NPL_I16};
	uint64_t seed = SEED + 3;
	for (int i = 0; i < 300; i++)
		check_pool(&seed, NPL_OP_MAXPOOL, types[i % 5], 1 + i % 3);
	for (int i = 0; i < 200; i++) {
		check_pool(&seed, NPL_OP_AVERAGEPOOL, types[i % 2], 1 + i % 3);
		check_pool(&seed, NPL_OP_LPPOOL, types[i % 2], 1 + i % 3);
	}
}

/* NaN is the greatest, wherever it stands; without one the first of equals is. */
Test(ops_windows, indices_of_nan_and_equals)
{
	struct npl_tensor x = {.dtype = NPL_F32,
			       .shape = npl_shape_of(3, 1, 1, 6),
			       .data = (float[]){(float)NAN, 2, 2, -INFINITY, -INFINITY, 1}};
	struct nd w = {.rank = 1, .kernel = {2}};
	put_ints(&w, "kernel_shape", w.kernel, 1);
	struct npl_attrs attrs;
	struct npl_tensor out[2];
	run_nd(NPL_OP_MAXPOOL, &w, &attrs, (const struct npl_tensor *[]){&x}, 1, out, 2);
	test_equal_floats(out[0].data, (const float[]){(float)NAN, 2, 2, -INFINITY, 1}, 5, "MaxPool", 0);
	cr_assert_eq(memcmp(out[1].data, (const int64_t[]){0, 1, 2, 3, 5}, 5 * sizeof(int64_t)), 0);
	npl_tensor_free(&out[1]);
	test_release(&out[0]);
}

Test(ops_windows, global_pooling_covers_the_whole_image)
{
	static const enum npl_op ops[] = {NPL_OP_GLOBALMAXPOOL, NPL_OP_GLOBALLPPOOL, NPL_OP_GLOBALAVERAGEPOOL};
	uint64_t seed = SEED + 4;
	for (int i = 0; i < 45; i++) {
		struct npl_shape shape = {.rank = 3 + i % 3, .dim = {2, 3, test_range(&seed, 1, 5), 4, 2}};
		struct npl_tensor x = test_random_tensor(&seed, NPL_F32, shape);
		struct npl_attr p = ATTR_INT("p", 3);
		struct npl_attr_list list = {&p, ops[i / 3 % 3] == NPL_OP_GLOBALLPPOOL};
		struct npl_attrs attrs = {.opset = 13};
		cr_assert_eq(npl_op_attrs(ops[i / 3 % 3], &list, &attrs, NULL), 0);
		struct npl_tensor out = test_run(ops[i / 3 % 3], &attrs, (const struct npl_tensor *[]){&x}, 1);
		int64_t plane = npl_tensor_count(&x) / 6;
		for (int64_t c = 0; c < 6; c++) {
			double sum = 0, cubes = 0, greatest = -INFINITY;
			for (int64_t k = c * plane; k < (c + 1) * plane; k++) {
				double value = (double)((float *)x.data)[k];
				sum += value;
				cubes += fabs(value * value * value);
				greatest = fmax(greatest, value);
			}
			double expected[] = {greatest, cbrt(cubes), sum / (double)plane};
			cr_assert(fabs((double)((float *)out.data)[c] - expected[i / 3 % 3]) < 1e-6);
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

/* The greatest of integers of every size, in planes shorter and longer than what is taken at a time. */
Test(ops_windows, global_maxima_of_integers)
{
	static const enum npl_dtype types[] = {NPL_I8, NPL_U8, NPL_I16};
	uint64_t seed = SEED + 5;
	for (int i = 0; i < 150; i++) {
		const int64_t planes = test_range(&seed, 1, 6), height = test_range(&seed, 1, 12),
			      width = test_range(&seed, 1, 12);
		struct npl_tensor x = test_random_tensor(&seed, types[i % 3],
							 npl_shape_of(4, 1, planes, height, width));
		for (int64_t k = 0; k < npl_tensor_count(&x) && i % 4 == 0; k++) /* none above 0 */
			if (types[i % 3] == NPL_I8)
				((int8_t *)x.data)[k] = (int8_t)(((int8_t *)x.data)[k] | INT8_MIN);
		struct npl_attrs attrs = {.opset = 13};
		cr_assert_eq(npl_op_attrs(NPL_OP_GLOBALMAXPOOL, &(struct npl_attr_list){NULL, 0}, &attrs, NULL), 0);
		struct npl_tensor out = test_run(NPL_OP_GLOBALMAXPOOL, &attrs, (const struct npl_tensor *[]){&x}, 1);
		for (int64_t c = 0; c < planes; c++) {
			double greatest = -INFINITY;
			for (int64_t k = 0; k < height * width; k++)
				greatest = fmax(greatest, npl_tensor_real(&x, c * height * width + k));
			cr_assert_eq(npl_tensor_real(&out, c), greatest);
		}
		test_release(&out);
		npl_tensor_free(&x);
	}
}

/* Maxima of windows that do not overlap, put back: each where it was, zeros elsewhere. */
Test(ops_windows, maxunpool_restores_positions)
{
	uint64_t seed = SEED + 5;
	for (int i = 0; i < 60; i++) {
		struct nd w = {.rank = 1 + i % 3};
		struct npl_shape shape = npl_shape_of(2 + w.rank, 2, 3);
		for (int d = 0; d < w.rank; d++) {
			w.kernel[d] = w.stride[d] = test_range(&seed, 1, 3);
			shape.dim[2 + d] = w.kernel[d] * test_range(&seed, 1, 4);
		}
		put_ints(&w, "kernel_shape", w.kernel, w.rank);
		put_ints(&w, "strides", w.stride, w.rank);
		struct npl_tensor x = test_random_tensor(&seed, NPL_F32, shape), pooled[2];
		struct npl_attrs attrs;
		run_nd(NPL_OP_MAXPOOL, &w, &attrs, (const struct npl_tensor *[]){&x}, 1, pooled, 2);
		struct npl_tensor larger = test_tensor(NPL_I64, npl_shape_of(1, shape.rank)), out;
		for (int d = 0; d < shape.rank; d++)
			((int64_t *)larger.data)[d] = shape.dim[d] + (d >= 2 ? test_range(&seed, 0, 2) : 0);
		for (int with_size = 0; with_size < 2; with_size++) {
			const struct npl_tensor *in[] = {&pooled[0], &pooled[1], with_size ? &larger : NULL};
			run_nd(NPL_OP_MAXUNPOOL, &w, &attrs, in, 3, &out, 1);
			int64_t index[2 + MOST] = {0};
			const float *actual = out.data;
			do {
				bool corner = true;
				for (int d = 2; d < shape.rank; d++)
					corner &= index[d] < shape.dim[d];
				int64_t at = corner ? test_ravel(&shape, &shape, index) : -1;
				float expected = 0;
				for (int64_t k = 0; k < npl_tensor_count(&pooled[0]) && corner; k++)
					if (((int64_t *)pooled[1].data)[k] == at)
						expected = ((float *)x.data)[at];
				cr_assert(*actual++ == expected, "case %d", i);
			} while (next(index, out.shape.dim, shape.rank));
			test_release(&out);
		}
		((int64_t *)pooled[1].data)[0] = npl_tensor_count(&x);
		const struct npl_tensor *in[] = {&pooled[0], &pooled[1]};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_shape(NPL_OP_MAXUNPOOL, &attrs, in, 2, &out, 1, &err), 0);
		cr_assert_eq(npl_tensor_alloc(&out, &err), 0);
		cr_assert_eq(npl_op_run(NPL_OP_MAXUNPOOL, &attrs, in, 2, &out, 1, &err), NPL_EINPUT);
		cr_assert(strstr(err.msg, "is none of the"), "%s", err.msg);
		npl_tensor_free(&out);
		npl_tensor_free(&larger);
		npl_tensor_free(&pooled[1]);
		test_release(&pooled[0]);
		npl_tensor_free(&x);
	}
}

/* Every device takes a layer of three dimensions rightly or not at all. */
Test(ops_windows, devices_and_three_dimensions)
{
	static const char *const names[] = {"reference", "cpu", "tpu_v1", "diannao"};
	struct npl_tensor x = {.dtype = NPL_F32, .shape = npl_shape_of(5, 1, 2, 4, 5, 6)}, y = {0}, w = x;
	w.shape = npl_shape_of(5, 3, 2, 2, 2, 2);
	const struct npl_tensor *in[] = {&x, &w};
	struct npl_err err = {0};
	for (int format = 0; format < 2; format++)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			static const enum npl_op ops[] = {NPL_OP_CONV, NPL_OP_MAXPOOL, NPL_OP_GLOBALAVERAGEPOOL};
			struct npl_device *device;
			const char *set[] = {"precision=int8"};
			struct npl_device_options options = {.set = set, .n_sets = format && i < 2};
			char reason[200];
			if (npl_device_open(names[i], &options, &device, &err))
				continue; /* no such library here */
			for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
				const struct npl_window window = {.stride = {1, 1, 1}, .dilation = {1, 1, 1}};
				struct npl_attrs attrs = {.op = ops[k]};
				if (ops[k] == NPL_OP_CONV)
					attrs.conv = (struct npl_conv_attrs){.window = window, .groups = 1};
				else
					attrs.pool.window = window;
				for (int d = 0; d < 3 && ops[k] == NPL_OP_MAXPOOL; d++)
					attrs.pool.window.kernel[d] = 2;
				cr_assert_eq(
					npl_op_shape(ops[k], &attrs, in, ops[k] == NPL_OP_CONV ? 2 : 1, &y, 1, &err), 0,
					"%s", err.msg);
				struct npl_tensor q[3] = {x, w, y};
				enum npl_format of = npl_device_get_info(device)->format;
				for (int t = 0; t < 3 && of != NPL_FORMAT_F32; t++) {
					q[t].dtype = of == NPL_FORMAT_Q16 ? NPL_I16 : t == 1 ? NPL_I8 : NPL_U8;
					q[t].quant.scale = 1.0f / 1024;
				}
				struct npl_layer layer = {.op = ops[k],
							  .attrs = &attrs,
							  .n_in = ops[k] == NPL_OP_CONV ? 2 : 1,
							  .in = {&q[0], &q[1]},
							  .out = &q[2]};
				bool takes = npl_device_supports(device, &layer, reason, sizeof reason);
				cr_assert_eq(takes, of == NPL_FORMAT_F32, "%s, %s in three dimensions", names[i],
					     npl_op_defs[ops[k]].name);
				cr_assert(takes || *reason);
			}
			npl_device_close(device);
		}
}
