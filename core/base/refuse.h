/* SPDX-License-Identifier: MIT
 *
 * The reason why a device does not take a layer, and the failure that every file has. A refusal is no error: the layer
 * runs somewhere else, and reports show the reason.
 */
#ifndef NPULAB_CORE_BASE_REFUSE_H
#define NPULAB_CORE_BASE_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the reason, cut where it is longer than its bytes. Returns false always, so that a check can end with
 * `return npl_refuse(...)` or `return fits || npl_refuse(...)`. */
bool npl_refuse(char *reason, size_t reason_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Fails a run of a layer that supports() refuses with this reason; returns NPL_EINTERNAL, since core asks supports()
 * before. */
int npl_unsupported(const char *reason, struct npl_err *err);

/* Fails with NPL_ENOMEM and the message "out of memory"; returns NPL_ENOMEM. */
int npl_no_memory(struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
