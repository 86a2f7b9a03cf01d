/* SPDX-License-Identifier: MIT
 *
 * The DRAM model beside two simulators (published/dram.csv has their versions and the patterns): Ramulator 2.1's cycles
 * and DRAMsim3's energy are judged; DRAMsim3's cycles are shown beside them. Also compares the bandwidth for the TPU's
 * weight tiles with the peak, and that of streams that DDR4's bank groups limit. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/progress.h"
#include "npulab/traffic.h"
#include "validation.h"

#define MACHINE "dram"

enum { REQUESTS = 100000, CASE_NAME = 60 };

struct outcome {
	double peak_bytes_per_second, group_share; /* group_share: the share of the peak that one bank group can have */
	struct npl_traffic_result result;
	struct npl_traffic_figures figures;
};

/* Finds the clocks of a burst over those from one burst of the group to the next. */
static int find_group_share(const struct npl_memory *memory, struct outcome *outcome, struct npl_err *err)
{
	struct npl_arena arena = {0};
	const struct npl_param_value *value;
	int n, rc = npl_memory_settings(memory, &arena, &value, &n);
	if (!rc)
		outcome->group_share = npl_param_number(value, n, "organisation.burst_length") /
				       npl_param_number(value, n, "clock.transfers") /
				       npl_param_number(value, n, "timing.tCCD_L");
	npl_arena_free(&arena);
	return rc ? npl_no_memory(err) : 0;
}

static int run_pattern(const char *preset, const struct npl_memory_options *options, const char *pattern,
		       struct outcome *outcome, struct npl_err *err)
{
	struct npl_memory *memory = NULL;
	struct npl_traffic *traffic = NULL;
	int rc = npl_memory_open(preset, options, &memory, err);
	if (!rc)
		rc = npl_traffic_open_pattern(pattern, REQUESTS, npl_memory_info(memory), &traffic, err);
	if (!rc)
		rc = npl_traffic_run(memory, traffic, NULL, &outcome->result, err);
	if (!rc) {
		npl_traffic_figures_of(memory, &outcome->result, &outcome->figures);
		outcome->peak_bytes_per_second = npl_memory_info(memory)->peak_bytes_per_second;
		rc = find_group_share(memory, outcome, err);
	}
	npl_traffic_close(traffic);
	npl_memory_close(memory);
	return rc;
}

static double cycles(const struct outcome *o)
{
	return (double)o->result.cycles;
}

static double energy(const struct outcome *o)
{
	return o->figures.total_joules;
}

/* Returns the energy of the parts whose names end in `end`. */
static double parts(const struct outcome *o, const char *end)
{
	double joules = 0;
	for (int i = 0; i < o->result.n_energy; i++) {
		const char *part = o->result.energy[i].name;
		const size_t length = strlen(part), tail = strlen(end);
		if (length >= tail && !strcmp(part + length - tail, end))
			joules += o->figures.joules[i];
	}
	return joules;
}

static double activate_energy(const struct outcome *o)
{
	return parts(o, "activate");
}

static double read_energy(const struct outcome *o)
{
	return parts(o, "read");
}

static double write_energy(const struct outcome *o)
{
	return parts(o, "write");
}

static double refresh_energy(const struct outcome *o)
{
	return parts(o, "refresh");
}

static double background_energy(const struct outcome *o)
{
	return parts(o, "standby");
}

static double activates(const struct outcome *o)
{
	return (double)o->result.counters.activates;
}

static double refreshes(const struct outcome *o)
{
	return (double)o->result.counters.refreshes;
}

static double row_hit_rate(const struct outcome *o)
{
	return o->figures.row_hit_rate;
}

static double read_latency(const struct outcome *o)
{
	return o->result.read_latency.mean;
}

/* A figure that both simulators have gets two rows. */
static const struct {
	const char *metric, *unit;
	double (*figure)(const struct outcome *outcome);
} metrics[] = {
	{"cycles", "cycles", cycles},
	{"dramsim3_cycles", "cycles", cycles},
	{"energy", "J", energy},
	{"activate_energy", "J", activate_energy},
	{"read_energy", "J", read_energy},
	{"write_energy", "J", write_energy},
	{"refresh_energy", "J", refresh_energy},
	{"background_energy", "J", background_energy},
	{"activates", "activates", activates},
	{"dramsim3_activates", "activates", activates},
	{"refreshes", "refreshes", refreshes},
	{"dramsim3_refreshes", "refreshes", refreshes},
	{"row_hit_rate", "fraction", row_hit_rate},
	{"dramsim3_row_hit_rate", "fraction", row_hit_rate},
	{"read_latency", "cycles", read_latency},
	{"dramsim3_read_latency", "cycles", read_latency},
};
#define METRICS ((int)(sizeof metrics / sizeof *metrics))

static const char *const patterns[] = {"stream_rd", "stream_wr", "copy", "triad", "tile2k", "random_rd", "stride64k"};
#define PATTERNS ((int)(sizeof patterns / sizeof *patterns))

static int validate_pattern(struct npl_validation *validation, const char *pattern, int channels, struct npl_err *err)
{
	struct outcome outcome;
	char name[CASE_NAME];
	snprintf(name, sizeof name, "%s, %s", pattern, channels == 1 ? "one channel" : "two channels");
	int rc = run_pattern("ddr3-2133", &(struct npl_memory_options){.channels = channels}, pattern, &outcome, err);
	for (int m = 0; m < METRICS && !rc; m++) {
		const double model = metrics[m].figure(&outcome);
		if (!isnan(model)) /* a pattern without reads has no latency of reads */
			rc = npl_validation_set(validation, MACHINE, name, metrics[m].metric, metrics[m].unit, model,
						err);
	}
	return rc;
}

/* Runs tiles at random places on the weight memory of the first TPU. The paper draws less than the peak; the model must
 * not lose more than that difference. */
static int validate_tiles(struct npl_validation *validation, struct npl_err *err)
{
	static const char name[] = "64 KiB tiles, two channels";
	struct outcome o;
	int rc = run_pattern("ddr3-2133", &(struct npl_memory_options){.channels = 2}, "tile64k", &o, err);
	if (rc)
		return rc;
	rc = npl_validation_set(validation, MACHINE, name, "bandwidth", "GiB/s", o.result.bytes_per_second / 0x1p30,
				err);
	if (rc)
		return rc;
	const struct npl_validation_row *paper = npl_validation_find(validation, MACHINE, name, "bandwidth");
	const struct npl_validation_row loss = {
		.case_name = name,
		.metric = "lost_bandwidth",
		.unit = "fraction",
		.published = 1 - paper->published * 0x1p30 / o.peak_bytes_per_second,
		.model = 1 - o.figures.peak_fraction,
		.tolerance = 0,
		.at_most = true,
		.reference = paper->reference,
		.source = paper->source,
		.note = "of the peak, to refresh and to the way from row to row; published is derived from the "
			"bandwidth"};
	return npl_validation_add(validation, MACHINE, &loss, err);
}

static int validate_bank_groups(struct npl_validation *validation, struct npl_err *err)
{
	struct outcome over_columns_outcome, one_group_outcome;
	const struct npl_memory_options over_columns = {.mapping = "row:rank:bank:bankgroup:column:channel"};
	const struct npl_memory_options over_all = {.mapping = "bankgroup:row:rank:bank:column:channel"};
	int rc = run_pattern("ddr4-2400", &over_columns, "stream_rd", &over_columns_outcome, err);
	if (!rc)
		rc = run_pattern("ddr4-2400", &over_all, "stream_rd", &one_group_outcome, err);
	if (!rc)
		rc = npl_validation_set(validation, MACHINE, "DDR4-2400, groups over columns", "peak_fraction",
					"fraction", over_columns_outcome.figures.peak_fraction, err);
	if (rc)
		return rc;
	const struct npl_validation_row bound = {.case_name = "DDR4-2400, in one group",
						 .metric = "peak_fraction",
						 .unit = "fraction",
						 .published = one_group_outcome.group_share,
						 .model = one_group_outcome.figures.peak_fraction,
						 .tolerance = 0,
						 .at_most = true,
						 .reference = "JEDEC JESD79-4",
						 .source = "DDR4-2400, one channel",
						 .note = "a burst every tCCD_L: no controller can have more"};
	return npl_validation_add(validation, MACHINE, &bound, err);
}

/* Refuses settings: a memory has only those of its file. */
static int refuse_sets(const struct npl_validate_options *options, struct npl_err *err)
{
	for (int s = 0; s < options->n_sets; s++)
		if (!strncmp(options->set[s], MACHINE ".", strlen(MACHINE ".")))
			return npl_fail(
				err, NPL_EUSAGE,
				"--set %s: memories are validated as their files have them; `npulab dram --preset "
				"FILE` runs a changed one",
				options->set[s]);
	return 0;
}

int npl_validate_dram(struct npl_validation *validation, const struct npl_validate_options *options,
		      struct npl_err *err)
{
	int rc = refuse_sets(options, err);
	if (!rc)
		rc = npl_validation_load(validation, MACHINE, MACHINE ".csv", err);
	for (int i = 0; i < 2 * PATTERNS && !rc; i++) {
		npl_progress_part("dram", "pattern", i + 1, 2 * PATTERNS);
		rc = validate_pattern(validation, patterns[i % PATTERNS], 1 + i / PATTERNS, err);
	}
	if (!rc)
		rc = validate_tiles(validation, err);
	return rc ? rc : validate_bank_groups(validation, err);
}
