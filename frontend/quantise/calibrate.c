/* SPDX-License-Identifier: MIT
 *
 * Calibration (npulab/calibrate.h). */
#include "npulab/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/refuse.h"
#include "core/files/words.h"
#include "core/number_format.h"

#define BINS   2048
#define LEVELS 256
#define SHRINK 128 /* candidates for either end of a range, in the method mse */

/* How often a tensor's elements fell into each bin of the range that the first pass saw. */
struct histogram {
	uint64_t count[BINS];
};

struct npl_calibration {
	struct npl_graph *graph;
	struct npl_calibration_options options;
	struct npl_range *observed_range, *chosen_range;
	struct histogram **histogram; /* per value; NULL: it has no range, or all of it is one number */
	bool ready;                   /* chosen_range holds what the histograms say */
};

int npl_calibration_parse(const char *text, struct npl_calibration_options *options, struct npl_err *err)
{
	const char *percent = "percentile=";
	*options = (struct npl_calibration_options){.percent = 99.99};
	if (!strcmp(text, "minmax"))
		return 0;
	options->method = !strcmp(text, "mse") ? NPL_CALIBRATION_MSE : NPL_CALIBRATION_PERCENTILE;
	if (!strcmp(text, "mse") || !strcmp(text, "percentile"))
		return 0;
	if (!strncmp(text, percent, strlen(percent)) && npl_parse_number(text + strlen(percent), &options->percent) &&
	    options->percent > 50 && options->percent <= 100)
		return 0;
	return npl_fail(
		err, NPL_EUSAGE,
		"--calibrate %s: expected minmax, mse, percentile or percentile=P with P above 50 and up to 100", text);
}

const char *npl_calibration_text(const struct npl_calibration_options *options, char *buf, size_t n)
{
	if (options->method == NPL_CALIBRATION_PERCENTILE)
		snprintf(buf, n, "%gth percentile", options->percent);
	else
		snprintf(buf, n, "%s", options->method == NPL_CALIBRATION_MSE ? "least squared error" : "min-max");
	return buf;
}

int npl_calibration_open(struct npl_graph *graph, const struct npl_calibration_options *options,
			 struct npl_calibration **calibration, struct npl_err *err)
{
	size_t n = (size_t)graph->n_values + 1;
	struct npl_calibration *c = calloc(1, sizeof *c);
	*calibration = c;
	if (!c)
		return npl_no_memory(err);
	c->graph = graph;
	c->options = *options;
	c->observed_range = calloc(n, sizeof *c->observed_range);
	c->chosen_range = calloc(n, sizeof *c->chosen_range);
	c->histogram = calloc(n, sizeof *c->histogram);
	if (!c->observed_range || !c->chosen_range || !c->histogram) {
		npl_calibration_close(c);
		*calibration = NULL;
		return npl_fail(err, NPL_ENOMEM, "out of memory for %d values", graph->n_values);
	}
	for (int v = 0; v < graph->n_values; v++)
		c->observed_range[v] = NPL_RANGE_EMPTY;
	return 0;
}

void npl_calibration_close(struct npl_calibration *c)
{
	if (!c)
		return;
	for (int v = 0; c->histogram && v < c->graph->n_values; v++)
		free(c->histogram[v]);
	free(c->histogram);
	free(c->observed_range);
	free(c->chosen_range);
	free(c);
}

int npl_calibration_passes(const struct npl_calibration *c)
{
	return c->options.method == NPL_CALIBRATION_MINMAX ? 1 : 2;
}

static int count_bins(void *context, int v, const struct npl_tensor *tensor, struct npl_err *err)
{
	struct npl_calibration *c = context;
	const struct npl_range *range = &c->observed_range[v];
	const double low = (double)range->low, width = ((double)range->high - low) / BINS;
	if (tensor->dtype != NPL_F32 || !(width > 0))
		return 0;
	if (!c->histogram[v])
		c->histogram[v] = calloc(1, sizeof *c->histogram[v]);
	if (!c->histogram[v])
		return npl_fail(err, NPL_ENOMEM, "out of memory for the histogram of '%s'", c->graph->value[v].name);
	const float *x = tensor->data;
	for (int64_t i = 0, n = npl_tensor_count(tensor); i < n; i++) {
		if (!isfinite(x[i]))
			continue;
		double bin = ((double)x[i] - low) / width;
		c->histogram[v]->count[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (int)bin]++;
	}
	return 0;
}

int npl_calibration_batch(struct npl_calibration *c, int pass, const struct npl_tensor *inputs,
			  struct npl_tensor *outputs, const struct npl_value_observer *observer, struct npl_err *err)
{
	const struct npl_value_observer counter = {count_bins, c};
	return pass ? npl_evaluate_observed(c->graph, inputs, outputs, NULL, &counter, err)
		    : npl_evaluate_observed(c->graph, inputs, outputs, c->observed_range, observer, err);
}

/* Returns the range without the outermost elements, of which either end has half; a bin that would be cut in two
 * stays. */
static struct npl_range without_tails(const struct histogram *h, struct npl_range range, double percent)
{
	const double width = ((double)range.high - (double)range.low) / BINS;
	double total = 0, cut = 0;
	int first = 0, last = BINS - 1;
	for (int b = 0; b < BINS; b++)
		total += (double)h->count[b];
	const double tail = total * (100 - percent) / 200;
	for (; first < last && cut + (double)h->count[first] <= tail; first++)
		cut += (double)h->count[first];
	for (cut = 0; last > first && cut + (double)h->count[last] <= tail; last--)
		cut += (double)h->count[last];
	struct npl_range inner = range;
	inner.low = (float)((double)range.low + first * width);
	inner.high = (float)((double)range.low + (last + 1) * width);
	return inner;
}

/* Sums over the bins below each edge: elements, and their first two moments. */
struct moments {
	double n[BINS + 1], x[BINS + 1], x2[BINS + 1];
};

static void sum_moments(const struct histogram *h, double low, double width, struct moments *m)
{
	m->n[0] = m->x[0] = m->x2[0] = 0;
	for (int b = 0; b < BINS; b++) {
		const double n = (double)h->count[b], middle = low + (b + 0.5) * width;
		m->n[b + 1] = m->n[b] + n;
		m->x[b + 1] = m->x[b] + n * middle;
		m->x2[b + 1] = m->x2[b] + n * (middle * middle + width * width / 12);
	}
}

/* Returns the sum of (x - limit)^2 over bins first..end - 1. */
static double clipping_error(const struct moments *m, int first, int end, double limit)
{
	return m->x2[end] - m->x2[first] - 2 * limit * (m->x[end] - m->x[first]) +
	       limit * limit * (m->n[end] - m->n[first]);
}

/* Returns the range with the least squared error; without memory, the whole range. Either end has SHRINK candidates,
 * which are bin edges: from all of the range on that side of zero down to a SHRINK-th of it. */
static struct npl_range least_squares(const struct histogram *h, struct npl_range range)
{
	const double low = (double)range.low, width = ((double)range.high - low) / BINS;
	double zero = -low / width, least_error = INFINITY;
	struct npl_range best = range;
	struct moments *m = malloc(sizeof *m);
	if (!m)
		return range;
	sum_moments(h, low, width, m);
	zero = zero < 0 ? 0 : zero > BINS ? BINS : zero;
	for (int i = 0; i < SHRINK; i++)
		for (int k = 0; k < SHRINK; k++) {
			const int first = (int)floor(zero * i / SHRINK),
				  end = (int)ceil(BINS - (BINS - zero) * k / SHRINK);
			const double from = low + first * width, to = low + end * width;
			const double step = (fmax(to, 0) - fmin(from, 0)) / (LEVELS - 1);
			const double error = clipping_error(m, 0, first, from) + clipping_error(m, end, BINS, to) +
					     (m->n[end] - m->n[first]) * step * step / 12;
			if (end > first && error < least_error) {
				least_error = error;
				best.low = (float)from;
				best.high = (float)to;
			}
		}
	free(m);
	return best;
}

static void choose(struct npl_calibration *c)
{
	for (int v = 0; v < c->graph->n_values; v++) {
		const struct histogram *h = c->histogram[v];
		c->chosen_range[v] = c->observed_range[v];
		if (h && c->options.method == NPL_CALIBRATION_PERCENTILE)
			c->chosen_range[v] = without_tails(h, c->observed_range[v], c->options.percent);
		else if (h)
			c->chosen_range[v] = least_squares(h, c->observed_range[v]);
	}
	c->ready = true;
}

const struct npl_range *npl_calibration_ranges(struct npl_calibration *c, enum npl_format format)
{
	if (c->options.method == NPL_CALIBRATION_MINMAX || !npl_is_byte(npl_format_dtype(format)))
		return c->observed_range;
	if (!c->ready)
		choose(c);
	return c->chosen_range;
}
