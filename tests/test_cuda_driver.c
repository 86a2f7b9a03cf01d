/* SPDX-License-Identifier: MIT
 *
 * Promises of the cuda device without a GPU: it says which part is missing (the driver, a symbol of it, the GPU, the
 * ordinal), reports the driver's own error when any of its calls fails, always closes what it opened, and loads
 * nothing until asked. The driver is a fake behind struct cu_loader. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cuda/cuda.h"
#include "npulab/device.h"

extern const struct npl_driver npl_driver_cuda;

/* The fake: what it has, which call fails with what, and how it was used. */
static struct {
	bool installed;
	const char *missing_symbol;
	int gpus, fail_at, fail_code;
	int calls, opened, closed;
} fake;

static int next_call(void)
{
	return ++fake.calls == fake.fail_at ? fake.fail_code : 0;
}

static int fake_init(unsigned flags)
{
	cr_assert_eq(flags, 0);
	return next_call();
}

static int fake_count(int *count)
{
	*count = fake.gpus;
	return next_call();
}

static int fake_get(int *device, int ordinal)
{
	*device = 1000 + ordinal;
	return next_call();
}

static int fake_name(char *name, int n, int device)
{
	snprintf(name, (size_t)n, "Fake GPU %d", device - 1000);
	return next_call();
}

static int fake_attribute(int *value, int attribute, int device)
{
	*value = attribute == 75 ? 9 : attribute == 76 ? device - 1000 : -1;
	return next_call();
}

static int fake_error_name(int code, const char **name)
{
	*name = code == 999 ? "CUDA_ERROR_UNKNOWN" : NULL;
	return code == 999 ? 0 : 1;
}

/* Never called at this depth: they need only be there. */
static int fake_unused(void)
{
	cr_assert_fail("a call of a driver that only had to open");
	return 1;
}

static void *fake_open(const char *soname)
{
	if (!fake.installed || strcmp(soname, "libcuda.so.1"))
		return NULL;
	fake.opened++;
	return &fake;
}

static void *fake_symbol(void *library, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
		{"cuInit", (void (*)(void))fake_init},
		{"cuDeviceGetCount", (void (*)(void))fake_count},
		{"cuDeviceGet", (void (*)(void))fake_get},
		{"cuDeviceGetName", (void (*)(void))fake_name},
		{"cuDeviceGetAttribute", (void (*)(void))fake_attribute},
		{"cuGetErrorName", (void (*)(void))fake_error_name},
		{"cuModuleLoadData", (void (*)(void))fake_unused},
		{"cuModuleUnload", (void (*)(void))fake_unused},
		{"cuModuleGetFunction", (void (*)(void))fake_unused},
		{"cuLaunchKernel", (void (*)(void))fake_unused},
	};
	cr_assert_eq(library, &fake);
	if (fake.missing_symbol && !strcmp(fake.missing_symbol, name))
		return NULL;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}

static void fake_close(void *library)
{
	cr_assert_eq(library, &fake);
	fake.closed++;
}

static const char *fake_why(void)
{
	return "libcuda.so.1: not in this test";
}

static const struct cu_loader loader = {.open = fake_open, .symbol = fake_symbol, .close = fake_close, .why = fake_why};

static void expect(int64_t device, const char *reason)
{
	struct npl_err err = {0};
	int code = cu_open(&loader, &(struct cu_config){.device = device}, &err);
	cr_assert_eq(code, NPL_EDEVICE);
	cr_assert_eq(err.code, NPL_EDEVICE);
	cr_assert(strstr(err.msg, reason), "expected '%s' in '%s'", reason, err.msg);
	cr_assert_eq(fake.opened, fake.closed, "%d opened, %d closed", fake.opened, fake.closed);
}

Test(cuda_driver, says_what_is_missing)
{
	expect(0, "no driver: libcuda.so.1 cannot be loaded (libcuda.so.1: not in this test)");
	fake.installed = true;
	expect(0, "driver present but no GPU: cuDeviceGetCount counts 0");
	fake.gpus = 1;
	expect(0, "a GPU (Fake GPU 0, compute capability 9.0) is here, but running layers on it arrives with the CUDA");
	expect(1, "there is no GPU 1: the driver counts 1, from 0");
	fake.gpus = 3;
	expect(2, "a GPU (Fake GPU 2, compute capability 9.2)");
	expect(3, "there is no GPU 3: the driver counts 3, from 0");
}

Test(cuda_driver, says_what_cuinit_means)
{
	fake.installed = true;
	fake.gpus = 1;
	fake.fail_at = 1;
	fake.fail_code = 100;
	expect(0, "driver present but no GPU: cuInit finds no device");
	fake.calls = 0;
	fake.fail_code = 34;
	expect(0, "no driver: libcuda.so.1 is the toolkit's stub");
	fake.calls = 0;
	fake.fail_code = 12345;
	expect(0, "cuInit returns an unknown error (12345)");
}

Test(cuda_driver, every_call_may_fail)
{
	static const char *const calls[] = {"cuInit",          "cuDeviceGetCount",     "cuDeviceGet",
					    "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceGetAttribute"};
	char reason[80];
	fake.installed = true;
	fake.gpus = 1;
	fake.fail_code = 999;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		fake.calls = 0;
		fake.fail_at = (int)i + 1;
		snprintf(reason, sizeof reason, "%s returns CUDA_ERROR_UNKNOWN (999)", calls[i]);
		expect(0, reason);
	}
	fake.calls = 0;
	fake.fail_at = (int)(sizeof calls / sizeof *calls) + 1;
	expect(0, "is here");
	cr_assert_eq(fake.calls, (int)(sizeof calls / sizeof *calls), "a call that this test does not fail");
}

Test(cuda_driver, every_symbol_may_be_missing)
{
	static const char *const symbols[] = {"cuInit",          "cuDeviceGetCount",     "cuDeviceGet",
					      "cuDeviceGetName", "cuDeviceGetAttribute", "cuGetErrorName",
					      "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuLaunchKernel"};
	char reason[80];
	fake.installed = true;
	fake.gpus = 1;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		fake.missing_symbol = symbols[i];
		snprintf(reason, sizeof reason, "libcuda.so.1 has no %s", symbols[i]);
		expect(0, reason);
		cr_assert_eq(fake.calls, 0);
	}
}

/* Whatever this machine has, the real device does not open at this depth, and gives one of the reasons above. */
Test(cuda_driver, real_driver_gives_a_reason)
{
	struct npl_err err = {0};
	void *state = &err;
	cr_assert_eq(npl_driver_cuda.open(&(struct cu_config){0}, &state, &err), NPL_EDEVICE);
	cr_assert_null(state);
	cr_assert(strstr(err.msg, "driver") || strstr(err.msg, "GPU"), "%s", err.msg);
	cr_assert_str_eq(npl_driver_cuda.name, "cuda");
}
