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

static inline bool cli_is_of_type(const json_t *value, const char *type)
{
	return !strcmp(type, "string")    ? json_is_string(value)
	       : !strcmp(type, "integer") ? json_is_integer(value)
	       : !strcmp(type, "number")  ? json_is_number(value)
	       : !strcmp(type, "boolean") ? json_is_boolean(value)
	       : !strcmp(type, "object")  ? json_is_object(value)
	       : !strcmp(type, "array")   ? json_is_array(value)
					  : json_is_null(value);
}

static inline void cli_check_type(const json_t *value, json_t *types, const char *label)
{
	bool is_right = json_is_string(types) ? cli_is_of_type(value, json_string_value(types)) : !types;
	size_t i;
	json_t *type;
	json_array_foreach (types, i, type)
		is_right = is_right || cli_is_of_type(value, json_string_value(type));
	cr_assert(is_right, "%s: of another type than its schema says", label);
}

/* The value is what a schema of schemas/ says: types, required keys, no others, and the keys in the schema's order. */
static inline void cli_check_schema(json_t *value, json_t *schema, const char *label)
{
	json_t *properties = json_object_get(schema, "properties"), *part;
	json_t *others = json_object_get(schema, "additionalProperties");
	void *next = json_object_iter(properties);
	const char *key;
	size_t i;
	cli_check_type(value, json_object_get(schema, "type"), label);
	json_array_foreach (json_object_get(schema, "required"), i, part)
		cr_assert(json_is_null(value) || json_object_get(value, cli_text(part)), "%s has no '%s'", label,
			  cli_text(part));
	json_array_foreach (value, i, part)
		cli_check_schema(part, json_object_get(schema, "items"), label);
	json_object_foreach (value, key, part) {
		json_t *property = json_object_get(properties, key);
		cr_assert(property || !json_is_false(others), "%s: '%s' is not in the schema", label, key);
		while (property && next && strcmp(json_object_iter_key(next), key) != 0)
			next = json_object_iter_next(properties, next);
		cr_assert(!property || next, "%s: '%s' is out of the schema's order", label, key);
		cli_check_schema(part, property ? property : others, key);
	}
}

/* Everything that the schema of comparisons promises, and joules are null exactly where their origin is "absent". */
static inline void cli_check_result(json_t *root)
{
	json_t *schema = json_load_file("schemas/npulab.compare-1.json", 0, NULL), *device, *layer, *part;
	size_t d, i, k;
	cr_assert(schema);
	cli_check_schema(root, schema, "the result");
	json_decref(schema);
	json_array_foreach (cli_at(root, "devices"), d, device) {
		json_t *layers = cli_at(device, "layers"), *all = cli_at(device, "totals.energy");
		for (i = 0; i <= json_array_size(layers); i++) {
			layer = json_array_get(layers, i);
			json_array_foreach (layer ? cli_at(layer, "energy") : all, k, part)
				cr_assert_eq(json_is_null(cli_at(part, "joules")),
					     !strcmp(cli_text(cli_at(part, "origin")), "absent"));
			cr_assert(!layer || cli_integer(cli_at(layer, "index")) == (long long)i);
		}
	}
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
