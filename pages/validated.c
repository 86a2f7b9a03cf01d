/* SPDX-License-Identifier: MIT
 *
 * The figures of validations (validated.h). */
#include "validated.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

enum { KEY = 1000 };

static json_t *rows_of(const struct page_document *document)
{
	return json_object_get(document->root, "rows");
}

void page_validated_read(const json_t *object, struct npl_validation_row *row)
{
	*row = (struct npl_validation_row){.machine = page_text(object, "machine"),
					   .case_name = page_text(object, "case"),
					   .metric = page_text(object, "metric"),
					   .unit = page_text(object, "unit"),
					   .published = page_number(object, "published"),
					   .model = page_number(object, "model"),
					   .tolerance = page_number(object, "tolerance"),
					   .attempted = true,
					   .at_most = json_is_true(json_object_get(object, "at_most")),
					   .fitted = json_is_true(json_object_get(object, "fitted")),
					   .reference = page_text(object, "reference"),
					   .source = page_text(object, "source"),
					   .note = page_text(object, "note"),
					   .reason = page_text(object, "reason")};
}

const json_t *page_validated_object(const struct page_validated *validated, int figure, int document)
{
	return validated->object[(size_t)figure * (size_t)validated->n_documents + (size_t)document];
}

const json_t *page_validated_first(const struct page_validated *validated, int figure)
{
	int d = 0;
	while (!page_validated_object(validated, figure, d))
		d++;
	return page_validated_object(validated, figure, d);
}

/* Returns the number behind a key, which becomes `next` where the key is new; below 0: memory is short. */
static int number_of(json_t *numbers, const char *key, int next)
{
	const json_t *number = json_object_get(numbers, key);
	if (number)
		return (int)json_integer_value(number);
	return json_object_set_new(numbers, key, json_integer(next)) ? -1 : next;
}

static void key_of(const json_t *row, char key[KEY])
{
	static const char *const parts[] = {"machine", "case", "metric", "source"};
	size_t length = 0;
	for (size_t i = 0; i < sizeof parts / sizeof *parts && length < KEY; i++)
		length += (size_t)snprintf(key + length, KEY - length, "%s\n", page_text(row, parts[i]));
}

static bool add_figure(struct page_validated *v, json_t *figures, json_t *subjects, int document, const json_t *row)
{
	char key[KEY];
	key_of(row, key);
	int figure = number_of(figures, key, v->n);
	const int subject = number_of(subjects, page_text(row, "machine"), v->n_subjects);
	if (figure < 0 || subject < 0)
		return false;
	/* A document that was edited may have a figure twice: both are shown. */
	if (figure < v->n && page_validated_object(v, figure, document))
		figure = v->n;
	if (subject == v->n_subjects)
		v->subject[v->n_subjects++] = page_text(row, "machine");
	v->n += figure == v->n;
	v->subject_of[figure] = subject;
	v->object[(size_t)figure * (size_t)v->n_documents + (size_t)document] = row;
	return true;
}

int page_validated_of(const struct page_document *document, int n, struct page_validated *validated,
		      struct npl_err *err)
{
	size_t most = 1;
	json_t *figures = json_object(), *subjects = json_object();
	for (int i = 0; i < n; i++)
		most += json_array_size(rows_of(&document[i]));
	*validated = (struct page_validated){.n_documents = n,
					     .object = calloc(most * (size_t)n, sizeof *validated->object),
					     .subject_of = calloc(most, sizeof *validated->subject_of),
					     .subject = calloc(most, sizeof *validated->subject),
					     .name = page_document_names(document, n)};
	bool ok = figures && subjects && validated->object && validated->subject_of && validated->subject &&
		  validated->name;
	for (int i = 0; i < n && ok; i++)
		for (size_t k = 0; k < json_array_size(rows_of(&document[i])) && ok; k++)
			ok = add_figure(validated, figures, subjects, i, json_array_get(rows_of(&document[i]), k));
	json_decref(figures);
	json_decref(subjects);
	if (ok)
		return 0;
	page_validated_free(validated);
	return npl_no_memory(err);
}

void page_validated_free(struct page_validated *validated)
{
	free(validated->object);
	free(validated->subject_of);
	free(validated->subject);
	free(validated->name);
	*validated = (struct page_validated){0};
}
