/* SPDX-License-Identifier: MIT
 *
 * The results of a sweep: a database of SQLite, which its own programs and most languages can read.
 *
 *     sweep    key, value: the plan, the machines' files, the versions: what it takes to run a point again
 *     metrics  name, unit, better (-1: less is; 1: more is), meaning: of the columns of points
 *     points   id, status (done, excluded, failed), reason, feasible, violation (of constraints), parameters (JSON), a
 *              column for each metric
 *     layers   point, layer, name, op, ran_on, seconds, energy_j, cycles, macs: where the plan asks for them
 *     claims   chunk, owner: which process runs which points just now
 *     owners   owner, renewed: the processes that do
 *
 * The points of a plan have the ids 0, 1... A chunk is SWEEP_CHUNK of them that follow each other. A process claims
 * chunks before it runs them, so that several processes share the points of a sweep; the claims of a process that has
 * ended are free.
 *
 * What is put into the store is kept in a transaction until sweep_store_commit, and is then on the disk. */
#ifndef NPULAB_EXPLORE_STORE_STORE_H
#define NPULAB_EXPLORE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "explore/evaluate/point.h"
#include "explore/space/plan.h"
#include "npulab/arena.h"

/* Returns the bits of the points of a chunk, of so many in all: the last chunk may be short. */
unsigned sweep_chunk_bits(int64_t chunk, int64_t n_points);

struct sweep_store; /* opaque */

/* A fact about the sweep: a row of the table `sweep`. Facts decide whether two sweeps are the same, but for those with
 * the keys `name` and `description`, which are for readers. */
struct sweep_fact {
	const char *key, *value;
};

/* Opens the database of a sweep to add points. Makes it if there is no file, with these facts. An older one must have
 * the same facts, else the result is NPL_EINPUT, and *differs the key of the first that is another; otherwise *differs
 * is NULL. path NULL: a store in memory. Returns NPL_EINPUT for a file that is no database of a sweep, or a damaged
 * one, and NPL_EOUTPUT where it cannot be written. */
int sweep_store_open(const char *path, const struct sweep_fact *fact, int n_facts, const char **differs,
		     struct sweep_store **store, struct npl_err *err);
/* Opens the database of a sweep to read it. */
int sweep_store_read(const char *path, struct sweep_store **store, struct npl_err *err);
/* Commits, gives claims back and closes. Accepts NULL. */
void sweep_store_close(struct sweep_store *store);

/* Returns the value of a fact in the arena; NULL where there is none. */
const char *sweep_store_fact(struct sweep_store *store, const char *key, struct npl_arena *arena);

/* Puts a point. One that is there already stays. id -1: it gets the next number that is free when it is committed. */
int sweep_store_put(struct sweep_store *store, int64_t id, const struct sweep_parameter *parameter, int n,
		    const struct sweep_outcome *outcome, struct npl_err *err);
int sweep_store_commit(struct sweep_store *store, struct npl_err *err);
/* Returns how many points were put since the last commit. */
int sweep_store_uncommitted(const struct sweep_store *store);

/* Claims chunk after chunk from `first` on, below `end`, until it has `wanted` of them: chunk[] gets their numbers, *n
 * how many there are, *next where to go on. Chunks whose points are all there, and those of other processes that work,
 * are left out; *held says how many the latter are. */
struct sweep_claim {
	int64_t first, end, step; /* chunks first, first + step... below end */
	int wanted;
};
int sweep_store_claim(struct sweep_store *store, const struct sweep_claim *claim, int64_t n_points, int64_t *chunk,
		      int *n, int64_t *next, int64_t *held, struct npl_err *err);
/* Gives a chunk back, whose points have been put, with the next commit. */
int sweep_store_release(struct sweep_store *store, int64_t chunk, struct npl_err *err);
/* Says that this process works still; to be called every few seconds. A commit of points does so too. */
int sweep_store_renew(struct sweep_store *store, struct npl_err *err);
/* Says which points of a chunk are there: bit i is that of point SWEEP_CHUNK * chunk + i. */
int sweep_store_done(struct sweep_store *store, int64_t chunk, unsigned *bits, struct npl_err *err);

/* Counts the points of each status, and those of status done that are feasible. */
struct sweep_counts {
	int64_t of_status[SWEEP_STATUSES], feasible;
};
int sweep_store_count(struct sweep_store *store, struct sweep_counts *counts, struct npl_err *err);

/* What other processes do with the store just now. */
struct sweep_activity {
	int processes;          /* that work on it */
	int64_t claimed_points; /* points at most of the chunks that they run */
};
int sweep_store_activity(struct sweep_store *store, struct sweep_activity *activity, struct npl_err *err);

/* A point as it is in the store. Texts live until the function that gets it returns. */
struct sweep_row {
	int64_t id;
	enum sweep_status status;
	const char *reason; /* NULL: none */
	bool feasible;
	double violation;
	const char *parameters; /* JSON */
	struct sweep_metrics metrics;
};
typedef int sweep_take_row(void *context, const struct sweep_row *row, struct npl_err *err);
/* Hands over the points with ids from `first` on and below `end`, in their order. Ends with the first result that is
 * not 0. */
int sweep_store_each(struct sweep_store *store, int64_t first, int64_t end, sweep_take_row *take, void *context,
		     struct npl_err *err);

#endif
