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

static void drop_copy(struct npl_value_copy *copy)
{
	npl_tensor_free(&copy->tensor);
	*copy = (struct npl_value_copy){0};
}

/* Returns the root of the value whose elements are v's in a format: the model may have the integers of a float value as
 * a value of their own. */
static int holder_of(const struct npl_value_store *store, int v, enum npl_format format)
{
	const int integers = store->session->model.value[v].integers;
	return format == NPL_FORMAT_INT8 && integers >= 0 ? store->root[integers] : v;
}

/* Returns the copy of root v in a format. Values other than floats are kept as the graph has them, whatever format
 * their readers ask for. */
static struct npl_value_copy *copy_of(struct npl_value_store *store, int v, enum npl_format format)
{
	const int holder = holder_of(store, v, format);
	const bool is_float = store->session->graph->value[holder].dtype == NPL_F32;
	return &store->copy[holder][is_float ? format : NPL_FORMAT_F32];
}

/* Adds n to the reads of root v that are still to come, and to those of its integers. After the last read the copies
 * are freed. */
static void count_reads(struct npl_value_store *store, int v, int n)
{
	const int integers = holder_of(store, v, NPL_FORMAT_INT8);
	if (integers != v)
		count_reads(store, integers, n);
	store->reads_left[v] += n;
	for (int f = 0; f < NPL_FORMATS && n < 0 && store->reads_left[v] <= 0; f++)
		drop_copy(&store->copy[v][f]);
}

/* Returns the number of memories: the host's, which is number 0, and those of the devices. */
static size_t memories(const struct npl_value_store *store)
{
	return (size_t)store->session->n_devices + 1;
}

/* Returns the entry for the task that ends when the copy is in the memory of a device. */
static int *ready_in(struct npl_value_store *store, const struct npl_value_copy *copy, int device)
{
	size_t memory = npl_value_store_memory(store->session, device) == NPL_IN_HOST_MEMORY ? 0 : (size_t)device + 1;
	return &store->ready[(size_t)(copy - &store->copy[0][0]) * memories(store) + memory];
}

/* Notes for every memory that the copy is ready there when the task `making_task` ends. */
static void set_ready(struct npl_value_store *store, const struct npl_value_copy *copy, int making_task)
{
	for (size_t m = 0; m < memories(store); m++)
		store->ready[(size_t)(copy - &store->copy[0][0]) * memories(store) + m] = making_task;
}

int npl_value_store_open(struct npl_session *s, const struct npl_tensor *inputs, struct npl_value_store *store,
			 struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	*store = (struct npl_value_store){.session = s};
	store->root = calloc((size_t)graph->n_values + 1, sizeof *store->root);
	store->copy = calloc((size_t)graph->n_values + 1, sizeof *store->copy);
	store->alias = calloc((size_t)graph->n_values + 1, sizeof *store->alias);
	store->reads_left = calloc((size_t)graph->n_values + 1, sizeof *store->reads_left);
	store->link_bytes = calloc((size_t)graph->n_nodes * (size_t)s->n_devices + 1, sizeof *store->link_bytes);
	store->ready = calloc(((size_t)graph->n_values + 1) * NPL_FORMATS * memories(store), sizeof *store->ready);
	if (!store->root || !store->copy || !store->alias || !store->reads_left || !store->link_bytes || !store->ready)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	if (npl_schedule_open(&store->schedule, s->device, s->n_devices, err))
		return err->code;
	store->schedule.in_order = graph->layer_list;
	store->inputs_task = NPL_AT_START;
	for (int v = 0; v < graph->n_values; v++)
		store->root[v] = v;
	for (int v = 0; v < graph->n_values; v++)
		count_reads(store, v, graph->value[v].uses);
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_value *value = &graph->value[graph->input[i]];
		struct npl_value_copy *copy = &store->copy[graph->input[i]][NPL_FORMAT_F32];
		*copy = (struct npl_value_copy){.exists = true, .memories = NPL_IN_HOST_MEMORY};
		set_ready(store, copy, NPL_AT_START);
		copy->tensor = (struct npl_tensor){.name = value->name, .dtype = value->dtype, .shape = value->shape};
		if (!s->options.timing_only)
			copy->tensor.data = inputs[i].data;
	}
	return 0;
}

void npl_value_store_close(struct npl_value_store *store)
{
	for (int v = 0; store->copy && v < store->session->graph->n_values; v++)
		for (int f = 0; f < NPL_FORMATS; f++)
			drop_copy(&store->copy[v][f]);
	free(store->root);
	free(store->copy);
	free(store->alias);
	free(store->reads_left);
	free(store->link_bytes);
	free(store->ready);
	npl_schedule_close(&store->schedule);
	*store = (struct npl_value_store){0};
}

/* Says whether conversions and transfers are free. In a list of layers inputs are in place and results stay
 * (npl_graph.layer_list), so they are charged to no row, but made all the same, for the values. */
static bool has_free_transfers(const struct npl_value_store *store)
{
	return store->session->graph->layer_list;
}

int npl_charge_host(struct npl_value_store *store, enum npl_task_kind kind, int v,
		    const struct npl_processor_counts *counts, struct npl_layer_run *row, int predecessor)
{
	if (kind == NPL_TASK_CONVERSION && has_free_transfers(store))
		return predecessor;
	const struct npl_processor_time time = npl_processor_estimate(store->session->host, NPL_PROCESSOR_F32, counts);
	row->host_seconds += time.seconds;
	row->host_joules += time.seconds * time.watts;
	return npl_schedule_add(
		&store->schedule,
		&(struct npl_task){.node = row->node, .kind = kind, .value = v, .seconds = time.seconds}, predecessor);
}

int npl_charge_link(struct npl_value_store *store, int device, enum npl_task_kind kind, int v, uint64_t bytes,
		    struct npl_layer_run *row, int predecessor)
{
	const struct npl_session *s = store->session;
	const struct npl_link *link = &npl_device_get_info(s->device[device])->link;
	if (has_free_transfers(store))
		return predecessor;
	store->link_bytes[row->node * s->n_devices + device] += bytes;
	row->link_bytes += bytes;
	double seconds = link->latency_seconds + (double)bytes / link->bytes_per_second;
	row->link_seconds += seconds;
	row->transfers++;
	return npl_schedule_add(&store->schedule,
				&(struct npl_task){.node = row->node,
						   .resource = store->schedule.link_resource[device],
						   .kind = kind,
						   .value = v,
						   .bytes = bytes,
						   .seconds = seconds},
				predecessor);
}

/* Charges transfers that the device measured to the row and schedules them as one task of the link. Returns the task,
 * or `predecessor` if there is nothing to charge. */
static int charge_measured(struct npl_value_store *store, int device, enum npl_task_kind kind,
			   const struct npl_transfers *transfers, struct npl_layer_run *row, int predecessor)
{
	const int link = store->schedule.link_resource[device];
	if (!transfers->n || link < 0 || has_free_transfers(store))
		return predecessor;
	row->link_bytes += transfers->bytes;
	row->link_seconds += transfers->seconds;
	row->transfers += (int)transfers->n;
	return npl_schedule_add(&store->schedule,
				&(struct npl_task){.node = row->node,
						   .resource = link,
						   .kind = kind,
						   .value = -1,
						   .bytes = transfers->bytes,
						   .seconds = transfers->seconds},
				predecessor);
}

int npl_value_store_schedule_layers(struct npl_value_store *store, int device, int n, const int *node,
				    const struct npl_result *const *results, struct npl_layer_run *const *row,
				    int predecessor)
{
	for (int i = 0; i < n; i++)
		predecessor = charge_measured(store, device, NPL_TASK_TO_DEVICE, &results[i]->to_device, row[i],
					      predecessor);
	predecessor = npl_schedule_device(&store->schedule, device, n, node, results, predecessor);
	for (int i = 0; i < n; i++)
		predecessor = charge_measured(store, device, NPL_TASK_TO_HOST, &results[i]->to_host, row[i],
					      predecessor);
	return predecessor;
}

static int bring_to_host(struct npl_value_store *store, int v, struct npl_value_copy *copy, struct npl_layer_run *row,
			 struct npl_err *err)
{
	if (copy->memories & NPL_IN_HOST_MEMORY)
		return 0;
	for (int d = 0; d < store->session->n_devices; d++)
		if (copy->memories & (2u << d)) {
			*ready_in(store, copy, NPL_ON_HOST) = npl_charge_link(store, d, NPL_TASK_TO_HOST, v,
									      npl_tensor_bytes(&copy->tensor), row,
									      *ready_in(store, copy, d));
			copy->memories |= NPL_IN_HOST_MEMORY;
			return 0;
		}
	return npl_fail(err, NPL_EINTERNAL, "value '%s' is in no memory", copy->tensor.name);
}

/* Makes a tensor the copy's: with data, or only its description in timing_only. It gets the shape of the copy's value,
 * which may differ from that of the float value whose integers it holds. Values as the graph has them, the model's
 * integers too, are kept without a scale, because their readers know it. memories_of_copy: those that hold it;
 * making_task: the task that makes it. */
static void adopt(struct npl_value_store *store, struct npl_value_copy *copy, struct npl_tensor *tensor,
		  unsigned memories_of_copy, int making_task)
{
	drop_copy(copy);
	const ptrdiff_t at = copy - &store->copy[0][0];
	*copy = (struct npl_value_copy){.exists = true, .tensor = *tensor, .memories = memories_of_copy};
	copy->tensor.shape = store->session->graph->value[at / NPL_FORMATS].shape;
	if (at % NPL_FORMATS == NPL_FORMAT_F32)
		copy->tensor.quant = (struct npl_quant){0};
	set_ready(store, copy, making_task);
}

static int convert(struct npl_value_store *store, int v, const struct npl_value_copy *from, enum npl_format format,
		   struct npl_layer_run *row, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	struct npl_quant quant = npl_session_quant(s, format, v);
	struct npl_tensor converted = {.name = from->tensor.name, .shape = s->graph->value[v].shape, .quant = quant};
	struct npl_tensor numbers = from->tensor; /* integers may stand for several values, in other shapes */
	numbers.shape = converted.shape;
	numbers.owned = false;
	if (!(numbers.quant.scale > 0))
		numbers.quant = s->model.value[v].quant;
	converted.dtype = npl_session_dtype(s, format, v);
	if (!s->options.timing_only) {
		int rc = format == NPL_FORMAT_F32
				 ? npl_dequantise(&numbers, &converted, err)
				 : npl_quantise_to(&numbers, converted.dtype, quant, &converted, &row->clipped, err);
		if (rc)
			return npl_prefix(err, "layer '%s' on %s", s->graph->node[row->node].name, row->ran_on);
	}
	if (s->graph->value[v].constant) { /* a machine is given its constants once, before the first run */
		adopt(store, copy_of(store, v, format), &converted, ~0u, NPL_AT_START);
		return 0;
	}
	const struct npl_processor_counts counts = npl_processor_conversion(&from->tensor, &converted);
	int conversion = npl_charge_host(store, NPL_TASK_CONVERSION, v, &counts, row,
					 *ready_in(store, from, NPL_ON_HOST));
	adopt(store, copy_of(store, v, format), &converted, NPL_IN_HOST_MEMORY, conversion);
	return 0;
}

/* Makes value v exist in the format, in the host's memory. */
static int make_copy(struct npl_value_store *store, int v, enum npl_format format, struct npl_layer_run *row,
		     struct npl_err *err)
{
	struct npl_value_copy *plain = copy_of(store, v, NPL_FORMAT_F32);
	if (!plain->exists) {
		int f = NPL_FORMAT_F32 + 1;
		while (f < NPL_FORMATS && !copy_of(store, v, (enum npl_format)f)->exists)
			f++;
		if (f == NPL_FORMATS)
			return npl_fail(err, NPL_EINTERNAL, "value '%s' was never made",
					store->session->graph->value[v].name);
		struct npl_value_copy *from = copy_of(store, v, (enum npl_format)f);
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
	struct npl_value_copy *copy = &store->copy[v][NPL_FORMAT_F32];
	const void *data = NULL;
	if (copy->exists)
		return 0;
	/* In timing_only too, a single number is needed that may decide how much work an operator is: the exponent of
	 * Pow. */
	const bool needs_data = !store->session->options.timing_only || npl_shape_count(&value->shape) == 1;
	if (needs_data && !(data = npl_value_data(store->session->graph, value, err)))
		return err->code;
	*copy = (struct npl_value_copy){.exists = true, .memories = ~0u};
	set_ready(store, copy, NPL_AT_START);
	copy->tensor = (struct npl_tensor){
		.name = value->name, .dtype = value->dtype, .shape = value->shape, .data = (void *)data};
	return 0;
}

/* Returns the copy of v's root under v's name and shape; the model's integers of a float value get their scale. */
static const struct npl_tensor *alias_of(struct npl_value_store *store, int v, const struct npl_tensor *copy,
					 enum npl_format format)
{
	int root = store->root[v];
	bool integers = holder_of(store, root, format) != root;
	if (root == v && !integers)
		return copy;
	struct npl_tensor *alias = &store->alias[v][format];
	*alias = *copy;
	alias->owned = false;
	if (integers)
		alias->quant = store->session->model.value[root].quant;
	alias->name = store->session->graph->value[v].name;
	alias->shape = store->session->graph->value[v].shape;
	return alias;
}

int npl_value_store_get(struct npl_value_store *store, int v, enum npl_format format, int device,
			struct npl_layer_run *row, const struct npl_tensor **tensor, struct npl_err *err)
{
	int root = store->root[v];
	if (store->session->graph->value[root].constant && get_constant(store, root, err))
		return err->code;
	struct npl_value_copy *copy = copy_of(store, root, format);
	if (!copy->exists && make_copy(store, root, format, row, err))
		return err->code;
	unsigned memory = npl_value_store_memory(store->session, device);
	if (!(copy->memories & memory)) {
		if (bring_to_host(store, root, copy, row, err))
			return err->code;
		if (memory != NPL_IN_HOST_MEMORY)
			*ready_in(store, copy, device) = npl_charge_link(store, device, NPL_TASK_TO_DEVICE, root,
									 npl_tensor_bytes(&copy->tensor), row,
									 *ready_in(store, copy, NPL_ON_HOST));
		copy->memories |= memory;
	}
	store->inputs_task = npl_schedule_later(&store->schedule, store->inputs_task, *ready_in(store, copy, device));
	*tensor = alias_of(store, v, &copy->tensor, format);
	return 0;
}

void npl_value_store_put(struct npl_value_store *store, int v, enum npl_format format, int device,
			 struct npl_tensor *tensor, int making_task)
{
	adopt(store, copy_of(store, v, format), tensor, npl_value_store_memory(store->session, device), making_task);
}

/* Makes value `out` an alias of value `in` with another shape: from now on the two share all copies, formats and
 * memories. Later calls for the same pair do nothing. */
static void make_alias(struct npl_value_store *store, int in, int out)
{
	if (store->root[out] != out)
		return;
	store->root[out] = store->root[in];
	count_reads(store, store->root[in], store->reads_left[out]);
}

int npl_value_store_view_node(struct npl_value_store *store, const struct npl_node *node, bool settle,
			      struct npl_layer_run *row, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	if (npl_op_defs[node->op].flags & NPL_OP_IS_VIEW)
		make_alias(store, node->in[0], node->out[0]);
	if (node->op != NPL_OP_QUANTIZELINEAR)
		return 0;
	const int root = store->root[node->in[0]];
	const int integers = s->model.value[root].integers;
	if (integers != node->out[0]) /* a further QuantizeLinear makes the same integers */
		make_alias(store, integers, node->out[0]);
	if (!settle || copy_of(store, root, NPL_FORMAT_INT8)->exists)
		return 0;
	return make_copy(store, root, NPL_FORMAT_INT8, row, err);
}

void npl_value_store_done(struct npl_value_store *store, int v)
{
	count_reads(store, store->root[v], -1);
}
