/* SPDX-License-Identifier: MIT
 *
 * Promises of the two plain devices: `reference` refuses other number formats with the reason; `null` takes any layer,
 * gives zeros and costs nothing, and with timing_only does not touch the output. The values of both are in
 * test_every_device.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "npulab/driver.h"
#include "tests/kit/support.h"

extern const struct npl_driver npl_driver_reference, npl_driver_null;

static struct npl_tensor make_tensor(struct npl_shape shape, uint64_t *rng)
{
	struct npl_tensor tensor = {.dtype = NPL_F32, .shape = shape};
	struct npl_err err;
	cr_assert_eq(npl_tensor_alloc(&tensor, &err), 0, "%s", err.msg);
	for (int64_t i = 0; rng && i < npl_tensor_count(&tensor); i++)
		((float *)tensor.data)[i] = (float)test_range(rng, -1000, 1000) / 300;
	return tensor;
}

Test(plain_devices, reference_refuses_other_formats)
{
	struct npl_attrs attrs = {.opset = 13};
	struct npl_tensor x = {.dtype = NPL_I16, .shape = npl_shape_of(2, 3, 4)}, y = x;
	struct npl_layer layer = {.name = "relu", .op = NPL_OP_RELU, .attrs = &attrs, .n_in = 1, .in = {&x}, .out = &y};
	char reason[200];
	y.quant.scale = 1;
	cr_assert(!npl_driver_reference.supports(NULL, &layer, reason, sizeof reason));
	cr_assert_str_eq(reason, "output 0 is quantised int16; this device computes in float32");
	x.quant.scale = 1;
	cr_assert(!npl_driver_reference.supports(NULL, &layer, reason, sizeof reason));
	cr_assert_str_eq(reason, "input 0 is quantised int16; this device computes in float32");
	x.quant.scale = y.quant.scale = 0;
	layer.activation = NPL_ACT_RELU;
	cr_assert(!npl_driver_reference.supports(NULL, &layer, reason, sizeof reason), "Relu is fused in float32 only");
	cr_assert_str_eq(reason, "the output of Relu is int16; this device computes in float32");
	layer.activation = NPL_ACT_NONE;
	cr_assert(npl_driver_reference.supports(NULL, &layer, reason, sizeof reason), "plain integers pass: %s",
		  reason);
}

Test(plain_devices, null_costs_nothing)
{
	void *state;
	struct npl_err err = {0};
	struct npl_device_info info = {0};
	struct npl_attrs attrs = {.opset = 13};
	cr_assert_eq(npl_driver_null.open(NULL, &state, &err), 0);
	npl_driver_null.describe(state, &info);
	cr_assert_eq(info.kind, NPL_KIND_NULL);
	cr_assert(info.clock_hz == 0 && info.peak_macs_per_second == 0 && !info.link.name);
	for (int op = NPL_OP_NONE + 1; op < NPL_OPS; op++)
		for (int timing_only = 0; timing_only <= 1; timing_only++) {
			uint64_t rng = 3;
			struct npl_tensor x = make_tensor(npl_shape_of(2, 5, 7), &rng),
					  y = make_tensor(npl_shape_of(2, 5, 7), &rng);
			float first = ((float *)y.data)[0];
			struct npl_layer layer = {.name = "any",
						  .op = (enum npl_op)op,
						  .attrs = &attrs,
						  .n_in = 1,
						  .in = {&x},
						  .out = &y,
						  .macs = 99,
						  .timing_only = timing_only};
			struct npl_result result = {0}, nothing;
			memset(&result, 0, sizeof result);
			memset(&nothing, 0, sizeof nothing);
			cr_assert(npl_driver_null.supports(state, &layer, NULL, 0));
			cr_assert_eq(npl_driver_null.run(state, &layer, &result, &err), 0);
			cr_assert_arr_eq(&result, &nothing, sizeof result, "null must leave the result empty");
			cr_assert(first != 0);
			for (int i = 0; i < 35; i++)
				cr_assert(timing_only || ((float *)y.data)[i] == 0);
			cr_assert_eq(((float *)y.data)[0], timing_only ? first : 0);
			npl_tensor_free(&x);
			npl_tensor_free(&y);
		}
	npl_driver_null.close(state);
}
