/* SPDX-License-Identifier: MIT
 *
 * How npulab reports failure. A function that can fail for a user's reason returns 0 or one of the negative codes
 * below, or NULL where it returns a pointer, and fills the caller's struct npl_err with one clear sentence that says
 * where, what was wrong and what was expected. Builders and eager contexts (build.h, eager.h) keep their first error
 * instead. Nothing stays allocated, nothing is global, nothing is printed. A message names an option as the command
 * line does: `--timing-only` is the member timing_only of the call's options.
 *
 *     struct npl_err err;
 *     if (npl_graph_load("net.onnx", NULL, &graph, &err))
 *         fprintf(stderr, "npulab: %s\n", err.msg);
 */
#ifndef NPULAB_ERROR_H
#define NPULAB_ERROR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The command line turns these into its exit status (npl_exit_status). */
enum npl_code {
	NPL_OK = 0,
	NPL_ECHECK = -1,    /* a check the user asked for failed: exit 1 */
	NPL_EUSAGE = -2,    /* wrong usage: exit 2 */
	NPL_EINPUT = -3,    /* an input that cannot be opened or is bad: exit 3 */
	NPL_EDEVICE = -4,   /* device not available: exit 4 */
	NPL_ENOMEM = -5,    /* out of memory: exit 5 */
	NPL_EOUTPUT = -6,   /* an output could not be written: exit 5 */
	NPL_EINTERNAL = -7, /* a broken invariant, our bug: exit 6 */
};

struct npl_err {
	int code;      /* one of enum npl_code */
	char msg[512]; /* one line, no newline; a longer one loses its middle */
};

/* Fills err and returns code, so that `return npl_fail(...)` reads well. Only here may err be NULL. User data in the
 * message is made printable: the message stays one line and cannot control a terminal. */
int npl_fail(struct npl_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before a message that is already there; returns err->code. */
int npl_prefix(struct npl_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The process exit status for a code: 0 to 6. */
int npl_exit_status(int code);

#ifdef __cplusplus
}
#endif

#endif
