/* SPDX-License-Identifier: MIT
 *
 * Converts sums of products of signed numbers to results: adds what the operands' zero points contribute, wrapping,
 * then scales and finishes. x is (matrices, rows, columns), rows of `columns` elements `ld` apart. */
#include "finish.cuh"

KERNEL(integer_stack, cu_integer_stack_args)
{
	const position count = (position)a.count;
	unsigned hits = 0;
	for (position i = THREAD; i < count; i += THREADS) {
		const position line = divide(i, a.columns), matrix = divide(line, a.rows);
		const position column = i - line * (position)a.columns.by, row = line - matrix * (position)a.rows.by;
		unsigned sum = INPUT(u32, a.x)[(long long)line * a.ld + column] + a.all;
		if (a.row_sums)
			sum += (unsigned)a.row_factor * INPUT(u32, a.row_sums)[(long long)matrix * a.row_step + row];
		if (a.column_sums)
			sum += (unsigned)a.column_factor *
			       INPUT(u32, a.column_sums)[(long long)matrix * a.column_step + column];
		TENSOR(Z, a.z)[i] = (STORE(Z))FINISH(&a.finish, (float)(int)sum * a.scale, &hits);
	}
	leave_hits(a.counter, hits);
}
