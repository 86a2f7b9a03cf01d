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
	static const char *const names[NPL_CASE_STATUSES] = {"passed", "failed", "unsupported"};
	return status < NPL_CASE_STATUSES ? names[status] : "?";
}

/* Sorts missing operators: by the cases that each would open, then by the cases that have it, then by name. */
static int by_use(const void *a, const void *b)
{
	const struct npl_missing_operator *x = a, *y = b;
	if (x->opens != y->opens)
		return x->opens > y->opens ? -1 : 1;
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
		most += (size_t)c->item[i].n_missing;
	c->missing = npl_arena_array(&c->arena, most + 1, sizeof *c->missing);
	if (!c->missing)
		return npl_no_memory(err);
	for (int i = 0; i < c->n_cases && !rc; i++)
		for (int k = 0; k < c->item[i].n_missing && !rc; k++) {
			const char *name = c->item[i].missing[k];
			int at = graph_names_find(&names, name);
			if (at < 0) {
				at = c->n_missing++;
				c->missing[at].name = name;
				rc = graph_names_add(&names, name, at);
			}
			c->missing[at].cases++;
			c->missing[at].opens += c->item[i].n_missing == 1;
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
	struct npl_conformance_options how = options ? *options : (struct npl_conformance_options){0};
	how.rtol = how.rtol > 0 ? how.rtol : RTOL;
	how.atol = how.atol > 0 ? how.atol : ATOL;
	*c = (struct npl_conformance){0};
	if (how.device && npl_device_get_info(how.device)->kind == NPL_KIND_NULL)
		return npl_fail(err, NPL_EUSAGE, "%s computes no values, so there is nothing to check",
				npl_device_name(how.device));
	if (how.device && is_reference(how.device))
		how.device = NULL;
	int rc = npl_cases_find(dirs, n_dirs, c, err);
	if (!rc && how.device && !(c->device = npl_arena_strdup(&c->arena, npl_device_name(how.device))))
		rc = npl_no_memory(err);
	for (int i = 0; i < c->n_cases && !rc; i++) {
		npl_progress_part(c->item[i].name, "case", i + 1, c->n_cases);
		if (!c->item[i].reason) /* the case can be run */
			rc = npl_case_run(&c->item[i], &how, &c->arena, err);
		c->count[c->item[i].status]++;
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
