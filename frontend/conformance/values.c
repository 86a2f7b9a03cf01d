/* SPDX-License-Identifier: MIT
 *
 * Compares values with those that a case expects (npulab/conformance.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/half.h"
#include "impl.h"

static double element(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_F64:
		return ((const double *)t->data)[i];
	case NPL_F16:
		return (double)npl_f16_to_float(((const uint16_t *)t->data)[i]);
	case NPL_BF16:
		return (double)npl_bf16_to_float(((const uint16_t *)t->data)[i]);
	default:
		return (double)((const float *)t->data)[i];
	}
}

/* Returns the smallest step above 1 of a 16-bit float. Other types need none: theirs is far below any useful rtol. */
static double epsilon_of(enum npl_dtype dtype)
{
	return dtype == NPL_F16 ? 0x1p-10 : dtype == NPL_BF16 ? 0x1p-7 : 0;
}

static bool is_near(double actual, double expected, double rtol, double atol)
{
	if (isnan(actual) || isnan(expected))
		return isnan(actual) && isnan(expected);
	if (isinf(actual) || isinf(expected))
		return isinf(actual) && isinf(expected) && signbit(actual) == signbit(expected);
	return fabs(actual - expected) <= atol + rtol * fabs(expected);
}

static const char *float_text(double x, char text[32])
{
	snprintf(text, 32, isnan(x) ? "NaN" : "%.9g", x);
	return text;
}

static int check_floats(const struct npl_tensor *actual, const struct npl_tensor *expected,
			const struct npl_tolerance *tolerance, struct npl_err *err)
{
	const int64_t n = npl_tensor_count(expected);
	const double rtol = fmax(tolerance->rtol, epsilon_of(expected->dtype)), atol = tolerance->atol;
	double worst = 0;
	int64_t wrong = 0, nans = 0, first = -1; /* nans: wrong elements of which one of the two is NaN */
	for (int64_t i = 0; i < n; i++) {
		double a = element(actual, i), b = element(expected, i);
		if (is_near(a, b, rtol, atol))
			continue;
		first = wrong++ ? first : i;
		nans += isnan(a) || isnan(b);
		worst = fmax(worst, fabs(a - b)); /* ignores NaN */
	}
	if (!wrong)
		return 0;
	char extent[96] = "; all differ in which are NaN", text[2][32];
	if (!nans)
		snprintf(extent, sizeof extent, ", by %.3g at most", worst);
	else if (nans < wrong)
		snprintf(extent, sizeof extent, ", %lld of them in which are NaN, the others by %.3g at most",
			 (long long)nans, worst);
	else if (wrong == 1)
		extent[0] = 0;
	return npl_fail(err, NPL_ECHECK, "output '%s': %lld of %lld elements differ%s; element %lld is %s, expected %s",
			actual->name, (long long)wrong, (long long)n, extent, (long long)first,
			float_text(element(actual, first), text[0]), float_text(element(expected, first), text[1]));
}

static long long integer(const struct npl_tensor *t, int64_t i)
{
	switch (t->dtype) {
	case NPL_I8:
		return ((const int8_t *)t->data)[i];
	case NPL_I16:
		return ((const int16_t *)t->data)[i];
	case NPL_U16:
		return ((const uint16_t *)t->data)[i];
	case NPL_I32:
		return ((const int32_t *)t->data)[i];
	case NPL_U32:
		return ((const uint32_t *)t->data)[i];
	case NPL_I64:
	case NPL_U64:
		return ((const long long *)t->data)[i];
	default:
		return ((const uint8_t *)t->data)[i];
	}
}

static int check_bits(const struct npl_tensor *actual, const struct npl_tensor *expected, struct npl_err *err)
{
	const size_t size = npl_dtype_size(expected->dtype);
	const char *a = actual->data, *b = expected->data;
	int64_t n = npl_tensor_count(expected), wrong = 0, first = 0;
	for (int64_t i = 0; i < n; i++)
		if (memcmp(a + (size_t)i * size, b + (size_t)i * size, size) != 0)
			first = wrong++ ? first : i;
	if (!wrong)
		return 0;
	return npl_fail(err, NPL_ECHECK,
			"output '%s': %lld of %lld elements differ; element %lld is %lld, expected %lld", actual->name,
			(long long)wrong, (long long)n, (long long)first, integer(actual, first),
			integer(expected, first));
}

int npl_values_check(const struct npl_tensor *actual, const struct npl_tensor *expected,
		     const struct npl_tolerance *tolerance, struct npl_err *err)
{
	char a[128], b[128];
	if (actual->dtype != expected->dtype || !npl_shape_equal(&actual->shape, &expected->shape))
		return npl_fail(err, NPL_ECHECK, "output '%s' is %s %s, expected %s %s", actual->name,
				npl_dtype_name(actual->dtype), npl_shape_text(&actual->shape, a, sizeof a),
				npl_dtype_name(expected->dtype), npl_shape_text(&expected->shape, b, sizeof b));
	return npl_is_float(expected->dtype) ? check_floats(actual, expected, tolerance, err)
					     : check_bits(actual, expected, err);
}
