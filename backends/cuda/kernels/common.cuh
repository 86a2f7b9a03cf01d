/* SPDX-License-Identifier: MIT
 *
 * The beginning of every kernel's source. Each file has one kernel with the file's name; its parameter `a` is a struct
 * of kernel_args.h. Types and functions in it are macros that the host defines (X=f32), so that each kernel is compiled
 * for one use.
 *
 * The text is CUDA C and also, after a header that defines threadIdx and the like for a processor, plain C: it has no
 * C++, no vector types and no intrinsics except those of this file. The threads of a COOPERATIVE kernel may wait for
 * each other in __syncthreads(). */
#ifdef __CUDACC_RTC__
#define KERNEL(name, args)      extern "C" __global__ void name(const __grid_constant__ struct args a)
#define COOPERATIVE(name, args) KERNEL(name, args)
#define DEVICE                  static __device__ __forceinline__
#define SHARED                  __shared__
#define INFINITE                __int_as_float(0x7f800000)
#define ALIGNED(bytes)          __align__(bytes)
#endif

#include "kernel_args.h"

#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)

/* Positions have 32 bits, or 64 (WIDE) if a tensor is too large for these. */
#ifdef WIDE
typedef long long position;
DEVICE position divide(position n, struct cu_divisor d)
{
	return n / d.by;
}
#else
typedef unsigned position;
DEVICE position divide(position n, struct cu_divisor d)
{
	return ((unsigned)((unsigned long long)n * d.magic >> 32) + n) >> d.shift;
}
#endif

/* The number of this thread, and of all threads: every kernel loops over elements beyond its grid. */
#define THREAD  ((position)blockIdx.x * blockDim.x + threadIdx.x)
#define THREADS ((position)gridDim.x * blockDim.x)

/* The element types: the type of each in memory and in computations, and functions that load and keep it. */
typedef float store_f32, value_f32, value_f16, value_bf16;
typedef double store_f64, value_f64;
typedef unsigned short store_f16, store_bf16;
typedef signed char store_i8, value_i8;
typedef unsigned char store_u8, value_u8, store_bool8;
typedef short store_i16, value_i16;
typedef unsigned short store_u16, value_u16;
typedef int store_i32, value_i32, value_bool8;
typedef unsigned store_u32, value_u32;
typedef long long store_i64, value_i64;
typedef unsigned long long store_u64, value_u64;

DEVICE unsigned bits_of(float x)
{
	union {
		float real;
		unsigned bits;
	} both;
	both.real = x;
	return both.bits;
}

DEVICE float float_of(unsigned bits)
{
	union {
		float real;
		unsigned bits;
	} both;
	both.bits = bits;
	return both.real;
}

DEVICE float load_f16(store_f16 h)
{
#ifdef __CUDACC_RTC__
	float x;
	asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
	return x;
#else
	unsigned sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
	if (rest >= 0x7c00u)
		return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
	if (rest >= 0x400u)
		return float_of(sign | ((rest << 13) + 0x38000000u));
	return sign ? -((float)rest * 0x1p-24f) : (float)rest * 0x1p-24f;
#endif
}

DEVICE store_f16 keep_f16(float x)
{
#ifdef __CUDACC_RTC__
	store_f16 h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
	return h;
#else
	unsigned bits = bits_of(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
	if (size > 0x7f800000u)
		return (store_f16)(sign | 0x7e00u);
	if (size >= 0x477ff000u) /* from 65520 on, half a step above the greatest float16 */
		return (store_f16)(sign | 0x7c00u);
	if (size < 0x38800000u) /* below 2^-14: adding 0.5 rounds to steps of 2^-24 */
		return (store_f16)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000u));
	return (store_f16)(sign | ((size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13));
#endif
}

DEVICE float load_bf16(store_bf16 h)
{
	return float_of((unsigned)h << 16);
}

DEVICE store_bf16 keep_bf16(float x)
{
	unsigned bits = bits_of(x);
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (store_bf16)(bits >> 16 | 0x40u);
	return (store_bf16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#define AS_IT_IS(type)                                                                                                 \
	DEVICE CAT(value_, type) CAT(load_, type)(CAT(store_, type) x)                                                 \
	{                                                                                                              \
		return x;                                                                                              \
	}                                                                                                              \
	DEVICE CAT(store_, type) CAT(keep_, type)(CAT(value_, type) x)                                                 \
	{                                                                                                              \
		return x;                                                                                              \
	}
AS_IT_IS(f32)
AS_IT_IS(f64)
AS_IT_IS(i8)
AS_IT_IS(u8)
AS_IT_IS(i16)
AS_IT_IS(u16)
AS_IT_IS(i32)
AS_IT_IS(u32)
AS_IT_IS(i64)
AS_IT_IS(u64)

DEVICE int load_bool8(store_bool8 x)
{
	return x != 0;
}

DEVICE store_bool8 keep_bool8(int x)
{
	return x != 0;
}

#define STORE(type)       CAT(store_, type)
#define VALUE(type)       CAT(value_, type)
#define LOAD(type, x)     CAT(load_, type)(x)
#define KEEP(type, value) CAT(keep_, type)(value)
/* Declares N elements that are loaded or kept at a time. Their address is a multiple of their bytes. */
#define PACK(name, type)                                                                                               \
	struct ALIGNED(N * sizeof(STORE(type))) name {                                                                 \
		STORE(type) element[N];                                                                                \
	}
/* The elements of a tensor whose address is in the arguments. */
#define TENSOR(type, address) ((STORE(type) *)(address))
#define INPUT(type, address)  ((const STORE(type) *)(address))

/* The activation that is applied to results: FUSED=fused_relu and so on. */
#ifndef FUSED
#define FUSED fused_none
#endif
DEVICE float logistic(float x)
{
	const float e = expf(x < 0 ? x : -x);
	return (x < 0 ? e : 1.0f) / (1.0f + e);
}
#define fused_none(x) (x)
DEVICE float fused_relu(float x)
{
	return x < 0 ? 0 : x; /* a NaN stays */
}
DEVICE float fused_relu6(float x)
{
	return x < 0 ? 0 : x > 6 ? 6 : x;
}
#define fused_sigmoid(x) logistic(x)
#define fused_tanh(x)    tanhf(x)

/* Elements are moved unchanged or, with AS, converted to the float type AS. */
#ifdef AS
#define MOVED_TYPE AS
#define MOVED(x)   KEEP(AS, (VALUE(AS))LOAD(UNIT, x))
#else
#define MOVED_TYPE UNIT
#define MOVED(x)   (x)
#endif

/* Returns the place of element i of the walk in operand k. */
DEVICE long long walk_at(const struct cu_walk *walk, int k, position i)
{
	long long at = 0;
	for (int d = walk->rank - 1; d > 0; d--) {
		position before = divide(i, walk->dim[d]);
		at += (long long)(i - before * (position)walk->dim[d].by) * walk->step[k][d];
		i = before;
	}
	return at + (long long)i * walk->step[k][0];
}

/* Combines `mine` of all threads of a block with the same threadIdx.x. `scratch` is shared memory with an element per
 * thread; blockDim.y is a power of two. */
#define BLOCK_FOLD(name, type, combined)                                                                               \
	DEVICE type name(type *scratch, type mine)                                                                     \
	{                                                                                                              \
		unsigned at = threadIdx.y * blockDim.x + threadIdx.x;                                                  \
		if (blockDim.y == 1)                                                                                   \
			return mine;                                                                                   \
		scratch[at] = mine;                                                                                    \
		__syncthreads();                                                                                       \
		for (unsigned half = blockDim.y / 2; half; half /= 2) {                                                \
			if (threadIdx.y < half) {                                                                      \
				const type x = scratch[at], y = scratch[at + half * blockDim.x];                       \
				scratch[at] = combined;                                                                \
			}                                                                                              \
			__syncthreads();                                                                               \
		}                                                                                                      \
		mine = scratch[threadIdx.x];                                                                           \
		__syncthreads();                                                                                       \
		return mine;                                                                                           \
	}
#define BLOCK_THREADS 256 /* the most threads of a block */
