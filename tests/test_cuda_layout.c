/* SPDX-License-Identifier: MIT
 *
 * Images with channels last on the cuda device: random networks have the bits that they have with all images as ONNX has them, layer by
 * layer for who watches, and are near the reference; ResNet-50 turns its input alone; where cuDNN has no such convolution it is done as
 * ONNX has it; every call may fail. Algorithms are those that were fastest when they were measured, once for all that are alike. */
#include <stdlib.h>

#include "cuda/layout.h"
#include "cuda_fake.h"
#include "session_net.h"

static void open_fake(void)
{
	cu_fake_reset();
	cu_loader = &cu_fake_loader;
}

static void check_clean(const char *what)
{
	cr_assert_null(cu_fake_leaks(), "%s: %s are left", what, cu_fake_leaks());
	cr_assert_eq(cu_fake.violations, 0, "%s: %s", what, cu_fake.violation);
	cr_assert_eq(cu_fake.opened, cu_fake.closed, "%s", what);
}

TestSuite(cuda_layout, .init = open_fake);

static struct npl_device *open_cuda(const char *precision, const char *layout)
{
	return open_device_set("cuda", 2, (const char *[]){precision, layout});
}

/* A random network in the making: images (2, channels, height, width), known by their number, "v7". */
enum { IMAGES = 40, BATCH = 2 };
struct image {
	int64_t c, h, w;
};
struct maker {
	struct onnx_writer g;
	uint64_t *rng;
	struct image image[IMAGES];
	int n, nodes, constants;
};

static int64_t draw(struct maker *m, int64_t low, int64_t high)
{
	return test_range(m->rng, low, high);
}

/* A constant of values within +-scale. */
static const char *constant(struct maker *m, float scale, int rank, const int64_t *dims, char name[16])
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
static int node(struct maker *m, const char *op, const char *inputs, struct image made, struct onnx_writer *attrs)
{
	char name[16], out[16];
	snprintf(name, sizeof name, "n%d", m->nodes++);
	snprintf(out, sizeof out, "v%d", m->n);
	onnx_put_node(&m->g, op, name, inputs, out, attrs);
	m->image[m->n] = made;
	return m->n++;
}

/* Another image as the filters: weights that are computed. */
static bool put_computed_filters(struct maker *m, int from)
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

static void put_convolution(struct maker *m, int from)
{
	const struct image x = m->image[from];
	if (!draw(m, 0, 5) && put_computed_filters(m, from))
		return;
	const int64_t k = draw(m, 0, 1) ? 1 : 3, stride = draw(m, 0, 4) ? 1 : 2, pad = k == 3 ? draw(m, 0, 1) : 0,
		      groups = draw(m, 0, 4) ? 1 : x.c,
		      filters = groups > 1 ? groups * draw(m, 1, 2)
					   : (draw(m, 0, 1) ? draw(m, 1, 12) : 8 * draw(m, 1, 2)),
		      uneven = draw(m, 0, 7) ? 0 : 1; /* which cuDNN cannot pad */
	if (x.h + 2 * pad < k || x.w + 2 * pad < k)
		return;
	char inputs[64], w[16], b[16];
	struct onnx_writer attrs = {0};
	const float scale = 1.5f / sqrtf((float)(x.c / groups * k * k));
	constant(m, scale, 4, (int64_t[]){filters, x.c / groups, k, k}, w);
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

static bool same(struct image a, struct image b)
{
	return a.c == b.c && a.h == b.h && a.w == b.w;
}

static void put_pair(struct maker *m, int from)
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
		if (i != from && same(m->image[i], x))
			other = i;
	if (other >= 0 && draw(m, 0, 2))
		snprintf(inputs, sizeof inputs, "v%d v%d", from, other);
	else if (draw(m, 0, 3))
		snprintf(inputs, sizeof inputs, "v%d %s", from, constant(m, 1, 4 - skip, shape + skip, k));
	else
		snprintf(inputs, sizeof inputs, "%s v%d", constant(m, 1, 4 - skip, shape + skip, k), from);
	node(m, ops[draw(m, 0, 3)], inputs, x, NULL);
}

static void put_pool(struct maker *m, int from)
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

static void put_concat(struct maker *m, int from)
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

static void put_normalisation(struct maker *m, int from)
{
	const struct image x = m->image[from];
	char name[5][16], inputs[128];
	snprintf(name[0], 16, "v%d", from);
	for (int i = 1; i < 5; i++)
		constant(m, 0.5f, 1, &x.c, name[i]);
	float *ones = calloc((size_t)x.c, sizeof *ones);
	for (int64_t i = 0; i < x.c; i++)
		ones[i] = 1 + (float)i / 8;
	snprintf(name[4], 16, "o%d", m->constants++);
	onnx_put_floats(&m->g, name[4], 1, &x.c, ones);
	free(ones);
	snprintf(inputs, sizeof inputs, "%s %s %s %s %s", name[0], name[1], name[2], name[3], name[4]);
	node(m, "BatchNormalization", inputs, x, NULL);
}

/* Transposed to channels last in the shapes, something done there, and back; or another shape for the same elements. */
static void put_other_shape(struct maker *m, int from)
{
	const struct image x = m->image[from];
	struct onnx_writer there = {0}, back = {0};
	char inputs[32], name[16];
	snprintf(inputs, sizeof inputs, "v%d", from);
	if (draw(m, 0, 1)) {
		onnx_put_attr_ints(&there, "perm", 4, (int64_t[]){0, 2, 3, 1});
		onnx_put_attr_ints(&back, "perm", 4, (int64_t[]){0, 3, 1, 2});
		int turned = node(m, "Transpose", inputs, (struct image){x.h, x.w, x.c}, &there);
		snprintf(inputs, sizeof inputs, "v%d", turned);
		turned = node(m, "Relu", inputs, m->image[turned], NULL);
		snprintf(inputs, sizeof inputs, "v%d", turned);
		node(m, "Transpose", inputs, x, &back);
		return;
	}
	const int64_t shapes[][4] = {{BATCH, x.h, x.c, x.w}, {BATCH, x.c, x.h * x.w, 1}, {BATCH, x.c, x.h, x.w}};
	const int64_t *shape = shapes[draw(m, 0, 2)];
	snprintf(name, sizeof name, "s%d", m->constants++);
	onnx_put_int64s(&m->g, name, 4, shape);
	snprintf(inputs, sizeof inputs, "v%d %s", from, name);
	node(m, "Reshape", inputs, (struct image){shape[1], shape[2], shape[3]}, NULL);
}

static void put_move(struct maker *m, int from)
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

static void put_split(struct maker *m, int from)
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
static void put_sums(struct maker *m, int from)
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

static void put_single(struct maker *m, int from)
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
static struct net random_net(uint64_t *rng, bool exact)
{
	struct maker m = {.rng = rng, .n = 1};
	char name[16], what[32];
	m.image[0] = (struct image){test_range(rng, 1, 4) * (test_range(rng, 0, 1) ? 1 : 4), test_range(rng, 4, 9),
				    test_range(rng, 4, 9)};
	onnx_put_input(&m.g, "v0", 1, 4, (int64_t[]){BATCH, m.image[0].c, m.image[0].h, m.image[0].w});
	const int most = (int)test_range(rng, 3, 20);
	while (m.nodes < most && m.n < IMAGES - 4) {
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
	snprintf(what, sizeof what, "v%d %s", m.n - 1, constant(&m, 1, 0, NULL, name)); /* an image of another type */
	onnx_put_node(&m.g, "Greater", "greater", what, "g", NULL);
	onnx_put_output(&m.g, "g");
	for (int i = 1; i < m.n; i++)
		if (i == m.n - 1 || (!test_range(rng, 0, 5) && m.n - i < 30 && i < 7)) {
			snprintf(name, sizeof name, "v%d", i);
			onnx_put_output(&m.g, name);
		}
	return make_net(&m.g, rng);
}

static void run_session(struct npl_session *session, const struct npl_tensor *in, struct npl_tensor *out)
{
	struct npl_run run;
	struct npl_err err;
	cr_assert_eq(npl_session_run(session, in, out, &run, &err), 0, "%s", err.msg);
	npl_run_free(&run);
}

/* Networks of exact operators: bit for bit, also what a watcher sees of every layer. */
static void compare_layouts(const char *precision, double most, uint64_t seed, int rounds, bool exact)
{
	long last = 0, turned = 0;
	for (int round = 0; round < rounds; round++) {
		uint64_t rng = seed + (uint64_t)round;
		char what[80];
		struct net net = random_net(&rng, exact);
		snprintf(what, sizeof what, "%s, seed %llu", precision, (unsigned long long)(seed + (uint64_t)round));
		cu_fake_reset();
		struct npl_device *plain = open_cuda(precision, "layout=planar");
		struct outcome b = run_net(&net, &plain, 1, NULL, false);
		cr_assert_eq(cu_fake.last_convolutions, 0, "%s", what);
		const long moves = cu_fake.moves;
		struct npl_device *cuda = open_cuda(precision, "layout=auto");
		cu_fake.no_pinned = round % 7 == 6;
		cu_fake.no_groups_last = round % 3 == 2;
		cu_fake.no_channels_last = round % 11 == 10;
		struct outcome a = run_net(&net, &cuda, 1, NULL, false);
		last += cu_fake.last_convolutions;
		turned += cu_fake.moves - 2 * moves > 0;
		if (cu_fake.no_channels_last)
			cr_assert(!cu_fake.last_convolutions && cu_fake.moves == 2 * moves, "%s", what);
		if (exact) {
			check_same_outputs(&net, a.out, b.out, what);
			for (int i = 0; i < net.graph->n_nodes; i++)
				cr_assert_str_eq(a.run.layer[i].output_sha256, b.run.layer[i].output_sha256,
						 "%s: %s, %s", what, net.graph->node[i].name,
						 npl_op_defs[net.graph->node[i].op].name);
		}
		for (int again = 0; again < 2 && exact; again++) { /* other values: all is made anew */
			struct npl_session *session[] = {a.session, b.session};
			struct npl_tensor out[2][MOST] = {{{0}}};
			struct npl_tensor other = net.in[0];
			other.data = random_floats(&rng, npl_tensor_count(&other));
			for (int i = 0; i < 2; i++)
				run_session(session[i], &other, out[i]);
			check_same_outputs(&net, out[0], out[1], what);
			for (int i = 0; i < 2 * net.graph->n_outputs; i++)
				npl_tensor_free(&out[i % 2][i / 2]);
			free(other.data);
		}
		cr_assert_lt(error_of(&net, a.out), fmax(most, 2 * error_of(&net, b.out)), "%s: %g, planar %g", what,
			     error_of(&net, a.out), error_of(&net, b.out));
		check_totals(&a.run, what);
		free_outcome(&net, &a);
		free_outcome(&net, &b);
		npl_device_close(cuda);
		npl_device_close(plain);
		check_clean(what);
		free_net(&net);
	}
	cr_assert_gt(last, rounds, "too few convolutions with channels last: %ld", last);
	cr_assert_gt(turned, 2, "too few networks with turns: %ld", turned);
}

Test(cuda_layout, random_networks_have_the_bits_that_they_have_without)
{
	compare_layouts("precision=f16", 2e-2, 0x1a700000, 500, true);
	compare_layouts("precision=bf16", 0.15, 0x1a710000, 150, true);
}

Test(cuda_layout, random_networks_with_sums_are_near_the_reference)
{
	compare_layouts("precision=f16", 2e-2, 0x1a720000, 200, false);
	compare_layouts("precision=bf16", 0.15, 0x1a730000, 60, false);
}

static struct npl_session *open_session(struct npl_graph *graph, struct npl_device *const *device)
{
	struct npl_session *session;
	struct npl_err err;
	const struct npl_session_options options = {.n_devices = 1, .device = device};
	cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
	npl_session_hash(session, false);
	return session;
}

/* Of all that ResNet-50 makes nothing is turned but its input, as it comes; its 53 convolutions have channels last, and are measured
 * once for each of their kinds. */
Test(cuda_layout, resnet50_turns_its_input_alone)
{
	static const char *const layouts[] = {"layout=planar", "layout=auto"};
	enum { CONVOLUTIONS = 53, KINDS = 23 };
	struct npl_graph *graph;
	struct npl_err err;
	long launches = 0;
	cr_assert_eq(npl_graph_load("models/resnet50.onnx", NULL, &graph, &err), 0, "%s", err.msg);
	struct npl_tensor image = {.dtype = NPL_F32, .shape = graph->value[graph->input[0]].shape};
	cr_assert_eq(npl_tensor_alloc(&image, &err), 0, "%s", err.msg);
	memset(image.data, 0, npl_tensor_bytes(&image));
	for (int last = 0; last < 2; last++) {
		cu_fake_reset();
		cu_fake.no_values = true;
		struct npl_device *cuda = open_cuda("precision=f16", layouts[last]);
		struct npl_session *session = open_session(graph, &cuda);
		struct npl_tensor out = {0};
		run_session(session, &image, &out);
		npl_tensor_free(&out);
		cr_assert_eq(cu_fake.searches, KINDS, "%ld kinds of convolutions", cu_fake.searches);
		cu_fake.moves = cu_fake.convolutions = cu_fake.last_convolutions = cu_fake.fused_convolutions = 0;
		cu_fake.launches = 0;
		run_session(session, &image, &out);
		npl_tensor_free(&out);
		cr_assert(!last || cu_fake.launches == launches, "the turn is the conversion to 16 bits, too");
		launches = cu_fake.launches;
		cr_assert_eq(cu_fake.moves, last, "%ld turns", cu_fake.moves);
		cr_assert_eq(cu_fake.convolutions, CONVOLUTIONS);
		cr_assert_eq(cu_fake.last_convolutions, last * CONVOLUTIONS);
		cr_assert_eq(cu_fake.fused_convolutions, CONVOLUTIONS, "a bias goes with each, and Relu with most");
		npl_session_close(session);
		npl_device_close(cuda);
		check_clean(layouts[last]);
	}
	npl_tensor_free(&image);
	npl_graph_free(graph);
}

/* One convolution of 1.1 million multiply-accumulates (or, small, of a hundredth), as often as asked for, one behind the other. */
static struct net row_of_convolutions(uint64_t *rng, int n, int64_t channels, bool relu)
{
	struct onnx_writer g = {0};
	char inputs[48], name[16], out[16];
	onnx_put_input(&g, "v0", 1, 4, (int64_t[]){1, channels, 22, 22});
	for (int i = 0; i < n; i++) {
		struct onnx_writer attrs = {0};
		snprintf(name, sizeof name, "w%d", i);
		put_weights(&g, rng, name, 4, (int64_t[]){channels, channels, 3, 3});
		snprintf(name, sizeof name, "b%d", i);
		put_weights(&g, rng, name, 1, &channels);
		snprintf(inputs, sizeof inputs, "v%d w%d b%d", 2 * i, i, i);
		snprintf(name, sizeof name, "n%d", i);
		snprintf(out, sizeof out, "v%d", 2 * i + 1);
		onnx_put_attr_ints(&attrs, "pads", 4, (int64_t[]){1, 1, 1, 1});
		onnx_put_node(&g, "Conv", name, inputs, out, &attrs);
		snprintf(name, sizeof name, "r%d", i);
		snprintf(inputs, sizeof inputs, "v%d", 2 * i + 1);
		snprintf(out, sizeof out, "v%d", 2 * i + 2);
		onnx_put_node(&g, relu ? "Relu" : "Neg", name, inputs, out, NULL);
	}
	onnx_put_output(&g, out);
	return make_net(&g, rng);
}

Test(cuda_layout, algorithms_are_those_that_are_fastest)
{
	static const struct {
		const char *precision;
		int n, fastest;
		int64_t channels;
		bool relu, last;
		double slower;
		long searches, precomputed, fused;
	} cases[] = {
		{"precision=f16", 3, 0, 16, true, true, 2, 1, 0, 3}, /* the heuristic would have named the other */
		{"precision=f16", 2, 1, 16, true, true, 2, 1, 2, 2}, /* it was right */
		{"precision=f16", 2, 0, 16, false, true, 2, 1, 0, 0}, /* the bias is a pass of its own, and yet faster, */
		{"precision=f16", 2, 0, 16, false, true, 1.2, 1, 2, 2}, /* not faster */
		{"precision=f16", 2, 0, 2, true, true, 2, 0, 2, 2},     /* too small to tell */
		{"precision=bf16", 1, 0, 16, true, true, 2, 1, 0, 1},
		{"precision=tf32", 2, 0, 16, true, false, 2, 1, 0, 2},
		{"precision=f32", 2, 0, 16, true, false, 2, 1, 0, 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t rng = 0x1a740000 + i;
		char what[60];
		struct net net = row_of_convolutions(&rng, cases[i].n, cases[i].channels, cases[i].relu);
		cu_fake_reset();
		cu_fake.fastest_algorithm = cases[i].fastest;
		cu_fake.slower = cases[i].slower;
		struct npl_device *cuda = open_cuda(cases[i].precision, "layout=auto");
		struct outcome o = run_net(&net, &cuda, 1, NULL, false);
		snprintf(what, sizeof what, "case %zu", i);
		cr_assert_eq(cu_fake.searches, cases[i].searches, "%s: %ld searches", what, cu_fake.searches);
		cr_assert_eq(cu_fake.convolutions_by[1], cases[i].precomputed, "%s: %ld", what,
			     cu_fake.convolutions_by[1]);
		cr_assert_eq(cu_fake.convolutions_by[0], cases[i].n - cases[i].precomputed, "%s: %ld", what,
			     cu_fake.convolutions_by[0]);
		cr_assert_eq(cu_fake.fused_convolutions, cases[i].fused, "%s: %ld", what, cu_fake.fused_convolutions);
		cr_assert_eq(cu_fake.last_convolutions, cases[i].last ? cases[i].n : 0, "%s", what);
		cr_assert_lt(error_of(&net, o.out), 0.05, "%s: %g", what, error_of(&net, o.out));
		free_outcome(&net, &o);
		npl_device_close(cuda);
		check_clean(what);
		free_net(&net);
	}
}

/* 16 bits, tensor cores, one or two dimensions, cuDNN, and nobody who said otherwise. */
Test(cuda_layout, is_wanted_where_cudnn_turns_images_otherwise)
{
	struct cu_config config = {.planar = 0};
	struct cu_device device = {.config = &config, .gpu = {.major = 7}, .dnn = {.handle = &device}};
	struct npl_tensor y = {.shape = npl_shape_of(4, 1, 8, 5, 5)};
	const struct npl_layer asked = {.op = NPL_OP_CONV, .out = &y};
	struct cu_layer layer = {.device = &device, .layer = &asked};
	for (int precision = CU_F32; precision <= CU_INT8; precision++)
		for (int major = 6; major <= 9; major++) {
			layer.precision = (enum cu_precision)precision;
			device.gpu.major = major;
			cr_assert_eq(cu_layout_wanted(&layer),
				     major >= 7 && (precision == CU_F16 || precision == CU_BF16), "%d, %d", precision,
				     major);
		}
	layer.precision = CU_F16;
	y.shape = npl_shape_of(3, 1, 8, 5);
	cr_assert(cu_layout_wanted(&layer));
	y.shape = npl_shape_of(5, 1, 8, 5, 5, 5);
	cr_assert_not(cu_layout_wanted(&layer));
	y.shape = npl_shape_of(4, 1, 8, 5, 5);
	config.planar = 1;
	cr_assert_not(cu_layout_wanted(&layer));
	config.planar = 0;
	device.dnn.handle = NULL;
	cr_assert_not(cu_layout_wanted(&layer));
}

/* Two tensors as ONNX has them, in another shape or by an operator that reads them so, and a convolution of one. */
static struct net plain_readers(uint64_t *rng, bool named)
{
	struct onnx_writer g = {0}, axis[2] = {{0}};
	onnx_put_input(&g, "x", 1, 4, (int64_t[]){2, 4, 5, 6});
	put_weights(&g, rng, "w", 4, (int64_t[]){4, 4, 3, 3});
	onnx_put_int64s(&g, "s", 3, named ? (int64_t[]){2, 4, 30} : (int64_t[]){5, 0, 2});
	onnx_put_node(&g, "Relu", "relu", "x", "a", NULL);
	for (int i = 0; i < 2; i++) {
		onnx_put_attr_int(&axis[i], "axis", 3);
		if (named)
			onnx_put_node(&g, "Reshape", i ? "view2" : "view1", i ? "x s" : "a s", i ? "c" : "b", NULL);
		else
			onnx_put_node(&g, "Gather", i ? "pick2" : "pick1", i ? "x s" : "a s", i ? "c" : "b", &axis[i]);
		onnx_writer_free(&axis[i]);
		onnx_put_node(&g, "Neg", i ? "neg2" : "neg1", i ? "c" : "b", i ? "y2" : "y1", NULL);
	}
	onnx_put_node(&g, "Conv", "conv", "a w", "d", NULL);
	onnx_put_node(&g, "GlobalMaxPool", "pool", "d", "y3", NULL);
	onnx_put_output(&g, "y1");
	onnx_put_output(&g, "y2");
	onnx_put_output(&g, "y3");
	return make_net(&g, rng);
}

/* Where a tensor is needed both ways, and what it is made of as ONNX has it, that is turned which only the convolution wants. */
Test(cuda_layout, what_most_need_plain_stays_plain)
{
	uint64_t rng = 0x1a760000;
	for (int named = 0; named < 2; named++) {
		struct net net = plain_readers(&rng, named);
		struct npl_device *cuda = open_cuda("precision=f16", "layout=auto");
		struct npl_session *session = open_session(net.graph, &cuda);
		struct npl_tensor out[MOST] = {{0}};
		for (int i = 0; i < 2; i++) {
			cu_fake.moves = 0;
			run_session(session, net.in, out);
			cr_assert_lt(error_of(&net, out), 4e-3);
			cr_assert_eq(cu_fake.moves, 1, "%ld turns", cu_fake.moves);
			for (int k = 0; k < net.graph->n_outputs; k++)
				npl_tensor_free(&out[k]);
		}
		npl_session_close(session);
		npl_device_close(cuda);
		check_clean("a network");
		free_net(&net);
	}
}
