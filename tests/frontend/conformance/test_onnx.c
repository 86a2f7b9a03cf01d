/* SPDX-License-Identifier: MIT
 *
 * ONNX's own backend test cases, as Debian's libonnx-testdata installs them: every case whose operators npulab has
 * passes, or is listed here with what its refusal must say; every other names the operators that are missing. Skipped
 * where the files are not there. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/files/file.h"
#include "frontend/import/onnx_survey.h"
#include "npulab/conformance.h"
#include "npulab/op.h"

#define DATA "/usr/share/libonnx-testdata/data/"

/* Cases of our operators that npulab refuses, by the beginning of their names. */
static const struct {
	const char *prefix, *expected;
} refused[] = {
	/* opset 1, whose operators have other attributes */
	{"test_globalaveragepool", "opset 1 is not supported"},
	{"test_globalmaxpool", "opset 1 is not supported"},
	{"test_not_", "opset 1 is not supported"},
	{"test_softplus", "opset 1 is not supported"},
	{"test_softsign", "opset 1 is not supported"},
	/* text is not computed with */
	{"test_cast_FLOAT_to_STRING", "attribute to is STRING, an element type that is not supported"},
	{"test_cast_STRING_to_FLOAT", "element type STRING is not supported"},
	{"test_castlike_FLOAT_to_STRING", "element type STRING is not supported"},
	{"test_castlike_STRING_to_FLOAT", "element type STRING is not supported"},
	/* values are tensors */
	{"test_identity_opt", "it is a sequence, map, optional or sparse tensor"},
	{"test_identity_sequence", "it is a sequence, map, optional or sparse tensor"},
	/* inference only */
	{"test_training_dropout", "training_mode must be constant and false"},
	/* RandomUniformLike: ONNX's numbers are another generator's */
	{"test_bernoulli_", "random numbers cannot be compared (RandomUniformLike): output 'y': "},
	/* the model declares 3x4, the data is one element */
	{"test_castlike_BFLOAT16_to_FLOAT", "input 'like' has shape 1 in the data, 3x4 in the model"},
	{"test_castlike_FLOAT_to_BFLOAT16", "input 'like' has shape 1 in the data, 3x4 in the model"},
};

static bool is_listed(const struct npl_case *c)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (!strncmp(c->name, refused[i].prefix, strlen(refused[i].prefix)))
			return c->status == NPL_CASE_UNSUPPORTED && strstr(c->reason, refused[i].expected);
	return false;
}

/* What is said to be missing is not in the table, stands in the reason, in order, and once. */
static void check_missing(const struct npl_case *c)
{
	const char *at = c->reason;
	cr_assert_eq(c->status, NPL_CASE_UNSUPPORTED, "%s", c->name);
	for (int k = 0; k < c->n_missing; k++) {
		cr_assert_eq(npl_op_find(c->missing[k]), NPL_OPS, "%s: there is %s", c->name, c->missing[k]);
		cr_assert(!k || strcmp(c->missing[k - 1], c->missing[k]) < 0, "%s: not sorted: %s", c->name, c->reason);
		at = strstr(at, c->missing[k]);
		cr_assert(at, "%s: %s is not in: %s", c->name, c->missing[k], c->reason);
	}
}

static void check_counts(const struct npl_conformance *c)
{
	int count[NPL_CASE_STATUSES] = {0}, opens = 0, single = 0;
	for (int i = 0; i < c->n_cases; i++) {
		count[c->cases[i].status]++;
		single += c->cases[i].n_missing == 1;
		cr_assert_eq(c->cases[i].reason == NULL, c->cases[i].status == NPL_CASE_PASSED);
	}
	for (int s = 0; s < NPL_CASE_STATUSES; s++)
		cr_assert_eq(count[s], c->count[s]);
	for (int i = 0; i < c->n_missing; i++)
		opens += c->missing[i].only_missing;
	cr_assert_eq(opens, single);
}

/* The operators of usual CNNs, MLPs, LSTMs and transformers, which npulab promises. */
static bool is_promised(const char *op)
{
	static const char promised[] =
		" AveragePool BatchNormalization Concat ConstantOfShape Conv Dropout Flatten Gemm GlobalAveragePool "
		"LRN MaxPool Mul Add Relu Reshape Softmax Sum Transpose Unsqueeze ConvTranspose Clip LeakyRelu PRelu "
		"Elu Selu HardSigmoid HardSwish Sigmoid Tanh Softplus Erf Gelu Sqrt Pow Exp Log Abs Neg Reciprocal "
		"Div Sub Min Max Mean ReduceMean ReduceSum ReduceMax ReduceMin LayerNormalization "
		"InstanceNormalization LogSoftmax ArgMax MatMul Einsum Gather Slice Split Squeeze Expand Shape Tile "
		"Pad Resize Where Cast Identity Range Constant RandomNormal LSTM GRU QuantizeLinear DequantizeLinear "
		"DynamicQuantizeLinear QLinearConv QLinearMatMul ConvInteger MatMulInteger ";
	char word[64];
	return snprintf(word, sizeof word, " %s ", op) < (int)sizeof word && strstr(promised, word);
}

/* Has the case's model no operator but those? */
static bool is_usual(const struct npl_case *c)
{
	char path[PATH_MAX];
	struct npl_file file;
	struct npl_arena arena = {0};
	struct npl_err err;
	struct onnx_survey survey;
	snprintf(path, sizeof path, "%s/model.onnx", c->path);
	cr_assert_eq(npl_file_map(path, SIZE_MAX, &file, &err), 0, "%s", err.msg);
	const struct onnx_reader reader = {.start = file.data, .arena = &arena, .err = &err};
	cr_assert_eq(onnx_survey(&reader, (struct onnx_span){reader.start, reader.start + file.bytes}, &survey), 0,
		     "%s", err.msg);
	bool usual = true;
	for (int i = 0; i < survey.n_operators; i++)
		usual = usual && is_promised(survey.operators[i]);
	npl_arena_free(&arena);
	npl_file_unmap(&file);
	return usual;
}

static struct npl_conformance run_group(const char *folder, int cases)
{
	struct npl_conformance c;
	struct npl_err err;
	if (access(folder, R_OK))
		cr_skip("no %s (package libonnx-testdata)", folder);
	cr_assert_eq(npl_conformance_run(&folder, 1, NULL, &c, &err), 0, "%s", err.msg);
	cr_assert_eq(c.n_cases, cases, "%s: %d cases", folder, c.n_cases);
	for (int i = 0; i < c.n_cases; i++) {
		const struct npl_case *item = &c.cases[i];
		if (item->n_missing)
			check_missing(item);
		else
			cr_expect(item->status == NPL_CASE_PASSED || is_listed(item), "%s: %s", item->path,
				  item->reason);
	}
	check_counts(&c);
	fprintf(stderr, "%s: %d passed, %d failed, %d unsupported\n", folder, c.count[NPL_CASE_PASSED],
		c.count[NPL_CASE_FAILED], c.count[NPL_CASE_UNSUPPORTED]);
	return c;
}

Test(conformance_onnx, onnx_s_node_cases_pass)
{
	struct npl_conformance c = run_group(DATA "node", 932);
	int usual = 0, passed = 0;
	cr_expect_geq(c.count[NPL_CASE_PASSED], 727);
	for (int i = 0; i < c.n_cases; i++) {
		const struct npl_case *item = &c.cases[i];
		if (!is_usual(item))
			continue;
		usual++;
		passed += item->status == NPL_CASE_PASSED;
		if (item->status != NPL_CASE_PASSED)
			fprintf(stderr, "%s: %s\n", item->name, item->reason);
	}
	fprintf(stderr, "%d of %d cases of usual operators passed\n", passed, usual);
	cr_expect_eq(usual, 453);
	cr_expect_geq(passed, 430);
	npl_conformance_free(&c);
}

static int count_passed(const char *folder, int cases)
{
	struct npl_conformance c = run_group(folder, cases);
	int passed = c.count[NPL_CASE_PASSED];
	npl_conformance_free(&c);
	return passed;
}

Test(conformance_onnx, cases_of_networks_and_layers_pass)
{
	cr_expect_geq(count_passed(DATA "pytorch-converted", 82), 82);
	cr_expect_geq(count_passed(DATA "pytorch-operator", 35), 35);
	cr_expect_geq(count_passed(DATA "simple", 23), 7);
}

/* The cpu device runs in float32 what the reference does, and a case passes there only when it did run something. */
Test(conformance_onnx, the_cpu_passes_what_the_reference_passes)
{
	const char *folder = DATA "node";
	struct npl_device *device;
	struct npl_conformance on_cpu, plain;
	struct npl_err err;
	if (access(folder, R_OK))
		cr_skip("no %s (package libonnx-testdata)", folder);
	if (npl_device_open("cpu", NULL, &device, &err))
		cr_skip("%s", err.msg);
	cr_assert_eq(
		npl_conformance_run(&folder, 1, &(struct npl_conformance_options){.device = device}, &on_cpu, &err), 0,
		"%s", err.msg);
	cr_assert_eq(npl_conformance_run(&folder, 1, NULL, &plain, &err), 0, "%s", err.msg);
	cr_assert_eq(on_cpu.n_cases, plain.n_cases);
	cr_assert_gt(on_cpu.count[NPL_CASE_PASSED], 0);
	for (int i = 0; i < plain.n_cases; i++) {
		const struct npl_case *a = &plain.cases[i], *b = &on_cpu.cases[i];
		cr_assert_eq(b->status == NPL_CASE_PASSED, b->status != NPL_CASE_FAILED && b->nodes_on_device > 0, "%s",
			     b->path);
		cr_expect(b->status == NPL_CASE_UNSUPPORTED || b->status == a->status, "%s: %s", b->path, b->reason);
	}
	npl_conformance_free(&on_cpu);
	npl_conformance_free(&plain);
	npl_device_close(device);
}

/* Products of integers that the model itself has run on devices of integers, bit for bit, and other cases do not. */
static void run_integers(const char *name, const struct npl_device_options *options)
{
	static const char *const exact[] = {"test_basic_convinteger",
					    "test_convinteger_with_padding",
					    "test_convinteger_without_padding",
					    "test_matmulinteger",
					    "test_qlinearconv",
					    "test_qlinearmatmul_2D",
					    "test_qlinearmatmul_3D"};
	const char *folder = DATA "node";
	struct npl_device *device;
	struct npl_conformance c;
	struct npl_err err;
	size_t n_found = 0;
	if (access(folder, R_OK))
		cr_skip("no %s (package libonnx-testdata)", folder);
	if (npl_device_open(name, options, &device, &err))
		cr_skip("%s", err.msg);
	const struct npl_conformance_options how = {.device = device};
	cr_assert_eq(npl_conformance_run(&folder, 1, &how, &c, &err), 0, "%s", err.msg);
	cr_assert_eq(c.count[NPL_CASE_FAILED], 0);
	for (int i = 0; i < c.n_cases; i++)
		for (size_t k = 0; k < sizeof exact / sizeof exact[0]; k++)
			if (!strcmp(c.cases[i].name, exact[k])) {
				cr_expect_eq(c.cases[i].status, NPL_CASE_PASSED, "%s on %s: %s", exact[k], name,
					     c.cases[i].reason);
				cr_expect_geq(c.cases[i].nodes_on_device, 1);
				n_found++;
			}
	cr_assert_eq(n_found, sizeof exact / sizeof exact[0]);
	for (int i = 0; i < c.n_cases; i++)
		if (!strcmp(c.cases[i].name, "test_relu"))
			cr_assert(c.cases[i].status == NPL_CASE_UNSUPPORTED &&
				  strstr(c.cases[i].reason, "no node between integers"));
	npl_conformance_free(&c);
	npl_device_close(device);
}

Test(conformance_onnx, integers_on_tpu_v1)
{
	run_integers("tpu_v1", NULL);
}

Test(conformance_onnx, integer_cases_pass_on_cpu)
{
	const char *const set[] = {"precision=int8"};
	run_integers("cpu", &(struct npl_device_options){.n_sets = 1, .set = set});
}
