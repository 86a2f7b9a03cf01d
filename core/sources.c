/* SPDX-License-Identifier: MIT
 *
 * Where the values of a machine's parameters come from (params.h). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "core/files/data_names.h"
#include "core/files/words.h"
#include "npulab/result.h"
#include "origins.h"
#include "params_impl.h"
#include "setting_location.h"

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Returns the origin parameter beside a figure, or the parameter itself. */
static const struct npl_param *origin_of(const struct npl_param *schema, const struct npl_param *param)
{
	for (const struct npl_param *p = schema; p->key; p++)
		if (p->type == NPL_PARAM_ORIGIN &&
		    (p == param || (p->words && npl_word_index(p->words, param->key) >= 0)))
			return p;
	return NULL;
}

/* Returns the source that the shipped file gives. */
static enum npl_source shipped_source(const struct npl_description *shipped, const struct npl_param *schema,
				      const struct npl_param *param)
{
	const struct npl_param *origin_param = origin_of(schema, param);
	const struct npl_setting *origin = origin_param ? npl_description_setting(shipped, origin_param->key) : NULL;
	const struct npl_setting *setting = npl_description_setting(shipped, param->key);
	return !setting ? NPL_SOURCE_DEFAULT : origin ? npl_origin_source(origin->value) : setting->source;
}

/* Says whether the value in config is the one that the shipped file gives, or else the default. */
static bool is_as_shipped(const struct npl_description *shipped, const struct npl_param *param, const void *config)
{
	union {
		int64_t integer;
		double number;
		const char *text;
		int choice;
	} value;
	char a[64], b[64];
	struct npl_param value_param = *param;
	const struct npl_setting *setting = npl_description_setting(shipped, param->key);
	const char *text = setting ? setting->value : param->default_text;
	value_param.offset = 0;
	return text && !npl_params_parse(&value_param, text, &value, "", NPL_EINPUT, &(struct npl_err){0}) &&
	       !strcmp(npl_params_text(&value_param, &value, a, sizeof a), npl_params_text(param, config, b, sizeof b));
}

static enum npl_source source_of(const struct npl_description *description, const struct npl_param *schema,
				 const struct npl_param *param, const void *config,
				 const struct npl_description *shipped)
{
	if (!npl_description_setting(description, param->key))
		return NPL_SOURCE_DEFAULT;
	if (shipped && is_as_shipped(shipped, param, config))
		return shipped_source(shipped, schema, param);
	return NPL_SOURCE_OWN;
}

int npl_description_sources(struct npl_description *description, const struct npl_param *schema, const void *config,
			    const struct npl_description *shipped, struct npl_arena *arena, struct npl_err *err)
{
	const int n = npl_param_count(schema);
	enum npl_source *source = npl_arena_array(arena, (size_t)n + 1, sizeof *source);
	if (!source) {
		npl_no_memory(err);
		return npl_prefix_name(err, description->name);
	}
	for (int i = 0; i < n; i++)
		source[i] = source_of(description, schema, &schema[i], config, shipped);
	description->source = source;
	return 0;
}

enum npl_source npl_description_source(const struct npl_description *description, const struct npl_param *schema,
				       const char *key)
{
	const struct npl_param *param = npl_param_find(schema, key);
	return description->source && param ? description->source[param - schema] : NPL_SOURCE_DEFAULT;
}

/* Refuses a `copied_from:` that names no shipped file with this driver. `driver` is that of the shipped file with this
 * name; NULL: there is none. */
static int refuse_copied_from(const struct npl_description *description, const struct npl_shipped_files *files,
			      const char *driver, struct npl_arena *arena, struct npl_err *err)
{
	const char *const *names = NULL;
	const char *from = description->copied_from;
	char location[NPL_SETTING_LOCATION];
	int n = 0;
	npl_setting_heading_location(description, description->line.copied_from, location);
	if (driver)
		npl_fail(err, NPL_EINPUT, "%s: copied_from is '%s', a %s of the %s '%s', expected one of the %s '%s'",
			 location, from, files->noun, files->key, driver, files->key, description->driver_or_model);
	else if (npl_data_names(files->folder, NULL, 0, arena, &names, &n, err))
		return err->code;
	else
		npl_fail(err, NPL_EINPUT, "%s: copied_from is '%s', and no %s that ships has this name%s", location,
			 from, files->noun, NPL_NEAREST(from, names, n));
	err->in_file = true;
	return err->code;
}

int npl_description_find_shipped(const struct npl_description *description, const struct npl_shipped_files *files,
				 struct npl_arena *arena, struct npl_description *shipped, struct npl_err *err)
{
	char path[PATH_MAX + 300];
	const char *copied_from = description->copied_from, *name = copied_from ? copied_from : description->name;
	struct npl_err ignored = {0};
	bool ships = false;
	*shipped = (struct npl_description){0};
	if (strchr(name, '/') || npl_data_path(files->folder, name, path, sizeof path, &ships, &ignored) || !ships)
		return copied_from ? refuse_copied_from(description, files, NULL, arena, err) : 0;
	if (npl_description_load(path, files->key, arena, shipped, &ignored)) {
		*shipped = (struct npl_description){0};
	} else if (strcmp(shipped->driver_or_model, description->driver_or_model)) {
		if (copied_from)
			return refuse_copied_from(description, files, shipped->driver_or_model, arena, err);
		*shipped = (struct npl_description){0};
	}
	return 0;
}

const char *npl_description_left_out_note(const struct npl_description *description, const struct npl_param *schema,
					  const struct npl_former_default *former, const char *former_machine,
					  struct npl_arena *arena)
{
	const char *list = NULL;
	for (; former && former->key; former++) {
		const struct npl_param *p = schema;
		while (p->key && strcmp(p->key, former->key))
			p++;
		if (!p->key || npl_description_setting(description, p->key))
			continue;
		list = npl_arena_printf(arena, "%s%s%s (now %s, formerly %s)", list ? list : "", list ? ", " : "",
					p->key, p->default_text, former->value);
	}
	return list ? npl_arena_printf(
			      arena,
			      "its file leaves out %s: the former defaults were fitted to %s and are no longer "
			      "inherited; a line in the file or --set %s.KEY=VALUE brings one back",
			      list, former_machine, description->name)
		    : NULL;
}

/* Says whether the key begins with one of these words. */
static bool begins_with_word(const char *key, const char *words)
{
	size_t length;
	for (const char *word; (word = npl_next_word(&words, &length));)
		if (!strncmp(key, word, length))
			return true;
	return false;
}

static const char *append_key(const char *list, const char *key, struct npl_arena *arena)
{
	return npl_arena_printf(arena, "%s%s%s", list ? list : "", list ? ", " : "", key);
}

const char *npl_description_resized_note(const struct npl_description *description, const struct npl_param *schema,
					 const char *size_keys, const struct npl_description *shipped,
					 struct npl_arena *arena)
{
	const char *own_sizes = NULL, *fitted = NULL;
	bool energy = false;
	for (const struct npl_param *p = schema; size_keys && p->key; p++) {
		const enum npl_source source = npl_description_source(description, schema, p->key);
		if (source == NPL_SOURCE_OWN && begins_with_word(p->key, size_keys))
			own_sizes = append_key(own_sizes, p->key, arena);
		else if (source == NPL_SOURCE_FITTED)
			fitted = append_key(fitted, p->key, arena);
		energy |= starts_with(p->key, "energy.") && source != NPL_SOURCE_OWN && source != NPL_SOURCE_DEFAULT;
	}
	if (!own_sizes || !(fitted || energy))
		return NULL;
	return npl_arena_printf(
		arena, "with its own %s it keeps %s%s%s%s of %s, which go with that machine's sizes and clock",
		own_sizes, energy ? "the calibration of energies" : "", energy && fitted ? ", and " : "",
		fitted ? "the fitted " : "", fitted ? fitted : "", shipped->name);
}

#define MAX_LOST 4 /* keys that the note names */

const char *npl_description_lost_note(const struct npl_description *description, const struct npl_param *schema,
				      const void *config, const struct npl_description *shipped,
				      struct npl_arena *arena)
{
	const char *list = NULL;
	int n = 0;
	for (const struct npl_param *p = schema; p->key; p++)
		if (npl_description_setting(shipped, p->key) && !npl_description_setting(description, p->key) &&
		    !is_as_shipped(shipped, p, config) && n++ < MAX_LOST)
			list = append_key(list, p->key, arena);
	if (!list)
		return NULL;
	const char *suffix = n > MAX_LOST ? npl_arena_printf(arena, " and %d more", n - MAX_LOST) : "";
	return npl_arena_printf(arena,
				"its file is copied from %s and leaves out %s%s: these have the driver's defaults, not "
				"the values of %s",
				shipped->name, list, suffix ? suffix : "", shipped->name);
}

static const struct npl_param *param_named(const struct npl_param *schema, const char *key)
{
	while (schema->key && strcmp(schema->key, key) != 0)
		schema++;
	return schema->key ? schema : NULL;
}

/* Says whether the words have this one; the words "" are the empty text. */
static bool has_word(const char *words, const char *word)
{
	return *words ? npl_word_index(words, word) >= 0 : !*word;
}

const struct npl_param *npl_params_decided_by(const struct npl_param *schema,
					      const struct npl_param_condition *conditions,
					      const struct npl_param *param, const void *config)
{
	char text[64];
	const struct npl_param *origin = origin_of(schema, param);
	if (origin && origin != param && npl_origin_is_absent(npl_params_text(origin, config, text, sizeof text)))
		return origin;
	for (const struct npl_param_condition *c = conditions; c && c->keys; c++) {
		const struct npl_param *deciding_param = param_named(schema, c->deciding_key);
		if (!deciding_param || npl_word_index(c->keys, param->key) < 0)
			continue;
		const char *value = npl_params_text(deciding_param, config, text, sizeof text);
		if (c->effective_words ? !has_word(c->effective_words, value) : has_word(c->ineffective_words, value))
			return deciding_param;
	}
	return NULL;
}

/* Says whether the user chose the value: by --set, or in a file to neither the shipped value nor the default. */
static bool is_chosen(const struct npl_description *description, const struct npl_param *schema,
		      const struct npl_param *param, const void *config)
{
	const struct npl_setting *setting = npl_description_setting(description, param->key);
	return setting &&
	       (!setting->line || (npl_description_source(description, schema, param->key) == NPL_SOURCE_OWN &&
				   !is_as_shipped(&(struct npl_description){0}, param, config)));
}

const char *npl_description_without_effect_note(const struct npl_description *description,
						const struct npl_param *schema,
						const struct npl_param_condition *conditions, const void *config,
						struct npl_arena *arena)
{
	const char *note = NULL;
	char text[64];
	for (const struct npl_param *p = schema; p->key; p++) {
		const struct npl_param *deciding_param = is_chosen(description, schema, p, config)
								 ? npl_params_decided_by(schema, conditions, p, config)
								 : NULL;
		if (!deciding_param)
			continue;
		const char *value = npl_params_text(deciding_param, config, text, sizeof text);
		note = npl_arena_printf(arena, "%s%s%s has no effect while %s is %s", note ? note : "",
					note ? "; " : "", p->key, deciding_param->key, *value ? value : "empty");
	}
	return note;
}
