/* SPDX-License-Identifier: MIT
 *
 * When a state of the search may be dropped, because another one at the same boundary is as good (place_impl.h).
 *
 * Every time of what follows is a maximum of sums of earlier times. So if the times of one state are at most those of
 * another plus d, then its makespan is at most the other's plus d, whatever follows; d may be negative. A resource
 * that is free before the first value is ready counts as free when that is ready, as no task begins before. A copy of a
 * value that only the other state has can be made from one that this state has: the conversions and transfers that this
 * takes delay the end by their time at most. So does the delivery of an output that the other has delivered. */
#include <math.h>

#include "place_impl.h"

/* Returns the time before which no further task begins. */
static double earliest(const struct place_model *m, const struct place_state *state, int boundary)
{
	double least = INFINITY;
	for (int c = 0; c < state->n_copies; c++)
		least = fmin(least, state->copy[c].ready);
	return m->starts_freely[boundary] || !isfinite(least) ? 0 : least;
}

/* What it takes to go on from one state as from another. */
struct distance {
	double lag;              /* the least d */
	struct place_cost moves; /* what the first one must convert and move in addition */
};

/* Adds the cost of giving the state the copy that another state has. `ready` is when that one has it; INFINITY: only
 * the end of the batch needs it. */
static void add_copy(const struct place_model *m, const struct place_state *state, struct place_copy copy,
		     struct distance *distance)
{
	struct place_cost least = {INFINITY, INFINITY};
	double lag = -INFINITY;
	for (int c = 0; c < state->n_copies; c++) {
		const struct place_copy *from = &state->copy[c];
		if (from->value != copy.value)
			continue;
		const struct place_cost route = place_route(m, copy.value, from->format, from->memory, copy.format,
							    copy.memory);
		if (route.seconds < least.seconds) {
			least = route;
			lag = from->ready - copy.ready;
		}
	}
	if (!isfinite(least.seconds)) /* an output that is delivered */
		return;
	distance->moves.seconds += least.seconds;
	distance->moves.joules += least.joules;
	distance->lag = fmax(distance->lag, lag);
}

static bool has_value(const struct place_state *state, int value)
{
	for (int c = 0; c < state->n_copies; c++)
		if (state->copy[c].value == value)
			return true;
	return false;
}

/* What the comparison of two states is for. */
struct aim {
	enum npl_place_objective objective;
	double static_watts;
	double joules; /* what the first state has spent less what the other has */
};

/* Says whether the first state is as good, as far as it is known. The distance only grows. */
static bool is_close(const struct aim *aim, const struct distance *distance)
{
	const double seconds = distance->lag + distance->moves.seconds, joules = aim->joules + distance->moves.joules;
	switch (aim->objective) {
	case NPL_MINIMISE_TIME:
		return seconds <= 0;
	case NPL_MINIMISE_ENERGY:
		return joules + (aim->static_watts > 0 ? aim->static_watts * seconds : 0) <= 0;
	case NPL_MINIMISE_EDP:
		return seconds <= 0 && joules <= 0;
	}
	return false;
}

static bool compare(const struct place_model *m, const struct aim *aim, const struct place_state *a,
		    const struct place_state *b, int boundary)
{
	const double earliest_a = earliest(m, a, boundary), earliest_b = earliest(m, b, boundary);
	struct distance distance = {.lag = -INFINITY};
	for (int r = 0; r < 1 + 2 * m->n_devices; r++)
		distance.lag = fmax(distance.lag, fmax(a->free[r], earliest_a) - fmax(b->free[r], earliest_b));
	for (int c = 0; c < b->n_copies && is_close(aim, &distance); c++)
		add_copy(m, a, b->copy[c], &distance);
	for (int c = 0; c < a->n_copies && is_close(aim, &distance); c++)
		if ((!c || a->copy[c - 1].value != a->copy[c].value) && !has_value(b, a->copy[c].value))
			add_copy(m, a,
				 (struct place_copy){
					 .value = a->copy[c].value, .format = NPL_FORMAT_F32, .ready = INFINITY},
				 &distance);
	return is_close(aim, &distance);
}

int place_barred(const struct place_state *state)
{
	return state->piece && state->piece->may_extend ? state->piece->device : NPL_ON_HOST;
}

bool place_has_same_copies(const struct place_state *a, const struct place_state *b)
{
	if (a->n_copies != b->n_copies || place_barred(a) != place_barred(b))
		return false;
	for (int c = 0; c < a->n_copies; c++)
		if (a->copy[c].value != b->copy[c].value || a->copy[c].format != b->copy[c].format ||
		    a->copy[c].memory != b->copy[c].memory)
			return false;
	return true;
}

bool place_is_as_good(const struct place_model *m, enum npl_place_objective objective, double static_watts,
		      const struct place_state *a, const struct place_state *b, int boundary)
{
	if (place_barred(a) != NPL_ON_HOST && place_barred(a) != place_barred(b))
		return false;
	const struct aim aim = {objective, static_watts, a->joules - b->joules};
	return compare(m, &aim, a, b, boundary);
}
