/* SPDX-License-Identifier: MIT
 *
 * Tests of the cuda device on the fake libraries (fake.h): they begin with all of them fresh, and what is done leaves
 * nothing behind.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_FAKE_DEVICE_H
#define NPULAB_TESTS_KIT_CUDA_FAKE_DEVICE_H

#include <criterion/criterion.h>

#include "backends/cuda/layer_group/cuda.h"
#include "fake.h"

static inline void cuda_fake_open(void)
{
	cu_fake_reset();
	cu_loader = &cu_fake_loader;
}

static inline void cuda_fake_check(const char *label)
{
	cr_assert_null(cu_fake_leaks(), "%s: %s are left", label, cu_fake_leaks());
	cr_assert_eq(cu_fake.violations, 0, "%s: %s", label, cu_fake.violation);
	cr_assert_eq(cu_fake.opened, cu_fake.closed, "%s", label);
}

/* As the end of a test. */
static inline void cuda_fake_close(void)
{
	cuda_fake_check("the test");
}

/* A GPU with these settings, of which the precision is changed. */
static inline struct cu_device *cuda_fake_gpu(struct cu_config *config, enum cu_precision precision)
{
	struct npl_err err = {0};
	struct cu_device *device;
	config->precision = (int)precision;
	cr_assert_eq(cu_open(&cu_fake_loader, config, &device, &err), 0, "%s", err.msg);
	return device;
}

#endif
