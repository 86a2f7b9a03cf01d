/* SPDX-License-Identifier: MIT
 *
 * The pool of pool.h: sleeping threads, woken for each list by a generation count; tasks are handed out by an
 * atomic counter. */
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "npulab/thread.h"

struct worker {
	struct npl_pool *pool;
	pthread_t thread;
	int index;
};

struct npl_pool {
	int threads, n_started; /* n_started: how many of the other threads run */
	struct worker *worker;  /* the workers of index 1 and up */
	pthread_mutex_t lock;
	pthread_cond_t tasks_posted, workers_idle;
	uint64_t generation; /* lists of tasks so far */
	bool has_tasks;      /* the present list has tasks that a worker may come for */
	int busy;            /* workers at work on the list */
	bool is_closing;
	int64_t n_tasks;
	atomic_llong next;
	void (*task)(void *context, int64_t i, int worker);
	void *context;
};

static void take_tasks(struct npl_pool *pool, int worker)
{
	for (;;) {
		int64_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
		if (i >= pool->n_tasks)
			return;
		pool->task(pool->context, i, worker);
	}
}

static void *worker_main(void *argument)
{
	struct worker *self = argument;
	struct npl_pool *pool = self->pool;
	uint64_t last_generation = 0;
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->is_closing && (!pool->has_tasks || pool->generation == last_generation))
			pthread_cond_wait(&pool->tasks_posted, &pool->lock);
		if (pool->is_closing)
			break;
		last_generation = pool->generation;
		pool->busy++;
		pthread_mutex_unlock(&pool->lock);
		take_tasks(pool, self->index);
		pthread_mutex_lock(&pool->lock);
		if (!--pool->busy)
			pthread_cond_signal(&pool->workers_idle);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int npl_pool_open(int threads, struct npl_pool **pool_out, struct npl_err *err)
{
	*pool_out = NULL;
	struct npl_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d threads", threads);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->tasks_posted, NULL);
	pthread_cond_init(&pool->workers_idle, NULL);
	pool->threads = threads;
	pool->worker = calloc((size_t)threads, sizeof *pool->worker);
	int rc = pool->worker ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d threads", threads);
	for (int i = 1; i < threads && !rc; i++) {
		struct worker *worker = &pool->worker[i];
		*worker = (struct worker){.pool = pool, .index = i};
		int code = npl_thread_start(&worker->thread, worker_main, worker);
		if (code)
			rc = npl_fail(err, NPL_EDEVICE, "thread %d of %d cannot be started: %s", i + 1, threads,
				      strerror(code));
		else
			pool->n_started++;
	}
	if (rc) {
		npl_pool_close(pool);
		return rc;
	}
	*pool_out = pool;
	return 0;
}

void npl_pool_close(struct npl_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->is_closing = true;
	pthread_cond_broadcast(&pool->tasks_posted);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 1; i <= pool->n_started; i++)
		pthread_join(pool->worker[i].thread, NULL);
	pthread_cond_destroy(&pool->workers_idle);
	pthread_cond_destroy(&pool->tasks_posted);
	pthread_mutex_destroy(&pool->lock);
	free(pool->worker);
	free(pool);
}

void npl_pool_run(struct npl_pool *pool, int64_t n_tasks, void (*task)(void *context, int64_t i, int worker),
		  void *context)
{
	pool->task = task;
	pool->context = context;
	pool->n_tasks = n_tasks;
	atomic_store(&pool->next, 0);
	if (pool->threads == 1 || n_tasks <= 1) {
		take_tasks(pool, 0);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	pool->has_tasks = true;
	pool->generation++;
	if (n_tasks - 1 < pool->threads - 1)
		for (int64_t i = 1; i < n_tasks; i++)
			pthread_cond_signal(&pool->tasks_posted);
	else
		pthread_cond_broadcast(&pool->tasks_posted);
	pthread_mutex_unlock(&pool->lock);
	take_tasks(pool, 0);
	pthread_mutex_lock(&pool->lock);
	pool->has_tasks = false;
	while (pool->busy)
		pthread_cond_wait(&pool->workers_idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
