/* SPDX-License-Identifier: MIT
 *
 * Chooses the method of a layer (layer.h). */
#include "layer.h"

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/float_layer.h"

/* Says whether all of the layer's floats have one type, since the libraries multiply floats of one type into the same
 * type. If not, `reason` says why. */
static bool is_of_one_type(const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const enum npl_dtype type = layer->in[0]->dtype;
	for (int k = 1; k < layer->n_in; k++)
		if (layer->in[k] && npl_is_float32_or_half(layer->in[k]->dtype) && layer->in[k]->dtype != type)
			return npl_refuse(reason, reason_bytes,
					  "input %d of %s is %s and input 0 %s; the GPU multiplies floats of one type",
					  k, npl_op_defs[layer->op].name, npl_dtype_name(layer->in[k]->dtype),
					  npl_dtype_name(type));
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		if (layer->out[k].dtype != type)
			return npl_refuse(reason, reason_bytes,
					  "output %d of %s is %s and input 0 %s; the GPU multiplies floats of one type",
					  k, npl_op_defs[layer->op].name, npl_dtype_name(layer->out[k].dtype),
					  npl_dtype_name(type));
	return true;
}

/* Says whether the GPU is new enough for products of the precision; if not, `reason` says why. A layer's precision
 * may need a newer GPU than the device's. */
static bool gpu_supports_precision(const struct cu_device *device, enum cu_precision precision, char *reason,
				   size_t reason_bytes)
{
	const int needed_capability = cu_precisions[precision].capability;
	if (device->gpu.major * 10 + device->gpu.minor >= needed_capability)
		return true;
	return npl_refuse(reason, reason_bytes, "%.80s has compute capability %d.%d; products of %s need %d.%d",
			  device->gpu.name, device->gpu.major, device->gpu.minor,
			  npl_dtype_name(cu_stored(NPL_F32, precision)), needed_capability / 10,
			  needed_capability % 10);
}

bool cu_layer_supports(const struct cu_device *device, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	const enum cu_precision precision = cu_layer_precision(device, layer);
	if (precision != CU_INT8 && !npl_widened_layer_ok(layer, reason, reason_bytes))
		return false;
	if (precision != CU_INT8 && cu_multiplies(layer) &&
	    (!is_of_one_type(layer, reason, reason_bytes) ||
	     !gpu_supports_precision(device, precision, reason, reason_bytes)))
		return false;
	switch (layer->op) {
	case NPL_OP_CONV:
		return cu_conv_supports(device, layer, reason, reason_bytes);
	case NPL_OP_GEMM:
		return cu_rows_supports(device, layer, reason, reason_bytes);
	case NPL_OP_MATMUL:
		return precision == CU_INT8 ? cu_stack_integers_supports(layer, reason, reason_bytes)
					    : cu_stack_supports(layer, reason, reason_bytes);
	case NPL_OP_RNN:
	case NPL_OP_GRU:
	case NPL_OP_LSTM:
		return precision != CU_INT8 || npl_widened_layer_ok(layer, reason, reason_bytes);
	default:
		return cu_kernel_supports(layer, precision, reason, reason_bytes);
	}
}

bool cu_layer_weighs(const struct cu_device *device, const struct npl_layer *layer)
{
	return layer->op == NPL_OP_CONV ||
	       (layer->op == NPL_OP_GEMM && (cu_layer_precision(device, layer) == CU_INT8 || cu_is_rows(layer)));
}

static bool has_no_results(const struct npl_layer *layer)
{
	for (int k = 0; k < npl_layer_outputs(layer); k++)
		if (npl_tensor_count(&layer->out[k]) > 0)
			return false;
	return true;
}

int cu_layer_open(const struct cu_device *device, const struct npl_layer *layer, const bool *resident, bool is_view,
		  struct cu_layer *handle, struct npl_err *err)
{
	*handle = (struct cu_layer){.device = device,
				    .layer = layer,
				    .precision = cu_layer_precision(device, layer),
				    .workspace_bytes = CU_BLAS_WORKSPACE};
	int rc = 0;
	if (is_view || has_no_results(layer)) {
		handle->workspace_bytes = 0;
	} else if (layer->op == NPL_OP_CONV) {
		handle->method = CU_METHOD_PATCHES;
		rc = cu_conv_open(handle, resident, err);
	} else if (layer->op == NPL_OP_GEMM) {
		handle->method = CU_METHOD_ROWS;
		rc = cu_rows_open(handle, resident, err);
	} else if (layer->op == NPL_OP_MATMUL) {
		const bool integers = handle->precision == CU_INT8;
		handle->method = integers ? CU_METHOD_STACK_INTEGERS : CU_METHOD_STACK;
		rc = integers ? cu_stack_integers_open(handle, err) : cu_stack_open(handle, err);
	} else if (cu_is_recurrent(layer->op)) {
		handle->method = CU_METHOD_RECURRENT;
		rc = cu_recurrent_open(handle, err);
	} else {
		handle->method = CU_METHOD_KERNEL;
		handle->workspace_bytes = 0;
	}
	if (rc)
		cu_layer_close(handle);
	return rc;
}

void cu_layer_close(struct cu_layer *layer)
{
	if (!layer->device)
		return;
	for (size_t i = 0; i < sizeof layer->product / sizeof *layer->product; i++)
		cu_product_close(&layer->device->blas, &layer->product[i]);
	if (layer->device->dnn.handle)
		cu_dnn_layer_close(layer);
	*layer = (struct cu_layer){0};
}

bool cu_layer_reads(const struct cu_layer *layer, int k)
{
	const struct cu_weights *w = &layer->weights;
	if (layer->method == CU_METHOD_KERNEL)
		return cu_kernel_reads(layer->layer, k);
	return !(k == 1 && w->matrix) && !(k == 2 && w->bias);
}

int cu_layer_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		 struct npl_err *err)
{
	const struct cu_device *device = layer->device;
	switch (layer->method) {
	case CU_METHOD_KERNEL:
		return cu_kernel_run(device->kernels, layer->layer, in, out, device->stream, err);
	case CU_METHOD_ROWS:
		return cu_rows_run(layer, in, out, scratch, err);
	case CU_METHOD_STACK:
		return cu_stack_run(layer, in, out, err);
	case CU_METHOD_STACK_INTEGERS:
		return cu_stack_integers_run(layer, in, out, scratch, err);
	case CU_METHOD_PATCHES:
		return cu_conv_run(layer, in, out, scratch, err);
	case CU_METHOD_GROUPS:
		return cu_groups_run(layer, in, out, err);
	case CU_METHOD_DEPTHWISE:
		return cu_depthwise_run(layer, in, out, err);
	case CU_METHOD_DNN:
		return cu_dnn_layer_run(layer, in, out, err);
	case CU_METHOD_RECURRENT:
		return cu_recurrent_run(layer, in, out, scratch, err);
	case CU_METHOD_NONE:
	default:
		return 0;
	}
}
