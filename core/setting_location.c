/* SPDX-License-Identifier: MIT
 *
 * Finds the setting that a message is about (setting_location.h). */
#include "setting_location.h"

#include <stdio.h>
#include <string.h>

const char *npl_setting_location(const struct npl_description *machine, const struct npl_setting *setting,
				 char text[NPL_SETTING_LOCATION])
{
	if (setting->typed)
		snprintf(text, NPL_SETTING_LOCATION, "%s", setting->typed);
	else
		snprintf(text, NPL_SETTING_LOCATION, "%s:%d", machine->path ? machine->path : machine->name,
			 setting->line);
	return text;
}

const char *npl_setting_heading_location(const struct npl_description *machine, int line,
					 char text[NPL_SETTING_LOCATION])
{
	snprintf(text, NPL_SETTING_LOCATION, line ? "%s:%d" : "%s", machine->path, line);
	return text;
}

int npl_setting_code(const struct npl_setting *setting)
{
	return setting->typed ? NPL_EUSAGE : NPL_EINPUT;
}

/* Returns the setting of a key of `length` characters, or of one that ends with ".KEY". NULL: it is not given, or not
 * in this way. */
static const struct npl_setting *find(const struct npl_description *machine, const char *key, size_t length,
				      bool is_typed, bool is_whole)
{
	for (int i = machine->n_settings; i-- > 0;) {
		const struct npl_setting *setting = &machine->setting[i];
		const char *dot = strrchr(setting->key, '.');
		const char *name = is_whole || !dot ? setting->key : dot + 1;
		if (!strncmp(name, key, length) && !name[length] && (setting->typed != NULL) == is_typed)
			return setting;
	}
	return NULL;
}

/* Returns the first setting that the message names; NULL: it names none. */
static const struct npl_setting *find_named(const struct npl_description *machine, const char *message, bool is_typed,
					    bool is_whole)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	for (const char *at = message; *at;) {
		size_t length = strspn(at, letters);
		const char *end = at + length;
		while (length && at[length - 1] == '.') /* the end of a sentence */
			length--;
		const struct npl_setting *setting = length ? find(machine, at, length, is_typed, is_whole) : NULL;
		if (setting)
			return setting;
		at = *end ? end + 1 : end;
	}
	return NULL;
}

int npl_setting_locate_fault(const struct npl_description *machine, struct npl_err *err)
{
	static const struct {
		bool is_typed, is_whole;
	} passes[] = {{true, true}, {false, true}, {true, false}, {false, false}};
	const struct npl_setting *setting = NULL;
	char location[NPL_SETTING_LOCATION];
	if (err->code != NPL_EUSAGE && err->code != NPL_EINPUT)
		return err->code;
	for (size_t i = 0; i < sizeof passes / sizeof *passes && !setting; i++)
		setting = find_named(machine, err->msg, passes[i].is_typed, passes[i].is_whole);
	if (err->code == NPL_EUSAGE)
		err->code = setting ? npl_setting_code(setting) : machine->path ? NPL_EINPUT : NPL_EUSAGE;
	if (setting)
		return npl_prefix(err, "%s", npl_setting_location(machine, setting, location));
	return npl_prefix(err, "%s", machine->path ? machine->path : machine->name);
}
