/* SPDX-License-Identifier: MIT
 *
 * The parts of `npulab validate diannao`. */
#ifndef NPULAB_VALIDATE_DIANNAO_H
#define NPULAB_VALIDATE_DIANNAO_H

#include "npulab/device.h"
#include "npulab/validate.h"

#define NPL_DIANNAO_MACHINE "diannao"

/* Returns the paper's figure of a case; NAN: none. */
double npl_diannao_published(const struct npl_validation *validation, const char *case_name, const char *metric);

/* Adds the figures that follow from the configuration alone: operations per cycle, peak, sizes, power, fitted
 * parameters, and the areas. */
int npl_diannao_machine(struct npl_validation *validation, const struct npl_device *device, struct npl_err *err);

/* A block of Table 6, and the component of the machine that it is. The events of a cycle when every cycle is a step are
 * tn ^ power_of_tn * factor. */
struct npl_diannao_block {
	const char *name, *component;
	int power_of_tn;
	double factor; /* bytes of a value, or 1 */
};
enum { NPL_DIANNAO_BLOCKS = 7 };
extern const struct npl_diannao_block npl_diannao_blocks[NPL_DIANNAO_BLOCKS];
const struct npl_component *npl_diannao_component(const struct npl_device *device,
						  const struct npl_diannao_block *block);
/* Returns the power in milliwatts of a block at full rate, of which an event takes so many pJ. */
double npl_diannao_block_mw(const struct npl_device *device, const struct npl_diannao_block *block, double pj);

/* Fills in the powers of the blocks at full rate, each with its share of leakage as in the paper. Returns their sum. */
double npl_diannao_powers(const struct npl_device *device, double mw[NPL_DIANNAO_BLOCKS]);

#endif
