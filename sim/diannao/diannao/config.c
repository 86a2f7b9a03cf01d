/* SPDX-License-Identifier: MIT
 *
 * Parameters of DianNao machines. A parameter that a machine file leaves out is as in the paper
 * (machines/diannao.yaml has the sources). Two defaults differ from the paper, because the paper's values were
 * fitted: dma.request_cycles is 0, and memory.preset is `ideal`, which never makes the machine wait. Energies are
 * absent until a file gives them with their origin. */
#include "core/param_rows.h"
#include "core/q16/q16.h"
#include "dn.h"

#define PARAM_CONFIG struct dn_config
#define TECHNOLOGY   SIM_TECHNOLOGY
#define PARAM_SIZE_TECHNOLOGY(...)

static const char energy_keys[] =
#define DN_ENERGY(member, ...) "energy." #member " "
#include "energies.def"
#undef DN_ENERGY
	;

const struct npl_param dn_params[] = {
#define DN_PARAMETER(form, ...) form(__VA_ARGS__),
#include "parameters.def"
#undef DN_PARAMETER
	{0},
};

const char dn_size_keys[] =
#define DN_PARAMETER(form, ...) PARAM_SIZE_##form(__VA_ARGS__)
#include "parameters.def"
#undef DN_PARAMETER
	;

const struct npl_former_default dn_former_defaults[] = {
	{"memory.preset", "diannao-250gbps"}, {"dma.request_cycles", "13"}, {0}};

int64_t dn_row_bytes(const struct dn_config *config)
{
	return 2 * config->tn;
}

int64_t dn_sb_row_bytes(const struct dn_config *config)
{
	return 2 * config->tn * config->tn;
}

int64_t dn_sum_rows(const struct dn_config *config)
{
	return (config->sum_bits + 15) / 16;
}

int64_t dn_operations_per_cycle(const struct dn_config *config)
{
	return config->tn * config->tn + config->tn * (config->tn - 1);
}

int dn_config_check(const struct dn_config *config, struct npl_err *err)
{
	if (config->nbout_sum_rows + 2 > config->nbout_rows)
		return npl_fail_settings(
			err, "nbout", "sum_rows rows",
			"nbout.sum_rows is %lld of nbout.rows = %lld, expected at least 2 rows to be left for results",
			(long long)config->nbout_sum_rows, (long long)config->nbout_rows);
	return 0;
}

int dn_memory_open(const struct dn_config *config, bool every_cycle, struct npl_memory **memory, struct npl_err *err)
{
	const struct npl_memory_options options = {
		.dram_channels = config->memory_channels, .clock = {config->clock_hz, 1}, .every_cycle = every_cycle};
	if (npl_memory_open(config->memory_preset, &options, memory, err)) {
		npl_prefix(err, "memory.preset");
		return npl_blame_settings(err, "memory", "preset");
	}
	const struct npl_memory_info *info = npl_memory_info(*memory);
	if (!config->memory_channels || *info->mapping)
		return 0;
	npl_fail_settings(err, "memory", "channels",
			  "memory.channels is %lld, expected 0 with %s, a memory of the model '%s' without channels",
			  (long long)config->memory_channels, info->name, info->model);
	npl_memory_close(*memory);
	*memory = NULL;
	return err->code;
}
