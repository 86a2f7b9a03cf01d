/* SPDX-License-Identifier: MIT
 *
 * Makes the runs that are recorded (trace_run.h). */
#include "trace_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/device_access.h"
#include "core/files/file.h"
#include "frontend/import/memory_file.h"
#include "npulab/driver.h"
#include "npulab/placement.h"
#include "npulab/program.h"
#include "npulab/progress.h"
#include "npulab/sha256.h"
#include "npulab/single_layer.h"
#include "npulab/version.h"
#include "sim/common/isa.h"
#include "trace_machines.h"

enum kind { NETWORK, LAYER, PROGRAM };

static bool ends_in(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);
	return n > m && !strcmp(text + n - m, end);
}

static enum kind kind_of(const struct cli_traced_run *run)
{
	return !strcmp(run->word[0], "layer")                                 ? LAYER
	       : ends_in(run->word[0], ".s") || ends_in(run->word[0], ".bin") ? PROGRAM
									      : NETWORK;
}

/* The options of all kinds of runs. Those that decide nothing of what a run does are not kept in the trace. */
enum { OPTIONS = 48 };
static const char *const not_kept[] = {"o", "detail", "reason", "engine", "threads", "max-memory", "quiet"};

static void list_options(struct cli_traced_run *run, struct cli_option options[OPTIONS])
{
	struct cli_common *common = &run->common;
	struct cli_layer_options *layer = &run->layer;
	const struct cli_option list[] = {
		{"o", CLI_OUTPUT, &run->output, 0, 0, "FILE", "the trace; compressed where its name ends in .zst"},
		{"detail", CLI_TEXT, &run->detail, 0, 0, "WHAT",
		 "layers; instructions too where a machine has them (default); cycles: signals too, by the engine rtl"},
		{"signals", CLI_TEXT, &run->signals, 0, 0, "LIST",
		 "which signals with --detail cycles, as in `npulab trace export` (default: default)"},
		{"reason", CLI_TEXT, &run->reason, 0, 0, "TEXT", "why it is recorded, for those who read it later"},
		{"device", CLI_TEXT, &run->device, 0, 0, "D", "the device or machine"},
		{"place", CLI_TEXT, &run->rules, 0, 0, "RULES", "a network on several devices, as in `npulab run`"},
		{"place-file", CLI_TEXT, &run->rules_file, 0, 0, "FILE", "such rules, one a line"},
		CLI_INPUT_OPTION(&common->input),
		CLI_BATCH_OPTION(&common->batch),
		CLI_DIM_OPTION(&common->dim),
		{"calibrate", CLI_TEXT, &common->calibrate, 0, 0, "METHOD",
		 "of a network: ranges for 8 bits, as in `npulab run`"},
		{"scale-q6.10", CLI_TEXT, &common->q16_scale, 0, 0, "on|off",
		 "of a network: scales of Q6.10, as in `npulab run`"},
		CLI_HOST_OPTION(&common->host),
		CLI_SET_OPTION(&common->set),
		CLI_SEED_OPTION(&common->seed),
		{"timing-only", CLI_FLAG, &common->timing_only, 0, 0, NULL, "cycles and energy without values"},
		{"accuracy", CLI_FLAG, &run->accuracy, 0, 0, NULL,
		 "each layer's signal-to-noise ratio to float32, of simulated machines too"},
#include "layer_options.def"
		{"host-memory", CLI_TEXT, &run->host_memory, 0, 0, "IN",
		 "of a program: host memory, as in `npulab exec`"},
		{"weights", CLI_TEXT, &run->weights, 0, 0, "W", "of a program: weight memory, as in `npulab exec`"},
		{"buffer", CLI_TEXT, &run->buffer, 0, 0, "B", "of a program: the unified buffer, as in `npulab exec`"},
		CLI_ENGINE_OPTION(&common->engine),
		CLI_THREADS_OPTION(&common->threads),
		CLI_MEMORY_OPTION(&common->max_memory),
		CLI_QUIET_OPTION(&common->quiet, ""),
		{0}};
	_Static_assert(sizeof list <= OPTIONS * sizeof *list, "there is room for all of them");
	memcpy(options, list, sizeof list);
}

static int refuse_word(const struct cli_traced_run *run, struct npl_err *err)
{
	const bool layer = run->n_words && !strcmp(run->word[0], "layer");
	char kinds[100];
	if (!run->n_words)
		return npl_fail(err, NPL_EUSAGE,
				"trace record: expected a model, a program (.s, .bin) or `layer KIND`");
	if (layer != (run->n_words == 2))
		return layer ? npl_fail(err, NPL_EUSAGE, "trace record: layer: which? expected %s after it",
					cli_layer_kinds_text(" or ", kinds, sizeof kinds))
			     : npl_fail(err, NPL_EUSAGE, "trace record: expected one model or program");
	return 0;
}

/* Refuses options that say where something runs and do not fit the kind of the run. */
static int refuse_place(const struct cli_traced_run *run, struct npl_err *err)
{
	const int places = (run->device != NULL) + (run->rules != NULL) + (run->rules_file != NULL);
	const enum kind kind = kind_of(run);
	if (kind == NETWORK && places != 1)
		return npl_fail(err, NPL_EUSAGE, "trace record: expected either --device or --place or --place-file");
	if (kind == LAYER && (!run->device || places != 1))
		return npl_fail(err, NPL_EUSAGE, "trace record: a layer runs on --device");
	if (kind == PROGRAM && places != (run->device != NULL))
		return npl_fail(err, NPL_EUSAGE,
				"trace record: a program runs on the machine that it names, or --device");
	if (run->accuracy && (kind == PROGRAM || run->common.timing_only))
		return npl_fail(err, NPL_EUSAGE, "trace record: --accuracy needs values of a network or a layer");
	if (run->device && strchr(run->device, ','))
		return npl_fail(err, NPL_EUSAGE, "trace record: --device %s: expected one device", run->device);
	return 0;
}

/* What cli_each_option needs to keep options in a head. */
struct keeper {
	const struct cli_traced_run *run;
	struct npl_trace_header *header;
};

static bool is_kept(const char *option)
{
	for (size_t i = 0; i < sizeof not_kept / sizeof *not_kept; i++)
		if (!strcmp(option, not_kept[i]))
			return false;
	return true;
}

static int keep_option(void *context, const struct cli_option *option, const char *value, struct npl_err *err)
{
	const struct keeper *keeper = context;
	if (!is_kept(option->name))
		return 0;
	return npl_trace_add(keeper->header, &keeper->header->option, option->name, value ? value : "", err);
}

static int read_detail(const struct cli_traced_run *run, enum npl_trace_detail *detail, struct npl_err *err)
{
	*detail = NPL_TRACE_INSTRUCTIONS;
	for (enum npl_trace_detail d = 0; d < NPL_TRACE_DETAILS && run->detail; d++) {
		*detail = d;
		if (!strcmp(run->detail, npl_trace_detail_name(d)))
			return 0;
	}
	return !run->detail
		       ? 0
		       : npl_fail(err, NPL_EUSAGE, "trace record: --detail %s: expected layers, instructions or cycles",
				  run->detail);
}

/* Signals come from the engine rtl alone. */
static int choose_engine(struct cli_traced_run *run, enum npl_trace_detail detail, struct npl_err *err)
{
	if (detail != NPL_TRACE_CYCLES)
		return !run->signals ? 0
				     : npl_fail(err, NPL_EUSAGE, "trace record: --signals goes with --detail cycles");
	if (run->common.engine && strcmp(run->common.engine, "rtl") != 0)
		return npl_fail(err, NPL_EUSAGE, "trace record: --detail cycles runs the engine rtl, not --engine %s",
				run->common.engine);
	run->common.engine = "rtl";
	return 0;
}

int cli_trace_read(int argc, char **argv, bool again, struct cli_traced_run *run, struct npl_trace_header *header,
		   bool *help_printed, struct npl_err *err)
{
	struct cli_option options[OPTIONS];
	struct npl_arena *arena = &header->arena;
	const struct keeper keeper = {run, header};
	*run = (struct cli_traced_run){.common = {.seed = 1}};
	list_options(run, options);
	const int rc = (again ? cli_parse_only : cli_parse)(&cli_trace_record, options, argc, argv, run->word, 2,
							    &run->n_words, help_printed, err);
	if (rc || *help_printed)
		return rc;
	if (refuse_word(run, err) || refuse_place(run, err) || read_detail(run, &header->detail, err) ||
	    choose_engine(run, header->detail, err))
		return err->code;
	header->signals = run->signals;
	header->command = npl_arena_strdup(arena, kind_of(run) == LAYER     ? "layer"
						  : kind_of(run) == PROGRAM ? "exec"
									    : "run");
	header->argument = npl_arena_strdup(arena, run->word[kind_of(run) == LAYER]);
	if (!header->command || !header->argument)
		return npl_no_memory(err);
	return cli_each_option(options, argc, argv, keep_option, (void *)&keeper, err);
}

/* Adds a file that the run reads. path NULL: it reads none in this role. */
static int add_file(struct npl_trace_header *header, const char *role, const char *path, struct npl_err *err)
{
	struct npl_file file;
	char hex[NPL_SHA256_HEX];
	if (!path)
		return 0;
	if (npl_file_map(path, SIZE_MAX, &file, err))
		return err->code;
	npl_sha256_hex(file.data, file.bytes, hex);
	npl_file_unmap(&file);
	return npl_trace_add(header, &header->file, role, hex, err);
}

static int add_model_files(struct npl_trace_header *header, const struct cli_traced_run *run,
			   const struct npl_model_files *files, struct npl_err *err)
{
	int rc = add_file(header, "model", files->path, err);
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

/* Who gets what a run does. */
struct listener {
	struct npl_trace_recorder *recorder; /* writes the trace; NULL: none is written */
	struct npl_run_watcher watcher;      /* the recorder's, or of a sink alone */
};

static int finish(const struct listener *to, struct npl_err *err)
{
	return to->recorder ? npl_trace_recorder_finish(to->recorder, err) : 0;
}

/* Prepares the devices of a comparison. */
static int prepare(const struct cli_trace_machines *machines, const struct listener *to,
		   struct npl_compare_options *options, struct npl_arena *arena, struct npl_err *err)
{
	const struct npl_instruction_sink *sink = to->watcher.instructions;
	if (sink && sink->signals && cli_trace_need_signals(options, arena, err))
		return err->code;
	return machines->header ? cli_trace_restore(machines, options, arena, err) : 0;
}

/* Ends what a comparison told, after it returned rc. */
static int end_comparison(struct npl_comparison *comparison, const struct listener *to, int rc, struct npl_err *err)
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
		       struct npl_trace_header *header, const struct listener *to, struct npl_err *err)
{
	struct cli_inputs inputs;
	struct npl_placement placement = {0};
	struct npl_compare_options options;
	struct npl_comparison comparison = {0};
	if (cli_inputs_load(run->word[0], &run->common, &inputs, err))
		return err->code;
	int rc = add_model_files(header, run, &inputs.files, err);
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
	cli_inputs_free(&inputs);
	return rc;
}

static int run_layer(struct cli_traced_run *run, const struct cli_trace_machines *machines, const struct listener *to,
		     struct npl_err *err)
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

static int execute(const struct cli_traced_run *run, const struct npl_program *program, const struct npl_device *device,
		   const struct npl_tensor memory[3], const struct listener *to, struct npl_err *err)
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
	int rc = to->recorder ? npl_trace_recorder_machine(to->recorder, device, err) : 0;
	npl_progress_part(run->word[0], NULL, 0, 0);
	if (!rc)
		rc = npl_program_run(program, device, &request, &execution, err);
	if (!rc && to->recorder)
		rc = npl_trace_recorder_execution(to->recorder, &execution, err);
	npl_execution_free(&execution);
	return rc;
}

static int run_program(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		       struct npl_trace_header *header, const struct listener *to, struct npl_err *err)
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
		rc = execute(run, program, device, memory, to, err);
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

/* Makes the run, and tells the listener what it does. */
static int make_run(struct cli_traced_run *run, const struct cli_trace_machines *machines,
		    struct npl_trace_header *header, const struct listener *to, struct npl_err *err)
{
	const enum kind kind = kind_of(run);
	return kind == LAYER     ? run_layer(run, machines, to, err)
	       : kind == PROGRAM ? run_program(run, machines, header, to, err)
				 : run_network(run, machines, header, to, err);
}

/* The listener that a recorder is. */
static struct listener of_recorder(struct npl_trace_recorder *recorder)
{
	return (struct listener){.recorder = recorder, .watcher = *npl_trace_recorder_watcher(recorder)};
}

int cli_trace_record_run(struct cli_traced_run *run, struct npl_trace_header *header, const char *path,
			 struct npl_err *err)
{
	struct npl_trace_recorder *recorder;
	if (npl_trace_recorder_open(header, path, &recorder, err))
		return err->code;
	const struct listener to = of_recorder(recorder);
	const int rc = make_run(run, &(struct cli_trace_machines){.quiet = run->common.quiet}, header, &to, err);
	npl_trace_recorder_close(recorder);
	return rc;
}

/* Makes the command line of a trace. It lives in the arena; NULL: out of memory. */
static char **command_line(const struct npl_trace_header *header, struct npl_arena *arena, int *argc)
{
	char **argv = npl_arena_array(arena, 2 * (size_t)header->option.n + 8, sizeof *argv);
	bool complete = argv != NULL;
	int n = 0;
	if (!argv)
		return NULL;
	argv[n++] = npl_arena_strdup(arena, "trace record");
	for (int i = 0; i < header->option.n; i++) {
		const struct npl_trace_pair *option = &header->option.pair[i];
		const bool letter = !option->name[1];
		argv[n++] = npl_arena_printf(arena,
					     letter           ? "-%s"
					     : *option->value ? "--%s=%s"
							      : "--%s",
					     option->name, option->value);
		if (letter)
			argv[n++] = npl_arena_strdup(arena, option->value);
	}
	argv[n++] = npl_arena_printf(arena, "--detail=%s", npl_trace_detail_name(header->detail));
	argv[n++] = npl_arena_strdup(arena, "--");
	if (!strcmp(header->command, "layer"))
		argv[n++] = npl_arena_strdup(arena, "layer");
	argv[n++] = npl_arena_strdup(arena, header->argument);
	for (int i = 0; i < n; i++)
		complete = complete && argv[i];
	*argc = n;
	return complete ? argv : NULL;
}

/* Refuses to compare runs of other files: their difference would say nothing. */
static int same_files(const char *trace, const struct npl_trace_header *then, const struct npl_trace_header *now,
		      struct npl_err *err)
{
	static const struct npl_trace_pair none = {"file", "none"};
	for (int i = 0; i < then->file.n || i < now->file.n; i++) {
		const struct npl_trace_pair *a = i < then->file.n ? &then->file.pair[i] : &none,
					    *b = i < now->file.n ? &now->file.pair[i] : &none;
		if (!strcmp(a->name, b->name) && !strcmp(a->value, b->value))
			continue;
		return npl_fail(
			err, NPL_EINPUT,
			"%s: the %s of '%s' is another version than that of the trace (SHA-256 %.12s..., it was "
			"%.12s...): record it anew with `npulab trace bless`",
			trace, a == &none ? b->name : a->name, then->argument, b->value, a->value);
	}
	return 0;
}

/* Refuses options that no trace has, since they decide nothing of a run or would print something instead. */
static int refuse_options(const struct npl_trace_header *header, struct npl_err *err)
{
	for (int i = 0; i < header->option.n; i++) {
		const char *name = header->option.pair[i].name;
		if (!strcmp(name, "help") || !strcmp(name, "h") || !is_kept(name))
			return npl_fail(err, NPL_EINPUT, "its option '%s' is none of a run", name);
	}
	return 0;
}

/* Reads the run of a trace from its head. */
static int read_again(const struct npl_trace_header *header, struct cli_traced_run *run, struct npl_trace_header *again,
		      struct npl_err *err)
{
	bool help_printed;
	int argc = 0;
	char **argv = command_line(header, &again->arena, &argc);
	int rc = argv ? refuse_options(header, err) : npl_no_memory(err);
	if (!rc)
		rc = cli_trace_read(argc, argv, true, run, again, &help_printed, err);
	if (!rc && strcmp(header->command, again->command) != 0)
		rc = npl_fail(err, NPL_EINPUT, "the run '%s' of '%s' is none that `npulab trace record` makes",
			      header->command, header->argument);
	return rc;
}

/* Ends a run that was made again. The trace is an input, and nobody typed its options now. What somebody did type is an
 * output over a file of the run. */
static int end_again(const char *trace, int rc, struct npl_err *err)
{
	if (rc == NPL_EUSAGE && !npl_file_output_was_read())
		err->code = NPL_EINPUT;
	if (rc && strncmp(err->msg, trace, strlen(trace)) != 0) /* a trace that cannot be written is named already */
		npl_prefix(err, "%s", trace);
	return rc ? err->code : 0;
}

void cli_trace_keep_choice(const struct npl_trace_header *header, struct npl_trace_header *again)
{
	again->detail = header->detail;
	for (int i = 0; i < header->option.n; i++)
		if (!strcmp(header->option.pair[i].name, "signals"))
			again->signals = header->option.pair[i].value;
}

int cli_trace_run_again(const char *trace, const struct npl_trace_header *header, bool current,
			struct npl_trace_recorder *recorder, struct npl_trace_header *again, struct npl_err *err)
{
	struct cli_traced_run run;
	const struct cli_trace_machines machines = {.header = current ? NULL : header, .trace = trace};
	const struct listener to = of_recorder(recorder);
	int rc = read_again(header, &run, again, err);
	if (!rc)
		rc = make_run(&run, &machines, again, &to, err);
	if (rc)
		return end_again(trace, rc, err);
	return current ? 0 : same_files(trace, header, again, err);
}

int cli_trace_listen_again(const char *trace, const struct npl_trace_header *header, bool current,
			   const struct npl_instruction_sink *sink, struct npl_err *err)
{
	struct cli_traced_run run = {.n_words = 0};
	struct npl_trace_header again = {0};
	const struct cli_trace_machines machines = {.header = current ? NULL : header, .trace = trace};
	const struct listener to = {.watcher = {.instructions = sink}};
	int rc = read_again(header, &run, &again, err);
	if (rc) {
		npl_trace_header_free(&again);
		return end_again(trace, rc, err);
	}
	if (sink->signals)
		run.common.engine = "rtl";
	rc = make_run(&run, &machines, &again, &to, err);
	if (rc)
		npl_prefix(err, "%s", trace);
	else if (!current)
		rc = same_files(trace, header, &again, err);
	npl_trace_header_free(&again);
	return rc;
}

int cli_trace_each_machine(const char *trace, const struct npl_trace_header *header, bool current,
			   int (*each)(void *context, const struct npl_device *device, struct npl_err *err),
			   void *context, struct npl_err *err)
{
	struct cli_traced_run run = {.n_words = 0};
	struct npl_trace_header again = {0};
	struct npl_compare_options options = {.n_devices = 0};
	const struct cli_trace_machines machines = {.header = current ? NULL : header, .trace = trace, .quiet = true};
	struct npl_device *device[32] = {NULL};
	const char *name[32];
	int n = 0, rc = read_again(header, &run, &again, err);
	if (!rc)
		rc = cli_compare_options(&run.common, &again.arena, &options, err);
	for (int i = 0; i < header->n_machines && n < 32; i++)
		if (strcmp(header->machine[i].name, NPL_HOST_NAME) != 0)
			name[n++] = run.device ? run.device : header->machine[i].name;
	struct npl_unavailables unavailable = {.arena = &again.arena};
	options.device_names = name;
	options.n_devices = n;
	options.without_host = true;
	options.n_sets = rc ? 0 : options.n_sets;
	if (!rc && !current)
		rc = cli_trace_restore(&machines, &options, &again.arena, err);
	if (!rc)
		rc = npl_devices_open(&options, device, &unavailable, err);
	for (int i = 0; i < n && !rc; i++)
		rc = device[i] ? each(context, device[i], err) : 0;
	for (int i = 0; i < n; i++)
		npl_device_close(device[i]);
	npl_trace_header_free(&again);
	return end_again(trace, rc, err);
}

static int record_main(int argc, char **argv, struct npl_err *err)
{
	struct cli_traced_run run;
	struct npl_trace_header header = {0};
	bool help_printed;
	int rc = cli_trace_read(argc, argv, false, &run, &header, &help_printed, err);
	if (!rc && !help_printed && !run.output)
		rc = npl_fail(err, NPL_EUSAGE, "trace record: expected -o FILE");
	if (!rc && !help_printed)
		rc = npl_trace_add(&header, &header.reason, npl_version(), run.reason ? run.reason : "recorded", err);
	if (!rc && !help_printed)
		rc = cli_trace_record_run(&run, &header, run.output, err);
	npl_trace_header_free(&header);
	return rc;
}

const struct cli_command cli_trace_record = {"trace record", "MODEL|PROGRAM|layer KIND --device D -o FILE",
					     "runs a network, a layer or a program, and keeps what it did in a file",
					     record_main};
