/* SPDX-License-Identifier: MIT
 *
 * Ratios of integers, for clocks and rates that must meet without rounding. */
#ifndef NPULAB_RATIO_H
#define NPULAB_RATIO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct npl_ratio {
	int64_t numerator, denominator;
};

/* A frequency in hertz: 3,200,000,000 / 3 is the clock of DDR3-2133. */
struct npl_hz {
	int64_t numerator, denominator;
};

/* Convert boundary t of the clock `from` into a boundary of the clock `to`: npl_hz_ceil returns the first one at or
 * after it, npl_hz_floor the last one at or before it. */
uint64_t npl_hz_ceil(uint64_t t, const struct npl_hz *from, const struct npl_hz *to);
uint64_t npl_hz_floor(uint64_t t, const struct npl_hz *from, const struct npl_hz *to);

#ifdef __cplusplus
}
#endif

#endif
