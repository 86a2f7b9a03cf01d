/* SPDX-License-Identifier: MIT
 *
 * The walk through a program of DianNao (check.h). After isa.c has checked an instruction by itself, this file
 * checks it against the buffers, the registers of NFU-2 and NBout as it finds them, and whether what it waits for can
 * come. check_memory.c does memory. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/arith.h"

#include "check_impl.h"

int dn_check_begin(struct dn_check *check, struct npl_err *err)
{
	const struct dn_config *c = check->config;
	check->sb = (struct dn_queue){"SB", c->sb_rows, dn_sb_row_bytes(c), 0, 0, 0};
	check->nbin = (struct dn_queue){"NBIN", c->nbin_rows, dn_row_bytes(c), 0, 0, 0};
	check->location = (struct sim_source_location){-1, 0};
	check->ended = false;
	check->index = check->store_left = 0;
	check->indices = c->nbout_sum_rows / dn_sum_rows(c);
	check->sums_kept = false;
	check->order = (struct dn_memory_order){0};
	check->sums = calloc((size_t)check->indices + 1, 1);
	if (!check->sums)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", check->source);
	return 0;
}

void dn_check_close(struct dn_check *check)
{
	free(check->sums);
	check->sums = NULL;
	dn_order_close(&check->order);
}

/* Rows `first` to `last` of those held, counted from the oldest, 0; last < first: none. */
struct rows {
	int64_t first, last, count;
};

static int64_t rows_held(const struct dn_queue *queue)
{
	return queue->rows_loaded - queue->rows_freed;
}

/* Appends a load's rows. There is room for them at the latest when every instruction before has ended. */
static int append(struct dn_check *check, struct dn_queue *queue, uint64_t address, uint32_t size)
{
	int64_t rows = npl_div_up_i64(size, queue->row_bytes);
	if (rows_held(queue) + rows > queue->rows)
		return dn_refuse(check, "%s: loads %lld rows while %lld are held, expected at most the buffer's %lld",
				 queue->name, (long long)rows, (long long)rows_held(queue), (long long)queue->rows);
	if (address + size > check->memory_bytes)
		return dn_refuse(check, "%s: loads bytes %llu to %llu of memory, which has %llu", queue->name,
				 (unsigned long long)address, (unsigned long long)(address + size - 1),
				 (unsigned long long)check->memory_bytes);
	queue->rows_loaded += rows;
	return check->memory_order ? dn_order_load(check, queue, address, size) : 0;
}

static int take_sb(struct dn_check *check, const struct dn_instruction *instruction, struct rows *rows)
{
	struct dn_queue *queue = &check->sb;
	int64_t row_bytes = queue->row_bytes;
	if (instruction->sb.op == DN_READ_NOP)
		return 0;
	if (instruction->sb.size % row_bytes)
		return dn_refuse(check, "SB: SIZE is %u, expected a multiple of %lld: rows of Tn x Tn values",
				 instruction->sb.size, (long long)row_bytes);
	rows->count = instruction->sb.size / row_bytes;
	if (instruction->sb.op == DN_LOAD) {
		rows->first = rows_held(queue);
		rows->last = rows->first + rows->count - 1;
		return append(check, queue, instruction->sb.address, instruction->sb.size);
	}
	if (instruction->sb.address % (uint64_t)row_bytes)
		return dn_refuse(check, "SB: ADDRESS is %llu, expected a multiple of %lld: a READ begins at a row",
				 (unsigned long long)instruction->sb.address, (long long)row_bytes);
	rows->first = (int64_t)instruction->sb.address / row_bytes;
	rows->last = rows->first + rows->count - 1;
	if (rows->last >= rows_held(queue))
		return dn_refuse(check, "SB: reads rows %lld to %lld, expected less than the %lld held",
				 (long long)rows->first, (long long)rows->last, (long long)rows_held(queue));
	return 0;
}

static int take_nbin(struct dn_check *check, const struct dn_instruction *instruction, struct rows *rows)
{
	struct dn_queue *queue = &check->nbin;
	if (instruction->nbin.op == DN_READ_NOP ||
	    (instruction->nbin.op == DN_LOAD &&
	     append(check, queue, instruction->nbin.address, instruction->nbin.size)))
		return instruction->nbin.op == DN_READ_NOP ? 0 : check->err->code;
	*rows = (struct rows){0, rows_held(queue) - 1, rows_held(queue)};
	if (instruction->nbin.stride)
		*rows = (struct rows){instruction->nbin.begin, instruction->nbin.end,
				      (instruction->nbin.end - instruction->nbin.begin) / instruction->nbin.stride + 1};
	if (!rows_held(queue))
		return dn_refuse(check, "NBIN: reads rows, expected a LOAD before: none is held");
	if (rows->last >= rows_held(queue))
		return dn_refuse(check, "NBIN: reads rows %lld to %lld, expected less than the %lld held",
				 (long long)rows->first, (long long)rows->last, (long long)rows_held(queue));
	return 0;
}

/* Notes the rows that an instruction has read, which have come when it ends, and those that it frees. */
static void finish(struct dn_queue *queue, const struct rows *rows, uint8_t op, uint8_t reuse, bool uses_nfu)
{
	int64_t end = queue->rows_freed + rows->last + 1;
	if (op == DN_READ_NOP || (op == DN_LOAD && !uses_nfu))
		return;
	if (uses_nfu && queue->rows_arrived < end)
		queue->rows_arrived = end;
	if (!reuse)
		queue->rows_freed = end;
}

static int check_steps(struct dn_check *check, const struct dn_instruction *instruction, const struct rows *sb,
		       const struct rows *nbin)
{
	int64_t words = 4 * check->config->tn, bias = npl_div_up_i64(words, check->sb.row_bytes);
	if (instruction->nfu.nfu1 == DN_BIAS && sb->count != bias)
		return dn_refuse(check, "SB: %lld rows for NFU-1 OP BIAS, expected %lld: Tn words of 32 bits",
				 (long long)sb->count, (long long)bias);
	if (instruction->nfu.nfu1 == DN_MULT && instruction->nbin.op != DN_READ_NOP && sb->count != nbin->count)
		return dn_refuse(check,
				 "NFU: %lld rows of NBin and %lld of SB, expected as many: a step takes one of each",
				 (long long)nbin->count, (long long)sb->count);
	return 0;
}

/* Checks the sums with which NFU-2 begins, and notes those that it keeps or writes. */
static int check_sums(struct dn_check *check, const struct dn_instruction *instruction)
{
	bool reads = instruction->nfu.in == DN_FROM_NBOUT, writes = instruction->nbout.write == DN_WRITE;
	int64_t index = instruction->nfu.begin ? 0 : check->index;
	if (instruction->nfu.in == DN_FROM_KEEP && !check->sums_kept)
		return dn_refuse(check,
				 "NFU: NFU-2 IN is KEEP, expected RESET or NBOUT: NFU-2 OUT was not KEEP before");
	if ((reads || writes) && index >= check->indices)
		return dn_refuse(
			check,
			"NBOUT: sums at index %lld, expected less than %lld: nbout.sum_rows is %lld and Tn sums take "
			"%lld",
			(long long)index, (long long)check->indices, (long long)check->config->nbout_sum_rows,
			(long long)dn_sum_rows(check->config));
	if (reads && !check->sums[index])
		return dn_refuse(check, "NBOUT: reads the sums at index %lld, expected a WRITE there before",
				 (long long)index);
	if (writes)
		check->sums[index] = true;
	check->sums_kept = instruction->nfu.out == DN_TO_KEEP;
	check->index = instruction->nfu.end ? 0 : index + (instruction->nfu.out != DN_TO_KEEP);
	return 0;
}

static int open_store(struct dn_check *check, const struct dn_instruction *instruction, int64_t width)
{
	const struct dn_config *c = check->config;
	int64_t results = c->tn * width, size = instruction->nbout.size;
	int64_t rows = npl_div_up_i64(size, results) * (width / 2), free_rows = c->nbout_rows - c->nbout_sum_rows;
	if (check->store_left)
		return dn_refuse(check,
				 "NBOUT: opens a store while that of %s waits for %lld bytes, expected SIZE 0 to go on",
				 SIM_LOCATION(&check->store), (long long)check->store_left);
	if (size % width)
		return dn_refuse(check, "NBOUT: SIZE is %lld, expected a multiple of %lld: sums of 32 bits",
				 (long long)size, (long long)width);
	if (rows > free_rows)
		return dn_refuse(check,
				 "NBOUT: a store of %lld bytes takes %lld rows, expected at most %lld: nbout.rows less "
				 "nbout.sum_rows",
				 (long long)size, (long long)rows, (long long)(free_rows < 0 ? 0 : free_rows));
	if (instruction->nbout.address + instruction->nbout.size > check->memory_bytes)
		return dn_refuse(check, "NBOUT: stores bytes %llu to %llu of memory, which has %llu",
				 (unsigned long long)instruction->nbout.address,
				 (unsigned long long)(instruction->nbout.address + instruction->nbout.size - 1),
				 (unsigned long long)check->memory_bytes);
	check->store = check->location;
	check->store_left = size;
	check->store_width = width;
	return check->memory_order ? dn_order_store(check, instruction->nbout.address, instruction->nbout.size) : 0;
}

static int check_store(struct dn_check *check, const struct dn_instruction *instruction)
{
	bool sums = instruction->nfu.out == DN_TO_NBOUT && instruction->nfu.nfu2 == DN_ADD;
	int64_t width = sums ? 4 : 2, results = check->config->tn * width;
	if (instruction->nbout.write != DN_STORE)
		return 0;
	if (sums && check->config->sum_bits > 32)
		return dn_refuse(check, "NBOUT: stores sums as they are, expected NFU-2 OUT NFU3: nfu.sum_bits is %lld",
				 (long long)check->config->sum_bits);
	if (instruction->nbout.size && open_store(check, instruction, width))
		return check->err->code;
	if (!check->store_left)
		return dn_refuse(check, "NBOUT: SIZE is 0, expected that of a store: none is open");
	if (width != check->store_width)
		return dn_refuse(check,
				 "NBOUT: results of %lld bytes, expected %lld as those before them in the store of %s",
				 (long long)width, (long long)check->store_width, SIM_LOCATION(&check->store));
	check->store_left -= results < check->store_left ? results : check->store_left;
	return 0;
}

/* Checks that no store is open; a store is requested only when it is full. */
static int check_closed(struct dn_check *check)
{
	if (!check->store_left)
		return 0;
	return dn_refuse(check, "CP: END while the store of %s waits for %lld bytes, expected it full",
			 SIM_LOCATION(&check->store), (long long)check->store_left);
}

int dn_check_one(struct dn_check *check, const struct dn_instruction *instruction, int line, struct npl_err *err)
{
	char reason[200];
	struct rows sb = {0, -1, 0}, nbin = {0, -1, 0};
	bool uses_nfu = dn_uses_nfu(instruction);
	check->err = err;
	check->location.index++;
	check->location.line = line;
	if (check->ended)
		return dn_refuse(check, "an instruction after CP END, expected that one as the last");
	if (!sim_instruction_ok(&dn_instruction_set, check->n_functions, instruction, reason, sizeof reason))
		return dn_refuse(check, "%s", reason);
	if (instruction->cp.op == DN_CP_SYNC && dn_order_sync(check))
		return err->code;
	if (take_sb(check, instruction, &sb) || take_nbin(check, instruction, &nbin) ||
	    check_steps(check, instruction, &sb, &nbin))
		return err->code;
	finish(&check->sb, &sb, instruction->sb.op, instruction->sb.reuse, uses_nfu);
	finish(&check->nbin, &nbin, instruction->nbin.op, instruction->nbin.reuse, uses_nfu);
	if (uses_nfu && (check_sums(check, instruction) || check_store(check, instruction)))
		return err->code;
	check->ended = instruction->cp.op == DN_CP_END;
	return check->ended ? check_closed(check) : 0;
}

int dn_check_end(struct dn_check *check, struct npl_err *err)
{
	check->err = err;
	if (check->location.index < 0)
		return npl_fail(err, NPL_EINPUT, "%s: no instructions, expected a program that ends with CP END",
				check->source);
	return check->ended ? 0 : dn_refuse(check, "the last instruction, expected CP END in it");
}

int dn_program_check(const struct dn_config *config, uint64_t memory_bytes, const struct sim_program *program,
		     const char *source, struct npl_err *err)
{
	struct dn_check check = {.config = config,
				 .n_functions = program->n_constants,
				 .memory_bytes = memory_bytes,
				 .memory_order = true,
				 .source = source};
	int rc = dn_check_begin(&check, err);
	for (int64_t i = 0; i < program->count && !rc; i++)
		rc = dn_check_one(&check, &dn_code(program)[i], program->line[i], err);
	if (!rc)
		rc = dn_check_end(&check, err);
	dn_check_close(&check);
	return rc;
}
