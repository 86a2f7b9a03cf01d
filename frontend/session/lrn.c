/* SPDX-License-Identifier: MIT
 *
 * LRN between a device and the host (lrn.h). */
#include "lrn.h"

#include <math.h>

#include "core/base/refuse.h"
#include "core/computer/clock.h"
#include "frontend/quantise/quantise.h"

static const struct npl_attrs product_attrs = {.op = NPL_OP_MUL, .binary.axis = -1};

bool npl_lrn_is_split(const struct npl_session *s, int i, const struct npl_step *step)
{
	return s->graph->node[i].op == NPL_OP_LRN && step->device != NPL_ON_HOST &&
	       npl_step_format(s, step) != NPL_FORMAT_F32 &&
	       (npl_device_get_info(s->device[step->device])->capabilities & NPL_LRN_FACTOR);
}

/* Returns the number of squares that are summed: for every channel as many as its window has within the channels. */
static uint64_t macs_of(const struct npl_lrn_attrs *lrn, const struct npl_shape *shape)
{
	const int64_t channels = shape->dim[1], below = (lrn->size - 1) / 2, above = lrn->size / 2;
	uint64_t sum = 0;
	for (int64_t c = 0; c < channels; c++)
		sum += (uint64_t)((below < c ? below : c) + 1 + (above < channels - 1 - c ? above : channels - 1 - c));
	return channels ? sum * (uint64_t)(npl_shape_count(shape) / channels) : 0;
}

/* Describes the layer that makes the factor of `squares`. */
static struct npl_layer layer_of(const struct npl_session *s, int i, const struct npl_step *step,
				 const struct npl_tensor *squares, struct npl_tensor *factor)
{
	return (struct npl_layer){.name = s->graph->node[i].name,
				  .op = NPL_OP_LRN,
				  .attrs = &step->attrs,
				  .n_in = 1,
				  .in = {squares},
				  .out = factor,
				  .macs = macs_of(&step->attrs.lrn, &step->y_shape),
				  .timing_only = s->options.timing_only};
}

static struct npl_tensor describe(const char *name, enum npl_format format, const struct npl_step *step,
				  struct npl_quant quant)
{
	return (struct npl_tensor){
		.name = name, .dtype = npl_format_dtype(format), .shape = step->y_shape, .quant = quant};
}

bool npl_lrn_plan(const struct npl_session *s, int i, struct npl_step *step, char *reason, size_t reason_bytes)
{
	const struct npl_node *node = &s->graph->node[i];
	enum npl_format format = npl_step_format(s, step);
	float greatest_factor = powf(node->attrs.lrn.bias, -node->attrs.lrn.beta); /* t^-beta falls from t = bias on */
	if (s->graph->value[node->in[0]].constant)
		return npl_refuse(reason, reason_bytes, "its input is a constant, whose range nobody took");
	step->lrn_factor_only = true;
	step->attrs.lrn.least_factor = npl_session_least_factor(s, node->out[0]);
	step->x_quant = npl_session_square_quant(s, format, node->in[0]);
	step->y_quant = npl_session_quant_of_range(
		s, format, (struct npl_range){.high = isfinite(greatest_factor) ? greatest_factor : 1});
	struct npl_tensor squares = describe(node->name, format, step, step->x_quant),
			  factor = describe(node->name, format, step, step->y_quant);
	struct npl_layer layer = layer_of(s, i, step, &squares, &factor);
	step->note =
		s->range ? "in part: the host squares its input and multiplies it by the factor"
			 : "in part: the host squares its input, taken to lie within -1 to 1 as no values are known, "
			   "and multiplies it by the factor";
	return npl_device_supports(s->device[step->device], &layer, reason, reason_bytes);
}

/* Runs out = a * b as one operator of the host. */
static int multiply(struct npl_value_store *store, const struct npl_tensor *a, const struct npl_tensor *b,
		    struct npl_tensor *out, struct npl_layer_run *row, struct npl_err *err)
{
	const struct npl_tensor *in[] = {a, b};
	*out = (struct npl_tensor){.name = a->name, .dtype = NPL_F32, .shape = a->shape};
	const struct npl_processor_counts counts = npl_processor_count(NPL_OP_MUL, &product_attrs, in, a == b ? 1 : 2,
								       out, 1, 0);
	store->inputs_task = npl_charge_host(store, NPL_TASK_LAYER, -1, &counts, row, store->inputs_task);
	if (store->session->options.timing_only)
		return 0;
	if (npl_tensor_alloc(out, err))
		return err->code;
	return npl_op_run(NPL_OP_MUL, &product_attrs, in, 2, out, 1, err);
}

/* Charges the transfer of the squares or the factor, neither of which is a value of the graph, unless the device works
 * in the host's memory. */
static void charge_move(struct npl_value_store *store, int i, enum npl_task_kind kind, const struct npl_tensor *tensor,
			struct npl_layer_run *row)
{
	int device = store->session->step[i].device;
	if (npl_value_store_memory(store->session, device) != NPL_IN_HOST_MEMORY)
		store->inputs_task = npl_charge_link(store, device, kind, -1, npl_tensor_bytes(tensor), row,
						     store->inputs_task);
}

static void charge_conversion(struct npl_value_store *store, const struct npl_tensor *a, const struct npl_tensor *b,
			      struct npl_layer_run *row)
{
	const struct npl_processor_counts counts = npl_processor_conversion(a, b);
	store->inputs_task = npl_charge_host(store, NPL_TASK_CONVERSION, -1, &counts, row, store->inputs_task);
}

/* Makes the factor of the squares on the device. Both are float32 in the host's memory. */
static int make_factor(struct npl_value_store *store, int i, const struct npl_tensor *squares,
		       struct npl_tensor *factor, struct npl_layer_run *row, double *wall, struct npl_err *err)
{
	const struct npl_session *s = store->session;
	const struct npl_step *step = &s->step[i];
	enum npl_format format = npl_step_format(s, step);
	struct npl_tensor in = describe(squares->name, format, step, step->x_quant),
			  out = describe(squares->name, format, step, step->y_quant);
	struct npl_layer layer = layer_of(s, i, step, &in, &out);
	int rc = 0;
	if (!s->options.timing_only)
		rc = npl_quantise_counting(squares, format, step->x_quant, &in, &row->clipped, err);
	if (rc)
		npl_prefix(err, "layer '%s' on %s", s->graph->node[i].name, row->ran_on);
	if (!rc && !s->options.timing_only)
		rc = npl_tensor_alloc(&out, err);
	if (!rc) {
		charge_conversion(store, squares, &in, row);
		charge_move(store, i, NPL_TASK_TO_DEVICE, &in, row);
		double start = npl_clock_seconds();
		rc = npl_device_run(s->device[step->device], &layer, &row->result, err);
		*wall += npl_clock_seconds() - start;
		/* These are the network's MACs, which are the same on every device. */
		row->result.macs = s->graph->node[i].macs;
		store->inputs_task = npl_value_store_schedule_layers(
			store, step->device, 1, &i, (const struct npl_result *[]){&row->result},
			(struct npl_layer_run *[]){row}, store->inputs_task);
	}
	*factor = (struct npl_tensor){.name = out.name, .dtype = NPL_F32, .shape = out.shape};
	if (!rc && !s->options.timing_only)
		rc = npl_dequantise(&out, factor, err);
	if (!rc) {
		charge_move(store, i, NPL_TASK_TO_HOST, &out, row);
		charge_conversion(store, &out, factor, row);
	}
	npl_tensor_free(&in);
	npl_tensor_free(&out);
	return rc;
}

int npl_lrn_run(struct npl_value_store *store, int i, struct npl_layer_run *row, double *wall, struct npl_err *err)
{
	struct npl_session *s = store->session;
	const struct npl_node *node = &s->graph->node[i];
	struct npl_tensor squares = {0}, factor = {0}, y = {0};
	const struct npl_tensor *x;
	store->inputs_task = NPL_AT_START;
	int rc = npl_value_store_get(store, node->in[0], NPL_FORMAT_F32, NPL_ON_HOST, row, &x, err);
	if (!rc)
		rc = multiply(store, x, x, &squares, row, err);
	if (!rc)
		rc = make_factor(store, i, &squares, &factor, row, wall, err);
	if (!rc)
		rc = multiply(store, x, &factor, &y, row, err);
	npl_tensor_free(&squares);
	npl_tensor_free(&factor);
	if (rc) {
		npl_tensor_free(&y);
		return rc;
	}
	y.name = s->graph->value[node->out[0]].name;
	row->output_dtype = y.dtype;
	if (npl_output_made(s, node->out[0], &y, row, err)) {
		npl_tensor_free(&y);
		return err->code;
	}
	npl_value_store_put(store, node->out[0], NPL_FORMAT_F32, NPL_ON_HOST, &y, store->inputs_task);
	return 0;
}
