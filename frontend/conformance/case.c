/* SPDX-License-Identifier: MIT
 *
 * One case (npulab/conformance.h): finds the operators that npulab lacks, then imports each data set in several ways
 * until one of them can be run. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/message.h"
#include "core/base/refuse.h"
#include "core/files/file.h"
#include "frontend/import/onnx_survey.h"
#include "impl.h"
#include "npulab/session.h"

/* The most elements of shapes, axes, switches and similar inputs. */
#define SMALL_ELEMENTS 64

/* The inputs that are constants for the importer; the others are fed. */
enum knowledge { NONE_KNOWN, SMALL_INTEGERS_KNOWN, ALL_KNOWN_BUT_FIRST, ALL_KNOWN, WAYS };

/* A device of integers needs its weights, scales and zero points as constants where that is possible. */
static const enum knowledge order_of_floats[WAYS] = {NONE_KNOWN, SMALL_INTEGERS_KNOWN, ALL_KNOWN_BUT_FIRST, ALL_KNOWN};
static const enum knowledge order_of_integers[WAYS] = {ALL_KNOWN_BUT_FIRST, NONE_KNOWN, SMALL_INTEGERS_KNOWN,
						       ALL_KNOWN};

struct attempt {
	struct npl_case *c;
	const struct npl_conformance_options *options;
	const struct onnx_survey *survey;
	const struct npl_data_set *set;
	const char *model; /* path of the model */
	struct npl_err error;
	bool by_chance;   /* only the values of a model that draws random numbers differ */
	bool from_device; /* error comes from the device, which says more than a later refusal of the importer */
};

static bool is_small_integer(const struct npl_tensor *t)
{
	bool integer = t->dtype == NPL_I64 || t->dtype == NPL_I32 || t->dtype == NPL_BOOL;
	return integer && npl_tensor_count(t) <= SMALL_ELEMENTS;
}

static bool is_known(enum knowledge knowledge, const struct npl_tensor *t, int i)
{
	switch (knowledge) {
	case SMALL_INTEGERS_KNOWN:
		return is_small_integer(t);
	case ALL_KNOWN_BUT_FIRST:
		return i > 0;
	case ALL_KNOWN:
		return true;
	default:
		return false;
	}
}

/* Loads the graph with these inputs known. given has room for all inputs and gets those that are to be fed, in
 * order. */
static int import(const struct attempt *a, enum knowledge knowledge, struct npl_tensor *inputs, int *n_given,
		  struct npl_graph **graph, struct npl_err *err)
{
	struct npl_tensor *constants = calloc((size_t)a->set->n_in + 1, sizeof *constants);
	struct npl_load_options options = {.constant_input = constants, .input_shape = inputs};
	*graph = NULL;
	if (!constants)
		return npl_no_memory(err);
	for (int i = 0; i < a->set->n_in; i++) {
		struct npl_tensor t = a->set->in[i];
		t.name = a->survey->input[i];
		t.owned = false;
		if (is_known(knowledge, &t, i))
			constants[options.n_constant_inputs++] = t;
		else
			inputs[options.n_input_shapes++] = t;
	}
	*n_given = options.n_input_shapes;
	int rc = npl_graph_load(a->model, &options, graph, err);
	free(constants);
	return rc;
}

/* Compares an output with the expected one. Random numbers never agree, but their types and shapes must. */
static int check(struct attempt *a, const struct npl_tensor *actual, const struct npl_tensor *expected,
		 struct npl_err *err)
{
	const struct npl_tolerance tolerance = {a->options->rtol, a->options->atol};
	int rc = npl_values_check(actual, expected, &tolerance, err);
	if (rc != NPL_ECHECK || !a->survey->random || actual->dtype != expected->dtype ||
	    !npl_shape_equal(&actual->shape, &expected->shape))
		return rc;
	a->by_chance = true;
	return npl_prefix(err, "random numbers cannot be compared (%s)", a->survey->random);
}

/* Runs the graph. Returns 0, NPL_EDEVICE when the device does not count as having run it, or the code of another
 * failure. */
static int run(struct attempt *a, struct npl_graph *graph, const struct npl_tensor *inputs, int n_given,
	       struct npl_err *err)
{
	const struct npl_data_set *set = a->set;
	if (graph->n_inputs != n_given || graph->n_outputs != set->n_out)
		return npl_fail(err, NPL_ECHECK, "the model has %d output%s, the data set %d", graph->n_outputs,
				npl_plural(graph->n_outputs), set->n_out);
	struct npl_tensor *outputs = calloc((size_t)graph->n_outputs + 1, sizeof *outputs);
	if (!outputs)
		return npl_no_memory(err);
	a->c->nodes = graph->n_nodes;
	int rc = a->options->device ? npl_case_on_device(graph, a->options->device, inputs, outputs, a->c, err)
				    : npl_evaluate(graph, inputs, outputs, NULL, err);
	if (!rc)
		rc = npl_graph_files_unchanged(graph, err);
	for (int i = 0; i < graph->n_outputs && !rc; i++)
		rc = check(a, &outputs[i], &set->out[i], err);
	for (int i = 0; i < graph->n_outputs; i++)
		npl_tensor_free(&outputs[i]);
	free(outputs);
	return rc;
}

static enum npl_case_status try(struct attempt *a, enum knowledge knowledge)
{
	struct npl_tensor *inputs = calloc((size_t)a->set->n_in + 1, sizeof *inputs);
	struct npl_graph *graph = NULL;
	struct npl_err err = {0};
	enum npl_case_status status = NPL_CASE_FAILED;
	int n_given = 0;
	a->by_chance = false;
	int rc = inputs ? import(a, knowledge, inputs, &n_given, &graph, &err) : npl_no_memory(&err);
	if (rc == NPL_EINPUT) {
		status = NPL_CASE_UNSUPPORTED;
	} else if (!rc) {
		rc = run(a, graph, inputs, n_given, &err);
		status = !rc                                 ? NPL_CASE_PASSED
			 : rc == NPL_EDEVICE || a->by_chance ? NPL_CASE_UNSUPPORTED
							     : NPL_CASE_FAILED;
	}
	if (rc && (status == NPL_CASE_FAILED || !a->from_device)) {
		a->error = err;
		a->from_device = rc == NPL_EDEVICE;
	}
	npl_graph_free(graph);
	free(inputs);
	return status;
}

/* Says whether this way to know inputs differs from the ways before it. */
static bool is_new(const struct npl_data_set *set, enum knowledge knowledge)
{
	int small = 0;
	for (int i = 0; i < set->n_in; i++)
		small += is_small_integer(&set->in[i]);
	return knowledge == NONE_KNOWN || (knowledge == SMALL_INTEGERS_KNOWN && small) ||
	       (knowledge == ALL_KNOWN_BUT_FIRST && set->n_in > 1) || (knowledge == ALL_KNOWN && set->n_in);
}

/* Checks that the inputs have the shapes that the model declares. The bfloat16 cases of CastLike declare the second
 * input in the shape of the first and give one element, on which the model cannot be run. Elsewhere such data is an
 * error. */
static int check_shapes(struct attempt *a)
{
	char actual_text[128], declared[128];
	for (int i = 0; i < a->set->n_in; i++) {
		const struct npl_shape *is = &a->set->in[i].shape, *model = &a->survey->input_shape[i];
		bool fits = model->rank < 0 || model->rank == is->rank;
		for (int d = 0; fits && d < model->rank; d++)
			fits = model->dim[d] < 0 || model->dim[d] == is->dim[d];
		if (!fits)
			return npl_fail(&a->error, NPL_EINPUT,
					"input '%s' has shape %s in the data, %s in the model: values written as "
					"uint16 that are not the model's",
					a->survey->input[i], npl_shape_text(is, actual_text, sizeof actual_text),
					npl_shape_text(model, declared, sizeof declared));
	}
	return 0;
}

static enum npl_case_status run_data_set(struct attempt *a)
{
	const struct npl_device *device = a->options->device;
	const enum knowledge *order = device && npl_case_is_integer(device) ? order_of_integers : order_of_floats;
	enum npl_case_status status = NPL_CASE_UNSUPPORTED;
	if (a->set->n_in != a->survey->n_inputs) {
		npl_fail(&a->error, NPL_ECHECK, "the model has %d input%s, the data set %d", a->survey->n_inputs,
			 npl_plural(a->survey->n_inputs), a->set->n_in);
		return NPL_CASE_FAILED;
	}
	if (a->set->has_bits && check_shapes(a))
		return NPL_CASE_UNSUPPORTED;
	for (int w = 0; w < WAYS && status == NPL_CASE_UNSUPPORTED; w++)
		if (is_new(a->set, order[w]) && !(order[w] == ALL_KNOWN && a->from_device))
			status = try(a, order[w]);
	return status;
}

/* Returns the status of a model that cannot be imported. Its own reason comes before that of data that cannot be
 * read. */
static enum npl_case_status refused(struct attempt *a, const struct npl_err *data)
{
	struct npl_graph *graph;
	struct npl_err err = {0};
	int rc = npl_graph_load(a->model, NULL, &graph, &err);
	npl_graph_free(graph);
	a->error = rc == NPL_EINPUT ? err : *data;
	return rc == NPL_EINPUT ? NPL_CASE_UNSUPPORTED : NPL_CASE_FAILED;
}

static enum npl_case_status run_data_sets(struct attempt *a)
{
	enum npl_case_status status = NPL_CASE_PASSED;
	int n;
	int *number = npl_data_set_numbers(a->c->path, &n);
	for (int i = 0; i < n && status == NPL_CASE_PASSED; i++) {
		struct npl_data_set set;
		struct npl_err err = {0};
		a->set = &set;
		a->from_device = false;
		a->c->data_sets++;
		if (npl_data_set_load(a->c->path, number[i], a->survey, &set, &err)) {
			status = refused(a, &err);
			a->set = NULL;
			break;
		}
		status = run_data_set(a);
		a->set = NULL;
		npl_data_set_free(&set);
		if (status != NPL_CASE_PASSED && n > 1)
			npl_prefix(&a->error, "test_data_set_%d", number[i]);
	}
	if (!n) {
		npl_fail(&a->error, NPL_EINPUT, "%s: its data sets are gone", a->c->path);
		status = NPL_CASE_FAILED;
	}
	free(number);
	return status;
}

/* Returns the names of all missing operators, for a sentence. */
static const char *missing_text(const struct onnx_survey *survey, struct npl_arena *arena)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	fprintf(out, "no operator%s", npl_plural(survey->n_missing));
	for (int i = 0; i < survey->n_missing; i++)
		fprintf(out, "%s %s", i ? "," : "", survey->missing[i]);
	const char *copy = fclose(out) ? NULL : npl_arena_strndup(arena, text, bytes);
	free(text);
	return copy;
}

/* Surveys a file. The names live in the arena. */
static int survey_file(const char *path, struct npl_arena *arena, struct onnx_survey *survey, struct npl_err *err)
{
	struct npl_file file;
	int rc = npl_file_map(path, SIZE_MAX, &file, err);
	if (rc)
		return rc;
	const struct onnx_reader reader = {.start = file.data, .arena = arena, .err = err};
	rc = onnx_survey(&reader, (struct onnx_span){reader.start, reader.start + file.bytes}, survey);
	npl_file_unmap(&file);
	return rc;
}

/* Returns the message without "PATH: " before it, for a table that has the case's name. */
static const char *without_path(const char *msg, const char *path)
{
	const size_t n = strlen(path);
	return !strncmp(msg, path, n) && !strncmp(msg + n, ": ", 2) ? msg + n + 2 : msg;
}

int npl_case_run(struct npl_case *c, const struct npl_conformance_options *options, struct npl_arena *arena,
		 struct npl_err *err)
{
	struct onnx_survey survey;
	struct attempt a = {.c = c, .options = options, .survey = &survey};
	const char *reason;
	a.model = npl_arena_printf(arena, "%s/model.onnx", c->path);
	if (!a.model)
		return npl_no_memory(err);
	if (survey_file(a.model, arena, &survey, &a.error)) {
		c->status = NPL_CASE_FAILED;
		reason = npl_arena_strdup(arena, without_path(a.error.msg, a.model));
	} else if (survey.n_missing) {
		c->status = NPL_CASE_UNSUPPORTED;
		c->n_missing = survey.n_missing;
		c->missing = survey.missing;
		reason = missing_text(&survey, arena);
	} else {
		c->status = run_data_sets(&a);
		reason = npl_arena_strdup(arena, without_path(a.error.msg, a.model));
	}
	c->reason = c->status == NPL_CASE_PASSED ? NULL : reason;
	return reason ? 0 : npl_no_memory(err);
}
