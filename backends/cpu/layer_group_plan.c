/* SPDX-License-Identifier: MIT
 *
 * Plans a layer group's steps (layer_group.h): each layer gets the fastest implementation that takes it, and images are
 * converted to the order that this needs. oneDNN's kernels for AVX2 and AVX-512 need channels last. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/grow.h"
#include "core/float_layer.h"
#include "layer_group.h"
#include "npulab/arena.h"
#include "widened.h"

/* The least MACs that make a thread of oneDNN worthwhile: some 10 us. */
#define MACS_OF_THREAD      1000000.0
#define MACS_OF_THREAD_INT8 4000000.0
#define ELEMENTS_OF_THREAD  32768.0

struct cpu_tensor *cpu_location_of_data(const struct cpu_layer_group *group, int location, enum cpu_layout layout)
{
	return &group->location[layout == CPU_FIRST ? group->location[location].root : location];
}

static int out_of_memory(struct npl_err *err)
{
	return npl_fail(err, NPL_ENOMEM, "out of memory for a layer group");
}

/* Says whether both orders have the same bytes: one channel, or one position. */
static bool orders_agree(const struct npl_tensor *t)
{
	int64_t positions = 1;
	for (int i = 2; i < t->shape.rank; i++)
		positions *= t->shape.dim[i];
	return t->shape.rank < 3 || t->shape.dim[1] <= 1 || positions <= 1;
}

static int location_of(const struct cpu_layer_group *group, const struct npl_tensor *tensor)
{
	for (int i = group->n_locations - 1; i >= 0; i--)
		if (group->location[i].tensor == tensor)
			return i;
	return -1;
}

/* Adds a tensor that a layer makes; layer -1: it is given. Returns its index, -1 if memory is short. */
static int add_location(struct cpu_layer_group *group, const struct npl_tensor *tensor, int layer, struct npl_err *err)
{
	struct cpu_tensor *grown = npl_grow(group->location, group->n_locations, &group->locations_capacity,
					    sizeof *grown);
	if (!grown) {
		out_of_memory(err);
		return -1;
	}
	group->location = grown;
	struct cpu_tensor *location = &group->location[group->n_locations];
	*location = (struct cpu_tensor){
		.tensor = tensor, .root = group->n_locations, .layer = layer, .from_caller = layer < 0};
	for (int i = 0; i < group->request.n_outputs; i++)
		location->is_output |= group->request.output[i] == tensor;
	return group->n_locations++;
}

/* Returns the order in which a location is kept if `layout` is needed: CPU_FIRST if both orders have the same bytes. */
static enum cpu_layout effective_layout(const struct cpu_tensor *location, enum cpu_layout layout)
{
	return orders_agree(location->tensor) ? CPU_FIRST : layout;
}

static struct cpu_step *add_step(struct cpu_layer_group *group, enum cpu_step_kind kind, int layer, int n_in, int n_out,
				 struct npl_err *err)
{
	int *list = npl_arena_array(&group->arena, (size_t)(n_in + n_out), sizeof *list);
	struct cpu_step *grown = list ? npl_grow(group->step, group->n_steps, &group->steps_capacity, sizeof *grown)
				      : NULL;
	if (!grown) {
		out_of_memory(err);
		return NULL;
	}
	group->step = grown;
	struct cpu_step *step = &group->step[group->n_steps++];
	*step = (struct cpu_step){.kind = kind,
				  .layer_index = layer,
				  .threads = group->threads,
				  .n_in = n_in,
				  .n_out = n_out,
				  .in = list,
				  .out = list + n_in};
	return step;
}

/* Notes that the latest step reads or makes the location in this order. */
static void note_use(struct cpu_layer_group *group, int location, enum cpu_layout layout)
{
	struct cpu_tensor *data_location = cpu_location_of_data(group, location, layout);
	int s = group->n_steps - 1;
	if (!data_location->has_layout[layout])
		data_location->first[layout] = s;
	data_location->has_layout[layout] = true;
	data_location->last[layout] = s;
}

/* Makes a location available in an order. If it is not, a step that converts it is added, whose time is the layer's. */
static int require_layout(struct cpu_layer_group *group, int location, enum cpu_layout layout, int layer,
			  struct npl_err *err)
{
	const struct cpu_tensor *data_location = cpu_location_of_data(group, location, layout);
	enum cpu_layout other = layout == CPU_FIRST ? CPU_LAST : CPU_FIRST;
	if (data_location->has_layout[layout] || (data_location->from_caller && layout == CPU_FIRST))
		return 0;
	struct cpu_step *step = add_step(group, CPU_STEP_DNN, layer, 1, 1, err);
	if (!step)
		return err->code;
	step->in[0] = step->out[0] = location;
	step->x = other;
	step->y = layout;
	note_use(group, location, other);
	note_use(group, location, layout);
	return cpu_dnn_reorder(&group->cpu->dnn, group->location[location].tensor, other, layout, &step->op, err);
}

/* Says whether the tensor has a location that is available with channels last. */
static bool is_last(const struct cpu_layer_group *group, const struct npl_tensor *tensor)
{
	int p = location_of(group, tensor);
	return p >= 0 && group->location[p].has_layout[CPU_LAST];
}

static int find_inputs(struct cpu_layer_group *group, const struct npl_layer *layer, int *in, struct npl_err *err)
{
	for (int k = 0; k < layer->n_in; k++) {
		in[k] = layer->in[k] ? location_of(group, layer->in[k]) : -1;
		if (!layer->in[k] || in[k] >= 0)
			continue;
		if ((in[k] = add_location(group, layer->in[k], -1, err)) < 0)
			return err->code;
	}
	return 0;
}

/* Adds a step of oneDNN that reads x, adds the location `addend` (-1: none) and makes the result of layer `maker`. */
static int plan_dnn(struct cpu_layer_group *group, int l, enum cpu_layout layout, const struct npl_tensor *x,
		    int addend, int maker, struct cpu_dnn_op *op, struct npl_err *err)
{
	int in[2] = {location_of(group, x), addend}, n_in = addend < 0 ? 1 : 2, rc = 0;
	if (in[0] < 0)
		in[0] = add_location(group, x, -1, err);
	int out = in[0] < 0 ? -1 : add_location(group, group->request.layer[maker]->out, maker, err);
	rc = out < 0 ? err->code : 0;
	for (int k = 0; k < n_in && !rc; k++)
		rc = require_layout(group, in[k], effective_layout(&group->location[in[k]], layout), l, err);
	struct cpu_step *step = rc ? NULL : add_step(group, CPU_STEP_DNN, l, n_in, 1, err);
	if (!step) {
		cpu_dnn_release(op);
		return err->code;
	}
	step->op = op;
	step->x = step->y = layout;
	step->out[0] = out;
	for (int k = 0; k < n_in; k++) {
		step->in[k] = in[k];
		note_use(group, in[k], effective_layout(&group->location[in[k]], layout));
	}
	note_use(group, out, effective_layout(&group->location[out], layout));
	return 0;
}

/* Adds a step for layer l with its inputs in the order x and its results in the order y. */
static int plan_step(struct cpu_layer_group *group, enum cpu_step_kind kind, int l, enum cpu_layout x,
		     enum cpu_layout y, struct npl_err *err)
{
	const struct npl_layer *layer = group->request.layer[l];
	int in[NPL_LAYER_INPUTS] = {0}, n_in = layer->n_in;
	int rc = find_inputs(group, layer, in, err);
	for (int k = 0; k < n_in && !rc; k++)
		if (in[k] >= 0)
			rc = require_layout(group, in[k], effective_layout(&group->location[in[k]], x), l, err);
	struct cpu_step *step = rc ? NULL : add_step(group, kind, l, n_in, npl_layer_outputs(layer), err);
	if (!step)
		return err->code;
	step->x = x;
	step->y = y;
	for (int k = 0; k < n_in; k++) {
		step->in[k] = in[k];
		if (in[k] >= 0)
			note_use(group, in[k], effective_layout(&group->location[in[k]], x));
	}
	for (int k = 0; k < npl_layer_outputs(layer); k++) {
		int p = add_location(group, &layer->out[k], l, err);
		if (p < 0)
			return err->code;
		group->step[group->n_steps - 1].out[k] = p;
		note_use(group, p, effective_layout(&group->location[p], y));
	}
	step = &group->step[group->n_steps - 1];
	step->layer = *layer;
	step->in_tensor = npl_arena_array(&group->arena, (size_t)layer->n_in, sizeof *step->in_tensor);
	step->out_tensor = npl_arena_array(&group->arena, (size_t)npl_layer_outputs(layer), sizeof *step->out_tensor);
	if (!step->in_tensor || !step->out_tensor)
		return out_of_memory(err);
	for (int k = 0; k < layer->n_in; k++)
		if (layer->in[k]) {
			step->in_tensor[k] = *layer->in[k];
			step->in_tensor[k].owned = false;
			step->layer.in[k] = &step->in_tensor[k];
		}
	for (int k = 0; k < npl_layer_outputs(layer); k++) {
		step->out_tensor[k] = layer->out[k];
		step->out_tensor[k].owned = false;
	}
	step->layer.out = step->out_tensor;
	return 0;
}

/* Plans a view, which is another tensor's data in another shape. It needs these data in ONNX's order. Reordering them
 * is charged to their maker. */
static int plan_view(struct cpu_layer_group *group, int l, int maker, struct npl_err *err)
{
	const struct npl_layer *layer = group->request.layer[l];
	int in[NPL_LAYER_INPUTS] = {0};
	if (find_inputs(group, layer, in, err) || require_layout(group, in[0], CPU_FIRST, maker, err))
		return err->code;
	int p = add_location(group, layer->out, l, err);
	if (p < 0)
		return err->code;
	group->location[p].root = group->location[in[0]].root;
	return 0;
}

/* Says whether the layer is a Concat of channels with an input available with channels last. Bytes must all have one
 * scale and zero point. */
static bool joins_channels(const struct cpu_layer_group *group, const struct npl_layer *layer)
{
	const struct npl_tensor *out = layer->out;
	int rank = out->shape.rank;
	if (layer->op != NPL_OP_CONCAT || layer->activation || (out->dtype != NPL_F32 && !npl_is_byte(out->dtype)) ||
	    rank < 3 || (layer->attrs->along.axis != 1 && layer->attrs->along.axis != 1 - rank) ||
	    !npl_tensor_count(out))
		return false;
	bool last = false;
	for (int k = 0; k < layer->n_in; k++) {
		last = last || is_last(group, layer->in[k]);
		if (npl_is_byte(out->dtype) && layer->in[k] && !npl_tensor_quant_equal(layer->in[k], out))
			return false;
	}
	return last;
}

/* Says whether the layer works element by element on bytes, some of which are available with channels last. */
static bool bytes_last(const struct cpu_layer_group *group, const struct npl_layer *layer)
{
	bool last = false;
	if (!npl_is_byte(layer->out->dtype) || !cpu_is_by_element(layer))
		return false;
	for (int k = 0; k < layer->n_in; k++) {
		last = last || (layer->in[k] && is_last(group, layer->in[k]));
		if (layer->in[k] && !npl_is_byte(layer->in[k]->dtype))
			return false;
	}
	return last;
}

/* Says whether all tensors are float32 and some operand is available with channels last. */
static bool elements_last(const struct cpu_layer_group *group, const struct npl_layer *layer)
{
	bool last = false;
	for (int k = 0; k < layer->n_in; k++)
		if (layer->in[k]) {
			last = last || is_last(group, layer->in[k]);
			if (layer->in[k]->dtype != NPL_F32)
				return false;
		}
	return last && layer->out->dtype == NPL_F32;
}

static bool is_view(const struct npl_layer *layer)
{
	return layer->op == NPL_OP_RESHAPE && layer->n_in == 1 && !layer->macs &&
	       npl_tensor_count(layer->in[0]) == npl_tensor_count(layer->out);
}

/* Returns the only layer that reads the result of layer l; -1: none, several, or the result is an output too. */
static int only_reader(const struct cpu_layer_group *group, int l)
{
	const struct npl_tensor *out = group->request.layer[l]->out;
	int reader = -1;
	for (int i = 0; i < group->request.n_outputs; i++)
		if (group->request.output[i] == out)
			return -1;
	for (int i = l + 1; i < group->request.n; i++)
		for (int k = 0; k < group->request.layer[i]->n_in; k++)
			if (group->request.layer[i]->in[k] == out) {
				if (reader >= 0)
					return -1;
				reader = i;
			}
	return reader;
}

/* Returns the location of a tensor that exists before layer l is done, or -1 with NPL_EDEVICE if it does not. */
static int location_before(struct cpu_layer_group *group, int l, const struct npl_tensor *tensor, struct npl_err *err)
{
	int location = location_of(group, tensor);
	for (int i = l; i < group->request.n && location < 0; i++)
		for (int k = 0; k < npl_layer_outputs(group->request.layer[i]); k++)
			if (&group->request.layer[i]->out[k] == tensor)
				return npl_fail(err, NPL_EDEVICE, "it is made later"), -1;
	return location < 0 ? add_location(group, tensor, -1, err) : location;
}

/* Plans a convolution whose only reader adds it to an existing tensor, as at the end of a residual block, as one pass,
 * with the Relu after the sum. NPL_EDEVICE: the layer is no such convolution, or the library cannot do it. */
static int plan_sum(struct cpu_layer_group *group, int l, struct npl_err *err)
{
	const struct npl_layer *conv = group->request.layer[l];
	int a = conv->op == NPL_OP_CONV && !conv->activation ? only_reader(group, l) : -1;
	const struct npl_layer *add = a < 0 ? NULL : group->request.layer[a];
	if (!add || add->op != NPL_OP_ADD || add->n_in != 2 || add->activation > NPL_ACT_RELU6 ||
	    add->attrs->binary.legacy_broadcast || !npl_shape_equal(&add->in[0]->shape, &add->in[1]->shape) ||
	    add->out->dtype != NPL_F32)
		return NPL_EDEVICE;
	int addend = location_before(group, l, add->in[add->in[0] == conv->out], err), last = a;
	struct cpu_dnn_tail tail = {.add = true, .activation = add->activation};
	struct cpu_dnn_op *op;
	if (addend < 0)
		return err->code;
	int r = tail.activation ? -1 : only_reader(group, a);
	if (r >= 0 && group->request.layer[r]->op == NPL_OP_RELU && !group->request.layer[r]->activation) {
		tail.activation = NPL_ACT_RELU;
		last = r;
	}
	int rc = cpu_dnn_prepare(&group->cpu->dnn, conv, CPU_LAST, CPU_LAST, &tail, &op, err);
	if (!rc)
		rc = plan_dnn(group, l, CPU_LAST, conv->in[0], addend, last, op, err);
	if (!rc)
		group->pass[a] = group->pass[last] = l;
	return rc;
}

/* Plans a convolution of bytes. NPL_EDEVICE: oneDNN cannot run it. */
static int plan_conv8(struct cpu_layer_group *group, int l, struct npl_err *err)
{
	const struct npl_layer *layer = group->request.layer[l];
	struct cpu_int8_conv *conv;
	int rc = cpu_int8_conv_knows(layer) ? cpu_int8_conv_prepare(group->cpu, layer, group->threads, &conv, err)
					    : NPL_EDEVICE;
	if (rc)
		return rc;
	rc = plan_dnn(group, l, CPU_LAST, layer->in[0], -1, l, NULL, err);
	if (rc) {
		cpu_int8_conv_release(conv);
		return rc;
	}
	group->step[group->n_steps - 1].kind = CPU_STEP_CONV8;
	group->step[group->n_steps - 1].conv8 = conv;
	return 0;
}

/* Says whether oneDNN is used for the layer only where the input has channels last already. Such are 8-bit layers, and
 * AveragePool, which slices.c does faster with channels first. */
static bool needs_channels_last(const struct npl_layer *layer)
{
	return npl_is_byte(layer->out->dtype) || layer->op == NPL_OP_AVERAGEPOOL;
}

static int choose_method(struct cpu_layer_group *group, int l, struct npl_err *err)
{
	const struct npl_layer *layer = group->request.layer[l];
	const bool dnn = group->cpu->dnn.engine != NULL;
	if (dnn && cpu_int8_is_product(layer)) {
		int rc = plan_conv8(group, l, err);
		if (rc != NPL_EDEVICE)
			return rc;
	} else if (dnn && cpu_dnn_knows(layer) && (!needs_channels_last(layer) || is_last(group, layer->in[0]))) {
		struct cpu_dnn_op *op = NULL;
		bool image = layer->op == NPL_OP_CONV || layer->op == NPL_OP_CONVTRANSPOSE ||
			     is_last(group, layer->in[0]) || orders_agree(layer->in[0]);
		enum cpu_layout layout = image ? CPU_LAST : CPU_FIRST;
		int rc = plan_sum(group, l, err);
		if (rc != NPL_EDEVICE)
			return rc;
		rc = cpu_dnn_prepare(&group->cpu->dnn, layer, layout, layout, NULL, &op, err);
		if (!rc)
			return plan_dnn(group, l, layout, layer->in[0], -1, l, op, err);
		if (rc != NPL_EDEVICE)
			return rc;
	}
	if (dnn && cpu_maxpool_knows(layer) && is_last(group, layer->in[0]))
		return plan_step(group, CPU_STEP_MAXPOOL, l, CPU_LAST, CPU_LAST, err);
	if (cpu_is_conversion(layer)) {
		enum cpu_layout layout = dnn && is_last(group, layer->in[0]) ? CPU_LAST : CPU_FIRST;
		return plan_step(group, CPU_STEP_LAYER, l, layout, layout, err);
	}
	if (npl_layer_widens(layer)) {
		if (plan_step(group, CPU_STEP_LAYER, l, CPU_FIRST, CPU_FIRST, err))
			return err->code;
		return cpu_widened_open(group->cpu, layer, true, &group->step[group->n_steps - 1].widened, err);
	}
	if (cpu_is_elementwise(layer)) {
		enum cpu_layout layout = dnn && elements_last(group, layer) ? CPU_LAST : CPU_FIRST;
		return plan_step(group, CPU_STEP_ELEMENTS, l, layout, layout, err);
	}
	if (dnn && joins_channels(group, layer))
		return plan_step(group, CPU_STEP_JOIN, l, CPU_LAST, CPU_LAST, err);
	if (dnn && bytes_last(group, layer))
		return plan_step(group, CPU_STEP_LAYER, l, CPU_LAST, CPU_LAST, err);
	if (plan_step(group, CPU_STEP_LAYER, l, CPU_FIRST, CPU_FIRST, err))
		return err->code;
	/* Weights with data now are constant (npulab/layer_group.h). */
	if (cpu_int8_is_product(layer) && layer->in[1]->data)
		return npl_int8_job_prepare(layer, group->cpu->threads, &group->step[group->n_steps - 1].int8, err);
	return 0;
}

/* Returns the threads for a primitive of this layer, which divides its work among the threads that are set when it is
 * made. With little work each, threads would wait for each other longer than they work, and for a whole time slice if
 * another program uses one of the processors. */
static int threads_for(const struct cpu_layer_group *group, const struct npl_layer *layer)
{
	const double macs = cpu_int8_is_product(layer) ? MACS_OF_THREAD_INT8 : MACS_OF_THREAD,
		     work = layer->macs ? (double)layer->macs / macs
					: (double)npl_tensor_count(layer->in[0]) / ELEMENTS_OF_THREAD;
	return work < 2 ? 1 : work > group->cpu->threads ? group->cpu->threads : (int)work;
}

static int plan_layer(struct cpu_layer_group *group, int l, struct npl_err *err)
{
	const struct npl_layer *layer = group->request.layer[l];
	group->threads = layer->n_in > 0 && layer->in[0] ? threads_for(group, layer) : group->cpu->threads;
	if (group->cpu->dnn.engine)
		cpu_dnn_set_threads(&group->cpu->dnn, group->threads);
	return choose_method(group, l, err);
}
int cpu_layer_group_plan(struct cpu_layer_group *group, struct npl_err *err)
{
	int rc = 0, maker = 0;
	for (int l = 0; l < group->request.n && !rc; l++)
		if (is_view(group->request.layer[l])) {
			rc = plan_view(group, l, maker, err);
		} else if (group->pass[l] == l) { /* any other layer was computed with the first one of its pass */
			rc = plan_layer(group, l, err);
			maker = l;
		}
	/* Wanted tensors are needed in ONNX's order. */
	for (int p = 0; p < group->n_locations && !rc; p++)
		if (group->location[p].is_output)
			rc = require_layout(group, p, CPU_FIRST, group->location[p].layer, err);
	return rc;
}
