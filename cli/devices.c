/* SPDX-License-Identifier: MIT
 *
 * npulab devices: lists every machine and real device, what it is, whether it can be used and, if not, why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "npulab/device.h"
#include "npulab/progress.h"
#include "npulab/report.h"
#include "options.h"
#include "reports/format/table.h"
#include "reports/settings_json.h"
#include "waiting.h"

struct row {
	struct npl_device *device; /* NULL: cannot start */
	struct npl_err failure;
	struct npl_facts facts; /* the facts of a real device, where they were asked for */
};

static int print_details(const char *const *names, const struct row *rows, int n)
{
	struct npl_table table;
	bool any_detail = false;
	static const char *const header[] = {"DEVICE", "DETAIL"};
	npl_table_open(&table, "ll", header);
	for (int i = 0; i < n; i++) {
		const char *detail = rows[i].device ? npl_device_get_info(rows[i].device)->detail
						    : npl_err_reason(&rows[i].failure);
		any_detail |= *detail;
		npl_table_row(&table, (const char *const[]){names[i], detail});
	}
	if (any_detail)
		npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

/* Prints a block for a real device: a line for each fact. */
static int print_facts(const char *name, const struct row *row)
{
	struct npl_table table;
	const char *header[] = {name, "FOUND"};
	if (!row->facts.n)
		return 0;
	npl_table_open(&table, "wl", header);
	for (int i = 0; i < row->facts.n; i++) {
		char key[64];
		snprintf(key, sizeof key, "%s", row->facts.fact[i].key);
		for (char *cursor = key; (cursor = strchr(cursor, '_'));)
			*cursor = ' ';
		npl_table_row(&table, (const char *const[]){key, row->facts.fact[i].value});
	}
	putchar('\n');
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

/* Prints each parameter of a machine, where its value is from, and whether it has an effect. */
static int print_parameters(const struct npl_device *device)
{
	struct npl_table table;
	static const char *const header[] = {"PARAMETER", "VALUE", "UNIT", "SOURCE"};
	int n;
	const struct npl_param_value *value = npl_device_settings(device, &n);
	if (!n)
		return 0;
	npl_table_open(&table, "wrwl", header);
	for (int i = 0; i < n; i++) {
		char source[40];
		snprintf(source, sizeof source, "%s%s", npl_source_name(value[i].source),
			 npl_device_setting_has_effect(device, value[i].key) ? "" : ", no effect");
		npl_table_row(&table, (const char *const[]){value[i].key, value[i].value, value[i].unit, source});
	}
	putchar('\n');
	npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

static int print_notes(const struct npl_device *device)
{
	struct npl_table table;
	static const char *const header[] = {"NOTES", ""};
	int n;
	const char *const *notes = npl_device_notes(device, &n);
	npl_table_open(&table, "ll", header);
	for (int i = 0; i < n; i++)
		npl_table_row(&table, (const char *const[]){npl_device_name(device), notes[i]});
	if (n)
		putchar('\n');
	if (n)
		npl_table_print(&table, stdout);
	return npl_table_close(&table);
}

/* Returns the clock of a machine; of an analytical one, that of its cores, although its times are not in cycles. NAN:
 * it has none. */
static double clock_of(const struct npl_device *device)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	return info->clock_hz > 0 ? info->clock_hz : npl_device_setting_number(device, "clock_hz");
}

static int print_table(const char *const *names, const struct row *rows, int n, bool verbose)
{
	struct npl_table table;
	static const char *const header[] = {"DEVICE", "KIND", "FORMAT", "CLOCK", "PEAK", "DESCRIPTION"};
	npl_table_open(&table, "lwwrrl", header);
	for (int i = 0; i < n; i++) {
		const struct npl_device_info *info = rows[i].device ? npl_device_get_info(rows[i].device) : NULL;
		char clock[32] = "-", peak[32] = "-";
		if (info && clock_of(rows[i].device) > 0)
			npl_si_text(clock_of(rows[i].device), "Hz", clock, sizeof clock);
		if (info && info->peak_macs_per_second > 0)
			npl_si_text(2 * info->peak_macs_per_second, "OP/s", peak, sizeof peak);
		const char *cells[] = {names[i],
				       info ? npl_device_kind_name(info->kind) : "unavailable",
				       info ? npl_device_precision(info) : "-",
				       clock,
				       peak,
				       info ? npl_device_description(rows[i].device)
					    : npl_err_reason(&rows[i].failure)};
		npl_table_row(&table, cells);
	}
	npl_table_print(&table, stdout);
	int rc = npl_table_close(&table);
	if (!verbose || rc)
		return rc;
	putchar('\n');
	rc = print_details(names, rows, n);
	for (int i = 0; i < n && !rc; i++)
		rc = print_facts(names[i], &rows[i]);
	return rc;
}

static void put_parameters(struct npl_json *json, const struct npl_device *device)
{
	int n = 0;
	const struct npl_param_value *value = device ? npl_device_settings(device, &n) : NULL;
	npl_json_open(json, "parameters", '[');
	for (int i = 0; i < n; i++) {
		npl_json_open(json, NULL, '{');
		npl_json_string(json, "key", value[i].key);
		npl_json_setting(json, "value", &value[i]);
		npl_json_string(json, "unit", *value[i].unit ? value[i].unit : NULL);
		npl_json_string(json, "source", npl_source_name(value[i].source));
		npl_json_close(json, '}');
	}
	npl_json_close(json, ']');
}

/* The data of a report. */
struct listing {
	const char *const *names;
	const struct row *rows;
	int n;
};

static void write_json(FILE *out, const void *data)
{
	const struct listing *listing = data;
	const char *const *names = listing->names;
	const struct row *rows = listing->rows;
	const int n = listing->n;
	struct npl_json json = {.out = out};
	npl_json_open(&json, NULL, '{');
	npl_json_string(&json, "schema", "npulab.devices/1");
	npl_json_open(&json, "devices", '[');
	for (int i = 0; i < n; i++) {
		const struct npl_device_info *info = rows[i].device ? npl_device_get_info(rows[i].device) : NULL;
		npl_json_open(&json, NULL, '{');
		npl_json_string(&json, "name", names[i]);
		npl_json_string(&json, "kind", info ? npl_device_kind_name(info->kind) : NULL);
		npl_json_bool(&json, "available", info != NULL);
		npl_json_string(&json, "reason", info ? NULL : npl_err_reason(&rows[i].failure));
		npl_json_string(&json, "description", info ? npl_device_description(rows[i].device) : NULL);
		npl_json_text(&json, "detail", info ? info->detail : NULL);
		npl_json_string(&json, "precision", info ? npl_device_precision(info) : NULL);
		npl_json_double(&json, "clock_hz", info ? clock_of(rows[i].device) : (double)NAN);
		npl_json_double(&json, "peak_ops_per_second",
				info && info->peak_macs_per_second > 0 ? 2 * info->peak_macs_per_second : (double)NAN);
		npl_json_string(&json, "machine_sha256", info ? npl_device_sha256(rows[i].device) : NULL);
		npl_json_open(&json, "facts", '{');
		for (int k = 0; k < rows[i].facts.n; k++)
			npl_json_string(&json, rows[i].facts.fact[k].key, rows[i].facts.fact[k].value);
		npl_json_close(&json, '}');
		put_parameters(&json, rows[i].device);
		int n_notes = 0;
		const char *const *notes = rows[i].device ? npl_device_notes(rows[i].device, &n_notes) : NULL;
		npl_json_texts(&json, "notes", notes, n_notes);
		npl_json_close(&json, '}');
	}
	npl_json_close(&json, ']');
	npl_json_close(&json, '}');
	putc('\n', out);
}

static int print_yaml(const char *name, const struct npl_device_options *options, struct npl_err *err)
{
	struct npl_arena arena = {0};
	const char *yaml;
	int rc = npl_device_parameters(name, options, &arena, &yaml, err);
	if (!rc && !yaml)
		rc = npl_fail(err, NPL_EUSAGE, "devices: %s has no parameters", name);
	else if (!rc)
		fputs(yaml, stdout);
	npl_arena_free(&arena);
	return rc;
}

static int list_devices(const char *only_name, const struct npl_device_options *options, bool verbose, const char *json,
			struct npl_err *err)
{
	struct npl_arena arena = {0};
	const char *const *names = &only_name;
	int n = 1, rc = only_name ? 0 : npl_device_list(&arena, &names, &n, err);
	struct row *rows = rc ? NULL : calloc((size_t)n + 1, sizeof *rows);
	if (!rc && !rows)
		rc = npl_no_memory(err);
	for (int i = 0; i < n && !rc; i++) {
		npl_progress_part(names[i], "device", i + 1, n);
		if (npl_device_open(names[i], options, &rows[i].device, &rows[i].failure) && only_name)
			rc = npl_fail_as(err, &rows[i].failure);
	}
	const char **titles = rc ? NULL : npl_arena_array(&arena, (size_t)n, sizeof *titles);
	if (!rc && !titles)
		rc = npl_no_memory(err);
	for (int i = 0; i < n && !rc; i++) /* the name of a file's machine stands for the file */
		titles[i] = rows[i].device ? npl_device_name(rows[i].device) : names[i];
	for (int i = 0; i < n && !rc && (json || verbose); i++) {
		rows[i].facts.arena = &arena;
		if (rows[i].device)
			rc = npl_device_facts(rows[i].device, &rows[i].facts, err);
	}
	cli_waiting_end();
	const bool tables = !rc && !cli_is_stdout(json);
	if (!rc)
		rc = cli_write_reports(&(struct cli_report){json, write_json, &(struct listing){titles, rows, n}}, 1,
				       err);
	if (tables)
		rc = cli_table_printed(print_table(titles, rows, n, verbose), rc, err);
	if (tables && only_name) {
		rc = cli_table_printed(print_parameters(rows[0].device), rc, err);
		rc = cli_table_printed(print_notes(rows[0].device), rc, err);
	} else if (tables) {
		puts("\nMemories that a machine can have: npulab dram --list");
	}
	for (int i = 0; rows && i < n; i++)
		npl_device_close(rows[i].device);
	free(rows);
	npl_arena_free(&arena);
	return rc;
}

/* Settings of the machine that `devices` names. */
struct settings {
	struct cli_list set; /* KEY=VALUE */
	const char **typed;  /* the option as the user typed it */
	struct npl_arena arena;
};

/* Fills settings with those given, without the machine's name before KEY, which the user may write as in every other
 * command. A file gives that name. */
static int strip_machine_name(const struct cli_list *given, const char *name, struct settings *settings,
			      struct npl_err *err)
{
	struct npl_device *device = NULL;
	int rc = 0;
	settings->typed = npl_arena_array(&settings->arena, (size_t)given->n + 1, sizeof *settings->typed);
	if (!settings->typed)
		return npl_no_memory(err);
	/* A bad file is reported before any bad setting. */
	const bool is_file = name && npl_is_yaml_path(name);
	struct npl_err failure = {0};
	if (given->n && !npl_device_open(name, NULL, &device, &failure))
		name = npl_device_name(device);
	else if (is_file && failure.code)
		return npl_fail_as(err, &failure);
	for (int i = 0; i < given->n && !rc; i++) {
		const char *key = given->item[i];
		const int n = settings->set.n;
		npl_device_sets(name, &given->item[i], 1, &key);
		rc = cli_add_setting(&settings->set, "devices: --set", key, err);
		if (!rc && settings->set.n > n)
			settings->typed[n] = npl_arena_printf(&settings->arena, "--set %s", given->item[i]);
	}
	npl_device_close(device);
	return rc;
}

static int devices_main(int argc, char **argv, struct npl_err *err)
{
	bool yaml = false, verbose = false, help_printed;
	const char *name = NULL, *json = NULL;
	struct cli_list given = {0};
	struct settings settings = {0};
	int64_t threads = 0;
	int n_words;
	const struct cli_option options[] = {
		{"yaml", CLI_FLAG, &yaml, 0, 0, NULL, "one machine's parameters as a file to edit and run"},
		{"set", CLI_SETTINGS, &given, 0, 0, "KEY=VALUE", "a changed parameter of the machine that is named"},
		{"verbose", CLI_FLAG, &verbose, 0, 0, NULL,
		 "what was found of each: library, processor, clocks, energy"},
		CLI_THREADS_OPTION(&threads),
		CLI_JSON_OPTION(&json),
		{0}};
	if (cli_parse(&cli_devices, options, argc, argv, &name, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (yaml && !name)
		return npl_fail(err, NPL_EUSAGE, "devices: --yaml needs the name of a machine");
	if (yaml && json)
		return npl_fail(err, NPL_EUSAGE,
				cli_is_stdout(json) ? "devices: --yaml and --json - cannot both have standard output"
						    : "devices: --yaml and --json are two forms, expected one of them");
	if (given.n && !name)
		return npl_fail(err, NPL_EUSAGE, "devices: --set needs the name of a machine");
	int rc = strip_machine_name(&given, name, &settings, err);
	const struct npl_device_options device_options = {
		.set = settings.set.item, .typed = settings.typed, .n_sets = settings.set.n, .threads = (int)threads};
	if (!rc)
		rc = yaml ? print_yaml(name, &device_options, err)
			  : list_devices(name, &device_options, verbose || name, json, err);
	npl_arena_free(&settings.arena);
	return rc;
}

const struct cli_command cli_devices = {"devices", "[NAME|FILE] [--yaml] [--set KEY=VALUE] [--verbose]",
					"lists machines and real devices, and why one cannot be used", devices_main};
