/* SPDX-License-Identifier: MIT
 *
 * NVRTC, NVIDIA's compiler of CUDA C at run time: loaded when the first kernel is asked for, versions 12 and 13. The
 * kernels' sources are in the program (kernels/, scripts/embed.sh) and are compiled for the GPU that is there, so that
 * nothing of the toolkit is needed to build. Declarations are our own; names and numbers are those of nvrtc.h.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_NVRTC_H
#define NPULAB_BACKENDS_CUDA_LOAD_NVRTC_H

#include "driver_api.h"

struct cu_text {
	const char *name, *text; /* "unary.cu" */
};
extern const struct cu_text cu_texts[]; /* every source, a name of NULL at the end */

enum { CU_NVRTC_ARCHITECTURES = 64 };

/* nvrtcResult is an int, nvrtcProgram a pointer. */
struct cu_nvrtc {
	struct cu_library library;
	int major, minor;                           /* its version */
	int n_known, known[CU_NVRTC_ARCHITECTURES]; /* that it compiles for, 75 for compute capability 7.5, ascending */
	int (*version)(int *major, int *minor);
	int (*count_architectures)(int *count);
	int (*architectures)(int *architecture);
	int (*create)(void **program, const char *source, const char *name, int n_headers, const char *const *headers,
		      const char *const *header_names);
	int (*destroy)(void **program);
	int (*compile)(void *program, int n_options, const char *const *options);
	int (*log_size)(void *program, size_t *size);
	int (*log)(void *program, char *log);
	int (*cubin_size)(void *program, size_t *size);
	int (*cubin)(void *program, char *cubin);
	int (*ptx_size)(void *program, size_t *size);
	int (*ptx)(void *program, char *ptx);
	const char *(*error_string)(int code);
};

/* Of the versions that are there, that which fits best: no newer a major version than the driver's (13000 is 13.0),
 * since an older driver need not load what a newer NVRTC compiles; then one that knows the GPU's compute capability (90
 * is 9.0); then the newer one. One that is newer than the driver is better than none. NPL_EDEVICE: no NVRTC, or one too
 * old (before 11.2) or damaged, or the GPU is older than all that it knows. */
int cu_nvrtc_open(const struct cu_loader *loader, int driver_version, int capability, struct cu_nvrtc *nvrtc,
		  struct npl_err *err);
void cu_nvrtc_close(struct cu_nvrtc *nvrtc); /* accepts a zeroed one */

/* What cu_nvrtc_compile makes for a compute capability: "sm_90", machine code; "compute_80", PTX; returns text. */
const char *cu_nvrtc_target(const struct cu_nvrtc *nvrtc, int capability, char text[24]);

/* Compiles the source of a name with macros ("X=f32 N=4", spaces between them) for a compute capability (90 is 9.0):
 * machine code where this NVRTC knows the GPU, otherwise PTX of the nearest older one, which the driver compiles on.
 * *image is freed by the caller. NPL_EINTERNAL: the source does not compile, with the log's first error; NPL_EDEVICE:
 * the GPU is older than all that this NVRTC knows. */
int cu_nvrtc_compile(const struct cu_nvrtc *nvrtc, const char *name, const char *macros, int capability, char **image,
		     size_t *bytes, struct npl_err *err);

#endif
