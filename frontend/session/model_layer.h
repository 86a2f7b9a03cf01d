/* SPDX-License-Identifier: MIT
 *
 * Layers in integers that the model itself has (frontend/quantise/model_quant.h): QLinearConv, QLinearMatMul,
 * ConvInteger, MatMulInteger and operators that only pick from 8-bit values, on devices that compute with 8-bit
 * integers; and weights of Conv, Gemm and MatMul that the model has as integers. Types, scales and zero points are the
 * model's; nothing is calibrated, and results are those of the operators' own rule to the bit. */
#ifndef NPULAB_FRONTEND_SESSION_MODEL_LAYER_H
#define NPULAB_FRONTEND_SESSION_MODEL_LAYER_H

#include "session_impl.h"

/* Whether the step's node is a product of integers that its device may take. */
bool npl_model_product_is(const struct npl_session *s, int i, const struct npl_step *step);
/* Fills the step and asks the device. False, with the reason: the host's. NPL_ENOMEM and the like in err->code. */
bool npl_model_product_plan(struct npl_session *s, int i, struct npl_step *step, char *why, size_t n,
			    struct npl_err *err);
/* Whether each result of the step's node is one of its inputs' bytes. Devices that compute in float32 run such nodes as
 * they are. */
bool npl_model_picks(const struct npl_session *s, int i, const struct npl_step *step);

/* A model that quantises values says by that which of its layers are done in integers, and with which scales. Whether
 * the step, of a device of 8-bit integers, does otherwise, for the reason in why. */
bool npl_model_refuses(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step, char *why,
		       size_t n);

/* Weights that the model has as integers, scaled per tensor or per output channel, around one zero point: a machine of
 * 8-bit integers takes them as they are. And a bias of 32-bit integers whose scale is input times weight. */
bool npl_model_weight(const struct npl_node *node, const struct npl_value *value, enum npl_format format);
int npl_model_take_weight(const struct npl_node *node, const struct npl_value *value, struct npl_step *step,
			  struct npl_err *err);
bool npl_model_bias(const struct npl_node *node, const struct npl_value *value, const struct npl_step *step);

#endif
