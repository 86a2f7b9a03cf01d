/* SPDX-License-Identifier: MIT
 *
 * What the library is doing, for a program that tells its user so while the user waits. The library prints nothing.
 * After npl_progress_observe(true) it notes its progress, and any thread may read the note as text, even during one
 * long step.
 *
 *     npl_progress_observe(true);
 *     ... in another thread, now and then ...
 *     char text[NPL_PROGRESS_TEXT];
 *     if (npl_progress_text(text, sizeof text))
 *             fprintf(stderr, "%s\n", text); // tpu_v1: batch 2 of 3, layer 3 of 120, conv1
 *
 * There is one note for the whole process: the last one that any thread has made. */
#ifndef NPULAB_PROGRESS_H
#define NPULAB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_PROGRESS_TEXT 256 /* bytes of the longest text */

/* ---- For a program that shows progress. */

/* Starts or stops the noting of progress, which is off at the start. Forgets earlier notes. */
void npl_progress_observe(bool observed);
/* Writes the last note as one printable line without a newline; false: there is none. A count of one is left out. */
bool npl_progress_text(char *text, size_t bytes);

/* The last note in two pieces, and how much of the work that it counts is done. The time that is left can be estimated
 * from the share and the seconds. Both texts are printable. */
struct npl_progress {
	char part[NPL_PROGRESS_TEXT];    /* "tpu_v1" */
	char details[NPL_PROGRESS_TEXT]; /* ": batch 2 of 3, layer 3 of 120, conv1", or "" */
	double share;                    /* of the work that is done, 0 to 1, never falling; NAN: not known */
	/* The work is that of the part, such as one of several devices. Otherwise the parts themselves are counted. */
	bool is_of_part;
	uint64_t work;    /* the number of the work, which is another one when other work begins */
	double seconds;   /* since that work began */
	int64_t advances; /* how often the share has grown */
};
/* Gets the last note; false: there is none. */
bool npl_progress_get(struct npl_progress *progress);

/* ---- Where work is done: calls of the library and of drivers. A program needs them only for long work of its own. */

/* Notes that a piece of work begins: `part` is a device or model, `unit` what is counted there ("batch"), `index` the
 * unit that begins, from 1, of `count` (0: not known). unit NULL: nothing is counted. Texts are copied. While noting is
 * off, this call and npl_progress_step only read a flag. */
void npl_progress_part(const char *part, const char *unit, int64_t index, int64_t count);
/* Notes a step of that piece of work: "layer" 3 of 120, with its name (or NULL). */
void npl_progress_step(const char *unit, int64_t index, int64_t count, const char *name);
/* Tells that `count` steps of this unit are the work of a part, and how much work each is, in relation to the others
 * (weight NULL: they are equal). From then on notes of such steps say how much is done. Steps of other units, such as
 * preparations, are only named. */
void npl_progress_weigh(const char *unit, int64_t count, const double *weight);

#ifdef __cplusplus
}
#endif

#endif
