/* SPDX-License-Identifier: MIT
 *
 * Scales and zero points among the inputs of a quantised operator. ONNX lets them be computed; what is read here is constant. */
#ifndef NPULAB_FRONTEND_OPERANDS_H
#define NPULAB_FRONTEND_OPERANDS_H

#include "npulab/graph.h"

/* A node whose inputs are read. Functions that return false or NULL have put the reason in why, or an error in err. */
struct npl_operands {
	struct npl_graph *graph;
	const struct npl_node *node;
	char *why;
	size_t n; /* bytes of why */
	struct npl_err *err;
};

/* Input k; NULL: the node has none. A negative k stands for an input that the operator does not have. */
struct npl_value *npl_operand(const struct npl_operands *operands, int k);
/* The bytes of input k, which is there. */
const void *npl_operand_constant(const struct npl_operands *operands, int k, const char *what);
/* A zero point, the same for all parts; of an input that is absent 0. */
bool npl_operand_zero(const struct npl_operands *operands, int k, const char *what, int32_t *zero);
/* A scale above 0; of an input that is absent 1. Several scales go to *each, if that is not NULL: borrowed of the graph. */
bool npl_operand_scale(const struct npl_operands *operands, int k, const char *what, float *scale, const float **each);

/* Whether the rule on integers takes this scale. */
bool npl_is_scale(float scale);

#endif
