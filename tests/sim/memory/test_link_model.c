/* SPDX-License-Identifier: MIT
 *
 * Promises: a link's rate is the exact ratio that its specification gives, and its parameters have an effect where the
 * lists beside them say so. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/files/words.h"
#include "core/param_rows.h"
#include "sim/memory/link_model.h"
#include "tests/kit/support.h"

static struct npl_link_config pcie(int64_t generation, int64_t lanes, int64_t payload, int64_t header)
{
	return (struct npl_link_config){.kind = NPL_LINK_PCIE,
					.generation = generation,
					.lanes = lanes,
					.payload_bytes = payload,
					.header_bytes = header};
}

static struct npl_link_config hypertransport(int64_t clock_hz, int64_t bits, int64_t payload, int64_t header)
{
	return (struct npl_link_config){.kind = NPL_LINK_HYPERTRANSPORT,
					.clock_hz = clock_hz,
					.width_bits = bits,
					.transfers_per_clock = 2,
					.payload_bytes = payload,
					.header_bytes = header};
}

static struct npl_link_model model_of(struct npl_link_config config)
{
	struct npl_link_model model;
	struct npl_err err;
	cr_assert_eq(npl_link_model_of(&config, "test", &model, &err), 0, "%s", err.msg);
	return model;
}

static void ratio_is(struct npl_ratio ratio, int64_t numerator, int64_t denominator, const char *subject)
{
	cr_expect(ratio.numerator == numerator && ratio.denominator == denominator, "%s: %lld/%lld, not %lld/%lld",
		  subject, (long long)ratio.numerator, (long long)ratio.denominator, (long long)numerator,
		  (long long)denominator);
}

/* Worked by hand: transfers per second times lanes times data bits per line bit over 8, in lowest terms. */
Test(link_model, rates_worked_by_hand)
{
	ratio_is(model_of(pcie(1, 1, 128, 12)).line, 250000000, 1, "2.5 GT/s, 8b/10b");
	ratio_is(model_of(pcie(2, 16, 128, 12)).line, 8000000000, 1, "5 GT/s, 8b/10b, 16 lanes");
	ratio_is(model_of(pcie(3, 1, 128, 12)).line, 12800000000, 13, "8 GT/s, 128b/130b: 984.6 MB/s");
	ratio_is(model_of(pcie(3, 16, 128, 12)).line, 204800000000, 13, "16 lanes: 15.754 GB/s");
	ratio_is(model_of(pcie(4, 12, 128, 12)).line, 307200000000, 13, "16 GT/s, 12 lanes");
	ratio_is(model_of(pcie(5, 32, 128, 12)).line, 1638400000000, 13, "32 GT/s, 32 lanes");
	ratio_is(model_of(pcie(6, 16, 128, 12)).line, 118000000000, 1, "64 GT/s, 236 of 256 bytes");
	/* 8 bytes around a header of 12: 256 of 276 bytes are data; 14.61 GB/s, 13.6 GiB/s. */
	ratio_is(model_of(pcie(3, 16, 256, 12)).rate, 13107200000000, 897, "256-byte packets");
	/* 128 of 152 after a 64-bit address. */
	ratio_is(model_of(pcie(1, 1, 128, 16)).rate, 4000000000, 19, "128-byte packets");
	/* Flits have no framing of their own: 128 of 140. */
	ratio_is(model_of(pcie(6, 1, 128, 12)).rate, 47200000000, 7, "generation 6"); /* 7.375e9 * 32 / 35 */
	/* DaDianNao's: 1.6 GHz, 16 wires a direction, two bits a clock: 6.4 GB/s; 64 of 72 bytes are data. */
	ratio_is(model_of(hypertransport(1600000000, 16, 64, 8)).line, 6400000000, 1, "HyperTransport");
	ratio_is(model_of(hypertransport(1600000000, 16, 64, 8)).rate, 51200000000, 9, "HyperTransport, of data");
	struct npl_link_config limited = pcie(3, 16, 256, 12);
	limited.limit_bytes_per_second = 10737418240;
	ratio_is(model_of(limited).rate, 10737418240, 1, "10 GiB/s behind it");
	limited.limit_bytes_per_second = 20000000000;
	ratio_is(model_of(limited).rate, 13107200000000, 897, "nothing slower behind it");
	ratio_is(model_of((struct npl_link_config){.bytes_per_second = 123}).rate, 123, 1, "plain");
	ratio_is(model_of((struct npl_link_config){.bytes_per_second = 123, .limit_bytes_per_second = 5}).rate, 123, 1,
		 "plain, without a limit");
}

static void refused(struct npl_link_config config, const char *reason)
{
	struct npl_link_model model;
	struct npl_err err;
	cr_expect_eq(npl_link_model_of(&config, "here", &model, &err), NPL_EUSAGE, "should be refused: %s", reason);
	cr_expect(strstr(err.msg, reason) && !strncmp(err.msg, "here.", 5), "'%s' does not say '%s'", err.msg, reason);
	size_t length;
	int n = 0;
	for (const char *keys = err.settings, *key; (key = npl_next_word(&keys, &length)); n++)
		cr_expect(memmem(err.msg, strlen(err.msg), key, length), "'%s' does not name '%s'", err.msg, key);
	cr_expect_gt(n, 0, "%s", err.msg);
}

Test(link_model, links_that_pcie_lacks_are_refused)
{
	refused(pcie(7, 16, 256, 12), "expected 1 to 6");
	refused(pcie(0, 16, 256, 12), "expected 1 to 6");
	refused(pcie(3, 3, 256, 12), "lanes");
	refused(pcie(3, 64, 256, 12), "lanes");
	refused(pcie(6, 32, 256, 12), "16 lanes");
	refused(pcie(3, 16, 64, 12), "2048 or 4096");
	refused(pcie(3, 16, 384, 12), "2048 or 4096");
	refused(pcie(3, 16, 256, 8), "header");
	refused(pcie(3, 16, 256, 13), "words of 4");
	refused(hypertransport(1600000000, 0, 64, 8), "bits");
	refused(hypertransport(NPL_LINK_MIN_CLOCK - 1, 16, 64, 8), "a clock of 1000 to 1e11 Hz");
	refused(hypertransport(1600000000, 16, 66, 8), "words of 4");
	refused(hypertransport(1600000000, 16, 64, 6), "words of 4");
	refused((struct npl_link_config){.kind = NPL_LINK_PLAIN},
		"here.bytes_per_second is 0, expected a bandwidth for a plain link");
	refused((struct npl_link_config){.kind = NPL_LINK_PCIE, .bytes_per_second = 5},
		"here.bytes_per_second is 5, expected 0 for a link whose here.kind is not plain");
	refused((struct npl_link_config){.kind = 3}, "kind");
	refused((struct npl_link_config){.bytes_per_second = 1, .latency_seconds = -1}, "latency");
	refused((struct npl_link_config){.bytes_per_second = 1, .limit_bytes_per_second = -1}, "limit");
}

struct machine {
	double before;
	struct npl_link_config link;
};

/* The rows for a machine's table of parameters read into the struct and give the kind's link. */
#define PARAM_CONFIG struct machine
static const struct npl_param schema[] = {NPL_LINK_PARAMS("host_link", link, "PCIe", "way to the host", "pcie", "3",
							  "16", "256", "12", "0", "10737418240", "6e-6"),
					  {0}};

Test(link_model, parameters_of_a_machine)
{
	struct npl_arena arena = {0};
	struct npl_description file = {.name = "test", .driver_or_model_key = "driver", .driver_or_model = "test"};
	struct machine machine;
	struct npl_err err;
	cr_assert_eq(npl_params_read(schema, &file, &arena, &machine, &err), 0, "%s", err.msg);
	ratio_is(model_of(machine.link).line, 204800000000, 13, "the defaults");
	ratio_is(model_of(machine.link).rate, 10737418240, 1, "the defaults");
	cr_assert_eq(model_of(machine.link).latency_seconds, 6e-6);
	const struct npl_link described = npl_link_of(
		&machine.link, npl_link_bytes_per_second(&(struct npl_link_model){.rate = {7, 2}}));
	cr_assert_str_eq(described.name, "PCIe");
	cr_assert_str_eq(described.energy_origin, "absent");
	cr_assert(described.bytes_per_second == 3.5 && described.latency_seconds == 6e-6 && described.pj_per_byte == 0);
	static const char *const set[][2] = {{"host_link.kind", "hypertransport"},
					     {"host_link.clock_hz", "1.6e9"},
					     {"host_link.payload_bytes", "64"},
					     {"host_link.header_bytes", "8"},
					     {"host_link.limit_bytes_per_second", "0"}};
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		cr_assert_eq(npl_description_set(&file, &arena, set[i][0], set[i][1], &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(schema, &file, &arena, &machine, &err), 0, "%s", err.msg);
	ratio_is(model_of(machine.link).rate, 51200000000, 9, "set");
	npl_arena_free(&arena);
}

/* A machine without a link says so by the name: all other keys then have no effect. */
Test(link_model, the_list_of_keys_has_all_but_the_name)
{
	const char *keys = NPL_LINK_KEYS("host_link");
	size_t length;
	int listed = 0, parameters = 0;
	for (const struct npl_param *p = schema; p->key; p++, parameters++)
		cr_expect_neq(npl_word_index(keys, p->key) < 0, strcmp(p->key, "host_link.name") != 0,
			      "NPL_LINK_KEYS and %s", p->key);
	while (npl_next_word(&keys, &length))
		listed++;
	cr_expect_eq(listed, parameters - 1);
}

/* Reads a link of the kind with one value set, beside those that its kind needs. */
static struct npl_link_config link_with(const char *kind, const char *key, const char *value)
{
	const char *const set[][2] = {{"host_link.kind", kind},
				      {"host_link.limit_bytes_per_second", "0"},
				      {"host_link.bytes_per_second", strcmp(kind, "plain") ? "0" : "1e9"},
				      {key, value}};
	struct npl_arena arena = {0};
	struct npl_description file = {.name = "test", .driver_or_model_key = "driver", .driver_or_model = "test"};
	struct machine machine;
	struct npl_err err;
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		cr_assert_eq(npl_description_set(&file, &arena, set[i][0], set[i][1], &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(schema, &file, &arena, &machine, &err), 0, "%s", err.msg);
	npl_arena_free(&arena);
	machine.link.name = machine.link.energy_origin = NULL; /* they were in the arena */
	return machine.link;
}

static bool has_effect(const char *kind, const char *key, const char *value)
{
	const struct npl_link_config before = link_with(kind, "host_link.kind", kind),
				     after = link_with(kind, key, value);
	const struct npl_link_model a = model_of(before), b = model_of(after);
	return a.rate.numerator != b.rate.numerator || a.rate.denominator != b.rate.denominator ||
	       a.latency_seconds != b.latency_seconds || before.pj_per_byte != after.pj_per_byte;
}

/* Says whether the conditions give the key an effect with links of the kind. */
static bool may_have_effect(const char *kind, const char *key)
{
	static const struct npl_param_condition conditions[] = {NPL_LINK_CONDITIONS("host_link"), {0}};
	for (const struct npl_param_condition *c = conditions; c->keys; c++)
		if (npl_word_index(c->keys, key) >= 0)
			return c->effective_words ? npl_word_index(c->effective_words, kind) >= 0
						  : npl_word_index(c->ineffective_words, kind) < 0;
	return true;
}

#define KIND_WORD(constant, word) word,
Test(link_model, numbers_have_an_effect_with_the_kinds_that_the_conditions_say)
{
	static const char *const kinds[] = {NPL_LINK_KINDS(KIND_WORD)};
	/* Another value of each number, which every kind takes. */
	static const char *const others[][2] = {
		{"host_link.generation", "4"},
		{"host_link.lanes", "8"},
		{"host_link.clock_hz", "2e9"},
		{"host_link.width_bits", "8"},
		{"host_link.transfers_per_clock", "1"},
		{"host_link.payload_bytes", "128"},
		{"host_link.header_bytes", "16"},
		{"host_link.bytes_per_second", "2e9"},
		{"host_link.limit_bytes_per_second", "1000"},
		{"host_link.latency_seconds", "1e-6"},
		{"host_link.pj_per_byte", "2"},
	};
	for (const struct npl_param *p = schema; p->key; p++) {
		size_t i = 0;
		if (p->type != NPL_PARAM_INT && p->type != NPL_PARAM_DOUBLE)
			continue;
		while (i < sizeof others / sizeof *others && strcmp(others[i][0], p->key) != 0)
			i++;
		cr_assert_lt(i, sizeof others / sizeof *others, "the test has no other value of %s", p->key);
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
			const bool expected = may_have_effect(kinds[k], p->key);
			/* Links of other kinds are refused with it. */
			if (!expected && !strcmp(p->key, "host_link.bytes_per_second"))
				continue;
			cr_expect_eq(has_effect(kinds[k], p->key, others[i][1]), expected, "%s of kind %s", p->key,
				     kinds[k]);
		}
	}
}
