/* SPDX-License-Identifier: MIT
 *
 * A step of a GRU with the gates z r h: h = (1 - z) g(X W + .. + B) + z h. Here .. is (r h) R (recurrent_gru_reset.cu),
 * or with RESET_LAST r times h R and its bias. */
#define GATES 3
#include "recurrent.cuh"

KERNEL(recurrent_gru, cu_recurrent_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const struct cell c = cell_of(&a, i);
		if (c.place < 0) {
			keep_nothing(&a, &c);
			continue;
		}
		const float z = function_f(&a, &c, gate_sum(&a, &c, 0));
		const float state = bias_of(&a, &c, GATES + 2);
		float sum = bias_of(&a, &c, 2) + input_sum(&a, &c, 2);
#ifdef RESET_LAST
		sum += function_f(&a, &c, gate_sum(&a, &c, 1)) * (state + state_sum(&a, &c, 2));
#else
		sum += state + INPUT(f32, a.candidates)[i];
#endif
		keep_state(&a, &c, (1 - z) * function_g(&a, &c, sum) + z * state_of(&a, &c));
	}
}
