/* SPDX-License-Identifier: MIT
 *
 * Model quantisation: the scales and zero points that a model itself carries for its values. One pass finds them before
 * the layers are planned; the code that plans, groups and runs layers asks only this pass.
 *
 * A QuantizeLinear or DequantizeLinear that devices of 8-bit integers need not run is annotated, not removed, so that
 * the node keeps its row in a report. Such a node only says which integers stand for a float value, so that its
 * neighbours become layers of integers. */
#ifndef NPULAB_FRONTEND_QUANTISE_MODEL_QUANT_H
#define NPULAB_FRONTEND_QUANTISE_MODEL_QUANT_H

#include "npulab/graph.h"

/* What the model says of a value in 8 bits. For a float value and its views it is kept once, at the root
 * (npl_root_of). */
struct npl_model_quant {
	struct npl_quant quant; /* scale 0: the model says nothing */
	enum npl_dtype dtype;   /* the type of a float value's integers, uint8 or int8 */
	int integers;           /* the value that holds a float value's integers; -1: there is none */
	bool only_integers;     /* only QuantizeLinear reads the float value */
};

/* Tells nodes that only say which integers stand for a float value: for their input (NPL_QUANTISES) or for their output
 * (NPL_DEQUANTISES). */
enum npl_quant_node { NPL_NO_QUANT_NODE, NPL_QUANTISES, NPL_DEQUANTISES };

struct npl_model_quants {
	const struct npl_graph *graph; /* borrowed */
	struct npl_model_quant *value; /* per value of the graph */
	enum npl_quant_node *node;     /* per node */
	/* The model has a QuantizeLinear on a device of 8-bit integers, and so decides which values are integers. */
	bool quantises;
};

/* Runs the pass and fills *model. place: as in npl_session_options. takes_int8: per device, whether it computes with
 * 8-bit integers; on other devices a QuantizeLinear is an operator like any other. Returns NPL_ENOMEM or the error of
 * reading a constant. The caller frees *model in any case. */
int npl_model_quants_find(struct npl_graph *graph, const int *place, const bool *takes_int8,
			  struct npl_model_quants *model, struct npl_err *err);
void npl_model_quants_free(struct npl_model_quants *model);

/* Decides what node i is and returns that. Call it for the nodes in their order. Integers that a QuantizeLinear makes
 * get its scale and zero point. A node whose integers already stand for other numbers becomes an operator like any
 * other. */
enum npl_quant_node npl_model_quant_resolve(struct npl_model_quants *model, int i);

/* Returns scale and zero point of integer value v: 1 and 0 where the model says nothing. */
struct npl_quant npl_model_quant_of(const struct npl_model_quants *model, int v);
/* Says whether the model's integers stand for the float value v, or for the value that its elements are picked from. */
bool npl_model_quant_is_given(const struct npl_model_quants *model, int v);
/* Says whether the model wants its value v, a result of the node, as integers. */
bool npl_model_quant_is_wanted(const struct npl_model_quants *model, const struct npl_node *node, int v);

/* Says whether the node only gives its input another shape. A node whose second output is read does more: Dropout's
 * mask must be computed. */
bool npl_is_view(const struct npl_graph *graph, const struct npl_node *node);
/* Returns the value of which v is a view, or v. */
int npl_root_of(const struct npl_graph *graph, int v);

/* A quantised operator whose scales and zero points are read. ONNX allows computed ones; these functions take only
 * constants. A function that returns false or NULL has put the reason in `reason`, or an error in err. */
struct npl_operands {
	struct npl_graph *graph;
	const struct npl_node *node;
	char *reason;
	size_t n; /* bytes of reason */
	struct npl_err *err;
};

/* Returns input k; NULL: the node has none. A negative k stands for an input that the operator does not have. */
struct npl_value *npl_operand(const struct npl_operands *operands, int k);
/* Returns the elements of input k, which the node must have; NULL when they are computed. */
const void *npl_operand_constant(const struct npl_operands *operands, int k, const char *operand_name);
/* Reads the zero point in input k, which is 0 when the input is absent. Refuses zero points that differ between
 * parts. */
bool npl_operand_zero(const struct npl_operands *operands, int k, const char *operand_name, int32_t *zero);
/* Reads the scale in input k, which is 1 when the input is absent. Several scales go to *channel_scales, borrowed from
 * the graph. They are refused if channel_scales is NULL, as are scales that are not finite or not above 0. */
bool npl_operand_scale(const struct npl_operands *operands, int k, const char *operand_name, float *scale,
		       const float **channel_scales);

/* Says whether the scale is finite and above 0, as the rule on integers needs. */
bool npl_is_scale(float scale);

#endif
