/* SPDX-License-Identifier: MIT
 *
 * The memory port: how every machine sees its memory, whose model is one of
 *
 *     ideal   answers at once, takes any number of requests
 *     fixed   one bandwidth and one latency
 *     dram    command level: channels, banks, rows, refresh, a scheduler (sim/memory/dram.h)
 *
 * A memory is a file in memories/ (`model: dram`, its parameters with their sources) and is opened by the file's name,
 * so that one line of a machine's YAML exchanges it. A memory model holds no values: it takes addresses and gives
 * times.
 *
 *     while (left && npl_memory_can_accept(memory, &request))
 *         npl_memory_push(memory, &request), next(&request);
 *     npl_memory_step(memory);
 *     while (npl_memory_completed(memory, &completion))
 *         ...
 *
 * npl_memory_feed, npl_memory_advance and npl_memory_take do the same faster, for many requests and cycles.
 *
 * Time is counted in cycles of the memory's own clock, whose ratio to the machine's clock is a ratio of integers
 * (npl_memory_info.clock). Boundary t is the instant between cycle t - 1 and cycle t. The memory sees a request pushed
 * at boundary t in cycle t. The last byte of a completion at boundary t arrives at that boundary.
 */
#ifndef NPULAB_MEMORY_H
#define NPULAB_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/arena.h"
#include "npulab/error.h"
#include "npulab/params.h"
#include "npulab/ratio.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_memory_request {
	uint64_t address; /* bytes */
	uint64_t bytes;   /* at least 1; where access_bytes is not 0, within one aligned access */
	uint64_t tag;     /* chosen by the caller; returned with the completion */
	bool is_write;
};

struct npl_memory_completion {
	uint64_t cycle; /* boundary at which the last byte has come, or has been written */
	uint64_t tag;
};

/* The counters of requests, which every model has:
 *     reads, writes                requests
 *     read_bytes, written_bytes    their bytes */
#define NPL_MEMORY_REQUESTS(COUNT) COUNT(reads) COUNT(writes) COUNT(read_bytes) COUNT(written_bytes)
/* The counters that each channel of a DRAM has:
 *     forwarded            reads that the write queue answered; they are in `reads` too, and needed no read command
 *     row_hits             requests served without an activate of their own
 *     refreshes            commands, each of one rank, as activates, precharges, read_commands, write_commands are of a
 *                          bank
 *     active_rank_cycles   cycles of all ranks with a row open */
#define NPL_MEMORY_COMMANDS(COUNT)                                                                                     \
	COUNT(forwarded)                                                                                               \
	COUNT(row_hits)                                                                                                \
	COUNT(activates)                                                                                               \
	COUNT(precharges)                                                                                              \
	COUNT(read_commands) COUNT(write_commands) COUNT(refreshes) COUNT(active_rank_cycles)
/* All counters. The last one has the cycles of all ranks without an open row: with active_rank_cycles it sums to the
 * cycles times the ranks. */
#define NPL_MEMORY_COUNTERS(COUNT) NPL_MEMORY_REQUESTS(COUNT) NPL_MEMORY_COMMANDS(COUNT) COUNT(idle_rank_cycles)
#define NPL_MEMORY_COUNTER(name)   uint64_t name;

/* Counts since the memory was opened; 0 for what a model does not have. */
struct npl_memory_counters {
	NPL_MEMORY_COUNTERS(NPL_MEMORY_COUNTER)
};

/* One part of the energy: `events` times `pj`, as npl_result_energy takes them. */
enum npl_memory_part {
	NPL_MEMORY_ACTIVATE, /* with the precharge after it */
	NPL_MEMORY_READ,
	NPL_MEMORY_WRITE,
	NPL_MEMORY_REFRESH,
	NPL_MEMORY_ACTIVE_STANDBY, /* a rank with a row open, per clock */
	NPL_MEMORY_IDLE_STANDBY,   /* a rank without an open row, per clock */
	NPL_MEMORY_ENERGIES
};
struct npl_memory_energy {
	const char *name; /* "activate", "read", "write", "refresh", "active standby", "idle standby" */
	uint64_t events;
	double pj;          /* picojoules per event */
	const char *origin; /* "absent": not known, whatever pj says */
	enum npl_memory_part part;
};

struct npl_memory_info { /* strings live in the memory */
	const char *name, *model, *description;
	struct npl_hz clock;
	uint64_t access_bytes;   /* bytes that every request moves; 0: those of the request */
	uint64_t capacity_bytes; /* UINT64_MAX: no limit */
	double peak_bytes_per_second;
	int64_t channels;
	const char *mapping; /* "" where there is none */
};

/* How a memory is opened. Zeroed, it asks for what the memory's file says. */
struct npl_memory_options {
	int64_t channels;      /* the number of channels; 0: the file's. A model without channels refuses others */
	int64_t dram_channels; /* the same for models with channels; other models ignore it */
	const char *mapping;   /* how addresses are mapped to a DRAM; NULL: as the file says */
	bool every_cycle;      /* the model dram runs the engine that looks at every cycle, to check the faster one */
	struct npl_hz clock;   /* the caller's clock, on which the models ideal and fixed run; zero: 1 GHz */
};

/* The most requests that may be pending in a DRAM channel, and in an ideal or fixed memory. Further requests are
 * refused until completions are taken. */
#define NPL_MEMORY_MAX_PENDING        1024
#define NPL_MEMORY_MAX_SIMPLE_PENDING 65536

struct npl_memory;

/* Opens a memory. `name` is that of a file in memories/, or a path (with '/' or ending in .yaml). Parameters may
 * follow, as in "hbm2@timing.CL=12@organisation.channels=4". Returns NPL_EUSAGE when there is no such memory, with the
 * nearest name, or when the memory cannot have the options; NPL_EINPUT when its file is bad. */
int npl_memory_open(const char *name, const struct npl_memory_options *options, struct npl_memory **memory,
		    struct npl_err *err);
void npl_memory_close(struct npl_memory *memory); /* accepts NULL */
/* Puts the memory back into the state after opening, at cycle 0. */
void npl_memory_reset(struct npl_memory *memory);
const struct npl_memory_info *npl_memory_info(const struct npl_memory *memory);

/* Says whether the memory accepts the request now. Requests must be within capacity_bytes. A request that can be
 * accepted stays acceptable until the next push or cycle. */
bool npl_memory_can_accept(const struct npl_memory *memory, const struct npl_memory_request *request);
void npl_memory_push(struct npl_memory *memory, const struct npl_memory_request *request); /* after can_accept */
void npl_memory_step(struct npl_memory *memory);                                           /* one cycle */
uint64_t npl_memory_now(const struct npl_memory *memory);
/* Gives the next completion that has come by now; false: there is none. Completions are in the order of their cycles,
 * and within a cycle in the order of the channels. */
bool npl_memory_completed(struct npl_memory *memory, struct npl_memory_completion *completion);
/* Takes completions as npl_memory_completed does, `capacity` at most; returns how many. */
uint64_t npl_memory_take(struct npl_memory *memory, struct npl_memory_completion *completions, uint64_t capacity);

/* Steps to boundary `until`, or to the first boundary at which an event that `stop` names has happened, if that is
 * earlier. The result is that of as many calls of npl_memory_step. A memory without pending requests still
 * refreshes. */
enum npl_memory_stop {
	NPL_MEMORY_COMPLETION = 1, /* there is a completion to take */
	NPL_MEMORY_ROOM = 2,       /* a request left a queue */
};
void npl_memory_advance(struct npl_memory *memory, uint64_t until, unsigned stop);

/* Requests that wait at the port, to be pushed in their order as soon as they are accepted. */
struct npl_memory_feed {
	const struct npl_memory_request *requests;
	uint64_t n;
	uint64_t per_cycle;     /* no more are pushed at one boundary; 0: as many as are accepted */
	uint64_t tag_per_cycle; /* a request accepted at boundary t has tag_per_cycle * t added to its tag */
	uint64_t n_pushed;      /* how many of the n have been pushed */
	uint64_t n_pushed_now;  /* how many were pushed at this boundary; 0 when the caller has advanced */
};
/* Pushes and steps until all requests are pushed; the time is then the boundary of the last push. It also returns when
 * a request is refused while NPL_MEMORY_MAX_PENDING or more are pending: the caller must then take completions, or wait
 * for them, before the next call. */
void npl_memory_feed(struct npl_memory *memory, struct npl_memory_feed *feed);
uint64_t npl_memory_pending(const struct npl_memory *memory); /* pushed, not completed */

void npl_memory_counters(const struct npl_memory *memory, struct npl_memory_counters *counters);
/* Fills the energy that the counters stand for, part by part; returns how many parts. 0: the memory has no energy
 * model. */
int npl_memory_energy_of(const struct npl_memory *memory, const struct npl_memory_counters *counters,
			 struct npl_memory_energy energy[NPL_MEMORY_ENERGIES]);

/* Lists the names of the files in memories/, sorted; strings live in the arena. */
int npl_memory_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err);
/* Returns the parameters in force as YAML in the arena, with units and help as comments; the text reads back to the
 * same memory. NULL: out of memory. */
char *npl_memory_yaml(const struct npl_memory *memory, struct npl_arena *arena);
/* Gives the parameters in force as values for reports; keys are borrowed from the memory, values live in the arena.
 * Returns 0 or NPL_ENOMEM. */
int npl_memory_settings(const struct npl_memory *memory, struct npl_arena *arena, const struct npl_param_value **values,
			int *n);

#ifdef __cplusplus
}
#endif

#endif
