/* SPDX-License-Identifier: MIT
 *
 * A layer is what one device computes at a time: an operator, with the activation that is fused after it. The frontend
 * makes layers from graph nodes; `npulab layer` makes one from its arguments. All tensors are in the device's number
 * format and are borrowed for the length of the run.
 *
 * Canonical forms, of which a device handles one for each operator:
 *   Conv   in[0] x (N,C,H,W)  in[1] w (M,C/groups,KH,KW)  in[2] bias (M) or NULL   out y (N,M,OH,OW).
 *          One-dimensional: without H, KH and OH. With attrs->conv.private_kernels (NPL_PRIVATE_KERNELS) every
 *          output position has kernels of its own: in[1] w (OH*OW*M,C/groups,KH,KW), row (oy*OW + ox)*M + m. The
 *          bias still has M elements
 *   Gemm   in[0] x (rows,K)   in[1] w (N,K), always so    in[2] bias (N) or NULL   out y (rows,N)
 *          (a MatMul by a constant, or a Gemm with other transposes or alpha/beta, is brought to this form. A device
 *          in float32 also gets a Gemm whose x is transposed, whose w is computed or whose bias is no vector of N: with
 *          the model's attributes. It honours or refuses them.)
 *   LRN    asked of devices with NPL_LRN_FACTOR, which multiply by weights only: in[0] the squares of x, out the factor
 *          f = (bias + alpha/size * sum of the squares of neighbouring channels)^-beta. The host makes y = x * f.
 *          attrs->lrn.least_factor is the least factor that calibration saw. macs: the squares that are summed, without
 *          those beyond the ends. Every other device gets x and makes y, as in ONNX.
 *   QuantizeLinear    in layer groups of devices with NPL_CONVERTS_IN_GROUP, with one input: in[0] x in float32, out q
 *                     in integers of the same shape. Scale and zero point are those of out->quant
 *   DequantizeLinear  likewise: in[0] q in integers, with the scale and zero point of in[0]->quant, out y in float32
 *
 * The integer rules (docs/integers.md) say to the bit what a layer computes in each number format.
 */
#ifndef NPULAB_LAYER_H
#define NPULAB_LAYER_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_LAYER_INPUTS      64
#define NPL_Q16_FRACTION_BITS 10 /* of the format Q6.10 */

enum npl_format {
#define NPL_FORMAT(constant, ...) NPL_FORMAT_##constant,
#include "npulab/formats.def"
	NPL_FORMATS
};
const char *npl_format_name(enum npl_format format); /* "float32", "int8", "Q6.10", "int8x16" */

/* What a device may apply to a result in the same pass. Every device that takes layers with weights must take Relu; a
 * device takes the others only where npl_device_info.activations has them. Relu6 is Clip(0, 6). The number of
 * activations is no constant of the enumeration, so that the compiler names a `switch` without `default` that lacks
 * one. */
enum npl_activation {
	NPL_ACT_NONE,
#define NPL_ACTIVATION(constant, ...) NPL_ACT_##constant,
#include "npulab/activations.def"
};
enum {
	NPL_ACTIVATIONS = 1 /* NPL_ACT_NONE, and one of each row */
#define NPL_ACTIVATION(...) +1
#include "npulab/activations.def"
};
const char *npl_activation_name(enum npl_activation activation); /* "none", "Relu", "Relu6", "Sigmoid", "Tanh" */

struct npl_layer {
	const char *name; /* for messages and reports; borrowed */
	enum npl_op op;
	const struct npl_attrs *attrs;  /* completed by the shape rule */
	enum npl_activation activation; /* applied to the result in the same pass */
	int n_in;
	/* NULL: an optional input is absent. In a call of supports() the data may be NULL. */
	const struct npl_tensor *in[NPL_LAYER_INPUTS];
	struct npl_tensor *out; /* allocated by the caller, with dtype and quantisation set */
	/* The number of results after the first (NPL_MULTIPLE_OUTPUTS): out[1] to out[n_further], all allocated by the
	 * caller, also those that are not read. 0 for nearly all layers. */
	int n_further;
	uint64_t macs;    /* as the operator's rule counts them */
	bool timing_only; /* compute cycles and counters, leave out untouched */
};

/* Says whether in[1] is weights and in[2], if there is one, a bias. */
static inline bool npl_layer_has_weights(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_CONV || layer->op == NPL_OP_GEMM;
}

/* Returns the number of results: out[0] to out[npl_layer_outputs(layer) - 1]. */
static inline int npl_layer_outputs(const struct npl_layer *layer)
{
	return layer->n_further + 1;
}

#ifdef __cplusplus
}
#endif

#endif
