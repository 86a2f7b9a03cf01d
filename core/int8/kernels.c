/* SPDX-License-Identifier: MIT
 *
 * The list of kernels, and the choice of the one that runs. */
#include "kernels.h"

#include <cpuid.h>
#include <stdatomic.h>

#include "npulab/cpu_features.h"

const struct npl_int8_kernel *const npl_int8_kernel_list[] = {
	&npl_int8_avx512_vnni, &npl_int8_avx_vnni, &npl_int8_avx512, &npl_int8_avx2, &npl_int8_sse2, NULL};

static atomic_int preferred; /* the kernel that 0 stands for; 0: the first of the list */

void npl_int8_prefer(int kernel)
{
	atomic_store(&preferred, kernel);
}

const struct npl_int8_kernel *npl_int8_kernel(int number)
{
	number = number > 0 ? number : atomic_load_explicit(&preferred, memory_order_relaxed);
	for (const struct npl_int8_kernel *const *k = npl_int8_kernel_list; *k; k++)
		if (npl_cpu_has((*k)->required_features) && --number <= 0)
			return *k;
	return NULL;
}

int npl_int8_kernels(void)
{
	int n = 0;
	while (npl_int8_kernel(n + 1))
		n++;
	return n;
}

const char *npl_int8_kernel_name(int kernel)
{
	const struct npl_int8_kernel *entry = npl_int8_kernel(kernel);
	return entry ? entry->name : NULL;
}

/* Says whether CPUID has bits 24 and 25 of EDX in leaf 7: matrix registers, and products of bytes in them. */
static bool detect_amx(void)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx >> 24 & 3) == 3;
}

/* Reads CPUID only once, since in a virtual machine that may take 20 microseconds. Threads that read it at the same
 * time get the same answer. */
bool npl_int8_has_amx(void)
{
	enum { UNKNOWN, NO, YES };
	static atomic_int known;
	int state = atomic_load_explicit(&known, memory_order_relaxed);
	if (state == UNKNOWN) {
		state = detect_amx() ? YES : NO;
		atomic_store_explicit(&known, state, memory_order_relaxed);
	}
	return state == YES;
}
