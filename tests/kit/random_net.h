/* SPDX-License-Identifier: MIT
 *
 * Random small networks of the operators that machines of 8-bit integers know, with branches, views on all sides and,
 * now and then, an operator that only the host has. */
#ifndef NPULAB_TESTS_KIT_RANDOM_NET_H
#define NPULAB_TESTS_KIT_RANDOM_NET_H

#include "session_net.h"

#define DRAWN_MAX 48

struct drawn {
	struct onnx_writer g;
	uint64_t rng;
	bool plain; /* only what `cpu` does on integers too */
	int n, n_nodes;
	struct {
		int rank;
		int64_t dim[4];
		bool read;
	} value[DRAWN_MAX];
};

static inline int64_t drawn_range(struct drawn *d, int64_t low, int64_t high)
{
	return test_range(&d->rng, low, high);
}

/* Value v as one more input of a node. */
static inline void drawn_read(struct drawn *d, int v, char *in, size_t size)
{
	size_t used = strlen(in);
	snprintf(in + used, size - used, "%sv%d", used ? " " : "", v);
	d->value[v].read = true;
}

/* The node `op` of `in`, whose result is value d->n. */
static inline void drawn_node(struct drawn *d, const char *op, const char *in, struct onnx_writer *attrs, int rank,
			      const int64_t *dim)
{
	char name[16], out[16];
	snprintf(name, sizeof name, "n%d", d->n_nodes++);
	snprintf(out, sizeof out, "v%d", d->n);
	onnx_put_node(&d->g, op, name, in, out, attrs);
	d->value[d->n].rank = rank;
	for (int i = 0; i < rank; i++)
		d->value[d->n].dim[i] = dim[i];
	d->n++;
}

/* The node of value v alone, of the same shape unless dim is given. */
static inline void drawn_one(struct drawn *d, const char *op, int v, struct onnx_writer *attrs, int rank,
			     const int64_t *dim)
{
	char in[64] = "";
	drawn_read(d, v, in, sizeof in);
	drawn_node(d, op, in, attrs, dim ? rank : d->value[v].rank, dim ? dim : d->value[v].dim);
}

static inline void drawn_activation(struct drawn *d, int v)
{
	static const char *const ops[] = {"Relu", "Relu", "Sigmoid", "Tanh", "Clip"};
	const char *op = ops[drawn_range(d, 0, d->plain ? 0 : 4)];
	char in[64] = "", low[16], high[16];
	drawn_read(d, v, in, sizeof in);
	if (!strcmp(op, "Clip")) {
		snprintf(low, sizeof low, "low%d", d->n);
		snprintf(high, sizeof high, "high%d", d->n);
		onnx_put_floats(&d->g, low, 0, NULL, (float[]){0});
		onnx_put_floats(&d->g, high, 0, NULL, (float[]){6});
		snprintf(in, sizeof in, "v%d %s %s", v, low, high);
	}
	drawn_node(d, op, in, NULL, d->value[v].rank, d->value[v].dim);
}

/* Weights "wN" of node d->n_nodes, perhaps a bias "bN", after the name of value v. */
static inline void drawn_operands(struct drawn *d, int v, int rank, const int64_t *dim, int64_t results, bool bias,
				  char *in, size_t size)
{
	char name[16];
	drawn_read(d, v, in, size);
	for (int k = 0; k < (bias ? 2 : 1); k++) {
		size_t used = strlen(in);
		snprintf(name, sizeof name, "%c%d", "wb"[k], d -> n);
		snprintf(in + used, size - used, " %s", name);
		put_weights(&d->g, &d->rng, name, k ? 1 : rank, k ? &results : dim);
	}
}

static inline void drawn_conv(struct drawn *d, int v)
{
	const int64_t *x = d->value[v].dim;
	int64_t kernel = x[2] > 2 && x[3] > 2 ? 1 + 2 * drawn_range(d, 0, 1) : 1, filters = drawn_range(d, 1, 12);
	int64_t stride = drawn_range(d, 1, 2), pad = kernel / 2, groups = 1;
	int64_t y[4] = {x[0], filters, (x[2] - 1) / stride + 1, (x[3] - 1) / stride + 1};
	struct onnx_writer a = {0};
	char in[64] = "";
	if (x[1] % 2 == 0 && filters % 2 == 0 && drawn_range(d, 0, 2) == 0)
		groups = 2;
	onnx_put_attr_ints(&a, "pads", 4, (int64_t[]){pad, pad, pad, pad});
	onnx_put_attr_ints(&a, "strides", 2, (int64_t[]){stride, stride});
	onnx_put_attr_int(&a, "group", groups);
	drawn_operands(d, v, 4, (int64_t[]){filters, x[1] / groups, kernel, kernel}, filters, drawn_range(d, 0, 1), in,
		       sizeof in);
	drawn_node(d, "Conv", in, &a, 4, y);
}

static inline void drawn_product(struct drawn *d, int v)
{
	int rank = d->value[v].rank;
	int64_t y[3], k = d->value[v].dim[rank - 1], n = drawn_range(d, 1, 20);
	bool gemm = rank == 2 && drawn_range(d, 0, 1);
	char in[64] = "";
	memcpy(y, d->value[v].dim, sizeof y);
	y[rank - 1] = n;
	drawn_operands(d, v, 2, (int64_t[]){k, n}, n, gemm && drawn_range(d, 0, 1), in, sizeof in);
	drawn_node(d, gemm ? "Gemm" : "MatMul", in, NULL, rank, y);
}

static inline void drawn_pool(struct drawn *d, int v)
{
	const int64_t *x = d->value[v].dim;
	int64_t y[4] = {x[0], x[1], (x[2] - 1) / 2 + 1, (x[3] - 1) / 2 + 1};
	struct onnx_writer a = {0};
	onnx_put_attr_ints(&a, "kernel_shape", 2, (int64_t[]){3, 3});
	onnx_put_attr_ints(&a, "pads", 4, (int64_t[]){1, 1, 1, 1});
	onnx_put_attr_ints(&a, "strides", 2, (int64_t[]){2, 2});
	drawn_one(d, drawn_range(d, 0, 1) ? "MaxPool" : "AveragePool", v, &a, 4, y);
}

/* Another value of the same dimensions, except that of the axis (-1: none); v itself where there is no other. */
static inline int drawn_partner(struct drawn *d, int v, int axis)
{
	int partner = v, seen = 0;
	for (int u = 0; u < d->n; u++) {
		bool fits = d->value[u].rank == d->value[v].rank;
		for (int i = 0; i < d->value[v].rank && fits; i++)
			fits = i == axis || d->value[u].dim[i] == d->value[v].dim[i];
		if (fits && drawn_range(d, 0, seen++) == 0)
			partner = u;
	}
	return partner;
}

static inline void drawn_pair(struct drawn *d, int v)
{
	static const char *const ops[] = {"Add", "Mul", "Sum"};
	char in[64] = "";
	drawn_read(d, v, in, sizeof in);
	drawn_read(d, drawn_partner(d, v, -1), in, sizeof in);
	drawn_node(d, ops[drawn_range(d, 0, 2)], in, NULL, d->value[v].rank, d->value[v].dim);
}

static inline void drawn_concat(struct drawn *d, int v)
{
	int u = drawn_partner(d, v, 1);
	int64_t y[4];
	struct onnx_writer a = {0};
	char in[64] = "";
	drawn_read(d, v, in, sizeof in);
	drawn_read(d, u, in, sizeof in);
	memcpy(y, d->value[v].dim, sizeof y);
	y[1] += d->value[u].dim[1];
	onnx_put_attr_int(&a, "axis", 1);
	drawn_node(d, "Concat", in, &a, d->value[v].rank, y);
}

static inline void drawn_slice(struct drawn *d, int v)
{
	int64_t y[4], from = drawn_range(d, 0, d->value[v].dim[1] - 1),
		      to = drawn_range(d, from + 1, d->value[v].dim[1]);
	char in[64] = "", names[3][16];
	const int64_t data[3] = {from, to, 1};
	drawn_read(d, v, in, sizeof in);
	for (int k = 0; k < 3; k++) {
		snprintf(names[k], sizeof names[k], "s%d_%d", d->n, k);
		onnx_put_int64s(&d->g, names[k], 1, &data[k]);
		snprintf(in + strlen(in), sizeof in - strlen(in), " %s", names[k]);
	}
	memcpy(y, d->value[v].dim, sizeof y);
	y[1] = to - from;
	drawn_node(d, "Slice", in, NULL, d->value[v].rank, y);
}

/* Two or three results side by side, of which some may be read by nobody. */
static inline void drawn_split(struct drawn *d, int v)
{
	int64_t size[3], left = d->value[v].dim[1];
	int parts = left > 2 ? (int)drawn_range(d, 2, 3) : 2;
	struct onnx_writer a = {0};
	char in[64] = "", name[16], out[64] = "", sizes[16];
	for (int k = 0; k < parts; k++) {
		size[k] = k + 1 < parts ? drawn_range(d, 1, left - (parts - 1 - k)) : left;
		left -= size[k];
	}
	drawn_read(d, v, in, sizeof in);
	snprintf(name, sizeof name, "n%d", d->n_nodes++);
	snprintf(sizes, sizeof sizes, "sizes%d", d->n);
	snprintf(in + strlen(in), sizeof in - strlen(in), " %s", sizes);
	onnx_put_int64s(&d->g, sizes, parts, size);
	onnx_put_attr_int(&a, "axis", 1);
	for (int k = 0, first = d->n; k < parts; k++) {
		snprintf(out + strlen(out), sizeof out - strlen(out), "%sv%d", k ? " " : "", first + k);
		d->value[d->n] = d->value[v];
		d->value[d->n].read = false;
		d->value[d->n++].dim[1] = size[k];
	}
	onnx_put_node(&d->g, "Split", name, in, out, &a);
}

static inline void drawn_reshape(struct drawn *d, int v, int rank, const int64_t *dim)
{
	char in[64] = "", name[16];
	snprintf(name, sizeof name, "to%d", d->n);
	drawn_read(d, v, in, sizeof in);
	snprintf(in + strlen(in), sizeof in - strlen(in), " %s", name);
	onnx_put_int64s(&d->g, name, rank, dim);
	drawn_node(d, "Reshape", in, NULL, rank, dim);
}

/* Another shape: pixels otherwise arranged, one vector for an image, channels that were pixels. */
static inline void drawn_view(struct drawn *d, int v)
{
	const int64_t *x = d->value[v].dim;
	int kind = (int)drawn_range(d, 0, 3);
	if (d->value[v].rank == 4 && kind < 2)
		drawn_one(d, "Flatten", v, NULL, 2, (int64_t[]){x[0], x[1] * x[2] * x[3]});
	else if (d->value[v].rank == 4 && kind == 2)
		drawn_reshape(d, v, 4, (int64_t[]){x[0], x[1], x[3], x[2]});
	else if (d->value[v].rank == 4)
		drawn_reshape(d, v, 4, (int64_t[]){x[0], x[1] * x[2], 1, x[3]});
	else if (d->value[v].rank == 3)
		drawn_reshape(d, v, 2, (int64_t[]){x[0], x[1] * x[2]});
	else if (kind < 2)
		drawn_reshape(d, v, 4, (int64_t[]){x[0], x[1], 1, 1});
	else
		drawn_reshape(d, v, 3, (int64_t[]){x[0], 1, x[1]});
}

static inline void drawn_host_only(struct drawn *d, int v)
{
	struct onnx_writer a = {0};
	if (d->value[v].rank == 4) {
		onnx_put_attr_int(&a, "size", 3);
		drawn_one(d, "LRN", v, &a, 0, NULL);
	} else {
		drawn_one(d, "Softmax", v, NULL, 0, NULL);
	}
}

/* One more layer, mostly of what came last, perhaps with its activation. */
static inline void drawn_layer(struct drawn *d)
{
	int v = drawn_range(d, 0, 2) ? d->n - 1 : (int)drawn_range(d, 0, d->n - 1), kind = (int)drawn_range(d, 0, 15);
	bool image = d->value[v].rank == 4, sums = true;
	if (kind < 6 || (d->plain && kind > 12)) {
		if (image)
			drawn_conv(d, v);
		else
			drawn_product(d, v);
	} else if (kind < 8 && !d->plain) {
		drawn_pair(d, v);
	} else {
		sums = false;
		if (kind < 10 && image)
			drawn_pool(d, v);
		else if (kind == 11 || (d->plain && kind != 10))
			drawn_view(d, v);
		else if (kind == 12)
			drawn_concat(d, v);
		else if (kind == 13)
			(d->value[v].dim[1] > 1 && drawn_range(d, 0, 1) ? drawn_split : drawn_slice)(d, v);
		else if (kind == 14 && image)
			drawn_one(d, "GlobalAveragePool", v, NULL, 4,
				  (int64_t[]){d->value[v].dim[0], d->value[v].dim[1], 1, 1});
		else if (kind == 10 || drawn_range(d, 0, 1))
			drawn_activation(d, v);
		else
			drawn_host_only(d, v);
	}
	if (sums && drawn_range(d, 0, 1))
		drawn_activation(d, d->n - 1);
}

/* Outputs are what nobody reads, the last first, and at times something on the way. */
static inline struct net make_random_net(uint64_t seed, bool plain)
{
	struct drawn d = {.rng = seed * 0x9e3779b97f4a7c15ull | 1, .plain = plain};
	int inputs = (int)drawn_range(&d, 1, 2), rank = drawn_range(&d, 0, 3) ? 4 : (int)drawn_range(&d, 2, 3);
	int layers = (int)drawn_range(&d, 2, 9), outputs = 0;
	int64_t images = drawn_range(&d, 1, 3);
	char name[16];
	for (; d.n < inputs; d.n++) {
		d.value[d.n].rank = rank;
		for (int i = 0; i < rank; i++)
			d.value[d.n].dim[i] = i ? drawn_range(&d, 1, 7) : images;
		snprintf(name, sizeof name, "v%d", d.n);
		onnx_put_input(&d.g, name, ONNX_FLOAT, rank, d.value[d.n].dim);
	}
	for (int i = 0; i < layers; i++)
		drawn_layer(&d);
	for (int v = d.n - 1; v >= inputs && outputs < MOST; v--)
		if (!d.value[v].read || drawn_range(&d, 0, 9) == 0) {
			snprintf(name, sizeof name, "v%d", v);
			onnx_put_output(&d.g, name);
			outputs++;
		}
	return make_net(&d.g, &d.rng);
}

#endif
