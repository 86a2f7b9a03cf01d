/* SPDX-License-Identifier: MIT
 *
 * cuBLASLt, the part of cuBLAS that computes every product here. It handles the types, the bias and the Relu of a
 * product; libcublas itself is not needed. Declarations are our own; names and numbers are those of cublasLt.h.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_BLAS_API_H
#define NPULAB_BACKENDS_CUDA_LOAD_BLAS_API_H

#include "driver_api.h"

#define CU_BLAS_STATUS          int
#define CU_COMPUTE              int
#define CU_TYPE                 int
#define CU_PRODUCT_ATTRIBUTE    int
#define CU_MATRIX_ATTRIBUTE     int
#define CU_PREFERENCE_ATTRIBUTE int
#define CU_BLAS                 void *
#define CU_PRODUCT              void *
#define CU_MATRIX               void *
#define CU_PREFERENCE           void *
#define CU_ALGORITHM            struct cu_algorithm
#define CU_HEURISTIC            struct cu_heuristic

enum cu_blas_status {
	CU_BLAS_OK = 0,
	CU_BLAS_NOT_INITIALIZED = 1,
	CU_BLAS_ALLOC_FAILED = 3,
	CU_BLAS_INVALID_VALUE = 7,
	CU_BLAS_ARCH_MISMATCH = 8,
	CU_BLAS_MAPPING_ERROR = 11,
	CU_BLAS_EXECUTION_FAILED = 13,
	CU_BLAS_INTERNAL_ERROR = 14,
	CU_BLAS_NOT_SUPPORTED = 15,
	CU_BLAS_LICENSE_ERROR = 16
};

enum cu_type { CU_TYPE_F32 = 0, CU_TYPE_F16 = 2, CU_TYPE_I8 = 3, CU_TYPE_I32 = 10, CU_TYPE_BF16 = 14 };
enum cu_compute { CU_COMPUTE_F32 = 68, CU_COMPUTE_I32 = 72, CU_COMPUTE_TF32 = 77 };
enum cu_transpose { CU_PLAIN = 0, CU_TRANSPOSED = 1 };
enum cu_product_attribute {
	CU_PRODUCT_TRANSPOSE_A = 3,
	CU_PRODUCT_TRANSPOSE_B = 4,
	CU_PRODUCT_EPILOGUE = 7,
	CU_PRODUCT_BIAS = 8
};
enum cu_epilogue { CU_EPILOGUE_NONE = 1, CU_EPILOGUE_RELU = 2, CU_EPILOGUE_BIAS = 4 };
enum cu_matrix_attribute { CU_MATRIX_BATCH = 5, CU_MATRIX_STRIDE = 6 };
enum cu_preference_attribute {
	CU_PREFERENCE_WORKSPACE = 1,
	CU_PREFERENCE_ALIGNMENT_A = 5,
	CU_PREFERENCE_ALIGNMENT_B = 6,
	CU_PREFERENCE_ALIGNMENT_C = 7,
	CU_PREFERENCE_ALIGNMENT_D = 8
};

struct cu_algorithm {
	uint64_t data[8];
};

struct cu_heuristic {
	struct cu_algorithm algorithm;
	size_t workspace_bytes;
	int status;
	float waves;
	int reserved[4];
};

struct cu_blas {
	struct cu_library library;
	void *handle;
#define CU_CALL(result, member, symbol, parameters) result(*member) parameters;
#include "blas_api.def"
#undef CU_CALL
};

/* Loads a version of libcublasLt that the driver can run and makes a handle in the current context. NPL_EDEVICE with
 * the reason. */
int cu_blas_open(const struct cu_driver *driver, struct cu_blas *blas, struct npl_err *err);
void cu_blas_close(struct cu_blas *blas); /* accepts a zeroed one */

/* Returns 0 for success, else NPL_EDEVICE with a message: "cuBLASLt fails: cublasLtMatmul returns
 * CUBLAS_STATUS_NOT_SUPPORTED (15)". */
int cu_blas_result(const char *call, int status, struct npl_err *err);
#define cu_blas_try(blas_, err_, symbol_, member_, arguments_)                                                         \
	cu_blas_result(#symbol_, (blas_)->member_ arguments_, err_)

#endif
