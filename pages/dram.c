/* SPDX-License-Identifier: MIT
 *
 * The page of a memory under traffic (page.h): its figures, charts of energy, shares and latencies, its parameters.
 * Several documents are compared, with a column for each and the change from the first. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bars.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "entries.h"
#include "machines.h"
#include "npulab/params.h"
#include "npulab/report.h"
#include "page.h"
#include "sim/memory/memory.h"

enum { TEXT = 400, MOST_ROWS = 20 };

/* The documents of the page, and their names. */
struct overlay {
	const struct page_document *document;
	int n;
	char (*name)[PAGE_NAME];
};

/* ---- Figures: a row each, a column for each document. */

enum kind {
	COUNT,
	CYCLES,         /* of the memory's clock */
	MEAN_CYCLES,    /* with a digit behind the point */
	TIME_OF_CYCLES, /* cycles of the document, shown as the time that they take */
	SECONDS,
	RATE,
	PEAK,
	HERTZ,
	BYTES,
	SHARE,
	JOULES,
	PICOJOULES
};

struct dram_figure {
	const char *label, *path;
	enum kind kind;
	const char *what;
};

static const struct dram_figure times[] = {
	{"cycles", "cycles", CYCLES, "of the memory's clock, to the last completion"},
	{"time", "seconds", SECONDS, ""},
	{"bandwidth", "gb_per_s", RATE, "of all requests"},
	{"peak used", "peak_fraction", SHARE, "the bandwidth over the peak of all channels"},
	{"latency, mean", "latency_cycles.mean", TIME_OF_CYCLES, "from when a request was due to its completion"},
	{"latency, mean, in cycles", "latency_cycles.mean", MEAN_CYCLES, ""},
	{"latency, 99th percentile", "latency_cycles.p99", TIME_OF_CYCLES, ""},
	{"latency, 99th percentile, in cycles", "latency_cycles.p99", CYCLES, ""},
	{"latency, longest", "latency_cycles.max", TIME_OF_CYCLES, ""},
	{"latency, longest, in cycles", "latency_cycles.max", CYCLES, ""},
	{"read latency, mean", "read_latency_cycles.mean", TIME_OF_CYCLES, ""},
	{"read latency, mean, in cycles", "read_latency_cycles.mean", MEAN_CYCLES, ""},
	{"read latency, 99th percentile", "read_latency_cycles.p99", TIME_OF_CYCLES, ""},
	{"read latency, 99th percentile, in cycles", "read_latency_cycles.p99", CYCLES, ""},
	{"read latency, longest", "read_latency_cycles.max", TIME_OF_CYCLES, ""},
	{"read latency, longest, in cycles", "read_latency_cycles.max", CYCLES, ""},
	{"write latency, mean", "write_latency_cycles.mean", TIME_OF_CYCLES, ""},
	{"write latency, mean, in cycles", "write_latency_cycles.mean", MEAN_CYCLES, ""},
	{"write latency, 99th percentile", "write_latency_cycles.p99", TIME_OF_CYCLES, ""},
	{"write latency, 99th percentile, in cycles", "write_latency_cycles.p99", CYCLES, ""},
	{"write latency, longest", "write_latency_cycles.max", TIME_OF_CYCLES, ""},
	{"write latency, longest, in cycles", "write_latency_cycles.max", CYCLES, ""},
	{0}};
static const struct dram_figure commands[] = {
	{"reads", "counters.reads", COUNT, "requests"},
	{"writes", "counters.writes", COUNT, "requests"},
	{"bytes read", "counters.read_bytes", BYTES, ""},
	{"bytes written", "counters.written_bytes", BYTES, ""},
	{"row hits", "row_hit_rate", SHARE, "accesses that found their row open"},
	{"read commands", "counters.read_commands", COUNT, ""},
	{"write commands", "counters.write_commands", COUNT, ""},
	{"forwarded", "counters.forwarded", COUNT, "reads answered out of the write queue"},
	{"activates", "counters.activates", COUNT, "rows opened"},
	{"precharges", "counters.precharges", COUNT, "rows closed"},
	{"refreshes", "counters.refreshes", COUNT, "of a rank each"},
	{"rank cycles with a row open", "counters.active_rank_cycles", CYCLES, "summed over the ranks"},
	{"rank cycles with all rows closed", "counters.idle_rank_cycles", CYCLES, "summed over the ranks"},
	{0}};
static const struct dram_figure facts[] = {{"channels", "memory.channels", COUNT, ""},
					   {"clock", "memory.clock_hz", HERTZ, ""},
					   {"peak", "memory.peak_gb_per_s", PEAK, "of all channels"},
					   {"capacity", "memory.capacity_bytes", BYTES, ""},
					   {"bytes of an access", "memory.access_bytes", COUNT, ""},
					   {0}};

static const struct dram_figure energies[] = {{"energy", "energy_j.total", JOULES, "the sum of the following"},
					      {"activate", "energy_j.activate", JOULES, "opening and closing rows"},
					      {"read", "energy_j.read", JOULES, ""},
					      {"write", "energy_j.write", JOULES, ""},
					      {"refresh", "energy_j.refresh", JOULES, ""},
					      {"active standby", "energy_j.active_standby", JOULES, "a row open"},
					      {"idle standby", "energy_j.idle_standby", JOULES, "all rows closed"},
					      {0}};
static const struct dram_figure energy_of_bit[] = {{"energy per bit", "pj_per_bit", PICOJOULES, ""}, {0}};
/* Shares between 0 and 1 of one chart. */
static const struct dram_figure shares[] = {
	{"peak used", "peak_fraction", SHARE, ""}, {"row hits", "row_hit_rate", SHARE, ""}, {0}};
static const struct dram_figure latencies[] = {
	{"mean", "latency_cycles.mean", TIME_OF_CYCLES, ""},
	{"99th percentile", "latency_cycles.p99", TIME_OF_CYCLES, ""},
	{"longest", "latency_cycles.max", TIME_OF_CYCLES, ""},
	{"reads, mean", "read_latency_cycles.mean", TIME_OF_CYCLES, ""},
	{"reads, 99th percentile", "read_latency_cycles.p99", TIME_OF_CYCLES, ""},
	{"reads, longest", "read_latency_cycles.max", TIME_OF_CYCLES, ""},
	{"writes, mean", "write_latency_cycles.mean", TIME_OF_CYCLES, ""},
	{"writes, 99th percentile", "write_latency_cycles.p99", TIME_OF_CYCLES, ""},
	{"writes, longest", "write_latency_cycles.max", TIME_OF_CYCLES, ""},
	{0}};

/* What is modelled has the mark "~"; counts are the model's own. */
static const char *figure_text(double value, enum kind kind, char text[PAGE_FIGURE])
{
	*text = '\0';
	if (!isfinite(100 * value))
		return text;
	switch (kind) {
	case COUNT:
	case CYCLES:
		snprintf(text, PAGE_FIGURE, "%.0f", value);
		break;
	case MEAN_CYCLES:
		snprintf(text, PAGE_FIGURE, "%.1f", value);
		break;
	case TIME_OF_CYCLES:
	case SECONDS:
		return page_figure_text(text, value, "s", true);
	case RATE:
		return page_figure_text(text, 1e9 * value, "B/s", true);
	case PEAK:
		return page_figure_text(text, 1e9 * value, "B/s", false);
	case HERTZ:
		return page_figure_text(text, value, "Hz", false);
	case BYTES:
		return page_figure_text(text, value, "B", false);
	case SHARE:
		snprintf(text, PAGE_FIGURE, "%.2f %%", 100 * value);
		break;
	case JOULES:
		return page_figure_text(text, value, "J", true);
	case PICOJOULES:
		snprintf(text, PAGE_FIGURE, "~%.1f pJ", value);
		break;
	}
	return text;
}

static double number_at(const struct overlay *o, int document, const char *path)
{
	const json_t *value = page_value_at(o->document[document].root, path);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Returns a document's value of a figure; NAN: there is none. */
static double value_of(const struct overlay *o, int document, const struct dram_figure *figure)
{
	const double value = number_at(o, document, figure->path);
	if (figure->kind != TIME_OF_CYCLES)
		return value;
	const double seconds = value / number_at(o, document, "memory.clock_hz");
	return isfinite(seconds) ? seconds : NAN;
}

static bool has_first_clock(const struct overlay *o, int document)
{
	return number_at(o, document, "memory.clock_hz") == number_at(o, 0, "memory.clock_hz");
}

/* Returns the value from which a figure's change is told. NAN: it is in cycles, which are not as long in both
 * documents. */
static double base_of(const struct overlay *o, int document, const struct dram_figure *figure)
{
	const bool is_in_cycles = figure->kind == CYCLES || figure->kind == MEAN_CYCLES;
	return is_in_cycles && !has_first_clock(o, document) ? NAN : value_of(o, 0, figure);
}

static void add_value_columns(struct page_writer *writer, const struct overlay *o)
{
	for (int i = 0; i < o->n; i++) {
		page_column(writer, o->n > 1 ? o->name[i] : "value", true);
		if (i)
			page_column(writer, "change", true);
	}
}

/* A figure that no document has is left out. */
static void put_figure(struct page_writer *writer, const struct overlay *o, const struct dram_figure *figure)
{
	bool any = false;
	for (int i = 0; i < o->n; i++)
		any |= !isnan(value_of(o, i, figure));
	if (!any)
		return;
	page_row(writer);
	page_cell(writer, figure->label);
	for (int i = 0; i < o->n; i++) {
		char text[PAGE_FIGURE];
		const double value = value_of(o, i, figure);
		page_figure(writer, value, figure_text(value, figure->kind, text));
		if (i)
			page_put_change(writer, value, base_of(o, i, figure));
	}
	page_cell(writer, figure->what);
}

/* Puts a table of the figures of two lists, of which the second may be NULL. */
static void put_figures(struct page_writer *writer, const struct overlay *o, const char *caption,
			const struct dram_figure *figures, const struct dram_figure *more)
{
	page_column(writer, "figure", false);
	add_value_columns(writer, o);
	page_column(writer, "meaning", false);
	page_table(writer, &(struct page_table){.caption = caption});
	for (; figures->label; figures++)
		put_figure(writer, o, figures);
	for (; more && more->label; more++)
		put_figure(writer, o, more);
	page_table_end(writer);
}

/* ---- Charts: a row for each figure, a series for each document. */

/* value_name: the name of the series where a single document has it, "latency". Shares are shown in percent. */
static void put_chart(struct page_writer *writer, const struct overlay *o, const struct page_bars *chart,
		      const struct dram_figure *figures, const char *value_name)
{
	double value[PAGE_COLOURS][MOST_ROWS];
	struct page_series series[PAGE_COLOURS];
	const char *row[MOST_ROWS];
	struct page_bars bars = *chart;
	bars.kind = PAGE_BARS_GROUPED;
	bars.n_series = o->n < PAGE_COLOURS ? o->n : PAGE_COLOURS;
	bars.row = row;
	bars.series = series;
	for (; figures->label && bars.n_rows < MOST_ROWS; figures++) {
		bool any = false;
		for (int i = 0; i < bars.n_series; i++) {
			value[i][bars.n_rows] = (figures->kind == SHARE ? 100 : 1) * value_of(o, i, figures);
			any |= value[i][bars.n_rows] > 0;
		}
		row[bars.n_rows] = figures->label;
		bars.n_rows += any;
	}
	for (int i = 0; i < bars.n_series; i++)
		series[i] = (struct page_series){.name = o->n > 1 ? o->name[i] : value_name, .value = value[i]};
	if (!bars.n_rows)
		return;
	page_heading(writer, chart->label);
	page_bars_put(writer, &bars);
}

/* ---- What was run. */

static void put_traffic(struct page_writer *writer, const struct overlay *o, int i)
{
	const json_t *root = o->document[i].root, *traffic = json_object_get(root, "traffic"),
		     *memory = json_object_get(root, "memory");
	const double inject = page_number(traffic, "inject"), channels = page_number(memory, "channels");
	const char *mapping = page_text(memory, "mapping"), *description = page_text(memory, "description");
	const bool is_pattern = !strcmp(page_text(traffic, "kind"), "pattern");
	char text[2 * TEXT] = "";
	if (o->n > 1)
		npl_append(text, sizeof text, "", "%s: ", o->name[i]);
	npl_append(text, sizeof text, "", "%s %s, %.0f reads and %.0f writes, ", is_pattern ? "pattern" : "trace",
		   page_text(traffic, "name"), number_at(o, i, "counters.reads"), number_at(o, i, "counters.writes"));
	if (isnan(inject))
		npl_append(text, sizeof text, "", "at the trace's cycles");
	else
		npl_append(text, sizeof text, "", "%.0f offered per cycle", inject);
	npl_append(text, sizeof text, "", "; memory %s: %s; %.0f channel%s", page_text(memory, "name"),
		   *description ? description : page_text(memory, "model"), channels, channels == 1 ? "" : "s");
	if (o->n == 1)
		*text = (char)toupper((unsigned char)*text);
	if (*mapping)
		npl_append(text, sizeof text, "", ", addresses as %s", mapping);
	npl_append(text, sizeof text, "", "; energy %s.", page_text(root, "energy_origin"));
	page_paragraph(writer, text);
}

/* ---- What differs between the documents. */

/* The list, which is begun with its first item. */
struct differences {
	struct page_writer *writer;
	const struct overlay *overlay;
	bool any;
};

/* Puts an item where a document's value at a path is not the first document's. */
static void put_difference(struct differences *d, int document, const char *path)
{
	const struct overlay *o = d->overlay;
	char line[2 * TEXT] = "", from[TEXT], to[TEXT];
	page_value_text(page_value_at(o->document[document].root, path), to, sizeof to);
	page_value_text(page_value_at(o->document[0].root, path), from, sizeof from);
	if (!strcmp(from, to))
		return;
	npl_append(line, sizeof line, "", "%s: %s %s, was %s", o->name[document], path, *to ? to : "none",
		   *from ? from : "none");
	if (!d->any)
		page_list(d->writer);
	d->any = true;
	page_item(d->writer, line);
}

/* Puts the parameters that differ, or that only one document has. */
static void put_other_settings(struct differences *d, int document)
{
	const struct overlay *o = d->overlay;
	json_t *settings = json_object_get(o->document[document].root, "settings"),
	       *first = json_object_get(o->document[0].root, "settings"), *value;
	const char *key;
	char path[TEXT];
	json_object_foreach (settings, key, value) {
		snprintf(path, sizeof path, "settings.%s", key);
		put_difference(d, document, path);
	}
	json_object_foreach (first, key, value) {
		snprintf(path, sizeof path, "settings.%s", key);
		if (!json_object_get(settings, key))
			put_difference(d, document, path);
	}
}

static bool is_same_memory(const struct overlay *o, int document)
{
	const json_t *name = page_value_at(o->document[document].root, "memory.name");
	return json_equal(name, page_value_at(o->document[0].root, "memory.name"));
}

/* Puts what was chosen otherwise, and nothing that follows from it, such as the peak. */
static void put_differences(struct page_writer *writer, const struct overlay *o)
{
	static const char *const chosen[] = {"traffic.kind",    "traffic.name",   "traffic.requests",
					     "traffic.inject",  "memory.name",    "memory.model",
					     "memory.channels", "memory.mapping", "memory.clock_hz"};
	struct differences d = {writer, o, false};
	for (int i = 1; i < o->n; i++) {
		for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++)
			put_difference(&d, i, chosen[k]);
		if (is_same_memory(o, i)) /* another memory differs in most of them, and the last table has them all */
			put_other_settings(&d, i);
	}
	if (d.any)
		page_list_end(writer);
	else
		page_paragraph(writer, "Traffic, memory and parameters are the same.");
}

/* ---- Parameters. */

static void put_setting(struct page_writer *writer, const struct overlay *o, const char *key)
{
	const struct npl_param *param = NULL;
	char meaning[TEXT] = "";
	page_row(writer);
	page_cell(writer, key);
	for (int i = 0; i < o->n; i++) {
		const json_t *root = o->document[i].root,
			     *value = json_object_get(json_object_get(root, "settings"), key);
		char text[TEXT];
		if (!param)
			param = npl_memory_parameter(page_text(json_object_get(root, "memory"), "model"), key);
		page_figure(writer, json_is_number(value) ? json_number_value(value) : NAN,
			    page_value_text(value, text, sizeof text));
	}
	if (param)
		npl_append(meaning, sizeof meaning, "", "%s%s%s", param->unit, *param->unit ? ": " : "", param->help);
	page_cell(writer, meaning);
}

static void put_settings(struct page_writer *writer, const struct overlay *o)
{
	json_t *put = json_object(), *value;
	const char *key;
	writer->failed |= !put;
	page_section(writer, "parameters", "Parameters of the memory");
	page_column(writer, "parameter", false);
	for (int i = 0; i < o->n; i++)
		page_column(writer, o->n > 1 ? o->name[i] : "value", true);
	page_column(writer, "meaning", false);
	page_table(writer, &(struct page_table){.caption = "Parameter values of this run.",
						.can_be_sorted = true,
						.can_be_searched = true,
						.is_long = true});
	for (int i = 0; i < o->n && put; i++)
		json_object_foreach (json_object_get(o->document[i].root, "settings"), key, value)
			if (!json_object_get(put, key)) {
				put_setting(writer, o, key);
				writer->failed |= json_object_set_new(put, key, json_true()) != 0;
			}
	page_table_end(writer);
	page_section_end(writer);
	json_decref(put);
}

/* ---- The page. */

static const char *caption_of_times(const struct overlay *o)
{
	bool is_one_clock = true;
	for (int i = 1; i < o->n; i++)
		is_one_clock &= has_first_clock(o, i);
	return is_one_clock
		       ? "A ~ marks a modelled figure. Cycles and counts are those of the simulation."
		       : "A ~ marks a modelled figure. Cycles and counts are those of the simulation. Cycles have no "
			 "change where the clock is another.";
}

static void put_sections(struct page_writer *writer, const struct overlay *o)
{
	for (int i = 0; i < o->n; i++)
		put_traffic(writer, o, i);
	if (o->n > 1)
		put_differences(writer, o);
	page_section(writer, "time", "Time and latency");
	put_chart(writer, o,
		  &(struct page_bars){
			  .id = "shares", .label = "Peak used and row hits", .unit = "%", .without_prefix = true},
		  shares, "share");
	put_chart(
		writer, o,
		&(struct page_bars){.id = "latency", .label = "Latency of requests", .unit = "s", .is_modelled = true},
		latencies, "latency");
	page_heading(writer, "All times");
	put_figures(writer, o, caption_of_times(o), times, NULL);
	page_section_end(writer);
	page_section(writer, "commands", "Requests and commands");
	put_figures(writer, o, "Requests are what was asked, commands what the memory did for them.", commands, NULL);
	page_section_end(writer);
	page_section(writer, "energy", "Energy");
	put_chart(writer, o,
		  &(struct page_bars){.id = "energy", .label = "Energy by command", .unit = "J", .is_modelled = true},
		  energies + 1, "energy");
	page_heading(writer, "All energies");
	put_figures(writer, o, "Energy of the memory alone.", energies, energy_of_bit);
	page_section_end(writer);
	page_section(writer, "memory", "Memory");
	put_figures(writer, o, "All channels together.", facts, NULL);
	page_section_end(writer);
	put_settings(writer, o);
}

int page_put_dram(struct page_writer *writer, const struct page_document *document, int n, struct npl_err *err)
{
	const struct overlay o = {document, n, page_document_names(document, n)};
	char title[TEXT] = "";
	if (!o.name)
		return npl_no_memory(err);
	npl_append(title, sizeof title, "", "%s on %s", page_text(json_object_get(document->root, "traffic"), "name"),
		   page_text(json_object_get(document->root, "memory"), "name"));
	page_begin_of(writer, title, o.name, n);
	put_sections(writer, &o);
	page_end_of(writer, document, n);
	free(o.name);
	return 0;
}
