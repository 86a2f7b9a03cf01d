/* SPDX-License-Identifier: MIT
 *
 * Operators that work element by element, in parallel: the tensors are cut into flat pieces, and each piece is the
 * operator's own kernel on a shorter tensor, so the bits are those of the whole. */
#include <stdatomic.h>

#include "core/float_layer.h"
#include "core/op_functions.h"
#include "cpu.h"

/* The least bytes of an operand's piece. Waking threads for shorter ones costs more time than it saves. */
#define PIECE_BYTES 65536

bool cpu_is_by_element(const struct npl_layer *layer)
{
	bool has_full_input = false;
	if (!(npl_op_defs[layer->op].flags & NPL_OP_BY_ELEMENT) || layer->n_further || layer->n_in < 1 ||
	    !layer->in[0] ||
	    (npl_op_defs[layer->op].family == NPL_FAMILY_BINARY && layer->attrs->binary.legacy_broadcast))
		return false;
	for (int i = 0; i < layer->n_in; i++) {
		const struct npl_tensor *in = layer->in[i];
		if (in && npl_shape_equal(&in->shape, &layer->out->shape))
			has_full_input = true;
		else if (in && npl_tensor_count(in) != 1)
			return false;
	}
	return has_full_input;
}

bool cpu_is_elementwise(const struct npl_layer *layer)
{
	bool plain = !(layer->out->quant.scale > 0);
	for (int i = 0; i < layer->n_in; i++)
		plain = plain && !(layer->in[i] && layer->in[i]->quant.scale > 0);
	return plain && cpu_is_by_element(layer);
}

struct element_job {
	const struct npl_layer *layer;
	int64_t count, pieces;
	atomic_bool failed;
	struct npl_err err; /* the error of the first piece that failed */
};

static struct npl_tensor piece_of(const struct npl_tensor *tensor, int64_t first, int64_t count)
{
	struct npl_tensor piece = *tensor;
	piece.shape = npl_shape_of(1, count);
	piece.data = (char *)tensor->data + (size_t)first * npl_dtype_size(tensor->dtype);
	piece.owned = false;
	return piece;
}

static void run_piece(void *context, int64_t i, int worker)
{
	struct element_job *job = context;
	const struct npl_layer *full_layer = job->layer;
	int64_t first = job->count / job->pieces * i,
		end = i + 1 == job->pieces ? job->count : job->count / job->pieces * (i + 1);
	struct npl_tensor in[NPL_LAYER_INPUTS], out = piece_of(full_layer->out, first, end - first);
	struct npl_layer layer = *full_layer;
	struct npl_err err = {0};
	double seconds;
	(void)worker;
	for (int k = 0; k < full_layer->n_in; k++)
		if (full_layer->in[k]) {
			in[k] = npl_shape_equal(&full_layer->in[k]->shape, &full_layer->out->shape)
					? piece_of(full_layer->in[k], first, end - first)
					: piece_of(full_layer->in[k], 0, 1);
			layer.in[k] = &in[k];
		}
	layer.out = &out;
	if (npl_run_reference(&layer, &out, &seconds, &err) && !atomic_exchange(&job->failed, true))
		job->err = err;
}

int cpu_elements_run(struct cpu_state *cpu, const struct npl_layer *layer, struct npl_err *err)
{
	struct element_job job = {.layer = layer, .count = npl_tensor_count(layer->out)};
	int64_t bytes = (int64_t)npl_tensor_bytes(layer->out), max_pieces = 4 * (int64_t)cpu->threads;
	job.pieces = cpu->threads == 1 ? 1 : bytes / PIECE_BYTES;
	job.pieces = job.pieces < 1 ? 1 : job.pieces > max_pieces ? max_pieces : job.pieces;
	if (job.pieces == 1)
		run_piece(&job, 0, 0);
	else
		npl_pool_run(cpu->pool, job.pieces, run_piece, &job);
	return job.err.code ? npl_fail_as(err, &job.err) : 0;
}
