/* SPDX-License-Identifier: MIT
 *
 * Opening, running and closing a layer group on the processor; see layer_group.h. The time of a layer is that of its
 * steps: bringing an operand into the order that it wants is part of it, preparing weights (once) and taking memory are
 * not. */
#include "layer_group.h"

#include <stdlib.h>
#include <string.h>

#include "core/computer/clock.h"
#include "widened.h"

/* A primitive of oneDNN shares its work out among the threads that there are when it is made. */
static int prepare(struct cpu_layer_group *c, struct npl_err *err)
{
	const bool dnn = c->cpu->dnn.engine != NULL;
	int threads = dnn ? cpu_dnn_set_threads(&c->cpu->dnn, c->cpu->threads) : 0;
	c->threads = c->cpu->threads;
	int rc = cpu_layer_group_plan(c, err);
	if (dnn)
		cpu_dnn_set_threads(&c->cpu->dnn, threads);
	if (!rc)
		rc = cpu_layer_group_memory(c, err);
	c->prepared = !rc;
	return rc;
}

int cpu_layer_group_open(void *state, const struct npl_layer_group *group, void **opened,
			 struct npl_layer_group_info *info, struct npl_err *err)
{
	struct cpu_layer_group *c = calloc(1, sizeof *c);
	if (!c)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a group of %d layers", group->n);
	*c = (struct cpu_layer_group){.cpu = state, .group = *group};
	c->pass = npl_arena_array(&c->arena, (size_t)group->n, sizeof *c->pass);
	int rc = c->pass ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for a group of %d layers", group->n);
	for (int i = 0; i < group->n && !rc; i++)
		c->pass[i] = i;
	if (!rc && !group->timing_only) /* else it is only asked whether these go together: here all do */
		rc = prepare(c, err);
	if (rc) {
		cpu_layer_group_close(c);
		return rc;
	}
	*info = (struct npl_layer_group_info){.pass = c->pass};
	*opened = c;
	return 0;
}

void cpu_layer_group_close(void *opened)
{
	struct cpu_layer_group *c = opened;
	if (!c)
		return;
	for (int s = 0; s < c->n_steps; s++) {
		cpu_dnn_release(c->step[s].op);
		cpu_int8_conv_release(c->step[s].conv8);
		npl_int8_job_close(c->step[s].int8, NULL, NULL);
		cpu_widened_close(c->step[s].widened);
	}
	free(c->step);
	free(c->location);
	free(c->memory);
	npl_arena_free(&c->arena);
	free(c);
}

/* Memory for what passes between the layers, and the addresses of all locations. */
static int find_data(struct cpu_layer_group *c, struct npl_err *err)
{
	if (!c->memory && c->memory_bytes) {
		c->memory = aligned_alloc(64, c->memory_bytes);
		if (!c->memory)
			return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes between layers", c->memory_bytes);
		memset(c->memory, 0, c->memory_bytes); /* pages are taken here, not while a layer is timed */
	}
	for (int p = 0; p < c->n_locations; p++) {
		struct cpu_location *location = &c->location[p];
		for (int f = 0; f < CPU_LAYOUTS; f++)
			location->data[f] = location->has[f] ? (void *)(c->memory + location->offset[f]) : NULL;
		if (location->given || location->wanted)
			location->data[CPU_FIRST] = location->tensor->data;
		if ((location->given || location->wanted) && !location->tensor->data &&
		    npl_tensor_count(location->tensor) > 0)
			return npl_fail(err, NPL_EINTERNAL, "tensor '%s' has no data",
					location->tensor->name ? location->tensor->name : "");
	}
	return 0;
}

/* Where a location lies when a layer sees it in this order: one whose orders agree is there in the first. */
static void *data_of(const struct cpu_layer_group *c, int location, enum cpu_layout layout)
{
	void *data = layout == CPU_LAST ? c->location[location].data[CPU_LAST] : NULL;
	return data ? data : cpu_location_of_data(c, location, CPU_FIRST)->data[CPU_FIRST];
}

/* Channels joined that are last: of each position those of the first input, then those of the second... */
static void join(const struct cpu_layer_group *c, const struct cpu_step *step)
{
	const struct npl_tensor *out = c->location[step->out[0]].tensor;
	char *y = data_of(c, step->out[0], CPU_LAST);
	const int64_t size = (int64_t)npl_dtype_size(out->dtype), all = out->shape.dim[1] * size,
		      positions = npl_tensor_count(out) / out->shape.dim[1];
	int64_t at = 0;
	for (int k = 0; k < step->n_in; k++) {
		if (step->in[k] < 0)
			continue;
		const char *x = data_of(c, step->in[k], CPU_LAST);
		int64_t own = c->location[step->in[k]].tensor->shape.dim[1] * size;
		for (int64_t p = 0; p < positions; p++)
			memcpy(y + p * all + at, x + p * own, (size_t)own);
		at += own;
	}
}

static int run_step(struct cpu_layer_group *c, struct cpu_step *step, struct npl_result *result, struct npl_err *err)
{
	const bool dnn = step->kind == CPU_STEP_DNN || step->kind == CPU_STEP_CONV8;
	double begin = npl_clock_seconds(), seconds = 0;
	int rc = 0;
	if (dnn)
		cpu_dnn_set_threads(&c->cpu->dnn, step->threads);
	for (int k = 0; k < step->n_in && step->kind >= CPU_STEP_ELEMENTS; k++)
		if (step->in[k] >= 0)
			step->in_tensor[k].data = data_of(c, step->in[k], step->x);
	for (int k = 0; k < step->n_out && step->kind >= CPU_STEP_ELEMENTS; k++)
		step->out_tensor[k].data = data_of(c, step->out[k], step->y);
	switch (step->kind) {
	case CPU_STEP_DNN:
		rc = cpu_dnn_run(step->op, data_of(c, step->in[0], step->x),
				 step->n_in > 1 ? data_of(c, step->in[1], step->y) : NULL,
				 data_of(c, step->out[0], step->y), err);
		break;
	case CPU_STEP_CONV8:
		return cpu_int8_conv_run(c->cpu, step->conv8, c->group.layer[step->layer],
					 data_of(c, step->in[0], step->x), data_of(c, step->out[0], step->y), result,
					 err);
	case CPU_STEP_ELEMENTS:
		rc = cpu_elements_run(c->cpu, &step->work, err);
		break;
	case CPU_STEP_JOIN:
		join(c, step);
		break;
	case CPU_STEP_MAXPOOL:
		cpu_maxpool_last(c->cpu, &step->work);
		break;
	case CPU_STEP_LAYER:
		seconds = result->seconds;
		rc = step->int8      ? cpu_int8_run_prepared(c->cpu, step->int8, &step->work, result, err)
		     : step->widened ? cpu_widened_run(c->cpu, step->widened, &step->work, step->out_tensor,
						       &result->seconds, err)
				     : cpu_run_layer(c->cpu, &step->work, step->out_tensor, result, err);
		result->seconds += seconds;
		return rc;
	}
	result->seconds += npl_clock_seconds() - begin;
	return rc;
}

/* A result of the step for an observer, in ONNX's order. */
static int tell_made(struct cpu_layer_group *c, const struct npl_layer_group_observer *observer,
		     const struct cpu_step *step, int result, struct npl_err *err)
{
	int p = step->out[result], layer = c->location[p].layer;
	const void *last = step->y == CPU_LAST ? c->location[p].data[CPU_LAST] : NULL;
	struct npl_tensor out = *c->location[p].tensor;
	struct cpu_dnn_op *op = NULL;
	out.owned = false;
	out.data = last ? NULL : c->location[p].data[CPU_FIRST];
	if (!last)
		return observer->made(observer->context, layer, result, &out, err);
	int rc = npl_tensor_alloc(&out, err);
	if (!rc)
		rc = cpu_dnn_reorder(&c->cpu->dnn, &out, CPU_LAST, CPU_FIRST, &op, err);
	if (!rc)
		rc = cpu_dnn_run(op, last, NULL, out.data, err);
	if (!rc)
		rc = observer->made(observer->context, layer, result, &out, err);
	cpu_dnn_release(op);
	npl_tensor_free(&out);
	return rc;
}

/* What step s has made, but for what is only the same in another order. */
static int tell_step(struct cpu_layer_group *c, const struct npl_layer_group_observer *observer,
		     const struct cpu_step *step, struct npl_err *err)
{
	const bool reorder = step->kind == CPU_STEP_DNN && step->in[0] == step->out[0];
	for (int k = 0; k < step->n_out && !reorder; k++) {
		const struct cpu_location *location = &c->location[step->out[k]];
		if (!location->wanted && npl_tensor_count(location->tensor) > 0 && tell_made(c, observer, step, k, err))
			return err->code;
	}
	return 0;
}

int cpu_layer_group_run(void *state, void *opened, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err)
{
	struct cpu_state *cpu = state;
	struct cpu_layer_group *c = opened;
	const bool observed = observer && observer->made, dnn = cpu->dnn.engine != NULL;
	int rc = c->prepared ? 0 : prepare(c, err);
	if (!rc)
		rc = find_data(c, err);
	int threads = dnn ? cpu_dnn_set_threads(&cpu->dnn, cpu->threads) : 0;
	for (int s = 0; s < c->n_steps && !rc; s++) {
		npl_layer_group_progress(&c->group, c->step[s].layer);
		rc = run_step(c, &c->step[s], &results[c->step[s].layer], err);
		if (rc)
			npl_prefix(err, "layer %s", c->group.layer[c->step[s].layer]->name);
		if (!rc && observed)
			rc = tell_step(c, observer, &c->step[s], err);
	}
	if (dnn)
		cpu_dnn_set_threads(&cpu->dnn, threads);
	for (int l = 0; l < c->group.n && !rc; l++) {
		results[l].seconds_origin = NPL_TIME_MEASURED;
		results[l].macs = c->group.layer[l]->macs;
		rc = npl_result_energy(&results[l], "package", 0, 0, "absent", err);
	}
	return rc;
}
