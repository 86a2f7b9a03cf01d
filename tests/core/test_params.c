/* SPDX-License-Identifier: MIT
 *
 * Machine descriptions and their parameters (params.h, settings.h): defaults, then the file, then --set, the later
 * winning; every wrong setting is named with its line and the nearest key; and what is dumped reads back to the same
 * machine, for the machines that ship and for any text in a name. */
#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/files/settings.h"
#include "npulab/device.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/support.h"

#define SEED 0x9a3a5ull

struct config {
	int64_t rows, big;
	double rate, tiny;
	const char *title, *origin;
	int mode;
};

static const struct npl_param schema[] = {
	{"array.rows", NPL_PARAM_INT, offsetof(struct config, rows), "256", 1, 4096, "cells", "rows", NULL},
	{"array.inner.big", NPL_PARAM_INT, offsetof(struct config, big), "-7", -9e15, 9e15, "", "a wide range", NULL},
	{"array.rate", NPL_PARAM_DOUBLE, offsetof(struct config, rate), "1.5e9", 0, 1e18, "bytes/s", "a rate", NULL},
	{"tiny", NPL_PARAM_DOUBLE, offsetof(struct config, tiny), "0", -1, 1, "", "a fraction", NULL},
	{"title", NPL_PARAM_STRING, offsetof(struct config, title), "no title", 0, 0, "", "any text", NULL},
	{"energy.origin", NPL_PARAM_ORIGIN, offsetof(struct config, origin), "absent", 0, 0, "", "of the energy", NULL},
	{"mode", NPL_PARAM_CHOICE, offsetof(struct config, mode), "full", 0, 0, "", "a choice",
	 "rounded full/whole none"},
	{0},
};

static int read_file(const char *path, struct npl_arena *arena, struct npl_description *machine, struct config *config,
		     struct npl_err *err)
{
	if (npl_description_load(path, "driver", arena, machine, err))
		return err->code;
	return npl_params_read(schema, machine, arena, config, err);
}

Test(params, defaults_file_and_set)
{
	char folder[CLI_PATH];
	struct npl_arena arena = {0};
	struct npl_description machine;
	struct config config;
	struct npl_err err;
	cli_folder(folder);
	cli_write_text(folder, "plain.yaml", "driver: thing\n");
	cr_assert_eq(read_file(cli_path(folder, "plain.yaml"), &arena, &machine, &config, &err), 0, "%s", err.msg);
	cr_assert_str_eq(machine.name, "plain", "a machine without a name has its file's");
	cr_assert_str_eq(machine.driver_or_model, "thing");
	cr_assert_null(machine.description);
	cr_assert(config.rows == 256 && config.big == -7 && config.rate == 1.5e9 && config.tiny == 0 &&
		  config.mode == 1);
	cr_assert_str_eq(config.title, "no title");
	cr_assert_str_eq(config.origin, "absent");
	cli_write_text(
		folder, "full.yaml",
		"# comments and blank lines do not count\n\nname: mine\ndriver: thing\ndescription: \"one: two\"\n"
		"array: {rows: 0.8e1, rate: 2.5}\nmode: rounded\nenergy:\n  origin: \"modelled:cacti\"\ntitle: 'it''s "
		"#1'\n");
	cr_assert_eq(read_file(cli_path(folder, "full.yaml"), &arena, &machine, &config, &err), 0, "%s", err.msg);
	cr_assert_str_eq(machine.name, "mine");
	cr_assert_str_eq(machine.description, "one: two");
	cr_assert(config.rows == 8 && config.rate == 2.5 && config.mode == 0 && config.big == -7);
	cr_assert_str_eq(config.title, "it's #1");
	cr_assert_str_eq(config.origin, "modelled:cacti");
	/* later settings win, over the file and over one another */
	static const char *const sets[][2] = {
		{"array.rows", "16"}, {"mode", "none"}, {"array.rows", "32"}, {"title", ""}, {"tiny", "-1e-300"}};
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		cr_assert_eq(npl_description_set(&machine, &arena, sets[i][0], sets[i][1], &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(schema, &machine, &arena, &config, &err), 0, "%s", err.msg);
	cr_assert(config.rows == 32 && config.mode == 2 && config.tiny == -1e-300 && config.rate == 2.5);
	cr_assert_str_eq(config.title, "");
	const struct npl_param_value *values;
	int n;
	cr_assert_eq(npl_params_values(schema, NULL, &config, &arena, &values, &n), 0);
	cr_assert_eq(n, 7);
	cr_assert(!strcmp(values[0].key, "array.rows") && !strcmp(values[0].value, "32") && values[0].is_number);
	cr_assert(!strcmp(values[6].key, "mode") && !strcmp(values[6].value, "none") && !values[6].is_number);
	/* Two words for one choice: the first is the one that is shown. */
	cr_assert_eq(npl_description_set(&machine, &arena, "mode", "whole", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(schema, &machine, &arena, &config, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_values(schema, NULL, &config, &arena, &values, &n), 0);
	cr_assert(config.mode == 1 && !strcmp(values[6].value, "full"));
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}

/* Settings that are refused, and what is said of each. */
static const struct {
	const char *key, *value, *expected;
} wrong_settings[] = {
	{"array.row", "8", "the nearest is 'array.rows'"},
	{"Array.Rows", "8", "the nearest is 'array.rows'"},
	{"rows", "8", "there is no parameter 'rows'; the nearest is 'array.rows'"},
	{"array", "8", "there is no parameter 'array'"},
	{"array.rows", "0", "array.rows must be a whole number from 1 to 4096 cells, got '0'"},
	{"array.rows", "4097", "got '4097'"},
	{"array.rows", "8.5", "whole number"},
	{"array.rows", "1e400", "whole number"},
	{"array.rows", "8 ", "whole number"},
	{"array.rows", " 8", "whole number"},
	{"array.rows", "0x8", "whole number"},
	{"array.rate", " 5", "must be a number"},
	{"array.rate", "0x1p3", "must be a number"},
	{"array.rate", "infinity", "must be a number"},
	{"array.rows", "", "got ''"},
	{"array.rows", "18446744073709551617", "whole number"},
	{"array.rate", "-1", "array.rate must be a number from 0 to 1e+18 bytes/s"},
	{"array.rate", "1e19", "must be a number"},
	{"array.rate", "1e999", "must be a number"},
	{"array.rate", "nan", "must be a number"},
	{"array.rate", "fast", "got 'fast'"},
	{"mode", "half", "mode must be one of: rounded, full (or whole), none; got 'half'"},
	{"mode", "full/whole", "must be one of"},
	{"mode", "who", "must be one of"},
	{"mode", "/", "must be one of"},
	{"mode", "full none", "must be one of"},
	{"mode", "", "must be one of"},
	{"energy.origin", "guess", "must say where the energy comes from"},
	{"energy.origin", "modelled:", "must say where"},
	{"energy.origin", "measured:me", "must say where"},
};

/* Each setting is tried on line 2 of a file and by --set. */
Test(params, wrong_settings_are_refused)
{
	char folder[CLI_PATH], text[200], where[CLI_PATH + 300];
	cli_folder(folder);
	for (size_t i = 0; i < sizeof wrong_settings / sizeof *wrong_settings; i++) {
		struct npl_arena arena = {0};
		struct npl_description machine;
		struct config config;
		struct npl_err err;
		const char *path = cli_path(folder, "m.yaml"), *dot = strchr(wrong_settings[i].key, '.');
		if (dot)
			snprintf(text, sizeof text, "driver: m\n%.*s: {%s: \"%s\"}\n",
				 (int)(dot - wrong_settings[i].key), wrong_settings[i].key, dot + 1,
				 wrong_settings[i].value);
		else
			snprintf(text, sizeof text, "driver: m\n%s: \"%s\"\n", wrong_settings[i].key,
				 wrong_settings[i].value);
		cli_write_text(folder, "m.yaml", text);
		cr_assert_eq(read_file(path, &arena, &machine, &config, &err), NPL_EINPUT, "%s", text);
		snprintf(where, sizeof where, "%s:2: ", path);
		cr_assert(!strncmp(err.msg, where, strlen(where)), "%s: expected %s first", err.msg, where);
		cr_assert(strstr(err.msg, wrong_settings[i].expected), "%s: expected '%s'", err.msg,
			  wrong_settings[i].expected);
		cli_write_text(folder, "m.yaml", "driver: m\n");
		cr_assert_eq(npl_description_load(path, "driver", &arena, &machine, &err), 0);
		cr_assert_eq(
			npl_description_set(&machine, &arena, wrong_settings[i].key, wrong_settings[i].value, &err), 0);
		cr_assert_eq(npl_params_read(schema, &machine, &arena, &config, &err), NPL_EUSAGE, "--set %s",
			     wrong_settings[i].key);
		cr_assert(!strncmp(err.msg, "--set m.", 8) && strstr(err.msg, wrong_settings[i].expected),
			  "%s: expected '%s'", err.msg, wrong_settings[i].expected);
		npl_arena_free(&arena);
	}
	struct npl_description machine = {.name = "m", .driver_or_model = "m", .driver_or_model_key = "driver"};
	struct npl_arena arena = {0};
	struct npl_err err;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(npl_description_set(&machine, &arena, i ? i == 1 ? "driver" : "description" : "name", "x",
						 &err),
			     NPL_EUSAGE);
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}

/* A machine with any printable or control character in its texts, and any numbers, is the same after dump and load. */
static char *random_text(uint64_t *rng, char *buf)
{
	static const char *const pieces[] = {"a",
					     "Z9",
					     " ",
					     "  ",
					     "\n",
					     "\t",
					     "\r",
					     "\x01",
					     "\x7f",
					     "\"",
					     "'",
					     "\\",
					     "#",
					     " #",
					     ":",
					     ": ",
					     "-",
					     "- ",
					     "?",
					     "{",
					     "}",
					     "[",
					     "]",
					     ",",
					     "&a",
					     "*a",
					     "!",
					     "|",
					     ">",
					     "%",
					     "@",
					     "`",
					     "~",
					     "null",
					     "true",
					     "0x1f",
					     "=",
					     "<<",
					     "...",
					     "---",
					     "\xc3\xa9",
					     "\xe2\x88\x9e",
					     "\xf0\x9f\x98\x80",
					     "\xc2\x85",
					     "\xc2\x9f",
					     "\xe2\x80\xa8",
					     "\xef\xbb\xbf",
					     "\xef\xbf\xbf"};
	buf[0] = '\0';
	for (int64_t n = test_range(rng, 0, 7); n > 0; n--)
		strcat(buf, pieces[test_range(rng, 0, sizeof pieces / sizeof *pieces - 1)]);
	return buf;
}

static double random_double(uint64_t *rng)
{
	uint64_t bits = test_rng(rng);
	double value;
	memcpy(&value, &bits, sizeof value);
	return isfinite(value) ? value : (double)(bits >> 12);
}

Test(params, dump_reads_back)
{
	char folder[CLI_PATH], name[64], description[64], title[64];
	uint64_t rng = SEED;
	cli_folder(folder);
	for (int i = 0; i < 3000; i++) {
		struct npl_arena arena = {0};
		struct npl_description machine = {.name = random_text(&rng, name),
						  .driver_or_model = "thing",
						  .driver_or_model_key = "driver",
						  .description = random_text(&rng, description)},
				       back;
		struct config config = {.rows = test_range(&rng, 1, 4096),
					.big = test_range(&rng, -9000000000000000, 9000000000000000),
					.rate = fmod(fabs(random_double(&rng)), 1e18),
					.tiny = fmod(random_double(&rng), 1),
					.title = random_text(&rng, title),
					.origin = i & 1 ? "modelled:a+b" : "measured:rapl-pkg",
					.mode = i % 3},
			      again;
		struct npl_err err = {0};
		char *yaml = npl_params_dump(schema, &machine, &config, &arena);
		cr_assert(yaml);
		cli_write_text(folder, "m.yaml", yaml);
		cr_assert_eq(read_file(cli_path(folder, "m.yaml"), &arena, &back, &again, &err), 0,
			     "seed %llx, %d: %s in\n%s", SEED, i, err.msg, yaml);
		cr_assert(!strcmp(machine.name, back.name) && !strcmp(machine.description, back.description),
			  "seed %llx, %d:\n%s", SEED, i, yaml);
		cr_assert(!strcmp(config.title, again.title) && !strcmp(config.origin, again.origin),
			  "seed %llx, %d:\n%s", SEED, i, yaml);
		cr_assert(config.rows == again.rows && config.big == again.big && config.mode == again.mode,
			  "seed %llx, %d:\n%s", SEED, i, yaml);
		cr_assert(config.rate == again.rate && config.tiny == again.tiny, "seed %llx, %d:\n%s", SEED, i, yaml);
		cr_assert_str_eq(npl_params_dump(schema, &back, &again, &arena), yaml, "seed %llx, %d", SEED, i);
		npl_arena_free(&arena);
	}
	cli_remove_folder(folder);
}

/* A dump is UTF-8, so what is not is refused where it would come into one: a value, and the name of a file without
 * `name:`. */
Test(params, no_text_but_utf8)
{
	char folder[CLI_PATH];
	struct npl_arena arena = {0};
	struct npl_description machine;
	struct npl_err err;
	cli_folder(folder);
	cli_write_text(folder, "a\xff.yaml", "driver: m\n");
	cr_assert_eq(npl_description_load(cli_path(folder, "a\xff.yaml"), "driver", &arena, &machine, &err),
		     NPL_EINPUT);
	cr_assert(strstr(err.msg, "a?.yaml: the file's name is not UTF-8, expected a `name:` line"), "%s", err.msg);
	cli_write_text(folder, "a\xff.yaml", "driver: m\nname: m\n");
	cr_assert_eq(npl_description_load(cli_path(folder, "a\xff.yaml"), "driver", &arena, &machine, &err), 0, "%s",
		     err.msg);
	cr_assert_eq(npl_description_set(&machine, &arena, "title", "b\xc3", &err), NPL_EUSAGE);
	cr_assert_str_eq(err.msg, "--set m.title=b?: the value is not UTF-8, expected text in UTF-8");
	npl_arena_free(&arena);
	cli_remove_folder(folder);
}

/* The nearest of a schema's keys is named wherever it stands. */
Test(params, the_nearest_of_many_keys)
{
	enum { KEYS = 1000 };
	static struct npl_param many[KEYS + 1];
	static char keys[KEYS][16];
	struct npl_description machine = {.name = "m", .driver_or_model = "m", .driver_or_model_key = "driver"};
	struct npl_arena arena = {0};
	struct npl_err err;
	int64_t config[KEYS];
	for (int i = 0; i < KEYS; i++) {
		snprintf(keys[i], sizeof keys[i], i == KEYS - 1 ? "threshold" : "k%d", i);
		many[i] = (struct npl_param){.key = keys[i],
					     .type = NPL_PARAM_INT,
					     .offset = (size_t)i * sizeof *config,
					     .default_text = "0",
					     .unit = "",
					     .help = ""};
	}
	cr_assert_eq(npl_description_set(&machine, &arena, "treshold", "1", &err), 0, "%s", err.msg);
	cr_assert_eq(npl_params_read(many, &machine, &arena, config, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "the nearest is 'threshold'"), "%s", err.msg);
	npl_arena_free(&arena);
}

static bool is_figure(const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	const size_t key = colon ? (size_t)(colon - line) : 0;
	return colon && (memmem(line, key, "pj", 2) || memmem(line, key, "watts", 5)) && colon[1] == ' ';
}

/* A figure left out beside its origin would count as 0 and as known. Two machine files that have all
 * figures, each of them. */
Test(params, a_figure_must_stand_beside_its_origin)
{
	static const char *const machines[] = {"tests/compatibility/tpu_v1.yaml", "tests/compatibility/diannao.yaml"};
	char folder[CLI_PATH], text[1 << 15];
	struct npl_device *device, *without;
	struct npl_err err;
	int refused = 0;
	cli_folder(folder);
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		cr_assert_eq(npl_device_open(machines[i], NULL, &device, &err), 0, "%s", err.msg);
		const char *yaml = npl_device_yaml(device);
		cr_assert(strlen(yaml) < sizeof text);
		for (const char *line = yaml, *end; (end = strchr(line, '\n')); line = end + 1) {
			if (!is_figure(line, (size_t)(end - line)))
				continue;
			snprintf(text, sizeof text, "%.*s%s", (int)(line - yaml), yaml, end + 1);
			cli_write_text(folder, "m.yaml", text);
			cr_assert_eq(npl_device_open(cli_path(folder, "m.yaml"), NULL, &without, &err), NPL_EINPUT,
				     "without '%.*s'", (int)(end - line), line);
			cr_assert(strstr(err.msg, "is missing, expected a figure beside"), "%s", err.msg);
			refused++;
		}
		npl_device_close(device);
	}
	cr_assert_eq(refused, 7 + 7);
	const char *set[] = {"energy.static.origin=modelled:me"};
	const struct npl_device_options options = {.n_sets = 1, .set = set};
	cli_write_text(folder, "bare.yaml", "driver: systolic\n");
	cr_assert_eq(npl_device_open(cli_path(folder, "bare.yaml"), &options, &device, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg, "--set bare.energy.static.origin=modelled:me: energy.static.watts is missing"), "%s",
		  err.msg);
	cli_remove_folder(folder);
}

/* --set and threads reach the driver's parameters; the hash follows. */
Test(params, options_reach_the_driver_s_parameters)
{
	struct npl_device *plain, *changed;
	struct npl_err err;
	const char *const sets[] = {"array.rows=16", "array.columns=8"};
	cr_assert_eq(npl_device_open("tpu_v1", NULL, &plain, &err), 0, "%s", err.msg);
	cr_assert_eq(npl_device_open("tpu_v1", &(struct npl_device_options){.set = sets, .n_sets = 2, .threads = 3},
				     &changed, &err),
		     0, "%s", err.msg);
	cr_assert_str_neq(npl_device_sha256(plain), npl_device_sha256(changed));
	cr_assert(npl_device_get_info(changed)->peak_macs_per_second * 512 ==
		  npl_device_get_info(plain)->peak_macs_per_second);
	npl_device_close(plain);
	npl_device_close(changed);
	cr_assert_eq(npl_device_open("cpu", &(struct npl_device_options){.threads = 1}, &changed, &err), 0, "%s",
		     err.msg);
	int n, threads = 0;
	const struct npl_param_value *value = npl_device_settings(changed, &n);
	for (int i = 0; i < n; i++)
		threads += !strcmp(value[i].key, "threads") ? atoi(value[i].value) : 0;
	cr_assert_eq(threads, 1);
	npl_device_close(changed);
}

Test(params, numbers_read_back_from_their_text)
{
	uint64_t rng = SEED;
	char buf[40];
	for (int i = 0; i < 100000; i++) {
		double value = random_double(&rng);
		npl_double_text(value, buf, sizeof buf);
		cr_assert(strtod(buf, NULL) == value, "seed %llx: %a became %s", SEED, value, buf);
	}
	for (int i = 0; i < 100000; i++) {
		const uint32_t bits = (uint32_t)test_rng(&rng);
		float value;
		memcpy(&value, &bits, sizeof value);
		if (isfinite(value))
			cr_assert(strtof(npl_float_text(value, buf, sizeof buf), NULL) == value,
				  "seed %llx: %a became %s", SEED, (double)value, buf);
	}
	cr_assert_str_eq(npl_float_text(100, buf, sizeof buf), "100");
	cr_assert_str_eq(npl_float_text(0.1F, buf, sizeof buf), "0.1");
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"},        {1, "1"},       {0.1, "0.1"},     {256, "256"},
		     {1e-6, "1e-06"}, {-2.5, "-2.5"}, {1e300, "1e+300"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_str_eq(npl_double_text(cases[i].value, buf, sizeof buf), cases[i].text);
}

Test(params, a_wrong_key_finds_the_nearest)
{
	static const char *const keys[] = {"array.rows", "array.columns", "clock_hz", "Conv", "conv_bias"};
	static const struct {
		const char *word, *nearest;
	} cases[] = {{"array.row", "array.rows"},  {"arry.columns", "array.columns"},
		     {"ARRAY.ROWS", "array.rows"}, {"conv", "Conv"},
		     {"clock", "clock_hz"},        {"conv_bia", "conv_bias"},
		     {"rray.rowz", "array.rows"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_str_eq(npl_nearest(cases[i].word, keys, 5), cases[i].nearest, "%s", cases[i].word);
	cr_assert_null(npl_nearest("x", keys, 0));
	static const char *const far[] = {"", "x", "array", "rows", "hz", "bias_of_conv"};
	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		const char *nearest = npl_nearest(far[i], keys + 1, 2);
		cr_assert(!nearest || !strcmp(far[i], "array"), "%s: %s", far[i], nearest);
	}
	cr_assert_str_eq(NPL_NEAREST("conw", keys, 5), "; the nearest is 'Conv'");
	cr_assert_str_eq(NPL_NEAREST("pool", keys + 2, 3), "; expected clock_hz, Conv or conv_bias");
	cr_assert_str_eq(NPL_NEAREST("pool", keys, 0), "");
	static const char *const many[9] = {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"};
	cr_assert_str_eq(NPL_NEAREST("pool", many, 9), "");
}
