/* SPDX-License-Identifier: MIT
 *
 * Scale and zero point of every value in a device's number format. They come from the range that the value took in
 * calibration, with three exceptions. A value that only picks from another one has that one's scale (session.range_of).
 * Results of Sigmoid and Tanh have fixed ones. Values that are joined (the inputs of a Concat and its output, so that
 * joining moves bytes and rounds nothing) have the scale of all their ranges together. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/quantise/quantise.h"
#include "stay_float.h"

/* Returns the value that stands for all values that share a scale with v. Halves the way to it for later calls, as a
 * row of joins makes it long. */
static int sharing_root(const struct npl_session *s, int v)
{
	int *const sharing = s->sharing;
	for (; sharing[v] != v; v = sharing[v])
		sharing[v] = sharing[sharing[v]];
	return v;
}

static struct npl_range union_of_ranges(struct npl_range a, struct npl_range b)
{
	a.infinite |= b.infinite;
	b.infinite |= a.infinite;
	if (a.low > a.high)
		return b;
	if (b.low > b.high)
		return a;
	a.low = fminf(a.low, b.low);
	a.high = fmaxf(a.high, b.high);
	return a;
}

void npl_ranges_join(struct npl_session *s, int a, int b)
{
	if (s->sharing[a] < 0)
		s->sharing[a] = a;
	if (s->sharing[b] < 0)
		s->sharing[b] = b;
	a = sharing_root(s, a);
	b = sharing_root(s, b);
	if (a == b)
		return;
	s->sharing[b] = a;
	if (s->range)
		s->range[a] = union_of_ranges(s->range[a], s->range[b]);
	if (s->range_int8)
		s->range_int8[a] = union_of_ranges(s->range_int8[a], s->range_int8[b]);
}

/* Returns the range of a value. A mask's range is cut to the part that has an effect: the rest saturates, and Softmax
 * makes 0 of it in any case. */
static struct npl_range range_at(const struct npl_session *s, enum npl_format format, int v)
{
	if (!s->range)
		return (struct npl_range){.low = -1, .high = 1};
	struct npl_range range = format == NPL_FORMAT_INT8 && s->range_int8 ? s->range_int8[v] : s->range[v];
	if (npl_is_masked(s, v)) {
		range.high = range.low > range.high ? 0 : range.high;
		range.low = fminf(s->mask_below[v], range.high);
	}
	return range;
}

/* Returns what the model says of float value v in 8 bits, or of the value that v picks from. NULL: it says nothing. */
static const struct npl_model_quant *model_quant(const struct npl_session *s, enum npl_format format, int v)
{
	const struct npl_model_quant *value_quant = &s->model.value[v], *from = &s->model.value[s->range_of[v]];
	if (format != NPL_FORMAT_INT8)
		return NULL;
	return value_quant->quant.scale > 0 ? value_quant : from->integers >= 0 ? from : NULL;
}

enum npl_dtype npl_session_dtype(const struct npl_session *s, enum npl_format format, int v)
{
	const struct npl_model_quant *model = model_quant(s, format, v);
	if (format == NPL_FORMAT_F32 || s->graph->value[v].dtype != NPL_F32)
		return s->graph->value[v].dtype;
	return model ? model->dtype : npl_format_dtype(format);
}

struct npl_quant npl_session_quant_of_range(const struct npl_session *s, enum npl_format format, struct npl_range range)
{
	return s->options.q16_plain && format == NPL_FORMAT_Q16 ? NPL_Q16_PLAIN : npl_quant_of_range(format, range);
}

struct npl_quant npl_session_quant(const struct npl_session *s, enum npl_format format, int v)
{
	int from = s->range_of[v], producer = s->graph->value[from].producer;
	const struct npl_model_quant *model = model_quant(s, format, v);
	struct npl_quant quant;
	if (format == NPL_FORMAT_F32)
		return (struct npl_quant){0};
	if (s->graph->value[v].dtype != NPL_F32)
		return npl_model_quant_of(&s->model, v);
	if (model)
		return model->quant;
	if (s->sharing[from] >= 0)
		from = sharing_root(s, from);
	else if (producer >= 0 && npl_quant_of_function(format, s->graph->node[producer].op, &quant))
		return quant;
	return npl_session_quant_of_range(s, format, range_at(s, format, from));
}

struct npl_quant npl_session_square_quant(const struct npl_session *s, enum npl_format format, int v)
{
	struct npl_range range = range_at(s, format, v);
	float magnitude = range.low > range.high ? 0 : fmaxf(-range.low, range.high);
	return npl_session_quant_of_range(s, format, (struct npl_range){.high = fminf(magnitude * magnitude, FLT_MAX)});
}

float npl_session_least_factor(const struct npl_session *s, int v)
{
	return range_at(s, NPL_FORMAT_F32, v).least_factor;
}

/* Says whether a constant input counts for the range that the inputs share. */
static bool shares_range_of_constants(enum npl_op op)
{
	return npl_op_defs[op].flags & NPL_OP_RANGE_OF_CONSTANTS;
}

static int find_constant(struct npl_session *s, int v, struct npl_err *err)
{
	struct npl_value *value = &s->graph->value[v];
	const float *x = npl_value_data(s->graph, value, err);
	int64_t n = npl_shape_count(&value->shape);
	if (!x)
		return err->code;
	for (int64_t i = 0; i < n; i++)
		if (isfinite(x[i]))
			s->range[v] = union_of_ranges(s->range[v], (struct npl_range){.low = x[i], .high = x[i]});
		else
			s->range[v].infinite |= isinf(x[i]);
	if (s->range_int8)
		s->range_int8[v] = s->range[v];
	return 0;
}

/* Copies the caller's ranges; *copy is NULL if there are none. */
static int copy_ranges(const struct npl_range *from, int n, struct npl_range **copy, struct npl_err *err)
{
	*copy = from ? malloc(((size_t)n + 1) * sizeof **copy) : NULL;
	if (from && !*copy)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", n);
	if (from)
		memcpy(*copy, from, (size_t)n * sizeof **copy);
	return 0;
}

int npl_ranges_open(struct npl_session *s, const struct npl_range *ranges, const struct npl_range *ranges_int8,
		    struct npl_err *err)
{
	const struct npl_graph *graph = s->graph;
	size_t n = (size_t)graph->n_values + 1;
	s->range_of = calloc(n, sizeof *s->range_of);
	s->sharing = calloc(n, sizeof *s->sharing);
	if (!s->range_of || !s->sharing)
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	if (copy_ranges(ranges, graph->n_values, &s->range, err) ||
	    copy_ranges(ranges_int8, graph->n_values, &s->range_int8, err))
		return err->code;
	for (int v = 0; v < graph->n_values; v++) {
		s->range_of[v] = v;
		s->sharing[v] = -1;
	}
	for (int i = 0; i < graph->n_nodes && ranges && !s->options.timing_only; i++)
		for (int k = 0; k < graph->node[i].n_in && shares_range_of_constants(graph->node[i].op); k++) {
			int v = graph->node[i].in[k];
			if (v >= 0 && graph->value[v].constant && graph->value[v].dtype == NPL_F32 &&
			    find_constant(s, v, err))
				return err->code;
		}
	return 0;
}

static bool is_calibrated(const struct npl_session *s, enum npl_format format, int v)
{
	int from = s->range_of[v], producer = s->graph->value[from].producer;
	struct npl_quant quant;
	if (model_quant(s, format, v) || (s->options.q16_plain && format == NPL_FORMAT_Q16))
		return false;
	if (s->sharing[from] >= 0)
		return true;
	return !s->graph->value[from].constant &&
	       !(producer >= 0 && npl_quant_of_function(format, s->graph->node[producer].op, &quant));
}

bool npl_session_calibrated(const struct npl_session *s)
{
	for (int i = 0; i < s->graph->n_nodes; i++) {
		const struct npl_step *step = &s->step[i];
		const enum npl_format format = npl_step_format(s, step);
		if (step->role != NPL_RAN || format == NPL_FORMAT_F32 || step->in_integers)
			continue;
		bool calibrated = is_calibrated(s, format, step->out);
		for (int k = 0; k < step->n_in && k < s->graph->node[i].n_in && !calibrated; k++)
			calibrated = s->graph->node[i].in[k] >= 0 && is_calibrated(s, format, s->graph->node[i].in[k]);
		if (calibrated)
			return true;
	}
	return false;
}
