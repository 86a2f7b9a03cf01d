/* SPDX-License-Identifier: MIT
 *
 * When the work of a batch takes place, as the lines after its programs say: the rows of its layers, and its tasks. */
#ifndef NPULAB_TRACES_SCHEDULE_H
#define NPULAB_TRACES_SCHEDULE_H

#include "events.h"
#include "npulab/arena.h"

/* The greatest time that is read: 104 days, whose nanoseconds are exact in the numbers of viewers. */
#define TRACE_MAX_SECONDS 9e6

/* A row of a layer, or a task. Texts live in the arena of the schedule. */
struct trace_work {
	const char *kind;             /* "layer", or another kind of task */
	const char *device;           /* or "host"; of a transfer the device whose link it crosses */
	const char *layer;            /* its name */
	const char *op_name;          /* of a row; NULL: of a task */
	uint64_t line;                /* in the file */
	double start, seconds;        /* from the beginning of the batch */
	uint64_t bytes, cycles, macs; /* 0: not known */
};

struct trace_schedule { /* zero-initialise before use */
	struct npl_arena arena;
	struct trace_work *row, *task;
	int64_t n_rows, n_tasks, row_capacity, task_capacity;
	double seconds; /* of the whole batch */
};

/* Reads all events up to the end of a batch or of a program that runs by itself, and replaces the schedule by theirs.
 * *more false: no batch follows. */
int trace_schedule_read(struct trace_events *events, struct trace_event *event, struct trace_words *words,
			struct trace_schedule *schedule, bool *more, struct npl_err *err);
void trace_schedule_free(struct trace_schedule *schedule); /* accepts a zeroed one */

#endif
