/* SPDX-License-Identifier: MIT
 *
 * What a page of comparisons (npulab.compare/1) shows: the devices of one document, or of several that are
 * compared. */
#ifndef NPULAB_PAGES_ENTRIES_H
#define NPULAB_PAGES_ENTRIES_H

#include "document.h"
#include "writer.h"

/* A device of a document. */
struct page_entry {
	const json_t *device;
	int document;
	char *label; /* its instance; with several documents also which document it is of; allocated */
	/* The entry with which it is compared: that of the same instance in the first document of the same network,
	 * batch and samples. NULL: there is none. */
	const struct page_entry *base;
};

struct page_entries {
	int n, n_documents;
	struct page_entry *entry; /* those that have run, and those that could not start */
	const struct page_document *document;
	char (*name)[PAGE_NAME]; /* of each document */
};
/* Returns 0 or NPL_ENOMEM. */
int page_entries_of(const struct page_document *document, int n, struct page_entries *entries, struct npl_err *err);
void page_entries_free(struct page_entries *entries);

/* Says whether two documents are of the same network, batch and samples, so that their figures can be compared. */
bool page_can_compare(const json_t *first, const json_t *second);

/* Says whether any entry is compared with one of an earlier document. */
bool page_has_changes(const struct page_entries *entries);

/* Says whether a document cannot be compared with any before it. */
bool page_is_first_of_kind(const struct page_entries *entries, int document);

/* Of a device's object. A device that could not start has a name and a reason alone; a placement has the devices that
 * it uses. */
bool page_has_run(const json_t *device);
bool page_is_placement(const json_t *device);
/* Says whether its times come from a model, which marks them with "~". */
bool page_is_modelled(const json_t *device);
/* Says whether a meter has measured its energies. */
bool page_is_metered(const json_t *device);

/* Writes a figure with its mark; "" where it is not finite. Returns buf. */
enum { PAGE_FIGURE = 60 };
const char *page_figure_text(char buf[PAGE_FIGURE], double value, const char *unit, bool is_modelled);

/* Put a cell with a figure, a share or a change of a table; an empty cell where it is not finite. */
void page_put_figure(struct page_writer *writer, double value, const char *unit, bool is_modelled);
void page_put_share(struct page_writer *writer, double fraction, bool is_modelled);
void page_put_change(struct page_writer *writer, double value, double base);
/* Puts the signal-to-noise ratio of a result. JSON has no infinity: a result without an error has none. */
void page_put_ratio(struct page_writer *writer, const json_t *compared);

#endif
