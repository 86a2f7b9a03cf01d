/* SPDX-License-Identifier: MIT
 *
 * Threads of npulab's own, with a stack of one size wherever they run: what a thread gets otherwise is the process's limit (ulimit -s),
 * which may be a few pages or all memory. */
#ifndef NPULAB_THREAD_H
#define NPULAB_THREAD_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_THREAD_STACK_BYTES ((size_t)2 << 20) /* several times what any work of the library takes */

/* As pthread_create, with that stack: 0 or the code of strerror. */
int npl_thread_start(pthread_t *thread, void *(*work)(void *context), void *context);

#ifdef __cplusplus
}
#endif

#endif
