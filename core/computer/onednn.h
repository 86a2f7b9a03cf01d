/* SPDX-License-Identifier: MIT
 *
 * oneDNN, loaded when it is first asked for: nothing is linked and no header of it is needed, so that npulab builds and
 * starts where there is none. The few declarations used are here; a test compares them with the library's own headers
 * where those are installed.
 */
#ifndef NPULAB_CORE_COMPUTER_ONEDNN_H
#define NPULAB_CORE_COMPUTER_ONEDNN_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_ONEDNN_SONAME "libdnnl.so.2" /* Debian 12: package libdnnl2 */

/* The dnnl_version_t of oneDNN 2. */
struct npl_onednn_version {
	int major, minor, patch;
	const char *hash;
	unsigned cpu_runtime, gpu_runtime;
};
enum { NPL_ONEDNN_SEQUENTIAL = 1, NPL_ONEDNN_OPENMP = 2 }; /* values of cpu_runtime */

/* The values of dnnl_cpu_isa_t. Levels that multiply bytes exactly are those with the bits of AVX512_VNNI, and
 * AVX2_VNNI. */
enum {
	NPL_ONEDNN_SSE41 = 0x1,
	NPL_ONEDNN_AVX = 0x3,
	NPL_ONEDNN_AVX2 = 0x7,
	NPL_ONEDNN_AVX512 = 0x27,
	NPL_ONEDNN_AVX512_VNNI = 0x67,
	NPL_ONEDNN_AVX512_BF16 = 0xe7,
	NPL_ONEDNN_AVX512_AMX = 0x3e7,
	NPL_ONEDNN_AVX2_VNNI = 0x407,
};

/* The arguments of a function that computes c (m,n) = (op(a) - a_zero) (op(b) - b_zero), row-major, with alpha 1, beta
 * 0, offset_c 'F' and *co 0. It returns 0 on success. a_type is the type of a. */
#define NPL_ONEDNN_GEMM_ARGUMENTS(a_type)                                                                              \
	(char trans_a, char trans_b, char offset_c, int64_t m, int64_t n, int64_t k, float alpha, const a_type *a,     \
	 int64_t lda, a_type a_zero, const int8_t *b, int64_t ldb, int8_t b_zero, float beta, int32_t *c, int64_t ldc, \
	 const int32_t *co)

struct npl_onednn {
	void *library;
	int(*gemm_u8s8s32) NPL_ONEDNN_GEMM_ARGUMENTS(uint8_t);
	int(*gemm_s8s8s32) NPL_ONEDNN_GEMM_ARGUMENTS(int8_t);
	const struct npl_onednn_version *(*version)(void);
	int (*effective_isa)(void);
	int (*set_max_isa)(int isa); /* must be called before any other function of the library */
	/* Functions of the OpenMP that came with the library, for the calling thread. NULL: the library has no
	 * threads. */
	void (*set_num_threads)(int n);
	int (*get_max_threads)(void);
};

/* Loads oneDNN. Returns NPL_EDEVICE with the reason when it is not there, is not oneDNN 2, or has threads that cannot
 * be counted. The library stays until the process ends, because code that it has generated does too. */
int npl_onednn_load(const char *soname, struct npl_onednn *onednn, struct npl_err *err);

/* The user's limit of instructions, in the variable that the library reads first; false: there is none. The library
 * ignores a word that it does not know without a message. */
struct npl_onednn_limit {
	const char *variable, *word;
	bool known;
};
bool npl_onednn_limit(struct npl_onednn_limit *limit);
#define NPL_ONEDNN_LIMITS                                                                                              \
	"SSE41 AVX AVX2 AVX2_VNNI AVX512_CORE AVX512_CORE_VNNI AVX512_CORE_BF16 AVX512_CORE_AMX ALL" /* of 2.6 */

/* Returns the vectors of an instruction set: "SSE4.1", "AVX", "AVX2" or "AVX-512". */
const char *npl_onednn_vectors(int isa);
const char *npl_onednn_isa_name(int isa); /* "AVX-512 VNNI"; NULL: not one that is exact in 8 bits */

#ifdef __cplusplus
}
#endif

#endif
