/* SPDX-License-Identifier: MIT
 *
 * The modelled host (host.h). Its figures are machines/host.yaml: the Haswell server die of Jouppi et al., ISCA 2017,
 * Table 2, which was the TPU's own host. */
#include "host.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "npulab/device.h"

static const struct npl_param schema[] = {
	{"macs_per_second", NPL_PARAM_DOUBLE, offsetof(struct npl_host, macs_per_second), "650e9", 1, 1e18, "MAC/s",
	 "float32 multiply-accumulates, sustained", NULL},
	{"elements_per_second", NPL_PARAM_DOUBLE, offsetof(struct npl_host, elements_per_second), "18.4e9", 1, 1e18,
	 "elements/s", "element-wise work and conversions of number format", NULL},
	{"bytes_per_second", NPL_PARAM_DOUBLE, offsetof(struct npl_host, bytes_per_second), "51e9", 1, 1e18, "bytes/s",
	 "memory bandwidth", NULL},
	{"overhead_seconds", NPL_PARAM_DOUBLE, offsetof(struct npl_host, overhead_seconds), "1e-6", 0, 1, "s",
	 "fixed cost of starting one operator", NULL},
	{"energy.busy_watts", NPL_PARAM_DOUBLE, offsetof(struct npl_host, busy_watts), "145", 0, 1e6, "W",
	 "while the host works for the network", NULL},
	{"energy.origin", NPL_PARAM_ORIGIN, offsetof(struct npl_host, origin), "calibrated:jouppi2017", 0, 0, "",
	 "of busy_watts", NULL},
	{0},
};

int npl_host_load(struct npl_arena *arena, struct npl_host *host, struct npl_err *err)
{
	char folder[PATH_MAX], path[PATH_MAX + 16];
	struct npl_machine machine;
	if (npl_data_dir("machines", folder, sizeof folder, err))
		return err->code;
	snprintf(path, sizeof path, "%s/host.yaml", folder);
	if (npl_machine_load(path, arena, &machine, err) || npl_params_read(schema, &machine, arena, host, err))
		return err->code;
	host->name = machine.name;
	return 0;
}

double npl_host_seconds(const struct npl_host *host, uint64_t macs, double operations, uint64_t bytes)
{
	double arithmetic = (double)macs / host->macs_per_second + operations / host->elements_per_second;
	double traffic = (double)bytes / host->bytes_per_second;
	return host->overhead_seconds + (arithmetic > traffic ? arithmetic : traffic);
}
