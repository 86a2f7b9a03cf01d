/* SPDX-License-Identifier: MIT
 *
 * Runs primitives of oneDNN and holds their memory (dnn.h). */
#include "dnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "dnn_impl.h"
#include "openblas_core.h"

int cpu_dnn_failed(const char *function, int status, struct npl_err *err)
{
	static const char *const names[] = {"success",       "out of memory", "invalid arguments", "unimplemented",
					    "iterator ends", "runtime error", "not required"};
	bool known = status >= 0 && (size_t)status < sizeof names / sizeof *names;
	return npl_fail(err, status == 1 ? NPL_ENOMEM : NPL_EDEVICE, "oneDNN: dnnl_%s: %s (%d)", function,
			known ? names[status] : "unknown status", status);
}

int cpu_dnn_open(const char *soname, struct cpu_dnn *dnn, struct npl_err *err)
{
	int status;
	*dnn = (struct cpu_dnn){0};
	if (dnn_api_load(soname, &dnn->api, err))
		return err->code;
	if ((status = dnn->api.engine_create(&dnn->engine, DNN_CPU, 0)))
		return cpu_dnn_failed("engine_create", status, err);
	if ((status = dnn->api.stream_create(&dnn->stream, dnn->engine, DNN_IN_ORDER))) {
		cpu_dnn_close(dnn);
		return cpu_dnn_failed("stream_create", status, err);
	}
	return 0;
}

void cpu_dnn_close(struct cpu_dnn *dnn)
{
	if (dnn->stream)
		dnn->api.stream_destroy(dnn->stream);
	if (dnn->engine)
		dnn->api.engine_destroy(dnn->engine);
	*dnn = (struct cpu_dnn){0};
}

static enum cpu_level level_of(int isa)
{
	if ((isa & NPL_ONEDNN_AVX512) == NPL_ONEDNN_AVX512)
		return CPU_AVX512;
	return (isa & NPL_ONEDNN_AVX2) == NPL_ONEDNN_AVX2 ? CPU_AVX2 : CPU_SSE;
}

bool cpu_dnn_version(const struct cpu_dnn *dnn, char *text, size_t n)
{
	const struct npl_onednn_version *version = dnn->api.library.version();
	const int isa = dnn->api.library.effective_isa();
	const enum cpu_level processor_level = cpu_vectors_detect().level;
	const bool older = level_of(isa) < processor_level && processor_level != CPU_AVX;
	struct npl_onednn_limit limit;
	char reason[80] = "";
	if (npl_onednn_limit(&limit) && !limit.known)
		snprintf(reason, sizeof reason, ", which ignores %s=%.24s", limit.variable, limit.word);
	else if (older && limit.known)
		snprintf(reason, sizeof reason, " because %s is set", limit.variable);
	snprintf(text, n, "oneDNN %d.%d.%d%s%s%s%s%s", version->major, version->minor, version->patch,
		 older ? " with " : "", older ? npl_onednn_vectors(isa) : "", older ? " instead of " : "",
		 older ? cpu_level_name(processor_level) : "", reason);
	return older;
}

int cpu_dnn_set_threads(const struct cpu_dnn *dnn, int threads)
{
	const struct npl_onednn *library = &dnn->api.library;
	int previous = library->get_max_threads ? library->get_max_threads() : 1;
	if (library->set_num_threads && previous != threads)
		library->set_num_threads(threads);
	return previous;
}

int cpu_dnn_type(enum npl_dtype dtype)
{
	return dtype == NPL_U8 ? DNN_U8 : dtype == NPL_I8 ? DNN_S8 : dtype == NPL_I32 ? DNN_S32 : DNN_F32;
}

int cpu_dnn_describe(const struct cpu_dnn *dnn, const struct npl_tensor *tensor, enum cpu_layout layout,
		     struct dnn_md *md, struct npl_err *err)
{
	const struct npl_shape *shape = &tensor->shape;
	int64_t strides[DNN_MAX_RANK], dims[DNN_MAX_RANK] = {0}, step = layout == CPU_LAST ? shape->dim[1] : 1;
	int last = layout == CPU_LAST ? 2 : 1, rank = shape->rank, status;
	for (int i = 0; i < rank; i++)
		dims[i] = shape->dim[i];
	for (int i = rank - 1; i >= last; i--) {
		strides[i] = step;
		step *= dims[i];
	}
	if (layout == CPU_LAST)
		strides[1] = 1;
	strides[0] = step;
	status = dnn->api.memory_desc_init_by_strides(md, rank, dims, cpu_dnn_type(tensor->dtype), strides);
	return status ? cpu_dnn_failed("memory_desc_init_by_strides", status, err) : 0;
}

struct cpu_dnn_op *cpu_dnn_op_new(const struct cpu_dnn *dnn, struct npl_err *err)
{
	struct cpu_dnn_op *op = calloc(1, sizeof *op);
	if (!op)
		npl_no_memory(err);
	else
		op->dnn = dnn;
	return op;
}

static int add_argument(struct cpu_dnn_op *op, int kind, int query, void *data, struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	const struct dnn_md *md = NULL;
	struct dnn_argument *argument = &op->argument[op->n];
	int status = api->primitive_desc_query(op->desc, query, 0, &md);
	if (status)
		return cpu_dnn_failed("primitive_desc_query", status, err);
	if ((status = api->memory_create(&argument->memory, md, op->dnn->engine, data)))
		return cpu_dnn_failed("memory_create", status, err);
	argument->kind = kind;
	op->n++;
	return 0;
}

int cpu_dnn_op_finish(struct cpu_dnn_op *op, bool adds, struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	int status = api->primitive_create(&op->primitive, op->desc);
	if (status)
		return cpu_dnn_failed("primitive_create", status, err);
	if (add_argument(op, DNN_ARG_X, DNN_QUERY_X, NULL, err) || add_argument(op, DNN_ARG_Y, DNN_QUERY_Y, NULL, err))
		return err->code;
	if (op->weights && add_argument(op, DNN_ARG_W, DNN_QUERY_W, op->weights, err))
		return err->code;
	op->addend = adds ? op->n : 0;
	if (adds && add_argument(op, DNN_ARG_FIRST_ADDEND, DNN_QUERY_Y, NULL, err))
		return err->code;
	if (!op->bias)
		return 0;
	struct dnn_argument *argument = &op->argument[op->n];
	if ((status = api->memory_create(&argument->memory, &op->bias_md, op->dnn->engine, op->bias)))
		return cpu_dnn_failed("memory_create", status, err);
	argument->kind = DNN_ARG_BIAS;
	op->n++;
	return 0;
}

int cpu_dnn_reorder(const struct cpu_dnn *dnn, const struct npl_tensor *tensor, enum cpu_layout from,
		    enum cpu_layout to, struct cpu_dnn_op **new_op, struct npl_err *err)
{
	struct dnn_md x, y;
	struct cpu_dnn_op *op = *new_op = cpu_dnn_op_new(dnn, err);
	if (!op)
		return err->code;
	int rc = cpu_dnn_describe(dnn, tensor, from, &x, err);
	if (!rc)
		rc = cpu_dnn_describe(dnn, tensor, to, &y, err);
	int status = rc ? 0 : dnn->api.reorder_primitive_desc_create(&op->desc, &x, dnn->engine, &y, dnn->engine, NULL);
	if (status)
		rc = cpu_dnn_failed("reorder_primitive_desc_create", status, err);
	if (!rc)
		rc = cpu_dnn_op_finish(op, false, err);
	if (rc) {
		cpu_dnn_release(op);
		*new_op = NULL;
	}
	return rc;
}

int cpu_dnn_run(struct cpu_dnn_op *op, const void *x, const void *addend, void *y, struct npl_err *err)
{
	const struct dnn_api *api = &op->dnn->api;
	int status = api->memory_set_data_handle(op->argument[0].memory, (void *)x);
	if (!status)
		status = api->memory_set_data_handle(op->argument[1].memory, y);
	if (!status && op->addend)
		status = api->memory_set_data_handle(op->argument[op->addend].memory, (void *)addend);
	if (status)
		return cpu_dnn_failed("memory_set_data_handle", status, err);
	status = api->primitive_execute(op->primitive, op->dnn->stream, op->n, op->argument);
	if (!status)
		status = api->stream_wait(op->dnn->stream);
	return status ? cpu_dnn_failed("primitive_execute", status, err) : 0;
}

const char *cpu_dnn_kernel(const struct cpu_dnn_op *op)
{
	const char *name = NULL;
	return op->dnn->api.primitive_desc_query(op->desc, DNN_QUERY_NAME, 0, &name) ? "" : name;
}

void cpu_dnn_release(struct cpu_dnn_op *op)
{
	if (!op)
		return;
	const struct dnn_api *api = &op->dnn->api;
	for (int i = 0; i < op->n; i++)
		api->memory_destroy(op->argument[i].memory);
	if (op->primitive)
		api->primitive_destroy(op->primitive);
	if (op->desc)
		api->primitive_desc_destroy(op->desc);
	free(op->weights);
	free(op->bias);
	free(op);
}
