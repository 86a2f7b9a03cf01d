/* SPDX-License-Identifier: MIT
 *
 * OpenBLAS, loaded when the cpu device is opened. Nothing is linked, so that npulab starts on computers without it.
 */
#ifndef NPULAB_BACKENDS_CPU_BLAS_H
#define NPULAB_BACKENDS_CPU_BLAS_H

#include <stdbool.h>

#include "npulab/error.h"
#include "openblas_core.h"

#define CPU_BLAS_SONAME "libopenblas.so.0"

enum { CPU_ROW_MAJOR = 101, CPU_NO_TRANS = 111, CPU_TRANS = 112 }; /* values of cblas.h */

struct cpu_blas {
	void *library;
	/* Computes c (m,n) = alpha op(a) (m,k) op(b) (k,n) + beta c. */
	void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
		      const float *b, int ldb, float beta, float *c, int ldc);
	/* Computes y = alpha op(a) x + beta y, where a is (m,n). */
	void (*sgemv)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
		      int incx, float beta, float *y, int incy);
	char *(*config)(void);
	char *(*corename)(void);
	void (*set_num_threads)(int n);
	int (*get_num_threads)(void);
	struct cpu_vectors isa;
};

/* Loads the library with the kernel family that fits this processor, unless the user has set OPENBLAS_CORETYPE or the
 * library is already in the process. The environment is changed only while the library initialises itself; another
 * thread must not read or write it meanwhile. The library stays mapped until the process ends, because its threads do.
 * `threads` (openblas_threads.h) is the number of threads that it starts and that take their buffers at once; 0: its
 * own choice. NPL_EDEVICE with the reason and the Debian package. */
int cpu_blas_load(const char *soname, int threads, struct cpu_blas *blas, struct npl_err *err);
void cpu_blas_unload(struct cpu_blas *blas); /* accepts a zeroed one */

/* Says whether OpenBLAS followed the user's OPENBLAS_CORETYPE. It does not where the name is unknown, this build lacks
 * its kernels, or the processor cannot run them. */
bool cpu_blas_obeys(const struct cpu_blas *blas);
/* Writes what OPENBLAS_CORETYPE did to the choice of kernels: " because OPENBLAS_CORETYPE is set", ",
 * OPENBLAS_CORETYPE=NAME ignored" or nothing. */
#define CPU_BLAS_REASON 80
void cpu_blas_reason(const struct cpu_blas *blas, char text[CPU_BLAS_REASON]);

/* Writes a description, "OpenBLAS 0.3.21, SkylakeX kernels, 2 threads, AVX-512", which says so if the kernels are older
 * than the processor. */
void cpu_blas_describe(const struct cpu_blas *blas, int threads, char *text, size_t n);

#endif
