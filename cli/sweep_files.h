/* SPDX-License-Identifier: MIT
 *
 * What `npulab sweep` does with databases that are there: `sweep status FILE`, `sweep merge -o OUT FILE...`. */
#ifndef NPULAB_CLI_SWEEP_FILES_H
#define NPULAB_CLI_SWEEP_FILES_H

#include "explore/sweep.h"

/* Reads "2/8"; NULL is the whole sweep. */
int cli_sweep_shard(const char *text, struct sweep_shard *shard, struct npl_err *err);
/* Prints how many points are done, how many the plan or the shard has, and which processes work on it. */
int cli_sweep_status(const char *path, struct npl_err *err);
/* Puts databases of shards together, and prints how many points there are. */
int cli_sweep_merge(const char *out, const char *const *in, int n, struct npl_err *err);

#endif
