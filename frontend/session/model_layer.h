/* SPDX-License-Identifier: MIT
 *
 * Layers of integers that the model itself has (frontend/quantise/model_quant.h): QLinearConv, QLinearMatMul,
 * ConvInteger, MatMulInteger and operators that only pick from 8-bit values, on devices that compute with 8-bit
 * integers; and weights of Conv, Gemm and MatMul that the model has as integers. Types, scales and zero points are the
 * model's; nothing is calibrated, and results equal those of the operators' own rule in every bit. */
#ifndef NPULAB_FRONTEND_SESSION_MODEL_LAYER_H
#define NPULAB_FRONTEND_SESSION_MODEL_LAYER_H

#include "session_impl.h"

/* Says whether node i is a product of integers that the step's device may take. */
bool npl_model_product_is(const struct npl_session *s, int i, const struct npl_step *step);
/* Fills the step of such a product and asks the device. Returns false when the host must run the node, with the reason
 * in `reason`, or after an error, such as NPL_ENOMEM, with its code in err->code. */
bool npl_model_product_plan(struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes,
			    struct npl_err *err);
/* Says whether each result of node i is a byte of its inputs and the step's device computes in integers. Devices that
 * compute in float32 run such nodes as they are. */
bool npl_model_picks(const struct npl_session *s, int i, const struct npl_step *step);

/* A model that quantises values decides which of its layers are done in integers, and with which scales. Returns true,
 * with the reason in `reason`, when the step, on a device of 8-bit integers, would do otherwise. */
bool npl_model_refuses(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
		       char *reason, size_t reason_bytes);

/* npl_model_weight says whether the model has the node's weights as 8-bit integers, scaled per tensor or per output
 * channel, around one zero point: a machine of 8-bit integers takes them as they are. npl_model_take_weight puts them
 * into the step. npl_model_bias says whether the model has the bias as 32-bit integers whose scale is that of the input
 * times that of the weight. */
bool npl_model_weight(const struct npl_node *node, const struct npl_value *value, enum npl_format format);
int npl_model_take_weight(const struct npl_node *node, const struct npl_value *value, struct npl_step *step,
			  struct npl_err *err);
bool npl_model_bias(const struct npl_node *node, const struct npl_value *value, const struct npl_step *step);

#endif
