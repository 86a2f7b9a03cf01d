/* SPDX-License-Identifier: MIT
 *
 * Outputs of Conv and Gemm on the systolic machines against brute force in 64 bits. What the program promises: the bits
 * of the format's definition (docs/integers.md) for every type, zero point, window and array size; wrapping additions
 * counted where the array makes them; results requantised by the QLinearConv rule. */
#include <criterion/criterion.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "tests/kit/sim/tpu_v1/support.h"

static int32_t at(const struct npl_tensor *t, int64_t i)
{
	return (t->dtype == NPL_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i]) -
	       t->quant.zero_point;
}

/* Products of one output element, in the order in which the array adds them: taps, then channels. */
static int64_t products_of(const struct test_layer *t, const struct test_conv *c, int64_t index, int32_t *product)
{
	if (t->layer.op == NPL_OP_GEMM) {
		int64_t k = t->x.shape.dim[1], n = t->y.shape.dim[1];
		for (int64_t i = 0; i < k; i++)
			product[i] = at(&t->x, index / n * k + i) * at(&t->w, index % n * k + i);
		return k;
	}
	int64_t out_w = t->y.shape.dim[t->y.shape.rank - 1], out_h = c->flat ? 1 : t->y.shape.dim[2];
	int64_t ow = index % out_w, oh = index / out_w % out_h, m = index / out_w / out_h % c->filters;
	int64_t image = index / out_w / out_h / c->filters, per_group = c->channels / c->groups,
		group = m / (c->filters / c->groups);
	int64_t n = 0;
	for (int64_t kh = 0; kh < c->kernel[0]; kh++)
		for (int64_t kw = 0; kw < c->kernel[1]; kw++)
			for (int64_t ch = 0; ch < per_group; ch++) {
				int64_t ih = oh * c->stride[0] + kh * c->dilation[0] - c->pad_begin[0];
				int64_t iw = ow * c->stride[1] + kw * c->dilation[1] - c->pad_begin[1];
				bool inside = ih >= 0 && ih < c->height && iw >= 0 && iw < c->width;
				int64_t from = ((image * c->channels + group * per_group + ch) * c->height + ih) *
						       c->width +
					       iw;
				int64_t weight = ((m * per_group + ch) * c->kernel[0] + kh) * c->kernel[1] + kw;
				product[n++] = inside ? at(&t->x, from) * at(&t->w, weight) : 0;
			}
	return n;
}

struct expected {
	uint64_t overflows, saturations;
};

/* One output's sum as 32 bits hold it. */
static int32_t expect_one(const struct test_layer *t, const struct test_conv *c, int64_t index, int64_t channel,
			  int32_t *product, struct expected *count)
{
	int64_t sum = t->bias.data ? ((const int32_t *)t->bias.data)[channel] : 0;
	for (int64_t i = 0, k = products_of(t, c, index, product); i < k; i++)
		sum += product[i];
	int32_t acc = (int32_t)(uint32_t)(uint64_t)sum;
	count->overflows += acc != sum;
	return acc;
}

/* QLinearConv's rule, stated apart from the program: scale in three float32 steps, one rounding, half to even. */
static int32_t requantised(const struct test_layer *t, int32_t acc, int64_t channel, struct expected *count)
{
	float w_scale = t->w.quant.channel_scale ? t->w.quant.channel_scale[channel] : t->w.quant.scale;
	volatile float both = t->x.quant.scale * w_scale;
	volatile float scale = both / t->y.quant.scale;
	volatile float real = (float)acc * scale;
	double q = nearbyint((double)real) + t->y.quant.zero_point;
	double low = t->y.dtype == NPL_I8 ? -128 : 0, high = low + 255;
	if (t->layer.activation == NPL_ACT_RELU && acc < 0)
		q = t->y.quant.zero_point;
	count->saturations += q < low || q > high;
	return (int32_t)(q < low ? low : q > high ? high : q);
}

static void check_values(const struct tpu_config *config, struct test_layer *t, const struct test_conv *c,
			 const char *subject)
{
	struct npl_result result = test_run(config, &t->layer);
	struct expected count = {0};
	int64_t channels = t->w.shape.dim[0], spatial = 1;
	for (int i = 2; i < t->y.shape.rank; i++)
		spatial *= t->y.shape.dim[i];
	int32_t *product = malloc(sizeof *product * (size_t)npl_tensor_count(&t->w));
	for (int64_t i = 0; i < npl_tensor_count(&t->y); i++) {
		int64_t channel = i / spatial % channels;
		int32_t acc = expect_one(t, c, i, channel, product, &count), actual, expected;
		if (t->y.dtype == NPL_I32) {
			actual = ((const int32_t *)t->y.data)[i];
			expected = t->layer.activation == NPL_ACT_RELU && acc < 0 ? 0 : acc;
		} else {
			actual = t->y.dtype == NPL_I8 ? ((const int8_t *)t->y.data)[i]
						      : ((const uint8_t *)t->y.data)[i];
			expected = requantised(t, acc, channel, &count);
		}
		cr_assert_eq(actual, expected, "%s: output %lld is %d, expected %d (sum %d)", subject, (long long)i,
			     actual, expected, acc);
	}
	cr_assert_eq(result.overflows, count.overflows, "%s: %llu overflows, expected %llu", subject,
		     (unsigned long long)result.overflows, (unsigned long long)count.overflows);
	cr_assert_eq(result.saturations, count.saturations, "%s: %llu saturations, expected %llu", subject,
		     (unsigned long long)result.saturations, (unsigned long long)count.saturations);
	free(product);
}

static void random_type(struct npl_tensor *t, uint64_t *rng, bool zero)
{
	t->dtype = test_rng(rng) >> 63 ? NPL_I8 : NPL_U8;
	t->quant.zero_point = zero ? (int32_t)test_range(rng, npl_dtype_min(t->dtype), npl_dtype_max(t->dtype)) : 0;
}

/* Random types, values, bias, activation, output format; the channel scales must outlive the layer. */
static void randomise(struct test_layer *t, uint64_t *rng, float *channel_scale)
{
	int64_t channels = t->w.shape.dim[0], k = npl_tensor_count(&t->w) / channels;
	random_type(&t->x, rng, true);
	random_type(&t->w, rng, test_rng(rng) >> 63);
	test_fill(&t->x, rng);
	test_fill(&t->w, rng);
	t->x.quant.scale = (float)test_range(rng, 1, 100) * 1e-3f;
	t->w.quant.scale = (float)test_range(rng, 1, 100) * 1e-4f;
	if (test_rng(rng) >> 63) {
		for (int64_t i = 0; i < channels; i++)
			channel_scale[i] = (float)test_range(rng, 1, 100) * 1e-4f;
		t->w.quant.channel_scale = channel_scale;
	}
	if (test_rng(rng) >> 63) {
		test_tensor(&t->bias, NPL_I32, npl_shape_of(1, channels), 0, 0);
		for (int64_t i = 0; i < channels; i++)
			((int32_t *)t->bias.data)[i] = (int32_t)test_range(rng, -20000, 20000);
	}
	if (test_range(rng, 0, 2)) {
		test_requantised(t, NPL_U8, t->x.quant.scale * t->w.quant.scale * (float)(40 * sqrt((double)k)), 0);
		random_type(&t->y, rng, true);
	}
	uint64_t macs = t->layer.macs;
	test_layer_wire(t, t->layer.op, macs);
	t->layer.activation = t->y.dtype != NPL_I32 && test_rng(rng) >> 63 ? NPL_ACT_RELU : NPL_ACT_NONE;
}

static const int64_t arrays[][2] = {{256, 256}, {3, 5}, {16, 16}, {128, 128}, {1, 1}, {40, 7}};
enum { ARRAYS = sizeof arrays / sizeof *arrays };

Test(tpu_values, gemm_equals_brute_force_on_200_shapes)
{
	const uint64_t seed = 0x5eed0301;
	uint64_t rng = seed;
	float channel_scale[400];
	struct tpu_config config = test_tpu_defaults();
	for (int round = 0; round < 200; round++) {
		struct test_layer t;
		char subject[96];
		int64_t rows = test_range(&rng, 1, 40), k = test_range(&rng, 1, round % 8 ? 150 : 900),
			n = test_range(&rng, 1, 80);
		config.rows = arrays[round % ARRAYS][0];
		config.columns = arrays[round % ARRAYS][1];
		test_gemm(&t, rows, k, n);
		randomise(&t, &rng, channel_scale);
		snprintf(subject, sizeof subject, "seed %llx round %d (%lldx%lldx%lld)", (unsigned long long)seed,
			 round, (long long)rows, (long long)k, (long long)n);
		check_values(&config, &t, NULL, subject);
		test_layer_free(&t);
	}
}

Test(tpu_values, convolution_equals_brute_force)
{
	const uint64_t seed = 0x5eed0302;
	uint64_t rng = seed;
	float channel_scale[400];
	struct tpu_config config = test_tpu_defaults();
	int done = 0;
	for (int round = 0; round < 260; round++) {
		struct test_layer t;
		char subject[96];
		struct test_conv c = test_random_conv(&rng, 9, 12);
		if (!test_convolution(&t, &c))
			continue;
		config.rows = arrays[round % ARRAYS][0];
		config.columns = arrays[round % ARRAYS][1];
		randomise(&t, &rng, channel_scale);
		snprintf(subject, sizeof subject, "seed %llx round %d", (unsigned long long)seed, round);
		check_values(&config, &t, &c, subject);
		test_layer_free(&t);
		done++;
	}
	cr_assert_gt(done, 150);
}

Test(tpu_values, large_images_are_gathered_in_chunks)
{
	/* K = 1,440: 1 MiB of gathered pixels holds 728 of them, so chunks begin amid lines, a pixel after or before
	 * their ends. */
	uint64_t rng = 0x5eed0303;
	float channel_scale[16];
	struct tpu_config config = test_tpu_defaults();
	const int64_t widths[] = {50, 27, 97};
	for (int i = 0; i < 3; i++) {
		struct test_conv c = {1, 160, 32, widths[i], 3, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
		struct test_layer t;
		cr_assert(test_convolution(&t, &c));
		randomise(&t, &rng, channel_scale);
		check_values(&config, &t, &c, "chunks");
		test_layer_free(&t);
	}
}

Test(tpu_values, pointwise_convolution_reads_the_input_as_it_lies)
{
	uint64_t rng = 0x5eed0304;
	float channel_scale[64];
	struct tpu_config config = test_tpu_defaults();
	for (int stride = 1; stride <= 2; stride++)
		for (int pad = 0; pad <= 1; pad++) {
			struct test_conv c = {2,      20,       9,        11,   12, 2, {1, 1}, {stride, stride},
					      {1, 1}, {pad, 0}, {0, pad}, false};
			struct test_layer t;
			cr_assert(test_convolution(&t, &c));
			randomise(&t, &rng, channel_scale);
			check_values(&config, &t, &c, "1x1");
			test_layer_free(&t);
		}
	/* Pads that make up for the stride: the output is as large as the input and yet not it. */
	struct test_conv c = {1, 3, 5, 5, 2, 1, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {4, 4}, false};
	struct test_layer t;
	cr_assert(test_convolution(&t, &c));
	randomise(&t, &rng, channel_scale);
	check_values(&config, &t, &c, "strided and padded");
	test_layer_free(&t);
}

Test(tpu_values, forced_overflows_wrap_and_are_counted)
{
	uint64_t rng = 0x5eed0305, counted = 0;
	struct tpu_config config = test_tpu_defaults();
	for (int round = 0; round < 6; round++) {
		struct test_layer t;
		struct test_conv c = {1,      4200 + 100 * round, 3,      3,    2, 1, {3, 3}, {1, 1},
				      {1, 1}, {round % 2, 0},     {0, 0}, false};
		config.rows = arrays[round % ARRAYS][0] < 16 ? 77 : arrays[round % ARRAYS][0];
		if (round < 3)
			test_gemm(&t, 3, 40000 + 7001 * round, 2);
		else
			cr_assert(test_convolution(&t, &c));
		/* Nearly all 255: 255 * 255 * 33,025 products are the most that 31 bits hold. */
		t.w.dtype = NPL_U8;
		test_fill(&t.x, &rng);
		for (size_t i = 0; i < npl_tensor_bytes(&t.x); i++)
			((uint8_t *)t.x.data)[i] |= 0xe0;
		memset(t.w.data, 255, npl_tensor_bytes(&t.w));
		test_tensor(&t.bias, NPL_I32, npl_shape_of(1, 2), 0, 0);
		((int32_t *)t.bias.data)[1] = INT_MIN;
		test_layer_wire(&t, t.layer.op, t.layer.macs);
		check_values(&config, &t, &c, "overflow");
		struct npl_result repeated = test_run(&config, &t.layer);
		counted += repeated.overflows;
		test_layer_free(&t);
	}
	cr_assert_gt(counted, 8, "only %llu sums wrapped", (unsigned long long)counted);
}

/* How many products of a 3x3 convolution the array adds before this one: the channels of one row of the buffer, 256, at
 * each tap, then those of the next. */
static int64_t place_in_order(int64_t channel, int64_t tap, int64_t channels)
{
	int64_t row = channel / 256 * 256, width = channels - row < 256 ? channels - row : 256;
	return row * 9 + tap * width + channel - row;
}

Test(tpu_values, only_sums_whose_value_is_wrong_count)
{
	/* The first 66,311 products bring the sum to within 20,000 of 2^31; from there it goes up and down at random
	 * and leaves 32 bits many times on its way. It counts where it ends outside. */
	uint64_t rng = 0x5eed0307, wrapped = 0, sums = 0;
	struct tpu_config config = test_tpu_defaults();
	for (int round = 0; round < 4; round++) {
		struct test_conv c = {1, 7900 + 331 * round, 3, 3, 3, 1, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false};
		struct test_layer t;
		config.rows = round % 2 ? 256 : 100;
		cr_assert(test_convolution(&t, &c));
		memset(t.x.data, 255, npl_tensor_bytes(&t.x));
		int8_t *w = t.w.data;
		for (int64_t m = 0; m < 3; m++)
			for (int64_t ch = 0; ch < c.channels; ch++)
				for (int64_t tap = 0; tap < 9; tap++)
					w[(m * c.channels + ch) * 9 + tap] = place_in_order(ch, tap, c.channels) < 66311
										     ? 127
										     : (int8_t)test_range(&rng, -128,
													  127);
		check_values(&config, &t, &c, "order");
		wrapped += test_run(&config, &t.layer).overflows;
		sums += (uint64_t)npl_tensor_count(&t.y);
		test_layer_free(&t);
	}
	cr_assert(wrapped > 0 && wrapped < sums, "%llu of %llu sums wrapped", (unsigned long long)wrapped,
		  (unsigned long long)sums);
}

Test(tpu_values, every_array_gives_the_same_values)
{
	uint64_t rng = 0x5eed0306;
	float channel_scale[64];
	struct test_conv c = {2, 12, 14, 13, 10, 2, {3, 2}, {1, 2}, {2, 1}, {1, 0}, {2, 1}, false};
	struct test_layer t;
	cr_assert(test_convolution(&t, &c));
	randomise(&t, &rng, channel_scale);
	size_t bytes = npl_tensor_bytes(&t.y);
	void *first = malloc(bytes);
	for (int i = 0; i < ARRAYS; i++) {
		struct tpu_config config = test_tpu_defaults();
		config.rows = arrays[i][0];
		config.columns = arrays[i][1];
		memset(t.y.data, 0x5a, bytes);
		test_run(&config, &t.layer);
		if (i == 0)
			memcpy(first, t.y.data, bytes);
		cr_assert(!memcmp(first, t.y.data, bytes), "%lldx%lld", (long long)arrays[i][0],
			  (long long)arrays[i][1]);
	}
	free(first);
	test_layer_free(&t);
}

Test(tpu_values, timing_only_leaves_the_output_alone)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_layer t;
	test_gemm(&t, 5, 6, 7);
	memset(t.y.data, 0x5a, npl_tensor_bytes(&t.y));
	struct npl_result with = test_run(&config, &t.layer);
	cr_assert_eq(((int32_t *)t.y.data)[0], 0);
	memset(t.y.data, 0x5a, npl_tensor_bytes(&t.y));
	t.layer.timing_only = true;
	struct npl_result without = test_run(&config, &t.layer);
	for (int i = 0; i < 35; i++)
		cr_assert_eq(((int32_t *)t.y.data)[i], 0x5a5a5a5a);
	cr_assert_eq(with.cycles, without.cycles);
	cr_assert(!memcmp(with.counter, without.counter, sizeof with.counter));
	test_layer_free(&t);
}

/* One Gemm of 3 rows and 2 output channels, each with its weight scale. */
static int run_scaled(float x, const float *w, float y, struct npl_result *result, struct npl_err *err, uint8_t *out)
{
	struct tpu_config config = test_tpu_defaults();
	struct test_layer t;
	void *state = NULL;
	uint64_t rng = 0x5eed0308;
	char reason[256] = "";
	test_gemm(&t, 3, 40, 2);
	test_requantised(&t, NPL_U8, y, 77);
	test_fill(&t.x, &rng);
	memset(t.w.data, 1, npl_tensor_bytes(&t.w));
	t.x.quant.scale = x;
	t.w.quant.channel_scale = w;
	*result = (struct npl_result){0};
	cr_assert_eq(npl_driver_systolic.open(&config, &state, err), 0);
	cr_assert(npl_driver_systolic.supports(state, &t.layer, reason, sizeof reason), "%s", reason);
	int rc = npl_driver_systolic.run(state, &t.layer, result, err);
	npl_driver_systolic.close(state);
	memcpy(out, t.y.data, 6);
	test_layer_free(&t);
	return rc;
}

Test(tpu_values, scales_may_vanish_but_must_be_finite)
{
	const struct {
		float x, w[2], y;
		int bad_channel; /* -1: none */
	} cases[] = {
		{0.01f, {1e-30f, 1e18f}, 1e18f, -1},  /* the first channel's scale is 1e-50 */
		{1e-25f, {1e-25f, 1.0f}, 1e-25f, -1}, /* the product vanishes before the quotient would save it */
		{0.5f, {0, 2.0f}, 1.0f, -1},
		{0.5f, {1e-44f, 2.0f}, 1.0f, -1}, /* subnormal */
		{1e20f, {1.0f, 1e20f}, 1e20f, 1},
		{1.0f, {1e-20f, 1e-10f}, 1e-30f, -1},
		{1.0f, {0.01f, 1e10f}, 1e-30f, 1},
		{1.0f, {1.0f, 1.0f}, 0, 0},
		{1.0f, {0, 1.0f}, 0, 0},
		{1.0f, {1.0f, NAN}, 1.0f, 1},
		{1.0f, {1.0f, INFINITY}, 1.0f, 1},
		{NAN, {1.0f, 1.0f}, 1.0f, 0},
		{1.0f, {1.0f, 1.0f}, INFINITY, 0},
		{1.0f, {1.0f, -1.0f}, 1.0f, 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_err err = {0};
		struct npl_result result;
		uint8_t out[6];
		char channel[40];
		int rc = run_scaled(cases[i].x, cases[i].w, cases[i].y, &result, &err, out);
		if (cases[i].bad_channel >= 0) {
			snprintf(channel, sizeof channel, "output channel %d ", cases[i].bad_channel);
			cr_assert_eq(rc, NPL_EINPUT, "case %zu: %d", i, rc);
			cr_assert(strstr(err.msg, channel), "case %zu: '%s' does not name %s", i, err.msg, channel);
			continue;
		}
		cr_assert_eq(rc, 0, "case %zu: %s", i, err.msg);
		for (int o = 0; o < 6; o++) {
			volatile float both = cases[i].x * cases[i].w[o % 2];
			volatile float scale = both / cases[i].y;
			if (scale < 1e-9f)
				cr_assert_eq(out[o], 77, "case %zu: output %d is %d, the zero point is 77", i, o,
					     out[o]);
			else
				cr_assert_gt(out[o], 77, "case %zu: output %d", i, o);
		}
	}
}
