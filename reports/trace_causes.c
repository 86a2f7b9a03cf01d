/* SPDX-License-Identifier: MIT
 *
 * What cycles went to in two traces, the greatest differences first, equal ones by their names (trace_verdict.h). */
#include <stdlib.h>
#include <string.h>

#include "trace_verdict.h"

static uint64_t size_of(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int by_shift(const void *a, const void *b)
{
	const struct npl_trace_shift *s = a, *t = b;
	const uint64_t x = size_of(s->cycles[0], s->cycles[1]), y = size_of(t->cycles[0], t->cycles[1]);
	if (x != y)
		return x < y ? 1 : -1;
	const int layer = strcmp(s->layer, t->layer);
	return layer ? layer : strcmp(s->cycle_class, t->cycle_class);
}

int npl_trace_shifts(const struct npl_trace_diff *diff, struct npl_trace_shift **list)
{
	size_t all = 1;
	int n = 0;
	for (int i = 0; i < diff->n_layers; i++)
		all += (size_t)diff->layer[i].n_classes;
	struct npl_trace_shift *shift = *list = malloc(all * sizeof *shift);
	if (!shift)
		return -1;
	for (int i = 0; i < diff->n_layers; i++)
		for (int k = 0; k < diff->layer[i].n_classes; k++) {
			const struct npl_trace_class *c = &diff->layer[i].cycle_class[k];
			if (c->cycles[0] != c->cycles[1])
				shift[n++] = (struct npl_trace_shift){
					diff->layer[i].name, c->name, {c->cycles[0], c->cycles[1]}};
		}
	qsort(shift, (size_t)n, sizeof *shift, by_shift);
	return n;
}

static int by_size(const void *a, const void *b)
{
	const struct npl_trace_cause *s = a, *t = b;
	const int64_t x = llabs(s->cycles), y = llabs(t->cycles);
	if (x != y)
		return x < y ? 1 : -1;
	const int unit = strcmp(s->unit, t->unit);
	return unit ? unit : strcmp(s->cycle_class, t->cycle_class);
}

int npl_trace_causes(const struct npl_trace_diff *diff, struct npl_trace_cause **list)
{
	struct npl_trace_cause *cause = *list = malloc(((size_t)diff->n_causes + 1) * sizeof *cause);
	int n = 0;
	if (!cause)
		return -1;
	for (int i = 0; i < diff->n_causes; i++)
		if (diff->cause[i].cycles)
			cause[n++] = diff->cause[i];
	qsort(cause, (size_t)n, sizeof *cause, by_size);
	return n;
}
