/* SPDX-License-Identifier: MIT
 *
 * y = (x - mean) / (sqrt(variance + epsilon) + added) * scale + bias, where each vector has its own mean and variance:
 * LayerNormalization, InstanceNormalization, MeanVarianceNormalization. With NORM 1 or 2 it is LpNormalization, y = x /
 * norm; a vector of zeros stays zeros. S is the type of scale and bias, M that of the statistics. */
#include "vectors.cuh"

BLOCK_FOLD(fold_sum, float, x + y)

COOPERATIVE(normalise, cu_vectors_args)
{
	SHARED float scratch[BLOCK_THREADS];
	EACH_VECTOR
	{
		const long long from = LIVE ? walk_at(&a.outer, 0, VECTOR) : 0;
		const STORE(X) *x = INPUT(X, a.x) + from;
		const float length = (float)a.length;
		float mean = 0, sum = 0, factor;
#ifdef NORM
		EACH_ELEMENT(j)
		{
			const float v = LOAD(X, x[walk_at(&a.inner, 0, j)]);
			sum += NORM == 1 ? fabsf(v) : v * v;
		}
		sum = fold_sum(scratch, sum);
		factor = NORM == 1 ? sum : sqrtf(sum);
#else
		EACH_ELEMENT(j)
		sum += LOAD(X, x[walk_at(&a.inner, 0, j)]);
		mean = fold_sum(scratch, sum) / length;
		sum = 0;
		EACH_ELEMENT(j)
		{
			const float v = LOAD(X, x[walk_at(&a.inner, 0, j)]) - mean;
			sum += v * v;
		}
		factor = 1 / (sqrtf(fold_sum(scratch, sum) / length + a.epsilon) + a.added);
#endif
		EACH_ELEMENT(j)
		{
			const long long at = walk_at(&a.inner, 0, j);
#ifdef NORM
			const float y = factor == 0 ? 0 : LOAD(X, x[at]) / factor;
#else
			float y = (LOAD(X, x[at]) - mean) * factor;
			if (a.scale)
				y *= LOAD(S, INPUT(S, a.scale)[walk_at(&a.affine, 0, (position)(from + at))]);
			if (a.bias)
				y += LOAD(S, INPUT(S, a.bias)[walk_at(&a.affine, 1, (position)(from + at))]);
#endif
			TENSOR(Y, a.z)[from + at] = KEEP(Y, y);
		}
		if (LIVE && threadIdx.y == 0 && a.mean)
			TENSOR(M, a.mean)[VECTOR] = KEEP(M, mean);
		if (LIVE && threadIdx.y == 0 && a.deviation)
			TENSOR(M, a.deviation)[VECTOR] = KEEP(M, factor);
	}
}
