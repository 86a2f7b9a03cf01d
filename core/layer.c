/* SPDX-License-Identifier: MIT
 *
 * Names of number formats and device kinds. */
#include "npulab/device.h"

const char *npl_format_name(enum npl_format format)
{
	static const char *const names[NPL_FORMATS] = {
		[NPL_FORMAT_F32] = "float32", [NPL_FORMAT_INT8] = "int8", [NPL_FORMAT_Q16] = "Q6.10"};
	return names[format];
}

const char *npl_device_kind_name(enum npl_device_kind kind)
{
	static const char *const names[] = {[NPL_KIND_SIMULATED] = "simulated",
					    [NPL_KIND_CPU] = "cpu",
					    [NPL_KIND_GPU] = "gpu",
					    [NPL_KIND_REFERENCE] = "reference",
					    [NPL_KIND_NULL] = "null"};
	return names[kind];
}
