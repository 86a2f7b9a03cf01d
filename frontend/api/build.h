/* SPDX-License-Identifier: MIT
 *
 * Private: the inside of a network that is built in C (npulab/build.h), for the eager context, which looks at what a
 * value has become. */
#ifndef NPULAB_FRONTEND_API_BUILD_H
#define NPULAB_FRONTEND_API_BUILD_H

#include "frontend/graph/build.h"
#include "npulab/build.h"

struct npl_build {
	struct npl_graph *graph;
	struct graph_builder b;
	struct npl_err first; /* the first error, which stays */
	struct npl_err last;  /* the error of the current call */
};

/* Adds a constant, which may be a description (fill, distribution) rather than elements; its name and data are
 * borrowed. Returns its index, or an error's code. */
int build_known(struct npl_build *build, const struct npl_value *value);
/* Does what npl_build_ops does, but an error does not stay: it goes to build->last alone. */
int build_ops(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs,
	      int n_results, int *result);
/* Returns NPL_EINPUT when no tensor can have this type and shape, or its elements are absent or, with NPL_BORROW, not
 * aligned. */
int build_check_tensor(const char *subject, const struct npl_tensor *tensor, enum npl_keep keep, struct npl_err *err);

#endif
