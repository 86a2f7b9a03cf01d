/* SPDX-License-Identifier: MIT
 *
 * The fake NVRTC (fake.h). The C compiler compiles the kernels (native.h), and any call can be made to fail. */
#include <string.h>

#include "fake.h"
#include "native.h"

static void native(const char *name, void *pointer)
{
	void *symbol = cuda_native_symbol(name);
	memcpy(pointer, &symbol, sizeof symbol);
}

/* Defines a function that fails where cu_fake_fails() says so, and calls that of native.c otherwise. */
#define CALL(symbol, parameters, arguments)                                                                            \
	int fake_##symbol parameters CU_FAKE_NAME(symbol);                                                             \
	int fake_##symbol parameters                                                                                   \
	{                                                                                                              \
		int(*function) parameters, code = cu_fake_fails(CU_FAKE_NVRTC, #symbol);                               \
		if (code)                                                                                              \
			return code;                                                                                   \
		native(#symbol, &function);                                                                            \
		return function arguments;                                                                             \
	}

#define CALLS                                                                                                          \
	CALL(nvrtcVersion, (int *major, int *minor), (major, minor))                                                   \
	CALL(nvrtcGetNumSupportedArchs, (int *count), (count))                                                         \
	CALL(nvrtcGetSupportedArchs, (int *architecture), (architecture))                                              \
	CALL(nvrtcCreateProgram,                                                                                       \
	     (void **program, const char *source, const char *name, int n, const char *const *headers,                 \
	      const char *const *names),                                                                               \
	     (program, source, name, n, headers, names))                                                               \
	CALL(nvrtcCompileProgram, (void *program, int n, const char *const *options), (program, n, options))           \
	CALL(nvrtcGetProgramLogSize, (void *program, size_t *bytes), (program, bytes))                                 \
	CALL(nvrtcGetProgramLog, (void *program, char *log), (program, log))                                           \
	CALL(nvrtcGetCUBINSize, (void *program, size_t *bytes), (program, bytes))                                      \
	CALL(nvrtcGetCUBIN, (void *program, char *image), (program, image))                                            \
	CALL(nvrtcGetPTXSize, (void *program, size_t *bytes), (program, bytes))                                        \
	CALL(nvrtcGetPTX, (void *program, char *image), (program, image))

CALLS

int fake_nvrtcDestroyProgram(void **program) CU_FAKE_NAME(nvrtcDestroyProgram);
int fake_nvrtcDestroyProgram(void **program)
{
	int (*function)(void **);
	native("nvrtcDestroyProgram", &function);
	return function(program);
}

const char *fake_nvrtcGetErrorString(int code) CU_FAKE_NAME(nvrtcGetErrorString);
const char *fake_nvrtcGetErrorString(int code)
{
	const char *(*function)(int);
	native("nvrtcGetErrorString", &function);
	return function(code);
}

void *cu_fake_nvrtc_symbol(const char *name)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} symbols[] = {
#undef CALL
#define CALL(symbol, parameters, arguments) {#symbol, (void (*)(void))fake_##symbol},
		CALLS CALL(nvrtcDestroyProgram, , ) CALL(nvrtcGetErrorString, , )};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!strcmp(symbols[i].name, name)) {
			void *pointer;
			memcpy(&pointer, &symbols[i].function, sizeof pointer);
			return pointer;
		}
	return NULL;
}

/* NVRTC 12.8 is the same library with another version and other architectures. */
static int version_12(int *major, int *minor)
{
	*major = 12;
	*minor = 8;
	return cu_fake_fails(CU_FAKE_NVRTC_12, "nvrtcVersion");
}

static int count_12(int *count)
{
	*count = 2;
	return cu_fake_fails(CU_FAKE_NVRTC_12, "nvrtcGetNumSupportedArchs");
}

static int architectures_12(int *architecture)
{
	architecture[0] = 70;
	architecture[1] = 80;
	return cu_fake_fails(CU_FAKE_NVRTC_12, "nvrtcGetSupportedArchs");
}

void *cu_fake_nvrtc_12_symbol(const char *name)
{
	int (*const one_result)(int *) = !strcmp(name, "nvrtcGetNumSupportedArchs") ? count_12
					 : !strcmp(name, "nvrtcGetSupportedArchs")  ? architectures_12
										    : NULL;
	int (*const two_results)(int *, int *) = !strcmp(name, "nvrtcVersion") ? version_12 : NULL;
	void *pointer = NULL;
	if (one_result)
		memcpy(&pointer, &one_result, sizeof pointer);
	else if (two_results)
		memcpy(&pointer, &two_results, sizeof pointer);
	return pointer ? pointer : cu_fake_nvrtc_symbol(name);
}
