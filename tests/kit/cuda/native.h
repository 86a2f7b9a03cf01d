/* SPDX-License-Identifier: MIT
 *
 * NVRTC, and the driver's modules and launches, on a processor: the program's kernels, as their sources stand and with
 * the macros that they are asked for with, compiled by the C compiler into shared objects (kernel_native.h) and run
 * over the host's memory. So what the GPU would run is compared with the reference kernels where there is no GPU.
 *
 * Objects are kept in the build folder under the hash of all that they are made of.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_NATIVE_H
#define NPULAB_TESTS_KIT_CUDA_NATIVE_H

#include <stddef.h>

/* A function of NVRTC, or one of cuModuleLoadData, cuModuleUnload, cuModuleGetFunction, cuLaunchKernel; NULL: none of
 * these. */
void *cuda_native_symbol(const char *name);

/* Returns the size of the argument of a kernel that cuModuleGetFunction gave. */
size_t cuda_native_argument_bytes(void *function);

/* What was asked for since the start of the process. */
struct cuda_native_counts {
	int programs, destroyed; /* NVRTC's */
	int modules, unloaded;
	int launches;
	long moves; /* launches of those that only move elements or turn matrices */
	unsigned most_blocks;
};
extern struct cuda_native_counts cuda_native_counts;

/* Called before every launch, unless it is NULL: whether the launch is to fail, with this code. */
extern int (*cuda_native_before_launch)(void *stream);

#endif
