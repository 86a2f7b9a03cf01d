/* SPDX-License-Identifier: MIT
 *
 * The fast engine's durations and counters. What an instruction counts by itself is added as it issues. The stalls
 * follow from three kinds of intervals: vectors enter the array, tiles are waited for, and issue is held. All intervals
 * are in the order of time, so one walk over them is enough, and an observer is told the classes of cycles during this
 * walk. */
#include "fast.h"

#include "core/base/arith.h"

static int64_t value_of(const struct tpu_registers *registers, enum tpu_register r)
{
	return registers->value[r];
}

static bool pools(const struct tpu_registers *registers, const struct tpu_instruction *in)
{
	return tpu_pooling_of(in->flags) != TPU_NO_POOLING && value_of(registers, TPU_REG_RESULT_TYPE) != TPU_I32;
}

static int64_t images_of(const struct tpu_registers *registers, const struct tpu_instruction *in)
{
	return in->length / (value_of(registers, TPU_REG_IN_HEIGHT) * value_of(registers, TPU_REG_IN_WIDTH));
}

int64_t tpu_fast_results(const struct tpu_registers *registers, const struct tpu_instruction *in)
{
	if (!pools(registers, in))
		return in->length;
	return images_of(registers, in) * value_of(registers, TPU_REG_OUT_HEIGHT) *
	       value_of(registers, TPU_REG_OUT_WIDTH);
}

/* One dimension of a window that slides over an image. */
struct slide {
	int64_t in, out, kernel, stride, pad;
};

/* Returns the greatest value of (last input position of a window) * in_step - (number of the window) * out_step. */
static int64_t greatest_lag(const struct slide *slide, int64_t in_step, int64_t out_step)
{
	int64_t greatest = INT64_MIN;
	for (int64_t o = 0; o < slide->out; o++) {
		int64_t last = npl_min_i64(o * slide->stride + slide->kernel - 1 - slide->pad, slide->in - 1);
		int64_t lag = last * in_step - o * out_step;
		greatest = lag > greatest ? lag : greatest;
	}
	return greatest;
}

/* Returns after how many steps, of one source vector each, the last pooled result has left. Result k leaves at the
 * greatest of (last source of window j) + 1 + k - j over all j up to k. The last source of window (y,x) of image n is n
 * * in + y' * width + x', and its number is n * out + y * out_width + x. So the maximum is a sum of one maximum over
 * each of them. */
static int64_t pooling_steps(const struct tpu_registers *r, const struct tpu_instruction *in)
{
	const struct slide rows = {value_of(r, TPU_REG_IN_HEIGHT), value_of(r, TPU_REG_OUT_HEIGHT),
				   value_of(r, TPU_REG_KERNEL_HEIGHT), value_of(r, TPU_REG_STRIDE_Y),
				   tpu_signed(r, TPU_REG_PAD_TOP)};
	const struct slide columns = {value_of(r, TPU_REG_IN_WIDTH), value_of(r, TPU_REG_OUT_WIDTH),
				      value_of(r, TPU_REG_KERNEL_WIDTH), value_of(r, TPU_REG_STRIDE_X),
				      tpu_signed(r, TPU_REG_PAD_LEFT)};
	int64_t images = images_of(r, in), shrinks = rows.in * columns.in - rows.out * columns.out;
	int64_t lag = greatest_lag(&rows, columns.in, columns.out) + greatest_lag(&columns, 1, 1);
	return images * rows.out * columns.out + lag + (shrinks > 0 ? (images - 1) * shrinks : 0);
}

static uint64_t matrix_duration(struct tpu_fast_timing *timing, const struct tpu_instruction *in)
{
	struct tpu_counters *counters = &timing->outcome->counters;
	uint64_t entering = (uint64_t)in->length << !!(in->flags & TPU_MATRIX_INPUTS16);
	uint64_t cells = (uint64_t)(timing->config->rows * timing->config->columns);
	uint64_t useful = timing->registers.value[TPU_REG_USEFUL_CELLS];
	counters->useful_macs += entering * useful;
	counters->unused_macs += entering * (cells - useful);
	counters->ub_rows_read += entering;
	counters->accumulator_writes += entering;
	if (in->flags & TPU_MATRIX_SWITCH)
		counters->tiles++;
	return entering;
}

static uint64_t activate_duration(struct tpu_fast_timing *timing, const struct tpu_instruction *in)
{
	const struct tpu_registers *r = &timing->registers;
	struct tpu_counters *counters = &timing->outcome->counters;
	enum tpu_operand operand = tpu_operand_of(in->flags);
	bool from_buffer = in->flags & TPU_ACTIVATE_FROM_BUFFER,
	     has_second = operand == TPU_ADD || operand == TPU_MULTIPLY;
	int64_t result = tpu_planes(r->value[TPU_REG_RESULT_TYPE]), planes = result;
	int64_t source = from_buffer ? tpu_planes(r->value[TPU_REG_SOURCE_TYPE]) : 0;
	int64_t second = has_second ? tpu_planes(r->value[TPU_REG_OPERAND_TYPE]) : 0;
	planes = source + second > planes ? source + second : planes;
	int64_t steps = in->length, pooled = pools(r, in) ? pooling_steps(r, in) : 0;
	steps = pooled > steps ? pooled : steps;
	uint64_t cycles = (uint64_t)(timing->config->activate_cycles_per_row * planes * steps);
	counters->ub_rows_read += (uint64_t)((source + second) * in->length);
	counters->ub_rows_written += (uint64_t)(result * tpu_fast_results(r, in));
	counters->activate_cycles += cycles;
	return cycles;
}

static uint64_t link_duration(struct tpu_fast_timing *timing, const struct tpu_instruction *in)
{
	struct tpu_counters *counters = &timing->outcome->counters;
	uint64_t bytes = (uint64_t)in->length * timing->registers.value[TPU_REG_HOST_ROW_BYTES];
	uint64_t rate = tpu_link_bytes_per_second(timing->config);
	if (in->opcode == TPU_READ_HOST_MEMORY) {
		counters->host_bytes_in += bytes;
		counters->ub_rows_written += in->length;
	} else {
		counters->host_bytes_out += bytes;
		counters->ub_rows_read += in->length;
	}
	npl_u128 cycles = ((npl_u128)bytes * (uint64_t)timing->config->clock_hz + rate - 1) / rate;
	return tpu_link_latency_cycles(timing->config) + (uint64_t)cycles;
}

uint64_t tpu_fast_duration(struct tpu_fast_timing *timing, const struct tpu_instruction *in)
{
	const uint64_t columns = (uint64_t)timing->config->columns;
	const uint64_t tile = (uint64_t)timing->config->rows * columns, table = TPU_TABLE_ROWS * columns;
	switch (tpu_unit_of(in->opcode)) {
	case TPU_MATRIX:
		return matrix_duration(timing, in);
	case TPU_ACTIVATION:
		return activate_duration(timing, in);
	case TPU_WEIGHTS:
		timing->outcome->counters.weight_bytes += in->operand *
							  (in->flags & TPU_WEIGHTS_PARAMETERS ? table : tile);
		return 0;
	case TPU_HOST_IN:
	case TPU_HOST_OUT:
		return link_duration(timing, in);
	default:
		return 0;
	}
}

/* The intervals that may still become longer: one for all whole classes, and one for each part of non_matrix. */
struct intervals {
	struct tpu_counters *counters;
	const struct sim_observer *observer;       /* NULL: the intervals are not asked for */
	struct sim_cycles last[TPU_CYCLE_CLASSES]; /* the first one stands for the whole classes; begin == end: none */
};

/* Tells the observer the interval, unless the next one makes it longer. */
static void follow(const struct sim_observer *observer, struct sim_cycles *interval, struct sim_cycles next)
{
	if (interval->end == next.begin && interval->cycle_class == next.cycle_class &&
	    interval->instruction == next.instruction) {
		interval->end = next.end;
		return;
	}
	if (interval->begin < interval->end)
		observer->on_cycles(observer->context, interval);
	*interval = next;
}

/* Counts the cycles from <= t < to in the class. */
static inline void attribute(struct intervals *intervals, enum tpu_cycle_class cycle_class, uint64_t from, uint64_t to,
			     int64_t instruction)
{
	if (from >= to)
		return;
	*tpu_class_counter(intervals->counters, cycle_class) += to - from;
	if (intervals->observer)
		follow(intervals->observer, &intervals->last[cycle_class < TPU_WHOLE_CLASSES ? 0 : cycle_class],
		       (struct sim_cycles){cycle_class, from, to, instruction});
}

/* Counts the non-matrix cycles [from, to), and the parts of them in which the issue stage waits or a sync takes its
 * time. *next is the first wait that can still matter, as waits come in order. */
static void count_waits(struct tpu_fast_timing *timing, uint64_t from, uint64_t to, int64_t *next,
			struct intervals *intervals)
{
	attribute(intervals, TPU_CYCLES_NON_MATRIX, from, to, -1);
	for (int64_t i = *next; i < timing->waits && timing->wait[i].begin < to; i++) {
		const struct tpu_fast_wait *wait = &timing->wait[i];
		const uint64_t known = npl_max_u64(wait->input_end, wait->raw_end);
		attribute(intervals, TPU_CYCLES_INPUT_STALL, npl_max_u64(from, wait->begin),
			  npl_min_u64(to, wait->input_end), -1);
		attribute(intervals, TPU_CYCLES_RAW_STALL, npl_max_u64(from, wait->input_end),
			  npl_min_u64(to, wait->raw_end), -1);
		attribute(intervals, TPU_CYCLES_OUTPUT_STALL, npl_max_u64(from, known),
			  npl_min_u64(to, wait->output_end), -1);
		attribute(intervals, TPU_CYCLES_SYNC_PAUSE, npl_max_u64(from, wait->pause), npl_min_u64(to, wait->end),
			  -1);
		if (wait->end <= to)
			*next = i + 1;
	}
}

/* Counts how long a matrix instruction that could start at `can` waits for its tile. Returns the end of the wait. */
static uint64_t count_tile(struct tpu_fast_timing *timing, const struct tpu_fast_job *job, uint64_t can,
			   struct intervals *intervals)
{
	const struct tpu_fast_tile *tile = &timing->tile[job->switch_to];
	attribute(intervals, TPU_CYCLES_WEIGHT_STALL, can, npl_min_u64(job->start, tile->shift_cycle), job->index);
	attribute(intervals, TPU_CYCLES_WEIGHT_SHIFT, npl_max_u64(can, tile->shift_cycle),
		  npl_min_u64(job->start, tile->pop_cycle), job->index);
	return npl_max_u64(tile->pop_cycle, can);
}

static void report_remaining_cycles(const struct intervals *intervals)
{
	for (int i = 0; i < TPU_CYCLE_CLASSES && intervals->observer; i++)
		if (intervals->last[i].begin < intervals->last[i].end)
			intervals->observer->on_cycles(intervals->observer->context, &intervals->last[i]);
}

void tpu_fast_count_stalls(struct tpu_fast_timing *timing)
{
	const struct tpu_fast_unit *matrix = &timing->unit[TPU_MATRIX];
	struct intervals intervals = {.counters = &timing->outcome->counters,
				      .observer = timing->observer && timing->observer->on_cycles ? timing->observer
												  : NULL};
	uint64_t idle = 0; /* the cycle from which on no vector enters */
	int64_t next = 0;
	for (int64_t i = 0; i < matrix->jobs_resolved; i++) {
		const struct tpu_fast_job *job = &matrix->job[i];
		uint64_t may_start = npl_max_u64(job->issue_cycle + 1, idle), tile_end = may_start;
		count_waits(timing, idle, may_start, &next, &intervals);
		if (job->switch_to >= 0)
			tile_end = count_tile(timing, job, may_start, &intervals);
		count_waits(timing, tile_end, job->start, &next, &intervals);
		idle = job->start + job->duration;
		attribute(&intervals, TPU_CYCLES_ARRAY_ACTIVE, job->start, idle, job->index);
	}
	count_waits(timing, idle, timing->outcome->cycles, &next, &intervals);
	report_remaining_cycles(&intervals);
}
