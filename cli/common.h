/* SPDX-License-Identifier: MIT
 *
 * What several commands share: their common options, reading model and samples, and where reports go. */
#ifndef NPULAB_CLI_COMMON_H
#define NPULAB_CLI_COMMON_H

#include "npulab/compare.h"
#include "npulab/report.h"
#include "options.h"
#include "waiting.h"

/* Options of the commands that run something. */
struct cli_common {
	const char *devices; /* "a,b,c" */
	struct cli_list input, set, dim, match;
	const char *labels, *json, *csv, *output, *timeline, *engine, *calibrate, *q16_scale, *host, *sort;
	int64_t batch, seed, threads, max_memory, top;
	bool no_accuracy, timing_only, layers, quiet;
};

/* The options that compare and run share: fills `table`, which has room for CLI_COMMON_OPTIONS entries, with them and
 * ends it. */
#define CLI_COMMON_OPTIONS 22
void cli_common_options(struct cli_common *common, struct cli_option *table);

/* The layers that --match, --sort and --top choose; each implies --layers. NPL_EUSAGE. */
int cli_read_choice(struct cli_common *common, const struct npl_graph *graph, struct npl_layer_choice_options *choice,
		    struct npl_err *err);

/* How a comparison is done, as the common options say. Its devices are those of --devices, their names in the arena, or
 * none: then the command names them. What only some commands have, such as places, outputs and programs, is the
 * command's to fill in. NPL_EUSAGE. */
int cli_compare_options(const struct cli_common *common, struct npl_arena *arena, struct npl_compare_options *how,
			struct npl_err *err);

/* The model and its samples. */
struct cli_inputs {
	struct npl_arena arena;
	struct npl_model_files files;
	struct npl_graph *graph;
	struct npl_samples samples, calibration;
	bool calibrated; /* calibration holds samples */
};

int cli_inputs_load(const char *model, const struct cli_common *common, struct cli_inputs *inputs, struct npl_err *err);
void cli_inputs_free(struct cli_inputs *inputs);

/* "NAME=N" of --dim; dims has room for list->n. NPL_EUSAGE. */
int cli_read_dims(const struct cli_list *list, struct npl_arena *arena, struct npl_dim *dims, struct npl_err *err);

/* Warnings, one line each on standard error, of what (NULL: they say so themselves); after success, for a failure is
 * one line. */
void cli_warn(const char *of, const char *const *warning, int n);
/* npl_device_notes as such. */
void cli_warn_of_machine(const struct npl_device *device);

/* Splits "a,b,c" (in the arena). NPL_EUSAGE when empty or a name is there twice. */
int cli_split_devices(const char *text, struct npl_arena *arena, const char ***names, int *n, struct npl_err *err);

/* Before the work starts. NPL_EUSAGE: two outputs want standard output, or one that cannot go there does. Whether files
 * can be written, and are not read too, is checked by cli_parse and the library (CLI_OUTPUT). */
int cli_check_reports(const struct cli_common *common, struct npl_err *err);

/* Opens the one machine of a command, with those of --set that are its own; NPL_EUSAGE for another's. */
int cli_open_machine(const char *name, const struct cli_common *common, struct npl_device **device,
		     struct npl_err *err);

bool cli_is_stdout(const char *path); /* "-"; false for NULL */
/* Writes text or bytes to a file (npl_file_write), or to standard output for "-". */
int cli_write(const char *path, const void *data, size_t bytes, struct npl_err *err);

/* NPL_EDEVICE, naming the first, where a report lists devices that could not start; what did run has been reported. 0:
 * none. */
int cli_missing(const struct npl_unavailables *unavailable, struct npl_err *err);

/* Writes a tensor as .npy to a file. */
int cli_write_tensor(const char *path, const struct npl_tensor *tensor, struct npl_err *err);
/* Writes the text that `writer` makes, first to memory, then by cli_write. */
int cli_write_text(const char *path, void (*writer)(FILE *out, const void *what), const void *what,
		   struct npl_err *err);

/* The outputs of a run do not depend on each other: one that cannot be written keeps neither the others nor the table
 * back, and the line at the end tells of all that failed. */

/* Puts a failure after the one that is in err, if rc says that there is one; returns the first one's code. */
int cli_also_failed(int rc, const struct npl_err *failure, struct npl_err *err);

struct cli_report {
	const char *path; /* NULL: not asked for */
	void (*writer)(FILE *out, const void *what);
	const void *what;
};
/* Writes each: files first, so that a reader of standard output who goes away loses none of them. */
int cli_write_reports(const struct cli_report *report, int n, struct npl_err *err);

/* Writes the files that the options ask for, `output` as --output, and prints the table, or with --json - only the
 * JSON. */
int cli_report(const struct npl_comparison *comparison, const struct npl_report_context *context,
	       const struct npl_tensor *output, const struct cli_common *common, struct npl_err *err);

#endif
