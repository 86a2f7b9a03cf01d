/* SPDX-License-Identifier: MIT
 *
 * Which of the processor's instructions npulab's kernels may use: all that the processor has, up to the cap that the
 * environment variable NPULAB_MAX_ISA sets. npulab's own kernels give the same bits at every cap; the variable serves
 * to show that and to compare speeds.
 *
 *     sse2          what every x86-64 has
 *     avx           256-bit floats; of npulab's own kernels none
 *     avx2          256-bit integers, FMA, SHA
 *     avx-vnni      avx2 and products of bytes in 256 bits
 *     avx512        avx2 and 512 bits, without VNNI
 *     avx512-vnni   avx512, avx-vnni and products of bytes in 512 bits: the most there is
 *
 * OpenBLAS and oneDNN get the nearest cap that they know when they are loaded, unless their own variables say something
 * else. Their lowest caps are SSE3 (OpenBLAS) and SSE4.1 (oneDNN). */
#ifndef NPULAB_CPU_FEATURES_H
#define NPULAB_CPU_FEATURES_H

#include <stdbool.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NPL_CPU_AVX = 1 << 0,
	NPL_CPU_AVX2 = 1 << 1,
	NPL_CPU_FMA = 1 << 2,
	NPL_CPU_SHA = 1 << 3, /* with SSE4.1 */
	NPL_CPU_AVXVNNI = 1 << 4,
	NPL_CPU_AVX512F = 1 << 5,
	NPL_CPU_AVX512BW = 1 << 6,
	NPL_CPU_AVX512DQ = 1 << 7,
	NPL_CPU_AVX512VL = 1 << 8,
	NPL_CPU_AVX512CD = 1 << 9,
	NPL_CPU_AVX512VNNI = 1 << 10,
	NPL_CPU_END, /* greater than each of the bits, which stand before it */
	NPL_CPU_AVX512 = NPL_CPU_AVX512F | NPL_CPU_AVX512BW | NPL_CPU_AVX512DQ | NPL_CPU_AVX512VL | NPL_CPU_AVX512CD,
};

#define NPL_MAX_ISA       "NPULAB_MAX_ISA"
#define NPL_MAX_ISA_WORDS "sse2, avx, avx2, avx-vnni, avx512 or avx512-vnni"

/* Says whether all of these instruction sets may be used. */
bool npl_cpu_has(unsigned set);
/* Says whether the processor has all of these instruction sets, whatever the variable says. */
bool npl_cpu_has_uncapped(unsigned set);

/* Returns the instruction sets that a word of the variable allows. *is_known is false, and the result 0, where there is
 * no such word. */
unsigned npl_cpu_cap_allows(const char *word, bool *is_known);

/* Returns the word in force. NULL: the variable is not set, or this processor has nothing beyond the cap. */
const char *npl_cpu_cap(void);

/* Returns NPL_EUSAGE when the variable holds an unknown word; the library then behaves as if it were not set. */
int npl_cpu_cap_check(struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
