/* SPDX-License-Identifier: MIT
 *
 * npl_compare (compare.h): runs the float reference first, then each device in turn. */
#include "npulab/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "core/base/refuse.h"
#include "devices_open.h"
#include "frontend/quantise/layer_noise.h"
#include "frontend/session/footprint.h"
#include "npulab/budget.h"
#include "npulab/progress.h"
#include "npulab/sha256.h"
#include "passes.h"
#include "report_copy.h"
#include "roofs.h"

#define NOISE_BYTES ((size_t)1 << 30) /* most bytes of values that are kept to judge layers by */

struct job {
	struct npl_graph *graph;
	const struct npl_samples *samples;
	const struct npl_compare_options *options;
	int64_t batches;
	struct npl_calibration *calibration; /* NULL: nothing to quantise */
	const char *calibrated_on;
	struct npl_layer_noise *noise; /* NULL: not asked for */
	struct npl_tensor *reference;  /* (samples, ...) per output; NULL: not asked for */
	struct npl_device *host;
};

/* A row of the comparison: a device, or a placement on several. */
struct entry {
	struct npl_device *const *device;
	int n_devices;
	const int *place; /* of a placement: the device of each node; NULL: one device */
	struct npl_device_report *report;
};

/* Makes room for the outputs of all samples. */
static int alloc_outputs(const struct job *job, struct npl_tensor *outputs, struct npl_err *err)
{
	const int64_t *rows = job->samples->rows;
	for (int i = 0; i < job->graph->n_outputs; i++) {
		const struct npl_value *value = &job->graph->value[job->graph->output[i]];
		outputs[i] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (rows && rows[i])
			outputs[i].shape.dim[0] = rows[i] * job->samples->count;
		if (npl_tensor_alloc(&outputs[i], err))
			return err->code;
	}
	return 0;
}

static void free_tensors(struct npl_tensor *tensors, int n)
{
	for (int i = 0; tensors && i < n; i++)
		npl_tensor_free(&tensors[i]);
	free(tensors);
}

/* What the batches of an evaluation by the float reference share. */
struct evaluation {
	struct npl_graph *graph;
	struct npl_calibration *calibration;
	int pass;                                  /* of the calibration; -1: there is none */
	const struct npl_value_observer *observer; /* of the first batch; NULL: none */
};

static int evaluate_batch(void *context, int64_t batch, const struct npl_tensor *in, struct npl_tensor *out,
			  struct npl_err *err)
{
	const struct evaluation *e = context;
	const struct npl_value_observer *observer = batch ? NULL : e->observer;
	return e->pass < 0 ? npl_evaluate_observed(e->graph, in, out, NULL, observer, err)
			   : npl_calibration_batch(e->calibration, e->pass, in, out, observer, err);
}

/* Runs the float reference over all batches of the samples and fills outputs[], which may be NULL (only the ranges are
 * wanted). pass: that of the calibration; -1: there is none. */
static int evaluate_all(const struct job *job, const struct npl_samples *samples, const char *part,
			struct npl_tensor *outputs, int pass, struct npl_err *err)
{
	const bool observed = job->noise && outputs;
	const struct npl_value_observer observer = observed ? npl_layer_noise_reference(job->noise)
							    : (struct npl_value_observer){0};
	struct evaluation evaluation = {.graph = job->graph,
					.calibration = job->calibration,
					.pass = pass,
					.observer = observed ? &observer : NULL};
	return npl_each_batch(job->graph, samples, part, evaluate_batch, &evaluation, outputs, err);
}

/* Finds the ranges, if a device quantises, and the reference's outputs, if accuracy is wanted. Without a calibration
 * set one walk gives both. */
static int prepare_reference(struct job *job, const struct npl_samples *calibration, bool quantised,
			     struct npl_comparison *c, struct npl_err *err)
{
	struct npl_graph *graph = job->graph;
	bool want_outputs = !job->options->no_accuracy;
	int rc = 0;
	if (job->options->plan.timing_only)
		return 0;
	if (quantised) {
		if (npl_calibration_open(graph, &job->options->calibration, &job->calibration, err))
			return err->code;
		job->calibrated_on = calibration ? "calibration set" : "inputs";
	}
	if (want_outputs) {
		job->reference = calloc((size_t)graph->n_outputs + 1, sizeof *job->reference);
		rc = job->reference ? alloc_outputs(job, job->reference, err) : npl_no_memory(err);
	}
	if (!rc && want_outputs && job->options->layer_accuracy)
		rc = npl_layer_noise_open(graph, NOISE_BYTES, &job->noise, err);
	const int passes = quantised ? npl_calibration_passes(job->calibration) : 0;
	for (int pass = 0; pass < passes && !rc && calibration; pass++)
		rc = evaluate_all(job, calibration, "calibrating", NULL, pass, err);
	if (!rc && (want_outputs || (quantised && !calibration)))
		rc = evaluate_all(job, job->samples, "float reference", job->reference,
				  quantised && !calibration ? 0 : -1, err);
	for (int pass = 1; pass < passes && !rc && !calibration; pass++)
		rc = evaluate_all(job, job->samples, "calibrating", NULL, pass, err);
	if (!rc && want_outputs)
		npl_accuracy_of(job->reference, job->reference, graph->n_outputs, job->samples->count,
				&job->samples->labels, &c->reference);
	return rc;
}

static void hash_outputs(const struct npl_tensor *outputs, int n, char hex[NPL_SHA256_HEX])
{
	struct npl_sha256 state;
	npl_sha256_init(&state);
	for (int i = 0; i < n; i++)
		npl_sha256_update(&state, outputs[i].data, npl_tensor_bytes(&outputs[i]));
	npl_sha256_final(&state, hex);
}

static const struct npl_range *ranges_for(const struct job *job, enum npl_format format)
{
	return job->calibration ? npl_calibration_ranges(job->calibration, format) : NULL;
}

static int judge_layers(const struct job *job, struct npl_comparison *c, struct npl_device_report *report,
			struct npl_err *err)
{
	report->layer_accuracy = npl_arena_array(&c->arena, (size_t)job->graph->n_nodes + 1,
						 sizeof *report->layer_accuracy);
	if (!report->layer_accuracy)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", job->graph->n_nodes);
	for (int i = 0; i < job->graph->n_nodes; i++)
		report->layer_accuracy[i] = npl_layer_noise_of(job->noise, i);
	return 0;
}

/* Opens the session of an entry. A device whose times are measured cannot run without values. */
static int open_session(const struct job *job, const struct entry *entry, struct npl_session **session,
			struct npl_err *err)
{
	const struct npl_session_options options = {.n_devices = entry->n_devices,
						    .device = entry->device,
						    .place = entry->place,
						    .host = job->host,
						    .ranges = ranges_for(job, NPL_FORMAT_F32),
						    .ranges_int8 = ranges_for(job, NPL_FORMAT_INT8),
						    .plan = job->options->plan};
	int rc = npl_session_open(job->graph, &options, session, err);
	for (int d = 0; d < entry->n_devices && !rc && options.plan.timing_only; d++)
		if (npl_is_measured(entry->device[d]) && npl_session_uses(*session, d))
			rc = npl_refuse_timing(entry->device[d], err);
	return rc;
}

static int run_passes(const struct job *job, const struct entry *entry, struct npl_session *session,
		      struct npl_tensor *outputs, struct npl_err *err)
{
	const struct npl_passes passes = {.graph = job->graph,
					  .session = session,
					  .samples = job->samples,
					  .timing_only = job->options->plan.timing_only,
					  .once = job->options->once,
					  .noise = job->noise,
					  .watcher = job->options->watcher,
					  .device = entry->device,
					  .n_devices = entry->n_devices};
	const int rc = npl_passes_run(&passes, outputs, entry->report, err);
	if (rc == NPL_EINPUT)
		npl_prefix(err, "%s", job->graph->name);
	return rc;
}

/* Judges the outputs, and moves them to where the options want them. */
static void judge_outputs(const struct job *job, struct npl_tensor *outputs, struct npl_device_report *report)
{
	const int n = job->graph->n_outputs;
	hash_outputs(outputs, n, report->output_sha256);
	npl_accuracy_of(job->reference, outputs, n, job->samples->count, &job->samples->labels, &report->accuracy);
	for (int i = 0; job->options->outputs && i < n; i++) {
		npl_tensor_free(&job->options->outputs[i]);
		job->options->outputs[i] = outputs[i];
		outputs[i].owned = false;
	}
}

/* Notes in each row which rule of the placement named the layer's device. */
static void note_rules(const struct npl_compare_options *options, struct npl_run *run)
{
	for (int i = 0; options->placed_by && i < run->n_layers; i++) {
		struct npl_layer_run *row = &run->layer[i];
		row->placed_by = options->placed_by[i];
		if (npl_row_on_host(row) && !row->placed_by)
			row->note = "no rule matches it";
	}
}

/* Makes one entry of the comparison: opens a session over the devices, runs it and judges its outputs. */
static int run_entry(const struct job *job, const struct entry *entry, struct npl_comparison *c, struct npl_err *err)
{
	const struct npl_graph *graph = job->graph;
	const bool timing_only = job->options->plan.timing_only;
	struct npl_device_report *report = entry->report;
	struct npl_session *session = NULL;
	struct npl_tensor *outputs = calloc((size_t)graph->n_outputs + 1, sizeof *outputs);
	int rc = outputs ? 0 : npl_no_memory(err);
	report->samples = job->samples->count;
	report->batches = job->batches;
	report->batch = graph->batch;
	report->accuracy = NPL_ACCURACY_UNKNOWN;
	if (!rc && !timing_only)
		rc = alloc_outputs(job, outputs, err);
	npl_progress_part(report->name, NULL, 0, 0);
	if (!rc)
		rc = open_session(job, entry, &session, err);
	if (!rc && job->calibration && npl_session_calibrated(session)) {
		npl_calibration_text(&job->options->calibration, c->calibration, sizeof c->calibration);
		c->calibrated_on = job->calibrated_on;
	}
	if (!rc && job->options->watcher)
		rc = npl_start_watching(job->options->watcher, entry->device, entry->n_devices, c, err);
	if (!rc)
		rc = run_passes(job, entry, session, outputs, err);
	if (!rc && !timing_only)
		judge_outputs(job, outputs, report);
	if (!rc && entry->place)
		note_rules(job->options, &report->run);
	if (!rc && job->noise)
		rc = judge_layers(job, c, report, err);
	if (!rc)
		rc = npl_report_keep_strings(c, &report->run, err);
	npl_session_close(session);
	free_tensors(outputs, graph->n_outputs);
	return rc;
}

/* Describes a device, and measures its roofs where they are wanted and it is a real one. */
static int describe(const struct job *job, struct npl_device *device, struct npl_comparison *c,
		    struct npl_device_report *report, struct npl_err *err)
{
	const enum npl_device_kind kind = npl_device_get_info(device)->kind;
	if (npl_report_describe(c, device, report, err))
		return err->code;
	if (!job->options->measure_roofs || (kind != NPL_KIND_CPU && kind != NPL_KIND_GPU))
		return 0;
	return npl_roofs_find(device, report->roofs, err);
}

static int run_all(const struct job *job, struct npl_device *const *device, struct npl_comparison *c,
		   struct npl_err *err)
{
	const struct npl_compare_options *options = job->options;
	if (options->place) {
		c->n_devices = 1;
		c->device[0].info.kind = NPL_KIND_SIMULATED;
		c->device[0].is_placement = true;
		c->device[0].name = c->device[0].instance = NPL_PLACEMENT_NAME;
		c->device[0].part = npl_arena_array(&c->arena, (size_t)options->n_devices + 1,
						    sizeof *c->device[0].part);
		if (!c->device[0].part)
			return npl_no_memory(err);
		for (int d = 0; d < options->n_devices; d++) {
			if (describe(job, device[d], c, &c->device[0].part[d], err))
				return err->code;
			c->device[0].n_parts = d + 1;
		}
		const struct entry entry = {device, options->n_devices, options->place, &c->device[0]};
		return run_entry(job, &entry, c, err);
	}
	for (int d = 0; d < options->n_devices; d++) {
		struct npl_device_report *report = &c->device[c->n_devices];
		if (!device[d])
			continue;
		if (describe(job, device[d], c, report, err))
			return err->code;
		c->n_devices++;
		const struct entry entry = {&device[d], 1, NULL, report};
		if (run_entry(job, &entry, c, err))
			return err->code;
	}
	return 0;
}

/* Returns the options with `only_real_accuracy` decided, now that the devices are known. */
static struct npl_compare_options decide_accuracy(const struct npl_compare_options *options,
						  struct npl_device *const *device)
{
	struct npl_compare_options decided = *options;
	bool modelled = options->only_real_accuracy;
	for (int d = 0; d < options->n_devices; d++)
		modelled = modelled &&
			   (!device[d] || npl_device_kind_is_modelled(npl_device_get_info(device[d])->kind));
	decided.no_accuracy = options->no_accuracy || modelled;
	return decided;
}

/* Tells how much work each layer is: for progress, its multiply-accumulates and results. */
static void weigh_layers(const struct npl_graph *graph)
{
	double *weight = calloc((size_t)graph->n_nodes + 1, sizeof *weight);
	for (int i = 0; weight && i < graph->n_nodes; i++) {
		const struct npl_node *node = &graph->node[i];
		weight[i] = 1 + (double)node->macs;
		for (int k = 0; k < node->n_out; k++)
			if (node->out[k] >= 0)
				weight[i] += (double)npl_shape_count(&graph->value[node->out[k]].shape);
	}
	npl_progress_weigh("layer", graph->n_nodes, weight);
	free(weight);
}

int npl_compare(struct npl_graph *graph, const struct npl_samples *samples, const struct npl_samples *calibration,
		const struct npl_compare_options *options, struct npl_comparison *c, struct npl_err *err)
{
	struct npl_compare_options decided;
	struct job job = {.graph = graph, .samples = samples, .options = options};
	struct npl_device **device = calloc((size_t)options->n_devices + 1, sizeof *device);
	bool quantised = false;
	*c = (struct npl_comparison){.graph = graph,
				     .samples = samples->count,
				     .labelled = samples->labels.data != NULL,
				     .random_inputs = samples->random,
				     .timing_only = options->plan.timing_only};
	c->reference = NPL_ACCURACY_UNKNOWN;
	c->unavailable.arena = &c->arena;
	c->batches = job.batches = npl_samples_batches(graph, samples);
	c->device = calloc((size_t)options->n_devices + 1, sizeof *c->device);
	int rc = device && c->device ? npl_devices_open(options, device, &c->unavailable, err) : npl_no_memory(err);
	if (!rc) {
		decided = decide_accuracy(options, device);
		job.options = options = &decided;
	}
	if (!rc)
		rc = npl_host_open(options, &job.host, err);
	if (!rc)
		rc = npl_report_describe(c, job.host, &c->host, err);
	if (!rc && options->programs && device[0])
		rc = npl_device_dump_programs(device[0], options->programs, err);
	for (int d = 0; d < options->n_devices && !rc; d++) {
		if (!device[d])
			continue;
		enum npl_format format = npl_device_get_info(device[d])->format;
		quantised = quantised || format != NPL_FORMAT_F32;
		if (format == NPL_FORMAT_Q16)
			c->q16_scale = options->plan.q16_plain ? "none" : "power of two";
	}
	if (!rc)
		rc = npl_labels_check(graph, samples, err);
	if (!rc)
		rc = npl_budget_check(npl_footprint(graph, samples, device, options, NOISE_BYTES), graph->name, err);
	weigh_layers(graph);
	if (!rc)
		rc = prepare_reference(&job, calibration, quantised, c, err);
	if (!rc)
		rc = run_all(&job, device, c, err);
	if (!rc)
		rc = npl_graph_files_unchanged(graph, err);
	for (int d = 0; device && d < options->n_devices; d++)
		npl_device_close(device[d]);
	npl_device_close(job.host);
	free(device);
	npl_calibration_close(job.calibration);
	npl_layer_noise_close(job.noise);
	free_tensors(job.reference, graph->n_outputs);
	if (rc)
		npl_comparison_free(c);
	return rc;
}

void npl_comparison_free(struct npl_comparison *c)
{
	for (int d = 0; c->device && d < c->n_devices; d++)
		npl_run_free(&c->device[d].run);
	free(c->device);
	npl_arena_free(&c->arena);
	*c = (struct npl_comparison){0};
}
