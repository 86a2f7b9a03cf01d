/* SPDX-License-Identifier: MIT
 *
 * Loads cuBLASLt (blas_api.h). */
#include "blas_api.h"

int cu_blas_result(const char *call, int status, struct npl_err *err)
{
	static const struct {
		int status;
		const char *name;
	} names[] = {
		{CU_BLAS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED"},
		{CU_BLAS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED"},
		{CU_BLAS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE"},
		{CU_BLAS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH"},
		{CU_BLAS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR"},
		{CU_BLAS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED"},
		{CU_BLAS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR"},
		{CU_BLAS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED"},
		{CU_BLAS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR"},
	};
	if (!status)
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].status == status)
			return npl_fail(err, NPL_EDEVICE, "cuBLASLt fails: %s returns %s (%d)", call, names[i].name,
					status);
	return npl_fail(err, NPL_EDEVICE, "cuBLASLt fails: %s returns an unknown status (%d)", call, status);
}

static int load(const struct cu_driver *driver, struct cu_blas *blas, struct npl_err *err)
{
	/* A library needs a driver of its own major version or a later one. */
	static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
	const char *const *usable = names + (driver->version_number < 13000);
	const struct cu_symbol symbols[] = {
#define CU_CALL(result, member, symbol, parameters) {#symbol, &blas->member},
#include "blas_api.def"
#undef CU_CALL
	};
	char reason[200];
	if (cu_library_open(driver->library.loader, usable, &blas->library, reason, sizeof reason))
		return npl_fail(
			err, NPL_EDEVICE,
			"a GPU is here, but no cuBLASLt for its driver, which runs CUDA %d.%d: %s cannot be loaded "
			"(%s); NPULAB_CUDA_PATH may name its folder",
			driver->version_number / 1000, driver->version_number % 1000 / 10, *usable, reason);
	const char *missing = cu_library_symbols(&blas->library, symbols, sizeof symbols / sizeof *symbols);
	if (missing)
		return npl_fail(err, NPL_EDEVICE, "%.200s has no %s", blas->library.path, missing);
	return 0;
}

int cu_blas_open(const struct cu_driver *driver, struct cu_blas *blas, struct npl_err *err)
{
	*blas = (struct cu_blas){0};
	int rc = load(driver, blas, err);
	if (!rc)
		rc = cu_blas_try(blas, err, cublasLtCreate, create, (&blas->handle));
	if (rc)
		cu_blas_close(blas);
	return rc;
}

void cu_blas_close(struct cu_blas *blas)
{
	if (blas->handle)
		blas->destroy(blas->handle);
	cu_library_close(&blas->library);
	*blas = (struct cu_blas){0};
}
