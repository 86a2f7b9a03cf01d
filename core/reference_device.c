/* SPDX-License-Identifier: MIT
 *
 * The device `reference`: every operator by its kernel in core/ops, in float32, one thread. It is the oracle that the
 * accuracy of the other devices is compared with. Its seconds are measured, but they say how fast simple loops in
 * cache order are, not what this processor can do: that is the device `cpu`. */
#include <string.h>

#include "npulab/device.h"
#include "npulab/measured.h"

static int reference_open(const void *config, void **state, struct npl_err *err)
{
	(void)config;
	(void)err;
	*state = NULL;
	return 0;
}

static void reference_close(void *state)
{
	(void)state;
}

static void reference_describe(const void *state, struct npl_device_info *info)
{
	(void)state;
	info->kind = NPL_KIND_REFERENCE;
	info->format = NPL_FORMAT_F32;
	strcpy(info->detail, "simple loops in float32, one thread: the oracle, not a fast CPU");
}

static bool reference_supports(const void *state, const struct npl_layer *layer, char *why, size_t n)
{
	(void)state;
	return npl_float_layer_ok(layer, why, n);
}

static int reference_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	(void)state;
	struct npl_tensor target;
	if (npl_float_layer_check(layer, err))
		return NPL_EINTERNAL;
	int failed = npl_layer_target(layer, &target, err);
	if (failed)
		return failed;
	failed = npl_run_reference(layer, &target, &result->seconds, err);
	npl_tensor_free(&target);
	if (failed)
		return failed;
	result->seconds_from = NPL_FROM_MEASURE;
	result->macs = layer->macs;
	return 0;
}

const struct npl_driver npl_driver_reference = {
	.name = "reference",
	.summary = "every operator in float32 by simple loops: the oracle",
	.open = reference_open,
	.close = reference_close,
	.describe = reference_describe,
	.supports = reference_supports,
	.run = reference_run,
};
