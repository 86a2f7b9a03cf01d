/* SPDX-License-Identifier: MIT
 *
 * The process's pool (parallel.h). A thread that finds it in use works alone: two threads together then never use more
 * than one thread above the allowed number. */
#include "parallel.h"

#include <pthread.h>

#include "npulab/thread.h"
#include "pool.h"

static struct {
	pthread_mutex_t taken;
	struct npl_pool *pool;
	int asked; /* threads for which the pool was opened: it has fewer where they could not be started */
} shared_pool = {.taken = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_alone;

bool npl_parallel_alone(bool alone)
{
	const bool before = is_alone;
	is_alone = alone;
	return before;
}

int npl_parallel_workers(void)
{
	return is_alone ? 1 : npl_threads_allowed();
}

/* Drops the pool in a child process: the parent's threads do not exist there, and the thread that holds the pool would
 * never give it back. */
static void forget(void)
{
	pthread_mutex_init(&shared_pool.taken, NULL);
	shared_pool.pool = NULL;
	shared_pool.asked = 0;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget);
}

/* Returns a pool of so many threads; NULL: none could be started. */
static struct npl_pool *pool_of(int threads)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (shared_pool.asked == threads)
		return shared_pool.pool;
	pthread_once(&once, watch_forks);
	npl_pool_close(shared_pool.pool);
	shared_pool.pool = NULL;
	shared_pool.asked = threads;
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
	const bool before = npl_parallel_alone(true);
	loop->task(loop->context, i, worker);
	npl_parallel_alone(before);
}

void npl_parallel(int workers, int64_t n_tasks, void (*task)(void *context, int64_t i, int worker), void *context)
{
	struct loop loop = {task, context};
	if (workers > 1 && n_tasks > 1 && !is_alone && !pthread_mutex_trylock(&shared_pool.taken)) {
		struct npl_pool *pool = pool_of(workers);
		if (pool)
			npl_pool_run(pool, n_tasks, run_task, &loop);
		pthread_mutex_unlock(&shared_pool.taken);
		if (pool)
			return;
	}
	for (int64_t i = 0; i < n_tasks; i++)
		task(context, i, 0);
}

struct pieces {
	int64_t count, n;
	void (*work)(void *context, int64_t first, int64_t end);
	void *context;
};

static void run_piece(void *context, int64_t i, int worker)
{
	const struct pieces *p = context;
	(void)worker;
	p->work(p->context, p->count / p->n * i, i + 1 == p->n ? p->count : p->count / p->n * (i + 1));
}

void npl_parallel_pieces(int64_t count, int64_t piece, void (*work)(void *context, int64_t first, int64_t end),
			 void *context)
{
	/* pieces for each thread, so that a late thread does not keep the others waiting */
	enum { PIECES_OF_WORKER = 4 };
	const int workers = npl_parallel_workers();
	const int64_t most = (int64_t)PIECES_OF_WORKER * workers;
	struct pieces p = {.count = count, .n = count / piece, .work = work, .context = context};
	p.n = workers == 1 || p.n < 2 ? 1 : p.n > most ? most : p.n;
	if (p.n == 1)
		work(context, 0, count);
	else
		npl_parallel(workers, p.n, run_piece, &p);
}
