/* SPDX-License-Identifier: MIT
 *
 * Which layers stay in float32 (stay_float.h).
 *
 * A sum, an element-wise product or a layer that only picks values gains nothing from integers when it reads a value
 * that was made in float32: it would only round once more. After a ReduceMean, a Div or an LSTM, values stay in float32
 * until a layer reads them that gains: a matrix product, a convolution, a function that is a table.
 *
 * A mask adds a great negative number, or an infinity, to elements of which a Softmax makes 0. One scale over the whole
 * range would leave few steps for the elements that are not masked, although Softmax needs only the range from the
 * greatest element of a vector down to MIN_EXPONENT below it. */
#include "stay_float.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_layer.h"

#define MIN_EXPONENT 16.0f /* e^-16 is less than 2^-23, a step of float32 at 1 */
#define COARSER      4.0f  /* steps that are wider by this factor cost two bits; a range that needs less is no mask */

static float high_of(const struct npl_session *s, int v)
{
	return s->range[v].low > s->range[v].high ? 0 : s->range[v].high;
}

/* Returns the level below which elements of input k do not affect the used part of the node's results. -INFINITY: every
 * element does. */
static float level_of_input(const struct npl_session *s, const struct npl_node *node, int k)
{
	const int moving_flags = NPL_OP_KEEPS_RANGE | NPL_OP_ANY_TYPE;
	const struct npl_range *range = &s->range[node->in[k]];
	if (node->op == NPL_OP_SOFTMAX)
		return range->read_by_softmax ? range->softmax_least_maximum - MIN_EXPONENT : -INFINITY;
	float level = node->out[0] >= 0 ? s->mask_below[node->out[0]] : -INFINITY;
	for (int o = 1; o < node->n_out; o++)
		level = node->out[o] >= 0 ? fminf(level, s->mask_below[node->out[o]]) : level;
	if (node->op == NPL_OP_ADD || node->op == NPL_OP_SUM) {
		for (int o = 0; o < node->n_in; o++)
			level -= o == k ? 0 : high_of(s, node->in[o]);
		return level;
	}
	return node->op == NPL_OP_CONCAT || (k == 0 && (npl_op_defs[node->op].flags & moving_flags) == moving_flags)
		       ? level
		       : -INFINITY;
}

int npl_masks_find(struct npl_session *s, struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	if (!s->range)
		return 0;
	s->mask_below = malloc(((size_t)graph->n_values + 1) * sizeof *s->mask_below);
	if (!s->mask_below)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	for (int v = 0; v < graph->n_values; v++)
		s->mask_below[v] = INFINITY;
	for (int o = 0; o < graph->n_outputs; o++)
		s->mask_below[graph->output[o]] = -INFINITY;
	for (int i = graph->n_nodes - 1; i >= 0; i--)
		for (int k = 0; k < graph->node[i].n_in; k++) {
			const int v = graph->node[i].in[k];
			if (v >= 0)
				s->mask_below[v] = fminf(s->mask_below[v], level_of_input(s, &graph->node[i], k));
		}
	return 0;
}

bool npl_is_masked(const struct npl_session *s, int v)
{
	if (!s->mask_below || !isfinite(s->mask_below[v]))
		return false;
	const struct npl_range *range = &s->range[v];
	const float high = fmaxf(high_of(s, v), 0), low = fminf(range->low > range->high ? 0 : range->low, 0);
	return range->infinite || high - low > COARSER * (high - fminf(s->mask_below[v], 0));
}

/* Says whether value v is computed in float32 in this plan: by the host, or by the step's own device. A network's
 * inputs and constants are not, as they take the format of their reader. */
static bool is_made_in_float(const struct npl_session *s, const struct npl_step *step, int v)
{
	int producer = s->graph->value[v].producer;
	while (producer >= 0 && s->step[producer].role == NPL_VIEW) {
		v = s->graph->node[producer].in[0];
		producer = s->graph->value[v].producer;
	}
	if (producer < 0 || s->graph->value[v].dtype != NPL_F32)
		return false;
	const struct npl_step *producer_step = &s->step[producer];
	return producer_step->device == NPL_ON_HOST ||
	       (producer_step->device == step->device && producer_step->in_float32);
}

static bool only_adds_or_picks(enum npl_op op)
{
	return op == NPL_OP_ADD || op == NPL_OP_SUM || op == NPL_OP_MUL || op == NPL_OP_CONCAT ||
	       npl_op_defs[op].flags & NPL_OP_KEEPS_RANGE;
}

bool npl_stays_float(const struct npl_session *s, const struct npl_node *node, const struct npl_step *step,
		     char *reason, size_t reason_bytes)
{
	if (npl_step_format(s, step) == NPL_FORMAT_F32 || s->model.quantises ||
	    npl_device_get_info(s->device[step->device])->kind == NPL_KIND_SIMULATED || !only_adds_or_picks(node->op))
		return false;
	if (npl_is_masked(s, step->out)) {
		snprintf(reason, reason_bytes,
			 "its result is masked for a Softmax: %s would have few steps for what is not",
			 npl_format_name(npl_step_format(s, step)));
		return true;
	}
	for (int k = 0; k < step->n_in; k++)
		if (node->in[k] >= 0 && is_made_in_float(s, step, node->in[k])) {
			snprintf(reason, reason_bytes,
				 "its input '%.60s' is made in float32: integers would round it once more",
				 s->graph->value[node->in[k]].name);
			return true;
		}
	return false;
}
