/* SPDX-License-Identifier: MIT
 *
 * The fake CUDA driver's devices, contexts and memory (fake.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_driver.h"

enum {
	DEVICE = 1000,   /* the CUdevice of GPU 0 */
	ALIGNMENT = 256, /* of allocations, in bytes */
	FILLED = 1 << 20 /* bytes of an allocation that are filled, at most */
};

struct allocation {
	struct allocation *next;
	uint64_t address;
	size_t bytes;
	char *map;
	size_t map_bytes;
};
struct pinned {
	struct pinned *next;
	char *memory;
	size_t bytes;
};
static struct {
	bool started, broken;
	int broken_code, contexts;
	struct allocation *allocation;
	struct pinned *pinned;
	size_t used;
	int working; /* calls of cu_fake_begin without cu_fake_end */
} gpu;
static _Thread_local const void *current; /* the context of this thread, or NULL */
static const char context;                /* its address is the handle of the only context */

int cu_fake_driver_call(const char *symbol)
{
	int code = cu_fake_fails(CU_FAKE_DRIVER, symbol);
	if (code && cu_fake.sticky && gpu.contexts) {
		gpu.broken = true;
		gpu.broken_code = code;
	}
	if (gpu.broken)
		return gpu.broken_code;
	return code;
}

bool cu_fake_context(void)
{
	return current == &context && gpu.contexts;
}

static void protect(int protection)
{
	for (struct allocation *a = gpu.allocation; a; a = a->next)
		if (mprotect(a->map, a->map_bytes, protection))
			abort();
}

void cu_fake_begin(void)
{
	if (!gpu.working++)
		protect(PROT_READ | PROT_WRITE);
}

void cu_fake_end(void)
{
	if (!--gpu.working)
		protect(PROT_NONE);
}

bool cu_fake_holds(uint64_t address, size_t bytes)
{
	if (!bytes)
		return true;
	for (struct allocation *a = gpu.allocation; a; a = a->next)
		if (address >= a->address && address - a->address <= a->bytes &&
		    bytes <= a->bytes - (address - a->address))
			return true;
	return false;
}

CU_RESULT fake_cuInit(unsigned flags)
{
	FAKE_CALL(cuInit);
	gpu.started = true;
	return flags ? cu_fake_violation(INVALID_VALUE, "cuInit(%u)", flags) : 0;
}

CU_RESULT fake_cuDriverGetVersion(int *version)
{
	FAKE_CALL(cuDriverGetVersion);
	*version = cu_fake.driver_version;
	return 0;
}

CU_RESULT fake_cuDeviceGetCount(int *count)
{
	FAKE_CALL(cuDeviceGetCount);
	if (!gpu.started)
		return cu_fake_violation(NOT_INITIALIZED, "cuDeviceGetCount before cuInit");
	*count = cu_fake.gpus;
	return 0;
}

CU_RESULT fake_cuDeviceGet(CU_DEVICE *device, int ordinal)
{
	FAKE_CALL(cuDeviceGet);
	if (ordinal < 0 || ordinal >= cu_fake.gpus)
		return cu_fake_violation(INVALID_DEVICE, "GPU %d", ordinal);
	*device = DEVICE + ordinal;
	return 0;
}

CU_RESULT fake_cuDeviceGetName(char *name, int n, CU_DEVICE device)
{
	FAKE_CALL(cuDeviceGetName);
	snprintf(name, (size_t)n, "Fake GPU %d", device - DEVICE);
	return 0;
}

CU_RESULT fake_cuDeviceGetAttribute(int *value, CU_ATTRIBUTE attribute, CU_DEVICE device)
{
	FAKE_CALL(cuDeviceGetAttribute);
	switch (attribute) {
	case CU_ATTRIBUTE_MAJOR:
		*value = cu_fake.major;
		return 0;
	case CU_ATTRIBUTE_MINOR:
		*value = cu_fake.minor;
		return 0;
	default:
		*value = attribute == CU_ATTRIBUTE_MULTIPROCESSORS ? 4 : device - DEVICE;
		return 0;
	}
}

CU_RESULT fake_cuDeviceTotalMem_v2(size_t *bytes, CU_DEVICE device)
{
	(void)device;
	FAKE_CALL(cuDeviceTotalMem);
	*bytes = cu_fake.memory_bytes;
	return 0;
}

CU_RESULT fake_cuGetErrorName(CU_RESULT code, const char **name)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {{OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
		     {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
		     {999, "CUDA_ERROR_UNKNOWN"}};
	*name = NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == code)
			*name = names[i].name;
	return *name ? 0 : INVALID_VALUE;
}

CU_RESULT fake_cuDevicePrimaryCtxRetain(CU_CONTEXT *to, CU_DEVICE device)
{
	(void)device;
	FAKE_CALL(cuDevicePrimaryCtxRetain);
	gpu.contexts++;
	cu_fake_live("contexts", 1);
	*to = (void *)(uintptr_t)&context;
	return 0;
}

CU_RESULT fake_cuDevicePrimaryCtxRelease_v2(CU_DEVICE device)
{
	(void)device;
	cu_fake_live("contexts", -1);
	if (!--gpu.contexts)
		gpu.broken = false;
	return 0;
}

CU_RESULT fake_cuCtxSetCurrent(CU_CONTEXT new_context)
{
	FAKE_CALL(cuCtxSetCurrent);
	if (new_context && (new_context != &context || !gpu.contexts))
		return cu_fake_violation(INVALID_CONTEXT, "a context that is none");
	current = new_context;
	return 0;
}

CU_RESULT fake_cuMemGetInfo_v2(size_t *available, size_t *total)
{
	FAKE_CALL_IN_CONTEXT(cuMemGetInfo);
	*available = cu_fake.memory_bytes - gpu.used;
	*total = cu_fake.memory_bytes;
	return 0;
}

CU_RESULT fake_cuMemAlloc_v2(CU_ADDRESS *address, size_t bytes)
{
	FAKE_CALL_IN_CONTEXT(cuMemAlloc);
	if (cu_fake_captures())
		return cu_fake_spoil();
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!bytes)
		return cu_fake_violation(INVALID_VALUE, "0 bytes are asked for");
	if (bytes > cu_fake.memory_bytes - gpu.used)
		return OUT_OF_MEMORY;
	struct allocation *a = calloc(1, sizeof *a);
	const size_t capacity = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	a->map_bytes = (capacity + page - 1) / page * page;
	a->map = mmap(NULL, a->map_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (a->map == MAP_FAILED)
		abort();
	a->address = (uint64_t)(uintptr_t)(a->map + a->map_bytes - capacity);
	a->bytes = bytes;
	a->next = gpu.allocation;
	gpu.allocation = a;
	gpu.used += bytes;
	if (gpu.used > cu_fake.peak_bytes)
		cu_fake.peak_bytes = gpu.used;
	cu_fake_live("allocations", 1);
	mprotect(a->map, a->map_bytes, PROT_READ | PROT_WRITE);
	/* Fresh memory is no zeros: as floats it has tiny negative numbers. The rest of a large allocation is not
	 * filled, so that it takes no real memory. */
	memset(a->map, 0xa5, a->map_bytes < FILLED ? a->map_bytes : FILLED);
	mprotect(a->map, a->map_bytes, PROT_NONE);
	*address = a->address;
	return 0;
}

CU_RESULT fake_cuMemFree_v2(CU_ADDRESS address)
{
	struct allocation **at = &gpu.allocation;
	int code = cu_fake_driver_call("cuMemFree");
	while (*at && (*at)->address != address)
		at = &(*at)->next;
	if (!*at)
		return cu_fake_violation(INVALID_VALUE, "memory is freed that is none");
	cu_fake_finish_copies();
	struct allocation *a = *at;
	*at = a->next;
	gpu.used -= a->bytes;
	munmap(a->map, a->map_bytes + (size_t)sysconf(_SC_PAGESIZE));
	free(a);
	cu_fake_live("allocations", -1);
	return code; /* an error of earlier work: the memory is freed all the same */
}

CU_RESULT fake_cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT(cuMemHostAlloc);
	if (cu_fake_captures())
		return cu_fake_spoil();
	if (cu_fake.no_pinned || flags)
		return OUT_OF_MEMORY;
	struct pinned *p = calloc(1, sizeof *p);
	p->memory = malloc(bytes);
	p->bytes = bytes;
	p->next = gpu.pinned;
	gpu.pinned = p;
	cu_fake_live("pinned allocations", 1);
	*memory = p->memory;
	return 0;
}

CU_RESULT fake_cuMemFreeHost(void *memory)
{
	struct pinned **at = &gpu.pinned;
	int code = cu_fake_driver_call("cuMemFreeHost");
	while (*at && (*at)->memory != memory)
		at = &(*at)->next;
	if (!*at)
		return cu_fake_violation(INVALID_VALUE, "pinned memory is freed that is none");
	cu_fake_finish_copies();
	struct pinned *p = *at;
	*at = p->next;
	free(p->memory);
	free(p);
	cu_fake_live("pinned allocations", -1);
	return code;
}

bool cu_fake_is_pinned(const void *memory)
{
	for (struct pinned *p = gpu.pinned; p; p = p->next)
		if ((const char *)memory >= p->memory && (const char *)memory < p->memory + p->bytes)
			return true;
	return false;
}

void *cu_fake_driver_symbol(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
#define CU_CALL(member, symbol, parameters) {#symbol, (void (*)(void))fake_##symbol},
#include "backends/cuda/load/driver_api.def"
#undef CU_CALL
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}
