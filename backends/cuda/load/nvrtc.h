/* SPDX-License-Identifier: MIT
 *
 * NVRTC, NVIDIA's compiler of CUDA C at run time, versions 12 and 13. The kernels' sources are texts in the program
 * (kernels/, scripts/embed.sh) and are compiled for the GPU that is found, so that building npulab needs nothing of the
 * toolkit. Declarations are our own; names and numbers are those of nvrtc.h.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_NVRTC_H
#define NPULAB_BACKENDS_CUDA_LOAD_NVRTC_H

#include "driver_api.h"

struct cu_text {
	const char *name, *text; /* a source's file name, as "unary.cu", and its text */
};
extern const struct cu_text cu_texts[]; /* all sources; the last entry has the name NULL */

enum { CU_NVRTC_ARCHITECTURES = 64 };

/* The functions of NVRTC. nvrtcResult is an int here, nvrtcProgram a pointer. */
struct cu_nvrtc {
	struct cu_library library;
	int major, minor; /* NVRTC's version */
	int n_architectures,
		architecture[CU_NVRTC_ARCHITECTURES]; /* architectures it compiles for, ascending: 75 is 7.5 */
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

/* Opens the installed NVRTC that fits best. The first choice is one whose major version is no newer than the driver's
 * (13000 is 13.0), since an older driver may not load what a newer NVRTC compiles. Among these it is one that knows the
 * GPU's compute capability (90 is 9.0), then the newer one. One newer than the driver is better than none. NPL_EDEVICE:
 * there is no NVRTC, it is too old (before 11.2) or damaged, or the GPU is older than all that it knows. */
int cu_nvrtc_open(const struct cu_loader *loader, int driver_version, int capability, struct cu_nvrtc *nvrtc,
		  struct npl_err *err);
void cu_nvrtc_close(struct cu_nvrtc *nvrtc); /* accepts a zeroed one */

/* Writes what cu_nvrtc_compile makes for a compute capability: "sm_90" is machine code, "compute_80" is PTX. Returns
 * text. */
const char *cu_nvrtc_target(const struct cu_nvrtc *nvrtc, int capability, char text[24]);

/* Compiles the source `name` with macros ("X=f32 N=4", separated by spaces) for a compute capability (90 is 9.0): to
 * machine code if this NVRTC knows the GPU, else to PTX of the nearest older architecture, which the driver compiles.
 * The caller frees *image. NPL_EINTERNAL: the source does not compile; the message has the log's first error.
 * NPL_EDEVICE: the GPU is older than all that this NVRTC knows. */
int cu_nvrtc_compile(const struct cu_nvrtc *nvrtc, const char *name, const char *macros, int capability, char **image,
		     size_t *bytes, struct npl_err *err);

#endif
