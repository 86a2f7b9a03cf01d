/* SPDX-License-Identifier: MIT
 *
 * Private: the context of eager calls (npulab/eager.h) and what its two threads share. The caller's thread builds the
 * pending network, call by call; a flush makes it a job; the worker finishes, calibrates and runs jobs in order.
 *
 * A value is pending while it exists only in the network being built, then PROMISED to the end of its job, then READY
 * or FAILED. The caller's thread alone makes values, holds them and walks the list; refs and what the worker writes
 * (state, result, why) are the lock's.
 */
#ifndef NPULAB_FRONTEND_API_EAGER_H
#define NPULAB_FRONTEND_API_EAGER_H

#include <pthread.h>

#include "build.h"
#include "npulab/eager.h"

enum eager_state { EAGER_READY, EAGER_PROMISED, EAGER_FAILED };

struct npl_eager_value {
	struct npl_eager *ctx;
	struct npl_eager_value *next, *prev; /* of all that are held */
	int holds;
	int refs; /* one while it is held, one for each job or pending network that uses it */
	enum eager_state state;
	void *result;       /* the elements of a result, once READY */
	struct npl_err why; /* FAILED */
	bool pending;       /* no job has it yet */
	bool input;         /* declared as such */
	bool borrowed;      /* what.data is the user's */
	struct npl_value
		value;      /* constant: known when networks are built, with data or described. Results have no data */
	char *name;         /* the user's, or NULL */
	uint64_t network;   /* number of the last network that it is in */
	int index;          /* in that network */
	uint64_t recording; /* number of the last recording that it is in */
	int recorded;
};

struct eager_values { /* each with a ref */
	struct npl_eager_value **value;
	int n;
	int64_t capacity;
};

struct eager_job {
	struct eager_job *next;
	struct npl_build *build;
	struct eager_values inputs, constants, outputs;
	int *output; /* their indices */
};

struct npl_eager {
	struct npl_device *device;
	struct npl_eager_value *first; /* held values, oldest first */
	struct npl_eager_value *last;
	struct npl_build *pending;             /* NULL: nothing yet */
	uint64_t network;                      /* its number */
	struct eager_values inputs, constants; /* what it uses from outside */
	struct npl_build *trace;               /* being recorded */
	uint64_t recording;
	bool started;
	pthread_t thread;

	pthread_mutex_t lock; /* all below, and the values as said above */
	pthread_cond_t work, done;
	struct eager_job *first_job, *last_job;
	bool busy, stop;
	struct npl_err failed; /* not told yet; code 0: none */
	struct npl_eager_totals totals;
};

/* eager.c */
int eager_append(struct eager_values *list, struct npl_eager_value *value, struct npl_err *err); /* takes a ref */
void eager_drop(struct eager_values *list); /* gives all refs back; the list is empty */
/* A copy of a value's elements, once they are there; its error when it failed. */
int eager_fetch(struct npl_eager *ctx, const struct npl_eager_value *value, struct npl_tensor *tensor,
		struct npl_err *err);
/* The elements of a value that is READY. */
const void *eager_data(const struct npl_eager_value *value);
/* Makes what is pending a job. */
int eager_submit(struct npl_eager *ctx, struct npl_err *err);

/* eager_worker.c */
int eager_start(struct npl_eager *ctx, struct npl_err *err); /* the thread, once */
void eager_free_job(struct eager_job *job);

/* eager_trace.c: records a call that succeeded; the results are trace[]. */
int eager_record(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs, int n_results,
		 int *trace, struct npl_err *err);
int eager_record_input(struct npl_eager *ctx, struct npl_eager_value *value, struct npl_err *err);

#endif
