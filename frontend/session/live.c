/* SPDX-License-Identifier: MIT
 *
 * Values in flight, their conversions and transfers (live.h). */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/quantise/quantise.h"

unsigned npl_live_memory(const struct npl_session *s, int device)
{
	if (device == NPL_ON_HOST)
		return NPL_IN_HOST_MEMORY;
	const struct npl_link *link = &npl_device_get_info(s->device[device])->link;
	if (!link->name || link->measured)
		return NPL_IN_HOST_MEMORY;
	return 2u << device;
}

static void drop_form(struct npl_form *form)
{
	npl_tensor_free(&form->tensor);
	*form = (struct npl_form){0};
}

/* Whether value v, on devices of 8-bit integers, is an integer value that the model itself has. */
static bool is_partnered(const struct npl_session *s, int v)
{
	return s->own[v].quant.scale > 0;
}

/* Where root v is kept in a format: as the integers that it is, or in a form of its own. */
static struct npl_form *form_of(struct npl_live *live, int v, enum npl_format format)
{
	const struct npl_session *s = live->session;
	if (format == NPL_FORMAT_INT8 && is_partnered(s, v))
		return &live->form[live->root[s->own[v].partner]][NPL_FORMAT_F32];
	return &live->form[v][format];
}

/* The host's memory, which is number 0, and those of the devices. */
static size_t memories(const struct npl_live *live)
{
	return (size_t)live->session->n_devices + 1;
}

/* The piece of work that ends when the form is in the memory of a device. */
static int *ready_in(struct npl_live *live, const struct npl_form *form, int device)
{
	size_t memory = npl_live_memory(live->session, device) == NPL_IN_HOST_MEMORY ? 0 : (size_t)device + 1;
	return &live->ready[(size_t)(form - &live->form[0][0]) * memories(live) + memory];
}

/* Wherever the form is, it is there by this piece. */
static void set_ready(struct npl_live *live, const struct npl_form *form, int made)
{
	for (size_t m = 0; m < memories(live); m++)
		live->ready[(size_t)(form - &live->form[0][0]) * memories(live) + m] = made;
}

int npl_live_open(struct npl_session *s, const struct npl_tensor *inputs, struct npl_live *live, struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	*live = (struct npl_live){.session = s};
	live->root = calloc((size_t)graph->n_values + 1, sizeof *live->root);
	live->form = calloc((size_t)graph->n_values + 1, sizeof *live->form);
	live->seen = calloc((size_t)graph->n_values + 1, sizeof *live->seen);
	live->left = calloc((size_t)graph->n_values + 1, sizeof *live->left);
	live->link_bytes = calloc((size_t)graph->n_nodes * (size_t)s->n_devices + 1, sizeof *live->link_bytes);
	live->ready = calloc(((size_t)graph->n_values + 1) * NPL_FORMATS * memories(live), sizeof *live->ready);
	if (!live->root || !live->form || !live->seen || !live->left || !live->link_bytes || !live->ready)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	if (npl_schedule_open(&live->schedule, s->device, s->n_devices, err))
		return err->code;
	live->schedule.in_order = graph->layer_list;
	live->after = NPL_AT_START;
	for (int v = 0; v < graph->n_values; v++) {
		live->root[v] = v;
		live->left[v] += graph->value[v].uses;
		if (is_partnered(s, v))
			live->left[s->own[v].partner] += graph->value[v].uses;
	}
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_value *value = &graph->value[graph->input[i]];
		struct npl_form *form = &live->form[graph->input[i]][NPL_FORMAT_F32];
		*form = (struct npl_form){.made = true, .where = NPL_IN_HOST_MEMORY};
		set_ready(live, form, NPL_AT_START);
		form->tensor = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (!s->timing_only)
			form->tensor.data = inputs[i].data;
	}
	return 0;
}

void npl_live_close(struct npl_live *live)
{
	for (int v = 0; live->form && v < live->session->graph->n_values; v++)
		for (int f = 0; f < NPL_FORMATS; f++)
			drop_form(&live->form[v][f]);
	free(live->root);
	free(live->form);
	free(live->seen);
	free(live->left);
	free(live->link_bytes);
	free(live->ready);
	npl_schedule_close(&live->schedule);
	*live = (struct npl_live){0};
}

/* Conversions and transfers are made all the same, for the values, but those of a list of layers are nobody's work: inputs are there and
 * results stay (npl_graph.layer_list). */
static bool moves_nothing(const struct npl_live *live)
{
	return live->session->graph->layer_list;
}

int npl_charge_host(struct npl_live *live, enum npl_work kind, int v, const struct npl_processor_work *work,
		    struct npl_layer_run *row, int after)
{
	if (kind == NPL_WORK_CONVERSION && moves_nothing(live))
		return after;
	const struct npl_processor_time time = npl_processor_estimate(live->session->host, NPL_PROCESSOR_F32, work);
	row->host_seconds += time.seconds;
	row->host_joules += time.seconds * time.watts;
	return npl_schedule_add(
		&live->schedule,
		&(struct npl_span){.node = row->node, .work = kind, .value = v, .seconds = time.seconds}, after);
}

int npl_charge_link(struct npl_live *live, int device, enum npl_work work, int v, uint64_t bytes,
		    struct npl_layer_run *row, int after)
{
	const struct npl_session *s = live->session;
	const struct npl_link *link = &npl_device_get_info(s->device[device])->link;
	if (moves_nothing(live))
		return after;
	live->link_bytes[row->node * s->n_devices + device] += bytes;
	row->link_bytes += bytes;
	double seconds = link->latency_seconds + (double)bytes / link->bytes_per_second;
	row->link_seconds += seconds;
	row->transfers++;
	return npl_schedule_add(&live->schedule,
				&(struct npl_span){.node = row->node,
						   .resource = live->schedule.of_link[device],
						   .work = work,
						   .value = v,
						   .bytes = bytes,
						   .seconds = seconds},
				after);
}

/* Transfers that the device measured: one piece of the link's work. */
static int charge_measured(struct npl_live *live, int device, enum npl_work work, const struct npl_transfers *transfers,
			   struct npl_layer_run *row, int after)
{
	const int link = live->schedule.of_link[device];
	if (!transfers->n || link < 0 || moves_nothing(live))
		return after;
	row->link_bytes += transfers->bytes;
	row->link_seconds += transfers->seconds;
	row->transfers += (int)transfers->n;
	return npl_schedule_add(&live->schedule,
				&(struct npl_span){.node = row->node,
						   .resource = link,
						   .work = work,
						   .value = -1,
						   .bytes = transfers->bytes,
						   .seconds = transfers->seconds},
				after);
}

int npl_live_worked(struct npl_live *live, int device, int n, const int *node, const struct npl_result *const *results,
		    struct npl_layer_run *const *row, int after)
{
	for (int i = 0; i < n; i++)
		after = charge_measured(live, device, NPL_WORK_TO_DEVICE, &results[i]->to_device, row[i], after);
	after = npl_schedule_device(&live->schedule, device, n, node, results, after);
	for (int i = 0; i < n; i++)
		after = charge_measured(live, device, NPL_WORK_TO_HOST, &results[i]->to_host, row[i], after);
	return after;
}

static int bring_to_host(struct npl_live *live, int v, struct npl_form *form, struct npl_layer_run *row,
			 struct npl_err *err)
{
	if (form->where & NPL_IN_HOST_MEMORY)
		return 0;
	for (int d = 0; d < live->session->n_devices; d++)
		if (form->where & (2u << d)) {
			*ready_in(live, form, NPL_ON_HOST) = npl_charge_link(live, d, NPL_WORK_TO_HOST, v,
									     npl_tensor_bytes(&form->tensor), row,
									     *ready_in(live, form, d));
			form->where |= NPL_IN_HOST_MEMORY;
			return 0;
		}
	return npl_fail(err, NPL_EINTERNAL, "value '%s' is in no memory", form->tensor.name);
}

/* A tensor for a form: with data, or only its description in timing_only. */
static void adopt(struct npl_live *live, struct npl_form *form, struct npl_tensor *tensor, unsigned where, int made)
{
	drop_form(form);
	*form = (struct npl_form){.made = true, .tensor = *tensor, .where = where};
	set_ready(live, form, made);
}

static int convert(struct npl_live *live, int v, const struct npl_form *from, enum npl_format format,
		   struct npl_layer_run *row, struct npl_err *err)
{
	const struct npl_session *s = live->session;
	struct npl_quant quant = npl_session_quant(s, format, v);
	struct npl_tensor made = {.name = from->tensor.name, .shape = s->graph->value[v].shape, .quant = quant};
	struct npl_tensor numbers = from->tensor; /* integers may stand for several values, in other shapes */
	numbers.shape = made.shape;
	numbers.owned = false;
	if (!(numbers.quant.scale > 0) && is_partnered(s, v))
		numbers.quant = s->own[v].quant;
	made.dtype = npl_session_dtype(s, format, v);
	if (!s->timing_only) {
		int rc = format == NPL_FORMAT_F32
				 ? npl_dequantise(&numbers, &made, err)
				 : npl_quantise_to(&numbers, made.dtype, quant, &made, &row->clipped, err);
		if (rc)
			return npl_prefix(err, "layer '%s' on %s", s->graph->node[row->node].name, row->ran_on);
	}
	if (format == NPL_FORMAT_INT8 && is_partnered(s, v))
		made.quant = (struct npl_quant){0};
	if (s->graph->value[v].constant) { /* a machine is given its constants once, before the first run */
		adopt(live, form_of(live, v, format), &made, ~0u, NPL_AT_START);
		return 0;
	}
	const struct npl_processor_work work = npl_processor_conversion(&from->tensor, &made);
	int done = npl_charge_host(live, NPL_WORK_CONVERSION, v, &work, row, *ready_in(live, from, NPL_ON_HOST));
	adopt(live, form_of(live, v, format), &made, NPL_IN_HOST_MEMORY, done);
	return 0;
}

/* Makes value v exist in the format, in the host's memory. */
static int make_form(struct npl_live *live, int v, enum npl_format format, struct npl_layer_run *row,
		     struct npl_err *err)
{
	struct npl_form *plain = form_of(live, v, NPL_FORMAT_F32);
	if (!plain->made) {
		int f = NPL_FORMAT_F32 + 1;
		while (f < NPL_FORMATS && !form_of(live, v, (enum npl_format)f)->made)
			f++;
		if (f == NPL_FORMATS)
			return npl_fail(err, NPL_EINTERNAL, "value '%s' was never made",
					live->session->graph->value[v].name);
		struct npl_form *from = form_of(live, v, (enum npl_format)f);
		if (bring_to_host(live, v, from, row, err) || convert(live, v, from, NPL_FORMAT_F32, row, err))
			return err->code;
	}
	if (format == NPL_FORMAT_F32)
		return 0;
	return bring_to_host(live, v, plain, row, err) ? err->code : convert(live, v, plain, format, row, err);
}

static int get_constant(struct npl_live *live, int v, struct npl_err *err)
{
	struct npl_value *value = &live->session->graph->value[v];
	struct npl_form *form = &live->form[v][NPL_FORMAT_F32];
	const void *data = NULL;
	if (form->made)
		return 0;
	/* Without values too, a number may decide how much work an operator is: the exponent of Pow. */
	const bool needed = !live->session->timing_only || npl_shape_count(&value->shape) == 1;
	if (needed && !(data = npl_value_data(live->session->graph, value, err)))
		return err->code;
	*form = (struct npl_form){.made = true, .where = ~0u};
	set_ready(live, form, NPL_AT_START);
	form->tensor = (struct npl_tensor){
		.name = value->name, .dtype = value->dtype, .shape = value->shape, .data = (void *)data};
	return 0;
}

int npl_live_settle(struct npl_live *live, int v, struct npl_layer_run *row, struct npl_err *err)
{
	int root = live->root[v];
	return form_of(live, root, NPL_FORMAT_INT8)->made ? 0 : make_form(live, root, NPL_FORMAT_INT8, row, err);
}

/* The form of v's root as value v. */
static const struct npl_tensor *as_seen(struct npl_live *live, int v, const struct npl_tensor *form,
					enum npl_format format)
{
	int root = live->root[v];
	bool integers = format == NPL_FORMAT_INT8 && is_partnered(live->session, root);
	if (root == v && !integers)
		return form;
	struct npl_tensor *seen = &live->seen[v][format];
	*seen = *form;
	seen->owned = false;
	if (integers)
		seen->quant = live->session->own[root].quant;
	seen->name = live->session->graph->value[v].name;
	seen->shape = live->session->graph->value[v].shape;
	return seen;
}

int npl_live_get(struct npl_live *live, int v, enum npl_format format, int device, struct npl_layer_run *row,
		 const struct npl_tensor **tensor, struct npl_err *err)
{
	int root = live->root[v];
	if (live->session->graph->value[root].constant && get_constant(live, root, err))
		return err->code;
	struct npl_form *form = form_of(live, root, format);
	if (!form->made && make_form(live, root, format, row, err))
		return err->code;
	unsigned memory = npl_live_memory(live->session, device);
	if (!(form->where & memory)) {
		if (bring_to_host(live, root, form, row, err))
			return err->code;
		if (memory != NPL_IN_HOST_MEMORY)
			*ready_in(live, form, device) = npl_charge_link(live, device, NPL_WORK_TO_DEVICE, root,
									npl_tensor_bytes(&form->tensor), row,
									*ready_in(live, form, NPL_ON_HOST));
		form->where |= memory;
	}
	live->after = npl_schedule_later(&live->schedule, live->after, *ready_in(live, form, device));
	*tensor = as_seen(live, v, &form->tensor, format);
	return 0;
}

void npl_live_put(struct npl_live *live, int v, enum npl_format format, int device, struct npl_tensor *tensor, int made)
{
	if (format == NPL_FORMAT_INT8 && is_partnered(live->session, v))
		tensor->quant = (struct npl_quant){0}; /* what the integers stand for, their readers know */
	adopt(live, form_of(live, v, format), tensor, npl_live_memory(live->session, device), made);
}

void npl_live_view(struct npl_live *live, int in, int out)
{
	if (live->root[out] != out)
		return;
	live->root[out] = live->root[in];
	live->left[live->root[in]] += live->left[out];
	if (is_partnered(live->session, live->root[in]))
		live->left[live->root[live->session->own[live->root[in]].partner]] += live->left[out];
}

int npl_live_view_node(struct npl_live *live, const struct npl_node *node, bool settle, struct npl_layer_run *row,
		       struct npl_err *err)
{
	const struct npl_session *s = live->session;
	if (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW)
		npl_live_view(live, node->in[0], node->out[0]);
	if (node->op != NPL_OP_QUANTIZELINEAR)
		return 0;
	const int root = live->root[node->in[0]];
	if (s->own[root].partner != node->out[0]) /* the same integers again */
		npl_live_view(live, s->own[root].partner, node->out[0]);
	return settle ? npl_live_settle(live, root, row, err) : 0;
}

/* Frees what root v holds after its last reader. */
static void read_once(struct npl_live *live, int root)
{
	if (--live->left[root] > 0)
		return;
	for (int f = 0; f < NPL_FORMATS; f++)
		drop_form(&live->form[root][f]);
}

void npl_live_done(struct npl_live *live, int v)
{
	int root = live->root[v];
	if (is_partnered(live->session, root))
		read_once(live, live->root[live->session->own[root].partner]);
	read_once(live, root);
}
