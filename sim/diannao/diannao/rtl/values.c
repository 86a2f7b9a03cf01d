/* SPDX-License-Identifier: MIT
 *
 * What the stages of the NFU do to values (Chen et al., ASPLOS 2014, sections 5.1 and 5.2; the comments of nfu.c and
 * segments.h have what the paper leaves open). This is written from the rules, for this engine alone: the fast engine
 * has its own.
 *
 *   NFU-1  16 x 16 bits: rounded to 10 fraction bits, ties up, and saturated to 16; or all 32 bits
 *   NFU-2  sums of sum_bits that wrap; maxima
 *   NFU-3  a shift, 16 bits, a line by segment, a shift, 16 bits; averages by a 15-bit reciprocal before */
#include "rtl.h"

#define FRACTION  10
#define HIGH      INT16_MAX
#define LOW       INT16_MIN
#define FAR_VALUE ((int64_t)1 << 40) /* stands for all values that are farther from 0 */

static int64_t saturated(int64_t value)
{
	return value > HIGH ? HIGH : value < LOW ? LOW : value;
}

/* Multiplies the inputs by the synapses of Tn outputs. The compiler can compute eight or more products at a time. tn is
 * any number. */
uint64_t dn_rtl_multiply(bool rounded, int64_t tn, const int16_t *input, const int16_t *synapse, int32_t *product)
{
	uint64_t saturations = 0;
	for (int64_t n = 0; n < tn; n++, synapse += tn, product += tn) {
		int32_t saturated = 0;
		for (int64_t i = 0; i < tn; i++)
			product[i] = input[i] * synapse[i];
		if (!rounded)
			continue;
		for (int64_t i = 0; i < tn; i++) {
			const int32_t scaled = (product[i] + (1 << (FRACTION - 1))) >> FRACTION;
			const int32_t clipped = scaled > HIGH ? HIGH : scaled < LOW ? LOW : scaled;
			saturated += scaled != clipped;
			product[i] = clipped;
		}
		saturations += (uint64_t)saturated;
	}
	return saturations;
}

/* Biases are 32-bit words with the fraction bits of full products, the lower half first. A row of Tn = 1 holds only one
 * half (no machine has this: nfu.tn is at least 2). The upper half is a whole number of units after rounding, so that
 * both halves may be rounded by themselves. */
void dn_rtl_biases(bool rounded, bool first, int64_t tn, const int16_t *row, int32_t *bias)
{
	for (int64_t n = 0; n < tn; n++) {
		const uint16_t low = tn == 1 && !first ? 0 : (uint16_t)row[2 * n];
		const int16_t high = tn == 1 ? (int16_t)(first ? 0 : row[0]) : row[2 * n + 1];
		const int64_t word = (int64_t)high * 65536 + low;
		bias[n] = (int32_t)(rounded ? (word + (1 << (FRACTION - 1))) >> FRACTION : word);
	}
}

void dn_rtl_trees(int64_t tn, const int32_t *product, int64_t *term)
{
	for (int64_t n = 0; n < tn; n++, product += tn) {
		term[n] = 0;
		for (int64_t i = 0; i < tn; i++)
			term[n] += product[i];
	}
}

/* Returns the lowest `bits` bits of the sum, with their sign. */
static int64_t wrapped(int64_t sum, int64_t bits)
{
	const uint64_t mask = (UINT64_C(1) << bits) - 1, sign = UINT64_C(1) << (bits - 1);
	return (int64_t)(((uint64_t)sum & mask) ^ sign) - (int64_t)sign;
}

void dn_rtl_accumulate(const struct dn_rtl_bundle *bundle, int64_t bits, int64_t tn, const int64_t *term, int64_t *sum,
		       int64_t *exact)
{
	for (int64_t n = 0; n < tn; n++) {
		if (bundle->nfu2 == DN_ADD) {
			exact[n] += term[n];
			sum[n] = wrapped(sum[n] + term[n], bits);
		} else {
			const int64_t wrapped_term = wrapped(term[n], bits);
			exact[n] = sum[n] = wrapped_term > sum[n] ? wrapped_term : sum[n];
		}
	}
}

/* Returns value / 2^shift, ties up. Of values far outside 16 bits only the sign is right. */
static int64_t shifted(int64_t value, int64_t shift)
{
	if (shift > 61) /* no value has so many bits */
		return 0;
	if (shift > 0)
		return (value + ((int64_t)1 << (shift - 1))) >> shift;
	for (; shift < 0 && value && value < FAR_VALUE && value > -FAR_VALUE; shift++)
		value *= 2;
	return value;
}

/* Returns the sum times a reciprocal of 15 bits: 2^bits / divisor is at least 2^14 and below 2^15. */
static int64_t average(int64_t sum, int64_t divisor, int64_t shift)
{
	int64_t bits = 14;
	while (divisor > (int64_t)1 << (bits - 14))
		bits++;
	const int64_t reciprocal = (((int64_t)1 << bits) + divisor / 2) / divisor;
	return shifted(sum * reciprocal, bits + shift);
}

void dn_rtl_shift(const struct dn_rtl_bundle *bundle, int64_t *value, struct dn_counters *counters)
{
	for (int64_t i = 0; i < bundle->lanes; i++) {
		const int64_t all = shifted(value[i], bundle->shift);
		value[i] = saturated(all);
		counters->sum_saturations += value[i] != all;
		counters->output_saturations += value[i] != all;
	}
}

/* Returns the segment of x; the lower end of segment i is limit i - 1. */
static int segment_of(int64_t x)
{
	int segment = 0;
	while (segment < DN_SEGMENTS - 1 && dn_limits[segment] <= x)
		segment++;
	return segment;
}

/* Applies the function and counts saturations. A value that saturated on the way in counts again on the way out, unless
 * the function is level there. */
void dn_rtl_function(const struct dn_rtl_bundle *bundle, const struct dn_function *function, int64_t *value,
		     struct dn_counters *counters)
{
	for (int64_t i = 0; i < bundle->lanes; i++) {
		const int64_t all = bundle->nfu2 == DN_ADD && bundle->divisor
					    ? average(value[i], bundle->divisor, bundle->shift)
					    : shifted(value[i], bundle->shift);
		const int64_t x = saturated(all);
		const int segment = segment_of(x);
		counters->sum_saturations += x != all;
		value[i] = x;
		if (!function) {
			counters->output_saturations += x != all;
			continue;
		}
		const int64_t product = (function->a[segment] * x + (1 << (FRACTION - 1))) >> FRACTION;
		const int64_t y = shifted(saturated(product + function->b[segment]), bundle->result_shift);
		value[i] = saturated(y);
		counters->output_saturations += (x != all && function->a[segment] != 0) || value[i] != y;
	}
}

static uint64_t ones(int bits)
{
	return (uint64_t)__builtin_popcount((unsigned)bits & 0xffff);
}

/* Returns the bits that differ from the row before, which the row replaces. */
static uint64_t follow(int64_t n, const int16_t *row, int16_t *last)
{
	uint64_t toggles = 0;
	for (int64_t i = 0; i < n; i++) {
		toggles += ones(row[i] ^ last[i]);
		last[i] = row[i];
	}
	return toggles;
}

/* A partial product toggles where it is 1 now or was 1 in the step before, but not both. */
void dn_rtl_count_products(int64_t tn, const int16_t *input, const int16_t *synapse, int16_t *last_factor,
			   int16_t *last_synapse, struct dn_counters *counters)
{
	counters->products += (uint64_t)(tn * tn);
	for (int64_t n = 0; n < tn; n++)
		for (int64_t i = 0; i < tn; i++) {
			const int x = input[i], w = synapse[n * tn + i], x_before = last_factor[i],
				  w_before = last_synapse[n * tn + i];
			counters->zero_products += x * w == 0;
			counters->partial_product_toggles += ones(x) * ones(w) + ones(x_before) * ones(w_before) -
							     2 * ones(x & x_before) * ones(w & w_before);
		}
	follow(tn, input, last_factor);
	counters->sb_toggles += follow(tn * tn, synapse, last_synapse);
}

void dn_rtl_count_input(int64_t tn, const int16_t *input, int16_t *last_input, struct dn_counters *counters)
{
	counters->nbin_toggles += follow(tn, input, last_input);
}
