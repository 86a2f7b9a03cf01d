/* SPDX-License-Identifier: MIT
 *
 * Promise: a layer on the rtl engine, which computes its values row by row through the pipeline from a memory image, and on the fast one,
 * which computes them as a matrix product, gives the same results, cycles and counters: random layers, buffers, tiles, memories and
 * numbers. */
#include "diannao_fixture.h"

static void run_on(const struct dn_config *config, const char *engine, struct dn_case *c, struct npl_result *result,
		   uint64_t seed)
{
	void *state = dn_opened(config);
	char why[200];
	struct npl_err err;
	*result = (struct npl_result){0};
	cr_assert_eq(npl_driver_diannao.choose_engine(state, engine, &err), 0, "%s", err.msg);
	cr_assert(npl_driver_diannao.supports(state, &c->layer, why, sizeof why), "%s", why);
	cr_assert_eq(npl_driver_diannao.run(state, &c->layer, result, &err), 0, "seed %llu, %s: %s",
		     (unsigned long long)seed, engine, err.msg);
	npl_driver_diannao.close(state);
}

static void same(const struct npl_result *fast, const struct npl_result *rtl, uint64_t seed)
{
	for (size_t i = 0; i < DN_STATS; i++)
		cr_assert_eq(fast->counter[i], rtl->counter[i], "seed %llu: %s is %llu on fast, %llu on rtl",
			     (unsigned long long)seed, dn_stats[i].name, (unsigned long long)fast->counter[i],
			     (unsigned long long)rtl->counter[i]);
	cr_assert_eq(fast->cycles, rtl->cycles, "seed %llu: %llu and %llu cycles", (unsigned long long)seed,
		     (unsigned long long)fast->cycles, (unsigned long long)rtl->cycles);
	cr_assert_eq(fast->saturations, rtl->saturations, "seed %llu", (unsigned long long)seed);
	cr_assert_eq(fast->n_energy, rtl->n_energy);
	for (int i = 0; i < fast->n_energy; i++)
		cr_assert_eq(fast->energy[i].events, rtl->energy[i].events, "seed %llu, %s", (unsigned long long)seed,
			     fast->energy[i].component);
}

static void random_tiles(struct dn_config *config, uint64_t *rng)
{
	config->nest = test_range(rng, 0, 2) ? 0 : (int)test_range(rng, 1, 3);
	config->tile_groups = test_range(rng, 0, 4) ? 0 : test_range(rng, 1, 3);
	config->tile_columns = test_range(rng, 0, 4) ? 0 : test_range(rng, 1, 4);
}

static void random_machine(struct dn_config *config, uint64_t *rng)
{
	static const char *const memories[] = {"ideal",           "diannao-250gbps", "diannao-250gbps",
					       "diannao-250gbps", "ddr3-2133",       "hbm2"};
	*config = dn_random_machine(rng);
	config->memory_preset = memories[test_range(rng, 0, 5)];
	config->product = (int)test_range(rng, 0, 1);
	if (test_range(rng, 0, 3) == 0)
		config->clock_hz = test_range(rng, 100000000, 2000000000);
	config->nfu1_stages = test_range(rng, 1, 4);
	config->nfu2_stages = test_range(rng, 1, 4);
	config->nfu3_stages = test_range(rng, 1, 4);
	random_tiles(config, rng);
}

/* What a layer may ask of NFU-3, of scales and of its sums. */
static void random_result(struct dn_case *c, const struct dn_config *config, uint64_t *rng)
{
	static const enum npl_activation fused[] = {NPL_ACT_NONE, NPL_ACT_NONE, NPL_ACT_RELU, NPL_ACT_SIGMOID,
						    NPL_ACT_TANH};
	c->y.quant.scale = ldexpf(1, (int)test_range(rng, -14, -6));
	if (c->w.shape.rank && config->sum_bits <= 32 && test_range(rng, 0, 4) == 0)
		c->y.dtype = NPL_I32;
	else if (c->w.shape.rank)
		c->layer.fused = fused[test_range(rng, 0, 4)];
}

static bool supported(const struct dn_config *config, const struct dn_case *c)
{
	char why[200];
	void *state = dn_opened(config);
	bool yes = npl_driver_diannao.supports(state, &c->layer, why, sizeof why);
	npl_driver_diannao.close(state);
	return yes;
}

Test(diannao_layers, rtl_and_fast_agree)
{
	int compared = 0, saturated = 0, waited = 0;
	for (uint64_t seed = 1; seed <= 700; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		struct dn_config config;
		struct npl_result fast, rtl;
		struct dn_case c;
		random_machine(&config, &rng);
		dn_random_case(&c, &rng);
		if (c.layer.op == NPL_OP_CONV && test_range(&rng, 0, 4) == 0) {
			c.attrs.private_kernels = true;
			c.w.shape.dim[0] *= c.y.shape.dim[2] * c.y.shape.dim[3];
		}
		random_result(&c, &config, &rng);
		if (!supported(&config, &c))
			continue;
		dn_case_data(&c, &rng, (int)test_range(&rng, 6, 15), (int)test_range(&rng, 6, 15));
		size_t bytes = (size_t)npl_tensor_count(&c.y) * (c.y.dtype == NPL_I32 ? 4 : 2);
		run_on(&config, "fast", &c, &fast, seed);
		void *kept = malloc(bytes + 1);
		memcpy(kept, c.y.data, bytes);
		memset(c.y.data, 0x5a, bytes);
		run_on(&config, "rtl", &c, &rtl, seed);
		cr_assert_eq(memcmp(kept, c.y.data, bytes), 0, "seed %llu: results differ", (unsigned long long)seed);
		same(&fast, &rtl, seed);
		free(kept);
		dn_case_free(&c);
		compared++;
		saturated += fast.saturations > 0;
		waited += fast.cycles > dn_counter(&fast, "nfu_active") + 20;
	}
	cr_assert(compared > 400 && saturated > 50 && waited > 100, "%d, %d, %d", compared, saturated, waited);
}
