/* SPDX-License-Identifier: MIT
 *
 * Memories without banks or rows, on the clock of the machine that asks. `ideal` answers at the boundary at which it is
 * asked. `fixed` moves one request after the other at a bandwidth. Each begins at the end of the one before, to an
 * exact fraction of a cycle; with whole_cycles, at the end of that cycle. It is answered a latency later, rounded up to
 * a cycle. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "core/param_rows.h"
#include "memory.h"

struct config {
	int64_t bytes_per_second, access_bytes, capacity_bytes;
	double latency_seconds, pj_per_byte;
	int whole_cycles; /* index into "no yes" */
	const char *origin;
};

struct simple {
	struct npl_memory_counters count;
	uint64_t now;
	/* For the model `fixed`, the port is taken up to free_cycle + free_part / cycle_parts, and a byte takes
	 * byte_parts / cycle_parts cycles. */
	bool limited, whole_cycles;
	uint64_t free_cycle, latency_cycles, access_bytes;
	npl_u128 free_part, byte_parts, cycle_parts;
	/* Completions come in the order of their requests. */
	uint64_t head, tail;
	struct npl_memory_completion completion[NPL_MEMORY_MAX_SIMPLE_PENDING];
};

#define PARAM_CONFIG struct config

static const struct npl_param ideal_params[] = {{0}};

static const struct npl_param fixed_params[] = {
	NUMBER("bytes_per_second", INT, bytes_per_second, NULL, 1000, 1e15, "bytes/s", "of all requests together"),
	NUMBER("latency_seconds", DOUBLE, latency_seconds, "0", 0, 1, "s", "from the last byte moved to the answer"),
	CHOICE("whole_cycles", whole_cycles, "no",
	       "whether a request takes the port for whole cycles of the machine's clock", "no yes"),
	NUMBER("access_bytes", INT, access_bytes, "0", 0, 1 << 20, "bytes",
	       "that every request moves, aligned; 0: what it asks for"),
	NUMBER("capacity_bytes", INT, capacity_bytes, "0", 0, 1e15, "bytes", "0: no limit"),
	NUMBER("energy.pj_per_byte", DOUBLE, pj_per_byte, "0", 0, 1e9, "pJ", "per byte moved, read or written"),
	ORIGIN("energy.origin", origin, "where that figure is from", "energy.pj_per_byte"),
	{0},
};

static int simple_open(bool limited, const struct config *config, const struct npl_memory_options *options,
		       struct npl_memory_info *info, void **state, struct npl_err *err)
{
	struct simple *m = calloc(1, sizeof *m);
	if (!m)
		return npl_no_memory(err);
	info->clock = options->clock.numerator ? options->clock : (struct npl_hz){1000000000, 1};
	info->capacity_bytes = UINT64_MAX;
	info->peak_bytes_per_second = INFINITY;
	m->limited = limited;
	if (limited) {
		double hz = (double)info->clock.numerator / (double)info->clock.denominator;
		m->byte_parts = (npl_u128)info->clock.numerator;
		m->cycle_parts = (npl_u128)config->bytes_per_second * (npl_u128)info->clock.denominator;
		m->latency_cycles = (uint64_t)ceil(config->latency_seconds * hz);
		m->access_bytes = (uint64_t)config->access_bytes;
		m->whole_cycles = config->whole_cycles;
		info->access_bytes = m->access_bytes;
		if (config->capacity_bytes)
			info->capacity_bytes = (uint64_t)config->capacity_bytes;
		info->peak_bytes_per_second = (double)config->bytes_per_second;
	}
	*state = m;
	return 0;
}

static int ideal_open(void *config, const struct npl_memory_options *options, struct npl_memory_info *info,
		      void **state, struct npl_err *err)
{
	return simple_open(false, config, options, info, state, err);
}

static int fixed_open(void *config, const struct npl_memory_options *options, struct npl_memory_info *info,
		      void **state, struct npl_err *err)
{
	return simple_open(true, config, options, info, state, err);
}

static void add(struct simple *m, uint64_t cycle, uint64_t tag)
{
	m->completion[m->tail++ % NPL_MEMORY_MAX_SIMPLE_PENDING] = (struct npl_memory_completion){cycle, tag};
}

/* Returns the first completion; NULL: none is under way. */
static const struct npl_memory_completion *first_done(const struct simple *m)
{
	return m->head == m->tail ? NULL : &m->completion[m->head % NPL_MEMORY_MAX_SIMPLE_PENDING];
}

static void simple_reset(void *state)
{
	struct simple *m = state;
	m->count = (struct npl_memory_counters){0};
	m->head = m->tail = 0;
	m->now = m->free_cycle = 0;
	m->free_part = 0;
}

/* Says whether the request can begin in this cycle. */
static bool simple_can_accept(void *state, const struct npl_memory_request *request)
{
	const struct simple *m = state;
	(void)request;
	return m->tail - m->head < NPL_MEMORY_MAX_SIMPLE_PENDING && (!m->limited || m->free_cycle <= m->now);
}

static void simple_push(void *state, const struct npl_memory_request *request)
{
	struct simple *m = state;
	const uint64_t bytes = m->access_bytes ? m->access_bytes : request->bytes;
	*(request->is_write ? &m->count.writes : &m->count.reads) += 1;
	*(request->is_write ? &m->count.written_bytes : &m->count.read_bytes) += bytes;
	if (!m->limited) {
		add(m, m->now, request->tag);
		return;
	}
	if (m->free_cycle < m->now) {
		m->free_cycle = m->now;
		m->free_part = 0;
	}
	m->free_part += bytes * m->byte_parts;
	m->free_cycle += (uint64_t)(m->free_part / m->cycle_parts);
	m->free_part %= m->cycle_parts;
	if (m->whole_cycles && m->free_part) {
		m->free_cycle++;
		m->free_part = 0;
	}
	add(m, m->free_cycle + (m->free_part > 0) + m->latency_cycles, request->tag);
}

static void simple_advance(void *state, uint64_t until, unsigned stop)
{
	struct simple *m = state;
	const struct npl_memory_completion *first = first_done(m);
	if (until <= m->now)
		return;
	if (stop & NPL_MEMORY_COMPLETION && first && first->cycle < until)
		until = first->cycle > m->now ? first->cycle : m->now;
	if (stop & NPL_MEMORY_ROOM && m->limited && m->free_cycle > m->now && m->free_cycle < until)
		until = m->free_cycle;
	m->now = until;
}

static uint64_t simple_now(const void *state)
{
	return ((const struct simple *)state)->now;
}

static uint64_t simple_pending(const void *state)
{
	const struct simple *m = state;
	return m->tail - m->head;
}

static uint64_t simple_take(void *state, struct npl_memory_completion *completions, uint64_t capacity)
{
	struct simple *m = state;
	const struct npl_memory_completion *first;
	uint64_t n = 0;
	for (; n < capacity && (first = first_done(m)) && first->cycle <= m->now; m->head++)
		completions[n++] = *first;
	return n;
}

/* Appends the state. The port's fraction of a cycle counts as long as the next request begins where the last one
 * ends. */
static void simple_relative(const void *state, struct npl_memory_words *words,
			    uint64_t (*tag_of)(const void *asker, uint64_t tag), const void *asker)
{
	const struct simple *m = state;
	const bool port_taken = m->limited && m->free_cycle >= m->now;
	npl_memory_add_word(words, port_taken ? m->free_cycle - m->now : 0);
	npl_memory_add_word(words, port_taken ? (uint64_t)(m->free_part >> 64) : 0);
	npl_memory_add_word(words, port_taken ? (uint64_t)m->free_part : 0);
	npl_memory_add_word(words, m->tail - m->head);
	for (uint64_t i = m->head; i < m->tail; i++) {
		const struct npl_memory_completion *completion = &m->completion[i % NPL_MEMORY_MAX_SIMPLE_PENDING];
		npl_memory_add_word(words, completion->cycle - m->now);
		npl_memory_add_word(words, tag_of(asker, completion->tag));
	}
}

static void simple_count(const void *state, struct npl_memory_counters *counters)
{
	*counters = ((const struct simple *)state)->count;
}

static int no_energy(const void *config, const struct npl_memory_counters *counters,
		     struct npl_memory_energy energy[NPL_MEMORY_ENERGIES])
{
	(void)config, (void)counters, (void)energy;
	return 0;
}

static int fixed_energy(const void *state, const struct npl_memory_counters *counters,
			struct npl_memory_energy energy[NPL_MEMORY_ENERGIES])
{
	const struct config *config = state;
	energy[0] = (struct npl_memory_energy){"read", counters->read_bytes, config->pj_per_byte, config->origin,
					       NPL_MEMORY_READ};
	energy[1] = (struct npl_memory_energy){"write", counters->written_bytes, config->pj_per_byte, config->origin,
					       NPL_MEMORY_WRITE};
	return 2;
}

#define SIMPLE(title, parameters, bytes, how, costs)                                                                   \
	{                                                                                                              \
		.name = title, .params = parameters, .config_bytes = bytes, .open = how, .close = free,                \
		.reset = simple_reset, .can_accept = simple_can_accept, .push = simple_push,                           \
		.advance = simple_advance, .now = simple_now, .pending = simple_pending, .take = simple_take,          \
		.relative = simple_relative, .count = simple_count, .energy = costs                                    \
	}

const struct memory_model memory_ideal = SIMPLE("ideal", ideal_params, sizeof(struct config), ideal_open, no_energy);
const struct memory_model memory_fixed = SIMPLE("fixed", fixed_params, sizeof(struct config), fixed_open, fixed_energy);
