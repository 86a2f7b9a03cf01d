/* SPDX-License-Identifier: MIT
 *
 * Conversions between real numbers and the devices' number formats (docs/integers.md). Scales come from the least and
 * the greatest value that calibration saw (struct npl_range).
 *   int8  activations u8, asymmetric per tensor: scale = (high - low) / 255 over a range that includes 0.
 *         weights i8, symmetric per output channel: scale = max|w| / 127.
 *         Results of Sigmoid and Tanh have fixed scales and zero points, whatever was seen, as in TensorFlow
 *         Lite's quantisation specification: 1/256 and 0 for Sigmoid, 1/128 and 128 for Tanh.
 *   int8x16  activations i16, symmetric: scale = max(-low, high) / 32767; of Sigmoid and Tanh 2^-15, so that the
 *            function table's Q0.15 is the result as it stands. Weights as for int8.
 *   q16   the scale has the power of two with which a tensor's greatest magnitude stays below 16 (activations) or 2
 *         (weights): then one product stays below the format's 32, with one bit of headroom for values that
 *         calibration did not see. In the plain form every tensor has NPL_Q16_PLAIN, and values beyond 32 saturate.
 */
#ifndef NPULAB_FRONTEND_QUANTISE_QUANTISE_H
#define NPULAB_FRONTEND_QUANTISE_QUANTISE_H

#include "core/number_format.h"
#include "npulab/layer.h"
#include "npulab/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The plain form of Q6.10, without a power of two for each tensor. */
#define NPL_Q16_PLAIN ((struct npl_quant){.scale = 1.0f / (1 << NPL_Q16_FRACTION_BITS)})

/* Says whether the operator is Sigmoid or Tanh and the format gives its result a fixed scale; sets *quant if so. */
bool npl_quant_of_function(enum npl_format format, enum npl_op op, struct npl_quant *quant);

/* Returns scale and zero point of an activation with the given range; an empty range counts as [0, 0]. */
struct npl_quant npl_quant_of_range(enum npl_format format, struct npl_range range);

/* The functions below return NPL_EINPUT for a NaN in a value, and for a NaN or an infinity in a weight or bias. An
 * infinite value saturates. */

/* Converts float32 to the format with this scale and zero point; allocates out with in's shape. Adds the number of
 * values that lay outside the format to *saturations. */
int npl_quantise_counting(const struct npl_tensor *in, enum npl_format format, struct npl_quant quant,
			  struct npl_tensor *out, uint64_t *saturations, struct npl_err *err);
/* Does what npl_quantise_counting does, for a given type: uint8, int8 or int16. */
int npl_quantise_to(const struct npl_tensor *in, enum npl_dtype dtype, struct npl_quant quant, struct npl_tensor *out,
		    uint64_t *saturations, struct npl_err *err);
/* Converts integers to float32 by in->quant; allocates out with in's shape. */
int npl_dequantise(const struct npl_tensor *in, struct npl_tensor *out, struct npl_err *err);

/* Converts weights w (float32, dimension 0 = output channels) to the format. For int8 and int8x16 it writes the
 * channels' scales to channel_scale[channels], where out->quant.channel_scale points. A channel of zeros gets scale 1.
 * least_scale[channels], or NULL, has the least scale of each channel (npl_quantise_bias_scale). The one scale of Q6.10
 * is not below any of them. */
int npl_quantise_weight(const struct npl_tensor *w, enum npl_format format, const float *least_scale,
			float *channel_scale, struct npl_tensor *out, struct npl_err *err);
/* Returns the least weight scale at which the bias takes no more than half of 32 bits, which leaves the other half to
 * the products. At a smaller scale, with activations far smaller than the bias, the bias would not fit. */
float npl_quantise_bias_scale(float bias, const struct npl_quant *x);
/* Converts weights to plain Q6.10; adds the number of weights that lay outside the format to *saturations. */
int npl_quantise_weight_plain(const struct npl_tensor *w, struct npl_tensor *out, uint64_t *saturations,
			      struct npl_err *err);

/* Converts a bias to int32 at scale x_scale * w_scale (of its channel), rounded half to even and saturating; adds the
 * number of values that lay outside int32 to *saturations. */
int npl_quantise_bias(const struct npl_tensor *bias, const struct npl_quant *x, const struct npl_quant *w,
		      struct npl_tensor *out, uint64_t *saturations, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
