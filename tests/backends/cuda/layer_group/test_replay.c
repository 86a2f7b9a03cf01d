/* SPDX-License-Identifier: MIT
 *
 * Layer groups that are launched as one CUDA graph (replay.h), on the fake CUDA. The first run of a group launches its
 * layers one by one, the second captures them in a graph and launches it, and later runs launch the same graph. Values,
 * times and saturations of all runs are those of layers that are launched one by one. So they are with other inputs,
 * after the memory of values has moved, and where a library cannot be captured. */
#include <stdlib.h>
#include <string.h>

#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/session_net.h"

TestSuite(cuda_replay, .init = cuda_fake_open);

static const char *const precisions[] = {"precision=f32", "precision=tf32", "precision=f16", "precision=bf16",
					 "precision=int8"};

/* A network with convolutions, a product and npulab's own kernels. Its images are width x width. */
static struct net convolutions(uint64_t *rng, int64_t width)
{
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", 1, 4, (int64_t[]){2, 3, width, width});
	put_weights(&g, rng, "w1", 4, (int64_t[]){8, 3, 3, 3});
	put_weights(&g, rng, "b1", 1, (int64_t[]){8});
	put_weights(&g, rng, "w2", 4, (int64_t[]){4, 8, 1, 1});
	put_weights(&g, rng, "w3", 2, (int64_t[]){4, 5});
	put_weights(&g, rng, "b3", 1, (int64_t[]){5});
	onnx_put_node(&g, "Conv", "conv1", "x w1 b1", "a", NULL);
	onnx_put_node(&g, "Relu", "relu", "a", "b", NULL);
	onnx_put_node(&g, "Conv", "conv2", "b w2", "c", NULL);
	onnx_put_node(&g, "GlobalAveragePool", "mean", "c", "d", NULL);
	onnx_put_node(&g, "Flatten", "flatten", "d", "e", NULL);
	onnx_put_node(&g, "Gemm", "fc", "e w3 b3", "y", NULL);
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, rng);
	for (int v = 0; v < net.graph->n_values; v++) { /* half the range, so that some values saturate */
		net.range[v].low /= 2;
		net.range[v].high /= 2;
	}
	return net;
}

/* A run, and the work that the fake GPU counted for it. */
struct replayed {
	struct npl_tensor out[MOST];
	struct npl_run run;
	long launches, products, convolutions;
};

static struct npl_session *open_session(const struct net *net, struct npl_device **device)
{
	struct npl_session *session;
	struct npl_err err = {0};
	const struct npl_session_options options = {.n_devices = 1, .device = device, .ranges = net->range};
	cr_assert_eq(npl_session_open(net->graph, &options, &session, &err), 0, "%s", err.msg);
	npl_session_hash(session, false); /* hashes need every result, so that there would be no graph */
	return session;
}

static void run(struct npl_session *session, const struct net *net, struct replayed *r)
{
	struct npl_err err = {0};
	*r = (struct replayed){0};
	cu_fake.launches = cu_fake.products = cu_fake.convolutions = 0;
	cr_assert_eq(npl_session_run(session, net->in, r->out, &r->run, &err), 0, "%s", err.msg);
	r->launches = cu_fake.launches;
	r->products = cu_fake.products;
	r->convolutions = cu_fake.convolutions;
}

static void free_replayed(const struct net *net, struct replayed *r)
{
	for (int i = 0; i < net->graph->n_outputs; i++)
		npl_tensor_free(&r->out[i]);
	npl_run_free(&r->run);
}

/* Both runs have the same outputs, the same seconds and saturations of each layer, and the same work on the GPU. */
static void check_same(const struct net *net, const struct replayed *a, const struct replayed *b, const char *label)
{
	cr_assert_eq(a->launches, b->launches, "%s", label);
	cr_assert_eq(a->products, b->products, "%s", label);
	cr_assert_eq(a->convolutions, b->convolutions, "%s", label);
	for (int i = 0; i < net->graph->n_outputs; i++)
		cr_assert_eq(memcmp(a->out[i].data, b->out[i].data, npl_tensor_bytes(&a->out[i])), 0, "%s", label);
	for (int l = 0; l < a->run.n_layers; l++) {
		const struct npl_result *x = &a->run.layer[l].result, *y = &b->run.layer[l].result;
		cr_assert_float_eq(x->seconds, y->seconds, 1e-9, "%s, layer %d: %g and %g s", label, l, x->seconds,
				   y->seconds);
		cr_assert_eq(x->saturations, y->saturations, "%s, layer %d", label, l);
	}
}

/* Reverses the order of the elements of each input. */
static void reverse_inputs(struct net *net)
{
	for (int i = 0; i < net->graph->n_inputs; i++) {
		float *value = net->in[i].data;
		for (int64_t k = 0, n = npl_tensor_count(&net->in[i]); k < n / 2; k++) {
			const float first = value[k];
			value[k] = value[n - 1 - k];
			value[n - 1 - k] = first;
		}
	}
}

Test(cuda_replay, a_graph_gives_the_values_and_times_of_single_launches)
{
	uint64_t rng = 0xc4a20001;
	struct net net = convolutions(&rng, 9);
	for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
		struct npl_device *cuda = open_device_set("cuda", 1, &precisions[p]);
		struct npl_session *session = open_session(&net, &cuda);
		struct replayed single, captured, again;
		cu_fake.graphs = cu_fake.replays = 0;
		run(session, &net, &single);
		cr_assert_eq(cu_fake.replays, 0, "%s: the first run compiles its kernels", precisions[p]);
		run(session, &net, &captured);
		run(session, &net, &again);
		cr_assert_eq(cu_fake.graphs, 1, "%s", precisions[p]);
		cr_assert_eq(cu_fake.replays, 2, "%s", precisions[p]);
		check_same(&net, &single, &captured, precisions[p]);
		check_same(&net, &single, &again, precisions[p]);
		cr_assert(p < 4 || single.run.layer[0].result.saturations > 0, "nothing saturates");
		free_replayed(&net, &single);
		free_replayed(&net, &captured);
		free_replayed(&net, &again);
		npl_session_close(session);
		npl_device_close(cuda);
		cuda_fake_check(precisions[p]);
	}
	free_net(&net);
}

Test(cuda_replay, a_graph_reads_the_inputs_of_its_run)
{
	uint64_t rng = 0xc4a20002;
	struct net net = convolutions(&rng, 9);
	struct npl_device *cuda = open_device_set("cuda", 1, &precisions[0]);
	struct npl_session *replaying = open_session(&net, &cuda);
	struct replayed first, second, expected;
	run(replaying, &net, &first);
	free_replayed(&net, &first);
	run(replaying, &net, &first);
	reverse_inputs(&net);
	run(replaying, &net, &second);
	struct npl_session *single = open_session(&net, &cuda);
	run(single, &net, &expected);
	cr_assert_neq(memcmp(first.out[0].data, second.out[0].data, npl_tensor_bytes(&first.out[0])), 0);
	check_same(&net, &expected, &second, "other inputs");
	free_replayed(&net, &first);
	free_replayed(&net, &second);
	free_replayed(&net, &expected);
	npl_session_close(single);
	npl_session_close(replaying);
	npl_device_close(cuda);
	cuda_fake_close();
	free_net(&net);
}

/* A larger network on the same device needs more memory for values, which is allocated anew at another address. */
Test(cuda_replay, a_group_is_captured_again_when_the_memory_of_values_has_moved)
{
	uint64_t rng = 0xc4a20003;
	struct net net = convolutions(&rng, 9), large = convolutions(&rng, 64);
	struct npl_device *cuda = open_device_set("cuda", 1, &precisions[2]);
	struct npl_session *session = open_session(&net, &cuda), *other = open_session(&large, &cuda);
	struct replayed single, captured, moved, of_large;
	cu_fake.graphs = 0; /* without the graphs in which algorithms were measured */
	run(session, &net, &single);
	run(session, &net, &captured);
	run(other, &large, &of_large);
	cr_assert_eq(cu_fake.graphs, 1);
	run(session, &net, &moved);
	cr_assert_eq(cu_fake.graphs, 2, "the old graph would write to the old address");
	check_same(&net, &single, &moved, "moved");
	free_replayed(&net, &single);
	free_replayed(&net, &captured);
	free_replayed(&net, &moved);
	free_replayed(&large, &of_large);
	npl_session_close(session);
	npl_session_close(other);
	npl_device_close(cuda);
	cuda_fake_close();
	free_net(&net);
	free_net(&large);
}

Test(cuda_replay, layers_are_launched_one_by_one_where_a_library_cannot_be_captured)
{
	uint64_t rng = 0xc4a20004;
	struct net net = convolutions(&rng, 9);
	struct npl_device *cuda = open_device_set("cuda", 1, &precisions[0]);
	struct npl_session *session = open_session(&net, &cuda);
	struct replayed first, later;
	cu_fake.no_capture = true;
	run(session, &net, &first);
	for (int i = 0; i < 2; i++) {
		run(session, &net, &later);
		check_same(&net, &first, &later, "without a capture");
		free_replayed(&net, &later);
	}
	const long calls = cu_fake.calls;
	run(session, &net, &later);
	cr_assert_lt(cu_fake.calls - calls, 100, "the capture is not tried again");
	cr_assert_eq(cu_fake.graphs + cu_fake.replays, 0);
	free_replayed(&net, &later);
	free_replayed(&net, &first);
	npl_session_close(session);
	npl_device_close(cuda);
	cuda_fake_close();
	free_net(&net);
}
