/* SPDX-License-Identifier: MIT
 *
 * The fast engine of DianNao. It goes from event to event, each at the boundary that docs/diannao-isa.md says.
 *
 *      program --> decode.c: rows by number, loads, stores, the queue of the NFU; values.c: values, in program order
 *                     |                         |
 *                     v loads, stores           v
 *      memory <--> npl_dma <-- requests.c  nfu.c: as many steps at once as rows have arrived
 *
 *      fast.c: which boundary comes next; repeat.c: runs of instructions that repeat what others did
 *
 * An event is a completion of the DMAs, the end of an instruction, or results that reach NBout. Between two events
 * nothing changes except how many steps have been taken or how many cycles were waited. Rows are numbered in the order
 * of loading, from 0 on. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_FAST_FAST_H
#define NPULAB_SIM_DIANNAO_DIANNAO_FAST_FAST_H

#include "npulab/memory.h"
#include "run.h"
#include "sim/diannao/diannao/engine/stuck.h"
#include "sim/memory/dma.h"
#include "sim/memory/relative_state.h"

#define DN_NEVER UINT64_MAX

/* An instruction that has been decoded and has not ended. */
struct dn_fast_entry {
	uint64_t index;
	uint32_t steps;
	uint8_t stages_to_leave; /* stages from the first to the one where its sums or results leave */
	bool reads_nbin, reads_sb, by_nfu1;
	uint8_t result_rows; /* rows of NBout for its results; 0: it stores nothing */
	bool completes;      /* the instruction's results are the last of a store of store_bytes */
	uint32_t nbin_stride;
	uint64_t nbin_row, nbin_last, sb_row; /* NBin rows of the first and the last step, SB row of the first step */
	uint64_t nbin_freed, sb_freed;        /* rows below these are free when the instruction has ended */
	uint64_t store_address, store_bytes;
};

struct dn_fast_load {
	uint64_t index, address;
	uint32_t bytes, rows;
};

/* Results that are one request together. */
struct dn_fast_store {
	uint64_t index, address, bytes, rows;
	uint64_t ready; /* boundary at which all of the results are in NBout */
};

/* NBin or SB. Its loads are in a ring: those before `loads_arrived` are gone, those before `loads_pushed` are the
 * DMA's. */
struct dn_fast_buffer {
	uint64_t rows;
	uint64_t oldest, next; /* the rows held at the instruction that is decoded */
	/* Rows taken, arrived and freed until the present time. Rows may be freed before they have come, or before they
	 * are taken. */
	uint64_t rows_taken, rows_arrived, rows_freed;
	struct dn_fast_load *load;
	uint64_t mask, loads_put, loads_pushed, loads_arrived;
};

/* A mark: the state of everything that decides times, relative to the present, and what had been counted until then. */
struct dn_fast_state {
	struct npl_memory_words words;
	uint64_t hash;
};
struct dn_fast_mark {
	struct dn_fast_state state;
	int64_t begun;
	uint64_t cycle, instruction;
	uint64_t n_told; /* how much the observer had been told */
	struct dn_counters counters;
	struct npl_memory_counters memory_counters;
};

#define DN_FAST_MARKS 16

/* The repeats of one level. */
struct dn_fast_repeats {
	int64_t begun, end;                  /* repeats begun so far; number of the first one that is not alike */
	uint64_t marked_at;                  /* number of the instruction at which the last mark was made */
	int64_t marks, since_anchor, window; /* counts of these repeats */
	/* The last marks. The anchor is a mark that is kept for longer and longer. */
	struct dn_fast_mark mark[DN_FAST_MARKS];
	struct dn_fast_mark anchor;
};

struct dn_fast_repetition {
	bool enabled;
	struct dn_fast_repeats level[DN_REPEAT_LEVELS];
	struct dn_fast_state state; /* the present state, if `gathered` */
	bool gathered;
	/* What the skipped repeats took; f->now, f->index and the memory's clock and counters leave it out. */
	uint64_t cycles, instructions;
	struct npl_memory_counters memory_counters;
};

struct dn_fast_told;     /* tell.c */
struct dn_fast_values;   /* values.c */
struct dn_fast_activity; /* activity.c */

struct dn_fast {
	const struct dn_engine_input *engine_input;
	struct dn_outcome *outcome;
	const struct dn_config *config;
	struct npl_err *err;
	struct npl_memory *memory;
	struct npl_dma *dma;
	int64_t descriptor_room; /* descriptors that each of the DMAs' queues holds */
	struct npl_hz machine, memory_clock;
	bool one_clock;
	uint64_t longest; /* the most cycles that a program may take */
	uint64_t now; /* the boundary that the engine is at; steps and waiting in the cycles before it are counted */
	uint64_t row_bytes, sb_row_bytes, lanes, sum_rows;

	/* Decoding (decode.c). */
	struct dn_instruction next;
	bool fetched, ended; /* fetched: `next` holds an instruction; ended: END has been decoded */
	uint64_t index;      /* the index of the next instruction */
	struct dn_fast_entry *queue;
	uint64_t queue_mask, queue_tail, queue_head;
	struct { /* the store that waits for results of later instructions; bytes_left 0: there is none */
		uint64_t address, bytes, bytes_left;
	} open_store;
	struct dn_fast_values *values; /* NULL: timing only */

	struct dn_fast_buffer nbin, sb;

	/* NFU (nfu.c). */
	uint32_t head_steps;       /* steps that the head of the queue has taken */
	uint64_t after_nfu1;       /* the first cycle in which a step without NFU-1 may begin */
	uint64_t fill_until;       /* the boundary at which the last step is through the pipeline */
	uint64_t drained;          /* the boundary at which all steps are through the pipeline */
	uint64_t free_result_rows; /* free rows of NBout for results */
	uint64_t filled_rows;      /* rows of the open store that ended instructions have filled */
	uint64_t filled_ready;

	/* Stores that are full: those before `stores_completed` are gone, those before `stores_pushed` are the
	 * DMA's. */
	struct dn_fast_store *store;
	uint64_t store_mask, stores_put, stores_pushed, stores_completed;

	struct dn_fast_repetition repetition;

	/* What the observer has been told of late (tell.c); NULL: nothing is told again. */
	struct dn_fast_told *told;
	uint64_t n_told;
};

static inline struct dn_fast_entry *dn_fast_head(const struct dn_fast *f)
{
	return f->queue_head == f->queue_tail ? NULL : &f->queue[f->queue_head & f->queue_mask];
}

/* decode.c does steps 2 and 3 of a boundary. */
int dn_fast_end_and_decode(struct dn_fast *f);
/* Says whether `next` may be decoded, if the queue of the NFU has room. */
bool dn_fast_may_decode(const struct dn_fast *f);
bool dn_fast_requests_ended(const struct dn_fast *f); /* says whether requests have ended and the pipeline is empty */

/* requests.c does step 4, and steps 1 or 5. */
int dn_fast_push_requests(struct dn_fast *f);
void dn_fast_take_arrivals(struct dn_fast *f);
void dn_fast_add_load(struct dn_fast_buffer *buffer, const struct dn_fast_load *load);
void dn_fast_add_store(struct dn_fast *f, const struct dn_fast_store *store);

/* nfu.c: dn_fast_nfu_run() does the cycles before boundary `until`, at most dn_fast_nfu_end(). That is the boundary at
 * which the head of the queue has taken all its steps; DN_NEVER: it cannot take them before something arrives. */
void dn_fast_nfu_run(struct dn_fast *f, uint64_t until);
uint64_t dn_fast_nfu_end(const struct dn_fast *f);

/* tell.c: tell the observer, if there is one, of an event at the boundary `cycle`, and of cycles of a class. `index` is
 * of an instruction, without those that were skipped. */
void dn_fast_tell(struct dn_fast *f, enum dn_event event, uint64_t index, uint64_t cycle);
void dn_fast_tell_cycles(struct dn_fast *f, enum dn_cycle_class cycle_class, uint64_t begin, uint64_t end,
			 uint64_t index);
/* From now on what is told can be told again. NPL_ENOMEM. */
int dn_fast_remember(struct dn_fast *f);
/* Says whether all that was told after the first `since` can be told again, or nothing need be. */
bool dn_fast_remembers(const struct dn_fast *f, uint64_t since);
/* Tells all that was told after the first `since` again so many times, each time so many cycles and instructions later.
 * The instructions are fetched. */
void dn_fast_tell_again(struct dn_fast *f, uint64_t since, uint64_t cycles, uint64_t instructions, int64_t times);

/* repeat.c: skips repeats. It is called before the first instruction of what may be one is fetched. */
int dn_fast_skip_repeats(struct dn_fast *f);
void dn_fast_repetition_count(const struct dn_fast *f); /* adds what was skipped to outcome->memory */
void dn_fast_repetition_free(struct dn_fast *f);

/* values.c: computes the values of whole instructions, in program order, and adds to the counters of values. */
/* Opens the values of a program. They are computed, and the activity of operands is counted if the configuration asks
 * for it; only_activity: nothing is computed, only counted, and loads beyond the bytes of memory bring zeros. */
int dn_fast_values_open(const struct dn_engine_input *engine_input, bool only_activity, struct dn_counters *counters,
			struct dn_fast_values **values, struct npl_err *err);
void dn_fast_values_close(struct dn_fast_values *values); /* accepts NULL */
void dn_fast_values_execute(struct dn_fast_values *values, const struct dn_instruction *instruction);

/* Functions of activity.c. */
int dn_fast_activity_open(const struct dn_config *config, struct dn_fast_activity **activity, struct npl_err *err);
void dn_fast_activity_close(struct dn_fast_activity *activity); /* accepts NULL */
/* Row number `row` of SB was loaded; `before`: the row that was loaded before it, or zeros. */
void dn_fast_activity_load(struct dn_fast_activity *activity, uint64_t row, const int16_t *synapse,
			   const int16_t *before);
/* A step reads a row of NBin; then, if it multiplies, this row of SB. */
void dn_fast_activity_input(struct dn_fast_activity *activity, const int16_t *input, struct dn_counters *counters);
void dn_fast_activity_product(struct dn_fast_activity *activity, uint64_t row, const int16_t *synapse,
			      struct dn_counters *counters);
/* Keeps the row of SB that was read last, before its place may be taken. */
void dn_fast_activity_keep(struct dn_fast_activity *activity, const int16_t *synapse);

#endif
