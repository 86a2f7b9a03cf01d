/* SPDX-License-Identifier: MIT
 *
 * Buffers on chip: how many accesses they take in a cycle, what each costs, and double buffers of two halves that
 * change places.
 *
 * A buffer has rows of row_bytes in `banks` banks; row r is in bank r % banks. In one cycle a bank takes as many reads
 * as it has read ports, as many writes as it has write ports, and one more of either on each shared port. An access
 * that is refused is tried again in the next cycle; each refusal is a cycle waited and is counted.
 *
 *     for (each access, the most urgent first)
 *         if (npl_sram_access(sram, cycle, row, is_write)) ...done... else ...again in cycle + 1...
 *
 * Nothing here holds values. Not modelled: the latency of a row (a pipeline stage of the machine that reads it), bytes
 * enabled one by one, leakage.
 */
#ifndef NPULAB_SIM_MEMORY_SRAM_H
#define NPULAB_SIM_MEMORY_SRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/error.h"
#include "npulab/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_sram_config {
	int64_t rows, row_bytes, banks;                /* rows: of all banks together */
	int64_t read_ports, write_ports, shared_ports; /* of one bank */
	double read_pj, write_pj;                      /* of one access to a row */
	const char *origin;                            /* of both energies; "absent": not known */
};

struct npl_sram_counters {
	uint64_t reads, writes;           /* accesses done */
	uint64_t read_waits, write_waits; /* refused accesses */
};

struct npl_sram;

/* Opens a buffer. NPL_EINPUT: no rows, more banks than rows, or a bank that cannot be read or written; `where` opens
 * the message. The config is copied, its strings are borrowed. */
int npl_sram_open(const struct npl_sram_config *config, const char *where, struct npl_sram **sram, struct npl_err *err);
void npl_sram_close(struct npl_sram *sram); /* accepts NULL */
void npl_sram_reset(struct npl_sram *sram);
uint64_t npl_sram_bytes(const struct npl_sram_config *config);

/* Returns whether this access can be done in this cycle, and then does it. Cycles never go back; row is below
 * config.rows. */
bool npl_sram_access(struct npl_sram *sram, uint64_t cycle, int64_t row, bool is_write);
const struct npl_sram_counters *npl_sram_counters(const struct npl_sram *sram);
/* Computes what the accesses cost, in the parts of a memory's energy (npulab/memory.h). */
#define NPL_SRAM_ENERGIES 2
void npl_sram_energy(const struct npl_sram *sram, struct npl_memory_energy energy[NPL_SRAM_ENERGIES]);

/* Two halves that are filled and drained in turn: fill k and drain k are of half k % 2. A fill waits until its half has
 * been drained, a drain until its half has been filled. The caller knows how long each takes, and goes through them in
 * any order that can_fill and can_drain allow. Zero the struct at the start. */
struct npl_double_buffer {
	uint64_t fills, drains;                       /* numbers of fills and drains that have ended */
	uint64_t fill_wait_cycles, drain_wait_cycles; /* cycles from being ready to the beginning */
	uint64_t filled[2], drained[2];               /* the boundary at which this half was last filled, drained */
};
bool npl_double_can_fill(const struct npl_double_buffer *buffer);
bool npl_double_can_drain(const struct npl_double_buffer *buffer);
/* These begin the next fill or drain, when the other side is ready for it at `ready`, and return the boundary at which
 * it begins; the functions ending in _end say when it has ended. */
uint64_t npl_double_fill_begin(struct npl_double_buffer *buffer, uint64_t ready);
void npl_double_fill_end(struct npl_double_buffer *buffer, uint64_t end);
uint64_t npl_double_drain_begin(struct npl_double_buffer *buffer, uint64_t ready);
void npl_double_drain_end(struct npl_double_buffer *buffer, uint64_t end);

#ifdef __cplusplus
}
#endif

#endif
