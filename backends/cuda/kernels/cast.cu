/* SPDX-License-Identifier: MIT
 *
 * y = x in another type, N elements at a time as in unary.cu; it also converts between float32 and the type that a
 * precision stores. TO_BOOL: whether x is not 0. CUT_OFF, from floats to integers: the fraction is cut off, values
 * beyond the range become its nearest end and NaN becomes 0. Integers keep their low bits. */
#include "common.cuh"

PACK(pack_x, X);
PACK(pack_y, Y);

#define least_i8  -128.0
#define most_i8   127
#define limit_i8  128.0
#define least_u8  0.0
#define most_u8   255
#define limit_u8  256.0
#define least_i16 -32768.0
#define most_i16  32767
#define limit_i16 32768.0
#define least_u16 0.0
#define most_u16  65535
#define limit_u16 65536.0
#define least_i32 -2147483648.0
#define most_i32  2147483647
#define limit_i32 2147483648.0
#define least_u32 0.0
#define most_u32  4294967295u
#define limit_u32 4294967296.0
#define least_i64 -9223372036854775808.0
#define most_i64  9223372036854775807
#define limit_i64 9223372036854775808.0
#define least_u64 0.0
#define most_u64  18446744073709551615u
#define limit_u64 18446744073709551616.0

DEVICE STORE(Y) cast_of(STORE(X) from)
{
	const VALUE(X) x = LOAD(X, from);
#if defined(CUT_OFF)
	const double v = x;
	return (STORE(Y))(v >= CAT(limit_, Y)   ? (STORE(Y))CAT(most_, Y)
			  : v <= CAT(least_, Y) ? (STORE(Y))CAT(least_, Y)
			  : v == v              ? (STORE(Y))v
						: (STORE(Y))0);
#elif defined(TO_BOOL)
	return x != 0;
#else
	return KEEP(Y, (VALUE(Y))x);
#endif
}

KERNEL(cast, cu_unary_args)
{
	const struct pack_x *from = (const struct pack_x *)a.x;
	struct pack_y *to = (struct pack_y *)a.y;
	const position count = (position)a.count, packs = count / N;
	for (position i = THREAD; i < packs; i += THREADS) {
		const struct pack_x x = from[i];
		struct pack_y y;
		for (int k = 0; k < N; k++)
			y.element[k] = cast_of(x.element[k]);
		to[i] = y;
	}
	for (position i = packs * N + THREAD; i < count; i += THREADS)
		TENSOR(Y, a.y)[i] = cast_of(INPUT(X, a.x)[i]);
}
