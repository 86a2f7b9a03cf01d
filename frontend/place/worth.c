/* SPDX-License-Identifier: MIT
 *
 * Which pieces are worth to be run for their cost (place_impl.h). A device does no more multiply-accumulates than its
 * peak allows, so a piece takes at least that time. With the least that the layers before and after it take, by the
 * pieces whose costs are known and by the same bound on devices whose costs are not, this is a lower bound of every
 * placement with the piece. Where it is not below a placement that is known, the piece is left out. */
#include <math.h>
#include <stdlib.h>

#include "core/base/refuse.h"
#include "place_impl.h"

static double peak_of(const struct place_model *m, int d)
{
	return npl_device_get_info(m->device[d].device)->peak_macs_per_second;
}

/* Returns the least time of node i on one of the devices of a set (bits). */
static double least_seconds(const struct place_model *m, unsigned devices, int i)
{
	double least = INFINITY;
	for (int d = 0; d < m->n_devices; d++)
		if (devices >> d & 1)
			least = fmin(least, peak_of(m, d) > 0 ? (double)m->graph->node[i].macs / peak_of(m, d) : 0);
	return least;
}

static bool touches_path(const struct place_model *m, int first, int last)
{
	for (int i = first; i <= last; i++)
		if (m->on_path[i])
			return true;
	return false;
}

static struct place_cost sum_of(struct place_cost a, double seconds, double joules)
{
	return (struct place_cost){a.seconds + seconds, a.joules + joules};
}

static void take_least(struct place_cost *least, struct place_cost cost)
{
	least->seconds = fmin(least->seconds, cost.seconds);
	least->joules = fmin(least->joules, cost.joules);
}

/* Lets node i take, from what comes before it to what comes after it, the costs of each piece that begins there, and of
 * the unknown ones. forward: `before` is known at i; otherwise `after` is known behind i. */
static void relax(const struct place_model *m, struct place_worth *w, int i, bool forward)
{
	const double unknown = m->on_path[i] ? least_seconds(m, w->unknown, i) : 0;
	const struct place_piece *piece = m->at[i].piece;
	for (int64_t p = 0; p <= m->at[i].n; p++) {
		const bool is_piece = p < m->at[i].n;
		const int behind = m->next[is_piece ? piece[p].last + 1 : i + 1];
		if (!is_piece && !w->unknown)
			continue;
		const bool counts = !is_piece || touches_path(m, i, piece[p].last);
		const double seconds = is_piece ? (counts ? piece[p].seconds : 0) : unknown;
		const double joules = is_piece ? piece[p].joules : 0;
		if (forward)
			take_least(&w->before[behind], sum_of(w->before[i], seconds, joules));
		else
			take_least(&w->after[i], sum_of(w->after[behind], seconds, joules));
	}
}

int place_worth_open(const struct place_model *m, unsigned unknown, struct place_worth *w, struct npl_err *err)
{
	const int n = m->graph->n_nodes;
	const struct place_cost most = {INFINITY, INFINITY}, nothing = {0};
	*w = (struct place_worth){.unknown = unknown};
	w->before = calloc((size_t)n + 1, sizeof *w->before);
	w->after = calloc((size_t)n + 1, sizeof *w->after);
	if (!w->before || !w->after)
		return npl_no_memory(err);
	for (int i = 0; i <= n; i++)
		w->before[i] = i == m->next[0] ? nothing : most;
	for (int i = 0; i < n; i++) {
		w->after[i] = most;
		if (m->next[i] == i)
			relax(m, w, i, true);
	}
	for (int i = n - 1; i >= 0; i--)
		if (m->next[i] == i)
			relax(m, w, i, false);
	return 0;
}

bool place_is_worth(const struct place_model *m, const struct place_worth *w, enum npl_place_objective objective,
		    double best, int d, int first, int last)
{
	double seconds = 0;
	for (int i = first; i <= last && peak_of(m, d) > 0 && touches_path(m, first, last); i++)
		if (m->next[i] == i)
			seconds += (double)m->graph->node[i].macs / peak_of(m, d);
	const struct place_cost before = w->before[first], after = w->after[m->next[last + 1]];
	const double bound = place_objective_of(objective, before.seconds + seconds + after.seconds,
						before.joules + after.joules, m->device[d].static_watts);
	return !(bound > best * (1 + 1e-9));
}

void place_worth_close(struct place_worth *w)
{
	free(w->before);
	free(w->after);
	*w = (struct place_worth){0};
}
