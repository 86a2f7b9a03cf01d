/* SPDX-License-Identifier: MIT
 *
 * The energy of an NVIDIA GPU's board, and facts about the board, from NVIDIA's management library (NVML), which is
 * loaded when first needed. Declarations are our own; names, types and numbers are those of nvml.h.
 *
 * There are two methods; the first that the board supports is used:
 *   measured:nvml-energy           the counter of millijoules since the driver was loaded (Volta and newer). It
 *                                  steps every 20 to 100 ms, so a thread polls it and what is counted lies between two
 *                                  steps: both ends are known within the time of a poll.
 *   measured:nvml-power-integral   the power, polled and integrated by trapezoids; the instantaneous one where the
 *                                  driver has it, else one that many boards average over a second.
 * Both count the whole board: the GPU, its memory and other programs that run on it. No clock or limit is ever set.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_NVML_H
#define NPULAB_BACKENDS_CUDA_LOAD_NVML_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver_api.h"
#include "npulab/energy_meter.h"
#include "npulab/facts.h"

enum { CU_NVML_NOT_SUPPORTED = 3 };                      /* nvmlReturn_t; 0 is success */
enum { CU_NVML_POWER_INSTANT = 186 };                    /* NVML_FI_DEV_POWER_INSTANT */
enum { CU_NVML_CLOCK_SM = 1, CU_NVML_CLOCK_MEMORY = 2 }; /* nvmlClockType_t */
enum { CU_NVML_VALUE_UNSIGNED = 1 };                     /* nvmlValueType_t: value.uiVal */
enum { CU_NVML_TEMPERATURE_GPU = 0, CU_NVML_VERSION_CHARS = 80 };

struct cu_nvml_field { /* nvmlFieldValue_t */
	unsigned id, scope;
	long long timestamp, latency_us;
	unsigned type;
	int code;
	union {
		double number;
		unsigned small;
		unsigned long long large;
	} value;
};

struct cu_nvml_memory { /* nvmlMemory_t, in bytes */
	unsigned long long total, free, used;
};

struct cu_nvml {
	const struct cu_loader *loader;
	void *library;
	void *gpu; /* the nvmlDevice_t with the bus id */
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_string)(int code);
	int (*by_bus_id)(const char *bus_id, void **gpu);
	/* The functions from here on are NULL if this driver lacks them. */
	int (*energy)(void *gpu, unsigned long long *mj);
	int (*power)(void *gpu, unsigned *mw);
	int (*fields)(void *gpu, int n, struct cu_nvml_field *fields);
	int (*driver_version)(char *text, unsigned n);
	int (*clock)(void *gpu, int type, unsigned *mhz);
	int (*max_clock)(void *gpu, int type, unsigned *mhz);
	int (*memory)(void *gpu, struct cu_nvml_memory *memory);
	int (*temperature)(void *gpu, int sensor, unsigned *celsius);
	int (*power_limit)(void *gpu, unsigned *mw);
};

/* Loads NVML, initialises it and finds the GPU at a PCI address ("0000:65:00.0", as cuDeviceGetPCIBusId gives it,
 * because the two libraries number GPUs differently). NPL_EDEVICE with the reason. */
int cu_nvml_open(const struct cu_loader *loader, const char *bus_id, struct cu_nvml *nvml, struct npl_err *err);
void cu_nvml_close(struct cu_nvml *nvml); /* accepts a zeroed one */

/* The state of a struct npl_energy_meter. */
struct cu_nvml_meter {
	struct cu_nvml nvml;
	bool has_counter, instant; /* instant: the power is read from the field of that name */
	double shortest_seconds, poll_seconds;
	pthread_t thread;
	bool running;
	atomic_bool stop;
	double start_seconds;
	/* The members from here on are the thread's until it is joined. */
	int code;           /* the error code of the first failed call, else 0 */
	int samples, steps; /* number of polls; number of polls that found a changed count */
	unsigned long long count, first_mj, last_mj;
	double first_seconds, last_seconds; /* times of the first and last step, or poll of the power */
	double joules, watts;
};

/* Opens a meter. NPL_EDEVICE with the reason: no library, no such GPU, or neither the counter nor the power. */
int cu_nvml_open_meter(const struct cu_loader *loader, const char *bus_id, struct npl_energy_meter *meter,
		       struct npl_err *err);

/* Adds facts: driver, clocks, memory, temperature, power limit and energy method, or why the library gives none. */
int cu_nvml_facts(const struct cu_loader *loader, const char *bus_id, struct npl_facts *facts, struct npl_err *err);

#endif
