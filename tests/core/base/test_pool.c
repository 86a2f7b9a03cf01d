/* SPDX-License-Identifier: MIT
 *
 * Promises of the cpu device's threads: every task of every list runs exactly once, on a worker whose number is its
 * own, and a list is finished when the call returns. */
#include <criterion/criterion.h>
#include <stdatomic.h>

#include "core/base/pool.h"
#include "tests/kit/support.h"

enum { TASKS = 300, THREADS = 4 };

struct seen {
	atomic_int runs[TASKS], in_use[THREADS];
	atomic_int shared; /* times a worker's number was used twice at once */
	int threads;
};

static void note_task(void *context, int64_t i, int worker)
{
	struct seen *seen = context;
	if (worker < 0 || worker >= seen->threads || atomic_fetch_add(&seen->in_use[worker], 1))
		atomic_fetch_add(&seen->shared, 1);
	atomic_fetch_add(&seen->runs[i], 1);
	atomic_fetch_sub(&seen->in_use[worker], 1);
}

Test(npl_pool, runs_every_task_once)
{
	uint64_t rng = 1;
	for (int threads = 1; threads <= THREADS; threads++) {
		struct npl_pool *pool;
		struct npl_err err;
		cr_assert_eq(npl_pool_open(threads, &pool, &err), 0, "%s", err.msg);
		for (int list = 0; list < 500; list++) {
			static struct seen seen;
			int64_t n = list < 4 ? list : test_range(&rng, 0, TASKS);
			seen = (struct seen){.threads = threads};
			npl_pool_run(pool, n, note_task, &seen);
			for (int64_t i = 0; i < TASKS; i++)
				cr_assert_eq(seen.runs[i], i < n, "task %d of %d ran %d times on %d threads", (int)i,
					     (int)n, seen.runs[i], threads);
			cr_assert_eq(seen.shared, 0);
		}
		npl_pool_close(pool);
	}
	npl_pool_close(NULL);
}
