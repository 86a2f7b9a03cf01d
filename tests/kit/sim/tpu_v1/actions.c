/* SPDX-License-Identifier: MIT
 *
 * See actions.h: weights, the host and noise; matrix.c and activate.c have the rest. */
#include "actions.h"

int64_t action_rows(struct builder *b, enum tpu_unit unit, int64_t count, bool writes)
{
	int64_t first = 0, last = b->buffer_rows - count;
	if (last <= 0)
		return 0;
	/* What was computed last is what the next layer reads. */
	if (!writes && b->result_rows >= count && builder_chance(b, 30))
		return b->result;
	/* Just the last or the first of the rows that were read last: a hazard if there is one. */
	if (writes && b->read_end > b->read_first && builder_chance(b, 20)) {
		first = builder_chance(b, 50) ? b->read_end - 1 : b->read_first - count + 1;
		if (first >= 0 && first <= last)
			return first;
	}
	for (int tries = 0; tries < 12; tries++) {
		struct builder_footprint f = {0};
		first = builder_range(b, 0, last);
		builder_touches(&f, first, count, writes, false);
		if (!builder_hazards(b, unit, &f))
			break;
	}
	return first;
}

void action_read_weights(struct builder *b, bool tables)
{
	int64_t maximum = b->mood.prefetch, rows = tables ? 8 : b->config.rows;
	int64_t space = (tables ? 8 * b->tables : b->tile_rows) / rows;
	int64_t count = builder_range(b, 1, maximum < space ? maximum : space);
	/* Tables begin where one does; tiles anywhere, also where tables are. */
	int64_t first = tables ? b->tile_rows + 8 * builder_range(b, 0, b->tables - count)
			       : builder_range(b, 0,
					       b->tile_rows + (builder_chance(b, 10) ? 8 * b->tables : 0) -
						       count * rows);
	*(tables ? &b->tables_asked : &b->tiles_asked) += count;
	builder_emit(b,
		     (struct tpu_instruction){.opcode = TPU_READ_WEIGHTS,
					      .flags = tables ? TPU_WEIGHTS_PARAMETERS : 0,
					      .operand = (uint16_t)count,
					      .length = (uint32_t)first},
		     NULL);
}

/* Sets the link's registers for `rows` rows and says which bytes of host memory they are. */
static void host_registers(struct builder *b, int64_t rows, bool out, struct builder_footprint *f)
{
	int64_t bytes = b->row_bytes, stride;
	if (builder_chance(b, 60))
		bytes = builder_range(b, 1, b->row_bytes);
	if (bytes > b->host_bytes)
		bytes = b->host_bytes;
	int64_t maximum = rows > 1 ? (b->host_bytes - bytes) / (rows - 1) : b->row_bytes;
	stride = builder_chance(b, 50) ? bytes
				       : builder_range(b, out && builder_chance(b, 80) ? bytes : 0, 2 * b->row_bytes);
	if (stride > maximum)
		stride = maximum;
	int64_t span = (rows - 1) * stride + bytes;
	int64_t address = builder_range(b, 0, b->host_bytes - span);
	builder_touches(f, address, span, out, true);
	builder_set(b, TPU_REG_HOST_ADDRESS, (uint32_t)address);
	builder_set(b, TPU_REG_HOST_ROW_BYTES, (uint32_t)bytes);
	builder_set(b, TPU_REG_HOST_STRIDE, (uint32_t)stride);
}

static void host_move(struct builder *b, bool out, int64_t first, int64_t rows)
{
	enum tpu_unit unit = out ? TPU_HOST_OUT : TPU_HOST_IN;
	struct builder_footprint f = {0};
	builder_touches(&f, first, rows, !out, false);
	host_registers(b, rows, out, &f);
	builder_order(b, unit, &f);
	builder_emit(b,
		     (struct tpu_instruction){.opcode = out ? TPU_WRITE_HOST_MEMORY : TPU_READ_HOST_MEMORY,
					      .ub = (uint32_t)first,
					      .length = (uint32_t)rows},
		     &f);
}

static int64_t host_rows(struct builder *b)
{
	int64_t maximum = b->host_bytes / b->row_bytes;
	if (maximum > b->buffer_rows)
		maximum = b->buffer_rows;
	return builder_size(b, maximum < b->mood.most_vectors ? maximum : b->mood.most_vectors);
}

void action_host(struct builder *b, bool out)
{
	int64_t rows = host_rows(b);
	host_move(b, out, action_rows(b, out ? TPU_HOST_OUT : TPU_HOST_IN, rows, !out), rows);
}

void action_overwrite(struct builder *b)
{
	int64_t rows = builder_range(b, 1, 3);
	action_layer_group(b);
	int64_t first = builder_chance(b, 70) ? b->read_end - 1 : b->read_first - rows + 1;
	if (first >= 0 && first + rows <= b->buffer_rows && rows * b->row_bytes <= b->host_bytes)
		host_move(b, false, first, rows);
	action_activate(b, true);
}

void action_spill(struct builder *b)
{
	int64_t rows = host_rows(b);
	struct builder_footprint f = {0};
	host_move(b, true, action_rows(b, TPU_HOST_OUT, rows, false), rows);
	int64_t read_back = action_rows(b, TPU_HOST_IN, rows, true);
	builder_touches(&f, read_back, rows, true, false);
	/* The address registers still say where. */
	builder_touches(&f, b->registers.value[TPU_REG_HOST_ADDRESS],
			(rows - 1) * b->registers.value[TPU_REG_HOST_STRIDE] +
				b->registers.value[TPU_REG_HOST_ROW_BYTES],
			false, true);
	builder_order(b, TPU_HOST_IN, &f);
	builder_emit(b,
		     (struct tpu_instruction){
			     .opcode = TPU_READ_HOST_MEMORY, .ub = (uint32_t)read_back, .length = (uint32_t)rows},
		     &f);
}

void action_noise(struct builder *b)
{
	switch (builder_range(b, 0, 3)) {
	case 0:
		builder_emit(b,
			     (struct tpu_instruction){.opcode = TPU_SYNC, .flags = (uint16_t)builder_range(b, 1, 31)},
			     NULL);
		break;
	case 1: {
		/* Values that the next user of the register replaces. */
		static const enum tpu_register registers[] = {TPU_REG_HOST_ADDRESS, TPU_REG_SOURCE, TPU_REG_OPERAND,
							      TPU_REG_FIRST_RESULT, TPU_REG_USEFUL_CELLS};
		builder_set(b, registers[builder_range(b, 0, 4)], (uint32_t)builder_range(b, 0, 1));
		break;
	}
	default:
		for (int64_t n = builder_range(b, 1, 4); n > 0; n--)
			builder_emit(b, (struct tpu_instruction){.opcode = TPU_NOP}, NULL);
	}
}
