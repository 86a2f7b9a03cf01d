/* SPDX-License-Identifier: MIT
 *
 * Skips repeats: runs of instructions that differ from the run before in nothing but addresses (engine.h). For some
 * memories addresses do not change the times. When a repeat then begins in a machine state in which an earlier one of
 * its level began, everything goes as it went from there, for as long as the repeats are alike. These periods are
 * counted, not simulated. A repeat may hold repeats of other levels, some of which were skipped too: the time and
 * events of a mark include them.
 *
 * A mark holds the machine state that decides all later times. Its words are relative to the present: a time is
 * counted from now, and a row from the rows that have arrived or are free. Two marks with the same words are the same
 * state. The last marks find short periods at once. The anchor finds long ones, such as that of the fraction of a cycle
 * at which the port of a `fixed` memory becomes free: it is compared with as many marks as were made before it, and
 * then moves on (Brent, BIT 20, 1980). */
#include <stdlib.h>
#include <string.h>

#include "fast.h"

/* The least number of instructions between marks: a mark costs about as much as some of them. */
#define MARK_DISTANCE 24

void dn_fast_repetition_free(struct dn_fast *f)
{
	for (int level = 0; level < DN_REPEAT_LEVELS; level++) {
		struct dn_fast_repeats *repeats = &f->repetition.level[level];
		for (int i = 0; i < DN_FAST_MARKS; i++)
			free(repeats->mark[i].state.words.word);
		free(repeats->anchor.state.words.word);
	}
	free(f->repetition.state.words.word);
}

static void add_times(uint64_t *to, const uint64_t *from, const uint64_t *since, size_t n, uint64_t times)
{
	for (size_t i = 0; i < n; i++)
		to[i] += (from[i] - since[i]) * times;
}

static void add(struct npl_memory_counters *to, const struct npl_memory_counters *from)
{
	static const struct npl_memory_counters no_counts;
	add_times((uint64_t *)to, (const uint64_t *)from, (const uint64_t *)&no_counts,
		  sizeof no_counts / sizeof(uint64_t), 1);
}

/* Both structures are walked over as arrays of uint64_t; that of a memory has a list of such members alone. If the
 * assertion fails, a member of struct dn_counters beside output_saturations is in no table. */
_Static_assert(sizeof(struct dn_counters) == (DN_COUNTERS + 1) * sizeof(uint64_t), "every member is a uint64_t");

/* An instruction decides no times by its number, but the observer is told it. */
static void add_index(const struct dn_fast *f, uint64_t index, struct npl_memory_words *words)
{
	if (f->told)
		npl_memory_add_word(words, f->index - index);
}

static void add_entries(const struct dn_fast *f, struct npl_memory_words *words)
{
	npl_memory_add_word(words, f->queue_tail - f->queue_head);
	for (uint64_t i = f->queue_head; i < f->queue_tail; i++) {
		const struct dn_fast_entry *e = &f->queue[i & f->queue_mask];
		npl_memory_add_word(words, (uint64_t)e->steps << 32 | (uint64_t)e->stages_to_leave << 8 |
						   (uint64_t)e->result_rows << 4 | (uint64_t)e->completes << 3 |
						   (uint64_t)e->by_nfu1 << 2 | (uint64_t)e->reads_nbin << 1 |
						   e->reads_sb);
		npl_memory_add_word(words, e->nbin_freed - f->nbin.rows_freed);
		npl_memory_add_word(words, e->sb_freed - f->sb.rows_freed);
		add_index(f, e->index, words);
		if (e->reads_nbin) {
			npl_memory_add_word(words, e->nbin_row - f->nbin.rows_arrived);
			npl_memory_add_word(words, e->nbin_stride);
		}
		if (e->reads_sb)
			npl_memory_add_word(words, e->sb_row - f->sb.rows_arrived);
		if (e->completes)
			npl_memory_add_word(words, e->store_bytes);
	}
}

static void add_buffer(const struct dn_fast *f, const struct dn_fast_buffer *b, struct npl_memory_words *words)
{
	npl_memory_add_word(words, b->next - b->rows_arrived);
	npl_memory_add_word(words, b->oldest - b->rows_arrived);
	npl_memory_add_word(words, b->rows_taken - b->rows_arrived);
	npl_memory_add_word(words, b->rows_freed - b->rows_arrived);
	npl_memory_add_word(words, b->loads_put - b->loads_pushed);
	for (uint64_t i = b->loads_pushed; i < b->loads_put; i++)
		npl_memory_add_word(words, (uint64_t)b->load[i & b->mask].rows << 32 | b->load[i & b->mask].bytes);
	for (uint64_t i = b->loads_arrived; i < b->loads_put; i++)
		add_index(f, b->load[i & b->mask].index, words);
}

static uint64_t from_now(const struct dn_fast *f, uint64_t boundary)
{
	return boundary > f->now ? boundary - f->now : 0;
}

static void add_nfu(const struct dn_fast *f, struct npl_memory_words *words)
{
	npl_memory_add_word(words, f->head_steps);
	npl_memory_add_word(words, from_now(f, f->after_nfu1));
	npl_memory_add_word(words, from_now(f, f->fill_until));
	npl_memory_add_word(words, from_now(f, f->drained));
	npl_memory_add_word(words, f->free_result_rows);
	npl_memory_add_word(words, f->filled_rows);
	npl_memory_add_word(words, from_now(f, f->filled_ready));
	npl_memory_add_word(words, f->open_store.bytes_left);
	npl_memory_add_word(words, f->open_store.bytes);
	npl_memory_add_word(words, f->stores_put - f->stores_pushed);
	for (uint64_t i = f->stores_pushed; i < f->stores_put; i++) {
		const struct dn_fast_store *store = &f->store[i & f->store_mask];
		npl_memory_add_word(words, store->bytes);
		npl_memory_add_word(words, store->rows);
		npl_memory_add_word(words, from_now(f, store->ready));
	}
	for (uint64_t i = f->stores_completed; i < f->stores_put; i++)
		add_index(f, f->store[i & f->store_mask].index, words);
}

/* Computes four independent hashes side by side: with a single one, each multiplication would wait for the one before
 * it. */
static uint64_t hash_of(const struct npl_memory_words *words)
{
	const uint64_t multiplier = 0x9e3779b97f4a7c15;
	uint64_t h[4] = {1, 2, 3, 4};
	uint64_t i = 0;
	for (; i + 4 <= words->n; i += 4)
		for (int k = 0; k < 4; k++)
			h[k] = (h[k] ^ words->word[i + k]) * multiplier;
	for (; i < words->n; i++)
		h[0] = (h[0] ^ words->word[i]) * multiplier;
	return h[0] ^ h[1] >> 7 ^ h[2] >> 13 ^ h[3] >> 19;
}

/* Gathers the words of the present state. Returns false where the memory cannot give its own. */
static bool gather(const struct dn_fast *f, struct npl_memory_words *words)
{
	words->n = 0;
	add_entries(f, words);
	add_buffer(f, &f->nbin, words);
	add_buffer(f, &f->sb, words);
	add_nfu(f, words);
	return npl_dma_relative_state(f->dma, words);
}

static int make_space(const struct dn_fast *f, struct npl_memory_words *words, uint64_t n)
{
	if (n <= words->capacity)
		return 0;
	uint64_t *grown = reallocarray(words->word, n, 2 * sizeof *grown);
	if (!grown)
		return npl_fail(f->err, NPL_ENOMEM, "out of memory for the states of a program");
	words->word = grown;
	words->capacity = 2 * n;
	return 0;
}

/* Gathers the present state. repeat.enabled becomes false where the memory cannot give its state. */
static int gather_state(struct dn_fast *f)
{
	struct dn_fast_repetition *r = &f->repetition;
	while ((r->enabled = gather(f, &r->state.words)) && r->state.words.n > r->state.words.capacity)
		if (make_space(f, &r->state.words, r->state.words.n))
			return f->err->code;
	if (r->enabled)
		r->state.hash = hash_of(&r->state.words);
	r->gathered = true;
	return 0;
}

static int take_mark(struct dn_fast *f, struct dn_fast_mark *mark, int64_t begun)
{
	const struct dn_fast_repetition *r = &f->repetition;
	const struct npl_memory_words *now = &r->state.words;
	if (make_space(f, &mark->state.words, now->n))
		return f->err->code;
	memcpy(mark->state.words.word, now->word, now->n * sizeof *now->word);
	mark->state.words.n = now->n;
	mark->state.hash = r->state.hash;
	mark->begun = begun;
	mark->cycle = f->now + r->cycles;
	mark->instruction = f->index + r->instructions;
	mark->n_told = f->n_told;
	mark->counters = f->outcome->counters;
	npl_memory_counters(f->memory, &mark->memory_counters);
	add(&mark->memory_counters, &r->memory_counters);
	return 0;
}

static bool same_state(const struct dn_fast_state *a, const struct dn_fast_state *b)
{
	return a->hash == b->hash && a->words.n == b->words.n &&
	       !memcmp(a->words.word, b->words.word, a->words.n * sizeof *a->words.word);
}

/* Returns the latest mark of these repeats whose state is the present one; NULL: there is none. */
static const struct dn_fast_mark *find_mark(const struct dn_fast_repeats *repeats, const struct dn_fast_state *present)
{
	const int64_t max_marks = repeats->marks < DN_FAST_MARKS - 1 ? repeats->marks : DN_FAST_MARKS - 1;
	for (int64_t i = 1; i <= max_marks; i++) {
		const struct dn_fast_mark *mark = &repeats->mark[(repeats->marks - i) % DN_FAST_MARKS];
		if (same_state(&mark->state, present))
			return mark;
	}
	return repeats->marks && same_state(&repeats->anchor.state, present) ? &repeats->anchor : NULL;
}

static void move_anchor(struct dn_fast_repeats *repeats, struct dn_fast_mark *mark)
{
	if (!repeats->marks)
		repeats->window = DN_FAST_MARKS / 2;
	else if (++repeats->since_anchor < repeats->window)
		return;
	const struct dn_fast_mark spare = repeats->anchor;
	repeats->anchor = *mark;
	*mark = spare; /* this mark is then missing among the last ones: it is the anchor */
	mark->state.words.n = 0;
	mark->state.hash = 0;
	repeats->window *= 2;
	repeats->since_anchor = 0;
}

/* Repeats what happened since the mark as many times as the repeats allow. */
static int repeat(struct dn_fast *f, int level, const struct dn_fast_mark *mark)
{
	struct dn_fast_repetition *r = &f->repetition;
	struct dn_fast_repeats *repeats = &r->level[level];
	const int64_t period = repeats->begun - mark->begun, times = (repeats->end - repeats->begun) / period;
	const uint64_t cycles = f->now + r->cycles - mark->cycle,
		       instructions = f->index + r->instructions - mark->instruction;
	struct npl_memory_counters increase;
	if (cycles && (uint64_t)times > (f->longest - f->now - r->cycles) / cycles)
		return dn_fail_too_long(f->engine_input, f->err);
	npl_memory_counters(f->memory, &increase);
	add(&increase, &r->memory_counters);
	r->cycles += (uint64_t)times * cycles;
	r->instructions += (uint64_t)times * instructions;
	add_times((uint64_t *)&f->outcome->counters, (const uint64_t *)&f->outcome->counters,
		  (const uint64_t *)&mark->counters, sizeof mark->counters / sizeof(uint64_t), (uint64_t)times);
	add_times((uint64_t *)&r->memory_counters, (const uint64_t *)&increase,
		  (const uint64_t *)&mark->memory_counters, sizeof increase / sizeof(uint64_t), (uint64_t)times);
	if (f->told)
		dn_fast_tell_again(f, mark->n_told, cycles, instructions, times);
	else
		f->engine_input->stream.skip(f->engine_input->stream.state, level, times * period);
	repeats->begun += times * period;
	repeats->marks = 0; /* fewer of these repeats are left than a period has */
	return 0;
}

void dn_fast_repetition_count(const struct dn_fast *f)
{
	add(&f->outcome->memory, &f->repetition.memory_counters);
}

/* Begins so many repeats of this level. *skipped: some have been counted instead. */
static int begin_repeats(struct dn_fast *f, int level, int64_t n_repeats, bool *skipped)
{
	struct dn_fast_repetition *r = &f->repetition;
	struct dn_fast_repeats *repeats = &r->level[level];
	if (repeats->begun + n_repeats != repeats->end) { /* these repeats are not the ones of the last call */
		repeats->end = repeats->begun + n_repeats;
		repeats->marks = 0;
	}
	if (!repeats->marks || f->index - repeats->marked_at >= MARK_DISTANCE) {
		if (!r->gathered && gather_state(f))
			return f->err->code;
		if (!r->enabled)
			return 0;
		const struct dn_fast_mark *repeated = find_mark(repeats, &r->state);
		if (repeated && repeats->begun - repeated->begun <= n_repeats &&
		    dn_fast_remembers(f, repeated->n_told)) {
			*skipped = true;
			return repeat(f, level, repeated);
		}
		struct dn_fast_mark *mark = &repeats->mark[repeats->marks % DN_FAST_MARKS];
		if (take_mark(f, mark, repeats->begun))
			return f->err->code;
		repeats->marked_at = f->index;
		move_anchor(repeats, mark);
		repeats->marks++;
	}
	repeats->begun++;
	return 0;
}

int dn_fast_skip_repeats(struct dn_fast *f)
{
	const struct dn_stream *stream = &f->engine_input->stream;
	int64_t n_alike[DN_REPEAT_LEVELS];
	f->repetition.gathered = false;
	stream->count_repeats(stream->state, n_alike);
	for (int level = 0; level < DN_REPEAT_LEVELS && f->repetition.enabled; level++) {
		bool skipped = false;
		if (n_alike[level] && begin_repeats(f, level, n_alike[level], &skipped))
			return f->err->code;
		if (skipped) { /* the next instruction begins another repeat, of this level or of all */
			stream->count_repeats(stream->state, n_alike);
			level = -1;
		}
	}
	return 0;
}
