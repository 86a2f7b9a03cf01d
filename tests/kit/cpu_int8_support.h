/* SPDX-License-Identifier: MIT
 *
 * Layers of the cpu device in 8 bits held against what they must be: the bits with one thread and with two, alone and
 * as a layer group, the count of saturations, nothing written outside the output, time measured and energy absent.
 */
#ifndef NPULAB_TESTS_KIT_CPU_INT8_SUPPORT_H
#define NPULAB_TESTS_KIT_CPU_INT8_SUPPORT_H

#include "backends/cpu/cpu.h"
#include "frontend/quantise/quantise.h"
#include "npulab/driver.h"
#include "tests/kit/sim/tpu_v1/support.h"

extern const struct npl_driver npl_driver_cpu;

static void *cpu_int8_device[3]; /* by threads */
static uint64_t cpu_int8_seed;

static inline void cpu_int8_open(void)
{
	struct npl_err err = {0};
	for (int64_t threads = 1; threads <= 2; threads++)
		cr_assert_eq(npl_driver_cpu.open(&(struct cpu_config){.threads = threads, .precision = CPU_INT8},
						 &cpu_int8_device[threads], &err),
			     0, "%s", err.msg);
}

static inline void cpu_int8_close(void)
{
	npl_driver_cpu.close(cpu_int8_device[1]);
	npl_driver_cpu.close(cpu_int8_device[2]);
}

/* The same as a layer group of its own, whose weights are prepared when it is opened: twice, the second time over other
 * values. */
static inline void cpu_int8_check_layer_group(const struct npl_layer *layer, const void *expected, uint64_t saturations,
					      const char *label)
{
	for (int threads = 1; threads <= 2; threads++) {
		struct npl_tensor out = *layer->out;
		struct npl_layer with_data = *layer;
		const struct npl_layer *list = &with_data;
		const struct npl_tensor *output = &out;
		const struct npl_layer_group group = {.n = 1, .layer = &list, .n_outputs = 1, .output = &output};
		struct npl_layer_group_info info = {0};
		struct npl_err err = {0};
		void *handle;
		out.data = malloc(npl_tensor_bytes(&out) + 1);
		cr_assert_not_null(out.data);
		with_data.out = &out;
		cr_assert_eq(npl_driver_cpu.open_layer_group(cpu_int8_device[threads], &group, &handle, &info, &err), 0,
			     "%s: %s", label, err.msg);
		for (int run = 0; run < 2; run++) {
			struct npl_result result = {0};
			memset(out.data, 0x55 * run, npl_tensor_bytes(&out));
			cr_assert_eq(
				npl_driver_cpu.run_layer_group(cpu_int8_device[threads], handle, NULL, &result, &err),
				0, "%s: %s", label, err.msg);
			cr_assert(!memcmp(out.data, expected, npl_tensor_bytes(&out)),
				  "seed %llx %s, %d threads, as a layer group", (unsigned long long)cpu_int8_seed,
				  label, threads);
			cr_assert_eq(result.saturations, saturations, "seed %llx %s as a layer group: %llu, not %llu",
				     (unsigned long long)cpu_int8_seed, label, (unsigned long long)result.saturations,
				     (unsigned long long)saturations);
		}
		npl_driver_cpu.close_layer_group(handle);
		free(out.data);
	}
}

/* Runs the layer on the cpu with 1 and 2 threads and compares with `expected`, the bytes of its output. */
static inline void cpu_int8_check(const struct npl_layer *layer, const void *expected, uint64_t saturations,
				  const char *label)
{
	enum { GUARD = 64 };
	size_t bytes = npl_tensor_bytes(layer->out);
	for (int threads = 1; threads <= 2; threads++)
		for (int timing_only = 1; timing_only >= 0; timing_only--) {
			uint8_t *guarded = malloc(bytes + 2 * GUARD);
			struct npl_tensor out = *layer->out;
			struct npl_layer with_data = *layer;
			struct npl_result result = {0};
			struct npl_err err = {0};
			char reason[200];
			cr_assert_not_null(guarded);
			memset(guarded, 0x77, bytes + 2 * GUARD);
			out.data = guarded + GUARD;
			with_data.out = &out;
			with_data.timing_only = timing_only;
			cr_assert(npl_driver_cpu.supports(cpu_int8_device[threads], &with_data, reason, sizeof reason),
				  "%s: %s", label, reason);
			cr_assert_eq(npl_driver_cpu.run(cpu_int8_device[threads], &with_data, &result, &err), 0,
				     "%s: %s", label, err.msg);
			cr_assert(timing_only || !memcmp(out.data, expected, bytes), "seed %llx %s, %d threads",
				  (unsigned long long)cpu_int8_seed, label, threads);
			for (size_t i = 0; i < bytes + 2 * GUARD; i++)
				cr_assert((!timing_only && i >= GUARD && i < GUARD + bytes) || guarded[i] == 0x77,
					  "%s: written outside the output", label);
			cr_assert(result.seconds_origin == NPL_TIME_MEASURED && result.seconds >= 0 &&
				  result.cycles == 0);
			cr_assert_eq(result.macs, layer->macs);
			cr_assert_eq(result.saturations, saturations, "%s", label);
			cr_assert(result.n_energy == 1 && !strcmp(result.energy[0].origin, "absent"));
			free(guarded);
		}
	cpu_int8_check_layer_group(layer, expected, saturations, label);
}

/* The frontend's conversions around the reference kernel; expected is allocated. Returns how many values saturated. */
static inline uint64_t cpu_int8_by_conversions(const struct npl_layer *layer, struct npl_tensor *expected)
{
	struct npl_tensor plain[4] = {{0}}, y = {.dtype = NPL_F32, .shape = layer->out->shape};
	const struct npl_tensor *in[4];
	struct npl_err err = {0};
	uint64_t clipped = 0;
	for (int i = 0; i < layer->n_in; i++) {
		cr_assert_eq(npl_dequantise(layer->in[i], &plain[i], &err), 0, "%s", err.msg);
		in[i] = &plain[i];
	}
	cr_assert_eq(npl_tensor_alloc(&y, &err), 0);
	cr_assert_eq(npl_op_run(layer->op, layer->attrs, in, layer->n_in, &y, 1, &err), 0, "%s", err.msg);
	*expected = (struct npl_tensor){.dtype = layer->out->dtype, .shape = y.shape, .quant = layer->out->quant};
	cr_assert_eq(npl_quantise_to(&y, layer->out->dtype, layer->out->quant, expected, &clipped, &err), 0, "%s",
		     err.msg);
	for (int i = 0; i < layer->n_in; i++)
		npl_tensor_free(&plain[i]);
	npl_tensor_free(&y);
	return clipped;
}

#endif
