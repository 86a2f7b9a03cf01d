/* SPDX-License-Identifier: MIT
 *
 * Promise: what windows read along one dimension is found without going through them, and is what going through them
 * finds: windows within the input, beyond it and stepping over it, with gaps between their taps and without. */
#include <criterion/criterion.h>
#include <string.h>

#include "sim/diannao/diannao/generate/windows.h"
#include "tests/kit/support.h"

#define MAX_INPUT 60

static struct dn_axis random_axis(uint64_t *rng)
{
	struct dn_layer layer = {0};
	struct npl_window *w = &layer.window;
	w->kernel[1] = test_range(rng, 1, 6);
	w->stride[1] = test_range(rng, 1, test_range(rng, 0, 1) ? 3 : 14);
	w->dilation[1] = test_range(rng, 0, 1) ? 1 : test_range(rng, 1, 45);
	w->pad_begin[1] = test_range(rng, 0, 1) ? test_range(rng, 0, 3) : test_range(rng, 0, 90);
	layer.in[1] = test_range(rng, 1, MAX_INPUT);
	layer.out[1] = test_range(rng, 1, 70);
	return dn_axis_of(&layer, 1);
}

static bool is_inside(const struct dn_axis *axis, int64_t o, int64_t tap)
{
	const int64_t at = dn_tap_at(axis, o, tap);
	return at >= 0 && at < axis->in;
}

/* Windows from o on that have inside the input what o has there. */
static int64_t alike_from(const struct dn_axis *axis, int64_t o, int64_t end, const struct dn_range *taps)
{
	for (int64_t other = o; other < end; other++)
		for (int64_t tap = taps->first; tap < taps->end; tap++)
			if (is_inside(axis, other, tap) != is_inside(axis, o, tap))
				return other - o;
	return end - o;
}

/* Which positions windows first..end-1 read; the least, the greatest, how many. */
struct read {
	bool at[MAX_INPUT];
	int64_t least, limit, count;
};

static struct read read_by(const struct dn_axis *axis, int64_t first, int64_t end, const struct dn_range *taps)
{
	struct read read = {.least = INT64_MAX, .limit = -1};
	for (int64_t o = first; o < end; o++)
		for (int64_t tap = taps->first; tap < taps->end; tap++)
			if (is_inside(axis, o, tap))
				read.at[dn_tap_at(axis, o, tap)] = true;
	for (int64_t at = 0; at < axis->in; at++) {
		read.count += read.at[at];
		read.limit = read.at[at] ? at : read.limit;
		read.least = read.at[at] && read.least == INT64_MAX ? at : read.least;
	}
	return read;
}

static bool some_window_reads_none(const struct dn_axis *axis)
{
	const struct dn_range all = {0, axis->kernel};
	for (int64_t o = 0; o < axis->out; o++)
		if (!read_by(axis, o, o + 1, &all).count)
			return true;
	return false;
}

/* Positions in the input or not, among the first ones. */
static int64_t read_among(const struct dn_axis *axis, int64_t windows, int64_t taps, int64_t positions)
{
	static bool at[70 * 14 + 6 * 45];
	int64_t count = 0;
	memset(at, 0, sizeof at);
	for (int64_t o = 0; o < windows; o++)
		for (int64_t tap = 0; tap < taps; tap++)
			at[o * axis->stride + tap * axis->dilation] = true;
	for (int64_t i = 0; i < positions; i++)
		count += at[i];
	return count;
}

Test(diannao_windows, reads_equal_those_found_by_a_loop)
{
	int none = 0, all = 0, long_runs = 0;
	for (uint64_t seed = 1; seed <= 30000; seed++) {
		uint64_t rng = seed * 0x9e3779b97f4a7c15ull;
		const struct dn_axis axis = random_axis(&rng);
		const int64_t first = test_range(&rng, 0, axis.out - 1), end = test_range(&rng, first + 1, axis.out);
		const int64_t first_tap = test_range(&rng, 0, axis.kernel - 1);
		const struct dn_range taps = {first_tap, test_range(&rng, first_tap + 1, axis.kernel)};
		const struct read some = read_by(&axis, first, end, &taps);
		const int64_t run = dn_alike_windows(&axis, first, end, taps.first, taps.end);
		cr_assert_eq(run, alike_from(&axis, first, end, &taps), "seed %d", (int)seed);
		cr_assert_eq(dn_reads_none(&axis, first, taps), !read_by(&axis, first, first + 1, &taps).count,
			     "seed %d", (int)seed);
		cr_assert_eq(dn_least_read(&axis, first, end, taps.first, taps.end), some.least, "seed %d", (int)seed);
		cr_assert_eq(dn_most_read(&axis, first, end, taps.first, taps.end), some.limit, "seed %d", (int)seed);
		const int64_t from = test_range(&rng, 0, axis.in - 1);
		int64_t next = from;
		while (next < axis.in && !some.at[next])
			next++;
		cr_assert_eq(dn_next_read(&axis, first, end, taps.first, taps.end, from),
			     next < axis.in ? next : INT64_MAX, "seed %d", (int)seed);
		const int64_t windows = end - first, among = taps.end - taps.first,
			      positions = test_range(&rng, -5, (windows - 1) * axis.stride + among * axis.dilation);
		cr_assert_eq(dn_read_below(&axis, windows, among, positions),
			     read_among(&axis, windows, among, positions), "seed %d", (int)seed);
		cr_assert_eq(dn_all_read(&axis), !some_window_reads_none(&axis), "seed %d", (int)seed);
		none += some.count == 0;
		all += dn_all_read(&axis);
		long_runs += run > 5;
	}
	cr_assert(none > 3000 && all > 3000 && long_runs > 3000, "%d, %d, %d", none, all, long_runs);
}

/* Nobody goes through so many. */
Test(diannao_windows, huge_windows_are_counted_without_a_loop)
{
	const int64_t many = (int64_t)1 << 40;
	struct dn_layer layer = {.window = {.kernel = {1, 3}, .stride = {1, 1}, .dilation = {1, many / 2}},
				 .in = {1, 8},
				 .out = {1, many}};
	layer.window.pad_begin[1] = many;
	const struct dn_axis axis = dn_axis_of(&layer, 1);
	cr_assert_eq(dn_alike_windows(&axis, 1, many, 0, 3), 7);
	cr_assert_eq(dn_alike_windows(&axis, 8, many, 0, 3), many / 2 - 8);
	cr_assert_eq(dn_least_read(&axis, 0, many, 0, 3), 0);
	cr_assert_eq(dn_most_read(&axis, 0, many, 0, 3), 7);
	cr_assert_not(dn_all_read(&axis));
}
