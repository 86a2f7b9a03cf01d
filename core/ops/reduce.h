/* SPDX-License-Identifier: MIT
 *
 * The dimensions that ReduceSum and the other reductions fold. */
#ifndef NPULAB_CORE_OPS_REDUCE_H
#define NPULAB_CORE_OPS_REDUCE_H

#include "npulab/op.h"

/* Returns a set of bits: bit d means that dimension d of an input of this rank is reduced. */
unsigned op_reduced(const struct npl_attrs *attrs, int rank);

#endif
