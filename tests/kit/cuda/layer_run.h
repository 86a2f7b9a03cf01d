/* SPDX-License-Identifier: MIT
 *
 * Runs single layers on the cuda device over the fake CUDA (fake.h), and layers of random integers against the rules
 * for integers.
 */
#ifndef NPULAB_TESTS_KIT_CUDA_LAYER_RUN_H
#define NPULAB_TESTS_KIT_CUDA_LAYER_RUN_H

#include "core/base/dtype.h"
#include "core/integer.h"
#include "fake_device.h"
#include "tests/kit/sim/tpu_v1/support.h"

extern const struct npl_driver npl_driver_cuda;

/* Runs the layer on the device into `out`, between guard bytes. */
static inline uint64_t cuda_run_layer(struct cu_device *device, const struct npl_layer *layer, void *out,
				      const char *subject)
{
	enum { GUARD = 64 };
	const size_t bytes = npl_tensor_bytes(layer->out);
	struct npl_tensor y = *layer->out;
	struct npl_layer mine = *layer;
	struct npl_result result = {0};
	struct npl_err err = {0};
	char reason[200];
	uint8_t *guarded = malloc(bytes + 2 * GUARD);
	cr_assert(guarded);
	memset(guarded, 0x77, bytes + 2 * GUARD);
	y.data = guarded + GUARD;
	mine.out = &y;
	cr_assert(npl_driver_cuda.supports(device, &mine, reason, sizeof reason), "%s: %s", subject, reason);
	cr_assert_eq(npl_driver_cuda.run(device, &mine, &result, &err), 0, "%s: %s", subject, err.msg);
	for (size_t i = 0; i < GUARD; i++)
		cr_assert(guarded[i] == 0x77 && guarded[GUARD + bytes + i] == 0x77, "%s: written outside", subject);
	cr_assert_eq(cu_fake.violations, 0, "%s: %s", subject, cu_fake.violation);
	cr_assert_eq(result.macs, layer->macs);
	cr_assert(result.seconds_origin == NPL_TIME_MEASURED && (result.seconds > 0 || !bytes));
	cr_assert(result.to_host.bytes == bytes &&
		  result.to_device.bytes >= npl_tensor_bytes(layer->in[0]) * (bytes > 0));
	cr_assert(result.n_energy == 1 && !strcmp(result.energy[0].origin, "absent"));
	memcpy(out, y.data, bytes);
	free(guarded);
	return result.saturations;
}

/* Expects the bits of the rules. Returns how many values were saturated. */
static inline uint64_t cuda_check_integers(struct cu_device *device, const struct test_layer *t, const char *subject)
{
	struct npl_integer_counts counts = {0};
	struct npl_tensor expected;
	struct npl_err err = {0};
	const size_t bytes = npl_tensor_bytes(&t->y);
	uint8_t *actual = malloc(bytes + 1);
	test_tensor(&expected, t->y.dtype, t->y.shape, t->y.quant.scale, t->y.quant.zero_point);
	expected.quant = t->y.quant;
	cr_assert_eq(npl_run_integer(&t->layer, &expected, &counts, &err), 0, "%s: %s", subject, err.msg);
	const uint64_t saturations = cuda_run_layer(device, &t->layer, actual, subject);
	cr_assert_eq(saturations, counts.saturations, "%s: %llu saturations, expected %llu", subject,
		     (unsigned long long)saturations, (unsigned long long)counts.saturations);
	for (size_t i = 0; i < bytes; i++)
		cr_assert_eq(actual[i], ((uint8_t *)expected.data)[i], "%s: byte %zu of %zu is %d, expected %d",
			     subject, i, bytes, actual[i], ((uint8_t *)expected.data)[i]);
	npl_tensor_free(&expected);
	free(actual);
	return saturations;
}

/* Types, zero points of x and of w, a bias, a requantised or a raw result, what is fused. */
static inline void cuda_dress(struct test_layer *t, enum npl_op op, int64_t channels, uint64_t *rng)
{
	const uint64_t macs = t->layer.macs;
	t->x.dtype = test_range(rng, 0, 1) ? NPL_U8 : NPL_I8;
	t->x.quant.zero_point = test_range(rng, 0, 2)
					? (int32_t)test_range(rng, npl_dtype_min(t->x.dtype), npl_dtype_max(t->x.dtype))
					: 0;
	t->w.dtype = test_range(rng, 0, 2) ? NPL_I8 : NPL_U8;
	t->w.quant.zero_point = test_range(rng, 0, 2) ? 0
						      : (int32_t)test_range(rng, npl_dtype_min(t->w.dtype),
									    npl_dtype_max(t->w.dtype));
	test_fill(&t->x, rng);
	test_fill(&t->w, rng);
	if (test_range(rng, 0, 1)) {
		test_tensor(&t->bias, NPL_I32, npl_shape_of(1, channels), 0.125f, 0);
		for (int64_t i = 0; i < channels; i++)
			((int32_t *)t->bias.data)[i] = (int32_t)test_range(rng, -50000, 50000);
	}
	if (test_range(rng, 0, 3))
		test_requantised(t, test_range(rng, 0, 1) ? NPL_U8 : NPL_I8, (float)test_range(rng, 10, 900),
				 (int32_t)test_range(rng, 0, 100));
	test_layer_wire(t, op, macs);
	t->layer.activation = (enum npl_activation)test_range(
		rng, NPL_ACT_NONE, t->y.dtype == NPL_I32 ? NPL_ACT_RELU : NPL_ACTIVATIONS - 1);
}

#endif
