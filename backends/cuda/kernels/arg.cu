/* SPDX-License-Identifier: MIT
 *
 * ArgMax and ArgMin: the index in its vector of the greatest or least element, of the first or the last of equals. NaN
 * is taken as the greatest and as the least. With ONE_HOT, which is Hardmax, the result has the shape of x, with 1 at
 * that element (the last of several NaNs) and 0 elsewhere. */
#include "vectors.cuh"

typedef VALUE(X) value;

/* Says whether element j is to be taken instead of i. */
DEVICE int before(const STORE(X) * x, long long step, long long j, long long i, int flags)
{
	const value v = LOAD(X, x[j * step]), w = LOAD(X, x[i * step]);
	const int nan_v = v != v, nan_w = w != w, later = j > i;
	const int better = nan_v ? !nan_w : !nan_w && (flags & 1 ? v > w : v < w);
#ifdef ONE_HOT
	flags = nan_w ? 2 : 0;
#endif
	const int equal = (nan_v && nan_w) || v == w;
	return better || (equal && (flags & 2 ? later : !later));
}

COOPERATIVE(arg, cu_vectors_args)
{
	SHARED long long scratch[BLOCK_THREADS];
	const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
	EACH_VECTOR
	{
		const STORE(X) *x = INPUT(X, a.x) + (LIVE ? walk_at(&a.outer, 0, VECTOR) : 0);
		const long long step = a.inner.step[0][0];
		long long best = -1;
		EACH_ELEMENT(j)
		if (best < 0 || before(x, step, j, best, a.flags))
			best = j;
		scratch[at] = best;
		__syncthreads();
		for (unsigned half = blockDim.y / 2; half; half /= 2) {
			if (threadIdx.y < half) {
				const long long i = scratch[at], j = scratch[at + half * blockDim.x];
				if (i < 0 || (j >= 0 && before(x, step, j, i, a.flags)))
					scratch[at] = j;
			}
			__syncthreads();
		}
#ifdef ONE_HOT
		EACH_ELEMENT(j)
		TENSOR(X, a.z)[x - INPUT(X, a.x) + j * step] = KEEP(X, (VALUE(X))(j == scratch[threadIdx.x]));
#else
		if (LIVE && threadIdx.y == 0)
			TENSOR(i64, a.z)[VECTOR] = scratch[at];
#endif
		__syncthreads();
	}
}
