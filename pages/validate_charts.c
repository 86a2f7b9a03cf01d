/* SPDX-License-Identifier: MIT
 *
 * Charts of differences from published figures (validated.h): shares in points, other figures in percent of what is
 * published. A figure that must agree to the last digit, and does, has no row: it would be a mark at 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bars.h"
#include "core/base/message.h"
#include "npulab/validate.h"
#include "validated.h"

/* What is farther from 0 than this has no place on an axis, whose length must be a number. */
static const double most_on_axis = 1e100;

enum { NAME = 200, WITHIN = 0, OUTSIDE, FITTED, CLASSES };

/* A chart in the making: a row for each figure, a series for each class of one document, or for each of several. */
struct chart {
	const struct page_validated *validated;
	bool of_shares;
	int n_series, n_rows;
	size_t most; /* rows that there is room for */
	double *figure;
	char (*name)[NAME];
	const char **row;
};

static double *series_of(const struct chart *chart, int i)
{
	return chart->figure + (size_t)i * chart->most;
}

static bool is_share(const struct npl_validation_row *row)
{
	return !strcmp(row->unit, "fraction");
}

/* Returns what a difference of 1 in the row's unit is on the chart's axis. NAN: it has no place there. */
static double axis_factor(const struct npl_validation_row *row)
{
	if (is_share(row))
		return 100;
	return row->published != 0 ? 100 / fabs(row->published) : NAN;
}

/* Returns the difference as the axis has it; NAN or infinite: it has no place there. */
static double difference_on_axis(const struct npl_validation_row *row)
{
	return (row->model - row->published) * axis_factor(row);
}

/* Says whether a row stands in the chart. */
static bool is_drawn(const struct chart *chart, const json_t *object)
{
	struct npl_validation_row row;
	page_validated_read(object, &row);
	const enum npl_verdict verdict = npl_validation_verdict(&row);
	return is_share(&row) == chart->of_shares && (verdict == NPL_WITHIN || verdict == NPL_OUTSIDE) &&
	       fabs(difference_on_axis(&row)) < most_on_axis && (row.tolerance > 0 || row.model != row.published);
}

static int class_of(const struct npl_validation_row *row)
{
	if (npl_validation_verdict(row) == NPL_OUTSIDE)
		return OUTSIDE;
	return row->fitted ? FITTED : WITHIN;
}

static void set_range(const struct chart *chart, const struct npl_validation_row *row)
{
	const double wanted = row->tolerance * axis_factor(row), tolerance = wanted < most_on_axis ? wanted : INFINITY;
	series_of(chart, chart->n_series)[chart->n_rows] = row->at_most ? -INFINITY : -tolerance;
	series_of(chart, chart->n_series + 1)[chart->n_rows] = tolerance;
}

static void add_row(struct chart *chart, int figure)
{
	const struct page_validated *v = chart->validated;
	struct npl_validation_row row;
	bool any = false;
	for (int s = 0; s < chart->n_series; s++)
		series_of(chart, s)[chart->n_rows] = NAN;
	for (int d = 0; d < v->n_documents && (v->n_documents == 1 || d < chart->n_series); d++) {
		const json_t *object = page_validated_object(v, figure, d);
		if (!object || !is_drawn(chart, object))
			continue;
		page_validated_read(object, &row);
		if (!any)
			set_range(chart, &row);
		any = true;
		series_of(chart, v->n_documents > 1 ? d : class_of(&row))[chart->n_rows] = difference_on_axis(&row);
	}
	if (!any)
		return;
	snprintf(chart->name[chart->n_rows], NAME, "%s %s", row.case_name, row.metric);
	chart->row[chart->n_rows] = chart->name[chart->n_rows];
	chart->n_rows++;
}

static void put_bars(struct page_writer *writer, const struct chart *chart, const char *subject)
{
	static const char *const classes[CLASSES] = {"within its tolerance", "outside its tolerance",
						     "fitted, within its tolerance"};
	struct page_series series[PAGE_COLOURS];
	char word[80], label[300] = "";
	for (int s = 0; s < chart->n_series; s++)
		series[s] = (struct page_series){.name = chart->validated->n_documents > 1 ? chart->validated->name[s]
											   : classes[s],
						 .value = series_of(chart, s)};
	series[0].low = series_of(chart, chart->n_series);
	series[0].high = series_of(chart, chart->n_series + 1);
	npl_append(label, sizeof label, "",
		   "Differences of %s from published figures, %s, with the tolerance as a line", subject,
		   chart->of_shares ? "in points" : "in percent");
	page_heading(writer, chart->of_shares ? "Differences of shares, in points"
					      : "Differences in percent of the published figure");
	page_paragraph_of_drawings(writer, "Judged figures have a row, and its line is the tolerance.");
	page_bars_put(writer, &(struct page_bars){.id = page_word(word, sizeof word,
								  chart->of_shares ? "points" : "percent", subject),
						  .label = label,
						  .unit = chart->of_shares ? "pt" : "%",
						  .without_prefix = true,
						  .kind = PAGE_BARS_MARKS,
						  .keeps_farthest_from_0 = true,
						  .n_rows = chart->n_rows,
						  .n_series = chart->n_series,
						  .row = chart->row,
						  .series = series});
}

static void put_chart(struct page_writer *writer, const struct page_validated *validated, int subject, bool of_shares)
{
	const int n = validated->n_documents;
	struct chart chart = {.validated = validated,
			      .of_shares = of_shares,
			      .n_series = n == 1             ? CLASSES
					  : n < PAGE_COLOURS ? n
							     : PAGE_COLOURS};
	for (int i = 0; i < validated->n; i++)
		chart.most += validated->subject_of[i] == subject;
	chart.figure = calloc(chart.most * (size_t)(chart.n_series + 2) + 1, sizeof *chart.figure);
	chart.name = calloc(chart.most + 1, sizeof *chart.name);
	chart.row = calloc(chart.most + 1, sizeof *chart.row);
	if (chart.figure && chart.name && chart.row) {
		for (int i = 0; i < validated->n; i++)
			if (validated->subject_of[i] == subject)
				add_row(&chart, i);
		if (chart.n_rows)
			put_bars(writer, &chart, validated->subject[subject]);
	} else {
		writer->failed = true;
	}
	free(chart.figure);
	free(chart.name);
	free(chart.row);
}

void page_put_validate_charts(struct page_writer *writer, const struct page_validated *validated, int subject)
{
	put_chart(writer, validated, subject, true);
	put_chart(writer, validated, subject, false);
}
