/* SPDX-License-Identifier: MIT
 *
 * Promises of remembered outcomes: what was kept is found again by its key and its size, and by nothing else; nothing
 * is remembered before it is allowed; at most so many bytes are kept; and any thread may ask and keep. The key of a
 * machine changes with each of its parameters, but for those that are left out. */
#include "core/memo.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "tests/kit/support.h"

static struct npl_memo_key key_of(uint64_t number)
{
	return npl_memo_add((struct npl_memo_key){{0}}, &number, sizeof number);
}

/* An outcome that says which it is. */
#define WORDS 4
static void make(uint64_t number, uint64_t outcome[WORDS])
{
	for (uint64_t i = 0; i < WORDS; i++)
		outcome[i] = number * 1000003 + i;
}

static void keep(uint64_t number)
{
	uint64_t outcome[WORDS];
	make(number, outcome);
	npl_memo_keep(key_of(number), outcome, sizeof outcome);
}

/* Says whether an outcome is remembered; it must then be the right one, and nothing may be written where it is not. */
static bool is_kept(uint64_t number)
{
	uint64_t outcome[WORDS] = {77, 77, 77, 77}, expected[WORDS];
	const bool found = npl_memo_find(key_of(number), outcome, sizeof outcome);
	make(number, expected);
	if (found)
		cr_assert_arr_eq(outcome, expected, sizeof outcome, "%d", (int)number);
	else
		cr_assert(outcome[0] == 77 && outcome[WORDS - 1] == 77);
	return found;
}

Test(memo, finds_what_was_kept)
{
	enum { N = 20000 };
	npl_memo_allow((size_t)1 << 24);
	cr_assert_not(is_kept(0), "the memory is empty");
	for (uint64_t i = 0; i < N; i++) {
		keep(i);
		cr_assert(is_kept(i));
		cr_assert(is_kept(i / 2), "while the table grows");
		cr_assert_not(is_kept(i + 1));
	}
	for (uint64_t i = 0; i < N; i++)
		cr_assert(is_kept(i));
	uint64_t more[WORDS + 1];
	cr_assert_not(npl_memo_find(key_of(5), more, sizeof more), "an outcome of another size");
	npl_memo_allow(0);
}

Test(memo, counts_what_was_found)
{
	npl_memo_allow(1 << 20);
	const uint64_t before = npl_memo_found();
	keep(1);
	is_kept(1);
	is_kept(2);
	is_kept(1);
	cr_assert_eq(npl_memo_found() - before, 2);
	npl_memo_allow(0);
}

/* The first outcome of a key stays: what is kept again is the same. */
Test(memo, keeps_an_outcome_once)
{
	npl_memo_allow(1000);
	for (int i = 0; i < 1000; i++)
		keep(1);
	keep(2);
	cr_assert(is_kept(1) && is_kept(2), "a thousand copies would have left no room");
	npl_memo_allow(0);
}

Test(memo, remembers_nothing_before_it_is_allowed)
{
	cr_assert_not(npl_memo_is_allowed());
	keep(1);
	cr_assert_not(is_kept(1));
	npl_memo_allow(1 << 20);
	cr_assert(npl_memo_is_allowed());
	cr_assert_not(is_kept(1));
	keep(1);
	cr_assert(is_kept(1));
	npl_memo_allow(0);
	cr_assert_not(npl_memo_is_allowed());
	cr_assert_not(is_kept(1), "all are forgotten");
	npl_memo_allow(1 << 20);
	cr_assert_not(is_kept(1));
	npl_memo_allow(0);
}

/* How many of the outcomes 0 to n - 1 are remembered. */
static size_t count_kept(uint64_t n)
{
	size_t kept = 0;
	for (uint64_t i = 0; i < n; i++)
		kept += is_kept(i);
	return kept;
}

Test(memo, keeps_at_most_so_many_bytes)
{
	enum { ALLOWED = 10000, BYTES = WORDS * sizeof(uint64_t) };
	npl_memo_allow(ALLOWED);
	for (uint64_t n = 1; n < 3000; n++) {
		keep(n - 1);
		cr_assert(is_kept(n - 1), "the last one is always there");
		cr_assert_leq(n > 400 && n % 37 ? 0 : count_kept(n) * BYTES, (size_t)ALLOWED);
	}
	cr_assert_lt(count_kept(3000), 3000, "some have been forgotten");
	npl_memo_allow(0);
}

/* Less room than before forgets what has none any more. */
Test(memo, keeps_less_when_less_is_allowed)
{
	npl_memo_allow(1 << 20);
	for (uint64_t i = 0; i < 1000; i++)
		keep(i);
	npl_memo_allow(2000);
	cr_assert_leq(count_kept(1000) * WORDS * sizeof(uint64_t), 2000);
	npl_memo_allow(0);
}

/* An outcome for which there is never room is left out, and the others stay. */
Test(memo, leaves_out_what_is_too_large)
{
	static const char large[4001];
	npl_memo_allow(4000);
	keep(1);
	npl_memo_keep(key_of(2), large, sizeof large);
	cr_assert(is_kept(1));
	char outcome[sizeof large];
	cr_assert_not(npl_memo_find(key_of(2), outcome, sizeof outcome));
	npl_memo_allow(0);
}

/* ---- Keys. */

Test(memo, keys_follow_from_all_bytes_and_their_order)
{
	uint64_t rng = 9;
	for (int round = 0; round < 200; round++) {
		uint8_t bytes[64];
		const size_t n = (size_t)test_range(&rng, 1, sizeof bytes), cut = (size_t)test_range(&rng, 0, 62) % n;
		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)test_rng(&rng);
		const struct npl_memo_key none = {{0}}, key = npl_memo_add(none, bytes, n),
					  again = npl_memo_add(none, bytes, n),
					  parts = npl_memo_add(npl_memo_add(none, bytes, cut), bytes + cut, n - cut);
		cr_assert_arr_eq(&key, &again, sizeof key);
		cr_assert(memcmp(&key, &parts, sizeof key) != 0, "parts are apart");
		bytes[test_range(&rng, 0, (int64_t)n - 1)] ^= (uint8_t)(1 << test_range(&rng, 0, 7));
		const struct npl_memo_key changed = npl_memo_add(none, bytes, n);
		cr_assert(memcmp(&key, &changed, sizeof key) != 0);
		const struct npl_memo_key ab = npl_memo_add(key, &changed, sizeof changed),
					  ba = npl_memo_add(changed, &key, sizeof key);
		cr_assert(memcmp(&ab, &ba, sizeof ab) != 0);
	}
}

struct config {
	int64_t rows;
	double volts;
	int kind;
	const char *preset;
	int64_t hidden;
};

static const struct npl_param schema[] = {
	{"array.rows", NPL_PARAM_INT, offsetof(struct config, rows), "1", 0, 100, "", "", NULL},
	{"volts", NPL_PARAM_DOUBLE, offsetof(struct config, volts), "1", 0, 100, "", "", NULL},
	{"kind", NPL_PARAM_CHOICE, offsetof(struct config, kind), "a", 0, 0, "", "", "a b"},
	{"preset", NPL_PARAM_STRING, offsetof(struct config, preset), "", 0, 0, "", "", NULL},
	{"energy.hidden", NPL_PARAM_INT, offsetof(struct config, hidden), "1", 0, 100, "", "", NULL},
	{0}};

static bool is_same_machine(const struct config *a, const struct config *b, const char *without, const char *memory,
			    const char *other_memory)
{
	const struct npl_memo_key x = npl_memo_machine(schema, a, without, memory),
				  y = npl_memo_machine(schema, b, without, other_memory);
	return !memcmp(&x, &y, sizeof x);
}

Test(memo, keys_of_machines_follow_from_each_parameter)
{
	const struct config base = {4, 1.5, 0, "fixed", 9};
	const struct config others[] = {{5, 1.5, 0, "fixed", 9},
					{4, 1.25, 0, "fixed", 9},
					{4, 1.5, 1, "fixed", 9},
					{4, 1.5, 0, "hbm2", 9},
					{4, 1.5, 0, NULL, 9}};
	char fixed[] = "fixed";
	struct config same = base, hidden = base;
	same.preset = fixed;
	hidden.hidden = 8;
	cr_assert(is_same_machine(&base, &same, "energy. none", "m", "m"), "a text counts, and not where it is");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_assert_not(is_same_machine(&base, &others[i], "energy.", "m", "m"), "case %d", (int)i);
	cr_assert(is_same_machine(&base, &hidden, "technology. energy.", "m", "m"), "a key that is left out");
	cr_assert_not(is_same_machine(&base, &hidden, "technology.", "m", "m"));
	cr_assert_not(is_same_machine(&base, &hidden, "", "m", "m"));
	cr_assert_not(is_same_machine(&base, &base, "", "m", "n"), "another memory");
	cr_assert_not(is_same_machine(&base, &base, "", "m", NULL));
}

/* ---- Threads. */

enum { THREADS = 4, OF_THREAD = 3000 };

struct job {
	pthread_t thread;
	uint64_t first;
	bool failed;
};

/* Keeps and looks for outcomes that other threads keep and look for too, while all are forgotten now and then. */
static void *work(void *context)
{
	struct job *job = context;
	uint64_t rng = job->first + 1, outcome[WORDS], expected[WORDS];
	for (uint64_t i = 0; i < OF_THREAD; i++) {
		const uint64_t number = (uint64_t)test_range(&rng, 0, 500);
		make(number, expected);
		if (!npl_memo_find(key_of(number), outcome, sizeof outcome))
			npl_memo_keep(key_of(number), expected, sizeof expected);
		else
			job->failed = job->failed || memcmp(outcome, expected, sizeof outcome) != 0;
	}
	return NULL;
}

Test(memo, serves_several_threads)
{
	struct job job[THREADS];
	npl_memo_allow(20000);
	const uint64_t before = npl_memo_found();
	for (int i = 0; i < THREADS; i++) {
		job[i] = (struct job){.first = (uint64_t)i};
		cr_assert_eq(pthread_create(&job[i].thread, NULL, work, &job[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(job[i].thread, NULL);
		cr_assert_not(job[i].failed, "thread %d found another outcome", i);
	}
	cr_assert_gt(npl_memo_found(), before);
	npl_memo_allow(0);
}
