/* SPDX-License-Identifier: MIT
 *
 * How much memory the process may take for tensors. Linux promises more than there is and kills the program that uses
 * it, so what is too much is refused before it is taken: a whole run by its plan, and each large tensor by what is in
 * use already. */
#ifndef NPULAB_BUDGET_H
#define NPULAB_BUDGET_H

#include <stdint.h>

#include "npulab/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that this process may take in all; 0, as at the start: as many as this computer has. */
void npl_memory_allow(uint64_t bytes);
uint64_t npl_memory_allowed(void);
/* Four fifths of the least of this computer's memory, what the control groups of this process give it, and the limit of
 * its address space. */
uint64_t npl_memory_usual(void);
/* The least limit on memory of the control groups that `cgroup` (as /proc/self/cgroup) names below `mount`, from each
 * up to the root, of both versions; UINT64_MAX: there is none. */
uint64_t npl_memory_of_cgroups(const char *cgroup, const char *mount);

/* Private memory that the process has in use; 0: not known. */
uint64_t npl_memory_used(void);
/* Whether `bytes` more may be taken, for `what` (NULL: not named). NPL_ENOMEM in one sentence: bytes needed, bytes
 * allowed and what would help. Few bytes are always allowed. */
int npl_memory_ask(uint64_t bytes, const char *what, struct npl_err *err);

#ifdef __cplusplus
}
#endif

#endif
