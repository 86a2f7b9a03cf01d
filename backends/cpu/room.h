/* SPDX-License-Identifier: MIT
 *
 * Whether OpenBLAS finds the memory and the threads that it takes without asking: where a buffer cannot be had it tries
 * again for ever, where a thread cannot be started it ends the process. */
#ifndef NPULAB_BACKENDS_CPU_ROOM_H
#define NPULAB_BACKENDS_CPU_ROOM_H

#include "npulab/error.h"

/* The most threads, `wanted` at most, for which there is room, by taking as much for a moment. NPL_ENOMEM: there is not
 * even room for one; the bytes that it needs, and what limits them. */
int cpu_room_for_threads(int wanted, int *threads, struct npl_err *err);

#endif
