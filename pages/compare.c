/* SPDX-License-Identifier: MIT
 *
 * The page of comparisons (page.h): devices side by side, charts and tables of their layers, their parameters. A
 * placement is a comparison with one entry. Several documents are compared. */
#include "bounds.h"
#include "changes.h"
#include "core/base/message.h"
#include "entries.h"
#include "layer_charts.h"
#include "layer_tables.h"
#include "machines.h"
#include "npulab/report.h"
#include "page.h"
#include "placement.h"
#include "results.h"
#include "rooflines.h"
#include "side_by_side.h"

/* ---- The page. */

static void put_lede(struct page_writer *writer, const json_t *root)
{
	const json_t *model = json_object_get(root, "model");
	char macs[PAGE_FIGURE], parameters[PAGE_FIGURE], text[300];
	snprintf(text, sizeof text,
		 "%.0f %ssample%s in batches of %.0f; %s multiply-accumulates a batch, %s parameters.",
		 page_number(model, "samples"), json_is_true(json_object_get(model, "random_inputs")) ? "random " : "",
		 page_number(model, "samples") == 1 ? "" : "s", page_number(model, "batch"),
		 npl_count_text(page_number(model, "macs"), "", macs, sizeof macs),
		 npl_count_text(page_number(model, "parameters"), "", parameters, sizeof parameters));
	page_paragraph(writer, text);
}

static void title_of(const json_t *root, char *title, size_t n)
{
	const json_t *devices = json_object_get(root, "devices");
	const bool is_placement = page_is_placement(json_array_get(devices, 0));
	*title = '\0';
	npl_append(title, n, "", "%s %s ", page_text(json_object_get(root, "model"), "name"),
		   is_placement ? "placed on" : "on");
	if (is_placement)
		devices = json_object_get(json_array_get(devices, 0), "devices");
	for (size_t i = 0; i < json_array_size(devices); i++)
		npl_append(title, n, i ? ", " : "", "%s", page_text(json_array_get(devices, i), "instance"));
}

int page_put_compare(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	struct page_entries entries;
	char title[400];
	if (page_entries_of(document, n, &entries, err))
		return err->code;
	title_of(document->root, title, sizeof title);
	page_begin_of(writer, title, entries.name, n);
	if (n == 1)
		put_lede(writer, document->root);
	else
		page_put_results(writer, &entries);
	page_put_side_by_side(writer, &entries);
	page_put_changes(writer, &entries);
	page_put_placements(writer, &entries);
	page_put_layer_charts(writer, &entries);
	page_put_bounds(writer, &entries);
	page_put_rooflines(writer, &entries);
	page_put_layer_tables(writer, &entries);
	page_put_machines(writer, &entries);
	page_end_of(writer, document, n);
	page_entries_free(&entries);
	return 0;
}
