/* SPDX-License-Identifier: MIT
 *
 * What limits layers (bounds.h). */
#include "bounds.h"

#include <math.h>
#include <string.h>

/* The bounds that machines of npulab give (docs/roofline.md, Bounds). */
static const struct {
	const char *bound, *meaning;
} meanings[] = {
	{"peak", "working, at half of the peak rate or more"},
	{"idle cells", "working, at less than half of the peak rate"},
	{"idle lanes", "working, at less than half of the peak rate"},
	{"memory", "traffic with a memory that is nearly always busy"},
	{"weights late", "waiting for weights, although the memory is not fully busy"},
	{"inputs late", "waiting for inputs, although the memory is not fully busy"},
	{"results wait", "waiting for room for results, although the memory is not fully busy"},
	{"too few rows", "shifting weights into the array, for few rows of inputs"},
	{"activation", "waiting for the activation unit"},
	{"sync", "waiting at sync instructions"},
	{"link", "waiting for the link to the host"},
	{"pipeline", "waiting for the last steps in the pipeline"},
	{"host", "operators that the host ran"},
	{"arithmetic", "operations of a processor"},
	{"caches", "traffic of a processor with its caches"},
	{"start", "starting operators and waking cores"},
	{"neither roof", "something else: the layer is far below both roofs"},
};

const char *page_bound_meaning(const char *bound)
{
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
		if (!strcmp(meanings[i].bound, bound))
			return meanings[i].meaning;
	return "";
}

struct bounds {
	struct bound {
		const char *name;
		int layers;
		double seconds, joules; /* joules NAN: not known of each of its layers */
	} bound[32];
	int n;
	double seconds; /* of all layers */
};

/* Returns the sums of a bound; NULL: there are too many. */
static struct bound *bound_of(struct bounds *bounds, const char *name)
{
	enum { MOST = sizeof bounds->bound / sizeof *bounds->bound };
	int i = 0;
	while (i < bounds->n && strcmp(bounds->bound[i].name, name) != 0)
		i++;
	if (i == MOST)
		return NULL;
	if (i == bounds->n)
		bounds->bound[bounds->n++] = (struct bound){.name = name};
	return &bounds->bound[i];
}

static void add_layer(struct bounds *bounds, const json_t *layer)
{
	const double seconds = page_number(layer, "seconds");
	const char *name = page_text(layer, "bound");
	bounds->seconds += seconds > 0 ? seconds : 0;
	struct bound *bound = *name ? bound_of(bounds, name) : NULL;
	if (!bound)
		return;
	bound->layers++;
	bound->seconds += seconds > 0 ? seconds : 0;
	bound->joules += page_number(layer, "energy_j");
}

/* Brings the bounds with most time to the front. */
static void sort(struct bounds *bounds)
{
	for (int i = 1; i < bounds->n; i++)
		for (int k = i; k > 0 && bounds->bound[k].seconds > bounds->bound[k - 1].seconds; k--) {
			const struct bound kept = bounds->bound[k];
			bounds->bound[k] = bounds->bound[k - 1];
			bounds->bound[k - 1] = kept;
		}
}

static void bounds_of(const struct page_entry *entry, struct bounds *bounds)
{
	const json_t *layers = json_object_get(entry->device, "layers");
	*bounds = (struct bounds){.n = 0};
	for (size_t i = 0; i < json_array_size(layers); i++)
		add_layer(bounds, json_array_get(layers, i));
	sort(bounds);
}

/* Returns the meaning of a bound: of one that npulab does not know that of the machine's own counter. */
static const char *meaning_of(const json_t *device, const char *bound)
{
	static const char *const lists[] = {"cycle_classes", "cycle_parts"};
	if (*page_bound_meaning(bound))
		return page_bound_meaning(bound);
	for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
		const json_t *list = json_object_get(device, lists[l]);
		for (size_t i = 0; i < json_array_size(list); i++)
			if (!strcmp(page_text(json_array_get(list, i), "bound"), bound))
				return page_text(json_array_get(list, i), "meaning");
	}
	return "";
}

static void put_entry(struct page_writer *writer, const struct page_entry *entry)
{
	const bool modelled = page_is_modelled(entry->device);
	struct bounds bounds;
	bounds_of(entry, &bounds);
	for (int i = 0; i < bounds.n; i++) {
		const struct bound *bound = &bounds.bound[i];
		char text[20];
		page_row(writer);
		page_cell(writer, entry->label);
		page_cell(writer, bound->name);
		snprintf(text, sizeof text, "%d", bound->layers);
		page_figure(writer, bound->layers, text);
		page_put_figure(writer, bound->seconds, "s", modelled);
		page_put_share(writer, bounds.seconds > 0 ? bound->seconds / bounds.seconds : NAN, modelled);
		page_put_figure(writer, bound->joules, "J", !page_is_metered(entry->device));
		page_cell(writer, meaning_of(entry->device, bound->name));
	}
}

void page_put_bounds(struct page_writer *writer, const struct page_entries *entries)
{
	bool any = false;
	for (int i = 0; i < entries->n; i++) {
		struct bounds bounds;
		bounds_of(&entries->entry[i], &bounds);
		any |= bounds.n > 0;
	}
	if (!any)
		return;
	page_section(writer, "bounds", "What limits the layers");
	page_column(writer, "device", false);
	page_column(writer, "bound", false);
	page_column(writer, "layers", true);
	page_column(writer, "time", true);
	page_column(writer, "share of the time", true);
	page_column(writer, "energy", true);
	page_column(writer, "where most cycles or most time went", false);
	page_table(writer,
		   &(struct page_table){
			   .caption = "Layers by their bound, over all batches. The bound says where most of a layer's "
				      "cycles or of its time went, and so what would make it faster.",
			   .can_be_sorted = true});
	for (int i = 0; i < entries->n; i++)
		put_entry(writer, &entries->entry[i]);
	page_table_end(writer);
	page_section_end(writer);
}
