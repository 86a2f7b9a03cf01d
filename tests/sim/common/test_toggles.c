/* SPDX-License-Identifier: MIT
 *
 * Counts of bits of rows. What the program promises: they are those of bit after bit, for rows of every length. The
 * suite also runs under each limit of NPULAB_MAX_ISA (tests/processor_suites.txt). */
#include <criterion/criterion.h>
#include <string.h>

#include "sim/common/toggles.h"
#include "tests/kit/support.h"

enum { MOST = 100 };

/* Random bytes, of which some are 0. */
static void draw(uint8_t row[MOST], uint64_t *rng)
{
	for (int i = 0; i < MOST; i++)
		row[i] = (uint8_t)(test_range(rng, 0, 3) ? test_range(rng, 0, 255) : 0);
}

static uint64_t ones(unsigned x)
{
	uint64_t n = 0;
	for (; x; x >>= 1)
		n += x & 1;
	return n;
}

Test(toggles, rows_are_counted_bit_by_bit)
{
	uint64_t rng = 1;
	for (size_t n = 0; n <= MOST; n++) {
		uint8_t a[MOST], b[MOST], last[MOST];
		struct sim_bits expected = {0, 0, 0};
		uint64_t toggles = 0;
		draw(a, &rng);
		draw(b, &rng);
		memcpy(last, b, MOST);
		for (size_t i = 0; i < n; i++) {
			toggles += ones(a[i] ^ b[i]);
			expected.ones += ones(a[i]);
			expected.signs += a[i] >> 7;
			expected.zeros += !a[i];
		}
		const struct sim_bits bits = sim_bits_of(a, n);
		cr_expect_eq(sim_toggled_bits(a, b, n), toggles, "%zu bytes", n);
		cr_expect(bits.ones == expected.ones && bits.signs == expected.signs && bits.zeros == expected.zeros,
			  "%zu bytes", n);
		cr_expect_eq(sim_follow(last, a, n), toggles, "%zu bytes", n);
		cr_expect(!memcmp(last, a, n) && !memcmp(last + n, b + n, MOST - n), "%zu bytes", n);
	}
}

Test(toggles, lanes_follow_operands_of_9_bits)
{
	static const struct {
		bool is_signed;
		int zero_point;
	} formats[] = {{true, 0}, {false, 0}, {true, -128}, {true, 127}, {true, -5}, {false, 255}, {false, 3}};
	uint64_t rng = 2;
	for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
		uint8_t low[MOST] = {0}, negative[MOST] = {0}, toggles[MOST] = {0}, zeros[MOST] = {0}, row[MOST];
		const struct sim_lanes lanes = {low, negative, toggles, zeros};
		unsigned before[MOST] = {0};
		uint64_t expected[MOST] = {0}, expected_zeros[MOST] = {0};
		for (int v = 0; v < 20; v++) {
			draw(row, &rng);
			row[v] = (uint8_t)formats[f].zero_point;
			sim_follow_lanes(&lanes, row, MOST, formats[f].is_signed, formats[f].zero_point);
			for (int i = 0; i < MOST; i++) {
				const int number = (formats[f].is_signed ? (int8_t)row[i] : row[i]) -
						   formats[f].zero_point;
				expected[i] += ones(((unsigned)number ^ before[i]) & 0x1ff);
				expected_zeros[i] += !number;
				before[i] = (unsigned)number & 0x1ff;
			}
		}
		for (int i = 0; i < MOST; i++)
			cr_expect(toggles[i] == expected[i] && zeros[i] == expected_zeros[i], "format %zu, lane %d", f,
				  i);
	}
}
