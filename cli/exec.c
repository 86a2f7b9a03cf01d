/* SPDX-License-Identifier: MIT
 *
 * npulab exec: runs a machine's program, text or binary, and prints its cycles and counters. */
#include <stdlib.h>

#include "common.h"
#include "core/device_access.h"
#include "core/files/data_names.h"
#include "exec_output.h"
#include "exec_report.h"
#include "frontend/import/memory_file.h"
#include "npulab/driver.h"
#include "npulab/program.h"
#include "npulab/progress.h"
#include "sim/common/isa.h"

struct exec_options {
	struct cli_common common; /* csv: the events */
	const char *path, *machine, *host, *weights, *buffer, *buffer_output, *engine;
	struct exec_form output_as, buffer_output_as;
	bool instructions;
};

/* The numbers of --output and --buffer-output; NULL data: not wanted. */
struct results {
	struct npl_tensor output, buffer;
};

static int make_results(const struct exec_options *o, const struct exec_outcome *outcome, struct results *results,
			struct npl_err *err)
{
	const struct npl_execution *e = outcome->execution;
	const struct npl_isa *isa = npl_device_driver(outcome->device)->isa;
	const char *output = o->common.output, *buffer = o->buffer_output;
	if (output && !e->output)
		return npl_fail(err, NPL_EINPUT, "%s: writes nothing to host memory for --output", o->path);
	if (buffer && !e->buffer_output)
		return npl_fail(err, NPL_EINPUT, "%s: writes nothing to a buffer for --buffer-output", o->path);
	const struct exec_bytes host = {.name = "host memory",
					.data = e->output,
					.n = e->output_bytes,
					.address = e->output_address,
					.word = isa->word,
					.planes = isa->planes};
	const struct exec_bytes rows = {.name = "the buffer",
					.data = e->buffer_output,
					.n = e->buffer_output_bytes,
					.address = e->buffer_output_address,
					.row_bytes = e->buffer_row_bytes,
					.word = isa->word,
					.planes = isa->planes};
	if (output && exec_output_make(&o->output_as, &host, exec_output_is_text(output), &results->output, err))
		return err->code;
	if (buffer && exec_output_make(&o->buffer_output_as, &rows, exec_output_is_text(buffer), &results->buffer, err))
		return err->code;
	return 0;
}

/* Writes results, events and JSON to their files, then the output for standard output. */
static int write_all(const struct exec_options *o, const struct exec_outcome *outcome, const struct results *results,
		     struct npl_err *err)
{
	const struct cli_common *c = &o->common;
	const struct cli_report reports[] = {{c->csv, exec_put_events, outcome}, {c->json, exec_put_json, outcome}};
	struct npl_err failure;
	int rc = 0;
	if (c->output)
		rc = exec_output_write(c->output, &results->output, err);
	if (o->buffer_output && exec_output_write(o->buffer_output, &results->buffer, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (cli_write_reports(reports, 2, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (!cli_is_stdout(c->csv) && !cli_is_stdout(c->json) && !cli_is_stdout(c->output) &&
	    !cli_is_stdout(o->buffer_output) && !c->quiet)
		rc = cli_table_printed(exec_print(outcome), rc, err);
	return rc;
}

static int report(const struct exec_options *o, const struct exec_outcome *outcome, struct npl_err *err)
{
	struct results results = {0};
	int rc = outcome->events.lost
			 ? npl_fail(err, NPL_ENOMEM, "out of memory for %lld events", (long long)outcome->events.count)
			 : make_results(o, outcome, &results, err);
	if (!rc)
		rc = write_all(o, outcome, &results, err);
	npl_tensor_free(&results.output);
	npl_tensor_free(&results.buffer);
	return rc;
}

static int load(const char *path, const struct npl_device *device, struct npl_tensor *bytes, struct npl_err *err)
{
	return path ? npl_memory_load(path, npl_device_driver(device)->isa->word, bytes, err) : 0;
}

/* Opens the machine that the program names. A name that is unknown, and a machine file that is bad, are faults of the
 * program's file, not of the command. */
static int open_own_machine(const struct exec_options *o, const struct npl_program *program, struct npl_device **device,
			    struct npl_err *err)
{
	const char *name = npl_program_machine(program);
	const int rc = cli_open_machine(name, &o->common, device, err);
	const bool is_bad_file = rc == NPL_EINPUT && err->in_file && npl_is_yaml_path(name);
	if (!rc || (npl_device_is_known(name) && !is_bad_file))
		return rc;
	npl_prefix(err, "%s", o->path);
	return err->code = NPL_EINPUT;
}

static int execute(const struct exec_options *o, struct npl_err *err)
{
	struct npl_device *device = NULL;
	struct npl_program *program = NULL;
	struct npl_tensor host = {0}, weights = {0}, buffer = {0};
	struct exec_events events = {0};
	struct npl_execution_request request = {.engine = o->engine,
						.timing_only = o->common.timing_only,
						.on_event = o->common.csv ? exec_keep_event : NULL,
						.context = &events,
						.timed = o->instructions};
	struct npl_execution execution = {0};
	int rc = o->machine ? cli_open_machine(o->machine, &o->common, &device, err) : 0;
	if (!rc)
		rc = npl_program_load(o->path, device, &program, err);
	if (!rc && !device)
		rc = open_own_machine(o, program, &device, err);
	if (!rc && !o->common.quiet)
		cli_warn_of_machine(device);
	if (!rc)
		rc = load(o->host, device, &host, err);
	if (!rc)
		rc = load(o->weights, device, &weights, err);
	if (!rc)
		rc = load(o->buffer, device, &buffer, err);
	if (!rc) {
		request.host = host.data;
		request.host_bytes = host.data ? npl_tensor_bytes(&host) : 0;
		request.weights = weights.data;
		request.weight_bytes = weights.data ? npl_tensor_bytes(&weights) : 0;
		request.buffer = buffer.data;
		request.buffer_bytes = buffer.data ? npl_tensor_bytes(&buffer) : 0;
		npl_progress_part(o->path, NULL, 0, 0);
		rc = npl_program_run(program, device, &request, &execution, err);
	}
	cli_waiting_end();
	if (!rc)
		rc = report(o, &(struct exec_outcome){device, program, &execution, events}, err);
	free(events.event);
	npl_execution_free(&execution);
	npl_tensor_free(&host);
	npl_tensor_free(&weights);
	npl_tensor_free(&buffer);
	npl_program_free(program);
	npl_device_close(device);
	return rc;
}

/* Checks that at most one document goes to standard output. */
static int check_stdout(const struct exec_options *o, struct npl_err *err)
{
	const struct cli_common *c = &o->common;
	const struct {
		const char *option, *path;
	} outputs[] = {
		{"output", c->output}, {"buffer-output", o->buffer_output}, {"events", c->csv}, {"json", c->json}};
	const char *first = NULL;
	for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
		if (!cli_is_stdout(outputs[i].path))
			continue;
		if (first)
			return npl_fail(err, NPL_EUSAGE, "--%s - and --%s - cannot both have standard output", first,
					outputs[i].option);
		first = outputs[i].option;
	}
	return 0;
}

static int check_outputs(const struct exec_options *o, struct npl_err *err)
{
	const struct cli_common *c = &o->common;
	if ((c->output || o->buffer_output) && c->timing_only)
		return npl_fail(err, NPL_EUSAGE, "exec: --timing-only computes no values for --%s",
				c->output ? "output" : "buffer-output");
	if ((o->output_as.has_type && !c->output) || (o->buffer_output_as.has_type && !o->buffer_output))
		return npl_fail(err, NPL_EUSAGE, "exec: --%s goes with --%s",
				o->output_as.has_type && !c->output ? "output-as" : "buffer-output-as",
				o->output_as.has_type && !c->output ? "output" : "buffer-output");
	return check_stdout(o, err);
}

static int exec_main(int argc, char **argv, struct npl_err *err)
{
	struct exec_options o = {0};
	struct cli_common *c = &o.common;
	bool help_printed;
	int n_words;
	const char *output_as = NULL, *buffer_output_as = NULL;
	const struct cli_option options[] = {
		{"machine", CLI_TEXT, &o.machine, 0, 0, "M",
		 "the machine, or its file (default: the one that the program names)"},
		{"host-memory", CLI_TEXT, &o.host, 0, 0, "IN",
		 "host memory, from address 0 or where the program says: .npy, or text of rows of numbers"},
		{"weights", CLI_TEXT, &o.weights, 0, 0, "W", "weights, in the same forms"},
		{"buffer", CLI_TEXT, &o.buffer, 0, 0, "B",
		 "the unified buffer when the program begins, from row 0 (systolic machines)"},
		{"output", CLI_OUTPUT, &c->output, 0, 0, "Y",
		 "host memory from the first byte written to the last, as .npy or .txt; - shows it"},
		{"output-as", CLI_TEXT, &output_as, 0, 0, "T",
		 "its numbers are uint8, int8, int16 or int32, with their shape or without: int32, int32:64x512"},
		{"buffer-output", CLI_OUTPUT, &o.buffer_output, 0, 0, "Y",
		 "the unified buffer from the first row written to the last, in the same forms"},
		{"buffer-output-as", CLI_TEXT, &buffer_output_as, 0, 0, "T",
		 "the numbers of --buffer-output, in the same words"},
		CLI_ENGINE_OPTION(&o.engine),
		{"instructions", CLI_FLAG, &o.instructions, 0, 0, NULL,
		 "what each instruction worked and waited for, in the table and in JSON"},
		{"events", CLI_OUTPUT, &c->csv, 0, 0, "FILE",
		 "the cycle of every event with its instruction, as CSV; - for standard output"},
		{"timing-only", CLI_FLAG, &c->timing_only, 0, 0, NULL, "cycles without values"},
		{"set", CLI_SETTINGS, &c->set, 0, 0, "DEVICE.KEY=VALUE", "a parameter of the machine"},
		CLI_THREADS_OPTION(&c->threads),
		CLI_MEMORY_OPTION(&c->max_memory),
		CLI_JSON_OPTION(&c->json),
		CLI_QUIET_OPTION(&c->quiet, ""),
		{0}};
	if (cli_parse(&cli_exec, options, argc, argv, &o.path, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (!o.path)
		return npl_fail(err, NPL_EUSAGE, "exec: which program? usage: npulab exec %s", cli_exec.arguments);
	if (exec_form_read("output-as", output_as, &o.output_as, err) ||
	    exec_form_read("buffer-output-as", buffer_output_as, &o.buffer_output_as, err))
		return err->code;
	return check_outputs(&o, err) ? err->code : execute(&o, err);
}

const struct cli_command cli_exec = {"exec", "F.s|F.bin [--machine M] [--host-memory IN] [--weights W]",
				     "runs a machine's program", exec_main};
