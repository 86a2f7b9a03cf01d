/* SPDX-License-Identifier: MIT
 *
 * Facts of the cuda device: the GPU and libraries found for `npulab devices --verbose`, its power for energy, and its
 * memory's speed for the roofline. */
#include <math.h>
#include <stdio.h>

#include "backends/cuda/load/nvml.h"
#include "cuda.h"

#define COPIES 10

void cu_bus_of(const struct cu_device *d, char text[32])
{
	snprintf(text, 32, "%04x:%02x:%02x.0", (unsigned)d->gpu.pci_domain, (unsigned)d->gpu.pci_bus,
		 (unsigned)d->gpu.pci_device);
}

int cu_open_meter(void *state, struct npl_energy_meter *meter, struct npl_err *err)
{
	const struct cu_device *d = state;
	char bus[32];
	cu_bus_of(d, bus);
	return cu_nvml_open_meter(d->driver.library.loader, bus, meter, err);
}

void cu_assume_power(const void *state, struct npl_assumed_power *power)
{
	const struct cu_device *d = state;
	npl_assume_board(d->gpu.name, d->config->tdp_watts, power);
}

static int library_facts(const struct cu_device *d, struct npl_facts *facts, struct npl_err *err)
{
	const size_t blas = d->blas.version();
	char target[24];
	double seconds;
	int kernels = cu_kernels_count(d->kernels, &seconds);
	if (npl_fact(facts, err, "driver", "for CUDA %d.%d", d->driver.version_number / 1000,
		     d->driver.version_number % 1000 / 10) ||
	    npl_fact(facts, err, "products", "cuBLASLt %zu.%zu.%zu, %s", blas / 10000, blas / 100 % 100, blas % 100,
		     d->blas.library.path) ||
	    npl_fact(facts, err, "kernels", "compiled for %s by NVRTC %d.%d, %s; %d so far, in %.2g s",
		     cu_nvrtc_target(&d->nvrtc, d->gpu.major * 10 + d->gpu.minor, target), d->nvrtc.major,
		     d->nvrtc.minor, d->nvrtc.library.path, kernels, seconds))
		return err->code;
	if (!d->dnn.handle)
		return npl_fact(facts, err, "convolutions", "as products of patches, without cuDNN: %s",
				d->dnn_failure);
	const size_t dnn = d->dnn.version();
	return npl_fact(facts, err, "convolutions", "cuDNN %zu.%zu.%zu, %s", dnn / 10000, dnn / 100 % 100, dnn % 100,
			d->dnn.library.path);
}

int cu_facts(void *state, struct npl_facts *facts, struct npl_err *err)
{
	const struct cu_device *d = state;
	struct npl_assumed_power power;
	char bus[32];
	cu_bus_of(d, bus);
	cu_assume_power(d, &power);
	if (npl_fact(facts, err, "gpu", "%s, number %d, at PCI bus %s", d->gpu.name, d->gpu.ordinal, bus) ||
	    npl_fact(facts, err, "compute_capability", "%d.%d", d->gpu.major, d->gpu.minor) ||
	    npl_fact(facts, err, "multiprocessors", "%d", d->gpu.multiprocessors) ||
	    npl_fact(facts, err, "gpu_memory", "%.1f GiB", (double)d->gpu.memory_bytes / 0x1p30) ||
	    library_facts(d, facts, err) || cu_nvml_facts(d->driver.library.loader, bus, facts, err))
		return err->code;
	if (power.watts > 0)
		return npl_fact(facts, err, "assumed_power", "%.3g W: %s", power.watts, power.note);
	return npl_fact(facts, err, "assumed_power", "none: %s", power.note);
}

/* Copies one part of the GPU's memory to another several times and returns the shortest time between events. */
static int time_copies(struct cu_device *d, size_t bytes, void *const event[2], double *best, struct npl_err *err)
{
	const uint64_t from = d->values.address, to = from + bytes;
	float milliseconds = 0;
	*best = INFINITY;
	for (int run = 0; run <= COPIES; run++) { /* run 0 wakes the memory up and is not counted */
		if (cu_try(&d->driver, err, cuEventRecord, event_record, (event[0], d->stream)) ||
		    cu_try(&d->driver, err, cuMemcpyDtoDAsync, copy, (to, from, bytes, d->stream)) ||
		    cu_try(&d->driver, err, cuEventRecord, event_record, (event[1], d->stream)) ||
		    cu_try(&d->driver, err, cuStreamSynchronize, stream_wait, (d->stream)) ||
		    cu_try(&d->driver, err, cuEventElapsedTime, event_elapsed, (&milliseconds, event[0], event[1])))
			return err->code;
		if (run && milliseconds > 0 && (double)milliseconds * 1e-3 < *best)
			*best = (double)milliseconds * 1e-3;
	}
	return isfinite(*best) ? 0 : npl_fail(err, NPL_EDEVICE, "the driver says that a copy takes no time");
}

int cu_measure_memory(void *state, struct npl_memory_rate *rate, struct npl_err *err)
{
	struct cu_device *d = state;
	const size_t limit = (size_t)1 << 30, share = d->gpu.memory_bytes / 8 / 256 * 256,
		     bytes = share < limit ? share : limit;
	void *event[2] = {NULL, NULL};
	double best = 0;
	int rc = cu_device_enter(d, err);
	if (!rc)
		rc = cu_block_reserve(&d->driver, 2 * bytes, "two arrays to copy", &d->values, err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = cu_try(&d->driver, err, cuEventCreate, event_create, (&event[i], 0));
	if (!rc)
		rc = time_copies(d, bytes, event, &best, err);
	for (int i = 0; i < 2; i++)
		if (event[i])
			d->driver.event_destroy(event[i]);
	if (rc)
		return rc;
	rate->bytes_per_second = 2.0 * (double)bytes / best;
	snprintf(rate->explanation, sizeof rate->explanation,
		 "a copy of %zu MiB within the GPU's memory, best of %d; 2 bytes for each: one read, one written",
		 bytes >> 20, COPIES);
	return 0;
}
