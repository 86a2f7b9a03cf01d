/* SPDX-License-Identifier: MIT
 *
 * How much memory the process may take for tensors. Linux promises more memory than there is and kills the program that
 * uses it. npulab therefore refuses before it allocates: a whole run by the bytes of its plan, and each large tensor by
 * the bytes already in use. */
#ifndef NPULAB_BUDGET_H
#define NPULAB_BUDGET_H

#include <stdint.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the bytes that this process may take in all. 0, the setting at the start, allows all of this computer's
 * memory. */
void npl_budget_set(uint64_t bytes);
uint64_t npl_budget_limit(void);
/* Returns four fifths of the smallest of three sizes: this computer's memory, the limit of this process's control
 * groups, and the limit of its address space. */
uint64_t npl_budget_default(void);

/* Returns the bytes of private memory that the process has in use; 0: not known. */
uint64_t npl_budget_used(void);
/* Returns 0 when `bytes` more may be taken for `subject` (NULL: unnamed), as few bytes always may. Otherwise returns
 * NPL_ENOMEM with one sentence: the bytes needed, the bytes allowed and what would help. */
int npl_budget_check(uint64_t bytes, const char *subject, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
