/* SPDX-License-Identifier: MIT
 *
 * Loads cuDNN (dnn_api.h). */
#include "dnn_api.h"

int cu_dnn_result(const struct cu_dnn *dnn, const char *call, int status, struct npl_err *err)
{
	if (!status)
		return 0;
	const char *text = dnn->error_text(status);
	return npl_fail(err, NPL_EDEVICE, "cuDNN fails: %s returns %s (%d)", call, text ? text : "an unknown status",
			status);
}

static int load(const struct cu_driver *driver, struct cu_dnn *dnn, struct npl_err *err)
{
	static const char *const names[] = {"libcudnn.so.9", NULL};
	const struct cu_symbol symbols[] = {
#define CU_CALL(result, member, symbol, parameters) {#symbol, &dnn->member},
#include "dnn_api.def"
#undef CU_CALL
	};
	char reason[200];
	if (cu_library_open(driver->library.loader, names, &dnn->library, reason, sizeof reason))
		return npl_fail(err, NPL_EDEVICE, "libcudnn.so.9 cannot be loaded (%s)", reason);
	const char *missing = cu_library_symbols(&dnn->library, symbols, sizeof symbols / sizeof *symbols);
	if (missing)
		return npl_fail(err, NPL_EDEVICE, "%.200s has no %s", dnn->library.path, missing);
	return 0;
}

int cu_dnn_open(const struct cu_driver *driver, CU_STREAM stream, struct cu_dnn *dnn, struct npl_err *err)
{
	*dnn = (struct cu_dnn){0};
	int rc = load(driver, dnn, err);
	if (!rc)
		rc = cu_dnn_try(dnn, err, cudnnCreate, create, (&dnn->handle));
	if (!rc)
		rc = cu_dnn_try(dnn, err, cudnnSetStream, set_stream, (dnn->handle, stream));
	if (rc)
		cu_dnn_close(dnn);
	return rc;
}

void cu_dnn_close(struct cu_dnn *dnn)
{
	if (dnn->handle)
		dnn->destroy(dnn->handle);
	cu_library_close(&dnn->library);
	*dnn = (struct cu_dnn){0};
}
