/* SPDX-License-Identifier: MIT
 *
 * Lists of energies (npulab/result.h) in which every component stands once, for sums of results and runs.
 */
#ifndef NPULAB_CORE_ENERGY_MERGE_H
#define NPULAB_CORE_ENERGY_MERGE_H

#include "npulab/result.h"

/* Adds one component to a list of at most `capacity`, in which components are told apart by part, name and origin. The
 * coefficient of a sum is NAN where those of its components differ: only its joules are then known. Returns
 * NPL_EINTERNAL when the list is full or the origin is unknown. */
int npl_energy_merge(struct npl_energy *list, int *n, int capacity, const struct npl_energy *add, struct npl_err *err);

#endif
