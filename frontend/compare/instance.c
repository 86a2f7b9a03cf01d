/* SPDX-License-Identifier: MIT
 *
 * Devices with settings of their own (instance.h). */
#include "instance.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/refuse.h"

/* Returns the '@' before the first setting, or the end of the text. */
static const char *settings_of(const char *text)
{
	static const char key[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	const char *cursor = strchr(text, '@');
	while (cursor && cursor[1 + strspn(cursor + 1, key)] != '=')
		cursor = strchr(cursor + 1, '@');
	return cursor ? cursor : text + strlen(text);
}

/* Refuses a key that the last of the instance's settings sets to another value than one before it. */
static int check_last(const struct instance *instance, const char *text, struct npl_err *err)
{
	const char *last = instance->set[instance->n_sets - 1];
	const size_t key = strcspn(last, "=");
	for (int i = 0; i < instance->n_sets - 1; i++)
		if (!strncmp(instance->set[i], last, key + 1) && strcmp(instance->set[i], last) != 0)
			return npl_fail(err, NPL_EUSAGE, "%s: %.*s is given twice, as '%s' and as '%s'", text, (int)key,
					last, instance->set[i] + key + 1, last + key + 1);
	return 0;
}

int instance_cut(const char *text, struct npl_arena *arena, struct instance *instance, struct npl_err *err)
{
	const char *cursor = settings_of(text);
	size_t max_sets = 1;
	/* A name has no '@' of its own; a path may. */
	if (!*cursor && strchr(text, '@') && !strchr(text, '/'))
		return npl_fail(err, NPL_EUSAGE, "%s: expected NAME@KEY=VALUE", text);
	for (const char *c = cursor; *c; c++)
		max_sets += *c == '@';
	const char **set = npl_arena_array(arena, max_sets, sizeof *set);
	*instance = (struct instance){.device = npl_arena_strndup(arena, text, (size_t)(cursor - text)), .set = set};
	bool ok = instance->device && set;
	while (ok && *cursor) {
		const char *next = settings_of(cursor + 1);
		set[instance->n_sets] = npl_arena_strndup(arena, cursor + 1, (size_t)(next - cursor - 1));
		ok = set[instance->n_sets] != NULL;
		if (ok && set[instance->n_sets][0] == '=')
			return npl_fail(err, NPL_EUSAGE, "%s: a setting without a key, expected NAME@KEY=VALUE", text);
		instance->n_sets++;
		if (ok && check_last(instance, text, err))
			return err->code;
		cursor = next;
	}
	if (ok && !*text)
		return npl_fail(err, NPL_EUSAGE, "the name of a device is empty, expected a name such as tpu_v1");
	if (ok && !*instance->device)
		return npl_fail(err, NPL_EUSAGE, "%s: no device before '@', expected NAME@KEY=VALUE", text);
	return ok ? 0 : npl_no_memory(err);
}

const char *instance_label(const char *machine, const char *text, struct npl_arena *arena)
{
	return npl_arena_printf(arena, "%s%s", machine, settings_of(text));
}
