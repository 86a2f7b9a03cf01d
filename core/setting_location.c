/* SPDX-License-Identifier: MIT
 *
 * Finds the setting that a message is about (setting_location.h). */
#include "setting_location.h"

#include <stdio.h>
#include <string.h>

const char *setting_location(const struct npl_description *machine, const struct npl_setting *setting,
			     char text[SETTING_LOCATION])
{
	if (setting->typed)
		snprintf(text, SETTING_LOCATION, "%s", setting->typed);
	else
		snprintf(text, SETTING_LOCATION, "%s:%d", machine->path ? machine->path : machine->name, setting->line);
	return text;
}

const char *setting_heading_location(const struct npl_description *machine, int line, char text[SETTING_LOCATION])
{
	snprintf(text, SETTING_LOCATION, line ? "%s:%d" : "%s", machine->path, line);
	return text;
}

int setting_code(const struct npl_setting *setting)
{
	return setting->typed ? NPL_EUSAGE : NPL_EINPUT;
}

/* Returns the setting of a key of `length` characters, or of one that ends with ".KEY". NULL: it is not given, or not in
 * this way. */
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

int setting_locate_fault(const struct npl_description *machine, struct npl_err *err)
{
	const struct npl_setting *setting = NULL;
	char location[SETTING_LOCATION];
	if (err->code != NPL_EUSAGE && err->code != NPL_EINPUT)
		return err->code;
	for (int i = 0; i < 4 && !setting; i++)
		setting = find_named(machine, err->msg, i % 2 == 0, i < 2);
	if (err->code == NPL_EUSAGE)
		err->code = setting ? setting_code(setting) : machine->path ? NPL_EINPUT : NPL_EUSAGE;
	if (setting)
		return npl_prefix(err, "%s", setting_location(machine, setting, location));
	return npl_prefix(err, "%s", machine->path ? machine->path : machine->name);
}
