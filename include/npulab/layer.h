/* SPDX-License-Identifier: MIT
 *
 * A layer: one piece of work for one device. The frontend makes layers from graph nodes; `npulab layer` makes
 * one from its arguments. All tensors are in the device's number format and are borrowed for the length of
 * the run.
 *
 * Canonical forms, so that a device handles one case each:
 *   Conv   in[0] x (N,C,H,W)  in[1] w (M,C/groups,KH,KW)  in[2] bias (M) or NULL   out y (N,M,OH,OW);
 *          one-dimensional: without H, KH and OH
 *   Gemm   in[0] x (rows,K)   in[1] w (N,K), always so    in[2] bias (N) or NULL   out y (rows,N)
 *          (a MatMul by a constant, or a Gemm with other transposes or alpha/beta, is brought to this form)
 *
 * Number formats:
 *   f32    everything float
 *   int8   x u8 or i8 with scale and zero point; w i8 or u8 with channel_scale (or scale); bias i32 at scale
 *          x_scale * w_scale; acc = sum (x - x_zero) * (w - w_zero) + bias in 32 bits, wrapping; y u8/i8:
 *          q = saturate(round_half_even(float32(acc) * (float32)(x_scale * w_scale / y_scale)) + y_zero),
 *          the ONNX QLinearConv rule; or y i32: the accumulators as they are. Padding has the value x_zero.
 *   q16    16-bit fixed point with 10 fraction bits (Q6.10) times a power of two per tensor: x, w, y i16 with
 *          scale = 2^(e - 10); bias i32 at scale x_scale * w_scale
 */
#ifndef NPULAB_LAYER_H
#define NPULAB_LAYER_H

#include "npulab/op.h"

#define NPL_LAYER_INPUTS      64
#define NPL_Q16_FRACTION_BITS 10 /* of the format q16 */

enum npl_format { NPL_FORMAT_F32, NPL_FORMAT_INT8, NPL_FORMAT_Q16, NPL_FORMATS };
const char *npl_format_name(enum npl_format format); /* "float32", "int8", "Q6.10" */

/* What a device may apply to the result before it leaves. */
enum npl_activation { NPL_ACT_NONE, NPL_ACT_RELU };

struct npl_layer {
	const char *name; /* for messages and reports; borrowed */
	enum npl_op op;
	const struct npl_attrs *attrs; /* completed by the shape rule */
	enum npl_activation fused;     /* applied to the result in the same pass */
	int n_in;
	const struct npl_tensor
		*in[NPL_LAYER_INPUTS]; /* NULL: optional input absent. When asked supports(), data may be NULL */
	struct npl_tensor *out;        /* allocated, dtype and quantisation set by the caller */
	uint64_t macs;                 /* what the operator's rule says must be done */
	bool timing_only;              /* compute cycles and counters, leave out untouched */
};

#endif
