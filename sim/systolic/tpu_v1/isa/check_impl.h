/* SPDX-License-Identifier: MIT
 *
 * The inside of the check of programs: the walk through a program with the configuration registers as each
 * instruction finds them, and what an instruction touches of the unified buffer and of host memory. Rules of one
 * instruction are in check_registers.c, check_matrix.c and check_activate.c, those between units in check_hazards.c. */
#ifndef NPULAB_SIM_SYSTOLIC_TPU_V1_ISA_CHECK_IMPL_H
#define NPULAB_SIM_SYSTOLIC_TPU_V1_ISA_CHECK_IMPL_H

#include "check.h"

#define TPU_MAX_ACCESSES 8 /* activate: two planes of source, two of operand, four of result */

struct tpu_check {
	const struct tpu_config *config;
	const struct sim_program *program;
	const struct tpu_memory *memory; /* may be NULL */
	const char *source;
	struct npl_err *err;
	int64_t index; /* the index of the instruction that is checked */
	const struct tpu_instruction *instruction;
	struct tpu_registers registers;
	struct tpu_access access[TPU_MAX_ACCESSES]; /* the accesses of this instruction */
	int n_accesses;
	int64_t tiles, tables;                 /* tiles and tables that read_weights brings in the whole program */
	int64_t tile_switches, table_switches; /* switches so far */
	/* Gets the accesses of each instruction; NULL: they are only checked. */
	void (*on_access)(void *context, int64_t instruction, const struct tpu_access *access);
	void *context;
};

static inline int64_t tpu_register_value(const struct tpu_check *check, enum tpu_register r)
{
	if (tpu_register_values[r].low < 0)
		return tpu_signed(&check->registers, r);
	return check->registers.value[r];
}

/* Fails with "SOURCE:LINE: NAME: ..." or "SOURCE: instruction I: NAME: ...". */
#define tpu_refuse(check, ...)                                                                                         \
	sim_refuse((check)->err, (check)->source,                                                                      \
		   &(struct sim_source_location){(check)->index, (check)->program->line[(check)->index]},              \
		   &tpu_instruction_set, (check)->instruction, __VA_ARGS__)

/* These return sums and products of numbers >= 0, or the greatest number instead of an overflow. */
static inline int64_t tpu_saturating_sum(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
static inline int64_t tpu_saturating_product(int64_t a, int64_t b)
{
	int64_t product;
	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* These check registers. They return 0, or what tpu_refuse returned. */
int tpu_check_register(struct tpu_check *check, enum tpu_register r, int64_t low, int64_t high);
int tpu_check_scale(struct tpu_check *check, enum tpu_register r);
/* Checks that register r holds a zero point of that type. */
int tpu_check_zero_point(struct tpu_check *check, enum tpu_register r, enum tpu_type type);
/* Checks a layout of vectors in rows of which lanes first_lane to first_lane + lanes - 1 are used. */
int tpu_check_layout(struct tpu_check *check, enum tpu_register pixel_lanes, enum tpu_register row_pixels,
		     enum tpu_register first_lane, int64_t lanes);
/* Checks the window registers; dilated: the dilations too (pooling has none). */
int tpu_check_window(struct tpu_check *check, bool dilated);
int tpu_check_accumulators(struct tpu_check *check, const char *does);
/* Notes an access for the hazards between units. */
void tpu_check_note(struct tpu_check *check, bool in_host, bool writes, int64_t first, int64_t end);
/* Checks that rows first <= row < end of each plane are in the unified buffer, planes being plane_rows apart, and notes
 * them. Where end is not above first, no row is touched. */
int tpu_check_rows(struct tpu_check *check, bool writes, int64_t first, int64_t end, int planes, int64_t plane_rows);
int tpu_check_matrix(struct tpu_check *check);
int tpu_check_activate(struct tpu_check *check);
bool tpu_scale_ok(float scale);

/* The accesses of each unit since the last sync on it. */
struct tpu_hazards;
struct tpu_hazards *tpu_hazards_open(void); /* NULL: out of memory */
void tpu_hazards_close(struct tpu_hazards *hazards);
void tpu_hazards_sync(struct tpu_hazards *hazards, unsigned units);
/* Compares the accesses of this instruction with those of the other units, then adds them. */
int tpu_check_hazards(struct tpu_check *check, struct tpu_hazards *hazards);

#endif
