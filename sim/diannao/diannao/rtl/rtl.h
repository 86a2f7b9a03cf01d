/* SPDX-License-Identifier: MIT
 *
 * The register-level engine of DianNao (Chen et al., ASPLOS 2014, sections 5.2 and 5.3): buffers of rows, DMAs and
 * pipeline registers that a clock advances cycle by cycle. It is the specification of docs/diannao-isa.md, and the fast
 * engine has to agree with it.
 *
 *      program --> control (control.c): decodes ahead, makes requests, keeps a queue for the NFU
 *                     |                         |
 *                     v requests                v the instruction at the head takes a step a cycle
 *      memory <--> port <-- DMA NBin  --> NBin --+--> operands -> NFU-1 -> NFU-2 -> NFU-3
 *      (dma.c)          <-- DMA SB    --> SB ----+                         ^  |       |      (nfu.c, values.c)
 *                       <-- DMA NBout <-- NBout <--------------------------+--+-------+
 *                                      (buffers.c)
 *
 *      what each cycle was, and who observes (counters.c); signals for those who look (signals.c); all of it together,
 *      in the order of a boundary (rtl.c)
 *
 * A cycle begins with its boundary: the registers of the NFU move, then come the six steps of docs/diannao-isa.md,
 * section Time. The last of them decides which row of each buffer is read, or none. That decision is on the wires
 * (`step`) until the next boundary, where the rows are read into the first register.
 *
 * Registers hold values. An execution without values has only what accompanies them (struct dn_rtl_bundle), and the
 * times are the same. Memory has no values: a load's bytes are copied when its rows arrive, a store's when it
 * completes.
 *
 * Not modelled: banks and ports of the buffers, the time of decoding, and the inside of NFU-1's multipliers and NFU-2's
 * trees. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_RTL_RTL_H
#define NPULAB_SIM_DIANNAO_DIANNAO_RTL_RTL_H

#include "npulab/memory.h"
#include "run.h"
#include "sim/common/signals.h"
#include "sim/diannao/diannao/engine/stuck.h"

/* Queues. */

/* A queue. Its elements are numbered from 0 on; it grows as needed. */
struct dn_rtl_fifo {
	void *slot;
	size_t size; /* bytes of an element */
	uint64_t mask, head, tail;
};
bool dn_rtl_fifo_open(struct dn_rtl_fifo *fifo, size_t size, uint64_t capacity);
static inline void *dn_rtl_fifo_at(const struct dn_rtl_fifo *fifo, uint64_t number)
{
	return (char *)fifo->slot + (number & fifo->mask) * fifo->size;
}
/* Appends a zeroed element. Returns its place; NULL: out of memory. */
void *dn_rtl_fifo_push(struct dn_rtl_fifo *fifo);
static inline bool dn_rtl_fifo_empty(const struct dn_rtl_fifo *fifo)
{
	return fifo->head == fifo->tail;
}

/* The buffers (buffers.c). */

/* NBin or SB. Rows are numbered in the order of loading; row i is in place i mod rows. */
struct dn_rtl_buffer {
	int64_t rows, row_values;
	/* rows below these numbers have a place, have arrived, have lost their place */
	int64_t rows_taken, rows_arrived, rows_freed;
	int16_t *value; /* (rows, row_values); NULL: timing only */
};
/* Takes a row that arrives: `size` bytes of it, the rest is 0. `bytes` is read only where there are values. */
void dn_rtl_row_arrives(struct dn_rtl_buffer *buffer, const uint8_t *bytes, size_t size);
const int16_t *dn_rtl_row(const struct dn_rtl_buffer *buffer, int64_t row);

/* NBout, rows of Tn 16-bit places. The first rows hold sums, 16 bits of each of Tn sums in a row; the others are a
 * circular array of results. */
struct dn_rtl_nbout {
	int64_t tn, sum_rows;              /* sum_rows: the rows that Tn sums take */
	int64_t slots;                     /* the number of places for Tn sums */
	int64_t first_result, result_rows; /* the first row of results among all rows; the number of such rows */
	int64_t rows_taken, rows_freed;    /* result rows, numbered in the order in which they are taken */
	int16_t *value;
	int64_t *exact; /* (slots, tn) the sums without wrapping, for counting only */
};
void dn_rtl_sums_read(const struct dn_rtl_nbout *nbout, int64_t index, int64_t *sum, int64_t *exact);
void dn_rtl_sums_write(struct dn_rtl_nbout *nbout, int64_t index, const int64_t *sum, const int64_t *exact);
/* Writes results into the rows from `row` on, of 16 bits each or, if wide, of 32. */
void dn_rtl_results_write(struct dn_rtl_nbout *nbout, int64_t row, const int64_t *result, int64_t lanes, bool wide);
/* Reads `size` bytes from the start of that result row on. */
void dn_rtl_results_read(const struct dn_rtl_nbout *nbout, int64_t row, uint8_t *bytes, uint64_t size);

/* The DMAs (dma.c). */

struct dn_rtl_request {
	/* the index of the instruction that asked for it; of a store, of the one whose results complete it */
	int64_t index;
	uint64_t address, bytes;                /* address and bytes in memory */
	uint64_t issued_bytes, completed_bytes; /* bytes of it */
	int64_t row, rows; /* for a load: the number of rows; for a store: its first row of NBout and its rows so far */
	uint64_t filled_bytes; /* a store's bytes that are in NBout */
};
/* An access that memory has taken. It belongs to one request, so that completions in the order of issue are rows
 * in order. */
struct dn_rtl_access {
	uint64_t bytes;
	bool completed;
};
struct dn_rtl_dma {
	struct dn_rtl_fifo request; /* requests that are decoded and not completed */
	uint64_t issuing;           /* number of the first request of which memory has not taken all */
	struct dn_rtl_fifo access;
};
struct dn_rtl_port {
	struct npl_memory *memory;
	int round_robin;                       /* the DMA whose request is looked at first */
	int owner;                             /* the DMA of whose request memory has taken a part; -1: none */
	uint64_t kept_until;                   /* a boundary of memory's clock */
	uint64_t request_cycles;               /* in cycles of memory's clock */
	uint64_t access_bytes;                 /* 0: memory has no fixed size of accesses */
	int64_t machine_period, memory_period; /* a cycle of the machine and one of memory in a common unit of time */
	int64_t machine_lead; /* by how much the machine's boundary is ahead of memory's, in that unit */
};

/* The NFU (nfu.c, values.c). */

/* What accompanies the values of a step through the pipeline. */
struct dn_rtl_bundle {
	bool present, first, last; /* first, last: it is the first, the last step of its instruction */
	bool stores;               /* it is the last step, and `lanes` results go to the rows from `row` on */
	bool wide;                 /* results have 32 bits */
	uint8_t nfu1, nfu2, in, out, nfu3;
	int16_t shift, result_shift;
	uint32_t divisor;
	int64_t sums; /* the index of NBout */
	int64_t lanes, row, rows;
	uint64_t store; /* number of the store's request */
};
/* Consecutive registers, of which indices move and not the contents: register k is in place (newest + k) mod n. */
struct dn_rtl_pipe {
	int64_t n, newest;
	struct dn_rtl_bundle *bundle;
};
struct dn_rtl_nfu {
	int64_t tn;
	/* NFU-1's first register: the operands. */
	struct dn_rtl_bundle operands;
	int16_t *input, *synapse; /* (tn), (tn, tn) [output][input] */
	/* The row of NBin that was read last, and the rows that were multiplied last, for the activity of operands. */
	int16_t *last_input, *last_factor, *last_synapse;
	/* NFU-1's other registers and NFU-2's first: (tn, tn) products, or biases or inputs in the first tn of them. */
	struct dn_rtl_pipe product;
	int32_t *products;
	/* NFU-2's other registers: a term for each output. After these come the registers of the sums. */
	struct dn_rtl_pipe term;
	int64_t *terms;
	int64_t *sum, *exact; /* (tn); exact: without wrapping, for counting only */
	/* NFU-3's registers: sums in the first, results in the others. */
	struct dn_rtl_pipe result;
	int64_t *results;
	int64_t *scratch;  /* (tn) working space, not a register */
	int64_t in_flight; /* steps in the pipeline, including the one on the wires */
	int64_t in_nfu1;   /* the steps of `in_flight` that are in NFU-1's registers */
};

/* The control (control.c). */

/* An instruction in the NFU's queue. */
struct dn_rtl_issued {
	int64_t index;
	int64_t steps, steps_taken;
	bool reads_nbin, reads_sb;
	int64_t nbin_row, nbin_stride, sb_row; /* the rows of the next step */
	int64_t nbin_freed, sb_freed;          /* rows below these are free at its end; 0: it frees none */
	struct dn_rtl_bundle bundle;
};
/* The rows that are held at the instruction to be decoded, not at the present time. */
struct dn_rtl_held {
	int64_t oldest, next;
};
struct dn_rtl_control {
	struct dn_instruction next;
	bool fetched, ended; /* fetched: `next` holds an instruction; ended: END has been decoded */
	int64_t index;       /* the index of `next` */
	struct dn_rtl_held nbin, sb;
	int64_t sums;              /* the index of NBout */
	uint64_t store_bytes_left; /* bytes of the open store that no instruction fills yet; 0: no store is open */
	uint64_t store;            /* number of the open store's request */
	struct dn_rtl_fifo queue;
};

/* The machine. */

struct dn_rtl {
	const struct dn_engine_input *engine_input;
	struct dn_outcome *outcome;
	const struct dn_config *config;
	struct npl_err *err;
	int rc; /* the error that stops the execution */
	uint64_t cycle;
	bool progress; /* something has happened at this boundary or in this cycle */
	int64_t tn, row_bytes, sb_row_bytes;
	struct dn_rtl_control control;
	struct dn_rtl_dma dma[DN_DMAS];
	struct dn_rtl_port port;
	struct dn_rtl_buffer nbin, sb;
	struct dn_rtl_nbout nbout;
	struct dn_rtl_nfu nfu;
	/* The wires. */
	struct dn_rtl_bundle step;
	int64_t step_nbin, step_sb; /* the rows that the step reads; -1: none */
	/* The last step that was taken. */
	bool stepped;
	/* the last step's cycle; the stages that its instruction goes through */
	uint64_t last_step, last_stages_to_leave;
	struct sim_signals *signals; /* those that are told; NULL: none are */
	struct dn_counters counted;  /* up to the last cycle whose signals were read */
};

/* Functions of signals.c. open() tells the sink of the input, which may be NULL, which signals come. tell() reads the
 * signals of the cycle and tells the sink what has changed; it needs rtl->signals. */
int dn_rtl_signals_open(struct dn_rtl *rtl);
void dn_rtl_signals_tell(struct dn_rtl *rtl);

/* Functions of buffers.c. */
int dn_rtl_buffers_open(struct dn_rtl *rtl);
void dn_rtl_buffers_close(struct dn_rtl *rtl);

/* Functions of dma.c. */
int dn_rtl_dma_open(struct dn_rtl *rtl);
void dn_rtl_dma_close(struct dn_rtl *rtl);
/* Takes memory to the machine's next boundary. Requests begin at memory's own boundaries before it. Says whether one of
 * memory's boundaries coincides with the machine's. */
bool dn_rtl_memory_follows(struct dn_rtl *rtl);
void dn_rtl_requests_begin(struct dn_rtl *rtl);
void dn_rtl_arrivals(struct dn_rtl *rtl);
/* Says whether anything is under way, or the turn of a request has come. */
bool dn_rtl_dma_busy(const struct dn_rtl *rtl);

/* Functions of control.c. */
int dn_rtl_control_open(struct dn_rtl *rtl);
void dn_rtl_control_close(struct dn_rtl *rtl);
void dn_rtl_end_and_decode(struct dn_rtl *rtl);
/* Says whether the program has ended. */
bool dn_rtl_has_ended(const struct dn_rtl *rtl);
/* Puts the step that is taken in this cycle on the wires, or none. */
void dn_rtl_take_step(struct dn_rtl *rtl);

/* Functions of nfu.c. dn_rtl_nfu_clock() moves all registers. */
int dn_rtl_nfu_open(struct dn_rtl *rtl);
void dn_rtl_nfu_close(struct dn_rtl *rtl);
void dn_rtl_nfu_clock(struct dn_rtl *rtl);

/* Functions of values.c, which compute what the stages do to values. */
/* Multiplies, as NFU-1 does. Returns how many products saturated. */
uint64_t dn_rtl_multiply(bool rounded, int64_t tn, const int16_t *input, const int16_t *synapse, int32_t *product);
/* Add a row of NBin that a step reads to the activity of operands, and the rows that it multiplies. The rows become
 * last_input, last_factor and last_synapse. */
void dn_rtl_count_input(int64_t tn, const int16_t *input, int16_t *last_input, struct dn_counters *counters);
void dn_rtl_count_products(int64_t tn, const int16_t *input, const int16_t *synapse, int16_t *last_factor,
			   int16_t *last_synapse, struct dn_counters *counters);
/* Reads the biases in a row of SB into bias[]. `first` says that the step is the first one of its instruction. */
void dn_rtl_biases(bool rounded, bool first, int64_t tn, const int16_t *row, int32_t *bias);
/* Adds up the products of each output, as the trees of NFU-2 do. */
void dn_rtl_trees(int64_t tn, const int32_t *product, int64_t *term);
void dn_rtl_accumulate(const struct dn_rtl_bundle *bundle, int64_t bits, int64_t tn, const int64_t *term, int64_t *sum,
		       int64_t *exact);
/* Shifts a maximum that leaves without NFU-3. */
void dn_rtl_shift(const struct dn_rtl_bundle *bundle, int64_t *value, struct dn_counters *counters);
/* Applies a function, as NFU-3 does. `function` NULL is the identity. */
void dn_rtl_function(const struct dn_rtl_bundle *bundle, const struct dn_function *function, int64_t *value,
		     struct dn_counters *counters);

/* Functions of counters.c. */
void dn_rtl_tell(const struct dn_rtl *rtl, enum dn_event event, int64_t index);
/* Counts this cycle in the class `cycle_class`, for the instruction. */
void dn_rtl_attribute(struct dn_rtl *rtl, enum dn_cycle_class cycle_class, int64_t index);
void dn_rtl_count_idle(struct dn_rtl *rtl);

#endif
