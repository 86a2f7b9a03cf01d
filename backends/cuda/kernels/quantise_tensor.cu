/* SPDX-License-Identifier: MIT
 *
 * Quantises a tensor of floats to integers of 8 or 16 bits with one scale and zero point, z = saturate(rint(x / scale)
 * + zero), N elements at a time. With BACK it dequantises, z = (x - zero) * scale. It counts values that saturate; a
 * NaN, which integers cannot hold, sets the fault word. */
#include "finish.cuh"

PACK(pack_x, X);
PACK(pack_z, Z);

#ifdef BACK
#define CONVERTED(from) KEEP(Z, (float)((int)(from)-a.zero) * a.scale)
#else
#define CONVERTED(from) quantised(LOAD(X, from), a.scale, (float)a.zero, &hits, &nans)

DEVICE STORE(Z) quantised(float x, float scale, float zero, unsigned *hits, unsigned *nans)
{
	const float q = rintf(x / scale) + zero;
	if (x != x)
		++*nans;
	return (STORE(Z))(int)saturated(q, LEAST, MOST, hits);
}
#endif

KERNEL(quantise_tensor, cu_quantise_tensor_args)
{
	const struct pack_x *from = (const struct pack_x *)a.x;
	struct pack_z *to = (struct pack_z *)a.z;
	const position count = (position)a.count, packs = count / N;
#ifndef BACK
	unsigned hits = 0, nans = 0;
#endif
	for (position i = THREAD; i < packs; i += THREADS) {
		const struct pack_x x = from[i];
		struct pack_z z;
		for (int k = 0; k < N; k++)
			z.element[k] = CONVERTED(x.element[k]);
		to[i] = z;
	}
	for (position i = packs * N + THREAD; i < count; i += THREADS)
		TENSOR(Z, a.z)[i] = CONVERTED(INPUT(X, a.x)[i]);
#ifndef BACK
	leave_hits(a.counter, hits);
	if (nans && a.fault)
		*TENSOR(i32, a.fault) = CU_FAULT_NAN;
#endif
}
