/* SPDX-License-Identifier: MIT
 *
 * Opening a memory by name or file: what is refused and in which words, and that a memory written out as YAML is the
 * same one when read back. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/files/data_names.h"
#include "npulab/memory.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/sim/dram/case.h"
#include "tests/kit/support.h"

#define SEED 0x09e4ull

static void refused(const char *name, const struct npl_memory_options *options, int code, const char *said)
{
	struct npl_memory *memory = (struct npl_memory *)&code; /* anything but NULL */
	struct npl_err err = {0};
	cr_expect_eq(npl_memory_open(name, options, &memory, &err), code, "%s: returned %d: %s", name, err.code,
		     err.msg);
	cr_expect_null(memory);
	cr_expect(strstr(err.msg, said), "%s: says '%s', expected '%s'", name, err.msg, said);
}

Test(memory_open, unknown_names_are_refused_with_the_nearest)
{
	refused("ddr3-2134", NULL, NPL_EUSAGE, "there is no memory 'ddr3-2134'; the nearest is 'ddr3-2133'");
	refused("hbm3", NULL, NPL_EUSAGE, "there is no memory 'hbm3'; the nearest is 'hbm'");
	refused("./ddr3-2133", NULL, NPL_EINPUT, "./ddr3-2133");
	refused("none.yaml", NULL, NPL_EINPUT, "none.yaml");
}

Test(memory_open, options_that_a_model_lacks_are_refused)
{
	static const struct {
		const char *name;
		struct npl_memory_options options;
		const char *said;
	} cases[] = {
		{"ideal", {.channels = 2}, "the model 'ideal' has no channels and no mapping"},
		{"diannao-250gbps", {.channels = 1}, "the model 'fixed' has no channels and no mapping"},
		{"diannao-250gbps", {.mapping = "row"}, "the model 'fixed' has no channels and no mapping"},
		{"ddr3-2133",
		 {.channels = -1},
		 "--channels -1: organisation.channels must be a whole number from 1 to 64"},
		{"ddr3-2133",
		 {.channels = 65},
		 "--channels 65: organisation.channels must be a whole number from 1 to 64"},
		{"ddr3-2133", {.mapping = "row:bank:column:chanel"}, "'row:bank:column:chanel' has the unknown field"},
		{"ddr3-2133", {.mapping = ""}, "the mapping '' has the unknown field"},
		{"ddr3-2133", {.mapping = "row:bank:column:"}, "'row:bank:column:' has the unknown field"},
		{"ddr3-2133", {.mapping = "row:bank::column"}, "has the unknown field"},
		{"ddr3-2133", {.mapping = "row bank column"}, "has the unknown field"},
		{"ddr3-2133", {.mapping = "row:bank:column:row"}, "names twice"},
		{"ddr3-2133", {.mapping = "row:bank"}, "leaves out"},
		{"ddr3-2133", {.mapping = "bank:column"}, "leaves out"},
		{"ddr3-2133", {.channels = 2, .mapping = "row:bank:column"}, "leaves out"},
		{"ddr4-2400", {.mapping = "row:column:bankgroup"}, "leaves out"},
	};
	static const struct {
		const char *name;
		struct npl_memory_options options;
		int64_t channels;
		const char *mapping;
	} good[] = {
		{"ddr3-2133", {.channels = 2}, 2, "row:rank:bank:column:channel"},
		{"ddr3-2133", {.mapping = "row:bank:column"}, 1, "row:bank:column"},
		{"ddr3-2133", {.channels = 64, .mapping = "channel:row:bank:column"}, 64, "channel:row:bank:column"},
		{"ddr4-2400", {.mapping = "row:bank:column"}, 1, "row:bank:column"},
		{"ddr3-2133", {.every_cycle = true, .channels = 3}, 3, "row:rank:bank:column:channel"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int every_cycle = 0; every_cycle < 2; every_cycle++) {
			struct npl_memory_options options = cases[i].options;
			options.every_cycle = every_cycle;
			refused(cases[i].name, &options, NPL_EUSAGE, cases[i].said);
		}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct npl_memory *one, *memory;
		struct npl_err err;
		cr_assert_eq(npl_memory_open(good[i].name, NULL, &one, &err), 0, "%s", err.msg);
		cr_assert_eq(npl_memory_open(good[i].name, &good[i].options, &memory, &err), 0, "%s", err.msg);
		const struct npl_memory_info *info = npl_memory_info(memory);
		cr_expect_eq(info->channels, good[i].channels);
		cr_expect_str_eq(info->mapping, good[i].mapping);
		cr_expect_eq(info->capacity_bytes, npl_memory_info(one)->capacity_bytes * (uint64_t)info->channels);
		cr_expect_float_eq(info->peak_bytes_per_second,
				   npl_memory_info(one)->peak_bytes_per_second * (double)info->channels, 1);
		npl_memory_close(memory);
		npl_memory_close(one);
	}
}

/* A valid file, with each key once. */
static const char good_file[] =
	"name: m\n"
	"model: dram\n"
	"clock: { hz_numerator: 1000000000, hz_denominator: 1, transfers: 2 }\n"
	"organisation: { channels: 1, ranks: 1, bank_groups: 1, banks: 8, rows: 65536, columns: 1024, device_bits: 8, "
	"bus_bits: 64, burst_length: 8 }\n"
	"controller: { read_queue: 32, write_queue: 32, write_high: 26, write_low: 6 }\n"
	"timing: { CL: 11, CWL: 7, tRCD: 13, tRCDWR: 9, tRP: 17, tRAS: 40, tRC: 57, tWR: 19, tRTP: 6, tCCD_S: 4, "
	"tCCD_L: 5, tRRD_S: 5, tRRD_L: 6, tWTR_S: 3, tWTR_L: 4, tFAW: 20, tRFC: 100, tREFI: 1000, turnaround: 2 }\n"
	"currents: { VDD: 1, IDD0: 12, IDD2N: 8, IDD3N: 10, IDD4R: 30, IDD4W: 30, IDD5B: 30, origin: \"modelled:me\" "
	"}\n"
	"mapping: row:rank:bank:bankgroup:column:channel\n";

/* Returns where "KEY: " stands in the text of a file; NULL: the file does not give the key. */
static char *find_key(char *text, const char *key)
{
	char find[40];
	snprintf(find, sizeof find, "%s: ", key);
	char *at = strstr(text, find);
	while (at && at > text && at[-1] != ' ' && at[-1] != '\n')
		at = strstr(at + 1, find);
	return at;
}

/* Puts "key: value" in the place of the key's own; without a value the key goes. A key that is not there goes to the
 * timings. */
static void change_one(char *text, size_t n, const char *key, const char *value)
{
	char find[40], tail[2048];
	snprintf(find, sizeof find, "%s: ", key);
	char *at = find_key(text, key);
	if (at) {
		const char *end = at + strcspn(at, at[-1] == '\n' ? "\n" : ",}");
		snprintf(tail, sizeof tail, "%s", *end == ',' && !value ? end + 2 : end);
		if (!value && *end == '}' && at[-2] == ',')
			at -= 2;
	} else {
		at = strstr(text, "timing: { ") + strlen("timing: { ");
		snprintf(tail, sizeof tail, ", %s", at);
	}
	snprintf(at, n - (size_t)(at - text), "%s%s%s", value ? find : "", value ? value : "", tail);
}

/* Changes of good_file, "key: value" with a semicolon between two, and what is said of the file then. */
static const struct {
	const char *changes, *said;
} wrong_changes[] = {
	{"CL: 0", "CL is at least 1"},
	{"CWL: 0", "CWL is at least 1"},
	{"tRC: 56", "m.yaml:6: the timings contradict each other: expected that tRC is at least tRAS + tRP, got 56 and "
		    "57"},
	{"tRAS: 12", "tRAS is at least tRCD, got 12 and 13"},
	{"tRCDWR: 41", "tRAS is at least tRCDWR, got 40 and 41"},
	{"tCCD_L: 3", "tCCD_L is at least tCCD_S"},
	{"tRRD_L: 4", "tRRD_L is at least tRRD_S"},
	{"tWTR_L: 2", "tWTR_L is at least tWTR_S"},
	{"tFAW: 4", "tFAW is at least tRRD_S"},
	{"tREFI: 186", "tREFI is at least tRFC + tFAW + tRC + CWL + burst + tWR and two commands a bank, got 186 and"},
	{"tREFI: 0", "tREFI is at least"},
	{"hz_numerator: 1;hz_denominator: 1000000",
	 "the clock's numbers contradict each other: expected that hz_numerator is at least 1000 times "
	 "hz_denominator, got 1 and 1000000000"},
	{"hz_numerator: 100000000001", "hz_numerator is at most 1e11 times hz_denominator"},
	{"tRP: -1", "tRP must be a whole number from 0"},
	{"tRP: 13.5", "tRP must be a whole number"},
	{"tRPP: 17", "there is no parameter 'timing.tRPP'; the nearest is 'timing.tRP"},
	{"channels: 0", "organisation.channels must be a whole number from 1 to 64"},
	{"banks: 0", "organisation.banks must be a whole number from 1"},
	{"ranks: 2;bank_groups: 8", "a channel has 128 banks, expected 64 at most"},
	{"bus_bits: 48", "bus_bits is 48, expected a power of two from 8 on"},
	{"bus_bits: 4", "bus_bits is 4, expected a power of two from 8 on"},
	{"burst_length: 6", "burst_length is 6, expected a power of two"},
	{"device_bits: 128", "expected a multiple of device_bits"},
	{"columns: 1023", "columns is 1023, expected a multiple of burst_length (8)"},
	{"ranks: 2;rows: 1000000000;columns: 1048576;channels: 64", "larger than 2^62 bytes"},
	{"mapping: row:bank:column:bay", "has the unknown field 'bay'"},
	{"write_high: 5", "the controller's numbers contradict each other: expected that write_high is at least "
			  "write_low, got 5 and 6"},
	{"write_queue: 26", "write_queue is more than write_high, got 26 and 27"},
	{"read_queue: 257", "controller.read_queue must be a whole number from 1 to 256"},
	{"burst_length: 1", "expected that burst_length is at least the transfers of a clock"},
	{"VDD: 0", "the currents contradict each other: expected that VDD is above 0"},
	{"IDD2N: 0", "IDD2N is above 0"},
	{"IDD3N: 0", "IDD3N is above 0"},
	{"IDD4R: 9", "IDD4R is at least IDD3N"},
	{"IDD4W: 9", "IDD4W is at least IDD3N"},
	{"IDD5B: 9", "IDD5B is at least IDD3N"},
	{"IDD0: 9", "IDD0 is at least IDD3N for tRAS and IDD2N for the rest of tRC"},
	{"origin: \"guessed\"", "currents.origin must say where the energy comes from"},
	{"model: sram", "expected ideal, fixed or dram"},
};

/* Files of other models, or without one, and what is said of them. */
static const struct {
	const char *text, *said;
} wrong_texts[] = {
	{"model: fixed\nbytes_per_second: 0\n", "bytes_per_second must be a whole number from 1"},
	{"model: fixed\nbytes_per_secund: 5\n", "the nearest is 'bytes_per_second'"},
	{"model: fixed\n", "m.yaml: bytes_per_second is missing"},
	{"model: fixed\nbytes_per_second: 5000\nenergy: {origin: \"modelled:me\"}\n",
	 "m.yaml:3: energy.pj_per_byte is missing, expected a figure beside energy.origin modelled:me"},
	{"model: ideal\nlatency: 5\n", "there is no parameter 'latency'"},
	{"name: \"\"\nmodel: ideal\n", "m.yaml:1: the name is empty"},
	{"name: m\n", "no `model:` line"},
};

/* Writes "m.yaml:6: " for the line in which a key stands. */
static void write_line(char *place, size_t n, char *text, const char *key)
{
	const char *at = find_key(text, key);
	int line = 1;
	cr_assert(at, "%s", key);
	for (const char *c = text; c < at; c++)
		line += *c == '\n';
	snprintf(place, n, "m.yaml:%d: ", line);
}

/* Every fault is refused with the line of the first key that was changed, except that the memory is too large. */
Test(memory_open, wrong_files_are_refused)
{
	char folder[CLI_PATH], text[2048], place[40];
	struct npl_memory *memory;
	struct npl_err err;
	cli_folder(folder);
	cli_write_text(folder, "m.yaml", good_file);
	cr_assert_eq(npl_memory_open(cli_path(folder, "m.yaml"), NULL, &memory, &err), 0, "%s", err.msg);
	npl_memory_close(memory);
	for (size_t i = 0; i < sizeof wrong_changes / sizeof *wrong_changes; i++) {
		char changes[200], *tail = NULL;
		snprintf(text, sizeof text, "%s", good_file);
		snprintf(changes, sizeof changes, "%s", wrong_changes[i].changes);
		for (char *one = strtok_r(changes, ";", &tail); one; one = strtok_r(NULL, ";", &tail)) {
			char *value = strstr(one, ": ");
			*value = 0;
			change_one(text, sizeof text, one, value + 2);
		}
		cli_write_text(folder, "m.yaml", text);
		refused(cli_path(folder, "m.yaml"), NULL, NPL_EINPUT, wrong_changes[i].said);
		write_line(place, sizeof place, text, changes);
		if (!strstr(wrong_changes[i].said, "2^62"))
			refused(cli_path(folder, "m.yaml"), NULL, NPL_EINPUT, place);
	}
	for (size_t i = 0; i < sizeof wrong_texts / sizeof *wrong_texts; i++) {
		cli_write_text(folder, "m.yaml", wrong_texts[i].text);
		refused(cli_path(folder, "m.yaml"), NULL, NPL_EINPUT, wrong_texts[i].said);
	}
	refused("", NULL, NPL_EUSAGE, "there is no memory '' (`npulab dram --list` has them)");
	cli_remove_folder(folder);
}

/* A timing that a file forgets is no timing of 0, and a current beside an origin is none of 0. */
Test(memory_open, missing_keys_are_named)
{
	static const char *const neutral[] = {"channels",    "ranks",      "read_queue",
					      "write_queue", "write_high", "write_low"};
	char folder[CLI_PATH], text[2048], message[100];
	int required = 0;
	cli_folder(folder);
	for (const struct npl_param *p = dram_params; p->key; p++) {
		const char *key = strrchr(p->key, '.') ? strrchr(p->key, '.') + 1 : p->key;
		bool may_go = p->type == NPL_PARAM_ORIGIN, current = !strncmp(p->key, "currents.", 9);
		for (size_t i = 0; i < sizeof neutral / sizeof *neutral; i++)
			may_go |= !strcmp(key, neutral[i]);
		if (may_go)
			continue;
		snprintf(text, sizeof text, "%s", good_file);
		change_one(text, sizeof text, key, NULL);
		cli_write_text(folder, "m.yaml", text);
		snprintf(message, sizeof message,
			 current ? ": %s is missing, expected a figure" : "m.yaml: %s is missing", p->key);
		refused(cli_path(folder, "m.yaml"), NULL, NPL_EINPUT, message);
		required++;
	}
	cr_assert_eq(required, 3 + 7 + 1 + 19 + 7);
	cli_remove_folder(folder);
}

/* Written, read and written again: the same text, the same memory. Options that were in force are in the text. */
static void reads_back(const char *folder, const char *name, const struct npl_memory_options *options)
{
	struct npl_arena arena = {0};
	struct npl_memory *first, *second;
	struct npl_err err;
	cr_assert_eq(npl_memory_open(name, options, &first, &err), 0, "%s", err.msg);
	const char *text = npl_memory_yaml(first, &arena);
	cr_assert(text);
	cli_write_text(folder, "again.yaml", text);
	cr_assert_eq(npl_memory_open(cli_path(folder, "again.yaml"), NULL, &second, &err), 0, "%s: %s", name, err.msg);
	cr_expect_str_eq(npl_memory_yaml(second, &arena), text, "%s", name);
	const struct npl_memory_info *a = npl_memory_info(first), *b = npl_memory_info(second);
	cr_expect_str_eq(b->name, a->name);
	cr_expect_str_eq(b->model, a->model);
	cr_expect_str_eq(b->mapping, a->mapping);
	cr_expect(b->channels == a->channels && b->capacity_bytes == a->capacity_bytes &&
			  b->access_bytes == a->access_bytes && b->peak_bytes_per_second == a->peak_bytes_per_second &&
			  b->clock.numerator == a->clock.numerator && b->clock.denominator == a->clock.denominator,
		  "%s", name);
	npl_memory_close(first);
	npl_memory_close(second);
	npl_arena_free(&arena);
}

Test(memory_open, yaml_reads_back)
{
	struct npl_arena arena = {0};
	const char *const *names;
	struct npl_err err;
	char folder[CLI_PATH];
	int n;
	cli_folder(folder);
	cr_assert_eq(npl_memory_list(&arena, &names, &n, &err), 0, "%s", err.msg);
	cr_assert_geq(n, 12);
	for (int i = 0; i < n; i++) {
		cr_assert(!i || strcmp(names[i - 1], names[i]) < 0, "%s is not in its place", names[i]);
		reads_back(folder, names[i], NULL);
	}
	reads_back(folder, "ddr3-2133",
		   &(struct npl_memory_options){.channels = 5, .mapping = "channel:bank:column:row"});
	uint64_t rng = SEED;
	for (int i = 0; i < 50; i++) {
		struct dram_config c;
		char mapping[DRAM_CASE_MAPPING];
		dram_case_random(&c, mapping, &rng);
		struct npl_memory *memory = dram_case_open(&c, false, &err);
		cr_assert(memory, "%s", err.msg);
		cli_write_text(folder, "case.yaml", npl_memory_yaml(memory, &arena));
		npl_memory_close(memory);
		reads_back(folder, cli_path(folder, "case.yaml"), NULL);
	}
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}

/* Parameters may stand behind a name or a path. */
Test(memory_open, parameters_behind_a_name_are_the_memorys)
{
	struct npl_memory *memory;
	struct npl_err err = {0};
	struct npl_arena arena = {0};
	const struct npl_param_value *value;
	int n;
	cr_assert_eq(npl_memory_open("ddr3-2133@timing.CL=20@organisation.channels=4", NULL, &memory, &err), 0, "%s",
		     err.msg);
	cr_assert_str_eq(npl_memory_info(memory)->name, "ddr3-2133@timing.CL=20@organisation.channels=4");
	cr_assert_eq(npl_memory_info(memory)->channels, 4);
	cr_assert_eq(npl_memory_settings(memory, &arena, &value, &n), 0);
	cr_assert_eq((int)npl_param_number(value, n, "timing.CL"), 20);
	npl_arena_free(&arena);
	npl_memory_close(memory);
	refused("ddr3-2133@timing.CX=20", NULL, NPL_EUSAGE,
		"ddr3-2133@timing.CX=20: there is no parameter 'timing.CX'; the nearest is 'timing.CL'");
	refused("ddr3-2133@timing.CL=x", NULL, NPL_EUSAGE, "ddr3-2133@timing.CL=x: timing.CL");
	refused("ddr3-2133@name=x", NULL, NPL_EUSAGE, "ddr3-2133@name=x: the name of a machine cannot be set");
	refused("ddr3-2133@timing", NULL, NPL_EUSAGE, "there is no memory 'ddr3-2133@timing'");
	refused("@timing.CL=20", NULL, NPL_EUSAGE, "there is no memory ''");
	cr_assert_eq(npl_data_name_length("a/b@c.yaml@timing.CL=2@x=3"), strlen("a/b@c.yaml"));
	cr_assert_eq(npl_data_name_length("hbm2"), 4);
	cr_assert_eq(npl_data_name_length("hbm2@="), 6);
}
