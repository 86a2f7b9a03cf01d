/* SPDX-License-Identifier: MIT
 *
 * Private: the context of eager calls (npulab/eager.h) and what its two threads share. The caller's thread builds the
 * pending network, call by call; a flush makes it a job; the worker finishes, calibrates and runs jobs in order.
 *
 * A value is pending while it exists only in the network being built, then PROMISED to the end of its job, then READY
 * or FAILED. Only the caller's thread makes values, holds them and walks the list; the lock protects refs and what the
 * worker writes (state, result, failure). */
#ifndef NPULAB_FRONTEND_API_EAGER_H
#define NPULAB_FRONTEND_API_EAGER_H

#include <pthread.h>

#include "build.h"
#include "npulab/eager.h"

enum eager_state { EAGER_READY, EAGER_PROMISED, EAGER_FAILED };

/* The error of a job. A job that reads a value which an earlier job failed to make has that job's failure. */
struct eager_failure {
	struct npl_err err; /* code 0: none */
	uint64_t number;    /* tells the failures of a context apart, from 1 on */
};

struct npl_eager_value {
	struct npl_eager *ctx;
	struct npl_eager_value *next, *prev; /* neighbours in the list of all held values */
	int holds;
	int refs; /* one while it is held, one for each job or pending network that uses it */
	enum eager_state state;
	void *result;                 /* the elements of a result, once READY */
	struct eager_failure failure; /* once FAILED */
	bool pending;                 /* the network has not become a job yet */
	bool input;                   /* declared as an input */
	bool borrowed;                /* value.data is the user's */
	/* Type and shape. The elements of a constant, data or a description, are known when networks are built. Results
	 * have no data. */
	struct npl_value value;
	char *name;         /* the user's, or NULL */
	uint64_t network;   /* number of the last network that it is in */
	int index;          /* the value's index in that network */
	uint64_t recording; /* number of the last recording that it is in */
	int recorded;       /* the value's index in that recording */
};

struct eager_values { /* a list with a ref to each value */
	struct npl_eager_value **value;
	int n;
	int64_t capacity;
};

struct eager_job {
	struct eager_job *next;
	struct npl_build *build;
	struct eager_values inputs, constants, outputs;
	int *output; /* the outputs' indices in the network */
};

struct npl_eager {
	struct npl_device *device;
	struct npl_eager_value *first; /* held values, oldest first */
	struct npl_eager_value *last;
	struct npl_build *pending;             /* NULL: nothing yet */
	uint64_t network;                      /* number of the pending network */
	struct eager_values inputs, constants; /* values from outside that the pending network uses */
	struct npl_build *recorded;            /* the network being recorded; NULL: none is */
	uint64_t recording;
	bool started;
	pthread_t thread;

	pthread_mutex_t lock; /* protects all below and, of values, refs and what the worker writes */
	pthread_cond_t job_posted, job_done;
	struct eager_job *first_job, *last_job;
	bool busy, stop;
	struct eager_failure failure; /* the first that no call has returned yet */
	uint64_t n_failures;
	struct npl_eager_totals totals;
};

/* Functions of eager.c. */
void eager_drop(struct eager_values *list); /* gives all refs back; the list is empty */
/* Waits until a PROMISED value is made and copies its elements into a new tensor. Returns 0 or the value's error, if it
 * FAILED. */
int eager_fetch(struct npl_eager *ctx, const struct npl_eager_value *value, struct npl_tensor *tensor,
		struct npl_err *err);
/* Returns the elements of a value that is READY. */
const void *eager_data(const struct npl_eager_value *value);
/* Makes the pending network a job for the worker. Returns 0 or err->code. */
int eager_submit(struct npl_eager *ctx, struct npl_err *err);

/* Functions of eager_worker.c. */
int eager_start(struct npl_eager *ctx, struct npl_err *err); /* starts the thread, unless it runs */
void eager_free_job(struct eager_job *job);

/* eager_recording.c: records a call that succeeded. index[] gets the indices of the call's results. */
int eager_record(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs, int n_results,
		 int *index, struct npl_err *err);
int eager_record_input(struct npl_eager *ctx, struct npl_eager_value *value, struct npl_err *err);

#endif
