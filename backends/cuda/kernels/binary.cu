/* SPDX-License-Identifier: MIT
 *
 * z = FUNCTION(x, y). x and y have one shape, or one is a scalar; N elements at a time, as in unary.cu. */
#include "binary.cuh"

PACK(pack_x, X);
PACK(pack_z, Z);

DEVICE struct pack_x pack_of(cu_address at, int scalar, position i)
{
	struct pack_x pack;
	if (!scalar)
		return ((const struct pack_x *)at)[i];
	for (int k = 0; k < N; k++)
		pack.element[k] = *INPUT(X, at);
	return pack;
}

KERNEL(binary, cu_binary_args)
{
	struct pack_z *to = (struct pack_z *)a.z;
	const position count = (position)a.count, packs = count / N;
	for (position i = THREAD; i < packs; i += THREADS) {
		const struct pack_x x = pack_of(a.x, a.x_scalar, i), y = pack_of(a.y, a.y_scalar, i);
		struct pack_z z;
		for (int k = 0; k < N; k++)
			z.element[k] = OF(x.element[k], y.element[k]);
		to[i] = z;
	}
	for (position i = packs * N + THREAD; i < count; i += THREADS)
		TENSOR(Z, a.z)[i] = OF(INPUT(X, a.x)[a.x_scalar ? 0 : i], INPUT(X, a.y)[a.y_scalar ? 0 : i]);
}
