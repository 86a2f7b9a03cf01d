/* SPDX-License-Identifier: MIT
 *
 * The importer and the reference kernels on models that others made: mnist-8 with its trained weights gives the
 * outputs that came with it, and the large topologies have the arithmetic that is published for them. Skipped where the
 * files are not there. (ONNX's backend test cases: tests/frontend/conformance/test_onnx.c.) */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "npulab/tensor_file.h"
#include "tests/kit/graph_interp.h"

#define MODELS "../shared/models"

static struct npl_graph *load(const char *path, const struct npl_load_options *options)
{
	struct npl_graph *graph;
	struct npl_err err;
	int rc = npl_graph_load(path, options, &graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return graph;
}

/* Empty when equal within the tolerances, else what differs. Integers must be equal. */
static const char *compare(const struct npl_tensor *found, const struct npl_tensor *expected, double relative,
			   double absolute, char *reason, size_t reason_bytes)
{
	char a[128], b[128];
	if (found->dtype != expected->dtype || !npl_shape_equal(&found->shape, &expected->shape)) {
		snprintf(reason, reason_bytes, "%s %s, expected %s %s", npl_dtype_name(found->dtype),
			 npl_shape_text(&found->shape, a, sizeof a), npl_dtype_name(expected->dtype),
			 npl_shape_text(&expected->shape, b, sizeof b));
		return reason;
	}
	if (found->dtype != NPL_F32) {
		snprintf(reason, reason_bytes, "values differ");
		return memcmp(found->data, expected->data, npl_tensor_bytes(expected)) ? reason : "";
	}
	for (int64_t i = 0; i < npl_tensor_count(expected); i++) {
		double f = ((float *)found->data)[i], w = ((float *)expected->data)[i];
		if (!(fabs(f - w) <= absolute + relative * fabs(w))) {
			snprintf(reason, reason_bytes, "element %lld is %.9g, expected %.9g", (long long)i, f, w);
			return reason;
		}
	}
	return "";
}

/* mnist-8: the trained network gives the outputs delivered with it, folded or not. */
Test(onnx_real, mnist_8_gives_the_outputs_delivered_with_it)
{
	if (access(MODELS "/mnist-8/model.onnx", R_OK))
		cr_skip("no " MODELS "/mnist-8");
	for (int set = 0; set < 4; set++) {
		struct npl_graph *graph = load(MODELS "/mnist-8/model.onnx",
					       &(struct npl_load_options){.no_fold = set & 1});
		struct npl_tensor x, y;
		struct npl_err err;
		char path[256], reason[256];
		cr_assert_eq(graph->n_nodes, set & 1 ? 11 : 8);
		cr_assert_eq(graph->folded_biases, set & 1 ? 0 : 3);
		snprintf(path, sizeof path, MODELS "/mnist-8/test_data_set_%d/input_0.pb", set / 2);
		cr_assert_eq(npl_tensor_load(path, &x, &err), 0, "%s", err.msg);
		snprintf(path, sizeof path, MODELS "/mnist-8/test_data_set_%d/output_0.pb", set / 2);
		cr_assert_eq(npl_tensor_load(path, &y, &err), 0, "%s", err.msg);
		struct npl_tensor *values = test_run_graph(graph, &x, &err);
		cr_assert(values, "%s", err.msg);
		cr_assert_str_empty(compare(&values[graph->output[0]], &y, 1e-4, 1e-4, reason, sizeof reason));
		test_free_values(graph, values);
		npl_tensor_free(&x);
		npl_tensor_free(&y);
		npl_graph_free(graph);
	}
}

/* mnist-8 at batch 3: three copies of one digit give three times its output. */
Test(onnx_real, a_batch_of_three_gives_three_times_the_output)
{
	if (access(MODELS "/mnist-8/model.onnx", R_OK))
		cr_skip("no " MODELS "/mnist-8");
	struct npl_graph *graph = load(MODELS "/mnist-8/model.onnx", &(struct npl_load_options){.batch = 3});
	struct npl_tensor x, y, many = {.dtype = NPL_F32, .shape = graph->value[graph->input[0]].shape};
	struct npl_err err;
	cr_assert_eq(npl_tensor_load(MODELS "/mnist-8/test_data_set_0/input_0.pb", &x, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_tensor_load(MODELS "/mnist-8/test_data_set_0/output_0.pb", &y, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_tensor_alloc(&many, &err), 0);
	cr_assert_eq(npl_tensor_bytes(&many), 3 * npl_tensor_bytes(&x));
	for (size_t i = 0; i < 3; i++)
		memcpy((char *)many.data + i * npl_tensor_bytes(&x), x.data, npl_tensor_bytes(&x));
	struct npl_tensor *values = test_run_graph(graph, &many, &err);
	cr_assert(values, "%s", err.msg);
	const struct npl_tensor *out = &values[graph->output[0]];
	cr_assert_eq(npl_tensor_count(out), 30);
	for (int i = 0; i < 30; i++)
		cr_assert_float_eq(((float *)out->data)[i], ((float *)y.data)[i % 10],
				   1e-4 * (1 + fabs((double)((float *)y.data)[i % 10])));
	test_free_values(graph, values);
	npl_tensor_free(&x);
	npl_tensor_free(&y);
	npl_tensor_free(&many);
	npl_graph_free(graph);
}

/* Multiply-accumulates per image, in thousand millions, and parameters, in millions. ResNet-50: He et al., CVPR 2016,
 * in the form that strides in the 3x3 convolution (4.09; Goyal et al., 2017), its batch normalisations folded: 25.557 -
 * 0.053 scales and shifts + 0.027 biases. VGG-19: Simonyan and Zisserman, ICLR 2015 (19.6; 144 million). AlexNet:
 * Krizhevsky et al., NIPS 2012, of input 224 (0.65; 61 million). SqueezeNet 1.1: Iandola et al., 2016 (0.35; 1.24
 * million). */
static const struct {
	const char *name;
	double gmacs, parameters, within;
	int nodes, batchnorms;
} light[] = {
	{"light_resnet50", 4.09, 25.53, 0.01, 123, 53},
	{"light_vgg19", 19.63, 143.67, 0.01, 44, 0},
	{"light_bvlc_alexnet", 0.65, 60.97, 0.02, 22, 0},
	{"light_squeezenet", 0.35, 1.235, 0.01, 65, 0},
};

Test(onnx_real, light_models_have_their_published_counts)
{
	if (access(MODELS "/light/light_resnet50.onnx", R_OK))
		cr_skip("no " MODELS "/light");
	for (size_t i = 0; i < sizeof light / sizeof light[0]; i++)
		for (int64_t batch = 1; batch <= 16; batch *= 4) {
			char path[256];
			struct npl_tensor expected;
			struct npl_err err;
			snprintf(path, sizeof path, MODELS "/light/%s.onnx", light[i].name);
			struct npl_graph *graph = load(path, &(struct npl_load_options){.batch = batch});
			double gmacs = (double)graph->macs * 1e-9 / (double)batch,
			       parameters = (double)graph->parameters * 1e-6;
			cr_assert(fabs(gmacs / light[i].gmacs - 1) < light[i].within, "%s: %g GMAC", light[i].name,
				  gmacs);
			cr_assert(fabs(parameters / light[i].parameters - 1) < 1e-3, "%s: %g M", light[i].name,
				  parameters);
			cr_assert_eq(graph->n_nodes, light[i].nodes, "%s: %d nodes", light[i].name, graph->n_nodes);
			cr_assert_eq(graph->folded_batchnorms, light[i].batchnorms);
			cr_assert_lt(graph->arena.bytes,
				     8 << 20); /* the weights stay fills: hundreds of megabytes otherwise */
			snprintf(path, sizeof path, MODELS "/light/%s_output_0.pb", light[i].name);
			cr_assert_eq(npl_tensor_load(path, &expected, &err), 0, "%s", err.msg);
			expected.shape.dim[0] = batch;
			cr_assert(npl_shape_equal(&graph->value[graph->output[0]].shape, &expected.shape));
			npl_tensor_free(&expected);
			npl_graph_free(graph);
		}
}
