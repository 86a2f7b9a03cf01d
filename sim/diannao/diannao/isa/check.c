/* SPDX-License-Identifier: MIT
 *
 * The walk through a program of DianNao (check.h): after what one instruction says by itself (check_fields.c) what it meets in
 * the buffers, in the registers of NFU-2 and in NBout, and whether what it waits for can come. Memory is in check_memory.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int dn_check_begin(struct dn_checker *checker, struct npl_err *err)
{
	const struct dn_config *c = checker->config;
	checker->sb = (struct dn_queue){"SB", c->sb_rows, dn_sb_row_bytes(c), 0, 0, 0};
	checker->nbin = (struct dn_queue){"NBIN", c->nbin_rows, dn_row_bytes(c), 0, 0, 0};
	checker->at = (struct dn_place){-1, 0};
	checker->ended = false;
	checker->index = checker->store_left = 0;
	checker->indices = c->nbout_sum_rows / dn_sum_rows(c);
	checker->kept = false;
	checker->order = (struct dn_memory_order){0};
	checker->sums = calloc((size_t)checker->indices + 1, 1);
	if (!checker->sums)
		return npl_fail(err, NPL_ENOMEM, "%s: out of memory", checker->source);
	return 0;
}

void dn_check_close(struct dn_checker *checker)
{
	free(checker->sums);
	checker->sums = NULL;
	dn_order_close(&checker->order);
}

/* Rows `first` to `last` of those held, the oldest being 0; last < first: none. */
struct rows {
	int64_t first, last, count;
};

static int64_t held(const struct dn_queue *queue)
{
	return queue->loaded - queue->freed;
}

/* Space for a load's rows is there at the latest when every instruction before has ended. */
static int append(struct dn_checker *checker, struct dn_queue *queue, uint64_t address, uint32_t size)
{
	int64_t rows = (size + queue->row_bytes - 1) / queue->row_bytes;
	if (held(queue) + rows > queue->rows)
		return dn_refuse(checker, "%s: loads %lld rows while %lld are held, expected at most the buffer's %lld",
				 queue->name, (long long)rows, (long long)held(queue), (long long)queue->rows);
	if (address + size > checker->memory_bytes)
		return dn_refuse(checker, "%s: loads bytes %llu to %llu of memory, which has %llu", queue->name,
				 (unsigned long long)address, (unsigned long long)(address + size - 1),
				 (unsigned long long)checker->memory_bytes);
	queue->loaded += rows;
	return checker->memory_order ? dn_order_load(checker, queue, address, size) : 0;
}

static int take_sb(struct dn_checker *checker, const struct dn_instruction *at, struct rows *rows)
{
	struct dn_queue *queue = &checker->sb;
	int64_t row_bytes = queue->row_bytes;
	if (at->sb.op == DN_NOP)
		return 0;
	if (at->sb.size % row_bytes)
		return dn_refuse(checker, "SB: SIZE is %u, expected a multiple of %lld: rows of Tn x Tn values",
				 at->sb.size, (long long)row_bytes);
	rows->count = at->sb.size / row_bytes;
	if (at->sb.op == DN_LOAD) {
		rows->first = held(queue);
		rows->last = rows->first + rows->count - 1;
		return append(checker, queue, at->sb.address, at->sb.size);
	}
	if (at->sb.address % (uint64_t)row_bytes)
		return dn_refuse(checker, "SB: ADDRESS is %llu, expected a multiple of %lld: a READ begins at a row",
				 (unsigned long long)at->sb.address, (long long)row_bytes);
	rows->first = (int64_t)at->sb.address / row_bytes;
	rows->last = rows->first + rows->count - 1;
	if (rows->last >= held(queue))
		return dn_refuse(checker, "SB: reads rows %lld to %lld, expected less than the %lld held",
				 (long long)rows->first, (long long)rows->last, (long long)held(queue));
	return 0;
}

static int take_nbin(struct dn_checker *checker, const struct dn_instruction *at, struct rows *rows)
{
	struct dn_queue *queue = &checker->nbin;
	if (at->nbin.op == DN_NOP ||
	    (at->nbin.op == DN_LOAD && append(checker, queue, at->nbin.address, at->nbin.size)))
		return at->nbin.op == DN_NOP ? 0 : checker->err->code;
	*rows = (struct rows){0, held(queue) - 1, held(queue)};
	if (at->nbin.stride)
		*rows = (struct rows){at->nbin.begin, at->nbin.end,
				      (at->nbin.end - at->nbin.begin) / at->nbin.stride + 1};
	if (!held(queue))
		return dn_refuse(checker, "NBIN: reads rows, expected a LOAD before: none is held");
	if (rows->last >= held(queue))
		return dn_refuse(checker, "NBIN: reads rows %lld to %lld, expected less than the %lld held",
				 (long long)rows->first, (long long)rows->last, (long long)held(queue));
	return 0;
}

/* What it reads has come when it ends. */
static void finish(struct dn_queue *queue, const struct rows *rows, uint8_t op, uint8_t reuse, bool works)
{
	int64_t behind = queue->freed + rows->last + 1;
	if (op == DN_NOP || (op == DN_LOAD && !works))
		return;
	if (works && queue->read < behind)
		queue->read = behind;
	if (!reuse)
		queue->freed = behind;
}

static int check_steps(struct dn_checker *checker, const struct dn_instruction *at, const struct rows *sb,
		       const struct rows *nbin)
{
	int64_t words = 4 * checker->config->tn, bias = (words + checker->sb.row_bytes - 1) / checker->sb.row_bytes;
	if (at->nfu.nfu1 == DN_BIAS && sb->count != bias)
		return dn_refuse(checker, "SB: %lld rows for NFU-1 OP BIAS, expected %lld: Tn words of 32 bits",
				 (long long)sb->count, (long long)bias);
	if (at->nfu.nfu1 == DN_MULT && at->nbin.op != DN_NOP && sb->count != nbin->count)
		return dn_refuse(checker,
				 "NFU: %lld rows of NBin and %lld of SB, expected as many: a step takes one of each",
				 (long long)nbin->count, (long long)sb->count);
	return 0;
}

/* What NFU-2 begins with and leaves behind. */
static int check_sums(struct dn_checker *checker, const struct dn_instruction *at)
{
	bool reads = at->nfu.in == DN_FROM_NBOUT, writes = at->nbout.write == DN_WRITE;
	int64_t index = at->nfu.begin ? 0 : checker->index;
	if (at->nfu.in == DN_FROM_KEEP && !checker->kept)
		return dn_refuse(checker,
				 "NFU: NFU-2 IN is KEEP, expected RESET or NBOUT: NFU-2 OUT was not KEEP before");
	if ((reads || writes) && index >= checker->indices)
		return dn_refuse(
			checker,
			"NBOUT: sums at index %lld, expected less than %lld: nbout.sum_rows is %lld and Tn sums take %lld",
			(long long)index, (long long)checker->indices, (long long)checker->config->nbout_sum_rows,
			(long long)dn_sum_rows(checker->config));
	if (reads && !checker->sums[index])
		return dn_refuse(checker, "NBOUT: reads the sums at index %lld, expected a WRITE there before",
				 (long long)index);
	if (writes)
		checker->sums[index] = true;
	checker->kept = at->nfu.out == DN_TO_KEEP;
	checker->index = at->nfu.end ? 0 : index + (at->nfu.out != DN_TO_KEEP);
	return 0;
}

static int open_store(struct dn_checker *checker, const struct dn_instruction *at, int64_t width)
{
	const struct dn_config *c = checker->config;
	char where[40];
	int64_t results = c->tn * width, size = at->nbout.size;
	int64_t rows = (size + results - 1) / results * (width / 2), room = c->nbout_rows - c->nbout_sum_rows;
	if (checker->store_left)
		return dn_refuse(checker,
				 "NBOUT: opens a store while that of %s waits for %lld bytes, expected SIZE 0 to go on",
				 dn_place_text(&checker->store, where, sizeof where), (long long)checker->store_left);
	if (size % width)
		return dn_refuse(checker, "NBOUT: SIZE is %lld, expected a multiple of %lld: sums of 32 bits",
				 (long long)size, (long long)width);
	if (rows > room)
		return dn_refuse(checker,
				 "NBOUT: a store of %lld bytes takes %lld rows, expected at most %lld: nbout.rows less "
				 "nbout.sum_rows",
				 (long long)size, (long long)rows, (long long)(room < 0 ? 0 : room));
	if (at->nbout.address + at->nbout.size > checker->memory_bytes)
		return dn_refuse(checker, "NBOUT: stores bytes %llu to %llu of memory, which has %llu",
				 (unsigned long long)at->nbout.address,
				 (unsigned long long)(at->nbout.address + at->nbout.size - 1),
				 (unsigned long long)checker->memory_bytes);
	checker->store = checker->at;
	checker->store_left = size;
	checker->store_width = width;
	return checker->memory_order ? dn_order_store(checker, at->nbout.address, at->nbout.size) : 0;
}

static int check_store(struct dn_checker *checker, const struct dn_instruction *at)
{
	bool sums = at->nfu.out == DN_TO_NBOUT && at->nfu.nfu2 == DN_ADD;
	int64_t width = sums ? 4 : 2, results = checker->config->tn * width;
	char where[40];
	if (at->nbout.write != DN_STORE)
		return 0;
	if (sums && checker->config->sum_bits > 32)
		return dn_refuse(checker,
				 "NBOUT: stores sums as they are, expected NFU-2 OUT NFU3: nfu.sum_bits is %lld",
				 (long long)checker->config->sum_bits);
	if (at->nbout.size && open_store(checker, at, width))
		return checker->err->code;
	if (!checker->store_left)
		return dn_refuse(checker, "NBOUT: SIZE is 0, expected that of a store: none is open");
	if (width != checker->store_width)
		return dn_refuse(checker,
				 "NBOUT: results of %lld bytes, expected %lld as those before them in the store of %s",
				 (long long)width, (long long)checker->store_width,
				 dn_place_text(&checker->store, where, sizeof where));
	checker->store_left -= results < checker->store_left ? results : checker->store_left;
	return 0;
}

/* A store is asked for when it is full. */
static int check_closed(struct dn_checker *checker)
{
	char where[40];
	if (!checker->store_left)
		return 0;
	return dn_refuse(checker, "CP: END while the store of %s waits for %lld bytes, expected it full",
			 dn_place_text(&checker->store, where, sizeof where), (long long)checker->store_left);
}

int dn_check_one(struct dn_checker *checker, const struct dn_instruction *at, int line, struct npl_err *err)
{
	char why[200];
	struct rows sb = {0, -1, 0}, nbin = {0, -1, 0};
	bool works = dn_works(at);
	checker->err = err;
	checker->at.index++;
	checker->at.line = line;
	if (checker->ended)
		return dn_refuse(checker, "an instruction after CP END, expected that one as the last");
	if (!sim_instruction_ok(&dn_instructions, checker->n_functions, at, why, sizeof why))
		return dn_refuse(checker, "%s", why);
	if (at->cp == DN_CP_SYNC && dn_order_sync(checker))
		return err->code;
	if (take_sb(checker, at, &sb) || take_nbin(checker, at, &nbin) || check_steps(checker, at, &sb, &nbin))
		return err->code;
	finish(&checker->sb, &sb, at->sb.op, at->sb.reuse, works);
	finish(&checker->nbin, &nbin, at->nbin.op, at->nbin.reuse, works);
	if (works && (check_sums(checker, at) || check_store(checker, at)))
		return err->code;
	checker->ended = at->cp == DN_CP_END;
	return checker->ended ? check_closed(checker) : 0;
}

int dn_check_end(struct dn_checker *checker, struct npl_err *err)
{
	checker->err = err;
	if (checker->at.index < 0)
		return npl_fail(err, NPL_EINPUT, "%s: no instructions, expected a program that ends with CP END",
				checker->source);
	return checker->ended ? 0 : dn_refuse(checker, "the last instruction, expected CP END in it");
}

int dn_program_check(const struct dn_config *config, uint64_t memory_bytes, const struct sim_program *program,
		     const char *source, struct npl_err *err)
{
	struct dn_checker checker = {.config = config,
				     .n_functions = program->n_constants,
				     .memory_bytes = memory_bytes,
				     .memory_order = true,
				     .source = source};
	int rc = dn_check_begin(&checker, err);
	for (int64_t i = 0; i < program->count && !rc; i++)
		rc = dn_check_one(&checker, &dn_code(program)[i], program->line[i], err);
	if (!rc)
		rc = dn_check_end(&checker, err);
	dn_check_close(&checker);
	return rc;
}
