/* SPDX-License-Identifier: MIT
 *
 * The instruction sets of the processor, and those of them that may be used (npulab/cpu_features.h). The processor is
 * asked only once: in a virtual machine cpuid takes microseconds. */
#include "npulab/cpu_features.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SSE2   0u
#define AVX    NPL_CPU_AVX
#define AVX2   (AVX | NPL_CPU_AVX2 | NPL_CPU_FMA | NPL_CPU_SHA)
#define AVX512 (AVX2 | NPL_CPU_AVX512)

static const struct {
	const char *word;
	unsigned allowed;
} words[] = {
	{"sse2", SSE2},     {"avx", AVX},
	{"avx2", AVX2},     {"avx-vnni", AVX2 | NPL_CPU_AVXVNNI},
	{"avx512", AVX512}, {"avx512-vnni", AVX512 | NPL_CPU_AVXVNNI | NPL_CPU_AVX512VNNI},
};
#define WORDS  (sizeof words / sizeof *words)
#define CACHED (1u << 31) /* marks a set that is cached */

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned read_processor_features(void)
{
	unsigned set = 0, eax, ebx, ecx, edx;
	__builtin_cpu_init();
	set |= __builtin_cpu_supports("avx") ? NPL_CPU_AVX : 0;
	set |= __builtin_cpu_supports("avx2") ? NPL_CPU_AVX2 : 0;
	set |= __builtin_cpu_supports("fma") ? NPL_CPU_FMA : 0;
	set |= __builtin_cpu_supports("avx512f") ? NPL_CPU_AVX512F : 0;
	set |= __builtin_cpu_supports("avx512bw") ? NPL_CPU_AVX512BW : 0;
	set |= __builtin_cpu_supports("avx512dq") ? NPL_CPU_AVX512DQ : 0;
	set |= __builtin_cpu_supports("avx512vl") ? NPL_CPU_AVX512VL : 0;
	set |= __builtin_cpu_supports("avx512cd") ? NPL_CPU_AVX512CD : 0;
	set |= __builtin_cpu_supports("avx512vnni") ? NPL_CPU_AVX512VNNI : 0;
	/* The compiler has no name for this feature. The check of "avx2" has shown that the system saves 256-bit
	 * registers. */
	if (__builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & 1u << 29))
		set |= NPL_CPU_SHA;
	if ((set & NPL_CPU_AVX2) && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 1u << 4))
		set |= NPL_CPU_AVXVNNI;
	return set;
}
#else
static unsigned read_processor_features(void)
{
	return 0;
}
#endif

static unsigned processor_features(void)
{
	static _Atomic unsigned known;
	unsigned set = atomic_load_explicit(&known, memory_order_relaxed);
	if (!set) {
		set = CACHED | read_processor_features();
		atomic_store_explicit(&known, set, memory_order_relaxed);
	}
	return set;
}

unsigned npl_cpu_cap_allows(const char *word, bool *is_known)
{
	for (size_t i = 0; i < WORDS; i++)
		if (!strcmp(word, words[i].word)) {
			*is_known = true;
			return words[i].allowed;
		}
	*is_known = false;
	return 0;
}

static const char *requested_cap(void)
{
	const char *word = getenv(NPL_MAX_ISA);
	return word && *word ? word : NULL;
}

static unsigned usable_features(void)
{
	static _Atomic unsigned known;
	unsigned set = atomic_load_explicit(&known, memory_order_relaxed);
	if (!set) {
		const char *word = requested_cap();
		bool is_word = false;
		unsigned allowed = word ? npl_cpu_cap_allows(word, &is_word) : 0;
		set = is_word ? processor_features() & (allowed | CACHED) : processor_features();
		atomic_store_explicit(&known, set, memory_order_relaxed);
	}
	return set;
}

bool npl_cpu_has(unsigned set)
{
	return (usable_features() & set) == set;
}

bool npl_cpu_has_uncapped(unsigned set)
{
	return (processor_features() & set) == set;
}

const char *npl_cpu_cap(void)
{
	return usable_features() == processor_features() ? NULL : requested_cap();
}

int npl_cpu_cap_check(struct npl_err *err)
{
	const char *word = requested_cap();
	bool known = true;
	if (word)
		npl_cpu_cap_allows(word, &known);
	return known ? 0
		     : npl_fail(err, NPL_EUSAGE, "%s is '%.40s', expected %s", NPL_MAX_ISA, word, NPL_MAX_ISA_WORDS);
}
