/* SPDX-License-Identifier: MIT
 *
 * Small helpers that several tests share.
 */
#ifndef NPULAB_TESTS_KIT_SUPPORT_H
#define NPULAB_TESTS_KIT_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

/* The sanitizers make a test ten times slower: what repeats itself with random cases, or with other settings, does less
 * of it there. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED true
#else
#define TEST_SANITIZED false
#endif
#define TEST_TIMES(n) (TEST_SANITIZED ? (n) / 10 : (n))

/* xorshift64* (Vigna, ACM TOMS 42(4), 2016); *state starts at any seed but 0. */
static inline uint64_t test_rng(uint64_t *state)
{
	uint64_t x = *state;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* Uniform in [low, high]. */
static inline int64_t test_range(uint64_t *state, int64_t low, int64_t high)
{
	return low + (int64_t)((test_rng(state) >> 16) % (uint64_t)(high - low + 1));
}

#endif
