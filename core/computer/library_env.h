/* SPDX-License-Identifier: MIT
 *
 * Shared libraries that read the environment once, while they are loaded (OpenBLAS its kernel family, OpenMP how long
 * its threads wait): npulab sets the variables that the user has not set.
 */
#ifndef NPULAB_CORE_COMPUTER_LIBRARY_ENV_H
#define NPULAB_CORE_COMPUTER_LIBRARY_ENV_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npl_library_setting {
	const char *variable, *value;     /* value NULL: leave it as it is */
	const char *alternative_variable; /* another variable with which the user may have chosen; or NULL */
	/* The variable is set even where the user has set it, because the library could not run with the user's value.
	 * It is removed if value is NULL. */
	bool overrides_user;
};

#define NPL_LIBRARY_SETTINGS 4 /* the most settings */

/* Opens a library by dlopen, with the variables set during the call, and keeps it until the process ends. Variables
 * that the user has set (an empty value counts as unset) are left, unless `overrides_user` is set. Afterwards the
 * environment is as before; meanwhile no other thread may read or write it except through this function. NULL: dlerror
 * has the reason. */
void *npl_library_open(const char *soname, const struct npl_library_setting *setting, int n);

#ifdef __cplusplus
}
#endif

#endif
