/* SPDX-License-Identifier: MIT
 *
 * Functions over arrays (exact_many.h) in AVX2 instructions: four doubles at a time. */
#define TARGET  __attribute__((target("avx2")))
#define KERNELS op_exact_avx2
#define NAME    "avx2"

#include <stdbool.h>

static bool usable(void)
{
	return __builtin_cpu_supports("avx2");
}

#include "exact_loops.h"
