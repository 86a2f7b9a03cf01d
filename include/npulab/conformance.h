/* SPDX-License-Identifier: MIT
 *
 * ONNX backend test cases: folders that hold a model.onnx and one or more test_data_set_N/ with input_K.pb and
 * output_K.pb (K from 0 on, in the order of the model's inputs and outputs).
 *
 *     struct npl_conformance c;
 *     if (npl_conformance_run(&(const char *){"/usr/share/libonnx-testdata/data/node"}, 1, NULL, &c, &err)) ...
 *     printf("%d failed\n", c.count[NPL_CASE_FAILED]);
 *     npl_conformance_free(&c);
 *
 * Inputs are fed when the network runs. Where the import says that an input must be constant, as shapes and axes must,
 * it is repeated with the small integer and bool inputs as constants, then with all inputs except the first, then with
 * all. Dimensions that the model leaves open are taken from the data.
 *
 * Values. Types and shapes must be equal. Integers and bools must be equal, and floats must be NaN or infinite in the
 * same places. Finite floats must keep |found - expected| <= atol + rtol * |expected|, as ONNX's own runner asks, with
 * its rtol of 1e-3 and atol of 1e-7. The rtol of float16 and bfloat16 is at least their epsilon, 2^-10 and 2^-7; that
 * of bfloat16 is more than 1e-3 because ONNX's generator truncates where npulab rounds to the nearest. ONNX's generator
 * writes bfloat16 as uint16 data; it is read as bfloat16 where the model declares that type. Where such data has
 * another shape than the model says, the case is unsupported. A model that draws random numbers (RandomNormal,
 * Bernoulli and others) is unsupported when its outputs have the right types and shapes and other values: such values
 * cannot be judged.
 *
 * On a device. A case passes only when at least one of its nodes ran on the device. It is unsupported when all nodes
 * went to the host; the reason says why. A device of integers gets the nodes between integers, and must give the same
 * bits. All inputs except the first are then constants (weights, scales and zero points, as in exported models), and
 * the nodes between floats run on the host. A case without a node between integers is unsupported there. A device in
 * float32 gets every node.
 */
#ifndef NPULAB_CONFORMANCE_H
#define NPULAB_CONFORMANCE_H

#include "npulab/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npl_case_status {
	NPL_CASE_PASSED,
	NPL_CASE_FAILED,      /* wrong values, an error at run time, a file that cannot be read */
	NPL_CASE_UNSUPPORTED, /* an operator, type, version or form that npulab, or the device, does not have */
	NPL_CASE_STATUSES
};
const char *npl_case_status_name(enum npl_case_status status); /* "passed", "failed", "unsupported" */

struct npl_case {
	const char *name; /* the name of its folder */
	const char *path;
	enum npl_case_status status;
	const char *reason; /* NULL: it passed */
	/* operators of the model that npulab does not have, sorted; "DOMAIN.NAME" outside ONNX's own domain */
	int n_missing;
	const char *const *missing;
	int data_sets;              /* data sets that ran, up to the first that did not pass */
	int nodes, nodes_on_device; /* nodes of the last run, after folding; nodes_on_device is 0 without a device */
};

struct npl_missing_operator {
	const char *name;
	int cases;        /* cases whose model has this operator */
	int only_missing; /* of these, the cases in which it is the only one that is missing */
};

struct npl_conformance {    /* everything lives in the arena */
	const char *device; /* NULL: the reference kernels */
	int n_cases;
	struct npl_case *cases; /* in the order of the given folders, sorted by name within each */
	int count[NPL_CASE_STATUSES];
	int n_missing;
	struct npl_missing_operator *missing; /* greatest only_missing first */
	struct npl_arena arena;
};

struct npl_conformance_options {
	/* The device under test, borrowed for the call; NULL: the reference kernels. It must not be of kind
	 * NPL_KIND_NULL, which computes nothing. */
	struct npl_device *device;
	/* Tolerances. 0: the values in the head of this file. DBL_MIN, the least number, asks for equality. */
	double rtol, atol;
};

/* Runs the cases. Each of dirs is a case or a folder of cases; a folder that is neither, or a model without data, is
 * unsupported. options may be NULL. Returns NPL_EINPUT when a folder cannot be opened or no folder has a case, and
 * NPL_EUSAGE for a device that computes nothing. A failed case is no error of the call. */
int npl_conformance_run(const char *const *dirs, int n_dirs, const struct npl_conformance_options *options,
			struct npl_conformance *conformance, struct npl_err *err);
void npl_conformance_free(struct npl_conformance *conformance);

#ifdef __cplusplus
}
#endif

#endif
