/* SPDX-License-Identifier: MIT
 *
 * The values of a program in the fast engine: one instruction after the other, each as a whole, without time. In a
 * program that has been checked, what a load reads and what a store writes does not depend on time. The arithmetic is
 * that of nfu.c.
 *
 * Sums are held without wrapping: the register's content is the sum modulo 2^sum_bits at any time. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "core/q16/q16.h"
#include "fast.h"
#include "npulab/layer.h"
#include "sim/diannao/diannao/nfu.h"

/* The rows that a buffer holds, by their numbers in the order of loading. */
struct rows {
	uint64_t slots, oldest, next;
	size_t row_values;
	int16_t *value; /* (slots, row_values) */
};

struct dn_fast_values {
	const struct dn_engine_input *engine_input;
	struct dn_counters *count;
	size_t tn;
	int64_t sum_bits;
	bool rounded;
	struct rows nbin, sb;
	struct dn_fast_activity *activity; /* NULL: not counted */
	bool only_activity;
	int16_t *no_row;     /* (tn, tn) zeros */
	int64_t *sum;        /* (tn) NFU-2's registers */
	int64_t *nbout_sums; /* (indices, tn) the sums in NBout */
	uint64_t index;      /* the index of NBout */
	/* The open store: the address of the next result, and the bytes left. */
	uint64_t address, bytes_left;
};

static bool open_rows(struct rows *rows, int64_t slots, size_t row_values)
{
	rows->slots = (uint64_t)slots;
	rows->row_values = row_values;
	rows->value = calloc((size_t)slots * row_values, sizeof *rows->value);
	return rows->value;
}

int dn_fast_values_open(const struct dn_engine_input *engine_input, bool only_activity, struct dn_counters *counters,
			struct dn_fast_values **values, struct npl_err *err)
{
	const struct dn_config *c = engine_input->config;
	struct dn_fast_values *v = *values = calloc(1, sizeof *v);
	if (!v)
		return npl_no_memory(err);
	v->engine_input = engine_input;
	v->count = counters;
	v->tn = (size_t)c->tn;
	v->sum_bits = c->sum_bits;
	v->rounded = c->product == NPL_Q16_ROUNDED;
	v->only_activity = only_activity;
	v->no_row = calloc(v->tn * v->tn, sizeof *v->no_row);
	v->sum = calloc(v->tn, sizeof *v->sum);
	v->nbout_sums = calloc((size_t)(c->nbout_sum_rows / dn_sum_rows(c) + 1) * v->tn, sizeof *v->nbout_sums);
	if (!v->sum || !v->nbout_sums || !v->no_row || !open_rows(&v->nbin, c->nbin_rows, v->tn) ||
	    !open_rows(&v->sb, c->sb_rows, v->tn * v->tn) ||
	    (dn_counts_activity(c) && dn_fast_activity_open(c, &v->activity, err))) {
		dn_fast_values_close(v);
		*values = NULL;
		return npl_no_memory(err);
	}
	return 0;
}

void dn_fast_values_close(struct dn_fast_values *values)
{
	if (!values)
		return;
	dn_fast_activity_close(values->activity);
	free(values->no_row);
	free(values->nbin.value);
	free(values->sb.value);
	free(values->sum);
	free(values->nbout_sums);
	free(values);
}

static int16_t *row_at(const struct rows *rows, uint64_t row)
{
	return &rows->value[row % rows->slots * rows->row_values];
}

/* Loads bytes into rows. Values have the byte order of this computer: little endian. */
static void load(const struct dn_fast_values *v, struct rows *rows, uint64_t address, uint64_t bytes)
{
	const uint64_t row_bytes = rows->row_values * sizeof *rows->value;
	const struct dn_memory *memory = &v->engine_input->memory;
	for (; bytes; rows->next++) {
		const uint64_t n = bytes < row_bytes ? bytes : row_bytes;
		int16_t *to = row_at(rows, rows->next);
		memset(to, 0, row_bytes);
		if (address + n <= memory->size) /* only a program that is counted, not computed, may go beyond */
			memcpy(to, memory->bytes + address, n);
		if (v->activity && rows == &v->sb)
			dn_fast_activity_load(v->activity, rows->next, to,
					      rows->next ? row_at(rows, rows->next - 1) : v->no_row);
		address += n;
		bytes -= n;
	}
}

/* Adds one output's rounded products to *sum. Returns how many products saturated. */
static uint32_t add_rounded(size_t tn, const int16_t *restrict x, const int16_t *restrict w, int64_t *sum)
{
	int32_t total = 0;
	uint32_t saturated = 0;
	for (size_t i = 0; i < tn; i++) {
		int32_t product = (x[i] * w[i] + (1 << (NPL_Q16_FRACTION_BITS - 1))) >> NPL_Q16_FRACTION_BITS;
		int32_t clipped = product > INT16_MAX ? INT16_MAX : product < INT16_MIN ? INT16_MIN : product;
		saturated += clipped != product;
		total += clipped;
	}
	*sum += total;
	return saturated;
}

static void multiply(struct dn_fast_values *v, const int16_t *x, const int16_t *w)
{
	for (size_t n = 0; n < v->tn; n++, w += v->tn) {
		if (v->rounded) {
			v->count->product_saturations += add_rounded(v->tn, x, w, &v->sum[n]);
			continue;
		}
		for (size_t i = 0; i < v->tn; i++)
			v->sum[n] += x[i] * w[i];
	}
}

/* Adds the 32-bit words of consecutive rows, beginning with this one. They are in one row, except with Tn 1, where a
 * word has two rows. */
static void add_biases(struct dn_fast_values *v, uint64_t row)
{
	const size_t row_bytes = v->sb.row_values * sizeof *v->sb.value;
	for (size_t n = 0; n < v->tn; n++) {
		uint8_t word[sizeof(int32_t)];
		int32_t bias;
		for (size_t i = 0, byte = n * sizeof word; i < sizeof word; i++, byte++)
			word[i] = ((const uint8_t *)row_at(&v->sb, row + byte / row_bytes))[byte % row_bytes];
		memcpy(&bias, word, sizeof bias);
		v->sum[n] += v->rounded ? dn_rescale(bias, NPL_Q16_FRACTION_BITS) : bias;
	}
}

static void pool(struct dn_fast_values *v, bool maximum, const int16_t *x)
{
	for (size_t n = 0; n < v->tn; n++)
		if (!maximum)
			v->sum[n] += x[n];
		else if (x[n] > v->sum[n])
			v->sum[n] = x[n];
}

/* Counts a step's operands. */
static void count_step(struct dn_fast_values *v, bool multiplies, const int16_t *input, uint64_t sb_row)
{
	dn_fast_activity_input(v->activity, input, v->count);
	if (multiplies)
		dn_fast_activity_product(v->activity, sb_row, row_at(&v->sb, sb_row), v->count);
}

static void take_steps(struct dn_fast_values *v, const struct dn_instruction *instruction, uint64_t sb_row)
{
	const uint64_t stride = instruction->nbin.stride ? instruction->nbin.stride : 1,
		       first = v->nbin.oldest + instruction->nbin.begin;
	const uint64_t end = instruction->nbin.stride ? v->nbin.oldest + instruction->nbin.end + 1 : v->nbin.next;
	const bool multiplies = instruction->nfu.nfu1 == DN_MULT;
	const uint64_t first_sb_row = sb_row;
	if (instruction->nfu.nfu1 == DN_BIAS && !v->only_activity)
		add_biases(v, sb_row);
	for (uint64_t row = first; instruction->nbin.op != DN_READ_NOP && row < end;
	     row += stride, sb_row += multiplies) {
		if (v->activity)
			count_step(v, multiplies, row_at(&v->nbin, row), sb_row);
		if (v->only_activity)
			continue;
		if (multiplies)
			multiply(v, row_at(&v->nbin, row), row_at(&v->sb, sb_row));
		else
			pool(v, instruction->nfu.nfu2 == DN_MAXIMUM, row_at(&v->nbin, row));
	}
	if (v->activity && sb_row > first_sb_row)
		dn_fast_activity_keep(v->activity, row_at(&v->sb, sb_row - 1));
}

static void begin_sums(struct dn_fast_values *v, const struct dn_instruction *instruction, const int64_t *nbout_sum)
{
	const bool maximum = instruction->nfu.nfu2 == DN_MAXIMUM;
	for (size_t n = 0; n < v->tn; n++) {
		if (instruction->nfu.in == DN_FROM_RESET)
			v->sum[n] = maximum ? -((int64_t)1 << (v->sum_bits - 1)) : 0;
		else if (instruction->nfu.in == DN_FROM_NBOUT)
			v->sum[n] = nbout_sum[n];
		if (maximum) /* of what the register holds */
			v->sum[n] = dn_wrap(v->sum[n], v->sum_bits);
	}
}

/* Returns what leaves NFU-2 in this lane; where it goes to NFU-3, what leaves NFU-3. */
static int32_t output_of(struct dn_fast_values *v, const struct dn_instruction *instruction, int64_t sum)
{
	const int nfu3 = instruction->nfu.out == DN_TO_NFU3 ? instruction->nfu.nfu3 : 0;
	const struct dn_function *function = nfu3 ? &v->engine_input->function[nfu3 - 1] : NULL;
	int64_t value = sum;
	if (instruction->nfu.nfu2 == DN_ADD) {
		value = dn_wrap(sum, v->sum_bits);
		v->count->sum_wraps += value != sum;
		if (instruction->nfu.out == DN_TO_NBOUT)
			return (int32_t)value;
	}
	value = instruction->nfu.nfu2 == DN_ADD && instruction->nfu.divisor
			? dn_average(value, instruction->nfu.divisor, instruction->nfu.shift)
			: dn_rescale(value, instruction->nfu.shift);
	return dn_nfu3_result(function, instruction->nfu.result_shift, value, v->count);
}

static void store(struct dn_fast_values *v, const struct dn_instruction *instruction)
{
	const bool wide = instruction->nfu.out == DN_TO_NBOUT && instruction->nfu.nfu2 == DN_ADD;
	const size_t width = wide ? sizeof(int32_t) : sizeof(int16_t);
	if (instruction->nbout.size) {
		v->address = instruction->nbout.address;
		v->bytes_left = instruction->nbout.size;
	}
	for (size_t n = 0; n < v->tn && v->bytes_left; n++) {
		const int32_t result = output_of(v, instruction, v->sum[n]);
		const int16_t narrow = (int16_t)result;
		memcpy(v->engine_input->memory.bytes + v->address, wide ? (const void *)&result : &narrow, width);
		v->address += width;
		v->bytes_left -= width;
	}
}

void dn_fast_values_execute(struct dn_fast_values *v, const struct dn_instruction *instruction)
{
	const bool uses_nfu = dn_uses_nfu(instruction);
	const uint64_t sb_row = instruction->sb.op == DN_LOAD
					? v->sb.next
					: v->sb.oldest +
						  instruction->sb.address / (v->sb.row_values * sizeof *v->sb.value);
	if (instruction->sb.op == DN_LOAD)
		load(v, &v->sb, instruction->sb.address, instruction->sb.size);
	if (instruction->nbin.op == DN_LOAD)
		load(v, &v->nbin, instruction->nbin.address, instruction->nbin.size);
	if (uses_nfu) {
		v->index = instruction->nfu.begin ? 0 : v->index;
		const bool in_nbout = instruction->nfu.in == DN_FROM_NBOUT || instruction->nbout.write == DN_WRITE;
		int64_t *nbout_sum = v->nbout_sums + (in_nbout ? v->index * v->tn : 0);
		if (!v->only_activity)
			begin_sums(v, instruction, nbout_sum);
		take_steps(v, instruction, sb_row);
		if (instruction->nbout.write == DN_WRITE)
			memcpy(nbout_sum, v->sum, v->tn * sizeof *nbout_sum);
		if (instruction->nbout.write == DN_STORE && !v->only_activity)
			store(v, instruction);
		v->index = instruction->nfu.end ? 0 : v->index + (instruction->nfu.out != DN_TO_KEEP);
	}
	if (instruction->sb.op != DN_READ_NOP && !instruction->sb.reuse)
		v->sb.oldest = sb_row + instruction->sb.size / (v->sb.row_values * sizeof *v->sb.value);
	if (instruction->nbin.op != DN_READ_NOP && !instruction->nbin.reuse)
		v->nbin.oldest = instruction->nbin.stride ? v->nbin.oldest + instruction->nbin.end + 1 : v->nbin.next;
}
