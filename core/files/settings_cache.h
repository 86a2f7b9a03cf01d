/* SPDX-License-Identifier: MIT
 *
 * Settings files that this process has parsed before. A sweep opens the same machine thousands of times, and parsing
 * its file would take longer than anything else of opening it. A file is known by its path and by all its bytes, so
 * that one that changes meanwhile is parsed again. Files of more than 64 KiB are not kept, and of the others those that
 * were used last. Threads may call these functions at the same time. */
#ifndef NPULAB_CORE_FILES_SETTINGS_CACHE_H
#define NPULAB_CORE_FILES_SETTINGS_CACHE_H

#include <stdbool.h>

#include "file.h"
#include "npulab/params.h"

/* Copies the settings of the file into the arena. Returns false where they are not kept, or memory runs out. */
bool npl_settings_recall(const char *path, const struct npl_file *file, struct npl_arena *arena,
			 struct npl_setting **settings, int *n);
/* Keeps a copy of the settings of the file, unless memory runs out. */
void npl_settings_remember(const char *path, const struct npl_file *file, const struct npl_setting *settings, int n);

#endif
