/* SPDX-License-Identifier: MIT
 *
 * What the parts of the conformance run share (npulab/conformance.h). */
#ifndef NPULAB_FRONTEND_CONFORMANCE_IMPL_H
#define NPULAB_FRONTEND_CONFORMANCE_IMPL_H

#include "frontend/import/onnx_survey.h"
#include "npulab/conformance.h"
#include "npulab/graph.h"

/* find.c: finds the cases in the given folders. The cases live in the arena. */
int npl_cases_find(const char *const *dirs, int n_dirs, struct npl_conformance *conformance, struct npl_err *err);

/* data.c: the contents of one folder test_data_set_N. */
struct npl_data_set {
	int n_in, n_out;
	struct npl_tensor *in, *out; /* owned */
	bool has_bits;               /* an input is bfloat16 that the file holds as uint16 */
};
/* Returns the numbers N of a case's data sets, ascending, to be freed. NULL: there are none, or memory is short. */
int *npl_data_set_numbers(const char *case_path, int *n);
/* Loads a data set. Its uint16 tensors are bfloat16 where the model says so: ONNX's generator, whose numpy has no
 * bfloat16, writes the bits of such values as UINT16 (all cases of the node set that cast from or to bfloat16). */
int npl_data_set_load(const char *case_path, int number, const struct onnx_survey *model, struct npl_data_set *set,
		      struct npl_err *err);
void npl_data_set_free(struct npl_data_set *set);

/* values.c: compares tensors. Returns 0, or NPL_ECHECK and what differs. */
struct npl_tolerance {
	double rtol, atol;
};
int npl_values_check(const struct npl_tensor *actual, const struct npl_tensor *expected,
		     const struct npl_tolerance *tolerance, struct npl_err *err);

/* device.c: runs the graph on a device as the head of npulab/conformance.h says. Returns 0 and outputs, NPL_EDEVICE
 * with the reason why the device does not count as having run it, or the code of another failure. */
int npl_case_on_device(struct npl_graph *graph, struct npl_device *device, const struct npl_tensor *inputs,
		       struct npl_tensor *outputs, struct npl_case *c, struct npl_err *err);
/* Says whether the device is tested with integers only. */
bool npl_case_is_integer(const struct npl_device *device);

/* case.c: fills the case's status and reason. Returns an error only when there is no memory for them. */
int npl_case_run(struct npl_case *c, const struct npl_conformance_options *options, struct npl_arena *arena,
		 struct npl_err *err);

#endif
