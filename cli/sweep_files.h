/* SPDX-License-Identifier: MIT
 *
 * What `npulab sweep` does besides running a plan: `sweep status FILE`, `sweep merge -o OUT FILE...`, `sweep export
 * FILE`, `sweep figures`. */
#ifndef NPULAB_CLI_SWEEP_FILES_H
#define NPULAB_CLI_SWEEP_FILES_H

#include "explore/sweep.h"

/* Reads "2/8"; NULL is the whole sweep. */
int cli_sweep_shard(const char *text, struct sweep_shard *shard, struct npl_err *err);
/* Prints how many points are done, how many the plan or the shard has, and which processes work on it. */
int cli_sweep_status(const char *path, struct npl_err *err);
/* Puts databases of shards together, and prints how many points there are. */
int cli_sweep_merge(const char *out, const char *const *in, int n, struct npl_err *err);

/* Prints the points of a database as lines of JSON: what `sweep --points -` answers, with the parameters. */
int cli_sweep_export(const char *path, struct npl_err *err);
/* Prints the figures that points have. */
int cli_sweep_figures(struct npl_err *err);

#endif
