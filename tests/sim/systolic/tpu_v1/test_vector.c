/* SPDX-License-Identifier: MIT
 *
 * Relu and pooling on the activation unit. What the program promises: maxima exact, averages the exact quotient rounded
 * half to even, padding as ONNX has it, one row of channels per cycle each way. */
#include <criterion/criterion.h>

#include <math.h>

#include "core/base/dtype.h"
#include "tests/kit/sim/tpu_v1/support.h"

struct pool {
	int64_t images, channels, height, width, out[2];
	int64_t kernel[2], stride[2], dilation[2], pad_begin[2], pad_end[2];
	bool count_include_pad, flat;
};

static struct pool random_pool(uint64_t *rng)
{
	struct pool p = {
		.images = test_range(rng, 1, 2), .channels = test_range(rng, 1, 5), .flat = test_range(rng, 0, 5) == 0};
	int64_t size[2] = {p.flat ? 1 : test_range(rng, 1, 11), test_range(rng, 1, 11)};
	p.height = size[0];
	p.width = size[1];
	p.count_include_pad = test_rng(rng) >> 63;
	bool ceil_mode = test_rng(rng) >> 63;
	for (int d = 0; d < 2; d++) {
		bool unused = p.flat && d == 0;
		p.kernel[d] = unused ? 1 : test_range(rng, 1, 4);
		p.stride[d] = unused ? 1 : test_range(rng, 1, 3);
		p.dilation[d] = unused ? 1 : test_range(rng, 1, 2);
		int64_t extent = (p.kernel[d] - 1) * p.dilation[d] + 1;
		p.pad_begin[d] = unused ? 0 : test_range(rng, 0, extent - 1);
		p.pad_end[d] = unused ? 0 : test_range(rng, 0, extent - 1);
		int64_t capacity = size[d] + p.pad_begin[d] + p.pad_end[d] - extent;
		p.out[d] = capacity < 0 ? 0 : capacity / p.stride[d] + 1;
		if (capacity >= 0 && ceil_mode && capacity % p.stride[d] &&
		    p.out[d] * p.stride[d] < size[d] + p.pad_begin[d])
			p.out[d]++;
	}
	return p;
}

static void make_pool(struct test_layer *t, const struct pool *p, enum npl_op op, enum npl_dtype dtype, int32_t zero)
{
	*t = (struct test_layer){
		.attrs.pool.window = {.rank = p->flat ? 1 : 2, .count_include_pad = p->count_include_pad}};
	struct npl_window *w = &t->attrs.pool.window;
	for (int d = 0; d < 2; d++) {
		w->kernel[d] = p->kernel[d];
		w->stride[d] = p->stride[d];
		w->dilation[d] = p->dilation[d];
		w->pad_begin[d] = p->pad_begin[d];
		w->pad_end[d] = p->pad_end[d];
	}
	test_tensor(&t->x, dtype, test_image_shape(p->flat, p->images, p->channels, p->height, p->width), 0.1f, zero);
	test_tensor(&t->y, dtype, test_image_shape(p->flat, p->images, p->channels, p->out[0], p->out[1]), 0.1f, zero);
	test_layer_wire(t, op, 0);
}

static int32_t quantised_at(const struct npl_tensor *t, int64_t i)
{
	return t->dtype == NPL_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
}

/* The exact average in another way: doubles hold every sum here, and 1/2 can be seen exactly by doubling. */
static int32_t average_of(int64_t sum, int64_t count)
{
	double below = floor((double)sum / (double)count);
	int64_t twice_rest = 2 * (sum - (int64_t)below * count);
	bool up = twice_rest > count || (twice_rest == count && fmod(below, 2) != 0);
	return (int32_t)below + up;
}

static int32_t expected_pool(const struct test_layer *t, const struct pool *p, int64_t plane, int64_t oh, int64_t ow)
{
	int32_t zero = t->x.quant.zero_point, maximum = t->x.dtype == NPL_I8 ? -128 : 0;
	int64_t sum = 0, inside = 0, padded = 0;
	for (int64_t kh = 0; kh < p->kernel[0]; kh++)
		for (int64_t kw = 0; kw < p->kernel[1]; kw++) {
			int64_t ih = oh * p->stride[0] + kh * p->dilation[0] - p->pad_begin[0];
			int64_t iw = ow * p->stride[1] + kw * p->dilation[1] - p->pad_begin[1];
			padded += ih < p->height + p->pad_end[0] && iw < p->width + p->pad_end[1];
			if (ih < 0 || iw < 0 || ih >= p->height || iw >= p->width)
				continue;
			int32_t q = quantised_at(&t->x, (plane * p->height + ih) * p->width + iw);
			maximum = q > maximum ? q : maximum;
			sum += q - zero;
			inside++;
		}
	if (t->layer.op == NPL_OP_MAXPOOL)
		return maximum;
	int64_t count = p->count_include_pad ? padded : inside;
	return count ? average_of(sum, count) + zero : zero;
}

Test(tpu_vector, pooling_equals_brute_force)
{
	const uint64_t seed = 0x5eed0401;
	uint64_t rng = seed;
	struct tpu_config config = test_tpu_defaults();
	int done = 0;
	for (int round = 0; round < 400; round++) {
		struct pool p = random_pool(&rng);
		enum npl_dtype dtype = test_rng(&rng) >> 63 ? NPL_I8 : NPL_U8;
		int32_t zero = (int32_t)test_range(&rng, npl_dtype_min(dtype), npl_dtype_max(dtype));
		if (p.out[0] < 1 || p.out[1] < 1)
			continue;
		struct test_layer t;
		make_pool(&t, &p, round % 2 ? NPL_OP_MAXPOOL : NPL_OP_AVERAGEPOOL, dtype, zero);
		test_fill(&t.x, &rng);
		t.layer.activation = round % 3 ? NPL_ACT_NONE : NPL_ACT_RELU;
		char reason[256];
		if (!test_supported(&config, &t.layer, reason, sizeof reason)) {
			test_layer_free(&t);
			continue;
		}
		test_run(&config, &t.layer);
		for (int64_t i = 0; i < npl_tensor_count(&t.y); i++) {
			int32_t expected = expected_pool(&t, &p, i / (p.out[0] * p.out[1]), i / p.out[1] % p.out[0],
							 i % p.out[1]);
			expected = t.layer.activation == NPL_ACT_RELU && expected < zero ? zero : expected;
			cr_assert_eq(quantised_at(&t.y, i), expected,
				     "seed %llx round %d: output %lld is %d, expected %d", (unsigned long long)seed,
				     round, (long long)i, quantised_at(&t.y, i), expected);
		}
		test_layer_free(&t);
		done++;
	}
	cr_assert_gt(done, 100);
}

Test(tpu_vector, averages_tie_to_even)
{
	const uint8_t x[] = {10, 11, 12,
			     13, 9,  10}; /* pairs: 10.5, 12.5, 9.5, around a zero point of 8: 2.5, 4.5, 1.5 */
	const uint8_t expected[] = {10, 12, 10};
	struct tpu_config config = test_tpu_defaults();
	struct pool p = {1, 1, 1, 6, {1, 3}, {1, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}, false, true};
	struct test_layer t;
	make_pool(&t, &p, NPL_OP_AVERAGEPOOL, NPL_U8, 8);
	memcpy(t.x.data, x, sizeof x);
	test_run(&config, &t.layer);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(((uint8_t *)t.y.data)[i], expected[i], "pair %d gave %d", i, ((uint8_t *)t.y.data)[i]);
	test_layer_free(&t);
}

Test(tpu_vector, global_average_is_a_window_of_the_whole_plane)
{
	uint64_t rng = 0x5eed0402;
	struct tpu_config config = test_tpu_defaults();
	struct pool p = {2, 5, 7, 6, {1, 1}, {7, 6}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false, false};
	struct test_layer t;
	make_pool(&t, &p, NPL_OP_GLOBALAVERAGEPOOL, NPL_I8, -3);
	test_fill(&t.x, &rng);
	struct npl_result r = test_run(&config, &t.layer);
	for (int64_t i = 0; i < 10; i++)
		cr_assert_eq(quantised_at(&t.y, i), expected_pool(&t, &p, i, 0, 0));
	cr_assert_eq(test_counter(&r, "activate_cycles"), 2 * 42, "one pixel's channels per cycle");
	test_layer_free(&t);
}

Test(tpu_vector, relu_cuts_at_the_zero_point)
{
	uint64_t rng = 0x5eed0403;
	struct tpu_config config = test_tpu_defaults();
	for (int i = 0; i < 2; i++) {
		struct test_layer t = {0};
		int32_t zero = i ? -20 : 77;
		test_tensor(&t.x, i ? NPL_I8 : NPL_U8, npl_shape_of(4, 2, 300, 3, 5), 0.1f, zero);
		test_tensor(&t.y, i ? NPL_I8 : NPL_U8, npl_shape_of(4, 2, 300, 3, 5), 0.1f, zero);
		test_layer_wire(&t, NPL_OP_RELU, 0);
		test_fill(&t.x, &rng);
		struct npl_result r = test_run(&config, &t.layer);
		for (int64_t j = 0; j < npl_tensor_count(&t.y); j++) {
			int32_t q = quantised_at(&t.x, j);
			cr_assert_eq(quantised_at(&t.y, j), q < zero ? zero : q);
		}
		cr_assert_eq(test_counter(&r, "activate_cycles"), 2 * 15 * 2, "300 channels are two rows per pixel");
		cr_assert_eq(test_counter(&r, "non_matrix"), r.cycles);
		cr_assert_eq(r.macs, 0);
		test_layer_free(&t);
	}
}

Test(tpu_vector, cycles_are_the_longer_of_reading_and_writing)
{
	struct tpu_config config = test_tpu_defaults();
	/* 3x3 windows at stride 2: 28 x 28 results from 56 x 56 pixels, each read once, two rows of channels each. */
	struct pool p = {1, 300, 56, 56, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, false, false};
	struct test_layer t;
	make_pool(&t, &p, NPL_OP_MAXPOOL, NPL_U8, 0);
	t.layer.timing_only = true;
	struct npl_result r = test_run(&config, &t.layer);
	cr_assert_eq(test_counter(&r, "activate_cycles"), 56 * 56 * 2);
	cr_assert_eq(test_counter(&r, "ub_rows_read"), 56 * 56 * 2);
	cr_assert_eq(test_counter(&r, "ub_rows_written"), 28 * 28 * 2);
	test_layer_free(&t);
	/* All pixels are read, whatever the stride; padding that grows the output makes writing the longer. */
	p = (struct pool){1, 3, 8, 8, {4, 4}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, false, false};
	make_pool(&t, &p, NPL_OP_MAXPOOL, NPL_U8, 0);
	r = test_run(&config, &t.layer);
	cr_assert_eq(test_counter(&r, "activate_cycles"), 64);
	test_layer_free(&t);
	p = (struct pool){1, 3, 4, 4, {7, 7}, {4, 4}, {1, 1}, {1, 1}, {3, 3}, {3, 3}, true, false};
	make_pool(&t, &p, NPL_OP_AVERAGEPOOL, NPL_U8, 0);
	r = test_run(&config, &t.layer);
	cr_assert_eq(test_counter(&r, "activate_cycles"), 49);
	test_layer_free(&t);
}
