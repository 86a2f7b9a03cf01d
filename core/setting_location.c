/* SPDX-License-Identifier: MIT
 *
 * Finds where the user gave the setting that is at fault (setting_location.h). */
#include "setting_location.h"

#include <stdio.h>
#include <string.h>

#include "core/files/words.h"

const char *npl_setting_location(const struct npl_description *description, const struct npl_setting *setting,
				 char text[NPL_SETTING_LOCATION])
{
	if (setting->typed)
		snprintf(text, NPL_SETTING_LOCATION, "%s", setting->typed);
	else
		snprintf(text, NPL_SETTING_LOCATION, "%s:%d", description->path ? description->path : description->name,
			 setting->line);
	return text;
}

const char *npl_setting_heading_location(const struct npl_description *description, int line,
					 char text[NPL_SETTING_LOCATION])
{
	snprintf(text, NPL_SETTING_LOCATION, line ? "%s:%d" : "%s", description->path, line);
	return text;
}

int npl_setting_code(const struct npl_setting *setting)
{
	return setting->typed && !setting->from_file ? NPL_EUSAGE : NPL_EINPUT;
}

int npl_setting_blame(const struct npl_setting *setting, struct npl_err *err)
{
	npl_blame_settings(err, NULL, setting->key);
	err->in_file = !setting->typed;
	return err->code;
}

/* Returns the first of these keys' settings that was typed, or that the file gives; NULL: there is none. */
static const struct npl_setting *find_given(const struct npl_description *description, const char *keys, bool is_typed)
{
	size_t length;
	for (const char *key; (key = npl_next_word(&keys, &length));)
		for (int i = description->n_settings; i-- > 0;) {
			const struct npl_setting *setting = &description->setting[i];
			if ((setting->typed != NULL) == is_typed && strlen(setting->key) == length &&
			    !strncmp(setting->key, key, length))
				return setting;
		}
	return NULL;
}

int npl_setting_locate_fault(const struct npl_description *description, struct npl_err *err)
{
	char location[NPL_SETTING_LOCATION];
	if (err->code != NPL_EUSAGE && err->code != NPL_EINPUT)
		return err->code;
	const struct npl_setting *setting = find_given(description, err->settings, true);
	if (!setting)
		setting = find_given(description, err->settings, false);
	if (err->code == NPL_EUSAGE)
		err->code = setting ? npl_setting_code(setting) : description->path ? NPL_EINPUT : NPL_EUSAGE;
	err->in_file = description->path != NULL;
	if (!setting)
		return npl_prefix(err, "%s", description->path ? description->path : description->name);
	npl_setting_blame(setting, err);
	return npl_prefix(err, "%s", npl_setting_location(description, setting, location));
}
