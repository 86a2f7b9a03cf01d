/* SPDX-License-Identifier: MIT
 *
 * Refuses regular expressions on the names of nodes that cost too much, before they are compiled. The C library's
 * compiler recurses into groups, writes counted repetitions out and searches back-references without end: fifteen
 * thousand "(" end the program, "(a{1,30000})" takes gigabytes, and "(a*)*(a*)*\1\2c" does not come back. Names need
 * none of this. */
#ifndef NPULAB_FRONTEND_SESSION_EXPRESSION_H
#define NPULAB_FRONTEND_SESSION_EXPRESSION_H

/* Returns NULL for an expression that costs little. Otherwise returns the end of a message, which says what the
 * expression has too much of and what is allowed. */
const char *expression_too_costly(const char *text);

#endif
