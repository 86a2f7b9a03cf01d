/* SPDX-License-Identifier: MIT
 *
 * Eager calls, on the caller's side (eager.h): contexts, handles, recording into the pending network, flushing,
 * reading. */
#include "eager.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/refuse.h"

int npl_eager_open(const char *device, const struct npl_device_options *options, struct npl_eager **ctx,
		   struct npl_err *err)
{
	struct npl_eager *context = calloc(1, sizeof *context);
	*ctx = NULL;
	if (!context)
		return npl_no_memory(err);
	int rc = npl_device_open(device, options, &context->device, err);
	if (rc) {
		free(context);
		return rc;
	}
	pthread_mutex_init(&context->lock, NULL);
	pthread_cond_init(&context->job_posted, NULL);
	pthread_cond_init(&context->job_done, NULL);
	*ctx = context;
	return 0;
}

const struct npl_device *npl_eager_device(const struct npl_eager *ctx)
{
	return ctx->device;
}

static void free_value(struct npl_eager_value *value)
{
	if (!value->borrowed)
		free((void *)value->value.data);
	free(value->result);
	free(value->name);
	free(value);
}

static void take_ref(struct npl_eager_value *value)
{
	pthread_mutex_lock(&value->ctx->lock);
	value->refs++;
	pthread_mutex_unlock(&value->ctx->lock);
}

static void give_ref(struct npl_eager_value *value)
{
	pthread_mutex_t *lock = &value->ctx->lock;
	pthread_mutex_lock(lock);
	bool last = --value->refs == 0;
	pthread_mutex_unlock(lock);
	if (last)
		free_value(value);
}

/* Takes a reference to the value. */
static int append(struct eager_values *list, struct npl_eager_value *value, struct npl_err *err)
{
	struct npl_eager_value **grown = npl_grow(list->value, list->n, &list->capacity, sizeof *grown);
	if (!grown)
		return npl_no_memory(err);
	list->value = grown;
	grown[list->n++] = value;
	take_ref(value);
	return 0;
}

void eager_drop(struct eager_values *list)
{
	for (int i = 0; i < list->n; i++)
		give_ref(list->value[i]);
	free(list->value);
	*list = (struct eager_values){0};
}

/* Makes a value with one holder and appends it to the list. NULL: memory is short. */
static struct npl_eager_value *make_value(struct npl_eager *ctx, bool pending)
{
	struct npl_eager_value *value = calloc(1, sizeof *value);
	if (!value)
		return NULL;
	value->ctx = ctx;
	value->holds = 1;
	value->refs = 1;
	value->pending = pending;
	value->prev = ctx->last;
	if (ctx->last)
		ctx->last->next = value;
	else
		ctx->first = value;
	ctx->last = value;
	return value;
}

void npl_eager_hold(struct npl_eager_value *value)
{
	value->holds++;
}

void npl_eager_release(struct npl_eager_value *value)
{
	if (!value || --value->holds > 0)
		return;
	struct npl_eager *ctx = value->ctx;
	*(value->prev ? &value->prev->next : &ctx->first) = value->next;
	*(value->next ? &value->next->prev : &ctx->last) = value->prev;
	give_ref(value);
}

/* Stores the value that was made in *value and releases the one that was there. */
static void replace_value(struct npl_eager_value *new_value, struct npl_eager_value **value)
{
	struct npl_eager_value *former_value = *value;
	*value = new_value;
	npl_eager_release(former_value);
}

void npl_eager_close(struct npl_eager *ctx)
{
	if (!ctx)
		return;
	pthread_mutex_lock(&ctx->lock);
	ctx->stop = true;
	pthread_cond_broadcast(&ctx->job_posted);
	pthread_mutex_unlock(&ctx->lock);
	if (ctx->started)
		pthread_join(ctx->thread, NULL);
	while (ctx->first_job) {
		struct eager_job *job = ctx->first_job;
		ctx->first_job = job->next;
		eager_free_job(job);
	}
	npl_build_close(ctx->pending);
	npl_build_close(ctx->recorded);
	eager_drop(&ctx->inputs);
	eager_drop(&ctx->constants);
	for (struct npl_eager_value *value = ctx->first, *next; value; value = next) {
		next = value->next;
		give_ref(value); /* the last ref: no work is left that could have one */
	}
	npl_device_close(ctx->device);
	pthread_cond_destroy(&ctx->job_posted);
	pthread_cond_destroy(&ctx->job_done);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

enum npl_dtype npl_eager_dtype(const struct npl_eager_value *value)
{
	return value->value.dtype;
}

const struct npl_shape *npl_eager_shape(const struct npl_eager_value *value)
{
	return &value->value.shape;
}

/* Makes a value of the caller's data. NULL: see err. */
static struct npl_eager_value *add_data(struct npl_eager *ctx, const char *name, const struct npl_tensor *tensor,
					enum npl_keep keep, struct npl_err *err)
{
	struct npl_tensor tensor_copy = {.dtype = tensor->dtype, .shape = tensor->shape};
	const bool named = name && *name;
	if (build_check_tensor(named ? name : "a tensor", tensor, keep, err))
		return NULL;
	if (!npl_tensor_bytes(tensor)) /* an empty tensor may have no elements to borrow */
		keep = NPL_COPY;
	if (keep == NPL_COPY && npl_tensor_alloc(&tensor_copy, err))
		return NULL;
	struct npl_eager_value *new_value = make_value(ctx, false);
	if (!new_value) {
		npl_tensor_free(&tensor_copy);
		npl_no_memory(err);
		return NULL;
	}
	if (keep == NPL_COPY && npl_tensor_bytes(tensor))
		memcpy(tensor_copy.data, tensor->data, npl_tensor_bytes(tensor));
	new_value->borrowed = keep == NPL_BORROW;
	new_value->value = (struct npl_value){.dtype = tensor->dtype,
					      .shape = tensor->shape,
					      .data = new_value->borrowed ? tensor->data : tensor_copy.data,
					      .producer = -1};
	new_value->name = named ? strdup(name) : NULL;
	if (named && !new_value->name) {
		npl_eager_release(new_value);
		npl_no_memory(err);
		return NULL;
	}
	return new_value;
}

int npl_eager_input(struct npl_eager *ctx, const char *name, const struct npl_tensor *tensor, enum npl_keep keep,
		    struct npl_eager_value **value, struct npl_err *err)
{
	struct npl_eager_value *new_value = add_data(ctx, name, tensor, keep, err);
	if (!new_value)
		return err->code;
	new_value->input = true;
	if (ctx->recorded && eager_record_input(ctx, new_value, err)) {
		npl_eager_release(new_value);
		return err->code;
	}
	replace_value(new_value, value);
	return 0;
}

int npl_eager_constant(struct npl_eager *ctx, const struct npl_tensor *tensor, enum npl_keep keep,
		       struct npl_eager_value **value, struct npl_err *err)
{
	struct npl_eager_value *new_value = add_data(ctx, tensor->name, tensor, keep, err);
	if (!new_value)
		return err->code;
	new_value->value.constant = true;
	replace_value(new_value, value);
	return 0;
}

/* Sets *index to the value's index in the pending network, to which it adds the value, as a constant or an input,
 * unless it is there. */
static int add_to_pending(struct npl_eager *ctx, struct npl_eager_value *value, int *index, struct npl_err *err)
{
	struct npl_value described = value->value;
	if (value->ctx != ctx)
		return npl_fail(err, NPL_EUSAGE, "an argument is another context's");
	if (value->network != ctx->network) {
		described.name = value->name ? value->name : "constant";
		if (append(described.constant ? &ctx->constants : &ctx->inputs, value, err))
			return err->code;
		int v = described.constant ? build_known(ctx->pending, &described)
					   : npl_build_input(ctx->pending, NULL, described.dtype, described.shape);
		if (v < 0) /* out of memory; this network cannot be used any more */
			return npl_fail_as(err, &ctx->pending->last);
		value->index = v;
		value->network = ctx->network;
	}
	*index = value->index;
	return 0;
}

static int open_pending(struct npl_eager *ctx, struct npl_err *err)
{
	if (ctx->pending)
		return 0;
	if (npl_build_open("eager", &ctx->pending, err))
		return err->code;
	ctx->network++;
	return 0;
}

/* Appends the call to the pending network; result[] gets the results' indices there. */
static int append_call(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		       int n_results, int *result, struct npl_err *err)
{
	int *in = calloc((size_t)args.n + 1, sizeof *in);
	int rc = in ? open_pending(ctx, err) : npl_no_memory(err);
	for (int i = 0; i < args.n && !rc; i++) {
		in[i] = NPL_ABSENT;
		if (args.value[i])
			rc = add_to_pending(ctx, args.value[i], &in[i], err);
	}
	if (!rc &&
	    build_ops(ctx->pending, op, (struct npl_build_in){.value = in, .n = args.n}, attrs, n_results, result))
		rc = npl_fail_as(err, &ctx->pending->last);
	free(in);
	return rc;
}

int npl_eager_ops(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		  int n_results, struct npl_eager_value **result, struct npl_err *err)
{
	struct npl_eager_value *new_value[NPL_MAX_OUTPUTS];
	int index[NPL_MAX_OUTPUTS], recorded[NPL_MAX_OUTPUTS];
	if (!op || args.n < 0 || args.n > GRAPH_MAX_NODE_INPUTS || (args.n && !args.value) || n_results < 1 ||
	    n_results > NPL_MAX_OUTPUTS)
		return npl_fail(err, NPL_EINPUT,
				"operator '%s': %d inputs and %d results, expected 0 to %d and 1 to %d", op ? op : "",
				args.n, n_results, GRAPH_MAX_NODE_INPUTS, NPL_MAX_OUTPUTS);
	int rc = append_call(ctx, op, args, attrs, n_results, index, err);
	if (!rc && ctx->recorded)
		rc = eager_record(ctx, op, args, attrs, n_results, recorded, err);
	for (int k = 0; k < n_results && !rc; k++) {
		new_value[k] = make_value(ctx, true);
		if (!new_value[k]) {
			while (k > 0)
				npl_eager_release(new_value[--k]);
			return npl_no_memory(err);
		}
		const struct npl_value *value = &ctx->pending->b.value[index[k]];
		new_value[k]->value = (struct npl_value){.dtype = value->dtype, .shape = value->shape, .producer = -1};
		new_value[k]->network = ctx->network;
		new_value[k]->index = index[k];
		new_value[k]->recording = ctx->recorded ? ctx->recording : 0;
		new_value[k]->recorded = ctx->recorded ? recorded[k] : -1;
	}
	for (int k = 0; k < n_results && !rc; k++)
		replace_value(new_value[k], &result[k]);
	return rc;
}

int npl_eager_op(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs,
		 struct npl_eager_value **result, struct npl_err *err)
{
	return npl_eager_ops(ctx, op, args, attrs, 1, result, err);
}

/* Makes a held result that folding made a constant ready without a run: the value takes over its elements, or their
 * description. */
static int keep_constant(struct npl_eager *ctx, struct npl_eager_value *value, struct npl_err *err)
{
	const struct npl_value *from = &ctx->pending->b.value[value->index];
	struct npl_tensor tensor_copy = {.dtype = from->dtype, .shape = from->shape};
	struct npl_value described = *from;
	if (from->data) {
		if (npl_tensor_alloc(&tensor_copy, err))
			return err->code;
		memcpy(tensor_copy.data, from->data, npl_tensor_bytes(&tensor_copy));
		described.data = tensor_copy.data;
		described.is_fill = described.is_random = false;
	}
	described.name = NULL;
	value->value = described;
	value->pending = false;
	return 0;
}

/* Makes the held results outputs of the job, except constants, which need no run. */
static int collect_outputs(struct npl_eager *ctx, struct eager_job *job, struct npl_err *err)
{
	int n = 0;
	for (struct npl_eager_value *value = ctx->first; value; value = value->next)
		n += value->pending;
	job->output = calloc((size_t)n + 1, sizeof *job->output);
	if (!job->output)
		return npl_no_memory(err);
	for (struct npl_eager_value *value = ctx->first; value; value = value->next) {
		if (!value->pending)
			continue;
		if (ctx->pending->b.value[value->index].constant) {
			if (keep_constant(ctx, value, err))
				return err->code;
			continue;
		}
		job->output[job->outputs.n] = value->index;
		if (append(&job->outputs, value, err))
			return err->code;
	}
	return 0;
}

static void enqueue(struct npl_eager *ctx, struct eager_job *job)
{
	pthread_mutex_lock(&ctx->lock);
	for (int i = 0; i < job->outputs.n; i++) {
		job->outputs.value[i]->pending = false;
		job->outputs.value[i]->state = EAGER_PROMISED;
	}
	*(ctx->first_job ? &ctx->last_job->next : &ctx->first_job) = job;
	ctx->last_job = job;
	pthread_cond_signal(&ctx->job_posted);
	pthread_mutex_unlock(&ctx->lock);
}

int eager_submit(struct npl_eager *ctx, struct npl_err *err)
{
	if (!ctx->pending)
		return 0;
	struct eager_job *job = calloc(1, sizeof *job);
	int rc = job ? collect_outputs(ctx, job, err) : npl_no_memory(err);
	if (!rc && job->outputs.n)
		rc = eager_start(ctx, err);
	if (rc) {
		if (job)
			eager_free_job(job);
		return rc;
	}
	job->build = ctx->pending;
	job->inputs = ctx->inputs;
	job->constants = ctx->constants;
	ctx->pending = NULL;
	ctx->inputs = ctx->constants = (struct eager_values){0};
	if (job->outputs.n)
		enqueue(ctx, job);
	else
		eager_free_job(job);
	return 0;
}

/* Drops the failure that left a value without elements, which a call returns by itself; another failure stays. */
static void forget_failure(struct npl_eager *ctx, const struct npl_eager_value *value)
{
	pthread_mutex_lock(&ctx->lock);
	if (value->state == EAGER_FAILED && value->failure.number == ctx->failure.number)
		ctx->failure = (struct eager_failure){0};
	pthread_mutex_unlock(&ctx->lock);
}

/* Returns, once, the error of a job that no call has returned yet; 0: there is none. */
static int tell_failure(struct npl_eager *ctx, struct npl_err *err)
{
	pthread_mutex_lock(&ctx->lock);
	const struct npl_err failed = ctx->failure.err;
	ctx->failure = (struct eager_failure){0};
	pthread_mutex_unlock(&ctx->lock);
	return failed.code ? npl_fail_as(err, &failed) : 0;
}

static void wait_for_all(struct npl_eager *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	while (ctx->first_job || ctx->busy)
		pthread_cond_wait(&ctx->job_done, &ctx->lock);
	pthread_mutex_unlock(&ctx->lock);
}

int npl_eager_flush(struct npl_eager *ctx, struct npl_err *err)
{
	int rc = eager_submit(ctx, err);
	return rc ? rc : tell_failure(ctx, err);
}

int npl_eager_wait(struct npl_eager *ctx, struct npl_err *err)
{
	int rc = eager_submit(ctx, err);
	wait_for_all(ctx);
	return rc ? rc : tell_failure(ctx, err);
}

void npl_eager_totals(struct npl_eager *ctx, struct npl_eager_totals *totals)
{
	wait_for_all(ctx);
	*totals = ctx->totals;
}

const void *eager_data(const struct npl_eager_value *value)
{
	return value->value.data ? value->value.data : value->result;
}

/* Fills the tensor with the elements of a constant that is only described. */
static int copy_described(const struct npl_value *described, struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_graph scratch = {0};
	struct npl_value value_copy = *described;
	value_copy.name = "constant";
	const void *data = npl_value_data(&scratch, &value_copy, err);
	if (data)
		memcpy(tensor->data, data, npl_tensor_bytes(tensor));
	npl_arena_free(&scratch.arena);
	return data ? 0 : err->code;
}

int eager_fetch(struct npl_eager *ctx, const struct npl_eager_value *value, struct npl_tensor *tensor,
		struct npl_err *err)
{
	const struct npl_value *described = &value->value;
	pthread_mutex_lock(&ctx->lock);
	while (value->state == EAGER_PROMISED)
		pthread_cond_wait(&ctx->job_done, &ctx->lock);
	bool failed = value->state == EAGER_FAILED;
	pthread_mutex_unlock(&ctx->lock);
	*tensor = (struct npl_tensor){.dtype = described->dtype, .shape = described->shape};
	if (failed)
		return npl_fail_as(err, &value->failure.err);
	if (npl_tensor_alloc(tensor, err))
		return err->code;
	int rc = 0;
	if (described->is_fill || described->is_random)
		rc = copy_described(described, tensor, err);
	else if (npl_tensor_bytes(tensor))
		memcpy(tensor->data, eager_data(value), npl_tensor_bytes(tensor));
	if (rc)
		npl_tensor_free(tensor);
	return rc;
}

int npl_eager_read(struct npl_eager *ctx, const struct npl_eager_value *value, struct npl_tensor *tensor,
		   struct npl_err *err)
{
	*tensor = (struct npl_tensor){0};
	if (!value || value->ctx != ctx)
		return npl_fail(err, NPL_EUSAGE, "the value to read is not this context's");
	if (value->pending && eager_submit(ctx, err))
		return err->code;
	int rc = eager_fetch(ctx, value, tensor, err);
	if (rc && err)
		forget_failure(ctx, value); /* this call tells of the failure */
	return rc;
}
