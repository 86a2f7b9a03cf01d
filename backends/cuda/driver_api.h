/* SPDX-License-Identifier: MIT
 *
 * The CUDA driver, loaded when the cuda device is asked for and never before: npulab builds and starts without
 * toolkit, driver or GPU. Declarations are our own; names, types and numbers are those of cuda.h.
 */
#ifndef NPULAB_CUDA_DRIVER_API_H
#define NPULAB_CUDA_DRIVER_API_H

#include "npulab/error.h"

/* How shared libraries are reached; tests put a fake driver behind it. */
struct cu_loader {
	void *(*open)(const char *soname); /* NULL: not there */
	void *(*symbol)(void *library, const char *name);
	void (*close)(void *library);
	const char *(*why)(void); /* the reason of the last failure */
};
extern const struct cu_loader cu_system_loader;

/* CUresult and CUdevice are ints. */
struct cu_driver {
	const struct cu_loader *loader;
	void *library;
	int (*init)(unsigned flags);
	int (*device_count)(int *count);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int n, int device);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*error_name)(int code, const char **name);
	/* modules of compiled kernels; a CUmodule, a CUfunction and a CUstream are pointers */
	int (*module_load)(void **module, const void *image); /* cuModuleLoadData */
	int (*module_unload)(void *module);
	int (*module_function)(void **function, void *module, const char *name);
	int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
		      unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
		      void **extra);
};

/* "the CUDA driver fails: CALL returns NAME (CODE)"; returns NPL_EDEVICE. */
int cu_driver_failed(const struct cu_driver *driver, const char *call, int code, struct npl_err *err);

/* Loads libcuda and starts it (cuInit). NPL_EDEVICE with the reason: no driver, or one without a GPU. */
int cu_driver_open(const struct cu_loader *loader, struct cu_driver *driver, struct npl_err *err);
void cu_driver_close(struct cu_driver *driver); /* accepts a zeroed one */

struct cu_gpu {
	char name[128];
	int major, minor; /* compute capability */
};

/* The GPU of an ordinal; NPL_EDEVICE when there is none or the driver fails. */
int cu_gpu_find(const struct cu_driver *driver, int ordinal, struct cu_gpu *gpu, struct npl_err *err);

#endif
