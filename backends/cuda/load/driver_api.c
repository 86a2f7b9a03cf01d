/* SPDX-License-Identifier: MIT
 *
 * Loads the CUDA driver and asks it for its GPUs (driver_api.h). */
#include "driver_api.h"

#include <stdio.h>
#include <string.h>

int cu_driver_failed(const struct cu_driver *driver, const char *call, int code, struct npl_err *err)
{
	const char *name = NULL;
	if (driver->error_name(code, &name) || !name)
		name = "an unknown error";
	return npl_fail(err, NPL_EDEVICE, "the CUDA driver fails: %s returns %s (%d)", call, name, code);
}

static int load(const struct cu_loader *loader, struct cu_driver *driver, struct npl_err *err)
{
	static const char *const names[] = {"libcuda.so.1", NULL};
	const struct cu_symbol symbols[] = {
#define CU_CALL(member, symbol, parameters) {#symbol, &driver->member},
#include "driver_api.def"
#undef CU_CALL
	};
	char reason[200];
	if (cu_library_open(loader, names, &driver->library, reason, sizeof reason))
		return npl_fail(err, NPL_EDEVICE, "no driver: libcuda.so.1 cannot be loaded (%s)", reason);
	const char *missing = cu_library_symbols(&driver->library, symbols, sizeof symbols / sizeof *symbols);
	if (missing)
		return npl_fail(err, NPL_EDEVICE, "the CUDA driver is too old or damaged: libcuda.so.1 has no %s",
				missing);
	return 0;
}

static int start(struct cu_driver *driver, struct npl_err *err)
{
	int code = driver->init(0);
	if (code == CU_ERROR_NO_DEVICE)
		return npl_fail(err, NPL_EDEVICE, "driver present but no GPU: cuInit finds no device");
	if (code == CU_ERROR_STUB_LIBRARY)
		return npl_fail(err, NPL_EDEVICE, "no driver: libcuda.so.1 is the toolkit's stub, for linking only");
	if (code)
		return cu_driver_failed(driver, "cuInit", code, err);
	return cu_try(driver, err, cuDriverGetVersion, version, (&driver->version_number));
}

int cu_driver_open(const struct cu_loader *loader, struct cu_driver *driver, struct npl_err *err)
{
	*driver = (struct cu_driver){0};
	int rc = load(loader, driver, err);
	if (!rc)
		rc = start(driver, err);
	if (rc)
		cu_driver_close(driver);
	return rc;
}

void cu_driver_close(struct cu_driver *driver)
{
	cu_library_close(&driver->library);
	*driver = (struct cu_driver){0};
}

static int read_attributes(const struct cu_driver *driver, struct cu_gpu *gpu, struct npl_err *err)
{
	const struct {
		int *value, attribute;
	} attributes[] = {
		{&gpu->major, CU_ATTRIBUTE_MAJOR},
		{&gpu->minor, CU_ATTRIBUTE_MINOR},
		{&gpu->multiprocessors, CU_ATTRIBUTE_MULTIPROCESSORS},
		{&gpu->clock_khz, CU_ATTRIBUTE_CLOCK_KHZ},
		{&gpu->memory_clock_khz, CU_ATTRIBUTE_MEMORY_CLOCK_KHZ},
		{&gpu->memory_bus_bits, CU_ATTRIBUTE_MEMORY_BUS_BITS},
		{&gpu->l2_bytes, CU_ATTRIBUTE_L2_BYTES},
		{&gpu->pci_domain, CU_ATTRIBUTE_PCI_DOMAIN},
		{&gpu->pci_bus, CU_ATTRIBUTE_PCI_BUS},
		{&gpu->pci_device, CU_ATTRIBUTE_PCI_DEVICE},
	};
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (cu_try(driver, err, cuDeviceGetAttribute, device_attribute,
			   (attributes[i].value, attributes[i].attribute, gpu->device)))
			return err->code;
	return 0;
}

int cu_gpu_find(const struct cu_driver *driver, int ordinal, struct cu_gpu *gpu, struct npl_err *err)
{
	int count = 0;
	*gpu = (struct cu_gpu){.ordinal = ordinal};
	if (cu_try(driver, err, cuDeviceGetCount, device_count, (&count)))
		return err->code;
	if (count < 1)
		return npl_fail(err, NPL_EDEVICE, "driver present but no GPU: cuDeviceGetCount counts %d", count);
	if (ordinal >= count)
		return npl_fail(err, NPL_EDEVICE, "there is no GPU %d: the driver counts %d, from 0", ordinal, count);
	if (cu_try(driver, err, cuDeviceGet, device_get, (&gpu->device, ordinal)) ||
	    cu_try(driver, err, cuDeviceGetName, device_name, (gpu->name, sizeof gpu->name, gpu->device)) ||
	    cu_try(driver, err, cuDeviceTotalMem, device_memory, (&gpu->memory_bytes, gpu->device)))
		return err->code;
	gpu->name[sizeof gpu->name - 1] = '\0';
	return read_attributes(driver, gpu, err);
}
