/* SPDX-License-Identifier: MIT
 *
 * The fake CUDA driver's streams, copies, events and launches (fake.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"
#include "native.h"

struct event {
	uint32_t magic;
	bool recorded, done;
	double seconds;
};
struct stream {
	uint32_t magic;
};
enum { STREAM = 0x5744ea11, EVENT = 0x0e0e0e01 };

/* A copy that waits in the stream. */
struct copy {
	struct copy *next;
	void *to;
	const void *from;
	size_t bytes;
};

static struct copy *first_copy, **last_copy = &first_copy;
static double gpu_seconds;

void cu_fake_seconds(double seconds)
{
	gpu_seconds += seconds;
}

void cu_fake_finish_copies(void)
{
	while (first_copy) {
		struct copy *copy = first_copy;
		first_copy = copy->next;
		cu_fake_begin();
		memcpy(copy->to, copy->from, copy->bytes);
		cu_fake_end();
		free(copy);
	}
	last_copy = &first_copy;
}

bool cu_fake_stream(const void *stream)
{
	const struct stream *s = stream;
	if (!s || s->magic != STREAM)
		return cu_fake_violation(0, "work in a stream that is none");
	cu_fake_finish_copies();
	return true;
}

static int copy_later(void *to, const void *from, size_t bytes);

static int replay_copy(void *data)
{
	const struct copy *copy = data;
	return copy_later(copy->to, copy->from, copy->bytes);
}

static int copy_later(void *to, const void *from, size_t bytes)
{
	if (cu_fake_captures())
		return cu_fake_keep(replay_copy, &(struct copy){.to = to, .from = from, .bytes = bytes},
				    sizeof(struct copy));
	struct copy *copy = calloc(1, sizeof *copy);
	*copy = (struct copy){.to = to, .from = from, .bytes = bytes};
	*(first_copy ? last_copy : &first_copy) = copy;
	last_copy = &copy->next;
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
	if (!cu_fake_is_pinned(from))
		cu_fake_finish_copies();
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

struct fill {
	uint64_t to;
	unsigned char value;
	size_t bytes;
};

static int do_fill(const struct fill *fill)
{
	if (!cu_fake_holds(fill->to, fill->bytes))
		return cu_fake_violation(ILLEGAL_ADDRESS, "%zu bytes are set where no memory is", fill->bytes);
	cu_fake_begin();
	memset((void *)(uintptr_t)fill->to, fill->value, fill->bytes);
	cu_fake_end();
	cu_fake_seconds(2e-6);
	return 0;
}

static int replay_fill(void *data)
{
	return do_fill(data);
}

CU_RESULT fake_cuMemsetD8Async(CU_ADDRESS to, unsigned char value, size_t bytes, CU_STREAM stream)
{
	FAKE_CALL_IN_CONTEXT(cuMemsetD8Async);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	const struct fill fill = {to, value, bytes};
	return cu_fake_captures() ? cu_fake_keep(replay_fill, &fill, sizeof fill) : do_fill(&fill);
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
	int code = cu_fake_driver_call("cuStreamDestroy");
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
	while (first_copy) {
		struct copy *copy = first_copy;
		first_copy = copy->next;
		free(copy);
	}
}

CU_RESULT fake_cuStreamSynchronize(CU_STREAM stream)
{
	int code = cu_fake_driver_call("cuStreamSynchronize");
	if (code) {
		give_up();
		return code;
	}
	if (!cu_fake_context())
		return cu_fake_violation(INVALID_CONTEXT, "cuStreamSynchronize without a context");
	if (cu_fake_captures())
		return cu_fake_spoil();
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
	int code = cu_fake_driver_call("cuEventDestroy");
	if (!is_event(event))
		return INVALID_HANDLE;
	((struct event *)event)->magic = 0;
	free(event);
	cu_fake_live("events", -1);
	return code;
}

static int take_time(struct event *event)
{
	event->recorded = true;
	event->seconds = gpu_seconds;
	return 0;
}

static int replay_event(void *data)
{
	struct event *event;
	memcpy(&event, data, sizeof event);
	return is_event(event) ? take_time(event) : INVALID_HANDLE;
}

CU_RESULT fake_cuEventRecord(CU_EVENT at, CU_STREAM stream)
{
	struct event *event = at;
	FAKE_CALL_IN_CONTEXT(cuEventRecord);
	if (!is_event(event) || !stream || ((struct stream *)stream)->magic != STREAM)
		return cu_fake_violation(INVALID_HANDLE, "an event in a stream that is none");
	if (cu_fake_captures())
		return cu_fake_violation(INVALID_VALUE, "an event whose time a graph does not record");
	return take_time(event);
}

CU_RESULT fake_cuEventRecordWithFlags(CU_EVENT event, CU_STREAM stream, unsigned flags)
{
	FAKE_CALL_IN_CONTEXT(cuEventRecordWithFlags);
	if (!is_event(event) || !stream || !cu_fake_captures() || flags != CU_EVENT_IN_GRAPH)
		return cu_fake_violation(INVALID_VALUE, "an event with flags %u", flags);
	return cu_fake_keep(replay_event, &event, sizeof event);
}

CU_RESULT fake_cuEventElapsedTime(float *milliseconds, CU_EVENT from, CU_EVENT to)
{
	const struct event *a = from, *b = to;
	FAKE_CALL_IN_CONTEXT(cuEventElapsedTime);
	if (!is_event(a) || !is_event(b) || !a->recorded || !b->recorded)
		return cu_fake_violation(INVALID_HANDLE, "the time of an event that was never recorded");
	if (first_copy)
		return cu_fake_violation(NOT_READY, "the time of an event that is still to come");
	*milliseconds = (float)((b->seconds - a->seconds) * 1e3);
	return *milliseconds < 0 ? cu_fake_violation(0, "an event before the one it is measured from") : 0;
}

/* Modules and launches come from native.c. */
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
	cu_fake_seconds(cu_fake.compile_seconds);
	return code;
}

CU_RESULT fake_cuModuleUnload(CU_MODULE module)
{
	CU_RESULT (*unload)(CU_MODULE);
	int code = cu_fake_driver_call("cuModuleUnload");
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

/* A launch. In a graph the bytes of the kernel's one argument follow it. */
struct launch {
	CU_FUNCTION function;
	unsigned grid[3], block[3], shared_bytes;
	CU_STREAM stream;
	bool has_extra;
};

static int do_launch(const struct launch *l, void **parameters)
{
	CU_RESULT(*launch)
	(CU_FUNCTION, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CU_STREAM, void **,
	 void **);
	native("cuLaunchKernel", &launch);
	cu_fake_begin();
	int code = launch(l->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
			  l->shared_bytes, l->stream, parameters, l->has_extra ? parameters : NULL);
	cu_fake_end();
	cu_fake.launches++;
	cu_fake_seconds(4e-6);
	return code ? cu_fake_violation(code, "a launch of %u blocks of %u threads", l->grid[0], l->block[0]) : 0;
}

static int replay_launch(void *data)
{
	void *parameters[] = {(struct launch *)data + 1};
	return do_launch(data, parameters);
}

static int keep_launch(const struct launch *launch, const void *argument)
{
	const size_t bytes = cuda_native_argument_bytes(launch->function);
	char *both = malloc(sizeof *launch + bytes);
	memcpy(both, launch, sizeof *launch);
	memcpy(both + sizeof *launch, argument, bytes);
	const int code = cu_fake_keep(replay_launch, both, sizeof *launch + bytes);
	free(both);
	return code;
}

CU_RESULT fake_cuLaunchKernel(CU_FUNCTION function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
			      unsigned block_y, unsigned block_z, unsigned shared_bytes, CU_STREAM stream,
			      void **parameters, void **extra)
{
	FAKE_CALL_IN_CONTEXT(cuLaunchKernel);
	if (!cu_fake_stream(stream))
		return INVALID_HANDLE;
	const struct launch launch = {
		function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, extra != NULL};
	return cu_fake_captures() ? keep_launch(&launch, parameters[0]) : do_launch(&launch, parameters);
}
