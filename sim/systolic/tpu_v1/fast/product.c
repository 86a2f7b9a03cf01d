/* SPDX-License-Identifier: MIT
 *
 * The sums of pending passes. The kernels multiply bytes as they lie, one side unsigned; where that is not how a pass reads
 * them, and for zero points, sums start from
 *
 *     sum (a - za)(w - zw) = sum a w  - zw sum a  - za sum w  + k za zw
 *
 * with w as it was packed. Sums that count 2^16- or 2^8-fold come first and are shifted once, all modulo 2^32. Only where a bound
 * by the weights does not show that 32 bits hold the sums, passes are added one by one and what is beyond 32 bits is kept. */
#include "values.h"

#include <stdlib.h>
#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Vectors of the pass are 0 beyond this. */
static int64_t rows_that_count(const struct tpu_fast_pass *pass, const struct tpu_fast_packed *tile)
{
	if (!pass->convolves)
		return tile->k;
	return least(tile->k, (pass->window.taps * pass->window.tap_lanes + 3) / 4 * 4);
}

/* What column j's sums start from: column_start[j], for a panel. */
static void start_columns(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, struct tpu_fast_packed *tile,
			  int64_t panel, int64_t k, int32_t packed_zero, int32_t start[NPL_INT8_PANEL])
{
	const uint32_t za = (uint32_t)pass->inputs.zero_point, both = (uint32_t)k * za * (uint32_t)packed_zero;
	const int32_t *sum = tpu_fast_panel_sums(&m->weights, tile, panel, k);
	for (int j = 0; j < NPL_INT8_PANEL; j++)
		start[j] = (int32_t)(both - za * (uint32_t)sum[j]);
}

/* Adds one pass to c, or stores it there. */
static int add_pass(struct tpu_fast_machine *m, const struct tpu_fast_pass *pass, int64_t row, int64_t rows,
		    int64_t columns, bool add, int32_t *c, struct npl_err *err)
{
	struct tpu_fast_packed *tile = tpu_fast_packed_tile(&m->weights, pass->tile, pass->weights,
							    pass->inputs.is_signed);
	if (!tile)
		return npl_fail(err, NPL_ENOMEM, "fast engine: out of memory for a tile of weights");
	const int64_t k = rows_that_count(pass, tile);
	const int32_t packed_zero = pass->weights.zero_point + (tile->packed_signed == pass->weights.is_signed ? 0
								: tile->packed_signed                          ? -128
													       : 128);
	int32_t column_start[NPL_INT8_PANEL];
	tpu_fast_inputs(m, pass, row, rows, k);
	if (packed_zero) {
		npl_int8_row_sums(m->input, rows, k, pass->inputs.is_signed, m->row_start);
		for (int64_t i = 0; i < rows; i++)
			m->row_start[i] = (int32_t) - ((uint32_t)packed_zero * (uint32_t)m->row_start[i]);
	}
	for (int64_t panel = 0; panel * NPL_INT8_PANEL < columns; panel++) {
		struct npl_int8_rows_product p = {.m = rows,
						  .k = k,
						  .columns = least(columns - panel * NPL_INT8_PANEL, NPL_INT8_PANEL),
						  .a = m->input,
						  .a_signed = pass->inputs.is_signed,
						  .panel = tpu_fast_panel(&m->weights, tile, panel),
						  .row_start = packed_zero ? m->row_start : NULL,
						  .add = add,
						  .c = c + panel * NPL_INT8_PANEL,
						  .c_stride = m->stride};
		if (!p.panel)
			return npl_fail(err, NPL_ENOMEM, "fast engine: out of memory for a panel of weights");
		if (pass->inputs.zero_point) {
			start_columns(m, pass, tile, panel, k, packed_zero, column_start);
			p.column_start = column_start;
		}
		npl_int8_rows(&p);
	}
	return 0;
}

static void shift_sums(int32_t *c, int64_t stride, int64_t rows, int64_t columns, int by)
{
	for (int64_t i = 0; i < rows; i++, c += stride)
		for (int64_t j = 0; j < columns; j++)
			c[j] = (int32_t)((uint32_t)c[j] << by);
}

static void add_sums(int32_t *c, const int32_t *from, int64_t stride, int64_t rows, int64_t columns)
{
	for (int64_t i = 0; i < rows; i++, c += stride, from += stride)
		for (int64_t j = 0; j < columns; j++)
			c[j] = (int32_t)((uint32_t)c[j] + (uint32_t)from[j]);
}

/* Adds sum * 2^shift to c as the array does. What leaves 32 bits on the way goes to beyond. */
static void add_beyond(int32_t *c, int32_t *beyond, const int32_t *sum, int64_t count, int shift)
{
	for (int64_t j = 0; j < count; j++) {
		int64_t exact = (int64_t)c[j] + sum[j] * ((int64_t)1 << shift);
		c[j] = (int32_t)(uint32_t)exact;
		beyond[j] += (int32_t)((exact - c[j]) / ((int64_t)1 << 32));
	}
}

/* Room for what is beyond 32 bits, from the first sum on that might be. */
static int open_beyond(struct tpu_fast_machine *m, struct npl_err *err)
{
	if (!m->beyond)
		m->beyond = calloc((size_t)(m->accumulator_rows * m->stride), sizeof *m->beyond);
	if (!m->sums_beyond)
		m->sums_beyond = calloc((size_t)(TPU_FAST_BLOCK * m->stride), sizeof *m->sums_beyond);
	return m->beyond && m->sums_beyond
		       ? 0
		       : npl_fail(err, NPL_ENOMEM, "fast engine: out of memory for the sums of %lld accumulator rows",
				  (long long)m->accumulator_rows);
}

/* Pass by pass, all columns, for sums that may leave 32 bits. */
static int evaluate_beyond(struct tpu_fast_machine *m, const struct tpu_fast_pending *pending, int64_t row,
			   int64_t rows, int32_t *c, struct npl_err *err)
{
	const int64_t columns = m->config->columns, values = rows * m->stride;
	int32_t *held = m->accumulator + row * m->stride;
	int rc = open_beyond(m, err);
	if (rc)
		return rc;
	int32_t *held_beyond = m->beyond + row * m->stride, *beyond = c == held ? held_beyond : m->sums_beyond;
	if (!pending->adds) {
		memset(c, 0, (size_t)values * sizeof *c);
		memset(beyond, 0, (size_t)values * sizeof *beyond);
	} else if (c != held) {
		memcpy(c, held, (size_t)values * sizeof *c);
		memcpy(beyond, held_beyond, (size_t)values * sizeof *beyond);
	}
	for (int64_t p = 0; p < pending->passes; p++) {
		rc = add_pass(m, &pending->pass[p], row, rows, columns, false, m->product, err);
		if (rc)
			return rc;
		for (int64_t i = 0; i < rows; i++)
			add_beyond(c + i * m->stride, beyond + i * m->stride, m->product + i * m->stride, columns,
				   pending->pass[p].shift);
	}
	return 0;
}

/* The passes that count 2^shift-fold, added to c (or stored, when *any is false). */
static int evaluate_shift(struct tpu_fast_machine *m, const struct tpu_fast_pending *pending, int shift, int64_t row,
			  int64_t rows, int64_t columns, bool *any, int32_t *c, struct npl_err *err)
{
	for (int64_t p = 0; p < pending->passes; p++) {
		if (pending->pass[p].shift != shift)
			continue;
		int rc = add_pass(m, &pending->pass[p], row, rows, columns, *any, c, err);
		if (rc)
			return rc;
		*any = true;
	}
	return 0;
}

int tpu_fast_evaluate(struct tpu_fast_machine *m, const struct tpu_fast_pending *pending, int64_t row, int64_t rows,
		      int64_t columns, int32_t *c, struct npl_err *err)
{
	const int32_t *held = m->accumulator + row * m->stride;
	int32_t *to = pending->adds && c == held ? m->product : c;
	bool any = false;
	if (pending->may_wrap)
		return evaluate_beyond(m, pending, row, rows, c, err);
	if (m->beyond && c == held)
		memset(m->beyond + row * m->stride, 0, (size_t)(rows * m->stride) * sizeof *m->beyond);
	for (int shift = 16; shift >= 0; shift -= 8) {
		if (any)
			shift_sums(to, m->stride, rows, columns, 8);
		int rc = evaluate_shift(m, pending, shift, row, rows, columns, &any, to, err);
		if (rc)
			return rc;
	}
	if (to != c)
		add_sums(c, to, m->stride, rows, columns);
	else if (pending->adds)
		add_sums(c, held, m->stride, rows, columns);
	return 0;
}
