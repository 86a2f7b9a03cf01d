/* SPDX-License-Identifier: MIT
 *
 * The schedule of a batch (npulab/timeline.h), made while the batch runs: each task gets its place as soon as
 * it is known how long it takes, in the order in which the nodes run. */
#ifndef NPULAB_FRONTEND_SESSION_SCHEDULE_H
#define NPULAB_FRONTEND_SESSION_SCHEDULE_H

#include "npulab/session.h"

#define NPL_AT_START (-1) /* instead of a task: nothing to wait for */

struct npl_schedule {
	int n_resources;
	struct npl_resource *resource; /* the host, then each device and, where it has one, its link */
	int *last;                     /* per resource: the task that it does last */
	int *of_device, *of_link;      /* per device: its resources; -1: it has no link */
	int n;
	int64_t capacity;
	struct npl_task *task;
	bool in_order;   /* a task begins only when the one before has ended, on whatever resource */
	int latest;      /* the task added last */
	bool delivering; /* tasks added from now on deliver outputs */
	bool failed;     /* out of memory: told by npl_schedule_finish */
};

int npl_schedule_open(struct npl_schedule *schedule, struct npl_device *const *device, int n_devices,
		      struct npl_err *err);
void npl_schedule_close(struct npl_schedule *schedule);

/* The task of the two that ends later. */
int npl_schedule_later(const struct npl_schedule *schedule, int a, int b);

/* Places a task, of which node, resource, kind, value, bytes and seconds are set, after the task `after`. Returns the
 * task at whose end it is done: itself, or an earlier one where it takes no time. */
int npl_schedule_add(struct npl_schedule *schedule, const struct npl_task *work, int after);

/* n layers of a device as one task: layer i is node[i]'s and takes results[i].seconds. It holds the device's
 * link too where bytes cross that within the cycles. */
int npl_schedule_device(struct npl_schedule *schedule, int device, int n, const int *node,
			const struct npl_result *const *results, int after);

/* Ends the schedule and hands it over to the run, whose rows are complete except energy that depends on waiting: their
 * times, the resources' sums and run->overlap_seconds. */
int npl_schedule_finish(struct npl_schedule *schedule, const struct npl_graph *graph, struct npl_device *const *device,
			struct npl_run *run, struct npl_err *err);

/* How long a device waits while a row's tasks decide the makespan: adds to waiting[], one per node. Over all nodes
 * that is the makespan less the device's work. */
void npl_schedule_waiting(const struct npl_run *run, int device, double *waiting);

#endif
