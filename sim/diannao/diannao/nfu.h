/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the NFU on single values (nfu.c), for values of whole layers and for the fast engine. */
#ifndef NPULAB_SIM_DIANNAO_DIANNAO_NFU_H
#define NPULAB_SIM_DIANNAO_DIANNAO_NFU_H

#include "counters.h"
#include "sim/diannao/nfu/segments.h"

int64_t dn_wrap(int64_t sum, int64_t bits); /* two's complement of that many bits */
/* Returns value / 2^shift, ties towards plus infinity; a shift below 0 multiplies. Of values far outside 16 bits only
 * the sign is right. */
int64_t dn_rescale(int64_t value, int shift);
int64_t dn_average(int64_t sum, int64_t count, int shift); /* sum / count / 2^shift by a 15-bit reciprocal */
/* Returns what NFU-3 makes of a value at its scale: the function's result (NULL: the identity), shifted right and
 * saturated to 16 bits. */
int16_t dn_nfu3_result(const struct dn_function *function, int result_shift, int64_t value,
		       struct dn_counters *counters);

#endif
