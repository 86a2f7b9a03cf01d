/* SPDX-License-Identifier: MIT
 *
 * The systolic machines' weight memory. What the program promises: one line of the machine names what brings the
 * weights; tiles and tables come when docs/tpu-isa.md says, worked out by hand here from the commands of a DDR3-2133
 * channel; both engines agree (random programs: test_engines.c); commands and standby are charged once, and in layers'
 * shares that sum to the whole; what cannot be is refused with the reason. */

#include <math.h>

#include "npulab/result.h"
#include "sim/systolic/tpu_v1/fast/run.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/sim/tpu_v1/machine.h"

/* 16 x 16 cells at 700 MHz on one channel of DDR3-2133. A tile is 256 bytes, 4 bursts of 4 clocks. */
static struct test_machine *on_dram(void)
{
	struct tpu_config config = test_config(16, 16, 1, 1);
	config.clock_hz = 700000000;
	config.weight_preset = "ddr3-2133";
	config.weight_channels = 1;
	return test_open(config, 0);
}

/* Clocks are 3200/3 MHz, 32 of them in 21 cycles of the machine. */
static uint64_t cycle_of(uint64_t clocks)
{
	return (clocks * 21 + 31) / 32;
}

Test(tpu_weight_memory, tiles_come_as_the_channel_brings_them)
{
	struct test_machine *m = on_dram();
	test_tiles(m, 2, 0);
	test_halt(m);
	test_run_ok(m);
	/* The unit sees its instruction in cycle 1, which is clock 1.52: ACT in clock 2, RD from 2 + tRCD on, every 4
	 * clocks, each with its last data 13 + 4 clocks later. Both tiles are in one row. */
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, cycle_of(2 + 13 + 3 * 4 + 17));
	EXPECT_AT(m, TPU_TILE_PUSHED, 1, cycle_of(2 + 13 + 7 * 4 + 17));
	EXPECT_COUNT(m, dram_activates, 1);
	EXPECT_COUNT(m, dram_reads, 8);
	EXPECT_COUNT(m, dram_refreshes, 0);
	/* The row is open from the clock after ACT to the end, which is the boundary of the clock at or after the
	 * machine's. */
	uint64_t end = (m->outcome.cycles * 32 + 20) / 21;
	EXPECT_COUNT(m, dram_active_cycles, end - 3);
	EXPECT_COUNT(m, dram_idle_cycles, 3);
	test_close(m);
}

Test(tpu_weight_memory, a_later_tile_waits_for_its_row)
{
	/* 8 KiB are a row, and the next is in the next bank: tile 32. */
	struct test_machine *m = on_dram();
	test_tiles(m, 1, 31 * 16);
	test_tiles(m, 1, 32 * 16);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, cycle_of(2 + 13 + 3 * 4 + 17));
	/* Its instruction can start in cycle 2, clock 3.05, so in clock 4: no burst is ready then, and its ACT is not
	 * held up, tRRD being 6: clock 8. RD when the bursts before have gone, in 27 + 4. */
	EXPECT_AT(m, TPU_TILE_PUSHED, 1, cycle_of(2 + 13 + 7 * 4 + 17));
	EXPECT_COUNT(m, dram_activates, 2);
	test_close(m);
}

Test(tpu_weight_memory, part_of_a_burst_is_a_whole_one)
{
	/* 3 x 5 cells: tiles of 15 bytes, the fifth over the end of a burst of 64. */
	struct tpu_config config = test_config(3, 5, 1, 1);
	config.clock_hz = 700000000;
	config.weight_preset = "ddr3-2133";
	config.fifo_tiles = 8;
	struct test_machine *m = test_open(config, 0);
	test_tiles(m, 5, 0);
	test_halt(m);
	test_run_ok(m);
	EXPECT_COUNT(m, dram_reads, 6);
	EXPECT_COUNT(m, weight_bytes, 75);
	for (int k = 0; k < 5; k++)
		EXPECT_AT(m, TPU_TILE_PUSHED, k, cycle_of(2 + 13 + (uint64_t)(k < 4 ? k : 5) * 4 + 17));
	test_close(m);
}

Test(tpu_weight_memory, ideal_is_there_in_the_next_cycle)
{
	struct test_machine *m = on_dram();
	m->config.weight_preset = "ideal";
	test_tiles(m, 4, 0);
	test_halt(m);
	test_run_ok(m);
	for (int k = 0; k < 4; k++)
		EXPECT_AT(m, TPU_TILE_PUSHED, k, 2);
	EXPECT_COUNT(m, dram_reads, 0);
	test_close(m);
}

Test(tpu_weight_memory, a_tile_is_more_accesses_than_the_memory_holds)
{
	/* 150,000 accesses of a byte, one begun in each cycle, each answered 100,001 cycles later, at most
	 * NPL_MEMORY_MAX_SIMPLE_PENDING (65,536) under way: the first of 65,536 more when the first of those before is
	 * answered. */
	char folder[CLI_PATH];
	cli_folder(folder);
	cli_write_text(folder, "far.yaml",
		       "model: fixed\nbytes_per_second: 1000000\nlatency_seconds: 0.1\naccess_bytes: 1\n");
	struct tpu_config config = test_config(375, 400, 1, 1);
	config.weight_preset = cli_path(folder, "far.yaml");
	struct test_machine *m = test_open(config, 0);
	test_tiles(m, 1, 0);
	test_halt(m);
	test_run_ok(m);
	EXPECT_AT(m, TPU_TILE_PUSHED, 0, 1 + 2 * 100001 + (150000 - 2 * 65536 - 1) + 100001);
	EXPECT_COUNT(m, dram_reads, 150000);
	const uint64_t cycles = m->outcome.cycles;
	cr_assert_eq(
		tpu_run_fast(
			&(struct tpu_engine_input){.config = &m->config, .program = &m->program, .memory = m->memory},
			&m->outcome, &m->err),
		0, "%s", m->err.msg);
	cr_assert_eq(m->outcome.cycles, cycles);
	test_close(m);
	cli_remove_folder(folder);
}

Test(tpu_weight_memory, streams_tiles_at_94_percent_of_peak)
{
	/* 64 KiB tiles on two channels, far more than a refresh interval of them: at least 94 % of 34.13 GB/s. */
	enum { TILES = 256 };
	struct tpu_config config = test_config(256, 256, 1, 1);
	config.clock_hz = 700000000;
	config.weight_preset = "ddr3-2133";
	config.weight_channels = 2;
	config.weight_bytes = TILES * 65536;
	config.fifo_tiles = 4;
	struct test_machine *m = test_open(config, 0);
	m->memory.timing_only = true;
	test_tiles(m, TILES, 0);
	for (int k = 0; k < TILES; k++)
		test_multiply(m, TPU_MATRIX_SWITCH, 0, 0, 1);
	test_halt(m);
	cr_assert_eq(
		tpu_run_fast(
			&(struct tpu_engine_input){.config = &m->config, .program = &m->program, .memory = m->memory},
			&m->outcome, &m->err),
		0, "%s", m->err.msg);
	double per_second = TILES * 65536.0 / ((double)m->outcome.cycles / 700e6);
	cr_assert_geq(per_second, 0.94 * 34133333333.0);
	cr_assert_leq(per_second, 0.967 * 34133333333.0, "refresh alone takes 278 of 8325 clocks");
	test_close(m);
}

static struct npl_device *open_device(const char *const *set, int n, int code, const char *words)
{
	struct npl_device *device = NULL;
	struct npl_err err = {0};
	const struct npl_device_options options = {.n_sets = n, .set = set};
	cr_assert_eq(npl_device_open("tpu_v1", &options, &device, &err), code, "%s", err.msg);
	cr_assert(!words || strstr(err.msg, words), "'%s' without '%s'", err.msg, words);
	return device;
}

Test(tpu_weight_memory, refuses_what_cannot_be)
{
	static const char *const unknown[] = {"weight_memory.preset=ddr3-2134"};
	static const char *const few[] = {"weight_memory.preset=hbm2", "weight_memory.channels=2",
					  "weight_memory.bytes=3 GiB"};
	static const char *const small[] = {"weight_memory.preset=hbm2", "weight_memory.bytes=16 GiB"};
	static const char *const never[] = {"weight_memory.preset=hbm2", "weight_memory.bytes=1 TB"};
	open_device(unknown, 1, NPL_EUSAGE, "there is no memory 'ddr3-2134'; the nearest is 'ddr3-2133'");
	open_device(few, 3, NPL_EUSAGE,
		    "weight_memory.bytes is 3221225472, and the weight_memory.preset hbm2 with 2 channels holds "
		    "2147483648: set weight_memory.bytes to that or less, or weight_memory.channels to 3 or more");
	open_device(small, 2, NPL_EUSAGE,
		    "hbm2 with 8 channels holds 8589934592: set weight_memory.bytes to that or less, "
		    "or weight_memory.channels to 16 or more");
	open_device(never, 2, NPL_EUSAGE,
		    "hbm2 with 8 channels holds 8589934592: set weight_memory.bytes to that or less");
}

/* Every memory goes behind the TPU v1 by one setting: channels and size that were its file's for another memory follow,
 * and a note says so. */
Test(tpu_weight_memory, a_preset_alone_is_enough)
{
	struct npl_arena arena = {0};
	const char *const *names;
	struct npl_err err;
	int n, notes;
	cr_assert_eq(npl_memory_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	for (int i = 0; i < n; i++) {
		char set[80];
		const char *const sets[] = {set};
		struct npl_memory *memory;
		snprintf(set, sizeof set, "weight_memory.preset=%s", names[i]);
		struct npl_device *device = open_device(sets, 1, 0, NULL);
		const char *const *note = npl_device_notes(device, &notes);
		const int64_t channels = atoll(npl_device_setting(device, "weight_memory.channels"));
		const uint64_t bytes = strtoull(npl_device_setting(device, "weight_memory.bytes"), NULL, 10);
		cr_assert_eq(npl_memory_open(names[i], NULL, &memory, &err), 0, "%s", err.msg);
		const struct npl_memory_info *info = npl_memory_info(memory);
		const bool dram = *info->mapping;
		const uint64_t each = info->capacity_bytes / (uint64_t)info->channels;
		cr_expect_eq(channels, dram && info->channels > 1 ? info->channels : 2, "%s", names[i]);
		cr_expect_eq(bytes,
			     dram && each * (uint64_t)channels < 8589934592 ? each * (uint64_t)channels : 8589934592,
			     "%s", names[i]);
		cr_expect_eq(notes, dram, "%s", names[i]);
		cr_expect(!notes || (strstr(note[0], names[i]) && strstr(note[0], "; weight_memory.")), "%s", names[i]);
		npl_memory_close(memory);
		npl_device_close(device);
	}
	npl_arena_free(&arena);
}

/* What the user sets stays; so does what a file of the user's own gives beside its memory. A copy of the TPU v1's file
 * with another memory is adapted like --set. */
Test(tpu_weight_memory, settings_of_the_user_override_a_preset)
{
	static const char *const set[] = {"weight_memory.preset=hbm2", "weight_memory.channels=3"},
				 *const vain[][2] = {
					 {"weight_memory.preset=ideal", "weight_memory.channels=3"},
					 {"weight_memory.preset=diannao-250gbps", "weight_memory.channels=3"}};
	char folder[CLI_PATH], text[2000];
	struct npl_err err;
	int notes;
	struct npl_device *device = open_device(set, 2, 0, NULL);
	cr_assert_str_eq(npl_device_setting(device, "weight_memory.channels"), "3");
	cr_assert_str_eq(npl_device_setting(device, "weight_memory.bytes"), "3221225472");
	npl_device_close(device);
	for (size_t i = 0; i < sizeof vain / sizeof *vain; i++) {
		device = open_device(vain[i], 2, 0, NULL);
		const char *const *vain_note = npl_device_notes(device, &notes);
		cr_expect(notes == 1 && strstr(vain_note[0], "weight_memory.channels has no effect"), "%s", vain[i][0]);
		npl_device_close(device);
	}
	cli_folder(folder);
	cli_write_text(folder, "own.yaml",
		       "driver: systolic\nweight_memory: {preset: hbm2, channels: 4, bytes: 1 GiB}\n"
		       "activate: {latency_cycles: 0}\nissue: {sync_cycles: 0}\nhost_link: {latency_seconds: 0}\n");
	cr_assert_eq(npl_device_open(cli_path(folder, "own.yaml"), NULL, &device, &err), 0, "%s", err.msg);
	npl_device_notes(device, &notes);
	cr_assert(notes == 0 && !strcmp(npl_device_setting(device, "weight_memory.channels"), "4"));
	npl_device_close(device);
	/* a DRAM file of the user's own, and the TPU v1's dump with that as its memory */
	struct cli_result dump = cli_run(&(struct cli_run_options){0}, "dram", "--yaml", "--preset", "hbm2",
					 "--channels", "4");
	cli_write_text(folder, "memory.yaml", dump.out);
	cli_free(&dump);
	dump = cli_run(&(struct cli_run_options){0}, "devices", "tpu_v1", "--yaml");
	char *preset = strstr(dump.out, "  preset: fixed");
	cr_assert(preset && strlen(dump.out) < 100000);
	FILE *file = fopen(cli_path(folder, "copy.yaml"), "we");
	cr_assert_not_null(file);
	fprintf(file, "%.*s  preset: %s/memory.yaml%s", (int)(preset - dump.out), dump.out, folder,
		strchr(preset, '\n'));
	cr_assert_eq(fclose(file), 0);
	cli_free(&dump);
	cr_assert_eq(npl_device_open(cli_path(folder, "copy.yaml"), NULL, &device, &err), 0, "%s", err.msg);
	const char *const *note = npl_device_notes(device, &notes);
	snprintf(text, sizeof text,
		 "weight_memory.preset is %s/memory.yaml; weight_memory.channels is 4, its own, instead of "
		 "2; weight_memory.bytes is 4294967296, all that it holds, instead of 8589934592",
		 folder);
	cr_assert_eq(notes, 1);
	cr_assert_str_eq(note[0], text);
	npl_device_close(device);
	cli_remove_folder(folder);
}

/* The energy of all components whose name begins so; how many there are. */
static double energy_of(const struct npl_result *result, const char *prefix, int *n)
{
	double joules = 0;
	*n = 0;
	for (int i = 0; i < result->n_energy; i++)
		if (!strncmp(result->energy[i].component, prefix, strlen(prefix))) {
			joules += result->energy[i].joules;
			++*n;
		}
	return joules;
}

static struct npl_result run_gemm(const char *const *set, int n)
{
	struct npl_device *device = open_device(set, n, 0, NULL);
	struct npl_result result = {0};
	struct npl_err err = {0};
	struct npl_tensor x = {.dtype = NPL_I8, .shape = npl_shape_of(2, 1, 4096), .quant = {.scale = 1}};
	struct npl_tensor w = {.dtype = NPL_I8, .shape = npl_shape_of(2, 4096, 4096), .quant = {.scale = 1}};
	struct npl_tensor y = {.dtype = NPL_I32, .shape = npl_shape_of(2, 1, 4096)};
	const struct npl_layer layer = {.name = "gemm",
					.op = NPL_OP_GEMM,
					.in = {&x, &w},
					.n_in = 2,
					.out = &y,
					.macs = 4096 * 4096,
					.timing_only = true};
	cr_assert_eq(npl_device_run(device, &layer, &result, &err), 0, "%s", err.msg);
	npl_device_close(device);
	return result;
}

Test(tpu_weight_memory, costs_its_commands)
{
	static const char *const fixed[] = {"weight_memory.preset=fixed"};
	static const char *const dram[] = {"weight_memory.preset=ddr3-2133", "energy.weight_memory.standby=apart"};
	static const char *const inside[] = {"weight_memory.preset=ddr3-2133", "energy.weight_memory.standby=static"};
	int parts;
	struct npl_result result = run_gemm(fixed, 1);
	double plain = energy_of(&result, "weight memory", &parts);
	cr_assert_eq(parts, 1);
	result = run_gemm(dram, 2);
	double commands = energy_of(&result, "weight memory", &parts);
	cr_assert_eq(parts, 5, "activate, read, refresh, standby twice");
	/* The figure per byte is a simulator's of the same currents for a stream: 10.2 pJ a bit, standby included. */
	cr_assert_float_eq(commands, plain, 0.01 * plain, "%g and %g J", commands, plain);
	result = run_gemm(inside, 2);
	double moving = energy_of(&result, "weight memory", &parts);
	cr_assert_eq(parts, 2, "activate and read");
	cr_assert(moving < commands && moving > 0.7 * commands);
}

/* A memory of a fixed bandwidth that has an access size moves, and costs, whole accesses. */
Test(tpu_weight_memory, whole_accesses_cost)
{
	char folder[CLI_PATH], text[200], preset[CLI_PATH + 40];
	double joules[2];
	int parts;
	cli_folder(folder);
	for (int whole = 0; whole < 2; whole++) {
		snprintf(text, sizeof text,
			 "model: fixed\nbytes_per_second: 34e9\naccess_bytes: %d\n"
			 "energy: {pj_per_byte: 10, origin: \"modelled:me\"}\n",
			 whole ? 1 << 20 : 0);
		cli_write_text(folder, "m.yaml", text);
		snprintf(preset, sizeof preset, "weight_memory.preset=%s/m.yaml", folder);
		const char *const set[] = {preset};
		struct npl_result result = run_gemm(set, 1);
		joules[whole] = energy_of(&result, "weight memory read", &parts);
		cr_assert_eq(parts, 1);
	}
	const double accesses = joules[1] / (10e-12 * (1 << 20));
	cr_assert_float_eq(accesses, round(accesses), 1e-9);
	cr_assert(accesses >= 1 && joules[1] > joules[0]);
	cli_remove_folder(folder);
}
