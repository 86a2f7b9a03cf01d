/* SPDX-License-Identifier: MIT
 *
 * The device `null`: takes every layer, computes nothing and costs nothing. Its outputs are zero. It shows how much
 * time the frontend itself takes, and lets the frontend be tested without a machine. */
#include <string.h>

#include "npulab/driver.h"

static int null_open(const void *config, void **state, struct npl_err *err)
{
	(void)config;
	(void)err;
	*state = NULL;
	return 0;
}

static void null_close(void *state)
{
	(void)state;
}

static void null_describe(const void *state, struct npl_device_info *info)
{
	(void)state;
	info->kind = NPL_KIND_NULL;
	info->format = NPL_FORMAT_F32;
	info->activations = ~0u;
	info->capabilities = NPL_PRIVATE_KERNELS | NPL_MULTIPLE_OUTPUTS;
	strcpy(info->detail, "computes nothing and costs nothing: its outputs are zero");
}

static bool null_supports(const void *state, const struct npl_layer *layer, char *reason, size_t reason_bytes)
{
	(void)state;
	(void)layer;
	(void)reason;
	(void)reason_bytes;
	return true;
}

/* Runs nothing. The result stays as the caller zeroed it: no cycles, no seconds, no energy. */
static int null_run(void *state, const struct npl_layer *layer, struct npl_result *result, struct npl_err *err)
{
	(void)state;
	(void)result;
	(void)err;
	for (int k = 0; k < npl_layer_outputs(layer) && !layer->timing_only; k++)
		memset(layer->out[k].data, 0, npl_tensor_bytes(&layer->out[k]));
	return 0;
}

const struct npl_driver npl_driver_null = {
	.name = "null",
	.summary = "computes and costs nothing",
	.open = null_open,
	.close = null_close,
	.describe = null_describe,
	.supports = null_supports,
	.run = null_run,
};
