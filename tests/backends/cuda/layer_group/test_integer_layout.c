/* SPDX-License-Identifier: MIT
 *
 * Integer images with channels last on the cuda device: random networks of layers that run in 8 bits have the bits of
 * the reference, layer by layer, in either order of images; so have networks whose layers are partly in float32, in
 * both orders; and of all that ResNet-50 and MobileNetV2 make, their input alone changes its order. */
#include <stdlib.h>

#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/cuda/native.h"
#include "tests/kit/random_images.h"

TestSuite(cuda_integer_layout, .init = cuda_fake_open);

static struct npl_device *open_cuda(const char *layout)
{
	return open_device_set("cuda", 3, (const char *[]){"precision=int8", layout, "patch_mib=1"});
}

/* A convolution of one or all groups, or of pairs of channels: strides, dilations and pads that differ. */
static void put_integer_convolution(struct maker *m, int from)
{
	const struct image x = m->image[from];
	const int64_t groups = draw(m, 0, 2)              ? 1
			       : x.c % 2 || draw(m, 0, 1) ? x.c
							  : x.c / 2,
		      filters = groups > 1      ? groups * draw(m, 1, 2)
				: draw(m, 0, 1) ? draw(m, 1, 20)
						: 16,
		      per_group = x.c / groups;
	int64_t kernel[2], stride[2], dilation[2], pads[4], out[2];
	char inputs[64], w[16], b[16];
	struct onnx_writer attrs = {0};
	for (int d = 0; d < 2; d++) {
		const int64_t size = d ? x.w : x.h;
		kernel[d] = draw(m, 0, 1) ? 1 : draw(m, 2, 3);
		stride[d] = draw(m, 0, 3) ? 1 : 2;
		dilation[d] = draw(m, 0, 3) ? 1 : 2;
		pads[d] = kernel[d] > 1 ? draw(m, 0, 2) : 0;
		pads[2 + d] = kernel[d] > 1 ? draw(m, 0, 2) : 0;
		const int64_t room = size + pads[d] + pads[2 + d] - (kernel[d] - 1) * dilation[d] - 1;
		if (room < 0)
			return;
		out[d] = room / stride[d] + 1;
	}
	constant(m, 1.5f / sqrtf((float)(per_group * kernel[0] * kernel[1])), 4,
		 (int64_t[]){filters, per_group, kernel[0], kernel[1]}, w);
	snprintf(inputs, sizeof inputs, "v%d %s %s", from, w, constant(m, 0.2f, 1, &filters, b));
	onnx_put_attr_ints(&attrs, "pads", 4, pads);
	onnx_put_attr_ints(&attrs, "strides", 2, stride);
	onnx_put_attr_ints(&attrs, "dilations", 2, dilation);
	onnx_put_attr_int(&attrs, "group", groups);
	const int made = node(m, "Conv", inputs, (struct image){filters, out[0], out[1]}, &attrs);
	snprintf(inputs, sizeof inputs, "v%d", made);
	if (draw(m, 0, 1))
		node(m, draw(m, 0, 2) ? "Relu" : "Sigmoid", inputs, m->image[made], NULL);
}

/* Add or Mul of two images, or with a factor for each channel from the means of another image. */
static void put_integer_pair(struct maker *m, int from)
{
	const struct image x = m->image[from];
	const char *op = draw(m, 0, 1) ? "Add" : "Mul";
	char inputs[32];
	for (int i = m->n - 1; i >= 0; i--)
		if (i != from && same_image(m->image[i], x)) {
			snprintf(inputs, sizeof inputs, "v%d v%d", from, i);
			node(m, op, inputs, x, NULL);
			return;
		}
	snprintf(inputs, sizeof inputs, "v%d", from);
	const int means = node(m, "GlobalAveragePool", inputs, (struct image){x.c, 1, 1}, NULL);
	snprintf(inputs, sizeof inputs, "v%d v%d", from, means);
	node(m, op, inputs, x, NULL);
}

static void put_integer_single(struct maker *m, int from)
{
	static const char *const ops[] = {"Relu", "Tanh", "Sigmoid", "Identity"};
	char inputs[16];
	snprintf(inputs, sizeof inputs, "v%d", from);
	node(m, ops[draw(m, 0, 3)], inputs, m->image[from], NULL);
}

static struct net integer_net(uint64_t *rng)
{
	struct maker m = {.rng = rng, .n = 1};
	char name[16];
	m.image[0] = (struct image){draw(&m, 0, 1)   ? 3
				    : draw(&m, 0, 1) ? 16
						     : draw(&m, 1, 9),
				    draw(&m, 4, 9), draw(&m, 4, 9)};
	onnx_put_input(&m.g, "v0", 1, 4, (int64_t[]){BATCH, m.image[0].c, m.image[0].h, m.image[0].w});
	const int most = (int)draw(&m, 2, 16);
	while (m.nodes < most && m.n < IMAGES - 4) {
		const int from = draw(&m, 0, 2) ? m.n - 1 : (int)draw(&m, 0, m.n - 1);
		const int64_t kind = draw(&m, 0, 15);
		if (kind < 6)
			put_integer_convolution(&m, from);
		else if (kind < 9)
			put_integer_pair(&m, from);
		else if (kind < 11)
			put_pool(&m, from);
		else if (kind < 13)
			put_concat(&m, from);
		else if (kind < 14)
			put_other_shape(&m, from);
		else
			put_integer_single(&m, from);
	}
	if (m.n == 1)
		put_integer_single(&m, 0);
	for (int i = 1; i < m.n; i++)
		if (i == m.n - 1 || (!draw(&m, 0, 5) && i < MOST - 1)) {
			snprintf(name, sizeof name, "v%d", i);
			onnx_put_output(&m.g, name);
		}
	return make_net(&m.g, rng);
}

static void check_same_run(const struct net *net, const struct outcome *a, const struct outcome *b, const char *subject)
{
	check_same_outputs(net, a->out, b->out, subject);
	for (int i = 0; i < net->graph->n_nodes; i++)
		cr_assert_str_eq(a->run.layer[i].output_sha256, b->run.layer[i].output_sha256, "%s: %s, %s", subject,
				 net->graph->node[i].name, npl_op_defs[net->graph->node[i].op].name);
	cr_assert_eq(a->run.saturations, b->run.saturations, "%s", subject);
}

/* Runs the network with images in both orders; in `moves` is how often each changed an order. */
static void compare_orders(struct net *net, struct outcome run[2], struct npl_device *device[2], long moves[2],
			   const char *subject)
{
	static const char *const layouts[] = {"layout=planar", "layout=auto"};
	cu_fake_reset();
	for (int last = 0; last < 2; last++) {
		cuda_native_counts.moves = 0;
		device[last] = open_cuda(layouts[last]);
		run[last] = run_net(net, &device[last], 1, NULL, false);
		moves[last] = cuda_native_counts.moves;
		check_totals(&run[last].run, subject);
	}
	check_same_run(net, &run[1], &run[0], subject);
}

static void close_orders(struct net *net, struct outcome run[2], struct npl_device *device[2], const char *subject)
{
	for (int last = 0; last < 2; last++) {
		free_outcome(net, &run[last]);
		npl_device_close(device[last]);
	}
	cuda_fake_check(subject);
}

Test(cuda_integer_layout, random_integer_networks_have_the_bits_of_the_reference_in_either_order)
{
	struct npl_device *reference = open_device_set("reference", 1, (const char *[]){"precision=int8"});
	long more = 0;
	for (uint64_t seed = 0x1a780000; seed < 0x1a780000 + (uint64_t)TEST_TIMES(300); seed++) {
		uint64_t rng = seed;
		struct net net = integer_net(&rng);
		struct outcome run[2], expected = run_net(&net, &reference, 1, NULL, false);
		struct npl_device *device[2];
		long moves[2];
		char subject[40];
		snprintf(subject, sizeof subject, "seed %llu", (unsigned long long)seed);
		compare_orders(&net, run, device, moves, subject);
		check_same_run(&net, &run[1], &expected, subject);
		more += moves[1] > moves[0];
		close_orders(&net, run, device, subject);
		free_outcome(&net, &expected);
		free_net(&net);
	}
	cr_assert_gt(more, 10, "too few networks with channels last: %ld", more);
	npl_device_close(reference);
}

/* Any operators: many run in float32, with a conversion before and after. */
Test(cuda_integer_layout, random_networks_have_the_same_bits_in_either_order)
{
	for (uint64_t seed = 0x1a790000; seed < 0x1a790000 + (uint64_t)TEST_TIMES(150); seed++) {
		uint64_t rng = seed;
		struct net net = random_net(&rng, true);
		struct outcome run[2];
		struct npl_device *device[2];
		long moves[2];
		char subject[40];
		snprintf(subject, sizeof subject, "seed %llu", (unsigned long long)seed);
		compare_orders(&net, run, device, moves, subject);
		close_orders(&net, run, device, subject);
		free_net(&net);
	}
}

/* Neither copies nor transposes anything but its input, as it comes, once it has run. */
static void converts_only_its_input(const char *model)
{
	struct npl_graph *graph;
	struct npl_session *session;
	struct npl_err err;
	struct npl_tensor out = {0};
	cr_assert_eq(npl_graph_load(model, NULL, &graph, &err), 0, "%s", err.msg);
	struct npl_tensor image = {.dtype = NPL_F32, .shape = graph->value[graph->input[0]].shape};
	cr_assert_eq(npl_tensor_alloc(&image, &err), 0, "%s", err.msg);
	memset(image.data, 0, npl_tensor_bytes(&image));
	struct npl_range *ranges = calloc((size_t)graph->n_values, sizeof *ranges);
	for (int v = 0; v < graph->n_values; v++)
		ranges[v] = (struct npl_range){.low = -1, .high = 1};
	cu_fake_reset();
	cu_fake.no_values = true;
	struct npl_device *cuda = open_device_set("cuda", 1, (const char *[]){"precision=int8"});
	const struct npl_session_options options = {.n_devices = 1, .device = &cuda, .ranges = ranges};
	cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
	npl_session_hash(session, false);
	struct npl_run run;
	cuda_native_counts.moves = 0;
	cr_assert_eq(npl_session_run(session, &image, &out, &run, &err), 0, "%s", err.msg);
	cr_assert_eq(cuda_native_counts.moves, 1, "%s: %ld turns", model, cuda_native_counts.moves);
	cr_assert_eq(cu_fake.convolutions, 0);
	npl_run_free(&run);
	npl_tensor_free(&out);
	npl_session_close(session);
	npl_device_close(cuda);
	cuda_fake_check(model);
	npl_tensor_free(&image);
	npl_graph_free(graph);
	free(ranges);
}

Test(cuda_integer_layout, resnet50_converts_only_its_input)
{
	converts_only_its_input("models/resnet50.onnx");
}

Test(cuda_integer_layout, mobilenet_converts_only_its_input)
{
	converts_only_its_input("models/mobilenet_v2.onnx");
}
