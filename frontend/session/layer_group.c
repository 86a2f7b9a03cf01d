/* SPDX-License-Identifier: MIT
 *
 * Chooses which steps of a plan become layer groups, and opens these (layer_group.h). A layer group begins and ends
 * with a layer that its device runs; between the two are further such layers, nodes fused into them, and views. Where
 * the device cannot run them together the layer group ends earlier. */
#include "layer_group_builder.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/base/arena_scratch.h"
#include "core/base/dtype.h"
#include "frontend/quantise/quantise.h"
#include "model_layer.h"
#include "npulab/progress.h"
#include "split.h"

#define FIRST_NODES 1024 /* nodes of a long layer group that are tried together first */

static bool is_view(const struct npl_session *s, int i)
{
	return s->step[i].role == NPL_VIEW;
}

static bool has_layer_groups(const struct npl_session *s, const struct npl_step *step)
{
	return step->role == NPL_RAN && !step->lrn_factor_only && step->n_products <= 1 &&
	       step->device != NPL_ON_HOST && npl_device_has_layer_groups(s->device[step->device]);
}

/* Says whether value v is made in the shape that the graph gives it. */
static bool has_graph_shape(const struct npl_session *s, int v)
{
	for (int i = s->graph->value[v].producer; i >= 0; i--)
		if (s->step[i].role == NPL_RAN && s->step[i].out == v)
			return npl_shape_equal(&s->step[i].y_shape, &s->graph->value[v].shape);
	return true;
}

/* Says whether the step can read value v inside a layer group. Integers of the model itself have the scale and zero
 * point of the step that makes them, and the reader's must be the same. */
static bool has_scale_of_reader(const struct npl_session *s, const struct npl_step *step, int v)
{
	const struct npl_quant quant = npl_model_quant_of(&s->model, v);
	return !step->in_integers || npl_quant_equal(&quant, &step->x_quant);
}

/* Says whether node i would give the 8-bit value v a scale that v's producer does not: the producer runs in float32 and
 * is no QuantizeLinear, so that it sets none, or it sets another one. False where the producer is before node
 * `first`. */
static bool sets_scale(const struct npl_session *s, int first, int i, int v)
{
	const int bytes = npl_root_of(s->graph, v), producer = s->graph->value[bytes].producer;
	const struct npl_quant *scale = is_view(s, i) ? &s->model.value[s->graph->node[i].out[0]].quant
						      : &s->step[i].x_quant;
	if (producer < first)
		return false;
	if (s->step[producer].in_float32 && s->graph->node[producer].op != NPL_OP_QUANTIZELINEAR)
		return true;
	const struct npl_quant *quant = &s->model.value[bytes].quant;
	return quant->scale > 0 ? !npl_quant_equal(quant, scale) : v != bytes;
}

/* In a layer group that mixes float32 and int8, an 8-bit tensor has one scale. Says whether node i cannot join because
 * it reads such a tensor, made by node `first` or a later one, as plain bytes or with another scale. */
static bool rescales_bytes(const struct npl_session *s, int first, int i)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	const bool in_float32 = step->role == NPL_RAN && step->in_float32, is_quant_node = s->model.node[i];
	for (int k = 0; k < node->n_in; k++) {
		const int v = node->in[k];
		if (v < 0 || !npl_is_byte(s->graph->value[v].dtype) || s->graph->value[v].producer < first)
			continue;
		if (in_float32 || ((is_quant_node || step->in_integers) && sets_scale(s, first, i, v)))
			return true;
	}
	return false;
}

/* Says whether node i can continue a layer group that began at node `first`. Canonical forms see some values in another
 * shape, but inside a layer group a tensor has one shape, unless npl_layer_group_has_views. */
static bool continues_group(const struct npl_session *s, int first, int i)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	if (step->role == NPL_FUSED)
		return true;
	if (step->role != NPL_VIEW && (!has_layer_groups(s, step) || step->device != s->step[first].device))
		return false;
	const bool mixes = npl_layer_group_converts(s, s->step[first].device);
	if (!mixes && step->role == NPL_RAN && step->in_float32 != s->step[first].in_float32)
		return false;
	const bool in_int8 = npl_step_format(s, &s->step[first]) == NPL_FORMAT_INT8;
	if (s->model.node[i] && (mixes ? step->device != s->step[first].device : !in_int8))
		return false; /* the floats and the integers of a value are one only where both are kept in 8 bits */
	if (mixes && rescales_bytes(s, first, i))
		return false;
	for (int k = 0; k < (step->role == NPL_VIEW ? 1 : npl_layer_group_data_inputs(step)); k++) {
		int v = node->in[k], producer = v < 0 ? -1 : s->graph->value[v].producer;
		if (producer < first)
			continue;
		bool same_shape = has_graph_shape(s, v) &&
				  (!step->canonical || npl_shape_equal(&step->x_shape, &s->graph->value[v].shape));
		if ((!same_shape && !npl_layer_group_has_views(s, s->step[first].device)) ||
		    !has_scale_of_reader(s, step, v))
			return false;
	}
	return true;
}

/* Says whether node i may be the last one of a layer group: a layer may, a view only if the group converts values for
 * it. */
static bool ends(const struct npl_session *s, int i)
{
	return !is_view(s, i) || (s->model.node[i] && npl_layer_group_converts(s, s->step[i].device));
}

static int last_of_layer_group(const struct npl_session *s, int first)
{
	int last = first;
	for (int i = first + 1; i < s->graph->n_nodes && continues_group(s, first, i); i++)
		if (ends(s, i))
			last = i;
	return last;
}

/* Makes room for a layer group of nodes first..last. A node has one layer, or a Split one per result, besides views and
 * conversions. Any result may be an output. */
static int open_builder(struct npl_session *s, int first, int last, struct npl_arena *arena,
			struct npl_layer_group_builder *b, struct npl_err *err)
{
	size_t layers = 0, inputs = 0, outputs = 0;
	for (int i = first; i <= last; i++) {
		const size_t n_in = (size_t)s->graph->node[i].n_in, n_out = (size_t)s->graph->node[i].n_out;
		layers += s->step[i].split_slices ? n_out : 3; /* the node's own layer, and views before and after it */
		layers += n_in + n_out;                        /* conversions */
		inputs += n_in;
		outputs += 2 * n_out + n_in; /* a result in both formats, an input converted */
	}
	*b = (struct npl_layer_group_builder){
		.s = s,
		.arena = arena,
		.group = {.first = first,
			  .last = last,
			  .device = s->step[first].device,
			  .converts = npl_layer_group_converts(s, s->step[first].device)}};
	b->group.layer = npl_arena_raw_array(arena, layers, sizeof *b->group.layer);
	b->group.list = npl_arena_raw_array(arena, layers, sizeof *b->group.list);
	b->group.node = npl_arena_raw_array(arena, layers, sizeof *b->group.node);
	b->group.value = npl_arena_raw_array(arena, layers, sizeof *b->group.value);
	b->group.note = npl_arena_raw_array(arena, layers, sizeof *b->group.note);
	b->group.in = npl_arena_raw_array(arena, inputs, sizeof *b->group.in);
	b->group.out = npl_arena_raw_array(arena, outputs, sizeof *b->group.out);
	b->tensors = npl_arena_raw_array(arena, layers, sizeof *b->tensors);
	b->output = npl_arena_raw_array(arena, outputs, sizeof *b->output);
	b->resident = npl_arena_raw_array(arena, inputs, sizeof *b->resident);
	b->constant = npl_arena_raw_array(arena, inputs, sizeof *b->constant);
	b->port_before = npl_arena_raw_array(arena, inputs, sizeof *b->port_before);
	b->last_port = calloc((size_t)s->graph->n_values + 1, sizeof *b->last_port);
	b->made = calloc((size_t)s->graph->n_values + 1, sizeof *b->made);
	b->converted = calloc((size_t)s->graph->n_values + 1, sizeof *b->converted);
	if (!b->group.layer || !b->group.list || !b->group.node || !b->group.value || !b->group.note || !b->group.in ||
	    !b->group.out || !b->tensors || !b->output || !b->resident || !b->constant || !b->port_before ||
	    !b->last_port || !b->made || !b->converted)
		return npl_layer_group_no_room(err);
	return 0;
}

/* Says whether the layer is a node's own work, and not one that only gives data another shape or converts it. */
static bool is_work(const struct npl_layer_group_builder *b, int layer)
{
	const struct npl_step *step = &b->s->step[b->group.node[layer]];
	return step->role == NPL_RAN && b->group.value[layer] >= 0 &&
	       (b->group.layer[layer].op != NPL_OP_RESHAPE || step->op == NPL_OP_RESHAPE);
}

/* How a value is read outside of the layer group, directly or through views. */
struct readers {
	int n;
	bool formats[NPL_FORMATS]; /* the formats in which it is read */
};

/* Counts the readers of a view's result as readers of the view's input. If the view is the model's own quantisation,
 * they read the input's integers, whatever format they ask for. */
static void read_through(const struct npl_session *s, int i, struct readers *readers)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct readers *out = &readers[node->out[0]];
	struct readers *in = &readers[node->in[0]];
	if (s->model.node[i])
		in->formats[NPL_FORMAT_INT8] |= out->n > 0;
	for (int f = 0; f < NPL_FORMATS && !s->model.node[i]; f++)
		in->formats[f] |= out->formats[f];
}

static void count_reads(const struct npl_session *s, int i, struct readers *readers)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	const int data = step->role == NPL_RAN && step->device != NPL_ON_HOST ? npl_layer_group_data_inputs(step)
									      : node->n_in;
	for (int k = 0; k < node->n_in; k++) {
		struct readers *value_readers = node->in[k] < 0 ? NULL : &readers[node->in[k]];
		if (!value_readers)
			continue;
		value_readers->n++;
		if (step->role == NPL_RAN && k < data)
			value_readers->formats[npl_step_format(s, step)] = true;
		else if (is_view(s, i) && k == 0 && node->out[0] >= 0)
			read_through(s, i, readers);
	}
}

/* Says whether node i is a DequantizeLinear of the model that is done in the layer group: the group makes its integers,
 * and its floats are read outside. */
static bool is_dequantised_output(const struct npl_layer_group_builder *b, int i, const struct readers *readers)
{
	const int v = b->s->graph->node[i].out[0];
	return b->group.converts && b->s->model.node[i] == NPL_DEQUANTISES && b->made[v] &&
	       readers[v].formats[NPL_FORMAT_F32];
}

/* Returns the last node that reads something that the layer group makes, directly or through views and fused nodes; for
 * a group that converts, the last node of the graph. */
static int last_reader(const struct npl_layer_group_builder *b)
{
	const struct npl_session *s = b->s;
	int last = b->group.last;
	if (b->group.converts)
		return s->graph->n_nodes - 1;
	for (int i = b->group.first; i <= b->group.last; i++)
		for (int k = 0; k < s->graph->node[i].n_out; k++) {
			const int v = s->graph->node[i].out[k];
			last = v >= 0 && s->last_use[v] > last ? s->last_use[v] : last;
		}
	return last;
}

/* Fills readers[], which has one zeroed entry per value. */
static void find_readers(const struct npl_layer_group_builder *b, struct readers *readers)
{
	const struct npl_session *s = b->s;
	const struct npl_graph *graph = s->graph;
	for (int o = 0; o < graph->n_outputs; o++) {
		readers[graph->output[o]].n++;
		readers[graph->output[o]].formats[NPL_FORMAT_F32] = true;
	}
	/* Values that the layer group makes are read after its first node. Values that it only converts may have been
	 * read before. */
	for (int i = last_reader(b), least = b->group.converts ? 0 : b->group.first; i >= least; i--) {
		const struct npl_node *node = &graph->node[i];
		if (i < b->group.first || i > b->group.last) {
			count_reads(s, i, readers);
			continue;
		}
		if (!is_view(s, i) || !readers[node->out[0]].n)
			continue;
		bool integers = !is_dequantised_output(b, i, readers) || readers[node->out[0]].formats[NPL_FORMAT_INT8];
		readers[node->in[0]].n += integers;
		if (integers)
			read_through(s, i, readers);
	}
}

static void add_output(struct npl_layer_group_builder *b, int i, int v, struct npl_tensor *tensor,
		       enum npl_format format, bool converted)
{
	b->group.out[b->group.n_out] = (struct npl_layer_group_port){
		.value = v, .node = i, .tensor = tensor, .format = format, .converted = converted};
	b->output[b->group.n_out++] = tensor;
}

/* Makes the results of layer l that are read outside outputs of the layer group: as the layer makes them, converted to
 * the format in which they are read, or both. */
static void find_results(struct npl_layer_group_builder *b, int l, const struct readers *readers)
{
	const struct npl_session *s = b->s;
	const enum npl_format device_format = npl_device_get_info(s->device[b->group.device])->format;
	const int i = b->group.node[l], *further = s->graph->node[i].out;
	const enum npl_format format = npl_step_format(s, &s->step[i]);
	for (int k = 0; k < npl_layer_outputs(&b->group.layer[l]); k++) {
		const int v = k ? further[k] : b->group.value[l];
		if (v < 0 || !readers[v].n)
			continue;
		const enum npl_format other_format = format == NPL_FORMAT_F32 ? device_format : NPL_FORMAT_F32;
		const bool converts = b->group.converts && s->graph->value[v].dtype == NPL_F32 &&
				      readers[v].formats[other_format];
		if (converts)
			add_output(b, i, v, npl_layer_group_in_format(b, i, v, other_format), other_format, true);
		if (!converts || readers[v].formats[format])
			add_output(b, i, v, &b->group.layer[l].out[k], format, false);
	}
}

/* Makes outputs of the integers that the layer group quantises, for the model, from values that come from outside. */
static void find_quantised(struct npl_layer_group_builder *b, const struct readers *readers)
{
	for (int v = 0; v < b->s->graph->n_values && b->group.converts; v++) /* only roots have integers */
		if (b->s->model.value[v].integers >= 0 && !b->made[v] && b->converted[v] &&
		    b->converted[v]->quant.scale > 0 && readers[v].formats[NPL_FORMAT_INT8])
			add_output(b, b->group.last, v, b->converted[v], NPL_FORMAT_INT8, true);
}

static int find_outputs(struct npl_layer_group_builder *b, struct npl_err *err)
{
	struct readers *readers = calloc((size_t)b->s->graph->n_values + 1, sizeof *readers);
	if (!readers)
		return npl_layer_group_no_room(err);
	find_readers(b, readers);
	for (int l = 0, n = b->group.n; l < n; l++)
		if (is_work(b, l))
			find_results(b, l, readers);
	find_quantised(b, readers);
	for (int i = b->group.first; i <= b->group.last; i++) {
		const int v = b->s->graph->node[i].out[0];
		if (is_dequantised_output(b, i, readers))
			add_output(b, i, v, npl_layer_group_in_format(b, i, v, NPL_FORMAT_F32), NPL_FORMAT_F32, true);
	}
	free(readers);
	return 0;
}

/* Lists the inputs that are constant, and those that are resident on the device. */
static void find_resident(struct npl_layer_group_builder *b)
{
	for (int p = 0; p < b->group.n_in; p++)
		if (b->s->graph->value[b->group.in[p].value].constant)
			b->constant[b->n_constant++] = b->group.in[p].tensor;
	for (int p = 0; p < b->group.n_in && b->s->resident; p++)
		if (b->s->resident[b->group.in[p].value])
			b->resident[b->n_resident++] = b->group.in[p].tensor;
}

static int by_tensor(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t)(*(const struct npl_layer_group_port *const *)a)->tensor;
	const uintptr_t y = (uintptr_t)(*(const struct npl_layer_group_port *const *)b)->tensor;
	return (x > y) - (x < y);
}

/* Marks the ports whose tensors cross the link within the cycles. Several ports may have the same tensor. */
static int note_moved_ports(struct npl_layer_group_port *port, int n, const struct npl_layer_group_info *info,
			    struct npl_err *err)
{
	struct npl_layer_group_port **sorted = calloc((size_t)n + 1, sizeof *sorted);
	if (!sorted)
		return npl_layer_group_no_room(err);
	for (int p = 0; p < n; p++)
		sorted[p] = &port[p];
	if (n)
		qsort(sorted, (size_t)n, sizeof(struct npl_layer_group_port *), by_tensor);
	for (int m = 0; m < info->n_transfers && n; m++) {
		const struct npl_layer_group_port sought = {.tensor = (struct npl_tensor *)info->transfer[m]},
						  *key = &sought;
		struct npl_layer_group_port **match = bsearch(&key, sorted, (size_t)n,
							      sizeof(struct npl_layer_group_port *), by_tensor);
		while (match && match > sorted && match[-1]->tensor == sought.tensor)
			match--;
		for (; match && match < sorted + n && (*match)->tensor == sought.tensor; match++) {
			(*match)->moved = true;
			(*match)->bytes_outside = info->bytes_outside[m];
		}
	}
	free(sorted);
	return 0;
}

static int note_moved(struct npl_layer_group_builder *b, const struct npl_layer_group_info *info, struct npl_err *err)
{
	return note_moved_ports(b->group.in, b->group.n_in, info, err) ||
			       note_moved_ports(b->group.out, b->group.n_out, info, err)
		       ? err->code
		       : 0;
}

static int note_passes(struct npl_layer_group_builder *b, const struct npl_layer_group_info *info, struct npl_err *err)
{
	for (int l = 0; l < b->group.n; l++) {
		b->group.note[l] = NULL;
		if (info->pass[l] < 0 || info->pass[l] == l)
			continue;
		b->group.note[l] = npl_arena_printf(b->arena, "in the same pass as %s",
						    b->group.layer[info->pass[l]].name);
		if (!b->group.note[l])
			return npl_layer_group_no_room(err);
	}
	return 0;
}

/* Builds a layer group of nodes first..last and opens it; *group lives as long as the arena. Returns NPL_EDEVICE when
 * the device does not take it, or another error. */
static int open_layer_group(struct npl_session *s, int first, int last, bool timing_only, struct npl_arena *arena,
			    struct npl_layer_group_plan *group, struct npl_err *err)
{
	struct npl_layer_group_builder b;
	int rc = open_builder(s, first, last, arena, &b, err);
	for (int i = first; i <= last && !rc; i++)
		if (s->step[i].role == NPL_VIEW)
			rc = npl_layer_group_add_view(&b, i, err);
		else if (s->step[i].role == NPL_RAN)
			rc = s->step[i].split_slices ? npl_layer_group_add_split(&b, i, err)
						     : npl_layer_group_add_step(&b, i, err);
	if (!rc)
		rc = find_outputs(&b, err);
	if (!rc && !b.group.n)
		rc = npl_fail(err, NPL_EDEVICE, "there is nothing to convert");
	if (!rc)
		find_resident(&b);
	const struct npl_layer_group request = {.n = b.group.n,
						.layer = b.group.list,
						.n_outputs = b.group.n_out,
						.output = b.output,
						.inputs_over_link = s->inputs_over_link,
						.n_resident = b.n_resident,
						.resident = b.resident,
						.n_constant = b.n_constant,
						.constant = b.constant,
						.outputs_over_link = s->outputs_over_link,
						.timing_only = timing_only,
						.node = b.group.node,
						.n_nodes = s->graph->n_nodes};
	if (!rc)
		rc = npl_device_open_layer_group(s->device[b.group.device], &request, &b.group.opened, err);
	if (!rc) {
		rc = note_moved(&b, npl_device_layer_group_info(b.group.opened), err);
		rc = rc ? rc : note_passes(&b, npl_device_layer_group_info(b.group.opened), err);
	}
	free(b.last_port);
	free(b.made);
	free(b.converted);
	if (rc)
		npl_device_close_layer_group(b.group.opened);
	else
		*group = b.group;
	return rc;
}

/* Returns 0 when the device takes nodes first..last as a layer group, NPL_EDEVICE when it does not, or another
 * error. */
static int try_layer_group(struct npl_session *s, int first, int last, struct npl_err *err)
{
	struct npl_layer_group_plan group;
	struct npl_arena arena = {0};
	int rc = open_layer_group(s, first, last, true, &arena, &group, err);
	if (!rc)
		npl_device_close_layer_group(group.opened);
	npl_arena_free(&arena);
	return rc;
}

/* Sets *end to the last node of the longest layer group from `first` on, up to `last`, that the device takes; -1: the
 * device takes not even one layer as a group and runs it alone. was_refused: the device does not take all up to `last`.
 * The lengths tried double, so that a network of many short layer groups costs no more than these together. */
static int find_longest(struct npl_session *s, int first, int last, bool was_refused, int *end, struct npl_err *err)
{
	/* The device takes all up to low, and not more than high. */
	int low = first - 1, high = was_refused ? last - 1 : last;
	for (int64_t step = FIRST_NODES; low < high; step *= 2) {
		const int64_t tried_end = first + step - 1 < last ? first + step - 1 : last;
		const int middle = was_refused ? (low + high + 1) / 2 : (int)tried_end;
		int rc = try_layer_group(s, first, middle, err);
		if (rc && rc != NPL_EDEVICE)
			return rc;
		if (rc)
			high = middle - 1;
		else
			low = middle;
		was_refused |= rc != 0;
	}
	while (low > first && !ends(s, low))
		low--;
	*end = low < first ? -1 : low;
	return 0;
}

/* Opens the layer group of nodes first..last in place, where a try would be no less work than that: there are no
 * values, and find_longest would try these nodes first. *end: `last`; -1 where the device does not take them. */
static int open_whole(struct npl_session *s, int first, int last, int *end, struct npl_err *err)
{
	const struct npl_arena_mark mark = npl_arena_mark(&s->arena);
	const int rc = open_layer_group(s, first, last, true, &s->arena, &s->group[s->n_layer_groups], err);
	*end = rc ? -1 : last;
	if (rc)
		npl_arena_rewind(&s->arena, &mark);
	return rc == NPL_EDEVICE ? 0 : rc;
}

/* Opens the longest layer group that the device takes from node `first` on, up to `last`. *end: its last node; -1: the
 * device runs node `first` alone. */
static int open_longest(struct npl_session *s, int first, int last, int *end, struct npl_err *err)
{
	const bool whole = s->options.timing_only && last - first < FIRST_NODES;
	int rc = 0;
	*end = -1;
	npl_progress_step("grouping layer", first + 1, s->graph->n_nodes, s->graph->node[first].name);
	if (whole)
		rc = open_whole(s, first, last, end, err);
	if (!rc && *end < 0) {
		rc = find_longest(s, first, last, whole, end, err);
		if (!rc && *end >= 0)
			rc = open_layer_group(s, first, *end, s->options.timing_only, &s->arena,
					      &s->group[s->n_layer_groups], err);
	}
	s->n_layer_groups += !rc && *end >= 0;
	return rc;
}

/* Says whether node i may begin a layer group: a layer, or a quantisation that the layer group does itself. */
static bool begins(const struct npl_session *s, int i)
{
	const struct npl_step *step = &s->step[i];
	return has_layer_groups(s, step) ||
	       (s->model.node[i] == NPL_QUANTISES && npl_layer_group_converts(s, step->device) &&
		npl_device_has_layer_groups(s->device[step->device]));
}

static void find_last_uses(struct npl_session *s)
{
	for (int v = 0; v < s->graph->n_values; v++)
		s->last_use[v] = -1;
	for (int i = s->graph->n_nodes - 1; i >= 0; i--) {
		const struct npl_node *node = &s->graph->node[i];
		int last = i;
		const bool passes_on = is_view(s, i) || s->step[i].role == NPL_FUSED;
		for (int k = 0; k < node->n_out && passes_on; k++)
			if (node->out[k] >= 0 && s->last_use[node->out[k]] > last)
				last = s->last_use[node->out[k]];
		for (int k = 0; k < node->n_in; k++)
			if (node->in[k] >= 0 && s->last_use[node->in[k]] < last)
				s->last_use[node->in[k]] = last;
	}
}

int npl_layer_groups_open(struct npl_session *s, struct npl_err *err)
{
	s->group = calloc((size_t)s->graph->n_nodes + 1, sizeof *s->group);
	s->last_use = calloc((size_t)s->graph->n_values + 1, sizeof *s->last_use);
	if (!s->group || !s->last_use)
		return npl_layer_group_no_room(err);
	find_last_uses(s);
	for (int i = 0; i < s->graph->n_nodes; i++) {
		int last;
		if (!begins(s, i))
			continue;
		int rc = open_longest(s, i, s->options.layer_by_layer ? i : last_of_layer_group(s, i), &last, err);
		if (rc)
			return rc;
		i = last > i ? last : i;
	}
	return 0;
}

void npl_layer_groups_close(struct npl_session *s)
{
	for (int g = 0; g < s->n_layer_groups; g++)
		npl_device_close_layer_group(s->group[g].opened);
	free(s->group);
	free(s->last_use);
}
