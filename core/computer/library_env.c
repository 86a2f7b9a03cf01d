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
struct saved_variable {
	bool touched;
	char *value; /* NULL: it was unset */
};

static struct saved_variable set_variable(const struct npl_library_setting *setting)
{
	const bool chosen = is_set(setting->variable) || is_set(setting->alternative_variable);
	if (setting->overrides_user ? !chosen && !setting->value : chosen || !setting->value)
		return (struct saved_variable){0};
	const char *value = getenv(setting->variable);
	struct saved_variable saved_variable = {.touched = true, .value = value ? strdup(value) : NULL};
	if (value && !saved_variable.value)
		return (struct saved_variable){0};
	if (setting->value)
		setenv(setting->variable, setting->value, 1);
	else
		unsetenv(setting->variable);
	return saved_variable;
}

static void restore_variable(const struct npl_library_setting *setting, struct saved_variable *saved_variable)
{
	if (saved_variable->value)
		setenv(setting->variable, saved_variable->value, 1);
	else if (saved_variable->touched)
		unsetenv(setting->variable);
	free(saved_variable->value);
}

void *npl_library_open(const char *soname, const struct npl_library_setting *setting, int n)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct saved_variable saved_variable[NPL_LIBRARY_SETTINGS];
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n && i < NPL_LIBRARY_SETTINGS; i++)
		saved_variable[i] = set_variable(&setting[i]);
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	for (int i = 0; i < n && i < NPL_LIBRARY_SETTINGS; i++)
		restore_variable(&setting[i], &saved_variable[i]);
	pthread_mutex_unlock(&lock);
	return library;
}
