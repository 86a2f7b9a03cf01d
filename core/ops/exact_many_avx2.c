/* SPDX-License-Identifier: MIT
 *
 * Functions over arrays (exact_many.h) in AVX2 instructions: four doubles at a time. */
#define TARGET            __attribute__((target("avx2")))
#define KERNELS           op_exact_avx2
#define NAME              "avx2"
#define REQUIRED_FEATURES NPL_CPU_AVX2

#include "exact_loops.h"
