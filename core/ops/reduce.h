/* SPDX-License-Identifier: MIT
 *
 * What ReduceSum and its kind fold. */
#ifndef NPULAB_CORE_OPS_REDUCE_H
#define NPULAB_CORE_OPS_REDUCE_H

#include "npulab/op.h"

/* Bit d: dimension d of an input of that rank is reduced. */
unsigned op_reduced(const struct npl_attrs *attrs, int rank);

#endif
