/* SPDX-License-Identifier: MIT
 *
 * What the three files of the fake CUDA driver share. fake_driver.c has devices, contexts and memory, fake_stream.c has
 * streams, copies, events and launches, and fake_graph.c has captures and graphs.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_FAKE_DRIVER_H
#define NPULAB_TESTS_KIT_CUDA_FAKE_DRIVER_H

#include "backends/cuda/load/driver_api.h"
#include "fake.h"

#define CU_CALL(member, symbol, parameters) CU_RESULT fake_##symbol parameters CU_FAKE_NAME(symbol);
#include "backends/cuda/load/driver_api.def"
#undef CU_CALL

enum {
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_READY = 600,
	ILLEGAL_ADDRESS = 700,
	CAPTURE_UNSUPPORTED = 900,
	CAPTURE_INVALIDATED = 901
};

/* Counts a call. Returns the code with which it must fail, or 0. */
int cu_fake_driver_call(const char *symbol);
#define FAKE_CALL(symbol)                                                                                              \
	do {                                                                                                           \
		int code_ = cu_fake_driver_call(#symbol);                                                              \
		if (code_)                                                                                             \
			return code_;                                                                                  \
	} while (0)
#define FAKE_CALL_IN_CONTEXT(symbol)                                                                                   \
	do {                                                                                                           \
		FAKE_CALL(symbol);                                                                                     \
		if (!cu_fake_context())                                                                                \
			return cu_fake_violation(INVALID_CONTEXT, "%s without a context", #symbol);                    \
	} while (0)

void cu_fake_finish_copies(void); /* does the copies that wait in the stream */
bool cu_fake_is_pinned(const void *memory);

#endif
