/* SPDX-License-Identifier: MIT
 *
 * The importer and the reference kernels on models that others made: mnist-8 with its trained weights gives the
 * outputs that came with it, the large topologies have the arithmetic that is published for them, and ONNX's own
 * backend test cases, as Debian's libonnx-testdata installs them, pass wherever their operators are ours. Skipped
 * where the files are not there. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "graph_interp.h"
#include "npulab/file.h"
#include "npulab/half.h"
#include "onnx_proto.h"
#include "ops/elements.h"

#define MODELS      "../shared/models"
#define ONNX_DATA   "/usr/share/libonnx-testdata/data"
#define MAX_TENSORS 16

static struct npl_graph *load(const char *path, const struct npl_load_options *options)
{
	struct npl_graph *graph;
	struct npl_err err;
	int rc = npl_graph_load(path, options, &graph, &err);
	cr_assert_eq(rc, 0, "%s", err.msg);
	return graph;
}

/* Empty when equal within the tolerances, else what differs. Integers must be equal; the sign of a NaN says nothing,
 * and 16-bit floats may be one step apart: ONNX's own bfloat16 values are cut off, ours rounded. */
static const char *compare(const struct npl_tensor *found, const struct npl_tensor *want, double relative,
			   double absolute, char *why, size_t n)
{
	char a[128], b[128];
	if (found->dtype != want->dtype || !npl_shape_equal(&found->shape, &want->shape)) {
		snprintf(why, n, "%s %s, expected %s %s", npl_dtype_name(found->dtype),
			 npl_shape_text(&found->shape, a, sizeof a), npl_dtype_name(want->dtype),
			 npl_shape_text(&want->shape, b, sizeof b));
		return why;
	}
	if (found->dtype != NPL_F32 && found->dtype != NPL_F64 && !npl_dtype_is_half(found->dtype)) {
		snprintf(why, n, "values differ");
		return memcmp(found->data, want->data, npl_tensor_bytes(want)) ? why : "";
	}
	if (npl_dtype_is_half(found->dtype))
		relative = found->dtype == NPL_F16 ? 0x1p-10 : 0x1p-7;
	for (int64_t i = 0; i < npl_tensor_count(want); i++) {
		double f = op_real(found, i), w = op_real(want, i);
		if (f != w && !(isnan(f) && isnan(w)) && !(fabs(f - w) <= absolute + relative * fabs(w))) {
			snprintf(why, n, "element %lld is %.9g, expected %.9g", (long long)i, f, w);
			return why;
		}
	}
	return "";
}

/* mnist-8: the trained network gives the outputs delivered with it, folded or not. */
Test(onnx_real, mnist)
{
	if (access(MODELS "/mnist-8/model.onnx", R_OK))
		cr_skip("no " MODELS "/mnist-8");
	for (int set = 0; set < 4; set++) {
		struct npl_graph *graph = load(MODELS "/mnist-8/model.onnx",
					       &(struct npl_load_options){.no_fold = set & 1});
		struct npl_tensor x, y;
		struct npl_err err;
		char path[256], why[256];
		cr_assert_eq(graph->n_nodes, set & 1 ? 11 : 8);
		cr_assert_eq(graph->folded_biases, set & 1 ? 0 : 3);
		snprintf(path, sizeof path, MODELS "/mnist-8/test_data_set_%d/input_0.pb", set / 2);
		cr_assert_eq(npl_tensor_load(path, &x, &err), 0, "%s", err.msg);
		snprintf(path, sizeof path, MODELS "/mnist-8/test_data_set_%d/output_0.pb", set / 2);
		cr_assert_eq(npl_tensor_load(path, &y, &err), 0, "%s", err.msg);
		struct npl_tensor *values = test_run_graph(graph, &x, &err);
		cr_assert(values, "%s", err.msg);
		cr_assert_str_empty(compare(&values[graph->output[0]], &y, 1e-4, 1e-4, why, sizeof why));
		test_free_values(graph, values);
		npl_tensor_free(&x);
		npl_tensor_free(&y);
		npl_graph_free(graph);
	}
}

/* mnist-8 at batch 3: three copies of one digit give three times its output. */
Test(onnx_real, mnist_batch)
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
 * Krizhevsky et al., NIPS 2012, of input 224 (0.65; 61 million). SqueezeNet 1.1: Iandola et al., 2016 (0.35; 1.24 million). */
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

Test(onnx_real, topologies)
{
	if (access(MODELS "/light/light_resnet50.onnx", R_OK))
		cr_skip("no " MODELS "/light");
	for (size_t i = 0; i < sizeof light / sizeof light[0]; i++)
		for (int64_t batch = 1; batch <= 16; batch *= 4) {
			char path[256];
			struct npl_tensor want;
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
			cr_assert_eq(npl_tensor_load(path, &want, &err), 0, "%s", err.msg);
			want.shape.dim[0] = batch;
			cr_assert(npl_shape_equal(&graph->value[graph->output[0]].shape, &want.shape));
			npl_tensor_free(&want);
			npl_graph_free(graph);
		}
}

/* One backend test case. */
struct test_case {
	const char *folder;
	char names[MAX_TENSORS][64];
	struct npl_tensor in[MAX_TENSORS], out[MAX_TENSORS];
	int n_in, n_out;
};

/* The name within a TensorProto file, which npl_tensor_load leaves aside. */
static void tensor_name(const char *path, char *name, size_t n)
{
	struct npl_file file;
	struct npl_err err;
	struct npl_arena arena = {0};
	struct npl_tensor tensor = {0};
	*name = '\0';
	if (npl_file_map(path, SIZE_MAX, &file, &err))
		return;
	const struct onnx_reader reader = {.start = file.data, .arena = &arena, .err = &err};
	const unsigned char *start = file.data;
	if (!onnx_tensor(&reader, (struct onnx_span){start, start + file.bytes}, &tensor) && tensor.name)
		snprintf(name, n, "%s", tensor.name);
	npl_arena_free(&arena);
	npl_file_unmap(&file);
}

static int load_tensors(const char *folder, const char *kind, struct npl_tensor *tensor, char (*names)[64],
			struct npl_err *err)
{
	int n = 0;
	for (; n < MAX_TENSORS; n++) {
		char path[512];
		snprintf(path, sizeof path, "%s/test_data_set_0/%s_%d.pb", folder, kind, n);
		if (access(path, R_OK))
			break;
		if (npl_tensor_load(path, &tensor[n], err)) {
			while (n-- > 0)
				npl_tensor_free(&tensor[n]);
			return -1;
		}
		if (names)
			tensor_name(path, names[n], sizeof names[n]);
	}
	return n;
}

/* Shapes and switches come as inputs in these cases; the importer must know them. */
static bool must_be_known(const struct npl_tensor *tensor)
{
	return *tensor->name && (tensor->dtype == NPL_I64 || tensor->dtype == NPL_BOOL);
}

/* The files of these cases give the bits of bfloat16 as uint16. */
static void take_bits(struct npl_tensor *tensor, enum npl_dtype meant)
{
	if (tensor->dtype == NPL_U16 && meant == NPL_BF16)
		tensor->dtype = NPL_BF16;
}

/* "" when it passed, otherwise why not. */
static const char *run_case(struct test_case *c, char *why, size_t n)
{
	char path[512], text[256];
	struct npl_tensor known[MAX_TENSORS], given[MAX_TENSORS];
	struct npl_load_options options = {.known = known};
	struct npl_graph *graph = NULL;
	struct npl_tensor *values = NULL;
	struct npl_err err = {0};
	int n_given = 0;
	for (int i = 0; i < c->n_in; i++) {
		c->in[i].name = c->names[i];
		if (must_be_known(&c->in[i]))
			known[options.n_known++] = c->in[i];
		else
			given[n_given++] = c->in[i];
	}
	snprintf(path, sizeof path, "%s/model.onnx", c->folder);
	snprintf(why, n, "%s", "");
	if (!npl_graph_load(path, &options, &graph, &err) &&
	    (graph->n_inputs != n_given || graph->n_outputs != c->n_out))
		snprintf(why, n, "%s: %d inputs and %d outputs, the case has %d and %d", path, graph->n_inputs,
			 graph->n_outputs, n_given, c->n_out);
	for (int i = 0; graph && !*why && i < n_given; i++)
		take_bits(&given[i], graph->value[graph->input[i]].dtype);
	for (int k = 0; graph && !*why && k < c->n_out; k++)
		take_bits(&c->out[k], graph->value[graph->output[k]].dtype);
	if (!*why && (!graph || !(values = test_run_graph(graph, given, &err))))
		snprintf(why, n, "%s", err.msg);
	for (int k = 0; k < c->n_out && values && !*why; k++)
		snprintf(why, n, "%s", compare(&values[graph->output[k]], &c->out[k], 1e-4, 1e-5, text, sizeof text));
	if (graph)
		test_free_values(graph, values);
	npl_graph_free(graph);
	return why;
}

/* Cases of our operators that npulab refuses, by what the refusal must say. */
static const struct {
	const char *prefix, *says;
} refused[] = {
	{"test_averagepool_3d_default", "has 3 values, at most 2"},
	{"test_maxpool_3d_default", "has 3 values, at most 2"},
	{"test_AvgPool3d", "has 3 values, at most 2"},
	{"test_MaxPool3d", "has 3 values, at most 2"},
	{"test_Conv3d", "has 3 values, at most 2"},
	{"test_maxpool_with_argmax", "outputs"},             /* indices are not computed */
	{"test_batchnorm_epsilon_training_mode", "outputs"}, /* training */
	{"test_batchnorm_example_training_mode", "outputs"},
	{"test_training_dropout", "training"},
	{"test_globalaveragepool", "opset 1 is not supported"},
	{"test_reshape_allowzero_reordered", "does not reshape"}, /* a batch of 0 is taken for an open one */
	{"test_split_zero_size_splits", "sum to 0"},
	{"test_not_", "opset 1 is not supported"},
	{"test_softplus", "opset 1 is not supported"},
	{"test_softsign", "opset 1 is not supported"},
	{"test_cast_FLOAT_to_STRING", "STRING"},
	{"test_cast_STRING_to_FLOAT", "STRING"},
	{"test_castlike_FLOAT_to_STRING", "STRING"},
	{"test_castlike_STRING_to_FLOAT", "STRING"},
	{"test_identity_opt", "expected a tensor"},
	{"test_identity_sequence", "expected a tensor"},
};

static bool is_expected(const char *name, const char *why)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (!strncmp(name, refused[i].prefix, strlen(refused[i].prefix)) && strstr(why, refused[i].says))
			return true;
	return false;
}

struct tally {
	int passed, refused, foreign;
};

/* Are all operators of the model in our table? Read straight from the file, whatever the importer says. */
static bool is_ours(const char *folder)
{
	enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, NODE_OP = 4 };
	char path[512];
	struct npl_file file;
	struct npl_err err;
	struct npl_arena arena = {0};
	struct onnx_field in_model, in_graph, in_node;
	bool ours = true;
	snprintf(path, sizeof path, "%s/model.onnx", folder);
	cr_assert_eq(npl_file_map(path, SIZE_MAX, &file, &err), 0, "%s", err.msg);
	const struct onnx_reader reader = {.start = file.data, .arena = &arena, .err = &err};
	struct onnx_span model = {reader.start, reader.start + file.bytes};
	while (onnx_next(&reader, &model, &in_model) > 0)
		while (in_model.number == MODEL_GRAPH && onnx_next(&reader, &in_model.bytes, &in_graph) > 0)
			while (in_graph.number == GRAPH_NODE && onnx_next(&reader, &in_graph.bytes, &in_node) > 0) {
				const char *op = NULL;
				if (in_node.number == NODE_OP && !onnx_string(&reader, &in_node, "operator", &op))
					ours &= npl_op_find(op) != NPL_OPS;
			}
	npl_arena_free(&arena);
	npl_file_unmap(&file);
	return ours;
}

static void try_folder(const char *folder, const char *name, struct tally *tally)
{
	struct test_case c = {.folder = folder};
	struct npl_graph *graph = NULL;
	struct npl_err err = {0};
	char why[600] = "";
	if (!is_ours(folder)) { /* must be refused, in one line */
		snprintf(why, sizeof why, "%s/model.onnx", folder);
		cr_assert_eq(npl_graph_load(why, NULL, &graph, &err), NPL_EINPUT, "%s", name);
		tally->foreign++;
		return;
	}
	c.n_in = load_tensors(folder, "input", c.in, c.names, &err);
	c.n_out = c.n_in < 0 ? -1 : load_tensors(folder, "output", c.out, NULL, &err);
	if (c.n_out < 0) { /* sequences, strings: the model itself must say so */
		snprintf(why, sizeof why, "%s/model.onnx", folder);
		cr_expect_eq(npl_graph_load(why, NULL, &graph, &err), NPL_EINPUT, "%s", name);
		snprintf(why, sizeof why, "%s", err.msg);
		npl_graph_free(graph);
	} else {
		run_case(&c, why, sizeof why);
	}
	for (int i = 0; i < c.n_in; i++)
		npl_tensor_free(&c.in[i]);
	for (int i = 0; i < c.n_out; i++)
		npl_tensor_free(&c.out[i]);
	tally->passed += !*why;
	tally->refused += *why && is_expected(name, why);
	cr_expect(!*why || is_expected(name, why), "%s", why);
}

Test(onnx_real, backend_cases)
{
	static const char *const groups[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
	struct tally tally = {0};
	if (access(ONNX_DATA "/node", R_OK))
		cr_skip("no " ONNX_DATA " (package libonnx-testdata)");
	for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
		char path[512];
		snprintf(path, sizeof path, ONNX_DATA "/%s", groups[i]);
		DIR *dir = opendir(path);
		for (struct dirent *entry; dir && (entry = readdir(dir));) {
			if (strncmp(entry->d_name, "test_", 5) != 0)
				continue;
			snprintf(path, sizeof path, ONNX_DATA "/%s/%s", groups[i], entry->d_name);
			try_folder(path, entry->d_name, &tally);
		}
		if (dir)
			closedir(dir);
	}
	fprintf(stderr,
		"ONNX backend cases: %d passed, %d refused for a listed reason, %d have operators npulab has not\n",
		tally.passed, tally.refused, tally.foreign);
	cr_assert_geq(tally.passed, 200);
}
