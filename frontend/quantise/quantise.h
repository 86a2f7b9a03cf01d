/* SPDX-License-Identifier: MIT
 *
 * Between real numbers and the devices' number formats (docs/integers.md). Calibration is by the least and greatest
 * value seen (struct npl_range).
 *   int8  activations u8, asymmetric per tensor: scale = (high - low) / 255 over a range that includes 0.
 *         weights i8, symmetric per output channel: scale = max|w| / 127.
 *         Results of Sigmoid and Tanh have the scale and zero point of their own range whatever was seen, as in
 *         TensorFlow Lite's quantisation specification: u8 1/256 and 0, 1/128 and 128.
 *   int8x16  activations i16, symmetric: scale = max(-low, high) / 32767; of Sigmoid and Tanh 2^-15, so that the
 *            function table's Q0.15 is the result as it stands. Weights as for int8.
 *   q16   activations so that the greatest magnitude stays below 16, weights below 2 (times the tensor's power of
 *         two): then one product stays below the format's 32, with one bit of headroom for values that calibration did
 *         not see. Or plain: NPL_Q16_PLAIN for every tensor, whatever it holds; what lies beyond 32 saturates.
 */
#ifndef NPULAB_FRONTEND_QUANTISE_QUANTISE_H
#define NPULAB_FRONTEND_QUANTISE_QUANTISE_H

#include "npulab/layer.h"
#include "npulab/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of activations in a format. */
enum npl_dtype npl_format_dtype(enum npl_format format);

/* The type of weights in a format. */
enum npl_dtype npl_format_weight_dtype(enum npl_format format);
/* Whether weights have a scale per output channel. */
bool npl_format_per_channel(enum npl_format format);

/* Q6.10 as its name says, without a power of two of the tensor's own. */
#define NPL_Q16_PLAIN ((struct npl_quant){.scale = 1.0f / (1 << NPL_Q16_FRACTION_BITS)})

/* True for Sigmoid and Tanh in formats that give their results a scale of their own. */
bool npl_quant_of_function(enum npl_format format, enum npl_op op, struct npl_quant *quant);

/* Scale and zero point of an activation with the given range; an empty range counts as [0, 0]. */
struct npl_quant npl_quant_of_range(enum npl_format format, struct npl_range range);

/* NPL_EINPUT: a NaN in a value, a NaN or an infinity in a weight or bias; an infinite value saturates. */

/* Float to format and back; out is allocated here with in's shape. quant belongs to the integer side. The number of
 * values that lay outside the format is added to *saturations. */
int npl_quantise_counting(const struct npl_tensor *in, enum npl_format format, struct npl_quant quant,
			  struct npl_tensor *out, uint64_t *saturations, struct npl_err *err);
/* The same to a type of one's own: uint8, int8 or int16. */
int npl_quantise_to(const struct npl_tensor *in, enum npl_dtype dtype, struct npl_quant quant, struct npl_tensor *out,
		    uint64_t *saturations, struct npl_err *err);
int npl_dequantise(const struct npl_tensor *in, struct npl_tensor *out, struct npl_err *err);

/* Weights w (dimension 0 = output channels, float32) to the format. The channel scales are written to
 * channel_scale[channels] for int8 and int8x16 (out->quant.channel_scale points there). A channel of zeros gets scale
 * 1. least_scale[channels], or NULL: no channel's scale is smaller (npl_quantise_bias_scale), nor that of all channels
 * in Q6.10. */
int npl_quantise_weight(const struct npl_tensor *w, enum npl_format format, const float *least_scale,
			float *channel_scale, struct npl_tensor *out, struct npl_err *err);
/* The least weight scale at which a bias takes no more than half of 32 bits, so that the products beside it have the
 * other half: with activations far smaller than the bias it would not fit. */
float npl_quantise_bias_scale(float bias, const struct npl_quant *x);
/* Weights to plain Q6.10; adds the number of those that lay outside to *saturations. */
int npl_quantise_weight_plain(const struct npl_tensor *w, struct npl_tensor *out, uint64_t *saturations,
			      struct npl_err *err);

/* Bias to int32 at scale x_scale * w_scale (of its channel), rounded half to even, saturating; adds the number of
 * values that lay outside int32 to *saturations. */
int npl_quantise_bias(const struct npl_tensor *bias, const struct npl_quant *x, const struct npl_quant *w,
		      struct npl_tensor *out, uint64_t *saturations, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
