/* SPDX-License-Identifier: MIT
 *
 * Promises of networks on the cpu in 8 bits, which go there as layer groups: their convolutions, whatever makes their
 * sums and however they are cut, give the bits and the saturations of the rule's simple loops, sums beyond 2^24 too; so
 * does every layer of random networks of convolutions, poolings, sums, joins and activations, on 1 and 2 threads, in
 * batches. */
#include "backends/cpu/layer_group.h"
#include "core/integer.h"
#include "tests/kit/cpu_int8_support.h"
#include "tests/kit/session_net.h"

TestSuite(cpu_int8_layer_group, .init = cpu_int8_open, .fini = cpu_int8_close);

struct shape8 {
	int64_t images, channels, height, width, filters, groups, kernel, stride, pad;
};

/* Weights of the greatest size where `large`, inputs likewise: sums of hundreds of millions. */
static void check_convolution(const struct shape8 *s, bool large, uint64_t *rng)
{
	struct test_layer t = {.attrs = {.op = NPL_OP_CONV, .opset = 13, .conv.groups = s->groups}};
	struct npl_integer_counts counts = {0};
	struct npl_err err = {0};
	char subject[160];
	int64_t high = (s->height + 2 * s->pad - s->kernel) / s->stride + 1,
		wide = (s->width + 2 * s->pad - s->kernel) / s->stride + 1;
	struct npl_window *w = &t.attrs.conv.window;
	w->rank = 2;
	for (int d = 0; d < 2; d++) {
		w->kernel[d] = s->kernel;
		w->stride[d] = s->stride;
		w->dilation[d] = 1;
		w->pad_begin[d] = w->pad_end[d] = s->pad;
	}
	test_tensor(&t.x, NPL_U8, npl_shape_of(4, s->images, s->channels, s->height, s->width), 0.02f,
		    s->pad || large ? 0 : (int32_t)test_range(rng, 0, 255));
	test_tensor(&t.w, NPL_I8, npl_shape_of(4, s->filters, s->channels / s->groups, s->kernel, s->kernel), 0.01f, 0);
	test_tensor(&t.bias, NPL_I32, npl_shape_of(1, s->filters), 0, 0);
	int64_t k = s->channels / s->groups * s->kernel * s->kernel;
	test_tensor(&t.y, NPL_U8, npl_shape_of(4, s->images, s->filters, high, wide),
		    2e-4f * (float)test_range(rng, 5, 60) * (large ? 20 * (float)k : sqrtf((float)k)),
		    (int32_t)test_range(rng, 0, 255));
	test_fill(&t.x, rng);
	test_fill(&t.w, rng);
	for (int64_t i = 0; i < npl_tensor_count(&t.x) && large; i++)
		((uint8_t *)t.x.data)[i] |= 0xfc;
	for (int64_t i = 0; i < npl_tensor_count(&t.w) && large; i++)
		((int8_t *)t.w.data)[i] = (int8_t)(i / k % 2 ? -128 + (i & 3) : 127 - (i & 1));
	for (int64_t i = 0; i < s->filters; i++)
		((int32_t *)t.bias.data)[i] = (int32_t)test_range(rng, -50000, 50000);
	test_layer_wire(&t, NPL_OP_CONV, (uint64_t)(npl_tensor_count(&t.y) * k));
	t.layer.activation = (enum npl_activation)test_range(rng, NPL_ACT_NONE, NPL_ACT_RELU6);
	struct npl_tensor expected = {.dtype = t.y.dtype, .shape = t.y.shape, .quant = t.y.quant};
	cr_assert_eq(npl_tensor_alloc(&expected, &err), 0);
	cr_assert_eq(npl_run_integer(&t.layer, &expected, &counts, &err), 0, "%s", err.msg);
	snprintf(subject, sizeof subject,
		 "%lld x (%lld,%lld,%lld) to %lld by %lldx%lld / %lld, pad %lld, groups %lld%s", (long long)s->images,
		 (long long)s->channels, (long long)s->height, (long long)s->width, (long long)s->filters,
		 (long long)s->kernel, (long long)s->kernel, (long long)s->stride, (long long)s->pad,
		 (long long)s->groups, large ? ", large" : "");
	cpu_int8_check_layer_group(&t.layer, expected.data, counts.saturations, subject);
	npl_tensor_free(&expected);
	test_layer_free(&t);
}

Test(cpu_int8_layer_group, convolutions_in_any_strips_equal_the_rule)
{
	static const struct shape8 shapes[] = {
		{1, 16, 40, 40, 320, 1, 1, 1, 0}, /* strips of pixels */
		{3, 8, 17, 19, 64, 1, 1, 1, 0},   /* strips that go over images */
		{5, 4, 40, 40, 48, 1, 3, 1, 1},   /* strips of images */
		{1, 3, 29, 31, 16, 1, 7, 2, 3},   {2, 32, 9, 9, 32, 32, 3, 1, 1}, {1, 24, 8, 8, 36, 4, 3, 2, 1},
		{1, 5, 6, 6, 7, 1, 5, 1, 4},      {2, 64, 1, 1, 10, 1, 1, 1, 0},
	};
	uint64_t rng = cpu_int8_seed = 0x5eed0331;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int round = 0; round < 3; round++)
			check_convolution(&shapes[i], false, &rng);
}

Test(cpu_int8_layer_group, sums_beyond_float_precision_are_exact)
{
	static const struct shape8 shapes[] = {
		{1, 600, 5, 5, 17, 1, 1, 1, 0}, {1, 256, 6, 6, 24, 1, 3, 1, 1}, {2, 130, 7, 7, 16, 2, 3, 2, 1}};
	uint64_t rng = cpu_int8_seed = 0x5eed0332;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int round = 0; round < 4; round++)
			check_convolution(&shapes[i], true, &rng);
}

Test(cpu_int8_layer_group, convolutions_of_any_shape)
{
	uint64_t rng = cpu_int8_seed = 0x5eed0333;
	for (int round = 0; round < 60; round++) {
		struct shape8 s = {.images = test_range(&rng, 1, 4),
				   .groups = test_range(&rng, 0, 3) ? 1 : test_range(&rng, 2, 4),
				   .height = test_range(&rng, 4, 20),
				   .width = test_range(&rng, 4, 20),
				   .kernel = test_range(&rng, 1, 4),
				   .stride = test_range(&rng, 1, 3)};
		s.pad = test_range(&rng, 0, 1) ? 0 : test_range(&rng, 0, s.kernel - 1);
		s.channels = s.groups * test_range(&rng, 1, 20);
		s.filters = s.groups * test_range(&rng, 1, 40);
		check_convolution(&s, false, &rng);
	}
}

/* x -> stem -> blocks of two convolutions beside a shortcut, joined by Add or Concat, with poolings and activations
 * between. */
static struct net make_blocks(uint64_t *rng, bool functions)
{
	static const char *const between[] = {"Relu", "Sigmoid", "Relu", "Tanh", "Relu"};
	struct onnx_writer g = {0}, attrs = {0};
	int64_t channels = 4 * test_range(rng, 1, 4), size = test_range(rng, 7, 14);
	char w[16], in[64], out[16], name[16], last[16] = "x";
	int n = 0;
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){test_range(rng, 1, 3), channels, size, size});
	for (int block = 0; block < 4; block++) {
		const bool join = test_range(rng, 0, 2) == 0;
		const int64_t made = join ? 4 * test_range(rng, 1, 3) : channels;
		char from[16];
		snprintf(from, sizeof from, "%s", last);
		for (int half = 0; half < 2; half++) {
			const int64_t kernel = 1 + 2 * test_range(rng, 0, 1);
			snprintf(w, sizeof w, "w%d", n);
			put_weights(&g, rng, w, 4, (int64_t[]){half ? made : channels, channels, kernel, kernel});
			onnx_put_attr_ints(&attrs, "pads", 4,
					   (int64_t[]){kernel / 2, kernel / 2, kernel / 2, kernel / 2});
			snprintf(in, sizeof in, "%s %s", last, w);
			snprintf(out, sizeof out, "c%d", n);
			snprintf(name, sizeof name, "conv%d", n++);
			onnx_put_node(&g, "Conv", name, in, out, &attrs);
			snprintf(last, sizeof last, "%s", out);
			if (!half) {
				const char *op = functions ? between[test_range(rng, 0, 4)] : "Relu";
				snprintf(out, sizeof out, "a%d", n);
				snprintf(name, sizeof name, "act%d", n++);
				onnx_put_node(&g, op, name, last, out, NULL);
				snprintf(last, sizeof last, "%s", out);
			}
		}
		snprintf(in, sizeof in, "%s %s", last, from);
		snprintf(out, sizeof out, "j%d", n);
		snprintf(name, sizeof name, "join%d", n++);
		if (join)
			onnx_put_attr_int(&attrs, "axis", 1);
		onnx_put_node(&g, join ? "Concat" : "Add", name, in, out, &attrs);
		snprintf(last, sizeof last, "%s", out);
		channels = join ? made + channels : channels;
		if (test_range(rng, 0, 1)) {
			onnx_put_attr_ints(&attrs, "kernel_shape", 2, (int64_t[]){2, 2});
			snprintf(out, sizeof out, "p%d", n);
			snprintf(name, sizeof name, "pool%d", n++);
			onnx_put_node(&g, test_range(rng, 0, 1) ? "MaxPool" : "AveragePool", name, last, out, &attrs);
			snprintf(last, sizeof last, "%s", out);
		}
	}
	onnx_put_node(&g, "GlobalAveragePool", "mean", last, "mean_of", NULL);
	onnx_put_node(&g, "Flatten", "flat", "mean_of", "rows", NULL);
	put_weights(&g, rng, "wf", 2, (int64_t[]){channels, 5});
	onnx_put_node(&g, "Gemm", "fc", "rows wf", "y", NULL);
	onnx_put_output(&g, "y");
	onnx_put_output(&g, "c2");
	return make_net(&g, rng);
}

Test(cpu_int8_layer_group, random_networks_follow_the_rule_layer_by_layer)
{
	struct npl_device *reference = open_device_set("reference", 1, (const char *const[]){"precision=int8"});
	for (int threads = 1; threads <= 2; threads++) {
		char set[32];
		snprintf(set, sizeof set, "threads=%d", threads);
		struct npl_device *cpu = open_device_set("cpu", 2, (const char *const[]){"precision=int8", set});
		for (int round = 0; round < 40; round++) {
			uint64_t rng = 0x5eed0340 + (uint64_t)round;
			const bool functions = round % 4 == 3; /* of which the rule has tables of its own */
			struct net net = make_blocks(&rng, functions);
			struct outcome mine = run_net(&net, &cpu, 1, NULL, false),
				       rule = run_net(&net, &reference, 1, NULL, false);
			for (int i = 0; i < net.graph->n_nodes && !functions; i++) {
				const struct npl_layer_run *a = &mine.run.layer[i], *b = &rule.run.layer[i];
				if (a->role != NPL_RAN || b->role != NPL_RAN || !a->output_sha256[0])
					continue;
				cr_assert_str_eq(a->output_sha256, b->output_sha256, "round %d, %d threads: %s", round,
						 threads, net.graph->node[i].name);
				cr_assert_eq(a->result.saturations, b->result.saturations, "round %d: %s", round,
					     net.graph->node[i].name);
			}
			cr_assert_lt(error_of(&net, mine.out), 0.1 + 1.5 * error_of(&net, rule.out), "round %d", round);
			if (!functions)
				check_same_outputs(&net, mine.out, rule.out, "a network");
			free_outcome(&net, &mine);
			free_outcome(&net, &rule);
			free_net(&net);
		}
		npl_device_close(cpu);
	}
	npl_device_close(reference);
}
