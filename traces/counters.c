/* SPDX-License-Identifier: MIT
 *
 * Counters by cycle (counters.h). */
#include "counters.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"

int64_t trace_nanoseconds(double seconds)
{
	return (int64_t)llrint(seconds * 1e9);
}

int64_t trace_clock_ns(const struct trace_clock *clock, uint64_t cycle)
{
	return trace_nanoseconds(clock->begin + (double)cycle / clock->hz);
}

static void write_value(struct trace_counter *counter, const struct trace_clock *clock)
{
	if (counter->has_value && counter->value != counter->written) {
		npl_picture_counter(clock->picture, counter->pid, counter->name, counter->series,
				    trace_clock_ns(clock, counter->cycle), counter->value);
		counter->written = counter->value;
	}
	counter->has_value = false;
}

void trace_counter_set(struct trace_counter *counter, const struct trace_clock *clock, uint64_t cycle, double value)
{
	if (cycle > counter->cycle) {
		write_value(counter, clock);
		counter->cycle = cycle;
	}
	counter->value = value;
	counter->has_value = true;
}

void trace_counter_end(struct trace_counter *counter, const struct trace_clock *clock, uint64_t cycle)
{
	trace_counter_set(counter, clock, cycle, 0);
	write_value(counter, clock);
	counter->cycle = 0;
}

static bool grow(struct trace_queue *queue)
{
	const size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
	uint64_t *grown = malloc(capacity * sizeof *grown);
	if (!grown)
		return false;
	for (size_t i = 0; i < queue->n; i++)
		grown[i] = queue->taken[(queue->first + i) % queue->capacity];
	free(queue->taken);
	queue->taken = grown;
	queue->first = 0;
	queue->capacity = capacity;
	return true;
}

/* Takes out those that have their unit by this cycle. */
static void take(struct trace_queue *queue, const struct trace_clock *clock, uint64_t cycle)
{
	while (queue->n && queue->taken[queue->first] <= cycle) {
		const uint64_t taken = queue->taken[queue->first];
		queue->first = (queue->first + 1) % queue->capacity;
		queue->n--;
		trace_counter_set(&queue->counter, clock, taken, (double)queue->n);
	}
}

int trace_queue_add(struct trace_queue *queue, const struct trace_clock *clock, uint64_t issued, uint64_t taken,
		    struct npl_err *err)
{
	take(queue, clock, issued);
	if (issued >= taken)
		return 0;
	if (queue->n == queue->capacity && !grow(queue))
		return npl_no_memory(err);
	if (queue->n)
		taken = npl_max_u64(taken, queue->taken[(queue->first + queue->n - 1) % queue->capacity]);
	queue->taken[(queue->first + queue->n) % queue->capacity] = taken;
	queue->n++;
	trace_counter_set(&queue->counter, clock, issued, (double)queue->n);
	return 0;
}

void trace_queue_end(struct trace_queue *queue, const struct trace_clock *clock, uint64_t cycle)
{
	take(queue, clock, cycle);
	queue->n = 0;
	trace_counter_end(&queue->counter, clock, cycle);
}

/* Gives the open bin its value, which is that of so many cycles. */
static void close_bin(struct trace_bins *bins, const struct trace_clock *clock, uint64_t cycles)
{
	trace_counter_set(&bins->counter, clock, bins->bin * bins->cycles,
			  bins->amount / (double)cycles * bins->factor);
	bins->amount = 0;
}

/* Opens a bin. Those between it and the open one have nothing. */
static void open_bin(struct trace_bins *bins, const struct trace_clock *clock, uint64_t bin)
{
	if (bin <= bins->bin)
		return;
	close_bin(bins, clock, bins->cycles);
	if (bin > bins->bin + 1)
		trace_counter_set(&bins->counter, clock, (bins->bin + 1) * bins->cycles, 0);
	bins->bin = bin;
}

void trace_bins_add(struct trace_bins *bins, const struct trace_clock *clock, double amount, uint64_t from,
		    uint64_t until)
{
	from = npl_max_u64(from, bins->end);
	until = npl_max_u64(from + 1, until);
	const uint64_t first = from / bins->cycles, last = until / bins->cycles;
	const double by_cycle = amount / (double)(until - from);
	bins->end = until;
	bins->has_amount = true;
	open_bin(bins, clock, first);
	if (first == last) {
		bins->amount += amount;
		return;
	}
	bins->amount += by_cycle * (double)((first + 1) * bins->cycles - from);
	if (last > first + 1) { /* All bins between have the same. */
		open_bin(bins, clock, first + 1);
		trace_counter_set(&bins->counter, clock, (first + 1) * bins->cycles, by_cycle * bins->factor);
		bins->bin = last;
	} else {
		open_bin(bins, clock, last);
	}
	bins->amount = by_cycle * (double)(until - last * bins->cycles);
}

void trace_bins_end(struct trace_bins *bins, const struct trace_clock *clock, uint64_t cycle)
{
	const uint64_t begin = bins->bin * bins->cycles;
	cycle = npl_max_u64(cycle, bins->end);
	if (bins->has_amount)
		close_bin(bins, clock, cycle > begin ? npl_min_u64(cycle - begin, bins->cycles) : 1);
	trace_counter_end(&bins->counter, clock, npl_min_u64(cycle, begin + bins->cycles));
	bins->bin = bins->end = 0;
	bins->amount = 0;
	bins->has_amount = false;
}
