/* SPDX-License-Identifier: MIT
 *
 * Random networks of images: convolutions, also in groups, padded unevenly or with computed weights, operators by
 * element, poolings, what joins, cuts, moves and reshapes images, with some of what lies between among the outputs.
 */
#ifndef NPULAB_TESTS_KIT_RANDOM_IMAGES_H
#define NPULAB_TESTS_KIT_RANDOM_IMAGES_H

#include <stdlib.h>

#include "session_net.h"

/* A random network in the making: images (2, channels, height, width), known by their number, "v7". */
enum { IMAGES = 40, BATCH = 2 };
struct image {
	int64_t c, h, w;
};
struct maker {
	struct onnx_writer g;
	uint64_t *rng;
	bool exact;
	struct image image[IMAGES];
	int n, nodes, constants;
};

static inline int64_t draw(struct maker *m, int64_t low, int64_t high)
{
	return test_range(m->rng, low, high);
}

/* A constant of values within +-scale. */
static inline const char *constant(struct maker *m, float scale, int rank, const int64_t *dims, char name[16])
{
	float *data = random_floats(m->rng, onnx_count(rank, dims));
	for (int64_t i = 0; i < onnx_count(rank, dims); i++)
		data[i] *= scale;
	snprintf(name, 16, "k%d", m->constants++);
	onnx_put_floats(&m->g, name, rank, dims, data);
	free(data);
	return name;
}

/* The next image, by a node that reads these. */
static inline int node(struct maker *m, const char *op, const char *inputs, struct image made,
		       struct onnx_writer *attrs)
{
	char name[16], out[16];
	snprintf(name, sizeof name, "n%d", m->nodes++);
	snprintf(out, sizeof out, "v%d", m->n);
	onnx_put_node(&m->g, op, name, inputs, out, attrs);
	m->image[m->n] = made;
	return m->n++;
}

/* Another image as the filters: weights that are computed. */
static inline bool put_computed_filters(struct maker *m, int from)
{
	const struct image x = m->image[from];
	char inputs[64];
	for (int i = m->n - 1; i >= 0; i--) {
		const struct image f = m->image[i];
		if (i == from || f.c != x.c || f.h > x.h || f.w > x.w || f.c * f.h * f.w > 80 || f.h * f.w == 1)
			continue;
		snprintf(inputs, sizeof inputs, "v%d v%d", from, i);
		node(m, "Conv", inputs, (struct image){BATCH, x.h - f.h + 1, x.w - f.w + 1}, NULL);
		return true;
	}
	return false;
}

static inline void put_convolution(struct maker *m, int from)
{
	const struct image x = m->image[from];
	if (!draw(m, 0, 5) && put_computed_filters(m, from))
		return;
	const int64_t k = draw(m, 0, 1) ? 1 : 3, stride = draw(m, 0, 4) ? 1 : 2, pad = k == 3 ? draw(m, 0, 1) : 0,
		      groups = draw(m, 0, 4) ? 1 : x.c,
		      /* A depthwise convolution of 8 channels is summed by another kernel in either layout. */
		per_group = m->exact && x.c >= 8 ? 2 : 1,
		      filters = groups > 1 ? groups * draw(m, per_group, 2)
					   : (draw(m, 0, 1) ? draw(m, 1, 12) : 8 * draw(m, 1, 2)),
		      uneven = draw(m, 0, 7) ? 0 : 1; /* which cuDNN cannot pad */
	if (x.h + 2 * pad < k || x.w + 2 * pad < k)
		return;
	char inputs[64], w[16], b[16];
	struct onnx_writer attrs = {0};
	const int64_t channels = x.c / groups, taps = channels * k * k;
	constant(m, 1.5f / sqrtf((float)taps), 4, (int64_t[]){filters, channels, k, k}, w);
	snprintf(inputs, sizeof inputs, "v%d %s%s%s", from, w, pad || stride > 1 ? " " : "",
		 pad || stride > 1 ? constant(m, 0.2f, 1, (int64_t[]){filters}, b) : "");
	onnx_put_attr_ints(&attrs, "pads", 4, (int64_t[]){pad, pad, pad + uneven, pad});
	onnx_put_attr_ints(&attrs, "strides", 2, (int64_t[]){stride, stride});
	onnx_put_attr_int(&attrs, "group", groups);
	int made = node(
		m, "Conv", inputs,
		(struct image){filters, (x.h + 2 * pad + uneven - k) / stride + 1, (x.w + 2 * pad - k) / stride + 1},
		&attrs);
	if (draw(m, 0, 1)) {
		snprintf(inputs, sizeof inputs, "v%d", made);
		node(m, draw(m, 0, 2) ? "Relu" : "Sigmoid", inputs, m->image[made], NULL);
	}
}

static inline bool same_image(struct image a, struct image b)
{
	return a.c == b.c && a.h == b.h && a.w == b.w;
}

static inline void put_pair(struct maker *m, int from)
{
	static const char *const ops[] = {"Add", "Mul", "Sub", "Max"};
	const struct image x = m->image[from];
	const int64_t shapes[][4] = {{BATCH, x.c, x.h, x.w}, {1, x.c, x.h, x.w}, {1, x.c, 1, 1},
				     {1, 1, x.h, x.w},       {BATCH, 1, 1, x.w}, {1, 1, 1, 1}};
	const int64_t *shape = shapes[draw(m, 0, 5)];
	const int skip = shape[0] == 1 && draw(m, 0, 1); /* the dimension of the batch is left out */
	char inputs[64], k[16];
	int other = -1;
	for (int i = 0; i < m->n; i++)
		if (i != from && same_image(m->image[i], x))
			other = i;
	if (other >= 0 && draw(m, 0, 2))
		snprintf(inputs, sizeof inputs, "v%d v%d", from, other);
	else if (draw(m, 0, 3))
		snprintf(inputs, sizeof inputs, "v%d %s", from, constant(m, 1, 4 - skip, shape + skip, k));
	else
		snprintf(inputs, sizeof inputs, "%s v%d", constant(m, 1, 4 - skip, shape + skip, k), from);
	node(m, ops[draw(m, 0, 3)], inputs, x, NULL);
}

static inline void put_pool(struct maker *m, int from)
{
	const struct image x = m->image[from];
	const int64_t k = draw(m, 2, 3), stride = draw(m, 1, 2), pad = draw(m, 0, 1);
	struct onnx_writer attrs = {0};
	char inputs[16];
	if (x.h + 2 * pad < k || x.w + 2 * pad < k)
		return;
	snprintf(inputs, sizeof inputs, "v%d", from);
	onnx_put_attr_ints(&attrs, "kernel_shape", 2, (int64_t[]){k, k});
	onnx_put_attr_ints(&attrs, "strides", 2, (int64_t[]){stride, stride});
	onnx_put_attr_ints(&attrs, "pads", 4, (int64_t[]){pad, pad, pad, pad});
	node(m, draw(m, 0, 1) ? "MaxPool" : "AveragePool", inputs,
	     (struct image){x.c, (x.h + 2 * pad - k) / stride + 1, (x.w + 2 * pad - k) / stride + 1}, &attrs);
}

static inline void put_concat(struct maker *m, int from)
{
	struct image made = m->image[from];
	struct onnx_writer attrs = {0};
	char inputs[64];
	int used = snprintf(inputs, sizeof inputs, "v%d", from), more = 0;
	for (int i = m->n - 1; i >= 0 && more < 2; i--)
		if (m->image[i].h == made.h && m->image[i].w == made.w && made.c + m->image[i].c < 40) {
			used += snprintf(inputs + used, sizeof inputs - (size_t)used, " v%d", i);
			made.c += m->image[i].c;
			more++;
		}
	onnx_put_attr_int(&attrs, "axis", 1);
	node(m, "Concat", inputs, made, &attrs);
}

static inline void put_normalisation(struct maker *m, int from)
{
	const struct image x = m->image[from];
	char name[5][16], inputs[128];
	snprintf(name[0], 16, "v%d", from);
	for (int i = 1; i < 5; i++)
		constant(m, 0.5f, 1, &x.c, name[i]);
	float *scales = calloc((size_t)x.c, sizeof *scales);
	for (int64_t i = 0; i < x.c; i++)
		scales[i] = 1 + (float)i / 8;
	snprintf(name[4], 16, "o%d", m->constants++);
	onnx_put_floats(&m->g, name[4], 1, &x.c, scales);
	free(scales);
	snprintf(inputs, sizeof inputs, "%s %s %s %s %s", name[0], name[1], name[2], name[3], name[4]);
	node(m, "BatchNormalization", inputs, x, NULL);
}

/* Transposed to channels last in the shapes, something done there, and back; or another shape for the same elements. */
static inline void put_other_shape(struct maker *m, int from)
{
	const struct image x = m->image[from];
	struct onnx_writer forward = {0}, backward = {0};
	char inputs[32], name[16];
	snprintf(inputs, sizeof inputs, "v%d", from);
	if (draw(m, 0, 1)) {
		onnx_put_attr_ints(&forward, "perm", 4, (int64_t[]){0, 2, 3, 1});
		onnx_put_attr_ints(&backward, "perm", 4, (int64_t[]){0, 3, 1, 2});
		int transposed = node(m, "Transpose", inputs, (struct image){x.h, x.w, x.c}, &forward);
		snprintf(inputs, sizeof inputs, "v%d", transposed);
		transposed = node(m, "Relu", inputs, m->image[transposed], NULL);
		snprintf(inputs, sizeof inputs, "v%d", transposed);
		node(m, "Transpose", inputs, x, &backward);
		return;
	}
	const int64_t shapes[][4] = {{BATCH, x.h, x.c, x.w}, {BATCH, x.c, x.h * x.w, 1}, {BATCH, x.c, x.h, x.w}};
	const int64_t *shape = shapes[draw(m, 0, 2)];
	snprintf(name, sizeof name, "s%d", m->constants++);
	onnx_put_int64s(&m->g, name, 4, shape);
	snprintf(inputs, sizeof inputs, "v%d %s", from, name);
	node(m, "Reshape", inputs, (struct image){shape[1], shape[2], shape[3]}, NULL);
}

static inline void put_move(struct maker *m, int from)
{
	const struct image x = m->image[from];
	struct onnx_writer attrs = {0};
	char inputs[64], a[16], b[16];
	snprintf(a, sizeof a, "i%d", m->constants++);
	snprintf(b, sizeof b, "i%d", m->constants++);
	snprintf(inputs, sizeof inputs, "v%d %s %s", from, a, b);
	switch (draw(m, 0, 4)) {
	case 0:
		onnx_put_int64s(&m->g, a, 8, (int64_t[]){0, 1, 0, 2, 0, 0, 1, 0});
		snprintf(inputs, sizeof inputs, "v%d %s", from, a);
		node(m, "Pad", inputs, (struct image){x.c + 1, x.h + 1, x.w + 2}, NULL);
		break;
	case 1:
		onnx_put_int64s(&m->g, a, 4, (int64_t[]){0, x.c > 1, 0, 0});
		onnx_put_int64s(&m->g, b, 4, (int64_t[]){BATCH, x.c, x.h, x.w > 1 ? x.w - 1 : 1});
		node(m, "Slice", inputs, (struct image){x.c - (x.c > 1), x.h, x.w > 1 ? x.w - 1 : 1}, NULL);
		break;
	case 2: {
		if (x.h * x.w > 100)
			break;
		const float scales[] = {1, 1, 2, 2};
		onnx_put_floats(&m->g, a, 1, (int64_t[]){0}, scales);
		onnx_put_floats(&m->g, b, 1, (int64_t[]){4}, scales);
		const bool nearest = draw(m, 0, 1);
		struct onnx_writer mode = {0};
		onnx_put_string(&mode, 4, nearest ? "nearest" : "linear");
		onnx_put_attr(&attrs, "mode", 3, &mode);
		node(m, "Resize", inputs, (struct image){x.c, 2 * x.h, 2 * x.w}, &attrs);
		break;
	}
	case 3:
		if (x.c % 4)
			break;
		onnx_put_attr_int(&attrs, "blocksize", 2);
		snprintf(inputs, sizeof inputs, "v%d", from);
		node(m, "DepthToSpace", inputs, (struct image){x.c / 4, 2 * x.h, 2 * x.w}, &attrs);
		break;
	default:
		if (x.h % 2 || x.w % 2 || x.c > 12)
			break;
		onnx_put_attr_int(&attrs, "blocksize", 2);
		snprintf(inputs, sizeof inputs, "v%d", from);
		node(m, "SpaceToDepth", inputs, (struct image){4 * x.c, x.h / 2, x.w / 2}, &attrs);
	}
}

static inline void put_split(struct maker *m, int from)
{
	const struct image x = m->image[from];
	struct onnx_writer attrs = {0};
	char inputs[16], name[16], out[40];
	if (x.c % 2)
		return;
	snprintf(inputs, sizeof inputs, "v%d", from);
	snprintf(name, sizeof name, "n%d", m->nodes++);
	snprintf(out, sizeof out, "v%d v%d", m->n, m->n + 1);
	onnx_put_attr_int(&attrs, "axis", 1);
	onnx_put_node(&m->g, "Split", name, inputs, out, &attrs);
	m->image[m->n] = m->image[m->n + 1] = (struct image){x.c / 2, x.h, x.w};
	m->n += 2;
}

/* A factor of each channel from its mean, by two convolutions of vectors; or an operator along the channels. */
static inline void put_sums(struct maker *m, int from)
{
	const struct image x = m->image[from];
	struct onnx_writer attrs = {0};
	char inputs[64], name[16];
	snprintf(inputs, sizeof inputs, "v%d", from);
	if (draw(m, 0, 1)) {
		onnx_put_attr_int(&attrs, "axis", 1);
		node(m, "Softmax", inputs, x, &attrs);
		return;
	}
	if (draw(m, 0, 1)) {
		onnx_put_attr_ints(&attrs, "axes", 2, (int64_t[]){2, 3});
		node(m, "ReduceMean", inputs, (struct image){x.c, 1, 1}, &attrs);
	} else {
		node(m, "GlobalAveragePool", inputs, (struct image){x.c, 1, 1}, NULL);
	}
	snprintf(inputs, sizeof inputs, "v%d %s", m->n - 1, constant(m, 1, 4, (int64_t[]){x.c, x.c, 1, 1}, name));
	node(m, "Conv", inputs, m->image[m->n - 1], NULL);
	snprintf(inputs, sizeof inputs, "v%d", m->n - 1);
	node(m, "Sigmoid", inputs, m->image[m->n - 1], NULL);
	snprintf(inputs, sizeof inputs, "v%d v%d", from, m->n - 1);
	node(m, "Mul", inputs, x, NULL);
}

static inline void put_single(struct maker *m, int from)
{
	static const char *const ops[] = {"Relu", "LeakyRelu", "Identity", "Dropout", "Abs", "LRN", "Softplus"};
	struct onnx_writer attrs = {0};
	char inputs[16];
	const int64_t op = draw(m, 0, 6);
	snprintf(inputs, sizeof inputs, "v%d", from);
	if (op == 5)
		onnx_put_attr_int(&attrs, "size", 3);
	node(m, ops[op], inputs, m->image[from], op == 5 ? &attrs : NULL);
}

/* exact: of operators alone whose results in floats depend on no order of sums. */
static inline struct net random_net(uint64_t *rng, bool exact)
{
	struct maker m = {.rng = rng, .exact = exact, .n = 1};
	char name[16], subject[32];
	m.image[0] = (struct image){test_range(rng, 1, 4) * (test_range(rng, 0, 1) ? 1 : 4), test_range(rng, 4, 9),
				    test_range(rng, 4, 9)};
	onnx_put_input(&m.g, "v0", 1, 4, (int64_t[]){BATCH, m.image[0].c, m.image[0].h, m.image[0].w});
	const int maximum = (int)test_range(rng, 3, 20);
	while (m.nodes < maximum && m.n < IMAGES - 4) {
		const int from = draw(&m, 0, 2) ? m.n - 1 : (int)draw(&m, 0, m.n - 1);
		const int64_t kind = draw(&m, 0, 15);
		if (kind < 5)
			put_convolution(&m, from);
		else if (kind < 8)
			put_pair(&m, from);
		else if (kind < 9)
			put_pool(&m, from);
		else if (kind < 10)
			put_concat(&m, from);
		else if (kind < 11)
			put_normalisation(&m, from);
		else if (kind < 12)
			put_other_shape(&m, from);
		else if (kind < 13)
			put_move(&m, from);
		else if (kind < 14)
			put_split(&m, from);
		else if (kind < 15 || exact)
			put_single(&m, from);
		else
			put_sums(&m, from);
	}
	snprintf(subject, sizeof subject, "v%d %s", m.n - 1,
		 constant(&m, 1, 0, NULL, name)); /* an image of another type */
	onnx_put_node(&m.g, "Greater", "greater", subject, "g", NULL);
	onnx_put_output(&m.g, "g");
	for (int i = 1; i < m.n; i++)
		if (i == m.n - 1 || (!test_range(rng, 0, 5) && m.n - i < 30 && i < 7)) {
			snprintf(name, sizeof name, "v%d", i);
			onnx_put_output(&m.g, name);
		}
	return make_net(&m.g, rng);
}

#endif
