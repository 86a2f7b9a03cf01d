/* SPDX-License-Identifier: MIT
 *
 * The list of activations (activation.h). */
#include "activation.h"

struct row {
	const char *name;
	enum npl_op op;
	bool has_limits; /* the operator is a Clip with those of attrs */
	struct npl_attrs attrs;
};

static const struct row rows[NPL_ACTIVATIONS] = {
	[NPL_ACT_NONE] = {"none", NPL_OP_NONE, false, {0}},
#define ALWAYS                                                                                                         \
	false,                                                                                                         \
	{                                                                                                              \
		0                                                                                                      \
	}
#define BETWEEN(low, high)                                                                                             \
	true,                                                                                                          \
	{                                                                                                              \
		.op = NPL_OP_CLIP, .clip = {.known = true, .min = (low), .max = (high) }                               \
	}

#define NPL_ACTIVATION(constant, name, op, condition) [NPL_ACT_##constant] = {name, NPL_OP_##op, condition},
#include "npulab/activations.def"
#undef ALWAYS
#undef BETWEEN
};

const char *npl_activation_name(enum npl_activation activation)
{
	return rows[activation].name;
}

enum npl_op npl_activation_op(enum npl_activation activation)
{
	return rows[activation].op;
}

const struct npl_attrs *npl_activation_attrs(enum npl_activation activation)
{
	return rows[activation].has_limits ? &rows[activation].attrs : NULL;
}

static bool equal(float limit, float expected)
{
	return limit >= expected && limit <= expected;
}

static bool has_limits(const struct npl_clip_attrs *clip, const struct npl_clip_attrs *expected)
{
	return clip->known && equal(clip->min, expected->min) && equal(clip->max, expected->max);
}

enum npl_activation npl_activation_of(enum npl_op op, const struct npl_attrs *attrs)
{
	for (int i = NPL_ACT_NONE + 1; i < NPL_ACTIVATIONS; i++)
		if (rows[i].op == op && (!rows[i].has_limits || has_limits(&attrs->clip, &rows[i].attrs.clip)))
			return (enum npl_activation)i;
	return NPL_ACT_NONE;
}
