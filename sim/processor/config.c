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

const struct npl_param npl_processor_params[] = {
	NUMBER("cores", INT, cores, NULL, 1, 65536, "cores", "of a GPU its streaming multiprocessors"),
	NUMBER("clock_hz", DOUBLE, clock_hz, NULL, 1e3, 1e12, "Hz", "of a core at work"),
	CHOICE("precision", precision, "f32", "of products and of values on their way", NPL_PROCESSOR_PRECISION_WORDS),
	NUMBER("macs_per_cycle.f32", DOUBLE, macs[NPL_PROCESSOR_F32], NULL, 1e-3, 1e9, "MAC",
	       "multiply-accumulates of a core in a cycle, in float32"),
	NUMBER("macs_per_cycle.tf32", DOUBLE, macs[NPL_PROCESSOR_TF32], "0", 0, 1e9, "MAC",
	       "of operands with 10 fraction bits, in a core; 0: none"),
	NUMBER("macs_per_cycle.f16", DOUBLE, macs[NPL_PROCESSOR_F16], "0", 0, 1e9, "MAC",
	       "in float16, in a core; 0: none"),
	NUMBER("vectors.lanes", DOUBLE, lanes, NULL, 1, 4096, "values",
	       "float32 values that one vector instruction works on"),
	NUMBER("vectors.simple_per_cycle", DOUBLE, rate[NPL_SIMPLE], "1", 1e-6, 1e6, "instructions",
	       "of a core: arithmetic, comparisons, conversions"),
	NUMBER("vectors.divide_per_cycle", DOUBLE, rate[NPL_DIVIDE], "1", 1e-6, 1e6, "instructions",
	       "divisions and square roots"),
	NUMBER("vectors.function_per_cycle", DOUBLE, rate[NPL_FUNCTION], "1", 1e-6, 1e6, "instructions",
	       "steps of the polynomials behind exp, log, erf and their like"),
	NUMBER("vectors.reduce_per_cycle", DOUBLE, rate[NPL_REDUCE], "1", 1e-6, 1e6, "instructions",
	       "that put values together into sums and maxima"),
	NUMBER("scattered_per_cycle", DOUBLE, rate[NPL_SCATTERED_ACCESS], "1", 1e-6, 1e6, "values",
	       "that a core fetches from scattered addresses"),
	NUMBER("private_cache.bytes", DOUBLE, private_bytes, "0", 0, 1e12, "bytes", "a core's own cache; 0: none"),
	NUMBER("private_cache.bytes_per_second", DOUBLE, private_rate, "0", 0, 1e18, "bytes/s", "of one core"),
	NUMBER("shared_cache.bytes", DOUBLE, shared_bytes, "0", 0, 1e13, "bytes", "the cache of all cores; 0: none"),
	NUMBER("shared_cache.bytes_per_second", DOUBLE, shared_rate, "0", 0, 1e18, "bytes/s", "to all cores"),
	NUMBER("shared_cache.core_bytes_per_second", DOUBLE, shared_core_rate, "0", 0, 1e18, "bytes/s",
	       "to one core; 0: as to all"),
	NUMBER("memory.bytes_per_second", DOUBLE, memory_rate, NULL, 1e3, 1e18, "bytes/s", "to all cores"),
	NUMBER("memory.core_bytes_per_second", DOUBLE, memory_core_rate, "0", 0, 1e18, "bytes/s",
	       "to one core; 0: by core_share"),
	CHOICE("memory.core_share", core_share, "whole",
	       "what one core can use of the rate to all: the whole, or an even part, so that memory keeps all busy",
	       NPL_PROCESSOR_SHARE_WORDS),
	NUMBER("overlap", DOUBLE, overlap, "1", 0, 1, "",
	       "share of the shorter of arithmetic and traffic that is hidden behind the longer"),
	NUMBER("efficiency", DOUBLE, efficiency, "1", 1e-3, 1, "", "share of all these rates that operators attain"),
	NUMBER("fork_join_seconds", DOUBLE, fork_join_seconds, "0", 0, 1, "s",
	       "to take one more core to work and wait for it"),
	NUMBER("overhead_seconds", DOUBLE, overhead_seconds, "0", 0, 1, "s", "to start an operator"),
	NUMBER("energy.idle_watts", DOUBLE, idle_watts, "0", 0, 1e6, "W", "of all of it, with nothing to do"),
	NUMBER("energy.core_watts", DOUBLE, core_watts, "0", 0, 1e6, "W", "more, for each core at work"),
	ORIGIN("energy.origin", origin, "where these figures are from", "energy.idle_watts energy.core_watts"),
	NPL_LINK_PARAMS("host_link", link, "", "way to the host's memory; empty: it works there", "plain", "3", "16",
			"256", "16", "0", "0", "0"),
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
	npl_params_choice_word(NPL_PROCESSOR_PRECISION_WORDS, p->precision, word, sizeof word);
	snprintf(keys, sizeof keys, "precision macs_per_cycle.%s", word);
	return npl_fail_settings(err, NULL, keys, "precision %s needs macs_per_cycle.%s above 0", word, word);
}
