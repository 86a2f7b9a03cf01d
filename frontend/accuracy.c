/* SPDX-License-Identifier: MIT
 *
 * How far a device's outputs are from the float reference's (compare.h). */
#include <math.h>

#include "npulab/compare.h"

/* A classifier's output: (samples, classes), possibly with spatial dimensions of 1. */
static int64_t classes_of(const struct npl_tensor *t, int64_t samples)
{
	if (t->dtype != NPL_F32 || t->shape.rank < 2 || t->shape.dim[0] != samples || t->shape.dim[1] < 2)
		return 0;
	for (int i = 2; i < t->shape.rank; i++)
		if (t->shape.dim[i] != 1)
			return 0;
	return t->shape.dim[1];
}

/* The greatest of a row, -1 when one is not a number. */
static int64_t greatest(const float *row, int64_t n)
{
	int64_t best = 0;
	for (int64_t i = 0; i < n; i++) {
		if (isnan(row[i]))
			return -1;
		best = row[i] > row[best] ? i : best;
	}
	return best;
}

int npl_labels_check(const struct npl_graph *graph, const struct npl_samples *samples, struct npl_err *err)
{
	if (!samples->labels.data || !graph->n_outputs)
		return 0;
	const struct npl_value *value = &graph->value[graph->output[0]];
	int64_t classes = classes_of(&(struct npl_tensor){.dtype = value->dtype, .shape = value->shape}, graph->batch);
	if (!classes)
		return npl_fail(err, NPL_EINPUT, "labels are given, but output '%s' is no list of classes",
				value->name);
	for (int64_t i = 0; i < samples->count; i++) {
		int64_t label = ((const int64_t *)samples->labels.data)[i];
		if (label < 0 || label >= classes)
			return npl_fail(err, NPL_EINPUT,
					"the label of sample %lld is %lld, expected a class from 0 to %lld",
					(long long)i, (long long)label, (long long)classes - 1);
	}
	return 0;
}

static void classify(const struct npl_tensor *ref, const struct npl_tensor *out, int64_t count,
		     const struct npl_tensor *labels, struct npl_accuracy *accuracy)
{
	int64_t classes = classes_of(out, count), agree = 0, right = 0;
	bool chosen = true, wanted = ref != NULL; /* a row that holds a NaN has no greatest output, and so no top-1 */
	if (!classes || count < 1)
		return;
	for (int64_t i = 0; i < count; i++) {
		int64_t choice = greatest((const float *)out->data + i * classes, classes);
		int64_t want = ref ? greatest((const float *)ref->data + i * classes, classes) : -1;
		chosen = chosen && choice >= 0;
		wanted = wanted && want >= 0;
		agree += choice == want;
		right += labels && choice == ((const int64_t *)labels->data)[i];
	}
	accuracy->top1_agreement = chosen && wanted ? (double)agree / (double)count : NAN;
	accuracy->top1_accuracy = chosen && labels ? (double)right / (double)count : NAN;
}

void npl_accuracy_of(const struct npl_tensor *ref, const struct npl_tensor *out, int n_outputs, int64_t count,
		     const struct npl_tensor *labels, struct npl_accuracy *accuracy)
{
	*accuracy = (struct npl_accuracy){NAN, NAN, NAN, NAN};
	if (n_outputs)
		classify(ref, out, count, labels && labels->data ? labels : NULL, accuracy);
	if (!ref)
		return;
	double signal = 0, noise = 0, most = 0;
	bool bad = false;
	for (int k = 0; k < n_outputs; k++) {
		if (out[k].dtype != NPL_F32)
			continue;
		const float *r = ref[k].data, *o = out[k].data;
		int64_t n = npl_tensor_count(&out[k]);
		for (int64_t i = 0; i < n; i++) {
			double error = (double)o[i] - (double)r[i];
			bad = bad || isnan(error);
			signal += (double)r[i] * (double)r[i];
			noise += error * error;
			most = fabs(error) > most ? fabs(error) : most;
		}
	}
	accuracy->max_abs_error = bad ? NAN : most;
	accuracy->sqnr_db = bad || noise == 0 || signal == 0 ? NAN : 10 * log10(signal / noise);
}
