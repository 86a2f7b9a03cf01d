/* SPDX-License-Identifier: MIT
 *
 * Parameters of DRAM: organisation, timing in clocks (names as in JESD79-3F and JESD79-4), controller, currents. A file
 * must give every parameter that has no neutral value. */
#include <stddef.h>
#include <string.h>

#include "core/base/arith.h"
#include "core/param_rows.h"
#include "dram.h"
#include "npulab/result.h"

#define PARAM_CONFIG                             struct dram_config
#define COUNT(key, member, fallback, most, help) NUMBER(key, INT, member, fallback, 1, most, "", help)
#define CLOCKS(key, member, fallback, help)      NUMBER("timing." key, INT, member, fallback, 0, 1e6, "clocks", help)
#define CURRENT(key, member, help)               NUMBER("currents." key, DOUBLE, member, "0", 0, 1e5, "mA", help)

const struct npl_param dram_params[] = {
#define DRAM_PARAMETER(form, ...) form(__VA_ARGS__),
#include "dram_parameters.def"
#undef DRAM_PARAMETER
	{0},
};

uint64_t dram_access_bytes(const struct dram_config *c)
{
	return (uint64_t)(c->bus_bits * c->burst_length / 8);
}

uint64_t dram_burst_cycles(const struct dram_config *c)
{
	return (uint64_t)(npl_div_up_i64(c->burst_length, c->transfers_per_clock));
}

uint64_t dram_capacity_bytes(const struct dram_config *c)
{
	uint64_t row_bytes = (uint64_t)(c->columns * c->bus_bits / 8);
	return (uint64_t)(c->channels * c->ranks * c->bank_groups * c->banks * c->rows) * row_bytes;
}

static bool is_power_of_two(int64_t value)
{
	return value > 0 && !(value & (value - 1));
}

/* A rule: left is at least right. */
struct rule {
	const char *text; /* "tRC is at least tRAS + tRP" */
	const char *keys; /* of these parameters */
	int64_t left, right;
};

static int check_rules(const struct rule *rules, size_t n, const char *mapping, const char *subject,
		       struct npl_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].left < rules[i].right)
			return npl_fail_settings(err, mapping, rules[i].keys,
						 "%s contradict each other: expected that %s, got %lld and %lld",
						 subject, rules[i].text, (long long)rules[i].left,
						 (long long)rules[i].right);
	return 0;
}

static int check_timing(const struct dram_config *c, struct npl_err *err)
{
	/* Between two refreshes there must be time to open a row and to write to it, whatever the other banks do.
	 * Otherwise a request may never end. */
	const int64_t commands = 2 * c->ranks * c->bank_groups * c->banks;
	const int64_t busy = c->trfc + c->tfaw + c->trc + c->cwl + (int64_t)dram_burst_cycles(c) + c->twr + commands;
	const struct rule rules[] = {
		{"CL is at least 1", "CL", c->cl, 1},
		{"CWL is at least 1", "CWL", c->cwl, 1},
		{"tRC is at least tRAS + tRP", "tRC tRAS tRP", c->trc, c->tras + c->trp},
		{"tRAS is at least tRCD", "tRAS tRCD", c->tras, c->trcd_rd},
		{"tRAS is at least tRCDWR", "tRAS tRCDWR", c->tras, c->trcd_wr},
		{"tCCD_L is at least tCCD_S", "tCCD_L tCCD_S", c->tccd_l, c->tccd_s},
		{"tRRD_L is at least tRRD_S", "tRRD_L tRRD_S", c->trrd_l, c->trrd_s},
		{"tWTR_L is at least tWTR_S", "tWTR_L tWTR_S", c->twtr_l, c->twtr_s},
		{"tFAW is at least tRRD_S", "tFAW tRRD_S", c->tfaw, c->trrd_s},
		{"tREFI is at least tRFC + tFAW + tRC + CWL + burst + tWR and two commands a bank",
		 "tREFI tRFC tFAW tRC CWL tWR", c->trefi, busy},
	};
	const struct rule clock[] = {
		{"burst_length is at least the transfers of a clock, in which a channel gives one command",
		 "organisation.burst_length clock.transfers", c->burst_length, c->transfers_per_clock},
		{"hz_numerator is at least 1000 times hz_denominator", "clock.hz_numerator clock.hz_denominator",
		 c->hz_numerator, 1000 * c->hz_denominator},
		{"hz_numerator is at most 1e11 times hz_denominator", "clock.hz_numerator clock.hz_denominator",
		 100000000000 * c->hz_denominator, c->hz_numerator},
	};
	const struct rule queues[] = {
		{"write_high is at least write_low", "write_high write_low", c->write_high, c->write_low},
		{"write_queue is more than write_high", "write_queue write_high", c->write_queue, c->write_high + 1},
	};
	return check_rules(rules, sizeof rules / sizeof *rules, "timing", "the timings", err) ||
			       check_rules(clock, sizeof clock / sizeof *clock, NULL, "the clock's numbers", err) ||
			       check_rules(queues, sizeof queues / sizeof *queues, "controller",
					   "the controller's numbers", err)
		       ? err->code
		       : 0;
}

/* Returns the charge of an ACT and its PRE above standby, in mA times clocks. */
static double row_current(const struct dram_config *c)
{
	return c->idd0 * (double)c->trc - c->idd3n * (double)c->tras - c->idd2n * (double)(c->trc - c->tras);
}

static int check_currents(const struct dram_config *c, struct npl_err *err)
{
	const struct {
		bool holds;
		const char *key, *text;
	} rules[] = {
		{c->vdd > 0, "VDD", "VDD is above 0"},
		{c->idd2n > 0, "IDD2N", "IDD2N is above 0"},
		{c->idd3n > 0, "IDD3N", "IDD3N is above 0"},
		{c->idd4r >= c->idd3n, "IDD4R", "IDD4R is at least IDD3N"},
		{c->idd4w >= c->idd3n, "IDD4W", "IDD4W is at least IDD3N"},
		{c->idd5b >= c->idd3n, "IDD5B", "IDD5B is at least IDD3N"},
		{row_current(c) >= 0, "IDD0", "IDD0 is at least IDD3N for tRAS and IDD2N for the rest of tRC"},
	};
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!rules[i].holds)
			return npl_fail_settings(err, "currents", rules[i].key,
						 "the currents contradict each other: expected that %s", rules[i].text);
	return 0;
}

static int check(const struct dram_config *c, struct npl_err *err)
{
	const int64_t banks = c->ranks * c->bank_groups * c->banks, row_bytes = c->columns * c->bus_bits / 8;
	if (banks > DRAM_MAX_BANKS)
		return npl_fail_settings(err, "organisation", "banks", "a channel has %lld banks, expected %d at most",
					 (long long)banks, DRAM_MAX_BANKS);
	if (!is_power_of_two(c->bus_bits) || c->bus_bits < 8)
		return npl_fail_settings(err, "organisation", "bus_bits",
					 "bus_bits is %lld, expected a power of two from 8 on", (long long)c->bus_bits);
	if (!is_power_of_two(c->burst_length))
		return npl_fail_settings(err, "organisation", "burst_length",
					 "burst_length is %lld, expected a power of two", (long long)c->burst_length);
	if (c->bus_bits % c->device_bits)
		return npl_fail_settings(err, "organisation", "bus_bits device_bits",
					 "bus_bits is %lld, expected a multiple of device_bits (%lld)",
					 (long long)c->bus_bits, (long long)c->device_bits);
	if (c->columns % c->burst_length)
		return npl_fail_settings(err, "organisation", "columns burst_length",
					 "columns is %lld, expected a multiple of burst_length (%lld)",
					 (long long)c->columns, (long long)c->burst_length);
	if ((double)(c->channels * banks) * (double)c->rows * (double)row_bytes > 0x1p62)
		return npl_fail(err, NPL_EUSAGE, "the memory is larger than 2^62 bytes");
	if (check_timing(c, err))
		return err->code;
	return !npl_origin_is_absent(c->energy_origin) ? check_currents(c, err) : 0;
}

int dram_open_config(struct dram_config *c, const struct npl_memory_options *options, struct npl_memory_info *info,
		     struct npl_err *err)
{
	c->channels = options->dram_channels ? options->dram_channels : c->channels;
	if (c->channels < 1 || c->channels > DRAM_MAX_CHANNELS)
		return npl_fail_settings(err, "organisation", "channels", "%lld channels, expected 1 to %d",
					 (long long)c->channels, DRAM_MAX_CHANNELS);
	if (check(c, err))
		return err->code;
	info->clock = (struct npl_hz){c->hz_numerator, c->hz_denominator};
	info->access_bytes = dram_access_bytes(c);
	info->capacity_bytes = dram_capacity_bytes(c);
	info->channels = c->channels;
	info->mapping = c->mapping;
	const int64_t bus_bytes = c->channels * c->bus_bits / 8;
	info->peak_bytes_per_second = (double)bus_bytes * (double)c->transfers_per_clock * (double)c->hz_numerator /
				      (double)c->hz_denominator;
	return 0;
}

void dram_add_counts(struct npl_memory_counters *counters, const struct dram_counts *channel)
{
#define ADD(name) counters->name += channel->name;
	NPL_MEMORY_COMMANDS(ADD)
}

/* Computes the energy as Micron's TN-41-01 does, "Calculating Memory System Power for DDR3". A command costs its
 * current above that of standby while it lasts; standby is counted as background. mA * V * clocks * seconds per clock
 * are in units of 1e-3 J. */
int dram_energy(const void *config, const struct npl_memory_counters *counters,
		struct npl_memory_energy energy[NPL_MEMORY_ENERGIES])
{
	const struct dram_config *c = config;
	const struct npl_memory_counters *n = counters;
	const double clock_seconds = (double)c->hz_denominator / (double)c->hz_numerator;
	const int64_t devices = c->bus_bits / c->device_bits;
	const double pj = c->vdd * clock_seconds * (double)devices * 1e9;
	const double burst = (double)c->burst_length / (double)c->transfers_per_clock;
	const struct npl_memory_energy parts[NPL_MEMORY_ENERGIES] = {
		{"activate", n->activates, row_current(c) * pj, c->energy_origin, NPL_MEMORY_ACTIVATE},
		{"read", n->read_commands, (c->idd4r - c->idd3n) * burst * pj, c->energy_origin, NPL_MEMORY_READ},
		{"write", n->write_commands, (c->idd4w - c->idd3n) * burst * pj, c->energy_origin, NPL_MEMORY_WRITE},
		{"refresh", n->refreshes, (c->idd5b - c->idd3n) * (double)c->trfc * pj, c->energy_origin,
		 NPL_MEMORY_REFRESH},
		{"active standby", n->active_rank_cycles, c->idd3n * pj, c->energy_origin, NPL_MEMORY_ACTIVE_STANDBY},
		{"idle standby", n->idle_rank_cycles, c->idd2n * pj, c->energy_origin, NPL_MEMORY_IDLE_STANDBY},
	};
	memcpy(energy, parts, sizeof parts);
	return NPL_MEMORY_ENERGIES;
}
