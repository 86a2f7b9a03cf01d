/* SPDX-License-Identifier: MIT
 *
 * Launches the layers of a group as one CUDA graph. A launch of a kernel costs the processor 5 us, a convolution of
 * cuDNN up to 300 us, and a GPU that computes a layer in 20 us would wait for the next. So the second run of a group
 * captures its calls in a graph, which later runs launch with one call. Events are recorded by the graph itself, so
 * each layer has its time.
 *
 * The first run launches layer by layer, because compiling a kernel and warming a library cannot be captured. So does
 * every run with an observer, and every run of a group that a library refuses to have captured.
 */
#ifndef NPULAB_BACKENDS_CUDA_LAYER_GROUP_REPLAY_H
#define NPULAB_BACKENDS_CUDA_LAYER_GROUP_REPLAY_H

#include "layer_group.h"

/* Says whether the graph is there and its addresses are still those of the device's memory. */
bool cu_replay_is_current(const struct cu_layer_group *group);

/* Begins to capture what is put into the stream. false: it cannot be captured. */
bool cu_replay_begin(struct cu_layer_group *group);

/* Ends the capture and makes the graph ready to be launched. complete: all layers were captured. false: there is no
 * graph, nothing has run, and the group is not captured again. */
bool cu_replay_end(struct cu_layer_group *group, bool complete);

int cu_replay_launch(const struct cu_layer_group *group, struct npl_err *err);

void cu_replay_close(struct cu_layer_group *group);

#endif
