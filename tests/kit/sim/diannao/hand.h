/* SPDX-License-Identifier: MIT
 *
 * Small programs for DianNao's engines, instruction by instruction, with values in memory and what is expected of them
 * worked out by hand. Every run is made twice, with values and timing only: they take the same time.
 *
 *     struct dn_hand *h = hand_open(2, "model: ideal\n");
 *     struct dn_instruction *i = hand_add(h);
 *     ...
 *     hand_run(h);
 *     cr_expect_eq(h->outcome.cycles, 10);
 *     hand_close(h);
 */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_HAND_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_HAND_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/q16/q16.h"
#include "sim/diannao/diannao/rtl/run.h"
#include "tests/kit/sim/diannao/cycles.h"

enum { HAND_INSTRUCTIONS = 64, HAND_BYTES = 1 << 16, HAND_EVENTS = 1024 };

struct dn_hand {
	struct dn_config config;
	struct dn_instruction program[HAND_INSTRUCTIONS];
	int count, next;
	struct dn_function function[2];
	uint8_t bytes[HAND_BYTES], before[HAND_BYTES];
	struct {
		enum dn_event what;
		int64_t index;
		uint64_t cycle;
	} event[HAND_EVENTS];
	int events;
	struct dn_outcome outcome;
	struct npl_memory *memory;
};

/* `text`: what is in a memory's file, or the path of one. A memory without a clock of its own runs on `clock`. */
static inline struct npl_memory *hand_memory(const char *text, struct npl_hz clock, bool every_cycle)
{
	char path[] = "/tmp/npulab-diannao-XXXXXX.yaml";
	const struct npl_memory_options options = {.clock = clock, .every_cycle = every_cycle};
	struct npl_memory *memory;
	struct npl_err err;
	const bool is_file = strchr(text, ':') != NULL;
	if (is_file) {
		const int file = mkstemps(path, 5);
		cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && !close(file));
	}
	cr_assert_eq(npl_memory_open(is_file ? path : text, &options, &memory, &err), 0, "%s", err.msg);
	if (is_file)
		unlink(path);
	return memory;
}

/* The paper's pipeline and small buffers, 980 MHz. */
static inline struct dn_hand *hand_open(int64_t tn, const char *memory)
{
	struct dn_hand *h = calloc(1, sizeof *h);
	cr_assert(h);
	h->config = (struct dn_config){.clock_hz = 980000000,
				       .tn = tn,
				       .nfu1_stages = 3,
				       .nfu2_stages = 2,
				       .nfu3_stages = 3,
				       .product = NPL_Q16_ROUNDED,
				       .sum_bits = 32,
				       .nbin_rows = 8,
				       .nbout_rows = 16,
				       .nbout_sum_rows = 8,
				       .sb_rows = 8,
				       .dma_queue = 64,
				       .dma_burst_bytes = 512};
	h->function[0] = dn_sigmoid;
	h->function[1] = dn_tanh;
	if (memory)
		h->memory = hand_memory(memory, (struct npl_hz){h->config.clock_hz, 1}, true);
	return h;
}

static inline void hand_close(struct dn_hand *h)
{
	npl_memory_close(h->memory);
	free(h);
}

/* A row of bytes in memory: 16-bit values. Ends with HAND_END. */
#define HAND_END 99999
static inline void hand_put(struct dn_hand *h, uint64_t address, ...)
{
	va_list values;
	va_start(values, address);
	for (int v = va_arg(values, int); v != HAND_END; v = va_arg(values, int), address += 2) {
		const int16_t value = (int16_t)v;
		memcpy(h->bytes + address, &value, 2);
	}
	va_end(values);
}

static inline void hand_put32(struct dn_hand *h, uint64_t address, int32_t value)
{
	memcpy(h->bytes + address, &value, 4);
}

static inline int hand_get(const struct dn_hand *h, uint64_t address)
{
	int16_t value;
	memcpy(&value, h->bytes + address, 2);
	return value;
}

static inline int32_t hand_get32(const struct dn_hand *h, uint64_t address)
{
	int32_t value;
	memcpy(&value, h->bytes + address, 4);
	return value;
}

/* ---- Instructions ---- */

static inline struct dn_instruction *hand_add(struct dn_hand *h)
{
	cr_assert_lt(h->count, HAND_INSTRUCTIONS);
	return &h->program[h->count++];
}

static inline struct dn_instruction *hand_nfu(struct dn_hand *h, enum dn_nfu1 nfu1, enum dn_nfu2 nfu2, enum dn_from in,
					      enum dn_to out)
{
	struct dn_instruction *instruction = hand_add(h);
	instruction->nfu.nfu1 = (uint8_t)nfu1;
	instruction->nfu.nfu2 = (uint8_t)nfu2;
	instruction->nfu.in = (uint8_t)in;
	instruction->nfu.out = (uint8_t)out;
	instruction->nbout.read = in == DN_FROM_NBOUT ? DN_READ : DN_READ_NOP;
	instruction->nbout.write = out == DN_TO_NBOUT ? DN_WRITE : DN_WRITE_NOP;
	return instruction;
}

/* Rows that are loaded are kept unless `reuse` of it is set to 0. */
static inline void hand_load_nbin(struct dn_instruction *instruction, uint64_t address, uint32_t size, uint8_t reuse)
{
	instruction->nbin.op = DN_LOAD;
	instruction->nbin.address = address;
	instruction->nbin.size = size;
	instruction->nbin.reuse = reuse;
}

static inline void hand_read_nbin(struct dn_instruction *instruction, uint32_t stride, uint32_t begin, uint32_t end,
				  uint8_t reuse)
{
	instruction->nbin.op = DN_READ;
	instruction->nbin.stride = stride;
	instruction->nbin.begin = begin;
	instruction->nbin.end = end;
	instruction->nbin.reuse = reuse;
}

static inline void hand_sb(struct dn_instruction *instruction, enum dn_read op, uint64_t address, uint32_t size,
			   uint8_t reuse)
{
	instruction->sb.op = (uint8_t)op;
	instruction->sb.address = address;
	instruction->sb.size = size;
	instruction->sb.reuse = reuse;
}

static inline void hand_store(struct dn_instruction *instruction, uint64_t address, uint32_t size)
{
	instruction->nbout.write = DN_STORE;
	instruction->nbout.address = address;
	instruction->nbout.size = size;
}

/* One group that is loaded, multiplied, and stored: so many steps. */
static inline struct dn_instruction *hand_group(struct dn_hand *h, uint64_t inputs, uint64_t synapses, uint64_t results,
						int64_t steps)
{
	const int64_t tn = h->config.tn;
	struct dn_instruction *instruction = hand_nfu(h, DN_MULT, DN_ADD, DN_FROM_RESET, DN_TO_NFU3);
	hand_load_nbin(instruction, inputs, (uint32_t)(2 * tn * steps), 0);
	hand_sb(instruction, DN_LOAD, synapses, (uint32_t)(2 * tn * tn * steps), 0);
	hand_store(instruction, results, (uint32_t)(2 * tn));
	return instruction;
}

/* The maximum of so many rows, stored as it is. */
static inline struct dn_instruction *hand_maximum(struct dn_hand *h, uint64_t inputs, uint64_t results, int64_t steps)
{
	const int64_t tn = h->config.tn;
	struct dn_instruction *instruction = hand_nfu(h, DN_NFU1_NOP, DN_MAXIMUM, DN_FROM_RESET, DN_TO_NBOUT);
	hand_load_nbin(instruction, inputs, (uint32_t)(2 * tn * steps), 0);
	hand_store(instruction, results, (uint32_t)(2 * tn));
	return instruction;
}

/* ---- Runs ---- */

static inline void hand_next(void *state, struct dn_instruction *instruction)
{
	struct dn_hand *h = state;
	cr_assert_lt(h->next, h->count, "nothing comes after END");
	*instruction = h->program[h->next++];
}

static inline void hand_happened(void *context, const struct sim_event *event)
{
	struct dn_hand *h = context;
	cr_assert_lt(h->events, HAND_EVENTS);
	h->event[h->events].what = event->kind;
	h->event[h->events].index = event->index;
	h->event[h->events++].cycle = event->cycle;
}

static inline int hand_once(struct dn_hand *h, bool values, struct npl_err *err)
{
	const struct sim_observer observer = {.context = h, .on_event = hand_happened};
	h->next = h->events = 0;
	const struct dn_engine_input engine_input = {.config = &h->config,
						     .stream = {.state = h, .next = hand_next},
						     .n_functions = 2,
						     .function = h->function,
						     .memory = {values ? h->bytes : NULL, values ? HAND_BYTES : 0},
						     .port = h->memory,
						     .observer = &observer};
	return dn_run_rtl(&engine_input, &h->outcome, err);
}

/* The last instruction gets CP END. */
static inline void hand_run(struct dn_hand *h)
{
	struct npl_err err = {0};
	h->program[h->count - 1].cp.op = DN_CP_END;
	memcpy(h->before, h->bytes, sizeof h->before);
	cr_assert_eq(hand_once(h, false, &err), 0, "%s", err.msg);
	const struct dn_outcome timing = h->outcome;
	const int events = h->events;
	cr_assert_eq(memcmp(h->before, h->bytes, sizeof h->before), 0, "timing only moves no values");
	cr_assert_eq(hand_once(h, true, &err), 0, "%s", err.msg);
	const struct dn_counters *n = &h->outcome.counters;
	struct dn_counters expected_counters = *n;
	dn_set_value_counters(&(struct dn_counters){0}, &expected_counters);
	cr_assert_eq(timing.cycles, h->outcome.cycles);
	cr_assert_eq(memcmp(&timing.counters, &expected_counters, sizeof expected_counters), 0,
		     "the same without values");
	cr_assert_eq(events, h->events);
	cr_assert_eq(diannao_cycles_of(*n), h->outcome.cycles);
	cr_assert_eq(n->useful_macs + n->idle_lanes, n->nfu_active * (uint64_t)(h->config.tn * h->config.tn));
}

/* The boundary, or the cycle, of the one such event. */
static inline int64_t hand_when(const struct dn_hand *h, enum dn_event kind, int64_t index)
{
	int64_t at = -1, times = 0;
	for (int i = 0; i < h->events; i++)
		if (h->event[i].what == kind && h->event[i].index == index) {
			at = (int64_t)h->event[i].cycle;
			times++;
		}
	cr_assert_leq(times, 1, "event %d of instruction %d comes once", (int)kind, (int)index);
	return at;
}

/* cycles = active + fill + for SB + for NBin + for NBout */
static inline void hand_spent(const struct dn_hand *h, uint64_t active, uint64_t fill, uint64_t sb, uint64_t nbin,
			      uint64_t nbout)
{
	const struct dn_counters *n = &h->outcome.counters;
	cr_expect(n->nfu_active == active && n->nfu_fill == fill && n->wait_sb == sb && n->wait_nbin == nbin &&
			  n->wait_nbout == nbout,
		  "active %d, fill %d, waits %d %d %d; expected %d, %d, %d %d %d", (int)n->nfu_active, (int)n->nfu_fill,
		  (int)n->wait_sb, (int)n->wait_nbin, (int)n->wait_nbout, (int)active, (int)fill, (int)sb, (int)nbin,
		  (int)nbout);
	cr_expect_eq(h->outcome.cycles, active + fill + sb + nbin + nbout);
}

#endif
