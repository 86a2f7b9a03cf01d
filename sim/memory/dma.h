/* SPDX-License-Identifier: MIT
 *
 * DMA engines in front of a memory port. An engine has a queue of descriptors, each of which names up to three
 * dimensions of bytes in memory. It cuts these into the memory's accesses, keeps some accesses under way, and completes
 * its descriptors in order. All engines share one port, round robin: after an access has been taken the next engine has
 * the first turn, and one that is refused or has nothing to ask does not hold up the others. With whole_requests a
 * request is served to its end before the next one begins.
 *
 *     while (more && npl_dma_can_push(dma, engine))
 *         npl_dma_push(dma, engine, &descriptor), next(&descriptor);
 *     npl_dma_advance(dma, until, true);
 *     while (npl_dma_completed(dma, engine, &completion))
 *         ...
 *
 * Accesses are cut at multiples of the memory's access_bytes or, where it has none, every burst_bytes from the start of
 * a row. Rows that follow each other without a gap are one row, so a stream costs what its bytes do. Other rows are cut
 * each by itself, and two rows that touch the same access ask for it twice. Descriptors share nothing, except with
 * `more`.
 *
 * Time is in cycles of the memory's clock. Skipping and stepping give the same: an engine's next request can change
 * only by a completion, by room in the memory, by a push, or in the next cycle where accesses_per_cycle ran out.
 * Nothing here holds values. The fast engine of DianNao uses these engines; its rtl engine has its own.
 */
#ifndef NPULAB_SIM_MEMORY_DMA_H
#define NPULAB_SIM_MEMORY_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/error.h"
#include "npulab/memory.h"
#include "relative_state.h"

#ifdef __cplusplus
extern "C" {
#endif

struct npl_dma_config {
	int64_t engines;            /* 1 to 64 */
	int64_t queue;              /* descriptors that an engine holds, including those completed and not taken */
	int64_t outstanding;        /* the most accesses of an engine that are under way; 0: no limit */
	int64_t accesses_per_cycle; /* the most of all engines together; 0: as many as the memory takes */
	int64_t burst_bytes;        /* bytes of an access where the memory has no access_bytes; 0: a whole row */
	/* If true, the port serves one request at a time, and the engines take turns by requests; if false, they take
	 * turns by accesses. A request is one row of a descriptor. It begins at the boundary at which the memory takes
	 * its first access. While the memory refuses the first access of the engine whose turn it is, no other request
	 * begins. A request keeps the port until its last access has been taken, and for at least request_cycles. */
	bool whole_requests;
	int64_t request_cycles;
};

/* Bytes to read or write: count[0] rows of row_bytes, stride[0] apart, and count[1] planes of such rows, stride[1]
 * apart. A count of 0 means 1. A descriptor without bytes completes as soon as it is its turn. */
struct npl_dma_descriptor {
	uint64_t address, row_bytes;
	uint64_t count[2];
	int64_t stride[2]; /* bytes from the start of one row or plane to the start of the next */
	uint64_t tag;      /* a number with any meaning to the asker */
	bool is_write;
	/* The following matter with whole_requests only. */
	bool separate_rows; /* rows are requests of their own even where there is no gap between them */
	/* The request of the last row goes on with the engine's next descriptor. An access of the memory that this row
	 * and rows of the next descriptors touch side by side is one access, if these descriptors are there when it is
	 * asked for and have one row each. */
	bool continues;
};

struct npl_dma;

/* Opens the engines. The memory is borrowed until npl_dma_close, and nothing else may use it. NPL_EINPUT: the config is
 * out of range. */
int npl_dma_open(struct npl_memory *memory, const struct npl_dma_config *config, struct npl_dma **dma,
		 struct npl_err *err);
void npl_dma_close(struct npl_dma *dma); /* accepts NULL */
/* Makes queues this long, unless they are longer. NPL_ENOMEM, NPL_EINPUT. */
int npl_dma_lengthen(struct npl_dma *dma, int64_t queue, struct npl_err *err);

bool npl_dma_can_push(const struct npl_dma *dma, int engine);
/* Pushes a descriptor. Call it only where npl_dma_can_push said yes. */
void npl_dma_push(struct npl_dma *dma, int engine, const struct npl_dma_descriptor *descriptor);
/* Goes up to boundary `until`; with stop, no further than the first boundary at which a descriptor's completion can be
 * taken. This is the same as going there cycle by cycle, but faster. A descriptor that was pushed at the present
 * boundary issues its first accesses at that boundary. Says whether there is a completion to take. */
bool npl_dma_advance(struct npl_dma *dma, uint64_t until, bool stop);
/* Takes the engine's next completion. Returns false where none has come. */
bool npl_dma_completed(struct npl_dma *dma, int engine, struct npl_memory_completion *completion);
uint64_t npl_dma_kept_until(const struct npl_dma *dma); /* the boundary of the memory before which no request begins */
/* Returns the number of descriptors of all engines that were pushed and whose completions were not taken. */
uint64_t npl_dma_pending(const struct npl_dma *dma);
/* Appends everything that decides later times, including the memory's state, relative to now and without addresses;
 * tags of descriptors as they are. Returns false where time depends on addresses, or the memory cannot give its
 * state. */
bool npl_dma_relative_state(const struct npl_dma *dma, struct npl_memory_words *words);

#ifdef __cplusplus
}
#endif

#endif
