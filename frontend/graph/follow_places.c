/* SPDX-License-Identifier: MIT
 *
 * The places of samples (follow.h): what is known of a value, and the questions and statements of the rules. */
#include "follow.h"

#include <stdlib.h>
#include <string.h>

enum change { SAME, RESIZED, DIFFERENT };

static int64_t product(const struct npl_shape *shape, int first, int end)
{
	int64_t n = 1;
	for (int d = first; d < end; d++)
		n *= shape->dim[d];
	return n;
}

bool follow_spread(const struct follow *f, int v, struct spread *spread)
{
	const struct npl_shape *shape = &f->graph->value[v].shape;
	const int64_t distance = f->distance[v], batch = f->graph->batch;
	int64_t step = 1;
	for (int d = shape->rank - 1; distance && d >= 0; d--) {
		const int64_t end = step * shape->dim[d];
		if (distance < end) {
			*spread = (struct spread){.axis = d, .inner = distance / step};
			if (distance % step || shape->dim[d] % (spread->inner * batch))
				return false;
			spread->outer = shape->dim[d] / (spread->inner * batch);
			return true;
		}
		step = end;
	}
	return false;
}

bool follow_set_spread(struct follow *f, int v, const struct spread *spread)
{
	const struct npl_shape *shape = &f->graph->value[v].shape;
	const int a = spread->axis;
	if (a < 0 || a >= shape->rank || shape->dim[a] != spread->outer * f->graph->batch * spread->inner)
		return false;
	f->distance[v] = product(shape, a + 1, shape->rank) * spread->inner;
	return f->distance[v] > 0;
}

const struct npl_value *follow_same_value(const struct follow *f, int v)
{
	const int other = graph_names_find(&f->rebatched_values, f->graph->value[v].name);
	return other < 0 ? NULL : &f->rebatched_graph->value[other];
}

/* Says how a fixed value changes with another batch. */
static enum change change_of(struct follow *f, int v)
{
	const struct npl_value *value = &f->graph->value[v];
	if (!value->constant || !value->of_shape)
		return SAME;
	if (!f->rebatched_graph)
		return SAME;
	const struct npl_value *rebatched_value = follow_same_value(f, v);
	if (!rebatched_value || rebatched_value->dtype != value->dtype || value->is_fill != rebatched_value->is_fill)
		return DIFFERENT;
	const size_t size = npl_dtype_size(value->dtype);
	if (value->is_fill && memcmp(value->fill, rebatched_value->fill, size))
		return DIFFERENT;
	if (!npl_shape_equal(&value->shape, &rebatched_value->shape))
		return RESIZED;
	if (value->is_fill)
		return SAME;
	const size_t bytes = (size_t)npl_shape_count(&value->shape) * size;
	return value->data && rebatched_value->data && !memcmp(value->data, rebatched_value->data, bytes) ? SAME
													  : DIFFERENT;
}

bool follow_steady(struct follow *f, int v)
{
	return change_of(f, v) == SAME;
}

bool follow_uniform(struct follow *f, int v, const struct spread *spread)
{
	const struct npl_value *value = &f->graph->value[v];
	const struct npl_shape *shape = &value->shape;
	const int a = spread->axis;
	if (change_of(f, v) == DIFFERENT)
		return false;
	if (a < 0 || a >= shape->rank || shape->dim[a] == 1 || value->is_fill)
		/* Each sample reads the same elements: the value broadcasts along that dimension or has one number. */
		return true;
	if (!value->data || shape->dim[a] != spread->outer * f->graph->batch * spread->inner)
		return false;
	const size_t piece = (size_t)(product(shape, a + 1, shape->rank) * spread->inner) *
			     npl_dtype_size(value->dtype);
	const char *data = value->data;
	for (int64_t o = 0, n = product(shape, 0, a) * spread->outer; o < n;
	     o++, data += piece * (size_t)f->graph->batch)
		for (int64_t s = 1; s < f->graph->batch; s++)
			if (memcmp(data, data + piece * (size_t)s, piece))
				return false;
	return true;
}

void follow_input(struct follow *f, int v)
{
	const struct npl_shape *shape = &f->graph->value[v].shape;
	f->distance[v] = product(shape, 1, shape->rank);
}
