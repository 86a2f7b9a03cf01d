/* SPDX-License-Identifier: MIT
 *
 * What the tests of the element-wise operators share: operators by their defaults, refusals, and elements of any type
 * as bits and as integers.
 */
#ifndef NPULAB_TESTS_KIT_ELEMENTWISE_SUPPORT_H
#define NPULAB_TESTS_KIT_ELEMENTWISE_SUPPORT_H

#include "core/ops/elements.h"
#include "ops_support.h"

__extension__ typedef __int128 int128;

/* The attributes of an operator as a model of this opset gives them. */
static inline struct npl_attrs attrs_of(enum npl_op op, int opset, struct npl_attr *attr, int n)
{
	struct npl_attr_list list = {attr, n};
	struct npl_attrs attrs = {.opset = opset};
	struct npl_err err = {0};
	cr_assert_eq(npl_op_attrs(op, &list, &attrs, &err), 0, "%s: %s", npl_op_defs[op].name, err.msg);
	for (int i = 0; i < n; i++)
		cr_assert(attr[i].used, "%s left %s", npl_op_defs[op].name, attr[i].name);
	return attrs;
}

/* One operator on one or two tensors, by its defaults. */
static inline struct npl_tensor result_of(enum npl_op op, const struct npl_tensor *a, const struct npl_tensor *b)
{
	struct npl_attrs attrs = attrs_of(op, 17, NULL, 0);
	return test_run(op, &attrs, (const struct npl_tensor *[]){a, b}, b ? 2 : 1);
}

static inline void refused(enum npl_op op, struct npl_attrs attrs, const struct npl_tensor *a,
			   const struct npl_tensor *b, const char *expected)
{
	struct npl_tensor out = {0};
	struct npl_err err = {0};
	const struct npl_tensor *in[] = {a, b, b};
	cr_assert_eq(npl_op_shape(op, &attrs, in,
				  op == NPL_OP_WHERE ? 3
				  : b                ? 2
						     : 1,
				  &out, 1, &err),
		     NPL_EINPUT, "%s", npl_op_defs[op].name);
	cr_assert(strstr(err.msg, expected), "%s: '%s', expected '%s'", npl_op_defs[op].name, err.msg, expected);
}

static inline struct npl_tensor vector(enum npl_dtype dtype, int64_t n, void *data)
{
	return (struct npl_tensor){.dtype = dtype, .shape = npl_shape_of(1, n), .data = data};
}

static inline uint64_t bits_of(const struct npl_tensor *t, int64_t i)
{
	uint64_t bits = 0;
	memcpy(&bits, (const char *)t->data + (size_t)i * npl_dtype_size(t->dtype), npl_dtype_size(t->dtype));
	return bits;
}

static inline int128 whole_at(const struct npl_tensor *t, int64_t i)
{
	return t->dtype == NPL_U64 ? (int128)bits_of(t, i) : (int128)op_whole(t, i);
}

#endif
