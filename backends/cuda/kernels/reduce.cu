/* SPDX-License-Identifier: MIT
 *
 * The ReduceSum family and global pooling: combines the elements of a vector with FOLD and applies LAST to the
 * result. */
#include "vectors.cuh"

#define of_sum(x)     (x)
#define of_size(x)    fabsf(x)
#define of_square(x)  ((x) * (x))
#define of_product(x) (x)
#define of_most(x)    (x)
#define of_least(x)   (x)
#define of_power(x)   expf(x)
#define first_sum     0.0f
#define first_size    0.0f
#define first_square  0.0f
#define first_product 1.0f
#define first_most    (-INFINITE)
#define first_least   INFINITE
#define first_power   0.0f
BLOCK_FOLD(fold_sum, float, x + y)
BLOCK_FOLD(fold_product, float, x *y)
BLOCK_FOLD(fold_most, float, y > x || y != y ? y : x)
BLOCK_FOLD(fold_least, float, y < x || y != y ? y : x)
#define fold_size           fold_sum
#define fold_square         fold_sum
#define fold_power          fold_sum
#define joint_sum(s, x)     ((s) + (x))
#define joint_size          joint_sum
#define joint_square        joint_sum
#define joint_power         joint_sum
#define joint_product(s, x) ((s) * (x))
#define joint_most(s, x)    ((x) > (s) || (x) != (x) ? (x) : (s))
#define joint_least(s, x)   ((x) < (s) || (x) != (x) ? (x) : (s))

#define last_none(s)      (s)
#define last_quotient(s)  ((s) / a.factor)
#define last_root(s)      sqrtf(s)
#define last_logarithm(s) (shift + logf(s))

COOPERATIVE(reduce, cu_vectors_args)
{
	SHARED float scratch[BLOCK_THREADS];
	EACH_VECTOR
	{
		const STORE(X) *x = INPUT(X, a.x) + (LIVE ? walk_at(&a.outer, 0, VECTOR) : 0);
		float sum = CAT(first_, FOLD), shift = 0;
		int shifted = 1;
#ifdef SHIFTED /* shifted by the greatest element, so that no power overflows */
		shift = -INFINITE;
		EACH_ELEMENT(j)
		{
			const float v = LOAD(X, x[walk_at(&a.inner, 0, j)]);
			shift = joint_most(shift, v);
		}
		shift = fold_most(scratch, shift);
		shifted = shift > -INFINITE && shift < INFINITE;
#endif
		EACH_ELEMENT(j)
		{
			const float v = CAT(of_, FOLD)(LOAD(X, x[walk_at(&a.inner, 0, j)]) - shift);
			sum = CAT(joint_, FOLD)(sum, v);
		}
		sum = CAT(fold_, FOLD)(scratch, sum);
		if (LIVE && threadIdx.y == 0)
			TENSOR(Y, a.z)[VECTOR] = KEEP(Y, FUSED(shifted ? LAST(sum) : shift));
	}
}
