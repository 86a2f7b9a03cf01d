/* SPDX-License-Identifier: MIT
 *
 * Loads NVML and finds the GPU (nvml.h). The library comes with the kernel's driver; container hosts mount it in a
 * folder where the dynamic linker may not look. */
#include "nvml.h"

#include <stdio.h>
#include <string.h>

static const char *const sonames[] = {"libnvidia-ml.so.1", "libnvidia-ml.so",
				      "/usr/local/nvidia/lib64/libnvidia-ml.so.1"};

static int load_library(struct cu_nvml *nvml, struct npl_err *err)
{
	char reason[200] = "";
	for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !nvml->library; i++) {
		nvml->library = nvml->loader->open(sonames[i]);
		const char *message = nvml->library ? NULL : nvml->loader->last_error();
		if (message && !*reason) /* the reason for the first name */
			snprintf(reason, sizeof reason, "%s", message);
	}
	if (!nvml->library)
		return npl_fail(err, NPL_EDEVICE, "NVML cannot be loaded (%s)", reason);
	return 0;
}

static int find_symbols(struct cu_nvml *nvml, struct npl_err *err)
{
	const struct {
		const char *name;
		void *pointer; /* address of the function pointer */
		bool required;
	} symbols[] = {
		{"nvmlInit_v2", &nvml->init, true},
		{"nvmlShutdown", &nvml->shutdown, true},
		{"nvmlErrorString", &nvml->error_string, true},
		{"nvmlDeviceGetHandleByPciBusId_v2", &nvml->by_bus_id, true},
		{"nvmlDeviceGetTotalEnergyConsumption", &nvml->energy, false},
		{"nvmlDeviceGetPowerUsage", &nvml->power, false},
		{"nvmlDeviceGetFieldValues", &nvml->fields, false},
		{"nvmlSystemGetDriverVersion", &nvml->driver_version, false},
		{"nvmlDeviceGetClockInfo", &nvml->clock, false},
		{"nvmlDeviceGetMaxClockInfo", &nvml->max_clock, false},
		{"nvmlDeviceGetMemoryInfo", &nvml->memory, false},
		{"nvmlDeviceGetTemperature", &nvml->temperature, false},
		{"nvmlDeviceGetEnforcedPowerLimit", &nvml->power_limit, false},
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = nvml->loader->symbol(nvml->library, symbols[i].name);
		if (!symbol && symbols[i].required)
			return npl_fail(err, NPL_EDEVICE, "NVML is too old or damaged: it has no %s", symbols[i].name);
		memcpy(symbols[i].pointer, &symbol, sizeof symbol);
	}
	return 0;
}

static int call_failed(const struct cu_nvml *nvml, const char *call, int code, struct npl_err *err)
{
	const char *text = nvml->error_string(code);
	return npl_fail(err, NPL_EDEVICE, "%s says: %s (%d)", call, text ? text : "an unknown error", code);
}

int cu_nvml_open(const struct cu_loader *loader, const char *bus_id, struct cu_nvml *nvml, struct npl_err *err)
{
	*nvml = (struct cu_nvml){.loader = loader};
	int rc = load_library(nvml, err), code;
	if (!rc)
		rc = find_symbols(nvml, err);
	if (!rc && (code = nvml->init())) {
		rc = call_failed(nvml, "nvmlInit_v2", code, err);
	} else if (!rc && (code = nvml->by_bus_id(bus_id, &nvml->gpu))) {
		rc = call_failed(nvml, "nvmlDeviceGetHandleByPciBusId_v2", code, err);
		nvml->shutdown();
	}
	if (rc && nvml->library)
		loader->close(nvml->library);
	if (rc)
		*nvml = (struct cu_nvml){0};
	return rc;
}

void cu_nvml_close(struct cu_nvml *nvml)
{
	if (nvml->library) {
		nvml->shutdown();
		nvml->loader->close(nvml->library);
	}
	*nvml = (struct cu_nvml){0};
}
