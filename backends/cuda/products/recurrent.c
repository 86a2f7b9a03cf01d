/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM (layer.h). One product computes X W for all steps and directions; then each step is the product h
 * R, for both directions at a time, and a kernel for the gates. Sums and an LSTM's cell states are float32 in every
 * precision. h is stored in the values' type, in which the next step's product reads it. A GRU whose reset comes before
 * the product with R's hidden gate needs two products and two kernels per step. The kernel adds the sums of X and of h;
 * the product could not, because with sequences of different lengths the rows of X's sums would be far apart. */
#include "backends/cuda/load/alignment.h"
#include "layer.h"

enum { X, W, R, B, SEQUENCE_LENS, INITIAL_H, INITIAL_C, P };
enum { INPUTS, STATES, CANDIDATES }; /* indices of layer->product */

static struct cu_recurrent sizes_of(const struct npl_layer *layer)
{
	const struct npl_recurrent_attrs *attrs = &layer->attrs->recurrent;
	const struct npl_shape *x = &layer->in[X]->shape;
	return (struct cu_recurrent){
		.steps = x->dim[attrs->batch_first],
		.batch = x->dim[!attrs->batch_first],
		.input = x->dim[2],
		.hidden = layer->in[R]->shape.dim[2],
		.gates = layer->op == NPL_OP_RNN   ? 1
			 : layer->op == NPL_OP_GRU ? 3
						   : 4,
		.directions = layer->in[R]->shape.dim[0],
		.separate_hidden_gate = layer->op == NPL_OP_GRU && !attrs->linear_before_reset,
	};
}

static size_t take_scratch(struct cu_layer *layer, int64_t elements, enum npl_dtype dtype)
{
	const size_t offset = layer->scratch_bytes, bytes = (size_t)elements * npl_dtype_size(dtype);
	layer->scratch_bytes += cu_aligned(bytes);
	return offset;
}

/* Places the scratch memory. States are kept in Y_h and Y_c if the layer has these and they have the states' type, else
 * in scratch memory. */
static void place_scratch(struct cu_layer *layer)
{
	const struct npl_layer *request = layer->layer;
	const enum npl_dtype dtype = cu_layer_type(layer);
	struct cu_recurrent *r = &layer->recurrent;
	const int64_t states = r->directions * r->batch * r->hidden, own_gates = r->gates - r->separate_hidden_gate;
	r->inputs_at = take_scratch(layer, r->input ? r->steps * states * r->gates : 0, NPL_F32);
	r->states_at = take_scratch(layer, states * own_gates, NPL_F32);
	r->candidates_at = take_scratch(layer, r->separate_hidden_gate ? states : 0, NPL_F32);
	r->reset_at = take_scratch(layer, r->separate_hidden_gate ? states : 0, dtype);
	r->h_at = take_scratch(layer, request->n_further >= 1 ? 0 : states, dtype);
	r->c_at = take_scratch(layer,
			       request->op != NPL_OP_LSTM || (request->n_further >= 2 && dtype == NPL_F32) ? 0 : states,
			       NPL_F32);
}

/* Prepares the product of h, or of r h, with `gates` gates of R after its `first` ones, as a batch of the
 * directions. */
static int open_states(struct cu_layer *layer, int64_t first, int64_t gates, struct cu_product_shape shape,
		       struct cu_product *product, struct npl_err *err)
{
	const struct cu_recurrent *r = &layer->recurrent;
	const bool batch_first = layer->layer->attrs->recurrent.batch_first;
	const uint64_t offset = (uint64_t)(first * r->hidden * r->hidden) * npl_dtype_size(shape.operands);
	shape.m = gates * r->hidden;
	shape.n = r->batch;
	shape.k = shape.ld_a = r->hidden;
	shape.ld_b = batch_first ? r->directions * r->hidden : r->hidden;
	shape.ld_d = shape.m;
	shape.batch = r->directions;
	shape.stride_a = r->gates * r->hidden * r->hidden;
	shape.stride_b = batch_first ? r->hidden : r->batch * r->hidden;
	shape.stride_d = r->batch * shape.m;
	shape.alignment = cu_common_alignment(&offset, 1);
	return cu_product_open(&layer->device->blas, &shape, product, err);
}

int cu_recurrent_open(struct cu_layer *layer, struct npl_err *err)
{
	const enum npl_dtype dtype = cu_layer_type(layer);
	layer->recurrent = sizes_of(layer->layer);
	const struct cu_recurrent *r = &layer->recurrent;
	struct cu_product_shape shape = {.operands = dtype,
					 .result = NPL_F32,
					 .tf32 = layer->precision == CU_TF32,
					 .transposed_a = true,
					 .m = r->directions * r->gates * r->hidden,
					 .n = r->steps * r->batch,
					 .k = r->input,
					 .ld_a = r->input,
					 .ld_b = r->input,
					 .ld_d = r->directions * r->gates * r->hidden};
	place_scratch(layer);
	if (!r->steps)
		return 0;
	if ((r->input && cu_product_open(&layer->device->blas, &shape, &layer->product[INPUTS], err)) ||
	    open_states(layer, 0, r->gates - r->separate_hidden_gate, shape, &layer->product[STATES], err) ||
	    (r->separate_hidden_gate && open_states(layer, 2, 1, shape, &layer->product[CANDIDATES], err)))
		return err->code;
	return 0;
}

/* Sets a state before the first step: the given one, converted to the type of `state`, or zero. */
static int set_initial_state(const struct cu_layer *layer, const struct cu_value *initial, const struct cu_value *state,
			     struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const size_t bytes = (size_t)npl_shape_count(&state->shape) * npl_dtype_size(state->dtype);
	if (!initial)
		return cu_try(&d->driver, err, cuMemsetD8Async, set, (state->address, 0, bytes, d->stream));
	if (initial->dtype != state->dtype)
		return cu_kernel_cast(d->kernels, initial, state, d->stream, err);
	return cu_try(&d->driver, err, cuMemcpyDtoDAsync, copy, (state->address, initial->address, bytes, d->stream));
}

static const struct cu_value *input_or_null(const struct npl_layer *layer, const struct cu_value *in, int k)
{
	return k < layer->n_in && layer->in[k] ? &in[k] : NULL;
}

static uint64_t address_of(const struct npl_layer *layer, const struct cu_value *in, int k)
{
	const struct cu_value *value = input_or_null(layer, in, k);
	return value ? value->address : 0;
}

static int multiply(struct cu_layer *layer, int product, uint64_t weights, uint64_t rows, uint64_t sums,
		    struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	return cu_product_run(&d->blas, &layer->product[product], weights, rows, 0, sums, false, d->workspace.address,
			      d->stream, err);
}

static int run_steps(struct cu_layer *layer, const struct cu_value *in, const struct cu_cells *cells,
		     struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct cu_recurrent *r = &layer->recurrent;
	const uint64_t hidden_gate = in[R].address +
				     (uint64_t)(2 * r->hidden * r->hidden) * npl_dtype_size(cells->dtype);
	if (cells->inputs && r->steps && multiply(layer, INPUTS, in[W].address, in[X].address, cells->inputs, err))
		return err->code;
	for (int64_t step = 0; step < r->steps; step++) {
		if (multiply(layer, STATES, in[R].address, cells->h, cells->states, err))
			return err->code;
		if (r->separate_hidden_gate &&
		    (cu_kernel_reset(d->kernels, cells, step, d->stream, err) ||
		     multiply(layer, CANDIDATES, hidden_gate, cells->reset, cells->candidates, err)))
			return err->code;
		if (cu_kernel_cells(d->kernels, cells, step, d->stream, err))
			return err->code;
	}
	return 0;
}

int cu_recurrent_run(struct cu_layer *layer, const struct cu_value *in, struct cu_value *out, uint64_t scratch,
		     struct npl_err *err)
{
	const struct cu_device *d = layer->device;
	const struct npl_layer *request = layer->layer;
	const struct cu_recurrent *r = &layer->recurrent;
	const bool is_lstm = request->op == NPL_OP_LSTM,
		   cell_apart = is_lstm && request->n_further >= 2 && out[2].dtype != NPL_F32;
	const struct npl_shape states = npl_shape_of(3, r->directions, r->batch, r->hidden);
	const struct cu_value h = {.address = request->n_further >= 1 ? out[1].address : scratch + r->h_at,
				   .dtype = out[0].dtype,
				   .shape = states};
	const struct cu_value c = {.address = request->n_further >= 2 && !cell_apart ? out[2].address
										     : scratch + r->c_at,
				   .dtype = NPL_F32,
				   .shape = states};
	const struct cu_cells cells = {.op = request->op,
				       .attrs = &request->attrs->recurrent,
				       .steps = r->steps,
				       .batch = r->batch,
				       .hidden = r->hidden,
				       .gates = r->gates,
				       .directions = r->directions,
				       .dtype = out[0].dtype,
				       .inputs = r->input ? scratch + r->inputs_at : 0,
				       .states = scratch + r->states_at,
				       .candidates = r->separate_hidden_gate ? scratch + r->candidates_at : 0,
				       .bias = address_of(request, in, B),
				       .peepholes = address_of(request, in, P),
				       .lengths = address_of(request, in, SEQUENCE_LENS),
				       .h = h.address,
				       .c = c.address,
				       .reset = scratch + r->reset_at,
				       .y = out[0].address};
	if (set_initial_state(layer, input_or_null(request, in, INITIAL_H), &h, err) ||
	    (is_lstm && set_initial_state(layer, input_or_null(request, in, INITIAL_C), &c, err)) ||
	    run_steps(layer, in, &cells, err) ||
	    (cell_apart && cu_kernel_cast(d->kernels, &c, &out[2], d->stream, err)))
		return err->code;
	const struct cu_value no_bias = {.dtype = out[0].dtype};
	return request->activation == NPL_ACT_NONE ? 0
						   : cu_kernel_bias(d->kernels, &out[0], &no_bias, 1, 1,
								    request->activation, &out[0], d->stream, err);
}
