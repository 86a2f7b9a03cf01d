/* SPDX-License-Identifier: MIT
 *
 * The figures of a validation as texts (validate_cells.h). */
#include "validate_cells.h"

#include <math.h>
#include <string.h>

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

/* Writes a number of some digits between two texts. One beyond what the computer's numbers reach, as a document that
 * was edited may lead to, is said to be that. */
static const char *number(char *buf, const char *before, double value, int digits, const char *unit)
{
	if (isfinite(value))
		snprintf(buf, CELL, "%s%.*g%s", before, digits, value, unit);
	else
		snprintf(buf, CELL, "%s%s%s", before, value > 0 ? "> 1e308" : "< -1e308", unit);
	return buf;
}

/* Writes four digits; counts to the last one, as long as a column holds them. */
static const char *amount(char *buf, double value, const struct scale *scale)
{
	value *= scale->factor;
	if (isnan(value))
		*buf = '\0';
	else if (scale->is_share && fabs(value) < 1e9)
		snprintf(buf, CELL, "%.1f", value);
	else if (fabs(value) >= 1e3 && fabs(value) < 1e9)
		snprintf(buf, CELL, "%.0f", value);
	else
		number(buf, "", value, 4, "");
	return buf;
}

/* Writes a number with a sign, or without one where these digits show no difference. unit: with a space before it. */
static const char *signed_text(char *buf, double value, int decimals, const char *unit)
{
	if (fabs(value) >= 1e9)
		number(buf, value > 0 && isfinite(value) ? "+" : "", value, 4, unit);
	else if (fabs(value) < 0.5 * pow(10, -decimals))
		snprintf(buf, CELL, "%.*f%s", decimals, 0.0, unit);
	else
		snprintf(buf, CELL, "%+.*f%s", decimals, value, unit);
	return buf;
}

/* Writes the difference: between shares the points, between ratios that are not judged the factor, otherwise the
 * percentage of the published figure, or the model's figure where the published one is 0. */
static const char *difference(char *buf, const struct npl_validation_row *row, const struct scale *scale)
{
	const double points = 100 * (row->model - row->published), percent = 100 * npl_validation_relative(row);
	if (isnan(points))
		*buf = '\0';
	else if (points == 0)
		snprintf(buf, CELL, "0");
	else if (scale->is_share)
		signed_text(buf, points, fabs(points) >= 9.95 ? 0 : 1, " pt");
	else if (!strcmp(row->unit, "ratio") && !(row->tolerance > 0) && row->published > 0)
		number(buf, "x ", row->model / row->published, 3, "");
	else if (isnan(percent))
		number(buf, row->model > 0 && isfinite(row->model * scale->factor) ? "+" : "",
		       row->model * scale->factor, 4, "");
	else
		signed_text(buf, percent, fabs(percent) >= 99.95 ? 0 : fabs(percent) >= 0.995 ? 1 : 2, " %");
	return buf;
}

/* Writes the tolerance in the form of the difference. */
static const char *tolerance(char *buf, const struct npl_validation_row *row, const struct scale *scale)
{
	char margin[CELL] = "";
	if (!(row->tolerance > 0))
		snprintf(margin, sizeof margin, "%s", row->at_most ? "" : "exact");
	else if (scale->is_share)
		number(margin, "", 100 * row->tolerance, 3, " pt");
	else if (row->published != 0)
		number(margin, "", 100 * row->tolerance / fabs(row->published), 3, " %");
	else
		number(margin, "", row->tolerance * scale->factor, 3, "");
	snprintf(buf, CELL, "%s%s%.20s", row->at_most ? "at most" : "", row->at_most && *margin ? " +" : "", margin);
	return buf;
}

void npl_validation_cells_of(const struct npl_validation_row *row, struct npl_validation_cells *cells)
{
	const struct scale scale = scale_of(row);
	snprintf(cells->unit, sizeof cells->unit, "%s", scale.unit);
	amount(cells->published, row->published, &scale);
	amount(cells->model, row->model, &scale);
	difference(cells->difference, row, &scale);
	*cells->tolerance = '\0';
	if (!isnan(row->tolerance))
		tolerance(cells->tolerance, row, &scale);
}

const char *npl_verdict_name(enum npl_verdict verdict)
{
	switch (verdict) {
	case NPL_UNJUDGED:
		break;
	case NPL_WITHIN:
		return "within";
	case NPL_OUTSIDE:
		return "outside";
	case NPL_MISSING:
		return "missing";
	}
	return NULL;
}
