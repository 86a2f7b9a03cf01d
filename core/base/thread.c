/* SPDX-License-Identifier: MIT
 *
 * Starting threads, and how many there may be (thread.h). */
#include "npulab/thread.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

int npl_thread_start(pthread_t *thread, void *(*start_routine)(void *context), void *context)
{
	pthread_attr_t attributes;
	int code = pthread_attr_init(&attributes);
	if (code)
		return code;
	code = pthread_attr_setstacksize(&attributes, NPL_THREAD_STACK_BYTES);
	if (!code)
		code = pthread_create(thread, &attributes, start_routine, context);
	pthread_attr_destroy(&attributes);
	return code;
}

int npl_processors(void)
{
	cpu_set_t set;
	if (!sched_getaffinity(0, sizeof set, &set))
		return CPU_COUNT(&set);
	long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than 1024 processors: the set is too small */
	return online > 0 ? (int)online : 1;
}

static atomic_int allowed;

void npl_threads_allow(int threads)
{
	atomic_store(&allowed, threads > 0 ? threads : 0);
}

int npl_threads_allowed(void)
{
	const int threads = atomic_load(&allowed);
	return threads ? threads : npl_processors();
}
