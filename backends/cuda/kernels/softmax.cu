/* SPDX-License-Identifier: MIT
 *
 * Softmax: e^(x - greatest) divided by the sum of these; with LOGARITHM the logarithm of that. The vector is read three
 * times, mostly from a cache. */
#include "vectors.cuh"

BLOCK_FOLD(fold_sum, float, x + y)
BLOCK_FOLD(fold_most, float, y > x || y != y ? y : x)

COOPERATIVE(softmax, cu_vectors_args)
{
	SHARED float scratch[BLOCK_THREADS];
	EACH_VECTOR
	{
		const long long from = LIVE ? walk_at(&a.outer, 0, VECTOR) : 0, step = a.inner.step[0][0];
		const STORE(X) *x = INPUT(X, a.x) + from;
		STORE(Y) *y = TENSOR(Y, a.z) + from;
		float most = -INFINITE, sum = 0;
		EACH_ELEMENT(j)
		{
			const float v = LOAD(X, x[j * step]);
			most = v > most || v != v ? v : most;
		}
		most = fold_most(scratch, most);
		EACH_ELEMENT(j)
		sum += expf(LOAD(X, x[j * step]) - most);
		sum = fold_sum(scratch, sum);
#ifdef LOGARITHM
		sum = logf(sum);
#endif
		EACH_ELEMENT(j)
		{
			const float v = LOAD(X, x[j * step]) - most;
#ifdef LOGARITHM
			y[j * step] = KEEP(Y, v - sum);
#else
			y[j * step] = KEEP(Y, expf(v) / sum);
#endif
		}
	}
}
