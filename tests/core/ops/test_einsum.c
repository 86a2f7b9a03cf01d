/* SPDX-License-Identifier: MIT
 *
 * Promises: Einsum gives for every equation what a plain loop over all letters gives: as a matrix product, with
 * diagonals, dots, broadcasting and any number of operands, floats and integers; its work is counted; equations that
 * make no sense are refused. MatMul on other types than float32 is the same sum. */
#include <math.h>

#include "core/op_functions.h"
#include "tests/kit/elements_support.h"
#include "tests/kit/ops_support.h"

#define SEED 0x5eed7001u

/* Every operand's letters, dots written out as 'x', 'y', and the letters of the output. */
static const struct equation {
	const char *text, *plain;
} equations[] = {
	{"ij,jk->ik", "ij,jk->ik"},
	{"ij,jk", "ij,jk->ik"},
	{"bij,bjk->bik", "bij,bjk->bik"},
	{"bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk"},
	{"bqhd,bkhd->bhqk", "bqhd,bkhd->bhqk"},
	{"bhqk,bkhd->bqhd", "bhqk,bkhd->bqhd"},
	{"ij,kj->ki", "ij,kj->ki"},
	{"i,i", "i,i->"},
	{"i,j->ji", "i,j->ji"},
	{"ii->i", "ii->i"},
	{"ii", "ii->"},
	{"...ii->...i", "xyii->xyi"},
	{"...ij,...jk->...ik", "xij,xjk->xik"},
	{"...ij,jk", "xyij,jk->xyik"},
	{"ij->", "ij->"},
	{"ba", "ba->ab"},
	{"ij,j,jk->ik", "ij,j,jk->ik"},
	{"ijj,jk->ik", "ijj,jk->ik"},
	{"ij,kl->k", "ij,kl->k"},
	{"aB,Ba -> aB", "aB,Ba->aB"},
	{"bn...,...m->b...", "bnxy,xym->bxy"},
	{"a,b,c,d->dacb", "a,b,c,d->dacb"},
};

static int letter(char c)
{
	return c >= 'a' ? c - 'a' : c - 'A' + 26;
}

/* The value of output element `at` by looping over all letters of the plain equation. */
static double by_loops(const char *plain, const struct npl_tensor *in, int n_in, const int64_t *size, const int64_t *at,
		       uint64_t *whole)
{
	const char *out = strstr(plain, "->") + 2;
	char free_letters[53];
	int n = 0;
	int64_t index[52] = {0};
	for (const char *c = plain; c < out - 2; c++)
		if (*c != ',' && !strchr(out, *c) && !memchr(free_letters, *c, (size_t)n))
			free_letters[n++] = *c;
	for (int d = 0; out[d]; d++)
		index[letter(out[d])] = at[d];
	double sum = 0;
	*whole = 0;
	for (int d = 0; d >= 0;) {
		const char *c = plain;
		double product = 1;
		uint64_t bits = 1;
		for (int k = 0; k < n_in; k++, c++) {
			int64_t from = 0;
			for (int i = 0; *c != ',' && *c != '-'; c++, i++)
				from = from * in[k].shape.dim[i] + (in[k].shape.dim[i] == 1 ? 0 : index[letter(*c)]);
			product *= test_real(&in[k], from);
			bits *= (uint64_t)test_whole(&in[k], from);
		}
		sum += product;
		*whole += bits;
		for (d = n - 1; d >= 0 && ++index[letter(free_letters[d])] == size[letter(free_letters[d])]; d--)
			index[letter(free_letters[d])] = 0;
	}
	return sum;
}

static void check_equation(const struct equation *e, uint64_t seed)
{
	static const enum npl_dtype types[] = {NPL_F32, NPL_F64, NPL_I32, NPL_U64, NPL_I8};
	enum npl_dtype dtype = types[test_rng(&seed) % 5];
	struct npl_tensor in[4];
	const struct npl_tensor *at[4];
	int64_t size[52], macs = 0;
	int n = 0;
	bool used[52] = {false};
	for (int k = 0; k < 52; k++)
		size[k] = test_range(&seed, 1, 5);
	for (const char *c = e->plain; *c != '-';) {
		struct npl_shape shape = {.rank = 0};
		bool dots = strstr(e->text, "...") != NULL;
		for (; *c != ',' && *c != '-'; c++) {
			bool repeats = dots && (*c == 'x' || *c == 'y') && n && test_rng(&seed) % 4 == 0;
			shape.dim[shape.rank++] = repeats ? 1 : size[letter(*c)];
			used[letter(*c)] = true;
		}
		in[n] = test_random_tensor(&seed, dtype, shape);
		at[n] = &in[n];
		n++;
		c += *c == ',';
	}
	struct npl_attrs attrs = {.op = NPL_OP_EINSUM, .opset = 12, .einsum.equation = e->text};
	struct npl_tensor out = test_run(NPL_OP_EINSUM, &attrs, at, n);
	macs = n - 1;
	for (int k = 0; k < 52; k++)
		macs *= used[k] ? size[k] : 1;
	cr_assert_eq(npl_op_macs(NPL_OP_EINSUM, &attrs, at, n, &out), (uint64_t)macs, "%s", e->text);
	cr_assert_eq((size_t)out.shape.rank, strlen(strstr(e->plain, "->") + 2), "%s", e->text);
	for (int64_t i = 0; i < npl_tensor_count(&out); i++) {
		int64_t place[NPL_MAX_RANK];
		uint64_t whole;
		test_unravel(&out.shape, i, place);
		double expected = by_loops(e->plain, in, n, size, place, &whole);
		if (dtype == NPL_F32 || dtype == NPL_F64)
			cr_assert_float_eq(test_real(&out, i), expected, 1e-5, "%s: element %d is %g, expected %g",
					   e->text, (int)i, test_real(&out, i), expected);
		else
			cr_assert_eq(test_bits(&out, i), whole & UINT64_MAX >> (64 - 8 * npl_dtype_size(dtype)), "%s",
				     e->text);
	}
	test_release(&out);
	for (int k = 0; k < n; k++)
		npl_tensor_free(&in[k]);
}

Test(ops_einsum, equations_equal_their_loops)
{
	for (size_t k = 0; k < sizeof equations / sizeof *equations; k++)
		for (uint64_t round = 0; round < 30; round++)
			check_equation(&equations[k], SEED + 100 * k + round);
}

Test(ops_einsum, wrong_equations_are_refused)
{
	static const struct {
		const char *equation, *expected;
	} bad[] = {
		{"ij,jk->il", "in no operand"},
		{"ij,jk->ii", "stands twice"},
		{"ij", "not one of 2 operands"},
		{"ij,jk,kl", "not one of 2 operands"},
		{"ijk,jk->i", "has 3 letters"},
		{"i,jk->k", "has 1 letter"},
		{"ij,ik->jk", "its label has"},
		{"ii,jk->k", "its label has"},
		{"ij,j?->i", "makes no sense at '?"},
		{"ij,jk->i,k", "makes no sense"},
		{"ij,jk-i", "makes no sense"},
		{"......,jk->j", "makes no sense"},
		{"ij,jk>ik", "makes no sense"},
		{"abcdefghi,jk", "more than 8"},
		{"", "letters"},
	};
	struct npl_tensor a = {.dtype = NPL_F32, .shape = npl_shape_of(2, 2, 3)},
			  b = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 4)}, out = {0};
	const struct npl_tensor *in[] = {&a, &b};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct npl_attrs attrs = {.opset = 12, .einsum.equation = bad[k].equation};
		struct npl_err err = {0};
		cr_assert_eq(npl_op_shape(NPL_OP_EINSUM, &attrs, in, 2, &out, 1, &err), NPL_EINPUT, "%s",
			     bad[k].equation);
		cr_assert(strstr(err.msg, bad[k].expected), "%s: %s", bad[k].equation, err.msg);
	}
}

/* MatMul of every type is Einsum's sum, over broadcast stacks. */
Test(ops_einsum, matmul_of_every_type_is_einsum_s_sum)
{
	static const enum npl_dtype types[] = {NPL_F64, NPL_I32, NPL_I64, NPL_U32, NPL_U64};
	for (int round = 0; round < 50; round++) {
		uint64_t seed = SEED + 9000 + (uint64_t)round;
		int64_t m = test_range(&seed, 1, 4), k = test_range(&seed, 0, 4), n = test_range(&seed, 1, 4);
		struct npl_tensor a = test_random_tensor(&seed, types[round % 5],
							 npl_shape_of(4, 2, round & 1 ? 3 : 1, m, k));
		struct npl_tensor b = test_random_tensor(&seed, types[round % 5], npl_shape_of(3, 3, k, n));
		struct npl_attrs attrs = {.opset = 13, .einsum.equation = "...ij,...jk->...ik"}, none = {.opset = 13};
		const struct npl_tensor *in[] = {&a, &b};
		struct npl_tensor product = test_run(NPL_OP_MATMUL, &none, in, 2),
				  sum = test_run(NPL_OP_EINSUM, &attrs, in, 2);
		cr_assert(npl_shape_equal(&product.shape, &sum.shape) && product.dtype == types[round % 5]);
		cr_assert_arr_eq(product.data, sum.data, npl_tensor_bytes(&sum), "round %d", round);
		test_release(&product);
		test_release(&sum);
		npl_tensor_free(&a);
		npl_tensor_free(&b);
	}
}
