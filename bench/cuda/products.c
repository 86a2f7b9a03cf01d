/* SPDX-License-Identifier: MIT
 *
 * Measures square products. A Gemm layer on the cuda device and cuBLASLt called directly (direct.h) multiply the same
 * values in turns. The layer's time is that between the events that the device reports. Operands are on the GPU and the
 * result stays there. In int8 the layer of a network is measured too, with unsigned bytes in and 8 bits out. */
#include <string.h>

#include "bench_cuda.h"
#include "core/base/half.h"
#include "core/device_access.h"
#include "core/one_layer_group.h"
#include "direct.h"
#include "frontend/compare/square_product.h"
#include "npulab/single_layer.h"

enum { MAX_TURNS = 200, MIN_SIZE = 256 };

struct figures {
	double device, direct, many; /* seconds */
	double error; /* the greatest difference of both results over the greatest value; NAN: not compared */
	unsigned mhz;
	char best[40];
};

/* The layer, with drawn operands; `bytes`: in int8, unsigned bytes in and 8 bits out. */
static int open_product(bool integers, bool bytes, int64_t size, struct square_product *p, struct npl_err *err)
{
	square_product_init(p, integers ? NPL_I8 : NPL_F32, size);
	if (bytes) {
		p->x.dtype = p->y.dtype = NPL_U8;
		p->x.quant.zero_point = p->y.quant.zero_point = 128;
		p->y.quant.scale = (float)(74 * 74 / 32.0 * sqrt((double)size)); /* four deviations of a sum */
	}
	return square_product_draw(p, err);
}

/* As the direct call wants an operand: in the type that the device computes in. NULL: out of memory. */
static void *narrowed(const struct cu_device *device, const struct npl_tensor *t)
{
	const enum npl_dtype type = cu_device_type(device, t->dtype);
	const int64_t count = npl_tensor_count(t);
	void *data = malloc((size_t)count * npl_dtype_size(type));
	if (!data || type == t->dtype)
		return data ? memcpy(data, t->data, npl_tensor_bytes(t)) : NULL;
	npl_half_narrow(type, t->data, count, data);
	return data;
}

static int open_direct(const struct cu_device *device, const struct square_product *p, int runs, struct direct *direct,
		       struct npl_err *err)
{
	void *x = narrowed(device, &p->x), *w = narrowed(device, &p->w);
	int rc = x && w ? direct_open(device, p->x.shape.dim[0], x, w, runs, direct, err)
			: npl_fail(err, NPL_ENOMEM, "out of memory for operands");
	free(x);
	free(w);
	return rc;
}

static double element(enum npl_dtype dtype, const void *data, int64_t i)
{
	switch (dtype) {
	case NPL_F16:
		return (double)npl_f16_to_float(((const uint16_t *)data)[i]);
	case NPL_BF16:
		return (double)npl_bf16_to_float(((const uint16_t *)data)[i]);
	case NPL_I32:
		return ((const int32_t *)data)[i];
	default:
		return (double)((const float *)data)[i];
	}
}

/* Both results, once. */
static int compare_results(struct npl_device *device, struct square_product *p, const struct direct *direct,
			   double *error, struct npl_err *err)
{
	struct npl_one_layer_group request;
	const int64_t count = npl_tensor_count(&p->y);
	struct npl_layer_group_handle *handle = NULL;
	struct npl_result result = {0};
	double most = 0, apart = 0;
	npl_one_layer_group_init(&request, &p->layer);
	void *found = malloc((size_t)count * npl_dtype_size(direct->result));
	int rc = found ? npl_tensor_alloc(&p->y, err) : npl_fail(err, NPL_ENOMEM, "out of memory for a result");
	if (!rc)
		rc = npl_device_open_layer_group(device, &request.group, &handle, err);
	if (!rc)
		rc = npl_device_run_layer_group(handle, NULL, &result, err);
	npl_device_close_layer_group(handle);
	if (!rc)
		rc = direct_result(direct, found, err);
	for (int64_t i = 0; i < count && !rc; i++) {
		const double ours = element(p->y.dtype, p->y.data, i), theirs = element(direct->result, found, i);
		const double difference = fabs(ours - theirs);
		most = fmax(most, fabs(theirs));
		apart = fmax(apart, isnan(difference) ? INFINITY : difference);
	}
	*error = apart / most;
	free(found);
	npl_tensor_free(&p->y);
	p->y.data = NULL;
	return rc;
}

/* Both in turns; then the direct call many times over, which tells how far the waits between two calls hold it up. */
static int take_turns(struct npl_layer_group_handle *group, const struct direct *direct,
		      const struct bench_options *options, const struct cu_nvml *nvml, struct figures *f,
		      struct npl_err *err)
{
	const struct bench_repeats repeats = bench_repeats(options);
	double times[2][MAX_TURNS], seconds;
	int n = 0;
	if (direct_once(direct, &seconds, err))
		return err->code;
	/* A third of a second of work wakes the clocks up. */
	const double third = 1.0 / 3 / (seconds > 1e-6 ? seconds : 1e-6);
	const int many = options->smallest ? 2 : third > 20000 ? 20000 : 1 + (int)third;
	if (direct_many(direct, many, nvml, &f->many, &f->mhz, err))
		return err->code;
	for (double begin = npl_clock_seconds();
	     n < MAX_TURNS && n < repeats.most && (n < repeats.least || npl_clock_seconds() - begin < repeats.enough);
	     n++) {
		struct npl_result result = {0};
		if (direct_once(direct, &times[0][n], err) || npl_device_run_layer_group(group, NULL, &result, err))
			return err->code;
		times[1][n] = result.seconds;
	}
	if (direct_many(direct, many, nvml, &f->many, &f->mhz, err))
		return err->code;
	f->direct = bench_median(times[0], n);
	f->device = bench_median(times[1], n);
	direct_text(direct, f->best, sizeof f->best);
	return 0;
}

static int measure(struct npl_device *device, bool bytes, int64_t size, const struct bench_options *options,
		   const struct cu_nvml *nvml, struct figures *f, struct npl_err *err)
{
	const struct cu_device *cuda = npl_device_state(device);
	struct npl_layer_group_handle *group = NULL;
	struct direct direct = {0};
	struct square_product p;
	*f = (struct figures){.error = NAN};
	int rc = open_product(cuda->precision == CU_INT8, bytes, size, &p, err);
	if (!rc)
		rc = open_direct(cuda, &p, options->smallest ? 1 : 7, &direct, err);
	if (!rc && !bytes && size <= 4096)
		rc = compare_results(device, &p, &direct, &f->error, err);
	if (!rc)
		rc = npl_device_open_layer_group(device, &p.on_device.group, &group, err);
	if (!rc)
		rc = take_turns(group, &direct, options, nvml, f, err);
	npl_device_close_layer_group(group);
	direct_close(&direct);
	square_product_free(&p);
	return rc;
}

static void print_row(const char *precision, int64_t size, const struct figures *f)
{
	const double ops = 2.0 * (double)size * (double)size * (double)size * 1e-12;
	char clock[24] = "-", error[24] = "-";
	if (f->mhz)
		snprintf(clock, sizeof clock, "%u", f->mhz);
	if (!isnan(f->error))
		snprintf(error, sizeof error, "%.1e", f->error);
	printf("| %s | %lld | %.5f | %.4g | %.5f | %.4g | %.3f | %.5f | %.4g | %s | %s | %s |\n", precision,
	       (long long)size, f->device * 1e3, ops / f->device, f->direct * 1e3, ops / f->direct,
	       f->direct / f->device, f->many * 1e3, ops / f->many, clock, error, f->best);
	fflush(stdout);
}

/* Measures and prints one row. Where the GPU's memory is too small for the size, it says so and goes on with half the
 * size. */
static int bench_size(struct npl_device *device, const char *name, bool bytes, int64_t size,
		      const struct bench_options *options, const struct cu_nvml *nvml)
{
	struct figures f;
	struct npl_err err = {0};
	int rc = NPL_ENOMEM;
	for (; rc == NPL_ENOMEM; size /= 2) {
		rc = measure(device, bytes, size, options, nvml, &f, &err);
		if (!rc) {
			print_row(name, size, &f);
			return 0;
		}
		printf("| %s | %lld | fails | %s | | | | | | | | |\n", name, (long long)size, err.msg);
		fflush(stdout);
		if (size / 2 < MIN_SIZE)
			break;
	}
	return rc != 0;
}

static int bench_precision(const char *precision, const struct bench_options *options)
{
	struct npl_device *device;
	struct npl_err err = {0};
	struct cu_nvml nvml;
	int failed = 0;
	if (bench_open(precision, &device, &err)) {
		printf("| %s | | fails | %s | | | | | | | | |\n", precision, err.msg);
		return 1;
	}
	const struct cu_device *cuda = npl_device_state(device);
	char bus[32];
	cu_bus_of(cuda, bus);
	const bool clocks = !cu_nvml_open(cuda->driver.library.loader, bus, &nvml, &err);
	for (int i = 0; i < options->sizes.n; i++) {
		const int64_t size = strtoll(options->sizes.item[i], NULL, 10);
		failed += bench_size(device, precision, false, size, options, clocks ? &nvml : NULL);
		if (cuda->precision == CU_INT8)
			failed += bench_size(device, "int8, bytes in and out", true, size, options,
					     clocks ? &nvml : NULL);
	}
	if (clocks)
		cu_nvml_close(&nvml);
	npl_device_close(device);
	return failed;
}

int bench_products(const struct bench_options *options)
{
	int failed = 0;
	printf("\n#### Products\n\nm = n = k = size, operands on the GPU, medians. \"device\" is a Gemm layer of the "
	       "cuda device, \"direct\" the best call of cuBLASLt, timed alike and in turns; \"of direct\" the rate "
	       "of the first over that of the second (at 8192 at least 0.9 is asked for); \"many\" direct calls "
	       "without a wait between them, and the GPU's clock meanwhile. \"apart\": the greatest difference of "
	       "both results over the greatest value.\n\n"
	       "| precision | size | device ms | TOP/s | direct ms | TOP/s | of direct | many ms | TOP/s | MHz | "
	       "apart | best direct call |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < options->precisions.n; i++)
		failed += bench_precision(options->precisions.item[i], options);
	return failed;
}
