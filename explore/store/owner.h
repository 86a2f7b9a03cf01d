/* SPDX-License-Identifier: MIT
 *
 * The name of a process that works on a sweep. From it another process can tell whether that one still runs. */
#ifndef NPULAB_EXPLORE_STORE_OWNER_H
#define NPULAB_EXPLORE_STORE_OWNER_H

#include <stdbool.h>

#define SWEEP_OWNER_TEXT 160

/* Seconds after which a process of another computer is taken for one that has ended, unless it renewed its claim. */
#define SWEEP_OWNER_SECONDS 60

/* Writes the name of this process: the computer since its last start, the space of process numbers, the number, and
 * when it began. */
void sweep_owner_of_this(char name[SWEEP_OWNER_TEXT]);
/* Says whether the process of a name has ended; seconds: since it last renewed its claim. */
bool sweep_owner_has_ended(const char *name, double seconds);

#endif
