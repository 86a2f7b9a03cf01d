/* SPDX-License-Identifier: MIT
 *
 * Loading NVML and asking it (nvml.h). The library comes with the kernel's driver; container hosts mount it where the
 * dynamic linker may not look. */
#include "nvml.h"

#include <stdio.h>
#include <string.h>

static const char *const sonames[] = {"libnvidia-ml.so.1", "libnvidia-ml.so",
				      "/usr/local/nvidia/lib64/libnvidia-ml.so.1"};

static int load_library(struct cu_nvml *nvml, struct npl_err *err)
{
	char why[200] = "";
	for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !nvml->library; i++) {
		nvml->library = nvml->loader->open(sonames[i]);
		const char *reason = nvml->library ? NULL : nvml->loader->why();
		if (reason && !*why) /* of the usual name */
			snprintf(why, sizeof why, "%s", reason);
	}
	if (!nvml->library)
		return npl_fail(err, NPL_EDEVICE, "NVML cannot be loaded (%s)", why);
	return 0;
}

static int find_symbols(struct cu_nvml *nvml, struct npl_err *err)
{
	const struct {
		const char *name;
		void *pointer; /* to the function pointer */
		bool needed;
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
		if (!symbol && symbols[i].needed)
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

static int clock_fact(const struct cu_nvml *nvml, int type, const char *key, struct npl_facts *facts,
		      struct npl_err *err)
{
	unsigned now, most;
	if (!nvml->clock || nvml->clock(nvml->gpu, type, &now))
		return 0;
	if (!nvml->max_clock || nvml->max_clock(nvml->gpu, type, &most))
		return npl_fact(facts, err, key, "%u MHz now", now);
	return npl_fact(facts, err, key, "%u MHz now, %u MHz at most", now, most);
}

static int energy_fact(const struct cu_loader *loader, const char *bus_id, struct npl_facts *facts, struct npl_err *err)
{
	struct npl_energy_meter meter;
	struct npl_err why = {0};
	if (cu_nvml_open_meter(loader, bus_id, &meter, &why))
		return npl_fact(facts, err, "energy", "not measured: %s", why.msg);
	int rc = npl_fact(facts, err, "energy", "measured by %s", meter.source);
	npl_energy_meter_close(&meter);
	return rc;
}

int cu_nvml_facts(const struct cu_loader *loader, const char *bus_id, struct npl_facts *facts, struct npl_err *err)
{
	struct cu_nvml nvml;
	struct cu_nvml_memory memory;
	struct npl_err why = {0};
	char version[CU_NVML_VERSION_CHARS] = "";
	unsigned value;
	if (cu_nvml_open(loader, bus_id, &nvml, &why))
		return npl_fact(facts, err, "energy", "not measured: %s", why.msg);
	int rc = 0;
	if (nvml.driver_version && !nvml.driver_version(version, sizeof version))
		rc = npl_fact(facts, err, "driver_version", "%s", version);
	if (!rc)
		rc = clock_fact(&nvml, CU_NVML_CLOCK_SM, "clock", facts, err);
	if (!rc)
		rc = clock_fact(&nvml, CU_NVML_CLOCK_MEMORY, "memory_clock", facts, err);
	if (!rc && nvml.memory && !nvml.memory(nvml.gpu, &memory))
		rc = npl_fact(facts, err, "memory", "%.1f GiB, %.1f GiB free", (double)memory.total / 0x1p30,
			      (double)memory.free / 0x1p30);
	if (!rc && nvml.temperature && !nvml.temperature(nvml.gpu, CU_NVML_TEMPERATURE_GPU, &value))
		rc = npl_fact(facts, err, "temperature", "%u C", value);
	if (!rc && nvml.power_limit && !nvml.power_limit(nvml.gpu, &value))
		rc = npl_fact(facts, err, "power_limit", "%.0f W", 1e-3 * value);
	cu_nvml_close(&nvml);
	return rc ? rc : energy_fact(loader, bus_id, facts, err);
}
