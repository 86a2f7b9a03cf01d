/* SPDX-License-Identifier: MIT
 *
 * Layers below the roofs (roofline.h): each device's roofs, then the network on it, then a point for each layer. */
#include "npulab/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/device_access.h"
#include "devices_open.h"
#include "npulab/causes.h"
#include "roofline_point.h"
#include "roofs.h"

double npl_roofline_ridge(const struct npl_roofline_device *device, int roof)
{
	double ridge = device->roofs.roof[roof].macs_per_second / device->roofs.memory_bytes_per_second;
	return ridge > 0 ? ridge : NAN;
}

const char *npl_roofline_precision(const struct npl_roofline_device *device, int roof)
{
	const enum npl_format format = device->roofs.roof[roof].format;
	return format == device->info.format ? npl_device_precision(&device->info) : npl_format_name(format);
}

/* Returns what bounds the whole run, by the counters of all layers together. */
static const char *bound_of_run(const struct npl_roofline_device *device, const struct npl_run *run)
{
	struct npl_result sum = {0};
	struct npl_err ignored; /* only energies can fail to be added, and there are none */
	for (int i = 0; i < run->n_layers; i++) {
		struct npl_result result = run->layer[i].result;
		result.n_energy = 0;
		npl_result_add(&sum, &result, &ignored);
	}
	return npl_bound_of(&device->info, &sum);
}

/* Fills the point of the whole network: the work and the bytes of its layers, the time and traffic of the whole run.
 * Its peak is that of its layers, each at the peak of its own roof. */
static void sum_points(struct npl_roofline_device *device, const struct npl_run *run)
{
	struct npl_roofline_point *sum = &device->network;
	uint64_t greatest_macs = 0;
	double least_seconds = 0;
	*sum = (struct npl_roofline_point){.node = -1, .crossed_bytes = NAN, .seconds = run->device_seconds};
	for (int i = 0; i < device->n_points; i++) {
		const struct npl_roofline_point *point = &device->point[i];
		sum->macs += point->macs;
		sum->weight_bytes += point->weight_bytes;
		sum->input_bytes += point->input_bytes;
		sum->output_bytes += point->output_bytes;
		sum->bytes += point->bytes;
		sum->roof = point->macs > greatest_macs ? point->roof : sum->roof;
		greatest_macs = point->macs > greatest_macs ? point->macs : greatest_macs;
		least_seconds += (double)point->macs / device->roofs.roof[point->roof].macs_per_second;
	}
	if (device->roofs.origin == NPL_TIME_MODELLED) {
		sum->crossed_bytes = (double)run->bytes[NPL_MEM_DRAM];
		sum->bound = bound_of_run(device, run);
	}
	npl_roofline_fill(&device->roofs,
			  least_seconds > 0 ? (double)sum->macs / least_seconds : device->roofs.roof[0].macs_per_second,
			  sum);
}

static int take_points(struct npl_roofline *r, struct npl_roofline_device *device,
		       const struct npl_device_report *report, struct npl_err *err)
{
	device->point = npl_arena_array(&r->arena, (size_t)report->run.n_layers + 1, sizeof *device->point);
	if (!device->point)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", report->run.n_layers);
	device->batches = report->batches;
	for (int i = 0; i < report->run.n_layers; i++)
		if (report->run.layer[i].role == NPL_RAN && !npl_row_on_host(&report->run.layer[i]))
			npl_roofline_point_of(r->graph, &device->info, &device->roofs, &report->run.layer[i],
					      device->batches, r->intensity, &device->point[device->n_points++]);
	return 0;
}

/* Runs the network on one device and fills its points. A simulated device runs it layer by layer for the layers' points
 * and as a whole for the network's; a real one runs it once, for both. */
static int run_network(struct npl_roofline *r, struct npl_graph *graph, const struct npl_samples *samples,
		       const struct npl_samples *calibration, struct npl_compare_options *options,
		       struct npl_roofline_device *device, struct npl_err *err)
{
	struct npl_comparison network_run, layer_runs;
	const bool simulated = device->roofs.origin == NPL_TIME_MODELLED;
	options->plan.timing_only = simulated;
	options->plan.layer_by_layer = false;
	int rc = npl_compare(graph, samples, calibration, options, &network_run, err);
	if (rc)
		return rc;
	options->plan.layer_by_layer = true;
	if (simulated && !(rc = npl_compare(graph, samples, calibration, options, &layer_runs, err))) {
		rc = take_points(r, device, &layer_runs.device[0], err);
		npl_comparison_free(&layer_runs);
	} else if (!simulated) {
		rc = take_points(r, device, &network_run.device[0], err);
	}
	if (!rc)
		sum_points(device, &network_run.device[0].run);
	npl_comparison_free(&network_run);
	return rc;
}

/* Copies what a report says of the device, and finds its roofs. */
static int describe(struct npl_roofline *r, struct npl_device *open_device, struct npl_roofline_device *device,
		    struct npl_err *err)
{
	const char *sha256 = npl_device_sha256(open_device);
	device->name = npl_arena_strdup(&r->arena, npl_device_name(open_device));
	device->instance = npl_arena_strdup(&r->arena, npl_device_instance(open_device));
	device->sha256 = npl_arena_strdup(&r->arena, sha256 ? sha256 : "");
	device->info = *npl_device_get_info(open_device);
	device->info.memory_yaml = NULL; /* it belongs to the device, which is about to close */
	device->note = npl_device_keep_notes(open_device, &r->arena, &device->n_notes);
	if (!device->name || !device->instance || !device->sha256 || !device->note)
		return npl_no_memory(err);
	return npl_roofs_find(open_device, &device->roofs, err);
}

/* Fills fill[] with the settings of this device and of the host, with their names. Returns how many there are. */
static int sets_of(const char *name, const struct npl_compare_options *options, const char **fill)
{
	int n = 0;
	for (int i = 0; i < options->n_sets; i++)
		if (npl_device_sets(name, &options->set[i], 1, &(const char *){NULL}) ||
		    npl_device_sets(NPL_HOST_NAME, &options->set[i], 1, &(const char *){NULL}))
			fill[n++] = options->set[i];
	return n;
}

int npl_roofline(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
		 const struct npl_compare_options *options, enum npl_intensity intensity, struct npl_roofline *r,
		 struct npl_err *err)
{
	const int n = options->n_devices;
	*r = (struct npl_roofline){.graph = graph, .intensity = intensity};
	r->unavailable.arena = &r->arena;
	struct npl_device **open_device = calloc((size_t)n + 1, sizeof *open_device);
	const char **names = calloc((size_t)n + 1, sizeof *names);
	const char **sets = calloc((size_t)options->n_sets + 1, sizeof *sets);
	r->device = npl_arena_array(&r->arena, (size_t)n + 1, sizeof *r->device);
	int rc = open_device && names && sets && r->device
			 ? npl_devices_open(options, open_device, &r->unavailable, err)
			 : npl_no_memory(err);
	for (int d = 0; d < n && !rc; d++) {
		if (!open_device[d])
			continue;
		names[r->n_devices] = options->device_names[d];
		rc = describe(r, open_device[d], &r->device[r->n_devices], err);
		r->n_devices++;
	}
	for (int d = 0; open_device && d < n; d++)
		npl_device_close(open_device[d]);
	for (int d = 0; d < r->n_devices && graph && !rc; d++) {
		struct npl_compare_options device_options = *options;
		device_options.device_names = &names[d];
		device_options.n_devices = 1;
		device_options.set = sets;
		device_options.n_sets = sets_of(r->device[d].name, options, sets);
		device_options.engine = r->device[d].roofs.origin == NPL_TIME_MODELLED ? options->engine : NULL;
		device_options.no_accuracy = device_options.once = true;
		rc = run_network(r, graph, samples, calibration, &device_options, &r->device[d], err);
	}
	free(open_device);
	free(names);
	free(sets);
	if (rc)
		npl_roofline_free(r);
	return rc;
}

void npl_roofline_free(struct npl_roofline *roofline)
{
	npl_arena_free(&roofline->arena);
	*roofline = (struct npl_roofline){0};
}
