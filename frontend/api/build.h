/* SPDX-License-Identifier: MIT
 *
 * Private: a network built in C (npulab/build.h) as the eager context needs it: to look at what a value has become. */
#ifndef NPULAB_FRONTEND_API_BUILD_H
#define NPULAB_FRONTEND_API_BUILD_H

#include "frontend/graph/build.h"
#include "npulab/build.h"

struct npl_build {
	struct npl_graph *graph;
	struct graph_builder b;
	struct npl_err first; /* the error that stays */
	struct npl_err last;  /* of the call in hand */
};

/* A constant that may be a description (fill, distribution) rather than elements; its name and data are borrowed. */
int build_known(struct npl_build *build, const struct npl_value *value);
/* Like npl_build_ops, but an error does not stay: it goes to build->last alone. */
int build_ops(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs,
	      int n_results, int *result);
/* NPL_EINPUT when there can be no such tensor, or it lacks elements. */
int build_check_type(const char *what, enum npl_dtype dtype, const struct npl_shape *shape, struct npl_err *err);
int build_check_tensor(const char *what, const struct npl_tensor *tensor, enum npl_keep keep, struct npl_err *err);

#endif
