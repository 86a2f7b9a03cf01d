/* SPDX-License-Identifier: MIT
 *
 * npulab dram: runs a memory alone, with the requests of a trace or a pattern. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "core/base/refuse.h"
#include "npulab/progress.h"
#include "npulab/report.h"
#include "page.h"
#include "reports/format/table.h"
#include "sim/memory/dram.h"

enum { DEFAULT_COUNT = 100000 };
#define DEFAULT_PRESET "ddr3-2133"
#define NOT_GIVEN      INT64_MIN

struct dram_options {
	const char *trace, *pattern, *preset, *mapping, *json, *html;
	int64_t count, channels, inject, threads, max_memory;
	bool every_cycle, list, yaml, quiet;
};

static void add_memory(struct npl_table *table, const char *name)
{
	struct npl_memory *memory;
	struct npl_err failure;
	char peak[32] = "-", capacity[32] = "-", channels[32] = "-", energy[64] = "-";
	struct npl_memory_counters zero_counters = {0};
	struct npl_memory_energy parts[NPL_MEMORY_ENERGIES];
	if (npl_memory_open(name, NULL, &memory, &failure)) {
		npl_table_row(table, (const char *const[]){name, "-", "-", "-", "-", "-", failure.msg});
		return;
	}
	const struct npl_memory_info *info = npl_memory_info(memory);
	npl_si_text(info->peak_bytes_per_second, "B/s", peak, sizeof peak);
	if (info->capacity_bytes != UINT64_MAX)
		snprintf(capacity, sizeof capacity, "%.4g GiB", (double)info->capacity_bytes / 0x1p30);
	snprintf(channels, sizeof channels, "%" PRId64, info->channels);
	if (npl_memory_energy_of(memory, &zero_counters, parts)) {
		const char *colon = strchr(parts[0].origin, ':'); /* modelled:TABLE */
		snprintf(energy, sizeof energy, "%s", colon ? colon + 1 : parts[0].origin);
	}
	npl_table_row(table, (const char *const[]){name, info->model, channels, peak, capacity, energy,
						   info->description ? info->description : ""});
	npl_memory_close(memory);
}

static int list_memories(struct npl_err *err)
{
	static const char *const header[] = {"MEMORY", "MODEL", "CHANNELS", "PEAK", "CAPACITY", "ENERGY", "WHAT"};
	static const char *const pattern_header[] = {"PATTERN", "WHAT"};
	struct npl_arena arena = {0};
	const char *const *names;
	struct npl_table table;
	int n, rc = npl_memory_list(&arena, &names, &n, err);
	if (!rc) {
		npl_table_open(&table, "llrrrll", header);
		for (int i = 0; i < n; i++)
			add_memory(&table, names[i]);
		npl_table_print(&table, stdout);
		rc = cli_table_printed(npl_table_close(&table), rc, err);
		npl_table_open(&table, "ll", pattern_header);
		for (const struct npl_traffic_pattern *p = npl_traffic_patterns; p->name; p++)
			npl_table_row(&table, (const char *const[]){p->name, p->help});
		putchar('\n');
		npl_table_print(&table, stdout);
		rc = cli_table_printed(npl_table_close(&table), rc, err);
	}
	npl_arena_free(&arena);
	return rc;
}

static int print_yaml(const struct npl_memory *memory, struct npl_err *err)
{
	struct npl_arena arena = {0};
	const char *yaml = npl_memory_yaml(memory, &arena);
	int rc = yaml ? 0 : npl_no_memory(err);
	if (yaml)
		fputs(yaml, stdout);
	npl_arena_free(&arena);
	return rc;
}

/* Makes the JSON and writes it, or the page of it, or both. */
static int write_outputs(const struct dram_options *o, const struct npl_traffic_report *report, struct npl_err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	struct npl_err failure;
	FILE *out = open_memstream(&text, &bytes);
	int rc = out ? npl_dram_json(out, report, err) : npl_no_memory(err);
	if (out && fclose(out) && !rc)
		rc = npl_no_memory(err);
	const bool is_made = !rc;
	if (is_made && o->json)
		rc = cli_write(o->json, text, bytes, err);
	if (is_made && o->html && cli_write_page_of(o->html, text, bytes, &failure))
		rc = cli_also_failed(rc, &failure, err);
	free(text);
	return rc;
}

static int run_traffic(const struct dram_options *o, struct npl_memory *memory, struct npl_err *err)
{
	struct npl_traffic *traffic = NULL;
	struct npl_traffic_result result;
	const struct npl_traffic_options traffic_options = {.inject = o->inject};
	const struct npl_traffic_report report = {.name = o->pattern              ? o->pattern
							  : strcmp(o->trace, "-") ? o->trace
										  : "standard input",
						  .is_pattern = o->pattern,
						  .every_cycle = o->every_cycle,
						  .memory = memory,
						  .result = &result};
	npl_progress_part(o->preset, NULL, 0, 0);
	int rc = o->pattern ? npl_traffic_open_pattern(o->pattern, o->count, npl_memory_info(memory), &traffic, err)
			    : npl_traffic_open_trace(o->trace, npl_memory_info(memory), &traffic, err);
	if (!rc)
		rc = npl_traffic_run(memory, traffic, &traffic_options, &result, err);
	cli_waiting_end();
	if (rc && !traffic && o->pattern)
		npl_prefix(err, "--pattern %s", o->pattern);
	npl_traffic_close(traffic);
	if (rc)
		return rc;
	if (o->json || o->html)
		rc = write_outputs(o, &report, err);
	if (!o->quiet && !cli_is_stdout(o->json) && !cli_is_stdout(o->html))
		rc = cli_table_printed(npl_dram_table(stdout, &report), rc, err);
	return rc;
}

static int check_usage(const struct dram_options *o, struct npl_err *err)
{
	const bool sets_memory = o->preset || o->channels != NOT_GIVEN || o->mapping;
	if (o->list &&
	    (o->trace || o->pattern || o->yaml || o->json || o->html || sets_memory || o->inject || o->every_cycle))
		return npl_fail(err, NPL_EUSAGE, "dram: --list goes alone");
	if (o->yaml && (o->trace || o->pattern || o->json || o->html))
		return npl_fail(err, NPL_EUSAGE, "dram: --yaml goes with --preset, --channels and --mapping alone");
	if (!o->list && !o->yaml && !o->trace == !o->pattern)
		return npl_fail(err, NPL_EUSAGE, "dram: expected either a trace or --pattern; usage: npulab dram %s",
				cli_dram.arguments);
	if (o->count != NOT_GIVEN && !o->pattern)
		return npl_fail(err, NPL_EUSAGE, "dram: -n goes with --pattern");
	return cli_check_stdout((const struct cli_destination[]){{"--json", o->json}, {"--html", o->html}}, 2, err);
}

static int open_memory(const struct dram_options *o, struct npl_memory **memory, struct npl_err *err)
{
	const struct npl_memory_options options = {.channels = o->channels == NOT_GIVEN ? 0 : o->channels,
						   .mapping = o->mapping,
						   .every_cycle = o->every_cycle};
	if (npl_memory_open(o->preset, &options, memory, err))
		return err->code;
	if (o->every_cycle && strcmp(npl_memory_info(*memory)->model, "dram"))
		return npl_fail(err, NPL_EUSAGE, "dram: --every-cycle is for DRAM; %s is %s", o->preset,
				npl_memory_info(*memory)->model);
	return 0;
}

static int dram_main(int argc, char **argv, struct npl_err *err)
{
	struct dram_options o = {.count = NOT_GIVEN, .channels = NOT_GIVEN};
	struct npl_memory *memory = NULL;
	bool help_printed;
	int n_words;
	const struct cli_option options[] = {
		{"pattern", CLI_TEXT, &o.pattern, 0, 0, "NAME", "requests of a pattern instead (--list has them)"},
		{"n", CLI_INT, &o.count, 1, NPL_TRAFFIC_MAX_COUNT, "N",
		 "so many requests of the pattern (default 100000)"},
		{"preset", CLI_TEXT, &o.preset, 0, 0, "NAME", "the memory, or its file (default " DEFAULT_PRESET ")"},
		{"channels", CLI_INT, &o.channels, 1, DRAM_MAX_CHANNELS, "N",
		 "channels of the memory, in place of its own"},
		{"mapping", CLI_TEXT, &o.mapping, 0, 0, "FIELDS",
		 "the fields of an address, highest first, as row:bank:column:channel"},
		{"inject", CLI_INT, &o.inject, 1, NPL_TRAFFIC_MAX_RATE, "N",
		 "offer N requests per cycle, whatever the trace's cycles (patterns: 2 per channel)"},
		{"every-cycle", CLI_FLAG, &o.every_cycle, 0, 0, NULL,
		 "of DRAM: the engine that skips nothing; the same figures, slowly"},
		{"list", CLI_FLAG, &o.list, 0, 0, NULL, "the memories and patterns there are"},
		{"yaml", CLI_FLAG, &o.yaml, 0, 0, NULL, "the memory's parameters as a file to edit and run"},
		CLI_THREADS_OPTION(&o.threads),
		CLI_MEMORY_OPTION(&o.max_memory),
		CLI_JSON_OPTION(&o.json),
		CLI_HTML_OPTION(&o.html),
		CLI_QUIET_OPTION(&o.quiet, ""),
		{0}};
	if (cli_parse(&cli_dram, options, argc, argv, &o.trace, 1, &n_words, &help_printed, err) || help_printed)
		return help_printed ? 0 : err->code;
	if (check_usage(&o, err))
		return err->code;
	if (o.list)
		return list_memories(err);
	o.count = o.count == NOT_GIVEN ? DEFAULT_COUNT : o.count;
	o.preset = o.preset ? o.preset : DEFAULT_PRESET;
	int rc = open_memory(&o, &memory, err);
	if (!rc)
		rc = o.yaml ? print_yaml(memory, err) : run_traffic(&o, memory, err);
	npl_memory_close(memory);
	return rc;
}

const struct cli_command cli_dram = {"dram", "TRACE|--pattern NAME [-n N] [--preset NAME]",
				     "a memory alone, under a trace of requests or a pattern", dram_main};
