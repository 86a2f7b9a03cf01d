/* SPDX-License-Identifier: MIT
 *
 * Keeps matrix instructions whose sums are not needed yet. A run of them into the same accumulator rows is one entry.
 * An entry is evaluated when an activate reads its rows (activate.c does this a block at a time, and stores sums only
 * if they are read again). It is evaluated into memory when its inputs are about to be overwritten, when other rows
 * than its own are written over a part of it, or when there are too many entries. */
#include "values.h"

#include "core/base/arith.h"
#include "core/base/grow.h"
#include "core/base/parallel.h"
#include <stdlib.h>
#include <string.h>

static bool overlaps(const struct tpu_fast_pending *p, int64_t first, int64_t past)
{
	return p->first < past && first < p->end;
}

/* An entry that is being evaluated into memory. */
struct settling {
	struct tpu_fast_machine *machine;
	struct tpu_fast_pending *entry;
	int64_t blocks;
};

static void settle_block(void *context, int64_t i, int worker)
{
	const struct settling *s = context;
	struct tpu_fast_machine *m = s->machine;
	const int64_t all = s->entry->end - s->entry->first, begin = tpu_fast_block_begins(all, s->blocks, i);
	const int64_t row = s->entry->first + begin, rows = tpu_fast_block_begins(all, s->blocks, i + 1) - begin;
	tpu_fast_evaluate(m, &m->worker[worker], s->entry, row, rows, m->config->columns,
			  m->accumulator + row * m->stride);
}

/* Evaluates a whole entry into memory, and frees it. */
static int evaluate_entry(struct tpu_fast_machine *m, struct tpu_fast_pending *p, struct npl_err *err)
{
	struct settling settling = {.machine = m, .entry = p};
	for (int64_t row = p->first; row < p->end; row++)
		m->magnitude[row] = p->magnitude;
	if (tpu_fast_prepare(m, p, m->config->columns, err))
		return err->code;
	settling.blocks = tpu_fast_blocks(m, p->end - p->first, tpu_fast_row_macs(p, m->config->columns));
	npl_parallel(m->workers, settling.blocks, settle_block, &settling);
	p->end = p->first;
	return 0;
}

/* Finds a free slot. Where there is none, it evaluates the oldest entry. */
static int free_slot(struct tpu_fast_machine *m, struct tpu_fast_pending **slot, struct npl_err *err)
{
	struct tpu_fast_pending *oldest = m->pending;
	for (struct tpu_fast_pending *p = m->pending; p < m->pending + TPU_FAST_PENDING; p++) {
		*slot = p;
		if (p->first == p->end)
			return 0;
		oldest = p->age < oldest->age ? p : oldest;
	}
	*slot = oldest;
	return evaluate_entry(m, oldest, err);
}

static int add_pass(struct tpu_fast_pending *p, const struct tpu_fast_pass *pass, struct npl_err *err)
{
	struct tpu_fast_pass *grown = npl_grow(p->pass, p->passes, &p->capacity, sizeof *grown);
	if (!grown)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %lld passes", (long long)p->passes + 1);
	p->pass = grown;
	grown[p->passes++] = *pass;
	return 0;
}

/* Makes the entry end at `row`, and a new entry of the rows from there on. */
static int split(struct tpu_fast_machine *m, struct tpu_fast_pending *p, int64_t row, struct npl_err *err)
{
	struct tpu_fast_pending *upper_part;
	int rc = free_slot(m, &upper_part, err);
	if (rc || p->first == p->end) /* the entry was the oldest, and is in memory now */
		return rc;
	struct tpu_fast_pass *space = upper_part->pass;
	int64_t capacity = upper_part->capacity;
	*upper_part = *p;
	upper_part->pass = space;
	upper_part->capacity = capacity;
	upper_part->passes = 0;
	for (int64_t i = 0; i < p->passes && !rc; i++)
		rc = add_pass(upper_part, &p->pass[i], err);
	upper_part->first = row;
	if (rc)
		upper_part->end = row;
	else
		p->end = row;
	return rc;
}

int tpu_fast_forget(struct tpu_fast_machine *m, int64_t first, int64_t past, struct npl_err *err)
{
	int rc = 0;
	for (struct tpu_fast_pending *p = m->pending; p < m->pending + TPU_FAST_PENDING && !rc; p++) {
		if (!overlaps(p, first, past))
			continue;
		if (p->end > past)
			rc = split(m, p, past, err);
		if (rc || !overlaps(p, first, past))
			continue;
		if (p->first < first)
			p->end = first;
		else
			p->end = p->first;
	}
	return rc;
}

int tpu_fast_evaluate_pending(struct tpu_fast_machine *m, int64_t first, int64_t past, struct npl_err *err)
{
	int rc = 0;
	for (struct tpu_fast_pending *p = m->pending; p < m->pending + TPU_FAST_PENDING && !rc; p++)
		if (overlaps(p, first, past))
			rc = evaluate_entry(m, p, err);
	return rc;
}

int tpu_fast_before_write(struct tpu_fast_machine *m, int64_t first, int64_t past, struct npl_err *err)
{
	int rc = 0;
	for (struct tpu_fast_pending *p = m->pending; p < m->pending + TPU_FAST_PENDING && !rc; p++)
		for (int64_t i = 0; i < p->passes && p->first < p->end && !rc; i++)
			if (p->pass[i].first_row < past && first < p->pass[i].end_row)
				rc = evaluate_entry(m, p, err);
	return rc;
}

struct tpu_fast_pending *tpu_fast_pending_at(struct tpu_fast_machine *m, int64_t row, int64_t *until)
{
	for (struct tpu_fast_pending *p = m->pending; p < m->pending + TPU_FAST_PENDING; p++) {
		if (p->first == p->end)
			continue;
		if (p->first <= row && row < p->end) {
			*until = npl_min_i64(*until, p->end);
			return p;
		}
		if (row < p->first)
			*until = npl_min_i64(*until, p->first);
	}
	return NULL;
}

static int64_t register_value(const struct tpu_fast_machine *m, enum tpu_register r)
{
	return m->registers.value[r];
}

static struct tpu_fast_window window_of(const struct tpu_fast_machine *m)
{
	return (struct tpu_fast_window){
		.in_height = register_value(m, TPU_REG_IN_HEIGHT),
		.in_width = register_value(m, TPU_REG_IN_WIDTH),
		.out_height = register_value(m, TPU_REG_OUT_HEIGHT),
		.out_width = register_value(m, TPU_REG_OUT_WIDTH),
		.kernel_width = register_value(m, TPU_REG_KERNEL_WIDTH),
		.stride_y = register_value(m, TPU_REG_STRIDE_Y),
		.stride_x = register_value(m, TPU_REG_STRIDE_X),
		.dilation_y = register_value(m, TPU_REG_DILATION_Y),
		.dilation_x = register_value(m, TPU_REG_DILATION_X),
		.pad_top = tpu_signed(&m->registers, TPU_REG_PAD_TOP),
		.pad_left = tpu_signed(&m->registers, TPU_REG_PAD_LEFT),
		.pixel_lanes = register_value(m, TPU_REG_PIXEL_LANES),
		.row_pixels = register_value(m, TPU_REG_ROW_PIXELS),
		.first_lane = register_value(m, TPU_REG_FIRST_LANE),
		.tap_lanes = register_value(m, TPU_REG_TAP_LANES),
		.first_tap = register_value(m, TPU_REG_FIRST_TAP),
		.taps = register_value(m, TPU_REG_TAPS),
	};
}

/* Returns the pass of the instruction's first beat, or its only one. */
static struct tpu_fast_pass pass_of(const struct tpu_fast_machine *m, int64_t index)
{
	const struct tpu_instruction *in = &tpu_code(m->program)[index];
	struct tpu_fast_pass pass = {
		.ub = in->ub,
		.first = -(int64_t)in->operand,
		.convolves = in->opcode == TPU_CONVOLVE,
		.inputs = {!(in->flags & TPU_MATRIX_UNSIGNED_INPUTS),
			   tpu_signed(&m->registers, TPU_REG_INPUT_ZERO_POINT)},
		.weights = {!(in->flags & TPU_MATRIX_UNSIGNED_WEIGHTS),
			    tpu_signed(&m->registers, TPU_REG_WEIGHT_ZERO_POINT)},
		.shift = in->flags & TPU_MATRIX_HIGH_WEIGHTS ? 8 : 0,
		.tile = m->active,
		.first_row = in->ub,
		.end_row = in->ub + (int64_t)in->length,
	};
	if (!pass.convolves)
		return pass;
	pass.window = window_of(m);
	const struct tpu_fast_window *w = &pass.window;
	int64_t output = register_value(m, TPU_REG_FIRST_OUTPUT), outputs = w->out_height * w->out_width;
	int64_t image = w->in_height * w->in_width;
	pass.first += output;
	pass.first_row = in->ub + output / outputs * image / w->row_pixels;
	pass.end_row = in->ub + (((output + in->length - 1) / outputs + 1) * image - 1) / w->row_pixels + 1;
	return pass;
}

static int64_t magnitude_of(const struct tpu_fast_format *format)
{
	int64_t low = format->zero_point + (format->is_signed ? 128 : 0);
	int64_t high = (format->is_signed ? 127 : 255) - format->zero_point;
	return npl_max_i64(low, high);
}

/* Returns the most that a pass can add, by the types alone or, if by_weights, by the weights. */
static int64_t pass_magnitude(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, bool by_weights)
{
	int64_t lanes = m->config->rows, inputs = magnitude_of(&pass->inputs), sum;
	if (pass->convolves)
		lanes = pass->window.taps * pass->window.tap_lanes;
	sum = lanes * magnitude_of(&pass->weights);
	struct tpu_fast_packed *tile = by_weights ? tpu_fast_packed_tile(&m->weights, pass->tile, pass->weights,
									 pass->inputs.is_signed)
						  : NULL;
	if (tile)
		sum = npl_min_i64(sum, tpu_fast_tile_magnitude(&m->weights, tile));
	return (sum * inputs) << pass->shift;
}

/* Bounds the magnitude of the entry's sums after one more pass. It goes by the types as long as that shows that sums
 * fit, and from then on by the weights. */
static void bound(struct tpu_fast_machine *m, struct tpu_fast_pending *p)
{
	if (p->may_wrap)
		return;
	p->magnitude += pass_magnitude(m, &p->pass[p->passes - 1], p->by_values);
	if (p->magnitude > INT32_MAX && !p->by_values) {
		p->by_values = true;
		p->magnitude = p->previous_magnitude;
		for (int64_t i = 0; i < p->passes; i++)
			p->magnitude += pass_magnitude(m, &p->pass[i], true);
	}
	p->may_wrap = p->magnitude > INT32_MAX;
	if (p->may_wrap)
		p->magnitude = (int64_t)1 << 31;
}

/* Makes an entry for rows [first, past). They add to what is in memory or overwrite it. */
static int new_entry(struct tpu_fast_machine *m, int64_t first, int64_t past, bool adds,
		     struct tpu_fast_pending **entry, struct npl_err *err)
{
	struct tpu_fast_pending *p;
	int rc = free_slot(m, &p, err);
	if (rc)
		return rc;
	p->first = first;
	p->end = past;
	p->adds = adds;
	p->may_wrap = p->by_values = false;
	p->passes = 0;
	p->previous_magnitude = 0;
	for (int64_t row = first; row < past && adds; row++)
		p->previous_magnitude = npl_max_i64(p->previous_magnitude, m->magnitude[row]);
	p->magnitude = p->previous_magnitude;
	*entry = p;
	return 0;
}

/* Finds the entry that an instruction adds to. It has exactly the instruction's rows; if need be it is cut out of a
 * longer one. */
static int find_entry(struct tpu_fast_machine *m, int64_t first, int64_t past, struct tpu_fast_pending **entry,
		      struct npl_err *err)
{
	int64_t until = past;
	struct tpu_fast_pending *p = tpu_fast_pending_at(m, first, &until);
	int rc = 0;
	if (p && until == past && p->end > past)
		rc = split(m, p, past, err);
	if (p && !rc && until == past && p->first < first)
		rc = split(m, p, first, err);
	if (rc)
		return rc;
	until = past;
	p = tpu_fast_pending_at(m, first, &until);
	*entry = p;
	if (p && p->first == first && p->end == past)
		return 0;
	rc = tpu_fast_evaluate_pending(m, first, past, err);
	return rc ? rc : new_entry(m, first, past, true, entry, err);
}

int tpu_fast_matrix(struct tpu_fast_machine *m, int64_t index, struct npl_err *err)
{
	const struct tpu_instruction *in = &tpu_code(m->program)[index];
	const int64_t first = in->operand, past = first + in->length;
	struct tpu_fast_pending *entry = NULL;
	struct tpu_fast_pass pass = pass_of(m, index);
	int rc = 0;
	if (in->flags & TPU_MATRIX_ACCUMULATE) {
		rc = find_entry(m, first, past, &entry, err);
	} else {
		rc = tpu_fast_forget(m, first, past, err);
		rc = rc ? rc : new_entry(m, first, past, false, &entry, err);
	}
	if (rc)
		return rc;
	entry->age = ++m->age;
	struct tpu_fast_pass low = pass;
	const bool is_wide = in->flags & TPU_MATRIX_INPUTS16;
	if (is_wide) {
		low.inputs.is_signed = false;
		rc = add_pass(entry, &low, err);
		if (!rc)
			bound(m, entry);
		pass.shift += 8;
		pass.ub += register_value(m, TPU_REG_INPUT_PLANE_ROWS);
		pass.first_row += register_value(m, TPU_REG_INPUT_PLANE_ROWS);
		pass.end_row += register_value(m, TPU_REG_INPUT_PLANE_ROWS);
	}
	rc = rc ? rc : tpu_fast_matrix_activity(m, index, is_wide ? &low : NULL, &pass, err);
	rc = rc ? rc : add_pass(entry, &pass, err);
	if (!rc)
		bound(m, entry);
	return rc;
}
