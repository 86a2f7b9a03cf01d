/* SPDX-License-Identifier: MIT
 *
 * Finds and loads CUDA's shared libraries when the cuda device is opened. A library is looked for, in this order:
 *   1. in the folders of NPULAB_CUDA_PATH, a list with colons: a folder that holds it, a toolkit (DIR/lib64), or the
 *      folder `nvidia` of Python's site-packages, whose wheels keep it in DIR/cu13/lib, DIR/cublas/lib and the like;
 *   2. where the dynamic linker looks;
 *   3. in /usr/local/cuda/lib64, and, of the driver, /usr/local/nvidia/lib64, where container hosts mount it.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_LIBRARY_H
#define NPULAB_BACKENDS_CUDA_LOAD_LIBRARY_H

#include <stddef.h>

#include "npulab/error.h"

/* The functions by which shared libraries are loaded; tests replace them by a fake. */
struct cu_loader {
	void *(*open)(const char *path); /* NULL: it cannot be loaded */
	void *(*symbol)(void *library, const char *name);
	void (*close)(void *library);
	const char *(*last_error)(void); /* the reason of the last failure */
};
extern const struct cu_loader cu_system_loader;

#define CU_PATH_BYTES 4096

struct cu_library {
	const struct cu_loader *loader; /* NULL: not open */
	void *handle;
	char path[CU_PATH_BYTES]; /* the path that was opened */
};

/* Opens the first library in `names` (NULL-terminated, in order of preference) that can be loaded. NPL_EDEVICE: none
 * can; `reason` has the loader's reason for the first name in the dynamic linker's places. */
int cu_library_open(const struct cu_loader *loader, const char *const *names, struct cu_library *library, char *reason,
		    size_t reason_bytes);
void cu_library_close(struct cu_library *library); /* accepts a zeroed one */

struct cu_symbol {
	const char *name;
	void *pointer; /* address of the function pointer */
};

/* Fills the pointers. Returns NULL, or the name of a missing symbol. */
const char *cu_library_symbols(const struct cu_library *library, const struct cu_symbol *symbols, size_t n);

#endif
