/* SPDX-License-Identifier: MIT
 *
 * The machine of the DianNao paper (Chen et al., ASPLOS 2014, section 7.1 and Table 6) beside the configuration of the
 * model: operations per cycle and second, sizes, power at full rate. The model has no area. */
#include <math.h>
#include <string.h>

#include "diannao.h"
#include "papers.h"
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
		.reference = CHEN_2014,
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

const struct npl_diannao_block npl_diannao_blocks[NPL_DIANNAO_BLOCKS] = {
	{"SB", "SB", 2, 2},      {"NBin", "NBin", 1, 2},        {"NBout", "NBout", 1, 2}, {"NFU", "NFU", 2, 1},
	{"CP", "control", 0, 1}, {"AXIMUX", "interface", 0, 1}, {"other", "other", 0, 1},
};

const struct npl_component *npl_diannao_component(const struct npl_device *device,
						  const struct npl_diannao_block *block)
{
	const struct npl_energy_model *model = npl_device_energy_model(device);
	for (int c = 0; c < model->n_components; c++)
		if (!strcmp(model->component[c].name, block->component))
			return &model->component[c];
	return NULL;
}

double npl_diannao_block_mw(const struct npl_device *device, const struct npl_diannao_block *block, double pj)
{
	/* pJ times GHz are mW. */
	return pj * pow(tn(device), block->power_of_tn) * block->factor * clock_ghz(device);
}

double npl_diannao_powers(const struct npl_device *device, double mw[NPL_DIANNAO_BLOCKS])
{
	const double static_watts = npl_device_energy_model(device)->static_watts;
	const double leakage_mw = isnan(static_watts) ? 0 : static_watts * 1e3;
	double dynamic_mw = 0;
	for (int b = 0; b < NPL_DIANNAO_BLOCKS; b++) {
		const struct npl_diannao_block *block = &npl_diannao_blocks[b];
		mw[b] = npl_diannao_block_mw(device, block, npl_diannao_component(device, block)->action[0].pj);
		dynamic_mw += mw[b];
	}
	for (int b = 0; b < NPL_DIANNAO_BLOCKS && !isnan(dynamic_mw); b++)
		mw[b] *= 1 + leakage_mw / dynamic_mw;
	return dynamic_mw + leakage_mw;
}

/* Sets a figure of Table 6; one that is not known is explained. */
static int set_block(struct npl_validation *validation, const char *name, const char *metric, const char *unit,
		     double value, struct npl_err *err)
{
	const int rc = npl_validation_set(validation, NPL_DIANNAO_MACHINE, name, metric, unit, rounded(value), err);
	return rc ? rc
		  : npl_validation_explain(validation, NPL_DIANNAO_MACHINE, name,
					   "neither a table nor the machine file has it", err);
}

/* Compares power and area of the blocks. */
static int validate_blocks(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err)
{
	double mw[NPL_DIANNAO_BLOCKS];
	int rc = set_block(validation, "blocks together", "power", "mW", npl_diannao_powers(device, mw), err);
	for (int b = 0; b < NPL_DIANNAO_BLOCKS && !rc; b++) {
		const struct npl_diannao_block *block = &npl_diannao_blocks[b];
		rc = set_block(validation, block->name, "power", "mW", mw[b], err);
		if (!rc)
			rc = set_block(validation, block->name, "area", "mm2",
				       npl_diannao_component(device, block)->area_mm2, err);
	}
	return rc ? rc
		  : set_block(validation, "blocks together", "area", "mm2", npl_device_energy_model(device)->area_mm2,
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
