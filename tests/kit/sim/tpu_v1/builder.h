/* SPDX-License-Identifier: MIT
 *
 * A valid program of the systolic machines under construction (docs/tpu-isa.md): sets the configuration registers that
 * an instruction needs, puts the syncs that its hazards need before it, and knows whether what has been written so far
 * can come to its end. Attempts that lead nowhere are taken back. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_BUILDER_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_BUILDER_H

#include "liveness.h"
#include "tests/kit/support.h"

/* How a program is written; drawn anew for each. */
struct builder_mood {
	int noise_percent;  /* needless set_configs, nops, syncs */
	int late_percent;   /* weights and tables asked for after the instruction that needs them */
	int prefetch;       /* the most tiles or tables asked for at once */
	int switch_percent; /* matrix instructions that switch */
	int steady_percent; /* instructions that leave the registers as they are for the one before */
	int convolve_percent, inputs16_percent, high_weights_percent, zero_point_percent;
	int activate_percent; /* of the chances to take results out of the accumulators */
	int from_buffer_percent, raw_percent, packed_percent, pooling_percent, host_percent;
	int64_t most_vectors; /* of a matrix instruction or an activate */
	bool extreme_scales;
};

/* The last instruction of a unit, to be repeated elsewhere as long as the registers stay the same. */
struct builder_again {
	struct tpu_instruction in;
	struct tpu_registers registers;
	int64_t rows, low, high, plane_rows; /* matrix: of the tensor; rows read of it; to its high plane */
	int64_t results, row_pixels, planes; /* activate: result vectors, per row, and planes of the result */
};

struct builder {
	uint64_t rng;
	struct tpu_config config;
	struct builder_mood mood;
	int64_t row_bytes, buffer_rows, host_bytes;
	int64_t tile_rows, table_rows, tables; /* of weight memory: tiles from row 0, then tables */
	struct sim_program program;
	struct tpu_registers registers; /* as the next instruction finds them */
	uint16_t *row_touched;  /* (buffer_rows) bit 2u: unit u has read it, 2u + 1: written, since its last sync */
	uint16_t *byte_touched; /* (host_bytes) likewise */
	int32_t (*order)[TPU_UNITS];
	struct liveness liveness;
	bool stuck; /* an instruction since the last save cannot issue, or is one too many */
	bool no_memory;
	int64_t tiles_asked, tiles_used, tables_asked, tables_used; /* by read_weights; by switches */
	int64_t block, block_rows;   /* accumulator rows that the last chain of matrix instructions wrote */
	int64_t result, result_rows; /* buffer rows that the last activate wrote */
	struct builder_again matrix_again, activate_again;
	int64_t read_first, read_end; /* buffer rows that the last matrix instruction read */
};

/* False: no memory. */
bool builder_open(struct builder *b, uint64_t seed, const struct tpu_config *config, int64_t host_bytes);
/* The program and the config stay the caller's; close frees everything else. */
void builder_close(struct builder *b);

bool builder_chance(struct builder *b, int percent);
int64_t builder_range(struct builder *b, int64_t low, int64_t high);
/* Small numbers often, the most now and then. */
int64_t builder_size(struct builder *b, int64_t limit);

/* What an instruction touches: rows of the unified buffer, or bytes of host memory. */
struct builder_touch {
	int64_t first, count;
	bool writes, host;
};
enum { BUILDER_TOUCHES = 12 };
struct builder_footprint {
	struct builder_touch touch[BUILDER_TOUCHES];
	int touches;
};
void builder_touches(struct builder_footprint *f, int64_t first, int64_t count, bool writes, bool host);
/* Units that must be waited for before `unit` may touch this, as sync's flags. */
unsigned builder_hazards(const struct builder *b, enum tpu_unit unit, const struct builder_footprint *f);

/* A register's value for what follows. */
void builder_set(struct builder *b, enum tpu_register r, uint32_t value);
void builder_set_float(struct builder *b, enum tpu_register r, float value);
/* The sync that the footprint needs, if any. */
void builder_order(struct builder *b, enum tpu_unit unit, const struct builder_footprint *f);
/* Whether `again` can be emitted as it is: its unit's registers (a range of them) hold what they held. */
bool builder_steady(struct builder *b, const struct builder_again *again, enum tpu_register first,
		    enum tpu_register last);
/* Appends; a unit's instruction is taken to touch `f` (NULL: nothing) from here on. */
void builder_emit(struct builder *b, struct tpu_instruction in, const struct builder_footprint *f);

/* Whether the program so far can be ended, by asking for what is waited for and taking what waits. Does so for good
 * when `write` says so. */
bool builder_can_end(struct builder *b, bool write);

/* Where a program stood, to go back to. */
struct builder_mark {
	struct tpu_registers registers;
	struct liveness liveness;
	int64_t count, tiles_asked, tiles_used, tables_asked, tables_used, block, block_rows, result, result_rows;
	uint16_t *row_touched, *byte_touched;
};
bool builder_save(const struct builder *b, struct builder_mark *mark);
/* Goes back, or with `keep` does not; frees what the mark holds. */
void builder_restore(struct builder *b, struct builder_mark *mark, bool keep);

#endif
