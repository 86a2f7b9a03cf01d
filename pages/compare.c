/* SPDX-License-Identifier: MIT
 *
 * The page of a comparison (page.h): devices side by side, time and energy by layer, every layer, every parameter. A
 * placement is a comparison with one entry. */
#include <math.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "html.h"
#include "layer_charts.h"
#include "npulab/report.h"
#include "npulab/result.h"
#include "page.h"
#include "reports/format/markup.h"

enum { TEXT = 60 };

/* Says whether the times of an entry come from a model, which marks them with "~". */
static bool is_modelled(const json_t *device)
{
	static const char *const modelled[] = {"simulated", "analytical"};
	const json_t *parts = json_object_get(device, "devices");
	const char *kind = page_text(device, "kind");
	for (size_t i = 0; i < sizeof modelled / sizeof *modelled; i++)
		if (!strcmp(kind, modelled[i]))
			return true;
	for (size_t i = 0; i < json_array_size(parts); i++)
		if (is_modelled(json_array_get(parts, i)))
			return true;
	return false;
}

/* A device that could not start has a name and a reason alone. */
static bool has_run(const json_t *device)
{
	return json_is_object(json_object_get(device, "totals"));
}

/* A placement has the devices that it uses. */
static bool is_placement(const json_t *device)
{
	return json_is_array(json_object_get(device, "devices"));
}

/* Says whether a meter has measured the energies of an entry. */
static bool is_metered(const json_t *device)
{
	return npl_origin_is_measured(page_text(json_object_get(device, "totals"), "energy_origin"));
}

/* Writes a figure with its mark; "" for NAN. Returns buf. */
static const char *figure(char buf[TEXT], double value, const char *unit, bool modelled)
{
	char text[TEXT - 2];
	snprintf(buf, TEXT, "%s%s",
		 isnan(value) ? ""
		 : modelled   ? "~"
			      : "",
		 isnan(value) ? "" : npl_si_text(value, unit, text, sizeof text));
	return buf;
}

static void put_figure(FILE *out, double value, const char *unit, bool modelled)
{
	char text[TEXT];
	page_figure(out, value, figure(text, value, unit, modelled));
}

static void put_share(FILE *out, double fraction, bool modelled)
{
	char text[TEXT] = "";
	if (!isnan(fraction))
		snprintf(text, sizeof text, "%s%.3g %%", modelled ? "~" : "", 100 * fraction);
	page_figure(out, fraction, text);
}

/* Puts the signal-to-noise ratio of a result. JSON has no infinity: a result without an error has none. */
static void put_ratio(FILE *out, const json_t *compared)
{
	const double ratio = page_number(compared, "sqnr_db");
	char text[TEXT];
	page_figure(out, ratio,
		    page_number(compared, "max_abs_error") == 0 ? "exact" : figure(text, ratio, "dB", false));
}

/* ---- The devices side by side. */

static void put_headings(FILE *out, const char *const *texts, const char *const *figures)
{
	for (; *texts; texts++)
		page_table_heading(out, *texts, false);
	for (; *figures; figures++)
		page_table_heading(out, *figures, true);
	page_table_body(out);
}

static void put_unavailable(FILE *out, const json_t *device)
{
	page_row(out);
	page_cell(out, page_text(device, "instance"));
	page_cell(out, "is not available here:");
	page_cell(out, page_text(device, "unavailable"));
}

static void put_totals(FILE *out, const json_t *device)
{
	const json_t *totals = json_object_get(device, "totals"), *accuracy = json_object_get(device, "accuracy");
	const bool modelled = is_modelled(device);
	const bool energy_modelled = !is_metered(device);
	page_row(out);
	page_cell(out, page_text(device, "instance"));
	page_cell(out, page_text(device, "kind"));
	page_cell(out, page_text(device, "precision"));
	put_figure(out, page_number(totals, "latency_s"), "s", modelled);
	put_figure(out, page_number(totals, "inferences_per_second"), "/s", modelled);
	put_figure(out, page_number(totals, "energy_j"), "J", energy_modelled);
	put_figure(out, 1 / page_number(totals, "inferences_per_joule"), "J", energy_modelled);
	put_share(out, page_number(totals, "utilization"), modelled);
	put_ratio(out, accuracy);
	put_share(out, page_number(accuracy, "top1_agreement"), false);
}

static void put_remark(FILE *out, const char *begin, const char *remark)
{
	if (!*remark)
		return;
	fprintf(out, "<br>%s", begin);
	npl_xml_put(out, remark);
}

/* Says of each device what it is, where its energies come from, and its notes. */
static void put_origins(FILE *out, const json_t *devices)
{
	fputs("<ul>\n", out);
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i), *notes = json_object_get(device, "notes");
		const char *origin = page_text(json_object_get(device, "totals"), "energy_origin");
		fputs("<li>", out);
		npl_xml_put(out, page_text(device, "instance"));
		put_remark(out, "", page_text(device, "detail"));
		put_remark(out, "energy ", origin);
		for (size_t k = 0; k < json_array_size(notes); k++)
			put_remark(out, "", json_string_value(json_array_get(notes, k)));
		fputs("\n", out);
	}
	fputs("</ul>\n", out);
}

static void put_side_by_side(FILE *out, const json_t *devices)
{
	const struct page_table table = {"All batches; a ~ marks what comes from a model. What is not known is empty.",
					 .can_be_sorted = json_array_size(devices) > 1};
	page_section(out, "devices", "Side by side");
	page_table_begin(out, &table);
	put_headings(out, (const char *const[]){"device", "kind", "format", NULL},
		     (const char *const[]){"time of a batch", "samples a second", "energy", "energy of a sample",
					   "share of the peak", "signal to noise", "same first class", NULL});
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);
		(has_run(device) ? put_totals : put_unavailable)(out, device);
	}
	page_table_end(out);
	put_origins(out, devices);
	page_section_end(out);
}

/* ---- Every layer. */

/* Returns the layers of the first device that has run: all have the same. */
static const json_t *layers_of(const json_t *devices)
{
	size_t i = 0;
	while (i < json_array_size(devices) && !has_run(json_array_get(devices, i)))
		i++;
	return json_object_get(json_array_get(devices, i), "layers");
}

/* Layers without multiply-accumulates have an empty cell. */
static double above_zero_or_none(double value)
{
	return value > 0 ? value : NAN;
}

static void put_layer(FILE *out, const json_t *devices, size_t index)
{
	page_row(out);
	const json_t *first = json_array_get(layers_of(devices), index);
	page_cell(out, page_text(first, "name"));
	page_cell(out, page_text(first, "op"));
	put_figure(out, above_zero_or_none(page_number(first, "macs")), "", false);
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i),
			     *layer = json_array_get(json_object_get(device, "layers"), index);
		if (!has_run(device))
			continue;
		const bool modelled = is_modelled(device);
		const char *role = page_text(layer, "role");
		const double seconds = page_number(layer, "seconds");
		char text[TEXT];
		const bool ran = seconds > 0 || !strcmp(role, "ran");
		page_figure(out, ran ? seconds : NAN, ran ? figure(text, seconds, "s", modelled) : role);
		put_figure(out, page_number(layer, "energy_j"), "J", !is_metered(device));
		put_ratio(out, layer);
		page_cell(out, page_text(layer, "bound"));
		if (is_placement(device))
			page_cell(out, page_text(layer, "ran_on"));
	}
}

static void put_layers(FILE *out, const json_t *devices)
{
	const struct page_table table = {"Each layer on each device, over all batches.", .can_be_sorted = true,
					 .can_be_searched = true};
	const size_t n = json_array_size(layers_of(devices));
	char heading[300];
	page_section(out, "layers", "Layers");
	page_table_begin(out, &table);
	page_table_heading(out, "layer", false);
	page_table_heading(out, "operator", false);
	page_table_heading(out, "multiply-accumulates", true);
	for (size_t i = 0; i < json_array_size(devices); i++) {
		static const char *const figures[] = {"time", "energy", "signal to noise"};
		const char *name = page_text(json_array_get(devices, i), "instance");
		if (!has_run(json_array_get(devices, i)))
			continue;
		for (int k = 0; k < 3; k++) {
			snprintf(heading, sizeof heading, "%.200s %s", name, figures[k]);
			page_table_heading(out, heading, true);
		}
		snprintf(heading, sizeof heading, "%.200s bound", name);
		page_table_heading(out, heading, false);
		if (is_placement(json_array_get(devices, i)))
			page_table_heading(out, "ran on", false);
	}
	page_table_body(out);
	for (size_t i = 0; i < n; i++)
		put_layer(out, devices, i);
	page_table_end(out);
	page_section_end(out);
}

/* ---- Parameters. */

static void put_value(FILE *out, const json_t *value)
{
	char text[TEXT];
	if (json_is_string(value)) {
		page_cell(out, json_string_value(value));
		return;
	}
	snprintf(text, sizeof text, "%.10g", json_number_value(value));
	page_cell(out, json_is_boolean(value) ? json_is_true(value) ? "true" : "false" : text);
}

static void put_settings(FILE *out, const json_t *machine, const char *name)
{
	const struct page_table table = {.caption = "Parameters of the machine, as it ran.", .can_be_searched = true};
	const json_t *settings = json_object_get(machine, "settings");
	const char *key;
	json_t *value;
	if (!json_object_size(settings))
		return;
	fputs("<details><summary>", out);
	npl_xml_put(out, name);
	fputs("</summary>\n<p>", out);
	npl_xml_put(out, page_text(machine, "detail"));
	fputs("</p>\n", out);
	page_table_begin(out, &table);
	put_headings(out, (const char *const[]){"parameter", "value", NULL}, (const char *const[]){NULL});
	json_object_foreach ((json_t *)settings, key, value) {
		page_row(out);
		page_cell(out, key);
		put_value(out, value);
	}
	page_table_end(out);
	fputs("</details>\n", out);
}

static void put_parameters(FILE *out, const json_t *root, const json_t *devices)
{
	page_section(out, "parameters", "Machines");
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i), *parts = json_object_get(device, "devices");
		put_settings(out, device, page_text(device, "instance"));
		for (size_t k = 0; k < json_array_size(parts); k++)
			put_settings(out, json_array_get(parts, k), page_text(json_array_get(parts, k), "instance"));
	}
	put_settings(out, json_object_get(root, "host"), "the modelled host");
	page_section_end(out);
}

/* ---- The page. */

static void put_lede(FILE *out, const json_t *root)
{
	const json_t *model = json_object_get(root, "model");
	char macs[TEXT], parameters[TEXT], text[300];
	snprintf(text, sizeof text, "%.0f samples in batches of %.0f; %s multiply-accumulates a batch, %s parameters.",
		 page_number(model, "samples"), page_number(model, "batch"),
		 npl_count_text(page_number(model, "macs"), "", macs, sizeof macs),
		 npl_count_text(page_number(model, "parameters"), "", parameters, sizeof parameters));
	fputs("<p>", out);
	npl_xml_put(out, text);
	fputs("</p>\n", out);
}

static void title_of(const json_t *root, char *title, size_t n)
{
	const json_t *devices = json_object_get(root, "devices");
	*title = '\0';
	npl_append(title, n, "", "%s on ", page_text(json_object_get(root, "model"), "name"));
	if (is_placement(json_array_get(devices, 0)))
		devices = json_object_get(json_array_get(devices, 0), "devices");
	for (size_t i = 0; i < json_array_size(devices); i++)
		npl_append(title, n, i ? ", " : "", "%s", page_text(json_array_get(devices, i), "instance"));
}

int page_put_compare(FILE *out, const json_t *root, struct npl_err *err)
{
	const json_t *devices = json_object_get(root, "devices"), *program = json_object_get(root, "npulab");
	char title[400], made_by[200];
	title_of(root, title, sizeof title);
	snprintf(made_by, sizeof made_by, "npulab %s, commit %s", page_text(program, "version"),
		 page_text(program, "commit"));
	page_begin(out, title);
	put_lede(out, root);
	put_side_by_side(out, devices);
	const int rc = page_put_layer_charts(out, devices, err);
	put_layers(out, devices);
	put_parameters(out, root, devices);
	page_end(out, made_by);
	return rc;
}
