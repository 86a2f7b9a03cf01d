/* SPDX-License-Identifier: MIT
 *
 * The rules of time and counting of docs/tpu-isa.md, each looked at by itself in the events of a run: every event must
 * be at the time that its rule gives from the others. As each rule looks back, events for which all hold are the only
 * ones possible. Nothing is scheduled here; what is common to this and the engines is the document. */
#include <stdlib.h>

#include "core/base/arith.h"
#include "port.h"
#include "run.h"

/* What the rules need of one instruction. */
struct step {
	enum tpu_unit unit;
	int64_t before; /* the instruction before it in its unit; -1 */
	int64_t item;   /* first tile or table that it reads or switches to; -1: none */
	bool reads_acc, writes_acc;
	uint64_t enters;              /* matrix: cycles in which a vector enters */
	uint64_t row_cycles, reading; /* activate: per source vector, all */
	uint64_t crossing;            /* host */
	uint64_t done;                /* when nothing is left of it */
	uint64_t useful, rows_read, rows_written, bytes;
};

struct rules {
	const struct program_case *c;
	const struct program_run *run;
	struct step *step;
	int64_t *of_unit[TPU_UNITS], units[TPU_UNITS]; /* instructions of a unit, in order */
	int64_t *tile_by, *table_by;                   /* instruction that switches to it; -1 */
	uint64_t *begun;                               /* read_weights: cycle in which its first transfer begins */
	unsigned char *cycle_kind;                     /* of each cycle */
	int64_t *cycle_of;                             /* the matrix instruction that it belongs to; -1 */
	struct tpu_counters memory;                    /* those of weight memory */
	char *reason;
	size_t n;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t at(const struct rules *r, enum tpu_event kind, int64_t index)
{
	return r->run->events[kind].cycle[index];
}

static bool check_equal(struct rules *r, const char *label, int64_t index, uint64_t actual, uint64_t expected)
{
	if (actual == expected)
		return true;
	snprintf(r->reason, r->n, "%s of %lld at %lld, expected %lld", label, (long long)index, (long long)actual,
		 (long long)expected);
	return false;
}

static int64_t planes_of(uint32_t type)
{
	return type == TPU_I32 ? 4 : type == TPU_I16 ? 2 : 1;
}

/* Reading time with pooling: source vectors of u cycles, results that leave when their last source has been read. */
static uint64_t pooled_reading(const struct tpu_registers *g, const struct tpu_instruction *in, uint64_t u)
{
	int64_t ih = g->value[TPU_REG_IN_HEIGHT], iw = g->value[TPU_REG_IN_WIDTH];
	int64_t oh = g->value[TPU_REG_OUT_HEIGHT], ow = g->value[TPU_REG_OUT_WIDTH];
	uint64_t left = 0;
	for (int64_t image = 0; image < in->length / (ih * iw); image++)
		for (int64_t k = 0; k < oh * ow; k++) {
			int64_t y = k / ow * g->value[TPU_REG_STRIDE_Y] - tpu_signed(g, TPU_REG_PAD_TOP) +
				    g->value[TPU_REG_KERNEL_HEIGHT] - 1;
			int64_t x = k % ow * g->value[TPU_REG_STRIDE_X] - tpu_signed(g, TPU_REG_PAD_LEFT) +
				    g->value[TPU_REG_KERNEL_WIDTH] - 1;
			int64_t last = image * ih * iw + (y < ih ? y : ih - 1) * iw + (x < iw ? x : iw - 1);
			left = larger((uint64_t)(last + 1) * u, left + u);
		}
	return larger(left, in->length * u);
}

static void activate_step(const struct rules *r, struct step *s, const struct tpu_instruction *in,
			  const struct tpu_registers *g)
{
	int64_t result = planes_of(g->value[TPU_REG_RESULT_TYPE]);
	int64_t source = in->flags & TPU_ACTIVATE_FROM_BUFFER ? planes_of(g->value[TPU_REG_SOURCE_TYPE]) : 0;
	int64_t operand = tpu_operand_of(in->flags) >= TPU_ADD ? planes_of(g->value[TPU_REG_OPERAND_TYPE]) : 0;
	int64_t read = source + operand, planes = read > result ? read : result;
	s->reads_acc = !(in->flags & TPU_ACTIVATE_FROM_BUFFER);
	s->row_cycles = (uint64_t)(planes * r->c->config.activate_cycles_per_row);
	s->reading = in->length * s->row_cycles;
	s->rows_read = (uint64_t)read * in->length;
	s->rows_written = (uint64_t)result * in->length;
	if (tpu_pooling_of(in->flags)) {
		int64_t images = in->length / ((int64_t)g->value[TPU_REG_IN_HEIGHT] * g->value[TPU_REG_IN_WIDTH]);
		s->reading = pooled_reading(g, in, s->row_cycles);
		s->rows_written = (uint64_t)(result * images) * g->value[TPU_REG_OUT_HEIGHT] *
				  g->value[TPU_REG_OUT_WIDTH];
	}
}

static void fill_step(struct rules *r, int64_t i, const struct tpu_registers *g, int64_t *tiles, int64_t *tables)
{
	const struct tpu_config *m = &r->c->config;
	const struct tpu_instruction *in = tpu_code(&r->c->program) + i;
	struct step *s = r->step + i;
	uint64_t useful = g->value[TPU_REG_USEFUL_CELLS];
	npl_u128 bytes = (npl_u128)in->length * g->value[TPU_REG_HOST_ROW_BYTES];
	uint64_t rate = tpu_link_bytes_per_second(m);
	s->item = -1;
	switch (s->unit) {
	case TPU_MATRIX:
		s->enters = (uint64_t)in->length << !!(in->flags & TPU_MATRIX_INPUTS16);
		s->useful = s->enters * useful;
		s->rows_read = s->enters;
		s->writes_acc = true;
		if (in->flags & TPU_MATRIX_SWITCH)
			r->tile_by[s->item = (*tiles)++] = i;
		break;
	case TPU_ACTIVATION:
		activate_step(r, s, in, g);
		if (in->flags & TPU_ACTIVATE_SWITCH)
			r->table_by[s->item = (*tables)++] = i;
		break;
	case TPU_HOST_IN:
	case TPU_HOST_OUT:
		s->crossing = tpu_link_latency_cycles(m) +
			      (uint64_t)((bytes * (uint64_t)m->clock_hz + rate - 1) / rate);
		s->bytes = (uint64_t)bytes;
		s->rows_read = s->unit == TPU_HOST_OUT ? in->length : 0;
		s->rows_written = s->unit == TPU_HOST_IN ? in->length : 0;
		break;
	default:
		break;
	}
}

static void fill_steps(struct rules *r)
{
	const struct sim_program *p = &r->c->program;
	struct tpu_registers g = tpu_reset_registers(r->c->config.rows, r->c->config.columns);
	int64_t tiles = 0, tables = 0;
	for (int64_t i = 0; i < p->count; i++) {
		struct step *s = r->step + i;
		s->unit = tpu_unit_of(tpu_code(p)[i].opcode);
		if (tpu_code(p)[i].opcode == TPU_SET_CONFIG)
			g.value[tpu_code(p)[i].operand] = tpu_code(p)[i].length;
		if (s->unit == TPU_UNITS)
			continue;
		s->before = r->units[s->unit] ? r->of_unit[s->unit][r->units[s->unit] - 1] : -1;
		r->of_unit[s->unit][r->units[s->unit]++] = i;
		fill_step(r, i, &g, &tiles, &tables);
	}
}

static int64_t transfers_of(const struct rules *r)
{
	int64_t n = 0;
	for (int64_t i = 0; i < r->units[TPU_WEIGHTS]; i++)
		n += tpu_code(&r->c->program)[r->of_unit[TPU_WEIGHTS][i]].operand;
	return n;
}

/* The transfers in their order, and the cycles from which on they may begin. */
static void fill_transfers(const struct rules *r, struct program_transfer *transfer)
{
	const struct tpu_config *m = &r->c->config;
	int64_t tiles = 0, tables = 0;
	for (int64_t n = 0; n < r->units[TPU_WEIGHTS]; n++) {
		int64_t i = r->of_unit[TPU_WEIGHTS][n];
		const struct tpu_instruction *in = &tpu_code(&r->c->program)[i];
		bool table = in->flags & TPU_WEIGHTS_PARAMETERS;
		uint64_t bytes = (uint64_t)((table ? 8 : m->rows) * m->columns);
		for (uint64_t k = 0; k < in->operand; k++) {
			uint64_t ready = at(r, TPU_ISSUED, i) + 1;
			if (table && tables >= m->parameter_tables) /* room at the boundary after the switch's cycle */
				ready = larger(ready,
					       at(r, TPU_ACTIVATE_STARTED, r->table_by[tables - m->parameter_tables]) +
						       1);
			if (!table && tiles >= m->fifo_tiles)
				ready = larger(ready, at(r, TPU_TILE_POPPED, tiles - m->fifo_tiles));
			*transfer++ = (struct program_transfer){.ready = ready,
								.address = in->length * (uint64_t)m->columns +
									   k * bytes,
								.bytes = bytes};
			*(table ? &tables : &tiles) += 1;
		}
	}
}

static bool arrivals_rule(struct rules *r, const struct program_transfer *transfer, int64_t *tiles)
{
	int64_t tables = 0;
	*tiles = 0;
	for (int64_t n = 0; n < r->units[TPU_WEIGHTS]; n++) {
		int64_t i = r->of_unit[TPU_WEIGHTS][n];
		const struct tpu_instruction *in = &tpu_code(&r->c->program)[i];
		bool table = in->flags & TPU_WEIGHTS_PARAMETERS;
		r->begun[i] = transfer->begun;
		for (uint32_t k = 0; k < in->operand; k++, transfer++) {
			r->step[i].done = transfer->arrived;
			if (table ? !check_equal(r, "table loaded", tables, at(r, TPU_TABLE_LOADED, tables),
						 transfer->arrived)
				  : !check_equal(r, "tile pushed", *tiles, at(r, TPU_TILE_PUSHED, *tiles),
						 transfer->arrived))
				return false;
			*(table ? &tables : tiles) += 1;
		}
	}
	return true;
}

/* Weights on their way to the FIFOs, and tiles into the array. */
static bool weights_rule(struct rules *r)
{
	const struct tpu_config *m = &r->c->config;
	int64_t n = transfers_of(r), tiles = 0;
	struct program_transfer *transfer = calloc((size_t)n + 1, sizeof *transfer);
	if (!transfer)
		return false;
	fill_transfers(r, transfer);
	bool ok = program_port(m, transfer, n, r->run->outcome.cycles, &r->memory) &&
		  arrivals_rule(r, transfer, &tiles);
	free(transfer);
	if (!ok)
		return false;
	for (int64_t t = 0; t < tiles; t++) {
		uint64_t shift = at(r, TPU_TILE_PUSHED, t), pop;
		if (t)
			shift = r->tile_by[t - 1] < 0 ? PROGRAM_NEVER
						      : larger(shift, at(r, TPU_MATRIX_STARTED, r->tile_by[t - 1]));
		pop = shift == PROGRAM_NEVER || shift + (uint64_t)m->rows > r->run->outcome.cycles
			      ? PROGRAM_NEVER
			      : shift + (uint64_t)m->rows;
		if (!check_equal(r, "tile shifted", t, at(r, TPU_TILE_SHIFTED, t), shift) ||
		    !check_equal(r, "tile popped", t, at(r, TPU_TILE_POPPED, t), pop))
			return false;
	}
	return true;
}

static bool overlap(const struct tpu_instruction *a, const struct tpu_instruction *b)
{
	return a->operand < (int64_t)b->operand + b->length && b->operand < (int64_t)a->operand + a->length;
}

static bool matrix_rule(struct rules *r, int64_t i)
{
	const struct tpu_config *m = &r->c->config;
	const struct tpu_instruction *in = r->c->program.instruction;
	struct step *s = r->step + i;
	uint64_t start = at(r, TPU_ISSUED, i) + 1, method = (uint64_t)(m->rows - 1 + m->matrix_registers);
	if (s->before >= 0)
		start = larger(start, at(r, TPU_MATRIX_STARTED, s->before) + r->step[s->before].enters);
	if (s->item >= 0)
		start = larger(start, at(r, TPU_TILE_POPPED, s->item));
	for (int64_t n = 0; n < r->units[TPU_ACTIVATION] && r->of_unit[TPU_ACTIVATION][n] < i; n++) {
		int64_t a = r->of_unit[TPU_ACTIVATION][n];
		if (!r->step[a].reads_acc || !overlap(in + a, in + i))
			continue;
		uint64_t begins = at(r, TPU_ACTIVATE_STARTED, a), read = begins + r->step[a].reading;
		start = larger(start, larger(begins, read > method ? read - method : 0));
	}
	s->done = start + (uint64_t)(m->rows + m->columns - 2 + m->matrix_registers) + s->enters;
	return check_equal(r, "matrix started", i, at(r, TPU_MATRIX_STARTED, i), start) &&
	       check_equal(r, "matrix written", i, at(r, TPU_MATRIX_WRITTEN, i), s->done);
}

static bool activate_rule(struct rules *r, int64_t i)
{
	const struct tpu_instruction *in = r->c->program.instruction;
	struct step *s = r->step + i;
	uint64_t start = at(r, TPU_ISSUED, i) + 1;
	if (s->before >= 0)
		start = larger(start, at(r, TPU_ACTIVATE_ENDED, s->before));
	if (s->item >= 0)
		start = larger(start, at(r, TPU_TABLE_LOADED, s->item));
	for (int64_t n = 0; n < r->units[TPU_MATRIX] && r->of_unit[TPU_MATRIX][n] < i && s->reads_acc; n++) {
		int64_t w = r->of_unit[TPU_MATRIX][n];
		if (overlap(in + w, in + i))
			start = larger(start, at(r, TPU_MATRIX_WRITTEN, w));
	}
	s->done = start + s->reading + (uint64_t)r->c->config.activate_latency_cycles;
	return check_equal(r, "activate started", i, at(r, TPU_ACTIVATE_STARTED, i), start) &&
	       check_equal(r, "activate ended", i, at(r, TPU_ACTIVATE_ENDED, i), s->done);
}

static bool host_rule(struct rules *r, int64_t i)
{
	struct step *s = r->step + i;
	uint64_t start = at(r, TPU_ISSUED, i) + 1;
	if (s->before >= 0)
		start = larger(start, at(r, TPU_HOST_ENDED, s->before));
	s->done = start + s->crossing;
	return check_equal(r, "host started", i, at(r, TPU_HOST_STARTED, i), start) &&
	       check_equal(r, "host ended", i, at(r, TPU_HOST_ENDED, i), s->done);
}

static uint64_t started(const struct rules *r, int64_t i)
{
	switch (r->step[i].unit) {
	case TPU_WEIGHTS:
		return r->begun[i];
	case TPU_MATRIX:
		return at(r, TPU_MATRIX_STARTED, i);
	case TPU_ACTIVATION:
		return at(r, TPU_ACTIVATE_STARTED, i);
	default:
		return at(r, TPU_HOST_STARTED, i);
	}
}

enum { NON_MATRIX, ACTIVE, SHIFT, STALL, INPUT, RAW, OUTPUT, PAUSE, KINDS };

/* Marks non-matrix cycles from first to before end as of another kind, for an instruction or -1. */
static void mark(struct rules *r, uint64_t first, uint64_t end, unsigned char stall_class, int64_t instruction)
{
	for (uint64_t t = first; t < end && t < r->run->outcome.cycles; t++)
		if (r->cycle_kind[t] == NON_MATRIX) {
			r->cycle_kind[t] = stall_class;
			r->cycle_of[t] = instruction;
		}
}

uint64_t program_next_look(const struct tpu_config *m, const struct tpu_instruction *in, uint64_t issue)
{
	return issue + (uint64_t)m->issue_cycles + (in->opcode == TPU_SYNC ? (uint64_t)m->sync_cycles : 0);
}

/* Issue, in order; and what issue waited for, or a sync took, in the cycles that are non_matrix. */
static bool issue_rule(struct rules *r)
{
	const struct tpu_config *m = &r->c->config;
	const struct sim_program *p = &r->c->program;
	int64_t before[TPU_UNITS] = {0};
	uint64_t look = 0;
	for (int64_t i = 0; i < p->count; i++) {
		const struct tpu_instruction *in = tpu_code(p) + i;
		enum tpu_unit u = r->step[i].unit;
		unsigned units = in->opcode == TPU_SYNC ? in->flags : in->opcode == TPU_HALT ? 31 : 0;
		uint64_t issue = look, input = look, raw = look, output = look;
		if (u < TPU_UNITS && before[u] >= m->queue_instructions)
			issue = larger(issue, started(r, r->of_unit[u][before[u] - m->queue_instructions]) + 1);
		for (int w = 0; w < TPU_UNITS; w++)
			if ((units >> w & 1) && before[w]) {
				uint64_t done = r->step[r->of_unit[w][before[w] - 1]].done;
				issue = larger(issue, done);
				input = w == TPU_HOST_IN ? larger(input, done) : input;
				raw = w == TPU_MATRIX || w == TPU_ACTIVATION ? larger(raw, done) : raw;
				output = w == TPU_HOST_OUT ? larger(output, done) : output;
			}
		if (!check_equal(r, "issued", i, at(r, TPU_ISSUED, i), issue))
			return false;
		mark(r, look, input, INPUT, -1);
		mark(r, input, raw, RAW, -1);
		mark(r, larger(input, raw), output, OUTPUT, -1);
		if (u < TPU_UNITS)
			before[u]++;
		if (in->opcode == TPU_SYNC)
			mark(r, issue + 1, issue + 1 + (uint64_t)m->sync_cycles, PAUSE, -1);
		look = program_next_look(m, in, issue);
	}
	return check_equal(r, "end", p->count, r->run->outcome.cycles, at(r, TPU_ISSUED, p->count - 1) + 1);
}

/* Which cycles are array_active, weight_shift and weight_stall. */
static void mark_matrix(struct rules *r)
{
	for (int64_t n = 0; n < r->units[TPU_MATRIX]; n++) {
		int64_t i = r->of_unit[TPU_MATRIX][n];
		const struct step *s = r->step + i;
		uint64_t start = at(r, TPU_MATRIX_STARTED, i), can = at(r, TPU_ISSUED, i) + 1;
		mark(r, start, start + s->enters, ACTIVE, i);
		if (s->before >= 0)
			can = larger(can, at(r, TPU_MATRIX_STARTED, s->before) + r->step[s->before].enters);
		if (s->item < 0)
			continue;
		uint64_t popped = at(r, TPU_TILE_POPPED, s->item), shifted = at(r, TPU_TILE_SHIFTED, s->item);
		mark(r, larger(can, shifted), popped, SHIFT, i);
		mark(r, can, shifted < popped ? shifted : popped, STALL, i);
	}
}

/* Whether an interval's cycles are all of its kind and belong to its instruction. That there are no others follows from
 * the counters. */
static bool interval_rule(struct rules *r, const struct sim_cycles *interval)
{
	static const unsigned char kinds[TPU_CYCLE_CLASSES] = {
		[TPU_CYCLES_ARRAY_ACTIVE] = ACTIVE, [TPU_CYCLES_WEIGHT_STALL] = STALL,
		[TPU_CYCLES_WEIGHT_SHIFT] = SHIFT,  [TPU_CYCLES_NON_MATRIX] = NON_MATRIX,
		[TPU_CYCLES_RAW_STALL] = RAW,       [TPU_CYCLES_INPUT_STALL] = INPUT,
		[TPU_CYCLES_OUTPUT_STALL] = OUTPUT, [TPU_CYCLES_SYNC_PAUSE] = PAUSE,
	};
	for (uint64_t t = interval->begin; t < interval->end && t < r->run->outcome.cycles; t++) {
		unsigned char kind = r->cycle_kind[t];
		if (interval->cycle_class == TPU_CYCLES_NON_MATRIX && kind >= INPUT)
			kind = NON_MATRIX;
		if (!check_equal(r, "kind of an interval's cycle", (int64_t)t, kinds[interval->cycle_class], kind) ||
		    !check_equal(r, "instruction of an interval's cycle", (int64_t)t, (uint64_t)interval->instruction,
				 (uint64_t)r->cycle_of[t]))
			return false;
	}
	return true;
}

static bool all_intervals(struct rules *r)
{
	for (int s = 0; s < PROGRAM_STREAMS; s++)
		for (int64_t i = 0; i < r->run->intervals[s].count; i++)
			if (!interval_rule(r, r->run->intervals[s].interval + i))
				return false;
	return true;
}

static bool counter_rule(struct rules *r)
{
	const struct tpu_counters *k = &r->run->outcome.counters;
	const struct tpu_config *m = &r->c->config;
	const struct sim_program *p = &r->c->program;
	uint64_t kinds[KINDS] = {0}, cells = (uint64_t)(m->rows * m->columns);
	struct tpu_counters e = {.instructions = (uint64_t)p->count};
	for (uint64_t t = 0; t < r->run->outcome.cycles; t++)
		kinds[r->cycle_kind[t]]++;
	for (int64_t i = 0; i < p->count; i++) {
		const struct step *s = r->step + i;
		const struct tpu_instruction *in = tpu_code(p) + i;
		e.useful_macs += s->useful;
		e.unused_macs += s->enters * cells - s->useful;
		e.accumulator_writes += s->enters;
		e.activate_cycles += s->reading;
		e.ub_rows_read += s->rows_read;
		e.ub_rows_written += s->rows_written;
		e.tiles += s->unit == TPU_MATRIX && s->item >= 0;
		e.host_bytes_in += s->unit == TPU_HOST_IN ? s->bytes : 0;
		e.host_bytes_out += s->unit == TPU_HOST_OUT ? s->bytes : 0;
		if (s->unit == TPU_WEIGHTS)
			e.weight_bytes += in->operand *
					  (in->flags & TPU_WEIGHTS_PARAMETERS ? 8 * (uint64_t)m->columns : cells);
	}
	e.array_active = kinds[ACTIVE];
	e.weight_shift = kinds[SHIFT];
	e.weight_stall = kinds[STALL];
	e.input_stall = kinds[INPUT];
	e.raw_stall = kinds[RAW];
	e.output_stall = kinds[OUTPUT];
	e.sync_pause = kinds[PAUSE];
	e.non_matrix = kinds[NON_MATRIX] + kinds[INPUT] + kinds[RAW] + kinds[OUTPUT] + kinds[PAUSE];
	e.dram_activates = r->memory.dram_activates;
	e.dram_reads = r->memory.dram_reads;
	e.dram_refreshes = r->memory.dram_refreshes;
	e.dram_active_cycles = r->memory.dram_active_cycles;
	e.dram_idle_cycles = r->memory.dram_idle_cycles;
	uint64_t counted[TPU_COUNTERS], expected[TPU_COUNTERS];
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, k, counted);
	npl_counters_read(tpu_counter_defs, TPU_COUNTERS, &e, expected);
	for (int i = 0; i < TPU_COUNTERS - TPU_ACTIVITY_COUNTERS; i++)
		if (!check_equal(r, tpu_counter_defs[i].name, 0, counted[i], expected[i]))
			return false;
	return true;
}

static bool all_rules(struct rules *r)
{
	fill_steps(r);
	if (!weights_rule(r))
		return false;
	for (int64_t i = 0; i < r->c->program.count; i++)
		switch (r->step[i].unit) {
		case TPU_MATRIX:
			if (!matrix_rule(r, i))
				return false;
			break;
		case TPU_ACTIVATION:
			if (!activate_rule(r, i))
				return false;
			break;
		case TPU_HOST_IN:
		case TPU_HOST_OUT:
			if (!host_rule(r, i))
				return false;
			break;
		default:
			break;
		}
	mark_matrix(r);
	return issue_rule(r) && counter_rule(r) && all_intervals(r);
}

bool program_follows_rules(const struct program_case *c, const struct program_run *run, char *reason,
			   size_t reason_bytes)
{
	size_t count = (size_t)c->program.count + 1, tiles = (size_t)run->events[TPU_TILE_PUSHED].count + 1;
	size_t tables = (size_t)run->events[TPU_TABLE_LOADED].count + 1;
	struct rules r = {.c = c, .run = run, .reason = reason, .n = reason_bytes};
	bool ok = run->outcome.cycles < (uint64_t)1 << 32;
	r.step = calloc(count, sizeof *r.step);
	r.begun = calloc(count, sizeof *r.begun);
	r.tile_by = malloc(tiles * sizeof *r.tile_by);
	r.table_by = malloc(tables * sizeof *r.table_by);
	r.cycle_kind = ok ? calloc(run->outcome.cycles + 1, 1) : NULL;
	r.cycle_of = ok ? malloc((run->outcome.cycles + 1) * sizeof *r.cycle_of) : NULL;
	ok = r.step && r.begun && r.tile_by && r.table_by && r.cycle_kind && r.cycle_of;
	for (int u = 0; u < TPU_UNITS; u++) {
		r.of_unit[u] = malloc(count * sizeof *r.of_unit[u]);
		ok = ok && r.of_unit[u];
	}
	if (ok) {
		for (size_t i = 0; i < tiles; i++)
			r.tile_by[i] = -1;
		for (size_t i = 0; i < tables; i++)
			r.table_by[i] = -1;
		for (uint64_t t = 0; t < run->outcome.cycles; t++)
			r.cycle_of[t] = -1;
		ok = all_rules(&r);
	} else {
		snprintf(reason, reason_bytes, "out of memory for %llu cycles",
			 (unsigned long long)run->outcome.cycles);
	}
	for (int u = 0; u < TPU_UNITS; u++)
		free(r.of_unit[u]);
	free(r.step);
	free(r.begun);
	free(r.tile_by);
	free(r.table_by);
	free(r.cycle_kind);
	free(r.cycle_of);
	return ok;
}
