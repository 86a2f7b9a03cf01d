/* SPDX-License-Identifier: MIT
 *
 * Compiles, keeps and launches kernels (kernel.h, job.h). A kernel is a source and its macros. Each pair is a module of
 * its own, compiled when it is first launched, so that a network compiles only what it uses: 20 kinds of layers take a
 * second. */
#include "kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "job.h"

#define MAX_BLOCKS    65536 /* blocks of a grid: more than any GPU runs at once; each block loops over the rest */
#define BLOCK_THREADS 256

struct kernel {
	char *key; /* "unary.cu X=f32" */
	uint64_t hash;
	void *module, *function;
};

struct cu_kernels {
	const struct cu_driver *driver;
	const struct cu_nvrtc *nvrtc;
	int capability;
	bool wide;
	uint64_t fault, counter;
	struct kernel *kernel;
	int64_t count, capacity;
	double seconds;
};

int cu_kernels_open(const struct cu_driver *driver, const struct cu_nvrtc *nvrtc, int capability,
		    struct cu_kernels **kernels, struct npl_err *err)
{
	*kernels = calloc(1, sizeof **kernels);
	if (!*kernels)
		return npl_no_memory(err);
	**kernels = (struct cu_kernels){.driver = driver, .nvrtc = nvrtc, .capability = capability};
	return 0;
}

void cu_kernels_close(struct cu_kernels *kernels)
{
	if (!kernels)
		return;
	for (int64_t i = 0; i < kernels->count; i++) {
		kernels->driver->module_unload(kernels->kernel[i].module);
		free(kernels->kernel[i].key);
	}
	free(kernels->kernel);
	free(kernels);
}

int cu_kernels_count(const struct cu_kernels *kernels, double *seconds)
{
	if (seconds)
		*seconds = kernels->seconds;
	return (int)kernels->count;
}

void cu_kernels_fault_at(struct cu_kernels *kernels, uint64_t address)
{
	kernels->fault = address;
}

void cu_kernels_count_at(struct cu_kernels *kernels, uint64_t address)
{
	kernels->counter = address;
}

void cu_kernels_widen(struct cu_kernels *kernels)
{
	kernels->wide = true;
}

uint64_t cu_fault_of(const struct cu_job *job)
{
	return job->kernels->fault;
}

uint64_t cu_counter_of(const struct cu_job *job)
{
	return job->kernels->counter;
}

void cu_macro_wide(const struct cu_job *job, struct cu_macros *macros, int64_t largest)
{
	/* A loop's position passes the end by less than a grid's threads, so it stays in 32 bits below 2^31
	 * elements. */
	if (job->kernels->wide || largest >= (int64_t)1 << 31)
		cu_macro(macros, "WIDE=1");
}

static uint64_t hash_of(const char *text) /* FNV-1a */
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* Reports a module that the driver does not load: it may refuse what NVRTC of a later CUDA makes. */
static int load_failed(const struct cu_kernels *kernels, int code, struct npl_err *err)
{
	const int driver = kernels->driver->version_number;
	const struct cu_nvrtc *nvrtc = kernels->nvrtc;
	struct npl_err failure = {0};
	cu_driver_failed(kernels->driver, "cuModuleLoadData", code, &failure);
	if (nvrtc->major * 1000 + nvrtc->minor * 10 <= driver)
		return npl_fail_as(err, &failure);
	return npl_fail(
		err, failure.code,
		"%s: NVRTC %d.%d compiles kernels and the driver is for CUDA %d.%d; NPULAB_CUDA_PATH may name the "
		"folder of an older NVRTC",
		failure.msg, nvrtc->major, nvrtc->minor, driver / 1000, driver % 1000 / 10);
}

static int load_kernel(struct cu_kernels *kernels, const char *name, const char *file, const char *macros,
		       struct kernel *loaded, struct npl_err *err)
{
	char *image;
	size_t bytes;
	double begin = npl_clock_seconds();
	int rc = cu_nvrtc_compile(kernels->nvrtc, file, macros, kernels->capability, &image, &bytes, err);
	if (rc)
		return rc;
	int code = kernels->driver->module_load(&loaded->module, image);
	free(image);
	if (code)
		return load_failed(kernels, code, err);
	code = kernels->driver->module_function(&loaded->function, loaded->module, name);
	kernels->seconds += npl_clock_seconds() - begin;
	if (!code)
		return 0;
	kernels->driver->module_unload(loaded->module);
	return cu_driver_failed(kernels->driver, "cuModuleGetFunction", code, err);
}

/* Finds the kernel of a source and macros; compiles it if it is new. */
static int find_kernel(struct cu_kernels *kernels, const char *name, const char *macros, void **function,
		       struct npl_err *err)
{
	char key[sizeof((struct cu_macros *)0)->text + 64], file[48];
	snprintf(file, sizeof file, "%s.cu", name);
	snprintf(key, sizeof key, "%s %s", file, macros);
	uint64_t hash = hash_of(key);
	for (int64_t i = 0; i < kernels->count; i++)
		if (kernels->kernel[i].hash == hash && !strcmp(kernels->kernel[i].key, key)) {
			*function = kernels->kernel[i].function;
			return 0;
		}
	struct kernel kernel = {.hash = hash, .key = strdup(key)};
	struct kernel *grown = npl_grow(kernels->kernel, kernels->count, &kernels->capacity, sizeof *grown);
	if (grown)
		kernels->kernel = grown;
	if (!kernel.key || !grown) {
		free(kernel.key);
		return npl_no_memory(err);
	}
	int rc = load_kernel(kernels, name, file, macros, &kernel, err);
	if (rc) {
		free(kernel.key);
		return rc;
	}
	kernels->kernel[kernels->count++] = kernel;
	*function = kernel.function;
	return 0;
}

int cu_launch(const struct cu_job *job, const char *name, const struct cu_macros *macros, const void *args,
	      struct cu_grid grid)
{
	void *function, *parameters[] = {NULL};
	const void *argument = args; /* the driver only reads it */
	memcpy(parameters, &argument, sizeof argument);
	if (grid.blocks < 1)
		return 0;
	int rc = find_kernel(job->kernels, name, macros->text, &function, job->err);
	if (rc)
		return rc;
	unsigned blocks = grid.blocks < MAX_BLOCKS ? (unsigned)grid.blocks : MAX_BLOCKS;
	int code = job->kernels->driver->launch(function, blocks, 1, 1, grid.x, grid.y, 1, 0, job->stream, parameters,
						NULL);
	return code ? cu_driver_failed(job->kernels->driver, "cuLaunchKernel", code, job->err) : 0;
}

int cu_launch_each(const struct cu_job *job, const char *name, const struct cu_macros *macros, const void *args,
		   int64_t n)
{
	const struct cu_grid grid = {npl_div_up_i64(n, BLOCK_THREADS), BLOCK_THREADS, 1};
	return cu_launch(job, name, macros, args, grid);
}

bool cu_reads(const struct npl_layer *layer, int k)
{
	if (k >= layer->n_in || !layer->in[k])
		return false;
	if (layer->op == NPL_OP_CLIP && k && npl_is_float32_or_half(layer->in[0]->dtype) && layer->attrs->clip.known)
		return false;
	if (layer->op == NPL_OP_CONCAT || layer->op == NPL_OP_SUM || k == 0)
		return true;
	if (layer->op == NPL_OP_PAD || layer->op == NPL_OP_ONEHOT)
		return k == 2;
	return !(npl_op_defs[layer->op].flags & (NPL_OP_NEEDS_VALUES | NPL_OP_IS_VIEW)) && layer->op != NPL_OP_CASTLIKE;
}
