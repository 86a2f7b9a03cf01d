/* SPDX-License-Identifier: MIT
 *
 * Whole networks on the cuda device over a fake CUDA: results within the precision's digits of the reference, in int8
 * the reference's bits; everything between stays on the GPU, weights and constants cross the link once; transfers are
 * timed apart; memory is shared by lifetime. Every call may fail and the GPU's memory may be of any size: that gives
 * one clear error, leaves nothing behind, and the next run works. */
#include <stdlib.h>

#include "npulab/single_layer.h"
#include "tests/kit/cuda/fake_device.h"
#include "tests/kit/recurrent_net.h"

TestSuite(cuda_layer_group, .init = cuda_fake_open);

static struct onnx_writer pads_of(int64_t n)
{
	struct onnx_writer attrs = {0};
	onnx_put_attr_ints(&attrs, "pads", 4, (int64_t[]){n, n, n, n});
	return attrs;
}

/* Builds a network with a residual block, a constant factor, poolings and a classifier. Its outputs are p in the
 * middle and y at the end. */
static struct net small_cnn(uint64_t *rng)
{
	struct onnx_writer g = {0}, pads1 = pads_of(1), pads2 = pads_of(1), pool = {0};
	onnx_put_input(&g, "x", 1, 4, (int64_t[]){2, 3, 7, 7});
	put_weights(&g, rng, "w1", 4, (int64_t[]){8, 3, 3, 3});
	put_weights(&g, rng, "b1", 1, (int64_t[]){8});
	put_weights(&g, rng, "w2", 4, (int64_t[]){8, 8, 3, 3});
	put_weights(&g, rng, "k", 4, (int64_t[]){1, 8, 1, 1});
	put_weights(&g, rng, "w3", 2, (int64_t[]){8, 5});
	put_weights(&g, rng, "b3", 1, (int64_t[]){5});
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "Conv", "conv1", "x w1 b1", "a", &pads1);
	onnx_put_node(&g, "Relu", "relu1", "a", "b", NULL);
	onnx_put_node(&g, "Conv", "conv2", "b w2", "c", &pads2);
	onnx_put_node(&g, "Add", "add", "c b", "d", NULL);
	onnx_put_node(&g, "Relu", "relu2", "d", "e", NULL);
	onnx_put_node(&g, "Mul", "scale", "e k", "m", NULL);
	onnx_put_node(&g, "MaxPool", "pool", "m", "p", &pool);
	onnx_put_node(&g, "GlobalAveragePool", "mean", "p", "q", NULL);
	onnx_put_node(&g, "Flatten", "flatten", "q", "f", NULL);
	onnx_put_node(&g, "Gemm", "fc", "f w3 b3", "s", NULL);
	onnx_put_node(&g, "Softmax", "softmax", "s", "y", NULL);
	onnx_put_output(&g, "p");
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

static struct npl_device *open_cuda(const char *precision)
{
	return open_device_set("cuda", 1, (const char *[]){precision});
}

Test(cuda_layer_group, networks_come_out_as_the_reference_has_them)
{
	static const struct {
		const char *set;
		double limit;
	} cases[] = {
		{"precision=f32", 1e-5}, {"precision=tf32", 4e-3}, {"precision=f16", 4e-3}, {"precision=bf16", 4e-2}};
	uint64_t rng = 0xc4a10001;
	for (int round = 0; round < 3; round++) {
		struct net net = small_cnn(&rng);
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			struct npl_device *cuda = open_cuda(cases[i].set);
			struct outcome o = run_net(&net, &cuda, 1, NULL, false);
			cr_assert_lt(error_of(&net, o.out), cases[i].limit, "%s: %g", cases[i].set,
				     error_of(&net, o.out));
			check_totals(&o.run, cases[i].set);
			for (int l = 0; l < o.run.n_layers; l++)
				cr_assert(strcmp(o.run.layer[l].ran_on, "host"), "%s: %s", cases[i].set,
					  o.run.layer[l].note);
			free_outcome(&net, &o);
			npl_device_close(cuda);
			cuda_fake_check(cases[i].set);
		}
		free_net(&net);
	}
}

Test(cuda_layer_group, int8_networks_have_the_bits_of_the_reference)
{
	uint64_t rng = 0xc4a10002, saturations = 0;
	for (int round = 0; round < 4; round++) {
		struct net net = small_cnn(&rng);
		for (int v = 0; v < net.graph->n_values && round > 1; v++) { /* values that calibration did not see */
			net.range[v].low /= 2;
			net.range[v].high /= 2;
		}
		struct npl_device *cuda = open_cuda("precision=int8"),
				  *reference = open_device_set("reference", 1, (const char *[]){"precision=int8"});
		cu_fake.missing[CU_FAKE_DNN] = round % 2;
		struct outcome a = run_net(&net, &cuda, 1, NULL, false), b = run_net(&net, &reference, 1, NULL, false);
		int in_float = 0;
		for (int i = 0; i < net.graph->n_nodes; i++) {
			const struct npl_layer_run *row = &a.run.layer[i];
			bool is_float = row->note && !strncmp(row->note, "in float32", 10);
			in_float += is_float;
			if (!is_float)
				cr_assert_str_eq(row->output_sha256, b.run.layer[i].output_sha256, "%s",
						 net.graph->node[i].name);
			cr_assert(row->role != NPL_RAN || !strcmp(row->ran_on, "cuda"), "%s is left to %s",
				  net.graph->node[i].name, row->ran_on);
		}
		cr_assert_gt(in_float, 0);
		for (int i = 0; i < net.graph->n_nodes; i++) {
			const struct npl_layer_run *row = &a.run.layer[i], *expected = &b.run.layer[i];
			saturations += row->result.saturations;
			if (row->role == NPL_RAN && expected->role == NPL_RAN)
				cr_assert_eq(row->result.saturations, expected->result.saturations,
					     "%s: %llu, expected %llu", net.graph->node[i].name,
					     (unsigned long long)row->result.saturations,
					     (unsigned long long)expected->result.saturations);
		}
		cr_assert_str_eq(row_of(&net, &a, "conv2")->ran_on, "cuda");
		cr_assert_str_eq(row_of(&net, &a, "fc")->ran_on, "cuda");
		free_outcome(&net, &a);
		free_outcome(&net, &b);
		npl_device_close(cuda);
		npl_device_close(reference);
		cuda_fake_check("int8");
		free_net(&net);
	}
	cr_assert_gt(saturations, 20, "too few to mean something: %llu", (unsigned long long)saturations);
}

/* What crosses the link in a run: the input and the two outputs, in float32 whatever the GPU computes in. */
Test(cuda_layer_group, values_between_layers_stay_on_the_gpu)
{
	uint64_t rng = 0xc4a10003;
	struct net net = small_cnn(&rng);
	struct npl_device *cuda = open_cuda("precision=f16");
	struct outcome o = run_net(&net, &cuda, 1, NULL, false);
	const uint64_t up = 2 * 3 * 7 * 7 * 4, down = 2 * 8 * 6 * 6 * 4 + 2 * 5 * 4;
	cr_assert_eq(o.run.link_bytes, up + down, "%llu", (unsigned long long)o.run.link_bytes);
	cr_assert_eq(row_of(&net, &o, "conv1")->link_bytes, up);
	cr_assert_eq(row_of(&net, &o, "softmax")->link_bytes, 2 * 5 * 4);
	cr_assert_eq(row_of(&net, &o, "add")->link_bytes, 0);
	cr_assert(o.run.link_seconds > 0 && o.run.device_seconds > 0 && o.run.host_seconds <= 0);
	cr_assert(near(o.run.seconds, o.run.link_seconds + o.run.device_seconds));
	for (int r = 0; r < o.run.n_resources; r++)
		if (o.run.resource[r].kind == NPL_RESOURCE_LINK) {
			cr_assert_eq(o.run.resource[r].bytes, up + down);
			cr_assert(near(o.run.resource[r].busy_seconds, o.run.link_seconds));
		}
	struct npl_run again;
	struct npl_tensor out[MOST] = {{0}};
	struct npl_err err;
	npl_session_hash(o.session, false);
	cu_fake.bytes_up = cu_fake.bytes_down = 0;
	cr_assert_eq(npl_session_run(o.session, net.in, out, &again, &err), 0, "%s", err.msg);
	cr_assert_eq(cu_fake.bytes_up, up, "weights and constants go up once, not %zu", cu_fake.bytes_up);
	cr_assert_eq(cu_fake.bytes_down, down + sizeof(int32_t) /* the mark of a bad index */);
	check_same_outputs(&net, out, o.out, "again");
	for (int i = 0; i < net.graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	npl_run_free(&again);
	free_outcome(&net, &o);
	npl_device_close(cuda);
	cuda_fake_check("a run");
	free_net(&net);
}

/* Rows times matrices are seen as matrices of all rows: inside a layer group the same bytes under another name, and no
 * transfer. */
Test(cuda_layer_group, canonical_shapes_do_not_break_a_layer_group)
{
	static const char *const sets[] = {"precision=f32", "precision=int8"};
	uint64_t rng = 0xc4a1000b;
	struct onnx_writer g = {0};
	onnx_put_input(&g, "x", 1, 3, (int64_t[]){2, 5, 6});
	put_weights(&g, &rng, "w1", 2, (int64_t[]){6, 7});
	put_weights(&g, &rng, "w2", 2, (int64_t[]){7, 6});
	onnx_put_node(&g, "Relu", "first", "x", "a", NULL);
	onnx_put_node(&g, "MatMul", "up", "a w1", "b", NULL);
	onnx_put_node(&g, "Relu", "relu", "b", "c", NULL);
	onnx_put_node(&g, "MatMul", "down", "c w2", "d", NULL);
	onnx_put_node(&g, "Add", "add", "d a", "y", NULL);
	onnx_put_output(&g, "c");
	onnx_put_output(&g, "y");
	struct net net = make_net(&g, &rng);
	for (int i = 0; i < 2; i++) {
		struct npl_device *cuda = open_cuda(sets[i]);
		struct outcome o = run_net(&net, &cuda, 1, NULL, false);
		cr_assert_lt(error_of(&net, o.out), i ? 0.05 : 1e-5, "%s: %g", sets[i], error_of(&net, o.out));
		cr_assert_eq(o.run.link_bytes, (2 * 5 * 6 + 2 * 5 * 7 + 2 * 5 * 6) * 4, "%s: %llu", sets[i],
			     (unsigned long long)o.run.link_bytes);
		for (int n = 0; n < net.graph->n_outputs; n++)
			cr_assert(npl_shape_equal(&o.out[n].shape, &net.reference[n].shape));
		free_outcome(&net, &o);
		npl_device_close(cuda);
		cuda_fake_check(sets[i]);
	}
	free_net(&net);
}

Test(cuda_layer_group, works_without_pinned_memory)
{
	uint64_t rng = 0xc4a10004;
	struct net net = small_cnn(&rng);
	cu_fake.no_pinned = true;
	struct npl_device *cuda = open_cuda("precision=f32");
	struct outcome o = run_net(&net, &cuda, 1, NULL, false);
	cr_assert_lt(error_of(&net, o.out), 1e-5);
	free_outcome(&net, &o);
	npl_device_close(cuda);
	cuda_fake_check("without pinned memory");
	free_net(&net);
}

/* In float16 the first run compiles the conversions of operands and result, within the time of their transfers. */
Test(cuda_layer_group, the_link_of_a_single_layer_is_without_what_its_first_run_compiles)
{
	const struct npl_layer_spec spec = {.op = NPL_OP_GEMM,
					    .x = npl_shape_of(2, 8, 16),
					    .outputs = 4,
					    .attrs.gemm = {.alpha = 1, .beta = 1, .trans_b = true},
					    .attrs.opset = 13};
	const struct npl_compare_options options = {.device_names = (const char *const[]){"cuda"},
						    .n_devices = 1,
						    .set = (const char *const[]){"cuda.precision=f16"},
						    .n_sets = 1};
	struct npl_comparison c;
	struct npl_err err = {0};
	cu_fake.compile_seconds = 0.04;
	cr_assert_eq(npl_single_layer(&spec, &options, &c, NULL, &err), 0, "%s", err.msg);
	cr_assert(c.device[0].run.link_seconds > 0 && c.device[0].run.link_seconds < 1e-3, "%g s",
		  c.device[0].run.link_seconds);
	npl_comparison_free(&c);
	cuda_fake_close();
}

static void free_outputs(const struct net *net, struct npl_tensor *out)
{
	for (int i = 0; i < net->graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
}

/* Opens, runs three times, closes; 0 or the error. */
static int attempt(struct net *net, const char *precision, struct npl_tensor *out, struct npl_err *err)
{
	struct npl_device *cuda = NULL;
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	const struct npl_device_options options = {.n_sets = 1, .set = (const char *[]){precision}};
	int rc = npl_device_open("cuda", &options, &cuda, err);
	if (!rc)
		rc = npl_session_open(
			net->graph,
			&(struct npl_session_options){.n_devices = 1, .device = &cuda, .ranges = net->range}, &session,
			err);
	if (session)
		npl_session_hash(session, false);
	for (int i = 0; i < 3 && !rc; i++) { /* layer by layer, captured, launched as a graph */
		free_outputs(net, out);
		rc = npl_session_run(session, net->in, out, &run, err);
		if (!rc)
			npl_run_free(&run);
	}
	npl_session_close(session);
	npl_device_close(cuda);
	return rc;
}

/* Every `step`-th call fails, in turn. */
static void let_calls_fail_of(struct net *own, const char *precision, int code, bool sticky, int step)
{
	struct net net = *own;
	struct npl_tensor good[MOST] = {{0}};
	struct npl_err err = {0};
	long failures = 0;
	cu_fake_reset();
	cr_assert_eq(attempt(&net, precision, good, &err), 0, "%s", err.msg);
	const long calls = cu_fake.calls;
	cr_assert_gt(calls, 150);
	for (long k = 1; k <= calls; k += step) {
		struct npl_tensor out[MOST] = {{0}};
		char subject[200];
		cu_fake_reset();
		cu_fake.fail_at = k;
		cu_fake.fail_code = code;
		cu_fake.sticky = sticky;
		err = (struct npl_err){0};
		int rc = attempt(&net, precision, out, &err);
		snprintf(subject, sizeof subject, "%s, call %ld of %ld, %s", precision, k, calls, cu_fake.failed_call);
		cuda_fake_check(subject);
		if (rc) {
			failures++;
			cr_assert(rc == NPL_EDEVICE || rc == NPL_ENOMEM || rc == NPL_EINTERNAL, "%s: %d", subject, rc);
			/* A dead context also ends the launches after a capture that it ended. */
			cr_assert(strstr(err.msg, cu_fake.failed_call) || code == 2 ||
					  (sticky && strstr(err.msg, "the CUDA driver fails")),
				  "%s: %s", subject, err.msg);
		} else { /* a fallback, or a call that only ends something: the values are right all the same */
			for (int i = 0; i < net.graph->n_outputs; i++)
				for (int64_t e = 0; e < npl_tensor_count(&out[i]); e++)
					cr_assert_float_eq(((float *)out[i].data)[e], ((float *)good[i].data)[e], 2e-2,
							   "%s", subject);
			free_outputs(&net, out);
		}
	}
	cr_assert_gt(failures, calls / step / 2);
	cu_fake_reset();
	struct npl_tensor out[MOST] = {{0}};
	cr_assert_eq(attempt(&net, precision, out, &err), 0, "%s", err.msg);
	check_same_outputs(&net, out, good, "after all that");
	free_outputs(&net, out);
	free_outputs(&net, good);
	free_net(own);
}

static void let_calls_fail(const char *precision, int code, bool sticky, int step, uint64_t seed)
{
	struct net net = small_cnn(&seed);
	let_calls_fail_of(&net, precision, code, sticky, step);
}

Test(cuda_layer_group, every_call_may_fail)
{
	let_calls_fail("precision=f32", 0, false, 1, 0xc4a10005);
}

Test(cuda_layer_group, every_call_may_fail_in_int8)
{
	let_calls_fail("precision=int8", 0, false, 1, 0xc4a10006);
}

/* An illegal address kills the context: every later call fails as well, also those that free. */
Test(cuda_layer_group, the_context_may_die)
{
	let_calls_fail("precision=f16", 700, true, 1, 0xc4a10007);
}

Test(cuda_layer_group, every_call_may_run_out_of_memory)
{
	let_calls_fail("precision=f16", 2, false, 3, 0xc4a10008);
}

/* Tensors that are turned on their way, in the middle too, and a convolution whose algorithm is measured. */
static struct net turned_cnn(uint64_t *rng)
{
	struct onnx_writer g = {0}, pads = pads_of(1), pool = {0};
	onnx_put_input(&g, "x", 1, 4, (int64_t[]){1, 16, 22, 22});
	put_weights(&g, rng, "w1", 4, (int64_t[]){16, 16, 3, 3});
	put_weights(&g, rng, "b1", 1, (int64_t[]){16});
	put_weights(&g, rng, "w2", 4, (int64_t[]){4, 8, 1, 1});
	put_weights(&g, rng, "k", 4, (int64_t[]){1, 16, 22, 22});
	onnx_put_int64s(&g, "s", 4, (int64_t[]){1, 8, 44, 22});
	onnx_put_attr_ints(&pool, "kernel_shape", 2, (int64_t[]){2, 2});
	onnx_put_node(&g, "Conv", "conv1", "x w1 b1", "a", &pads);
	onnx_put_node(&g, "Mul", "scale", "a k", "b", NULL);
	onnx_put_node(&g, "Reshape", "reshape", "b s", "c", NULL);
	onnx_put_node(&g, "Conv", "conv2", "c w2", "d", NULL);
	onnx_put_node(&g, "MaxPool", "pool", "d", "y", &pool);
	onnx_put_output(&g, "a");
	onnx_put_output(&g, "y");
	return make_net(&g, rng);
}

Test(cuda_layer_group, every_call_may_fail_where_tensors_are_turned)
{
	uint64_t rng = 0xc4a1000e;
	struct net net = turned_cnn(&rng);
	let_calls_fail_of(&net, "precision=f16", 0, false, 19);
	cr_assert_gt(cu_fake.last_convolutions, 1);
	cr_assert_gt(cu_fake.graphs, 1, "algorithms are measured in graphs of their own");
}

Test(cuda_layer_group, every_call_may_fail_in_recurrent_networks)
{
	static const char *const precisions[] = {"precision=f32", "precision=f16", "precision=int8"};
	for (int i = 0; i < 3; i++) {
		uint64_t rng = 0xc4a10010;
		struct onnx_writer graph = recurrent_graph(&rng);
		struct net net = make_net(&graph, &rng);
		let_calls_fail_of(&net, precisions[i], i == 1 ? 700 : 0, i == 1, 3);
	}
}

/* GPUs of all sizes: up to some size there is an error that says what was asked for and what is free, from it on it
 * works. */
static void let_memory_be_small(struct net *own)
{
	struct net net = *own;
	struct npl_err err = {0};
	struct npl_tensor out[MOST] = {{0}};
	cu_fake_reset();
	cr_assert_eq(attempt(&net, "precision=f32", out, &err), 0, "%s", err.msg);
	free_outputs(&net, out);
	const size_t enough = cu_fake.peak_bytes;
	static const char *const kinds[] = {"weights of", "values of", "workspace", "mark"};
	bool seen[4] = {false};
	for (size_t bytes = 0; bytes < enough; bytes += bytes < 40000 ? 500 : enough / 37) {
		cu_fake_reset();
		cu_fake.memory_bytes = bytes;
		cr_assert_eq(attempt(&net, "precision=f32", out, &err), NPL_ENOMEM, "%zu bytes: %s", bytes, err.msg);
		cr_assert(strstr(err.msg, "the GPU's memory is too small for") && strstr(err.msg, "were asked for") &&
				  strstr(err.msg, "are free"),
			  "%s", err.msg);
		for (int i = 0; i < 4; i++)
			seen[i] |= strstr(err.msg, kinds[i]) != NULL;
		cuda_fake_check("too little memory");
	}
	for (int i = 0; i < 4; i++)
		cr_assert(seen[i], "memory was never too small for the %s", kinds[i]);
	cu_fake_reset();
	cu_fake.memory_bytes = enough;
	cr_assert_eq(attempt(&net, "precision=f32", out, &err), 0, "%s", err.msg);
	free_outputs(&net, out);
	free_net(own);
}

Test(cuda_layer_group, memory_may_be_too_small)
{
	uint64_t rng = 0xc4a10009;
	struct net cnn = small_cnn(&rng);
	let_memory_be_small(&cnn);
	struct onnx_writer graph = recurrent_graph(&rng);
	struct net recurrent = make_net(&graph, &rng);
	let_memory_be_small(&recurrent);
}
