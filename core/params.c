/* SPDX-License-Identifier: MIT
 *
 * Reads machine descriptions by their schema, applies `--set`, and dumps text that reads back (params.h). */
#include "npulab/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/files/data_names.h"
#include "core/files/path.h"
#include "core/files/settings.h"
#include "core/files/words.h"
#include "npulab/result.h"
#include "origins.h"
#include "params_impl.h"
#include "quantity.h"
#include "setting_location.h"

const char *npl_params_choice_word(const char *words, int choice, char *buf, size_t n)
{
	size_t length;
	const char *word = npl_next_word(&words, &length);
	for (; choice > 0 && word; choice--)
		word = npl_next_word(&words, &length);
	snprintf(buf, n, "%.*s", word ? (int)strcspn(word, " /") : 0, word ? word : "");
	return buf;
}

/* Writes a choice's words for a message, each with its other spelling: "int8, 8x16 (or int8x16)". Returns list. */
static const char *list_choices(const char *words, char *list, size_t n)
{
	size_t length;
	list[0] = '\0';
	for (const char *word; (word = npl_next_word(&words, &length));) {
		const size_t first = strcspn(word, " /");
		npl_append(list, n, ", ", "%.*s", (int)first, word);
		if (first < length)
			npl_append(list, n, "", " (or %.*s)", (int)(length - first - 1), word + first + 1);
	}
	return list;
}

/* Returns the index of the choice that has the value as one of its spellings; -1: there is none. */
static int choice_of(const char *words, const char *value)
{
	const size_t n = strlen(value);
	size_t length;
	int choice = 0;
	for (const char *word; (word = npl_next_word(&words, &length)); choice++)
		for (const char *end = word + length; n && word < end; word += strcspn(word, " /") + 1)
			if (strcspn(word, " /") == n && !strncmp(word, value, n))
				return choice;
	return -1;
}

/* Refuses a number, and names the range and units that are accepted. */
static int refuse_number(const struct npl_param *param, const char *value, const char *location, int code,
			 struct npl_err *err)
{
	char low[32], high[32], units[120];
	double plain;
	const bool has_units = *npl_quantity_units(param->unit, units, sizeof units) &&
			       !npl_parse_number(value, &plain);
	return npl_fail(err, code, "%s: %s must be %s from %s to %s%s%s%s%s%s, got '%s'", location, param->key,
			param->type == NPL_PARAM_INT ? "a whole number" : "a number",
			npl_double_text(param->min, low, sizeof low), npl_double_text(param->max, high, sizeof high),
			*param->unit ? " " : "", param->unit, has_units ? " (or with one of " : "",
			has_units ? units : "", has_units ? " after it)" : "", value);
}

static int parse_number(const struct npl_param *param, const char *text, void *field, const char *location, int code,
			struct npl_err *err)
{
	char converted[80];
	const char *value = npl_quantity_in(text, param->unit, converted, sizeof converted);
	bool is_int = param->type == NPL_PARAM_INT;
	double number = 0;
	int64_t integer = 0;
	bool is_valid = is_int && npl_parse_count(value, &integer);
	if (is_valid) {
		number = (double)integer;
	} else {
		is_valid = npl_parse_number(value, &number);
		if (is_int && is_valid) { /* 0.7e9 is a whole number too */
			is_valid = fabs(number) < 0x1p53 && number == trunc(number);
			integer = is_valid ? (int64_t)number : 0;
		}
	}
	if (!is_valid || number < param->min || number > param->max)
		return refuse_number(param, text, location, code, err);
	if (is_int)
		*(int64_t *)field = integer;
	else
		*(double *)field = number;
	return 0;
}

int npl_params_parse(const struct npl_param *param, const char *value, void *config, const char *location, int code,
		     struct npl_err *err)
{
	void *field = (char *)config + param->offset;
	char list[200];
	switch (param->type) {
	case NPL_PARAM_INT:
	case NPL_PARAM_DOUBLE:
		return parse_number(param, value, field, location, code, err);
	case NPL_PARAM_CHOICE: {
		int choice = choice_of(param->words, value);
		if (choice < 0)
			return npl_fail(err, code, "%s: %s must be one of: %s; got '%s'", location, param->key,
					list_choices(param->words, list, sizeof list), value);
		*(int *)field = choice;
		return 0;
	}
	case NPL_PARAM_ORIGIN:
		if (!npl_origin_ok(value))
			return npl_fail(err, code, "%s: %s must say where the energy comes from (%s), got '%s'",
					location, param->key, list_choices(npl_origin_forms, list, sizeof list), value);
		/* fall through */
	case NPL_PARAM_STRING:
		*(const char **)field = value;
		return 0;
	}
	return npl_fail(err, NPL_EINTERNAL, "%s: parameter %s has no type", location, param->key);
}

const struct npl_param *npl_param_find(const struct npl_param *schema, const char *key)
{
	for (; schema && schema->key; schema++)
		if (*schema->key == *key && !strcmp(schema->key, key))
			return schema;
	return NULL;
}

const char *npl_param_file(const struct npl_param *schema, const char *key, const char *value)
{
	const struct npl_param *param = npl_param_find(schema, key);
	const bool is_path = npl_is_yaml_path(value) || npl_path_ends_in(value, ".csv");
	return param && param->type == NPL_PARAM_STRING && is_path ? param->words : NULL;
}

int npl_param_count(const struct npl_param *schema)
{
	int n = 0;
	while (schema && schema[n].key)
		n++;
	return n;
}

static int unknown_key(const struct npl_param *schema, const struct npl_setting *setting, const char *location,
		       struct npl_err *err)
{
	const int n = npl_param_count(schema);
	const char **keys = calloc((size_t)n + 1, sizeof *keys);
	if (!keys)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", location);
	for (int i = 0; schema && i < n; i++)
		keys[i] = schema[i].key;
	const char *nearest = npl_nearest(setting->key, keys, n);
	for (int i = 0; i < n && !nearest; i++) { /* 'rows' for 'array.rows' */
		const char *dot = strrchr(keys[i], '.');
		nearest = dot && !strcmp(dot + 1, setting->key) ? keys[i] : NULL;
	}
	free(keys);
	if (!nearest)
		return npl_fail(err, npl_setting_code(setting), "%s: there is no parameter '%s'", location,
				setting->key);
	return npl_fail(err, npl_setting_code(setting), "%s: there is no parameter '%s'; the nearest is '%s'", location,
			setting->key, nearest);
}

/* Returns the last setting of a key of `length` characters; NULL: it is not given. */
static const struct npl_setting *find_setting(const struct npl_description *description, const char *key, size_t length)
{
	for (int i = description->n_settings; i-- > 0;) {
		const char *other = description->setting[i].key; /* most keys differ in their first letter */
		if (*other == *key && !strncmp(other, key, length) && !other[length])
			return &description->setting[i];
	}
	return NULL;
}

const struct npl_setting *npl_description_setting(const struct npl_description *description, const char *key)
{
	return find_setting(description, key, strlen(key));
}

/* Checks that every parameter without a default is given. */
static int check_given(const struct npl_param *schema, const struct npl_description *description, struct npl_err *err)
{
	const struct npl_param *p = schema;
	for (; p && p->key; p++)
		if (!p->default_text && !npl_description_setting(description, p->key))
			break;
	if (!p || !p->key)
		return 0;
	npl_fail(err, NPL_EINPUT, "%s: %s is missing%s%s", description->path ? description->path : description->name,
		 p->key, *p->help ? ": " : "", p->help);
	err->in_file = description->path != NULL;
	return err->code;
}

/* Refuses a figure that is missing beside its origin: it would count as a known 0. */
static int check_origins(const struct npl_param *schema, const struct npl_description *description, struct npl_err *err)
{
	char location[NPL_SETTING_LOCATION];
	for (const struct npl_param *p = schema; p && p->key; p++) {
		if (p->type != NPL_PARAM_ORIGIN || !p->words)
			continue;
		const struct npl_setting *origin = npl_description_setting(description, p->key);
		if (!origin || npl_origin_is_absent(origin->value))
			continue;
		size_t length;
		for (const char *words = p->words, *word; (word = npl_next_word(&words, &length));)
			if (!find_setting(description, word, length)) {
				npl_fail(err, npl_setting_code(origin),
					 "%s: %.*s is missing, expected a figure beside %s %s (absent: not known)",
					 npl_setting_location(description, origin, location), (int)length, word, p->key,
					 origin->value);
				return npl_setting_blame(origin, err);
			}
	}
	return 0;
}

static int read_setting(const struct npl_param *schema, const struct npl_description *description,
			const struct npl_setting *setting, struct npl_arena *arena, void *config, struct npl_err *err)
{
	char location[NPL_SETTING_LOCATION];
	const struct npl_param *p = npl_param_find(schema, setting->key);
	const char *copy = p ? npl_arena_strdup(arena, setting->value) : NULL;
	/* Where the user gave it is only said of a fault. */
	if (copy && !npl_params_parse(p, copy, config, "", npl_setting_code(setting), &(struct npl_err){0}))
		return 0;
	npl_setting_location(description, setting, location);
	if (!p)
		return unknown_key(schema, setting, location, err);
	if (!copy)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", location);
	return npl_params_parse(p, copy, config, location, npl_setting_code(setting), err);
}

int npl_params_read(const struct npl_param *schema, const struct npl_description *description, struct npl_arena *arena,
		    void *config, struct npl_err *err)
{
	for (const struct npl_param *p = schema; p && p->key; p++)
		if (p->default_text && npl_params_parse(p, p->default_text, config, p->key, NPL_EINTERNAL, err))
			return err->code;
	for (int i = 0; i < description->n_settings; i++)
		if (read_setting(schema, description, &description->setting[i], arena, config, err))
			return npl_setting_blame(&description->setting[i], err);
	return check_given(schema, description, err) || check_origins(schema, description, err) ? err->code : 0;
}

/* Says whether a dump can hold the text. YAML is UTF-8; names of files and arguments may be anything. */
static bool is_utf8(const char *text)
{
	for (size_t length; (length = npl_utf8_length(text));)
		text += length;
	return !*text;
}

static bool is_heading(const char *key)
{
	return !strcmp(key, "name") || !strcmp(key, "driver") || !strcmp(key, "model") || !strcmp(key, "description") ||
	       !strcmp(key, "copied_from");
}

/* Says whether a key of the file names what runs it; a machine may have `model:` or `driver:`, not both. */
static bool names_driver(struct npl_description *description, const char *key)
{
	const bool is_former = !strcmp(description->driver_or_model_key, "driver") && !strcmp(key, "model");
	if (description->driver_or_model || (!is_former && strcmp(key, description->driver_or_model_key)))
		return false;
	description->former_key = is_former;
	return true;
}

static void take_heading(const struct npl_setting *setting, const char **value, int *line)
{
	*value = setting->value;
	*line = setting->line;
}

static int load(const char *path, const char *key, struct npl_arena *arena, struct npl_description *description,
		struct npl_err *err)
{
	struct npl_setting *list;
	int n;
	*description = (struct npl_description){.path = npl_arena_strdup(arena, path), .driver_or_model_key = key};
	if (!description->path)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	if (npl_settings_load(path, arena, &list, &n, err))
		return err->code;
	description->setting = npl_arena_array(arena, (size_t)n + 1, sizeof *list);
	if (!description->setting)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
	for (int i = 0; i < n; i++) {
		if (!strcmp(list[i].key, "name"))
			take_heading(&list[i], &description->name, &description->line.name);
		else if (description->driver_or_model && !strcmp(key, "driver") &&
			 (!strcmp(list[i].key, "driver") || !strcmp(list[i].key, "model")))
			return npl_fail(err, NPL_EINPUT,
					"%s:%d: `%s:` after `%s:`, expected one of the two: they name the driver", path,
					list[i].line, list[i].key, description->former_key ? "model" : "driver");
		else if (names_driver(description, list[i].key))
			take_heading(&list[i], &description->driver_or_model, &description->line.driver_or_model);
		else if (!strcmp(list[i].key, "description"))
			description->description = list[i].value;
		else if (!strcmp(list[i].key, "copied_from"))
			take_heading(&list[i], &description->copied_from, &description->line.copied_from);
		else
			description->setting[description->n_settings++] = list[i];
	}
	if (!description->driver_or_model)
		return npl_fail(err, NPL_EINPUT, "%s: no `%s:` line, expected one that says what runs it", path, key);
	if (!description->name) {
		description->name = npl_path_stem(arena, path);
		if (!description->name)
			return npl_fail(err, NPL_ENOMEM, "%s: out of memory", path);
		if (!is_utf8(description->name))
			return npl_fail(err, NPL_EINPUT, "%s: the file's name is not UTF-8, expected a `name:` line",
					path);
	}
	return 0;
}

int npl_description_load(const char *path, const char *key, struct npl_arena *arena,
			 struct npl_description *description, struct npl_err *err)
{
	const int rc = load(path, key, arena, description, err);
	if (rc)
		err->in_file = true;
	return rc;
}

int npl_description_set(struct npl_description *description, struct npl_arena *arena, const char *key,
			const char *value, struct npl_err *err)
{
	const char *typed = npl_arena_printf(arena, "--set %s.%s=%s", description->name, key, value);
	const struct npl_setting setting = {.key = key, .value = value, .typed = typed};
	return typed ? npl_params_set(description, arena, &setting, err)
		     : npl_fail(err, NPL_ENOMEM, "out of memory for --set %s", key);
}

int npl_params_set(struct npl_description *description, struct npl_arena *arena, const struct npl_setting *setting,
		   struct npl_err *err)
{
	struct npl_setting *grown = npl_arena_array(arena, (size_t)description->n_settings + 1, sizeof *grown);
	const struct npl_setting added = {.key = npl_arena_strdup(arena, setting->key),
					  .value = npl_arena_strdup(arena, setting->value),
					  .typed = npl_arena_strdup(arena, setting->typed),
					  .from_file = setting->from_file,
					  .source = NPL_SOURCE_OWN};
	if (!grown || !added.key || !added.value || !added.typed)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %s", setting->typed);
	if (is_heading(added.key))
		return npl_fail(err, npl_setting_code(&added), "%s: the %s of a machine cannot be set", added.typed,
				added.key);
	if (!is_utf8(added.value))
		return npl_fail(err, npl_setting_code(&added), "%s: the value is not UTF-8, expected text in UTF-8",
				added.typed);
	if (description->n_settings)
		memcpy(grown, description->setting, (size_t)description->n_settings * sizeof *grown);
	grown[description->n_settings++] = added;
	description->setting = grown;
	return 0;
}

/* Says whether YAML reads the character back as it is. A control character or a line break reads back as a blank or
 * not at all, and U+FFFE and U+FFFF are no characters of YAML. */
static bool reads_back(uint32_t code)
{
	return npl_is_printable(code) && code != 0xfffe && code != 0xffff;
}

/* Says whether YAML reads the text back unchanged without quotes. */
static bool is_plain(const char *text)
{
	if (!*text || strpbrk(text, ":#\"'\\{}[],&*!|>%@`") || strchr("-? ", text[0]) || text[strlen(text) - 1] == ' ')
		return false;
	while (*text && reads_back(npl_utf8_code(text)))
		text += npl_utf8_length(text);
	return !*text;
}

/* Writes a text in UTF-8. */
static void put_quoted(FILE *out, const char *text)
{
	if (is_plain(text)) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (size_t length; (length = npl_utf8_length(text)); text += length) {
		const uint32_t code = npl_utf8_code(text);
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if (code < 0x100 && !reads_back(code))
			fprintf(out, "\\x%02x", (unsigned)code);
		else if (!reads_back(code))
			fprintf(out, "\\U%08x", (unsigned)code);
		else
			fwrite(text, 1, length, out);
	}
	fputc('"', out);
}

const char *npl_params_text(const struct npl_param *p, const void *config, char *buf, size_t n)
{
	const void *field = (const char *)config + p->offset;
	switch (p->type) {
	case NPL_PARAM_INT:
		snprintf(buf, n, "%lld", (long long)*(const int64_t *)field);
		return buf;
	case NPL_PARAM_DOUBLE:
		return npl_double_text(*(const double *)field, buf, n);
	case NPL_PARAM_CHOICE:
		return npl_params_choice_word(p->words, *(const int *)field, buf, n);
	default:
		return *(const char *const *)field;
	}
}

int npl_params_values(const struct npl_param *schema, const struct npl_description *description, const void *config,
		      struct npl_arena *arena, const struct npl_param_value **values, int *n)
{
	char buf[64];
	*n = npl_param_count(schema);
	struct npl_param_value *list = npl_arena_array(arena, (size_t)*n + 1, sizeof *list);
	*values = list;
	for (int i = 0; list && i < *n; i++) {
		const struct npl_param *p = &schema[i];
		list[i].key = p->key;
		list[i].is_number = p->type == NPL_PARAM_INT || p->type == NPL_PARAM_DOUBLE;
		list[i].unit = p->unit;
		list[i].source = description && description->source ? description->source[i] : NPL_SOURCE_DEFAULT;
		list[i].value = npl_arena_strdup(arena, npl_params_text(p, config, buf, sizeof buf));
		if (!list[i].value)
			return NPL_ENOMEM;
	}
	return list ? 0 : NPL_ENOMEM;
}

const char *npl_param_text(const struct npl_param_value *value, int n, const char *key)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(value[i].key, key))
			return value[i].value;
	return NULL;
}

double npl_param_number(const struct npl_param_value *value, int n, const char *key)
{
	const char *text = npl_param_text(value, n, key);
	return text ? strtod(text, NULL) : NAN;
}

/* Opens the mappings that key needs and the previous one had not opened: `array.rows` after `clock_hz` prints
 * "array:" first. Returns the indentation of the key itself. */
static int put_mappings(FILE *out, const char *key, const char *previous)
{
	int level = 0;
	bool is_same = true;
	const char *cursor = key;
	for (const char *dot; (dot = strchr(cursor, '.')); cursor = dot + 1, level++) {
		size_t length = (size_t)(dot - key) + 1;
		is_same = is_same && !strncmp(key, previous, length);
		if (!is_same)
			fprintf(out, "%*s%.*s:\n", 2 * level, "", (int)(dot - cursor), cursor);
	}
	return level;
}

char *npl_params_dump(const struct npl_param *schema, const struct npl_description *description, const void *config,
		      struct npl_arena *arena)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	fputs("name: ", out);
	put_quoted(out, description->name);
	fprintf(out, "\n%s: ", description->driver_or_model_key);
	put_quoted(out, description->driver_or_model);
	if (description->description) {
		fputs("\ndescription: ", out);
		put_quoted(out, description->description);
	}
	if (description->copied_from) {
		fputs("\ncopied_from: ", out);
		put_quoted(out, description->copied_from);
	}
	fputc('\n', out);
	if (description->source)
		fputs("# Numbers may have units: 24 MiB, 700 MHz, 34.1 GB/s, 6 us. Behind a value stands where it is "
		      "from;\n# what is changed here counts as your own.\n",
		      out);
	char buf[64];
	const char *previous = "";
	for (const struct npl_param *p = schema; p && p->key; p++) {
		int level = put_mappings(out, p->key, previous);
		const char *dot = strrchr(p->key, '.');
		fprintf(out, "%*s%s: ", 2 * level, "", dot ? dot + 1 : p->key);
		put_quoted(out, npl_params_text(p, config, buf, sizeof buf));
		const char *source = description->source ? npl_source_name(description->source[p - schema]) : "";
		fprintf(out, "  # %s%s%s%s%s\n", source, *source ? "; " : "", p->unit, *p->unit ? ": " : "", p->help);
		previous = p->key;
	}
	char *copy = fclose(out) ? NULL : npl_arena_strdup(arena, text);
	free(text);
	return copy;
}
