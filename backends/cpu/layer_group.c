/* SPDX-License-Identifier: MIT
 *
 * Opens, runs and closes a layer group on the processor (layer_group.h). A layer's time is that of its steps:
 * conversion of an operand to the order it needs is part of it; preparing weights (once) and taking memory are not. */
#include "layer_group.h"

#include <stdlib.h>
#include <string.h>

#include "core/computer/clock.h"
#include "widened.h"

/* Prepares the group. A primitive of oneDNN divides its work among the threads that are set when it is made. */
static int prepare(struct cpu_layer_group *group, struct npl_err *err)
{
	const bool dnn = group->cpu->dnn.engine != NULL;
	int threads = dnn ? cpu_dnn_set_threads(&group->cpu->dnn, group->cpu->threads) : 0;
	group->threads = group->cpu->threads;
	int rc = cpu_layer_group_plan(group, err);
	if (dnn)
		cpu_dnn_set_threads(&group->cpu->dnn, threads);
	if (!rc)
		rc = cpu_layer_group_memory(group, err);
	group->prepared = !rc;
	return rc;
}

int cpu_layer_group_open(void *state, const struct npl_layer_group *request, void **handle,
			 struct npl_layer_group_info *info, struct npl_err *err)
{
	struct cpu_layer_group *group = calloc(1, sizeof *group);
	if (!group)
		return npl_fail(err, NPL_ENOMEM, "out of memory for a group of %d layers", request->n);
	*group = (struct cpu_layer_group){.cpu = state, .request = *request};
	group->pass = npl_arena_array(&group->arena, (size_t)request->n, sizeof *group->pass);
	int rc = group->pass ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for a group of %d layers", request->n);
	for (int i = 0; i < request->n && !rc; i++)
		group->pass[i] = i;
	if (!rc && !request->timing_only) /* a request for times only asks which layers go together: here all do */
		rc = prepare(group, err);
	if (rc) {
		cpu_layer_group_close(group);
		return rc;
	}
	*info = (struct npl_layer_group_info){.pass = group->pass};
	*handle = group;
	return 0;
}

void cpu_layer_group_close(void *handle)
{
	struct cpu_layer_group *group = handle;
	if (!group)
		return;
	for (int s = 0; s < group->n_steps; s++) {
		cpu_dnn_release(group->step[s].op);
		cpu_int8_conv_release(group->step[s].conv8);
		npl_int8_job_close(group->step[s].int8, NULL, NULL);
		cpu_widened_close(group->step[s].widened);
	}
	free(group->step);
	free(group->location);
	free(group->memory);
	npl_arena_free(&group->arena);
	free(group);
}

/* Takes memory for values between layers and finds the addresses of all locations. */
static int find_data(struct cpu_layer_group *group, struct npl_err *err)
{
	if (!group->memory && group->memory_bytes) {
		group->memory = aligned_alloc(64, group->memory_bytes);
		if (!group->memory)
			return npl_fail(err, NPL_ENOMEM, "out of memory for %zu bytes between layers",
					group->memory_bytes);
		memset(group->memory, 0, group->memory_bytes); /* pages are taken here, not while a layer is timed */
	}
	for (int p = 0; p < group->n_locations; p++) {
		struct cpu_tensor *location = &group->location[p];
		for (int f = 0; f < CPU_LAYOUTS; f++)
			location->data[f] = location->has_layout[f] ? (void *)(group->memory + location->offset[f])
								    : NULL;
		if (location->from_caller || location->is_output)
			location->data[CPU_FIRST] = location->tensor->data;
		if ((location->from_caller || location->is_output) && !location->tensor->data &&
		    npl_tensor_count(location->tensor) > 0)
			return npl_fail(err, NPL_EINTERNAL, "tensor '%s' has no data",
					location->tensor->name ? location->tensor->name : "");
	}
	return 0;
}

/* Returns the data that a layer sees in this order. A location with the same bytes in both orders has only
 * CPU_FIRST. */
static void *data_of(const struct cpu_layer_group *group, int location, enum cpu_layout layout)
{
	void *data = layout == CPU_LAST ? group->location[location].data[CPU_LAST] : NULL;
	return data ? data : cpu_location_of_data(group, location, CPU_FIRST)->data[CPU_FIRST];
}

/* Concatenates channels of tensors with channels last: at each position those of the first input, then of the second,
 * and so on. */
static void join_channels(const struct cpu_layer_group *group, const struct cpu_step *step)
{
	const struct npl_tensor *out = group->location[step->out[0]].tensor;
	char *y = data_of(group, step->out[0], CPU_LAST);
	const int64_t size = (int64_t)npl_dtype_size(out->dtype), row_bytes = out->shape.dim[1] * size,
		      positions = npl_tensor_count(out) / out->shape.dim[1];
	int64_t row_offset = 0;
	for (int k = 0; k < step->n_in; k++) {
		if (step->in[k] < 0)
			continue;
		const char *x = data_of(group, step->in[k], CPU_LAST);
		int64_t input_row_bytes = group->location[step->in[k]].tensor->shape.dim[1] * size;
		for (int64_t p = 0; p < positions; p++)
			memcpy(y + p * row_bytes + row_offset, x + p * input_row_bytes, (size_t)input_row_bytes);
		row_offset += input_row_bytes;
	}
}

static int run_step(struct cpu_layer_group *group, struct cpu_step *step, struct npl_result *result,
		    struct npl_err *err)
{
	const bool dnn = step->kind == CPU_STEP_DNN || step->kind == CPU_STEP_CONV8;
	double begin = npl_clock_seconds(), seconds = 0;
	int rc = 0;
	if (dnn)
		cpu_dnn_set_threads(&group->cpu->dnn, step->threads);
	for (int k = 0; k < step->n_in && step->kind >= CPU_STEP_ELEMENTS; k++)
		if (step->in[k] >= 0)
			step->in_tensor[k].data = data_of(group, step->in[k], step->x);
	for (int k = 0; k < step->n_out && step->kind >= CPU_STEP_ELEMENTS; k++)
		step->out_tensor[k].data = data_of(group, step->out[k], step->y);
	switch (step->kind) {
	case CPU_STEP_DNN:
		rc = cpu_dnn_run(step->op, data_of(group, step->in[0], step->x),
				 step->n_in > 1 ? data_of(group, step->in[1], step->y) : NULL,
				 data_of(group, step->out[0], step->y), err);
		break;
	case CPU_STEP_CONV8:
		return cpu_int8_conv_run(group->cpu, step->conv8, group->request.layer[step->layer_index],
					 data_of(group, step->in[0], step->x), data_of(group, step->out[0], step->y),
					 result, err);
	case CPU_STEP_ELEMENTS:
		rc = cpu_elements_run(group->cpu, &step->layer, err);
		break;
	case CPU_STEP_JOIN:
		join_channels(group, step);
		break;
	case CPU_STEP_MAXPOOL:
		cpu_maxpool_last(group->cpu, &step->layer);
		break;
	case CPU_STEP_LAYER:
		seconds = result->seconds;
		rc = step->int8      ? cpu_int8_run_prepared(group->cpu, step->int8, &step->layer, result, err)
		     : step->widened ? cpu_widened_run(group->cpu, step->widened, &step->layer, step->out_tensor,
						       &result->seconds, err)
				     : cpu_run_layer(group->cpu, &step->layer, step->out_tensor, result, err);
		result->seconds += seconds;
		return rc;
	}
	result->seconds += npl_clock_seconds() - begin;
	return rc;
}

/* Gives an observer a result of the step in ONNX's order. */
static int report_result(struct cpu_layer_group *group, const struct npl_layer_group_observer *observer,
			 const struct cpu_step *step, int result, struct npl_err *err)
{
	int p = step->out[result], layer = group->location[p].layer;
	const void *last = step->y == CPU_LAST ? group->location[p].data[CPU_LAST] : NULL;
	struct npl_tensor out = *group->location[p].tensor;
	struct cpu_dnn_op *op = NULL;
	out.owned = false;
	out.data = last ? NULL : group->location[p].data[CPU_FIRST];
	if (!last)
		return observer->on_result(observer->context, layer, result, &out, err);
	int rc = npl_tensor_alloc(&out, err);
	if (!rc)
		rc = cpu_dnn_reorder(&group->cpu->dnn, &out, CPU_LAST, CPU_FIRST, &op, err);
	if (!rc)
		rc = cpu_dnn_run(op, last, NULL, out.data, err);
	if (!rc)
		rc = observer->on_result(observer->context, layer, result, &out, err);
	cpu_dnn_release(op);
	npl_tensor_free(&out);
	return rc;
}

/* Gives an observer the results of step s, except those of conversions to another order. */
static int tell_step(struct cpu_layer_group *group, const struct npl_layer_group_observer *observer,
		     const struct cpu_step *step, struct npl_err *err)
{
	const bool reorder = step->kind == CPU_STEP_DNN && step->in[0] == step->out[0];
	for (int k = 0; k < step->n_out && !reorder; k++) {
		const struct cpu_tensor *location = &group->location[step->out[k]];
		if (!location->is_output && npl_tensor_count(location->tensor) > 0 &&
		    report_result(group, observer, step, k, err))
			return err->code;
	}
	return 0;
}

int cpu_layer_group_run(void *state, void *handle, const struct npl_layer_group_observer *observer,
			struct npl_result *results, struct npl_err *err)
{
	struct cpu_state *cpu = state;
	struct cpu_layer_group *group = handle;
	const bool observed = observer && observer->on_result, dnn = cpu->dnn.engine != NULL;
	int rc = group->prepared ? 0 : prepare(group, err);
	if (!rc)
		rc = find_data(group, err);
	int threads = dnn ? cpu_dnn_set_threads(&cpu->dnn, cpu->threads) : 0;
	for (int s = 0; s < group->n_steps && !rc; s++) {
		npl_layer_group_progress(&group->request, group->step[s].layer_index);
		rc = run_step(group, &group->step[s], &results[group->step[s].layer_index], err);
		if (rc)
			npl_prefix(err, "layer %s", group->request.layer[group->step[s].layer_index]->name);
		if (!rc && observed)
			rc = tell_step(group, observer, &group->step[s], err);
	}
	if (dnn)
		cpu_dnn_set_threads(&cpu->dnn, threads);
	for (int l = 0; l < group->request.n && !rc; l++) {
		results[l].seconds_origin = NPL_TIME_MEASURED;
		results[l].macs = group->request.layer[l]->macs;
		rc = npl_result_energy(&results[l], "package", 0, 0, "absent", err);
	}
	return rc;
}
