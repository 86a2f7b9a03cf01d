/* SPDX-License-Identifier: MIT
 *
 * The parts of `npulab validate tpu_v1`. */
#ifndef NPULAB_VALIDATE_TPU_V1_H
#define NPULAB_VALIDATE_TPU_V1_H

#include "tpu_applications.h"

/* Adds the paper's sensitivity study, its roofline's knee and its 600 x 600 example. counts[]: those of the unchanged
 * machine. */
int npl_tpu_v1_sweeps(struct npl_validation *validation, const struct npl_validate_options *options,
		      const struct npl_tpu_counts counts[NPL_TPU_APPLICATIONS], struct npl_err *err);

#endif
