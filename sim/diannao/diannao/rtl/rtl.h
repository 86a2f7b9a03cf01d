/* SPDX-License-Identifier: MIT
 *
 * The register-level engine of DianNao (Chen et al., ASPLOS 2014, sections 5.2 and 5.3): buffers of rows, DMAs and
 * pipeline registers that a clock advances, a cycle after the other. It is the specification of docs/diannao-isa.md;
 * the fast engine has to agree.
 *
 *      program --> control (control.c): decodes ahead, makes requests, keeps a queue for the NFU
 *                     |                         |
 *                     v requests                v the instruction at the head takes a step a cycle
 *      memory <--> port <-- DMA NBin  --> NBin --+--> operands -> NFU-1 -> NFU-2 -> NFU-3
 *      (dma.c)          <-- DMA SB    --> SB ----+                         ^  |       |      (nfu.c, values.c)
 *                       <-- DMA NBout <-- NBout <--------------------------+--+-------+
 *                                      (buffers.c)
 *
 *      what each cycle was, and who observes (counters.c); all of it together, in the order of a boundary (rtl.c)
 *
 * A cycle begins with its boundary: the registers of the NFU move, then come the six steps of docs/diannao-isa.md,
 * Time. What the last of them decides, a row of each buffer or none, is on the wires (`step`) until the next boundary,
 * where it is read into the first register.
 *
 * Registers hold values; an execution without values has only what goes with them (struct dn_rtl_bundle), and the times
 * are the same. Memory has no values: a load's bytes are copied when its rows arrive, a store's when it completes.
 *
 * Not modelled: banks and ports of the buffers, the time of decoding, what is inside NFU-1's multipliers and NFU-2's
 * trees. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_RTL_RTL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_RTL_RTL_H

#include "npulab/memory.h"
#include "run.h"
#include "sim/diannao/diannao/engine/stuck.h"

/* ---- Queues ---- */

/* Things in order, each with its number from 0 on; grows as it must. */
struct dn_rtl_fifo {
	void *slot;
	size_t size; /* bytes of a thing */
	uint64_t mask, taken, put;
};
bool dn_rtl_fifo_open(struct dn_rtl_fifo *fifo, size_t size, uint64_t capacity);
static inline void *dn_rtl_fifo_at(const struct dn_rtl_fifo *fifo, uint64_t number)
{
	return (char *)fifo->slot + (number & fifo->mask) * fifo->size;
}
/* The place of a new one at the end, zeroed; NULL: out of memory. */
void *dn_rtl_fifo_push(struct dn_rtl_fifo *fifo);
static inline bool dn_rtl_fifo_empty(const struct dn_rtl_fifo *fifo)
{
	return fifo->taken == fifo->put;
}

/* ---- Buffers (buffers.c) ---- */

/* NBin or SB. Rows are numbered in the order of loading; row i is at i mod rows. */
struct dn_rtl_buffer {
	int64_t rows, row_values;
	int64_t taken, arrived, freed; /* rows up to these: have a place, have come, have no place any more */
	int16_t *value;                /* (rows, row_values); NULL: timing only */
};
/* A row comes: so many bytes of it, the rest is 0. `bytes` is looked at only where there are values. */
void dn_rtl_row_arrives(struct dn_rtl_buffer *buffer, const uint8_t *bytes, size_t size);
const int16_t *dn_rtl_row(const struct dn_rtl_buffer *buffer, int64_t row);

/* Rows of Tn 16-bit places: the first for sums, 16 bits of each of Tn sums in a row; the others a circular array of
 * results. */
struct dn_rtl_nbout {
	int64_t tn, sum_rows;              /* sum_rows: of Tn sums */
	int64_t slots;                     /* for Tn sums */
	int64_t first_result, result_rows; /* of all rows */
	int64_t taken, freed;              /* result rows, numbered in the order in which they are taken */
	int16_t *value;
	int64_t *exact; /* (slots, tn) the sums without wrapping, for counting only */
};
void dn_rtl_sums_read(const struct dn_rtl_nbout *nbout, int64_t index, int64_t *sum, int64_t *exact);
void dn_rtl_sums_write(struct dn_rtl_nbout *nbout, int64_t index, const int64_t *sum, const int64_t *exact);
/* Results come into the rows from `row` on: of 16 bits each, or of 32. */
void dn_rtl_results_write(struct dn_rtl_nbout *nbout, int64_t row, const int64_t *result, int64_t lanes, bool wide);
/* So many bytes from the start of that result row on. */
void dn_rtl_results_read(const struct dn_rtl_nbout *nbout, int64_t row, uint8_t *bytes, uint64_t size);

/* ---- DMAs (dma.c) ---- */

struct dn_rtl_request {
	int64_t index;            /* of the instruction that asked; of a store, that fills it up */
	uint64_t address, bytes;  /* in memory */
	uint64_t asked, answered; /* of bytes */
	int64_t row, rows;        /* a load: how many; a store: which of NBout, how many so far */
	uint64_t filled;          /* a store's bytes that are in NBout */
};
/* What memory has taken; one request has it all, so that answers in order of asking are rows in order. */
struct dn_rtl_access {
	uint64_t bytes;
	bool answered;
};
struct dn_rtl_dma {
	struct dn_rtl_fifo request; /* decoded, not completed */
	uint64_t asking;            /* number of the first of which memory has not taken all */
	struct dn_rtl_fifo access;
};
struct dn_rtl_port {
	struct npl_memory *memory;
	int turn;                              /* whose request is looked at first */
	int owner;                             /* of whose request memory has taken a part; -1: nobody's */
	uint64_t kept_until;                   /* boundary of memory */
	uint64_t request_cycles;               /* of memory's clock */
	uint64_t access_bytes;                 /* 0: memory has none */
	int64_t machine_period, memory_period; /* a cycle of the machine and one of memory in a common unit of time */
	int64_t ahead;                         /* how far the machine's boundary is ahead of memory's */
};

/* ---- The NFU (nfu.c, values.c) ---- */

/* What goes through the pipeline with the values of a step. */
struct dn_rtl_bundle {
	bool present, first, last; /* step of its instruction */
	bool stores;               /* and it is the last: `lanes` results go to rows `row` on */
	bool wide;                 /* of 32 bits */
	uint8_t nfu1, nfu2, in, out, nfu3;
	int16_t shift, result_shift;
	uint32_t divisor;
	int64_t sums; /* NBout's index */
	int64_t lanes, row, rows;
	uint64_t store; /* number of the request */
};
/* Registers after each other, of which indices move and not the contents: register k is at (newest + k) mod n. */
struct dn_rtl_pipe {
	int64_t n, newest;
	struct dn_rtl_bundle *bundle;
};
struct dn_rtl_nfu {
	int64_t tn;
	/* NFU-1's first register: the operands. */
	struct dn_rtl_bundle operands;
	int16_t *input, *synapse; /* (tn), (tn, tn) [output][input] */
	/* Its others and NFU-2's first: (tn, tn) products, or in the first tn of them biases or inputs. */
	struct dn_rtl_pipe product;
	int32_t *products;
	/* NFU-2's others: a term for each output. Behind them the registers of the sums. */
	struct dn_rtl_pipe term;
	int64_t *terms;
	int64_t *sum, *exact; /* (tn); exact: without wrapping, for counting only */
	/* NFU-3's: sums in the first, results in the others. */
	struct dn_rtl_pipe result;
	int64_t *results;
	int64_t *scratch;  /* (tn) no register */
	int64_t in_flight; /* steps on their way, that on the wires included */
	int64_t in_nfu1;   /* of them, in NFU-1's registers */
};

/* ---- Control (control.c) ---- */

/* An instruction in the NFU's queue. */
struct dn_rtl_issued {
	int64_t index;
	int64_t steps, taken;
	bool reads_nbin, reads_sb;
	int64_t nbin_row, nbin_stride, sb_row; /* of the next step */
	int64_t nbin_freed, sb_freed;          /* at its end rows below these are free; 0: none */
	struct dn_rtl_bundle bundle;
};
/* The rows that are held where decoding is, not where time is. */
struct dn_rtl_held {
	int64_t oldest, next;
};
struct dn_rtl_control {
	struct dn_instruction next;
	bool fetched, ended; /* next is there; END has been decoded */
	int64_t index;       /* of next */
	struct dn_rtl_held nbin, sb;
	int64_t sums;              /* NBout's index */
	uint64_t store_bytes_left; /* of the open store, bytes that no instruction has; 0: no store is open */
	uint64_t store;            /* its number */
	struct dn_rtl_fifo queue;
};

/* ---- The machine ---- */

struct dn_rtl {
	const struct dn_execution *execution;
	struct dn_outcome *outcome;
	const struct dn_config *config;
	struct npl_err *err;
	int rc; /* what stops the run */
	uint64_t cycle;
	bool progress; /* something has happened at this boundary or in this cycle */
	int64_t tn, row_bytes, sb_row_bytes;
	struct dn_rtl_control control;
	struct dn_rtl_dma dma[DN_DMAS];
	struct dn_rtl_port port;
	struct dn_rtl_buffer nbin, sb;
	struct dn_rtl_nbout nbout;
	struct dn_rtl_nfu nfu;
	/* the wires */
	struct dn_rtl_bundle step;
	int64_t step_nbin, step_sb; /* the rows that it reads; -1: none */
	/* the last step that was taken */
	bool stepped;
	uint64_t last_step, last_stages_to_leave; /* its cycle, the stages of its instruction */
};

/* buffers.c */
int dn_rtl_buffers_open(struct dn_rtl *rtl);
void dn_rtl_buffers_close(struct dn_rtl *rtl);

/* dma.c */
int dn_rtl_dma_open(struct dn_rtl *rtl);
void dn_rtl_dma_close(struct dn_rtl *rtl);
/* Memory goes on to the machine's next boundary; requests begin at those of its own that are before it. Whether it has
 * one there. */
bool dn_rtl_memory_follows(struct dn_rtl *rtl);
void dn_rtl_requests_begin(struct dn_rtl *rtl);
void dn_rtl_arrivals(struct dn_rtl *rtl);
/* Something is under way, or its turn has come. */
bool dn_rtl_dma_busy(const struct dn_rtl *rtl);

/* control.c */
int dn_rtl_control_open(struct dn_rtl *rtl);
void dn_rtl_control_close(struct dn_rtl *rtl);
void dn_rtl_end_and_decode(struct dn_rtl *rtl);
/* The program has ended. */
bool dn_rtl_has_ended(const struct dn_rtl *rtl);
/* Puts on the wires the step that is taken in this cycle, or none. */
void dn_rtl_take_step(struct dn_rtl *rtl);

/* nfu.c: all registers move. */
int dn_rtl_nfu_open(struct dn_rtl *rtl);
void dn_rtl_nfu_close(struct dn_rtl *rtl);
void dn_rtl_nfu_clock(struct dn_rtl *rtl);

/* values.c: what the stages make of values. */
/* NFU-1; how many products saturated. */
uint64_t dn_rtl_multiply(bool rounded, int64_t tn, const int16_t *input, const int16_t *synapse, int32_t *product);
/* `first`: step of its instruction. */
void dn_rtl_biases(bool rounded, bool first, int64_t tn, const int16_t *row, int32_t *bias);
/* NFU-2 */
void dn_rtl_trees(int64_t tn, const int32_t *product, int64_t *term);
void dn_rtl_accumulate(const struct dn_rtl_bundle *bundle, int64_t bits, int64_t tn, const int64_t *term, int64_t *sum,
		       int64_t *exact);
/* A maximum that leaves without NFU-3. */
void dn_rtl_shift(const struct dn_rtl_bundle *bundle, int64_t *value, struct dn_counters *counters);
/* NFU-3; `function` NULL: the identity. */
void dn_rtl_function(const struct dn_rtl_bundle *bundle, const struct dn_function *function, int64_t *value,
		     struct dn_counters *counters);

/* counters.c */
void dn_rtl_tell(const struct dn_rtl *rtl, enum dn_event what, int64_t index);
/* This cycle, of the instruction. */
void dn_rtl_attribute(struct dn_rtl *rtl, enum dn_cycle_class what, int64_t index);
void dn_rtl_count_idle(struct dn_rtl *rtl);

#endif
