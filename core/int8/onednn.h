/* SPDX-License-Identifier: MIT
 *
 * oneDNN as a further kernel of npl_int8_gemm, private to this folder. It is used only where its products of bytes are
 * exact: with VNNI, and after products over the full range of the operands were right. Without VNNI it adds pairs of
 * products in 16 bits, which saturate silently.
 */
#ifndef NPULAB_CORE_INT8_ONEDNN_H
#define NPULAB_CORE_INT8_ONEDNN_H

#include "core/computer/onednn.h"
#include "int8.h"

/* Returns the library if it may be used, which the first call loads and checks (5 to 20 ms); else NULL, with the reason
 * in *reason unless that is NULL. Any number of threads may call it. */
const struct npl_onednn *npl_int8_onednn(const char **reason);
bool npl_int8_onednn_is_loaded(void);   /* says whether it has been loaded and may be used */
const char *npl_int8_onednn_text(void); /* "oneDNN 2.6.3, AVX-512 VNNI" */

/* Says whether oneDNN can compute the product: types (u8 or i8) x i8, strides it supports, sums that cannot wrap. */
bool npl_int8_onednn_supports(const struct npl_int8_product *product);
/* Runs the product on the calling thread alone. Returns false if the library refused; c is then undefined. */
bool npl_int8_onednn_run(const struct npl_onednn *onednn, const struct npl_int8_product *product);

/* Checks the instruction set, then products of extreme and random operands against the exact kernels. Returns 0,
 * NPL_EDEVICE with the reason, or NPL_ENOMEM. */
int npl_int8_onednn_check(const struct npl_onednn *onednn, struct npl_err *err);

#endif
