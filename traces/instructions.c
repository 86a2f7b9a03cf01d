/* SPDX-License-Identifier: MIT
 *
 * Lines of instructions (instructions.h). The caller packs what it is told into batches. A ring of them goes to the
 * thread that makes lines of them. */
#include "instructions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checksum.h"
#include "core/base/refuse.h"
#include "npulab/thread.h"
#include "text.h"

/* A block is instructions in a row, with the checksums of their fields and of what they wrote in a line before them.
 * Digits of many checksums in one line take half of the room that they take one by one among lines that repeat. */
enum { BLOCK_INSTRUCTIONS = 1024, BLOCK_SUMS = 64, BLOCK_BYTES = 1 << 18 };

/* What tells two instructions apart, their checksums aside: those that are alike have the same text. */
struct shape {
	const char *name, *unit;
	int64_t begin; /* from the begin of the instruction before */
	/* the cycles of each class, then the counters that instructions move, of the machine */
	uint64_t figure[NPL_MAX_CYCLE_CLASSES + NPL_MAX_COUNTERS];
};
struct known_shape {
	struct shape shape;
	size_t bytes; /* 0: none is known here */
	char text[2048];
};
enum { KNOWN_SHAPES = 1024 };

/* An instruction on its way to the thread. Its shape has the size that the machine uses; its fields follow that. */
struct told {
	uint64_t sum; /* checksum */
	int layer;
	bool has_sum;
	struct shape shape;
};
enum { BATCHES = 4, BATCH_BYTES = 1 << 18 };
struct batch {
	size_t bytes; /* of `told` in it, each of told_bytes */
	_Alignas(16) unsigned char told[BATCH_BYTES];
};

struct trace_instructions {
	struct trace_out *out;
	struct npl_executed_program program;
	size_t shape_bytes, fields_bytes, told_bytes;
	uint64_t previous_begin;

	/* The ring of batches. The caller fills number `filled`; the n_full before it wait for the thread. */
	pthread_t thread;
	bool own_thread, has_thread, closes;
	pthread_mutex_t mutex;  /* of n_full and closes */
	pthread_cond_t changed; /* a batch became full or empty, or the thread shall end */
	unsigned filled, n_full;
	struct batch *batch; /* BATCHES of them */

	/* What the thread alone uses while there are batches. */
	struct trace_line line;
	int layer_now;    /* the layer that the last line `of` names; -1: none */
	uint64_t between; /* lines that are no events */
	struct block {
		int n, n_sums;
		uint64_t fields[BLOCK_INSTRUCTIONS]; /* checksums, of which the block has one */
		uint64_t sum[BLOCK_SUMS];
		size_t bytes;
		char text[BLOCK_BYTES]; /* the lines of the instructions */
	} block;
	struct known_shape *known;
};

/* ---- Lines. */

static void put_count(struct trace_line *line, const char *key, uint64_t count)
{
	if (!count)
		return;
	trace_line_key(line, key);
	trace_line_put_number(line, count);
}

/* Writes the block, and begins another. */
static void put_block(struct trace_instructions *t)
{
	struct block *block = &t->block;
	if (!block->n)
		return;
	trace_line_begin(&t->line, "block");
	trace_line_number(&t->line, (uint64_t)block->n);
	trace_line_key(&t->line, "fields");
	trace_line_put_checksum(&t->line, npl_checksum(block->fields, (size_t)block->n * sizeof *block->fields));
	if (block->n_sums)
		trace_line_key(&t->line, "sums");
	for (int i = 0; i < block->n_sums; i++)
		trace_line_put_short_checksum(&t->line, block->sum[i]);
	trace_line_end(&t->line, t->out);
	trace_out_put(t->out, block->text, block->bytes);
	t->between++;
	block->n = block->n_sums = 0;
	block->bytes = 0;
}

/* Adds text to the block, which must have room for it. */
static void add_text(struct block *block, const char *text, size_t bytes)
{
	memcpy(block->text + block->bytes, text, bytes);
	block->bytes += bytes;
}

/* Makes the line of an instruction, without its checksum. */
static void put_shape(struct trace_instructions *t, const struct shape *shape)
{
	const struct npl_executed_program *program = &t->program;
	uint64_t cycles = 0;
	char begin[24];
	for (int k = 0; k < program->n_cycle_classes; k++)
		cycles += shape->figure[k];
	snprintf(begin, sizeof begin, "%+lld", (long long)shape->begin);
	trace_line_begin(&t->line, "i");
	trace_line_word(&t->line, shape->name);
	trace_line_word(&t->line, shape->unit);
	trace_line_word(&t->line, begin);
	trace_line_number(&t->line, cycles);
	for (int k = 0; k < program->n_cycle_classes; k++)
		put_count(&t->line, program->cycle_class[k].name, shape->figure[k]);
	for (int k = 0; k < program->n_moved; k++)
		put_count(&t->line, program->counter_def[program->moved_counter[k]].name,
			  shape->figure[program->n_cycle_classes + k]);
}

/* Writes the text of a shape, which is made where it is not known. */
static void put_known_shape(struct trace_instructions *t, const struct shape *shape)
{
	struct known_shape *known = &t->known[npl_checksum(shape, t->shape_bytes) % KNOWN_SHAPES];
	if (!known->bytes || memcmp(&known->shape, shape, t->shape_bytes) != 0) {
		put_shape(t, shape);
		known->bytes = 0;
		if (t->line.full)
			trace_out_too_long(t->out);
		if (t->line.n > sizeof known->text) {
			add_text(&t->block, t->line.text, t->line.n);
			return;
		}
		memcpy(&known->shape, shape, t->shape_bytes);
		known->bytes = t->line.n;
		memcpy(known->text, t->line.text, t->line.n);
	}
	add_text(&t->block, known->text, known->bytes);
}

static void put_instruction(struct trace_instructions *t, const struct told *told)
{
	struct block *block = &t->block;
	if (block->n == BLOCK_INSTRUCTIONS || block->n_sums == BLOCK_SUMS ||
	    sizeof block->text - block->bytes < 2 * sizeof t->line.text)
		put_block(t);
	if (told->layer >= 0 && told->layer != t->layer_now) {
		trace_line_begin(&t->line, "of");
		trace_line_word(&t->line, t->program.layer[told->layer]);
		if (t->line.full)
			trace_out_too_long(t->out);
		t->line.text[t->line.n++] = '\n';
		add_text(block, t->line.text, t->line.n);
		t->layer_now = told->layer;
		t->between++;
	}
	put_known_shape(t, &told->shape);
	if (told->has_sum) {
		add_text(block, " sum\n", 5);
		block->sum[block->n_sums++] = told->sum;
	} else {
		add_text(block, "\n", 1);
	}
	block->fields[block->n++] = npl_checksum((const char *)&told->shape + t->shape_bytes, t->fields_bytes);
}

static void put_batch(struct trace_instructions *t, const struct batch *batch)
{
	for (size_t at = 0; at < batch->bytes; at += t->told_bytes)
		put_instruction(t, (const struct told *)(const void *)(batch->told + at));
}

/* ---- The ring. */

static void *write_batches(void *context)
{
	struct trace_instructions *t = context;
	unsigned next = 0;
	pthread_mutex_lock(&t->mutex);
	while (t->n_full || !t->closes) {
		if (!t->n_full) {
			pthread_cond_wait(&t->changed, &t->mutex);
			continue;
		}
		pthread_mutex_unlock(&t->mutex);
		put_batch(t, &t->batch[next]);
		next = (next + 1) % BATCHES;
		pthread_mutex_lock(&t->mutex);
		t->n_full--;
		pthread_cond_signal(&t->changed);
	}
	pthread_mutex_unlock(&t->mutex);
	return NULL;
}

/* Gives the batch away that was filled, and begins another. */
static void give_batch(struct trace_instructions *t)
{
	if (t->has_thread) {
		pthread_mutex_lock(&t->mutex);
		t->n_full++;
		pthread_cond_signal(&t->changed);
		while (t->n_full == BATCHES)
			pthread_cond_wait(&t->changed, &t->mutex);
		pthread_mutex_unlock(&t->mutex);
		t->filled = (t->filled + 1) % BATCHES;
	} else {
		put_batch(t, &t->batch[t->filled]);
	}
	t->batch[t->filled].bytes = 0;
}

static void wait_for_thread(struct trace_instructions *t)
{
	if (!t->has_thread)
		return;
	pthread_mutex_lock(&t->mutex);
	while (t->n_full)
		pthread_cond_wait(&t->changed, &t->mutex);
	pthread_mutex_unlock(&t->mutex);
}

/* ---- What is told. */

int trace_instructions_open(struct trace_out *out, bool own_thread, struct trace_instructions **opened,
			    struct npl_err *err)
{
	struct trace_instructions *t = calloc(1, sizeof *t);
	*opened = NULL;
	if (!t || !(t->known = calloc(KNOWN_SHAPES, sizeof *t->known)) ||
	    !(t->batch = calloc(BATCHES, sizeof *t->batch))) {
		if (t)
			free(t->known);
		free(t);
		return npl_no_memory(err);
	}
	t->out = out;
	t->own_thread = own_thread;
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->changed, NULL);
	*opened = t;
	return 0;
}

void trace_instructions_close(struct trace_instructions *instructions)
{
	struct trace_instructions *t = instructions;
	if (!t)
		return;
	if (t->has_thread) {
		pthread_mutex_lock(&t->mutex);
		t->closes = true;
		pthread_cond_signal(&t->changed);
		pthread_mutex_unlock(&t->mutex);
		pthread_join(t->thread, NULL);
	}
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->mutex);
	free(t->batch);
	free(t->known);
	free(t);
}

void trace_instructions_program(struct trace_instructions *instructions, const struct npl_executed_program *program)
{
	struct trace_instructions *t = instructions;
	t->program = *program;
	t->previous_begin = 0;
	t->layer_now = -1;
	t->shape_bytes = offsetof(struct shape, figure) +
			 (size_t)(program->n_cycle_classes + program->n_moved) * sizeof *t->known->shape.figure;
	t->fields_bytes = (size_t)program->n_fields * sizeof *t->known->shape.figure;
	t->told_bytes = (offsetof(struct told, shape) + t->shape_bytes + t->fields_bytes + 15) / 16 * 16;
	for (int i = 0; i < KNOWN_SHAPES; i++)
		t->known[i].bytes = 0;
	if (t->own_thread && !t->has_thread && npl_threads_allowed() > 1)
		t->has_thread = !npl_thread_start(&t->thread, write_batches, t);
}

void trace_instructions_add(struct trace_instructions *instructions, const struct npl_executed_instruction *told)
{
	struct trace_instructions *t = instructions;
	if (BATCH_BYTES - t->batch[t->filled].bytes < t->told_bytes)
		give_batch(t);
	struct batch *batch = &t->batch[t->filled];
	struct told *packed = (struct told *)(void *)(batch->told + batch->bytes);
	const size_t classes = (size_t)t->program.n_cycle_classes;
	packed->sum = told->checksum;
	packed->has_sum = told->has_checksum;
	packed->layer = told->layer;
	packed->shape.name = told->name;
	packed->shape.unit = told->unit;
	packed->shape.begin = (int64_t)(told->time->begin - t->previous_begin);
	memcpy(packed->shape.figure, told->time->cycles, classes * sizeof *packed->shape.figure);
	memcpy(packed->shape.figure + classes, told->moved, (size_t)t->program.n_moved * sizeof *told->moved);
	memcpy((char *)&packed->shape + t->shape_bytes, told->field, t->fields_bytes);
	t->previous_begin = told->time->begin;
	batch->bytes += t->told_bytes;
}

void trace_instructions_end(struct trace_instructions *instructions)
{
	give_batch(instructions);
	wait_for_thread(instructions);
	put_block(instructions);
}

uint64_t trace_instructions_between(const struct trace_instructions *instructions)
{
	return instructions->between;
}
