/* SPDX-License-Identifier: MIT
 *
 * The fake cuDNN (fake.h). It computes convolutions by loops, with sums in double. Its list of algorithms has four:
 * the first is not supported, the second needs more memory than there is, and the other two can run. A tensor is
 * dense, with or without channels last, and images, filters and result must agree in that. */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/load/dnn_api.h"
#include "core/base/half.h"
#include "fake.h"

#define CU_CALL(result, member, symbol, parameters) result fake_##symbol parameters CU_FAKE_NAME(symbol);
#include "backends/cuda/load/dnn_api.def"
#undef CU_CALL

enum { HANDLE = 0xd00, TENSOR, FILTER, ACTIVATION, CONVOLUTION };
enum { MAX_DIMENSIONS = 5, WORKSPACE = 8192 }; /* bytes that the precomputed algorithm needs */

struct handle {
	int magic;
	void *stream;
};
/* A tensor of values or a filter. */
struct tensor {
	int magic, type, n, size[MAX_DIMENSIONS];
	bool last; /* channels are last */
};
struct activation {
	int magic, function;
};
struct convolution {
	int magic, n, pad[3], stride[3], dilation[3], groups, math, compute;
};

#define FAKE_CALL(symbol)                                                                                              \
	do {                                                                                                           \
		int code_ = cu_fake_fails(CU_FAKE_DNN, #symbol);                                                       \
		if (code_)                                                                                             \
			return code_;                                                                                  \
	} while (0)
#define BAD(...) cu_fake_violation(CU_DNN_BAD_PARAM, __VA_ARGS__)

static bool has_magic(const void *object, int magic)
{
	return (object && *(const int *)object == magic) || BAD("a handle of cuDNN's that is none") < 0;
}

static void *make(int magic, size_t bytes)
{
	int *object = calloc(1, bytes);
	*object = magic;
	cu_fake_live("cuDNN objects", 1);
	return object;
}

static int end(void *object, int magic)
{
	if (!has_magic(object, magic))
		return CU_DNN_BAD_PARAM;
	*(int *)object = 0;
	free(object);
	cu_fake_live("cuDNN objects", -1);
	return 0;
}

size_t fake_cudnnGetVersion(void)
{
	return 91300;
}

const char *fake_cudnnGetErrorString(CU_DNN_STATUS status)
{
	return status == 4000 ? "CUDNN_STATUS_INTERNAL_ERROR" : status == 3000 ? "CUDNN_STATUS_NOT_SUPPORTED" : NULL;
}

CU_DNN_STATUS fake_cudnnCreate(CU_DNN *handle)
{
	FAKE_CALL(cudnnCreate);
	if (!cu_fake_context())
		return BAD("cudnnCreate without a context");
	*handle = make(HANDLE, sizeof(struct handle));
	return 0;
}

CU_DNN_STATUS fake_cudnnDestroy(CU_DNN handle)
{
	return end(handle, HANDLE);
}

CU_DNN_STATUS fake_cudnnSetStream(CU_DNN handle, CU_RUNTIME_STREAM stream)
{
	FAKE_CALL(cudnnSetStream);
	if (!has_magic(handle, HANDLE) || !cu_fake_stream(stream))
		return CU_DNN_BAD_PARAM;
	((struct handle *)handle)->stream = stream;
	return 0;
}

CU_DNN_STATUS fake_cudnnCreateTensorDescriptor(CU_DNN_TENSOR *tensor)
{
	FAKE_CALL(cudnnCreateTensorDescriptor);
	*tensor = make(TENSOR, sizeof(struct tensor));
	return 0;
}

CU_DNN_STATUS fake_cudnnDestroyTensorDescriptor(CU_DNN_TENSOR tensor)
{
	return end(tensor, TENSOR);
}

static int set_sizes(struct tensor *t, int type, int n, const int *size)
{
	if (n < 4 || n > MAX_DIMENSIONS)
		return BAD("a tensor of %d dimensions", n);
	t->type = type;
	t->n = n;
	for (int d = 0; d < n; d++)
		if ((t->size[d] = size[d]) < 1)
			return BAD("a tensor without elements");
	return 0;
}

CU_DNN_STATUS fake_cudnnSetTensorNdDescriptor(CU_DNN_TENSOR tensor, CU_DNN_TYPE type, int n, const int *size,
					      const int *stride)
{
	FAKE_CALL(cudnnSetTensorNdDescriptor);
	if (!has_magic(tensor, TENSOR))
		return CU_DNN_BAD_PARAM;
	const int code = set_sizes(tensor, type, n, size);
	if (code)
		return code;
	((struct tensor *)tensor)->last = n == 4 && stride[1] == 1 && size[1] > 1;
	for (int i = n - 1, step = 1; i >= 0; i--) {
		static const int last[] = {0, 2, 3, 1};
		const int d = ((struct tensor *)tensor)->last ? last[i] : i;
		if (stride[d] != step && size[d] > 1)
			return BAD("a tensor that is not dense");
		step *= size[d];
	}
	return 0;
}

CU_DNN_STATUS fake_cudnnCreateFilterDescriptor(CU_DNN_FILTER *filter)
{
	FAKE_CALL(cudnnCreateFilterDescriptor);
	*filter = make(FILTER, sizeof(struct tensor));
	return 0;
}

CU_DNN_STATUS fake_cudnnDestroyFilterDescriptor(CU_DNN_FILTER filter)
{
	return end(filter, FILTER);
}

CU_DNN_STATUS fake_cudnnSetFilterNdDescriptor(CU_DNN_FILTER filter, CU_DNN_TYPE type, CU_DNN_LAYOUT layout, int n,
					      const int *size)
{
	FAKE_CALL(cudnnSetFilterNdDescriptor);
	if (!has_magic(filter, FILTER) || (layout != CU_DNN_NCHW && (layout != CU_DNN_NHWC || n != 4)))
		return BAD("a filter of layout %d with %d dimensions", layout, n);
	((struct tensor *)filter)->last = layout == CU_DNN_NHWC;
	return set_sizes(filter, type, n, size);
}

CU_DNN_STATUS fake_cudnnCreateActivationDescriptor(CU_DNN_ACTIVATION *activation)
{
	FAKE_CALL(cudnnCreateActivationDescriptor);
	*activation = make(ACTIVATION, sizeof(struct activation));
	return 0;
}

CU_DNN_STATUS fake_cudnnDestroyActivationDescriptor(CU_DNN_ACTIVATION activation)
{
	return end(activation, ACTIVATION);
}

CU_DNN_STATUS fake_cudnnSetActivationDescriptor(CU_DNN_ACTIVATION activation, CU_DNN_FUNCTION function, CU_DNN_NAN nan,
						double limit)
{
	(void)nan;
	(void)limit;
	FAKE_CALL(cudnnSetActivationDescriptor);
	if (!has_magic(activation, ACTIVATION))
		return CU_DNN_BAD_PARAM;
	((struct activation *)activation)->function = function;
	return 0;
}

CU_DNN_STATUS fake_cudnnCreateConvolutionDescriptor(CU_DNN_CONVOLUTION *convolution)
{
	FAKE_CALL(cudnnCreateConvolutionDescriptor);
	*convolution = make(CONVOLUTION, sizeof(struct convolution));
	((struct convolution *)*convolution)->groups = 1;
	return 0;
}

CU_DNN_STATUS fake_cudnnDestroyConvolutionDescriptor(CU_DNN_CONVOLUTION convolution)
{
	return end(convolution, CONVOLUTION);
}

CU_DNN_STATUS fake_cudnnSetConvolutionNdDescriptor(CU_DNN_CONVOLUTION at, int n, const int *pads, const int *strides,
						   const int *dilations, CU_DNN_MODE mode, CU_DNN_TYPE compute)
{
	struct convolution *c = at;
	FAKE_CALL(cudnnSetConvolutionNdDescriptor);
	if (!has_magic(c, CONVOLUTION) || n < 2 || n > 3 || mode != CU_DNN_CROSS_CORRELATION || compute != CU_DNN_F32)
		return BAD("a convolution of %d dimensions, mode %d", n, mode);
	c->n = n;
	c->compute = compute;
	for (int d = 0; d < n; d++) {
		c->pad[d] = pads[d];
		c->stride[d] = strides[d];
		c->dilation[d] = dilations[d];
	}
	return 0;
}

CU_DNN_STATUS fake_cudnnSetConvolutionMathType(CU_DNN_CONVOLUTION convolution, CU_DNN_MATH math)
{
	FAKE_CALL(cudnnSetConvolutionMathType);
	if (!has_magic(convolution, CONVOLUTION))
		return CU_DNN_BAD_PARAM;
	((struct convolution *)convolution)->math = math;
	return 0;
}

CU_DNN_STATUS fake_cudnnSetConvolutionGroupCount(CU_DNN_CONVOLUTION convolution, int groups)
{
	FAKE_CALL(cudnnSetConvolutionGroupCount);
	if (!has_magic(convolution, CONVOLUTION))
		return CU_DNN_BAD_PARAM;
	((struct convolution *)convolution)->groups = groups;
	return 0;
}

static int64_t plane(const struct tensor *t)
{
	int64_t product = 1;
	for (int d = 2; d < t->n; d++)
		product *= t->size[d];
	return product;
}

/* Whether the tensor is the same in both layouts. */
static bool lies_both_ways(const struct tensor *t)
{
	return t->size[1] == 1 || plane(t) == 1;
}

static int check(const struct tensor *x, const struct tensor *w, const struct convolution *c, const struct tensor *y)
{
	if (!has_magic(x, TENSOR) || !has_magic(w, FILTER) || !has_magic(c, CONVOLUTION) || !has_magic(y, TENSOR))
		return CU_DNN_BAD_PARAM;
	if (x->n != c->n + 2 || w->n != x->n || y->n != x->n || x->type != w->type || x->type != y->type ||
	    x->size[0] != y->size[0] || w->size[0] != y->size[1] || w->size[1] * c->groups != x->size[1] ||
	    y->size[1] % c->groups)
		return BAD("a convolution of tensors that do not meet");
	if ((x->last != w->last && !lies_both_ways(x)) || (y->last != w->last && !lies_both_ways(y)))
		return BAD("a convolution of tensors and filters in different layouts");
	for (int d = 0; d < c->n; d++)
		if ((x->size[2 + d] + 2 * c->pad[d] - (w->size[2 + d] - 1) * c->dilation[d] - 1) / c->stride[d] + 1 !=
		    y->size[2 + d])
			return BAD("a convolution with a result of another size");
	return 0;
}

static bool has_algorithm(const struct tensor *w, const struct convolution *c)
{
	return !cu_fake.no_dnn_algorithm && !(w->last && cu_fake.no_channels_last) &&
	       !(w->last && c->groups > 1 && cu_fake.no_groups_last);
}

CU_DNN_STATUS fake_cudnnGetConvolutionForwardAlgorithm_v7(CU_DNN handle, const CU_DNN_TENSOR x, const CU_DNN_FILTER w,
							  const CU_DNN_CONVOLUTION convolution, const CU_DNN_TENSOR y,
							  int max_results, int *returned, CU_DNN_FOUND *results)
{
	FAKE_CALL(cudnnGetConvolutionForwardAlgorithm_v7);
	int code = has_magic(handle, HANDLE) ? check(x, w, convolution, y) : CU_DNN_BAD_PARAM;
	if (code || max_results < 3)
		return code ? code : CU_DNN_BAD_PARAM;
	const int math = ((const struct convolution *)convolution)->math;
	results[0] = (struct cu_dnn_found){.algorithm = 7, .status = CU_DNN_NOT_SUPPORTED, .math = math};
	results[1] = (struct cu_dnn_found){.algorithm = 4, .workspace_bytes = (size_t)1 << 40, .math = math};
	results[2] = (struct cu_dnn_found){
		.algorithm = CU_DNN_PRECOMPUTED_GEMM, .workspace_bytes = WORKSPACE, .math = math};
	results[3] = (struct cu_dnn_found){.algorithm = CU_DNN_IMPLICIT_GEMM, .math = math};
	*returned = !has_algorithm(w, convolution) ? 2 : max_results < 4 ? max_results : 4;
	cu_fake.algorithm_lists++;
	return 0;
}

static double element(const void *base, int type, int64_t i)
{
	return type == CU_DNN_F16    ? npl_f16_to_float(((const uint16_t *)base)[i])
	       : type == CU_DNN_BF16 ? npl_bf16_to_float(((const uint16_t *)base)[i])
				     : ((const float *)base)[i];
}

static void store_element(void *base, int type, int64_t i, double value)
{
	if (type == CU_DNN_F16)
		((uint16_t *)base)[i] = npl_f16_of_double(value);
	else if (type == CU_DNN_BF16)
		((uint16_t *)base)[i] = npl_bf16_of_float((float)value);
	else
		((float *)base)[i] = (float)value;
}

static size_t bytes_of(const struct tensor *t)
{
	return (size_t)((int64_t)t->size[0] * t->size[1] * plane(t)) * (t->type == CU_DNN_F32 ? 4 : 2);
}

/* Returns the position in the input's plane that the tap reads for the pixel, or -1 where that is padding. */
static int64_t position(const struct convolution *c, const struct tensor *x, const struct tensor *w,
			const struct tensor *y, int64_t pixel, int64_t tap)
{
	int64_t at = 0, step = 1;
	for (int d = c->n - 1; d >= 0; d--) {
		int64_t i = pixel % y->size[2 + d] * c->stride[d] - c->pad[d] + tap % w->size[2 + d] * c->dilation[d];
		if (i < 0 || i >= x->size[2 + d])
			return -1;
		at += i * step;
		step *= x->size[2 + d];
		pixel /= y->size[2 + d];
		tap /= w->size[2 + d];
	}
	return at;
}

/* Returns the index of the element of this image (or filter), channel and position in its plane. */
static int64_t index_of(const struct tensor *t, int64_t image, int64_t channel, int64_t at)
{
	return t->last ? (image * plane(t) + at) * t->size[1] + channel
		       : (image * t->size[1] + channel) * plane(t) + at;
}

struct job {
	const struct tensor *x, *w, *y;
	const struct convolution *c;
	const void *at_x, *at_w, *bias;
	void *at_y;
	bool relu;
};

static double sum_of(const struct job *j, int64_t image, int64_t m, int64_t pixel)
{
	const int64_t channels = j->w->size[1], taps = plane(j->w);
	const int64_t first = m / (j->y->size[1] / j->c->groups) * channels;
	double sum = j->bias ? element(j->bias, j->y->type, m) : 0;
	for (int64_t tap = 0; tap < taps; tap++) {
		int64_t at = position(j->c, j->x, j->w, j->y, pixel, tap);
		for (int64_t k = 0; k < channels && at >= 0; k++)
			sum += element(j->at_x, j->x->type, index_of(j->x, image, first + k, at)) *
			       element(j->at_w, j->w->type, index_of(j->w, m, k, tap));
	}
	return j->relu && sum < 0 ? 0 : sum;
}

/* Returns an error for what cuDNN would refuse or do wrong. */
static int check_job(const struct handle *handle, const struct job *j, void *workspace, size_t workspace_bytes)
{
	int code = has_magic(handle, HANDLE) ? check(j->x, j->w, j->c, j->y) : CU_DNN_BAD_PARAM;
	if (code || !cu_fake_stream(handle->stream) || !cu_fake_context())
		return CU_DNN_BAD_PARAM;
	if (!has_algorithm(j->w, j->c))
		return BAD("a convolution that there is no algorithm for");
	if (workspace_bytes && !cu_fake_holds((uint64_t)(uintptr_t)workspace, workspace_bytes))
		return BAD("a workspace of %zu bytes that are not there", workspace_bytes);
	if (!cu_fake_holds((uint64_t)(uintptr_t)j->at_x, bytes_of(j->x)) ||
	    !cu_fake_holds((uint64_t)(uintptr_t)j->at_w, bytes_of(j->w)) ||
	    !cu_fake_holds((uint64_t)(uintptr_t)j->at_y, bytes_of(j->y)) ||
	    (j->bias &&
	     !cu_fake_holds((uint64_t)(uintptr_t)j->bias, (size_t)j->y->size[1] * (j->y->type == CU_DNN_F32 ? 4 : 2))))
		return BAD("a tensor of a convolution reaches beyond its memory");
	return 0;
}

/* The arguments of a convolution, which is done now or when its graph is launched. */
struct convolution_call {
	const struct handle *handle;
	struct job job;
	bool precomputed;
	void *workspace;
	size_t workspace_bytes;
};

static int do_convolution(const struct convolution_call *call)
{
	const struct job *j = &call->job;
	int code = check_job(call->handle, j, call->workspace, call->workspace_bytes);
	if (code)
		return code;
	const int64_t pixels = plane(j->y);
	cu_fake_begin();
	if (call->workspace_bytes)
		memset(call->workspace, 0xcd, call->workspace_bytes);
	for (int64_t i = 0; i < (int64_t)j->y->size[0] * j->y->size[1] && !cu_fake.no_values; i++)
		for (int64_t pixel = 0; pixel < pixels; pixel++) {
			const int64_t image = i / j->y->size[1], m = i % j->y->size[1];
			store_element(j->at_y, j->y->type, index_of(j->y, image, m, pixel), sum_of(j, image, m, pixel));
		}
	cu_fake_end();
	cu_fake.convolutions++;
	cu_fake.last_convolutions += j->w->last;
	cu_fake.convolutions_by[call->precomputed]++;
	cu_fake_seconds((6e-6 + (double)bytes_of(j->y) / 1e12) *
			(call->precomputed == (cu_fake.fastest_algorithm == 1) ? 1 : cu_fake.slower));
	return 0;
}

static int replay_convolution(void *data)
{
	return do_convolution(data);
}

static int convolve(const struct handle *handle, const struct job *j, int algorithm, void *workspace,
		    size_t workspace_bytes)
{
	const bool precomputed = algorithm == CU_DNN_PRECOMPUTED_GEMM;
	if ((!precomputed && algorithm != CU_DNN_IMPLICIT_GEMM) || (precomputed && workspace_bytes < WORKSPACE))
		return BAD("algorithm %d with a workspace of %zu bytes", algorithm, workspace_bytes);
	const struct convolution_call call = {handle, *j, precomputed, workspace, workspace_bytes};
	if (!cu_fake_captures())
		return do_convolution(&call);
	return cu_fake.no_capture ? cu_fake_spoil() : cu_fake_keep(replay_convolution, &call, sizeof call);
}

CU_DNN_STATUS fake_cudnnConvolutionForward(CU_DNN handle, const void *alpha, const CU_DNN_TENSOR x_tensor,
					   const void *x, const CU_DNN_FILTER filter, const void *w,
					   const CU_DNN_CONVOLUTION convolution, CU_DNN_ALGORITHM algorithm,
					   void *workspace, size_t workspace_bytes, const void *beta,
					   const CU_DNN_TENSOR y_tensor, void *y)
{
	FAKE_CALL(cudnnConvolutionForward);
	const struct job job = {x_tensor, filter, y_tensor, convolution, x, w, NULL, y, false};
	if (*(const float *)alpha != 1 || *(const float *)beta != 0)
		return BAD("a convolution that is scaled");
	return convolve(handle, &job, algorithm, workspace, workspace_bytes);
}

CU_DNN_STATUS fake_cudnnConvolutionBiasActivationForward(
	CU_DNN handle, const void *alpha1, const CU_DNN_TENSOR x_tensor, const void *x, const CU_DNN_FILTER filter,
	const void *w, const CU_DNN_CONVOLUTION convolution, CU_DNN_ALGORITHM algorithm, void *workspace,
	size_t workspace_bytes, const void *alpha2, const CU_DNN_TENSOR z_tensor, const void *z,
	const CU_DNN_TENSOR bias_tensor, const void *bias, const CU_DNN_ACTIVATION activation,
	const CU_DNN_TENSOR y_tensor, void *y)
{
	const struct tensor *b = bias_tensor;
	FAKE_CALL(cudnnConvolutionBiasActivationForward);
	if (!has_magic(activation, ACTIVATION))
		return CU_DNN_BAD_PARAM;
	const int function = ((const struct activation *)activation)->function;
	const struct job job = {x_tensor, filter, y_tensor, convolution, x, w, bias, y, function == CU_DNN_RELU};
	if ((function != CU_DNN_RELU && (function != CU_DNN_IDENTITY || algorithm != CU_DNN_PRECOMPUTED_GEMM)) ||
	    *(const float *)alpha1 != 1 || *(const float *)alpha2 != 0 || z_tensor != y_tensor || z != y ||
	    !has_magic(b, TENSOR) || b->size[1] != job.y->size[1])
		return BAD("a convolution that is scaled, or has another bias");
	if (cu_fake.no_fused_convolution)
		return CU_DNN_NOT_SUPPORTED;
	cu_fake.fused_convolutions++;
	return convolve(handle, &job, algorithm, workspace, workspace_bytes);
}

void *cu_fake_dnn_symbol(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
#define CU_CALL(result, member, symbol, parameters) {#symbol, (void (*)(void))fake_##symbol},
#include "backends/cuda/load/dnn_api.def"
#undef CU_CALL
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}
