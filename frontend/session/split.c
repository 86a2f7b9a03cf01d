/* SPDX-License-Identifier: MIT
 *
 * Split as slices (split.h). */
#include "split.h"
#include "core/base/refuse.h"

#include "core/computer/clock.h"
#include "frontend/quantise/quantise.h"
#include "model_layer.h"

bool npl_split_is(const struct npl_session *s, int i, const struct npl_step *step)
{
	return s->graph->node[i].op == NPL_OP_SPLIT && step->device != NPL_ON_HOST &&
	       npl_step_format(s, step) != NPL_FORMAT_F32;
}

bool npl_split_read(const struct npl_session *s, int i, int k)
{
	return s->graph->value[s->graph->node[i].out[k]].uses > 0;
}

void npl_split_layer(const struct npl_session *s, int i, int k, struct npl_tensor *out, struct npl_layer *layer)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	const struct npl_value *value = &s->graph->value[node->out[k]];
	*out = (struct npl_tensor){.name = value->name,
				   .dtype = npl_session_dtype(s, npl_step_format(s, step), node->out[k]),
				   .shape = value->shape,
				   .quant = step->y_quant};
	*layer = (struct npl_layer){.name = node->name,
				    .op = NPL_OP_SLICE,
				    .attrs = &step->split_slices[k],
				    .n_in = 1,
				    .out = out,
				    .timing_only = s->options.timing_only};
}

/* Fills step->split_slices with the attributes of one Slice per result, as the shape rule of Slice completes them. */
static int describe_slices(struct npl_session *s, const struct npl_node *node, struct npl_step *step,
			   struct npl_err *err)
{
	int64_t axis = node->attrs.split.axis, first = 0;
	int rank = s->graph->value[node->in[0]].shape.rank;
	step->split_slices = npl_arena_array(&s->arena, (size_t)node->n_out, sizeof *step->split_slices);
	if (!step->split_slices)
		return npl_no_memory(err);
	for (int k = 0; k < node->n_out; k++) {
		int64_t size = s->graph->value[node->out[k]].shape.dim[axis];
		struct npl_slice_attrs *slice = &step->split_slices[k].slice;
		step->split_slices[k] = (struct npl_attrs){.op = NPL_OP_SLICE, .opset = node->attrs.opset};
		*slice = (struct npl_slice_attrs){
			.n = 1, .starts = {first}, .ends = {first + size}, .axes = {axis}, .steps = {1}};
		for (int d = 0; d < rank; d++)
			slice->step[d] = 1;
		slice->first[axis] = first;
		first += size;
	}
	return 0;
}

bool npl_split_plan(struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes,
		    struct npl_err *err)
{
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_value *value = &s->graph->value[node->in[0]];
	enum npl_format format = npl_step_format(s, step);
	step->in_integers = value->dtype != NPL_F32;
	step->y_quant = step->x_quant;
	struct npl_tensor out, in = {.name = value->name,
				     .dtype = npl_session_dtype(s, format, node->in[0]),
				     .shape = value->shape,
				     .quant = step->x_quant};
	struct npl_layer layer;
	bool is_taken = !describe_slices(s, node, step, err);
	for (int k = 0; k < node->n_out && is_taken; k++) {
		if (s->model.value[node->out[k]].integers < 0)
			s->range_of[node->out[k]] = s->range_of[node->in[0]];
		npl_split_layer(s, i, k, &out, &layer);
		layer.in[0] = &in;
		is_taken = !npl_split_read(s, i, k) ||
			   npl_device_supports(s->device[step->device], &layer, reason, reason_bytes);
	}
	for (int k = node->n_out - 1; k >= 0; k--) {
		if (!is_taken)
			s->range_of[node->out[k]] = node->out[k];
		else if (npl_split_read(s, i, k))
			step->out = node->out[k];
	}
	if (!is_taken) {
		step->split_slices = NULL;
		step->in_integers = false;
	}
	return is_taken;
}

/* Runs the Slice that makes result k, into *out, and adds it to the row. */
static int run_slice(struct npl_value_store *store, int i, int k, const struct npl_tensor *x, struct npl_tensor *out,
		     struct npl_layer_run *row, double *wall, struct npl_err *err)
{
	struct npl_session *s = store->session;
	struct npl_device *device = s->device[s->step[i].device];
	struct npl_layer layer;
	struct npl_result result = {0};
	npl_split_layer(s, i, k, out, &layer);
	layer.in[0] = x;
	if (!s->options.timing_only && npl_tensor_alloc(out, err))
		return err->code;
	double start = npl_clock_seconds();
	int rc = npl_device_run(device, &layer, &result, err);
	*wall += npl_clock_seconds() - start;
	if (!rc)
		rc = npl_result_add(&row->result, &result, err);
	row->result.seconds_origin = result.seconds_origin;
	npl_note_output(s, &s->step[i], out, row);
	return rc ? rc : npl_output_made(s, s->graph->node[i].out[k], out, row, err);
}

int npl_split_run(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err)
{
	struct npl_session *s = store->session;
	const struct npl_node *node = &s->graph->node[i];
	const struct npl_step *step = &s->step[i];
	enum npl_format format = npl_step_format(s, step);
	struct npl_tensor out[NPL_MAX_OUTPUTS] = {{0}};
	const struct npl_tensor *source;
	store->inputs_task = NPL_AT_START;
	int rc = npl_value_store_get(store, node->in[0], format, step->device, row, &source, err);
	if (rc)
		return rc;
	struct npl_tensor x = *source;
	x.owned = false;
	x.quant = step->x_quant;
	for (int k = 0; k < node->n_out && !rc; k++)
		if (npl_split_read(s, i, k))
			rc = run_slice(store, i, k, &x, &out[k], row, wall, err);
	if (!rc)
		store->inputs_task = npl_value_store_schedule_layers(
			store, step->device, 1, &i, (const struct npl_result *[]){&row->result},
			(struct npl_layer_run *[]){row}, store->inputs_task);
	for (int k = 0; k < node->n_out; k++) {
		if (!rc && npl_split_read(s, i, k))
			npl_value_store_put(store, node->out[k], format, step->device, &out[k], store->inputs_task);
		else
			npl_tensor_free(&out[k]);
	}
	return rc;
}
