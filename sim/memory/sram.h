/* SPDX-License-Identifier: MIT
 *
 * Buffers on chip: how many accesses they take in a cycle, what each costs, and two halves that change places.
 *
 * A buffer has rows of row_bytes in `banks` banks, row r in bank r % banks. In one cycle a bank takes as many reads as
 * it has read ports, as many writes as it has write ports, and on each shared port one more of either. Who asks in vain
 * asks again in the next cycle; each asking in vain is a cycle waited, and is counted.
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
	const char *origin;                            /* of these two; "absent": not known */
};

struct npl_sram_counters {
	uint64_t reads, writes;           /* accesses done */
	uint64_t read_waits, write_waits; /* asked in vain */
};

struct npl_sram;

/* NPL_EINPUT: no rows, more banks than rows, a bank that cannot be read or written; `where` opens the message. The
 * config is copied, its strings are borrowed. */
int npl_sram_open(const struct npl_sram_config *config, const char *where, struct npl_sram **sram, struct npl_err *err);
void npl_sram_close(struct npl_sram *sram); /* accepts NULL */
void npl_sram_reset(struct npl_sram *sram);
uint64_t npl_sram_bytes(const struct npl_sram_config *config);

/* May this access be done in this cycle? Cycles never go back; row is below config.rows. */
bool npl_sram_access(struct npl_sram *sram, uint64_t cycle, int64_t row, bool is_write);
const struct npl_sram_counters *npl_sram_counters(const struct npl_sram *sram);
/* What the accesses cost, in the terms of a memory's energy (npulab/memory.h). */
#define NPL_SRAM_ENERGIES 2
void npl_sram_energy(const struct npl_sram *sram, struct npl_memory_energy energy[NPL_SRAM_ENERGIES]);

/* Two halves in turn: fill k and drain k are of half k % 2. A fill waits until its half has been drained, a drain
 * until its half has been filled. The caller knows how long each takes, and goes through them in any order that
 * can_fill and can_drain allow. Zeroed at the start. */
struct npl_double_buffer {
	uint64_t fills, drains;                       /* ended */
	uint64_t fill_wait_cycles, drain_wait_cycles; /* from ready to begin */
	uint64_t filled[2], drained[2];               /* boundary at which this half last was */
};
bool npl_double_can_fill(const struct npl_double_buffer *buffer);
bool npl_double_can_drain(const struct npl_double_buffer *buffer);
/* The boundary at which the next one begins, when the other side is ready for it at `ready`; then the boundary at
 * which it has ended. */
uint64_t npl_double_fill_begin(struct npl_double_buffer *buffer, uint64_t ready);
void npl_double_fill_end(struct npl_double_buffer *buffer, uint64_t end);
uint64_t npl_double_drain_begin(struct npl_double_buffer *buffer, uint64_t ready);
void npl_double_drain_end(struct npl_double_buffer *buffer, uint64_t end);

#ifdef __cplusplus
}
#endif

#endif
