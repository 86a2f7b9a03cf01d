/* SPDX-License-Identifier: MIT
 *
 * The layers of saved comparisons as CSV (csv.h): the bytes that `--csv` of the same run writes
 * (reports/compare_csv.c). The names of the columns are those of reports/columns.def. Most have the layer's key of the
 * same name; the functions below are for the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "csv.h"
#include "entries.h"
#include "npulab/result.h"
#include "reports/format/csv_fields.h"

/* What a field is made of. */
struct place {
	const json_t *root, *device, *layer;
};

/* ---- Fields that are no key of the layer. */

static void put_model(FILE *out, const char *name, const struct place *at)
{
	(void)name;
	page_csv_value(out, page_value_at(at->root, "model.name"));
}

static void put_device(FILE *out, const char *name, const struct place *at)
{
	(void)name;
	page_csv_value(out, json_object_get(at->device, "instance"));
}

static void put_batches(FILE *out, const char *name, const struct place *at)
{
	(void)name;
	page_csv_value(out, page_value_at(at->root, "model.batches"));
}

static bool has_cycles(const json_t *layer)
{
	return page_number(layer, "cycles") > 0;
}

static void put_cycles(FILE *out, const char *name, const struct place *at)
{
	if (has_cycles(at->layer))
		page_csv_value(out, json_object_get(at->layer, name));
}

/* The energy of a layer that ran alone (`npulab layer`, which has no host) is that of the device: a meter has read it.
 */
static const json_t *energies_of(const struct place *at)
{
	return json_is_object(json_object_get(at->root, "host")) ? at->layer : json_object_get(at->device, "totals");
}

static void put_energy(FILE *out, const char *name, const struct place *at)
{
	page_csv_value(out, json_object_get(energies_of(at), name));
}

static void put_energy_origin(FILE *out, const char *name, const struct place *at)
{
	const json_t *list = json_object_get(energies_of(at), "energy");
	const size_t n = json_array_size(list);
	struct npl_energy *energy = calloc(n + 1, sizeof *energy);
	char text[400];
	(void)name;
	for (size_t i = 0; i < n && energy; i++)
		energy[i].origin = page_text(json_array_get(list, i), "origin");
	if (energy)
		npl_csv_put_text(out, npl_energy_origins(energy, (int)n, text, sizeof text));
	free(energy);
}

/* JSON has no infinity. An exact result has an error of 0; a result that is not finite has no error, and is counted. */
static void put_ratio(FILE *out, const char *name, const struct place *at)
{
	const double error = page_number(at->layer, "max_abs_error");
	const json_t *ratio = json_object_get(at->layer, name);
	if (json_is_number(ratio))
		page_csv_value(out, ratio);
	else if (error == 0)
		fputs("inf", out);
	else if (error > 0 || page_number(at->layer, "not_finite") > 0)
		fputs("-inf", out);
}

/* A real device that moved nothing over a link has none. */
static void put_link_bytes(FILE *out, const char *name, const struct place *at)
{
	const char *kind = page_text(at->device, "kind");
	if (!strcmp(kind, "simulated") || page_is_placement(at->device) || page_number(at->layer, name) > 0)
		page_csv_value(out, json_object_get(at->layer, name));
}

static void put_key(FILE *out, const char *name, const struct place *at)
{
	page_csv_value(out, json_object_get(at->layer, name));
}

static const struct {
	const char *name;
	void (*put)(FILE *out, const char *name, const struct place *at);
} others[] = {{"model", put_model},
	      {"device", put_device},
	      {"batches", put_batches},
	      {"cycles", put_cycles},
	      {"energy_j", put_energy},
	      {"energy_low_j", put_energy},
	      {"energy_high_j", put_energy},
	      {"energy_by_activity_j", put_energy},
	      {"energy_origin", put_energy_origin},
	      {"sqnr_db", put_ratio},
	      {"link_bytes", put_link_bytes}};

static const char *const columns[] = {
#define NPL_LAYER(name, value)     #name,
#define NPL_LAYER_CSV(name, value) #name,
#include "reports/columns.def"
};
enum { COLUMNS = sizeof columns / sizeof *columns, OTHERS = sizeof others / sizeof *others };

static void put_field(FILE *out, const char *name, const struct place *at)
{
	void (*put)(FILE * out, const char *name, const struct place *at) = put_key;
	for (int i = 0; i < OTHERS; i++)
		if (!strcmp(others[i].name, name))
			put = others[i].put;
	put(out, name, at);
}

/* ---- The counters of all machines, behind the columns. */

static bool add_name(json_t *names, const char *name)
{
	return json_object_get(names, name) || !json_object_set_new(names, name, json_true());
}

static bool add_counters_of(json_t *names, const json_t *machine)
{
	const json_t *counters = json_object_get(machine, "counters");
	bool ok = true;
	for (size_t i = 0; i < json_array_size(counters); i++)
		if (json_is_string(json_array_get(counters, i)))
			ok = ok && add_name(names, json_string_value(json_array_get(counters, i)));
	return ok;
}

/* Adds the counters of a device, and of those that a placement uses. A document of an older npulab has no list of them:
 * its layers have the names. */
static bool add_counters(json_t *names, const json_t *device)
{
	const json_t *parts = json_object_get(device, "devices"), *layers = json_object_get(device, "layers");
	bool ok = add_counters_of(names, device);
	for (size_t k = 0; k < json_array_size(parts); k++)
		ok = ok && add_counters_of(names, json_array_get(parts, k));
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const char *name;
		json_t *ignored;
		json_object_foreach (json_object_get(json_array_get(layers, i), "counters"), name, ignored)
			ok = ok && add_name(names, name);
	}
	return ok;
}

/* Only a layer that ran and took cycles has counters here: those of a fused layer, which are 0, say nothing. */
static void put_counters(FILE *out, json_t *names, const json_t *layer)
{
	const bool counts = has_cycles(layer) && !strcmp(page_text(layer, "role"), "ran");
	const json_t *counters = json_object_get(layer, "counters");
	const char *name;
	json_t *ignored;
	json_object_foreach (names, name, ignored) {
		fputc(',', out);
		if (counts)
			page_csv_value(out, json_object_get(counters, name));
	}
}

/* ---- Lines. */

static void put_line(const struct page_csv *csv, int document, const struct place *at, json_t *counters)
{
	page_csv_begin(csv, document);
	for (int i = 0; i < COLUMNS; i++) {
		page_csv_comma(csv, !i);
		put_field(csv->out, columns[i], at);
	}
	put_counters(csv->out, counters, at->layer);
	fputs("\r\n", csv->out);
}

static void put_names(const struct page_csv *csv, json_t *counters)
{
	const char *name;
	json_t *ignored;
	page_csv_begin_names(csv);
	for (int i = 0; i < COLUMNS; i++) {
		page_csv_comma(csv, !i);
		fputs(columns[i], csv->out);
	}
	json_object_foreach (counters, name, ignored) {
		fputc(',', csv->out);
		npl_csv_put_text(csv->out, name);
	}
	fputs("\r\n", csv->out);
}

static void put_document(const struct page_csv *csv, int document, json_t *counters)
{
	struct place at = {.root = csv->document[document].root};
	const json_t *devices = json_object_get(at.root, "devices");
	for (size_t d = 0; d < json_array_size(devices); d++) {
		at.device = json_array_get(devices, d);
		const json_t *layers = json_object_get(at.device, "layers");
		for (size_t i = 0; i < json_array_size(layers); i++) {
			at.layer = json_array_get(layers, i);
			put_line(csv, document, &at, counters);
		}
	}
}

int page_csv_compare(const struct page_csv *csv, struct npl_err *err)
{
	json_t *counters = json_object();
	bool ok = counters != NULL;
	for (int i = 0; i < csv->n; i++) {
		const json_t *devices = json_object_get(csv->document[i].root, "devices");
		for (size_t d = 0; d < json_array_size(devices); d++)
			ok = ok && add_counters(counters, json_array_get(devices, d));
	}
	if (ok) {
		put_names(csv, counters);
		for (int i = 0; i < csv->n; i++)
			put_document(csv, i, counters);
	}
	json_decref(counters);
	return ok ? 0 : npl_no_memory(err);
}
