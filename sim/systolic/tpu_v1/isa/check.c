/* SPDX-License-Identifier: MIT
 *
 * Checks whether a program can be run on a machine (docs/tpu-isa.md), before it runs: the walk, the rules of order, and
 * the rules that several instructions share. A program has no jumps, so one walk in program order sees everything that
 * will happen, with the configuration registers as they will be. All arithmetic is on 64 bits and stays at the greatest
 * number instead of overflowing, as registers and fields may hold anything. */
#include "check_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Gives the bytes of host memory that read_host_memory or write_host_memory touches. */
static void host_range(const struct tpu_instruction *instruction, const struct tpu_registers *registers, int64_t *first,
		       int64_t *end)
{
	*first = registers->value[TPU_REG_HOST_ADDRESS];
	*end = tpu_saturating_sum(
		*first + registers->value[TPU_REG_HOST_ROW_BYTES],
		tpu_saturating_product((int64_t)instruction->length - 1, registers->value[TPU_REG_HOST_STRIDE]));
}

static int check_host(struct tpu_check *check)
{
	bool reads_buffer = check->instruction->opcode == TPU_WRITE_HOST_MEMORY;
	int64_t first, end, size = (int64_t)1 << 32;
	if (tpu_check_register(check, TPU_REG_HOST_ROW_BYTES, 1, tpu_row_bytes(check->config)))
		return check->err->code;
	if (check->memory && !check->memory->timing_only && check->memory->host_bytes < (size_t)size)
		size = (int64_t)check->memory->host_bytes;
	host_range(check->instruction, &check->registers, &first, &end);
	if (end > size)
		return tpu_refuse(check, "%s bytes %lld to %lld of host memory, which has %lld%s",
				  reads_buffer ? "writes" : "reads", (long long)first, (long long)end - 1,
				  (long long)size, size ? "" : " (--host-memory)");
	if (tpu_check_rows(check, !reads_buffer, check->instruction->ub,
			   (int64_t)check->instruction->ub + check->instruction->length, 1, 0))
		return check->err->code;
	tpu_check_note(check, true, reads_buffer, first, end);
	return 0;
}

void tpu_program_host_written(const struct sim_program *program, int64_t rows, int64_t columns, int64_t *first,
			      int64_t *end)
{
	struct tpu_registers registers = tpu_reset_registers(rows, columns);
	*first = *end = 0;
	for (int64_t i = 0; i < program->count; i++) {
		const struct tpu_instruction *instruction = &tpu_code(program)[i];
		int64_t from, to;
		if (instruction->opcode == TPU_SET_CONFIG && instruction->operand < TPU_REGISTERS)
			registers.value[instruction->operand] = instruction->length;
		if (instruction->opcode != TPU_WRITE_HOST_MEMORY)
			continue;
		host_range(instruction, &registers, &from, &to);
		*first = *first == *end || from < *first ? from : *first;
		*end = to > *end ? to : *end;
	}
}

/* Checks that the parameter tables hold numbers. Bytes after the weights given are 0. */
static int check_tables(struct tpu_check *check, int64_t first_row)
{
	const struct tpu_memory *memory = check->memory;
	int64_t columns = check->config->columns, entries = check->instruction->operand * columns;
	if (!memory || memory->timing_only || !memory->weights)
		return 0;
	for (int64_t i = 0; i < entries; i++) {
		size_t byte = (size_t)(first_row * columns + TPU_TABLE_ENTRY_BYTES * i + TPU_TABLE_SCALE);
		uint8_t bytes[4] = {0};
		if (byte >= memory->weight_bytes)
			return 0;
		size_t bytes_left = memory->weight_bytes - byte;
		memcpy(bytes, memory->weights + byte, bytes_left < sizeof bytes ? bytes_left : sizeof bytes);
		uint32_t bits = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
				(uint32_t)bytes[3] << 24;
		float scale;
		memcpy(&scale, &bits, sizeof scale);
		if (!tpu_scale_ok(scale))
			return tpu_refuse(check,
					  "the scale of entry %lld of parameter table %lld is %g, expected a number "
					  "from -2^96 to 2^96",
					  (long long)(i % columns), (long long)(i / columns), (double)scale);
	}
	return 0;
}

static int check_weights(struct tpu_check *check)
{
	bool tables = check->instruction->flags & TPU_WEIGHTS_PARAMETERS;
	int64_t first = check->instruction->length, count = check->instruction->operand;
	int64_t end = first + count * tpu_weight_rows_of(tables, check->config->rows);
	int64_t size = check->config->weight_bytes / check->config->columns;
	if (end > size)
		return tpu_refuse(check, "reads rows %lld to %lld of weight memory, expected at most %lld",
				  (long long)first, (long long)end - 1, (long long)size - 1);
	const struct tpu_memory *memory = check->memory;
	int64_t memory_rows = memory ? (int64_t)memory->weight_bytes / check->config->columns : 0;
	if (memory && memory->weights_end && !memory->timing_only && end > memory_rows)
		return tpu_refuse(check, "reads rows %lld to %lld of weight memory, of which %lld are given%s",
				  (long long)first, (long long)end - 1, (long long)memory_rows,
				  memory_rows ? "" : " (--weights)");
	return tables ? check_tables(check, first) : 0;
}

static int check_one(struct tpu_check *check)
{
	char reason[200];
	if (!sim_instruction_ok(&tpu_instruction_set, 0, check->instruction, reason, sizeof reason))
		return tpu_refuse(check, "%s", reason);
	switch ((enum tpu_opcode)check->instruction->opcode) {
	case TPU_NOP:
	case TPU_SYNC:
		return 0;
	case TPU_HALT:
		if (check->index + 1 < check->program->count)
			return tpu_refuse(check, "more instructions follow, expected it once and last");
		return 0;
	case TPU_SET_CONFIG:
		check->registers.value[check->instruction->operand] = check->instruction->length;
		return 0;
	case TPU_READ_HOST_MEMORY:
	case TPU_WRITE_HOST_MEMORY:
		return check_host(check);
	case TPU_READ_WEIGHTS:
		return check_weights(check);
	case TPU_MATRIX_MULTIPLY:
	case TPU_CONVOLVE:
		return tpu_check_matrix(check);
	case TPU_ACTIVATE:
		return tpu_check_activate(check);
	}
	return npl_fail(check->err, NPL_EINTERNAL, "%s: the check has no rule for opcode 0x%02x", check->source,
			check->instruction->opcode);
}

static int check_last(struct tpu_check *check)
{
	const struct sim_program *program = check->program;
	if (!program->count)
		return npl_fail(check->err, NPL_EINPUT, "%s: no instructions, expected a program that ends with halt",
				check->source);
	check->index = program->count - 1;
	check->instruction = &tpu_code(program)[check->index];
	return check->instruction->opcode == TPU_HALT
		       ? 0
		       : tpu_refuse(check, "the last instruction, expected a halt after it");
}

/* Counts all tiles and tables that read_weights bring: a switch may wait for one that is read later in the program. */
static void count_weights(struct tpu_check *check)
{
	for (int64_t i = 0; i < check->program->count; i++) {
		const struct tpu_instruction *instruction = &tpu_code(check->program)[i];
		if (instruction->opcode == TPU_READ_WEIGHTS && instruction->flags & TPU_WEIGHTS_PARAMETERS)
			check->tables += instruction->operand;
		else if (instruction->opcode == TPU_READ_WEIGHTS)
			check->tiles += instruction->operand;
	}
}

static int check_program(struct tpu_check *check)
{
	const struct sim_program *program = check->program;
	struct tpu_hazards *hazards = tpu_hazards_open();
	int rc = hazards ? 0 : npl_fail(check->err, NPL_ENOMEM, "%s: out of memory", check->source);
	check->registers = tpu_reset_registers(check->config->rows, check->config->columns);
	count_weights(check);
	for (int64_t i = 0; i < program->count && !rc; i++) {
		check->index = i;
		check->instruction = &tpu_code(program)[i];
		check->n_accesses = 0;
		rc = check_one(check);
		if (!rc && check->instruction->opcode == TPU_SYNC)
			tpu_hazards_sync(hazards, check->instruction->flags);
		if (!rc)
			rc = tpu_check_hazards(check, hazards);
		for (int k = 0; k < check->n_accesses && check->on_access && !rc; k++)
			check->on_access(check->context, i, &check->access[k]);
	}
	if (!rc)
		rc = check_last(check);
	tpu_hazards_close(hazards);
	return rc;
}

int tpu_program_check(const struct tpu_config *config, const struct sim_program *program,
		      const struct tpu_memory *memory, const char *source, struct npl_err *err)
{
	struct tpu_check check = {.config = config, .program = program, .memory = memory, .source = source, .err = err};
	return check_program(&check);
}

int tpu_program_accesses(const struct tpu_config *config, const struct sim_program *program, const char *source,
			 void (*on_access)(void *context, int64_t instruction, const struct tpu_access *access),
			 void *context, struct npl_err *err)
{
	struct tpu_check check = {.config = config,
				  .program = program,
				  .source = source,
				  .on_access = on_access,
				  .context = context,
				  .err = err};
	return check_program(&check);
}

static void note_written(void *context, int64_t instruction, const struct tpu_access *access)
{
	struct tpu_access *written = context;
	(void)instruction;
	if (access->in_host || !access->writes || access->first >= access->end)
		return;
	const bool none_written = written->first == written->end;
	if (none_written || access->first < written->first)
		written->first = access->first;
	if (none_written || access->end > written->end)
		written->end = access->end;
}

int tpu_program_buffer_written(const struct tpu_config *config, const struct sim_program *program, const char *source,
			       int64_t *first, int64_t *end, struct npl_err *err)
{
	struct tpu_access written = {0};
	const int rc = tpu_program_accesses(config, program, source, note_written, &written, err);
	*first = written.first;
	*end = written.end;
	return rc;
}
