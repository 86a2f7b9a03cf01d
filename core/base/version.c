/* SPDX-License-Identifier: MIT
 *
 * The version and commit of the build; both macros come from the Makefile. */
#include "npulab/version.h"

#ifndef NPULAB_VERSION
#define NPULAB_VERSION "unknown"
#define NPULAB_COMMIT  "unknown"
#endif

const char *npl_version(void)
{
	return NPULAB_VERSION;
}

const char *npl_commit(void)
{
	return NPULAB_COMMIT;
}
