/* SPDX-License-Identifier: MIT
 *
 * Promise: how many threads work on a simulated machine's values is not to be seen in anything it tells: results,
 * cycles, counters, energy, saturations and overflows are the same bits with 1, 2 and 7 threads. Layers are large
 * enough for threads to share them, and have operands that saturate and sums that 32 bits do not hold. */
#include <criterion/criterion.h>
#include <math.h>

#include "npulab/arena.h"
#include "npulab/device.h"
#include "npulab/thread.h"
#include "tests/kit/support.h"

static const int teams[] = {1, 2, 7};
#define TEAMS 3

struct made {
	struct npl_attrs attrs;
	struct npl_tensor x, w, bias, other, out;
	struct npl_layer layer;
};

/* Draws values from low to high in the tensor's own type. */
static void fill(struct npl_tensor *t, enum npl_dtype dtype, struct npl_shape shape, int low, int high, uint64_t *rng)
{
	struct npl_err err;
	*t = (struct npl_tensor){.dtype = dtype, .shape = shape, .quant = {.scale = 0x1p-6f}};
	cr_assert_eq(npl_tensor_alloc(t, &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(t); i++) {
		const int64_t v = test_range(rng, low, high);
		if (dtype == NPL_I32)
			((int32_t *)t->data)[i] = (int32_t)v;
		else if (dtype == NPL_I16)
			((int16_t *)t->data)[i] = (int16_t)v;
		else
			((uint8_t *)t->data)[i] = (uint8_t)v;
	}
}

static void make_out(struct made *m, enum npl_dtype dtype, struct npl_shape shape, float scale)
{
	struct npl_err err;
	m->out = (struct npl_tensor){.name = "y", .dtype = dtype, .shape = shape, .quant = {.scale = scale}};
	cr_assert_eq(npl_tensor_alloc(&m->out, &err), 0, "%s", err.msg);
	m->layer = (struct npl_layer){.name = "layer", .attrs = &m->attrs, .in = {&m->x}, .n_in = 1, .out = &m->out};
}

static void free_made(struct made *m)
{
	npl_tensor_free(&m->x);
	npl_tensor_free(&m->w);
	npl_tensor_free(&m->bias);
	npl_tensor_free(&m->other);
	npl_tensor_free(&m->out);
}

/* Runs the layer with each number of threads and expects the results of one thread. Returns the counters. */
static struct npl_result run_all(const char *name, const char *precision, struct made *m, const char *subject)
{
	struct npl_device *device;
	struct npl_err err;
	struct npl_result first = {0};
	const size_t bytes = npl_tensor_bytes(&m->out);
	const struct npl_device_options options = {.set = &precision, .n_sets = precision != NULL};
	char reason[200], *expected = malloc(bytes);
	cr_assert(expected);
	for (int t = 0; t < TEAMS; t++) {
		struct npl_result result;
		npl_threads_allow(teams[t]);
		cr_assert_eq(npl_device_open(name, &options, &device, &err), 0, "%s", err.msg);
		cr_assert(npl_device_supports(device, &m->layer, reason, sizeof reason), "%s: %s", subject, reason);
		for (int again = 0; again < 2; again++) { /* the second run finds what the first has left */
			memset(m->out.data, 0x55, bytes);
			result = (struct npl_result){0};
			cr_assert_eq(npl_device_run(device, &m->layer, &result, &err), 0, "%s: %s", subject, err.msg);
			if (!t && !again) {
				first = result;
				memcpy(expected, m->out.data, bytes);
			}
			cr_assert_eq(memcmp(expected, m->out.data, bytes), 0, "%s: values with %d threads", subject,
				     teams[t]);
			cr_assert_eq(result.cycles, first.cycles, "%s: cycles with %d threads", subject, teams[t]);
			cr_assert_eq(memcmp(result.counter, first.counter, sizeof first.counter), 0,
				     "%s: counters with %d threads", subject, teams[t]);
			cr_assert_eq(result.saturations, first.saturations, "%s: saturations with %d threads", subject,
				     teams[t]);
			cr_assert_eq(result.overflows, first.overflows, "%s: overflows with %d threads", subject,
				     teams[t]);
		}
		npl_device_close(device);
	}
	npl_threads_allow(0);
	free(expected);
	return first;
}

static void make_gemm(struct made *m, int64_t rows, int64_t k, int64_t n, int minimum, uint64_t *rng)
{
	*m = (struct made){.attrs.gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	fill(&m->x, NPL_U8, npl_shape_of(2, rows, k), minimum, 255, rng);
	fill(&m->w, NPL_I8, npl_shape_of(2, n, k), minimum ? 120 : -127, 127, rng);
	fill(&m->bias, NPL_I32, npl_shape_of(1, n), -100000, 100000, rng);
	m->x.quant.zero_point = minimum ? 0 : 99;
}

static void add_weights(struct made *m, enum npl_op op, bool bias)
{
	const int64_t filters = m->w.shape.dim[0];
	m->layer.op = op;
	m->layer.macs = (uint64_t)(npl_tensor_count(&m->out) * (npl_tensor_count(&m->w) / filters));
	m->layer.in[1] = &m->w;
	m->layer.in[2] = &m->bias;
	m->layer.n_in = bias ? 3 : 2;
}

/* Products to bytes, with values that saturate, and to raw sums that wrap; a k and columns that fill no tile. */
Test(sim_threads, products_do_not_depend_on_threads)
{
	uint64_t rng = 1;
	struct made m;
	make_gemm(&m, 403, 700, 330, 0, &rng);
	make_out(&m, NPL_U8, npl_shape_of(2, 403, 330), 0x1p-2f);
	m.out.quant.zero_point = 128;
	add_weights(&m, NPL_OP_GEMM, true);
	m.layer.activation = NPL_ACT_NONE;
	struct npl_result r = run_all("tpu_v1", NULL, &m, "gemm");
	cr_assert_gt(r.saturations, 100);
	free_made(&m);
	make_gemm(&m, 70, 70000, 65, 250, &rng);
	make_out(&m, NPL_I32, npl_shape_of(2, 70, 65), 0x1p-12f);
	add_weights(&m, NPL_OP_GEMM, false);
	r = run_all("tpu_v1", NULL, &m, "long gemm");
	cr_assert_eq(r.overflows, 70 * 65);
	free_made(&m);
}

/* Windows of 3 x 3 with padding. */
static struct npl_window window_of(int64_t stride)
{
	return (struct npl_window){.rank = 2,
				   .kernel = {3, 3, 1},
				   .stride = {stride, stride, 1},
				   .dilation = {1, 1, 1},
				   .pad_begin = {1, 1, 0},
				   .pad_end = {1, 1, 0}};
}

static void make_images(struct made *m, enum npl_dtype dtype, uint64_t *rng)
{
	const bool bytes = dtype == NPL_U8;
	*m = (struct made){0};
	fill(&m->x, dtype, npl_shape_of(4, 2, 96, 29, 31), bytes ? 0 : -9000, bytes ? 255 : 9000, rng);
}

static const struct {
	const char *device, *precision;
	enum npl_dtype inputs, weights;
	int limit; /* of the weights */
} machines[] = {{"tpu_v1", NULL, NPL_U8, NPL_I8, 127},
		{"tpu_v1", "precision=8x16", NPL_I16, NPL_I8, 127},
		{"diannao", NULL, NPL_I16, NPL_I16, 9000}};

/* Windows with padding and strides, after them Relu. */
Test(sim_threads, convolutions_do_not_depend_on_threads)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		uint64_t rng = 2;
		struct made m;
		make_images(&m, machines[i].inputs, &rng);
		m.attrs.conv = (struct npl_conv_attrs){.groups = 1, .window = window_of(2)};
		fill(&m.w, machines[i].weights, npl_shape_of(4, 150, 96, 3, 3), -machines[i].limit, machines[i].limit,
		     &rng);
		fill(&m.bias, NPL_I32, npl_shape_of(1, 150), -100000, 100000, &rng);
		make_out(&m, machines[i].inputs, npl_shape_of(4, 2, 150, 15, 16), 0x1p-2f);
		if (!strcmp(machines[i].device, "diannao"))
			m.x.quant.scale = m.w.quant.scale = m.out.quant.scale = 0x1p-10f;
		m.layer.activation = NPL_ACT_RELU;
		add_weights(&m, NPL_OP_CONV, true);
		const struct npl_result r = run_all(machines[i].device, machines[i].precision, &m, machines[i].device);
		cr_assert_gt(r.saturations, 10, "%s: %llu", machines[i].device, (unsigned long long)r.saturations);
		free_made(&m);
	}
}

Test(sim_threads, pooling_does_not_depend_on_threads)
{
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		for (int average = 0; average < 2; average++) {
			uint64_t rng = 3;
			struct made m;
			make_images(&m, machines[i].inputs, &rng);
			m.attrs.pool.window = window_of(1);
			m.attrs.pool.window.count_include_pad = average;
			if (!strcmp(machines[i].device, "diannao"))
				m.x.quant.scale = 0x1p-10f;
			make_out(&m, machines[i].inputs, m.x.shape, m.x.quant.scale);
			m.layer.op = average ? NPL_OP_AVERAGEPOOL : NPL_OP_MAXPOOL;
			run_all(machines[i].device, machines[i].precision, &m, "pooling");
			free_made(&m);
		}
}

/* Two tensors added, from the buffer. */
Test(sim_threads, additions_do_not_depend_on_threads)
{
	uint64_t rng = 4;
	struct made m;
	make_images(&m, NPL_U8, &rng);
	fill(&m.other, NPL_U8, m.x.shape, 0, 255, &rng);
	make_out(&m, NPL_U8, m.x.shape, 0x1p-6f);
	m.layer.op = NPL_OP_ADD;
	m.layer.in[1] = &m.other;
	m.layer.n_in = 2;
	const struct npl_result r = run_all("tpu_v1", NULL, &m, "addition");
	cr_assert_gt(r.saturations, 100);
	free_made(&m);
}
