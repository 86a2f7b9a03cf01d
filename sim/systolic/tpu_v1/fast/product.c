/* SPDX-License-Identifier: MIT
 *
 * Computes the sums of pending passes. The kernels multiply bytes as they are, one side unsigned. Where a pass reads
 * them in another way, and for zero points, sums start from
 *
 *     sum (a - za)(w - zw) = sum a w  - zw sum a  - za sum w  + k za zw
 *
 * with w as it was packed. Sums that count 2^16 or 2^8 times come first and are shifted once, all modulo 2^32. Where a
 * bound by the weights shows that 32 bits hold the sums, this is all. Else passes are added one by one and the part
 * beyond 32 bits is kept. */
#include "values.h"

#include "core/base/arith.h"
#include "core/base/parallel.h"
#include <stdlib.h>
#include <string.h>

/* Returns the rows of the tile that count: the pass's vectors are 0 beyond them. */
static int64_t rows_that_count(const struct tpu_fast_pass *pass, const struct tpu_fast_packed *tile)
{
	if (!pass->convolves)
		return tile->k;
	return npl_min_i64(tile->k, (pass->window.taps * pass->window.tap_lanes + 3) / 4 * 4);
}

/* The packing of tiles: each panel is packed by one thread. */
struct packing {
	struct tpu_fast_machine *machine;
	struct tpu_fast_pending *pending;
};

static void pack_panel(void *context, int64_t panel, int worker)
{
	const struct packing *packing = context;
	const struct tpu_fast_pending *pending = packing->pending;
	(void)worker;
	for (int64_t p = 0; p < pending->passes; p++) {
		const struct tpu_fast_pass *pass = &pending->pass[p];
		tpu_fast_pack(&packing->machine->weights, pass->packed, panel,
			      pass->inputs.zero_point ? rows_that_count(pass, pass->packed) : -1);
	}
}

/* Says whether the panel is packed already, and its sums known if they are needed. */
static bool is_ready(const struct tpu_fast_pass *pass, int64_t panel)
{
	const struct tpu_fast_packed *tile = pass->packed;
	return tile->is_packed[panel] &&
	       (!pass->inputs.zero_point || tile->sum_k[panel] == rows_that_count(pass, tile));
}

/* Makes room for the part of sums beyond 32 bits, when the first sum comes that might have one. Returns 0 or
 * NPL_ENOMEM. */
static int open_sums_overflow(struct tpu_fast_machine *m, struct npl_err *err)
{
	bool ok = true;
	if (!m->overflow)
		m->overflow = calloc((size_t)(m->accumulator_rows * m->stride), sizeof *m->overflow);
	for (int i = 0; i < m->workers && ok; i++) {
		struct tpu_fast_worker *worker = &m->worker[i];
		if (!worker->sums_overflow)
			worker->sums_overflow = calloc((size_t)(TPU_FAST_BLOCK * m->stride),
						       sizeof *worker->sums_overflow);
		ok = worker->sums_overflow;
	}
	return m->overflow && ok ? 0
				 : npl_fail(err, NPL_ENOMEM, "out of memory for the sums of %lld accumulator rows",
					    (long long)m->accumulator_rows);
}

int tpu_fast_prepare(struct tpu_fast_machine *m, struct tpu_fast_pending *pending, int64_t columns, struct npl_err *err)
{
	enum { ALONE_BYTES = 1 << 16 }; /* with so few, one thread is done before another has woken up */
	struct packing packing = {m, pending};
	const int64_t panels = ((pending->may_wrap ? m->config->columns : columns) + NPL_INT8_PANEL - 1) /
			       NPL_INT8_PANEL;
	int64_t bytes = 0;
	int rc = tpu_fast_find_tiles(&m->weights, pending->pass, pending->passes, err);
	for (int64_t p = 0; p < pending->passes && !rc; p++)
		for (int64_t panel = 0; panel < panels && !rc; panel++) {
			struct tpu_fast_packed *tile = pending->pass[p].packed;
			if (!tpu_fast_panel_space(&m->weights, tile, panel))
				rc = npl_fail(err, NPL_ENOMEM, "out of memory for a panel of weights");
			else if (!is_ready(&pending->pass[p], panel))
				bytes += npl_int8_panel_bytes(tile->k);
		}
	if (!rc && bytes)
		npl_parallel(bytes > ALONE_BYTES ? m->workers : 1, panels, pack_panel, &packing);
	return rc || !pending->may_wrap ? rc : open_sums_overflow(m, err);
}

/* Sets start[j] to what the sums of column j of a panel start from. */
static void start_columns(const struct tpu_fast_pass *pass, int64_t panel, int64_t k, int32_t packed_zero,
			  int32_t start[NPL_INT8_PANEL])
{
	const struct tpu_fast_packed *tile = pass->packed;
	const uint32_t za = (uint32_t)pass->inputs.zero_point, zero_product = (uint32_t)k * za * (uint32_t)packed_zero;
	const int32_t *sum = tile->sum + panel * NPL_INT8_PANEL;
	int32_t pass_sum[NPL_INT8_PANEL] = {0};
	if (tile->sum_k[panel] != k) { /* another pass of the entry reads fewer or more rows of the same tile */
		npl_int8_panel_sums(tile->panel[panel], k, tile->packed_signed, pass_sum);
		sum = pass_sum;
	}
	for (int j = 0; j < NPL_INT8_PANEL; j++)
		start[j] = (int32_t)(zero_product - za * (uint32_t)sum[j]);
}

/* Adds one pass to c, or stores it there. */
static void add_pass(const struct tpu_fast_machine *m, struct tpu_fast_worker *worker, const struct tpu_fast_pass *pass,
		     int64_t row, int64_t rows, int64_t columns, bool add, int32_t *c)
{
	const struct tpu_fast_packed *tile = pass->packed;
	const int64_t k = rows_that_count(pass, tile);
	const int32_t packed_zero = pass->weights.zero_point + (tile->packed_signed == pass->weights.is_signed ? 0
								: tile->packed_signed                          ? -128
													       : 128);
	int32_t column_start[NPL_INT8_PANEL];
	tpu_fast_inputs(m, worker, pass, row, rows, k);
	if (packed_zero) {
		npl_int8_row_sums(worker->input, rows, k, pass->inputs.is_signed, worker->row_start);
		for (int64_t i = 0; i < rows; i++)
			worker->row_start[i] = (int32_t) - ((uint32_t)packed_zero * (uint32_t)worker->row_start[i]);
	}
	for (int64_t panel = 0; panel * NPL_INT8_PANEL < columns; panel++) {
		struct npl_int8_rows_product p = {
			.m = rows,
			.k = k,
			.columns = npl_min_i64(columns - panel * NPL_INT8_PANEL, NPL_INT8_PANEL),
			.a = worker->input,
			.a_signed = pass->inputs.is_signed,
			.panel = tile->panel[panel],
			.row_start = packed_zero ? worker->row_start : NULL,
			.add = add,
			.c = c + panel * NPL_INT8_PANEL,
			.c_stride = m->stride};
		if (pass->inputs.zero_point) {
			start_columns(pass, panel, k, packed_zero, column_start);
			p.column_start = column_start;
		}
		npl_int8_rows(&p);
	}
}

static void shift_sums(int32_t *c, int64_t stride, int64_t rows, int64_t columns, int bits)
{
	for (int64_t i = 0; i < rows; i++, c += stride)
		for (int64_t j = 0; j < columns; j++)
			c[j] = (int32_t)((uint32_t)c[j] << bits);
}

static void add_sums(int32_t *c, const int32_t *from, int64_t stride, int64_t rows, int64_t columns)
{
	for (int64_t i = 0; i < rows; i++, c += stride, from += stride)
		for (int64_t j = 0; j < columns; j++)
			c[j] = (int32_t)((uint32_t)c[j] + (uint32_t)from[j]);
}

/* Adds sum * 2^shift to c as the array does. What exceeds 32 bits goes to overflow. */
static void add_with_overflow(int32_t *c, int32_t *overflow, const int32_t *sum, int64_t count, int shift)
{
	for (int64_t j = 0; j < count; j++) {
		int64_t exact = (int64_t)c[j] + sum[j] * ((int64_t)1 << shift);
		c[j] = (int32_t)(uint32_t)exact;
		overflow[j] += (int32_t)((exact - c[j]) / ((int64_t)1 << 32));
	}
}

/* Evaluates sums that may exceed 32 bits pass by pass, with all columns. */
static void evaluate_with_overflow(struct tpu_fast_machine *m, struct tpu_fast_worker *worker,
				   const struct tpu_fast_pending *pending, int64_t row, int64_t rows, int32_t *c)
{
	const int64_t columns = m->config->columns, values = rows * m->stride;
	int32_t *accumulator = m->accumulator + row * m->stride;
	int32_t *accumulator_overflow = m->overflow + row * m->stride,
		*overflow = c == accumulator ? accumulator_overflow : worker->sums_overflow;
	if (!pending->adds) {
		memset(c, 0, (size_t)values * sizeof *c);
		memset(overflow, 0, (size_t)values * sizeof *overflow);
	} else if (c != accumulator) {
		memcpy(c, accumulator, (size_t)values * sizeof *c);
		memcpy(overflow, accumulator_overflow, (size_t)values * sizeof *overflow);
	}
	for (int64_t p = 0; p < pending->passes; p++) {
		add_pass(m, worker, &pending->pass[p], row, rows, columns, false, worker->product);
		for (int64_t i = 0; i < rows; i++)
			add_with_overflow(c + i * m->stride, overflow + i * m->stride, worker->product + i * m->stride,
					  columns, pending->pass[p].shift);
	}
}

void tpu_fast_evaluate(struct tpu_fast_machine *m, struct tpu_fast_worker *worker,
		       const struct tpu_fast_pending *pending, int64_t row, int64_t rows, int64_t columns, int32_t *c)
{
	const int32_t *accumulator = m->accumulator + row * m->stride;
	int32_t *to = pending->adds && c == accumulator ? worker->product : c;
	bool stored = false;
	if (pending->may_wrap) {
		evaluate_with_overflow(m, worker, pending, row, rows, c);
		return;
	}
	if (m->overflow && c == accumulator)
		memset(m->overflow + row * m->stride, 0, (size_t)(rows * m->stride) * sizeof *m->overflow);
	for (int shift = 16; shift >= 0; shift -= 8) { /* passes that count 2^shift times; the first one is stored */
		if (stored)
			shift_sums(to, m->stride, rows, columns, 8);
		for (int64_t p = 0; p < pending->passes; p++)
			if (pending->pass[p].shift == shift) {
				add_pass(m, worker, &pending->pass[p], row, rows, columns, stored, to);
				stored = true;
			}
	}
	if (to != c)
		add_sums(c, to, m->stride, rows, columns);
	else if (pending->adds)
		add_sums(c, accumulator, m->stride, rows, columns);
}

int64_t tpu_fast_row_macs(const struct tpu_fast_pending *pending, int64_t columns)
{
	int64_t macs = 0;
	for (int64_t p = 0; p < pending->passes; p++)
		macs += rows_that_count(&pending->pass[p], pending->pass[p].packed) * columns;
	return macs;
}

enum { TILE = 6 }; /* rows that the kernels take together */

/* Returns equally many blocks for each thread, and two for each where they are not too short. Where blocks begin is
 * rounded, which makes some of them longer. */
int64_t tpu_fast_blocks(const struct tpu_fast_machine *m, int64_t rows, int64_t macs)
{
	/* With so few rows or multiply-accumulates, one thread is done before another has woken up. */
	enum { MIN_ROWS = 16, ALONE_MACS = 1 << 20 };
	const int64_t fewest = rows <= TPU_FAST_BLOCK ? 1 : (rows - 1) / (TPU_FAST_BLOCK - TILE) + 1;
	const int64_t blocks = npl_min_i64(2 * (int64_t)m->workers, rows / MIN_ROWS),
		      even = blocks / m->workers * m->workers;
	if (m->workers == 1 || rows * macs < ALONE_MACS)
		return fewest;
	if (fewest > even && fewest > m->workers)
		return npl_div_up_i64(fewest, m->workers) * m->workers;
	return fewest > blocks ? fewest : even ? even : blocks;
}

int64_t tpu_fast_block_begins(int64_t rows, int64_t blocks, int64_t block)
{
	return block == blocks ? rows : rows * block / blocks / TILE * TILE;
}
