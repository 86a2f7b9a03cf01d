/* SPDX-License-Identifier: MIT
 *
 * The sequencer of the matrix unit. It starts instructions and sends a row into the array in every cycle of an
 * instruction. From the last column's writes it knows when an instruction has made its last write. The array itself is
 * matrix_unit.c, stepped once per cycle whatever happens. */
#include "rtl.h"

#include <stdlib.h>

int tpu_rtl_matrix_open(struct tpu_rtl_matrix *matrix, const struct tpu_config *config, int64_t queue_slots,
			struct npl_err *err)
{
	/* Every instruction sends at least one row, and a row is under way for so many cycles. */
	matrix->flights = config->rows + config->columns + config->matrix_registers;
	matrix->flight = calloc((size_t)matrix->flights, sizeof *matrix->flight);
	matrix->row = calloc((size_t)config->rows, 1);
	matrix->weights = calloc((size_t)config->columns, 1);
	if (!matrix->flight || !matrix->row || !matrix->weights || !tpu_rtl_queue_open(&matrix->queue, queue_slots))
		return npl_fail(err, NPL_ENOMEM, "out of memory for the matrix sequencer");
	return tpu_matrix_open(&matrix->unit, config->rows, config->columns, config->accumulator_rows,
			       config->matrix_registers, err);
}

void tpu_rtl_matrix_close(struct tpu_rtl_matrix *matrix)
{
	free(matrix->queue.slot);
	free(matrix->flight);
	free(matrix->row);
	free(matrix->weights);
	tpu_matrix_close(&matrix->unit);
}

void tpu_rtl_matrix_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	const struct tpu_rtl_matrix *matrix = &rtl->matrix;
	if (matrix->rows_left == 0 && matrix->queue.count > 0) {
		const struct tpu_rtl_issued *head = tpu_rtl_queue_at(&matrix->queue, 0);
		bool switches = head->instruction.flags & TPU_MATRIX_SWITCH;
		wires->matrix_starts = (!switches || rtl->shifter.full) && tpu_rtl_unread(rtl, wires, head) < 0;
		wires->weights_switch = wires->matrix_starts && switches;
	}
	wires->row_enters = wires->matrix_starts || matrix->rows_left > 0;
}

static void start(struct tpu_rtl_matrix *matrix, struct tpu_rtl_context *context)
{
	matrix->current = tpu_rtl_queue_pop(&matrix->queue);
	const struct tpu_instruction *instruction = &matrix->current.instruction;
	matrix->rows_left = (int64_t)instruction->length * tpu_rtl_rows_per_vector(&matrix->current);
	matrix->rows_sent = 0;
	int64_t last = (matrix->first_flight + matrix->in_flight++) % matrix->flights;
	matrix->flight[last] = (struct tpu_rtl_flight){.index = matrix->current.index,
						       .first = instruction->operand,
						       .end = (int64_t)instruction->operand + instruction->length,
						       .writes_left = matrix->rows_left};
	tpu_rtl_begins(context, TPU_MATRIX_STARTED, matrix->current.index);
	context->outcome->counters.tiles += (instruction->flags & TPU_MATRIX_SWITCH) != 0;
	if (instruction->flags & TPU_MATRIX_SWITCH)
		tpu_rtl_count_activity(context, matrix->current.index,
				       &(struct tpu_activity){.weight_toggles = matrix->tile_toggles});
}

/* Returns the row that enters now. */
static struct tpu_matrix_inputs next_row(struct tpu_rtl_matrix *matrix, struct tpu_rtl_context *context)
{
	const struct tpu_rtl_issued *now = &matrix->current;
	unsigned flags = now->instruction.flags;
	int per_vector = tpu_rtl_rows_per_vector(now);
	bool wide = per_vector == 2, high = wide && matrix->rows_sent % 2 == 1, low = wide && !high;
	tpu_rtl_setup(context, now, matrix->rows_sent, matrix->row);
	const uint64_t toggles = tpu_rtl_toggles(context, TPU_RTL_INPUTS, 0, matrix->row, context->config->rows);
	tpu_rtl_count_activity(context, now->index,
			       &(struct tpu_activity){.input_toggles = toggles, .ub_read_toggles = toggles});
	return (struct tpu_matrix_inputs){
		.row = matrix->row,
		.row_format = {.is_signed = !(flags & TPU_MATRIX_UNSIGNED_INPUTS) && !low,
			       .zero_point = (int16_t)tpu_signed(&now->registers, TPU_REG_INPUT_ZERO_POINT)},
		.weight_format = {.is_signed = !(flags & TPU_MATRIX_UNSIGNED_WEIGHTS),
				  .zero_point = (int16_t)tpu_signed(&now->registers, TPU_REG_WEIGHT_ZERO_POINT)},
		.switch_weights = flags & TPU_MATRIX_SWITCH && matrix->rows_sent == 0,
		.address = now->instruction.operand + matrix->rows_sent / per_vector,
		.accumulate = flags & TPU_MATRIX_ACCUMULATE || high,
		.shift = (high ? 8 : 0) + (flags & TPU_MATRIX_HIGH_WEIGHTS ? 8 : 0)};
}

/* Notes rows that are written: a row is written when its last column is. Rows come in the order in which they
 * entered. */
static void see_writes(struct tpu_rtl_matrix *matrix, struct tpu_rtl_context *context)
{
	const struct tpu_matrix *unit = &matrix->unit;
	if (unit->writes == 0 || unit->write[unit->writes - 1].column != unit->columns - 1)
		return;
	struct tpu_rtl_flight *oldest = &matrix->flight[matrix->first_flight];
	context->outcome->counters.accumulator_writes++;
	tpu_rtl_count_activity(
		context, oldest->index,
		&(struct tpu_activity){.zero_products = unit->finished.zero_products,
				       .partial_product_toggles = unit->finished.partial_product_toggles});
	if (--oldest->writes_left > 0)
		return;
	tpu_rtl_ends(context, TPU_MATRIX_WRITTEN, oldest->index);
	tpu_rtl_retired(context, oldest->index);
	matrix->first_flight = (matrix->first_flight + 1) % matrix->flights;
	matrix->in_flight--;
}

bool tpu_rtl_matrix_clock(struct tpu_rtl_matrix *matrix, const struct tpu_rtl_wires *wires,
			  struct tpu_rtl_context *context)
{
	struct tpu_matrix_inputs in = {0};
	if (wires->matrix_starts)
		start(matrix, context);
	if (wires->row_enters) {
		in = next_row(matrix, context);
		matrix->rows_sent++;
		matrix->rows_left--;
	}
	if (wires->weights_enter) {
		tpu_rtl_weight_bytes(context, wires->weights_row, context->config->columns, matrix->weights);
		in.weights = matrix->weights;
		matrix->shift_toggles += tpu_rtl_toggles(context, TPU_RTL_WEIGHTS, 0, matrix->weights,
							 context->config->columns);
	}
	if (wires->tile_popped) {
		matrix->tile_toggles = matrix->shift_toggles;
		matrix->shift_toggles = 0;
	}
	bool changed = matrix->in_flight > 0 || wires->target_unit == TPU_MATRIX;
	int rc = tpu_matrix_step(&matrix->unit, &in, context->err);
	if (rc)
		context->rc = rc;
	else
		see_writes(matrix, context);
	if (wires->target_unit == TPU_MATRIX)
		tpu_rtl_queue_push(&matrix->queue, &wires->issued);
	return changed;
}
