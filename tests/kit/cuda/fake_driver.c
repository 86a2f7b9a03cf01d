/* SPDX-License-Identifier: MIT
 *
 * The fake CUDA driver (fake.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cuda/load/driver_api.h"
#include "fake.h"
#include "native.h"

#define CU_CALL(member, symbol, parameters) CU_RESULT fake_##symbol parameters;
#include "backends/cuda/load/driver_api.def"
#undef CU_CALL
#ifdef CU_FAKE_LIBRARY
#define CU_CALL(member, symbol, parameters)                                                                            \
	CU_RESULT symbol parameters CU_FAKE_ALIAS(symbol);                                                             \
	CU_RESULT symbol parameters;
#include "backends/cuda/load/driver_api.def"
#undef CU_CALL
#endif

enum {
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_READY = 600,
	ILLEGAL_ADDRESS = 700
};
enum { DEVICE = 1000, ALIGNMENT = 256, FILLED = 1 << 20 }; /* CUdevice of GPU 0 */

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
struct event {
	uint32_t magic;
	bool recorded, done;
	double seconds;
};
struct stream {
	uint32_t magic;
};
enum { STREAM = 0x5744ea11, EVENT = 0x0e0e0e01 };

/* A copy that has not happened yet. */
struct copy {
	struct copy *next;
	void *to;
	const void *from;
	size_t bytes;
};

static struct {
	bool started, broken;
	int broken_code, contexts;
	struct allocation *allocation;
	struct pinned *pinned;
	size_t used;
	struct copy *first, **last;
	double seconds;
	int working;
} gpu;
static _Thread_local const void *current;
static const char context; /* its address is the handle */

#define FAKE_CALL(symbol)                                                                                              \
	do {                                                                                                           \
		int code_ = next_call(#symbol);                                                                        \
		if (code_)                                                                                             \
			return code_;                                                                                  \
	} while (0)
#define FAKE_CALL_IN_CONTEXT(symbol)                                                                                   \
	do {                                                                                                           \
		FAKE_CALL(symbol);                                                                                     \
		if (!cu_fake_context())                                                                                \
			return cu_fake_violation(INVALID_CONTEXT, "%s without a context", #symbol);                    \
	} while (0)

static int next_call(const char *symbol)
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

void cu_fake_seconds(double seconds)
{
	gpu.seconds += seconds;
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

static void run_pending_work(void)
{
	while (gpu.first) {
		struct copy *copy = gpu.first;
		gpu.first = copy->next;
		cu_fake_begin();
		memcpy(copy->to, copy->from, copy->bytes);
		cu_fake_end();
		free(copy);
	}
	gpu.last = &gpu.first;
}

bool cu_fake_stream(const void *stream)
{
	const struct stream *s = stream;
	if (!s || s->magic != STREAM)
		return cu_fake_violation(0, "work in a stream that is none");
	run_pending_work();
	return true;
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
	/* Fresh memory holds anything: as floats, tiny negative numbers. Of much, some: the rest costs no memory. */
	memset(a->map, 0xa5, a->map_bytes < FILLED ? a->map_bytes : FILLED);
	mprotect(a->map, a->map_bytes, PROT_NONE);
	*address = a->address;
	return 0;
}

CU_RESULT fake_cuMemFree_v2(CU_ADDRESS address)
{
	struct allocation **at = &gpu.allocation;
	int code = next_call("cuMemFree");
	while (*at && (*at)->address != address)
		at = &(*at)->next;
	if (!*at)
		return cu_fake_violation(INVALID_VALUE, "memory is freed that is none");
	run_pending_work();
	struct allocation *a = *at;
	*at = a->next;
	gpu.used -= a->bytes;
	munmap(a->map, a->map_bytes + (size_t)sysconf(_SC_PAGESIZE));
	free(a);
	cu_fake_live("allocations", -1);
	return code; /* of work that failed before: freed it is all the same */
}

CU_RESULT fake_cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT(cuMemHostAlloc);
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
	int code = next_call("cuMemFreeHost");
	while (*at && (*at)->memory != memory)
		at = &(*at)->next;
	if (!*at)
		return cu_fake_violation(INVALID_VALUE, "pinned memory is freed that is none");
	run_pending_work();
	struct pinned *p = *at;
	*at = p->next;
	free(p->memory);
	free(p);
	cu_fake_live("pinned allocations", -1);
	return code;
}

static bool is_pinned(const void *memory)
{
	for (struct pinned *p = gpu.pinned; p; p = p->next)
		if ((const char *)memory >= p->memory && (const char *)memory < p->memory + p->bytes)
			return true;
	return false;
}

static int copy_later(void *to, const void *from, size_t bytes)
{
	struct copy *copy = calloc(1, sizeof *copy);
	*copy = (struct copy){.to = to, .from = from, .bytes = bytes};
	*(gpu.first ? gpu.last : &gpu.first) = copy;
	gpu.last = &copy->next;
	cu_fake_seconds(5e-6 + (double)bytes / 20e9);
	return 0;
}

CU_RESULT fake_cuMemcpyHtoDAsync_v2(CU_ADDRESS to, const void *from, size_t bytes, CU_STREAM stream)
{
	FAKE_CALL_IN_CONTEXT(cuMemcpyHtoDAsync);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	if (!cu_fake_holds(to, bytes))
		return cu_fake_violation(ILLEGAL_ADDRESS, "%zu bytes come to where no memory is", bytes);
	cu_fake.bytes_up += bytes;
	copy_later((void *)(uintptr_t)to, from, bytes);
	if (!is_pinned(from))
		run_pending_work();
	return 0;
}

CU_RESULT fake_cuMemcpyDtoHAsync_v2(void *to, CU_ADDRESS from, size_t bytes, CU_STREAM stream)
{
	FAKE_CALL_IN_CONTEXT(cuMemcpyDtoHAsync);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	if (!cu_fake_holds(from, bytes))
		return cu_fake_violation(ILLEGAL_ADDRESS, "%zu bytes go from where no memory is", bytes);
	cu_fake.bytes_down += bytes;
	return copy_later(to, (const void *)(uintptr_t)from, bytes);
}

CU_RESULT fake_cuMemcpyDtoDAsync_v2(CU_ADDRESS to, CU_ADDRESS from, size_t bytes, CU_STREAM stream)
{
	FAKE_CALL_IN_CONTEXT(cuMemcpyDtoDAsync);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	if (!cu_fake_holds(to, bytes) || !cu_fake_holds(from, bytes))
		return cu_fake_violation(ILLEGAL_ADDRESS, "%zu bytes are copied where no memory is", bytes);
	return copy_later((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

CU_RESULT fake_cuMemsetD8Async(CU_ADDRESS to, unsigned char value, size_t bytes, CU_STREAM stream)
{
	FAKE_CALL_IN_CONTEXT(cuMemsetD8Async);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	if (!cu_fake_holds(to, bytes))
		return cu_fake_violation(ILLEGAL_ADDRESS, "%zu bytes are set where no memory is", bytes);
	cu_fake_begin();
	memset((void *)(uintptr_t)to, value, bytes);
	cu_fake_end();
	cu_fake_seconds(2e-6);
	return 0;
}

CU_RESULT fake_cuStreamCreate(CU_STREAM *to, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT(cuStreamCreate);
	struct stream *stream = calloc(1, sizeof *stream);
	(void)flags;
	stream->magic = STREAM;
	cu_fake_live("streams", 1);
	*to = stream;
	return 0;
}

CU_RESULT fake_cuStreamDestroy_v2(CU_STREAM at)
{
	struct stream *stream = at;
	int code = next_call("cuStreamDestroy");
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	stream->magic = 0;
	free(stream);
	cu_fake_live("streams", -1);
	return code;
}

/* A stream that fails does nothing more. */
static void give_up(void)
{
	while (gpu.first) {
		struct copy *copy = gpu.first;
		gpu.first = copy->next;
		free(copy);
	}
}

CU_RESULT fake_cuStreamSynchronize(CU_STREAM stream)
{
	int code = next_call("cuStreamSynchronize");
	if (code) {
		give_up();
		return code;
	}
	if (!cu_fake_context())
		return cu_fake_violation(INVALID_CONTEXT, "cuStreamSynchronize without a context");
	return cu_fake_stream(stream) ? 0 : INVALID_HANDLE;
}

CU_RESULT fake_cuEventCreate(CU_EVENT *to, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT(cuEventCreate);
	struct event *event = calloc(1, sizeof *event);
	(void)flags;
	event->magic = EVENT;
	cu_fake_live("events", 1);
	*to = event;
	return 0;
}

static bool is_event(const struct event *event)
{
	return (event && event->magic == EVENT) || cu_fake_violation(0, "an event that is none");
}

CU_RESULT fake_cuEventDestroy_v2(CU_EVENT event)
{
	int code = next_call("cuEventDestroy");
	if (!is_event(event))
		return INVALID_HANDLE;
	((struct event *)event)->magic = 0;
	free(event);
	cu_fake_live("events", -1);
	return code;
}

CU_RESULT fake_cuEventRecord(CU_EVENT at, CU_STREAM stream)
{
	struct event *event = at;
	FAKE_CALL_IN_CONTEXT(cuEventRecord);
	if (!is_event(event) || !stream || ((struct stream *)stream)->magic != STREAM)
		return cu_fake_violation(INVALID_HANDLE, "an event in a stream that is none");
	event->recorded = true;
	event->seconds = gpu.seconds;
	return 0;
}

CU_RESULT fake_cuEventElapsedTime(float *milliseconds, CU_EVENT from, CU_EVENT to)
{
	const struct event *a = from, *b = to;
	FAKE_CALL_IN_CONTEXT(cuEventElapsedTime);
	if (!is_event(a) || !is_event(b) || !a->recorded || !b->recorded)
		return cu_fake_violation(INVALID_HANDLE, "the time of an event that was never recorded");
	if (gpu.first)
		return cu_fake_violation(NOT_READY, "the time of an event that is still to come");
	*milliseconds = (float)((b->seconds - a->seconds) * 1e3);
	return *milliseconds < 0 ? cu_fake_violation(0, "an event before the one it is measured from") : 0;
}

/* Modules and launches are those of native.c. */
static void native(const char *name, void *pointer)
{
	void *symbol = cuda_native_symbol(name);
	memcpy(pointer, &symbol, sizeof symbol);
}

CU_RESULT fake_cuModuleLoadData(CU_MODULE *module, const void *image)
{
	CU_RESULT (*load)(CU_MODULE *, const void *);
	FAKE_CALL_IN_CONTEXT(cuModuleLoadData);
	native("cuModuleLoadData", &load);
	int code = load(module, image);
	if (!code)
		cu_fake_live("modules", 1);
	return code;
}

CU_RESULT fake_cuModuleUnload(CU_MODULE module)
{
	CU_RESULT (*unload)(CU_MODULE);
	int code = next_call("cuModuleUnload");
	native("cuModuleUnload", &unload);
	cu_fake_live("modules", -1);
	int failed = unload(module);
	return failed ? failed : code;
}

CU_RESULT fake_cuModuleGetFunction(CU_FUNCTION *function, CU_MODULE module, const char *name)
{
	CU_RESULT (*get)(CU_FUNCTION *, CU_MODULE, const char *);
	FAKE_CALL_IN_CONTEXT(cuModuleGetFunction);
	native("cuModuleGetFunction", &get);
	return get(function, module, name);
}

CU_RESULT fake_cuLaunchKernel(CU_FUNCTION function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
			      unsigned block_y, unsigned block_z, unsigned shared_bytes, CU_STREAM stream,
			      void **parameters, void **extra)
{
	CU_RESULT(*launch)
	(CU_FUNCTION, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CU_STREAM, void **,
	 void **);
	FAKE_CALL_IN_CONTEXT(cuLaunchKernel);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	native("cuLaunchKernel", &launch);
	cu_fake_begin();
	int code = launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
			  extra);
	cu_fake_end();
	cu_fake.launches++;
	cu_fake_seconds(4e-6);
	return code ? cu_fake_violation(code, "a launch of %u blocks of %u threads", grid_x, block_x) : 0;
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
