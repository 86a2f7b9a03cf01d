/* SPDX-License-Identifier: MIT
 *
 * Random networks for tests of the C interface, written once and made in each of its ways: a maker hides whether values
 * are numbers of a builder or handles of a context. The same seed gives the same network, weights and input.
 */
#ifndef NPULAB_TESTS_KIT_API_NET_H
#define NPULAB_TESTS_KIT_API_NET_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/build.h"
#include "npulab/recording.h"
#include "support.h"

#define API_VALUES 64

struct api_maker {
	struct npl_build *build; /* or */
	struct npl_eager *ctx;
	bool hold; /* every eager result to the end */
	int read;  /* eager: after so many calls, the newest value is read; 0: never */
	int calls;
	int n;
	int index[API_VALUES];
	struct npl_eager_value *handle[API_VALUES];
	struct npl_tensor input;
};

/* A tensor of values in [-1, 1] that the caller frees. */
static inline struct npl_tensor api_random(uint64_t *rng, struct npl_shape shape)
{
	struct npl_err err;
	struct npl_tensor t = {.dtype = NPL_F32, .shape = shape};
	cr_assert_eq(npl_tensor_alloc(&t, &err), 0, "%s", err.msg);
	for (int64_t i = 0; i < npl_tensor_count(&t); i++)
		((float *)t.data)[i] = (float)test_range(rng, -1000, 1000) / 1000;
	return t;
}

static inline struct npl_shape api_shape(const struct api_maker *m, int v)
{
	struct npl_shape shape;
	struct npl_err err;
	if (m->ctx)
		return *npl_eager_shape(m->handle[v]);
	cr_assert_eq(npl_build_shape(m->build, m->index[v], NULL, &shape, &err), 0, "%s", err.msg);
	return shape;
}

static inline int api_input(struct api_maker *m, uint64_t *rng, struct npl_shape shape)
{
	struct npl_err err;
	m->input = api_random(rng, shape);
	if (m->ctx)
		cr_assert_eq(npl_eager_input(m->ctx, "x", &m->input, NPL_COPY, &m->handle[m->n], &err), 0, "%s",
			     err.msg);
	else
		m->index[m->n] = npl_build_input(m->build, "x", NPL_F32, shape);
	return m->n++;
}

static inline int api_constant(struct api_maker *m, uint64_t *rng, struct npl_shape shape)
{
	struct npl_err err;
	struct npl_tensor t = api_random(rng, shape);
	if (m->ctx)
		cr_assert_eq(npl_eager_constant(m->ctx, &t, NPL_COPY, &m->handle[m->n], &err), 0, "%s", err.msg);
	else
		m->index[m->n] = npl_build_constant(m->build, &t, NPL_COPY);
	npl_tensor_free(&t);
	cr_assert(m->ctx || m->index[m->n] >= 0);
	return m->n++;
}

/* An operator on up to three values (-1: none), whose result is a value of its own. */
static inline int api_op(struct api_maker *m, const char *op, struct npl_attr_list attrs, int a, int b, int c)
{
	const int in[] = {a, b, c};
	int n_in = 0, index[3];
	struct npl_eager_value *handle[3];
	struct npl_tensor out;
	struct npl_err err;
	cr_assert(m->n < API_VALUES);
	for (; n_in < 3 && in[n_in] >= 0; n_in++) {
		index[n_in] = m->index[in[n_in]];
		handle[n_in] = m->handle[in[n_in]];
	}
	if (m->ctx) {
		int rc = npl_eager_op(m->ctx, op, (struct npl_args){handle, n_in}, attrs, &m->handle[m->n], &err);
		cr_assert_eq(rc, 0, "%s", err.msg);
	} else {
		m->index[m->n] = npl_build_op(m->build, op, (struct npl_build_in){index, n_in}, attrs);
		cr_assert(m->index[m->n] >= 0, "%s", npl_build_error(m->build)->msg);
	}
	if (m->ctx && ++m->calls == m->read) {
		cr_assert_eq(npl_eager_read(m->ctx, m->handle[m->n], &out, &err), 0, "%s", err.msg);
		npl_tensor_free(&out);
	}
	return m->n++;
}

/* A small network of layers that devices fuse, quantise, refuse or join; ends in a row per sample. */
static inline int api_network(struct api_maker *m, uint64_t *rng)
{
	int64_t channels = test_range(rng, 1, 5), size = test_range(rng, 6, 12);
	int x = api_input(m, rng, npl_shape_of(4, test_range(rng, 1, 3), channels, size, size));
	for (int layer = 0, layers = (int)test_range(rng, 2, 6); layer < layers; layer++) {
		struct npl_shape shape = api_shape(m, x);
		int64_t out = test_range(rng, 1, 9);
		switch (test_range(rng, 0, 5)) {
		case 0:
		case 1: {
			int w = api_constant(m, rng, npl_shape_of(4, out, shape.dim[1], 3, 3));
			int b = api_constant(m, rng, npl_shape_of(1, out));
			x = api_op(m, "Conv", NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1)), x, w, b);
			x = api_op(m, "Relu", NPL_NO_ATTRS, x, -1, -1);
			break;
		}
		case 2: {
			int w = api_constant(m, rng, npl_shape_of(4, shape.dim[1], shape.dim[1], 1, 1));
			int y = api_op(m, "Conv", NPL_NO_ATTRS, x, w, -1);
			x = api_op(m, "Add", NPL_NO_ATTRS, x, y, -1);
			break;
		}
		case 3:
			x = api_op(m, "MaxPool",
				   NPL_ATTRS(NPL_INTS("kernel_shape", 2, 2), NPL_INTS("pads", 0, 0, 1, 1)), x, -1, -1);
			break;
		case 4: {
			int y = api_op(m, "Tanh", NPL_NO_ATTRS, x, -1, -1);
			x = api_op(m, "Concat", NPL_ATTRS(NPL_INT("axis", 1)), x, y, -1);
			break;
		}
		default: /* constants that are computed before the network runs */
			x = api_op(m, "Mul", NPL_NO_ATTRS, x,
				   api_op(m, "Add", NPL_NO_ATTRS, api_constant(m, rng, npl_shape_of(1, 1)),
					  api_constant(m, rng, npl_shape_of(3, shape.dim[1], 1, 1)), -1),
				   -1);
		}
	}
	x = api_op(m, "Flatten", NPL_NO_ATTRS, x, -1, -1);
	struct npl_shape flat = api_shape(m, x);
	int w = api_constant(m, rng, npl_shape_of(2, test_range(rng, 1, 12), flat.dim[1]));
	return api_op(m, "Gemm", NPL_ATTRS(NPL_INT("transB", 1), NPL_FLOAT("alpha", 0.5f)), x, w, -1);
}

/* Gives back every eager result but one. */
static inline void api_release_others(struct api_maker *m, int keep)
{
	for (int v = 0; v < m->n; v++)
		if (v != keep && m->ctx) {
			npl_eager_release(m->handle[v]);
			m->handle[v] = NULL;
		}
}

static inline struct npl_device *api_device(const char *name)
{
	struct npl_device *device;
	struct npl_err err;
	cr_assert_eq(npl_device_open(name, NULL, &device, &err), 0, "%s", err.msg);
	return device;
}

/* The only output of a graph. */
static inline struct npl_tensor api_run(struct npl_graph *graph, const char *device, const struct npl_tensor *input,
					struct npl_cost *cost)
{
	struct npl_device *dev = api_device(device);
	struct npl_tensor out;
	struct npl_err err;
	cr_assert_eq(graph->n_outputs, 1);
	cr_assert_eq(npl_graph_run(graph, dev, input, NULL, &out, cost, &err), 0, "%s: %s", device, err.msg);
	npl_device_close(dev);
	return out;
}

static inline bool api_same(const struct npl_tensor *a, const struct npl_tensor *b)
{
	return a->dtype == b->dtype && npl_shape_equal(&a->shape, &b->shape) &&
	       !memcmp(a->data, b->data, npl_tensor_bytes(a));
}

#endif
