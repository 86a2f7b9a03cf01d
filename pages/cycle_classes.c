/* SPDX-License-Identifier: MIT
 *
 * What cycles went to over all layers (cycle_classes.h). */
#include "cycle_classes.h"

#include <math.h>
#include <string.h>

/* A machine of an entry: its device, or one of those that a placement used. */
struct machine {
	const struct page_entry *entry;
	const json_t *device;
	const char *ran_on; /* NULL: all layers are its own */
	const char *label;
};

/* Returns the sum of a counter over the layers of a machine. */
static double sum_of(const struct machine *machine, const char *counter)
{
	const json_t *layers = json_object_get(machine->entry->device, "layers");
	double sum = 0;
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const json_t *layer = json_array_get(layers, i);
		const double value = page_number(json_object_get(layer, "counters"), counter);
		if (value > 0 && (!machine->ran_on || !strcmp(page_text(layer, "ran_on"), machine->ran_on)))
			sum += value;
	}
	return sum;
}

/* Returns what all cycles of a machine are. */
static double all_of(const struct machine *machine)
{
	const json_t *classes = json_object_get(machine->device, "cycle_classes");
	double sum = 0;
	for (size_t i = 0; i < json_array_size(classes); i++)
		sum += sum_of(machine, page_text(json_array_get(classes, i), "name"));
	return sum;
}

static void put_row(struct page_writer *writer, const struct machine *machine, const json_t *counter, const char *name,
		    double all)
{
	const bool in_ps = !strcmp(page_text(counter, "unit"), "ps");
	const double value = sum_of(machine, page_text(counter, "name"));
	page_row(writer);
	page_cell(writer, machine->label);
	page_cell(writer, name);
	page_put_figure(writer, in_ps ? 1e-12 * value : value, in_ps ? "s" : "", true);
	page_put_share(writer, all > 0 ? value / all : NAN, true);
	page_cell(writer, page_text(counter, "meaning"));
	page_cell(writer, page_text(counter, "bound"));
}

static void put_machine(struct page_writer *writer, const struct machine *machine)
{
	const json_t *classes = json_object_get(machine->device, "cycle_classes"),
		     *parts = json_object_get(machine->device, "cycle_parts");
	const double all = all_of(machine);
	for (size_t i = 0; i < json_array_size(classes); i++) {
		const json_t *one = json_array_get(classes, i);
		const char *name = page_text(one, "name");
		put_row(writer, machine, one, name, all);
		for (size_t k = 0; k < json_array_size(parts); k++) {
			const json_t *part = json_array_get(parts, k);
			char text[200];
			snprintf(text, sizeof text, "%.80s, part %.80s", name, page_text(part, "name"));
			if (!strcmp(page_text(part, "part_of"), name))
				put_row(writer, machine, part, text, all);
		}
	}
}

/* Calls for each machine of an entry. */
static void for_machines(struct page_writer *writer, const struct page_entry *entry,
			 void (*put)(struct page_writer *writer, const struct machine *machine))
{
	const json_t *parts = json_object_get(entry->device, "devices");
	put(writer, &(struct machine){.entry = entry, .device = entry->device, .label = entry->label});
	for (size_t k = 0; k < json_array_size(parts); k++) {
		const json_t *part = json_array_get(parts, k);
		const char *instance = page_text(part, "instance");
		put(writer, &(struct machine){entry, part, instance, instance});
	}
}

static bool has_classes(const json_t *device)
{
	const json_t *parts = json_object_get(device, "devices");
	bool any = json_array_size(json_object_get(device, "cycle_classes")) > 0;
	for (size_t k = 0; k < json_array_size(parts); k++)
		any |= has_classes(json_array_get(parts, k));
	return any;
}

void page_put_cycle_classes(struct page_writer *writer, const struct page_entries *entries)
{
	bool any = false;
	for (int i = 0; i < entries->n; i++)
		any |= has_classes(entries->entry[i].device);
	if (!any)
		return;
	page_heading(writer, "All layers together");
	page_column(writer, "device", false);
	page_column(writer, "class", false);
	page_column(writer, "cycles", true);
	page_column(writer, "share", true);
	page_column(writer, "what happens in such a cycle", false);
	page_column(writer, "bound", false);
	page_table(
		writer,
		&(struct page_table){
			.caption = "Each cycle counts to one class. The bound of a layer is that of the class with "
				   "most of its cycles, or of a part of that class. Two bounds are exceptions: peak, "
				   "where the arithmetic is well used, and memory, where the memory is nearly always "
				   "busy.",
			.can_be_sorted = true});
	for (int i = 0; i < entries->n; i++)
		for_machines(writer, &entries->entry[i], put_machine);
	page_table_end(writer);
}
