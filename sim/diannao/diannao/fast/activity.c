/* SPDX-License-Identifier: MIT
 *
 * Counts the activity of operands (activity.def), step by step. What depends on a row of synapses alone is counted when
 * the row is loaded, as most rows are read many times.
 *
 * Partial product (i, j) of a multiplier is bit i of its input AND bit j of its synapse. From one step to the next
 *
 *     1s of x * 1s of w + 1s of x before * 1s of w before - 2 * 1s of both x * 1s of both w
 *
 * of them toggle. An input goes to all outputs, so the 1s of its synapses are summed over the outputs. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "fast.h"
#include "sim/common/toggles.h"

struct dn_fast_activity {
	size_t tn, slots;
	/* Of each row in SB: bits that differ from the row that was loaded before it; for each input, how many of its
	 * synapses are 0, how many of their bits are 1, and how many are 1 in that row, too. */
	uint32_t *toggles;                    /* (slots) */
	uint16_t *zeros, *ones, *common_ones; /* (slots, tn) */
	int16_t *input;                       /* (tn) the row of NBin that was read last */
	/* The last step that multiplied: its input, and of its synapses the 1s for each input, the row and its number;
	 * UINT64_MAX: there was none, and all is 0. */
	int16_t *factor;     /* (tn) */
	uint16_t *last_ones; /* (tn) */
	int16_t *synapse;    /* (tn, tn) */
	uint64_t row;
	uint16_t *common; /* (tn) working space */
};

int dn_fast_activity_open(const struct dn_config *config, struct dn_fast_activity **activity, struct npl_err *err)
{
	struct dn_fast_activity *a = *activity = calloc(1, sizeof *a);
	if (!a)
		return npl_no_memory(err);
	a->tn = (size_t)config->tn;
	a->slots = (size_t)config->sb_rows;
	a->row = UINT64_MAX;
	const size_t of_rows = a->slots * a->tn;
	a->toggles = calloc(a->slots, sizeof *a->toggles);
	a->zeros = calloc(of_rows, sizeof *a->zeros);
	a->ones = calloc(of_rows, sizeof *a->ones);
	a->common_ones = calloc(of_rows, sizeof *a->common_ones);
	a->input = calloc(a->tn, sizeof *a->input);
	a->factor = calloc(a->tn, sizeof *a->factor);
	a->last_ones = calloc(a->tn, sizeof *a->last_ones);
	a->synapse = calloc(a->tn * a->tn, sizeof *a->synapse);
	a->common = calloc(a->tn, sizeof *a->common);
	return a->toggles && a->zeros && a->ones && a->common_ones && a->input && a->factor && a->last_ones &&
			       a->synapse && a->common
		       ? 0
		       : npl_no_memory(err);
}

void dn_fast_activity_close(struct dn_fast_activity *activity)
{
	if (!activity)
		return;
	void *const all[] = {activity->toggles,     activity->zeros,   activity->ones,
			     activity->common_ones, activity->input,   activity->factor,
			     activity->last_ones,   activity->synapse, activity->common};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
	free(activity);
}

static inline uint16_t ones_of(uint16_t x)
{
	x = (uint16_t)(x - (x >> 1 & 0x5555));
	x = (uint16_t)((x & 0x3333) + (x >> 2 & 0x3333));
	x = (uint16_t)((x + (x >> 4)) & 0x0f0f);
	return (uint16_t)((x + (x >> 8)) & 0x1f);
}

/* Sums, for each input, the bits that are 1 in both rows of synapses. */
static void sum_common_ones(size_t tn, const int16_t *restrict a, const int16_t *restrict b, uint16_t *restrict sum)
{
	memset(sum, 0, tn * sizeof *sum);
	for (size_t n = 0; n < tn; n++, a += tn, b += tn)
		for (size_t i = 0; i < tn; i++)
			sum[i] = (uint16_t)(sum[i] + ones_of((uint16_t)(a[i] & b[i])));
}

void dn_fast_activity_load(struct dn_fast_activity *a, uint64_t row, const int16_t *synapse, const int16_t *before)
{
	const size_t slot = row % a->slots, bytes = a->tn * a->tn * sizeof *synapse;
	uint16_t *zeros = a->zeros + slot * a->tn;
	a->toggles[slot] = (uint32_t)sim_toggled_bits(synapse, before, bytes);
	sum_common_ones(a->tn, synapse, synapse, a->ones + slot * a->tn);
	sum_common_ones(a->tn, synapse, before, a->common_ones + slot * a->tn);
	memset(zeros, 0, a->tn * sizeof *zeros);
	for (size_t n = 0; n < a->tn; n++, synapse += a->tn)
		for (size_t i = 0; i < a->tn; i++)
			zeros[i] = (uint16_t)(zeros[i] + !synapse[i]);
}

void dn_fast_activity_input(struct dn_fast_activity *a, const int16_t *input, struct dn_counters *counters)
{
	counters->nbin_toggles += sim_follow(a->input, input, a->tn * sizeof *input);
}

/* Returns how many partial products toggle from one step to the next. An input has at most 16 bits, and its synapses
 * have at most 4096 that are 1, so that 32 bits hold the sum over 256 inputs. */
static int32_t toggles_of(size_t tn, const int16_t *restrict input, const uint16_t *restrict ones,
			  const int16_t *restrict input_before, const uint16_t *restrict ones_before,
			  const uint16_t *restrict common)
{
	int32_t toggles = 0;
	for (size_t i = 0; i < tn; i++) {
		const int16_t now = (int16_t)ones_of((uint16_t)input[i]),
			      before = (int16_t)ones_of((uint16_t)input_before[i]),
			      both = (int16_t)ones_of((uint16_t)(input[i] & input_before[i]));
		toggles += now * (int16_t)ones[i] + before * (int16_t)ones_before[i] - 2 * both * (int16_t)common[i];
	}
	return toggles;
}

static uint32_t zero_products_of(size_t tn, const int16_t *restrict input, const uint16_t *restrict zeros)
{
	uint32_t products = 0;
	for (size_t i = 0; i < tn; i++)
		products += input[i] ? zeros[i] : (uint16_t)tn;
	return products;
}

/* `common`: bits of each input's synapses that are 1 in this step and in the one before. */
static void multiply(struct dn_fast_activity *a, size_t slot, const uint16_t *common, struct dn_counters *counters)
{
	const uint16_t *ones = a->ones + slot * a->tn;
	counters->products += a->tn * a->tn;
	counters->zero_products += zero_products_of(a->tn, a->input, a->zeros + slot * a->tn);
	counters->partial_product_toggles += (uint64_t)toggles_of(a->tn, a->input, ones, a->factor, a->last_ones,
								  common);
	memcpy(a->factor, a->input, a->tn * sizeof *a->factor);
	memcpy(a->last_ones, ones, a->tn * sizeof *a->last_ones);
}

void dn_fast_activity_product(struct dn_fast_activity *a, uint64_t row, const int16_t *synapse,
			      struct dn_counters *counters)
{
	const size_t slot = row % a->slots;
	const uint16_t *common = a->common;
	if (a->row != UINT64_MAX && row == a->row + 1) {
		counters->sb_toggles += a->toggles[slot];
		common = a->common_ones + slot * a->tn;
	} else {
		counters->sb_toggles += sim_toggled_bits(a->synapse, synapse, a->tn * a->tn * sizeof *synapse);
		sum_common_ones(a->tn, synapse, a->synapse, a->common);
	}
	multiply(a, slot, common, counters);
	a->row = row;
}

void dn_fast_activity_keep(struct dn_fast_activity *a, const int16_t *synapse)
{
	memcpy(a->synapse, synapse, a->tn * a->tn * sizeof *synapse);
}
