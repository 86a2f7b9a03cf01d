/* SPDX-License-Identifier: MIT
 *
 * What a placement rule's regular expression may hold. The C library's compiler recurses into groups, writes counted
 * repetitions out and searches back-references without end: fifteen thousand "(" end the program, "(a{1,30000})" takes
 * gigabytes, and "(a*)*(a*)*\1\2c" does not come back. Expressions on the names of nodes need none of this. */
#ifndef NPULAB_FRONTEND_SESSION_EXPRESSION_H
#define NPULAB_FRONTEND_SESSION_EXPRESSION_H

/* NULL: an expression that costs little. Otherwise what it has too much of, and what is allowed, for a message. */
const char *expression_too_costly(const char *text);

#endif
