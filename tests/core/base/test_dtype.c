/* SPDX-License-Identifier: MIT
 *
 * Questions about element types (core/base/dtype.h). What the program promises: each type is an integer, a float or
 * bool, and NPL_DTYPES, which stands for no type, is none of them. */
#include <criterion/criterion.h>

#include "core/base/dtype.h"

Test(dtype, each_type_is_of_one_kind)
{
	for (enum npl_dtype t = 0; t < NPL_DTYPES; t++) {
		cr_expect_eq(npl_is_integer(t) + npl_is_float(t) + (t == NPL_BOOL), 1, "%s", npl_dtype_name(t));
		cr_expect(!npl_is_signed(t) || npl_is_integer(t), "%s", npl_dtype_name(t));
		cr_expect(!npl_is_half(t) || npl_is_float(t), "%s", npl_dtype_name(t));
		cr_expect_gt(npl_dtype_size(t), 0, "%s", npl_dtype_name(t));
	}
}

Test(dtype, no_type_is_of_no_kind)
{
	const enum npl_dtype none = NPL_DTYPES;
	cr_expect(!npl_is_integer(none) && !npl_is_signed(none) && !npl_is_float(none) && !npl_is_half(none) &&
		  !npl_is_byte(none) && !npl_is_float32_or_half(none));
}
