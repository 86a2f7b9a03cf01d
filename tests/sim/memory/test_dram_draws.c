/* SPDX-License-Identifier: MIT
 *
 * Random configurations of DRAM draw every parameter that decides times: one that is always the same is never compared
 * between the engines. */
#include "tests/kit/sim/dram/case.h"
#include "tests/kit/sim/draws.h"

enum { SEEDS = 200, MAX_PARAMS = 100 };

/* The clock and the currents come after the cycles. A mapping is written into the test's own text, whose address is
 * always the same. Timings are named nowhere here, so that a new one is drawn. */
#define EXCEPTIONS "clock.hz_numerator clock.hz_denominator mapping currents.*"

Test(dram_draws, every_parameter_is_drawn)
{
	struct test_draw draw[MAX_PARAMS] = {{0}};
	char first[DRAM_CASE_MAPPING] = "", mapping[DRAM_CASE_MAPPING];
	bool mappings_differ = false;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct dram_config config;
		uint64_t rng = seed;
		dram_case_random(&config, mapping, &rng);
		test_draw_config(draw, dram_params, &config);
		mappings_differ |= *first && strcmp(first, mapping) != 0;
		memcpy(first, mapping, sizeof first);
	}
	cr_expect(mappings_differ, "the mapping is never drawn");
	test_expect_draws(draw, dram_params, EXCEPTIONS);
}
