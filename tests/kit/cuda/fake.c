/* SPDX-License-Identifier: MIT
 *
 * The loader of the fake libraries (fake.h), the calls that fail, and the counts of violations and objects. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cu_fake cu_fake;

enum { MAX_KINDS = 24 };
static struct {
	const char *object_kind;
	long live;
} kind[MAX_KINDS];

static const char *const names[CU_FAKE_LIBRARIES] = {"libcuda.so", "libcublasLt.so", "libcudnn.so", "libnvrtc.so.13",
						     "libnvrtc.so.12"};

void cu_fake_reset(void)
{
	cu_fake = (struct cu_fake){.gpus = 1,
				   .major = 9,
				   .minor = 0,
				   .driver_version = 13000,
				   .memory_bytes = (size_t)1 << 30,
				   .macs_per_second = 1e12,
				   .fastest_algorithm = 1,
				   .slower = 2};
	cu_fake.missing[CU_FAKE_NVRTC_12] = true;
}

int cu_fake_fails(enum cu_fake_library library, const char *call)
{
	static const int default_versions[CU_FAKE_LIBRARIES] = {999, 14, 4000, 11, 11};
	if (++cu_fake.calls != cu_fake.fail_at)
		return 0;
	snprintf(cu_fake.failed_call, sizeof cu_fake.failed_call, "%s", call);
	return cu_fake.fail_code ? cu_fake.fail_code : default_versions[library];
}

int cu_fake_violation(int code, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	if (!cu_fake.violations++)
		vsnprintf(cu_fake.violation, sizeof cu_fake.violation, format, list);
	va_end(list);
	return code;
}

void cu_fake_live(const char *object_kind, int change)
{
	int k = 0;
	while (k < MAX_KINDS - 1 && kind[k].object_kind && strcmp(kind[k].object_kind, object_kind))
		k++;
	kind[k].object_kind = object_kind;
	kind[k].live += change;
	if (kind[k].live < 0)
		cu_fake_violation(0, "a %s is freed twice", object_kind);
}

const char *cu_fake_leaks(void)
{
	static char text[400];
	size_t used = 0;
	for (int k = 0; k < MAX_KINDS && kind[k].object_kind; k++)
		if (kind[k].live)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%ld %s", used ? ", " : "",
						 kind[k].live, kind[k].object_kind);
	return used ? text : NULL;
}

#ifdef CU_FAKE_LIBRARY
__attribute__((constructor)) static void start(void)
{
	const char *mib = getenv("FAKE_CUDA_MIB");
	cu_fake_reset();
	if (mib)
		cu_fake.memory_bytes = (size_t)atol(mib) << 20;
}
#endif

static void *fake_open(const char *path)
{
	for (int l = 0; l < CU_FAKE_LIBRARIES; l++)
		if (!cu_fake.missing[l] && !strncmp(path, names[l], strlen(names[l]))) {
			cu_fake.opened++;
			return (void *)&names[l];
		}
	return NULL;
}

static void *fake_symbol(void *library, const char *name)
{
	static void *(*const find[CU_FAKE_LIBRARIES])(const char *) = {cu_fake_driver_symbol, cu_fake_blas_symbol,
								       cu_fake_dnn_symbol, cu_fake_nvrtc_symbol,
								       cu_fake_nvrtc_12_symbol};
	const long l = (const char *const *)library - names;
	if (cu_fake.missing_symbol && !strcmp(cu_fake.missing_symbol, name))
		return NULL;
	return find[l](name);
}

static void fake_close(void *library)
{
	(void)library;
	cu_fake.closed++;
}

static const char *fake_last_error(void)
{
	return "not in this test";
}

const struct cu_loader cu_fake_loader = {fake_open, fake_symbol, fake_close, fake_last_error};
