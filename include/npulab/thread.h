/* SPDX-License-Identifier: MIT
 *
 * Threads of npulab's own: how many may work at a time, and their stack, which has one size wherever they run: what a
 * thread gets otherwise is the process's limit (ulimit -s), which may be a few pages or all memory. */
#ifndef NPULAB_THREAD_H
#define NPULAB_THREAD_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_THREAD_STACK_BYTES ((size_t)2 << 20) /* several times what any work of the library takes */

/* As pthread_create, with that stack: 0 or the code of strerror. */
int npl_thread_start(pthread_t *thread, void *(*work)(void *context), void *context);

/* Processors this process may run on: those online, less what a container or taskset takes away. */
int npl_processors(void);

/* How many threads at most compute the values of simulated machines, make and quantise weights and evaluate the float
 * reference, the calling one among them; 0, as at the start: npl_processors(). Holds for the process. Results do not
 * depend on it: neither values nor cycles, counters or saturations. Real devices have settings of their own. */
void npl_threads_allow(int threads);
int npl_threads_allowed(void);

#ifdef __cplusplus
}
#endif

#endif
