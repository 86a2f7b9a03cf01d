/* SPDX-License-Identifier: MIT
 *
 * oneDNN after its gate. What the program promises: our declarations are those of the library's headers; the library
 * is used only where its 8-bit products are exact over the full range of the operands, which instruction set and a
 * check of values decide; without it, or with the gate closed, the same products come from our own kernels; it never
 * starts a thread. Each test is a process of its own, as the library reads its environment once. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/int8/onednn.h"
#include "tests/kit/support.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>

#define SAME(a, b)       _Static_assert(__builtin_types_compatible_p(a, b), "not as the headers have it")
#define SAME_VALUE(a, b) _Static_assert((int)(a) == (int)(b), "not as the headers have it")
#define SAME_MEMBER(member)                                                                                            \
	SAME(__typeof__(((dnnl_version_t *)0)->member), __typeof__(((struct npl_onednn_version *)0)->member));         \
	SAME_VALUE(offsetof(dnnl_version_t, member), offsetof(struct npl_onednn_version, member))
/* A status is an enumeration: an int to the caller. */
SAME_VALUE(sizeof(dnnl_status_t), sizeof(int));
SAME_VALUE(dnnl_success, 0);
SAME(__typeof__(dnnl_gemm_u8s8s32), dnnl_status_t NPL_ONEDNN_GEMM_ARGUMENTS(uint8_t));
SAME(__typeof__(dnnl_gemm_s8s8s32), dnnl_status_t NPL_ONEDNN_GEMM_ARGUMENTS(int8_t));
SAME(__typeof__(dnnl_get_effective_cpu_isa), dnnl_cpu_isa_t(void));
SAME_VALUE(sizeof(dnnl_cpu_isa_t), sizeof(int));
SAME(__typeof__(dnnl_version), const dnnl_version_t *(void));
SAME_VALUE(sizeof(dnnl_version_t), sizeof(struct npl_onednn_version));
SAME_MEMBER(major);
SAME_MEMBER(minor);
SAME_MEMBER(patch);
SAME_MEMBER(hash);
SAME_MEMBER(cpu_runtime);
SAME_MEMBER(gpu_runtime);
SAME_VALUE(DNNL_RUNTIME_SEQ, NPL_ONEDNN_SEQUENTIAL);
SAME_VALUE(DNNL_RUNTIME_OMP, NPL_ONEDNN_OPENMP);
SAME_VALUE(dnnl_cpu_isa_avx2, NPL_ONEDNN_AVX2);
SAME_VALUE(dnnl_cpu_isa_avx512_core, NPL_ONEDNN_AVX512);
SAME_VALUE(dnnl_cpu_isa_avx512_core_vnni, NPL_ONEDNN_AVX512_VNNI);
SAME_VALUE(dnnl_cpu_isa_avx512_core_bf16, NPL_ONEDNN_AVX512_BF16);
SAME_VALUE(dnnl_cpu_isa_avx512_core_amx, NPL_ONEDNN_AVX512_AMX);
SAME_VALUE(dnnl_cpu_isa_avx2_vnni, NPL_ONEDNN_AVX2_VNNI);
#endif

/* oneDNN as it would be here, gate or no gate; skips the test where there is none. */
static struct npl_onednn loaded(void)
{
	struct npl_onednn onednn;
	struct npl_err err = {0};
	if (npl_onednn_load(NPL_ONEDNN_SONAME, &onednn, &err))
		cr_skip("%s", err.msg);
	return onednn;
}

static void fill(uint8_t *bytes, int64_t n, uint64_t *rng)
{
	int mode = (int)test_range(rng, 0, 3);
	for (int64_t i = 0; i < n; i++)
		bytes[i] = mode == 0 ? 0x80 : mode == 1 ? 0x7f : mode == 2 ? 0xff : (uint8_t)(test_rng(rng) >> 33);
}

/* Random products with full-range operands, by kernel 0 and by the library where it is, against kernel 1. Returns how
 * many of them the library takes. */
static int compare_products(uint64_t seed, int rounds)
{
	uint64_t rng = seed;
	int n_taken = 0;
	for (int round = 0; round < rounds; round++) {
		int64_t m = test_range(&rng, 1, 80), n = test_range(&rng, 1, 120), k = test_range(&rng, 1, 600);
		uint8_t *a = malloc((size_t)(m * k)), *b = malloc((size_t)(n * k));
		int32_t *expected = malloc((size_t)(m * n) * sizeof *expected);
		int32_t *c = malloc((size_t)(m * n) * sizeof *c);
		cr_assert(a && b && expected && c);
		fill(a, m * k, &rng);
		fill(b, n * k, &rng);
		struct npl_int8_product p = {.m = m, .n = n, .k = k, .c = expected, .c_stride = n, .kernel = 1};
		bool across_a = test_range(&rng, 0, 1), across_b = test_range(&rng, 0, 1);
		p.a = (struct npl_int8_matrix){a, test_range(&rng, 0, 1) ? NPL_U8 : NPL_I8, 0, across_a ? 1 : k,
					       across_a ? m : 1};
		p.b = (struct npl_int8_matrix){b, test_range(&rng, 0, 3) ? NPL_I8 : NPL_U8, 0, across_b ? 1 : k,
					       across_b ? n : 1};
		p.a.zero_point = (int32_t)test_range(&rng, npl_dtype_min(p.a.dtype), npl_dtype_max(p.a.dtype));
		p.b.zero_point = (int32_t)test_range(&rng, npl_dtype_min(p.b.dtype), npl_dtype_max(p.b.dtype));
		n_taken += npl_int8_onednn_supports(&p);
		uint64_t overflows = 0;
		struct npl_err err = {0};
		cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0, "%s", err.msg);
		p.c = c;
		for (p.kernel = NPL_INT8_LIBRARY; p.kernel <= 0; p.kernel++) {
			memset(c, 0x5a, (size_t)(m * n) * sizeof *c);
			cr_assert_eq(npl_int8_gemm(&p, &overflows, &err), 0, "%s", err.msg);
			cr_assert(!memcmp(c, expected, (size_t)(m * n) * sizeof *c),
				  "seed %llx round %d kernel %d: %lldx%lldx%lld", (unsigned long long)seed, round,
				  p.kernel, (long long)m, (long long)n, (long long)k);
		}
		free(a);
		free(b);
		free(c);
		free(expected);
	}
	return n_taken;
}

Test(onednn, products_are_exact_where_the_gate_is_open)
{
	const char *reason = NULL, *text = npl_int8_library(&reason);
	if (!text)
		cr_skip("%s", reason);
	cr_assert(!strncmp(text, "oneDNN 2.", 9) && (strstr(text, "VNNI") || strstr(text, "AMX")), "%s", text);
	cr_assert_gt(compare_products(0x5eed0101, 200), 50);
}

Test(onednn, a_processor_without_vnni_closes_the_gate)
{
	setenv("DNNL_MAX_CPU_ISA", "AVX2", 1); /* before oneDNN is first asked for anything */
	loaded();
	const char *reason = NULL;
	cr_assert_null(npl_int8_library(&reason));
	cr_assert(strstr(reason, "VNNI"), "%s", reason);
	cr_assert(!npl_int8_onednn_is_loaded());
	compare_products(0x5eed0102, 60);
}

static int isa_vnni(void)
{
	return NPL_ONEDNN_AVX512_VNNI;
}

Test(onednn, the_check_of_values_alone_would_close_the_gate)
{
	/* Without VNNI pairs of products saturate in 16 bits; here the library hides its instruction set. */
	setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
	struct npl_onednn onednn = loaded();
	uint8_t a[64];
	int8_t b[64];
	int32_t sum = 0;
	memset(a, 255, sizeof a);
	memset(b, 127, sizeof b);
	struct npl_int8_product p = {.m = 1,
				     .n = 1,
				     .k = 64,
				     .a = {a, NPL_U8, 0, 64, 1},
				     .b = {b, NPL_I8, 0, 64, 1},
				     .c = &sum,
				     .c_stride = 1};
	cr_assert(npl_int8_onednn_run(&onednn, &p));
	if (sum == 64 * 255 * 127)
		cr_skip("this oneDNN is exact without VNNI");
	struct npl_err err = {0};
	onednn.effective_isa = isa_vnni;
	cr_assert_eq(npl_int8_onednn_check(&onednn, &err), NPL_EDEVICE, "255 by 127 gave %d in %d", sum,
		     64 * 255 * 127);
	cr_assert(strstr(err.msg, "not exact"), "%s", err.msg);
}

static const struct npl_onednn *real;

/* As vpmaddubsw does it: pairs of products saturate in 16 bits. */
static int saturating_u8 NPL_ONEDNN_GEMM_ARGUMENTS(uint8_t)
{
	int status = real->gemm_u8s8s32(trans_a, trans_b, offset_c, m, n, k, alpha, a, lda, a_zero, b, ldb, b_zero,
					beta, c, ldc, co);
	for (int64_t i = 0; i < m && trans_a == 'N' && trans_b == 'T' && !a_zero; i++)
		for (int64_t j = 0; j < n; j++) {
			int32_t sum = 0;
			for (int64_t at = 0; at < k; at += 2) {
				int32_t pair = a[i * lda + at] * b[j * ldb + at];
				pair += at + 1 < k ? a[i * lda + at + 1] * b[j * ldb + at + 1] : 0;
				sum += pair > 32767 ? 32767 : pair < -32768 ? -32768 : pair;
			}
			c[i * ldc + j] = sum;
		}
	return status;
}

static int refusing_s8 NPL_ONEDNN_GEMM_ARGUMENTS(int8_t)
{
	(void)trans_a, (void)trans_b, (void)offset_c, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;
	(void)a_zero, (void)b, (void)ldb, (void)b_zero, (void)beta, (void)c, (void)ldc, (void)co;
	return 1;
}

/* One wrong unit in one result of many. */
static int nearly_right_s8 NPL_ONEDNN_GEMM_ARGUMENTS(int8_t)
{
	int status = real->gemm_s8s8s32(trans_a, trans_b, offset_c, m, n, k, alpha, a, lda, a_zero, b, ldb, b_zero,
					beta, c, ldc, co);
	if (m > 30)
		c[(m - 1) * ldc + n - 1]++;
	return status;
}

Test(onednn, the_check_of_values_refuses_what_is_not_exact)
{
	struct npl_onednn onednn = loaded(), fake;
	struct npl_err err = {0};
	if (npl_int8_onednn_check(&onednn, &err))
		cr_skip("%s", err.msg);
	real = &onednn;
	fake = onednn;
	fake.gemm_u8s8s32 = saturating_u8;
	cr_assert_eq(npl_int8_onednn_check(&fake, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "not exact"), "%s", err.msg);
	fake = onednn;
	fake.gemm_s8s8s32 = nearly_right_s8;
	cr_assert_eq(npl_int8_onednn_check(&fake, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "not exact"), "%s", err.msg);
	fake.gemm_s8s8s32 = refusing_s8;
	cr_assert_eq(npl_int8_onednn_check(&fake, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "refuses"), "%s", err.msg);
	fake = onednn;
	fake.effective_isa = isa_vnni;
	cr_assert_eq(npl_int8_onednn_check(&fake, &err), 0, "%s", err.msg);
}

Test(onednn, instruction_sets_without_vnni_have_no_name)
{
	const int without[] = {0, 0x1, 0x3, NPL_ONEDNN_AVX2, 0xf, 0x1f, NPL_ONEDNN_AVX512},
		  with[] = {NPL_ONEDNN_AVX512_VNNI, NPL_ONEDNN_AVX512_BF16, NPL_ONEDNN_AVX512_AMX, NPL_ONEDNN_AVX2_VNNI,
			    0xfe7};
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		cr_assert_null(npl_onednn_isa_name(without[i]), "0x%x", without[i]);
	for (size_t i = 0; i < sizeof with / sizeof *with; i++)
		cr_assert_not_null(npl_onednn_isa_name(with[i]), "0x%x", with[i]);
}

Test(onednn, a_missing_or_wrong_library_is_told_apart)
{
	struct npl_onednn onednn;
	struct npl_err err = {0};
	cr_assert_eq(npl_onednn_load("libnpulab-there-is-no-such.so.9", &onednn, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "libdnnl2") && !onednn.library, "%s", err.msg);
	cr_assert_eq(npl_onednn_load("libm.so.6", &onednn, &err), NPL_EDEVICE);
	cr_assert(strstr(err.msg, "libm.so.6 is not oneDNN") && !onednn.library, "%s", err.msg);
}

static int threads_of_this_process(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;
	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		n += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return n;
}

Test(onednn, products_stay_on_the_calling_thread)
{
	const char *reason = NULL;
	if (!npl_int8_library(&reason))
		cr_skip("%s", reason);
	const struct npl_onednn *onednn = npl_int8_onednn(NULL);
	int threads = onednn->get_max_threads ? onednn->get_max_threads() : 1, before = threads_of_this_process();
	compare_products(0x5eed0103, 20);
	cr_assert_eq(threads_of_this_process(), before);
	if (onednn->get_max_threads)
		cr_assert_eq(onednn->get_max_threads(), threads, "the caller's number of threads was changed");
}
