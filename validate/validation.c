/* SPDX-License-Identifier: MIT
 *
 * The rows of a validation (validate.h): read from published/, found, added to and judged. */
#include "validation.h"
#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "core/files/csv.h"
#include "core/files/data_names.h"
#include "npulab/device.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASE, METRIC, VALUE, UNIT, TOLERANCE, FITTED, REFERENCE, SOURCE, NOTE, COLUMNS };

void npl_validation_free(struct npl_validation *validation)
{
	free(validation->row);
	npl_arena_free(&validation->arena);
	*validation = (struct npl_validation){0};
}

enum npl_verdict npl_validation_verdict(const struct npl_validation_row *row)
{
	if (isnan(row->published) || isnan(row->tolerance))
		return NPL_UNJUDGED;
	if (isnan(row->model))
		return NPL_MISSING;
	/* The tolerance is slightly greater, so that 0.05 read from text includes a difference of 0.05. */
	double difference = row->model - row->published, tolerance = row->tolerance * (1 + 1e-9);
	return difference <= tolerance && (row->at_most || difference >= -tolerance) ? NPL_WITHIN : NPL_OUTSIDE;
}

double npl_validation_relative(const struct npl_validation_row *row)
{
	return row->published != 0 ? row->model / row->published - 1 : NAN;
}

bool npl_validation_shown(const struct npl_validation_row *row, bool all)
{
	return all || row->attempted || npl_validation_verdict(row) != NPL_UNJUDGED;
}

static struct npl_validation_row *add_row(struct npl_validation *validation, struct npl_err *err)
{
	struct npl_validation_row *grown = npl_grow(validation->row, validation->n, &validation->capacity,
						    sizeof *grown);
	if (!grown) {
		npl_fail(err, NPL_ENOMEM, "out of memory for %d figures", validation->n + 1);
		return NULL;
	}
	validation->row = grown;
	return &grown[validation->n++];
}

static struct npl_validation_row *find_row(const struct npl_validation *validation, const char *machine,
					   const char *case_name, const char *metric)
{
	for (int i = 0; i < validation->n; i++) {
		struct npl_validation_row *row = &validation->row[i];
		if (!strcmp(row->machine, machine) && !strcmp(row->case_name, case_name) &&
		    !strcmp(row->metric, metric))
			return row;
	}
	return NULL;
}

const struct npl_validation_row *npl_validation_find(const struct npl_validation *validation, const char *machine,
						     const char *case_name, const char *metric)
{
	return find_row(validation, machine, case_name, metric);
}

/* Replaces an infinite figure, of a memory without a limit, by a reason: it cannot be compared. */
static void refuse_infinity(struct npl_validation_row *row)
{
	if (!isinf(row->model))
		return;
	row->model = NAN;
	row->reason = "there is no limit in the model";
}

static const char *copy_text(struct npl_validation *validation, const char *text)
{
	return npl_arena_strdup(&validation->arena, text ? text : "");
}

int npl_validation_add(struct npl_validation *validation, const char *machine, const struct npl_validation_row *row,
		       struct npl_err *err)
{
	if (find_row(validation, machine, row->case_name, row->metric))
		return npl_fail(err, NPL_EINTERNAL, "%s of %s is there already", row->metric, row->case_name);
	struct npl_validation_row *added = add_row(validation, err);
	if (!added)
		return err->code;
	*added = *row;
	added->machine = copy_text(validation, machine);
	added->case_name = copy_text(validation, row->case_name);
	added->metric = copy_text(validation, row->metric);
	added->unit = copy_text(validation, row->unit);
	added->reference = copy_text(validation, row->reference);
	added->source = copy_text(validation, row->source);
	added->note = copy_text(validation, row->note);
	added->reason = copy_text(validation, row->reason);
	refuse_infinity(added);
	added->attempted = true;
	if (!added->machine || !added->case_name || !added->metric || !added->unit || !added->reference ||
	    !added->source || !added->note || !added->reason)
		return npl_no_memory(err);
	return 0;
}

int npl_validation_add_fitted(struct npl_validation *validation, const char *machine, const struct npl_device *device,
			      const struct npl_validation_row *row, struct npl_err *err)
{
	struct npl_device *shipped;
	if (npl_device_open(machine, NULL, &shipped, err))
		return err->code;
	int n, rc = 0;
	const struct npl_param_value *value = npl_device_settings(shipped, &n);
	for (int i = 0; i < n && !rc; i++) {
		struct npl_validation_row fitted = *row;
		fitted.metric = value[i].key;
		fitted.unit = value[i].unit;
		fitted.published = fitted.tolerance = NAN;
		fitted.model = npl_device_setting_number(device, value[i].key);
		fitted.fitted = true;
		if (value[i].source == NPL_SOURCE_FITTED)
			rc = npl_validation_add(validation, machine, &fitted, err);
	}
	npl_device_close(shipped);
	return rc;
}

int npl_validation_set(struct npl_validation *validation, const char *machine, const char *case_name,
		       const char *metric, const char *unit, double model, struct npl_err *err)
{
	struct npl_validation_row *row = find_row(validation, machine, case_name, metric);
	if (!row && model == 0)
		return 0;
	if (!row) {
		const struct npl_validation_row unpublished = {
			.case_name = case_name, .metric = metric, .unit = unit, .published = NAN, .tolerance = NAN};
		if (npl_validation_add(validation, machine, &unpublished, err))
			return err->code;
		row = find_row(validation, machine, case_name, metric);
	}
	if (strcmp(row->unit, unit))
		return npl_fail(err, NPL_EINTERNAL, "%s of %s is published in %s and modelled in %s", metric, case_name,
				row->unit, unit);
	row->model = model;
	row->reason = "";
	refuse_infinity(row);
	row->attempted = true;
	return 0;
}

int npl_validation_explain(struct npl_validation *validation, const char *machine, const char *case_name,
			   const char *reason, struct npl_err *err)
{
	const char *text = copy_text(validation, reason);
	if (!text)
		return npl_no_memory(err);
	for (int i = 0; i < validation->n; i++) {
		struct npl_validation_row *row = &validation->row[i];
		if (!strcmp(row->machine, machine) && (!case_name || !strcmp(row->case_name, case_name)) &&
		    row->attempted && isnan(row->model) && !*row->reason)
			row->reason = text;
	}
	return 0;
}

/* Reads "0.02" in the row's unit, "3%" of the value, or "" for none. */
static int read_tolerance(const struct npl_csv *csv, int i, int column, double value, double *tolerance,
			  struct npl_err *err)
{
	const char *text = csv->row[i].field[column];
	char *end;
	*tolerance = *text ? strtod(text, &end) : NAN;
	if (!*text)
		return 0;
	if (!strcmp(end, "%"))
		*tolerance *= fabs(value) / 100;
	else if (*end)
		*tolerance = NAN;
	if (!isfinite(*tolerance) || *tolerance < 0)
		return npl_fail(err, NPL_EINPUT, "%s:%d: tolerance must be a number or a percentage, got '%s'",
				csv->path, csv->row[i].line, text);
	return 0;
}

static int read_row(struct npl_validation *validation, const char *machine, const struct npl_csv *csv, int i,
		    const int *column, struct npl_err *err)
{
	const char *const *field = csv->row[i].field;
	const char *fitted = field[column[FITTED]];
	struct npl_validation_row read = {.machine = machine,
					  .case_name = field[column[CASE]],
					  .metric = field[column[METRIC]],
					  .unit = field[column[UNIT]],
					  .model = NAN,
					  .fitted = *fitted,
					  .reference = field[column[REFERENCE]],
					  .source = field[column[SOURCE]],
					  .note = field[column[NOTE]],
					  .reason = ""};
	if (npl_csv_number(csv, i, column[VALUE], &read.published, err) ||
	    read_tolerance(csv, i, column[TOLERANCE], read.published, &read.tolerance, err))
		return err->code;
	if (*fitted && strcmp(fitted, "yes"))
		return npl_fail(err, NPL_EINPUT, "%s:%d: fitted must be 'yes' or empty, got '%s'", csv->path,
				csv->row[i].line, fitted);
	if (!*read.case_name || !*read.metric || isnan(read.published) || !*read.source)
		return npl_fail(err, NPL_EINPUT, "%s:%d: case, metric, value and source must not be empty", csv->path,
				csv->row[i].line);
	if (find_row(validation, machine, read.case_name, read.metric))
		return npl_fail(err, NPL_EINPUT, "%s:%d: %s of %s is there already", csv->path, csv->row[i].line,
				read.metric, read.case_name);
	struct npl_validation_row *row = add_row(validation, err);
	if (!row)
		return err->code;
	*row = read;
	return 0;
}

int npl_validation_load(struct npl_validation *validation, const char *machine, const char *file, struct npl_err *err)
{
	static const char *const names[COLUMNS] = {"case",   "metric",    "value",  "unit", "tolerance",
						   "fitted", "reference", "source", "note"};
	struct npl_csv csv;
	int column[COLUMNS];
	const char *owner = npl_arena_strdup(&validation->arena, machine);
	if (!owner)
		return npl_no_memory(err);
	if (npl_data_csv("published", file, &validation->arena, &csv, err))
		return err->code;
	for (int c = 0; c < COLUMNS; c++)
		if ((column[c] = npl_csv_column(&csv, names[c], err)) < 0)
			return err->code;
	for (int i = 0; i < csv.n_rows; i++)
		if (read_row(validation, owner, &csv, i, column, err))
			return err->code;
	return 0;
}
