/* SPDX-License-Identifier: MIT
 *
 * Notes on values that went wrong (value_notes.h). */
#include "value_notes.h"

#include <inttypes.h>
#include <string.h>

#include "npulab/text.h"

#define LAYERS_NAMED 3 /* of those whose sums wrapped: the JSON has all */

static bool counts_wraps(const struct npl_device_info *info)
{
	return info->format != NPL_FORMAT_F32 && (info->kind == NPL_KIND_SIMULATED || info->kind == NPL_KIND_REFERENCE);
}

bool npl_report_counts_wraps(const struct npl_device_report *report)
{
	bool counts = counts_wraps(&report->info);
	for (int i = 0; i < report->n_parts; i++)
		counts = counts || counts_wraps(&report->part[i].info);
	return counts;
}

static bool has_format(const struct npl_device_report *r, enum npl_format format)
{
	bool has = !r->n_parts && r->info.format == format;
	for (int i = 0; i < r->n_parts; i++)
		has = has || r->part[i].info.format == format;
	return has;
}

/* What keeps the sums of the format within their bits. */
static const char *remedy(const struct npl_device_report *r)
{
	if (has_format(r, NPL_FORMAT_INT8X16))
		return "with 8-bit activations (precision=int8) sums of up to 66311 products fit";
	if (has_format(r, NPL_FORMAT_Q16))
		return "wider sums (nfu.sum_bits) or smaller values fit";
	return "so long a sum takes a device with float32";
}

static size_t note_wrapped(char *line, size_t size, const struct npl_comparison *c, const struct npl_device_report *r)
{
	char names[200] = "";
	size_t used = 0;
	int layers = 0;
	if (!r->run.overflows)
		return 0;
	for (int i = 0; i < r->run.n_layers; i++) {
		const struct npl_layer_run *row = &r->run.layer[i];
		if (!row->result.overflows || ++layers > LAYERS_NAMED || used >= sizeof names)
			continue;
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%.50s", used ? ", " : "",
					 c->graph->node[row->node].name);
	}
	return (size_t)snprintf(line, size,
				"; %" PRIu64 " sum%s wrapped, in %d layer%s (%s%s): what comes of them is nonsense; %s",
				r->run.overflows, npl_plural(r->run.overflows), layers, npl_plural(layers), names,
				layers > LAYERS_NAMED ? "..." : "", remedy(r));
}

static size_t note_not_finite(char *line, size_t size, const struct npl_device_report *r)
{
	const struct npl_accuracy *a = &r->accuracy;
	size_t used = 0;
	if (a->not_finite)
		used = (size_t)snprintf(line, size, "; %" PRIu64 " result%s infinite or NaN where float32 is finite",
					a->not_finite, a->not_finite == 1 ? " is" : "s are");
	if (a->reference_not_finite && used < size)
		used += (size_t)snprintf(line + used, size - used,
					 "; %" PRIu64 " result%s infinite or NaN in float32 already%s",
					 a->reference_not_finite, a->reference_not_finite == 1 ? " is" : "s are",
					 a->not_finite ? "" : ", from which there is no error");
	return used;
}

size_t npl_value_notes(char *line, size_t size, const struct npl_comparison *c, const struct npl_device_report *r)
{
	size_t used = c->timing_only ? 0 : note_wrapped(line, size, c, r);
	return used < size ? used + note_not_finite(line + used, size - used, r) : used;
}
