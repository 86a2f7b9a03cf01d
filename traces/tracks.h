/* SPDX-License-Identifier: MIT
 *
 * The tracks of a picture of a trace: a process for each device and the host, with threads for the device's programs,
 * its work, its link, its layers and its units. A track is made when it is first asked for. */
#ifndef NPULAB_TRACES_TRACKS_H
#define NPULAB_TRACES_TRACKS_H

#include "counters.h"
#include "header.h"
#include "npulab/arena.h"

/* The threads that a process has once. */
enum trace_track { TRACE_TRACK_PROGRAMS, TRACE_TRACK_WORK, TRACE_TRACK_LINK, TRACE_TRACKS };

struct trace_unit {
	struct trace_unit *next;
	const char *name;
	int tid;
	uint64_t leaves; /* the cycle in which the instruction before leaves it */
	struct trace_queue queue;
};
struct trace_rate { /* of the bytes that have this name */
	struct trace_rate *next;
	const char *name;
	struct trace_bins bins;
};
/* A thread for layers that do not overlap. */
struct trace_lane {
	struct trace_lane *next;
	int tid;
	uint64_t end; /* the cycle in which its last layer ends */
};
struct trace_process {
	struct trace_process *next;
	const char *name;
	int pid;
	double hz;                    /* clock of the machine; 0: not known */
	int tid[TRACE_TRACKS];        /* 0: there is none yet */
	int64_t end_ns[TRACE_TRACKS]; /* of the last slice of each */
	double free;                  /* the second in which the last program ends */
	int64_t at;                   /* the last work of the schedule that had a program */
	struct trace_unit *unit;      /* in no order, and so the rest */
	struct trace_rate *rate;
	struct trace_lane *lane;
	struct trace_bins active, use; /* of the array */
};

struct trace_tracks {
	struct npl_arena arena;
	struct npl_picture *picture;
	const struct npl_trace_header *header;
	uint64_t bin_cycles;
	struct trace_process *process;
	int n_processes, n_threads;
};
/* All return NULL, or 0, after npl_fail: NPL_ENOMEM, or NPL_EINPUT when there are more than any machine has. */
struct trace_process *trace_tracks_process(struct trace_tracks *tracks, const char *name, struct npl_err *err);
int trace_tracks_thread(struct trace_tracks *tracks, struct trace_process *process, enum trace_track track,
			struct npl_err *err);
struct trace_unit *trace_tracks_unit(struct trace_tracks *tracks, struct trace_process *process, const char *name,
				     struct npl_err *err);
struct trace_rate *trace_tracks_rate(struct trace_tracks *tracks, struct trace_process *process, const char *name,
				     struct npl_err *err);
/* A lane that is free from a cycle on. */
struct trace_lane *trace_tracks_lane(struct trace_tracks *tracks, struct trace_process *process, uint64_t cycle,
				     struct npl_err *err);
void trace_tracks_free(struct trace_tracks *tracks);

#endif
