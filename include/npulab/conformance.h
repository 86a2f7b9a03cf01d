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
 * Inputs are fed when the network runs. Where import says that something must be constant, as shapes and axes, it is
 * tried again with the small integer and bool inputs as constants, then with all but the first, then with all.
 * Dimensions that the model leaves open are those of the data.
 *
 * Values. Types and shapes must be equal, integers and bools too, and so must be where floats are NaN or infinite. Else
 * |found - expected| <= atol + rtol * |expected|, as ONNX's own runner asks, with its rtol of 1e-3 and atol of 1e-7.
 * The rtol of float16 and bfloat16 is at least their epsilon, 2^-10 and 2^-7; of bfloat16 that is more than 1e-3, for
 * ONNX's generator truncates where npulab rounds to the nearest. uint16 data is the bits of bfloat16 where the model
 * declares that, as that generator writes it; where such data has another shape than the model says, the case is
 * unsupported. A model that draws random numbers (RandomNormal and the like, Bernoulli) whose outputs have the right
 * types and shapes and other values is unsupported: nobody can tell.
 *
 * On a device. A case passes only when a node of it ran there, and is unsupported when all went to the host; the reason
 * says why. A device of integers is asked for the nodes between integers, with the inputs but the first as constants
 * (its weights, scales and zero points, as exported models have them), and must give the same bits; a case without such
 * a node is unsupported there. What is between floats then runs on the host. A device in float32 is asked for every
 * node.
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
	NPL_CASE_UNSUPPORTED, /* an operator, type, version or form that npulab, or the device, has not */
	NPL_CASE_STATUSES
};
const char *npl_case_status_name(enum npl_case_status status); /* "passed", "failed", "unsupported" */

struct npl_case {
	const char *name; /* of its folder */
	const char *path;
	enum npl_case_status status;
	const char *reason; /* NULL: it passed */
	int n_missing;      /* operators of the model that npulab has not, sorted; "DOMAIN.NAME" outside ONNX's own */
	const char *const *missing;
	int data_sets;              /* run, up to the first that did not pass */
	int nodes, nodes_on_device; /* of the last run, after folding; 0 on no device */
};

struct npl_missing_operator {
	const char *name;
	int cases; /* that have it */
	int opens; /* of these, those that miss no other */
};

struct npl_conformance {    /* everything lives in the arena */
	const char *device; /* NULL: the reference kernels */
	int n_cases;
	struct npl_case *item; /* in the order of the folders given, by name within one */
	int count[NPL_CASE_STATUSES];
	int n_missing;
	struct npl_missing_operator *missing; /* most `opens` first */
	struct npl_arena arena;
};

struct npl_conformance_options {
	/* NULL: the reference kernels. Borrowed for the call; not of kind NPL_KIND_NULL, which computes nothing. */
	struct npl_device *device;
	double rtol, atol; /* 0: those above */
};

/* Each of dirs is a case, or a folder of such; what is none of it, or a model without data, is unsupported. options may
 * be NULL. NPL_EINPUT: one cannot be opened, or there is no case in any; NPL_EUSAGE: a device that cannot be asked.
 * That cases failed is no error of the call. */
int npl_conformance_run(const char *const *dirs, int n_dirs, const struct npl_conformance_options *options,
			struct npl_conformance *conformance, struct npl_err *err);
void npl_conformance_free(struct npl_conformance *conformance);

#ifdef __cplusplus
}
#endif

#endif
