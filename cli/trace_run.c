/* SPDX-License-Identifier: MIT
 *
 * Makes the runs that are recorded (trace_run.h). */
#include "trace_run.h"

#include <string.h>

#include "core/base/refuse.h"
#include "core/device_access.h"
#include "core/files/path.h"
#include "frontend/graph/graph_files.h"
#include "frontend/import/memory_file.h"
#include "npulab/driver.h"
#include "npulab/placement.h"
#include "npulab/program.h"
#include "npulab/progress.h"
#include "npulab/sha256.h"
#include "npulab/single_layer.h"
#include "sim/common/isa.h"

enum cli_traced_kind cli_trace_kind(const struct cli_traced_run *run)
{
	const char *word = run->word[0];
	if (!strcmp(word, "layer"))
		return CLI_TRACED_LAYER;
	return npl_path_ends_in(word, ".s") || npl_path_ends_in(word, ".bin") ? CLI_TRACED_PROGRAM : CLI_TRACED_NETWORK;
}

/* Adds a file that the run reads. path NULL: it reads none in this role. */
static int add_file(struct npl_trace_header *header, const char *role, const char *path, struct npl_err *err)
{
	return path ? npl_trace_add_file(header, role, path, err) : 0;
}

/* Adds the files that the model names, which are hashed as one: a model may have thousands. */
static int add_external_data(struct npl_trace_header *header, const struct npl_graph_files *files, struct npl_err *err)
{
	struct npl_sha256 state;
	char hex[NPL_SHA256_HEX];
	if (!files || files->n < 2)
		return 0;
	npl_sha256_init(&state);
	for (int i = 1; i < files->n; i++)
		npl_sha256_update(&state, files->file[i].data, files->file[i].bytes);
	npl_sha256_final(&state, hex);
	return npl_trace_add(header, &header->file, "external data", hex, err);
}

static int add_model_files(struct npl_trace_header *header, const struct cli_traced_run *run,
			   const struct npl_network *inputs, struct npl_err *err)
{
	const struct npl_model_files *files = &inputs->files;
	int rc = add_file(header, "model", files->path, err);
	if (!rc)
		rc = add_external_data(header, inputs->graph->files, err);
	if (!rc && !run->common.timing_only)
		rc = add_file(header, "calibration", files->calibration, err);
	for (int i = 0; i < run->common.input.n && !rc; i++) {
		const char *equals = strchr(run->common.input.item[i], '=');
		rc = add_file(header, "input", equals ? equals + 1 : run->common.input.item[i], err);
	}
	if (!rc && !run->common.input.n && !run->common.timing_only)
		rc = add_file(header, "input", files->input, err);
	return rc ? rc : add_file(header, "rules", run->rules_file, err);
}

static int finish(const struct cli_trace_listener *to, struct npl_err *err)
{
	return to->recorder ? npl_trace_recorder_finish(to->recorder, err) : 0;
}

/* Prepares the devices of a comparison. */
static int prepare(const struct cli_trace_machines *machines, const struct cli_trace_listener *to,
		   struct npl_compare_options *options, struct npl_arena *arena, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = to->watcher.instructions;
	if (sink && sink->signals && cli_trace_need_signals(options, arena, err))
		return err->code;
	return machines->header ? cli_trace_restore(machines, options, arena, err) : 0;
}

/* Ends what a comparison told, after it returned rc. */
static int end_comparison(struct npl_comparison *comparison, const struct cli_trace_listener *to, int rc,
			  struct npl_err *err)
{
	cli_waiting_end();
	if (!rc && comparison->unavailable.n)
		rc = cli_missing(&comparison->unavailable, err);
	if (!rc)
		rc = finish(to, err);
	npl_comparison_free(comparison);
	return rc;
}

static int run_network(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		       struct npl_trace_header *header, const struct cli_trace_listener *to, struct npl_err *err)
{
	struct npl_network inputs;
	struct npl_placement placement = {0};
	struct npl_compare_options options;
	struct npl_comparison comparison = {0};
	if (cli_network_load(run->word[0], &run->common, &inputs, err))
		return err->code;
	int rc = add_model_files(header, run, &inputs, err);
	if (!rc)
		rc = cli_compare_options(&run->common, &inputs.arena, &options, err);
	if (!rc && run->rules)
		rc = npl_placement_parse(inputs.graph, run->rules, &inputs.arena, &placement, err);
	if (!rc && run->rules_file)
		rc = npl_placement_load(inputs.graph, run->rules_file, &inputs.arena, &placement, err);
	if (!rc) {
		options.device_names = run->device ? &run->device : placement.names;
		options.n_devices = run->device ? 1 : placement.n_names;
		options.named_at = placement.named_at;
		options.place = placement.device;
		options.placed_by = placement.rule;
		options.layer_accuracy = true;
		options.only_real_accuracy = !run->accuracy;
		options.watcher = &to->watcher;
		rc = prepare(machines, to, &options, &inputs.arena, err);
	}
	if (!rc)
		rc = npl_compare(inputs.graph, &inputs.samples, inputs.calibrated ? &inputs.calibration : NULL,
				 &options, &comparison, err);
	rc = end_comparison(&comparison, to, rc, err);
	if (!rc && !run->common.quiet && !machines->header)
		cli_warn(inputs.graph->name, inputs.graph->warning, inputs.graph->n_warnings);
	npl_network_free(&inputs);
	return rc;
}

static int run_layer(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		     const struct cli_trace_listener *to, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_compare_options options;
	struct npl_comparison comparison = {0};
	struct npl_layer_spec spec;
	if (run->common.input.n > 1)
		return npl_fail(err, NPL_EUSAGE, "trace record: a layer has one --input");
	run->layer.input = run->common.input.n ? run->common.input.item[0] : NULL;
	int rc = cli_layer_read(run->word[1], &run->layer, &spec, err);
	if (!rc)
		rc = cli_compare_options(&run->common, &arena, &options, err);
	if (!rc) {
		spec.seed = (uint64_t)run->common.seed;
		options.only_real_accuracy = !run->accuracy;
		options.device_names = &run->device;
		options.n_devices = 1;
		options.without_host = true;
		options.watcher = &to->watcher;
		rc = prepare(machines, to, &options, &arena, err);
	}
	if (!rc)
		rc = npl_single_layer(&spec, &options, &comparison, NULL, err);
	rc = end_comparison(&comparison, to, rc, err);
	npl_arena_free(&arena);
	return rc;
}

static int load_memory(struct npl_trace_header *header, const char *role, const char *path,
		       const struct npl_device *device, struct npl_tensor *bytes, struct npl_err *err)
{
	if (!path)
		return 0;
	return add_file(header, role, path, err) ||
			       npl_memory_load(path, npl_device_driver(device)->isa->word, bytes, err)
		       ? err->code
		       : 0;
}

static int add_device_files(struct npl_trace_header *header, const struct npl_device *device, struct npl_err *err)
{
	int n;
	const struct npl_param_value *setting = npl_device_settings(device, &n);
	return npl_trace_add_machine_files(header, npl_device_instance(device), npl_device_driver(device)->name,
					   setting, n, err);
}

static int execute(const struct cli_traced_run *run, const struct npl_program *program, const struct npl_device *device,
		   const struct npl_tensor memory[3], struct npl_trace_header *header,
		   const struct cli_trace_listener *to, struct npl_err *err)
{
	const struct npl_execution_request request = {.engine = run->common.engine,
						      .timing_only = run->common.timing_only,
						      .host = memory[0].data,
						      .host_bytes = memory[0].data ? npl_tensor_bytes(&memory[0]) : 0,
						      .weights = memory[1].data,
						      .weight_bytes = memory[1].data ? npl_tensor_bytes(&memory[1]) : 0,
						      .buffer = memory[2].data,
						      .buffer_bytes = memory[2].data ? npl_tensor_bytes(&memory[2]) : 0,
						      .sink = to->watcher.instructions};
	struct npl_execution execution = {0};
	int rc = to->recorder ? npl_trace_recorder_machine(to->recorder, device, err)
			      : add_device_files(header, device, err);
	npl_progress_part(run->word[0], NULL, 0, 0);
	if (!rc)
		rc = npl_program_run(program, device, &request, &execution, err);
	if (!rc && to->recorder)
		rc = npl_trace_recorder_execution(to->recorder, &execution, err);
	npl_execution_free(&execution);
	return rc;
}

static int run_program(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		       struct npl_trace_header *header, const struct cli_trace_listener *to, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_device *device = NULL;
	struct npl_program *program = NULL;
	struct npl_tensor memory[3] = {{0}};
	header->has_values = !run->common.timing_only;
	int rc = run->device ? cli_trace_open_machine(machines, run->device, &run->common, &arena, &device, err) : 0;
	if (!rc)
		rc = npl_program_load(run->word[0], device, &program, err);
	if (!rc && !device)
		rc = cli_trace_open_machine(machines, npl_program_machine(program), &run->common, &arena, &device, err);
	if (!rc)
		rc = add_file(header, "program", run->word[0], err);
	if (!rc)
		rc = load_memory(header, "host_memory", run->host_memory, device, &memory[0], err);
	if (!rc)
		rc = load_memory(header, "weights", run->weights, device, &memory[1], err);
	if (!rc)
		rc = load_memory(header, "buffer", run->buffer, device, &memory[2], err);
	if (!rc)
		rc = execute(run, program, device, memory, header, to, err);
	cli_waiting_end();
	if (!rc)
		rc = finish(to, err);
	for (int i = 0; i < 3; i++)
		npl_tensor_free(&memory[i]);
	npl_program_free(program);
	npl_device_close(device);
	npl_arena_free(&arena);
	return rc;
}

int cli_trace_make_run(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		       struct npl_trace_header *header, const struct cli_trace_listener *to, struct npl_err *err)
{
	const enum cli_traced_kind kind = cli_trace_kind(run);
	return kind == CLI_TRACED_LAYER     ? run_layer(run, machines, to, err)
	       : kind == CLI_TRACED_PROGRAM ? run_program(run, machines, header, to, err)
					    : run_network(run, machines, header, to, err);
}

struct cli_trace_listener cli_trace_listener_of(struct npl_trace_recorder *recorder)
{
	return (struct cli_trace_listener){.recorder = recorder, .watcher = *npl_trace_recorder_watcher(recorder)};
}
