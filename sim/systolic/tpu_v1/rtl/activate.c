/* SPDX-License-Identifier: MIT
 *
 * The activation unit. It reads one source vector per beat of `cycles_per_vector` cycles, in the last cycle of the
 * beat. The result of the vector, or of a window that it completes, leaves at the end of the beat and is in the unified
 * buffer activate.latency_cycles cycles later. values.c and pool.c compute the values. */
#include "rtl.h"

#include <stdlib.h>
#include <string.h>

int tpu_rtl_activate_open(struct tpu_rtl_activate *activate, const struct tpu_config *config, int64_t queue_slots,
			  struct npl_err *err)
{
	size_t columns = (size_t)config->columns, stages = (size_t)config->activate_latency_cycles;
	activate->stages = config->activate_latency_cycles;
	activate->lines.columns = config->columns;
	activate->bias = calloc(columns, sizeof *activate->bias);
	activate->scale = calloc(columns, sizeof *activate->scale);
	activate->stage = calloc(stages + 1, sizeof *activate->stage);
	activate->stage_value = calloc((stages + 1) * columns, sizeof *activate->stage_value);
	activate->value = calloc(columns, sizeof *activate->value);
	activate->operand = calloc(columns, sizeof *activate->operand);
	activate->table = calloc(columns, TPU_TABLE_ENTRY_BYTES);
	if (!activate->bias || !activate->scale || !activate->stage || !activate->stage_value || !activate->value ||
	    !activate->operand || !activate->table || !tpu_rtl_queue_open(&activate->queue, queue_slots))
		return npl_fail(err, NPL_ENOMEM, "out of memory for the activation unit");
	tpu_sigmoid_points(&activate->sigmoid);
	tpu_tanh_points(&activate->tanh);
	return 0;
}

void tpu_rtl_activate_close(struct tpu_rtl_activate *activate)
{
	free(activate->queue.slot);
	free(activate->lines.vector);
	free(activate->bias);
	free(activate->scale);
	free(activate->stage);
	free(activate->stage_value);
	free(activate->value);
	free(activate->operand);
	free(activate->table);
}

static bool from_buffer(const struct tpu_rtl_issued *issued)
{
	return issued->instruction.flags & TPU_ACTIVATE_FROM_BUFFER;
}

static bool pools(const struct tpu_rtl_issued *issued)
{
	return tpu_pooling_of(issued->instruction.flags) != TPU_NO_POOLING;
}

static int planes(const struct tpu_rtl_issued *issued, enum tpu_register type)
{
	return tpu_planes((enum tpu_type)tpu_rtl_register(issued, type));
}

/* Returns the planes of the tensors that an activate reads from the unified buffer; 0: it reads none. */
static int source_planes(const struct tpu_rtl_issued *issued)
{
	return from_buffer(issued) ? planes(issued, TPU_REG_SOURCE_TYPE) : 0;
}

static int operand_planes(const struct tpu_rtl_issued *issued)
{
	enum tpu_operand operand = tpu_operand_of(issued->instruction.flags);
	return operand == TPU_ADD || operand == TPU_MULTIPLY ? planes(issued, TPU_REG_OPERAND_TYPE) : 0;
}

/* Returns the length of a beat: the buffer's read port and its write port each move one plane at a time. */
static uint64_t cycles_per_vector(const struct tpu_config *config, const struct tpu_rtl_issued *issued)
{
	int written = planes(issued, TPU_REG_RESULT_TYPE), read = source_planes(issued) + operand_planes(issued);
	return (uint64_t)config->activate_cycles_per_row * (uint64_t)(read > written ? read : written);
}

static int64_t beats(const struct tpu_rtl_issued *issued)
{
	return pools(issued) ? tpu_rtl_windows_walk(issued).beats : issued->instruction.length;
}

static void drive_next(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	const struct tpu_rtl_fifo *tables = &rtl->weights.fifo[TPU_RTL_TABLE];
	const struct tpu_rtl_issued *next = tpu_rtl_queue_at(&rtl->activate.queue, 0);
	bool switches = next->instruction.flags & TPU_ACTIVATE_SWITCH;
	if ((switches && tables->slots_arrived == 0) || tpu_rtl_unwritten(rtl, next) >= 0)
		return;
	wires->activate_starts = true;
	wires->reading = cycles_per_vector(rtl->context.config, next) * (uint64_t)beats(next);
	wires->table_used = switches;
	wires->table_row = tables->row[tables->first];
}

void tpu_rtl_activate_drive(const struct tpu_rtl *rtl, struct tpu_rtl_wires *wires)
{
	const struct tpu_rtl_activate *activate = &rtl->activate;
	const struct tpu_matrix *array = &rtl->matrix.unit;
	if (!activate->busy && activate->queue.count > 0)
		drive_next(rtl, wires);
	int64_t row = wires->activate_starts ? tpu_rtl_queue_at(&activate->queue, 0)->instruction.operand
					     : activate->current.instruction.operand + activate->vectors_read;
	wires->accumulators = array->accumulator + row * array->columns;
	wires->exact_sums = array->exact + row * array->columns;
}

static uint32_t word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void use_table(struct tpu_rtl_activate *activate, int64_t row, const struct tpu_rtl_context *context)
{
	int64_t columns = context->config->columns;
	tpu_rtl_weight_bytes(context, row, TPU_TABLE_ROWS * columns, activate->table);
	for (int64_t j = 0; j < columns; j++) {
		const uint8_t *entry = activate->table + TPU_TABLE_ENTRY_BYTES * j;
		uint32_t scale = word(entry + TPU_TABLE_SCALE);
		activate->bias[j] = (int32_t)word(entry);
		memcpy(&activate->scale[j], &scale, sizeof scale);
	}
}

static void start(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context)
{
	activate->current = tpu_rtl_queue_pop(&activate->queue);
	const struct tpu_rtl_issued *now = &activate->current;
	activate->busy = true;
	activate->reading = wires->reading;
	activate->draining = (uint64_t)activate->stages;
	activate->cycles_per_vector = cycles_per_vector(context->config, now);
	activate->cycle = 0;
	activate->vectors_read = activate->results = 0;
	tpu_rtl_begins(context, TPU_ACTIVATE_STARTED, now->index);
	if (wires->table_used)
		use_table(activate, wires->table_row, context);
	if (!pools(now))
		return;
	activate->windows = tpu_rtl_windows_of(now);
	if (!context->memory->timing_only &&
	    !tpu_rtl_lines_reserve(&activate->lines, tpu_rtl_windows_walk(now).vectors_kept))
		context->rc = npl_fail(context->err, NPL_ENOMEM, "out of memory for the lines of a pooling window");
}

static void write_result(const struct tpu_rtl_activate *activate, int64_t number, const int32_t *value,
			 struct tpu_rtl_context *context)
{
	const struct tpu_rtl_issued *now = &activate->current;
	const struct tpu_rtl_tensor result = {.base = now->instruction.ub,
					      .plane_rows = tpu_rtl_register(now, TPU_REG_RESULT_PLANE_ROWS),
					      .type = (enum tpu_type)tpu_rtl_register(now, TPU_REG_RESULT_TYPE),
					      .pixel_lanes = tpu_rtl_register(now, TPU_REG_RESULT_PIXEL_LANES),
					      .row_pixels = tpu_rtl_register(now, TPU_REG_RESULT_ROW_PIXELS),
					      .lane = tpu_rtl_register(now, TPU_REG_RESULT_LANE)};
	context->outcome->counters.ub_rows_written += (uint64_t)tpu_planes(result.type);
	if (context->memory->timing_only)
		return;
	const int64_t vector = tpu_rtl_register(now, TPU_REG_FIRST_RESULT) + number,
		      columns = tpu_rtl_register(now, TPU_REG_RESULT_COLUMNS);
	tpu_rtl_write_vector(context, &result, vector, columns, value);
	const uint64_t toggles = tpu_rtl_vector_toggles(context, TPU_RTL_RESULTS, &result, vector, columns);
	tpu_rtl_count_activity(context, now->index, &(struct tpu_activity){.ub_write_toggles = toggles});
}

/* Does a cycle of the pipeline: what went in `stages` cycles ago is written, and what leaves the unit goes in. */
static void step_pipeline(struct tpu_rtl_activate *activate, bool leaves, struct tpu_rtl_context *context)
{
	if (activate->stages == 0) {
		if (leaves)
			write_result(activate, activate->results++, activate->value, context);
		return;
	}
	struct tpu_rtl_result *stage = &activate->stage[activate->oldest];
	int32_t *value = activate->stage_value + activate->oldest * activate->lines.columns;
	if (stage->present)
		write_result(activate, stage->number, value, context);
	*stage = (struct tpu_rtl_result){leaves, activate->results};
	if (leaves) {
		memcpy(value, activate->value, (size_t)activate->lines.columns * sizeof *value);
		activate->results++;
	}
	activate->oldest = (activate->oldest + 1) % activate->stages;
}

/* Ends a beat of pooling. Says whether a result leaves. */
static bool pool(struct tpu_rtl_activate *activate, bool reads, const struct tpu_rtl_context *context)
{
	const struct tpu_rtl_issued *now = &activate->current;
	int64_t columns = tpu_rtl_register(now, TPU_REG_RESULT_COLUMNS);
	bool values = !context->memory->timing_only;
	if (reads && values)
		tpu_rtl_lines_put(&activate->lines, activate->windows.sources_read, columns, activate->value);
	if (reads)
		activate->windows.sources_read++;
	if (!tpu_rtl_windows_complete(&activate->windows))
		return false;
	if (values)
		tpu_rtl_lines_pool(&activate->lines, &activate->windows, tpu_pooling_of(now->instruction.flags),
				   tpu_signed(&now->registers, TPU_REG_RESULT_ZERO_POINT), columns, activate->value);
	tpu_rtl_windows_leave(&activate->windows);
	return true;
}

/* Does the last cycle of a beat. Says whether a result leaves. */
static bool end_beat(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires,
		     struct tpu_rtl_context *context)
{
	const struct tpu_rtl_issued *now = &activate->current;
	bool reads = activate->vectors_read < now->instruction.length;
	if (reads) {
		context->outcome->counters.ub_rows_read += (uint64_t)(source_planes(now) + operand_planes(now));
		if (!context->memory->timing_only)
			tpu_rtl_values(activate, wires, activate->vectors_read, context);
		activate->vectors_read++;
	}
	return pools(now) ? pool(activate, reads, context) : reads;
}

static void work(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires, struct tpu_rtl_context *context)
{
	bool leaves = false;
	if (activate->reading > 0) {
		activate->reading--;
		context->outcome->counters.activate_cycles++;
		if (++activate->cycle == activate->cycles_per_vector) {
			activate->cycle = 0;
			leaves = end_beat(activate, wires, context);
		}
	} else {
		activate->draining--;
	}
	step_pipeline(activate, leaves, context);
	if (activate->reading || activate->draining)
		return;
	activate->busy = false;
	tpu_rtl_ends(context, TPU_ACTIVATE_ENDED, activate->current.index);
	tpu_rtl_retired(context, activate->current.index);
}

bool tpu_rtl_activate_clock(struct tpu_rtl_activate *activate, const struct tpu_rtl_wires *wires,
			    struct tpu_rtl_context *context)
{
	if (wires->activate_starts)
		start(activate, wires, context);
	bool works = activate->busy;
	if (works && !context->rc)
		work(activate, wires, context);
	if (wires->target_unit == TPU_ACTIVATION)
		tpu_rtl_queue_push(&activate->queue, &wires->issued);
	return works || wires->target_unit == TPU_ACTIVATION;
}
