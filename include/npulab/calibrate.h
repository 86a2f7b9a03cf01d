/* SPDX-License-Identifier: MIT
 *
 * Calibration: runs a network on given inputs and derives, from the values seen, the ranges that number formats are
 * scaled to.
 *   minmax       all values seen: nothing saturates on these inputs.
 *   percentile   all but the outermost 100 - P percent of each value's elements, half of them at either end.
 *   mse          the range for which 256 levels give the least mean squared error, clipping and rounding together
 *                (Sung, Shin and Hwang, "Resiliency of Deep Neural Networks under Quantization", 2015, for the idea;
 *                elements are taken as evenly spread within the bins of a histogram, rounding as 1/12 of a step
 *                squared).
 * The last two use histograms of 2048 bins over the whole range, so they need two passes over the inputs. Zero is
 * always within a range. Formats of 16 bits have enough levels for all values seen and always use minmax.
 *
 *     npl_calibration_open(graph, &options, &calibration, &err);
 *     for (pass = 0; pass < npl_calibration_passes(calibration); pass++)
 *             for (b = 0; b < batches; b++)
 *                     npl_calibration_batch(calibration, pass, batch[b], outputs, NULL, &err);
 *     ranges = npl_calibration_ranges(calibration, NPL_FORMAT_INT8);
 *     npl_calibration_close(calibration);
 */
#ifndef NPULAB_CALIBRATE_H
#define NPULAB_CALIBRATE_H

#include "npulab/layer.h"
#include "npulab/session.h"

#ifdef __cplusplus
extern "C" {
#endif

enum npl_calibration_method { NPL_CALIBRATION_MINMAX, NPL_CALIBRATION_PERCENTILE, NPL_CALIBRATION_MSE };

struct npl_calibration_options {
	enum npl_calibration_method method;
	double percent; /* for NPL_CALIBRATION_PERCENTILE alone: above 50, at most 100 */
};

/* Parses "minmax", "mse", "percentile" (99.99) or "percentile=P". NPL_EUSAGE names the accepted words. */
int npl_calibration_parse(const char *text, struct npl_calibration_options *options, struct npl_err *err);
/* Writes "min-max", "99.99th percentile" or "least squared error"; returns buf. */
const char *npl_calibration_text(const struct npl_calibration_options *options, char *buf, size_t n);

struct npl_calibration; /* opaque */

int npl_calibration_open(struct npl_graph *graph, const struct npl_calibration_options *options,
			 struct npl_calibration **calibration, struct npl_err *err);
void npl_calibration_close(struct npl_calibration *calibration); /* accepts NULL */
int npl_calibration_passes(const struct npl_calibration *calibration);
/* Evaluates one batch in float32 as npl_evaluate does; the caller frees the tensors in outputs[]. observer, which may
 * be NULL, sees the values of the first pass. */
int npl_calibration_batch(struct npl_calibration *calibration, int pass, const struct npl_tensor *inputs,
			  struct npl_tensor *outputs, const struct npl_value_observer *observer, struct npl_err *err);
/* Returns graph->n_values ranges for a format; they live as long as the calibration. */
const struct npl_range *npl_calibration_ranges(struct npl_calibration *calibration, enum npl_format format);

#ifdef __cplusplus
}
#endif

#endif
