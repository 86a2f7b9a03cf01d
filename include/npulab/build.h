/* SPDX-License-Identifier: MIT
 *
 * Building a network in C: inputs, constants and operators, then a struct npl_graph as if it had been read from a file
 * (the same shape rules, folding and limits), for npl_graph_run, npl_session_open or npl_compare.
 *
 *     struct npl_build *b;
 *     if (npl_build_open("net", &b, &err)) ...
 *     int x = npl_build_input(b, "x", NPL_F32, npl_shape_of(4, 8, 3, 32, 32));
 *     struct npl_tensor weights = npl_tensor_over(NPL_F32, npl_shape_of(4, 16, 3, 3, 3), data);
 *     int w = npl_build_constant(b, &weights, NPL_BORROW);
 *     int y = npl_build_op(b, "Conv", NPL_IN(x, w), NPL_ATTRS(NPL_INTS("pads", 1, 1, 1, 1)));
 *     y = npl_build_op(b, "Relu", NPL_IN(y), NPL_NO_ATTRS);
 *     if (npl_build_finish(b, NPL_IN(y), &graph, &err)) ...
 *
 * Values are numbers >= 0. A call that fails returns a negative code (enum npl_code) instead, and so does every call
 * that is given such a code as a value, so that a whole network can be written down without looking at results: the
 * first error stays, and npl_build_finish returns it. Operators are ONNX's, by name, of opset 23; RandomNormal wants a
 * seed if values shall not depend on its place in the network.
 *
 * Any operator can be in a network: what a device does not take, the modelled host runs, and npl_cost.on_host
 * (graph_run.h) names it.
 *
 * Values are shaped, and operators on constants computed, as they are added. One thread at a time.
 */
#ifndef NPULAB_BUILD_H
#define NPULAB_BUILD_H

#include "npulab/attributes.h"
#include "npulab/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_build; /* opaque */

#define NPL_ABSENT (-100) /* in NPL_IN: an optional input that is left out */

struct npl_build_in {
	const int *value; /* n of them */
	int n;
};
/* The values given, in order; at least one. */
#define NPL_IN(...)                                                                                                    \
	((struct npl_build_in){.value = (const int[]){__VA_ARGS__},                                                    \
			       .n = (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))})
#define NPL_NO_IN ((struct npl_build_in){.value = NULL, .n = 0})

/* name is copied; NULL: "graph". NPL_ENOMEM. */
int npl_build_open(const char *name, struct npl_build **build, struct npl_err *err);
/* Throws away what was built; accepts NULL. Not after npl_build_finish, which does it. */
void npl_build_close(struct npl_build *build);

/* An input of the network, in the order of these calls. name is copied, NULL: "input_I"; NPL_EINPUT when another has it
 * or the shape is none. */
int npl_build_input(struct npl_build *build, const char *name, enum npl_dtype dtype, struct npl_shape shape);

/* A constant. With NPL_BORROW its data must outlive the graph. tensor->name is a name to begin with, or NULL. */
int npl_build_constant(struct npl_build *build, const struct npl_tensor *tensor, enum npl_keep keep);

/* An operator with one result that matters: its first. NPL_EINPUT says what does not fit: no such operator, too few
 * inputs, shapes, attributes. */
int npl_build_op(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs);
/* With several: result[0..n_results-1]; returns 0 or a code, which all results then are. */
int npl_build_ops(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs,
		  int n_results, int *result);

/* Names a value and, where it is the only result of an operator, that (for reports, placement and npl_samples_load).
 * Returns the value. NPL_EINPUT when another value or operator is called so. */
int npl_build_name(struct npl_build *build, int value, const char *name);

/* What a value is. Either pointer may be NULL. */
int npl_build_shape(const struct npl_build *build, int value, enum npl_dtype *dtype, struct npl_shape *shape,
		    struct npl_err *err);

/* The first error, code 0: none yet. Lasts as long as the builder. */
const struct npl_err *npl_build_error(const struct npl_build *build);

/* Makes the graph, whose outputs are these values (each once), and frees the builder, also when it fails. The graph is
 * the caller's (npl_graph_free). Operators whose results lead to no output are left out. */
int npl_build_finish(struct npl_build *build, struct npl_build_in outputs, struct npl_graph **graph,
		     struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
