/* SPDX-License-Identifier: MIT
 *
 * The search for the best placement in the model of costs (place_impl.h). From the first layer to the last it keeps,
 * for each boundary between layers, the states that sequences of pieces come to. It drops a state
 *   - that another one is as good as (dominance.c): dynamic programming;
 *   - whose lower bound is not below the best placement that is known: branch and bound;
 *   - that is beyond the number of states to keep; the least bound of these is then what is proven.
 *
 * A device that is used draws its static power over the whole makespan. So where energy counts, there is a search for
 * each set of devices, in which all of the set are powered. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"
#include "npulab/progress.h"
#include "place_impl.h"

#define HASHES       256
#define USUAL_STATES 300
#define COMPARED     100         /* states with which each other one is compared */
#define AS_GOOD      (1 - 1e-12) /* a bound above this share of the best is not worth going on from */

struct bucket { /* the states at a boundary */
	int64_t n, capacity;
	struct place_state **state;
	struct place_state *chain[HASHES];
};

/* The search with one set of devices. */
struct walk {
	const struct place_model *m;
	struct place_search *search;
	unsigned devices;
	double static_watts;
	struct place_bounds bounds, joules_bounds; /* the second where the objective is a product */
	struct bucket *bucket;                     /* per boundary */
	struct place_work work;
	struct npl_arena arena;
	double left_out; /* the least bound of the states that were left out */
	bool failed;
};

static double bound_of(const struct walk *w, int boundary)
{
	const double bound = place_bounds_of(&w->bounds, &w->work, boundary);
	if (w->search->objective != NPL_MINIMISE_EDP)
		return bound;
	return place_objective_of(NPL_MINIMISE_EDP, bound, place_bounds_of(&w->joules_bounds, &w->work, boundary),
				  w->static_watts);
}

static bool is_as_good(const struct walk *w, const struct place_state *a, const struct place_state *b, int boundary)
{
	return place_is_as_good(w->m, w->search->objective, w->static_watts, a, b, boundary);
}

static unsigned hash_of(const struct place_state *state)
{
	unsigned hash = (unsigned)place_barred(state) + 2;
	for (int c = 0; c < state->n_copies; c++)
		hash = hash * 31 + (unsigned)state->copy[c].value * 97 + state->copy[c].format * 7u +
		       state->copy[c].memory;
	return hash % HASHES;
}

static int by_copy(const void *a, const void *b)
{
	const struct place_copy *x = a, *y = b;
	return x->value != y->value     ? (x->value > y->value) - (x->value < y->value)
	       : x->format != y->format ? x->format - y->format
					: x->memory - y->memory;
}

/* Returns by what states are sorted. A bound says little of a network whose layers can overlap a lot, so what the work
 * so far has cost counts too, by a weight that was tried on the shipped networks. */
static double rank_of(const struct walk *w, double bound)
{
	double end = 0;
	for (int r = 0; r < PLACE_RESOURCES; r++)
		end = fmax(end, w->work.free[r]);
	return bound + 0.3 * place_objective_of(w->search->objective, end, w->work.joules, w->static_watts);
}

/* Makes a state of the work; NULL: memory is short. */
static struct place_state *state_of(struct walk *w, const struct place_state *parent, const struct place_piece *piece,
				    double bound)
{
	const size_t n = (size_t)w->work.n_copies;
	struct place_state *state = npl_arena_raw(&w->arena, sizeof *state + n * sizeof *state->copy);
	if (!state || w->work.failed) {
		w->failed = true;
		return NULL;
	}
	*state = (struct place_state){
		.parent = parent, .piece = piece, .joules = w->work.joules, .bound = bound, .n_copies = (int)n};
	memcpy(state->free, w->work.free, sizeof state->free);
	state->rank = rank_of(w, bound);
	if (n) {
		memcpy(state->copy, w->work.copy, n * sizeof *state->copy);
		qsort(state->copy, n, sizeof *state->copy, by_copy);
	}
	return state;
}

/* Keeps the work as a state at the boundary, unless another one is as good; drops those that it is as good as. */
static void keep(struct walk *w, const struct place_state *parent, const struct place_piece *piece, int boundary,
		 double bound)
{
	struct bucket *bucket = &w->bucket[boundary];
	struct place_state *state = state_of(w, parent, piece, bound);
	if (!state)
		return;
	const unsigned hash = hash_of(state);
	for (struct place_state *other = bucket->chain[hash]; other; other = other->chain) {
		if (other->dropped || !place_has_same_copies(other, state))
			continue;
		if (is_as_good(w, other, state, boundary))
			return;
		other->dropped = is_as_good(w, state, other, boundary);
	}
	struct place_state **grown = npl_grow(bucket->state, bucket->n, &bucket->capacity,
					      sizeof(struct place_state *));
	if (!grown) {
		w->failed = true;
		return;
	}
	bucket->state = grown;
	grown[bucket->n++] = state;
	state->chain = bucket->chain[hash];
	bucket->chain[hash] = state;
}

/* Ends a placement after the last layer: the best so far, if it is better. */
static void finish(struct walk *w, const struct place_state *state)
{
	const struct place_model *m = w->m;
	struct place_search *search = w->search;
	unsigned used = 0;
	place_work_of(state, &w->work);
	const double seconds = place_work_finish(m, &w->work);
	for (const struct place_state *s = state; s; s = s->parent)
		used |= s->piece && s->piece->device != NPL_ON_HOST ? 1u << s->piece->device : 0;
	const double objective = place_objective_of(search->objective, seconds, w->work.joules,
						    place_static_watts(m, used));
	if (!(objective < search->best * AS_GOOD))
		return;
	search->best = objective;
	for (const struct place_state *s = state; s; s = s->parent)
		for (int i = s->piece ? s->piece->first : 0; s->piece && i <= s->piece->last; i++)
			search->place[i] = s->piece->device;
	place_settle_views(m, search->place);
}

static int by_rank(const void *a, const void *b)
{
	const double x = (*(const struct place_state *const *)a)->rank,
		     y = (*(const struct place_state *const *)b)->rank;
	return (x > y) - (x < y);
}

/* Says whether one of the states before s is as good as it. */
static bool is_dominated(const struct walk *w, struct place_state *const *state, int64_t s, int boundary)
{
	for (int64_t k = 0; k < s && k < COMPARED; k++)
		if (is_as_good(w, state[k], state[s], boundary))
			return true;
	return false;
}

/* Leaves in the bucket the states to go on from, the most promising first. Returns how many there are. */
static int64_t choose(struct walk *w, int boundary)
{
	struct bucket *bucket = &w->bucket[boundary];
	int64_t n = 0, kept = 0;
	for (int64_t s = 0; s < bucket->n; s++)
		if (!bucket->state[s]->dropped && bucket->state[s]->bound < w->search->best * AS_GOOD)
			bucket->state[n++] = bucket->state[s];
	if (n)
		qsort(bucket->state, (size_t)n, sizeof(struct place_state *), by_rank);
	for (int64_t s = 0; s < n; s++) {
		struct place_state *state = bucket->state[s];
		bucket->state[kept] = state;
		if (is_dominated(w, bucket->state, kept, boundary))
			continue;
		if (kept == w->search->max_states) {
			w->left_out = fmin(w->left_out, state->bound);
			continue;
		}
		kept++;
	}
	w->search->n_states += kept;
	return kept;
}

/* Lets every piece follow the state at the boundary. */
static void follow(struct walk *w, const struct place_state *state, int boundary)
{
	const struct place_model *m = w->m;
	for (int64_t p = 0; p < m->at[boundary].n && !w->failed; p++) {
		const struct place_piece *piece = &m->at[boundary].piece[p];
		const bool has_device = piece->device == NPL_ON_HOST || w->devices >> piece->device & 1;
		if (!has_device || !place_may_follow(state->piece, piece))
			continue;
		place_work_of(state, &w->work);
		place_work_run(m, &w->work, piece);
		const int next = m->next[piece->last + 1];
		const double bound = bound_of(w, next);
		if (bound < w->search->best * AS_GOOD)
			keep(w, state, piece, next, bound);
	}
}

static void expand(struct walk *w, int boundary)
{
	struct bucket *bucket = &w->bucket[boundary];
	const int64_t n = choose(w, boundary);
	for (int64_t s = 0; s < n && !w->failed; s++)
		if (boundary == w->m->graph->n_nodes)
			finish(w, bucket->state[s]);
		else
			follow(w, bucket->state[s], boundary);
	free(bucket->state);
	bucket->state = NULL;
	bucket->n = bucket->capacity = 0;
}

/* Searches with the devices of the set. */
static int search_set(const struct place_model *m, struct place_search *search, unsigned devices, double *left_out,
		      struct npl_err *err)
{
	const int n = m->graph->n_nodes;
	struct walk w = {.m = m, .search = search, .devices = devices, .left_out = INFINITY};
	const bool is_energy = search->objective == NPL_MINIMISE_ENERGY;
	w.static_watts = search->objective == NPL_MINIMISE_TIME ? 0 : place_static_watts(m, devices);
	w.bucket = calloc((size_t)n + 1, sizeof *w.bucket);
	int rc = w.bucket ? 0 : npl_no_memory(err);
	if (!rc)
		rc = place_bounds_open(m, m->on_path, devices, is_energy ? w.static_watts : 1, is_energy, &w.bounds,
				       err);
	if (!rc && search->objective == NPL_MINIMISE_EDP)
		rc = place_bounds_open(m, m->on_path, devices, 0, 1, &w.joules_bounds, err);
	if (!rc) {
		place_work_begin(m, &w.work);
		const double bound = bound_of(&w, m->next[0]);
		if (bound < search->best * AS_GOOD)
			keep(&w, NULL, NULL, m->next[0], bound);
	}
	for (int i = 0; i <= n && !rc && !w.failed; i++) {
		npl_progress_step("searching from layer", i, n, i < n ? m->graph->node[i].name : NULL);
		expand(&w, i);
	}
	if (!rc && (w.failed || w.work.failed))
		rc = npl_no_memory(err);
	*left_out = fmin(*left_out, w.left_out);
	for (int i = 0; w.bucket && i <= n; i++)
		free(w.bucket[i].state);
	free(w.bucket);
	place_bounds_close(&w.bounds);
	place_bounds_close(&w.joules_bounds);
	place_work_free(&w.work);
	npl_arena_free(&w.arena);
	return rc;
}

int place_search(const struct place_model *m, struct place_search *search, struct npl_err *err)
{
	const unsigned all = (1u << m->n_devices) - 1;
	double left_out = INFINITY;
	int rc = 0;
	if (!search->max_states)
		search->max_states = USUAL_STATES;
	for (unsigned devices = search->objective == NPL_MINIMISE_TIME ? all : 0; devices <= all && !rc; devices++)
		rc = search_set(m, search, devices, &left_out, err);
	search->complete = !(left_out < search->best * AS_GOOD);
	search->bound = fmin(search->best, left_out);
	return rc;
}
