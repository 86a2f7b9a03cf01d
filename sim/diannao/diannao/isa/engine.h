/* SPDX-License-Identifier: MIT
 *
 * The two engines and what they agree on. `rtl` goes through every cycle and every value of the pipeline (rtl.h): it is the specification.
 * `fast` goes from event to event (fast.h). They share the instructions, the configuration, the segments' limits and coefficients, and the
 * memory behind the port; no timing, no arithmetic and no counting.
 *
 * Times. Boundary t is the instant between cycles t - 1 and t. At a boundary, in this order:
 *
 *   1. What memory has completed by then arrives: SB rows one by one, NBin rows of a request together, both in program order; a store's
 *      rows of NBout are free, those of stores before it first.
 *   2. The instruction at the head of the NFU's queue ends if its last step was in the cycle before; so does, at once, one without steps
 *      that comes to the head. Its freed rows are free, though they may still have to arrive.
 *   3. The control processor decodes: at most dma.queue instructions are decoded and have not ended, and one that loads waits while
 *      its DMA holds dma.queue loads that have not arrived. Decoding takes no time. A SYNC is
 *      decoded when everything before it has ended: steps, the pipeline's way, requests (a store that is not full is none yet). Steps 2
 *      and 3 repeat while they change anything.
 *   4. Requests begin. Three DMAs, NBin, SB and NBout, share the port, a request at a time, none interrupted, round robin in this
 *      order from the one after the last that had it. A load's turn comes when it is the first of its DMA and the buffer has room for all
 *      its rows, which it takes then; a store's when it is the first and all its results are in NBout. The port is free again for the
 *      next request when the memory has taken all accesses of this one (at this boundary too) and dma.request_cycles have passed since it
 *      began. A request begins at a boundary at which the memory takes its first access; where it refuses that of the first in the order,
 *      none begins, and at the next boundary the order is looked at again. Accesses are cut at multiples of the memory's access_bytes (and
 *      nowhere else: one may hold bytes of several SB rows) or, where it has none, every dma.burst_bytes from the start of the SB row,
 *      or of the request of NBin and NBout.
 *   5. What an ideal memory completed at once arrives.
 *   6. In cycle t the instruction at the head takes its next step if the NBin row and the SB row of that step have arrived and, for the last
 *      step of a STORE, NBout has room for its rows of results, which it takes then. One without an NFU-1 OP does not overtake others:
 *      in NFU-1's stages cycles after a step with one it takes none. Cycles in which it cannot are waited: for SB if its row is missing,
 *      else for NBin if its row is, else for NBout if it has no room, else they are nfu_fill.
 *
 * A result whose last step was in cycle t is in NBout at boundary t + 1 + stages: those of NFU-1 unless its op is NOP, of NFU-2, and of NFU-3
 * if NFU-2 OUT is NFU3. NBout's first nbout.sum_rows rows hold sums, dn_sum_rows of them at each index; the others hold results until
 * they are stored, two rows for Tn sums of 32 bits, else one. The prefetch latch of the paper makes reading sums free.
 *
 * A program ends at the first boundary at which all steps, their way through the pipeline and all requests have ended. Idle cycles, in
 * which no instruction with steps is there: the first `stages` (of its instruction) after the last step are nfu_fill; of the others those
 * with a store that has not completed, or full or open, are wait_nbout, else those with an SB load, wait_sb, else wait_nbin.
 *
 * Values. Instructions work on NFU-2's registers and NBout's sums one after the other. MAX compares what the registers hold; of a group that
 * ends with it nothing is counted in sum_wraps, and what ADD adds to after it is exact. nbout_rows: rows of sums read and written, of
 * results written.
 *
 * Where memory has a clock of its own: what happens in the machine at boundary t is seen by the DMAs at the first boundary of memory at or
 * after it, and what happens in memory is seen by the machine at its first boundary at or after it. dma.request_cycles are counted in memory's clock, rounded up.
 */
#ifndef DIANNAO_ENGINE_H
#define DIANNAO_ENGINE_H

#include "isa.h"
#include "sim/common/observer.h"
#include "sim/diannao/diannao/dn.h"

#define DN_LONGEST_SECONDS 400000000 /* of a run, 12 years: 4e18 cycles of the fastest clock are within 63 bits */

#define DN_UNIT_LEVELS 12

/* A program, instruction by instruction, the last one with DN_CP_END. */
struct dn_source {
	void *state;
	void (*next)(void *state, struct dn_instruction *instruction);
	/* Optional, both or none; asked before an instruction is. What comes next begins a unit of so many, this one included, that are
	 * alike but for addresses in memory: so many at each level, the outermost first; 0: none begins. A unit lies within one of any
	 * level before its own, and begins and ends with no store open. Sums may be kept: times do not depend on them. */
	void (*alike)(void *state, int64_t units[DN_UNIT_LEVELS]);
	void (*skip)(void *state, int level, int64_t units); /* of those */
};

enum dn_event { DN_DECODED, DN_NBIN_ARRIVED, DN_SB_ARRIVED, DN_STARTED, DN_ENDED, DN_STORED, DN_EVENTS };

/* What cycles are spent on: each is one of these. */
enum dn_spending {
	DN_SPENT_ACTIVE,
	DN_SPENT_WAIT_SB,
	DN_SPENT_WAIT_NBIN,
	DN_SPENT_WAIT_NBOUT,
	DN_SPENT_FILL,
	DN_SPENDINGS
};

/* An observer (sim/common/observer.h) of these engines is told of every event, not in the order of their times. An event's index
 * is that of the instruction: the one that decoded, that asked for the load (all its rows have arrived), whose first step is in the
 * cycle, that ended, whose results completed the store. Spans are all cycles, in the order of time; their instruction is the one at
 * the head of the NFU's queue or, while there is none, the next to be decoded, or, behind the last, that one. */

struct dn_run {
	const struct dn_config *config;
	struct dn_source source;
	int n_functions;
	const struct dn_function *function; /* of NFU-3 OP 1 on */
	uint8_t *bytes;                     /* the memory's from address 0, size of them; NULL: timing only */
	uint64_t size;
	struct npl_memory *memory; /* reset by the engine; its clock, too, is then at the end of the program */
	const struct sim_observer *observer; /* NULL: nobody */
	/* What came of it. */
	uint64_t cycles;
	struct dn_counters counters; /* useful_macs: all lanes of steps of MULT */
	struct npl_memory_counters moved;
};

/* The program has been checked (check.h). NPL_ENOMEM; NPL_EINPUT: longer than 4e8 s. */
int dn_run_rtl(struct dn_run *run, struct npl_err *err);
int dn_run_fast(struct dn_run *run, struct npl_err *err);

#endif
