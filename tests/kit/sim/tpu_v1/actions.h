/* SPDX-License-Identifier: MIT
 *
 * What random programs of the systolic machines are made of: each function adds one instruction, or a few that belong
 * together, with the registers, syncs, weights and tables that they need. Sizes, modes and places are drawn by the
 * builder's mood. What they add may leave the program stuck; whoever calls takes it back then. */
#ifndef NPULAB_TESTS_KIT_SIM_TPU_V1_ACTIONS_H
#define NPULAB_TESTS_KIT_SIM_TPU_V1_ACTIONS_H

#include "builder.h"

/* Tiles, or tables, whether anybody waits for them or not. */
void action_read_weights(struct builder *b, bool tables);
/* One matrix_multiply or convolve onto accumulator rows that start at `acc`; negative: rows of its own choice. Returns
 * how many it writes. */
int64_t action_matrix(struct builder *b, int64_t acc, int64_t most_vectors, bool accumulate);
/* Passes that add up in the same accumulators, as a layer's do, over one block of rows or several. */
void action_layer_group(struct builder *b);
/* One activate; with `block` of the accumulators that the last layer group wrote. */
void action_activate(struct builder *b, bool block);
void action_host(struct builder *b, bool out);
/* A matrix instruction, and then host rows onto the first or the last of those that it has read. */
void action_overwrite(struct builder *b);
/* Rows out to host memory and, after a sync, back to another place. */
void action_spill(struct builder *b);
/* A sync, nops, needless set_configs. */
void action_noise(struct builder *b);

/* The first of `count` rows of the unified buffer that `unit` can use without waiting, if such are soon found. */
int64_t action_rows(struct builder *b, enum tpu_unit unit, int64_t count, bool writes);

#endif
