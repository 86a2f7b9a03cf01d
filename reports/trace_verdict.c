/* SPDX-License-Identifier: MIT
 *
 * Sentences about verdicts (trace_verdict.h). */
#include "trace_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"
#include "npulab/report.h"

enum npl_trace_state npl_trace_state_of(const struct npl_trace_verdict *verdict)
{
	return verdict->code             ? NPL_TRACE_NOT_COMPARED
	       : !verdict->diff.moved    ? NPL_TRACE_SAME
	       : verdict->diff.is_beyond ? NPL_TRACE_MOVED
					 : NPL_TRACE_WITHIN;
}

int npl_trace_count(const struct npl_trace_verdict *verdict, int n, enum npl_trace_state state)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += npl_trace_state_of(&verdict[i]) == state;
	return count;
}

const char *npl_trace_verdict_name(const struct npl_trace_verdict *verdict)
{
	static const char *const names[] = {"same", "within the tolerance", "moved", "not compared"};
	return names[npl_trace_state_of(verdict)];
}

const char *npl_trace_sentence(const struct npl_trace_verdict *verdict, char *buf, size_t n)
{
	const struct npl_trace_diff *diff = &verdict->diff;
	const struct npl_trace_difference *first = &diff->first;
	char moved[80];
	*buf = '\0';
	if (verdict->code) {
		npl_append(buf, n, "", "%s", verdict->message ? verdict->message : "");
		return buf;
	}
	if (!diff->moved) {
		npl_append(buf, n, "", "the same, %" PRIu64 " events", diff->events);
		return buf;
	}
	npl_append(buf, n, "", "%s moved%s", npl_trace_moved_text(diff->moved, moved, sizeof moved),
		   diff->is_beyond ? "" : ", within the tolerance");
	if (first->is_known)
		npl_append(buf, n, "", "; first in line %" PRIu64 "%s%s: %s",
			   first->line[0] ? first->line[0] : first->line[1], first->layer ? ", " : "",
			   first->layer ? first->layer : "", first->what);
	return buf;
}

bool npl_trace_layer_moved(const struct npl_trace_layer *layer)
{
	return layer->moved || layer->in[0] != layer->in[1];
}

const char *npl_trace_layer_moved_text(const struct npl_trace_layer *layer, char *buf, size_t n)
{
	if (layer->in[0] == layer->in[1])
		return npl_trace_moved_text(layer->moved, buf, n);
	*buf = '\0';
	npl_append(buf, n, "", "only in the %s", layer->in[0] ? "first" : "second");
	return buf;
}

bool npl_trace_only_begins_elsewhere(const struct npl_trace_layer *layer)
{
	bool same = layer->moved == NPL_TRACE_MOVED_TIMES && layer->in[0] == layer->in[1] &&
		    layer->cycles[0] == layer->cycles[1] && layer->seconds[0] == layer->seconds[1] &&
		    layer->joules[0] == layer->joules[1];
	for (int i = 0; i < layer->n_classes && same; i++)
		same = layer->cycle_class[i].cycles[0] == layer->cycle_class[i].cycles[1];
	return same;
}

int npl_trace_count_elsewhere(const struct npl_trace_diff *diff)
{
	int n = 0;
	for (int i = 0; i < diff->n_layers; i++)
		n += npl_trace_only_begins_elsewhere(&diff->layer[i]);
	return n;
}

static void change_text(char *buf, size_t n, const double value[2])
{
	*buf = '\0';
	if (!isfinite(value[0]) || !isfinite(value[1]))
		npl_append(buf, n, "", "%s", value[0] == value[1] ? "" : "not finite");
	else if (value[0] == 0 && value[1] != 0)
		npl_append(buf, n, "", "new");
	else if (value[0] != value[1])
		npl_append(buf, n, "", "%+.3g %%", 100 * (value[1] - value[0]) / value[0]);
}

struct npl_trace_figures npl_trace_figures_of(const struct npl_trace_diff *diff, const uint64_t cycles[2],
					      const double seconds[2], const double joules[2])
{
	struct npl_trace_figures figures = {"-", "-", "-"};
	if (!diff->has_times)
		return figures;
	figures.cycles[0] = '\0';
	if (cycles[0] != cycles[1])
		npl_append(figures.cycles, sizeof figures.cycles, "", "%" PRIu64 " -> %" PRIu64, cycles[0], cycles[1]);
	else if (cycles[0])
		npl_append(figures.cycles, sizeof figures.cycles, "", "%" PRIu64, cycles[0]);
	change_text(figures.time, sizeof figures.time, seconds);
	change_text(figures.energy, sizeof figures.energy, joules);
	return figures;
}

const char *npl_trace_total_text(char *buf, size_t n, const double value[2], const char *unit)
{
	char text[2][40], change[40];
	for (int i = 0; i < 2; i++)
		npl_si_text(value[i], unit, text[i], sizeof text[i]);
	change_text(change, sizeof change, value);
	*buf = '\0';
	npl_append(buf, n, "", "%s", text[0]);
	if (strcmp(text[0], text[1]) != 0)
		npl_append(buf, n, "", " -> %s", text[1]);
	if (*change)
		npl_append(buf, n, "", " (%s)", change);
	return buf;
}

const char *npl_trace_place_text(char *buf, size_t n, const struct npl_trace_layer *layer)
{
	const char *other = layer->other_ran_on;
	const size_t same = strcspn(layer->ran_on, "@");
	if (other && !strncmp(layer->ran_on, other, same) && (other[same] == '@' || !other[same]))
		other = NULL; /* the heads say which parameters a variant has */
	*buf = '\0';
	npl_append(buf, n, "", "%.*s%s%s", other ? (int)strlen(layer->ran_on) : (int)same, layer->ran_on,
		   other ? " -> " : "", other ? other : "");
	return buf;
}

bool npl_trace_has_ratios(const struct npl_trace_diff *diff)
{
	for (int i = 0; i < diff->n_layers; i++)
		if (!isnan(diff->layer[i].sqnr_db[0]) || !isnan(diff->layer[i].sqnr_db[1]))
			return true;
	return false;
}

const char *npl_trace_ratio_text(char *buf, size_t n, const double sqnr_db[2])
{
	char text[2][24];
	for (int i = 0; i < 2; i++) {
		snprintf(text[i], sizeof text[i], isnan(sqnr_db[i]) ? "-" : "%.2f dB", sqnr_db[i]);
		if (sqnr_db[i] > 0 && isinf(sqnr_db[i]))
			snprintf(text[i], sizeof text[i], "exact");
	}
	*buf = '\0';
	if (!isnan(sqnr_db[0]) || !isnan(sqnr_db[1]))
		npl_append(buf, n, "", strcmp(text[0], text[1]) ? "%s -> %s" : "%s", text[0], text[1]);
	return buf;
}
