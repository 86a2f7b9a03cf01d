/* SPDX-License-Identifier: MIT
 *
 * Puts the databases of the shards of a sweep together. */
#ifndef NPULAB_EXPLORE_STORE_MERGE_H
#define NPULAB_EXPLORE_STORE_MERGE_H

#include "store.h"

/* Adds the points of n databases to the one at `path`, which is made if there is none. All must be of one sweep: their
 * facts may differ in the shard alone. A point that several have is taken once. Returns NPL_EINPUT, with the file and
 * what is different, for one of another sweep, before anything is written. */
int sweep_store_merge(const char *path, const char *const *in, int n, struct sweep_counts *counts, struct npl_err *err);

#endif
