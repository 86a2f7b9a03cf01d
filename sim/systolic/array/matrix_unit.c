/* SPDX-License-Identifier: MIT
 *
 * The matrix unit of matrix_unit.h, every register in every cycle. The layout makes a cycle of 65,536 cells one pass
 * over memory.
 *
 * In cycle t all cells with r + c = d hold parts of what entered the edge in cycle t - d: elements of that row, its
 * sums so far, and its weights on the path. This is a wave of age d, which moves on to the cells of the next diagonal
 * in each cycle. So nothing needs to be copied from register to register: a wave's data stay where they are and its age
 * goes up, which has the effect of shifting every register by one.
 *
 *     age 0 1 2 3           wave of age d, column c: cell (d - c, c)
 *         1 2 3 4           input[rows - 1 - d + c]  the activation, stored backwards so that it ascends with c
 *         2 3 4 5           sum[c], path[c]
 *                           active[d][c]             the plane by diagonals, so that it ascends with c as well
 *
 * In one cycle every cell is met by one wave only, and a wave touches only its own registers and those of the cells
 * that it meets. So in whatever order the waves are done, no cell sees what another one does in the same cycle. Within
 * a cell the switch reads the shadow plane before the refill writes it.
 *
 * The active plane holds the numbers that the previous row made of its bytes. All cells of a diagonal meet a row in the
 * same cycle, so one format per diagonal says which bytes these were. Only a row with another format, or one that
 * switches, has to make them again.
 *
 * A diagonal is multiplied in whole blocks of lanes. Lanes beyond its ends are cells that do not exist: their weights
 * are 0 forever, so the sums there, finished or not yet begun, stay as they are. */
#include "matrix_unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "npulab/cpu_features.h"
#include "npulab/tensor.h"

enum { LANES = TPU_MATRIX_LANES };

struct tpu_wave {
	bool row; /* an input row, with: */
	bool switches, accumulate;
	struct tpu_byte_format weight_format;
	int shift;
	int64_t address;
	bool weights;      /* a weight row, with: */
	int64_t array_row; /* the array row that keeps it */
};

/* Returns zeroed memory at the boundary of a cache line; NULL: out of memory. */
static void *registers_of(int64_t rows, int64_t row_elements, size_t element_bytes)
{
	size_t bytes;
	if (!npl_mul_size((size_t)rows, (size_t)row_elements, &bytes) || !npl_mul_size(bytes, element_bytes, &bytes) ||
	    bytes > SIZE_MAX - 63)
		return NULL;
	bytes = (bytes + 63) / 64 * 64;
	void *data = aligned_alloc(64, bytes);
	if (data)
		memset(data, 0, bytes);
	return data;
}

int tpu_matrix_open(struct tpu_matrix *unit, int64_t rows, int64_t columns, int64_t accumulator_rows, int64_t registers,
		    struct npl_err *err)
{
	const int64_t limit = 1 << 24;
	*unit = (struct tpu_matrix){0};
	if (rows < 1 || rows > TPU_MATRIX_MAX_ROWS || columns < 1 || columns > limit || accumulator_rows < 1 ||
	    accumulator_rows > limit || registers < 0 || registers > limit)
		return npl_fail(
			err, NPL_EINPUT,
			"matrix unit: %lld x %lld cells, %lld accumulator rows, %lld pipeline registers, expected "
			"1..%d rows, 1..%lld columns and accumulator rows, 0..%lld registers",
			(long long)rows, (long long)columns, (long long)accumulator_rows, (long long)registers,
			TPU_MATRIX_MAX_ROWS, (long long)limit, (long long)limit);
	int64_t diagonals = rows + columns - 1;
	*unit = (struct tpu_matrix){
		.rows = rows,
		.columns = columns,
		.accumulator_rows = accumulator_rows,
		.registers = registers,
		.kernel = tpu_matrix_kernel_list,
		.waves = diagonals + registers,
		.input_stride = rows + 2 * LANES,
		/* One block more than needed: rows at distances of a power of two share few sets of a cache. */
		.column_stride = npl_div_up_i64(columns, LANES) * LANES + LANES};
	while (!npl_cpu_has(unit->kernel->required_features))
		unit->kernel++;
	unit->wave = registers_of(unit->waves, 1, sizeof *unit->wave);
	unit->write = registers_of(columns, 1, sizeof *unit->write);
	unit->input = registers_of(unit->waves, unit->input_stride, sizeof *unit->input);
	unit->sum = registers_of(unit->waves, unit->column_stride, sizeof *unit->sum);
	unit->path = registers_of(unit->waves, unit->column_stride, sizeof *unit->path);
	unit->active = registers_of(diagonals, unit->column_stride, sizeof *unit->active);
	unit->number_format = registers_of(diagonals, 1, sizeof *unit->number_format);
	unit->shadow = registers_of(rows, columns, sizeof *unit->shadow);
	unit->accumulator = registers_of(accumulator_rows, columns, sizeof *unit->accumulator);
	unit->exact = registers_of(accumulator_rows, columns, sizeof *unit->exact);
	unit->activity = registers_of(unit->waves, 1, sizeof *unit->activity);
	unit->last_input = registers_of(rows, 1, sizeof *unit->last_input);
	unit->before = registers_of(unit->waves, rows, sizeof *unit->before);
	unit->last_weight = registers_of(diagonals, unit->column_stride, sizeof *unit->last_weight);
	if (!unit->wave || !unit->write || !unit->input || !unit->sum || !unit->path || !unit->active ||
	    !unit->number_format || !unit->shadow || !unit->accumulator || !unit->exact || !unit->activity ||
	    !unit->last_input || !unit->before || !unit->last_weight) {
		tpu_matrix_close(unit);
		return npl_fail(err, NPL_ENOMEM, "out of memory for a matrix unit of %lld x %lld cells",
				(long long)rows, (long long)columns);
	}
	return 0;
}

void tpu_matrix_close(struct tpu_matrix *unit)
{
	free(unit->wave);
	free(unit->write);
	free(unit->input);
	free(unit->sum);
	free(unit->path);
	free(unit->active);
	free(unit->number_format);
	free(unit->shadow);
	free(unit->accumulator);
	free(unit->exact);
	free(unit->activity);
	free(unit->last_input);
	free(unit->before);
	free(unit->last_weight);
	*unit = (struct tpu_matrix){0};
}

static bool format_ok(struct tpu_byte_format format)
{
	return format.is_signed ? format.zero_point >= INT8_MIN && format.zero_point <= INT8_MAX
				: format.zero_point >= 0 && format.zero_point <= UINT8_MAX;
}

static int check_inputs(const struct tpu_matrix *unit, const struct tpu_matrix_inputs *in, struct npl_err *err)
{
	if (in->row && (in->address < 0 || in->address >= unit->accumulator_rows))
		return npl_fail(err, NPL_EINTERNAL, "matrix unit: accumulator row %lld of %lld", (long long)in->address,
				(long long)unit->accumulator_rows);
	if (in->row && in->shift != 0 && in->shift != 8 && in->shift != 16)
		return npl_fail(err, NPL_EINTERNAL, "matrix unit: a shift by %d, expected 0, 8 or 16", in->shift);
	if (in->row && (!format_ok(in->row_format) || !format_ok(in->weight_format)))
		return npl_fail(err, NPL_EINTERNAL, "matrix unit: a zero point outside its 8-bit type");
	return 0;
}

static int16_t operand(uint8_t byte, struct tpu_byte_format format)
{
	return (int16_t)((format.is_signed ? (int8_t)byte : byte) - format.zero_point);
}

/* Sequences the weights at the edge: numbers the rows of a tile and counts hazards. A switch reads the plane as it is
 * before the weight row of the same cycle. */
static void sequence_weights(struct tpu_matrix *unit, const struct tpu_matrix_inputs *in, struct tpu_wave *wave)
{
	if (wave->switches) {
		unit->count.switches++;
		unit->count.early_switches += unit->tile_rows < unit->rows;
		unit->tile_waits = false;
	}
	if (!in->weights)
		return;
	if (unit->tile_rows == unit->rows) {
		unit->count.overruns += unit->tile_waits;
		unit->tile_rows = 0;
	}
	unit->tile_rows++;
	unit->tile_waits = unit->tile_rows == unit->rows;
	unit->count.weight_rows++;
	wave->weights = true;
	wave->array_row = unit->rows - unit->tile_rows;
}

/* Returns the 1s among the 9 bits of an operand. */
static uint64_t ones(int operand_bits)
{
	return (uint64_t)__builtin_popcount((unsigned)operand_bits & 0x1ff);
}

/* Begins the activity of the row that has just entered. */
static void begin_activity(struct tpu_matrix *unit)
{
	const int16_t *input = unit->input + unit->newest * unit->input_stride + LANES + unit->rows - 1;
	int16_t *before = unit->before + unit->newest * unit->rows;
	unit->activity[unit->newest] = (struct tpu_matrix_activity){0, 0};
	for (int64_t r = 0; r < unit->rows; r++) {
		before[r] = unit->last_input[r];
		unit->last_input[r] = input[-r];
	}
}

/* Lets a wave enter at the edge. The oldest wave's slot is free. */
static void enter(struct tpu_matrix *unit, const struct tpu_matrix_inputs *in)
{
	unit->newest = (unit->newest + 1) % unit->waves;
	struct tpu_wave *wave = unit->wave + unit->newest;
	*wave = (struct tpu_wave){0};
	unit->bubbles = in->row || in->weights ? 0 : npl_min_i64(unit->bubbles + 1, unit->waves);
	if (in->row) {
		*wave = (struct tpu_wave){.row = true,
					  .switches = in->switch_weights,
					  .accumulate = in->accumulate,
					  .weight_format = in->weight_format,
					  .shift = in->shift,
					  .address = in->address};
		int16_t *last = unit->input + unit->newest * unit->input_stride + LANES + unit->rows - 1;
		for (int64_t r = 0; r < unit->rows; r++)
			last[-r] = operand(in->row[r], in->row_format);
		memset(unit->sum + unit->newest * unit->column_stride, 0,
		       (size_t)unit->column_stride * sizeof *unit->sum);
		unit->count.input_rows++;
		if (unit->counts_activity)
			begin_activity(unit);
	}
	sequence_weights(unit, in, wave);
	if (in->weights)
		memcpy(unit->path + unit->newest * unit->column_stride, in->weights, (size_t)unit->columns);
}

/* The cells that a wave of this age meets: columns first to last, each with row age - column. */
struct diagonal {
	int64_t age, first, last;
};

static bool same_format(struct tpu_byte_format a, struct tpu_byte_format b)
{
	return a.is_signed == b.is_signed && a.zero_point == b.zero_point;
}

static uint8_t active_byte(const struct tpu_matrix *unit, int64_t age, int64_t column)
{
	return (uint8_t)(unit->active[age * unit->column_stride + column] + unit->number_format[age].zero_point);
}

/* Takes the weights that the row of this wave reads, in its format: from the shadow plane if the row switches. */
static void take_weights(struct tpu_matrix *unit, const struct diagonal *d, const struct tpu_wave *wave)
{
	if (!wave->switches && same_format(wave->weight_format, unit->number_format[d->age]))
		return;
	int16_t *active = unit->active + d->age * unit->column_stride;
	for (int64_t c = d->first; c <= d->last; c++) {
		uint8_t byte = wave->switches ? unit->shadow[(d->age - c) * unit->columns + c]
					      : active_byte(unit, d->age, c);
		active[c] = operand(byte, wave->weight_format);
	}
	unit->number_format[d->age] = wave->weight_format;
}

static void multiply(struct tpu_matrix *unit, const struct diagonal *d, int64_t slot)
{
	int64_t from = d->first / LANES * LANES;
	int32_t *sum = unit->sum + slot * unit->column_stride;
	const int16_t *input = unit->input + slot * unit->input_stride + LANES + unit->rows - 1 - d->age;
	const int16_t *active = unit->active + d->age * unit->column_stride;
	unit->kernel->multiply(sum + from, input + from, active + from, (d->last - from) / LANES + 1);
}

/* Counts the products of the cells that a wave meets. Partial product (i, j) of a cell is bit i of its input AND bit j
 * of its weight. It toggles where it is 1 now or was 1 for the row before, but not both. */
static void count_products(struct tpu_matrix *unit, const struct diagonal *d, int64_t slot)
{
	const int16_t *input = unit->input + slot * unit->input_stride + LANES + unit->rows - 1 - d->age;
	const int16_t *active = unit->active + d->age * unit->column_stride;
	const int16_t *before = unit->before + slot * unit->rows;
	int16_t *last_weight = unit->last_weight + d->age * unit->column_stride;
	struct tpu_matrix_activity *activity = &unit->activity[slot];
	for (int64_t c = d->first; c <= d->last; c++) {
		const int x = input[c], w = active[c], x_before = before[d->age - c], w_before = last_weight[c];
		const uint64_t now = ones(x) * ones(w), then = ones(x_before) * ones(w_before);
		activity->zero_products += x * w == 0;
		activity->partial_product_toggles += now + then - 2 * ones(x & x_before) * ones(w & w_before);
		last_weight[c] = active[c];
	}
}

static void keep_weight(struct tpu_matrix *unit, const struct diagonal *d, int64_t slot)
{
	int64_t row = unit->wave[slot].array_row, c = d->age - row;
	if (c >= d->first && c <= d->last)
		unit->shadow[row * unit->columns + c] = unit->path[slot * unit->column_stride + c];
}

/* Adds a sum to the accumulator below the last row of cells, for the column whose turn it is. */
static void accumulate(struct tpu_matrix *unit, int64_t age, int64_t slot)
{
	const struct tpu_wave *wave = unit->wave + slot;
	int64_t c = age - (unit->rows - 1) - unit->registers;
	if (c < 0 || c >= unit->columns)
		return;
	int32_t sum = unit->sum[slot * unit->column_stride + c];
	int64_t index = wave->address * unit->columns + c, added = (int64_t)sum * (1 << wave->shift);
	int32_t *accumulator = unit->accumulator + index;
	int64_t exact = added + (wave->accumulate ? *accumulator : 0);
	int32_t value = (int32_t)(uint32_t)exact;
	*accumulator = value;
	unit->exact[index] = added + (wave->accumulate ? unit->exact[index] : 0);
	unit->count.writes++;
	if (c == unit->columns - 1)
		unit->finished = unit->activity[slot];
	unit->count.overflows += value != exact;
	unit->write[unit->writes++] = (struct tpu_matrix_write){c, wave->address, sum, value, value != exact};
}

static int64_t slot_of(const struct tpu_matrix *unit, int64_t age)
{
	int64_t slot = unit->newest - age;
	return slot < 0 ? slot + unit->waves : slot;
}

int tpu_matrix_step(struct tpu_matrix *unit, const struct tpu_matrix_inputs *in, struct npl_err *err)
{
	int rc = check_inputs(unit, in, err);
	if (rc)
		return rc;
	enter(unit, in);
	unit->writes = 0;
	unit->count.cycles++;
	for (int64_t age = unit->bubbles; age < unit->waves; age++) {
		int64_t slot = slot_of(unit, age);
		const struct tpu_wave *wave = unit->wave + slot;
		struct diagonal d = {age, npl_max_i64(0, age - unit->rows + 1), npl_min_i64(age, unit->columns - 1)};
		if (wave->row && d.first <= d.last) {
			take_weights(unit, &d, wave);
			multiply(unit, &d, slot);
			if (unit->counts_activity)
				count_products(unit, &d, slot);
		}
		if (wave->weights)
			keep_weight(unit, &d, slot);
		if (wave->row)
			accumulate(unit, age, slot);
	}
	return 0;
}

bool tpu_matrix_drained(const struct tpu_matrix *unit)
{
	return unit->count.writes == unit->count.input_rows * (uint64_t)unit->columns;
}

struct tpu_matrix_cell tpu_matrix_cell_at(const struct tpu_matrix *unit, int64_t row, int64_t column)
{
	int64_t age = row + column, slot = slot_of(unit, age);
	struct tpu_matrix_cell cell = {.active = active_byte(unit, age, column),
				       .shadow = unit->shadow[row * unit->columns + column]};
	if (unit->wave[slot].row) {
		cell.activation = unit->input[slot * unit->input_stride + LANES + unit->rows - 1 - row];
		cell.sum = unit->sum[slot * unit->column_stride + column];
	}
	return cell;
}
