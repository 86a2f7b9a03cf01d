/* SPDX-License-Identifier: MIT
 *
 * A validation as a person reads it: published, model and difference of each figure, then what must be known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/report.h"
#include "npulab/validate.h"
#include "table.h"

#define CELL 40

static bool is_shown(const struct npl_validation_row *row, bool all)
{
	return all || row->attempted;
}

static const char *amount(char *buf, double value, const char *unit)
{
	if (isnan(value))
		snprintf(buf, CELL, "-");
	else if (!strcmp(unit, "fraction"))
		snprintf(buf, CELL, "%.1f %%", 100 * value);
	else if (!strcmp(unit, "ratio"))
		snprintf(buf, CELL, "%.3f", value);
	else if (!strcmp(unit, "cycles") && fabs(value) >= 10 && fabs(value) < 1e8) /* compared to the last of them */
		snprintf(buf, CELL, "%.0f", value);
	else if (fabs(value) >= 1e4 || (value != 0 && fabs(value) < 1e-2))
		npl_si_text(value, "", buf, CELL);
	else
		snprintf(buf, CELL, "%.4g", value);
	return buf;
}

static const char *verdict(const struct npl_validation_row *row)
{
	static const char *const word[2][3] = {{[NPL_UNJUDGED] = "", [NPL_WITHIN] = "ok", [NPL_OUTSIDE] = "OUTSIDE"},
					       {"fitted", "ok, fitted", "OUTSIDE, fitted"}};
	return word[row->fitted][npl_validation_verdict(row)];
}

static void put_row(struct npl_table *table, const struct npl_validation_row *row)
{
	char metric[80], published[CELL], model[CELL], difference[CELL], tolerance[CELL];
	const char *within = row->at_most ? "at most" : amount(tolerance, row->tolerance, row->unit);
	bool names_unit = row->unit[0] >= 'a'; /* "layers", "fraction": the metric's name tells; "MiB" must be said */
	snprintf(metric, sizeof metric, "%s%s%s", row->metric, names_unit ? "" : ", ", names_unit ? "" : row->unit);
	const char *cells[] = {row->case_name,
			       metric,
			       amount(published, row->published, row->unit),
			       amount(model, row->model, row->unit),
			       amount(difference, row->model - row->published, row->unit),
			       isnan(row->tolerance) ? "" : within,
			       verdict(row)};
	npl_table_row(table, cells);
}

static bool same_source(const struct npl_validation_row *a, const struct npl_validation_row *b)
{
	return !strcmp(a->source, b->source);
}

/* The figures of one source under its name. */
static void put_source(struct npl_table *table, const struct npl_validation *v, int first, bool all)
{
	const char *const blank[] = {"", NULL, NULL, NULL, NULL, NULL, NULL};
	const char *const name[] = {
		*v->row[first].source ? v->row[first].source : "not published", NULL, NULL, NULL, NULL, NULL, NULL};
	npl_table_row(table, blank);
	npl_table_row(table, name);
	for (int i = first; i < v->n; i++)
		if (is_shown(&v->row[i], all) && same_source(&v->row[i], &v->row[first]))
			put_row(table, &v->row[i]);
}

/* Whether row i is the first shown of its source. */
static bool begins_source(const struct npl_validation *v, int i, bool all)
{
	if (!is_shown(&v->row[i], all))
		return false;
	for (int k = 0; k < i; k++)
		if (is_shown(&v->row[k], all) && same_source(&v->row[k], &v->row[i]))
			return false;
	return true;
}

/* Each note once, with the figures that it belongs to. */
static void put_notes(FILE *out, const struct npl_validation *v, bool all)
{
	for (int i = 0; i < v->n; i++) {
		const struct npl_validation_row *row = &v->row[i];
		char line[400];
		int others = 0;
		bool told = false;
		if (!is_shown(row, all) || !*row->note)
			continue;
		for (int k = 0; k < v->n; k++) {
			bool same = k != i && is_shown(&v->row[k], all) && !strcmp(v->row[k].note, row->note);
			told = told || (same && k < i);
			others += same;
		}
		if (told)
			continue;
		snprintf(line, sizeof line, "%s %s%s: %s", row->case_name, row->metric, others ? " and others" : "",
			 row->note);
		npl_table_text(line, out);
	}
}

void npl_validation_table(FILE *out, const struct npl_validation *v, bool all)
{
	static const char *const header[] = {"CASE", "METRIC", "PUBLISHED", "MODEL", "DIFF", "WITHIN", "VERDICT"};
	int count[3] = {0}, hidden = 0;
	struct npl_table table;
	char line[200];
	npl_table_open(&table, "llrrrrl", header);
	for (int i = 0; i < v->n; i++) {
		if (begins_source(v, i, all))
			put_source(&table, v, i, all);
		if (is_shown(&v->row[i], all))
			count[npl_validation_verdict(&v->row[i])]++;
		else
			hidden++;
	}
	npl_table_print(&table, out);
	npl_table_close(&table);
	fputc('\n', out);
	put_notes(out, v, all);
	snprintf(line, sizeof line, "%d figures within their tolerance, %d outside, %d shown only", count[NPL_WITHIN],
		 count[NPL_OUTSIDE], count[NPL_UNJUDGED]);
	npl_table_text(line, out);
	if (hidden)
		fprintf(out, "%d more are published that no model works out (--all lists them)\n", hidden);
}
