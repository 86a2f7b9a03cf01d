/* SPDX-License-Identifier: MIT
 *
 * Promises of the cuda device when something is not there: it says which part (the driver, a library, a symbol, the
 * GPU, the ordinal, a precision), closes what it opened, and looks nowhere until it is asked. Libraries are fakes
 * behind struct cu_loader. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/layer_group/cuda.h"
#include "npulab/driver.h"
#include "tests/kit/cuda/fake.h"

extern const struct npl_driver npl_driver_cuda;

static struct cu_config config = {.patch_mib = 1};

static void refused(const char *reason)
{
	struct npl_err err = {0};
	struct cu_device *device = (void *)&err;
	int code = cu_open(&cu_fake_loader, &config, &device, &err);
	cr_assert_eq(code, NPL_EDEVICE, "'%s' gives %d", reason, code);
	cr_assert_eq(err.code, NPL_EDEVICE);
	cr_assert(strstr(err.msg, reason), "expected '%s' in '%s'", reason, err.msg);
	cr_assert_null(device);
	cr_assert_eq(cu_fake.opened, cu_fake.closed, "%ld opened, %ld closed", cu_fake.opened, cu_fake.closed);
	cr_assert_null(cu_fake_leaks(), "%s", cu_fake_leaks());
	cr_assert_eq(cu_fake.violations, 0, "%s", cu_fake.violation);
}

static void opens(void)
{
	struct npl_err err = {0};
	struct cu_device *device;
	cr_assert_eq(cu_open(&cu_fake_loader, &config, &device, &err), 0, "%s", err.msg);
	cu_close(device);
	cr_assert_eq(cu_fake.opened, cu_fake.closed);
	cr_assert_null(cu_fake_leaks(), "%s", cu_fake_leaks());
	cr_assert_eq(cu_fake.violations, 0, "%s", cu_fake.violation);
}

Test(cuda_driver, says_what_is_missing)
{
	cu_fake_reset();
	cu_fake.missing[CU_FAKE_DRIVER] = true;
	refused("no driver: libcuda.so.1 cannot be loaded (not in this test)");
	cu_fake_reset();
	cu_fake.gpus = 0;
	refused("driver present but no GPU: cuDeviceGetCount counts 0");
	cu_fake_reset();
	opens();
	config.device = 1;
	refused("there is no GPU 1: the driver counts 1, from 0");
	cu_fake.gpus = 2;
	opens();
	config.device = 0;
	cu_fake_reset();
	cu_fake.missing[CU_FAKE_BLAS] = true;
	refused("no cuBLASLt for its driver, which runs CUDA 13.0: libcublasLt.so.13 cannot be loaded");
	cu_fake_reset();
	cu_fake.missing[CU_FAKE_NVRTC] = true;
	refused("no NVRTC");
	cu_fake_reset();
	cu_fake.missing[CU_FAKE_DNN] = true;
	opens();
}

/* A driver of CUDA 12 cannot run libraries of CUDA 13, so it is not asked to. */
Test(cuda_driver, libraries_are_no_newer_than_the_driver)
{
	cu_fake_reset();
	cu_fake.driver_version = 12040;
	cu_fake.missing[CU_FAKE_BLAS] = true;
	refused("which runs CUDA 12.4: libcublasLt.so.12 cannot be loaded");
}

Test(cuda_driver, says_what_cuinit_means)
{
	cu_fake_reset();
	cu_fake.fail_at = 1;
	cu_fake.fail_code = 100;
	refused("driver present but no GPU: cuInit finds no device");
	cu_fake.calls = 0;
	cu_fake.fail_code = 34;
	refused("no driver: libcuda.so.1 is the toolkit's stub");
	cu_fake.calls = 0;
	cu_fake.fail_code = 12345;
	refused("cuInit returns an unknown error (12345)");
}

Test(cuda_driver, every_call_may_fail)
{
	cu_fake_reset();
	opens();
	const long calls = cu_fake.calls;
	cr_assert_gt(calls, 15);
	for (long k = 1; k <= calls; k++) {
		cu_fake_reset();
		cu_fake.fail_at = k;
		struct npl_err err = {0};
		struct cu_device *device;
		int code = cu_open(&cu_fake_loader, &config, &device, &err);
		if (!strncmp(cu_fake.failed_call, "cudnn", 5)) { /* without cuDNN convolutions go another way */
			cr_assert_eq(code, 0, "%s: %s", cu_fake.failed_call, err.msg);
			cr_assert(strstr(device->dnn_failure, cu_fake.failed_call), "%s", device->dnn_failure);
			cu_close(device);
		} else if (code) {
			cr_assert_eq(code, NPL_EDEVICE);
			cr_assert(strstr(err.msg, cu_fake.failed_call), "%s: %s", cu_fake.failed_call, err.msg);
		} else { /* it was a call that closes */
			cu_close(device);
		}
		cr_assert_eq(cu_fake.opened, cu_fake.closed);
		cr_assert_null(cu_fake_leaks(), "call %ld, %s: %s", k, cu_fake.failed_call, cu_fake_leaks());
		cr_assert_eq(cu_fake.violations, 0, "%s", cu_fake.violation);
	}
}

Test(cuda_driver, every_symbol_may_be_missing)
{
	static const char *const symbols[] = {
#define CU_CALL(member, symbol, parameters) #symbol,
#include "backends/cuda/load/driver_api.def"
#undef CU_CALL
#define CU_CALL(result, member, symbol, parameters) #symbol,
#include "backends/cuda/load/blas_api.def"
	};
	static const char *const optional[] = {
#include "backends/cuda/load/dnn_api.def"
#undef CU_CALL
	};
	char reason[80];
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		cu_fake_reset();
		cu_fake.missing_symbol = symbols[i];
		snprintf(reason, sizeof reason, " has no %s", symbols[i]);
		refused(reason);
	}
	for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
		cu_fake_reset();
		cu_fake.missing_symbol = optional[i];
		opens();
	}
}

Test(cuda_driver, precisions_need_a_gpu_that_has_them)
{
	static const struct {
		int precision, major, minor;
		const char *reason;
	} cases[] = {{CU_INT8, 7, 0, "precision=int8 needs 7.5"},
		     {CU_TF32, 7, 5, "precision=tf32 needs 8.0"},
		     {CU_BF16, 7, 5, "precision=bf16 needs 8.0"},
		     {CU_F16, 5, 2, "precision=f16 needs 5.3"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cu_fake_reset();
		config.precision = cases[i].precision;
		opens();
		cu_fake.major = cases[i].major;
		cu_fake.minor = cases[i].minor;
		refused(cases[i].reason);
	}
}

/* Whatever this machine has: the device opens, or gives one of the reasons above. */
Test(cuda_driver, real_driver_opens_or_gives_a_reason)
{
	struct npl_err err = {0};
	void *state = &err;
	if (!npl_driver_cuda.open(&config, &state, &err)) {
		npl_driver_cuda.close(state);
		return;
	}
	cr_assert_eq(err.code, NPL_EDEVICE);
	cr_assert_null(state);
	cr_assert(strstr(err.msg, "driver") || strstr(err.msg, "GPU") || strstr(err.msg, "NVRTC"), "%s", err.msg);
	cr_assert_str_eq(npl_driver_cuda.name, "cuda");
}

/* Nothing is loaded until somebody asks. */
Test(cuda_driver, nothing_is_opened_before_it_is_asked_for)
{
	cu_fake_reset();
	cu_loader = &cu_fake_loader;
	struct npl_device *device;
	struct npl_err err = {0};
	const struct npl_device_options options = {0};
	cr_assert_eq(npl_device_open("reference", &options, &device, &err), 0, "%s", err.msg);
	npl_device_close(device);
	cr_assert_eq(cu_fake.opened, 0);
	cr_assert_eq(npl_device_open("cuda", &options, &device, &err), 0, "%s", err.msg);
	cr_assert_eq(cu_fake.opened, 4);
	cr_assert(strstr(npl_device_get_info(device)->detail, "Fake GPU 0, compute capability 9.0, 1.0 GiB"), "%s",
		  npl_device_get_info(device)->detail);
	npl_device_close(device);
	cr_assert_eq(cu_fake.closed, 4);
	cr_assert_null(cu_fake_leaks(), "%s", cu_fake_leaks());
}
