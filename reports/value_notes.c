/* SPDX-License-Identifier: MIT
 *
 * Notes on faults of values (value_notes.h). */
#include "value_notes.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/message.h"

#define LAYERS_NAMED 3 /* layers named of those whose sums wrapped: the JSON has all */

static bool counts_wraps(const struct npl_device_info *info)
{
	return info->format != NPL_FORMAT_F32 && info->kind != NPL_KIND_GPU && info->kind != NPL_KIND_NULL;
}

bool npl_report_counts_wraps(const struct npl_device_report *report)
{
	bool counts = counts_wraps(&report->info);
	for (int i = 0; i < report->n_parts; i++)
		counts = counts || counts_wraps(&report->part[i].info);
	return counts;
}

/* Writes the setting that keeps sums within their bits, and what it does: that of the device, or of the first part of a
 * placement that has one. */
static void put_remedy(char *text, size_t size, const struct npl_device_report *r)
{
	const struct npl_device_info *info = &r->info;
	const char *name = r->name;
	for (int i = r->n_parts; i-- > 0;) {
		if (r->part[i].info.wrap_setting) {
			info = &r->part[i].info;
			name = r->part[i].instance;
		}
	}
	if (info->wrap_setting)
		snprintf(text, size, "--set %s.%s %s", name, info->wrap_setting, info->wrap_setting_effect);
	else
		snprintf(text, size, "float32 holds sums of any length: --devices cpu");
}

static void note_wrapped(FILE *note, const struct npl_comparison *c, const struct npl_device_report *r)
{
	char names[200] = "", remedy[160];
	int layers = 0;
	if (!r->run.overflows)
		return;
	for (int i = 0; i < r->run.n_layers; i++) {
		const struct npl_layer_run *row = &r->run.layer[i];
		if (!row->result.overflows || ++layers > LAYERS_NAMED)
			continue;
		npl_append(names, sizeof names, ", ", "%.50s", c->graph->node[row->node].name);
	}
	put_remedy(remedy, sizeof remedy, r);
	fprintf(note,
		"; %" PRIu64 " sum%s of products wrapped around, in %d layer%s (%s%s): the value is too great for the "
		"sum's bits, and the result is wrong; %s",
		r->run.overflows, npl_plural(r->run.overflows), layers, npl_plural(layers), names,
		layers > LAYERS_NAMED ? "..." : "", remedy);
}

static void note_not_finite(FILE *note, const struct npl_device_report *r)
{
	const struct npl_accuracy *a = &r->accuracy;
	if (a->not_finite)
		fprintf(note, "; %" PRIu64 " result%s infinite or NaN where float32 is finite", a->not_finite,
			a->not_finite == 1 ? " is" : "s are");
	if (a->reference_not_finite)
		fprintf(note, "; %" PRIu64 " result%s infinite or NaN in float32 already%s", a->reference_not_finite,
			a->reference_not_finite == 1 ? " is" : "s are",
			a->not_finite ? "" : ", from which there is no error");
}

void npl_value_notes(FILE *note, const struct npl_comparison *c, const struct npl_device_report *r)
{
	if (!c->timing_only)
		note_wrapped(note, c, r);
	note_not_finite(note, r);
}
