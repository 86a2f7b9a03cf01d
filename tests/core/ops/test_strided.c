/* SPDX-License-Identifier: MIT
 *
 * Promises: a copy in steps puts each element where the index says, whatever the order of the dimensions, the sign of
 * the steps and the size of an element, beyond the squares that it works in too; its parts together are the whole and
 * write nothing else. */
#include "core/ops/strided.h"
#include "tests/kit/ops_support.h"

#define SEED 0x5eed2501u

/* A copy from a source of `n` elements, with steps of both signs. */
static struct op_strided random_copy(uint64_t *seed, int64_t *n)
{
	const int rank = (int)test_range(seed, 1, 4);
	int64_t dim[4], perm[4] = {0, 1, 2, 3}, step[4], first = 0, stride = 1, to[4];
	for (int d = 0; d < rank; d++)
		dim[d] = test_range(seed, 0, 9) ? test_range(seed, 1, d > 1 ? 5 : 40) : 1;
	for (int d = rank - 1; d > 0; d--) {
		const int64_t other = test_range(seed, 0, d), kept = perm[d];
		perm[d] = perm[other];
		perm[other] = kept;
	}
	for (int d = rank - 1; d >= 0; d--) {
		const int64_t apart = test_range(seed, 1, 3) * stride;
		int place = 0;
		while (perm[place] != d)
			place++;
		to[place] = dim[d];
		step[place] = test_range(seed, 0, 2) ? apart : -apart;
		first += step[place] < 0 ? apart * (dim[d] - 1) : 0;
		stride = apart * dim[d];
	}
	*n = stride;
	return op_strided_make((size_t)1 << test_range(seed, 0, 3), rank, to, step, first);
}

static void expect(const struct op_strided *c, const unsigned char *x, unsigned char *y)
{
	const struct npl_shape shape = {.rank = c->rank, .dim = {c->dim[0], c->dim[1], c->dim[2], c->dim[3]}};
	int64_t count = 1, index[NPL_MAX_RANK];
	for (int d = 0; d < c->rank; d++)
		count *= c->dim[d];
	for (int64_t i = 0; i < count; i++) {
		int64_t from = c->first;
		test_unravel(&shape, i, index);
		for (int d = 0; d < c->rank; d++)
			from += index[d] * c->step[d];
		memcpy(y + (size_t)i * c->element, x + from * (int64_t)c->element, c->element);
	}
}

static int64_t count_of(const int64_t *dim, int n)
{
	int64_t count = 1;
	for (int d = 0; d < n; d++)
		count *= dim[d];
	return count;
}

Test(strided, every_element_and_part_is_copied)
{
	uint64_t seed = SEED;
	for (int number = 0; number < 400; number++) {
		int64_t n;
		const struct op_strided c = random_copy(&seed, &n);
		const int dims = (int)test_range(&seed, 1, c.rank);
		const int64_t units = count_of(c.dim, dims);
		const size_t bytes = (size_t)count_of(c.dim, c.rank) * c.element;
		unsigned char *x = malloc((size_t)n * c.element), *expected = malloc(bytes),
			      *actual = malloc(bytes + 1);
		cr_assert(x && expected && actual);
		for (size_t i = 0; i < (size_t)n * c.element; i++)
			x[i] = (unsigned char)(test_rng(&seed) >> 32);
		expect(&c, x, expected);
		actual[bytes] = GUARD;
		op_strided_copy(&c, x, actual);
		cr_assert_arr_eq(actual, expected, bytes, "copy %d, seed %u", number, SEED);
		memset(actual, GUARD, bytes);
		const int64_t begin = test_range(&seed, 0, units), end = test_range(&seed, begin, units);
		const size_t unit = bytes / (size_t)units;
		op_strided_copy_part(&c, dims, begin, end, x, actual);
		for (size_t i = 0; i < bytes; i++)
			cr_assert_eq(actual[i],
				     i / unit < (size_t)begin || i / unit >= (size_t)end ? GUARD : expected[i],
				     "part of copy %d, seed %u", number, SEED);
		op_strided_copy_part(&c, dims, 0, begin, x, actual);
		op_strided_copy_part(&c, dims, end, units, x, actual);
		cr_assert_arr_eq(actual, expected, bytes, "copy %d in three parts, seed %u", number, SEED);
		cr_assert_eq(actual[bytes], GUARD);
		free(x);
		free(expected);
		free(actual);
	}
}
