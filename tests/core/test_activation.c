/* SPDX-License-Identifier: MIT
 *
 * The list of activations: each is the function that its name says, and its operator, with the limits of a Clip, and
 * costs a modelled processor what that operator costs. */
#include "core/activation.h"
#include "core/float_layer.h"
#include "sim/processor/processor_model.h"
#include "tests/kit/activated.h"
#include "tests/kit/support.h"

Test(activation, each_is_its_function_and_its_operator)
{
	enum { VALUES = 161, HALF = VALUES / 2 };
	for (int i = NPL_ACT_NONE + 1; i < NPL_ACTIVATIONS; i++) {
		const enum npl_activation fused = (enum npl_activation)i;
		const enum npl_op op = npl_activation_op(fused);
		const struct npl_attrs *attrs = npl_activation_attrs(fused), none = {.op = op};
		float x[VALUES];
		struct npl_tensor y = {.dtype = NPL_F32, .shape = npl_shape_of(1, VALUES), .data = x};
		struct npl_err err = {0};
		for (int v = 0; v < VALUES; v++)
			x[v] = (float)(v - HALF) / 8;
		cr_assert_eq(npl_activate(fused, &y, &err), 0, "%s: %s", npl_activation_name(fused), err.msg);
		for (int v = 0; v < VALUES; v++)
			cr_assert_float_eq(x[v], activated(fused, (double)(v - HALF) / 8), 1e-6, "%s of %g",
					   npl_activation_name(fused), (double)(v - HALF) / 8);
		cr_assert_eq(npl_activation_of(op, attrs ? attrs : &none), fused, "%s", npl_activation_name(fused));
		cr_assert(attrs || !strcmp(npl_activation_name(fused), npl_op_defs[op].name));
	}
}

Test(activation, a_clip_is_one_with_its_limits_alone)
{
	struct npl_attrs clip = {.op = NPL_OP_CLIP, .clip = {.known = true, .min = 0, .max = 6}};
	cr_assert_eq(npl_activation_of(NPL_OP_CLIP, &clip), NPL_ACT_RELU6);
	clip.clip.known = false;
	cr_assert_eq(npl_activation_of(NPL_OP_CLIP, &clip), NPL_ACT_NONE);
	clip.clip = (struct npl_clip_attrs){.known = true, .min = 0, .max = 5};
	cr_assert_eq(npl_activation_of(NPL_OP_CLIP, &clip), NPL_ACT_NONE);
	clip.clip = (struct npl_clip_attrs){.known = true, .min = -1, .max = 6};
	cr_assert_eq(npl_activation_of(NPL_OP_CLIP, &clip), NPL_ACT_NONE);
	cr_assert_eq(npl_activation_of(NPL_OP_SOFTMAX, &clip), NPL_ACT_NONE);
	cr_assert_str_eq(npl_activation_name(NPL_ACT_NONE), "none");
	cr_assert_eq(npl_activation_op(NPL_ACT_NONE), NPL_OP_NONE);
}

Test(activation, costs_what_its_operator_costs)
{
	const struct npl_tensor y = {.dtype = NPL_F32, .shape = npl_shape_of(2, 3, 5)};
	const struct npl_tensor *in = &y;
	for (int i = NPL_ACT_NONE; i < NPL_ACTIVATIONS; i++) {
		const enum npl_activation fused = (enum npl_activation)i;
		const enum npl_op op = npl_activation_op(fused);
		struct npl_processor_counts alone = {0}, counts = {0};
		if (op != NPL_OP_NONE)
			alone = npl_processor_count(op, npl_activation_attrs(fused), &in, 1, &y, 1, 0);
		npl_processor_add_activation(&counts, fused, &y);
		for (int c = 0; c < NPL_CLASSES; c++)
			cr_assert_eq(counts.operations[c], alone.operations[c], "%s, class %d",
				     npl_activation_name(fused), c);
		cr_assert(fused == NPL_ACT_NONE || counts.operations[NPL_SIMPLE] > 0);
	}
}
