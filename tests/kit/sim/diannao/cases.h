/* SPDX-License-Identifier: MIT
 *
 * Layers of the diannao machine, without Criterion: built from a few numbers, with or without data, or by chance, with
 * a machine by chance. A case points into itself: make it in place and do not copy it. And the agreement of the two
 * engines on a layer.
 */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_CASES_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_CASES_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/books.h"
#include "core/ops/window.h"
#include "npulab/driver.h"
#include "sim/diannao/diannao/counters.h"
#include "sim/diannao/diannao/dn.h"
#include "sim/diannao/diannao/generate/layer.h"
#include "tests/kit/support.h"

extern const struct npl_driver npl_driver_diannao;

struct dn_case {
	struct npl_attrs attrs;
	struct npl_tensor x, w, bias, y;
	struct npl_layer layer;
};

static inline void dn_case_free(struct dn_case *c)
{
	npl_tensor_free(&c->x);
	npl_tensor_free(&c->w);
	npl_tensor_free(&c->bias);
	npl_tensor_free(&c->y);
}

static inline struct npl_tensor dn_tensor(enum npl_dtype dtype, int exponent, struct npl_shape shape)
{
	return (struct npl_tensor){.dtype = dtype, .shape = shape, .quant = {.scale = ldexpf(1, exponent - 10)}};
}

/* A layer of the case's tensors, timing only until dn_case_data. */
static inline void dn_case_layer(struct dn_case *c, enum npl_op op)
{
	bool weights = c->w.shape.rank > 0, bias = c->bias.shape.rank > 0;
	c->layer = (struct npl_layer){.name = "case",
				      .op = op,
				      .attrs = &c->attrs,
				      .n_in = bias      ? 3
					      : weights ? 2
							: 1,
				      .in = {&c->x, weights ? &c->w : NULL, bias ? &c->bias : NULL},
				      .out = &c->y,
				      .timing_only = true};
	if (weights)
		c->layer.macs = (uint64_t)npl_tensor_count(&c->y) *
				(uint64_t)(npl_tensor_count(&c->w) / c->w.shape.dim[0]);
}

/* Window layers: the output size follows from the window. maps 0: pooling. */
static inline void dn_case_window(struct dn_case *c, enum npl_op op, int64_t images, int64_t channels, int64_t height,
				  int64_t width, int64_t maps, int64_t groups, struct npl_window window)
{
	*c = (struct dn_case){.attrs = {.op = op}};
	if (npl_op_defs[op].family == NPL_FAMILY_CONV)
		c->attrs.conv = (struct npl_conv_attrs){.groups = groups, .window = window};
	if (npl_op_defs[op].family == NPL_FAMILY_POOL)
		c->attrs.pool.window = window;
	int64_t out_y = npl_window_output(&window, 0, height), out_x = npl_window_output(&window, 1, width);
	c->x = dn_tensor(NPL_I16, 0, npl_shape_of(4, images, channels, height, width));
	c->y = dn_tensor(NPL_I16, 0, npl_shape_of(4, images, maps ? maps : channels, out_y, out_x));
	if (maps)
		c->w = dn_tensor(NPL_I16, 0,
				 npl_shape_of(4, maps, channels / groups, window.kernel[0], window.kernel[1]));
	dn_case_layer(c, op);
}

static inline void dn_case_gemm(struct dn_case *c, int64_t rows, int64_t n, int64_t k)
{
	*c = (struct dn_case){.x = dn_tensor(NPL_I16, 0, npl_shape_of(2, rows, k)),
			      .w = dn_tensor(NPL_I16, 0, npl_shape_of(2, n, k)),
			      .y = dn_tensor(NPL_I16, 0, npl_shape_of(2, rows, n))};
	dn_case_layer(c, NPL_OP_GEMM);
}

static inline struct npl_window dn_window(int64_t kernel, int64_t stride)
{
	return (struct npl_window){
		.rank = 2, .kernel = {kernel, kernel}, .stride = {stride, stride}, .dilation = {1, 1}};
}

/* Random values of at most x_bits and w_bits magnitude bits; 15 includes -32768. False: out of memory. */
static inline bool dn_case_fill(struct dn_case *c, uint64_t *rng, int x_bits, int w_bits)
{
	struct npl_tensor *tensors[] = {&c->x, &c->w, &c->bias, &c->y};
	for (int t = 0; t < 4; t++)
		if (tensors[t]->shape.rank && npl_tensor_alloc(tensors[t], NULL))
			return false;
	for (int64_t i = 0, n = npl_tensor_count(&c->x); i < n; i++)
		((int16_t *)c->x.data)[i] = (int16_t)test_range(rng, -(1 << x_bits), (1 << x_bits) - 1);
	for (int64_t i = 0, n = c->w.data ? npl_tensor_count(&c->w) : 0; i < n; i++)
		((int16_t *)c->w.data)[i] = (int16_t)test_range(rng, -(1 << w_bits), (1 << w_bits) - 1);
	for (int64_t i = 0, n = c->bias.data ? npl_tensor_count(&c->bias) : 0; i < n; i++)
		((int32_t *)c->bias.data)[i] = (int32_t)test_range(rng, -(1 << 26), 1 << 26);
	c->layer.timing_only = false;
	return true;
}

/* A window that fits height x width, with everything a window can have. */
static inline struct npl_window dn_random_window(uint64_t *rng, int64_t height, int64_t width, bool pool)
{
	struct npl_window w = {.rank = 2};
	const int64_t size[NPL_SPATIAL] = {height, width};
	for (int d = 0; d < NPL_SPATIAL; d++) {
		w.kernel[d] = test_range(rng, 1, size[d] < 5 ? size[d] : 5);
		w.stride[d] = test_range(rng, 1, 4);
		w.dilation[d] = w.kernel[d] == 1 ? 1
						 : test_range(rng, 1, (size[d] - 1) / (w.kernel[d] - 1) > 2 ? 3 : 1);
		if ((w.kernel[d] - 1) * w.dilation[d] + 1 > size[d])
			w.dilation[d] = 1;
		w.pad_begin[d] = test_range(rng, 0, w.kernel[d] - 1);
		w.pad_end[d] = test_range(rng, 0, w.kernel[d] - 1);
	}
	w.ceil_mode = pool && test_range(rng, 0, 1);
	w.count_include_pad = pool && test_range(rng, 0, 1);
	return w;
}

/* A random convolution, Gemm or pooling small enough for brute force. */
static inline void dn_random_case(struct dn_case *c, uint64_t *rng)
{
	static const enum npl_op ops[] = {NPL_OP_CONV,    NPL_OP_CONV,        NPL_OP_GEMM,
					  NPL_OP_MAXPOOL, NPL_OP_AVERAGEPOOL, NPL_OP_GLOBALAVERAGEPOOL};
	enum npl_op op = ops[test_range(rng, 0, 5)];
	int64_t height = test_range(rng, 1, 9), width = test_range(rng, 1, 11), images = test_range(rng, 1, 2);
	int64_t groups = test_range(rng, 1, 3);
	if (op == NPL_OP_GEMM) {
		dn_case_gemm(c, test_range(rng, 1, 6), test_range(rng, 1, 40), test_range(rng, 1, 70));
	} else if (op == NPL_OP_CONV) {
		dn_case_window(c, op, images, groups * test_range(rng, 1, 20), height, width,
			       groups * test_range(rng, 1, 20), groups, dn_random_window(rng, height, width, false));
	} else {
		struct npl_window window = dn_random_window(rng, height, width, true);
		if (op == NPL_OP_GLOBALAVERAGEPOOL)
			window = (struct npl_window){
				.rank = 2, .kernel = {height, width}, .stride = {1, 1}, .dilation = {1, 1}};
		dn_case_window(c, op, images, test_range(rng, 1, 40), height, width, 0, 1, window);
	}
	if (c->w.shape.rank && test_range(rng, 0, 1)) {
		c->bias = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, c->w.shape.dim[0])};
		dn_case_layer(c, op);
	}
}

/* LRN's factor, of windows narrower or wider than there are maps. */
static inline void dn_random_lrn(struct dn_case *c, uint64_t *rng, struct npl_shape shape)
{
	/* Each draw is a statement of its own: the order of operands is the compiler's. */
	const int64_t size = test_range(rng, 1, test_range(rng, 0, 3) ? 12 : 150);
	const float factor = (float)test_range(rng, 1, 1000);
	*c = (struct dn_case){.attrs.lrn = {.size = size,
					    .alpha = ldexpf(factor, -(int)test_range(rng, 12, 20)),
					    .beta = 0.75f,
					    .bias = 1}};
	c->x = dn_tensor(NPL_I16, 0, shape);
	c->y = dn_tensor(NPL_I16, -3, shape);
	dn_case_layer(c, NPL_OP_LRN);
}

static inline void dn_random_small_lrn(struct dn_case *c, uint64_t *rng)
{
	dn_random_lrn(c, rng,
		      npl_shape_of(4, test_range(rng, 1, 2), test_range(rng, 1, 70), test_range(rng, 1, 4),
				   test_range(rng, 1, 6)));
}

/* The paper's machine. Its origins live until the arena is freed. */
static inline int dn_read_machine(struct npl_arena *arena, struct dn_config *config, struct npl_err *err)
{
	struct npl_description machine;
	if (npl_description_load("machines/diannao.yaml", "driver", arena, &machine, err))
		return err->code;
	return npl_params_read(dn_params, &machine, arena, config, err);
}

static inline int64_t dn_random_rows(uint64_t *rng)
{
	const int64_t few = test_range(rng, 3, 8);
	return few << test_range(rng, 0, 4);
}

/* Buffers and Tn by chance. */
static inline void dn_random_buffers(struct dn_config *config, uint64_t *rng)
{
	config->tn = 1 << test_range(rng, 1, 4);
	config->nbin_rows = dn_random_rows(rng);
	config->sb_rows = dn_random_rows(rng);
	config->nbout_rows = dn_random_rows(rng);
	config->nbout_sum_rows = test_range(rng, 1, config->nbout_rows - 2);
	config->sum_bits = test_range(rng, 0, 1) ? 32 : test_range(rng, 16, 48);
	config->dma_queue = test_range(rng, 1, 9);
	config->dma_burst_bytes = test_range(rng, 1, 1000);
	config->dma_request_cycles = test_range(rng, 0, 1) ? test_range(rng, 1, 20) : 0;
}

/* A random layer on a random machine behind a random memory, on both engines. */
struct diannao_layer_seen {
	bool compared; /* the machine can do it */
	bool saturated, waited;
};
/* False: the first difference between results, cycles, counters or events of energy, in `reason`. `paper` is the
 * paper's machine. */
bool diannao_layer_agrees(uint64_t seed, const struct dn_config *paper, struct diannao_layer_seen *seen, char *reason,
			  size_t reason_bytes);

#endif
