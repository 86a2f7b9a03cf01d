/* SPDX-License-Identifier: MIT
 *
 * Functions over arrays (exact_many.h) in AVX-512 instructions: eight doubles at a time. */
#define TARGET  __attribute__((target("avx512f,avx512dq,avx512vl")))
#define KERNELS op_exact_avx512
#define NAME    "avx512"

#include <stdbool.h>

static bool usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}

#include "exact_loops.h"
