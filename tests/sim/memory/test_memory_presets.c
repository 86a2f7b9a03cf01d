/* SPDX-License-Identifier: MIT
 *
 * The memories that ship (memories/): each opens under its name and has the size and the peak of its standard;
 * refreshes come in its standard's time; streams reach what refresh leaves of the peak, by the mapping that the file
 * has; a stream in one bank group at a time does not; and a bit costs what the file says of it, or is not known to. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/files/data_names.h"
#include "npulab/device.h"
#include "tests/kit/sim/dram/case.h"

static const struct preset {
	const char *name;
	int64_t channels;
	double gib, peak;       /* of all channels; bytes per second */
	double refi, tolerance; /* seconds, and how far tREFI is off */
	double pj_per_bit;      /* of a stream of reads; NAN: not known */
	bool groups;            /* bursts of one bank group are further apart */
} presets[] = {
	{"ddr3-1600", 1, 4, 800e6 * 16, 7.8e-6, 0, 11.2, false},
	{"ddr3-1866", 1, 4, 2800e6 / 3 * 16, 7.8e-6, 0, 9.6, false},
	{"ddr3-2133", 1, 4, 3200e6 / 3 * 16, 7.8e-6, 7e-4, 10.2, false},
	{"ddr4-2400", 1, 8, 1200e6 * 16, 7.8e-6, 0, 9.2, true},
	{"ddr4-3200", 1, 8, 1600e6 * 16, 7.8e-6, 0, 8.5, true},
	{"lpddr4-2400", 2, 1, 1200e6 * 8, 3.904e-6, 2e-4, NAN, false},
	{"gddr5", 1, 1, 2000e6 * 16, 1.9e-6, 0, 1.5, true},
	{"gddr6", 2, 2, 1750e6 * 32, 1.9e-6, 0, NAN, true},
	{"hbm", 8, 4, 500e6 * 256, 3.9e-6, 0, 3.6, false},
	{"hbm2", 8, 8, 1000e6 * 256, 3.9e-6, 0, 2.0, false},
};
enum { PRESETS = sizeof presets / sizeof *presets };

/* Reads of the lowest addresses as fast as they are taken. Returns the share of the peak. */
static double stream(const char *name, const char *mapping, double *pj_per_bit)
{
	enum { N = 100000 };
	struct npl_memory *memory;
	struct npl_memory_completion completion = {0};
	struct npl_memory_counters n;
	struct npl_memory_energy energy[NPL_MEMORY_ENERGIES];
	struct npl_err err;
	cr_assert_eq(npl_memory_open(name, &(struct npl_memory_options){.mapping = mapping}, &memory, &err), 0, "%s",
		     err.msg);
	const struct npl_memory_info *info = npl_memory_info(memory);
	uint64_t pushed = 0, n_taken = 0;
	while (n_taken < N) {
		struct npl_memory_request r = {.address = pushed * info->access_bytes, .bytes = info->access_bytes};
		for (; pushed < N && npl_memory_can_accept(memory, &r); r.address += info->access_bytes, pushed++)
			npl_memory_push(memory, &r);
		npl_memory_advance(memory, UINT64_MAX / 4,
				   pushed < N ? NPL_MEMORY_ROOM | NPL_MEMORY_COMPLETION : NPL_MEMORY_COMPLETION);
		while (npl_memory_completed(memory, &completion))
			n_taken++;
	}
	const double seconds = (double)completion.cycle * (double)info->clock.denominator /
			       (double)info->clock.numerator;
	const double bytes = (double)(N * info->access_bytes), share = bytes / seconds / info->peak_bytes_per_second;
	npl_memory_counters(memory, &n);
	*pj_per_bit = 0;
	for (int i = npl_memory_energy_of(memory, &n, energy) - 1; i >= 0; i--)
		*pj_per_bit += strcmp(energy[i].origin, "absent") ? (double)energy[i].events * energy[i].pj / bytes / 8
								  : NAN;
	npl_memory_close(memory);
	return share;
}

static void read_config(const char *name, struct npl_arena *arena, struct dram_config *config)
{
	char folder[2048], path[4096];
	struct npl_description machine;
	struct npl_err err;
	cr_assert_eq(npl_data_dir("memories", folder, sizeof folder, &err), 0, "%s", err.msg);
	snprintf(path, sizeof path, "%s/%s.yaml", folder, name);
	cr_assert_eq(npl_description_load(path, "model", arena, &machine, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(dram_params, &machine, arena, config, &err), 0, "%s", err.msg);
	cr_assert_str_eq(machine.name, name);
}

Test(memory_presets, all_presets_are_tested)
{
	struct npl_arena arena = {0};
	const char *const *names;
	struct npl_err err;
	int n;
	cr_assert_eq(npl_memory_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		struct npl_memory *memory;
		cr_assert_eq(npl_memory_open(names[i], NULL, &memory, &err), 0, "%s", err.msg);
		cr_expect_str_eq(npl_memory_info(memory)->name, names[i]);
		cr_expect(npl_memory_info(memory)->description, "%s", names[i]);
		bool known = strcmp(npl_memory_info(memory)->model, "dram") != 0;
		for (int p = 0; p < PRESETS; p++)
			known |= !strcmp(presets[p].name, names[i]);
		cr_expect(known, "%s is DRAM without a row in presets[]", names[i]);
		npl_memory_close(memory);
	}
	npl_arena_free(&arena);
}

Test(memory_presets, sizes_peaks_and_refreshes)
{
	for (int i = 0; i < PRESETS; i++) {
		const struct preset *p = &presets[i];
		struct npl_memory *memory;
		struct npl_err err;
		struct npl_arena arena = {0};
		struct dram_config c;
		cr_assert_eq(npl_memory_open(p->name, NULL, &memory, &err), 0, "%s", err.msg);
		const struct npl_memory_info *info = npl_memory_info(memory);
		cr_expect_eq(info->channels, p->channels, "%s: %d channels", p->name, (int)info->channels);
		cr_expect_eq((double)info->capacity_bytes, p->gib * 0x1p30, "%s: %g GiB", p->name,
			     (double)info->capacity_bytes / 0x1p30);
		cr_expect_float_eq(info->peak_bytes_per_second, p->peak, 1, "%s: %g bytes/s", p->name,
				   info->peak_bytes_per_second);
		npl_memory_close(memory);
		read_config(p->name, &arena, &c);
		/* A whole number of clocks, and no more than the standard's time. */
		const double clock = (double)c.hz_denominator / (double)c.hz_numerator;
		const double refi = (double)c.trefi * clock;
		cr_expect(refi <= p->refi * (1 + p->tolerance + 1e-12) && refi > p->refi * (1 - p->tolerance) - clock,
			  "%s: tREFI is %g s", p->name, refi);
		cr_expect_eq(c.tccd_l > c.tccd_s, p->groups, "%s", p->name);
		cr_expect_geq(c.tccd_s, (int64_t)dram_burst_cycles(&c), "%s: tCCD_S is less than a burst", p->name);
		npl_arena_free(&arena);
	}
}

Test(memory_presets, streams_reach_the_rate_that_refresh_leaves)
{
	for (int i = 0; i < PRESETS; i++) {
		const struct preset *p = &presets[i];
		struct npl_arena arena = {0};
		struct dram_config c;
		double pj, ignored;
		read_config(p->name, &arena, &c);
		/* A refresh takes PRE of each bank, tRP, tRFC, and ACT and tRCD before the next burst. */
		const double refresh = (double)c.trfc / (double)c.trefi,
			     about = (double)(c.trp + c.trcd_rd + c.tfaw + c.bank_groups * c.banks) / (double)c.trefi;
		const double share = stream(p->name, NULL, &pj);
		cr_expect(share <= 1 - refresh && share >= 1 - refresh - about, "%s: %g of peak, expected %g to %g",
			  p->name, share, 1 - refresh - about, 1 - refresh);
		if (isnan(p->pj_per_bit))
			cr_expect(isnan(pj), "%s: %g pJ, expected none", p->name, pj);
		else
			cr_expect_float_eq(pj, p->pj_per_bit, 0.06, "%s: %g pJ", p->name, pj);
		const double apart = stream(p->name, "row:rank:bank:bankgroup:column:channel", &ignored);
		if (p->groups)
			cr_expect_lt(apart, 0.8 * share, "%s: %g of peak in one group at a time", p->name, apart);
		else
			cr_expect_float_eq(apart, share, 0.01, "%s: %g of peak, %g by groups", p->name, share, apart);
		npl_arena_free(&arena);
	}
}
