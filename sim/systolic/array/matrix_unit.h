/* SPDX-License-Identifier: MIT
 *
 * The matrix unit (Jouppi et al., ISCA 2017, section 2), register by register: rows x columns cells that hold their
 * weights, the registers that skew the data that enters, and the accumulators below. This is the specification.
 * matrix_unit.v says the same in Verilog, and `make cosim` compares them cycle by cycle.
 *
 *                 weight row, last row of the tile first       -z-> is a register
 *                    |          -z-         -z-z-              column c of it is delayed c cycles,
 *                    v           v            v
 *     row[0] ----> cell 0,0 --> cell 0,1 --> cell 0,2          row r of the input r cycles
 *     row[1] -z--> cell 1,0 --> cell 1,1 --> cell 1,2
 *                    v           v            v
 *                 accumulators of column 0, 1, 2
 *
 * In each cycle a cell computes the following from the registers of its neighbours as they were when the cycle
 * began:
 *
 *     weight     = left.switches ? shadow : active              a byte, which the format that comes with the row
 *     active     <- weight                                      makes a number
 *     sum        <- above.sum + left.activation * number(weight, left.format)       above row 0 the sum is 0
 *     activation <- left.activation,  switches <- left.switches,  format <- left.format
 *     if (above.path holds a weight)
 *         if (above.path.hops == 0)  shadow <- above.path.weight
 *         else                       path   <- above.path with one hop less
 *
 * The weight path is apart from the shadow plane, and a count that goes down by one per cell says which cell keeps the
 * weight (US Patent 10,049,322, claim 1). So both the switch and the refill travel as waves, one hop per cycle each
 * way. An input row with its switch bit, or a weight row, that enters in cycle T meets cell (r,c) in cycle T + r + c.
 * (A plane that shifted all rows of a column at once would move the weights below away from the wave that is to switch
 * them in, and could be refilled only every 2 * rows - 1 cycles.) A user has to know what follows from this:
 *
 *   refill    takes `rows` cycles, one weight row each (gaps are allowed). It may begin in the cycle in which the
 *             switch enters: every cell reads its old weight in the cycle at whose end the first new one can come.
 *             One cycle earlier the tile that waits is lost: its last row already belongs to the new tile, and
 *             `overruns` counts this. Nothing is refused: the cells do what they would do.
 *   switch    may enter in the cycle after the last weight row. Earlier it takes a tile that is half old, which
 *             `early_switches` counts.
 *   write     the row that enters in cycle T is added to accumulator column c in cycle T + rows - 1 + c + registers.
 *             So B rows are all written B + rows + columns - 2 + registers cycles after the first one's cycle began.
 *             With `registers` = 0 the accumulators take what the last row of cells adds up; the first register is
 *             that row's `sum`.
 *
 * Operands are bytes, signed or not, minus a zero point: 9 bits. The edge turns the bytes of an input into such
 * numbers. The planes hold the bytes of the weights, as a tile may be in place long before the instruction is known
 * that says how to read it, and the next instruction may read it in another way. Bubbles have no format. Sums are exact
 * (32 bits hold 32768 products of 255 * 255). An accumulator takes sum * 2^shift, alone or added to its value, modulo
 * 2^32 in two's complement; a write whose exact result needs more than 32 bits counts as one overflow. The 8x16 and
 * 16x16 modes are further passes over low bytes (u8, shift 0) and high bytes (shift 8, or 16 for high times high),
 * accumulated.
 *
 * Not modelled: the source of rows and weights, and the reader of the accumulators. Only one caller may use a unit at a
 * time. */
#ifndef NPULAB_SIM_SYSTOLIC_ARRAY_MATRIX_UNIT_H
#define NPULAB_SIM_SYSTOLIC_ARRAY_MATRIX_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "npulab/error.h"

#define TPU_MATRIX_MAX_ROWS 32768 /* 255 * 255 * 32768 = 2,130,739,200 < 2^31 */

/* The format of a byte: i8 or u8, minus zero_point, which is in that type's range. */
struct tpu_byte_format {
	bool is_signed;
	int16_t zero_point;
};

/* The inputs at the edge in one cycle. */
struct tpu_matrix_inputs {
	const uint8_t *row; /* (rows) an input row; NULL: a bubble, and the six fields below mean nothing */
	struct tpu_byte_format row_format;
	struct tpu_byte_format weight_format; /* the format of the weights that this row meets */
	bool switch_weights;                  /* this row is the first to meet the tile in the shadow plane */
	int64_t address;                      /* accumulator row */
	bool accumulate;        /* the sum is added to the accumulator's value; if false, it replaces the value */
	int shift;              /* 0, 8 or 16 */
	const uint8_t *weights; /* (columns) one row of a tile, the last row of the tile first; NULL: none */
};

/* An output at the edge: one column's sum for one accumulator row. */
struct tpu_matrix_write {
	int64_t column, address;
	int32_t sum;   /* the sum as the column delivers it */
	int32_t value; /* what the accumulator holds from the next cycle on */
	bool overflowed;
};

struct tpu_matrix_counts {
	uint64_t cycles, input_rows, weight_rows, switches;
	uint64_t overruns;       /* a refill began before the tile that waits was switched in */
	uint64_t early_switches; /* a switch entered while the tile in the shadow plane was incomplete */
	uint64_t writes;         /* writes of single accumulators: `columns` per input row */
	uint64_t overflows;      /* writes that wrapped */
};

/* What the operands of a row did in all the cells that it has met. */
struct tpu_matrix_activity {
	uint64_t zero_products;           /* products whose input or weight is 0 */
	uint64_t partial_product_toggles; /* partial products that differ from those of the row before it */
};

/* Kernels that add input[i] * weight[i] to sum[i] for `blocks` times TPU_MATRIX_LANES values. Operands have at most 9
 * bits. */
#define TPU_MATRIX_LANES 16
struct tpu_matrix_kernel {
	const char *name;
	unsigned required_features; /* the processor's features (npl_cpu_has) */
	void (*multiply)(int32_t *sum, const int16_t *input, const int16_t *weight, int64_t blocks);
};
/* All kernels, the fastest first. The last one runs everywhere, and {0} ends the list. */
extern const struct tpu_matrix_kernel tpu_matrix_kernel_list[];

/* The head of matrix_unit.c says why the registers are kept in this form. */
struct tpu_matrix {
	int64_t rows, columns, accumulator_rows, registers;
	int32_t *accumulator; /* (accumulator_rows, columns) */
	int64_t *exact;       /* the same without wrapping, for counting only: not a register of the machine */
	struct tpu_matrix_write *write; /* writes of the last cycle, columns ascending */
	int64_t writes;                 /* the number of those writes: at most one per column */
	struct tpu_matrix_counts count;
	/* The activity of operands; no register of the machine. Set counts_activity before the first step. */
	bool counts_activity;
	struct tpu_matrix_activity *activity; /* (waves) */
	struct tpu_matrix_activity finished;  /* of the row whose last column was written in the last cycle */
	int16_t *last_input;                  /* (rows) the row that entered last */
	int16_t *before;                      /* (waves, rows) the row that entered before this one */
	int16_t *last_weight;                 /* of each cell, as `active`: what the last row has met */
	const struct tpu_matrix_kernel *kernel;

	/* The waves under way, by the cycle in which they entered; the newest is at slot `newest`. */
	struct tpu_wave *wave;
	int64_t waves, newest;
	int64_t bubbles; /* the number of newest waves that are bubbles */
	int64_t input_stride, column_stride;
	int16_t *input; /* (waves, input_stride) the activation registers: row r at TPU_MATRIX_LANES + rows - 1 - r */
	int32_t *sum;   /* (waves, column_stride) the partial sums */
	uint8_t *path;  /* (waves, column_stride) weights that travel */
	/* The weight planes. Diagonal d of the active one holds its bytes as numbers in the format number_format[d]. */
	int16_t *active;                       /* (rows + columns - 1, column_stride) cell (r,c) at [r + c][c] */
	struct tpu_byte_format *number_format; /* (rows + columns - 1) */
	uint8_t *shadow;                       /* (rows, columns) */
	int64_t tile_rows;                     /* rows of the tile in the shadow plane that have entered */
	bool tile_waits;                       /* that tile is complete and has not been switched in */
};

/* Opens a unit with all registers 0. NPL_EINPUT: an impossible size. NPL_ENOMEM. Unless it returns 0 there is nothing
 * to close. */
int tpu_matrix_open(struct tpu_matrix *unit, int64_t rows, int64_t columns, int64_t accumulator_rows, int64_t registers,
		    struct npl_err *err);
void tpu_matrix_close(struct tpu_matrix *unit);

/* Does one cycle. The bytes are copied. NPL_EINTERNAL: an input is out of range, and nothing has happened. */
int tpu_matrix_step(struct tpu_matrix *unit, const struct tpu_matrix_inputs *in, struct npl_err *err);

/* Says whether every row that entered has been written. */
bool tpu_matrix_drained(const struct tpu_matrix *unit);

/* The registers of one cell after the last cycle, weights as bytes. A bubble is zeros. */
struct tpu_matrix_cell {
	int32_t activation, sum;
	uint8_t active, shadow;
};
struct tpu_matrix_cell tpu_matrix_cell_at(const struct tpu_matrix *unit, int64_t row, int64_t column);

#endif
