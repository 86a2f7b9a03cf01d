/* SPDX-License-Identifier: MIT
 *
 * The cpu device on one thread and on two, and random tensors for its layers. */
#ifndef NPULAB_TESTS_KIT_CPU_DEVICES_H
#define NPULAB_TESTS_KIT_CPU_DEVICES_H

#include <criterion/criterion.h>

#include "backends/cpu/cpu.h"
#include "npulab/driver.h"
#include "support.h"

extern const struct npl_driver npl_driver_cpu, npl_driver_reference;

static void *cpu[3]; /* by threads */
static uint64_t rng, seed;

static inline void open_devices(void)
{
	struct npl_err err = {0};
	for (int64_t threads = 1; threads <= 2; threads++)
		if (npl_driver_cpu.open(&(struct cpu_config){.threads = threads}, &cpu[threads], &err))
			cr_skip("%s", err.msg);
}

static inline void close_devices(void)
{
	npl_driver_cpu.close(cpu[1]);
	npl_driver_cpu.close(cpu[2]);
}

static inline void start(uint64_t value)
{
	rng = seed = value;
}

static inline int64_t pick(int64_t low, int64_t high)
{
	return test_range(&rng, low, high);
}

static inline struct npl_tensor random_tensor(struct npl_shape shape)
{
	struct npl_tensor tensor = {.dtype = NPL_F32, .shape = shape};
	struct npl_err err;
	cr_assert_eq(npl_tensor_alloc(&tensor, &err), 0, "%s", err.msg);
	float *data = tensor.data;
	for (int64_t i = 0; i < npl_tensor_count(&tensor); i++)
		data[i] = (float)pick(-1000, 1000) / 500;
	return tensor;
}

#endif
