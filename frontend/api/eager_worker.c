/* SPDX-License-Identifier: MIT
 *
 * The thread of an eager context: takes jobs in order, finishes their networks and runs them (eager.h). */
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "npulab/thread.h"

#include "eager.h"

void eager_free_job(struct eager_job *job)
{
	npl_build_close(job->build);
	eager_drop(&job->inputs);
	eager_drop(&job->constants);
	eager_drop(&job->outputs);
	free(job->output);
	free(job);
}

/* Fills in[] with the tensors that the job's network reads. */
static int bind_inputs(const struct eager_job *job, struct npl_tensor *in, struct eager_failure *failure)
{
	for (int i = 0; i < job->inputs.n; i++) {
		const struct npl_eager_value *value = job->inputs.value[i];
		if (value->state == EAGER_FAILED) { /* written by this thread */
			*failure = value->failure;
			return failure->err.code;
		}
		in[i] = (struct npl_tensor){
			.dtype = value->value.dtype, .shape = value->value.shape, .data = (void *)eager_data(value)};
	}
	return 0;
}

static int run(struct npl_eager *ctx, struct eager_job *job, struct npl_tensor *out, struct npl_cost *cost,
	       struct eager_failure *failure)
{
	struct npl_graph *graph = NULL;
	struct npl_err *err = &failure->err;
	struct npl_tensor *in = calloc((size_t)job->inputs.n + 1, sizeof *in);
	int rc = in ? bind_inputs(job, in, failure) : npl_no_memory(err);
	if (!rc) {
		rc = npl_build_finish(job->build, (struct npl_build_in){.value = job->output, .n = job->outputs.n},
				      &graph, err);
		job->build = NULL;
	}
	if (!rc)
		rc = npl_graph_run(graph, ctx->device, in, NULL, out, cost, err);
	npl_graph_free(graph);
	free(in);
	return rc;
}

/* Gives the values of a job their data or their failure; the lock is held. */
static void settle(const struct eager_job *job, struct npl_tensor *out, int rc, const struct eager_failure *failure)
{
	for (int i = 0; i < job->outputs.n; i++) {
		struct npl_eager_value *value = job->outputs.value[i];
		if (!rc) {
			value->result = out[i].data;
			value->state = EAGER_READY;
			continue;
		}
		value->failure = *failure;
		value->state = EAGER_FAILED;
	}
}

static void do_job(struct npl_eager *ctx, struct eager_job *job)
{
	struct eager_failure failure = {0};
	struct npl_cost cost = {0};
	struct npl_tensor *out = calloc((size_t)job->outputs.n + 1, sizeof *out);
	int rc = out ? run(ctx, job, out, &cost, &failure) : npl_no_memory(&failure.err);
	pthread_mutex_lock(&ctx->lock);
	if (rc && !failure.number)
		failure.number = ++ctx->n_failures;
	settle(job, out, rc, &failure);
	if (rc && !ctx->failure.err.code)
		ctx->failure = failure;
	if (!rc) {
		npl_cost_add(&ctx->totals.cost, &cost);
		ctx->totals.networks++;
	}
	pthread_mutex_unlock(&ctx->lock);
	eager_free_job(job);
	free(out);
}

static void *work(void *context)
{
	struct npl_eager *ctx = context;
	pthread_mutex_lock(&ctx->lock);
	for (;;) {
		while (!ctx->first_job && !ctx->stop)
			pthread_cond_wait(&ctx->job_posted, &ctx->lock);
		if (ctx->stop)
			break;
		struct eager_job *job = ctx->first_job;
		ctx->first_job = job->next;
		ctx->busy = true;
		pthread_mutex_unlock(&ctx->lock);
		do_job(ctx, job);
		pthread_mutex_lock(&ctx->lock);
		ctx->busy = false;
		pthread_cond_broadcast(&ctx->job_done);
	}
	pthread_mutex_unlock(&ctx->lock);
	return NULL;
}

int eager_start(struct npl_eager *ctx, struct npl_err *err)
{
	if (ctx->started)
		return 0;
	int code = npl_thread_start(&ctx->thread, work, ctx);
	if (code)
		return npl_fail(err, NPL_ENOMEM, "no thread could be started: %s", strerror(code));
	ctx->started = true;
	return 0;
}
