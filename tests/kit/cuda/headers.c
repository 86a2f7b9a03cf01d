/* SPDX-License-Identifier: MIT
 *
 * No part of the program: what backends/cuda declares of CUDA, held against the toolkit's own headers by the compiler,
 * where tests/backends/cuda/test_headers.c finds them. With -DDRIVER, -DBLAS or -DDNN; with -DWRONG what is compared
 * does differ. */
#include <stddef.h>
#include <stdint.h>

#define SAME_TYPE(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a " is not " #b)
#define SAME_SIZE(a, b) _Static_assert(sizeof(a) == sizeof(b), #a " and " #b " differ in size")
#define SAME(a, b)      _Static_assert((long long)(a) == (long long)(b), #a " is not " #b)
#define SAME_PLACE(a, m, b, n)                                                                                         \
	_Static_assert(offsetof(a, m) == offsetof(b, n) && sizeof(((a *)0)->m) == sizeof(((b *)0)->n),                 \
		       #a "." #m " is not " #b "." #n)

#ifdef WRONG
SAME_TYPE(int (*)(void *, const char *), int (*)(void *, char *));
#endif

#ifdef DRIVER
#include <cuda.h>

#include "backends/cuda/load/driver_api.h"

SAME_SIZE(CU_RESULT, CUresult);
SAME_SIZE(CU_ATTRIBUTE, CUdevice_attribute);
SAME_TYPE(CU_DEVICE, CUdevice);
SAME_SIZE(CU_ADDRESS, CUdeviceptr);
SAME(CU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CU_ERROR_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(CU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CU_ATTRIBUTE_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(CU_ATTRIBUTE_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CU_ATTRIBUTE_PCI_BUS, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(CU_ATTRIBUTE_PCI_DEVICE, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(CU_ATTRIBUTE_MEMORY_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(CU_ATTRIBUTE_MEMORY_BUS_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(CU_ATTRIBUTE_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(CU_ATTRIBUTE_PCI_DOMAIN, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(CU_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CU_ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CU_STREAM_FLAG, CU_STREAM_NON_BLOCKING);
SAME(CU_CAPTURE_OF_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CU_EVENT_IN_GRAPH, CU_EVENT_RECORD_EXTERNAL);

#undef CU_RESULT
#undef CU_DEVICE
#undef CU_ATTRIBUTE
#undef CU_ADDRESS
#undef CU_CONTEXT
#undef CU_STREAM
#undef CU_EVENT
#undef CU_MODULE
#undef CU_FUNCTION
#undef CU_CAPTURE_MODE
#undef CU_GRAPH
#undef CU_GRAPH_EXEC
#define CU_RESULT       CUresult
#define CU_DEVICE       CUdevice
#define CU_ATTRIBUTE    CUdevice_attribute
#define CU_ADDRESS      CUdeviceptr
#define CU_CONTEXT      CUcontext
#define CU_STREAM       CUstream
#define CU_EVENT        CUevent
#define CU_MODULE       CUmodule
#define CU_CAPTURE_MODE CUstreamCaptureMode
#define CU_GRAPH        CUgraph
#define CU_GRAPH_EXEC   CUgraphExec
#define CU_FUNCTION     CUfunction
/* cuda.h has the later form of it alone, which differs in what is an error. */
#define cuEventElapsedTime                  cuEventElapsedTime_v2
#define CU_CALL(member, symbol, parameters) SAME_TYPE(__typeof__(&symbol), CU_RESULT(*) parameters);
#include "backends/cuda/load/driver_api.def"
#endif

#ifdef BLAS
#include <cublasLt.h>

#include "backends/cuda/load/blas_api.h"

SAME_SIZE(CU_BLAS_STATUS, cublasStatus_t);
SAME_SIZE(CU_COMPUTE, cublasComputeType_t);
SAME_SIZE(CU_TYPE, cudaDataType_t);
SAME_SIZE(CU_PRODUCT_ATTRIBUTE, cublasLtMatmulDescAttributes_t);
SAME_SIZE(CU_MATRIX_ATTRIBUTE, cublasLtMatrixLayoutAttribute_t);
SAME_SIZE(CU_PREFERENCE_ATTRIBUTE, cublasLtMatmulPreferenceAttributes_t);
SAME_SIZE(CU_ALGORITHM, cublasLtMatmulAlgo_t);
SAME_SIZE(CU_HEURISTIC, cublasLtMatmulHeuristicResult_t);
SAME_PLACE(CU_HEURISTIC, algorithm, cublasLtMatmulHeuristicResult_t, algo);
SAME_PLACE(CU_HEURISTIC, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_PLACE(CU_HEURISTIC, status, cublasLtMatmulHeuristicResult_t, state);
SAME(CU_BLAS_OK, CUBLAS_STATUS_SUCCESS);
SAME(CU_BLAS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(CU_BLAS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
SAME(CU_BLAS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE);
SAME(CU_BLAS_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(CU_BLAS_MAPPING_ERROR, CUBLAS_STATUS_MAPPING_ERROR);
SAME(CU_BLAS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(CU_BLAS_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(CU_BLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(CU_BLAS_LICENSE_ERROR, CUBLAS_STATUS_LICENSE_ERROR);
SAME(CU_TYPE_F32, CUDA_R_32F);
SAME(CU_TYPE_F16, CUDA_R_16F);
SAME(CU_TYPE_BF16, CUDA_R_16BF);
SAME(CU_TYPE_I8, CUDA_R_8I);
SAME(CU_TYPE_I32, CUDA_R_32I);
SAME(CU_COMPUTE_F32, CUBLAS_COMPUTE_32F);
SAME(CU_COMPUTE_I32, CUBLAS_COMPUTE_32I);
SAME(CU_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(CU_PLAIN, CUBLAS_OP_N);
SAME(CU_TRANSPOSED, CUBLAS_OP_T);
SAME(CU_PRODUCT_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(CU_PRODUCT_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(CU_PRODUCT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(CU_PRODUCT_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(CU_EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT);
SAME(CU_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
SAME(CU_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(CU_EPILOGUE_RELU | CU_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(CU_MATRIX_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(CU_MATRIX_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(CU_PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(CU_PREFERENCE_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(CU_PREFERENCE_ALIGNMENT_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(CU_PREFERENCE_ALIGNMENT_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(CU_PREFERENCE_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

#undef CU_BLAS_STATUS
#undef CU_COMPUTE
#undef CU_TYPE
#undef CU_PRODUCT_ATTRIBUTE
#undef CU_MATRIX_ATTRIBUTE
#undef CU_PREFERENCE_ATTRIBUTE
#undef CU_BLAS
#undef CU_PRODUCT
#undef CU_MATRIX
#undef CU_PREFERENCE
#undef CU_ALGORITHM
#undef CU_HEURISTIC
#undef CU_STREAM
#define CU_BLAS_STATUS                              cublasStatus_t
#define CU_COMPUTE                                  cublasComputeType_t
#define CU_TYPE                                     cudaDataType_t
#define CU_PRODUCT_ATTRIBUTE                        cublasLtMatmulDescAttributes_t
#define CU_MATRIX_ATTRIBUTE                         cublasLtMatrixLayoutAttribute_t
#define CU_PREFERENCE_ATTRIBUTE                     cublasLtMatmulPreferenceAttributes_t
#define CU_BLAS                                     cublasLtHandle_t
#define CU_PRODUCT                                  cublasLtMatmulDesc_t
#define CU_MATRIX                                   cublasLtMatrixLayout_t
#define CU_PREFERENCE                               cublasLtMatmulPreference_t
#define CU_ALGORITHM                                cublasLtMatmulAlgo_t
#define CU_HEURISTIC                                cublasLtMatmulHeuristicResult_t
#define CU_STREAM                                   cudaStream_t
#define CU_CALL(result, member, symbol, parameters) SAME_TYPE(__typeof__(&symbol), result(*) parameters);
#include "backends/cuda/load/blas_api.def"
#endif

#ifdef DNN
#include <cudnn.h>

#include "backends/cuda/load/dnn_api.h"

SAME_SIZE(CU_DNN_STATUS, cudnnStatus_t);
SAME_SIZE(CU_DNN_TYPE, cudnnDataType_t);
SAME_SIZE(CU_DNN_LAYOUT, cudnnTensorFormat_t);
SAME_SIZE(CU_DNN_FUNCTION, cudnnActivationMode_t);
SAME_SIZE(CU_DNN_NAN, cudnnNanPropagation_t);
SAME_SIZE(CU_DNN_MODE, cudnnConvolutionMode_t);
SAME_SIZE(CU_DNN_MATH, cudnnMathType_t);
SAME_SIZE(CU_DNN_ALGORITHM, cudnnConvolutionFwdAlgo_t);
SAME_SIZE(CU_DNN_FOUND, cudnnConvolutionFwdAlgoPerf_t);
SAME_PLACE(CU_DNN_FOUND, algorithm, cudnnConvolutionFwdAlgoPerf_t, algo);
SAME_PLACE(CU_DNN_FOUND, status, cudnnConvolutionFwdAlgoPerf_t, status);
SAME_PLACE(CU_DNN_FOUND, milliseconds, cudnnConvolutionFwdAlgoPerf_t, time);
SAME_PLACE(CU_DNN_FOUND, workspace_bytes, cudnnConvolutionFwdAlgoPerf_t, memory);
SAME_PLACE(CU_DNN_FOUND, math, cudnnConvolutionFwdAlgoPerf_t, mathType);
SAME(CU_DNN_BAD_PARAM, CUDNN_STATUS_BAD_PARAM);
SAME(CU_DNN_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED);
SAME(CU_DNN_INTERNAL_ERROR, CUDNN_STATUS_INTERNAL_ERROR);
SAME(CU_DNN_F32, CUDNN_DATA_FLOAT);
SAME(CU_DNN_F16, CUDNN_DATA_HALF);
SAME(CU_DNN_BF16, CUDNN_DATA_BFLOAT16);
SAME(CU_DNN_NCHW, CUDNN_TENSOR_NCHW);
SAME(CU_DNN_NHWC, CUDNN_TENSOR_NHWC);
SAME(CU_DNN_RELU, CUDNN_ACTIVATION_RELU);
SAME(CU_DNN_IDENTITY, CUDNN_ACTIVATION_IDENTITY);
SAME(CU_DNN_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN);
SAME(CU_DNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION);
SAME(CU_DNN_IMPLICIT_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
SAME(CU_DNN_PRECOMPUTED_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
SAME(CU_DNN_ALGORITHMS, CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
SAME(CU_DNN_DEFAULT_MATH, CUDNN_DEFAULT_MATH);
SAME(CU_DNN_TENSOR_MATH, CUDNN_TENSOR_OP_MATH);
SAME(CU_DNN_FMA_MATH, CUDNN_FMA_MATH);

#undef CU_DNN_STATUS
#undef CU_DNN_TYPE
#undef CU_DNN_LAYOUT
#undef CU_DNN_FUNCTION
#undef CU_DNN_NAN
#undef CU_DNN_MODE
#undef CU_DNN_MATH
#undef CU_DNN_ALGORITHM
#undef CU_DNN
#undef CU_DNN_TENSOR
#undef CU_DNN_FILTER
#undef CU_DNN_ACTIVATION
#undef CU_DNN_CONVOLUTION
#undef CU_RUNTIME_STREAM
#undef CU_DNN_FOUND
#define CU_DNN_STATUS                               cudnnStatus_t
#define CU_DNN_TYPE                                 cudnnDataType_t
#define CU_DNN_LAYOUT                               cudnnTensorFormat_t
#define CU_DNN_FUNCTION                             cudnnActivationMode_t
#define CU_DNN_NAN                                  cudnnNanPropagation_t
#define CU_DNN_MODE                                 cudnnConvolutionMode_t
#define CU_DNN_MATH                                 cudnnMathType_t
#define CU_DNN_ALGORITHM                            cudnnConvolutionFwdAlgo_t
#define CU_DNN                                      cudnnHandle_t
#define CU_DNN_TENSOR                               cudnnTensorDescriptor_t
#define CU_DNN_FILTER                               cudnnFilterDescriptor_t
#define CU_DNN_ACTIVATION                           cudnnActivationDescriptor_t
#define CU_DNN_CONVOLUTION                          cudnnConvolutionDescriptor_t
#define CU_RUNTIME_STREAM                           cudaStream_t
#define CU_DNN_FOUND                                cudnnConvolutionFwdAlgoPerf_t
#define CU_CALL(result, member, symbol, parameters) SAME_TYPE(__typeof__(&symbol), result(*) parameters);
#include "backends/cuda/load/dnn_api.def"
#endif
