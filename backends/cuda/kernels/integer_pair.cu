/* SPDX-License-Identifier: MIT
 *
 * Add, or Mul with PRODUCT, of quantised tensors, N elements at a time; with WALK the operands broadcast. */
#include "finish.cuh"

PACK(pack_x, X);
PACK(pack_y, Y);
PACK(pack_z, Z);

DEVICE STORE(Z) pair(const struct cu_integer_args *a, int x, int y, unsigned *hits)
{
	x -= a->x_zero;
	y -= a->y_zero;
#ifdef PRODUCT
	const float value = (float)(x * y) * a->x_scale;
#else
	const float value = (float)x * a->x_scale + (float)y * a->y_scale;
#endif
	return (STORE(Z))FINISH(&a->finish, value, hits);
}

KERNEL(integer_pair, cu_integer_args)
{
	STORE(Z) *result = TENSOR(Z, a.z);
	const position count = (position)a.count;
	unsigned hits = 0;
#ifdef WALK
	for (position i = THREAD; i < count; i += THREADS)
		result[i] = pair(&a, INPUT(X, a.x)[walk_at(&a.walk, 0, i)], INPUT(Y, a.y)[walk_at(&a.walk, 1, i)],
				 &hits);
#else
	const position packs = count / N;
	for (position i = THREAD; i < packs; i += THREADS) {
		const struct pack_x x = ((const struct pack_x *)a.x)[i];
		const struct pack_y y = ((const struct pack_y *)a.y)[i];
		struct pack_z z;
		for (int k = 0; k < N; k++)
			z.element[k] = pair(&a, x.element[k], y.element[k], &hits);
		((struct pack_z *)a.z)[i] = z;
	}
	for (position i = packs * N + THREAD; i < count; i += THREADS)
		result[i] = pair(&a, INPUT(X, a.x)[i], INPUT(Y, a.y)[i], &hits);
#endif
	leave_hits(a.counter, hits);
}
