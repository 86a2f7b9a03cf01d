/* SPDX-License-Identifier: MIT
 *
 * Integers that a model itself has: QLinearConv, QLinearMatMul, ConvInteger and MatMulInteger, and operators that only
 * pick from 8-bit values, as layers of devices that compute with 8-bit integers. Types, scales and zero points are the
 * model's; nothing is calibrated, and results are those of the operators' own rule to the bit. */
#ifndef NPULAB_FRONTEND_WRITTEN_H
#define NPULAB_FRONTEND_WRITTEN_H

#include "session_impl.h"

/* Is node i one of these, on a device that may take it? */
bool npl_written_is(const struct npl_session *s, int i, const struct npl_step *step);
/* Fills the step and asks the device. False, with the reason: the host's. NPL_ENOMEM and the like in err->code. */
bool npl_written_plan(struct npl_session *s, int i, struct npl_step *step, char *why, size_t n, struct npl_err *err);

/* Scale and zero point of integers that are value v; scale 1 and zero point 0 where nothing is said of them. */
struct npl_quant npl_written_quant(const struct npl_session *s, int v);

#endif
