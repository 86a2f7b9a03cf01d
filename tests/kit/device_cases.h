/* SPDX-License-Identifier: MIT
 *
 * Random small layers for any device, with the values that they must give: in float32 by the kernels of core/ops, in
 * Q6.10 by these on the values that 16 bits hold, and in 8 and 16-bit integers by the integer rules (layer_rule.h).
 * A case is told by its seed. */
#ifndef NPULAB_TESTS_KIT_DEVICE_CASES_H
#define NPULAB_TESTS_KIT_DEVICE_CASES_H

#include "activated.h"
#include "core/op_functions.h"
#include "random_layer_group.h"

enum device_numbers { DEVICE_FLOATS, DEVICE_INTEGERS, DEVICE_Q16, DEVICE_NUMBERS };

struct device_case {
	struct npl_layer layer;
	struct npl_tensor expected; /* integers, or float32 */
	double tolerance;           /* of float32, beside that of the device's own elements; of integers 0 */
	double largest;             /* of float32: the largest value, before an activation */
	struct group integers;      /* of DEVICE_INTEGERS */
	struct npl_attrs attrs;     /* of the others */
	struct npl_tensor in[3];    /* likewise */
	struct npl_tensor y;        /* the layer's output */
	uint64_t rng;
};

static inline float device_case_unit(struct device_case *c)
{
	return (float)test_range(&c->rng, -1000, 1000) / 1000;
}

/* One more input, of values up to `limit`. */
static inline void device_case_input(struct device_case *c, struct npl_shape shape, float limit)
{
	struct npl_err err;
	struct npl_tensor *x = &c->in[c->layer.n_in];
	*x = (struct npl_tensor){.dtype = NPL_F32, .shape = shape};
	cr_assert_eq(npl_tensor_alloc(x, &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(x); i++)
		((float *)x->data)[i] = limit * device_case_unit(c);
	c->layer.in[c->layer.n_in++] = x;
}

/* A window that is in no dimension greater than 5, with each member of npl_window now and then another than its
 * default. */
static inline void device_case_window(struct device_case *c, struct npl_window *w)
{
	const enum npl_op op = c->layer.op;
	const int64_t kind = test_range(&c->rng, 0, 9);
	w->rank = kind > 1 ? 2 : kind ? 1 : 3;
	for (int d = 0; d < NPL_VOLUME; d++) {
		w->kernel[d] = w->stride[d] = w->dilation[d] = 1;
		if (d == NPL_DEPTH ? w->rank < NPL_VOLUME : d < NPL_SPATIAL - w->rank)
			continue;
		w->kernel[d] = test_range(&c->rng, 1, 3);
		w->stride[d] = test_range(&c->rng, 1, 3);
		w->dilation[d] = op == NPL_OP_CONV || test_range(&c->rng, 0, 3) == 0 ? test_range(&c->rng, 1, 2) : 1;
		w->pad_begin[d] = test_range(&c->rng, 0, w->kernel[d] - 1);
		w->pad_end[d] = test_range(&c->rng, 0, w->kernel[d] - 1);
	}
	w->ceil_mode = op != NPL_OP_CONV && test_range(&c->rng, 0, 2) == 0;
	w->count_include_pad = op == NPL_OP_AVERAGEPOOL && test_range(&c->rng, 0, 1);
	if (test_range(&c->rng, 0, 4))
		return;
	w->auto_pad = (enum npl_auto_pad)test_range(&c->rng, NPL_PAD_SAME_UPPER, NPL_PAD_VALID);
	memset(w->pad_begin, 0, sizeof w->pad_begin);
	memset(w->pad_end, 0, sizeof w->pad_end);
}

/* Images with as many dimensions as the window, which fits into them. */
static inline struct npl_shape device_case_image(struct device_case *c, int rank, int64_t channels)
{
	struct npl_shape image = npl_shape_of(2 + rank, test_range(&c->rng, 1, 2), channels);
	for (int d = 2; d < image.rank; d++)
		image.dim[d] = test_range(&c->rng, 5, rank == NPL_VOLUME ? 6 : 9);
	return image;
}

/* The number of positions of the output. */
static inline int64_t device_case_positions(const struct npl_window *w, const struct npl_shape *x)
{
	const struct npl_image image = npl_image_of(x);
	return npl_window_output(w, 0, image.size[0]) * npl_window_output(w, 1, image.size[1]);
}

static inline void device_case_conv(struct device_case *c)
{
	const int64_t groups = test_range(&c->rng, 1, 3), each = test_range(&c->rng, 1, 5);
	const int64_t filters = groups * test_range(&c->rng, 1, 6);
	struct npl_window *w = &c->attrs.conv.window;
	device_case_window(c, w);
	const struct npl_shape image = device_case_image(c, w->rank, groups * each);
	struct npl_shape kernels = npl_shape_of(2 + w->rank, filters, each);
	for (int i = 0; i < w->rank; i++)
		kernels.dim[2 + i] = w->kernel[npl_window_index(w->rank, i)];
	c->attrs.conv.groups = groups;
	c->attrs.conv.private_kernels = w->rank <= NPL_SPATIAL && w->auto_pad == NPL_PAD_NOTSET &&
					test_range(&c->rng, 0, 2) == 0;
	if (c->attrs.conv.private_kernels)
		kernels.dim[0] *= device_case_positions(w, &image);
	device_case_input(c, image, 1);
	device_case_input(c, kernels, 0.25f);
	if (test_range(&c->rng, 0, 1))
		device_case_input(c, npl_shape_of(1, filters), 1);
}

/* A Gemm in the canonical form of layer.h; `any`: with other attributes too, which devices in float32 alone see. */
static inline void device_case_gemm(struct device_case *c, bool any)
{
	static const float factors[] = {1, 0.5f, -2};
	const int64_t rows = test_range(&c->rng, 1, 9), k = test_range(&c->rng, 1, 40), n = test_range(&c->rng, 1, 20);
	struct npl_gemm_attrs *gemm = &c->attrs.gemm;
	*gemm = (struct npl_gemm_attrs){.alpha = 1, .beta = 1, .trans_b = true};
	if (any && test_range(&c->rng, 0, 1))
		*gemm = (struct npl_gemm_attrs){.alpha = factors[test_range(&c->rng, 0, 2)],
						.beta = factors[test_range(&c->rng, 0, 2)],
						.trans_a = test_range(&c->rng, 0, 1),
						.trans_b = test_range(&c->rng, 0, 1)};
	device_case_input(c, gemm->trans_a ? npl_shape_of(2, k, rows) : npl_shape_of(2, rows, k), 1);
	device_case_input(c, gemm->trans_b ? npl_shape_of(2, n, k) : npl_shape_of(2, k, n), 0.25f);
	if (test_range(&c->rng, 0, 1))
		device_case_input(c, npl_shape_of(1, n), 1);
}

static inline void device_case_matmul(struct device_case *c)
{
	const int64_t rows = test_range(&c->rng, 1, 9), k = test_range(&c->rng, 1, 40), n = test_range(&c->rng, 1, 20);
	device_case_input(c, npl_shape_of(2, rows, k), 1);
	device_case_input(c, npl_shape_of(2, k, n), 0.25f);
}

/* An operator with its inputs. */
static inline void device_case_begin(struct device_case *c, bool q16)
{
	static const enum npl_op ops[] = {NPL_OP_CONV,    NPL_OP_CONV,    NPL_OP_GEMM,        NPL_OP_GEMM,
					  NPL_OP_MATMUL,  NPL_OP_RELU,    NPL_OP_SIGMOID,     NPL_OP_TANH,
					  NPL_OP_MAXPOOL, NPL_OP_MAXPOOL, NPL_OP_AVERAGEPOOL, NPL_OP_GLOBALAVERAGEPOOL,
					  NPL_OP_ADD,     NPL_OP_MUL,     NPL_OP_SUM,         NPL_OP_CONCAT,
					  NPL_OP_LRN,     NPL_OP_SOFTMAX, NPL_OP_FLATTEN};
	c->layer.op = ops[test_range(&c->rng, 0, (int64_t)(sizeof ops / sizeof *ops) - 1)];
	const enum npl_op op = c->layer.op;
	c->attrs = (struct npl_attrs){.op = op, .opset = 22};
	/* Every member is given without its name, so that a further one is a missing initialiser. */
	if (op == NPL_OP_LRN)
		c->attrs.lrn = (struct npl_lrn_attrs){3, 0.5f, 0.75f, 1, 0};
	if (npl_op_defs[op].family == NPL_FAMILY_ALONG)
		c->attrs.along.axis = 1;
	const int inputs = op == NPL_OP_ADD || op == NPL_OP_MUL || op == NPL_OP_SUM || op == NPL_OP_CONCAT ? 2 : 1;
	struct npl_shape image = npl_shape_of(4, test_range(&c->rng, 1, 2), test_range(&c->rng, 1, 8),
					      test_range(&c->rng, 4, 8), test_range(&c->rng, 4, 8));
	if (op == NPL_OP_CONV) {
		device_case_conv(c);
	} else if (op == NPL_OP_GEMM) {
		device_case_gemm(c, !q16);
	} else if (op == NPL_OP_MATMUL) {
		device_case_matmul(c);
	} else if (op == NPL_OP_MAXPOOL || op == NPL_OP_AVERAGEPOOL) {
		device_case_window(c, &c->attrs.pool.window);
		device_case_input(c, device_case_image(c, c->attrs.pool.window.rank, test_range(&c->rng, 1, 8)), 2);
	} else {
		for (int i = 0; i < inputs; i++)
			device_case_input(c, image, 2);
	}
}

/* Q6.10: the value that 16 bits hold, in *x too. */
static inline int16_t device_case_q16(float *x)
{
	const double q = fmin(fmax(rint((double)*x * 1024), -32768), 32767);
	*x = (float)(q / 1024);
	return (int16_t)q;
}

/* Brings the inputs to Q6.10: they become integers, and `as` the floats of the same values. */
static inline void device_case_to_q16(struct device_case *c, struct npl_tensor as[3])
{
	struct npl_err err;
	for (int k = 0; k < c->layer.n_in; k++) {
		const bool bias = k == 2;
		struct npl_tensor q = {.dtype = bias ? NPL_I32 : NPL_I16,
				       .shape = c->in[k].shape,
				       .quant = {.scale = bias ? 0x1p-20f : 0x1p-10f}};
		cr_assert_eq(npl_tensor_alloc(&q, &err), 0, "%s", err.msg);
		for (int64_t i = 0; i < npl_tensor_count(&q); i++) {
			float *x = (float *)c->in[k].data + i;
			const int16_t held = device_case_q16(x);
			if (bias)
				((int32_t *)q.data)[i] = held * 1024;
			else
				((int16_t *)q.data)[i] = held;
		}
		as[k] = c->in[k];
		c->in[k] = q;
	}
}

/* The factor of LRN from squares (NPL_LRN_FACTOR), whose sums are the layer's multiply-accumulates. */
static inline void device_case_factor(struct device_case *c, const struct npl_tensor *squares)
{
	const struct npl_shape *s = &squares->shape;
	const int64_t channels = s->dim[1], inner = s->dim[2] * s->dim[3];
	for (int64_t i = 0; i < npl_tensor_count(squares); i++) {
		const int64_t channel = i / inner % channels;
		double sum = 0;
		for (int64_t at = channel - 1; at <= channel + 1; at++)
			if (at >= 0 && at < channels) {
				c->layer.macs++;
				sum += (double)((const float *)squares->data)[i + (at - channel) * inner];
			}
		((float *)c->expected.data)[i] = (float)pow(
			(double)c->attrs.lrn.bias + (double)c->attrs.lrn.alpha / 3 * sum, -(double)c->attrs.lrn.beta);
	}
}

static inline void device_case_expect(struct device_case *c, const struct npl_tensor *as, bool q16)
{
	const struct npl_tensor *in[3] = {&as[0], &as[1], &as[2]};
	struct npl_err err = {0};
	const enum npl_op op = c->layer.op;
	cr_assert_eq(npl_op_shape(op, &c->attrs, in, c->layer.n_in, &c->expected, 1, &err), 0, "%s: %s",
		     npl_op_defs[op].name, err.msg);
	c->y = (struct npl_tensor){
		.dtype = q16 ? NPL_I16 : NPL_F32, .shape = c->expected.shape, .quant = {.scale = q16 ? 0x1p-10f : 0}};
	cr_assert(!npl_tensor_alloc(&c->expected, &err) && !npl_tensor_alloc(&c->y, &err), "%s", err.msg);
	cr_assert_eq(npl_op_run(op, &c->attrs, in, c->layer.n_in, &c->expected, 1, &err), 0, "%s", err.msg);
	if (q16 && op == NPL_OP_LRN)
		device_case_factor(c, &as[0]);
	if (npl_op_functions[op].macs)
		c->layer.macs = npl_op_macs(op, &c->attrs, in, c->layer.n_in, &c->expected);
	for (int64_t i = 0; i < npl_tensor_count(&c->expected); i++) {
		float *expected = (float *)c->expected.data + i;
		c->largest = fmax(c->largest, fabs((double)*expected));
		*expected = (float)activated(c->layer.activation, (double)*expected);
		if (q16)
			(void)device_case_q16(expected);
	}
}

static inline void device_case_floats(struct device_case *c, bool q16)
{
	struct npl_tensor as[3] = {{0}};
	device_case_begin(c, q16);
	const bool product = c->layer.op == NPL_OP_CONV || c->layer.op == NPL_OP_GEMM;
	if (product && test_range(&c->rng, 0, 1) == 0)
		c->layer.activation = (enum npl_activation)test_range(&c->rng, NPL_ACT_RELU, NPL_ACTIVATIONS - 1);
	for (int64_t i = 0; q16 && c->layer.op == NPL_OP_LRN && i < npl_tensor_count(&c->in[0]); i++)
		((float *)c->in[0].data)[i] *= ((float *)c->in[0].data)[i];
	if (q16)
		device_case_to_q16(c, as);
	else
		memcpy(as, c->in, sizeof as);
	device_case_expect(c, as, q16);
	c->layer.out = &c->y;
	/* Every product and sum may round to a step; functions are 16 segments. */
	const bool sums = product || c->layer.op == NPL_OP_MATMUL || c->layer.op == NPL_OP_AVERAGEPOOL;
	c->tolerance = !q16 ? 0 : sums ? 60 * 0x1p-10 : c->layer.op == NPL_OP_RELU ? 0 : 0.03;
	for (int k = 0; q16 && k < c->layer.n_in; k++)
		npl_tensor_free(&as[k]);
}

static inline void device_case_integers(struct device_case *c, uint64_t seed)
{
	struct group *g = &c->integers;
	struct npl_err err;
	layer_group_start(g, seed);
	g->only_8_bits = seed % 2;
	g->any_window = true;
	if (seed % 6 == 1)
		layer_group_given(g, npl_shape_of(3, layer_group_range(g, 1, 2), layer_group_range(g, 1, 12),
						  layer_group_range(g, 1, 9)));
	else if (seed % 3)
		layer_group_given(g, npl_shape_of(4, layer_group_range(g, 1, 2), layer_group_range(g, 1, 12),
						  layer_group_range(g, 1, 8), layer_group_range(g, 1, 8)));
	else
		layer_group_given(g, npl_shape_of(2, layer_group_range(g, 1, 9), layer_group_range(g, 1, 50)));
	layer_group_step(g, 20);
	c->layer = g->layer[0];
	c->expected = *c->layer.out;
	c->y = c->expected;
	c->y.data = NULL;
	cr_assert_eq(npl_tensor_alloc(&c->y, &err), 0, "%s", err.msg);
	c->layer.out = &c->y;
}

static inline void device_case_make(struct device_case *c, enum device_numbers numbers, uint64_t seed)
{
	memset(c, 0, sizeof *c);
	c->rng = seed * 0x9e3779b97f4a7c15ull | 1;
	c->layer = (struct npl_layer){.name = "case", .attrs = &c->attrs};
	if (numbers == DEVICE_INTEGERS)
		device_case_integers(c, seed);
	else
		device_case_floats(c, numbers == DEVICE_Q16);
}

static inline void device_case_free(struct device_case *c)
{
	npl_tensor_free(&c->y);
	if (c->integers.n_layers) {
		layer_group_end(&c->integers);
		return;
	}
	npl_tensor_free(&c->expected);
	for (int k = 0; k < c->layer.n_in; k++)
		npl_tensor_free(&c->in[k]);
}

/* The first element of the output that is not as wanted, -1: none. Elements of a device of `relative` accuracy are off
 * by that share of the largest value, 0: to the bit; its integers by so many steps. */
static inline int64_t device_case_wrong(const struct device_case *c, double relative, int64_t steps)
{
	for (int64_t i = 0; i < npl_tensor_count(&c->expected); i++) {
		if (c->expected.dtype != NPL_F32) {
			if (llabs(rule_get(&c->y, i) - rule_get(&c->expected, i)) > steps)
				return i;
			continue;
		}
		const double actual = c->y.dtype == NPL_I16 ? (double)((const int16_t *)c->y.data)[i] / 1024
							    : (double)((const float *)c->y.data)[i];
		if (!(fabs(actual - (double)((const float *)c->expected.data)[i]) <=
		      c->tolerance + relative * c->largest))
			return i;
	}
	return -1;
}

#endif
