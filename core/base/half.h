/* SPDX-License-Identifier: MIT
 *
 * The two 16-bit float formats, as bits: float16 (IEEE 754-2008 binary16) and bfloat16 (the upper half of a float32).
 * Conversions to 16 bits round half to even; a value beyond the format becomes infinity, and a NaN stays a NaN.
 * Conversions to float32 are exact.
 */
#ifndef NPULAB_CORE_BASE_HALF_H
#define NPULAB_CORE_BASE_HALF_H

#include "npulab/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

float npl_f16_to_float(uint16_t bits);
uint16_t npl_f16_of_float(float x);
/* Returns the float16 nearest to x, rounded directly from double and not by way of float32. */
uint16_t npl_f16_of_double(double x);
float npl_bf16_to_float(uint16_t bits);
uint16_t npl_bf16_of_float(float x);

/* npl_half_widen converts n elements of a 16-bit float type to float32, npl_half_narrow the other way. Both arrays are
 * aligned for their types. */
void npl_half_widen(enum npl_dtype dtype, const void *from, int64_t n, float *to);
void npl_half_narrow(enum npl_dtype dtype, const float *from, int64_t n, void *to);

#ifdef __cplusplus
}
#endif

#endif
