/* SPDX-License-Identifier: MIT
 *
 * Checks JSON against a schema (schema.h). */
#include "schema.h"

#include <stdio.h>
#include <string.h>

#include "core/base/message.h"

struct check {
	char place[300]; /* of the value that is looked at: "devices[0].name" */
	char *problem;
	size_t n;
};

static bool fail(const struct check *check, const char *what, const char *name)
{
	*check->problem = '\0';
	npl_append(check->problem, check->n, "", "%s%s%s%s", check->place, *check->place ? ": " : "", what, name);
	return false;
}

/* The types of JSON as schemas name them, with words for a reader. */
static const struct {
	const char *name, *words;
} types[] = {{"object", "an object"}, {"array", "a list"},          {"string", "text"}, {"integer", "a whole number"},
	     {"number", "a number"},  {"boolean", "true or false"}, {"null", "null"}};
enum { TYPES = sizeof types / sizeof *types };

static bool has_type(const json_t *value, const char *name)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return !strcmp(name, "object");
	case JSON_ARRAY:
		return !strcmp(name, "array");
	case JSON_STRING:
		return !strcmp(name, "string");
	case JSON_INTEGER:
		return !strcmp(name, "integer") || !strcmp(name, "number");
	case JSON_REAL:
		return !strcmp(name, "number");
	case JSON_TRUE:
	case JSON_FALSE:
		return !strcmp(name, "boolean");
	case JSON_NULL:
		return !strcmp(name, "null");
	}
	return false;
}

static const char *words_of(const char *name)
{
	for (int i = 0; i < TYPES; i++)
		if (!strcmp(types[i].name, name))
			return types[i].words;
	return name;
}

static bool check_type(const struct check *check, const json_t *type, const json_t *value)
{
	char expected[120] = "";
	if (json_is_string(type)) {
		const char *name = json_string_value(type);
		return has_type(value, name) || fail(check, "expected ", words_of(name));
	}
	for (size_t i = 0; i < json_array_size(type); i++) {
		const char *name = json_string_value(json_array_get(type, i));
		if (has_type(value, name))
			return true;
		npl_append(expected, sizeof expected, " or ", "%s", words_of(name));
	}
	return !type || fail(check, "expected ", expected);
}

static bool check_choice(const struct check *check, const json_t *schema, const json_t *value)
{
	const json_t *one = json_object_get(schema, "const"), *some = json_object_get(schema, "enum");
	char expected[300] = "";
	bool found = !some;
	for (size_t i = 0; i < json_array_size(some) && !found; i++) {
		const json_t *choice = json_array_get(some, i);
		found = json_equal(choice, value);
		npl_append(expected, sizeof expected, ", ", "%s",
			   json_is_string(choice) ? json_string_value(choice) : "null");
	}
	if (one && !json_equal(one, value))
		return fail(check, "expected ", json_is_string(one) ? json_string_value(one) : "the schema's value");
	return found || fail(check, "expected one of ", expected);
}

static bool check_value(struct check *check, const json_t *schema, const json_t *value);

/* Checks a part of a value, whose place ends in `.key` or `[index]`. */
static bool check_part(struct check *check, const json_t *schema, const json_t *value, const char *name)
{
	const size_t length = strlen(check->place);
	npl_append(check->place, sizeof check->place, "", "%s", name);
	const bool ok = check_value(check, schema, value);
	if (ok)
		check->place[length] = '\0';
	return ok;
}

/* Says whether a key may be null. */
static bool may_be_null(const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type");
	for (size_t i = 0; i < json_array_size(type); i++)
		if (!strcmp(json_string_value(json_array_get(type, i)), "null"))
			return true;
	return false;
}

static bool check_object(struct check *check, const json_t *schema, const json_t *object)
{
	const json_t *required = json_object_get(schema, "required"),
		     *properties = json_object_get(schema, "properties"),
		     *others = json_object_get(schema, "additionalProperties");
	for (size_t i = 0; i < json_array_size(required); i++) {
		const char *key = json_string_value(json_array_get(required, i));
		if (!json_object_get(object, key) && !may_be_null(json_object_get(properties, key)))
			return fail(check, "lacks the key ", key);
	}
	const char *key;
	json_t *value;
	json_object_foreach ((json_t *)object, key, value) {
		const json_t *of_key = json_object_get(properties, key);
		char name[120];
		snprintf(name, sizeof name, "%s%s", *check->place ? "." : "", key);
		if (!of_key)
			of_key = others;
		if (json_is_object(of_key) && !check_part(check, of_key, value, name))
			return false;
	}
	return true;
}

/* Says whether a number, a text or the like is as its schema wants it. Lists of results have millions of them: places
 * are written for those alone that are not. */
static bool is_right(const struct check *check, const json_t *schema, const json_t *value)
{
	return !json_is_object(value) && !json_is_array(value) &&
	       check_type(check, json_object_get(schema, "type"), value) && check_choice(check, schema, value);
}

static bool check_array(struct check *check, const json_t *schema, const json_t *array)
{
	const json_t *items = json_object_get(schema, "items");
	for (size_t i = 0; items && i < json_array_size(array); i++) {
		char name[32];
		if (is_right(check, items, json_array_get(array, i)))
			continue;
		snprintf(name, sizeof name, "[%zu]", i);
		if (!check_part(check, items, json_array_get(array, i), name))
			return false;
	}
	return true;
}

static bool check_value(struct check *check, const json_t *schema, const json_t *value)
{
	if (!check_type(check, json_object_get(schema, "type"), value) || !check_choice(check, schema, value))
		return false;
	return json_is_object(value)  ? check_object(check, schema, value)
	       : json_is_array(value) ? check_array(check, schema, value)
				      : true;
}

bool page_schema_check(const json_t *schema, const json_t *value, char *problem, size_t n)
{
	struct check check = {.problem = problem, .n = n};
	return check_value(&check, schema, value);
}
