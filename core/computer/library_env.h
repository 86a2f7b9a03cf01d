/* SPDX-License-Identifier: MIT
 *
 * Shared libraries that read the environment once, while they are loaded (OpenBLAS its kernel family, OpenMP how long
 * its threads wait): npulab chooses for them what the user has not chosen.
 */
#ifndef NPULAB_CORE_COMPUTER_LIBRARY_ENV_H
#define NPULAB_CORE_COMPUTER_LIBRARY_ENV_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npl_library_setting {
	const char *variable, *value; /* value NULL: leave it as it is */
	const char *unless; /* another variable that, when set, also means that the user has chosen; or NULL */
	/* instead of what the user has set, which the library could not run with; value NULL: as if it were unset */
	bool always;
};

#define NPL_LIBRARY_SETTINGS 4 /* at most */

/* dlopen(soname) that keeps the library until the process ends, with the variables set for as long as it takes, except
 * those that the user has set (an empty value counts as unset) and that are not to be set always. The environment is as
 * before afterwards; no other thread may read or write it meanwhile, unless through this function. NULL: dlerror tells
 * why. */
void *npl_library_open(const char *soname, const struct npl_library_setting *setting, int n);

#ifdef __cplusplus
}
#endif

#endif
