/* SPDX-License-Identifier: MIT
 *
 * Names of number formats, kinds of device and precisions, and which kinds are modelled. */
#include "npulab/device.h"

const char *npl_format_name(enum npl_format format)
{
	static const char *const names[] = {
#define NPL_FORMAT(constant, name, ...) name,
#include "npulab/formats.def"
	};
	return names[format];
}

const char *npl_device_kind_name(enum npl_device_kind kind)
{
	switch (kind) {
	case NPL_KIND_SIMULATED:
		return "simulated";
	case NPL_KIND_ANALYTICAL:
		return "analytical";
	case NPL_KIND_CPU:
		return "cpu";
	case NPL_KIND_GPU:
		return "gpu";
	case NPL_KIND_REFERENCE:
		return "reference";
	case NPL_KIND_NULL:
		return "null";
	}
	return NULL;
}

bool npl_device_kind_is_modelled(enum npl_device_kind kind)
{
	return kind == NPL_KIND_SIMULATED || kind == NPL_KIND_ANALYTICAL;
}

const char *npl_device_precision(const struct npl_device_info *info)
{
	return info->element ? info->element : npl_format_name(info->format);
}
