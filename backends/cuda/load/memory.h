/* SPDX-License-Identifier: MIT
 *
 * Memory of the GPU, and pinned memory of the host for transfers. If memory cannot be had, functions return NPL_ENOMEM,
 * the message says how much was asked for and how much is free, and nothing stays allocated.
 */
#ifndef NPULAB_BACKENDS_CUDA_LOAD_MEMORY_H
#define NPULAB_BACKENDS_CUDA_LOAD_MEMORY_H

#include "driver_api.h"

struct cu_block { /* part of the GPU's memory; bytes 0: none */
	uint64_t address;
	size_t bytes;
};

/* Takes memory; `purpose` names its use in the message, "weights of 53 layers". For 0 bytes nothing is taken. */
int cu_block_open(const struct cu_driver *driver, size_t bytes, const char *purpose, struct cu_block *block,
		  struct npl_err *err);
void cu_block_close(const struct cu_driver *driver, struct cu_block *block); /* accepts a zeroed one */

/* Enlarges the block to at least this many bytes. Its contents are lost when it grows. */
int cu_block_reserve(const struct cu_driver *driver, size_t bytes, const char *purpose, struct cu_block *block,
		     struct npl_err *err);

struct cu_pinned { /* pinned part of the host's memory */
	void *memory;
	size_t bytes;
};

/* Enlarges pinned memory to at least this many bytes. If the host has none left it stays empty, which is no error:
 * transfers then use the tensors' own memory. */
int cu_pinned_reserve(const struct cu_driver *driver, size_t bytes, struct cu_pinned *pinned, struct npl_err *err);
void cu_pinned_close(const struct cu_driver *driver, struct cu_pinned *pinned); /* accepts a zeroed one */

#endif
