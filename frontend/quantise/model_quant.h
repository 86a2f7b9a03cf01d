/* SPDX-License-Identifier: MIT
 *
 * Model quantisation: what a model that carries its own scales and zero points says of its values. One pass finds it
 * before the layers are planned; whoever plans, groups or runs them asks only for what is here.
 *
 * QuantizeLinear and DequantizeLinear that devices of 8-bit integers need not do are annotated, not removed: such a
 * node keeps its row in a report. It only says of a float value which integers it is there, so that its neighbours are
 * layers of integers. */
#ifndef NPULAB_FRONTEND_QUANTISE_MODEL_QUANT_H
#define NPULAB_FRONTEND_QUANTISE_MODEL_QUANT_H

#include "npulab/graph.h"

/* What the model says of a value in 8 bits. Of a float value that views name in other shapes it is kept once, by the
 * value itself (npl_root_of). */
struct npl_model_quant {
	struct npl_quant quant; /* scale 0: the model says nothing */
	enum npl_dtype dtype;   /* of a float value: uint8 or int8, as its integers are */
	int integers;           /* of a float value: the value that holds its integers; -1: there is none */
	bool only_integers;     /* nobody reads the float value but by its QuantizeLinear */
};

/* Whether a node only says which integers a float value is: its input, or its output. */
enum npl_quant_node { NPL_NO_QUANT_NODE, NPL_QUANTISES, NPL_DEQUANTISES };

struct npl_model_quants {
	const struct npl_graph *graph; /* borrowed */
	struct npl_model_quant *value; /* per value of the graph */
	enum npl_quant_node *node;     /* per node */
	/* the model has a QuantizeLinear that a device of integers sees: it says what is to be integers */
	bool quantises;
};

/* The pass. place: as in npl_session_options; takes_int8: per device, whether it computes with 8-bit integers.
 * Elsewhere a QuantizeLinear is an operator like any other. Errors: NPL_ENOMEM, and those of reading a constant. The
 * result is to be freed in any case. */
int npl_model_quants_find(struct npl_graph *graph, const int *place, const bool *takes_int8,
			  struct npl_model_quants *model, struct npl_err *err);
void npl_model_quants_free(struct npl_model_quants *model);

/* Settles node i, when the nodes before it are settled, and says what it is. Integers that a QuantizeLinear makes get
 * its scale and zero point. A DequantizeLinear whose integers stand for other numbers than it reads becomes an operator
 * like any other. */
enum npl_quant_node npl_model_quant_resolve(struct npl_model_quants *model, int i);

/* What integer value v stands for; scale 1 and zero point 0 where nothing is said. */
struct npl_quant npl_model_quant_of(const struct npl_model_quants *model, int v);
/* Whether the float value v is what the model's integers stand for, as it is or picked from such. */
bool npl_model_quant_is_given(const struct npl_model_quants *model, int v);
/* Whether the model wants its value v, a result of the node, as integers. */
bool npl_model_quant_is_wanted(const struct npl_model_quants *model, const struct npl_node *node, int v);

/* A node that gives its input in another shape, and no second output that somebody reads: Dropout's mask must be
 * computed. */
bool npl_is_view(const struct npl_graph *graph, const struct npl_node *node);
/* The value that v is in another shape, or v. */
int npl_root_of(const struct npl_graph *graph, int v);

/* A quantised operator whose scales and zero points are read. ONNX lets them be computed; what is read here is
 * constant. Functions that return false or NULL have put the reason in why, or an error in err. */
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
/* A scale above 0; of an input that is absent 1. Several scales go to *each, if that is not NULL: borrowed of the
 * graph. */
bool npl_operand_scale(const struct npl_operands *operands, int k, const char *what, float *scale, const float **each);

/* Whether the rule on integers takes this scale. */
bool npl_is_scale(float scale);

#endif
