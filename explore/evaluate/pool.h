/* SPDX-License-Identifier: MIT
 *
 * What runs the points of a sweep side by side: processes of this computer (workers.h), or those of a cluster.
 *
 *     while (there are points or some are at work) {
 *             while (pool->kind->room(pool) > 0 && (there is a point))
 *                     pool->kind->give(pool, &request, &err);
 *             pool->kind->wait(pool, 0.5, -1, take, context, &err);
 *     }
 */
#ifndef NPULAB_EXPLORE_EVALUATE_POOL_H
#define NPULAB_EXPLORE_EVALUATE_POOL_H

#include <stdio.h>

#include "evaluator.h"

/* Takes what came of a point. The outcome lives until it returns. */
typedef int sweep_take_outcome(void *context, int64_t id, const struct sweep_outcome *outcome, struct npl_err *err);

struct sweep_pool;

/* What a kind of pool does. */
struct sweep_pool_kind {
	/* Returns how many more points the pool accepts now: enough that no worker runs out of work before the next
	 * wait, and no more, so that the last points of a sweep are shared evenly. */
	int (*room)(const struct sweep_pool *pool);
	/* Returns how many points have been given and are not done. */
	int (*at_work)(const struct sweep_pool *pool);
	/* Gives a point to the worker that has the fewest. The request is copied. */
	int (*give)(struct sweep_pool *pool, const struct sweep_request *request, struct npl_err *err);
	/* Waits until a point is done or so many seconds are over, a signal arrives, or `input` can be read (-1: there
	 * is none), and hands over all points that are done. */
	int (*wait)(struct sweep_pool *pool, double seconds, int input, sweep_take_outcome *take, void *context,
		    struct npl_err *err);
	/* Ends the workers, and the points that they are at. */
	void (*close)(struct sweep_pool *pool);
};

/* The first member of every kind of pool. */
struct sweep_pool {
	const struct sweep_pool_kind *kind;
	int most;   /* points that can be given at most at a time */
	bool heard; /* the last wait ended with something to read at its input */
};

/* What a process with several threads does around a fork, while which no other may run. NULL: it has one thread. */
struct sweep_threads {
	void (*pause)(void), (*go_on)(void);
};

/* Opens a pool of n workers. The evaluator is borrowed. */
typedef int sweep_open_pool(struct sweep_evaluator *evaluator, int n, const struct sweep_threads *threads,
			    struct sweep_pool **pool, struct npl_err *err);

/* What every worker does: runs the point of a line, and writes its outcome as a line (wire.h). A line that is no
 * request has a failed outcome with the id -1. */
void sweep_serve(struct sweep_evaluator *evaluator, const char *line, size_t n, FILE *out);

/* A cluster, in which this process is one of several that run the same command. */
struct sweep_cluster {
	int rank;              /* of this process; 0 is the one that has the results */
	sweep_open_pool *open; /* of rank 0: opens the pool of the other ranks */
	/* Of the others: runs the points that rank 0 gives, until it ends. failure: why this process cannot, to be told
	 * to rank 0; NULL: it can. */
	void (*serve)(struct sweep_evaluator *evaluator, const struct npl_err *failure);
};
/* The cluster of this process; NULL: it is alone. A program for clusters sets it before anything else. */
extern const struct sweep_cluster *sweep_cluster;

#endif
