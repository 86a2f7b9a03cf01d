/* SPDX-License-Identifier: MIT
 *
 * The page of validations (page.h): published figures beside the model's, how far they are apart, and what is judged.
 * Several documents are compared, with the model's figure of each. */
#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "entries.h"
#include "page.h"
#include "reports/validate_cells.h"
#include "validated.h"

/* How many figures a subject has of each kind. */
struct counts {
	int figures, verdict[4], fitted, not_published;
};

static void count(struct counts *counts, const json_t *object)
{
	struct npl_validation_row row;
	page_validated_read(object, &row);
	counts->figures++;
	counts->fitted += row.fitted && !isnan(row.published);
	if (isnan(row.published))
		counts->not_published++;
	else
		counts->verdict[npl_validation_verdict(&row)]++;
}

static int judged(const struct counts *counts)
{
	return counts->verdict[NPL_WITHIN] + counts->verdict[NPL_OUTSIDE] + counts->verdict[NPL_MISSING];
}

/* Counts the figures of a subject in a document; subject below 0: of all. */
static struct counts counts_of(const struct page_validated *v, int subject, int document)
{
	struct counts counts = {0};
	for (int i = 0; i < v->n; i++)
		if ((subject < 0 || v->subject_of[i] == subject) && page_validated_object(v, i, document))
			count(&counts, page_validated_object(v, i, document));
	return counts;
}

/* ---- The summary. */

static const char *is_or_are(int n)
{
	return n == 1 ? "is" : "are";
}

static void put_sentences(struct page_writer *writer, const struct page_validated *v, int document)
{
	const struct counts c = counts_of(v, -1, document);
	const int n = judged(&c), within = c.verdict[NPL_WITHIN], unjudged = c.verdict[NPL_UNJUDGED];
	char text[500] = "";
	if (v->n_documents > 1)
		npl_append(text, sizeof text, "", "%s:", v->name[document]);
	npl_append(text, sizeof text, " ", "%d figure%s %s judged: %d within the tolerance, %d outside.", n,
		   npl_plural(n), is_or_are(n), within, c.verdict[NPL_OUTSIDE]);
	if (c.verdict[NPL_MISSING])
		npl_append(text, sizeof text, " ", "For %d of them the model has no figure.", c.verdict[NPL_MISSING]);
	if (unjudged)
		npl_append(text, sizeof text, " ", "%d more %s published, but not judged.", unjudged,
			   is_or_are(unjudged));
	if (c.not_published)
		npl_append(text, sizeof text, " ", "%d %s from the model alone.", c.not_published,
			   is_or_are(c.not_published));
	if (c.fitted)
		npl_append(text, sizeof text, " ", "%d figure%s %s used to fit parameters.", c.fitted,
			   npl_plural(c.fitted), c.fitted == 1 ? "was" : "were");
	page_paragraph(writer, text);
}

static void put_number(struct page_writer *writer, int n)
{
	char text[20];
	snprintf(text, sizeof text, "%d", n);
	page_figure(writer, n, text);
}

static void put_counts(struct page_writer *writer, const struct page_validated *v, int subject, int document)
{
	const struct counts c = counts_of(v, subject, document);
	if (!c.figures)
		return;
	page_row(writer);
	page_cell(writer, v->subject[subject]);
	if (v->n_documents > 1)
		page_cell(writer, v->name[document]);
	put_number(writer, judged(&c));
	put_number(writer, c.verdict[NPL_WITHIN]);
	put_number(writer, c.verdict[NPL_OUTSIDE]);
	put_number(writer, c.verdict[NPL_MISSING]);
	put_number(writer, c.fitted);
	put_number(writer, c.verdict[NPL_UNJUDGED]);
	put_number(writer, c.not_published);
}

static void put_summary(struct page_writer *writer, const struct page_validated *v)
{
	page_section(writer, "summary", "Summary");
	for (int d = 0; d < v->n_documents; d++)
		put_sentences(writer, v, d);
	page_column(writer, "subject", false);
	if (v->n_documents > 1)
		page_column(writer, "result", false);
	page_column(writer, "judged", true);
	page_column(writer, "within", true);
	page_column(writer, "outside", true);
	page_column(writer, "missing", true);
	page_column(writer, "fitted", true);
	page_column(writer, "not judged", true);
	page_column(writer, "not published", true);
	page_table(writer, &(struct page_table){.caption = "How many figures; a fitted one may be judged too.",
						.can_be_sorted = v->n_subjects > 1});
	for (int s = 0; s < v->n_subjects; s++)
		for (int d = 0; d < v->n_documents; d++)
			put_counts(writer, v, s, d);
	page_table_end(writer);
	page_paragraph(
		writer,
		"Within and outside: whether the model's figure differs from the published one by no more than "
		"its tolerance. Missing: it should be judged, but the model has no such figure. Fitted: "
		"parameters of the machine were chosen to bring it near. Differences are in percent of the "
		"published figure. Shares differ in points (pt). For ratios that are not judged it is the quotient "
		"(x).");
	page_section_end(writer);
}

/* ---- What does not agree. */

static bool fails(const json_t *object, struct npl_validation_row *row)
{
	page_validated_read(object, row);
	const enum npl_verdict verdict = npl_validation_verdict(row);
	return verdict == NPL_OUTSIDE || verdict == NPL_MISSING;
}

static void put_failure(struct page_writer *writer, const struct page_validated *v, int document,
			const struct npl_validation_row *row)
{
	struct npl_validation_cells cells;
	char line[600] = "";
	npl_validation_cells_of(row, &cells);
	if (v->n_documents > 1)
		npl_append(line, sizeof line, "", "%s: ", v->name[document]);
	npl_append(line, sizeof line, "", "%s, %s of %s: ", row->machine, row->metric, row->case_name);
	if (isnan(row->model))
		npl_append(line, sizeof line, "", "missing%s%s", *row->reason ? ", " : "", row->reason);
	else
		npl_append(line, sizeof line, "", "published %s%s%s, model %s, tolerance %s", cells.published,
			   *cells.unit ? " " : "", cells.unit, cells.model, cells.tolerance);
	page_item(writer, line);
}

static void put_failures(struct page_writer *writer, const struct page_validated *v)
{
	struct npl_validation_row row;
	int n = 0;
	for (int d = 0; d < v->n_documents; d++)
		for (int i = 0; i < v->n; i++) {
			const json_t *object = page_validated_object(v, i, d);
			if (!object || !fails(object, &row))
				continue;
			if (!n++) {
				page_section(writer, "failures", "Figures that do not agree");
				page_list(writer);
			}
			put_failure(writer, v, d, &row);
		}
	if (n) {
		page_list_end(writer);
		page_section_end(writer);
	}
}

/* ---- The figures of a subject. */

static const char *verdict_text(const struct npl_validation_row *row, char *buf, size_t n)
{
	const char *name = npl_verdict_name(npl_validation_verdict(row));
	if (name)
		snprintf(buf, n, "%s%s", name, row->fitted ? ", fitted" : "");
	else if (row->fitted)
		snprintf(buf, n, "fitted");
	else
		snprintf(buf, n, isnan(row->published) ? "not published" : "not judged");
	return buf;
}

/* Puts a change where it is a number: a document that was edited may have figures whose quotient is none. */
static void put_change(struct page_writer *writer, double value, double base)
{
	page_put_change(writer, value, isfinite(value / base) ? base : NAN);
}

/* Puts what one document has of a figure. unit: the row's; a cell shows its own if it differs. */
static void put_model(struct page_writer *writer, const struct page_validated *v, int figure, int document,
		      const char *unit)
{
	const json_t *object = page_validated_object(v, figure, document);
	struct npl_validation_row row;
	struct npl_validation_cells cells;
	char text[3 * CELL];
	if (!object) {
		for (int i = 0; i < 2 + (document > 0); i++)
			page_cell(writer, "");
		return;
	}
	page_validated_read(object, &row);
	npl_validation_cells_of(&row, &cells);
	snprintf(text, sizeof text, "%s%s%s", cells.model, strcmp(cells.unit, unit) ? " " : "",
		 strcmp(cells.unit, unit) ? cells.unit : "");
	page_figure(writer, row.model, text);
	if (document)
		put_change(writer, row.model, page_number(page_validated_object(v, figure, 0), "model"));
	if (v->n_documents == 1)
		page_figure(writer, page_number(object, "relative_difference"), cells.difference);
	page_cell(writer, v->n_documents == 1 ? cells.tolerance : verdict_text(&row, text, sizeof text));
}

/* Puts the place of a published figure, after what published it unless the subject has one source alone. */
static void put_source(struct page_writer *writer, const struct npl_validation_row *row, bool has_one_reference)
{
	char text[400] = "";
	if (!has_one_reference)
		npl_append(text, sizeof text, "", "%s", row->reference);
	if (*row->source)
		npl_append(text, sizeof text, ", ", "%s", row->source);
	page_cell(writer, text);
}

static void put_figure(struct page_writer *writer, const struct page_validated *v, int figure, bool has_one_reference)
{
	struct npl_validation_row row;
	struct npl_validation_cells cells;
	char text[1000] = "";
	page_validated_read(page_validated_first(v, figure), &row);
	npl_validation_cells_of(&row, &cells);
	page_row(writer);
	page_cell(writer, row.case_name);
	page_cell(writer, row.metric);
	page_cell(writer, cells.unit);
	page_figure(writer, row.published, cells.published);
	for (int d = 0; d < v->n_documents; d++)
		put_model(writer, v, figure, d, cells.unit);
	page_cell(writer, v->n_documents == 1 ? verdict_text(&row, text, sizeof text) : cells.tolerance);
	put_source(writer, &row, has_one_reference);
	*text = '\0';
	npl_append(text, sizeof text, "", "%s", row.reason);
	if (*row.note)
		npl_append(text, sizeof text, "; ", "%s", row.note);
	page_cell(writer, text);
}

static void add_columns(struct page_writer *writer, const struct page_validated *v)
{
	page_column(writer, "case", false);
	page_column(writer, "metric", false);
	page_column(writer, "unit", false);
	page_column(writer, "published", true);
	for (int d = 0; d < v->n_documents && v->n_documents > 1; d++) {
		char heading[PAGE_NAME + 20];
		snprintf(heading, sizeof heading, "model, %s", v->name[d]);
		page_column(writer, heading, true);
		if (d)
			page_column(writer, "change", true);
		page_column(writer, "verdict", false);
	}
	if (v->n_documents == 1) {
		page_column(writer, "model", true);
		page_column(writer, "difference", true);
	}
	page_column(writer, "tolerance", false);
	if (v->n_documents == 1)
		page_column(writer, "verdict", false);
	page_column(writer, "published in", false);
	page_column(writer, "remark", false);
}

/* Counts the figures of a subject that one paper or program published. */
static int count_of_reference(const struct page_validated *v, int subject, const char *reference)
{
	int n = 0;
	for (int i = 0; i < v->n; i++)
		n += v->subject_of[i] == subject &&
		     !strcmp(page_text(page_validated_first(v, i), "reference"), reference);
	return n;
}

/* Says what published the figures of a subject. Returns how many papers and programs that are. */
static int put_references(struct page_writer *writer, const struct page_validated *v, int subject)
{
	char list[800] = "", text[1000] = "";
	int n = 0;
	json_t *put = json_object();
	writer->failed |= !put;
	for (int i = 0; i < v->n && put; i++) {
		const char *reference = page_text(page_validated_first(v, i), "reference");
		if (v->subject_of[i] != subject || !*reference || json_object_get(put, reference))
			continue;
		writer->failed |= json_object_set_new(put, reference, json_true()) != 0;
		const int figures = count_of_reference(v, subject, reference);
		npl_append(list, sizeof list, "; ", "%s, %d figure%s", reference, figures, npl_plural(figures));
		n++;
	}
	json_decref(put);
	npl_append(text, sizeof text, "", "Published by %s.", list);
	if (n)
		page_paragraph(writer, text);
	return n;
}

static void put_subject(struct page_writer *writer, const struct page_validated *v, int subject)
{
	char id[40];
	snprintf(id, sizeof id, "subject-%d", subject + 1);
	page_section(writer, id, v->subject[subject]);
	const bool has_one_reference = put_references(writer, v, subject) == 1;
	page_put_validate_charts(writer, v, subject);
	page_heading(writer, "All figures");
	add_columns(writer, v);
	page_table(writer,
		   &(struct page_table){
			   .caption = v->n_documents > 1
					      ? "A change of the model's figure is relative to the first result."
					      : "An empty cell: there is no such figure.",
			   .can_be_sorted = true,
			   .can_be_searched = true,
			   .is_long = true});
	for (int i = 0; i < v->n; i++)
		if (v->subject_of[i] == subject)
			put_figure(writer, v, i, has_one_reference);
	page_table_end(writer);
	page_section_end(writer);
}

int page_put_validate(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	struct page_validated validated;
	char title[400] = "Published figures and the model's";
	if (page_validated_of(document, n, &validated, err))
		return err->code;
	for (int s = 0; s < validated.n_subjects; s++)
		npl_append(title, sizeof title, s ? ", " : ": ", "%s", validated.subject[s]);
	page_begin_of(writer, title, validated.name, n);
	put_summary(writer, &validated);
	put_failures(writer, &validated);
	for (int s = 0; s < validated.n_subjects; s++)
		put_subject(writer, &validated, s);
	page_end_of(writer, document, n);
	page_validated_free(&validated);
	return 0;
}
