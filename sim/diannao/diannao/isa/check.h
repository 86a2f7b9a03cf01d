/* SPDX-License-Identifier: MIT
 *
 * Checks whether a program of DianNao can be run on a machine (docs/diannao-isa.md, Rules), before it runs. A program
 * has no jumps, so one walk in program order sees everything that will happen. The walk keeps what buffers, sums and
 * memory will hold. It costs the same for every instruction, so that the streams of millions of instructions that are
 * made of layers can be checked too:
 *
 *     struct dn_check check = {.config = &config, .memory_bytes = UINT64_MAX, .source = "conv1"};
 *     rc = dn_check_begin(&check, err);
 *     while (!rc && next(&instruction))
 *         rc = dn_check_one(&check, &instruction, 0, err);
 *     if (!rc)
 *         rc = dn_check_end(&check, err);
 *     dn_check_close(&check);
 */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_ISA_CHECK_H
#define NPULAB_SIM_DIANNAO_DIANNAO_ISA_CHECK_H

#include "isa.h"
#include "sim/common/accesses.h"
#include "sim/diannao/diannao/dn.h"

/* A queue of rows, NBin or SB. Rows are numbered from the first that was ever appended. */
struct dn_queue {
	const char *name;
	int64_t rows, row_bytes;         /* the buffer's rows, and the bytes of one */
	int64_t rows_freed, rows_loaded; /* rows freed and loaded so far */
	int64_t rows_arrived;            /* rows before this one have arrived, as a step has needed the last of them */
};

/* The loads and stores since the last CP SYNC: bytes stored, and loads that may not have arrived (check_memory.c). */
struct dn_load {
	struct sim_access access; /* bytes */
	const struct dn_queue *queue;
	int64_t rows_end; /* the row after the last one that it loads */
};
struct dn_memory_order {
	struct sim_accesses stores;
	struct dn_load *load;
	int64_t count, capacity;
};

struct dn_check {
	/* The caller sets these. */
	const struct dn_config *config;
	int n_functions;
	uint64_t memory_bytes; /* UINT64_MAX: not known */
	bool memory_order;     /* also checks whether loads and stores overlap, at logarithmic cost */
	const char *source;    /* names the program in messages */
	/* The walk sets these. */
	struct npl_err *err;
	struct sim_source_location location;
	bool ended;
	struct dn_queue sb, nbin;
	int64_t index, indices;           /* the index of NBout; the number of indices */
	bool *sums;                       /* by index: whether sums were written */
	bool sums_kept;                   /* NFU-2 keeps sums */
	int64_t store_left;               /* bytes that the open store still waits for */
	int64_t store_width;              /* bytes of each of its results */
	struct sim_source_location store; /* the instruction that opened it */
	struct dn_memory_order order;
};

/* These check a program instruction by instruction. They return 0, NPL_ENOMEM, or NPL_EINPUT "SOURCE:LINE: what is
 * wrong and what was expected"; without lines it is "SOURCE: instruction I: ...". Call dn_check_close after
 * dn_check_begin, whatever that returned. */
int dn_check_begin(struct dn_check *check, struct npl_err *err);
int dn_check_one(struct dn_check *check, const struct dn_instruction *instruction, int line, struct npl_err *err);
int dn_check_end(struct dn_check *check, struct npl_err *err);
void dn_check_close(struct dn_check *check);

/* Checks a whole program, including the order in memory. memory_bytes is that of struct dn_check. */
int dn_program_check(const struct dn_config *config, uint64_t memory_bytes, const struct sim_program *program,
		     const char *source, struct npl_err *err);
/* Finds the bytes of memory that a checked program stores, from *first to before *end; equal: none. */
void dn_program_written(const struct sim_program *program, uint64_t *first, uint64_t *end);
/* Returns the byte after the last one that the program loads or stores. */
uint64_t dn_program_memory(const struct sim_program *program);

#endif
