/* SPDX-License-Identifier: MIT
 *
 * Runs a layer group in a session (layer_group.h). */
#include <stdlib.h>
#include <string.h>

#include "core/computer/clock.h"
#include "layer_group.h"

struct progress {
	const struct npl_session *s;
	const struct npl_layer_group_plan *group;
	struct npl_run *run;
};

static int on_result(void *context, int layer, int result, const struct npl_tensor *out, struct npl_err *err)
{
	const struct progress *p = context;
	int node = p->group->node[layer], value = p->group->value[layer];
	if (p->s->step[node].role != NPL_RAN)
		return 0;
	if (result > 0)
		value = p->s->graph->node[node].out[result];
	return value < 0 ? 0 : npl_output_made(p->s, value, out, &p->run->layer[node], err);
}

/* Enters the group's views into the value store. The integers of a QuantizeLinear are made there if its input comes
 * from outside; those inside the group, or of a group that converts, are not asked for. */
static int note_views(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
		      struct npl_err *err)
{
	const struct npl_session *s = store->session;
	for (int i = group->first; i <= group->last; i++) {
		const struct npl_node *node = &s->graph->node[i];
		bool is_made_inside = s->graph->value[node->in[0]].producer >= group->first;
		const bool inside = is_made_inside || group->converts;
		if (s->step[i].role == NPL_VIEW && npl_value_store_view_node(store, node, !inside, &run->layer[i], err))
			return err->code;
	}
	return 0;
}

static int gather_inputs(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
			 struct npl_err *err)
{
	const struct npl_session *s = store->session;
	store->inputs_task = NPL_AT_START;
	for (int p = 0; p < group->n_in; p++) {
		const struct npl_layer_group_port *port = &group->in[p];
		const struct npl_tensor *value;
		int ready_task = store->inputs_task;
		store->inputs_task = NPL_AT_START;
		if (npl_value_store_get(store, port->value, port->format, port->moved ? NPL_ON_HOST : group->device,
					&run->layer[port->node], &value, err))
			return err->code;
		bool is_same = port->format == NPL_FORMAT_F32 /* the model's own integers carry no scale with them */ ||
			       npl_quant_equal(&value->quant, &port->tensor->quant);
		if (!s->options.timing_only && !is_same)
			return npl_fail(err, NPL_EINTERNAL, "value '%s' is not quantised as planned", value->name);
		port->tensor->data = value->data;
		if (port->bytes_outside)
			store->inputs_task = npl_charge_link(store, group->device, NPL_TASK_TO_DEVICE, port->value,
							     port->bytes_outside, &run->layer[port->node],
							     store->inputs_task);
		store->inputs_task = npl_schedule_later(&store->schedule, ready_task, store->inputs_task);
	}
	return 0;
}

/* Puts the group's outputs into the value store. last_task: the task at whose end the group's work is done. */
static int put_results(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
		       int last_task, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	for (int p = 0; p < group->n_out; p++) {
		const struct npl_layer_group_port *port = &group->out[p];
		struct npl_tensor result = *port->tensor;
		*port->tensor = (struct npl_tensor){
			.name = result.name, .dtype = result.dtype, .shape = result.shape, .quant = result.quant};
		if (!port->converted && npl_output_made(s, port->value, &result, &run->layer[port->node], err)) {
			npl_tensor_free(&result);
			return err->code;
		}
		result.shape = s->graph->value[port->value].shape;
		int ready_task = last_task;
		if (port->bytes_outside)
			ready_task = npl_charge_link(store, group->device, NPL_TASK_TO_HOST, port->value,
						     port->bytes_outside, &run->layer[port->node], last_task);
		npl_value_store_put(store, port->value, port->format, port->moved ? NPL_ON_HOST : group->device,
				    &result, ready_task);
	}
	return 0;
}

/* Fills the rows of the group's nodes. The row of a node with several layers, such as a Split's Slices, is the sum of
 * these. */
static int fill_rows(const struct npl_session *s, const struct npl_layer_group_plan *group,
		     const struct npl_result *results, struct npl_run *run, struct npl_err *err)
{
	const struct npl_layer_group_info *info = npl_device_layer_group_info(group->opened);
	for (int l = 0; l < group->n; l++) {
		struct npl_layer_run *row = &run->layer[group->node[l]];
		const struct npl_step *step = &s->step[group->node[l]];
		struct npl_result result = results[l];
		/* The saturations of a conversion are counted as clipped values. */
		const bool conversion = group->value[l] < 0;
		if (step->role != NPL_RAN && !conversion)
			continue;
		if (conversion) {
			row->role = NPL_RAN;
			row->clipped += result.saturations;
			result.saturations = 0;
		}
		if (npl_result_add(&row->result, &result, err))
			return err->code;
		row->result.seconds_origin = results[l].seconds_origin;
		if (conversion)
			continue;
		npl_note_output(s, step, group->layer[l].out, row);
		if (group->note[l] && !step->split_slices) {
			row->role = NPL_FUSED;
			row->counter_def = NULL;
			row->n_counters = 0;
			row->result.n_energy = 0;
			row->note = group->note[l];
			row->float32_reason = NULL;
		}
	}
	if (info->peak_buffer_bytes > run->peak_buffer_bytes)
		run->peak_buffer_bytes = info->peak_buffer_bytes;
	return 0;
}

/* Schedules the layer group as one task of its device. */
static int schedule(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
		    const struct npl_result *results, struct npl_err *err)
{
	const struct npl_result **list = calloc((size_t)group->n + 1, sizeof *list);
	struct npl_layer_run **row = calloc((size_t)group->n + 1, sizeof *row);
	int rc = list && row ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", group->n);
	for (int l = 0; l < group->n && !rc; l++) {
		list[l] = &results[l];
		row[l] = &run->layer[group->node[l]];
	}
	if (!rc)
		store->inputs_task = npl_value_store_schedule_layers(store, group->device, group->n, group->node, list,
								     row, store->inputs_task);
	free(list);
	free(row);
	return rc;
}

int npl_layer_group_run(struct npl_value_store *store, const struct npl_layer_group_plan *group, struct npl_run *run,
			double *wall, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	struct progress progress = {s, group, run};
	const struct npl_layer_group_observer observer = {s->hash || s->observer ? on_result : NULL, &progress};
	struct npl_result *results = calloc((size_t)group->n, sizeof *results);
	int rc = results ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", group->n);
	if (!rc)
		rc = note_views(store, group, run, err);
	if (!rc)
		rc = gather_inputs(store, group, run, err);
	for (int p = 0; p < group->n_out && !rc && !s->options.timing_only; p++)
		rc = npl_tensor_alloc(group->out[p].tensor, err);
	double start = npl_clock_seconds();
	if (!rc)
		rc = npl_device_run_layer_group(group->opened, &observer, results, err);
	*wall += npl_clock_seconds() - start;
	if (!rc)
		rc = schedule(store, group, run, results, err);
	if (!rc)
		rc = fill_rows(s, group, results, run, err);
	if (!rc)
		rc = put_results(store, group, run, store->inputs_task, err);
	for (int p = 0; p < group->n_out; p++)
		npl_tensor_free(group->out[p].tensor);
	for (int i = group->first; i <= group->last && !rc; i++)
		for (int k = 0; k < s->graph->node[i].n_in; k++)
			if (s->graph->node[i].in[k] >= 0)
				npl_value_store_done(store, s->graph->node[i].in[k]);
	free(results);
	return rc;
}
