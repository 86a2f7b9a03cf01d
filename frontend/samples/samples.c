/* SPDX-License-Identifier: MIT
 *
 * Samples: tensors for the graph's inputs, from the user or from a seed, cut into batches (model.h). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arith.h"
#include "core/base/message.h"
#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "frontend/graph/follow.h"
#include "frontend/graph/values.h"
#include "npulab/model.h"
#include "npulab/random.h"
#include "npulab/tensor_file.h"

static const struct npl_value *graph_input(const struct npl_graph *graph, int i)
{
	return &graph->value[graph->input[i]];
}

/* Says whether input i has the batch in dimension 0. An input that does not is the same for every batch. */
static bool is_batched(const struct npl_graph *graph, int i)
{
	return graph_input(graph, i)->batched;
}

/* Returns the input that a file is for; see npl_input_of_file. */
static int find_input(const struct npl_graph *graph, const struct npl_samples *samples, const char *spec,
		      const char **file)
{
	const char **name = calloc((size_t)graph->n_inputs + 1, sizeof *name);
	bool *is_bound = calloc((size_t)graph->n_inputs + 1, sizeof *is_bound);
	int index = -1;
	*file = spec;
	for (int i = 0; name && is_bound && i < graph->n_inputs; i++) {
		name[i] = graph_input(graph, i)->name;
		is_bound[i] = samples->input[i].data != NULL;
	}
	if (name && is_bound)
		index = npl_input_of_file(name, is_bound, graph->n_inputs, spec, file);
	free(name);
	free(is_bound);
	return index;
}

static int check_sample(const struct npl_graph *graph, int i, const char *file, const struct npl_tensor *t,
			struct npl_err *err)
{
	const struct npl_value *value = graph_input(graph, i);
	struct npl_shape expected_shape = value->shape;
	bool batched = is_batched(graph, i);
	char actual[128], expected[128];
	if (t->dtype != value->dtype)
		return npl_fail(err, NPL_EINPUT, "%s: input '%s' is %s, the file holds %s", file, value->name,
				npl_dtype_name(value->dtype), npl_dtype_name(t->dtype));
	if (batched && t->shape.rank == expected_shape.rank)
		expected_shape.dim[0] = t->shape.dim[0];
	if (npl_tensor_count(t) == 0)
		return npl_fail(err, NPL_EINPUT, "%s: shape %s holds no sample of input '%s': it has no elements", file,
				npl_shape_text(&t->shape, actual, sizeof actual), value->name);
	if (!npl_shape_equal(&expected_shape, &t->shape))
		return npl_fail(err, NPL_EINPUT, "%s: shape %s does not fit input '%s', expected %s%s", file,
				npl_shape_text(&t->shape, actual, sizeof actual), value->name,
				npl_shape_text(&value->shape, expected, sizeof expected),
				batched ? " with any number of samples first" : "");
	return 0;
}

static int fail_no_input(const struct npl_graph *graph, const char *spec, const char *equals, struct npl_err *err)
{
	const char **name = calloc((size_t)graph->n_inputs + 1, sizeof *name);
	char *input_name = strndup(spec, (size_t)(equals - spec));
	for (int i = 0; name && i < graph->n_inputs; i++)
		name[i] = graph_input(graph, i)->name;
	const int code = name && input_name ? npl_fail(err, NPL_EINPUT, "--input %s: the model has no input '%s'%s",
						       spec, input_name, NPL_NEAREST(input_name, name, graph->n_inputs))
					    : npl_no_memory(err);
	free(name);
	free(input_name);
	return code;
}

static int load_inputs(const struct npl_graph *graph, const char *const *files, int n_files,
		       struct npl_samples *samples, struct npl_err *err)
{
	for (int f = 0; f < n_files; f++) {
		const char *file;
		int i = find_input(graph, samples, files[f], &file);
		const char *equals = strchr(files[f], '=');
		if (equals && file == files[f] && access(file, F_OK))
			return fail_no_input(graph, files[f], equals, err);
		if (i < 0)
			return npl_fail(err, NPL_EINPUT, "--input %s: the model has %d input%s, all given already",
					files[f], graph->n_inputs, npl_plural(graph->n_inputs));
		if (samples->input[i].data)
			return npl_fail(err, NPL_EINPUT, "--input %s: input '%s' is given twice", files[f],
					graph_input(graph, i)->name);
		if (npl_tensor_load(file, &samples->input[i], err) ||
		    check_sample(graph, i, file, &samples->input[i], err))
			return err->code;
	}
	for (int i = 0; i < graph->n_inputs; i++)
		if (!samples->input[i].data)
			return npl_fail(err, NPL_EINPUT, "input '%s' is missing: give --input %s=FILE",
					graph_input(graph, i)->name, graph_input(graph, i)->name);
	return 0;
}

static int make_random(const struct npl_graph *graph, uint64_t seed, bool values, struct npl_samples *samples,
		       struct npl_err *err)
{
	struct npl_random random = {.state = seed};
	int64_t *below = calloc((size_t)graph->n_inputs + 1, sizeof *below);
	int rc = below ? npl_index_limits(graph, below, err) : npl_no_memory(err);
	samples->random = true;
	for (int i = 0; i < graph->n_inputs && !rc; i++) {
		struct npl_tensor *t = &samples->input[i];
		*t = (struct npl_tensor){.name = graph_input(graph, i)->name,
					 .dtype = graph_input(graph, i)->dtype,
					 .shape = graph_input(graph, i)->shape};
		if (!values)
			continue;
		rc = npl_tensor_alloc(t, err);
		if (!rc)
			npl_random_sample(t, below[i], &random);
	}
	free(below);
	return rc;
}

static int count_samples(const struct npl_graph *graph, struct npl_samples *samples, struct npl_err *err)
{
	int first = -1;
	samples->count = 1;
	if (graph->batch < 1)
		return npl_fail(err, NPL_EINPUT, "input '%s' has no samples: its dimension 0, the batch, is 0",
				graph_input(graph, 0)->name);
	for (int i = 0; i < graph->n_inputs; i++) {
		if (!is_batched(graph, i))
			continue;
		int64_t n = samples->input[i].shape.dim[0];
		if (first >= 0 && n != samples->count)
			return npl_fail(err, NPL_EINPUT, "input '%s' has %lld sample%s, input '%s' has %lld",
					graph_input(graph, i)->name, (long long)n, npl_plural(n),
					graph_input(graph, first)->name, (long long)samples->count);
		samples->count = n;
		first = first < 0 ? i : first;
	}
	return 0;
}

static int fail_indivisible(const struct npl_graph *graph, const struct npl_samples *samples, const char *mixed_by,
			    struct npl_err *err)
{
	const long long n = samples->count, batch = graph->batch;
	if (graph->batching.only_one)
		return npl_fail(err, NPL_EINPUT, "the inputs hold %lld samples and the batch is 1: %s; give one sample",
				n, mixed_by);
	return npl_fail(
		err, NPL_EINPUT,
		"the inputs hold %lld sample%s and the batch is %lld: they can neither be cut into batches nor filled "
		"up to one, as %s; set the batch to %lld (--batch or --dim) to run them as one",
		n, npl_plural(n), batch, mixed_by, n);
}

/* Checks that samples which are no full batch are independent, and finds which rows of the results belong to a
 * sample. */
static int check_cut(const struct npl_graph *graph, struct npl_samples *samples, struct npl_err *err)
{
	if (samples->count == graph->batch)
		return 0;
	const size_t bytes = ((size_t)graph->n_outputs + 1) * sizeof *samples->rows;
	samples->rows = calloc(1, bytes);
	if (!samples->rows)
		return npl_no_memory(err);
	if (graph->batching.known) {
		if (graph->batching.mixed_by)
			return fail_indivisible(graph, samples, graph->batching.mixed_by, err);
		memcpy(samples->rows, graph->batching.rows, (size_t)graph->n_outputs * sizeof *samples->rows);
		return 0;
	}
	if (graph->batch < 2)
		return npl_fail(
			err, NPL_EINPUT,
			"the inputs hold %lld samples, and of a graph that was loaded for a batch of 1 without its "
			"files it is not known whether they can be cut",
			(long long)samples->count);
	struct follow_result result = {.rows = samples->rows};
	int rc = follow_samples(graph, NULL, &result, err);
	return rc || !result.mixed_by[0] ? rc : fail_indivisible(graph, samples, result.mixed_by, err);
}

static int load_labels(const char *file, struct npl_samples *samples, struct npl_err *err)
{
	struct npl_tensor raw = {0};
	if (npl_tensor_load(file, &raw, err))
		return err->code;
	int rc = 0;
	if ((raw.dtype != NPL_I64 && raw.dtype != NPL_I32 && raw.dtype != NPL_U8) || raw.shape.rank != 1 ||
	    raw.shape.dim[0] != samples->count)
		rc = npl_fail(
			err, NPL_EINPUT,
			"%s: expected %lld class numbers (int64, int32 or uint8, one dimension) for as many samples",
			file, (long long)samples->count);
	samples->labels = (struct npl_tensor){.dtype = NPL_I64, .shape = npl_shape_of(1, samples->count)};
	if (!rc)
		rc = npl_tensor_alloc(&samples->labels, err);
	for (int64_t i = 0; i < samples->count && !rc; i++)
		((int64_t *)samples->labels.data)[i] = raw.dtype == NPL_I64   ? ((int64_t *)raw.data)[i]
						       : raw.dtype == NPL_I32 ? ((int32_t *)raw.data)[i]
									      : ((uint8_t *)raw.data)[i];
	npl_tensor_free(&raw);
	return rc;
}

static int make_samples(const struct npl_graph *graph, const char *const *files, int n_files, const char *labels,
			uint64_t seed, bool values, struct npl_samples *samples, struct npl_err *err)
{
	*samples = (struct npl_samples){.n_inputs = graph->n_inputs};
	samples->input = calloc((size_t)graph->n_inputs + 1, sizeof *samples->input);
	int rc = samples->input ? 0 : npl_no_memory(err);
	if (!rc)
		rc = n_files ? load_inputs(graph, files, n_files, samples, err)
			     : make_random(graph, seed, values, samples, err);
	if (!rc)
		rc = count_samples(graph, samples, err);
	if (!rc)
		rc = check_cut(graph, samples, err);
	if (!rc && labels)
		rc = load_labels(labels, samples, err);
	if (rc)
		npl_samples_free(samples);
	return rc;
}

int npl_samples_load(const struct npl_graph *graph, const char *const *files, int n_files, const char *labels,
		     uint64_t seed, struct npl_samples *samples, struct npl_err *err)
{
	return make_samples(graph, files, n_files, labels, seed, true, samples, err);
}

int npl_samples_describe(const struct npl_graph *graph, const char *labels, struct npl_samples *samples,
			 struct npl_err *err)
{
	return make_samples(graph, NULL, 0, labels, 0, false, samples, err);
}

void npl_samples_free(struct npl_samples *samples)
{
	for (int i = 0; samples->input && i < samples->n_inputs; i++)
		npl_tensor_free(&samples->input[i]);
	free(samples->input);
	free(samples->rows);
	npl_tensor_free(&samples->labels);
	*samples = (struct npl_samples){0};
}

int64_t npl_samples_batches(const struct npl_graph *graph, const struct npl_samples *samples)
{
	return npl_div_up_i64(samples->count, graph->batch);
}

int npl_samples_batch(const struct npl_graph *graph, const struct npl_samples *samples, int64_t b,
		      struct npl_tensor *batch, int64_t *real, struct npl_err *err)
{
	int64_t first = b * graph->batch, remaining = samples->count - first;
	*real = remaining < graph->batch ? remaining : graph->batch;
	for (int i = 0; i < graph->n_inputs; i++) {
		const struct npl_tensor *input = &samples->input[i];
		batch[i] = *input;
		batch[i].owned = false;
		batch[i].name = graph_input(graph, i)->name;
		batch[i].shape = graph_input(graph, i)->shape;
		if (!is_batched(graph, i) || !input->data)
			continue;
		size_t sample_bytes = npl_tensor_bytes(input) / (size_t)input->shape.dim[0];
		const char *from = (const char *)input->data + (size_t)first * sample_bytes;
		batch[i].data = (void *)from;
		if (*real == graph->batch)
			continue;
		if (npl_tensor_alloc(&batch[i], err)) {
			while (--i >= 0)
				npl_tensor_free(&batch[i]);
			return err->code;
		}
		memcpy(batch[i].data, from, (size_t)*real * sample_bytes);
		for (int64_t k = *real; k < graph->batch; k++)
			memcpy((char *)batch[i].data + (size_t)k * sample_bytes,
			       from + (size_t)(*real - 1) * sample_bytes, sample_bytes);
	}
	return 0;
}
