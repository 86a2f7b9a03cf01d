/* SPDX-License-Identifier: MIT
 *
 * Address space and threads for OpenBLAS (openblas_threads.h). */
#include "openblas_threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/base/process_limit.h"

#define MIB (UINT64_C(1) << 20)
/* OpenBLAS 0.3.21 of Debian 12 maps 128 MiB for each thread that multiplies, and itself takes 35 MiB; oneDNN and what
 * it needs take 70. */
#define LIBRARIES_BYTES (128 * MIB)
#define BUFFER_BYTES    (128 * MIB)
#define TEAMS           3 /* OpenBLAS, OpenMP and our pool have threads of their own, each with a stack */

static uint64_t bytes_for(int threads)
{
	size_t stack = 8 * MIB;
	pthread_attr_t attributes;
	if (!pthread_attr_init(&attributes)) {
		pthread_attr_getstacksize(&attributes, &stack);
		pthread_attr_destroy(&attributes);
	}
	return LIBRARIES_BYTES + (uint64_t)threads * (BUFFER_BYTES + TEAMS * stack);
}

/* Says whether so many bytes can be mapped. They are writable, since the limit on data counts nothing else. */
static bool has_bytes(uint64_t bytes)
{
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return false;
	munmap(room, bytes);
	return true;
}

static void *wait_for_all(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/* Returns how many threads can run side by side, `max_threads` at most. */
static int startable_threads(int max_threads)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t *thread = calloc((size_t)max_threads, sizeof *thread);
	int n = 0;
	pthread_mutex_lock(&gate);
	while (thread && n < max_threads && !pthread_create(&thread[n], NULL, wait_for_all, &gate))
		n++;
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return n;
}

int cpu_threads_that_fit(int max_threads, int *threads, struct npl_err *err)
{
	const struct process_limit limit = process_limit();
	*threads = max_threads;
	if (limit.bytes != UINT64_MAX) {
		while (*threads && !has_bytes(bytes_for(*threads)))
			--*threads;
		if (!*threads)
			return npl_fail(err, NPL_ENOMEM,
					"out of %s: OpenBLAS, oneDNN and the stack of one thread need %llu bytes more "
					"of it, the limit of this process (%s) is %llu",
					limit.name, (unsigned long long)bytes_for(1), limit.option,
					(unsigned long long)limit.bytes);
	}
	if (*threads > 1) {
		const int started = startable_threads(TEAMS * (*threads - 1));
		if (started < TEAMS * (*threads - 1))
			*threads = 1 + started / TEAMS;
	}
	return 0;
}
