/* SPDX-License-Identifier: MIT
 *
 * A step of an LSTM. Its gates are in ONNX's order i o f c, its peepholes P in the order i o f: i = f(.. + P c); f =
 * f(.. + P c), or 1 - i with INPUT_FORGET; c = f c + i g(..); o = f(.. + P c) with the new c; h = o h(c). Here .. is X
 * W + h R + B. */
#define GATES 4
#include "recurrent.cuh"

/* Returns a gate's sum with the peephole's part of a cell's state. */
DEVICE float peep(const struct cu_recurrent_args *a, const struct cell *c, int gate, float cell)
{
	const float sum = gate_sum(a, c, gate);
	if (!a->peepholes)
		return sum;
	return sum + LOAD(S, INPUT(S, a->peepholes)[(c->direction * 3 + gate) * a->hidden.by + c->unit]) * cell;
}

KERNEL(recurrent_lstm, cu_recurrent_args)
{
	const position count = (position)a.count;
	for (position i = THREAD; i < count; i += THREADS) {
		const struct cell c = cell_of(&a, i);
		if (c.place < 0) {
			keep_nothing(&a, &c);
			continue;
		}
		float cell = TENSOR(f32, a.c)[c.h];
		const float in = function_f(&a, &c, peep(&a, &c, 0, cell));
#ifdef INPUT_FORGET
		const float stays = 1 - in;
#else
		const float stays = function_f(&a, &c, peep(&a, &c, 2, cell));
#endif
		cell = stays * cell + in * function_g(&a, &c, gate_sum(&a, &c, 3));
		const float out = function_f(&a, &c, peep(&a, &c, 1, cell));
		TENSOR(f32, a.c)[c.h] = cell;
		keep_state(&a, &c, out * function_h(&a, &c, cell));
	}
}
