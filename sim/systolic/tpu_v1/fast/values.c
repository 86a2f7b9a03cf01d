/* SPDX-License-Identifier: MIT
 *
 * The fast engine's values: does the program's instructions in order (values.h). */
#include "values.h"

#include "core/base/arith.h"
#include "core/base/parallel.h"
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"

/* Finds the activates that are the last to read their accumulator rows. It walks backwards with the rows that are read
 * later, as they are or after something was added to them. Accumulators are not read after the program. */
static void find_last_uses(struct tpu_fast_machine *m, uint8_t *read_later)
{
	for (int64_t i = m->program->count - 1; i >= 0; i--) {
		const struct tpu_instruction *in = &tpu_code(m->program)[i];
		enum tpu_unit unit = tpu_unit_of(in->opcode);
		if (unit == TPU_MATRIX && !(in->flags & TPU_MATRIX_ACCUMULATE))
			memset(read_later + in->operand, 0, in->length);
		if (unit != TPU_ACTIVATION || (in->flags & TPU_ACTIVATE_FROM_BUFFER))
			continue;
		m->last_use[i] = !memchr(read_later + in->operand, 1, in->length);
		memset(read_later + in->operand, 1, in->length);
	}
}

/* Finds what the program's read_weights bring, before any of it is taken: an instruction may wait in its queue for what
 * a later read_weights brings. */
static void find_streams(struct tpu_fast_machine *m)
{
	int64_t next[2] = {0, 0};
	for (int64_t i = 0; i < m->program->count; i++) {
		const struct tpu_instruction *in = &tpu_code(m->program)[i];
		if (in->opcode != TPU_READ_WEIGHTS)
			continue;
		bool tables = in->flags & TPU_WEIGHTS_PARAMETERS;
		struct tpu_fast_stream *stream = tables ? &m->tables : &m->tiles;
		stream->fetch[stream->count++] = (struct tpu_fast_fetch){in->length, next[tables], in->operand};
		next[tables] += in->operand;
	}
}

/* Returns the byte of weight memory at which the stream's next tile or table begins; each has `rows` weight rows. */
static uint64_t take(const struct tpu_fast_machine *m, struct tpu_fast_stream *stream, int64_t rows)
{
	while (stream->fetch_index < stream->count &&
	       stream->n_taken >= stream->fetch[stream->fetch_index].first + stream->fetch[stream->fetch_index].count)
		stream->fetch_index++;
	if (stream->fetch_index == stream->count) /* the schedule has found that the program can never end */
		return TPU_FAST_NO_TILE;
	const struct tpu_fast_fetch *from = &stream->fetch[stream->fetch_index];
	uint64_t row = from->row + (uint64_t)((stream->n_taken++ - from->first) * rows);
	return row * (uint64_t)m->config->columns;
}

static void switch_table(struct tpu_fast_machine *m)
{
	uint64_t address = take(m, &m->tables, TPU_TABLE_ROWS);
	for (int64_t j = 0; j < m->config->columns; j++) {
		uint8_t entry[TPU_TABLE_ENTRY_BYTES];
		tpu_fast_weight_bytes(&m->weights, address + sizeof entry * (uint64_t)j, sizeof entry, entry);
		memcpy(&m->bias[j], entry, sizeof m->bias[j]);
		memcpy(&m->scale[j], entry + TPU_TABLE_SCALE, sizeof m->scale[j]);
	}
}

static int move_host(struct tpu_fast_machine *m, int64_t index, struct npl_err *err)
{
	const struct tpu_instruction *in = &tpu_code(m->program)[index];
	const uint64_t address = m->registers.value[TPU_REG_HOST_ADDRESS],
		       stride = m->registers.value[TPU_REG_HOST_STRIDE];
	const size_t bytes = m->registers.value[TPU_REG_HOST_ROW_BYTES];
	const bool inward = in->opcode == TPU_READ_HOST_MEMORY;
	int rc = inward ? tpu_fast_before_write(m, in->ub, in->ub + (int64_t)in->length, err) : 0;
	for (uint64_t i = 0; i < in->length && !rc; i++) {
		uint8_t *row = m->memory->buffer + (in->ub + i) * (uint64_t)m->width;
		uint8_t *host = m->memory->host + address + i * stride;
		if (inward) {
			memcpy(row, host, bytes);
			memset(row + bytes, 0, (size_t)m->width - bytes);
		} else {
			memcpy(host, row, bytes);
		}
		tpu_fast_host_activity(m, index, inward, row);
	}
	return rc;
}

static int run(struct tpu_fast_machine *m, int64_t index, struct npl_err *err)
{
	const struct tpu_instruction *in = &tpu_code(m->program)[index];
	switch ((enum tpu_opcode)in->opcode) {
	case TPU_NOP:
	case TPU_HALT:
	case TPU_SYNC:
	case TPU_READ_WEIGHTS: /* find_streams has found what it brings */
		return 0;
	case TPU_SET_CONFIG:
		m->registers.value[in->operand] = in->length;
		return 0;
	case TPU_READ_HOST_MEMORY:
	case TPU_WRITE_HOST_MEMORY:
		return move_host(m, index, err);
	case TPU_MATRIX_MULTIPLY:
	case TPU_CONVOLVE:
		if (in->flags & TPU_MATRIX_SWITCH)
			m->active = take(m, &m->tiles, m->config->rows);
		return tpu_fast_matrix(m, index, err);
	case TPU_ACTIVATE:
		if (in->flags & TPU_ACTIVATE_SWITCH)
			switch_table(m);
		return tpu_fast_activate(m, index, err);
	}
	return npl_fail(err, NPL_EINTERNAL, "the fast engine has no values for opcode 0x%02x", in->opcode);
}

static void *block(bool *ok, int64_t count, size_t size)
{
	void *memory = calloc((size_t)(count > 0 ? count : 1), size);
	*ok = *ok && memory;
	return memory;
}

static void close_worker(struct tpu_fast_worker *w)
{
	void *const blocks[] = {w->sums,           w->product,   w->sums_overflow, (void *)w->input, w->staged,
				w->padding_vector, w->row_start, w->element,       w->operand};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		free(blocks[i]);
}

/* Makes room for the threads that this execution may use. Returns false when memory runs out. */
static bool open_workers(struct tpu_fast_machine *m)
{
	bool ok = true;
	m->workers = npl_parallel_workers();
	if (m->workers <= m->n_workers)
		return true;
	struct tpu_fast_worker *grown = realloc(m->worker, (size_t)m->workers * sizeof *grown);
	if (!grown)
		return false;
	m->worker = grown;
	for (; m->n_workers < m->workers && ok; m->n_workers++) {
		struct tpu_fast_worker *w = &m->worker[m->n_workers];
		*w = (struct tpu_fast_worker){0};
		w->sums = block(&ok, TPU_FAST_BLOCK * m->stride, sizeof *w->sums);
		w->product = block(&ok, TPU_FAST_BLOCK * m->stride, sizeof *w->product);
		w->input = block(&ok, TPU_FAST_BLOCK, sizeof *w->input);
		w->staged = block(&ok, TPU_FAST_BLOCK, (size_t)m->staged_pitch);
		w->padding_vector = block(&ok, m->staged_pitch, 1);
		w->row_start = block(&ok, TPU_FAST_BLOCK, sizeof *w->row_start);
		w->element = block(&ok, m->stride, sizeof *w->element);
		w->operand = block(&ok, m->stride, sizeof *w->operand);
		if (!ok)
			close_worker(w);
	}
	m->n_workers -= !ok;
	return ok;
}

/* Makes what depends on the machine's sizes alone. Returns 0 or NPL_ENOMEM. */
static int open_machine(struct tpu_fast_machine *m, const struct tpu_config *config, struct npl_err *err)
{
	bool ok = true;
	m->rows = config->rows;
	m->columns = config->columns;
	m->accumulator_rows = config->accumulator_rows;
	m->stride = npl_round_up_i64(m->columns, NPL_INT8_PANEL);
	m->staged_pitch = npl_round_up_i64(m->rows, 64) + 64;
	m->accumulator = block(&ok, m->accumulator_rows * m->stride, sizeof *m->accumulator);
	m->magnitude = block(&ok, m->accumulator_rows, sizeof *m->magnitude);
	m->bias = block(&ok, m->stride, sizeof *m->bias);
	m->scale = block(&ok, m->stride, sizeof *m->scale);
	int rc = tpu_fast_weights_open(&m->weights, config, err);
	return ok ? rc
		  : npl_fail(err, NPL_ENOMEM, "out of memory for %lld accumulator rows",
			     (long long)m->accumulator_rows);
}

void tpu_fast_machine_free(struct tpu_fast_machine *m)
{
	if (!m)
		return;
	void *const blocks[] = {m->accumulator, m->magnitude, m->bias, m->scale, m->image, m->overflow};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		free(blocks[i]);
	for (int i = 0; i < m->n_workers; i++)
		close_worker(&m->worker[i]);
	free(m->worker);
	for (int f = 0; f < TPU_FUNCTIONS; f++)
		free(m->function[f]);
	for (int p = 0; p < TPU_FAST_PENDING; p++)
		free(m->pending[p].pass);
	tpu_fast_weights_close(&m->weights);
	free(m);
}

/* Returns the machine that was kept if its sizes are the same, or a new one in its place. NULL: out of memory. */
static struct tpu_fast_machine *machine_for(struct tpu_fast_machine **cached, const struct tpu_config *config,
					    struct npl_err *err)
{
	struct tpu_fast_machine *m = *cached;
	if (m && m->rows == config->rows && m->columns == config->columns &&
	    m->accumulator_rows == config->accumulator_rows)
		return m;
	tpu_fast_machine_free(m);
	*cached = m = calloc(1, sizeof *m);
	if (!m) {
		npl_no_memory(err);
		return NULL;
	}
	if (open_machine(m, config, err)) {
		tpu_fast_machine_free(m);
		*cached = NULL;
	}
	return *cached;
}

/* Sets all state to that at reset. Only accumulators that were written to memory need zeroing: they have a
 * magnitude. */
static void reset(struct tpu_fast_machine *m)
{
	m->registers = tpu_reset_registers(m->rows, m->columns);
	m->active = TPU_FAST_NO_TILE;
	m->tiles = m->tables = (struct tpu_fast_stream){0};
	for (int64_t row = 0; row < m->accumulator_rows; row++)
		if (m->magnitude[row]) {
			memset(m->accumulator + row * m->stride, 0, (size_t)m->stride * sizeof *m->accumulator);
			if (m->overflow)
				memset(m->overflow + row * m->stride, 0, (size_t)m->stride * sizeof *m->overflow);
			m->magnitude[row] = 0;
		}
	memset(m->bias, 0, (size_t)m->stride * sizeof *m->bias);
	memset(m->scale, 0, (size_t)m->stride * sizeof *m->scale);
	for (int p = 0; p < TPU_FAST_PENDING; p++)
		m->pending[p].end = m->pending[p].first;
}

/* Prepares what depends on the program. Returns 0 or NPL_ENOMEM. */
static int open_run(struct tpu_fast_machine *m, struct npl_err *err)
{
	const int64_t count = m->program->count;
	bool ok = open_workers(m);
	reset(m);
	m->width = tpu_row_bytes(m->config);
	m->buffer_bytes = (size_t)(tpu_buffer_size_rows(m->config) * m->width);
	tpu_fast_weights_use(&m->weights, m->memory);
	m->last_use = block(&ok, count, sizeof *m->last_use);
	m->tiles.fetch = block(&ok, count, sizeof *m->tiles.fetch);
	m->tables.fetch = block(&ok, count, sizeof *m->tables.fetch);
	if (tpu_fast_activity_open(m, err))
		return err->code;
	uint8_t *read_later = block(&ok, m->accumulator_rows, sizeof *read_later);
	if (ok) {
		find_last_uses(m, read_later);
		find_streams(m);
	}
	free(read_later);
	if (ok)
		return 0;
	return npl_fail(err, NPL_ENOMEM, "out of memory for a program of %lld instructions", (long long)count);
}

static void close_run(struct tpu_fast_machine *m)
{
	free(m->last_use);
	free(m->tiles.fetch);
	free(m->tables.fetch);
	tpu_fast_activity_close(m);
}

/* Does instructions one by one. Each that a unit executes retires when it has been computed. m NULL: nothing is
 * computed. */
static int run_program(struct tpu_fast_machine *m, const struct sim_program *program,
		       const struct sim_observer *observer, struct npl_err *err)
{
	int rc = 0;
	for (int64_t i = 0; i < program->count && !rc; i++) {
		if (m)
			rc = run(m, i, err);
		if (!rc && observer && observer->on_retired && tpu_unit_of(tpu_code(program)[i].opcode) < TPU_UNITS)
			rc = observer->on_retired(observer->context, i, err);
	}
	return rc;
}

int tpu_fast_values(struct tpu_fast_machine **cached, const struct tpu_engine_input *engine_input,
		    struct tpu_outcome *outcome, struct npl_err *err)
{
	const struct sim_program *program = engine_input->program;
	const struct sim_observer *observer = engine_input->observer;
	if (engine_input->memory.timing_only)
		return run_program(NULL, program, observer, err);
	struct tpu_fast_machine *m = machine_for(cached, engine_input->config, err);
	if (!m)
		return err->code;
	m->config = engine_input->config;
	m->program = program;
	m->memory = &engine_input->memory;
	m->outcome = outcome;
	m->value_counts = observer ? observer->value_counts : NULL;
	m->activity_counts = engine_input->activity;
	int rc = open_run(m, err);
	rc = rc ? rc : run_program(m, program, observer, err);
	close_run(m);
	return rc;
}
