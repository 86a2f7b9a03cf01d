/* SPDX-License-Identifier: MIT
 *
 * The device as its layers see it. */
#include "device.h"

int cu_device_enter(const struct cu_device *device, struct npl_err *err)
{
	return cu_try(&device->driver, err, cuCtxSetCurrent, context_set, (device->context));
}

enum npl_dtype cu_device_type(const struct cu_device *device, enum npl_dtype dtype)
{
	return cu_stored(dtype, device->precision);
}
