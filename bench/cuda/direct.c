/* SPDX-License-Identifier: MIT
 *
 * Calling cuBLASLt (direct.h). */
#include "direct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/products/product.h"
#include "bench_cuda.h"
#include "core/base/refuse.h"

#define WORKSPACE ((uint64_t)CU_BLAS_WORKSPACE) /* what the device has */

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static int describe(const struct direct *d, struct direct_method *method, struct npl_err *err)
{
	const struct cu_blas *blas = &d->device->blas;
	const int compute = d->operands == NPL_I8             ? CU_COMPUTE_I32
			    : d->device->precision == CU_TF32 ? CU_COMPUTE_TF32
							      : CU_COMPUTE_F32;
	const int32_t transposed = method->plain ? CU_PLAIN : CU_TRANSPOSED;
	const uint64_t n = (uint64_t)d->size;
	void **const operand[] = {&method->a, &method->b};
	if (cu_blas_try(blas, err, cublasLtMatmulDescCreate, product_create,
			(&method->product, compute, d->operands == NPL_I8 ? CU_TYPE_I32 : CU_TYPE_F32)) ||
	    cu_blas_try(blas, err, cublasLtMatmulDescSetAttribute, product_set,
			(method->product, CU_PRODUCT_TRANSPOSE_A, &transposed, sizeof transposed)) ||
	    cu_blas_try(blas, err, cublasLtMatrixLayoutCreate, matrix_create,
			(&method->d, cu_blas_type(d->result), n, n, d->size)))
		return err->code;
	for (int i = 0; i < 2; i++)
		if (cu_blas_try(blas, err, cublasLtMatrixLayoutCreate, matrix_create,
				(operand[i], cu_blas_type(d->operands), n, n, d->size)))
			return err->code;
	return 0;
}

/* Finds the algorithms that the heuristic offers. It is no error when there are none. */
static int find_algorithms(const struct direct *d, struct direct_method *method, struct npl_err *err)
{
	const struct cu_blas *blas = &d->device->blas;
	const uint64_t workspace = WORKSPACE;
	void *preference = NULL;
	int status = 0;
	if (cu_blas_try(blas, err, cublasLtMatmulPreferenceCreate, preference_create, (&preference)))
		return err->code;
	int rc = cu_blas_try(blas, err, cublasLtMatmulPreferenceSetAttribute, preference_set,
			     (preference, CU_PREFERENCE_WORKSPACE, &workspace, sizeof workspace));
	if (!rc)
		status = blas->heuristic(blas->handle, method->product, method->a, method->b, method->d, method->d,
					 preference, DIRECT_ALGORITHMS, method->found, &method->n);
	blas->preference_destroy(preference);
	if (rc)
		return rc;
	if (status == CU_BLAS_NOT_SUPPORTED)
		method->n = 0;
	return status == CU_BLAS_NOT_SUPPORTED ? 0 : cu_blas_result("cublasLtMatmulAlgoGetHeuristic", status, err);
}

/* Puts a call into the stream; cuBLASLt's status. Where weights lie (k,n) the product is of the same bytes read the
 * other way: of the same size and as random. */
static int call(const struct direct *d, const struct direct_method *method, const struct cu_heuristic *heuristic)
{
	static const float one = 1, none = 0;
	static const int32_t whole_one = 1, whole_none = 0;
	const struct cu_blas *blas = &d->device->blas;
	const bool integers = d->operands == NPL_I8;
	void *y = pointer(d->y.address);
	return blas->multiply(blas->handle, method->product, integers ? (const void *)&whole_one : &one,
			      pointer(d->w.address), method->a, pointer(d->x.address), method->b,
			      integers ? (const void *)&whole_none : &none, y, method->d, y, method->d,
			      &heuristic->algorithm, pointer(d->workspace.address), heuristic->workspace_bytes,
			      d->device->stream);
}

static int record(const struct direct *d, int i, struct npl_err *err)
{
	return cu_try(&d->device->driver, err, cuEventRecord, event_record, (d->event[i], d->device->stream));
}

/* Seconds between both events, when all is done. */
static int between(const struct direct *d, double *seconds, struct npl_err *err)
{
	float milliseconds = 0;
	if (cu_try(&d->device->driver, err, cuStreamSynchronize, stream_wait, (d->device->stream)) ||
	    cu_try(&d->device->driver, err, cuEventElapsedTime, event_elapsed,
		   (&milliseconds, d->event[0], d->event[1])))
		return err->code;
	*seconds = (double)milliseconds * 1e-3;
	return 0;
}

static int time_call(const struct direct *d, const struct direct_method *method, const struct cu_heuristic *heuristic,
		     double *seconds, struct npl_err *err)
{
	int status;
	if (record(d, 0, err))
		return err->code;
	if ((status = call(d, method, heuristic)))
		return cu_blas_result("cublasLtMatmul", status, err);
	return record(d, 1, err) ? err->code : between(d, seconds, err);
}

/* The median of so many runs, after one that warms up. An algorithm that cuBLASLt then refuses takes forever. */
static int time_algorithm(const struct direct *d, const struct direct_method *method,
			  const struct cu_heuristic *heuristic, int runs, double *seconds, struct npl_err *err)
{
	double *times = calloc((size_t)runs, sizeof *times);
	int rc = times ? 0 : npl_no_memory(err);
	*seconds = INFINITY;
	if (!rc && (heuristic->status || heuristic->workspace_bytes > WORKSPACE || call(d, method, heuristic))) {
		free(times);
		return 0;
	}
	for (int i = 0; i < runs && !rc; i++)
		rc = time_call(d, method, heuristic, &times[i], err);
	if (!rc)
		*seconds = bench_median(times, runs);
	free(times);
	return rc;
}

static int open_method(const struct direct *d, struct direct_method *method, int runs, struct npl_err *err)
{
	int best = -1;
	method->seconds = INFINITY;
	if (describe(d, method, err) || find_algorithms(d, method, err))
		return err->code;
	for (int i = 0; i < method->n; i++) {
		double seconds;
		if (time_algorithm(d, method, &method->found[i], runs, &seconds, err))
			return err->code;
		if (seconds < method->seconds) {
			method->seconds = seconds;
			best = i;
		}
	}
	method->place = best + 1;
	if (best > 0) {
		const struct cu_heuristic first = method->found[0];
		method->found[0] = method->found[best];
		method->found[best] = first;
	}
	return 0;
}

static int take_memory(struct direct *d, const void *x, const void *w, struct npl_err *err)
{
	const struct cu_driver *driver = &d->device->driver;
	const size_t count = (size_t)d->size * (size_t)d->size, bytes = count * npl_dtype_size(d->operands);
	if (cu_block_open(driver, bytes, "the operands of a direct call", &d->x, err) ||
	    cu_block_open(driver, bytes, "the operands of a direct call", &d->w, err) ||
	    cu_block_open(driver, count * npl_dtype_size(d->result), "the result of a direct call", &d->y, err) ||
	    cu_block_open(driver, WORKSPACE, "the workspace of a direct call", &d->workspace, err) ||
	    cu_try(driver, err, cuMemcpyHtoDAsync, to_device, (d->x.address, x, bytes, d->device->stream)) ||
	    cu_try(driver, err, cuMemcpyHtoDAsync, to_device, (d->w.address, w, bytes, d->device->stream)) ||
	    cu_try(driver, err, cuStreamSynchronize, stream_wait, (d->device->stream)))
		return err->code;
	for (int i = 0; i < 2; i++)
		if (cu_try(driver, err, cuEventCreate, event_create, (&d->event[i], 0)))
			return err->code;
	return 0;
}

int direct_open(const struct cu_device *device, int64_t size, const void *x, const void *w, int runs,
		struct direct *made, struct npl_err *err)
{
	const bool integers = device->precision == CU_INT8;
	*made = (struct direct){.device = device,
				.size = size,
				.operands = integers ? NPL_I8 : cu_device_type(device, NPL_F32),
				.result = integers ? NPL_I32 : cu_device_type(device, NPL_F32),
				.n_ways = integers ? 1 : DIRECT_WAYS}; /* int8 has the one way */
	int rc = cu_device_enter(device, err);
	if (!rc)
		rc = take_memory(made, x, w, err);
	for (int i = 0; i < made->n_ways && !rc; i++) {
		made->method[i].plain = i > 0;
		rc = open_method(made, &made->method[i], runs, err);
		if (!rc && made->method[i].seconds < made->method[made->best].seconds)
			made->best = i;
	}
	if (!rc && !isfinite(made->method[made->best].seconds))
		rc = npl_fail(err, NPL_EDEVICE, "cuBLASLt has no way to make it");
	if (rc)
		direct_close(made);
	return rc;
}

void direct_close(struct direct *d)
{
	if (!d->device)
		return;
	const struct cu_blas *blas = &d->device->blas;
	const struct cu_driver *driver = &d->device->driver;
	for (int i = 0; i < DIRECT_WAYS; i++) {
		void *const matrices[] = {d->method[i].a, d->method[i].b, d->method[i].d};
		for (size_t k = 0; k < sizeof matrices / sizeof *matrices; k++)
			if (matrices[k])
				blas->matrix_destroy(matrices[k]);
		if (d->method[i].product)
			blas->product_destroy(d->method[i].product);
	}
	for (int i = 0; i < 2; i++)
		if (d->event[i])
			driver->event_destroy(d->event[i]);
	cu_block_close(driver, &d->x);
	cu_block_close(driver, &d->w);
	cu_block_close(driver, &d->y);
	cu_block_close(driver, &d->workspace);
	*d = (struct direct){0};
}

int direct_once(const struct direct *d, double *seconds, struct npl_err *err)
{
	const struct direct_method *method = &d->method[d->best];
	return cu_device_enter(d->device, err) ? err->code : time_call(d, method, &method->found[0], seconds, err);
}

int direct_many(const struct direct *d, int n, const struct cu_nvml *nvml, double *seconds, unsigned *mhz,
		struct npl_err *err)
{
	const struct direct_method *method = &d->method[d->best];
	int status = 0;
	*mhz = 0;
	if (cu_device_enter(d->device, err) || record(d, 0, err))
		return err->code;
	for (int i = 0; i < n && !status; i++)
		status = call(d, method, &method->found[0]);
	if (status)
		return cu_blas_result("cublasLtMatmul", status, err);
	if (record(d, 1, err))
		return err->code;
	/* The processor is through long before the GPU: it is asked for its clock at work. */
	if (nvml && (!nvml->clock || nvml->clock(nvml->gpu, CU_NVML_CLOCK_SM, mhz)))
		*mhz = 0;
	if (between(d, seconds, err))
		return err->code;
	*seconds /= n;
	return 0;
}

int direct_result(const struct direct *d, void *y, struct npl_err *err)
{
	const size_t bytes = (size_t)d->size * (size_t)d->size * npl_dtype_size(d->result);
	if (cu_device_enter(d->device, err))
		return err->code;
	if (!isfinite(d->method[0].seconds))
		return npl_fail(err, NPL_EDEVICE, "cuBLASLt has no way to make it with weights that lie so");
	const int status = call(d, &d->method[0], &d->method[0].found[0]);
	if (status)
		return cu_blas_result("cublasLtMatmul", status, err);
	return cu_try(&d->device->driver, err, cuMemcpyDtoHAsync, to_host,
		      (y, d->y.address, bytes, d->device->stream)) ||
			       cu_try(&d->device->driver, err, cuStreamSynchronize, stream_wait, (d->device->stream))
		       ? err->code
		       : 0;
}

const char *direct_text(const struct direct *d, char *text, size_t n)
{
	const struct direct_method *method = &d->method[d->best];
	snprintf(text, n, "x %s, algorithm %d of %d", method->plain ? "w" : "w^T", method->place, method->n);
	return text;
}
