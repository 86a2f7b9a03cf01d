/* SPDX-License-Identifier: MIT
 *
 * Recording eager calls (recording.h): every call is also appended to a second network. That network is empty when the
 * recording begins, and flushes of the pending network do not end it. */
#include "npulab/recording.h"

#include <stdlib.h>

#include "core/base/refuse.h"
#include "eager.h"

int npl_recording_begin(struct npl_eager *ctx, const char *name, struct npl_err *err)
{
	if (ctx->recorded)
		return npl_fail(err, NPL_EUSAGE, "the context records already: end that first");
	if (eager_submit(ctx, err) || npl_build_open(name && *name ? name : "recording", &ctx->recorded, err))
		return err->code;
	ctx->recording++;
	return 0;
}

static int added(struct npl_eager *ctx, struct npl_eager_value *value, int v, struct npl_err *err)
{
	if (v < 0)
		return npl_fail_as(err, &ctx->recorded->last);
	value->recording = ctx->recording;
	value->recorded = v;
	return 0;
}

int eager_record_input(struct npl_eager *ctx, struct npl_eager_value *value, struct npl_err *err)
{
	const char *name = value->name ? graph_free_name(&ctx->recorded->b, value->name) : NULL;
	return added(ctx, value, npl_build_input(ctx->recorded, name, value->value.dtype, value->value.shape), err);
}

/* Records a constant. The graph borrows elements that are the user's, and copies others. */
static int record_constant(struct npl_eager *ctx, struct npl_eager_value *value, struct npl_err *err)
{
	struct npl_value described = value->value;
	struct npl_tensor tensor = {.name = value->name,
				    .dtype = described.dtype,
				    .shape = described.shape,
				    .data = (void *)described.data};
	described.name = value->name ? npl_arena_strdup(&ctx->recorded->graph->arena, value->name) : "constant";
	if (!described.name)
		return npl_no_memory(err);
	if (described.is_fill || described.is_random) {
		described.data = NULL;
		return added(ctx, value, build_known(ctx->recorded, &described), err);
	}
	return added(ctx, value, npl_build_constant(ctx->recorded, &tensor, value->borrowed ? NPL_BORROW : NPL_COPY),
		     err);
}

/* Records a result from before the recording, which is a constant in it. */
static int record_result(struct npl_eager *ctx, struct npl_eager_value *value, struct npl_err *err)
{
	struct npl_tensor tensor;
	if (eager_fetch(ctx, value, &tensor, err))
		return err->code;
	int rc = added(ctx, value, npl_build_constant(ctx->recorded, &tensor, NPL_COPY), err);
	npl_tensor_free(&tensor);
	return rc;
}

static int use(struct npl_eager *ctx, struct npl_eager_value *value, int *index, struct npl_err *err)
{
	int rc = 0;
	if (value->recording == ctx->recording)
		;
	else if (value->input)
		rc = eager_record_input(ctx, value, err);
	else if (value->value.constant)
		rc = record_constant(ctx, value, err);
	else
		rc = record_result(ctx, value, err);
	*index = value->recorded;
	return rc;
}

int eager_record(struct npl_eager *ctx, const char *op, struct npl_args args, struct npl_attr_list attrs, int n_results,
		 int *index, struct npl_err *err)
{
	int *in = calloc((size_t)args.n + 1, sizeof *in);
	int rc = in ? 0 : npl_no_memory(err);
	for (int i = 0; i < args.n && !rc; i++) {
		in[i] = NPL_ABSENT;
		if (args.value[i])
			rc = use(ctx, args.value[i], &in[i], err);
	}
	if (!rc &&
	    build_ops(ctx->recorded, op, (struct npl_build_in){.value = in, .n = args.n}, attrs, n_results, index))
		rc = npl_fail_as(err, &ctx->recorded->last);
	free(in);
	return rc;
}

int npl_recording_end(struct npl_eager *ctx, struct npl_args outputs, struct npl_graph **graph, struct npl_err *err)
{
	struct npl_build *network = ctx->recorded;
	*graph = NULL;
	if (!network)
		return npl_fail(err, NPL_EUSAGE, "nothing is being recorded");
	ctx->recorded = NULL;
	int *output = calloc((size_t)(outputs.n > 0 ? outputs.n : 0) + 1, sizeof *output);
	int rc = output ? 0 : npl_no_memory(err);
	for (int i = 0; i < outputs.n && !rc; i++) {
		const struct npl_eager_value *value = outputs.value[i];
		if (!value || value->ctx != ctx || value->recording != ctx->recording)
			rc = npl_fail(err, NPL_EUSAGE, "output %d is not part of what was recorded", i);
		else
			output[i] = value->recorded;
	}
	if (rc)
		npl_build_close(network);
	else
		rc = npl_build_finish(network, (struct npl_build_in){.value = output, .n = outputs.n}, graph, err);
	free(output);
	return rc;
}
