/* SPDX-License-Identifier: MIT
 *
 * The CUDA driver, loaded when the cuda device is asked for and never before: npulab builds and starts without
 * toolkit, driver or GPU. Declarations are our own; names and numbers are those of cuda.h.
 *
 * The driver's own interface is used rather than the runtime's (libcudart): libcuda comes with the driver that a GPU
 * needs in any case, its calls have not changed over CUDA 11, 12 and 13, and it hands out errors of one kind. cuBLASLt
 * and cuDNN bring the runtime with them, and meet us in the GPU's primary context.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_DRIVER_API_H
#define NPULAB_BACKENDS_CUDA_LOAD_DRIVER_API_H

#include <stdbool.h>
#include <stdint.h>

#include "library.h"

/* CUresult, CUdevice and CUdevice_attribute are ints, addresses of the GPU's memory 64 bits, all else a pointer to
 * something that only the driver knows. */
#define CU_RESULT    int
#define CU_DEVICE    int
#define CU_ATTRIBUTE int
#define CU_ADDRESS   uint64_t
#define CU_CONTEXT   void *
#define CU_STREAM    void *
#define CU_EVENT     void *
#define CU_MODULE    void *
#define CU_FUNCTION  void *

enum cu_error { CU_ERROR_OUT_OF_MEMORY = 2, CU_ERROR_STUB_LIBRARY = 34, CU_ERROR_NO_DEVICE = 100 };

enum cu_attribute {
	CU_ATTRIBUTE_CLOCK_KHZ = 13,
	CU_ATTRIBUTE_MULTIPROCESSORS = 16,
	CU_ATTRIBUTE_PCI_BUS = 33,
	CU_ATTRIBUTE_PCI_DEVICE = 34,
	CU_ATTRIBUTE_MEMORY_CLOCK_KHZ = 36,
	CU_ATTRIBUTE_MEMORY_BUS_BITS = 37,
	CU_ATTRIBUTE_L2_BYTES = 38,
	CU_ATTRIBUTE_PCI_DOMAIN = 50,
	CU_ATTRIBUTE_MAJOR = 75, /* compute capability */
	CU_ATTRIBUTE_MINOR = 76
};

enum { CU_STREAM_FLAG = 1 }; /* CU_STREAM_NON_BLOCKING: independent of the stream 0 */

struct cu_driver {
	struct cu_library library;
	int version_number; /* 13000: CUDA 13.0 is the newest that it runs */
#define CU_CALL(member, symbol, parameters) CU_RESULT(*member) parameters;
#include "driver_api.def"
#undef CU_CALL
};

/* Loads libcuda and starts it (cuInit). NPL_EDEVICE with the reason: no driver, or one without a GPU. */
int cu_driver_open(const struct cu_loader *loader, struct cu_driver *driver, struct npl_err *err);
void cu_driver_close(struct cu_driver *driver); /* accepts a zeroed one */

/* "the CUDA driver fails: cuMemAlloc returns CUDA_ERROR_OUT_OF_MEMORY (2)". Returns NPL_EDEVICE. */
int cu_driver_failed(const struct cu_driver *driver, const char *call, int code, struct npl_err *err);

/* cu_try(driver, err, cuInit, init, (0)): 0, or NPL_EDEVICE with the error said. */
#define cu_try(driver_, err_, symbol_, member_, arguments_)                                                            \
	cu_driver_result(driver_, #symbol_, (driver_)->member_ arguments_, err_)
static inline int cu_driver_result(const struct cu_driver *driver, const char *call, int code, struct npl_err *err)
{
	return code ? cu_driver_failed(driver, call, code, err) : 0;
}

struct cu_gpu {
	char name[128];
	int ordinal, device;
	int major, minor; /* compute capability */
	int multiprocessors;
	int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes; /* 0: the driver does not tell */
	int pci_domain, pci_bus, pci_device;
	size_t memory_bytes;
};

/* The GPU of an ordinal; NPL_EDEVICE when there is none or the driver fails. */
int cu_gpu_find(const struct cu_driver *driver, int ordinal, struct cu_gpu *gpu, struct npl_err *err);

#endif
