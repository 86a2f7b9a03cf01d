/* SPDX-License-Identifier: MIT
 *
 * What npulab promises of networks written in C: built, called operator by operator, or recorded, they give the same
 * bits on every device, for the same cost; and what is held decides what is stored. */
#include "tests/kit/api_net.h"

static const char *const devices[] = {"reference", "tpu_v1", "diannao"};

static struct npl_graph *built(uint64_t seed, struct npl_tensor *input)
{
	struct api_maker m = {0};
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert_eq(npl_build_open("random", &m.build, &err), 0, "%s", err.msg);
	int y = api_network(&m, &seed);
	cr_assert_eq(npl_build_finish(m.build, NPL_IN(m.index[y]), &graph, &err), 0, "%s", err.msg);
	*input = m.input;
	return graph;
}

static struct npl_tensor eager(uint64_t seed, const char *device, struct npl_cost *cost)
{
	struct api_maker m = {0};
	struct npl_tensor out;
	struct npl_eager_totals totals;
	struct npl_err err;
	cr_assert_eq(npl_eager_open(device, NULL, &m.ctx, &err), 0, "%s", err.msg);
	int y = api_network(&m, &seed);
	api_release_others(&m, y);
	cr_assert_eq(npl_eager_read(m.ctx, m.handle[y], &out, &err), 0, "%s: %s", device, err.msg);
	npl_eager_totals(m.ctx, &totals);
	cr_assert_eq(totals.networks, 1);
	*cost = totals.cost;
	npl_tensor_free(&m.input);
	npl_eager_close(m.ctx);
	return out;
}

/* Recorded on the float reference, with a value read on the way, whatever it is run on later. */
static struct npl_graph *recorded(uint64_t seed)
{
	struct api_maker m = {.read = (int)(seed % 4)};
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert_eq(npl_eager_open("reference", NULL, &m.ctx, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_recording_begin(m.ctx, "random", &err), 0, "%s", err.msg);
	int y = api_network(&m, &seed);
	cr_assert_eq(npl_recording_end(m.ctx, NPL_ARGS(m.handle[y]), &graph, &err), 0, "%s", err.msg);
	npl_tensor_free(&m.input);
	npl_eager_close(m.ctx);
	return graph;
}

Test(api_ways, all_give_the_same_bits)
{
	for (uint64_t seed = 1; seed <= 25; seed++) {
		struct npl_tensor input;
		struct npl_graph *graph = built(seed, &input), *again = recorded(seed);
		cr_assert_eq(graph->n_nodes, again->n_nodes, "seed %d", (int)seed);
		cr_assert_eq(graph->macs, again->macs, "seed %d", (int)seed);
		for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
			struct npl_cost of_static, of_eager, of_recording;
			struct npl_tensor a = api_run(graph, devices[d], &input, &of_static);
			struct npl_tensor b = eager(seed, devices[d], &of_eager);
			struct npl_tensor c = api_run(again, devices[d], &input, &of_recording);
			cr_assert(api_same(&a, &b), "seed %d: eager differs on %s", (int)seed, devices[d]);
			cr_assert(api_same(&a, &c), "seed %d: recorded differs on %s", (int)seed, devices[d]);
			cr_assert_eq(of_static.macs, graph->macs);
			cr_assert_eq(of_static.cycles, of_eager.cycles, "seed %d: %s", (int)seed, devices[d]);
			cr_assert_eq(of_static.cycles, of_recording.cycles, "seed %d: %s", (int)seed, devices[d]);
			cr_assert_eq(of_static.link_bytes, of_eager.link_bytes, "seed %d: %s", (int)seed, devices[d]);
			cr_assert_eq(of_static.saturations, of_eager.saturations, "seed %d: %s", (int)seed, devices[d]);
			npl_tensor_free(&a);
			npl_tensor_free(&b);
			npl_tensor_free(&c);
		}
		npl_tensor_free(&input);
		npl_graph_free(graph);
		npl_graph_free(again);
	}
}

/* Two outputs of a built network are two handles that are held. */
Test(api_ways, held_results_are_outputs)
{
	for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
		uint64_t rng = 7;
		struct npl_tensor x = api_random(&rng, npl_shape_of(4, 2, 3, 8, 8));
		struct npl_tensor w = api_random(&rng, npl_shape_of(4, 6, 3, 3, 3));
		struct npl_err err;
		struct npl_build *b;
		struct npl_graph *graph;
		cr_assert_eq(npl_build_open(NULL, &b, &err), 0);
		int conv = npl_build_op(
			b, "Conv",
			NPL_IN(npl_build_input(b, NULL, NPL_F32, x.shape), npl_build_constant(b, &w, NPL_BORROW)),
			NPL_NO_ATTRS);
		int relu = npl_build_op(b, "Relu", NPL_IN(conv), NPL_NO_ATTRS);
		cr_assert_eq(npl_build_finish(b, NPL_IN(conv, relu), &graph, &err), 0, "%s", err.msg);
		struct npl_device *device = api_device(devices[d]);
		struct npl_tensor built_out[2], eager_out[2], fused;
		struct npl_cost cost;
		cr_assert_eq(npl_graph_run(graph, device, &x, NULL, built_out, &cost, &err), 0, "%s", err.msg);

		struct npl_eager *ctx;
		struct npl_eager_value *hx = NULL, *hw = NULL, *hc = NULL, *hr = NULL;
		struct npl_eager_totals held, passed;
		cr_assert_eq(npl_eager_open(devices[d], NULL, &ctx, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_eager_input(ctx, NULL, &x, NPL_BORROW, &hx, &err), 0);
		cr_assert_eq(npl_eager_constant(ctx, &w, NPL_BORROW, &hw, &err), 0);
		cr_assert_eq(npl_eager_op(ctx, "Conv", NPL_ARGS(hx, hw), NPL_NO_ATTRS, &hc, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(hc), NPL_NO_ATTRS, &hr, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_eager_read(ctx, hr, &eager_out[1], &err), 0, "%s", err.msg);
		cr_assert_eq(npl_eager_read(ctx, hc, &eager_out[0], &err), 0, "%s", err.msg);
		npl_eager_totals(ctx, &held);
		cr_assert_eq(held.networks, 1, "what is held was stored, and not computed again");
		cr_assert(api_same(&built_out[0], &eager_out[0]) && api_same(&built_out[1], &eager_out[1]), "%s",
			  devices[d]);
		cr_assert_eq(held.cost.link_bytes, cost.link_bytes);

		/* In place, the Conv's result is nobody's and crosses no link. */
		cr_assert_eq(npl_eager_op(ctx, "Conv", NPL_ARGS(hx, hw), NPL_NO_ATTRS, &hc, &err), 0);
		cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(hc), NPL_NO_ATTRS, &hc, &err), 0);
		cr_assert_eq(npl_eager_read(ctx, hc, &fused, &err), 0, "%s", err.msg);
		npl_eager_totals(ctx, &passed);
		cr_assert_eq(passed.networks, 2);
		uint64_t bytes = passed.cost.link_bytes - held.cost.link_bytes;
		if (held.cost.link_bytes)
			cr_assert_lt(bytes, held.cost.link_bytes, "%s", devices[d]);
		else
			cr_assert(api_same(&fused, &eager_out[1]), "a float device in the host's memory");
		npl_eager_close(ctx);
		npl_device_close(device);
		npl_graph_free(graph);
		npl_tensor_free(&fused);
		for (int i = 0; i < 2; i++) {
			npl_tensor_free(&built_out[i]);
			npl_tensor_free(&eager_out[i]);
		}
		npl_tensor_free(&x);
		npl_tensor_free(&w);
	}
}

/* A recording takes other inputs, in the order in which they were declared, and needs no context. */
Test(api_ways, recordings_run_again_with_other_inputs)
{
	const float one[] = {1, -2, 3}, two[] = {10, 20, 30}, before[] = {100, 200, 300}, again[] = {-5, 6, 7};
	struct npl_shape shape = npl_shape_of(1, 3);
	struct npl_tensor t1 = npl_tensor_over(NPL_F32, shape, one), t2 = npl_tensor_over(NPL_F32, shape, two);
	struct npl_tensor t3 = npl_tensor_over(NPL_F32, shape, before), t4 = npl_tensor_over(NPL_F32, shape, again);
	struct npl_eager *ctx;
	struct npl_eager_value *early = NULL, *unused = NULL, *x = NULL, *doubled = NULL, *y = NULL;
	struct npl_graph *graph;
	struct npl_tensor out, read;
	struct npl_err err;
	cr_assert_eq(npl_eager_open("reference", NULL, &ctx, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_input(ctx, "early", &t3, NPL_COPY, &early, &err), 0);
	cr_assert_eq(npl_eager_op(ctx, "Add", NPL_ARGS(early, early), NPL_NO_ATTRS, &doubled, &err), 0);
	cr_assert_eq(npl_recording_begin(ctx, "sum", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_eager_input(ctx, "x", &t1, NPL_COPY, &x, &err), 0);
	cr_assert_eq(npl_eager_input(ctx, "x", &t2, NPL_COPY, &unused, &err), 0);
	cr_assert_eq(npl_eager_op(ctx, "Relu", NPL_ARGS(x), NPL_NO_ATTRS, &x, &err), 0);
	cr_assert_eq(npl_eager_read(ctx, x, &read, &err), 0);
	cr_assert_eq(((float *)read.data)[1], 0.0f);
	cr_assert_eq(npl_eager_op(ctx, "Sum", NPL_ARGS(x, doubled, early), NPL_NO_ATTRS, &y, &err), 0);
	cr_assert_eq(npl_recording_end(ctx, NPL_ARGS(y), &graph, &err), 0, "%s", err.msg);
	npl_tensor_free(&read);
	cr_assert_eq(npl_eager_read(ctx, y, &read, &err), 0);
	npl_eager_close(ctx);
	cr_assert_eq(((float *)read.data)[1], 600.0f);
	npl_tensor_free(&read);

	cr_assert_str_eq(graph->name, "sum");
	cr_assert_eq(graph->n_inputs, 3);
	cr_assert_str_eq(graph->value[graph->input[0]].name, "x");
	cr_assert_str_eq(graph->value[graph->input[1]].name, "x#2");
	cr_assert_str_eq(graph->value[graph->input[2]].name, "early");
	const struct npl_tensor inputs[] = {t4, t2, t1};
	out = api_run(graph, "reference", inputs, NULL);
	for (int i = 0; i < 3; i++) /* what was computed before is a constant: twice 100, 200, 300 */
		cr_assert_eq(((float *)out.data)[i], (again[i] > 0 ? again[i] : 0) + 2 * before[i] + one[i]);
	npl_tensor_free(&out);
	npl_graph_free(graph);
}

/* A value that was read is where the next network begins; on float32 devices that changes nothing. */
Test(api_ways, reading_values_early_changes_no_float)
{
	for (uint64_t seed = 30; seed < 40; seed++)
		for (int read = 1; read <= 4; read++) {
			uint64_t rng = seed;
			struct api_maker m = {.read = read};
			struct npl_tensor whole, parts, input;
			struct npl_graph *graph = built(seed, &input);
			struct npl_err err;
			whole = api_run(graph, "reference", &input, NULL);
			cr_assert_eq(npl_eager_open("reference", NULL, &m.ctx, &err), 0);
			int y = api_network(&m, &rng);
			cr_assert_eq(npl_eager_read(m.ctx, m.handle[y], &parts, &err), 0, "%s", err.msg);
			cr_assert(api_same(&whole, &parts), "seed %d, read after %d calls", (int)seed, read);
			npl_tensor_free(&whole);
			npl_tensor_free(&parts);
			npl_tensor_free(&input);
			npl_tensor_free(&m.input);
			npl_eager_close(m.ctx);
			npl_graph_free(graph);
		}
}

/* Softplus twice and Erf once, of x. */
static struct npl_graph *of_the_host(void)
{
	struct npl_build *b;
	struct npl_graph *graph;
	struct npl_err err;
	cr_assert_eq(npl_build_open("functions", &b, &err), 0, "%s", err.msg);
	int y = npl_build_op(b, "Softplus", NPL_IN(npl_build_input(b, "x", NPL_F32, npl_shape_of(2, 1, 4))),
			     NPL_NO_ATTRS);
	y = npl_build_op(b, "Erf", NPL_IN(npl_build_op(b, "Softplus", NPL_IN(y), NPL_NO_ATTRS)), NPL_NO_ATTRS);
	cr_assert_eq(npl_build_finish(b, NPL_IN(y), &graph, &err), 0, "%s", err.msg);
	return graph;
}

static void eager_on_host(const struct npl_tensor *x, int runs, struct npl_cost *cost)
{
	struct npl_eager *ctx;
	struct npl_eager_totals totals;
	struct npl_err err;
	cr_assert_eq(npl_eager_open("tpu_v1", NULL, &ctx, &err), 0, "%s", err.msg);
	for (int i = 0; i < runs; i++) {
		struct npl_eager_value *y = NULL;
		cr_assert_eq(npl_eager_input(ctx, "x", x, NPL_COPY, &y, &err), 0, "%s", err.msg);
		for (int k = 0; k < 3; k++)
			cr_assert_eq(npl_eager_op(ctx, k < 2 ? "Softplus" : "Erf", NPL_ARGS(y), NPL_NO_ATTRS, &y, &err),
				     0, "%s", err.msg);
		cr_assert_eq(npl_eager_wait(ctx, &err), 0, "%s", err.msg);
	}
	npl_eager_totals(ctx, &totals);
	*cost = totals.cost;
	npl_eager_close(ctx);
}

/* Operators that a device does not take are the host's, and a program is told which and why, once for however many
 * runs. */
Test(api_ways, what_falls_to_the_host_is_named)
{
	static const float data[4] = {-1, 0, 1, 2};
	const struct npl_tensor x = npl_tensor_over(NPL_F32, npl_shape_of(2, 1, 4), data);
	struct npl_graph *graph = of_the_host();
	struct npl_cost cost[2], eager_cost;
	for (int d = 0; d < 2; d++) {
		struct npl_device *device;
		struct npl_tensor out;
		struct npl_err err;
		cr_assert_eq(npl_device_open(devices[d], NULL, &device, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_graph_run(graph, device, &x, NULL, &out, &cost[d], &err), 0, "%s", err.msg);
		npl_tensor_free(&out);
		npl_device_close(device);
	}
	cr_assert_str_eq(cost[0].on_host, "", "the reference does everything");
	cr_assert(strstr(cost[1].on_host, "Softplus (2 layers: "), "%s", cost[1].on_host);
	cr_assert(strstr(cost[1].on_host, "Erf (1 layer: "), "%s", cost[1].on_host);
	for (int runs = 1; runs <= 2; runs++) {
		eager_on_host(&x, runs, &eager_cost);
		cr_assert_str_eq(eager_cost.on_host, cost[1].on_host, "%d runs", runs);
	}
	npl_graph_free(graph);
}

/* The constants give all members in their order, without their names, so that a further member is a missing
 * initialiser: give it a value here and a check below, and have it added by npl_cost_add and filled by npl_cost_of. */
Test(api_ways, sums_of_costs_add_every_member)
{
	const struct npl_cost add = {3, 0.5, 0.25, 5, 7, 11, 13, "Erf (1 layer: why)"};
	struct npl_cost sum = {0};
	for (int i = 0; i < 2; i++)
		npl_cost_add(&sum, &add);
	cr_expect_eq(sum.cycles, 6);
	cr_expect_eq(sum.seconds, 1);
	cr_expect_eq(sum.joules, 0.5);
	cr_expect_eq(sum.macs, 10);
	cr_expect_eq(sum.device_macs, 14);
	cr_expect_eq(sum.saturations, 22);
	cr_expect_eq(sum.link_bytes, 26);
	cr_expect_str_eq(sum.on_host, add.on_host);
}

Test(api_ways, a_long_list_of_the_hosts_ends_with_dots)
{
	struct npl_cost sum = {.on_host = "Erf (1 layer: why)"}, more = {0};
	memset(more.on_host, 'x', NPL_COST_TEXT - 2);
	npl_cost_add(&sum, &more);
	cr_assert_str_eq(sum.on_host, "Erf (1 layer: why)...");
	more = (struct npl_cost){.on_host = "Softplus (1 layer: why)"};
	npl_cost_add(&sum, &more);
	cr_assert_str_eq(sum.on_host, "Erf (1 layer: why)...", "nothing comes behind the dots");
}
