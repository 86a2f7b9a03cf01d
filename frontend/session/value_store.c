/* SPDX-License-Identifier: MIT
 *
 * Values in flight, their conversions and transfers (value_store.h). */
#include "value_store.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/quantise/quantise.h"

unsigned npl_value_store_memory(const struct npl_session *s, int device)
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

/* The root of the value whose elements are v's in a format: the model may have the integers of a float value as a value of their own. */
static int holder_of(const struct npl_value_store *store, int v, enum npl_format format)
{
	const int integers = store->session->model.value[v].integers;
	return format == NPL_FORMAT_INT8 && integers >= 0 ? store->root[integers] : v;
}

/* Where root v is kept in a format. Other values than floats are kept as the graph has them, whatever their readers' format. */
static struct npl_form *form_of(struct npl_value_store *store, int v, enum npl_format format)
{
	const int holder = holder_of(store, v, format);
	const bool is_float = store->session->graph->value[holder].dtype == NPL_F32;
	return &store->form[holder][is_float ? format : NPL_FORMAT_F32];
}

/* Counts n reads of root v more, which are reads of its integers too. What it holds is freed after the last. */
static void count_reads(struct npl_value_store *store, int v, int n)
{
	const int integers = holder_of(store, v, NPL_FORMAT_INT8);
	if (integers != v)
		count_reads(store, integers, n);
	store->left[v] += n;
	for (int f = 0; f < NPL_FORMATS && n < 0 && store->left[v] <= 0; f++)
		drop_form(&store->form[v][f]);
}

/* The host's memory, which is number 0, and those of the devices. */
static size_t memories(const struct npl_value_store *store)
{
	return (size_t)store->session->n_devices + 1;
}

/* The piece of work that ends when the form is in the memory of a device. */
static int *ready_in(struct npl_value_store *store, const struct npl_form *form, int device)
{
	size_t memory = npl_value_store_memory(store->session, device) == NPL_IN_HOST_MEMORY ? 0 : (size_t)device + 1;
	return &store->ready[(size_t)(form - &store->form[0][0]) * memories(store) + memory];
}

/* Wherever the form is, it is there by this piece. */
static void set_ready(struct npl_value_store *store, const struct npl_form *form, int made)
{
	for (size_t m = 0; m < memories(store); m++)
		store->ready[(size_t)(form - &store->form[0][0]) * memories(store) + m] = made;
}

int npl_value_store_open(struct npl_session *s, const struct npl_tensor *inputs, struct npl_value_store *store,
			 struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	*store = (struct npl_value_store){.session = s};
	store->root = calloc((size_t)graph->n_values + 1, sizeof *store->root);
	store->form = calloc((size_t)graph->n_values + 1, sizeof *store->form);
	store->seen = calloc((size_t)graph->n_values + 1, sizeof *store->seen);
	store->left = calloc((size_t)graph->n_values + 1, sizeof *store->left);
	store->link_bytes = calloc((size_t)graph->n_nodes * (size_t)s->n_devices + 1, sizeof *store->link_bytes);
	store->ready = calloc(((size_t)graph->n_values + 1) * NPL_FORMATS * memories(store), sizeof *store->ready);
	if (!store->root || !store->form || !store->seen || !store->left || !store->link_bytes || !store->ready)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	if (npl_schedule_open(&store->schedule, s->device, s->n_devices, err))
		return err->code;
	store->schedule.in_order = graph->layer_list;
	store->after = NPL_AT_START;
	for (int v = 0; v < graph->n_values; v++)
		store->root[v] = v;
	for (int v = 0; v < graph->n_values; v++)
		count_reads(store, v, graph->value[v].uses);
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_value *value = &graph->value[graph->input[i]];
		struct npl_form *form = &store->form[graph->input[i]][NPL_FORMAT_F32];
		*form = (struct npl_form){.made = true, .where = NPL_IN_HOST_MEMORY};
		set_ready(store, form, NPL_AT_START);
		form->tensor = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (!s->timing_only)
			form->tensor.data = inputs[i].data;
	}
	return 0;
}

void npl_value_store_close(struct npl_value_store *store)
{
	for (int v = 0; store->form && v < store->session->graph->n_values; v++)
		for (int f = 0; f < NPL_FORMATS; f++)
			drop_form(&store->form[v][f]);
	free(store->root);
	free(store->form);
	free(store->seen);
	free(store->left);
	free(store->link_bytes);
	free(store->ready);
	npl_schedule_close(&store->schedule);
	*store = (struct npl_value_store){0};
}

/* Conversions and transfers are made all the same, for the values, but those of a list of layers are nobody's work: inputs are there and
 * results stay (npl_graph.layer_list). */
static bool moves_nothing(const struct npl_value_store *store)
{
	return store->session->graph->layer_list;
}

int npl_charge_host(struct npl_value_store *store, enum npl_work kind, int v, const struct npl_processor_work *work,
		    struct npl_layer_run *row, int after)
{
	if (kind == NPL_WORK_CONVERSION && moves_nothing(store))
		return after;
	const struct npl_processor_time time = npl_processor_estimate(store->session->host, NPL_PROCESSOR_F32, work);
	row->host_seconds += time.seconds;
	row->host_joules += time.seconds * time.watts;
	return npl_schedule_add(
		&store->schedule,
		&(struct npl_span){.node = row->node, .work = kind, .value = v, .seconds = time.seconds}, after);
}

int npl_charge_link(struct npl_value_store *store, int device, enum npl_work work, int v, uint64_t bytes,
		    struct npl_layer_run *row, int after)
{
	const struct npl_session *s = store->session;
	const struct npl_link *link = &npl_device_get_info(s->device[device])->link;
	if (moves_nothing(store))
		return after;
	store->link_bytes[row->node * s->n_devices + device] += bytes;
	row->link_bytes += bytes;
	double seconds = link->latency_seconds + (double)bytes / link->bytes_per_second;
	row->link_seconds += seconds;
	row->transfers++;
	return npl_schedule_add(&store->schedule,
				&(struct npl_span){.node = row->node,
						   .resource = store->schedule.of_link[device],
						   .work = work,
						   .value = v,
						   .bytes = bytes,
						   .seconds = seconds},
				after);
}

/* Transfers that the device measured: one piece of the link's work. */
static int charge_measured(struct npl_value_store *store, int device, enum npl_work work,
			   const struct npl_transfers *transfers, struct npl_layer_run *row, int after)
{
	const int link = store->schedule.of_link[device];
	if (!transfers->n || link < 0 || moves_nothing(store))
		return after;
	row->link_bytes += transfers->bytes;
	row->link_seconds += transfers->seconds;
	row->transfers += (int)transfers->n;
	return npl_schedule_add(&store->schedule,
				&(struct npl_span){.node = row->node,
						   .resource = link,
						   .work = work,
						   .value = -1,
						   .bytes = transfers->bytes,
						   .seconds = transfers->seconds},
				after);
}

int npl_value_store_worked(struct npl_value_store *store, int device, int n, const int *node,
			   const struct npl_result *const *results, struct npl_layer_run *const *row, int after)
{
	for (int i = 0; i < n; i++)
		after = charge_measured(store, device, NPL_WORK_TO_DEVICE, &results[i]->to_device, row[i], after);
	after = npl_schedule_device(&store->schedule, device, n, node, results, after);
	for (int i = 0; i < n; i++)
		after = charge_measured(store, device, NPL_WORK_TO_HOST, &results[i]->to_host, row[i], after);
	return after;
}

static int bring_to_host(struct npl_value_store *store, int v, struct npl_form *form, struct npl_layer_run *row,
			 struct npl_err *err)
{
	if (form->where & NPL_IN_HOST_MEMORY)
		return 0;
	for (int d = 0; d < store->session->n_devices; d++)
		if (form->where & (2u << d)) {
			*ready_in(store, form, NPL_ON_HOST) = npl_charge_link(store, d, NPL_WORK_TO_HOST, v,
									      npl_tensor_bytes(&form->tensor), row,
									      *ready_in(store, form, d));
			form->where |= NPL_IN_HOST_MEMORY;
			return 0;
		}
	return npl_fail(err, NPL_EINTERNAL, "value '%s' is in no memory", form->tensor.name);
}

/* A tensor for a form: with data, or only its description in timing_only. It is kept in the shape of the form's value, which is another than
 * that of a float value whose integers it is. Values as the graph has them, the model's integers too, carry no scale with them: their
 * readers know it. */
static void adopt(struct npl_value_store *store, struct npl_form *form, struct npl_tensor *tensor, unsigned where,
		  int made)
{
	drop_form(form);
	const ptrdiff_t at = form - &store->form[0][0];
	*form = (struct npl_form){.made = true, .tensor = *tensor, .where = where};
	form->tensor.shape = store->session->graph->value[at / NPL_FORMATS].shape;
	if (at % NPL_FORMATS == NPL_FORMAT_F32)
		form->tensor.quant = (struct npl_quant){0};
	set_ready(store, form, made);
}

static int convert(struct npl_value_store *store, int v, const struct npl_form *from, enum npl_format format,
		   struct npl_layer_run *row, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	struct npl_quant quant = npl_session_quant(s, format, v);
	struct npl_tensor made = {.name = from->tensor.name, .shape = s->graph->value[v].shape, .quant = quant};
	struct npl_tensor numbers = from->tensor; /* integers may stand for several values, in other shapes */
	numbers.shape = made.shape;
	numbers.owned = false;
	if (!(numbers.quant.scale > 0))
		numbers.quant = s->model.value[v].quant;
	made.dtype = npl_session_dtype(s, format, v);
	if (!s->timing_only) {
		int rc = format == NPL_FORMAT_F32
				 ? npl_dequantise(&numbers, &made, err)
				 : npl_quantise_to(&numbers, made.dtype, quant, &made, &row->clipped, err);
		if (rc)
			return npl_prefix(err, "layer '%s' on %s", s->graph->node[row->node].name, row->ran_on);
	}
	if (s->graph->value[v].constant) { /* a machine is given its constants once, before the first run */
		adopt(store, form_of(store, v, format), &made, ~0u, NPL_AT_START);
		return 0;
	}
	const struct npl_processor_work work = npl_processor_conversion(&from->tensor, &made);
	int done = npl_charge_host(store, NPL_WORK_CONVERSION, v, &work, row, *ready_in(store, from, NPL_ON_HOST));
	adopt(store, form_of(store, v, format), &made, NPL_IN_HOST_MEMORY, done);
	return 0;
}

/* Makes value v exist in the format, in the host's memory. */
static int make_form(struct npl_value_store *store, int v, enum npl_format format, struct npl_layer_run *row,
		     struct npl_err *err)
{
	struct npl_form *plain = form_of(store, v, NPL_FORMAT_F32);
	if (!plain->made) {
		int f = NPL_FORMAT_F32 + 1;
		while (f < NPL_FORMATS && !form_of(store, v, (enum npl_format)f)->made)
			f++;
		if (f == NPL_FORMATS)
			return npl_fail(err, NPL_EINTERNAL, "value '%s' was never made",
					store->session->graph->value[v].name);
		struct npl_form *from = form_of(store, v, (enum npl_format)f);
		if (bring_to_host(store, v, from, row, err) || convert(store, v, from, NPL_FORMAT_F32, row, err))
			return err->code;
	}
	if (format == NPL_FORMAT_F32)
		return 0;
	return bring_to_host(store, v, plain, row, err) ? err->code : convert(store, v, plain, format, row, err);
}

static int get_constant(struct npl_value_store *store, int v, struct npl_err *err)
{
	struct npl_value *value = &store->session->graph->value[v];
	struct npl_form *form = &store->form[v][NPL_FORMAT_F32];
	const void *data = NULL;
	if (form->made)
		return 0;
	/* Without values too, a number may decide how much work an operator is: the exponent of Pow. */
	const bool needed = !store->session->timing_only || npl_shape_count(&value->shape) == 1;
	if (needed && !(data = npl_value_data(store->session->graph, value, err)))
		return err->code;
	*form = (struct npl_form){.made = true, .where = ~0u};
	set_ready(store, form, NPL_AT_START);
	form->tensor = (struct npl_tensor){
		.name = value->name, .dtype = value->dtype, .shape = value->shape, .data = (void *)data};
	return 0;
}

/* The form of v's root as value v. */
static const struct npl_tensor *as_seen(struct npl_value_store *store, int v, const struct npl_tensor *form,
					enum npl_format format)
{
	int root = store->root[v];
	bool integers = holder_of(store, root, format) != root;
	if (root == v && !integers)
		return form;
	struct npl_tensor *seen = &store->seen[v][format];
	*seen = *form;
	seen->owned = false;
	if (integers)
		seen->quant = store->session->model.value[root].quant;
	seen->name = store->session->graph->value[v].name;
	seen->shape = store->session->graph->value[v].shape;
	return seen;
}

int npl_value_store_get(struct npl_value_store *store, int v, enum npl_format format, int device,
			struct npl_layer_run *row, const struct npl_tensor **tensor, struct npl_err *err)
{
	int root = store->root[v];
	if (store->session->graph->value[root].constant && get_constant(store, root, err))
		return err->code;
	struct npl_form *form = form_of(store, root, format);
	if (!form->made && make_form(store, root, format, row, err))
		return err->code;
	unsigned memory = npl_value_store_memory(store->session, device);
	if (!(form->where & memory)) {
		if (bring_to_host(store, root, form, row, err))
			return err->code;
		if (memory != NPL_IN_HOST_MEMORY)
			*ready_in(store, form, device) = npl_charge_link(store, device, NPL_WORK_TO_DEVICE, root,
									 npl_tensor_bytes(&form->tensor), row,
									 *ready_in(store, form, NPL_ON_HOST));
		form->where |= memory;
	}
	store->after = npl_schedule_later(&store->schedule, store->after, *ready_in(store, form, device));
	*tensor = as_seen(store, v, &form->tensor, format);
	return 0;
}

void npl_value_store_put(struct npl_value_store *store, int v, enum npl_format format, int device,
			 struct npl_tensor *tensor, int made)
{
	adopt(store, form_of(store, v, format), tensor, npl_value_store_memory(store->session, device), made);
}

void npl_value_store_view(struct npl_value_store *store, int in, int out)
{
	if (store->root[out] != out)
		return;
	store->root[out] = store->root[in];
	count_reads(store, store->root[in], store->left[out]);
}

int npl_value_store_view_node(struct npl_value_store *store, const struct npl_node *node, bool settle,
			      struct npl_layer_run *row, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	if (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW)
		npl_value_store_view(store, node->in[0], node->out[0]);
	if (node->op != NPL_OP_QUANTIZELINEAR)
		return 0;
	const int root = store->root[node->in[0]];
	const int integers = s->model.value[root].integers;
	if (integers != node->out[0]) /* the same integers again */
		npl_value_store_view(store, integers, node->out[0]);
	if (!settle || form_of(store, root, NPL_FORMAT_INT8)->made)
		return 0;
	return make_form(store, root, NPL_FORMAT_INT8, row, err);
}

void npl_value_store_done(struct npl_value_store *store, int v)
{
	count_reads(store, store->root[v], -1);
}
