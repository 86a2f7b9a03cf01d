/* SPDX-License-Identifier: MIT
 *
 * Warnings about a network that can be run: weights that are NaN or infinite, and outputs that differ from what the
 * file declares. Only elements that a file gave or that folding computed are examined: a fill has one element, and
 * random ones are finite. */
#include <math.h>
#include <string.h>

#include "build.h"
#include "core/base/dtype.h"
#include "core/base/message.h"
#include "core/base/refuse.h"

#define MOST 100 /* the most warnings, so that a network with many faults does not fill the screen */

struct tally {
	int64_t nan, infinite;
};

/* Counts elements whose exponent is all ones; simple, so that compilers vectorise it. */
static int64_t count_odd_words(const uint32_t *x, int64_t n)
{
	int64_t sum = 0;
	while (n > 0) { /* in parts that 32 bits can count */
		const int64_t part = n < 1 << 20 ? n : 1 << 20;
		uint32_t odd = 0;
		for (int64_t i = 0; i < part; i++)
			odd += (x[i] & 0x7f800000u) == 0x7f800000u;
		sum += odd;
		x += part;
		n -= part;
	}
	return sum;
}

static int64_t count_odd_halves(const uint16_t *x, int64_t n, uint16_t exponent)
{
	int64_t sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += (x[i] & exponent) == exponent;
	return sum;
}

static struct tally count(enum npl_dtype dtype, const void *data, int64_t n)
{
	struct tally tally = {0};
	const uint32_t *word = data;
	const uint16_t *half = data;
	uint16_t exponent = dtype == NPL_F16 ? 0x7c00 : 0x7f80;
	const struct npl_tensor elements = {.dtype = dtype, .data = (void *)data};
	if (!npl_is_float(dtype))
		return tally;
	switch (dtype) {
	case NPL_F32:
		tally.nan = count_odd_words(word, n);
		for (int64_t i = 0; tally.nan && i < n; i++)
			tally.infinite += (word[i] & 0x7fffffffu) == 0x7f800000u;
		tally.nan -= tally.infinite;
		return tally;
	case NPL_F16:
	case NPL_BF16:
		tally.nan = count_odd_halves(half, n, exponent);
		for (int64_t i = 0; tally.nan && i < n; i++)
			tally.infinite += (half[i] & 0x7fff) == exponent;
		tally.nan -= tally.infinite;
		return tally;
	default: /* of any float, one by one */
		for (int64_t i = 0; i < n; i++) {
			const double element = npl_tensor_real(&elements, i);
			tally.nan += isnan(element);
			tally.infinite += isinf(element);
		}
		return tally;
	}
}

/* Counts for a fill, whose single element may be unaligned. */
static struct tally count_fill(const struct npl_value *value, int64_t n)
{
	double element = 0;
	_Static_assert(sizeof element == sizeof value->fill, "a fill is the widest element");
	memcpy(&element, value->fill, sizeof element);
	struct tally one = count(value->dtype, &element, 1);
	return (struct tally){one.nan * n, one.infinite * n};
}

int graph_warn(struct graph_builder *b)
{
	struct npl_graph *graph = b->graph;
	int odd = 0, values = graph->n_values < MOST ? graph->n_values : MOST,
	    outputs = graph->n_outputs < MOST ? graph->n_outputs : MOST;
	const char **list = npl_arena_array(&graph->arena, (size_t)values + (size_t)outputs + 1, sizeof *list);
	if (!list)
		return npl_no_memory(b->err);
	graph->warning = list;
	for (int v = 0; v < graph->n_values; v++) {
		struct npl_value *value = &graph->value[v];
		const int64_t n = npl_shape_count(&value->shape);
		struct tally tally = {0};
		if (value->constant && value->data)
			tally = count(value->dtype, value->data, n);
		else if (value->constant && value->is_fill)
			tally = count_fill(value, n);
		value->has_nan = tally.nan > 0;
		value->has_infinity = tally.infinite > 0;
		if ((!tally.nan && !tally.infinite) || value->of_import)
			continue;
		if (odd++ >= MOST)
			continue;
		list[graph->n_warnings] = npl_arena_printf(
			&graph->arena, "tensor '%s': %lld of its %lld element%s %s NaN, %lld infinite", value->name,
			(long long)tally.nan, (long long)n, npl_plural(n), tally.nan == 1 ? "is" : "are",
			(long long)tally.infinite);
		if (!list[graph->n_warnings++])
			return npl_no_memory(b->err);
	}
	if (odd > MOST) {
		list[MOST] = npl_arena_printf(&graph->arena, "%d more tensor%s with NaN or infinite elements",
					      odd - MOST, npl_plural(odd - MOST));
		graph->n_warnings = MOST + 1;
		if (!list[MOST])
			return npl_no_memory(b->err);
	}
	return graph_warn_outputs(b, outputs);
}
