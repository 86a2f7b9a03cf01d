/* SPDX-License-Identifier: MIT
 *
 * Names of the YAML files in the data folders (data_names.h). */
#include "data_names.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/refuse.h"

#define SUFFIX        ".yaml"
#define SUFFIX_LENGTH (sizeof SUFFIX - 1)

/* Returns the length of a file's name without the suffix. 0: it has another suffix, or nothing before it. */
static size_t stem_of(const char *file)
{
	const size_t length = strlen(file);
	return length > SUFFIX_LENGTH && !strcmp(file + length - SUFFIX_LENGTH, SUFFIX) ? length - SUFFIX_LENGTH : 0;
}

bool npl_is_yaml_path(const char *word)
{
	return strchr(word, '/') || stem_of(word);
}

size_t npl_data_name_length(const char *name)
{
	static const char key[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	for (const char *at = strchr(name, '@'); at; at = strchr(at + 1, '@'))
		if (at[1 + strspn(at + 1, key)] == '=' && at[1] != '=')
			return (size_t)(at - name);
	return strlen(name);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the names in a folder behind the first ones. A file that appears between the two passes over the folder is left
 * out. */
static int list_names(DIR *dir, const char *const *first, int n_first, struct npl_arena *arena,
		      const char *const **names, int *n, struct npl_err *err)
{
	int capacity = n_first;
	for (struct dirent *entry; (entry = readdir(dir));)
		capacity += stem_of(entry->d_name) > 0;
	rewinddir(dir);
	const char **name_list = npl_arena_array(arena, (size_t)capacity, sizeof *name_list);
	if (!name_list)
		return npl_no_memory(err);
	for (*n = 0; *n < n_first; ++*n)
		name_list[*n] = first[*n];
	for (struct dirent *entry; *n < capacity && (entry = readdir(dir));) {
		const size_t length = stem_of(entry->d_name);
		if (!length)
			continue;
		name_list[*n] = npl_arena_strndup(arena, entry->d_name, length);
		if (!name_list[(*n)++])
			return npl_no_memory(err);
	}
	qsort(name_list + n_first, (size_t)(*n - n_first), sizeof *name_list, compare_names);
	*names = name_list;
	return 0;
}

int npl_data_names(const char *kind, const char *const *first, int n_first, struct npl_arena *arena,
		   const char *const **names, int *n, struct npl_err *err)
{
	char folder[PATH_MAX];
	if (npl_data_dir(kind, folder, sizeof folder, err))
		return err->code;
	DIR *dir = opendir(folder);
	if (!dir)
		return npl_fail(err, NPL_EINPUT, "%s: cannot be listed: %s", folder, strerror(errno));
	const int rc = list_names(dir, first, n_first, arena, names, n, err);
	closedir(dir);
	return rc;
}

int npl_data_path(const char *kind, const char *name, char *path, size_t n, bool *exists, struct npl_err *err)
{
	char folder[PATH_MAX];
	*exists = false;
	if (npl_data_dir(kind, folder, sizeof folder, err))
		return err->code;
	*exists = snprintf(path, n, "%s/%s" SUFFIX, folder, name) < (int)n && !access(path, F_OK);
	return 0;
}

int npl_data_csv(const char *kind, const char *file, struct npl_arena *arena, struct npl_csv *csv, struct npl_err *err)
{
	char folder[PATH_MAX];
	if (npl_data_dir(kind, folder, sizeof folder, err))
		return err->code;
	const char *path = npl_arena_printf(arena, "%s/%s", folder, file);
	return path ? npl_csv_load(path, arena, csv, err) : npl_no_memory(err);
}
