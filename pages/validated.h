/* SPDX-License-Identifier: MIT
 *
 * The figures of validations (npulab.validate/1): each once, with its object in every document of the page. */
#ifndef NPULAB_PAGES_VALIDATED_H
#define NPULAB_PAGES_VALIDATED_H

#include "document.h"
#include "npulab/validate.h"
#include "writer.h"

struct page_validated {
	int n, n_documents, n_subjects;
	const json_t **object; /* n_documents for each figure, at figure * n_documents; NULL: the document lacks it */
	int *subject_of;       /* of each figure, an index of `subject` */
	const char **subject;  /* the machines, `dram`, `energy`, `hosts` */
	char (*name)[PAGE_NAME];
};
/* Matches rows by their machine, case, metric and source. Returns 0 or NPL_ENOMEM. */
int page_validated_of(const struct page_document *document, int n, struct page_validated *validated,
		      struct npl_err *err);
void page_validated_free(struct page_validated *validated);

/* Returns the object of a figure in a document; NULL: it has none. */
const json_t *page_validated_object(const struct page_validated *validated, int figure, int document);
/* Returns the object of the first document that has the figure. */
const json_t *page_validated_first(const struct page_validated *validated, int figure);
/* Reads an object into a row as validate.h has it; its texts are the document's. */
void page_validated_read(const json_t *object, struct npl_validation_row *row);

/* Puts the charts of a subject: how far each judged figure is from what is published, beside its tolerance. */
void page_put_validate_charts(struct page_writer *writer, const struct page_validated *validated, int subject);

#endif
