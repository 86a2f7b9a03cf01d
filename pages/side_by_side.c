/* SPDX-License-Identifier: MIT
 *
 * Devices side by side (side_by_side.h). */
#include "side_by_side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "about_devices.h"
#include "bars.h"
#include "core/base/message.h"
#include "npulab/report.h"
#include "reports/energy_table.h"

static const json_t *totals_of(const struct page_entry *entry)
{
	return entry ? json_object_get(entry->device, "totals") : NULL;
}

static bool is_energy_modelled(const json_t *device)
{
	return !page_is_metered(device);
}

/* ---- Speed and energy. */

static double energy_of_sample(const json_t *totals)
{
	return 1 / page_number(totals, "inferences_per_joule");
}

/* Puts the energy of a sample; where that of a component is not known, ">" and what is known. */
static void put_energy_of_sample(struct page_writer *writer, const struct page_entries *entries,
				 const struct page_entry *entry)
{
	const json_t *totals = totals_of(entry), *energy = json_object_get(totals, "energy");
	const json_t *model = json_object_get(entries->document[entry->document].root, "model");
	const bool modelled = is_energy_modelled(entry->device);
	double known = 0;
	char text[PAGE_FIGURE], least[PAGE_FIGURE + 1];
	for (size_t i = 0; i < json_array_size(energy); i++) {
		const double joules = page_number(json_array_get(energy, i), "joules");
		known += joules > 0 ? joules : 0;
	}
	known /= page_number(model, "samples");
	if (!isnan(energy_of_sample(totals)) || !(known > 0)) {
		page_put_figure(writer, energy_of_sample(totals), "J", modelled);
		return;
	}
	page_figure_text(text, known, "J", modelled);
	snprintf(least, sizeof least, "%s%s", *text ? ">" : "", text);
	page_figure(writer, NAN, least);
}

static void put_unavailable(struct page_writer *writer, const struct page_entry *entry)
{
	page_row(writer);
	page_cell(writer, entry->label);
	page_cell(writer, "not available");
}

static void put_totals(struct page_writer *writer, const struct page_entries *entries, const struct page_entry *entry)
{
	const json_t *device = entry->device, *totals = totals_of(entry), *base = totals_of(entry->base);
	const bool modelled = page_is_modelled(device), energy_modelled = is_energy_modelled(device);
	page_row(writer);
	page_cell(writer, entry->label);
	page_put_figure(writer, page_number(totals, "latency_s"), "s", modelled);
	if (page_has_changes(entries))
		page_put_change(writer, page_number(totals, "latency_s"), page_number(base, "latency_s"));
	page_put_figure(writer, page_number(totals, "inferences_per_second"), "/s", modelled);
	put_energy_of_sample(writer, entries, entry);
	if (page_has_changes(entries))
		page_put_change(writer, energy_of_sample(totals), energy_of_sample(base));
	page_put_figure(writer, page_number(totals, "machine_ops_per_second"), "OP/s", modelled);
	page_put_share(writer, page_number(totals, "utilization"), modelled);
	page_put_figure(writer, page_number(totals, "machine_power_w"), "W", energy_modelled);
	page_put_figure(writer, page_number(totals, "area_mm2"), "mm2", true);
	page_cell(writer, page_text(device, "precision"));
	page_cell(writer, page_text(device, "kind"));
}

static void put_speed(struct page_writer *writer, const struct page_entries *entries)
{
	page_column(writer, "device", false);
	page_column(writer, "batch time", true);
	if (page_has_changes(entries))
		page_column(writer, "change of time", true);
	page_column(writer, "samples/s", true);
	page_column(writer, "energy/sample", true);
	if (page_has_changes(entries))
		page_column(writer, "change of energy", true);
	page_column(writer, "OP/s", true);
	page_column(writer, "peak used", true);
	page_column(writer, "power", true);
	page_column(writer, "area", true);
	page_column(writer, "format", false);
	page_column(writer, "kind", false);
	page_table(
		writer,
		&(struct page_table){
			.caption =
				"A ~ marks a modelled figure. An empty cell: the figure is not known, or there is "
				"nothing to count. OP/s and power are of the machine and its memory, while the machine "
				"works.",
			.can_be_sorted = entries->n > 1});
	for (int i = 0; i < entries->n; i++)
		if (page_has_run(entries->entry[i].device))
			put_totals(writer, entries, &entries->entry[i]);
		else
			put_unavailable(writer, &entries->entry[i]);
	page_table_end(writer);
}

/* ---- What times and energies are made of. */

/* A part of a whole. value_of gives it for all batches. */
struct part {
	const char *name;
	double (*value_of)(const json_t *totals);
};

static double or_0(double value)
{
	return isnan(value) ? 0 : value;
}

static double host_time(const json_t *totals)
{
	return page_number(totals, "host_seconds");
}

static double link_time(const json_t *totals)
{
	return page_number(totals, "host_link_seconds");
}

/* Devices of a placement, links and host work at the same time for a part of it. */
static double overlap(const json_t *totals)
{
	const double seconds = page_number(totals, "overlap_seconds");
	return seconds > 0 ? seconds : NAN;
}

static double machine_time(const json_t *totals)
{
	return page_number(totals, "seconds") + or_0(overlap(totals)) - or_0(host_time(totals)) -
	       or_0(link_time(totals));
}

static double energy_of(const json_t *totals, const char *part)
{
	const double joules = page_number(json_object_get(totals, "energy_by_part"), part);
	return joules > 0 ? joules : NAN;
}

static double machine_energy(const json_t *totals)
{
	return energy_of(totals, "machine");
}

static double memory_energy(const json_t *totals)
{
	return energy_of(totals, "memory");
}

static double waiting_energy(const json_t *totals)
{
	return energy_of(totals, "waiting");
}

static double host_energy(const json_t *totals)
{
	return energy_of(totals, "host");
}

static double link_energy(const json_t *totals)
{
	return energy_of(totals, "link");
}

static double time_of_batch(const json_t *totals)
{
	return page_number(totals, "latency_s");
}

/* A whole, with its parts. */
struct whole {
	const char *id, *heading, *caption, *unit;
	double (*value_of)(const json_t *totals); /* of one batch or sample */
	double (*of_all_batches)(const json_t *totals);
	bool (*is_modelled)(const json_t *device);
	bool has_range;                /* the table has the bottom-up range */
	const char *caption_of_hidden; /* added where the table has a part that the chart lacks */
	struct part part[5];
	int n_parts, n_in_chart; /* the parts of bars come first */
};

static double all_seconds(const json_t *totals)
{
	return page_number(totals, "seconds");
}

static double all_joules(const json_t *totals)
{
	return page_number(totals, "energy_j");
}

static const struct whole times = {
	.id = "batch-time",
	.heading = "Batch time",
	.caption = "What the time of a batch is made of.",
	.unit = "s",
	.value_of = time_of_batch,
	.of_all_batches = all_seconds,
	.is_modelled = page_is_modelled,
	.caption_of_hidden = " Overlap is time in which two of them work at once. It is counted in both.",
	.part = {{"machine", machine_time}, {"host", host_time}, {"link", link_time}, {"overlap", overlap}},
	.n_parts = 4,
	.n_in_chart = 3};
static const struct whole energies = {
	.id = "sample-energy",
	.heading = "Energy of a sample",
	.caption =
		"What the energy of a sample is made of. Waiting is the machine's energy while host or link work. The "
		"bottom-up range is what tables of operations and memories give for all of it, without clock, "
		"control and idle power.",
	.unit = "J",
	.value_of = energy_of_sample,
	.of_all_batches = all_joules,
	.is_modelled = is_energy_modelled,
	.has_range = true,
	.caption_of_hidden = "",
	.part = {{"machine", machine_energy},
		 {"memory", memory_energy},
		 {"waiting", waiting_energy},
		 {"host", host_energy},
		 {"link", link_energy}},
	.n_parts = 5,
	.n_in_chart = 5};

/* Returns a part of one batch or sample. */
static double value_of(const struct whole *whole, const struct page_entry *entry, int part)
{
	const json_t *totals = totals_of(entry);
	return whole->part[part].value_of(totals) * whole->value_of(totals) / whole->of_all_batches(totals);
}

static bool has_whole(const struct whole *whole, const struct page_entry *entry)
{
	return whole->value_of(totals_of(entry)) > 0;
}

/* Says whether any device has a part. */
static bool has_part(const struct page_entries *entries, const struct whole *whole, int part)
{
	for (int i = 0; i < entries->n; i++)
		if (has_whole(whole, &entries->entry[i]) && value_of(whole, &entries->entry[i], part) > 0)
			return true;
	return false;
}

static void put_range(struct page_writer *writer, const struct page_entry *entry, const struct whole *whole)
{
	const json_t *totals = totals_of(entry);
	const double factor = whole->value_of(totals) / whole->of_all_batches(totals);
	page_put_figure(writer, factor * page_number(totals, "energy_low_j"), whole->unit, true);
	page_put_figure(writer, factor * page_number(totals, "energy_high_j"), whole->unit, true);
}

/* Puts a table of the parts; nothing where no device has more than one. */
static void put_parts(struct page_writer *writer, const struct page_entries *entries, const struct whole *whole)
{
	int shown[5], n = 0;
	char caption[300];
	for (int p = 0; p < whole->n_parts; p++)
		if (has_part(entries, whole, p))
			shown[n++] = p;
	if (n < 2)
		return;
	snprintf(caption, sizeof caption, "%s%s", whole->caption,
		 shown[n - 1] >= whole->n_in_chart ? whole->caption_of_hidden : "");
	page_column(writer, "device", false);
	for (int k = 0; k < n; k++)
		page_column(writer, whole->part[shown[k]].name, true);
	if (whole->has_range) {
		page_column(writer, "bottom-up, from", true);
		page_column(writer, "to", true);
	}
	page_table(writer, &(struct page_table){.caption = caption, .can_be_sorted = entries->n > 1});
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		if (!has_whole(whole, entry))
			continue;
		page_row(writer);
		page_cell(writer, entry->label);
		for (int k = 0; k < n; k++)
			page_put_figure(writer, value_of(whole, entry, shown[k]), whole->unit,
					whole->is_modelled(entry->device));
		if (whole->has_range)
			put_range(writer, entry, whole);
	}
	page_table_end(writer);
}

/* What a chart of a whole needs room for. */
struct room {
	double *value; /* (parts, devices) */
	const char **row;
	bool *is_modelled;
};

/* Fills a row for each device that has the whole; returns their number. */
static int fill_rows(const struct page_entries *entries, const struct whole *whole, const struct room *room)
{
	int rows = 0;
	for (int i = 0; i < entries->n; i++) {
		const struct page_entry *entry = &entries->entry[i];
		if (!has_whole(whole, entry))
			continue;
		for (int p = 0; p < whole->n_in_chart; p++)
			room->value[p * entries->n + rows] = value_of(whole, entry, p);
		room->is_modelled[rows] = whole->is_modelled(entry->device);
		room->row[rows++] = entry->label;
	}
	return rows;
}

static void put_chart(struct page_writer *writer, const struct page_entries *entries, const struct whole *whole,
		      const struct room *room)
{
	const int rows = fill_rows(entries, whole, room);
	struct page_series series[5];
	int n = 0;
	for (int p = 0; p < whole->n_in_chart; p++)
		if (has_part(entries, whole, p))
			series[n++] = (struct page_series){.name = whole->part[p].name,
							   .value = room->value + (size_t)p * (size_t)entries->n};
	if (rows && n)
		page_bars_put(writer, &(struct page_bars){.id = whole->id,
							  .label = whole->heading,
							  .unit = whole->unit,
							  .row_is_modelled = room->is_modelled,
							  .n_rows = rows,
							  .n_series = n,
							  .row = room->row,
							  .series = series});
}

/* Puts a chart with a row for each device, and below it the table of its figures. */
static void put_whole(struct page_writer *writer, const struct page_entries *entries, const struct whole *whole)
{
	const size_t n = (size_t)entries->n;
	const struct room room = {calloc(5 * n + 1, sizeof *room.value), calloc(n + 1, sizeof *room.row),
				  calloc(n + 1, sizeof *room.is_modelled)};
	page_heading(writer, whole->heading);
	if (room.value && room.row && room.is_modelled)
		put_chart(writer, entries, whole, &room);
	else
		writer->failed = true;
	put_parts(writer, entries, whole);
	free(room.value);
	free(room.row);
	free(room.is_modelled);
}

/* Returns what a byte of main memory takes; NAN: there is none, or it is not known. */
static double pj_per_memory_byte(const struct page_entry *entry)
{
	const json_t *totals = totals_of(entry);
	return 1e12 * memory_energy(totals) / page_number(json_object_get(totals, "bytes"), "dram");
}

/* Says what a byte of memory takes, where sources give devices figures that are far apart: their energies then differ
 * by their sources too. */
static void put_memory_note(struct page_writer *writer, const struct page_entries *entries)
{
	double least = INFINITY, most = 0;
	char text[1000] = "A byte of main memory takes";
	int n = 0;
	for (int i = 0; i < entries->n; i++) {
		const double pj = pj_per_memory_byte(&entries->entry[i]);
		const bool is_as_before = entries->entry[i].base && pj_per_memory_byte(entries->entry[i].base) == pj;
		if (!(pj > 0) || !isfinite(pj) || is_as_before)
			continue;
		least = fmin(least, pj);
		most = fmax(most, pj);
		npl_append(text, sizeof text, "", "%s %.3g pJ on %s", n++ ? "," : "", pj, entries->entry[i].label);
	}
	npl_append(text, sizeof text, "",
		   ", because their sources differ. This is part of the difference between their energies.");
	if (n && most >= NPL_MEMORIES_DIFFER * least)
		page_paragraph(writer, text);
}

/* ---- Values. */

static void put_accuracy(struct page_writer *writer, const struct page_entry *entry, bool has_accuracy,
			 bool has_saturations)
{
	const json_t *accuracy = json_object_get(entry->device, "accuracy");
	char text[PAGE_FIGURE] = "";
	const double error = page_number(accuracy, "max_abs_error");
	page_row(writer);
	page_cell(writer, entry->label);
	if (!isnan(error))
		snprintf(text, sizeof text, error == 0 ? "0" : "%.2g", error);
	page_figure(writer, error, text);
	page_put_ratio(writer, accuracy);
	page_put_share(writer, page_number(accuracy, "top1_agreement"), false);
	if (has_accuracy)
		page_put_share(writer, page_number(accuracy, "top1_accuracy"), false);
	const double saturations = page_number(accuracy, "saturations");
	if (has_saturations)
		page_figure(writer, saturations,
			    isnan(saturations) ? "" : npl_count_text(saturations, "", text, sizeof text));
}

static bool any_has(const struct page_entries *entries, const char *key)
{
	for (int i = 0; i < entries->n; i++)
		if (!isnan(page_number(json_object_get(entries->entry[i].device, "accuracy"), key)))
			return true;
	return false;
}

static void put_values(struct page_writer *writer, const struct page_entries *entries)
{
	const bool has_accuracy = any_has(entries, "top1_accuracy"), has_saturations = any_has(entries, "saturations");
	if (!any_has(entries, "max_abs_error"))
		return;
	page_heading(writer, "Accuracy");
	page_column(writer, "device", false);
	page_column(writer, "max error", true);
	page_column(writer, "signal/noise", true);
	page_column(writer, "same top-1", true);
	if (has_accuracy)
		page_column(writer, "top-1", true);
	if (has_saturations)
		page_column(writer, "saturated", true);
	page_table(writer,
		   &(struct page_table){
			   .caption = has_accuracy
					      ? "Results against those of float32. Same top-1: samples of which the "
						"greatest output is the same. Top-1: samples of which it is the right "
						"class."
					      : "Results against those of float32. Same top-1: samples of which the "
						"greatest output is the same.",
			   .can_be_sorted = entries->n > 1});
	for (int i = 0; i < entries->n; i++)
		if (page_has_run(entries->entry[i].device))
			put_accuracy(writer, &entries->entry[i], has_accuracy, has_saturations);
	page_table_end(writer);
}

/* ---- The section. */

void page_put_side_by_side(struct page_writer *writer, const struct page_entries *entries)
{
	page_section(writer, "devices", "Side by side");
	put_speed(writer, entries);
	put_values(writer, entries);
	put_whole(writer, entries, &times);
	put_whole(writer, entries, &energies);
	put_memory_note(writer, entries);
	page_put_about_devices(writer, entries);
	page_section_end(writer);
}
