/* SPDX-License-Identifier: MIT
 *
 * What the library is doing, for a program that wants to say so while somebody waits. The library prints nothing: it notes its stage
 * where somebody watches, and any thread may ask for it as a text, also while one long step is under way.
 *
 *     npl_stage_watch(true);
 *     ... in another thread, now and then ...
 *     char text[NPL_STAGE_TEXT];
 *     if (npl_stage_text(text, sizeof text))
 *             fprintf(stderr, "%s\n", text); // tpu_v1: batch 2 of 3, layer 3 of 120, conv1
 *
 * There is one stage for the whole process, the last that any thread has noted. */
#ifndef NPULAB_STAGE_H
#define NPULAB_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_STAGE_TEXT 256 /* bytes of the longest text */

/* Whether stages are noted; nobody watches at the start. What was noted is forgotten. */
void npl_stage_watch(bool watched);

/* A piece of work begins: `part` is what is worked on (a device, a model), `unit` what is counted there ("batch"), `index` the one that is
 * begun, from 1, of `count` (0: not known). unit NULL: nothing is counted. Texts are copied. Without a watcher it costs the reading of
 * a flag, as npl_stage_step does. */
void npl_stage_part(const char *part, const char *unit, int64_t index, int64_t count);
/* A step of that piece: "layer" 3 of 120, called name (or NULL). */
void npl_stage_step(const char *unit, int64_t index, int64_t count, const char *name);

/* The present stage in one printable line without an end; false: none is known. Counts of one are left out. */
bool npl_stage_text(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
