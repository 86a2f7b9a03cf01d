/* SPDX-License-Identifier: MIT
 *
 * cuDNN 9, which computes convolutions if it is installed. Declarations are our own; names and numbers are those of
 * cudnn.h.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_DNN_API_H
#define NPULAB_BACKENDS_CUDA_LOAD_DNN_API_H

#include "driver_api.h"

#define CU_DNN_STATUS      int
#define CU_DNN_TYPE        int
#define CU_DNN_LAYOUT      int
#define CU_DNN_FUNCTION    int
#define CU_DNN_NAN         int
#define CU_DNN_MODE        int
#define CU_DNN_MATH        int
#define CU_DNN_ALGORITHM   int
#define CU_DNN             void *
#define CU_DNN_TENSOR      void *
#define CU_DNN_FILTER      void *
#define CU_DNN_ACTIVATION  void *
#define CU_DNN_CONVOLUTION void *
#define CU_RUNTIME_STREAM  void *
#define CU_DNN_FOUND       struct cu_dnn_found

enum cu_dnn_status { CU_DNN_BAD_PARAM = 2000, CU_DNN_NOT_SUPPORTED = 3000, CU_DNN_INTERNAL_ERROR = 4000 };
enum cu_dnn_type { CU_DNN_F32 = 0, CU_DNN_F16 = 2, CU_DNN_BF16 = 9 };
enum cu_dnn_layout { CU_DNN_NCHW = 0, CU_DNN_NHWC = 1 };
enum cu_dnn_function { CU_DNN_RELU = 1, CU_DNN_IDENTITY = 5 };
enum cu_dnn_nan { CU_DNN_PROPAGATE_NAN = 1 };
enum cu_dnn_mode { CU_DNN_CROSS_CORRELATION = 1 };
enum cu_dnn_algorithm { CU_DNN_IMPLICIT_GEMM = 0, CU_DNN_PRECOMPUTED_GEMM = 1, CU_DNN_ALGORITHMS = 8 };
/* Default mathematics computes float32 products in TF32 on GPUs that can; FMA keeps them in float32. */
enum cu_dnn_math { CU_DNN_DEFAULT_MATH = 0, CU_DNN_TENSOR_MATH = 1, CU_DNN_FMA_MATH = 3 };

struct cu_dnn_found {
	int algorithm, status;
	float milliseconds;
	size_t workspace_bytes;
	int determinism, math;
	int reserved[3];
};

struct cu_dnn {
	struct cu_library library; /* the library's handle is NULL if there is no cuDNN */
	void *handle;
#define CU_CALL(result, member, symbol, parameters) result(*member) parameters;
#include "dnn_api.def"
#undef CU_CALL
};

/* Loads libcudnn and makes a handle that works in the stream. NPL_EDEVICE with the reason, and *dnn zeroed: it is
 * absent, too old or does not start on this GPU. The device then works without it. */
int cu_dnn_open(const struct cu_driver *driver, CU_STREAM stream, struct cu_dnn *dnn, struct npl_err *err);
void cu_dnn_close(struct cu_dnn *dnn); /* accepts a zeroed one */

/* Returns 0 for success, else NPL_EDEVICE with a message: "cuDNN fails: cudnnConvolutionForward returns
 * CUDNN_STATUS_NOT_SUPPORTED (3000)". */
int cu_dnn_result(const struct cu_dnn *dnn, const char *call, int status, struct npl_err *err);
#define cu_dnn_try(dnn_, err_, symbol_, member_, arguments_)                                                           \
	cu_dnn_result(dnn_, #symbol_, (dnn_)->member_ arguments_, err_)

#endif
