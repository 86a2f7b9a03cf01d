/* SPDX-License-Identifier: MIT
 *
 * The paper's machine and layers (diannao_layers.h) for the tests of diannao, which end where something fails.
 */
#ifndef NPULAB_TESTS_KIT_SIM_DIANNAO_FIXTURE_H
#define NPULAB_TESTS_KIT_SIM_DIANNAO_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "core/ops/window.h"
#include "sim/diannao/diannao/dn.h"
#include "tests/kit/support.h"

static inline void dn_case_data(struct dn_case *c, uint64_t *rng, int x_bits, int w_bits)
{
	cr_assert(dn_case_fill(c, rng, x_bits, w_bits));
}

/* The paper's machine. Its origins live until the arena is freed. */
static inline struct dn_config dn_load(struct npl_arena *arena)
{
	struct dn_config config;
	struct npl_err err;
	cr_assert_eq(dn_read_machine(arena, &config, &err), 0, "%s", err.msg);
	return config;
}

/* The same with strings of its own; nothing to free. */
static inline struct dn_config dn_default(void)
{
	struct npl_arena arena = {0};
	struct dn_config config = dn_load(&arena);
	config.chip_origin = "absent";
	config.technology.table = "diannao";
	config.memory_preset = "diannao-250gbps";
	npl_arena_free(&arena);
	return config;
}

/* Behind memory that never makes it wait. */
static inline struct dn_config dn_ideal(void)
{
	struct dn_config config = dn_default();
	config.memory_preset = "ideal";
	config.dma_request_cycles = 0;
	return config;
}

static inline void *dn_opened(const struct dn_config *config)
{
	void *state;
	struct npl_err err;
	cr_assert_eq(npl_driver_diannao.open(config, &state, &err), 0, "%s", err.msg);
	return state;
}

/* The machine must refuse the layer with a reason that has this text, and a run of it with the same reason. */
static inline void dn_refuses(void *state, const struct npl_layer *layer, const char *expected)
{
	static const char beginning[] = "it does not take the layer: ";
	char reason[200] = "";
	struct npl_result result = {0};
	struct npl_err err = {0};
	cr_expect_not(npl_driver_diannao.supports(state, layer, reason, sizeof reason), "should be refused: %s",
		      expected);
	cr_expect(strstr(reason, expected), "'%s' does not say '%s'", reason, expected);
	cr_expect_eq(npl_driver_diannao.run(state, layer, &result, &err), NPL_EINTERNAL, "%s", expected);
	cr_expect(!strncmp(err.msg, beginning, strlen(beginning)) && !strcmp(err.msg + strlen(beginning), reason),
		  "'%s' does not say '%s'", err.msg, reason);
}

/* A machine with buffers and Tn by chance. */
static inline struct dn_config dn_random_machine(uint64_t *rng)
{
	struct dn_config config = dn_default();
	dn_random_buffers(&config, rng);
	return config;
}

/* The same text for good: what a result says of the memory's energy lives in the device. */
static inline const char *dn_kept(const char *text)
{
	static char kept[32][64];
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		if (!*kept[i])
			snprintf(kept[i], sizeof *kept, "%s", text);
		if (!strcmp(kept[i], text))
			return kept[i];
	}
	cr_assert_fail("more origins than expected");
	return NULL;
}

/* Runs on the driver as npl_device_run does, which makes the seconds of the cycles and balances the books. */
static inline void dn_case_run(const struct dn_config *config, struct dn_case *c, struct npl_result *result)
{
	void *state = dn_opened(config);
	char reason[200];
	struct npl_err err;
	*result = (struct npl_result){0};
	cr_assert(npl_driver_diannao.supports(state, &c->layer, reason, sizeof reason), "%s", reason);
	cr_assert_eq(npl_driver_diannao.run(state, &c->layer, result, &err), 0, "%s", err.msg);
	result->seconds = (double)result->cycles / (double)config->clock_hz;
	struct npl_device_info info = {0};
	npl_driver_diannao.describe(state, &info);
	const struct npl_least_bytes least = npl_least_bytes_of(&info, &c->layer);
	cr_assert_eq(npl_books_check("diannao", &info, &c->layer, &least, result, &err), 0, "%s", err.msg);
	for (int i = 0; i < result->n_energy; i++)
		result->energy[i].origin = dn_kept(result->energy[i].origin);
	npl_driver_diannao.close(state);
}

static inline uint64_t dn_counter(const struct npl_result *result, const char *name)
{
	for (size_t i = 0; i < DN_COUNTERS; i++)
		if (!strcmp(dn_counter_defs[i].name, name))
			return result->counter[i];
	cr_assert_fail("no counter %s", name);
	return 0;
}

#endif
