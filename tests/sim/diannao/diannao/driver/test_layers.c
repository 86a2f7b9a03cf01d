/* SPDX-License-Identifier: MIT
 *
 * Promise: a layer on the rtl engine, which computes its values row by row through the pipeline from a memory image,
 * and on the fast one, which computes them as a matrix product, gives the same results, cycles and counters: random
 * layers, buffers, tiles, memories and numbers. */
#include "tests/kit/sim/diannao/fixture.h"

Test(diannao_layers, rtl_and_fast_agree)
{
	const struct dn_config paper = dn_default();
	int compared = 0, saturated = 0, waited = 0;
	for (uint64_t seed = 1; seed <= 700; seed++) {
		struct diannao_layer_seen seen;
		char reason[300] = "";
		cr_assert(diannao_layer_agrees(seed, &paper, &seen, reason, sizeof reason), "seed %llu: %s",
			  (unsigned long long)seed, reason);
		compared += seen.compared;
		saturated += seen.saturated;
		waited += seen.waited;
	}
	cr_assert(compared > 400 && saturated > 50 && waited > 100, "%d, %d, %d", compared, saturated, waited);
}
