/* SPDX-License-Identifier: MIT
 *
 * Layers in integers that the model itself has (frontend/quantise/model_quant.h): QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger
 * and operators that only pick from 8-bit values, on devices that compute with 8-bit integers; and weights of Conv, Gemm and MatMul that
 * the model has as integers. Types, scales and zero points are the model's; nothing is calibrated, and results are those of the operators'
 * own rule to the bit. */
#ifndef NPULAB_FRONTEND_MODEL_LAYER_H
#define NPULAB_FRONTEND_MODEL_LAYER_H

#include "session_impl.h"

/* A model that quantises values says by that which of its layers are done in integers: whether a device that has floats too leaves the
 * step to these, because the model has its result, an operand or weights in float32. */
bool npl_model_keeps_float(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
			   char *why, size_t n);

/* Is node i such a layer, on a device that may take it? */
bool npl_model_layer_is(const struct npl_session *s, int i, const struct npl_step *step);
/* Fills the step and asks the device. False, with the reason: the host's. NPL_ENOMEM and the like in err->code. */
bool npl_model_layer_plan(struct npl_session *s, int i, struct npl_step *step, char *why, size_t n,
			  struct npl_err *err);

/* Weights that the model has as integers, scaled per tensor or per output channel, around one zero point: a machine of 8-bit
 * integers takes them as they are. And a bias of 32-bit integers whose scale is input times weight. */
bool npl_model_weight(const struct npl_node *node, const struct npl_value *value, enum npl_format format);
/* Whether a device of integers would have to quantise a constant of the step anew, though the model has it as integers: scales
 * or zero points that the device's rule does not have. The reason is in why. */
bool npl_model_differs(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step, char *why,
		       size_t n);
int npl_model_take_weight(const struct npl_node *node, const struct npl_value *value, struct npl_step *step,
			  struct npl_err *err);
bool npl_model_bias(const struct npl_node *node, const struct npl_value *value, const struct npl_step *step);

#endif
