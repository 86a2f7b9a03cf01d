/* SPDX-License-Identifier: MIT
 *
 * Computes r h of a GRU's reset gate r; 0 for a sample whose sequence has ended, as its product is not used. */
#define GATES 3
#include "recurrent.cuh"

KERNEL(recurrent_gru_reset, cu_recurrent_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const struct cell c = cell_of(&a, i);
		const float left = c.place < 0 ? 0 : function_f(&a, &c, gate_sum(&a, &c, 1)) * state_of(&a, &c);
		TENSOR(S, a.reset)[c.h] = KEEP(S, left);
	}
}
