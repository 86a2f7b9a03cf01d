/* SPDX-License-Identifier: MIT
 *
 * Where a setting that is at fault was given (core/setting_location.h): what stands before a message, and whose fault
 * the code says it is. */
#include <criterion/criterion.h>

#include "core/setting_location.h"
#include "npulab/device.h"
#include "tests/kit/cli_run.h"

TestSuite(setting_location);

/* A machine's file with the settings that were typed beside it. */
static struct npl_setting settings[] = {
	{.key = "clock_hz", .value = "1", .line = 3},
	{.key = "array.rows", .value = "2", .line = 4},
	{.key = "rows", .value = "2", .line = 5},
	{.key = "array.rows", .value = "8", .typed = "--set m.array.rows=8"},
	{.key = "memory.preset", .value = "x", .line = 6},
	{.key = "array.rows", .value = "9", .typed = "--set m.array.rows=9"},
	{.key = "nfu.tn", .value = "4", .typed = "rules.txt:2: m@nfu.tn=4", .from_file = true},
};

static const struct npl_description machine = {
	.name = "m", .path = "./m.yaml", .n_settings = sizeof settings / sizeof *settings, .setting = settings};

/* Settings at fault, the code of the error after it was located, what stands before the message, the setting that was
 * found, and whether it stands in the machine's file. */
static const struct {
	const char *keys;
	int code;
	const char *before, *found;
	bool in_file;
} cases[] = {
	{"clock_hz", NPL_EINPUT, "./m.yaml:3: ", "clock_hz", true},
	/* a key with a dot is none of its parts, nor the end of another key */
	{"rows", NPL_EINPUT, "./m.yaml:5: ", "rows", true},
	{"preset", NPL_EINPUT, "./m.yaml: ", "preset", true},
	{"memory", NPL_EINPUT, "./m.yaml: ", "memory", true},
	{"memory.preset", NPL_EINPUT, "./m.yaml:6: ", "memory.preset", true},
	/* of several, the first that was typed, else the first that the file gives; of one, the last value */
	{"clock_hz memory.preset", NPL_EINPUT, "./m.yaml:3: ", "clock_hz", true},
	{"memory.preset clock_hz", NPL_EINPUT, "./m.yaml:6: ", "memory.preset", true},
	{"none clock_hz", NPL_EINPUT, "./m.yaml:3: ", "clock_hz", true},
	{"clock_hz array.rows", NPL_EUSAGE, "--set m.array.rows=9: ", "array.rows", false},
	{"array.rows nfu.tn", NPL_EUSAGE, "--set m.array.rows=9: ", "array.rows", false},
	{"nfu.tn array.rows", NPL_EINPUT, "rules.txt:2: m@nfu.tn=4: ", "nfu.tn", false},
	{"", NPL_EINPUT, "./m.yaml: ", "", true},
};

/* The message names every setting; only the error itself says which of them are at fault. */
Test(setting_location, only_the_settings_at_fault_are_looked_up)
{
	static const char message[] = "array.rows, nfu.tn, clock_hz, memory.preset and rows are wrong";
	char expected[200];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct npl_err err;
		npl_fail_settings(&err, NULL, cases[i].keys, "%s", message);
		cr_assert_eq(npl_setting_locate_fault(&machine, &err), cases[i].code, "case %zu", i);
		snprintf(expected, sizeof expected, "%s%s", cases[i].before, message);
		cr_assert_str_eq(err.msg, expected);
		cr_assert_str_eq(err.settings, cases[i].found);
		cr_assert_eq(err.in_file, cases[i].in_file, "case %zu", i);
	}
}

/* A bad file that a setting names is bad input, wherever the setting was given; a want of memory is no setting's. */
Test(setting_location, other_codes_than_wrong_usage_stay)
{
	struct npl_err err;
	npl_fail(&err, NPL_EINPUT, "x.yaml:2: wrong");
	npl_blame_settings(&err, "array", "rows");
	cr_assert_eq(npl_setting_locate_fault(&machine, &err), NPL_EINPUT);
	cr_assert_str_eq(err.msg, "--set m.array.rows=9: x.yaml:2: wrong");
	npl_fail(&err, NPL_ENOMEM, "out of memory");
	npl_blame_settings(&err, "array", "rows");
	cr_assert_eq(npl_setting_locate_fault(&machine, &err), NPL_ENOMEM);
	cr_assert_str_eq(err.msg, "out of memory");
}

Test(setting_location, a_device_without_a_file_has_its_name_before_the_message)
{
	const struct npl_description fileless = {.name = "cpu"};
	struct npl_err err;
	npl_fail_settings(&err, NULL, "threads", "threads is 9");
	cr_assert_eq(npl_setting_locate_fault(&fileless, &err), NPL_EUSAGE);
	cr_assert_str_eq(err.msg, "cpu: threads is 9");
	cr_assert_not(err.in_file);
}

/* The memory's path holds the key of a setting that was typed, and has no fault. */
Test(setting_location, words_of_a_message_are_no_settings)
{
	char folder[CLI_PATH], text[2 * CLI_PATH], expected[3 * CLI_PATH];
	struct npl_device *device;
	struct npl_err err;
	cli_folder(folder);
	snprintf(text, sizeof text, "driver: diannao\n\nmemory: {preset: %s/clock_hz/none.yaml}\n", folder);
	cli_write_text(folder, "m.yaml", text);
	const struct npl_device_options options = {.n_sets = 1, .set = (const char *const[]){"clock_hz=1 GHz"}};
	cr_assert_eq(npl_device_open(cli_path(folder, "m.yaml"), &options, &device, &err), NPL_EINPUT, "%s", err.msg);
	snprintf(expected, sizeof expected, "%s/m.yaml:3: memory.preset: %s/clock_hz/none.yaml: ", folder, folder);
	cr_assert(!strncmp(err.msg, expected, strlen(expected)), "%s", err.msg);
	cr_assert_str_eq(err.settings, "memory.preset");
	cr_assert(err.in_file);
	cli_remove_folder(folder);
}
