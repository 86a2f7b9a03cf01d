/* SPDX-License-Identifier: MIT
 *
 * The ranks of an MPI job as the workers of a sweep (explore/evaluate/pool.h). Requests and outcomes are the lines of
 * JSON of explore/evaluate/wire.h. */
#ifndef NPULAB_CLUSTER_RANKS_H
#define NPULAB_CLUSTER_RANKS_H

/* Makes this process one of the cluster. */
void cluster_open(void);
/* Ends the other ranks, which rank 0 must do however its command ended. A rank that was never asked to serve waits here
 * until rank 0 ends it. */
void cluster_close(int status);

#endif
