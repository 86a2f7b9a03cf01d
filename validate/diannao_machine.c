/* SPDX-License-Identifier: MIT
 *
 * The machine of the DianNao paper (Chen et al., ASPLOS 2014, section 7.1 and Table 6) beside the configuration of the
 * model: operations per cycle and second, sizes, power at full rate. The model has no area. */
#include <math.h>
#include <string.h>

#include "diannao.h"
#include "validation.h"

#define GIBI 0x1p30 /* the paper's G in operations per second */

static double tn(const struct npl_device *device)
{
	return npl_device_setting_number(device, "nfu.tn");
}

static double clock_ghz(const struct npl_device *device)
{
	return npl_device_get_info(device)->clock_hz / 1e9;
}

static double critical_path_ns(const struct npl_device *device)
{
	return 1 / clock_ghz(device);
}

/* Returns operations per cycle: Tn x Tn multipliers, and Tn trees of Tn - 1 adders. */
static double operations(const struct npl_device *device)
{
	return tn(device) * tn(device) + tn(device) * (tn(device) - 1);
}

/* Adds to these a multiplier and an adder of NFU-3 for each output. */
static double operations_with_nfu3(const struct npl_device *device)
{
	return operations(device) + 2 * tn(device);
}

static double peak(const struct npl_device *device)
{
	return operations(device) * npl_device_get_info(device)->clock_hz / GIBI;
}

static double peak_with_nfu3(const struct npl_device *device)
{
	return operations_with_nfu3(device) * npl_device_get_info(device)->clock_hz / GIBI;
}

static double rows_kib(const struct npl_device *device, const char *key, double values)
{
	return npl_device_setting_number(device, key) * values * 2 / 1024;
}

static double nbin_kib(const struct npl_device *device)
{
	return rows_kib(device, "nbin.rows", tn(device));
}

static double nbout_kib(const struct npl_device *device)
{
	return rows_kib(device, "nbout.rows", tn(device));
}

static double sb_kib(const struct npl_device *device)
{
	return rows_kib(device, "sb.rows", tn(device) * tn(device));
}

/* Returns the memory's bandwidth: that of the link. */
static double memory_gb_per_s(const struct npl_device *device)
{
	return npl_device_get_info(device)->link.bytes_per_second / 1e9;
}

static const struct {
	const char *metric, *unit;
	double (*figure)(const struct npl_device *device);
} metrics[] = {
	{"clock", "GHz", clock_ghz},
	{"critical_path", "ns", critical_path_ns},
	{"ops_per_cycle", "op/cycle", operations},
	{"ops_per_cycle_nfu3", "op/cycle", operations_with_nfu3},
	{"peak", "Giop/s", peak},
	{"peak_nfu3", "Giop/s", peak_with_nfu3},
	{"nbin_size", "KiB", nbin_kib},
	{"nbout_size", "KiB", nbout_kib},
	{"sb_size", "KiB", sb_kib},
	{"memory_bandwidth", "GB/s", memory_gb_per_s},
};
#define METRICS ((int)(sizeof metrics / sizeof *metrics))

/* Adds the same peak in decimal units. */
static int add_decimal_peak(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err)
{
	const struct npl_validation_row row = {
		.case_name = "DianNao",
		.metric = "peak_decimal",
		.unit = "Gop/s",
		.published = npl_diannao_published(validation, "DianNao", "peak") * GIBI / 1e9,
		.model = peak(device) * GIBI / 1e9,
		.tolerance = GIBI / 1e9,
		.reference = "paper",
		.source = "section 7.1",
		.note = "derived: the published 452 times 2^30; reports of the other commands count 512 operations a "
			"cycle"};
	return npl_validation_add(validation, NPL_DIANNAO_MACHINE, &row, err);
}

static int add_fitted(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err)
{
	const struct npl_validation_row row = {.case_name = "DianNao",
					       .source = "Figure 16 ideal",
					       .note = "fitted on CLASS1, CLASS3, CONV2* and POOL1; not published"};
	return npl_validation_add_fitted(validation, NPL_DIANNAO_MACHINE, device, &row, err);
}

/* Returns a value without the last bits of a product or sum. */
static double rounded(double value)
{
	return nearbyint(value * 1e9) / 1e9;
}

/* Table 6's blocks, with the power that each draws when every cycle is a step: pJ of an event times events a cycle. */
static const struct {
	const char *name, *key;
	int power_of_tn; /* events: bytes of that many values, two each, or lanes */
	double bytes;
} blocks[] = {
	{"SB", "energy.sb_pj_per_byte", 2, 2},        {"NBin", "energy.nbin_pj_per_byte", 1, 2},
	{"NBout", "energy.nbout_pj_per_byte", 1, 2},  {"NFU", "energy.nfu_pj_per_lane", 2, 1},
	{"CP", "energy.control_pj_per_cycle", 0, 1},  {"AXIMUX", "energy.interface_pj_per_cycle", 0, 1},
	{"other", "energy.other_pj_per_cycle", 0, 1},
};
#define BLOCKS ((int)(sizeof blocks / sizeof *blocks))

static int validate_blocks(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err)
{
	const char *origin = npl_device_setting(device, "energy.chip_origin");
	const bool known = origin && !npl_origin_is_absent(origin);
	static const char unknown[] = "energy.chip_origin is absent";
	double power = 0, area = 0;
	int rc = 0;
	for (int b = 0; b < BLOCKS && !rc; b++) {
		const double events = pow(tn(device), blocks[b].power_of_tn) * blocks[b].bytes;
		const double milliwatts = known ? npl_device_setting_number(device, blocks[b].key) * events *
							  clock_ghz(device)
						: NAN; /* pJ times GHz are mW */
		power += milliwatts;
		area += npl_diannao_published(validation, blocks[b].name, "area");
		rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, blocks[b].name, "power", "mW",
					rounded(milliwatts), err);
		if (!rc)
			rc = npl_validation_explain(validation, NPL_DIANNAO_MACHINE, blocks[b].name, unknown, err);
		if (!rc)
			rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, blocks[b].name, "area", "mm2", NAN,
						err);
		if (!rc)
			rc = npl_validation_explain(validation, NPL_DIANNAO_MACHINE, blocks[b].name,
						    "area is not modelled", err);
	}
	if (!rc)
		rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, "blocks together", "power", "mW",
					rounded(power), err);
	if (!rc)
		rc = npl_validation_explain(validation, NPL_DIANNAO_MACHINE, "blocks together", unknown, err);
	return rc ? rc
		  : npl_validation_set(validation, NPL_DIANNAO_MACHINE, "blocks together", "area", "mm2", rounded(area),
				       err);
}

int npl_diannao_machine(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err)
{
	int rc = 0;
	for (int m = 0; m < METRICS && !rc; m++)
		rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, "DianNao", metrics[m].metric, metrics[m].unit,
					metrics[m].figure(device), err);
	if (!rc)
		rc = add_decimal_peak(validation, device, err);
	if (!rc)
		rc = add_fitted(validation, device, err);
	return rc ? rc : validate_blocks(validation, device, err);
}

double npl_diannao_published(const struct npl_validation *validation, const char *case_name, const char *metric)
{
	const struct npl_validation_row *row = npl_validation_find(validation, NPL_DIANNAO_MACHINE, case_name, metric);
	return row ? row->published : NAN;
}
