/* SPDX-License-Identifier: MIT
 *
 * Which npulab this is. */
#ifndef NPULAB_VERSION_H
#define NPULAB_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

const char *npl_version(void); /* "0.1.0" */
const char *npl_commit(void);  /* twelve hex digits, "+" appended when the tree had changes; or "unknown" */

#ifdef __cplusplus
}
#endif

#endif
