/* SPDX-License-Identifier: MIT
 *
 * Integers that a model itself has: values between QuantizeLinear and DequantizeLinear; QLinearConv, QLinearMatMul, ConvInteger and MatMulInteger, and operators that only
 * pick from 8-bit values, as layers of devices that compute with 8-bit integers. Types, scales and zero points are the
 * model's; nothing is calibrated, and results are those of the operators' own rule to the bit. */
#ifndef NPULAB_FRONTEND_WRITTEN_H
#define NPULAB_FRONTEND_WRITTEN_H

#include "session_impl.h"

/* A node that gives its input in another shape, and no second output that somebody reads: Dropout's mask must be computed. */
bool npl_only_renames(const struct npl_graph *graph, const struct npl_node *node);
/* The value that v is in another shape, or v. */
int npl_root_of(const struct npl_graph *graph, int v);

/* Finds the QuantizeLinear and DequantizeLinear that only say what integers stand for on their device (place: as in
 * npl_session_options), and with it which float values are integers there: s->own. Where the model quantises one again, with the same scale
 * and zero point and perhaps in another shape, these are its integers too. */
int npl_written_open(struct npl_session *s, const int *place, struct npl_err *err);
/* A model that quantises values says by that which of its layers are done in integers: whether a device that has floats too leaves the
 * step to these, because the model has its result, an operand or weights in float32. */
bool npl_written_in_floats(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			   char *why, size_t n);

/* Is node i one of these? Its input and its output are then one value on the device, and nothing is to be done. Nodes are
 * asked in their order. */
bool npl_written_alias(struct npl_session *s, int i);

/* Is node i one of these, on a device that may take it? */
bool npl_written_is(const struct npl_session *s, int i, const struct npl_step *step);
/* Fills the step and asks the device. False, with the reason: the host's. NPL_ENOMEM and the like in err->code. */
bool npl_written_plan(struct npl_session *s, int i, struct npl_step *step, char *why, size_t n, struct npl_err *err);

/* Weights that the model has as integers, scaled per tensor or per output channel, around one zero point: a machine of 8-bit
 * integers takes them as they are. And a bias of 32-bit integers whose scale is input times weight. */
bool npl_written_weight(const struct npl_node *node, const struct npl_value *value, enum npl_format format);
/* A constant that the model has as 8-bit integers around one zero point by one scale: its type and quantisation in *own. */
bool npl_written_constant(const struct npl_value *value, struct npl_own_quant *own);
/* Whether a device of integers would have to quantise a constant of the step anew, though the model has it as integers: scales
 * or zero points that the device's rule does not have. The reason is in why. */
bool npl_written_otherwise(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			   char *why, size_t n);
int npl_written_take_weight(const struct npl_node *node, const struct npl_value *value, struct npl_step *step,
			    struct npl_err *err);
bool npl_written_bias(const struct npl_node *node, const struct npl_value *value, const struct npl_step *step);

/* Scale and zero point of integers that are value v; scale 1 and zero point 0 where nothing is said of them. */
struct npl_quant npl_written_quant(const struct npl_session *s, int v);

#endif
