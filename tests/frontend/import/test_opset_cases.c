/* SPDX-License-Identifier: MIT
 *
 * Operators as opset 18 to 23 define them: tests/onnx/ writes cases, with numpy as the judge, since those of Debian's
 * ONNX end at opset 17. All pass on the reference kernels, and on `cpu` all of which that takes a node. Skipped where
 * python3-onnx is not there. */
#include "npulab/conformance.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/shipped_models.h"

#define MAX_FAMILIES 64

struct families {
	char folder[CLI_PATH];
	const char *path[MAX_FAMILIES];
	int n, cases; /* as the script counts them */
};

/* Runs the script, which writes a folder for each family and says how many cases are in it. */
static struct families make_cases(void)
{
	struct families f = {0};
	char command[2 * CLI_PATH], name[64], path[2 * CLI_PATH];
	int count;
	if (!shipped_can_make())
		cr_skip("no python3-onnx");
	cli_folder(f.folder);
	snprintf(command, sizeof command, "/usr/bin/python3 tests/onnx/make_cases.py '%s'", f.folder);
	FILE *said = popen(command, "r"); /* NOLINT(cert-env33-c) */
	cr_assert(said, "%s", command);
	while (f.n < MAX_FAMILIES && fscanf(said, "%63s %d", name, &count) == 2) {
		snprintf(path, sizeof path, "%s/%s", f.folder, name);
		f.path[f.n++] = strdup(path);
		f.cases += count;
	}
	cr_assert(feof(said), "more than %d families", MAX_FAMILIES);
	cr_assert_eq(pclose(said), 0, "%s", command);
	return f;
}

static void free_cases(struct families *f)
{
	for (int i = 0; i < f->n; i++)
		free((void *)f->path[i]);
	cli_remove_folder(f->folder);
}

/* Closer than ONNX's own runner asks: both sides fold in double and round once, or differ in the last bits of a few
 * operations. */
static struct npl_conformance run_cases(const struct families *f, struct npl_device *device)
{
	const struct npl_conformance_options how = {.device = device, .rtol = 2e-5, .atol = 2e-6};
	struct npl_conformance c;
	struct npl_err err;
	cr_assert_eq(npl_conformance_run(f->path, f->n, &how, &c, &err), 0, "%s", err.msg);
	cr_assert_eq(c.n_cases, f->cases);
	for (int i = 0; i < c.n_cases; i++)
		cr_expect(c.cases[i].status == NPL_CASE_PASSED ||
				  (device && c.cases[i].status == NPL_CASE_UNSUPPORTED &&
				   c.cases[i].nodes_on_device == 0),
			  "%s: %s", c.cases[i].name, c.cases[i].reason);
	fprintf(stderr, "%s: %d of %d cases in %d families passed\n", device ? "cpu" : "reference",
		c.count[NPL_CASE_PASSED], c.n_cases, f->n);
	return c;
}

Test(opset_cases, the_reference_passes_the_cases_of_every_opset)
{
	struct families f = make_cases();
	struct npl_conformance c = run_cases(&f, NULL);
	cr_expect_eq(c.count[NPL_CASE_PASSED], c.n_cases);
	npl_conformance_free(&c);
	free_cases(&f);
}

Test(opset_cases, the_cpu_passes_the_cases_of_every_opset)
{
	struct families f = make_cases();
	struct npl_device *device;
	struct npl_err err;
	cr_assert_eq(npl_device_open("cpu", NULL, &device, &err), 0, "%s", err.msg);
	struct npl_conformance c = run_cases(&f, device);
	cr_expect_gt(c.count[NPL_CASE_PASSED], 0);
	npl_conformance_free(&c);
	npl_device_close(device);
	free_cases(&f);
}
