/* SPDX-License-Identifier: MIT
 *
 * Local response normalisation as far as the machine can (Krizhevsky et al., NIPS 2012, section 3.3; Chen et al., ASPLOS 2014,
 * name the layer and leave it out). y = x t^-beta with t = bias + alpha/size * the sum of the squares of neighbouring maps. NFU-1
 * multiplies an input by a synapse, never two inputs, so squares and the last product are others' (layer.h). Here: t is a
 * 1x1 convolution of the squares whose kernels hold alpha/size in a band, the bias is NFU-2's, and t^-beta is a function of
 * NFU-3 on plain Q6.10, fitted (fit.h) from t = bias to the greatest that there can be.
 *
 * Rows of kernels that the band does not touch are left out where the nest can (tiles.h); in those that it touches zeros beside it are
 * loaded and multiplied as any synapse. */
#include <math.h>
#include <stdio.h>

#include "dn.h"
#include "fit.h"
#include "npulab/q16.h"

#define REFUSE(...) (snprintf(why, n, __VA_ARGS__), false)

#define LARGEST_ERROR   (1.0 / 32)  /* of t^-beta */
#define LARGEST_T       32          /* where plain Q6.10 ends */
#define LARGEST_FACTOR  31          /* as far as its lines do not saturate */
#define LARGEST_SYNAPSE 2047        /* as weights of other layers: products by inputs below 2^14 stay below 2^25 */
#define LARGEST_INPUT   (1 << 14)   /* of calibrated inputs (quantise.h) */
#define FINE_SYNAPSE    256         /* so much is rounded by less than 2^-9 of itself */
#define SMALL_ERROR     (1.0 / 256) /* of t, where synapses are less */
#define MARGIN          64          /* of 1/1024: what rounding may add to the greatest t */

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static double power(const void *beta, double t)
{
	return pow(t, -*(const double *)beta);
}

static double weight_of(const struct npl_attrs *attrs)
{
	return (double)attrs->alpha / (double)attrs->size;
}

/* Squares that one map sums, at most. */
static int64_t widest(const struct dn_work *work)
{
	return min(work->lrn.below, work->ni - 1) + 1 + min(work->lrn.above, work->ni - 1);
}

static bool check_attributes(const struct npl_attrs *attrs, char *why, size_t n)
{
	const double alpha = (double)attrs->alpha, beta = (double)attrs->beta, bias = (double)attrs->bias;
	if (!(alpha >= 0 && beta >= 0 && isfinite(alpha) && isfinite(beta)) || attrs->size < 1)
		return REFUSE("alpha %g, beta %g and size %lld: NFU-3 holds a power that falls from the bias on", alpha,
			      beta, (long long)attrs->size);
	if (!(bias * (1 << NPL_Q16_FRACTION_BITS) >= 1 && bias < LARGEST_T))
		return REFUSE("a bias of %g does not fit plain Q6.10", bias);
	if (!(pow(bias, -beta) <= LARGEST_FACTOR))
		return REFUSE("%g to the power of -%g does not fit plain Q6.10", bias, beta);
	return true;
}

/* Synapse and bias at the finest scale 2^*w that the sums have room for. x: log2 of the input's scale. */
static bool choose_scale(const struct dn_config *config, const struct npl_attrs *attrs, int x, struct dn_work *work,
			 int *w, char *why, size_t n)
{
	const bool rounded = config->product == NPL_Q16_ROUNDED;
	const double weight = weight_of(attrs), window = (double)widest(work);
	const double largest = (double)attrs->bias + weight * window * ldexp(LARGEST_INPUT, x);
	const double room = ldexp(1, (int)config->sum_bits - 1);
	double synapse, bias, sum;
	int e = -100 - x; /* alpha is 0 */
	if (largest >= LARGEST_T)
		return REFUSE("%g + %g times the squares reaches %.3g, plain Q6.10 ends at %d", (double)attrs->bias,
			      (double)attrs->alpha, largest, LARGEST_T);
	if (weight > 0)
		frexp(weight / (LARGEST_SYNAPSE + 1), &e);
	do {
		synapse = fmin(rint(ldexp(weight, -e)), LARGEST_SYNAPSE);
		bias = rint(ldexp((double)attrs->bias, -(x + e)));
		sum = bias + window * synapse * INT16_MAX;
		sum = rounded ? sum / (1 << NPL_Q16_FRACTION_BITS) + window + 1 : sum;
		*w = e++;
	} while (bias > INT32_MAX || sum >= room);
	const double step = ldexp(1, x + *w);
	const bool coarse = synapse < FINE_SYNAPSE && window * LARGEST_INPUT * step > SMALL_ERROR;
	if (coarse || ldexp(step, rounded ? 2 * NPL_Q16_FRACTION_BITS : NPL_Q16_FRACTION_BITS) > 1)
		return REFUSE("sums of %lld bits do not hold %g + %g times %g squares finely enough",
			      (long long)config->sum_bits, (double)attrs->bias, weight, window);
	work->lrn.synapse = (int16_t)synapse;
	work->lrn.bias = (int32_t)bias;
	return true;
}

/* Over all t that 16 bits of squares can give. */
static bool fit_power(const struct npl_attrs *attrs, int x, struct dn_work *work, char *why, size_t n)
{
	const double beta = (double)attrs->beta, one = 1 << NPL_Q16_FRACTION_BITS, bias = (double)attrs->bias;
	const double most = bias + weight_of(attrs) * (double)widest(work) * ldexp(INT16_MAX, x);
	struct dn_curve curve = {.f = power,
				 .parameters = &beta,
				 .low = (int)floor(bias * one),
				 .high = (int)fmin(ceil(most * one) + MARGIN, INT16_MAX)};
	double error;
	if (!dn_fit(&curve, &work->function, &error))
		return REFUSE("out of memory for the segments of NFU-3");
	if (error > LARGEST_ERROR)
		return REFUSE("NFU-3's segments miss t to the power of -%g from %g on by %.2g, more than 1/32", beta,
			      bias, error);
	return true;
}

bool dn_lrn_of(const struct dn_config *config, const struct npl_layer *layer, int x, struct dn_work *work, int *w,
	       char *why, size_t n)
{
	const struct npl_shape *from = &layer->in[0]->shape;
	const struct npl_attrs *attrs = layer->attrs;
	if (from->rank < 2 || from->dim[1] < 1 || !npl_shape_equal(from, &layer->out->shape))
		return REFUSE("input and output must be batch x channels, of one shape");
	const int64_t channels = from->dim[1], width = from->rank > 2 ? from->dim[from->rank - 1] : 1;
	int64_t height = 1;
	for (int d = 2; d + 1 < from->rank; d++)
		height *= from->dim[d];
	work->kind = DN_SUM;
	work->images = from->dim[0];
	work->ni = work->no = channels;
	work->in[0] = work->out[0] = height;
	work->in[1] = work->out[1] = width;
	work->from = work->to = (struct dn_layout){
		.image = channels * height * width, .map = height * width, .y = width, .x = 1};
	work->bias = true;
	work->lrn = (struct dn_lrn){.made = true, .below = (attrs->size - 1) / 2, .above = attrs->size / 2};
	return check_attributes(attrs, why, n) && choose_scale(config, attrs, x, work, w, why, n) &&
	       fit_power(attrs, x, work, why, n);
}

/* The maps that output m sums: first..end - 1. */
static void window_of(const struct dn_work *work, int64_t m, int64_t *first, int64_t *end)
{
	*first = m - min(work->lrn.below, m);
	*end = m + 1 + min(work->lrn.above, work->ni - 1 - m);
}

uint64_t dn_lrn_pairs(const struct dn_work *work)
{
	uint64_t pairs = 0;
	for (int64_t m = 0, first, end; m < work->no; m++) {
		window_of(work, m, &first, &end);
		pairs += (uint64_t)(end - first);
	}
	return pairs;
}

int dn_lrn_operands(const struct dn_work *work, struct npl_tensor *kernels, struct npl_tensor *biases,
		    struct npl_err *err)
{
	*kernels = (struct npl_tensor){.dtype = NPL_I16, .shape = npl_shape_of(2, work->no, work->ni)};
	*biases = (struct npl_tensor){.dtype = NPL_I32, .shape = npl_shape_of(1, work->no)};
	if (npl_tensor_alloc(kernels, err))
		return err->code;
	if (npl_tensor_alloc(biases, err)) {
		npl_tensor_free(kernels);
		return err->code;
	}
	int16_t *row = kernels->data;
	for (int64_t m = 0, first, end; m < work->no; m++, row += work->ni) {
		window_of(work, m, &first, &end);
		for (int64_t c = 0; c < work->ni; c++)
			row[c] = c >= first && c < end ? work->lrn.synapse : 0;
		((int32_t *)biases->data)[m] = work->lrn.bias;
	}
	return 0;
}
