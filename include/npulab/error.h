/* SPDX-License-Identifier: MIT
 *
 * How npulab reports failure. A function that can fail for a user's reason returns 0 or one of the negative codes
 * below, or NULL where it returns a pointer, and fills the caller's struct npl_err with one clear sentence that says
 * where, what was wrong and what was expected. Builders and eager contexts (build.h, eager.h) keep their first error
 * instead. Nothing stays allocated, nothing is global, nothing is printed. A message names an option as the command
 * line does: `--timing-only` is the member plan.timing_only of the call's options.
 *
 *     struct npl_err err;
 *     if (npl_graph_load("net.onnx", NULL, &graph, &err))
 *         fprintf(stderr, "npulab: %s\n", err.msg);
 */
#ifndef NPULAB_ERROR_H
#define NPULAB_ERROR_H

#include <stdbool.h>
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
	int code;          /* one of enum npl_code */
	char msg[512];     /* one line, no newline; a longer one loses its middle */
	size_t name_bytes; /* bytes of a device's name and ": " at the beginning of msg; 0: msg does not begin so */
	/* The keys of the machine's or memory's settings that are at fault, with blanks between them, in the order in
	 * which the message names them; "": no setting is. */
	char settings[160];
	/* True: the file of the machine or memory that was to be opened is at fault, as a whole or in one line. */
	bool in_file;
};

/* Fills err and returns code, so that `return npl_fail(...)` reads well. In this function and in npl_fail_as err may be
 * NULL. User data in the message is made printable: the message stays one line and cannot control a terminal. */
int npl_fail(struct npl_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Fails with NPL_EUSAGE for settings that contradict each other or the machine. `keys` has their keys with blanks
 * between them, first the one that the message names first: keys of the mapping, or whole keys where it is NULL. */
int npl_fail_settings(struct npl_err *err, const char *mapping, const char *keys, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Fails as another call did: copies its error and returns the code. */
int npl_fail_as(struct npl_err *err, const struct npl_err *failure);

/* Puts "PREFIX: " before a message that is already there; returns err->code. The settings at fault stay the same. */
int npl_prefix(struct npl_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts the name of a device before a message, from which npl_err_reason takes it away; returns err->code. */
int npl_prefix_name(struct npl_err *err, const char *name);
/* Returns the message without the device's name before it, for tables that have the name already. */
const char *npl_err_reason(const struct npl_err *err);
/* Says that these settings are at fault and no others, with mapping and keys as in npl_fail_settings; returns
 * err->code. The message stays the same, and in_file is cleared. */
int npl_blame_settings(struct npl_err *err, const char *mapping, const char *keys);

/* The process exit status for a code: 0 to 6. */
int npl_exit_status(int code);

#ifdef __cplusplus
}
#endif

#endif
