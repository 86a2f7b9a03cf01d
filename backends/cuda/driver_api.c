/* SPDX-License-Identifier: MIT
 *
 * Loading the CUDA driver and asking it for its GPUs; see driver_api.h. The library belongs to NVIDIA's kernel
 * driver, not to the toolkit; container hosts mount it where the dynamic linker may not look. */
#include "driver_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { CUDA_ERROR_STUB_LIBRARY = 34, CUDA_ERROR_NO_DEVICE = 100 };
enum { COMPUTE_CAPABILITY_MAJOR = 75, COMPUTE_CAPABILITY_MINOR = 76 }; /* of CUdevice_attribute */

static const char *const sonames[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"};

static void *system_open(const char *soname)
{
	return dlopen(soname, RTLD_NOW | RTLD_LOCAL);
}

static void system_close(void *library)
{
	dlclose(library);
}

static const char *system_why(void)
{
	return dlerror();
}

const struct cu_loader cu_system_loader = {
	.open = system_open,
	.symbol = dlsym,
	.close = system_close,
	.why = system_why,
};

int cu_driver_failed(const struct cu_driver *driver, const char *call, int code, struct npl_err *err)
{
	const char *name = NULL;
	if (driver->error_name(code, &name) || !name)
		name = "an unknown error";
	return npl_fail(err, NPL_EDEVICE, "the CUDA driver fails: %s returns %s (%d)", call, name, code);
}

static int load_library(struct cu_driver *driver, struct npl_err *err)
{
	char why[200] = "";
	for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !driver->library; i++) {
		driver->library = driver->loader->open(sonames[i]);
		const char *reason = driver->library ? NULL : driver->loader->why();
		if (reason && !*why) /* of the usual name: the other place seldom exists */
			snprintf(why, sizeof why, "%s", reason);
	}
	if (!driver->library)
		return npl_fail(err, NPL_EDEVICE, "no driver: libcuda.so.1 cannot be loaded (%s)", why);
	return 0;
}

static int find_symbols(struct cu_driver *driver, struct npl_err *err)
{
	const struct {
		const char *name;
		void *pointer; /* to the function pointer */
	} symbols[] = {
		{"cuInit", &driver->init},
		{"cuDeviceGetCount", &driver->device_count},
		{"cuDeviceGet", &driver->device_get},
		{"cuDeviceGetName", &driver->device_name},
		{"cuDeviceGetAttribute", &driver->device_attribute},
		{"cuGetErrorName", &driver->error_name},
		{"cuModuleLoadData", &driver->module_load},
		{"cuModuleUnload", &driver->module_unload},
		{"cuModuleGetFunction", &driver->module_function},
		{"cuLaunchKernel", &driver->launch},
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = driver->loader->symbol(driver->library, symbols[i].name);
		if (!symbol)
			return npl_fail(err, NPL_EDEVICE,
					"the CUDA driver is too old or damaged: libcuda.so.1 has no %s",
					symbols[i].name);
		memcpy(symbols[i].pointer, &symbol, sizeof symbol);
	}
	return 0;
}

int cu_driver_open(const struct cu_loader *loader, struct cu_driver *driver, struct npl_err *err)
{
	*driver = (struct cu_driver){.loader = loader};
	int failed = load_library(driver, err);
	if (!failed)
		failed = find_symbols(driver, err);
	int code = failed ? 0 : driver->init(0);
	if (code == CUDA_ERROR_NO_DEVICE)
		failed = npl_fail(err, NPL_EDEVICE, "driver present but no GPU: cuInit finds no device");
	else if (code == CUDA_ERROR_STUB_LIBRARY)
		failed = npl_fail(err, NPL_EDEVICE, "no driver: libcuda.so.1 is the toolkit's stub, for linking only");
	else if (code)
		failed = cu_driver_failed(driver, "cuInit", code, err);
	if (failed)
		cu_driver_close(driver);
	return failed;
}

void cu_driver_close(struct cu_driver *driver)
{
	if (driver->library)
		driver->loader->close(driver->library);
	*driver = (struct cu_driver){0};
}

int cu_gpu_find(const struct cu_driver *driver, int ordinal, struct cu_gpu *gpu, struct npl_err *err)
{
	int count = 0, device = 0, code;
	*gpu = (struct cu_gpu){0};
	if ((code = driver->device_count(&count)))
		return cu_driver_failed(driver, "cuDeviceGetCount", code, err);
	if (count < 1)
		return npl_fail(err, NPL_EDEVICE, "driver present but no GPU: cuDeviceGetCount counts %d", count);
	if (ordinal >= count)
		return npl_fail(err, NPL_EDEVICE, "there is no GPU %d: the driver counts %d, from 0", ordinal, count);
	if ((code = driver->device_get(&device, ordinal)))
		return cu_driver_failed(driver, "cuDeviceGet", code, err);
	if ((code = driver->device_name(gpu->name, sizeof gpu->name, device)))
		return cu_driver_failed(driver, "cuDeviceGetName", code, err);
	if ((code = driver->device_attribute(&gpu->major, COMPUTE_CAPABILITY_MAJOR, device)) ||
	    (code = driver->device_attribute(&gpu->minor, COMPUTE_CAPABILITY_MINOR, device)))
		return cu_driver_failed(driver, "cuDeviceGetAttribute", code, err);
	return 0;
}
