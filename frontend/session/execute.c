/* SPDX-License-Identifier: MIT
 *
 * Runs one batch through a session: each step in order, on its device (in a layer group of them where it has layer
 * groups), as a view or on the host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/computer/clock.h"
#include "core/energy_merge.h"
#include "frontend/graph/values.h"
#include "frontend/quantise/quantise.h"
#include "layer_group.h"
#include "lrn.h"
#include "npulab/progress.h"
#include "npulab/sha256.h"
#include "sim/memory/link_model.h"
#include "split.h"
#include "value_store.h"

/* Brings the layer's inputs into the device's format and memory and puts them into layer->in. view[] holds the tensors
 * as the device sees them: input 0 in its canonical shape, integers of the model with their scale and zero point. */
static int gather_inputs(struct npl_value_store *store, const struct npl_node *node, const struct npl_step *step,
			 struct npl_tensor *view, struct npl_layer *layer, struct npl_layer_run *row,
			 struct npl_err *err)
{
	enum npl_format format = npl_step_format(store->session, step);
	store->inputs_task = NPL_AT_START;
	for (int k = 0; k < step->n_in; k++) {
		if (node->in[k] < 0 || (k > 0 && step->canonical))
			continue;
		if (npl_value_store_get(store, node->in[k], format, step->device, row, &layer->in[k], err))
			return err->code;
		view[k] = *layer->in[k];
		view[k].owned = false;
		if (step->in_integers)
			view[k].quant = step->x_quant;
		if (step->canonical)
			view[k].shape = step->x_shape;
		layer->in[k] = &view[k];
	}
	return step->canonical && !layer->in[0] ? npl_fail(err, NPL_EINTERNAL, "node '%s' has no input", node->name)
						: 0;
}

/* Returns part i of n of a tensor, cut along its rows; the part borrows the data. */
static struct npl_tensor part_of(const struct npl_tensor *tensor, int i, int n)
{
	struct npl_tensor part = *tensor;
	part.shape.dim[0] /= n;
	part.owned = false;
	if (part.data)
		part.data = (char *)part.data + (size_t)i * npl_tensor_bytes(&part);
	return part;
}

/* Runs a stack of products, each with a matrix of its own, one after the other. Adds their results to *sum. */
static int run_repeated(const struct npl_session *s, const struct npl_step *step, const struct npl_layer *all_products,
			struct npl_result *sum, struct npl_err *err)
{
	struct npl_tensor x = *all_products->in[0];
	x.shape.dim[0] *= step->n_products; /* the canonical shape is that of one product */
	for (int i = 0; i < step->n_products; i++) {
		struct npl_tensor in = part_of(&x, i, step->n_products),
				  w = part_of(all_products->in[1], i, step->n_products),
				  out = part_of(all_products->out, i, step->n_products);
		struct npl_layer layer = *all_products;
		struct npl_result result = {0};
		layer.in[0] = &in;
		layer.in[1] = &w;
		layer.out = &out;
		layer.macs = all_products->macs / (uint64_t)step->n_products;
		if (npl_device_run(s->device[step->device], &layer, &result, err) || npl_result_add(sum, &result, err))
			return err->code;
		sum->seconds_origin = result.seconds_origin;
	}
	return 0;
}

static int run_on_device(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall,
			 struct npl_err *err)
{
	struct npl_session *s = store->session;
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	const struct npl_value *value = &s->graph->value[step->out];
	enum npl_format format = npl_step_format(s, step);
	struct npl_tensor *view = s->scratch;
	struct npl_tensor out[NPL_MAX_OUTPUTS] = {{0}};
	struct npl_step_tensors tensors;
	struct npl_layer layer;
	npl_step_layer(s, i, &tensors, &layer);
	if (gather_inputs(store, node, step, view, &layer, row, err))
		return err->code;
	out[0] = tensors.out;
	layer.out = out;
	layer.n_further = npl_step_further_results(s, i, out);
	if (step->n_products > 1)
		out->shape.dim[0] *= step->n_products;
	int rc = 0;
	for (int k = 0; k < npl_layer_outputs(&layer) && !s->options.timing_only && !rc; k++)
		rc = npl_tensor_alloc(&out[k], err);
	double start = npl_clock_seconds();
	if (!rc)
		rc = step->n_products > 1 ? run_repeated(s, step, &layer, &row->result, err)
					  : npl_device_run(s->device[step->device], &layer, &row->result, err);
	*wall += npl_clock_seconds() - start;
	out->shape = value->shape;
	npl_note_output(s, step, out, row);
	for (int k = 0; k < npl_layer_outputs(&layer) && !rc; k++)
		rc = npl_output_made(s, k ? node->out[k] : step->out, &out[k], row, err);
	if (!rc)
		store->inputs_task = npl_value_store_schedule_layers(
			store, step->device, 1, &i, (const struct npl_result *[]){&row->result},
			(struct npl_layer_run *[]){row}, store->inputs_task);
	for (int k = 0; k < npl_layer_outputs(&layer); k++)
		if (rc)
			npl_tensor_free(&out[k]);
		else
			npl_value_store_put(store, k ? node->out[k] : step->out, format, step->device, &out[k],
					    store->inputs_task);
	return rc;
}

static int run_on_host(struct npl_value_store *store, int i, struct npl_layer_run *row, struct npl_err *err)
{
	struct npl_session *s = store->session;
	const struct npl_node *node = &s->graph->node[i];
	struct npl_tensor out[NPL_MAX_OUTPUTS] = {{0}};
	const struct npl_tensor **in = calloc((size_t)node->n_in + 1, sizeof *in);
	store->inputs_task = NPL_AT_START;
	int rc = in ? 0 : npl_fail(err, NPL_ENOMEM, "node '%s': out of memory", node->name);
	for (int k = 0; k < node->n_in && !rc; k++) {
		if (node->in[k] < 0)
			continue;
		rc = npl_value_store_get(store, node->in[k], NPL_FORMAT_F32, NPL_ON_HOST, row, &in[k], err);
	}
	for (int k = 0; k < node->n_out && !rc; k++) {
		out[k].shape = npl_shape_of(1, 0);
		if (node->out[k] < 0)
			continue;
		const struct npl_value *value = &s->graph->value[node->out[k]];
		out[k] = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (!s->options.timing_only)
			rc = npl_tensor_alloc(&out[k], err);
	}
	if (!rc && !s->options.timing_only && npl_op_run(node->op, &node->attrs, in, node->n_in, out, node->n_out, err))
		rc = npl_prefix(err, "node '%s'", node->name);
	if (!rc) {
		const struct npl_processor_counts counts = npl_processor_count(node->op, &node->attrs, in, node->n_in,
									       out, node->n_out, node->macs);
		store->inputs_task = npl_charge_host(store, NPL_TASK_LAYER, -1, &counts, row, store->inputs_task);
	}
	row->result.macs = node->macs;
	for (int k = 0; k < node->n_out; k++) {
		if (!rc && node->out[k] >= 0) {
			if (k == 0)
				row->output_dtype = out[k].dtype;
			rc = npl_output_made(s, node->out[k], &out[k], row, err);
			npl_value_store_put(store, node->out[k], NPL_FORMAT_F32, NPL_ON_HOST, &out[k],
					    store->inputs_task);
		} else {
			npl_tensor_free(&out[k]);
		}
	}
	free(in);
	return rc;
}

/* Adds joules to the row's component of this name and origin. */
static int add_energy(struct npl_result *result, enum npl_energy_part part, const char *component, double joules,
		      const char *origin, struct npl_err *err)
{
	const struct npl_energy energy = {.component = component,
					  .origin = origin,
					  .part = part,
					  .joules = !npl_origin_is_absent(origin) ? joules : NAN};
	return npl_energy_merge(result->energy, &result->n_energy, NPL_MAX_ENERGY, &energy, err);
}

/* Adds to a row the energy beside the device's own work: the host's and the links'. If a device ran the layer and gives
 * no energy, the row's energy is not known; the entry "absent" says so, as no entry would count as no energy. */
static int charge_surroundings(const struct npl_session *s, const struct npl_step *step, const uint64_t *link_bytes,
			       struct npl_layer_run *row, struct npl_err *err)
{
	bool on_device = row->role == NPL_RAN && step->device != NPL_ON_HOST;
	if (on_device && !row->result.n_energy && npl_device_get_info(s->device[step->device])->kind != NPL_KIND_NULL &&
	    add_energy(&row->result, NPL_OF_MACHINE, row->ran_on, 0, "absent", err))
		return err->code;
	if (row->host_seconds > 0 &&
	    add_energy(&row->result, NPL_OF_HOST, "host", row->host_joules, s->host->origin, err))
		return err->code;
	for (int d = 0; d < s->n_devices; d++) {
		const struct npl_link *link = &npl_device_get_info(s->device[d])->link;
		if (link_bytes[d] && !link->energy_within &&
		    add_energy(&row->result, NPL_OF_LINK, NPL_HOST_LINK,
			       (double)link_bytes[d] * link->pj_per_byte * 1e-12,
			       link->energy_origin ? link->energy_origin : "absent", err))
			return err->code;
	}
	return 0;
}

/* Adds what a machine draws while it waits for some seconds. */
static int charge_static(const struct npl_device *device, double seconds, struct npl_result *result,
			 struct npl_err *err)
{
	const struct npl_device_info *info = npl_device_get_info(device);
	const struct npl_energy_model *model = npl_device_energy_model(device);
	const struct npl_energy energy = {.component = "static, waiting",
					  .origin = info->static_origin,
					  .part = NPL_OF_WAITING,
					  .joules = seconds * info->static_watts,
					  .has_range = model != NULL,
					  .joules_low = model ? seconds * model->bottom_up_static_watts.low : 0,
					  .joules_high = model ? seconds * model->bottom_up_static_watts.high : 0};
	return npl_energy_merge(result->energy, &result->n_energy, NPL_MAX_ENERGY, &energy, err);
}

/* Charges the static energy of waiting machines. A machine stays powered until the batch is done, and its own energy
 * covers the time that it works. The rest is charged to the rows whose work the machine waits for: those that decide
 * the makespan. */
static int charge_waiting(const struct npl_session *s, struct npl_run *run, struct npl_err *err)
{
	double *waiting = malloc(((size_t)run->n_layers + 1) * sizeof *waiting);
	int rc = waiting ? 0 : npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", run->n_layers);
	for (int d = 0; d < s->n_devices && !rc; d++) {
		const struct npl_device_info *info = npl_device_get_info(s->device[d]);
		if (info->static_watts <= 0)
			continue;
		for (int i = 0; i < run->n_layers; i++)
			waiting[i] = 0;
		npl_schedule_waiting(run, d, waiting);
		for (int i = 0; i < run->n_layers && !rc; i++)
			if (waiting[i] > 0)
				rc = charge_static(s->device[d], waiting[i], &run->layer[i].result, err);
	}
	free(waiting);
	return rc;
}

static void open_row(const struct npl_session *s, int i, struct npl_layer_run *row)
{
	const struct npl_step *step = &s->step[i];
	row->node = i;
	row->role = step->role;
	row->note = step->note;
	row->float32_reason = step->float32_reason;
	row->host_part = step->lrn_factor_only;
	row->device = step->device;
	row->ran_on = step->device == NPL_ON_HOST ? NPL_HOST_NAME : npl_device_instance(s->device[step->device]);
	if (step->role == NPL_RAN && step->device != NPL_ON_HOST) {
		row->counter_def = npl_device_get_info(s->device[step->device])->counter_def;
		row->n_counters = npl_device_get_info(s->device[step->device])->n_counters;
	}
}

static int run_step(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err)
{
	struct npl_session *s = store->session;
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	int rc = 0;
	if (step->role == NPL_VIEW)
		rc = npl_value_store_view_node(store, node, true, row, err);
	else if (step->lrn_factor_only)
		rc = npl_lrn_run(store, i, row, wall, err);
	else if (step->split_slices)
		rc = npl_split_run(store, i, row, wall, err);
	else if (step->role == NPL_RAN)
		rc = step->device == NPL_ON_HOST ? run_on_host(store, i, row, err)
						 : run_on_device(store, i, row, wall, err);
	for (int k = 0; k < node->n_in && !rc; k++)
		if (node->in[k] >= 0)
			npl_value_store_done(store, node->in[k]);
	return rc;
}

/* Returns the row that is charged for bringing output v to the caller: that of the step that made v or, for a fused
 * node, of the step that it is fused into. fallback_row: the row for an output that no node makes. */
static struct npl_layer_run *row_of_value(const struct npl_session *s, struct npl_run *run, int v,
					  struct npl_layer_run *fallback_row)
{
	int producer = s->graph->value[v].producer;
	if (producer < 0)
		return fallback_row;
	/* A fused node is after the node whose result it alone reads. */
	for (int i = producer; i >= 0 && s->step[i].role == NPL_FUSED;) {
		i = s->graph->value[s->graph->node[i].in[0]].producer;
		if (i >= 0 && s->step[i].role == NPL_RAN && s->step[i].out == v)
			return &run->layer[i];
	}
	return &run->layer[producer];
}

static int take_outputs(struct npl_value_store *store, struct npl_tensor *outputs, struct npl_run *run,
			struct npl_err *err)
{
	const struct npl_graph *graph = store->session->graph;
	store->schedule.delivering = true;
	for (int i = 0; i < graph->n_outputs; i++) {
		int v = graph->output[i];
		const struct npl_tensor *tensor;
		struct npl_layer_run input_row = {0}, *row = row_of_value(store->session, run, v, &input_row);
		if (npl_value_store_get(store, v, NPL_FORMAT_F32, NPL_ON_HOST, row, &tensor, err))
			return err->code;
		if (store->session->options.timing_only)
			continue;
		outputs[i] = (struct npl_tensor){.name = tensor->name, .dtype = tensor->dtype, .shape = tensor->shape};
		if (npl_tensor_alloc(&outputs[i], err))
			return err->code;
		memcpy(outputs[i].data, tensor->data, npl_tensor_bytes(tensor));
	}
	return 0;
}

int npl_session_planned_rows(const struct npl_session *s, struct npl_run *run, struct npl_err *err)
{
	*run = (struct npl_run){.n_layers = s->graph->n_nodes};
	run->layer = calloc((size_t)s->graph->n_nodes + 1, sizeof *run->layer);
	if (!run->layer)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d layers", s->graph->n_nodes);
	for (int i = 0; i < s->graph->n_nodes; i++)
		open_row(s, i, &run->layer[i]);
	return 0;
}

int npl_session_run(struct npl_session *s, const struct npl_tensor *inputs, struct npl_tensor *outputs,
		    struct npl_run *run, struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	struct npl_value_store store = {0};
	double wall = 0;
	int rc = npl_session_planned_rows(s, run, err);
	if (!rc && !s->options.timing_only)
		rc = npl_check_inputs(graph, inputs, err);
	if (!rc)
		rc = npl_value_store_open(s, inputs, &store, err);
	const struct npl_layer_group_plan *group = s->group, *end = s->group + s->n_layer_groups;
	for (int i = 0; i < graph->n_nodes && !rc; i++) {
		npl_progress_step("layer", i + 1, graph->n_nodes, graph->node[i].name);
		if (group < end && i == group->first) {
			rc = npl_layer_group_run(&store, group, run, &wall, err);
			i = group++->last;
		} else {
			rc = run_step(&store, i, &run->layer[i], &wall, err);
		}
	}
	if (!rc)
		rc = take_outputs(&store, outputs, run, err);
	for (int i = 0; i < graph->n_nodes && !rc; i++) {
		run->layer[i].clipped += s->step[i].clipped;
		run->layer[i].result.saturations += run->layer[i].clipped;
		rc = charge_surroundings(s, &s->step[i], store.link_bytes + (size_t)i * (size_t)s->n_devices,
					 &run->layer[i], err);
	}
	if (!rc)
		rc = npl_schedule_finish(&store.schedule, graph, s->device, run, err);
	if (!rc)
		rc = charge_waiting(s, run, err);
	if (!rc)
		rc = npl_run_total(run, err);
	run->wall_seconds = wall;
	if (store.session)
		npl_value_store_close(&store);
	for (int i = 0; rc && outputs && i < graph->n_outputs; i++)
		npl_tensor_free(&outputs[i]);
	if (rc)
		npl_run_free(run);
	return rc;
}
