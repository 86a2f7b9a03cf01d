/* SPDX-License-Identifier: MIT
 *
 * Memory of the GPU and, pinned for transfers, of the host. What cannot be had is NPL_ENOMEM with what was asked for
 * and what is free; nothing is left behind.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_MEMORY_H
#define NPULAB_BACKENDS_CUDA_LOAD_MEMORY_H

#include "driver_api.h"

struct cu_block { /* of the GPU's memory; bytes 0: none */
	uint64_t address;
	size_t bytes;
};

/* `what`: for the message, "weights of 53 layers". 0 bytes are none. */
int cu_block_open(const struct cu_driver *driver, size_t bytes, const char *what, struct cu_block *block,
		  struct npl_err *err);
void cu_block_close(const struct cu_driver *driver, struct cu_block *block); /* accepts a zeroed one */

/* At least this many bytes; what the block held is lost when it grows. */
int cu_block_reserve(const struct cu_driver *driver, size_t bytes, const char *what, struct cu_block *block,
		     struct npl_err *err);

struct cu_pinned { /* of the host's memory */
	void *memory;
	size_t bytes;
};

/* Likewise. Where the host has no pinned memory left the block stays empty, which is no error: transfers then go from
 * where the values are. */
int cu_pinned_reserve(const struct cu_driver *driver, size_t bytes, struct cu_pinned *pinned, struct npl_err *err);
void cu_pinned_close(const struct cu_driver *driver, struct cu_pinned *pinned); /* accepts a zeroed one */

#endif
