/* SPDX-License-Identifier: MIT
 *
 * Loading a library with its variables set; see library_env.h. */
#include "library_env.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_set(const char *variable)
{
	const char *value = variable ? getenv(variable) : NULL;
	return value && *value;
}

/* A variable as it was before it was touched. */
struct before {
	bool touched;
	char *value; /* NULL: it was unset */
};

static struct before set_variable(const struct npl_library_setting *setting)
{
	const bool chosen = is_set(setting->variable) || is_set(setting->unless);
	if (setting->always ? !chosen && !setting->value : chosen || !setting->value)
		return (struct before){0};
	const char *value = getenv(setting->variable);
	struct before before = {.touched = true, .value = value ? strdup(value) : NULL};
	if (value && !before.value)
		return (struct before){0};
	if (setting->value)
		setenv(setting->variable, setting->value, 1);
	else
		unsetenv(setting->variable);
	return before;
}

static void restore_variable(const struct npl_library_setting *setting, struct before *before)
{
	if (before->value)
		setenv(setting->variable, before->value, 1);
	else if (before->touched)
		unsetenv(setting->variable);
	free(before->value);
}

void *npl_library_open(const char *soname, const struct npl_library_setting *setting, int n)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct before before[NPL_LIBRARY_SETTINGS];
	pthread_mutex_lock(&one_at_a_time);
	for (int i = 0; i < n && i < NPL_LIBRARY_SETTINGS; i++)
		before[i] = set_variable(&setting[i]);
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	for (int i = 0; i < n && i < NPL_LIBRARY_SETTINGS; i++)
		restore_variable(&setting[i], &before[i]);
	pthread_mutex_unlock(&one_at_a_time);
	return library;
}
