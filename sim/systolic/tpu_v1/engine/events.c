/* SPDX-License-Identifier: MIT
 *
 * The events of the engines, from events.def. */
#include "engine.h"

const char *const tpu_event_names[] = {
#define TPU_EVENT(constant, name, index) name,
#include "events.def"
};

const enum tpu_event_index tpu_event_indices[] = {
#define TPU_EVENT(constant, name, index) TPU_INDEX_##index,
#include "events.def"
};
