/* SPDX-License-Identifier: MIT
 *
 * Numbers with units (core/quantity.h): brought to the unit of the schema exactly, and refused with what was expected
 * when the unit is of another kind; the same in files and by --set; what is dumped is plain and reads back; a page has
 * the units. */
#include <criterion/criterion.h>

#include "core/base/message.h"
#include "core/files/words.h"
#include "core/quantity.h"
#include "npulab/device.h"
#include "npulab/driver.h"
#include "sim/memory/dram.h"
#include "tests/kit/cli_run.h"
#include "tests/kit/page.h"

Test(quantity, is_brought_to_the_unit_of_the_schema)
{
	static const struct {
		const char *text, *unit;
		double value;
	} cases[] = {
		{"2 MiB", "bytes", 2097152},
		{"24MiB", "bytes", 25165824},
		{"8 GiB", "bytes", 8589934592},
		{"0.5 KiB", "bytes", 512},
		{"64 kB", "bytes", 64000},
		{"64 KB", "bytes", 64000},
		{"12 B", "bytes", 12},
		{"12 bytes", "bytes", 12},
		{"1 byte", "bytes", 1},
		{"1 GHz", "Hz", 1e9},
		{"700MHz", "Hz", 700e6},
		{"0.7e3 MHz", "Hz", 700e6},
		{"34.1 GB/s", "bytes/s", 34100000000.},
		{"10 GiB/s", "bytes/s", 10737418240.},
		{"6 us", "s", 6e-6},
		{"6 µs", "s", 6e-6},
		{"3.9e3 ns", "s", 3.9e-6},
		{"0.2 nJ", "pJ", 200},
		{"81.6 pJ", "pJ", 81.6},
		{"3350 mW", "W", 3.35},
		{"0.11 A", "mA", 110},
		{"1200 mV", "V", 1.2},
		{"1.3 TMAC/s", "MAC/s", 1.3e12},
		{"1 GiB", "MiB", 1024},
		{"512 MiB", "MiB", 512},
		{"256 cells", "cells", 256},
		{"1 cycle", "cycles", 1},
		{"42", "bytes", 42},
		{"-7", "", -7},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char buf[80];
		double value;
		const char *plain = npl_quantity_in(cases[i].text, cases[i].unit, buf, sizeof buf);
		cr_expect(npl_parse_number(plain, &value), "%s became %s", cases[i].text, plain);
		cr_expect_eq(value, cases[i].value, "%s became %s", cases[i].text, plain);
	}
}

Test(quantity, of_another_kind_is_left_as_it_is)
{
	static const char *const cases[][2] = {{"2 MHz", "bytes"},      {"2 MB", "bytes/s"}, {"2 GB/s", "bytes"},
					       {"2 Gb/s", "bytes/s"},   {"2 mB", "bytes"},   {"2 MS", "s"},
					       {"2 ks", "s"},           {"2 KiHz", "Hz"},    {"2 mhz", "Hz"},
					       {"2 MiB", "cells"},      {"2 x", ""},         {"MiB", "bytes"},
					       {"2 MiB ", "bytes"},     {"2MiB x", "bytes"}, {"2 M", "bytes"},
					       {"2 cells", "rows"},     {"0x10", "bytes"},   {"2 ", "bytes"},
					       {"1e999999 B", "bytes"}, {"", "bytes"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char buf[80];
		double value;
		const char *text = npl_quantity_in(cases[i][0], cases[i][1], buf, sizeof buf);
		cr_expect(!npl_parse_number(text, &value), "%s became %s of %s", cases[i][0], text, cases[i][1]);
	}
}

Test(quantity, in_files_and_by_set)
{
	static const char *const sets[] = {"unified_buffer.bytes=2 MiB", "clock_hz=1GHz",
					   "host_link.latency_seconds=6 us", "weight_memory.bytes_per_second=34.1 GB/s",
					   "energy.static.watts=3350 mW"};
	static const char *const plain[] = {"unified_buffer.bytes=2097152", "clock_hz=1000000000",
					    "host_link.latency_seconds=6e-6",
					    "weight_memory.bytes_per_second=34100000000", "energy.static.watts=3.35"};
	char folder[CLI_PATH];
	struct npl_device *with, *without, *of_file;
	struct npl_err err;
	struct npl_device_options options = {.set = sets, .n_sets = 5};
	cr_assert_eq(npl_device_open("tpu_v1", &options, &with, &err), 0, "%s", err.msg);
	options.set = plain;
	cr_assert_eq(npl_device_open("tpu_v1", &options, &without, &err), 0, "%s", err.msg);
	cr_assert_str_eq(npl_device_yaml(with), npl_device_yaml(without), "a dump is plain");
	cli_folder(folder);
	cli_write_text(
		folder, "m.yaml",
		"driver: systolic\nclock_hz: 1 GHz\nunified_buffer: {bytes: 2MiB}\nhost_link: {latency_seconds: 6 "
		"us}\n");
	cr_assert_eq(npl_device_open(cli_path(folder, "m.yaml"), NULL, &of_file, &err), 0, "%s", err.msg);
	cr_assert(npl_device_get_info(of_file)->clock_hz == 1e9 && strstr(npl_device_yaml(of_file), "bytes: 2097152 "));
	npl_device_close(with);
	npl_device_close(without);
	npl_device_close(of_file);
	static const char *const wrong[] = {"unified_buffer.bytes=2 MHz"};
	options = (struct npl_device_options){.set = wrong, .n_sets = 1};
	cr_assert_eq(npl_device_open("tpu_v1", &options, &with, &err), NPL_EUSAGE);
	cr_assert(strstr(err.msg,
			 "must be a whole number from 2 to 1e+12 bytes (or with one of B, kB, MB, GB, TB, KiB, MiB, "
			 "GiB, TiB after it), got '2 MHz'"),
		  "%s", err.msg);
	cli_remove_folder(folder);
}

/* The row of each unit that takes a prefix has the units that a message names. */
static void check_rows(const char *section, const struct npl_param *params)
{
	for (; params && params->key; params++) {
		char units[80], cell[200] = "";
		if (!params->unit || !*npl_quantity_units(params->unit, units, sizeof units))
			continue;
		const char *row = page_row(section, params->unit), *unit = units;
		cr_assert(row, "docs/machine-files.md has no row of `%s`, the unit of %s", params->unit, params->key);
		for (size_t length; (length = strcspn(unit, ", ")); unit += length + strspn(unit + length, ", "))
			npl_append(cell, sizeof cell, ", ", "`%.*s`", (int)length, unit);
		row = strchr(row + 1, '|');
		cr_expect(!strncmp(row + 2, cell, strlen(cell)) && !strncmp(row + 2 + strlen(cell), " |", 2),
			  "docs/machine-files.md: expected %s of `%s`", cell, params->unit);
	}
}

Test(quantity, the_page_has_the_units)
{
	char *section = page_section("docs/machine-files.md", "## Units");
	for (const struct npl_driver *const *driver = npl_drivers; *driver; driver++)
		check_rows(section, (*driver)->params);
	check_rows(section, dram_params);
	free(section);
}
