/* SPDX-License-Identifier: MIT
 *
 * Boundaries of one clock in another (npulab/ratio.h). */
#include "npulab/ratio.h"
#include "arith.h"

uint64_t npl_hz_floor(uint64_t t, const struct npl_hz *from, const struct npl_hz *to)
{
	npl_u128 numerator = (npl_u128)t * (npl_u128)to->numerator * (npl_u128)from->denominator;
	return (uint64_t)(numerator / ((npl_u128)from->numerator * (npl_u128)to->denominator));
}

uint64_t npl_hz_ceil(uint64_t t, const struct npl_hz *from, const struct npl_hz *to)
{
	npl_u128 numerator = (npl_u128)t * (npl_u128)to->numerator * (npl_u128)from->denominator;
	npl_u128 denominator = (npl_u128)from->numerator * (npl_u128)to->denominator;
	return (uint64_t)((numerator + denominator - 1) / denominator);
}
