/* SPDX-License-Identifier: MIT
 *
 * Sentences about verdicts (trace_verdict.h). */
#include "trace_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/message.h"

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
	const struct npl_trace_first *first = &diff->first;
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

const char *npl_trace_pair_text(char *buf, size_t n, double a, double b, const char *format)
{
	char first[40], second[40];
	snprintf(first, sizeof first, format, a);
	snprintf(second, sizeof second, format, b);
	snprintf(buf, n, a == b ? "%s" : "%s -> %s", a == 0 && b == 0 ? "" : first, second);
	return buf;
}

const char *npl_trace_change_text(char *buf, size_t n, double a, double b)
{
	if (a == b)
		snprintf(buf, n, "%s", "");
	else if (a == 0)
		snprintf(buf, n, "new");
	else
		snprintf(buf, n, "%+.3g %%", 100 * (b - a) / a);
	return buf;
}

const char *npl_trace_place_text(char *buf, size_t n, const struct npl_trace_layer *layer)
{
	const char *other = layer->other_ran_on;
	const size_t same = strlen(layer->ran_on);
	if (other && !strncmp(layer->ran_on, other, same) && other[same] == '@')
		other += same; /* a variant of the same machine */
	*buf = '\0';
	npl_append(buf, n, "", "%s%s%s", layer->ran_on, other ? " -> " : "", other ? other : "");
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
