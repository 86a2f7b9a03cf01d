/* SPDX-License-Identifier: MIT
 *
 * The program's JSON in tests: parsed by jansson, reached by dotted paths, and held against lists of keys.
 *
 *     json_t *root = cli_parse_json(r.out);
 *     double seconds = cli_number(cli_at(root, "devices.0.totals.seconds"));
 *     cli_check_keys(root, "schema:s npulab:o model:o devices:a", "the result");
 */
#ifndef NPULAB_TESTS_KIT_CLI_JSON_H
#define NPULAB_TESTS_KIT_CLI_JSON_H

#include <jansson.h>
#include <math.h>

#include "cli_run.h"

/* A whole text that must be one JSON value without repeated keys. */
static inline json_t *cli_parse_json(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	cr_assert(root, "not JSON, line %d column %d: %s", error.line, error.column, error.text);
	return root;
}

/* Runs the program, which must succeed, and parses what it printed. */
static inline json_t *cli_run_json(const struct cli_run_options *options, const char *const *args)
{
	struct cli_result r = cli_run_list(options, args);
	cr_assert_eq(r.status, 0, "%s %s: exit status %d: %s", args[0], args[1], r.status, r.err);
	cr_assert_eq(r.err_bytes, 0, "%s %s: said %s", args[0], args[1], r.err);
	json_t *root = cli_parse_json(r.out);
	cli_free(&r);
	return root;
}

#define cli_json(options, ...) cli_run_json((options), (const char *const[]){__VA_ARGS__, NULL})

/* "devices.0.totals.cycles"; fails when it is not there. */
static inline json_t *cli_at(json_t *value, const char *path)
{
	const char *at = path;
	while (*at) {
		char key[64];
		size_t length = strcspn(at, ".");
		snprintf(key, sizeof key, "%.*s", (int)length, at);
		value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
					     : json_object_get(value, key);
		cr_assert(value, "%s: no %s", path, key);
		at += length + (at[length] == '.');
	}
	return value;
}

static inline double cli_number(json_t *value)
{
	cr_assert(json_is_number(value), "not a number");
	return json_number_value(value);
}

static inline long long cli_integer(json_t *value)
{
	cr_assert(json_is_integer(value), "not an integer");
	return json_integer_value(value);
}

static inline const char *cli_text(json_t *value)
{
	cr_assert(json_is_string(value), "not a string");
	return json_string_value(value);
}

static inline json_t *cli_device(json_t *root, const char *name)
{
	json_t *device, *match = NULL;
	size_t i;
	json_array_foreach (cli_at(root, "devices"), i, device)
		match = !strcmp(cli_text(cli_at(device, "name")), name) ? device : match;
	cr_assert(match, "no device %s", name);
	return match;
}

static inline bool cli_has_type(const json_t *value, char type)
{
	switch (type) {
	case 's':
		return json_is_string(value);
	case 'i':
		return json_is_integer(value);
	case 'n':
		return json_is_number(value);
	case 'o':
		return json_is_object(value);
	default:
		return json_is_array(value);
	}
}

/* The object has these keys, in this order, and may have others between them. "key:T": s string, i integer, n number, o
 * object, a array; a capital letter allows null too. */
static inline void cli_check_keys(json_t *object, const char *keys, const char *label)
{
	const char *key;
	json_t *value;
	cr_assert(json_is_object(object), "%s is no object", label);
	json_object_foreach (object, key, value) {
		size_t length = strcspn(keys, ":");
		if (strlen(key) != length || strncmp(key, keys, length))
			continue;
		char type = keys[length + 1];
		bool may_be_null = type < 'a';
		cr_assert((may_be_null && json_is_null(value)) ||
				  cli_has_type(value, may_be_null ? (char)(type + 32) : type),
			  "%s: %s is of another type than '%c'", label, key, type);
		keys += length + 2;
		keys += *keys == ' ';
	}
	cr_assert_eq(*keys, '\0', "%s: not there, or out of order: %s", label, keys);
}

static inline void cli_check_energy(json_t *list, const char *label)
{
	size_t i;
	json_t *part;
	json_array_foreach (list, i, part) {
		cli_check_keys(part, "component:s joules:N origin:s", label);
		bool absent = !strcmp(cli_text(cli_at(part, "origin")), "absent");
		cr_assert_eq(json_is_null(cli_at(part, "joules")), absent, "%s: joules are null exactly where absent",
			     label);
	}
}

static inline void cli_check_device(json_t *device)
{
	const char *name = cli_text(cli_at(device, "name"));
	cli_check_keys(
		device,
		"name:s kind:s engine:S precision:S clock_hz:N machine_sha256:S detail:S settings:o output_sha256:S "
		"totals:o accuracy:o links:a layers:a",
		name);
	cli_check_keys(
		cli_at(device, "totals"),
		"cycles:I seconds:n latency_s:n host_seconds:N host_link_seconds:N overlap_seconds:n seconds_spread:N "
		"passes:I "
		"inferences_per_second:N ops_per_second:N utilization:N energy_j:N energy_origin:s energy:a "
		"inferences_per_joule:N power_w:N bytes:o peak_buffer_bytes:I simulation_wall_seconds:N",
		name);
	cli_check_keys(cli_at(device, "totals.bytes"), "dram:I buffer:I host_link:I host_link_within_cycles:I", name);
	cli_check_keys(cli_at(device, "accuracy"),
		       "max_abs_error:N sqnr_db:N top1_agreement:N top1_accuracy:N saturations:I overflows:I", name);
	cli_check_energy(cli_at(device, "totals.energy"), name);
	size_t i;
	json_t *layer, *counter, *link;
	json_array_foreach (cli_at(device, "links"), i, link)
		cli_check_keys(link,
			       "name:s device:s transfers:i bytes:i bytes_within_cycles:i seconds:n energy_j:N "
			       "energy_origin:s energy_within:S",
			       name);
	json_array_foreach (cli_at(device, "layers"), i, layer) {
		const char *key;
		cli_check_keys(
			layer,
			"index:i name:s op:s ran_on:s role:s placed_by:S note:S cycles:I seconds:n host_seconds:N "
			"link_seconds:N start_seconds:N end_seconds:N macs:i energy_j:N energy:a transfers:i "
			"link_bytes:i output_sha256:S output:o bound:S counters:o",
			name);
		cli_check_keys(cli_at(layer, "output"), "type:S scale:N zero_point:N", name);
		cr_assert_eq(cli_integer(cli_at(layer, "index")), (long long)i);
		cli_check_energy(cli_at(layer, "energy"), name);
		json_object_foreach (cli_at(layer, "counters"), key, counter)
			cr_assert(json_is_integer(counter) || json_is_null(counter), "%s: counter %s", name, key);
	}
}

/* Everything the schema npulab.compare/1 promises of keys and types. */
static inline void cli_check_result(json_t *root)
{
	size_t i;
	json_t *device;
	cli_check_keys(root, "schema:s npulab:o model:o devices:a", "the result");
	cr_assert_str_eq(cli_text(cli_at(root, "schema")), "npulab.compare/1");
	cli_check_keys(cli_at(root, "npulab"), "version:s commit:s", "npulab");
	cli_check_keys(cli_at(root, "model"),
		       "name:s file_sha256:S batch:i macs:i parameters:i layers:i samples:i batches:i "
		       "calibrated_on:S q16_scale:S reference_top1_accuracy:N",
		       "model");
	json_array_foreach (cli_at(root, "devices"), i, device)
		cli_check_device(device);
}

/* The counters that a run without values knows too: those that count what happened to values may be null. */
static inline void cli_check_timed_counters(json_t *full, json_t *timed, const char *label)
{
	const char *key;
	json_t *counter;
	json_object_foreach (full, key, counter) {
		bool of_values = strstr(key, "_saturations") || strstr(key, "_wraps");
		cr_assert(of_values || json_equal(counter, cli_at(timed, key)), "%s: counter %s", label, key);
	}
}

static inline bool cli_near(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

#endif
