/* SPDX-License-Identifier: MIT
 *
 * Convolution by cuDNN (layer.h). The algorithm is the first of its heuristic whose workspace is not too large, unless
 * conv_search.c measures a faster one. If cuDNN can, the same call adds the bias and applies Relu; else a kernel of
 * ours does. float32 stays float32 (cuDNN's default would compute in TF32); only the precision tf32 permits less.
 * Images and result have the same order, which layout.h chooses. */
#include <limits.h>

#include "core/ops/window.h"
#include "layer.h"

/* The most memory that an algorithm may use beside its tensors: this, or a sixteenth of the GPU's memory if that is
 * less. In float32 cuDNN's fastest algorithm for a batch of 32 images of 256x56x56 needs 450 MiB. */
#define MAX_WORKSPACE  ((size_t)1 << 30)
#define NOT_TAKEN(...) npl_fail(err, NPL_EDEVICE, __VA_ARGS__)

enum { DIMENSIONS = 2 + NPL_VOLUME };

static int type_of(enum npl_dtype dtype)
{
	return dtype == NPL_F16 ? CU_DNN_F16 : dtype == NPL_BF16 ? CU_DNN_BF16 : CU_DNN_F32;
}

/* Writes a shape as cuDNN expects it, with at least two spatial dimensions. Returns the number of all dimensions; 0: it
 * is too large. */
static int sizes_of(const struct npl_shape *shape, int *size)
{
	int n = 0;
	if (npl_shape_count(shape) > INT_MAX)
		return 0;
	for (int d = 0; d < shape->rank; d++) {
		if (shape->rank == 3 && d == 2)
			size[n++] = 1;
		size[n++] = (int)shape->dim[d];
	}
	return n;
}

static int describe_tensor(const struct cu_layer *layer, int type, int n, const int *size, void **tensor,
			   struct npl_err *err)
{
	const struct cu_dnn *dnn = &layer->device->dnn;
	int stride[DIMENSIONS], step = 1;
	if (layer->channels_last) {
		stride[1] = step;
		step *= size[1];
	}
	for (int d = n - 1; d >= 0; d--) {
		if (d == 1 && layer->channels_last)
			continue;
		stride[d] = step;
		step *= size[d];
	}
	if (cu_dnn_try(dnn, err, cudnnCreateTensorDescriptor, tensor_create, (tensor)))
		return err->code;
	return cu_dnn_try(dnn, err, cudnnSetTensorNdDescriptor, tensor_set, (*tensor, type, n, size, stride));
}

/* Describes pads, strides and dilations of n spatial dimensions. Refuses windows whose result cuDNN would make of
 * another size, since it pads both ends alike. */
static int describe_window(struct cu_layer *layer, int n, int type, struct npl_err *err)
{
	const struct cu_device *device = layer->device;
	const struct npl_conv_attrs *conv = &layer->layer->attrs->conv;
	const struct npl_window *w = &conv->window;
	struct cu_dnn_case *key = &layer->dnn.key;
	int *pad = key->pad, *stride = key->stride, *dilation = key->dilation;
	void **convolution = &layer->dnn.convolution;
	for (int i = 0; i < NPL_VOLUME; i++)
		stride[i] = dilation[i] = 1;
	for (int i = 0; i < w->rank; i++) {
		const int d = npl_window_index(w->rank, i), to = i + n - w->rank;
		const int64_t in = layer->layer->in[0]->shape.dim[2 + i], out = layer->layer->out->shape.dim[2 + i];
		if (w->pad_begin[d] < 0 || w->pad_begin[d] > INT_MAX || w->stride[d] > INT_MAX ||
		    w->dilation[d] > INT_MAX)
			return NOT_TAKEN("cuDNN takes pads, strides and dilations from 0 to 2^31 - 1");
		if ((in + 2 * w->pad_begin[d] - npl_window_extent(w, d)) / w->stride[d] + 1 != out)
			return NOT_TAKEN("cuDNN pads both ends alike");
		pad[to] = (int)w->pad_begin[d];
		stride[to] = (int)w->stride[d];
		dilation[to] = (int)w->dilation[d];
	}
	if (cu_dnn_try(&device->dnn, err, cudnnCreateConvolutionDescriptor, convolution_create, (convolution)) ||
	    cu_dnn_try(&device->dnn, err, cudnnSetConvolutionNdDescriptor, convolution_set,
		       (*convolution, n, pad, stride, dilation, CU_DNN_CROSS_CORRELATION, CU_DNN_F32)) ||
	    cu_dnn_try(&device->dnn, err, cudnnSetConvolutionGroupCount, convolution_groups,
		       (*convolution, (int)conv->groups)))
		return err->code;
	key->groups = (int)conv->groups;
	key->math = type != CU_DNN_F32            ? CU_DNN_TENSOR_MATH
		    : layer->precision == CU_TF32 ? CU_DNN_DEFAULT_MATH
						  : CU_DNN_FMA_MATH;
	layer->dnn.math = key->math;
	return cu_dnn_try(&device->dnn, err, cudnnSetConvolutionMathType, convolution_math, (*convolution, key->math));
}

static int describe(struct cu_layer *layer, struct npl_err *err)
{
	const struct cu_dnn *dnn = &layer->device->dnn;
	const struct npl_layer *request = layer->layer;
	const int type = type_of(cu_layer_type(layer));
	struct cu_dnn_layer *dnn_layer = &layer->dnn;
	struct cu_dnn_case *key = &dnn_layer->key;
	const int n = sizes_of(&request->in[0]->shape, key->x);
	if (!n || !sizes_of(&request->in[1]->shape, key->w) || !sizes_of(&request->out->shape, key->y))
		return NOT_TAKEN("cuDNN's tensors have at most %d elements", INT_MAX);
	const int bias[DIMENSIONS] = {1, key->y[1], 1, 1, 1};
	const bool relu = request->activation == NPL_ACT_RELU;
	key->type = type;
	key->layout = layer->channels_last ? CU_DNN_NHWC : CU_DNN_NCHW;
	key->has_bias = request->n_in > 2 && request->in[2];
	key->activation = (int)request->activation;
	if (describe_tensor(layer, type, n, key->x, &dnn_layer->x, err) ||
	    describe_tensor(layer, type, n, key->y, &dnn_layer->y, err) ||
	    describe_tensor(layer, type, n, bias, &dnn_layer->bias, err) ||
	    cu_dnn_try(dnn, err, cudnnCreateFilterDescriptor, filter_create, (&dnn_layer->filter)) ||
	    cu_dnn_try(dnn, err, cudnnSetFilterNdDescriptor, filter_set,
		       (dnn_layer->filter, type, key->layout, n, key->w)) ||
	    cu_dnn_try(dnn, err, cudnnCreateActivationDescriptor, activation_create, (&dnn_layer->activation)) ||
	    cu_dnn_try(dnn, err, cudnnSetActivationDescriptor, activation_set,
		       (dnn_layer->activation, relu ? CU_DNN_RELU : CU_DNN_IDENTITY, CU_DNN_PROPAGATE_NAN, 0)))
		return err->code;
	return describe_window(layer, n - 2, type, err);
}

int cu_dnn_layer_set_algorithm(struct cu_layer *layer, const struct cu_dnn_found *result, struct npl_err *err)
{
	struct cu_dnn_layer *dnn_layer = &layer->dnn;
	dnn_layer->algorithm = result->algorithm;
	dnn_layer->workspace_bytes = layer->workspace_bytes = result->workspace_bytes;
	/* The algorithm's time holds for result->math. float32 keeps FMA, because other mathematics lose digits. */
	if (layer->precision == CU_F32)
		return 0;
	dnn_layer->math = result->math;
	return cu_dnn_try(&layer->device->dnn, err, cudnnSetConvolutionMathType, convolution_math,
			  (dnn_layer->convolution, result->math));
}

int cu_dnn_layer_algorithms(const struct cu_layer *layer, struct cu_dnn_found found[CU_DNN_ALGORITHMS], int *n,
			    struct npl_err *err)
{
	const struct cu_device *device = layer->device;
	const struct cu_dnn_layer *dnn_layer = &layer->dnn;
	const size_t share = device->gpu.memory_bytes / 16;
	const size_t most_bytes = share && share < MAX_WORKSPACE ? share : MAX_WORKSPACE;
	struct cu_dnn_found result[CU_DNN_ALGORITHMS] = {{0}};
	int returned = 0;
	*n = 0;
	if (cu_dnn_try(&device->dnn, err, cudnnGetConvolutionForwardAlgorithm_v7, algorithms,
		       (device->dnn.handle, dnn_layer->x, dnn_layer->filter, dnn_layer->convolution, dnn_layer->y,
			CU_DNN_ALGORITHMS, &returned, result)))
		return err->code;
	for (int i = 0; i < returned; i++)
		if (!result[i].status && result[i].workspace_bytes <= most_bytes)
			found[(*n)++] = result[i];
	return 0;
}

/* Sets the first algorithm, and the most workspace that any of them needs. */
static int choose_algorithm(struct cu_layer *layer, struct npl_err *err)
{
	struct cu_dnn_found found[CU_DNN_ALGORITHMS];
	size_t *most = &layer->dnn.most_workspace_bytes;
	int n;
	if (cu_dnn_layer_algorithms(layer, found, &n, err))
		return err->code;
	for (int i = 0; i < n; i++)
		*most = found[i].workspace_bytes > *most ? found[i].workspace_bytes : *most;
	return n ? cu_dnn_layer_set_algorithm(layer, &found[0], err) : NOT_TAKEN("cuDNN has no algorithm for it");
}

int cu_dnn_layer_open(struct cu_layer *layer, struct npl_err *err)
{
	layer->dnn = (struct cu_dnn_layer){0};
	int rc = describe(layer, err);
	if (!rc)
		rc = choose_algorithm(layer, err);
	if (rc)
		cu_dnn_layer_close(layer);
	return rc;
}

void cu_dnn_layer_close(struct cu_layer *layer)
{
	const struct cu_dnn *dnn = &layer->device->dnn;
	struct cu_dnn_layer *dnn_layer = &layer->dnn;
	void *const tensors[] = {dnn_layer->x, dnn_layer->y, dnn_layer->bias};
	for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
		if (tensors[i])
			dnn->tensor_destroy(tensors[i]);
	if (dnn_layer->filter)
		dnn->filter_destroy(dnn_layer->filter);
	if (dnn_layer->convolution)
		dnn->convolution_destroy(dnn_layer->convolution);
	if (dnn_layer->activation)
		dnn->activation_destroy(dnn_layer->activation);
	*dnn_layer = (struct cu_dnn_layer){0};
}

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

bool cu_dnn_layer_fuses_bias(const struct cu_layer *layer, int algorithm)
{
	const enum npl_activation fused = layer->layer->activation;
	/* cuDNN's documentation allows a bias without Relu with this algorithm only. */
	return fused == NPL_ACT_RELU || (fused == NPL_ACT_NONE && algorithm == CU_DNN_PRECOMPUTED_GEMM);
}

int cu_dnn_layer_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, struct npl_err *err)
{
	static const float unit = 1, zero = 0;
	const struct cu_device *device = layer->device;
	const struct cu_dnn *dnn = &device->dnn;
	struct cu_dnn_layer *dnn_layer = &layer->dnn;
	const uint64_t bias = cu_weights_bias(layer, in), w = cu_weights_matrix(layer, in, 0);
	void *x = pointer(in[0].address), *y = pointer(out[0].address), *workspace = pointer(device->workspace.address);
	if (bias && cu_dnn_layer_fuses_bias(layer, dnn_layer->algorithm) && !dnn_layer->own_epilogue) {
		int status = dnn->convolve_with_bias(
			dnn->handle, &unit, dnn_layer->x, x, dnn_layer->filter, pointer(w), dnn_layer->convolution,
			dnn_layer->algorithm, workspace, dnn_layer->workspace_bytes, &zero, dnn_layer->y, y,
			dnn_layer->bias, pointer(bias), dnn_layer->activation, dnn_layer->y, y);
		if (!status)
			return 0;
		/* Other errors of the convolution are reported by the call without bias. */
		if (status < CU_DNN_BAD_PARAM || status >= CU_DNN_INTERNAL_ERROR)
			return cu_dnn_result(dnn, "cudnnConvolutionBiasActivationForward", status, err);
		dnn_layer->own_epilogue = true;
	}
	if (cu_dnn_try(dnn, err, cudnnConvolutionForward, convolve,
		       (dnn->handle, &unit, dnn_layer->x, x, dnn_layer->filter, pointer(w), dnn_layer->convolution,
			dnn_layer->algorithm, workspace, dnn_layer->workspace_bytes, &zero, dnn_layer->y, y)))
		return err->code;
	return cu_layer_finish(layer, in, out, layer->conv.filters, layer->channels_last ? 1 : layer->conv.pixels, err);
}
