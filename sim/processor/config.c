/* SPDX-License-Identifier: MIT
 *
 * Parameters of processors (processor_model.h) and the checks between them. No figure of one processor is a default for
 * another: a file has to give what decides the time, and what it leaves out is neutral. */
#include <stdio.h>

#include "core/param_rows.h"
#include "core/params_impl.h"
#include "npulab/error.h"
#include "processor_model.h"

#define PARAM_CONFIG struct npl_processor_model
#define LINK(...)    NPL_LINK_PARAMS(__VA_ARGS__)

const struct npl_param npl_processor_params[] = {
#define PROCESSOR_PARAMETER(form, ...) form(__VA_ARGS__),
#include "parameters.def"
#undef PROCESSOR_PARAMETER
	{0},
};

const struct npl_param_condition npl_processor_conditions[] = {
	{NPL_LINK_KEYS("host_link"), "host_link.name", NULL, ""}, NPL_LINK_CONDITIONS("host_link"), {0}};

static int check_cache(const char *name, double bytes, double rate, struct npl_err *err)
{
	if ((bytes > 0) == (rate > 0))
		return 0;
	return npl_fail_settings(err, name, "bytes bytes_per_second",
				 "%s.bytes is %g and %s.bytes_per_second is %g, expected both above 0 or neither", name,
				 bytes, name, rate);
}

/* Checks that one core does not get more than all cores together. */
static int check_core(const char *name, double all_rate, double core_rate, struct npl_err *err)
{
	if (core_rate <= all_rate)
		return 0;
	return npl_fail_settings(err, name, "core_bytes_per_second bytes_per_second",
				 "%s.core_bytes_per_second is %g, expected at most %g, the %s.bytes_per_second of "
				 "all cores",
				 name, core_rate, all_rate, name);
}

int npl_processor_check(const struct npl_processor_model *p, struct npl_err *err)
{
	char word[16], keys[60];
	if (check_cache("private_cache", p->private_bytes, p->private_rate, err) ||
	    check_cache("shared_cache", p->shared_bytes, p->shared_rate, err) ||
	    check_core("shared_cache", p->shared_rate, p->shared_core_rate, err) ||
	    check_core("memory", p->memory_rate, p->memory_core_rate, err))
		return err->code;
	if (p->core_share == NPL_SHARE_EVEN && p->memory_core_rate > 0)
		return npl_fail_settings(
			err, "memory", "core_share core_bytes_per_second",
			"memory.core_share is even and memory.core_bytes_per_second is %g, expected one of the two",
			p->memory_core_rate);
	if (npl_origin_is_measured(p->origin) || npl_origin_is_measured(p->link.energy_origin))
		return npl_fail_settings(
			err, NULL, "energy.origin host_link.energy_origin",
			"energy.origin and host_link.energy_origin are %s and %s: a model's energy is not measured, "
			"expected calibrated:, modelled:, assumed: or absent",
			p->origin, p->link.energy_origin);
	if (p->macs[p->precision] > 0)
		return 0;
	npl_params_choice_word(NPL_PROCESSOR_PRECISION_LIST(PARAM_WORD), p->precision, word, sizeof word);
	snprintf(keys, sizeof keys, "precision macs_per_cycle.%s", word);
	return npl_fail_settings(err, NULL, keys, "precision %s needs macs_per_cycle.%s above 0", word, word);
}
