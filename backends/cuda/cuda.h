/* SPDX-License-Identifier: MIT
 *
 * The cuda device inside.
 */
#ifndef NPULAB_CUDA_CUDA_H
#define NPULAB_CUDA_CUDA_H

#include "driver_api.h"

#include <stdint.h>

struct cu_config {
	int64_t device; /* ordinal of the GPU, as the driver counts them */
};

/* What the driver's open does, over any loader. */
int cu_open(const struct cu_loader *loader, const struct cu_config *config, struct npl_err *err);

#endif
