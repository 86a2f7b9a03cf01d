/* SPDX-License-Identifier: MIT
 *
 * The error of each layer: a device's values are read as numbers of their type of elements, whatever type a number
 * format has. */
#include <criterion/criterion.h>

#include <math.h>

#include "core/base/dtype.h"
#include "frontend/quantise/layer_noise.h"

enum { COUNT = 5 };

/* Judges zeros of a type, with a scale of 0.5 and the zero point 3, beside `expected`. */
static int judge(enum npl_dtype dtype, float expected, struct npl_layer_accuracy *accuracy, struct npl_err *err)
{
	struct npl_value value = {.name = "y", .producer = 0};
	struct npl_node node = {.name = "layer", .n_out = 1, .out = (int[]){0}};
	const struct npl_graph graph = {.n_values = 1, .value = &value, .n_nodes = 1, .node = &node};
	struct npl_layer_noise *noise;
	float real[COUNT];
	for (int i = 0; i < COUNT; i++)
		real[i] = expected;
	const struct npl_tensor reference = {.dtype = NPL_F32, .shape = npl_shape_of(1, COUNT), .data = real};
	struct npl_tensor made = {.dtype = dtype, .shape = reference.shape, .quant = {.scale = 0.5f, .zero_point = 3}};
	cr_assert_eq(npl_tensor_alloc(&made, err), 0);
	cr_assert_eq(npl_layer_noise_open(&graph, sizeof real, &noise, err), 0);
	struct npl_value_observer observer = npl_layer_noise_reference(noise);
	cr_assert_eq(observer.on_value(observer.context, 0, &reference, err), 0);
	observer = npl_layer_noise_device(noise);
	const int rc = observer.on_value(observer.context, 0, &made, err);
	*accuracy = npl_layer_noise_of(noise, 0);
	npl_layer_noise_close(noise);
	npl_tensor_free(&made);
	return rc;
}

Test(layer_noise, reads_values_of_each_type)
{
	for (enum npl_dtype dtype = 0; dtype < NPL_DTYPES; dtype++) {
		const float expected = npl_is_integer(dtype) ? -1.5f : 0;
		struct npl_layer_accuracy accuracy;
		struct npl_err err = {0};
		if (dtype == NPL_BOOL) { /* stands for no real number */
			cr_expect_eq(judge(dtype, expected, &accuracy, &err), NPL_EINTERNAL);
			cr_expect_str_eq(err.msg, "'y' stands for real numbers and is of type bool");
			continue;
		}
		cr_assert_eq(judge(dtype, expected, &accuracy, &err), 0, "%s", err.msg);
		cr_expect(accuracy.max_abs_error == 0 && isinf(accuracy.sqnr_db), "%s: %g", npl_dtype_name(dtype),
			  accuracy.max_abs_error);
		cr_assert_eq(judge(dtype, expected + 0.25f, &accuracy, &err), 0, "%s", err.msg);
		cr_expect(accuracy.max_abs_error == 0.25, "%s: %g", npl_dtype_name(dtype), accuracy.max_abs_error);
	}
}
