/* SPDX-License-Identifier: MIT
 *
 * npulab exec: runs a machine's program, text or binary, and prints its cycles and counters. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/grow.h"
#include "npulab/program.h"
#include "npulab/sha256.h"
#include "npulab/stage.h"
#include "reports/json.h"
#include "reports/table.h"

struct exec_options {
	struct cli_common common; /* csv: the events */
	const char *path, *machine, *host, *weights, *buffer, *buffer_output, *engine;
};

struct event {
	uint64_t cycle;
	const char *what;
	int64_t index;
};

struct events {
	struct event *event;
	int64_t count, room;
	bool lost; /* out of memory */
};

static void keep_event(void *context, const char *what, int64_t index, uint64_t cycle)
{
	struct events *events = context;
	struct event *more = npl_grow(events->event, events->count, &events->room, sizeof *more);
	events->lost = events->lost || !more;
	if (!more)
		return;
	events->event = more;
	more[events->count++] = (struct event){cycle, what, index};
}

static void put_events(FILE *out, const void *what)
{
	const struct events *events = what;
	fputs("cycle,event,index\r\n", out);
	for (int64_t i = 0; i < events->count; i++)
		fprintf(out, "%" PRIu64 ",%s,%" PRId64 "\r\n", events->event[i].cycle, events->event[i].what,
			events->event[i].index);
}

struct outcome {
	const struct npl_device *device;
	const struct npl_execution *execution;
};

static double seconds_of(const struct outcome *o)
{
	return (double)o->execution->cycles / npl_device_get_info(o->device)->clock_hz;
}

/* Without values there are no counts of them. */
static bool is_known(const struct npl_execution *e, size_t i)
{
	return !e->timing_only || e->stat[i].partition != NPL_STAT_OF_VALUES;
}

static void put_output(struct npl_json *json, const struct npl_execution *e)
{
	char sha256[NPL_SHA256_HEX];
	if (!e->output) {
		npl_json_null(json, "output");
		return;
	}
	npl_sha256_hex(e->output, e->output_bytes, sha256);
	npl_json_open(json, "output", '{');
	npl_json_u64(json, "address", e->output_address);
	npl_json_u64(json, "bytes", e->output_bytes);
	npl_json_string(json, "sha256", sha256);
	npl_json_close(json, '}');
}

static void put_json(FILE *out, const void *what)
{
	const struct outcome *o = what;
	const struct npl_execution *e = o->execution;
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.exec/1");
	npl_json_build(&json);
	npl_json_string(&json, "machine", npl_device_name(o->device));
	npl_json_string(&json, "machine_sha256", npl_device_sha256(o->device));
	npl_json_string(&json, "engine", e->engine);
	npl_json_number(&json, "timing_only", e->timing_only ? "true" : "false");
	npl_json_u64(&json, "cycles", e->cycles);
	npl_json_double(&json, "seconds", seconds_of(o));
	npl_json_open(&json, "counters", '{');
	for (size_t i = 0; i < e->n_stats; i++)
		if (is_known(e, i))
			npl_json_u64(&json, e->stat[i].name, e->counter[i]);
		else
			npl_json_null(&json, e->stat[i].name);
	npl_json_close(&json, '}');
	if (e->timing_only) {
		npl_json_null(&json, "overflows");
		npl_json_null(&json, "saturations");
	} else {
		npl_json_u64(&json, "overflows", e->overflows);
		npl_json_u64(&json, "saturations", e->saturations);
	}
	put_output(&json, e);
	npl_json_close(&json, '}');
	fputc('\n', out);
}

static void add_row(struct npl_table *table, const char *name, uint64_t value, bool known, const char *unit,
		    const char *help)
{
	char text[24] = "-";
	if (known)
		snprintf(text, sizeof text, "%" PRIu64, value);
	npl_table_row(table, (const char *const[]){name, text, unit, help});
}

static void print_table(const struct outcome *o)
{
	static const char *const header[] = {"COUNTER", "VALUE", "UNIT", "WHAT"};
	const struct npl_execution *e = o->execution;
	char time[32], help[200];
	struct npl_table table;
	npl_si_text(seconds_of(o), "s", time, sizeof time);
	printf("%s, engine %s: %" PRIu64 " cycles, ~%s\n\n", npl_device_name(o->device), e->engine, e->cycles, time);
	npl_table_open(&table, "lrll", header);
	for (size_t i = 0; i < e->n_stats; i++) {
		const struct npl_stat *stat = &e->stat[i];
		snprintf(help, sizeof help, stat->part_of ? "of %s: %s" : "%s%s", stat->part_of ? stat->part_of : "",
			 stat->help);
		add_row(&table, stat->name, e->counter[i], is_known(e, i), stat->unit, help);
	}
	add_row(&table, "overflows", e->overflows, !e->timing_only, "sums",
		"whose value their accumulator or register could not hold: they wrapped, and are wrong");
	add_row(&table, "saturations", e->saturations, !e->timing_only, "values", "that did not fit their type");
	npl_table_print(&table, stdout);
	npl_table_close(&table);
}

/* Bytes of any shape. */
static int load_bytes(const char *path, struct npl_tensor *tensor, struct npl_err *err)
{
	if (!path)
		return 0;
	if (npl_tensor_load(path, tensor, err))
		return err->code;
	if (tensor->dtype == NPL_U8 || tensor->dtype == NPL_I8)
		return 0;
	return npl_fail(err, NPL_EINPUT, "%s: %s elements, expected u8 or i8: memory is bytes", path,
			npl_dtype_name(tensor->dtype));
}

/* Output, events and JSON to their files, then what goes to standard output. */
static int report(const struct exec_options *o, const struct outcome *outcome, struct events *events,
		  struct npl_err *err)
{
	const struct npl_execution *e = outcome->execution;
	const struct cli_common *c = &o->common;
	struct npl_tensor output = {
		.dtype = NPL_U8, .shape = npl_shape_of(1, (int64_t)e->output_bytes), .data = e->output};
	struct npl_tensor buffer = {
		.dtype = NPL_U8, .shape = npl_shape_of(1, (int64_t)e->buffer_output_bytes), .data = e->buffer_output};
	bool events_shown = c->csv && !strcmp(c->csv, "-"), json_shown = c->json && !strcmp(c->json, "-");
	const struct cli_report reports[] = {{c->csv, put_events, events}, {c->json, put_json, outcome}};
	struct npl_err failure;
	int rc = 0;
	if (c->output && !e->output)
		return npl_fail(err, NPL_EINPUT, "%s: writes nothing to host memory for --output", o->path);
	if (o->buffer_output && !e->buffer_output)
		return npl_fail(err, NPL_EINPUT, "%s: writes nothing to a buffer for --buffer-output", o->path);
	if (events->lost)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld events", (long long)events->count);
	if (c->output)
		rc = cli_write_tensor(c->output, &output, err);
	if (o->buffer_output && cli_write_tensor(o->buffer_output, &buffer, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (cli_write_reports(reports, 2, &failure))
		rc = cli_also_failed(rc, &failure, err);
	if (!events_shown && !json_shown && !c->quiet)
		print_table(outcome);
	return rc;
}

static int execute(const struct exec_options *o, struct npl_err *err)
{
	struct npl_device *device = NULL;
	struct npl_program *program = NULL;
	struct npl_tensor host = {0}, weights = {0}, buffer = {0};
	struct events events = {0};
	struct npl_execution execution = {.engine = o->engine, .timing_only = o->common.timing_only};
	int rc = cli_open_machine(o->machine, &o->common, &device, err);
	if (!rc && !o->common.quiet)
		cli_warn_of_machine(device);
	if (!rc)
		rc = npl_program_load(o->path, device, &program, err);
	if (!rc)
		rc = load_bytes(o->host, &host, err);
	if (!rc)
		rc = load_bytes(o->weights, &weights, err);
	if (!rc)
		rc = load_bytes(o->buffer, &buffer, err);
	if (!rc) {
		execution.host = host.data;
		execution.host_bytes = host.data ? npl_tensor_bytes(&host) : 0;
		execution.weights = weights.data;
		execution.weight_bytes = weights.data ? npl_tensor_bytes(&weights) : 0;
		execution.buffer = buffer.data;
		execution.buffer_bytes = buffer.data ? npl_tensor_bytes(&buffer) : 0;
		execution.happened = o->common.csv ? keep_event : NULL;
		execution.context = &events;
		npl_stage_part(o->path, NULL, 0, 0);
		rc = npl_program_run(program, device, &execution, err);
	}
	cli_waiting_end();
	if (!rc)
		rc = report(o, &(struct outcome){device, &execution}, &events, err);
	free(events.event);
	npl_execution_free(&execution);
	npl_tensor_free(&host);
	npl_tensor_free(&weights);
	npl_tensor_free(&buffer);
	npl_program_free(program);
	npl_device_close(device);
	return rc;
}

static int check_outputs(const struct exec_options *o, struct npl_err *err)
{
	const struct cli_common *c = &o->common;
	if ((c->output || o->buffer_output) && c->timing_only)
		return npl_fail(err, NPL_EUSAGE, "exec: --timing-only computes no values for --%s",
				c->output ? "output" : "buffer-output");
	if (o->buffer_output && !strcmp(o->buffer_output, "-"))
		return npl_fail(err, NPL_EUSAGE, "--buffer-output -: an array goes to a file, not to standard output");
	if (c->json && c->csv && !strcmp(c->json, "-") && !strcmp(c->csv, "-"))
		return npl_fail(err, NPL_EUSAGE, "--json - and --events - cannot both have standard output");
	return cli_check_reports(c, err);
}

static int exec_main(int argc, char **argv, struct npl_err *err)
{
	struct exec_options o = {0};
	struct cli_common *c = &o.common;
	bool helped;
	int n_words;
	const struct cli_option options[] = {
		{"machine", CLI_TEXT, &o.machine, 0, 0, "M", "the machine, or its file"},
		{"host-memory", CLI_TEXT, &o.host, 0, 0, "IN.npy",
		 "bytes of host memory, from address 0 or where the program says"},
		{"weights", CLI_TEXT, &o.weights, 0, 0, "W.npy", "bytes of weights, likewise"},
		{"buffer", CLI_TEXT, &o.buffer, 0, 0, "B.npy",
		 "bytes of the unified buffer when the program begins, from row 0 (systolic machines)"},
		{"output", CLI_OUTPUT, &c->output, 0, 0, "Y.npy",
		 "host memory from the first byte written to the last"},
		{"buffer-output", CLI_OUTPUT, &o.buffer_output, 0, 0, "Y.npy",
		 "the unified buffer from the first row written to the last"},
		{"engine", CLI_TEXT, &o.engine, 0, 0, "E", "fast or rtl (default fast)"},
		{"events", CLI_OUTPUT, &c->csv, 0, 0, "FILE",
		 "the cycle of every event, as CSV; - for standard output"},
		{"timing-only", CLI_FLAG, &c->timing_only, 0, 0, NULL, "cycles without values"},
		{"set", CLI_LIST_OF_TEXT, &c->set, 0, 0, "M.KEY=VALUE", "a parameter of the machine"},
		CLI_THREADS_OPTION(&c->threads),
		CLI_MEMORY_OPTION(&c->max_memory),
		{"json", CLI_OUTPUT, &c->json, 0, 0, "FILE", "the machine-readable form; - for standard output"},
		{"quiet", CLI_FLAG, &c->quiet, 0, 0, NULL, "no table, no progress"},
		{0}};
	if (cli_parse(&cli_exec, options, argc, argv, &o.path, 1, &n_words, &helped, err) || helped)
		return helped ? 0 : err->code;
	if (!o.path || !o.machine)
		return npl_fail(err, NPL_EUSAGE, "exec: expected a program and --machine; usage: npulab exec %s",
				cli_exec.arguments);
	return check_outputs(&o, err) ? err->code : execute(&o, err);
}

const struct cli_command cli_exec = {"exec", "F.s|F.bin --machine M [--host-memory IN.npy] [--weights W.npy]",
				     "runs a machine's program", exec_main};
