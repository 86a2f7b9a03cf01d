/* SPDX-License-Identifier: MIT
 *
 * A random layer on both engines of DianNao (cases.h). */
#include "cases.h"

#include <stddef.h>
#include <stdlib.h>

static void random_tiles(struct dn_config *config, uint64_t *rng)
{
	config->nest = test_range(rng, 0, 2) ? DN_WANT_ANY : (int)test_range(rng, DN_WANT_DOWN, DN_WANT_STREAMED);
	config->tile_groups = test_range(rng, 0, 3) ? 0 : test_range(rng, 1, 5);
	config->tile_columns = test_range(rng, 0, 4) ? 0 : test_range(rng, 1, 4);
}

static void random_machine(struct dn_config *config, const struct dn_config *paper, uint64_t *rng)
{
	static const char *const memories[] = {"ideal",           "diannao-250gbps", "diannao-250gbps",
					       "diannao-250gbps", "ddr3-2133",       "hbm2"};
	*config = *paper;
	dn_random_buffers(config, rng);
	config->memory_preset = memories[test_range(rng, 0, 5)];
	config->product = (int)test_range(rng, 0, 1);
	if (test_range(rng, 0, 3) == 0)
		config->clock_hz = test_range(rng, 100000000, 2000000000);
	config->nfu1_stages = test_range(rng, 1, 4);
	config->nfu2_stages = test_range(rng, 1, 4);
	config->nfu3_stages = test_range(rng, 1, 4);
	random_tiles(config, rng);
	config->technology.activity = *rng & 1 ? SIM_COUNTED : SIM_NOT_COUNTED;
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
		c->layer.activation = fused[test_range(rng, 0, 4)];
}

/* NULL: it cannot be opened, `reason`. */
static void *opened(const struct dn_config *config, char *reason, size_t reason_bytes)
{
	void *state;
	struct npl_err err = {0};
	if (!npl_driver_diannao.open(config, &state, &err))
		return state;
	snprintf(reason, reason_bytes, "%s", err.msg);
	return NULL;
}

static bool run_on(const struct dn_config *config, const char *engine, struct dn_case *c, struct npl_result *result,
		   char *reason, size_t reason_bytes)
{
	struct npl_err err = {0};
	void *state = opened(config, reason, reason_bytes);
	*result = (struct npl_result){0};
	if (!state)
		return false;
	const bool ok = !npl_driver_diannao.choose_engine(state, engine, &err) &&
			!npl_driver_diannao.run(state, &c->layer, result, &err);
	if (!ok)
		snprintf(reason, reason_bytes, "%s: %s", engine, err.msg);
	npl_driver_diannao.close(state);
	return ok;
}

static bool differs(const char *label, uint64_t fast, uint64_t rtl, char *reason, size_t reason_bytes)
{
	if (fast == rtl)
		return false;
	snprintf(reason, reason_bytes, "%s: %llu on fast, %llu on rtl", label, (unsigned long long)fast,
		 (unsigned long long)rtl);
	return true;
}

static bool same_result(const struct npl_result *fast, const struct npl_result *rtl, char *reason, size_t reason_bytes)
{
	for (size_t i = 0; i < DN_COUNTERS; i++)
		if (differs(dn_counter_defs[i].name, fast->counter[i], rtl->counter[i], reason, reason_bytes))
			return false;
	if (differs("cycles", fast->cycles, rtl->cycles, reason, reason_bytes) ||
	    differs("saturations", fast->saturations, rtl->saturations, reason, reason_bytes) ||
	    differs("lines of energy", (uint64_t)fast->n_energy, (uint64_t)rtl->n_energy, reason, reason_bytes))
		return false;
	for (int i = 0; i < fast->n_energy; i++)
		if (differs(fast->energy[i].component, fast->energy[i].events, rtl->energy[i].events, reason,
			    reason_bytes))
			return false;
	return true;
}

static bool agrees(const struct dn_config *config, struct dn_case *c, struct diannao_layer_seen *seen, char *reason,
		   size_t reason_bytes)
{
	struct npl_result fast, rtl;
	const size_t bytes = (size_t)npl_tensor_count(&c->y) * (c->y.dtype == NPL_I32 ? 4 : 2);
	void *saved = malloc(bytes + 1);
	if (!saved) {
		snprintf(reason, reason_bytes, "out of memory");
		return false;
	}
	bool ok = run_on(config, "fast", c, &fast, reason, reason_bytes);
	memcpy(saved, c->y.data, bytes);
	memset(c->y.data, 0x5a, bytes);
	ok = ok && run_on(config, "rtl", c, &rtl, reason, reason_bytes) &&
	     same_result(&fast, &rtl, reason, reason_bytes);
	if (ok && memcmp(saved, c->y.data, bytes)) {
		snprintf(reason, reason_bytes, "results differ");
		ok = false;
	}
	free(saved);
	if (!ok)
		return false;
	*seen = (struct diannao_layer_seen){
		true, fast.saturations > 0,
		fast.cycles > fast.counter[offsetof(struct dn_counters, nfu_active) / sizeof(uint64_t)] + 20};
	return true;
}

bool diannao_layer_agrees(uint64_t seed, const struct dn_config *paper, struct diannao_layer_seen *seen, char *reason,
			  size_t reason_bytes)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
	struct dn_config config;
	struct dn_case c;
	*seen = (struct diannao_layer_seen){0};
	random_machine(&config, paper, &rng);
	if (test_range(&rng, 0, 5))
		dn_random_case(&c, &rng);
	else
		dn_random_small_lrn(&c, &rng);
	if (c.layer.op == NPL_OP_CONV && test_range(&rng, 0, 4) == 0) {
		c.attrs.conv.private_kernels = true;
		c.w.shape.dim[0] *= c.y.shape.dim[2] * c.y.shape.dim[3];
	}
	random_result(&c, &config, &rng);
	void *state = opened(&config, reason, reason_bytes);
	if (!state)
		return false;
	const bool can = npl_driver_diannao.supports(state, &c.layer, reason, reason_bytes);
	npl_driver_diannao.close(state);
	if (!can)
		return true;
	bool ok = dn_case_fill(&c, &rng, (int)test_range(&rng, 6, 15), (int)test_range(&rng, 6, 15));
	if (!ok)
		snprintf(reason, reason_bytes, "out of memory");
	ok = ok && agrees(&config, &c, seen, reason, reason_bytes);
	dn_case_free(&c);
	return ok;
}
