/* SPDX-License-Identifier: MIT
 *
 * npulab's own threads: how many may work at a time, and the size of their stack. That size is the same everywhere;
 * otherwise a thread's stack would have the process's limit (ulimit -s), which may be a few pages or all memory. */
#ifndef NPULAB_THREAD_H
#define NPULAB_THREAD_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPL_THREAD_STACK_BYTES ((size_t)2 << 20) /* several times the need of any work of the library */

/* Starts a thread as pthread_create does, with a stack of this size. Returns 0 or a code for strerror. */
int npl_thread_start(pthread_t *thread, void *(*start_routine)(void *context), void *context);

/* Returns the number of processors that this process may run on: those online, less those that a container or taskset
 * takes away. */
int npl_processors(void);

/* Sets the most threads of this process, the calling one among them, that compute the values of simulated machines,
 * make and quantise weights, and evaluate the float reference. 0, the setting at the start, means npl_processors().
 * Results (values, cycles, counters, saturations) do not depend on it. Real devices have settings of their own. */
void npl_threads_allow(int threads);
int npl_threads_allowed(void);

#ifdef __cplusplus
}
#endif

#endif
