/* SPDX-License-Identifier: MIT
 *
 * One layer on several devices (single_layer.h). */
#include "npulab/single_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "core/one_layer_group.h"
#include "core/op_functions.h"
#include "devices_open.h"
#include "draw.h"
#include "energy.h"
#include "frontend/quantise/quantise.h"
#include "median.h"
#include "npulab/progress.h"
#include "npulab/sha256.h"
#include "repeats.h"
#include "report_copy.h"

#define MAX_REPEATS 1000
static const struct npl_repeats_rule measured_runs = {
	.least_runs = 5, .most_runs = MAX_REPEATS, .enough_seconds = 0.1, .long_seconds = 3};
static const struct npl_repeats_rule simulated_runs = {
	.least_runs = 1, .most_runs = 5, .enough_seconds = 1, .long_seconds = 1};

struct operands {
	struct npl_tensor x, w, y;
};

/* Returns the scale of a requantised result, from how wide one product sum typically is, so that the result uses its
 * range: full-range int8 values have a standard deviation of 74, unsigned ones a root mean square of 148, 16-bit ones a
 * standard deviation of 18918. */
static float result_scale(const struct npl_layer_spec *spec, enum npl_format format, int64_t depth)
{
	bool bytes = npl_is_byte(npl_format_dtype(format));
	float x = !bytes ? 18918.0f : spec->unsigned_x ? 148.0f : 74.0f;
	return 4 * x * 74.0f * sqrtf((float)depth) / (bytes ? 127.0f : 32767.0f);
}

/* Sets so many of the elements to 0. */
static void draw_zeros(struct npl_tensor *x, int64_t percent, struct npl_random *random)
{
	const size_t size = npl_dtype_size(x->dtype);
	for (int64_t i = 0; percent && i < npl_tensor_count(x); i++)
		if ((int64_t)(npl_random_u64(random) >> 32) % 100 < percent)
			memset((char *)x->data + (size_t)i * size, 0, size);
}

static int draw_operands(const struct npl_layer_spec *spec, enum npl_format format, struct npl_shape w_shape,
			 struct npl_shape y_shape, bool timing_only, struct operands *o, struct npl_err *err)
{
	struct npl_random random = {.state = spec->seed};
	bool has_weight = w_shape.rank > 0;
	bool per_channel = npl_format_per_channel(format); /* int8 and int8x16 */
	enum npl_dtype type = npl_format_dtype(format), result = npl_is_byte(type) ? NPL_I8 : type;
	enum npl_dtype dtype = spec->unsigned_x ? type : result;
	float scale = npl_format_plain_scale(format);
	*o = (struct operands){
		.x = {.name = "x", .dtype = dtype, .shape = spec->x, .quant.scale = scale},
		.w = {.name = "w", .dtype = dtype, .shape = w_shape, .quant.scale = scale},
		.y = {.name = "y", .dtype = dtype, .shape = y_shape, .quant.scale = scale},
	};
	if (per_channel && has_weight) {
		int64_t channels = w_shape.dim[0], depth = channels ? npl_shape_count(&w_shape) / channels : 0;
		o->w.dtype = npl_format_weight_dtype(format);
		o->y.dtype = spec->requantise ? result : NPL_I32;
		o->y.quant.scale = spec->requantise ? result_scale(spec, format, depth) : 0;
	}
	if (timing_only)
		return 0;
	if (npl_tensor_alloc(&o->x, err) || (has_weight && npl_tensor_alloc(&o->w, err)) ||
	    npl_tensor_alloc(&o->y, err))
		return err->code;
	npl_draw(&o->x, &random);
	if (has_weight)
		npl_draw(&o->w, &random);
	draw_zeros(&o->x, spec->zero_percent, &random);
	return 0;
}

/* One layer on a device. On a device that has layer groups it is a group of its own, which says what it moves. */
struct tested_layer {
	struct npl_device *device;
	const struct npl_layer *layer;
	struct npl_one_layer_group request;
	struct npl_layer_group_handle *group;      /* NULL: the device has no layer groups */
	struct npl_energy_measurement measurement; /* the measurement of a real device; for others it is never opened */
};

static int open_tested_layer(struct npl_device *device, const struct npl_layer *layer, struct tested_layer *tested,
			     struct npl_err *err)
{
	*tested = (struct tested_layer){.device = device, .layer = layer};
	if (!npl_device_has_layer_groups(device))
		return 0;
	npl_one_layer_group_init(&tested->request, layer);
	return npl_device_open_layer_group(device, &tested->request.group, &tested->group, err);
}

static int run_work(const struct tested_layer *tested, struct npl_result *result, struct npl_err *err)
{
	return tested->group ? npl_device_run_layer_group(tested->group, NULL, result, err)
			     : npl_device_run(tested->device, tested->layer, result, err);
}

struct times {
	int n;
	int repeats; /* timed runs, and those that only the energy meter needed */
	double wall[MAX_REPEATS], seconds[MAX_REPEATS];
	double to_device[MAX_REPEATS], to_host[MAX_REPEATS]; /* of transfers that the device measures, in seconds */
};

static int run_once(const struct tested_layer *tested, bool measured, const struct npl_device_report *report,
		    struct times *times, struct npl_err *err)
{
	const struct npl_result *first = &report->run.layer->result;
	struct npl_result repeat = {0};
	double start = npl_clock_seconds();
	if (run_work(tested, &repeat, err))
		return err->code;
	if (!measured && repeat.cycles != first->cycles)
		return npl_fail(err, NPL_EINTERNAL, "%s gave %llu and then %llu cycles", report->name,
				(unsigned long long)first->cycles, (unsigned long long)repeat.cycles);
	times->repeats++;
	if (times->n < MAX_REPEATS) {
		times->wall[times->n] = npl_clock_seconds() - start;
		times->to_device[times->n] = repeat.to_device.seconds;
		times->to_host[times->n] = repeat.to_host.seconds;
		times->seconds[times->n++] = repeat.seconds;
	}
	return 0;
}

/* Runs the timed repeats, after the run for the result. */
static int run_repeats(struct tested_layer *tested, bool measured, struct npl_device_report *report,
		       struct times *times, struct npl_err *err)
{
	const struct npl_repeats_rule *rule = measured ? &measured_runs : &simulated_runs;
	double start = npl_clock_seconds();
	if (measured) {
		npl_system_load_start(&report->load, NULL);
		npl_energy_measurement_start(&tested->measurement);
	}
	while (!npl_repeats_enough(rule, times->seconds, times->n, npl_clock_seconds() - start))
		if (run_once(tested, measured, report, times, err))
			return err->code;
	int timed = times->n;
	while (npl_energy_measurement_needs_run(&tested->measurement))
		if (run_once(tested, measured, report, times, err))
			return err->code;
	times->n = timed;
	if (measured) {
		npl_system_load_stop(&report->load);
		npl_energy_measurement_stop(&tested->measurement, times->repeats);
	}
	return 0;
}

/* Runs the layer: once for the result, then timed. */
static int run_timed(struct tested_layer *tested, struct npl_device_report *report, struct npl_err *err)
{
	struct npl_result *result = &report->run.layer->result;
	const bool measured = npl_is_measured(tested->device);
	struct times *times = calloc(1, sizeof *times);
	report->energy = NPL_ENERGY_UNKNOWN;
	report->spread = report->median_within = NAN;
	if (measured)
		npl_energy_measurement_open(&tested->measurement, &tested->device, 1, &report->energy);
	tested->measurement.own_time = true;
	int rc = times ? run_work(tested, result, err) : npl_no_memory(err);
	/* The timed runs are of the same program. */
	npl_device_dump_programs(tested->device, NULL, NULL);
	npl_device_tell_instructions(tested->device, NULL, NULL);
	if (!rc)
		rc = run_repeats(tested, measured, report, times, err);
	if (!rc) {
		int n = report->passes = times->n;
		double wall = npl_median(times->wall, n), median = npl_median(times->seconds, n); /* sorts the times */
		if (measured && median > 0)
			report->spread = (times->seconds[3 * n / 4] - times->seconds[n / 4]) / median;
		report->median_within = measured ? npl_median_within(times->seconds, n) : NAN;
		report->simulation_wall_seconds = measured ? NAN : wall;
		/* The first run's own times include work that is done once, such as compiling a conversion. */
		if (measured) {
			result->seconds = median;
			result->to_device.seconds = npl_median(times->to_device, n);
			result->to_host.seconds = npl_median(times->to_host, n);
		}
	}
	free(times);
	return rc;
}

/* Compares a float device's result with that of the operator's reference kernel, the float oracle. Other results are
 * not judged. */
static int judge(const struct npl_layer_spec *spec, const struct npl_compare_options *options,
		 const struct npl_layer *layer, struct npl_device_report *report, struct npl_err *err)
{
	struct npl_tensor ref = {.name = "reference", .dtype = NPL_F32, .shape = layer->out->shape};
	report->accuracy = NPL_ACCURACY_UNKNOWN;
	if (options->only_real_accuracy && npl_device_kind_is_modelled(report->info.kind))
		return 0;
	if (spec->no_accuracy || layer->out->dtype != NPL_F32 || layer->timing_only ||
	    report->info.kind == NPL_KIND_NULL)
		return 0;
	int rc = npl_tensor_alloc(&ref, err);
	if (!rc)
		rc = npl_op_run(layer->op, layer->attrs, layer->in, layer->n_in, &ref, 1, err);
	if (!rc)
		npl_accuracy_of(&ref, layer->out, 1, 1, NULL, &report->accuracy);
	report->accuracy.top1_agreement = NAN;
	npl_tensor_free(&ref);
	return rc;
}

/* Charges the transfer of an operand or result, which crosses the link before or after the layer, except for the bytes
 * that the layer moves within its cycles. */
static void charge_link(const struct npl_link *link, const struct npl_tensor *tensor,
			const struct npl_layer_group_info *info, struct npl_layer_run *row)
{
	uint64_t bytes = npl_tensor_bytes(tensor);
	for (int i = 0; info && i < info->n_transfers; i++)
		if (info->transfer[i] == tensor)
			bytes = info->bytes_outside[i];
	if (!link->name || !bytes)
		return;
	row->link_bytes += bytes;
	row->link_seconds += link->latency_seconds + (double)bytes / link->bytes_per_second;
	row->transfers++;
}

/* Fills what the row says beside the device's own figures. */
static int fill_row(const struct tested_layer *tested, const struct operands *o, struct npl_device_report *report,
		    struct npl_err *err)
{
	const struct npl_layer_group_info *info = tested->group ? npl_device_layer_group_info(tested->group) : NULL;
	struct npl_layer_run *row = report->run.layer;
	row->ran_on = report->name;
	row->output_dtype = o->y.dtype;
	row->output_quant = o->y.quant;
	row->counter_def = report->info.counter_def;
	row->n_counters = report->info.n_counters;
	if (report->info.link.measured) {
		row->link_bytes = row->result.to_device.bytes + row->result.to_host.bytes;
		row->link_seconds = row->result.to_device.seconds + row->result.to_host.seconds;
		row->transfers = (int)(row->result.to_device.n + row->result.to_host.n);
	} else {
		charge_link(&report->info.link, &o->x, info, row);
		charge_link(&report->info.link, &o->y, info, row);
	}
	report->run.peak_buffer_bytes = info ? info->peak_buffer_bytes : 0;
	if (o->y.data) {
		npl_sha256_hex(o->y.data, npl_tensor_bytes(&o->y), report->output_sha256);
		memcpy(row->output_sha256, report->output_sha256, sizeof report->output_sha256);
	}
	if (npl_run_total(&report->run, err))
		return err->code;
	return npl_is_measured(tested->device) ? npl_energy_measurement_finish(&tested->measurement, &report->run, err)
					       : 0;
}

static int tell_watcher(const struct npl_run_watcher *watcher, const struct npl_layer *layer,
			const struct npl_device_report *report, struct npl_err *err)
{
	const bool exact = report->accuracy.max_abs_error == 0;
	const struct npl_layer_accuracy accuracy = {.max_abs_error = report->accuracy.max_abs_error,
						    .sqnr_db = exact ? INFINITY : report->accuracy.sqnr_db,
						    .not_finite = report->accuracy.not_finite};
	if (!layer->timing_only && watcher->on_value && watcher->on_value(watcher->context, 0, layer->out, err))
		return err->code;
	if (watcher->on_accuracy && watcher->on_accuracy(watcher->context, &accuracy, 1, err))
		return err->code;
	return watcher->on_batch ? watcher->on_batch(watcher->context, 0, &report->run, err) : 0;
}

static int run_device(const struct npl_layer_spec *spec, const struct npl_node *node, struct npl_shape w_shape,
		      struct npl_shape y_shape, const struct npl_compare_options *options, struct npl_device *device,
		      struct npl_device_report *report, struct npl_tensor *output, struct npl_err *err)
{
	const bool timing_only = options->plan.timing_only;
	struct operands o = {0};
	struct tested_layer tested = {0};
	char reason[200];
	report->run = (struct npl_run){.n_layers = 1, .layer = calloc(1, sizeof *report->run.layer)};
	report->samples = report->batches = report->batch = 1;
	int rc = report->run.layer ? draw_operands(spec, report->info.format, w_shape, y_shape, timing_only, &o, err)
				   : npl_no_memory(err);
	struct npl_layer layer = {.name = node->name,
				  .op = node->op,
				  .attrs = &node->attrs,
				  .n_in = w_shape.rank ? 2 : 1,
				  .in = {&o.x, w_shape.rank ? &o.w : NULL},
				  .out = &o.y,
				  .macs = node->macs,
				  .timing_only = timing_only};
	if (!rc && !npl_device_supports(device, &layer, reason, sizeof reason))
		rc = npl_fail(err, NPL_EDEVICE, "%s does not run this layer: %s", report->name, reason);
	if (!rc)
		rc = open_tested_layer(device, &layer, &tested, err);
	if (!rc)
		rc = run_timed(&tested, report, err);
	if (!rc)
		rc = judge(spec, options, &layer, report, err);
	if (!rc)
		rc = fill_row(&tested, &o, report, err);
	if (!rc && options->watcher)
		rc = tell_watcher(options->watcher, &layer, report, err);
	npl_energy_measurement_close(&tested.measurement);
	npl_device_close_layer_group(tested.group);
	if (!rc && output) {
		npl_tensor_free(output);
		*output = o.y;
		output->name = NULL;
		o.y.owned = false;
	}
	npl_tensor_free(&o.x);
	npl_tensor_free(&o.w);
	if (o.y.owned)
		npl_tensor_free(&o.y);
	return rc;
}

/* Gives the weight kernels of its own for every output position. The shape of the same layer with shared kernels tells
 * how many positions there are. */
static int private_rows(const struct npl_layer_spec *spec, struct npl_shape *w, struct npl_err *err)
{
	struct npl_attrs shared = spec->attrs;
	struct npl_tensor x = {.name = "x", .dtype = NPL_F32, .shape = spec->x},
			  weight = {.name = "w", .dtype = NPL_F32, .shape = *w}, y = {.name = "y"};
	const struct npl_tensor *in[] = {&x, &weight};
	shared.conv.private_kernels = false;
	if (npl_shape_count(&x.shape) < 1)
		return 0; /* shape_layer() refuses it in the same words as for shared kernels */
	if (npl_op_shape(spec->op, &shared, in, 2, &y, 1, err))
		return err->code = NPL_EUSAGE;        /* the shapes came from the command line */
	w->dim[0] *= y.shape.dim[2] * y.shape.dim[3]; /* y has less than 2^40 elements */
	return 0;
}

/* Finds the weight's shape (rank 0: there is no weight), the output's shape, the completed attributes and the MACs, by
 * the operator's rule. NPL_EUSAGE: the shapes do not fit. */
static int shape_layer(const struct npl_layer_spec *spec, struct npl_node *node, struct npl_shape *w,
		       struct npl_tensor *y, struct npl_err *err)
{
	*w = (struct npl_shape){0};
	if (spec->op == NPL_OP_GEMM)
		*w = npl_shape_of(2, spec->outputs, spec->x.dim[1]);
	if (spec->op == NPL_OP_CONV) {
		int64_t groups = spec->attrs.conv.groups, channels = spec->x.dim[1];
		if (groups < 1 || channels % groups || spec->outputs % groups)
			return npl_fail(err, NPL_EUSAGE,
					"layer: %lld channel%s and %lld filter%s do not divide into %lld group%s",
					(long long)channels, npl_plural(channels), (long long)spec->outputs,
					npl_plural(spec->outputs), (long long)groups, npl_plural(groups));
		*w = npl_shape_of(4, spec->outputs, channels / groups, spec->attrs.conv.window.kernel[0],
				  spec->attrs.conv.window.kernel[1]);
	}
	if (spec->op == NPL_OP_CONV && spec->attrs.conv.private_kernels && private_rows(spec, w, err))
		return err->code;
	struct npl_tensor x = {.name = "x", .dtype = NPL_F32, .shape = spec->x},
			  weight = {.name = "w", .dtype = NPL_F32, .shape = *w};
	const struct npl_tensor *in[] = {&x, &weight};
	int n_in = w->rank ? 2 : 1;
	node->op = spec->op;
	node->attrs = spec->attrs;
	*y = (struct npl_tensor){.name = "y"};
	for (int k = 0; k < n_in; k++) {
		char text[192];
		if (npl_shape_count(&in[k]->shape) < 1)
			return npl_fail(err, NPL_EUSAGE, "layer: the %s are %s, expected 1 to %lld elements",
					k ? "weights" : "inputs", npl_shape_text(&in[k]->shape, text, sizeof text),
					(long long)NPL_MAX_ELEMENTS);
	}
	if (npl_op_shape(node->op, &node->attrs, in, n_in, y, 1, err))
		return err->code = NPL_EUSAGE; /* the shapes came from the command line */
	node->macs = npl_op_macs(spec->op, &node->attrs, in, n_in, y);
	return 0;
}

/* Makes the graph that reports read, which has one node and no values. */
static int one_node_graph(struct npl_comparison *c, const struct npl_layer_spec *spec, struct npl_shape *w,
			  struct npl_tensor *y, struct npl_err *err)
{
	struct npl_graph *graph = npl_arena_alloc(&c->arena, sizeof *graph);
	struct npl_node *node = npl_arena_alloc(&c->arena, sizeof *node);
	if (!graph || !node)
		return npl_no_memory(err);
	if (shape_layer(spec, node, w, y, err))
		return err->code;
	node->name = npl_op_defs[spec->op].name;
	graph->name = "layer";
	graph->n_nodes = 1;
	graph->node = node;
	graph->batch = 1;
	graph->macs = node->macs;
	graph->parameters = w->rank ? (uint64_t)npl_shape_count(w) : 0;
	c->graph = graph;
	return 0;
}

int npl_single_layer(const struct npl_layer_spec *spec, const struct npl_compare_options *options,
		     struct npl_comparison *c, struct npl_tensor *output, struct npl_err *err)
{
	struct npl_shape w;
	struct npl_tensor y;
	*c = (struct npl_comparison){.samples = 1,
				     .batches = 1,
				     .random_inputs = true,
				     .timing_only = options->plan.timing_only,
				     .reference = NPL_ACCURACY_UNKNOWN};
	c->unavailable.arena = &c->arena;
	struct npl_compare_options open_options = *options;
	open_options.without_host = true;
	struct npl_device **device = calloc((size_t)options->n_devices + 1, sizeof *device);
	c->device = calloc((size_t)options->n_devices + 1, sizeof *c->device);
	int rc = device && c->device ? one_node_graph(c, spec, &w, &y, err) : npl_no_memory(err);
	if (!rc)
		rc = npl_devices_open(&open_options, device, &c->unavailable, err);
	for (int d = 0; d < options->n_devices && !rc; d++)
		if (device[d])
			rc = npl_report_describe(c, device[d], &c->device[c->n_devices++], err);
	if (!rc && spec->check_devices)
		rc = spec->check_devices(spec->check_data, c, err);
	if (!rc && options->programs && device[0])
		rc = npl_device_dump_programs(device[0], options->programs, err);
	if (!rc && options->watcher)
		rc = npl_start_watching(options->watcher, device, options->n_devices, c, err);
	struct npl_device_report *report = c->device;
	for (int d = 0; d < options->n_devices && !rc; d++) {
		if (!device[d])
			continue;
		npl_progress_part(npl_device_instance(device[d]), "device", d + 1, options->n_devices);
		rc = run_device(spec, c->graph->node, w, y.shape, options, device[d], report, output, err);
		if (!rc)
			rc = npl_report_keep_strings(c, &report->run, err);
		report++;
	}
	for (int d = 0; device && d < options->n_devices; d++)
		npl_device_close(device[d]);
	free(device);
	if (rc)
		npl_comparison_free(c);
	return rc;
}
