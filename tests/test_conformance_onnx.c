/* SPDX-License-Identifier: MIT
 *
 * ONNX's own backend test cases, as Debian's libonnx-testdata installs them: every case whose operators npulab has passes,
 * or is listed here with what its refusal must say; every other names the operators that are missing. Skipped where the
 * files are not there. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "npulab/conformance.h"
#include "npulab/op.h"

#define DATA "/usr/share/libonnx-testdata/data/"

/* Cases of our operators that npulab refuses, by the beginning of their names. */
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
};

static bool is_listed(const struct npl_case *c)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (!strncmp(c->name, refused[i].prefix, strlen(refused[i].prefix)))
			return c->status == NPL_CASE_UNSUPPORTED && strstr(c->reason, refused[i].says);
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
	int count[NPL_CASE_STATUSES] = {0}, opens = 0, alone = 0;
	for (int i = 0; i < c->n_cases; i++) {
		count[c->item[i].status]++;
		alone += c->item[i].n_missing == 1;
		cr_assert_eq(c->item[i].reason == NULL, c->item[i].status == NPL_CASE_PASSED);
	}
	for (int s = 0; s < NPL_CASE_STATUSES; s++)
		cr_assert_eq(count[s], c->count[s]);
	for (int i = 0; i < c->n_missing; i++)
		opens += c->missing[i].opens;
	cr_assert_eq(opens, alone);
}

static int run_group(const char *folder, int cases)
{
	struct npl_conformance c;
	struct npl_err err;
	if (access(folder, R_OK))
		cr_skip("no %s (package libonnx-testdata)", folder);
	cr_assert_eq(npl_conformance_run(&folder, 1, NULL, &c, &err), 0, "%s", err.msg);
	cr_assert_eq(c.n_cases, cases, "%s: %d cases", folder, c.n_cases);
	for (int i = 0; i < c.n_cases; i++) {
		const struct npl_case *item = &c.item[i];
		if (item->n_missing)
			check_missing(item);
		else
			cr_expect(item->status == NPL_CASE_PASSED || is_listed(item), "%s: %s", item->path,
				  item->reason);
	}
	check_counts(&c);
	int passed = c.count[NPL_CASE_PASSED];
	fprintf(stderr, "%s: %d passed, %d failed, %d unsupported\n", folder, passed, c.count[NPL_CASE_FAILED],
		c.count[NPL_CASE_UNSUPPORTED]);
	npl_conformance_free(&c);
	return passed;
}

Test(conformance_onnx, node)
{
	cr_assert_geq(run_group(DATA "node", 932), 152);
}

Test(conformance_onnx, networks_and_layers)
{
	int passed = run_group(DATA "pytorch-converted", 82) + run_group(DATA "pytorch-operator", 35) +
		     run_group(DATA "simple", 23);
	cr_assert_geq(passed, 59);
}

/* The cpu device runs in float32 what the reference does, and a case passes there only when it did run something. */
Test(conformance_onnx, cpu)
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
		const struct npl_case *a = &plain.item[i], *b = &on_cpu.item[i];
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
	size_t found = 0;
	if (access(folder, R_OK))
		cr_skip("no %s (package libonnx-testdata)", folder);
	if (npl_device_open(name, options, &device, &err))
		cr_skip("%s", err.msg);
	const struct npl_conformance_options how = {.device = device};
	cr_assert_eq(npl_conformance_run(&folder, 1, &how, &c, &err), 0, "%s", err.msg);
	cr_assert_eq(c.count[NPL_CASE_FAILED], 0);
	for (int i = 0; i < c.n_cases; i++)
		for (size_t k = 0; k < sizeof exact / sizeof exact[0]; k++)
			if (!strcmp(c.item[i].name, exact[k])) {
				cr_expect_eq(c.item[i].status, NPL_CASE_PASSED, "%s on %s: %s", exact[k], name,
					     c.item[i].reason);
				cr_expect_geq(c.item[i].nodes_on_device, 1);
				found++;
			}
	cr_assert_eq(found, sizeof exact / sizeof exact[0]);
	for (int i = 0; i < c.n_cases; i++)
		if (!strcmp(c.item[i].name, "test_relu"))
			cr_assert(c.item[i].status == NPL_CASE_UNSUPPORTED &&
				  strstr(c.item[i].reason, "no node between integers"));
	npl_conformance_free(&c);
	npl_device_close(device);
}

Test(conformance_onnx, integers_on_tpu_v1)
{
	run_integers("tpu_v1", NULL);
}

Test(conformance_onnx, integers_on_cpu)
{
	const char *const set[] = {"precision=int8"};
	run_integers("cpu", &(struct npl_device_options){.n_sets = 1, .set = set});
}
