/* SPDX-License-Identifier: MIT
 *
 * The activations of npulab/activations.def as operators. */
#ifndef NPULAB_CORE_ACTIVATION_H
#define NPULAB_CORE_ACTIVATION_H

#include "npulab/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the operator that the activation is as a layer of its own; NPL_OP_NONE of NPL_ACT_NONE. */
enum npl_op npl_activation_op(enum npl_activation activation);
/* Returns the attributes with which the operator is the activation; NULL where it needs none. */
const struct npl_attrs *npl_activation_attrs(enum npl_activation activation);
/* Returns the activation that an operator with these attributes is; NPL_ACT_NONE: it is none. */
enum npl_activation npl_activation_of(enum npl_op op, const struct npl_attrs *attrs);

#ifdef __cplusplus
}
#endif

#endif
