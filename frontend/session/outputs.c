/* SPDX-License-Identifier: MIT
 *
 * Notes a step's result in its row, and shows it to an observer (value_store.h). */
#include "core/computer/clock.h"
#include "frontend/graph/values.h"
#include "frontend/quantise/quantise.h"
#include "layer_group.h"
#include "lrn.h"
#include "npulab/progress.h"
#include "npulab/sha256.h"
#include "split.h"
#include "value_store.h"

int npl_output_made(const struct npl_session *s, int v, const struct npl_tensor *tensor, struct npl_layer_run *row,
		    struct npl_err *err)
{
	if (s->hash && tensor->data && v == s->step[row->node].out)
		npl_sha256_hex(tensor->data, npl_tensor_bytes(tensor), row->output_sha256);
	return s->observer && tensor->data ? s->observer->on_value(s->observer->context, v, tensor, err) : 0;
}

void npl_note_output(const struct npl_session *s, const struct npl_step *step, const struct npl_tensor *out,
		     struct npl_layer_run *row)
{
	row->output_dtype = out->dtype;
	if (!s->options.timing_only || step->in_integers)
		row->output_quant = out->quant;
}
