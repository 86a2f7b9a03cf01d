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

#define COLUMNS 7

/* A row's figures are in one unit: its own, a share in percent, or one with a prefix that suits what is published. */
struct scale {
	double factor;
	char unit[CELL];
	bool is_share;
};

/* Says whether the metric's name contains its unit, as "fc_layers" does "layers" and "published_ops_per_byte" does
 * "ops/byte". */
static bool names_unit(const char *metric, const char *unit)
{
	const char *slash = strchr(unit, '/');
	char words[CELL];
	snprintf(words, sizeof words, "%.*s%s%s", slash ? (int)(slash - unit) : CELL, unit, slash ? "_per_" : "",
		 slash ? slash + 1 : "");
	return strlen(unit) > 2 && strstr(metric, words);
}

static struct scale scale_of(const struct npl_validation_row *row)
{
	static const char *const prefix[] = {"", "m", "u", "n", "p"};
	const double value = fabs(isnan(row->published) ? row->model : row->published);
	const bool is_named = names_unit(row->metric, row->unit);
	struct scale scale = {.factor = 1, .is_share = !strcmp(row->unit, "fraction")};
	size_t offset = 0;
	if (!strcmp(row->unit, "J") || !strcmp(row->unit, "s"))
		for (; value > 0 && value * scale.factor < 0.9995 && offset + 1 < sizeof prefix / sizeof *prefix;
		     offset++)
			scale.factor *= 1000;
	snprintf(scale.unit, sizeof scale.unit, "%s%s", prefix[offset], is_named ? "" : row->unit);
	if (scale.is_share)
		scale = (struct scale){.factor = 100, .unit = "%", .is_share = true};
	else if (value >= 1e6 && strcmp(row->unit, "cycles") != 0) { /* cycles are compared to the last digit */
		scale.factor = 1e-6;
		snprintf(scale.unit, sizeof scale.unit, "million%s%.20s", is_named ? "" : " ",
			 is_named ? "" : row->unit);
	}
	return scale;
}

/* Writes four digits; counts to the last one, as long as a column holds them. */
static const char *amount(char *buf, double value, const struct scale *scale)
{
	value *= scale->factor;
	if (isnan(value))
		snprintf(buf, CELL, "-");
	else if (scale->is_share)
		snprintf(buf, CELL, "%.1f", value);
	else if (fabs(value) >= 1e3 && fabs(value) < 1e9)
		snprintf(buf, CELL, "%.0f", value);
	else
		snprintf(buf, CELL, "%.4g", value);
	return buf;
}

/* Writes a number with a sign, or without one where these digits show no difference. */
static const char *signed_text(char *buf, double value, int decimals, const char *unit)
{
	if (fabs(value) < 0.5 * pow(10, -decimals))
		snprintf(buf, CELL, "%.*f %s", decimals, 0.0, unit);
	else
		snprintf(buf, CELL, "%+.*f %s", decimals, value, unit);
	return buf;
}

/* Writes the difference: between shares the points, between ratios that are not judged the factor, otherwise the
 * percentage of the published figure, or the model's figure where the published one is 0. */
static const char *difference(char *buf, const struct npl_validation_row *row, const struct scale *scale)
{
	const double points = 100 * (row->model - row->published), percent = 100 * npl_validation_relative(row);
	if (isnan(points))
		snprintf(buf, CELL, "-");
	else if (points == 0)
		snprintf(buf, CELL, "0");
	else if (scale->is_share)
		signed_text(buf, points, fabs(points) >= 9.95 ? 0 : 1, "pt");
	else if (!strcmp(row->unit, "ratio") && !(row->tolerance > 0) && row->published > 0)
		snprintf(buf, CELL, "x %.3g", row->model / row->published);
	else if (isnan(percent))
		snprintf(buf, CELL, "%+.4g", row->model * scale->factor);
	else
		signed_text(buf, percent, fabs(percent) >= 99.95 ? 0 : fabs(percent) >= 0.995 ? 1 : 2, "%");
	return buf;
}

/* Writes the tolerance in the form of the difference. */
static const char *tolerance(char *buf, const struct npl_validation_row *row, const struct scale *scale)
{
	char margin[CELL] = "";
	if (!(row->tolerance > 0))
		snprintf(margin, sizeof margin, "%s", row->at_most ? "" : "exact");
	else if (scale->is_share)
		snprintf(margin, sizeof margin, "%.3g pt", 100 * row->tolerance);
	else if (row->published != 0)
		snprintf(margin, sizeof margin, "%.3g %%", 100 * row->tolerance / fabs(row->published));
	else
		snprintf(margin, sizeof margin, "%.3g", row->tolerance * scale->factor);
	snprintf(buf, CELL, "%s%s%.20s", row->at_most ? "at most" : "", row->at_most && *margin ? " +" : "", margin);
	return buf;
}

/* NULL: the row is not judged. */
static const char *verdict_word(enum npl_verdict verdict)
{
	switch (verdict) {
	case NPL_UNJUDGED:
		break;
	case NPL_WITHIN:
		return "ok";
	case NPL_OUTSIDE:
		return "OUTSIDE";
	case NPL_MISSING:
		return "MISSING";
	}
	return NULL;
}

static const char *verdict(char *buf, const struct npl_validation_row *row, const struct scale *scale)
{
	const char *word = verdict_word(npl_validation_verdict(row));
	char allowed[CELL];
	if (!word)
		snprintf(buf, CELL, "%s", row->fitted ? "fitted" : "");
	else
		snprintf(buf, CELL, "%.20s: %s%s", tolerance(allowed, row, scale), word, row->fitted ? ", fitted" : "");
	return buf;
}

static void put_row(struct npl_table *table, const struct npl_validation_row *row)
{
	char published[CELL], model[CELL], differs[CELL], verdict_text[CELL];
	const struct scale scale = scale_of(row);
	const char *cells[COLUMNS] = {row->case_name,
				      row->metric,
				      scale.unit,
				      amount(published, row->published, &scale),
				      amount(model, row->model, &scale),
				      difference(differs, row, &scale),
				      verdict(verdict_text, row, &scale)};
	npl_table_row(table, cells);
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
	npl_table_text("UNIT: of PUBLISHED and MODEL, where the metric does not name it. DIFF: by how much the model "
		       "differs, in percent of what is published, between shares in points (pt), between ratios as a "
		       "factor (x). WITHIN: how much of that is allowed, and whether it is held; nothing: not judged. "
		       "fitted: parameters of the machine were fitted to it",
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
