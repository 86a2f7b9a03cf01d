/* SPDX-License-Identifier: MIT
 *
 * Running a network on devices (session.h). A layer gives the same result wherever its neighbours run; what crosses a
 * link is counted to the byte; what a machine cannot do is done by the host, priced and given a reason; a fused Relu
 * changes nothing but the cost; a view costs nothing; totals are sums. */
#include "tests/kit/host.h"
#include "tests/kit/session_net.h"

/* Float devices and the host run the same kernels: any mixture of them gives the reference's bits. */
Test(session, float_placements_are_exact)
{
	uint64_t rng = 1;
	struct net net = make_layer_group(&rng);
	struct npl_device *device[] = {open_device("reference"), open_device("reference"), open_device("cpu")};
	for (int i = 0; i < 60; i++) {
		int place[SEQUENCE];
		for (int k = 0; k < SEQUENCE; k++)
			place[k] = (int)test_range(&rng, NPL_ON_HOST, 1);
		struct outcome o = run_net(&net, device, 2, place, false);
		check_same_outputs(&net, o.out, net.reference, "reference devices and host");
		check_totals(&o.run, "float");
		cr_assert(o.run.link_bytes == 0 && o.run.link_seconds == 0, "float devices work in the host's memory");
		for (int k = 0; k < SEQUENCE; k++) {
			const struct npl_layer_run *row = &o.run.layer[k];
			bool host = place[k] == NPL_ON_HOST && k != F1;
			cr_assert_eq(row->host_seconds > 0, host, "layer %d: %g s of the host", k, row->host_seconds);
			cr_assert_eq(row->transfers, 0);
		}
		free_outcome(&net, &o);
	}
	struct outcome o = run_net(&net, device + 2, 1, NULL, false);
	cr_assert(error_of(&net, o.out) < 1e-5, "cpu: %g", error_of(&net, o.out));
	free_outcome(&net, &o);
	for (int i = 0; i < 3; i++)
		npl_device_close(device[i]);
	free_net(&net);
}

/* What one row must show: its part on the host, its link and whose link it was. */
struct expected {
	enum npl_role role;
	const char *on;
	struct kit_cost host;
	int link; /* index of the device whose link was used; -1: none */
	uint64_t bytes;
};

static void check_row(const struct npl_layer_run *row, const struct expected *expected,
		      struct npl_device *const *device, int k)
{
	cr_assert(row->role == expected->role && !strcmp(row->ran_on, expected->on), "row %d ran on %s", k,
		  row->ran_on);
	cr_assert(near(row->host_seconds, expected->host.seconds), "row %d: %g s of the host, expected %g", k,
		  row->host_seconds, expected->host.seconds);
	cr_assert_eq(row->link_bytes, expected->bytes, "row %d: %d bytes", k, (int)row->link_bytes);
	cr_assert_eq(row->transfers, expected->link >= 0, "row %d: %d transfers", k, row->transfers);
	cr_assert(near(joules_of(row->result.energy, row->result.n_energy, "host"), expected->host.joules), "row %d",
		  k);
	double seconds = 0, joules = 0;
	if (expected->link >= 0) {
		const struct npl_link *link = &npl_device_get_info(device[expected->link])->link;
		seconds = link->latency_seconds + (double)expected->bytes / link->bytes_per_second;
		joules = (double)expected->bytes * link->pj_per_byte * 1e-12;
	}
	cr_assert(near(row->link_seconds, seconds), "row %d: %g s of the link, expected %g", k, row->link_seconds,
		  seconds);
	double actual = joules_of(row->result.energy, row->result.n_energy, "host link");
	if (expected->link >= 0 && npl_device_get_info(device[expected->link])->link.energy_within)
		cr_assert_eq(actual, 0, "row %d: it is counted elsewhere", k);
	cr_assert(isnan(actual) || near(actual, joules), "row %d: %g J of the link, expected %g", k, actual, joules);
}

/* tpu_v1 takes the convolution, the host what it has not, DianNao the rest: every byte and every conversion is where it
 * belongs, by hand. */
Test(session, each_row_pays_for_its_transfers_and_conversions)
{
	uint64_t rng = 2;
	struct net net = make_layer_group(&rng);
	static const char *const tpu_link[] = {"host_link.latency_seconds=1e-5", "host_link.pj_per_byte=70",
					       "host_link.energy_origin=modelled:test"};
	static const char *const dn_link[] = {"memory.host_latency_seconds=3e-6"};
	struct npl_device *device[] = {open_device_set("tpu_v1", 3, tpu_link), open_device_set("diannao", 1, dn_link)};
	const int place[SEQUENCE] = {0, 0, 0, 1, 1, 1, NPL_ON_HOST};
	struct npl_device *host = kit_open_host();
	enum { X = 2 * 3 * 8 * 8, B = 2 * 4 * 6 * 6, Y = 2 * 10 };
	/* operations per value: square, sum of 3, scale and shift, product within the power, product; its roots and
	 * division */
	const struct npl_processor_counts lrn = {
		.operations = {[NPL_SIMPLE] = B * (1 + 3 + 2 + 1 + 1), [NPL_DIVIDE] = B * 3}, .bytes = 2 * B * 4};
	/* maximum, difference, sum, product, and the 12 steps of an exponential */
	const double softmax = 1 + 1 + 1 + 1;
	const struct expected expected[SEQUENCE] = {
		[C1] = {NPL_RAN, "tpu_v1", kit_host_cost(host, X, 0, X * 4 + X), 0, X},
		[R1] = {NPL_FUSED, "tpu_v1", {0}, -1, 0},
		[N1] = {NPL_RAN, "host", kit_sum(kit_host_cost(host, B, 0, B + B * 4), kit_work_cost(host, lrn)), 0, B},
		[P1] = {NPL_RAN, "diannao", kit_host_cost(host, B, 0, B * 4 + B * 2), 1, B * 2},
		[F1] = {NPL_VIEW, "diannao", {0}, -1, 0},
		[FC] = {NPL_RAN, "diannao", {0}, -1, 0},
		[SM] = {NPL_RAN, "host",
			kit_sum(kit_host_cost(host, Y, 0, Y * 2 + Y * 4),
				kit_host_cost(host, Y * softmax, Y * 12, 2 * Y * 4)),
			1, Y * 2},
	};
	struct outcome o = run_net(&net, device, 2, place, false);
	for (int k = 0; k < SEQUENCE; k++)
		check_row(&o.run.layer[k], &expected[k], device, k);
	cr_assert(o.run.layer[N1].note && o.run.layer[SM].note && o.run.layer[R1].note,
		  "what is on the host or fused says why");
	check_totals(&o.run, "mixed");
	cr_assert(error_of(&net, o.out) < 0.05, "error %g", error_of(&net, o.out));
	/* a machine that waits stays powered: for the host, for the links and for the other machine */
	const struct npl_device_info *tpu = npl_device_get_info(device[0]);
	double waited = o.run.seconds - o.run.layer[C1].result.seconds;
	const double waiting = joules_of(o.run.energy, o.run.n_energy, "static, waiting"),
		     of_tpu = waited * tpu->static_watts,
		     most_of_other = o.run.seconds * npl_device_get_info(device[1])->static_watts;
	cr_assert(waiting > of_tpu && waiting < of_tpu + most_of_other, "%g J waiting", waiting);
	/* the machine's own part is the one it has in a run of its own */
	struct outcome single = run_net(&net, device, 1, NULL, false);
	cr_assert_str_eq(single.run.layer[C1].output_sha256, o.run.layer[C1].output_sha256);
	cr_assert_eq(single.run.layer[C1].result.cycles, o.run.layer[C1].result.cycles);
	cr_assert_eq(single.run.layer[P1].link_bytes, B, "back to the machine as bytes");
	cr_assert_eq(single.run.layer[SM].link_bytes, Y, "the Gemm's result goes to the host as bytes");
	/* and without values everything but the values is the same */
	struct outcome timed = run_net(&net, device, 2, place, true);
	for (int k = 0; k < SEQUENCE; k++) {
		const struct npl_layer_run *a = &o.run.layer[k], *b = &timed.run.layer[k];
		cr_assert(a->result.cycles == b->result.cycles && a->link_bytes == b->link_bytes &&
				  a->transfers == b->transfers,
			  "row %d", k);
		cr_assert(near(a->host_seconds, b->host_seconds) && near(a->link_seconds, b->link_seconds), "row %d",
			  k);
		cr_assert_str_empty(b->output_sha256);
	}
	cr_assert(!timed.out[0].data && near(timed.run.seconds, o.run.seconds));
	free_outcome(&net, &o);
	free_outcome(&net, &single);
	free_outcome(&net, &timed);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	npl_device_close(host);
	free_net(&net);
}

/* Conv -> Relu; `both`: the convolution's result is an output too, so that the Relu cannot be fused. */
static struct net make_conv_relu(uint64_t *rng, bool both)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){1, 3, 7, 7});
	put_weights(&g, rng, "w", 4, (int64_t[]){5, 3, 3, 3});
	put_weights(&g, rng, "b", 1, (int64_t[]){5});
	onnx_put_node(&g, "Conv", "c", "x w b", "a", NULL);
	onnx_put_node(&g, "Relu", "r", "a", "y", NULL);
	onnx_put_output(&g, "y");
	if (both)
		onnx_put_output(&g, "a");
	return make_net(&g, rng);
}

/* A Relu fused into the layer before it, run on the machine by itself and run on the host: the same values, given the
 * same scales. */
Test(session, fused_relu_equals_unfused)
{
	static const char *const names[] = {"tpu_v1", "diannao", "reference"};
	for (uint64_t seed = 1; seed <= 30; seed++)
		for (int d = 0; d < 3; d++) {
			uint64_t rng = seed, same = seed;
			struct net net = make_conv_relu(&rng, false), both = make_conv_relu(&same, true);
			struct npl_device *device = open_device(names[d]);
			for (int v = 0; v < net.graph->n_values; v++)
				if (!strcmp(net.graph->value[v].name, "y") || !strcmp(net.graph->value[v].name, "a"))
					net.range[v] = (struct npl_range){.low = -3, .high = 4};
			for (int v = 0; v < both.graph->n_values; v++)
				if (!strcmp(both.graph->value[v].name, "y") || !strcmp(both.graph->value[v].name, "a"))
					both.range[v] = (struct npl_range){.low = -3, .high = 4};
			struct outcome fused = run_net(&net, &device, 1, NULL, false);
			struct outcome on_host = run_net(&net, &device, 1, (int[]){0, NPL_ON_HOST}, false);
			struct outcome apart = run_net(&both, &device, 1, NULL, false);
			cr_assert(fused.run.layer[1].role == NPL_FUSED && on_host.run.layer[1].role == NPL_RAN &&
				  apart.run.layer[1].role == NPL_RAN);
			cr_assert(!strcmp(on_host.run.layer[1].ran_on, "host") &&
				  strcmp(apart.run.layer[1].ran_on, "host"));
			check_same_outputs(&net, fused.out, on_host.out, names[d]);
			check_same_outputs(&net, fused.out, apart.out, names[d]);
			bool clipped = false;
			for (int64_t i = 0; i < npl_tensor_count(&fused.out[0]); i++) {
				cr_assert(((float *)fused.out[0].data)[i] >= 0, "a negative result behind a Relu");
				clipped = clipped || ((float *)fused.out[0].data)[i] == 0;
			}
			cr_assert(clipped, "seed %d: the Relu had nothing to do", (int)seed);
			free_outcome(&net, &fused);
			free_outcome(&net, &on_host);
			free_outcome(&both, &apart);
			npl_device_close(device);
			free_net(&net);
			free_net(&both);
		}
}

/* A value read both as it is and through views, a view that is an output, a view of an input: right, and free. */
Test(session, views_move_nothing_and_are_right)
{
	static const char *const names[] = {"reference", "tpu_v1", "diannao", "null"};
	for (int d = 0; d < 4; d++) {
		uint64_t rng = 5;
		struct onnx_writer g = {0}, shape = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){2, 3, 4});
		onnx_put_int64s(&g, "s", 2, (int64_t[]){4, 6});
		onnx_put_node(&g, "Relu", "r1", "x", "a", NULL);
		onnx_put_node(&g, "Flatten", "f1", "a", "b", NULL);
		onnx_put_node(&g, "Reshape", "f2", "b s", "c", &shape);
		onnx_put_node(&g, "Relu", "r2", "a", "y0", NULL);
		onnx_put_node(&g, "Relu", "r3", "c", "y1", NULL);
		onnx_put_node(&g, "Flatten", "f3", "x", "y3", NULL);
		onnx_put_output(&g, "y0");
		onnx_put_output(&g, "y1");
		onnx_put_output(&g, "b");
		onnx_put_output(&g, "y3");
		struct net net = make_net(&g, &rng);
		struct npl_device *device = open_device(names[d]);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		int views = 0;
		for (int i = 0; i < net.graph->n_nodes; i++) {
			const struct npl_layer_run *row = &o.run.layer[i];
			if (row->role != NPL_VIEW)
				continue;
			views++;
			/* only the row that makes an output may bring it to the host */
			bool is_output = net.graph->node[i].out[0] == net.graph->output[2];
			cr_assert(row->result.cycles == 0 && row->result.seconds == 0, "%s: a view took time",
				  names[d]);
			cr_assert(is_output || (row->host_seconds == 0 && row->link_bytes == 0),
				  "%s: a view moved data", names[d]);
		}
		cr_assert_eq(views, 3, "%s: %d views", names[d], views);
		if (strcmp(names[d], "null"))
			cr_assert(error_of(&net, o.out) < 0.01, "%s: %g", names[d], error_of(&net, o.out));
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* Runs of several batches add up; the hashes stay the first batch's; the parts can be freed on their own. */
Test(session, sums_of_runs_add_every_figure)
{
	uint64_t rng = 6;
	struct net net = make_layer_group(&rng);
	struct npl_device *device[] = {open_device("tpu_v1"), open_device("diannao")};
	const int place[SEQUENCE] = {0, 0, NPL_ON_HOST, 1, 1, 1, NPL_ON_HOST};
	struct outcome first = run_net(&net, device, 2, place, false);
	for (int64_t i = 0; i < npl_tensor_count(&net.in[0]); i++)
		((float *)net.in[0].data)[i] *= -0.5f;
	struct outcome second = run_net(&net, device, 2, place, false);
	cr_assert_str_neq(first.run.layer[C1].output_sha256, second.run.layer[C1].output_sha256);
	struct npl_run sum = {0};
	struct npl_err err;
	cr_assert_eq(npl_run_add(&sum, &first.run, &err), 0);
	cr_assert(sum.layer != first.run.layer && sum.cycles == first.run.cycles && sum.seconds == first.run.seconds);
	cr_assert_eq(npl_run_add(&sum, &second.run, &err), 0);
	check_totals(&sum, "the sum");
#define CHECK_COUNT(name) cr_assert_eq(sum.name, first.run.name + second.run.name, #name);
	NPL_RESULT_COUNTS(CHECK_COUNT)
#undef CHECK_COUNT
	cr_assert_eq(sum.link_bytes, 2 * first.run.link_bytes);
	cr_assert(near(sum.seconds, first.run.seconds + second.run.seconds));
	cr_assert(near(npl_energy_sum(sum.energy, sum.n_energy),
		       npl_energy_sum(first.run.energy, first.run.n_energy) +
			       npl_energy_sum(second.run.energy, second.run.n_energy)));
	for (int k = 0; k < SEQUENCE; k++) {
		cr_assert_str_eq(sum.layer[k].output_sha256, first.run.layer[k].output_sha256);
		cr_assert_eq(sum.layer[k].transfers, 2 * first.run.layer[k].transfers);
		for (int c = 0; c < NPL_MAX_COUNTERS; c++)
			cr_assert_eq(sum.layer[k].result.counter[c],
				     first.run.layer[k].result.counter[c] + second.run.layer[k].result.counter[c]);
	}
	first.run.n_layers--;
	cr_assert_eq(npl_run_add(&sum, &first.run, &err), NPL_EINTERNAL, "runs of other networks do not add");
	first.run.n_layers++;
	npl_run_free(&sum);
	free_outcome(&net, &first);
	free_outcome(&net, &second);
	npl_device_close(device[0]);
	npl_device_close(device[1]);
	free_net(&net);
}

/* Operators that machines do not take as they are: the mask of Dropout (a device of float32 gives it), more inputs than
 * a layer has, a product of two activations, constants beside activations. The host does them, exactly. */
Test(session, operators_that_machines_refuse_run_exactly_on_the_host)
{
	static const char *const names[] = {"reference", "tpu_v1", "diannao"};
	for (int d = 0; d < 3; d++) {
		uint64_t rng = 7;
		struct onnx_writer g = {0}, axis = {0};
		char many[8 * 70] = "";
		for (int i = 0; i < 70; i++)
			strcat(many, i ? " a" : "a");
		onnx_put_input(&g, "x", ONNX_FLOAT, 2, (int64_t[]){4, 4});
		put_weights(&g, &rng, "k", 2, (int64_t[]){4, 4});
		onnx_put_node(&g, "Relu", "r", "x", "a", NULL);
		onnx_put_node(&g, "Dropout", "drop", "a", "b mask", NULL);
		onnx_put_attr_int(&axis, "axis", 1);
		onnx_put_node(&g, "Concat", "cat", many, "y1", &axis);
		onnx_put_node(&g, "MatMul", "product", "a b", "p", NULL);
		onnx_put_node(&g, "Add", "sum", "p k", "y2", NULL);
		onnx_put_output(&g, "y1");
		onnx_put_output(&g, "y2");
		onnx_put_output(&g, "mask");
		struct net net = make_net(&g, &rng);
		struct npl_device *device = open_device(names[d]);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		cr_assert_eq(net.graph->n_nodes, 5);
		cr_assert_str_eq(o.run.layer[2].ran_on, "host", "%s", names[d]);
		cr_assert_eq(strcmp(o.run.layer[1].ran_on, "host") == 0, d > 0, "%s", names[d]);
		cr_assert(d == 0 || !strcmp(o.run.layer[3].ran_on, "host"), "%s", names[d]);
		for (int i = 1; i < 5; i++)
			cr_assert(strcmp(o.run.layer[i].ran_on, "host") ||
					  (o.run.layer[i].note && o.run.layer[i].host_seconds > 0),
				  "%s: layer %d", names[d], i);
		cr_assert(error_of(&net, o.out) < 0.02, "%s: %g", names[d], error_of(&net, o.out));
		cr_assert_eq(memcmp(o.out[2].data, net.reference[2].data, npl_tensor_bytes(&o.out[2])), 0,
			     "%s: the mask", names[d]);
		check_totals(&o.run, names[d]);
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* Layers with several results run whole on devices of float32: of an LSTM the sequence, which nobody reads, and its
 * last states; both lists of TopK; the places of MaxPool; slices of unlike sizes. To the bit, and on no host. */
Test(session, layers_with_several_results_run_whole)
{
	static const char *const names[] = {"reference", "cpu"};
	for (int d = 0; d < 2; d++) {
		uint64_t rng = 19;
		struct onnx_writer g = {0}, lstm = {0}, axis = {0}, pool = {0};
		onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){6, 2, 5});
		put_weights(&g, &rng, "w", 3, (int64_t[]){1, 12, 5});
		put_weights(&g, &rng, "r", 3, (int64_t[]){1, 12, 3});
		onnx_put_int64s(&g, "two", 1, (int64_t[]){2});
		onnx_put_int64s(&g, "sizes", 3, (int64_t[]){1, 0, 5});
		onnx_put_attr_int(&lstm, "hidden_size", 3);
		onnx_put_attr_int(&axis, "axis", 0);
		onnx_put_attr_ints(&pool, "kernel_shape", 1, (int64_t[]){2});
		onnx_put_node(&g, "LSTM", "lstm", "x w r", "y h c", &lstm);
		onnx_put_node(&g, "TopK", "top", "h two", "most where", NULL);
		onnx_put_node(&g, "MaxPool", "pool", "x", "p at", &pool);
		onnx_put_node(&g, "Split", "split", "x sizes", "s0 s1 s2", &axis);
		onnx_put_output(&g, "c");
		onnx_put_output(&g, "most");
		onnx_put_output(&g, "where");
		onnx_put_output(&g, "p");
		onnx_put_output(&g, "at");
		onnx_put_output(&g, "s2");
		struct net net = make_net(&g, &rng);
		struct npl_device *device = open_device(names[d]);
		struct outcome o = run_net(&net, &device, 1, NULL, false);
		cr_assert_eq(net.graph->n_nodes, 4);
		for (int i = 0; i < 4; i++)
			cr_assert_str_eq(o.run.layer[i].ran_on, names[d], "layer %d: %s", i, o.run.layer[i].note);
		if (!d)
			check_same_outputs(&net, o.out, net.reference, names[d]);
		cr_assert_lt(error_of(&net, o.out), 1e-5, "the cpu adds up an LSTM's products in another order");
		for (int i = 2; i <= 4; i += 2)
			cr_assert_arr_eq(o.out[i].data, net.reference[i].data, npl_tensor_bytes(&o.out[i]));
		check_totals(&o.run, names[d]);
		free_outcome(&net, &o);
		npl_device_close(device);
		free_net(&net);
	}
}

/* Why a machine does not run such a layer: that it has no such operator at all comes before the number of results. */
Test(session, reasons_of_several_results)
{
	uint64_t rng = 21;
	struct onnx_writer g = {0}, lstm = {0}, pool = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 3, (int64_t[]){6, 2, 5});
	put_weights(&g, &rng, "w", 3, (int64_t[]){1, 12, 5});
	put_weights(&g, &rng, "r", 3, (int64_t[]){1, 12, 3});
	onnx_put_input(&g, "image", ONNX_FLOAT, 4, (int64_t[]){1, 2, 4, 4});
	onnx_put_attr_int(&lstm, "hidden_size", 3);
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "LSTM", "lstm", "x w r", "y h", &lstm);
	onnx_put_node(&g, "MaxPool", "pool", "image", "p at", &pool);
	onnx_put_output(&g, "h");
	onnx_put_output(&g, "p");
	onnx_put_output(&g, "at");
	struct net net = make_net(&g, &rng);
	struct npl_device *device = open_device("tpu_v1");
	struct outcome o = run_net(&net, &device, 1, NULL, false);
	cr_assert_str_eq(o.run.layer[0].note, "the machine has no LSTM");
	cr_assert(strstr(o.run.layer[1].note, "gives only its first result"), "%s", o.run.layer[1].note);
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}

/* The energy of a real device is not known: a run that used one has no sum, though its other parts are known. */
Test(session, unknown_energy_stays_unknown)
{
	uint64_t rng = 8;
	struct net net = make_layer_group(&rng);
	struct npl_device *device[] = {open_device("tpu_v1"), open_device("reference"), open_device("null")};
	char buf[300];
	struct outcome o = run_net(&net, device, 3, (int[SEQUENCE]){0, 0, 1, 1, 1, 1, 1}, false);
	cr_assert(isnan(npl_energy_sum(o.run.energy, o.run.n_energy)));
	cr_assert(strstr(npl_energy_origins(o.run.energy, o.run.n_energy, buf, sizeof buf), "absent"), "%s", buf);
	cr_assert(isnan(npl_energy_sum(o.run.layer[FC].result.energy, o.run.layer[FC].result.n_energy)));
	free_outcome(&net, &o);
	o = run_net(&net, device + 2, 1, NULL, false);
	cr_assert(o.run.n_energy == 0 && o.run.seconds == 0, "null costs nothing and tells nothing");
	free_outcome(&net, &o);
	for (int i = 0; i < 3; i++)
		npl_device_close(device[i]);
	free_net(&net);
}

/* One more layer after value `from` (a number): Conv, Relu, pools, LRN, Dropout, an Add of two values. */
static void put_random_layer(struct onnx_writer *g, uint64_t *rng, int from)
{
	struct onnx_writer attrs = {0};
	char in[48], out[16], name[16];
	int kind = (int)test_range(rng, 0, 7);
	snprintf(in, sizeof in, "v%d", from);
	snprintf(out, sizeof out, "v%d", from + 1);
	snprintf(name, sizeof name, "n%d", from);
	static const char *const op[] = {"Conv", "Conv", "Relu", "MaxPool", "AveragePool", "LRN", "Add", "Dropout"};
	if (kind < 2) {
		char weight[16];
		snprintf(weight, sizeof weight, "w%d", from);
		put_weights(g, rng, weight, 4, (int64_t[]){3, 3, 3, 3});
		snprintf(in, sizeof in, "v%d %s", from, weight);
	}
	if (kind < 2 || kind == 3 || kind == 4)
		onnx_put_attr_ints(&attrs, "pads", 4, (int64_t[]){1, 1, 1, 1});
	if (kind == 3 || kind == 4)
		onnx_put_attr_ints(&attrs, "kernel_shape", 2, (int64_t[]){3, 3});
	if (kind == 5)
		onnx_put_attr_int(&attrs, "size", 3);
	if (kind == 6)
		snprintf(in, sizeof in, "v%d v%d", from, (int)test_range(rng, 0, from));
	onnx_put_node(g, op[kind], name, in, out, &attrs);
}

/* Random networks with every layer on a random device or the host: near the float result, with totals that are sums,
 * and the same cost without values. */
Test(session, random_networks_and_placements)
{
	struct npl_device *device[] = {open_device("tpu_v1"), open_device("diannao"), open_device("reference")};
	for (uint64_t seed = 1; seed <= 150; seed++) {
		uint64_t rng = seed * 7919;
		struct onnx_writer g = {0};
		int layers = (int)test_range(&rng, 1, 6), place[16];
		char subject[40], last[16];
		onnx_put_input(&g, "v0", ONNX_FLOAT, 4,
			       (int64_t[]){test_range(&rng, 1, 2), 3, test_range(&rng, 3, 6), test_range(&rng, 3, 6)});
		for (int i = 0; i < layers; i++)
			put_random_layer(&g, &rng, i);
		snprintf(last, sizeof last, "v%d", layers);
		onnx_put_output(&g, last);
		struct net net = make_net(&g, &rng);
		snprintf(subject, sizeof subject, "seed %d", (int)seed);
		cr_assert(net.graph->n_nodes <= 16);
		for (int i = 0; i < net.graph->n_nodes; i++)
			place[i] = (int)test_range(&rng, NPL_ON_HOST, 2);
		struct outcome o = run_net(&net, device, 3, place, false);
		check_totals(&o.run, subject);
		cr_assert(error_of(&net, o.out) < 0.12, "%s: error %g", subject, error_of(&net, o.out));
		for (int i = 0; i < net.graph->n_nodes; i++) /* the reference cannot run without values */
			place[i] = place[i] == 2 ? NPL_ON_HOST : place[i];
		struct outcome full = run_net(&net, device, 2, place, false),
			       timed = run_net(&net, device, 2, place, true);
		cr_assert(full.run.cycles == timed.run.cycles && full.run.link_bytes == timed.run.link_bytes, "%s",
			  subject);
		cr_assert(near(full.run.seconds, timed.run.seconds), "%s", subject);
		free_outcome(&net, &o);
		free_outcome(&net, &full);
		free_outcome(&net, &timed);
		free_net(&net);
	}
	for (int i = 0; i < 3; i++)
		npl_device_close(device[i]);
}

/* A program that uses the library may name a device as it likes. A row tells by `device` where it ran. */
Test(session, a_device_named_host_is_a_device)
{
	uint64_t rng = 1;
	struct net net = make_conv_relu(&rng, false);
	struct npl_device *device;
	struct npl_err err = {0};
	cr_assert_eq(npl_device_open("tpu_v1", &(struct npl_device_options){.instance = "host"}, &device, &err), 0,
		     "%s", err.msg);
	struct outcome o = run_net(&net, &device, 1, (int[]){0, NPL_ON_HOST}, false);
	const struct npl_layer_run *conv = &o.run.layer[0], *relu = &o.run.layer[1];
	cr_assert_str_eq(conv->ran_on, relu->ran_on);
	cr_assert(conv->device == 0 && !npl_row_on_host(conv));
	cr_assert(relu->device == NPL_ON_HOST && npl_row_on_host(relu));
	cr_assert(o.run.device_macs > 0 && o.run.device_macs == conv->result.macs);
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}
