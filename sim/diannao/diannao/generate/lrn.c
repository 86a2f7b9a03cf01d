/* SPDX-License-Identifier: MIT
 *
 * Local response normalisation as far as the machine can do it (Krizhevsky et al., NIPS 2012, section 3.3; Chen et al.,
 * ASPLOS 2014, name the layer and leave it out). y = x t^-beta with t = bias + alpha/size * the sum of the squares of
 * neighbouring maps. NFU-1 multiplies an input by a synapse, never two inputs, so the squares and the last product are
 * made elsewhere (layer.h). The machine does a 1x1 convolution of the squares, whose kernels hold one synapse in a
 * band. Its result u is linear in t. NFU-3's segments are fitted to t^-beta as a function of u (fit.h). The limits of
 * the segments are hard-wired, and only around 0 are they close to each other. So u begins where the segments hold the
 * curve best and ends where 16 bits end; synapse and bias place t in between.
 *
 * Where the nest can (tiles.h), it leaves out rows of kernels that the band does not touch. In the rows that the band
 * touches, the zeros beside it are loaded and multiplied like any synapse. */
#include <math.h>

#include "core/base/arith.h"
#include "core/base/refuse.h"
#include "core/q16/q16.h"
#include "layer.h"
#include "sim/diannao/nfu/fit.h"

#define ONE           (1 << NPL_Q16_FRACTION_BITS)
#define MAX_ERROR     (1.0 / 32) /* the greatest error of t^-beta, relative to its value at the least t */
#define MAX_VALUE     31         /* the greatest magnitude of NFU-3's coefficients: these do not saturate */
#define MAX_SYNAPSE   1023       /* products of such a synapse and any input round to 16 bits */
#define MAX_INPUT     (1 << 14)  /* the greatest calibrated input (quantise.h) */
#define HEADROOM      2     /* headroom for sums greater than those that calibration saw; inputs of LRN have as much */
#define MARGIN        64    /* what rounding may add to the greatest u, in units of 1/1024 */
#define FIRST_EIGHTHS (-48) /* the first u in eighths: limits are close to each other from -37/8 to 25/8 */
#define LAST_EIGHTHS  24
#define FIRST_END     10 /* the first limit at which u may end */

/* The curve that NFU-3 holds: 2^raised t^-beta as a function of u, from `begin`, where t = bias, to `end`. */
struct curve {
	double beta, bias, begin, end, t_per_u;
	int raised;
};

static double factor_at(const void *curve, double u)
{
	const struct curve *c = curve;
	return ldexp(pow(c->bias + fmax(u - c->begin, 0) * c->t_per_u, -c->beta), c->raised);
}

static double weight_of(const struct npl_lrn_attrs *lrn)
{
	return (double)lrn->alpha / (double)lrn->size;
}

/* Returns the most squares that one map sums. */
static int64_t widest(const struct dn_layer *layer)
{
	return npl_min_i64(npl_min_i64(layer->lrn.maps_below, layer->ni) + 1 +
				   npl_min_i64(layer->lrn.maps_above, layer->ni),
			   layer->ni);
}

static bool check_attributes(const struct npl_lrn_attrs *lrn, char *reason, size_t reason_bytes)
{
	const double alpha = (double)lrn->alpha, beta = (double)lrn->beta, bias = (double)lrn->bias;
	if (!(alpha >= 0 && beta >= 0 && isfinite(alpha) && isfinite(beta)) || lrn->size < 1)
		return npl_refuse(reason, reason_bytes,
				  "alpha %g, beta %g and size %lld: NFU-3 holds a power that falls from the bias on",
				  alpha, beta, (long long)lrn->size);
	if (!(bias > 0 && isfinite(bias)) || !isfinite(ldexp(pow(bias, -beta), 64)))
		return npl_refuse(reason, reason_bytes, "%g to the power of -%g is not a finite number", bias, beta);
	return true;
}

/* Returns the greatest sum of inputs that a map may have, in units of their scale: the greatest of all, or the greatest
 * that calibration saw with some headroom. */
static double largest_sum(const struct npl_lrn_attrs *lrn, int x, const struct dn_layer *layer)
{
	const double greatest = (double)widest(layer) * INT16_MAX;
	if (!(lrn->least_factor > 0 && lrn->beta > 0 && lrn->alpha > 0))
		return greatest;
	const double calibrated = pow((double)lrn->least_factor, -1 / (double)lrn->beta) - (double)lrn->bias;
	return fmin(fmax(HEADROOM * calibrated / ldexp(weight_of(lrn), x), MAX_INPUT), greatest);
}

/* Finds the synapse and bias at the finest scale 2^*w that the sums hold, where `inputs` reach from c->begin to c->end.
 * x: log2 of the input's scale. Returns false where no scale is fine enough. */
static bool choose_scale(const struct dn_config *config, const struct curve *c, double inputs, int x,
			 struct dn_layer *layer, int *w)
{
	const bool rounded = config->product == NPL_Q16_ROUNDED;
	const double window = (double)widest(layer), limit = ldexp(1, (int)config->sum_bits - 1);
	const double per_input = (c->end - (double)MARGIN / ONE - c->begin) / inputs; /* the synapse as a real number */
	double synapse, bias, sum;
	int e;
	frexp(per_input / (MAX_SYNAPSE + 1), &e);
	do {
		synapse = floor(ldexp(per_input, -e));
		bias = rint(ldexp(c->begin, -e));
		sum = fmax(fabs(bias), bias + window * synapse * INT16_MAX);
		sum = rounded ? sum / ONE + window + 1 : sum;
		*w = e++ - x;
	} while (synapse >= 1 && (fabs(bias) > INT32_MAX || sum >= limit));
	layer->lrn.synapse = (int16_t)synapse;
	layer->lrn.bias = (int32_t)bias;
	/* One step of the sums must not be more than one step of u. */
	return synapse >= 1 && ldexp(rounded ? ONE : 1, x + *w) <= 1.0 / ONE;
}

/* Returns the error that the best line leaves between two u: half of the greatest distance of the curve, which is
 * convex, from its chord. INFINITY: the line has no 16-bit coefficients. */
static double line_error(const struct curve *c, double from, double to)
{
	const double least = factor_at(c, to), slope = (least - factor_at(c, from)) / (to - from);
	const double steepest = ldexp(c->beta * c->t_per_u, c->raised);
	if (fabs(slope) > MAX_VALUE || fabs(least - slope * to) > MAX_VALUE)
		return INFINITY;
	if (!(slope < 0 && steepest > 0))
		return 0;
	const double t = pow(steepest / -slope, 1 / (c->beta + 1)); /* t where the curve is as steep as the chord */
	const double u = c->begin + (t - c->bias) / c->t_per_u;
	return (least - slope * (to - u) - factor_at(c, u)) / 2;
}

/* Returns the greatest error of all segments, relative to t^-beta. */
static double estimated_error(const struct curve *c)
{
	double largest = 0, from = c->begin;
	for (int i = 0; i < DN_SEGMENTS && from < c->end; i++) {
		const double limit = i < DN_SEGMENTS - 1 ? (double)dn_limits[i] / ONE : c->end;
		if (limit <= from)
			continue;
		largest = fmax(largest, line_error(c, from, fmin(limit, c->end)));
		from = limit;
	}
	return ldexp(largest, -c->raised);
}

/* Raises the curve as far as lines with 16-bit coefficients allow. Returns its error. */
static double raise_curve(struct curve *c)
{
	double error = INFINITY;
	int exponent;
	frexp(pow(c->bias, -c->beta) / MAX_VALUE, &exponent);
	for (int lowered = 0; lowered < NPL_Q16_FRACTION_BITS && !isfinite(error); lowered++) {
		c->raised = -exponent - lowered;
		error = estimated_error(c);
	}
	return error;
}

/* Finds the curve with the least error over all places where u may begin and end; layer->lrn gets its synapse and bias.
 * Returns false where there is none. */
static bool choose_curve(const struct dn_config *config, const struct npl_lrn_attrs *lrn, int x, struct dn_layer *layer,
			 struct curve *best, int *w)
{
	const double inputs = largest_sum(lrn, x, layer);
	struct dn_lrn best_lrn = layer->lrn;
	double least = INFINITY;
	for (int end = FIRST_END; end < DN_SEGMENTS; end++)
		for (int eighths = FIRST_EIGHTHS; eighths <= LAST_EIGHTHS; eighths++) {
			struct curve c = {.beta = (double)lrn->beta,
					  .bias = (double)lrn->bias,
					  .begin = eighths / 8.0,
					  .end = (double)(end < DN_SEGMENTS - 1 ? dn_limits[end] : INT16_MAX) / ONE};
			int scale;
			if (c.begin + 1 > c.end || !choose_scale(config, &c, inputs, x, layer, &scale))
				continue;
			c.t_per_u = weight_of(lrn) / ldexp(layer->lrn.synapse, scale);
			const double error = raise_curve(&c);
			if (error >= least)
				continue;
			least = error;
			*best = c;
			*w = scale;
			best_lrn = layer->lrn;
		}
	layer->lrn = best_lrn;
	return isfinite(least);
}

static bool fit_curve(const struct curve *c, struct dn_layer *layer, char *reason, size_t reason_bytes)
{
	/* The curve goes on beyond its end, for sums that calibration did not see. */
	const struct dn_curve curve = {
		.f = factor_at, .parameters = c, .low = (int)(c->begin * ONE), .high = INT16_MAX};
	double error;
	if (!dn_fit(&curve, &layer->function, &error))
		return npl_refuse(reason, reason_bytes, "out of memory for the segments of NFU-3");
	error = 0;
	for (int u = curve.low; u < (int)(c->end * ONE); u++)
		error = fmax(error,
			     fabs(dn_interpolate(&layer->function, (int16_t)u) - ONE * factor_at(c, (double)u / ONE)));
	error /= ONE * factor_at(c, c->begin);
	if (error > MAX_ERROR)
		return npl_refuse(
			reason, reason_bytes,
			"NFU-3's segments miss t to the power of -%g, t from %g to %.3g, by %.2g of the greatest, "
			"more than 1/32",
			c->beta, c->bias, c->bias + (c->end - c->begin) * c->t_per_u, error);
	layer->lrn.raised = c->raised;
	return true;
}

static bool take_power(const struct dn_config *config, const struct npl_lrn_attrs *lrn, int x, struct dn_layer *layer,
		       int *w, char *reason, size_t reason_bytes)
{
	struct curve curve;
	if (!choose_curve(config, lrn, x, layer, &curve, w))
		return npl_refuse(
			reason, reason_bytes,
			"sums of %lld bits do not hold %lld squares finely enough, or 16-bit lines no power of -%g "
			"from %g on",
			(long long)config->sum_bits, (long long)widest(layer), (double)lrn->beta, (double)lrn->bias);
	return fit_curve(&curve, layer, reason, reason_bytes);
}

bool dn_lrn_of(const struct dn_config *config, const struct npl_layer *model_layer, int x, struct dn_layer *layer,
	       int *w, char *reason, size_t reason_bytes)
{
	const struct npl_shape *from = &model_layer->in[0]->shape;
	const struct npl_lrn_attrs *lrn = &model_layer->attrs->lrn;
	if (from->rank < 2 || from->dim[1] < 1 || !npl_shape_equal(from, &model_layer->out->shape))
		return npl_refuse(reason, reason_bytes, "input and output must be batch x channels, of one shape");
	const int64_t channels = from->dim[1], width = from->rank > 2 ? from->dim[from->rank - 1] : 1;
	int64_t height = 1;
	for (int d = 2; d + 1 < from->rank; d++)
		height *= from->dim[d];
	layer->kind = DN_SUM;
	layer->images = from->dim[0];
	layer->ni = layer->no = channels;
	layer->in[0] = layer->out[0] = height;
	layer->in[1] = layer->out[1] = width;
	layer->input_layout = layer->output_layout = (struct dn_layout){
		.image = channels * height * width, .map = height * width, .y = width, .x = 1};
	layer->bias = true;
	layer->lrn = (struct dn_lrn){.present = true, .maps_below = (lrn->size - 1) / 2, .maps_above = lrn->size / 2};
	return check_attributes(lrn, reason, reason_bytes) &&
	       take_power(config, lrn, x, layer, w, reason, reason_bytes);
}

/* Finds the maps that output m sums: *first to *end - 1. */
static void window_of(const struct dn_layer *layer, int64_t m, int64_t *first, int64_t *end)
{
	*first = m - npl_min_i64(layer->lrn.maps_below, m);
	*end = m + 1 + npl_min_i64(layer->lrn.maps_above, layer->ni - 1 - m);
}

uint64_t dn_lrn_pairs(const struct dn_layer *layer)
{
	uint64_t pairs = 0;
	for (int64_t m = 0, first, end; m < layer->no; m++) {
		window_of(layer, m, &first, &end);
		pairs += (uint64_t)(end - first);
	}
	return pairs;
}

int dn_lrn_operands(const struct dn_layer *layer, struct npl_tensor *kernels, struct npl_tensor *biases,
		    struct npl_err *err)
{
	*kernels = (struct npl_tensor){.dtype = NPL_I16, .shape = npl_shape_of(2, layer->no, layer->ni)};
	*biases = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, layer->no)};
	if (npl_tensor_alloc(kernels, err))
		return err->code;
	if (npl_tensor_alloc(biases, err)) {
		npl_tensor_free(kernels);
		return err->code;
	}
	int16_t *row = kernels->data;
	for (int64_t m = 0, first, end; m < layer->no; m++, row += layer->ni) {
		window_of(layer, m, &first, &end);
		for (int64_t c = 0; c < layer->ni; c++)
			row[c] = c >= first && c < end ? layer->lrn.synapse : 0;
		((int32_t *)biases->data)[m] = layer->lrn.bias;
	}
	return 0;
}
