/* SPDX-License-Identifier: MIT
 *
 * Convolutions of integers on the cuda device, over a fake CUDA that checks every range and handle: with images in
 * ONNX's order and with channels last they have the bits of the rules, in groups and not, with much room for patches
 * and with little. Nothing is left behind. */
#include <stdio.h>

#include "tests/kit/cuda/layer_run.h"

static uint64_t rng;
static struct cu_config config = {.patch_mib = 64};

TestSuite(cuda_integer_convolutions, .init = cuda_fake_open, .fini = cuda_fake_close);

static int64_t range(int64_t low, int64_t high)
{
	return test_range(&rng, low, high);
}

/* With images in ONNX's order, and with channels last where the layer takes them. */
static void check_in_both_orders(struct cu_device *device, const struct test_layer *t, const char *subject)
{
	for (config.planar = 1; config.planar >= 0; config.planar--)
		cuda_check_integers(device, t, subject);
	config.planar = 0;
}

Test(cuda_integer_convolutions, have_the_bits_of_the_rules)
{
	struct cu_device *device = cuda_fake_gpu(&config, CU_INT8);
	rng = 0xc0da000b;
	for (int round = 0; round < 120; round++) {
		struct test_layer t;
		char subject[80];
		struct test_conv c = test_random_conv(&rng, 12, 12);
		device->patch_bytes = range(0, 1) ? (size_t)range(1, 9000) : (size_t)1 << 20;
		if (!test_convolution(&t, &c))
			continue;
		cuda_dress(&t, NPL_OP_CONV, t.y.shape.dim[1], &rng);
		snprintf(subject, sizeof subject, "round %d: conv", round);
		check_in_both_orders(device, &t, subject);
		test_layer_free(&t);
	}
	cu_close(device);
}

/* Depthwise, and in groups with short and with long patches: by a kernel or by products, the same rule; the last ones
 * with positions of 64 bits. */
Test(cuda_integer_convolutions, in_groups_have_the_bits_of_the_rules)
{
	struct cu_device *device = cuda_fake_gpu(&config, CU_INT8);
	rng = 0xc0da0007;
	for (int round = 0; round < 60; round++) {
		static const int64_t groups[] = {2, 5, 16, 33}, channels[] = {1, 2, 14, 15};
		const int64_t per_group = channels[round % 4];
		if (round == 48)
			cu_kernels_widen(device->kernels);
		struct test_layer t;
		struct test_conv c = {.images = range(1, 3),
				      .groups = groups[round / 4 % 4],
				      .height = range(1, 9),
				      .width = range(1, 9),
				      .kernel = {3, 3}};
		char subject[80];
		c.channels = c.groups * per_group;
		c.filters = c.groups * range(1, 3);
		for (int d = 0; d < 2; d++) {
			c.stride[d] = range(1, 2);
			c.dilation[d] = range(1, 2);
			c.pad_begin[d] = range(0, 3);
			c.pad_end[d] = range(0, 3);
		}
		if (!test_convolution(&t, &c))
			continue;
		cuda_dress(&t, NPL_OP_CONV, t.y.shape.dim[1], &rng);
		cu_fake.products = 0;
		snprintf(subject, sizeof subject, "round %d: %lld groups of %lld channels", round, (long long)c.groups,
			 (long long)per_group);
		check_in_both_orders(device, &t, subject);
		cr_assert_eq(cu_fake.products == 0, per_group * 9 <= 128, "%s: %ld products", subject,
			     cu_fake.products);
		test_layer_free(&t);
	}
	cu_close(device);
}

/* So large that a thread makes 16 channels of a depthwise convolution. */
Test(cuda_integer_convolutions, of_large_depthwise_images_have_the_bits_of_the_rules)
{
	struct cu_device *device = cuda_fake_gpu(&config, CU_INT8);
	rng = 0xc0da000c;
	for (int round = 0; round < 2; round++) {
		struct test_layer t;
		const struct test_conv c = {.images = 1,
					    .groups = 48,
					    .channels = 48,
					    .filters = 48,
					    .height = 211,
					    .width = 212,
					    .kernel = {2, 3},
					    .stride = {1, 1},
					    .dilation = {1, 2},
					    .pad_begin = {1, 1},
					    .pad_end = {0, 2}};
		cr_assert(test_convolution(&t, &c));
		cuda_dress(&t, NPL_OP_CONV, c.filters, &rng);
		cr_assert_gt(npl_tensor_count(&t.y), 16 << 17);
		cuda_check_integers(device, &t, round ? "the second one" : "the first one");
		test_layer_free(&t);
	}
	cu_close(device);
}

/* Channels that are whole packs of bytes, and not: 1x1 kernels that read the image itself, and others, in chunks of a
 * few pixels too. */
Test(cuda_integer_convolutions, of_many_channels_have_the_bits_of_the_rules)
{
	static const int64_t channels[] = {3, 4, 8, 16, 20, 24, 32, 48};
	struct cu_device *device = cuda_fake_gpu(&config, CU_INT8);
	rng = 0xc0da0009;
	for (int round = 0; round < 64; round++) {
		const int64_t size = round & 1 ? 1 : range(2, 3), room = round & 2 ? range(1, 40000) : 1 << 20;
		struct test_layer t;
		struct test_conv c = {.images = range(1, 3),
				      .groups = 1,
				      .channels = channels[round / 4 % 8],
				      .filters = range(0, 1) ? range(1, 20) : 16,
				      .height = range(3, 9),
				      .width = range(3, 9),
				      .kernel = {size, size}};
		char subject[80];
		for (int d = 0; d < 2; d++) {
			c.stride[d] = range(0, 2) ? 1 : 2;
			c.dilation[d] = range(1, 2);
			c.pad_begin[d] = size > 1 ? range(0, 3) : 0;
			c.pad_end[d] = size > 1 ? range(0, 3) : 0;
		}
		if (!test_convolution(&t, &c))
			continue;
		device->patch_bytes = (size_t)room;
		cuda_dress(&t, NPL_OP_CONV, t.y.shape.dim[1], &rng);
		snprintf(subject, sizeof subject, "round %d: %lld channels, %lldx%lld", round, (long long)c.channels,
			 (long long)size, (long long)size);
		check_in_both_orders(device, &t, subject);
		test_layer_free(&t);
	}
	cu_close(device);
}

/* A 1x1 convolution of signed numbers reads its image; unsigned ones are made signed first, by one launch more. */
Test(cuda_integer_convolutions, an_image_of_signed_channels_is_its_own_patches)
{
	static const struct {
		enum npl_dtype dtype;
		int64_t channels, kernel, stride;
		bool direct;
	} cases[] = {{NPL_I8, 32, 1, 1, true},
		     {NPL_U8, 32, 1, 1, false},
		     {NPL_I8, 24, 1, 1, false},
		     {NPL_I8, 32, 1, 2, false},
		     {NPL_I8, 32, 2, 1, false}};
	struct cu_device *device = cuda_fake_gpu(&config, CU_INT8);
	rng = 0xc0da000a;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct test_layer t;
		const struct test_conv c = {.images = 2,
					    .groups = 1,
					    .channels = cases[i].channels,
					    .filters = 8,
					    .height = 5,
					    .width = 6,
					    .kernel = {cases[i].kernel, cases[i].kernel},
					    .stride = {cases[i].stride, cases[i].stride},
					    .dilation = {1, 1}};
		char subject[40];
		cr_assert(test_convolution(&t, &c));
		t.x.dtype = cases[i].dtype;
		test_fill(&t.x, &rng);
		test_fill(&t.w, &rng);
		test_layer_wire(&t, NPL_OP_CONV, t.layer.macs);
		snprintf(subject, sizeof subject, "case %zu", i);
		cu_fake.launches = 0;
		cuda_check_integers(device, &t, subject);
		/* the turn of the image and that of the result, the patches, the sums */
		cr_assert_eq(cu_fake.launches, cases[i].direct ? 3 : 4, "%s: %ld launches", subject, cu_fake.launches);
		test_layer_free(&t);
	}
	cu_close(device);
}
