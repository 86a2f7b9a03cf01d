/* SPDX-License-Identifier: MIT
 *
 * Finds the program's data: in the source tree when run from a build, under share/npulab when installed. */
#include "data_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef NPULAB_DATADIR
#define NPULAB_DATADIR "/usr/local/share/npulab"
#endif

static bool is_folder(const char *path)
{
	struct stat status;
	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* Finds the data root that belongs to the running program: PREFIX/bin/npulab has PREFIX/share/npulab; build/npulab,
 * build/asan/npulab and build/tests/x have a source tree one to three folders up. */
static bool find_beside_program(const char *kind, char *path, size_t n)
{
	static const char *const roots[] = {"../share/npulab", "..", "../..", "../../.."};
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		return false;
	program[length] = '\0';
	char *slash = strrchr(program, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		if (snprintf(path, n, "%s/%s/%s", program, roots[i], kind) >= (int)n || !is_folder(path))
			continue;
		/* A folder called `models` above the build may be any; npulab's has the machines beside it. */
		char machines[PATH_MAX + 64];
		snprintf(machines, sizeof machines, "%s/%s/machines/tpu_v1.yaml", program, roots[i]);
		char real[PATH_MAX];
		if (access(machines, R_OK) || !realpath(path, real) || strlen(real) >= n)
			continue;
		snprintf(path, n, "%s", real);
		return true;
	}
	return false;
}

int npl_data_dir(const char *kind, char *path, size_t n, struct npl_err *err)
{
	const char *folder = getenv("NPULAB_DATA");
	if (folder && *folder) {
		if (snprintf(path, n, "%s/%s", folder, kind) < (int)n && is_folder(path))
			return 0;
		return npl_fail(err, NPL_EINPUT, "NPULAB_DATA is '%s', which has no folder '%s'", folder, kind);
	}
	if (find_beside_program(kind, path, n))
		return 0;
	if (snprintf(path, n, "%s/%s", NPULAB_DATADIR, kind) < (int)n && is_folder(path))
		return 0;
	return npl_fail(err, NPL_EINPUT,
			"the folder '%s' was found neither beside the program nor in %s; set NPULAB_DATA to its parent",
			kind, NPULAB_DATADIR);
}
