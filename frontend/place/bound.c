/* SPDX-License-Identifier: MIT
 *
 * Lower bounds of what remains of a placement (place_impl.h).
 *
 * Take a path of the graph: layers each of which reads a value of the one before. The makespan is at least the time
 * along it: a piece that has layers of the path begins when the path's value is there in the number format and memory
 * that it reads, and the value that it makes is there only at its end. So the least sum of these times, over all ways
 * to cut the layers that remain into pieces, is a lower bound. It is found from the last layer to the first, for each
 * format and memory in which the path's value may be. Energy is a sum over all pieces. A sum of both with weights that
 * are not negative has a bound of the same kind. In a chain every layer is on the path, and the bound is the cost of
 * the best placement itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/refuse.h"
#include "place_impl.h"

/* Returns the time of node i on the host, which has a piece for each layer. */
static double host_seconds(const struct place_model *m, int i)
{
	for (int64_t p = 0; p < m->at[i].n; p++)
		if (m->at[i].piece[p].device == NPL_ON_HOST)
			return m->at[i].piece[p].seconds;
	return 0;
}

int place_path(struct place_model *m, struct npl_err *err)
{
	const struct npl_graph *graph = m->graph;
	double *length = calloc((size_t)graph->n_nodes + 1, sizeof *length);
	int *before = calloc((size_t)graph->n_nodes + 1, sizeof *before), last = -1;
	m->on_path = npl_arena_array(&m->arena, (size_t)graph->n_nodes + 1, sizeof *m->on_path);
	int rc = length && before && m->on_path ? 0 : npl_no_memory(err);
	for (int i = 0; i < graph->n_nodes && !rc; i++) {
		before[i] = -1;
		if (m->next[i] != i)
			continue;
		for (int k = 0; k < graph->node[i].n_in; k++) {
			const int v = graph->node[i].in[k], producer = v < 0 ? -1 : graph->value[m->root[v]].producer;
			if (producer >= 0 && (before[i] < 0 || length[producer] > length[before[i]]))
				before[i] = producer;
		}
		/* A layer that costs nothing still makes the path longer, so that it has every layer of a chain. */
		length[i] = (before[i] < 0 ? 0 : length[before[i]]) + host_seconds(m, i) + 1e-15;
		if (last < 0 || length[i] >= length[last])
			last = i;
	}
	for (int i = rc ? -1 : last; i >= 0; i = before[i])
		m->on_path[i] = true;
	free(length);
	free(before);
	return rc;
}

static int location_of(int format, int memory)
{
	return format * PLACE_MEMORIES + memory;
}

/* Returns the input of the network that the path's first layer reads; -1: it reads none. */
static int first_value(const struct place_model *m, const bool *on_path)
{
	const struct npl_graph *graph = m->graph;
	int first = 0;
	while (first < graph->n_nodes && !on_path[first])
		first++;
	for (int k = 0; first < graph->n_nodes && k < graph->node[first].n_in; k++) {
		const int v = graph->node[first].in[k], root = v < 0 ? -1 : m->root[v];
		if (root >= 0 && !graph->value[root].constant && graph->value[root].producer < 0)
			return root;
	}
	return -1;
}

/* Finds for each boundary the value that the path's next layer reads: before the path begins, the one that its first
 * layer reads; after it, the last one that is made. */
static void find_path_values(const struct place_model *m, const bool *on_path, int *path_value)
{
	const struct npl_graph *graph = m->graph;
	int value = first_value(m, on_path);
	for (int i = 0; i <= graph->n_nodes; i++) {
		path_value[i] = value;
		if (i == graph->n_nodes || !on_path[i])
			continue;
		value = -1;
		for (int k = 0; k < graph->node[i].n_out && value < 0; k++)
			if (graph->node[i].out[k] >= 0)
				value = m->root[graph->node[i].out[k]];
		for (int next = i + 1; next < graph->n_nodes; next++) {
			if (!on_path[next])
				continue;
			for (int k = 0; k < graph->node[next].n_in; k++) {
				const int v = graph->node[next].in[k];
				if (v >= 0 && graph->value[m->root[v]].producer == i)
					value = m->root[v];
			}
			break;
		}
	}
}

/* What a piece means for the bound at its first node. */
struct crossing {
	bool on_path; /* it has layers of the path */
	int in, out;  /* locations of the path's value where it begins and ends; -1: it is not read, or not made */
};

static struct crossing cross(const struct place_bounds *b, const bool *on_path, const struct place_piece *piece)
{
	struct crossing c = {.in = -1, .out = -1};
	const int value = b->path_value[piece->first], made = b->path_value[piece->last + 1];
	for (int i = piece->first; i <= piece->last; i++)
		c.on_path |= on_path[i];
	for (int p = 0; p < piece->n_in; p++)
		if (piece->in[p].value == value)
			c.in = location_of(piece->in[p].format, piece->in[p].memory);
	for (int p = 0; p < piece->n_out; p++)
		if (piece->out[p].value == made)
			c.out = location_of(piece->out[p].format, piece->out[p].memory);
	return c;
}

static double weigh(const struct place_bounds *b, struct place_cost cost)
{
	return b->seconds_weight * cost.seconds + b->joules_weight * cost.joules;
}

static double weighted_route(const struct place_model *m, const struct place_bounds *b, int value, int from, int to)
{
	return weigh(b, place_route(m, value, from / PLACE_MEMORIES, from % PLACE_MEMORIES, to / PLACE_MEMORIES,
				    to % PLACE_MEMORIES));
}

/* Returns the least of what remains after the piece, with the path's value where the piece leaves it. */
static double rest_after(const struct place_bounds *b, const struct place_piece *piece, int location)
{
	const double *rest = b->rest + (size_t)(piece->last + 1) * PLACE_LOCATIONS;
	if (location >= 0)
		return rest[location];
	double least = INFINITY;
	for (int l = 0; l < PLACE_LOCATIONS; l++)
		least = fmin(least, rest[l]);
	return least;
}

/* Fills the bounds at node i, which is no view. */
static void fill(const struct place_model *m, const bool *on_path, unsigned devices, struct place_bounds *b, int i)
{
	double *rest = b->rest + (size_t)i * PLACE_LOCATIONS;
	double route[PLACE_LOCATIONS]; /* of the path's value from each location to route_to */
	const int value = b->path_value[i];
	int route_to = -1;
	for (int l = 0; l < PLACE_LOCATIONS; l++)
		rest[l] = INFINITY;
	for (int64_t p = 0; p < m->at[i].n; p++) {
		const struct place_piece *piece = &m->at[i].piece[p];
		if (piece->device != NPL_ON_HOST && !(devices >> piece->device & 1))
			continue;
		const struct crossing c = cross(b, on_path, piece);
		const double own = weigh(b, (struct place_cost){c.on_path ? piece->seconds : 0, piece->joules});
		const bool reads = c.on_path && c.in >= 0 && value >= 0;
		for (int l = 0; l < PLACE_LOCATIONS && reads && c.in != route_to; l++)
			route[l] = weighted_route(m, b, value, l, c.in);
		route_to = reads ? c.in : route_to;
		for (int l = 0; l < PLACE_LOCATIONS; l++)
			rest[l] = fmin(rest[l],
				       own + rest_after(b, piece, c.on_path ? c.out : l) + (reads ? route[l] : 0));
	}
}

int place_bounds_open(const struct place_model *m, const bool *on_path, unsigned devices, double seconds_weight,
		      double joules_weight, struct place_bounds *b, struct npl_err *err)
{
	const int n = m->graph->n_nodes;
	*b = (struct place_bounds){.seconds_weight = seconds_weight, .joules_weight = joules_weight, .n_nodes = n};
	b->rest = calloc(((size_t)n + 1) * PLACE_LOCATIONS, sizeof *b->rest);
	b->path_value = calloc((size_t)n + 1, sizeof *b->path_value);
	if (!b->rest || !b->path_value)
		return npl_no_memory(err);
	find_path_values(m, on_path, b->path_value);
	const int last = b->path_value[n];
	for (int l = 0; l < PLACE_LOCATIONS && last >= 0; l++)
		if (m->last_use[last] == n)
			b->rest[(size_t)n * PLACE_LOCATIONS + (size_t)l] = weighted_route(
				m, b, last, l, location_of(NPL_FORMAT_F32, 0));
	for (int i = n - 1; i >= 0; i--)
		if (m->next[i] == i)
			fill(m, on_path, devices, b, i);
		else
			memcpy(b->rest + (size_t)i * PLACE_LOCATIONS, b->rest + (size_t)(i + 1) * PLACE_LOCATIONS,
			       PLACE_LOCATIONS * sizeof *b->rest);
	return 0;
}

double place_bounds_of(const struct place_bounds *b, const struct place_work *work, int boundary)
{
	const double *rest = b->rest + (size_t)boundary * PLACE_LOCATIONS;
	const int value = b->path_value[boundary];
	double least = INFINITY;
	for (int64_t c = 0; c < work->n_copies && value >= 0; c++)
		if (work->copy[c].value == value)
			least = fmin(least, b->seconds_weight * work->copy[c].ready +
						    rest[location_of(work->copy[c].format, work->copy[c].memory)]);
	/* Before the path begins, or where its last value is read no more, the time so far counts for nothing. */
	for (int l = 0; l < PLACE_LOCATIONS && !isfinite(least); l++)
		least = fmin(least, rest[l]);
	double end = 0; /* what is done already is not undone */
	for (int r = 0; r < PLACE_RESOURCES; r++)
		end = fmax(end, work->free[r]);
	return fmax(least, b->seconds_weight * end) + b->joules_weight * work->joules;
}

void place_bounds_close(struct place_bounds *b)
{
	free(b->rest);
	free(b->path_value);
	*b = (struct place_bounds){0};
}
