/* SPDX-License-Identifier: MIT
 *
 * The CUDA driver, loaded when the cuda device is opened: npulab builds and starts without toolkit, driver or GPU.
 * Declarations are our own; names and numbers are those of cuda.h.
 *
 * npulab calls the driver's interface instead of the runtime's (libcudart), because libcuda comes with the driver that
 * every GPU needs, its calls are the same in CUDA 11, 12 and 13, and it has one kind of error code. cuBLASLt and cuDNN
 * load the runtime themselves; they share the GPU's primary context with us.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_DRIVER_API_H
#define NPULAB_BACKENDS_CUDA_LOAD_DRIVER_API_H

#include <stdbool.h>
#include <stdint.h>

#include "library.h"

/* CUresult, CUdevice, CUdevice_attribute and CUstreamCaptureMode are ints, addresses in the GPU's memory have 64 bits,
 * and all other types are pointers to structures that only the driver knows. */
#define CU_RESULT       int
#define CU_DEVICE       int
#define CU_ATTRIBUTE    int
#define CU_CAPTURE_MODE int
#define CU_ADDRESS      uint64_t
#define CU_CONTEXT      void *
#define CU_STREAM       void *
#define CU_EVENT        void *
#define CU_GRAPH        void *
#define CU_GRAPH_EXEC   void *
#define CU_MODULE       void *
#define CU_FUNCTION     void *

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

enum { CU_STREAM_FLAG = 1 };       /* CU_STREAM_NON_BLOCKING: independent of the stream 0 */
enum { CU_CAPTURE_OF_THREAD = 1 }; /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads go on as they like */
enum { CU_EVENT_IN_GRAPH = 1 };    /* CU_EVENT_RECORD_EXTERNAL: recorded by every launch of the graph */

struct cu_driver {
	struct cu_library library;
	int version_number; /* the newest CUDA that the driver runs: 13000 is 13.0 */
#define CU_CALL(member, symbol, parameters) CU_RESULT(*member) parameters;
#include "driver_api.def"
#undef CU_CALL
};

/* Loads libcuda and calls cuInit. NPL_EDEVICE with the reason: there is no driver, or no GPU. */
int cu_driver_open(const struct cu_loader *loader, struct cu_driver *driver, struct npl_err *err);
void cu_driver_close(struct cu_driver *driver); /* accepts a zeroed one */

/* Returns NPL_EDEVICE with a message: "the CUDA driver fails: cuMemAlloc returns CUDA_ERROR_OUT_OF_MEMORY (2)". */
int cu_driver_failed(const struct cu_driver *driver, const char *call, int code, struct npl_err *err);

/* Calls a function of the driver, as cu_try(driver, err, cuInit, init, (0)). Returns 0, or NPL_EDEVICE with the
 * error. */
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
	int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes; /* 0: the driver gives none */
	int pci_domain, pci_bus, pci_device;
	size_t memory_bytes;
};

/* Finds the GPU with an ordinal. NPL_EDEVICE: there is none, or the driver fails. */
int cu_gpu_find(const struct cu_driver *driver, int ordinal, struct cu_gpu *gpu, struct npl_err *err);

#endif
