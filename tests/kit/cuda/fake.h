/* SPDX-License-Identifier: MIT
 *
 * CUDA without a GPU. A driver, cuBLASLt, cuDNN and NVRTC behind struct cu_loader compute on the processor.
 *
 * Nobody else can touch the fake GPU's memory: pages can be accessed only while the GPU works, after each
 * allocation comes a page that never can, and freed memory is unmapped. What the real libraries would refuse or
 * silently do wrong is counted as a violation: a wrong handle, a range beyond an allocation, a misaligned address,
 * work in a stream that is gone, no context. Copies to and from pinned memory happen as late as they may. Time is
 * not measured: each kind of work adds seconds to a counter, so that the same work always takes as long.
 *
 * Any call can be made to fail. As a shared library (build/FLAVOUR/fake_cuda) the fake stands in for the real libraries
 * under LD_LIBRARY_PATH; FAKE_CUDA_MIB is then the size of its GPU's memory.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_FAKE_H
#define NPULAB_TESTS_KIT_CUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/load/library.h"

/* NVRTC 13.0 compiles for compute capability 7.5, 8.0 and 9.0. NVRTC 12.8 compiles for 7.0 and 8.0, and is missing
 * unless a test clears missing[CU_FAKE_NVRTC_12]. */
enum cu_fake_library { CU_FAKE_DRIVER, CU_FAKE_BLAS, CU_FAKE_DNN, CU_FAKE_NVRTC, CU_FAKE_NVRTC_12, CU_FAKE_LIBRARIES };

struct cu_fake {
	/* What there is and how it behaves. A test sets it after cu_fake_reset. */
	bool missing[CU_FAKE_LIBRARIES];
	const char *missing_symbol;
	int gpus, major, minor, driver_version;
	size_t memory_bytes;
	bool no_pinned;            /* allocations of pinned memory fail */
	bool no_int8;              /* cuBLASLt has no products of int8 */
	bool no_dnn_algorithm;     /* cuDNN has no algorithm for any convolution */
	bool no_channels_last;     /* cuDNN has none for channels last */
	bool no_groups_last;       /* cuDNN has none for groups with channels last */
	bool no_fused_convolution; /* cuDNN has no convolution with bias and Relu */
	int fastest_algorithm;     /* of cuDNN: 0 for the implicit GEMM, 1 for the precomputed; after a reset 1 */
	double slower;             /* how many times as long the other algorithm takes; after a reset 2 */
	double macs_per_second;    /* of products; after a reset 1e12 */
	double compile_seconds;    /* the GPU waits so long for each kernel that is compiled; after a reset 0 */
	bool no_capture;           /* cuBLASLt and cuDNN refuse calls that are captured */
	bool no_values;            /* products and convolutions compute nothing, for tests of time alone */
	long fail_at;              /* the call with this number, from 1, fails; 0: none does */
	int fail_code;             /* with this code; 0: with one that fits its library */
	bool sticky;               /* after it every call of the driver fails, until the context is gone */

	/* What was counted since the reset. */
	long calls;           /* of functions that can fail */
	char failed_call[64]; /* the name of the call that was made to fail */
	long opened, closed;  /* libraries */
	long launches, products, convolutions, fused_convolutions;
	long last_convolutions;      /* convolutions with channels last */
	long convolutions_by[2];     /* convolutions by each algorithm */
	long algorithm_lists;        /* requests for the algorithms of a convolution */
	long graphs, replays;        /* graphs that were made executable, and launches of them */
	size_t bytes_up, bytes_down; /* to the GPU, and from it */
	size_t peak_bytes;           /* the most that was allocated at once */
	long violations;
	char violation[200]; /* the first of them */
};
extern struct cu_fake cu_fake;
extern const struct cu_loader cu_fake_loader;

/* Makes one GPU of compute capability 9.0 with 1 GiB and a driver for CUDA 13.0. All counts are 0 and no call fails. */
void cu_fake_reset(void);

/* Returns the objects that were not freed, such as "2 allocations, 1 stream", or NULL where all were. */
const char *cu_fake_leaks(void);

/* The functions below are for the fake's own files. */

/* Counts a call. Returns the code with which it must fail, or 0. */
int cu_fake_fails(enum cu_fake_library library, const char *call);
/* Counts a violation. Returns the code. */
int cu_fake_violation(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds to the GPU's time. */
void cu_fake_seconds(double seconds);
/* The GPU's memory can be accessed between the two. */
void cu_fake_begin(void);
void cu_fake_end(void);
/* Whether one allocation has all of these bytes. */
bool cu_fake_holds(uint64_t address, size_t bytes);
/* Whether it is a stream. The copies that wait in it are done first. */
bool cu_fake_stream(const void *stream);
/* Whether this thread has a context. */
bool cu_fake_context(void);
/* Counts objects that were made (1) or freed (-1), for cu_fake_leaks. */
void cu_fake_live(const char *object_kind, int change);

/* Whether calls are captured into a graph instead of done. */
bool cu_fake_captures(void);
/* Adds a copy of the data to the graph that is being captured. Each launch of the graph calls replay with it. */
int cu_fake_keep(int (*replay)(void *data), const void *data, size_t bytes);
/* For a call that cannot be captured: the capture will end without a graph. Returns the code of that call. */
int cu_fake_spoil(void);

/* Each returns the library's function of this name, or NULL. */
void *cu_fake_driver_symbol(const char *name);
void *cu_fake_blas_symbol(const char *name);
void *cu_fake_dnn_symbol(const char *name);
void *cu_fake_nvrtc_symbol(const char *name);
void *cu_fake_nvrtc_12_symbol(const char *name);

/* In a shared library the functions have the names of the real ones. */
#ifdef CU_FAKE_LIBRARY
#define CU_FAKE_NAME(symbol) __asm__(#symbol)
#else
#define CU_FAKE_NAME(symbol)
#endif

#endif
