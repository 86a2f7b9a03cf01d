/* SPDX-License-Identifier: MIT
 *
 * Counts the activity of operands (activity.def), step by step. What depends on a row of synapses alone is counted when
 * the row is loaded, as most rows are read many times. */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "fast.h"
#include "sim/common/toggles.h"

/* What is known of a row of SB. */
struct synapses {
	uint32_t ones, toggles; /* toggles: bits that differ from the row that was loaded before */
};

struct dn_fast_activity {
	size_t tn, slots;
	struct synapses *synapses; /* (slots) */
	uint16_t *zeros;           /* (slots, tn) of each input's synapses of a row, how many are 0 */
	int16_t *input, *synapse;  /* (tn), (tn, tn): the rows that were read last */
	uint64_t row;              /* the number of `synapse`; UINT64_MAX: none was read */
};

int dn_fast_activity_open(const struct dn_config *config, struct dn_fast_activity **activity, struct npl_err *err)
{
	struct dn_fast_activity *a = *activity = calloc(1, sizeof *a);
	if (!a)
		return npl_no_memory(err);
	a->tn = (size_t)config->tn;
	a->slots = (size_t)config->sb_rows;
	a->row = UINT64_MAX;
	a->synapses = calloc(a->slots, sizeof *a->synapses);
	a->zeros = calloc(a->slots * a->tn, sizeof *a->zeros);
	a->input = calloc(a->tn, sizeof *a->input);
	a->synapse = calloc(a->tn * a->tn, sizeof *a->synapse);
	return a->synapses && a->zeros && a->input && a->synapse ? 0 : npl_no_memory(err);
}

void dn_fast_activity_close(struct dn_fast_activity *activity)
{
	if (!activity)
		return;
	free(activity->synapses);
	free(activity->zeros);
	free(activity->input);
	free(activity->synapse);
	free(activity);
}

void dn_fast_activity_load(struct dn_fast_activity *a, uint64_t row, const int16_t *synapse, const int16_t *before)
{
	const size_t slot = row % a->slots, bytes = a->tn * a->tn * sizeof *synapse;
	uint16_t *zeros = a->zeros + slot * a->tn;
	a->synapses[slot] = (struct synapses){(uint32_t)sim_one_bits(synapse, bytes),
					      (uint32_t)sim_toggled_bits(synapse, before, bytes)};
	memset(zeros, 0, a->tn * sizeof *zeros);
	for (size_t n = 0; n < a->tn; n++, synapse += a->tn)
		for (size_t i = 0; i < a->tn; i++)
			zeros[i] = (uint16_t)(zeros[i] + !synapse[i]);
}

void dn_fast_activity_input(struct dn_fast_activity *a, const int16_t *input, struct dn_counters *counters)
{
	const size_t bytes = a->tn * sizeof *input;
	counters->nbin_ones += sim_one_bits(input, bytes);
	counters->nbin_toggles += sim_follow(a->input, input, bytes);
}

void dn_fast_activity_product(struct dn_fast_activity *a, uint64_t row, const int16_t *synapse,
			      struct dn_counters *counters)
{
	const size_t slot = row % a->slots;
	const uint16_t *zeros = a->zeros + slot * a->tn;
	uint64_t zero_products = 0;
	for (size_t i = 0; i < a->tn; i++)
		zero_products += a->input[i] ? zeros[i] : a->tn;
	counters->products += a->tn * a->tn;
	counters->zero_products += zero_products;
	counters->sb_ones += a->synapses[slot].ones;
	if (a->row != UINT64_MAX && row == a->row + 1)
		counters->sb_toggles += a->synapses[slot].toggles;
	else
		counters->sb_toggles += sim_toggled_bits(a->synapse, synapse, a->tn * a->tn * sizeof *synapse);
	a->row = row;
}

void dn_fast_activity_keep(struct dn_fast_activity *a, const int16_t *synapse)
{
	memcpy(a->synapse, synapse, a->tn * a->tn * sizeof *synapse);
}
