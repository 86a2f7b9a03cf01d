/* SPDX-License-Identifier: MIT
 *
 * What the tests of the systolic machines share: configurations, layers with their tensors, runs through the driver. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_SUPPORT_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_SUPPORT_H

#include <criterion/criterion.h>
#include <string.h>

#include "core/books.h"
#include "core/int8/int8.h"
#include "npulab/driver.h"
#include "sim/systolic/tpu_v1/engine/engine.h"
#include "tests/kit/support.h"

extern const struct npl_driver npl_driver_systolic;

/* A machine file's configuration; its strings live until the arena is freed. */
static inline struct tpu_config test_tpu_load(const char *path, struct npl_arena *arena)
{
	struct npl_description machine;
	struct tpu_config config;
	struct npl_err err = {0};
	cr_assert_eq(npl_description_load(path, "driver", arena, &machine, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(tpu_params, &machine, arena, &config, &err), 0, "%s", err.msg);
	cr_assert_eq(tpu_config_derive(&config, &err), 0, "%s", err.msg);
	return config;
}

/* The TPU v1, with origins of its own. Nothing to free. */
static inline struct tpu_config test_tpu_defaults(void)
{
	struct npl_arena arena = {0};
	struct tpu_config config = test_tpu_load("machines/tpu_v1.yaml", &arena);
	config.link.name = "test link"; /* the file's strings live in the arena */
	config.weight_preset = "fixed";
	config.link.energy_origin = "absent";
	config.technology.table = "none";
	config.static_origin = "calibrated:test";
	config.static_watts = 28;
	config.cell.pj = 0.16;
	config.buffer_byte_read.pj = 4.6;
	config.buffer_byte_written.pj = 4.3;
	config.accumulator_word.pj = 7.6;
	config.cell.origin = config.buffer_byte_read.origin = config.buffer_byte_written.origin = "modelled:test";
	config.accumulator_word.origin = config.weight_byte.origin = "modelled:test";
	npl_arena_free(&arena);
	return config;
}

struct test_layer {
	struct npl_layer layer;
	struct npl_attrs attrs;
	struct npl_tensor x, w, bias, y;
};

static inline void test_tensor(struct npl_tensor *t, enum npl_dtype dtype, struct npl_shape shape, float scale,
			       int32_t zero)
{
	struct npl_err err = {0};
	*t = (struct npl_tensor){.dtype = dtype, .shape = shape, .quant = {.scale = scale, .zero_point = zero}};
	cr_assert_eq(npl_tensor_alloc(t, &err), 0, "%s", err.msg);
}

static inline void test_fill(struct npl_tensor *t, uint64_t *rng)
{
	uint8_t *bytes = t->data;
	for (size_t i = 0; i < npl_tensor_bytes(t); i++)
		bytes[i] = (uint8_t)(test_rng(rng) >> 32);
}

static inline void test_layer_free(struct test_layer *t)
{
	npl_tensor_free(&t->x);
	npl_tensor_free(&t->w);
	npl_tensor_free(&t->bias);
	npl_tensor_free(&t->y);
}

/* Wires the tensors up once they are set; w and bias take part when they have data. */
static inline void test_layer_wire(struct test_layer *t, enum npl_op op, uint64_t macs)
{
	t->layer = (struct npl_layer){
		.name = "test", .op = op, .attrs = &t->attrs, .n_in = 1, .in = {&t->x}, .out = &t->y, .macs = macs};
	if (t->w.data)
		t->layer.in[t->layer.n_in++] = &t->w;
	if (t->bias.data)
		t->layer.in[t->layer.n_in++] = &t->bias;
}

/* A Gemm with raw 32-bit results and symmetric operands; zeroed tensors. */
static inline void test_gemm(struct test_layer *t, int64_t rows, int64_t k, int64_t n)
{
	*t = (struct test_layer){.attrs.gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	test_tensor(&t->x, NPL_U8, npl_shape_of(2, rows, k), 0.5f, 0);
	test_tensor(&t->w, NPL_I8, npl_shape_of(2, n, k), 0.25f, 0);
	test_tensor(&t->y, NPL_I32, npl_shape_of(2, rows, n), 0, 0);
	test_layer_wire(t, NPL_OP_GEMM, (uint64_t)(rows * k * n));
}

/* Makes the results 8-bit. */
static inline void test_requantised(struct test_layer *t, enum npl_dtype dtype, float scale, int32_t zero)
{
	struct npl_shape shape = t->y.shape;
	npl_tensor_free(&t->y);
	test_tensor(&t->y, dtype, shape, scale, zero);
}

struct test_conv {
	int64_t images, channels, height, width, filters, groups;
	int64_t kernel[2], stride[2], dilation[2], pad_begin[2], pad_end[2];
	bool flat; /* rank 3: height, kernel[0] and so on are 1, pads 0 */
};

static inline int64_t test_window_output(int64_t size, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride)
{
	int64_t capacity = size + pads - ((kernel - 1) * dilation + 1);
	return capacity < 0 ? 0 : capacity / stride + 1;
}

static inline struct npl_shape test_image_shape(bool flat, int64_t n, int64_t c, int64_t h, int64_t w)
{
	return flat ? npl_shape_of(3, n, c, w) : npl_shape_of(4, n, c, h, w);
}

/* False when the window does not fit. */
static inline bool test_convolution(struct test_layer *t, const struct test_conv *c)
{
	int64_t out[2], size[2] = {c->height, c->width};
	*t = (struct test_layer){.attrs.conv = {.groups = c->groups, .window = {.rank = c->flat ? 1 : 2}}};
	struct npl_window *w = &t->attrs.conv.window;
	for (int d = 0; d < 2; d++) {
		w->kernel[d] = c->kernel[d];
		w->stride[d] = c->stride[d];
		w->dilation[d] = c->dilation[d];
		w->pad_begin[d] = c->pad_begin[d];
		w->pad_end[d] = c->pad_end[d];
		out[d] = test_window_output(size[d], c->pad_begin[d] + c->pad_end[d], c->kernel[d], c->dilation[d],
					    c->stride[d]);
		if (out[d] < 1)
			return false;
	}
	int64_t per_group = c->channels / c->groups;
	test_tensor(&t->x, NPL_U8, test_image_shape(c->flat, c->images, c->channels, c->height, c->width), 0.5f, 0);
	test_tensor(&t->w, NPL_I8, test_image_shape(c->flat, c->filters, per_group, c->kernel[0], c->kernel[1]), 0.25f,
		    0);
	test_tensor(&t->y, NPL_I32, test_image_shape(c->flat, c->images, c->filters, out[0], out[1]), 0, 0);
	test_layer_wire(t, NPL_OP_CONV,
			(uint64_t)(c->images * c->filters * out[0] * out[1] * per_group * c->kernel[0] * c->kernel[1]));
	return true;
}

static inline struct test_conv test_random_conv(uint64_t *rng, int64_t most_channels, int64_t most_size)
{
	struct test_conv c = {
		.images = test_range(rng, 1, 3), .groups = test_range(rng, 1, 3), .flat = test_range(rng, 0, 5) == 0};
	c.channels = c.groups * test_range(rng, 1, most_channels);
	c.filters = c.groups * test_range(rng, 1, most_channels);
	c.height = c.flat ? 1 : test_range(rng, 1, most_size);
	c.width = test_range(rng, 1, most_size);
	for (int d = 0; d < 2; d++) {
		bool unused = c.flat && d == 0;
		c.kernel[d] = unused ? 1 : test_range(rng, 1, 4);
		c.stride[d] = unused ? 1 : test_range(rng, 1, 3);
		c.dilation[d] = unused ? 1 : test_range(rng, 1, 2);
		c.pad_begin[d] = unused ? 0 : test_range(rng, 0, 3);
		c.pad_end[d] = unused ? 0 : test_range(rng, 0, 3);
	}
	return c;
}

static inline bool test_supported(const struct tpu_config *config, const struct npl_layer *layer, char *reason,
				  size_t reason_bytes)
{
	void *state = NULL;
	struct npl_err err = {0};
	cr_assert_eq(npl_driver_systolic.open(config, &state, &err), 0, "%s", err.msg);
	bool supported = npl_driver_systolic.supports(state, layer, reason, reason_bytes);
	npl_driver_systolic.close(state);
	return supported;
}

/* Runs a layer on a machine through the driver, expecting success; checks what the books check. Origins of calibrated
 * energies are the machine's, which is closed. */
static inline struct npl_result test_run(const struct tpu_config *config, const struct npl_layer *layer)
{
	void *state = NULL;
	struct npl_err err = {0};
	struct npl_result result = {0};
	struct npl_device_info info = {0};
	char reason[256] = "";
	cr_assert_eq(npl_driver_systolic.open(config, &state, &err), 0, "%s", err.msg);
	cr_assert(npl_driver_systolic.supports(state, layer, reason, sizeof reason), "%s", reason);
	cr_assert_eq(npl_driver_systolic.run(state, layer, &result, &err), 0, "%s", err.msg);
	npl_driver_systolic.describe(state, &info);
	const struct npl_least_bytes least = npl_least_bytes_of(&info, layer);
	cr_assert_eq(npl_books_check("tpu", &info, layer, &least, &result, &err), 0, "%s", err.msg);
	npl_driver_systolic.close(state);
	return result;
}

static inline uint64_t test_counter(const struct npl_result *result, const char *name)
{
	for (size_t i = 0; i < TPU_COUNTERS; i++)
		if (!strcmp(tpu_counter_defs[i].name, name))
			return result->counter[i];
	cr_assert_fail("no counter %s", name);
	return 0;
}

#endif
