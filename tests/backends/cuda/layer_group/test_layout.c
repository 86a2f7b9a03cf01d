/* SPDX-License-Identifier: MIT
 *
 * Images with channels last on the cuda device: random networks have the bits that they have with all images as ONNX
 * has them, layer by layer for an observer, and are near the reference; ResNet-50 turns its input alone; where cuDNN
 * has no such convolution it is done as ONNX has it; every call may fail. Algorithms are those that were fastest when
 * they were measured, once for all that are alike. */
#include <stdlib.h>

#include "backends/cuda/layer_group/layout.h"
#include "backends/cuda/products/channels_last.h"
#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/cuda/native.h"
#include "tests/kit/random_images.h"

TestSuite(cuda_layout, .init = cuda_fake_open);

static struct npl_device *open_cuda(const char *precision, const char *layout)
{
	return open_device_set("cuda", 2, (const char *[]){precision, layout});
}

static void run_session(struct npl_session *session, const struct npl_tensor *in, struct npl_tensor *out)
{
	struct npl_run run;
	struct npl_err err;
	cr_assert_eq(npl_session_run(session, in, out, &run, &err), 0, "%s", err.msg);
	npl_run_free(&run);
}

/* Networks of exact operators: bit for bit, also what an observer sees of every layer. */
static void compare_layouts(const char *precision, double limit, uint64_t seed, int rounds, bool exact)
{
	long last = 0, turned = 0;
	for (int round = 0; round < rounds; round++) {
		uint64_t rng = seed + (uint64_t)round;
		char subject[80];
		struct net net = random_net(&rng, exact);
		snprintf(subject, sizeof subject, "%s, seed %llu", precision,
			 (unsigned long long)(seed + (uint64_t)round));
		cu_fake_reset();
		cuda_native_counts.moves = 0;
		struct npl_device *plain = open_cuda(precision, "layout=planar");
		struct outcome b = run_net(&net, &plain, 1, NULL, false);
		cr_assert_eq(cu_fake.last_convolutions, 0, "%s", subject);
		const long moves = cuda_native_counts.moves;
		struct npl_device *cuda = open_cuda(precision, "layout=auto");
		cu_fake.no_pinned = round % 7 == 6;
		cu_fake.no_groups_last = round % 3 == 2;
		cu_fake.no_channels_last = round % 11 == 10;
		struct outcome a = run_net(&net, &cuda, 1, NULL, false);
		last += cu_fake.last_convolutions;
		turned += cuda_native_counts.moves - 2 * moves > 0;
		if (cu_fake.no_channels_last)
			cr_assert(!cu_fake.last_convolutions && (!exact || cuda_native_counts.moves == 2 * moves), "%s",
				  subject);
		if (exact) {
			check_same_outputs(&net, a.out, b.out, subject);
			for (int i = 0; i < net.graph->n_nodes; i++)
				cr_assert_str_eq(a.run.layer[i].output_sha256, b.run.layer[i].output_sha256,
						 "%s: %s, %s", subject, net.graph->node[i].name,
						 npl_op_defs[net.graph->node[i].op].name);
		}
		for (int again = 0; again < 2 && exact; again++) { /* other values: all is made anew */
			struct npl_session *session[] = {a.session, b.session};
			struct npl_tensor out[2][MOST] = {{{0}}};
			struct npl_tensor other = net.in[0];
			other.data = random_floats(&rng, npl_tensor_count(&other));
			for (int i = 0; i < 2; i++)
				run_session(session[i], &other, out[i]);
			check_same_outputs(&net, out[0], out[1], subject);
			for (int i = 0; i < 2 * net.graph->n_outputs; i++)
				npl_tensor_free(&out[i % 2][i / 2]);
			free(other.data);
		}
		cr_assert_lt(error_of(&net, a.out), fmax(limit, 2 * error_of(&net, b.out)), "%s: %g, planar %g",
			     subject, error_of(&net, a.out), error_of(&net, b.out));
		check_totals(&a.run, subject);
		free_outcome(&net, &a);
		free_outcome(&net, &b);
		npl_device_close(cuda);
		npl_device_close(plain);
		cuda_fake_check(subject);
		free_net(&net);
	}
	cr_assert_gt(last, rounds, "too few convolutions with channels last: %ld", last);
	cr_assert_gt(turned, 2, "too few networks with turns: %ld", turned);
}

Test(cuda_layout, random_networks_have_the_same_bits_in_either_layout)
{
	compare_layouts("precision=f16", 2e-2, 0x1a700000, TEST_TIMES(500), true);
	compare_layouts("precision=bf16", 0.15, 0x1a710000, TEST_TIMES(150), true);
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

/* Of all that ResNet-50 makes nothing is turned but its input, as it comes; its 53 convolutions have channels last, and
 * are measured once for each of their kinds. */
Test(cuda_layout, resnet50_converts_only_its_input)
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
		cr_assert_eq(cu_fake.algorithm_lists, CONVOLUTIONS + KINDS, "%ld kinds of convolutions",
			     cu_fake.algorithm_lists - CONVOLUTIONS);
		cuda_native_counts.moves = cu_fake.convolutions = cu_fake.last_convolutions =
			cu_fake.fused_convolutions = 0;
		cu_fake.launches = 0;
		run_session(session, &image, &out);
		npl_tensor_free(&out);
		cr_assert(!last || cu_fake.launches == launches, "the turn is the conversion to 16 bits, too");
		launches = cu_fake.launches;
		cr_assert_eq(cuda_native_counts.moves, last, "%ld turns", cuda_native_counts.moves);
		cr_assert_eq(cu_fake.convolutions, CONVOLUTIONS);
		cr_assert_eq(cu_fake.last_convolutions, last * CONVOLUTIONS);
		cr_assert_eq(cu_fake.fused_convolutions, CONVOLUTIONS, "a bias goes with each, and Relu with most");
		npl_session_close(session);
		npl_device_close(cuda);
		cuda_fake_check(layouts[last]);
	}
	npl_tensor_free(&image);
	npl_graph_free(graph);
}

/* One convolution of 1.1 million multiply-accumulates (or, small, of a hundredth), as often as asked for, one after
 * the other. */
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
		{"precision=f16", 3, 0, 16, true, true, 2, 1, 0, 3},    /* the heuristic would have named the other */
		{"precision=f16", 2, 1, 16, true, true, 2, 1, 2, 2},    /* it was right */
		{"precision=f16", 2, 0, 16, false, true, 2, 1, 0, 0},   /* faster, though with a bias pass */
		{"precision=f16", 2, 0, 16, false, true, 1.2, 1, 2, 2}, /* not faster with it: that takes 4 us */
		{"precision=f16", 2, 0, 2, true, true, 2, 0, 2, 2},     /* too small to tell */
		{"precision=bf16", 1, 0, 16, true, true, 2, 1, 0, 1},
		{"precision=tf32", 2, 0, 16, true, false, 2, 1, 0, 2},
		{"precision=f32", 2, 0, 16, true, false, 2, 1, 0, 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t rng = 0x1a740000 + i;
		char subject[60];
		struct net net = row_of_convolutions(&rng, cases[i].n, cases[i].channels, cases[i].relu);
		cu_fake_reset();
		cu_fake.fastest_algorithm = cases[i].fastest;
		cu_fake.slower = cases[i].slower;
		struct npl_device *cuda = open_cuda(cases[i].precision, "layout=auto");
		struct npl_session *session = open_session(net.graph, &cuda);
		struct npl_tensor out[MOST] = {{0}};
		snprintf(subject, sizeof subject, "case %zu", i);
		cr_assert_eq(cu_fake.algorithm_lists - cases[i].n, cases[i].searches, "%s: %ld searches", subject,
			     cu_fake.algorithm_lists - cases[i].n);
		memset(cu_fake.convolutions_by, 0, sizeof cu_fake.convolutions_by);
		cu_fake.fused_convolutions = cu_fake.last_convolutions = 0;
		run_session(session, net.in, out);
		cr_assert_eq(cu_fake.convolutions_by[1], cases[i].precomputed, "%s: %ld", subject,
			     cu_fake.convolutions_by[1]);
		cr_assert_eq(cu_fake.convolutions_by[0], cases[i].n - cases[i].precomputed, "%s: %ld", subject,
			     cu_fake.convolutions_by[0]);
		cr_assert_eq(cu_fake.fused_convolutions, cases[i].fused, "%s: %ld", subject,
			     cu_fake.fused_convolutions);
		cr_assert_eq(cu_fake.last_convolutions, cases[i].last ? cases[i].n : 0, "%s", subject);
		cr_assert_lt(error_of(&net, out), 0.05, "%s: %g", subject, error_of(&net, out));
		npl_tensor_free(&out[0]);
		npl_session_close(session);
		npl_device_close(cuda);
		cuda_fake_check(subject);
		free_net(&net);
	}
}

/* 16 bits, tensor cores, one or two dimensions, cuDNN, and nobody who said otherwise; integers without cuDNN too. */
Test(cuda_layout, channels_last_is_used_where_cudnn_would_convert_and_for_integers)
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
				     precision == CU_INT8 ||
					     (major >= 7 && (precision == CU_F16 || precision == CU_BF16)),
				     "%d, %d", precision, major);
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
	layer.precision = CU_INT8;
	cr_assert(cu_layout_wanted(&layer));
	y.shape = npl_shape_of(5, 1, 8, 5, 5, 5);
	cr_assert_not(cu_layout_wanted(&layer));
	y.shape = npl_shape_of(3, 1, 8, 5);
	config.planar = 1;
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

/* Where a tensor is needed both ways, and what it is made of as ONNX has it, that is turned which only the convolution
 * wants. */
Test(cuda_layout, a_tensor_needed_in_both_orders_is_converted_for_convolutions_alone)
{
	uint64_t rng = 0x1a760000;
	for (int named = 0; named < 2; named++) {
		struct net net = plain_readers(&rng, named);
		struct npl_device *cuda = open_cuda("precision=f16", "layout=auto");
		struct npl_session *session = open_session(net.graph, &cuda);
		struct npl_tensor out[MOST] = {{0}};
		for (int i = 0; i < 2; i++) {
			cuda_native_counts.moves = 0;
			run_session(session, net.in, out);
			cr_assert_lt(error_of(&net, out), 4e-3);
			cr_assert_eq(cuda_native_counts.moves, 1, "%ld turns", cuda_native_counts.moves);
			for (int k = 0; k < net.graph->n_outputs; k++)
				npl_tensor_free(&out[k]);
		}
		npl_session_close(session);
		npl_device_close(cuda);
		cuda_fake_check("a network");
		free_net(&net);
	}
}
