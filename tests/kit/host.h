/* SPDX-License-Identifier: MIT
 *
 * The modelled host as tests see it: what it takes for work that is written out by hand. */
#ifndef NPULAB_TESTS_KIT_HOST_H
#define NPULAB_TESTS_KIT_HOST_H

#include <criterion/criterion.h>

#include "sim/processor/processor_model.h"

static inline struct npl_device *kit_open_host(void)
{
	struct npl_device *host;
	struct npl_err err = {0};
	cr_assert_eq(npl_device_open("host", NULL, &host, &err), 0, "%s", err.msg);
	return host;
}

struct kit_cost {
	double seconds, joules;
};

static inline struct kit_cost kit_sum(struct kit_cost a, struct kit_cost b)
{
	return (struct kit_cost){a.seconds + b.seconds, a.joules + b.joules};
}

static inline struct kit_cost kit_work_cost(const struct npl_device *host, struct npl_processor_counts work)
{
	const struct npl_processor_time time = npl_processor_estimate(npl_processor_of(host), NPL_PROCESSOR_F32, &work);
	return (struct kit_cost){time.seconds, time.seconds * time.watts};
}

/* Of so many simple operations (or values put together, of which the host does as many), steps of functions and
 * bytes. */
static inline struct kit_cost kit_host_cost(const struct npl_device *host, double simple, double function, double bytes)
{
	return kit_work_cost(
		host, (struct npl_processor_counts){.operations = {[NPL_SIMPLE] = simple, [NPL_FUNCTION] = function},
						    .bytes = (uint64_t)bytes});
}

static inline double kit_host_seconds(const struct npl_device *host, double simple, double function, double bytes)
{
	return kit_host_cost(host, simple, function, bytes).seconds;
}

#endif
