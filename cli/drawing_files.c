/* SPDX-License-Identifier: MIT
 *
 * Drawings as files of a folder (drawing_files.h). */
#include "drawing_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common.h"
#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/files/file.h"
#include "core/files/path.h"

/* Calls for the path of each file. */
static int for_files(const char *folder, const struct page_files *files,
		     int (*call)(const char *path, const struct page_file *file, struct npl_err *err),
		     struct npl_err *err)
{
	int rc = 0;
	for (int i = 0; i < files->n && !rc; i++) {
		char path[PATH_MAX];
		const int length = snprintf(path, sizeof path, "%s/%s", folder, files->file[i].name);
		if ((size_t)length >= sizeof path)
			rc = npl_fail(err, NPL_EOUTPUT, "%s: is too long for the path of a file", folder);
		else
			rc = call(path, &files->file[i], err);
	}
	return rc;
}

static int check(const char *path, const struct page_file *file, struct npl_err *err)
{
	(void)file;
	return npl_file_check_output(path, err);
}

static int write_one(const char *path, const struct page_file *file, struct npl_err *err)
{
	return cli_write(path, file->text, file->bytes, err);
}

int cli_check_drawings(const char *folder, const struct page_files *files, struct npl_err *err)
{
	struct stat status;
	if (stat(folder, &status)) /* a new folder is empty, but may be the name of another output */
		return errno == ENOENT ? npl_file_check_output(folder, err)
				       : npl_fail(err, NPL_EOUTPUT, "%s: cannot be read: %s", folder, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return npl_fail(err, NPL_EOUTPUT, "%s: is a file, expected a folder for the charts", folder);
	return for_files(folder, files, check, err);
}

int cli_write_drawings(const char *folder, const struct page_files *files, struct npl_err *err)
{
	if (mkdir(folder, 0777) && errno != EEXIST)
		return npl_fail(err, NPL_EOUTPUT, "%s: cannot be made: %s", folder, strerror(errno));
	return for_files(folder, files, write_one, err);
}

/* Returns the relative path from one folder to another; both are absolute. Allocated. */
static char *relative(const char *from, const char *to)
{
	size_t common = 0; /* up to a slash, or the end of either */
	for (size_t i = 0;; i++) {
		if ((!from[i] || from[i] == '/') && (!to[i] || to[i] == '/'))
			common = i;
		if (!from[i] || from[i] != to[i])
			break;
	}
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	for (const char *c = from + common; *c; c++)
		fputs(*c == '/' && c[1] ? "../" : "", out);
	fputs(to[common] ? to + common + 1 : ".", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

char *cli_folder_as_named_by(const char *path, const char *folder)
{
	const char *file = npl_path_file(path);
	char *beside = NULL, *named = NULL;
	if (cli_is_stdout(path))
		return strdup(folder);
	if (asprintf(&beside, "%.*s.", (int)(file - path), path) < 0)
		return NULL;
	char *from = realpath(beside, NULL), *to = realpath(folder, NULL);
	named = from && to ? relative(from, to) : strdup(folder);
	free(beside);
	free(from);
	free(to);
	return named;
}
