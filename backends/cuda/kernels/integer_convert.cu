/* SPDX-License-Identifier: MIT
 *
 * Converts a quantised tensor to another scale, through a function if FINISH is one (Sigmoid, Tanh), N elements at a
 * time; with CLIP it clips integers between two limits (Clip, Relu). With WALK the result is written along a walk, as
 * for an input of Concat. */
#include "finish.cuh"

PACK(pack_x, X);
PACK(pack_z, Z);

DEVICE STORE(Z) converted(const struct cu_integer_args *a, int x, unsigned *hits)
{
#ifdef CLIP
	x = x < a->low ? a->low : x;
	return (STORE(Z))(x > a->high ? a->high : x);
#else
	return (STORE(Z))FINISH(&a->finish, (float)(x - a->x_zero) * a->x_scale, hits);
#endif
}

KERNEL(integer_convert, cu_integer_args)
{
	const position count = (position)a.count;
	unsigned hits = 0;
#ifdef WALK
	for (position i = THREAD; i < count; i += THREADS)
		TENSOR(Z, a.z)[walk_at(&a.walk, 1, i)] = converted(&a, INPUT(X, a.x)[walk_at(&a.walk, 0, i)], &hits);
#else
	const position packs = count / N;
	for (position i = THREAD; i < packs; i += THREADS) {
		const struct pack_x x = ((const struct pack_x *)a.x)[i];
		struct pack_z z;
		for (int k = 0; k < N; k++)
			z.element[k] = converted(&a, x.element[k], &hits);
		((struct pack_z *)a.z)[i] = z;
	}
	for (position i = packs * N + THREAD; i < count; i += THREADS)
		TENSOR(Z, a.z)[i] = converted(&a, INPUT(X, a.x)[i], &hits);
#endif
	leave_hits(a.counter, hits);
}
