/* SPDX-License-Identifier: MIT
 *
 * Conv and Gemm on 8-bit tensors (core/int8/layer.h). What the program promises: on random shapes, types, zero
 * points, groups, strides, dilations and pads the results are those of a loop over the definition, bit for bit, with
 * every kernel, 1 to 3 workers, tasks in any order and memory that a layer before has used; nothing outside the
 * output is written; Relu, bias, requantisation and raw results follow the rule; a layer that is not ok says why. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/int8/kernels.h"
#include "core/int8/layer.h"
#include "tests/kit/int8_layer.h"
#include "tests/kit/sim/tpu_v1/support.h"

static uint64_t seed;

static int32_t value_at(const struct npl_tensor *t, int64_t i)
{
	uint8_t byte = ((const uint8_t *)t->data)[i];
	return (t->dtype == NPL_I8 ? (int8_t)byte : byte) - t->quant.zero_point;
}

/* The definition, for one result before bias. */
static int64_t conv_sum(const struct test_layer *t, int64_t image, int64_t filter, int64_t oh, int64_t ow)
{
	const struct npl_window *w = &t->attrs.conv.window;
	struct npl_image in = npl_image_of(&t->x.shape);
	int64_t per_group = t->w.shape.dim[1], group = filter / (t->w.shape.dim[0] / t->attrs.conv.groups), sum = 0;
	for (int64_t c = 0; c < per_group; c++)
		for (int64_t kh = 0; kh < w->kernel[0]; kh++)
			for (int64_t kw = 0; kw < w->kernel[1]; kw++) {
				int64_t ih = oh * w->stride[0] - w->pad_begin[0] + kh * w->dilation[0];
				int64_t iw = ow * w->stride[1] - w->pad_begin[1] + kw * w->dilation[1];
				if (ih < 0 || iw < 0 || ih >= in.size[0] || iw >= in.size[1])
					continue;
				int64_t channel = image * in.channels + group * per_group + c;
				sum += (int64_t)value_at(&t->x, (channel * in.size[0] + ih) * in.size[1] + iw) *
				       value_at(&t->w,
						((filter * per_group + c) * w->kernel[0] + kh) * w->kernel[1] + kw);
			}
	return sum;
}

static int64_t gemm_sum(const struct test_layer *t, int64_t row, int64_t column)
{
	int64_t k = t->x.shape.dim[1], sum = 0;
	for (int64_t i = 0; i < k; i++)
		sum += (int64_t)value_at(&t->x, row * k + i) * value_at(&t->w, column * k + i);
	return sum;
}

/* From the sum to the result; the sums here are far from wrapping. */
static int32_t finished(const struct test_layer *t, int64_t sum, int64_t channel)
{
	const struct npl_quant *y = &t->y.quant;
	sum += t->bias.data ? ((const int32_t *)t->bias.data)[channel] : 0;
	if (t->layer.activation == NPL_ACT_RELU && sum < 0)
		sum = 0;
	if (t->y.dtype == NPL_I32)
		return (int32_t)sum;
	float w_scale = t->w.quant.channel_scale ? t->w.quant.channel_scale[channel] : t->w.quant.scale;
	volatile float scale_product = t->x.quant.scale * w_scale, scale = scale_product / y->scale,
		       product = (float)sum * scale;
	double q = rint((double)product) + y->zero_point;
	double low = npl_dtype_min(t->y.dtype), high = npl_dtype_max(t->y.dtype);
	return (int32_t)(q < low ? low : q > high ? high : q);
}

static int32_t result_at(const struct npl_tensor *y, const void *data, int64_t i)
{
	return y->dtype == NPL_I32  ? ((const int32_t *)data)[i]
	       : y->dtype == NPL_I8 ? ((const int8_t *)data)[i]
				    : ((const uint8_t *)data)[i];
}

/* All tasks, each step's in an order of its own, shared among the workers. */
static void run_shuffled(struct npl_int8_job *work, int workers, uint64_t *rng)
{
	for (int step = 0; step < npl_int8_job_steps(work); step++) {
		int64_t tasks = npl_int8_job_tasks(work, step), start = test_range(rng, 0, tasks - 1);
		int64_t stride = tasks > 1 ? test_range(rng, 1, tasks - 1) : 1;
		while (tasks > 1) { /* a stride without a factor in common visits all */
			int64_t a = tasks, b = stride;
			while (b) {
				int64_t rest = a % b;
				a = b;
				b = rest;
			}
			if (a == 1)
				break;
			stride = stride % (tasks - 1) + 1;
		}
		for (int64_t i = 0; i < tasks; i++)
			npl_int8_job_run(work, step, (start + i * stride) % tasks,
					 (int)test_range(rng, 0, workers - 1));
	}
}

/* Runs the layer and compares all results with the definition. */
static void check(struct test_layer *t, struct npl_int8_memory *memory, uint64_t *rng, const char *subject)
{
	enum { GUARD = 64 };
	size_t bytes = npl_tensor_bytes(&t->y);
	int workers = (int)test_range(rng, 1, 3);
	uint8_t *guarded = malloc(bytes + 2 * GUARD);
	struct npl_tensor out = t->y;
	struct npl_int8_job *work;
	struct npl_int8_counts counts = {0};
	struct npl_err err = {0};
	char reason[200];
	memset(guarded, 0x77, bytes + 2 * GUARD);
	out.data = guarded + GUARD;
	cr_assert(npl_int8_layer_ok(&t->layer, reason, sizeof reason), "seed %llx %s: %s", (unsigned long long)seed,
		  subject, reason);
	cr_assert_eq(npl_int8_job_open(&t->layer, &out, NULL, workers, memory, &work, &err), 0, "%s", err.msg);
	run_shuffled(work, workers, rng);
	cr_assert_eq(npl_int8_job_close(work, &counts, &err), 0, "%s", err.msg);
	bool is_conv = t->layer.op == NPL_OP_CONV;
	struct npl_image image = is_conv ? npl_image_of(&t->y.shape) : (struct npl_image){0};
	for (int64_t i = 0; i < npl_tensor_count(&t->y); i++) {
		int64_t channel, sum;
		if (is_conv) {
			int64_t pixels = image.size[0] * image.size[1], pixel = i % pixels;
			channel = i / pixels % image.channels;
			sum = conv_sum(t, i / pixels / image.channels, channel, pixel / image.size[1],
				       pixel % image.size[1]);
		} else {
			channel = i % t->y.shape.dim[1];
			sum = gemm_sum(t, i / t->y.shape.dim[1], channel);
		}
		int32_t expected = finished(t, sum, channel), actual = result_at(&t->y, out.data, i);
		cr_assert_eq(actual, expected,
			     "seed %llx %s, kernel %s, %d workers: result %lld is %d, expected %d (sum %lld)",
			     (unsigned long long)seed, subject, npl_int8_kernel(0)->name, workers, (long long)i, actual,
			     expected, (long long)sum);
	}
	for (size_t i = 0; i < GUARD; i++)
		cr_assert(guarded[i] == 0x77 && guarded[GUARD + bytes + i] == 0x77, "written outside the output");
	free(guarded);
}

/* Random bytes, or all of them the one whose products with its like are the greatest. */
static void fill(struct npl_tensor *t, uint64_t *rng)
{
	test_fill(t, rng);
	if (test_range(rng, 0, 2) == 0)
		memset(t->data, t->dtype == NPL_I8 ? 0x80 : 0xff, npl_tensor_bytes(t));
}

/* Random types, zero points, bias, Relu and form of the results. Half of the weights have no zero point, as most
 * networks have it. */
static void dress(struct test_layer *t, int64_t channels, uint64_t *rng)
{
	t->x.dtype = test_range(rng, 0, 1) ? NPL_U8 : NPL_I8;
	t->w.dtype = test_range(rng, 0, 3) ? NPL_I8 : NPL_U8;
	t->x.quant.zero_point = (int32_t)test_range(rng, npl_dtype_min(t->x.dtype), npl_dtype_max(t->x.dtype));
	if (test_range(rng, 0, 1))
		t->w.quant.zero_point = (int32_t)test_range(rng, npl_dtype_min(t->w.dtype), npl_dtype_max(t->w.dtype));
	else
		t->w.quant.zero_point = t->w.dtype == NPL_U8 ? 128 : 0;
	fill(&t->x, rng);
	fill(&t->w, rng);
	if (test_range(rng, 0, 1)) {
		test_tensor(&t->bias, NPL_I32, npl_shape_of(1, channels), 0.125f, 0);
		for (int64_t i = 0; i < channels; i++)
			((int32_t *)t->bias.data)[i] = (int32_t)test_range(rng, -100000, 100000);
	}
	if (test_range(rng, 0, 2))
		test_requantised(t, test_range(rng, 0, 1) ? NPL_U8 : NPL_I8,
				 (float)test_range(rng, 1, 100) * (t->layer.op == NPL_OP_CONV ? 8.0f : 20.0f),
				 (int32_t)test_range(rng, -20, 20) + (t->y.dtype == NPL_U8 ? 128 : 0));
	if (t->y.dtype == NPL_U8 && t->y.quant.zero_point < 0)
		t->y.quant.zero_point = 0;
	test_layer_wire(t, t->layer.op, t->layer.macs);
	t->layer.activation = test_range(rng, 0, 1) ? NPL_ACT_RELU : NPL_ACT_NONE;
}

Test(int8_layer, convolutions_equal_the_definition)
{
	uint64_t rng = seed = 0x5eed0201;
	struct npl_int8_memory memory = {0};
	for (int round = 0, done = 0; done < 300; round++) {
		npl_int8_prefer(round / 2 % (npl_int8_kernels() + 1));
		/* Small ones with all the oddities; wide and deep ones, over blocks of columns and of k. */
		struct test_conv c = test_random_conv(&rng, round % 3 ? 9 : 40, round % 3 ? 14 : 40);
		if (round % 10 == 0) {
			c.channels = c.groups * test_range(&rng, 100, 300);
			c.height = c.flat ? 1 : test_range(&rng, 3, 8);
			c.width = test_range(&rng, 3, 8);
		}
		for (int d = 0; d < 2; d++)
			if (!(c.flat && d == 0) && test_range(&rng, 0, 2) == 0)
				c.kernel[d] = test_range(&rng, 1, 7);
		for (int d = 0; d < 2 && round % 10 == 5 && !c.flat;
		     d++) { /* columns of the kernel that see no image at all */
			*(d ? &c.width : &c.height) = test_range(&rng, 1, 3);
			c.kernel[d] = 2 * test_range(&rng, 1, 4) + 1;
			c.pad_begin[d] = c.pad_end[d] = c.kernel[d] / 2;
			c.stride[d] = c.dilation[d] = 1;
		}
		struct test_layer t;
		char subject[160];
		if (!test_convolution(&t, &c)) {
			test_layer_free(&t);
			continue;
		}
		dress(&t, c.filters, &rng);
		snprintf(subject, sizeof subject,
			 "round %d: %lldx%lldx%lldx%lld, %lld filters %lldx%lld, %lld groups, stride %lld,%lld", round,
			 (long long)c.images, (long long)c.channels, (long long)c.height, (long long)c.width,
			 (long long)c.filters, (long long)c.kernel[0], (long long)c.kernel[1], (long long)c.groups,
			 (long long)c.stride[0], (long long)c.stride[1]);
		check(&t, &memory, &rng, subject);
		test_layer_free(&t);
		done++;
	}
	npl_int8_memory_free(&memory);
}

/* Sums over several blocks of k, of any number of columns: whole tiles, parts of one, and two that would overlap. */
Test(int8_layer, long_sums_of_any_number_of_columns)
{
	uint64_t rng = seed = 0x5eed0205;
	struct npl_int8_memory memory = {0};
	for (int kernel = 0; kernel <= npl_int8_kernels(); kernel++)
		for (int64_t columns = 1; columns <= 100; columns++) {
			const struct test_conv c = {.images = 1,
						    .channels = 300,
						    .height = 2,
						    .width = columns + 1,
						    .filters = 5,
						    .groups = 1,
						    .kernel = {2, 2},
						    .stride = {1, 1},
						    .dilation = {1, 1}};
			struct test_layer t;
			char subject[40];
			npl_int8_prefer(kernel);
			cr_assert(test_convolution(&t, &c));
			dress(&t, c.filters, &rng);
			snprintf(subject, sizeof subject, "%lld columns", (long long)columns);
			check(&t, &memory, &rng, subject);
			test_layer_free(&t);
		}
	npl_int8_memory_free(&memory);
}

Test(int8_layer, products_equal_the_definition)
{
	uint64_t rng = seed = 0x5eed0202;
	struct npl_int8_memory memory = {0};
	for (int round = 0; round < 150; round++) {
		npl_int8_prefer(round / 4 % (npl_int8_kernels() + 1));
		struct test_layer t;
		char subject[80];
		int64_t rows = test_range(&rng, 1, round % 4 ? 40 : 300), k = test_range(&rng, 1, 300),
			n = test_range(&rng, 1, round % 4 ? 120 : 300);
		test_gemm(&t, rows, k, n);
		dress(&t, n, &rng);
		snprintf(subject, sizeof subject, "round %d: %lldx%lldx%lld", round, (long long)rows, (long long)k,
			 (long long)n);
		check(&t, &memory, &rng, subject);
		test_layer_free(&t);
	}
	npl_int8_memory_free(&memory);
}

Test(int8_layer, saturations_are_counted_once_each)
{
	/* Columns between the rows of outputs are computed too: they must not count. */
	uint64_t rng = seed = 0x5eed0203;
	struct npl_int8_memory memory = {0};
	for (int round = 0; round < 60; round++) {
		npl_int8_prefer(round % (npl_int8_kernels() + 1));
		struct test_conv c = test_random_conv(&rng, 12, 12);
		struct test_layer t;
		if (!test_convolution(&t, &c)) {
			test_layer_free(&t);
			continue;
		}
		test_fill(&t.x, &rng);
		test_fill(&t.w, &rng);
		test_requantised(&t, NPL_U8, 30.0f, 100);
		test_layer_wire(&t, NPL_OP_CONV, t.layer.macs);
		struct npl_image image = npl_image_of(&t.y.shape);
		int64_t pixels = image.size[0] * image.size[1];
		uint64_t expected = 0;
		for (int64_t i = 0; i < npl_tensor_count(&t.y); i++) {
			int64_t sum = conv_sum(&t, i / pixels / image.channels, i / pixels % image.channels,
					       i % pixels / image.size[1], i % pixels % image.size[1]);
			volatile float scale_product = t.x.quant.scale * t.w.quant.scale, scale = scale_product / 30.0f;
			double q = rint((double)((float)sum * scale)) + 100;
			expected += q < 0 || q > 255;
		}
		struct npl_int8_counts counts = {0};
		struct npl_err err = {0};
		cr_assert_eq(kit_int8_run_layer(&t.layer, &memory, &counts, &err), 0, "%s", err.msg);
		cr_assert_eq(counts.saturations, expected, "seed %llx round %d: %llu, expected %llu",
			     (unsigned long long)seed, round, (unsigned long long)counts.saturations,
			     (unsigned long long)expected);
		test_layer_free(&t);
	}
	npl_int8_memory_free(&memory);
}

Test(int8_layer, a_layer_that_is_not_ok_says_why)
{
	struct test_conv good = {.images = 1,
				 .channels = 4,
				 .height = 5,
				 .width = 5,
				 .filters = 4,
				 .groups = 2,
				 .kernel = {3, 3},
				 .stride = {1, 1},
				 .dilation = {1, 1}};
	struct test_layer t;
	char reason[200];
	cr_assert(test_convolution(&t, &good));
	cr_assert(npl_int8_layer_ok(&t.layer, reason, sizeof reason), "%s", reason);
	const struct test_layer keep = t;
#define REFUSED(change, word)                                                                                          \
	do {                                                                                                           \
		change;                                                                                                \
		reason[0] = 0;                                                                                         \
		cr_assert(!npl_int8_layer_ok(&t.layer, reason, sizeof reason), #change);                               \
		cr_assert(strstr(reason, word), #change ": '%s'", reason);                                             \
		t.x = keep.x;                                                                                          \
		t.w = keep.w;                                                                                          \
		t.y = keep.y;                                                                                          \
		t.attrs = keep.attrs;                                                                                  \
		t.layer.op = NPL_OP_CONV;                                                                              \
	} while (0)
	REFUSED(t.layer.op = NPL_OP_RELU, "not a Conv or Gemm");
	REFUSED(t.x.dtype = NPL_F32, "8-bit");
	REFUSED(t.y.dtype = NPL_I16, "8-bit");
	REFUSED(t.attrs.conv.groups = 3, "Conv of one or two");
	REFUSED(t.attrs.conv.window.stride[1] = 0, "Conv of one or two");
	REFUSED(t.attrs.conv.window.pad_begin[0] = -1, "Conv of one or two");
	REFUSED(t.y.shape.dim[2] = 4, "Conv of one or two");
	REFUSED(t.x.quant.zero_point = 256, "zero point");
	REFUSED(t.w.quant.zero_point = 128, "zero point");
	t.layer.n_in = 3;
	t.layer.in[2] = &t.x;
	REFUSED((void)0, "bias");
	t = keep;
	test_layer_free(&t);
}
