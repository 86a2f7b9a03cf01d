/* SPDX-License-Identifier: MIT
 *
 * The device `cuda`: an NVIDIA GPU. It finds the driver and the GPU and says what is there; it runs no layer yet, so
 * it does not open anywhere and the reason says which part is missing: the driver, the GPU, or npulab's own. */
#include "cuda.h"

#include "npulab/device.h"

static const struct npl_param params[] = {{"device", NPL_PARAM_INT, offsetof(struct cu_config, device), "0", 0, 63, "",
					   "which GPU, as the driver counts them", NULL},
					  {0}};

int cu_open(const struct cu_loader *loader, const struct cu_config *config, struct npl_err *err)
{
	struct cu_driver driver;
	struct cu_gpu gpu;
	int failed = cu_driver_open(loader, &driver, err);
	if (failed)
		return failed;
	failed = cu_gpu_find(&driver, (int)config->device, &gpu, err);
	if (!failed)
		failed = npl_fail(
			err, NPL_EDEVICE,
			"a GPU (%s, compute capability %d.%d) is here, but running layers on it arrives with the "
			"CUDA backend",
			gpu.name, gpu.major, gpu.minor);
	cu_driver_close(&driver);
	return failed;
}

static int open_system(const void *config, void **state, struct npl_err *err)
{
	*state = NULL;
	return cu_open(&cu_system_loader, config, err);
}

/* Never open, so never closed, described, asked or run. */
const struct npl_driver npl_driver_cuda = {
	.name = "cuda",
	.summary = "an NVIDIA GPU",
	.params = params,
	.config_bytes = sizeof(struct cu_config),
	.open = open_system,
};
