/* SPDX-License-Identifier: MIT
 *
 * Processes that run the points of a sweep side by side. Each is forked from this one, and shares the networks that it
 * has imported. A point that ends its process by a fault is a failed point, and another process takes the place of the
 * one that ended. A worker ends when the sweep does, however that ends, and not by the interrupt of a terminal: the
 * sweep decides then. */
#ifndef NPULAB_EXPLORE_EVALUATE_WORKERS_H
#define NPULAB_EXPLORE_EVALUATE_WORKERS_H

#include "pool.h"

/* Starts n workers; in this process no other thread may run, except those that `threads` pauses. */
sweep_open_pool sweep_workers_open;

#endif
