/* SPDX-License-Identifier: MIT
 *
 * A validation as a person reads it: published, model and difference of each figure, then notes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/format/table.h"
#include "validate_cells.h"

#define COLUMNS 7
#define FITTED  "fitted"

/* Writes the cell of WITHIN: the tolerance, and a word where the model is not within it. */
static const char *within(char *buf, const struct npl_validation_row *row, const char *tolerance)
{
	const enum npl_verdict verdict = npl_validation_verdict(row);
	const char *word = verdict == NPL_OUTSIDE ? ": OUTSIDE" : verdict == NPL_MISSING ? ": MISSING" : "";
	if (verdict == NPL_UNJUDGED)
		snprintf(buf, CELL, "%s", row->fitted ? FITTED : "");
	else
		snprintf(buf, CELL, "%.20s%s%s", tolerance, word, row->fitted ? ", " FITTED : "");
	return buf;
}

/* Styles a cell of WITHIN. */
static enum npl_tone tone_of(const char *cell)
{
	if (!*cell || !strcmp(cell, FITTED))
		return NPL_TONE_NONE;
	return strchr(cell, ':') ? NPL_TONE_BAD : NPL_TONE_GOOD;
}

static const char *or_dash(const char *cell)
{
	return *cell ? cell : "-";
}

static void put_row(struct npl_table *table, const struct npl_validation_row *row)
{
	struct npl_validation_cells cells;
	char within_text[CELL];
	npl_validation_cells_of(row, &cells);
	npl_table_row(table,
		      (const char *const[COLUMNS]){row->case_name, row->metric, cells.unit, or_dash(cells.published),
						   or_dash(cells.model), or_dash(cells.difference),
						   within(within_text, row, cells.tolerance)});
}

static bool same_source(const struct npl_validation_row *a, const struct npl_validation_row *b)
{
	return !strcmp(a->source, b->source);
}

/* Prints the figures of one source under its name. */
static void put_source(struct npl_table *table, const struct npl_validation *v, int first, bool all)
{
	const char *const blank[COLUMNS] = {""};
	const char *const name[COLUMNS] = {*v->row[first].source ? v->row[first].source : "not published"};
	npl_table_row(table, blank);
	npl_table_row(table, name);
	for (int i = first; i < v->n; i++)
		if (npl_validation_shown(&v->row[i], all) && same_source(&v->row[i], &v->row[first]))
			put_row(table, &v->row[i]);
}

/* Says whether row i is the first row shown of its source. */
static bool begins_source(const struct npl_validation *v, int i, bool all)
{
	if (!npl_validation_shown(&v->row[i], all))
		return false;
	for (int k = 0; k < i; k++)
		if (npl_validation_shown(&v->row[k], all) && same_source(&v->row[k], &v->row[i]))
			return false;
	return true;
}

/* Prints each note once, with the figures that it belongs to. */
static void put_notes(FILE *out, const struct npl_validation *v, bool all)
{
	for (int i = 0; i < v->n; i++) {
		const struct npl_validation_row *row = &v->row[i];
		char line[400];
		int same_notes = 0;
		bool printed = false;
		if (!npl_validation_shown(row, all) || !*row->note)
			continue;
		for (int k = 0; k < v->n; k++) {
			bool same = k != i && npl_validation_shown(&v->row[k], all) &&
				    !strcmp(v->row[k].note, row->note);
			printed = printed || (same && k < i);
			same_notes += same;
		}
		if (printed)
			continue;
		snprintf(line, sizeof line, "%s %s%s: %s", row->case_name, row->metric, same_notes ? " and others" : "",
			 row->note);
		npl_table_text(line, out);
	}
}

static bool is_missing(const struct npl_validation_row *row, bool all)
{
	return npl_validation_shown(row, all) && row->attempted && isnan(row->model);
}

/* Says whether row k is listed with row i: the model lacks both figures for one reason. */
static bool is_listed_with(const struct npl_validation *v, int k, int i, bool all)
{
	return is_missing(&v->row[k], all) && !strcmp(v->row[k].reason, v->row[i].reason);
}

static bool same_case(const struct npl_validation_row *a, const struct npl_validation_row *b)
{
	return !strcmp(a->machine, b->machine) && !strcmp(a->case_name, b->case_name);
}

/* Writes "CONV1 (speedup, energy_ratio), CONV3 (speedup): the reason" for row i and the rows listed with it. */
static void put_reason(FILE *text, const struct npl_validation *v, int i, bool all)
{
	const char *between = "no figure of ";
	for (int k = i; k < v->n; k++) {
		bool printed = !is_listed_with(v, k, i, all);
		for (int earlier = i; earlier < k && !printed; earlier++)
			printed = is_listed_with(v, earlier, i, all) && same_case(&v->row[earlier], &v->row[k]);
		if (printed)
			continue;
		fprintf(text, "%s%s (%s", between, v->row[k].case_name, v->row[k].metric);
		for (int later = k + 1; later < v->n; later++)
			if (is_listed_with(v, later, i, all) && same_case(&v->row[later], &v->row[k]))
				fprintf(text, ", %s", v->row[later].metric);
		between = "), ";
	}
	fprintf(text, "): %s", v->row[i].reason);
}

/* Prints which figures the model does not have, and why. */
static void put_reasons(FILE *out, const struct npl_validation *v, bool all)
{
	for (int i = 0; i < v->n; i++) {
		char *line = NULL;
		size_t bytes = 0;
		bool printed = !is_missing(&v->row[i], all);
		for (int k = 0; k < i && !printed; k++)
			printed = is_listed_with(v, k, i, all);
		FILE *text = printed ? NULL : open_memstream(&line, &bytes);
		if (!text)
			continue;
		put_reason(text, v, i, all);
		if (!fclose(text))
			npl_table_text(line, out);
		free(line);
	}
}

int npl_validation_table(FILE *out, const struct npl_validation *v, bool all)
{
	static const char *const header[COLUMNS] = {"CASE", "METRIC", "UNIT", "PUBLISHED", "MODEL", "DIFF", "WITHIN"};
	int count[4] = {0}, hidden = 0;
	struct npl_table table;
	char line[200];
	npl_table_open(&table, "lllrrrl", header);
	table.keys = 2; /* a case and a metric make a figure */
	table.least_last = 12;
	table.tone_of = tone_of;
	table.verdicts = COLUMNS - 1;
	for (int i = 0; i < v->n; i++) {
		if (begins_source(v, i, all))
			put_source(&table, v, i, all);
		if (npl_validation_shown(&v->row[i], all))
			count[npl_validation_verdict(&v->row[i])]++;
		else
			hidden++;
	}
	npl_table_print(&table, out);
	int rc = npl_table_close(&table);
	fputc('\n', out);
	npl_table_text(
		"UNIT: of PUBLISHED and MODEL, where the metric does not name it. DIFF: by how much the model "
		"differs, in percent of what is published, between shares in points (pt), between ratios as a "
		"factor (x). WITHIN: how much of that is allowed, and OUTSIDE where it is more, MISSING where the "
		"model has no figure; nothing: not judged. fitted: parameters of the machine were fitted to it",
		out);
	put_notes(out, v, all);
	put_reasons(out, v, all);
	snprintf(line, sizeof line, "%d figure%s within their tolerance, %d outside, %d missing, %d shown only",
		 count[NPL_WITHIN], npl_plural(count[NPL_WITHIN]), count[NPL_OUTSIDE], count[NPL_MISSING],
		 count[NPL_UNJUDGED]);
	npl_table_text(line, out);
	if (hidden)
		fprintf(out, "%d more %s published that no model works out (--all lists them)\n", hidden,
			hidden == 1 ? "is" : "are");
	return rc;
}
