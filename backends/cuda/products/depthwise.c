/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolutions of 16-bit floats by a kernel of ours (layer.h). cuDNN's kernels for channels last take longer
 * than its kernels for float32: on an H200 they made MobileNet v2 slower in float16, 4.2 ms for a batch of 32, than in
 * float32, 2.6 ms. */
#include "layer.h"

#define MAX_TAPS     128 /* the kernel's loops over taps are compiled for their number */
#define MIN_CHANNELS 8   /* the 16 bytes that a thread of the kernel reads at a time */

bool cu_is_depthwise(const struct cu_layer *layer)
{
	const struct npl_layer *request = layer->layer;
	const int64_t channels = request->in[0]->shape.dim[1];
	return channels >= MIN_CHANNELS && request->attrs->conv.groups == channels &&
	       request->out->shape.dim[1] == channels &&
	       npl_shape_count(&request->in[1]->shape) <= MAX_TAPS * channels &&
	       cu_kernel_takes_window(&request->attrs->conv.window, NULL, 0);
}

int cu_depthwise_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	return cu_kernel_depthwise(d->kernels, &in[0], &layer->layer->attrs->conv.window,
				   cu_weights_matrix(layer, in, 0), cu_weights_bias(layer, in),
				   layer->layer->activation, &out[0], d->stream, err);
}
