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
 * that is given such a code as a value, so that a whole network can be written without checking each result: the
 * builder keeps the first error, and npl_build_finish returns it. Operators are those of ONNX opset NPL_LAST_OPSET
 * (op.h), called by name. RandomNormal needs a seed if its values shall not depend on its place in the network.
 *
 * A network may contain any operator: the modelled host runs those that a device does not take, and npl_cost.on_host
 * (graph_run.h) names them.
 *
 * Each call infers the shape of its value at once, and computes an operator whose inputs are constants. One thread at a
 * time uses a builder.
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
/* The inputs of an operator, in order; at least one. */
#define NPL_IN(...)                                                                                                    \
	((struct npl_build_in){.value = (const int[]){__VA_ARGS__},                                                    \
			       .n = (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))})
#define NPL_NO_IN ((struct npl_build_in){.value = NULL, .n = 0})

/* Starts a network. name is copied; NULL: "graph". Fails with NPL_ENOMEM. */
int npl_build_open(const char *name, struct npl_build **build, struct npl_err *err);
/* Discards the network. Accepts NULL. Do not call it after npl_build_finish, which frees the builder itself. */
void npl_build_close(struct npl_build *build);

/* Adds an input to the network; inputs are in the order of these calls. name is copied; NULL: "input_I". Returns its
 * value; NPL_EINPUT when another value has that name or the shape is invalid. */
int npl_build_input(struct npl_build *build, const char *name, enum npl_dtype dtype, struct npl_shape shape);

/* Adds a constant. With NPL_BORROW its data must outlive the graph. tensor->name is its first name, or NULL. */
int npl_build_constant(struct npl_build *build, const struct npl_tensor *tensor, enum npl_keep keep);

/* Adds an operator of which only the first result is used, and returns that. NPL_EINPUT says what does not fit: an
 * unknown operator, the number of inputs, shapes or attributes. */
int npl_build_op(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs);
/* Adds an operator with several results: result[0..n_results-1]. Returns 0, or a code that is also stored in each
 * result. */
int npl_build_ops(struct npl_build *build, const char *op, struct npl_build_in in, struct npl_attr_list attrs,
		  int n_results, int *result);

/* Names a value. An operator whose only result is this value gets the name too (for reports, placement and
 * npl_samples_load). Returns the value; NPL_EINPUT when another value or operator has this name. */
int npl_build_name(struct npl_build *build, int value, const char *name);

/* Gives the type and shape of a value. Either pointer may be NULL. */
int npl_build_shape(const struct npl_build *build, int value, enum npl_dtype *dtype, struct npl_shape *shape,
		    struct npl_err *err);

/* Returns the first error; its code is 0 while there is none. It lives as long as the builder. */
const struct npl_err *npl_build_error(const struct npl_build *build);

/* Makes the graph, whose outputs are these values (each once), and frees the builder, also when it fails. The caller
 * frees the graph (npl_graph_free). Operators whose results reach no output are left out. */
int npl_build_finish(struct npl_build *build, struct npl_build_in outputs, struct npl_graph **graph,
		     struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
