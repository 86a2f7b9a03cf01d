/* SPDX-License-Identifier: MIT
 *
 * Finds the folders that are cases (npulab/conformance.h). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "impl.h"

#define NO_DATA "no test_data_set_0/ beside its model.onnx"
#define NO_CASE "holds no case: expected model.onnx and test_data_set_0/, or folders with these"

struct case_list {
	struct npl_case *item;
	int n, cases; /* n: all that are listed; cases: those that can be run */
	int64_t capacity;
};

enum kind { NOTHING, MODEL_ALONE, CASE };

static enum kind kind_of(const char *path)
{
	char *model = NULL;
	int n = 0;
	bool yes = asprintf(&model, "%s/model.onnx", path) >= 0 && !access(model, F_OK);
	int *numbers = yes ? npl_data_set_numbers(path, &n) : NULL;
	free(model);
	free(numbers);
	return n > 0 ? CASE : yes ? MODEL_ALONE : NOTHING;
}

/* Returns the length of a path without the slashes at its end; "/" keeps its own. */
static size_t length_of(const char *path)
{
	size_t end = strlen(path);
	while (end > 1 && path[end - 1] == '/')
		end--;
	return end;
}

/* Returns the last part of a path; "." is replaced by the name of the folder. */
static char *last_part(struct npl_arena *arena, const char *path)
{
	size_t end = length_of(path), start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	return npl_arena_strndup(arena, path + start, end - start);
}

/* Adds a case. reason: the reason why it cannot be run; NULL: it can. */
static int add(struct npl_conformance *conformance, struct case_list *list, const char *path, const char *reason,
	       struct npl_err *err)
{
	struct npl_case *grown = npl_grow(list->item, list->n, &list->capacity, sizeof *grown);
	list->item = grown ? grown : list->item;
	struct npl_case new_case = {.name = last_part(&conformance->arena, path),
				    .path = npl_arena_strndup(&conformance->arena, path, length_of(path)),
				    .status = reason ? NPL_CASE_UNSUPPORTED : NPL_CASE_PASSED,
				    .reason = reason};
	if (!grown || !new_case.name || !new_case.path)
		return npl_no_memory(err);
	grown[list->n++] = new_case;
	list->cases += !reason;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct npl_case *)a)->name, ((const struct npl_case *)b)->name);
}

static int search(const char *dir, struct npl_conformance *conformance, struct case_list *list, struct npl_err *err)
{
	int first = list->n, rc = 0;
	DIR *directory = opendir(dir);
	if (!directory && errno == ENOTDIR) /* a file, which a wildcard names too */
		return add(conformance, list, dir, "no folder, but a file", err);
	if (!directory)
		return npl_fail(err, NPL_EINPUT, "%s: cannot be opened: %s", dir, strerror(errno));
	enum kind kind = kind_of(dir);
	if (kind != NOTHING) {
		closedir(directory);
		return add(conformance, list, dir, kind == CASE ? NULL : NO_DATA, err);
	}
	const int length = (int)length_of(dir);
	for (struct dirent *entry; !rc && (entry = readdir(directory));) {
		char *path = NULL;
		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&path, "%.*s%s%s", length, dir, length && dir[length - 1] == '/' ? "" : "/",
			     entry->d_name) < 0)
			rc = npl_no_memory(err);
		else if ((kind = kind_of(path)) != NOTHING)
			rc = add(conformance, list, path, kind == CASE ? NULL : NO_DATA, err);
		free(path);
	}
	closedir(directory);
	if (!rc && list->n == first)
		return add(conformance, list, dir, NO_CASE, err);
	if (!rc)
		qsort(list->item + first, (size_t)(list->n - first), sizeof *list->item, by_name);
	return rc;
}

int npl_cases_find(const char *const *dirs, int n_dirs, struct npl_conformance *conformance, struct npl_err *err)
{
	struct case_list list = {0};
	int rc = 0;
	for (int i = 0; i < n_dirs && !rc; i++)
		rc = search(dirs[i], conformance, &list, err);
	if (!rc && !list.cases)
		rc = npl_fail(err, NPL_EINPUT, "%s%s: %s", n_dirs ? dirs[0] : "nothing",
			      n_dirs > 1 ? " and the others" : "", list.n == 1 ? list.item[0].reason : NO_CASE);
	conformance->cases = rc ? NULL : npl_arena_array(&conformance->arena, (size_t)list.n + 1, sizeof *list.item);
	if (!rc && !conformance->cases)
		rc = npl_no_memory(err);
	if (!rc && list.n)
		memcpy(conformance->cases, list.item, (size_t)list.n * sizeof *list.item);
	conformance->n_cases = rc ? 0 : list.n;
	free(list.item);
	return rc;
}
