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

/* Writes what is to be said of a file whose SHA-256 is `then` in the trace and `now` in the run; NULL: it has none. */
static void say_other_version(const char *argument, const char *role, const char *then, const char *now, char *text,
			      size_t n)
{
	char name[200];
	if (strstr(role, " of ")) /* of a machine */
		snprintf(name, sizeof name, "the %s", role);
	else
		snprintf(name, sizeof name, "the %s of '%s'", role, argument);
	if (then && now)
		snprintf(text, n, "%s is another version than that of the trace (SHA-256 %.12s..., it was %.12s...)",
			 name, now, then);
	else
		snprintf(text, n,
			 then ? "%s has a SHA-256 in the trace, and the run does not read it now"
			      : "%s has no SHA-256 in the trace, and the run reads it now",
			 name);
}

/* Says of the next file, from *at on, of which a run reads another version than that of the trace. First come those
 * that the run reads, then those that the trace has alone. Returns false where there is none. */
static bool next_other_version(const struct npl_trace_header *then, const struct npl_trace_header *now, int *at,
			       char *text, size_t n)
{
	while (*at < now->file.n + then->file.n) {
		const bool is_now = *at < now->file.n;
		const int i = is_now ? *at : *at - now->file.n;
		const struct npl_trace_pairs *files = is_now ? &now->file : &then->file,
					     *others = is_now ? &then->file : &now->file;
		const struct npl_trace_pair *file = &files->pair[i];
		const int other = npl_trace_partner(files->pair, i, others);
		const char *value = other < 0 ? NULL : others->pair[other].value;
		++*at;
		if (value && (!is_now || !strcmp(file->value, value)))
			continue;
		say_other_version(then->argument, file->name, is_now ? value : file->value, is_now ? file->value : NULL,
				  text, n);
		return true;
	}
	return false;
}

/* Says that a run of today read other files than that of the trace. */
static void warn_of_files(const char *trace, const struct npl_trace_header *then, const struct npl_trace_header *now)
{
	char warning[400];
	const char *const warnings[] = {warning};
	for (int at = 0; next_other_version(then, now, &at, warning, sizeof warning);)
		cli_warn(trace, warnings, 1);
}

/* Refuses to compare runs of other files: their difference would say nothing. */
static int same_files(const char *trace, const struct npl_trace_header *then, const struct npl_trace_header *now,
		      struct npl_err *err)
{
	char text[400];
	int at = 0;
	if (!next_other_version(then, now, &at, text, sizeof text))
		return 0;
	return npl_fail(err, NPL_EINPUT,
			"%s: %s: --current takes the files of today, and `npulab trace bless` records it anew", trace,
			text);
}

/* Adds the files of the machines to the head of a run that is made again without a recorder. */
static int add_machine_files(void *context, const struct npl_comparison *c, struct npl_err *err)
{
	const struct npl_device_report *entry = &c->device[0];
	int rc = 0;
	for (int i = 0; i < (entry->n_parts ? entry->n_parts : 1) && !rc; i++) {
		const struct npl_device_report *report = entry->n_parts ? &entry->part[i] : entry;
		rc = npl_trace_add_machine_files(context, report->instance, report->driver, report->setting,
						 report->n_settings, err);
	}
	return !rc && c->host.name ? npl_trace_add_machine_files(context, NPL_HOST_NAME, c->host.driver,
								 c->host.setting, c->host.n_settings, err)
				   : rc;
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
	const struct cli_trace_machines machines = {
		.header = current ? NULL : header, .trace = trace, .quiet = !sink->signals};
	const struct cli_trace_listener to = {
		.watcher = {.on_start = add_machine_files, .instructions = sink, .context = &again}};
	int rc = read_again(header, &run, &again, err);
	if (rc) {
		npl_trace_header_free(&again);
		return end_again(trace, rc, err);
	}
	if (sink->signals)
		run.common.engine = "rtl";
	else
		run.common.quiet = true;
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
