/* SPDX-License-Identifier: MIT
 *
 * npulab trace record: reads the options of a run, which are also those in the head of a trace, and records it. */
#include <string.h>
#include <sys/stat.h>

#include "core/base/refuse.h"
#include "core/files/file.h"
#include "npulab/version.h"
#include "trace_run.h"
#include "trace_window.h"

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
		 "which signals with --detail cycles (default: those that `trace export --list` marks by *)"},
		{"reason", CLI_TEXT, &run->reason, 0, 0, "TEXT", "why it is recorded, for those who read it later"},
		{"device", CLI_TEXT, &run->device, 0, 0, "D", "the device or machine"},
		{"place", CLI_TEXT, &run->rules, 0, 0, "RULES", "a network on several devices, as in `npulab run`"},
		{"place-file", CLI_TEXT, &run->rules_file, 0, 0, "FILE", "such rules, one a line"},
		{"input", CLI_LIST_OF_TEXT, &common->input, 0, 0, "[NAME=]FILE|NxCxHxW",
		 "of a network: samples (.npy, .pb), else the model's own, else random; of conv, pool: the shape"},
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

/* The options that are not of all kinds of runs. */
enum {
	OF_NETWORKS = 1 << CLI_TRACED_NETWORK,
	OF_LAYERS = 1 << CLI_TRACED_LAYER,
	OF_PROGRAMS = 1 << CLI_TRACED_PROGRAM
};
static const struct {
	const char *name;
	unsigned kinds;
} of_kinds[] = {{"place", OF_NETWORKS},
		{"place-file", OF_NETWORKS},
		{"input", OF_NETWORKS | OF_LAYERS},
		{"batch", OF_NETWORKS},
		{"dim", OF_NETWORKS},
		{"calibrate", OF_NETWORKS},
		{"scale-q6.10", OF_NETWORKS},
		{"host", OF_NETWORKS},
		{"seed", OF_NETWORKS | OF_LAYERS},
		{"accuracy", OF_NETWORKS | OF_LAYERS},
#define CLI_LAYER_OPTION(kinds, member, name, ...) {name, OF_LAYERS},
#include "layer_options.def"
		{"host-memory", OF_PROGRAMS},
		{"weights", OF_PROGRAMS},
		{"buffer", OF_PROGRAMS}};

/* Refuses an option that the run would ignore. */
static int refuse_foreign(void *context, const struct cli_option *option, const char *value, struct npl_err *err)
{
	static const char *const names[] = {"networks", "layers", "programs"};
	const struct cli_traced_run *run = context;
	const enum cli_traced_kind kind = cli_trace_kind(run);
	unsigned kinds = 0;
	const char *of[3];
	char text[40];
	int n = 0;
	(void)value;
	for (size_t i = 0; i < sizeof of_kinds / sizeof *of_kinds; i++)
		if (!strcmp(of_kinds[i].name, option->name))
			kinds = of_kinds[i].kinds;
	if (!kinds || kinds & 1U << kind)
		return 0;
	for (unsigned k = 0; k < 3; k++)
		if (kinds & 1U << k)
			of[n++] = names[k];
	return npl_fail(err, NPL_EUSAGE, "trace record: %s%s is an option of %s, and '%s' is a %.*s",
			option->name[1] ? "--" : "-", option->name, cli_names_text(of, n, " and ", text, sizeof text),
			run->word[kind == CLI_TRACED_LAYER], (int)strlen(names[kind]) - 1, names[kind]);
}

/* Refuses options that say where something runs and do not fit the kind of the run. */
static int refuse_place(const struct cli_traced_run *run, struct npl_err *err)
{
	const int places = (run->device != NULL) + (run->rules != NULL) + (run->rules_file != NULL);
	const enum cli_traced_kind kind = cli_trace_kind(run);
	if (kind == CLI_TRACED_NETWORK && places != 1)
		return npl_fail(err, NPL_EUSAGE, "trace record: expected either --device or --place or --place-file");
	if (kind == CLI_TRACED_LAYER && !run->device)
		return npl_fail(err, NPL_EUSAGE, "trace record: a layer runs on --device");
	if (run->accuracy && run->common.timing_only)
		return npl_fail(err, NPL_EUSAGE, "trace record: --accuracy needs values, and --timing-only has none");
	if (run->device && strchr(run->device, ','))
		return npl_fail(err, NPL_EUSAGE, "trace record: --device %s: expected one device", run->device);
	return 0;
}

/* What cli_each_option needs to keep options in a head. */
struct keeper {
	const struct cli_traced_run *run;
	struct npl_trace_header *header;
};

bool cli_trace_option_is_kept(const char *option)
{
	for (size_t i = 0; i < sizeof not_kept / sizeof *not_kept; i++)
		if (!strcmp(option, not_kept[i]))
			return false;
	return true;
}

static int keep_option(void *context, const struct cli_option *option, const char *value, struct npl_err *err)
{
	const struct keeper *keeper = context;
	if (!cli_trace_option_is_kept(option->name))
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

static int keep_words(const struct cli_traced_run *run, struct npl_trace_header *header, struct npl_err *err)
{
	const enum cli_traced_kind kind = cli_trace_kind(run);
	header->command = npl_arena_strdup(&header->arena, kind == CLI_TRACED_LAYER     ? "layer"
							   : kind == CLI_TRACED_PROGRAM ? "exec"
											: "run");
	header->argument = npl_arena_strdup(&header->arena, run->word[kind == CLI_TRACED_LAYER]);
	return header->command && header->argument ? 0 : npl_no_memory(err);
}

int cli_trace_read(int argc, char **argv, bool again, struct cli_traced_run *run, struct npl_trace_header *header,
		   bool *help_printed, struct npl_err *err)
{
	struct cli_option options[OPTIONS];
	const struct keeper keeper = {run, header};
	*run = (struct cli_traced_run){.common = {.seed = 1}};
	list_options(run, options);
	const int rc = (again ? cli_parse_only : cli_parse)(&cli_trace_record, options, argc, argv, run->word, 2,
							    &run->n_words, help_printed, err);
	if (rc || *help_printed)
		return rc;
	if (refuse_word(run, err) || keep_words(run, header, err) ||
	    cli_each_option(options, argc, argv, refuse_foreign, run, err) || refuse_place(run, err) ||
	    read_detail(run, &header->detail, err) || choose_engine(run, header->detail, err))
		return err->code;
	header->signals = run->signals;
	return cli_each_option(options, argc, argv, keep_option, (void *)&keeper, err);
}

/* Makes the run and records it in the file `path`. The files that the run read are added to the header. */
static int record_run(struct cli_traced_run *run, struct npl_trace_header *header, const char *path,
		      struct npl_err *err)
{
	struct npl_trace_recorder *recorder;
	if (npl_trace_recorder_open(header, path, &recorder, err))
		return err->code;
	const struct cli_trace_listener to = cli_trace_listener_of(recorder);
	const int rc = cli_trace_make_run(run, &(struct cli_trace_machines){.quiet = run->common.quiet}, header, &to,
					  err);
	const struct npl_trace_size size = npl_trace_recorder_size(recorder);
	if (!rc && !run->common.quiet)
		cli_trace_say_size(path, &size);
	npl_trace_recorder_close(recorder);
	return rc;
}

/* Refuses to replace a trace that has reasons of its own, which would be lost. */
static int keep_history(const char *path, struct npl_err *err)
{
	struct npl_trace_header header;
	struct npl_err other;
	struct stat status;
	int reasons = 0;
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return 0;
	npl_file_forget_outputs(); /* a declared output can be read by nobody */
	if (!npl_trace_header_read(path, &header, &other)) {
		reasons = header.reason.n;
		npl_trace_header_free(&header);
	}
	if (reasons > 1)
		return npl_fail(
			err, NPL_EUSAGE,
			"trace record: %s has a history of %d reasons, which would be lost: record it anew with "
			"`npulab trace bless`, or remove the file first",
			path, reasons);
	return npl_file_declare_output(path, err);
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
		rc = cli_trace_check_name("trace record: -o", run.output, ".gz",
					  "a trace is compressed by zstd, expected a name that ends in .zst", err);
	if (!rc && !help_printed)
		rc = keep_history(run.output, err);
	if (!rc && !help_printed)
		rc = npl_trace_add(&header, &header.reason, npl_version(), run.reason ? run.reason : "recorded", err);
	if (!rc && !help_printed)
		rc = record_run(&run, &header, run.output, err);
	npl_trace_header_free(&header);
	return rc;
}

const struct cli_command cli_trace_record = {
	"trace record", "MODEL|layer KIND --device D|MODEL --place RULES|PROGRAM -o FILE",
	"runs a network, a layer or a program, and keeps what it did in a file", record_main};
