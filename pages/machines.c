/* SPDX-License-Identifier: MIT
 *
 * Machines on pages (machines.h). */
#include "machines.h"

#include <math.h>
#include <stdlib.h>

#include "bars.h"
#include "core/base/message.h"

/* ---- Figures of components, beside their bottom-up ranges. */

struct component_figures {
	const char *id, *heading, *unit;
	/* The keys of an object of the list: the figure, its range, its name. */
	const char *value, *low, *high, *name;
	double (*factor)(const json_t *device);
};

static double one(const json_t *device)
{
	(void)device;
	return 1;
}

/* Power is energy over the time in which it was spent. */
static double per_second(const json_t *device)
{
	return 1 / page_number(json_object_get(device, "totals"), "seconds");
}

static void put_component_rows(struct page_writer *writer, const json_t *list, const struct component_figures *figures,
			       double factor)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		char low[PAGE_FIGURE], high[PAGE_FIGURE];
		if (page_number(one, figures->value) == 0)
			continue;
		page_row(writer);
		page_cell(writer, page_text(one, figures->name));
		page_put_figure(writer, factor * page_number(one, figures->value), figures->unit, true);
		page_figure(writer, factor * page_number(one, figures->low),
			    page_figure_text(low, factor * page_number(one, figures->low), figures->unit, true));
		page_figure(writer, factor * page_number(one, figures->high),
			    page_figure_text(high, factor * page_number(one, figures->high), figures->unit, true));
		page_cell(writer, *page_text(one, "origin") ? page_text(one, "origin") : page_text(one, "area_origin"));
	}
}

static void put_component_table(struct page_writer *writer, const json_t *list, const struct component_figures *figures,
				double factor)
{
	page_column(writer, "component", false);
	page_column(writer, figures->heading, true);
	page_column(writer, "bottom-up, from", true);
	page_column(writer, "to", true);
	page_column(writer, "origin", false);
	page_table(writer, &(struct page_table){.caption = "Each component, beside its bottom-up range.",
						.can_be_sorted = true});
	put_component_rows(writer, list, figures, factor);
	page_table_end(writer);
}

static void put_component_chart(struct page_writer *writer, const char *name, const json_t *list,
				const struct component_figures *figures, double factor)
{
	const size_t n = json_array_size(list);
	double *figure = calloc(3 * n + 1, sizeof *figure);
	const char **row = calloc(n + 1, sizeof *row);
	char label[300] = "", word[80];
	int rows = 0;
	writer->failed |= !figure || !row;
	for (size_t i = 0; i < n && figure && row; i++) {
		const json_t *one = json_array_get(list, i);
		const double value = factor * page_number(one, figures->value);
		if (!(value > 0))
			continue;
		figure[rows] = value;
		figure[n + (size_t)rows] = factor * page_number(one, figures->low);
		figure[2 * n + (size_t)rows] = factor * page_number(one, figures->high);
		row[rows++] = page_text(one, figures->name);
	}
	npl_append(label, sizeof label, "", "%s of %s by component", figures->heading, name);
	if (rows)
		page_bars_put(writer, &(struct page_bars){.id = page_word(word, sizeof word, figures->id, name),
							  .label = label,
							  .unit = figures->unit,
							  .is_modelled = true,
							  .kind = PAGE_BARS_GROUPED,
							  .n_rows = rows,
							  .n_series = 1,
							  .row = row,
							  .series = &(struct page_series){figures->heading, figure,
											  figure + n, figure + 2 * n}});
	free(figure);
	free(row);
}

static void put_components(struct page_writer *writer, const json_t *device, const char *name, const json_t *list,
			   const struct component_figures *figures)
{
	const double factor = figures->factor(device);
	char heading[300];
	bool any = false;
	for (size_t i = 0; i < json_array_size(list); i++)
		any |= factor * page_number(json_array_get(list, i), figures->value) > 0;
	if (!any)
		return;
	snprintf(heading, sizeof heading, "%s: %s", name, figures->heading);
	page_heading(writer, heading);
	put_component_chart(writer, name, list, figures, factor);
	put_component_table(writer, list, figures, factor);
}

static void put_areas(struct page_writer *writer, const json_t *machine, const char *name)
{
	static const struct component_figures area = {"area",         "area",          "mm2",       "area_mm2",
						      "area_low_mm2", "area_high_mm2", "component", one};
	put_components(writer, machine, name, json_object_get(machine, "components"), &area);
}

static void put_powers(struct page_writer *writer, const struct page_entry *entry)
{
	static const struct component_figures power = {"power",      "power",       "W",         "joules",
						       "joules_low", "joules_high", "component", per_second};
	if (page_has_run(entry->device) && !page_is_metered(entry->device))
		put_components(writer, entry->device, entry->label,
			       json_object_get(json_object_get(entry->device, "totals"), "energy"), &power);
}

/* ---- Parameters. */

static void put_settings(struct page_writer *writer, const json_t *machine, const char *name)
{
	json_t *settings = json_object_get(machine, "settings"), *value;
	const json_t *sources = json_object_get(machine, "sources");
	const char *key;
	if (!json_object_size(settings))
		return;
	page_fold(writer, name);
	page_paragraph(writer, page_text(machine, "detail"));
	page_column(writer, "parameter", false);
	page_column(writer, "value", true);
	page_column(writer, "source", false);
	page_table(writer, &(struct page_table){.caption = "Parameter values of this run.",
						.can_be_searched = true,
						.is_long = true});
	json_object_foreach (settings, key, value) {
		char text[200];
		page_row(writer);
		page_cell(writer, key);
		page_figure(writer, json_is_number(value) ? json_number_value(value) : NAN,
			    page_value_text(value, text, sizeof text));
		page_cell(writer, page_text(sources, key));
	}
	page_table_end(writer);
	page_fold_end(writer);
}

static void put_host(struct page_writer *writer, const struct page_entries *entries, int document)
{
	char name[120] = "the modelled host";
	if (document)
		npl_append(name, sizeof name, "", ", %s", entries->name[document]);
	put_settings(writer, json_object_get(entries->document[document].root, "host"), name);
}

/* Calls for the device of an entry, or for each device that a placement uses. */
static void for_machines(struct page_writer *writer, const struct page_entry *entry,
			 void (*put)(struct page_writer *writer, const json_t *machine, const char *name))
{
	const json_t *parts = json_object_get(entry->device, "devices");
	put(writer, entry->device, entry->label);
	for (size_t k = 0; k < json_array_size(parts); k++) {
		const json_t *part = json_array_get(parts, k);
		put(writer, part, page_text(part, "instance"));
	}
}

static bool has_area(const json_t *machine)
{
	return json_array_size(json_object_get(machine, "components")) > 0;
}

/* Says whether the section of power and area has anything to show. */
static bool has_components(const struct page_entries *entries)
{
	bool any = false;
	for (int i = 0; i < entries->n; i++) {
		const json_t *device = entries->entry[i].device, *parts = json_object_get(device, "devices");
		const json_t *totals = json_object_get(device, "totals"), *energy = json_object_get(totals, "energy");
		any |= has_area(device);
		for (size_t k = 0; k < json_array_size(parts); k++)
			any |= has_area(json_array_get(parts, k));
		for (size_t k = 0; k < json_array_size(energy) && !page_is_metered(device); k++)
			any |= page_number(json_array_get(energy, k), "joules") > 0;
	}
	return any;
}

/* Says whether the areas of an entry stand on the page already, with the entry that it is compared with. */
static bool has_same_areas(const struct page_entry *entry)
{
	const json_t *base = entry->base ? entry->base->device : NULL;
	const json_t *parts = json_object_get(entry->device, "devices"),
		     *parts_before = json_object_get(base, "devices");
	bool same = base && json_array_size(parts) == json_array_size(parts_before) &&
		    json_equal(json_object_get(entry->device, "components"), json_object_get(base, "components"));
	for (size_t i = 0; i < json_array_size(parts) && same; i++)
		same = json_equal(json_object_get(json_array_get(parts, i), "components"),
				  json_object_get(json_array_get(parts_before, i), "components"));
	return same;
}

static void put_power_and_area(struct page_writer *writer, const struct page_entries *entries)
{
	if (!has_components(entries))
		return;
	page_section(writer, "power", "Power and area by component");
	page_paragraph(writer,
		       "Here power is over the time of the whole run, with host and waiting, so the components sum to "
		       "another power than that of the first table. The bottom-up range is what tables of "
		       "operations and memories give; in the charts it is a line. It leaves out clock, control "
		       "and idle power, so that a component may lie above it. Below it lies what the chip does "
		       "with less than the tables have.");
	for (int i = 0; i < entries->n; i++) {
		put_powers(writer, &entries->entry[i]);
		if (!has_same_areas(&entries->entry[i]))
			for_machines(writer, &entries->entry[i], put_areas);
	}
	page_section_end(writer);
}

void page_put_machines(struct page_writer *writer, const struct page_entries *entries)
{
	put_power_and_area(writer, entries);
	page_section(writer, "parameters", "Machines");
	page_paragraph(writer,
		       "The source of a parameter is where its value comes from. Published: a paper or a data sheet. "
		       "Modelled: computed from published figures. Fitted: chosen so that results come near published "
		       "ones. Assumed: the choice of the machine's author. Own: given by the user. Default: nobody has "
		       "set it. No effect: nothing depends on it, with the values of the others.");
	for (int i = 0; i < entries->n; i++)
		for_machines(writer, &entries->entry[i], put_settings);
	for (int i = 0; i < entries->n_documents; i++)
		if (!i || !json_equal(json_object_get(entries->document[i].root, "host"),
				      json_object_get(entries->document[i - 1].root, "host")))
			put_host(writer, entries, i);
	page_section_end(writer);
}
