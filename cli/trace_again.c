/* SPDX-License-Identifier: MIT
 *
 * Makes the run of a trace again, as its head describes it (trace_run.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/files/file.h"
#include "trace_run.h"

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

/* Says that a run of today read other files than that of the trace. */
static void warn_of_files(const char *trace, const struct npl_trace_header *then, const struct npl_trace_header *now)
{
	for (int i = 0; i < now->file.n; i++) {
		const struct npl_trace_pair *a = i < then->file.n ? &then->file.pair[i] : NULL, *b = &now->file.pair[i];
		char warning[300];
		const char *const warnings[] = {warning};
		if (a && !strcmp(a->name, b->name) && !strcmp(a->value, b->value))
			continue;
		snprintf(warning, sizeof warning, "the %s of '%s' is another version than that of the trace", b->name,
			 then->argument);
		cli_warn(trace, warnings, 1);
	}
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

static int refuse_run(const struct npl_trace_header *header, struct npl_err *err)
{
	return npl_fail(err, NPL_EINPUT, "the run '%s' of '%s' is none that `npulab trace record` makes",
			header->command, header->argument);
}

/* Refuses options that no trace has, since they decide nothing of a run or would print something instead. */
static int refuse_options(const struct npl_trace_header *header, struct npl_err *err)
{
	for (int i = 0; i < header->option.n; i++) {
		const char *name = header->option.pair[i].name;
		if (!strcmp(name, "help") || !strcmp(name, "h") || !cli_trace_option_is_kept(name))
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
	/* Where the words are of another run, so are the options. */
	const bool is_read = again->command != NULL;
	return is_read && strcmp(header->command, again->command) != 0 ? refuse_run(header, err) : rc;
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
	const struct cli_trace_listener to = cli_trace_listener_of(recorder);
	int rc = read_again(header, &run, again, err);
	if (!rc)
		rc = cli_trace_make_run(&run, &machines, again, &to, err);
	if (rc)
		return end_again(trace, rc, err);
	if (current)
		warn_of_files(trace, header, again);
	return current ? 0 : same_files(trace, header, again, err);
}

int cli_trace_listen_again(const char *trace, const struct npl_trace_header *header, bool current,
			   const struct npl_instruction_sink *sink, struct npl_err *err)
{
	struct cli_traced_run run = {.n_words = 0};
	struct npl_trace_header again = {0};
	const struct cli_trace_machines machines = {.header = current ? NULL : header, .trace = trace};
	const struct cli_trace_listener to = {.watcher = {.instructions = sink}};
	int rc = read_again(header, &run, &again, err);
	if (rc) {
		npl_trace_header_free(&again);
		return end_again(trace, rc, err);
	}
	if (sink->signals)
		run.common.engine = "rtl";
	rc = cli_trace_make_run(&run, &machines, &again, &to, err);
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
	const size_t machines_then = (size_t)header->n_machines + 1;
	struct npl_device **device = npl_arena_array(&again.arena, machines_then, sizeof *device);
	const char **name = npl_arena_array(&again.arena, machines_then, sizeof *name);
	int n = 0, rc = device && name ? read_again(header, &run, &again, err) : npl_no_memory(err);
	if (!rc)
		rc = cli_compare_options(&run.common, &again.arena, &options, err);
	for (int i = 0; i < header->n_machines && !rc; i++)
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
	for (int i = 0; i < n && device; i++)
		npl_device_close(device[i]);
	npl_trace_header_free(&again);
	return end_again(trace, rc, err);
}
