/* SPDX-License-Identifier: MIT
 *
 * Whole placements in the model of costs (place_impl.h): what one costs, and the greedy one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "place_impl.h"

/* Returns the piece that a session would run from node i on, where layers have these places: the longest of the device
 * that lies within its layers. NULL: the model has no piece for it. */
static const struct place_piece *piece_of(const struct place_model *m, const int *place, int i)
{
	const struct place_pieces *at = &m->at[i];
	const struct place_piece *found = NULL;
	int end = i;
	while (end < m->graph->n_nodes && (m->next[end] != end || place[end] == place[i]))
		end++;
	for (int64_t p = 0; p < at->n; p++) {
		const struct place_piece *piece = &at->piece[p];
		if (piece->device == place[i] && piece->last < end && (!found || piece->last > found->last))
			found = piece;
	}
	return found;
}

int place_modelled(const struct place_model *m, enum npl_place_objective objective, const int *place, double *modelled,
		   struct npl_err *err)
{
	struct place_work work = {0};
	bool known = true;
	place_work_begin(m, &work);
	for (int i = m->next[0]; i < m->graph->n_nodes && known;) {
		const struct place_piece *piece = piece_of(m, place, i);
		known = piece != NULL;
		if (known)
			place_work_run(m, &work, piece);
		i = known ? m->next[piece->last + 1] : i;
	}
	const double seconds = place_work_finish(m, &work);
	*modelled = place_objective_of(objective, seconds, work.joules,
				       place_static_watts(m, place_devices_of(m, place)));
	*modelled = known ? *modelled : NAN;
	const bool failed = work.failed;
	place_work_free(&work);
	return failed ? npl_no_memory(err) : 0;
}

void place_settle_views(const struct place_model *m, int *place)
{
	for (int i = 0; i < m->graph->n_nodes; i++)
		if (m->next[i] != i)
			place[i] = i ? place[i - 1] : NPL_ON_HOST;
}

/* What the layers up to a choice of the greedy placement have come to. */
struct choice {
	double objective;
	const struct place_piece *piece;
};

/* Returns when the values of the piece are made, for which later layers wait. Where it makes none that is read, returns
 * when all work so far is done. */
static double ready_of(const struct place_work *work, const struct place_piece *piece)
{
	double ready = 0;
	for (int i = 0; i < piece->n_out; i++)
		for (int64_t c = 0; c < work->n_copies; c++)
			if (work->copy[c].value == piece->out[i].value)
				ready = fmax(ready, work->copy[c].ready);
	double end = 0;
	for (int r = 0; r < PLACE_RESOURCES; r++)
		end = fmax(end, work->free[r]);
	return ready > 0 ? ready : end;
}

/* Tries a piece after what was done so far. `used`: the devices of the layers so far, which are powered. */
static void try_piece(const struct place_model *m, enum npl_place_objective objective, const struct place_work *so_far,
		      unsigned used, const struct place_piece *piece, struct place_work *work, struct choice *best)
{
	const unsigned devices = piece->device == NPL_ON_HOST ? used : used | 1u << piece->device;
	place_work_copy(so_far, work);
	place_work_run(m, work, piece);
	const double value = place_objective_of(objective, ready_of(work, piece), work->joules,
						place_static_watts(m, devices));
	if (!best->piece || value < best->objective)
		*best = (struct choice){value, piece};
}

/* Says whether the device has no shorter piece there: one layer, or on a real device those that it ran in one pass. */
static bool is_shortest(const struct place_model *m, const struct place_piece *piece)
{
	const struct place_pieces *at = &m->at[piece->first];
	for (int64_t p = 0; p < at->n; p++)
		if (at->piece[p].device == piece->device && at->piece[p].last < piece->last)
			return false;
	return true;
}

int place_greedy(const struct place_model *m, enum npl_place_objective objective, int *place, struct npl_err *err)
{
	struct place_work so_far = {0}, work = {0};
	unsigned used = 0;
	place_work_begin(m, &so_far);
	for (int i = m->next[0]; i < m->graph->n_nodes && !so_far.failed && !work.failed;) {
		struct choice best = {0};
		for (int64_t p = 0; p < m->at[i].n; p++)
			if (is_shortest(m, &m->at[i].piece[p]))
				try_piece(m, objective, &so_far, used, &m->at[i].piece[p], &work, &best);
		if (!best.piece) /* the host has a piece of every layer: a try that failed has no choice */
			break;
		place_work_run(m, &so_far, best.piece);
		for (int k = best.piece->first; k <= best.piece->last; k++)
			place[k] = best.piece->device;
		used |= best.piece->device == NPL_ON_HOST ? 0 : 1u << best.piece->device;
		i = m->next[best.piece->last + 1];
	}
	place_settle_views(m, place);
	const bool failed = so_far.failed || work.failed;
	place_work_free(&so_far);
	place_work_free(&work);
	return failed ? npl_no_memory(err) : 0;
}
