/* SPDX-License-Identifier: MIT
 *
 * First fit over allocations with known lifetimes (impl.h): each takes the lowest rows that no allocation of the same
 * time has. The allocations that have rows are kept in a list in the order of their rows, so that placing one takes a
 * single look along the allocations of its time. */
#include <stdlib.h>

#include "impl.h"

/* The links of an allocation in the list of those that have rows; -1 ends a list. */
struct link {
	int previous, next; /* neighbours in the order of rows */
	int ends;           /* the next allocation whose life ends with the same group */
};

/* No gap from the list's first allocation up to this one has so many rows. allocation -1: nothing is known. */
struct skip {
	int64_t rows;
	int allocation;
};

#define SKIPS 8 /* the number of sizes for which skips are remembered, the latest ones */

struct fit {
	struct tpu_gen *gen;
	struct link *link; /* per allocation */
	int first;
	/* These are used in the order of lifetimes only, where all allocations in the list live at the same time. */
	struct skip skip[SKIPS];
	int oldest;
};

static bool same_time(const struct tpu_gen *gen, const struct tpu_gen_allocation *a, const struct tpu_gen_allocation *b)
{
	return a->held_to + gen->reuse_delay >= b->held_from && b->held_to + gen->reuse_delay >= a->held_from;
}

int64_t tpu_gen_first_fit(const struct tpu_gen *gen, const struct tpu_gen_allocation *allocation)
{
	int64_t base = 0;
	for (bool moved = true; moved;) {
		moved = false;
		for (int r = 0; r < gen->n_allocations; r++) {
			const struct tpu_gen_allocation *other = &gen->allocation[r];
			if (other->base < 0 || other == allocation ||
			    other->held_to + gen->reuse_delay < allocation->held_from ||
			    allocation->held_to + gen->reuse_delay < other->held_from ||
			    other->base + other->rows <= base || base + allocation->rows <= other->base)
				continue;
			base = other->base + other->rows;
			moved = true;
		}
	}
	return base + allocation->rows <= gen->buffer_rows ? base : -1;
}

static int64_t end_of(const struct tpu_gen *gen, int r)
{
	return r < 0 ? 0 : gen->allocation[r].base + gen->allocation[r].rows;
}

/* Takes an allocation whose time is over out of the list. The gap that it leaves ends the skips of those sizes that fit
 * into it. */
static void leave(struct fit *fit, int r)
{
	const struct link *link = &fit->link[r];
	const struct tpu_gen *gen = fit->gen;
	const int64_t gap_end = link->next < 0 ? gen->buffer_rows : gen->allocation[link->next].base;
	const int64_t gap_rows = gap_end - end_of(gen, link->previous);
	for (int i = 0; i < SKIPS; i++) {
		struct skip *skip = &fit->skip[i];
		if (skip->allocation == r ||
		    (skip->allocation >= 0 && gen->allocation[r].base < gen->allocation[skip->allocation].base &&
		     gap_rows >= skip->rows))
			skip->allocation = link->previous;
	}
	*(link->previous < 0 ? &fit->first : &fit->link[link->previous].next) = link->next;
	if (link->next >= 0)
		fit->link[link->next].previous = link->previous;
}

static void insert_link(struct fit *fit, int r, int previous)
{
	struct link *link = &fit->link[r];
	link->previous = previous;
	link->next = previous < 0 ? fit->first : fit->link[previous].next;
	*(previous < 0 ? &fit->first : &fit->link[previous].next) = r;
	if (link->next >= 0)
		fit->link[link->next].previous = r;
}

/* Returns the last allocation up to which no gap has so many rows; -1: a gap may be anywhere. */
static int skip_to(const struct fit *fit, int64_t rows)
{
	int last = -1;
	for (int i = 0; i < SKIPS; i++) {
		const struct skip *skip = &fit->skip[i];
		if (skip->allocation >= 0 && skip->rows <= rows &&
		    (last < 0 || fit->gen->allocation[skip->allocation].base > fit->gen->allocation[last].base))
			last = skip->allocation;
	}
	return last;
}

/* Notes that no gap up to allocation r, which has just got its rows, is as large as r. */
static void remember(struct fit *fit, int r)
{
	const int64_t rows = fit->gen->allocation[r].rows;
	int i = 0;
	while (i < SKIPS && fit->skip[i].rows != rows)
		i++;
	if (i == SKIPS) {
		i = fit->oldest;
		fit->oldest = (fit->oldest + 1) % SKIPS;
	}
	fit->skip[i] = (struct skip){rows, r};
}

/* Gives the allocation its rows. Returns false where no gap is large enough. */
static bool place_allocation(struct fit *fit, int r, bool one_time)
{
	const struct tpu_gen *gen = fit->gen;
	struct tpu_gen_allocation *allocation = &gen->allocation[r];
	int previous = one_time ? skip_to(fit, allocation->rows) : -1;
	int64_t base = end_of(gen, previous);
	for (int i = previous < 0 ? fit->first : fit->link[previous].next; i >= 0;
	     previous = i, i = fit->link[i].next) {
		const struct tpu_gen_allocation *other = &gen->allocation[i];
		if (other->base + other->rows <= base || !same_time(gen, allocation, other))
			continue;
		if (base + allocation->rows <= other->base)
			break;
		base = other->base + other->rows;
	}
	if (base + allocation->rows > gen->buffer_rows)
		return false;
	while (previous >= 0 && gen->allocation[previous].base > base)
		previous = fit->link[previous].previous;
	allocation->base = base;
	insert_link(fit, r, previous);
	if (one_time)
		remember(fit, r);
	return true;
}

/* An allocation and the key by which its turn to be placed is decided. */
struct turn_entry {
	int64_t key;
	int allocation;
};

static int by_key(const void *a, const void *b)
{
	const struct turn_entry *x = a, *y = b;
	return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->allocation - y->allocation;
}

/* Gives turn_entry[0..n-1] their rows one after the other. ends[g] is the first allocation whose life ends with group
 * g. Returns the group at which one does not fit, or -1. */
static int place_in_order(struct fit *fit, const struct turn_entry *turn_entry, int n, const int *ends, bool one_time)
{
	int n_done = 0; /* the groups before it are done: their allocations have left the list */
	for (int i = 0; i < n; i++) {
		const struct tpu_gen_allocation *allocation = &fit->gen->allocation[turn_entry[i].allocation];
		for (; one_time && n_done + fit->gen->reuse_delay < allocation->held_from; n_done++)
			for (int r = ends[n_done]; r >= 0; r = fit->link[r].ends)
				leave(fit, r);
		if (!place_allocation(fit, turn_entry[i].allocation, one_time))
			return allocation->held_from;
	}
	return -1;
}

int tpu_gen_place_all(struct tpu_gen *gen, bool largest_first)
{
	const size_t allocations = (size_t)gen->n_allocations + 1;
	struct fit fit = {.gen = gen, .link = calloc(allocations, sizeof *fit.link), .first = -1};
	struct turn_entry *turn_entry = calloc(allocations, sizeof *turn_entry);
	int *ends = malloc(((size_t)gen->n_groups + 1) * sizeof *ends), n = 0, failed = 0;
	gen->out_of_memory |= !fit.link || !turn_entry || !ends;
	for (int i = 0; i < SKIPS; i++)
		fit.skip[i].allocation = -1;
	for (int g = 0; ends && g <= gen->n_groups; g++)
		ends[g] = -1;
	for (int r = 0; r < gen->n_allocations && !gen->out_of_memory; r++) {
		struct tpu_gen_allocation *allocation = &gen->allocation[r];
		allocation->base = -1;
		if (allocation->held_to < 0)
			continue;
		turn_entry[n++] = (struct turn_entry){largest_first ? -allocation->rows : allocation->held_from, r};
		fit.link[r].ends = ends[allocation->held_to];
		ends[allocation->held_to] = r;
	}
	if (n)
		qsort(turn_entry, (size_t)n, sizeof *turn_entry, by_key);
	if (!gen->out_of_memory)
		failed = place_in_order(&fit, turn_entry, n, ends, !largest_first);
	free(fit.link);
	free(turn_entry);
	free(ends);
	return failed;
}

int64_t tpu_gen_peak_rows(struct tpu_gen *gen)
{
	int64_t *change = calloc((size_t)gen->n_groups + 2, sizeof *change), rows = 0, peak = 0;
	if (!change) {
		gen->out_of_memory = true;
		return INT64_MAX;
	}
	for (int r = 0; r < gen->n_allocations; r++)
		if (gen->allocation[r].held_from <= gen->allocation[r].held_to) {
			change[gen->allocation[r].held_from] += gen->allocation[r].rows;
			change[gen->allocation[r].held_to + 1] -= gen->allocation[r].rows;
		}
	for (int g = 0; g <= gen->n_groups; g++) {
		rows += change[g];
		peak = rows > peak ? rows : peak;
	}
	free(change);
	return peak;
}
