/* SPDX-License-Identifier: MIT
 *
 * Functions over arrays (exact_many.h) in AVX-512 instructions: eight doubles at a time. */
#define TARGET            __attribute__((target("avx512f,avx512dq,avx512vl")))
#define KERNELS           op_exact_avx512
#define NAME              "avx512"
#define REQUIRED_FEATURES NPL_CPU_AVX512F | NPL_CPU_AVX512DQ | NPL_CPU_AVX512VL

#include "exact_loops.h"
