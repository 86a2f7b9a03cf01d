/* SPDX-License-Identifier: MIT
 *
 * Put before a kernel's source (backends/cuda/kernels/) it makes plain C of it, for a processor: threads run one after
 * the other, those of a cooperative kernel as coroutines that meet in __syncthreads(). A barrier that some threads of a
 * block never reach aborts. For x86-64.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_KERNEL_NATIVE_H
#define NPULAB_TESTS_KIT_CUDA_KERNEL_NATIVE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NATIVE_MAX_THREADS 1024
#define NATIVE_STACK_BYTES 65536

struct native_index {
	unsigned x, y, z;
};
static struct native_index threadIdx, blockIdx, blockDim, gridDim;

/* Threads of a block as coroutines, each with a stack. Switching by hand rather than by swapcontext, which makes a
 * system call and which the address sanitizer warns of. */
static struct {
	void *scheduler, *thread[NATIVE_MAX_THREADS]; /* stack pointers while they wait */
	bool done[NATIVE_MAX_THREADS];
	unsigned current;
	char *stack;
	void (*body)(void);
} native;

/* What a called function must leave alone goes onto the stack that is left, and comes from the one that is taken. */
__attribute__((naked, noinline)) static void native_switch(__attribute__((unused)) void **left,
							   __attribute__((unused)) void *taken)
{
	__asm__("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
		"movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
		"popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}

static inline void native_place(unsigned thread)
{
	threadIdx.x = thread % blockDim.x;
	threadIdx.y = thread / blockDim.x % blockDim.y;
	threadIdx.z = thread / blockDim.x / blockDim.y;
}

static inline void __syncthreads(void)
{
	native_switch(&native.thread[native.current], native.scheduler);
}

/* Never returns: a thread that has ended is not taken up again. */
static void native_thread(void)
{
	native.body();
	native.done[native.current] = true;
	__syncthreads();
	abort();
}

/* A stack as native_switch leaves one, that returns into native_thread. */
static inline void *native_fresh_stack(unsigned thread)
{
	enum { REGISTERS = 6 };
	void (*entry)(void) = native_thread;
	void **top = (void **)(native.stack + (size_t)(thread + 1) * NATIVE_STACK_BYTES) - 2;
	memset(top - REGISTERS, 0, (REGISTERS + 2) * sizeof *top);
	memcpy(top, &entry, sizeof entry);
	return top - REGISTERS;
}

static inline void native_cooperate(void (*body)(void))
{
	const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
	native.body = body;
	if (!native.stack && !(native.stack = aligned_alloc(16, (size_t)NATIVE_MAX_THREADS * NATIVE_STACK_BYTES)))
		abort();
	for (unsigned t = 0; t < threads; t++) {
		native.done[t] = false;
		native.thread[t] = native_fresh_stack(t);
	}
	for (unsigned ended = 0; ended < threads;) { /* from barrier to barrier */
		ended = 0;
		for (unsigned t = 0; t < threads; t++) {
			native.current = t;
			native_place(t);
			native_switch(&native.scheduler, native.thread[t]);
			ended += native.done[t];
		}
		if (ended && ended < threads) {
			fprintf(stderr, "a barrier that %u of %u threads never reach\n", ended, threads);
			abort();
		}
	}
}

__attribute__((destructor)) static void native_unload(void)
{
	free(native.stack);
}

static inline void native_each_thread(void (*body)(void))
{
	for (unsigned t = 0; t < blockDim.x * blockDim.y * blockDim.z; t++) {
		native_place(t);
		body();
	}
}

/* What the tests' cuLaunchKernel calls: the kernel's name, with the grid, the block and the address of the argument.
 * Without a grid nothing runs; it returns the argument's size. */
static inline void native_launch(const unsigned grid[3], const unsigned block[3], void (*run)(void (*)(void)),
				 void (*body)(void))
{
	gridDim.x = grid[0], gridDim.y = grid[1], gridDim.z = grid[2];
	blockDim.x = block[0], blockDim.y = block[1], blockDim.z = block[2];
	for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
		for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
			for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
				run(body);
}

#define DEVICE         static inline
#define SHARED         static
#define INFINITE       INFINITY
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define NATIVE_KERNEL(name, args, run)                                                                                 \
	static struct args name##_args;                                                                                \
	static void name##_body(struct args a);                                                                        \
	static void name##_thread(void)                                                                                \
	{                                                                                                              \
		name##_body(name##_args);                                                                              \
	}                                                                                                              \
	unsigned long name(const unsigned grid[3], const unsigned block[3], const void *argument);                     \
	unsigned long name(const unsigned grid[3], const unsigned block[3], const void *argument)                      \
	{                                                                                                              \
		if (grid) {                                                                                            \
			memcpy(&name##_args, argument, sizeof name##_args);                                            \
			native_launch(grid, block, run, name##_thread);                                                \
		}                                                                                                      \
		return sizeof name##_args;                                                                             \
	}                                                                                                              \
	static void name##_body(const struct args a)
#define KERNEL(name, args)      NATIVE_KERNEL(name, args, native_each_thread)
#define COOPERATIVE(name, args) NATIVE_KERNEL(name, args, native_cooperate)

#endif
