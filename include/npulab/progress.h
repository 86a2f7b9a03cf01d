/* SPDX-License-Identifier: MIT
 *
 * What the library is doing, for a program that wants to say so while its user waits. The library prints nothing. It
 * notes its progress once a program has asked for that, and any thread may read the note as a text, also while one long
 * step is under way.
 *
 *     npl_progress_observe(true);
 *     ... in another thread, now and then ...
 *     char text[NPL_PROGRESS_TEXT];
 *     if (npl_progress_text(text, sizeof text))
 *             fprintf(stderr, "%s\n", text); // tpu_v1: batch 2 of 3, layer 3 of 120, conv1
 *
 * There is one note for the whole process, the last that any thread has made. */
#ifndef NPULAB_PROGRESS_H
#define NPULAB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_PROGRESS_TEXT 256 /* bytes of the longest text */

/* Whether progress is noted; it is not at the start. What was noted before is forgotten. */
void npl_progress_observe(bool observed);

/* A piece of work begins: `part` is what is worked on (a device, a model), `unit` what is counted there ("batch"),
 * `index` the one that is begun, from 1, of `count` (0: not known). unit NULL: nothing is counted. Texts are copied.
 * While nothing is noted the call costs the reading of a flag, as npl_progress_step does. */
void npl_progress_part(const char *part, const char *unit, int64_t index, int64_t count);
/* A step of that piece: "layer" 3 of 120, called name (or NULL). */
void npl_progress_step(const char *unit, int64_t index, int64_t count, const char *name);

/* The last note as one printable line without an end; false: there is none. Counts of one are left out. */
bool npl_progress_text(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
