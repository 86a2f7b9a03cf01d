/* SPDX-License-Identifier: MIT
 *
 * What the tests of the GPU's kernels share: the kernels on a processor (native.h), and a layer run by them and by the
 * reference over the same values, the results compared.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_KERNEL_SUPPORT_H
#define NPULAB_TESTS_KIT_CUDA_KERNEL_SUPPORT_H

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "backends/cuda/kernel/kernel.h"
#include "core/base/dtype.h"
#include "core/base/half.h"
#include "native.h"
#include "tests/kit/activated.h"
#include "tests/kit/ops_support.h"

struct gpu {
	struct cu_driver driver;
	struct cu_nvrtc nvrtc;
	struct cu_kernels *kernels;
};

static inline void *native_open(const char *name)
{
	static char library;
	return strstr(name, "nvrtc.so.13") ? &library : NULL;
}

static inline void *native_find(void *library, const char *name)
{
	(void)library;
	return cuda_native_symbol(name);
}

static inline void native_close(void *library)
{
	(void)library;
}

static inline const char *native_last_error(void)
{
	return "not in this test";
}

static const struct cu_loader native_loader = {native_open, native_find, native_close, native_last_error};

static inline int native_error_name(int code, const char **name)
{
	*name = "CUDA_ERROR_OF_A_TEST";
	return code == 0;
}

static inline void take_symbol(const char *name, void *pointer)
{
	void *symbol = cuda_native_symbol(name);
	cr_assert(symbol, "%s", name);
	memcpy(pointer, &symbol, sizeof symbol);
}

static inline struct gpu *gpu_open(void)
{
	struct npl_err err = {0};
	struct gpu *gpu = calloc(1, sizeof *gpu);
	cr_assert(gpu);
	gpu->driver.error_name = native_error_name;
	take_symbol("cuModuleLoadData", &gpu->driver.module_load);
	take_symbol("cuModuleUnload", &gpu->driver.module_unload);
	take_symbol("cuModuleGetFunction", &gpu->driver.module_function);
	take_symbol("cuLaunchKernel", &gpu->driver.launch);
	cr_assert_eq(cu_nvrtc_open(&native_loader, 13000, 90, &gpu->nvrtc, &err), 0, "%s", err.msg);
	cr_assert_eq(cu_kernels_open(&gpu->driver, &gpu->nvrtc, 90, &gpu->kernels, &err), 0, "%s", err.msg);
	return gpu;
}

static inline void gpu_close(struct gpu *gpu)
{
	cu_kernels_close(gpu->kernels);
	cu_nvrtc_close(&gpu->nvrtc);
	free(gpu);
}

/* Memory of the GPU: `skew` elements beyond an address that any vector load may have; guard bytes before and after. */
struct device_memory {
	unsigned char *block, *data;
	size_t bytes;
};

static inline struct device_memory device_alloc(size_t bytes, size_t skew_bytes)
{
	struct device_memory memory = {.bytes = bytes};
	memory.block = aligned_alloc(64, (bytes + skew_bytes + 2 * GUARD_BYTES + 127) / 64 * 64);
	cr_assert(memory.block);
	memory.data = memory.block + GUARD_BYTES + skew_bytes;
	memset(memory.block, GUARD, GUARD_BYTES + skew_bytes);
	memset(memory.data, GUARD, bytes + GUARD_BYTES);
	return memory;
}

static inline void device_free(struct device_memory *memory, const char *label)
{
	for (unsigned char *p = memory->block; p < memory->data; p++)
		cr_assert_eq(*p, GUARD, "%s wrote before its result", label);
	for (size_t i = 0; i < GUARD_BYTES; i++)
		cr_assert_eq(memory->data[memory->bytes + i], GUARD, "%s wrote behind its result", label);
	free(memory->block);
}

static inline uint64_t address_of(const void *data)
{
	return (uint64_t)(uintptr_t)data;
}

/* A tensor's values as the GPU has them: floats rounded to the storage type. `tensor` is rounded too, so that the
 * reference sees the same. */
static inline struct device_memory to_device(struct npl_tensor *tensor, enum npl_dtype stored, size_t skew)
{
	const int64_t count = npl_tensor_count(tensor);
	const size_t element = npl_dtype_size(stored);
	struct device_memory memory = device_alloc((size_t)count * element, skew * element);
	if (stored == tensor->dtype) {
		if (count)
			memcpy(memory.data, tensor->data, (size_t)count * element);
		return memory;
	}
	npl_half_narrow(stored, tensor->data, count, memory.data);
	npl_half_widen(stored, memory.data, count, tensor->data);
	return memory;
}

struct kernel_case {
	enum npl_op op;
	struct npl_attrs *attrs;
	int n_in, n_out;
	struct npl_tensor *in[NPL_LAYER_INPUTS];
	enum npl_activation fused;
	enum npl_dtype dtype;      /* of float32 */
	double relative, absolute; /* what a result may be off, beside half a step of the storage type */
	bool channels_last;        /* how tensors lie where the layer leaves a choice */
	bool unknown; /* the shape rule sees no values but those that it needs: inputs are computed by the network */
	uint64_t seed;
};

static inline double stored_step(enum npl_dtype stored, double x)
{
	double size = fabs(x);
	if (stored == NPL_F16)
		return fmax(size * 0x1p-11, 0x1p-25);
	return stored == NPL_BF16 ? size * 0x1p-8 : size * 0x1p-24 + 0x1p-149;
}

static inline void compare_floats(const struct kernel_case *c, const struct npl_tensor *expected, const void *actual,
				  enum npl_dtype stored)
{
	const char *name = npl_op_defs[c->op].name;
	struct npl_tensor kernel_view = {.dtype = stored, .shape = expected->shape, .data = (void *)(uintptr_t)actual};
	for (int64_t i = 0; i < npl_tensor_count(expected); i++) {
		double x = npl_tensor_real(&kernel_view, i), y = activated(c->fused, npl_tensor_real(expected, i));
		if ((isnan(x) && isnan(y)) || x == y)
			continue;
		double allowed = fabs(y) * c->relative + c->absolute + 1.001 * stored_step(stored, y);
		if (stored == NPL_F16 && isinf(x) && fabs(y) > 65000)
			continue;
		cr_assert(fabs(x - y) <= allowed, "%s as %s, seed %llu: element %lld is %.9g, expected %.9g", name,
			  npl_dtype_name(stored), (unsigned long long)c->seed, (long long)i, x, y);
	}
}

static inline void compare(const struct kernel_case *c, int k, const struct npl_tensor *expected, const void *actual,
			   enum npl_dtype stored)
{
	if (npl_is_float32_or_half(expected->dtype)) {
		compare_floats(c, expected, actual, stored);
		return;
	}
	for (size_t i = 0; i < npl_tensor_bytes(expected); i++)
		cr_assert_eq(((const unsigned char *)actual)[i], ((const unsigned char *)expected->data)[i],
			     "%s, result %d, seed %llu: byte %zu is %d, expected %d", npl_op_defs[c->op].name, k,
			     (unsigned long long)c->seed, i, ((const unsigned char *)actual)[i],
			     ((const unsigned char *)expected->data)[i]);
}

/* An element for each position, in the other order: (N, C, ...) to (N, ..., C), or back. */
static inline void turn_elements(const struct npl_shape *shape, size_t element, bool to_last, unsigned char *data)
{
	const int64_t count = npl_shape_count(shape), channels = shape->dim[1],
		      plane = count ? count / shape->dim[0] / channels : 0;
	unsigned char *copy = malloc((size_t)count * element + 1);
	cr_assert(copy);
	memcpy(copy, data, (size_t)count * element);
	for (int64_t i = 0; i < count; i++) {
		const int64_t image = i / (channels * plane), c = i / plane % channels, at = i % plane,
			      last = (image * plane + at) * channels + c;
		memcpy(data + (size_t)(to_last ? last : i) * element, copy + (size_t)(to_last ? i : last) * element,
		       element);
	}
	free(copy);
}

/* Whether an input (k) or result (-1 - k) lies with channels last: each that may lie either way draws. */
static inline bool draws_last(const struct kernel_case *c, const struct npl_layer *layer, int k, uint64_t *seed)
{
	const enum cu_layouts layouts = c->channels_last ? cu_kernel_layouts(layer) : CU_LAYOUT_PLAIN;
	const struct npl_shape *shape = k < 0 ? &layer->out[-1 - k].shape : &layer->in[k]->shape;
	if (shape->rank < 3 || layouts == CU_LAYOUT_PLAIN)
		return false;
	if (layouts == CU_LAYOUT_READS)
		return k == 0;
	if (k < 0)
		return cu_kernel_follows(layer, -1 - k);
	if (shape->rank != layer->out->shape.rank)
		return false;
	return cu_kernel_same_layout(layer, k) || test_range(seed, 0, 1);
}

static inline void check_kernel_as_it_is(struct gpu *gpu, struct kernel_case *c)
{
	const char *name = npl_op_defs[c->op].name;
	const size_t skew = c->seed % 3 == 1;
	uint64_t draw = c->seed;
	struct npl_tensor out[8] = {{0}};
	struct device_memory memory[NPL_LAYER_INPUTS] = {{0}}, result[8] = {{0}};
	struct cu_value in[NPL_LAYER_INPUTS] = {{0}}, value[8] = {{0}};
	struct npl_layer layer = {.name = name,
				  .op = c->op,
				  .attrs = c->attrs,
				  .activation = c->fused,
				  .n_in = c->n_in,
				  .out = out,
				  .n_further = c->n_out - 1};
	struct npl_err err = {0};
	char reason[200] = "";
	for (int k = 0; k < c->n_in; k++)
		layer.in[k] = c->in[k];
	struct npl_tensor hidden[NPL_LAYER_INPUTS];
	const struct npl_tensor *kernel_view[NPL_LAYER_INPUTS] = {NULL};
	for (int k = 0; k < c->n_in; k++)
		if (c->in[k]) {
			hidden[k] = *c->in[k];
			if (c->unknown)
				hidden[k].data = NULL;
			kernel_view[k] = &hidden[k];
		}
	int rc = npl_op_shape(c->op, c->attrs, kernel_view, c->n_in, out, c->n_out, &err);
	cr_assert_eq(rc, 0, "%s, seed %llu: %s", name, (unsigned long long)c->seed, err.msg);
	cr_assert(cu_kernel_supports(&layer,
				     c->dtype == NPL_F16    ? CU_F16
				     : c->dtype == NPL_BF16 ? CU_BF16
							    : CU_F32,
				     reason, sizeof reason),
		  "%s: %s", name, reason);
	for (int k = 0; k < c->n_in; k++) {
		if (!c->in[k])
			continue;
		const enum npl_dtype declared = c->in[k]->dtype, stored = declared == NPL_F32 ? c->dtype : declared;
		memory[k] = to_device(c->in[k], stored, skew);
		in[k] = (struct cu_value){cu_kernel_reads(&layer, k) ? address_of(memory[k].data) : 0, stored,
					  c->in[k]->shape, draws_last(c, &layer, k, &draw)};
		if (in[k].channels_last)
			turn_elements(&in[k].shape, npl_dtype_size(stored), true, memory[k].data);
	}
	for (int k = 0; k < c->n_out; k++) {
		const enum npl_dtype stored = out[k].dtype == NPL_F32 ? c->dtype : out[k].dtype;
		cr_assert_eq(npl_tensor_alloc(&out[k], &err), 0, "%s", err.msg);
		result[k] = device_alloc((size_t)npl_tensor_count(&out[k]) * npl_dtype_size(stored),
					 skew * npl_dtype_size(stored));
		value[k] = (struct cu_value){address_of(result[k].data), stored, out[k].shape,
					     draws_last(c, &layer, -1 - k, &draw)};
	}
	rc = npl_op_run(c->op, c->attrs, layer.in, c->n_in, out, c->n_out, &err);
	cr_assert_eq(rc, 0, "%s, seed %llu: %s", name, (unsigned long long)c->seed, err.msg);
	rc = cu_kernel_run(gpu->kernels, &layer, in, value, NULL, &err);
	cr_assert_eq(rc, 0, "%s, seed %llu: %s", name, (unsigned long long)c->seed, err.msg);
	for (int k = 0; k < c->n_out; k++) {
		if (value[k].channels_last)
			turn_elements(&value[k].shape, npl_dtype_size(value[k].dtype), false, result[k].data);
		compare(c, k, &out[k], result[k].data, value[k].dtype);
		device_free(&result[k], name);
		npl_tensor_free(&out[k]);
	}
	for (int k = 0; k < c->n_in; k++)
		if (memory[k].block)
			device_free(&memory[k], name);
}

/* Runs the layer by the reference and by the kernels; compares. Once with its tensors as ONNX has them, and once with
 * channels last where it takes them so. */
static inline void check_kernel(struct gpu *gpu, struct kernel_case *c)
{
	check_kernel_as_it_is(gpu, c);
	c->channels_last = true;
	check_kernel_as_it_is(gpu, c);
	c->channels_last = false;
}

/* Up to max_rank dimensions of up to `limit`, mostly small. */
static inline struct npl_shape random_shape(uint64_t *seed, int min_rank, int max_rank, int64_t limit)
{
	struct npl_shape shape = {.rank = (int)test_range(seed, min_rank, max_rank)};
	for (int d = 0; d < shape.rank; d++)
		shape.dim[d] = test_range(seed, 1, test_range(seed, 0, 3) ? limit / 2 + 1 : limit);
	return shape;
}

/* A shape that broadcasts to this one. */
static inline struct npl_shape random_operand(uint64_t *seed, const struct npl_shape *shape)
{
	struct npl_shape operand = {
		.rank = (int)test_range(seed, test_range(seed, 0, 1) ? shape->rank : 0, shape->rank)};
	for (int d = 0; d < operand.rank; d++)
		operand.dim[d] = test_range(seed, 0, 2) ? shape->dim[shape->rank - operand.rank + d] : 1;
	return operand;
}

/* Floats of -scale..scale; integers of a few values, or all. */
static inline struct npl_tensor random_values(uint64_t *seed, enum npl_dtype dtype, struct npl_shape shape,
					      double scale)
{
	struct npl_tensor t = test_random_tensor(seed, dtype, shape);
	for (int64_t i = 0; i < npl_tensor_count(&t); i++) {
		if (dtype == NPL_F32)
			((float *)t.data)[i] *= (float)scale;
		else if (dtype == NPL_BOOL)
			((uint8_t *)t.data)[i] = (uint8_t)(test_rng(seed) >> 20 & 1);
	}
	return t;
}

#endif
