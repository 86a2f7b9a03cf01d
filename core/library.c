/* SPDX-License-Identifier: MIT
 *
 * Loading a library with its variables set; see library.h. */
#include "npulab/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_set(const char *variable)
{
	const char *value = variable ? getenv(variable) : NULL;
	return value && *value;
}

enum { UNTOUCHED, WAS_UNSET, WAS_EMPTY };

static int set_variable(const struct npl_library_setting *setting)
{
	if (!setting->value || is_set(setting->variable) || is_set(setting->unless))
		return UNTOUCHED;
	int before = getenv(setting->variable) ? WAS_EMPTY : WAS_UNSET;
	return setenv(setting->variable, setting->value, 1) ? UNTOUCHED : before;
}

static void restore_variable(const struct npl_library_setting *setting, int before)
{
	if (before == WAS_EMPTY)
		setenv(setting->variable, "", 1);
	else if (before == WAS_UNSET)
		unsetenv(setting->variable);
}

void *npl_library_open(const char *soname, const struct npl_library_setting *setting, int n)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	int before[NPL_LIBRARY_SETTINGS];
	pthread_mutex_lock(&one_at_a_time);
	for (int i = 0; i < n && i < NPL_LIBRARY_SETTINGS; i++)
		before[i] = set_variable(&setting[i]);
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	for (int i = 0; i < n && i < NPL_LIBRARY_SETTINGS; i++)
		restore_variable(&setting[i], before[i]);
	pthread_mutex_unlock(&one_at_a_time);
	return library;
}
