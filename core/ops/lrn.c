/* SPDX-License-Identifier: MIT
 *
 * LRN, local response normalisation across channels: y = x / (bias + alpha / size * sum of squares of the `size`
 * neighbouring channels) ^ beta, the window reaching floor((size-1)/2) channels down and ceil((size-1)/2) up. (AlexNet:
 * Krizhevsky et al., NIPS 2012, section 3.3, with alpha divided by size as ONNX has it.) Sums are in double. */
#include "ops.h"

OP_ATTRS(op_lrn_attrs)
{
	if (op_attr_int(list, "size", 0, &out->lrn.size, err) ||
	    op_attr_float(list, "alpha", 1e-4f, &out->lrn.alpha, err) ||
	    op_attr_float(list, "beta", 0.75f, &out->lrn.beta, err) ||
	    op_attr_float(list, "bias", 1.0f, &out->lrn.bias, err))
		return NPL_EINPUT;
	return 0;
}

OP_SHAPE(op_lrn_shape)
{
	if (op_inputs(in, n_in, 1, NPL_F32, err))
		return NPL_EINPUT;
	if (attrs->lrn.size < 1 || attrs->lrn.size > INT32_MAX)
		return npl_fail(err, NPL_EINPUT, "the attribute size is required and must be 1..%d, got %lld",
				INT32_MAX, (long long)attrs->lrn.size);
	if (in[0]->shape.rank < 2)
		return npl_fail(err, NPL_EINPUT, "the input %s has no channel dimension", OP_TEXT(&in[0]->shape));
	out->dtype = NPL_F32;
	out->shape = in[0]->shape;
	return 0;
}

#define STRIP 256 /* positions whose sums are held at a time: 2 KiB of stack */

/* Normalises positions first to end - 1 of channel c of one image. */
static void normalise(const struct npl_attrs *attrs, const float *image, int64_t channels, int64_t plane, int64_t c,
		      int64_t first, int64_t end, float *y)
{
	double sum[STRIP] = {0};
	int64_t low = c - (attrs->lrn.size - 1) / 2,
		high = c + attrs->lrn.size / 2; /* size / 2 is ceil((size - 1) / 2) */
	for (int64_t k = low < 0 ? 0 : low; k <= high && k < channels; k++)
		for (int64_t p = first; p < end; p++) {
			double x = (double)image[k * plane + p];
			sum[p - first] += x * x;
		}
	double weight = (double)attrs->lrn.alpha / (double)attrs->lrn.size;
	for (int64_t p = first; p < end; p++) {
		double base = (double)attrs->lrn.bias + weight * sum[p - first];
		y[p] = (float)((double)image[c * plane + p] / op_pow(base, (double)attrs->lrn.beta));
	}
}

OP_RUN(op_lrn_run)
{
	const struct npl_shape *shape = &in[0]->shape;
	int64_t channels = shape->dim[1], plane = op_count(shape->dim + 2, shape->rank - 2);
	for (int64_t i = 0; i < shape->dim[0]; i++) {
		const float *image = (const float *)in[0]->data + i * channels * plane;
		float *y = (float *)out->data + i * channels * plane;
		for (int64_t c = 0; c < channels; c++)
			for (int64_t p = 0; p < plane; p += STRIP)
				normalise(attrs, image, channels, plane, c, p, p + STRIP < plane ? p + STRIP : plane,
					  y + c * plane);
	}
	return 0;
}
