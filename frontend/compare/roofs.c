/* SPDX-License-Identifier: MIT
 *
 * Roofs (roofs.h). A real device's peak is the best rate of square products of growing size, which run through the
 * device as any layer; on a device with a link of its own, operands and result stay in its memory. The rate of its
 * memory is what the device itself measures (npl_driver.measure_memory), or that of adding two long arrays through the
 * device. */
#include "roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/computer/clock.h"
#include "devices_open.h"
#include "frontend/quantise/quantise.h"
#include "npulab/progress.h"
#include "npulab/single_layer.h"
#include "square_product.h"

#define MIN_SIZE 256
#define MAX_SIZE 8192 /* a GPU of 1000 TFLOP/s makes it in a millisecond, and is at its best from here on */

/* Limits in seconds. Sizes stop growing when the next product would take the device longer than PRODUCT_TIME, or this
 * computer longer than PRODUCT_WALL with all that moves to the device and back, or when its operands would take longer
 * than OPEN_WALL to make and to bring to the device. */
#define PRODUCT_TIME 0.3
#define PRODUCT_WALL 2.0
#define OPEN_WALL    8.0

#define SIZE_SECONDS 0.4 /* seconds spent on each size */
#define MIN_RUNS     3
#define MAX_ELEMENTS ((int64_t)64 << 20) /* elements of an array that is added: 256 MiB, beyond any cache */
#define FEW_ELEMENTS ((int64_t)4 << 20)  /* the least, where the device's memory is short */
#define ADD_RUNS     10
#define ADD_SECONDS  2.0

struct timing {
	double best; /* the device's shortest time of a run */
	double wall; /* wall-clock time of a run, on average */
	int runs;
	double open_seconds; /* wall-clock time of all that comes before the runs */
};

/* Runs a layer, in its layer group unless that is NULL: once to warm up, then at least `least_runs` times and for
 * `seconds`, but not after `most_seconds`. Fills *t, except open_seconds. */
static int time_layer(struct npl_device *device, const struct npl_layer *layer, struct npl_layer_group_handle *group,
		      int least_runs, double seconds, double most_seconds, struct timing *t, struct npl_err *err)
{
	const double begin = npl_clock_seconds();
	double elapsed = 0;
	*t = (struct timing){.best = INFINITY, .runs = -1};
	while (t->runs < 1 || (elapsed < most_seconds && (t->runs < least_runs || elapsed < seconds))) {
		struct npl_result result = {0};
		if (group ? npl_device_run_layer_group(group, NULL, &result, err)
			  : npl_device_run(device, layer, &result, err))
			return err->code;
		if (++t->runs > 0 && result.seconds > 0 && result.seconds < t->best)
			t->best = result.seconds;
		elapsed = npl_clock_seconds() - begin;
	}
	t->wall = elapsed / (t->runs + 1);
	return 0;
}

static int measure_size(struct npl_device *device, enum npl_format format, int64_t size, struct npl_roof *roof,
			struct timing *t, struct npl_err *err)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	const double begin = npl_clock_seconds();
	struct npl_layer_group_handle *group = NULL;
	const bool result_stays = info->link.measured; /* the result stays on the device */
	struct square_product p;
	square_product_init(&p, npl_format_dtype(format), size);
	int rc = square_product_draw(&p, err);
	if (!rc && !result_stays)
		rc = npl_tensor_alloc(&p.y, err);
	if (!rc && result_stays)
		rc = npl_device_open_layer_group(device, &p.on_device.group, &group, err);
	const double opening_seconds = npl_clock_seconds() - begin;
	if (!rc)
		rc = time_layer(device, &p.layer, group, MIN_RUNS, SIZE_SECONDS, PRODUCT_WALL, t, err);
	t->open_seconds = opening_seconds;
	double rate = rc ? 0 : (double)p.layer.macs / t->best;
	if (!rc && rate > roof->macs_per_second) {
		roof->macs_per_second = rate;
		snprintf(roof->explanation, sizeof roof->explanation,
			 "best of %d products of %lld x %lld by %lld x %lld %s matrices", t->runs, (long long)size,
			 (long long)size, (long long)size, (long long)size,
			 format == info->format ? npl_device_precision(info) : npl_format_name(format));
	}
	npl_device_close_layer_group(group);
	square_product_free(&p);
	return rc;
}

/* Measures the roof of a format and adds it; adds none if the device does not take products in the format. Sizes grow
 * until time or memory ends. */
static int measure_peak(struct npl_device *device, enum npl_format format, struct npl_roofs *roofs, struct npl_err *err)
{
	struct npl_roof *roof = &roofs->roof[roofs->n];
	struct square_product product;
	struct timing t = {0};
	char reason[200];
	int rc = 0;
	*roof = (struct npl_roof){.format = format};
	square_product_init(&product, npl_format_dtype(format), MIN_SIZE);
	if (!npl_device_supports(device, &product.layer, reason, sizeof reason))
		return 0;
	for (int64_t size = MIN_SIZE; size <= MAX_SIZE && 8 * t.best < PRODUCT_TIME && 8 * t.wall < PRODUCT_WALL &&
				      4 * t.open_seconds < OPEN_WALL && !rc;
	     size *= 2)
		rc = measure_size(device, format, size, roof, &t, err);
	if (rc && (rc == NPL_EINTERNAL || !(roof->macs_per_second > 0)))
		return rc;
	roofs->n++;
	return 0;
}

/* Measures the memory's rate with c = a + b through the device. NPL_EDEVICE: the device does not add arrays. */
static int measure_sum(struct npl_device *device, int64_t elements, struct npl_memory_rate *rate, struct npl_err *err)
{
	struct npl_attrs attrs = {.op = NPL_OP_ADD, .opset = 13};
	struct npl_tensor a = {.name = "a", .dtype = NPL_F32, .shape = npl_shape_of(1, elements)}, b = a, c = a;
	const struct npl_layer layer = {
		.name = "sum", .op = NPL_OP_ADD, .attrs = &attrs, .n_in = 2, .in = {&a, &b}, .out = &c};
	char reason[200];
	struct timing t;
	b.name = "b";
	c.name = "c";
	if (!npl_device_supports(device, &layer, reason, sizeof reason))
		return npl_fail(err, NPL_EDEVICE, "%s adds no arrays: %s", npl_device_name(device), reason);
	int rc = npl_tensor_alloc(&a, err) || npl_tensor_alloc(&b, err) || npl_tensor_alloc(&c, err) ? err->code : 0;
	if (!rc)
		rc = time_layer(device, &layer, NULL, ADD_RUNS, 0, ADD_SECONDS, &t, err);
	if (!rc) {
		rate->bytes_per_second = 3.0 * (double)npl_tensor_bytes(&a) / t.best;
		snprintf(rate->explanation, sizeof rate->explanation,
			 "c = a + b over float32 arrays of %lld MiB, best of %d; 12 bytes an element: two read, one "
			 "written",
			 (long long)(npl_tensor_bytes(&a) >> 20), t.runs);
	}
	npl_tensor_free(&a);
	npl_tensor_free(&b);
	npl_tensor_free(&c);
	return rc;
}

/* Measures the memory's rate with arrays as long as the device's memory allows. */
static int measure_by_array_sums(struct npl_device *device, struct npl_memory_rate *rate, struct npl_err *err)
{
	int rc = NPL_EDEVICE;
	for (int64_t elements = MAX_ELEMENTS; rc && rc != NPL_EINTERNAL && elements >= FEW_ELEMENTS; elements /= 4)
		rc = measure_sum(device, elements, rate, err);
	return rc;
}

static int measure(struct npl_device *device, struct npl_roofs *roofs, struct npl_err *err)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	const bool has_second_format = info->capabilities & NPL_ALSO_FLOAT32 || info->format != NPL_FORMAT_INT8;
	struct npl_memory_rate rate;
	struct npl_err error = {0};
	roofs->origin = NPL_TIME_MEASURED;
	npl_system_load_start(&roofs->load, NULL);
	const enum npl_format second_format = info->format == NPL_FORMAT_INT8 ? NPL_FORMAT_F32 : NPL_FORMAT_INT8;
	if (measure_peak(device, info->format, roofs, err) ||
	    (has_second_format && measure_peak(device, second_format, roofs, err)))
		return err->code;
	if (!roofs->n)
		return npl_fail(err, NPL_EDEVICE, "%s: takes no product of matrices", npl_device_name(device));
	int rc = npl_device_measure_memory(device, &rate, &error);
	if (rc == NPL_EDEVICE)
		rc = measure_by_array_sums(device, &rate, &error);
	npl_system_load_stop(&roofs->load);
	if (rc == NPL_EINTERNAL)
		return npl_fail(err, rc, "%s: %s", npl_device_name(device), error.msg);
	roofs->memory_bytes_per_second = rc ? NAN : rate.bytes_per_second;
	snprintf(roofs->memory_explanation, sizeof roofs->memory_explanation, "%.*s",
		 (int)sizeof roofs->memory_explanation - 1, rc ? error.msg : rate.explanation);
	return 0;
}

void npl_roofs_of_model(const struct npl_device_info *info, struct npl_roofs *roofs)
{
	*roofs = (struct npl_roofs){.memory_bytes_per_second = NAN};
	if (!npl_device_kind_is_modelled(info->kind) || !(info->peak_macs_per_second > 0))
		return;
	roofs->origin = NPL_TIME_MODELLED;
	roofs->n = 1;
	roofs->roof[0] = (struct npl_roof){.format = info->format, .macs_per_second = info->peak_macs_per_second};
	roofs->memory_bytes_per_second = info->memory_bytes_per_second > 0 ? info->memory_bytes_per_second : NAN;
	snprintf(roofs->memory_explanation, sizeof roofs->memory_explanation, "%s",
		 info->crosses[NPL_MEM_DRAM] == NPL_CROSS_WEIGHTS
			 ? "of the memory that weights come from"
			 : "of the memory that weights, inputs and results lie in");
}

int npl_roofs_find(struct npl_device *device, struct npl_roofs *roofs, struct npl_err *err)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	npl_progress_part(npl_device_instance(device), NULL, 0, 0);
	npl_roofs_of_model(info, roofs);
	if (info->kind == NPL_KIND_CPU || info->kind == NPL_KIND_GPU)
		return measure(device, roofs, err);
	if (!roofs->n)
		return npl_fail(
			err, NPL_EUSAGE,
			"roofline: %s has no roofs: expected simulated or analytical machines, processors or GPUs",
			npl_device_name(device));
	return 0;
}
