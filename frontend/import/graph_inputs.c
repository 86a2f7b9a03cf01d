/* SPDX-License-Identifier: MIT
 *
 * The inputs of a network and their open dimensions. A dimension that the model leaves open has a name: the model's
 * name for it, which may occur several times, or INPUT[I]. Names get their values from --dim, from inputs that are
 * known or given, and from the files of samples.
 *
 * The batch is dimension 0 of the first input that leaves it open, else of the first input; every dimension of its name
 * is the batch too, or, where it has no name, dimension 0 of every input of its size. An open dimension 0 of another
 * name is the batch as well, unless something such as a file of another length gives it another size. */
#include "frontend/graph/build.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/message.h"
#include "core/base/nearest.h"
#include "core/base/refuse.h"
#include "frontend/graph/values.h"
#include "npulab/tensor_file.h"

struct dim { /* an open dimension's name */
	const char *name;
	int64_t value;      /* -1: not known */
	const char *origin; /* where the value comes from, for messages */
};

struct dims {
	struct graph_builder *b;
	struct graph_names names;
	struct dim *dim;
	int n;
	int64_t capacity;
	int first; /* the input whose dimension 0 is the batch, or -1 */
	int batch; /* the name of that dimension; -1: the model gives its size, or gives that input no shape */
};

int graph_declare_input(struct graph_builder *b, const struct graph_input *input)
{
	int v = graph_names_find(&b->values, input->name);
	if (v >= 0 && b->value[v].constant)
		return 0; /* models before IR version 4 list every initialiser as an input too */
	struct graph_input *grown = npl_grow(b->declared, b->n_declared, &b->declared_capacity, sizeof *grown);
	if (!grown)
		return npl_no_memory(b->err);
	b->declared = grown;
	grown[b->n_declared++] = *input;
	return 0;
}

/* Returns the value of an input that the caller knows, or NULL. */
static const struct npl_tensor *known_value(const struct graph_builder *b, const struct graph_input *input)
{
	for (int i = 0; i < b->options.n_constant_inputs; i++)
		if (b->options.constant_input[i].name && !strcmp(b->options.constant_input[i].name, input->name))
			return &b->options.constant_input[i];
	return NULL;
}

/* Returns the tensor that gives the shape of an input, or NULL. */
static const struct npl_tensor *input_shape_of(const struct graph_builder *b, int i)
{
	const struct npl_tensor *constant = known_value(b, &b->declared[i]);
	for (int k = 0; k < b->options.n_input_shapes && !constant; k++) {
		const char *name = b->options.input_shape[k].name;
		if (name ? !strcmp(name, b->declared[i].name) : k == i)
			constant = &b->options.input_shape[k];
	}
	return constant;
}

/* Returns the index of the name of an open dimension, or a negative code. */
static int name_dim(struct dims *d, const struct graph_input *input, int i)
{
	struct graph_builder *b = d->b;
	const char *name = input->symbol[i];
	if (!name || !*name)
		name = npl_arena_printf(&b->graph->arena, "%s[%d]", input->name, i);
	int found = name ? graph_names_find(&d->names, name) : -1;
	if (found >= 0)
		return found;
	struct dim *grown = name ? npl_grow(d->dim, d->n, &d->capacity, sizeof *grown) : NULL;
	if (!grown)
		return npl_no_memory(b->err);
	d->dim = grown;
	if (graph_names_add(&d->names, name, d->n))
		return npl_no_memory(b->err);
	d->dim[d->n] = (struct dim){.name = name, .value = -1};
	return d->n++;
}

static int set_dim(struct dims *d, int k, int64_t value, const char *from)
{
	if (!d->dim)
		return npl_fail(d->b->err, NPL_EINTERNAL, "dimension %d has no name", k);
	struct dim *dim = d->dim + k;
	if (dim->value >= 0 && dim->value != value)
		return npl_fail(d->b->err, NPL_EINPUT, "the dimension '%s' is %lld in %s and %lld in %s", dim->name,
				(long long)dim->value, dim->origin, (long long)value, from);
	if (dim->value < 0)
		*dim = (struct dim){.name = dim->name, .value = value, .origin = from};
	return 0;
}

/* Returns the input that has the batch; -1: none. */
static int find_first(const struct graph_builder *b)
{
	int first = -1;
	for (int i = b->n_declared - 1; i >= 0; i--) {
		const struct graph_input *input = &b->declared[i];
		const bool is_fed = !known_value(b, input) && (!input->has_shape || input->shape.rank > 0);
		const bool is_open_input = !input->has_shape || input->shape.dim[0] < 0;
		const bool first_is_open = first >= 0 &&
					   (!b->declared[first].has_shape || b->declared[first].shape.dim[0] < 0);
		if (is_fed && (is_open_input || !first_is_open))
			first = i;
	}
	return first;
}

/* Finds all names. */
static int name_dims(struct dims *d)
{
	struct graph_builder *b = d->b;
	for (int i = 0; i < b->n_declared; i++)
		for (int k = 0; k < b->declared[i].shape.rank; k++)
			if (b->declared[i].shape.dim[k] < 0) {
				int name = name_dim(d, &b->declared[i], k);
				if (name < 0)
					return name;
			}
	d->first = find_first(b);
	const struct graph_input *first = d->first < 0 ? NULL : &b->declared[d->first];
	d->batch = first && first->has_shape && first->shape.dim[0] < 0 ? name_dim(d, first, 0) : -1;
	return 0;
}

static int unknown_dim(const struct dims *d, const char *name)
{
	const char **names = calloc((size_t)d->n + 1, sizeof *names);
	if (!names)
		return npl_no_memory(d->b->err);
	for (int i = 0; i < d->n; i++)
		names[i] = d->dim[i].name;
	const char *nearest = NPL_NEAREST_ONLY(name, names, d->n);
	free(names);
	return npl_fail(d->b->err, NPL_EUSAGE, "the model has no open dimension '%s'%s", name,
			d->n ? nearest : ": it has none");
}

/* Takes --dim NAME=N. For the name of the batch it means --batch N. */
static int take_options(struct dims *d)
{
	struct npl_load_options *options = &d->b->options;
	const struct graph_input *first = d->first < 0 ? NULL : &d->b->declared[d->first];
	bool open = first && (!first->has_shape || first->shape.dim[0] < 0);
	for (int i = 0; i < options->n_dims; i++) {
		const struct npl_dim *option = &options->dims[i];
		int k = graph_names_find(&d->names, option->name);
		if (k < 0)
			return unknown_dim(d, option->name);
		if (option->value < 0)
			return npl_fail(d->b->err, NPL_EUSAGE, "the dimension '%s' cannot be %lld", option->name,
					(long long)option->value);
		if (k == d->batch && !option->value)
			return npl_fail(d->b->err, NPL_EUSAGE, "the batch, '%s', is given as 0, expected 1 or more",
					option->name);
		if (k == d->batch && options->batch > 0 && options->batch != option->value)
			return npl_fail(d->b->err, NPL_EUSAGE, "the batch, '%s', is given as %lld and as %lld",
					option->name, (long long)options->batch, (long long)option->value);
		if (k == d->batch) {
			options->batch = option->value;
			open = false;
		}
		if (set_dim(d, k, option->value, "--dim"))
			return d->b->err->code;
	}
	d->b->graph->batching.open = open;
	if (options->batch <= 0)
		options->batch = options->usual_batch;
	return 0;
}

/* Gives open dimensions from `first` on the sizes of the shape. A shape of another rank gives none. */
static int take_shape(struct dims *d, const struct graph_input *input, const struct npl_shape *shape, int first,
		      const char *from)
{
	for (int k = first; input->has_shape && input->shape.rank == shape->rank && k < shape->rank; k++) {
		int name = input->shape.dim[k] < 0 ? name_dim(d, input, k) : -1;
		if (name >= 0 && (first == 0 || name != d->batch) && set_dim(d, name, shape->dim[k], from))
			return d->b->err->code;
	}
	return 0;
}

static int read_given_shapes(struct dims *d)
{
	struct graph_builder *b = d->b;
	for (int i = 0; i < b->n_declared; i++) {
		const struct npl_tensor *input_shape = input_shape_of(b, i);
		char *from = input_shape ? npl_arena_printf(&b->graph->arena, "input '%s'", b->declared[i].name) : NULL;
		if (input_shape && !from)
			return npl_no_memory(b->err);
		if (input_shape && take_shape(d, &b->declared[i], &input_shape->shape, 0, from))
			return b->err->code;
	}
	return 0;
}

/* Says whether the model gives dimension 0 of input i the same size as that of the batch's input. */
static bool has_rows_of_batch(const struct dims *d, int i)
{
	const struct graph_input *input = &d->b->declared[i], *first = d->first < 0 ? NULL : &d->b->declared[d->first];
	return first && i != d->first && first->has_shape && first->shape.rank && input->has_shape &&
	       input->shape.rank && input->shape.dim[0] >= 0 && input->shape.dim[0] == first->shape.dim[0];
}

/* Says whether only a file could give some dimension. */
static bool is_open(struct dims *d)
{
	for (int i = 0; i < d->n; i++)
		if (i != d->batch && d->dim[i].value < 0)
			return true;
	for (int i = 0; i < d->b->n_declared; i++)
		if (!d->b->declared[i].has_shape || has_rows_of_batch(d, i))
			return true;
	return false;
}

/* Reads a file's shape; *rows is its dimension 0, or -1. */
static int take_file(struct dims *d, const char *file, struct graph_input *input, int64_t *rows)
{
	struct npl_tensor tensor;
	int rc = npl_tensor_load(file, &tensor, d->b->err);
	if (rc)
		return rc;
	*rows = tensor.shape.rank ? tensor.shape.dim[0] : -1;
	if (!input->has_shape && tensor.shape.rank) { /* the input takes the tensor's shape, except the batch */
		input->has_shape = true;
		input->shape = tensor.shape;
		input->shape.dim[0] = -1;
	}
	rc = take_shape(d, input, &tensor.shape, 1, file);
	npl_tensor_free(&tensor);
	return rc;
}

/* Decides by the files' rows which inputs begin with the batch. An open dimension 0 with another name than the batch's
 * is the batch if its file has as many rows as the first input's file, else it has a size of its own. If two inputs
 * declare one number of rows and only the first one's file differs from it, the second input is a table and not
 * samples. */
static int take_rows(struct dims *d, const int64_t *rows)
{
	struct graph_builder *b = d->b;
	const int64_t samples = d->first < 0 ? -1 : rows[d->first];
	for (int i = 0; i < b->n_declared && samples >= 0; i++) {
		struct graph_input *input = &b->declared[i];
		input->is_table = has_rows_of_batch(d, i) && rows[i] == input->shape.dim[0] && rows[i] != samples;
		if (i == d->first || rows[i] < 0 || rows[i] == samples || !input->has_shape || !input->shape.rank ||
		    input->shape.dim[0] >= 0)
			continue;
		int name = name_dim(d, input, 0);
		if (name < 0)
			return name;
		if (name != d->batch && d->dim[name].value < 0 && set_dim(d, name, rows[i], input->name))
			return b->err->code;
	}
	return 0;
}

static int take_files(struct dims *d)
{
	struct graph_builder *b = d->b;
	if (!b->options.n_files || !is_open(d))
		return 0;
	const char **name = calloc((size_t)b->n_declared + 1, sizeof *name);
	bool *is_bound = calloc((size_t)b->n_declared + 1, sizeof *is_bound);
	int64_t *rows = calloc((size_t)b->n_declared + 1, sizeof *rows);
	int rc = 0;
	if (!name || !is_bound || !rows) {
		free(name);
		free(is_bound);
		free(rows);
		return npl_no_memory(b->err);
	}
	for (int i = 0; i < b->n_declared; i++) {
		name[i] = b->declared[i].name;
		is_bound[i] = known_value(b, &b->declared[i]) != NULL;
		rows[i] = -1;
	}
	for (int f = 0; f < b->options.n_files && !rc; f++) {
		const char *file;
		int i = npl_input_of_file(name, is_bound, b->n_declared, b->options.files[f], &file);
		if (i < 0)
			continue; /* npl_samples_load reports it */
		is_bound[i] = true;
		rc = take_file(d, file, &b->declared[i], &rows[i]);
	}
	if (!rc)
		rc = take_rows(d, rows);
	free(name);
	free(is_bound);
	free(rows);
	return rc;
}

/* Says whether dimension k of input i is the batch. */
static bool is_batch(struct dims *d, int i, int k)
{
	const struct graph_builder *b = d->b;
	const struct graph_input *input = &b->declared[i], *first = d->first < 0 ? NULL : &b->declared[d->first];
	if (i == d->first && k == 0)
		return true;
	const int64_t declared = input->shape.dim[k];
	const int name = declared < 0 ? name_dim(d, input, k) : -1;
	if (name >= 0 && name == d->batch)
		return true;
	if (k || !first || !first->shape.rank)
		return false;
	/* The model gives dimension 0 a size: it is the batch where the first input has the same size, as when both
	 * were exported with one batch. */
	if (declared >= 0)
		return first->has_shape && first->shape.dim[0] == declared && !input->is_table;
	return name >= 0 && d->dim && d->dim[name].value < 0; /* open, and nothing gives its size */
}

#define MAX_ASKED 4 /* the most names in a message */

/* Returns all missing options for one message, " --dim 'S=N' --dim 'T=N'" after the first, so that the user does not
 * find them one by one. */
static const char *all_unknown(struct dims *d)
{
	char text[512] = "";
	int n = 0;
	for (int k = 0; k < d->n; k++) {
		bool is_needed = false;
		for (int i = 0; i < d->b->n_declared && !is_needed; i++)
			for (int axis = 0; axis < d->b->declared[i].shape.rank && !is_needed; axis++)
				is_needed = d->b->declared[i].shape.dim[axis] < 0 &&
					    name_dim(d, &d->b->declared[i], axis) == k && !is_batch(d, i, axis);
		if (!is_needed || d->dim[k].value >= 0 || n++ >= MAX_ASKED)
			continue;
		npl_append(text, sizeof text, "", " --dim '%.80s=N'", d->dim[k].name);
	}
	if (n > MAX_ASKED)
		npl_append(text, sizeof text, "", " and %d more", n - MAX_ASKED);
	return npl_arena_printf(&d->b->graph->arena, "%s", text);
}

/* Returns dimension k of input i, or -1 and an error. */
static int64_t dim_value(struct dims *d, int i, int k)
{
	struct graph_builder *b = d->b;
	const struct graph_input *input = &b->declared[i];
	const int64_t declared = input->shape.dim[k];
	const int name = declared < 0 ? name_dim(d, input, k) : -1;
	const struct dim *dim = name >= 0 && d->dim ? &d->dim[name] : NULL;
	const bool batch = is_batch(d, i, k);
	if (dim && dim->value >= 0 && (name != d->batch || b->options.batch <= 0))
		return dim->value;
	if (batch && b->options.batch > 0)
		return b->options.batch;
	if (declared >= 0)
		return declared;
	if (batch)
		return 1;
	const char *options_text = all_unknown(d);
	if (!options_text)
		npl_no_memory(b->err);
	else if (input->symbol[k] && *input->symbol[k])
		npl_fail(b->err, NPL_EINPUT, "input '%s': dimension %d is symbolic ('%s'): give%s", input->name, k,
			 input->symbol[k], options_text);
	else
		npl_fail(b->err, NPL_EINPUT, "input '%s': dimension %d is not known: give%s", input->name, k,
			 options_text);
	return -1;
}

static int input_shape(struct dims *d, int i, struct npl_shape *shape)
{
	struct graph_builder *b = d->b;
	const struct graph_input *input = &b->declared[i];
	const struct npl_tensor *input_shape = input_shape_of(b, i);
	char text[192];
	*shape = input->has_shape || !input_shape ? input->shape : input_shape->shape;
	if (!input->has_shape && !input_shape)
		return npl_fail(b->err, NPL_EINPUT, "input '%s' has no shape", input->name);
	for (int k = 0; input->has_shape && k < shape->rank; k++)
		if ((shape->dim[k] = dim_value(d, i, k)) < 0)
			return b->err->code;
	if (npl_shape_count(shape) < 0)
		return npl_fail(b->err, NPL_EINPUT, "input '%s': the shape %s has more than %lld elements", input->name,
				npl_shape_text(shape, text, sizeof text), (long long)NPL_MAX_ELEMENTS);
	if (i == d->first || d->first < 0) {
		b->batch_is_open = shape->rank && (!input->has_shape || input->shape.dim[0] < 0);
		b->old_batch = shape->rank && input->has_shape && input->shape.dim[0] > 0 ? input->shape.dim[0] : 1;
		b->graph->batch = shape->rank ? shape->dim[0] : 1;
	}
	return 0;
}

/* Adds a copy of an input's value that the caller knows; it becomes a constant. */
static int add_known(struct graph_builder *b, const struct graph_input *input, const struct npl_tensor *constant)
{
	struct npl_tensor copy = *constant;
	if (npl_tensor_count(constant) < 0 || (npl_tensor_count(constant) && !constant->data))
		return npl_fail(b->err, NPL_EINPUT, "input '%s': the value given has no elements", input->name);
	if (constant->dtype != input->dtype)
		return npl_fail(b->err, NPL_EINPUT, "input '%s' is %s, the value given is %s", input->name,
				npl_dtype_name(input->dtype), npl_dtype_name(constant->dtype));
	copy.name = input->name;
	copy.data = npl_arena_alloc(&b->graph->arena, npl_tensor_bytes(constant));
	if (!copy.data)
		return npl_no_memory(b->err);
	if (npl_tensor_bytes(constant))
		memcpy(copy.data, constant->data, npl_tensor_bytes(constant));
	return graph_add_constant(b, &copy);
}

static int add_input(struct dims *d, int i)
{
	struct graph_builder *b = d->b;
	const struct graph_input *input = &b->declared[i];
	const struct npl_tensor *constant = known_value(b, input);
	struct npl_value value = {.name = input->name, .dtype = input->dtype, .producer = -1};
	if (constant)
		return add_known(b, input, constant);
	int rc = input_shape(d, i, &value.shape);
	if (rc)
		return rc;
	value.batched = value.shape.rank > 0 &&
			(input->has_shape ? is_batch(d, i, 0) : value.shape.dim[0] == b->graph->batch);
	for (int k = 1; input->has_shape && k < value.shape.rank; k++)
		value.batched_inside = value.batched_inside || is_batch(d, i, k);
	int v = graph_add_value(b, &value);
	return v < 0 ? v : graph_append_input(b, v);
}

int graph_add_inputs(struct graph_builder *b)
{
	struct dims d = {.b = b, .first = -1, .batch = -1};
	int rc = name_dims(&d);
	if (!rc)
		rc = take_options(&d);
	if (!rc)
		rc = read_given_shapes(&d);
	if (!rc)
		rc = take_files(&d);
	for (int i = 0; i < b->n_declared && !rc; i++)
		rc = add_input(&d, i);
	graph_names_free(&d.names);
	free(d.dim);
	return rc;
}

int npl_input_of_file(const char *const *name, const bool *is_bound, int n, const char *spec, const char **file)
{
	const char *equals = strchr(spec, '=');
	*file = spec;
	for (int i = 0; equals && i < n; i++)
		if (name[i] && strlen(name[i]) == (size_t)(equals - spec) && !strncmp(name[i], spec, strlen(name[i]))) {
			*file = equals + 1;
			return i;
		}
	for (int i = 0; i < n; i++)
		if (!is_bound[i])
			return i;
	return -1;
}
