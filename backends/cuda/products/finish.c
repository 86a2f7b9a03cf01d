/* SPDX-License-Identifier: MIT
 *
 * Steps after a product of any method: bias and activation; also the result of a product over no elements. */
#include "layer.h"

#include "backends/cuda/load/alignment.h"

int cu_layer_finish(const struct cu_layer *layer, const struct cu_value *in, const struct cu_value *y, int64_t channels,
		    int64_t inner, struct npl_err *err)
{
	const struct cu_value bias = {
		.address = cu_weights_bias(layer, in), .dtype = y->dtype, .shape = npl_shape_of(1, channels)};
	if (!bias.address && layer->layer->activation == NPL_ACT_NONE)
		return 0;
	return cu_kernel_bias(layer->device->kernels, y, &bias, channels, inner, layer->layer->activation, y,
			      layer->device->stream, err);
}

int cu_product_finish(const struct cu_layer *layer, const struct cu_value *y, struct npl_err *err)
{
	const struct cu_value no_bias = {.dtype = y->dtype};
	if (layer->layer->activation <= NPL_ACT_RELU)
		return 0;
	return cu_kernel_bias(layer->device->kernels, y, &no_bias, 1, 1, layer->layer->activation, y,
			      layer->device->stream, err);
}

int cu_product_empty(const struct cu_layer *layer, const struct cu_value *in, const struct cu_value *out,
		     struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct npl_shape *shape = &out[0].shape;
	const size_t bytes = (size_t)npl_shape_count(shape) * npl_dtype_size(out[0].dtype);
	if (cu_try(&d->driver, err, cuMemsetD8Async, set, (out[0].address, 0, bytes, d->stream)))
		return err->code;
	return cu_layer_finish(layer, in, out, shape->rank ? shape->dim[shape->rank - 1] : 1, 1, err);
}

uint64_t cu_common_alignment(const uint64_t *bytes, int n)
{
	uint64_t bits = CU_ALIGNMENT;
	for (int i = 0; i < n; i++)
		bits |= bytes[i];
	return bits & -bits;
}
