/* SPDX-License-Identifier: MIT
 *
 * The tiles of a layer, one after the other (schedule.h). A tile of the resident nest is some neighbouring windows of
 * one output row with some of the groups of outputs; one of the streamed nest is some rows of one window and one group.
 * The sizes are such that the inputs of a tile take at most half of NBin and its results half of NBout, if that can be,
 * so that the other half loads or leaves meanwhile.
 *
 * An SB row that is used once only is gone so fast that the NFU should not wait for many of them: there a tile has
 * an eighth of SB. */
#include "schedule.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Sizes of tiles: see above. One window's inputs may take more than half of NBin. */
static void cut(struct dn_schedule *s)
{
	const struct dn_config *c = s->config;
	const struct dn_work *w = s->work;
	int64_t room = max(c->nbin_rows / 2 / (w->window.kernel[0] * s->in_rows), 1);
	int64_t half_out = max(c->nbout_rows / 2, s->result_rows);
	s->groups_a_tile = min(s->tiles->groups_at_once, half_out / s->result_rows);
	s->piece = max((room - dn_span(&s->axis[1], 0, 1)) / w->window.stride[1] + 1, 1);
	if (room < dn_span(&s->axis[1], 0, 1))
		s->piece = 1;
	s->piece = min(s->piece, half_out / (s->groups_a_tile * s->result_rows));
	s->piece_rows = max(c->nbin_rows / 2, 1);
	if (s->sums)
		s->piece_rows = min(s->piece_rows, max(c->sb_rows / (s->tiles->positions_at_once == 1 ? 8 : 2), 1));
}

void dn_schedule_of(const struct dn_config *config, const struct dn_work *work, const struct dn_traffic *traffic,
		    struct dn_schedule *schedule)
{
	struct dn_schedule *s = schedule;
	*s = (struct dn_schedule){.config = config, .work = work, .tiles = traffic, .sums = work->kind == DN_SUM};
	for (int d = 0; d < NPL_SPATIAL; d++)
		s->axis[d] = dn_axis_of(work, d);
	int64_t groups = dn_out_rows(config, work);
	s->in_rows = s->sums ? dn_in_rows(config, work) : 1;
	s->window_rows = s->in_rows * dn_taps(work);
	s->groups = s->sums ? groups : 1;
	s->map_groups = s->sums ? 1 : groups;
	s->kept = s->sums && work->groups * groups * s->window_rows <= config->sb_rows;
	s->result_rows = work->raw ? dn_sum_rows(config) : 1;
	dn_place(s);
	if (traffic->groups_at_once)
		cut(s);
}

/* One step further in a loop of some length; false when it begins anew. */
static bool step(int64_t *at, int64_t begin, int64_t end, int64_t by)
{
	*at += by;
	if (*at < end)
		return true;
	*at = begin;
	return false;
}

/* xx > nnn of figure 7; false: there is no more. */
static bool next_pass(const struct dn_schedule *s, struct dn_cursor *c)
{
	const struct dn_work *w = s->work;
	return step(&c->pass, 0, s->groups, s->tiles->groups_at_once) ||
	       step(&c->first, 0, w->out[1], s->tiles->tile_width) || step(&c->maps, 0, s->map_groups, 1) ||
	       step(&c->group, 0, w->groups, 1) || ++c->image < w->images;
}

static void enter_pass(const struct dn_schedule *s, struct dn_cursor *c)
{
	c->pass_end = min(c->pass + s->tiles->groups_at_once, s->groups);
	c->end = min(c->first + s->tiles->tile_width, s->work->out[1]);
	c->held = dn_held(s->config, s->axis, s->in_rows, c->first, c->end);
	c->x = c->first;
}

/* Within a pass, y > x > nn. */
static bool advance_resident(const struct dn_schedule *s, struct dn_cursor *c)
{
	if (!c->begun) {
		enter_pass(s, c);
	} else if (step(&c->sub, c->pass, c->pass_end, s->groups_a_tile)) {
		c->sub_end = min(c->sub + s->groups_a_tile, c->pass_end);
		return true;
	} else if (!step(&c->x, c->first, c->end, s->piece) && !step(&c->y, 0, s->work->out[0], 1)) {
		if (!next_pass(s, c))
			return false;
		enter_pass(s, c);
	}
	c->x_end = min(c->x + s->piece, c->end);
	c->sub = c->pass;
	c->sub_end = min(c->sub + s->groups_a_tile, c->pass_end);
	return true;
}

static int64_t columns(const struct dn_schedule *s, const struct dn_cursor *c, bool freed)
{
	int64_t sum = 0;
	for (int64_t o = c->x; o < c->x_end; o++) {
		struct dn_range taps = freed ? dn_last_taps(&s->axis[1], o, c->end)
					     : dn_new_taps(&s->axis[1], o, c->first);
		sum += taps.end - taps.first;
	}
	return sum;
}

struct dn_range dn_lines(const struct dn_schedule *s, const struct dn_cursor *c, bool freed)
{
	if (!c->held.rows_slide)
		return dn_taps_inside(&s->axis[0], c->y, 0, s->axis[0].kernel);
	return freed ? dn_last_taps(&s->axis[0], c->y, s->axis[0].out) : dn_new_taps(&s->axis[0], c->y, 0);
}

static int64_t rows_of(const struct dn_schedule *s, const struct dn_cursor *c, bool freed)
{
	struct dn_range taps = dn_lines(s, c, freed);
	return taps.end > taps.first ? (taps.end - taps.first) * columns(s, c, freed) * s->in_rows : 0;
}

static void resident_tile(const struct dn_schedule *s, const struct dn_cursor *c, struct dn_tile *t)
{
	const struct dn_work *w = s->work;
	int64_t subs = c->sub_end - c->sub, windows = c->x_end - c->x;
	bool first_pass = c->pass == 0, last_pass = c->pass_end == s->groups;
	*t = (struct dn_tile){.steps = (uint64_t)(windows * subs * s->window_rows)};
	if (c->sub == c->pass && (first_pass || !c->held.all_fits))
		t->nbin_rows = rows_of(s, c, false);
	if (c->sub_end == c->pass_end && (last_pass || !c->held.all_fits))
		t->nbin_freed = rows_of(s, c, true);
	if (s->sums && c->y == 0 && c->x == c->first && !(s->kept && (c->image || c->first)))
		t->sb_rows = subs * s->window_rows;
	if (s->sums && c->y == w->out[0] - 1 && c->x_end == c->end && !s->kept)
		t->sb_freed = subs * s->window_rows;
	t->nbout_taken = t->nbout_left = windows * subs * s->result_rows;
}

/* blocks > nnn > iii; false: there is no more. */
static bool next_chunk(const struct dn_schedule *s, struct dn_cursor *c)
{
	const struct dn_work *w = s->work;
	int64_t positions = dn_positions(w);
	return step(&c->chunk, 0, s->window_rows, s->tiles->chunk_rows) ||
	       step(&c->pass, 0, s->groups, s->tiles->groups_at_once) ||
	       step(&c->block, 0, positions, min(s->tiles->positions_at_once, positions)) ||
	       step(&c->maps, 0, s->map_groups, 1) || step(&c->group, 0, w->groups, 1) || ++c->image < w->images;
}

static void enter_chunk(const struct dn_schedule *s, struct dn_cursor *c)
{
	int64_t positions = dn_positions(s->work);
	c->block_end = c->block + min(s->tiles->positions_at_once, positions - c->block);
	c->pass_end = min(c->pass + s->tiles->groups_at_once, s->groups);
	c->chunk_end = c->chunk + min(s->tiles->chunk_rows, s->window_rows - c->chunk);
	c->position = c->block;
}

/* Within a chunk, y, x > nn > ii. */
static bool advance_streamed(const struct dn_schedule *s, struct dn_cursor *c)
{
	if (!c->begun) {
		enter_chunk(s, c);
	} else if (step(&c->row, c->chunk, c->chunk_end, s->piece_rows)) {
		c->row_end = min(c->row + s->piece_rows, c->chunk_end);
		return true;
	} else if (step(&c->sub, c->pass, c->pass_end, 1)) {
		c->sub_end = c->sub + 1;
		c->row_end = min(c->row + s->piece_rows, c->chunk_end);
		return true;
	} else if (!step(&c->position, c->block, c->block_end, 1)) {
		if (!next_chunk(s, c))
			return false;
		enter_chunk(s, c);
	}
	c->sub = c->pass;
	c->sub_end = c->sub + 1;
	c->row = c->chunk;
	c->row_end = min(c->row + s->piece_rows, c->chunk_end);
	return true;
}

static void streamed_tile(const struct dn_schedule *s, const struct dn_cursor *c, struct dn_tile *t)
{
	int64_t rows = c->row_end - c->row;
	bool whole = s->tiles->chunk_rows >= s->window_rows, ends = c->row_end == s->window_rows;
	*t = (struct dn_tile){.steps = (uint64_t)rows};
	if (c->sub == c->pass)
		t->nbin_rows = rows;
	if (c->sub_end == c->pass_end)
		t->nbin_freed = rows;
	if (s->sums && c->position == c->block && !(s->kept && (c->image || c->block)))
		t->sb_rows = rows;
	if (s->sums && c->position == c->block_end - 1 && !s->kept)
		t->sb_freed = rows;
	/* Sums of unfinished windows stay in NBout; those of a window in one chunk are in NFU-2 until they are done. */
	if (whole && ends)
		t->nbout_taken = s->result_rows;
	else if (!whole && c->row == 0)
		t->nbout_taken = dn_sum_rows(s->config);
	if (ends)
		t->nbout_left = s->result_rows;
	if (ends && !whole)
		t->nbout_freed = dn_sum_rows(s->config) - s->result_rows;
}

bool dn_next_tile(const struct dn_schedule *schedule, struct dn_cursor *cursor, struct dn_tile *tile)
{
	if (!schedule->tiles->groups_at_once) /* no outputs, or no inputs */
		return false;
	bool resident = schedule->tiles->resident;
	bool more = (resident ? advance_resident : advance_streamed)(schedule, cursor);
	cursor->begun = true;
	if (more)
		(resident ? resident_tile : streamed_tile)(schedule, cursor, tile);
	return more;
}
