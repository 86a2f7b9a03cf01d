/* SPDX-License-Identifier: MIT
 *
 * Makes the tracks of a picture (tracks.h). */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

/* Threads are numbered behind all processes, so that none has the number of a process: viewers would take it for its
 * main thread. */
enum { MOST_PROCESSES = 900, FIRST_THREAD = 1000, MOST_THREADS = 10000 };

/* The order of threads: those that a process has once come first, in the order of enum trace_track. */
enum { ORDER_OF_LAYERS = TRACE_TRACKS, ORDER_OF_UNITS };

/* Makes a thread, and gives its number; 0: there are too many. */
static int new_thread(struct trace_tracks *tracks, const struct trace_process *process, const char *name, int order,
		      struct npl_err *err)
{
	if (tracks->n_threads >= MOST_THREADS) {
		npl_fail(err, NPL_EINPUT, "more than %d units and counters, which no machine has", MOST_THREADS);
		return 0;
	}
	const int tid = FIRST_THREAD + tracks->n_threads++;
	npl_picture_thread(tracks->picture, process->pid, tid, name, order);
	return tid;
}

static double clock_of(const struct npl_trace_machine *machine)
{
	for (int i = 0; i < machine->parameter.n; i++)
		if (!strcmp(machine->parameter.pair[i].name, "clock_hz")) {
			const double hz = strtod(machine->parameter.pair[i].value, NULL);
			return hz >= 1 && hz <= 1e15 ? hz : 0;
		}
	return 0;
}

static void init_bins(const struct trace_tracks *tracks, struct trace_bins *bins, const struct trace_process *process,
		      const char *name, const char *series, double factor)
{
	*bins = (struct trace_bins){.counter = {.name = name, .series = series, .pid = process->pid},
				    .cycles = tracks->bin_cycles,
				    .factor = factor};
}

struct trace_process *trace_tracks_process(struct trace_tracks *tracks, const char *name, struct npl_err *err)
{
	struct trace_process **last = &tracks->process;
	for (; *last; last = &(*last)->next)
		if (!strcmp((*last)->name, name))
			return *last;
	struct trace_process *process = npl_arena_alloc(&tracks->arena, sizeof *process);
	if (!process || !(process->name = npl_arena_strdup(&tracks->arena, name))) {
		npl_no_memory(err);
		return NULL;
	}
	if (tracks->n_processes >= MOST_PROCESSES) {
		npl_fail(err, NPL_EINPUT, "more than %d devices, which no run has", MOST_PROCESSES);
		return NULL;
	}
	process->pid = ++tracks->n_processes;
	for (int i = 0; i < tracks->header->n_machines; i++)
		if (!strcmp(tracks->header->machine[i].name, name))
			process->hz = clock_of(&tracks->header->machine[i]);
	init_bins(tracks, &process->active, process, "array active", "share of cycles", 1);
	init_bins(tracks, &process->use, process, "array use", "share of MACs", 1);
	npl_picture_process(tracks->picture, process->pid, name, process->pid);
	*last = process;
	return process;
}

int trace_tracks_thread(struct trace_tracks *tracks, struct trace_process *process, enum trace_track track,
			struct npl_err *err)
{
	static const char *const names[] = {
		[TRACE_TRACK_PROGRAMS] = "programs", [TRACE_TRACK_WORK] = "work", [TRACE_TRACK_LINK] = "link"};
	if (!process->tid[track])
		process->tid[track] = new_thread(tracks, process, names[track], (int)track, err);
	return process->tid[track];
}

struct trace_unit *trace_tracks_unit(struct trace_tracks *tracks, struct trace_process *process, const char *name,
				     struct npl_err *err)
{
	for (struct trace_unit *unit = process->unit; unit; unit = unit->next)
		if (!strcmp(unit->name, name))
			return unit;
	struct trace_unit *unit = npl_arena_alloc(&tracks->arena, sizeof *unit);
	const char *queue = npl_arena_printf(&tracks->arena, "queue of %s", name);
	if (!unit || !queue || !(unit->name = npl_arena_strdup(&tracks->arena, name))) {
		npl_no_memory(err);
		return NULL;
	}
	unit->queue.counter = (struct trace_counter){.name = queue, .series = "instructions", .pid = process->pid};
	if (!(unit->tid = new_thread(tracks, process, unit->name, ORDER_OF_UNITS, err)))
		return NULL;
	unit->next = process->unit;
	process->unit = unit;
	return unit;
}

struct trace_rate *trace_tracks_rate(struct trace_tracks *tracks, struct trace_process *process, const char *name,
				     struct npl_err *err)
{
	for (struct trace_rate *rate = process->rate; rate; rate = rate->next)
		if (!strcmp(rate->name, name))
			return rate;
	struct trace_rate *rate = npl_arena_alloc(&tracks->arena, sizeof *rate);
	if (!rate || !(rate->name = npl_arena_strdup(&tracks->arena, name))) {
		npl_no_memory(err);
		return NULL;
	}
	if (tracks->n_threads++ >= MOST_THREADS) {
		npl_fail(err, NPL_EINPUT, "more than %d units and counters, which no machine has", MOST_THREADS);
		return NULL;
	}
	init_bins(tracks, &rate->bins, process, rate->name, "bytes/s", process->hz);
	rate->next = process->rate;
	process->rate = rate;
	return rate;
}

struct trace_lane *trace_tracks_lane(struct trace_tracks *tracks, struct trace_process *process, uint64_t cycle,
				     struct npl_err *err)
{
	struct trace_lane **last = &process->lane;
	for (; *last; last = &(*last)->next)
		if ((*last)->end <= cycle)
			return *last;
	struct trace_lane *lane = npl_arena_alloc(&tracks->arena, sizeof *lane);
	if (!lane) {
		npl_no_memory(err);
		return NULL;
	}
	if (!(lane->tid = new_thread(tracks, process, "layers", ORDER_OF_LAYERS, err)))
		return NULL;
	*last = lane;
	return lane;
}

void trace_tracks_free(struct trace_tracks *tracks)
{
	for (struct trace_process *process = tracks->process; process; process = process->next)
		for (struct trace_unit *unit = process->unit; unit; unit = unit->next)
			free(unit->queue.taken);
	npl_arena_free(&tracks->arena);
}
