/* SPDX-License-Identifier: MIT
 *
 * The cpu device on one thread beside the libraries called directly, in turns: a float32 product of 1024^3 beside
 * cblas_sgemm with the same kernels, one of bytes beside dnnl_gemm_u8s8s32, and every convolution of ResNet-50
 * (models/resnet50.onnx) as the device runs it in the network beside oneDNN's own choice of formats for it. Direct
 * calls get no bias and no Relu; the device's do. */
#include <dlfcn.h>
#include <string.h>

#include "backends/cpu/dnn_api.h"
#include "bench.h"
#include "core/files/data_names.h"
#include "core/one_layer_group.h"
#include "core/ops/window.h"
#include "frontend/compare/draw.h"
#include "npulab/device.h"
#include "npulab/model.h"
#include "npulab/random.h"
#include "npulab/session.h"
#include "npulab/single_layer.h"

enum { SIDE = 1024, TURNS = 15 };

static struct npl_err err;

static void check(int rc, const char *subject)
{
	if (!rc)
		return;
	fprintf(stderr, "bench: %s: %s\n", subject, rc == err.code ? err.msg : "a call of the library failed");
	exit(1);
}

/* One thing in two ways, in turns: medians. */
static void take_turns(void (*const work[2])(void *), void *context, double seconds[2])
{
	double times[2][TURNS];
	for (int i = -1; i < TURNS; i++)
		for (int w = 0; w < 2; w++) {
			double begin = npl_clock_seconds();
			work[w](context);
			if (i >= 0)
				times[w][i] = npl_clock_seconds() - begin;
		}
	for (int w = 0; w < 2; w++) {
		qsort(times[w], TURNS, sizeof times[w][0], bench_order);
		seconds[w] = times[w][TURNS / 2];
	}
}

static void print_ratio(const char *subject, double macs, const double seconds[2], double target)
{
	char line[100];
	snprintf(line, sizeof line, "%s, called directly", subject);
	bench_print(line, macs, "GMAC/s", seconds[0]);
	snprintf(line, sizeof line, "%s, the cpu device", subject);
	bench_print(line, macs, "GMAC/s", seconds[1]);
	printf("%-52s %9.2f of the direct call's rate (at least %.2f)\n", "", seconds[0] / seconds[1], target);
}

struct product {
	struct npl_device *device;
	struct npl_layer_group_handle *group;
	struct npl_layer layer;
	struct npl_tensor x, w, y, direct;
	struct npl_one_layer_group request;
	void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
		      const float *b, int ldb, float beta, float *c, int ldc);
	struct npl_onednn onednn;
};

static void run_device(void *context)
{
	struct product *p = context;
	struct npl_result result = {0};
	check(npl_device_run_layer_group(p->group, NULL, &result, &err), "product");
}

static void run_sgemm(void *context)
{
	struct product *p = context;
	enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
	p->sgemm(ROW_MAJOR, NO_TRANS, TRANS, SIDE, SIDE, SIDE, 1, p->x.data, SIDE, p->w.data, SIDE, 0, p->direct.data,
		 SIDE);
}

static void run_u8s8s32(void *context)
{
	struct product *p = context;
	const int32_t nothing = 0;
	check(p->onednn.gemm_u8s8s32('N', 'T', 'F', SIDE, SIDE, SIDE, 1, p->x.data, SIDE, 0, p->w.data, SIDE, 0, 0,
				     p->direct.data, SIDE, &nothing),
	      "dnnl_gemm_u8s8s32");
}

static struct npl_tensor matrix(enum npl_dtype dtype, uint64_t seed)
{
	struct npl_tensor t = {.dtype = dtype, .shape = npl_shape_of(2, (int64_t)SIDE, (int64_t)SIDE)};
	t.quant.scale = dtype == NPL_U8 || dtype == NPL_I8 ? 1.0f : 0.0f;
	check(npl_tensor_alloc(&t, &err), "operands");
	if (dtype != NPL_I32)
		npl_draw(&t, &(struct npl_random){.state = seed});
	return t;
}

static void bench_product(bool int8)
{
	const char *set[] = {"threads=1", int8 ? "precision=int8" : "precision=f32"};
	static const struct npl_attrs attrs = {.op = NPL_OP_GEMM, .gemm = {.alpha = 1, .beta = 1, .trans_b = true}};
	const double macs = (double)SIDE * SIDE * SIDE;
	struct product p = {.x = matrix(int8 ? NPL_U8 : NPL_F32, 1),
			    .w = matrix(int8 ? NPL_I8 : NPL_F32, 2),
			    .y = matrix(int8 ? NPL_I32 : NPL_F32, 3),
			    .direct = matrix(int8 ? NPL_I32 : NPL_F32, 3)};
	double seconds[2];
	check(npl_device_open("cpu", &(struct npl_device_options){.set = set, .n_sets = 2}, &p.device, &err), "cpu");
	printf("%s\n", npl_device_get_info(p.device)->detail);
	p.layer = (struct npl_layer){
		.name = "product", .op = NPL_OP_GEMM, .attrs = &attrs, .n_in = 2, .in = {&p.x, &p.w}};
	p.layer.out = &p.y;
	p.layer.macs = (uint64_t)macs;
	npl_one_layer_group_init(&p.request, &p.layer);
	check(npl_device_open_layer_group(p.device, &p.request.group, &p.group, &err), "layer group");
	if (int8) {
		check(npl_onednn_load(NPL_ONEDNN_SONAME, &p.onednn, &err), "oneDNN");
		if (p.onednn.set_num_threads)
			p.onednn.set_num_threads(1);
	} else {
		void *library = dlopen("libopenblas.so.0", RTLD_NOW),
		     *found = library ? dlsym(library, "cblas_sgemm") : NULL;
		memcpy(&p.sgemm, &found, sizeof found);
	}
	take_turns((void (*const[])(void *)){int8 ? run_u8s8s32 : run_sgemm, run_device}, &p, seconds);
	print_ratio(int8 ? "int8, 1024^3" : "float32, 1024^3", macs, seconds, int8 ? 0.85 : 0.9);
	if (int8 && memcmp(p.y.data, p.direct.data, npl_tensor_bytes(&p.y)))
		printf("%-52s the two results differ: oneDNN saturates here\n", "");
	npl_device_close_layer_group(p.group);
	npl_device_close(p.device);
	npl_tensor_free(&p.x);
	npl_tensor_free(&p.w);
	npl_tensor_free(&p.y);
	npl_tensor_free(&p.direct);
}

/* One convolution, with whatever formats oneDNN likes best, ready to run. */
struct direct {
	void *primitive;
	struct dnn_argument argument[3];
	double macs;
};

static struct dnn_api api;
static void *engine, *stream;

static void *memory_of(const void *desc, int query)
{
	const struct dnn_md *md;
	void *memory;
	check(api.primitive_desc_query(desc, query, 0, &md), "primitive_desc_query");
	size_t bytes = (api.memory_desc_get_size(md) + 63) / 64 * 64;
	void *data = aligned_alloc(64, bytes);
	if (!data)
		exit(1);
	memset(data, 0, bytes);
	check(api.memory_create(&memory, md, engine, data), "memory_create");
	return memory;
}

static void any_format(const struct npl_shape *shape, int type, struct dnn_md *md)
{
	int64_t dims[DNN_MAX_RANK];
	memcpy(dims, shape->dim, (size_t)shape->rank * sizeof *dims);
	check(api.memory_desc_init_by_tag(md, shape->rank, dims, type, DNN_ANY), "memory_desc_init_by_tag");
}

/* In 8 bits unsigned bytes times signed ones into unsigned, the fastest that oneDNN has; scales would cost it more. */
static struct direct open_direct(const struct npl_graph *graph, const struct npl_node *node, bool int8)
{
	const struct npl_window *w = &node->attrs.conv.window;
	const struct npl_shape *x = &graph->value[node->in[0]].shape, *y = &graph->value[node->out[0]].shape;
	int64_t stride[] = {w->stride[0], w->stride[1]}, none[] = {0, 0}, before[] = {w->pad_begin[0], w->pad_begin[1]},
		after[2];
	struct dnn_md x_md, w_md, y_md;
	struct dnn_op_desc op;
	struct direct d = {.macs = (double)node->macs};
	void *desc;
	for (int i = 0; i < 2; i++)
		after[i] = (y->dim[2 + i] - 1) * stride[i] + w->kernel[i] - x->dim[2 + i] - before[i];
	for (int i = 0; i < 2; i++)
		after[i] = after[i] < 0 ? 0 : after[i];
	any_format(x, int8 ? DNN_U8 : DNN_F32, &x_md);
	any_format(&graph->value[node->in[1]].shape, int8 ? DNN_S8 : DNN_F32, &w_md);
	any_format(y, int8 ? DNN_U8 : DNN_F32, &y_md);
	check(api.dilated_convolution_forward_desc_init(&op, DNN_INFERENCE, DNN_CONV_DIRECT, &x_md, &w_md, NULL, &y_md,
							stride, none, before, after),
	      "convolution");
	check(api.primitive_desc_create(&desc, &op, NULL, engine, NULL), "primitive_desc_create");
	check(api.primitive_create(&d.primitive, desc), "primitive_create");
	d.argument[0] = (struct dnn_argument){DNN_ARG_X, memory_of(desc, DNN_QUERY_X)};
	d.argument[1] = (struct dnn_argument){DNN_ARG_W, memory_of(desc, DNN_QUERY_W)};
	d.argument[2] = (struct dnn_argument){DNN_ARG_Y, memory_of(desc, DNN_QUERY_Y)};
	api.primitive_desc_destroy(desc);
	return d;
}

struct network {
	struct npl_graph *graph;
	struct npl_session *session;
	struct npl_samples samples;
	struct npl_tensor *input; /* borrows from them */
	int n;                    /* convolutions */
	struct direct *direct;
};

static void open_session(struct network *n, struct npl_device *device)
{
	struct npl_range *range = calloc((size_t)n->graph->n_values + 1, sizeof *range);
	struct npl_tensor *out = calloc((size_t)n->graph->n_outputs + 1, sizeof *out);
	if (!range || !out)
		exit(1);
	for (int v = 0; v < n->graph->n_values; v++)
		range[v] = NPL_RANGE_EMPTY;
	check(npl_evaluate(n->graph, n->input, out, range, &err), "ranges");
	check(npl_session_open(n->graph,
			       &(struct npl_session_options){.n_devices = 1, .device = &device, .ranges = range},
			       &n->session, &err),
	      "session");
	npl_session_hash(n->session, false);
	for (int i = 0; i < n->graph->n_outputs; i++)
		npl_tensor_free(&out[i]);
	free(out);
	free(range);
}

static void load(struct network *n, struct npl_device *device, bool int8)
{
	char folder[1000], path[1100];
	int64_t real;
	check(npl_data_dir("models", folder, sizeof folder, &err), "models");
	snprintf(path, sizeof path, "%s/resnet50.onnx", folder);
	check(npl_graph_load(path, &(struct npl_load_options){.batch = 1}, &n->graph, &err), path);
	n->input = calloc((size_t)n->graph->n_inputs + 1, sizeof *n->input);
	n->direct = calloc((size_t)n->graph->n_nodes + 1, sizeof *n->direct);
	if (!n->input || !n->direct)
		exit(1);
	check(npl_samples_load(n->graph, NULL, 0, NULL, 1, &n->samples, &err), "samples");
	check(npl_samples_batch(n->graph, &n->samples, 0, n->input, &real, &err), "samples");
	open_session(n, device);
	for (int i = 0; i < n->graph->n_nodes; i++)
		if (n->graph->node[i].op == NPL_OP_CONV)
			n->direct[n->n++] = open_direct(n->graph, &n->graph->node[i], int8);
}

/* Returns the seconds of the rows of convolutions; *all_seconds gets those of all rows. */
static double run_network(const struct network *n, double *all_seconds)
{
	struct npl_run run = {0};
	struct npl_tensor out = {0};
	double seconds = 0;
	check(npl_session_run(n->session, n->input, &out, &run, &err), "run");
	for (int i = 0; i < run.n_layers; i++)
		if (n->graph->node[i].op == NPL_OP_CONV)
			seconds += run.layer[i].result.seconds;
	*all_seconds = run.device_seconds;
	npl_run_free(&run);
	npl_tensor_free(&out);
	return seconds;
}

static double run_direct(const struct network *n)
{
	double begin = npl_clock_seconds();
	for (int i = 0; i < n->n; i++) {
		check(api.primitive_execute(n->direct[i].primitive, stream, 3, n->direct[i].argument), "execute");
		check(api.stream_wait(stream), "stream_wait");
	}
	return npl_clock_seconds() - begin;
}

static void bench_convolutions(bool int8)
{
	const char *set[] = {"threads=1", int8 ? "precision=int8" : "precision=f32"};
	struct network n = {0};
	struct npl_device *device;
	double times[3][TURNS], macs = 0;
	check(npl_device_open("cpu", &(struct npl_device_options){.set = set, .n_sets = 2}, &device, &err), "cpu");
	check(dnn_api_load(NPL_ONEDNN_SONAME, &api, &err), "oneDNN");
	if (api.library.set_num_threads)
		api.library.set_num_threads(1);
	check(api.engine_create(&engine, DNN_CPU, 0), "engine_create");
	check(api.stream_create(&stream, engine, DNN_IN_ORDER), "stream_create");
	load(&n, device, int8);
	for (int i = 0; i < n.n; i++)
		macs += n.direct[i].macs;
	for (int i = -1; i < TURNS; i++) {
		int at = i < 0 ? 0 : i;
		times[0][at] = run_direct(&n);
		times[1][at] = run_network(&n, &times[2][at]);
	}
	for (int w = 0; w < 3; w++)
		qsort(times[w], TURNS, sizeof times[w][0], bench_order);
	print_ratio(int8 ? "int8, ResNet-50's convolutions" : "float32, ResNet-50's convolutions", macs,
		    (double[]){times[0][TURNS / 2], times[1][TURNS / 2]}, 0.8);
	bench_print(int8 ? "int8, ResNet-50, the cpu device, all layers"
			 : "float32, ResNet-50, the cpu device, all layers",
		    macs, "GMAC/s", times[2][TURNS / 2]);
	npl_session_close(n.session);
	for (int i = 0; i < n.graph->n_inputs; i++)
		npl_tensor_free(&n.input[i]);
	npl_samples_free(&n.samples);
	free(n.input);
	free(n.direct);
	npl_graph_free(n.graph);
	npl_device_close(device);
}

int main(void)
{
	unsetenv("OPENBLAS_CORETYPE"); /* the device chooses; the direct call then has the same kernels */
	bench_product(false);
	bench_product(true);
	bench_convolutions(false);
	bench_convolutions(true);
	return 0;
}
