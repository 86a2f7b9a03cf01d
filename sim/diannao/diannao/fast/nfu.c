/* SPDX-License-Identifier: MIT
 *
 * Takes the NFU's steps, many at once (fast.h). Nothing arrives between two boundaries that the engine goes to. So the
 * instruction at the head takes the steps whose rows are there, one a cycle, and then waits for the row or the room
 * that is missing. */
#include "fast.h"

#include "core/base/arith.h"

/* Returns how many steps of the head have their rows. */
static uint64_t arrived_steps(const struct dn_fast *f, const struct dn_fast_entry *e)
{
	uint64_t n = e->steps;
	if (e->reads_sb && f->sb.rows_arrived < e->sb_row + n)
		n = f->sb.rows_arrived > e->sb_row ? f->sb.rows_arrived - e->sb_row : 0;
	if (e->reads_nbin && f->nbin.rows_arrived <= e->nbin_last) {
		uint64_t rows = f->nbin.rows_arrived > e->nbin_row ? f->nbin.rows_arrived - e->nbin_row : 0;
		uint64_t steps = e->nbin_stride > 1 ? npl_div_up_u64(rows, e->nbin_stride) : rows;
		n = steps < n ? steps : n;
	}
	return n;
}

/* Returns how many steps of the head can be taken: the last one also needs room for its results. */
static uint64_t possible_steps(const struct dn_fast *f, const struct dn_fast_entry *e)
{
	uint64_t n = arrived_steps(f, e);
	return n == e->steps && e->result_rows > f->free_result_rows ? n - 1 : n;
}

/* Returns the first cycle in which the head's next step can be taken. */
static uint64_t next_step(const struct dn_fast *f, const struct dn_fast_entry *e)
{
	return e->by_nfu1 || f->after_nfu1 < f->now ? f->now : f->after_nfu1;
}

uint64_t dn_fast_nfu_end(const struct dn_fast *f)
{
	const struct dn_fast_entry *e = dn_fast_head(f);
	if (!e || possible_steps(f, e) < e->steps)
		return DN_NEVER;
	return next_step(f, e) + e->steps - f->head_steps;
}

static void attribute(struct dn_fast *f, enum dn_cycle_class cycle_class, uint64_t index, uint64_t cycles)
{
	struct dn_counters *n = &f->outcome->counters;
	uint64_t from = 0;
	for (int i = 0; i < DN_CYCLE_CLASSES; i++)
		from += *dn_class_counter(n, i);
	*dn_class_counter(n, cycle_class) += cycles;
	if (cycles)
		dn_fast_tell_cycles(f, cycle_class, from, from + cycles, index);
}

/* Returns what the head's next step waits for. */
static enum dn_cycle_class waiting(const struct dn_fast *f, const struct dn_fast_entry *e)
{
	if (e->reads_sb && f->sb.rows_arrived <= e->sb_row + f->head_steps)
		return DN_CYCLES_WAIT_SB;
	if (e->reads_nbin && f->nbin.rows_arrived <= e->nbin_row + (uint64_t)f->head_steps * e->nbin_stride)
		return DN_CYCLES_WAIT_NBIN;
	return f->head_steps + 1 == e->steps && e->result_rows > f->free_result_rows ? DN_CYCLES_WAIT_NBOUT
										     : DN_CYCLES_NFU_FILL;
}

static void idle(struct dn_fast *f, uint64_t cycles)
{
	const uint64_t index = f->index - f->ended;
	uint64_t fill = f->fill_until > f->now ? f->fill_until - f->now : 0;
	fill = fill < cycles ? fill : cycles;
	attribute(f, DN_CYCLES_NFU_FILL, index, fill);
	if (f->filled_rows || f->stores_completed < f->stores_put)
		attribute(f, DN_CYCLES_WAIT_NBOUT, index, cycles - fill);
	else if (f->sb.rows_arrived < f->sb.next)
		attribute(f, DN_CYCLES_WAIT_SB, index, cycles - fill);
	else
		attribute(f, DN_CYCLES_WAIT_NBIN, index, cycles - fill);
}

/* Notes that the head's last step is in the cycle before this boundary. */
static void leave(struct dn_fast *f, const struct dn_fast_entry *e, uint64_t boundary)
{
	f->fill_until = boundary + e->stages_to_leave;
	f->drained = f->fill_until > f->drained ? f->fill_until : f->drained;
	if (!e->result_rows)
		return;
	f->free_result_rows -= e->result_rows;
	f->filled_rows += e->result_rows;
	f->filled_ready = f->fill_until > f->filled_ready ? f->fill_until : f->filled_ready;
	if (!e->completes)
		return;
	dn_fast_add_store(f, &(struct dn_fast_store){.index = e->index,
						     .address = e->store_address,
						     .bytes = e->store_bytes,
						     .rows = f->filled_rows,
						     .ready = f->filled_ready});
	f->filled_rows = f->filled_ready = 0;
}

void dn_fast_nfu_run(struct dn_fast *f, uint64_t until)
{
	struct dn_fast_entry *e = dn_fast_head(f);
	uint64_t cycles_left = until - f->now;
	if (cycles_left && !e) {
		idle(f, cycles_left);
	} else if (cycles_left) {
		const uint64_t ready_steps = possible_steps(f, e);
		if (ready_steps > f->head_steps) {
			const uint64_t from = next_step(f, e), held_up = from < until ? from - f->now : cycles_left;
			uint64_t n = ready_steps - f->head_steps;
			attribute(f, DN_CYCLES_NFU_FILL, e->index, held_up);
			cycles_left -= held_up;
			n = n < cycles_left ? n : cycles_left;
			if (n && !f->head_steps)
				dn_fast_tell(f, DN_STARTED, e->index, from);
			f->head_steps += (uint32_t)n;
			attribute(f, DN_CYCLES_NFU_ACTIVE, e->index, n);
			cycles_left -= n;
			if (n && e->by_nfu1)
				f->after_nfu1 = until - cycles_left + (uint64_t)f->config->nfu1_stages;
			if (n && f->head_steps == e->steps)
				leave(f, e, until - cycles_left);
		}
		if (cycles_left)
			attribute(f, waiting(f, e), e->index, cycles_left);
	}
	f->now = until;
}
