/* SPDX-License-Identifier: MIT
 *
 * The process's pool (parallel.h). A thread that finds it in use works alone: two threads together then never use more
 * than one thread above the allowed number. */
#include "parallel.h"

#include <pthread.h>

#include "npulab/thread.h"
#include "pool.h"

static struct {
	pthread_mutex_t in_use;
	struct npl_pool *pool;
	int requested_threads; /* threads for which the pool was opened: it has fewer where they could not be started */
} shared_pool = {.in_use = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_alone;

bool npl_parallel_alone(bool alone)
{
	const bool was_alone = is_alone;
	is_alone = alone;
	return was_alone;
}

int npl_parallel_workers(void)
{
	return is_alone ? 1 : npl_threads_allowed();
}

/* Drops the pool in a child process: the parent's threads do not exist there, and the thread that holds the pool would
 * never give it back. */
static void drop_pool_of_parent(void)
{
	pthread_mutex_init(&shared_pool.in_use, NULL);
	shared_pool.pool = NULL;
	shared_pool.requested_threads = 0;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, drop_pool_of_parent);
}

/* Returns a pool of so many threads; NULL: none could be started. */
static struct npl_pool *pool_of(int threads)
{
	static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;
	if (shared_pool.requested_threads == threads)
		return shared_pool.pool;
	pthread_once(&forks_watched, watch_forks);
	npl_pool_close(shared_pool.pool);
	shared_pool.pool = NULL;
	shared_pool.requested_threads = threads;
	for (int n = threads; n > 1 && !shared_pool.pool; n /= 2)
		(void)npl_pool_open(n, &shared_pool.pool, NULL);
	return shared_pool.pool;
}

struct loop {
	void (*task)(void *context, int64_t i, int worker);
	void *context;
};

static void run_task(void *context, int64_t i, int worker)
{
	const struct loop *loop = context;
	const bool was_alone = npl_parallel_alone(true);
	loop->task(loop->context, i, worker);
	npl_parallel_alone(was_alone);
}

void npl_parallel(int workers, int64_t n_tasks, void (*task)(void *context, int64_t i, int worker), void *context)
{
	struct loop loop = {task, context};
	if (workers > 1 && n_tasks > 1 && !is_alone && !pthread_mutex_trylock(&shared_pool.in_use)) {
		struct npl_pool *pool = pool_of(workers);
		if (pool)
			npl_pool_run(pool, n_tasks, run_task, &loop);
		pthread_mutex_unlock(&shared_pool.in_use);
		if (pool)
			return;
	}
	for (int64_t i = 0; i < n_tasks; i++)
		task(context, i, 0);
}

struct pieces {
	int64_t count, n;
	void (*body)(void *context, int64_t first, int64_t end);
	void *context;
};

static void run_piece(void *context, int64_t i, int worker)
{
	const struct pieces *p = context;
	(void)worker;
	p->body(p->context, p->count / p->n * i, i + 1 == p->n ? p->count : p->count / p->n * (i + 1));
}

void npl_parallel_pieces(int64_t count, int64_t piece, void (*body)(void *context, int64_t first, int64_t end),
			 void *context)
{
	/* Each thread gets several pieces, so that a late thread does not keep the others waiting. */
	enum { PIECES_OF_WORKER = 4 };
	const int workers = npl_parallel_workers();
	const int64_t greatest_pieces = (int64_t)PIECES_OF_WORKER * workers;
	struct pieces p = {.count = count, .n = count / piece, .body = body, .context = context};
	p.n = workers == 1 || p.n < 2 ? 1 : p.n > greatest_pieces ? greatest_pieces : p.n;
	if (p.n == 1)
		body(context, 0, count);
	else
		npl_parallel(workers, p.n, run_piece, &p);
}
