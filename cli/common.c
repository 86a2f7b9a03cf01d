/* SPDX-License-Identifier: MIT
 *
 * What the running commands share (common.h). */
#include "common.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npulab/clock.h"
#include "npulab/file.h"

void cli_common_options(struct cli_common *c, struct cli_option *table)
{
	const struct cli_option shared[CLI_COMMON_OPTIONS] = {
		{"input", CLI_LIST_OF_TEXT, &c->input, 0, 0, "[NAME=]FILE",
		 "samples (.npy, .pb); else the model's own, else random"},
		{"labels", CLI_TEXT, &c->labels, 0, 0, "FILE", "the samples' classes (.npy)"},
		{"batch", CLI_INT, &c->batch, 1, 1 << 20, "N", "samples per batch (docs/batches.md)"},
		{"dim", CLI_LIST_OF_TEXT, &c->dim, 0, 0, "NAME=N", "a dimension that the model leaves open"},
		{"layers", CLI_FLAG, &c->layers, 0, 0, NULL, "a table of the layers too"},
		{"set", CLI_LIST_OF_TEXT, &c->set, 0, 0, "DEVICE.KEY=VALUE",
		 "a parameter (`npulab devices DEVICE --yaml` lists them)"},
		{"calibrate", CLI_TEXT, &c->calibrate, 0, 0, "METHOD",
		 "ranges for 8 bits: minmax (default), percentile[=99.99], mse"},
		{"scale-q6.10", CLI_TEXT, &c->q16_scale, 0, 0, "on|off",
		 "a power of two for each tensor (default on); off: 2^-10 for all"},
		{"timing-only", CLI_FLAG, &c->timing_only, 0, 0, NULL, "cycles and energy without values: much faster"},
		{"no-accuracy", CLI_FLAG, &c->no_accuracy, 0, 0, NULL, "skip the float reference"},
		{"seed", CLI_INT, &c->seed, 0, INT64_MAX, "N", "of random samples (default 1)"},
		{"engine", CLI_TEXT, &c->engine, 0, 0, "fast|rtl",
		 "of the simulated machines that have both (default fast)"},
		{"threads", CLI_INT, &c->threads, 1, 1024, "N", "of the real processor (default: all)"},
		{"json", CLI_TEXT, &c->json, 0, 0, "FILE", "the machine-readable form; - for standard output"},
		{"csv", CLI_TEXT, &c->csv, 0, 0, "FILE", "one line per layer and device"},
		{"quiet", CLI_FLAG, &c->quiet, 0, 0, NULL, "no table, no progress, no warnings"},
		{0}};
	memcpy(table, shared, sizeof shared);
}

int cli_read_formats(const struct cli_common *common, struct npl_compare_options *how, struct npl_err *err)
{
	const char *scale = common->q16_scale ? common->q16_scale : "on";
	how->q16_plain = !strcmp(scale, "off");
	if (!how->q16_plain && strcmp(scale, "on"))
		return npl_fail(err, NPL_EUSAGE, "--scale-q6.10 %s: expected on or off", scale);
	return npl_calibrate_parse(common->calibrate ? common->calibrate : "minmax", &how->calibrate, err);
}

int cli_read_dims(const struct cli_list *list, struct npl_arena *arena, struct npl_dim *dims, struct npl_err *err)
{
	for (int i = 0; i < list->n; i++) {
		const char *text = list->item[i], *equals = strrchr(text, '=');
		char *end = NULL;
		errno = 0;
		long long value = equals ? strtoll(equals + 1, &end, 10) : -1;
		if (!equals || equals == text || end == equals + 1 || *end || errno || value < 0)
			return npl_fail(err, NPL_EUSAGE, "--dim %s: expected NAME=N, N a whole number from 0 on", text);
		dims[i] = (struct npl_dim){.name = npl_arena_strndup(arena, text, (size_t)(equals - text)),
					   .value = value};
		if (!dims[i].name)
			return npl_fail(err, NPL_ENOMEM, "out of memory");
	}
	return 0;
}

void cli_warn(const char *of, const char *const *warning, int n)
{
	for (int i = 0; i < n; i++) {
		struct npl_err line; /* which makes it printable */
		npl_fail(&line, NPL_OK, "%s%s%s", of ? of : "", of ? ": " : "", warning[i]);
		fprintf(stderr, "npulab: warning: %s\n", line.msg);
	}
}

static int load_samples(const struct cli_common *common, struct cli_work *work, struct npl_err *err)
{
	const struct npl_model_files *files = &work->files;
	const char *const *inputs = common->input.item;
	const char *labels = common->labels, *own[1] = {files->input};
	int n_inputs = common->input.n;
	if (!n_inputs && files->input) { /* a shipped model's own samples, with their labels */
		inputs = own;
		n_inputs = 1;
		labels = labels ? labels : files->labels;
	}
	if (!n_inputs && common->timing_only) {
		if (npl_samples_describe(work->graph, labels, &work->samples, err))
			return err->code;
	} else if (npl_samples_load(work->graph, inputs, n_inputs, labels, (uint64_t)common->seed, &work->samples, err))
		return err->code;
	if (!files->calibration)
		return 0;
	work->calibrated = true;
	const char *calibration[] = {files->calibration};
	return npl_samples_load(work->graph, calibration, 1, NULL, 0, &work->calibration, err);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool same_inode(const char *a, const char *b)
{
	struct stat x, y;
	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* One file under two names? One that is not there yet is known by its folder and its name in it. */
static bool same_file(const char *a, const char *b)
{
	char folder_a[PATH_MAX], folder_b[PATH_MAX];
	if (!strcmp(a, b) || same_inode(a, b))
		return true;
	if (strcmp(base_name(a), base_name(b)))
		return false;
	snprintf(folder_a, sizeof folder_a, "%.*s.", (int)(base_name(a) - a), a);
	snprintf(folder_b, sizeof folder_b, "%.*s.", (int)(base_name(b) - b), b);
	return same_inode(folder_a, folder_b);
}

#define TARGETS 4

/* The files that the options name for output; standard output and what is not asked for are NULL. */
static void list_targets(const struct cli_common *common, const char *target[TARGETS])
{
	const char *const all[TARGETS] = {common->json, common->csv, common->output, common->timeline};
	for (int i = 0; i < TARGETS; i++)
		target[i] = all[i] && strcmp(all[i], "-") ? all[i] : NULL;
}

/* A run may take long: an output that has no folder to go to is refused before it. */
int cli_check_folders(const struct cli_common *common, struct npl_err *err)
{
	const char *target[TARGETS];
	list_targets(common, target);
	for (int i = 0; i < TARGETS; i++) {
		const char *slash = target[i] ? strrchr(target[i], '/') : NULL;
		char folder[PATH_MAX];
		if (!slash || (size_t)(slash - target[i]) >= sizeof folder - 1)
			continue;
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - target[i]) + 1, target[i]);
		if (access(folder, W_OK | X_OK))
			return npl_fail(err, NPL_EOUTPUT, "%s: cannot be written: %s", target[i], strerror(errno));
	}
	return 0;
}

/* A report over what the run reads would lose that. */
int cli_protect(const struct cli_common *common, const char *path, const char *what, struct npl_err *err)
{
	const char *target[TARGETS];
	list_targets(common, target);
	for (int i = 0; i < TARGETS; i++)
		if (path && target[i] && same_inode(target[i], path))
			return npl_fail(err, NPL_EUSAGE, "%s is %s and would be overwritten", target[i], what);
	return 0;
}

static int protect_samples(const struct cli_common *common, const struct npl_model_files *files, struct npl_err *err)
{
	const char *const read[] = {files->input, files->labels, files->calibration, common->labels};
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		if (cli_protect(common, read[i], "an input", err))
			return err->code;
	for (int i = 0; i < common->input.n; i++) { /* NAME=FILE, or a file with a '=' in its name */
		const char *equals = strchr(common->input.item[i], '=');
		if (cli_protect(common, common->input.item[i], "an input", err) ||
		    cli_protect(common, equals ? equals + 1 : NULL, "an input", err))
			return err->code;
	}
	return 0;
}

int cli_protect_machines(const struct cli_common *common, const char *const *names, int n, struct npl_err *err)
{
	for (int i = 0; i < n; i++) {
		bool is_file = strchr(names[i], '/') || strstr(names[i], ".yaml");
		if (is_file && cli_protect(common, names[i], "a machine file", err))
			return err->code;
	}
	return 0;
}

int cli_work_load(const char *model, const struct cli_common *common, struct cli_work *work, struct npl_err *err)
{
	*work = (struct cli_work){0};
	int rc = npl_model_find(model, &work->arena, &work->files, err);
	if (!rc)
		rc = cli_check_folders(common, err);
	if (!rc)
		rc = cli_protect(common, work->files.path, "the model itself", err);
	if (!rc)
		rc = protect_samples(common, &work->files, err);
	struct npl_dim dims[CLI_LIST];
	struct npl_load_options options = {.batch = common->batch,
					   .usual_batch = work->files.batch,
					   .n_dims = common->dim.n,
					   .dims = dims,
					   .n_files = common->input.n,
					   .files = common->input.item};
	if (!common->input.n && work->files.input) {
		options.n_files = 1;
		options.files = &work->files.input;
	}
	if (!rc)
		rc = cli_read_dims(&common->dim, &work->arena, dims, err);
	if (!rc)
		rc = npl_graph_load(work->files.path, &options, &work->graph, err);
	if (!rc)
		rc = load_samples(common, work, err);
	/* A shipped model's batch suits its own samples; fewer of the user's make a smaller batch, not a padded one. */
	if (!rc && !common->batch && work->samples.count < work->graph->batch) {
		options.usual_batch = work->samples.count;
		npl_samples_free(&work->samples);
		npl_samples_free(&work->calibration);
		npl_graph_free(work->graph);
		work->graph = NULL;
		rc = npl_graph_load(work->files.path, &options, &work->graph, err);
		if (!rc)
			rc = load_samples(common, work, err);
	}
	if (rc)
		cli_work_free(work);
	return rc;
}

void cli_work_free(struct cli_work *work)
{
	npl_samples_free(&work->samples);
	npl_samples_free(&work->calibration);
	npl_graph_free(work->graph);
	npl_arena_free(&work->arena);
	*work = (struct cli_work){0};
}

int cli_split_devices(const char *text, struct npl_arena *arena, const char ***names, int *n, struct npl_err *err)
{
	size_t most = 1;
	for (const char *c = text; *c; c++)
		most += *c == ',';
	*names = npl_arena_array(arena, most, sizeof **names);
	*n = 0;
	if (!*names)
		return npl_fail(err, NPL_ENOMEM, "out of memory");
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		const char *name = npl_arena_strndup(arena, at, length);
		if (!name)
			return npl_fail(err, NPL_ENOMEM, "out of memory");
		if (!length)
			return npl_fail(err, NPL_EUSAGE,
					"--devices %s: an empty name, expected names separated by commas", text);
		for (int i = 0; i < *n; i++)
			if (!strcmp((*names)[i], name))
				return npl_fail(err, NPL_EUSAGE, "--devices %s: '%s' is there twice", text, name);
		(*names)[(*n)++] = name;
		at += length;
		if (!*at)
			return 0;
	}
}

void cli_progress_tell(void *user, const char *what, int64_t done, int64_t all)
{
	struct cli_progress *progress = user;
	if (progress->silent || !isatty(STDERR_FILENO))
		return;
	if (progress->started == 0)
		progress->started = npl_clock_seconds();
	if (npl_clock_seconds() - progress->started < 1)
		return;
	progress->shown = true;
	fprintf(stderr, "\r\033[K%s: batch %lld of %lld", what, (long long)(done < all ? done + 1 : all),
		(long long)all);
	fflush(stderr);
}

void cli_progress_end(struct cli_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}

/* The settings of a machine file are addressed by the machine's name, which only the opened file tells. */
int cli_open_machine(const char *name, const struct cli_common *common, struct npl_device **device, struct npl_err *err)
{
	const char *sets[CLI_LIST];
	const struct cli_list *set = &common->set;
	struct npl_device_options options = {.set = sets};
	int rc = npl_device_open(name, NULL, device, err);
	if (rc || !set->n)
		return rc;
	options.n_sets = npl_device_sets(npl_device_name(*device), set->item, set->n, sets);
	if (options.n_sets < set->n)
		rc = npl_fail(err, NPL_EUSAGE, "--set %s: expected %s.KEY=VALUE in each", set->item[0],
			      npl_device_name(*device));
	npl_device_close(*device);
	*device = NULL;
	return rc ? rc : npl_device_open(name, &options, device, err);
}

int cli_write(const char *path, const void *data, size_t bytes, struct npl_err *err)
{
	if (strcmp(path, "-"))
		return npl_file_write(path, &(struct npl_file_piece){.data = data, .bytes = bytes}, 1, err);
	fwrite(data, 1, bytes, stdout); /* main looks at the stream's state */
	return 0;
}

int cli_write_text(const char *path, void (*writer)(FILE *out, const void *what), const void *what, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	writer(out, what);
	int rc = fclose(out) ? npl_fail(err, NPL_ENOMEM, "%s: out of memory", path) : cli_write(path, text, bytes, err);
	free(text);
	return rc;
}

typedef void report_writer(FILE *out, const struct npl_comparison *comparison,
			   const struct npl_report_context *context);

static int write_report(const char *path, report_writer *writer, const struct npl_comparison *comparison,
			const struct npl_report_context *context, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a report");
	writer(out, comparison, context);
	int rc = fclose(out) ? npl_fail(err, NPL_ENOMEM, "out of memory for a report") : 0;
	if (!rc)
		rc = cli_write(path, text, bytes, err);
	free(text);
	return rc;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

int cli_check_reports(const struct cli_common *common, struct npl_err *err)
{
	if (is_stdout(common->json) + is_stdout(common->csv) + is_stdout(common->timeline) > 1)
		return npl_fail(err, NPL_EUSAGE, "%s and %s cannot both have standard output",
				is_stdout(common->json) ? "--json -" : "--csv -",
				is_stdout(common->json) && is_stdout(common->csv) ? "--csv -" : "--timeline -");
	if (is_stdout(common->output))
		return npl_fail(err, NPL_EUSAGE, "--output -: an array goes to a file, not to standard output");
	const char *target[TARGETS];
	list_targets(common, target);
	for (int i = 0; i < TARGETS; i++)
		for (int k = 0; k < i; k++)
			if (target[i] && target[k] && same_file(target[i], target[k]))
				return npl_fail(err, NPL_EUSAGE, "%s is named for two outputs", target[i]);
	return 0;
}

int cli_report(const struct npl_comparison *comparison, const struct npl_report_context *context,
	       const struct cli_common *common, struct npl_err *err)
{
	const struct {
		const char *path;
		report_writer *writer;
	} report[] = {{common->json, npl_report_json},
		      {common->csv, npl_report_csv},
		      {common->timeline, npl_report_timeline}};
	/* Files first: where one cannot be written, nothing is printed. */
	for (int i = 0; i < 3; i++)
		if (report[i].path && !is_stdout(report[i].path) &&
		    write_report(report[i].path, report[i].writer, comparison, context, err))
			return err->code;
	for (int i = 0; i < 3; i++)
		if (is_stdout(report[i].path))
			return write_report(report[i].path, report[i].writer, comparison, context, err);
	if (!common->quiet)
		npl_report_table(stdout, comparison, context);
	return 0;
}
