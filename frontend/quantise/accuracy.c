/* SPDX-License-Identifier: MIT
 *
 * How far a device's outputs are from the float reference's (compare.h). */
#include <math.h>

#include "core/base/dtype.h"
#include "npulab/compare.h"

/* Returns the number of classes of a classifier's output, which is (samples, classes), possibly with spatial dimensions
 * of 1; 0: it is none. */
static int64_t classes_of(const struct npl_tensor *t, int64_t samples)
{
	if (t->dtype != NPL_F32 || t->shape.rank < 2 || t->shape.dim[0] != samples || t->shape.dim[1] < 2)
		return 0;
	for (int i = 2; i < t->shape.rank; i++)
		if (t->shape.dim[i] != 1)
			return 0;
	return t->shape.dim[1];
}

/* Returns the index of the greatest value of a row; -1 when one is not a number. */
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
		return npl_fail(err, NPL_EINPUT, "labels are given, but output '%s' is not a list of classes",
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
	int64_t classes = classes_of(out, count), n_agreeing = 0, n_correct = 0;
	bool chosen = true,
	     reference_has_choice = ref != NULL; /* a row that holds a NaN has no greatest output, and so no top-1 */
	if (!classes || count < 1)
		return;
	for (int64_t i = 0; i < count; i++) {
		int64_t choice = greatest((const float *)out->data + i * classes, classes);
		int64_t reference_choice = ref ? greatest((const float *)ref->data + i * classes, classes) : -1;
		chosen = chosen && choice >= 0;
		reference_has_choice = reference_has_choice && reference_choice >= 0;
		n_agreeing += choice == reference_choice;
		n_correct += labels && choice == ((const int64_t *)labels->data)[i];
	}
	accuracy->top1_agreement = chosen && reference_has_choice ? (double)n_agreeing / (double)count : NAN;
	accuracy->top1_accuracy = chosen && labels ? (double)n_correct / (double)count : NAN;
}

/* Sums over values of one kind. */
struct sums {
	int64_t n;
	double signal, noise;
	uint64_t not_finite, reference_not_finite;
};

/* Returns the distance between elements i. 64-bit integers are subtracted as integers, because a double does not hold
 * all of them. */
static double distance(const struct npl_tensor *a, const struct npl_tensor *b, int64_t i)
{
	if (a->dtype == NPL_I64 || a->dtype == NPL_U64) {
		uint64_t p = ((const uint64_t *)a->data)[i], q = ((const uint64_t *)b->data)[i];
		bool less = a->dtype == NPL_I64 ? (int64_t)p < (int64_t)q : p < q;
		return (double)(less ? q - p : p - q);
	}
	return fabs(npl_tensor_real(a, i) - npl_tensor_real(b, i));
}

/* Adds an output to the sums and the greatest error, which becomes NAN if the two tensors differ in type or shape.
 * Elements that are not finite on either side have no difference and are only counted. */
static void compare(const struct npl_tensor *ref, const struct npl_tensor *out, struct sums *sums, double *max_error)
{
	int64_t n = npl_tensor_count(out);
	if (out->dtype != ref->dtype || !npl_shape_equal(&out->shape, &ref->shape))
		*max_error = NAN;
	for (int64_t i = 0; i < n && !isnan(*max_error); i++) {
		double reference = npl_tensor_real(ref, i), error = distance(out, ref, i);
		if (!isfinite(reference)) {
			sums->reference_not_finite++;
			continue;
		}
		if (!isfinite(npl_tensor_real(out, i))) {
			sums->not_finite++;
			continue;
		}
		sums->signal += reference * reference;
		sums->noise += error * error;
		*max_error = fmax(*max_error, error);
	}
	sums->n += n;
}

void npl_accuracy_of(const struct npl_tensor *ref, const struct npl_tensor *out, int n_outputs, int64_t count,
		     const struct npl_tensor *labels, struct npl_accuracy *accuracy)
{
	struct sums sums[2] = {0}; /* integers, floats */
	double max_error = 0;
	*accuracy = NPL_ACCURACY_UNKNOWN;
	if (n_outputs)
		classify(ref, out, count, labels && labels->data ? labels : NULL, accuracy);
	if (!ref)
		return;
	for (int k = 0; k < n_outputs; k++)
		compare(&ref[k], &out[k], &sums[npl_is_float(out[k].dtype)], &max_error);
	const struct sums *judged = &sums[sums[1].n > 0];
	accuracy->not_finite = sums[0].not_finite + sums[1].not_finite;
	accuracy->reference_not_finite = sums[0].reference_not_finite + sums[1].reference_not_finite;
	if (accuracy->not_finite && !isnan(max_error)) {
		accuracy->max_abs_error = INFINITY;
		accuracy->sqnr_db = -INFINITY;
		return;
	}
	if (accuracy->reference_not_finite)
		return;
	accuracy->max_abs_error = sums[0].n + sums[1].n > 0 ? max_error : NAN;
	accuracy->sqnr_db = isnan(max_error) || !(judged->noise > 0) || !(judged->signal > 0) || isinf(judged->noise)
				    ? NAN
				    : 10 * log10(judged->signal / judged->noise);
}
