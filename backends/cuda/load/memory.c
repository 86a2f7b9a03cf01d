/* SPDX-License-Identifier: MIT
 *
 * Takes memory of the GPU and pinned memory of the host (memory.h). */
#include "memory.h"

#define GIB 1073741824.0

int cu_block_open(const struct cu_driver *driver, size_t bytes, const char *purpose, struct cu_block *block,
		  struct npl_err *err)
{
	size_t available = 0, total = 0;
	*block = (struct cu_block){0};
	if (!bytes)
		return 0;
	int code = driver->memory_alloc(&block->address, bytes);
	if (!code) {
		block->bytes = bytes;
		return 0;
	}
	*block = (struct cu_block){0};
	if (code != CU_ERROR_OUT_OF_MEMORY)
		return cu_driver_failed(driver, "cuMemAlloc", code, err);
	if (driver->memory_info(&available, &total))
		return npl_fail(err, NPL_ENOMEM, "the GPU's memory is too small for %s: %zu bytes (%.2f GiB)", purpose,
				bytes, (double)bytes / GIB);
	return npl_fail(
		err, NPL_ENOMEM,
		"the GPU's memory is too small for %s: %zu bytes (%.2f GiB) were asked for, %zu (%.2f GiB) of its "
		"%zu (%.2f GiB) are free",
		purpose, bytes, (double)bytes / GIB, available, (double)available / GIB, total, (double)total / GIB);
}

void cu_block_close(const struct cu_driver *driver, struct cu_block *block)
{
	if (block->bytes)
		driver->memory_free(block->address);
	*block = (struct cu_block){0};
}

int cu_block_reserve(const struct cu_driver *driver, size_t bytes, const char *purpose, struct cu_block *block,
		     struct npl_err *err)
{
	if (bytes <= block->bytes)
		return 0;
	cu_block_close(driver, block);
	return cu_block_open(driver, bytes, purpose, block, err);
}

int cu_pinned_reserve(const struct cu_driver *driver, size_t bytes, struct cu_pinned *pinned, struct npl_err *err)
{
	if (bytes <= pinned->bytes)
		return 0;
	cu_pinned_close(driver, pinned);
	int code = driver->host_alloc(&pinned->memory, bytes, 0);
	if (!code) {
		pinned->bytes = bytes;
		return 0;
	}
	pinned->memory = NULL;
	return code == CU_ERROR_OUT_OF_MEMORY ? 0 : cu_driver_failed(driver, "cuMemHostAlloc", code, err);
}

void cu_pinned_close(const struct cu_driver *driver, struct cu_pinned *pinned)
{
	if (pinned->memory)
		driver->host_free(pinned->memory);
	*pinned = (struct cu_pinned){0};
}
