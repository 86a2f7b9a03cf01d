/* SPDX-License-Identifier: MIT
 *
 * Configurations of DRAM for tests: see case.h. */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/kit/support.h"

static int64_t power_of_two(uint64_t *rng, int low, int high)
{
	return (int64_t)1 << test_range(rng, low, high);
}

static void organise(struct dram_config *c, uint64_t *rng)
{
	bool powers = test_range(rng, 0, 1);
	c->transfers_per_clock = power_of_two(rng, 0, 3);
	c->burst_length = c->transfers_per_clock * power_of_two(rng, 0, 2);
	c->bus_bits = power_of_two(rng, 3, 6);
	c->device_bits = c->bus_bits / power_of_two(rng, 0, 3);
	c->ranks = powers ? power_of_two(rng, 0, 1) : test_range(rng, 1, 3);
	c->bank_groups = powers ? power_of_two(rng, 0, 2) : test_range(rng, 1, 4);
	c->banks = powers ? power_of_two(rng, 0, 2) : test_range(rng, 1, 5);
	c->channels = powers ? power_of_two(rng, 0, 2) : test_range(rng, 1, 4);
	c->rows = powers ? power_of_two(rng, 0, 6) : test_range(rng, 1, 40);
	c->columns = c->burst_length * (powers ? power_of_two(rng, 0, 4) : test_range(rng, 1, 20));
}

/* Up to a few clocks, or tens. */
static void draw_timing(struct dram_config *c, uint64_t *rng)
{
	const int64_t maximum = power_of_two(rng, 1, 5);
	int64_t *const free_ones[] = {&c->trcd_rd, &c->trcd_wr, &c->trp,    &c->twr,
				      &c->trtp,    &c->tccd_s,  &c->trrd_s, &c->twtr_s};
	for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
		*free_ones[i] = test_range(rng, 0, maximum);
	c->cl = test_range(rng, 1, maximum);
	c->cwl = test_range(rng, 1, maximum);
	c->tras = (c->trcd_rd > c->trcd_wr ? c->trcd_rd : c->trcd_wr) + test_range(rng, 0, maximum);
	c->trc = c->tras + c->trp + test_range(rng, 0, 3) * test_range(rng, 0, 1);
	c->tccd_l = c->tccd_s + test_range(rng, 0, maximum / 2);
	c->trrd_l = c->trrd_s + test_range(rng, 0, maximum / 2);
	c->twtr_l = c->twtr_s + test_range(rng, 0, maximum / 2);
	c->tfaw = c->trrd_s + test_range(rng, 0, 5 * maximum);
	c->turnaround = test_range(rng, 0, 4);
	c->trfc = test_range(rng, 0, 4 * maximum);
	c->trefi = dram_case_least_trefi(c) + test_range(rng, 0, 10 * power_of_two(rng, 0, 9));
}

int64_t dram_case_least_trefi(const struct dram_config *c)
{
	return c->trfc + c->tfaw + c->trc + c->cwl + c->twr + (int64_t)dram_burst_cycles(c) +
	       2 * c->ranks * c->bank_groups * c->banks;
}

static void draw_controller(struct dram_config *c, uint64_t *rng)
{
	int64_t maximum = power_of_two(rng, 0, test_range(rng, 0, 9) ? 5 : 8);
	c->read_queue = test_range(rng, 1, maximum);
	c->write_queue = test_range(rng, 1, maximum);
	c->write_high = test_range(rng, 0, c->write_queue - 1);
	c->write_low = test_range(rng, 0, c->write_high);
}

/* The fields in any order; those of one choice, and `bankgroup`, are left out now and then. */
static void draw_mapping(const struct dram_config *c, char mapping[DRAM_CASE_MAPPING], uint64_t *rng)
{
	bool groups = test_range(rng, 0, 3);
	const struct {
		const char *name;
		bool needed;
	} field[] = {{"row", c->rows > 1},
		     {"rank", c->ranks > 1},
		     {"bankgroup", groups && c->bank_groups > 1},
		     {"bank", c->banks > 1 || (!groups && c->bank_groups > 1)},
		     {"column", c->columns > c->burst_length},
		     {"channel", c->channels > 1}};
	enum { FIELDS = sizeof field / sizeof *field };
	int order[FIELDS], n = 0;
	for (int f = 0; f < FIELDS; f++)
		if (field[f].needed || (test_range(rng, 0, 1) && (f != 2 || groups)))
			order[n++] = f;
	if (!n)
		order[n++] = 0;
	mapping[0] = '\0';
	while (n) {
		int pick = (int)test_range(rng, 0, n - 1);
		strcat(mapping, field[order[pick]].name);
		order[pick] = order[--n];
		if (n)
			strcat(mapping, ":");
	}
}

void dram_case_random(struct dram_config *c, char mapping[DRAM_CASE_MAPPING], uint64_t *rng)
{
	*c = (struct dram_config){
		.hz_numerator = 1000000000, .hz_denominator = 1, .mapping = mapping, .energy_origin = "absent"};
	organise(c, rng);
	draw_timing(c, rng);
	draw_controller(c, rng);
	draw_mapping(c, mapping, rng);
}

struct npl_memory *dram_case_open(const struct dram_config *config, bool every_cycle, struct npl_err *err)
{
	struct npl_arena arena = {0};
	struct npl_description machine = {.name = "case", .driver_or_model_key = "model", .driver_or_model = "dram"};
	struct npl_memory *memory = NULL;
	char path[] = "/tmp/npulab-test-XXXXXX.yaml";
	int file = mkstemps(path, 5);
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	const char *text = npl_params_dump(dram_params, &machine, config, &arena);
	bool written = out && text && fputs(text, out) >= 0;
	if (out)
		written &= !fclose(out);
	if (written)
		npl_memory_open(path, &(struct npl_memory_options){.every_cycle = every_cycle}, &memory, err);
	else
		npl_fail(err, NPL_EINTERNAL, "%s: cannot be written", path);
	if (file >= 0)
		unlink(path);
	npl_arena_free(&arena);
	return memory;
}

struct dram_case_place dram_case_locate(const struct dram_config *c, uint64_t address)
{
	struct dram_case_place place = {0};
	const bool groups = strstr(c->mapping, "bankgroup");
	uint64_t access = address / (uint64_t)(c->bus_bits * c->burst_length / 8);
	const char *end = c->mapping + strlen(c->mapping);
	while (end > c->mapping) {
		const char *at = end;
		while (at > c->mapping && at[-1] != ':')
			at--;
		const struct {
			const char *name;
			uint64_t *digit;
			int64_t count;
		} field[] = {{"row", &place.row, c->rows},
			     {"rank", &place.rank, c->ranks},
			     {"bankgroup", &place.group, c->bank_groups},
			     {"bank", &place.bank, groups ? c->banks : c->banks * c->bank_groups},
			     {"column", &place.column, c->columns / c->burst_length},
			     {"channel", &place.channel, c->channels}};
		for (size_t f = 0; f < sizeof field / sizeof *field; f++)
			if (strlen(field[f].name) == (size_t)(end - at) &&
			    !strncmp(at, field[f].name, (size_t)(end - at))) {
				*field[f].digit = access % (uint64_t)field[f].count;
				access /= (uint64_t)field[f].count;
			}
		end = at > c->mapping ? at - 1 : at;
	}
	if (!groups) {
		place.group = place.bank / (uint64_t)c->banks;
		place.bank %= (uint64_t)c->banks;
	}
	return place;
}
