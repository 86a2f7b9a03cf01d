/* SPDX-License-Identifier: MIT
 *
 * Functions that several commands share: common options, reading model and samples, writing reports. */
#ifndef NPULAB_CLI_COMMON_H
#define NPULAB_CLI_COMMON_H

#include "frontend/samples/network.h"
#include "npulab/compare.h"
#include "npulab/report.h"
#include "options.h"
#include "waiting.h"

/* Options of the commands that run something. */
struct cli_common {
	const char *devices; /* "a,b,c" */
	struct cli_list input, set, dim, match;
	const char *labels, *json, *csv, *html, *output, *timeline, *engine, *calibrate, *q16_scale, *host, *sort;
	int64_t batch, seed, threads, max_memory, top;
	bool no_accuracy, timing_only, layers, quiet;
};

/* Reads the choice of layers by --match, --sort and --top; each implies --layers. Returns NPL_EUSAGE for a bad one. */
int cli_read_choice(struct cli_common *common, const struct npl_graph *graph, struct npl_layer_choice_options *choice,
		    struct npl_err *err);

/* Fills the options of a comparison from the common options. Its devices are those of --devices, with names in the
 * arena; without --devices the command names them. The command itself fills in places, outputs and programs. Returns
 * NPL_EUSAGE for bad options. */
int cli_compare_options(const struct cli_common *common, struct npl_arena *arena,
			struct npl_compare_options *compare_options, struct npl_err *err);

/* Loads the model and its samples, as the common options say. npl_network_free frees them. */
int cli_network_load(const char *model, const struct cli_common *common, struct npl_network *network,
		     struct npl_err *err);

/* Reads "NAME=N" of --dim; dims has room for list->n. Returns NPL_EUSAGE for a bad one. */
int cli_read_dims(const struct cli_list *list, struct npl_arena *arena, struct npl_dim *dims, struct npl_err *err);

/* Prints warnings, one line each on standard error, about `subject` (NULL: the warnings name it themselves). To be
 * called after success, because a failure is one line. */
void cli_warn(const char *subject, const char *const *warning, int n);
/* Prints npl_device_notes as warnings. */
void cli_warn_of_machine(const struct npl_device *device);

/* Writes "a, b or c", with `last` (here " or ") before the last name; returns buf. */
const char *cli_names_text(const char *const *names, int n, const char *last, char *buf, size_t size);

/* Splits "a,b,c" into names in the arena. Returns NPL_EUSAGE when it is empty or has a name twice. */
int cli_split_devices(const char *text, struct npl_arena *arena, const char ***names, int *n, struct npl_err *err);

/* An output as an option names it. path: NULL where it is not wanted. */
struct cli_destination {
	const char *option, *path;
};
/* Refuses two outputs on standard output. */
int cli_check_stdout(const struct cli_destination *output, int n, struct npl_err *err);
/* Checks the outputs before the work starts. Returns NPL_EUSAGE when two outputs go to standard output, or one that
 * cannot. cli_parse and the library check that files can be written and are not read too (CLI_OUTPUT). */
int cli_check_reports(const struct cli_common *common, struct npl_err *err);

/* Opens the only machine of a command, with its settings of --set; returns NPL_EUSAGE for those of another machine. */
int cli_open_machine(const char *name, const struct cli_common *common, struct npl_device **device,
		     struct npl_err *err);

bool cli_is_stdout(const char *path); /* says whether path is "-"; NULL is not */
/* Writes text or bytes to a file (npl_file_write), or to standard output for "-". */
int cli_write(const char *path, const void *data, size_t bytes, struct npl_err *err);

/* Returns NPL_EDEVICE, with the first name, where a report lists devices that could not start; the other devices have
 * been reported. 0: all started. */
int cli_missing(const struct npl_unavailables *unavailable, struct npl_err *err);

/* Writes a tensor as .npy to a file. */
int cli_write_tensor(const char *path, const struct npl_tensor *tensor, struct npl_err *err);
/* Writes the text that `writer` makes, first to memory, then by cli_write. */
int cli_write_text(const char *path, void (*writer)(FILE *out, const void *data), const void *data,
		   struct npl_err *err);

/* The outputs of a run do not depend on each other: when one cannot be written, the others and the table are still
 * written, and the line at the end names all failures. */

/* Appends the message of a failure rc to the one in err, and returns the code of the first failure. */
int cli_also_failed(int rc, const struct npl_err *failure, struct npl_err *err);

/* The same for a table that was printed with the code `printed`: where it is not 0, cells of the table are missing. */
int cli_table_printed(int printed, int rc, struct npl_err *err);

struct cli_report {
	const char *path; /* NULL: not wanted */
	void (*writer)(FILE *out, const void *data);
	const void *data;
};
/* Writes each report: files first, so that a reader of standard output that goes away loses none of them. */
int cli_write_reports(const struct cli_report *report, int n, struct npl_err *err);

/* Writes the files that the options name, with --output's tensor from `output`, and prints the table, or with --json -
 * only the JSON. */
int cli_report_comparison(const struct npl_comparison *comparison, const struct npl_report_context *context,
			  const struct npl_tensor *output, const struct cli_common *common, struct npl_err *err);

#endif
