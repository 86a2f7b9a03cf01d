/* SPDX-License-Identifier: MIT
 *
 * Runs all cases and sums up their results (npulab/conformance.h). */
#include "npulab/conformance.h"
#include "npulab/progress.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "frontend/graph/names.h"
#include "impl.h"

#define RTOL 1e-3 /* onnx/backend/test/runner */
#define ATOL 1e-7

const char *npl_case_status_name(enum npl_case_status status)
{
	static const char *const names[] = {"passed", "failed", "unsupported"};
	_Static_assert(sizeof names / sizeof *names == NPL_CASE_STATUSES, "each status has a name");
	return status < NPL_CASE_STATUSES ? names[status] : "?";
}

/* Sorts missing operators: by the cases that each would open, then by the cases that have it, then by name. */
static int by_use(const void *a, const void *b)
{
	const struct npl_missing_operator *x = a, *y = b;
	if (x->only_missing != y->only_missing)
		return x->only_missing > y->only_missing ? -1 : 1;
	if (x->cases != y->cases)
		return x->cases > y->cases ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int count_missing(struct npl_conformance *c, struct npl_err *err)
{
	struct graph_names names = {0};
	size_t most = 0;
	int rc = 0;
	for (int i = 0; i < c->n_cases; i++)
		most += (size_t)c->cases[i].n_missing;
	c->missing = npl_arena_array(&c->arena, most + 1, sizeof *c->missing);
	if (!c->missing)
		return npl_no_memory(err);
	for (int i = 0; i < c->n_cases && !rc; i++)
		for (int k = 0; k < c->cases[i].n_missing && !rc; k++) {
			const char *name = c->cases[i].missing[k];
			int index = graph_names_find(&names, name);
			if (index < 0) {
				index = c->n_missing++;
				c->missing[index].name = name;
				rc = graph_names_add(&names, name, index);
			}
			c->missing[index].cases++;
			c->missing[index].only_missing += c->cases[i].n_missing == 1;
		}
	graph_names_free(&names);
	qsort(c->missing, (size_t)c->n_missing, sizeof *c->missing, by_use);
	return rc ? npl_no_memory(err) : 0;
}

/* Says whether the device is the float reference, which is the reference kernels themselves. */
static bool is_reference(const struct npl_device *device)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	return info->kind == NPL_KIND_REFERENCE && info->format == NPL_FORMAT_F32;
}

int npl_conformance_run(const char *const *dirs, int n_dirs, const struct npl_conformance_options *options,
			struct npl_conformance *c, struct npl_err *err)
{
	struct npl_conformance_options options_used = options ? *options : (struct npl_conformance_options){0};
	options_used.rtol = options_used.rtol > 0 ? options_used.rtol : RTOL;
	options_used.atol = options_used.atol > 0 ? options_used.atol : ATOL;
	*c = (struct npl_conformance){0};
	if (options_used.device && npl_device_get_info(options_used.device)->kind == NPL_KIND_NULL)
		return npl_fail(err, NPL_EUSAGE, "%s computes no values, so there is nothing to check",
				npl_device_name(options_used.device));
	if (options_used.device && is_reference(options_used.device))
		options_used.device = NULL;
	int rc = npl_cases_find(dirs, n_dirs, c, err);
	if (!rc && options_used.device &&
	    !(c->device = npl_arena_strdup(&c->arena, npl_device_name(options_used.device))))
		rc = npl_no_memory(err);
	for (int i = 0; i < c->n_cases && !rc; i++) {
		npl_progress_part(c->cases[i].name, "case", i + 1, c->n_cases);
		if (!c->cases[i].reason) /* the case can be run */
			rc = npl_case_run(&c->cases[i], &options_used, &c->arena, err);
		c->count[c->cases[i].status]++;
	}
	if (!rc)
		rc = count_missing(c, err);
	if (rc)
		npl_conformance_free(c);
	return rc;
}

void npl_conformance_free(struct npl_conformance *c)
{
	npl_arena_free(&c->arena);
	*c = (struct npl_conformance){0};
}
