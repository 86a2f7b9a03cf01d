/* SPDX-License-Identifier: MIT
 *
 * Promises of `npulab dram`: every bad input is refused by one line that says where and what was expected; a trace
 * gives the same figures plain, compressed and on both engines; its cycles hold unless --inject takes their place; the
 * JSON has its keys in order and its books balance; a dumped memory runs as the one it is from; the figures of the two
 * simulators are met within their tolerances, with `npulab validate dram`. */
#include "tests/kit/cli_json.h"

#include <zlib.h>

#include "core/files/csv.h"
#include "npulab/traffic.h"
#include "npulab/validate.h"
#include "validate/validation.h"

static const struct cli_run_options plainly;

Test(cli_dram, wrong_traces_are_refused)
{
	static const struct {
		const char *text, *expected;
	} traces[] = {
		{"", "trace: there is no request in it, expected lines '0xADDRESS READ|WRITE CYCLE'"},
		{"# nothing\n\n", "trace: there is no request in it"},
		{"0x0 READ 0\nREAD 0x40 1\n", "trace:2: the address is 'READ', expected '0xADDRESS READ|WRITE CYCLE'"},
		{"# a\n\n64 READ 1\n", "trace:3: the address is '64'"},
		{"0x READ 1\n", "trace:1: the address is '0x'"},
		{"0xg READ 1\n", "trace:1: the address is '0xg'"},
		{"-0x40 READ 1\n", "trace:1: the address is '-0x40'"},
		{"0x-40 READ 1\n", "trace:1: the address is '0x-40'"},
		{"0x10000000000000040 READ 1\n", "trace:1: address 0x10000000000000040 is beyond the memory"},
		{"0x100000000 READ 1\n",
		 "trace:1: address 0x100000000 is beyond the memory, expected less than 0x100000000"},
		{"0xffffffffffffffff READ 1\n", "trace:1: address 0xffffffffffffffff is beyond the memory"},
		{"0x40 REED 1\n", "trace:1: the operation is 'REED', expected '0xADDRESS READ|WRITE CYCLE'"},
		{"0x40 Read 1\n", "trace:1: the operation is 'Read'"},
		{"0x40 READS 1\n", "trace:1: the operation is 'READS'"},
		{"0x40\n", "trace:1: the operation is ''"},
		{"0x40 READ\n", "trace:1: there is no cycle after 'READ'"},
		{"0x40 READ # 7\n", "trace:1: there is no cycle after 'READ'"},
		{"0x40 READ -1\n", "trace:1: the cycle is '-1', expected a whole number from 0 to 1099511627776"},
		{"0x40 READ 1.5\n", "trace:1: the cycle is '1.5'"},
		{"0x40 READ 1099511627777\n", "trace:1: the cycle is '1099511627777'"},
		{"0x40 READ 18446744073709551617\n", "trace:1: the cycle is '18446744073709551617'"},
		{"0x40 READ 1 2\n", "trace:1: after the cycle comes '2'"},
		{"0x40 READ 9\n\n0x40 READ 8", "trace:3: cycle 8 after cycle 9, expected cycles that do not go down"},
		{"\x1f\x8bREAD 9\n", "trace:1: cannot be read on: the gzip data are damaged"},
	};
	char folder[CLI_PATH];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
		cli_write_text(folder, "trace", traces[i].text);
		const struct cli_refusal cases[] = {
			{3, traces[i].expected, {"dram", "@/trace", "--json", "@/out.json"}},
			{3, traces[i].expected, {"dram", "@/trace", "--every-cycle"}}};
		CLI_CHECK(folder, cases);
	}
	char nul[] = "0x40 READ\0001\n", *wide = malloc(1 << 20);
	cli_write(folder, "trace", nul, sizeof nul - 1);
	const struct cli_refusal with_nul[] = {{3, "trace:1: a byte of value 0", {"dram", "@/trace"}}};
	CLI_CHECK(folder, with_nul);
	cr_assert(wide);
	memset(wide, ' ', 1 << 20);
	cli_write(folder, "trace", wide, 1 << 20);
	const struct cli_refusal too_wide[] = {
		{3, "trace:1: the line is too long, expected at most 4096 bytes", {"dram", "@/trace"}}};
	CLI_CHECK(folder, too_wide);
	free(wide);
	cli_remove_folder(folder);
}

Test(cli_dram, wrong_options_are_refused)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "trace", "0x40 READ 1\n");
	struct cli_result yaml = cli_run(&plainly, "dram", "--yaml");
	cr_assert_eq(yaml.status, 0, "%s", yaml.err);
	char *trc = strstr(yaml.out, "tRC: 49");
	cr_assert(trc);
	memcpy(trc, "tRC: 48", 7);
	cli_write_text(folder, "contradicts.yaml", yaml.out);
	cli_free(&yaml);
	cli_write_text(folder, "model.yaml", "name: x\nmodel: sram\n");
	cli_write_text(folder, "fixed.yaml", "name: f\nmodel: fixed\nbytes_per_second: 1000000000\n");
#define STREAM "dram", "--pattern", "stream_rd"
	const struct cli_refusal cases[] = {
		{2, "expected either a trace or --pattern", {"dram"}},
		{2, "expected either a trace or --pattern", {"dram", "@/trace", "--pattern", "copy"}},
		{2, "unexpected argument", {"dram", "@/trace", "@/trace"}},
		{2, "-n goes with --pattern", {"dram", "@/trace", "-n", "5"}},
		{2, "-n must be a whole number from 1", {STREAM, "-n", "0"}},
		{2, "--inject must be a whole number from 1 to 1024", {STREAM, "--inject", "0"}},
		{2, "--inject must be", {STREAM, "--inject", "1025"}},
		{2, "--channels must be a whole number", {STREAM, "--channels", "two"}},
		{2, "--list goes alone", {"dram", "--list", "--pattern", "copy"}},
		{2, "--yaml goes with", {"dram", "--yaml", "@/trace"}},
		{2, "the nearest is '--preset'", {STREAM, "--prest", "x"}},
		{2, "is read by this run and would be overwritten", {"dram", "@/trace", "--json", "@/trace"}},
		{2,
		 "is read by this run and would be overwritten",
		 {STREAM, "--preset", "@/fixed.yaml", "--json", "@/fixed.yaml"}},
		{2, "--every-cycle is for DRAM", {STREAM, "--preset", "@/fixed.yaml", "--every-cycle"}},
		{2,
		 "--pattern stream: there is no pattern 'stream'; the nearest is 'stream_rd'",
		 {"dram", "--pattern", "stream"}},
		{2, "there is no memory 'ddr3-2134'; the nearest is 'ddr3-2133'", {STREAM, "--preset", "ddr3-2134"}},
		{3, "none.yaml", {STREAM, "--preset", "@/none.yaml"}},
		{3, "the model is 'sram', expected ideal, fixed or dram", {STREAM, "--preset", "@/model.yaml"}},
		{3,
		 "contradicts.yaml:29: the timings contradict each other: expected that tRC is at least tRAS + tRP",
		 {STREAM, "--preset", "@/contradicts.yaml"}},
		{2, "--channels must be a whole number from 1", {STREAM, "--channels", "0"}},
		{2, "--channels must be a whole number from 1", {STREAM, "--channels", "-2"}},
		{2, "--channels must be a whole number from 1 to 64, got '1000000'", {STREAM, "--channels", "1000000"}},
		{2, "has no channels and no mapping", {STREAM, "--preset", "@/fixed.yaml", "--channels", "2"}},
		{2, "has the unknown field", {STREAM, "--mapping", "row:bunk:column"}},
		{2, "has the unknown field", {STREAM, "--mapping", ""}},
		{2, "names twice", {STREAM, "--mapping", "row:bank:row:column"}},
		{2, "leaves out", {STREAM, "--mapping", "row:bank"}},
		{2, "leaves out", {STREAM, "--mapping", "row:bank:column", "--channels", "2"}},
		{3, "cannot be opened", {"dram", "@/none"}},
		{3, "cannot be read: Is a directory", {"dram", "@"}},
		{3, "standard input: there is no request in it", {"dram", "-"}},
		{5, "cannot be written", {STREAM, "--json", "@/none/r.json"}},
	};
	CLI_CHECK(folder, cases);
	cli_remove_folder(folder);
}

/* Reads and writes over the first 8 MiB, in bursts with gaps between. */
static void write_trace(const char *folder, bool packed)
{
	uint64_t rng = 77, cycle = 0;
	gzFile file = gzopen(cli_path(folder, packed ? "trace.gz" : "trace"), packed ? "wb" : "wT");
	cr_assert(file);
	for (int i = 0; i < 5000; i++) {
		rng = rng * 6364136223846793005u + 1442695040888963407u;
		cycle += rng >> 60 ? rng >> 61 : 5000;
		cr_assert_gt(gzprintf(file, "0x%llx %s %llu\n", (unsigned long long)(rng >> 41),
				      rng >> 30 & 1 ? "WRITE" : "READ", (unsigned long long)cycle),
			     0);
	}
	cr_assert_eq(gzclose(file), Z_OK);
}

static void check_json(json_t *root, long long requests)
{
	static const char *const parts[] = {"activate", "read", "write", "refresh", "active_standby", "idle_standby"};
	double sum = 0;
	cli_check_keys(root,
		       "schema:s npulab:o traffic:o memory:o cycles:i seconds:n gb_per_s:n peak_fraction:n "
		       "row_hit_rate:n latency_cycles:o read_latency_cycles:O write_latency_cycles:O counters:o "
		       "energy_j:o energy_origin:s pj_per_bit:n settings:o",
		       "dram");
	cr_assert_str_eq(cli_text(cli_at(root, "schema")), "npulab.dram/1");
	cli_check_keys(cli_at(root, "traffic"), "kind:s name:s requests:i inject:I", "traffic");
	cli_check_keys(cli_at(root, "memory"),
		       "name:s model:s description:S engine:s channels:i mapping:S clock_hz:n access_bytes:I "
		       "capacity_bytes:I peak_gb_per_s:N memory_sha256:s",
		       "memory");
	json_t *n = cli_at(root, "counters");
	const long long cycles = cli_integer(cli_at(root, "cycles")),
			channels = cli_integer(cli_at(root, "memory.channels"));
	const long long reads = cli_integer(cli_at(n, "reads")), writes = cli_integer(cli_at(n, "writes"));
	const long long commands = cli_integer(cli_at(n, "read_commands")) + cli_integer(cli_at(n, "write_commands"));
	const double seconds = cli_number(cli_at(root, "seconds"));
	const double bytes = (double)(cli_integer(cli_at(n, "read_bytes")) + cli_integer(cli_at(n, "written_bytes")));
	cr_assert_eq(reads + writes, requests);
	cr_assert_eq(cli_integer(cli_at(root, "traffic.requests")), requests);
	cr_assert_eq(cli_integer(cli_at(n, "read_commands")) + cli_integer(cli_at(n, "forwarded")), reads);
	cr_assert_eq(cli_integer(cli_at(n, "write_commands")), writes);
	cr_assert_eq(cli_integer(cli_at(n, "active_rank_cycles")) + cli_integer(cli_at(n, "idle_rank_cycles")),
		     cycles * channels * cli_integer(json_object_get(cli_at(root, "settings"), "organisation.ranks")));
	cr_assert(cli_near(bytes, 64 * (double)requests, 0));
	cr_assert(cli_near(seconds * cli_number(cli_at(root, "memory.clock_hz")), (double)cycles, 1e-12));
	cr_assert(cli_near(cli_number(cli_at(root, "gb_per_s")), bytes * 1e-9 / seconds, 1e-12));
	cr_assert(cli_near(cli_number(cli_at(root, "peak_fraction")) * cli_number(cli_at(root, "memory.peak_gb_per_s")),
			   cli_number(cli_at(root, "gb_per_s")), 1e-12));
	cr_assert(cli_near(cli_number(cli_at(root, "row_hit_rate")) * (double)commands,
			   (double)cli_integer(cli_at(n, "row_hits")), 1e-9));
	cr_assert_eq(json_object_size(cli_at(root, "energy_j")), 7);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		sum += cli_number(cli_at(cli_at(root, "energy_j"), parts[i]));
	cr_assert(sum > 0 && cli_near(sum, cli_number(cli_at(root, "energy_j.total")), 1e-12));
	cr_assert(cli_near(cli_number(cli_at(root, "pj_per_bit")), sum * 1e12 / (8 * bytes), 1e-12));
	cr_assert_eq(cli_integer(json_object_get(cli_at(root, "settings"), "timing.tRCD")), 13);
	cr_assert_leq(cli_integer(cli_at(root, "latency_cycles.p99")), cli_integer(cli_at(root, "latency_cycles.max")));
}

/* Compares all figures. The keys that say what was run, and on which engine, are left out. */
static void check_same(json_t *a, json_t *b, const char *subject)
{
	static const char *const keys[] = {"cycles",        "seconds",  "latency_cycles", "read_latency_cycles",
					   "row_hit_rate",  "counters", "energy_j",       "write_latency_cycles",
					   "energy_origin", "settings", "pj_per_bit",     "gb_per_s"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		cr_assert(json_equal(cli_at(a, keys[i]), cli_at(b, keys[i])), "%s: %s", subject, keys[i]);
}

Test(cli_dram, a_compressed_trace_gives_the_same)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	write_trace(folder, false);
	write_trace(folder, true);
	size_t plain_bytes, packed_bytes;
	free(cli_read(cli_path(folder, "trace"), &plain_bytes));
	free(cli_read(cli_path(folder, "trace.gz"), &packed_bytes));
	cr_assert_lt(packed_bytes, plain_bytes);
	json_t *plain = cli_json(&options, "dram", "@/trace", "--channels", "2", "--json", "-");
	json_t *packed = cli_json(&options, "dram", "@/trace.gz", "--channels", "2", "--json", "-");
	json_t *slow = cli_json(&options, "dram", "@/trace", "--channels", "2", "--every-cycle", "--json", "-");
	check_json(plain, 5000);
	cr_assert(json_is_null(cli_at(plain, "traffic.inject")));
	cr_assert_str_eq(cli_text(cli_at(plain, "memory.engine")), "fast");
	cr_assert_str_eq(cli_text(cli_at(slow, "memory.engine")), "every_cycle");
	check_same(plain, packed, "compressed");
	check_same(plain, slow, "every cycle");
	/* offered at once it takes less time than with the trace's gaps, and its cycles may go down */
	json_t *injected = cli_json(&options, "dram", "@/trace", "--channels", "2", "--inject", "4", "--json", "-");
	check_json(injected, 5000);
	cr_assert_eq(cli_integer(cli_at(injected, "traffic.inject")), 4);
	cr_assert_lt(cli_integer(cli_at(injected, "cycles")), cli_integer(cli_at(plain, "cycles")) / 2);
	json_t *one = cli_json(&options, "dram", "@/trace", "--channels", "2", "--inject", "1", "--json", "-");
	cr_assert_gt(cli_integer(cli_at(one, "cycles")), 4999, "one a cycle");
	cli_write_text(folder, "down", "0x0 READ 1000\n0x40 READ 7\n");
	json_t *down = cli_json(&options, "dram", "@/down", "--inject", "1", "--json", "-");
	cr_assert_lt(cli_integer(cli_at(down, "cycles")), 100);
	/* one request, alone: ACT at once, RD tRCD later, its data from CL later on for four clocks */
	cli_write_text(folder, "single", "0x1234 READ 100");
	json_t *single = cli_json(&options, "dram", "@/single", "--json", "-");
	cr_assert_eq(cli_integer(cli_at(single, "cycles")), 100 + 13 + 13 + 4);
	cr_assert_eq(cli_integer(cli_at(single, "latency_cycles.p99")), 13 + 13 + 4);
	cr_assert(json_is_null(cli_at(single, "write_latency_cycles")));
	json_t *all[] = {plain, packed, slow, injected, one, down, single};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		json_decref(all[i]);
	cli_remove_folder(folder);
}

/* Every pattern runs on both engines and balances its books, and the table has the figures of the JSON. */
Test(cli_dram, patterns_balance_their_books_on_both_engines)
{
	for (const struct npl_traffic_pattern *p = npl_traffic_patterns; p->name; p++) {
		json_t *fast = cli_json(&plainly, "dram", "--pattern", p->name, "-n", "3000", "--channels", "2",
					"--json", "-");
		json_t *slow = cli_json(&plainly, "dram", "--pattern", p->name, "-n", "3000", "--channels", "2",
					"--every-cycle", "--json", "-");
		check_json(fast, 3000);
		check_same(fast, slow, p->name);
		cr_assert_eq(cli_integer(cli_at(fast, "traffic.inject")), 4, "two per channel");
		char cycles[40];
		snprintf(cycles, sizeof cycles, " %lld  to the last", cli_integer(cli_at(fast, "cycles")));
		struct cli_result table = cli_run(&plainly, "dram", "--pattern", p->name, "-n", "3000", "--channels",
						  "2");
		cr_assert(table.status == 0 && strstr(table.out, cycles) &&
				  cli_says(table.out, "4 offered per cycle") &&
				  cli_says(table.out, "latency, 99th percentile"),
			  "%s", table.out);
		cli_free(&table);
		json_decref(fast);
		json_decref(slow);
	}
	struct cli_result quiet = cli_run(&plainly, "dram", "--pattern", "copy", "--quiet");
	cr_assert(quiet.status == 0 && quiet.out_bytes == 0 && quiet.err_bytes == 0);
	cli_free(&quiet);
}

/* What is not known is null: energy without currents, commands and a peak that a model does not have. */
Test(cli_dram, what_is_not_known_is_null)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result yaml = cli_run(&plainly, "dram", "--yaml");
	char *origin = strstr(yaml.out, "origin: \"modelled:");
	cr_assert(origin);
	memcpy(origin, "origin: absent # ", 17);
	cli_write_text(folder, "absent.yaml", yaml.out);
	cli_free(&yaml);
	cli_write_text(folder, "ideal.yaml", "name: i\nmodel: ideal\n");
	json_t *root = cli_json(&options, "dram", "--pattern", "copy", "--preset", "@/absent.yaml", "--json", "-");
	cr_assert(json_is_null(cli_at(root, "energy_j.total")) && json_is_null(cli_at(root, "energy_j.read")) &&
		  json_is_null(cli_at(root, "pj_per_bit")));
	cr_assert_str_eq(cli_text(cli_at(root, "energy_origin")), "absent");
	json_decref(root);
	root = cli_json(&options, "dram", "--pattern", "copy", "--preset", "@/ideal.yaml", "--json", "-");
	cr_assert(json_is_null(cli_at(root, "energy_j.total")) && json_is_null(cli_at(root, "peak_fraction")) &&
		  json_is_null(cli_at(root, "row_hit_rate")) && json_is_null(cli_at(root, "counters.activates")) &&
		  json_is_null(cli_at(root, "memory.capacity_bytes")));
	cr_assert_eq(cli_integer(cli_at(root, "cycles")), 49999, "two a cycle, answered at once");
	json_decref(root);
	struct cli_result table = cli_run(&options, "dram", "--pattern", "copy", "--preset", "@/absent.yaml");
	cr_assert(strstr(table.out, "absent") && !strstr(table.out, "nan"), "%s", table.out);
	cli_free(&table);
	cli_remove_folder(folder);
}

Test(cli_dram, memories_are_listed_and_dumped_files_read_back)
{
	char folder[CLI_PATH];
	cli_folder(folder);
	const struct cli_run_options options = {.folder = folder};
	struct cli_result list = cli_run(&plainly, "dram", "--list");
	cr_assert(list.status == 0 && strstr(list.out, "ddr3-2133 ") && strstr(list.out, "17.1 GB/s") &&
			  strstr(list.out, "tile2k "),
		  "%s%s", list.out, list.err);
	cli_free(&list);
	static const char mapping[] = "row:rank:column:bank:channel";
	struct cli_result yaml = cli_run(&plainly, "dram", "--yaml", "--channels", "4", "--mapping", mapping);
	cr_assert_eq(yaml.status, 0, "%s", yaml.err);
	cli_write_text(folder, "mine.yaml", yaml.out);
	json_t *mine = cli_json(&options, "dram", "--pattern", "triad", "--preset", "@/mine.yaml", "--json", "-");
	json_t *same = cli_json(&options, "dram", "--pattern", "triad", "--channels", "4", "--mapping", mapping,
				"--json", "-");
	check_same(mine, same, "a dumped memory");
	cr_assert(json_equal(cli_at(mine, "memory.memory_sha256"), cli_at(same, "memory.memory_sha256")));
	cr_assert_str_eq(cli_text(cli_at(mine, "memory.mapping")), mapping);
	struct cli_result again = cli_run(&options, "dram", "--yaml", "--preset", "@/mine.yaml");
	cr_assert_str_eq(again.out, yaml.out);
	cli_free(&again);
	cli_free(&yaml);
	json_decref(mine);
	json_decref(same);
	cli_remove_folder(folder);
}

/* Cycles of Ramulator 2.1 within 5 %, energy of DRAMsim3 within 3 % (one-channel copy 8 %), on every pattern, one and
 * two channels. */
Test(cli_dram, cycles_and_energy_are_near_other_simulators)
{
	struct npl_validation v;
	struct npl_err err;
	int cycles = 0, energies = 0, judged = 0;
	cr_assert_eq(npl_validate("dram", &(struct npl_validate_options){0}, &v, &err), 0, "%s", err.msg);
	for (int i = 0; i < v.n; i++) {
		const struct npl_validation_row *row = &v.row[i];
		const bool is_copy = !strcmp(row->case_name, "copy, one channel");
		cr_assert(row->attempted && isfinite(row->model), "%s of %s is not worked out", row->metric,
			  row->case_name);
		cr_assert(!row->fitted && *row->reference && *row->source);
		cr_assert_neq((int)npl_validation_verdict(row), (int)NPL_OUTSIDE, "%s of %s: %g, published %g",
			      row->metric, row->case_name, row->model, row->published);
		if (!strcmp(row->metric, "cycles")) {
			cr_assert_str_eq(row->reference, "Ramulator 2.1 (c5b1c3a)");
			cr_assert_float_eq(row->tolerance, 0.05 * row->published, 1e-9);
			cycles++;
		}
		if (!strcmp(row->metric, "energy")) {
			cr_assert_str_eq(row->reference, "DRAMsim3 (2981759)");
			cr_assert_float_eq(row->tolerance, (is_copy ? 0.08 : 0.03) * row->published, 1e-12);
			energies++;
		}
		judged += npl_validation_verdict(row) == NPL_WITHIN;
	}
	cr_assert(cycles == 14 && energies == 14 && judged == 32, "%d, %d, %d", cycles, energies, judged);
	const struct npl_validation_row *lost = npl_validation_find(&v, "dram", "64 KiB tiles, two channels",
								    "lost_bandwidth");
	cr_assert(lost && lost->at_most && lost->model <= 0.06);
	npl_validation_free(&v);
}

static void check_published(const struct npl_validation *v, const char *case_name, const char *metric, double value)
{
	const struct npl_validation_row *row = npl_validation_find(v, "dram", case_name, metric);
	cr_assert(row && cli_near(row->published, value, 1e-6), "%s of %s: expected %g", metric, case_name, value);
}

/* published/dram.csv against what the simulators wrote, where that is at hand. */
Test(cli_dram, published_are_the_simulators)
{
	static const char path[] = "../shared/oracle/dram_ddr3_2133.csv";
	static const char *const names[] = {"tool", "config", "pattern", "cycles", "E_total_nJ", "acts", "refs"};
	enum { TOOL, CONFIG, PATTERN, CYCLES, ENERGY, ACTS, REFS, COLUMNS };
	struct npl_arena arena = {0};
	struct npl_validation v = {0};
	struct npl_csv csv;
	struct npl_err err;
	int column[COLUMNS];
	if (access(path, R_OK))
		cr_skip("there is no %s", path);
	cr_assert_eq(npl_csv_load(path, &arena, &csv, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_validation_load(&v, "dram", "dram.csv", &err), 0, "%s", err.msg);
	for (int c = 0; c < COLUMNS; c++)
		cr_assert_geq(column[c] = npl_csv_column(&csv, names[c], &err), 0);
	cr_assert_eq(csv.n_rows, 28);
	for (int i = 0; i < csv.n_rows; i++) {
		const char *const *field = csv.row[i].field;
		const bool is_dramsim3 = !strcmp(field[column[TOOL]], "DRAMsim3");
		char name[80];
		snprintf(name, sizeof name, "%s, %s", field[column[PATTERN]],
			 strstr(field[column[CONFIG]], "1ch") ? "one channel" : "two channels");
		check_published(&v, name, is_dramsim3 ? "dramsim3_cycles" : "cycles", atof(field[column[CYCLES]]));
		check_published(&v, name, is_dramsim3 ? "dramsim3_activates" : "activates", atof(field[column[ACTS]]));
		check_published(&v, name, is_dramsim3 ? "dramsim3_refreshes" : "refreshes", atof(field[column[REFS]]));
		if (is_dramsim3)
			check_published(&v, name, "energy", atof(field[column[ENERGY]]) * 1e-9);
	}
	npl_validation_free(&v);
	npl_arena_free(&arena);
}

Test(cli_dram, validate_has_the_rows_of_dram)
{
	json_t *root = cli_json(&plainly, "validate", "dram", "--json", "-"), *row;
	bool is_there = false;
	size_t i;
	json_array_foreach (cli_at(root, "rows"), i, row) {
		cr_assert_str_eq(cli_text(cli_at(row, "machine")), "dram");
		is_there |= !strcmp(cli_text(cli_at(row, "metric")), "dramsim3_cycles") &&
			    json_is_null(cli_at(row, "tolerance"));
	}
	cr_assert(is_there, "DRAMsim3's cycles beside, not judged");
	json_decref(root);
	root = cli_json(&plainly, "validate", "--json", "-");
	bool dram = false, tpu = false;
	json_array_foreach (cli_at(root, "rows"), i, row) {
		dram |= !strcmp(cli_text(cli_at(row, "machine")), "dram");
		tpu |= !strcmp(cli_text(cli_at(row, "machine")), "tpu_v1");
	}
	cr_assert(dram && tpu);
	json_decref(root);
	const struct cli_refusal cases[] = {
		{2,
		 "memories are validated as their files have them",
		 {"validate", "dram", "--set", "dram.timing.tRC=50"}},
		{2, "memories are validated as their files have them", {"validate", "--set", "dram.timing.tRC=50"}},
		{2, "none of the machines validated has this name", {"validate", "dram", "--set", "tpu_v1.clock_hz=5"}},
		{2, "expected one of: tpu_v1, diannao, dram", {"validate", "ddr3-2133"}},
	};
	CLI_CHECK(".", cases);
}
