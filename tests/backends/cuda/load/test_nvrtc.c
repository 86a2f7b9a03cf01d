/* SPDX-License-Identifier: MIT
 *
 * Promises of what compiles the GPU's kernels: it says what is missing or wrong, compiles for the GPU that is there or
 * the nearest older one, gives back all that it takes, and keeps what it has compiled. With NVRTC itself, where it is
 * installed, every source compiles for several GPUs. */
#include <stdio.h>

#include "backends/cuda/kernel/job.h"
#include "backends/cuda/layer_group/layer.h"
#include "tests/kit/cuda/fake.h"
#include "tests/kit/cuda/kernel_support.h"

/* Describes a loader of NVRTC with one fault. */
static struct {
	bool absent;
	const char *missing;
	int calls, fail_at; /* counts the calls that give a code */
} fault;

static void *fault_open(const char *name)
{
	return fault.absent ? NULL : native_open(name);
}

static int next_code(void)
{
	return ++fault.calls == fault.fail_at ? 11 : 0;
}

#define FAILING(name, parameters, arguments)                                                                           \
	static int failing_##name parameters                                                                           \
	{                                                                                                              \
		int(*real) parameters;                                                                                 \
		take_symbol(#name, &real);                                                                             \
		int code = next_code();                                                                                \
		return code ? code : real arguments;                                                                   \
	}
FAILING(nvrtcVersion, (int *a, int *b), (a, b))
FAILING(nvrtcGetNumSupportedArchs, (int *n), (n))
FAILING(nvrtcGetSupportedArchs, (int *n_known), (n_known))
FAILING(nvrtcCreateProgram,
	(void **p, const char *s, const char *name, int n, const char *const *h, const char *const *names),
	(p, s, name, n, h, names))
FAILING(nvrtcCompileProgram, (void *p, int n, const char *const *options), (p, n, options))
FAILING(nvrtcGetCUBINSize, (void *p, size_t *n), (p, n))
FAILING(nvrtcGetCUBIN, (void *p, char *image), (p, image))

static void *fault_symbol(void *library, const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} failing[] = {
#define ENTRY(name) {#name, (void (*)(void))failing_##name}
		ENTRY(nvrtcVersion),       ENTRY(nvrtcGetNumSupportedArchs), ENTRY(nvrtcGetSupportedArchs),
		ENTRY(nvrtcCreateProgram), ENTRY(nvrtcCompileProgram),       ENTRY(nvrtcGetCUBINSize),
		ENTRY(nvrtcGetCUBIN),
	};
	if (fault.missing && !strcmp(fault.missing, name))
		return NULL;
	for (size_t i = 0; i < sizeof failing / sizeof *failing; i++)
		if (!strcmp(failing[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &failing[i].function, sizeof pointer);
			return pointer;
		}
	return native_find(library, name);
}

static const struct cu_loader fault_loader = {fault_open, fault_symbol, native_close, native_last_error};

static void open_fails(const char *expected)
{
	struct cu_nvrtc nvrtc;
	struct npl_err err = {0};
	cr_assert_eq(cu_nvrtc_open(&fault_loader, 13000, 90, &nvrtc, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, expected), "'%s', expected '%s'", err.msg, expected);
	cr_assert_null(nvrtc.library.handle);
}

Test(cuda_nvrtc, says_what_is_missing)
{
	static const char *const symbols[] = {
		"nvrtcVersion",           "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs",
		"nvrtcCreateProgram",     "nvrtcDestroyProgram",       "nvrtcCompileProgram",
		"nvrtcGetProgramLogSize", "nvrtcGetProgramLog",        "nvrtcGetCUBINSize",
		"nvrtcGetCUBIN",          "nvrtcGetPTXSize",           "nvrtcGetPTX",
		"nvrtcGetErrorString",
	};
	char expected[80];
	fault.absent = true;
	open_fails("no NVRTC: neither libnvrtc.so.13 nor libnvrtc.so.12 can be loaded (not in this test)");
	fault.absent = false;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		fault.missing = symbols[i];
		snprintf(expected, sizeof expected, "it has no %s", symbols[i]);
		open_fails(expected);
	}
}

/* A layer that needs one kernel: a Relu of four floats. */
static int run_relu(struct cu_kernels *kernels, float *x, float *y, struct npl_err *err)
{
	struct npl_tensor in = {.dtype = NPL_F32, .shape = npl_shape_of(1, 4)}, out = in;
	const struct npl_attrs attrs = {.op = NPL_OP_RELU};
	const struct npl_layer layer = {.op = NPL_OP_RELU, .attrs = &attrs, .n_in = 1, .in = {&in}, .out = &out};
	const struct cu_value from = {address_of(x), NPL_F32, in.shape, false};
	struct cu_value to = {address_of(y), NPL_F32, in.shape, false};
	return cu_kernel_run(kernels, &layer, &from, &to, NULL, err);
}

/* Each call of NVRTC and the driver fails once: an error that names it, nothing kept, and the next try works. */
Test(cuda_nvrtc, every_call_may_fail)
{
	static const char *const calls[] = {
		"nvrtcVersion",        "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs", "nvrtcCreateProgram",
		"nvrtcCompileProgram", "nvrtcGetCUBINSize",         "nvrtcGetCUBIN",
	};
	const int n = sizeof calls / sizeof *calls;
	for (int k = 1; k <= n; k++) {
		struct gpu *gpu = gpu_open();
		struct npl_err err = {0};
		float x[4] = {-1, 2, -3, 4}, y[4] = {0};
		cu_nvrtc_close(&gpu->nvrtc);
		fault.calls = 0;
		fault.fail_at = k;
		memset(&cuda_native_counts, 0, sizeof cuda_native_counts);
		int rc = cu_nvrtc_open(&fault_loader, 13000, 90, &gpu->nvrtc, &err);
		cr_assert_eq(rc, k <= 3 ? NPL_EDEVICE : 0);
		if (!rc)
			rc = run_relu(gpu->kernels, x, y, &err);
		cr_assert_eq(rc, NPL_EDEVICE);
		cr_assert(strstr(err.msg, calls[k - 1]) && strstr(err.msg, "(11)"), "'%s', expected %s", err.msg,
			  calls[k - 1]);
		cr_assert_eq(cu_kernels_count(gpu->kernels, NULL), 0);
		cr_assert_eq(cuda_native_counts.programs, cuda_native_counts.destroyed);
		if (k <= 3)
			cr_assert_eq(cu_nvrtc_open(&fault_loader, 13000, 90, &gpu->nvrtc, &err), 0);
		cr_assert_eq(run_relu(gpu->kernels, x, y, &err), 0, "%s", err.msg);
		cr_assert_eq((int)(y[0] + 10 * y[1] + 100 * y[2] + 1000 * y[3]), 4020);
		gpu_close(gpu);
		cr_assert_eq(cuda_native_counts.programs, cuda_native_counts.destroyed);
		cr_assert_eq(cuda_native_counts.modules, 1);
		cr_assert_eq(cuda_native_counts.unloaded, 1);
	}
	cr_assert_eq(fault.calls, n + 4, "a call that this test does not fail");
}

static int bad_load(void **module, const void *image)
{
	(void)module;
	(void)image;
	return 209;
}

static int bad_function(void **function, void *module, const char *name)
{
	(void)function;
	(void)module;
	(void)name;
	return 500;
}

static int launches_until_failure;
static int fail_launch(void *stream)
{
	(void)stream;
	return launches_until_failure-- == 0 ? 719 : 0;
}

Test(cuda_nvrtc, the_driver_may_fail)
{
	struct gpu *gpu = gpu_open();
	struct cu_driver good = gpu->driver;
	struct npl_err err = {0};
	float x[4] = {-1, 2, -3, 4}, y[4] = {0};
	gpu->driver.version_number = 13000;
	gpu->driver.module_load = bad_load;
	cr_assert_eq(run_relu(gpu->kernels, x, y, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "cuModuleLoadData returns"), "%s", err.msg);
	cr_assert_null(strstr(err.msg, "older NVRTC"), "%s", err.msg);
	gpu->driver.version_number = 12040;
	cr_assert_eq(run_relu(gpu->kernels, x, y, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "NVRTC 13.0 compiles kernels and the driver is for CUDA 12.4"), "%s", err.msg);
	gpu->driver = good;
	gpu->driver.module_function = bad_function;
	cr_assert_eq(run_relu(gpu->kernels, x, y, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "cuModuleGetFunction returns"), "%s", err.msg);
	cr_assert_eq(cuda_native_counts.modules, cuda_native_counts.unloaded);
	gpu->driver = good;
	cuda_native_before_launch = fail_launch;
	cr_assert_eq(run_relu(gpu->kernels, x, y, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "cuLaunchKernel returns"), "%s", err.msg);
	cr_assert_eq(run_relu(gpu->kernels, x, y, &err), 0);
	cr_assert_eq(cu_kernels_count(gpu->kernels, NULL), 1);
	gpu_close(gpu);
	cr_assert_eq(cuda_native_counts.modules, cuda_native_counts.unloaded);
}

Test(cuda_nvrtc, a_kernel_is_compiled_once)
{
	struct gpu *gpu = gpu_open();
	struct npl_err err = {0};
	float x[4] = {-1, 2, -3, 4}, y[4];
	double seconds = -1;
	for (int i = 0; i < 5; i++)
		cr_assert_eq(run_relu(gpu->kernels, x, y, &err), 0);
	cr_assert_eq(cuda_native_counts.programs, 1);
	cr_assert_eq(cuda_native_counts.launches, 5);
	cr_assert_eq(cu_kernels_count(gpu->kernels, &seconds), 1);
	cr_assert_gt(seconds, 0);
	gpu_close(gpu);
}

/* The architectures of the stand-in are 7.5, 8.0 and 9.0. */
Test(cuda_nvrtc, compiles_for_the_gpu_or_the_nearest_older_one)
{
	struct cu_nvrtc nvrtc;
	struct npl_err err = {0};
	char *image;
	size_t bytes;
	cr_assert_eq(cu_nvrtc_open(&native_loader, 13000, 90, &nvrtc, &err), 0);
	for (int capability = 75; capability < 130; capability += 5) {
		cr_assert_eq(cu_nvrtc_compile(&nvrtc, "bias.cu", "X=f32 Y=f32 S=f32", capability, &image, &bytes, &err),
			     0, "%s", err.msg);
		cr_assert_gt(bytes, 0);
		free(image);
	}
	cr_assert_eq(cu_nvrtc_compile(&nvrtc, "bias.cu", "X=f32 Y=f32 S=f32", 70, &image, &bytes, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "compiles for compute capability 7.5 and later, this GPU has 7.0"), "%s", err.msg);
	cr_assert_null(image);
	cr_assert_eq(cu_nvrtc_compile(&nvrtc, "none.cu", "", 90, &image, &bytes, &err), NPL_EINTERNAL);
	cr_assert_eq(cu_nvrtc_compile(&nvrtc, "bias.cu", "X=f31 Y=f32 S=f32", 90, &image, &bytes, &err), NPL_EINTERNAL);
	cr_assert(strstr(err.msg, "the kernel bias.cu (X=f31 Y=f32 S=f32) does not compile for sm_90: "), "%s",
		  err.msg);
	cr_assert(strstr(err.msg, "error"), "%s", err.msg);
	cr_assert_null(strchr(err.msg, '\n'));
	cu_nvrtc_close(&nvrtc);
}

/* Which of two versions is taken, and what is compiled: NVRTC 13.0 knows 7.5, 8.0 and 9.0, the other, 12.8, 7.0 and
 * 8.0. */
Test(cuda_nvrtc, the_version_that_fits_driver_and_gpu_is_taken)
{
	static const struct {
		bool no_13, no_12;
		int driver, capability, major;
		const char *target; /* NULL: refused */
	} cases[] = {
		{false, false, 13000, 90, 13, "sm_90"},       {false, false, 13020, 80, 13, "sm_80"},
		{false, false, 14000, 90, 13, "sm_90"},       {false, false, 12080, 80, 12, "sm_80"},
		{false, false, 12040, 80, 12, "sm_80"},      /* an older minor version of the driver runs it */
		{false, false, 12080, 90, 12, "compute_80"}, /* PTX of its own CUDA rather than a newer one's code */
		{false, true, 12080, 90, 13, "sm_90"},       /* newer than the driver, but all that there is */
		{true, false, 13000, 90, 12, "compute_80"},  /* a GPU that is newer than the compiler */
		{false, false, 13000, 120, 13, "compute_90"}, {false, false, 13000, 70, 12, "sm_70"},
		{false, true, 13000, 70, 13, NULL},           {false, false, 13000, 61, 0, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cu_nvrtc nvrtc;
		struct npl_err err = {0};
		char target[24];
		cu_fake_reset();
		cu_fake.missing[CU_FAKE_NVRTC] = cases[i].no_13;
		cu_fake.missing[CU_FAKE_NVRTC_12] = cases[i].no_12;
		int rc = cu_nvrtc_open(&cu_fake_loader, cases[i].driver, cases[i].capability, &nvrtc, &err);
		cr_assert_eq(rc, cases[i].target ? 0 : NPL_EDEVICE, "case %zu: %s", i, err.msg);
		if (cases[i].target) {
			cr_assert_eq(nvrtc.major, cases[i].major, "case %zu: NVRTC %d", i, nvrtc.major);
			cr_assert_str_eq(cu_nvrtc_target(&nvrtc, cases[i].capability, target), cases[i].target,
					 "case %zu", i);
			cu_nvrtc_close(&nvrtc);
		} else {
			cr_assert(strstr(err.msg, "compiles for compute capability 7.5 and later, this GPU has"), "%s",
				  err.msg);
		}
		cr_assert_eq(cu_fake.opened, cu_fake.closed, "case %zu", i);
	}
}

/* A damaged one is as good as none, where there is another. */
Test(cuda_nvrtc, another_version_stands_in_for_a_damaged_one)
{
	struct cu_nvrtc nvrtc;
	struct npl_err err = {0};
	cu_fake_reset();
	cu_fake.missing[CU_FAKE_NVRTC_12] = false;
	cu_fake.fail_at = 1; /* nvrtcVersion of 13.0 */
	cr_assert_eq(cu_nvrtc_open(&cu_fake_loader, 13000, 80, &nvrtc, &err), 0, "%s", err.msg);
	cr_assert_eq(nvrtc.major, 12);
	cu_nvrtc_close(&nvrtc);
	cr_assert_eq(cu_fake.opened, cu_fake.closed);
	cu_fake_reset();
	cu_fake.fail_at = 1;
	cr_assert_eq(cu_nvrtc_open(&cu_fake_loader, 13000, 80, &nvrtc, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "nvrtcVersion returns"), "a damaged one says more than a missing one: %s", err.msg);
}

/* By NVRTC itself: each source with macros that between them reach all of it. */
static const char *const units[][2] = {
	{"arg.cu", "X=f32"},
	{"arg.cu", "X=i64 WIDE=1"},
	{"arg.cu", "X=f16 Y=f16 ONE_HOT=1"},
	{"convtranspose.cu", "X=f16 Y=f16 S=f32 FUSED=fused_relu"},
	{"onehot.cu", "X=f32 FLOATS=1 UNIT=u16"},
	{"onehot.cu", "X=i64 UNIT=u32"},
	{"triangle.cu", "UNIT=u8 WIDE=1"},
	{"reverse.cu", "UNIT=u64"},
	{"bias.cu", "X=f16 Y=f16 S=f32 FUSED=fused_sigmoid N=1"},
	{"bias.cu", "X=f16 Y=f16 S=f16 FUSED=fused_relu6 N=8 CHANNELS_LAST=1"},
	{"binary.cu", "FUNCTION=power X=f16 Z=f16 FLOATS=1 N=8 FUSED=fused_relu6"},
	{"binary.cu", "FUNCTION=add X=f32 Z=f32 FLOATS=1 N=4"},
	{"binary.cu", "FUNCTION=equal COMPARES=1 X=i64 Z=bool8 SIGNED=1 N=2"},
	{"binary.cu", "FUNCTION=quotient X=i32 Z=i32 SIGNED=1 N=4"},
	{"binary.cu", "FUNCTION=shift_left X=u8 Z=u8 N=16"},
	{"binary_walk.cu", "FUNCTION=least X=bf16 Z=bf16 FLOATS=1 FACTOR=1 FUSED=fused_tanh"},
	{"binary_walk.cu", "FUNCTION=add X=f32 Z=f32 FLOATS=1 WIDE=1"},
	{"cast.cu", "X=f32 Y=f16 N=4 PLAIN=1"},
	{"cast.cu", "X=bf16 Y=f32 N=4 PLAIN=1"},
	{"cast.cu", "X=f32 Y=i8 N=4 CUT_OFF=1"},
	{"cast.cu", "X=f64 Y=u64 N=2 CUT_OFF=1"},
	{"cast.cu", "X=i64 Y=bool8 N=2 TO_BOOL=1"},
	{"channels.cu", "X=f16 Y=f16 S=f32 FUSED=fused_relu"},
	{"copy.cu", "UNIT=u128"},
	{"copy.cu", "UNIT=u16 WIDE=1"},
	{"copy.cu", "UNIT=f32 AS=f16"},
	{"gather.cu", "UNIT=u32 INDEX=i64"},
	{"gather_elements.cu", "UNIT=u8 INDEX=i32"},
	{"gather_tuples.cu", "UNIT=u16 INDEX=i64"},
	{"im2col.cu", "X=u8 N=16"},
	{"im2col.cu", "X=u32 N=1 WIDE=1"},
	{"depthwise.cu", "X=f16 N=8 KERNEL_HEIGHT=3 KERNEL_WIDTH=3 KERNEL_DEPTH=1 FUSED=fused_relu6"},
	{"depthwise.cu", "X=bf16 N=1 KERNEL_HEIGHT=1 KERNEL_WIDTH=5 KERNEL_DEPTH=1 WIDE=1"},
	{"im2col_channels_last.cu", "X=u32 N=4"},
	{"im2col_channels_last.cu", "X=u32 N=1 WIDE=1"},
	{"im2col_channels_last.cu", "X=u8 N=16 MIXED=1"},
	{"integer_conv.cu", "PARTS=1 Z=u8 FINISH=finish_function"},
	{"integer_conv.cu", "PARTS=2 Z=i32 RAW=1 WIDE=1"},
	{"integer_conv_channels_last.cu", "PARTS=1 Z=u8 FINISH=finish_relu N=16"},
	{"integer_conv_channels_last.cu", "PARTS=2 Z=i8 FINISH=finish_none N=4"},
	{"integer_conv_channels_last.cu", "PARTS=3 Z=i32 RAW=1 N=1 WIDE=1"},
	{"integer_convert.cu", "X=u8 Z=i8 N=16 FINISH=finish_function"},
	{"integer_convert.cu", "X=u8 Z=u8 N=1 WALK=1 FINISH=finish_none"},
	{"integer_convert.cu", "X=i16 Z=i16 N=8 CLIP=1"},
	{"integer_pack.cu", ""},
	{"integer_pack.cu", "TURNED=1"},
	{"integer_stack.cu", "Z=u8 FINISH=finish_relu"},
	{"integer_stack.cu", "Z=i8 WIDE=1 FINISH=finish_function"},
	{"integer_pair.cu", "X=u8 Y=i8 Z=u8 N=16 FINISH=finish_relu6"},
	{"integer_pair.cu", "X=i16 Y=i16 Z=i16 N=1 WALK=1 PRODUCT=1 FINISH=finish_relu"},
	{"integer_sums.cu", "Z=u8 N=4 FINISH=finish_function"},
	{"integer_sums.cu", "Z=i32 N=1 RAW=1"},
	{"integer_sums_channels_last.cu", "Z=u8 N=4 ROWS=4 FINISH=finish_relu"},
	{"integer_sums_channels_last.cu", "Z=i8 N=1 ROWS=4 FINISH=finish_function WIDE=1"},
	{"integer_sums_channels_last.cu", "Z=i32 N=4 ROWS=4 RAW=1"},
	{"lrn.cu", "X=f32 Y=f32"},
	{"normalise.cu", "X=f16 Y=f16 S=f32 M=f32"},
	{"normalise.cu", "X=f32 Y=f32 S=f32 M=f32 NORM=1"},
	{"pad.cu", "UNIT=u32"},
	{"pool.cu", "X=f16 Y=f16 GREATEST=1 LOWEST=-INFINITE INDICES=1 FUSED=fused_relu"},
	{"pool.cu", "X=u8 Y=u8 INTEGER=1 AVERAGE=1"},
	{"pool.cu", "X=i8 Y=i8 INTEGER=1 NARROW=1 GREATEST=1 LOWEST=-128 WIDE=1"},
	{"pool.cu", "X=u8 Y=u8 INTEGER=1 NARROW=1 AVERAGE=1 CHANNELS_LAST=1 N=4"},
	{"pool.cu", "X=f32 Y=f32 AVERAGE=1"},
	{"pool.cu", "X=f32 Y=f32 POWER=3"},
	{"pool.cu", "X=f16 Y=f16 GREATEST=1 LOWEST=-INFINITE CHANNELS_LAST=1 N=8"},
	{"pool.cu", "X=bf16 Y=bf16 AVERAGE=1 CHANNELS_LAST=1 N=1 WIDE=1"},
	{"quantise_tensor.cu", "X=f32 Z=u8 N=4 LEAST=0 MOST=255"},
	{"quantise_tensor.cu", "X=i8 Z=f32 N=1 BACK=1 WIDE=1"},
	{"quantise.cu", "X=f32 Q=u8 S=f32 LEAST=0 MOST=255"},
	{"quantise.cu", "BACK=1 Y=f16 Q=i32 S=f32"},
	{"recurrent_gru.cu", "S=bf16 F0=cell_sigmoid G0=cell_softplus F1=cell_elu G1=cell_tanh"},
	{"recurrent_gru.cu", "S=f32 F0=cell_affine G0=cell_leaky_relu CLIPS=1 RESET_LAST=1 WIDE=1"},
	{"recurrent_gru_reset.cu", "S=f16 F0=cell_hard_sigmoid F1=cell_thresholded_relu"},
	{"recurrent_lstm.cu", "S=f16 F0=cell_sigmoid G0=cell_tanh H0=cell_tanh"},
	{"recurrent_lstm.cu", "S=f32 F0=cell_sigmoid G0=cell_softsign H0=cell_tanh CLIPS=1 INPUT_FORGET=1 WIDE=1"},
	{"recurrent_rnn.cu", "S=f32 F0=cell_scaled_tanh F1=cell_relu CLIPS=1"},
	{"reduce.cu", "X=f32 Y=f32 FOLD=sum LAST=last_quotient"},
	{"reduce.cu", "X=bf16 Y=bf16 FOLD=power LAST=last_logarithm SHIFTED=1"},
	{"reduce.cu", "X=f16 Y=f16 FOLD=least LAST=last_none"},
	{"reduce.cu", "X=f32 Y=f32 FOLD=square LAST=last_root WIDE=1"},
	{"reduce.cu", "X=f32 Y=f32 FOLD=product LAST=last_none FUSED=fused_relu"},
	{"resize.cu", "X=u8 NEAREST=1"},
	{"resize.cu", "X=f16 TAPS=2"},
	{"resize.cu", "X=f32 TAPS=4 WIDE=1"},
	{"softmax.cu", "X=f16 Y=f16"},
	{"softmax.cu", "X=f32 Y=f32 LOGARITHM=1"},
	{"transpose.cu", "UNIT=u8"},
	{"transpose.cu", "UNIT=f32 AS=bf16"},
	{"transpose.cu", "UNIT=f16 AS=f32"},
	{"transpose.cu", "UNIT=u64"},
	{"unary.cu", "FUNCTION=clip X=f32 Y=f32 FLOATS=1 N=4"},
	{"unary.cu", "FUNCTION=error_function X=f16 Y=f16 FLOATS=1 N=8 FUSED=fused_relu"},
	{"unary.cu", "FUNCTION=is_infinite X=f32 Y=bool8 FLOATS=1 N=4"},
	{"unary.cu", "FUNCTION=clip X=i64 Y=i64 SIGNED=1 N=2"},
	{"unary.cu", "FUNCTION=inverse X=bool8 Y=bool8 N=16 WIDE=1"},
	{"where.cu", "X=u64"},
};

Test(cuda_nvrtc, the_list_of_sources_is_whole)
{
	for (const struct cu_text *t = cu_texts; t->name; t++) {
		bool listed = strchr(strrchr(t->name, '.'), 'h');
		for (size_t i = 0; i < sizeof units / sizeof *units; i++)
			listed = listed || !strcmp(units[i][0], t->name);
		cr_assert(listed, "%s", t->name);
	}
}

Test(cuda_nvrtc, every_source_compiles_by_nvrtc_itself)
{
	static const int capabilities[] = {75, 80, 90, 120};
	struct cu_nvrtc nvrtc;
	struct npl_err err = {0};
#ifdef __SANITIZE_ADDRESS__
	cr_skip("the sanitizer counts what NVRTC itself keeps");
	return;
#endif
	if (cu_nvrtc_open(&cu_system_loader, 99000, 75, &nvrtc, &err)) {
		cr_skip("NVRTC is not installed");
		return;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		int capability = capabilities[i % 4];
		char *image = NULL;
		size_t bytes;
		int rc = cu_nvrtc_compile(&nvrtc, units[i][0], units[i][1], capability, &image, &bytes, &err);
		cr_assert_eq(rc, 0, "%s", err.msg);
		cr_assert_gt(bytes, 100);
		free(image);
	}
	cu_nvrtc_close(&nvrtc);
}

/* The operators in the table of docs/machine-cuda.md, first column, are those that kernels take, alone or between
 * products. */
Test(cuda_nvrtc, the_document_lists_what_is_taken)
{
	bool listed[NPL_OPS] = {false};
	char line[2048];
	FILE *file = fopen("docs/machine-cuda.md", "r");
	cr_assert(file, "the tests run in the repository's root");
	bool inside = false;
	while (fgets(line, sizeof line, file)) {
		inside = (inside && strncmp(line, "## ", 3) != 0) || !strcmp(line, "## Kernels\n");
		if (!inside || line[0] != '|' || !strncmp(line, "| operators", 11) || line[1] == '-')
			continue;
		*strchr(line + 1, '|') = '\0';
		for (char *save = NULL, *word = strtok_r(line + 1, ", ", &save); word;
		     word = strtok_r(NULL, ", ", &save)) {
			enum npl_op op = npl_op_find(word);
			cr_assert_neq(op, NPL_OPS, "the document lists %s, which is no operator", word);
			listed[op] = true;
		}
	}
	fclose(file);
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++)
		cr_assert_eq(listed[op], cu_family_of((enum npl_op)op) || cu_is_recurrent((enum npl_op)op), "%s",
			     npl_op_defs[op].name);
}
