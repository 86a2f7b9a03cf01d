/* SPDX-License-Identifier: MIT
 *
 * What a session promises of LRN on diannao. The host squares, the machine makes the factor and the host multiplies;
 * the node's row has all three and is charged for them. The result is near the float reference. The host runs all of an
 * LRN that the machine refuses, and all of LRN on every other device. The light AlexNet runs in this way. */
#include <unistd.h>

#include "tests/kit/host.h"
#include "tests/kit/session_net.h"

struct lrn {
	int64_t size;
	float alpha, beta, bias;
};

static const struct lrn alexnet = {5, 1e-4f, 0.75f, 1};

static void put_lrn(struct onnx_writer *g, const struct lrn *lrn, const char *name, const char *in, const char *out)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_int(&attrs, "size", lrn->size);
	onnx_put_attr_float(&attrs, "alpha", lrn->alpha);
	onnx_put_attr_float(&attrs, "beta", lrn->beta);
	onnx_put_attr_float(&attrs, "bias", lrn->bias);
	onnx_put_node(g, "LRN", name, in, out, &attrs);
}

static void put_scaled(struct onnx_writer *g, uint64_t *rng, const char *name, const int64_t *dims, float size)
{
	int64_t n = onnx_count(4, dims);
	float *w = random_floats(rng, n);
	for (int64_t i = 0; i < n; i++)
		w[i] *= size;
	onnx_put_floats(g, name, 4, dims, w);
	free(w);
}

/* x (2,3,8,8) -> Conv c1 -> Relu r1 -> LRN n1 -> Conv c2 -> LRN n2 -> y, LRN's result at the end and in between;
 * `size`: of c1's weights, its results are about three times so much. */
static struct net make_lrn_net(uint64_t *rng, const struct lrn *lrn, float size)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", ONNX_FLOAT, 4, (int64_t[]){2, 3, 8, 8});
	put_scaled(&g, rng, "w1", (int64_t[]){24, 3, 3, 3}, size);
	put_scaled(&g, rng, "w2", (int64_t[]){20, 24, 3, 3}, 0.3f);
	onnx_put_node(&g, "Conv", "c1", "x w1", "a", NULL);
	onnx_put_node(&g, "Relu", "r1", "a", "b", NULL);
	put_lrn(&g, lrn, "n1", "b", "c");
	onnx_put_node(&g, "Conv", "c2", "c w2", "d", NULL);
	put_lrn(&g, lrn, "n2", "d", "y");
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

static double decibels(const struct npl_tensor *expected, const struct npl_tensor *actual)
{
	double signal = 0, noise = 0;
	for (int64_t i = 0; i < npl_tensor_count(expected); i++) {
		double w = ((float *)expected->data)[i], e = ((float *)actual->data)[i] - w;
		signal += w * w;
		noise += e * e;
	}
	return 10 * log10(signal / noise);
}

/* What the machine multiplied. */
static uint64_t useful_macs(const struct npl_layer_run *row)
{
	for (size_t i = 0; i < row->n_counters; i++)
		if (!strcmp(row->counter_def[i].name, "useful_macs"))
			return row->result.counter[i];
	return UINT64_MAX;
}

/* The error is that of 16 segments in three cases: t stays near the bias, great squares take it over many segments, or
 * a great alpha does. */
Test(session_lrn, is_near_the_float_reference)
{
	static const struct {
		struct lrn lrn;
		float size;
		double least_db, most_error; /* with all of LRN on the host: 63 to 66 dB */
	} cases[] = {{{5, 1e-4f, 0.75f, 1}, 1, 63, 0.001},
		     {{5, 1e-4f, 0.75f, 2}, 1, 63, 0.001},
		     {{5, 1e-4f, 0.75f, 1}, 50, 48, 0.01},
		     {{3, 0.05f, 0.75f, 1}, 1, 49, 0.006},
		     {{8, 0.1f, 0.5f, 1}, 1, 53, 0.003}};
	struct npl_device *device = open_device("diannao");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			uint64_t rng = seed;
			struct net net = make_lrn_net(&rng, &cases[i].lrn, cases[i].size);
			struct outcome o = run_net(&net, &device, 1, NULL, false);
			for (int k = 0; k < o.run.n_layers; k++)
				cr_assert_str_eq(o.run.layer[k].ran_on, "diannao", "%s: %s", net.graph->node[k].name,
						 o.run.layer[k].note);
			cr_assert(row_of(&net, &o, "n1")->host_part && row_of(&net, &o, "n2")->host_part);
			cr_assert(!row_of(&net, &o, "c2")->host_part);
			double db = decibels(&net.reference[0], &o.out[0]), error = error_of(&net, o.out);
			cr_expect(db > cases[i].least_db && error < cases[i].most_error,
				  "case %zu, seed %d: %.1f dB, error %g", i, (int)seed, db, error);
			cr_assert_eq(o.run.saturations, 0);
			check_totals(&o.run, "LRN");
			free_outcome(&net, &o);
			free_net(&net);
		}
	npl_device_close(device);
}

/* One row: x comes and is converted, squared, squares are converted and go, the factor comes and is converted, and the
 * product. By hand, and the same without values. */
Test(session_lrn, squares_factor_and_product_are_charged)
{
	uint64_t rng = 4;
	struct net net = make_lrn_net(&rng, &alexnet, 1);
	static const char *const sets[] = {"memory.host_latency_seconds=3e-6"};
	struct npl_device *device = open_device_set("diannao", 1, sets);
	struct npl_device *host = kit_open_host();
	struct outcome o = run_net(&net, &device, 1, NULL, false), timed = run_net(&net, &device, 1, NULL, true);
	const struct npl_layer_run *row = row_of(&net, &o, "n1"), *other = row_of(&net, &timed, "n1");
	const struct npl_link *link = &npl_device_get_info(device)->link;
	enum { N = 2 * 24 * 6 * 6 };
	const struct kit_cost conversion = kit_host_cost(host, N, 0, N * 6), square = kit_host_cost(host, N, 0, N * 8),
			      product = kit_host_cost(host, N, 0, N * 12);
	cr_assert(near(row->host_seconds, 3 * conversion.seconds + square.seconds + product.seconds), "%g s",
		  row->host_seconds);
	cr_assert(row->transfers == 3 && row->link_bytes == 3 * N * 2);
	cr_assert(near(row->link_seconds, 3 * (3e-6 + N * 2 / link->bytes_per_second)), "%g s", row->link_seconds);
	cr_assert_eq(row->result.macs, 0, "the network has none here");
	cr_assert_eq(useful_macs(row), 2 * 6 * 6 * (24 * 5 - 2 * (2 + 1)), "windows of 5 less what is beyond the ends");
	cr_assert(row->result.cycles > 0 && row->n_counters > 0 && row->counter_def);
	cr_assert(near(joules_of(row->result.energy, row->result.n_energy, "host"),
		       3 * conversion.joules + square.joules + product.joules));
	cr_assert(strstr(row->note, "squares"), "%s", row->note);
	cr_assert(row->output_dtype == NPL_F32 && *row->output_sha256 && !*other->output_sha256);
	cr_assert(row->result.cycles == other->result.cycles && near(row->host_seconds, other->host_seconds) &&
		  near(row->link_seconds, other->link_seconds) && row->transfers == other->transfers);
	cr_assert(near(o.run.seconds, timed.run.seconds));
	check_totals(&o.run, "three steps");
	free_outcome(&net, &o);
	free_outcome(&net, &timed);
	npl_device_close(host);
	npl_device_close(device);
	free_net(&net);
}

static void check_on_host(const struct lrn *lrn, float size, const char *device_name, const int *place,
			  const char *reason)
{
	uint64_t rng = 6;
	struct net net = make_lrn_net(&rng, lrn, size);
	struct npl_device *device = open_device(device_name);
	struct outcome o = run_net(&net, &device, 1, place, false);
	const struct npl_layer_run *row = row_of(&net, &o, "n1");
	cr_assert_str_eq(row->ran_on, "host", "%s", device_name);
	cr_assert(!row->host_part && row->result.cycles == 0 && row->result.macs == 0);
	cr_assert(strstr(row->note, reason), "%s", row->note);
	free_outcome(&net, &o);
	npl_device_close(device);
	free_net(&net);
}

Test(session_lrn, the_host_runs_all_of_an_lrn_that_the_machine_refuses)
{
	const struct lrn steep = {5, 1, 3, 0.6f}, large = {5, 1e4f, 0.75f, 1};
	check_on_host(&steep, 1, "diannao", NULL, "NFU-3");
	check_on_host(&large, 1, "diannao", NULL, "NFU-3's segments miss t to the power of -0.75");
	check_on_host(&alexnet, 1, "tpu_v1", NULL, "");
	check_on_host(&alexnet, 1, "diannao", (int[]){0, 0, NPL_ON_HOST, 0, 0}, "placed there");
}

/* LRN on diannao, the convolutions on device `other` of three, or on the host. */
static void check_placed(uint64_t seed, struct npl_device *const *device, int other, double least_db)
{
	uint64_t rng = seed;
	const int place[] = {other, other, 0, other, 0};
	struct net net = make_lrn_net(&rng, &alexnet, 1);
	struct outcome o = run_net(&net, device, 3, place, false);
	const struct npl_layer_run *row = row_of(&net, &o, "n1");
	cr_assert(!strcmp(row->ran_on, "diannao") && row->host_part, "%s", row->note);
	double db = decibels(&net.reference[0], &o.out[0]);
	cr_assert(db > least_db, "%d: %.1f dB", other, db);
	check_totals(&o.run, "placed");
	free_outcome(&net, &o);
	free_net(&net);
}

/* Placed there by itself, with the host, the reference or the TPU before and after, which computes in 8 bits. */
Test(session_lrn, rules_place_lrn_beside_other_devices)
{
	struct npl_device *device[] = {open_device("diannao"), open_device("reference"), open_device("tpu_v1")};
	for (uint64_t seed = 1; seed <= 5; seed++) {
		check_placed(seed, device, NPL_ON_HOST, 57);
		check_placed(seed, device, 1, 57);
		check_placed(seed, device, 2, 25);
	}
	for (int d = 0; d < 3; d++)
		npl_device_close(device[d]);
}

/* Both normalisations of AlexNet's shapes. Its weights are all alike, so what comes out says nothing of accuracy. */
Test(session_lrn, both_normalisations_of_alexnet_run)
{
	static const char path[] = "../shared/models/light/light_bvlc_alexnet.onnx";
	if (access(path, R_OK))
		cr_skip_test("%s is not there", path);
	struct npl_graph *graph;
	struct npl_session *session;
	struct npl_run run = {0};
	struct npl_err err;
	struct npl_device *device = open_device("diannao");
	struct npl_session_options options = {.n_devices = 1, .device = &device, .plan.timing_only = true};
	cr_assert_eq(npl_graph_load(path, NULL, &graph, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_session_open(graph, &options, &session, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_session_run(session, NULL, NULL, &run, &err), 0, "%s", err.msg);
	int normalised = 0;
	for (int i = 0; i < run.n_layers; i++) {
		const struct npl_node *node = &graph->node[i];
		if (node->op != NPL_OP_LRN)
			continue;
		const struct npl_shape *shape = &graph->value[node->in[0]].shape;
		uint64_t pairs = (uint64_t)(shape->dim[2] * shape->dim[3] * (5 * shape->dim[1] - 6));
		cr_assert(!strcmp(run.layer[i].ran_on, "diannao") && run.layer[i].host_part, "%s", run.layer[i].note);
		cr_assert_eq(useful_macs(&run.layer[i]), pairs);
		normalised++;
	}
	cr_assert_eq(normalised, 2);
	npl_run_free(&run);
	npl_session_close(session);
	npl_graph_free(graph);
	npl_device_close(device);
}
