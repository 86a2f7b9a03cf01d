/* SPDX-License-Identifier: MIT
 *
 * The schedule of a batch (npulab/timeline.h), made while the batch runs: each task is placed as soon as its time is
 * known, in the order in which the nodes run. */
#ifndef NPULAB_FRONTEND_SESSION_SCHEDULE_H
#define NPULAB_FRONTEND_SESSION_SCHEDULE_H

#include "npulab/session.h"

#define NPL_AT_START (-1) /* instead of a task: nothing to wait for */

struct npl_schedule {
	int n_resources;
	struct npl_resource *resource;        /* the host, then each device and, where it has one, its link */
	int *last;                            /* per resource: the task that it does last; NPL_AT_START: none yet */
	int *device_resource, *link_resource; /* per device: its resource, and its link's; -1: it has no link */
	int n;
	int64_t capacity;
	struct npl_task *task;
	bool in_order;   /* a task begins only when the task added before it has ended, on any resource */
	int last_added;  /* the task added last */
	bool delivering; /* tasks added from now on deliver outputs */
	bool failed;     /* memory ran out; npl_schedule_finish returns the error */
};

int npl_schedule_open(struct npl_schedule *schedule, struct npl_device *const *device, int n_devices,
		      struct npl_err *err);
void npl_schedule_close(struct npl_schedule *schedule);

/* Returns the one of two tasks that ends later. */
int npl_schedule_later(const struct npl_schedule *schedule, int a, int b);

/* Places a task after the task `predecessor`. task: its node, resource, kind, value, bytes and seconds are
 * set. Returns the task at whose end the work is done: the new one or, where the work takes no time, an earlier one. */
int npl_schedule_add(struct npl_schedule *schedule, const struct npl_task *task, int predecessor);

/* Places n layers of a device one after the other, after the task `predecessor`: layer i belongs to node[i] and takes
 * results[i]->seconds. The device's link is held as well, if bytes cross it within the cycles. Returns the task at
 * whose end the layers are done. */
int npl_schedule_device(struct npl_schedule *schedule, int device, int n, const int *node,
			const struct npl_result *const *results, int predecessor);

/* Ends the schedule and hands it over to the run: sets the rows' times, the resources' sums and run->overlap_seconds.
 * The run's rows must be complete, except for energy that depends on waiting. Returns 0 or err->code. */
int npl_schedule_finish(struct npl_schedule *schedule, const struct npl_graph *graph, struct npl_device *const *device,
			struct npl_run *run, struct npl_err *err);

/* Adds to waiting[], which has one entry per node, the seconds for which the device waits while the node's tasks decide
 * the makespan. The sum over all nodes is the makespan less the device's work. */
void npl_schedule_waiting(const struct npl_run *run, int device, double *waiting);

#endif
