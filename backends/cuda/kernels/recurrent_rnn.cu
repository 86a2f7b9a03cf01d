/* SPDX-License-Identifier: MIT
 *
 * A step of an RNN: h = f(X W + h R + B). */
#define GATES 1
#include "recurrent.cuh"

KERNEL(recurrent_rnn, cu_recurrent_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const struct cell c = cell_of(&a, i);
		if (c.place < 0)
			keep_nothing(&a, &c);
		else
			keep_state(&a, &c, function_f(&a, &c, gate_sum(&a, &c, 0)));
	}
}
