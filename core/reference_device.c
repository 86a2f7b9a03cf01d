/* SPDX-License-Identifier: MIT
 *
 * The device `reference`: every operator by its kernel in core/ops in float32, or, with precision=int8 or 8x16, by the
 * integer rules; one thread. In float32 it is the oracle that the accuracy of the other devices is compared with, in
 * integers its results are those that they must give to the bit. Its seconds are measured, but they show the speed of
 * simple loops in cache order, not that of this processor, which the device `cpu` shows. */
#include <stddef.h>
#include <stdio.h>

#include "core/computer/clock.h"
#include "float_layer.h"
#include "integer.h"
#include "npulab/driver.h"
#include "param_rows.h"

struct reference {
	int precision; /* index of the choice in `params`: f32, int8, 8x16 */
};

#define PARAM_CONFIG struct reference

static const struct npl_param params[] = {CHOICE("precision", precision, "f32",
						 "number format: float32, or integers by the rules of docs/integers.md",
						 "f32/float32 int8 8x16/int8x16"),
					  {0}};

static const enum npl_format formats[] = {NPL_FORMAT_F32, NPL_FORMAT_INT8, NPL_FORMAT_INT8X16};

/* Opens the device. Its state is the configuration, which lives as long as the device. */
static int reference_open(const void *config, void **state, struct npl_err *err)
{
	(void)err;
	*state = (void *)config;
	return 0;
}

static void reference_close(void *state)
{
	(void)state;
}

/* Returns the format of a state; float32 without a configuration. */
static enum npl_format format_of(const void *state)
{
	const struct reference *reference = state;
	return reference ? formats[reference->precision] : NPL_FORMAT_F32;
}

static void reference_describe(const void *state, struct npl_device_info *info)
{
	info->kind = NPL_KIND_REFERENCE;
	info->format = format_of(state);
	if (info->format == NPL_FORMAT_INT8X16)
		npl_describe_int8x16(info);
	info->activations = 1u << NPL_ACT_RELU6 | 1u << NPL_ACT_SIGMOID | 1u << NPL_ACT_TANH;
	/* In float32 it runs the model's own operators. */
	info->capabilities = info->format == NPL_FORMAT_F32 ? NPL_PRIVATE_KERNELS | NPL_MULTIPLE_OUTPUTS
							    : NPL_TAKES_INT8 | NPL_INT8_MATMUL;
	snprintf(info->detail, sizeof info->detail, "simple loops in %s, one thread: the oracle, not a fast CPU",
		 info->format == NPL_FORMAT_F32 ? "float32" : "integers");
}

static bool reference_supports(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	return format_of(state) == NPL_FORMAT_F32 ? npl_widened_layer_ok(layer, reason, reason_bytes)
						  : npl_integer_layer_ok(layer, reason, reason_bytes);
}

static int run_integers(const struct npl_layer *layer, struct npl_tensor *target, struct npl_result *result,
			struct npl_err *err)
{
	struct npl_integer_counts counts = {0};
	double begin = npl_clock_seconds();
	int rc = npl_run_integer(layer, target, &counts, err);
	result->seconds = npl_clock_seconds() - begin;
	result->saturations = counts.saturations;
	result->overflows = counts.overflows;
	return rc;
}

static int reference_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	struct npl_tensor target[NPL_MAX_OUTPUTS];
	if (npl_float_layer_check(layer, err))
		return NPL_EINTERNAL;
	int rc = npl_layer_target_open(layer, target, err);
	if (!rc)
		rc = format_of(state) == NPL_FORMAT_F32 ? npl_run_reference(layer, target, &result->seconds, err)
							: run_integers(layer, target, result, err);
	npl_layer_target_close(layer, target);
	if (rc)
		return rc;
	result->seconds_origin = NPL_TIME_MEASURED;
	result->macs = layer->macs;
	return 0;
}

const struct npl_driver npl_driver_reference = {
	.name = "reference",
	.summary = "every operator by simple loops: the oracle",
	.params = params,
	.config_bytes = sizeof(struct reference),
	.open = reference_open,
	.close = reference_close,
	.describe = reference_describe,
	.supports = reference_supports,
	.run = reference_run,
};
