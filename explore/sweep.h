/* SPDX-License-Identifier: MIT
 *
 * Runs the points of a plan on all processors and puts what comes of them into a database. A sweep that was ended, in
 * whatever way, goes on where it was; several processes may work on one database. */
#ifndef NPULAB_EXPLORE_SWEEP_H
#define NPULAB_EXPLORE_SWEEP_H

#include <signal.h>

#include "explore/evaluate/workers.h"
#include "explore/store/store.h"

/* A part of a sweep, for processes that cannot share a database: the chunks whose number leaves the remainder index - 1
 * by `of`. */
struct sweep_shard {
	int index, of; /* 1 of 1: the whole */
};

struct sweep_options {
	int workers; /* processes at work at the same time; a cluster has its own number */
	struct sweep_shard shard;
	const struct sweep_threads *threads;      /* of the calling program; NULL: it has one */
	const volatile sig_atomic_t *interrupted; /* not 0: the sweep is to end with what is done; NULL: never */
};

struct sweep_summary {
	int64_t points; /* of the plan, or of the shard */
	int64_t found;  /* of these, there already */
	int64_t ran;    /* run now */
	bool was_interrupted;
	double seconds; /* that this took */
};

/* Returns how many of so many points a shard has. */
int64_t sweep_shard_points(int64_t points, struct sweep_shard shard);
/* Finds how many points of a plan a shard has. Returns NPL_EUSAGE for what cannot run: no objectives or too many points
 * for the method, or a shard of a method that chooses points by the results of all. */
int sweep_count_points(const struct sweep_plan *plan, struct sweep_shard shard, int64_t *points, struct npl_err *err);

/* Opens the database of a plan that has been checked: makes it, or goes on with one of the same plan. Refuses what
 * cannot run before it makes one. path NULL: a store in memory. */
int sweep_open_store(struct sweep_plan *plan, const char *path, struct sweep_shard shard, struct sweep_store **store,
		     struct npl_err *err);

/* Runs all points that are not in the store yet. */
int sweep_run(const struct sweep_plan *plan, struct sweep_evaluator *evaluator, struct sweep_store *store,
	      const struct sweep_options *options, struct sweep_summary *summary, struct npl_err *err);

/* Fills the parameters of a point: those of the axes with several values that have an effect. parameter has room for
 * SWEEP_AXES * SWEEP_AXIS_KEYS. Returns how many there are. */
int sweep_parameters_of(const struct sweep_plan *plan, const int *level, struct sweep_parameter *parameter);

#endif
