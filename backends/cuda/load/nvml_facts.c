/* SPDX-License-Identifier: MIT
 *
 * NVML's facts about a GPU for the device list: its clocks, and the counter by which energy is measured. */
#include "nvml.h"

#include "npulab/tdp.h"

static int clock_fact(const struct cu_nvml *nvml, int type, const char *key, struct npl_facts *facts,
		      struct npl_err *err)
{
	unsigned current_mhz, max_mhz;
	if (!nvml->clock || nvml->clock(nvml->gpu, type, &current_mhz))
		return 0;
	if (!nvml->max_clock || nvml->max_clock(nvml->gpu, type, &max_mhz))
		return npl_fact(facts, err, key, "%u MHz now", current_mhz);
	return npl_fact(facts, err, key, "%u MHz now, %u MHz at most", current_mhz, max_mhz);
}

static int energy_fact(const struct cu_loader *loader, const char *bus_id, struct npl_facts *facts, struct npl_err *err)
{
	struct npl_energy_meter meter;
	struct npl_err failure = {0};
	if (cu_nvml_open_meter(loader, bus_id, &meter, &failure))
		return npl_fact(facts, err, "energy", "not measured: %s", failure.msg);
	int rc = npl_fact(facts, err, "energy", "measured by %s", meter.source);
	npl_energy_meter_close(&meter);
	return rc;
}

int cu_nvml_facts(const struct cu_loader *loader, const char *bus_id, struct npl_facts *facts, struct npl_err *err)
{
	struct cu_nvml nvml;
	struct cu_nvml_memory memory;
	struct npl_err failure = {0};
	char version[CU_NVML_VERSION_CHARS] = "";
	unsigned value;
	if (cu_nvml_open(loader, bus_id, &nvml, &failure))
		return npl_fact(facts, err, "energy", "not measured: %s", failure.msg);
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
