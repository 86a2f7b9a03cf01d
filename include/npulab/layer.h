/* SPDX-License-Identifier: MIT
 *
 * A layer: one piece of work for one device. The frontend makes layers from graph nodes; `npulab layer` makes
 * one from its arguments. All tensors are in the device's number format and are borrowed for the length of
 * the run.
 *
 * Canonical forms, so that a device handles one case each:
 *   Conv   in[0] x (N,C,H,W)  in[1] w (M,C/groups,KH,KW)  in[2] bias (M) or NULL   out y (N,M,OH,OW);
 *          one-dimensional: without H, KH and OH. With attrs->conv.private_kernels (NPL_PRIVATE_KERNELS) every
 *          output position has kernels of its own: in[1] w (OH*OW*M,C/groups,KH,KW), row (oy*OW + ox)*M + m; the bias
 *          stays one of M
 *   Gemm   in[0] x (rows,K)   in[1] w (N,K), always so    in[2] bias (N) or NULL   out y (rows,N)
 *          (a MatMul by a constant, or a Gemm with other transposes or alpha/beta, is brought to this form)
 *   LRN    asked of devices with NPL_LRN_FACTOR, which multiply by weights only: in[0] the squares of x, out the factor
 *          f = (bias + alpha/size * sum of the squares of neighbouring channels)^-beta, the rest is the host's: y = x *
 *          f.
 *          attrs->lrn.least_factor: the least that calibration saw.
 *          macs: the squares that are summed, those beyond the ends not counted. Every other device sees x and y, as in
 *          ONNX
 *
 * Number formats. Steps are in float32 in the order written, round() is half to even, saturate() to the result's type,
 * x' is short for x - x_zero:
 *   f32      everything float
 *   int8     x u8 or i8 with scale and zero point; w i8 or u8 with channel_scale (or scale); bias i32 at scale
 *            x_scale * w_scale; acc = sum of x' * w' + bias in 32 bits, wrapping; y u8 or i8:
 *            y = saturate(round(float32(acc) * (x_scale * w_scale / y_scale)) + y_zero), the ONNX QLinearConv rule; or
 *            y i32:
 *            the accumulators as they are. Padding has the value x_zero.
 *            x, w and y may also be i16 (zero point 0), by the same rule. Other operators:
 *            MatMul of two computed tensors (NPL_INT8_MATMUL) by the same rule too, each with one scale and zero
 *            point; where one of the two is i16 acc has 64 bits, which hold every sum, and float32(acc) is its nearest
 *            float
 *            Add, Sum of two   y = saturate(round(a' * (a_scale / y_scale) + b' * (b_scale / y_scale)) + y_zero)
 *            Concat            each input by the same without b: unchanged where its scale and zero point are y's
 *            Mul               y = saturate(round(float32(a' * b') * (a_scale * b_scale / y_scale)) + y_zero)
 *            Sigmoid, Tanh     q = saturate(round(x' * (x_scale * 4096))) as i16, which is Q4.12; f in Q0.15 from q by
 *                              a table of 257 points (docs/tpu-isa.md, activate);
 *                              y = saturate(round(float32(f) * (1 / 32768 / y_scale)) + y_zero)
 *            AveragePool       y = round(sum of x' / count) + x_zero, exactly
 *            Relu, Clip, MaxPool, Slice, Transpose, views: x's integers, the greatest of them, or limits
 *                              L = saturate(round(limit / x_scale) + x_zero)
 *            QuantizeLinear, DequantizeLinear with x alone (NPL_CONVERTS_IN_GROUP), in layer groups: between float32
 *            and integers by the
 *                              scale and zero point of the integer side, y = saturate(round(x / y_scale) + y_zero), NPL_EINPUT where x
 *                              is a NaN; y = float32(x') * x_scale. Saturations are counted
 *            The two rows before that give y the type, scale and zero point of x. Slice, Transpose and a Concat of inputs
 *            that have y's scale only move bytes; the frontend gives the inputs of a Concat that a device takes its
 *            scale (values that are joined have one range), makes a Split of slices, and what a device refuses is the host's,
 *            in float.
 *   int8x16  the same with x and y i16 and their zero point 0, w i8 with channel_scale and zero point 0
 *   q16      16-bit fixed point with 10 fraction bits (Q6.10) times a power of two per tensor: x, w, y i16 with
 *            scale = 2^(e - 10); bias i32 at scale x_scale * w_scale. What is rounded on the way, and Sigmoid and Tanh,
 *            are the machine's (docs/machine-diannao.md).
 *
 * Fused activations: y as above, then Relu (Clip) on y. Sigmoid and Tanh of Conv and Gemm find their q from the
 * accumulators, q = saturate(round(float32(acc) * (x_scale * w_scale * 4096))), of Add and Mul by their rule with
 * 1/4096 for y_scale, 0 for y_zero and i16 for y. Saturations count values that saturate() changes, less those that a
 * Relu behind it makes y_zero in any case.
 */
#ifndef NPULAB_LAYER_H
#define NPULAB_LAYER_H

#include "npulab/op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_LAYER_INPUTS      64
#define NPL_Q16_FRACTION_BITS 10 /* of the format q16 */

enum npl_format { NPL_FORMAT_F32, NPL_FORMAT_INT8, NPL_FORMAT_Q16, NPL_FORMAT_INT8X16, NPL_FORMATS };
const char *npl_format_name(enum npl_format format); /* "float32", "int8", "Q6.10", "int8x16" */

/* What a device may apply to the result before it leaves. Every device that takes a layer with weights may be asked for
 * Relu; the others only those that say so (npl_device_info.activations). Relu6 is Clip(0, 6). */
enum npl_activation { NPL_ACT_NONE, NPL_ACT_RELU, NPL_ACT_RELU6, NPL_ACT_SIGMOID, NPL_ACT_TANH, NPL_ACTIVATIONS };
const char *npl_activation_name(enum npl_activation activation); /* "none", "Relu", "Relu6", "Sigmoid", "Tanh" */

struct npl_layer {
	const char *name; /* for messages and reports; borrowed */
	enum npl_op op;
	const struct npl_attrs *attrs; /* completed by the shape rule */
	enum npl_activation fused;     /* applied to the result in the same pass */
	int n_in;
	const struct npl_tensor
		*in[NPL_LAYER_INPUTS]; /* NULL: optional input absent. When asked supports(), data may be NULL */
	struct npl_tensor *out;        /* allocated, dtype and quantisation set by the caller */
	int n_more; /* further results (NPL_MULTIPLE_OUTPUTS), out[1] to out[n_more], allocated by the caller. Those that nobody reads are
	             * there as well */
	uint64_t macs;    /* what the operator's rule says must be done */
	bool timing_only; /* compute cycles and counters, leave out untouched */
};

#ifdef __cplusplus
}
#endif

#endif
