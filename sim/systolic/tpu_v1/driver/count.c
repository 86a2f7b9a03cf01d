/* SPDX-License-Identifier: MIT
 *
 * The counters that an instruction moves (count.h). */
#include "count.h"

static uint64_t planes_of(const struct tpu_registers *registers, enum tpu_register type)
{
	return (uint64_t)tpu_planes((enum tpu_type)registers->value[type]);
}

static void count_matrix(const struct tpu_config *config, const struct tpu_registers *registers,
			 const struct tpu_instruction *in, struct tpu_counters *counters)
{
	uint64_t cells = (uint64_t)(config->rows * config->columns);
	uint64_t vectors = in->length * (in->flags & TPU_MATRIX_INPUTS16 ? 2u : 1u);
	uint64_t useful = registers->value[TPU_REG_USEFUL_CELLS];
	counters->useful_macs += vectors * useful;
	counters->unused_macs += vectors * (cells - useful);
	counters->ub_rows_read += vectors;
	counters->accumulator_writes += vectors;
	counters->tiles += in->flags & TPU_MATRIX_SWITCH ? 1 : 0;
}

static void count_activate(const struct tpu_registers *registers, const struct tpu_instruction *in,
			   struct tpu_counters *counters)
{
	enum tpu_operand operand = tpu_operand_of(in->flags);
	uint64_t results = in->length;
	if (tpu_pooling_of(in->flags) != TPU_NO_POOLING)
		results = results / (registers->value[TPU_REG_IN_HEIGHT] * registers->value[TPU_REG_IN_WIDTH]) *
			  registers->value[TPU_REG_OUT_HEIGHT] * registers->value[TPU_REG_OUT_WIDTH];
	if (in->flags & TPU_ACTIVATE_FROM_BUFFER)
		counters->ub_rows_read += in->length * planes_of(registers, TPU_REG_SOURCE_TYPE);
	if (operand == TPU_ADD || operand == TPU_MULTIPLY)
		counters->ub_rows_read += in->length * planes_of(registers, TPU_REG_OPERAND_TYPE);
	counters->ub_rows_written += results * planes_of(registers, TPU_REG_RESULT_TYPE);
}

void tpu_count_instruction(const struct tpu_config *config, const struct tpu_registers *registers,
			   const struct tpu_instruction *in, struct tpu_counters *counters)
{
	uint64_t columns = (uint64_t)config->columns, host_bytes;
	counters->instructions++;
	switch (tpu_unit_of(in->opcode)) {
	case TPU_MATRIX:
		count_matrix(config, registers, in, counters);
		break;
	case TPU_ACTIVATION:
		count_activate(registers, in, counters);
		break;
	case TPU_WEIGHTS:
		counters->weight_bytes += in->operand * columns *
					  (uint64_t)tpu_weight_rows_of(in->flags & TPU_WEIGHTS_PARAMETERS,
								       config->rows);
		break;
	case TPU_HOST_IN:
	case TPU_HOST_OUT:
		host_bytes = (uint64_t)in->length * registers->value[TPU_REG_HOST_ROW_BYTES];
		if (in->opcode == TPU_READ_HOST_MEMORY) {
			counters->host_bytes_in += host_bytes;
			counters->ub_rows_written += in->length;
		} else {
			counters->host_bytes_out += host_bytes;
			counters->ub_rows_read += in->length;
		}
		break;
	default:
		break;
	}
}
