/* SPDX-License-Identifier: MIT
 *
 * The precisions of the cuda device (precision.h). */
#include "precision.h"

#define DEF(constant, word, further, ...) {word, __VA_ARGS__},
const struct cu_precision_def cu_precisions[CU_PRECISIONS] = {CU_PRECISION_LIST(DEF)};
