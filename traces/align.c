/* SPDX-License-Identifier: MIT
 *
 * Brings the events of two traces together (diff.h). Each side has a window of events that have been read; the memory
 * does not depend on the traces. */
#include <stdlib.h>
#include <string.h>

#include "core/base/checksum.h"
#include "core/base/refuse.h"
#include "diff.h"

/* So many events in a row must be the same where two traces come together again: one may be so by chance. */
enum { RUN = 4, NEAR = 16, WINDOW = TRACE_WINDOW + 4 * RUN };

struct side {
	struct trace_events *events;
	struct trace_event event[WINDOW]; /* a ring */
	uint64_t key[WINDOW];             /* those of the events, side by side */
	int first, n;
	bool ended; /* nothing follows the events in the window */
};

static int place(const struct side *side, int i)
{
	const int index = side->first + i;
	return index < WINDOW ? index : index - WINDOW;
}

static struct trace_event *at(struct side *side, int i)
{
	return &side->event[place(side, i)];
}

/* Reads events until the window has n, or the trace ends. */
static int fill(struct side *side, int n, struct npl_err *err)
{
	while (side->n < n && !side->ended) {
		bool more;
		const struct trace_event *event = at(side, side->n);
		if (trace_events_next(side->events, at(side, side->n), &more, err))
			return err->code;
		if (more)
			side->key[place(side, side->n)] = event->key;
		side->ended = !more;
		side->n += more;
	}
	return 0;
}

static void drop(struct side *side)
{
	side->first = place(side, 1);
	side->n--;
}

struct alignment {
	struct side a, b;
	const struct trace_pair_sink *pairs;
	/* Layers (struct trace_event.layer): one that has another name in either trace, and the last one of both. */
	uint64_t same_layer[2], matched;
	struct npl_err *err;
};

/* Gives the first event of one side, or of both. */
static int give(struct alignment *g, bool of_a, bool of_b)
{
	if (of_a && of_b && at(&g->a, 0)->layer == at(&g->b, 0)->layer)
		g->matched = at(&g->a, 0)->layer;
	const int rc = g->pairs->on_pair(g->pairs->context, of_a ? at(&g->a, 0) : NULL, of_b ? at(&g->b, 0) : NULL,
					 g->err);
	if (of_a)
		drop(&g->a);
	if (of_b)
		drop(&g->b);
	return rc;
}

/* Returns the first event from i on, or the number of lines. Where the lines between instructions are depends on those
 * before them, so that nothing is found by them. */
static int past_between(struct side *side, int i)
{
	while (i < side->n && trace_is_between(at(side, i)))
		i++;
	return i;
}

/* Says whether two events are of the same layer. */
static bool same_layer(const struct alignment *g, const struct trace_event *a, const struct trace_event *b)
{
	return a->layer == b->layer || (a->layer == g->same_layer[0] && b->layer == g->same_layer[1]);
}

/* Says whether the same events follow from event i of a and j of b on: RUN of them, or all up to both ends. Of another
 * layer: instructions may be of layers with other names. */
static bool same_from(struct alignment *g, int i, int j, bool of_another_layer)
{
	int k = 0;
	for (;; k++, i++, j++) {
		i = past_between(&g->a, i);
		j = past_between(&g->b, j);
		if (k == RUN || i >= g->a.n || j >= g->b.n || !trace_same_event(at(&g->a, i), at(&g->b, j)) ||
		    (!of_another_layer && !same_layer(g, at(&g->a, i), at(&g->b, j))))
			break;
	}
	return k == RUN || (k > 0 && i == g->a.n && j == g->b.n && g->a.ended && g->b.ended);
}

/* Says whether an event is one within a program, or its first line. */
static bool is_of_program(const struct trace_event *event)
{
	return event->kind <= TRACE_END;
}

static bool ends_batch(const struct trace_event *event)
{
	return event->kind == TRACE_BATCH || event->kind == TRACE_EXECUTION;
}

static bool both_in_program(struct alignment *g)
{
	return is_of_program(at(&g->a, 0)) && is_of_program(at(&g->b, 0));
}

/* Returns how many events of a window can be left out, at most `most`: those before the end of the program where both
 * traces are in one, or else of the batch. So no program is compared with the one of another batch. */
static int most_left_out(struct side *side, bool in_program, int most)
{
	int i = 0;
	while (i < most && i < side->n - 1 && !(in_program ? at(side, i)->kind == TRACE_END : ends_batch(at(side, i))))
		i++;
	return i;
}

static bool has_layer(struct side *side, uint64_t layer)
{
	int i = 0;
	while (i < side->n && at(side, i)->layer != layer)
		i++;
	return i < side->n;
}

/* Says whether the first events are of one layer that has two names: either trace lacks the other's name. */
static bool is_renamed(struct alignment *g)
{
	const uint64_t a = at(&g->a, 0)->layer, b = at(&g->b, 0)->layer;
	return a && b && a != b && a != g->matched && b != g->matched && same_from(g, 0, 0, true) &&
	       !has_layer(&g->a, b) && !has_layer(&g->b, a);
}

/* Gets a checksum of the RUN events that follow each place in a window up to the last. Others are other runs. */
static void get_runs(struct side *side, int last, uint64_t *run)
{
	const int n = last + 4 * RUN < side->n ? last + 4 * RUN : side->n;
	for (int i = 0; i <= last; i++) {
		uint64_t of_run[RUN] = {0};
		for (int k = 0, j = past_between(side, i); k < RUN && j < n; k++, j = past_between(side, j + 1))
			of_run[k] = side->key[place(side, j)];
		run[i] = npl_checksum(of_run, sizeof of_run);
	}
}

static uint64_t key_of_first(struct side *side)
{
	const int i = past_between(side, 0);
	return i < side->n ? side->key[place(side, i)] : 0;
}

/* Finds the place with the least sum of events that are left out of both traces, at most `most` of either. */
static bool find_near(struct alignment *g, int most_a, int most_b, bool of_another_layer, int *skip_a, int *skip_b)
{
	enum { SLOTS = 4 * TRACE_LOOK_AHEAD, SHIFT = 64 - 11 };
	_Static_assert(SLOTS == 1 << (64 - SHIFT), "the highest bits of a run are a slot");
	uint64_t run_a[TRACE_LOOK_AHEAD + 1], run_b[TRACE_LOOK_AHEAD + 1];
	int16_t slot[SLOTS],
		next[TRACE_LOOK_AHEAD + 1] = {0}; /* places of b by their runs, the nearest first; -1: no more */
	int best = most_a + most_b + 1;
	get_runs(&g->a, most_a, run_a);
	get_runs(&g->b, most_b, run_b);
	memset(slot, -1, sizeof slot);
	for (int j = most_b; j >= 0; j--) {
		next[j] = slot[run_b[j] >> SHIFT];
		slot[run_b[j] >> SHIFT] = (int16_t)j;
	}
	for (int i = most_a < best ? most_a : best; i >= 0; i--)
		for (int j = slot[run_a[i] >> SHIFT]; j >= 0 && i + j < best; j = next[j])
			if (run_b[j] == run_a[i] && i + j > 0 && same_from(g, i, j, of_another_layer)) {
				best = i + j;
				*skip_a = i;
				*skip_b = j;
			}
	return best <= most_a + most_b;
}

/* Finds the place where more than TRACE_LOOK_AHEAD events of one trace alone are left out. */
static bool find_far(struct alignment *g, bool of_another_layer, int *skip_a, int *skip_b)
{
	const bool in_program = both_in_program(g);
	const int most_a = most_left_out(&g->a, in_program, WINDOW), most_b = most_left_out(&g->b, in_program, WINDOW);
	const uint64_t key_a = key_of_first(&g->a), key_b = key_of_first(&g->b);
	for (int n = TRACE_LOOK_AHEAD + 1; n <= most_a || n <= most_b; n++) {
		const bool of_a = n <= most_a && g->a.key[place(&g->a, n)] == key_b &&
				  same_from(g, n, 0, of_another_layer);
		if (of_a ||
		    (n <= most_b && g->b.key[place(&g->b, n)] == key_a && same_from(g, 0, n, of_another_layer))) {
			*skip_a = of_a ? n : 0;
			*skip_b = of_a ? 0 : n;
			return true;
		}
	}
	return false;
}

/* Finds the nearest place at which the traces come together again: the least number of events that are left out. Where
 * more than TRACE_LOOK_AHEAD are, all of them must be of one trace. */
static bool find_meeting(struct alignment *g, bool of_another_layer, int *skip_a, int *skip_b)
{
	const bool in_program = both_in_program(g);
	int most = NEAR, most_a, most_b;
	/* Nearly always it is near, and then nothing else is nearer. */
	for (;; most = TRACE_LOOK_AHEAD) {
		most_a = most_left_out(&g->a, in_program, most);
		most_b = most_left_out(&g->b, in_program, most);
		const bool found = find_near(g, most_a, most_b, of_another_layer, skip_a, skip_b);
		if (found && (most > NEAR || *skip_a + *skip_b <= NEAR))
			return true;
		if (most > NEAR)
			break;
	}
	return find_far(g, of_another_layer, skip_a, skip_b);
}

/* Gives the events of one side up to the next end, without it: of a program or of a batch. */
static int skip_to_end(struct alignment *g, struct side *side, bool of_program, int *given)
{
	for (;;) {
		if (fill(side, 1, g->err))
			return g->err->code;
		if (!side->n || (of_program ? at(side, 0)->kind == TRACE_END : ends_batch(at(side, 0))))
			return 0;
		if (give(g, side == &g->a, side == &g->b))
			return g->err->code;
		(*given)++;
	}
}

static int give_one(struct alignment *g, struct side *side)
{
	return side->n ? give(g, side == &g->a, side == &g->b) : 0;
}

/* The traces do not come together again soon. Where one is in a program and the other has come to the rows of layers,
 * the first has a program that the other lacks. */
static int skip(struct alignment *g)
{
	const bool together = both_in_program(g);
	int given = 0;
	for (int i = 0; i < 2 && !together; i++) {
		struct side *side = i ? &g->b : &g->a;
		if (is_of_program(at(side, 0)))
			return skip_to_end(g, side, true, &given) || give_one(g, side) ? g->err->code : 0;
	}
	if (skip_to_end(g, &g->a, together, &given) || skip_to_end(g, &g->b, together, &given))
		return g->err->code;
	/* Ends of batches with other numbers: both go on. */
	return given ? 0 : give_one(g, &g->a) || give_one(g, &g->b) ? g->err->code : 0;
}

/* The first events differ, or are of other layers: leaves out events of either side until they are the same again. */
static int meet_again(struct alignment *g)
{
	int skip_a = 0, skip_b = 0;
	if (fill(&g->a, WINDOW, g->err) || fill(&g->b, WINDOW, g->err))
		return g->err->code;
	/* Programs of other layers. */
	if (at(&g->a, 0)->kind == TRACE_PROGRAM && at(&g->b, 0)->kind == TRACE_PROGRAM && same_from(g, 1, 1, true))
		return give(g, true, true);
	if (is_renamed(g)) {
		g->same_layer[0] = at(&g->a, 0)->layer;
		g->same_layer[1] = at(&g->b, 0)->layer;
		return give(g, true, true);
	}
	if (!find_meeting(g, false, &skip_a, &skip_b) && !find_meeting(g, true, &skip_a, &skip_b))
		return skip(g);
	while (skip_a-- > 0)
		if (give(g, true, false))
			return g->err->code;
	while (skip_b-- > 0)
		if (give(g, false, true))
			return g->err->code;
	return 0;
}

static int align(struct alignment *g)
{
	for (;;) {
		if (fill(&g->a, 1, g->err) || fill(&g->b, 1, g->err))
			return g->err->code;
		if (!g->a.n && !g->b.n)
			return 0;
		const bool both = g->a.n && g->b.n, same = both && trace_same_event(at(&g->a, 0), at(&g->b, 0)) &&
							   same_layer(g, at(&g->a, 0), at(&g->b, 0));
		const bool between_a = both && !same && trace_is_between(at(&g->a, 0)),
			   between_b = both && !same && trace_is_between(at(&g->b, 0));
		if (between_a || between_b) {
			if (give(g, between_a, !between_a))
				return g->err->code;
			continue;
		}
		if (both && !same ? meet_again(g) : give(g, g->a.n > 0, g->b.n > 0))
			return g->err->code;
	}
}

int trace_align(struct trace_events *a, struct trace_events *b, const struct trace_pair_sink *pairs,
		struct npl_err *err)
{
	struct alignment *g = calloc(1, sizeof *g);
	if (!g)
		return npl_no_memory(err);
	g->a.events = a;
	g->b.events = b;
	g->pairs = pairs;
	g->err = err;
	const int rc = align(g);
	for (int i = 0; i < WINDOW; i++) {
		trace_event_free(&g->a.event[i]);
		trace_event_free(&g->b.event[i]);
	}
	free(g);
	return rc;
}
