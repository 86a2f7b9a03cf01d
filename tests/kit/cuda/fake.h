/* SPDX-License-Identifier: MIT
 *
 * CUDA without a GPU: a driver, cuBLASLt, cuDNN and NVRTC behind struct cu_loader that compute on the processor, in
 * memory of their own that nobody else can touch: it is mapped without access but while the "GPU" works, each
 * allocation ends at a page that is never there, and freed ones are gone. What the real libraries would refuse or
 * silently do wrong is a violation: a wrong handle, a range beyond an allocation, a misaligned address, work in a
 * stream that is gone, no context. Copies to and from pinned memory happen as late as they may. Time is counted, not
 * taken: the same work always takes as long.
 *
 * Any call can be made to fail. As a shared library (build/FLAVOUR/fake_cuda) it stands in for the real ones under
 * LD_LIBRARY_PATH; FAKE_CUDA_MIB then says how much memory its GPU has.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_FAKE_H
#define NPULAB_TESTS_KIT_CUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/load/library.h"

/* NVRTC 13.0 knows compute capability 7.5, 8.0 and 9.0; 12.8, which is missing unless a test asks for it, 7.0 and
 * 8.0. */
enum cu_fake_library { CU_FAKE_DRIVER, CU_FAKE_BLAS, CU_FAKE_DNN, CU_FAKE_NVRTC, CU_FAKE_NVRTC_12, CU_FAKE_LIBRARIES };

/* What there is and how it behaves; set by tests, after cu_fake_reset. */
struct cu_fake {
	bool missing[CU_FAKE_LIBRARIES];
	const char *missing_symbol;
	int gpus, major, minor, driver_version;
	size_t memory_bytes;
	bool no_pinned; /* no pinned memory is to be had */
	bool no_int8, no_dnn_algorithm, no_fused_convolution;
	bool no_channels_last, no_groups_last; /* convolutions so, and in groups: cuDNN has no algorithm */
	int fastest_algorithm;                 /* of cuDNN's, when it is measured: 0 or 1, the default; */
	double slower;                         /* how many times as long the other takes: 2 */
	double macs_per_second;                /* of products; 1e12 */
	bool no_capture;                       /* cuBLASLt and cuDNN refuse calls that are captured */
	bool no_values;                        /* products leave what is there: for those that only time is asked of */
	long fail_at;                          /* this call, counted from 1, fails (0: none), */
	int fail_code;                         /* with this code; 0: one that fits its library */
	bool sticky;                           /* and every later one of the driver, until the context is gone */
	/* counted */
	long calls;           /* that can fail */
	char failed_call[64]; /* the one that was made to fail */
	long opened, closed;  /* libraries */
	long launches, products, convolutions, fused_convolutions;
	long last_convolutions;  /* with channels last */
	long algorithm_lists;    /* of a convolution that were asked for */
	long graphs, replays;    /* made ready, and launched */
	long convolutions_by[2]; /* each of its algorithms */
	size_t bytes_up, bytes_down, peak_bytes;
	long violations;
	char violation[200]; /* the first */
};
extern struct cu_fake cu_fake;
extern const struct cu_loader cu_fake_loader;

/* One GPU of compute capability 9.0 with 1 GiB and a driver for CUDA 13.0; nothing counted, nothing fails. */
void cu_fake_reset(void);

/* What is still there that should not be: "2 allocations, 1 stream"; NULL: nothing. */
const char *cu_fake_leaks(void);

/* For the fake's own files. */
int cu_fake_fails(enum cu_fake_library library, const char *call);                              /* the code, or 0 */
int cu_fake_violation(int code, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns the code */
void cu_fake_seconds(double seconds);                   /* the GPU's clock goes on */
void cu_fake_begin(void);                               /* the GPU works: its memory is there, */
void cu_fake_end(void);                                 /* and gone */
bool cu_fake_holds(uint64_t address, size_t bytes);     /* one allocation does */
bool cu_fake_stream(const void *stream);                /* is one; what waits in it is done now */
bool cu_fake_context(void);                             /* this thread has one */
void cu_fake_live(const char *object_kind, int change); /* objects, for cu_fake_leaks */
/* While calls are captured cu_fake_keep copies what `replay` gets whenever the graph is launched, and nothing else
 * happens. */
bool cu_fake_captures(void);
int cu_fake_keep(int (*replay)(void *data), const void *data, size_t bytes);
/* A call that cannot be captured: nothing of the capture remains. Returns the code. */
int cu_fake_spoil(void);
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
