/* SPDX-License-Identifier: MIT
 *
 * Boundaries of one clock in another (npulab/ratio.h). */
#include "npulab/ratio.h"

__extension__ typedef unsigned __int128 wide;

uint64_t npl_hz_floor(uint64_t t, const struct npl_hz *from, const struct npl_hz *to)
{
	wide numerator = (wide)t * (wide)to->numerator * (wide)from->denominator;
	return (uint64_t)(numerator / ((wide)from->numerator * (wide)to->denominator));
}

uint64_t npl_hz_ceil(uint64_t t, const struct npl_hz *from, const struct npl_hz *to)
{
	wide numerator = (wide)t * (wide)to->numerator * (wide)from->denominator;
	wide denominator = (wide)from->numerator * (wide)to->denominator;
	return (uint64_t)((numerator + denominator - 1) / denominator);
}
