/* SPDX-License-Identifier: MIT
 *
 * Counts the activity of operands (activity.def), in the order of the program. All cells of an array row see the same
 * inputs, one after the other. So of an array row with M vectors and N columns, two numbers of its inputs and two of
 * its weights say how many of its M N products have a zero operand, and how many partial products toggle:
 *
 *     zero products             zero inputs * N + zero weights * M - zero inputs * zero weights
 *     partial product toggles   bits of inputs that toggle * bits of weights that are 1
 *
 * Partial product (i, j) is input bit i AND weight bit j. Where the first vector meets other weights than the vector
 * before it, both change. With the 1s of both inputs x and of both weights w, those that toggle are then
 *
 *     1s of x * 1s of w + 1s of x before * 1s of w before - 2 * 1s of both x * 1s of both w */
#include <stdlib.h>
#include <string.h>

#include "activate.h"
#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "fast.h"
#include "sim/common/toggles.h"

enum {
	PLANES = 4,
	SUMMED = 28, /* vectors whose toggles, 9 bits each, a byte holds */
	LANES = 32,  /* that are followed at a time */
};

/* The rows that came last, and sums over the vectors of a matrix instruction. */
struct tpu_fast_activity {
	uint8_t *memory;                    /* of all arrays of bytes */
	uint8_t *input, *weight;            /* at the array's edges: (rows), (columns) */
	uint8_t *host[2];                   /* (width) out, in */
	uint8_t *source, *operand, *result; /* (PLANES, columns) of activates, plane by plane */
	struct sim_lanes inputs;            /* (rows) `input` as operands, and what they did in the last few vectors */
	int64_t n_summed;                   /* so many */
	struct sim_lanes weights;           /* (columns) working space */
	uint8_t *weight_row, *row_below;    /* (columns) */
	uint64_t *zeros, *toggles;          /* (rows) of the inputs of each array row */
	uint8_t *low_before, *negative_before; /* (rows) the operands before the first vector of an instruction */
	/* The weights that the last vector met; UINT64_MAX and 0 before the first. */
	uint64_t tile;
	struct tpu_fast_format format;
	uint32_t *ones; /* (rows) their bits that are 1 */
};

/* Returns the next `count` bytes of the arrays' memory, or counts them where there is none yet. */
static uint8_t *part_of(uint8_t *memory, size_t *used, int64_t count)
{
	uint8_t *part = memory ? memory + *used : NULL;
	*used += (size_t)count;
	return part;
}

/* Gives the arrays of bytes their places. Returns how many bytes they take. */
static size_t place_arrays(struct tpu_fast_activity *a, int64_t rows, int64_t columns, int64_t width)
{
	size_t used = 0;
	const struct {
		uint8_t **array;
		int64_t bytes;
	} all[] = {{&a->input, rows},
		   {&a->weight, columns},
		   {&a->host[0], width},
		   {&a->host[1], width},
		   {&a->source, PLANES * columns},
		   {&a->operand, PLANES * columns},
		   {&a->result, PLANES * columns},
		   {&a->inputs.low, rows},
		   {&a->inputs.negative, rows},
		   {&a->inputs.toggles, rows},
		   {&a->inputs.zeros, rows},
		   {&a->weights.low, columns},
		   {&a->weights.negative, columns},
		   {&a->weights.toggles, columns},
		   {&a->weights.zeros, columns},
		   {&a->weight_row, columns},
		   {&a->row_below, columns},
		   {&a->low_before, rows},
		   {&a->negative_before, rows}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i].array = part_of(a->memory, &used, all[i].bytes);
	return used;
}

int tpu_fast_activity_open(struct tpu_fast_machine *m, struct npl_err *err)
{
	if (!tpu_counts_activity(m->config))
		return 0;
	struct tpu_fast_activity *a = m->activity = calloc(1, sizeof *a);
	if (!a)
		return npl_no_memory(err);
	const size_t rows = (size_t)m->rows;
	a->memory = calloc(place_arrays(a, m->rows, m->columns, m->width), 1);
	a->zeros = calloc(rows, sizeof *a->zeros);
	a->toggles = calloc(rows, sizeof *a->toggles);
	a->ones = calloc(rows, sizeof *a->ones);
	a->tile = TPU_FAST_NO_TILE;
	if (!a->memory || !a->zeros || !a->toggles || !a->ones)
		return npl_no_memory(err);
	place_arrays(a, m->rows, m->columns, m->width);
	return 0;
}

void tpu_fast_activity_close(struct tpu_fast_machine *m)
{
	struct tpu_fast_activity *a = m->activity;
	if (!a)
		return;
	free(a->memory);
	free(a->zeros);
	free(a->toggles);
	free(a->ones);
	free(a);
	m->activity = NULL;
}

/* Adds an instruction's counts to the program's. */
static void add(struct tpu_fast_machine *m, int64_t index, const struct tpu_activity *count)
{
	tpu_add_activity(count, &m->outcome->counters);
	if (!m->activity_counts)
		return;
	struct tpu_activity *sum = &m->activity_counts[index];
#define TPU_ACTIVITY(member, ...) sum->member += count->member;
#include "sim/systolic/tpu_v1/activity.def"
#undef TPU_ACTIVITY
}

void tpu_fast_host_activity(struct tpu_fast_machine *m, int64_t index, bool inward, const uint8_t *row)
{
	if (!m->activity)
		return;
	const uint64_t bits = sim_follow(m->activity->host[inward], row, (size_t)m->width);
	add(m, index,
	    &(struct tpu_activity){.ub_read_toggles = inward ? 0 : bits, .ub_write_toggles = inward ? bits : 0});
}

/* Counts `count` vectors of a tensor, plane by plane. */
static uint64_t follow_tensor(const struct tpu_fast_activation *activation, const struct tpu_fast_tensor *tensor,
			      int64_t count, uint8_t *last)
{
	uint64_t bits = 0;
	for (int64_t k = 0; k < count; k++)
		for (int p = 0; p < tpu_planes(tensor->type); p++)
			bits += sim_follow(last + p * activation->machine->columns,
					   tpu_fast_vector(activation, tensor, k, p), (size_t)activation->columns);
	return bits;
}

void tpu_fast_reads_activity(const struct tpu_fast_activation *activation, int64_t index)
{
	const struct tpu_instruction *in = activation->instruction;
	struct tpu_fast_machine *m = activation->machine;
	const enum tpu_operand operand = tpu_operand_of(in->flags);
	struct tpu_activity count = {0};
	if (!m->activity)
		return;
	if (in->flags & TPU_ACTIVATE_FROM_BUFFER)
		count.ub_read_toggles += follow_tensor(activation, &activation->source, in->length,
						       m->activity->source);
	if (operand == TPU_ADD || operand == TPU_MULTIPLY)
		count.ub_read_toggles += follow_tensor(activation, &activation->second, in->length,
						       m->activity->operand);
	add(m, index, &count);
}

void tpu_fast_results_activity(const struct tpu_fast_activation *activation, int64_t index)
{
	struct tpu_fast_machine *m = activation->machine;
	if (!m->activity)
		return;
	const int64_t results = tpu_fast_results(&m->registers, activation->instruction);
	add(m, index,
	    &(struct tpu_activity){
		    .ub_write_toggles = follow_tensor(activation, &activation->result, results, m->activity->result)});
}

static uint32_t sum_of(const uint8_t *bytes, int64_t n)
{
	uint32_t sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += bytes[i];
	return sum;
}

/* Returns a row of the tile. Rows beyond the weights that are given are 0. */
static const uint8_t *weight_row(const struct tpu_fast_machine *m, uint64_t tile, int64_t row)
{
	const struct tpu_fast_weights *w = &m->weights;
	const size_t columns = (size_t)m->columns;
	const uint64_t first = tile + (uint64_t)row * columns;
	if (tile != TPU_FAST_NO_TILE && first < w->n_bytes && w->n_bytes - first >= columns)
		return w->bytes + first;
	if (tile == TPU_FAST_NO_TILE)
		memset(m->activity->weight_row, 0, columns);
	else
		tpu_fast_weight_bytes(w, first, columns, m->activity->weight_row);
	return m->activity->weight_row;
}

/* Says whether all bytes of a row are 0: few tiles of real layers are full. */
static bool is_empty(const uint8_t *row, int64_t n)
{
	return !row[0] && !memcmp(row, row + 1, (size_t)n - 1);
}

/* Counts the zeros and the 1s of a row of weights. Without a zero point the ninth bit is the sign's. With one, the 1s
 * are what toggles after a row of zeros. */
static void count_row(struct tpu_fast_machine *m, const struct tpu_fast_format *format, const uint8_t *row,
		      uint32_t *zeros, uint32_t *ones)
{
	struct tpu_fast_activity *a = m->activity;
	const size_t columns = (size_t)m->columns;
	if (!format->zero_point && is_empty(row, m->columns)) {
		*zeros = (uint32_t)columns;
		*ones = 0;
		return;
	}
	if (!format->zero_point) {
		const struct sim_bits bits = sim_bits_of(row, columns);
		*zeros = (uint32_t)bits.zeros;
		*ones = (uint32_t)(bits.ones + (format->is_signed ? bits.signs : 0));
		return;
	}
	memset(a->weights.low, 0, 4 * columns); /* the four arrays stand together */
	sim_follow_lanes(&a->weights, row, columns, format->is_signed, format->zero_point);
	*zeros = sum_of(a->weights.zeros, m->columns);
	*ones = sum_of(a->weights.toggles, m->columns);
}

/* Returns the bits that toggle while the rows of a tile follow each other, the last row first. */
static uint64_t toggles_of(struct tpu_fast_machine *m, uint64_t tile)
{
	struct tpu_fast_activity *a = m->activity;
	uint64_t bits = 0;
	memcpy(a->row_below, weight_row(m, tile, m->rows - 1), (size_t)m->columns);
	bool below_is_empty = is_empty(a->row_below, m->columns);
	for (int64_t r = m->rows - 2; r >= 0; r--) {
		const uint8_t *row = weight_row(m, tile, r);
		const bool empty = is_empty(row, m->columns);
		if (!empty || !below_is_empty)
			bits += sim_follow(a->row_below, row, (size_t)m->columns);
		below_is_empty = empty;
	}
	return bits;
}

/* Finds what is known of the active tile in the pass's format, or counts it. NULL: out of memory. */
static struct tpu_fast_tile_activity *find_tile(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass)
{
	struct tpu_fast_packed *packed = tpu_fast_packed_tile(&m->weights, pass->tile, pass->weights,
							      pass->inputs.is_signed);
	if (!packed || packed->activity)
		return packed ? packed->activity : NULL;
	struct tpu_fast_tile_activity *tile = npl_arena_alloc(&m->weights.arena, sizeof *tile);
	if (!tile)
		return NULL;
	tile->zeros = npl_arena_array(&m->weights.arena, (size_t)m->rows, sizeof *tile->zeros);
	tile->ones = npl_arena_array(&m->weights.arena, (size_t)m->rows, sizeof *tile->ones);
	if (!tile->zeros || !tile->ones)
		return NULL;
	for (int64_t r = 0; r < m->rows; r++)
		count_row(m, &pass->weights, weight_row(m, pass->tile, r), &tile->zeros[r], &tile->ones[r]);
	tile->toggles = toggles_of(m, pass->tile);
	return packed->activity = tile;
}

/* Shifts the tile in after the one before it. Returns the bits that toggle. */
static uint64_t shift_in(struct tpu_fast_machine *m, const struct tpu_fast_tile_activity *tile)
{
	struct tpu_fast_activity *a = m->activity;
	const size_t columns = (size_t)m->columns;
	const uint64_t first = sim_toggled_bits(a->weight, weight_row(m, m->active, m->rows - 1), columns);
	memcpy(a->weight, weight_row(m, m->active, 0), columns);
	return first + tile->toggles;
}

static bool same_format(struct tpu_fast_format x, struct tpu_fast_format y)
{
	return x.is_signed == y.is_signed && x.zero_point == y.zero_point;
}

static unsigned operand(uint8_t byte, struct tpu_fast_format format)
{
	return (unsigned)((format.is_signed ? (int8_t)byte : byte) - format.zero_point) & 0x1ff;
}

/* Returns how many bits are 1 both in a row of weights and in the row in the same place before. */
static uint32_t common_ones_of(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t r)
{
	struct tpu_fast_activity *a = m->activity;
	uint32_t ones = 0;
	memcpy(a->row_below, weight_row(m, a->tile, r), (size_t)m->columns);
	const uint8_t *before = a->row_below, *now = weight_row(m, pass->tile, r);
	if (a->format.zero_point || pass->weights.zero_point) {
		for (int64_t c = 0; c < m->columns; c++)
			ones += (uint32_t)__builtin_popcount(operand(now[c], pass->weights) &
							     operand(before[c], a->format));
		return ones;
	}
	for (int64_t c = 0; c < m->columns; c++)
		a->weights.low[c] = now[c] & before[c];
	const struct sim_bits bits = sim_bits_of(a->weights.low, (size_t)m->columns);
	return (uint32_t)(bits.ones + (a->format.is_signed && pass->weights.is_signed ? bits.signs : 0));
}

/* Finds the bits that are 1 both in the tile and in the weights that the last vector met. Returns 0 or NPL_ENOMEM. */
static int find_common_ones(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass,
			    struct tpu_fast_tile_activity *tile, struct npl_err *err)
{
	struct tpu_fast_activity *a = m->activity;
	if (tile->common_ones && tile->before == a->tile && same_format(tile->before_format, a->format))
		return 0;
	if (!tile->common_ones)
		tile->common_ones = npl_arena_array(&m->weights.arena, (size_t)m->rows, sizeof *tile->common_ones);
	if (!tile->common_ones)
		return npl_no_memory(err);
	for (int64_t r = 0; r < m->rows; r++)
		tile->common_ones[r] = a->ones[r] && tile->ones[r] ? common_ones_of(m, pass, r) : 0;
	tile->before = a->tile;
	tile->before_format = a->format;
	return 0;
}

/* Counts the partial products that toggle as the first vector meets other weights, in place of those that it toggles by
 * itself. */
static void count_change(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass,
			 const struct tpu_fast_tile_activity *tile, struct tpu_activity *count)
{
	struct tpu_fast_activity *a = m->activity;
	for (int64_t r = 0; r < m->rows; r++) {
		a->inputs.toggles[r] = 0;
		if (!a->ones[r] && !tile->ones[r])
			continue;
		const unsigned now = a->inputs.low[r] | (unsigned)a->inputs.negative[r] << 8,
			       before = a->low_before[r] | (unsigned)a->negative_before[r] << 8;
		count->partial_product_toggles += (uint64_t)__builtin_popcount(now) * tile->ones[r] +
						  (uint64_t)__builtin_popcount(before) * a->ones[r] -
						  2 * (uint64_t)__builtin_popcount(now & before) * tile->common_ones[r];
		a->ones[r] = tile->ones[r];
	}
	a->tile = pass->tile;
	a->format = pass->weights;
}

/* Adds the sums of the last few vectors to those of the instruction. */
static void add_lanes(struct tpu_fast_machine *m)
{
	struct tpu_fast_activity *a = m->activity;
	for (int64_t r = 0; r < m->rows; r++) {
		a->zeros[r] += a->inputs.zeros[r];
		a->toggles[r] += a->inputs.toggles[r];
		a->inputs.zeros[r] = a->inputs.toggles[r] = 0;
	}
	a->n_summed = 0;
}

/* Sends a vector, or its first n lanes where the others stay as they are, through the edge. */
static void send_vector(struct tpu_fast_machine *m, const struct tpu_fast_format *format, const uint8_t *input,
			int64_t n, struct tpu_activity *count)
{
	struct tpu_fast_activity *a = m->activity;
	const uint64_t bits = sim_follow(a->input, input, (size_t)n);
	sim_follow_lanes(&a->inputs, input, (size_t)n, format->is_signed, format->zero_point);
	count->input_toggles += bits;
	count->ub_read_toggles += bits;
	if (++a->n_summed == SUMMED)
		add_lanes(m);
}

/* Sends the vectors of an instruction of bytes, from number `begin` on. Of a convolve, lanes beyond the taps are at the
 * zero point in all vectors. */
static void send_bytes(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t first, int64_t begin,
		       int64_t count, struct tpu_activity *activity)
{
	struct tpu_fast_worker *w = &m->worker[0];
	const int64_t filled = pass->convolves ? pass->window.taps * pass->window.tap_lanes : m->rows,
		      lanes = npl_min_i64(m->rows, npl_round_up_i64(filled, LANES));
	for (int64_t n; begin < count; begin += n) {
		n = npl_min_i64(count - begin, TPU_FAST_BLOCK);
		tpu_fast_inputs(m, w, pass, first + begin, n, lanes);
		for (int64_t i = 0; i < n; i++)
			send_vector(m, &pass->inputs, w->input[i], lanes, activity);
	}
	for (int64_t r = lanes; r < m->rows; r++)
		m->activity->zeros[r] += (uint64_t)count - 1;
}

/* Sends one row of bytes of an instruction. */
static void send_row(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t row,
		     struct tpu_activity *activity)
{
	struct tpu_fast_worker *w = &m->worker[0];
	tpu_fast_inputs(m, w, pass, row, 1, m->rows);
	send_vector(m, &pass->inputs, w->input[0], m->rows, activity);
}

/* Turns the sums over all vectors into products, and begins new ones. */
static void multiply(struct tpu_fast_machine *m, const struct tpu_fast_tile_activity *tile, uint64_t vectors,
		     struct tpu_activity *count)
{
	struct tpu_fast_activity *a = m->activity;
	const uint64_t columns = (uint64_t)m->columns;
	add_lanes(m);
	for (int64_t r = 0; r < m->rows; r++) {
		const uint64_t zeros = a->zeros[r], weight_zeros = tile->zeros[r];
		count->zero_products += zeros * columns + weight_zeros * vectors - zeros * weight_zeros;
		count->partial_product_toggles += a->toggles[r] * tile->ones[r];
		a->zeros[r] = a->toggles[r] = 0;
	}
}

int tpu_fast_matrix_activity(struct tpu_fast_machine *m, int64_t index, const struct tpu_fast_pass *low,
			     const struct tpu_fast_pass *pass, struct npl_err *err)
{
	const struct tpu_instruction *in = &tpu_code(m->program)[index];
	const struct tpu_fast_pass *first_pass = low ? low : pass;
	struct tpu_fast_activity *a = m->activity;
	struct tpu_activity count = {0};
	if (!a)
		return 0;
	struct tpu_fast_tile_activity *tile = find_tile(m, first_pass);
	if (!tile)
		return npl_no_memory(err);
	if (in->flags & TPU_MATRIX_SWITCH && m->active != TPU_FAST_NO_TILE)
		count.weight_toggles = shift_in(m, tile);
	const bool changes = a->tile != pass->tile || !same_format(a->format, pass->weights);
	if (changes && find_common_ones(m, pass, tile, err))
		return err->code;
	memcpy(a->low_before, a->inputs.low, (size_t)m->rows);
	memcpy(a->negative_before, a->inputs.negative, (size_t)m->rows);
	send_row(m, first_pass, in->operand, &count);
	if (changes)
		count_change(m, pass, tile, &count);
	/* A vector of 16-bit inputs is two rows of bytes, the lower bytes first. */
	for (int64_t i = 1; low && i < 2 * (int64_t)in->length; i++)
		send_row(m, i % 2 ? pass : low, in->operand + i / 2, &count);
	if (!low)
		send_bytes(m, pass, in->operand, 1, in->length, &count);
	multiply(m, tile, (uint64_t)in->length * (low ? 2 : 1), &count);
	add(m, index, &count);
	return 0;
}
