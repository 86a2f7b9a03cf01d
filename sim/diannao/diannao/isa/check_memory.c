/* SPDX-License-Identifier: MIT
 *
 * Order in memory (docs/diannao-isa.md, Memory): loads run ahead of the instructions before them, stores behind, and nothing but CP
 * SYNC orders them. Since the last one this keeps the bytes stored, as a tree of intervals of which no two overlap, and
 * the loads whose rows no step has needed yet: all others have come before a store of now can begin. */
#include <search.h>
#include <stdlib.h>

#include "check.h"

struct span {
	uint64_t first, end;
	struct dn_place place;
};

/* Equal are those with something in common. */
static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->end <= y->first ? -1 : x->first >= y->end;
}

static int out_of_memory(struct dn_checker *checker)
{
	return npl_fail(checker->err, NPL_ENOMEM, "%s: out of memory", checker->source);
}

/* Takes the span, which it frees when there is no memory for it. */
static int add_store(struct dn_checker *checker, struct span *span)
{
	if (span && tsearch(span, &checker->order.stored, compare)) {
		checker->order.last = span;
		return 0;
	}
	free(span);
	return out_of_memory(checker);
}

static void forget(struct dn_memory_order *order)
{
	tdestroy(order->stored, free);
	order->stored = order->last = NULL;
	order->count = 0;
}

/* A store that is open is asked for later. */
int dn_order_sync(struct dn_checker *checker)
{
	struct dn_memory_order *order = &checker->order;
	struct span *open = checker->store_left ? order->last : NULL;
	if (open)
		tdelete(open, &order->stored, compare);
	forget(order);
	return open ? add_store(checker, open) : 0;
}

void dn_order_close(struct dn_memory_order *order)
{
	forget(order);
	free(order->load);
	*order = (struct dn_memory_order){0};
}

static int conflict(struct dn_checker *checker, const char *slot, const char *does, uint64_t first, uint64_t other,
		    const struct dn_place *place, const char *did)
{
	char where[40];
	return dn_refuse(checker, "%s: %s byte %llu of memory, which %s %s: expected a CP SYNC behind that", slot, does,
			 (unsigned long long)(first > other ? first : other), dn_place_text(place, where, sizeof where),
			 did);
}

static int stored_before(struct dn_checker *checker, const char *slot, const char *does, uint64_t first, uint64_t bytes)
{
	const struct span span = {.first = first, .end = first + bytes};
	const struct span *const *found = tfind(&span, &checker->order.stored, compare);
	return found ? conflict(checker, slot, does, first, (*found)->first, &(*found)->place, "stores") : 0;
}

/* Those that have come no store can overtake. */
static void forget_loads(struct dn_memory_order *order)
{
	size_t kept = 0;
	for (size_t i = 0; i < order->count; i++)
		if (order->load[i].rows_end > order->load[i].queue->read)
			order->load[kept++] = order->load[i];
	order->count = kept;
}

static bool keep_load(struct dn_memory_order *order, const struct dn_load *load)
{
	bool full = order->count == order->capacity;
	if (full)
		forget_loads(order);
	if (full && order->count >= order->capacity / 2) { /* so that looking through them costs little per load */
		size_t capacity = order->capacity ? 2 * order->capacity : 64;
		struct dn_load *grown = reallocarray(order->load, capacity, sizeof *grown);
		if (!grown)
			return false;
		order->load = grown;
		order->capacity = capacity;
	}
	order->load[order->count++] = *load;
	return true;
}

int dn_order_load(struct dn_checker *checker, const struct dn_queue *queue, uint64_t first, uint64_t bytes)
{
	const struct dn_load load = {first, first + bytes, queue, queue->loaded, checker->at};
	if (stored_before(checker, queue->name, "loads", first, bytes))
		return checker->err->code;
	return keep_load(&checker->order, &load) ? 0 : out_of_memory(checker);
}

int dn_order_store(struct dn_checker *checker, uint64_t first, uint64_t bytes)
{
	struct dn_memory_order *order = &checker->order;
	if (stored_before(checker, "NBOUT", "stores", first, bytes))
		return checker->err->code;
	forget_loads(order);
	for (size_t i = 0; i < order->count; i++)
		if (order->load[i].first < first + bytes && order->load[i].end > first)
			return conflict(checker, "NBOUT", "stores", first, order->load[i].first, &order->load[i].place,
					"loads, maybe later");
	struct span *span = malloc(sizeof *span);
	if (span)
		*span = (struct span){first, first + bytes, checker->at};
	return add_store(checker, span);
}

void dn_program_written(const struct sim_program *program, uint64_t *first, uint64_t *end)
{
	*first = *end = 0;
	for (int64_t i = 0; i < program->count; i++) {
		const struct dn_instruction *at = &dn_code(program)[i];
		uint64_t from = at->nbout.address, to = from + at->nbout.size;
		if (at->nbout.write != DN_STORE || !at->nbout.size)
			continue;
		*first = *first == *end || from < *first ? from : *first;
		*end = to > *end ? to : *end;
	}
}

uint64_t dn_program_memory(const struct sim_program *program)
{
	uint64_t end = 0;
	for (int64_t i = 0; i < program->count; i++) {
		const struct dn_instruction *at = &dn_code(program)[i];
		const uint64_t ends[] = {at->sb.op == DN_LOAD ? at->sb.address + at->sb.size : 0,
					 at->nbin.op == DN_LOAD ? at->nbin.address + at->nbin.size : 0,
					 at->nbout.write == DN_STORE ? at->nbout.address + at->nbout.size : 0};
		for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
			end = ends[k] > end ? ends[k] : end;
	}
	return end;
}
