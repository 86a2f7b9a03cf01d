/* SPDX-License-Identifier: MIT
 *
 * The memory port: what every machine sees of the memory behind it, be that
 *
 *     ideal   answers at once, takes any number of requests
 *     fixed   one bandwidth and one latency
 *     dram    command level: channels, banks, rows, refresh, a scheduler (sim/memory/dram.h)
 *
 * A memory is a file in memories/ (`model: dram`, its parameters with their sources) and is opened by the file's name,
 * so that a line of a machine's YAML exchanges it. Nothing here holds values: addresses go in, times come out.
 *
 *     while (left && npl_memory_can_accept(memory, &request))
 *         npl_memory_push(memory, &request), next(&request);
 *     npl_memory_step(memory);
 *     while (npl_memory_completed(memory, &completion))
 *         ...
 *
 * npl_memory_feed, npl_memory_advance and npl_memory_take do the same for many requests and cycles, faster.
 *
 * Time is counted in cycles of the memory's own clock, whose ratio to the machine's is one of integers (struct
 * npl_memory_info). Boundary t is the instant between cycle t - 1 and cycle t. A request pushed at boundary t is seen
 * in cycle t, a completion at boundary t has its last byte there.
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
	uint64_t tag;     /* the asker's own */
	bool is_write;
};

struct npl_memory_completion {
	uint64_t cycle; /* boundary at which the last byte has come, or has been written */
	uint64_t tag;
};

/* What happened, since the memory was opened; what a model does not have is 0. */
struct npl_memory_counters {
	uint64_t reads, writes; /* requests */
	uint64_t read_bytes, written_bytes;
	/* Reads that the write queue answered. They are counted in `reads` too, and needed no read command. */
	uint64_t forwarded;
	uint64_t row_hits; /* requests served without an activate of their own */
	uint64_t activates, precharges, read_commands, write_commands, refreshes; /* a refresh is one rank's */
	uint64_t active_rank_cycles,
		idle_rank_cycles; /* with a row open; with none. They sum to cycles times all ranks */
};

/* One part of the energy: events times pj each, as npl_result_energy wants it. */
enum npl_memory_part {
	NPL_MEMORY_ACTIVATE, /* and the precharge after it */
	NPL_MEMORY_READ,
	NPL_MEMORY_WRITE,
	NPL_MEMORY_REFRESH,
	NPL_MEMORY_ACTIVE_STANDBY, /* a rank with a row open, per clock */
	NPL_MEMORY_IDLE_STANDBY,   /* one with none */
	NPL_MEMORY_ENERGIES
};
struct npl_memory_energy {
	const char *part; /* "activate", "read", "write", "refresh", "active standby", "idle standby" */
	uint64_t events;
	double pj;          /* per event */
	const char *origin; /* "absent": not known, whatever pj says */
	enum npl_memory_part kind;
};

struct npl_memory_info { /* strings live in the memory */
	const char *name, *model, *description;
	struct npl_hz clock;
	uint64_t access_bytes;   /* every request moves so many; 0: what it asks for */
	uint64_t capacity_bytes; /* UINT64_MAX: no limit */
	double peak_bytes_per_second;
	int64_t channels;
	const char *mapping; /* "" where there is none */
};

/* How a memory is opened; zeroed: as its file says. */
struct npl_memory_options {
	int64_t channels;      /* 0: the file's; refused by a model that has none */
	int64_t dram_channels; /* the same, of no concern to a model that has none */
	const char *mapping;   /* NULL: the file's */
	bool every_cycle;      /* dram: the engine that looks at every cycle, to check the one that does not */
	struct npl_hz clock;   /* of the asker: ideal and fixed run on it. Zero: 1 GHz */
};

/* The most requests that may be pending: of a DRAM channel, and of an ideal or fixed memory. More are refused until
 * completions are taken. */
#define NPL_MEMORY_MAX_PENDING        1024
#define NPL_MEMORY_MAX_SIMPLE_PENDING 65536

struct npl_memory;

/* `name` is that of a file in memories/, or a path (with '/' or ending in .yaml). NPL_EINPUT: no such memory (naming
 * the nearest), or one that contradicts itself. */
int npl_memory_open(const char *name, const struct npl_memory_options *options, struct npl_memory **memory,
		    struct npl_err *err);
void npl_memory_close(struct npl_memory *memory); /* accepts NULL */
/* As after opening, at cycle 0. */
void npl_memory_reset(struct npl_memory *memory);
const struct npl_memory_info *npl_memory_info(const struct npl_memory *memory);

/* The port. Requests must be within capacity_bytes. A request that is accepted is not refused again before the next
 * push or cycle. */
bool npl_memory_can_accept(const struct npl_memory *memory, const struct npl_memory_request *request);
void npl_memory_push(struct npl_memory *memory, const struct npl_memory_request *request); /* after can_accept */
void npl_memory_step(struct npl_memory *memory);                                           /* one cycle */
uint64_t npl_memory_now(const struct npl_memory *memory);
/* The next completion that has come by now, in the order of their cycles, of one cycle in that of the channels. */
bool npl_memory_completed(struct npl_memory *memory, struct npl_memory_completion *completion);
/* The next completions, as npl_memory_completed has them, `capacity` at most; how many. */
uint64_t npl_memory_take(struct npl_memory *memory, struct npl_memory_completion *completions, uint64_t capacity);

/* Steps up to boundary `until`, but no further than the first boundary at which something that `stop` names has
 * happened: the same as so many npl_memory_step, faster. Without a pending request a memory is still busy with
 * refreshes. */
enum npl_memory_stop {
	NPL_MEMORY_COMPLETION = 1, /* there is one to take */
	NPL_MEMORY_ROOM = 2,       /* a request left a queue */
};
void npl_memory_advance(struct npl_memory *memory, uint64_t until, unsigned stop);

/* Requests that wait at the port, to be pushed in their order as soon as they are accepted. */
struct npl_memory_feed {
	const struct npl_memory_request *requests;
	uint64_t n;
	uint64_t per_cycle;     /* no more are pushed at one boundary; 0: as many as are accepted */
	uint64_t tag_per_cycle; /* a request accepted at boundary t has tag_per_cycle * t added to its tag */
	uint64_t pushed;        /* of n */
	uint64_t in_cycle;      /* of them at this boundary; 0 when the caller has advanced */
};
/* Pushes and steps until all are pushed (time stands at the last one's boundary), or one is refused and
 * NPL_MEMORY_MAX_PENDING or more are pending: then completions are to be taken, or waited for, before the next call. */
void npl_memory_feed(struct npl_memory *memory, struct npl_memory_feed *feed);
uint64_t npl_memory_pending(const struct npl_memory *memory); /* pushed, not completed */

/* A buffer of the caller's. n counts all words that were added; the first `capacity` of them are stored. */
struct npl_memory_words {
	uint64_t *word;
	uint64_t n, capacity;
};
static inline void npl_memory_add_word(struct npl_memory_words *words, uint64_t word)
{
	if (words->n < words->capacity)
		words->word[words->n] = word;
	words->n++;
}

/* Appends the state that decides when later requests complete: what is pending, with all times relative to now and
 * each tag as tag_of(asker, tag). After two states with the same words, the same pushes have the same times. False: the
 * model cannot give such words (DRAM). */
bool npl_memory_relative_state(const struct npl_memory *memory, struct npl_memory_words *words,
			       uint64_t (*tag_of)(const void *asker, uint64_t tag), const void *asker);
void npl_memory_counters(const struct npl_memory *memory, struct npl_memory_counters *counters);
/* What the counters cost: n of them. 0 of them: the memory has no energy model. */
int npl_memory_energy_of(const struct npl_memory *memory, const struct npl_memory_counters *counters,
			 struct npl_memory_energy energy[NPL_MEMORY_ENERGIES]);

/* The files of memories/ by name, sorted; strings live in the arena. */
int npl_memory_list(struct npl_arena *arena, const char *const **names, int *n, struct npl_err *err);
/* The memory's file as it is in force, with units and help as comments; reads back to the same memory. NULL: no
 * memory. */
char *npl_memory_yaml(const struct npl_memory *memory, struct npl_arena *arena);
/* The same as values, for reports; keys borrowed from the memory, values in the arena. 0 or NPL_ENOMEM. */
int npl_memory_settings(const struct npl_memory *memory, struct npl_arena *arena, const struct npl_param_value **values,
			int *n);

#ifdef __cplusplus
}
#endif

#endif
