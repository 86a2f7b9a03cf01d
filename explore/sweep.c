/* SPDX-License-Identifier: MIT
 *
 * Running a sweep (sweep.h): claims chunks of points, gives the points to workers, and commits what comes back. */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "explore/evaluate/measure.h"
#include "explore/methods/search.h"
#include "facts.h"
#include "npulab/progress.h"

/* Finished points are committed so often, or when there are so many: a power loss costs no more. */
#define COMMIT_SECONDS 0.5
#define COMMIT_POINTS  500

/* Points are claimed for so long, as far as their number for this time is known. */
#define CLAIM_SECONDS 0.5
#define MOST_CLAIMED  256 /* chunks claimed at once */

/* A process that has no points left looks so often whether others have ended and left some. */
#define LOOK_SECONDS 0.5

/* A chunk that this process runs. */
struct chunk {
	int64_t number;
	unsigned bits; /* of the points that are done */
};

struct state {
	const struct sweep_plan *plan;
	struct sweep_store *store;
	struct sweep_pool *pool;
	const struct sweep_options *options;
	struct sweep_summary *summary;
	struct sweep_search *search;
	int n_objectives;
	struct sweep_measure objective[SWEEP_OBJECTIVES];
	int64_t n_points;    /* whose levels are known */
	int64_t n_chunks;    /* of these */
	int64_t next_chunk;  /* the first one that has not been tried to claim */
	int64_t next_told;   /* the first point that may not have been told to the search */
	bool others_hold;    /* chunks were left out since another process runs them */
	struct chunk *chunk; /* the claimed ones of which points are to be given or at work, n_claimed of them */
	int n_claimed;
	int64_t *to_give; /* the next points to give, n_to_give from `first_to_give` on */
	int first_to_give, n_to_give;
	double started, committed, renewed;
};

int sweep_parameters_of(const struct sweep_plan *plan, const int *level, struct sweep_parameter *parameter)
{
	int n = 0;
	for (int a = 0; a < plan->space.n_axes; a++) {
		const struct sweep_axis *axis = &plan->space.axis[a];
		if (axis->n_levels < 2 || !sweep_axis_has_effect(&plan->space, a, level))
			continue;
		for (int k = 0; k < axis->n_keys; k++)
			parameter[n++] = (struct sweep_parameter){axis->key[k], sweep_axis_value(axis, level[a], k)};
	}
	return n;
}

int64_t sweep_shard_points(int64_t points, struct sweep_shard shard)
{
	const int64_t all_chunks = (points + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
	const int64_t chunks = (all_chunks - (shard.index - 1) + shard.of - 1) / shard.of;
	const bool has_last = all_chunks && (all_chunks - 1) % shard.of == shard.index - 1;
	return chunks * SWEEP_CHUNK - (has_last ? all_chunks * SWEEP_CHUNK - points : 0);
}

int sweep_count_points(const struct sweep_plan *plan, struct sweep_shard shard, int64_t *points, struct npl_err *err)
{
	struct sweep_search *search;
	if (sweep_search_open(plan, &search, err))
		return err->code;
	const bool is_refused = sweep_search_listens(search) && shard.of > 1;
	*points = sweep_shard_points(sweep_search_points(search), shard);
	sweep_search_close(search);
	return is_refused ? npl_fail(err, NPL_EUSAGE,
				     "--shard: method %s chooses points by the results of all, expected another method",
				     sweep_method_name[plan->method])
			  : 0;
}

int sweep_open_store(struct sweep_plan *plan, const char *path, struct sweep_shard shard, struct sweep_store **store,
		     struct npl_err *err)
{
	struct sweep_fact fact[SWEEP_FACTS];
	const char *differs;
	char text[40] = "";
	int64_t points;
	int n;
	*store = NULL;
	if (shard.of > 1)
		snprintf(text, sizeof text, "%d/%d", shard.index, shard.of);
	if (sweep_count_points(plan, shard, &points, err) || sweep_facts(plan, text, fact, &n, err) ||
	    !sweep_store_open(path, fact, n, &differs, store, err))
		return err->code;
	if (!differs)
		return err->code;
	return npl_fail(err, NPL_EINPUT,
			"%s: it has the results of a sweep with other %s: expected the same plan, or another file",
			path, differs);
}

/* Returns how many chunks to claim: for the time of a commit, as fast as points came until now. */
static int chunks_wanted(const struct state *s, double now)
{
	const double rate = (double)s->summary->ran / (now - s->started + 1e-9);
	const double wanted = rate * CLAIM_SECONDS / SWEEP_CHUNK;
	return wanted < 1 ? 1 : wanted > MOST_CLAIMED ? MOST_CLAIMED : (int)wanted;
}

/* Takes the points of a chunk that are not there yet. */
static int take_chunk(struct state *s, int64_t number, struct npl_err *err)
{
	struct chunk *chunk = &s->chunk[s->n_claimed++];
	*chunk = (struct chunk){.number = number};
	if (sweep_store_done(s->store, number, &chunk->bits, err))
		return err->code;
	for (int i = 0; i < SWEEP_CHUNK; i++)
		if (sweep_chunk_bits(number, s->n_points) & ~chunk->bits & 1u << i)
			s->to_give[s->n_to_give++] = number * SWEEP_CHUNK + i;
	return 0;
}

/* Claims chunks when all points that were claimed have been given. */
static int claim(struct state *s, struct npl_err *err)
{
	int64_t number[MOST_CLAIMED], held;
	int n;
	const struct sweep_claim wanted = {.first = s->next_chunk,
					   .end = s->n_chunks,
					   .step = s->options->shard.of,
					   .wanted = chunks_wanted(s, npl_clock_seconds())};
	if (sweep_store_claim(s->store, &wanted, s->n_points, number, &n, &s->next_chunk, &held, err))
		return err->code;
	s->others_hold = s->others_hold || held > 0;
	s->first_to_give = s->n_to_give = 0;
	for (int i = 0; i < n; i++)
		if (take_chunk(s, number[i], err))
			return err->code;
	return 0;
}

static int give(struct state *s, int64_t id, struct npl_err *err)
{
	int level[SWEEP_AXES];
	struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
	sweep_search_point(s->search, id, level);
	const struct sweep_request request = {
		.id = id, .n = sweep_parameters_of(s->plan, level, parameter), .parameter = parameter};
	return s->pool->kind->give(s->pool, &request, err);
}

/* Gives back a chunk of which all points are there. */
static int end_point(struct state *s, int64_t id, struct npl_err *err)
{
	int c = 0;
	while (s->chunk[c].number != id / SWEEP_CHUNK)
		c++;
	s->chunk[c].bits |= 1u << id % SWEEP_CHUNK;
	if (s->chunk[c].bits != sweep_chunk_bits(s->chunk[c].number, s->n_points))
		return 0;
	const int64_t number = s->chunk[c].number;
	s->chunk[c] = s->chunk[--s->n_claimed];
	return sweep_store_release(s->store, number, err);
}

/* Takes over how many points are known. */
static void look_at_search(struct state *s)
{
	s->n_points = sweep_search_known(s->search);
	s->n_chunks = (s->n_points + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
}

/* Tells the search what came of a point. */
static int tell(struct state *s, int64_t id, const struct sweep_parameter *parameter, int n, enum sweep_status status,
		double violation, const struct sweep_metrics *metrics, struct npl_err *err)
{
	struct sweep_told told = {.ran = status == SWEEP_DONE, .violation = violation};
	if (!sweep_search_listens(s->search))
		return 0;
	for (int i = 0; i < s->n_objectives; i++) {
		const double value = sweep_measure_value(&s->objective[i], parameter, n, metrics);
		told.objective[i] = s->objective[i].is_maximised ? -value : value;
	}
	const int rc = sweep_search_tell(s->search, id, &told, err);
	look_at_search(s);
	return rc;
}

static int take_outcome(void *context, int64_t id, const struct sweep_outcome *outcome, struct npl_err *err)
{
	struct state *s = context;
	int level[SWEEP_AXES];
	struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
	sweep_search_point(s->search, id, level);
	const int n = sweep_parameters_of(s->plan, level, parameter);
	if (sweep_store_put(s->store, id, parameter, n, outcome, err) || end_point(s, id, err))
		return err->code;
	s->summary->ran++;
	npl_progress_part("sweep", "point", s->summary->found + s->summary->ran, s->summary->points);
	return tell(s, id, parameter, n, outcome->status, outcome->violation, &outcome->metrics, err);
}

/* Tells the search of a point that is in the store. */
static int take_row(void *context, const struct sweep_row *row, struct npl_err *err)
{
	struct state *s = context;
	int level[SWEEP_AXES];
	struct sweep_parameter parameter[SWEEP_AXES * SWEEP_AXIS_KEYS];
	if (row->id >= sweep_search_known(s->search))
		return npl_fail(err, NPL_EINPUT, "it is there, and has not been chosen yet: the results are damaged");
	sweep_search_point(s->search, row->id, level);
	const int n = sweep_parameters_of(s->plan, level, parameter);
	return tell(s, row->id, parameter, n, row->status, row->violation, &row->metrics, err);
}

/* Tells the search of all points that are in the store and that it does not know, as those of other processes. */
static int catch_up(struct state *s, struct npl_err *err)
{
	if (!sweep_search_listens(s->search))
		return 0;
	const int rc = sweep_store_each(s->store, s->next_told, INT64_MAX, take_row, s, err);
	while (s->next_told < s->n_points && sweep_search_was_told(s->search, s->next_told))
		s->next_told++;
	return rc;
}

/* Commits what is done, if it is time, or all of it. */
static int commit(struct state *s, bool all, struct npl_err *err)
{
	const double now = npl_clock_seconds();
	int rc = 0;
	if (all || sweep_store_uncommitted(s->store) >= COMMIT_POINTS || now - s->committed >= COMMIT_SECONDS) {
		s->committed = now;
		rc = sweep_store_commit(s->store, err);
	}
	/* A long point commits nothing for a while, and its claim must stay. */
	if (!rc && now - s->renewed > 10) {
		s->renewed = now;
		rc = sweep_store_renew(s->store, err);
	}
	return rc;
}

static bool is_interrupted(const struct state *s)
{
	return s->options->interrupted && *s->options->interrupted;
}

/* Waits until points that another process holds are there, or left by it. */
static void wait_for_others(struct state *s)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)(LOOK_SECONDS * 1e9)}, NULL);
	s->others_hold = false;
	s->next_chunk = sweep_search_listens(s->search) ? s->next_told / SWEEP_CHUNK : s->options->shard.index - 1;
}

/* Says whether all points that there will ever be are there. */
static bool is_finished(const struct state *s)
{
	return sweep_search_listens(s->search) ? s->next_told == sweep_search_points(s->search) : !s->others_hold;
}

static int run_points(struct state *s, struct npl_err *err)
{
	while (!is_interrupted(s)) {
		if (s->first_to_give == s->n_to_give && s->next_chunk < s->n_chunks && claim(s, err))
			return err->code;
		while (s->first_to_give < s->n_to_give && s->pool->kind->room(s->pool) > 0)
			if (give(s, s->to_give[s->first_to_give++], err))
				return err->code;
		if (s->pool->kind->at_work(s->pool)) {
			if (s->pool->kind->wait(s->pool, COMMIT_SECONDS, -1, take_outcome, s, err) ||
			    commit(s, false, err))
				return err->code;
		} else if (s->first_to_give == s->n_to_give && s->next_chunk >= s->n_chunks) {
			if (commit(s, true, err) || catch_up(s, err))
				return err->code;
			if (s->next_chunk < s->n_chunks)
				continue;
			if (is_finished(s))
				break;
			wait_for_others(s);
		}
	}
	s->summary->was_interrupted = is_interrupted(s);
	return commit(s, true, err);
}

static int refuse_row(void *context, const struct sweep_row *row, struct npl_err *err)
{
	(void)context, (void)row;
	return npl_fail(err, NPL_EINPUT, "the plan has no such point: the results are damaged");
}

/* Opens the search, and tells it of the points that are there. */
static int open_search(struct state *s, struct npl_err *err)
{
	struct sweep_counts counts;
	const struct sweep_formulas *objectives = &s->plan->objectives;
	if (sweep_search_open(s->plan, &s->search, err) || sweep_store_count(s->store, &counts, err) ||
	    sweep_store_each(s->store, INT64_MIN, 0, refuse_row, NULL, err) ||
	    sweep_store_each(s->store, sweep_search_points(s->search), INT64_MAX, refuse_row, NULL, err))
		return err->code;
	for (int i = 0; i < objectives->n && i < SWEEP_OBJECTIVES; i++) {
		s->objective[i] = sweep_measure_of(&objectives->formula[i].expression);
		s->objective[i].is_maximised = objectives->formula[i].is_maximised;
		s->n_objectives++;
	}
	for (int i = 0; i < SWEEP_STATUSES; i++)
		s->summary->found += counts.of_status[i];
	s->summary->points = sweep_shard_points(sweep_search_points(s->search), s->options->shard);
	look_at_search(s);
	return catch_up(s, err);
}

static int open_pool(struct state *s, struct sweep_evaluator *evaluator, struct npl_err *err)
{
	sweep_open_pool *open = sweep_cluster ? sweep_cluster->open : sweep_workers_open;
	const int64_t left = s->summary->points - s->summary->found;
	/* Points whose times are measured would disturb each other. */
	const int most = s->plan->is_measured ? 1 : s->options->workers;
	if (open(evaluator, left < most ? (int)left : most, s->options->threads, &s->pool, err))
		return err->code;
	/* Workers may still have points of chunks that were claimed before. */
	s->chunk = calloc(MOST_CLAIMED + (size_t)s->pool->most, sizeof *s->chunk);
	return s->chunk ? 0 : npl_no_memory(err);
}

int sweep_run(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, struct sweep_store *store,
	      const struct sweep_options *options, struct sweep_summary *summary, struct npl_err *err)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return npl_no_memory(err);
	*s = (struct state){.plan = plan, .store = store, .options = options, .summary = summary};
	s->next_chunk = options->shard.index - 1;
	s->started = s->committed = s->renewed = npl_clock_seconds();
	*summary = (struct sweep_summary){0};
	s->to_give = calloc(MOST_CLAIMED * SWEEP_CHUNK, sizeof *s->to_give);
	int rc = s->to_give ? open_search(s, err) : npl_no_memory(err);
	if (!rc && summary->found < summary->points)
		rc = open_pool(s, evaluator, err);
	if (!rc && s->pool)
		rc = run_points(s, err);
	summary->points = rc ? summary->points : sweep_shard_points(sweep_search_points(s->search), options->shard);
	summary->seconds = npl_clock_seconds() - s->started;
	if (s->pool)
		s->pool->kind->close(s->pool);
	sweep_search_close(s->search);
	free(s->chunk);
	free(s->to_give);
	free(s);
	return rc;
}
