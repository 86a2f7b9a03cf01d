/* SPDX-License-Identifier: MIT
 *
 * Records a run as a trace (npulab/run_trace.h): what a watcher and a sink are told becomes lines. docs/traces.md has
 * their form. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checksum.h"
#include "core/base/refuse.h"
#include "core/device_access.h"
#include "cycles.h"
#include "diff.h"
#include "header.h"
#include "instructions.h"
#include "npulab/driver.h"
#include "npulab/version.h"
#include "text.h"

struct npl_trace_recorder {
	struct npl_trace_header *header;
	struct trace_out *out;
	struct trace_line line;
	struct npl_run_watcher watcher;
	struct npl_instruction_sink sink;
	struct trace_cycles cycles;    /* with NPL_TRACE_CYCLES */
	const struct npl_graph *graph; /* NULL: no network runs */
	struct value_sum {
		bool is_known;
		uint64_t checksum;
	} * value; /* of each value of the graph, in this batch */
	int n_values;
	double *sqnr_db; /* of each row of the first batch, until that is written; NULL: they are not known */
	int n_ratios;
	double previous_start; /* of the row before */
	uint64_t head_lines;   /* lines of the head */
	uint64_t events;       /* of the finished trace */

	struct npl_executed_program program; /* that is executed */
	struct trace_instructions *instructions;
};

static void end_line(struct npl_trace_recorder *r)
{
	trace_line_end(&r->line, r->out);
}

static void put_count(struct npl_trace_recorder *r, const char *key, uint64_t count)
{
	if (!count)
		return;
	trace_line_key(&r->line, key);
	trace_line_put_number(&r->line, count);
}

/* Writes a counter under its name. Those of cycles or of time are told from others by their unit before it. */
static void put_counter(struct npl_trace_recorder *r, const struct npl_counter_def *def, uint64_t count)
{
	char key[80];
	const bool of_time = !strcmp(def->unit, "cycles") || !strcmp(def->unit, NPL_COUNTER_TIME);
	snprintf(key, sizeof key, "%s%s%s", of_time ? def->unit : "", of_time ? ":" : "", def->name);
	put_count(r, key, count);
}

static void put_real(struct npl_trace_recorder *r, const char *key, double real)
{
	if (real == 0)
		return;
	trace_line_key(&r->line, key);
	trace_line_put_real(&r->line, real);
}

static void put_checksum(struct npl_trace_recorder *r, const char *key, uint64_t checksum)
{
	trace_line_key(&r->line, key);
	trace_line_put_checksum(&r->line, checksum);
}

/* ---- Machines. */

static void write_head(struct npl_trace_recorder *r)
{
	trace_header_write(r->header, &r->line, r->out);
	r->head_lines = trace_out_lines(r->out);
}

static int add_machine(struct npl_trace_recorder *r, const char *name, const struct npl_device_info *info,
		       const char *driver, const char *sha256, const struct npl_param_value *setting, int n,
		       struct npl_err *err)
{
	struct npl_trace_machine *machine = trace_header_machine(r->header, name, driver, sha256,
								 npl_device_precision(info));
	if (!machine)
		return npl_no_memory(err);
	for (int i = 0; i < n; i++)
		if (npl_trace_add(r->header, &machine->parameter, setting[i].key, setting[i].value, err))
			return err->code;
	if (npl_trace_add_machine_files(r->header, name, driver, setting, n, err))
		return err->code;
	if (npl_device_kind_is_modelled(info->kind))
		return 0;
	/* What is found of a real device, such as the versions of libraries, decides the last bits of its values. */
	r->header->has_times = false;
	return *info->detail ? npl_trace_add(r->header, &r->header->environment, name, info->detail, err) : 0;
}

static int add_report(struct npl_trace_recorder *r, const char *name, const struct npl_device_report *report,
		      struct npl_err *err)
{
	return add_machine(r, name, &report->info, report->driver, report->machine_sha256, report->setting,
			   report->n_settings, err);
}

static int on_start(void *context, const struct npl_comparison *c, struct npl_err *err)
{
	struct npl_trace_recorder *r = context;
	const struct npl_device_report *entry = &c->device[0];
	int rc = 0;
	r->header->has_times = true;
	r->header->has_values = !c->timing_only;
	r->graph = c->graph;
	r->n_values = c->graph->n_values > 0 ? c->graph->n_values : 1;
	if (!(r->value = calloc((size_t)r->n_values, sizeof *r->value)))
		return npl_no_memory(err);
	for (int i = 0; i < entry->n_parts && !rc; i++)
		rc = add_report(r, entry->part[i].instance, &entry->part[i], err);
	if (!entry->n_parts)
		rc = add_report(r, entry->instance, entry, err);
	if (!rc && c->host.name)
		rc = add_report(r, NPL_HOST_NAME, &c->host, err);
	if (!rc)
		write_head(r);
	return rc;
}

int npl_trace_recorder_machine(struct npl_trace_recorder *recorder, const struct npl_device *device,
			       struct npl_err *err)
{
	int n;
	const struct npl_param_value *setting = npl_device_settings(device, &n);
	recorder->header->has_times = true;
	if (add_machine(recorder, npl_device_instance(device), npl_device_get_info(device),
			npl_device_driver(device)->name, npl_device_sha256(device), setting, n, err))
		return err->code;
	write_head(recorder);
	return 0;
}

/* ---- Instructions. */

static int on_program(void *context, const struct npl_executed_program *program, struct npl_err *err)
{
	struct npl_trace_recorder *r = context;
	(void)err;
	r->program = *program;
	trace_line_begin(&r->line, "program");
	trace_line_word(&r->line, program->machine ? program->machine : r->header->machine[0].name);
	for (int i = 0; i < program->n_layers; i++)
		trace_line_word(&r->line, program->layer[i]);
	end_line(r);
	trace_instructions_program(r->instructions, program);
	return 0;
}

static int on_instruction(void *context, const struct npl_executed_instruction *instruction, struct npl_err *err)
{
	(void)err;
	trace_instructions_add(((struct npl_trace_recorder *)context)->instructions, instruction);
	return 0;
}

static int on_end(void *context, const struct npl_executed_end *end, struct npl_err *err)
{
	struct npl_trace_recorder *r = context;
	(void)err;
	trace_instructions_end(r->instructions);
	if (!end)
		return 0;
	trace_line_begin(&r->line, "end");
	trace_line_number(&r->line, end->cycles);
	for (size_t k = 0; k < r->program.n_counters; k++)
		put_counter(r, &r->program.counter_def[k], end->counter[k]);
	end_line(r);
	return 0;
}

/* ---- Layers. */

static int on_value(void *context, int value, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_trace_recorder *r = context;
	(void)err;
	if (value < r->n_values)
		r->value[value] = (struct value_sum){true, npl_checksum(tensor->data, npl_tensor_bytes(tensor))};
	return 0;
}

static int on_accuracy(void *context, const struct npl_layer_accuracy *accuracy, int n, struct npl_err *err)
{
	struct npl_trace_recorder *r = context;
	if (!(r->sqnr_db = calloc((size_t)n + 1, sizeof *r->sqnr_db)))
		return npl_no_memory(err);
	for (int i = 0; i < n; i++)
		r->sqnr_db[i] = accuracy[i].sqnr_db;
	r->n_ratios = n;
	return 0;
}

/* Writes the signal-to-noise ratio of a row to a hundredth of a dB: a smaller difference tells nobody anything. */
static void put_ratio(struct npl_trace_recorder *r, int row)
{
	char text[40];
	if (row >= r->n_ratios || isnan(r->sqnr_db[row]))
		return;
	snprintf(text, sizeof text, "%.2f", r->sqnr_db[row]);
	trace_line_key(&r->line, "sqnr_db");
	trace_line_put_word(&r->line, text);
}

static void put_energies(struct npl_trace_recorder *r, const struct npl_energy *energy, int n)
{
	char key[200];
	for (int i = 0; i < n; i++) {
		if (isnan(energy[i].joules))
			continue;
		snprintf(key, sizeof key, "joules:%s:%s", energy[i].component, energy[i].origin);
		put_real(r, key, energy[i].joules);
	}
}

/* What numbers the result's bytes stand for, and checksums of the bytes. */
static void put_results(struct npl_trace_recorder *r, const struct npl_layer_run *row)
{
	const struct npl_node *node = &r->graph->node[row->node];
	if (row->output_quant.scale > 0) {
		put_real(r, "scale", (double)row->output_quant.scale);
		put_real(r, "zero_point", row->output_quant.zero_point);
	}
	/* A single layer has a graph without values, and its one result is told as value 0. */
	const bool is_single = r->graph->n_values == 0;
	for (int k = 0; k < (is_single ? 1 : node->n_out); k++) {
		const int value = is_single ? 0 : node->out[k];
		if (value < 0 || value >= r->n_values || !r->value[value].is_known)
			continue;
		put_checksum(r, "sum", r->value[value].checksum);
	}
}

/* Writes a count of a layer's result under its name, for NPL_RESULT_COUNTS_OF. */
#define PUT_RESULT(name) put_count(r, #name, row->result.name);

static void put_times(struct npl_trace_recorder *r, const struct npl_layer_run *row)
{
	put_real(r, "start", row->start_seconds - r->previous_start);
	put_real(r, "seconds", row->result.seconds);
	put_real(r, "host_seconds", row->host_seconds);
	put_real(r, "link_seconds", row->link_seconds);
	NPL_RESULT_COUNTS_OF(PUT_RESULT, NPL_NO_COUNT, NPL_NO_COUNT)
	for (size_t k = 0; k < row->n_counters; k++)
		put_counter(r, &row->counter_def[k], row->result.counter[k]);
	put_energies(r, row->result.energy, row->result.n_energy);
	r->previous_start = row->start_seconds;
}

static void put_row(struct npl_trace_recorder *r, const struct npl_layer_run *row, int index)
{
	static const char *const levels[] = {
		[NPL_MEM_DRAM] = "dram_bytes", [NPL_MEM_BUFFER] = "buffer_bytes", [NPL_MEM_HOST] = "host_bytes"};
	_Static_assert(sizeof levels / sizeof *levels == NPL_MEM_LEVELS, "every level has a key");
	const struct npl_node *node = &r->graph->node[row->node];
	trace_line_begin(&r->line, "layer");
	trace_line_word(&r->line, node->name);
	trace_line_word(&r->line, npl_op_defs[node->op].name);
	trace_line_word(&r->line, row->ran_on ? row->ran_on : r->header->machine[0].name);
	trace_line_word(&r->line, npl_role_name(row->role));
	NPL_RESULT_COUNTS_OF(NPL_NO_COUNT, PUT_RESULT, NPL_NO_COUNT)
	if (r->header->has_times)
		put_times(r, row);
	put_count(r, "link_bytes", row->link_bytes);
	put_count(r, "transfers", (uint64_t)row->transfers);
	for (int level = 0; level < NPL_MEM_LEVELS && r->header->has_times; level++)
		put_count(r, levels[level], row->result.bytes[level]);
	if (r->header->has_values) {
		NPL_RESULT_COUNTS_OF(NPL_NO_COUNT, NPL_NO_COUNT, PUT_RESULT)
		put_count(r, "clipped", row->clipped);
		put_results(r, row);
		put_ratio(r, index);
	}
	end_line(r);
}

/* Writes when each task of the schedule began: the rows of layers have sums alone. */
static void put_tasks(struct npl_trace_recorder *r, const struct npl_run *run)
{
	static const char *const kinds[] = {[NPL_TASK_LAYER] = "layer",
					    [NPL_TASK_CONVERSION] = "conversion",
					    [NPL_TASK_TO_DEVICE] = "to_device",
					    [NPL_TASK_TO_HOST] = "to_host",
					    [NPL_TASK_LINK_HELD] = "link_held"};
	_Static_assert(sizeof kinds / sizeof *kinds == NPL_TASK_KINDS, "each kind of task has a name");
	double previous_start = 0;
	for (int i = 0; i < run->n_tasks; i++) {
		const struct npl_task *task = &run->task[i];
		const struct npl_resource *resource = &run->resource[task->resource];
		trace_line_begin(&r->line, "task");
		trace_line_word(&r->line, kinds[task->kind]);
		trace_line_word(&r->line, resource->device_name ? resource->device_name : resource->name);
		trace_line_word(&r->line, r->graph->node[task->node].name);
		put_real(r, "start", task->start_seconds - previous_start);
		put_real(r, "seconds", task->seconds);
		put_count(r, "bytes", task->bytes);
		end_line(r);
		previous_start = task->start_seconds;
	}
}

static int on_batch(void *context, int64_t batch, const struct npl_run *run, struct npl_err *err)
{
	struct npl_trace_recorder *r = context;
	(void)err;
	r->previous_start = 0;
	for (int i = 0; i < run->n_layers; i++)
		put_row(r, &run->layer[i], i);
	free(r->sqnr_db);
	r->sqnr_db = NULL;
	r->n_ratios = 0;
	if (r->header->has_times)
		put_tasks(r, run);
	trace_line_begin(&r->line, "batch");
	trace_line_number(&r->line, (uint64_t)batch);
	if (r->header->has_times) {
		put_count(r, "cycles", run->cycles);
		put_real(r, "seconds", run->seconds);
		put_real(r, "overlap_seconds", run->overlap_seconds);
		put_energies(r, run->energy, run->n_energy);
	}
	for (int i = 0; i < r->graph->n_outputs && r->header->has_values; i++) {
		const int value = r->graph->output[i];
		if (value < r->n_values && r->value[value].is_known)
			put_checksum(r, "sum", r->value[value].checksum);
	}
	end_line(r);
	memset(r->value, 0, (size_t)r->n_values * sizeof *r->value);
	return 0;
}

int npl_trace_recorder_execution(struct npl_trace_recorder *recorder, const struct npl_execution *execution,
				 struct npl_err *err)
{
	(void)err;
	trace_line_begin(&recorder->line, "execution");
	put_count(recorder, "cycles", execution->cycles);
	put_count(recorder, "overflows", execution->overflows);
	put_count(recorder, "saturations", execution->saturations);
	if (execution->output)
		put_checksum(recorder, "sum", npl_checksum(execution->output, execution->output_bytes));
	if (execution->buffer_output)
		put_checksum(recorder, "sum", npl_checksum(execution->buffer_output, execution->buffer_output_bytes));
	end_line(recorder);
	return 0;
}

/* ---- The recorder. */

int npl_trace_recorder_open(struct npl_trace_header *header, const char *path, struct npl_trace_recorder **opened,
			    struct npl_err *err)
{
	struct npl_trace_recorder *r = calloc(1, sizeof *r);
	*opened = NULL;
	if (!r)
		return npl_no_memory(err);
	r->header = header;
	r->sink = (struct npl_instruction_sink){
		.on_program = on_program, .on_instruction = on_instruction, .on_end = on_end, .context = r};
	r->watcher = (struct npl_run_watcher){.on_start = on_start,
					      .on_value = on_value,
					      .on_accuracy = on_accuracy,
					      .on_batch = on_batch,
					      .instructions = npl_trace_recorder_sink(r),
					      .context = r};
	if (!header->version && !(header->version = npl_arena_strdup(&header->arena, npl_version()))) {
		npl_trace_recorder_close(r);
		return npl_no_memory(err);
	}
	if (trace_out_open(path, &r->out, err) ||
	    trace_instructions_open(r->out, header->detail < NPL_TRACE_CYCLES, &r->instructions, err)) {
		npl_trace_recorder_close(r);
		return err->code;
	}
	if (header->detail == NPL_TRACE_CYCLES) {
		trace_cycles_open(&r->cycles, header->signals, &r->line, r->out);
		r->sink.signals = &r->cycles.sink;
	}
	*opened = r;
	return 0;
}

const struct npl_run_watcher *npl_trace_recorder_watcher(struct npl_trace_recorder *recorder)
{
	return &recorder->watcher;
}

const struct npl_instruction_sink *npl_trace_recorder_sink(struct npl_trace_recorder *recorder)
{
	return recorder->header->detail >= NPL_TRACE_INSTRUCTIONS ? &recorder->sink : NULL;
}

int npl_trace_recorder_finish(struct npl_trace_recorder *recorder, struct npl_err *err)
{
	recorder->events = trace_out_lines(recorder->out) - recorder->head_lines -
			   trace_instructions_between(recorder->instructions);
	trace_line_begin(&recorder->line, "complete");
	trace_line_number(&recorder->line, recorder->events);
	end_line(recorder);
	return trace_out_finish(recorder->out, err);
}

struct npl_trace_size npl_trace_recorder_size(const struct npl_trace_recorder *recorder)
{
	return (struct npl_trace_size){.events = recorder->events, .bytes = trace_out_bytes(recorder->out)};
}

int npl_trace_recorder_save(const struct npl_trace_recorder *recorder, const char *path, struct npl_err *err)
{
	return trace_out_save(recorder->out, path, err);
}

int npl_trace_diff_recorded(const char *path, const struct npl_trace_recorder *recorder,
			    const struct npl_trace_tolerance *tolerance, struct npl_trace_diff *diff,
			    struct npl_err *err)
{
	struct trace_in *in[2] = {NULL};
	*diff = (struct npl_trace_diff){0};
	int rc = trace_in_open(path, &in[0], err);
	if (!rc)
		rc = trace_in_of(recorder->out, "the run now", &in[1], err);
	if (!rc)
		rc = trace_compare(in, tolerance, NULL, diff, err);
	trace_in_close(in[0]);
	trace_in_close(in[1]);
	return rc;
}

void npl_trace_recorder_close(struct npl_trace_recorder *recorder)
{
	if (!recorder)
		return;
	trace_instructions_close(recorder->instructions);
	trace_out_close(recorder->out);
	free(recorder->value);
	free(recorder->sqnr_db);
	free(recorder);
}
