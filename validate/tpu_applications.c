/* SPDX-License-Identifier: MIT
 *
 * One batch of an application of the TPU paper (tpu_applications.h). */
#include "tpu_applications.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/compare/devices_open.h"
#include "npulab/model.h"

#define MAX_SETS    32
#define MAX_CHANGES 4

/* LSTM1's batches were not full. Of Table 3, row 1 over row 5 is what a weight tile computes over the 256 cycles that
 * its shift takes where it cannot be hidden: 157 cycles, two for each sample, so 79 samples at most, where Table 1 has
 * 96. (The same ratio gives 66 for LSTM0's 64 and 204 for MLP0's 200.) Row 9 over the multiply-accumulates of a sample
 * asks for about 70. */
const struct npl_tpu_application npl_tpu_applications[NPL_TPU_APPLICATIONS] = {
	{"MLP0", "mlp0", false, 0, "MLPs"},    {"MLP1", "mlp1", false, 0, "MLPs"}, {"LSTM0", "lstm0", true, 0, "LSTMs"},
	{"LSTM1", "lstm1", true, 70, "LSTMs"}, {"CNN0", "cnn0", false, 0, "CNNs"}, {"CNN1", "cnn1", false, 0, "CNNs"},
};

/* Writes the change of a setting. A memory at command level becomes so many times as fast by as many times the
 * channels. */
static void write_change(const struct npl_device *plain, const struct npl_tpu_change *change, char *text, size_t n)
{
	const char *key = change->key;
	if (!strcmp(key, NPL_TPU_WEIGHT_RATE) && strcmp(npl_device_setting(plain, "weight_memory.preset"), "fixed"))
		key = "weight_memory.channels";
	if (change->value)
		snprintf(text, n, "%s=%s", key, change->value);
	else
		snprintf(text, n, "%s=%.0f", key, npl_device_setting_number(plain, key) * change->factor);
}

static int open_with_sets(const struct npl_validate_options *options, const char *const *extra_sets, int n_extra_sets,
			  struct npl_device **device, struct npl_err *err)
{
	const char *sets[MAX_SETS + MAX_CHANGES + 1];
	if (options->n_sets > MAX_SETS)
		return npl_fail(err, NPL_EUSAGE, "--set: at most %d", MAX_SETS);
	struct npl_device_options session_options = {.set = sets};
	session_options.n_sets = npl_device_sets(NPL_TPU_MACHINE, options->set, options->n_sets, sets);
	for (int i = 0; i < n_extra_sets; i++)
		sets[session_options.n_sets++] = extra_sets[i];
	return npl_device_open(NPL_TPU_MACHINE, &session_options, device, err);
}

int npl_tpu_open(const struct npl_validate_options *options, bool wide, const struct npl_tpu_change *change, int n,
		 struct npl_device **device, struct npl_err *err)
{
	char text[MAX_CHANGES][100];
	const char *extra_sets[MAX_CHANGES + 1];
	int n_extra_sets = 0;
	if (n > 0) {
		struct npl_device *plain;
		if (open_with_sets(options, NULL, 0, &plain, err))
			return err->code;
		for (; n_extra_sets < n && n_extra_sets < MAX_CHANGES; n_extra_sets++) {
			write_change(plain, &change[n_extra_sets], text[n_extra_sets], sizeof text[n_extra_sets]);
			extra_sets[n_extra_sets] = text[n_extra_sets];
		}
		npl_device_close(plain);
	}
	if (wide)
		extra_sets[n_extra_sets++] = "precision=8x16";
	if (open_with_sets(options, extra_sets, n_extra_sets, device, err)) {
		for (int i = 0; i < n; i++)
			npl_prefix(err, "%s %s", change[i].key,
				   change[i].value ? change[i].value : "larger, as in the paper's study");
		return err->code;
	}
	return 0;
}

double npl_tpu_published(const struct npl_validation *validation, const char *case_name, const char *metric)
{
	const struct npl_validation_row *row = npl_validation_find(validation, NPL_TPU_MACHINE, case_name, metric);
	return row ? row->published : NAN;
}

double npl_tpu_geometric_mean(const double *value, int first, int n)
{
	double sum = 0;
	for (int a = first; a < first + n; a++)
		sum += log(value[a]);
	return exp(sum / n);
}

double npl_tpu_weighted_mean(const struct npl_validation *validation, const double *value)
{
	double sum = 0, weights = 0;
	for (int a = 0; a < NPL_TPU_APPLICATIONS; a++) {
		double share = npl_tpu_published(validation, npl_tpu_applications[a].kind, "deployed_share");
		sum += share * value[a];
		weights += share;
	}
	return sum / weights;
}

int npl_tpu_graph(const struct npl_tpu_application *app, int64_t batch, struct npl_graph **graph, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_model_files files;
	int rc = npl_model_find(app->model, &arena, &files, err);
	if (!rc)
		rc = npl_graph_load(files.path, &(struct npl_load_options){.batch = batch ? batch : files.batch}, graph,
				    err);
	npl_arena_free(&arena);
	return rc;
}

/* Finds the states of cells: an input h1 where the graph has an output h1_next. */
static bool *find_states(const struct npl_graph *graph)
{
	static const char next[] = "_next";
	bool *state = calloc((size_t)graph->n_values + 1, sizeof *state);
	for (int i = 0; i < graph->n_inputs && state; i++)
		for (int o = 0; o < graph->n_outputs; o++) {
			const char *input_name = graph->value[graph->input[i]].name;
			const char *output_name = graph->value[graph->output[o]].name;
			size_t length = strlen(input_name);
			if (!strncmp(input_name, output_name, length) && !strcmp(output_name + length, next))
				state[graph->input[i]] = true;
		}
	return state;
}

static bool multiplies(const struct npl_graph *graph, int i)
{
	return npl_op_defs[graph->node[i].op].flags & NPL_OP_IS_GEMM;
}

static double sum_of(const struct npl_run *run, const char *name)
{
	uint64_t sum = 0;
	bool known = false;
	for (int i = 0; i < run->n_layers; i++) {
		const struct npl_layer_run *row = &run->layer[i];
		for (size_t k = 0; k < row->n_counters; k++)
			if (!strcmp(row->counter_def[k].name, name)) {
				sum += row->result.counter[k];
				known = true;
			}
	}
	return known ? (double)sum : NAN;
}

/* Finds the power of the chip and its memory while they work. */
static void find_watts(const struct npl_run *run, struct npl_tpu_counts *c)
{
	struct npl_energy working[NPL_MAX_RUN_ENERGY], dynamic[NPL_MAX_RUN_ENERGY];
	int n_working = 0, n_dynamic = 0;
	for (int i = 0; i < run->n_energy; i++) {
		const struct npl_energy *energy = &run->energy[i];
		if (energy->part != NPL_OF_MACHINE && energy->part != NPL_OF_MEMORY)
			continue;
		working[n_working++] = *energy;
		if (strcmp(energy->component, "static") != 0)
			dynamic[n_dynamic++] = *energy;
	}
	const struct npl_estimates joules = npl_energy_estimates(dynamic, n_dynamic);
	c->watts = npl_energy_sum(working, n_working) / run->device_seconds;
	c->dynamic_watts = (struct npl_estimates){joules.low / run->device_seconds, joules.middle / run->device_seconds,
						  joules.high / run->device_seconds};
}

static void read_counts(const struct npl_graph *graph, const struct npl_device *device, const struct npl_run *run,
			struct npl_tpu_counts *c)
{
	static const struct {
		const char *name;
		size_t offset;
	} counters[] = {
		{"array_active", offsetof(struct npl_tpu_counts, array_active)},
		{"useful_macs", offsetof(struct npl_tpu_counts, useful_macs)},
		{"unused_macs", offsetof(struct npl_tpu_counts, unused_macs)},
		{"weight_stall", offsetof(struct npl_tpu_counts, weight_stall)},
		{"weight_shift", offsetof(struct npl_tpu_counts, weight_shift)},
		{"non_matrix", offsetof(struct npl_tpu_counts, non_matrix)},
		{"raw_stall", offsetof(struct npl_tpu_counts, raw_stall)},
		{"input_stall", offsetof(struct npl_tpu_counts, input_stall)},
		{"tiles", offsetof(struct npl_tpu_counts, tiles)},
	};
	bool all_on_device = true;
	for (int i = 0; i < run->n_layers && all_on_device; i++)
		if (multiplies(graph, i) && npl_row_on_host(&run->layer[i])) {
			all_on_device = false;
			snprintf(c->reason, sizeof c->reason, "%s leaves layer %s to the host: %s", NPL_TPU_MACHINE,
				 graph->node[i].name, run->layer[i].note ? run->layer[i].note : "it does not run it");
		}
	c->cycles = all_on_device ? (double)run->cycles : NAN;
	c->seconds = all_on_device ? run->device_seconds : NAN;
	c->watts = NAN;
	if (all_on_device)
		find_watts(run, c);
	c->macs = (double)graph->macs;
	/* Each cell does a multiply-accumulate of 8 bits in every cycle. */
	c->cells = npl_device_setting_number(device, "array.rows") * npl_device_setting_number(device, "array.columns");
	for (size_t k = 0; k < sizeof counters / sizeof *counters; k++) {
		double sum = all_on_device ? sum_of(run, counters[k].name) : NAN;
		memcpy((char *)c + counters[k].offset, &sum, sizeof sum);
	}
	c->passes = c->useful_macs / c->macs;
	c->peak_buffer_bytes = all_on_device && run->peak_buffer_bytes ? (double)run->peak_buffer_bytes : NAN;
}

int npl_tpu_count(const struct npl_tpu_application *app, int64_t batch, const struct npl_validate_options *options,
		  const struct npl_tpu_change *change, int n, struct npl_tpu_counts *counts, struct npl_err *err)
{
	struct npl_graph *graph = NULL;
	struct npl_device *device = NULL;
	struct npl_session *session = NULL;
	struct npl_run run = {0};
	bool *state = NULL;
	*counts = (struct npl_tpu_counts){0};
	int rc = npl_tpu_graph(app, batch, &graph, err);
	if (!rc)
		rc = npl_tpu_open(options, app->wide, change, n, &device, err);
	if (!rc) {
		state = find_states(graph);
		rc = state ? 0 : npl_no_memory(err);
	}
	struct npl_session_options session_options = {.n_devices = 1,
						      .device = &device,
						      .plan.timing_only = true,
						      .inputs_over_link = true,
						      .resident = state};
	if (!rc)
		rc = npl_session_open(graph, &session_options, &session, err);
	if (!rc)
		rc = npl_session_run(session, NULL, NULL, &run, err);
	if (!rc) {
		counts->batch = graph->batch;
		read_counts(graph, device, &run, counts);
	}
	npl_run_free(&run);
	npl_session_close(session);
	npl_device_close(device);
	npl_graph_free(graph);
	free(state);
	return rc;
}
